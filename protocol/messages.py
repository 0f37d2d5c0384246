"""What travels between a client and a server: nine messages, the same for every protocol (`docs/wire.md`).

Messages are few and general; what a phase sends inside them is its own payload type (`phases.Phase`), which
travels as raw msgpack and is decoded only by the side that knows the phase. `encode` and `decode` are the
only way to the wire: MessagePack arrays, tagged by message type, limited in size.

Who reads sizes, times and order on the network, and no content, learns nothing of a report's numbers from its size:
all reports of a phase have the same (`phases.Phase.codec`). What remains: who takes part (addresses, and the
length of a name in `Hello`); how much is public of each (the public row in `Welcome`, what a party chooses of it in
`Hello`, and whether the release has something for that client alone); who answers, and when, and how long that took,
which with an exact sampler depends on what it draws; and who leaves. A client that leaves because its budget does not
allow the session, or because a public row does not fit its private one, shows that by leaving, and by the length of its
`Abort`.
"""

import contextlib
import functools
from collections.abc import Callable, Iterable
from typing import Annotated, Any, ClassVar, Final, Generic, Protocol, TypeAlias, TypeVar

import msgspec
import msgspec.inspect

from .errors import MalformedMessageError, PluginError, QuorumError, SessionAborted, StrangerError
from .roles import SessionKind

PROTOCOL_VERSION: Final = 10
"""The version of the messages below; a session whose sides differ is refused at the first message."""
MAX_MESSAGE_BYTES: Final = 1 << 20
"""A report of 100,000 numbers fits; a peer cannot make us buffer more."""
MAX_GREETING_BYTES: Final = 4096
"""The most bytes of a connection's first message, a `Hello` or an `Inquiry`: so much is kept of an unknown peer."""
MAX_NAMES_IN_ABORT: Final = 1000
"""Parties named in one `Abort`; the rest are counted, so that the message stays below the limit."""
MAX_CHOSEN: Final = 64
"""Numbers of its public row that a party says itself."""
MAX_RECEIPT_BYTES: Final = 32
"""The most bytes of an acknowledgement's receipt."""
MAX_REASON_CHARACTERS: Final = 1000
"""The most characters of an `Abort`'s reason."""
NOT_ADMITTED: Final = (
    "not admitted: check the address, the session, your name and certificate, and that your side speaks version "
    f"{PROTOCOL_VERSION}"
)
"""The reply to every stranger, whatever it said: it reveals neither names nor the session's progress."""
NIL: Final = msgspec.Raw(msgspec.msgpack.encode(None))
"""The payload of a message that carries none."""


def encode_payload(value: msgspec.Struct | None) -> msgspec.Raw:
    """Encode what a message carries for the protocol: its parameters, or an outcome.

    By way of a plain map, whose header says no more than what is in it: of a struct with more than 15 fields msgspec's
    makes room for those that are unset, and another implementation's bytes would differ.

    Raises:
        TypeError: something in it has no bytes.

    Examples:
        >>> bytes(encode_payload(SessionDescriptor(id="a1"))).hex()
        '93a26131a000'
    """
    return msgspec.Raw(msgspec.msgpack.encode(msgspec.to_builtins(value, builtin_types=(bytes,))))


_REQUEST: Final = 3
UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The errors of decoding made-up bytes: other types, other text, nesting without end."""

_IMMUTABLE: Final = (
    msgspec.inspect.IntType,
    msgspec.inspect.FloatType,
    msgspec.inspect.StrType,
    msgspec.inspect.BoolType,
    msgspec.inspect.NoneType,
    msgspec.inspect.BytesType,
    msgspec.inspect.EnumType,
    msgspec.inspect.LiteralType,
)

Word: TypeAlias = Annotated[str, msgspec.Meta(max_length=1000)]
"""A name, with room to refuse a foreign one by a better error than its length."""
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
Choice: TypeAlias = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
"""A number that a party says of itself, to be public."""

DecodedT = TypeVar("DecodedT")


class WireStruct(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A struct on the wire: an array of its fields, in order, and no further elements."""


class SessionDescriptor(WireStruct, frozen=True, gc=False):
    """The identity of a session, so that nothing of one session counts in another.

    An empty field was not agreed to beforehand.

    Args:
        id: 128 random bits in hexadecimal; of a simulation `SimulatedNoise.session_id`.
        roster: `Roster.digest`: who may take part, and by which certificates.
        expires: nobody takes part after this time, in seconds since 1970 (UTC); 0 for never.

    Examples:
        >>> SessionDescriptor(id="a1").agrees_with(SessionDescriptor(id="a1", expires=1_900_000_000))
        True
    """

    id: Word = ""
    roster: Word = ""
    expires: Count = 0

    def agrees_with(self, other: "SessionDescriptor") -> bool:
        """Return whether another descriptor says the same wherever this one says anything."""
        return all(getattr(other, field) == ours for field in self.__struct_fields__ if (ours := getattr(self, field)))


