"""Coefficients by hand and by brute force, on the grid and off it; clipping; unit directions, never too long."""

import math

import numpy as np
import pytest
from psephos.protocol.arrays import IntArray
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.moral_preferences.coefficients import (
    clip_differences,
    clip_items,
    coefficients_of_records,
    split,
    sum_coefficients,
    sum_rows,
    unit_directions,
)
from psephos.protocol.moral_preferences.sensitivity import num_coefficients
from scipy.special import log_ndtr

# Voters without records at both ends and in between, and one whose records fill several blocks.
COUNTS = [[0, 0, 3, 0, 1, 2500, 0, 7, 0], [1024, 1024], [0], [2, 0], []]


def offsets_of(counts: list[int]) -> IntArray:
    return np.cumsum([0, *counts], dtype=np.int64)


def test_coefficients_by_hand() -> None:
    """V = (½, −½): √(2/π)·(½, −½), then −1/(4π) for β₁², +1/(2π) for β₁β₂ (twice), −1/(4π) for β₂²."""
    (record,) = coefficients_of_records(np.array([[0.5, -0.5]]))
    linear = math.sqrt(2 / math.pi) / 2
    by_hand = [linear, -linear, -0.25 / math.pi, 0.5 / math.pi, -0.25 / math.pi]
    assert record.tolist() == pytest.approx(by_hand, rel=1e-15)


def test_the_polynomial_is_the_likelihood_up_to_the_third_order() -> None:
    """It is ln Φ(z) = −ln 2 + √(2/π)·z − z²/π + O(z³): the error falls a thousandfold as β falls tenfold."""
    generator = np.random.default_rng(2)
    differences = clip_differences(generator.standard_normal((6, 4)))
    direction = generator.standard_normal(4)
    (linear,), (quadratic,) = split(coefficients_of_records(differences).sum(axis=0)[None], num_features=4)

    def error(size: float) -> float:
        beta = size * direction
        exact = float(np.sum(log_ndtr(differences @ beta))) + 6 * math.log(2)
        return abs(exact - (linear @ beta + beta @ quadratic @ beta))

    assert error(1e-2) < 1e-5
    assert error(1e-2) / error(1e-3) == pytest.approx(1000, rel=0.05)


def test_the_matrix_is_symmetric_and_holds_a_pair_s_half_in_either_place() -> None:
    linear, quadratic = split(np.array([[1.0, 2, 3, 4, 5], [0, 0, 1, 1, 1]]), num_features=2)
    assert linear.tolist() == [[1, 2], [0, 0]]
    assert quadratic.tolist() == [[[3, 2], [2, 5]], [[1, 0.5], [0.5, 1]]]


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("num_features", [1, 4])
@pytest.mark.parametrize("step", [2.0**-3, 2.0**-40])
def test_sums_are_those_of_records_rounded_one_by_one(counts: list[int], num_features: int, step: float) -> None:
    offsets = offsets_of(counts)
    generator = np.random.default_rng(3)
    differences = clip_differences(generator.standard_normal((offsets[-1], num_features)))
    sums = sum_coefficients(differences, offsets, step=step)
    steps = np.trunc(coefficients_of_records(differences) / step).astype(np.int64)
    assert sums.dtype == np.int64
    assert sums.shape == (len(counts), num_coefficients(num_features))
    for voter, row in enumerate(sums):
        assert np.array_equal(row, steps[offsets[voter] : offsets[voter + 1]].sum(axis=0))


def test_items_are_clipped_each_by_itself_and_short_ones_are_left_alone() -> None:
    chosen, rejected = clip_items(np.array([[3.0, 4.0], [0.3, 0.4]]), np.array([[0.1, 0.0], [0.0, -8.0]]))
    assert chosen.ravel().tolist() == pytest.approx([0.3, 0.4, 0.3, 0.4], rel=1e-15)
    assert rejected.tolist() == [[0.1, 0.0], [0.0, -0.5]]
    assert chosen[1].tolist() == [0.3, 0.4]


