"""How time and memory of each protocol grow with the number of parties, by streamed tallies.

Each protocol has each number of parties in a process of its own. It encodes, draws, tallies and releases all phases, in
batches that are not kept. A batch has the same rows again and again, since making up rows is not what is measured;
reports differ all the same, by their parties' places. `python benchmarks/growth.py --largest --record` goes on to the
sizes that take minutes, and keeps all in `docs/tables/growth.csv` and `docs/growth.png`.
"""

import csv
import datetime as dt
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
import numpy as np
from harness import DOCS, Row, Used, apart, options, row, to_text
from psephos.protocol import Inputs, PhasedProtocol, SimulatedNoise, run_batches
from psephos.protocol.dpwevote import DPWeVote
from psephos.protocol.fair_voting import FairVoting
from psephos.protocol.fair_voting.rankings import Rankings
from psephos.protocol.moral_preferences import MoralPreferences, Records
from psephos.protocol.phases import Entries
from psephos.protocol.truth_discovery import TruthDiscovery
from record import picture

_SIZES: Final = (1_000, 10_000, 100_000, 1_000_000)
_SEED: Final = 1
_TASKS, _ANSWERS, _RECORDS, _FEATURES, _ALTERNATIVES = 1_000, 10, 10, 23, 10
_Table: TypeAlias = Mapping[str, Entries]