NO_DESCRIPTOR: Final = SessionDescriptor()
"""The descriptor of a party that agreed to nothing beforehand."""


class Described(Protocol):
    """A protocol with its parameters, as far as messages name it."""

    name: ClassVar[str]

    @functools.cached_property
    def encoded_parameters(self) -> msgspec.Raw:
        """The parameters as every `Welcome` carries them."""
        ...


class Acknowledgement(WireStruct, frozen=True, tag=9, gc=False):
    """A sender's word that what it was told is in its journal; a side without a journal sends none.

    Of a server: your report of step `step`; by `receipt` it knows its own word again (`records.receipt_of`). Of a
    client: your release; `step` is then the number of steps.

    Examples:
        >>> encode(Acknowledgement(0)).hex()
        '930900c400'
    """

    step: Count = msgspec.field(name="phase")
    receipt: Annotated[bytes, msgspec.Meta(max_length=MAX_RECEIPT_BYTES)] = b""


class Hello(WireStruct, frozen=True, tag=1, gc=False):
    """Client to server, first: who I am, and which session I mean to join.

    That the party is who it says is for the transport to prove (`Channel.peer_fingerprint`). `chosen` is the end of its
    public row, where the protocol leaves that to the party (`columns.Column`): the server takes it, if the protocol
    allows it, and holds the party to it for the session. Of two sides with journals one may have an older copy of its
    own: `num_reports` is how many reports of this session the party has, and `shown` the last that the server said it
    has of it too.

    Examples:
        >>> hello = Hello(PROTOCOL_VERSION, "council", "dpwevote", "simulation", "ann")
        >>> decode(encode(hello)) == hello
        True
    """

    version: int
    session: Word
    protocol: Word
    kind: Word
    party: Word
    session_id: Word = ""
    chosen: Annotated[tuple[Choice, ...], msgspec.Meta(max_length=MAX_CHOSEN)] = ()
    num_reports: Count = 0
    shown: Acknowledgement | None = None

    @classmethod
    def make(
        cls,
        protocol: Described,
        party: str,
        *,
        session: str,
        kind: SessionKind,
        descriptor: SessionDescriptor = NO_DESCRIPTOR,
        chosen: tuple[int, ...] = (),
    ) -> "Hello":
        """Make the Hello of a party that means to join a session of a protocol."""
        return cls(PROTOCOL_VERSION, session, protocol.name, kind._value_, party, descriptor.id, chosen)


class Welcome(WireStruct, frozen=True, tag=2, gc=False):
    """Server to client: you are on the roster, and these are the session's public parameters.

    `public` is the party's public row, which the server knows as well: a weight, or the tasks that it is to answer.
    """

    version: int
    parameters: msgspec.Raw
    public: tuple[int, ...] = ()
    descriptor: SessionDescriptor = NO_DESCRIPTOR

    @classmethod
    def make(
        cls, protocol: Described, *, public: Iterable[int] = (), descriptor: SessionDescriptor = NO_DESCRIPTOR
    ) -> "Welcome":
        """Make the Welcome for a party with this public row."""
        return cls(PROTOCOL_VERSION, protocol.encoded_parameters, tuple(public), descriptor)


class Request(WireStruct, frozen=True, tag=_REQUEST, gc=False):
    """Server to client: step `step` (from 0) is open; `payload` is what the last one published, or nil.

    `own` is what is for this client alone; without it, the message ends before.

    Examples:
        >>> encode(Request(1, NIL)).hex()
        '930301c0'
    """

    step: int = msgspec.field(name="phase")
    payload: msgspec.Raw
    own: msgspec.Raw = NIL


class Report(WireStruct, frozen=True, tag=4, gc=False):
    """Client to server: my answer in step `step`, such as a randomized report, as `phases.Step.codec` writes it.

    Examples:
        >>> decode(encode(Report(0, NIL))).step
        0
    """

    step: int = msgspec.field(name="phase")
    payload: msgspec.Raw


class Release(WireStruct, frozen=True, tag=5, gc=False):
    """Server to client, last: the session's public outcome, and in `own` what is for this client alone, or nil.

    `is_late` tells a client that a phase closed without its report, so that it was not asked in those that followed.
    """

    payload: msgspec.Raw
    own: msgspec.Raw = NIL
    is_late: bool = False


