"""Audits of whole sessions on a grid of sizes, and of everything in which parties may differ.

A system declares *sweeps*: families of its sessions with growing sizes (candidates, answers, records, groups, parties,
consecutive sessions) and with alternating choices (variants). A full audit tries every value of every size at least
once, a quick audit some. The rotation draws which values are combined; it changes with each run unless it is given. A
combination that would take too long is lowered, largest size first; its reported sizes show this.

A *configuration* is a sweep at certain sizes. Its parties differ in each of the kinds that it declares: the group, the
ranking, the weight, an opinion, one record, or presence. Each kind has two ends, as far apart as possible. All ends are
in one roster, at indices that the rotation draws. All that leaves the parties is tested against its law
(`stream_views`), and the ends' exact losses by these laws are compared with the ledger.
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

RUNGS: Final = (1, 2, 3, 5, 8, 16, 31, 64)  # the values of sizes
ALPHABETS: Final = (2, 3, 4, 6, 8, 16, 33, 64)  # the same for numbers of values; with neighbors of powers of two
FIRST_ROTATION: Final = 1
OWN: Final = ", own ε = "  # in a choice's name, before the ends' level of ε
_SHARE_IF_QUICK: Final = 2.0  # factor for a configuration's share of a quick run's outputs
_SEEDS: Final = 1000
_DRAWS: Final = 256
_LEAST_SESSIONS: Final = 120
"""Enough sessions to detect a party that sends an unrandomized value, even if only one of its numbers is tested."""
_MOST_REPORTS: Final = 1 << 12
_ARRANGEMENTS: Final = 300
_MOST_NUMBERS: Final = 640  # numbers in all reports of consecutive sessions
_SECONDS_OF: Final[Mapping[Source, tuple[float, float, float]]] = {
    "simulated": (1e-3, 1e-5, 4e-7),
    "secure": (2e-3, 5e-4, 3e-5),
}
"""Approximate seconds for a session, for a party's report in a phase, and for a number in it."""
_SECONDS_OF_RELEASE: Final[Mapping[Source, tuple[float, float]]] = {"simulated": (1e-4, 5e-6), "secure": (2e-4, 6e-5)}
"""Approximate seconds for a release, and for a number in it."""
_SECONDS: Final[Mapping[Source, float]] = {
    "simulated": 1.0,
    "secure": 2.5,
}  # seconds for a configuration's outputs in a full audit
_CHECKS_OF_SECURE: Final = 0.4


class Member(NamedTuple):
    """A party's private and public row."""

    row: tuple[int, ...]
    public: tuple[int, ...] = ()


class Ends(NamedTuple):
    """Two neighbors at the greatest distance of a kind: parties, or in the central model rosters."""

    first: Any
    second: Any


def other_level_ends(party: Member, number: int) -> dict[str, Ends]:
    """Return a named kind without a secret difference: a party with another public level of ε in the same roster."""
    *public_row, place = party.public
    return {"another ε, which is public": Ends(party, Member(party.row, (*public_row, (place + 1) % number)))}


