"""Exact draws of spherical Laplace noise, rounded to integers, from operating-system entropy.

A uniform number is a real number of which only the leading bits are known. Results computed from it are intervals that
contain the true number, in decimal arithmetic rounded outwards. A decision, such as whether a point is in the disc, or
to which integer a coordinate rounds, is made once all numbers of the interval agree. Until then more bits of the same
uniforms are drawn. So precision affects only how often this happens, never a report: the rounded noise has exactly the
law of the continuous noise, and its pure privacy loss, if the operating system's bits are uniform. With 256 bits at
first and scales up to 2**40, more bits are needed less than once in 2**150 draws.

The radius is −ln of a product of d uniforms, times the scale: a sum of d exponential numbers. The direction is that of
d normal numbers, two from each point of the unit disc: (x, y)·√(−2·ln s/s) with s = x² + y².

Source: Marsaglia and Bray (1964) for normals from points of a disc; Devroye (1986), Chapter XV, for exact sampling
with as many bits as a decision needs.
"""

import decimal
import math
import secrets
from collections.abc import Sequence
from typing import Final, NamedTuple

# The random bits of each uniform at first, and the number added each time that more are needed.
_UNIFORM_BITS: Final = 256
# Decimal digits per bit, slightly more than log10(2), and the digits that rounding in a long sum may affect.
_DIGITS_PER_BIT, _SPARE_DIGITS = 0.302, 12
_HALF = decimal.Decimal("0.5")


class _Uniform(NamedTuple):
    """A number of (0, 1), known to lie between floor/2**bits and (floor + 1)/2**bits."""

    floor: int
    bits: int

    def refine(self) -> "_Uniform":
        """Draw more bits of the same number."""
        new_bits = secrets.randbits(_UNIFORM_BITS)
        return _Uniform(self.floor << _UNIFORM_BITS | new_bits, self.bits + _UNIFORM_BITS)


class _Point(NamedTuple):
    """A point of the square, by the sizes of its coordinates (equally many bits) and their signs."""

    x: _Uniform
    y: _Uniform
    signs: int

    def refine(self) -> "_Point":
        """Draw more bits of the same point's coordinates."""
        return _Point(self.x.refine(), self.y.refine(), self.signs)

    def is_in_disc(self) -> bool | None:
        """Return whether x² + y² < 1, or None if that is not known yet."""
        unit = 1 << 2 * self.x.bits
        if (self.x.floor + 1) ** 2 + (self.y.floor + 1) ** 2 <= unit:
            return True
        return False if self.x.floor**2 + self.y.floor**2 >= unit else None


class _Interval(NamedTuple):
    """A number ≥ 0 that lies in [low, high]."""

    low: decimal.Decimal
    high: decimal.Decimal


class _Arithmetic:
    """Operations on intervals, rounded outwards to so many digits."""

    def __init__(self, digits: int) -> None:
        self.down = decimal.Context(prec=digits, rounding=decimal.ROUND_FLOOR)
        self.up = decimal.Context(prec=digits, rounding=decimal.ROUND_CEILING)

    def fraction(self, low: int, high: int, bits: int) -> _Interval:
        """Return [low, high]/2**bits."""
        denominator = decimal.Decimal(1 << bits)
        return _Interval(self.down.divide(low, denominator), self.up.divide(high, denominator))

    def total(self, terms: Sequence[_Interval]) -> _Interval:
        """Return the sum."""
        low = high = decimal.Decimal(0)
        for term in terms:
            low, high = self.down.add(low, term.low), self.up.add(high, term.high)
        return _Interval(low, high)

    def product(self, factors: Sequence[_Interval]) -> _Interval:
        """Return the product."""
        low = high = decimal.Decimal(1)
        for factor in factors:
            low, high = self.down.multiply(low, factor.low), self.up.multiply(high, factor.high)
        return _Interval(low, high)

    def quotient(self, dividend: _Interval, divisor: _Interval) -> _Interval:
        """Return the quotient by a divisor > 0."""
        return _Interval(self.down.divide(dividend.low, divisor.high), self.up.divide(dividend.high, divisor.low))

    def root(self, square: _Interval) -> _Interval:
        """Return the square root. Decimal roots are rounded to nearest, so the neighbors enclose the true root."""
        low, high = self.down.sqrt(square.low), self.up.sqrt(square.high)
        return _Interval(max(decimal.Decimal(0), self.down.next_minus(low)), self.up.next_plus(high))

    def minus_log(self, number: _Interval) -> _Interval:
        """Return −ln of a number of (0, 1).

        Decimal logarithms are rounded to nearest, too. A single logarithm is enough, since ln b − ln a ≤ (b − a)/a.
        """
        log = self.down.ln(number.high)
        width = self.up.divide(self.up.subtract(number.high, number.low), number.low)
        low = max(decimal.Decimal(0), self.down.minus(self.up.next_plus(log)))
        return _Interval(low, self.up.add(self.up.minus(self.down.next_minus(log)), width))


