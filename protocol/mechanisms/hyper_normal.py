"""The truncated normal distribution of flip probabilities, with bounds on the error of its moments.

The density f on [low, high] is proportional to e^(−x²/2) with x = (p − location)/scale. Let Q be half of the range of
the exponent x²/2. It is at most 256, by the lower limit of the scale. With d + 1 terms of the exponential series about
the middle of that range, the density is a polynomial of degree 2d in p, up to a relative error of at most δ = Q^(d+1)
e^Q/(d+1)!.

A Gauss-Legendre rule of n nodes is exact for polynomials of degree 2n − 1. Its weights are positive, and so are the
integrands p^k (1 − p)^(m−k) f(p). So for n > d + m/2, the relative difference between rule and integral is at most
2δ/(1 − δ). L(k) is a ratio of two such integrals, so the error of its logarithm is at most 5δ. d is chosen such that δ
< 2⁻⁶⁰. What `joint_law` adds to each loss for rounding is 10⁹ times as much.

The mean determines the loss of a single answer. It is enclosed by two rational numbers that agree to sixty digits.

In a deployment P is drawn by rejection: a uniform number of 256 bits in the range is accepted with probability e^(−(x²
− least x²)/2), where x² is rational. So the law of P is the normal density restricted to a grid of 2⁻²⁵⁶, and each
report has the probability of the truncated normal law, up to a relative error of 2⁻²⁰⁰.
"""

import decimal
import functools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

import numpy as np
import scipy as sp

from ..arguments import make_fields_exact
from ..arrays import FloatArray
from ..errors import require
from .exact import RandBelow, bernoulli_exp
from .hyper_law import ONE, HyperLaw, Mixture, check_range, flips_of, mixture_on, scale_exactly, snap_places
from .logarithms import log_sums
from .quadrature import legendre_rule, num_nodes_for

_MOST_SCALES: Final = 32
"""The greatest distance of a point of the range from the location, in scales; the density there is e^−512 of its
peak."""
_MOST_AWAY: Final = 1000.0
_LOG_TOLERANCE: Final = -60 * math.log(2)
# If both ends are 32 scales away, the two integrals of e^(−x²/2) agree in 222 digits; the others are still enough.
_DIGITS: Final = 400
_DIGITS_OF_MEAN: Final = 60


class TruncatedNormal(HyperLaw, frozen=True):
    """A normal distribution truncated to [low, high].

    Args:
        location: the mean before truncation, in [−1000, 1000]; it may be outside of the range.
        scale: the standard deviation before truncation; at least 1/32 of the distance from the location to the farther
            end of the range.
        low: in [0, 1).
        high: in (low, 1].

    Examples:
        >>> round(TruncatedNormal(location=0.3, scale=0.1).mean, 4)
        0.3004
    """

    location: float
    scale: float
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        make_fields_exact(self, prefix="hyper.")
        check_range(self.low, self.high)
        require(self.low < self.high, "hyper.high", self.high, f"above low = {self.low}")
        away = f"in [{-_MOST_AWAY:g}, {_MOST_AWAY:g}]"
        require(abs(self.location) <= _MOST_AWAY, "hyper.location", self.location, away)
        least = max(abs(self.low - self.location), abs(self.high - self.location)) / _MOST_SCALES
        allowed = f"finite, and at least {least:g}: the location is at most {_MOST_SCALES} of it from the range's ends"
        require(least <= self.scale < math.inf, "hyper.scale", self.scale, allowed)

    @property
    def exact_mean(self) -> Fraction:
        """The middle of `mean_bounds`: the mean is irrational."""
        return sum(self.mean_bounds, Fraction()) / 2

    @property
    def mean_bounds(self) -> tuple[Fraction, Fraction]:
        """Two numbers around location + scale·(φ(a) − φ(b))/(Φ(b) − Φ(a)), 10⁻⁶⁰ apart."""
        return _mean_bounds(self.location, self.scale, self.low, self.high)

    def draw(self, uniforms: FloatArray) -> FloatArray:
        """Return the quantile of each uniform. See the base class."""
        ends = [(end - self.location) / self.scale for end in (self.low, self.high)]
        # If most of the range is in the upper tail, the mirrored range is more accurate.
        sign = -1.0 if ends[0] + ends[1] > 0 else 1.0
        start, stop = sorted(sign * end for end in ends)
        shares = 1.0 - uniforms[:, 0] if sign < 0 else uniforms[:, 0]
        log_stop = sp.special.log_ndtr(stop)
        below = sp.special.expm1(sp.special.log_ndtr(start) - log_stop) + 1.0
        places = sign * sp.special.ndtri_exp(log_stop + sp.special.xlogy(1.0, below + shares * (1.0 - below)))
        flips = snap_places(self.location + self.scale * np.asarray(places, dtype=np.float64))
        return np.clip(flips, self.low, self.high)

    def flips_exactly(self, randbelow: RandBelow) -> Iterator[bool]:
        """Draw P by rejection, and compare. See the base class."""
        location = Fraction(self.location)
        twice, (least, _) = 2 * Fraction(self.scale) ** 2, self._squares
        while True:
            flip = Fraction(*scale_exactly(randbelow(ONE), ONE, self.low, self.high))
            if bernoulli_exp(((flip - location) ** 2 - least) / twice, randbelow):
                return flips_of(*flip.as_integer_ratio(), randbelow)

    def mixture(self, degree: int) -> Mixture:
        """Return the nodes of a Gauss-Legendre rule on the range, each with the density in its share."""
        terms = _num_terms(float(self._squares[1] - self._squares[0]) / (4 * self.scale**2))
        return _mixture(self.location, self.scale, self.low, self.high, num_nodes_for(degree + 2 * terms))

    @property
    def _squares(self) -> tuple[Fraction, Fraction]:
        """The least and the greatest (p − location)² in the range, exactly."""
        return _squares_in(self.location, self.low, self.high)


