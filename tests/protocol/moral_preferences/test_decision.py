"""Decisions of a society: by hand, at ties, and what is refused."""

import math
from typing import Any, cast

import msgspec
import numpy as np
import pytest
from bad_input import refuses
from helpers import make_preference_inputs, make_preferences
from makers import preference_outcome
from psephos.protocol import SimulatedNoise, run_population
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.mechanisms.polya import share_masses
from psephos.protocol.moral_preferences import PRIORS, Ball, Decision, LevelOutcome, NoisyMaxima, Outcome, decide
from psephos.protocol.moral_preferences.records import GREATEST_FEATURE
from thoroughness import draws

MAXIMA = NoisyMaxima(num_records=30, radius=2.0, scale=3.0, remedy="project")


def outcome(preferences: tuple[float, ...] = (1.0, -0.5), **changes: Any) -> Outcome:
    own: dict[str, Any] = {"features": ("young", "many"), "errors": (0.3, 0.4)}
    return preference_outcome(preferences, **own | changes)


def test_a_choice_by_hand() -> None:
    """β·(x − z) = 1·(2 − 1) − 0.5·(1 − 0) = 0.5: Φ(0.5) = 0.6914625.

    With B = 2 and d = 2, τ² = 2·4/(3·4) = 2/3, k = 200/227 and 25/31: Φ((k₁ − k₂/2)/√(0.09·k₁ + 0.16·k₂)) = Φ(1.0469).
    """
    made = decide(outcome(), {"young": 2.0, "many": 1.0}, {"young": 1.0})
    assert (made.choice, made.margin) == ("first", 0.5)
    assert made.probability == pytest.approx(0.6914624612740131, rel=1e-15)
    shares = 200 / 227, 25 / 31
    expected = (shares[0] - shares[1] / 2) / math.sqrt(0.09 * shares[0] + 0.16 * shares[1])
    assert made.certainty == pytest.approx(0.5 * math.erfc(-expected / math.sqrt(2)), rel=1e-14)
    assert made.certainty == pytest.approx(0.8524, abs=1e-4)
    assert made.prior == "ball"


def test_the_l2_ball_of_a_direction_by_hand() -> None:
    """R = 1.5 and d = 2: τ² = 2.25/4; of the second feature alone k = .5625/(.5625 + .16), and Φ(√k·0.5/0.4)."""
    released = outcome(is_direction=True, mechanism="direction", ball=Ball(norm="l2", radius=1.5))
    made = decide(released, {"many": -1.0}, {})
    reach = math.sqrt(0.5625 / 0.7225) * 1.25
    assert made.certainty == pytest.approx(0.5 * math.erfc(-reach / math.sqrt(2)), rel=1e-14)


def test_where_errors_differ_the_margin_decides_and_may_be_less_than_even() -> None:
    """0.5·4 − 1.9 > 0, but the first feature is mostly noise: without it the second alternative is likelier."""
    released = outcome((0.5, -0.19), errors=(1.5, 0.01))
    made = decide(released, {"young": 4.0, "many": 10.0}, {})
    assert made.choice == "first"
    assert made.certainty is not None
    assert made.certainty < 0.5


@pytest.mark.parametrize(("planned", "added"), [(4, 4), (8, 9), (8, 11), (5, 12)])
@pytest.mark.parametrize("changes", [{"young": 1.0}, {"young": 3.0, "many": 1.0}])
def test_a_masked_verdict_is_by_the_exact_law_of_as_many_shares(
    planned: int, added: int, changes: dict[str, float]
) -> None:
    """Of one sum, or two that are weighted, on a grid of a scale's 1,024th; a session's is finer."""
    side = share_masses(scale=1024.0, planned=planned, num_shares=added)
    law = np.concatenate([side[:0:-1], side])
    steps = np.arange(len(law)) - (len(side) - 1)
    error = math.sqrt(float(law @ steps**2))
    for reach in (1.0, 2.0, 4.0):  # in standard errors
        margin = reach * error * math.hypot(*changes.values())
        above = np.append(np.cumsum(law[::-1])[::-1], 0.0)  # at place i, what is at i or more
        others, chances = (steps, law) if "many" in changes else (np.zeros(1), np.ones(1))
        least = np.ceil((margin - others * changes.get("many", 0.0)) / changes["young"]).astype(np.int64)
        exact = float(chances @ above[np.clip(least - steps[0], 0, len(law))])
        released = outcome(
            (margin / changes["young"], 0.0),
            errors=(error, error),
            paradigm="VLMP",
            num_voters=added,
            planned=planned,
        )
        told = decide(released, changes, {}).p_value
        assert told is not None
        assert told == pytest.approx(exact, rel=2e-3, abs=2e-6)


