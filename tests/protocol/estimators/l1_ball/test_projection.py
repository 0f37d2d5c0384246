"""The projection to an ℓ₁ ball against its definition: no point of the ball is nearer."""

import math

import hypothesis
import numpy as np
import pytest
from bad_input import refuses
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from psephos.protocol.arrays import FloatArray
from psephos.protocol.estimators.l1_ball import project_to_l1_ball
from thoroughness import draws

_SETTINGS = hypothesis.settings(max_examples=draws(60, full=200), deadline=None)
_SIZES = st.floats(-1e6, 1e6, allow_nan=False, allow_subnormal=False)
_POINTS = arrays.arrays(np.float64, st.tuples(st.integers(0, 5), st.integers(1, 6)), elements=_SIZES)


def norms(points: FloatArray) -> FloatArray:
    return np.array([math.fsum(map(abs, point)) for point in points.tolist()])


def test_values_worked_by_hand() -> None:
    points = np.array([[3.0, 1.0, 0.0], [-3.0, 2.0, 0.0], [0.5, -0.5, 0.25], [2.0, 2.0, -2.0]])
    expected = np.array([[2.0, 0.0, 0.0], [-1.5, 0.5, 0.0], [0.5, -0.5, 0.25], [2 / 3, 2 / 3, -2 / 3]])
    assert project_to_l1_ball(points, radius=2.0) == pytest.approx(expected, rel=1e-15)


@_SETTINGS
@hypothesis.given(_POINTS, st.floats(1e-3, 1e3))
def test_the_projection_meets_the_variational_inequality(points: FloatArray, radius: float) -> None:
    # (x − Px)·(z − Px) ≤ 0 for every z of the ball: it is enough to ask the vertices.
    projected = project_to_l1_ball(points, radius=radius)
    assert (norms(projected) <= radius * (1 + 1e-12)).all()
    residues = points - projected
    scales = 1e-9 * (1 + np.abs(points).max(axis=1, initial=0)) * (1 + radius)
    assert (radius * np.abs(residues).max(axis=1) <= (residues * projected).sum(axis=1) + scales).all()


@_SETTINGS
@hypothesis.given(_POINTS, st.floats(1e-3, 1e3))
def test_projecting_twice_is_projecting_once(points: FloatArray, radius: float) -> None:
    once = project_to_l1_ball(points, radius=radius)
    assert np.array_equal(project_to_l1_ball(once, radius=radius), once)


@_SETTINGS
@hypothesis.given(_POINTS, st.floats(1e-3, 1e3))
def test_a_point_has_the_same_bits_alone(points: FloatArray, radius: float) -> None:
    together = project_to_l1_ball(points, radius=radius)
    for row, point in enumerate(points):
        assert np.array_equal(project_to_l1_ball(point[None], radius=radius)[0], together[row])


def test_points_of_the_ball_stay_and_the_input_is_not_changed() -> None:
    points = np.array([[1.0, -1.0], [4.0, 0.0]])
    before = points.copy()
    projected = project_to_l1_ball(points, radius=2.0)
    assert np.array_equal(points, before)
    assert np.array_equal(projected, [[1.0, -1.0], [2.0, 0.0]])
    inside = points[:1]
    assert project_to_l1_ball(inside, radius=2.0) is not inside


def test_numbers_at_the_end_of_the_range_are_projected_too() -> None:
    points = np.array([[1e308, -1e308, 1e308], [1e308, 1.0, -1e-308]])
    expected = np.array([[2 / 3, -2 / 3, 2 / 3], [2.0, 0.0, 0.0]])
    assert project_to_l1_ball(points, radius=2.0) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("radius", [0.0, -1.0, math.inf, math.nan])
def test_a_radius_that_is_not_positive_and_finite_is_refused(radius: float) -> None:
    with refuses(said="radius"):
        project_to_l1_ball(np.ones((1, 2)), radius=radius)


@pytest.mark.parametrize(
    ("points", "words"),
    [
        (np.ones(2), "points have shape"),
        (np.ones((2, 0)), "points have shape"),
        (np.array([[math.nan]]), "give finite ones"),
        (np.array([[-math.inf]]), "give finite ones"),
    ],
)
def test_points_of_the_wrong_form_are_refused(points: FloatArray, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        project_to_l1_ball(points, radius=1.0)
