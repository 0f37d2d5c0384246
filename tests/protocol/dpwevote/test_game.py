"""The weighted game behind a vote: published values, all coalitions one by one, and what noise makes of an opinion."""

import itertools
import math
from fractions import Fraction
from typing import Any

import hypothesis
import pytest
from bad_input import refuses
from hypothesis import strategies as st
from psephos.protocol.dpwevote import Parameters
from psephos.protocol.dpwevote.game import WeightedGame, released_power
from scipy.stats import binom


@st.composite
def games(draw: st.DrawFn) -> WeightedGame:
    weights = draw(st.lists(st.integers(0, 9), min_size=1, max_size=7).filter(any))
    return WeightedGame(tuple(weights), draw(st.integers(1, sum(weights))))


def coalitions(number: int) -> list[tuple[int, ...]]:
    return [places for size in range(number + 1) for places in itertools.combinations(range(number), size)]


def swings(game: WeightedGame, place: int) -> list[tuple[int, ...]]:
    others = [each for each in coalitions(len(game.weights)) if place not in each]
    return [each for each in others if game.worth((*each, place)) > game.worth(each)]


def in_vote(weights: tuple[float, ...], **given: Any) -> tuple[Parameters, tuple[float, ...]]:
    """Return a vote with public weights, and the partners' weights."""
    fields: dict[str, Any] = {"candidates": ("a",), "public_weights": True, **given}
    return Parameters(weights=tuple(sorted(set(weights))), **fields), weights


@hypothesis.given(games())
def test_every_number_is_that_of_all_coalitions_one_by_one(game: WeightedGame) -> None:
    number = len(game.weights)
    winning = [each for each in coalitions(number) if sum(game.weights[place] for place in each) >= game.quota]
    assert [each for each in coalitions(number) if game.worth(each)] == winning
    minimal = [each for each in winning if not any(set(other) < set(each) for other in winning)]
    assert (game.num_winning, game.num_minimal_winning) == (len(winning), len(minimal))
    assert game.smallest_winning == min(map(len, winning))
    counts = [len(swings(game, place)) for place in range(number)]
    assert [own.swings for own in game.powers] == counts
    for place, own in enumerate(game.powers):
        assert own.banzhaf == Fraction(counts[place], 2 ** (number - 1))
        assert own.normalized == Fraction(counts[place], sum(counts))
        orders = [math.factorial(len(each)) * math.factorial(number - 1 - len(each)) for each in swings(game, place)]
        assert own.shapley_shubik == Fraction(sum(orders), math.factorial(number))
    assert sum(own.normalized for own in game.powers) == 1
    assert sum(own.shapley_shubik or 0 for own in game.powers) == 1


@pytest.mark.parametrize(
    ("weights", "quota", "shapley_shubik", "normalized"),
    [
        # One vote has as much power as forty-nine.
        ((50, 49, 1), 51, ("2/3", "1/6", "1/6"), ("3/5", "1/5", "1/5")),
        # The Treaty of Rome gave Luxembourg none.
        ((4, 4, 4, 2, 2, 1), 12, (*["14/60"] * 3, "9/60", "9/60", 0), (*["5/21"] * 3, "3/21", "3/21", 0)),
        ((5, 3, 1), 5, (1, 0, 0), (1, 0, 0)),  # a dictator
        ((5, 3, 1), 9, ["1/3"] * 3, ["1/3"] * 3),  # a veto each
    ],
)
def test_games_have_their_published_indices(weights: Any, quota: int, shapley_shubik: Any, normalized: Any) -> None:
    powers = WeightedGame(weights, quota).powers
    assert [own.shapley_shubik for own in powers] == list(map(Fraction, shapley_shubik))
    assert [own.normalized for own in powers] == list(map(Fraction, normalized))


