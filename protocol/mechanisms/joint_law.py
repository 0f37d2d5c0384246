"""The loss of two-layer perturbation: exact losses of answers that share one flip probability.

A worker draws P once and perturbs all m answers with it. Let D be the set of answers at which a report differs from the
row, and k the size of D. The report has probability L(k) · Π_{q in D} 1/(s_q − 1), with L(k) = E[P^k (1 − P)^(m−k)] and
s_q the size of answer q's set. It depends only on D, and every D occurs. With λ_q = ln(s_q − 1), the losses for
worst-case rows and reports are:

- All answers may differ between neighbors: J = max_k [ln L(k) − the k smallest λ] − min_k [ln L(k) − the k largest λ].
- One answer may differ, and all others are known: the answer joins D, leaves D, or changes between two wrong labels,
  which changes nothing. R = max_{k, q} abs(ln L(k) − ln L(k + 1) + λ_q).
- t answers, all of size s, may differ: max over |k − k'| ≤ t of |g(k) − g(k')|, with g(k) = ln L(k) − k ln(s − 1).

ln L is convex in k (Hölder). So each extreme is at an end, at a border between sizes, or found by bisection, and only a
few of the m moments are computed. Removing an answer is post-processing of rows and reports alike. So J and R never
decrease when an answer is added, and a protocol may charge the loss of its longest row to all workers.

Neither the ε of Theorem 6.3 nor m·ε is such a loss: Theorem 6.3 holds only for a single answer by itself. The paper's
claim that the uniform distribution is the most private one is not proven there; `compare_hypers` shows what holds.

Every returned loss is an upper bound in nats. It is rounded up by about 1e-9, more than all rounding errors of its
moments, and is ∞ if some report is impossible for some row. `sizes` are the sizes of the answers' sets, in any order,
each at least 2; otherwise ValueError is raised.

Source: the truth discovery paper, Section 6.1; readings T3, T4 and T9.
"""

import decimal
import functools
import itertools
import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final, NamedTuple, TypeAlias

import scipy as sp

from ..arguments import exact_arguments
from ..elementary import power_of_two_below
from .hyper import Beta, Discrete, HyperDistribution, PointMass, Uniform

# The grid to which losses are rounded up, relative for losses above 1, so that they do not depend on a processor's last
# bit.
_GRID: Final = 2.0**-32
# An upper bound on the error of ln L per answer, since its terms are products of m factors.
_ERROR_PER_ANSWER: Final = 2.0**-44
_DIGITS: Final = 40
# The tolerance for equal means, which covers the rounding of a range's ends.
_MEAN_TOLERANCE: Final = 1e-9

_Counts: TypeAlias = tuple[tuple[int, int], ...]
"""The sizes of answer sets in ascending order, each with its number of answers."""


class HyperLosses(NamedTuple):
    """The losses of a hyper-distribution, with its name and its mean E[P]: J of all answers, R of one.

    Examples:
        >>> from psephos.protocol.mechanisms import Uniform
        >>> (losses,) = compare_hypers({"uniform": Uniform(0.0, 0.5)}, num_answers=3, num_labels=2)
        >>> losses.name, losses.mean
        ('uniform', 0.25)
    """

    name: str
    mean: float
    all_answers: float
    one_answer: float


@exact_arguments
def loss_of_flip_probability(flip_probability: float | Fraction, num_labels: int) -> float:
    """Return abs(ln((1 − p)(s − 1)/p)): the loss of a single answer with flip probability p.

    Args:
        flip_probability: p, in [0, 1]; a float counts as its exact value.
        num_labels: s ≥ 2.

    Returns:
        The loss in nats, rounded up to the next float; 0 if the law is the same for all labels, and ∞ for p in {0, 1}.

    Raises:
        ValueError: a parameter is out of range.

    Source:
        The truth discovery paper, Theorem 6.2, for p ≤ (s − 1)/s.

    Examples:
        >>> round(loss_of_flip_probability(0.25, 2), 4)  # ln 3
        1.0986
    """
    _check_sizes((num_labels,))
    flip = Fraction(flip_probability)
    if not 0 <= flip <= 1:
        raise ValueError(f"flip_probability is {flip_probability}: use a value from 0 to 1")
    if flip in {0, 1}:
        return math.inf
    odds = (1 - flip) * (num_labels - 1) / flip
    if odds == 1:
        return 0.0
    context = decimal.Context(prec=_DIGITS)
    ratio = max(odds, 1 / odds)
    # The digits suffice for odds that differ from 1 only in a float's last bit.
    loss = context.ln(context.divide(decimal.Decimal(ratio.numerator), decimal.Decimal(ratio.denominator)))
    return math.nextafter(float(loss), math.inf)