def test_a_prior_of_any_size_is_the_mean_of_balls_by_their_evidence() -> None:
    """Twelve radii, (k − ½)/12 of the bound, each weighed by the normal density of the released preferences."""
    weights: list[float] = []
    certainties: list[float] = []
    for place in range(12):
        spread = 2 / 3 * ((place + 0.5) / 12) ** 2
        shares = spread / (spread + 0.09), spread / (spread + 0.16)
        weight = 1.0
        for value, variance in ((1.0, 0.09 + spread), (-0.5, 0.16 + spread)):
            weight *= math.exp(-value * value / variance / 2) / math.sqrt(variance)
        reach = (shares[0] - shares[1] / 2) / math.sqrt(0.09 * shares[0] + 0.16 * shares[1])
        weights.append(weight)
        certainties.append(0.5 * math.erfc(-reach / math.sqrt(2)))
    made = decide(outcome(), {"young": 2.0, "many": 1.0}, {"young": 1.0}, prior="size")
    expected = sum(own * weight for own, weight in zip(certainties, weights, strict=True)) / sum(weights)
    assert made.prior == "size"
    assert made.certainty == pytest.approx(expected, rel=1e-12)


def test_a_verdict_by_hand() -> None:
    """One draw of Laplace noise, of scale 0.3/√2 in the first feature: ½·e^(−√2·m/0.3) at m = 0.5 is .0474."""
    central = outcome(paradigm="VLCP")
    made = decide(central, {"young": 0.5}, {})
    assert made.p_value == pytest.approx(0.5 * math.exp(-math.sqrt(2) * 0.5 / 0.15), abs=2e-6)
    assert (made.verdict, made.level) == ("first", 0.05)
    large = outcome((0.5, -0.5), paradigm="VLCP")
    p_value = 0.5 * math.exp(-math.sqrt(2) * 0.5 / 0.3)
    for level, verdict in ((p_value + 1e-5, "second"), (p_value - 1e-5, "undecided")):
        made = decide(large, {}, {"young": 1.0}, level=level)
        assert (made.choice, made.verdict, made.level) == ("second", verdict, level)


def test_levels_share_the_noise_by_their_weights_and_epsilons() -> None:
    """A single voter at ε = 0.1 has nearly all of it: as one draw, and not as many."""
    levels = (
        LevelOutcome(epsilon=0.1, num_voters=1, weight=1.0),
        LevelOutcome(epsilon=100.0, num_voters=1000, weight=1.0),
    )
    made = decide(outcome(levels=levels, num_voters=1001), {"young": 0.3}, {})
    assert made.p_value == pytest.approx(0.5 * math.exp(-math.sqrt(2) / 0.3), abs=1e-4)


def test_a_directions_noise_has_the_law_of_its_radius() -> None:
    """In one dimension it is Laplace noise; in two, one draw is worth one and a half of these."""
    one = outcome((1.0,), features=("young",), errors=(0.4,), is_direction=True, mechanism="direction", paradigm="VLCP")
    made = decide(one, {"young": 1.0}, {})
    assert made.p_value == pytest.approx(0.5 * math.exp(-math.sqrt(2) / 0.4), abs=2e-6)
    two = outcome((1.0, 0.0), errors=(0.4, 0.4), is_direction=True, mechanism="direction", paradigm="VLCP")
    radius = np.random.default_rng(3).gamma(2, size=200_000)
    angle = np.random.default_rng(4).uniform(0, 2 * math.pi, 200_000)
    found = float(np.mean(radius * np.cos(angle) * 0.4 / math.sqrt(3) >= 1.0))  # 3e-4
    assert decide(two, {"young": 0.6}, {}).p_value == pytest.approx(found, abs=1.5e-3)


