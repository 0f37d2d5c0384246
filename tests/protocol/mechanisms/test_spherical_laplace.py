"""Spherical Laplace noise: its law in one and two dimensions, its radius and direction, its privacy, its edges.

Seeded draws of both noise sources are held against the same laws by the conformance battery.
"""

import math

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from makers import as_usual
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.mechanisms import MAX_DIMENSION, SphericalLaplace
from psephos.protocol.privacy import NeighboringRelation, PureAccountant, PureMechanism
from scipy.special import gammaincc, gammaln

GREATEST_UNIFORM = 1 - 2.0**-53

uniforms_in_range = st.one_of(
    st.sampled_from([0.0, 2.0**-53, 0.25, 0.5, math.nextafter(0.5, 0), math.nextafter(0.5, 1), GREATEST_UNIFORM]),
    st.floats(min_value=0, max_value=1, exclude_max=True),
)


def test_the_loss_is_the_l2_distance_of_neighbors_in_scales_worked_by_hand() -> None:
    mechanism = SphericalLaplace(scale=4.0, sensitivity=6.0, bound=10, dimension=3)
    assert mechanism.event_of(3) == PureMechanism(1.5)
    assert PureAccountant.epsilon_of(mechanism.event_of(3), NeighboringRelation.ADD_OR_REMOVE_ONE) == 1.5


def test_a_report_worked_by_hand() -> None:
    """The median radius is ln 2 = .693 scales in one dimension; one quarter is a normal of −.674, three quarters .674.

    Three of a kind lie on the diagonal: each coordinate gets radius/√3, and the median of Gamma(3) is 2.674.
    """
    line = SphericalLaplace(100.0, 1.0, 5, 1)
    assert line.randomize_row([5], [0.75, 0.5]) == [5 + 69]
    assert line.randomize_row([5], [0.25, 0.5]) == [5 - 69]
    space = SphericalLaplace(1000.0, 1.0, 5, 3)
    assert space.randomize_row([1, 0, -1], [0.75, 0.25, 0.75, 0.5]) == [1 + 1544, -1544, -1 + 1544]


@pytest.mark.parametrize("dimension", [1, 2, 5, 23])
def test_the_covariance_is_the_stated_one(dimension: int) -> None:
    """Seeded; within five standard errors, which a right sampler leaves for fewer than one in 10**4 seeds.

    E‖x‖⁴ = scale⁴·d(d + 1)(d + 2)(d + 3) bounds the error of the mean square of N rows.
    """
    num_rows, scale = 40_000, 1e6
    mechanism = SphericalLaplace(scale, 1.0, 1, dimension)
    uniforms = np.random.default_rng(14).random((num_rows, dimension + 1))
    noise = mechanism.randomize_rows(np.zeros((num_rows, dimension), dtype=np.int64), uniforms) / scale
    variance = mechanism.noise_variance / scale**2
    assert variance == pytest.approx(dimension + 1)
    spread = math.sqrt(math.prod(dimension + k for k in range(4)) / num_rows)
    assert abs(float((noise**2).sum(axis=1).mean()) - dimension * variance) < 5 * spread
    covariance = noise.T @ noise / num_rows
    # E[x_j²·x_k²] = E‖x‖⁴/(d(d + 2)) for a uniform direction, and three times that for j = k.
    error = math.sqrt((dimension + 1) * (dimension + 3) / num_rows)
    np.testing.assert_allclose(covariance, variance * np.eye(dimension), atol=5 * math.sqrt(3) * error)


def test_reports_are_clamped_where_noise_hardly_ever_reaches() -> None:
    mechanism = SphericalLaplace(2.5, 1.0, 7, 10)
    assert mechanism.value_range == (-7, 7)
    assert mechanism.report_range == (-7 - 235, 7 + 235)  # (64 + 30)·2.5
    for dimension in range(1, MAX_DIMENSION + 1):
        reach = 64.0 + 3 * dimension
        # P[Gamma(d) ≥ x] ≤ x^d·e^(−x)/Γ(d)/(x − d + 1) for x > d − 1, without underflow.
        bound = dimension * math.log(reach) - reach - float(gammaln(dimension)) - math.log(reach - dimension + 1)
        assert bound < -60
        assert float(gammaincc(dimension, reach)) <= math.exp(-60)


@pytest.mark.parametrize("dimension", [1, 2, 23, 4096])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 2.0**39])
def test_the_first_and_the_last_uniforms_give_finite_noise_within_reach(dimension: int, scale: float) -> None:
    mechanism = SphericalLaplace(scale, 1.0, 1, dimension)
    low, high = mechanism.report_range
    for uniform in (0.0, 2.0**-53, 0.5, GREATEST_UNIFORM):
        for radius in (0.0, 2.0**-53, 0.5, GREATEST_UNIFORM):
            reports = mechanism.randomize_row([0] * dimension, [uniform] * dimension + [radius])
            assert low < min(reports) <= max(reports) < high