@dataclasses.dataclass(frozen=True, eq=False)
class Configuration:
    """Sessions at certain sizes."""

    protocol: PhasedProtocol[Any, Any]  # the sessions' protocol
    # Maps each kind of difference to its two ends: each a `Member`, or in the central model an `Inputs`.
    kinds: Mapping[str, Ends]
    num_parties: int = 1  # number of parties in a roster
    num_sessions: int = 1  # consecutive sessions on one noise source
    # Whether rosters are distinguished, by a trusted server's release in the protocol's one phase.
    is_central: bool = False
    hold: SessionRunner = run_by_machines  # runs sessions with secure noise; tests replace it by a faulty one
    hold_simulated: SessionRunner = run_by_arrays  # runs sessions with simulated noise
    make_noise: MakeNoise | None = None  # prepares secure noise; tests replace it by a faulty one

    def case(self, name: str, *, seed: int, share: float = 1.0) -> Case:
        """Return the audit of these sessions: exact losses of each kind's ends, and tests of all reports against laws.

        `seed` draws the parties' indices. `share` scales the usual number of sessions.
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
        """Return for each kind a two-outcome law with the loss of its ends, which refutes a smaller charged loss."""
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
        usual_row: list[int] = []  # the digest of everything except reports, which must not depend on inputs
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
        """Return the fraction of the usual outputs that fits into the time; `engine` divides them among inputs."""
        outputs = _SECONDS[source] / (self.seconds(source) * num_rosters)
        of_inputs = _CHECKS_OF_SECURE if source == "secure" else 1.0
        return outputs * num_rosters / (FULL_SAMPLES[source] * of_inputs)

    def seconds(self, source: Source) -> float:
        """Return the approximate seconds for one output."""
        if self.is_central:
            of_release, of_number = _SECONDS_OF_RELEASE[source]
            return of_release + self._tally(next(iter(self.kinds.values())).first).totals.size * of_number
        of_session, of_report, of_number = _SECONDS_OF[source]
        phases = len(self.protocol.phases)
        numbers = sum(phase.num_reported for phase in self.protocol.phases)
        return self.num_sessions * (of_session + self.num_parties * (phases * of_report + numbers * of_number))


@dataclasses.dataclass(frozen=True, eq=False)
class SizeSweep:
    """A family of sessions with growing sizes."""

    name: str  # the family's name, distinct in its protocol
    sizes: Mapping[str, Sequence[int]]  # maps each size's name to its increasing values
    choices: Sequence[str]  # alternating choices, in words, distinct
    # Maps a choice and the sizes to the configuration.
    make: Callable[[str, Mapping[str, int]], Configuration]
    most: int = _MOST_NUMBERS  # the greatest product of sizes; a combination with a greater one is lowered
    alphabets: Collection[str] = ()  # sizes that do not lengthen reports, and so do not count in the product

    def lower_sizes(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Return sizes with an allowed product, by lowering the largest size step by step."""
        lowered_sizes = dict(sizes)
        factors = [size for size in lowered_sizes if size not in self.alphabets]
        while math.prod(lowered_sizes[size] for size in factors) > self.most:
            largest = max(factors, key=lambda size: (lowered_sizes[size], size))
            lowered_sizes[largest] = max(rung for rung in self.sizes[largest] if rung < lowered_sizes[largest])
        return lowered_sizes

    def arrange_sizes(self, random: np.random.Generator) -> list[dict[str, int]]:
        """Return combinations that contain every value; of some arrangements the one that lowers the fewest sizes."""
        number = max(map(len, self.sizes.values()))

        def draw_arrangement() -> list[dict[str, int]]:
            orders = {size: random.permutation(number) % len(rungs) for size, rungs in self.sizes.items()}
            return [{size: rungs[orders[size][place]] for size, rungs in self.sizes.items()} for place in range(number)]

        tries = (draw_arrangement() for _ in range(_ARRANGEMENTS))
        best = max(tries, key=lambda arrangement: sum(self.lower_sizes(sizes) == sizes for sizes in arrangement))
        return [self.lower_sizes(sizes) for sizes in best]


class Combination(NamedTuple):
    """A choice and sizes of a sweep that are tried."""

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
    """The sizes that a run tries, drawn by a rotation.

    A quick run has one combination of each sweep. Any other run has as many as contain every value of every size.
    """

    rotation: int = FIRST_ROTATION
    is_quick: bool = False


class SweepCoverage(msgspec.Struct, frozen=True, kw_only=True):
    """The tried and untried sizes of a family of sessions."""

    group: str  # the protocol
    name: str  # the family's name
    tried: dict[str, list[str]]  # the values tried of each size, and the choices
    untried: dict[str, list[str]]  # the same for those not tried
    num_combinations: int  # number of tried combinations
    num_possible: int  # number of all combinations


def combinations(sweep: SizeSweep, grid: SizeGrid) -> list[Combination]:
    """Return combinations of a sweep: one in a quick run, otherwise enough for every value and choice."""
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
    """Yield the coverage of each sweep of a protocol."""
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
    """Return the laws of randomized response with this loss; for ∞, two disjoint laws."""
    lie = 0.0 if math.isinf(loss) else 1 / (1 + math.exp(min(loss, 700.0)))
    return np.array([[1 - lie, lie], [lie, 1 - lie]])


def _losses_of(part: ExposedPart) -> FloatArray:
    """Return the losses between two rows; number by number if numbers are randomized independently."""
    mechanism = part.mechanism
    low, high = mechanism.report_range
    width = part.values.shape[1]
    if part.log_laws is None and (isinstance(mechanism, JointPair) or mechanism.num_reports_of(width) != width):
        if isinstance(mechanism, Prepared):
            return part.losses
        # Too many reports to enumerate: the greatest ratio over some drawn reports, a lower bound for the loss.
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
