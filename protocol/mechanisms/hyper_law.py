"""The common interface of hyper-distributions: draws, exact flips, and moments by quadrature.

The law of a report of m answers depends on the hyper-distribution only through the moments L(k) = E[P^k (1 − P)^(m−k)]
(`joint_law`). These are means of polynomials. So a quadrature rule with enough nodes is a finite mixture with exactly
these moments; for a density that is nearly a polynomial, up to a proven error (`hyper_normal`). All terms are positive
and are added in logarithms, so that small moments keep their relative precision.
"""

import abc
import functools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

import msgspec
import numpy as np
import scipy as sp

from ..arguments import exact_arguments
from ..arrays import FloatArray
from ..errors import require
from .exact import RandBelow
from .logarithms import log_of, log_sums
from .quadrature import Rule

UNIFORM_BITS: Final = 256
"""The random bits of a uniform in exact draws of a flip probability."""

ONE: Final = 1 << UNIFORM_BITS
"""The number of distinct values of such a uniform, an integer below it."""
_WORD: Final = 1 << 64

_NEARLY_EQUAL: Final = 0.4
# The grid to which quantiles are rounded if their last bit may depend on the processor's vector instructions.
_GRID: Final = 2.0**44
# The most terms in memory at a time.
_MAX_TERMS: Final = 1 << 21


class Mixture(NamedTuple):
    """A finite mixture of flip probabilities: p and 1 − p, each precise by itself, and the logarithms of shares."""

    flips: FloatArray
    keeps: FloatArray
    log_shares: FloatArray


