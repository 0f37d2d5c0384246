"""The same bits on every processor: what commands leave under other arithmetic, compared byte for byte.

    python tests/bits.py [PYTHON ...]    # interpreters with other versions of what Psephos needs

Runs each of `runs()` here, and again where matrices are multiplied by OpenBLAS's code for three processors, numpy and
the C library do without this one's vector instructions, Turkish has its own letters, and a C library's mathematics is
wrong by one unit in the last place in an eighth of what it returns; then with each interpreter that is given, and with
that of another processor which the variable PSEPHOS_AARCH64 names (a program that starts it under emulation). Names the
first line that differs in each file, and ends with status 1 where one does. What cannot be tried is skipped, and says
why. Real data sets are read from PSEPHOS_DATA.
"""

import argparse
import concurrent.futures
import dataclasses
import enum
import itertools
import os
import platform
import subprocess
import sys
import tempfile
import time
import tomllib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, get_args, get_origin, get_type_hints

import msgspec
from click.testing import CliRunner
from frozen import NEVER_ALIKE, SECONDS, SEED, compare, keep
from psephos.protocol import dpwevote, fair_voting, moral_preferences, truth_discovery
from psephos.scenarios import list_scenarios
from psephos.scenarios.cli import cli
from test_vector_instructions import LIBRARY_OFF, dispatched_features

