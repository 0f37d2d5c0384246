"""Integers on the wire: rows whose size does not depend on their content.

MessagePack writes small numbers in fewer bytes. So the size of a report would reveal something about it to an observer
of encrypted traffic, and in the central model something about the value itself. Here each number of a row takes as many
bytes as the widest number of its range. A row in another encoding is refused, since its size could reveal its content.
Any MessagePack decoder reads these rows.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec
import numpy as np

from .arrays import IntArray

_WIDTHS: Final = np.array([1, 2, 3, 5, 9], dtype=np.int64)
"""The sizes in bytes of MessagePack's integers: 1 for a small number, or a format byte and 1, 2, 4 or 8 bytes."""
# The least numbers that do not fit into each of these widths but the last; negative numbers are mapped to n ≥ 0 first.
_TOO_LARGE: Final = np.array([1 << 7, 1 << 8, 1 << 16, 1 << 32], dtype=np.int64)
_TOO_SMALL: Final = np.array([1 << 5, 1 << 7, 1 << 15, 1 << 31], dtype=np.int64)
_FORMATS: Final = {2: (b"\xcc", b"\xd0"), 3: (b"\xcd", b"\xd1"), 5: (b"\xce", b"\xd2"), 9: (b"\xcf", b"\xd3")}
"""The format bytes by width: for ranges from 0 on, and for ranges with negative numbers."""
_SHORT_ROW: Final = 15
_ROW: Final = 0xFFFF
_ROWS: Final = msgspec.msgpack.Decoder(list[tuple[int, ...]])


class RowCodec:
    """A codec of rows of a fixed number of integers from `low` to `high`, all rows in the same number of bytes.

    Attributes:
        number_bytes: the bytes of each number: 1, 2, 3, 5 or 9.
        max_bytes: the bytes of a payload; another size is refused.

    Examples:
        >>> codec = RowCodec(3, 0, 1)
        >>> bytes(codec.encode([1, 0, 1])).hex(), codec.decode(codec.encode([1, 0, 1]))
        ('93010001', (1, 0, 1))
    """

    def __init__(self, length: int, low: int, high: int) -> None:
        number = Annotated[int, msgspec.Meta(ge=low, le=high)]
        row: Any = Annotated[tuple[number, ...], msgspec.Meta(min_length=length, max_length=length)]
        self._decoder: msgspec.msgpack.Decoder[tuple[int, ...]] = msgspec.msgpack.Decoder(row)
        self.number_bytes = width_of(low, high)
        self._header_size = len(_header(length))
        self.max_bytes = self._header_size + self.number_bytes * length
        self._formats = frozenset(b"".join(_FORMATS.get(self.number_bytes, ())))
        self._length = length

    def encode(self, row: Sequence[int], /) -> msgspec.Raw:
        """Return a row as it travels; OverflowError for a number that takes more bytes than any of the range."""
        return msgspec.Raw(encode_row(row, width=self.number_bytes))

    def decode(self, payload: bytes | msgspec.Raw, /) -> tuple[int, ...]:
        """Return the row that a payload holds.

        Raises:
            msgspec.DecodeError: it is no row, or its numbers do not take `number_bytes` each.
        """
        data = bytes(payload)
        row = self._decoder.decode(data)
        # If numbers take more than one byte, each must begin with its format byte.
        if len(data) != self.max_bytes or (
            self._formats and not self._formats.issuperset(data[self._header_size :: self.number_bytes])
        ):
            raise msgspec.DecodeError(f"its numbers do not take the {self.number_bytes} bytes that each has to")
        return row

    def decode_all(self, payloads: Sequence[bytes]) -> IntArray:
        """Return the rows of payloads that were decoded, and so checked, before: int64, shape (n, length)."""
        rows = _ROWS.decode(b"\xdd" + len(payloads).to_bytes(4, "big") + b"".join(payloads))
        return np.array(rows, dtype=np.int64).reshape(len(payloads), self._length)


def bytes_of(numbers: IntArray) -> IntArray:
    """Return the number of bytes of each integer in MessagePack.

    Examples:
        >>> bytes_of(np.array([0, 127, 128, -33, 1 << 40])).tolist()
        [1, 1, 2, 2, 9]
    """
    places = np.where(
        numbers >= 0,
        np.searchsorted(_TOO_LARGE, numbers, side="right"),
        np.searchsorted(_TOO_SMALL, -(numbers + 1), side="right"),
    )
    return _WIDTHS[places]


def width_of(low: int, high: int) -> int:
    """Return the number of bytes that hold any integer from `low` to `high`, both int64.

    Examples:
        >>> width_of(0, 1), width_of(-1000, 1000)
        (1, 3)
    """
    return int(bytes_of(np.array([low, high], dtype=np.int64)).max())


def encode_row(numbers: Sequence[int], *, width: int) -> bytes:
    """Return a MessagePack array whose numbers take `width` bytes each.

    Args:
        numbers: integers that fit into this width.
        width: the bytes of each number: 1, 2, 3, 5 or 9.

    Raises:
        OverflowError: a number takes more bytes.

    Examples:
        >>> encode_row([1, 2], width=1).hex(), encode_row([1, 2], width=3).hex()
        ('920102', '92cd0001cd0002')
    """
    if width == 1:
        row, length = msgspec.msgpack.encode(numbers), len(numbers)
        if len(row) > length + (1 if length <= _SHORT_ROW else 3 if length <= _ROW else 5):
            raise OverflowError("a number does not fit into 1 byte")  # the message does not show the private number
        return row
    size = width - 1
    upper, lower = _FORMATS[width]
    integers = [
        upper + number.to_bytes(size, "big") if number >= 0 else lower + number.to_bytes(size, "big", signed=True)
        for number in numbers
    ]
    return _header(len(numbers)) + b"".join(integers)


def rewrite_row(row: bytes, numbers: Sequence[int]) -> bytes:
    """Encode numbers with the widths of another encoded row; OverflowError for a number that takes more bytes.

    Examples:
        >>> rewrite_row(encode_row([1, 2], width=3), [7, 8]).hex()
        '92cd0007cd0008'
    """
    length = len(msgspec.msgpack.decode(row))
    return encode_row(numbers, width=(len(row) - len(_header(length))) // max(length, 1) or 1)


def _header(length: int) -> bytes:
    if length <= _SHORT_ROW:
        return bytes([0x90 | length])
    return b"\xdc" + length.to_bytes(2, "big") if length <= _ROW else b"\xdd" + length.to_bytes(4, "big")
