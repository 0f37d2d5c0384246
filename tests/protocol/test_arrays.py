"""Exact integer sums: right, or refused where they do not fit; never wrapped. Linear systems by plain elimination."""

import decimal
import operator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol.arrays import ExactSums, distinct_rows, exact_column_sums, solve_positive_definite
from strategies import CHECKED


def test_columns_are_added() -> None:
    sums = exact_column_sums(np.array([[1, -2], [3, 4], [5, -6]], dtype=np.int64))
    assert sums.tolist() == [9, -4]
    assert sums.dtype == np.int64


def test_no_rows_add_up_to_zeros() -> None:
    assert exact_column_sums(np.empty((0, 3), dtype=np.int64)).tolist() == [0, 0, 0]


def check_sum(values: list[int]) -> None:
    """Check that a sum is exact if it fits, however large its terms are, and refused if it does not."""
    column = np.array(values, dtype=np.int64).reshape(-1, 1)
    if -(2**63) <= sum(values) < 2**63:
        sums = exact_column_sums(column)
        assert (sums.tolist(), sums.dtype) == ([sum(values)], np.int64)
        return
    with pytest.raises(OverflowError, match=f"a sum of {len(values)} integers does not fit into 64 bits"):
        exact_column_sums(column)


@pytest.mark.parametrize(
    "values",
    [
        [2**63 - 1],
        [-(2**63)],
        [2**62 - 1, 2**62 - 1],
        [2**62, 2**62 - 1],
        [2**62, 2**62, -1],
        [-(2**62), -(2**62)],
        [2**63 - 1, 2**63 - 1, -(2**63), -(2**63), 5],
        [2**62, 2**62],
        [-(2**62), -(2**62) - 1],
        [-(2**63), -1],
        [2**63 - 1, 1],
    ],
)
def test_a_sum_at_the_ends_of_64_bits_is_exact_or_refused(values: list[int]) -> None:
    check_sum(values)


@CHECKED
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=6))
def test_any_sum_is_exact_or_refused(values: list[int]) -> None:
    check_sum(values)


@pytest.mark.parametrize("columns", [[[2**62, 1], [2**62, 1]], [[1, -(2**63)], [1, -1]]])
def test_one_column_that_does_not_fit_is_enough(columns: list[list[int]]) -> None:
    with pytest.raises(OverflowError, match="does not fit into 64 bits"):
        exact_column_sums(np.array(columns, dtype=np.int64))


@CHECKED
@given(st.integers(1, 6), st.integers(1, 3), st.data())
def test_a_system_of_fractions_is_solved_exactly(size: int, columns: int, data: st.DataObject) -> None:
    """A = B·Bᵀ + 1 is positive definite; A·x is the right-hand side without any rounding."""
    entries = data.draw(st.lists(st.integers(-9, 9), min_size=size * size, max_size=size * size))
    factor = np.array([Fraction(entry) for entry in entries], dtype=np.object_).reshape(size, size)
    matrix = factor @ factor.T + np.array([[Fraction(i == j) for j in range(size)] for i in range(size)])
    numbers = data.draw(st.lists(st.integers(-99, 99), min_size=size * columns, max_size=size * columns))
    right = np.array([Fraction(number) for number in numbers], dtype=np.object_).reshape(size, columns)
    before = matrix.copy(), right.copy()
    solution = solve_positive_definite(matrix, right)
    assert (matrix @ solution == right).all()
    assert (matrix == before[0]).all()
    assert (right == before[1]).all()


def test_a_system_of_floats_is_solved_as_a_library_does() -> None:
    generator = np.random.default_rng(3)
    factor, right = generator.normal(size=(8, 8)), generator.normal(size=(8, 2))
    matrix = factor @ factor.T + np.eye(8)
    np.testing.assert_allclose(solve_positive_definite(matrix, right), np.linalg.solve(matrix, right), rtol=1e-10)


