"""The client's machine: one party's side of a session, without I/O.

It takes the server's messages and returns effects. It never waits and never draws by itself: a noise source is
given to it, and it asks that source for each report once, after the loss was charged. The same request again gets
the same bytes again, since a second draw would let an averaging attack in; another request for the same phase is a
fault, and so are parameters that are not those agreed to, and a release before the last request: nobody forges the end
of a session that was not held. Only who was late is released earlier, is told so, and says so.
"""

import operator
from collections.abc import Sequence
from typing import Any

import msgspec

from .effects import Charged, Effect, Fail, Finish, Send
from .errors import (
    ConfigurationError,
    LocalProtocolError,
    MalformedMessageError,
    PrivacyError,
    ProtocolError,
    QuorumError,
    RemoteProtocolError,
    SessionAborted,
    UnexpectedMessageError,
    quote,
)
from .messages import (
    NO_CHARTER,
    PROTOCOL_VERSION,
    Abort,
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
)
from .phases import Phase, PhasedProtocol
from .privacy import Ledger, Reservation
from .randomness import NoiseSource
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
            where a private row means the same whatever the public one is.
        server: what to call the server in effects and errors.
        charter: what makes the session this one, as far as the party agreed to it beforehand.
        view: records what the party sees; simulations only.

    Raises:
        ConfigurationError: the party's name cannot name a party, the noise source cannot sample a mechanism, or the
            view is of another kind than the noise.
        ValueError: a value is out of its mechanism's range.
        TypeError: a value is no integer.

    Privacy:
        Whatever the server sends, no more than the losses of `protocol` for the public row is ever charged or drawn,
        and nothing before the ledger has reserved room for all of it, or if what is stated is less than what is drawn.
    """

    __slots__ = (
        "_charter",
        "_late_phase",
        "_ledger",
        "_noise",
        "_party",
        "_place",
        "_protocol",
        "_public",
        "_report",
        "_reported_phases",
        "_request",
        "_reservation",
        "_row",
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
    ) -> None:
        self._protocol = protocol
        self._party = check_party_name(party)
        self._place = place
        # Integers and nothing else: a float would leave with its low bits in clear, and numpy's own do not encode.
        self._row = tuple(map(operator.index, row))
        self._public = None if public is None else tuple(map(operator.index, public))
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
        self._reported_phases = 0
        self._request: Request | None = None  # the last one, and its report
        self._report: Report | None = None
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
            case Abort():
                self._move(Move.BREAK)
                return [Fail(self._ending(message))]
            case Hello() | Report() | Inquiry() | Terms():
                return self._blame(self._unexpected(message))

    def receive_loss(self, sender: str) -> list[Effect]:
        """Take note that the connection is gone."""
        if not _TABLE[self._state]:
            return []
        if self._view is not None:
            self._view.record(Happening.LOST, sender)
        self._move(Move.BREAK)
        return [Fail(SessionAborted(reason="the connection was lost before the release", by=self._server))]

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
            self._reservation = self._ledger.reserve(self._protocol.losses_of(self._public))
        except ConfigurationError as error:
            return self._leave(error, "the party's protocol states a loss that is not what it draws")
        except PrivacyError as error:
            return self._leave(error, "the party's privacy budget does not allow it")
        self._transcript.add(message)
        self._move(Move.WELCOME)
        return []

    def _on_request(self, message: Request) -> list[Effect]:
        if self._report is not None and self._request is not None and message.phase == self._request.phase:
            if message != self._request:
                return self._blame(self._unexpected(message, "another "))
            self._move(Move.REPORT)
            return [self._send(self._report)]
        if Move.REQUEST not in _TABLE[self._state] or message.phase != self._reported_phases:
            return self._blame(self._unexpected(message))
        if message.phase >= len(self._protocol.phases):
            return self._blame(self._unexpected(message))
        if self._reservation is None or self._public is None:
            raise LocalProtocolError("a phase was requested before its loss was reserved", role="client")
        phase = self._protocol.phases[message.phase]
        self._transcript.add(message)
        self._move(Move.REQUEST)
        charge = self._reservation.charge
        effects: list[Effect] = [
            Charged(charge(loss, session=self._session, phase=phase.name)) for loss in phase.losses_of(self._public)
        ]
        values = self._noise.randomize(
            phase.mechanism_of(self._public),
            self._row[phase.columns],
            protocol=self._protocol.name,
            phase=phase.name,
            place=self._place,
        )
        self._request = message
        self._report = Report(message.phase, _encoded(phase, values))
        self._reported_phases += 1
        self._move(Move.REPORT)
        effects.append(self._send(self._report))
        return effects

    def _on_release(self, message: Release) -> list[Effect]:
        if Move.RELEASE not in _TABLE[self._state]:
            return self._blame(self._unexpected(message))
        if self._reported_phases < len(self._protocol.phases) and not message.is_late:
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
            self._late_phase = self._protocol.phases[self._reported_phases - 1].name
        self._transcript.add(message)
        self._move(Move.RELEASE)
        return [Finish(outcome, own)]

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
        return [self._send(Abort.because(error)), Fail(error)]

    def _check_values(self, public: Sequence[int]) -> None:
        """Raise ValueError if the row holds what nobody with this public row may: its loss would be of other values."""
        for phase in self._protocol.phases:
            for value, allowed in zip(self._row[phase.columns], phase.values_of(public), strict=True):
                if value not in allowed:
                    raise ValueError("a value is outside what the public row allows")

    def _leave(self, error: PrivacyError | ConfigurationError, reason: str) -> list[Effect]:
        """End the session on this side's own account. The server learns the reason, and no number of the ledger's."""
        self._move(Move.BREAK)
        return [self._send(Abort(reason=reason)), Fail(error)]

    def _unexpected(self, message: Message, which: str = "a ") -> UnexpectedMessageError:
        name = type(message).__name__
        phase = f" of phase {message.phase}" if isinstance(message, (Request, Report)) else ""
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
