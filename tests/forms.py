"""Arguments in several forms: numbers, scalars of every width, arrays, lists; and what is no such number."""

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np

INTEGERS: Final = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
FLOATS: Final = (np.float16, np.float32, np.float64)


class Form:
    """An argument that is given in several forms."""

    plain: Any

    def equal(self) -> Iterator[Any]:
        """Yield other forms of the same numbers."""
        raise NotImplementedError

    def refused(self) -> Iterator[Any]:
        raise NotImplementedError


@dataclasses.dataclass
class Whole(Form):
    """An integer."""

    plain: int

    def equal(self) -> Iterator[Any]:
        for kind in INTEGERS:
            if np.iinfo(kind).min <= self.plain <= np.iinfo(kind).max:
                yield kind(self.plain)
                yield np.array(self.plain, dtype=kind)

    def refused(self) -> Iterator[Any]:
        """Yield floats, whole or not, truth values, text, arrays."""
        yield from (float(self.plain), self.plain + 0.5, np.float32(self.plain), math.nan, math.inf)
        yield from (True, np.bool_(True), str(self.plain), None, [self.plain], np.array([self.plain, self.plain]))  # noqa: FBT003  a value to try


@dataclasses.dataclass
class Real(Form):
    """A number; one that half precision holds."""

    plain: float
    may_be_infinite: bool = False
    may_be_nan: bool = False
    is_exact: bool = False
    """Whether numbers that no float holds are welcome."""

    def __post_init__(self) -> None:
        assert float(np.float16(self.plain)) == self.plain

    def equal(self) -> Iterator[Any]:
        for kind in FLOATS:
            yield kind(self.plain)
            yield np.array(self.plain, dtype=kind)
        if self.plain.is_integer():
            yield int(self.plain)
            yield from Whole(int(self.plain)).equal()

    def refused(self) -> Iterator[Any]:
        """Yield what is no number, and numbers without a meaning."""
        if not self.may_be_nan:
            yield from (math.nan, np.float32(math.nan))
        if not self.may_be_infinite:
            yield from (math.inf, -math.inf, np.float16(math.inf))
        if not self.is_exact:
            yield 10**400
        yield from (True, np.bool_(True), "0.5", 1j, [self.plain], np.array([self.plain, self.plain]))  # noqa: FBT003  a value to try


@dataclasses.dataclass
class Wholes(Form):
    """Integers, one after another."""

    plain: tuple[int, ...]

    def equal(self) -> Iterator[Any]:
        """Yield a list, arrays of each width, and lists of such scalars."""
        yield list(self.plain)
        for kind in INTEGERS:
            if np.iinfo(kind).min <= min(self.plain) <= max(self.plain) <= np.iinfo(kind).max:
                yield np.array(self.plain, dtype=kind)
                yield [kind(number) for number in self.plain]

    def refused(self) -> Iterator[Any]:
        """Yield floats, truth values, tables, and no sequence at all."""
        yield np.array(self.plain, dtype=np.float64)
        yield [number + 0.5 for number in self.plain]
        yield np.ones(len(self.plain), dtype=np.bool_)
        yield np.array([self.plain])
        yield from ("12", 3, [math.nan] * len(self.plain))


@dataclasses.dataclass
class Reals(Form):
    """Numbers, one after another, that half precision holds."""

    plain: tuple[float, ...]
    are_drawn: bool = False
    """Whether a noise source draws them, whose promise it is that they are in [0, 1)."""

    def equal(self) -> Iterator[Any]:
        """Yield a list, and arrays and lists of each precision."""
        yield list(self.plain)
        for kind in FLOATS:
            yield np.array(self.plain, dtype=kind)
            yield [kind(number) for number in self.plain]
        if all(float(number).is_integer() for number in self.plain):
            yield from Wholes(tuple(map(int, self.plain))).equal()

    def refused(self) -> Iterator[Any]:
        """Yield what are no numbers, or such without a meaning."""
        yield from ("12", 3.0, np.array([self.plain]), np.ones(len(self.plain), dtype=np.bool_))
        for wrong in ("1", None) if self.are_drawn else ("1", None, math.nan, math.inf):
            yield [wrong, *self.plain[1:]]


@dataclasses.dataclass
class Integers(Form):
    """An array of integers."""

    plain: Any

    def __post_init__(self) -> None:
        self.plain = np.array(self.plain, dtype=np.int64)

    def equal(self) -> Iterator[Any]:
        """Yield lists and arrays of each width."""
        yield self.plain.tolist()
        for kind in INTEGERS:
            if np.iinfo(kind).min <= self.plain.min() <= self.plain.max() <= np.iinfo(kind).max:
                yield self.plain.astype(kind)

    def refused(self) -> Iterator[Any]:
        """Yield floats, truth values, text, and integers that do not fit."""
        yield self.plain.astype(np.float64)
        yield (self.plain + 0.5).tolist()
        yield self.plain.astype(np.bool_)
        yield self.plain.astype(str)
        yield np.full(self.plain.shape, 2**64 - 1, dtype=np.uint64)


@dataclasses.dataclass
class Numbers(Form):
    """An array of floats that half precision holds."""

    plain: Any

    def __post_init__(self) -> None:
        self.plain = np.array(self.plain, dtype=np.float64)

    def equal(self) -> Iterator[Any]:
        """Yield lists and arrays of each precision."""
        yield self.plain.tolist()
        for kind in FLOATS:
            yield self.plain.astype(kind)
        if (self.plain == np.floor(self.plain)).all():
            yield from Integers(self.plain.astype(np.int64)).equal()

    def refused(self) -> Iterator[Any]:
        """Yield truth values, text, complex numbers."""
        yield self.plain.astype(np.bool_)
        yield self.plain.astype(str)
        yield self.plain.astype(np.complex128)


@dataclasses.dataclass
class Table(Form):
    """Numbers by integers; of pairs where the values are tuples."""

    plain: Mapping[int, Any]

    def equal(self) -> Iterator[Any]:
        """Yield keys and values of other widths."""
        for kind, precision in zip((np.int8, np.uint16, np.int64), FLOATS, strict=True):
            yield {kind(key): self._as(value, precision) for key, value in self.plain.items()}

    def refused(self) -> Iterator[Any]:
        """Yield keys and values that are no numbers, and no table."""
        yield {float(key): value for key, value in self.plain.items()}
        yield dict.fromkeys(self.plain, "1")
        yield {
            key: math.nan if isinstance(value, float) else (math.nan,) * len(value) for key, value in self.plain.items()
        }
        yield list(self.plain)

    def _as(self, value: Any, precision: Callable[[float], Any]) -> Any:
        return precision(value) if isinstance(value, float) else np.array([precision(part) for part in value])


KINDS: Final[Mapping[tuple[type[Any], type[Any]], Callable[[Any], Form]]] = {
    (int, int): Whole,
    (float, float): Real,
    (tuple, int): Wholes,
    (tuple, float): Reals,
    (list, int): Integers,
    (list, float): Numbers,
}


def form_of(value: Any) -> Any:
    """Return what a number, or numbers, are forms of; anything else as it is.

    A tuple has as many numbers as it says; lists are arrays; a table is a dictionary.
    """
    own = value.__class__
    if own is dict:
        return Table(value)
    leaf = value[0].__class__ if own is tuple else np.asarray(value).dtype.type if own is list else own
    leaf = {np.int64: int, np.float64: float}.get(leaf, leaf)
    kind = KINDS.get((own, leaf))
    return value if kind is None else kind(value)
