"""Expected results without simulation: exact moments of a partner's contribution, and normal laws of their sums.

Sums are normal only in the limit, so all probabilities here are approximations. With ten partners they may be off by
some percentage points.

Reading W9: for independent partners with no tendency to yes or no, truth and estimate are sums of n terms, and both
grow with √n. The probability that their signs agree tends to ½ + arcsin(ρ)/π, where ρ is the correlation of one
partner's true and estimated contribution; it does not depend on n. If votes are fixed, only the estimate is random: it
passes with probability Φ(mean/deviation), with a correction for skewness.
"""

import dataclasses
import functools
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
"""The true contribution to the margin for each pair of weight and opinion."""


@dataclasses.dataclass(frozen=True, eq=False)
class Law:
    """Moments of a partner's estimated contribution to the margin, for each pair of weight and opinion, shape (pairs,).

    Examples:
        >>> from psephos.scenarios.dpwevote.paper.workloads import make_vote
        >>> law = law_of(make_vote("joint", epsilon=1.0))
        >>> law.means.round(3).tolist()
        [-0.5, 0.5, -1.0, 1.0, -1.5, 1.5]
    """

    means: FloatArray  # the expectation
    variances: FloatArray  # the variance
    thirds: FloatArray  # the third central moment

    @property
    def mean_variance(self) -> float:
        """The unweighted mean of the pairs' variances."""
        return math.fsum((1 / len(TRUE) * self.variances).tolist())


def normal_accuracy(vote: DPWeVote, workload: Workload, num_partners: int) -> float:
    """Return a normal approximation of the accuracy.

    If votes are drawn without a tendency, it is the limit for many partners, ½ + arcsin(ρ)/π (reading W9, after
    Sheppard, 1899). If they are fixed, it includes a term for skewness. Both may be off by some percentage points for
    ten partners.

    Examples:
        >>> from psephos.scenarios.dpwevote.paper.workloads import UNIFORM, make_vote
        >>> round(normal_accuracy(make_vote("two_point", epsilon=1.0), UNIFORM, 100), 3)
        0.608
    """
    law = law_of(vote)
    if workload.is_drawn:
        shares = np.array(workload.shares)
        covariance = (shares * TRUE * law.means).sum()
        of_truth = (shares * np.square(TRUE)).sum()
        of_estimate = (shares * (law.variances + np.square(law.means))).sum()
        return 0.5 + math.asin(covariance / math.sqrt(of_truth * of_estimate)) / math.pi
    numbers = workload.numbers(num_partners)
    passes = chance_of_passing(law, numbers)
    return passes if np.dot(SIGNED_WEIGHTS, numbers) >= 0 else 1 - passes


def chance_of_passing(law: Law, numbers: Sequence[int]) -> float:
    """Return the probability that the estimated margin is at least 0, given the number of partners with each pair.

    It is approximated by the central limit theorem with the first Edgeworth term, for skewness.

    Examples:
        >>> from psephos.scenarios.dpwevote.paper.workloads import make_vote
        >>> law = law_of(make_vote("joint", epsilon=2.0))
        >>> round(chance_of_passing(law, [0, 0, 0, 0, 200, 300]), 2)
        0.96
    """
    partners = np.array(numbers, dtype=np.float64)
    mean, variance, third = (float((partners * moment).sum()) for moment in (law.means, law.variances, law.thirds))
    distance = -mean / math.sqrt(variance)
    density = exp(-square(distance) / 2) / math.sqrt(2 * math.pi)
    skewed = third / (variance * math.sqrt(variance)) / 6 * (square(distance) - 1) * density
    return min(max(normal_probability(-distance) + skewed, 0.0), 1.0)


def expected_quota_error(vote: DPWeVote, *, num_partners: int) -> float:
    """Return the exact MSE_q for independent uniform weights: n·E[Var[q̂ of one | w₁]/(w₁ + … + wₙ)²].

    Examples:
        >>> from psephos.scenarios.dpwevote.paper.workloads import make_vote
        >>> round(expected_quota_error(make_vote("laplace", epsilon=1.0), num_partners=10), 3)
        0.211
    """
    weights = np.array(vote.parameters.weights, dtype=np.int64)
    phase = vote.phases[0]
    if isinstance(phase.mechanism, FiniteMechanism):
        channel = np.array(phase.mechanism.channel_matrix())
        # The quota is a sum over reports, so the protocol computes it for a single report.
        outcomes: list[Any] = [phase.outcome([Tally(1, report)]) for report in np.eye(channel.shape[1], dtype=np.int64)]
        quotas = np.array([outcome.quota.value for outcome in outcomes])
        variances: FloatArray | float = channel @ np.square(quotas) - np.square(channel @ quotas)
    else:
        grids = LaplaceGrids(vote.parameters)
        variances = grids.weight.noise_variance * square(vote.parameters.fraction * grids.weight_step)
    step = np.isin(np.arange(int(weights[-1]) + 1), weights) / len(weights)
    law_of_others = functools.reduce(np.convolve, [step] * (num_partners - 1), np.ones(1))
    totals = np.flatnonzero(law_of_others)
    inverse_squares = (law_of_others[totals] / np.square(weights[:, None] + totals)).sum(axis=1)
    return num_partners * math.fsum((variances * inverse_squares).tolist()) / len(weights)


@functools.cache
def law_of(vote: DPWeVote) -> Law:
    """Return the exact moments of a contribution, in a vote from `make_vote`.

    Examples:
        >>> from psephos.scenarios.dpwevote.paper.workloads import make_vote
        >>> round(law_of(make_vote("two_point", epsilon=1.0)).mean_variance, 2)
        9.37
    """
    inputs = inputs_of_pairs(vote)
    channels = [
        np.array(phase.mechanism.channel_matrix())[inputs.private[:, phase.columns][:, 0]]
        for phase in vote.phases
        if isinstance(phase.mechanism, FiniteMechanism)
    ]
    if channels:
        # All possible reports of a partner with their probabilities; one column for each phase.
        sizes = [channel.shape[1] for channel in channels]
        reports = np.indices(sizes).reshape(len(sizes), -1, 1)
        contributions = vote.contributions([*reports], np.empty((reports.shape[1], 0), dtype=np.int64))[:, 0]
        chances = [channel[:, report[:, 0]] for channel, report in zip(channels, reports, strict=True)]
        law = np.ascontiguousarray(math.prod(chances))  # the last bits of row sums depend on the memory layout
        means = (law * contributions).sum(axis=1)
        centered = contributions - means[:, None]
        return Law(means, (law * np.square(centered)).sum(axis=1), (law * centered**3).sum(axis=1))
    # A partner adds (w + X)·(a + Y), X and Y symmetric noise and a = φ − τ. Its deviation from w·a is wY + aX + XY,
    # with the square w²·E[Y²] + a²·E[X²] + E[X²]·E[Y²] and the cube 6·wa·E[X²]·E[Y²] on average.
    grids = LaplaceGrids(vote.parameters)
    means = vote.contributions([inputs.private[:, phase.columns] for phase in vote.phases], inputs.public)[:, 0]
    of_weight = grids.weight.noise_variance * square(grids.weight_step)
    of_opinion = grids.opinion.noise_variance * square(grids.opinion_step)
    opinions = np.tile([0.0, 1.0], len(vote.parameters.weights)) - vote.parameters.fraction
    weights = vote.parameters.weights[0] + grids.weight_step * np.repeat(grids.weights_on_grid, 2)
    variances = np.square(weights) * of_opinion + np.square(opinions) * of_weight + of_weight * of_opinion
    return Law(means, variances, 6 * means * of_weight * of_opinion)
