"""Exposures: what leaves one party in whole sessions, for each of the rows that it may hold.

An exposure is a list of parts, each what one randomizer makes of each candidate row; parts share no randomness, so that
log-likelihoods add. With the noise of simulations independent outputs of one row are one array call: n parties with the
same row, each with its own uniforms. With that of deployments sessions are held by machines (`machines`), some parties
with the same row in each, or for what a server releases one output in each. Whether parties of one session share
anything is another audit's (`jointly`). The second session of a repeated vote is the same session in another round.

The rule that holds here: outputs are drawn by the code that runs in a session, scores are differences of the
randomizers' own log-likelihoods, and losses are what the ledger of a party has after the sessions that it took part in.
"""

import abc
import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.kept import KeptReports
from ...protocol.mechanisms import PostProcessed, Prepared, RowMechanism
from ...protocol.phases import CentralPhase, Draw, Inputs, Phase, PhasedProtocol
from ...protocol.population import draw_reports
from ...protocol.privacy import Ledger, LedgerEntry
from ...protocol.randomness import NoiseSource, SimulatedNoise
from ...protocol.tally import Tally
from .case import NO_PLACE, Case, OutputSampler, Pair, Score
from .machines import (
    SESSION,
    HeldSession,
    by_machines,
    noise_of,
    reports_of_each,
    roster_of,
    session_sampler,
)

__all__ = [
    "MAX_OUTPUTS",
    "PARTY_SECURE_SHARE",
    "PARTY_SHARE",
    "CandidateSampler",
    "ExposedPart",
    "Exposure",
    "OwnRelease",
    "Released",
    "Reported",
    "case_of",
    "charge",
    "draw_releases",
    "exposure_of_party",
    "exposure_of_release",
]

MAX_OUTPUTS: Final = 1 << 14
"""Outputs of an exact joint law: more take longer than sampling tells."""
PARTY_SHARE: Final = 0.2
"""Of the outputs that are asked for: one of several numbers takes a few microseconds."""
PARTY_SECURE_SHARE: Final = 0.06
"""The same of sessions with the noise of deployments, of which a party takes some tenths of a millisecond."""
_PARTIES: Final = 32
"""With the same row in one session by machines."""
_SIDES: Final = 2


