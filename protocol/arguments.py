"""Conversion of arguments: numbers of any type and width become Python numbers, or are refused by name.

A caller may pass a NumPy scalar, an array or a list for a number or a sequence. Without conversion, small integers
would wrap around, single precision would stay single, and a float cut to an integer would be another number. So public
functions convert their arguments by their annotations (`exact_arguments`), and frozen classes their fields
(`make_fields_exact`). Equal numbers then give equal results. ConfigurationError names an argument that cannot be
converted: a Boolean, any float for an integer, or a number too large for a float or for 64 bits.
"""

import dataclasses
import functools
import math
import numbers
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from fractions import Fraction
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from .arrays import FloatArray, IntArray
from .errors import ConfigurationError, require

P = ParamSpec("P")
T = TypeVar("T")

Array: TypeAlias = NDArray[Any]

_Converter: TypeAlias = Callable[[Any, str], Any]

MAX_NAME_LENGTH: Final = 256
NAMES: Final = f"names of 1 to {MAX_NAME_LENGTH} printable characters, without blanks around"
"""The rule for names in a session's parameters, such as candidates; `roles` has the rule for parties."""

_MOST_INT64: Final = 2**63 - 1
_UNCONVERTED: Final = "unconverted"


def check_aligned(**columns: Sized) -> None:
    """Raise ConfigurationError unless all columns have as many entries as the first.

    An outcome may come from a server's message or a file, and its readers iterate over its columns together.

    Examples:
        >>> check_aligned(names=["a", "b"], counts=[1, 2])
        >>> check_aligned(names=["a", "b"], counts=[1])
        Traceback (most recent call last):
            ...
        psephos.protocol.errors.ConfigurationError: counts has 1 entry, and needs 2 entries, as names has
    """
    (first, entries), *other_columns = columns.items()
    for name, column in other_columns:
        if len(column) != len(entries):
            allowed = f"{len(entries)} entries, as {first} has"
            raise ConfigurationError(field=name, value=f"{len(column)} entries", allowed=allowed)


def is_name(name: object) -> bool:
    """Return whether a name is one of `NAMES`.

    Examples:
        >>> is_name("annual vote"), is_name(""), is_name(" vote")
        (True, False, False)
    """
    return isinstance(name, str) and 0 < len(name) <= MAX_NAME_LENGTH and name.isprintable() and name == name.strip()


def check_names(field: str, names: Sequence[str], *, without: str = "") -> None:
    """Raise ConfigurationError unless names are distinct, comply with `NAMES`, and do not contain the text `without`.

    Examples:
        >>> check_names("candidates", ["tea", "coffee"])
        >>> check_names("candidates", ["tea", "tea"])
        Traceback (most recent call last):
            ...
        psephos.protocol.errors.ConfigurationError: one of candidates is 'tea': use distinct names of 1 to 256 ...
    """
    allowed = f"distinct {NAMES}" + (f" and without {without!r}" if without else "")
    for number, name in enumerate(names):
        is_free = not without or without not in name
        require(is_name(name) and is_free and name not in names[:number], field, name, allowed)


def first_repeated(names: Iterable[str]) -> str | None:
    """Return the first name that repeats an earlier one; None if all are distinct.

    Examples:
        >>> first_repeated(["a", "b", "a"])
        'a'
    """
    earlier_names: set[str] = set()
    return next((name for name in names if name in earlier_names or earlier_names.add(name)), None)


def integer_of(value: Any, field: str) -> int:
    """Convert an integer of any type to a Python integer.

    Examples:
        >>> integer_of(np.int8(7), "n")
        7
        >>> integer_of(True, "n")
        Traceback (most recent call last):
            ...
        psephos.protocol.errors.ConfigurationError: n is True: use an integer
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
    """Convert a real number of any type to a float. NaN and infinity pass.

    Examples:
        >>> number_of(np.float32(0.5), "x"), number_of(2, "x")
        (0.5, 2.0)
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
    require(math.isfinite(number), field, number, "a finite number")
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
    """Convert an array or lists of integers of any width to an array of int64.

    Examples:
        >>> integers_of([1, 2], "values").dtype.name
        'int64'
        >>> integers_of([0.5], "values")
        Traceback (most recent call last):
            ...
        psephos.protocol.errors.ConfigurationError: values is an array of float64: use an array of integers
    """
    if isinstance(values, np.ndarray) and cast("Array", values).dtype == np.int64:
        return cast("IntArray", values)
    array = _array_of(values, field, "an array of integers")
    require(array.dtype.kind in "iu" or not array.size, field, f"an array of {array.dtype}", "an array of integers")
    if array.dtype.kind == "u" and array.size:
        require(int(array.max()) <= _MOST_INT64, field, int(array.max()), "integers below 2**63")
    return array.astype(np.int64)


