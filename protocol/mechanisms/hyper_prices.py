"""Uniform hyper-distributions of a given proven loss: which of them a price buys, and how small a price may be.

Write e for the greatest flip probability that answers may have on average: (s − 1)/s of the smallest set, at which a
report about it is mere noise. Two families of ranges have one end held and one free,

- [0, b], the paper's, with b from 0 to 1, and
- [a, e], with a from 0 to e: no worker flips so often that its reports point away from its answers,

and in each both losses (`joint_law`) fall as the free end rises. For r_k = ln L(k) − ln L(k + 1) is the log-odds of
keeping, given k flips among the other answers; P's law given k is ordered by likelihood ratios, and rises with either
end of the range. R is r_0 plus the greatest λ, and J is the sum of all positive r_k + λ: in [a, e] all of them are
positive, and in [0, b] with b ≤ 1 those that are not never decide, since ln L(0) is the greatest.

A price that [0, b] has with b ≤ e is one that no [a, e] has; a price below those of [0, b] is one that some [a, e] has.
Between the two, where both have it, the one that flips less on average is taken: so as the price falls, answers are
flipped more often and never less. A range that flips less still would be narrower, and in the end one layer: of all
hyper-distributions of one mean the point mass has the least R.

The least price of all, at a = e, is Σ ln((s_q − 1)/(s − 1)) for all answers, with s the smallest size, and the greatest
of these terms for one: 0 where sets are alike. No uniform distribution whose mean is at most e has less: J is at least
ln E[(1 − P)^m] − ln E[P^m] + Σ λ_q, and, since a uniform P is symmetric about its mean c, that is at least
m ln((1 − c)/c) + Σ λ_q where c ≥ ½, and at least Σ λ_q where c ≤ ½ ≤ e; R is at least that of the point mass.

Source: readings T2, T3 and T4.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias

from ..arguments import exact_arguments
from .hyper import Uniform, uniform_for
from .joint_law import loss_of_all_answers, loss_of_one_answer

LossUnit: TypeAlias = Literal["all answers", "one answer"]
"""The unit of a loss: J or R."""

# What is searched for is rounded up to so many of its binary digits, so that a processor's last bit does not show.
_GRID: Final = 2.0**40


@exact_arguments
def least_uniform_loss(sizes: Sequence[int], *, unit: LossUnit, most_flips: float) -> float:
    """Return the least loss that `uniform_of_loss` can find for sets of these sizes, rounded up as all losses are.

    Raises:
        ValueError: a size is below 2, or `most_flips` is not in (0, 1).

    Examples:
        >>> least_uniform_loss((2, 2), unit="all answers", most_flips=0.5) < 1e-9
        True
    """
    if not 0 < most_flips < 1:
        raise ValueError(f"most_flips must be in (0, 1), got {most_flips}")
    return _loss_of(sizes, unit)(Uniform(most_flips, most_flips))


@exact_arguments
def uniform_of_loss(loss: float, *, sizes: Sequence[int], unit: LossUnit, most_flips: float | None = None) -> Uniform:
    """Return the uniform hyper-distribution whose proven loss is the given one.

    It is [0, b] or [a, e], whichever of those with this loss flips least on average. Of a single answer only the mean
    matters, and it is the paper's range of that mean (`uniform_for`).

    Args:
        loss: the target, J or R, in nats, > 0.
        sizes: the size of each answer's set, each at least 2, of the row that costs most: the largest sets.
        unit: the unit of protection.
        most_flips: e, the most that an answer is flipped on average; (s − 1)/s of the smallest size s unless given,
            and no more than that.

    Returns:
        One whose loss (`loss_of_all_answers` or `loss_of_one_answer`) is at most `loss`, and nearly equal.

    Raises:
        ValueError: a parameter is out of range, or the loss is below `least_uniform_loss`.

    Examples:
        >>> hyper = uniform_of_loss(1.0, sizes=(2, 2, 2), unit="all answers")
        >>> round(hyper.low, 4), round(hyper.high, 4)
        (0.3317, 0.5)
    """
    if not 0 < loss < math.inf or not sizes:
        raise ValueError(f"expected a finite loss > 0 and at least one size, got {loss} and {tuple(sizes)}")
    if min(sizes) < 2:  # noqa: PLR2004  one label has nothing to hide
        raise ValueError(f"sizes must be at least 2, got {min(sizes)}")
    loss_of, greatest = _loss_of(sizes, unit), (min(sizes) - 1) / min(sizes)
    most = greatest if most_flips is None else most_flips
    if not 1 / 2 <= most <= greatest:
        raise ValueError(f"most_flips must be in [1/2, {greatest:g}], got {most}")
    if (least := least_uniform_loss(sizes, unit=unit, most_flips=most)) > loss:
        raise ValueError(f"loss must be at least {least:g} for these sets, got {loss}")
    if len(sizes) == 1:  # nothing but the mean matters
        return uniform_for(_least_place(lambda mean: loss_of(uniform_for(mean)) <= loss, most))
    laws: list[Uniform] = []
    if loss_of(Uniform(0.0, 1.0)) <= loss:
        mean = _least_place(lambda mean: loss_of(Uniform(0.0, min(2.0 * mean, 1.0))) <= loss, most)
        laws.append(Uniform(0.0, min(2.0 * mean, 1.0)))
    if loss_of(Uniform(0.0, most)) > loss:
        low = _least_place(lambda low: loss_of(Uniform(low, most)) <= loss, most)
        laws.append(Uniform(low, most))
    return min(laws, key=lambda hyper: hyper.mean)


def _loss_of(sizes: Sequence[int], unit: LossUnit) -> Callable[[Uniform], float]:
    counted = loss_of_all_answers if unit == "all answers" else loss_of_one_answer
    return lambda hyper: counted(sizes, hyper)


def _least_place(is_enough: Callable[[float], bool], most: float) -> float:
    """Return the least float in (0, most] that is enough, rounded up on a grid; `most` is enough."""
    low, high = 0.0, most
    while low < (middle := (low + high) / 2) < high:  # until no float is between
        if is_enough(middle):
            high = middle
        else:
            low = middle
    digits, exponent = math.frexp(high)
    return min(math.ldexp(math.ceil(digits * _GRID) / _GRID, exponent), most)
