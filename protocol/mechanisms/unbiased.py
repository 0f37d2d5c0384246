"""Unbiased local randomizers of a number from a public finite set: each report has an estimate of the number.

Source: reading W8; Duchi, Jordan and Wainwright (2018), minimax optimal procedures, for two points; Wang, Wu and Hu
(2016) for k-RR; Kairouz, Oh and Viswanath (2014) for the form of the optimal one.
"""

import dataclasses
import decimal
import functools
import itertools
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..arguments import exact_arguments
from ..arrays import FloatArray, solve_positive_definite
from ..elementary import square
from ..errors import ConfigurationError, require
from .certificate import Certificate
from .finite_channel import TOTAL_MASS, FiniteChannel, least_ratio_of
from .mechanism import FiniteMechanism
from .optimal_design import Design, design
from .randomized_response import GeneralizedRandomizedResponse, check_epsilon

UnbiasedName: TypeAlias = Literal["two-point", "k-RR", "optimal"]

# The time grows with the third to fourth power of the number of values; a symmetric set takes an eighth of it.
MOST_VALUES: Final = 12
"""The most values for which the optimal mechanism is computed, which takes seconds."""
MOST_SYMMETRIC_VALUES: Final = 20
"""The most values if their number is even and they are symmetric about their middle."""
# The barrier method leaves tiny probabilities for reports outside of the solution; rarer reports than the first bound
# are removed. But if two values are nearly equal, the reports that distinguish them are almost as rare, so the smaller
# bounds are tried if too few reports remain.
_LEAST_PROBABILITIES: Final = (1e-7, 1e-9, 1e-11)
_DIGITS: Final = 40
_SUM_OF_SHARES: Final = 1e-9


@dataclasses.dataclass(frozen=True)
class UnbiasedReport:
    """A local randomizer of numbers, and the estimate of each of its reports.

    Args:
        name: the name of the mechanism.
        epsilon: ε of a report, in nats.
        values: the numbers, increasing; the mechanism's values are their indices.
        mechanism: the randomizer.
        estimates: t(r), one for each report r, with E[t(r) | v] = v.
        certificate: the proof of `lower_bound`, for the optimal mechanism; otherwise None.
        prior: the prior of the optimal mechanism; empty for the worst case.

    Privacy:
        That of `mechanism`: ε-LDP, replace-one, unit: the number.

    Examples:
        >>> report = two_point([Fraction(-1), Fraction(1)], epsilon=1.0)
        >>> [round(float(estimate), 3) for estimate in report.estimates]
        [-2.164, 2.164]
    """

    name: UnbiasedName
    epsilon: float
    values: tuple[Fraction, ...]
    mechanism: FiniteMechanism
    estimates: tuple[Fraction, ...]
    certificate: Certificate | None = None
    prior: tuple[float, ...] = ()

    @functools.cached_property
    def lower_bound(self) -> float:
        """A lower bound for all unbiased ε-LDP mechanisms: on the greatest variance, or on the mean over `prior`.

        It is the claim of the certificate; NaN without one.
        """
        return math.nan if self.certificate is None else float(self.certificate.claimed_bound)

    @functools.cached_property
    def variances(self) -> tuple[float, ...]:
        """Var[t | v] for each value, from the exact law."""
        return tuple(
            math.fsum(chance * square(estimate - float(value)) for chance, estimate in zip(row, floats, strict=True))
            for floats in (list(map(float, self.estimates)),)
            for value, row in zip(self.values, self.mechanism.channel_matrix(), strict=True)
        )

    @property
    def worst_variance(self) -> float:
        """The greatest variance over the values."""
        return max(self.variances)

    @exact_arguments
    def mean_variance(self, prior: Sequence[float]) -> float:
        """Return the variance averaged over shares of the values, which sum to 1."""
        require(all(map(math.isfinite, prior)), "prior", list(prior), "finite shares")
        return math.fsum(share * variance for share, variance in zip(prior, self.variances, strict=True))

    @functools.cached_property
    def greatest_bias(self) -> float:
        """The most by which E[t | v] differs from v, exactly from the law: rounding alone keeps it from being 0."""
        biases: list[Fraction] = []
        for value, row in zip(self.values, self.mechanism.channel_matrix(), strict=True):
            mean = sum((Fraction(c) * t for c, t in zip(row, self.estimates, strict=True)), start=Fraction(0))
            biases.append(abs(mean - value))
        return float(max(biases))

    @functools.cached_property
    def debiasing(self) -> tuple[tuple[float, ...], ...] | None:
        """Rows d with Σ_r d[v][r]·P[r | u] = 1 if u = v, else 0; None where there are too few reports to tell."""
        channel = np.array(self.mechanism.channel_matrix())
        if channel.shape[1] < channel.shape[0]:
            return None
        with decimal.localcontext(decimal.Context(prec=_DIGITS)):
            exact = _decimals(channel.reshape(-1).tolist()).reshape(channel.shape)
            products = _products(exact, exact)
            try:
                identity = _decimals(np.eye(len(exact)).reshape(-1).tolist()).reshape(products.shape)
                rows = _products(solve_positive_definite(products, identity), exact.T)
            except (decimal.InvalidOperation, decimal.DivisionByZero):  # two values have the same law
                return None
        return tuple(tuple(map(float, row)) for row in rows.tolist())