def _numbers_of(values: Any, field: str) -> FloatArray:
    """Return numbers of any width, in an array or in lists, as an array of float64."""
    if isinstance(values, np.ndarray) and cast("Array", values).dtype == np.float64:
        return cast("FloatArray", values)
    array = _array_of(values, field, "an array of numbers")
    require(array.dtype.kind in "fiu", field, f"an array of {array.dtype}", "an array of numbers")
    return array.astype(np.float64)


def _array_of(values: Any, field: str, allowed: str) -> Array:
    try:
        return np.asarray(values)
    except ValueError:
        raise ConfigurationError(field=field, value="lists of different length", allowed=allowed) from None


def _row_of(
    convert: _Converter, exact_type: type | None = None, is_right: Callable[[Any], bool] | None = None
) -> _Converter:
    """Return a converter of sequences and one-dimensional arrays to tuples; the exact type passes unchanged.

    Args:
        is_right: a further condition on each element.
    """

    def convert_row(values: Any, field: str) -> Sequence[Any]:
        row = cast("Sequence[Any]", values)
        is_exact = isinstance(values, tuple | list) and set(map(type, row)) == {exact_type}
        if is_exact and (is_right is None or all(map(is_right, row))):
            return row
        if isinstance(values, np.ndarray):
            shape = cast("Array", values).shape
            require(len(shape) == 1, field, f"an array of shape {shape}", "one number after another")
        elif isinstance(values, str | bytes) or not isinstance(values, Sequence):
            raise ConfigurationError(field=field, value=values, allowed="one number after another")
        return tuple(convert(value, field) for value in row)

    return convert_row


def _table_of(convert: _Converter) -> _Converter:
    """Return a converter of mappings with integer keys."""

    def convert_table(values: Any, field: str) -> dict[int, Any]:
        require(isinstance(values, Mapping), field, values, "a mapping from integers")
        pairs = cast("Mapping[Any, Any]", values).items()
        return {integer_of(key, field): convert(value, field) for key, value in pairs}

    return convert_table


def _tuple_of(convert: _Converter) -> _Converter:
    """Return a converter of rows to tuples, so that a frozen value can be hashed."""

    def convert_tuple(values: Any, field: str) -> tuple[Any, ...]:
        return tuple(convert(values, field))  # the row may be an element of a longer tuple

    return convert_tuple


def _optional_converter(convert: _Converter) -> _Converter:
    return lambda value, field: None if value is None else convert(value, field)


_OWN_INTEGERS: Final = {int}


def row_of_integers(values: Sequence[int], field: str) -> Sequence[int]:
    """Convert a row of integers of any type to Python integers; a row of these is returned unchanged.

    Examples:
        >>> row_of_integers(np.array([1, 2], dtype=np.int8), "row")
        (1, 2)
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
    (int | None, _optional_converter(integer_of)),
    (float, number_of),
    (float | None, _optional_converter(number_of)),
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
    (Sequence[Sequence[float]] | FloatArray | None, _optional_converter(_matrix_of)),
    (Mapping[int, float], _table_of(number_of)),
    (Mapping[int, tuple[float, ...]], _table_of(_tuple_of(_row_of_numbers))),
    (Mapping[int, tuple[float, float]], _table_of(_tuple_of(_row_of(_finite_of)))),
    (IntArray, integers_of),
    (FloatArray, _numbers_of),
    (FloatArray | None, _optional_converter(_numbers_of)),
)


def _converter_for(annotation: Any) -> _Converter | None:
    return next((convert for kind, convert in _CONVERTERS if annotation == kind), None)


def exact_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a public function so that it accepts numbers of any type, as its annotations say.

    It converts integers, floats, fractions, and sequences and arrays of these.

    Examples:
        >>> @exact_arguments
        ... def twice(number: int) -> int:
        ...     return 2 * number
        >>> twice(np.int8(100))
        200
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
        keywords: dict[str, Any] = {
            name: value if (convert := by_name.get(name)) is None else convert(value, name)
            for name, value in kwargs.items()
        }
        return cast("Callable[..., T]", function)(*placed, *args[len(placed) :], **keywords)

    # functools.wraps copies this attribute to other functions, so it also holds the function that it belongs to.
    setattr(converting, _UNCONVERTED, (converting, function))
    return converting


def unconverted(function: Any) -> Any:
    """Return the function behind `exact_arguments`, for callers with exact numbers; other functions unchanged."""
    decorated, inner = getattr(function, _UNCONVERTED, (None, None))
    return function if decorated is not function else unconverted(inner)


def make_fields_exact(instance: Any, *, prefix: str = "") -> None:
    """Convert the fields of a frozen dataclass or struct by their annotations.

    Call it first in `__post_init__`. Errors show `prefix` in front of a field's name.
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
    converters = ((name, _converter_for(annotation)) for name, annotation in annotated)
    return tuple((name, convert) for name, convert in converters if convert is not None)
