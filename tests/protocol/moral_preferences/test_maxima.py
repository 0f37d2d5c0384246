"""How noisy maxima answer: by the mechanism itself, at the ends of noise, and where no test can hold."""

import math
from typing import cast

import numpy as np
import pytest
from helpers import make_preferences
from psephos.protocol import Tally
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.moral_preferences import NoisyMaxima, Outcome, Paradigm, PerturbedPhase, decide
from psephos.protocol.moral_preferences.functional import NoisyObjective
from psephos.protocol.moral_preferences.maxima import NUM_PARTS, NoiseOfLevel, _exponential, simulate_answers  # pyright: ignore[reportPrivateUsage]  its law is seen nowhere else
from psephos.protocol.moral_preferences.parameters import Remedy
from psephos.protocol.moral_preferences.protocol import MoralPreferences
from thoroughness import draws

RECORDS = 20


def protocol_of(num_features: int, epsilon: float, max_records: int = RECORDS) -> MoralPreferences:
    return make_preferences(
        num_features, paradigm=Paradigm.RLDP, mechanism="functional", epsilon=epsilon, max_records=max_records
    )


def law_of(protocol: MoralPreferences) -> NoisyMaxima:
    law = protocol.summary.maxima
    assert law is not None
    return law


def test_the_noise_that_is_simulated_is_exponential_to_a_thousandth_of_its_mean() -> None:
    """At uniforms from next to 0, whose quantile would be 36.7, to next to 1."""

    class Given:
        def random(self, size: tuple[int, ...]) -> FloatArray:
            return 1.0 - np.array([2.0**-53, 1e-13, 1e-5, 0.01, 0.3, 0.5, 0.99, 1.0]).reshape(size)

    found = _exponential(cast("np.random.Generator", Given()), (8,)).tolist()
    assert found == pytest.approx(
        [32.0, *(-math.log(each) for each in (1e-13, 1e-5, 0.01, 0.3, 0.5, 0.99)), 0], abs=1e-3
    )
    drawn = _exponential(np.random.default_rng(1), (draws(100_000, full=1_000_000),))
    # Of the mean 1 and the variance 1, to 5 and 6 of their standard errors: 1e-6 that either is missed.
    assert drawn.mean() == pytest.approx(1.0, abs=5 / math.sqrt(len(drawn)))
    assert drawn.var() == pytest.approx(1.0, abs=6 * math.sqrt(8 / len(drawn)))


def release(protocol: MoralPreferences, rows: IntArray, *, seed: int) -> Outcome:
    phase = protocol.phase
    assert isinstance(phase, PerturbedPhase)
    generator = np.random.default_rng(seed)
    uniforms = generator.random((len(rows), phase.mechanism.slots_of(rows.shape[1])))
    tally: Tally = phase.tally(
        phase.mechanism.randomize_rows(rows, uniforms), earlier=[], public=np.empty((len(rows), 0), dtype=np.int64)
    )
    return protocol.outcome([tally])


def test_the_slope_is_that_of_the_mechanism_itself() -> None:
    """Draws of the protocol's own mechanism, its grids included, at points of the prior: within six errors (2e-9)."""
    size, epsilon, number = 3, 1.5, 2000
    protocol = protocol_of(size, epsilon)
    law = law_of(protocol)
    answers = simulate_answers(law, num_features=size, noises=(NoiseOfLevel(law.scale / epsilon, 1.0),), size=1.0)
    slopes = [answer.slope for answer in answers]
    assert len(slopes) == NUM_PARTS
    generator = np.random.default_rng(5)
    shares = generator.exponential(size=(number, size + 1))
    points = 2.0 * shares[:, :size] / shares.sum(axis=1, keepdims=True) * generator.choice([-1, 1], (number, size))
    curvature = RECORDS / (math.pi * size)
    rows, columns = np.triu_indices(size)
    quadratic = np.broadcast_to(np.where(rows == columns, -curvature, 0.0), (number, len(rows)))
    coefficients = np.rint(np.concatenate([2 * curvature * points, quadratic], axis=1) / protocol.summary.step)
    mechanism = protocol.phase.mechanism
    assert isinstance(mechanism, NoisyObjective)
    uniforms = generator.random((number, mechanism.slots_of(coefficients.shape[1])))
    places = mechanism.randomize_rows(coefficients.astype(np.int64), uniforms) * protocol.summary.reported_step
    found = float((places * points).sum() / (points * points).sum())
    beside = places - found * points
    error = math.sqrt(float(((beside * points).sum(axis=1) ** 2).sum())) / float((points * points).sum())
    spread = np.std(slopes, ddof=1) / math.sqrt(NUM_PARTS)
    assert abs(found - np.mean(slopes)) < 6 * math.hypot(error, spread)
    assert 0.2 < found < 0.9  # neither all noise nor none


def test_without_noise_a_release_is_where_objectives_are_greatest_and_with_much_it_is_nowhere() -> None:
    law = NoisyMaxima(num_records=10, radius=2.0, scale=5.0, remedy="project")
    for epsilon, slope in ((1e6, 1.0), (1e-4, 0.0)):
        for answer in simulate_answers(law, num_features=4, noises=(NoiseOfLevel(law.scale / epsilon, 1.0),), size=1.0):
            assert answer.slope == pytest.approx(slope, abs=2e-3)
            assert answer.residual_variance == pytest.approx(0.0, abs=2e-3)


@pytest.mark.parametrize("remedy", ["project", "trim"])
def test_levels_answer_by_their_shares(remedy: Remedy) -> None:
    """Where one level hears nothing, the slope is the other's, by its share."""
    law = protocol_of(2, 1.0).summary.maxima
    assert law is not None
    changed = NoisyMaxima(num_records=50, radius=2.0, scale=1e-3, remedy=remedy)
    noises = (NoiseOfLevel(1e6, 0.75), NoiseOfLevel(1e-3, 0.25))
    slopes = [answer.slope for answer in simulate_answers(changed, num_features=2, noises=noises, size=1.0)]
    assert float(np.mean(slopes)) == pytest.approx(0.25, abs=0.02)


def test_a_society_that_noise_turns_for_certain() -> None:
    """Why there is no verdict: a test that is right at its level for every society would never say anything here.

    One feature. Half of the voters have a hundred records, 86 for it and 14 against, and prefer it by .9; half have a
    single one against it, and reject it by 1.25. Without noise it is rejected; noise silences the single records.
    """
    protocol = protocol_of(1, 1.0, max_records=100)
    chosen = [np.array([[[1.0], [0.0]]] * 86 + [[[0.0], [1.0]]] * 14), np.array([[[0.0], [1.0]]])]
    inputs = protocol.encode({"records": chosen * 1500})
    assert protocol.truth(inputs)["a"] == pytest.approx((0.72 - 1) * math.sqrt(math.pi / 2) / 2, abs=1e-4)
    outcome = release(protocol, inputs.private, seed=1)
    assert outcome.errors is not None
    assert outcome.preferences[0] > 4 * outcome.errors[0]
    made = decide(outcome, {"a": 1.0}, {})
    assert (made.choice, made.verdict, made.p_value) == ("first", None, None)
