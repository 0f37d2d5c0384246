"""Messages: what travels, what is refused, and how large it may be."""

import functools

import msgspec
import pytest
from helpers import hello, raw
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol import MalformedMessageError
from psephos.protocol.messages import (
    MAX_MESSAGE_BYTES,
    MAX_NAMES_IN_ABORT,
    NIL,
    PROTOCOL_VERSION,
    Abort,
    Acknowledgement,
    Hello,
    Inquiry,
    Message,
    PayloadDecoder,
    Release,
    Report,
    Request,
    SessionDescriptor,
    Terms,
    Welcome,
    decode,
    encode,
)
from psephos.protocol.roles import MAX_PARTY_NAME_LENGTH
from strategies import CHECKED

CHARTER = SessionDescriptor("0123456789abcdef" * 2, "\u00e9", 1_900_000_000)
HELLO = functools.partial(Hello, 10, "s", "dpwevote", "simulation", "p0")
TERMS = functools.partial(Terms, 10, "s", "dpwevote", "simulation", raw({"epsilon": 1.0}), 3)
WELCOME = functools.partial(Welcome, 10, raw({"epsilon": 1.0}))
RELEASE = functools.partial(Release, raw({"passed": True}))
MESSAGES: list[Message] = [
    HELLO(),
    HELLO(session_id=CHARTER.id, chosen=(2, 300)),
    HELLO(num_reports=2, shown=Acknowledgement(step=1, receipt=bytes(range(32)))),
    WELCOME(),
    WELCOME(public=(4, 300, -1), descriptor=CHARTER),
    Request(step=1, payload=raw(None)),
    Request(step=1, payload=raw(None), own=raw([7])),
    Report(step=0, payload=raw([1, 2])),
    RELEASE(),
    RELEASE(own=raw({"score": 7})),
    RELEASE(is_late=True),
    Abort(reason="enough"),
    Abort(reason="few", phase="weights", received=1, required=2, missing=("p0", "p2"), num_missing=2),
    Inquiry(version=10, party="p0"),
    TERMS(),
    TERMS(public=(128,), descriptor=CHARTER),
    Acknowledgement(step=1),
    Acknowledgement(step=1, receipt=b"\x01\x02"),
]
TYPES: list[type[Message]] = [Hello, Welcome, Request, Report, Release, Abort, Inquiry, Terms, Acknowledgement]
ID = "d920" + "30313233343536373839616263646566" * 2
NO_DESCRIPTOR = "93a0a000"
ALL_OF_IT = f"93{ID}a2c3a9ce713fb300"
WIRE = [
    "9a010aa173a86470776576 6f7465aa73696d756c6174696f6ea27030a09000c0",
    "9a010aa173a86470776576 6f7465aa73696d756c6174696f6ea27030" + ID + "9202cd012c00c0",
    "9a010aa173a86470776576 6f7465aa73696d756c6174696f6ea27030a09002930901c420" + bytes(range(32)).hex(),
    "95020a 81a7657073696c6f6ecb3ff0000000000000 90" + NO_DESCRIPTOR,
    "95020a 81a7657073696c6f6ecb3ff0000000000000 9304cd012cff" + ALL_OF_IT,
    "930301c0",
    "940301c0 9107",
    "930400920102",
    "940581a6706173736564c3 c0 c2",
    "940581a6706173736564c3 81a573636f726507 c2",
    "940581a6706173736564c3 c0 c3",
    "9706a6656e6f756768a00000 9000",
    "9706a3666577a7776569676874730102 92a27030a2703202",
    "93070aa27030",
    "99080aa173a86470776576 6f7465aa73696d756c6174696f6e81a7657073696c6f6ecb3ff000000000000003 90" + NO_DESCRIPTOR,
    "99080aa173a86470776576 6f7465aa73696d756c6174696f6e81a7657073696c6f6ecb3ff000000000000003 91cc80" + ALL_OF_IT,
    "930901c400",
    "930901c4020102",
]


