"""Randomized response by a user-defined matrix: a row for each true value, a column for each report.

Entries are exact: a number is the decimal as written (0.1 is a tenth), and text is a decimal or a fraction ("1/3"). The
matrix is rounded to the nearest table of multiples of 2**-53, which samplers draw exactly (`FiniteChannel`). No entry
changes by 2**-53 or more. Loss, estimates, attacks and audits all use that table.

The loss is computed: it is the greatest logarithm of a ratio within a column. All entries must be positive, since a
zero would cause an infinite loss, or be a report that never occurs. So a negative survey, which asks what a value is
not (Groat et al., 2013), has a small probability on its diagonal instead of 0.

Estimates use the inverse of the table. So the table must be square (with more reports the inverse would not be unique)
and far enough from singular: a report counts at most `GREATEST_INVERSE` times the greatest value.

Source: Warner (1965); Yan, Liu and Liu (2018), Sections 4.2, 5.3 and 6, for matrices other than k-RR's.
"""

import decimal
import functools
import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, TypeAlias

from ..arguments import number_of
from ..errors import ConfigurationError, require
from .finite_channel import TOTAL_MASS, FiniteChannel, least_ratio_of

Matrix: TypeAlias = tuple[tuple[float | str, ...], ...]
"""Rows of probabilities, as written."""

MOST_MATRIX_VALUES: Final = 32
"""The most values of a matrix. Its exact inverse then takes a tenth of a second."""
LEAST_ENTRY: Final = Fraction(1, 10**9)
"""The least entry. Multiples of 2**-53 represent smaller ones to fewer than seven digits. So no loss exceeds ln(10**9)
= 20.7."""
GREATEST_INVERSE: Final = 1e6
"""The greatest sum of absolute values in a row of the inverse.

Up to this, estimates agree with exact arithmetic to a few digits at least. Near it, the variances of different values
cannot be distinguished, so standard errors are the greatest ones (`estimators.linear.is_nearly_singular`).
"""

_ENTRY: Final = re.compile(r"\d{1,18}(\.\d{1,18})?(/\d{1,18})?", re.ASCII)
_NO_NUMBERS: Final = frozenset({"nan", "inf", "-inf"})
_DIGITS: Final = 40


def channel_of(matrix: Matrix, *, num_values: int, field: str) -> FiniteChannel:
    """Return the channel that draws by a matrix, with its loss.

    Args:
        matrix: a row for each true value, with a column for each report.
        num_values: the required number of rows and columns.
        field: the name of the matrix in errors.

    Raises:
        ConfigurationError: the matrix has another shape; a row is no probability distribution; an entry is below
            `LEAST_ENTRY`; or the matrix is singular or nearly so.

    Privacy:
        ε-LDP, replace-one, unit: the value, with ε the greatest ln of a ratio within a column, rounded up by less than
        1e-13. `FiniteChannel` compares every column again.
    """
    most = f"a matrix for at most {MOST_MATRIX_VALUES} values"
    require(num_values <= MOST_MATRIX_VALUES, field, f"a matrix for {num_values} values", most)
    if len(matrix) != num_values or any(len(row) != num_values for row in matrix):
        shape = f"rows of {', '.join(str(len(row)) for row in matrix[:12]) or 'nothing'}"
        allowed = f"{num_values} rows of {num_values} probabilities: true values in rows, reports in columns"
        raise ConfigurationError(field=field, value=shape, allowed=allowed)
    return _channel_of(tuple(map(tuple, matrix)), field)


@functools.lru_cache(maxsize=64)
def exact_inverse(masses: tuple[tuple[int, ...], ...]) -> tuple[tuple[Fraction, ...], ...] | None:
    """Return the inverse of a square table of probabilities, given by the masses of `FiniteChannel`; None if singular.

    It is exact, by fraction-free elimination (Bareiss, 1968): rows D[r] with Σ_r C[x][r]·D[r][y] = 1 if x = y else 0,
    for the table C.
    """
    size = len(masses)
    rows = [[*row, *(int(place == number) for place in range(size))] for number, row in enumerate(masses)]
    last_pivot = 1
    for column in range(size):
        pivot_row = next((row for row in range(column, size) if rows[row][column]), None)
        if pivot_row is None:
            return None
        rows[column], rows[pivot_row] = rows[pivot_row], rows[column]
        pivots = rows[column]
        pivot = pivots[column]
        for place, row in enumerate(rows):
            if place != column:
                factor = row[column]
                rows[place] = [
                    (pivot * entry - factor * pivot_entry) // last_pivot
                    for entry, pivot_entry in zip(row, pivots, strict=True)
                ]
        last_pivot = pivot
    return tuple(tuple(Fraction(TOTAL_MASS * number, last_pivot) for number in row[size:]) for row in rows)


