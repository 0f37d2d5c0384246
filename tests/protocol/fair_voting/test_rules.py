"""Voting rules without privacy: by hand, and by brute force from their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol.fair_voting import Rankings, positions_of_orders
from psephos.protocol.fair_voting.rules import borda, copeland, egalitarian, pairwise_wins, plurality
from strategies import CHECKED


def profile(*orders: str) -> Rankings:
    codes = [[ord(name) - ord("a") for name in order] for order in orders]
    return Rankings(positions_of_orders(np.array(codes, dtype=np.int64)))


def top(scores: list[int] | list[tuple[int, int]]) -> list[int]:
    return [place for place, score in enumerate(scores) if score == max(scores)]


@st.composite
def profiles(draw: st.DrawFn) -> Rankings:
    size = draw(st.integers(1, 5))
    orders = draw(st.lists(st.permutations(range(size)), min_size=1, max_size=9))
    return Rankings(positions_of_orders(np.array(orders, dtype=np.int64)))


def test_rules_disagree_on_a_profile_worked_by_hand() -> None:
    """4 of abc, 3 of bca, 2 of cba: a leads, b wins every contest and has the most points, and c's worst is a last."""
    rankings = profile(*["abc"] * 4, *["bca"] * 3, *["cba"] * 2)
    assert plurality(rankings) == [0]
    assert copeland(rankings) == [1]
    assert borda(rankings) == [1]  # 8, 12, 7
    assert egalitarian(rankings) == [1]  # of b nobody has the last place
    assert pairwise_wins(rankings).tolist() == [[0, 4, 4], [5, 0, 7], [5, 2, 0]]


@CHECKED
@given(profiles())
def test_rules_are_their_definitions(rankings: Rankings) -> None:
    rows: list[list[int]] = rankings.positions.tolist()
    columns = range(rankings.num_alternatives)
    wins = [[sum(row[a] < row[b] for row in rows) for b in columns] for a in columns]
    assert pairwise_wins(rankings).tolist() == wins
    assert plurality(rankings) == top([sum(row[a] == 0 for row in rows) for a in columns])
    assert borda(rankings) == top([sum(len(row) - 1 - row[a] for row in rows) for a in columns])
    contests = [sum((wins[a][b] > wins[b][a]) - (wins[a][b] < wins[b][a]) for b in columns if b != a) for a in columns]
    assert copeland(rankings) == top(contests)
    assert egalitarian(rankings) == top([(-max(row[a] for row in rows), -sum(row[a] for row in rows)) for a in columns])


@pytest.mark.parametrize("size", [127, 128, 129, 200, 300])
def test_contests_of_many_alternatives_are_counted_too(size: int) -> None:
    """More than a byte has numbers."""
    generator = np.random.default_rng(0)
    positions = np.array([generator.permutation(size) for _ in range(4)], dtype=np.int64)
    expected = (positions[:, :, None] < positions[:, None, :]).sum(axis=0)
    assert np.array_equal(pairwise_wins(Rankings(positions)), expected)
