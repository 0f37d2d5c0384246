"""Reports of a session's phases on its server: which phase is open, who reported what in it, what closing it leaves.

Nothing here sends, or decides when a phase closes (`session_flow`). A phase tallies the parties that have reported in
it and in all phases before it, each once. All of this is made again from the server's records (`replay`): whatever
these do not hold must not matter to the result.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from .arrays import IntArray
from .errors import MalformedMessageError
from .kept_reports import ReceivedReports
from .messages import NIL, Release, Request, decode_payload
from .phases import Draw, Phase, PhasedProtocol
from .plugin_checks import checked_phase_outcome, checked_tally
from .plugin_faults import blaming, reason_of
from .population import draw_for_release, released_tally
from .randomness import NoiseSource
from .rules import JOIN
from .seats import Seat, Seats
from .states import SESSION, Move, Position, SessionMove, SessionState, State
from .tally import Tally
from .transcript import Transcript

__all__ = ["Attendance", "PhaseReports", "draws_for_releases"]


def draws_for_releases(protocol: PhasedProtocol[Any, Any], noise: NoiseSource) -> Mapping[str, Draw]:
    """Return what the server draws its own noise by, for each phase that leaves the noise to it.

    ConfigurationError where the noise cannot sample such a phase's mechanism.
    """
    draws: dict[str, Draw] = {}
    for phase in protocol.phases:
        if phase.tally_mechanism is None:
            continue
        noise.check(phase.tally_mechanism)
        draws[phase.name] = draw_for_release(noise, protocol=protocol.name, phase=phase)
    return draws


class Attendance(msgspec.Struct, frozen=True):
    """Who takes part in a session so far.

    Args:
        num_received: how many have joined (`JOIN`), and how many have reported in each phase, by its name.
        present: who has reported in the open phase, or has joined before the first, in roster order.
        awaited: for whom the open phase still waits, in roster order.
    """

    num_received: Mapping[str, int]
    present: tuple[str, ...]
    awaited: tuple[str, ...]


class PhaseReports:
    """The reports of one session's phases.

    Args:
        names: the parties, in roster order.
        public: their public rows; what parties choose of theirs is written into it as they join.
        draws: what the server draws noise by, where that is left to it.
        transcript: digests what everybody is told.

    Attributes:
        position: where the session stands.
        seats: the parties'.
        phase: the number of the open phase; -1 while the parties join.
        name: what the open phase is called.
        request: what was asked as it opened.
        reports: those that count, for each phase that was opened, by place.
        tallies: what closed phases left.
    """

    __slots__ = (
        "_closed",
        "_draws",
        "_protocol",
        "_public",
        "_reads_rows",
        "name",
        "names",
        "phase",
        "position",
        "reports",
        "request",
        "seats",
        "tallies",
        "transcript",
    )

    def __init__(
        self,
        protocol: PhasedProtocol[Any, Any],
        *,
        names: Sequence[str],
        public: IntArray,
        draws: Mapping[str, Draw],
        transcript: Transcript,
    ) -> None:
        self._protocol = protocol
        self.names = names
        self._public = public
        self._draws = draws
        self._closed: list[tuple[IntArray, IntArray]] = []  # of each closed phase: places in order, and their reports
        self._reads_rows = [type(phase).check_report is not Phase.check_report for phase in protocol.phases]
        self.transcript = transcript
        self.position = Position(SESSION, SessionState.IDLE)
        self.seats = Seats(names)
        self.phase = -1
        self.name = JOIN
        self.request = Request(0, NIL)
        self.reports: list[dict[int, tuple[int, ...]]] = []
        self.tallies: list[Tally] = []

    @property
    def is_under_way(self) -> bool:
        """Whether somebody can still join or report."""
        return self.position.state in (SessionState.GATHERING, SessionState.COLLECTING)

    @property
    def num_received(self) -> int:
        """How many have reported in the open phase, or have joined before the first."""
        return self.seats.num_joined if self.phase < 0 else len(self.reports[self.phase])

    @property
    def present(self) -> set[int]:
        """The places of those who have reported in the open phase, or have joined before the first."""
        return self.seats.places_in(State.JOINED) if self.phase < 0 else set(self.reports[self.phase])

    @property
    def num_told(self) -> int:
        """How many parties were there to be told the outcome, so far."""
        return len([seat for seat in self.seats if seat.state is State.FINISHED and not seat.is_lost])

    @property
    def attendance(self) -> Attendance | None:
        """Who takes part so far; None in a session with a phase where that is private."""
        if self._protocol.hides_participation:
            return None
        phases = [phase.name for phase in self._protocol.phases]
        counts = [self.seats.num_joined, *map(len, self.reports), *([0] * len(phases))]
        present = self.present
        return Attendance(
            num_received=dict(zip((JOIN, *phases), counts, strict=False)),
            present=tuple(seat.party for seat in self.seats if seat.place in present),
            awaited=tuple(seat.party for seat in self.seats if self.is_under_way and self.seats.awaits(seat)),
        )

    @property
    def kept(self) -> ReceivedReports:
        """The reports of phases that keep theirs, by phase and party."""
        return {
            phase.name: {self.names[place]: report for place, report in reports.items()}
            for phase, reports in zip(self._protocol.phases, self.reports, strict=False)
            if phase.kept is not None
        }

    def draws_noise(self, name: str) -> bool:
        """Return whether the server draws a phase's noise, by the phase's name."""
        return name in self._draws

    def open_phase(self, payload: msgspec.Raw, asked: Collection[Seat]) -> None:
        """Open the next phase, of these who are asked, with what the phase before it published."""
        self.position.move(SessionMove.OPEN_PHASE)
        self.phase += 1
        self.name = self._protocol.phases[self.phase].name
        self.reports.append({})
        self.seats.ask(asked)
        self.request = Request(self.phase, payload)
        self.transcript.add(self.request)

    def read(self, seat: Seat, payload: msgspec.Raw) -> tuple[int, ...]:
        """Return the open phase's report that a message of this seat's party carries; MalformedMessageError if none."""
        phase = self._protocol.phases[self.phase]
        problem = f"{seat.party}'s report in phase {phase.name!r} is not what the phase declares"
        values = decode_payload(payload, phase.decoder, sender=seat.party, problem=problem)
        if self._reads_rows[self.phase]:
            try:
                phase.check_report(values, tuple(self._public[seat.place].tolist()))
            except ValueError as error:
                raise MalformedMessageError(f"{problem}: {error}", sender=seat.party) from None
            except Exception as error:
                reason = reason_of(error, is_private=self._protocol.keeps_words)
                raise MalformedMessageError(f"{problem}: {reason}", sender=seat.party) from error
        return values

    def count(self, seat: Seat, payload: bytes, values: tuple[int, ...]) -> None:
        """Count a report in the open phase: its payload as it came, and what was read in it."""
        self.seats.take_report(seat, payload)
        self.reports[self.phase][seat.place] = values

    def settle(self, places: Sequence[int], drawn: Tally | None = None) -> msgspec.Struct | None:
        """Tally the open phase, ask nobody in it any longer, and return what it publishes.

        Args:
            places: of the reports that count, in order.
            drawn: its released tally where the server has drawn its noise before.

        Raises:
            PluginError: the protocol's own code fails (`plugin_checks`).
        """
        phase = self._protocol.phases[self.phase]
        self.seats.close()
        tally = self._tally(phase, places)
        if drawn is None:
            with blaming(self._protocol, f"release of phase {phase.name!r}"):
                drawn = released_tally(phase, tally, self._draws.get(phase.name))
        self.tallies.append(drawn)
        return checked_phase_outcome(self._protocol, phase, self.tallies)

    def release(self, release: Release, hearing: Iterable[Seat]) -> None:
        """End the session with its result, which those are told who are there to hear it."""
        self.position.move(SessionMove.RELEASE)
        self.transcript.add(release)
        for seat in hearing:
            seat.move(Move.RELEASE)

    def abort(self) -> tuple[str, ...]:
        """End the session without a result, and return the parties that are to be told."""
        self.position.move(SessionMove.ABORT)
        return self.seats.break_all()

    def _tally(self, phase: Phase, places: Sequence[int]) -> Tally:
        """Tally the parties that have reported in every phase so far."""
        order = np.array(places, dtype=np.int64)
        of_phase = self.reports[self.phase]
        reports = np.array([of_phase[place] for place in places], dtype=np.int64)
        reports = reports.reshape(len(places), phase.num_reported)
        earlier = [theirs[np.searchsorted(known, order)] for known, theirs in self._closed]
        self._closed.append((order, reports))
        return checked_tally(self._protocol, phase, reports, earlier, self._public[order])