class ExposedPart(abc.ABC):
    """What one randomizer makes of each candidate.

    Args:
        mechanism: the randomizer.
        values: what it sees of each candidate, int64, shape (candidates, w).
    """

    def __init__(self, mechanism: RowMechanism, values: IntArray) -> None:
        self.mechanism = mechanism
        self.values = values
        self._places: list[int] = []

    is_kept: bool = False
    """Whether later sessions of a scope repeat what the first one drew."""

    @property
    def width(self) -> int:
        """How many numbers an output has."""
        return self.mechanism.num_reports_of(self.values.shape[1])

    @abc.abstractmethod
    def draw(self, candidate: int, number: int, noise: SimulatedNoise) -> IntArray:
        """Return independent outputs of one candidate, int64, shape (number, width)."""

    @functools.cached_property
    def is_law_known(self) -> bool:
        """Whether the mechanism's law is written down, or that of the noise from which it computes."""
        mechanism = self.mechanism.noise if isinstance(self.mechanism, PostProcessed) else self.mechanism
        report = [mechanism.report_range[0]] * mechanism.num_reports_of(self.values.shape[1])
        try:
            mechanism.log_likelihoods(np.array([report], dtype=np.int64), self.values[:1])
        except NotImplementedError:
            return False
        return True

    @functools.cached_property
    def log_laws(self) -> FloatArray | None:
        """Logarithms of P[output | candidate], shape (candidates, outputs); None where there are too many outputs.

        Outputs that no candidate has are left out.
        """
        is_many = self.width * math.log(self._num_reports) > math.log(MAX_OUTPUTS)
        if isinstance(self.mechanism, PostProcessed) or is_many or not self.is_law_known:
            return None
        low, high = self.mechanism.report_range
        outputs = np.array(list(itertools.product(range(low, high + 1), repeat=self.width)), dtype=np.int64)
        log_laws = self.mechanism.log_likelihoods(outputs, self.values).T
        is_possible = np.any(log_laws > -np.inf, axis=0)
        self._places[:] = np.where(is_possible, np.cumsum(is_possible) - 1, NO_PLACE).tolist()
        return log_laws[:, is_possible]

    def places_of(self, outputs: IntArray) -> IntArray:
        """Return the column of each output in `log_laws`, `NO_PLACE` for what no candidate has; shape (n,)."""
        assert self.log_laws is not None  # noqa: S101  asked for where there are laws alone
        low, high = self.mechanism.report_range
        numbers = np.zeros(len(outputs), dtype=np.int64)
        for column in outputs.T:
            numbers = numbers * self._num_reports + (np.clip(column, low, high) - low)
        places = np.array(self._places, dtype=np.int64)[numbers]
        return np.where(np.any((outputs < low) | (outputs > high), axis=1), NO_PLACE, places)

    @property
    def _num_reports(self) -> int:
        low, high = self.mechanism.report_range
        return high - low + 1

    @functools.cached_property
    def losses(self) -> FloatArray:
        """Max ln P[output | first]/P[output | second] for all candidates as first and second, shape (c, c).

        Of noise that is added, the maximum is at the first candidate's own values; of what is computed from noise, this
        is the noise's own loss, which that of the result never exceeds.
        """
        mechanism, values = self.mechanism, self.values
        if self.log_laws is not None:
            return np.array([_greatest_gaps(law, self.log_laws) for law in self.log_laws])
        if isinstance(mechanism, PostProcessed):
            mechanism = mechanism.noise
        outputs = mechanism.prepare_rows(values) if isinstance(mechanism, Prepared) else values
        log_likelihoods = mechanism.log_likelihoods(outputs, values)
        return np.diag(log_likelihoods)[:, None] - log_likelihoods

    def score(self, outputs: IntArray, first: int, second: int) -> FloatArray:
        """Return by how much each output speaks for the first candidate and against the second.

        The log-likelihood ratio; where reports are computed from noise, whose own law is not written down, the
        projection on the line between the two reports without noise.
        """
        if isinstance(self.mechanism, PostProcessed):
            clear = self.mechanism.finish_rows(self.values[[first, second]]).astype(np.float64)
            line = clear[0] - clear[1]
            return outputs @ line / max(float(line @ line), 1.0)
        log_likelihoods = self.mechanism.log_likelihoods(outputs, self.values[[first, second]])
        return log_likelihoods[:, 0] - log_likelihoods[:, 1]


class Reported(ExposedPart):
    """The reports of one phase, of a party in a roster of parties with the same row.

    Args:
        protocol: whose phase it is.
        phase: the phase.
        rows: each candidate's private row, shape (candidates, private columns).
        public: the party's public row.
    """

    def __init__(self, protocol: PhasedProtocol[Any, Any], phase: Phase, rows: IntArray, public: Sequence[int]) -> None:
        super().__init__(phase.mechanism_of(public), rows[:, phase.columns])
        self.is_kept = phase.kept is not None
        self._protocol = protocol
        self._phase = phase
        self._rows = rows
        self._public = np.array(public, dtype=np.int64)

    def draw(self, candidate: int, number: int, noise: SimulatedNoise) -> IntArray:
        """Return the reports of as many parties that all hold this candidate's row."""
        inputs = Inputs(np.tile(self._rows[candidate], (number, 1)), np.tile(self._public, (number, 1)))
        return draw_reports(self._phase, inputs, noise=noise, protocol=self._protocol.name, start=0)


class Released(ExposedPart):
    """The tally as a trusted server releases it, with noise of its own.

    Args:
        protocol: whose phase it is.
        phase: the phase.
        totals: those of each candidate data set, shape (candidates, numbers of a tally).
    """

    def __init__(self, protocol: PhasedProtocol[Any, Any], phase: CentralPhase, totals: IntArray) -> None:
        super().__init__(phase.tally_mechanism, totals)
        self._protocol = protocol
        self._phase = phase

    def draw(self, candidate: int, number: int, noise: SimulatedNoise) -> IntArray:
        """Return as many noisy tallies of this candidate data set."""
        values = np.tile(self.values[candidate], (number, 1))
        slots = self.mechanism.slots_of(values.shape[1])
        stream = f"release of {self._phase.name}"
        name = self._protocol.name
        return self.mechanism.randomize_rows(
            values, noise.uniforms(protocol=name, phase=stream, start=0, stop=number, slots=slots)
        )