@pytest.mark.parametrize(("message", "wire"), list(zip(MESSAGES, WIRE, strict=True)))
def test_the_bytes_of_version_10_never_change(message: Message, wire: str) -> None:
    assert PROTOCOL_VERSION == 10
    assert encode(message).hex() == wire.replace(" ", "")
    assert decode(encode(message)) == message


@CHECKED
@given(st.binary(max_size=60))
def test_any_bytes_are_a_message_or_malformed(payload: bytes) -> None:
    try:
        message = decode(payload, sender="p0")
    except MalformedMessageError as problem:
        error = problem
    else:
        assert isinstance(message, tuple(TYPES))
        return
    assert error.sender == "p0"
    assert str(error).startswith(f"p0 sent {len(payload)} bytes that are no message")


@pytest.mark.parametrize("message", MESSAGES)
def test_a_truncation_bytes_after_a_message_and_a_field_too_many_are_malformed(message: Message) -> None:
    payload = encode(message)
    fields: list[object] = msgspec.msgpack.decode(payload, type=list[object])
    if isinstance(message, Request) and message.own == NIL:
        fields.append(None)
    truncations = [payload[:length] for length in range(len(payload))]
    for malformed in (*truncations, payload + b"\x00", msgspec.msgpack.encode([*fields, 0])):
        with pytest.raises(MalformedMessageError):
            decode(malformed)


@pytest.mark.parametrize("length", [1000, 1001])
def test_a_sessions_id_has_at_most_a_thousand_characters(length: int) -> None:
    message = hello("p0", session_id="x" * length)
    if length <= 1000:
        assert decode(encode(message)) == message
    else:
        with pytest.raises(MalformedMessageError) as caught:
            decode(encode(message))
        assert "xx" not in str(caught.value)


@pytest.mark.parametrize("descriptor", [["a", "b", -1], ["a", "b", "c"], ["a", "b", 1, 2], None, "a", [1]])
def test_a_charter_that_is_none_is_malformed(descriptor: object) -> None:
    welcome: list[object] = [2, PROTOCOL_VERSION, {}, []]
    decode(msgspec.msgpack.encode([*welcome, ["a", "b", 1]]))
    with pytest.raises(MalformedMessageError):
        decode(msgspec.msgpack.encode([*welcome, descriptor]))


@pytest.mark.parametrize(
    ("agreed", "does_agree"),
    [
        (SessionDescriptor(), True),
        (CHARTER, True),
        (SessionDescriptor(CHARTER.id), True),
        (SessionDescriptor(roster=CHARTER.roster), True),
        (SessionDescriptor(CHARTER.id[::-1]), False),
        (SessionDescriptor(CHARTER.id, "another"), False),
        (SessionDescriptor(CHARTER.id, CHARTER.roster, CHARTER.expires + 1), False),
    ],
)
def test_what_a_charter_does_not_say_was_not_agreed(agreed: SessionDescriptor, does_agree: bool) -> None:  # noqa: FBT001  a table
    assert agreed.agrees_with(CHARTER) is does_agree


@pytest.mark.parametrize(
    "message",
    [
        hello("p0"),
        Welcome(PROTOCOL_VERSION, raw({})),
        Release(raw({})),
        Terms(PROTOCOL_VERSION, "s", "dpwevote", "simulation", raw({}), 0),
    ],
)
def test_a_charter_and_what_is_for_one_client_alone_may_be_left_out(message: Message) -> None:
    """Each is its message's last field, and has a default."""
    fields: list[object] = msgspec.msgpack.decode(encode(message), type=list[object])
    assert decode(msgspec.msgpack.encode(fields[:-1])) == message
    while len(fields) > 1 and fields[-1] in ("", [], ["", "", 0], None, False):
        fields.pop()
    with pytest.raises(MalformedMessageError):
        decode(msgspec.msgpack.encode(fields[:-1]))


@pytest.mark.parametrize("public", [[0.5], [True], ["1"], [None], [[1]], 5, None, {}, "ab"])
def test_a_public_row_of_anything_but_integers_is_malformed(public: object) -> None:
    terms: list[object] = [PROTOCOL_VERSION, "s", "dpwevote", "simulation", {}, 0]
    welcome: list[object] = [2, PROTOCOL_VERSION, {}]
    for fields in (welcome, [8, *terms]):
        decode(msgspec.msgpack.encode([*fields, [-(2**63), 2**63 - 1]]))
        with pytest.raises(MalformedMessageError):
            decode(msgspec.msgpack.encode([*fields, public]))


