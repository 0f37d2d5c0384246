"""A matrix of one's own: what is drawn is what is stated, its loss is exact, the inverse undoes it; refusals."""

import decimal
import math
from fractions import Fraction
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.estimators import LinearEstimator, debiased_values, estimate_counts
from psephos.protocol.estimators.frequencies import inverse_matrix
from psephos.protocol.mechanisms import FiniteChannel
from psephos.protocol.mechanisms.finite_channel import TOTAL_MASS
from psephos.protocol.mechanisms.own_matrix import (
    GREATEST_INVERSE,
    MOST_MATRIX_VALUES,
    Matrix,
    channel_of,
    exact_inverse,
)
from psephos.protocol.mechanisms.realized import realized_loss

SKEWED: Matrix = (("5/8", 0.25, "0.125"), (0.125, 0.75, 0.125), ("1/4", "1/4", "1/2"))


def make(*rows: Any) -> FiniteChannel:
    return channel_of(rows, num_values=len(rows), field="weight_matrix")


@st.composite
def matrices(draw: st.DrawFn) -> Matrix:
    """Return laws of two to five values, of hundredths or of thirds that add up, with more on the diagonal."""
    size = draw(st.integers(2, 5))
    rows: list[tuple[str, ...]] = []
    for own in range(size):
        parts = draw(st.lists(st.integers(1, 40), min_size=size, max_size=size))
        parts[own] += 50
        rows.append(tuple(f"{part}/{sum(parts)}" for part in parts))
    return tuple(rows)


def written(entry: float | str) -> Fraction:
    return Fraction(str(entry))


def log_of(ratio: Fraction) -> decimal.Decimal:
    with decimal.localcontext(decimal.Context(prec=50)):
        return (decimal.Decimal(ratio.numerator) / decimal.Decimal(ratio.denominator)).ln()


def test_decimals_and_fractions_are_drawn_as_they_are_written() -> None:
    channel = make(*SKEWED)
    assert channel.masses == tuple(tuple(int(written(entry) * TOTAL_MASS) for entry in row) for row in SKEWED)
    assert channel.epsilon == pytest.approx(math.log(5), abs=1e-13)
    assert channel.epsilon >= math.log(5)
    assert make((0.75, 0.25), ("0.25", "3/4")).masses == make(("3/4", "1/4"), (0.25, 0.75)).masses


@hypothesis.given(matrices())
def test_no_entry_is_moved_by_a_unit_and_every_row_sums_to_one(matrix: Matrix) -> None:
    channel = make(*matrix)
    for row, masses in zip(matrix, channel.masses, strict=True):
        assert sum(masses) == TOTAL_MASS
        assert all(abs(mass - written(entry) * TOTAL_MASS) < 1 for entry, mass in zip(row, masses, strict=True))


@hypothesis.given(matrices())
def test_the_loss_is_the_greatest_ratio_within_a_column_and_no_less(matrix: Matrix) -> None:
    """By fifty digits from what is drawn; and the guard's own look at the law finds no more."""
    channel = make(*matrix)
    exact = max(log_of(Fraction(max(column), min(column))) for column in zip(*channel.masses, strict=True))
    assert 0 <= decimal.Decimal(channel.epsilon) - exact < decimal.Decimal("1e-13")
    low, high = channel.value_range
    assert realized_loss(channel, (range(low, high + 1),)) <= channel.epsilon
    assert realized_loss(channel, (range(low, high + 1),)) == pytest.approx(channel.epsilon, rel=1e-9)


@pytest.mark.parametrize("least", [1e-9, 1e-6, 0.499999])
def test_the_loss_is_exact_at_either_end(least: float) -> None:
    rate = Fraction(str(least))
    channel = make((str(1 - rate), least), (least, str(1 - rate)))
    assert channel.epsilon == pytest.approx(float(log_of((1 - rate) / rate)), rel=1e-8, abs=1e-12)