class OwnRelease(Released):
    """The same of a phase that makes its release itself: drawn by its `randomize_tally`, and of no law.

    Args:
        protocol: whose phase it is.
        phase: the phase.
        tallies: of each candidate data set.
    """

    def __init__(self, protocol: PhasedProtocol[Any, Any], phase: CentralPhase, tallies: Sequence[Tally]) -> None:
        super().__init__(protocol, phase, np.stack([tally.totals.reshape(-1) for tally in tallies]))
        self._tallies = tallies

    @functools.cached_property
    def is_law_known(self) -> bool:
        """False: that of the tally mechanism is not this one's."""
        return False

    def draw(self, candidate: int, number: int, noise: SimulatedNoise) -> IntArray:
        """Return as many releases of this candidate data set."""
        return draw_releases(self._protocol, self._phase, self._tallies[candidate], number, noise)


def draw_releases(
    protocol: PhasedProtocol[Any, Any], phase: CentralPhase, tally: Tally, number: int, noise: NoiseSource
) -> IntArray:
    """Return what a server makes of one tally, again and again: int64, shape (number, numbers of a release).

    Where a session takes the first place of a stream of noise, each release takes a place of its own.

    Args:
        protocol: whose phase it is.
        phase: the phase.
        tally: before the noise.
        number: of releases.
        noise: draws them.
    """

    def draw_at(place: int) -> Draw:
        numbers = itertools.count(1)

        def draw(mechanism: RowMechanism, values: Sequence[int]) -> Sequence[int]:
            stream = f"release of {phase.name}, draw {next(numbers)}"
            return noise.randomize(mechanism, values, protocol=protocol.name, phase=stream, place=place)

        return draw

    releases = [phase.randomize_tally(tally, draw_at(place)).totals.reshape(-1) for place in range(number)]
    return np.array(releases, dtype=np.int64).reshape(number, -1)


CandidateSampler: TypeAlias = Callable[[int, int], OutputSampler]
"""(candidate, side) → draws of its outputs; the two sides share no randomness."""