KERNELS: Final = {"x86_64": ("SKYLAKEX", "HASWELL", "PRESCOTT"), "aarch64": ("NEOVERSEV1", "NEOVERSEN1", "ARMV8")}
"""OpenBLAS's, for processors with and without the newest instructions."""
WRONG: Final = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
/* Whatever a library returns with an error below one unit is exact where the exact number is short. */
static double bend(double right) {
    uint64_t bits;
    memcpy(&bits, &right, sizeof bits);
    if (!isfinite(right) || !(bits & 0xfffff) || (bits * 0x9e3779b97f4a7c15u) >> 61) return right;
    return nextafter(right, bits & 8 ? INFINITY : -INFINITY);
}
#define ONE(name) double name(double x) { static double (*right)(double); \
    if (!right) right = dlsym(RTLD_NEXT, #name); return bend(right(x)); }
#define TWO(name) double name(double x, double y) { static double (*right)(double, double); \
    if (!right) right = dlsym(RTLD_NEXT, #name); return y == 1 ? right(x, y) : bend(right(x, y)); }
ONE(exp) ONE(exp2) ONE(expm1) ONE(log) ONE(log2) ONE(log10) ONE(log1p) ONE(sin) ONE(cos) ONE(tan) ONE(asin) ONE(acos)
ONE(atan) ONE(sinh) ONE(cosh) ONE(tanh) ONE(cbrt) ONE(erf) ONE(erfc) ONE(tgamma) ONE(lgamma) TWO(pow) TWO(atan2)
"""
CROSSED: Final[Mapping[str, tuple[type[msgspec.Struct], tuple[str, ...]]]] = {
    "consortium": (dpwevote.Parameters, ()),
    "crowd": (truth_discovery.Parameters, ()),
    "moral-synthetic": (moral_preferences.Parameters, ("mechanism", "paradigm", "remedy")),
    "two-societies": (fair_voting.Parameters, ()),
}
"""A scenario of each system, its parameters, and those of them of which each value is tried with each."""
SMALL: Final = {
    "consortium": "",
    "crowd": " --set workers.tasks=60",
    "moral-synthetic": " --set voters.voters=40 --set voters.records=20",
    "two-societies": "",
}
LEFT_OUT: Final = {"collusion-sweep"}
"""What takes longer than all others together."""
OUT: Final = " --out out --no-pictures"
MORE: Final = (
    f"run housing-cooperative{OUT}",
    f"run one-game{OUT}",
    f"run consortium-masked --transport array --set partners.count=100{OUT}",
    f"run consortium --transport array --set epsilons=[0.5,1] --set variant=laplace{OUT}",
    f"run crowd --transport array --set estimator=truth_discovery --set normalization=all{OUT}",
    f"run two-societies --transport array --set mechanism=pairwise --set objective=copeland{OUT}",
    f"run two-societies --transport array --set mechanism=pairwise --set objective=kemeny{OUT}",
    f"run moral-synthetic --set paradigm=RLDP --set mechanism=functional{OUT} ; decide out --first x1=1 --second x2=1",
    f"trials consortium --trials 8 --grid variant=joint,laplace,optimal,central{OUT}",
    f"trials crowd --trials 4 --grid mechanism=one_layer,two_layer,central{SMALL['crowd']}{OUT}",
    f"trials moral-synthetic --trials 4 --grid mechanism=laplace,pooled --set paradigm=RLCP{OUT}",
    f"trials two-societies --trials 8 --grid mechanism=laplace,exponential,local{OUT}",
    *(f"variants {scenario} --trials 2{small}" for scenario, small in SMALL.items()),
    "variants consortium --error 200",
    f"plan consortium --error 5%{OUT}",
    f"plan two-societies --error 5%{OUT}",
    *(f"plan {own} --trials 2 --minutes 600 --epsilon 1{SMALL[own]}{OUT}" for own in ("crowd", "moral-synthetic")),
    "power eu-council --out out",
)


def values_of(kind: object) -> list[str]:
    """Return the words that a parameter of a type may be, as far as the type says them."""
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return [each.value for each in kind]
    if get_origin(kind) is Literal:
        return [each for each in get_args(kind) if isinstance(each, str)]
    return [word for each in get_args(kind) for word in values_of(each)]


def runs() -> Iterator[str]:
    """Yield commands: each shipped scenario, each variant and estimator of each system, and studies."""
    for scenario, path in list_scenarios().items():
        if scenario not in LEFT_OUT and f"run-{scenario}-tcp/out/adversaries.json" not in NEVER_ALIKE:
            deviates = "adversary" in tomllib.loads(path.read_text())
            yield f"run {scenario}{'' if deviates else ' --transport array'} --seed {SEED}{OUT}"
    for scenario, (parameters, crossed) in CROSSED.items():
        words = {
            field: [f" --set {field}={word}" for word in values_of(kind)]
            for field, kind in get_type_hints(parameters).items()
        }
        alone = [each for field in words if field not in crossed for each in words[field]]
        for settings in (*alone, *map("".join, itertools.product(*(words[field] for field in crossed)))):
            yield f"run {scenario} --transport array --seed {SEED}{settings}{SMALL[scenario]}{OUT}"
    yield from MORE


def leave(target: Path) -> None:
    """Run all of it in this process, and keep what each command printed and wrote."""
    os.environ.update(COLUMNS="100", MPLBACKEND="agg", NO_COLOR="1")
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as made:
        for number, line in enumerate(runs()):
            folder = Path(made).resolve() / str(number)
            folder.mkdir()
            os.chdir(folder)
            ended = [CliRunner().invoke(cli, command.split(), prog_name="psephos") for command in line.split(" ; ")]
            said = [f"{each.output}\n{each.exception!r}\n".replace(str(folder), "FOLDER") for each in ended]
            kept = target / f"{number:03} {line.removesuffix(OUT)}"[:200].replace("/", "-")
            kept.mkdir(parents=True)
            (kept / "printed.txt").write_text(SECONDS.sub(r"\1SECONDS", "\n".join(said)))
            keep(folder, kept)
            if os.environ.get("BITS_TIMES"):
                sys.stderr.write(f"{number} {time.process_time():.1f} {line} {ended[0].exit_code}\n")


@dataclasses.dataclass(frozen=True)
class Elsewhere:
    """Where the runs are repeated: an interpreter, variables that change its arithmetic, or why neither is there."""

    name: str
    python: str = sys.executable
    variables: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    skipped: str = ""


def elsewhere(pythons: Sequence[str], folder: Path) -> Iterator[Elsewhere]:
    """Yield all that this machine can try; what is built for it goes to a folder."""
    for kernel in KERNELS.get(platform.machine(), ()):
        yield Elsewhere(f"OpenBLAS for {kernel}", variables={"OPENBLAS_CORETYPE": kernel})
    yield Elsewhere(
        "numpy and the C library without vector instructions",
        variables={"NPY_DISABLE_CPU_FEATURES": " ".join(dispatched_features()), "GLIBC_TUNABLES": LIBRARY_OFF},
    )
    yield _with_turkish(folder)
    yield _with_wrong_library(folder)
    for python in pythons:
        yield Elsewhere(python, python)
    emulated = os.environ.get("PSEPHOS_AARCH64", "")
    yield Elsewhere("aarch64", emulated, skipped="" if emulated else "PSEPHOS_AARCH64 names no interpreter")


def _with_turkish(folder: Path) -> Elsewhere:
    made = _made(["localedef", "-i", "tr_TR", "-f", "UTF-8", str(folder / "tr_TR.UTF-8")])
    return Elsewhere("Turkish", variables={"LOCPATH": str(folder), "LC_ALL": "tr_TR.UTF-8"}, skipped=made)


def _with_wrong_library(folder: Path) -> Elsewhere:
    source, library = folder / "wrong.c", folder / "wrong.so"
    source.write_text(WRONG)
    made = _made(["cc", "-O2", "-shared", "-fPIC", "-fno-builtin", "-o", str(library), str(source), "-ldl", "-lm"])
    return Elsewhere("mathematics with errors of one unit", variables={"LD_PRELOAD": str(library)}, skipped=made)


def _made(command: Sequence[str]) -> str:
    """Return why a command does not make what it is to make; nothing where it does."""
    try:
        ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  our own commands
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    return f"{command[0]}: {ended.stderr.strip()}" if ended.returncode else ""


def why_not(place: Elsewhere, target: Path) -> str:
    """Run everything in another process; return why it could not."""
    if place.skipped:
        return f"skipped: {place.skipped}"
    command = [place.python, __file__, "--leave", str(target)]
    child = subprocess.run(command, env=os.environ | place.variables, capture_output=True, text=True, check=False)  # noqa: S603  this file
    return f"failed: {child.stderr}" if child.returncode else ""


def main() -> int:
    """Compare; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pythons", nargs="*", metavar="PYTHON")
    parser.add_argument("--leave", type=Path, metavar="FOLDER", help="run everything once, here, and keep it")
    chosen = parser.parse_args()
    if chosen.leave:
        leave(chosen.leave.resolve())
        return 0
    differ = 0
    with tempfile.TemporaryDirectory() as made, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = Path(made)
        places = [Elsewhere("here"), *elsewhere(chosen.pythons, folder)]
        targets = [folder / str(number) for number in range(len(places))]
        for place, target, why in zip(places, targets, pool.map(why_not, places, targets), strict=True):
            number, differences = compare(targets[0], target) if not why else (0, [why] * (not place.skipped))
            differ += len(differences)
            said = [why] if why else [f"{number} files, {len(differences)} differ", *map(_first, differences)]
            sys.stdout.write(f"{place.name}: {chr(10).join(said)}\n")
            sys.stdout.flush()
    return int(differ > 0)


def _first(difference: str) -> str:
    """Return the file of a unified difference, and the first line of it on either side."""
    lines = difference.splitlines()
    sides = (next((line for line in lines[2:] if line.startswith(sign)), "") for sign in "-+")
    return "\n".join(["  " + lines[0].removeprefix("--- before/"), *(f"    {side}" for side in sides)])


if __name__ == "__main__":
    sys.exit(main())
