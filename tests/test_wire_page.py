"""The page on the wire: its tables are what the code has, its bytes are messages, its digests those of transcripts."""

import json
import re
from pathlib import Path
from typing import Any, Final, get_args

import msgspec
import pytest
from psephos.agents.outbox import MAX_QUEUED_MESSAGES
from psephos.agents.pending import GREETING_SECONDS
from psephos.protocol import messages
from psephos.protocol.integers import RowCodec, encode_row, width_of
from psephos.protocol.messages import NIL, PROTOCOL_VERSION, Message, decode, encode
from psephos.scenarios.deployment.invitations import Invitation
from psephos.scenarios.deployment.keys import Enrollment
from psephos.scenarios.system import find_protocol
from psephos.transports.framing import MAX_FRAME_BYTES, encode_frames
from runs import read_json
from test_documents import blocks_of, run_page
from vectors.generate import FOLDER
from vectors.transcripts import TRANSCRIPTS

PAGE: Final = Path(__file__).parents[1] / "docs" / "wire.md"
TEXT: Final = PAGE.read_text(encoding="utf-8")
KINDS: Final[tuple[type[Any], ...]] = get_args(Message)
INT64: Final = (-(1 << 63), (1 << 63) - 1)


def table(header: str) -> list[list[str]]:
    """Return the cells of the table whose first line begins so, without that line."""
    (found,) = re.findall(rf"^\| {re.escape(header)} .*\n\|[-|]+\|\n((?:\|.*\n)+)", TEXT, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in found.splitlines()]


def in_words(default: object) -> str:
    match default:
        case msgspec.Raw() | None:
            assert default is None or default == NIL
            return "nil"
        case bytes():
            return f'b"{default.decode()}"'
        case msgspec.Struct():
            return json.dumps(msgspec.to_builtins(default))
        case _:
            return json.dumps(default)


def test_the_page_is_of_this_version_and_has_all_messages_with_their_elements() -> None:
    assert f"of version {PROTOCOL_VERSION}." in TEXT
    rows = {row[1].strip("`"): row for row in table("tag")}
    assert len(rows) == len(table("tag")) == len(KINDS)
    assert rows.keys() == {kind.__name__ for kind in KINDS}
    for kind in KINDS:
        tag, _, _, elements = rows[kind.__name__]
        told = [
            field.encode_name if field.required else f"{field.encode_name} = {in_words(field.default)}"
            for field in msgspec.structs.fields(kind)
        ]
        assert (int(tag), elements) == (kind.__struct_config__.tag, ", ".join(told))


def test_the_limits_are_those_of_the_code() -> None:
    limits = {what: most for most, what in table("most")}
    assert limits == {
        "a message": f"{messages.MAX_MESSAGE_BYTES:,} bytes",
        "a message before the server has admitted the client, `Hello` and `Inquiry`": (
            f"{messages.MAX_GREETING_BYTES:,} bytes"
        ),
        "any later message of a client": (
            f"{messages.MAX_GREETING_BYTES:,} bytes more than the longest report of the session"
        ),
        "from the connection to `Hello`": f"{GREETING_SECONDS:g} seconds",
        "that a client leaves unread": f"{MAX_QUEUED_MESSAGES} messages",
        "a text, and the reason of an `Abort`": f"{messages.MAX_REASON_CHARACTERS:,} characters",
        "in an `Abort`": f"{messages.MAX_NAMES_IN_ABORT:,} names",
        "that a client chooses, each in 64 bits with a sign": f"{messages.MAX_CHOSEN} numbers",
        "a receipt": f"{messages.MAX_RECEIPT_BYTES} bytes",
    }
    assert MAX_FRAME_BYTES == messages.MAX_MESSAGE_BYTES
    assert encode_frames([b"ab"]) == b"\0\0\0\x02ab"


def test_the_bytes_that_the_page_shows_are_messages() -> None:
    lines = [line.split() for line in blocks_of(PAGE, "text")[0].splitlines()]
    shown = {name: decode(bytes.fromhex(written)) for name, written in lines}
    assert [type(decode(bytes.fromhex(written))).__name__ for _, written in lines] == [name for name, _ in lines]
    assert all(encode(decode(bytes.fromhex(written))).hex() == written for _, written in lines)
    assert shown.keys() == {kind.__name__ for kind in KINDS} - {"Terms"}


def test_a_number_takes_as_many_bytes_as_the_page_says() -> None:
    for within, width, positive, negative in table("range within"):
        ends = [int(end.replace("−", "-").replace(",", "")) for end in re.findall(r"−?[\d,]+", within)]
        low, high = ends or INT64
        codec = RowCodec(2, low, high)
        assert codec.number_bytes == int(width)
        if ends:
            assert min(width_of(low - 1, high), width_of(low, high + 1)) > int(width)
        for number, code in ((high, positive), (low, negative)):
            written = encode_row([number], width=int(width))
            named = number % 256 if code in {"itself", "256 more"} else int(code.strip("`"), 16)
            assert written[:2] == bytes([0x91, named])
            assert codec.decode(bytes(codec.encode([number, number]))) == (number, number)


def test_the_fields_of_files_are_those_of_the_code() -> None:
    for what, kind in (("enrollment", Enrollment), ("invitation", Invitation)):
        named = [name for row in table(f"field of an {what}") for name in re.findall(r"`(\w+)`", row[0])]
        assert sorted(named) == sorted(kind.__struct_fields__)


@pytest.mark.parametrize("row", table("vector"), ids=lambda row: f"{row[0]}-{row[1]}")
def test_the_steps_of_vectors_are_as_the_page_says(row: list[str]) -> None:
    vector, name, number, within, width, _ = row
    known = read_json(FOLDER / f"good_{vector}.json")
    kind = find_protocol(known["protocol"])
    protocol = kind(msgspec.convert(known["parameters"], kind.parameters_type))
    (codec,) = [step.codec for step in protocol.steps if step.name == name]
    low, high = (int(end.replace("−", "-")) for end in re.findall(r"−?\d+", within))
    assert isinstance(codec, RowCodec)
    assert codec.number_bytes == int(width)
    for row_of_ends in ([low] * int(number), [high] * int(number)):
        assert list(codec.decode(bytes(codec.encode(row_of_ends)))) == row_of_ends
    for outside in ([low - 1, *[high] * (int(number) - 1)], [high + 1, *[high] * (int(number) - 1)], [high]):
        if outside == [high] and number == "1":
            continue
        with pytest.raises(msgspec.DecodeError):
            codec.decode(msgspec.msgpack.encode(outside))


def test_its_function_makes_the_digests_of_transcripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest_of = run_page(PAGE, tmp_path, monkeypatch)["digest_of"]
    compared = 0
    for case in read_json(FOLDER / f"{TRANSCRIPTS}.json"):
        if case["digest"] is None:
            continue
        welcome, *requests, release = [
            msgspec.msgpack.decode(bytes.fromhex(each), type=list[msgspec.Raw]) for each in case["messages"]
        ]
        words = [case["session"], case["protocol"], case["kind"]]
        descriptor = msgspec.msgpack.decode(welcome[4])
        asked = [bytes(request[2]) for request in requests]
        told = digest_of(words, PROTOCOL_VERSION, bytes(welcome[2]), descriptor, asked, bytes(release[1]))
        assert told == case["digest"], case["about"]
        compared += 1
    assert compared > 10
