"""Mechanisms on arrays, for experiments: reports with simulated noise, and estimates from reports.

These reports protect nobody, since anybody who knows the seed can remove their noise. A deployment uses secure noise
instead, which each party draws for its values (`psephos.agents.noise`).
"""

from typing import Any, Final

import numpy as np

from .arguments import integer_of, integers_of
from .arrays import IntArray
from .errors import ConfigurationError, refuse, require
from .estimate import Estimate, Estimates
from .estimators.frequencies import Invertible, estimate_counts
from .mechanisms import FrequencyOracle, Mechanism, OnArrays, RowMechanism
from .randomness import philox_rows, stream_key

# Rows per batch, which bounds the memory for uniforms.
_BATCH_ROWS: Final = 1 << 18


def perturb(mechanism: RowMechanism, values: Any, *, seed: int) -> IntArray:
    """Return a report with simulated noise for each value, or for each row of values.

    Args:
        values: integers in `value_range`, of shape (n,) with one value for each person, or (n, w) with a row for each.
            A row for a mechanism of rankings has the position of each of m alternatives, from 0, the best; with groups,
            the cell of each alternative: group·m + position.
        seed: ≥ 0. The same seed gives the same reports; row i does not depend on later rows.

    Returns:
        Reports: int64, of shape (n,); or (n, num_reports_of(w)) for rows, and for mechanisms that report several
        numbers for a value.

    Raises:
        ConfigurationError: the values are no such integers, or the seed is not allowed.

    Examples:
        >>> from psephos.protocol.mechanisms import GeneralizedRandomizedResponse
        >>> perturb(GeneralizedRandomizedResponse(1.0, 3), [0, 1, 2, 2], seed=1).tolist()
        [0, 2, 0, 2]
    """
    key = _key_of(seed)
    rows_given = integers_of(values, "values")
    is_flat = rows_given.ndim == 1
    is_single = is_flat and not isinstance(mechanism, Mechanism | FrequencyOracle)
    refuse(is_single, "values", f"shape {rows_given.shape}", "rows, of shape (n, w)")
    require(rows_given.ndim in {1, 2}, "values", f"shape {rows_given.shape}", "of shape (n,) or (n, w)")
    rows = rows_given[:, None] if is_flat else rows_given
    _check_values(mechanism, rows)
    width = rows.shape[1]
    slots = mechanism.slots_of(width)
    reports: IntArray = np.empty((len(rows), mechanism.num_reports_of(width)), dtype=np.int64)
    for start in range(0, len(rows), _BATCH_ROWS):
        batch = rows[start : start + _BATCH_ROWS]
        uniforms = philox_rows(key, start=start, stop=start + len(batch), slots=slots)
        reports[start : start + len(batch)] = mechanism.randomize_rows(batch, uniforms)
    return reports[:, 0] if is_flat and reports.shape[1] == 1 else reports


def estimate(mechanism: RowMechanism, reports: Any) -> Estimates:
    """Estimate the values behind reports, unbiased, with standard errors.

    Args:
        mechanism: the mechanism by which all reports were drawn.
        reports: one for each person: integers in `report_range`, of shape (n,) or (n, numbers per report).

    Returns:
        For k-RR, a frequency oracle, and a channel with an inverse: the number of persons with each value, in order.
        For `WholeRanking`: the number with each ranking, by its code. For Laplace noise: the sum of each column's
        values (up to the bias from clamped noise, which has probability e^−60). For `NoisyScores`: the sum of each
        alternative's scores, in grid steps.

    Raises:
        ConfigurationError: the reports are no such integers, or the mechanism has no estimator.

    Examples:
        >>> from psephos.protocol.mechanisms import GeneralizedRandomizedResponse
        >>> response = GeneralizedRandomizedResponse(3.0, 2)
        >>> counts = estimate(response, perturb(response, [0] * 300 + [1] * 100, seed=1))
        >>> counts.array.round().tolist()
        [298.0, 102.0]
    """
    rows_given = integers_of(reports, "reports")
    rows = rows_given[:, None] if rows_given.ndim == 1 else rows_given
    require(rows_given.ndim in {1, 2}, "reports", f"shape {rows_given.shape}", "of shape (n,) or (n, w)")
    _check_range("reports", rows, mechanism.report_range)
    estimates = mechanism.estimate_rows(rows)
    return estimates if isinstance(estimates, Estimates) else Estimates(estimates)


def _counts(mechanism: Invertible, reports: IntArray) -> tuple[Estimate, ...]:
    allowed = "one report for each person, of shape (n,): estimate each column by itself"
    require(reports.shape[1] == 1, "reports", f"shape {reports.shape}", allowed)
    return estimate_counts(mechanism, np.bincount(reports[:, 0], minlength=mechanism.report_range[1] + 1).tolist())


def _key_of(seed: int) -> int:
    try:
        number = integer_of(seed, "seed")
    except ConfigurationError:
        number = -1
    # The seed is a secret, so the message does not show it.
    require(number >= 0, "seed", "something else", "an integer of at least 0")
    return stream_key(seed=number, session="perturb", round_number=0, protocol="", phase="", purpose="perturb")


def _check_values(mechanism: RowMechanism, rows: IntArray) -> None:
    """Raise ConfigurationError unless these are rows that a person may hold."""
    _check_range("values", rows, mechanism.value_range)
    if entry := mechanism.entry_of_rankings:
        num_groups: int = getattr(mechanism, "num_groups", 1)
        size = (mechanism.value_range[1] + 1) // num_groups
        require(rows.shape[1] == size, "values", f"rows of {rows.shape[1]}", f"rows of {size} {entry}")
        groups, positions = np.divmod(rows, size)
        is_once = np.sort(positions, axis=1) == np.arange(size)
        are_rankings = is_once.all(axis=1) & (groups == groups[:, :1]).all(axis=1)
        if not are_rankings.all():
            place = int(are_rankings.argmin())
            of_group = f"; {entry}, all of one group" if num_groups > 1 else ""
            allowed = f"rankings: rows with each position of 0 to {size - 1} once{of_group}"
            raise ConfigurationError(field=f"values[{place}]", value=rows[place].tolist(), allowed=allowed)


def _check_range(field: str, rows: IntArray, limits: tuple[int, int]) -> None:
    """Raise ConfigurationError where a number is out of range, and say where the first such one is."""
    low, high = limits
    are_wrong = (rows < low) | (rows > high)
    if are_wrong.any():
        row, column = np.unravel_index(int(are_wrong.argmax()), rows.shape)
        place = f"{field}[{row}]" if rows.shape[1] == 1 else f"{field}[{row}, {column}]"
        raise ConfigurationError(field=place, value=int(rows[row, column]), allowed=f"in [{low}, {high}]")


RowMechanism.on_arrays = OnArrays(perturb, estimate, _counts)
