"""How time and memory of each protocol grow with the number of parties, by streamed tallies.

Each protocol has each number of parties in a process of its own. It encodes, draws, tallies and releases all phases, in
batches that are not kept. A batch has the same rows again and again, since making up rows is not what is measured;
reports differ all the same, by their parties' places. `python benchmarks/growth.py --largest --record` goes on to the
sizes that take minutes, and keeps all in `docs/tables/growth.csv` and `docs/growth.png`.
"""

import argparse
import csv
import datetime as dt
import pathlib
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from peaks import peak_bytes, resident_bytes
from psephos.protocol.dpwevote import DPWeVote
from psephos.protocol.fair_voting import FairVoting
from psephos.protocol.fair_voting.rankings import Rankings
from psephos.protocol.moral_preferences import MoralPreferences, Records
from psephos.protocol.phases import Entries, Inputs, PhasedProtocol
from psephos.protocol.population import run_batches
from psephos.protocol.randomness import SimulatedNoise
from psephos.protocol.truth_discovery import TruthDiscovery
from table import NOTHING, Row, at_most, to_text

__all__ = ["CASES", "Case", "Grown", "batches_of", "grow", "measure"]

_DOCS: Final = pathlib.Path(__file__).parent.parent / "docs"
_SIZES: Final = (1_000, 10_000, 100_000, 1_000_000)
_QUICK_SIZES: Final = (1_000, 10_000)
_FIRST_OF_SLOPE: Final = 10_000  # below, what does not grow is most of the time
_MOST_EXPONENT: Final = 1.05
_LEAST_SECONDS: Final = 0.2  # a shorter run is repeated: the least of its times counts
_MOST_TIMES: Final = 20
_SEED: Final = 1
_TASKS, _ANSWERS, _RECORDS, _FEATURES, _ALTERNATIVES = 1_000, 10, 10, 23, 10
_MEGABYTE: Final = 1_000_000
_MARKERS: Final = "osD^vPX"


class Case(msgspec.Struct, frozen=True):
    """A protocol whose growth is measured.

    Args:
        what: what it is called.
        make: of a number of parties, the protocol, and of a number of them, the table of a batch.
        most: parties that one process counts in minutes.
        batch: parties at a time.
    """

    what: str
    make: Callable[[int], tuple[PhasedProtocol[Any, Any], Callable[[int], Mapping[str, Entries]]]]
    most: int
    batch: int


class Grown(msgspec.Struct, frozen=True):
    """What a process of its own measured: seconds of CPU, and memory at most and before the first batch."""

    seconds: float
    peak: int | None
    before: int | None


def _vote(**more: Any) -> Callable[[int], Any]:
    def table(number: int) -> Mapping[str, Entries]:
        generator = np.random.default_rng(_SEED)
        return {"weight": generator.integers(1, 4, number), "roof": generator.integers(0, 2, number)}

    return lambda _: (_made(DPWeVote, candidates=["roof"], **more), table)