def test_a_system_of_decimals_keeps_their_digits() -> None:
    """Hilbert's matrix of order eight loses ten digits, of forty."""
    with decimal.localcontext(prec=40):
        matrix = np.array([[1 / Decimal(i + j + 1) for j in range(8)] for i in range(8)], dtype=np.object_)
        ones = np.array([[Decimal(1)]] * 8, dtype=np.object_)
        solution = solve_positive_definite(matrix, matrix @ ones)
    assert max(abs(number - 1) for number in solution[:, 0].tolist()) < Decimal("1e-27")


@CHECKED
@given(st.integers(0, 3), st.sampled_from([(0, 2), (-2, 2), (0, 2**20)]), st.data())
def test_distinct_rows_are_those_of_numpy_with_their_numbers(
    width: int, ends: tuple[int, int], data: st.DataObject
) -> None:
    row = st.lists(st.integers(*ends), min_size=width, max_size=width)
    drawn = data.draw(st.lists(row, max_size=20))
    rows = np.array(drawn, dtype=np.int64).reshape(len(drawn), width)
    found, numbers = distinct_rows(rows)
    assert np.repeat(found, numbers, axis=0).tolist() == sorted(rows.tolist())
    assert len({tuple(each) for each in found.tolist()}) == len(found)
    assert found.dtype == numbers.dtype == np.int64


@pytest.mark.parametrize("number", [2**17 - 1, 2**17, 2**17 + 1, 2**18 + 1])
@pytest.mark.parametrize("greatest", [1, 3, 1000])
def test_distinct_rows_of_many_are_counted_part_by_part(number: int, greatest: int) -> None:
    rows = np.random.default_rng(number).integers(0, greatest, (number, 2))
    rows[-1] = 0, greatest
    found, numbers = distinct_rows(rows)
    expected, counted = np.unique(rows, axis=0, return_counts=True)
    assert np.array_equal(found, expected)
    assert np.array_equal(numbers, counted)


def test_sums_of_counts_are_rounded_once_however_many_there_are() -> None:
    """Also next to the middle of two floats, where two floats for each number cannot tell, and at a sum of 0."""
    generator = np.random.default_rng(4)
    for size in (1, 3, 10**5, 2**40, 2**120):
        numbers = [Fraction(int(each), int(other)) for each, other in generator.integers(1, 1 << 40, (5, 2)).tolist()]
        numbers = [size * each for each in numbers] + [Fraction(1), 1 + Fraction(1, 2**53), Fraction(1, 2**90)]
        counts = generator.integers(-3, 30, (64, 8))
        counts[::3, :5] = 0
        counts[-1] = 0
        for constant in (Fraction(0), Fraction(-1, 3)):
            sums = ExactSums(numbers, constant)
            rows = counts.tolist()
            exact = [sum((one * own for one, own in zip(numbers, row, strict=True)), constant) for row in rows]
            assert sums.to_floats(counts).tolist() == list(map(float, exact))
            assert [sums.to_floats(row[None])[0] for row in counts] == list(map(float, exact))
            assert (sums.numerators(counts) > 0).tolist() == [each > 0 for each in exact]


@pytest.mark.parametrize("power", [-1074, -1050, -1020, -950, -899, -300, 0, 300, 899, 950])
def test_sums_of_counts_of_any_size_are_rounded_once(power: int) -> None:
    draw = np.random.default_rng(power + 2_000)
    for number in range(1, 6):
        parts = [Fraction(int(own)) * Fraction(2) ** power for own in draw.integers(-(2**50), 2**50, number + 1)]
        *numbers, constant = [
            own / 2 ** (50 * int(by)) for own, by in zip(parts, draw.integers(0, 3, len(parts)), strict=True)
        ]
        counts = draw.integers(0, 1_000, (40, number))
        exact = [sum(map(operator.mul, numbers, row), constant) for row in counts.tolist()]
        assert ExactSums(numbers, constant).to_floats(counts).tolist() == list(map(float, exact))


def test_a_sum_of_counts_that_is_no_float_is_refused() -> None:
    with pytest.raises(OverflowError):
        ExactSums([Fraction(10) ** 400]).to_floats(np.ones((20, 1), dtype=np.int64))
