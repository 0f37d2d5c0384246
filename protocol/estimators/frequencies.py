"""How often each value occurs, from the reports of k-RR, or of a channel with an inverse.

Source: Warner (1965); Yan, Liu and Liu (2018), equation (3), with the inverse of k-RR's matrix written out:
(M⁻¹)[x][r] = ([x = r] − q)/(p − q).
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from ..arguments import exact_arguments
from ..mechanisms import FiniteChannel, GeneralizedRandomizedResponse
from ..mechanisms.own_matrix import exact_inverse
from .estimate import Estimate
from .linear import LinearEstimator

__all__ = ["Invertible", "debiased_values", "estimate_counts", "inverse_matrix", "project_to_simplex"]

Invertible: TypeAlias = GeneralizedRandomizedResponse | FiniteChannel
"""Randomizers with as many reports as values, whose channel has an inverse."""


def inverse_matrix(mechanism: Invertible) -> tuple[tuple[float, ...], ...]:
    """Return M⁻¹ as rows, one for each value; columns are reports.

    Raises:
        ValueError: the channel has no inverse.
    """
    if isinstance(mechanism, FiniteChannel):
        return tuple(tuple(map(float, numbers)) for numbers in zip(*_inverse_of(mechanism), strict=True))
    keep, lie, choices = mechanism.keep_probability, mechanism.lie_probability, range(mechanism.num_choices)
    return tuple(tuple(((x == r) - lie) / (keep - lie) for r in choices) for x in choices)


@exact_arguments
def debiased_values(mechanism: Invertible, values: Sequence[Fraction | float]) -> tuple[Fraction, ...]:
    """Return numbers d(r) with E[d(r) | x] = values[x], exactly. See `GeneralizedRandomizedResponse.debias`.

    Raises:
        ValueError: there are not as many values as the mechanism has, or its channel has no inverse.
    """
    if not isinstance(mechanism, FiniteChannel):
        return mechanism.debias(values)
    if len(values) != len(mechanism.masses):
        raise ValueError(f"expected {len(mechanism.masses)} values, got {len(values)}")
    exact = tuple(Fraction(value) for value in values)
    return tuple(
        sum((share * value for share, value in zip(row, exact, strict=True)), start=Fraction(0))
        for row in _inverse_of(mechanism)
    )


@exact_arguments
def estimate_counts(mechanism: Invertible, counts: Sequence[int]) -> tuple[Estimate, ...]:
    """Return how many parties hold each value.

    Args:
        mechanism: the randomizer that all of them used.
        counts: how many reported each value, shape (k,).

    Returns:
        One unbiased estimate for each value; it may be negative or exceed the number of parties (reading W6).

    Raises:
        ValueError: there are not k counts.
    """
    num_choices = mechanism.report_range[1] + 1
    if len(counts) != num_choices:
        raise ValueError(f"expected {num_choices} counts, got {len(counts)}")
    channel, inverse = mechanism.channel_matrix(), inverse_matrix(mechanism)
    return tuple(LinearEstimator(row, channel, inverse).estimate(counts) for row in inverse)


@exact_arguments
def project_to_simplex(values: Sequence[float], *, total: float) -> tuple[float, ...]:
    """Return the point nearest to `values` (least squares) among those that are ≥ 0 and sum to `total`.

    Args:
        values: at least one.
        total: ≥ 0.

    Raises:
        ValueError: there is no value, one is not finite, or `total` is negative or infinite.

    Source:
        Duchi, Shalev-Shwartz, Singer and Chandra (2008), Figure 1.
    """
    if not all(map(math.isfinite, values)):
        raise ValueError(f"values must be finite numbers, got {list(values)}")
    if not values or not 0 <= total < math.inf:
        raise ValueError(f"expected at least one value and total >= 0, got {len(values)} and {total}")
    descending = sorted(values, reverse=True)
    threshold = 0.0
    for place in range(1, len(descending) + 1):
        candidate = (math.fsum(descending[:place]) - total) / place
        if descending[place - 1] < candidate:
            break
        threshold = candidate
    return tuple(max(value - threshold, 0.0) for value in values)


def _inverse_of(channel: FiniteChannel) -> tuple[tuple[Fraction, ...], ...]:
    """Return the exact inverse, a row for each report."""
    is_square = all(len(row) == len(channel.masses) for row in channel.masses)
    inverse = exact_inverse(channel.masses) if is_square else None
    if inverse is None:
        raise ValueError("the channel has no inverse: its reports do not tell its values apart, or are not as many")
    return inverse
