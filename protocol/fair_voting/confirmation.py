"""Tests that the winner is the best, whatever the utilities are: how likely noise alone makes its lead, at most.

A merit is the least of linear functions of the utilities, W − λ(W_k − W_j) over pairs of groups. The winner's estimate
exceeds its merit by no more than the noise of the function that is least in truth, and the best one's falls below its
own by no more than the greatest noise of them all: so its lead is one of a few sums of noise, and the law of these has
no truth in it.

Of randomized reports each of these sums has a proven bound (`report_laws`), and they are added up. A wrong winner is
one of m − 1, and each may be confirmed with a part of the level: proven for any number of alternatives and every level.

Of Laplace noise, U the difference of two disparities' noises and V their sum: with two groups, and |Dₐ| ≥ |D_b| in
truth, a leads b by c where U and V are beyond c and c − 2D, or below −c both, which is no likelier than U > c (by
search; of normal noise U and V are independent, and it is proven). Elsewhere the sum's law is drawn. A wrong winner has
to lead every other one, and up to a level of a tenth no case was found in which that is likelier than with two
alternatives (Gutmann and Maymin (1987) prove it for plain means); at larger levels no winner of three or more is
confirmed.
"""

import abc
import functools
from collections.abc import Sequence
from typing import Final

import numpy as np
from scipy.special import gammaincinv

from ..arrays import FloatArray
from ..estimators.noise_tails import NoisePart, tail_of_noise
from ..randomness import philox_rows
from .objective import Objective
from .posteriors import merits_of, num_draws, ranges_of, shares_of
from .report_laws import ReportSums
from .utility_noise import UtilityNoise, quantiles_of

__all__ = ["p_value_of"]

_KEY: Final = 1
"""Of the draws, which are the same in all sessions: they tell of the noise's law alone."""
_GREATEST_LEVEL: Final = 0.1
"""Of three alternatives or more, with Laplace noise."""
_HALVES: Final = 2
"""Ways to be worse than the winner where there is a limit: less good, or out of it; each has half of the level."""


def p_value_of(
    utilities: FloatArray, winner: int, noise: UtilityNoise, *, objective: Objective, sizes: FloatArray
) -> float:
    """Return the least level at which the winner is confirmed, at most ½.

    Args:
        utilities: the estimates, shape (G, m).
        winner: whose.
        noise: of the utilities.
        objective: what is elected.
        sizes: the groups', shape (G,).
    """
    size = utilities.shape[1]
    if noise.sums is not None:
        tails: _Tails = _ReportTails(noise.sums, objective, sizes)
    elif noise.laplace_draws is not None:
        tails = _LaplaceTails(noise, noise.laplace_draws, objective, sizes)
    else:
        return 0.5
    match objective.name:
        case "constrained":
            p_value = _p_value_within_limit(utilities, winner, tails)
        case "welfare_constrained":
            p_value = _p_value_above_floor(utilities, winner, tails)
        case "parity" | "penalized":
            merits = merits_of(utilities[None], objective, sizes)[0]
            lead = float(merits[winner] - np.delete(merits, winner).max())
            p_value = tails.of_lead(lead) if lead > 0 else 0.5
    return tails.of_winner(p_value, size)


class _Tails(abc.ABC):
    """How likely noise alone makes what speaks for a winner.

    Args:
        objective: what is elected.
        sizes: the groups'.
    """

    def __init__(self, objective: Objective, sizes: FloatArray) -> None:
        self.objective = objective
        self.sizes = sizes
        self.shares: FloatArray = sizes / sizes.sum()

    @abc.abstractmethod
    def of_winner(self, p_value: float, size: int) -> float:
        """Return a p-value that holds for the winner against all others, from that against any one.

        Args:
            p_value: against one.
            size: how many alternatives there are.
        """

    @abc.abstractmethod
    def of_lead(self, lead: float, *, of_disparity: bool = False) -> float:
        """Return how likely one alternative's merit is so much above another's which is no less in truth.

        Args:
            lead: > 0.
            of_disparity: whether −ΔW is meant, and not the objective's merit.
        """

    @abc.abstractmethod
    def of_disparity(self, reach: float) -> float:
        """Return how likely a ΔW looks smaller by so much than it is."""

    @abc.abstractmethod
    def of_range(self, reach: float) -> float:
        """Return how likely a ΔW looks larger by so much than it is."""

    @abc.abstractmethod
    def of_welfare(self, reach: float, share: float = 1.0) -> float:
        """Return how likely one alternative's W less `share` of another's looks so much larger than it is."""


