"""Observables: all that leaves one party in whole sessions, for each of its candidate rows.

An observable is a list of parts (`exposed_parts`): one randomizer's outputs for each candidate row. Parts are
independent, so log-likelihoods add. With the noise of deployments, machines run the sessions (`machines`), each with
several parties that hold the same row, or with one output if a server releases it. Independence between parties of one
session is tested separately (`whole_sessions.two_party_cases`). A repeated vote is the same session in another round.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.phases import Inputs, Phase, PhasedProtocol
from ...protocol.randomness import SimulatedNoise
from .case import NO_PLACE, OutputSampler, Pair, Score
from .exposed_parts import MAX_OUTPUTS, ExposedPart, ReleasedTallies, Reported
from .machines import SESSION, RecordedSession, noise_of, reports_of_each, roster_of, session_sampler

_PARTIES: Final = 32  # parties with the same row in a session by machines
_SIDES: Final = 2

CandidateSampler: TypeAlias = Callable[[int, int], OutputSampler]
"""Maps (candidate, side) to a sampler of its outputs; the two sides share no randomness."""


@dataclasses.dataclass(frozen=True, eq=False)
class Observable:
    """All that leaves one party, or that a server releases, in some sessions on the same data."""

    # The parts of one session, in the order of their numbers in an output: by party, then by phase.
    parts: tuple[ExposedPart, ...]
    num_sessions: int  # number of sessions, each in a separate round
    # Draws a candidate's outputs for one side, with simulated noise; by default each part draws by arrays.
    simulated: CandidateSampler | None = None
    secure: CandidateSampler | None = None  # the same with the noise of deployments; None if there is none

    @property
    def losses(self) -> FloatArray:
        """The greatest log-likelihood ratio of each pair of candidates; exact, since parts are independent."""
        losses_of_parts = [part.losses for part, is_repeated in self._in_order() if not is_repeated]
        return sum(losses_of_parts[1:], start=losses_of_parts[0])

    def _in_order(self) -> Iterator[tuple[ExposedPart, bool]]:
        """Yield an output's parts, session by session, and whether each repeats the first session's report."""
        for number in range(self.num_sessions):
            for part in self.parts:
                yield part, part.is_kept and number > 0

    def pair(self, first: int, second: int, *, name: str) -> Pair:
        """Return two candidates as neighbors, with their exact laws if there are few enough outputs."""
        laws = self._laws(first, second)
        simulated = self.simulated or self._draw_of
        draws = simulated(first, 0), simulated(second, 1)
        secure = None if self.secure is None else (self.secure(first, 0), self.secure(second, 1))
        if laws is None:
            score = self._score_of(first, second) if all(part.is_law_known for part in self.parts) else None
            return Pair(name=name, draws=draws, score=score, secure=secure)
        draws = self._draw_numbers(draws[0]), self._draw_numbers(draws[1])
        secure = secure and (self._draw_numbers(secure[0]), self._draw_numbers(secure[1]))
        return Pair(name=name, laws=laws, draws=draws, secure=secure)

    def _laws(self, first: int, second: int) -> FloatArray | None:
        laws = np.zeros((_SIDES, 1))
        for part, is_repeated in self._in_order():
            if is_repeated:
                continue
            if part.log_laws is None or laws.shape[1] * part.log_laws.shape[1] > MAX_OUTPUTS:
                return None
            pair_laws = part.log_laws[[first, second]]
            laws = (laws[:, :, None] + pair_laws[:, None, :]).reshape(_SIDES, -1)
        return np.exp(laws)

    def _draw_numbers(self, draw: OutputSampler) -> OutputSampler:
        """Return a sampler of the outputs' columns in the laws."""

        def draw_numbers(number: int, stream: int) -> IntArray:
            outputs = draw(number, stream)
            places = np.zeros(number, dtype=np.int64)
            is_possible = np.ones(number, dtype=np.bool_)
            start = 0
            first: dict[int, IntArray] = {}  # each part's report in the first session
            for part, is_repeated in self._in_order():
                assert part.log_laws is not None  # noqa: S101  as the laws of all are known
                numbers = outputs[:, start : start + part.width]
                start += part.width
                if is_repeated:  # a different report has probability 0
                    is_possible &= np.all(numbers == first[id(part)], axis=1)
                    continue
                first.setdefault(id(part), numbers)
                part_places = part.places_of(numbers)
                is_possible &= part_places >= 0
                places = places * part.log_laws.shape[1] + part_places
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
) -> Observable:
    """Return the observable of a party with these candidate rows, in the local model."""

    def secure(candidate: int, side: int) -> OutputSampler:
        inputs = roster_of(protocol, [rows[candidate]] * _PARTIES, [public] * _PARTIES)
        noise = noise_of("secure")
        return session_sampler(protocol, inputs, reports_of_each, noise, side=side, num_sessions=num_sessions)

    parts = tuple(Reported(protocol, phase, rows, public) for phase in protocol.phases)
    return Observable(parts, num_sessions, secure=secure)


def exposure_of_release(
    protocol: PhasedProtocol[Any, Any],
    phase: Phase,
    rosters: Sequence[Inputs],
    read_outcome: Callable[[Any], Sequence[int]] | None,
    *,
    num_sessions: int,
) -> Observable:
    """Return the observable of a trusted server's releases for candidate rosters, in the protocol's one phase.

    Each roster has all parties' rows. `read_outcome` returns the randomized totals that a released outcome determines;
    None if the outcome does not determine them.
    """
    tallies = [phase.tally(inputs.private[:, phase.columns], earlier=(), public=inputs.public) for inputs in rosters]
    part = ReleasedTallies(protocol, phase, tallies)
    if read_outcome is None:
        return Observable((part,), num_sessions)

    def observe(session: RecordedSession) -> Sequence[Sequence[int]]:
        return [read_outcome(session.outcome)]

    def secure(candidate: int, side: int) -> OutputSampler:
        noise = noise_of("secure")
        return session_sampler(protocol, rosters[candidate], observe, noise, side=side, num_sessions=num_sessions)

    return Observable((part,), num_sessions, secure=secure)