class Case(NamedTuple):
    """A protocol whose growth is measured.

    Args:
        what: what it is called.
        kind: the protocol.
        table: of a number of parties, their rows.
        most: parties that one process counts in minutes.
        batch: parties at a time.
        parameters: the protocol's.
    """

    what: str
    kind: type[PhasedProtocol[Any, Any]]
    table: Callable[[int], _Table]
    most: int
    batch: int
    parameters: dict[str, Any]

    def protocol(self, number: int) -> PhasedProtocol[Any, Any]:
        """Return the protocol for so many parties."""
        kind: Any = self.kind
        sizes = {"group_sizes": [number - number // 2, number // 2]} if kind is FairVoting else {}
        return kind(msgspec.convert({**self.parameters, **sizes}, kind.parameters_type))


def _vote(number: int) -> _Table:
    generator = np.random.default_rng(_SEED)
    return {"weight": generator.integers(1, 4, number), "roof": generator.integers(0, 2, number)}


def _crowd(number: int) -> _Table:
    generator = np.random.default_rng(_SEED)
    first = generator.integers(0, _TASKS, number)[:, None]
    asked = np.sort((first + np.arange(_ANSWERS) * (_TASKS // _ANSWERS)) % _TASKS, axis=1)
    return {"tasks": asked, "answers": (asked + (generator.random(asked.shape) < 0.3)) % 2}  # noqa: PLR2004  quality .7


def _survey(number: int) -> _Table:
    chosen, rejected = np.random.default_rng(_SEED).normal(size=(2, number * _RECORDS, _FEATURES))
    return {"records": Records(np.arange(number + 1, dtype=np.int64) * _RECORDS, chosen, rejected)}


def _election(number: int) -> _Table:
    rankings = np.tile(np.arange(_ALTERNATIVES), (number, 1))
    rankings = np.random.default_rng(_SEED).permuted(rankings, axis=1)
    return {"group": np.arange(number) % 2, "ranking": Rankings(rankings)}


_KNOWN: Final[dict[type, tuple[Callable[[int], _Table], dict[str, Any]]]] = {
    DPWeVote: (_vote, {"candidates": ["roof"]}),
    TruthDiscovery: (
        _crowd,
        {"tasks": [f"t{place}" for place in range(_TASKS)], "answer_sets": [["no", "yes"]], "max_answers": _ANSWERS},
    ),
    MoralPreferences: (
        _survey,
        {"features": [f"f{place}" for place in range(_FEATURES)], "max_records": _RECORDS},
    ),
    FairVoting: (
        _election,
        {"alternatives": [f"a{place}" for place in range(_ALTERNATIVES)], "groups": ["a", "b"]},
    ),
}


def _case(kind: type[PhasedProtocol[Any, Any]], what: str, most: int, batch: int, **parameters: Any) -> Case:
    table, known = _KNOWN[kind]
    return Case(what, kind, table, most, batch, {**known, **parameters})


_MANY: Final = 10_000_000
_OF_CROWD: Final = f"truth discovery, {_ANSWERS} answers each"
_OF_SURVEY: Final = f"moral preferences, {_RECORDS} records of {_FEATURES} features each, nobody trusted (VLDP)"
_OF_ELECTION: Final = f"election of {_ALTERNATIVES}"
CASES: Final = {
    "vote, local": _case(DPWeVote, "weighted vote, nobody trusted (joint)", 10 * _MANY, 50_000),
    "vote, central": _case(DPWeVote, "weighted vote, server trusted", 10 * _MANY, 50_000, variant="central"),
    "crowd, local": _case(TruthDiscovery, f"{_OF_CROWD}, nobody trusted (one_layer)", 1_000_000, 10_000),
    "crowd, central": _case(
        TruthDiscovery, f"{_OF_CROWD}, server trusted", _MANY, 10_000, mechanism="central", estimator="majority"
    ),
    "survey, local": _case(MoralPreferences, _OF_SURVEY, 100_000, 1_000, paradigm="VLDP"),
    "election, local": _case(
        FairVoting, f"{_OF_ELECTION}, nobody trusted (sampled_pair)", _MANY, 50_000, mechanism="sampled_pair"
    ),
    "election, central": _case(
        FairVoting, f"{_OF_ELECTION}, server trusted (laplace)", _MANY, 50_000, mechanism="laplace"
    ),
}


def growth(*, quick: bool) -> Iterator[Row]:
    """Yield time and memory of each protocol at its largest size, and how they grow."""
    for name in CASES:
        yield from _rows(name, _grow(name, _SIZES[:2] if quick else _SIZES))


def _grow(name: str, sizes: Sequence[int]) -> dict[int, Used]:
    """Return what so many parties of a case take, of those sizes that are not too large; short runs are repeated."""
    own = [size for size in sizes if size <= CASES[name].most]
    return {size: apart(count, name, size, times=max(1, min(20, 20_000 // size))) for size in own}


def count(name: str, size: int) -> Callable[[], object]:
    """Return what counts so many parties of a case."""
    case = CASES[name]
    batch = min(case.batch, size)
    protocol, table = case.protocol(size), case.table(batch)

    def run() -> None:
        batches = batches_of(protocol, table, range(0, size, batch))
        result = run_batches(protocol, batches, noise=SimulatedNoise(_SEED, session="growth"))
        if result.tallies[0].num_reports != size:
            raise RuntimeError(f"{result.tallies[0].num_reports} reports of {size} parties")

    return run


def batches_of(protocol: PhasedProtocol[Any, Any], table: _Table, places: range) -> Generator[Inputs]:
    """Yield the rows of batches whose first parties have these places: in each, those of the table."""
    for start in places:
        inputs = protocol.encode(table)
        yield Inputs(inputs.private, protocol.placed(inputs.public, start=start))


def _rows(name: str, found: Mapping[int, Used]) -> Iterator[Row]:
    what, most = CASES[name].what, max(found)
    note = f" of CPU ({found[most].cpu / most * 1e6:.2f} µs each)"
    yield row(f"{what}: {most:,} parties, streamed", found[most].cpu, note=note)
    yield row(f"{what}: memory of {most:,} parties, streamed", found[most].megabytes, show="{:,.0f} MB")
    sizes = [size for size in found if size >= _SIZES[1]]  # below, what does not grow is most of the time
    if len(sizes) > 1:
        exponent = float(np.polyfit(np.log(sizes), np.log([found[size].cpu for size in sizes]), 1)[0])
        grows = f"{what}: exponent of growth of CPU, {sizes[0]:,} to {sizes[-1]:,} parties"
        yield row(grows, exponent, show="{:.2f}", target="≤ 1.05")


def _draw(figure: Any, grown: Mapping[str, Mapping[int, Used]]) -> None:
    """Draw seconds and memory over the number of parties, both by powers of ten."""
    for place, title in enumerate(("seconds of CPU, one core", "memory of the process, MB"), start=1):
        axes = figure.add_subplot(1, 2, place)
        for marker, (name, found) in zip("osD^vPX", grown.items(), strict=True):
            own = [each.cpu if place == 1 else each.megabytes for each in found.values()]
            axes.loglog(list(found), own, marker=marker, markersize=4, linewidth=1.2, label=name)
        axes.set_xlabel("parties", fontsize=8)
        axes.set_title(title, fontsize=9, loc="left")
        axes.tick_params(labelsize=8)
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[1].legend(fontsize=8, frameon=False, loc="upper left")


def _main() -> None:
    asked = options(__doc__, largest=False, record=False)
    sizes = (*_SIZES, _MANY, 10 * _MANY) if asked.largest else _SIZES
    grown = {name: _grow(name, sizes) for name in CASES}
    print(to_text([each for name, found in grown.items() for each in _rows(name, found)]))
    if asked.record:
        today = dt.datetime.now(tz=dt.UTC).date().isoformat()
        with (DOCS / "tables" / "growth.csv").open("w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow(("case", "parties", "seconds", "megabytes", "day"))
            for name, found in grown.items():
                for size, each in found.items():
                    lines.writerow((name, size, f"{each.cpu:.6f}", f"{each.megabytes:.0f}", today))
        picture(DOCS / "growth.png", (9, 4.2), lambda figure: _draw(figure, grown))


if __name__ == "__main__":
    _main()
