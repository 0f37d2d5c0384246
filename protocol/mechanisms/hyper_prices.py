"""Uniform hyper-distributions of a given proven loss: find one for a loss, and the least possible loss.

Let e be the greatest admissible mean flip probability: (s − 1)/s for the smallest size s, at which a report is
independent of the answer. Two families of ranges each have one fixed and one free end:

- [0, b], the paper's family, with b from 0 to 1;
- [a, e], with a from 0 to e: no worker flips so often that its reports point away from its answers.

In each family both losses J and R (`joint_law`) decrease as the free end increases. Proof: r_k = ln L(k) − ln L(k + 1)
is the log-odds of keeping an answer, given k flips among the other answers. The law of P given k increases, in
likelihood ratio order, with either end of the range, so r_k decreases. R is r_0 plus the greatest λ. J is the sum of
all positive r_k + λ. In [a, e] all of them are positive; in [0, b] with b ≤ 1 the others never matter, since ln L(0) is
the greatest.

A loss of some [0, b] with b ≤ e is never a loss of an [a, e]. A loss below all those of [0, b] is one of some [a, e].
If both families have a loss, the range with the smaller mean is taken. So as the loss decreases, the mean flip
probability never decreases. A range with a still smaller mean would be narrower, and in the limit one layer: of all
hyper-distributions with one mean, the point mass has the least R.

The least loss of all, at a = e, is Σ ln((s_q − 1)/(s − 1)) for all answers, with s the smallest size, and the greatest
of these terms for one answer; it is 0 if all sets have one size. No uniform distribution with a mean of at most e has a
smaller loss. J is at least ln E[(1 − P)^m] − ln E[P^m] + Σ λ_q. A uniform P is symmetric about its mean c. So this is
at least m ln((1 − c)/c) + Σ λ_q for c ≥ ½, and at least Σ λ_q for c ≤ ½ ≤ e. R is at least that of the point mass.

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

# The relative grid to which the found end is rounded up, so that it does not depend on a processor's last bit.
_GRID: Final = 2.0**40


@exact_arguments
def least_uniform_loss(sizes: Sequence[int], *, unit: LossUnit, most_flips: float) -> float:
    """Return the least loss for which `uniform_of_loss` finds a distribution for sets of these sizes, rounded up.

    Raises:
        ValueError: a size is below 2, or `most_flips` is not in (0, 1).

    Examples:
        >>> least_uniform_loss((2, 2), unit="all answers", most_flips=0.5) < 1e-9
        True
    """
    if not 0 < most_flips < 1:
        raise ValueError(f"most_flips is {most_flips}: use a value above 0 and below 1")
    return _loss_of(sizes, unit)(Uniform(most_flips, most_flips))


@exact_arguments
def uniform_of_loss(loss: float, *, sizes: Sequence[int], unit: LossUnit, most_flips: float | None = None) -> Uniform:
    """Return the uniform hyper-distribution with the given proven loss.

    It is [0, b] or [a, e], whichever with this loss has the smaller mean flip probability. For a single answer only the
    mean matters; then it is the paper's range with that mean (`uniform_for`).

    Args:
        loss: the target, J or R, in nats, > 0.
        sizes: the size of each answer's set, each at least 2, for the row with the greatest loss: the largest sets.
        unit: the unit of protection.
        most_flips: e, the greatest mean flip probability; by default, and at most, (s − 1)/s for the smallest size s.

    Returns:
        A distribution whose loss (`loss_of_all_answers` or `loss_of_one_answer`) is at most `loss`, and close to it.

    Raises:
        ValueError: a parameter is out of range, or the loss is below `least_uniform_loss`.

    Examples:
        >>> hyper = uniform_of_loss(1.0, sizes=(2, 2, 2), unit="all answers")
        >>> round(hyper.low, 4), round(hyper.high, 4)
        (0.3317, 0.5)
    """
    if not 0 < loss < math.inf or not sizes:
        raise ValueError(
            f"loss is {loss} and sizes are {tuple(sizes)}: give a finite loss above 0, and at least one size"
        )
    if min(sizes) < 2:  # noqa: PLR2004  one label has nothing to hide
        raise ValueError(f"the least size is {min(sizes)}: use at least 2")
    loss_of, greatest = _loss_of(sizes, unit), (min(sizes) - 1) / min(sizes)
    most = greatest if most_flips is None else most_flips
    if not 1 / 2 <= most <= greatest:
        raise ValueError(f"most_flips is {most}: use a value from 1/2 to {greatest:g}")
    if (least := least_uniform_loss(sizes, unit=unit, most_flips=most)) > loss:
        raise ValueError(f"loss is {loss}: use at least {least:g} for these sets")
    if len(sizes) == 1:  # only the mean matters
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
    while low < (middle := (low + high) / 2) < high:  # until no float is in between
        if is_enough(middle):
            high = middle
        else:
            low = middle
    digits, exponent = math.frexp(high)
    return min(math.ldexp(math.ceil(digits * _GRID) / _GRID, exponent), most)
