"""The readings that decide how the paper is meant, held against its Tables 3 and 4 and against the readings' numbers.

Seeds are fixed, so verdicts never change; the false-alarm probabilities are those of drawing the seed. The published
cells are averages of 2000 runs and carry an error of their own. Reports come from the protocol's own phases, drawn
for all trials at once.
"""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from psephos.protocol import Tally
from psephos.protocol.arrays import IntArray
from psephos.protocol.dpwevote import DPWeVote
from psephos.protocol.dpwevote.laplace import LaplaceGrids
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse
from repeated_votes import make_vote, tallies_of_trials
from scipy.special import ndtr
from strategies import told
from thoroughness import IS_FULL, draws

pytestmark = pytest.mark.unmeasured  # thousands of sessions, on ways that the mirrors' tests take too

EPSILONS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
MORE = pytest.mark.full("more partners, and seconds")
# Table 4, MSE_q by number of partners.
PUBLISHED_BASELINE = {
    10: [20.80675, 5.18172, 2.34181, 1.31362, 0.82597, 0.59720, 0.42769, 0.33390, 0.26256, 0.20914],
    50: [4.00614, 1.00797, 0.44805, 0.25437, 0.16142, 0.11203, 0.08213, 0.06390, 0.04941, 0.04070],
    100: [1.97664, 0.50439, 0.22056, 0.12592, 0.08012, 0.05566, 0.04160, 0.03130, 0.02509, 0.01985],
}
PUBLISHED_DPWEVOTE = {
    10: [15.82780, 3.79594, 1.68442, 0.92401, 0.59020, 0.39621, 0.28239, 0.21623, 0.16892, 0.13490],
    50: [3.01404, 0.74125, 0.31822, 0.17802, 0.11303, 0.07640, 0.05671, 0.04168, 0.03253, 0.02548],
    100: [1.48116, 0.36118, 0.16328, 0.08678, 0.05549, 0.03759, 0.02717, 0.02070, 0.01608, 0.01292],
}