def test_the_security_council_has_its_published_indices() -> None:
    """[39; 7 for each of five, 1 for each of ten]: 421/2145 and 4/2145; 848 and 84 of 5,080 swings."""
    game = WeightedGame((7,) * 5 + (1,) * 10, 39)
    for own, index, count in ((game.powers[0], Fraction(421, 2145), 848), (game.powers[14], Fraction(4, 2145), 84)):
        assert (own.shapley_shubik, own.swings) == (index, count)
        assert own.normalized == Fraction(count, 5080)
    assert game.num_winning == 848
    assert game.num_minimal_winning == math.comb(10, 4)


def test_a_game_of_equals_of_any_size_is_that_of_binomial_coefficients() -> None:
    """More members than a word of 64 bits counts coalitions of: three moduli put together."""
    game = WeightedGame((1,) * 151, 90)
    assert {own.swings for own in game.powers} == {math.comb(150, 89)}
    assert {own.shapley_shubik for own in game.powers} == {Fraction(1, 151)}
    assert game.num_minimal_winning == math.comb(151, 90)
    assert game.num_winning == sum(math.comb(151, size) for size in range(90, 152))


@pytest.mark.parametrize(("passes", "quota"), [("at_least", 20), ("more_than", 21)])
def test_two_thirds_of_thirty_are_twenty(passes: str, quota: int) -> None:
    assert WeightedGame.from_vote(*in_vote((1.0,) * 30, quota_fraction=2 / 3, passes=passes)).quota == quota


@pytest.mark.parametrize(
    ("given", "quota"),
    [
        ({}, 18),
        ({"passes": "more_than"}, 18),
        ({"quota_fraction": 0.6}, 21),
        ({"quota_fraction": 0.6, "passes": "more_than"}, 22),
        ({"quota": 2.1}, 21),
        ({"quota": 2.1, "passes": "more_than"}, 22),
        ({"quota": 2.05}, 21),
    ],
)
def test_weights_and_quotas_are_the_decimals_that_they_are_written_as(given: dict[str, Any], quota: int) -> None:
    """Tenths: 0.6 of 3.5 is 2.1, which a float's 0.6·3.5 is not; half of it is 1.75."""
    game = WeightedGame.from_vote(*in_vote((0.1, 0.7, 1.2, 1.5), **given))
    assert (game.weights, game.quota) == ((1, 7, 12, 15), quota)


@pytest.mark.parametrize("weights", [(1e-9, 1e15), (3.0,), (0.25, 0.75, 1000.5)])
def test_units_are_found_for_any_weights(weights: tuple[float, ...]) -> None:
    game = WeightedGame.from_vote(*in_vote(weights))
    assert [Fraction(own, game.weights[0]) for own in game.weights] == [
        Fraction(str(own)) / Fraction(str(weights[0])) for own in weights
    ]


def by_hand(parameters: Parameters, weights: tuple[float, ...], place: int) -> float:
    """Return P[passes | yes] − P[passes | no], over all opinions and reports, with exact estimates."""
    channel = parameters.make_opinion_mechanism().channel_matrix()
    exact = [[Fraction(chance) for chance in row] for row in channel]
    apart = exact[1][1] - exact[0][1]
    debiased = [-exact[0][1] / apart, (1 - exact[0][1]) / apart]
    total = sum(Fraction(str(weight)) for weight in weights)
    quota = Fraction(str(parameters.quota)) if parameters.quota else Fraction(str(parameters.fraction)) * total
    chances = [Fraction(0), Fraction(0)]
    for reports in itertools.product((0, 1), repeat=len(weights)):
        support = sum(Fraction(str(w)) * debiased[report] for w, report in zip(weights, reports, strict=True))
        if not (support >= quota if parameters.passes == "at_least" else support > quota):
            continue
        for opinion in (0, 1):
            law = Fraction(1)
            for number, report in enumerate(reports):
                law *= exact[opinion][report] if number == place else (exact[0][report] + exact[1][report]) / 2
            chances[opinion] += law
    return float(chances[1] - chances[0])


