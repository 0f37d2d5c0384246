"""Verdicts on differences between societies: intervals that hold all at once, and releases that have no test."""

import itertools
import math
from typing import Any

import msgspec
import numpy as np
import pytest
from helpers import make_preference_inputs, make_preferences
from psephos.protocol import ConfigurationError, SimulatedNoise, run_population
from psephos.protocol.arrays import FloatArray
from psephos.protocol.estimators.noise_tails import tail_of_noise
from psephos.protocol.moral_preferences import (
    DIFFERS,
    MOST_COMPARED,
    LevelOutcome,
    MoralPreferences,
    Outcome,
    Paradigm,
    Parameters,
    PerturbedPhase,
    SocietyOutcome,
    compare_societies,
    decide,
)
from psephos.protocol.moral_preferences.certainty import noise_parts
from psephos.protocol.moral_preferences.parameters import MechanismName
from psephos.protocol.phases import Inputs

NAMES = ("north", "east", "south")


def released(*, seed: int = 0, num_voters: int = 30, **given: Any) -> Outcome:
    usual: dict[str, Any] = {"societies": NAMES, "max_records": 4, "paradigm": Paradigm.VLCP, "epsilon": 20.0}
    protocol = make_preferences(3, **{**usual, **given})
    inputs = make_preference_inputs(protocol, num_voters)
    return run_population(protocol, inputs, noise=SimulatedNoise(seed, session="vote")).outcome


def of_preferences(*preferences: tuple[float, ...], error: float, mechanism: MechanismName = "laplace") -> Outcome:
    names, size = [f"s{place}" for place in range(len(preferences))], len(preferences[0])
    common: dict[str, Any] = {"errors": (error,) * size, "num_voters": 10}
    levels = (LevelOutcome(epsilon=1.0, num_voters=10, weight=1.0),)
    return Outcome(
        features=tuple(f"f{place}" for place in range(size)),
        preferences=preferences[0],
        is_direction=mechanism == "direction",
        paradigm="VLCP",
        mechanism=mechanism,
        levels=levels,
        is_projected=False,
        epsilon_record=1.0,
        epsilon_voter=1.0,
        societies=tuple(
            SocietyOutcome(name=name, preferences=own, levels=levels, **common)
            for name, own in zip(names, preferences, strict=True)
        ),
        **common,
    )


def test_every_pair_and_feature_is_compared_and_the_clearest_comes_first() -> None:
    outcome = released()
    found = compare_societies(outcome)
    compared = {(each.feature, frozenset((each.more, each.less))) for each in found}
    pairs = [frozenset(pair) for pair in itertools.combinations(NAMES, 2)]
    assert compared == set(itertools.product(outcome.features, pairs))
    assert [each.size for each in found] == sorted((each.size for each in found), reverse=True)
    for each in found:
        released_one = outcome.differences(each.more, each.less)
        assert released_one is not None
        estimate = released_one[outcome.features.index(each.feature)]
        assert (each.difference, each.standard_error) == (estimate.value, estimate.standard_error)
        assert each.difference >= 0
        assert each.low is not None
        assert each.high is not None
        assert each.low < each.difference < each.high
        assert each.verdict == (DIFFERS if each.low > 0 else "undecided")


def test_a_limit_is_where_noise_reaches_with_the_share_of_the_level_that_is_its_own() -> None:
    """By the tail of the noise in both societies, which the interval was not computed with."""
    outcome = released(epsilon=3.0)
    for each in compare_societies(outcome, level=0.1):
        assert each.low is not None
        parts = [outcome.society_outcome(name) for name in (each.more, each.less)]
        noise = [part for own in parts for part in noise_parts(own, (own.errors or ())[:1])]
        assert tail_of_noise(noise, each.difference - each.low) == pytest.approx(0.1 / (2 * 9), rel=1e-3)


