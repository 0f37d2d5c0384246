"""Whole sessions of every size: sizes of a grid, drawn by a rotation, and what parties may differ in.

A system brings *sweeps*: families of its sessions whose sizes grow (candidates, answers, records, groups, parties,
sessions in a row) and whose other choices (variants) take turns. A full audit tries every rung of every size of a sweep
at least once, a quick one some; how rungs meet is drawn by the rotation, which is another one in each run unless it is
given. A combination that would take too long is lowered, largest size first, and says so by its own numbers.

In a *configuration*, which is a sweep at some sizes, parties differ in each of the kinds that it declares: the group,
the ranking, the weight, an opinion, one record, presence; each kind has two ends, as far apart as it can be. All ends
are somewhere in a roster, at places that the rotation draws. Everything that leaves is held against its law
(`stream_views`), the ends' exact losses by the laws against the ledger.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.mechanisms import JointPair, Mechanism, Prepared, RowMechanism
from ...protocol.phases import Inputs, Phase, PhasedProtocol
from ...protocol.privacy import LedgerEntry
from ...protocol.tally import Tally
from .case import FULL_SAMPLES, Case, LawCheck, OutputSampler, Pair, Source
from .exposed_parts import ExposedPart, ReleasedTallies, Reported, draw_releases
from .machines import (
    SESSION,
    MakeNoise,
    RecordedSession,
    SessionRunner,
    noise_of,
    roster_of,
    run_by_arrays,
    run_by_machines,
    session_sampler,
)
from .stream_views import Stream
from .whole_sessions import charge

RUNGS: Final = (1, 2, 3, 5, 8, 16, 31, 64)  # sizes that are tried of whatever grows
ALPHABETS: Final = (2, 3, 4, 6, 8, 16, 33, 64)  # the same of what a number may be: neighbors of powers of two, too
FIRST_ROTATION: Final = 1
OWN: Final = ", own ε = "  # in a choice, before the level of ε that its ends have
_SHARE_IF_QUICK: Final = 2.0  # of what a configuration would take of the fewer outputs of a quick run
_SEEDS: Final = 1000
_DRAWS: Final = 256
_LEAST_SESSIONS: Final = 120
"""In which a place that keeps what it should randomize shows, even if only one of its numbers is looked at."""
_MOST_REPORTS: Final = 1 << 12
_ARRANGEMENTS: Final = 300
_MOST_NUMBERS: Final = 640  # that all parties of a session report, and of sessions in a row
_SECONDS_OF: Final[Mapping[Source, tuple[float, float, float]]] = {
    "simulated": (1e-3, 1e-5, 4e-7),
    "secure": (2e-3, 5e-4, 3e-5),
}
"""Roughly: of a session, of a party's report in a phase, of a number in it."""
_SECONDS_OF_RELEASE: Final[Mapping[Source, tuple[float, float]]] = {"simulated": (1e-4, 5e-6), "secure": (2e-4, 6e-5)}
"""The same of a release, and of a number in it."""
_SECONDS: Final[Mapping[Source, float]] = {
    "simulated": 1.0,
    "secure": 2.5,
}  # of the draws of a configuration in a full audit
_CHECKS_OF_SECURE: Final = 0.4


class Member(NamedTuple):
    """A party: its private row, and its public one."""

    row: tuple[int, ...]
    public: tuple[int, ...] = ()


class Ends(NamedTuple):
    """Two neighbors, as far apart as a kind of difference allows: parties, or in the central model whole rosters."""

    first: Any
    second: Any


def other_level_ends(party: Member, number: int) -> dict[str, Ends]:
    """Return, by its name, no difference in secret: a party of another of so many levels of ε, in the same roster."""
    *public_row, place = party.public
    return {"another ε, which is public": Ends(party, Member(party.row, (*public_row, (place + 1) % number)))}


