"""Tests on sums: the binomial one exactly, bounds on others by exact laws, for the worst truth of small sessions."""

import functools
import itertools
import math
import operator

import hypothesis
import numpy as np
import pytest
from bad_input import refuses
from hypothesis import strategies as st
from psephos.protocol.arrays import FloatArray
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.estimators import binomial_bounds, frequencies
from psephos.protocol.estimators.noise_tails import NoisePart, reach_of_noise
from psephos.protocol.estimators.sum_tests import (
    Alike,
    are_nearly_normal,
    decisive_reach,
    reach_of_products,
    tails_of_sums,
)
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse
from scipy.stats import binom, norm


@hypothesis.given(
    number=st.integers(1, 300), probability=st.floats(0.001, 0.999), level=st.sampled_from([0.001, 0.01, 0.05, 0.3])
)
def test_numbers_that_decide_are_those_of_the_binomial_law(number: int, probability: float, level: float) -> None:
    places = np.arange(-1, number + 2)
    mean = number * probability
    many = places[(binom.sf(places - 1, number, probability) <= level) & (places >= mean + 1)]
    few = places[(binom.cdf(places, number, probability) <= level) & (places <= mean - 1)]
    expected = (max(int(few.max(initial=-1)), -1), int(many.min(initial=number + 1)))
    assert binomial_bounds(number, probability, level) == expected


@pytest.mark.parametrize(("number", "probability"), [(0, 0.5), (9, -0.1), (9, 1.1), (9, 2.0)])
def test_numbers_that_decide_are_of_trials_with_a_probability(number: int, probability: float) -> None:
    assert [binomial_bounds(9, certain, 0.05) for certain in (0.0, 1.0)] == [(-1, 1), (8, 10)]
    assert binomial_bounds(1, 0.5, 0.05) == (-1, 2)
    with pytest.raises(
        ConfigurationError, match=r"number is .*: use at least 1|probability is .*: use a value from 0 to 1"
    ):
        binomial_bounds(number, probability, 0.05)


def test_numbers_that_decide_among_a_million() -> None:
    """½ ± 1.645·500, by the normal law."""
    few, many = binomial_bounds(1_000_000, 0.5, 0.05)
    assert (few, many) == (1_000_000 - many, many)
    assert many == pytest.approx(500_000 + 1.6449 * 500, abs=1.5)


