"""Hyper-distributions: from which each worker draws the flip probability P of all its answers.

They travel among a protocol's public parameters, so they are tagged values that check themselves. The moments
L(k) = E[P^k (1 − P)^(m−k)] are the whole of what a report's law needs to know of them (`joint_law`). They are means of
polynomials, so a Gauss-Legendre rule with enough nodes is a finite mixture with exactly these moments. All its terms
are positive and are added in logarithms, so that the tails keep their digits.

Source: the two-layer mechanism of the truth discovery paper, Section 5.2, for the idea and the uniform distribution;
readings T2, T3 and T9.
"""

import abc
import functools
import itertools
import math
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, NamedTuple, TypeAlias

import msgspec
import numpy as np
from scipy import special

from ..arguments import exact_arguments, make_fields_exact
from ..arrays import FloatArray
from ..errors import ConfigurationError
from .logarithms import log_of, log_sums

__all__ = [
    "MAX_BETA_SLOTS",
    "Beta",
    "Discrete",
    "HyperDistribution",
    "Mixture",
    "PointMass",
    "Uniform",
    "uniform_for",
]

MAX_BETA_SLOTS: Final = 64
"""The most uniforms that one draw of a `Beta` may take."""

# Rarer points would be too rare for uniforms of 53 bits to tell apart.
_MIN_SHARE: Final = 1e-9
_MAX_POINTS: Final = 1_000
_NEARLY_EQUAL: Final = 0.4
# How far the shares of a `Discrete` may be from summing to 1: more would be a slip of the pen, not of rounding.
_SHARES_TOLERANCE: Final = 1e-9
# Newton's steps double the digits each time: the first guess is right to 4 %, the fifth step changes the last bits.
_NEWTON_STEPS: Final = 5
# Entries of the table of terms that is held at one time.
_MAX_TERMS: Final = 1 << 21


class Mixture(NamedTuple):
    """A finite mixture of flip probabilities.

    Args:
        flips: p, shape (n,), in [0, 1].
        keeps: 1 − p, shape (n,), each precise by itself.
        log_shares: the logarithm of each one's share, shape (n,).
    """

    flips: FloatArray
    keeps: FloatArray
    log_shares: FloatArray


