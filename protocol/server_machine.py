"""The server's machine: all conversations of one session, without I/O.

It keeps one state per client. A client's mistake ends that client's row and never the vote: `receive` does not raise
for anything a peer can cause, but returns `Drop` with the error. A report that was accepted stands, whatever its sender
does next. A phase closes when every client that was asked has answered or left, or at its deadline. Without its quorum
the session ends, and both sides name the missing parties.

If participation is private (`Phase.hides_participation`), a phase, and joining before it, closes at its deadline and
never earlier. It counts everybody who has reported, even if nobody has. `Opened`, `Closed` and the result do not say
how many.

What the protocol leaves a party to choose of its public row is taken from its Hello. The party is held to it for the
whole session, whatever happens to its connection.

A durable machine asks to keep each report before it acknowledges it, and each opening and closing of a phase before it
tells of it. It is made again from these records after a restart. In its sessions a lost connection is not a departure:
the party is waited for until the deadline, may come back in any phase, and is told again what it has to know.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from .admission import Admission
from .arrays import IntArray
from .blaming import blaming
from .checked import checked_outcome, checked_own_outcomes, checked_phase_outcome, checked_tally
from .effects import Closed, Drop, Effect, Fail, Finish, Keep, Opened, Send, SetDeadline
from .errors import (
    ConfigurationError,
    ConflictingReportError,
    JournalError,
    LocalProtocolError,
    MalformedMessageError,
    PsephosError,
    QuorumError,
    RemoteProtocolError,
    SessionAborted,
    UnexpectedMessageError,
    one_of,
)
from .kept import ReceivedReports, check_kept_names
from .messages import (
    MAX_GREETING_BYTES,
    MAX_MESSAGE_BYTES,
    NIL,
    NO_CHARTER,
    Abort,
    Acknowledgement,
    Charter,
    Hello,
    Inquiry,
    Message,
    Release,
    Report,
    Request,
    Terms,
    Welcome,
    decode_payload,
    encode,
    encode_payload,
)
from .phases import CentralPhase, PhasedProtocol
from .population import draw_for_release, released_tally
from .randomness import NoiseSource
from .records import Accepted, Broken, Chosen, KeptTally, PhaseClosed, PhaseOpened, ServerRecord
from .roles import SessionKind, Side
from .roster import Roster
from .rules import JOIN, PhaseRules, hidden_phases
from .states import CONVERSATION, SESSION, Move, SessionMove, SessionState, State
from .tally import Tally
from .transcript import Transcript
from .views import Happening, View

__all__ = ["Attendance", "ServerMachine", "SessionResult"]

_TABLE = CONVERSATION[Side.SERVER]
_WIDEST_NUMBER_BYTES: Final = 9
"""Of an integer, whoever writes it."""
_TO_BE_TAKEN_UP: Final = (State.JOINED, State.ASKED, State.REPORTED, State.LATE, State.FINISHED)
_UNDER_WAY: Final = (SessionState.GATHERING, SessionState.COLLECTING)


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


class SessionResult(msgspec.Struct, frozen=True):
    """What a session leaves with its server.

    Args:
        outcome: what was released.
        tallies: each phase's.
        num_received: each phase's number of reports; None where that is private.
        own_outcomes: what single clients were told, by place; for each of them alone.
        transcript: the digest of what everybody was told (see `transcript`); empty where nobody was, in arrays.
        num_told: how many clients were there to be told the outcome; None where that is private, in arrays, and after
            a restart.
    """

    outcome: msgspec.Struct
    tallies: tuple[Tally, ...]
    num_received: tuple[int | None, ...]
    own_outcomes: Mapping[int, msgspec.Struct] = {}
    transcript: str = ""
    num_told: int | None = None


class _Row:
    """One client's conversation. `payload` is its last accepted report, to tell the same from another.

    `is_lost` says that its connection was, so that it may come back: as long as it has reported nothing, or any time
    where the session is durable. `has_heard` says that it has the release for good.
    """

    __slots__ = ("has_heard", "is_lost", "num_reports", "payload", "place", "state")

    def __init__(self, place: int) -> None:
        self.place = place
        self.state = State.NEW
        self.num_reports = 0
        self.payload = b""
        self.is_lost = False
        self.has_heard = False


class ServerMachine:
    """The server's side of one session.

    Args:
        protocol: the protocol with its public parameters.
        roster: who may take part.
        session: the session's name.
        kind: where the clients' randomness comes from; a client of the other kind is refused.
        charter: what makes the session this one.
        rules: deadline and quorum for each phase by name (and for `JOIN`).
        default_rules: for the phases that `rules` does not name.
        noise: where the server's own randomness comes from, which a protocol needs that trusts it with values.
        view: records what the server sees; simulations only.
        records: what the server has kept of this session, if it keeps records; None if it does not.
        kept: the reports of earlier sessions, by phase and party, in phases that keep theirs. A party that has one is
            told so as it joins, so that it draws none again; one that reports something else is refused.

    Raises:
        JournalError: the records are none of this session.
        ConfigurationError: a rule names no phase, or asks for more parties than the roster has, or for any where it is
            private who reports; the noise is missing, of another kind, or cannot sample a mechanism; a phase states
            less than it draws for one of the roster, or keeps no reports and some are given.
        ValueError: the parameters, or a release, would not fit into a message.
    """

    def __init__(
        self,
        protocol: PhasedProtocol[Any, Any],
        *,
        roster: Roster,
        session: str,
        kind: SessionKind,
        charter: Charter = NO_CHARTER,
        rules: Mapping[str, PhaseRules] | None = None,
        default_rules: PhaseRules | None = None,
        noise: NoiseSource | None = None,
        view: View | None = None,
        records: Sequence[ServerRecord] | None = None,
        kept: ReceivedReports | None = None,
    ) -> None:
        self._protocol = protocol
        self._roster = roster
        self._is_durable = records is not None
        self._records = records or ()
        check_kept_names(kept or {}, {phase.name: phase.kept for phase in protocol.phases})
        self._kept = {name: dict(reports) for name, reports in (kept or {}).items()}
        self._request = Request(0, NIL)  # of the open phase
        self._told: Mapping[str, Release] = {}  # to each party that may hear it
        self._session = session
        self._draws = {
            phase.name: draw_for_release(_check_noise(noise, kind, phase), protocol=protocol.name, phase=phase)
            for phase in protocol.phases
            if isinstance(phase, CentralPhase)
        }
        if view is not None and view.kind is not kind:
            raise ConfigurationError(field="view", value=view.kind.value, allowed=f"of a {kind.value}")
        self._view = view
        names = (JOIN, *(phase.name for phase in protocol.phases))
        if JOIN in names[1:]:
            raise ConfigurationError(field="phase", value=JOIN, allowed="named otherwise")
        given = dict(rules or {})
        if unknown := sorted(set(given) - set(names)):
            raise ConfigurationError(field="rules", value=unknown[0], allowed=one_of(names, unknown[0]))
        default = default_rules or PhaseRules()
        self._rules = {name: given.get(name, default) for name in names}
        self._hidden = hidden_phases(protocol)
        self._required = {
            name: rule.required(len(roster), hides_participation=name in self._hidden)
            for name, rule in self._rules.items()
        }
        self._rows = {name: _Row(place) for place, name in enumerate(roster.names)}
        self._state = SessionState.IDLE
        self._phase = -1  # -1 while the clients join
        self._outstanding = len(roster)
        self._num_joined = 0
        self._reports: list[dict[int, tuple[int, ...]]] = []
        self._first_drop = ""  # why; unless it is private who takes part
        self._closed: list[tuple[IntArray, IntArray]] = []  # of each closed phase: places in order, and their reports
        self._tallies: list[Tally] = []
        self._admission = Admission(protocol, roster=roster, session=session, kind=kind, charter=charter)
        self._transcript = Transcript(
            session=session, protocol=protocol.name, kind=kind.value, num_phases=len(protocol.phases)
        )
        self._transcript.add(self._admission.welcome)
        widest = max((phase.num_reported for phase in protocol.phases), default=0)
        self.max_received_bytes = min(MAX_MESSAGE_BYTES, MAX_GREETING_BYTES + _WIDEST_NUMBER_BYTES * widest)
        """The greatest message that a client has reason to send: a report, or an `Abort` with its reason."""
        protocol.check_loss_groups(roster.public)
        for public in {tuple(public): None for public in roster.public.tolist()}:
            protocol.check_losses(public)

    @property
    def state(self) -> SessionState:
        """Where the session stands."""
        return self._state

    @property
    def progress(self) -> tuple[str, int | None, int | None]:
        """The open phase, how many have reported in it, and how many it still waits for; None where that is private."""
        name = self._phase_name()
        return (name, None, None) if name in self._hidden else (name, self._num_received, self._outstanding)

    @property
    def attendance(self) -> Attendance | None:
        """Who takes part so far; None in a session with a phase where that is private."""
        if self._protocol.hides_participation:
            return None
        phases = [phase.name for phase in self._protocol.phases]
        counts = [self._num_joined, *map(len, self._reports), *([0] * len(phases))]
        present = self._present()
        return Attendance(
            num_received=dict(zip((JOIN, *phases), counts, strict=False)),
            present=tuple(name for name, row in self._rows.items() if row.place in present),
            awaited=tuple(name for name, row in self._rows.items() if self._awaits(row)),
        )

    def _awaits(self, row: _Row) -> bool:
        """Return whether the open phase waits for a client; `_outstanding` counts them."""
        if self._state not in _UNDER_WAY:
            return False
        return row.state is State.ASKED if self._phase >= 0 else row.state is State.NEW or row.is_lost

    @property
    def settled_phase(self) -> str | None:
        """The open phase where nobody else can report in it, or join; None while somebody can.

        For who runs all parties alike, and need not wait for a deadline: to others it may tell who takes part.
        """
        return None if self._outstanding or self._state not in _UNDER_WAY else self._phase_name()

    @property
    def kept(self) -> ReceivedReports:
        """What the session leaves to later ones: its reports in phases that keep theirs, by phase and party."""
        return {
            phase.name: {self._roster.names[place]: report for place, report in reports.items()}
            for phase, reports in zip(self._protocol.phases, self._reports, strict=False)
            if phase.kept is not None
        }

    @property
    def transcript(self) -> str | None:
        """The digest of what everybody was told, once it was released; see `transcript`."""
        return self._transcript.digest

    @property
    def num_told(self) -> int | None:
        """How many clients were there to be told the outcome, so far; None where that is private."""
        if self._protocol.hides_participation:
            return None
        return sum(row.state is State.FINISHED and not row.is_lost for row in self._rows.values())

    @property
    def awaits_listeners(self) -> bool:
        """Whether somebody may not have heard the outcome yet, and may come back for it."""
        return self._is_durable and any(
            row.state is State.FINISHED and not row.has_heard for row in self._rows.values()
        )

    def state_of(self, party: str) -> State:
        """Return where the conversation with `party` stands."""
        return self._rows[party].state

    def start(self) -> list[Effect]:
        """Begin to wait for the roster.

        With records it goes on where they end; deadlines begin anew, since nobody could report in between.

        Raises:
            LocalProtocolError: the machine was started before.
            JournalError: the records are none of this session.
        """
        if self._state is not SessionState.IDLE:
            raise LocalProtocolError("a machine starts once", role="server", state=self._state.value)
        self._state = SESSION[self._state][SessionMove.START]
        if self._records:
            return self._go_on(self._records)
        return [SetDeadline(JOIN, self._rules[JOIN].deadline_seconds)]

    def answer(self, inquiry: Inquiry, *, fingerprint: str = "") -> Terms:
        """Return what a party would take part in; change nothing.

        Args:
            inquiry: what a connection says first.
            fingerprint: of the certificate by which it came; empty where it came without.

        Raises:
            StrangerError, RemoteProtocolError: as `Admission.answer`.
        """
        return self._admission.answer(inquiry, fingerprint=fingerprint)

    def admit(self, hello: Hello, *, fingerprint: str = "") -> None:
        """Check whether a connection may speak for the party that it names; change nothing.

        Args:
            hello: what it says first, or after its inquiry.
            fingerprint: of the certificate by which it came; empty where it came without.

        A party whose connection was lost before it reported anything may come back while the first phase is open. One
        that has reported may not: it would have to draw again, which would tell more, and its first report stands.
        Where the session is durable, a party may come back in any phase, also to hear the release, and one that comes
        by its certificate takes the place of a connection that seems to be there: it is told what it has reported, so
        that it draws nothing again.

        Raises:
            StrangerError, RemoteProtocolError: as `Admission.check`.
            UnexpectedMessageError: it has spoken before, or comes too late.
        """
        self._admission.check(hello, fingerprint=fingerprint)
        row = self._rows[hello.party]
        reason = ""
        if self._takes_back(row):
            return
        if row.num_reports and not self._is_durable:
            reason = f"{hello.party!r} has reported; its first report stands, and nothing is drawn again"
        elif row.state is not State.NEW and not row.is_lost:
            reason = f"{hello.party!r} has joined before"
        elif self._state is not SessionState.GATHERING and not (row.is_lost and self._phase == 0):
            reason = f"session {self._session!r} no longer admits anybody"
        elif self._state not in _UNDER_WAY:
            reason = f"session {self._session!r} has ended"
        if reason:
            state = self._state.value if row.state is State.NEW else row.state.value
            raise UnexpectedMessageError(reason, sender=hello.party, role="server", state=state, message_type="Hello")

    def _takes_back(self, row: _Row) -> bool:
        """Return whether a party may take its conversation up where it stands."""
        has_certificate = bool(self._roster.fingerprints)
        may_return = self._is_durable and row.state in _TO_BE_TAKEN_UP and (row.is_lost or has_certificate)
        return may_return and self._state is not SessionState.ABORTED

    def _admits(self, hello: Hello) -> bool:
        try:
            self.admit(hello, fingerprint=self._roster.fingerprint_of(hello.party))
        except RemoteProtocolError:
            return False
        return True

    def receive(self, sender: str, message: Message) -> list[Effect]:
        """Take one message from a client on the roster, which `admit` has let in.

        Never raises for what a client can cause; its faults come back as `Drop`.
        """
        row = self._rows[sender]
        is_known = row.state is not State.NEW
        is_admitted = isinstance(message, Hello) and is_known and message.party == sender and self._admits(message)
        takes_up = is_admitted and self._takes_back(row)
        comes_back = is_admitted and row.is_lost and not takes_up
        moves = _TABLE[row.state]
        if not moves and not comes_back and not takes_up:
            # Anything else was on its way when the conversation ended.
            row.has_heard |= row.state is State.FINISHED and message == Acknowledgement(len(self._protocol.phases))
            return []
        if self._view is not None:
            self._view.record(Happening.RECEIVED, sender, message)
        if takes_up:
            return self._take_up(sender, row)
        if comes_back and isinstance(message, Hello):
            row = self._rows[sender] = _Row(row.place)  # another conversation, since the first one had come to nothing
            return self._on_hello(sender, row, message)
        match message:
            case Report():
                if Move.REPORT not in moves:
                    return self._drop(row, self._unexpected(sender, row, message))
                return self._on_report(sender, row, message)
            case Hello():
                try:
                    self.admit(message, fingerprint=self._roster.fingerprint_of(sender))
                except RemoteProtocolError as error:
                    return self._drop(row, error)
                if message.party != sender:
                    return self._drop(row, self._unexpected(sender, row, message))
                return self._on_hello(sender, row, message)
            case Abort():
                return self._on_departure(row)
            case Welcome() | Request() | Release() | Inquiry() | Terms() | Acknowledgement():
                return self._drop(row, self._unexpected(sender, row, message))

    def receive_loss(self, sender: str) -> list[Effect]:
        """Take note that a client's connection is gone; what it reported stands."""
        row = self._rows[sender]
        if not _TABLE[row.state]:
            return []
        if self._view is not None:
            self._view.record(Happening.LOST, sender)
        row.is_lost = True
        if self._is_durable and self._phase >= 0:
            return []  # it may come back
        return self._on_departure(row)

    def receive_silence(self, sender: str, seconds: float) -> list[Effect]:
        """Take note that a client has said nothing for so long, which its driver does not allow."""
        return self.receive_fault(sender, RemoteProtocolError(f"{sender} has said nothing for {seconds:g} seconds"))

    def receive_fault(self, sender: str, error: RemoteProtocolError) -> list[Effect]:
        """Take note that a client sent bytes that are no message, or does not read what it is sent."""
        row = self._rows[sender]
        if not _TABLE[row.state]:
            return []
        if self._view is not None:
            self._view.record(Happening.FAULT, sender, reason=str(error))
        return self._drop(row, error)

    def receive_timeout(self, phase: str) -> list[Effect]:
        """Take note that a phase's deadline has passed; nothing if the phase has closed before."""
        if phase != self._phase_name() or self._state not in _UNDER_WAY:
            return []
        if self._view is not None:
            self._view.record(Happening.TIMEOUT, phase)
        return self._close()

    def stop(self, reason: str) -> list[Effect]:
        """End the session because whoever runs the server ends it; every client is told the reason."""
        if self._state not in _UNDER_WAY:
            return []
        return self._end(SessionAborted(reason=reason, by="server"))

    def _on_hello(self, sender: str, row: _Row, hello: Hello) -> list[Effect]:
        row.state = _TABLE[_TABLE[row.state][Move.HELLO]][Move.WELCOME]
        row.is_lost = False
        is_new = self._admission.choose(row.place, hello.chosen)
        kept: list[Effect] = [Keep(Chosen(row.place, hello.chosen))] if is_new and self._is_durable else []
        effects: list[Effect] = [*kept, self._send((sender,), self._admission.welcome_of(row.place))]
        effects += self._tell_of_kept(sender)
        if self._phase >= 0:  # it comes back while the first phase is open, where nobody waited for it any longer
            row.state = _TABLE[row.state][Move.REQUEST]
            self._outstanding += 1
            return [*effects, self._send((sender,), Request(self._phase, NIL))]
        self._outstanding -= 1
        self._num_joined += 1
        return effects + self._close_if_complete()

    def _take_up(self, sender: str, row: _Row) -> list[Effect]:
        """Go on with a conversation over another connection: say what the party may have missed."""
        row.is_lost = False
        effects: list[Effect] = [self._send((sender,), self._admission.welcome_of(row.place))]
        effects += self._acknowledge(sender, row) if row.num_reports else self._tell_of_kept(sender)
        if row.state is State.ASKED:
            effects.append(self._send((sender,), self._request))
        elif (release := self._told.get(sender)) is not None:
            effects.append(self._send((sender,), release))
        return effects

    def _tell_of_kept(self, sender: str) -> list[Effect]:
        numbers = [
            number for number, phase in enumerate(self._protocol.phases) if sender in self._kept.get(phase.name, {})
        ]
        return [self._send((sender,), Acknowledgement(number)) for number in numbers]

    def _acknowledge(self, sender: str, row: _Row) -> list[Effect]:
        if not self._is_durable or not row.num_reports:
            return []
        return [self._send((sender,), Acknowledgement(row.num_reports - 1))]

    def _on_report(self, sender: str, row: _Row, message: Report) -> list[Effect]:
        if row.state is State.LATE:
            return []
        payload = bytes(message.payload)
        if 0 <= message.phase == row.num_reports - 1:  # the last one again: on its way twice, or asked for by nobody
            if payload != row.payload:
                return self._drop(row, self._conflict(sender, row, message))
            return self._acknowledge(sender, row)
        if row.state is not State.ASKED or message.phase != self._phase:
            return self._drop(row, self._unexpected(sender, row, message))
        try:
            values = self._values_of(sender, row, message.payload)
        except MalformedMessageError as error:
            error.role, error.state, error.message_type = "server", row.state.value, "Report"
            return self._drop(row, error)
        if (earlier := self._kept.get(self._phase_name(), {}).get(sender)) is not None and earlier != values:
            return self._drop(row, self._changed(sender, row))
        self._count(row, payload, values)
        kept: list[Effect] = [Keep(Accepted(self._phase, row.place, payload))] if self._is_durable else []
        return kept + self._acknowledge(sender, row) + self._close_if_complete()

    def _values_of(self, sender: str, row: _Row, payload: msgspec.Raw) -> tuple[int, ...]:
        """Return a report of the open phase, or raise MalformedMessageError where it is none."""
        phase = self._protocol.phases[self._phase]
        problem = f"{sender}'s report in phase {phase.name!r} is not what the phase declares"
        values = decode_payload(payload, phase.decoder, sender=sender, problem=problem)
        try:
            phase.check_report(values, self._admission.public_row(row.place))
        except ValueError as error:
            raise MalformedMessageError(f"{problem}: {error}", sender=sender) from None
        return values

    def _count(self, row: _Row, payload: bytes, values: tuple[int, ...]) -> None:
        row.state = _TABLE[row.state][Move.REPORT]
        row.num_reports += 1
        row.payload = payload
        self._reports[self._phase][row.place] = values
        self._outstanding -= 1

    def _on_departure(self, row: _Row) -> list[Effect]:
        if self._phase < 0:
            has_joined = row.state is State.JOINED
            self._num_joined -= has_joined
            # Whose connection was lost is waited for again until the deadline; who leaves on purpose is not.
            self._outstanding += has_joined if row.is_lost else has_joined - 1
        else:
            self._outstanding -= row.state is State.ASKED
        row.state = _TABLE[row.state][Move.BREAK]
        return self._close_if_complete()

    def _drop(self, row: _Row, error: RemoteProtocolError) -> list[Effect]:
        """End one client's row for its own fault."""
        party = self._roster.names[row.place]
        if not self._protocol.hides_participation:
            self._first_drop = self._first_drop or str(error)
        effects: list[Effect] = [self._send((party,), Abort.because(error)), Drop(party, error)]
        return effects + self._on_departure(row)

    def _close_if_complete(self) -> list[Effect]:
        """Close the phase as soon as nobody else can report, or as soon as its quorum is out of reach.

        Where it is private who reports, only its deadline closes it: earlier would tell that all have.
        """
        name = self._phase_name()
        if self._state not in _UNDER_WAY or name in self._hidden:
            return []
        if not self._outstanding:
            return self._close()
        if self._num_received + self._outstanding >= self._required[name]:
            return []
        waited_for = State.NEW if self._phase < 0 else State.ASKED
        still_there = self._present() | {row.place for row in self._rows.values() if row.state is waited_for}
        return self._abort(name, self._num_received, still_there)

    def _present(self) -> set[int]:
        """Return the places of those who have reported in the open phase, or have joined before the first."""
        if self._phase >= 0:
            return set(self._reports[self._phase])
        return {row.place for row in self._rows.values() if row.state is State.JOINED}

    def _close(self) -> list[Effect]:
        name = self._phase_name()
        present = self._present()
        if len(present) < self._required[name]:
            return self._abort(name, len(present), present)
        counts = (None, None) if name in self._hidden else (len(present), len(self._roster) - len(present))
        if self._phase < 0:
            return [Closed(name, *counts, None), *self._open_next(NIL)]
        phase, places = self._phase, sorted(present)
        try:
            outcome = self._settle(places)
        except PsephosError as error:
            return self._end(error)
        effects: list[Effect] = [Closed(name, *counts, outcome), *self._follow(outcome)]
        if self._is_durable:
            drawn = KeptTally.of(self._tallies[phase]) if name in self._draws else None
            effects.insert(0, Keep(PhaseClosed(phase, tuple(places), drawn)))
        return effects

    def _settle(self, places: list[int], drawn: Tally | None = None) -> msgspec.Struct | None:
        """Tally the open phase, ask nobody in it any longer, and return what it publishes.

        Args:
            places: of the reports that count, in order.
            drawn: its released tally where the server has drawn its noise before.
        """
        phase = self._protocol.phases[self._phase]
        for row in self._rows.values():
            if row.state is State.ASKED:
                row.state = _TABLE[row.state][Move.CLOSE]
        tally = self._tally(places)
        if drawn is None:
            with blaming(self._protocol, f"release of phase {phase.name!r}"):
                drawn = released_tally(phase, tally, self._draws.get(phase.name))
        self._tallies.append(drawn)
        return checked_phase_outcome(self._protocol, phase, self._tallies)

    def _follow(self, outcome: msgspec.Struct | None) -> list[Effect]:
        """Open the next phase, or release after the last."""
        if self._phase + 1 == len(self._protocol.phases):
            return self._release()
        return self._open_next(encode_payload(outcome))

    def _tally(self, places: list[int]) -> Tally:
        """Tally the clients that have reported in every phase so far."""
        phase = self._protocol.phases[self._phase]
        order = np.array(places, dtype=np.int64)
        of_phase = self._reports[self._phase]
        reports = np.array([of_phase[place] for place in places], dtype=np.int64)
        reports = reports.reshape(len(places), phase.num_reported)
        earlier = [theirs[np.searchsorted(known, order)] for known, theirs in self._closed]
        self._closed.append((order, reports))
        return checked_tally(self._protocol, phase, reports, earlier, self._admission.public[order])

    def _open_next(self, payload: msgspec.Raw) -> list[Effect]:
        before = self._phase_name()
        asked = {party: row for party, row in self._rows.items() if Move.REQUEST in _TABLE[row.state]}
        self._begin_phase(payload, asked.values())
        name = self._phase_name()
        if len(asked) < self._required[name]:  # nobody shall pay for a phase that cannot reach its quorum
            return self._abort(name, 0, {row.place for row in asked.values()})
        # Whoever is asked has reported in the phase before.
        num_asked = None if {name, before} & self._hidden else len(asked)
        places = tuple(row.place for row in asked.values())
        return [
            *([Keep(PhaseOpened(self._phase, places))] if self._is_durable else []),
            Opened(name, num_asked),
            SetDeadline(name, self._rules[name].deadline_seconds),
            self._send(tuple(asked), self._request),
        ]

    def _begin_phase(self, payload: msgspec.Raw, asked: Collection[_Row]) -> None:
        self._state = SESSION[self._state][SessionMove.OPEN_PHASE]
        self._phase += 1
        self._reports.append({})
        for row in asked:
            row.state = _TABLE[row.state][Move.REQUEST]
        self._outstanding = len(asked)
        self._request = Request(self._phase, payload)
        self._transcript.add(self._request)

    def _go_on(self, records: Sequence[ServerRecord]) -> list[Effect]:
        """Take up the session where its records end; everybody's connection is lost.

        Raises:
            JournalError: the records are none of this session.
        """
        outcome: msgspec.Struct | None = None
        try:
            for record in records:
                match record:
                    case Chosen(place=place, chosen=chosen):
                        self._admission.choose(place, chosen)
                    case PhaseOpened():
                        self._reopen(record, outcome)
                    case Accepted():
                        self._recount(record)
                    case PhaseClosed():
                        drawn = None if record.tally is None else record.tally.restore()
                        outcome = self._settle(list(record.places), drawn)
                    case Broken():
                        error = QuorumError(**msgspec.structs.asdict(record))
                        return self._end(error)
            if isinstance(records[-1], PhaseClosed):
                return self._follow(outcome)
        except (LookupError, ValueError, TypeError, OverflowError, MalformedMessageError) as error:
            raise JournalError(f"has a record that has no place in this session: {error}") from error
        name = self._phase_name()
        return [SetDeadline(name, self._rules[name].deadline_seconds), *self._close_if_complete()]

    def _reopen(self, record: PhaseOpened, outcome: msgspec.Struct | None) -> None:
        if record.phase != self._phase + 1:
            raise ValueError(f"phase {record.phase} opens after phase {self._phase}")
        rows = [self._rows[self._roster.names[place]] for place in record.places]
        for row in self._rows.values():
            row.is_lost = True  # also who is not asked: it may have been let in later, while the first phase was open
        for row in rows:
            if not record.phase:
                row.state = State.JOINED
        self._begin_phase(encode_payload(outcome), rows)

    def _recount(self, record: Accepted) -> None:
        party = self._roster.names[record.place]
        row = self._rows[party]
        if not self._phase and row.state is State.NEW:  # let in while the first phase was open
            row.state = State.ASKED
            self._outstanding += 1
        if record.phase != self._phase or row.state is not State.ASKED:
            raise ValueError(f"{party} reports in phase {record.phase}, in state {row.state.value!r}")
        self._count(row, record.report, self._values_of(party, row, msgspec.Raw(record.report)))

    def _release(self) -> list[Effect]:
        try:
            outcome: msgspec.Struct = checked_outcome(self._protocol, self._tallies)
            own_outcomes = checked_own_outcomes(self._protocol, self._tallies)
        except PsephosError as error:
            return self._end(error)
        hearing = {party: row for party, row in self._rows.items() if Move.RELEASE in _TABLE[row.state]}
        unlike: dict[str, Release] = {}  # those that say more than what everybody is told
        told: msgspec.Struct = outcome
        try:
            release = Release(encode_payload(outcome))
            encode(release)
            for party, row in hearing.items():
                if row.state is State.LATE:
                    unlike[party] = msgspec.structs.replace(release, is_late=True)
                if (own := own_outcomes.get(row.place)) is not None:
                    told = own
                    unlike[party] = msgspec.structs.replace(unlike.get(party, release), own=encode_payload(own))
            if unlike:
                encode(max(unlike.values(), key=lambda each: len(bytes(each.own))))  # if the longest fits, all do
        except (TypeError, ValueError) as error:
            reason = f"the outcome, of type {type(told).__name__}, does not fit into a message: {error}"
            return self._end(LocalProtocolError(reason, role="server", message_type="Release"))
        self._state = SESSION[self._state][SessionMove.RELEASE]
        self._transcript.add(release)
        self._told = {party: unlike.get(party, release) for party in hearing}
        for row in hearing.values():
            row.state = _TABLE[row.state][Move.RELEASE]
        everybody = tuple(party for party in hearing if party not in unlike)
        num_received = tuple(
            None if phase.name in self._hidden else len(reports)
            for phase, reports in zip(self._protocol.phases, self._reports, strict=True)
        )
        digest = self._transcript.digest or ""
        result = SessionResult(outcome, tuple(self._tallies), num_received, own_outcomes, digest, self.num_told)
        other_releases = [self._send((party,), message) for party, message in unlike.items()]
        return [self._send(everybody, release), *other_releases, Finish(result)]

    def _abort(self, phase: str, num_received: int, not_missing: set[int]) -> list[Effect]:
        """End the session without its quorum, on every side.

        Missing are those who did not report until the deadline, or, where the quorum was out of reach before, those who
        had gone by then.
        """
        missing = [name for place, name in enumerate(self._roster.names) if place not in not_missing]
        given: dict[str, Any] = {"phase": phase, "received": num_received, "required": self._required[phase]}
        error = QuorumError(**given, missing=missing, first_drop=self._first_drop)
        # Why a party was dropped may quote its report, which is for nobody but the server.
        effects = self._end(error, told=QuorumError(**given, missing=missing))
        if self._is_durable:
            kept = Broken(**given, missing=tuple(missing), first_drop=self._first_drop)
            effects.insert(0, Keep(kept))
        return effects

    def _end(self, error: PsephosError, *, told: PsephosError | None = None) -> list[Effect]:
        """End the session with an error, on every side; clients are told another one where there is one."""
        self._state = SESSION[self._state][SessionMove.ABORT]
        live: list[str] = []
        for party, row in self._rows.items():
            if row.state is not State.NEW and _TABLE[row.state]:
                row.state = _TABLE[row.state][Move.BREAK]
                live.append(party)
        return [self._send(tuple(live), Abort.because(told or error)), Fail(error)]

    def _send(self, recipients: tuple[str, ...], message: Message) -> Send:
        if self._view is not None:
            for recipient in recipients:
                self._view.record(Happening.SENT, recipient, message)
        return Send(recipients, message)

    @property
    def _num_received(self) -> int:
        """How many have reported in the open phase, or have joined before the first."""
        return self._num_joined if self._phase < 0 else len(self._reports[self._phase])

    def _phase_name(self) -> str:
        return JOIN if self._phase < 0 else self._protocol.phases[self._phase].name

    def _conflict(self, sender: str, row: _Row, message: Report) -> ConflictingReportError:
        phase = self._protocol.phases[message.phase].name
        return ConflictingReportError(
            f"{sender} reported a second time in phase {phase!r}, and differently; the first stands",
            sender=sender,
            role="server",
            state=row.state.value,
            message_type="Report",
        )

    def _changed(self, sender: str, row: _Row) -> ConflictingReportError:
        phase = self._protocol.phases[self._phase]
        reason = f"{sender} reports in phase {phase.name!r} otherwise than in an earlier session of {phase.kept}"
        return ConflictingReportError(
            f"{reason}, whose first report stands",
            sender=sender,
            role="server",
            state=row.state.value,
            message_type="Report",
        )

    def _unexpected(self, sender: str, row: _Row, message: Message) -> UnexpectedMessageError:
        name = type(message).__name__
        phase = f" of phase {message.phase}" if isinstance(message, (Request, Report)) else ""
        return UnexpectedMessageError(
            f"{sender} sent a {name}{phase} in state {row.state.value!r} of phase {self._phase_name()!r}",
            sender=sender,
            role="server",
            state=row.state.value,
            message_type=name,
        )


def _check_noise(noise: NoiseSource | None, kind: SessionKind, phase: CentralPhase) -> NoiseSource:
    """Return the noise, or raise ConfigurationError unless the server can draw what this phase leaves to it."""
    if noise is None or noise.kind is not kind:
        given = "none" if noise is None else noise.kind.value
        allowed = f"of a {kind.value}: in phase {phase.name!r} the server draws the noise"
        raise ConfigurationError(field="noise", value=given, allowed=allowed)
    noise.check(phase.tally_mechanism)
    return noise
