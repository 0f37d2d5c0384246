"""Discrete Laplace noise: its exact law, its inverse distribution function at every edge, its variance, its grid."""

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import hypothesis
import numpy as np
import pytest
from exact_laws import least_tail
from hypothesis import strategies as st
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.mechanisms import DiscreteLaplace, RowMechanism, SphericalLaplace, VectorLaplace, laplace_grid
from psephos.protocol.privacy import NeighboringRelation, PureAccountant, PureMechanism
from thoroughness import draws

GREATEST_UNIFORM = 1 - 2.0**-53

scales = st.floats(min_value=0.05, max_value=1e6)


def make_spherical(scale: float) -> SphericalLaplace:
    return SphericalLaplace(scale, 1.0, 1, 1)


KINDS: list[Callable[[float], DiscreteLaplace | VectorLaplace]] = [
    lambda scale: DiscreteLaplace(scale, 0, 1),
    lambda scale: VectorLaplace(scale, 1, 1),
]


def test_hand_worked_law_at_one_half() -> None:
    """At a = 1/2: P[0] = (1 − a)/(1 + a) = 1/3, then 1/6, 1/12; the variance is 2a/(1 − a)² = 4."""
    mechanism = DiscreteLaplace(1 / math.log(2), 0, 1)
    assert [mechanism.noise_probability(noise) for noise in (-2, -1, 0, 1, 2)] == [
        pytest.approx(share) for share in (1 / 12, 1 / 6, 1 / 3, 1 / 6, 1 / 12)
    ]
    assert mechanism.noise_variance == pytest.approx(4)


@pytest.mark.parametrize("scale", [0.05, 0.4, 1.0, 3.7, 128.0])
@pytest.mark.parametrize("make", KINDS)
def test_the_law_sums_to_one_and_has_the_stated_variance(
    make: Callable[[float], DiscreteLaplace | VectorLaplace], scale: float
) -> None:
    mechanism = make(scale)
    reach = math.ceil(60 * scale) + 1
    law = {noise: mechanism.noise_probability(noise) for noise in range(-reach, reach + 1)}
    assert math.fsum(law.values()) == pytest.approx(1, rel=1e-12)
    variance = math.fsum(noise**2 * chance for noise, chance in law.items())
    assert variance == pytest.approx(mechanism.noise_variance, rel=1e-12)


@pytest.mark.parametrize("scale", [128.0, 1e3, 1e6, 3.3e8, 7e11, 2.0**39])
def test_the_variance_approaches_the_continuous_one(scale: float) -> None:
    """2a/(1 − a)² = 2s² − 1/6 + O(1/s²), a factor of 1 − 1/(12 s²)."""
    assert DiscreteLaplace(scale, 0, 1).noise_variance == pytest.approx(2 * scale**2 - 1 / 6, rel=1e-9)


@pytest.mark.parametrize("scale", [0.05, 0.3, 1.0, 2.5, 6.0, 100.3])
def test_exact_noise_of_any_scale_follows_the_law(scale: float) -> None:
    """By chi-square; false alarm: 1e-6 each. Its decisions are played in full elsewhere (`bernoulli_exp`)."""
    mechanism, below = DiscreteLaplace(scale, 0, 9), random.Random(1).randrange
    drawn = [mechanism.randomize_exactly([4], below)[0] - 4 for _ in range(draws(3_000, full=30_000))]
    reach = math.ceil(45 * scale) + 1
    assert least_tail(drawn, {x: mechanism.noise_probability(x) for x in range(-reach, reach + 1)}) > 1e-6


@pytest.mark.parametrize("make", KINDS)
def test_exact_noise_is_clamped_and_takes_no_value_out_of_range(make: Callable[[float], Any]) -> None:
    mechanism = make(1 / 60)
    least, greatest = mechanism.value_range
    below = random.Random(2).randrange
    reports = mechanism.randomize_exactly([least, greatest] * 50, below)
    assert {*reports} <= {*range(least - 1, greatest + 2)}
    with pytest.raises(ValueError, match=r"use values from"):
        mechanism.randomize_exactly([greatest + 1], below)


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.5, 17.0])
def test_the_sampler_integrates_to_the_law(scale: float) -> None:
    """The sampler is monotone, so each noise has an interval and N midpoints count it to within one."""
    mechanism = DiscreteLaplace(scale, 0, 1)
    num_points = 1 << 15
    grid = (np.arange(num_points).reshape(-1, 1) + 0.5) / num_points
    noise, counts = np.unique(mechanism.randomize(np.zeros(num_points, dtype=np.int64), grid), return_counts=True)
    law = [mechanism.noise_probability(int(x)) for x in noise]
    np.testing.assert_allclose(counts / num_points, law, atol=1.01 / num_points)
    covered = math.fsum(law)
    assert covered > 1 - 2 * (scale + 2) / num_points  # what lies beyond the noise with P ≈ 1/N


@hypothesis.given(st.floats(min_value=0.2, max_value=200), st.integers(1, 25))
def test_the_sampler_inverts_the_distribution_function(scale: float, noise: int) -> None:
    """Noise x begins where the uniform passes P[noise < x]: a^|x|/(1 + a) on either side."""
    decay = math.exp(-1 / scale)
    tail = decay**noise / (1 + decay)  # P[noise ≥ x] = P[noise ≤ −x]
    hypothesis.assume(tail > 1e-9)
    mechanism = DiscreteLaplace(scale, 0, 1)
    hair = 1e-12
    assert mechanism.randomize_one(0, (1 - tail + hair,)) >= noise
    assert mechanism.randomize_one(0, (1 - tail - hair,)) < noise
    assert mechanism.randomize_one(0, (tail - hair,)) <= -noise
    assert mechanism.randomize_one(0, (tail + hair,)) > -noise


