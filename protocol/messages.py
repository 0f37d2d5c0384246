"""The nine messages between a client and a server, the same for every protocol (`docs/wire.md`).

Each phase declares the payload types that travel inside these messages (`phases.Phase`). A payload is raw MessagePack,
and only the side that knows the phase decodes it. All messages pass through `encode` and `decode`: MessagePack arrays,
tagged by message type, limited in size.

An observer of the network sees sizes, times and order, but no content. All reports of a phase have the same size
(`phases.Phase.codec`), so their size reveals nothing about their numbers. Such an observer does learn:

- who takes part, from addresses and from the length of the name in `Hello`;
- how much is public about each party: the length of its public row in `Welcome`, of what it chooses in `Hello`, and
  whether the release has a part for this client alone;
- who answers, when, and how long drawing took, which depends on the draw if the sampler is exact;
- who leaves. A client that leaves because its budget is too small, or because a public row does not fit its private
  row, reveals this by leaving and by the length of its `Abort`.
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
"""The version of these messages; a side refuses a peer of another version at the first message."""
MAX_MESSAGE_BYTES: Final = 1 << 20
"""The most bytes of a message. A report of 100,000 numbers fits, and a peer cannot make a side buffer more."""
MAX_GREETING_BYTES: Final = 4096
"""The most bytes of a connection's first message, a `Hello` or an `Inquiry`, which comes from an unknown peer."""
MAX_NAMES_IN_ABORT: Final = 1000
"""The most parties that one `Abort` names; it gives the number of all others, so that it stays below the limit."""
MAX_CHOSEN: Final = 64
"""The most numbers of a public row that the party chooses itself."""
MAX_RECEIPT_BYTES: Final = 32
"""The most bytes of an acknowledgement's receipt."""
MAX_REASON_CHARACTERS: Final = 1000
"""The most characters of an `Abort`'s reason."""
NOT_ADMITTED: Final = (
    "not admitted: check the address, the session, your name and certificate, and that your side speaks version "
    f"{PROTOCOL_VERSION}"
)
"""The reply to every unauthenticated peer. It reveals neither names nor the session's progress."""
NIL: Final = msgspec.Raw(msgspec.msgpack.encode(None))
"""The payload of a message without content."""


def encode_payload(value: msgspec.Struct | None) -> msgspec.Raw:
    """Encode a payload of the protocol, such as its parameters or an outcome; None becomes nil.

    The value is encoded as a plain map. For a struct with more than 15 fields, msgspec would choose a header that has
    room for unset fields, which differs from the bytes of other implementations.

    Raises:
        TypeError: a field has a type that MessagePack cannot represent.

    Examples:
        >>> bytes(encode_payload(SessionDescriptor(id="a1"))).hex()
        '93a26131a000'
    """
    return msgspec.Raw(msgspec.msgpack.encode(msgspec.to_builtins(value, builtin_types=(bytes,))))


_REQUEST: Final = 3
UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The errors of decoding arbitrary bytes: wrong types, invalid text, nesting too deep."""

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
"""A name on the wire. Its limit is wide, so that an unknown name gets a better error than one about its length."""
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
Choice: TypeAlias = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
"""A number of its public row that a party chooses."""

DecodedT = TypeVar("DecodedT")


class WireStruct(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A struct on the wire: an array of its fields, in order, and no further elements."""


class SessionDescriptor(WireStruct, frozen=True, gc=False):
    """The identity of a session, so that no message or record of one session is valid in another.

    An empty field was not agreed on in advance.

    Args:
        id: 128 random bits in hexadecimal; in a simulation `SimulatedNoise.session_id`.
        roster: `Roster.digest`, which fixes the parties and their certificates.
        expires: the time after which nobody can join, in seconds since 1970 (UTC); 0 for never.

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
"""The descriptor of a session on which nothing was agreed in advance."""


class Described(Protocol):
    """A protocol with its parameters, as far as messages name it."""

    name: ClassVar[str]

    @functools.cached_property
    def encoded_parameters(self) -> msgspec.Raw:
        """The parameters as every `Welcome` carries them."""
        ...


class Acknowledgement(WireStruct, frozen=True, tag=9, gc=False):
    """Either way: what you sent is in my journal. A side without a journal sends none.

    A server acknowledges the report of step `step`. By `receipt` it recognizes its acknowledgement when a client
    returns it (`records.receipt_of`). A client acknowledges the release; `step` is then the number of steps.

    Examples:
        >>> encode(Acknowledgement(0)).hex()
        '930900c400'
    """

    step: Count = msgspec.field(name="phase")
    receipt: Annotated[bytes, msgspec.Meta(max_length=MAX_RECEIPT_BYTES)] = b""


class Hello(WireStruct, frozen=True, tag=1, gc=False):
    """Client to server, first: who I am, and which session I want to join.

    The transport authenticates the party (`Channel.peer_fingerprint`). `chosen` is the end of the public row if the
    protocol lets parties choose it (`columns.Column`). The server checks it and fixes it for the session.

    Two fields let each side detect that its peer, or itself, uses an older copy of its journal: `num_reports` is the
    number of this session's reports in the party's journal, and `shown` the last acknowledgement from the server.

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

    `public` is the party's public row, such as a weight, or the tasks that it is to answer.
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
    """Server to client: step `step` (from 0) is open; `payload` is what the previous step published, or nil.

    `own` is the part for this client alone. If there is none, the message has one element less.

    Examples:
        >>> encode(Request(1, NIL)).hex()
        '930301c0'
    """

    step: int = msgspec.field(name="phase")
    payload: msgspec.Raw
    own: msgspec.Raw = NIL


