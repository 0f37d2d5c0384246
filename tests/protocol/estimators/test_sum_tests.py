"""Tests on sums: the binomial one exactly, the other by its moments and by search for a truth that breaks its level."""

import functools
import itertools
import math
from fractions import Fraction

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from psephos.protocol.arrays import FloatArray
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.estimators import Spread, binomial_bounds, frequencies
from psephos.protocol.estimators.sum_tests import Alike, chernoff_threshold
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse
from scipy.optimize import minimize_scalar
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


def test_numbers_that_decide_among_a_million() -> None:
    """½ ± 1.645·500, by the normal law."""
    few, many = binomial_bounds(1_000_000, 0.5, 0.05)
    assert (few, many) == (1_000_000 - many, many)
    assert many == pytest.approx(500_000 + 1.6449 * 500, abs=1.5)


def test_what_cannot_happen_decides_at_once() -> None:
    assert binomial_bounds(5, 0.0, 0.05) == (-1, 1)
    assert binomial_bounds(5, 1.0, 0.05) == (4, 6)
    assert binomial_bounds(1, 0.5, 0.05) == (-1, 2)


def test_no_mixture_of_probabilities_breaks_the_binomial_level() -> None:
    """Hoeffding's theorem, by all pairs of halves with one mean: exactly, by convolution."""
    number, mean, level = 24, 0.4, 0.05
    few, many = binomial_bounds(number, mean, level)
    for spread in (0.0, 0.1, 0.25, 0.4):
        first, second = (
            np.asarray(binom.pmf(np.arange(number // 2 + 1), number // 2, mean + off)) for off in (-spread, spread)
        )
        law = np.convolve(first, second)
        assert law[many:].sum() <= level
        assert law[: few + 1].sum() <= level


def test_moments_by_hand() -> None:
    """A report of 1 with chance ¼ and of 0 otherwise: variance 3/16, third moment 3/32, fourth cumulant −3/128."""
    spread = Spread.of_reports([Fraction(0), Fraction(1)], [[0.75, 0.25]])
    assert (spread.variance, spread.third) == (3 / 16, 3 / 32)
    assert (spread.fourth, spread.gap) == (0.0, 1.0)  # a cumulant below 0 counts as 0
    rare = Spread.of_reports([0.0, 1.0], [[0.9, 0.1]])
    assert rare.fourth == pytest.approx(0.09 * (1 - 6 * 0.09))


def test_spreads_add_and_scale_as_cumulants_do() -> None:
    spread = Spread(2.0, 3.0, 5.0, 7.0)
    assert spread.times(4) == Spread(8.0, 12.0, 20.0, 7.0)
    assert spread.times(0) == Spread()
    assert spread.scaled(0.5) == Spread(0.5, 0.375, 0.3125, 3.5)
    assert spread + Spread(1.0, 1.0, 1.0, 9.0) == Spread(3.0, 4.0, 6.0, 9.0)


@pytest.mark.parametrize("level", [0.05, 0.01, 0.2])
def test_what_decides_is_the_expansion_with_half_a_gap(level: float) -> None:
    z = float(norm.isf(level))
    decisive = Spread(4.0, 1.6, 3.2, 0.5).decisive(level)
    quantile = z + abs(z * z - 1) / 6 * 0.2 + max(0.0, z**3 - 3 * z) / 24 * 0.2
    assert decisive == pytest.approx(2 * quantile + 0.25)


def test_nothing_decides_where_nothing_was_reported() -> None:
    assert Spread().decisive(0.05) == math.inf


@pytest.mark.parametrize("level", [0.05, 0.01])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
@pytest.mark.parametrize("number", [8, 30])
def test_no_truth_that_is_tried_breaks_the_level_of_signed_weights(level: float, epsilon: float, number: int) -> None:
    """k-RR on ±1, ±2, ±3: every truth of two or three kinds of partners whose margin is 0, by the exact law."""
    values = (-3, -2, -1, 1, 2, 3)
    mechanism = GeneralizedRandomizedResponse(epsilon, len(values))
    estimates = [float(number) for number in frequencies.debiased_values(mechanism, values)]
    channel = np.array(mechanism.channel_matrix())
    decisive = Spread.of_reports(estimates, channel.tolist()).times(number).decisive(level)
    # Debiased values are multiples of one unit, here 1/(p − q); sums are then places of a lattice.
    unit = 1 / (mechanism.keep_probability - mechanism.lie_probability)
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
def test_chernoffs_threshold_keeps_its_level_for_every_truth_of_skewed_reports(name: str, level: float) -> None:
    """Exactly, for three and four reports, on either side; the searched rule's breaks it there."""
    contributions, channel = reports_of(SKEWED[name])
    searched: list[float] = []
    for number, sign in itertools.product((3, 4), (1, -1)):
        own = sign * contributions
        needed = chernoff_threshold([Alike(own.tolist(), channel.tolist(), number)], level)
        assert greatest_excess(own, channel, number, needed) <= level
        spread = Spread.of_reports(own.tolist(), channel.tolist()).times(number)
        searched.append(greatest_excess(own, channel, number, spread.decisive(level)))
    if level == 0.05:
        assert max(searched) > 1.4 * level


def test_chernoffs_threshold_of_fair_signs_is_the_best_of_all_slopes() -> None:
    """The sum of 50 signs: t = min (50·ln cosh s + ln 20)/s, and Hoeffding's √(2·50·ln 20) is no less."""
    signs = Alike((-1.0, 1.0), ((0.5, 0.5),), 25)
    found = chernoff_threshold([signs, signs], 0.05)
    best = minimize_scalar(lambda s: (50 * math.log(math.cosh(s)) + math.log(20)) / s, bounds=(0.01, 2)).fun
    assert best <= found <= 1.01 * best
    assert best <= math.sqrt(100 * math.log(20))


def test_chernoffs_threshold_adds_up_parts_and_needs_a_report() -> None:
    fair, rare = Alike((-1.0, 1.0), ((0.5, 0.5),), 9), Alike((0.0, 30.0), ((0.99, 0.01), (0.9, 0.1)), 3)
    both = chernoff_threshold([fair, rare], 0.05)
    alone = [chernoff_threshold([part], 0.05) for part in (fair, rare)]
    assert max(alone) < both < sum(alone)
    assert chernoff_threshold([], 0.05) == chernoff_threshold([fair._replace(number=0)], 0.05) == math.inf
    assert chernoff_threshold([fair], 0.01) > chernoff_threshold([fair], 0.05)
    with pytest.raises(ConfigurationError, match="level must be"):
        chernoff_threshold([fair], 0.5)
