"""Matrices in MATLAB files of version 5, as far as published crowds need them: integers, text, and cells of both.

scipy.io reads far more, but some damaged files end its process (a segmentation fault), where a reader of data sets
should say which file is damaged.

Source: MathWorks, MAT-File Format, level 5.
"""

import math
import struct
import zlib
from collections.abc import Iterator
from typing import Final, TypeAlias

Value: TypeAlias = "int | str | Matrix"
Matrix: TypeAlias = "list[list[Value]]"

_HEADER_BYTES: Final = 128
_MATRIX, _COMPRESSED = 14, 15
_CELL, _CHARACTER = 1, 4
_NUMERIC: Final = range(6, 16)
_NUMBERS: Final = {1: "b", 2: "B", 3: "h", 4: "H", 5: "i", 6: "I", 7: "f", 9: "d", 12: "q", 13: "Q"}
"""How `struct` calls the types of numbers."""
_TEXTS: Final = {2: "latin-1", 4: "utf-16-le", 16: "utf-8", 17: "utf-16-le"}
_MAX_BYTES: Final = 1 << 28  # more than this no element unpacks to
_MAX_DEPTH: Final = 4


def read_matrix(content: bytes, name: str) -> Matrix:
    """Return the rows of a two-dimensional variable; a cell that holds one number or one line of text becomes that.

    Raises:
        ValueError: there is no such variable, or something in the file is not what it should be.
    """
    if len(content) < _HEADER_BYTES or content[124:128] != b"\x00\x01IM":
        raise ValueError("it is not a MATLAB file of version 5")
    try:
        for kind, data in _elements(content[_HEADER_BYTES:]):
            element = (kind, data)
            if kind == _COMPRESSED:
                element = next(_elements(zlib.decompressobj().decompress(data, _MAX_BYTES)), (0, b""))
            if element[0] == _MATRIX:
                matrix_name, matrix = _matrix(element[1], depth=0)
                if matrix_name == name:
                    return matrix
    except (struct.error, zlib.error, UnicodeDecodeError) as error:
        raise ValueError(f"it is damaged ({error})") from None
    raise ValueError(f"it has no variable {name}")


def _elements(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the type and the data of elements that follow each other."""
    place = 0
    while place < len(content):
        kind, size = struct.unpack_from("<II", content, place)
        start, end = place + 8, place + 8 + size
        if kind >> 16:  # a small one, in the tag itself
            kind, size = kind & 0xFFFF, kind >> 16
            start, end = place + 4, place + 4 + min(size, 4)
            place += 8
        else:
            place = end if kind == _COMPRESSED else end + -size % 8
        if end > len(content):
            raise ValueError("it is cut off")
        yield kind, content[start:end]


def _matrix(content: bytes, *, depth: int) -> tuple[str, Matrix]:
    """Return a matrix's name and its rows."""
    parts = _elements(content)
    flags, dimensions, name = (next(parts, (0, b""))[1] for _ in range(3))
    kind = struct.unpack_from("<I", flags)[0] & 0xFF
    num_rows, num_columns = struct.unpack("<ii", dimensions)
    if num_rows < 0 or num_columns < 0 or num_rows * num_columns > len(content):
        raise ValueError("it has a matrix of an impossible shape")
    values: list[Value]
    if kind == _CELL:
        if depth == _MAX_DEPTH:
            raise ValueError("it has cells within cells within cells")
        values = [_value(_matrix(data, depth=depth + 1)[1]) for _, data in parts]
    else:
        values = list(_entries(kind, *next(parts, (0, b""))))
    if len(values) != num_rows * num_columns:
        raise ValueError("it has a matrix whose entries do not fit its shape")
    return name.decode("latin-1"), [values[row::num_rows] for row in range(num_rows)]


def _entries(kind: int, number_type: int, data: bytes) -> Iterator[Value]:
    """Yield the numbers or the characters of a matrix, column for column."""
    if kind == _CHARACTER and number_type in _TEXTS:
        yield from data.decode(_TEXTS[number_type])
    elif kind in _NUMERIC and number_type in _NUMBERS:
        size = struct.calcsize(_NUMBERS[number_type])
        for number in struct.unpack(f"<{len(data) // size}{_NUMBERS[number_type]}", data):
            if not math.isfinite(number) or number != int(number):
                raise ValueError(f"it holds {number}, which is not an integer")
            yield int(number)
    else:
        raise ValueError(f"it holds a matrix of class {kind} and type {number_type}")


def _value(matrix: Matrix) -> Value:
    """Return what a cell holds, more simply where it is one number or one line of text."""
    match matrix:
        case [[int(number)]]:
            return number
        case [line] if line and all(isinstance(character, str) for character in line):
            return "".join(map(str, line))
        case _:
            return matrix
