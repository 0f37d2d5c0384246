"""Tests that the winner is the best, whatever the utilities are: how likely noise alone makes its lead, at most.

A merit is the least of linear functions of the utilities, W − λ(W_k − W_j) over pairs of groups. The winner's estimate
exceeds its merit by no more than the noise of the function that is least in truth, and the best one's falls below its
own by no more than the greatest noise of them all: so its lead is one of a few sums of noise, and the law of these has
no truth in it (`report_laws`). Their probabilities are added up, and the greatest sum over the functions counts.

With two functions that differ in their sign alone (of two groups, and parity) one of the sums is enough, if the noises
of two alternatives have one law, symmetric, with one mode: see `docs/fair-voting-proofs-verdicts.md`.

A wrong winner is one of m − 1, and each may be confirmed with a part of the level: proven for any number of
alternatives and every level.
"""

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray, IntArray
from .objective import Objective
from .posteriors import merits_of, ranges_of, shares_of
from .report_laws import LaplaceSums, ReportSums
from .utility_noise import UtilityNoise

_MOST_FUNCTIONS: Final = 32
"""So many, which six groups have, are held each against each."""
_CLEAR: Final = 1 + 2.0**-10
"""By so much a p-value differs from the level, so that the law of Laplace noise is sure of any farther lead."""
_CLEAR_OF_BOUNDS: Final = 2.0
"""The same of the bounds of reports' sums."""
_HALVES: Final = 2
"""Ways to be worse than the winner where there is a limit: less good, or out of it; each has half of the level."""


def p_value_of(
    utilities: FloatArray, winner: int, noise: UtilityNoise, *, objective: Objective, sizes: FloatArray
) -> float:
    """Return the least level at which the winner is confirmed, at most ½.

    Args:
        utilities: the estimates, shape (G, m).
        sizes: the groups', shape (G,).
    """
    if noise.sums is None:
        return 0.5
    tails = _Tails(noise.sums, objective, sizes)
    match objective.name:
        case "constrained":
            p_value = _p_value_within_limit(utilities, winner, tails)
        case "welfare_constrained":
            p_value = _p_value_above_floor(utilities, winner, tails)
        case "parity" | "penalized" | "welfare":
            merits = merits_of(utilities[None], objective, sizes)[0]
            lead = float(merits[winner] - np.delete(merits, winner).max())
            p_value = tails.of_lead(lead) if lead > 0 else 0.5
    return min((utilities.shape[1] - 1) * p_value, 0.5)


class Confirming:
    """Which winners the test confirms at a level, of many sessions with one noise.

    Where a lead decides, its p-value falls as it rises: of Laplace noise, whose law is exact, but for rounding, and of
    reports, whose bound is found by a search, but for a part of it. So a lead is as sure as one that is looked at was,
    if that was clear of the level by so much; all others are looked at themselves.

    Args:
        noise: of the estimates; None where nothing is known of it, and nobody is confirmed.
        sizes: the groups', shape (G,).
    """

    def __init__(self, noise: UtilityNoise | None, objective: Objective, sizes: FloatArray, level: float) -> None:
        self._noise, self._objective, self._sizes, self._level = noise, objective, sizes, level
        is_exact = noise is not None and isinstance(noise.sums, LaplaceSums)
        self._clear = _CLEAR if is_exact else _CLEAR_OF_BOUNDS
        self._too_little, self._enough = 0.0, math.inf

    def are_confirmed(
        self, utilities: FloatArray, winners: IntArray, exactly: Callable[[int], FloatArray]
    ) -> NDArray[np.bool_]:
        """Return who is confirmed, shape (sessions,).

        Args:
            utilities: the estimates but for rounding, shape (sessions, G, m).
            winners: shape (sessions,).
            exactly: returns the estimates of one session, each rounded once, shape (G, m).
        """
        found = np.zeros(len(winners), dtype=np.bool_)
        if self._noise is None or self._noise.sums is None:
            return found
        is_by_lead = self._objective.name not in {"constrained", "welfare_constrained"}
        leads = np.full(len(winners), math.nan)
        if is_by_lead:
            merits = merits_of(utilities, self._objective, self._sizes)
            rows = np.arange(len(winners))
            own = merits[rows, winners].copy()
            merits[rows, winners] = -math.inf
            leads = own - merits.max(axis=1)
        for place, (lead, winner) in enumerate(zip(leads.tolist(), winners.tolist(), strict=True)):
            if lead >= self._enough:
                found[place] = True
            elif not lead <= self._too_little:
                given = {"objective": self._objective, "sizes": self._sizes}
                p_value = p_value_of(exactly(place), winner, self._noise, **given)
                found[place] = p_value <= self._level
                if is_by_lead and p_value <= self._level / self._clear:
                    self._enough = min(self._enough, lead)
                elif is_by_lead and p_value >= self._level * self._clear:
                    self._too_little = max(self._too_little, lead)
        return found


