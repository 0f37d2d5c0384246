"""Estimates of how often each value occurs, from the reports of k-RR, or of a channel with an inverse.

Source: Warner (1965); Yan, Liu and Liu (2018), equation (3), with the explicit inverse of k-RR's matrix: (M⁻¹)[x][r] =
([x = r] − q)/(p − q).
"""

import functools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from ..arguments import exact_arguments
from ..elementary import square
from ..estimate import Estimate
from ..mechanisms import FiniteChannel, GeneralizedRandomizedResponse
from ..mechanisms.own_matrix import exact_inverse
from .linear import GREATEST_ROW, LinearEstimator

Invertible: TypeAlias = GeneralizedRandomizedResponse | FiniteChannel
"""Randomizers with as many reports as values, whose channel has an inverse."""


def inverse_matrix(mechanism: Invertible) -> tuple[tuple[float, ...], ...]:
    """Return M⁻¹, a row for each value and a column for each report; ValueError for a channel without an inverse."""
    if isinstance(mechanism, FiniteChannel):
        return tuple(tuple(map(float, numbers)) for numbers in zip(*_inverse_of(mechanism), strict=True))
    keep, lie, choices = mechanism.keep_probability, mechanism.flip_probability, range(mechanism.num_choices)
    return tuple(tuple(((x == r) - lie) / (keep - lie) for r in choices) for x in choices)


@exact_arguments
def debiased_values(mechanism: Invertible, values: Sequence[Fraction | float]) -> tuple[Fraction, ...]:
    """Return numbers d(r) with E[d(r) | x] = values[x], exactly. See `GeneralizedRandomizedResponse.debias`.

    Raises:
        ValueError: the number of values differs from the mechanism's, or its channel has no inverse.

    Examples:
        >>> mechanism = GeneralizedRandomizedResponse(math.log(3), 2)
        >>> [round(float(number), 6) for number in debiased_values(mechanism, (0, 1))]
        [-0.5, 1.5]
    """
    if not isinstance(mechanism, FiniteChannel):
        return mechanism.debias(values)
    if len(values) != len(mechanism.masses):
        raise ValueError(f"{len(values)} values are given: give {len(mechanism.masses)}")
    fractions = tuple(Fraction(value) for value in values)
    return tuple(
        sum((share * value for share, value in zip(row, fractions, strict=True)), start=Fraction(0))
        for row in _inverse_of(mechanism)
    )


@exact_arguments
def estimate_counts(mechanism: Invertible, counts: Sequence[int]) -> tuple[Estimate, ...]:
    """Estimate the number of parties with each value from the number of reports of each; ValueError for another shape.

    Estimates are unbiased; one may be negative or exceed the number of parties (reading W6).

    Examples:
        >>> first, _ = estimate_counts(GeneralizedRandomizedResponse(math.log(3), 2), [70, 30])
        >>> (round(first.value, 6), round(first.standard_error, 2))
        (90.0, 8.66)
    """
    num_choices = mechanism.report_range[1] + 1
    if len(counts) != num_choices:
        raise ValueError(f"{len(counts)} counts are given: give {num_choices}")
    if not isinstance(mechanism, FiniteChannel):
        return _estimate_counts_of_k_rr(mechanism, counts)
    channel, inverse = mechanism.channel_matrix(), inverse_matrix(mechanism)
    return tuple(LinearEstimator(row, channel, inverse).estimate(counts) for row in inverse)


def _estimate_counts_of_k_rr(mechanism: GeneralizedRandomizedResponse, counts: Sequence[int]) -> tuple[Estimate, ...]:
    """Estimate counts as `LinearEstimator` does for each row of the inverse, bit for bit, in O(k)."""
    terms = _terms_of_k_rr(mechanism.keep_probability, mechanism.flip_probability, mechanism.num_choices - 1)
    num_reports = sum(counts)
    constant, least = num_reports * terms.constant, num_reports * terms.least
    adds = [(count * terms.own_adds, count * terms.other_adds) for count in counts]
    ratios = [(factor.as_integer_ratio(), summand.as_integer_ratio()) for factor, summand in adds]
    unit = max(denominator for pair in ratios for _, denominator in pair)  # all are powers of 2
    exact_pairs = [(factor * (unit // d), summand * (unit // e)) for (factor, d), (summand, e) in ratios]
    from_others = sum(summand for _, summand in exact_pairs)
    return tuple(
        Estimate(
            (constant + count * terms.factor) / terms.denominator,
            math.sqrt(max((from_others - summand + factor) / unit, least)),
        )
        for count, (factor, summand) in zip(counts, exact_pairs, strict=True)
    )


class _Terms(NamedTuple):
    """The terms of estimated counts from k-RR.

    Args:
        constant, factor: the terms of each report, and of each report of the value, in an estimate, times the
            denominator.
        own_adds, other_adds: the terms of a report of the value, and of another value, in the estimated variance.
        least: the least term of a report in the variance.
    """

    constant: int
    factor: int
    denominator: int
    own_adds: float
    other_adds: float
    least: float


@functools.lru_cache(maxsize=1 << 8)
def _terms_of_k_rr(keep: float, lie: float, num_others: int) -> _Terms:
    """Return the terms by k-RR's probabilities and its number of other values.

    Its matrix and its inverse are multiples of the identity plus a constant. So sums over reports or values have at
    most three different terms, and each sum is correctly rounded, in any order.
    """
    diagonal, off_diagonal = (1 - lie) / (keep - lie), -lie / (keep - lie)  # of M⁻¹

    def variance(*reports: tuple[int, float, float]) -> float:
        """Return the variance of what one report contributes: so many reports of this chance contribute this."""
        mean = _rounded_sum((number, chance * d) for number, chance, d in reports)
        return _rounded_sum((number, chance * square(d - mean)) for number, chance, d in reports)

    of_holder = variance((1, keep, diagonal), (num_others, lie, off_diagonal))
    of_other = variance((1, lie, diagonal), (1, keep, off_diagonal), (num_others - 1, lie, off_diagonal))
    constant, factor = Fraction(off_diagonal), Fraction(diagonal) - Fraction(off_diagonal)
    denominator = max(constant.denominator, factor.denominator)  # both are powers of 2
    numerators = (int(constant * denominator), int(factor * denominator), denominator)
    if abs(diagonal) + num_others * abs(off_diagonal) > GREATEST_ROW:
        return _Terms(*numerators, own_adds=0.0, other_adds=0.0, least=max(of_holder, of_other))
    return _Terms(
        *numerators,
        own_adds=_rounded_sum([(1, diagonal * of_holder), (num_others, off_diagonal * of_other)]),
        other_adds=_rounded_sum(
            [(1, off_diagonal * of_holder), (1, diagonal * of_other), (num_others - 1, off_diagonal * of_other)]
        ),
        least=min(of_holder, of_other),
    )


def _rounded_sum(terms: Iterable[tuple[int, float]]) -> float:
    """Return the sum of so many times each term, exactly rounded as `math.fsum` of all of them is."""
    return float(sum((number * Fraction(term) for number, term in terms), start=Fraction(0)))


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

    Examples:
        >>> project_to_simplex([12.0, 4.0, -4.0], total=12.0)
        (10.0, 2.0, 0.0)
    """
    if not all(map(math.isfinite, values)):
        raise ValueError(f"values are {list(values)}: use finite numbers")
    if not values or not 0 <= total < math.inf:
        raise ValueError(
            f"there are {len(values)} values and total is {total}: give one or more, and a total of at least 0"
        )
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
