"""Bounds on sums against an adversary: never below an exact law, and near the worst truth's."""

import functools
import itertools
import math

import numpy as np
import pytest
from psephos.protocol.estimators.adaptive_sums import Stratum, tail_curve
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse
from scipy.stats import binom

NOTHING = np.zeros(1)


def tails_of_truth(strata: list[Stratum], truth: tuple[tuple[int, ...], ...], excesses: list[float]) -> list[float]:
    """Return the exact chances that sums of a few reports exceed their mean, one value for each report."""
    pairs = zip(strata, truth, strict=True)
    laws = [(stratum.contributions, stratum.channel[value]) for stratum, own in pairs for value in own]
    mean = sum(float(numbers @ chances) for numbers, chances in laws)
    sums = functools.reduce(lambda before, law: np.add.outer(before, law[0]).reshape(-1), laws, NOTHING) - mean
    chances = functools.reduce(lambda before, law: np.multiply.outer(before, law[1]).reshape(-1), laws, np.ones(1))
    return [float(chances[sums >= excess].sum()) for excess in excesses]


SMALL = {
    "two values": [Stratum(np.array([-1.0, 1.0]), np.array([[0.7, 0.3], [0.3, 0.7]]), 6)],
    "a rare one": [Stratum(np.array([0.0, 9.0, -1.0]), np.array([[0.9, 0.01, 0.09], [0.2, 0.02, 0.78]]), 5)],
    "three laws": [
        Stratum(np.array([-2.0, 0.3, 5.0]), np.array([[0.6, 0.2, 0.2], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6]]), 4)
    ],
    "two strata": [
        Stratum(np.array([-1.0, 1.0]), np.array([[0.6, 0.4], [0.1, 0.9]]), 3),
        Stratum(np.array([-7.0, 2.0]), np.array([[0.5, 0.5], [0.05, 0.95]]), 2),
    ],
    "far apart": [Stratum(np.array([0.0, 1e4]), np.array([[0.9999, 0.0001], [0.5, 0.5]]), 3)],
}


@pytest.mark.parametrize("name", list(SMALL))
def test_no_truth_exceeds_the_bound(name: str) -> None:
    """By enumeration of all values and all reports, at every excess that a sum may have."""
    strata = SMALL[name]
    curve = tail_curve(strata, 4 * deviation_of(strata))
    assert curve is not None
    grid = np.linspace(0.01, 4.0, 60) * deviation_of(strata)
    for truth in itertools.product(
        *(itertools.combinations_with_replacement(range(len(each.channel)), each.number) for each in strata)
    ):
        for excess, exact in zip(grid.tolist(), tails_of_truth(strata, truth, grid.tolist()), strict=True):
            assert curve.tail(excess) >= exact, (truth, excess)


def deviation_of(strata: list[Stratum]) -> float:
    """Return the greatest standard deviation of a sum."""
    laws = ((each.number, *each.centered_laws()) for each in strata)
    return math.sqrt(sum(number * float((chances * values**2).sum(axis=1).max()) for number, values, chances in laws))


@pytest.mark.parametrize("number", [10, 50, 188, 500])
def test_of_one_law_the_bound_is_its_tail(number: int) -> None:
    """Of fair signs, where no choice is to be made, but for rounding to the grid."""
    curve = tail_curve([Stratum(np.array([-1.0, 1.0]), np.array([[0.5, 0.5]]), number)], 4 * math.sqrt(number))
    assert curve is not None
    for level in (0.2, 0.05, 0.01):
        many = int(binom.isf(level, number, 0.5)) + 1  # the least that is seldom enough
        exact = 2 * many - number
        assert exact - 2 <= curve.reach(level) <= exact + 0.06 * math.sqrt(number)
    assert curve.tail(-9.0 * number) == 1.0


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("number", [30, 100, 300])
def test_the_bound_uses_three_quarters_of_a_level_at_the_worst_truth(epsilon: float, number: int) -> None:
    """k-RR on ±1, ±2, ±3, all at one of the two heaviest: by the exact law.

    Of 30 reports at ε = 3 about four are lies: their law is too coarse to have a tail of .05, or one near it.
    """
    values = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])
    channel = np.array(GeneralizedRandomizedResponse(epsilon, len(values)).channel_matrix())
    strata = [Stratum(values, channel, number)]
    curve = tail_curve(strata, 4 * deviation_of(strata))
    assert curve is not None
    reach = curve.reach(0.05)
    worst = 0.0
    for light in (0, number // 2):
        law, mean = np.ones(1), 0.0
        for own, times in ((channel[0], light), (channel[-1], number - light)):
            padded = np.insert(own, 3, 0.0)
            law, mean = functools.reduce(np.convolve, [padded] * times, law), mean + times * float(own @ values)
        worst = max(worst, float(law[np.arange(-3 * number, 3 * number + 1) - mean >= reach].sum()))
    assert (0.5 if (number, epsilon) == (30, 3.0) else 0.75) * 0.05 <= worst <= 0.05


def test_what_would_take_long_or_does_not_vary_has_no_bound() -> None:
    fair = Stratum(np.array([-1.0, 1.0]), np.array([[0.5, 0.5]]), 100)
    assert tail_curve([], 1.0) is None
    assert tail_curve([fair._replace(contributions=np.zeros(2))], 1.0) is None
    assert tail_curve([fair._replace(contributions=np.array([0.0, 1e-170]))], 1.0) is None
    rare = Stratum(np.array([0.0, 1.0]), np.array([[1 - 1e-6, 1e-6]]), 2_000)
    assert tail_curve([rare], 1.0) is None


def test_a_curve_falls_and_its_reach_is_where_it_comes_down_to_a_level() -> None:
    curve = tail_curve(SMALL["two strata"], 20.0)
    assert curve is not None
    assert (np.diff(curve.chances) <= 0).all()
    for level in (0.3, 0.05, 0.01):
        reach = curve.reach(level)
        assert curve.tail(reach) <= level < curve.tail(reach - 1.01 * curve.step)
    assert curve.reach(1e-9) == math.inf
