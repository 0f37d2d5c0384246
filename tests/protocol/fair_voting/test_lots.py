"""Lots: the same for everybody who has the tally, and no alternative's place in the list is favored."""

import math
from collections import Counter

import numpy as np
import pytest
from helpers import make_fair_inputs, make_fair_vote
from psephos.protocol import SimulatedNoise, run_population
from psephos.protocol.fair_voting.lots import draw_lot, lot_of


def test_a_lot_is_that_of_the_numbers_whatever_bytes_hold_them() -> None:
    totals = np.arange(6, dtype=np.int64).reshape(2, 3)
    assert 0 <= lot_of(totals) < 1
    assert lot_of(totals) == lot_of(totals.astype(">i8"))
    assert lot_of(totals) == lot_of(np.asfortranarray(totals))
    assert lot_of(totals) != lot_of(totals + 1)


def test_every_tied_one_has_its_part_of_the_lots() -> None:
    assert [draw_lot([3, 5, 8], lot) for lot in (0.0, 0.3, 0.34, 0.66, 0.67, math.nextafter(1, 0))] == [
        3,
        3,
        5,
        5,
        8,
        8,
    ]


def test_lots_are_uniform() -> None:
    """20,000 lots in ten cells: chi-square with 9 degrees of freedom exceeds 42 once in 300,000 choices of tallies."""
    counts = Counter(int(10 * lot_of(np.array([number], dtype=np.int64))) for number in range(20_000))
    assert sum((count - 2_000) ** 2 / 2_000 for count in counts.values()) < 42


@pytest.mark.full("fifteen hundred sessions")
def test_reports_that_say_nothing_of_the_alternatives_favor_none_of_them() -> None:
    """Two groups of four voters at a small ε: many sessions tie, and the first one must not win all of those.

    Of 3 alternatives each wins a third of 1,500 sessions to within five standard errors (false alarm: 2e-6).
    """
    vote = make_fair_vote(4, 4, mechanism="sampled_pair", epsilon=0.01)
    inputs = make_fair_inputs(vote, seed=1)
    names = vote.parameters.alternatives
    winners = Counter(
        run_population(vote, inputs, noise=SimulatedNoise(seed, session="lots")).outcome.winner for seed in range(1_500)
    )
    assert all(abs(winners[name] - 500) < 5 * math.sqrt(1_500 * 2 / 9) for name in names)