class _Tails:
    """How likely noise alone makes what speaks for a winner, at most."""

    def __init__(self, sums: ReportSums | LaplaceSums, objective: Objective, sizes: FloatArray) -> None:
        self.objective = objective
        self.sizes = sizes
        self.shares: FloatArray = sizes / sizes.sum()
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
            or np.zeros((1, len(sizes)))  # one group alone
        )

    def of_lead(self, lead: float, *, of_disparity: bool = False) -> float:
        """Return how likely one alternative's merit is so much above another's which is no less in truth.

        Args:
            lead: > 0.
            of_disparity: whether −ΔW is meant, and not the objective's merit.
        """
        functions = -self._differences
        if self.objective.name == "penalized" and not of_disparity:
            functions = self.shares + float(self.objective.fairness_weight) * functions
        functions = np.unique(functions, axis=0)
        number = len(functions)
        if number > _MOST_FUNCTIONS:
            # Either noise is half of the lead, or more.
            each = self._sums.tails(
                np.stack([np.concatenate([functions, -functions]), 0 * np.tile(functions, (2, 1))], axis=2), lead / 2
            )
            return float(each[:number].max() + each[number:].sum())
        own, other = np.repeat(functions, number, axis=0), np.tile(functions, (number, 1))
        each = self._sums.tails(np.stack([own, -other], axis=2), lead).reshape(number, number)
        if isinstance(self._sums, LaplaceSums) and number == 2 and (functions[0] == -functions[1]).all():  # noqa: PLR2004  one up to its sign
            return float(each.max())
        return float(each.sum(axis=1).max())

    def of_disparity(self, reach: float) -> float:
        """Return how likely a ΔW looks smaller by so much than it is."""
        return float(self._of_differences(reach).max())

    def of_range(self, reach: float) -> float:
        """Return how likely a ΔW looks larger by so much than it is."""
        return float(self._of_differences(reach).sum())

    def of_welfare(self, reach: float, more: float = 1.0, less: float = 1.0) -> float:
        """Return how likely so many times one W less so many times another looks so much larger than it is."""
        weights = np.stack([more * self.shares, -less * self.shares], axis=1)
        return float(self._sums.tails(weights[None], reach)[0])

    def _of_differences(self, reach: float) -> FloatArray:
        weights = np.stack([self._differences, np.zeros_like(self._differences)], axis=2)
        return self._sums.tails(weights, reach)


def _p_value_within_limit(utilities: FloatArray, winner: int, tails: _Tails) -> float:
    """Return that of `constrained`: the winner is within the limit, and others are not, or have less welfare."""
    objective = tails.objective
    disparities = ranges_of(utilities[None], objective, tails.sizes)[0]
    room = float(objective.max_disparity) - float(disparities[winner])
    if room <= 0:
        return 0.5
    welfare = tails.shares @ utilities
    leads, excesses = welfare[winner] - welfare, disparities - float(objective.max_disparity)
    either = _either_way(np.delete(leads, winner), tails.of_welfare, np.delete(excesses, winner), tails.of_range)
    return max(tails.of_disparity(room), either)


def _p_value_above_floor(utilities: FloatArray, winner: int, tails: _Tails) -> float:
    """Return that of `welfare_constrained`: the winner is above the floor, and others are not, or differ more.

    How far an alternative is above β of another one's welfare has the noise of e − β·e'. It is below the floor where it
    is below β of any other one's welfare: each of these has a part of the level.
    """
    size, objective = utilities.shape[1], tails.objective
    welfare = tails.shares @ utilities - float(objective.least_utility)
    disparities = ranges_of(utilities[None], objective, tails.sizes)[0]
    share = float(objective.welfare_share)
    others = [place for place in range(size) if place != winner]
    above = float((welfare[winner] - share * welfare[others]).min())
    if above <= 0:
        return 0.5
    lacking = share * np.array([np.delete(welfare, place).max() for place in others]) - welfare[others]
    either = _either_way(
        lacking,
        lambda reach: (size - 1) * tails.of_welfare(reach, more=share),
        disparities[others] - disparities[winner],
        lambda reach: tails.of_lead(reach, of_disparity=True),
    )
    return max(tails.of_welfare(above, less=share), either)


def _either_way(
    reaches: FloatArray, tail: Callable[[float], float], others: FloatArray, tail_of_others: Callable[[float], float]
) -> float:
    """Return the p-value of alternatives that are worse in one way or another, of which each has half of the level.

    Args:
        reaches: how far each is worse in the first way; not where it is 0 or less.
        tail: how likely noise alone makes that.
        others: how far in the other one.
        tail_of_others: likewise.
    """
    greatest, nearest = 0.0, math.inf
    for reach, other in sorted(zip(reaches.tolist(), others.tolist(), strict=True)):
        # Whichever is farther off in both ways is no likelier.
        if other < nearest:
            nearest = other
            ways = [0.5, *([tail(reach)] if reach > 0 else []), *([tail_of_others(other)] if other > 0 else [])]
            greatest = max(greatest, _HALVES * min(ways))
    return greatest