@exact_arguments
def has_optimal(values: Sequence[Fraction]) -> bool:
    """Return whether the optimal mechanism is computed for these values: see `MOST_VALUES`, `MOST_SYMMETRIC_VALUES`.

    Examples:
        >>> has_optimal([Fraction(number) for number in range(30)])
        False
    """
    return len(values) <= (MOST_SYMMETRIC_VALUES if _is_symmetric(values) else MOST_VALUES)


@exact_arguments
def two_point(values: Sequence[Fraction], *, epsilon: float) -> UnbiasedReport:
    """Return the mechanism with two reports, whose estimates are m ± h/tanh(ε/2).

    m is the middle and h half of the range of the values.

    Args:
        values: at least two, increasing.
        epsilon: `MIN_EPSILON` ≤ ε ≤ `MAX_EPSILON`.

    Source:
        P[+] = ½ + ½·tanh(ε/2)·(v − m)/h: Duchi, Jordan and Wainwright (2018), for one dimension; rounded towards ½.

    Examples:
        >>> round(two_point([Fraction(0), Fraction(1), Fraction(3)], epsilon=1.0).worst_variance, 3)
        10.286
    """
    middle, half = _range(values, epsilon)
    greatest = TOTAL_MASS // (1 + least_ratio_of(epsilon)) - TOTAL_MASS // 2  # 2**52·tanh(ε/2)
    steps = [int((value - middle) / half * greatest) for value in values]  # int rounds towards 0
    masses = tuple((TOTAL_MASS // 2 - step, TOTAL_MASS // 2 + step) for step in steps)
    reach = half * Fraction(TOTAL_MASS // 2, greatest)
    channel = FiniteChannel(epsilon, masses)
    return UnbiasedReport("two-point", epsilon, tuple(values), channel, (middle - reach, middle + reach))


@exact_arguments
def randomized_response(values: Sequence[Fraction], *, epsilon: float) -> UnbiasedReport:
    """Return k-RR on the values, debiased. The arguments are those of `two_point`.

    Examples:
        >>> round(randomized_response([Fraction(0), Fraction(1), Fraction(3)], epsilon=1.0).worst_variance, 3)
        12.307
    """
    _range(values, epsilon)
    mechanism = GeneralizedRandomizedResponse(epsilon, len(values))
    return UnbiasedReport("k-RR", epsilon, tuple(values), mechanism, mechanism.debias(values))


@exact_arguments
def optimal(values: Sequence[Fraction], *, epsilon: float, prior: Sequence[float] = ()) -> UnbiasedReport:
    """Return the unbiased mechanism with the least greatest variance, or the least mean variance over a prior.

    Args:
        values: increasing, as many as `has_optimal` allows.
        epsilon: `MIN_EPSILON` ≤ ε ≤ `MAX_EPSILON`.
        prior: a probability for each value, summing to 1; empty for the worst case.

    Raises:
        ConfigurationError: there are too many values, or `prior` is no distribution on them.

    Examples:
        >>> round(optimal([Fraction(0), Fraction(1)], epsilon=1.0).worst_variance, 3)
        0.921
    """
    of_any = "since these are not an even number that is symmetric about its middle"
    most = f"{MOST_SYMMETRIC_VALUES} for the optimal mechanism"
    allowed = most if _is_symmetric(values) else f"{MOST_VALUES} for the optimal mechanism, {of_any}"
    require(has_optimal(values), "values", f"{len(values)} of them", f"at most {allowed}")
    are_shares = len(prior) == len(values) and all(share >= 0 for share in prior)
    allowed = f"{len(values)} shares that sum to 1, one for each signed weight in increasing order"
    is_given = are_shares and abs(math.fsum(prior) - 1) <= _SUM_OF_SHARES
    require(not prior or is_given, "prior", list(prior), allowed)
    return _optimal(tuple(values), epsilon, tuple(prior))


@functools.lru_cache(maxsize=64)
def _optimal(values: tuple[Fraction, ...], epsilon: float, prior: tuple[float, ...]) -> UnbiasedReport:
    middle, half = _range(values, epsilon)
    simple = (two_point(values, epsilon=epsilon), randomized_response(values, epsilon=epsilon))
    objectives = [_objective(report, prior) for report in simple]
    places = [(value - middle) / half for value in values]
    typical = min(objectives) / square(float(half))
    solved = design([float(place) for place in places], epsilon=epsilon, prior=prior or None, typical=typical)
    exact = (_exact(values, solved, epsilon, least_probability=least) for least in _LEAST_PROBABILITIES)
    solution = next((report for report in exact if report is not None), None)
    # If a simple mechanism is optimal, it is better than the solution, whose law is rounded.
    best = min(simple if solution is None else (*simple, solution), key=lambda report: _objective(report, prior))
    certificate = _certificate(values, solved, epsilon, is_worst_case=not prior)
    return dataclasses.replace(best, name="optimal", certificate=certificate, prior=prior)


def _exact(
    values: tuple[Fraction, ...], solved: Design, epsilon: float, *, least_probability: float
) -> UnbiasedReport | None:
    """Return the solution with a law of integers, unbiased for it; None where too few reports are so probable."""
    is_kept = solved.probabilities > least_probability
    if np.count_nonzero(is_kept) < len(values):
        return None
    middle, half = _range(values, epsilon)
    try:
        masses = _masses(solved.subsets[is_kept], solved.probabilities[is_kept], epsilon)
        units = _unbias(masses, [(value - middle) / half for value in values], solved, is_kept)
        channel = FiniteChannel(epsilon, masses)
    except (decimal.InvalidOperation, decimal.DivisionByZero, ConfigurationError):
        return None
    return UnbiasedReport("optimal", epsilon, values, channel, tuple(middle + half * unit for unit in units))


def _certificate(values: tuple[Fraction, ...], solved: Design, epsilon: float, *, is_worst_case: bool) -> Certificate:
    """Return the solution's certificate in the values' own units: t = m + h·x for a number x in units of the design."""
    middle, half = _range(values, epsilon)
    columns = (solved.slopes, solved.masses, solved.prior)
    slopes, masses, prior = ([Fraction(number) for number in column.tolist()] for column in columns)
    # In the worst case, π sums to 1 only up to its last digits.
    total = sum(prior) if is_worst_case else Fraction(1)
    points = list(zip(slopes, masses, prior, strict=True))
    return Certificate(
        epsilon=epsilon,
        values=values,
        slopes=tuple((2 * middle * share + half * slope) / total for slope, _, share in points),
        masses=tuple(
            (middle * middle * share + middle * half * slope + half * half * mass) / total
            for slope, mass, share in points
        ),
        prior=tuple(share / total for share in prior),
    )


def _is_symmetric(values: Sequence[Fraction]) -> bool:
    """Return whether they are an even number that is symmetric about its middle: half of the program will do."""
    pairs = zip(values, reversed(values), strict=True)
    return len(values) % 2 == 0 and all(low + high == values[0] + values[-1] for low, high in pairs)


def _objective(report: UnbiasedReport, prior: Sequence[float]) -> float:
    return report.mean_variance(prior) if prior else report.worst_variance


def _range(values: Sequence[Fraction], epsilon: float) -> tuple[Fraction, Fraction]:
    """Return the middle and the half of the values' range, after a check of both arguments."""
    check_epsilon(epsilon)
    if len(values) < 2 or any(a >= b for a, b in itertools.pairwise(values)):  # noqa: PLR2004  a secret
        first_values = [float(value) for value in values[:10]]
        raise ConfigurationError(field="values", value=first_values, allowed="at least two, in increasing order")
    return (values[0] + values[-1]) / 2, (values[-1] - values[0]) / 2


def _masses(subsets: NDArray[np.bool_], probabilities: FloatArray, epsilon: float) -> tuple[tuple[int, ...], ...]:
    """Return an ε-LDP law in integers, as close to the solution's as multiples of 2**−53 allow.

    The remaining columns are corrected by least squares, so that each row sums to 1 up to rounding, and are slightly
    scaled down. The deficit of a row, a few units of 2**−53, is added to a report whose subset does not contain the
    value, which does not increase the loss.
    """
    ratio = least_ratio_of(epsilon)
    with decimal.localcontext(decimal.Context(prec=_DIGITS)):
        other = Decimal(ratio.numerator) / Decimal(ratio.denominator)
        columns: NDArray[Any] = np.array([other, Decimal(1)], dtype=np.object_)[subsets.astype(np.int64)]
        weights = _decimals(probabilities.tolist())
        squares = weights * weights
        lacking = 1 - np.add.reduce(columns * weights[:, None], axis=0)
        weighted = columns * squares[:, None]
        multipliers = solve_positive_definite(_products(weighted.T, columns.T), lacking[:, None])
        weights = weights + squares * np.add.reduce(columns.T * multipliers, axis=0)
    greatest = [Fraction(weight) * (TOTAL_MASS - 4 * len(weights)) for weight in weights.tolist()]
    inside = [int(mass) for mass in greatest]
    outside = [-int(-mass * ratio) + 1 for mass in inside]
    rows: list[tuple[int, ...]] = []
    for value in range(subsets.shape[1]):
        row = [inside[s] if subsets[s, value] else outside[s] for s in range(len(inside))]
        spare = max((s for s in range(len(inside)) if not subsets[s, value]), key=lambda s: inside[s] - outside[s])
        row[spare] += TOTAL_MASS - sum(row)
        rows.append(tuple(row))
    return tuple(rows)


def _unbias(
    masses: Sequence[Sequence[int]], places: Sequence[Fraction], solved: Design, is_kept: NDArray[np.bool_]
) -> list[Fraction]:
    """Return the estimates nearest to the solution's (least squares, by probability) that are unbiased for this law."""
    with decimal.localcontext(decimal.Context(prec=_DIGITS)):
        law = _decimals([mass for row in masses for mass in row]).reshape(len(masses), -1) / TOTAL_MASS
        estimates = _decimals(solved.estimates[is_kept].tolist())
        targets = np.array([Decimal(place.numerator) / Decimal(place.denominator) for place in places])
        weighted = law * _decimals(solved.probabilities[is_kept].tolist())
        off = targets - np.add.reduce(law.T * estimates[:, None], axis=0)
        multipliers = solve_positive_definite(_products(weighted, law), off[:, None])
        estimates = estimates + np.add.reduce(weighted * multipliers, axis=0)
        return [Fraction(estimate) for estimate in estimates.tolist()]


def _products(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Return the inner products of the rows of two tables."""
    return np.array([[np.add.reduce(row * other) for other in b] for row in a], dtype=np.object_)


def _decimals(numbers: Sequence[float]) -> NDArray[Any]:
    return np.array([Decimal(number) for number in numbers], dtype=np.object_)