def test_of_two_societies_and_one_feature_a_verdict_is_the_two_sided_test() -> None:
    """A decision that weighs the feature alone has half of the probability: it knows its side beforehand."""
    for margin in (0.2, 0.4, 0.5, 0.55, 0.6, 0.8):
        outcome = of_preferences((margin,), (0.0,), error=0.1)
        (found,) = compare_societies(outcome)
        own = decide(msgspec.structs.replace(outcome, errors=(0.1,), societies=msgspec.UNSET), {"f0": 1}, {})
        assert own.p_value is not None
        noise = [part for name in ("s0", "s1") for part in noise_parts(outcome.society_outcome(name), (0.1,))]
        assert (found.verdict == DIFFERS) == (2 * tail_of_noise(noise, margin) <= 0.05)


def test_what_was_two_standard_errors_is_no_verdict_on_many() -> None:
    """Of six differences one is 2.3 standard errors: by itself it would pass."""
    outcome = of_preferences((0.32, 0.3), (0.0, 0.0), (0.1, 0.0), error=0.1)
    found = compare_societies(outcome)
    assert sum(each.difference > 2 * each.standard_error for each in found) > 0
    assert {each.verdict for each in found} == {"undecided"}
    assert DIFFERS in {each.verdict for each in compare_societies(outcome, level=0.45)}


def test_limits_of_directions_hold_whatever_noise_does_within_its_reach() -> None:
    """Clean means and noise are drawn; all coordinates of the noise are at most as far out as the limits allow for."""
    generator = np.random.default_rng(3)
    for _ in range(300):
        clean: FloatArray = generator.normal(size=(2, 4))
        noise = generator.uniform(-1, 1, size=(2, 4)) * 0.1
        means = clean + noise
        lengths = np.sqrt((means**2).sum(axis=1))
        outcome = of_preferences((1.0,) * 4, (1.0,) * 4, error=0.1, mechanism="direction")
        societies = tuple(
            msgspec.structs.replace(
                society, preferences=tuple((mean / length).tolist()), errors=(0.03 / float(length),) * 4
            )
            for society, mean, length in zip(outcome.society_outcomes, means, lengths, strict=True)
        )
        directions = clean / np.sqrt((clean**2).sum(axis=1, keepdims=True))
        for each in compare_societies(msgspec.structs.replace(outcome, societies=societies), level=0.05):
            place, first = int(each.feature[1:]), int(each.more[1:])
            true = directions[first, place] - directions[1 - first, place]
            assert each.low is not None
            assert each.high is not None
            assert each.low <= true <= each.high


def test_of_a_direction_that_is_all_noise_nothing_is_told() -> None:
    (first, *_) = compare_societies(of_preferences((1.0, 0.0), (-1.0, 0.0), error=0.5, mechanism="direction"))
    assert (first.difference, first.low, first.high, first.verdict) == (2.0, -2.0, 2.0, "undecided")


def test_more_than_the_level_can_be_shared_among_is_told_as_no_limit() -> None:
    """A tail below a millionth is not told, so that so many differences have no limits, and no verdict says more."""
    outcome = of_preferences((1.0,) * 100, (0.0,) * 100, error=0.01)
    first = compare_societies(outcome, level=1e-4)[0]
    assert (first.low, first.high, first.verdict, first.level) == (None, None, "undecided", 1e-4)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"is_projected": True}, "a projection moved the preferences"),
        ({"is_whitened": True}, "the errors of whitened directions hang together"),
    ],
)
def test_a_release_without_a_test_has_differences_and_no_verdict(changes: dict[str, Any], why: str) -> None:
    outcome = msgspec.structs.replace(released(), **changes)
    for each in compare_societies(outcome):
        assert (each.low, each.high, each.verdict, each.level) == (None, None, None, None)
        assert each.standard_error > 0
    with pytest.raises(ConfigurationError, match=f"leave out level: {why}"):
        compare_societies(outcome, level=0.05)


