"""Algorithm 3's reports: where noisy objectives are greatest, by hand, by brute force and in any batch."""

import dataclasses
import itertools
import math
from typing import Any, get_args

import numpy as np
import pytest
from bad_input import refuses
from psephos.protocol import SimulatedNoise
from psephos.protocol.arrays import FloatArray
from psephos.protocol.mechanisms import VectorLaplace
from psephos.protocol.moral_preferences import functional
from psephos.protocol.moral_preferences.coefficients import coefficients_of_records
from psephos.protocol.moral_preferences.functional import NoisyObjective, maximize_noisy
from psephos.protocol.moral_preferences.parameters import Remedy
from psephos.protocol.moral_preferences.sensitivity import num_coefficients
from psephos.protocol.privacy import PureMechanism

REMEDIES: tuple[Remedy, ...] = get_args(Remedy)
every_remedy = pytest.mark.parametrize("remedy", REMEDIES)


def objective(
    num_features: int = 2, *, remedy: Remedy = "project", scale: float = 50.0, **given: Any
) -> NoisyObjective:
    return NoisyObjective(
        VectorLaplace(scale, 10, 1 << 20),
        num_features=num_features,
        step=2.0**-10,
        radius=2.0,
        report_step=2.0**-12,
        remedy=remedy,
        **given,
    )


def maximum(coefficients: list[float], *, remedy: Remedy = "project", scale: float = 0.0, radius: float = 2.0) -> float:
    """Return the place of one feature's maximum."""
    table = np.array([coefficients])
    return maximize_noisy(table, num_features=1, radius=radius, remedy=remedy, noise_scale=scale).item()


@every_remedy
@pytest.mark.parametrize(
    ("difference", "radius", "place"),
    [
        (0.5, 10.0, 2 * math.sqrt(math.pi / 2)),
        (-0.5, 10.0, -2 * math.sqrt(math.pi / 2)),
        (0.5, 2.0, 2.0),
        (1.0, 10.0, math.sqrt(math.pi / 2)),
    ],
)
def test_one_record_of_one_feature_by_hand(remedy: Remedy, difference: float, radius: float, place: float) -> None:
    """√(2/π)·V·β − V²·β²/π is greatest at √(π/2)/V, or at the ball's end before that."""
    ((linear, quadratic),) = coefficients_of_records(np.array([[difference]])).tolist()
    assert maximum([linear, quadratic], remedy=remedy, radius=radius) == pytest.approx(place, abs=1e-5)


def test_a_convex_objective_by_hand() -> None:
    """β² − β/2 over [−2, 2]: projected, it is −β/2, greatest at −2; so is the best vertex; trimmed, nothing is left."""
    assert maximum([-0.5, 1.0]) == pytest.approx(-2, abs=1e-5)
    assert maximum([-0.5, 1.0], remedy="nonconvex") == pytest.approx(-2, abs=1e-12)
    assert maximum([-0.5, 1.0], remedy="trim") == pytest.approx(0, abs=1e-5)


def test_trimming_takes_a_ridge_of_the_noise_by_hand() -> None:
    """With scale 1/√2 the ridge is 4: β − β²/2 becomes β − 9β²/2, greatest at 1/9."""
    assert maximum([1.0, -0.5], remedy="trim", scale=1 / math.sqrt(2)) == pytest.approx(1 / 9, abs=1e-5)
    assert maximum([1.0, -0.5], remedy="project", scale=1 / math.sqrt(2)) == pytest.approx(1, abs=1e-5)


def values_of(coefficients: FloatArray, points: FloatArray) -> FloatArray:
    """Return the polynomial's value at each point, term by term."""
    d = points.shape[1]
    pairs = [(k, m) for k in range(d) for m in range(k, d)]
    terms = [coefficients[k] * points[:, k] for k in range(d)]
    terms += [coefficients[d + place] * points[:, k] * points[:, m] for place, (k, m) in enumerate(pairs)]
    return np.sum(terms, axis=0)