@functools.lru_cache(maxsize=256)
def _squares_in(location: float, low: float, high: float) -> tuple[Fraction, Fraction]:
    ends = [(Fraction(end) - Fraction(location)) ** 2 for end in (low, high)]
    return Fraction(0) if low <= location <= high else min(ends), max(ends)


def _num_terms(half: float) -> int:
    """Return the least d with half^(d+1) e^half/(d+1)! below 2⁻⁶⁰ and d ≥ half."""
    terms = math.ceil(half)
    while (terms + 1) * math.log(max(half, 1e-300)) + half - math.lgamma(terms + 2) > _LOG_TOLERANCE:
        terms += 1
    return terms


@functools.lru_cache(maxsize=64)
def _mixture(location: float, scale: float, low: float, high: float, num_nodes: int) -> Mixture:
    rule = legendre_rule(num_nodes)
    flips, keeps, _ = mixture_on(rule, low, high)
    places = (flips - location) / scale
    log_shares = rule.log_weights - places * places / 2
    return Mixture(flips, keeps, log_shares - log_sums(log_shares[None, :], axis=1)[0])


@functools.lru_cache(maxsize=256)
def _mean_bounds(location: float, scale: float, low: float, high: float) -> tuple[Fraction, Fraction]:
    """Return bounds of the mean.

    The integral of e^(−t²/2) from 0 to x is e^(−x²/2)·(x + x³/3 + x⁵/(3·5) + …), a series with terms of the same sign.
    With 400 digits, much more than sixty digits of the ratio are correct.
    """
    with decimal.localcontext(decimal.Context(prec=_DIGITS)):
        ends = [(decimal.Decimal(end) - decimal.Decimal(location)) / decimal.Decimal(scale) for end in (low, high)]
        densities = [(-end * end / 2).exp() for end in ends]
        integrals = [density * _series(end) for end, density in zip(ends, densities, strict=True)]
        ratio = (densities[0] - densities[1]) / (integrals[1] - integrals[0])
        middle = Fraction(decimal.Decimal(location) + decimal.Decimal(scale) * ratio)
    reach = Fraction(1, 2 * 10**_DIGITS_OF_MEAN)
    return max(middle - reach, Fraction(low)), min(middle + reach, Fraction(high))


def _series(place: decimal.Decimal) -> decimal.Decimal:
    """Return x + x³/3 + x⁵/(3·5) + …, to the digits of the context."""
    term = total = place
    square, odd_number = place * place, 1
    least = decimal.Decimal(10) ** -_DIGITS
    while abs(term) > abs(total) * least or square > odd_number + 2:
        odd_number += 2
        term = term * square / odd_number
        total += term
    return total
