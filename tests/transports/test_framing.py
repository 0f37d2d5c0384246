"""Framing is pure: whatever way the stream is cut, the same payloads come out, and nothing oversized is buffered."""

import contextlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol.errors import MalformedMessageError
from psephos.protocol.messages import MAX_MESSAGE_BYTES
from psephos.transports import MAX_FRAME_BYTES, FrameDecoder, encode_frames
from psephos.transports.framing import check_size

payload_lists = st.lists(st.binary(max_size=40), max_size=12)


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    """Return the pieces of `stream` between these places, empty ones included."""
    bounds = sorted(place % (len(stream) + 1) for place in places)
    return [stream[start:stop] for start, stop in itertools.pairwise([0, *bounds, len(stream)])]


def feed_all(decoder: FrameDecoder, pieces: list[bytes]) -> list[bytes]:
    """Return what comes out of a decoder that is fed these pieces."""
    return [payload for piece in pieces for payload in decoder.feed(piece)]


@given(payload_lists, st.lists(st.integers(min_value=0), max_size=20))
def test_any_cut_of_the_stream_gives_the_same_payloads(payloads: list[bytes], places: list[int]) -> None:
    decoder = FrameDecoder()
    assert feed_all(decoder, cut(encode_frames(payloads), places)) == payloads
    assert decoder.is_empty


@given(payload_lists, st.integers(min_value=1), st.binary(max_size=20), st.lists(st.integers(min_value=0), max_size=20))
def test_any_cut_gives_the_payloads_before_a_refused_one_and_then_refuses(
    payloads: list[bytes], excess: int, rest: bytes, places: list[int]
) -> None:
    size = min(MAX_FRAME_BYTES + excess, 2**32 - 1)
    stream = encode_frames(payloads) + size.to_bytes(4, "big") + rest
    decoder = FrameDecoder()
    arrived: list[bytes] = []

    def feed() -> None:
        for piece in [*cut(stream, places), b""]:
            arrived.extend(decoder.feed(piece))

    with pytest.raises(MalformedMessageError, match=f"announced {size}"):
        feed()
    assert arrived == payloads


@given(
    st.lists(st.binary(max_size=60), max_size=12),
    st.integers(min_value=0, max_value=64),
    st.lists(st.integers(min_value=0), max_size=20),
)
def test_a_limit_of_its_own_lets_a_decoder_keep_no_more_than_a_frame_of_that_size(
    payloads: list[bytes], limit: int, places: list[int]
) -> None:
    decoder = FrameDecoder()
    decoder.max_payload_bytes = limit
    arrived: list[bytes] = []
    small = list(itertools.takewhile(lambda payload: len(payload) <= limit, payloads))
    pieces = [piece for part in cut(encode_frames(payloads), places) for piece in cut(part, [8 * n for n in range(99)])]
    with contextlib.suppress(MalformedMessageError):
        for piece in pieces:
            arrived += decoder.feed(piece)
            assert decoder.num_kept <= 4 + limit
    assert arrived == small
    if len(small) < len(payloads):
        with pytest.raises(MalformedMessageError, match=f"may have {limit} bytes, the peer announced"):
            decoder.check()


@given(st.lists(payload_lists, max_size=5))
def test_frames_of_batches_are_those_of_all_payloads_together(batches: list[list[bytes]]) -> None:
    together = [payload for batch in batches for payload in batch]
    assert b"".join(encode_frames(batch) for batch in batches) == encode_frames(together)


def test_a_frame_is_four_bytes_of_length_and_the_payload() -> None:
    assert encode_frames([b"", b"abc"]) == b"\x00\x00\x00\x00\x00\x00\x00\x03abc"


def test_a_payload_of_the_greatest_size_passes_and_one_byte_more_does_not() -> None:
    greatest = bytes(MAX_FRAME_BYTES)
    assert FrameDecoder().feed(encode_frames([greatest])) == [greatest]
    check_size(greatest)
    with pytest.raises(ValueError, match=f"{MAX_FRAME_BYTES + 1} bytes: send {MAX_FRAME_BYTES} at most"):
        encode_frames([b"before it", greatest + b"x"])
    with pytest.raises(ValueError, match=f"{MAX_FRAME_BYTES + 1} bytes: send {MAX_FRAME_BYTES} at most"):
        check_size(greatest + b"x")


def test_the_greatest_message_fits_into_a_frame() -> None:
    assert MAX_MESSAGE_BYTES <= MAX_FRAME_BYTES


def test_an_announced_oversize_is_refused_before_anything_of_it_is_buffered() -> None:
    decoder = FrameDecoder()
    with pytest.raises(MalformedMessageError):
        decoder.feed((MAX_FRAME_BYTES + 1).to_bytes(4, "big") + b"x" * 1000)
    assert decoder.is_empty


def test_a_refusal_stays() -> None:
    decoder = FrameDecoder()
    with pytest.raises(MalformedMessageError):
        decoder.feed(b"\xff\xff\xff\xff")
    with pytest.raises(MalformedMessageError):
        decoder.feed(encode_frames([b"as if nothing had happened"]))
    with pytest.raises(MalformedMessageError):
        decoder.check()


@pytest.mark.parametrize("num_bytes", [1, 3, 4, 7])
def test_a_stream_that_stops_inside_a_frame_is_not_empty(num_bytes: int) -> None:
    decoder = FrameDecoder()
    assert not decoder.feed(encode_frames([b"abcd"])[:num_bytes])
    assert not decoder.is_empty


def test_bytes_may_come_in_a_buffer_that_is_used_again() -> None:
    buffer = bytearray(encode_frames([b"abc"]) + b"\x00\x00")
    decoder = FrameDecoder()
    (payload,) = decoder.feed(buffer)
    buffer[:] = b"\xff" * len(buffer)
    assert payload == b"abc"
    assert decoder.feed(b"\x00\x01z") == [b"z"]