class HyperLaw(msgspec.Struct, frozen=True, tag=True):
    """The base of all hyper-distributions; each raises ConfigurationError for parameters out of range."""

    @property
    def slots(self) -> int:
        """Uniforms that one draw takes."""
        return 1

    @property
    @abc.abstractmethod
    def exact_mean(self) -> Fraction:
        """E[P], exactly for the parameters as their floats hold them; where it is irrational, to sixty digits."""

    @property
    def mean_bounds(self) -> tuple[Fraction, Fraction]:
        """Two numbers between which E[P] lies: the mean itself, twice, where it is rational."""
        return self.exact_mean, self.exact_mean

    @abc.abstractmethod
    def draw(self, uniforms: FloatArray) -> FloatArray:
        """Return one flip probability for each row of uniforms, shape (n, slots): float64 in [0, 1], shape (n,)."""

    def draw_one(self, uniforms: Sequence[float]) -> float:
        """Return `draw` of one row, bit for bit; where that is plain, without the cost of arrays."""
        return float(self.draw(np.array([uniforms]))[0])

    @abc.abstractmethod
    def flips_exactly(self, randbelow: RandBelow) -> Iterator[bool]:
        """Yield without end whether each answer is flipped; all of them share one draw of P. Deployments use this.

        Given P, each answer is flipped independently with probability P. So the probability that exactly k given
        answers of m are flipped is L(k).
        """

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
        """Return ln E[P^k (1 − P)^(m−k)] for k = 0, …, m ≥ 0: float64, shape (m + 1,).

        The error is about 1e-12 for m in the thousands. The logarithm of a moment 0 is −∞.
        """
        flips, keeps, log_shares = self.mixture(num_answers)
        log_moments = np.empty(num_answers + 1)
        step = max(1, _MAX_TERMS // len(flips))
        for start in range(0, num_answers + 1, step):
            ks = np.arange(start, min(start + step, num_answers + 1), dtype=np.float64)[:, None]
            terms = sp.special.xlogy(ks, flips) + sp.special.xlogy(num_answers - ks, keeps) + log_shares
            log_moments[start : start + step] = log_sums(terms, axis=1)
        return log_moments

    def log_moment(self, num_answers: int, num_flips: int) -> float:
        """Return entry k = `num_flips` of `log_moments`, by itself."""
        flips, keeps, log_shares = self.mixture(num_answers)
        terms = sp.special.xlogy(num_flips, flips) + sp.special.xlogy(num_answers - num_flips, keeps) + log_shares
        return float(log_sums(terms[None, :], axis=1)[0])

    def log_moment_step(self, num_answers: int, num_flips: int) -> float:
        """Return ln L(k + 1) − ln L(k), k < m, accurately also if the two are nearly equal.

        Both moments are sums of the same terms, times p and times 1 − p. ValueError if both are 0.
        """
        flips, keeps, log_shares = self.mixture(num_answers)
        terms = sp.special.xlogy(num_flips, flips) + sp.special.xlogy(num_answers - 1 - num_flips, keeps) + log_shares
        greatest = float(terms.max())
        if greatest == -math.inf:
            raise ValueError(f"E[P^{num_flips} (1 - P)^{num_answers - num_flips}] and the next moment are 0")
        log_terms = np.stack([terms + log_of(flips), terms + log_of(keeps)])
        flip_sum, keep_sum = log_sums(log_terms, axis=1).tolist()
        if not abs(flip_sum - keep_sum) < _NEARLY_EQUAL:
            return flip_sum - keep_sum
        # Nearly equal sums share their greatest terms. The difference of the sums is accurate; that of their logarithms
        # would not be.
        common = sp.special.expm1(terms - greatest) + 1.0
        return float(sp.special.log1p(float(np.sum(common * (flips - keeps))) / float(np.sum(common * keeps))))


class HyperQuantiles(HyperLaw, frozen=True):
    """A hyper-distribution whose draws are exact numbers too, made of a few uniforms."""

    @abc.abstractmethod
    def draw_exact(self, uniforms: Sequence[int]) -> tuple[int, int]:
        """Return `draw` of one row as a ratio, exactly, for uniforms of so many parts of `ONE`."""

    def flips_exactly(self, randbelow: RandBelow) -> Iterator[bool]:
        """Draw P of uniforms of `UNIFORM_BITS` bits, and compare."""
        return flips_of(*self.draw_exact([randbelow(ONE) for _ in range(self.slots)]), randbelow)


def flips_of(numerator: int, denominator: int, randbelow: RandBelow) -> Iterator[bool]:
    """Yield without end whether each answer is flipped, with this probability.

    For a long denominator, the first 64 bits almost always decide; a further draw is needed once in 2⁶⁴ cases.
    """
    if denominator <= _WORD:
        while True:
            yield randbelow(denominator) < numerator
    first, remainder = divmod(numerator * _WORD, denominator)
    while True:
        word = randbelow(_WORD)
        yield word < first or (word == first and remainder > 0 and randbelow(denominator) < remainder)


def check_probability(field: str, value: float) -> None:
    """Raise ConfigurationError unless it is a probability."""
    require(0 <= value <= 1, field, value, "in [0, 1]")


def check_range(low: float, high: float) -> None:
    """Raise ConfigurationError unless flip probabilities can be from this range."""
    check_probability("hyper.low", low)
    check_probability("hyper.high", high)
    require(low <= high, "hyper.low", low, f"at most high = {high}")


def scale_exactly(numerator: int, denominator: int, low: float, high: float) -> tuple[int, int]:
    """Return low + (high − low)·place as a ratio, for a place that is one."""
    least, width, common_denominator = _exact_range(low, high)
    return least * denominator + width * numerator, common_denominator * denominator


@functools.lru_cache(maxsize=256)
def _exact_range(low: float, high: float) -> tuple[int, int, int]:
    """Return low, and high − low, as multiples of one part of so many."""
    denominator = math.lcm(Fraction(low).denominator, Fraction(high).denominator)
    return int(Fraction(low) * denominator), int((Fraction(high) - Fraction(low)) * denominator), denominator


def snap_places(places: FloatArray) -> FloatArray:
    """Return the nearest multiples of 2⁻⁴⁴: numbers that are as good, and the same on every processor."""
    return np.rint(places * _GRID) / _GRID


@functools.lru_cache(maxsize=256)
def mixture_of_points(probabilities: tuple[float, ...], shares: tuple[float, ...]) -> Mixture:
    """Return points with their shares, divided by their sum."""
    flips = np.array(probabilities, dtype=np.float64)
    log_shares = log_of(np.array(shares, dtype=np.float64) / math.fsum(shares))
    return Mixture(flips, 1.0 - flips, log_shares)


def mixture_on(rule: Rule, low: float, high: float) -> Mixture:
    """Return the nodes of a rule, on [low, high]."""
    width = high - low
    return Mixture(low + width * rule.places, (1.0 - high) + width * rule.complements, rule.log_weights)