MECHANISMS: dict[str, dict[str, Any]] = {
    "ε = 1": {"epsilon": 1.0},
    "ε = 0.1": {"epsilon": 0.1},
    "mostly no": {"opinion_matrix": ((0.9, 0.1), (0.5, 0.5))},
    "mostly yes": {"opinion_matrix": ((0.5, 0.5), (0.1, 0.9))},
    "the other way round": {"opinion_matrix": ((0.2, 0.8), (0.7, 0.3))},
}
QUOTAS: list[dict[str, Any]] = [{}, {"passes": "more_than"}, {"quota_fraction": 0.85}, {"quota": 2.0}, {"quota": 16.0}]


@pytest.mark.parametrize("mechanism", list(MECHANISMS))
@pytest.mark.parametrize("quota", QUOTAS, ids=str)
def test_what_an_opinion_moves_is_that_of_all_reports_one_by_one(mechanism: str, quota: dict[str, Any]) -> None:
    parameters, weights = in_vote((1.0, 2.0, 2.0, 4.0, 7.0), **MECHANISMS[mechanism], **quota)
    found = released_power(parameters, weights)
    assert found == pytest.approx([by_hand(parameters, weights, place) for place in range(5)], abs=1e-12)


@hypothesis.given(games(), st.sampled_from([0.01, 1.0, 5.0]))
def test_randomized_response_scales_a_majoritys_power_alike_for_all(game: WeightedGame, epsilon: float) -> None:
    """By tanh(ε/2), times the Banzhaf measure."""
    weights = tuple(float(weight) for weight in game.weights if weight)
    parameters, _ = in_vote(weights, epsilon=epsilon)
    measure = [float(own.banzhaf) for own in WeightedGame.from_vote(parameters, weights).powers]
    assert released_power(parameters, weights) == pytest.approx([math.tanh(epsilon / 2) * own for own in measure])


def test_many_equals_move_the_release_by_the_binomial_law() -> None:
    """200 partners, two thirds needed: reported "yes" must pass q·W + (p − q)·2W/3, with p and q of ε = 1."""
    parameters, weights = in_vote((1.0,) * 200, quota_fraction=0.667)
    (no, _), _ = parameters.make_opinion_mechanism().channel_matrix()
    apart = 2 * no - 1
    needed = math.ceil((1 - no) * 200 + apart * 133.4)
    expected = apart * binom.pmf(needed - 1, 199, 0.5)
    assert released_power(parameters, weights) == pytest.approx([expected] * 200, abs=1e-12)


@pytest.mark.parametrize(
    ("make", "field", "said"),
    [
        (lambda: WeightedGame((), 1), "weights", "not all 0"),
        (lambda: WeightedGame((0, 0), 1), "weights", "not all 0"),
        (lambda: WeightedGame((1, -1), 1), "weights", ">= 0"),
        (lambda: WeightedGame((1, 2), 0), "quota", "all together win"),
        (lambda: WeightedGame((1, 2), 4), "quota", "is 4"),
        (
            lambda: WeightedGame.from_vote(*in_vote((1.0, 2.0), quota_fraction=1.0, passes="more_than")),
            "quota",
            "all together win",
        ),
        (lambda: WeightedGame((10**9, 1, 10**9), 10**9).powers, "weights", "take too long to count"),
        (lambda: released_power(*in_vote((1.0, 2.0), variant="laplace")), "variant", "'joint' or 'printed'"),
        (lambda: released_power(Parameters(candidates=("a",)), (1.0, 2.0)), "variant", "private weights"),
        (lambda: released_power(*in_vote((1e-9, 1e9))), "weights", "of a greater unit"),
    ],
)
def test_what_is_no_game_or_too_large_a_one_is_refused(make: Any, field: str, said: str) -> None:
    with refuses(field, said=said):
        make()


@pytest.mark.parametrize("coalition", [(0, 0), (3,), (-1,)])
def test_a_coalition_has_members_each_once(coalition: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="use places from"):
        WeightedGame((1, 1, 1), 2).worth(coalition)