def test_why_projected_preferences_have_no_verdict() -> None:
    """Two societies that prefer the same; noise in a hundred features moves the one of few voters towards 0.

    One feature, held to 5 % by itself, is said to differ in more than half of the sessions.
    """
    size, wrong = 100, 0
    protocol = MoralPreferences(
        Parameters(
            features=tuple(f"f{place}" for place in range(size)),
            paradigm=Paradigm.VLCP,
            epsilon=1.0,
            societies=("many", "few"),
            project=True,
        )
    )
    held = np.zeros((420, size), dtype=np.int64)
    held[:, 0] = protocol.summary.bound
    inputs = Inputs(held, np.array([[0]] * 400 + [[1]] * 20))
    for seed in range(40):
        outcome = run_population(protocol, inputs, noise=SimulatedNoise(seed, session="vote")).outcome
        found = outcome.differences("many", "few")
        assert found is not None
        first = found[0]
        wrong += abs(first.value) > 2 * first.standard_error
    assert wrong > 20


def test_why_noisy_maxima_have_no_verdict() -> None:
    """Two societies that prefer the same, one of which has more to say: noise silences the other in every session."""
    protocol = make_preferences(
        2, paradigm=Paradigm.RLDP, mechanism="functional", epsilon=1.0, max_records=100, societies=("terse", "wordy")
    )
    phase, summary = protocol.phase, protocol.summary
    assert isinstance(phase, PerturbedPhase)
    rows = np.array(
        [np.array([curvature, 0.0, -curvature, 0.0, -curvature]) / summary.step for curvature in (1 / 6, 100 / 6)]
    )
    public = np.array([[0]] * 200 + [[1]] * 200)
    held = np.rint(rows).astype(np.int64)[public[:, 0]]
    clean = protocol.truth(Inputs(held, public))
    assert clean["terse, a"] == pytest.approx(clean["wordy, a"], abs=1e-6)
    for seed in range(10):
        uniforms = np.random.default_rng(seed).random((400, phase.mechanism.slots_of(held.shape[1])))
        reports = phase.mechanism.randomize_rows(held, uniforms)
        outcome = protocol.outcome([phase.tally(reports, earlier=[], public=public)])
        found = outcome.differences("wordy", "terse")
        assert found is not None
        first = found[0]
        assert first.value > 3 * first.standard_error
        assert {each.verdict for each in compare_societies(outcome)} == {None}


def test_pooled_maxima_have_no_differences() -> None:
    outcome = released(paradigm=Paradigm.RLCP, mechanism="pooled")
    assert compare_societies(outcome) == ()


def test_one_society_alone_differs_from_none() -> None:
    outcome = released()
    assert compare_societies(outcome, ["north"]) == ()
    one = msgspec.structs.replace(outcome.society_outcomes[0], preferences=None, errors=None, num_voters=0, levels=())
    first, *_ = compare_societies(msgspec.structs.replace(outcome, societies=(one, *outcome.society_outcomes[1:])))
    assert {first.more, first.less} == {"east", "south"}
    assert math.isfinite(first.size)


@pytest.mark.bad_input("societies that are not two or more, or that a voter is not in exactly once")
@pytest.mark.parametrize(
    ("names", "given", "why"),
    [
        (["north", "west"], {}, "society is 'west': use one of north, east, south"),
        (["north", "east", "north"], {}, "society: 'north' is named twice"),
        ([], {"level": 0.5}, r"level is 0.5: use a value above 0 and below 0.5"),
        ([], {"level": float("nan")}, r"level is nan: use a value above 0 and below 0.5"),
    ],
)
def test_societies_that_cannot_be_compared_are_refused(names: list[str], given: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        compare_societies(released(), names, **given)


@pytest.mark.bad_input("societies that are not two or more, or that a voter is not in exactly once")
def test_more_societies_at_once_than_have_anything_left_of_the_level_are_refused() -> None:
    outcome = of_preferences(*((0.0,),) * (MOST_COMPARED + 1), error=0.1)
    with pytest.raises(ConfigurationError, match=f"societies is .*: use at most {MOST_COMPARED} at once"):
        compare_societies(outcome)
