"""Hyper-distributions: the distributions from which each worker draws the flip probability P of all its answers.

They are part of a protocol's public parameters, so they are tagged values with checked fields. `hyper_law` has their
common interface, `hyper_tables` the user-defined ones, and `hyper_normal` the truncated normal distribution.

Source: the two-layer mechanism of the truth discovery paper, Section 5.2, for the idea and the uniform distribution;
readings T2, T3 and T9.
"""

import functools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final, TypeAlias

import msgspec
import numpy as np
import scipy as sp

from ..arguments import exact_arguments, make_fields_exact
from ..arrays import FloatArray
from ..errors import ConfigurationError
from .exact import RandBelow
from .hyper_law import (
    ONE,
    HyperQuantiles,
    Mixture,
    check_probability,
    check_range,
    flips_of,
    mixture_of_points,
    mixture_on,
    scale_exactly,
    snap_places,
)
from .hyper_normal import TruncatedNormal
from .hyper_tables import Discrete, Moments, Piecewise
from .quadrature import Rule, gauss_rule, legendre_rule, num_nodes_for

__all__ = [
    "MAX_BETA_SLOTS",
    "Beta",
    "Discrete",
    "HyperDistribution",
    "Mixture",
    "Moments",
    "Piecewise",
    "PointMass",
    "TruncatedNormal",
    "Uniform",
    "uniform_for",
]

MAX_BETA_SLOTS: Final = 64
"""The most uniforms that one draw of a `Beta` may take."""

# Beyond these limits the distribution is nearly two points at the ends, or one point; use `Discrete` or `PointMass`.
_LEAST_BETA: Final = 0.01
_MOST_BETA: Final = 1000.0


class PointMass(HyperQuantiles, frozen=True):
    """A constant flip probability: the one-layer mechanism as a two-layer one.

    Args:
        probability: in [0, 1].

    Examples:
        >>> PointMass(0.3).mean
        0.3
    """

    probability: float

    def __post_init__(self) -> None:
        make_fields_exact(self, prefix="hyper.")
        check_probability("hyper.probability", self.probability)

    @property
    def slots(self) -> int:
        return 0

    @property
    def exact_mean(self) -> Fraction:
        return Fraction(self.probability)

    def draw(self, uniforms: FloatArray) -> FloatArray:
        return np.full(len(uniforms), float(self.probability))

    def draw_one(self, uniforms: Sequence[float]) -> float:
        return float(self.probability)

    def draw_exact(self, uniforms: Sequence[int]) -> tuple[int, int]:
        return self.probability.as_integer_ratio()

    def mixture(self, degree: int) -> Mixture:
        """Return the one point, for any degree."""
        return mixture_of_points((self.probability,), (1.0,))


