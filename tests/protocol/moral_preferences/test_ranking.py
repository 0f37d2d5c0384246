"""Rankings of a society: by hand, beside decisions of two, at ties, and how often verdicts and ranks are wrong."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from bad_input import refuses
from makers import preference_outcome
from psephos.protocol.arrays import FloatArray
from psephos.protocol.moral_preferences import (
    MOST_ALTERNATIVES,
    Outcome,
    Ranking,
    decide,
    rank,
)
from thoroughness import draws

FEATURES = ("young", "many", "law")
ALTERNATIVES: Mapping[str, Mapping[str, float]] = {
    "stay": {"young": 1.0},
    "swerve": {"many": 2.0, "law": -1.0},
    "brake": {"young": 1.0, "law": 1.0},
    "honk": {"many": -1.0},
}


def outcome(preferences: tuple[float, ...] = (1.0, 0.4, -0.5), **changes: Any) -> Outcome:
    own: dict[str, Any] = {"features": FEATURES, "errors": (0.1, 0.1, 0.2), "num_voters": 1, "paradigm": "VLCP"}
    return preference_outcome(preferences, **own | changes)


def test_the_order_is_that_of_utilities() -> None:
    """β·x: 1, 0.8 + 0.5, 1 − 0.5 and −0.4."""
    made = rank(outcome(), ALTERNATIVES)
    assert [(each.name, each.rank) for each in made.alternatives] == [
        ("swerve", 1),
        ("stay", 2),
        ("brake", 3),
        ("honk", 4),
    ]
    assert [each.utility for each in made.alternatives] == pytest.approx([1.3, 1.0, 0.5, -0.4], rel=1e-15)
    assert made.winner == "swerve"


@pytest.mark.parametrize("prior", ["ball", "size"])
def test_of_two_it_says_what_a_decision_says(prior: Any) -> None:
    first, second = ALTERNATIVES["stay"], ALTERNATIVES["brake"]
    one = decide(outcome(), first, second, level=0.1, prior=prior)
    made = rank(outcome(), {"stay": first, "brake": second}, level=0.1, prior=prior)
    assert made.winner == "stay"
    assert (made.p_value, made.level, made.prior) == (one.p_value, one.level, one.prior)
    assert made.certainty_at_least == pytest.approx(one.certainty, rel=1e-14)
    assert (made.verdict == "stay") == (one.verdict == "first")


def test_a_winner_pays_for_each_comparison_and_ranks_for_each_pair() -> None:
    released = outcome()
    pairs = {
        pair: decide(released, ALTERNATIVES[pair[0]], ALTERNATIVES[pair[1]])
        for pair in itertools.permutations(ALTERNATIVES, 2)
    }
    made = rank(released, ALTERNATIVES)
    others = [other for other in ALTERNATIVES if other != "swerve"]
    assert made.p_value == 3 * max(pairs["swerve", other].p_value or 0.0 for other in others)
    left_open = sum(1 - (pairs["swerve", other].certainty or 0.0) for other in others)
    assert made.certainty_at_least == pytest.approx(1 - left_open, rel=1e-12)
    for each in made.alternatives:
        is_sure = {
            other: 6 * (pairs[each.name, other].p_value or 0.0) <= 0.05 for other in set(ALTERNATIVES) - {each.name}
        }
        above = sum(is_sure[other] for other in is_sure if pairs[each.name, other].choice == "second")
        below = sum(is_sure[other] for other in is_sure if pairs[each.name, other].choice == "first")
        assert (each.least_rank, each.greatest_rank) == (1 + above, 4 - below)
    assert any(each.least_rank == each.greatest_rank for each in made.alternatives)
    assert any(each.least_rank != each.greatest_rank for each in made.alternatives)


def test_a_winner_of_whom_next_to_nothing_is_known_has_the_p_value_one() -> None:
    made = rank(outcome(errors=(1e9,) * 3), ALTERNATIVES)
    assert (made.winner, made.p_value, made.verdict) == ("swerve", 1.0, "undecided")


def test_equal_alternatives_share_a_rank_and_none_of_the_best_wins() -> None:
    made = rank(outcome(), {"a": {"young": 1.0}, "b": {}, "c": {"young": 1.0}, "d": {"young": 2.0, "law": 2.0}})
    assert [(each.name, each.rank) for each in made.alternatives] == [("a", 1), ("c", 1), ("d", 1), ("b", 4)]
    assert (made.winner, made.certainty_at_least, made.p_value) == (None, None, None)
    assert made.verdict == "undecided"


def test_without_errors_there_is_an_order_alone() -> None:
    made = rank(outcome(errors=None, ball=None), ALTERNATIVES)
    assert made.winner == "swerve"
    assert (made.certainty_at_least, made.verdict, made.level, made.p_value) == (None, None, None, None)
    assert all(each.least_rank is None and each.greatest_rank is None for each in made.alternatives)


@pytest.mark.bad_input("too few alternatives, or too many; a feature that voters were not asked about")
@pytest.mark.parametrize(
    ("alternatives", "field"),
    [
        ({}, "alternatives"),
        ({"a": {}}, "alternatives"),
        ({str(number): {"young": 1.0} for number in range(MOST_ALTERNATIVES + 1)}, "alternatives"),
        ({"a": {"old": 1.0}, "b": {}}, "the first alternative"),
    ],
)
def test_what_cannot_be_ranked_is_refused(alternatives: Mapping[str, Mapping[str, float]], field: str) -> None:
    with refuses(field):
        rank(outcome(), alternatives)


def test_verdicts_and_ranks_are_wrong_no_more_often_than_their_level() -> None:
    """Laplace noise on four alternatives of which two are nearly as good: at a level of 10 % at most 10 % are wrong.

    The count of errors is binomial with a share of at most 0.1; that it is above 0.1·n + 5·√(0.09·n) has a probability
    below 3e-6 for each of the two.
    """
    num_trials = draws(100, full=2_000)
    generator = np.random.default_rng(21)
    truth: FloatArray = np.array([0.3, 0.2, -0.1])
    errors: FloatArray = np.array([0.1, 0.1, 0.2])
    features: FloatArray = np.array([[own.get(name, 0.0) for name in FEATURES] for own in ALTERNATIVES.values()])
    order = sorted(zip((features @ truth).tolist(), ALTERNATIVES, strict=True), reverse=True)
    true_rank = {name: number for number, (_, name) in enumerate(order, start=1)}
    wrong_winners = wrong_ranks = decided = 0
    for _ in range(num_trials):
        noise: FloatArray = generator.laplace(scale=errors) / np.sqrt(2)
        noisy: FloatArray = truth + noise
        made = rank(outcome(tuple(noisy.tolist())), ALTERNATIVES, level=0.1)
        decided += made.verdict == made.winner
        wrong_winners += made.verdict == made.winner and true_rank[str(made.winner)] != 1
        wrong_ranks += not _are_within(made, true_rank)
    most = 0.1 * num_trials + 5 * np.sqrt(0.09 * num_trials)
    assert decided > num_trials / 20  # else it would say nothing
    assert wrong_winners <= most
    assert wrong_ranks <= most


def _are_within(made: Ranking, ranks: Mapping[str, int]) -> bool:
    return all((each.least_rank or 1) <= ranks[each.name] <= (each.greatest_rank or 4) for each in made.alternatives)
