"""Arguments from outside: numbers of whatever kind and width, made Python's own, or refused by their names.

A caller may hold a NumPy scalar, an array or a list where a number or a sequence is meant. Computed with as they are,
small integers wrap around, single precision stays single, and a float that is cut to an integer is another number. So a
public function converts by its own annotations, once and at its door (`exact_arguments`), and so does a frozen class
(`make_fields_exact`): equal numbers then give equal results, and what is no such number is an error that says which.
"""

import dataclasses
import functools
import math
import numbers
import operator
from collections.abc import Callable, Mapping, Sequence, Sized
from fractions import Fraction
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from .arrays import FloatArray, IntArray
from .errors import ConfigurationError

__all__ = [
    "check_aligned",
    "exact_arguments",
    "integer_of",
    "integers_of",
    "make_fields_exact",
    "number_of",
    "row_of_integers",
    "unconverted",
]

P = ParamSpec("P")
T = TypeVar("T")

Array: TypeAlias = NDArray[Any]

_Converter: TypeAlias = Callable[[Any, str], Any]

_MOST_INT64: Final = 2**63 - 1
_UNCONVERTED: Final = "unconverted"


def check_aligned(**columns: Sized) -> None:
    """Refuse columns of one table that have different numbers of entries.

    An outcome is also somebody else's: a server's message, or a file. Who reads it goes through its columns together.

    Args:
        columns: by their names; the first says how many entries there are.

    Raises:
        ConfigurationError: another one has more or fewer.
    """
    (first, entries), *others = columns.items()
    for name, column in others:
        if len(column) != len(entries):
            allowed = f"{len(entries)} entries, as {first} has"
            raise ConfigurationError(field=name, value=f"{len(column)} entries", allowed=allowed)


def integer_of(value: Any, field: str) -> int:
    """Return an integer of any kind as Python's own.

    Raises:
        ConfigurationError: it is a truth value, or no integer: a float is none, whatever it holds.
    """
    if type(value) is int:
        return value
    if type(value) not in {bool, np.bool_}:
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise ConfigurationError(field=field, value=value, allowed="an integer")


def number_of(value: Any, field: str) -> float:
    """Return a real number of any kind as a float; nan and infinity are the caller's to judge.

    Raises:
        ConfigurationError: it is a truth value, no number, or none that a float can hold.
    """
    if type(value) is float:
        return value
    value = _scalar_of(value)
    if type(value) is not bool and isinstance(value, numbers.Real):
        try:
            return float(value)
        except OverflowError:
            pass
    raise ConfigurationError(field=field, value=value, allowed="a number")


def _scalar_of(value: Any) -> Any:
    """Return the number of an array without an axis, and anything else as it is."""
    return cast("Any", value)[()] if isinstance(value, np.ndarray) else value


def _finite_of(value: Any, field: str) -> float:
    number = number_of(value, field)
    if not math.isfinite(number):
        raise ConfigurationError(field=field, value=number, allowed="a finite number")
    return number


def _fraction_of(value: Any, field: str) -> Fraction:
    """Return the exact number that a value holds."""
    if isinstance(value, Fraction):
        return value
    value = _scalar_of(value)
    if isinstance(value, float | np.floating):
        return Fraction(_finite_of(value, field))
    return Fraction(integer_of(value, field))


def _exact_of(value: Any, field: str) -> float | Fraction:
    """Return a fraction as it is, and any other number as a float."""
    return value if isinstance(value, Fraction) else _finite_of(value, field)


def integers_of(values: Any, field: str) -> IntArray:
    """Return integers of any width, in an array or in lists, as an array of int64.

    Raises:
        ConfigurationError: they are truth values or no integers, or one does not fit into 64 bits with its sign.
    """
    if isinstance(values, np.ndarray) and cast("Array", values).dtype == np.int64:
        return cast("IntArray", values)
    array = _array_of(values, field, "an array of integers")
    if array.dtype.kind not in "iu" and array.size:
        raise ConfigurationError(field=field, value=f"an array of {array.dtype}", allowed="an array of integers")
    if array.dtype.kind == "u" and array.size and int(array.max()) > _MOST_INT64:
        raise ConfigurationError(field=field, value=int(array.max()), allowed="integers below 2**63")
    return array.astype(np.int64)


