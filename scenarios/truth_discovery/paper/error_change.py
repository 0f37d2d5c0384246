"""Section 6.2.3's error rate change Δ of the two-layer mechanism: a product of independent uniform numbers.

Δ = Π p_u^f, with n important users' flip probabilities from U(a, b), stands for the change of the error rate. As
derived from (10) it should be Π 2·p_u^f, the law of which is `ProductOfUniforms(2a, 2b, n)`: see `error_bounds`.

What holds of the claims below Figure 1, with a = 0:

- "Long tail": Δ is mostly small, and below one layer's (b/2)^n with probability Q(n, n·ln 2), ½ for n = 1 and .84 for
  n = 10, whatever b is. But its *mean* is (b/2)^n as well. Only the median is smaller; rare large changes make up for
  it, and for n = 10 the sixth of the cases above one layer's change has 88 % of the mean.
- "A smaller b, a smaller Δ": true, as Δ is b^n times a number whose law does not depend on b. One layer's change
  shrinks by the same factor, so this is no difference between the mechanisms but the price of privacy.
- "More important users, a smaller Δ": true for the printed Δ, which each user multiplies by a number below 1. It is
  not for Π 2·p_u^f if b > ½: large changes become more probable with n, and at b = 1 their mean stays 1. See
  `domination_excess`.

The law, for X = Π U with U ~ U(a, b), is a sum over how many factors have the lower end: with c_k = a^k·b^(n−k),

    f(x) = Σ_k (−1)^k C(n, k)·(ln(c_k/x))₊^(n−1) / ((b − a)^n·(n − 1)!)

of which only k = 0 is left at a = 0, the paper's density. The terms cancel, so they are added in decimal arithmetic
with as many digits as that takes.
"""

import dataclasses
import decimal
import itertools
import math
from collections.abc import Iterator, Sequence
from decimal import Decimal

import numpy as np
from numpy.typing import ArrayLike

from ....protocol.arrays import FloatArray

__all__ = ["Curve", "ProductOfUniforms", "domination_excess", "figure_1"]

# Twice the digits of a float, besides those that cancel.
_DIGITS = 40


@dataclasses.dataclass(frozen=True)
class ProductOfUniforms:
    """The law of Δ: a product of `num_workers` independent uniform numbers.

    Args:
        low: a ≥ 0.
        high: b > a. Not bounded by 1, since it is 2b where each factor counts twice.
        num_workers: n ≥ 1, of important users.

    Raises:
        ValueError: a parameter is out of range.

    Source:
        Section 6.2.3; the density is the unnumbered equation above Figure 1, here for any a.
    """

    low: float
    high: float
    num_workers: int

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high < math.inf:
            raise ValueError(f"low and high must be 0 <= low < high, finite, got {self.low} and {self.high}")
        if self.num_workers < 1:
            raise ValueError(f"num_workers must be >= 1, got {self.num_workers}")

    @property
    def least(self) -> float:
        """The least change, a^n."""
        return float(Decimal(self.low) ** self.num_workers)

    @property
    def greatest(self) -> float:
        """The greatest change, b^n."""
        return float(Decimal(self.high) ** self.num_workers)

    @property
    def mean(self) -> float:
        """The expectation ((a + b)/2)^n, the same as `one_layer`."""
        return float(self._exact_one_layer)

    @property
    def one_layer(self) -> float:
        """The change of the one-layer mechanism at the same claimed ε, p^f = (a + b)/2 (Theorem 6.4)."""
        return float(self._exact_one_layer)

    @property
    def chance_below_one_layer(self) -> float:
        """P[Δ < one layer's change]; Q(n, n·ln 2) at a = 0, whatever b is."""
        return float(self._below(self._exact_one_layer))

    def density(self, changes: ArrayLike) -> FloatArray:
        """Return the density f; infinite at 0 if that is in reach and n > 1.

        Args:
            changes: Δ, any shape.

        Raises:
            ValueError: a change is not finite.
        """
        array = _finite(changes)
        return np.array([self._density_at(change) for change in array.ravel().tolist()]).reshape(array.shape)

    def distribution(self, changes: ArrayLike) -> FloatArray:
        """Return P[Δ ≤ x], which at a = 0 is Q(n, ln(b^n/x)), the regularized upper incomplete gamma function.

        Args:
            changes: x, any shape.

        Raises:
            ValueError: a change is not finite.
        """
        array = _finite(changes)
        found = [float(self._below(Decimal(change))) for change in array.ravel().tolist()]
        return np.array(found).reshape(array.shape)

    def _density_at(self, change: float) -> float:
        n = self.num_workers
        if not self.least <= change <= self.greatest:
            return 0.0
        if change == 0:
            return 1 / self.high if n == 1 else math.inf
        with decimal.localcontext() as context:
            context.prec = self._digits
            if n == 1:
                return float(1 / (Decimal(self.high) - Decimal(self.low)))
            place = Decimal(change)
            logarithm = place.ln()
            total = Decimal(0)
            for sign, corner, of_corner in self._corners():
                if corner > place:
                    total += sign * (of_corner - logarithm) ** (n - 1)
            width = Decimal(self.high) - Decimal(self.low)
            return max(float(total / (width**n * math.factorial(n - 1))), 0.0)

    def _below(self, change: Decimal) -> Decimal:
        """Return P[Δ ≤ change]: ∫ ln(c/t)^(n−1)/(n−1)! dt up to x is x·Σ_{j<n} ln(c/x)^j/j!, and up to c it is c."""
        with decimal.localcontext() as context:
            context.prec = self._digits
            if change <= Decimal(self.low) ** self.num_workers:
                return Decimal(0)
            logarithm = change.ln()
            total = Decimal(0)
            for sign, corner, of_corner in self._corners():
                if corner > change:
                    total += sign * change * _exponential_sum(of_corner - logarithm, self.num_workers)
                else:
                    total += sign * corner
            width = Decimal(self.high) - Decimal(self.low)
            return total / width**self.num_workers

    def _corners(self) -> Iterator[tuple[int, Decimal, Decimal]]:
        """Yield (−1)^k·C(n, k), c_k = a^k·b^(n−k) and ln c_k, for all k with c_k > 0."""
        n, low, high = self.num_workers, Decimal(self.low), Decimal(self.high)
        of_high = high.ln()
        yield 1, high**n, n * of_high
        if low > 0:
            of_low = low.ln()
            for k in range(1, n + 1):
                corner = low**k * high ** (n - k)
                yield (-1) ** k * math.comb(n, k), corner, k * of_low + (n - k) * of_high

    @property
    def _exact_one_layer(self) -> Decimal:
        with decimal.localcontext() as context:
            context.prec = self._digits
            return ((Decimal(self.low) + Decimal(self.high)) / 2) ** self.num_workers

    @property
    def _digits(self) -> int:
        """How many digits to carry: terms may be ((a + b)/(b − a))^n times their sum and (2e·(1 + ln(b/a)))^n again."""
        if self.low == 0:
            return _DIGITS
        spread = 2 * math.e * (1 + math.log(self.high) - math.log(self.low))
        cancelled = spread * (self.high + self.low) / (self.high - self.low)
        return _DIGITS + math.ceil(self.num_workers * math.log10(cancelled))


