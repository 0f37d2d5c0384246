"""Decisions of a society: by hand, at ties, and what is refused."""

import math
from typing import Any, cast

import msgspec
import pytest
from helpers import make_preference_inputs, make_preferences
from psephos.protocol import SimulatedNoise, run_population
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.estimators import Estimate
from psephos.protocol.moral_preferences import Decision, LevelOutcome, Outcome, decide
from psephos.protocol.moral_preferences.records import GREATEST_FEATURE


def outcome(preferences: tuple[float, ...] = (1.0, -0.5), **changes: Any) -> Outcome:
    given: dict[str, Any] = {
        "features": ("young", "many"),
        "preferences": preferences,
        "errors": (0.3, 0.4),
        "is_direction": False,
        "num_voters": 7,
        "paradigm": "VLDP",
        "mechanism": "laplace",
        "levels": (LevelOutcome(epsilon=1.0, num_voters=7, weight=1.0),),
        "is_projected": False,
        "epsilon_record": 1.0,
        "epsilon_voter": 1.0,
    }
    return Outcome(**{**given, **changes})


def test_a_choice_by_hand() -> None:
    """β·(x − z) = 1·(2 − 1) − 0.5·(1 − 0) = 0.5: Φ(0.5) = 0.6914625; its error is √(0.09 + 0.16) = 0.5: Φ(1)."""
    made = decide(outcome(), {"young": 2.0, "many": 1.0}, {"young": 1.0})
    assert (made.choice, made.margin) == ("first", 0.5)
    assert made.probability == pytest.approx(0.6914624612740131, rel=1e-15)
    assert made.certainty == pytest.approx(0.8413447460685429, rel=1e-15)


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
    assert decide(outcome(), first, second) == Decision(choice=None, margin=0.0, probability=0.5, certainty=None)


def test_a_direction_says_what_is_chosen_and_not_how_often() -> None:
    made = decide(outcome((0.6, -0.8), is_direction=True), {"young": 1.0}, {"many": 1.0})
    assert (made.choice, made.margin, made.probability) == ("first", pytest.approx(1.4), None)
    assert made.certainty is not None
    assert made.certainty > 0.99


def test_a_direction_of_nothing_chooses_nothing() -> None:
    made = decide(outcome((0.0, 0.0), is_direction=True, errors=None), {"young": 1.0}, {})
    assert made == Decision(choice=None, margin=0.0, probability=None, certainty=None)


def test_without_errors_nothing_is_said_about_certainty() -> None:
    assert decide(outcome(errors=None), {"young": 1.0}, {}).certainty is None


def test_without_noise_the_choice_is_certain() -> None:
    assert decide(outcome(errors=(0.0, 0.4)), {"young": 1.0}, {}).certainty == 1.0
    assert decide(outcome(errors=(0.0, 0.4)), {"young": -1.0}, {}).certainty == 1.0


@pytest.mark.parametrize("size", [60.0, 1e5, GREATEST_FEATURE])
def test_margins_of_any_size_have_probabilities(size: float) -> None:
    """The margin is 1/0.3 of its error, however large both are: Φ(1/0.3) = 0.9995709."""
    for sign, choice, probability in ((1, "first", 1.0), (-1, "second", 0.0)):
        made = decide(outcome(), {"young": sign * size}, {})
        assert (made.choice, made.probability) == (choice, pytest.approx(probability, abs=1e-300))
        assert made.certainty == pytest.approx(0.9995709396668032, rel=1e-14)


@pytest.mark.parametrize("side", ["first", "second"])
def test_an_unknown_feature_is_refused_by_its_name(side: str) -> None:
    alternatives: dict[str, dict[str, float]] = {"first": {}, "second": {}, side: {"yuong": 1.0}}
    with pytest.raises(ConfigurationError) as caught:
        decide(outcome(), alternatives["first"], alternatives["second"])
    assert (caught.value.field, caught.value.value) == (f"the {side} alternative", "yuong")
    assert caught.value.allowed == "described by young, many"


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e308, -2 * GREATEST_FEATURE])
@pytest.mark.parametrize("side", ["first", "second"])
def test_a_value_that_is_no_finite_number_or_too_large_is_refused(side: str, bad: float) -> None:
    """Two values near the greatest float have no difference, and a margin without one chose the second."""
    alternatives: dict[str, dict[str, float]] = {"first": {}, "second": {}, side: {"young": bad}}
    with pytest.raises(ConfigurationError) as caught:
        decide(outcome(), alternatives["first"], alternatives["second"])
    assert caught.value.field == f"young of the {side} alternative"
    assert caught.value.value is bad


def test_estimates_are_preferences_with_their_errors() -> None:
    assert outcome().estimates == (Estimate(1.0, 0.3), Estimate(-0.5, 0.4))
    assert outcome(errors=None).estimates is None


def test_an_outcome_survives_the_wire() -> None:
    for released in (outcome(), outcome(errors=None)):
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(released), type=Outcome) == released
        assert msgspec.json.decode(msgspec.json.encode(released), type=Outcome) == released


def test_a_released_run_decides() -> None:
    """Everybody chooses by the first feature alone; at ε = 100 the release says so."""
    protocol = make_preferences(epsilon=100.0)
    records = [[[[1.0, 0.0], [0.0, 0.0]]] * 3] * 50
    released = run_population(protocol, protocol.encode({"records": records}), noise=SimulatedNoise(1, session="s"))
    made = decide(released.outcome, {"a": 1.0}, {"b": 1.0})
    assert made.choice == "first"
    assert made.probability == pytest.approx(0.977, abs=0.02)  # Φ(2), at the ball's end
    assert made.certainty is not None
    assert made.certainty > 0.999


def test_a_session_of_any_mechanism_decides() -> None:
    for mechanism in ("direction", "laplace"):
        protocol = make_preferences(mechanism=mechanism)
        released = run_population(
            protocol, make_preference_inputs(protocol, 5), noise=SimulatedNoise(1, session="s")
        ).outcome
        made = decide(released, {"a": 1.0}, {"b": 1.0})
        assert made.choice in {"first", "second"}
        assert (made.probability is None) == (mechanism == "direction")


def test_where_directions_were_whitened_errors_hang_together_and_nothing_is_said_about_certainty() -> None:
    assert decide(outcome(is_whitened=True), {"young": 1.0}, {}).certainty is None


def test_a_value_that_is_no_number_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="young of the first alternative"):
        decide(outcome(), {"young": cast("float", "x")}, {})