@pytest.mark.parametrize("level", [0.05, 0.01])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
@pytest.mark.parametrize("number", [8, 30])
def test_no_truth_that_is_tried_breaks_the_level_of_signed_weights(level: float, epsilon: float, number: int) -> None:
    """k-RR on ±1, ±2, ±3: every truth of two or three kinds of partners whose margin is 0, by the exact law."""
    values = (-3, -2, -1, 1, 2, 3)
    mechanism = GeneralizedRandomizedResponse(epsilon, len(values))
    estimates = [float(number) for number in frequencies.debiased_values(mechanism, values)]
    channel = np.array(mechanism.channel_matrix())
    decisive = decisive_reach([Alike(estimates, channel, number)], level)
    # Debiased values are multiples of one unit, here 1/(p − q); sums are then places of a lattice.
    unit = 1 / (mechanism.keep_probability - mechanism.flip_probability)
    law_of_value = np.zeros((len(values), 7))
    for place, value in enumerate(values):
        law_of_value[:, value + 3] = channel[:, place]
    worst = 0.0
    for kinds in itertools.combinations(range(len(values)), 2):
        for third in range(len(values)):
            for odd in {0, 1, number // 3}:
                low, high = values[kinds[0]], values[kinds[1]]
                rest = number - odd
                many_high = (-odd * values[third] - rest * low) / (high - low)
                if not 0 <= many_high <= rest or many_high != int(many_high):
                    continue
                counts = [(kinds[0], rest - int(many_high)), (kinds[1], int(many_high)), (third, odd)]
                law = np.ones(1)
                for place, count in counts:
                    for _ in range(count):
                        law = np.convolve(law, law_of_value[place])
                sums = (np.arange(len(law)) - 3 * number) * unit
                worst = max(worst, float(law[sums >= decisive].sum()))
    assert 0 < worst <= level


# What k-RR is not: a report that is rare where it is meant, and frequent where it is not.
SKEWED = {
    "weight and opinion": Parameters(
        candidates=("a",),
        weight_matrix=(("0.98", "0.01", "0.01"), ("0.108", "0.879", "0.013"), ("0.113", "0.014", "0.873")),
        opinion_matrix=((0.938, 0.062), (0.484, 0.516)),
        quota_fraction=1.0,
    ),
    "nearly nothing of opinions": Parameters(
        candidates=("a",),
        weights=(1.0, 3.0),
        weight_matrix=((0.999, 0.001), (0.045, 0.955)),
        opinion_matrix=((0.503, 0.497), (0.55, 0.45)),
        quota_fraction=0.75,
    ),
}


def reports_of(parameters: Parameters) -> tuple[FloatArray, FloatArray]:
    """Return what each pair of reports adds to a margin, and the law of the pairs."""
    of_weights = np.array(parameters.make_weight_mechanism().channel_matrix())
    of_opinions = np.array(parameters.make_opinion_mechanism().channel_matrix())
    pairs = np.array(list(itertools.product(range(len(of_weights)), (0, 1))))
    public = np.empty((len(pairs), 0), dtype=np.int64)
    contributions = DPWeVote(parameters).contributions([pairs[:, :1], pairs[:, 1:]], public)[:, 0]
    both: FloatArray = of_weights[:, None, :, None] * of_opinions[None, :, None, :]
    return contributions, both.reshape(2 * len(of_weights), -1)


def greatest_excess(contributions: FloatArray, channel: FloatArray, number: int, needed: float) -> float:
    """Return the greatest P[sum − mean ≥ needed] over all values of so many reports, by all reports."""
    sums = np.array([sum(each) for each in itertools.product(contributions.tolist(), repeat=number)])
    worst = 0.0
    for values in itertools.combinations_with_replacement(range(len(channel)), number):
        law = functools.reduce(np.multiply.outer, [channel[value] for value in values]).reshape(-1)
        mean = sum(float(channel[value] @ contributions) for value in values)
        worst = max(worst, float(law[sums - mean >= needed].sum()))
    return worst


@pytest.mark.parametrize("name", list(SKEWED))
@pytest.mark.parametrize("level", [0.2, 0.05, 0.01])
def test_no_truth_of_skewed_reports_breaks_the_level(name: str, level: float) -> None:
    """Exactly, for three and four reports, on either side."""
    contributions, channel = reports_of(SKEWED[name])
    for number, sign in itertools.product((3, 4), (1, -1)):
        own = sign * contributions
        needed = decisive_reach([Alike(own, channel, number)], level)
        assert greatest_excess(own, channel, number, needed) <= level


@pytest.mark.parametrize("number", [1, 2, 3, 5, 8, 16, 31, 64, 1_000, 100_000])
def test_tails_of_signs_are_never_below_the_binomial_law_and_near_it_where_reports_are_many(number: int) -> None:
    """P[S ≥ t] of fair signs, whose number of ones is binomial, from half a standard deviation to five."""
    for deviations in (0.5, 1.0, 1.645, 2.5, 4.0, 5.0):
        reach = deviations * math.sqrt(number)
        exact = float(binom.sf(math.ceil((reach + number) / 2) - 1, number, 0.5))
        (found,) = tails_of_sums([Alike((-1.0, 1.0), ((0.5, 0.5),), number)], reach)
        assert found >= min(exact, 0.5)
        if number >= 1_000 and exact > 1e-5:
            assert found <= min(2.0 * exact, 0.5) + 2.0**-20


def test_a_reach_is_where_the_tail_comes_down_to_the_level() -> None:
    parts = [Alike((-1.0, 1.0), ((0.5, 0.5), (0.4, 0.6)), 40), Alike((0.0, 30.0), ((0.99, 0.01), (0.9, 0.1)), 3)]
    for level in (0.2, 0.05, 0.001):
        reach = decisive_reach(parts, level)
        (tail,), (before,) = tails_of_sums(parts, reach), tails_of_sums(parts, 0.97 * reach)
        assert tail <= level * 1.06 + 2.0**-20  # slopes are tried on a grid, which is another one for each
        assert before > level


def test_of_several_sums_each_has_its_own_tail() -> None:
    channel = ((0.7, 0.3), (0.3, 0.7))
    both = tails_of_sums([Alike(np.array([[-1.0, 1.0], [0.0, 3.0]]), channel, 12, np.array([0, 1]))], 9.0)
    alone = [tails_of_sums([Alike(own, channel, 12)], 9.0)[0] for own in ((-1.0, 1.0), (0.0, 3.0))]
    assert both.tolist() == pytest.approx(alone, rel=0.1)  # by other slopes


def test_nothing_decides_where_nothing_was_reported_and_noise_that_is_none_decides_at_once() -> None:
    fair = Alike((-1.0, 1.0), ((0.5, 0.5),), 9)
    assert decisive_reach([], 0.05) == decisive_reach([fair._replace(number=0)], 0.05) == math.inf
    assert tails_of_sums([], 1.0).tolist() == tails_of_sums([fair], 0.0).tolist() == [0.5]
    assert tails_of_sums([Alike((0.0, 0.0), ((0.5, 0.5),), 9)], 1.0).tolist() == [2.0**-20]
    with refuses("level"):
        decisive_reach([fair], 0.5)


def test_nothing_is_said_of_sums_whose_variance_is_too_small_for_a_float() -> None:
    """As of what rounding leaves of numbers that are equal; other sums have their own tails beside them."""
    channel = ((0.7, 0.3), (0.3, 0.7))
    dust, signs = np.array([0.0, 1e-170]), np.array([-1.0, 1.0])
    assert tails_of_sums([Alike(dust, channel, 12)], 1e-171).tolist() == [0.5]
    both = tails_of_sums([Alike(np.stack([dust, signs]), channel, 12, np.array([0, 1]))], 1e-171)
    assert both.tolist() == [0.5, 0.5]
    assert tails_of_sums([Alike(np.stack([dust, signs]), channel, 12, np.array([0, 1]))], 9.0)[0] == 2.0**-20


@pytest.mark.parametrize("number", [1, 3, 30, 1_000])
def test_sums_whose_moments_are_known_reach_no_farther(number: int) -> None:
    """Normal reports and Laplace ones, by their exact laws: the first at every level, by no more than six tenths."""
    moments = [1.0, 0.0, 1.0] + [0.0 if j % 2 else math.prod(range(1, j, 2)) for j in range(3, 17)]
    laplace = [0.0 if j % 2 else math.factorial(j) / 2 ** (j / 2) for j in range(17)]
    for level in (0.2, 0.05, 0.001):
        found = reach_of_products([float(each) for each in moments], number, level)
        assert 1 <= found / (float(norm.isf(level)) * math.sqrt(number)) < (2.2 if level == 0.2 else 1.6)
        exact = reach_of_noise([NoisePart(math.sqrt(0.5), number)], level)
        assert reach_of_products(laplace, number, level) >= exact


@pytest.mark.parametrize(("lie", "enough"), [(0.5, 1), (0.25, 14), (0.1, 72), (0.01, 971)])
def test_a_sum_of_two_kinds_of_reports_is_nearly_normal_from_a_number_on(lie: float, enough: int) -> None:
    """Of n bits that are wrong with probability q the squared skewness is (1 − 2q)²/(n·q(1 − q)), and is to be .1."""
    squared = (1 - 2 * lie) ** 2 / (lie * (1 - lie))
    assert enough == max(math.ceil(10 * max(squared, (1 / (lie * (1 - lie)) - 6))), 1)
    channel = [[1 - lie, lie], [lie, 1 - lie]]
    for number in {max(enough - 1, 1), enough}:
        parts = [Alike([-1e150, 1e150], channel, number), Alike([1.0, 3.0], channel, 0)]
        assert are_nearly_normal(parts) == (number == enough)
    assert are_nearly_normal([])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("estimates", [(-1.5, -1.0, -0.5, 0.5, 1.0, 1.5), (-5e5, -2.0, 2.0, 5e5)])
def test_the_less_often_reports_lie_the_sooner_a_sum_decides(estimates: tuple[float, ...]) -> None:
    number, reaches = 30, list[float]()
    for epsilon in (5.0, 10.0, 15.0, 20.0, 25.0, 30.0):
        others = 1 / (np.exp(epsilon) + len(estimates) - 1)
        channel = np.full((len(estimates), len(estimates)), others)
        np.fill_diagonal(channel, 1 - others * (len(estimates) - 1))
        reaches.append(decisive_reach([Alike(estimates, channel, number)], 0.05))
    assert reaches == sorted(reaches, reverse=True)
    assert reaches[-1] < 0.2 * (estimates[-1] - estimates[0])  # one lie, which 5 % allow for, is as far off


def test_a_sum_of_few_reports_reaches_nothing_more_often_than_is_said() -> None:
    """By enumeration: of contributions on both sides of nothing, or on one, each deviation, for each truth."""
    kinds: list[tuple[list[float], list[list[float]]]] = [
        ([-1.0, 1.0], [[0.999, 0.001], [0.4, 0.6]]),
        ([-3.0, 0.5, 2.0], [[0.01, 0.98, 0.01], [0.2, 0.2, 0.6]]),
        ([5.0, 6.0], [[0.9, 0.1], [0.1, 0.9]]),
    ]
    for contributions, channel in kinds:
        for number in (1, 2, 3):
            for truth in itertools.combinations_with_replacement(channel, number):
                mean = sum(sum(map(operator.mul, law, contributions)) for law in truth)
                sums = list(itertools.product(range(len(contributions)), repeat=number))
                chances = {own: math.prod(law[place] for law, place in zip(truth, own, strict=True)) for own in sums}
                off = {own: sum(contributions[place] for place in own) - mean for own in sums}
                for reach in {round(each, 9) for each in off.values() if each > 1e-6}:
                    exact = math.fsum(chance for own, chance in chances.items() if off[own] >= reach - 1e-9)
                    (bound,) = tails_of_sums([Alike(contributions, channel, number)], reach - 1e-9).tolist()
                    assert bound >= min(exact, 0.5) * (1 - 1e-9), (contributions, truth, reach)  # no more is said


@pytest.mark.parametrize("chance", [0.3, 0.05, 0.001])
def test_a_reach_by_moments_is_beyond_what_happens_more_often_than_the_level(chance: float) -> None:
    """Of a number that is far off with this chance, which is hardly above the level: Markov's bound is nearly tight."""
    other = chance / (1 - chance)
    moments = [1.0, 0.0, *(chance + (1 - chance) * other**power for power in range(2, 17))]
    assert reach_of_products(moments, 1, chance * (1 - 1e-3)) > 1
    assert reach_of_products(moments, 1, min(8 * chance, 0.49)) < 1
