"""Shares of secrets modulo ℓ, the prime order of Ed25519's group.

A secret is the constant term of a polynomial whose other coefficients are uniform. Each holder has the polynomial's
value at the holder's number. As many values as coefficients determine the secret; fewer reveal nothing. Since secrets
are scalars, each has a public point, with which a reconstructed secret is compared.

Source: Shamir (1979); Cascudo and David (2017), for the test that values are those of one polynomial (SCRAPE).
"""

import functools
import hashlib
import itertools
import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

ORDER: Final = 2**252 + 27742317777372353535851937790883648493
"""ℓ, the prime order of the group."""
SCALAR_BYTES: Final = 32
ENTROPY_BYTES: Final = 48
"""The number of bytes from which a scalar is uniform up to 2^(−128)."""
_FIELD: Final = 2**255 - 19  # the field of the points' coordinates
_EIGHTH: Final = pow(8, -1, ORDER)
_SLOT: Final = 512  # bits for a polynomial's value, since several are computed as one integer
_ROWS: Final = 64  # rows of differences per batch


def scalars_of(entropy: bytes) -> list[int]:
    """Return uniform scalars of uniform bytes, one for each `ENTROPY_BYTES`.

    Examples:
        >>> scalars_of((7).to_bytes(ENTROPY_BYTES, "little"))
        [7]
    """
    starts = range(0, len(entropy), ENTROPY_BYTES)
    return [int.from_bytes(entropy[start : start + ENTROPY_BYTES], "little") % ORDER for start in starts]


def scalar_from(encoded: bytes) -> int | None:
    """Return the scalar that 32 bytes are; None where they are none below ℓ."""
    scalar = int.from_bytes(encoded, "little")
    return scalar if len(encoded) == SCALAR_BYTES and scalar < ORDER else None


def encode_scalar(scalar: int) -> bytes:
    """Return a scalar as 32 bytes.

    Examples:
        >>> scalar_from(encode_scalar(5)), scalar_from(encode_scalar(ORDER))
        (5, None)
    """
    return scalar.to_bytes(SCALAR_BYTES, "little")