def test_clipped_differences_keep_their_direction() -> None:
    clipped = clip_differences(np.array([[3.0, -4.0], [0.0, 0.0], [0.25, 0.0]]))
    assert clipped.ravel().tolist() == pytest.approx([0.6, -0.8, 0, 0, 0.25, 0], rel=1e-15)


@pytest.mark.parametrize("size", [1e-310, 1e-170, 1.0, 1e160, 1e308])
def test_no_size_of_a_feature_is_too_much_for_clipping(size: float) -> None:
    generator = np.random.default_rng(7)
    differences = size * generator.uniform(-1, 1, (100, 23))
    clipped = clip_differences(differences)
    assert np.all(np.linalg.norm(clipped, axis=1) <= 1 + 1e-14)
    if size < 1e-100:
        assert np.array_equal(clipped, differences)
    coefficients_of_records(clipped)


@pytest.mark.parametrize("step", [1.0, 2.0**-4, 2.0**-16, 2.0**-30])
@pytest.mark.parametrize("num_features", [1, 2, 23])
def test_no_direction_is_longer_than_1_on_the_grid(step: float, num_features: int) -> None:
    generator = np.random.default_rng(8)
    differences = generator.standard_normal((2000, num_features)) * np.exp(generator.normal(0, 50, (2000, 1)))
    rows = unit_directions(differences, step=step)
    limit = round(1 / step)
    assert all(sum(value * value for value in row) <= limit * limit for row in rows.tolist())
    lengths = np.linalg.norm(rows * step, axis=1)
    assert np.all(lengths >= 1 - math.sqrt(num_features) * 2 * step)


def test_a_direction_by_hand() -> None:
    """(3, −4)/5 at step 1/8: (4.8, −6.4) towards zero; zeros stay; the axes are kept whole."""
    rows = unit_directions(np.array([[3.0, -4.0], [0.0, 0.0], [0.0, -1e-300], [-0.0, 5e-324]]), step=0.125)
    assert rows.tolist() == [[4, -6], [0, 0], [0, -8], [0, 8]]


