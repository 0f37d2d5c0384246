"""Spherical Laplace noise: its law in one and two dimensions, its radius and direction, its privacy, its edges.

Seeded draws of both noise sources are held against the same laws by the conformance battery.
"""

import itertools
import math

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from psephos.protocol.arrays import FloatArray
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.mechanisms import MAX_DIMENSION, SphericalLaplace
from psephos.protocol.privacy import NeighboringRelation, PureAccountant, PureMechanism
from scipy.special import gammaincc, gammaln

GREATEST_UNIFORM = 1 - 2.0**-53

uniforms_in_range = st.one_of(
    st.sampled_from([0.0, 2.0**-53, 0.25, 0.5, math.nextafter(0.5, 0), math.nextafter(0.5, 1), GREATEST_UNIFORM]),
    st.floats(min_value=0, max_value=1, exclude_max=True),
)


def one_dimensional_probability(noise: int, scale: float) -> float:
    """Return P[rounded Laplace noise], the integral of e^(−|x|/scale)/(2·scale) from noise − 1/2 to noise + 1/2."""
    if noise == 0:
        return -math.expm1(-0.5 / scale)
    return -0.5 * math.exp(-(abs(noise) - 0.5) / scale) * math.expm1(-1 / scale)


def plane_probabilities(points: FloatArray, scale: float) -> FloatArray:
    """Return the integrals of e^(−‖x‖/scale)/(2π·scale²) over unit squares around points of the integer grid.

    Gauss and Legendre's rule on 16 × 16 parts, whose corners meet the density's peak, wherever the square lies.
    """
    nodes, weights = np.polynomial.legendre.leggauss(4)
    offsets = (np.arange(16)[:, None] + (nodes[None, :] + 1) / 2).reshape(-1) / 16 - 0.5
    shares = np.tile(weights, 16) / 32
    sizes = np.hypot(
        points[:, 0, None, None] + offsets[None, :, None], points[:, 1, None, None] + offsets[None, None, :]
    )
    density = np.exp(-sizes / scale) / (2 * math.pi * scale**2)
    return (density * shares[None, :, None] * shares[None, None, :]).sum(axis=(1, 2))


def test_the_loss_is_the_l2_distance_of_neighbors_in_scales_worked_by_hand() -> None:
    mechanism = SphericalLaplace(scale=4.0, sensitivity=6.0, bound=10, dimension=3)
    assert mechanism.event_of(3) == PureMechanism(1.5)
    assert PureAccountant.epsilon_of(mechanism.event_of(3), NeighboringRelation.ADD_OR_REMOVE_ONE) == 1.5


def test_a_row_takes_a_uniform_for_each_value_and_one_for_the_radius() -> None:
    mechanism = SphericalLaplace(4.0, 6.0, 10, 3)
    assert (mechanism.slots_of(3), mechanism.num_reports_of(3)) == (4, 3)


def test_a_report_worked_by_hand() -> None:
    """The median radius is ln 2 = .693 scales in one dimension; one quarter is a normal of −.674, three quarters .674.

    Three of a kind lie on the diagonal: each coordinate gets radius/√3, and the median of Gamma(3) is 2.674.
    """
    line = SphericalLaplace(100.0, 1.0, 5, 1)
    assert line.randomize_row([5], [0.75, 0.5]) == [5 + 69]
    assert line.randomize_row([5], [0.25, 0.5]) == [5 - 69]
    space = SphericalLaplace(1000.0, 1.0, 5, 3)
    assert space.randomize_row([1, 0, -1], [0.75, 0.25, 0.75, 0.5]) == [1 + 1544, -1544, -1 + 1544]


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.5, 17.0])
def test_the_sampler_integrates_to_the_law_in_one_dimension(scale: float) -> None:
    """On either side the radius is monotone in its uniform, so N midpoints count each noise to within one."""
    mechanism, num_points = SphericalLaplace(scale, 1.0, 1, 1), 1 << 14
    middles = (np.arange(num_points) + 0.5) / num_points
    counts: dict[int, int] = {}
    for side in (0.1, 0.9):
        uniforms = np.stack([np.full(num_points, side), middles], axis=1)
        noises, numbers = np.unique(
            mechanism.randomize_rows(np.zeros((num_points, 1), dtype=np.int64), uniforms), return_counts=True
        )
        for noise, number in zip(noises.tolist(), numbers.tolist(), strict=True):
            counts[noise] = counts.get(noise, 0) + number
    for noise, count in counts.items():
        expected = one_dimensional_probability(noise, scale)
        assert count / (2 * num_points) == pytest.approx(expected, abs=1.01 / num_points)
    assert sum(one_dimensional_probability(noise, scale) for noise in counts) > 1 - 2 * (scale + 2) / num_points


