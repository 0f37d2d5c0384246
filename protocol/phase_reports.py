"""The reports of a session's phases on its server: the open step, its reports, and the result of closing it.

This module neither sends nor decides when a step closes (`session_flow`). Reports are stored as they came until their
phase closes. The tally of a phase contains each party once that has reported in it and in all phases before it. After a
restart all of this is made again from the server's records (`replay`), so the result must not depend on anything else.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from .arrays import IntArray
from .client_table import ClientState, ClientTable
from .effects import LiarNamed
from .errors import MalformedMessageError
from .masked_sessions import ServerMasking
from .memoized_reports import ReceivedReports
from .messages import NIL, UNREADABLE, Release, Request, encode_payload
from .phases import Draw, MaskedPhase, Phase, PhasedProtocol
from .plugin_checks import checked_phase_outcome, checked_tally
from .plugin_faults import blaming, is_ours, reason_of
from .population import draw_for_release, released_tally
from .randomness import NoiseSource
from .rules import names_of
from .states import SESSION, Move, Position, SessionMove, SessionState, State
from .tally import Tally
from .transcript import Transcript


def draws_for_releases(protocol: PhasedProtocol[Any, Any], noise: NoiseSource) -> Mapping[str, Draw]:
    """Return, for each phase in which the server draws noise, a function that draws it.

    ConfigurationError if the noise source cannot sample a phase's mechanism.
    """
    draws: dict[str, Draw] = {}
    for phase in protocol.phases:
        if phase.tally_mechanism is None:
            continue
        noise.check(phase.tally_mechanism)
        draws[phase.name] = draw_for_release(noise, protocol=protocol.name, phase=phase)
    return draws


class Attendance(msgspec.Struct, frozen=True):
    """The numbers of parties that take part in a session so far.

    Args:
        num_received: the number of parties that joined (`JOIN`), and of reports in each step, by the step's name.
        present: the parties that reported in the open step, or joined before the first, in roster order.
        awaited: the parties for which the open step still waits, in roster order.
        reasons: the reasons of the parties that left, by party, in roster order.
    """

    num_received: Mapping[str, int]
    present: tuple[str, ...]
    awaited: tuple[str, ...]
    reasons: Mapping[str, str] = {}


class PhaseReports:
    """The reports of one session's phases.

    Args:
        public: the parties' public rows, shape (n, public columns); a party's choice is written into it as it joins.
        draws: the functions that draw the server's noise, by phase.

    Attributes:
        step: the number of the open step; -1 while the parties join.
        request: the request of the open step, without the parts for single parties.
        payloads: for each step so far, the payloads of the accepted reports, by roster index.
        closed: for each closed phase, the roster indices of its parties in order, and their reports; none for a masked
            phase, whose reports are unknown.
    """

    __slots__ = (
        "_draws",
        "_masking",
        "_open",
        "_own_payloads",
        "_payload",
        "_protocol",
        "_public_rows",
        "_reads_rows",
        "clients",
        "closed",
        "names",
        "payloads",
        "position",
        "request",
        "step",
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
        masking: ServerMasking | None = None,
    ) -> None:
        self._protocol = protocol
        self._masking = masking
        self._payload = NIL if masking is None else masking.payload  # of the next request
        self._own_payloads: Mapping[int, msgspec.Raw] = {}  # of the open step's request
        self.names = names
        self._public_rows = public
        self._draws = draws
        self._reads_rows = [type(step.phase).check_report is not Phase.check_report for step in protocol.steps]
        self.transcript = transcript
        self.position = Position(SESSION, SessionState.IDLE)
        self.clients = ClientTable(names)
        self.step = -1
        self._open = protocol.steps[0]  # the open step, or the next one
        self.request = Request(0, NIL)
        self.payloads: list[dict[int, bytes]] = []
        self.closed: list[tuple[IntArray, IntArray]] = []
        self.tallies: list[Tally] = []

    @property
    def is_under_way(self) -> bool:
        """Whether somebody can still join or report."""
        return self.position.state in (SessionState.GATHERING, SessionState.COLLECTING)

    @property
    def num_received(self) -> int:
        """How many have reported in the open step, or have joined before the first."""
        return self.clients.num_joined if self.step < 0 else len(self.payloads[self.step])

    @property
    def num_wanted(self) -> int:
        """The number of parties whose report the open step waits for: all; in a dispute those who are asked."""
        if self._masking is not None and self._open.is_in_dispute:
            return len(self._masking.asked_places)
        return len(self.names)

    @property
    def present_places(self) -> set[int]:
        """The places of those who have reported in the open step, or have joined before the first."""
        return self.clients.places_in(State.JOINED) if self.step < 0 else set(self.payloads[self.step])

    @property
    def num_told(self) -> int:
        """How many parties were there to be told the outcome, so far."""
        return len([client for client in self.clients if client.state is State.FINISHED and not client.is_lost])

    @property
    def attendance(self) -> Attendance | None:
        """The attendance so far; None in a session with a phase that hides participation."""
        if self._protocol.hides_participation:
            return None
        names = names_of(self._protocol)
        counts = [self.clients.num_joined, *map(len, self.payloads), *([0] * len(names))]
        present = self.present_places
        return Attendance(
            num_received=dict(zip(names, counts, strict=False)),
            present=tuple(client.party for client in self.clients if client.place in present),
            awaited=tuple(client.party for client in self.clients if self.is_under_way and self.clients.awaits(client)),
            reasons={client.party: client.reason for client in self.clients if client.reason},
        )

    @property
    def memoized_reports(self) -> ReceivedReports:
        """The reports of phases that keep theirs, by phase and party."""
        return {
            step.phase.name: {self.names[place]: step.codec.decode(payload) for place, payload in payloads.items()}
            for step, payloads in zip(self._protocol.steps, self.payloads, strict=False)
            if step.phase.memo_scope is not None
        }

    @property
    def draws_noise(self) -> bool:
        """Whether the server draws the noise of the open step's phase."""
        return self._open.phase.name in self._draws

    @property
    def next_step(self) -> int:
        """The number of the step that follows, or how many steps there are."""
        return self.step + 1 if self._masking is None else self._masking.next_step

    @property
    def next_clients(self) -> list[ClientState]:
        """The clients that the next step asks, in roster order."""
        able = self.clients.able_to(Move.REQUEST)
        return (
            able if self._masking is None else [client for client in able if client.place in self._masking.asked_places]
        )

    def open_step(self, clients: Collection[ClientState]) -> None:
        """Open the next step, of these who are asked, with what the step before it published."""
        self.position.move(SessionMove.OPEN_PHASE)
        self.payloads += [{} for _ in range(self.step, self.next_step)]
        self.step = self.next_step
        self._open = self._protocol.steps[self.step]
        self.clients.ask(clients)
        self.request = Request(self.step, self._payload)
        self._own_payloads = {} if self._masking is None else self._masking.own_payloads
        if not self._open.is_in_dispute:
            self.transcript.add(self.request)

    def take_named(self) -> list[LiarNamed]:
        """Return the parties that were found to have lied since the last call."""
        return [] if self._masking is None else self._masking.take_named()

    def note_named(self) -> None:
        """Take note that all who were named so far have been told of, before a restart."""
        if self._masking is not None:
            self._masking.note_named()

    def requests_to(self, clients: Collection[ClientState]) -> list[tuple[Request, Collection[ClientState]]]:
        """Return the open step's requests to these clients: one for all, unless something is for one alone."""
        if not self._own_payloads:
            return [(self.request, clients)]
        payload = self.request.payload
        return [
            (Request(self.step, payload, self._own_payloads.get(client.place, NIL)), [client]) for client in clients
        ]

    def read(self, client: ClientState, payload: msgspec.Raw) -> Any:
        """Decode this client's answer in the open step.

        Raises:
            MalformedMessageError: the payload is no report of this step.
            RemoteProtocolError: the payload is not valid in this masked phase.
        """
        try:
            values = self._open.codec.decode(payload)
        except UNREADABLE as error:
            raise self._undeclared_error(client, str(error)) from None
        if self._reads_rows[self.step]:
            try:
                self._open.phase.check_report(values, tuple(self._public_rows[client.place].tolist()))
            except ValueError as error:
                is_private = self._protocol.keeps_words and not is_ours(type(self._open.phase).__module__)
                reason = reason_of(error, is_private=True) if is_private else str(error)
                raise self._undeclared_error(client, reason) from None
            except Exception as error:
                raise self._undeclared_error(client, reason_of(error, is_private=self._protocol.keeps_words)) from error
        if self._masking is not None:
            self._masking.receive(client.place, values)
        return values

    def _undeclared_error(self, client: ClientState, reason: str) -> MalformedMessageError:
        problem = f"{client.party}'s report in phase {self._open.name!r} is not what the phase declares"
        return MalformedMessageError(f"{problem}: {reason}", sender=client.party)

    def count(self, client: ClientState, payload: bytes) -> None:
        """Count a report in the open step: its payload as it came, in which something was read."""
        self.clients.take_report(client, self.step)
        self.payloads[self.step][client.place] = payload

    def settle(self, places: Sequence[int], drawn_tally: Tally | None = None) -> msgspec.Struct | None:
        """Tally the open step's phase, close it, and return its public outcome.

        Args:
            places: the roster indices of the parties whose reports count, in order.
            drawn_tally: the released tally from the records, if the server drew its noise before a restart.

        Raises:
            PluginError: the protocol's code fails (`plugin_checks`).
            QuorumError, RemoteProtocolError: in a masked phase, the sum cannot be unmasked.
        """
        phase = self._open.phase
        self.clients.close()
        tally = self._tally(phase, places) if self._masking is None else self._unmask_step(phase, self._masking)
        if tally is None:
            return None  # the phase goes on
        if drawn_tally is None:
            with blaming(self._protocol, f"release of phase {phase.name!r}"):
                drawn_tally = released_tally(phase, tally, self._draws.get(phase.name))
        self.tallies.append(drawn_tally)
        outcome = checked_phase_outcome(self._protocol, phase, self.tallies)
        self._payload = encode_payload(outcome)
        return outcome

    def release(self, release: Release, hearing: Iterable[ClientState]) -> None:
        """End the session with its result, which those are told who are there to hear it."""
        self.position.move(SessionMove.RELEASE)
        self.transcript.add(release)
        for client in hearing:
            client.move(Move.RELEASE)

    def abort(self) -> tuple[str, ...]:
        """End the session without a result, and return the parties that are to be told."""
        self.position.move(SessionMove.ABORT)
        return self.clients.break_all()

    def _unmask_step(self, phase: Phase, masking: ServerMasking) -> Tally | None:
        """Close a step of a masked phase; return the tally after the last, of all whose rows were added up."""
        summed = masking.close()
        self._payload = masking.payload
        if summed is None or not isinstance(phase, MaskedPhase):
            return None
        order, total = summed
        self.closed.append((order, np.empty((len(order), 0), dtype=np.int64)))
        with blaming(self._protocol, f"tally of phase {phase.name!r}"):
            return phase.tally_of_sum(total, self._public_rows[order])

    def _tally(self, phase: Phase, places: Sequence[int]) -> Tally:
        """Tally the parties that have reported in every phase so far."""
        order = np.array(places, dtype=np.int64)
        payloads = self.payloads[self.step]
        reports = phase.codec.decode_all([payloads[place] for place in places])
        earlier = [theirs[np.searchsorted(order_places, order)] for order_places, theirs in self.closed]
        self.closed.append((order, reports))
        return checked_tally(self._protocol, phase, reports, earlier, self._public_rows[order])
