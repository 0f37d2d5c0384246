"""The client's machine: one party's side of a session, without I/O.

It takes the server's messages and returns effects. It never waits. It draws each report once, from a noise source that
it is given, and only after the loss is charged (`answers`). Terms that the party did not agree to are refused before
any budget is reserved (`agreement`). A second request for the same step is a fault. So is a release before the last
request, since that would let a server forge the end of a session; only a client whose report came too late gets the
release earlier, marked as such.

A durable machine writes records of what it has reserved, drawn and charged, before anything becomes visible outside.
After a restart or a lost connection it is made again from these records (`replay`). It then joins again, and does not
draw again for steps that it has answered.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from .agreement import Agreement
from .answers import PartyAnswers
from .effects import Charged, Effect, Fail, Finish, Keep, Send, send
from .errors import (
    BrokenHandshakeError,
    ConfigurationError,
    ConnectionLostError,
    JournalError,
    LocalProtocolError,
    MalformedMessageError,
    PrivacyError,
    ProtocolError,
    RemoteProtocolError,
    UnexpectedMessageError,
    require,
)
from .faults import unexpected_message
from .masked_sessions import PartyMasking
from .messages import (
    NIL,
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
    decode,
    decode_payload,
    encode,
)
from .phases import Phase, PhasedProtocol
from .privacy import LedgerEntry, PrivacyLoss, Reservation
from .records import Acknowledged, ClientRecord, Drawn, Reserved, SessionEnded
from .replay import replay_client
from .roles import SERVER, Side
from .sides import Party, SessionMode
from .states import CONVERSATION, Move, Position, State
from .transcript import Transcript
from .views import Happening, View, check_view

_TABLE = CONVERSATION[Side.CLIENT]
_TO_SERVER = (SERVER,)


class ClientMachine:
    """One party's side of a session.

    Args:
        view: records what the party sees; simulations only.
        records: the party's records of this session; None if it keeps none. With records, the ledger must already hold
            the losses of the reports in them.

    Raises:
        ConfigurationError: the noise source cannot sample a mechanism; the view is of another kind than the noise;
            there are records, but the session has no id; the party's choice is missing, or no public row has it; or a
            memoized report is of another scope, law or value.
        JournalError: the records are of another party, session or protocol, or contain another choice.
        ValueError: a value is out of its mechanism's range.

    Privacy:
        Whatever the server sends, the client never draws or charges more than the losses of `protocol` for the public
        row. It draws nothing before the ledger has reserved all of them, and nothing if the protocol states a smaller
        loss than it draws. With records this holds across restarts: a session has one report per step, however often
        the party joins.

    Examples:
        >>> from psephos.protocol import SimulatedNoise
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("tea",)))
        >>> mode = SessionMode("council", SimulatedNoise(1, session="council"))
        >>> client = ClientMachine(vote, Party("ann", 0, [0, 1]), mode)
        >>> [type(effect.message).__name__ for effect in client.start()]
        ['Hello']
    """

    __slots__ = (
        "_agreement",
        "_answers",
        "_end_record",
        "_has_reserved",
        "_is_durable",
        "_late_phase",
        "_masking",
        "_mode",
        "_num_steps",
        "_party",
        "_position",
        "_protocol",
        "_public_row",
        "_receipts",
        "_reservation",
        "_transcript",
        "_view",
    )

    def __init__(
        self,
        protocol: PhasedProtocol[Any, Any],
        party: Party,
        mode: SessionMode,
        *,
        view: View | None = None,
        records: Sequence[ClientRecord] | None = None,
    ) -> None:
        self._protocol = protocol
        self._num_steps = len(protocol.steps)
        self._party = party
        self._mode = mode
        self._public_row = party.public
        self._agreement = Agreement(protocol, party, mode.descriptor)
        kind = mode.kind
        if view is not None:
            check_view(view, kind)
        self._view = view
        self._reservation: Reservation | None = None
        self._position = Position(_TABLE, State.NEW)
        self._late_phase: str | None = None
        self._transcript = Transcript(
            session=mode.session, protocol=protocol.name, kind=kind._value_, num_steps=protocol.num_public_steps
        )
        self._is_durable = records is not None
        masked = protocol.masked_phase
        self._masking: PartyMasking | None = None
        if masked is not None:
            self._masking = PartyMasking(protocol, masked, party, mode, is_kept=self._is_durable)
        self._answers = PartyAnswers(protocol, party, mode.noise, self._masking)
        self._receipts: dict[int, bytes] = {}
        self._has_reserved = False  # true if the records hold a reservation
        self._end_record: SessionEnded | None = None
        if records is not None:
            require(mode.descriptor.id, "descriptor", mode.descriptor, "with an id where records are kept")
            chosen = self._agreement.chosen
            past = replay_client(records, protocol, party=party.name, session=mode.session, chosen=chosen)
            self._answers.exchanges.extend(past.answered)
            self._receipts.update(past.acknowledged)
            self._has_reserved, self._end_record = past.has_reserved, past.release_record
            if self._masking is not None and past.release_record is None:
                self._masking.restore(past.answered, past.sealed)

    @property
    def state(self) -> State:
        """The conversation's state."""
        return self._position.state

    @property
    def party(self) -> str:
        """The party's name."""
        return self._party.name

    @property
    def transcript(self) -> str | None:
        """The digest of what the server told everybody, once it was released; see `transcript`."""
        return self._transcript.digest if self._end_record is None else self._end_record.transcript or None

    @property
    def recorded_finish(self) -> Finish | None:
        """The release in the records; None if there is none.

        Raises:
            JournalError: the record of the release cannot be decoded.
        """
        if self._end_record is None:
            return None
        try:
            release = decode(self._end_record.release)
            if isinstance(release, Release):
                return self._read(release)
        except MalformedMessageError:
            pass
        raise JournalError("holds something else where a release was kept")

    @property
    def has_agreed(self) -> bool:
        """Whether the server has said its terms, and they are those agreed to."""
        return self._reservation is not None

    @property
    def memoized_reports(self) -> Mapping[str, tuple[int, ...]]:
        """The reports of memoized phases, which the party's later sessions repeat."""
        return self._answers.memoized_reports

    def losses_to_come(self, public: Sequence[int]) -> list[tuple[Phase, PrivacyLoss]]:
        """Return the losses of the phases that are still to be drawn, each with its phase."""
        return self._answers.losses_to_come(public)

    @property
    def late_phase(self) -> str | None:
        """The step that closed without its report, as the release said; None where all of them counted."""
        return self._late_phase

    def start(self) -> list[Effect]:
        """Say Hello; LocalProtocolError the second time."""
        if self._position.state is not State.NEW:
            raise LocalProtocolError("a machine starts once", role="client", state=self.state.value)
        hello = Hello.make(
            self._protocol,
            self._party.name,
            session=self._mode.session,
            kind=self._mode.kind,
            descriptor=self._mode.descriptor,
            chosen=self._agreement.chosen,
        )
        if self._answers.exchanges or self._receipts:
            last = max(self._receipts, default=-1)
            acknowledgement = None if last < 0 else Acknowledgement(last, self._receipts[last])
            hello = msgspec.structs.replace(hello, num_reports=len(self._answers.exchanges), shown=acknowledgement)
        self._position.move(Move.HELLO)
        return [self._send(hello)]

    def receive(self, sender: str, message: Message) -> list[Effect]:
        """Take one message from the server.

        A fault of the server ends the session with `Fail`; nothing is raised. Messages that arrive after the end are
        ignored.
        """
        if not self._position.moves:
            return []
        if self._view is not None:
            self._view.record(Happening.RECEIVED, sender, message)
        match message:
            case Request():
                return self._on_request(message)
            case Welcome():
                return self._on_welcome(message)
            case Release():
                return self._on_release(message)
            case Acknowledgement():
                return self._on_acknowledgement(message)
            case Abort():
                self._close(Move.BREAK)
                error = message.error_from(SERVER)
                return [*self._leave_effects(str(error)), Fail(error)]
            case Hello() | Report() | Inquiry() | Terms():
                return self._blame(self._unexpected_error(message))

    def receive_loss(self, sender: str) -> list[Effect]:
        """Take note that the connection is gone."""
        if not self._position.moves:
            return []
        if self._view is not None:
            self._view.record(Happening.LOST, sender)
        self._close(Move.BREAK)
        # This is not recorded: a durable party may return, and its budget stays reserved.
        return [Fail(ConnectionLostError(reason="the connection was lost before the release", by=SERVER))]

    def receive_silence(self, sender: str, seconds: float) -> list[Effect]:
        """Take note that the server was silent for this many seconds, which is its fault.

        If it has not even answered the Hello, a durable party treats this as a lost connection, and may try again.
        """
        if self._is_durable and self.state is State.GREETED:
            self._close(Move.BREAK)
            return [Fail(ConnectionLostError(reason=f"it has said nothing for {seconds:g} seconds", by=SERVER))]
        error = RemoteProtocolError(f"{sender} has said nothing for {seconds:g} seconds", sender=sender, role="client")
        return self.receive_fault(sender, error, is_silence=True)

    def receive_fault(self, sender: str, error: RemoteProtocolError, *, is_silence: bool = False) -> list[Effect]:
        """Take note that the server sent bytes that are no message, or nothing.

        A handshake that broke off is not the server's fault: it counts as a lost connection.
        """
        if not self._position.moves:
            return []
        if self._view is not None:
            self._view.record(Happening.FAULT, sender, reason=str(error))
        if isinstance(error, BrokenHandshakeError):
            self._close(Move.BREAK)
            return [Fail(ConnectionLostError(reason=str(error), by=SERVER))]
        return self._blame(error, is_silence=is_silence)

    def _on_welcome(self, message: Welcome) -> list[Effect]:
        if Move.WELCOME not in self._position.moves:
            return self._blame(self._unexpected_error(message))
        try:
            public = self._public_row = self._agreement.check(message)
        except RemoteProtocolError as error:
            return self._blame(error)
        try:
            self._protocol.check_losses(public, self._party.row)
            losses = self._answers.losses_to_come(public)
            self._reservation = self._party.ledger.reserve([loss for _, loss in losses])
        except ConfigurationError as error:
            return self._leave(error, "the party's protocol states a loss that is not what it draws")
        except PrivacyError as error:
            return self._leave(error, "the party's privacy budget does not allow it")
        self._transcript.add(message)
        self._position.move(Move.WELCOME)
        for request, _ in filter(None, self._answers.exchanges):
            if not self._protocol.steps[request.step].is_in_dispute:
                self._transcript.add(request)
        if self._answers.exchanges:  # reports of an earlier conversation
            self._position.move(Move.REQUEST)
            self._position.move(Move.REPORT)
        if not self._is_durable or self._has_reserved or self._answers.is_complete:
            return []  # a party that returns for the release pays nothing
        entries = tuple(
            LedgerEntry.from_loss(loss, person=self._party.ledger.person, session=self._mode.session, phase=phase.name)
            for phase, loss in losses
        )
        reserved = Reserved(
            party=self._party.name,
            session=self._mode.session,
            protocol=self._protocol.name,
            expires=self._mode.descriptor.expires,
            entries=entries,
            chosen=self._agreement.chosen,
            terms=self._protocol.terms,
        )
        return [Keep(reserved)]

    def _on_request(self, message: Request) -> list[Effect]:
        position, exchanges = self._position, self._answers.exchanges
        moves, number = position.moves, len(exchanges)
        last = exchanges[-1] if exchanges else None
        if last is not None and message.step == number - 1 and Move.REPORT in moves:
            request, report = last
            if message != request:
                return self._blame(self._unexpected_error(message, "another "))
            position.move(Move.REPORT)
            return [self._send(report)]
        is_next = message.step == number < self._num_steps or self._answers.skips_to(message.step)
        if Move.REQUEST not in moves or not is_next:
            return self._blame(self._unexpected_error(message))
        if self._reservation is None or self._public_row is None:
            raise LocalProtocolError("a phase was requested before its loss was reserved", role="client")
        try:
            self._check_payload(message)
        except MalformedMessageError as error:
            return self._blame(error)
        if self._masking is None or not self._protocol.steps[message.step].is_in_dispute:  # only some clients get these
            self._transcript.add(message)
        position.move(Move.REQUEST)
        try:
            report, charges = self._answers.answer(
                message, self._public_row, self._reservation, session=self._mode.session
            )
        except RemoteProtocolError as error:
            return self._blame(error)
        position.move(Move.REPORT)
        sent = Send(_TO_SERVER, report) if self._view is None else self._send(report)
        effects: list[Effect] = [*map(Charged, charges), sent]
        if self._is_durable:
            draw_record = Drawn(
                step=message.step,
                request=encode(message),
                report=encode(report),
                entries=tuple(charge.entry for charge in charges),
                kept=self._answers.memo(message.step),
                sealed=self._masking.sealed if self._masking is not None and not message.step else b"",
            )
            effects.insert(0, Keep(draw_record))
        return effects

    def _check_payload(self, request: Request) -> None:
        """Raise MalformedMessageError if a request's payload is not the outcome that the step before it declares.

        The masking code reads the payloads of a masked phase.
        """
        if self._masking is not None:
            return
        decoder = None if not request.step else self._protocol.steps[request.step - 1].phase.outcome_decoder
        if decoder is None and request.payload == NIL == request.own:
            return
        problem = f"{SERVER}'s request of phase {request.step} carries what nobody announces"
        if decoder is not None:
            decode_payload(request.payload, decoder.decode, sender=SERVER, problem=problem)
        if request.own != NIL or (decoder is None and request.payload != NIL):
            raise MalformedMessageError(problem, sender=SERVER, role="client", message_type="Request")

    def _on_acknowledgement(self, message: Acknowledgement) -> list[Effect]:
        is_new, moves = message.step >= len(self._answers.exchanges), self._position.moves
        if is_new and Move.REQUEST in moves and self._answers.repeats(message.step):
            return []  # the server has the report too, from an earlier session
        scope = None if message.step >= self._num_steps else self._protocol.steps[message.step].phase.memo_scope
        if is_new and scope is not None and Move.WELCOME not in moves:
            # Somebody else has reported in the party's name, and this side could only draw again.
            scope_text = f"{scope}, from this session or an earlier one"
            reason = f"does not know a report that {SERVER} has from {self._party.name} in {scope_text}"
            return self._leave(JournalError(f"{reason}; nothing was drawn"), "the party's journal lacks its own report")
        if is_new and Move.WELCOME not in moves:
            # The Hello gives the party's number of reports, and an honest server that has more refuses it.
            reason = f"{SERVER} says that it has a report of phase {message.step}, which was never sent"
            state = self.state.value
            return self._blame(
                UnexpectedMessageError(
                    reason, sender=SERVER, role="client", state=state, message_type="Acknowledgement"
                )
            )
        if Move.ACKNOWLEDGE not in moves:
            return self._blame(self._unexpected_error(message))
        self._position.move(Move.ACKNOWLEDGE)
        if message.step in self._receipts:
            return []
        self._receipts[message.step] = message.receipt
        return [Keep(Acknowledged(message.step, receipt=message.receipt))] if self._is_durable else []

    def _on_release(self, message: Release) -> list[Effect]:
        if Move.RELEASE not in self._position.moves:
            return self._blame(self._unexpected_error(message))
        if len(self._answers.exchanges) < self._num_steps and not self._answers.is_complete and not message.is_late:
            return self._blame(self._unexpected_error(message, "too early a "))
        try:
            ending = self._read(message)
        except MalformedMessageError as error:
            error.role, error.state, error.message_type = "client", self.state.value, "Release"
            return self._blame(error)
        self._transcript.add(message)
        self._close(Move.RELEASE)
        # A server with a journal waits until all parties have acknowledged the release.
        acknowledgements = [self._send(Acknowledgement(self._num_steps))] if self._receipts or self._is_durable else []
        end_record = (
            SessionEnded(release=encode(message), transcript=self._transcript.digest or "")
            if self._is_durable
            else None
        )
        return [*([] if end_record is None else [Keep(end_record)]), *acknowledgements, ending]

    def _read(self, release: Release) -> Finish:
        """Decode a release, and note whether a report came too late.

        Raises:
            MalformedMessageError: its payload is not of the declared type.
        """
        decode_all, decode_own = self._protocol.outcome_decoder.decode, self._protocol.own_outcome_decoder.decode
        problem = f"{SERVER}'s release is no {self._protocol.outcome_type.__name__}"
        outcome = decode_payload(release.payload, decode_all, sender=SERVER, problem=problem)
        own_outcome: msgspec.Struct | None = None
        if release.own != NIL:
            problem = f"what {SERVER}'s release tells {self._party.name} alone is not what the protocol declares"
            own_outcome = decode_payload(release.own, decode_own, sender=SERVER, problem=problem)
        if release.is_late:
            last = len(self._answers.exchanges) - 1
            missed = last + (last in self._receipts and last + 1 < self._num_steps)
            self._late_phase = self._protocol.steps[missed].name
        return Finish(outcome, own_outcome)

    def _leave_effects(self, reason: str, *, is_final: bool = False) -> list[Effect]:
        return [Keep(SessionEnded(reason, is_final=is_final))] if self._is_durable else []

    def _send(self, message: Message) -> Send:
        return send(_TO_SERVER, message, view=self._view)

    def _close(self, move: Move) -> None:
        """Make the last move: what the session did not need of the ledger is others' again."""
        self._position.move(move)
        if self._reservation is not None:
            self._reservation.release()

    def _blame(self, error: ProtocolError, *, is_silence: bool = False) -> list[Effect]:
        """End the session because of the server's fault, and tell the server.

        A masked session then ends for good, once its terms are agreed on: another attempt might reveal what this
        attempt of the server has not.
        """
        self._close(Move.BREAK)
        is_final = self._masking is not None and self.has_agreed and not is_silence
        return [*self._leave_effects(str(error), is_final=is_final), self._send(Abort.from_error(error)), Fail(error)]

    def _leave(self, error: PrivacyError | ConfigurationError | JournalError, reason: str) -> list[Effect]:
        """End the session for a reason of this side. The server learns the reason, but no number of the ledger."""
        self._close(Move.BREAK)
        return [*self._leave_effects(str(error)), self._send(Abort(reason=reason)), Fail(error)]

    def _unexpected_error(self, message: Message, article: str = "a ") -> UnexpectedMessageError:
        return unexpected_message(message, sender=SERVER, side=Side.CLIENT, state=self.state, article=article)