class _ReportTails(_Tails):
    """Of randomized reports: proven for every truth."""

    def __init__(self, sums: ReportSums, objective: Objective, sizes: FloatArray) -> None:
        super().__init__(objective, sizes)
        self._sums = sums
        features = [shares_of(own, sizes) for own in objective.partitions] or [np.eye(len(sizes))]
        # W_k − W_j for each two groups of a feature.
        self._differences = np.array(
            [
                one - other
                for shares in features
                for place, one in enumerate(shares)
                for other in np.delete(shares, place, 0)
            ]
        )

    def of_winner(self, p_value: float, size: int) -> float:
        return min((size - 1) * p_value, 0.5)

    def of_lead(self, lead: float, *, of_disparity: bool = False) -> float:
        functions = -self._differences
        if self.objective.name == "penalized" and not of_disparity:
            functions = np.unique(self.shares + float(self.objective.fairness_weight) * functions, axis=0)
        number = len(functions)
        own, other = np.repeat(functions, number, axis=0), np.tile(functions, (number, 1))
        each = self._sums.tails(np.stack([own, -other], axis=2), lead).reshape(number, number)
        return float(each.sum(axis=1).max())

    def of_disparity(self, reach: float) -> float:
        return float(self._of_differences(reach).max())

    def of_range(self, reach: float) -> float:
        return float(self._of_differences(reach).sum())

    def of_welfare(self, reach: float, share: float = 1.0) -> float:
        weights = np.stack([self.shares, -share * self.shares], axis=1)
        return float(self._sums.tails(weights[None], reach)[0])

    def _of_differences(self, reach: float) -> FloatArray:
        weights = np.stack([self._differences, np.zeros_like(self._differences)], axis=2)
        return self._sums.tails(weights, reach)


class _LaplaceTails(_Tails):
    """Of Laplace noise, independent between groups and alternatives."""

    def __init__(self, noise: UtilityNoise, draws: Sequence[int], objective: Objective, sizes: FloatArray) -> None:
        super().__init__(objective, sizes)
        self._errors = np.array(noise.errors)
        self._draws = draws

    def of_winner(self, p_value: float, size: int) -> float:
        is_untested = size > 2 and p_value > _GREATEST_LEVEL  # noqa: PLR2004  more than a pair
        return 0.5 if is_untested else min(p_value, 0.5)

    def of_lead(self, lead: float, *, of_disparity: bool = False) -> float:
        objective, groups = self.objective, len(self._errors)
        has_welfare = objective.name == "penalized" and not of_disparity
        if not has_welfare and groups == 2 and not objective.partitions:  # noqa: PLR2004  two groups have one difference
            return self._tail(np.ones(groups), lead, alternatives=2)
        weight = float(objective.fairness_weight) if has_welfare else 1.0
        of_welfare = self.shares if has_welfare else np.zeros(groups)
        ours, theirs = self._noises
        down = weight * ranges_of(theirs[:, :, None], objective, self.sizes)[:, 0] - theirs @ of_welfare
        return _share_beyond(ours @ self._widest(of_welfare, weight) + down, lead)

    def of_disparity(self, reach: float) -> float:
        return self._tail(self._widest(np.zeros(len(self._errors)), 1.0), reach, alternatives=1)

    def of_range(self, reach: float) -> float:
        return _share_beyond(ranges_of(self._noises[0][:, :, None], self.objective, self.sizes)[:, 0], reach)

    def of_welfare(self, reach: float, share: float = 1.0) -> float:
        del share  # e − β·e' spreads no more than e − e' does
        return self._tail(self.shares, reach, alternatives=2)

    def _tail(self, weights: FloatArray, reach: float, *, alternatives: int) -> float:
        """Return how likely a weighted sum of the groups' noises, of one or two alternatives, is so much."""
        scales = np.abs(weights) * self._errors / np.sqrt(2.0 * np.array(self._draws))
        parts = zip(scales.tolist(), self._draws, strict=True)
        return tail_of_noise([NoisePart(scale, alternatives * draws) for scale, draws in parts], reach)

    @functools.cached_property
    def _noises(self) -> tuple[FloatArray, FloatArray]:
        """Draws of the groups' noises for two alternatives, shape (K, G) each."""
        groups = len(self._errors)
        draws = num_draws(groups, 2)
        is_single = max(self._draws) == 1
        uniforms = philox_rows(_KEY, start=0, stop=draws, slots=(2 if is_single else 4) * groups)
        noises = quantiles_of(uniforms[:, : 2 * groups], is_heavy=is_single).reshape(draws, 2, groups)
        if not is_single:
            # A sum of n draws is normal with a variance that is a mean of n exponential ones.
            shapes = np.array(self._draws, dtype=np.float64)
            variances = gammaincinv(shapes, uniforms[:, 2 * groups :].reshape(draws, 2, groups)) / shapes
            noises = noises * np.sqrt(variances)
        noises = noises * self._errors
        return noises[:, 0], noises[:, 1]

    def _widest(self, of_welfare: FloatArray, weight: float) -> FloatArray:
        """Return the weights of the linear function with the most noise: W's, less λ for one group, more for another.

        Args:
            of_welfare: the groups' weights in W.
            weight: λ.
        """
        variances = np.square(self._errors)
        if self.objective.partitions:
            features = [shares_of(own, self.sizes) for own in self.objective.partitions]
            return _widest_of_features(variances, of_welfare, weight, features)
        less = variances * (weight * weight - 2 * weight * of_welfare)
        more = variances * (weight * weight + 2 * weight * of_welfare)
        pairs = [
            (float(less[one] + more[other]), one, other)
            for one in np.argsort(-less, kind="stable")[:2].tolist()
            for other in np.argsort(-more, kind="stable")[:2].tolist()
            if one != other
        ]
        _, one, other = max(pairs)
        weights = of_welfare.copy()
        weights[one] -= weight
        weights[other] += weight
        return weights