@pytest.mark.parametrize("scale", [0.3, 1.0, 128.0, 1e6, 2.0**39])
def test_the_first_and_the_last_uniform_give_finite_noise_within_reach(scale: float) -> None:
    """The uniform 0 stands for the interval below 2**-53, whose middle is 2**-54; the last one has the tail 2**-53."""
    mechanism = DiscreteLaplace(scale, 0, 1)
    spread = 1 + math.exp(-1 / scale)
    first, last = (mechanism.randomize_one(0, (uniform,)) for uniform in (0.0, GREATEST_UNIFORM))
    assert first == pytest.approx(math.ceil(scale * math.log(2.0**-54 * spread)), rel=1e-9, abs=1)
    assert last == pytest.approx(math.floor(-scale * math.log(2.0**-53 * spread)), rel=1e-9, abs=1)
    low, high = mechanism.report_range
    assert low < first <= 0 <= last < high


@hypothesis.given(st.data())
def test_one_value_is_randomized_as_in_an_array(data: st.DataObject) -> None:
    scale = data.draw(scales)
    least = data.draw(st.integers(-1000, 1000))
    mechanism = DiscreteLaplace(scale, least, least + data.draw(st.integers(1, 500)))
    decay = math.exp(-1 / scale)
    edges = [0.0, GREATEST_UNIFORM, 2.0**-53, 0.5, decay / (1 + decay), 1 / (1 + decay)]
    edges += [decay**step / (1 + decay) for step in range(1, 6)] + [1 - decay**step / (1 + decay) for step in range(6)]
    edges += data.draw(st.lists(st.floats(min_value=0, max_value=1, exclude_max=True), max_size=10))
    around = [min(max(near, 0.0), GREATEST_UNIFORM) for e in edges for near in (math.nextafter(e, 0), e)]
    value = data.draw(st.integers(mechanism.least, mechanism.greatest))
    reports = mechanism.randomize(np.full(len(around), value), np.array(around).reshape(-1, 1))
    assert reports.dtype == np.int64
    assert reports.tolist() == [mechanism.randomize_one(value, (uniform,)) for uniform in around]
    low, high = mechanism.report_range
    assert low <= min(reports.tolist()) <= max(reports.tolist()) <= high


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, 2.0**40])
@pytest.mark.parametrize("make", [*KINDS, make_spherical])
def test_a_scale_out_of_range_is_refused(make: Callable[[float], RowMechanism], scale: float) -> None:
    with pytest.raises(ConfigurationError, match=r"scale is .*: use a value above 0 and below") as caught:
        make(scale)
    assert caught.value.field == "scale"


@hypothesis.given(st.floats(min_value=1e-12, max_value=1e12))
def test_the_grid_is_a_power_of_two_with_128_to_256_steps_a_scale(scale: float) -> None:
    step = laplace_grid(scale=scale)
    assert math.frexp(step)[0] == 0.5
    assert scale / 256 < step <= scale / 128


@pytest.mark.parametrize("scale", [0.0, -2.0, math.nan, math.inf])
def test_a_grid_for_no_scale_is_refused(scale: float) -> None:
    with pytest.raises(ConfigurationError, match=r"scale is .*: use a positive value"):
        laplace_grid(scale=scale)


# Vectors, whose noise is the same and whose loss is stated for whole rows


def test_the_loss_is_the_l1_distance_of_neighbors_in_scales_worked_by_hand() -> None:
    """Six steps at four steps a scale."""
    mechanism = VectorLaplace(scale=4.0, sensitivity=6, bound=10)
    assert mechanism.event == PureMechanism(1.5)
    assert PureAccountant.epsilon_of(mechanism.event, NeighboringRelation.ADD_OR_REMOVE_ONE) == 1.5


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: DiscreteLaplace(1.0, 3, 3), "greatest"),
        (lambda: DiscreteLaplace(1.0, 3, 2), "greatest"),
        (lambda: VectorLaplace(1.0, 0, 1), "sensitivity"),
        (lambda: VectorLaplace(1.0, 2**62, 1), "sensitivity"),
        (lambda: VectorLaplace(1.0, 1, 0), "bound"),
        (lambda: VectorLaplace(1.0, 1, 2**62 - 60), "least, greatest"),
    ],
)
def test_a_parameter_out_of_range_is_refused(make: Callable[[], RowMechanism], field: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make()
    assert caught.value.field == field


def test_reports_are_clamped_sixty_scales_beyond_the_values() -> None:
    assert DiscreteLaplace(2.5, -4, 7).report_range == (-4 - 150, 7 + 150)
    assert VectorLaplace(1.0, 1, 2**62 - 61).report_range[1] == 2**62 - 1


@pytest.mark.parametrize(
    ("values", "moved"),
    [
        ([(0, 10)], 10),
        ([(3, -4, 1)], 7),
        ([range(5), (-8, 8), (2,)], 16),
        ([range(0, 31, 30)], 20),
        ([], 0),
        ([(5,)], 0),
    ],
)
def test_one_value_among_others_costs_how_far_it_moves_and_not_how_many_there_are(
    values: Sequence[Sequence[int]], moved: int
) -> None:
    mechanism = VectorLaplace(scale=4.0, sensitivity=20, bound=40)
    assert mechanism.event_of_one_among(values).epsilon == moved / 4
