"""Section 6 in formulas: the error bound (7), the change Δ of the error rate, and the accuracy at ε = 0.

- (6) and (7), reading T8: with x = ±1 for a right or a wrong answer, Markov's inequality needs E[e^(−xw)], for which
  the paper uses (E[e^(−x)])^w. By Jensen's inequality, this is too small for all qualities folded into [0, ½]. Half the
  weights give the same vote, and Chernoff's bound, Π 2√(p(1 − p)), which is the best of this kind.
- Δ = Π p_u^f, Section 6.2.3: its mean is one layer's change (b/2)^n; it is below this with probability Q(n, n·ln 2),
  for every b. As derived from (10), it should be Π 2·p_u^f, whose large values become more probable with n if b > ½.
- At ε = 0, reading T5: since P and 1 − P have the same law, so have the reports on answers and on their complement.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.elementary import ln
from ..workers import printed_factor


def printed_bound(quality: float, num_workers: int) -> float:
    """Return the right-hand side of (7), for workers of equal quality.

    Examples:
        >>> round(printed_bound(0.25, 11), 6)
        0.000107
    """
    return math.prod([printed_factor(quality)] * num_workers)


def exact_error(quality: float, num_workers: int) -> float:
    """Return the error probability of a vote of equal workers with log-odds weights; a coin breaks ties.

    A worker that is mostly right has p < ½, and so a negative weight: the vote is wrong if more than half are right.

    Examples:
        >>> round(exact_error(0.25, 11), 4)
        0.0343
    """
    law = functools.reduce(np.convolve, [(1 - quality, quality)] * num_workers, np.ones(1))
    lead = 2 * np.arange(num_workers + 1) - num_workers
    return math.fsum(law[lead > 0].tolist()) + math.fsum(law[lead == 0].tolist()) / 2


@dataclasses.dataclass(frozen=True)
class ProductOfUniforms:
    """The law of Δ: a product of n independent variables from U(0, b).

    Examples:
        >>> law = ProductOfUniforms(high=0.9, num_workers=10)
        >>> round(law.distribution(law.mean), 3)  # how often two layers change less than one
        0.837
    """

    high: float  # b; 2b if each factor is doubled
    num_workers: int  # number n of important users

    @property
    def greatest(self) -> float:
        """The greatest change, b^n."""
        return math.prod([self.high] * self.num_workers)

    @property
    def mean(self) -> float:
        """The expectation (b/2)^n, which is one layer's change at the same claimed ε (Theorem 6.4)."""
        return math.prod([self.high / 2] * self.num_workers)

    def density(self, change: float) -> float:
        """Return ln(b^n/x)^(n − 1)/(b^n·(n − 1)!) for x > 0, and 0 from b^n on.

        Examples:
            >>> ProductOfUniforms(high=0.5, num_workers=1).density(0.2)
            2.0
        """
        log = ln(self.greatest / change)
        return self._terms(log)[-1] / self.greatest if log > 0 else 0.0

    def distribution(self, change: float) -> float:
        """Return P[Δ ≤ x] = x/b^n·Σ_{j<n} ln(b^n/x)^j/j! for x > 0, and 1 from b^n on.

        Examples:
            >>> ProductOfUniforms(high=0.5, num_workers=1).distribution(0.25)
            0.5
        """
        log = ln(self.greatest / change)
        return change / self.greatest * math.fsum(self._terms(log)) if log > 0 else 1.0

    def _terms(self, log: float) -> list[float]:
        """Return ln(b^n/x)^j/j! for all j < n."""
        return list(itertools.accumulate(range(1, self.num_workers), lambda term, j: term * log / j, initial=1.0))


def likelihood_at_zero(num_flipped: int, num_answers: int) -> Fraction:
    """Return E[P^k·(1 − P)^(m − k)], P ~ U(0, 1): the probability that exactly k given of m answers are flipped.

    Examples:
        >>> [str(likelihood_at_zero(flipped, 2)) for flipped in range(3)]
        ['1/3', '1/6', '1/3']
    """
    return Fraction(1, (num_answers + 1) * math.comb(num_answers, num_flipped))


def mean_accuracy_at_zero(estimate: Callable[[IntArray], IntArray], answers: IntArray, truths: IntArray) -> Fraction:
    """Return an estimator's exact accuracy at ε = 0, over all reports, averaged over a truth and its complement.

    Args:
        estimate: maps reports, int64, shape (workers, tasks), to one label for each task.
        answers: int64, 0 or 1, shape (workers, tasks).
        truths: int64, 0 or 1, shape (tasks,); in the complement, answers and truths are flipped.

    Examples:
        >>> first_label = lambda reports: np.zeros(reports.shape[1], dtype=np.int64)
        >>> mean_accuracy_at_zero(first_label, np.array([[0, 1]]), np.array([0, 1]))
        Fraction(1, 2)
    """
    total = Fraction(0)
    for cells in itertools.product((0, 1), repeat=answers.size):
        reports = np.array(cells, dtype=np.int64).reshape(answers.shape)
        estimates = estimate(reports)
        for flip in (0, 1):
            num_flipped = (reports != answers ^ flip).sum(axis=1).tolist()
            chance = math.prod(likelihood_at_zero(number, answers.shape[1]) for number in num_flipped)
            total += int(np.count_nonzero(estimates == truths ^ flip)) * chance
    return total / (2 * len(truths))
