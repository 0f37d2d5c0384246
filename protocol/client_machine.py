"""The client's machine: one party's side of a session, without I/O.

It takes the server's messages and returns effects. It never waits and never draws by itself: a noise source is
given to it, and it asks that source for each report once, after the loss was charged. The same request again gets
the same bytes again, since a second draw would let an averaging attack in; another request for the same phase is a
fault, and so are parameters that are not those agreed to, and a release before the last request: nobody forges the end
of a session that was not held. Only who was late is released earlier, is told so, and says so. A report that is kept
from an earlier session (`kept`) is repeated, and neither drawn nor charged.

A machine that is durable asks, before anything shows outside, to keep what it has reserved, drawn and charged. It is
made again from these records after a restart or a lost connection. Then it joins as if anew, and the phases that it has
answered stay answered.
"""

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from .effects import Charged, Effect, Fail, Finish, Keep, Send
from .errors import (
    ConfigurationError,
    ConnectionLostError,
    JournalError,
    LocalProtocolError,
    MalformedMessageError,
    PrivacyError,
    ProtocolError,
    PsephosError,
    QuorumError,
    RemoteProtocolError,
    SessionAborted,
    UnexpectedMessageError,
    quote,
)
from .kept import KeptReport, check_kept_names, check_values, has_changed, seal_of
from .messages import (
    NO_CHARTER,
    PROTOCOL_VERSION,
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
    decode,
    decode_payload,
    encode,
)
from .phases import Phase, PhasedProtocol
from .privacy import Ledger, LedgerEntry, PrivacyLoss, Reservation
from .randomness import NoiseSource
from .records import Acknowledged, ClientRecord, Drawn, Left, Remembered, Reserved
from .roles import Side, check_party_name
from .states import CONVERSATION, Move, State
from .transcript import Transcript
from .views import Happening, View

__all__ = ["ClientMachine"]

_TABLE = CONVERSATION[Side.CLIENT]
_PLAIN = msgspec.msgpack.Decoder(dict[str, object])