@functools.lru_cache(maxsize=64)
def _channel_of(matrix: Matrix, field: str) -> FiniteChannel:
    masses = tuple(_masses_of(row, place, field) for place, row in enumerate(matrix, start=1))
    ratio = max(Fraction(max(column), min(column)) for column in zip(*masses, strict=True))
    inverse = exact_inverse(masses)
    if inverse is None:
        allowed = "a matrix that has an inverse: no row a mixture of others"
        raise ConfigurationError(field=field, value="a singular matrix", allowed=allowed)
    greatest = max(sum(map(abs, row), start=Fraction(0)) for row in inverse)
    allowed = (
        f"a matrix further from singular: each row of its inverse sums up to {GREATEST_INVERSE:g} at most, without "
        "signs, or rounding would show in standard errors"
    )
    require(greatest <= GREATEST_INVERSE, field, f"a sum of {float(greatest):.3g}", allowed)
    return FiniteChannel(_loss_of(ratio), masses)


def _masses_of(row: Sequence[float | str], place: int, field: str) -> tuple[int, ...]:
    """Return a row in units of 2**-53: rounded down, and what is left to where most was cut off."""
    row_name = f"{field} in row {place}"
    entries = [_entry_of(entry, row_name, is_own=report == place) for report, entry in enumerate(row, start=1)]
    allowed = "probabilities that sum to 1 exactly, as they are written (a third is the text '1/3')"
    require(sum(entries) == 1, row_name, f"a sum of {sum(entries)}", allowed)
    exact_masses = [entry * TOTAL_MASS for entry in entries]
    masses = [math.floor(mass) for mass in exact_masses]
    cut_off = sorted(range(len(masses)), key=lambda report: masses[report] - exact_masses[report])
    for report in cut_off[: TOTAL_MASS - sum(masses)]:
        masses[report] += 1
    return tuple(masses)


def _entry_of(entry: float | str, row_name: str, *, is_own: bool) -> Fraction:
    """Return the number that is written; `is_own` of the diagonal."""
    written = entry if isinstance(entry, str) else str(number_of(entry, row_name))
    numerator, _, denominator = written.partition("/")
    if isinstance(entry, str) and (not _ENTRY.fullmatch(entry) or not Fraction(denominator or 1)):
        allowed = "probabilities: numbers, or text such as '0.25' or '1/4', of up to 18 digits"
        raise ConfigurationError(field=row_name, value=entry[:40], allowed=allowed)
    number = Fraction(numerator) / Fraction(denominator or 1) if written not in _NO_NUMBERS else Fraction(-1)
    if not LEAST_ENTRY <= number <= 1:
        zero = "; a report that a value never makes tells it apart, at an infinite loss" if number == 0 else ""
        if zero and is_own:
            zero += (
                ". A report that is never the true value (a negative survey) rules its value out: make it seldom so, "
                "with c < 1/s on the diagonal and (1 − c)/(s − 1) beside it, at ε = ln((1 − c)/(c·(s − 1)))"
            )
        raise ConfigurationError(field=row_name, value=entry, allowed=f"in [{float(LEAST_ENTRY):g}, 1]{zero}")
    return number


def _loss_of(ratio: Fraction) -> float:
    """Return ln of a ratio ≥ 1, rounded up as far as `FiniteChannel` asks for."""
    context = decimal.Context(prec=_DIGITS)
    log_ratio = context.ln(context.divide(decimal.Decimal(ratio.numerator), decimal.Decimal(ratio.denominator)))
    epsilon = float(log_ratio)
    step = math.ulp(max(epsilon, 1.0))
    while ratio * least_ratio_of(epsilon) > 1:
        epsilon += step
    return epsilon