def domination_excess(smaller: ProductOfUniforms, greater: ProductOfUniforms, *, num_points: int = 1000) -> float:
    """Return by how much the first law fails to be stochastically smaller than the second: 0 if it is.

    It is smaller if P[first ≤ x] ≥ P[second ≤ x] for all x; the excess is the greatest P[second ≤ x] − P[first ≤ x]
    over `num_points` places, equally spaced up to the greater of the greatest changes.

    Args:
        smaller: the law that a claim calls smaller.
        greater: the other.
        num_points: > 0.

    Raises:
        ValueError: it is not.
    """
    if num_points < 1:
        raise ValueError(f"num_points must be > 0, got {num_points}")
    places = max(smaller.greatest, greater.greatest) * np.arange(1, num_points + 1) / num_points
    return max(float((greater.distribution(places) - smaller.distribution(places)).max()), 0.0)


@dataclasses.dataclass(frozen=True, eq=False)
class Curve:
    """One curve of Figure 1.

    Args:
        law: of Δ.
        changes: the abscissae, float64.
        densities: f(Δ) there.
    """

    law: ProductOfUniforms
    changes: FloatArray
    densities: FloatArray


def figure_1(
    *, highs: Sequence[float], numbers: Sequence[int], num_points: int = 200
) -> tuple[list[Curve], list[Curve]]:
    """Return the curves of Figure 1, at a = 0: (a) b varied at the first n, (b) n varied at the last b.

    The paper's text does not give the values of b and n.

    Args:
        highs: b, each in (0, 1].
        numbers: n, each ≥ 1.
        num_points: > 0, on each curve, equally spaced in (0, max b^n]; at 0 itself the density is infinite.

    Returns:
        The curves of Figure 1a, one for each b, and of Figure 1b, one for each n.

    Raises:
        ValueError: a parameter is out of range, or a sequence is empty.
    """
    if not highs or not numbers:
        raise ValueError("highs and numbers must not be empty")
    if max(highs) > 1:
        raise ValueError(f"highs must be in (0, 1], got {max(highs)}")
    if num_points < 1:
        raise ValueError(f"num_points must be > 0, got {num_points}")
    families = [[ProductOfUniforms(0.0, high, numbers[0]) for high in highs]]
    families.append([ProductOfUniforms(0.0, highs[-1], number) for number in numbers])
    by_high, by_number = (_curves(laws, num_points) for laws in families)
    return by_high, by_number


def _curves(laws: Sequence[ProductOfUniforms], num_points: int) -> list[Curve]:
    changes = max(law.greatest for law in laws) * np.arange(1, num_points + 1) / num_points
    return [Curve(law, changes, law.density(changes)) for law in laws]


def _exponential_sum(x: Decimal, num_terms: int) -> Decimal:
    """Return Σ_{j < num_terms} x^j/j!."""
    terms = itertools.accumulate(range(1, num_terms), lambda term, j: term * x / j, initial=Decimal(1))
    return sum(terms, Decimal(0))


def _finite(changes: ArrayLike) -> FloatArray:
    array = np.asarray(changes, dtype=np.float64)
    if not np.all(np.isfinite(array)):
        raise ValueError("changes must be finite")
    return array