@dataclasses.dataclass(frozen=True, eq=False)
class Exposure:
    """What leaves one party, or what a server releases, in some sessions on the same data.

    Args:
        parts: of one session, in the order in which an output has their numbers: that of its phases, party by party.
        num_sessions: how often it is held, each time in a round of its own.
        simulated: draws outputs of a candidate as one of the two sides, with the noise of simulations; by default each
            part draws its own by arrays.
        secure: the same with the noise of deployments; None where there are none.
    """

    parts: tuple[ExposedPart, ...]
    num_sessions: int
    simulated: CandidateSampler | None = None
    secure: CandidateSampler | None = None

    @property
    def losses(self) -> FloatArray:
        """The greatest log-ratio for all candidates as first and second: exact, since parts are independent."""
        drawn = [part.losses for part, is_repeated in self._in_order() if not is_repeated]
        return sum(drawn[1:], start=drawn[0])

    def _in_order(self) -> Iterator[tuple[ExposedPart, bool]]:
        """Yield what an output is made of, session by session, and whether it is what the first session had."""
        for number in range(self.num_sessions):
            for part in self.parts:
                yield part, part.is_kept and number > 0

    def pair(self, first: int, second: int, *, name: str) -> Pair:
        """Return two candidates as neighbors, with their exact laws where there are few enough outputs."""
        laws = self._laws(first, second)
        simulated = self.simulated or self._draw_of
        draws = simulated(first, 0), simulated(second, 1)
        secure = None if self.secure is None else (self.secure(first, 0), self.secure(second, 1))
        if laws is None:
            score = self._score_of(first, second) if all(part.is_law_known for part in self.parts) else None
            return Pair(name=name, draws=draws, score=score, secure=secure)
        draws = self._numbered(draws[0]), self._numbered(draws[1])
        secure = secure and (self._numbered(secure[0]), self._numbered(secure[1]))
        return Pair(name=name, laws=laws, draws=draws, secure=secure)

    def _laws(self, first: int, second: int) -> FloatArray | None:
        laws = np.zeros((_SIDES, 1))
        for part, is_repeated in self._in_order():
            if is_repeated:
                continue
            if part.log_laws is None or laws.shape[1] * part.log_laws.shape[1] > MAX_OUTPUTS:
                return None
            own = part.log_laws[[first, second]]
            laws = (laws[:, :, None] + own[:, None, :]).reshape(_SIDES, -1)
        return np.exp(laws)

    def _numbered(self, draw: OutputSampler) -> OutputSampler:
        """Return a draw of the columns in which outputs are in the laws."""

        def draw_numbers(number: int, stream: int) -> IntArray:
            outputs = draw(number, stream)
            places = np.zeros(number, dtype=np.int64)
            is_possible = np.ones(number, dtype=np.bool_)
            start = 0
            first: dict[int, IntArray] = {}  # of each part, what the first session had
            for part, is_repeated in self._in_order():
                assert part.log_laws is not None  # noqa: S101  as the laws of all are known
                numbers = outputs[:, start : start + part.width]
                if is_repeated:  # anything else has no place in the law
                    is_possible &= np.all(numbers == first[id(part)], axis=1)
                    start += part.width
                    continue
                first.setdefault(id(part), numbers)
                own = part.places_of(numbers)
                is_possible &= own >= 0
                places = places * part.log_laws.shape[1] + own
                start += part.width
            return np.where(is_possible, places, NO_PLACE)[:, None]

        return draw_numbers

    def _draw_of(self, candidate: int, side: int) -> OutputSampler:
        def draw(number: int, stream: int) -> IntArray:
            outputs: list[IntArray] = []
            for place, (part, is_repeated) in enumerate(self._in_order()):
                round_number, first = divmod(place, len(self.parts))
                # The two sides share no uniforms, whatever streams they are asked for.
                noise = SimulatedNoise(_SIDES * stream + side, session=SESSION, round_number=round_number)
                outputs.append(outputs[first] if is_repeated else part.draw(candidate, number, noise))
            return np.concatenate(outputs, axis=1)

        return draw

    def _score_of(self, first: int, second: int) -> Score:
        def score(outputs: IntArray) -> FloatArray:
            total = np.zeros(len(outputs))
            start = 0
            for part, is_repeated in self._in_order():
                if not is_repeated:
                    total += part.score(outputs[:, start : start + part.width], first, second)
                start += part.width
            return total

        return score


def exposure_of_party(
    protocol: PhasedProtocol[Any, Any], rows: IntArray, public: Sequence[int], *, num_sessions: int
) -> Exposure:
    """Return all that leaves a party with one of these rows.

    Args:
        protocol: what is run, in the local model.
        rows: candidates: private rows, shape (c, private columns).
        public: the party's public row.
        num_sessions: how often.
    """

    def secure(candidate: int, side: int) -> OutputSampler:
        inputs = roster_of(protocol, [rows[candidate]] * _PARTIES, [public] * _PARTIES)
        noise = noise_of("secure")
        return session_sampler(protocol, inputs, reports_of_each, noise, side=side, num_sessions=num_sessions)

    parts = tuple(Reported(protocol, phase, rows, public) for phase in protocol.phases)
    return Exposure(parts, num_sessions, secure=secure)


def exposure_of_release(
    protocol: PhasedProtocol[Any, Any],
    phase: CentralPhase,
    rosters: Sequence[Inputs],
    read: Callable[[Any], Sequence[int]] | None,
    *,
    num_sessions: int,
) -> Exposure:
    """Return what a trusted server releases to one of these rosters.

    Args:
        protocol: what is run, of this one phase.
        phase: the phase.
        rosters: candidates: all parties' rows.
        read: returns the randomized totals that a released outcome tells; None where they cannot be read off it.
        num_sessions: how often.
    """
    totals = [
        phase.tally(inputs.private[:, phase.columns], earlier=(), public=inputs.public).totals.reshape(-1)
        for inputs in rosters
    ]
    part = Released(protocol, phase, np.stack(totals))
    if read is None:
        return Exposure((part,), num_sessions)

    def shown(held: HeldSession) -> Sequence[Sequence[int]]:
        return [read(held.outcome)]

    def secure(candidate: int, side: int) -> OutputSampler:
        noise = noise_of("secure")
        return session_sampler(protocol, rosters[candidate], shown, noise, side=side, num_sessions=num_sessions)

    return Exposure((part,), num_sessions, secure=secure)


