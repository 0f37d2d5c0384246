"""How time and memory of each protocol grow with the number of parties, by streamed tallies.

Each protocol has each number of parties in a process of its own. It encodes, draws, tallies and releases all phases, in
batches that are not kept. A batch has the same rows again and again, since making up rows is not what is measured;
reports differ all the same, by their parties' places. `python benchmarks/growth.py --largest --record` goes on to the
sizes that take minutes, and keeps all in `docs/tables/growth.csv` and `docs/growth.png`.
"""

import csv
import datetime as dt
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
from harness import DOCS, Rows, Used, apart, options, row, to_text
from psephos.protocol import Inputs, PhasedProtocol, SimulatedNoise, run_batches
from psephos.protocol.dpwevote import DPWeVote
from psephos.protocol.fair_voting import FairVoting
from psephos.protocol.fair_voting.rankings import Rankings
from psephos.protocol.moral_preferences import MoralPreferences, Records
from psephos.protocol.phases import Entries
from psephos.protocol.truth_discovery import TruthDiscovery
from record import picture

_SIZES = (1_000, 10_000, 100_000, 1_000_000)
_SEED = 1
_TASKS, _ANSWERS, _RECORDS, _FEATURES, _ALTERNATIVES = 1_000, 10, 10, 23, 10
_Table = Mapping[str, Entries]


class Case(NamedTuple):
    """A protocol whose growth is measured.

    Args:
        name: in a word or two.
        what: what it is called.
        kind: the protocol.
        table: of a number of parties, their rows.
        most: parties that one process counts in minutes.
        batch: parties at a time.
        parameters: the protocol's.
    """

    name: str
    what: str
    kind: type[PhasedProtocol[Any, Any]]
    table: Callable[[int], _Table]
    most: int
    batch: int
    parameters: dict[str, Any]

    def protocol(self, number: int) -> PhasedProtocol[Any, Any]:
        """Return the protocol for so many parties."""
        sizes = {"group_sizes": [number - number // 2, number // 2]} if self.kind is FairVoting else {}
        kind: Any = self.kind
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


_OF_CROWD = {
    "tasks": [f"t{place}" for place in range(_TASKS)],
    "answer_sets": [["no", "yes"]],
    "max_answers": _ANSWERS,
}
_OF_SURVEY = {"features": [f"f{place}" for place in range(_FEATURES)], "max_records": _RECORDS}
_OF_ELECTION = {"alternatives": [f"a{place}" for place in range(_ALTERNATIVES)], "groups": ["a", "b"]}
_MANY, _BATCH = 10_000_000, 50_000
_CASES = (
    Case(
        "vote, local",
        "weighted vote, nobody trusted (joint)",
        DPWeVote,
        _vote,
        10 * _MANY,
        _BATCH,
        {"candidates": ["roof"]},
    ),
    Case(
        "vote, central",
        "weighted vote, server trusted",
        DPWeVote,
        _vote,
        10 * _MANY,
        _BATCH,
        {"candidates": ["roof"], "variant": "central"},
    ),
    Case(
        "crowd, local",
        f"truth discovery, {_ANSWERS} answers each, nobody trusted (one_layer)",
        TruthDiscovery,
        _crowd,
        1_000_000,
        10_000,
        _OF_CROWD,
    ),
    Case(
        "crowd, central",
        f"truth discovery, {_ANSWERS} answers each, server trusted",
        TruthDiscovery,
        _crowd,
        _MANY,
        10_000,
        {**_OF_CROWD, "mechanism": "central", "estimator": "majority"},
    ),
    Case(
        "survey, local",
        f"moral preferences, {_RECORDS} records of {_FEATURES} features each, nobody trusted (VLDP)",
        MoralPreferences,
        _survey,
        100_000,
        1_000,
        {**_OF_SURVEY, "paradigm": "VLDP"},
    ),
    Case(
        "election, local",
        f"election of {_ALTERNATIVES}, nobody trusted (sampled_pair)",
        FairVoting,
        _election,
        _MANY,
        _BATCH,
        {**_OF_ELECTION, "mechanism": "sampled_pair"},
    ),
    Case(
        "election, central",
        f"election of {_ALTERNATIVES}, server trusted (laplace)",
        FairVoting,
        _election,
        _MANY,
        _BATCH,
        {**_OF_ELECTION, "mechanism": "laplace"},
    ),
)
CASES = {case.name: case for case in _CASES}


def growth(*, quick: bool) -> Rows:
    """Yield time and memory of each protocol at its largest size, and how they grow."""
    for name in CASES:
        yield from _rows(name, _grow(name, _SIZES[:2] if quick else _SIZES))


def _grow(name: str, sizes: Sequence[int]) -> dict[int, Used]:
    """Return what so many parties of a case take, of those sizes that are not too large; short runs are repeated."""
    return {
        size: apart(count, name, size, times=max(1, min(20, 20_000 // size)))
        for size in sizes
        if size <= CASES[name].most
    }


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
        yield Inputs(inputs.private, protocol.place_rows(inputs.public, start=start))


def _rows(name: str, found: Mapping[int, Used]) -> Rows:
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
