"""Probit likelihoods over an ℓ₁ ball: values worked by hand, another solver, true gaps, and data that degenerate.

The gap is recomputed here from the records, one voter at a time, by numpy's own products.
"""

import decimal
import itertools
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.estimators.l1_ball import BallMaximum, fit_probit, log_likelihoods
from scipy.optimize import minimize
from scipy.special import log_ndtr, ndtri
from thoroughness import draws

_TOLERANCE = 1e-6
TWO_PI = Decimal("6.28318530717958647692528676655900576839433879875021164194988918461563281257242")


def make_voters(
    num_voters: int, num_records: int, num_features: int, *, seed: int = 1
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return records, offsets and true preferences: each choice is the probit model's."""
    rng = np.random.default_rng(seed)
    preferences = rng.normal(size=(num_voters, num_features))
    differences = rng.normal(size=(num_voters, num_records, num_features)) * math.sqrt(2)
    utilities = (differences * preferences[:, None]).sum(axis=2) + rng.normal(size=(num_voters, num_records))
    differences *= np.where(utilities > 0, 1.0, -1.0)[..., None]
    return (
        differences.reshape(-1, num_features),
        np.arange(num_voters + 1, dtype=np.int64) * num_records,
        preferences,
    )


def gradient_at(records: FloatArray, point: FloatArray) -> FloatArray:
    z = records @ point
    return records.T @ np.exp(-z * z / 2 - math.log(math.sqrt(2 * math.pi)) - log_ndtr(z))


def offsets_of(*counts: int) -> IntArray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def exact_slope(z: Decimal) -> Decimal:
    """Return φ(z)/Φ(z) in the context's digits: by a series about 0, and by Laplace's continued fraction below."""
    if z < -6:
        fraction = -z
        for number in range(400, 0, -1):
            fraction = -z + number / fraction
        return fraction
    density = (-z * z / 2).exp() / TWO_PI.sqrt()
    if z > 12:  # Φ is 1 but for 10⁻³³
        return density
    term, total, odd = z, z, 1
    while abs(term) > Decimal("1e-70"):
        odd += 2
        term *= z * z / odd
        total += term
    return density / (Decimal("0.5") + density * total)


def true_gap(records: FloatArray, point: FloatArray, radius: float) -> float:
    """Return B·‖g‖_∞ − g·β in sixty digits."""
    with decimal.localcontext(decimal.Context(prec=60)):
        rows = [[Decimal(number) for number in row] for row in records.tolist()]
        beta = [Decimal(number) for number in point.tolist()]
        slopes = [exact_slope(sum((v * b for v, b in zip(row, beta, strict=True)), Decimal())) for row in rows]
        columns = zip(*rows, strict=True)
        gradient = [sum((s * v for s, v in zip(slopes, column, strict=True)), Decimal()) for column in columns]
        tilt = sum((g * b for g, b in zip(gradient, beta, strict=True)), Decimal())
        return float(Decimal(radius) * max(abs(g) for g in gradient) - tilt)


def check_certificates(
    found: BallMaximum, differences: FloatArray, offsets: IntArray, radius: float, *, rounding: float = 0.0
) -> None:
    """Check that the points are in the ball and that the gaps are what the points' gradients say, and some rounding."""
    assert (np.abs(found.points).sum(axis=1) <= radius * (1 + 1e-12)).all()
    assert np.array_equal(found.has_converged, found.gaps <= _TOLERANCE)
    for voter, point in enumerate(found.points):
        records = differences[offsets[voter] : offsets[voter + 1]]
        gradient = gradient_at(records, point) if len(records) else np.zeros(len(point))
        gap = radius * np.abs(gradient).max() - gradient @ point
        assert gap * (1 - 1e-6) - 1e-9 <= found.gaps[voter] <= gap * (1 + 1e-6) + 1e-9 + rounding


def maximize_by_slsqp(records: FloatArray, radius: float) -> float:
    """Return the greatest log-likelihood that scipy's SLSQP finds, on β = p − q.

    Its points may lie a little outside of the ball, and gain by it; they are brought back.
    """
    num_features = records.shape[1]

    def split(halves: FloatArray) -> FloatArray:
        return halves[:num_features] - halves[num_features:]

    def loss(halves: FloatArray) -> float:
        return -float(log_ndtr(records @ split(halves)).sum())

    def slopes(halves: FloatArray) -> FloatArray:
        gradient = gradient_at(records, split(halves))
        return np.concatenate([-gradient, gradient])

    found = minimize(
        loss,
        np.zeros(2 * num_features),
        jac=slopes,
        method="SLSQP",
        bounds=[(0.0, None)] * (2 * num_features),
        constraints={
            "type": "ineq",
            "fun": lambda halves: radius - halves.sum(),
            "jac": lambda _: -np.ones(2 * num_features),
        },
        options={"ftol": 1e-12, "maxiter": 500},
    )
    halves = np.maximum(found.x, 0.0)
    return -loss(halves * (radius / max(radius, halves.sum())))


@pytest.mark.few(most=4)
@pytest.mark.parametrize(
    ("num_records", "num_features", "radius"),
    [(13, 23, 2.0), (5, 3, 2.0), (50, 10, 2.0), (50, 10, 0.3), (4, 4, 50.0), (1, 6, 1.0), (40, 1, 2.0)],
)
def test_likelihood_is_within_the_gap_of_what_another_solver_finds(
    num_records: int, num_features: int, radius: float
) -> None:
    num_voters = draws(1, full=6)
    differences, offsets, _ = make_voters(num_voters, num_records, num_features)
    found = fit_probit(differences, offsets, radius=radius)
    check_certificates(found, differences, offsets, radius)
    assert found.has_converged.all()
    ours = log_likelihoods(differences, offsets, found.points)
    theirs = [maximize_by_slsqp(differences[offsets[i] : offsets[i + 1]], radius) for i in range(num_voters)]
    assert (ours >= np.array(theirs) - found.gaps - 1e-9).all()
    assert ours == pytest.approx(np.array(theirs), abs=1e-4)


def test_one_record_puts_all_mass_on_the_feature_that_differs_most() -> None:
    found = fit_probit(np.array([[1.0, -3.0, 2.0]]), offsets_of(1), radius=1.0, tolerance=1e-12)
    assert found.has_converged.all()
    assert found.points == pytest.approx(np.array([[0.0, -1.0, 0.0]]), abs=1e-9)


def test_records_that_contradict_each_other_have_their_optimum_inside_the_ball() -> None:
    # Of 4 choices along one feature, 3 agree: Φ(β) = 3/4.
    found = fit_probit(np.array([[1.0], [1.0], [1.0], [-1.0]]), offsets_of(4), radius=5.0, tolerance=1e-12)
    assert found.points[0, 0] == pytest.approx(float(ndtri(0.75)), abs=1e-6)


def test_exactly_opposite_records_leave_the_point_at_zero() -> None:
    found = fit_probit(np.array([[1.0, 2.0], [-1.0, -2.0]]), offsets_of(2), radius=5.0)
    assert np.array_equal(found.points, np.zeros((1, 2)))
    assert found.gaps[0] == 0
    assert found.num_iterations[0] == 0


@pytest.mark.parametrize("max_iterations", [1, 3, 100])
def test_no_point_of_the_ball_is_better_than_ours_by_more_than_the_gap(max_iterations: int) -> None:
    differences, offsets, _ = make_voters(8, 20, 4)
    found = fit_probit(differences, offsets, radius=2.0, max_iterations=max_iterations)
    check_certificates(found, differences, offsets, 2.0)
    assert found.has_converged.all() == (max_iterations == 100)
    bounds = log_likelihoods(differences, offsets, found.points) + found.gaps
    rng = np.random.default_rng(5)
    for _ in range(200):
        others = rng.laplace(size=(8, 4))
        others *= 2.0 * rng.uniform(0, 1, size=(8, 1)) ** 0.25 / np.abs(others).sum(axis=1, keepdims=True)
        assert (log_likelihoods(differences, offsets, others) <= bounds + 1e-12).all()


def test_a_voter_has_the_same_bits_alone_and_among_others_with_more_and_fewer_records() -> None:
    rng = np.random.default_rng(7)
    counts = rng.integers(0, 40, size=draws(20, full=60))
    offsets = offsets_of(*counts)
    differences = rng.normal(size=(int(offsets[-1]), 12))
    together = fit_probit(differences, offsets, radius=2.0)
    likelihoods = log_likelihoods(differences, offsets, together.points)
    for voter in range(len(counts)):
        records = differences[offsets[voter] : offsets[voter + 1]]
        alone = fit_probit(records, offsets_of(len(records)), radius=2.0)
        assert np.array_equal(alone.points[0], together.points[voter])
        assert alone.gaps[0] == together.gaps[voter]
        assert alone.num_iterations[0] == together.num_iterations[voter]
        assert log_likelihoods(records, offsets_of(len(records)), alone.points)[0] == likelihoods[voter]


@pytest.mark.parametrize(("num_records", "num_features"), [(5, 8), (20, 8), (8, 8)])
def test_rows_of_zeros_at_the_end_change_no_bit(num_records: int, num_features: int) -> None:
    differences, offsets, _ = make_voters(1, num_records, num_features)
    found = fit_probit(differences, offsets, radius=2.0)
    padding = np.zeros((2 if num_records < num_features else 9, num_features))
    padded = np.concatenate([differences, padding])
    again = fit_probit(padded, offsets_of(len(padded)), radius=2.0)
    assert np.array_equal(found.points, again.points)
    assert np.array_equal(found.gaps, again.gaps)


def normal(seed: int, *shape: int) -> FloatArray:
    return np.random.default_rng(seed).normal(size=shape)


DEGENERATE = {
    "separable, in a wide ball": (np.abs(normal(1, 30, 5)), 1e4),
    "separable, fewer records than features": (normal(2, 13, 23), 100.0),
    "duplicate rows": (np.repeat([[0.3, -1.0, 2.0, 0.0]], 50, axis=0), 2.0),
    "duplicate features": (np.repeat(normal(3, 20, 2), 3, axis=1), 2.0),
    "rows of zeros": (np.zeros((7, 4)), 2.0),
    "rows of zeros among others": (np.concatenate([np.zeros((5, 4)), np.eye(4), np.zeros((5, 4))]), 2.0),
    "a feature that is always zero": (normal(4, 20, 3) * [1, 0, 1], 2.0),
    "one record": (normal(5, 1, 30), 2.0),
    "one record of one feature": (np.array([[2.0]]), 2.0),
    "features that tie": (np.ones((4, 6)), 2.0),
    "integers": (np.random.default_rng(6).integers(-1, 2, size=(13, 23)).astype(np.float64), 2.0),
    "features of very different scale": (normal(7, 40, 9) * 10.0 ** np.arange(-4, 5), 2.0),
    "the same, few records": (normal(8, 6, 9) * 10.0 ** np.arange(-4, 5), 2.0),
    "records of very different scale": (
        normal(9, 24, 5) * 10.0 ** np.linspace(-3, 2, 24)[:, None],
        2.0,
    ),
    "tiny differences": (normal(10, 20, 5) * 1e-150, 2.0),
    "large differences": (normal(11, 50, 10) * 1e4, 2.0),
    "a tiny ball": (normal(12, 20, 5), 1e-9),
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_data_converge(name: str) -> None:
    records, radius = DEGENERATE[name]
    found = fit_probit(records, offsets_of(len(records)), radius=radius)
    assert found.has_converged.all()
    # Where numbers are large, what rounding may have taken off the gap is in it.
    rounding = 1e-7 if name in {"features of very different scale", "large differences"} else 0.0
    check_certificates(found, records, offsets_of(len(records)), radius, rounding=rounding)


SHAPES = pytest.mark.parametrize(("num_records", "num_features"), [(100, 10), (40, 9), (13, 23)])


@SHAPES
@pytest.mark.parametrize(
    ("columns", "exponent"),
    [*((1, exponent) for exponent in (-12, -6, 3, 4, 5, 6, 7, 8)), *((None, exponent) for exponent in (-6, 0, 3, 4))],
)
def test_features_may_be_of_any_size(num_records: int, num_features: int, columns: int | None, exponent: int) -> None:
    """All of them up to 10⁴, or one up to 10⁵: beyond, only rounding is left of the gap, 10⁻⁵ at 10⁷."""
    differences, offsets, _ = make_voters(12, num_records, num_features)
    differences[:, :columns] *= 10.0**exponent
    rounding = 2e-12 * 10.0**exponent if exponent > 5 else 0.0
    assert fit_probit(differences, offsets, radius=1.0).gaps.max() <= _TOLERANCE + rounding


@SHAPES
@pytest.mark.parametrize("exponent", [2, 5, 6, 9, 10, 12, 15])
@pytest.mark.parametrize("columns", [1, 5, None])
def test_a_gap_is_true_however_large_the_records_are(
    num_records: int, num_features: int, exponent: int, columns: int | None
) -> None:
    """Against sixty digits: what rounding takes off a gap has to be added to it."""
    differences, offsets, _ = make_voters(draws(1, full=4), num_records, num_features)
    differences[:, :columns] *= 10.0**exponent
    found = fit_probit(differences, offsets, radius=1.0, max_iterations=70)
    for voter, point in enumerate(found.points):
        records = differences[offsets[voter] : offsets[voter + 1]]
        assert true_gap(records, point, 1.0) <= found.gaps[voter] * (1 + 1e-9) + 1e-9


def test_rounding_beyond_the_tolerance_is_no_convergence() -> None:
    """A feature of 10¹⁴: the computed gap is below the tolerance, and says nothing."""
    differences, offsets, _ = make_voters(12, 100, 10)
    differences[:, 0] *= 1e14
    found = fit_probit(differences, offsets, radius=1.0)
    assert not found.has_converged.any()


def test_many_random_scales_and_radii_converge() -> None:
    rng = np.random.default_rng(13)
    for radius in (0.1, 1.0, 10.0, 100.0):
        differences = rng.normal(size=(50, 8, 6)) * 10.0 ** rng.uniform(-1.5, 1.5, size=(50, 1, 6))
        found = fit_probit(differences.reshape(-1, 6), offsets_of(*[8] * 50), radius=radius)
        assert found.has_converged.all()


@pytest.mark.parametrize("scale", [1e8, 1e100, 1e200, 1e308])
def test_numbers_beyond_what_floats_can_certify_end_with_a_point_of_the_ball_and_no_warning(scale: float) -> None:
    records = np.random.default_rng(1).uniform(-1, 1, size=(50, 5)) * scale
    found = fit_probit(records, offsets_of(50), radius=2.0, max_iterations=20)
    assert not found.has_converged[0]
    assert not found.gaps[0] <= _TOLERANCE
    assert np.isfinite(found.points).all()
    assert np.abs(found.points).sum() <= 2


def test_voters_without_records_stay_at_zero() -> None:
    found = fit_probit(np.array([[1.0, 2.0]]), offsets_of(0, 1, 0), radius=2.0)
    assert np.array_equal(found.points[[0, 2]], np.zeros((2, 2)))
    assert np.array_equal(found.gaps[[0, 2]], np.zeros(2))
    assert found.has_converged.all()
    assert log_likelihoods(np.array([[1.0, 2.0]]), offsets_of(0, 1, 0), found.points)[[0, 2]].tolist() == [0, 0]


def test_no_voters_have_no_maxima() -> None:
    found = fit_probit(np.zeros((0, 3)), offsets_of(), radius=2.0)
    assert found.points.shape == (0, 3)
    assert found.gaps.shape == found.num_iterations.shape == found.has_converged.shape == (0,)
    assert log_likelihoods(np.zeros((0, 3)), offsets_of(), np.zeros((0, 3))).shape == (0,)


def test_more_steps_never_widen_the_gap() -> None:
    differences, offsets, _ = make_voters(10, 30, 6)
    gaps = [fit_probit(differences, offsets, radius=2.0, max_iterations=steps).gaps for steps in range(1, 8)]
    assert all((later <= earlier).all() for earlier, later in itertools.pairwise(gaps))


def test_large_blocks_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    differences, offsets, _ = make_voters(50, 6, 4)
    whole = fit_probit(differences, offsets, radius=2.0)
    monkeypatch.setattr("psephos.protocol.estimators.l1_ball.probit._NUMBERS_IN_A_BLOCK", 100)
    parts = fit_probit(differences, offsets, radius=2.0)
    assert np.array_equal(whole.points, parts.points)
    assert np.array_equal(whole.gaps, parts.gaps)
    assert np.array_equal(
        log_likelihoods(differences, offsets, whole.points), log_likelihoods(differences, offsets, parts.points)
    )


def test_the_log_likelihood_is_the_sum_of_the_logarithms() -> None:
    differences = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    points = np.array([[0.0, 0.0], [1.0, -1.0]])
    expected = [2 * math.log(0.5), float(log_ndtr(0.0))]
    assert log_likelihoods(differences, offsets_of(2, 1), points) == pytest.approx(np.array(expected), rel=1e-14)


@pytest.mark.parametrize(
    ("field", "wrong"),
    [*itertools.product(("radius", "tolerance"), (0.0, -1.0, math.inf, math.nan)), ("max_iterations", 0)],
)
def test_limits_that_are_not_positive_and_finite_are_refused(field: str, wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match=field):
        fit_probit(np.ones((1, 2)), offsets_of(1), **dict[str, Any]({"radius": 1.0, field: wrong}))


@pytest.mark.parametrize(
    ("differences", "offsets", "words"),
    [
        (np.ones(2), [0, 1], "differences have shape"),
        (np.ones((2, 0)), [0, 2], "differences have shape"),
        (np.array([[math.nan]]), [0, 1], "give finite ones"),
        (np.array([[math.inf]]), [0, 1], "give finite ones"),
        (np.ones((2, 1)), [], "offsets have shape"),
        (np.ones((2, 1)), [[0, 2]], "offsets have shape"),
        (np.ones((2, 1)), [0, 1], "rise from 0"),
        (np.ones((2, 1)), [1, 2], "rise from 0"),
        (np.ones((2, 1)), [0, 2, 1, 2], "rise from 0"),
    ],
)
def test_records_of_the_wrong_form_are_refused(differences: FloatArray, offsets: list[int], words: str) -> None:
    places = np.array(offsets, dtype=np.int64)
    with pytest.raises(ValueError, match=words):
        fit_probit(differences, places, radius=1.0)
    with pytest.raises(ValueError, match=words):
        log_likelihoods(differences, places, np.zeros((1, 1)))


def test_points_of_the_wrong_form_are_refused() -> None:
    with pytest.raises(ValueError, match="points have shape"):
        log_likelihoods(np.ones((1, 2)), offsets_of(1), np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"give finite ones"):
        log_likelihoods(np.ones((1, 2)), offsets_of(1), np.full((1, 2), math.inf))
