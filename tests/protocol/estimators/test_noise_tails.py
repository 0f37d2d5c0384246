"""Tails of noise: where they are known in closed form, against draws, and at their ends."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol.elementary import normal_tail
from psephos.protocol.estimators.noise_tails import GRID, NoisePart, reach_of_noise, tail_of_noise

REACHES = [0.01, 0.3, 1.0, 1.645, 2.326, 4.0, 7.0]


@pytest.mark.parametrize("reach", REACHES)
def test_one_draw_of_laplace_noise(reach: float) -> None:
    """P = ½·e^(−x/b)."""
    assert tail_of_noise([NoisePart(0.5, 1)], reach) == pytest.approx(0.5 * math.exp(-reach / 0.5), abs=1.1 * GRID)


@pytest.mark.parametrize("reach", REACHES)
def test_two_draws_of_one_scale_and_of_two(reach: float) -> None:
    """P = ¼(2 + x)e^(−x) at b = 1; (a²e^(−x/a) − b²e^(−x/b))/(2(a² − b²)) at a ≠ b."""
    same = (2 + reach) * math.exp(-reach) / 4
    for parts in ([NoisePart(1.0, 2)], [NoisePart(1.0, 1)] * 2):
        assert tail_of_noise(parts, reach) == pytest.approx(same, abs=1.1 * GRID)
    other = (4 * math.exp(-reach / 2) - 0.25 * math.exp(-reach / 0.5)) / (2 * (4 - 0.25))
    assert tail_of_noise([NoisePart(2.0, 1), NoisePart(0.5, 1)], reach) == pytest.approx(other, abs=1.1 * GRID)


@pytest.mark.parametrize("reach", REACHES[2:])
def test_many_draws_are_nearly_normal(reach: float) -> None:
    parts = [NoisePart(1 / math.sqrt(2e6), 1e6)]
    assert tail_of_noise(parts, reach) == pytest.approx(normal_tail(reach), abs=2 * GRID)


def test_nothing_is_never_said_of_noise_and_is_said_where_there_is_none() -> None:
    assert tail_of_noise([NoisePart(1.0, 1)], 1e9) == GRID
    assert tail_of_noise([NoisePart(1.0, 1)], 0.0) == 0.5
    assert tail_of_noise([NoisePart(0.0, 1)], 1e-9) == 0.0
    assert tail_of_noise([], 1.0) == 0.0


@given(
    st.lists(st.tuples(st.floats(1e-3, 1e3), st.sampled_from([1, 1.5, 3, 40])), min_size=1, max_size=4),
    st.floats(0, 6),
)
def test_tails_fall_and_do_not_depend_on_the_order_or_the_unit(parts: list[tuple[float, float]], reach: float) -> None:
    noise = [NoisePart(*part) for part in parts]
    deviation = math.sqrt(sum(part.variance for part in noise))
    tail = tail_of_noise(noise, reach * deviation)
    assert tail >= tail_of_noise(noise, (reach + 0.5) * deviation)
    halved = [NoisePart(part.scale / 2, part.shape) for part in reversed(noise)]
    assert tail_of_noise(halved, reach * deviation / 2) == pytest.approx(tail, abs=1.1 * GRID)


def test_a_sum_of_several_kinds_against_draws() -> None:
    """2e5 draws: an error of 5e-4 at .05, 4.5 of them; false alarm: 7e-6."""
    generator = np.random.default_rng(5)
    kinds = [NoisePart(1.0, 1), NoisePart(0.6, 1.5), NoisePart(0.2, 7)]
    draws = sum(
        np.sqrt(2 * generator.gamma(kind.shape, size=200_000)) * kind.scale * generator.normal(size=200_000)
        for kind in kinds
    )
    for reach in (1.0, 2.5, 4.0):
        tail = tail_of_noise(kinds, reach)
        assert float(np.mean(draws >= reach)) == pytest.approx(tail, abs=4.5 * math.sqrt(tail / 200_000))


@pytest.mark.parametrize("tail", [0.4, 0.05, 1e-3, 1e-5])
def test_a_reach_is_the_least_at_which_the_tail_is_as_small(tail: float) -> None:
    """Of one draw there is a closed form; of several the tail itself says it, on either side of the reach."""
    assert reach_of_noise([NoisePart(0.5, 1)], tail) == pytest.approx(-0.5 * math.log(2 * tail), rel=2 * GRID / tail)
    parts = [NoisePart(1.0, 1), NoisePart(0.3, 2.5), NoisePart(0.01, 400), NoisePart(0.0, 3)]
    reach = reach_of_noise(parts, tail)
    assert tail_of_noise(parts, reach) <= tail < tail_of_noise(parts, reach * (1 - 1e-6)) + GRID
    larger = [NoisePart(1e9 * part.scale, part.shape) for part in parts]
    assert reach_of_noise(larger, tail) == pytest.approx(1e9 * reach, rel=1e-9)


def test_noise_reaches_no_limit_below_the_least_tail_and_nowhere_without_noise() -> None:
    assert reach_of_noise([NoisePart(1.0, 1)], GRID / 2) == math.inf
    assert reach_of_noise([NoisePart(0.0, 1)], 0.01) == 0.0
    assert reach_of_noise([NoisePart(1.0, 1)], 0.5) == 0.0
