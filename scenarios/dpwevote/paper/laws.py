"""What to expect without drawing: exact moments of one partner's contribution, and normal laws of their sums.

Sums are normal in the limit alone: all chances here are approximations, which for ten partners may be off by some
percentage points.

Reading W9: over independent partners without a common leaning, truth and estimate are two sums of n terms, so both
grow with √n, and the chance that they agree in sign tends to ½ + arcsin(ρ)/π with ρ the correlation of one partner's
true and estimated contribution, whatever n is. Where votes are fixed, the estimate alone is random: it passes with
probability Φ(mean/deviation), but for a term of its skewness.
"""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....protocol import Tally
from ....protocol.arrays import FloatArray
from ....protocol.dpwevote import DPWeVote
from ....protocol.dpwevote.laplace import LaplaceGrids
from ....protocol.elementary import exp, square
from ....protocol.mechanisms import FiniteMechanism
from ...experiments.measurements import normal_probability
from .workloads import SIGNED_WEIGHTS, Workload, inputs_of_pairs

TRUE = np.array(SIGNED_WEIGHTS) / 2
"""What a partner with each pair of weight and opinion truly adds to the margin."""


@dataclasses.dataclass(frozen=True, eq=False)
class Law:
    """What a partner with each pair of weight and opinion contributes to the margin, shape (pairs,) each."""

    means: FloatArray  # the expectation
    variances: FloatArray  # the variance
    thirds: FloatArray  # the third central moment

    @property
    def greatest_bias(self) -> float:
        """How far the expectation is from the true part, at most."""
        return float(np.abs(self.means - TRUE).max())

    @property
    def greatest_variance(self) -> float:
        """The variance in the worst case."""
        return float(self.variances.max())

    def mean_variance(self, shares: Sequence[float]) -> float:
        """Return the variance averaged over pairs."""
        return math.fsum((np.array(shares) * self.variances).tolist())


def law_of(vote: DPWeVote) -> Law:
    """Return the exact law of a contribution, in a vote of `make_vote`."""
    if all(isinstance(phase.mechanism, FiniteMechanism) for phase in vote.phases):
        return _law_of_finite(vote)
    return _law_of_laplace(vote)


def normal_accuracy(vote: DPWeVote, workload: Workload, num_partners: int) -> float:
    """Return a normal approximation of the accuracy: the limit for many where votes are drawn.

    Where they are fixed, it has a term for the skewness. Either may be off by some percentage points for ten partners.
    """
    law = law_of(vote)
    if workload.is_drawn:
        return limiting_accuracy(law, workload.shares)
    numbers = workload.numbers(num_partners)
    passes = chance_of_passing(law, numbers)
    margin = sum(weight * number for weight, number in zip(SIGNED_WEIGHTS, numbers, strict=True))
    return passes if margin >= 0 else 1 - passes


def limiting_accuracy(law: Law, shares: Sequence[float]) -> float:
    """Return ½ + arcsin(ρ)/π, the accuracy with many independent partners who lean to no side (reading W9).

    Sheppard (1899): the chance that two correlated normal numbers agree in sign.
    """
    weights = np.array(shares)
    drift = max(abs(float((weights * TRUE).sum())), abs(float((weights * law.means).sum())))
    if drift > 1e-9 * float(np.abs(TRUE).max()):
        raise ValueError(f"these partners lean to a side by {drift:g} each")
    covariance = float((weights * TRUE * law.means).sum())
    of_truth = float((weights * np.square(TRUE)).sum())
    of_estimate = float((weights * (law.variances + np.square(law.means))).sum())
    return 0.5 + math.asin(covariance / math.sqrt(of_truth * of_estimate)) / math.pi


def chance_of_passing(law: Law, numbers: Sequence[int]) -> float:
    """Return the probability that the estimated margin is at least 0, where so many partners hold each pair.

    By the central limit theorem with the term of the skewness (Edgeworth's first).
    """
    held = np.array(numbers, dtype=np.float64)
    mean, variance, third = (float((held * moment).sum()) for moment in (law.means, law.variances, law.thirds))
    far = -mean / math.sqrt(variance)
    density = exp(-square(far) / 2) / math.sqrt(2 * math.pi)
    skewed = third / (variance * math.sqrt(variance)) / 6 * (square(far) - 1) * density
    return min(max(normal_probability(-far) + skewed, 0.0), 1.0)