@pytest.mark.parametrize(
    "payload",
    [
        encode(Terms(PROTOCOL_VERSION, "s", "dpwevote", "simulation", raw({}), -1)),
        encode(hello("p0")).replace(b"\xa2p0", b"\xa2p\xff"),
        b"\x93\x04\x00" + b"\x91" * 100_000 + b"\x00",  # it is skipped, not read, yet skipping nested arrays recurses
        *(msgspec.msgpack.encode([tag, 1, None]) for tag in (0, 9, -1, "1", None)),
    ],
    ids=["a place below 0", "no UTF-8", "nesting without end", *(f"tag {tag!r}" for tag in (0, 9, -1, "1", None))],
)
def test_what_breaks_a_rule_of_its_kind_is_malformed_and_its_peer_without_a_name_a_peer(payload: bytes) -> None:
    with pytest.raises(MalformedMessageError, match=f"a peer sent {len(payload)} bytes that are no message") as caught:
        decode(payload)
    assert caught.value.sender is None


def test_the_largest_message_is_encoded_and_decoded() -> None:
    overhead = len(encode(Release(raw("x" * 70_000)))) - 70_000
    largest = Release(raw("x" * (MAX_MESSAGE_BYTES - overhead)))
    payload = encode(largest)
    assert len(payload) == MAX_MESSAGE_BYTES
    assert decode(payload) == largest


def test_a_message_above_the_limit_is_not_encoded() -> None:
    with pytest.raises(ValueError, match="a message may have 1048576 bytes, this Release has 1048585"):
        encode(Release(raw("x" * MAX_MESSAGE_BYTES)))


def test_a_message_above_the_limit_is_malformed() -> None:
    with pytest.raises(MalformedMessageError, match="a message may have 1048576 bytes, p0 sent 1048577") as caught:
        decode(bytes(MAX_MESSAGE_BYTES + 1), sender="p0")
    assert caught.value.sender == "p0"
    with pytest.raises(MalformedMessageError, match="a peer sent"):
        decode(bytes(MAX_MESSAGE_BYTES + 1))


def test_an_abort_with_all_the_names_that_it_may_hold_fits() -> None:
    names = tuple(f"{number:04}".ljust(MAX_PARTY_NAME_LENGTH, "\U0001d6bf") for number in range(MAX_NAMES_IN_ABORT))
    abort = Abort(reason="x" * 1000, phase="weights", missing=names, num_missing=100_000)
    assert decode(encode(abort)) == abort


class Fixed(msgspec.Struct, frozen=True):
    """Nothing in it can be changed."""

    numbers: tuple[int, ...]
    within: "Fixed | None" = None


class Changeable(msgspec.Struct, frozen=True):
    """A list in it can be."""

    numbers: list[int]


class Loose(msgspec.Struct):
    """Its field can be set."""

    number: int = 0


class Caching(msgspec.Struct, frozen=True, dict=True):
    """Whoever asks for its numbers is given what it keeps, and can change that."""

    number: int = 0

    @functools.cached_property
    def numbers(self) -> list[int]:
        """Worked out once."""
        return [self.number]


class Mixed:
    """Gives what inherits from it a place for more."""


class Open(Mixed, msgspec.Struct, frozen=True):
    """Has a place for more."""

    number: int = 0


class Around(msgspec.Struct, frozen=True):
    """Holds one that has."""

    within: Open


