"""The client's machine: one party's side of a session, without I/O.

It takes the server's messages and returns effects. It never waits and never draws by itself: a noise source is
given to it, and it asks that source for each report once, after the loss was charged (`answers`). What was not agreed
to is refused before anything is reserved (`agreement`). Another request for the same step is a fault, and so is a
release before the last request: nobody forges the end of a session that was not held. Only who was late is released
earlier, is told so, and says so.

A machine that is durable asks, before anything shows outside, to keep what it has reserved, drawn and charged. It is
made again from these records after a restart or a lost connection (`replay`). Then it joins as if anew, and the steps
that it has answered stay answered.
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
        records: what the party has kept of this session, if it keeps records; None if it does not. Its ledger holds
            the losses of what was drawn.

    Raises:
        ConfigurationError: the noise source cannot sample a mechanism, the view is of another kind than the noise,
            there are records and no id of the session that they are of, what the party chooses is missing, or no
            public row has it, or a kept report is of another scope, law or value.
        JournalError: the records are not of this party, session and protocol, or the party chose otherwise before.
        ValueError: a value is out of its mechanism's range.

    Privacy:
        Whatever the server sends, no more than the losses of `protocol` for the public row is ever charged or drawn,
        and nothing before the ledger has reserved room for all of it, or if what is stated is less than what is drawn.
        With records this holds over restarts as well: a session has one report a step, however often it is joined.

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
        self._has_reserved = False  # on record, by an earlier conversation
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
        """The release that was heard before, as it is kept; None where none was.

        Raises:
            JournalError: something else stands where it was kept.
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

        A fault of the server ends the session (`Fail`) rather than raising; messages that arrive after the
        end are ignored, since they were on their way.
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
        # Nothing is kept of it: a durable party may come back, and its room on the ledger waits for it.
        return [Fail(ConnectionLostError(reason="the connection was lost before the release", by=SERVER))]

    def receive_silence(self, sender: str, seconds: float) -> list[Effect]:
        """Take note that the server has said nothing for so long.

        That is its fault. Where it has not even answered the Hello, a durable party takes it for a lost connection, and
        may try another one.
        """
        if self._is_durable and self.state is State.GREETED:
            self._close(Move.BREAK)
            return [Fail(ConnectionLostError(reason=f"it has said nothing for {seconds:g} seconds", by=SERVER))]
        error = RemoteProtocolError(f"{sender} has said nothing for {seconds:g} seconds", sender=sender, role="client")
        return self.receive_fault(sender, error, is_silence=True)

    def receive_fault(self, sender: str, error: RemoteProtocolError, *, is_silence: bool = False) -> list[Effect]:
        """Take note that the server sent bytes that are no message, or nothing.

        A handshake that broke off is nobody's fault: the connection is lost, as any other may be.
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
        if self._answers.exchanges:  # in an earlier conversation; in this one it has nothing to answer yet
            self._position.move(Move.REQUEST)
            self._position.move(Move.REPORT)
        if not self._is_durable or self._has_reserved or self._answers.is_complete:
            return []  # who comes back for the release pays nothing
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
        if self._masking is None or not self._protocol.steps[message.step].is_in_dispute:  # that is for some alone
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
        """Raise MalformedMessageError if a request carries anything but what the step before it announces.

        What those of a masked phase carry is read by the party's part of it.
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
            # Somebody has reported in the party's name, and from here it could only draw again.
            scope_text = f"{scope}, from this session or an earlier one"
            reason = f"does not know a report that {SERVER} has from {self._party.name} in {scope_text}"
            return self._leave(JournalError(f"{reason}; nothing was drawn"), "the party's journal lacks its own report")
        if is_new and Move.WELCOME not in moves:
            # The Hello said how many reports there are: a server that has more lets nobody in.
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
        # A server that keeps a journal stays until it knows that all have heard.
        acknowledgements = [self._send(Acknowledgement(self._num_steps))] if self._receipts or self._is_durable else []
        end_record = (
            SessionEnded(release=encode(message), transcript=self._transcript.digest or "")
            if self._is_durable
            else None
        )
        return [*([] if end_record is None else [Keep(end_record)]), *acknowledgements, ending]

    def _read(self, release: Release) -> Finish:
        """Decode a release, and take note of a report that came too late.

        Raises:
            MalformedMessageError: it is not what the protocol declares.
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
        """End the session because the server erred; tell it so.

        A masked one ends for good, once terms are agreed to: what a lie has not opened another one might.
        """
        self._close(Move.BREAK)
        is_final = self._masking is not None and self.has_agreed and not is_silence
        return [*self._leave_effects(str(error), is_final=is_final), self._send(Abort.from_error(error)), Fail(error)]

    def _leave(self, error: PrivacyError | ConfigurationError | JournalError, reason: str) -> list[Effect]:
        """End the session on this side's own account. The server learns the reason, and no number of the ledger's."""
        self._close(Move.BREAK)
        return [*self._leave_effects(str(error)), self._send(Abort(reason=reason)), Fail(error)]

    def _unexpected_error(self, message: Message, article: str = "a ") -> UnexpectedMessageError:
        return unexpected_message(message, sender=SERVER, side=Side.CLIENT, state=self.state, article=article)