@every_remedy
def test_without_noise_the_report_is_where_the_voters_own_objective_is_greatest(remedy: Remedy) -> None:
    """Against a fine grid of the ball; log-likelihoods' expansions are concave, so that remedies do nothing."""
    generator = np.random.default_rng(0)
    axis = np.linspace(-2, 2, 401)
    grid = np.array([point for point in itertools.product(axis, axis) if abs(point[0]) + abs(point[1]) <= 2])
    mechanism = dataclasses.replace(objective(remedy=remedy), of_coefficients=VectorLaplace(1e-9, 10, 1 << 20))
    for _ in range(10):
        differences = generator.normal(size=(6, 2))
        differences /= np.maximum(1, np.linalg.norm(differences, axis=1))[:, None]
        rows = np.trunc(coefficients_of_records(differences).sum(axis=0) / mechanism.step).astype(np.int64)
        (report,) = mechanism.finish_rows(rows[None, :])
        place = report[None, :] * mechanism.report_step
        coefficients = rows * mechanism.step
        assert np.abs(place).sum() <= 2
        # A step of the report's grid costs no more than the slope times it.
        assert values_of(coefficients, place).item() >= values_of(coefficients, grid).max() - 1e-2


@every_remedy
def test_reports_are_in_the_ball_however_large_the_noise_is(remedy: Remedy) -> None:
    mechanism = objective(3, remedy=remedy, scale=1e5)
    uniforms = np.random.default_rng(1).random((200, mechanism.slots_of(9)))
    reports = mechanism.randomize_rows(np.zeros((200, 9), dtype=np.int64), uniforms)
    low, high = mechanism.report_range
    assert (low, high) == (-(1 << 13), 1 << 13)
    assert reports.shape == (200, mechanism.num_reports_of(9)) == (200, 3)
    assert int(np.abs(reports).sum(axis=1).max()) <= high
    assert len(np.unique(reports, axis=0)) > 10 or remedy == "trim"


@every_remedy
@pytest.mark.parametrize("block_rows", [1, 3, 1 << 13])
def test_a_row_alone_and_rows_in_any_batch_have_the_same_reports(
    remedy: Remedy, block_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(functional, "_BLOCK_ROWS", block_rows)
    mechanism = objective(3, remedy=remedy, scale=300.0)
    generator = np.random.default_rng(2)
    values = generator.integers(-500, 500, size=(10, 9))
    uniforms = generator.random((10, mechanism.slots_of(9)))
    whole = mechanism.randomize_rows(values, uniforms)
    for start, stop in [(0, 4), (4, 5), (5, 10), (0, 0)]:
        assert np.array_equal(mechanism.randomize_rows(values[start:stop], uniforms[start:stop]), whole[start:stop])
    rows: list[list[int]] = values.tolist()
    alone = [mechanism.randomize_row(row, draws) for row, draws in zip(rows, uniforms.tolist(), strict=True)]
    assert alone == whole.tolist()
    assert all(type(number) is int for row in alone for number in row)


def test_privacy_values_and_uniforms_are_the_noises() -> None:
    mechanism = objective(3)
    assert mechanism.noise is mechanism.of_coefficients
    assert mechanism.event_of(9) == mechanism.noise.event_of(9)
    assert mechanism.event_of(9) == PureMechanism(epsilon=10 / 50)
    assert mechanism.value_range == mechanism.noise.value_range
    assert mechanism.slots_of(9) == mechanism.noise.slots_of(9) == 9
    with pytest.raises(ValueError, match=r"use values from"):
        mechanism.randomize_rows(np.full((1, 9), 1 << 21), np.zeros((1, 9)))


def test_a_report_is_what_becomes_of_noisy_coefficients_alone() -> None:
    """Post-processing: whoever has the noise's report has the place."""
    mechanism = objective(2)
    noise = SimulatedNoise(3, session="s")
    values = [100, -50, -300, 20, -200]
    noisy = noise.randomize(mechanism.noise, values, protocol="p", phase="q", place=4)
    report = noise.randomize(mechanism, values, protocol="p", phase="q", place=4)
    assert mechanism.finish_rows(np.array([noisy])).tolist() == [report]


@pytest.mark.parametrize("width", [4, 6])
def test_another_number_of_coefficients_is_refused(width: int) -> None:
    with pytest.raises(ValueError, match=f"{width} coefficients are given: give {num_coefficients(2)}"):
        objective(2).finish_rows(np.zeros((1, width), dtype=np.int64))


@pytest.mark.parametrize("field", ["num_features", "step", "radius", "report_step"])
@pytest.mark.parametrize("value", [0, -1, math.nan])
def test_numbers_that_are_not_positive_are_refused(field: str, value: float) -> None:
    with refuses(field) as caught:
        dataclasses.replace(objective(), **{field: value})  # pyrefly: ignore[bad-argument-type]  any of its numbers
    assert caught.value.value is value
