"""What is elected, in exact fractions: by hand, with ties, and for any number of groups."""

import dataclasses
import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol.fair_voting import Objective, Scoring, disparity_of, make_scores, welfare_of
from psephos.protocol.fair_voting.objective import ObjectiveName
from psephos.protocol.privacy import NeighboringRelation
from strategies import CHECKED

REPLACE, ADD = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE
NAMES: list[ObjectiveName] = ["parity", "constrained", "penalized", "welfare_constrained"]
# Of three groups with 1, 2 and 3 voters: means of a, b, c and d.
BY_HAND = [[Fraction(number) for number in row] for row in ((3, 1, 0, 2), (1, 1, 0, 2), (2, 1, 0, 0))]
SIZES = (1, 2, 3)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list[Fraction]], tuple[int, ...]]:
    """Return utilities on a coarse grid, so that ties occur, and sizes."""
    num_groups, num_alternatives = draw(st.integers(2, 4)), draw(st.integers(2, 5))
    mean = st.fractions(0, 3, max_denominator=3)
    row = st.lists(mean, min_size=num_alternatives, max_size=num_alternatives)
    utilities = draw(st.lists(row, min_size=num_groups, max_size=num_groups))
    return utilities, tuple(draw(st.lists(st.integers(1, 6), min_size=num_groups, max_size=num_groups)))


def test_disparity_and_welfare_worked_by_hand() -> None:
    """Of a the groups have 3, 1 and 2, and voters (3 + 2·1 + 3·2)/6."""
    assert [disparity_of(BY_HAND, place) for place in range(4)] == [2, 0, 0, 2]
    assert [welfare_of(BY_HAND, SIZES, place) for place in range(4)] == [Fraction(11, 6), 1, 0, 1]


@pytest.mark.parametrize(
    ("objective", "best"),
    [
        (Objective("parity"), [1, 2]),
        (Objective("constrained", Fraction(0)), [1]),
        (Objective("constrained", Fraction(19, 10)), [1]),
        (Objective("constrained", Fraction(2)), [0]),
        (Objective("penalized", fairness_weight=Fraction(0)), [0]),
        (Objective("penalized", fairness_weight=Fraction(1, 4)), [0]),
        (Objective("penalized", fairness_weight=Fraction(5, 12)), [0, 1]),
        (Objective("penalized", fairness_weight=Fraction(1)), [1]),
        (Objective("welfare_constrained", welfare_share=Fraction(1)), [0]),
        (Objective("welfare_constrained", welfare_share=Fraction(7, 11)), [0]),
        (Objective("welfare_constrained", welfare_share=Fraction(6, 11)), [1]),  # 6/11 of 11/6 is b's and d's 1
        (Objective("welfare_constrained", welfare_share=Fraction(1, 1000)), [1]),
        (Objective("welfare_constrained", welfare_share=Fraction(1, 1000), least_utility=Fraction(-9)), [1, 2]),
        (Objective("welfare_constrained", welfare_share=Fraction(1, 1000), least_utility=Fraction(99)), [0]),
    ],
)
def test_the_best_alternatives_worked_by_hand(objective: Objective, best: list[int]) -> None:
    """At λ = 5/12 a's 11/6 − 2λ is b's 1: as fractions a tie, which floats would break."""
    assert objective.best_alternatives(BY_HAND, SIZES) == best


@CHECKED
@given(
    tables(),
    st.fractions(0, 3, max_denominator=6),
    st.fractions(0, 3, max_denominator=6),
    st.fractions(Fraction(1, 6), 1, max_denominator=6),
)
def test_the_best_are_those_that_no_other_beats(
    table: tuple[list[list[Fraction]], tuple[int, ...]], limit: Fraction, weight: Fraction, share: Fraction
) -> None:
    """By the definitions of the objectives, alternative against alternative."""
    utilities, sizes = table
    columns = range(len(utilities[0]))
    gaps = [
        max(abs(one[place] - other[place]) for one, other in itertools.product(utilities, repeat=2))
        for place in columns
    ]
    voters = [[utilities[group][place] for group, size in enumerate(sizes) for _ in range(size)] for place in columns]
    means = [sum(own, Fraction(0)) / sum(sizes) for own in voters]
    within = [place for place in columns if gaps[place] <= limit]
    enough = [place for place in columns if all(means[place] >= share * means[other] for other in columns)]
    expected = {
        "parity": [place for place in columns if gaps[place] == min(gaps)],
        "constrained": [place for place in within if means[place] == max(means[other] for other in within)]
        or [place for place in columns if gaps[place] == min(gaps)],
        "penalized": [
            place
            for place in columns
            if all(means[place] - weight * gaps[place] >= means[other] - weight * gaps[other] for other in columns)
        ],
        "welfare_constrained": [place for place in enough if gaps[place] == min(gaps[other] for other in enough)],
    }
    for name in NAMES:
        assert Objective(name, limit, weight, welfare_share=share).best_alternatives(utilities, sizes) == expected[name]


@CHECKED
@given(tables(), st.fractions(-5, 5, max_denominator=6), st.fractions(0, 2, max_denominator=4))
def test_a_center_cancels_out(
    table: tuple[list[list[Fraction]], tuple[int, ...]], center: Fraction, limit: Fraction
) -> None:
    utilities, sizes = table
    moved = [[own + center for own in row] for row in utilities]
    for name in NAMES:
        objective = Objective(name, limit, Fraction(1, 2), welfare_share=Fraction(2, 3))
        of_moved = dataclasses.replace(objective, least_utility=center)
        assert of_moved.best_alternatives(moved, sizes) == objective.best_alternatives(utilities, sizes)