@pytest.mark.bad_input("an unknown prior; a level outside (0, 1/2); a verdict without errors")
@pytest.mark.parametrize("level", [0.0, 0.5, -1.0, math.nan, math.inf])
def test_a_level_that_no_test_has_is_refused(level: float) -> None:
    with pytest.raises(ConfigurationError, match=r"level is .*: use a value above 0 and below 0\.5"):
        decide(outcome(), {"young": 1.0}, {}, level=level)


@pytest.mark.bad_input("an unknown prior; a level outside (0, 1/2); a verdict without errors")
def test_an_unknown_prior_is_refused() -> None:
    assert PRIORS == ("ball", "size")
    with pytest.raises(ConfigurationError, match="prior is 'flat': use one of ball, size"):
        decide(outcome(), {"young": 1.0}, {}, prior=cast("Any", "flat"))


@pytest.mark.bad_input("an unknown prior; a level outside (0, 1/2); a verdict without errors")
@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"errors": None, "ball": None, "mechanism": "pooled"}, "the errors of 'pooled' have no closed form"),
        ({"is_whitened": True, "ball": None}, "the errors of whitened directions hang together"),
        ({"is_projected": True}, "a projection moved the preferences"),
        (
            {"maxima": MAXIMA, "mechanism": "functional"},
            "how far noise moves maxima depends on preferences without noise",
        ),
    ],
)
def test_a_verdict_or_a_certainty_is_not_asked_of_a_release_that_has_none(changes: dict[str, Any], why: str) -> None:
    released = outcome(**changes)
    with pytest.raises(ConfigurationError, match=f"leave out level: {why}"):
        decide(released, {"young": 1.0}, {}, level=0.1)
    made = decide(released, {"young": 1.0}, {})
    assert (made.choice, made.verdict, made.level, made.p_value) == ("first", None, None, None)
    if released.ball is None:
        with pytest.raises(ConfigurationError, match=f"leave out prior: {why}"):
            decide(released, {"young": 1.0}, {}, prior="size")
        assert (made.certainty, made.prior) == (None, None)


def test_the_certainty_of_noisy_maxima_is_simulated_and_says_how_well() -> None:
    """The more there is in a margin the surer it is; between alternatives of no such margin it is about even."""
    released = outcome(errors=(0.1, 0.1), maxima=MAXIMA, mechanism="functional", paradigm="RLDP")
    for prior in PRIORS[: draws(1, full=2)]:
        sure, unsure = (decide(released, {"young": 1.0, "many": many}, {}, prior=prior) for many in (0.0, 1.99))
        assert sure.certainty is not None
        assert unsure.certainty is not None
        assert 0.5 < unsure.certainty < 0.52
        assert 0.99 < sure.certainty <= 1
        assert isinstance(sure.certainty_error, float)
        assert 0 <= sure.certainty_error < 0.005
        assert decide(released, {"young": 1.0}, {}, prior=prior) == sure
    assert b"certainty_error" not in msgspec.json.encode(decide(outcome(), {"young": 1.0}, {}))


@pytest.mark.bad_input("an unknown prior; a level outside (0, 1/2); a verdict without errors")
def test_more_levels_than_are_simulated_have_no_certainty() -> None:
    levels = tuple(LevelOutcome(epsilon=place + 1.0, num_voters=1, weight=1.0) for place in range(9))
    released = outcome(maxima=MAXIMA, levels=levels, num_voters=9, mechanism="functional", paradigm="RLDP")
    assert decide(released, {"young": 1.0}, {}).certainty is None
    with pytest.raises(ConfigurationError, match="noisy maxima at 9 levels of ε are not simulated, at most 8 are"):
        decide(released, {"young": 1.0}, {}, prior="size")


def test_a_release_of_an_earlier_version_has_a_verdict_and_no_certainty() -> None:
    made = decide(outcome(ball=None), {"young": 1.0}, {})
    assert made.certainty is None
    assert made.verdict is not None
    with pytest.raises(ConfigurationError, match="does not say in which ball"):
        decide(outcome(ball=None), {"young": 1.0}, {}, prior="ball")


def test_the_same_pair_the_other_way_round() -> None:
    first, second = {"young": 2.0, "many": 1.0}, {"young": 1.0}
    made, reverse = decide(outcome(), first, second), decide(outcome(), second, first)
    assert (reverse.choice, reverse.margin) == ("second", -0.5)
    assert reverse.probability is not None
    assert made.probability is not None
    assert reverse.probability + made.probability == pytest.approx(1, abs=1e-15)
    assert reverse.certainty == made.certainty