def uniform_table(trials: int, num_partners: int, generator: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Return weights and opinions, independent and uniform (Section 5.1.1, reading W1), a row for each trial."""
    shape = (trials, num_partners)
    return generator.integers(1, 4, shape), generator.integers(0, 2, shape)


def accuracy(vote: DPWeVote, tallies: Sequence[Sequence[Tally]], weights: IntArray, opinions: IntArray) -> float:
    """Return the share of trials in which the released decision is the true one, ties passing (reading W4)."""
    true = 2 * (weights * opinions).sum(axis=1) >= weights.sum(axis=1)
    released = [vote.outcome(of_trial).candidates[0].leans_yes for of_trial in tallies]
    return float(np.count_nonzero(np.array(released) == true)) / len(released)


@pytest.mark.parametrize(
    ("variant", "num_partners", "published", "quick", "full"),
    [
        ("printed", 10, 0.56840, 300, 6000),  # reading W1
        pytest.param("printed", 50, 0.56265, 300, 6000, marks=MORE),
        pytest.param("printed", 100, 0.56310, 300, 6000, marks=MORE),
        ("laplace", 10, 0.52695, 100, 5000),  # reading W3
        ("laplace", 100, 0.52010, 100, 5000),
    ],
)
def test_accuracies_are_the_published_ones(
    variant: str, num_partners: int, published: float, quick: int, full: int
) -> None:
    """Table 3 at ε = 1, beside 2000 published trials. False alarm at 3.9 standard deviations: 1e-4 each."""
    trials = draws(quick, full=full)
    generator = np.random.default_rng(num_partners + (3 if variant == "laplace" else 0))
    vote = make_vote(variant=variant, epsilon=1.0)
    weights, opinions = uniform_table(trials, num_partners, generator)
    tallies = tallies_of_trials(vote, weights, opinions, generator)
    off = 3.9 * math.sqrt((1 / trials + 1 / 2000) / 4)  # of a difference of accuracies of a half
    assert accuracy(vote, tallies, weights, opinions) == pytest.approx(published, abs=off)


@pytest.mark.full("seven seconds of votes")
def test_the_printed_and_the_joint_rule_have_the_accuracies_of_the_readings() -> None:
    """W2 at n = 100, ε = 1, uniform data: .565 printed, .534 joint, from the same reports.

    False alarm at four standard deviations, √(1/4n): 6e-5 each. That printed is the better one here (its unspoken
    prior) has the margin .031 with a standard deviation below .007 for 10,000 trials: 1e-5. It needs all of them.
    """
    trials = draws(500, full=10_000)
    generator = np.random.default_rng(1)
    printed, joint = make_vote(variant="printed", epsilon=1.0), make_vote(variant="joint", epsilon=1.0)
    weights, opinions = uniform_table(trials, 100, generator)
    tallies = tallies_of_trials(printed, weights, opinions, generator)
    of_printed = accuracy(printed, tallies, weights, opinions)
    of_joint = accuracy(joint, tallies, weights, opinions)
    assert of_printed == pytest.approx(0.565, abs=2 / math.sqrt(trials))
    assert of_joint == pytest.approx(0.534, abs=2 / math.sqrt(trials))
    if IS_FULL:
        assert of_printed > of_joint


def chance_of_passing(variant: str, *, epsilon: float, weight: int, num_yes: int, num_no: int) -> float:
    """Return P[margin ≥ 0] for partners of one weight, from the exact moments of one partner's contribution.

    By the central limit theorem with the term of the skewness; the next one is below 1e-3 for hundreds of partners.
    """
    of_weight, of_opinion = (GeneralizedRandomizedResponse(epsilon / 2, k) for k in (3, 2))
    reported = np.array([1.0, 2.0, 3.0])
    debiased = np.linalg.solve(np.array(of_weight.channel_matrix()), reported)
    opinions = np.linalg.solve(np.array(of_opinion.channel_matrix()), np.array([0.0, 1.0]))
    counted = reported if variant == "printed" else debiased
    contributions = np.outer(counted, opinions) - debiased[:, np.newaxis] / 2
    moments = np.zeros(3)
    for opinion, number in ((1, num_yes), (0, num_no)):
        law = np.outer(of_weight.channel_matrix()[weight - 1], of_opinion.channel_matrix()[opinion])
        mean = float((law * contributions).sum())
        centered = contributions - mean
        moments += number * np.array([mean, float((law * centered**2).sum()), float((law * centered**3).sum())])
    mean, variance, third = moments.tolist()
    far = -mean / math.sqrt(variance)
    density = math.exp(-(far**2) / 2) / math.sqrt(2 * math.pi)
    return float(ndtr(-far)) + third / variance**1.5 / 6 * (far**2 - 1) * density


def test_the_manuals_numbers_for_all_weights_three_and_three_fifths_yes() -> None:
    """W2 and docs/dpwevote.md: 500 partners, ε = 2: printed is right in about a quarter of all runs, joint in 95 %.

    By the exact moments it is 23.4 % and 96.3 %. Tolerances of four and a half standard deviations: false alarm 7e-6
    each.
    """
    trials = draws(200, full=2000)
    generator = np.random.default_rng(2)
    printed, joint = make_vote(variant="printed", epsilon=2.0), make_vote(variant="joint", epsilon=2.0)
    weights = np.full((trials, 500), 3)
    opinions = np.tile((np.arange(500) < 300).astype(np.int64), (trials, 1))
    tallies = tallies_of_trials(printed, weights, opinions, generator)
    for vote, expected in ((printed, 0.234), (joint, 0.963)):
        exact = chance_of_passing(vote.parameters.variant, epsilon=2.0, weight=3, num_yes=300, num_no=200)
        assert exact == pytest.approx(expected, abs=1e-3)
        tolerance = 4.5 * math.sqrt(exact * (1 - exact) / trials)
        assert accuracy(vote, tallies, weights, opinions) == pytest.approx(exact, abs=tolerance)


def mean_inverse_square(num_partners: int) -> float:
    """Return E[(Σw)⁻²] for independent uniform weights, exactly."""
    law = np.ones(1)
    for _ in range(num_partners):
        law = np.convolve(law, np.full(3, 1 / 3))
    return float(np.sum(law / (num_partners + np.arange(len(law))) ** 2))


@pytest.mark.parametrize("num_partners", [10, 50, 100])
def test_all_published_errors_of_the_baseline_follow_from_the_laplace_variance(num_partners: int) -> None:
    """W3: MSE_q = 8n·E[(Σw)⁻²]/ε² for ε₁ = ε₂ = ε/2.

    A published cell has a relative standard deviation of √(2/2000) = 3.2 % (more at n = 10, where noise is not
    normal); 16 % for the 30 cells of all three sizes: false alarm below 1e-4. The session's own noise has the closed
    form's variance but for its grid, which is 1/(12 · 2900²) at most.
    """
    for epsilon, published in zip(EPSILONS, PUBLISHED_BASELINE[num_partners], strict=True):
        closed_form = 8 * num_partners * mean_inverse_square(num_partners) / epsilon**2
        assert closed_form == pytest.approx(published, rel=0.16)
        grids = LaplaceGrids(make_vote(variant="laplace", epsilon=epsilon).parameters)
        of_one = grids.weight.noise_variance * grids.weight_step**2 / 4
        assert num_partners * of_one * mean_inverse_square(num_partners) == pytest.approx(closed_form, rel=1e-8)


@pytest.mark.parametrize("num_partners", [10, 50, 100])
def test_all_published_errors_of_the_protocol_follow_from_the_variance_of_debiased_weights(num_partners: int) -> None:
    """W1: MSE_q = E[¼·Σ Var[ŵ | wᵢ]/(Σw)²]. The numerator's mean given Σw hardly varies, so weights are drawn.

    Published cells as above: 16 % for the 30 cells, false alarm below 1e-4; 20,000 drawn tables move the mean by .5 %.
    """
    generator = np.random.default_rng(4)
    weights, _ = uniform_table(20_000, num_partners, generator)
    for epsilon, published in zip(EPSILONS, PUBLISHED_DPWEVOTE[num_partners], strict=True):
        mechanism = GeneralizedRandomizedResponse(epsilon / 2, 3)
        keep, lie = mechanism.keep_probability, mechanism.flip_probability
        debiased = (np.array([1.0, 2.0, 3.0]) - 6 * lie) / (keep - lie)
        channel = np.array(mechanism.channel_matrix())
        np.testing.assert_allclose(channel @ debiased, [1, 2, 3], rtol=1e-9)
        variances = channel @ debiased**2 - np.array([1, 4, 9])
        terms: list[float] = (variances[weights - 1].sum(axis=1) / 4 / weights.sum(axis=1) ** 2).tolist()
        expected = math.fsum(terms) / len(terms)
        assert expected == pytest.approx(published, rel=0.16)


@pytest.mark.parametrize(("variant", "reading"), [("printed", 0.0128), ("laplace", 0.0200)])
def test_the_sessions_quota_has_that_error(variant: str, reading: float) -> None:
    """W1 at n = 100, ε = 1, through the phases: relative standard deviation √(2/n) for n trials.

    False alarm at 4.47 of them, which is 10 % for 4000 trials: 1e-5.
    """
    trials = draws(250, full=4000)
    generator = np.random.default_rng(5)
    vote = make_vote(variant=variant, epsilon=1.0)
    weights, opinions = uniform_table(trials, 100, generator)
    tallies = tallies_of_trials(vote, weights, opinions, generator)
    quotas = [told(vote.outcome(of_trial).candidates[0].quota).value for of_trial in tallies]
    errors = (np.array(quotas) / weights.sum(axis=1) - 0.5).tolist()
    assert math.fsum(error**2 for error in errors) / len(errors) == pytest.approx(
        reading, rel=4.47 * math.sqrt(2 / trials)
    )
