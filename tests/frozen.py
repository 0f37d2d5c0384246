"""What every user sees, frozen before a change and compared byte for byte after it.

    python tests/frozen.py take  FOLDER            # with the interpreter, and so the version, that is to be frozen
    python tests/frozen.py check FOLDER [--quick]  # with the changed version's

Holds runs of every shipped scenario on every path, the papers' reproductions at the least trials, audits, test vectors,
helps, refusals, and every exported name with its signature. Left out is what differs between two runs of one version:
seconds, and paths of the run's own folder. Real data sets are read from PSEPHOS_DATA. Prints what differs, and ends
with status 1 where something does. `--quick` compares arrays, helps, refusals and exports alone: a minute or two.
"""

import argparse
import concurrent.futures
import difflib
import filecmp
import importlib
import inspect
import itertools
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import click

SEED: Final = 7
TRANSPORTS: Final = ("array", "memory", "tcp")
REPRODUCTIONS: Final = {"truth-discovery": 10, "moral-preferences": 10, "fair-voting": 10, "dpwevote": 100}
"""The papers, with the least trials that each allows."""
AUDITS: Final = {
    # Secure noise is another in each run, and so is what draws the sizes of sessions.
    "audit-all": ("all", "--source", "simulated", "--workers", "1", "--rotation", "1"),
    "audit-papers": ("papers",),
    "audit-faults": ("faults",),
}
REFUSALS: Final = (
    "run nothing",
    "run consortium --set epsilon=0",
    "run consortium --set epsilom=2",
    "run consortium --set partners=missing.csv",
    "run consortium --set transport=pigeon",
    "run consortium --set protocol=dpwevot",
    "run consortium --set budget=0.1 --transport array",
    "run consortium --set quota=-1",
    "run consortium --set noise=secure --transport array",
    "run consortium --set phases.opinion.quorum=2",
    "run crowd --set flip_probability=0.7",
    "run crowd --set workers.data=zurich",
    "run crowd --set workers.answers=missing.csv",
    "run moral-machine --set voters.choices=missing.csv",
    "run moral-machine --set voters.stream=true",
    "run moral-machine --set paradigm=VVCP",
    "run moral-synthetic --set voters.num_voters=0",
    "run two-societies --set gamma=2",
    "run two-societies --set voters.file=missing.soc",
    "run two-societies --set mechanism=none",
    "run two-societies --set voters.group_files.a=missing.csv",
    "run poisoning --transport array",
    "run duchenne --data missing",
    "run eu-council --record --set noise=secure",
    "variants crowd --error -1",
    "trials crowd --trials 0",
    "variants imf --data missing",
    "roster crowd --set epsilon=-1 --out out",
    "serve consortium --listen nowhere",
    "serve consortium --listen 127.0.0.1:0 --seed 3",
    "join 127.0.0.1:1 --as ann --input missing.csv",
    "ledger missing",
    "decide missing --first a=1 --second b=1",
    "audit nothing",
    "audit papers --samples 10",
    "audit k-rr --confidence 2",
    "reproduce dpwevote --trials 0",
    "reproduce truth-discovery --seed -1",
    "reproduce fair-voting --data missing",
    "reproduce moral-preferences --workers -1",
    "reproduce nothing",
)
LEFT_OUT: Final = ("run.json", "events.jsonl", "scenario.json")
"""Seconds, times, and paths from the run's folder (whose content `result.json` and the heading repeat)."""
NEVER_ALIKE: Final = (
    "exports-by-module.txt",  # where names are exported from: for people, who look for what moved
    "run-selective-abort-tcp/printed.txt",  # which of those that were dropped is named first
    "run-traffic-analysis-memory/out/adversaries.json",  # times that were measured
    "run-traffic-analysis-tcp/out/adversaries.json",
)
"""What two runs of one version do not have alike."""
TEXT: Final = (".csv", ".json", ".jsonl", ".md", ".txt")
SECONDS: Final = re.compile(
    r'("(?:\w*_)?seconds": )[0-9.e+-]+|\b[0-9][0-9,.]* s\b|(?<=-)20\d{6}-\d{6}\b|(?<="numpy": ")[0-9.]+'
)
MODULE: Final = re.compile(r"psephos(?:\.\w+)+\.")
NOTHING_COMPARED: Final = 2


def psephos(*words: str, folder: Path) -> str:
    """Run the command line in a folder; return status, standard output and error, without what no two runs share."""
    command = [sys.executable, "-W", "ignore", "-m", "psephos.scenarios.cli", *words]
    environment = {**os.environ, "COLUMNS": "100", "MPLBACKEND": "agg", "NO_COLOR": "1"}
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)  # noqa: S603  our own command
    text = f"$ psephos {' '.join(words)}\nstatus {ended.returncode}\n{ended.stdout}\n{ended.stderr}"
    return SECONDS.sub(r"\1SECONDS", text.replace(str(folder), "FOLDER"))


def keep(source: Path, target: Path) -> None:
    """Copy what a command wrote: its texts, without seconds."""
    for path in sorted(source.rglob("*")):
        if path.suffix in TEXT and path.name not in LEFT_OUT:
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(SECONDS.sub(r"\1SECONDS", path.read_text()))