def test_features_that_are_not_named_are_0() -> None:
    assert decide(outcome(), {"many": -2.0}, {}) == decide(outcome(), {"young": 0.0, "many": -2.0}, {"young": 0.0})
    assert decide(outcome(), {"many": -2.0}, {}).margin == 1.0


@pytest.mark.parametrize(
    ("first", "second"), [({}, {}), ({"young": 3.0}, {"young": 3.0}), ({"young": 1.0, "many": 2.0}, {})]
)
def test_a_tie_is_nobodys(first: dict[str, float], second: dict[str, float]) -> None:
    expected = Decision(choice=None, margin=0.0, probability=0.5, certainty=None, verdict="undecided", level=0.05)
    assert decide(outcome(), first, second) == expected


def test_a_direction_says_what_is_chosen_and_not_how_often() -> None:
    ball = Ball(norm="l2", radius=4.0)
    made = decide(outcome((0.6, -0.8), is_direction=True, ball=ball), {"young": 1.0}, {"many": 1.0})
    assert (made.choice, made.margin, made.probability) == ("first", pytest.approx(1.4), None)
    assert made.certainty is not None
    assert made.certainty > 0.99


def test_a_direction_of_nothing_chooses_nothing() -> None:
    made = decide(outcome((0.0, 0.0), is_direction=True, errors=None), {"young": 1.0}, {})
    assert made == Decision(choice=None, margin=0.0, probability=None, certainty=None)


@pytest.mark.parametrize("changes", [{"errors": None}, {"is_whitened": True}])  # which then hang together
def test_without_errors_nothing_is_said_about_certainty(changes: dict[str, Any]) -> None:
    assert decide(outcome(**changes), {"young": 1.0}, {}).certainty is None


def test_without_noise_the_choice_is_certain() -> None:
    assert decide(outcome(errors=(0.0, 0.4)), {"young": 1.0}, {}).certainty == 1.0
    assert decide(outcome(errors=(0.0, 0.4)), {"young": -1.0}, {}).certainty == 1.0


@pytest.mark.parametrize("size", [60.0, 1e5, GREATEST_FEATURE])
def test_margins_of_any_size_have_probabilities(size: float) -> None:
    """The margin is 1/0.3 of its error, however large both are: Φ(√k/0.3), k = (2/3)/(2/3 + 0.09)."""
    for sign, choice, probability in ((1, "first", 1.0), (-1, "second", 0.0)):
        made = decide(outcome(), {"young": sign * size}, {})
        assert (made.choice, made.probability) == (choice, pytest.approx(probability, abs=1e-300))
        expected = 0.5 * math.erfc(-math.sqrt(200 / 227) / 0.3 / math.sqrt(2))
        assert made.certainty == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("side", ["first", "second"])
def test_an_unknown_feature_is_refused_by_its_name(side: str) -> None:
    alternatives: dict[str, dict[str, float]] = {"first": {}, "second": {}, side: {"yuong": 1.0}}
    with refuses(f"the {side} alternative", "yuong") as caught:
        decide(outcome(), alternatives["first"], alternatives["second"])
    assert caught.value.allowed == "described by young, many"


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e308, -2 * GREATEST_FEATURE])
@pytest.mark.parametrize("side", ["first", "second"])
def test_a_value_that_is_no_finite_number_or_too_large_is_refused(side: str, bad: float) -> None:
    """Two values near the greatest float have no difference, and a margin without one chose the second."""
    alternatives: dict[str, dict[str, float]] = {"first": {}, "second": {}, side: {"young": bad}}
    with refuses(f"young of the {side} alternative") as caught:
        decide(outcome(), alternatives["first"], alternatives["second"])
    assert caught.value.value is bad


def test_a_session_of_any_mechanism_decides() -> None:
    for mechanism in ("direction", "laplace"):
        protocol = make_preferences(mechanism=mechanism)
        released = run_population(
            protocol, make_preference_inputs(protocol, 5), noise=SimulatedNoise(1, session="s")
        ).outcome
        made = decide(released, {"a": 1.0}, {"b": 1.0})
        assert made.choice in {"first", "second"}
        assert (made.probability is None) == (mechanism == "direction")


def test_a_value_that_is_no_number_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="young of the first alternative"):
        decide(outcome(), {"young": cast("float", "x")}, {})