@hypothesis.given(matrices())
def test_the_inverse_undoes_what_is_drawn_exactly(matrix: Matrix) -> None:
    channel = make(*matrix)
    size = len(matrix)
    inverse = exact_inverse(channel.masses)
    assert inverse is not None
    for value, masses in enumerate(channel.masses):
        row = [Fraction(mass, TOTAL_MASS) for mass in masses]
        products = [sum(row[report] * inverse[report][other] for report in range(size)) for other in range(size)]
        assert products == [int(value == other) for other in range(size)]


@hypothesis.given(matrices(), st.data())
def test_debiased_values_have_exactly_these_expectations(matrix: Matrix, data: st.DataObject) -> None:
    channel = make(*matrix)
    values = data.draw(st.lists(st.fractions(-9, 9), min_size=len(matrix), max_size=len(matrix)))
    debiased = debiased_values(channel, values)
    means = [
        sum(Fraction(mass, TOTAL_MASS) * d for mass, d in zip(row, debiased, strict=True)) for row in channel.masses
    ]
    assert means == values
    np.testing.assert_allclose(
        np.array([float(value) for value in values]) @ np.array(inverse_matrix(channel)),
        [float(d) for d in debiased],
        rtol=1e-9,
        atol=1e-9,
    )


def test_counts_are_estimated_by_the_inverse() -> None:
    """Of 80 partners of the first value, 80 of the second and 160 of the third, reports as often as expected."""
    counts = [100, 120, 100]
    estimates = estimate_counts(make(*SKEWED), counts)
    assert [estimate.value for estimate in estimates] == pytest.approx([80, 80, 160])
    with pytest.raises(ValueError, match="counts are given: give 3"):
        estimate_counts(make(*SKEWED), [1, 2])
    with pytest.raises(ValueError, match="values are given: give 3"):
        debiased_values(make(*SKEWED), [1, 2])


