"""Neighbors that attain 2B, searches below each bound, and what no record moves farther."""

import math

import numpy as np
import pytest
from psephos.protocol.estimators.l1_ball import fit_probit
from psephos.protocol.moral_preferences.coefficients import coefficients_of_records, sum_coefficients, unit_directions
from psephos.protocol.moral_preferences.sensitivity import grid_sensitivity, printed_sensitivity, tight_sensitivity
from psephos.scenarios.moral_preferences.audit.witnesses import search_sensitivity, sensitivity_witness


@pytest.mark.parametrize("num_records", [1, 2, 13, 50])
@pytest.mark.parametrize("radius", [0.1, 1.0, 3.0])
def test_the_witness_attains_twice_the_radius(num_records: int, radius: float) -> None:
    """Up to the solver's tolerance, by one record of n."""
    before, after = sensitivity_witness(num_records, num_features=4, radius=radius)
    assert np.array_equal(before[1:], after[1:])
    assert np.all(before.any(axis=1))
    offsets = np.array([0, num_records, 2 * num_records])
    first, second = fit_probit(np.concatenate([before, after]), offsets, radius=radius, tolerance=1e-9).points
    assert 2 * radius * (1 - 1e-4) < np.abs(first - second).sum() <= 2 * radius


def test_the_slope_that_the_witness_s_proof_speaks_of() -> None:
    """h(1) = .288 against h(−.1)/10 < .088, h = φ/Φ."""

    def ratio(z: float) -> float:
        return math.exp(-z * z / 2) / math.sqrt(2 * math.pi) / (math.erfc(-z / math.sqrt(2)) / 2)

    assert ratio(1) == pytest.approx(0.2876, abs=1e-4)
    assert ratio(-0.1) / 10 < 0.088


@pytest.mark.parametrize("num_features", [1, 2, 3, 5, 10, 23])
def test_the_search_comes_close_to_the_tight_bound_and_stays_below_each(num_features: int) -> None:
    """From two features on it comes within four in a hundred: no valid bound gains more on the tight one."""
    found, pair = search_sensitivity(num_features, seed=3)
    assert np.all(np.linalg.norm(pair, axis=1) <= 1 + 1e-15)
    assert found == np.abs(np.subtract(*coefficients_of_records(pair))).sum()
    assert found < tight_sensitivity(num_features) < printed_sensitivity(num_features)
    assert found > (0.96 if num_features > 1 else 0.89) * tight_sensitivity(num_features)
    for step in (2.0**-2, 2.0**-10):
        first, second = sum_coefficients(pair, np.array([0, 1, 2]), step=step)
        assert np.abs(first - second).sum() <= grid_sensitivity(num_features, step=step)


def test_one_feature_s_greatest_change_is_known() -> None:
    """V = 1 and V' = −1 have one square: 2√(2/π)."""
    assert search_sensitivity(1, seed=1)[0] == pytest.approx(2 * math.sqrt(2 / math.pi), rel=1e-12)


@pytest.mark.parametrize("radius", [0.3, 1.0, 2.0, 40.0])
def test_a_record_that_is_added_moves_preferences_by_2b_in_every_norm(radius: float) -> None:
    """So the noise for a replaced record is what an added one needs too, and no less will do."""
    after = np.zeros((2, 3))
    after[:, 0] = np.array([-0.1, 1.0]) / max(radius, 1.0)
    before = after[:1]
    points = [fit_probit(own, np.array([0, len(own)]), radius=radius).points[0] for own in (before, after)]
    for norm in (1, 1.5, 2, 7, math.inf):
        found = float(np.linalg.norm(points[0] - points[1], ord=norm))
        assert found == pytest.approx(2 * radius, rel=1e-5)  # as near as the solver comes to a vertex


@pytest.mark.parametrize("step", [2.0**-3, 2.0**-30])
def test_directions_change_by_2_at_most(step: float) -> None:
    """On the grid too: differences of any length, each against another one and against its opposite."""
    generator = np.random.default_rng(4)
    differences = generator.standard_normal((1000, 10)) * np.exp(generator.normal(0, 20, (1000, 1)))
    directions = unit_directions(differences, step=step)
    others = np.concatenate([np.roll(directions, 1, axis=0), unit_directions(-differences, step=step)])
    changes = (np.concatenate([directions, directions]) - others).tolist()
    found = math.sqrt(max(sum(value * value for value in row) for row in changes)) * step
    assert 2 - 20 * step < found <= 2


@pytest.mark.parametrize("num_records", [1, 2, 5])
def test_preferences_change_by_twice_the_radius_at_most(num_records: int) -> None:
    """Voters whose first record is turned against all their others."""
    before = np.random.default_rng(5).standard_normal((20, num_records, 3)) * 10 / 1.5
    after = before.copy()
    after[:, 0] = -10 * before.sum(axis=1)
    both = np.stack([before, after])
    offsets = np.arange(0, 40 * num_records + 1, num_records)
    first, second = fit_probit(both.reshape(-1, 3), offsets, radius=1.5).points.reshape(2, 20, 3)
    assert float(np.abs(first - second).sum(axis=1).max()) <= 3


def test_parameters_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match=r"num_records (is|are) .*positive"):
        sensitivity_witness(0, num_features=1, radius=1.0)
    with pytest.raises(ValueError, match=r"num_starts (is|are) .*positive"):
        search_sensitivity(2, seed=1, num_starts=0)