def _crowd(**more: Any) -> Callable[[int], Any]:
    tasks = [f"t{number}" for number in range(_TASKS)]

    def table(number: int) -> Mapping[str, Entries]:
        generator = np.random.default_rng(_SEED)
        first = generator.integers(0, _TASKS, number)[:, None]
        asked = np.sort((first + np.arange(_ANSWERS) * (_TASKS // _ANSWERS)) % _TASKS, axis=1)
        return {"tasks": asked, "answers": (asked + (generator.random(asked.shape) < 0.3)) % 2}  # noqa: PLR2004  quality .7

    known = {"tasks": tasks, "answer_sets": [["no", "yes"]], "max_answers": _ANSWERS, **more}
    return lambda _: (_made(TruthDiscovery, **known), table)


def _survey(**more: Any) -> Callable[[int], Any]:
    def table(number: int) -> Mapping[str, Entries]:
        shape = (number * _RECORDS, _FEATURES)
        chosen, rejected = np.random.default_rng(_SEED).normal(size=(2, *shape))
        return {"records": Records(np.arange(number + 1, dtype=np.int64) * _RECORDS, chosen, rejected)}

    known = {"features": [f"f{number}" for number in range(_FEATURES)], "max_records": _RECORDS, **more}
    return lambda _: (_made(MoralPreferences, **known), table)


def _election(**more: Any) -> Callable[[int], Any]:
    names = [f"a{number}" for number in range(_ALTERNATIVES)]

    def table(number: int) -> Mapping[str, Entries]:
        generator = np.random.default_rng(_SEED)
        rankings = generator.permuted(np.tile(np.arange(_ALTERNATIVES), (number, 1)), axis=1)
        return {"group": np.arange(number) % 2, "ranking": Rankings(rankings)}

    def make(number: int) -> Any:
        sizes = [number - number // 2, number // 2]
        return _made(FairVoting, alternatives=names, groups=["a", "b"], group_sizes=sizes, **more), table

    return make


def _made(kind: type[PhasedProtocol[Any, Any]], **parameters: Any) -> PhasedProtocol[Any, Any]:
    return kind(msgspec.convert(parameters, kind.parameters_type))


_MANY, _SOME, _FEW = 10_000_000, 1_000_000, 100_000
CASES: Final = {
    "vote, local": Case("weighted vote, nobody trusted (joint)", _vote(), 100_000_000, 50_000),
    "vote, central": Case("weighted vote, server trusted", _vote(variant="central"), 100_000_000, 50_000),
    "crowd, local": Case(
        f"truth discovery, {_ANSWERS} answers each, nobody trusted (one_layer)", _crowd(), _SOME, 10_000
    ),
    "crowd, central": Case(
        f"truth discovery, {_ANSWERS} answers each, server trusted",
        _crowd(mechanism="central", estimator="majority"),
        _MANY,
        10_000,
    ),
    "survey, local": Case(
        f"moral preferences, {_RECORDS} records of {_FEATURES} features each, nobody trusted (VLDP)",
        _survey(paradigm="VLDP"),
        _FEW,
        1_000,
    ),
    "election, local": Case(
        f"election of {_ALTERNATIVES}, nobody trusted (sampled_pair)",
        _election(mechanism="sampled_pair"),
        _MANY,
        50_000,
    ),
    "election, central": Case(
        f"election of {_ALTERNATIVES}, server trusted (laplace)", _election(mechanism="laplace"), _MANY, 50_000
    ),
}


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield time and memory of each protocol at its largest size, and how they grow."""
    yield from _rows({name: grow(name, _QUICK_SIZES if quick else _SIZES) for name in CASES}, has_target=not quick)


def _rows(grown: Mapping[str, Mapping[int, Grown]], *, has_target: bool) -> Iterator[Row]:
    for name, found in grown.items():
        what, most = CASES[name].what, max(found)
        largest = found[most]
        shown = f"{largest.seconds:.2f} s of CPU ({largest.seconds / most * 1e6:.2f} µs each)"
        yield Row(f"{what}: {most:,} parties, streamed", shown)
        if largest.peak is not None:
            memory = f"{largest.peak / _MEGABYTE:,.0f} MB"
            yield Row(f"{what}: memory of {most:,} parties, streamed", memory)
        sizes = [size for size in found if size >= _FIRST_OF_SLOPE]
        if len(sizes) > 1:
            exponent = float(np.polyfit(np.log(sizes), np.log([found[size].seconds for size in sizes]), 1)[0])
            target = at_most(exponent, _MOST_EXPONENT if has_target else None)
            grows = f"{what}: exponent of growth of CPU, {sizes[0]:,} to {sizes[-1]:,} parties"
            yield Row(grows, f"{exponent:.2f}", goal=target)


def grow(name: str, sizes: Sequence[int]) -> dict[int, Grown]:
    """Return what so many parties of a case take, by their number; those of its sizes that are not too large."""
    return {size: _run_child(name, size) for size in sizes if size <= CASES[name].most}


def _run_child(name: str, size: int) -> Grown:
    done = subprocess.run([sys.executable, __file__, "run", name, str(size)], check=True, stdout=subprocess.PIPE)  # noqa: S603  this file, by this interpreter
    return msgspec.json.decode(done.stdout, type=Grown)


def batches_of(protocol: PhasedProtocol[Any, Any], table: Mapping[str, Entries], places: range) -> Generator[Inputs]:
    """Yield the rows of batches whose first parties have these places: in each, those of the table."""
    for start in places:
        inputs = protocol.encode(table)
        yield Inputs(inputs.private, protocol.placed(inputs.public, start=start))


def _run(name: str, number: str) -> None:
    case, size = CASES[name], int(number)
    batch = min(case.batch, size)
    protocol, table_of = case.make(size)
    table, before = table_of(batch), resident_bytes()
    seconds = list[float]()
    while not seconds or (sum(seconds) < _LEAST_SECONDS and len(seconds) < _MOST_TIMES):
        begun = time.process_time()
        batches = batches_of(protocol, table, range(0, size, batch))
        result = run_batches(protocol, batches, noise=SimulatedNoise(_SEED, session="growth"))
        seconds.append(time.process_time() - begun)
        if result.tallies[0].num_reports != size:
            raise RuntimeError(f"{result.tallies[0].num_reports} reports of {size} parties")
    sys.stdout.buffer.write(msgspec.json.encode(Grown(min(seconds), peak_bytes(), before)))


def _write(grown: Mapping[str, Mapping[int, Grown]], path: pathlib.Path) -> None:
    today = dt.datetime.now(tz=dt.UTC).date().isoformat()
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(("case", "parties", "seconds", "megabytes", "day"))
        for name, found in grown.items():
            for size, each in found.items():
                peak = NOTHING if each.peak is None else f"{each.peak / _MEGABYTE:.0f}"
                lines.writerow((name, size, f"{each.seconds:.6f}", peak, today))


def _draw(grown: Mapping[str, Mapping[int, Grown]], path: pathlib.Path) -> None:
    """Draw seconds and memory over the number of parties, both by powers of ten."""
    figure = Figure(figsize=(9, 4.2), dpi=140, layout="constrained")
    for place, title in enumerate(("seconds of CPU, one core", "memory of the process, MB"), start=1):
        axes: Any = figure.add_subplot(1, 2, place)  # whose stubs are partly unknown
        for marker, (name, found) in zip(_MARKERS, grown.items(), strict=True):
            own = [each.seconds if place == 1 else (each.peak or 0) / _MEGABYTE for each in found.values()]
            axes.loglog(list(found), own, marker=marker, markersize=4, linewidth=1.2, label=name)
        axes.set_xlabel("parties", fontsize=8)
        axes.set_title(title, fontsize=9, loc="left")
        axes.tick_params(labelsize=8)
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        if place != 1:
            axes.legend(fontsize=8, frameon=False, loc="upper left")
    canvas: Any = FigureCanvasAgg(figure)
    canvas.print_png(path, metadata={"Software": None})


def _main() -> None:
    if sys.argv[1:2] == ["run"]:
        _run(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", action="store_true", help="each protocol to as many as it counts in minutes")
    parser.add_argument("--record", action="store_true", help="keep table and picture in the manual")
    parser.add_argument("--kept", type=pathlib.Path, metavar="FILE", help="measurements as JSON, gone on with if there")
    options = parser.parse_args()
    sizes = (*_SIZES, _MANY, 10 * _MANY) if options.largest else _SIZES
    known = dict[str, dict[int, Grown]]()
    if options.kept is not None and options.kept.exists():
        known = msgspec.json.decode(options.kept.read_bytes(), type=dict[str, dict[int, Grown]])
    for name in CASES:
        own = known.setdefault(name, {})
        for size in sizes:
            if size not in own:
                own.update(grow(name, [size]))
                if options.kept is not None:
                    options.kept.write_bytes(msgspec.json.encode(known))
    print(to_text(list(_rows(known, has_target=True))))
    if options.record:
        _write(known, _DOCS / "tables" / "growth.csv")
        _draw(known, _DOCS / "growth.png")


if __name__ == "__main__":
    _main()