class Abort(WireStruct, frozen=True, tag=6):
    """Either way: I end this conversation.

    `phase`, `received`, `required`, `missing` and `num_missing` are set where a phase closed without its quorum.

    Examples:
        >>> Abort.from_error(QuorumError(phase="opinions", received=1, required=2, missing=["bob"])).missing
        ('bob',)
    """

    reason: Annotated[str, msgspec.Meta(max_length=MAX_REASON_CHARACTERS)]
    phase: Word = ""
    received: Count = 0
    required: Count = 0
    missing: Annotated[tuple[Word, ...], msgspec.Meta(max_length=MAX_NAMES_IN_ABORT)] = ()
    num_missing: Count = 0

    @classmethod
    def from_error(cls, error: Exception) -> "Abort":
        """Return the message that says why; it fits into a message whatever the error quotes."""
        match error:
            case StrangerError():
                reason = NOT_ADMITTED
            case SessionAborted():
                reason = error.reason  # who it is that ends the session, its reader knows
            case PluginError():
                reason = error.public_message
            case _:
                reason = str(error)
        reason = reason[:MAX_REASON_CHARACTERS]
        if not isinstance(error, QuorumError):
            return cls(reason=reason)
        return cls(
            reason=reason,
            phase=error.phase,
            received=error.received,
            required=error.required,
            missing=error.missing[:MAX_NAMES_IN_ABORT],
            num_missing=error.num_missing,
        )

    def error_from(self, peer: str) -> QuorumError | SessionAborted:
        """Return the error that this is for whoever hears it from a peer.

        Examples:
            >>> Abort("not today").error_from("ann")
            SessionAborted('ann ended the session: not today')
        """
        if not self.phase:
            return SessionAborted(reason=self.reason, by=peer)
        return QuorumError(
            phase=self.phase,
            received=self.received,
            required=self.required,
            missing=self.missing,
            num_missing=self.num_missing,
        )


class Inquiry(WireStruct, frozen=True, tag=7, gc=False):
    """Client to server, before Hello, if at all: who I am; what would I take part in?"""

    version: int
    party: Word


class Terms(WireStruct, frozen=True, tag=8, gc=False):
    """Server to client, in answer to an inquiry: what the session is.

    `place` is the party's in the roster, from 0, which addresses its noise in a simulation; `public` is its public row.
    """

    version: int
    session: Word
    protocol: Word
    kind: Word
    parameters: msgspec.Raw
    place: Count
    public: tuple[int, ...] = ()
    descriptor: SessionDescriptor = NO_DESCRIPTOR


Message: TypeAlias = Hello | Welcome | Request | Report | Release | Abort | Inquiry | Terms | Acknowledgement

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)
_last: tuple[bytes, Message] | None = None
"""What a client read last. Where one process sends the same bytes to many of its parties, all have one value, which
nobody can change."""
_welcome: tuple[Welcome, bytes] | None = None
"""The Welcome that was written last: where parties have no public row, everybody's."""
_TOLD_ONCE: Final = frozenset({Hello, Report})
"""The messages that no two parties send in the same bytes."""
_LONG: Final = 512
"""Bytes, from which on a message may share what it begins with."""
_SHARED: Final = {2: ("parameters", 3), 5: ("payload", 2)}
"""By a message's tag, what of it all parties are told, and where that begins in the bytes that `encode` writes."""
_known: dict[int, tuple[bytes, msgspec.Raw]] = {}
"""By tag, how the message began that was read last, and what of it all parties are told: it is read once for all of a
process, and held once."""


def encode(message: Message) -> bytes:
    """Return the bytes of one message; ValueError for more than `MAX_MESSAGE_BYTES`.

    Examples:
        >>> encode(Inquiry(PROTOCOL_VERSION, "ann")).hex()
        '93070aa3616e6e'
    """
    global _welcome  # noqa: PLW0603  it is the process's
    content: object = message
    if type(message) is Welcome and (last := _welcome) is not None and message is last[0]:
        return last[1]
    if type(message) is Request and message.own == NIL:
        content = (_REQUEST, message.step, message.payload)  # msgspec would write the absent element, too
    payload = _encoder.encode(content)
    if len(payload) > MAX_MESSAGE_BYTES:
        raise ValueError(
            f"a message may have {MAX_MESSAGE_BYTES} bytes, this {type(message).__name__} has {len(payload)}"
        )
    if type(message) is Welcome:
        _welcome = message, payload
    return payload