def _numbers_of(values: Any, field: str) -> FloatArray:
    """Return numbers of any width, in an array or in lists, as an array of float64."""
    if isinstance(values, np.ndarray) and cast("Array", values).dtype == np.float64:
        return cast("FloatArray", values)
    array = _array_of(values, field, "an array of numbers")
    if array.dtype.kind not in "fiu":
        raise ConfigurationError(field=field, value=f"an array of {array.dtype}", allowed="an array of numbers")
    return array.astype(np.float64)


def _array_of(values: Any, field: str, allowed: str) -> Array:
    try:
        return np.asarray(values)
    except ValueError:
        raise ConfigurationError(field=field, value="lists of different length", allowed=allowed) from None


def _row_of(
    convert: _Converter, exact: type | None = None, is_right: Callable[[Any], bool] | None = None
) -> _Converter:
    """Return what converts a sequence or an array of one axis to a tuple; one of this exact type is taken as it is.

    Args:
        convert: what converts each.
        exact: the type.
        is_right: what each of it has to be as well.
    """

    def convert_row(values: Any, field: str) -> Sequence[Any]:
        row = cast("Sequence[Any]", values)
        is_exact = isinstance(values, tuple | list) and set(map(type, row)) == {exact}
        if is_exact and (is_right is None or all(map(is_right, row))):
            return row
        if isinstance(values, np.ndarray):
            if len(shape := cast("Array", values).shape) != 1:
                value = f"an array of shape {shape}"
                raise ConfigurationError(field=field, value=value, allowed="one number after another")
        elif isinstance(values, str | bytes) or not isinstance(values, Sequence):
            raise ConfigurationError(field=field, value=values, allowed="one number after another")
        return tuple(convert(value, field) for value in row)

    return convert_row


def _table_of(convert: _Converter) -> _Converter:
    """Return what converts a mapping from integers."""

    def convert_table(values: Any, field: str) -> dict[int, Any]:
        if not isinstance(values, Mapping):
            raise ConfigurationError(field=field, value=values, allowed="a mapping from integers")
        pairs = cast("Mapping[Any, Any]", values).items()
        return {integer_of(key, field): convert(value, field) for key, value in pairs}

    return convert_table


def _tuple_of(convert: _Converter) -> _Converter:
    """Return what makes a tuple of a row, so that a frozen value can be hashed."""

    def convert_tuple(values: Any, field: str) -> tuple[Any, ...]:
        return tuple(convert(values, field))  # of a tuple itself

    return convert_tuple


def _or_none(convert: _Converter) -> _Converter:
    return lambda value, field: None if value is None else convert(value, field)


_OWN_INTEGERS: Final = {int}


def row_of_integers(values: Sequence[int], field: str) -> Sequence[int]:
    """Return a row of integers of any kind as Python's own; one that holds nothing else is taken as it is.

    Raises:
        ConfigurationError: it is no row, or one of it is a truth value, or no integer.
    """
    if type(values) in {tuple, list} and {*map(type, values)} == _OWN_INTEGERS:
        return values
    return _row_of_integers(values, field)


_row_of_integers = _row_of(integer_of, int)
_row_of_numbers = _row_of(number_of, float)
_row_of_fractions = _row_of(_fraction_of, Fraction)
_rows_of_finite = _row_of(_row_of(_finite_of, float, math.isfinite))


def _matrix_of(values: Any, field: str) -> Sequence[Sequence[float]] | FloatArray:
    """Return rows of finite numbers; an array of them is taken as it is."""
    if isinstance(values, np.ndarray):
        table = _numbers_of(values, field)
        if table.ndim == 2 and np.isfinite(table).all():  # noqa: PLR2004  rows and columns
            return table
    return _rows_of_finite(values, field)