class Report(WireStruct, frozen=True, tag=4, gc=False):
    """Client to server: my answer in step `step`, such as a randomized report, encoded by `phases.Step.codec`.

    Examples:
        >>> decode(encode(Report(0, NIL))).step
        0
    """

    step: int = msgspec.field(name="phase")
    payload: msgspec.Raw


class Release(WireStruct, frozen=True, tag=5, gc=False):
    """Server to client, last: the session's public outcome, and in `own` the part for this client alone, or nil.

    `is_late` is true if a phase closed without this client's report; then it got no requests of later phases.
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
                reason = error.reason  # the recipient knows who ends the session
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
        """Return the error to raise on receiving this message from a peer.

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
    """Server to client, in answer to an inquiry: the terms of the session.

    `place` is the party's index in the roster, from 0; in a simulation it addresses the party's noise. `public` is its
    public row.
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
"""The bytes and the message decoded last. If many parties of one process receive the same bytes, all share this
immutable message."""
_welcome: tuple[Welcome, bytes] | None = None
"""The Welcome encoded last, and its bytes. Without public rows it is the same for all parties."""
_TOLD_ONCE: Final = frozenset({Hello, Report})
"""The messages whose bytes differ between any two parties, so that caching them is useless."""
_LONG: Final = 512
"""The bytes from which on a message's shared beginning is cached."""
_SHARED: Final = {2: ("parameters", 3), 5: ("payload", 2)}
"""By message tag: the field that is the same for all parties, and its index in the array that `encode` writes."""
_known: dict[int, tuple[bytes, msgspec.Raw]] = {}
"""By message tag: the bytes of the shared field decoded last, and its value. All parties of a process share it."""


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
        content = (_REQUEST, message.step, message.payload)  # msgspec would encode the absent element, too
    payload = _encoder.encode(content)
    if len(payload) > MAX_MESSAGE_BYTES:
        raise ValueError(
            f"a message may have {MAX_MESSAGE_BYTES} bytes, this {type(message).__name__} has {len(payload)}"
        )
    if type(message) is Welcome:
        _welcome = message, payload
    return payload


def decode(payload: bytes, *, sender: str | None = None) -> Message:
    """Return the message in the payload of one frame; errors name the sender.

    Raises:
        MalformedMessageError: the bytes are no message of this version, or more than `MAX_MESSAGE_BYTES`.

    Examples:
        >>> decode(encode(Inquiry(PROTOCOL_VERSION, "ann"))).party
        'ann'
        >>> decode(b"junk", sender="ann")
        Traceback (most recent call last):
            ...
        psephos.protocol.errors.MalformedMessageError: ann sent 4 bytes that are no message: ...
    """
    global _last  # noqa: PLW0603  it is the process's
    last = _last  # read once, since another thread may replace it
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
        with contextlib.suppress(*UNREADABLE):  # decoding the whole message, below, then reports the error's position
            short_message = _decoder.decode(payload[:start] + bytes(NIL) + payload[len(beginning) :])
            return msgspec.structs.replace(short_message, **{field: shared})
    message = _decoder.decode(payload)
    field_bytes = bytes(getattr(message, field))
    end = start + len(field_bytes)
    if payload[start:end] == field_bytes:  # false if another implementation encodes it differently
        shared = msgspec.Raw(field_bytes)
        _known[tag] = payload[:end], shared
        message = msgspec.structs.replace(message, **{field: shared})
    return message


class PayloadDecoder(Generic[DecodedT]):
    """A decoder of payloads of one type that caches the last one.

    All clients of one process receive the same outcome. It is decoded once, and they share the immutable result.

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
            msgspec.DecodeError, UnicodeDecodeError, RecursionError: the bytes are no value of this type.
        """
        raw = payload if isinstance(payload, msgspec.Raw) else msgspec.Raw(payload)
        last = self._last_payload  # read once, since another thread may replace it
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
            # Results are shared only if they are immutable; a struct with a __dict__ is not.
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
    """Decode the payload of a message with the decoder of its declared type.

    Raises:
        MalformedMessageError: the payload has another type. The message states `problem`, and names the sender.
    """
    try:
        return decode(payload)
    except UNREADABLE as error:
        raise MalformedMessageError(f"{problem}: {error}", sender=sender) from None