def expected_quota_error(vote: DPWeVote, *, num_partners: int) -> float:
    """Return MSE_q for independent uniform weights, exactly: n·E[Var[q̂ of one | w₁]/(w₁ + … + wₙ)²]."""
    weights = [int(weight) for weight in vote.parameters.weights]
    variances = _quota_variances(vote)
    step = np.zeros(weights[-1] + 1)
    step[weights] = 1 / len(weights)
    others = np.ones(1)
    for _ in range(num_partners - 1):
        others = np.convolve(others, step)
    totals = np.arange(len(others))
    possible = others > 0
    terms = [
        variance * float((others[possible] / np.square(weight + totals[possible])).sum())
        for weight, variance in zip(weights, variances, strict=True)
    ]
    return num_partners * math.fsum(terms) / len(weights)


def _quota_variances(vote: DPWeVote) -> list[float]:
    """Return the variance of what one partner adds to the estimated quota, for each weight."""
    phase = vote.phases[0]
    if not isinstance(mechanism := phase.mechanism, FiniteMechanism):
        grids = LaplaceGrids(vote.parameters)
        step = vote.parameters.fraction * grids.weight_step
        return [grids.weight.noise_variance * square(step)] * len(vote.parameters.weights)
    channel = np.array(mechanism.channel_matrix())
    # The quota is a sum over reports, so the protocol is asked for that of a single one.
    outcomes: list[Any] = [phase.outcome([Tally(1, own)]) for own in np.eye(channel.shape[1], dtype=np.int64)]
    added = np.array([each.quota.value for each in outcomes])
    means = channel @ added
    variances: list[float] = (channel @ np.square(added) - np.square(means)).tolist()
    return variances


def _law_of_finite(vote: DPWeVote) -> Law:
    inputs = inputs_of_pairs(vote)
    channels: list[FloatArray] = []
    for phase in vote.phases:
        assert isinstance(phase.mechanism, FiniteMechanism)  # noqa: S101  asked before
        channels.append(np.array(phase.mechanism.channel_matrix())[inputs.private[:, phase.columns][:, 0]])
    all_reports = list(itertools.product(*(range(channel.shape[1]) for channel in channels)))
    reports = [np.array(column, dtype=np.int64)[:, None] for column in zip(*all_reports, strict=True)]
    contributions = vote.contributions(reports, np.empty((len(all_reports), 0), dtype=np.int64))[:, 0]
    law = np.ones((len(TRUE), len(all_reports)))
    for channel, of_phase in zip(channels, reports, strict=True):
        law *= channel[:, of_phase[:, 0]]
    means = (law * contributions).sum(axis=1)
    centered = contributions - means[:, None]
    return Law(means, (law * np.square(centered)).sum(axis=1), (law * centered**3).sum(axis=1))


def _law_of_laplace(vote: DPWeVote) -> Law:
    """Return the moments of (w + X)·(a + Y), X and Y symmetric noise and a = φ − τ.

    Less w·a it is wY + aX + XY, with the square w²·E[Y²] + a²·E[X²] + E[X²]·E[Y²] and the cube 6·wa·E[X²]·E[Y²] on
    average.
    """
    inputs, grids = inputs_of_pairs(vote), LaplaceGrids(vote.parameters)
    reports = [inputs.private[:, phase.columns] for phase in vote.phases]
    means = vote.contributions(reports, inputs.public)[:, 0]
    of_weight = grids.weight.noise_variance * square(grids.weight_step)
    of_opinion = grids.opinion.noise_variance * square(grids.opinion_step)
    opinions = np.tile(np.array([0.0, 1.0]), len(vote.parameters.weights)) - vote.parameters.fraction
    on_grid = np.repeat(np.array(grids.weights_on_grid, dtype=np.float64), 2)
    weights = vote.parameters.weights[0] + grids.weight_step * on_grid
    variances = np.square(weights) * of_opinion + np.square(opinions) * of_weight + of_weight * of_opinion
    return Law(means, variances, 6 * means * of_weight * of_opinion)