@dataclasses.dataclass(frozen=True, eq=False)
class Configuration:
    """Sessions of some sizes."""

    protocol: PhasedProtocol[Any, Any]  # what is run
    # By what parties differ in, the two ends of it: `Member` each; in the central model `Inputs` each.
    kinds: Mapping[str, Ends]
    num_parties: int = 1  # of a roster; in the central model that of the rosters
    num_sessions: int = 1  # in a row, on one noise source
    # Whether rosters are told apart, by what a trusted server releases in the protocol's one phase.
    is_central: bool = False
    hold: SessionRunner = run_by_machines  # with secure noise; by default rightly
    hold_simulated: SessionRunner = run_by_arrays  # with simulated noise
    make_noise: MakeNoise | None = None  # makes secure noise; by default rightly

    def case(self, name: str, *, seed: int, share: float = 1.0) -> Case:
        """Return the audit of these sessions: by kind the exact loss of its ends, and all that leaves by its law.

        The seed draws places; the share is of the usual number of sessions.
        """
        entries = self._entries()
        rosters = self._rosters(seed)
        shares = {source: self._share(source, len(rosters)) * share for source in _SECONDS}
        return Case.against(
            entries,
            name=name,
            group=self.protocol.name,
            unit=" and ".join(dict.fromkeys(entry.unit for entry in entries)),
            pairs=self._pairs,
            share=min(1.0, shares["simulated"]),
            secure_share=min(1.0, shares["secure"]),
            law_checks=functools.partial(self._checks, rosters, seed),
            note=f"Looked at: {', '.join(self.kinds)}.",
        )

    def _entries(self) -> Sequence[LedgerEntry]:
        first = next(iter(self.kinds.values())).first
        row, public = first if isinstance(first, Member) else (first.private[0].tolist(), first.public[0].tolist())
        return charge(self.protocol, row, public, num_sessions=1)

    def _rosters(self, seed: int) -> dict[str, Inputs]:
        if self.is_central:
            return {
                f"{kind}, {side}": end_inputs
                for kind, ends in self.kinds.items()
                for side, end_inputs in ends._asdict().items()
            }
        ends = list(dict.fromkeys(end for end_inputs in self.kinds.values() for end in end_inputs))
        order = np.random.default_rng(seed).permutation(self.num_parties)
        rosters: dict[str, Inputs] = {}
        for start in range(0, len(ends), self.num_parties):
            members = [ends[(start + int(place)) % len(ends)] for place in order]
            rosters[f"parties from row {start + 1}"] = roster_of(
                self.protocol, [each.row for each in members], [each.public for each in members]
            )
        return rosters

    def _pairs(self) -> list[Pair]:
        """Return by kind a law of two outcomes that has the ends' own loss: more than is charged refutes it."""
        losses = {kind: self._loss(ends) for kind, ends in self.kinds.items()}
        return [
            Pair(f"{kind}, by the law", laws=_channel_of_loss(loss))
            for kind, loss in losses.items()
            if loss is not None
        ]

    def _loss(self, ends: Ends) -> float | None:
        if self.is_central:
            losses = ReleasedTallies(self.protocol, self._phase, [self._tally(end) for end in ends]).losses
            return float(max(losses[0, 1], losses[1, 0]))
        one, other = ends
        if one.public != other.public:
            return None
        rows = np.array([one.row, other.row], dtype=np.int64)
        parts: list[ExposedPart] = [Reported(self.protocol, phase, rows, one.public) for phase in self.protocol.phases]
        if not all(part.is_law_known for part in parts):
            return None
        losses: FloatArray = sum((_losses_of(part) for part in parts), start=np.zeros((2, 2)))
        return float(max(losses[0, 1], losses[1, 0]))

    def _checks(self, rosters: Mapping[str, Inputs], seed: int) -> list[LawCheck]:
        checks: list[LawCheck] = []
        usual_row: list[int] = []  # all that says nothing is the same whatever anybody holds
        if not self.is_central:
            first = next(iter(self.kinds.values())).first
            equal_inputs = roster_of(self.protocol, [first.row] * self.num_parties, [first.public] * self.num_parties)
            noise = noise_of("secure")()("", 0, 0)
            usual_row.append(self.hold(self.protocol, equal_inputs, session=SESSION, noise=noise).others)
        for name, inputs in rosters.items():
            draws = {source: self._draw(inputs, source) for source in _SECONDS}
            if self.is_central:
                releases = self._phase.fixed_release(self._tally(inputs), 0).drawn
                views = list(Stream([releases], num_sessions=1, seed=seed).views())
                checks.append(LawCheck(name, views, draws["simulated"], draws["secure"]))
                continue
            stream = Stream(self._reports(inputs), num_sessions=self.num_sessions, seed=seed)
            views = list(stream.views())
            num_repeats = -(-_LEAST_SESSIONS // self.num_sessions)
            checks.append(LawCheck(name, views, draw=draws["simulated"], least=num_repeats))
            views = list(stream.views(usual_row[0]))
            checks.append(LawCheck(name, views, secure=draws["secure"], least=num_repeats))
        return [check for check in checks if check.views]

    @property
    def _phase(self) -> Phase:
        (phase,) = self.protocol.phases
        return phase

    def _tally(self, inputs: Inputs) -> Tally:
        return self._phase.tally(inputs.private[:, self._phase.columns], earlier=(), public=inputs.public)

    def _reports(self, inputs: Inputs) -> list[list[tuple[RowMechanism, Sequence[int]]]]:
        rows, publics = inputs.private.tolist(), inputs.public.tolist()
        return [
            [(phase.mechanism_of(public), row[phase.columns]) for phase in self.protocol.phases]
            for row, public in zip(rows, publics, strict=True)
        ]

    def _draw(self, inputs: Inputs, source: Source) -> OutputSampler:
        make_noise = self.make_noise if source == "secure" and self.make_noise else noise_of(source)
        if self.is_central:
            release = functools.partial(draw_releases, self.protocol, self._phase, self._tally(inputs))
            return lambda number, stream: release(number, make_noise()(SESSION, stream, 0))

        def observe(session: RecordedSession) -> Sequence[Sequence[int]]:
            return [[*(number for report in session.reports for number in report), session.others]]

        hold = self.hold if source == "secure" else self.hold_simulated
        draw = session_sampler(self.protocol, inputs, observe, make_noise, side=0, hold=hold)
        size = self.num_sessions

        def next_sessions(number: int, stream: int) -> IntArray:
            outputs = draw(number * size, stream)
            other_outputs = outputs[:, -1].reshape(number, size)
            is_same = np.all(other_outputs == other_outputs[:, :1], axis=1)
            return np.column_stack([outputs[:, :-1].reshape(number, -1), np.where(is_same, other_outputs[:, 0], -1)])

        return next_sessions

    def _share(self, source: Source, num_rosters: int) -> float:
        """Return the share of the usual outputs that fits into its time; `engine` says how inputs share them."""
        outputs = _SECONDS[source] / (self.seconds(source) * num_rosters)
        of_inputs = _CHECKS_OF_SECURE if source == "secure" else 1.0
        return outputs * num_rosters / (FULL_SAMPLES[source] * of_inputs)

    def seconds(self, source: Source) -> float:
        """Return roughly what one output takes."""
        if self.is_central:
            of_release, of_number = _SECONDS_OF_RELEASE[source]
            return of_release + self._tally(next(iter(self.kinds.values())).first).totals.size * of_number
        of_session, of_report, of_number = _SECONDS_OF[source]
        phases = len(self.protocol.phases)
        numbers = sum(phase.num_reported for phase in self.protocol.phases)
        return self.num_sessions * (of_session + self.num_parties * (phases * of_report + numbers * of_number))


@dataclasses.dataclass(frozen=True, eq=False)
class SizeSweep:
    """A family of sessions."""

    name: str  # of the family, distinct in its protocol
    sizes: Mapping[str, Sequence[int]]  # what grows → the rungs that it may stand on, rising
    choices: Sequence[str]  # what else takes turns: in words, distinct
    # The choice and the sizes → the configuration; a size is none of the others'.
    make: Callable[[str, Mapping[str, int]], Configuration]
    most: int = _MOST_NUMBERS  # the greatest product of sizes; a greater one is lowered
    alphabets: Collection[str] = ()  # sizes that make no report longer, and so are no factors

    def lower_sizes(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Return sizes whose product is allowed: the largest one falls by rungs until it is."""
        lowered_sizes = dict(sizes)
        factors = [size for size in lowered_sizes if size not in self.alphabets]
        while math.prod(lowered_sizes[size] for size in factors) > self.most:
            largest = max(factors, key=lambda size: (lowered_sizes[size], size))
            lowered_sizes[largest] = max(rung for rung in self.sizes[largest] if rung < lowered_sizes[largest])
        return lowered_sizes

    def arrange_sizes(self, random: np.random.Generator) -> list[dict[str, int]]:
        """Return sizes in which every rung is met: of some arrangements the one in which fewest rungs are lowered."""
        number = max(map(len, self.sizes.values()))

        def draw_arrangement() -> list[dict[str, int]]:
            orders = {size: random.permutation(number) % len(rungs) for size, rungs in self.sizes.items()}
            return [{size: rungs[orders[size][place]] for size, rungs in self.sizes.items()} for place in range(number)]

        tries = (draw_arrangement() for _ in range(_ARRANGEMENTS))
        best = max(tries, key=lambda arrangement: sum(self.lower_sizes(sizes) == sizes for sizes in arrangement))
        return [self.lower_sizes(sizes) for sizes in best]


class Combination(NamedTuple):
    """What is tried of a sweep."""

    sweep: SizeSweep
    choice: str
    sizes: Mapping[str, int]

    @property
    def name(self) -> str:
        """The combination, as a phrase."""
        sizes_text = ", ".join(f"{number} {size}" for size, number in self.sizes.items())
        return (
            f"ladder, {self.sweep.name}, {self.choice}: {sizes_text}"
            if self.choice
            else f"ladder, {self.sweep.name}: {sizes_text}"
        )


class SizeGrid(msgspec.Struct, frozen=True):
    """Which sizes a run tries: how rungs meet by a rotation, of a quick run in one combination of each sweep.

    Other runs have as many combinations as have every rung.
    """

    rotation: int = FIRST_ROTATION
    is_quick: bool = False


class SweepCoverage(msgspec.Struct, frozen=True, kw_only=True):
    """Which sizes of a family of sessions a run tried."""

    group: str  # the protocol
    name: str  # of the family
    tried: dict[str, list[str]]  # of each size, and of what else takes turns, what was tried
    untried: dict[str, list[str]]  # the same of what was not
    num_combinations: int  # that were tried
    num_possible: int  # that there are


def combinations(sweep: SizeSweep, grid: SizeGrid) -> list[Combination]:
    """Return combinations of a sweep: in a full run every rung and choice is in one, and a quick run has one."""
    random = np.random.default_rng([grid.rotation, *sweep.name.encode()])
    arranged = sweep.arrange_sizes(random)
    turn = int(random.integers(len(sweep.choices)))
    number = 1 if grid.is_quick else max(len(arranged), len(sweep.choices))
    combinations_made = [
        Combination(sweep, sweep.choices[(turn + place) % len(sweep.choices)], arranged[place % len(arranged)])
        for place in range(number)
    ]
    return list({each.name: each for each in combinations_made}.values())


def sweep_cases(sweeps: Sequence[SizeSweep], grid: SizeGrid) -> Iterator[Case]:
    """Yield the cases of sweeps. See `combinations`."""
    for sweep in sweeps:
        for place, combination in enumerate(combinations(sweep, grid)):
            configuration = sweep.make(combination.choice, combination.sizes)
            share = _SHARE_IF_QUICK if grid.is_quick else 1.0
            yield configuration.case(combination.name, seed=_SEEDS * grid.rotation + place, share=share)


def coverage_of(group: str, sweeps: Sequence[SizeSweep], grid: SizeGrid) -> Iterator[SweepCoverage]:
    """Yield for each sweep of a protocol what a run tries of it."""
    for sweep in sweeps:
        covered = combinations(sweep, grid)
        possible = {size: [str(rung) for rung in rungs] for size, rungs in sweep.sizes.items()}
        tried_values = {size: {str(each.sizes[size]) for each in covered} for size in sweep.sizes}
        possible["by"], tried_values["by"] = list(sweep.choices), {each.choice for each in covered}
        yield SweepCoverage(
            group=group,
            name=sweep.name,
            tried={
                quantity: [each for each in values if each in tried_values[quantity]]
                for quantity, values in possible.items()
            },
            untried={
                quantity: [each for each in values if each not in tried_values[quantity]]
                for quantity, values in possible.items()
            },
            num_combinations=len(covered),
            num_possible=math.prod(map(len, possible.values())),
        )


def _channel_of_loss(loss: float) -> FloatArray:
    """Return randomized response of this loss; of an infinite one, two disjoint laws."""
    lie = 0.0 if math.isinf(loss) else 1 / (1 + math.exp(min(loss, 700.0)))
    return np.array([[1 - lie, lie], [lie, 1 - lie]])


def _losses_of(part: ExposedPart) -> FloatArray:
    """Return the losses of two rows: of numbers that are randomized independently by few reports, number by number."""
    mechanism = part.mechanism
    low, high = mechanism.report_range
    width = part.values.shape[1]
    if part.log_laws is None and (isinstance(mechanism, JointPair) or mechanism.num_reports_of(width) != width):
        if isinstance(mechanism, Prepared):
            return part.losses
        # No report is a row: of some that either row may send, the greatest ratio, which is at most the loss.
        uniforms = np.random.default_rng(_SEEDS).random((2 * _DRAWS, mechanism.slots_of(width)))
        reports = mechanism.randomize_rows(np.repeat(part.values, _DRAWS, axis=0), uniforms)
        logs = mechanism.log_likelihoods(reports, part.values)
        gaps = logs[:, 0] - logs[:, 1]
        return np.array([[0.0, gaps.max()], [-gaps.min(), 0.0]])
    if not isinstance(mechanism, Mechanism) or high - low >= _MOST_REPORTS:
        return part.losses
    reports = np.arange(low, high + 1, dtype=np.int64)
    total = np.zeros((2, 2))
    for values in part.values.T:
        if values[0] != values[1]:
            logs = mechanism.log_probabilities(reports, values)
            possible = np.any(logs > -np.inf, axis=1)
            gaps = logs[possible, 0] - logs[possible, 1]
            total += np.array([[0.0, gaps.max()], [-gaps.min(), 0.0]])
    return total
