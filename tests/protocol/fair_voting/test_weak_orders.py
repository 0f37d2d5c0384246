"""Rankings with ties: mean scores of the places that they share, in every mechanism that takes them."""

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from makers import make_fair_vote
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.fair_voting import Rankings, Scoring, make_scores
from psephos.protocol.fair_voting.entries import positions_of, text_of
from psephos.protocol.fair_voting.kinds import MECHANISMS
from psephos.protocol.fair_voting.pairwise import preferences_of
from psephos.protocol.fair_voting.rankings import are_rankings, are_strict
from psephos.protocol.fair_voting.rules import RULES
from psephos.protocol.population import run_population
from psephos.protocol.privacy import NeighboringRelation
from psephos.protocol.randomness import SimulatedNoise

SCORES: list[Any] = ["borda", "plurality", "veto", (12.0, 12.0, 0.0, 0.0), (36.0, 24.0, 12.0, -12.0)]
WEAK = [row for row in itertools.product(range(4), repeat=4) if are_rankings(np.array([row])).all()]


def strict_ones(row: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield all strict rankings that agree with one with ties."""
    for each in itertools.permutations(range(len(row))):
        if all(each[a] < each[b] for a in range(len(row)) for b in range(len(row)) if row[a] < row[b]):
            yield each


def utilities(scores: Any, rows: Any, *, is_centered: bool = True) -> np.ndarray[Any, Any]:
    scoring = Scoring(make_scores(scores, 4), is_centered=is_centered)
    return scoring.utilities_of(Rankings(np.array(rows, dtype=np.int64)))


def has_means(scores: Any, row: tuple[int, ...]) -> bool:
    scoring = Scoring(make_scores(scores, 4))
    return all(scoring.has_means(position, row.count(position)) for position in row)


def test_there_are_as_many_weak_orders_of_four_as_there_should_be() -> None:
    assert (len(WEAK), sum(1 for row in WEAK if len(set(row)) == 4)) == (75, 24)


@pytest.mark.parametrize("scores", SCORES)
def test_scores_are_the_mean_over_all_strict_rankings_that_agree(scores: Any) -> None:
    for row in WEAK:
        if has_means(scores, row):
            agreeing = utilities(scores, list(strict_ones(row)))
            assert (utilities(scores, [row])[0] * len(agreeing) == agreeing.sum(axis=0)).all()


@pytest.mark.parametrize("is_centered", [True, False])
@pytest.mark.parametrize("scores", SCORES)
def test_no_two_rankings_with_ties_are_farther_apart_than_strict_ones(scores: Any, *, is_centered: bool) -> None:
    """The bound of each mechanism, in l1 norm and of one alternative, by all 75 weak orders of four."""
    scoring = Scoring(make_scores(scores, 4), is_centered=is_centered)
    rows = utilities(scores, [row for row in WEAK if has_means(scores, row)], is_centered=is_centered)
    apart = np.abs(rows[:, None] - rows[None])
    replaced, added = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE
    assert apart.sum(axis=2).max() == scoring.sensitivity(replaced)
    assert np.abs(rows).sum(axis=1).max() == scoring.sensitivity(added)
    assert apart.max() == scoring.greatest_change(replaced)
    assert np.abs(rows).max() == scoring.greatest_change(added)
    pairs = preferences_of(np.array(WEAK))
    assert np.abs(pairs[:, None] - pairs[None]).sum(axis=2).max() == 12  # m(m − 1), as of strict ones


@pytest.mark.parametrize("mechanism", [name for name, kind in MECHANISMS.items() if not kind.is_choice])
def test_a_mechanism_takes_ties_and_adds_their_means_or_says_what_does(mechanism: Any) -> None:
    kind = MECHANISMS[mechanism]
    sizes = (2, 1) if not kind.counts_pairs else (3,)
    vote = make_fair_vote(
        *sizes,
        mechanism=mechanism,
        objective="copeland" if kind.counts_pairs else "welfare" if not kind.is_sampled else "parity",
        **({"num_samples": 1} if kind.is_sampled else {}),
        **({"threshold": 3, "colluders": 0} if mechanism == "masked" else {}),
    )
    table: dict[str, Any] = {
        "group": ["g0", "g0", "g1"] if len(sizes) > 1 else ["g0"] * 3,
        "ranking": ["a = b > c", "c > b > a", "a = b = c"],
    }
    if not kind.takes_ties:
        with pytest.raises(ConfigurationError, match=r"ranking in row 1.*a strict order.*scores counts the mean"):
            vote.encode(table)
        return
    inputs = vote.encode(table)
    vote.check_inputs(inputs)
    if not kind.counts_pairs:
        assert vote.utilities_in(inputs) == [
            [Fraction(3, 4), Fraction(5, 4), Fraction(1)],
            [Fraction(1)] * 3,
        ]
    groups, positions = vote.members_of(inputs)
    assert positions.tolist() == [[0, 0, 2], [2, 1, 0], [0, 0, 0]]
    outcome = run_population(vote, inputs, noise=SimulatedNoise(1, session="s")).outcome
    assert outcome.winner in {"a", "b", "c"}
    if groups.size:
        for row, public in zip(inputs.private.tolist(), inputs.public.tolist(), strict=True):
            vote.check_row(row, public)


def test_a_near_tie_is_not_confirmed_by_the_luck_of_lots() -> None:
    """One of 101 voters tells a from b: 100 lots would put one of them ahead by ten, wrongly in half of all draws."""
    vote = make_fair_vote(101, mechanism="laplace", epsilon=30.0, objective="welfare")
    inputs = vote.encode({"ranking": ["a = b > c"] * 100 + ["a > b > c"]})
    confirmed = [
        outcome.winner
        for seed in range(40)
        if (outcome := run_population(vote, inputs, noise=SimulatedNoise(seed, session="s")).outcome).assurance.verdict
        == "confirmed"
    ]
    # The verdict is wrong with probability 5 % at most: more than 9 of 40 happen with less than 1e-4.
    assert confirmed.count("b") <= 9
    assert "c" not in confirmed


def test_scores_whose_means_are_not_exact_are_refused_and_multiples_are_not() -> None:
    table = {"ranking": ["a = b = c > d", "d > c > b > a"]}
    with pytest.raises(ConfigurationError, match=r"'plurality'.* multiples of 3: the ranking in row 1 has 3 tied"):
        make_fair_vote(2, num_alternatives=4, scores="plurality", objective="welfare").encode(table)
    vote = make_fair_vote(2, num_alternatives=4, scores=(3.0, 0.0, 0.0, 0.0), objective="welfare")
    assert [float(own) for own in vote.utilities_in(vote.encode(table))[0]] == [0.5, 0.5, 0.5, 1.5]
    plain = make_fair_vote(2, num_alternatives=4, scores="plurality", objective="welfare")
    plain.encode({"ranking": ["a > b = c = d", "d > c > b > a"]})  # all of these have 0


def test_a_server_refuses_a_report_that_is_no_ranking_and_takes_one_with_ties() -> None:
    vote = make_fair_vote(1, objective="welfare")
    vote.phase.check_report([0, 0, 2], [0])
    with pytest.raises(ValueError, match="no ranking"):
        vote.phase.check_report([0, 0, 1], [0])
    strict = make_fair_vote(5, mechanism="sampling", num_samples=2, reading="subsample", objective="welfare")
    with pytest.raises(ConfigurationError, match="reading 'group'"):
        strict.phase.check_report([0, 0, 2], [0])


def test_text_with_ties_is_read_back_and_a_name_with_the_sign_stays_a_name() -> None:
    for row in WEAK:
        assert positions_of([text_of(row, "abcd")], "abcd").tolist() == [list(row)]
    assert positions_of(["c > a = b"], ("a = b", "c")).tolist() == [[1, 0]]
    for text in ("a = a > b", "a = x > b", "a = b", "a >  = b > c"):
        with pytest.raises(ConfigurationError, match=r"ranking in row 1: (unknown|repeated|missing) alternative"):
            positions_of([text], ("a", "b", "c"))


def test_rules_without_privacy_share_a_voter_among_those_that_are_tied() -> None:
    rankings = Rankings(np.array([[0, 0, 2]] * 3 + [[2, 1, 0]] * 2, dtype=np.int64))
    assert RULES["plurality"](rankings) == [2]  # 1.5, 1.5 and 2
    assert RULES["borda"](rankings) == [1]  # 4.5, 6.5 and 4
    assert RULES["copeland"](rankings) == [1]
    assert RULES["egalitarian"](rankings) == [1]
    assert not are_strict(rankings.positions).all()