class ClientMachine:
    """One party's side of a session.

    Args:
        protocol: the protocol with the parameters that the party agreed to.
        party: the party's name.
        place: its place in the roster, from 0; addresses simulated noise.
        row: its private row.
        session: the session's name.
        noise: where its reports' randomness comes from; its kind is the session's kind.
        ledger: where its losses are charged.
        public: its public row; without one, what the server says is taken where it fits the private row, which is right
            where a private row means the same whatever the public one is. What the protocol leaves the party to choose
            of it, at its end, leaves with the Hello.
        server: what to call the server in effects and errors.
        charter: what makes the session this one, as far as the party agreed to it beforehand.
        view: records what the party sees; simulations only.
        records: what the party has kept of this session, if it keeps records; None if it does not. Its ledger holds
            the losses of what was drawn.
        kept: its reports of earlier sessions, by the names of phases that keep theirs.
        secret: tells a party that comes back to a scope whether its values are still the same; from nobody else.

    Raises:
        ConfigurationError: the party's name cannot name a party, the noise source cannot sample a mechanism, the
            view is of another kind than the noise, there are records and no id of the session that they are of, what
            the party chooses is missing, or no public row has it, or a kept report is of another scope, law or value.
        JournalError: the records are not of this party, session and protocol, or the party chose otherwise before.
        ValueError: a value is out of its mechanism's range.
        TypeError: a value is no integer.

    Privacy:
        Whatever the server sends, no more than the losses of `protocol` for the public row is ever charged or drawn,
        and nothing before the ledger has reserved room for all of it, or if what is stated is less than what is drawn.
        With records this holds over restarts as well: a session has one report a phase, however often it is joined.
    """

    __slots__ = (
        "_acknowledged",
        "_answered",
        "_charter",
        "_chosen",
        "_has_reserved",
        "_is_durable",
        "_kept",
        "_late_phase",
        "_ledger",
        "_noise",
        "_party",
        "_place",
        "_protocol",
        "_public",
        "_reservation",
        "_row",
        "_secret",
        "_server",
        "_session",
        "_state",
        "_transcript",
        "_view",
    )

    def __init__(
        self,
        protocol: PhasedProtocol[Any, Any],
        *,
        party: str,
        place: int,
        row: Sequence[int],
        session: str,
        noise: NoiseSource,
        ledger: Ledger,
        public: Sequence[int] | None = None,
        server: str = "server",
        charter: Charter = NO_CHARTER,
        view: View | None = None,
        records: Sequence[ClientRecord] | None = None,
        kept: Mapping[str, KeptReport] | None = None,
        secret: bytes = b"",
    ) -> None:
        self._protocol = protocol
        self._party = check_party_name(party)
        self._place = place
        # Integers and nothing else: a float would leave with its low bits in clear, and numpy's own do not encode.
        self._row = tuple(map(operator.index, row))
        self._public = None if public is None else tuple(map(operator.index, public))
        self._chosen = self._choice_in(self._public)
        self._session = session
        self._noise = noise
        self._ledger = ledger
        self._server = server
        self._charter = charter
        self._view = view
        if view is not None and view.kind is not noise.kind:
            raise ConfigurationError(field="view", value=view.kind.value, allowed=f"of a {noise.kind.value}")
        self._reservation: Reservation | None = None
        self._state = State.NEW
        self._answered: list[tuple[Request, Report]] = []
        self._acknowledged: set[int] = set()
        self._has_reserved = False  # on record, by an earlier conversation
        self._late_phase: str | None = None
        self._transcript = Transcript(
            session=session, protocol=protocol.name, kind=noise.kind.value, num_phases=len(protocol.phases)
        )
        for phase in protocol.phases:
            noise.check(phase.mechanism)
            low, high = phase.mechanism.value_range
            values = self._row[phase.columns]
            if len(values) != phase.num_values or not all(low <= value <= high for value in values):
                # The values are private: the message says what is allowed and not what was given.
                raise ValueError(f"{party}: phase {phase.name!r} takes {phase.num_values} values in [{low}, {high}]")
        self._secret = secret
        self._kept = self._check_kept(kept or {})
        self._is_durable = records is not None
        if records is not None:
            if not charter.id:
                raise ConfigurationError(field="charter", value=charter, allowed="with an id where records are kept")
            self._restore(records)

    @property
    def state(self) -> State:
        """Where the conversation stands."""
        return self._state

    @property
    def party(self) -> str:
        """The party's name."""
        return self._party

    @property
    def transcript(self) -> str | None:
        """The digest of what the server told everybody, once it was released; see `transcript`."""
        return self._transcript.digest

    @property
    def has_agreed(self) -> bool:
        """Whether the server has said its terms, and they are those agreed to."""
        return self._reservation is not None

    @property
    def num_answered(self) -> int:
        """How many phases have their report, which is not drawn again."""
        return len(self._answered)

    @property
    def kept(self) -> Mapping[str, tuple[int, ...]]:
        """What the session leaves to later ones: the reports that it has of phases which keep theirs."""
        answered = zip(self._protocol.phases, self._answered, strict=False)
        return {
            phase.name: phase.decoder.decode(bytes(report.payload))
            for phase, (_, report) in answered
            if phase.kept is not None
        }

    def losses_to_come(self, public: Sequence[int]) -> list[tuple[Phase, PrivacyLoss]]:
        """Return what the session costs from here on: the losses of phases to be drawn, each with its phase.

        Args:
            public: the party's public row.
        """
        to_draw = (phase for phase in self._protocol.phases[len(self._answered) :] if phase.name not in self._kept)
        return [(phase, loss) for phase in to_draw for loss in phase.losses_of(public)]

    @property
    def late_phase(self) -> str | None:
        """The phase for which the report came too late, as the release said; None where all of them counted."""
        return self._late_phase

    def start(self) -> list[Effect]:
        """Say Hello.

        Raises:
            LocalProtocolError: the machine was started before.
        """
        if self._state is not State.NEW:
            raise LocalProtocolError("a machine starts once", role="client", state=self._state.value)
        hello = Hello(
            version=PROTOCOL_VERSION,
            session=self._session,
            protocol=self._protocol.name,
            kind=self._noise.kind.value,
            party=self._party,
            session_id=self._charter.id,
            chosen=self._chosen,
        )
        self._move(Move.HELLO)
        return [self._send(hello)]

    def receive(self, sender: str, message: Message) -> list[Effect]:
        """Take one message from the server.

        A fault of the server ends the session (`Fail`) rather than raising; messages that arrive after the
        end are ignored, since they were on their way.
        """
        if not _TABLE[self._state]:
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
                return self._end(self._ending(message))
            case Hello() | Report() | Inquiry() | Terms():
                return self._blame(self._unexpected(message))

    def receive_loss(self, sender: str) -> list[Effect]:
        """Take note that the connection is gone."""
        if not _TABLE[self._state]:
            return []
        if self._view is not None:
            self._view.record(Happening.LOST, sender)
        self._move(Move.BREAK)
        # Nothing is kept of it: a durable party may come back, and its room on the ledger waits for it.
        return [Fail(ConnectionLostError(reason="the connection was lost before the release", by=self._server))]

    def receive_silence(self, sender: str, seconds: float) -> list[Effect]:
        """Take note that the server has said nothing for so long.

        That is its fault. Where it has not even answered the Hello, a durable party takes it for a lost connection, and
        may try another one.
        """
        if self._is_durable and self._state is State.GREETED:
            self._move(Move.BREAK)
            return [Fail(ConnectionLostError(reason=f"it has said nothing for {seconds:g} seconds", by=self._server))]
        error = RemoteProtocolError(f"{sender} has said nothing for {seconds:g} seconds", sender=sender, role="client")
        return self.receive_fault(sender, error)

    def receive_fault(self, sender: str, error: RemoteProtocolError) -> list[Effect]:
        """Take note that the server sent bytes that are no message."""
        if not _TABLE[self._state]:
            return []
        if self._view is not None:
            self._view.record(Happening.FAULT, sender, reason=str(error))
        return self._blame(error)

    def _on_welcome(self, message: Welcome) -> list[Effect]:
        if Move.WELCOME not in _TABLE[self._state]:
            return self._blame(self._unexpected(message))
        if message.version != PROTOCOL_VERSION:
            reason = f"{self._server} speaks version {message.version}, this side {PROTOCOL_VERSION}"
            return self._blame(RemoteProtocolError(reason, sender=self._server, role="client"))
        if bytes(message.parameters) != bytes(self._protocol.encoded_parameters):
            reason = f"{self._server}'s parameters are not those agreed to: {self._difference(message.parameters)}"
            return self._blame(RemoteProtocolError(reason, sender=self._server, role="client"))
        if not self._charter.agrees_with(message.charter):
            reason = f"{self._server}'s session is another one than was agreed to: {self._strangeness(message.charter)}"
            return self._blame(RemoteProtocolError(reason, sender=self._server, role="client"))
        if self._public is None:
            self._public = message.public
        if message.public != self._public:
            reason = f"{self._server}'s public row for {self._party} is not the one agreed to"
            return self._blame(RemoteProtocolError(reason, sender=self._server, role="client"))
        try:
            self._protocol.check_public(self._public)
            self._protocol.check_row(self._row, self._public)
            self._check_values(self._public)
        except ConfigurationError as error:
            reason = f"{self._server}'s public row for {self._party} is none: {error}"
            return self._blame(RemoteProtocolError(reason, sender=self._server, role="client"))
        except ValueError:
            # Why not is the party's own business: which places of its private row are filled.
            reason = f"{self._server}'s public row does not fit {self._party}'s own values"
            return self._blame(RemoteProtocolError(reason, sender=self._server, role="client"))
        try:
            self._protocol.check_losses(self._public)
            losses = self.losses_to_come(self._public)
            self._reservation = self._ledger.reserve(loss for _, loss in losses)
        except ConfigurationError as error:
            return self._leave(error, "the party's protocol states a loss that is not what it draws")
        except PrivacyError as error:
            return self._leave(error, "the party's privacy budget does not allow it")
        self._transcript.add(message)
        self._move(Move.WELCOME)
        for request, _ in self._answered:
            self._transcript.add(request)
        if self._answered:  # in an earlier conversation; in this one it has nothing to answer yet
            self._move(Move.REQUEST)
            self._move(Move.REPORT)
        is_done = len(self._answered) == len(self._protocol.phases)
        if not self._is_durable or self._has_reserved or is_done:  # who comes back for the release pays nothing
            return []
        entries = tuple(
            LedgerEntry.of(loss, person=self._ledger.person, session=self._session, phase=phase.name)
            for phase, loss in losses
        )
        return [
            Keep(
                Reserved(
                    party=self._party,
                    session=self._session,
                    protocol=self._protocol.name,
                    expires=self._charter.expires,
                    entries=entries,
                    chosen=self._chosen,
                )
            )
        ]

    def _on_request(self, message: Request) -> list[Effect]:
        if 0 <= message.phase == len(self._answered) - 1 and Move.REPORT in _TABLE[self._state]:
            request, report = self._answered[message.phase]
            if message != request:
                return self._blame(self._unexpected(message, "another "))
            self._move(Move.REPORT)
            return [self._send(report)]
        if Move.REQUEST not in _TABLE[self._state] or message.phase != len(self._answered):
            return self._blame(self._unexpected(message))
        if message.phase >= len(self._protocol.phases):
            return self._blame(self._unexpected(message))
        if self._reservation is None or self._public is None:
            raise LocalProtocolError("a phase was requested before its loss was reserved", role="client")
        phase = self._protocol.phases[message.phase]
        self._transcript.add(message)
        self._move(Move.REQUEST)
        charges: list[Charged] = []
        if (earlier := self._kept.get(phase.name)) is None:
            charge = self._reservation.charge
            losses = phase.losses_of(self._public)
            charges = [Charged(charge(loss, session=self._session, phase=phase.name)) for loss in losses]
            values = self._noise.randomize(
                phase.mechanism_of(self._public),
                self._row[phase.columns],
                protocol=self._protocol.name,
                phase=phase.name,
                place=self._place,
            )
        else:
            values = earlier.report
        report = Report(message.phase, _encoded(phase, values))
        self._answered.append((message, report))
        self._move(Move.REPORT)
        effects: list[Effect] = [*charges]
        if self._is_durable:
            drawn = Drawn(
                phase=message.phase,
                request=encode(message),
                report=encode(report),
                entries=tuple(each.charge.entry for each in charges),
                kept=self._remembered(phase),
            )
            effects.insert(0, Keep(drawn))
        effects.append(self._send(report))
        return effects

    def _on_acknowledgement(self, message: Acknowledgement) -> list[Effect]:
        if self._keeps(message.phase) and message.phase >= len(self._answered) and Move.REQUEST in _TABLE[self._state]:
            return []  # the server has the report too, from an earlier session
        if message.phase >= len(self._answered) and Move.WELCOME not in _TABLE[self._state]:
            # Somebody has reported in the party's name, and from here it could only draw again.
            scope = None if message.phase >= len(self._protocol.phases) else self._protocol.phases[message.phase].kept
            where = "this session" if scope is None else f"{scope}, from this session or an earlier one"
            reason = f"does not know a report that {self._server} has from {self._party} in {where}"
            return self._leave(JournalError(f"{reason}; nothing was drawn"), "the party's journal lacks its own report")
        if Move.ACKNOWLEDGE not in _TABLE[self._state]:
            return self._blame(self._unexpected(message))
        self._move(Move.ACKNOWLEDGE)
        if message.phase in self._acknowledged:
            return []
        self._acknowledged.add(message.phase)
        return [Keep(Acknowledged(message.phase))] if self._is_durable else []

    def _on_release(self, message: Release) -> list[Effect]:
        if Move.RELEASE not in _TABLE[self._state]:
            return self._blame(self._unexpected(message))
        if len(self._answered) < len(self._protocol.phases) and not message.is_late:
            return self._blame(self._unexpected(message, "too early a "))
        decoder = self._protocol.outcome_decoder
        try:
            problem = f"{self._server}'s release is no {self._protocol.outcome_type.__name__}"
            outcome = decode_payload(message.payload, decoder, sender=self._server, problem=problem)
            problem = f"what {self._server}'s release tells {self._party} alone is not what the protocol declares"
            own = decode_payload(message.own, self._protocol.own_outcome_decoder, sender=self._server, problem=problem)
        except MalformedMessageError as error:
            error.role, error.state, error.message_type = "client", self._state.value, "Release"
            return self._blame(error)
        if message.is_late:
            self._late_phase = self._protocol.phases[len(self._answered) - 1].name
        self._transcript.add(message)
        self._move(Move.RELEASE)
        # A server that keeps a journal stays until it knows that all have heard.
        heard = (
            [self._send(Acknowledgement(len(self._protocol.phases)))] if self._acknowledged or self._is_durable else []
        )
        return [*self._leaving(), *heard, Finish(outcome, own)]

    def _check_kept(self, kept: Mapping[str, KeptReport]) -> Mapping[str, KeptReport]:
        """Return the reports that were kept, each of which is one of its phase and of the party's values.

        Raises:
            ConfigurationError: one is not.
        """
        check_kept_names(kept, {phase.name: phase.kept for phase in self._protocol.phases})
        for phase in self._protocol.phases:
            if (earlier := kept.get(phase.name)) is None or phase.kept is None:
                continue
            phase.kept.check(earlier.scope)
            seal = seal_of(self._secret, phase.kept, phase.name, self._row[phase.columns])
            check_values(phase.kept, is_changed=has_changed(earlier.seal, seal), party=self._party)
            phase.decoder.decode(bytes(_encoded(phase, earlier.report)))
        return dict(kept)

    def _keeps(self, number: int) -> bool:
        phases = self._protocol.phases
        return number < len(phases) and phases[number].name in self._kept

    def _remembered(self, phase: Phase) -> Remembered | None:
        if phase.kept is None:
            return None
        seal = seal_of(self._secret, phase.kept, phase.name, self._row[phase.columns])
        return Remembered(phase=phase.name, scope=phase.kept, seal=seal)

    def _restore(self, records: Sequence[ClientRecord]) -> None:
        """Take up what an earlier conversation of this session kept."""
        for record in records:
            match record:
                case Reserved():
                    ours = (self._party, self._session, self._protocol.name)
                    if (record.party, record.session, record.protocol) != ours:
                        theirs = f"{record.party!r} in session {record.session!r} of {record.protocol!r}"
                        raise JournalError(f"has this session's id for {theirs}")
                    if record.chosen != self._chosen:
                        raise JournalError(
                            "says that the party has chosen otherwise in this session; it is held to that"
                        )
                    self._has_reserved = True
                case Drawn():
                    request, report = decode(record.request), decode(record.report)
                    if not isinstance(request, Request) or not isinstance(report, Report):
                        raise JournalError("holds something else where a request and its report were kept")
                    if not request.phase == report.phase == record.phase == len(self._answered):
                        raise JournalError(f"has a report of phase {record.phase} where {len(self._answered)} is next")
                    self._answered.append((request, report))
                case Acknowledged(phase):
                    self._acknowledged.add(phase)
                case Left():
                    self._has_reserved = False  # whoever left may come back, and say again what it has said
        if len(self._answered) > len(self._protocol.phases):
            raise JournalError(f"has reports of {len(self._answered)} phases, and {self._protocol.name!r} fewer")

    def _choice_in(self, public: tuple[int, ...] | None) -> tuple[int, ...]:
        """Return what the party chooses of its public row, checked before anything of it leaves."""
        if not (number := self._protocol.num_chosen):
            return ()
        if public is None:
            allowed = f"given: the party chooses the last {number} of it"
            raise ConfigurationError(field="public", value=public, allowed=allowed)
        self._protocol.check_public(public)
        return public[-number:]

    def _leaving(self, reason: str = "") -> list[Effect]:
        return [Keep(Left(reason))] if self._is_durable else []

    def _end(self, error: PsephosError) -> list[Effect]:
        """End the session because the server did."""
        self._move(Move.BREAK)
        return [*self._leaving(str(error)), Fail(error)]

    def _send(self, message: Message) -> Send:
        if self._view is not None:
            self._view.record(Happening.SENT, self._server, message)
        return Send((self._server,), message)

    def _move(self, move: Move) -> None:
        self._state = _TABLE[self._state][move]
        if not _TABLE[self._state] and self._reservation is not None:
            self._reservation.release()  # the session is over: what it did not need is others' again

    def _blame(self, error: ProtocolError) -> list[Effect]:
        """End the session because the server erred; tell it so."""
        self._move(Move.BREAK)
        return [*self._leaving(str(error)), self._send(Abort.because(error)), Fail(error)]

    def _check_values(self, public: Sequence[int]) -> None:
        """Raise ValueError if the row holds what nobody with this public row may: its loss would be of other values."""
        for phase in self._protocol.phases:
            for value, allowed in zip(self._row[phase.columns], phase.values_of(public), strict=True):
                if value not in allowed:
                    raise ValueError("a value is outside what the public row allows")

    def _leave(self, error: PrivacyError | ConfigurationError | JournalError, reason: str) -> list[Effect]:
        """End the session on this side's own account. The server learns the reason, and no number of the ledger's."""
        self._move(Move.BREAK)
        return [*self._leaving(str(error)), self._send(Abort(reason=reason)), Fail(error)]

    def _unexpected(self, message: Message, which: str = "a ") -> UnexpectedMessageError:
        name = type(message).__name__
        has_phase = isinstance(message, (Request, Report, Acknowledgement))
        phase = f" of phase {message.phase}" if has_phase else ""
        return UnexpectedMessageError(
            f"{self._server} sent {which}{name}{phase} in state {self._state.value!r}",
            sender=self._server,
            role="client",
            state=self._state.value,
            message_type=name,
        )

    def _ending(self, message: Abort) -> QuorumError | SessionAborted:
        if not message.phase:
            return SessionAborted(reason=message.reason, by=self._server)
        return QuorumError(
            phase=message.phase,
            received=message.received,
            required=message.required,
            missing=message.missing,
            num_missing=message.num_missing,
        )

    def _strangeness(self, charter: Charter) -> str:
        """Say where the server's charter is another one."""
        given = msgspec.structs.asdict(charter)
        agreed = {name: value for name, value in msgspec.structs.asdict(self._charter).items() if value}
        differing = [name for name, value in agreed.items() if given[name] != value]
        return "; ".join(f"{name} is {quote(given[name])}, agreed {quote(agreed[name])}" for name in differing)

    def _difference(self, offered: msgspec.Raw) -> str:
        """Say where the server's parameters differ; they are public on both sides."""
        agreed = _PLAIN.decode(self._protocol.encoded_parameters)
        try:
            other = decode_payload(offered, _PLAIN, sender=self._server, problem="")
        except MalformedMessageError:
            return "they cannot be read"
        differing = [name for name in sorted(agreed.keys() | other.keys()) if agreed.get(name) != other.get(name)]
        if not differing:
            return "they are encoded differently"
        shown = (f"{name[:40]} is {quote(other.get(name))}, agreed {quote(agreed.get(name))}" for name in differing[:3])
        return "; ".join(shown)


def _encoded(phase: Phase, report: Sequence[int]) -> msgspec.Raw:
    """Return a report as it travels.

    Raises:
        TypeError: it is none; its numbers, which are the party's own, are left out of what that says.
    """
    try:
        if len(report) == phase.num_reported:
            return phase.encode_report(report)
    except (TypeError, ValueError, OverflowError, AttributeError):
        pass
    low, high = phase.mechanism.report_range
    expected = f"a report of phase {phase.name!r} is {phase.num_reported} integers in [{low}, {high}]"
    raise TypeError(f"{expected}, and {type(phase.mechanism).__name__} drew something else")
