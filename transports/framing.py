"""Framing: four bytes of length, big-endian, then the payload.

This module does no I/O. A length above the limit is refused as soon as it is read, before the payload is buffered. The
result does not depend on how the stream is divided: payloads before a refused length are returned first.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Final

from ..protocol.errors import MalformedMessageError

MAX_FRAME_BYTES: Final = 1 << 20
"""The most bytes of a payload, equal to those of the largest message."""

_HEADER = Struct(">I")


def check_size(payload: bytes) -> None:
    """Raise ValueError if `payload` exceeds the limit."""
    if len(payload) > MAX_FRAME_BYTES:
        raise ValueError(f"a payload has {len(payload)} bytes: send {MAX_FRAME_BYTES} at most")


def refused_size(size: int, *, limit: int) -> MalformedMessageError:
    """Describe a peer's payload above the limit."""
    return MalformedMessageError(f"a payload may have {limit} bytes, the peer announced {size}")


def encode_frames(payloads: Sequence[bytes]) -> bytes:
    """Return the bytes of all payloads, to be written at once.

    Raises:
        ValueError: a payload exceeds `MAX_FRAME_BYTES`.

    Examples:
        >>> encode_frames([b"ab", b""]).hex()
        '00000002616200000000'
    """
    pack = _HEADER.pack
    parts: list[bytes] = []
    for payload in payloads:
        size = len(payload)
        if size > MAX_FRAME_BYTES:
            check_size(payload)
        parts += (pack(size), payload)
    return b"".join(parts)


class FrameDecoder:
    """A decoder of payloads in a stream of bytes.

    Attributes:
        max_payload_bytes: the most bytes of a payload that it accepts from now on.

    Examples:
        >>> decoder = FrameDecoder()
        >>> decoder.feed(encode_frames([b"one", b"two"])[:9])
        [b'one']
        >>> decoder.is_empty
        False
    """

    __slots__ = ("_buffer", "_num_needed", "_refused_size", "max_payload_bytes")

    def __init__(self) -> None:
        self.max_payload_bytes = MAX_FRAME_BYTES
        self._buffer = bytearray()
        self._num_needed = 0  # the bytes that `_buffer` needs before the next payload is complete
        self._refused_size = 0

    @property
    def num_kept(self) -> int:
        """How many bytes of a payload that is not complete are kept."""
        return len(self._buffer)

    @property
    def is_empty(self) -> bool:
        """Whether the bytes so far end where a payload ends."""
        return not self._buffer

    def feed(self, data: bytes | bytearray) -> list[bytes]:
        """Take the next bytes and return the payloads that are complete.

        Raises:
            MalformedMessageError: a payload exceeds `max_payload_bytes`, and all payloads before it were returned.
                Every later call raises it again.
        """
        self.check()
        if self._buffer:
            self._buffer += data
            if len(self._buffer) < self._num_needed:
                return []  # avoids copying a large payload once for each small piece
            stream = bytes(self._buffer)
            self._buffer.clear()
        else:
            stream = bytes(data)
        unpack, header_size, end = _HEADER.unpack_from, _HEADER.size, len(stream)
        payloads: list[bytes] = []
        append = payloads.append
        at = 0
        while at + header_size <= end:
            (size,) = unpack(stream, at)
            if size > self.max_payload_bytes:
                self._refused_size = size
                break
            start = at + header_size
            stop = start + size
            if stop > end:
                self._num_needed = stop - at
                break
            append(stream[start:stop])
            at = stop
        else:
            self._num_needed = header_size
        if not self._refused_size:
            self._buffer += stream[at:]
        elif not payloads:  # nothing after a refused payload can be decoded
            self.check()
        return payloads

    def check(self) -> None:
        """Raise MalformedMessageError if a payload was announced that exceeded `max_payload_bytes`."""
        if self._refused_size:
            raise refused_size(self._refused_size, limit=self.max_payload_bytes)
