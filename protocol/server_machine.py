"""The server's machine: all conversations of one session, without I/O.

It keeps one state per client. A client's fault ends its conversation, and never the vote: `receive` does not raise for
anything that a peer can cause, but returns `Drop` with the error. An accepted report stands, whatever its sender does
next. This module answers the messages of single clients. `session_flow` decides when a phase closes and what follows,
and `phase_reports` holds the accepted reports.

If participation is private (`Phase.hides_participation`), joining and each step end at their deadline, never earlier. A
step counts all reports, even if there are none. `Opened`, `Closed` and the result hide the number of reports.

If the protocol lets a party choose the end of its public row, its Hello carries the choice, which is then fixed for the
session, whatever happens to the connection.

A durable machine writes records: of each report before it acknowledges it, and of each opening and closing of a step
before it announces it. After a restart it is made again from these records. In a durable session a lost connection is
no departure. The server waits for the party until the deadline. The party may return in any step, and is then sent what
it has missed.
"""

import functools
from collections.abc import Sequence
from typing import Any, Final

from .admission import Admission
from .client_table import ClientState
from .effects import Attended, Drop, Effect, Keep, Presence, Send, send
from .errors import (
    JournalError,
    LocalProtocolError,
    QuorumError,
    RemoteProtocolError,
    SessionAborted,
    UnexpectedMessageError,
)
from .faults import conflicting_report, unexpected_message
from .masked_sessions import ServerMasking
from .memoized_reports import ReceivedReports, check_kept_names
from .messages import (
    MAX_GREETING_BYTES,
    MAX_MESSAGE_BYTES,
    Abort,
    Acknowledgement,
    Hello,
    Inquiry,
    Message,
    Release,
    Report,
    Request,
    Terms,
    Welcome,
)
from .phase_reports import Attendance, PhaseReports, draws_for_releases
from .phases import PhasedProtocol
from .records import Accepted, Chosen, PhaseClosed, ServerRecord, receipt_of
from .replay import replay_server
from .roles import Side
from .roster import Roster
from .rules import DEFAULT_RULES, SessionRules
from .session_flow import SessionFlow
from .sides import SessionMode
from .states import SESSION, Move, SessionMove, SessionState, State
from .transcript import Transcript
from .views import Happening, View, check_view

_OUTDATED: Final = "its journal is an older copy, which its operator has to replace"
_TO_BE_TAKEN_UP: Final = (State.JOINED, State.ASKED, State.REPORTED, State.LATE, State.FINISHED)


