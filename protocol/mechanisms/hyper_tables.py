"""User-defined hyper-distributions: points, pieces, and moments.

Source: Dette and Studden (1997), The Theory of Canonical Moments, Section 1.3, for the range of possible moments.
"""

import abc
import functools
import itertools
import math
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
import scipy as sp

from ..arguments import make_fields_exact
from ..arrays import FloatArray
from ..errors import ConfigurationError, require
from .hyper_law import (
    ONE,
    HyperQuantiles,
    Mixture,
    check_probability,
    check_range,
    mixture_of_points,
    mixture_on,
    scale_exactly,
    snap_places,
)
from .logarithms import log_of
from .quadrature import Rule, canonical_moments, gauss_rule, legendre_rule, num_nodes_for

MAX_MOMENTS: Final = 32
"""The most moments that define a law. As floats, more than about a dozen can hardly be distinguished from impossible
ones."""

# Uniforms of 53 bits could not resolve much smaller shares.
_MIN_SHARE: Final = 1e-9
_MAX_POINTS: Final = 1_000
_MAX_PIECES: Final = 100
# The greatest deviation of the sum of shares from 1. A greater one is a user's error, not rounding.
_SHARES_TOLERANCE: Final = 1e-9


class _Points(HyperQuantiles, frozen=True):
    """One of a few flip probabilities."""

    @property
    @abc.abstractmethod
    def points(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The flip probabilities, and their shares."""

    @property
    def exact_mean(self) -> Fraction:
        flips, shares = ([Fraction(number) for number in numbers] for numbers in self.points)
        total = sum((flip * share for flip, share in zip(flips, shares, strict=True)), Fraction())
        return total / sum(shares)

    def draw(self, uniforms: FloatArray) -> FloatArray:
        """Return, for each uniform, the probability whose share it falls into. See the base class."""
        flips, shares = self.points
        bounds = np.array([float(bound) for bound in _bounds(shares)], dtype=np.float64)
        places = np.searchsorted(bounds, uniforms[:, 0], side="right")
        return np.array(flips, dtype=np.float64)[places]

    def draw_exact(self, uniforms: Sequence[int]) -> tuple[int, int]:
        flips, shares = self.points
        return flips[bisect_right(_bounds(shares), Fraction(uniforms[0], ONE))].as_integer_ratio()

    def mixture(self, degree: int) -> Mixture:
        """Return the distribution itself, for any degree."""
        return mixture_of_points(*self.points)


class Discrete(_Points, frozen=True):
    """One of a few flip probabilities.

    Args:
        probabilities: 1 to 1,000 flip probabilities, each in [0, 1].
        shares: the probability of each, at least 1e-9. They sum to 1 up to rounding, and are divided by their sum.

    Examples:
        >>> Discrete((0.1, 0.6), (0.5, 0.5)).mean
        0.35
    """

    probabilities: tuple[float, ...]
    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        make_fields_exact(self, prefix="hyper.")
        number = len(self.probabilities)
        require(0 < number <= _MAX_POINTS, "hyper.probabilities", f"{number} of them", f"1 to {_MAX_POINTS}")
        for probability in self.probabilities:
            check_probability("hyper.probabilities", probability)
        require(len(self.shares) == number, "hyper.shares", self.shares, f"as many as probabilities ({number})")
        _check_shares(self.shares, "")

    @property
    def points(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        return self.probabilities, self.shares


class Moments(_Points, frozen=True):
    """A law on [low, high] with the moments E[P], E[P²], ….

    If a worker has at most as many answers as there are moments, all such laws give its reports the same law, and hence
    the same losses. The law with the fewest points is drawn, which is a Gauss rule. For an even number of moments, the
    next moment is set to the middle of its possible interval. Losses are those of the law that is drawn.

    Args:
        moments: 1 to `MAX_MOMENTS`. Each must be in the interior of the interval that the earlier ones leave for laws
            on [low, high]. At an end of the interval there is only one law, with few points; use `PointMass` or
            `Discrete`.
        low: in [0, 1].
        high: in [low, 1].

    Raises:
        ConfigurationError: no law on [low, high], or only one, has these moments; or a parameter is out of range.

    Examples:
        >>> Moments((0.5, 0.3)).mean
        0.5
    """

    moments: tuple[float, ...]
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        make_fields_exact(self, prefix="hyper.")
        check_range(self.low, self.high)
        require(self.low < self.high, "hyper.high", self.high, f"above low = {self.low}")
        num_moments = len(self.moments)
        require(0 < num_moments <= MAX_MOMENTS, "hyper.moments", f"{num_moments} of them", f"1 to {MAX_MOMENTS}")
        for moment in self.moments:
            check_probability("hyper.moments", moment)
        canonical_numbers = canonical_moments(_moments_of_place(self.moments, self.low, self.high))
        number = len(canonical_numbers)
        canonical, least, greatest = canonical_numbers[-1]
        if not 0 < canonical < 1:
            # With P = low + (high − low)·T, E[P^j] is linear in E[T^j], with slope (high − low)^j.
            moment, scale = Fraction(self.moments[number - 1]), (Fraction(self.high) - Fraction(self.low)) ** number
            central_moment = least + canonical * (greatest - least)
            ends = moment + scale * (least - central_moment), moment + scale * (greatest - central_moment)
            ends_text = ", ".join(f"{float(end):.12g}" for end in ends)
            allowed = f"such that moment {number} is inside ({ends_text}), as those before it demand"
            raise ConfigurationError(field="hyper.moments", value=float(moment), allowed=allowed)

    @property
    def points(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        return _points_of_moments(self.moments, self.low, self.high)


class Piecewise(HyperQuantiles, frozen=True):
    """A piecewise uniform distribution: a histogram.

    Args:
        edges: the edges of the pieces: 2 to 101 numbers, increasing, in [0, 1].
        shares: the probability of each piece: 0, or at least 1e-9. They sum to 1 up to rounding, and are divided by
            their sum.

    Examples:
        >>> Piecewise((0.0, 0.1, 0.5), (0.5, 0.5)).mean
        0.175
    """

    edges: tuple[float, ...]
    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        make_fields_exact(self, prefix="hyper.")
        pieces = len(self.edges) - 1
        require(0 < pieces <= _MAX_PIECES, "hyper.edges", f"{pieces + 1} of them", f"2 to {_MAX_PIECES + 1}")
        for edge in self.edges:
            check_probability("hyper.edges", edge)
        is_rising = all(low < high for low, high in itertools.pairwise(self.edges))
        require(is_rising, "hyper.edges", self.edges, "rising")
        allowed = f"one for each piece between two edges ({pieces})"
        require(len(self.shares) == pieces, "hyper.shares", self.shares, allowed)
        _check_shares(self.shares, "0, or ")

    @property
    def exact_mean(self) -> Fraction:
        shares = [Fraction(share) for share in self.shares]
        middles = [(Fraction(low) + Fraction(high)) / 2 for low, high in itertools.pairwise(self.edges)]
        return sum((middle * share for middle, share in zip(middles, shares, strict=True)), Fraction()) / sum(shares)

    def draw(self, uniforms: FloatArray) -> FloatArray:
        """Return the quantile of each uniform: linear within each piece. See the base class."""
        bounds = np.array([0.0, *(float(bound) for bound in _bounds(self.shares)), 1.0])
        edges = np.array(self.edges)
        pieces = np.searchsorted(bounds[1:-1], uniforms[:, 0], side="right")
        starts, lows, highs = bounds[pieces], edges[pieces], edges[pieces + 1]
        places = (uniforms[:, 0] - starts) / (bounds[pieces + 1] - starts)
        return np.minimum(lows + (highs - lows) * places, highs)

    def draw_exact(self, uniforms: Sequence[int]) -> tuple[int, int]:
        bounds, uniform = [Fraction(0), *_bounds(self.shares), Fraction(1)], Fraction(uniforms[0], ONE)
        piece = bisect_right(bounds, uniform, 1, len(bounds) - 1) - 1
        place = (uniform - bounds[piece]) / (bounds[piece + 1] - bounds[piece])
        return scale_exactly(*place.as_integer_ratio(), self.edges[piece], self.edges[piece + 1])

    def mixture(self, degree: int) -> Mixture:
        """Return the nodes of a Gauss-Legendre rule on each piece."""
        return _mixture_of_pieces(self.edges, self.shares, num_nodes_for(degree))


def _check_shares(shares: tuple[float, ...], or_else: str) -> None:
    """Raise ConfigurationError unless shares sum to 1, and are large enough, or 0 where that is allowed."""
    are_large = all(share >= _MIN_SHARE or (or_else and share == 0) for share in shares)
    allowed = f"{or_else}at least {_MIN_SHARE:g}, with the sum 1"
    require(are_large and abs(math.fsum(shares) - 1) <= _SHARES_TOLERANCE, "hyper.shares", shares, allowed)


@functools.lru_cache(maxsize=256)
def _bounds(shares: tuple[float, ...]) -> tuple[Fraction, ...]:
    """Return the end of each share but the last."""
    ends = list(itertools.accumulate(Fraction(share) for share in shares))
    return tuple(end / ends[-1] for end in ends[:-1])


def _moments_of_place(moments: tuple[float, ...], low: float, high: float) -> list[Fraction]:
    """Return the moments of T = (P − low)/(high − low), exactly."""
    raw_moments, start = [Fraction(1), *map(Fraction, moments)], Fraction(low)
    width = Fraction(high) - start
    return [
        sum((math.comb(j, i) * raw_moments[i] * (-start) ** (j - i) for i in range(j + 1)), Fraction()) / width**j
        for j in range(1, len(raw_moments))
    ]


@functools.lru_cache(maxsize=256)
def _points_of_moments(
    moments: tuple[float, ...], low: float, high: float
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return a law of so many moments, of the fewest points; rounded, so that every processor has the same one."""
    canonical = [
        float(canonical_moment) for canonical_moment, _, _ in canonical_moments(_moments_of_place(moments, low, high))
    ]
    if len(canonical) % 2 == 0:
        canonical.append(0.5)
    mixture = mixture_on(gauss_rule(canonical), low, high)
    shares = snap_places(sp.special.expm1(mixture.log_shares) + 1.0)
    return tuple(np.clip(snap_places(mixture.flips), low, high).tolist()), tuple(shares.tolist())


@functools.lru_cache(maxsize=64)
def _mixture_of_pieces(edges: tuple[float, ...], shares: tuple[float, ...], num_nodes: int) -> Mixture:
    """Return the nodes of one rule on every piece with a share."""
    rule, total = legendre_rule(num_nodes), math.fsum(shares)
    pieces = [
        mixture_on(Rule(rule.places, rule.complements, rule.log_weights + log_of(np.array(share / total))), low, high)
        for (low, high), share in zip(itertools.pairwise(edges), shares, strict=True)
        if share
    ]
    flips, keeps, log_shares = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    return Mixture(flips, keeps, log_shares)