def test_what_nobody_can_change_is_decoded_once_for_all_who_hear_it() -> None:
    decoder: PayloadDecoder[Fixed] = PayloadDecoder(Fixed)
    first = decoder.decode(raw({"numbers": [1], "within": {"numbers": [2]}}))
    assert first == Fixed((1,), Fixed((2,)))
    assert decoder.decode(raw({"numbers": [1], "within": {"numbers": [2]}})) is first
    assert decoder.decode(raw({"numbers": [2]})) == Fixed((2,))
    with pytest.raises(msgspec.DecodeError):
        decoder.decode(raw({"numbers": "1"}))


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (Changeable, {"numbers": [1]}),
        (Loose, {"number": 1}),
        (Caching, {"number": 1}),
        (Open, {"number": 1}),
        (Around, {"within": {"number": 1}}),
    ],
)
def test_what_can_be_changed_is_each_ones_own(kind: type, told: dict[str, object]) -> None:
    decoder: PayloadDecoder[msgspec.Struct] = PayloadDecoder(kind)
    assert decoder.decode(raw(told)) == decoder.decode(raw(told))
    assert decoder.decode(raw(told)) is not decoder.decode(raw(told))


class Raced(PayloadDecoder[Fixed]):
    """Another thread decodes something else whenever this one looks."""

    _looks = 0

    @property
    def _last(self) -> tuple[msgspec.Raw, Fixed]:
        self._looks += 1
        return raw({"numbers": [self._looks]}), Fixed((self._looks,))

    @_last.setter
    def _last(self, value: object) -> None:
        del value


def test_what_one_thread_decodes_is_never_told_to_another() -> None:
    decoder = Raced(Fixed)
    assert decoder.decode(raw({"numbers": [1]})) == Fixed((1,))
    assert decoder.decode(raw({"numbers": [1]})) == Fixed((1,))


def test_the_same_bytes_are_read_once_and_no_bytes_never() -> None:
    payload = encode(Request(1, NIL))
    assert decode(payload) is decode(payload)
    assert decode(bytes(bytearray(payload))) == decode(payload)
    with pytest.raises(MalformedMessageError):
        decode(b"")


def read_alone(payload: bytes) -> Message | str:
    """Return the message in these bytes, as somebody reads it who has read none before; or why there is none."""
    try:
        return msgspec.msgpack.decode(payload, type=Message)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return f"p sent {len(payload)} bytes that are no message: {error}"


def read_after_others(payload: bytes) -> Message | str:
    try:
        return decode(payload, sender="p")
    except MalformedMessageError as error:
        return str(error)


@given(st.data())
def test_what_begins_like_another_message_is_read_as_if_alone(data: st.DataObject) -> None:
    """Long ones, whole, cut off, prolonged, changed in a byte, and written in more bytes than ours are."""
    told = [raw({"a": text * 600}) for text in ("x", "y")] + [raw([1, {"a": "x" * 600}])]
    messages: list[Message] = [
        kind
        for payload in told
        for own in (NIL, raw({"w": 1}), raw([2, 3]))
        for kind in (
            Release(payload, own),
            Release(payload, own, is_late=True),
            Welcome(PROTOCOL_VERSION, payload, (1, 2), SessionDescriptor("id")),
            Welcome(99, payload),
            Request(0, payload, own),
            Report(0, payload),
        )
    ]
    for message in data.draw(st.lists(st.sampled_from(messages), min_size=2, max_size=8)):
        payload = encode(message)
        match data.draw(st.sampled_from(["whole", "cut off", "prolonged", "changed", "written in more bytes"])):
            case "cut off":
                payload = payload[: -data.draw(st.integers(1, 20))]
            case "prolonged":
                payload += data.draw(st.binary(min_size=1, max_size=3))
            case "changed":
                place = data.draw(st.integers(0, 12) | st.integers(len(payload) - 12, len(payload) - 1))
                payload = payload[:place] + data.draw(st.binary(min_size=1, max_size=1)) + payload[place + 1 :]
            case "written in more bytes":
                payload = payload[:1] + b"\xcc" + payload[1:]
            case _:
                pass
        assert read_after_others(payload) == read_alone(payload)


def test_what_all_are_told_is_held_once() -> None:
    told = raw({"truths": "x" * 1000})
    first, second = (decode(encode(Release(told, raw({"weight": weight})))) for weight in (1, 2))
    assert isinstance(first, Release)
    assert isinstance(second, Release)
    assert first.payload is second.payload
    assert (first.own, second.own) == (raw({"weight": 1}), raw({"weight": 2}))
