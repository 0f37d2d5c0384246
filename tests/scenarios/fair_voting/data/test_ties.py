"""Rankings of ballots with ties: the three rules."""

import numpy as np
import pytest
from bad_input import refuses
from psephos.scenarios.fair_voting.data.ballots import FileBallots
from psephos.scenarios.fair_voting.data.ties import TieRule, break_ties


def ballots_of(classes: list[list[int]], listed: list[list[int]] | None = None, *, repeats: int = 1) -> FileBallots:
    """Return voters with ballots of their own, each of them so many times."""
    table = np.array(classes, dtype=np.int16)
    names = tuple("abcdef"[: table.shape[1]])
    voters = np.repeat(np.arange(len(table)), repeats)
    return FileBallots(
        alternatives=names,
        ids=names,
        classes=table,
        listed=np.array(classes if listed is None else listed, dtype=np.int16),
        ballot_of_voter=voters,
        lines=voters + 10,
        voters=(),
        source="x.toi",
    )


def positions_of(ballots: FileBallots, *, ties: TieRule = "mean", kept: list[int] | None = None) -> list[list[int]]:
    """Return the rankings alone."""
    every = range(len(ballots.alternatives))
    positions, _ = break_ties(ballots, ties=ties, columns_kept=every if kept is None else kept)
    assert positions.dtype == np.int64
    rankings: list[list[int]] = positions.tolist()
    return rankings


@pytest.mark.parametrize("ties", ["mean", "listed", "refuse"])
def test_strict_orders_are_the_same_under_every_rule(ties: TieRule) -> None:
    ballots = ballots_of([[0, 1, 2], [2, 0, 1], [2, 0, 3]])  # the last one does not list alternative c
    positions, num_tied = break_ties(ballots, ties=ties, columns_kept=range(3))
    assert positions.tolist() == [[0, 1, 2], [2, 0, 1], [1, 0, 2]]
    assert num_tied == 0


def test_listed_order_counts_first_and_the_order_of_the_file_for_what_is_not_listed() -> None:
    ballots = ballots_of([[1, 4, 1, 0], [4, 4, 0, 4]], [[2, 4, 1, 0], [4, 4, 0, 4]])
    assert positions_of(ballots, ties="listed") == [[2, 3, 1, 0], [1, 2, 0, 3]]


def test_tied_alternatives_share_a_place_and_what_is_not_listed_stands_last_together() -> None:
    ballots = ballots_of([[0, 0, 4, 4], [4, 1, 1, 0], [0, 4, 4, 4]])
    assert positions_of(ballots) == [[0, 0, 2, 2], [3, 1, 1, 0], [0, 1, 1, 1]]
    assert positions_of(ballots, kept=[3, 1]) == [[1, 0], [0, 1], [0, 0]]


def test_tie_is_refused_with_line_voter_and_names() -> None:
    ballots = ballots_of([[0, 1, 2, 3], [1, 0, 0, 2], [0, 4, 4, 4]])
    with refuses("ballot (x.toi line 11, voter 2)", "tied: b, c"):
        break_ties(ballots, ties="refuse", columns_kept=range(4))
    with refuses("ballot (x.toi line 12, voter 3)", "not ranked: b, d"):
        break_ties(ballots, ties="refuse", columns_kept=[0, 1, 3])


def test_ties_of_voters_who_are_left_out_are_no_fault() -> None:
    ballots = ballots_of([[0, 1, 2], [0, 0, 1]])
    positions, num_tied = break_ties(ballots, ties="refuse", columns_kept=range(3), skipped=np.array([1]))
    assert (positions[0].tolist(), num_tied) == ([0, 1, 2], 0)


def test_number_of_voters_with_ties_is_returned() -> None:
    ballots = ballots_of([[0, 1, 2], [0, 0, 1]], repeats=3)
    assert break_ties(ballots, ties="mean", columns_kept=range(3))[1] == 3
    assert break_ties(ballots, ties="mean", columns_kept=[0, 2])[1] == 0
