"""Conversion by annotation: what is converted, what is passed on, and what an error says."""

import dataclasses
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import pytest
from psephos.protocol import ConfigurationError
from psephos.protocol.arguments import exact_arguments, integer_of, integers_of, make_fields_exact, number_of
from psephos.protocol.arrays import FloatArray, IntArray


@exact_arguments
def told(whole: int, real: float = 0.5, *, name: str = "", wholes: Sequence[int] = ()) -> tuple[Any, ...]:
    """Return what came in."""
    return whole, real, name, wholes


def test_arguments_are_converted_by_place_and_by_name_and_others_are_passed_on() -> None:
    numbers: Any = np.array([1, 2], dtype=np.uint8)
    eight: Any = np.int8(8)
    quarter: Any = np.float16(0.25)
    assert repr(told(eight, quarter, name="x", wholes=numbers)) == "(8, 0.25, 'x', (1, 2))"
    assert repr(told(whole=eight)) == "(8, 0.5, '', ())"
    assert told.__name__ == "told"
    assert told.__doc__ == "Return what came in."


def test_too_many_or_unknown_arguments_are_the_functions_own_to_refuse() -> None:
    many: Any = (1, 0.5, 3)
    with pytest.raises(TypeError, match="positional"):
        told(*many)
    unknown: Any = {"other": 1}
    with pytest.raises(TypeError, match="other"):
        told(1, **unknown)


def test_exact_rows_are_taken_as_they_are() -> None:
    row = [1, 2, 3]
    assert told(1, wholes=row)[3] is row


@pytest.mark.parametrize("value", [1.0, np.float64(1), "1", None, True, np.bool_(True), [1], 1j])  # noqa: FBT003  values to try
def test_what_is_no_integer_is_refused_by_name(value: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"whole is .*: use an integer") as caught:
        told(value)
    assert caught.value.field == "whole"
    with pytest.raises(ConfigurationError, match=r"counts (is|are) .*: use an integer"):
        integer_of(value, "counts")


@pytest.mark.parametrize("value", ["1", None, True, np.bool_(True), [1], 1j, 10**400])  # noqa: FBT003  values to try
def test_what_is_no_number_is_refused_by_name(value: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"share is .*: use a number"):
        number_of(value, "share")


def test_arrays_of_other_widths_are_converted_and_none_is_cut() -> None:
    assert integers_of(np.array([[1, 2]], dtype=np.int8), "x").dtype == np.int64
    same = np.arange(3, dtype=np.int64)
    assert integers_of(same, "x") is same
    assert integers_of([], "x").dtype == np.int64
    assert integers_of(np.array([2**63 - 1], dtype=np.uint64), "x").tolist() == [2**63 - 1]
    for wrong in ([0.5], [1.0], ["1"], [True], np.array([2**63], dtype=np.uint64), [2**64], [[1], [1, 2]]):
        with pytest.raises(ConfigurationError, match=r"x (is|are) "):
            integers_of(wrong, "x")


@dataclasses.dataclass(frozen=True)
class Point:
    """Fields of every kind."""

    place: int
    size: float
    shares: tuple[Fraction, ...]
    table: IntArray
    numbers: FloatArray | None = None
    derived: int = dataclasses.field(init=False, default=0)

    def __post_init__(self) -> None:
        make_fields_exact(self, prefix="point.")


class Mark(msgspec.Struct, frozen=True):
    """A structure."""

    size: float
    name: str

    def __post_init__(self) -> None:
        make_fields_exact(self)


def test_fields_of_frozen_classes_are_converted() -> None:
    given: dict[str, Any] = {"place": np.uint8(3), "size": np.float32(0.5), "shares": [1, 0.5], "table": [[1]]}
    point = Point(**given)
    assert repr((point.place, point.size, point.shares)) == "(3, 0.5, (Fraction(1, 1), Fraction(1, 2)))"
    assert (point.table.dtype, point.numbers) == (np.int64, None)
    of_list: Any = [1]
    numbers = Point(1, 1.0, (), np.zeros(1, dtype=np.int64), of_list).numbers
    assert numbers is not None
    assert numbers.dtype == np.float64
    with pytest.raises(ConfigurationError, match=r"point\.place is .*: use an integer"):
        Point(**(given | {"place": of_list}))


def test_fields_of_structures_are_converted_and_encode() -> None:
    half: Any = np.float32(0.5)
    assert msgspec.json.encode(Mark(half, "x")) == b'{"size":0.5,"name":"x"}'
    assert msgspec.json.decode(b'{"size":0.5,"name":"x"}', type=Mark) == Mark(0.5, "x")