def values_at(numbers: Sequence[int], polynomials: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    """Yield for each number the values of all polynomials there.

    Args:
        numbers: the numbers, ≥ 1.
        polynomials: the coefficients of each, the same number for all, with the constant term last.

    Examples:
        >>> list(values_at([1, 2], [[1, 5]]))
        [(6,), (7,)]
    """
    shifts = [_SLOT * place for place in range(len(polynomials))]
    packed = [
        sum(term << by for term, by in zip(coefficients, shifts, strict=True))
        for coefficients in zip(*polynomials, strict=True)
    ]
    # Each coefficient adds the bits of a number to a value; it is reduced modulo ℓ before its slot is full.
    length = max(1, (_SLOT - ORDER.bit_length() - 8) // (max(numbers).bit_length() + 1))
    blocks = [packed[start : start + length] for start in range(0, len(packed), length)]
    slot = (1 << _SLOT) - 1
    for number in numbers:
        values = [0] * len(polynomials)
        for block in blocks:
            value = sum(part << by for part, by in zip(values, shifts, strict=True))
            for coefficient in block:
                value = value * number + coefficient
            values = [(value >> by & slot) % ORDER for by in shifts]
        yield tuple(values)


def value_at_zero(values: Mapping[int, int], needed: int) -> int:
    """Return the constant term of the polynomial with the first `needed` of these values, by their numbers.

    Raises:
        ValueError: there are fewer values.

    Examples:
        >>> value_at_zero({1: 6, 2: 7}, needed=2)
        5
    """
    if len(values) < needed:
        raise ValueError(f"{len(values)} shares are given: give {needed}")
    numbers = tuple(sorted(values)[:needed])
    return _product(_factors_at_zero(numbers), values, numbers)


def is_of_one_polynomial(values: Mapping[int, int], needed: int, *, seed: bytes) -> bool:
    """Return whether values are those of a polynomial of `needed` coefficients; other values pass with probability 1/ℓ.

    Args:
        values: the values, by their numbers.
        needed: the number of coefficients.
        seed: a digest of the values, of 32 bytes, so that the test could not be foreseen when they were chosen.

    Examples:
        >>> is_of_one_polynomial({1: 6, 2: 7, 3: 8}, needed=2, seed=bytes(32))
        True
        >>> is_of_one_polynomial({1: 6, 2: 7, 3: 9}, needed=2, seed=bytes(32))
        False
    """
    numbers = tuple(sorted(values))
    if len(numbers) <= needed:
        return True
    return _product(_test_of(numbers, needed, seed), values, numbers) == 0


def _product(factors: Sequence[int], values: Mapping[int, int], numbers: Sequence[int]) -> int:
    return sum(map(operator.mul, factors, map(values.__getitem__, numbers))) % ORDER


@functools.lru_cache(maxsize=4096)
def _factors_at_zero(numbers: tuple[int, ...]) -> tuple[int, ...]:
    """Return Lagrange's factors for the value at 0: Π x_j/(x_j − x_i) over all others j."""
    numerator = math.prod(numbers) % ORDER
    below = [number * product % ORDER for number, product in zip(numbers, _differences(numbers), strict=True)]
    return tuple(numerator * inverse % ORDER for inverse in _inverses(below, ORDER))


@functools.lru_cache(maxsize=8)
def _test_of(numbers: tuple[int, ...], needed: int, seed: bytes) -> tuple[int, ...]:
    """Return a random word that is orthogonal to the values of each polynomial of `needed` coefficients."""
    length = len(numbers) - needed
    expanded = hashlib.shake_256(seed).digest(ENTROPY_BYTES * length)
    word = (value for (value,) in values_at(numbers, [scalars_of(expanded)]))
    return tuple(weight * value % ORDER for weight, value in zip(_dual_weights(numbers), word, strict=True))


@functools.lru_cache(maxsize=64)
def _dual_weights(numbers: tuple[int, ...]) -> tuple[int, ...]:
    sign = (-1) ** (len(numbers) - 1)
    return tuple(_inverses([sign * product % ORDER for product in _differences(numbers)], ORDER))


def _differences(numbers: Sequence[int]) -> Iterator[int]:
    """Yield for each number x the product of y − x over all others y: what fits 63 bits by arrays."""
    columns, fitting = np.array(numbers, dtype=np.int64), 63 // max(numbers).bit_length()
    starts = np.arange(0, len(numbers), fitting)
    for first in range(0, len(numbers), _ROWS):
        rows = columns - columns[first : first + _ROWS, np.newaxis]
        np.fill_diagonal(rows[:, first:], 1)
        yield from map(math.prod, np.multiply.reduceat(rows, starts, axis=1).tolist())


def _inverses(values: Sequence[int], modulus: int) -> list[int]:
    """Return the inverses of all: one is taken, of their product, and from it each other one."""
    products = [*itertools.accumulate(values, lambda product, value: product * value % modulus, initial=1)]
    inverse = pow(products.pop(), -1, modulus)
    inverses: list[int] = []
    for value, product in zip(reversed(values), reversed(products), strict=True):
        inverses.append(inverse * product % modulus)
        inverse = inverse * value % modulus
    return inverses[::-1]


def montgomery_of(points: Sequence[bytes]) -> list[bytes]:
    """Return points of Ed25519 as X25519 takes them, 32 bytes each: u = (1 + y)/(1 − y); 0 if y is 1."""
    heights = [int.from_bytes(point, "little") % 2**255 for point in points]
    # 0 has no inverse; 1 stands in for it, and is multiplied by 0.
    inverses = _inverses([(1 - y) % _FIELD or 1 for y in heights], _FIELD)
    shares = ((1 + y) * inverse % _FIELD * (y % _FIELD != 1) for y, inverse in zip(heights, inverses, strict=True))
    return [share.to_bytes(SCALAR_BYTES, "little") for share in shares]


def exchange_key_of(scalar: int) -> bytes | None:
    """Return the 32 private bytes with which X25519 multiplies by a scalar, or by its negative, which has the same u.

    X25519 multiplies by 8·t with t in [2²⁵¹, 2²⁵²). One of two opposite scalars is such a number, except for about 2¹²⁵
    scalars, which are never drawn by chance; for these the result is None.
    """
    eighth = scalar * _EIGHTH % ORDER
    number = 8 * (eighth if eighth >= 2**251 else ORDER - eighth)
    return number.to_bytes(SCALAR_BYTES, "little") if number < 2**255 else None