def freeze_command(name: str, words: Sequence[str], target: Path) -> None:
    """Run one command, and keep what it printed and wrote."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made).resolve()
        printed = psephos(*words, folder=folder)
        (target / name).mkdir(parents=True, exist_ok=True)
        (target / name / "printed.txt").write_text(printed)
        keep(folder, target / name)


def commands(*, quick: bool) -> Iterator[tuple[str, list[str]]]:
    """Yield what is run, the longest first: a name, and the words of the command."""
    out = ["--out", "out", "--no-pictures"]
    if not quick:
        for name, words in AUDITS.items():
            yield name, ["audit", *words, "--json"]
        for paper, trials in REPRODUCTIONS.items():
            yield f"reproduce-{paper}", ["reproduce", paper, "--trials", str(trials), *out]
    from psephos.scenarios import list_scenarios  # noqa: PLC0415  help need not import it

    for transport in ("array",) if quick else TRANSPORTS:
        for scenario, path in list_scenarios().items():
            deviates = quick and "adversary" in tomllib.loads(path.read_text())
            if not deviates:
                yield (
                    f"run-{scenario}-{transport}",
                    ["run", scenario, "--transport", transport, "--seed", str(SEED), *out],
                )
    for generator in ("normal", "moral_machine"):
        voters = ("voters.stream=true", f"voters.generator={generator}", "voters.voters=25000", "voters.records=5")
        settings = [word for setting in voters for word in ("--set", setting)]
        streamed = ["run", "moral-synthetic", "--transport", "array", "--seed", str(SEED), *settings]
        yield f"stream-{generator}", [*streamed, *out]
    yield "scenarios", ["scenarios"]
    yield "variants", ["variants", "consortium", "--error", "200"]
    yield "variants-two-societies", ["variants", "two-societies", "--trials", "20"]
    # By one worker: of several another one may end first, and is told of first.
    yield "trials", ["trials", "consortium", "--trials", "20", "--grid", "epsilon=1,2", "--workers", "1", *out]
    yield "power", ["power", "eu-council"]


def freeze_helps(target: Path) -> None:
    """Keep the help of every command, and the refusals."""
    from psephos.scenarios.cli import cli  # noqa: PLC0415  help need not import it

    with tempfile.TemporaryDirectory() as made:
        folder = Path(made).resolve()
        helps = [psephos(*words, "--help", folder=folder) for words in _paths_of(cli)]
        (target / "help.txt").write_text("\n".join(helps))
        refusals = [psephos(*words.split(), folder=folder) for words in REFUSALS]
        left = sorted(path.name for path in folder.iterdir())
        (target / "refusals.txt").write_text("\n".join([*refusals, f"left: {left}\n"]))


def _paths_of(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if (each := command.get_command(context, name)) is not None:
                yield from _paths_of(each, (*words, name))


def freeze_exports(target: Path) -> None:
    """Keep every exported name with its signature; where it is exported from stands in a file that is not compared."""
    lines: set[str] = set()
    homes: set[str] = set()
    for module in sorted(_modules()):
        for name in getattr(importlib.import_module(module), "__all__", ()):
            value: Any = getattr(sys.modules[module], name)
            line = f"{name}{_signature(value)}"
            lines.add(line)
            homes.add(f"{module}: {line}")
    (target / "exports.txt").write_text("\n".join(sorted(lines)) + "\n")
    (target / "exports-by-module.txt").write_text("\n".join(sorted(homes)) + "\n")


def _modules() -> Iterator[str]:
    for room in ("protocol", "transports", "agents", "scenarios"):
        package = importlib.import_module(f"psephos.{room}")
        yield package.__name__
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                yield found.name


def _signature(value: object) -> str:
    try:
        text = str(inspect.signature(value)) if callable(value) else f": {type(value).__name__}"
    except (TypeError, ValueError):
        text = f": {type(value).__name__}"
    return re.sub(r" at 0x[0-9a-f]+", "", MODULE.sub("", text))


def freeze_vectors(target: Path) -> None:
    """Keep the test vectors, which `tests/vectors` holds the code to."""
    shutil.copytree(Path(__file__).parent / "vectors", target / "vectors", ignore=shutil.ignore_patterns("*.py", "__*"))


def take(target: Path, *, quick: bool) -> None:
    """Write everything into a folder that does not exist yet."""
    target.mkdir(parents=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        waiting = [pool.submit(freeze_command, *each, target) for each in commands(quick=quick)]
        waiting += [pool.submit(freeze, target) for freeze in (freeze_helps, freeze_exports, freeze_vectors)]
        for number, each in enumerate(concurrent.futures.as_completed(waiting), start=1):
            each.result()
            sys.stderr.write(f"\r{number} of {len(waiting)}")
    sys.stderr.write("\n")


def compare(before: Path, after: Path) -> tuple[int, list[str]]:
    """Return how many files of `after` were compared, and a unified difference for each that is another one."""
    differences: list[str] = []
    files = sorted(path.relative_to(after) for path in after.rglob("*") if path.is_file())
    gone = [path.relative_to(before) for path in before.rglob("*") if path.is_file()]
    tops = {path.parts[0] for path in files}
    files += sorted(path for path in gone if path.parts[0] in tops and path not in files)
    files = [path for path in files if str(path) not in NEVER_ALIKE]
    for path in files:
        one, other = before / path, after / path
        if one.is_file() and other.is_file() and filecmp.cmp(one, other, shallow=False):
            continue
        old, new = (each.read_text().splitlines() if each.is_file() else [] for each in (one, other))
        changed = difflib.unified_diff(old, new, f"before/{path}", f"after/{path}", n=0, lineterm="")
        differences.append("\n".join(itertools.islice(changed, 60)) or f"{path}: other bytes")
    return len(files), differences


def main() -> int:
    """Take or check; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["take", "check"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args()
    if chosen.action == "take":
        take(chosen.folder, quick=chosen.quick)
        return 0
    with tempfile.TemporaryDirectory() as made:
        after = Path(made) / "after"
        take(after, quick=chosen.quick)
        number, differences = compare(chosen.folder, after)
    sys.stdout.write("\n\n".join([*differences, f"{number} files compared, {len(differences)} differ\n"]))
    return NOTHING_COMPARED if not number else int(bool(differences))


if __name__ == "__main__":
    sys.exit(main())