def test_a_channel_without_an_inverse_is_refused_by_estimates() -> None:
    half = TOTAL_MASS // 2
    for masses in (((half, half), (half, half)), ((half, half // 2, half // 2), (half // 2, half, half // 2))):
        with pytest.raises(ValueError, match="has no inverse"):
            debiased_values(FiniteChannel(1.0, masses), [0, 1])


def test_near_the_limit_a_variance_is_the_greatest() -> None:
    """Two rows that differ by 1.1e-6: values have variances that rounding would not tell apart."""
    apart = Fraction(11, 10**7)
    near = ("1/2", "1/2"), (str(Fraction(1, 2) - apart), str(Fraction(1, 2) + apart))
    channel = make(*near)
    inverse = exact_inverse(channel.masses)
    assert inverse is not None
    assert 0.9 * GREATEST_INVERSE < max(sum(map(abs, row)) for row in inverse) <= GREATEST_INVERSE
    values, counts = (Fraction(1), Fraction(2)), [70, 30]
    debiased = debiased_values(channel, values)
    exact = [
        sum(Fraction(mass, TOTAL_MASS) * (d - value) ** 2 for mass, d in zip(row, debiased, strict=True))
        for value, row in zip(values, channel.masses, strict=True)
    ]
    found = LinearEstimator(debiased, channel.channel_matrix(), inverse_matrix(channel)).total_variance(counts)
    assert found == pytest.approx(float(100 * max(exact)), rel=1e-12)


TENTHS = (0.9, 0.1)
REFUSED: dict[str, tuple[Any, str]] = {
    "no rows": ((), "2 rows of 2 probabilities: true values in rows, reports in columns"),
    "a row too few": ((TENTHS,), "is rows of 2: use 2 rows"),
    "a row too many": ((TENTHS, TENTHS, TENTHS), "is rows of 2, 2, 2"),
    "wider": (((0.8, 0.1, 0.1), (0.1, 0.8, 0.1)), "is rows of 3, 3"),
    "ragged": ((TENTHS, (1.0,)), "is rows of 2, 1"),
    "a row that sums to less": (
        ((0.9, 0.09), TENTHS),
        "in row 1 is a sum of .*: use probabilities that sum to 1",
    ),
    "a row that sums to more": ((TENTHS, (0.9, 0.2)), "in row 2 is a sum of 11/10"),
    "thirds in decimals": (((0.333, 0.333), TENTHS), "a third is the text '1/3'"),
    "a negative entry": (((1.1, -0.1), TENTHS), "in row 1 is 1.1: use a value from"),
    "an entry below 0": (((-0.1, 1.1), TENTHS), "is -0.1: use a value from 1e-09 to 1"),
    "a zero": (((1.0, 0.0), TENTHS), "is 0.0: use .* tells it apart, at an infinite loss"),
    "a negative survey": (((0, 1), (1, 0)), r"in row 1 is 0: .*infinite loss. .*a negative survey.* c < 1/s "),
    "a column of zeros": (((1, 0), (1, 0)), "at an infinite loss"),
    "an entry too small": ((("0.9999999999", 1e-10), TENTHS), "1e-09"),
    "nan": (((math.nan, 0.5), TENTHS), "is nan"),
    "infinity": (((math.inf, 0.5), TENTHS), "is inf"),
    "a truth value": (((True, 0.5), TENTHS), "a number"),
    "words": ((("much", 0.5), TENTHS), "numbers, or text such as '0.25' or '1/4'"),
    "a power of ten": ((("1e-3", "0.999"), TENTHS), "numbers, or text"),
    "a division by zero": ((("1/0", 0.5), TENTHS), "numbers, or text"),
    "too many digits": ((("0." + 30 * "1", 0.5), TENTHS), "of up to 18 digits"),
    "rows that are alike": (
        (TENTHS, TENTHS),
        "is a singular matrix: use a matrix that has an inverse: no row a mixture of others",
    ),
    "rows that are nearly alike": (
        ((0.5, 0.5), ("0.5000001", "0.4999999")),
        "further from singular: each row of its inverse sums up to 1e.06 at most",
    ),
}


@pytest.mark.bad_input("a matrix that is no law, not square, singular or nearly so, ignored, or beside an epsilon")
@pytest.mark.parametrize("case", list(REFUSED))
def test_what_is_no_such_matrix_is_refused_with_its_place(case: str) -> None:
    matrix, said = REFUSED[case]
    with pytest.raises(ConfigurationError, match=said) as caught:
        channel_of(matrix, num_values=2, field="opinion_matrix")
    assert caught.value.field.startswith("opinion_matrix")


@pytest.mark.parametrize(("size", "own"), [(2, "1/10"), (3, "1/10"), (5, "1/100")])
def test_a_negative_survey_costs_what_its_refusal_says(size: int, own: str) -> None:
    seldom = Fraction(own)
    beside = f"{(1 - seldom) / (size - 1)}"
    channel = make(*(tuple(own if place == other else beside for other in range(size)) for place in range(size)))
    assert channel.epsilon == pytest.approx(math.log((1 - seldom) / (seldom * (size - 1))), rel=1e-12)


def test_a_mixture_of_rows_is_singular() -> None:
    rows = (0.5, 0.25, 0.25), (0.25, 0.5, 0.25), (0.375, 0.375, 0.25)
    with pytest.raises(ConfigurationError, match="a singular matrix"):
        make(*rows)


@pytest.mark.bad_input("a matrix that is no law, not square, singular or nearly so, ignored, or beside an epsilon")
def test_so_many_values_a_matrix_may_have() -> None:
    def circulant(size: int) -> Matrix:
        return tuple(
            tuple(f"{size if own == other else 1}/{2 * size - 1}" for other in range(size)) for own in range(size)
        )

    assert len(make(*circulant(MOST_MATRIX_VALUES)).masses) == MOST_MATRIX_VALUES
    with pytest.raises(ConfigurationError, match=f"a matrix for at most {MOST_MATRIX_VALUES} values"):
        make(*circulant(MOST_MATRIX_VALUES + 1))