_CONVERTERS: Final[Sequence[tuple[Any, _Converter]]] = (
    (int, integer_of),
    (int | None, _or_none(integer_of)),
    (float, number_of),
    (float | None, _or_none(number_of)),
    (Fraction, _fraction_of),
    (float | Fraction, _exact_of),
    (Sequence[int], _row_of_integers),
    (tuple[int, ...], _tuple_of(_row_of_integers)),
    (Sequence[float], _row_of_numbers),
    (tuple[float, ...], _tuple_of(_row_of_numbers)),
    (tuple[float, float], _tuple_of(_row_of_numbers)),
    (Sequence[Fraction], _row_of_fractions),
    (tuple[Fraction, ...], _tuple_of(_row_of_fractions)),
    (Sequence[Fraction | float], _row_of_fractions),
    (Sequence[Sequence[float]] | FloatArray, _matrix_of),
    (Sequence[Sequence[float]] | FloatArray | None, _or_none(_matrix_of)),
    (Mapping[int, float], _table_of(number_of)),
    (Mapping[int, tuple[float, ...]], _table_of(_tuple_of(_row_of_numbers))),
    (Mapping[int, tuple[float, float]], _table_of(_tuple_of(_row_of(_finite_of)))),
    (IntArray, integers_of),
    (FloatArray, _numbers_of),
    (FloatArray | None, _or_none(_numbers_of)),
)


def _converter_for(annotation: Any) -> _Converter | None:
    return next((convert for known, convert in _CONVERTERS if annotation == known), None)


def exact_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """Let a public function take numbers of any kind, by its annotations; use it as a decorator.

    It converts integers, floats, fractions, and sequences and arrays of these. An argument that is no such number ends
    in a `ConfigurationError` with the parameter's name.
    """
    code: Any = getattr(function, "__code__")  # noqa: B009  a callable need not have one; what is decorated has
    names: Sequence[str] = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    by_place = [(name, _converter_for(function.__annotations__.get(name))) for name in names]
    by_name = dict(by_place)

    @functools.wraps(function)
    def converting(*args: P.args, **kwargs: P.kwargs) -> T:
        placed = [
            value if convert is None else convert(value, name)
            for value, (name, convert) in zip(args, by_place, strict=False)
        ]
        named: dict[str, Any] = {
            name: value if (convert := by_name.get(name)) is None else convert(value, name)
            for name, value in kwargs.items()
        }
        return cast("Callable[..., T]", function)(*placed, *args[len(placed) :], **named)

    # Whoever wraps it copies what is written on it, and is another function.
    setattr(converting, _UNCONVERTED, (converting, function))
    return converting


def unconverted(function: Any) -> Any:
    """Return what `exact_arguments` has decorated, for who has numbers that are exact; anything else as it is."""
    decorated, inner = getattr(function, _UNCONVERTED, (None, None))
    return function if decorated is not function else unconverted(inner)


def make_fields_exact(instance: Any, *, prefix: str = "") -> None:
    """Convert the fields of a frozen dataclass or structure, by their annotations, as it is made.

    Args:
        instance: whose `__post_init__` this is the first line of.
        prefix: of the fields' names in errors.

    Raises:
        ConfigurationError: a field holds no such number.
    """
    for name, convert in _fields_of(instance.__class__):
        value = getattr(instance, name)
        if (converted := convert(value, prefix + name)) is not value:
            if isinstance(instance, msgspec.Struct):
                msgspec.structs.force_setattr(instance, name, converted)
            else:
                object.__setattr__(instance, name, converted)


@functools.cache
def _fields_of(kind: Any) -> tuple[tuple[str, _Converter], ...]:
    """Return the fields that are converted."""
    if issubclass(kind, msgspec.Struct):
        annotated = [(field.name, field.type) for field in msgspec.structs.fields(kind)]
    else:
        annotated = [(field.name, field.type) for field in dataclasses.fields(kind) if field.init]
    found = ((name, _converter_for(annotation)) for name, annotation in annotated)
    return tuple((name, convert) for name, convert in found if convert is not None)
