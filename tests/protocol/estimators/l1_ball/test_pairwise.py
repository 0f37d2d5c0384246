"""Pairwise steps: they stay in the ball, do not depend on the batch, and end where the interior point method ends."""

import numpy as np
import pytest
from psephos.protocol.arrays import FloatArray
from psephos.protocol.estimators.l1_ball import maximize_quadratics
from psephos.protocol.estimators.l1_ball.pairwise import climb_pairwise


def make_quadratics(number: int, size: int, *, seed: int, rank: int | None = None) -> tuple[FloatArray, FloatArray]:
    generator = np.random.default_rng(seed)
    roots = generator.normal(size=(number, size, rank or size))
    return generator.normal(size=(number, size)), np.matmul(roots, roots.swapaxes(1, 2))


@pytest.mark.parametrize("rank", [1, 3, 6])
def test_pairwise_steps_end_at_the_maximum_and_within_the_ball(rank: int) -> None:
    linear, hessians = make_quadratics(200, 6, seed=1, rank=rank)
    hessians = (hessians + hessians.swapaxes(1, 2)) / 2
    points = climb_pairwise(linear, hessians, radius=0.7, tolerance=1e-9)
    assert np.abs(points).sum(axis=1).max() <= 0.7 * (1 + 1e-12)
    exact = maximize_quadratics(linear, -hessians / 2, radius=0.7, tolerance=1e-10).points

    def values(at: FloatArray) -> FloatArray:
        return (linear * at).sum(axis=1) - 0.5 * np.einsum("mi,mij,mj->m", at, hessians, at)

    shortfalls = values(exact) - values(points)
    assert np.mean(shortfalls < 1e-8) > 0.9  # the others are left to the interior point method
    assert shortfalls.min() > -1e-9


@pytest.mark.parametrize(
    ("linear", "curvature", "expected"),
    [
        ([0.2, -0.1, 0.0], 1.0, [0.2, -0.1, 0.0]),  # inside the ball: weight is taken from the center
        ([0.2, -3.0, 1.0], 0.0, [0.0, -2.0, 0.0]),  # all goes to the best vertex
        ([0.0, 0.0, 0.0], 0.0, [0.0, 0.0, 0.0]),
    ],
)
def test_points_worked_by_hand(linear: list[float], curvature: float, expected: list[float]) -> None:
    points = climb_pairwise(np.array([linear]), curvature * np.eye(3)[None], radius=2.0, tolerance=1e-12)
    assert points[0].tolist() == pytest.approx(expected, abs=1e-9)


def test_no_point_depends_on_the_batch() -> None:
    linear, hessians = make_quadratics(50, 7, seed=4)
    together = climb_pairwise(linear, hessians, radius=2.0, tolerance=1e-6)
    for one in (0, 17, 49):
        alone = climb_pairwise(linear[one : one + 1], hessians[one : one + 1], radius=2.0, tolerance=1e-6)
        assert np.array_equal(alone[0], together[one])