def test_uniforms_that_name_no_direction_take_the_first_axis() -> None:
    mechanism = SphericalLaplace(1000.0, 1.0, 1, 3)
    assert mechanism.randomize_row([0, 1, -1], [0.5, 0.5, 0.5, 0.5]) == [2674, 1, -1]
    uniforms = np.full((2, 4), 0.5)
    assert mechanism.randomize_rows(np.array([[0, 1, -1], [1, 1, 1]]), uniforms).tolist() == [
        [2674, 1, -1],
        [2675, 1, 1],
    ]


def test_a_tiny_scale_adds_nothing_and_a_huge_one_costs_next_to_nothing() -> None:
    quiet = SphericalLaplace(1e-3, 2.0, 3, 2)
    assert quiet.randomize_row([3, -3], [0.1, 0.9, 0.99]) == [3, -3]
    assert quiet.event_of(2).epsilon == 2000
    assert SphericalLaplace(2.0**39, 1.0, 1, 2).event_of(2) == PureMechanism(2.0**-39)


@hypothesis.given(st.data())
def test_a_row_has_the_same_bits_in_every_batch(data: st.DataObject) -> None:
    dimension, bound = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 1000))
    mechanism = SphericalLaplace(data.draw(st.floats(min_value=0.05, max_value=1e9)), 1.0, bound, dimension)
    num_rows = data.draw(st.integers(0, 9))
    row = st.lists(st.integers(-bound, bound), min_size=dimension, max_size=dimension)
    uniforms_of_row = st.lists(uniforms_in_range, min_size=dimension + 1, max_size=dimension + 1)
    rows = data.draw(st.lists(row, min_size=num_rows, max_size=num_rows))
    drawn = data.draw(st.lists(uniforms_of_row, min_size=num_rows, max_size=num_rows))
    values = np.array(rows, dtype=np.int64).reshape(num_rows, dimension)
    uniforms = np.array(drawn, dtype=np.float64).reshape(num_rows, dimension + 1)
    reports = mechanism.randomize_rows(values, uniforms)
    assert reports.dtype == np.int64
    assert reports.shape == values.shape
    assert reports.tolist() == [
        mechanism.randomize_row(of_row, of_uniforms) for of_row, of_uniforms in zip(rows, drawn, strict=True)
    ]
    cut = data.draw(st.integers(0, num_rows))
    parts = [mechanism.randomize_rows(values[at], uniforms[at]) for at in (slice(0, cut), slice(cut, None))]
    assert np.concatenate(parts).tolist() == reports.tolist()
    backwards = mechanism.randomize_rows(np.asfortranarray(values[::-1]), np.asfortranarray(uniforms[::-1]))
    assert backwards[::-1].tolist() == reports.tolist()


def test_nothing_that_comes_in_is_changed() -> None:
    values, uniforms = np.array([[1, 2]]), np.array([[0.0, 0.5, 0.0]])
    SphericalLaplace(9.0, 1.0, 9, 2).randomize_rows(values, uniforms)
    assert (values.tolist(), uniforms.tolist()) == ([[1, 2]], [[0.0, 0.5, 0.0]])


@pytest.mark.parametrize(
    ("field", "values", "allowed"),
    [
        ("sensitivity", (0.0, -1.0, math.nan, math.inf), "is .*: use a positive value"),
        ("dimension", (0, -1, MAX_DIMENSION + 1), "is .*: use a value from 1 to 4096"),
        ("bound", (0, -3, 2**62 - 67), "(is|are) "),
    ],
)
def test_a_parameter_out_of_range_is_refused(field: str, values: tuple[float, ...], allowed: str) -> None:
    make = as_usual(SphericalLaplace, scale=1.0, sensitivity=1.0, bound=1, dimension=1)
    for value in values:
        with pytest.raises(ConfigurationError, match=f"{field} {allowed}") as caught:
            make(**{field: value})
        assert caught.value.field == field
    assert SphericalLaplace(1.0, 1.0, 2**62 - 68, 1).report_range[1] == 2**62 - 1


@pytest.mark.parametrize(
    ("of_values", "of_uniforms"), [((1, 1), (1, 2)), ((1, 3), (1, 4)), ((2,), (3,)), ((2, 2), (1, 3))]
)
def test_rows_of_another_width_are_refused(of_values: tuple[int, ...], of_uniforms: tuple[int, ...]) -> None:
    mechanism = SphericalLaplace(1.0, 1.0, 3, 2)
    with pytest.raises(ValueError, match=r"give values of shape \(n, 2\) and uniforms of shape \(n, 3\)"):
        mechanism.randomize_rows(np.zeros(of_values, dtype=np.int64), np.zeros(of_uniforms))