def draw_spherical_noise(dimension: int, scale: float) -> list[int]:
    """Draw ⌊x + 1/2⌋ exactly, where x has a density ∝ e^(−‖x‖₂/scale) on R^d.

    Args:
        dimension: d ≥ 1.
        scale: > 0; the exact rational value of the float counts.

    Examples:
        >>> len(draw_spherical_noise(3, 100.0))
        3
    """
    points = [_draw_point() for _ in range((dimension + 1) // 2)]
    uniforms: list[_Uniform] = [_draw_uniform() for _ in range(dimension)]
    while (rounded := _rounded_noise(dimension, decimal.Decimal(scale), points, uniforms)) is None:
        points = [point.refine() for point in points]
        uniforms = [uniform.refine() for uniform in uniforms]
    return rounded


def _draw_uniform() -> _Uniform:
    return _Uniform(secrets.randbits(_UNIFORM_BITS), _UNIFORM_BITS)


def _draw_point() -> _Point:
    """Return a point of the unit disc, by rejection from the square."""
    while True:
        point = _Point(_draw_uniform(), _draw_uniform(), secrets.randbits(2))
        while (is_in_disc := point.is_in_disc()) is None:
            point = point.refine()
        if is_in_disc:
            return point


def _rounded_noise(
    dimension: int, scale: decimal.Decimal, points: Sequence[_Point], uniforms: Sequence[_Uniform]
) -> list[int] | None:
    """Return the rounded noise, or None if the known bits leave a coordinate between two integers."""
    coordinates = [coordinate for point in points for coordinate in (point.x, point.y)]
    if not all(number.floor for number in (*coordinates, *uniforms)):
        return None  # the interval may contain 0, which has no logarithm
    bits = max(number.bits for number in (*coordinates, *uniforms))
    arithmetic = _Arithmetic(math.ceil(_DIGITS_PER_BIT * bits) + _SPARE_DIGITS)
    # Only the direction of the normal numbers matters, so their common factor √2 is omitted.
    squares: list[_Interval] = []
    for x, y, _ in points:
        num_bits = 2 * x.bits
        low, high = x.floor**2 + y.floor**2, min((x.floor + 1) ** 2 + (y.floor + 1) ** 2, 1 << num_bits)
        radial = arithmetic.fraction(low, high, num_bits)
        factor = arithmetic.quotient(arithmetic.minus_log(radial), radial)
        for size in (x, y):
            square = arithmetic.fraction(size.floor**2, (size.floor + 1) ** 2, num_bits)
            squares.append(arithmetic.product((square, factor)))
    del squares[dimension:]  # a point has two coordinates, and the last one may be surplus
    length = arithmetic.total(squares)
    if not length.low:
        return None
    of_uniforms = (arithmetic.fraction(floor, floor + 1, number_bits) for floor, number_bits in uniforms)
    radius = arithmetic.minus_log(arithmetic.product(tuple(of_uniforms)))
    stretch = arithmetic.product((radius, _Interval(scale, scale)))
    signs = [point.signs >> bit & 1 for point in points for bit in (0, 1)]
    rounded: list[int] = []
    for square, is_negative in zip(squares, signs, strict=False):
        low, high = arithmetic.product((arithmetic.root(arithmetic.quotient(square, length)), stretch))
        if is_negative:
            low, high = high.copy_negate(), low.copy_negate()
        integer = math.floor(arithmetic.down.add(low, _HALF))
        if integer != math.floor(arithmetic.up.add(high, _HALF)):
            return None
        rounded.append(integer)
    return rounded
