"""Rankings of ballots with ties: the three rules, and whom the random one depends on."""

from collections import Counter

import numpy as np
import pytest
from psephos.protocol import ConfigurationError
from psephos.protocol.randomness import philox_rows, stream_key
from psephos.scenarios.fair_voting.data.ballots import Ballots
from psephos.scenarios.fair_voting.data.ties import TieRule, break_ties
from scipy.stats import chi2


def ballots_of(classes: list[list[int]], listed: list[list[int]] | None = None, *, repeats: int = 1) -> Ballots:
    """Return voters with ballots of their own, each of them so many times."""
    table = np.array(classes, dtype=np.int16)
    names = tuple("abcdef"[: table.shape[1]])
    voters = np.repeat(np.arange(len(table)), repeats)
    return Ballots(
        alternatives=names,
        ids=names,
        classes=table,
        listed=np.array(classes if listed is None else listed, dtype=np.int16),
        ballot_of_voter=voters,
        lines=voters + 10,
        voters=(),
        source="x.toi",
    )


def positions_of(
    ballots: Ballots, *, ties: TieRule = "random", seed: int = 0, kept: list[int] | None = None
) -> list[list[int]]:
    """Return the rankings alone."""
    every = range(len(ballots.alternatives))
    positions, _ = break_ties(ballots, ties=ties, seed=seed, kept=every if kept is None else kept)
    assert positions.dtype == np.int64
    rankings: list[list[int]] = positions.tolist()
    return rankings


@pytest.mark.parametrize("ties", ["random", "listed", "refuse"])
def test_strict_orders_are_the_same_under_every_rule(ties: TieRule) -> None:
    ballots = ballots_of([[0, 1, 2], [2, 0, 1], [2, 0, 3]])  # the last one does not list alternative c
    positions, num_tied = break_ties(ballots, ties=ties, seed=0, kept=range(3))
    assert positions.tolist() == [[0, 1, 2], [2, 0, 1], [1, 0, 2]]
    assert num_tied == 0


def test_listed_order_counts_first_and_the_order_of_the_file_for_what_is_not_listed() -> None:
    ballots = ballots_of([[1, 4, 1, 0], [4, 4, 0, 4]], [[2, 4, 1, 0], [4, 4, 0, 4]])
    assert positions_of(ballots, ties="listed") == [[2, 3, 1, 0], [1, 2, 0, 3]]


def test_ties_stay_within_their_class_and_what_is_not_listed_stays_last() -> None:
    positions = np.array(positions_of(ballots_of([[0, 0, 4, 4], [4, 1, 1, 0]], repeats=500)))
    assert np.all(np.sort(positions[:500, :2], axis=1) == [0, 1])
    assert np.all(positions[500:, 3] == 0)
    assert np.all(positions[500:, 0] == 3)


def test_random_orders_of_tied_alternatives_are_uniform() -> None:
    """Chi-squared over the 6 orders of three tied alternatives; false alarm with probability 1e-6."""
    num_voters = 60_000
    counts = Counter(map(tuple, positions_of(ballots_of([[0, 0, 0]], repeats=num_voters), seed=11)))
    expected = num_voters / 6
    assert len(counts) == 6
    assert sum((count - expected) ** 2 / expected for count in counts.values()) < chi2.isf(1e-6, 5)


def test_expected_position_of_a_tied_alternative_is_the_mean_of_the_tied_positions() -> None:
    """Mean over 60,000 voters, five standard errors; false alarm with probability below 3e-6."""
    positions = np.array(positions_of(ballots_of([[0, 4, 4, 4]], repeats=60_000), seed=5))
    deviation = np.sqrt(2 / 3) / np.sqrt(60_000)  # of the mean of a uniform draw from 1, 2, 3
    assert np.all(np.abs(positions[:, 1:].mean(axis=0) - 2) < 5 * deviation)


def test_voter_is_ranked_the_same_whoever_comes_after_and_whatever_else_is_kept() -> None:
    many = positions_of(ballots_of([[0, 0, 0, 0]], repeats=40_000), seed=3)
    few = positions_of(ballots_of([[0, 0, 0, 0]], repeats=7), seed=3)
    assert few == many[:7]
    pairs = np.array(positions_of(ballots_of([[0, 0, 0, 0]], repeats=7), seed=3, kept=[3, 1]))
    assert (pairs[:, 0] < pairs[:, 1]).tolist() == [row[3] < row[1] for row in few]


def test_another_seed_gives_another_order() -> None:
    ballots = ballots_of([[0, 0, 0, 0]], repeats=20)
    assert positions_of(ballots, seed=1) != positions_of(ballots, seed=2)
    assert positions_of(ballots, seed=1) == positions_of(ballots, seed=1)


def test_bits_of_the_random_order_do_not_change() -> None:
    key = stream_key(seed=1, session="", round_number=0, protocol="fair-voting", phase="", purpose="ties of ballots")
    uniforms: list[list[float]] = philox_rows(key, start=0, stop=4, slots=4).tolist()
    expected = [[sorted(row).index(uniform) for uniform in row] for row in uniforms[:2]]
    for row in uniforms[2:]:  # alternative c is the best one, the others are tied
        others = sorted([*row[:2], row[3]])
        expected.append([0 if place == 2 else 1 + others.index(uniform) for place, uniform in enumerate(row)])
    found = positions_of(ballots_of([[0, 0, 0, 0], [4, 4, 0, 4]], repeats=2), seed=1)
    assert found == expected
    assert found == [[3, 1, 2, 0], [0, 1, 2, 3], [2, 1, 0, 3], [3, 2, 0, 1]]


def test_tie_is_refused_with_line_voter_and_names() -> None:
    ballots = ballots_of([[0, 1, 2, 3], [1, 0, 0, 2], [0, 4, 4, 4]])
    with pytest.raises(ConfigurationError) as caught:
        break_ties(ballots, ties="refuse", seed=0, kept=range(4))
    assert (caught.value.field, caught.value.value) == ("ballot (x.toi line 11, voter 2)", "tied: b, c")
    with pytest.raises(ConfigurationError) as caught:
        break_ties(ballots, ties="refuse", seed=0, kept=[0, 1, 3])
    assert (caught.value.field, caught.value.value) == ("ballot (x.toi line 12, voter 3)", "not ranked: b, d")


def test_ties_of_voters_who_are_left_out_are_no_fault() -> None:
    ballots = ballots_of([[0, 1, 2], [0, 0, 1]])
    positions, num_tied = break_ties(ballots, ties="refuse", seed=0, kept=range(3), skipped=np.array([1]))
    assert (positions[0].tolist(), num_tied) == ([0, 1, 2], 0)


def test_number_of_voters_with_ties_is_returned() -> None:
    ballots = ballots_of([[0, 1, 2], [0, 0, 1]], repeats=3)
    assert break_ties(ballots, ties="random", seed=0, kept=range(3))[1] == 3
    assert break_ties(ballots, ties="random", seed=0, kept=[0, 2])[1] == 0