def charge(
    protocol: PhasedProtocol[Any, Any],
    row: Sequence[int],
    public: Sequence[int],
    *,
    num_sessions: int,
    ledger: Ledger | None = None,
) -> Sequence[LedgerEntry]:
    """Return the lines of a party's ledger after it took part in these sessions, which are held by machines.

    Args:
        protocol: what is run.
        row: the party's private row; whatever it is, the ledger has the same lines.
        public: its public row.
        num_sessions: how often.
        ledger: its ledger; by default a new one.
    """
    ledger = Ledger("party") if ledger is None else ledger
    inputs = roster_of(protocol, [row], [public])
    kept: KeptReports = {}
    for number in range(1, num_sessions + 1):
        session = f"{SESSION}-{number}"
        noise = SimulatedNoise(0, session=session)
        by_machines(protocol, inputs, session=session, noise=noise, kept=kept, ledgers=[ledger])
    return ledger.entries


def case_of(
    protocol: PhasedProtocol[Any, Any],
    exposure: Callable[[], Exposure],
    entries: Sequence[LedgerEntry],
    *,
    name: str,
    unit: str,
    num_sessions: int,
    names: Sequence[str],
    are_neighbors: Callable[[int, int], bool] = lambda first, second: first != second,
    charged: Callable[[LedgerEntry], tuple[float, float]] = lambda entry: (entry.claimed, entry.proven),
    is_tight: bool = False,
    share: float = PARTY_SHARE,
    secure_share: float = PARTY_SECURE_SHARE,
    note: str = "",
) -> Case:
    """Return the audit of whole sessions: the neighbors that lose most by the randomizers' own laws.

    All neighbors among the candidates are tried, in both directions.

    Args:
        protocol: what is run.
        exposure: makes what leaves the party; called when neighbors are asked for.
        entries: what the party's ledger has been charged in these sessions (`charge`).
        name: of the variant, distinct with the number of sessions.
        unit: in words, without the sessions.
        num_sessions: as the exposure's.
        names: of the candidates.
        are_neighbors: which candidates differ in the unit alone.
        charged: what a line of the ledger claims and proves of the unit.
        is_tight: see `Case`.
        share: see `Case`.
        secure_share: see `Case`.
        note: see `Case`.
    """
    (relation,) = {entry.relation for entry in entries}
    (model,) = {entry.model for entry in entries}
    charges = [charged(entry) for entry in entries]

    def pairs() -> list[Pair]:
        made = exposure()
        first, second = _worst(made.losses, are_neighbors)
        return [made.pair(first, second, name=f"{names[first]}, against {names[second]}")]

    return Case(
        name=name if num_sessions == 1 else f"{name}, twice",
        group=protocol.name,
        unit=unit if num_sessions == 1 else f"{unit}, {num_sessions} sessions",
        relation=relation,
        model=model,
        claimed=math.fsum(claimed for claimed, _ in charges),
        proven=math.fsum(proven for _, proven in charges),
        pairs=pairs,
        is_tight=is_tight,
        note=note,
        share=share,
        secure_share=secure_share,
    )


def _worst(losses: FloatArray, are_neighbors: Callable[[int, int], bool]) -> tuple[int, int]:
    """Return the neighbors of the greatest loss, the first ones of several."""
    number = len(losses)
    places = ((first, second) for first in range(number) for second in range(number))
    return max((pair for pair in places if are_neighbors(*pair)), key=lambda pair: float(losses[pair]))


def _greatest_gaps(law: FloatArray, log_laws: FloatArray) -> FloatArray:
    """Return max(law − other) for each other law, over the outputs that the first law has."""
    possible = law > -np.inf
    gaps: FloatArray = np.max(law[possible] - log_laws[:, possible], axis=1)
    return gaps