class Uniform(HyperQuantiles, frozen=True):
    """A uniform flip probability in [low, high]: the paper's U(a, b).

    Args:
        low: a, in [0, 1].
        high: b, in [a, 1].

    Examples:
        >>> Uniform(0.0, 0.6).mean
        0.3
        >>> Uniform(0.0, 0.6).draw(np.array([[0.5]])).tolist()
        [0.3]
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        make_fields_exact(self, prefix="hyper.")
        check_range(self.low, self.high)

    @property
    def exact_mean(self) -> Fraction:
        """(a + b) / 2."""
        return (Fraction(self.low) + Fraction(self.high)) / 2

    def draw(self, uniforms: FloatArray) -> FloatArray:
        """Return a + (b − a)·u, at most b. See the base class."""
        return _scale(uniforms[:, 0], self.low, self.high)

    def draw_one(self, uniforms: Sequence[float]) -> float:
        return min(self.low + (self.high - self.low) * uniforms[0], float(self.high))

    def draw_exact(self, uniforms: Sequence[int]) -> tuple[int, int]:
        return scale_exactly(uniforms[0], ONE, self.low, self.high)

    def mixture(self, degree: int) -> Mixture:
        """Return the nodes of a Gauss-Legendre rule on [a, b]."""
        return _mixture_on_range(self.low, self.high, 1, 1, num_nodes_for(degree))


class Beta(HyperQuantiles, frozen=True):
    """A beta distribution on [low, high].

    If α and β are integers and α + β − 1 ≤ `MAX_BETA_SLOTS`, a draw is the α-th smallest of α + β − 1 uniforms, which
    has exactly this distribution.

    Otherwise a simulated draw is the quantile of one uniform. A deployment flips answers by Pólya's urn: if t of n
    earlier answers were flipped, the next is flipped with probability (α + t)/(α + β + n), exactly. This is the law of
    flips that share a P of the beta distribution on [0, 1]. On [low, high], P = low + (high − low)·T with T of that
    distribution: an answer is flipped with probability low, kept with probability 1 − high, and otherwise decided by
    the urn.

    Args:
        alpha: α, in [0.01, 1000].
        beta: β, in [0.01, 1000].
        low: in [0, 1].
        high: in [low, 1].

    Source:
        David and Nagaraja (2003), Order Statistics, Section 2.1, for the order statistic; Blackwell and MacQueen (1973)
        for the urn; Dette and Studden (1997), Example 1.3.6, for the canonical moments.

    Examples:
        >>> Beta(2, 2).draw(np.array([[0.75, 0.125, 0.5]])).tolist()  # the second smallest of three
        [0.5]
    """

    alpha: float
    beta: float
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        make_fields_exact(self, prefix="hyper.")
        for field, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not _LEAST_BETA <= value <= _MOST_BETA:
                allowed = f"in [{_LEAST_BETA:g}, {_MOST_BETA:g}]"
                raise ConfigurationError(field=f"hyper.{field}", value=value, allowed=allowed)
            if value.is_integer():  # an integer, so that it is encoded and shown as one
                msgspec.structs.force_setattr(self, field, int(value))
        check_range(self.low, self.high)

    @property
    def slots(self) -> int:
        """α + β − 1 where a draw is an order statistic, else one."""
        order = self._order
        return 1 if order is None else sum(order) - 1

    @property
    def exact_mean(self) -> Fraction:
        """The part α/(α + β) of the way from low to high."""
        alpha, beta = Fraction(self.alpha), Fraction(self.beta)
        return Fraction(*scale_exactly(*(alpha / (alpha + beta)).as_integer_ratio(), self.low, self.high))

    def draw(self, uniforms: FloatArray) -> FloatArray:
        """Return the α-th smallest uniform of each row, or the quantile, scaled to the range. See the base class."""
        if (order := self._order) is not None:
            place = order[0] - 1
            return _scale(np.partition(uniforms, place, axis=1)[:, place], self.low, self.high)
        places = sp.special.betaincinv(self.alpha, self.beta, uniforms[:, 0])
        return _scale(snap_places(np.asarray(places, dtype=np.float64)), self.low, self.high)

    def draw_one(self, uniforms: Sequence[float]) -> float:
        if (order := self._order) is None:
            return super().draw_one(uniforms)
        return min(self.low + (self.high - self.low) * sorted(uniforms)[order[0] - 1], float(self.high))

    def draw_exact(self, uniforms: Sequence[int]) -> tuple[int, int]:
        """Return the α-th smallest, scaled to the range, exactly; ValueError for parameters of no order statistic."""
        if (order := self._order) is None:
            raise ValueError(f"a draw of {self} is no order statistic of uniforms")
        return scale_exactly(sorted(uniforms)[order[0] - 1], ONE, self.low, self.high)

    def flips_exactly(self, randbelow: RandBelow) -> Iterator[bool]:
        """Draw P and compare, or use Pólya's urn. See the base class."""
        return super().flips_exactly(randbelow) if self._order is not None else self._flips_of_urn(randbelow)

    def mixture(self, degree: int) -> Mixture:
        """Return a Gauss-Legendre rule with the density in its shares, or the distribution's own Gauss rule."""
        if (order := self._order) is not None:
            nodes = num_nodes_for(degree + sum(order) - 2)
            return _mixture_on_range(self.low, self.high, *order, nodes)
        return mixture_on(_rule_of_beta(self.alpha, self.beta, num_nodes_for(degree)), self.low, self.high)

    @property
    def _order(self) -> tuple[int, int] | None:
        """α and β where a draw is an order statistic."""
        if not isinstance(self.alpha, int) or not isinstance(self.beta, int):
            return None
        return (self.alpha, self.beta) if self.alpha + self.beta - 1 <= MAX_BETA_SLOTS else None

    def _flips_of_urn(self, randbelow: RandBelow) -> Iterator[bool]:
        low, ask, unit, ahead, total = _urn(self.alpha, self.beta, self.low, self.high)
        low_flips, urn_asks = (flips_of(*number.as_integer_ratio(), randbelow) for number in (low, ask))
        while True:
            if next(low_flips):
                yield True
            elif not next(urn_asks):
                yield False
            else:
                shared = math.gcd(ahead, total)
                is_flipped = randbelow(total // shared) < ahead // shared
                ahead, total = ahead + unit * is_flipped, total + unit
                yield is_flipped


HyperDistribution: TypeAlias = PointMass | Uniform | Beta | TruncatedNormal | Discrete | Piecewise | Moments


@exact_arguments
def uniform_for(mean: float) -> Uniform:
    """Return the uniform hyper-distribution of this mean with the smallest lower end.

    It is [0, 2·mean], as in the paper, or [2·mean − 1, 1] if the mean exceeds 1/2. ConfigurationError if the mean is
    not in [0, 1].

    Source:
        The truth discovery paper, Section 7.2, for a = 0; reading T2.

    Examples:
        >>> uniform_for(0.3)
        Uniform(low=0.0, high=0.6)
        >>> uniform_for(0.75)
        Uniform(low=0.5, high=1.0)
    """
    check_probability("mean", mean)
    high = min(1.0, 2.0 * mean)
    return Uniform(low=2.0 * mean - high, high=high)


def _scale(places: FloatArray, low: float, high: float) -> FloatArray:
    """Return low + (high − low)·place: two roundings, in this order."""
    return np.minimum(low + (high - low) * places, float(high))


@functools.lru_cache(maxsize=64)
def _urn(alpha: float, beta: float, low: float, high: float) -> tuple[Fraction, Fraction, int, int, int]:
    """Return how likely an answer is flipped at once, else asks; then 1, α and α + β as multiples of one number."""
    least, alpha_fraction, total = Fraction(low), Fraction(alpha), Fraction(alpha) + Fraction(beta)
    unit = math.lcm(alpha_fraction.denominator, total.denominator)
    return least, (Fraction(high) - least) / (1 - least or 1), unit, int(alpha_fraction * unit), int(total * unit)


@functools.lru_cache(maxsize=64)
def _mixture_on_range(low: float, high: float, alpha: int, beta: int, num_nodes: int) -> Mixture:
    """Return the density t^(α−1) (1 − t)^(β−1) / B(α, β) on [low, high] as the nodes of a rule."""
    places, complements, log_shares = legendre_rule(num_nodes)
    if alpha + beta > 2:  # noqa: PLR2004  the uniform density is 1
        # For integers α and β, 1/B(α, β) is an integer.
        scale = float(sp.special.xlogy(1.0, float(beta * math.comb(alpha + beta - 1, beta))))
        log_shares = log_shares + sp.special.xlogy(alpha - 1, places) + sp.special.xlogy(beta - 1, complements) + scale
    return mixture_on(Rule(places, complements, log_shares), low, high)


@functools.lru_cache(maxsize=64)
def _rule_of_beta(alpha: float, beta: float, num_nodes: int) -> Rule:
    """Return the Gauss rule of canonical moments (α + j − 1)/(α + β + 2j − 2), then j/(α + β + 2j − 1), j = 1, …, n."""
    canonical: list[float] = []
    for j in range(1, num_nodes + 1):
        canonical += [(alpha + j - 1) / (alpha + beta + 2 * j - 2), j / (alpha + beta + 2 * j - 1)]
    return gauss_rule(canonical[: 2 * num_nodes - 1])
