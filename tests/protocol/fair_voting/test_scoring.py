"""Positional scores: their grid, and what one voter changes, by brute force over all rankings."""

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from bad_input import refuses
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.fair_voting import Rankings, Scoring, make_scores
from psephos.protocol.fair_voting.scoring import MAX_SCORE
from psephos.protocol.privacy import NeighboringRelation
from strategies import CHECKED

REPLACE, ADD = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE


@st.composite
def falling_scores(draw: st.DrawFn, largest: int = 5) -> tuple[float, ...]:
    scores = st.floats(-100, 100).map(lambda score: round(score, 3))
    drawn = draw(st.lists(scores, min_size=2, max_size=largest).filter(lambda values: len(set(values)) > 1))
    return tuple(sorted(drawn, reverse=True))


def utilities_of_all_rankings(scoring: Scoring) -> list[tuple[int, ...]]:
    return list(itertools.permutations(scoring.steps))


def l1_distance(first: Sequence[int], second: Sequence[int]) -> int:
    return sum(abs(one - other) for one, other in zip(first, second, strict=True))


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("is_centered", [True, False])
def test_borda_sensitivities_are_reading_f1s(size: int, is_centered: bool) -> None:  # noqa: FBT001  parametrized
    """⌊m²/2⌋ for a replaced ranking; for a removed one ⌊m²/4⌋ from the median, and m(m − 1)/2 from 0."""
    scoring = Scoring(make_scores("borda", size), is_centered=is_centered)
    one = Fraction(1) / Fraction(scoring.step)
    assert scoring.sensitivity(REPLACE) == size**2 // 2 * one
    assert scoring.sensitivity(ADD) == (size**2 // 4 if is_centered else size * (size - 1) // 2) * one
    assert scoring.greatest_change(REPLACE) == (size - 1) * one


@pytest.mark.parametrize("is_centered", [True, False])
@CHECKED
@given(falling_scores())
def test_sensitivities_are_what_brute_force_finds(is_centered: bool, scores: tuple[float, ...]) -> None:  # noqa: FBT001  parametrized
    """Over all pairs of rankings, and over all rankings that are removed and so leave 0."""
    scoring = Scoring(scores, is_centered=is_centered)
    everything = utilities_of_all_rankings(scoring)
    first = everything[0]  # rankings are alike but for the alternatives' names
    assert scoring.sensitivity(REPLACE) == max(l1_distance(first, other) for other in everything)
    assert scoring.sensitivity(ADD) == max(l1_distance(own, (0,) * len(scores)) for own in everything)
    changes = [abs(one - other) for own in everything for one, other in zip(first, own, strict=True)]
    assert scoring.greatest_change(REPLACE) == max(changes) == scoring.range
    assert scoring.greatest_change(ADD) == max(abs(step) for own in everything for step in own) == scoring.bound


@CHECKED
@given(falling_scores(largest=7))
def test_no_center_makes_a_removed_voter_change_less(scores: tuple[float, ...]) -> None:
    """Of all integers: the median's sum of distances is the least."""
    scoring = Scoring(scores)
    others = range(scoring.steps[-1], scoring.steps[0] + 1, max(1, scoring.range // 200))
    assert all(scoring.sensitivity(ADD) <= sum(abs(step - other) for step in scoring.steps) for other in others)


@CHECKED
@given(falling_scores())
def test_a_score_is_its_steps_from_the_center_to_half_a_step(scores: tuple[float, ...]) -> None:
    """There are at least 2**20 steps between the best and the worst, and fewer than twice as many."""
    for is_centered in (True, False):
        scoring = Scoring(scores, is_centered=is_centered)
        step = Fraction(scoring.step)
        assert step.numerator == 1 or step.denominator == 1
        for score, own in zip(scores, scoring.steps, strict=True):
            assert abs((own + scoring.center) * step - Fraction(score)) <= step / 2
        assert 2**20 - 1 <= scoring.range <= 2**21
        assert list(scoring.steps) == sorted(scoring.steps, reverse=True)
        assert is_centered or scoring.center == 0
        assert scoring.num_alternatives == len(scores)


def test_scores_of_integers_are_exact_worked_by_hand() -> None:
    """Borda's 3, 2, 1, 0: a step is 2**-19, and the center 1.5."""
    scoring = Scoring((3.0, 2.0, 1.0, 0.0))
    one = 2**19
    assert scoring.step == 2.0**-19
    assert scoring.center == 3 * one // 2
    assert scoring.steps == (3 * one // 2, one // 2, -one // 2, -3 * one // 2)
    assert (scoring.range, scoring.bound) == (3 * one, 3 * one // 2)


def test_names_of_scores() -> None:
    assert make_scores("borda", 4) == (3.0, 2.0, 1.0, 0.0)
    assert make_scores("plurality", 4) == (1.0, 0.0, 0.0, 0.0)
    assert make_scores("veto", 4) == (1.0, 1.0, 1.0, 0.0)
    for name in ("borda", "plurality", "veto"):
        assert make_scores(name, 2) == (1.0, 0.0)
    assert make_scores([2, 1.5, -1], 3) == (2, 1.5, -1)


@pytest.mark.parametrize(
    ("scores", "value", "allowed"),
    [
        ((1.0, 0.0), [1.0, 0.0], "3 numbers"),
        ((3.0, 2.0, 1.0, 0.0), [3.0, 2.0, 1.0, 0.0], "3 numbers"),
        ((), [], "3 numbers"),
        ((1.0, 2.0, 0.0), [1.0, 2.0, 0.0], "decreasing"),
        ((0.0, 1.0, 2.0), [0.0, 1.0, 2.0], "decreasing"),
        ((1.0, 1.0, 1.0), [1.0, 1.0, 1.0], "not all equal"),
        ((1.1 * MAX_SCORE, 1.0, 0.0), 1.1 * MAX_SCORE, "in ["),
        ((1.0, 0.0, -1.1 * MAX_SCORE), -1.1 * MAX_SCORE, "in ["),
        ((float("inf"), 1.0, 0.0), float("inf"), "in ["),
    ],
)
def test_scores_that_are_not_allowed_are_refused(scores: tuple[float, ...], value: object, allowed: str) -> None:
    with refuses("scores", value, allowed):
        make_scores(scores, 3)


@pytest.mark.parametrize("scores", [(float("nan"), 1.0, 0.0), (1.0, float("nan"), 0.0)])
def test_a_score_that_is_no_number_is_refused(scores: tuple[float, ...]) -> None:
    with pytest.raises(ConfigurationError, match="scores is nan: use a value from"):
        make_scores(scores, 3)


@pytest.mark.parametrize("gap", [5e-324, 1e-320, 1e-310])
def test_scores_too_near_to_tell_apart_are_refused_or_have_a_grid(gap: float) -> None:
    """Never a division by zero: a step of the grid underflows where scores differ by less than 1e-317."""
    try:
        scores = make_scores((gap, 0.0), 2)
    except ConfigurationError as error:
        assert error.field == "scores"  # noqa: PT017  either is right
    else:
        assert Scoring(scores).range >= 2**20


@pytest.mark.parametrize(
    ("scores", "is_equal"),
    [
        ("borda", True),
        ("plurality", False),
        ("veto", False),
        ((5.0, 3.0, 1.0), True),
        ((0.3, 0.2, 0.1), True),
        ((1.0, 0.67, 1 / 3), False),
        ((1.0, 0.5, 0.01), False),
        ((2.0, 1.0, 1.0), False),
    ],
)
def test_equally_spaced_scores_are_known_to_rounding(scores: Any, is_equal: bool) -> None:  # noqa: FBT001  parametrized
    assert Scoring(make_scores(scores, 3)).is_equally_spaced is is_equal


@pytest.mark.parametrize("size", [2, 3, 7, 50])
def test_equally_spaced_scores_of_thirds_are_known_in_spite_of_rounding(size: int) -> None:
    """Gaps of a third are no multiple of a step: they differ by one, and count as equal."""
    scores = tuple((size - 1 - place) / 3 for place in range(size))
    assert Scoring(scores).is_equally_spaced
    assert Scoring(make_scores("plurality", 2)).is_equally_spaced


def test_utilities_of_rankings_are_the_scores_at_their_positions() -> None:
    scoring = Scoring((3.0, 1.0, 0.0))
    best, middle, worst = scoring.steps
    rankings = Rankings(np.array([[0, 1, 2], [2, 0, 1]], dtype=np.int64))
    utilities = scoring.utilities_of(rankings)
    assert utilities.dtype == np.int64
    assert utilities.tolist() == [[best, middle, worst], [worst, best, middle]]


@pytest.mark.parametrize("scores", [(5.0, 3.5, 3.5, 1.0, 0.0, -2.0), (7.0, 1.0, 1.0, 1.0, 1.0, 0.0)])
def test_sensitivities_of_six_alternatives_are_what_brute_force_finds(scores: tuple[float, ...]) -> None:
    scoring = Scoring(scores)
    everything = utilities_of_all_rankings(scoring)
    assert scoring.sensitivity(REPLACE) == max(l1_distance(everything[0], other) for other in everything)
    assert scoring.sensitivity(ADD) == sum(map(abs, everything[0]))