@pytest.mark.parametrize("dimension", [1, 2, 3, 7, 23, 300])
def test_the_radius_has_the_gamma_law(dimension: int) -> None:
    """The radius at the middle of each of N parts of its uniform has that part's place in Gamma's distribution."""
    num_points, scale = 500, 1e9
    uniforms = np.random.default_rng(11).random((num_points, dimension + 1))
    uniforms[:, -1] = (np.arange(num_points) + 0.5) / num_points
    mechanism = SphericalLaplace(scale, 1.0, 1, dimension)
    noise = mechanism.randomize_rows(np.zeros((num_points, dimension), dtype=np.int64), uniforms) / scale
    radii: list[float] = np.sqrt((noise**2).sum(axis=1)).tolist()
    places = [1 - float(gammaincc(dimension, radius)) for radius in radii]
    np.testing.assert_allclose(places, uniforms[:, -1], atol=1e-7)


def test_the_direction_is_uniform_on_the_circle() -> None:
    """Angles by chi-square on 64 parts. The seed is fixed; a right sampler passes for all but one in 10**6 seeds."""
    num_rows = 64_000
    uniforms = np.random.default_rng(12).random((num_rows, 3))
    noise = SphericalLaplace(1e9, 1.0, 1, 2).randomize_rows(np.zeros((num_rows, 2), dtype=np.int64), uniforms)
    places = ((np.arctan2(noise[:, 1], noise[:, 0]) / (2 * math.pi)) % 1 * 64).astype(np.int64)
    counts = np.bincount(places, minlength=64)
    assert gammaincc(63 / 2, float(((counts - 1000.0) ** 2 / 1000).sum()) / 2) > 1e-6


def test_the_direction_is_uniform_on_the_sphere() -> None:
    """Each coordinate of a uniform direction in space is uniform on [−1, 1] (Archimedes): chi-square on 50 parts.

    The seed is fixed; a right sampler passes for all but three in 10**6 seeds.
    """
    num_rows = 50_000
    uniforms = np.random.default_rng(13).random((num_rows, 4))
    noise = SphericalLaplace(1e9, 1.0, 1, 3).randomize_rows(np.zeros((num_rows, 3), dtype=np.int64), uniforms)
    shares = noise / np.sqrt((noise.astype(np.float64) ** 2).sum(axis=1))[:, None]
    for place in range(3):
        counts = np.bincount(((shares[:, place] + 1) * 25).astype(np.int64), minlength=50)
        assert gammaincc(49 / 2, float(((counts - 1000.0) ** 2 / 1000).sum()) / 2) > 1e-6


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


@pytest.mark.parametrize(("scale", "sensitivity"), [(0.6, 1), (2.0, 1), (2.0, 3), (9.0, 4)])
def test_the_loss_in_one_dimension_is_covered_and_attained_by_the_law(scale: float, sensitivity: int) -> None:
    """All reports within thirty scales: the ratio is largest in the tails, where it is the proven one."""
    proven = SphericalLaplace(scale, sensitivity, 4, 1).event_of(1).epsilon
    values = range(-4, 5)
    reach = math.ceil(30 * scale) + 4
    greatest = 0.0
    for report in range(-reach, reach + 1):
        chances = {value: one_dimensional_probability(report - value, scale) for value in values}
        pairs = ((v, w) for v, w in itertools.permutations(values, 2) if abs(v - w) <= sensitivity)
        greatest = max(greatest, *(math.log(chances[v] / chances[w]) for v, w in pairs))
    assert greatest <= proven + 1e-12
    assert greatest == pytest.approx(proven, rel=1e-9)


@pytest.mark.parametrize("scale", [1.0, 3.0])
@pytest.mark.parametrize("move", [(1, 0), (1, 1), (2, 1), (0, 3)])
def test_the_loss_in_two_dimensions_is_covered_by_the_law(scale: float, move: tuple[int, int]) -> None:
    """Integrated over the squares that round to each report, for neighbors that are moved that far; nearly attained."""
    distance = math.hypot(*move)
    proven = SphericalLaplace(scale, distance, 4, 2).event_of(2).epsilon
    assert proven == distance / scale
    reports = np.array(list(itertools.product(range(-12, 13), repeat=2)), dtype=np.float64)
    losses = np.log(plane_probabilities(reports, scale) / plane_probabilities(reports - np.array(move), scale))
    assert float(np.abs(losses).max()) <= proven + 1e-9
    assert float(np.abs(losses).max()) > 0.97 * proven


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