class _Hyper(msgspec.Struct, frozen=True, tag=True):
    """What all hyper-distributions have."""

    @property
    @abc.abstractmethod
    def slots(self) -> int:
        """Uniforms that one draw takes."""

    @property
    @abc.abstractmethod
    def exact_mean(self) -> Fraction:
        """E[P], exactly for the parameters as their floats hold them."""

    @property
    @abc.abstractmethod
    def support(self) -> tuple[float, float]:
        """The least and the greatest flip probability."""

    @abc.abstractmethod
    def draw(self, uniforms: FloatArray) -> FloatArray:
        """Return one flip probability for each row of uniforms.

        Args:
            uniforms: float64 in [0, 1), shape (n, slots).

        Returns:
            float64 in [0, 1], shape (n,).
        """

    @abc.abstractmethod
    def draw_one(self, uniforms: Sequence[float]) -> float:
        """Return `draw` of one row, bit for bit, without the cost of arrays."""

    @abc.abstractmethod
    def draw_exact(self, uniforms: Sequence[Fraction]) -> Fraction:
        """Return `draw` of one row in exact arithmetic, for uniforms of more digits than a float has."""

    @abc.abstractmethod
    def mixture(self, degree: int) -> Mixture:
        """Return a finite mixture with the same E[f(P)] for every polynomial f of at most this degree."""

    @property
    def mean(self) -> float:
        """E[P]: the flip probability of one answer by itself."""
        return float(self.exact_mean)

    @property
    def is_certain(self) -> bool:
        """Whether each worker flips all of its answers or none."""
        mixture = self.mixture(0)
        return not bool(np.any((mixture.flips > 0) & (mixture.keeps > 0)))

    @exact_arguments
    def log_moments(self, num_answers: int) -> FloatArray:
        """Return ln E[P^k (1 − P)^(m−k)] for k = 0, …, m.

        Args:
            num_answers: m ≥ 0.

        Returns:
            float64, shape (m + 1,): right to about 1e-12 for m in the thousands; −∞ where the moment is 0.
        """
        flips, keeps, log_shares = self.mixture(num_answers)
        log_moments = np.empty(num_answers + 1)
        step = max(1, _MAX_TERMS // len(flips))
        for start in range(0, num_answers + 1, step):
            ks = np.arange(start, min(start + step, num_answers + 1), dtype=np.float64)[:, None]
            terms = special.xlogy(ks, flips) + special.xlogy(num_answers - ks, keeps) + log_shares
            log_moments[start : start + step] = log_sums(terms, axis=1)
        return log_moments

    def log_moment(self, num_answers: int, num_flips: int) -> float:
        """Return entry k of `log_moments`, by itself.

        Args:
            num_answers: m ≥ 0.
            num_flips: k, in [0, m].
        """
        flips, keeps, log_shares = self.mixture(num_answers)
        terms = special.xlogy(num_flips, flips) + special.xlogy(num_answers - num_flips, keeps) + log_shares
        return float(log_sums(terms[None, :], axis=1)[0])

    def log_moment_step(self, num_answers: int, num_flips: int) -> float:
        """Return ln L(k + 1) − ln L(k), precisely also where the two are nearly equal.

        Both are sums of the same terms, times p and times 1 − p.

        Args:
            num_answers: m ≥ 1.
            num_flips: k, in [0, m).

        Raises:
            ValueError: both moments are 0.
        """
        flips, keeps, log_shares = self.mixture(num_answers)
        terms = special.xlogy(num_flips, flips) + special.xlogy(num_answers - 1 - num_flips, keeps) + log_shares
        greatest = float(terms.max())
        if greatest == -math.inf:
            raise ValueError(f"E[P^{num_flips} (1 - P)^{num_answers - num_flips}] and the next moment are 0")
        both = np.stack([terms + log_of(flips), terms + log_of(keeps)])
        above, below = log_sums(both, axis=1).tolist()
        if not abs(above - below) < _NEARLY_EQUAL:
            return above - below
        # Nearly equal sums share their greatest terms: the difference of the sums keeps its digits, that of their
        # logarithms would not.
        common = special.expm1(terms - greatest) + 1.0
        return float(special.log1p(float(np.sum(common * (flips - keeps))) / float(np.sum(common * keeps))))


class PointMass(_Hyper, frozen=True):
    """Always the same flip probability: the one-layer mechanism, seen as a two-layer one.

    Args:
        probability: in [0, 1].

    Raises:
        ConfigurationError: it is not.
    """

    probability: float

    def __post_init__(self) -> None:
        make_fields_exact(self, prefix="hyper.")
        _check_probability("hyper.probability", self.probability)

    @property
    def slots(self) -> int:
        """None."""
        return 0

    @property
    def exact_mean(self) -> Fraction:
        """The probability."""
        return Fraction(self.probability)

    @property
    def support(self) -> tuple[float, float]:
        """The probability, twice."""
        return self.probability, self.probability

    def draw(self, uniforms: FloatArray) -> FloatArray:
        """Return the probability for each row. See the base class."""
        return np.full(len(uniforms), float(self.probability))

    def draw_one(self, uniforms: Sequence[float]) -> float:
        """Return the probability."""
        del uniforms
        return float(self.probability)

    def draw_exact(self, uniforms: Sequence[Fraction]) -> Fraction:
        """Return the probability, exactly."""
        del uniforms
        return Fraction(self.probability)

    def mixture(self, degree: int) -> Mixture:
        """Return the one point, for any degree."""
        del degree
        return _mixture_of_points((self.probability,), (1.0,))


class Uniform(_Hyper, frozen=True):
    """Any flip probability in [low, high], all alike: the paper's U(a, b).

    Args:
        low: a, in [0, 1].
        high: b, in [a, 1].

    Raises:
        ConfigurationError: they are not.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        make_fields_exact(self, prefix="hyper.")
        _check_range(self.low, self.high)

    @property
    def slots(self) -> int:
        """One."""
        return 1

    @property
    def exact_mean(self) -> Fraction:
        """(a + b) / 2."""
        return (Fraction(self.low) + Fraction(self.high)) / 2

    @property
    def support(self) -> tuple[float, float]:
        """[low, high]."""
        return self.low, self.high

    def draw(self, uniforms: FloatArray) -> FloatArray:
        """Return a + (b − a)·u, and b at most. See the base class."""
        return _scale(uniforms[:, 0], self.low, self.high)

    def draw_one(self, uniforms: Sequence[float]) -> float:
        """Return `draw` of one row, bit for bit."""
        return min(self.low + (self.high - self.low) * uniforms[0], float(self.high))

    def draw_exact(self, uniforms: Sequence[Fraction]) -> Fraction:
        """Return a + (b − a)·u, exactly."""
        return _scale_exactly(uniforms[0], self.low, self.high)

    def mixture(self, degree: int) -> Mixture:
        """Return the nodes of a Gauss-Legendre rule on [a, b]."""
        return _mixture_on_range(self.low, self.high, 1, 1, _num_nodes(degree))


class Beta(_Hyper, frozen=True):
    """A beta distribution of integer parameters, on [low, high].

    A draw is the α-th smallest of α + β − 1 uniforms, which has exactly this distribution.

    Args:
        alpha: α ≥ 1.
        beta: β ≥ 1; α + β − 1 at most `MAX_BETA_SLOTS`.
        low: in [0, 1].
        high: in [low, 1].

    Raises:
        ConfigurationError: a parameter is out of range.

    Source:
        David and Nagaraja (2003), Order Statistics, Section 2.1, for the draw.
    """

    alpha: int
    beta: int
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        make_fields_exact(self, prefix="hyper.")
        for field, value in (("hyper.alpha", self.alpha), ("hyper.beta", self.beta)):
            if type(value) is not int or value < 1:
                raise ConfigurationError(field=field, value=value, allowed="an integer >= 1")
        if self.alpha + self.beta - 1 > MAX_BETA_SLOTS:
            allowed = f"at most {MAX_BETA_SLOTS + 1} together with beta"
            raise ConfigurationError(field="hyper.alpha", value=(self.alpha, self.beta), allowed=allowed)
        _check_range(self.low, self.high)

    @property
    def slots(self) -> int:
        """α + β − 1."""
        return self.alpha + self.beta - 1

    @property
    def exact_mean(self) -> Fraction:
        """The part α/(α + β) of the way from low to high."""
        return _scale_exactly(Fraction(self.alpha, self.alpha + self.beta), self.low, self.high)

    @property
    def support(self) -> tuple[float, float]:
        """[low, high]."""
        return self.low, self.high

    def draw(self, uniforms: FloatArray) -> FloatArray:
        """Return the α-th smallest of each row, scaled to the range. See the base class."""
        place = self.alpha - 1
        return _scale(np.partition(uniforms, place, axis=1)[:, place], self.low, self.high)

    def draw_one(self, uniforms: Sequence[float]) -> float:
        """Return `draw` of one row, bit for bit."""
        return min(self.low + (self.high - self.low) * sorted(uniforms)[self.alpha - 1], float(self.high))

    def draw_exact(self, uniforms: Sequence[Fraction]) -> Fraction:
        """Return the α-th smallest, scaled to the range, exactly."""
        return _scale_exactly(sorted(uniforms)[self.alpha - 1], self.low, self.high)

    def mixture(self, degree: int) -> Mixture:
        """Return the nodes of a Gauss-Legendre rule on the range, each with the density in its share."""
        nodes = _num_nodes(degree + self.alpha + self.beta - 2)
        return _mixture_on_range(self.low, self.high, self.alpha, self.beta, nodes)


class Discrete(_Hyper, frozen=True):
    """One of a few flip probabilities.

    Args:
        probabilities: 1 to 1,000, each in [0, 1].
        shares: how often each comes, at least 1e-9; they sum to 1 up to rounding, and are divided by their sum.

    Raises:
        ConfigurationError: a parameter is out of range.
    """

    probabilities: tuple[float, ...]
    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        make_fields_exact(self, prefix="hyper.")
        if not 0 < len(self.probabilities) <= _MAX_POINTS:
            value = f"{len(self.probabilities)} of them"
            raise ConfigurationError(field="hyper.probabilities", value=value, allowed=f"1 to {_MAX_POINTS}")
        for probability in self.probabilities:
            _check_probability("hyper.probabilities", probability)
        if len(self.shares) != len(self.probabilities):
            allowed = f"as many as probabilities ({len(self.probabilities)})"
            raise ConfigurationError(field="hyper.shares", value=self.shares, allowed=allowed)
        if not all(share >= _MIN_SHARE for share in self.shares) or abs(math.fsum(self.shares) - 1) > _SHARES_TOLERANCE:
            raise ConfigurationError(
                field="hyper.shares", value=self.shares, allowed=f"at least {_MIN_SHARE:g}, with the sum 1"
            )

    @property
    def slots(self) -> int:
        """One."""
        return 1

    @property
    def exact_mean(self) -> Fraction:
        """The mean of the probabilities, by their shares."""
        shares = [Fraction(share) for share in self.shares]
        total = sum(
            (Fraction(flip) * share for flip, share in zip(self.probabilities, shares, strict=True)), Fraction()
        )
        return total / sum(shares)

    @property
    def support(self) -> tuple[float, float]:
        """The least and the greatest of the probabilities."""
        return min(self.probabilities), max(self.probabilities)

    def draw(self, uniforms: FloatArray) -> FloatArray:
        """Return the probability in whose share each uniform falls. See the base class."""
        bounds = np.array([float(bound) for bound in _bounds(self.shares)], dtype=np.float64)
        places = np.searchsorted(bounds, uniforms[:, 0], side="right")
        return np.array(self.probabilities, dtype=np.float64)[places]

    def draw_one(self, uniforms: Sequence[float]) -> float:
        """Return `draw` of one row, bit for bit."""
        bounds = [float(bound) for bound in _bounds(self.shares)]
        return float(self.probabilities[bisect_right(bounds, uniforms[0])])

    def draw_exact(self, uniforms: Sequence[Fraction]) -> Fraction:
        """Return the probability in whose share the uniform falls, exactly."""
        return Fraction(self.probabilities[bisect_right(_bounds(self.shares), uniforms[0])])

    def mixture(self, degree: int) -> Mixture:
        """Return the distribution itself, for any degree."""
        del degree
        return _mixture_of_points(self.probabilities, self.shares)


HyperDistribution: TypeAlias = PointMass | Uniform | Beta | Discrete


@exact_arguments
def uniform_for(mean: float) -> Uniform:
    """Return the uniform hyper-distribution of this mean that reaches as near to 0 as it can.

    b = 2·mean and a = 0, as the paper has it; where b would pass 1, b = 1 and a = 2·mean − 1.

    Args:
        mean: in [0, 1]; the flip probability of one answer by itself.

    Raises:
        ConfigurationError: it is not.

    Source:
        The truth discovery paper, Section 7.2, for a = 0; reading T2.
    """
    _check_probability("mean", mean)
    high = min(1.0, 2.0 * mean)
    return Uniform(low=2.0 * mean - high, high=high)


def _check_probability(field: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ConfigurationError(field=field, value=value, allowed="in [0, 1]")


def _check_range(low: float, high: float) -> None:
    _check_probability("hyper.low", low)
    _check_probability("hyper.high", high)
    if low > high:
        raise ConfigurationError(field="hyper.low", value=low, allowed=f"at most high = {high}")


def _scale(places: FloatArray, low: float, high: float) -> FloatArray:
    """Return low + (high − low)·place: two roundings, in this order, as `draw_one` has them."""
    return np.minimum(low + (high - low) * places, float(high))


def _scale_exactly(place: Fraction, low: float, high: float) -> Fraction:
    return Fraction(low) + (Fraction(high) - Fraction(low)) * place


@functools.lru_cache(maxsize=256)
def _bounds(shares: tuple[float, ...]) -> tuple[Fraction, ...]:
    """Return where the share of each but the last ends."""
    ends = list(itertools.accumulate(Fraction(share) for share in shares))
    return tuple(end / ends[-1] for end in ends[:-1])


@functools.lru_cache(maxsize=256)
def _mixture_of_points(probabilities: tuple[float, ...], shares: tuple[float, ...]) -> Mixture:
    flips = np.array(probabilities, dtype=np.float64)
    log_shares = log_of(np.array(shares, dtype=np.float64) / math.fsum(shares))
    return Mixture(flips, 1.0 - flips, log_shares)


def _num_nodes(degree: int) -> int:
    """Return how many nodes to take for a polynomial: n of them are exact up to degree 2n − 1.

    More do no harm, so the numbers are rounded up to a few, whose rules are then shared.
    """
    least = degree // 2 + 1
    step = 1 << max(0, least.bit_length() - 3)
    return -(-least // step) * step


@functools.lru_cache(maxsize=64)
def _mixture_on_range(low: float, high: float, alpha: int, beta: int, num_nodes: int) -> Mixture:
    """Return the density t^(α−1) (1 − t)^(β−1) / B(α, β) on [low, high] as the nodes of a rule."""
    half, half_weights = _legendre(num_nodes)
    mirrored = slice(None, num_nodes // 2)  # the middle node of an odd number is its own mirror image
    places = np.concatenate([half, 1.0 - half[mirrored]])
    complements = np.concatenate([1.0 - half, half[mirrored]])
    weights = np.concatenate([half_weights, half_weights[mirrored]])
    log_shares = log_of(weights)
    if alpha + beta > 2:  # noqa: PLR2004  the uniform density is 1
        # 1/B(α, β) is an integer, since α and β are.
        log_scale = float(special.xlogy(1.0, float(beta * math.comb(alpha + beta - 1, beta))))
        log_shares = log_shares + special.xlogy(alpha - 1, places) + special.xlogy(beta - 1, complements) + log_scale
    width = high - low
    return Mixture(low + width * places, (1.0 - high) + width * complements, log_shares)


@functools.lru_cache(maxsize=64)
def _legendre(num_nodes: int) -> tuple[FloatArray, FloatArray]:
    """Return the nodes t ≤ 1/2 of the Gauss-Legendre rule on [0, 1], ascending, and their weights.

    The others are 1 − t, with the same weights. Newton's method on P_n(1 − 2t), all nodes together. The recurrence
    runs over differences of neighboring polynomials, so that small t keep all their digits; it takes the processor's
    basic arithmetic alone.

    Source: Press et al. (2007), Numerical Recipes, Section 4.6.1, for the method and the first guess.
    """
    places = np.arange(1, (num_nodes + 1) // 2 + 1, dtype=np.float64)
    angles = (180.0 / (2 * num_nodes + 1)) * (2.0 * places - 0.5)  # in degrees
    sines = special.sindg(angles / 2)
    nodes = sines * sines
    weights = np.ones_like(nodes)
    for _ in range(_NEWTON_STEPS):
        values = np.ones_like(nodes)  # P_0
        steps = np.zeros_like(nodes)  # P_j − P_(j−1)
        for degree in range(num_nodes):
            # (j + 1)(P_(j+1) − P_j) = j (P_j − P_(j−1)) − (2j + 1)(1 − x) P_j, with 1 − x = 2t
            steps = (degree * steps - (4 * degree + 2) * (nodes * values)) / (degree + 1)
            values = values + steps
        # (1 − x²) P_n' = n (P_(n−1) − x P_n), with 1 − x² = 4t(1 − t)
        curve = 4.0 * nodes * (1.0 - nodes)
        slopes = num_nodes * (2.0 * nodes * values - steps) / curve
        # The weight at the root, 2/((1 − x²) P_n'²) by half for the shorter range.
        weights = 1.0 / (curve * slopes * slopes)
        changes = values / (2.0 * slopes)
        if num_nodes % 2:
            changes[-1] = 0.5 - nodes[-1]  # by symmetry
        nodes = nodes + changes
    return nodes, weights / (2.0 * float(np.sum(weights)) - (float(weights[-1]) if num_nodes % 2 else 0.0))