def decode(payload: bytes, *, sender: str | None = None) -> Message:
    """Return the message that one frame carried; the sender is named in the error.

    Raises:
        MalformedMessageError: it holds no message of this version, or more than `MAX_MESSAGE_BYTES`.

    Examples:
        >>> decode(encode(Inquiry(PROTOCOL_VERSION, "ann"))).party
        'ann'
        >>> decode(b"junk", sender="ann")
        Traceback (most recent call last):
            ...
        psephos.protocol.errors.MalformedMessageError: ann sent 4 bytes that are no message: ...
    """
    global _last  # noqa: PLW0603  it is the process's
    last = _last  # once: another thread may read another message in the meantime
    if last is not None and payload is last[0]:
        return last[1]
    size = len(payload)
    if size > MAX_MESSAGE_BYTES:
        reason = f"a message may have {MAX_MESSAGE_BYTES} bytes, {sender or 'a peer'} sent {size}"
        raise MalformedMessageError(reason, sender=sender)
    try:
        message = _decoder.decode(payload) if size < _LONG else _decode_long(payload)
    except UNREADABLE as error:
        reason = f"{sender or 'a peer'} sent {size} bytes that are no message: {error}"
        raise MalformedMessageError(reason, sender=sender) from None
    if type(message) not in _TOLD_ONCE:
        _last = payload, message
    return message


def _decode_long(payload: bytes) -> Message:
    """Return the message in these bytes; of one that begins as the last of its kind did, read the rest alone."""
    tag = payload[1]
    if tag not in _SHARED:
        return _decoder.decode(payload)
    field, start = _SHARED[tag]
    beginning, shared = _known.get(tag, (b"", NIL))
    if beginning and payload.startswith(beginning):
        with contextlib.suppress(*UNREADABLE):  # whole, below, it says where it cannot be read
            short_message = _decoder.decode(payload[:start] + bytes(NIL) + payload[len(beginning) :])
            return msgspec.structs.replace(short_message, **{field: shared})
    message = _decoder.decode(payload)
    field_bytes = bytes(getattr(message, field))
    end = start + len(field_bytes)
    if payload[start:end] == field_bytes:  # or it is written in another way than ours
        shared = msgspec.Raw(field_bytes)
        _known[tag] = payload[:end], shared
        message = msgspec.structs.replace(message, **{field: shared})
    return message


class PayloadDecoder(Generic[DecodedT]):
    """A decoder of payloads of one type that remembers the last one.

    A process that runs many clients gets the same outcome for each of them: it decodes it once, and all share the
    immutable result.

    Examples:
        >>> PayloadDecoder(tuple[int, ...]).decode(msgspec.msgpack.encode([1, 2]))
        (1, 2)
    """

    def __init__(self, kind: Any) -> None:
        self._decoder: msgspec.msgpack.Decoder[DecodedT] = msgspec.msgpack.Decoder(kind)
        self._is_shared = _is_immutable(msgspec.inspect.type_info(kind))
        self._last_payload: tuple[msgspec.Raw, DecodedT] | None = None

    def decode(self, payload: msgspec.Raw | bytes) -> DecodedT:
        """Decode a payload.

        Raises:
            msgspec.DecodeError, UnicodeDecodeError, RecursionError: it holds something else.
        """
        raw = payload if isinstance(payload, msgspec.Raw) else msgspec.Raw(payload)
        last = self._last_payload  # once: another thread may decode another one in the meantime
        if last is not None and (last[0] is raw or last[0] == raw):
            return last[1]
        decoded = self._decoder.decode(raw)
        if self._is_shared:
            self._last_payload = raw, decoded
        return decoded


def _is_immutable(info: Any, within: tuple[type, ...] = ()) -> bool:
    """Return whether nothing in a value of a type can be changed, by what msgspec knows of the type."""
    match info:
        case msgspec.inspect.StructType(cls=kind, fields=fields):
            parts = [] if kind in within else [field.type for field in fields]
            # What is cached on a structure with a __dict__, one caller could change for all.
            is_frozen = kind.__struct_config__.frozen and not kind.__dictoffset__
            return is_frozen and all(_is_immutable(part, (*within, kind)) for part in parts)
        case msgspec.inspect.VarTupleType(item_type=part) | msgspec.inspect.Metadata(type=part):
            return _is_immutable(part, within)
        case msgspec.inspect.TupleType(item_types=parts) | msgspec.inspect.UnionType(types=parts):
            return all(_is_immutable(part, within) for part in parts)
        case _:
            return isinstance(info, _IMMUTABLE)


def decode_payload(
    payload: msgspec.Raw, decode: Callable[[msgspec.Raw], DecodedT], *, sender: str, problem: str
) -> DecodedT:
    """Decode the payload of a message, of the declared type.

    Raises:
        MalformedMessageError: it is something else: `problem` says so, of this sender.
    """
    try:
        return decode(payload)
    except UNREADABLE as error:
        raise MalformedMessageError(f"{problem}: {error}", sender=sender) from None
