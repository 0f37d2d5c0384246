"""Rankings side by side: what is one, and how orders become positions."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol.fair_voting import Rankings, positions_of_orders
from psephos.protocol.fair_voting.rankings import are_rankings, are_strict, check_ranking, positions_of_classes
from strategies import CHECKED

EXTREME = [-(2**63), -65, -64, -63, -1, 0, 1, 2, 3, 4, 62, 63, 64, 65, 66, 2**62, 2**63 - 1]


def is_strict(row: list[int]) -> bool:
    return sorted(row) == list(range(len(row)))


def is_ranking(row: list[int]) -> bool:
    return all(position == sum(other < position for other in row) for position in row)


@CHECKED
@given(st.integers(1, 5), st.data())
def test_positions_are_the_numbers_of_those_ahead_and_each_is_there_once_without_a_tie(
    size: int, data: st.DataObject
) -> None:
    """Whatever the numbers: those that a set of 64 bits would take for others too."""
    entries = st.sampled_from(EXTREME) | st.integers(0, size - 1)
    rows = data.draw(st.lists(st.lists(entries, min_size=size, max_size=size), max_size=20))
    rows += [list(range(size)), list(reversed(range(size)))]
    positions = np.array(rows, dtype=np.int64).reshape(-1, size)
    assert are_rankings(positions).tolist() == [is_ranking(row) for row in rows]
    assert are_strict(positions).tolist() == [is_strict(row) for row in rows]
    for row, is_fine in zip(rows, are_rankings(positions).tolist(), strict=True):
        if is_fine:
            check_ranking(row)
        else:
            with pytest.raises(ValueError, match="no ranking"):
                check_ranking(row)


@CHECKED
@given(st.lists(st.lists(st.integers(-2, 2), min_size=4, max_size=4), max_size=5))
def test_numbers_that_order_alternatives_become_a_ranking(rows: list[list[int]]) -> None:
    positions = positions_of_classes(np.array(rows, dtype=np.int64).reshape(-1, 4))
    assert are_rankings(positions).all()
    for row, own in zip(rows, positions.tolist(), strict=True):
        assert own == [sum(other < number for other in row) for number in row]


@pytest.mark.parametrize("size", [1, 2, 50, 61, 62, 63, 64, 65, 200])
def test_rankings_are_known_at_every_number_of_alternatives(size: int) -> None:
    """Around the 63 bits of a number, and beyond."""
    generator = np.random.default_rng(size)
    good = np.array([generator.permutation(size) for _ in range(5)], dtype=np.int64)
    assert are_rankings(good).all()
    for wrong in (-1, size, size + 1, 64, 128, int(good[2, 0]) + 64):
        bad = good.copy()
        bad[2, 0] = wrong
        assert are_rankings(bad).tolist() == [is_ranking(row) for row in bad.tolist()]
    if size > 1:
        repeated = good.copy()
        repeated[1, 0] = repeated[1, 1]
        assert are_strict(repeated).tolist() == [True, False, True, True, True]


def test_many_rows_are_checked_in_batches() -> None:
    positions = np.tile(np.array([[1, 0, 2]]), (40_000, 1))
    positions[33_333] = 1
    assert np.flatnonzero(~are_rankings(positions)).tolist() == [33_333]


def test_rankings_are_a_sequence_of_rows_and_of_slices() -> None:
    positions = np.array([[0, 1, 2], [2, 1, 0], [1, 2, 0]], dtype=np.int64)
    rankings = Rankings(positions)
    assert (len(rankings), rankings.num_alternatives) == (3, 3)
    assert rankings[1].tolist() == [2, 1, 0]
    assert rankings[-1].tolist() == [1, 2, 0]
    assert isinstance(rankings[1:], Rankings)
    assert rankings[1:].positions.tolist() == positions[1:].tolist()
    assert [row.tolist() for row in rankings] == positions.tolist()


def test_a_row_that_is_no_ranking_is_named() -> None:
    positions = np.array([[0, 1, 2], [0, 1, 1], [0, 0, 1], [9, 9, 9]], dtype=np.int64)
    with pytest.raises(ValueError, match=r"^row 3 is no ranking: a position is not the number of alternatives ahead$"):
        Rankings(positions)


def test_what_is_no_table_of_integers_is_refused() -> None:
    with pytest.raises(TypeError, match="positions are float64: convert them to int64"):
        Rankings(np.zeros((2, 2)))  # pyright: ignore[reportArgumentType]  what a type checker would refuse
    with pytest.raises(TypeError, match="int32"):
        Rankings(np.zeros((2, 2), dtype=np.int32))  # pyright: ignore[reportArgumentType]  the same
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        Rankings(np.arange(3, dtype=np.int64))


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_orders_become_positions(size: int) -> None:
    """The alternative at place p of an order has position p: by hand, each is the other's inverse."""
    orders = np.array(list(itertools.permutations(range(size))), dtype=np.int64)
    positions = positions_of_orders(orders)
    for order, own in zip(orders.tolist(), positions.tolist(), strict=True):
        assert own == [order.index(alternative) for alternative in range(size)]
    assert np.array_equal(positions_of_orders(positions), orders)
