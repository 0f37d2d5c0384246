"""Exact integer sums: right, or refused where they do not fit; never wrapped."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol.arrays import exact_column_sums
from strategies import CHECKED


def test_columns_are_added() -> None:
    sums = exact_column_sums(np.array([[1, -2], [3, 4], [5, -6]], dtype=np.int64))
    assert sums.tolist() == [9, -4]
    assert sums.dtype == np.int64


def test_no_rows_add_up_to_zeros() -> None:
    assert exact_column_sums(np.empty((0, 3), dtype=np.int64)).tolist() == [0, 0, 0]


def test_the_largest_sum_that_fits_is_exact() -> None:
    assert exact_column_sums(np.array([[2**63 - 1]], dtype=np.int64)).tolist() == [2**63 - 1]
    assert exact_column_sums(np.array([[2**62 - 1], [2**62 - 1]], dtype=np.int64)).tolist() == [2**63 - 2]


@pytest.mark.parametrize(
    "values",
    [
        [-(2**63)],
        [2**62, 2**62 - 1],
        [2**62, 2**62, -1],
        [-(2**62), -(2**62)],
        [2**63 - 1, 2**63 - 1, -(2**63), -(2**63), 5],
    ],
)
def test_a_sum_that_fits_is_exact_however_large_its_terms(values: list[int]) -> None:
    sums = exact_column_sums(np.array(values, dtype=np.int64).reshape(-1, 1))
    assert sums.tolist() == [sum(values)]
    assert sums.dtype == np.int64


@pytest.mark.parametrize("values", [[2**62, 2**62], [-(2**62), -(2**62) - 1], [-(2**63), -1], [2**63 - 1, 1]])
def test_a_sum_that_does_not_fit_is_refused(values: list[int]) -> None:
    with pytest.raises(OverflowError, match=f"a sum of {len(values)} integers does not fit into 64 bits"):
        exact_column_sums(np.array(values, dtype=np.int64).reshape(-1, 1))


@pytest.mark.parametrize("columns", [[[2**62, 1], [2**62, 1]], [[1, -(2**63)], [1, -1]]])
def test_one_column_that_does_not_fit_is_enough(columns: list[list[int]]) -> None:
    with pytest.raises(OverflowError, match="does not fit into 64 bits"):
        exact_column_sums(np.array(columns, dtype=np.int64))


@CHECKED
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=6))
def test_a_sum_is_refused_exactly_if_it_does_not_fit(values: list[int]) -> None:
    try:
        sums = exact_column_sums(np.array(values, dtype=np.int64).reshape(-1, 1))
    except OverflowError:
        assert not -(2**63) <= sum(values) < 2**63
    else:
        assert sums.tolist() == [sum(values)]