class ServerMachine:
    """The server's side of one session.

    Args:
        protocol: the protocol, with its parameters.
        roster: the parties that may take part, and their public rows.
        mode: the session's name and descriptor, and the source of the server's noise.
        rules: deadlines and quorums, by step.
        view: records what the server sees; simulations only.
        records: the server's records of this session; None if it keeps none.
        memoized_reports: the reports of earlier sessions in memoized phases, by phase and party. The server tells a
            party with such a report so as it joins, so that the party draws none again, and refuses any other report.
        secret: the server's key for acknowledgements. By it the server recognizes its acknowledgements, and so detects
            that its records are an older copy. A masked session on a circle also derives its seed from it, and cannot
            go on after a restart without one.

    Raises:
        JournalError: the records are of another session.
        ConfigurationError: a rule names no phase; a rule asks for more parties than the roster has, or for any parties
            although participation is private; the noise cannot sample a mechanism; the view is of another kind than the
            noise; a phase states a smaller loss than it draws for a party of the roster; or memoized reports are given
            for a phase without memoization.
        ValueError: the parameters, or a release, would not fit into a message.

    Examples:
        >>> import numpy as np
        >>> from psephos.protocol import SimulatedNoise
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote, roster = DPWeVote(Parameters(candidates=("tea",))), Roster(["ann"], np.empty((1, 0), dtype=int))
        >>> server = ServerMachine(vote, roster, SessionMode("council", SimulatedNoise(1, session="council")))
        >>> effects = server.start()
        >>> server.progress, effects
        (('join', 0, 1), [SetDeadline(phase='join', seconds=300.0)])
    """

    def __init__(
        self,
        protocol: PhasedProtocol[Any, Any],
        roster: Roster,
        mode: SessionMode,
        *,
        rules: SessionRules = DEFAULT_RULES,
        view: View | None = None,
        records: Sequence[ServerRecord] | None = None,
        memoized_reports: ReceivedReports | None = None,
        secret: bytes = b"",
    ) -> None:
        check_kept_names(memoized_reports or {}, protocol.kept_scopes)
        draws = draws_for_releases(protocol, mode.noise)
        check_view(view, mode.kind)
        self._protocol = protocol
        self._hides_participation = protocol.hides_participation
        self._roster = roster
        self._session = mode.session
        self._view = view
        self._is_durable = records is not None
        self._records = records or ()
        self._receipt_of = functools.partial(receipt_of, secret, session_id=mode.descriptor.id)
        self._memoized_reports = {name: dict(reports) for name, reports in (memoized_reports or {}).items()}
        self._admission = Admission(protocol, roster, mode)
        transcript = Transcript(
            session=mode.session, protocol=protocol.name, kind=mode.kind.value, num_steps=protocol.num_public_steps
        )
        transcript.add(self._admission.welcome)
        masked = protocol.masked_phase
        self._phase_reports = PhaseReports(
            protocol,
            names=roster.names,
            public=self._admission.public,
            draws=draws,
            transcript=transcript,
            masking=None if masked is None else ServerMasking(protocol, masked, roster, mode, secret=secret),
        )
        self._clients = self._phase_reports.clients
        self._checked_hello: Hello | None = None
        self._is_outdated = False
        self._untold_parties: set[str] = set()
        self._flow = SessionFlow(
            protocol, phase_reports=self._phase_reports, rules=rules, is_durable=self._is_durable, view=view
        )
        longest = max(step.codec.max_bytes for step in protocol.steps)
        self.max_received_bytes = min(MAX_MESSAGE_BYTES, MAX_GREETING_BYTES + longest)
        """The most bytes of a message that a client may need to send: a report, or an `Abort` with its reason."""
        protocol.check_loss_groups(roster.public)
        for public in {tuple(public): None for public in roster.public.tolist()}:
            protocol.check_losses(public)

    @property
    def state(self) -> SessionState:
        """The session's state."""
        return self._phase_reports.position.state

    @property
    def progress(self) -> tuple[str, int | None, int | None]:
        """The open step, its number of reports, and how many it still waits for; the numbers are None if private."""
        wait = self._flow.wait
        if wait.is_hidden:
            return wait.name, None, None
        return wait.name, self._phase_reports.num_received, self._clients.num_awaited

    @property
    def attendance(self) -> Attendance | None:
        """The attendance so far; None in a session with a phase that hides participation."""
        return self._phase_reports.attendance

    @property
    def settled_phase(self) -> str | None:
        """The name of the open step if nobody else can join or report in it; otherwise None.

        For a runner of all parties, which need not wait for the deadline. To anybody else it may reveal who takes part.
        """
        return self._flow.wait.name if not self._clients.num_awaited and self._phase_reports.is_under_way else None

    @property
    def memoized_reports(self) -> ReceivedReports:
        """The reports of memoized phases, by phase and party, which later sessions may repeat."""
        return self._phase_reports.memoized_reports

    @property
    def transcript(self) -> str | None:
        """The digest of all public messages, once the outcome is released; see `transcript`."""
        return self._phase_reports.transcript.digest

    @property
    def num_told(self) -> int | None:
        """The number of clients so far to which the outcome was sent; None if participation is private."""
        return None if self._hides_participation else self._phase_reports.num_told

    @property
    def awaits_listeners(self) -> bool:
        """Whether some party may still return to hear how the session ended.

        That is so for a recorded outcome, and for a session that ended because the records are an older copy.
        """
        if self._untold_parties:
            return True
        return self._is_durable and any(
            client.state is State.FINISHED and not client.has_heard for client in self._clients
        )

    def state_of(self, party: str) -> State:
        """Return the state of the conversation with `party`."""
        return self._clients.by_party[party].state

    def start(self) -> list[Effect]:
        """Begin to wait for the roster.

        With records, continue where they end. Deadlines begin again, since nobody could report in the meantime.

        Raises:
            LocalProtocolError: the machine was started before.
            JournalError: the records are of another session.
        """
        if self.state is not SessionState.IDLE:
            raise LocalProtocolError("a machine starts once", role="server", state=self.state.value)
        self._phase_reports.position.move(SessionMove.START)
        if not self._records:
            return [self._flow.deadline]
        outcome = replay_server(self._records, self._phase_reports, self._admission)
        if isinstance(outcome, QuorumError):
            return self._flow.end(outcome)
        if isinstance(self._records[-1], PhaseClosed):
            return self._flow.follow()
        return [self._flow.deadline, *self._flow.close_if_complete()]

    def answer(self, inquiry: Inquiry, *, fingerprint: str = "") -> Terms:
        """Return the session's terms for a party; change nothing.

        Raises:
            StrangerError, RemoteProtocolError: as `Admission.answer`.
        """
        return self._admission.answer(inquiry, fingerprint=fingerprint)

    def admit(self, hello: Hello, *, fingerprint: str = "") -> None:
        """Check whether a connection may speak for the party that it names.

        In a session that is not durable, a party whose connection was lost before its first report may return while the
        first step is open. A party that has reported may not: it would draw again, which reveals more.

        In a durable session a party may return in any step, also for the release. If it authenticates by certificate,
        it replaces a connection that still seems open. The server sends it what it has reported, so that it draws
        nothing again.

        Raises:
            StrangerError, RemoteProtocolError: as `Admission.check`; or the party's journal lacks reports that the
                server has, so that it could draw them again.
            UnexpectedMessageError: the party has joined before, or comes too late.
        """
        if hello is not self._checked_hello:  # a driver admits a Hello before the machine receives it
            self._admission.check(hello, fingerprint=fingerprint)
            self._checked_hello = hello
        if self._is_outdated:
            self._untold_parties.discard(hello.party)
            raise RemoteProtocolError(_OUTDATED, sender=hello.party, role="server", message_type="Hello")
        client, session = self._clients.by_party[hello.party], self._phase_reports.position.state
        reason = ""
        if self._is_durable and hello.num_reports < client.num_reports:
            problem = f"{client.num_reports} of its reports are here, and its own journal has {hello.num_reports}"
            reason = (
                f"{hello.party!r} came with an older copy of its journal, or with none: {problem}. Nothing was drawn"
            )
            raise RemoteProtocolError(reason, sender=hello.party, role="server", message_type="Hello")
        # A client that has answered nothing would take an immediate release for a fault of the server.
        is_late = client.state in {State.LATE, State.FINISHED} and not hello.num_reports
        if not is_late and client.state in _TO_BE_TAKEN_UP and self._takes_back(client):
            return
        if client.num_reports and not self._is_durable:
            reason = f"{hello.party!r} has reported; its first report stands, and nothing is drawn again"
        elif client.state is not State.NEW and not client.is_lost:
            reason = f"{hello.party!r} has joined before"
        elif session is not SessionState.GATHERING and not (client.is_lost and self._phase_reports.step == 0):
            reason = f"session {self._session!r} no longer admits anybody"
        elif not SESSION[session]:
            reason = f"session {self._session!r} has ended"
        if reason:
            state = self.state.value if client.state is State.NEW else client.state.value
            raise UnexpectedMessageError(reason, sender=hello.party, role="server", state=state, message_type="Hello")

    def _takes_back(self, client: ClientState) -> bool:
        """Return whether a party may take its conversation up where it stands."""
        has_certificate = bool(self._roster.fingerprints)
        may_return = self._is_durable and client.state in _TO_BE_TAKEN_UP and (client.is_lost or has_certificate)
        return may_return and self.state is not SessionState.ABORTED

    def _shows_older_copy(self, client: ClientState, acknowledgement: Acknowledgement) -> bool:
        """Return whether this side has acknowledged a report that its records do not have."""
        receipt = self._receipt_of(party=client.party, step=acknowledgement.step)
        is_missing = client.num_reports <= acknowledgement.step < len(self._protocol.steps)
        return is_missing and self._phase_reports.is_under_way and receipt != b"" and receipt == acknowledgement.receipt

    def _end_as_outdated(self, client: ClientState, phase: str) -> list[Effect]:
        """End the session because its records are an older copy; tell all parties, also those that come later."""
        self._is_outdated = True
        reason = (
            f"is an older copy: a party shows this server's own word that it has a report of phase {phase!r}, and "
            "there is none in it. Noise would be drawn a second time: put the newest copy back"
        )
        told_error = SessionAborted(reason=_OUTDATED, by="server")
        client.is_lost = False
        if client.state is State.NEW:
            client.move(Move.HELLO)
        effects = self._flow.end(JournalError(reason), told_error=told_error)
        self._untold_parties = {member.party for member in self._clients if member.state is State.NEW or member.is_lost}
        return effects

    def _admits(self, hello: Hello) -> bool:
        try:
            self.admit(hello, fingerprint=self._roster.fingerprint_of(hello.party))
        except RemoteProtocolError:
            return False
        return True

    def receive(self, sender: str, message: Message) -> list[Effect]:
        """Take one message from a client on the roster that `admit` has accepted.

        It never raises for what a client can cause; it returns `Drop` for a client's fault.
        """
        client = self._clients.by_party[sender]
        moves = client.moves
        if type(message) is Hello and message.shown is not None and self._shows_older_copy(client, message.shown):
            return self._end_as_outdated(client, self._protocol.steps[message.shown.step].name)
        comes_back = (
            type(message) is Hello
            and client.state is not State.NEW
            and message.party == sender
            and self._admits(message)
        )
        if not moves and not comes_back:
            # Any other message was sent before the client knew that the conversation ended. A client that leaves by an
            # Abort does not return.
            is_last = message == Acknowledgement(len(self._protocol.steps)) or type(message) is Abort
            client.has_heard |= client.state is State.FINISHED and is_last
            return []
        if self._view is not None:
            self._view.record(Happening.RECEIVED, sender, message)
        match message:
            case Report():
                if Move.REPORT not in moves:
                    return self._drop(client, self._unexpected_error(client, message))
                return self._on_report(client, message)
            case Hello() if comes_back:
                effects = self._note_attendance(client, Presence.RETURNED)
                if self._takes_back(client):
                    return effects + self._take_up(client)
                return effects + self._on_hello(self._clients.clear(client), message)
            case Hello():
                try:
                    self.admit(message, fingerprint=self._roster.fingerprint_of(sender))
                except RemoteProtocolError as error:
                    return self._drop(client, error)
                if message.party != sender:
                    return self._drop(client, self._unexpected_error(client, message))
                return self._note_attendance(client, Presence.JOINED) + self._on_hello(client, message)
            case Abort():
                return self._on_abort(client, message)
            case Welcome() | Request() | Release() | Inquiry() | Terms() | Acknowledgement():
                return self._drop(client, self._unexpected_error(client, message))

    def receive_departures(self, leaving: Sequence[tuple[str, Abort]]) -> list[Effect]:
        """Take the Aborts of clients that leave together, and only then decide what follows."""
        for sender, message in leaving:
            client = self._clients.by_party[sender]
            if not client.moves:
                self.receive(sender, message)
                continue
            if self._view is not None:
                self._view.record(Happening.RECEIVED, sender, message)
            self._clients.leave(client)
        return self._flow.close_if_complete()

    def receive_loss(self, sender: str) -> list[Effect]:
        """Take note that a client's connection is gone; what it reported stands."""
        client = self._clients.by_party[sender]
        if not client.moves:
            return []
        if self._view is not None:
            self._view.record(Happening.LOST, sender)
        client.is_lost = True
        effects = self._note_attendance(client, Presence.LOST)
        if self._is_durable and self._phase_reports.step >= 0:
            return effects  # it may come back
        return effects + self._on_departure(client)

    def receive_silence(self, sender: str, seconds: float) -> list[Effect]:
        """Take note that a client was silent for longer than its driver allows, in seconds."""
        return self.receive_fault(sender, RemoteProtocolError(f"{sender} has said nothing for {seconds:g} seconds"))

    def receive_fault(self, sender: str, error: RemoteProtocolError) -> list[Effect]:
        """Take note that a client sent bytes that are no message, or does not read what it is sent."""
        client = self._clients.by_party[sender]
        if not client.moves:
            return []
        if self._view is not None:
            self._view.record(Happening.FAULT, sender, reason=str(error))
        return self._drop(client, error)

    def receive_timeout(self, phase: str) -> list[Effect]:
        """Take note that the deadline of the named step has passed; do nothing if the step has closed before."""
        if phase != self._flow.wait.name or not self._phase_reports.is_under_way:
            return []
        if self._view is not None:
            self._view.record(Happening.TIMEOUT, phase)
        return self._flow.close()

    def stop(self, reason: str) -> list[Effect]:
        """End the session because its operator stops it; every client is told the reason."""
        if not self._phase_reports.is_under_way:
            return []
        return self._flow.end(SessionAborted(reason=reason, by="server"))

    def _on_hello(self, client: ClientState, hello: Hello) -> list[Effect]:
        self._clients.welcome(client)
        client.is_lost = False
        is_new = self._admission.choose(client.place, hello.chosen)
        effects: list[Effect] = [Keep(Chosen(client.place, hello.chosen))] if is_new and self._is_durable else []
        effects.append(send((client.party,), self._admission.welcome_of(client.place), view=self._view))
        if self._memoized_reports:
            effects += self._tell_of_kept(client)
        if client.state is State.ASKED:
            effects += self._flow.ask([client])
        elif not self._clients.num_awaited:
            effects += self._flow.close_if_complete()
        return effects

    def _take_up(self, client: ClientState) -> list[Effect]:
        """Continue a conversation over another connection: send again what the party may have missed."""
        client.is_lost = False
        effects: list[Effect] = [self._send(client, self._admission.welcome_of(client.place))]
        effects += self._acknowledge(client) if client.num_reports else self._tell_of_kept(client)
        if client.state is State.ASKED:
            effects += self._flow.ask([client])
        elif client.state is State.FINISHED and (releases := self._flow.releases) is not None:
            effects.append(self._send(client, releases.release_to(client.party)))
        return effects

    def _tell_of_kept(self, client: ClientState) -> list[Effect]:
        if not self._memoized_reports:
            return []
        return [
            self._send(client, Acknowledgement(number))
            for number, step in enumerate(self._protocol.steps)
            if client.party in self._memoized_reports.get(step.phase.name, {})
        ]

    def _acknowledge(self, client: ClientState) -> list[Effect]:
        if not self._is_durable or not client.num_reports:
            return []
        step = client.num_reports - 1
        return [self._send(client, Acknowledgement(step, self._receipt_of(party=client.party, step=step)))]

    def _on_report(self, client: ClientState, message: Report) -> list[Effect]:
        if client.state is State.LATE:
            return []
        phase_reports = self._phase_reports
        payload = bytes(message.payload)
        if 0 <= message.step == client.num_reports - 1:  # the last report again: sent twice, or changed
            if payload == phase_reports.payloads[message.step][client.place]:
                return self._acknowledge(client)
            name = self._protocol.steps[message.step].name
            return self._drop(client, conflicting_report(sender=client.party, phase=name, state=client.state))
        if client.state is not State.ASKED or message.step != phase_reports.step:
            return self._drop(client, self._unexpected_error(client, message))
        try:
            values = phase_reports.read(client, message.payload)
        except RemoteProtocolError as error:
            error.role, error.state, error.message_type = "server", client.state.value, "Report"
            return self._drop(client, error)
        phase = self._protocol.steps[message.step].phase
        if self._memoized_reports and self._memoized_reports.get(phase.name, {}).get(client.party, values) != values:
            sender, scope = client.party, phase.memo_scope
            return self._drop(
                client, conflicting_report(sender=sender, phase=phase.name, state=client.state, scope=scope)
            )
        phase_reports.count(client, payload)
        effects: list[Effect] = []
        if self._is_durable:
            effects = [Keep(Accepted(message.step, client.place, payload)), *self._acknowledge(client)]
        return effects if self._clients.num_awaited else effects + self._flow.close_if_complete()

    def _on_abort(self, client: ClientState, message: Abort) -> list[Effect]:
        error = message.error_from(client.party)
        self._flow.note_drop(error)
        client.reason = (error.reason if isinstance(error, SessionAborted) else str(error)) or "it gives no reason"
        return [*self._note_attendance(client, Presence.LEFT), *self._on_departure(client)]

    def _note_attendance(self, client: ClientState, presence: Presence) -> list[Effect]:
        return [] if self._hides_participation else [Attended(client.party, presence, client.reason)]

    def _on_departure(self, client: ClientState) -> list[Effect]:
        self._clients.leave(client)
        return self._flow.close_if_complete()

    def _drop(self, client: ClientState, error: RemoteProtocolError) -> list[Effect]:
        """End one client's row for its own fault."""
        self._flow.note_drop(error)
        effects: list[Effect] = [self._send(client, Abort.from_error(error)), Drop(client.party, error)]
        return effects + self._on_departure(client)

    def _send(self, client: ClientState, message: Message) -> Send:
        return send((client.party,), message, view=self._view)

    def _unexpected_error(self, client: ClientState, message: Message) -> UnexpectedMessageError:
        phase = self._flow.wait.name
        return unexpected_message(message, sender=client.party, side=Side.SERVER, state=client.state, phase=phase)