@exact_arguments
def loss_of_mean(hyper: HyperDistribution, num_labels: int) -> float:
    """Return the loss of a single answer: `loss_of_flip_probability` of E[P].

    If only bounds of the mean are known, the result is the greater of their losses, since the loss is convex between
    them.

    Examples:
        >>> from psephos.protocol.mechanisms import Uniform
        >>> round(loss_of_mean(Uniform(0.0, 0.5), 2), 4)
        1.0986
    """
    return max(loss_of_flip_probability(mean, num_labels) for mean in set(hyper.mean_bounds))


@exact_arguments
def loss_of_all_answers(sizes: Sequence[int], hyper: HyperDistribution) -> float:
    """Return J: the loss of a whole row, all of whose answers may differ between neighbors.

    Privacy:
        Replace-one; unit: all of one worker's answers.

    Examples:
        >>> from psephos.protocol.mechanisms import Uniform
        >>> round(loss_of_all_answers((2, 2, 2), Uniform(0.0, 0.5)), 3)
        2.708
    """
    _check_sizes(sizes)
    return _loss_of_all(_counts_of(sizes), hyper)


@exact_arguments
def loss_of_one_answer(sizes: Sequence[int], hyper: HyperDistribution) -> float:
    """Return R: the greatest loss of one answer of a row if all other answers are known.

    Privacy:
        Replace-one; unit: one answer, against an adversary who knows all others. For a uniform P on [0, b] it grows
        like ln m.

    Examples:
        >>> from psephos.protocol.mechanisms import Uniform
        >>> round(loss_of_one_answer((2, 2, 2), Uniform(0.0, 0.5)), 3)
        1.409
    """
    _check_sizes(sizes)
    return _loss_of_one(_counts_of(sizes), hyper)


@exact_arguments
def loss_of_longest_row(num_answers: int, sizes: Sequence[int], hyper: HyperDistribution) -> float:
    """Return an upper bound on J for every row of this many answers, whose sets have any of these sizes.

    Let D and D' be the sets of differing answers for two rows and the same report, of sizes k and k'. The loss is ln
    L(k) − ln L(k') + λ(D' without D) − λ(D without D'), where λ(S) is the sum of λ_q over q in S. The bound assumes
    only the smallest λ in D and only the largest in D'. It is attained if all sizes are equal; or if a report without
    flips is at least as likely as one with all flips, since then D is empty and all answers may have the largest size.
    ValueError if there is no size, or the number of answers is negative.

    Examples:
        >>> from psephos.protocol.mechanisms import Uniform
        >>> round(loss_of_longest_row(3, (2, 4), Uniform(0.0, 0.5)), 3)
        6.004
    """
    _check_sizes(sizes)
    if not sizes or num_answers < 0:
        raise ValueError(
            f"num_answers is {num_answers} and sizes are {tuple(sizes)}: give at least 0 answers and one size"
        )
    if num_answers == 0:
        return 0.0
    smallest, largest = (((size, num_answers),) for size in (min(sizes), max(sizes)))
    losses = [loss for end in (smallest, largest) for loss in _simple_losses(end, hyper) or ()]
    if losses:
        # The odds are monotone in the size, so the greatest |ln| is at one of the two extreme sizes.
        return num_answers * max(losses)
    greatest = max(_log_chances_at_borders(smallest, hyper))
    return _round_up(greatest - _least_log_chance(largest, hyper), num_answers)


@exact_arguments
def hypers_of_mean(mean: float) -> dict[str, HyperDistribution]:
    """Return some hyper-distributions of one mean, by name, in the order of their variances.

    ValueError if the mean is not in (0, 1).

    Examples:
        >>> sorted(hypers_of_mean(0.25))
        ['beta(2, 2)', 'beta(4, 4)', 'point mass', 'two points, half range', 'uniform', 'uniform, half range']
    """
    if not 0 < mean < 1:
        raise ValueError(f"mean is {mean}: use a value above 0 and below 1")
    reach = min(mean, 1.0 - mean)
    low, high = mean - reach, mean + reach
    inner_low, inner_high = mean - reach / 2, mean + reach / 2
    return {
        "point mass": PointMass(mean),
        "uniform, half range": Uniform(inner_low, inner_high),
        "beta(4, 4)": Beta(4, 4, low, high),
        "beta(2, 2)": Beta(2, 2, low, high),
        "two points, half range": Discrete((inner_low, inner_high), (0.5, 0.5)),
        "uniform": Uniform(low, high),
    }


@exact_arguments
def compare_hypers(
    hypers: Mapping[str, HyperDistribution], *, num_answers: int, num_labels: int
) -> tuple[HyperLosses, ...]:
    """Return J and R of hyper-distributions with the same mean, for which a single answer has the same law and loss.

    A point mass always has the least R, since an answer never loses less if the others are known. J has no such order:
    a wide distribution may have a smaller or a greater J than the m·ε of the point mass.

    Args:
        hypers: the hyper-distributions by name, in the order of the results; `hypers_of_mean` returns some.
        num_answers: m ≥ 0.
        num_labels: s ≥ 2.

    Raises:
        ValueError: the means differ, or a parameter is out of range.

    Examples:
        >>> for losses in compare_hypers(hypers_of_mean(0.25), num_answers=5, num_labels=2):
        ...     print(losses.name, round(losses.mean, 3))
        point mass 0.25
        uniform, half range 0.25
        beta(4, 4) 0.25
        beta(2, 2) 0.25
        two points, half range 0.25
        uniform 0.25
    """
    means = [hyper.mean for hyper in hypers.values()]
    if means and max(means) - min(means) > _MEAN_TOLERANCE:
        raise ValueError(f"means are {min(means)} to {max(means)}: give equal ones")
    sizes = (num_labels,) * num_answers
    return tuple(
        HyperLosses(name, hyper.mean, loss_of_all_answers(sizes, hyper), loss_of_one_answer(sizes, hyper))
        for name, hyper in hypers.items()
    )


