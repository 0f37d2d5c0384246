"""How often each value occurs, from k-RR reports.

Source: Warner (1965); Yan, Liu and Liu (2018), equation (3), with the inverse of k-RR's matrix written out:
(M⁻¹)[x][r] = ([x = r] − q)/(p − q).
"""

import math
from collections.abc import Sequence
from fractions import Fraction

from ..arguments import exact_arguments
from ..mechanisms import GeneralizedRandomizedResponse
from .estimate import Estimate
from .linear import LinearEstimator

__all__ = ["debiased_values", "estimate_counts", "inverse_matrix", "project_to_simplex"]


def inverse_matrix(mechanism: GeneralizedRandomizedResponse) -> tuple[tuple[float, ...], ...]:
    """Return M⁻¹ as rows, one for each value; columns are reports."""
    keep, lie, choices = mechanism.keep_probability, mechanism.lie_probability, range(mechanism.num_choices)
    return tuple(tuple(((x == r) - lie) / (keep - lie) for r in choices) for x in choices)


@exact_arguments
def debiased_values(
    mechanism: GeneralizedRandomizedResponse, values: Sequence[Fraction | float]
) -> tuple[Fraction, ...]:
    """Return numbers d(r) with E[d(r) | x] = values[x], exactly. See `GeneralizedRandomizedResponse.debias`."""
    return mechanism.debias(values)


@exact_arguments
def estimate_counts(mechanism: GeneralizedRandomizedResponse, counts: Sequence[int]) -> tuple[Estimate, ...]:
    """Return how many parties hold each value.

    Args:
        mechanism: the randomizer that all of them used.
        counts: how many reported each value, shape (k,).

    Returns:
        One unbiased estimate for each value; it may be negative or exceed the number of parties (reading W6).

    Raises:
        ValueError: there are not k counts.
    """
    if len(counts) != mechanism.num_choices:
        raise ValueError(f"expected {mechanism.num_choices} counts, got {len(counts)}")
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