def test_a_row_that_division_left_too_long_loses_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounding up stands for it: (1, 1)/√2 is (2.83, 2.83) in steps of ¼, and (3, 3) is longer than 4."""
    monkeypatch.setattr(np, "trunc", np.ceil)
    rows = unit_directions(np.array([[1.0, 1.0], [-1.0, 1.0]]), step=0.25)
    assert rows.tolist() == [[2, 3], [-2, 3]]


@pytest.mark.parametrize("counts", COUNTS)
def test_sums_of_rows_are_exact_also_around_voters_without_rows(counts: list[int]) -> None:
    offsets = offsets_of(counts)
    generator = np.random.default_rng(9)
    rows = generator.integers(-(2**50), 2**50, (offsets[-1], 3))
    sums = sum_rows(rows, offsets)
    assert sums.shape == (len(counts), 3)
    for voter, row in enumerate(sums.tolist()):
        of_voter = rows[offsets[voter] : offsets[voter + 1]].tolist()
        assert row == [sum(record[column] for record in of_voter) for column in range(3)]


def test_a_sum_that_might_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"2\*\*62 or more"):
        sum_rows(np.full((2, 1), -(2**61)), np.array([0, 2]))
    assert sum_rows(np.full((2, 1), -(2**61)), np.array([0, 1, 2])).tolist() == [[-(2**61)], [-(2**61)]]
    few = np.zeros((1, 1))
    with pytest.raises(
        ValueError, match=r"2\*\*62 steps of 9.094947017729282e-13 or more: use a larger step, or fewer records"
    ):
        sum_coefficients(np.broadcast_to(few, (2**22, 1)), np.array([0, 2**22]), step=2.0**-40)


@pytest.mark.parametrize("step", [0.0, -1.0, 0.3, 2.0, 2.0**-41, math.nan])
def test_a_step_out_of_range_is_refused(step: float) -> None:
    with pytest.raises(ConfigurationError, match=r"step (is|are) .*a power of two"):
        sum_coefficients(np.zeros((1, 2)), np.array([0, 1]), step=step)
    with pytest.raises(ConfigurationError, match=r"step (is|are) .*a power of two"):
        unit_directions(np.zeros((1, 2)), step=step)


def test_directions_have_a_coarser_least_step() -> None:
    with pytest.raises(ConfigurationError, match=r"step (is|are) .*a power of two"):
        unit_directions(np.zeros((1, 2)), step=2.0**-31)


def test_a_difference_that_was_not_clipped_is_refused_and_not_shown() -> None:
    for differences in (np.array([[0.8, 0.7]]), np.array([[1e308, 1e308]])):
        with pytest.raises(ValueError, match="clip differences first"):
            coefficients_of_records(differences)
        with pytest.raises(ValueError, match="clip differences first"):
            sum_coefficients(differences, np.array([0, 1]), step=0.5)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_numbers_that_are_not_finite_are_refused(bad: float) -> None:
    table = np.array([[0.0, bad]])
    for call in (
        lambda: clip_items(table, np.zeros((1, 2))),
        lambda: clip_items(np.zeros((1, 2)), table),
        lambda: clip_differences(table),
        lambda: coefficients_of_records(table),
        lambda: sum_coefficients(table, np.array([0, 1]), step=0.5),
        lambda: unit_directions(table, step=0.5),
    ):
        with pytest.raises(ValueError, match=r"give finite numbers"):
            call()


def test_shapes_that_are_no_tables_are_refused() -> None:
    with pytest.raises(ValueError, match="give both the same"):
        clip_items(np.zeros((1, 2)), np.zeros((1, 3)))
    for shape in ((3,), (3, 0)):
        with pytest.raises(ValueError, match=r"give a table \(records, features\)"):
            clip_differences(np.zeros(shape))
    with pytest.raises(ValueError, match=r"give a table \(records, width\)"):
        sum_rows(np.zeros(3, dtype=np.int64), np.array([0, 3]))
    for shape in ((5,), (2, 4)):
        with pytest.raises(ValueError, match=r"give a table \(polynomials, 5\)"):
            split(np.zeros(shape), num_features=2)
    with pytest.raises(ConfigurationError, match="num_features is 0: use a value from 1"):
        split(np.zeros((1, 0)), num_features=0)


@pytest.mark.parametrize("offsets", [[], [0], [1, 2], [0, 1], [0, 2, 1, 2], [[0, 2]]])
def test_offsets_that_do_not_fit_the_records_are_refused(offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="never fall, from 0 to 2"):
        sum_rows(np.zeros((2, 1), dtype=np.int64), np.array(offsets, dtype=np.int64))
    with pytest.raises(ValueError, match="never fall, from 0 to 2"):
        sum_coefficients(np.zeros((2, 1)), np.array(offsets, dtype=np.int64), step=0.5)


def test_a_voter_s_coefficients_do_not_depend_on_the_other_voters() -> None:
    generator = np.random.default_rng(4)
    differences = clip_differences(generator.standard_normal((3000, 5)))
    together = sum_coefficients(differences, np.array([0, 7, 2999, 3000]), step=2.0**-30)
    alone = sum_coefficients(differences[7:2999], np.array([0, 2992]), step=2.0**-30)
    assert np.array_equal(together[1], alone[0])


def test_clipping_an_item_does_not_look_at_the_other_records() -> None:
    generator = np.random.default_rng(6)
    chosen, rejected = generator.standard_normal((2, 50, 7))
    together = clip_items(chosen, rejected)
    alone = [clip_items(chosen[n : n + 1], rejected[n : n + 1]) for n in range(50)]
    assert np.array_equal(together[0], np.concatenate([pair[0] for pair in alone]))
    assert np.array_equal(together[1], np.concatenate([pair[1] for pair in alone]))