@CHECKED
@given(tables(), st.fractions(0, 2, max_denominator=4))
def test_the_quality_is_the_merit_but_for_the_limit(
    table: tuple[list[list[Fraction]], tuple[int, ...]], weight: Fraction
) -> None:
    """The best by quality are the best, where there is no limit; where there is one, it is paid for."""
    utilities, sizes = table
    columns = range(len(utilities[0]))
    for name in ("parity", "penalized"):
        objective = Objective(name, fairness_weight=weight)
        qualities = objective.qualities(utilities, sizes)
        assert [place for place in columns if qualities[place] == max(qualities)] == objective.best_alternatives(
            utilities, sizes
        )
    limited = Objective("constrained", Fraction(1), weight)
    for place in columns:
        excess = max(disparity_of(utilities, place) - 1, Fraction(0))
        assert limited.qualities(utilities, sizes)[place] == welfare_of(utilities, sizes, place) - weight * excess
    floored = Objective("welfare_constrained", fairness_weight=weight, welfare_share=Fraction(3, 4))
    floor = Fraction(3, 4) * max(welfare_of(utilities, sizes, place) for place in columns)
    for place in columns:
        lacking = max(floor - welfare_of(utilities, sizes, place), Fraction(0))
        assert floored.qualities(utilities, sizes)[place] == -disparity_of(utilities, place) - weight * lacking


@pytest.mark.parametrize("relation", [REPLACE, ADD])
@pytest.mark.parametrize("sizes", [(2, 1), (1, 2)])
def test_a_priced_floor_moves_no_more_than_is_stated(sizes: tuple[int, int], relation: NeighboringRelation) -> None:
    """Over all profiles on three alternatives, and all changes of one voter; 0 for one who is removed."""
    scoring = Scoring(make_scores("borda", 3))
    objective = Objective(
        "welfare_constrained",
        fairness_weight=Fraction(3, 2),
        welfare_share=Fraction(4, 5),
        least_utility=Fraction(scoring.steps[-1]),
    )
    rankings = list(itertools.permutations(scoring.steps))
    groups = [group for group, size in enumerate(sizes) for _ in range(size)]

    def qualities(profile: tuple[tuple[int, ...], ...]) -> list[Fraction]:
        utilities = [
            [
                Fraction(sum(own[place] for own, of in zip(profile, groups, strict=True) if of == group), size)
                for place in range(3)
            ]
            for group, size in enumerate(sizes)
        ]
        return objective.qualities(utilities, sizes)

    told = {profile: qualities(profile) for profile in itertools.product([*rankings, (0, 0, 0)], repeat=len(groups))}
    greatest = [Fraction(0)] * len(sizes)
    for profile, before in told.items():
        for place, group in enumerate(groups):
            for other in rankings if relation is REPLACE else [(0, 0, 0)]:
                after = told[(*profile[:place], other, *profile[place + 1 :])]
                greatest[group] = max(greatest[group], *(abs(a - b) for a, b in zip(after, before, strict=True)))
    change = scoring.greatest_change(relation)
    stated = [objective.quality_sensitivity(change, sizes, group) for group in range(len(sizes))]
    assert all(bound / 2 < found <= bound for found, bound in zip(greatest, stated, strict=True))


@pytest.mark.parametrize("relation", [REPLACE, ADD])
@pytest.mark.parametrize("sizes", [(2, 1), (1, 2), (1, 1, 2)])
@pytest.mark.parametrize(
    ("name", "share"), [("parity", 0), ("penalized", 0), ("constrained", 0), ("constrained", Fraction(1, 8))]
)
def test_sensitivities_of_the_quality_are_what_brute_force_finds(
    name: ObjectiveName, share: Fraction, sizes: tuple[int, ...], relation: NeighboringRelation
) -> None:
    """Over all utilities of one alternative to all voters, and all changes of one voter's; 0 for one who is removed.

    A voter who alone makes up a group moves the disparity across a limit, and what is below it is not paid for.
    """
    scoring = Scoring(make_scores("borda", 3))
    objective = Objective(name, scoring.range * Fraction(share), Fraction(3, 2))
    change = scoring.greatest_change(relation)
    places = [(group, voter) for group, size in enumerate(sizes) for voter in range(size)]

    def quality(own: dict[tuple[int, int], int]) -> Fraction:
        utilities = [
            [Fraction(sum(own[group, voter] for voter in range(size)), size)] for group, size in enumerate(sizes)
        ]
        return objective.qualities(utilities, sizes)[0]

    greatest = [Fraction(0)] * len(sizes)
    for drawn in itertools.product(scoring.steps, repeat=len(places)):
        own = dict(zip(places, drawn, strict=True))
        before = quality(own)
        for place in places:
            for other in scoring.steps if relation is REPLACE else (0,):
                moved = abs(quality({**own, place: other}) - before)
                greatest[place[0]] = max(greatest[place[0]], moved)
    stated = [objective.quality_sensitivity(change, sizes, group) for group in range(len(sizes))]
    assert all(found <= bound for found, bound in zip(greatest, stated, strict=True))
    if relation is REPLACE and not share:
        assert greatest == stated