def _p_value_within_limit(utilities: FloatArray, winner: int, tails: _Tails) -> float:
    """Return that of `constrained`: the winner is within the limit, and others are not, or have less welfare."""
    objective = tails.objective
    disparities = ranges_of(utilities[None], objective, tails.sizes)[0]
    room = float(objective.max_disparity) - float(disparities[winner])
    if room <= 0:
        return 0.5
    greatest = tails.of_disparity(room)
    welfare = tails.shares @ utilities
    for place in range(utilities.shape[1]):
        if place == winner:
            continue
        ways = [0.5]
        if (lead := float(welfare[winner] - welfare[place])) > 0:
            ways.append(tails.of_welfare(lead))
        if (excess := float(disparities[place]) - float(objective.max_disparity)) > 0:
            ways.append(tails.of_range(excess))
        greatest = max(greatest, _HALVES * min(ways))
    return greatest


def _p_value_above_floor(utilities: FloatArray, winner: int, tails: _Tails) -> float:
    """Return that of `welfare_constrained`: the winner is above the floor, and others are not, or differ more.

    How far an alternative is above β of another one's welfare has the noise of e − β·e'. It is below the floor where it
    is below β of any other one's welfare: each of these has a part of the level.
    """
    size, objective = utilities.shape[1], tails.objective
    welfare = tails.shares @ utilities - float(objective.least_utility)
    disparities = ranges_of(utilities[None], objective, tails.sizes)[0]
    share = float(objective.welfare_share)
    greatest = 0.0
    for place in range(size):
        if place == winner:
            continue
        above = float(welfare[winner] - share * welfare[place])
        if above <= 0:
            return 0.5
        ways = [0.5]
        lacking = max(float(share * welfare[other] - welfare[place]) for other in range(size) if other != place)
        if lacking > 0:
            ways.append((size - 1) * tails.of_welfare(lacking, share))
        if (lead := float(disparities[place] - disparities[winner])) > 0:
            ways.append(tails.of_lead(lead, of_disparity=True))
        greatest = max(greatest, tails.of_welfare(above, share), _HALVES * min(ways))
    return greatest


def _widest_of_features(
    variances: FloatArray, of_welfare: FloatArray, weight: float, features: Sequence[FloatArray]
) -> FloatArray:
    """Do it where features overlap: less λ for one group of a feature, more for another group of the same.

    Args:
        variances: of the crossings' noises.
        of_welfare: the crossings' weights in W.
        weight: λ.
        features: for each feature the crossings' shares of its groups, shape (groups, G).
    """
    found: list[tuple[float, int, int, int]] = []
    for number, shares in enumerate(features):
        # Two groups of a feature have no crossing in common, so that what each adds does not depend on the other.
        alone = np.square(weight * shares) @ variances
        across = 2 * weight * (shares @ (variances * of_welfare))
        less, more = alone - across, alone + across
        found += [
            (float(less[one] + more[other]), number, one, other)
            for one in np.argsort(-less, kind="stable")[:2].tolist()
            for other in np.argsort(-more, kind="stable")[:2].tolist()
            if one != other
        ]
    _, number, one, other = max(found)
    return of_welfare + weight * (features[number][other] - features[number][one])


def _share_beyond(draws: FloatArray, reach: float) -> float:
    """Return a test's p-value by draws: the share that is as far or farther, the released one counted in."""
    return (1 + int(np.count_nonzero(draws >= reach))) / (1 + len(draws))