@functools.lru_cache(maxsize=1 << 14)
def _loss_of_all(counts: _Counts, hyper: HyperDistribution) -> float:
    if (simple := _simple_losses(counts, hyper)) is not None:
        return sum((count * loss for (_, count), loss in zip(counts, simple, strict=True)), 0.0)
    num_answers = sum(count for _, count in counts)
    greatest = max(_log_chances_at_borders(counts, hyper))
    return _round_up(greatest - _least_log_chance(counts, hyper), num_answers)


@functools.lru_cache(maxsize=1 << 14)
def _loss_of_one(counts: _Counts, hyper: HyperDistribution) -> float:
    if (simple := _simple_losses(counts, hyper)) is not None:
        return max(simple, default=0.0)
    num_answers = sum(count for _, count in counts)
    # ln L(k) − ln L(k + 1) decreases in k. Its greatest value is combined with the largest λ, its least with the
    # smallest.
    first = _log_lies(counts[-1][0]) - hyper.log_moment_step(num_answers, 0)
    last = _log_lies(counts[0][0]) - hyper.log_moment_step(num_answers, num_answers - 1)
    return _round_up(max(abs(first), abs(last)), num_answers)


def _simple_losses(counts: _Counts, hyper: HyperDistribution) -> list[float] | None:
    """Return the loss of an answer of each size where no two answers share more than a mean; else None."""
    num_answers = sum(count for _, count in counts)
    if num_answers > 1 and not isinstance(hyper, PointMass):
        return [math.inf for _ in counts] if hyper.is_certain else None
    return [loss_of_mean(hyper, size) for size, _ in counts]


def _log_chances_at_borders(counts: _Counts, hyper: HyperDistribution) -> list[float]:
    """Return ln L(k) − the k smallest λ, for both ends, and for each k at which the next λ is larger.

    Between two of these it is convex, so that the greatest of all is among them.
    """
    num_answers = sum(count for _, count in counts)
    num_flips, log_lies = 0, 0.0
    log_chances = [hyper.log_moment(num_answers, 0)]
    for size, count in counts:
        num_flips += count
        log_lies += count * _log_lies(size)
        log_chances.append(hyper.log_moment(num_answers, num_flips) - log_lies)
    return log_chances


def _least_log_chance(counts: _Counts, hyper: HyperDistribution) -> float:
    """Return the least of ln L(k) − the k largest λ."""
    num_flips = _least_place(counts, hyper)
    num_remaining, log_lies = num_flips, 0.0
    for size, count in reversed(counts):
        taken = min(num_remaining, count)
        log_lies += taken * _log_lies(size)
        num_remaining -= taken
    return hyper.log_moment(sum(count for _, count in counts), num_flips) - log_lies


def _least_place(counts: _Counts, hyper: HyperDistribution) -> int:
    """Return the k at which ln L(k) − the k largest λ is least: it is convex, so its steps change sign once."""
    falling = counts[::-1]
    borders = list(itertools.accumulate(count for _, count in falling))

    def rises(num_flips: int) -> bool:
        next_size = falling[bisect_right(borders, num_flips)][0]
        return hyper.log_moment_step(borders[-1], num_flips) >= _log_lies(next_size)

    return bisect_left(range(borders[-1]), True, key=rises)  # noqa: FBT003  a value to find, not an option


def _log_lies(num_labels: int) -> float:
    """Return λ = ln(s − 1)."""
    return float(sp.special.xlogy(1.0, num_labels - 1))


def _round_up(loss: float, num_answers: int) -> float:
    """Return an upper bound on a loss that was worked out in floats, on a grid."""
    if loss == math.inf:
        return loss
    padded = loss + _GRID * max(1.0, loss) + num_answers * _ERROR_PER_ANSWER
    grid = _GRID * power_of_two_below(max(1.0, padded))
    return math.ceil(padded / grid) * grid


def _counts_of(sizes: Sequence[int]) -> _Counts:
    return tuple(sorted(Counter(int(size) for size in sizes).items()))


def _check_sizes(sizes: Sequence[int]) -> None:
    if len(sizes) and min(sizes) < 2:  # noqa: PLR2004  one label has nothing to hide
        raise ValueError(f"the least size is {min(sizes)}: use at least 2")