def test_many_wide_rows_have_the_bits_of_single_ones() -> None:
    """Vector instructions begin with batches that are larger than Hypothesis likes."""
    generator = np.random.default_rng(15)
    values, uniforms = generator.integers(-9, 10, size=(500, 23)), generator.random((500, 24))
    mechanism = SphericalLaplace(1e6, 1.0, 9, 23)
    rows: list[list[int]] = values.tolist()
    drawn: list[list[float]] = uniforms.tolist()
    assert mechanism.randomize_rows(values, uniforms).tolist() == [
        mechanism.randomize_row(row, of_row) for row, of_row in zip(rows, drawn, strict=True)
    ]


def test_nothing_that_comes_in_is_changed() -> None:
    values, uniforms = np.array([[1, 2]]), np.array([[0.0, 0.5, 0.0]])
    SphericalLaplace(9.0, 1.0, 9, 2).randomize_rows(values, uniforms)
    assert (values.tolist(), uniforms.tolist()) == ([[1, 2]], [[0.0, 0.5, 0.0]])


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, 2.0**40])
def test_a_scale_out_of_range_is_refused(scale: float) -> None:
    with pytest.raises(ConfigurationError, match="scale must be in") as caught:
        SphericalLaplace(scale, 1.0, 1, 1)
    assert caught.value.field == "scale"


@pytest.mark.parametrize("sensitivity", [0.0, -1.0, math.nan, math.inf])
def test_a_sensitivity_out_of_range_is_refused(sensitivity: float) -> None:
    with pytest.raises(ConfigurationError, match="sensitivity must be positive and finite") as caught:
        SphericalLaplace(1.0, sensitivity, 1, 1)
    assert caught.value.field == "sensitivity"


@pytest.mark.parametrize("dimension", [0, -1, MAX_DIMENSION + 1])
def test_a_dimension_out_of_range_is_refused(dimension: int) -> None:
    with pytest.raises(ConfigurationError, match=r"dimension must be in \[1, 4096\]") as caught:
        SphericalLaplace(1.0, 1.0, 1, dimension)
    assert caught.value.field == "dimension"


@pytest.mark.parametrize("bound", [0, -3, 2**62 - 67])
def test_a_bound_out_of_range_is_refused(bound: int) -> None:
    with pytest.raises(ConfigurationError, match="bound must be") as caught:
        SphericalLaplace(1.0, 1.0, bound, 1)
    assert caught.value.field == "bound"
    assert SphericalLaplace(1.0, 1.0, 2**62 - 68, 1).report_range[1] == 2**62 - 1


@pytest.mark.parametrize("value", [-4, 4])
def test_a_value_beyond_the_range_is_refused(value: int) -> None:
    mechanism = SphericalLaplace(1.0, 1.0, 3, 2)
    with pytest.raises(ValueError, match=r"values must be in \[-3, 3\], got"):
        mechanism.randomize_row([0, value], [0.5, 0.5, 0.5])
    with pytest.raises(ValueError, match=r"values must be in \[-3, 3\], got"):
        mechanism.randomize_rows(np.array([[0, value]]), np.full((1, 3), 0.5))


@pytest.mark.parametrize(
    ("of_values", "of_uniforms"), [((1, 1), (1, 2)), ((1, 3), (1, 4)), ((2,), (3,)), ((2, 2), (1, 3))]
)
def test_rows_of_another_width_are_refused(of_values: tuple[int, ...], of_uniforms: tuple[int, ...]) -> None:
    mechanism = SphericalLaplace(1.0, 1.0, 3, 2)
    with pytest.raises(ValueError, match=r"expected values of shape \(n, 2\) and uniforms of shape \(n, 3\), got"):
        mechanism.randomize_rows(np.zeros(of_values, dtype=np.int64), np.zeros(of_uniforms))


@pytest.mark.parametrize(("num_values", "num_uniforms"), [(0, 1), (1, 2), (3, 4), (2, 2), (2, 4)])
def test_a_row_of_another_width_is_refused(num_values: int, num_uniforms: int) -> None:
    with pytest.raises(ValueError, match=r"expected values of shape \(n, 2\) and uniforms of shape \(n, 3\), got"):
        SphericalLaplace(1.0, 1.0, 3, 2).randomize_row([0] * num_values, [0.5] * num_uniforms)
