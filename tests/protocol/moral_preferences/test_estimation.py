"""Means of reports: plain and by inverse variance, worked by hand, and τ² found again."""

import math

import numpy as np
import pytest
from helpers import make_preferences
from psephos.protocol import Inputs, SimulatedNoise, run_population
from psephos.protocol.moral_preferences.estimation import LevelSums, Mean, average


def level(epsilon: float, mean: list[float], *, number: int, square: float, noise: float | None) -> LevelSums:
    return LevelSums(epsilon, number, np.array(mean), square, noise)


def weights_of(mean: Mean) -> tuple[float, ...]:
    return tuple(level.weight for level in mean.levels)


def shown(mean: Mean) -> tuple[list[float], float, tuple[float, ...]]:
    assert mean.error is not None
    return mean.values.tolist(), mean.error, weights_of(mean)


def test_a_plain_mean_weighs_all_reports_alike() -> None:
    """One report of (4, 0) and three of mean (0, 8): mean (1, 6), with a variance of (2 + 3·6)/4² = 5/4 from noise."""
    levels = [
        level(0.5, [4.0, 0.0], number=1, square=9.0, noise=2.0),
        level(1.0, [0.0, 8.0], number=3, square=40.0, noise=6.0),
    ]
    values, error, weights = shown(average(levels, is_weighted=False))
    assert (values, weights) == ([1.0, 6.0], (1.0, 1.0))
    assert error == pytest.approx(math.sqrt(1.25), rel=1e-15)


def test_weights_are_inverse_variances() -> None:
    """Noise variances 1 and 7, four voters each, reports of one number.

    By the noise alone the means 0 and 8 weigh 7 : 1, so that the mean is 1. About it the first level spreads by
    m − 0 + 1, the second by m' − 2·8·1 + 1. With mean squares of 2 and 73 these are 3 and 58, which exceed the noise by
    2 and 51; levels have a say of 4/1² and 4/7², so τ² = (2·49 + 51)/50 = 2.98. Then 1/3.98 and 1/9.98 weigh.
    """
    levels = [
        level(1.0, [0.0], number=4, square=2.0, noise=1.0),
        level(0.3, [8.0], number=4, square=73.0, noise=7.0),
    ]
    values, error, weights = shown(average(levels, is_weighted=True))
    first, second = 1 / 3.98, 1 / 9.98
    total = first + second
    assert weights == pytest.approx((2 * first / total, 2 * second / total), rel=1e-12)
    assert values == pytest.approx([8 * second / total], rel=1e-12)
    variance = (weights[0] ** 2 * 4 * 1 + weights[1] ** 2 * 4 * 7) / 64
    assert error == pytest.approx(math.sqrt(variance), rel=1e-12)


def test_a_spread_that_noise_explains_is_no_spread_of_voters() -> None:
    """Reports that spread less than their noise does have τ² = 0, and weigh 1 : 1/4."""
    levels = [
        level(1.0, [0.0, 0.0], number=2, square=0.5, noise=1.0),
        level(0.5, [0.0, 0.0], number=2, square=1.0, noise=4.0),
    ]
    assert weights_of(average(levels, is_weighted=True)) == pytest.approx((1.6, 0.4), rel=1e-15)


def test_where_noise_is_not_additive_weights_grow_with_epsilon() -> None:
    """ε = 1 and 3, with three voters and one: weights 1 : 3, which add up to the four voters.

    Reports spread by 5 − 4 + 5/3 and 17 − 16 + 17: an error of √((4/9)·3·(8/3) + 4·18)/4.
    """
    levels = [
        level(1.0, [2.0], number=3, square=5.0, noise=None),
        level(3.0, [4.0], number=1, square=17.0, noise=None),
    ]
    values, error, weights = shown(average(levels, is_weighted=True))
    assert weights == pytest.approx((2 / 3, 2.0), rel=1e-15)
    assert values == pytest.approx([(2 / 3 * 3 * 2 + 2 * 4) / 4], rel=1e-15)
    assert error == pytest.approx(math.sqrt(32 / 9 + 72) / 4, rel=1e-15)
    assert weights_of(average(levels, is_weighted=False)) == (1.0, 1.0)


@pytest.mark.parametrize("is_weighted", [True, False])
def test_the_voters_weights_add_up_to_their_number(*, is_weighted: bool) -> None:
    generator = np.random.default_rng(0)
    for _ in range(50):
        number = int(generator.integers(1, 6))
        levels = [
            level(
                float(place + 1),
                generator.normal(size=3).tolist(),
                number=int(generator.integers(1, 1000)),
                square=float(generator.uniform(0, 100)),
                noise=float(generator.uniform(0.01, 100)),
            )
            for place in range(number)
        ]
        mean = average(levels, is_weighted=is_weighted)
        voters = sum(each.num_voters for each in levels)
        total = math.fsum(weight * each.num_voters for weight, each in zip(weights_of(mean), levels, strict=True))
        assert total == pytest.approx(voters, rel=1e-12)
        assert min(weights_of(mean)) > 0


def test_no_other_weights_have_a_smaller_error() -> None:
    """Where voters do not differ, the error of the weighted mean is (Σ n/σ²)^(−1/2), the least of a linear mean."""
    levels = [
        level(1.0, [1.0], number=10, square=2.0, noise=1.0),
        level(0.1, [1.0], number=40, square=101.0, noise=100.0),
    ]
    weighted, plain = (shown(average(levels, is_weighted=is_weighted))[1] for is_weighted in (True, False))
    assert weighted == pytest.approx(1 / math.sqrt(10 / 1 + 40 / 100), rel=1e-12)
    assert plain > 3 * weighted


def test_voters_spread_is_found_again() -> None:
    """20,000 voters at ±1/2 in both features, half of them at ε = 1 and half at ε = 4, in the ball of radius 1.

    Their τ² is 1/4; noise has a variance of 8/ε². Nearly all that is known of τ² comes from the second level, where
    20,000 squares of variance 1.75 have an error of 0.0094: six of them are allowed (false alarm 1e-8; fixed seed).
    """
    protocol = make_preferences(bound=1.0, epsilons=(1.0, 4.0))
    number = 20_000
    generator = np.random.default_rng(4)
    half = round(0.5 / protocol.summary.step)
    rows = generator.choice([-half, half], size=(number, 2)).astype(np.int64)
    public = np.arange(number, dtype=np.int64)[:, None] % 2
    outcome = run_population(protocol, Inputs(rows, public), noise=SimulatedNoise(5, session="s")).outcome
    of_first, of_second = outcome.levels
    ratio = of_second.weight / of_first.weight
    between = (8 - ratio * 0.5) / (ratio - 1)  # solves (τ² + 8)/(τ² + 1/2) = ratio
    assert between == pytest.approx(0.25, abs=0.056)
    assert (of_first.num_voters, of_second.num_voters) == (number // 2, number // 2)
