"""Tests that the winner is the best, for all utilities: bounds on the probability that noise alone makes its lead.

A merit is the minimum of linear functions of the utilities, W − λ(W_k − W_j) over pairs of groups. The estimate of a
wrong winner exceeds its true merit by at most the noise of the function that is the true minimum. The estimate of the
best one is below its true merit by at most the greatest noise of all functions. So the lead is at most one of a few
sums of noise, whose law does not depend on the truth (`report_laws`). Their probabilities are added up, and the
greatest sum over the functions counts.

If there are two functions that differ only in sign (two groups, and parity), one of the sums is enough, provided that
the noises of two alternatives have the same symmetric, unimodal law: see `docs/fair-voting-proofs-verdicts.md`.

A wrong winner is one of m − 1 alternatives. If merits are one function of the estimates, or two with Laplace noise, the
probability that any of them has such a lead is bounded as a whole (`false_leads`). Otherwise each gets a part of the
level. Both tests are proven for any number of alternatives and every level.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray, IntArray
from ..estimators.noise_tails import GRID
from .false_leads import FalseLeads
from .objective import Objective, disparities_of, merits_of, shares_of
from .report_laws import LaplaceSums, UtilityReportSums
from .utility_noise import UtilityNoise

_MOST_FUNCTIONS: Final = 32
"""The most functions that are compared pairwise; six groups have this many."""
_CLEAR: Final = 1 + 2.0**-10
"""The factor between a p-value and the level from which on larger leads with Laplace noise need no computation."""
_CLEAR_OF_SEARCH: Final = 1.05
"""The same factor for the leads of all alternatives together."""
_CLEAR_OF_BOUNDS: Final = 2.0
"""The same factor for bounds on sums of reports."""
_GRAINS: Final = 4
"""The steps of the grid of tails within which a p-value counts as too close to a level."""
_ALONE: Final = frozenset({"lead", "disparity", "above"})
_HALVES: Final = 2
"""With a limit, an alternative is worse than the winner if it is less good or outside of the limit; each has half the
level."""


class _Speaking(NamedTuple):
    """The evidence for winners, each number with the name of its tail in `_Tails.tail_probability`.

    Args:
        lead: the lead that must exceed noise, shape (sessions,).
        others: for each other alternative the ways, of which one must hold, in which it is worse, shape (sessions, m −
            1).
    """

    lead: tuple[str, FloatArray]
    others: tuple[tuple[str, FloatArray], ...] = ()


def p_value_of(
    utilities: FloatArray, winner: int, noise: UtilityNoise, *, objective: Objective, sizes: FloatArray
) -> float:
    """Return the least level at which the winner is confirmed, at most ½.

    Args:
        utilities: the estimates, shape (G, m).
        winner: the index of the winner.
        noise: the noise of the estimates.
        objective: the objective.
        sizes: the sizes of the groups, shape (G,).
    """
    if noise.sums is None:
        return 0.5
    tails = _Tails(noise.sums, objective, sizes, utilities.shape[1])
    return min(max(factor * tail for factor, tail in _parts_of(tails, utilities, winner, {})), 0.5)


def _parts_of(
    tails: "_Tails", utilities: FloatArray, winner: int, tails_found: dict[tuple[str, float], float]
) -> Iterator[tuple[float, float]]:
    """Yield pairs of a factor and a probability; the greatest product is the p-value. Fill in `tails_found`.

    Each way to be worse than the winner has a part of the level.
    """
    speaking = tails.evidence_for(utilities[None], np.array([winner]))

    def tail_chance(name: str, reach: float) -> float:
        tails_found[name, reach] = tails.tail_probability(name, reach) if reach > 0 else 0.5
        return tails_found[name, reach]

    name, lead_reaches = speaking.lead
    tail = tail_chance(name, float(lead_reaches[0]))
    yield tails.num_parts(name), tail
    if tail >= 0.5 or not speaking.others:  # noqa: PLR2004  nothing is more
        return
    (first_name, reaches), (second_name, other_reaches) = speaking.others
    nearest = math.inf
    for reach, other_reach in sorted(zip(reaches[0].tolist(), other_reaches[0].tolist(), strict=True)):
        # An alternative that is farther off in both ways is no more likely.
        if other_reach < nearest:
            nearest = other_reach
            yield (
                tails.num_parts(first_name),
                min(tail_chance(first_name, reach), tail_chance(second_name, other_reach)),
            )


class Confirming:
    """The test of which winners are confirmed at a level, in many sessions with the same noise.

    More evidence for a winner makes noise alone less likely. Tails of Laplace noise are exact up to rounding; those of
    reports are bounds from a search, with a known relative error. So if a computed case is farther from the level than
    this error, every case with more evidence has the same result. All other cases are computed.

    Args:
        noise: the noise of the estimates; None if it is unknown, and then no winner is confirmed.
        objective: the objective.
        sizes: the sizes of the groups, shape (G,).
        level: the level.
    """

    def __init__(
        self,
        noise: UtilityNoise | None,
        objective: Objective,
        sizes: FloatArray,
        *,
        num_alternatives: int,
        level: float,
    ) -> None:
        sums = None if noise is None else noise.sums
        self._tails = None if sums is None else _Tails(sums, objective, sizes, num_alternatives)
        is_exact = isinstance(sums, LaplaceSums)
        is_searched = self._tails is not None and self._tails.false_leads is not None
        self._level = level
        self._clear = _CLEAR_OF_SEARCH if is_searched else _CLEAR if is_exact else _CLEAR_OF_BOUNDS
        # For each tail: up to which number evidence is too weak, and from which on it is enough.
        self._ends: dict[str, list[float]] = defaultdict(lambda: [0.0, math.inf])

    def are_confirmed(
        self, utilities: FloatArray, winners: IntArray, exactly: Callable[[int], FloatArray]
    ) -> NDArray[np.bool_]:
        """Return which winners are confirmed, Boolean, shape (sessions,).

        Args:
            utilities: the estimates up to rounding, shape (sessions, G, m).
            winners: the indices of the winners, shape (sessions,).
            exactly: returns the correctly rounded estimates of one session, shape (G, m).
        """
        confirmed = np.zeros(len(winners), dtype=np.bool_)
        if self._tails is None:
            return confirmed
        speaking = self._tails.evidence_for(utilities, winners)
        open_places = np.arange(len(winners))
        while len(open_places):
            is_enough, is_too_little = self._known_sessions(speaking, open_places)
            confirmed[open_places[is_enough]] = True
            open_places = open_places[~(is_enough | is_too_little)]
            for place in open_places[:1].tolist():
                confirmed[place] = self._look_at(exactly(place), int(winners[place]))
            open_places = open_places[1:]
        return confirmed

    def _known_sessions(self, speaking: _Speaking, places: IntArray) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the sessions whose evidence is known to be enough, and those where it is known to be too little."""
        name, lead_reaches = speaking.lead
        too_little, enough = self._ends[name]
        is_enough, is_too_little = lead_reaches[places] >= enough, lead_reaches[places] <= too_little
        if speaking.others:
            ways = [(reaches[places], *self._ends[way]) for way, reaches in speaking.others]
            is_enough &= np.any([reaches >= most for reaches, _, most in ways], axis=0).all(axis=1)
            is_too_little |= np.all([reaches <= least for reaches, least, _ in ways], axis=0).any(axis=1)
        return is_enough, is_too_little

    def _look_at(self, utilities: FloatArray, winner: int) -> bool:
        """Return whether one winner is confirmed, and keep what is found of the level."""
        assert self._tails is not None  # noqa: S101  else nothing is looked at
        tails_found = dict[tuple[str, float], float]()
        p_value = max(factor * tail for factor, tail in _parts_of(self._tails, utilities, winner, tails_found))
        for (name, reach), tail in tails_found.items():
            level = self._level / self._tails.num_parts(name)
            off, ends = tail - level, self._ends[name]
            if abs(off) > (self._clear - 1) * level + _GRAINS * (utilities.shape[1] - 1) * GRID:
                ends[:] = [max(ends[0], reach), ends[1]] if off > 0 else [ends[0], min(ends[1], reach)]
        return p_value <= self._level


class _Tails:
    """How likely noise alone makes what speaks for a winner, at most."""

    def __init__(
        self, sums: UtilityReportSums | LaplaceSums, objective: Objective, sizes: FloatArray, num_alternatives: int
    ) -> None:
        self.objective = objective
        self.sizes = sizes
        self.shares: FloatArray = sizes / sizes.sum()
        self._sums = sums
        self._num_others = num_alternatives - 1
        features = [shares_of(partition, sizes) for partition in objective.partitions] or [np.eye(len(sizes))]
        # W_k − W_j for each pair of groups of a feature.
        self._differences = np.array(
            [
                first_share - second_share
                for shares in features
                for place, first_share in enumerate(shares)
                for second_share in np.delete(shares, place, 0)
            ]
            or np.zeros((1, len(sizes)))  # a single group
        )
        self.false_leads = self._find_false_leads()

    def _find_false_leads(self) -> FalseLeads | None:
        """Return the law of all wrong winners' leads; None where it is not known, or there are but two alternatives."""
        functions = self._functions(of_disparity=False)
        is_one, is_folded = len(functions) == 1, len(functions) == 2 and (functions[0] == -functions[1]).all()  # noqa: PLR2004  one up to its sign
        if self.objective.name not in {"parity", "penalized"} or not (is_one or is_folded) or self._num_others == 1:
            return None
        if not isinstance(self._sums, LaplaceSums) or not functions[0].any():
            return None
        parts = tuple(part for part in self._sums.noise_of(functions[0]) if part.scale)
        is_of_shares = any(part.is_of_shares for part in parts)
        # Laplace draws of any scales are totally positive; for shares on one grid only log-concavity is known.
        return None if is_of_shares and (is_folded or len(parts) > 1) else FalseLeads(parts, is_folded)

    def num_parts(self, name: str) -> int:
        """Return how many parts the level has for what is called so: of others, and of ways to be worse."""
        if name == "lead" and self.false_leads is not None:
            return 1
        return self._num_others if name in _ALONE else _HALVES * self._num_others

    def _functions(self, *, of_disparity: bool) -> FloatArray:
        """Return the linear functions of which a merit is the least, or −ΔW, a row each."""
        functions = -self._differences
        if self.objective.name == "penalized" and not of_disparity:
            functions = self.shares + float(self.objective.fairness_weight) * functions
        return np.unique(functions, axis=0)

    def evidence_for(self, utilities: FloatArray, winners: IntArray) -> _Speaking:
        """Return the evidence for winners, shape (sessions,), from estimates, shape (sessions, G, m).

        With `constrained`, the winner is within the limit, and others are outside or have less welfare. With
        `welfare_constrained`, the winner is above the floor, and others are below it or have a greater disparity. The
        distance of an alternative's welfare from β times another one's has the noise of e − β·e'. An alternative is
        below the floor if it is below β times the welfare of any other one, so each of these has a part of the level.
        """
        objective, rows, size = self.objective, np.arange(len(winners)), utilities.shape[2]
        if objective.name not in {"constrained", "welfare_constrained"}:
            merits = merits_of(utilities, objective, self.sizes)
            winner_merits = merits[rows, winners]
            return _Speaking(("lead", winner_merits - _loser_numbers(merits, winners).max(axis=1)))
        disparities = disparities_of(utilities, objective, self.sizes)
        if objective.name == "constrained":
            limit = float(objective.max_disparity)
            welfare = self.shares @ utilities
            leads, excesses = welfare[rows, winners][:, None] - welfare, disparities - limit
            ways = (("welfare", _loser_numbers(leads, winners)), ("range", _loser_numbers(excesses, winners)))
            return _Speaking(("disparity", limit - disparities[rows, winners]), ways)
        welfare = self.shares @ utilities - float(objective.least_utility)
        share = float(objective.welfare_share)
        other_welfare = _loser_numbers(welfare, winners)
        floor_reaches = (welfare[rows, winners][:, None] - share * other_welfare).min(axis=1)
        best = np.stack([np.delete(welfare, place, axis=1).max(axis=1) for place in range(size)], axis=1)
        deficits = share * _loser_numbers(best, winners) - other_welfare
        excess_disparities = _loser_numbers(disparities, winners) - disparities[rows, winners][:, None]
        return _Speaking(("above", floor_reaches), (("lacking", deficits), ("more", excess_disparities)))

    def tail_probability(self, name: str, reach: float) -> float:
        """Return how likely noise alone makes so much of what is called so."""
        share = float(self.objective.welfare_share)
        match name:
            case "lead":
                tail = self.lead_probability(reach)
                if self.false_leads is None or tail >= 0.5:  # noqa: PLR2004  nothing is more
                    return tail
                return min(self.false_leads.chance(reach, self._num_others), self._num_others * tail, 0.5)
            case "disparity" | "range":  # ΔW is underestimated by this much, or overestimated
                weights = np.stack([self._differences, np.zeros_like(self._differences)], axis=2)
                tails = self._sums.tails(weights, reach)
                return float(tails.max() if name == "disparity" else tails.sum())
            case "welfare":
                return self.welfare_probability(reach)
            case "above":
                return self.welfare_probability(reach, less=share)
            case "lacking":
                return self._num_others * self.welfare_probability(reach, more=share)
            case _:
                return self.lead_probability(reach, of_disparity=True)

    def lead_probability(self, lead: float, *, of_disparity: bool = False) -> float:
        """Return a bound on the probability of such a lead of an alternative over another that is truly no worse.

        Args:
            lead: the difference of the estimated merits, > 0.
            of_disparity: whether the merit is −ΔW, instead of the objective's merit.
        """
        functions = self._functions(of_disparity=of_disparity)
        number = len(functions)
        if number > _MOST_FUNCTIONS:
            # One of the two noises is at least half of the lead.
            tails = self._sums.tails(
                np.stack([np.concatenate([functions, -functions]), 0 * np.tile(functions, (2, 1))], axis=2), lead / 2
            )
            return float(tails[:number].max() + tails[number:].sum())
        own_functions, other_functions = np.repeat(functions, number, axis=0), np.tile(functions, (number, 1))
        tails = self._sums.tails(np.stack([own_functions, -other_functions], axis=2), lead).reshape(number, number)
        if isinstance(self._sums, LaplaceSums) and number == 2 and (functions[0] == -functions[1]).all():  # noqa: PLR2004  one up to its sign
            return float(tails.max())
        return float(tails.sum(axis=1).max())

    def welfare_probability(self, reach: float, more: float = 1.0, less: float = 1.0) -> float:
        """Return how likely so many times one W less so many times another looks so much larger than it is."""
        weights = np.stack([more * self.shares, -less * self.shares], axis=1)
        return float(self._sums.tails(weights[None], reach)[0])


def _loser_numbers(numbers: FloatArray, winners: IntArray) -> FloatArray:
    """Return each session's numbers but for the winner's, shape (sessions, m − 1)."""
    sessions, size = numbers.shape
    return numbers[np.arange(size) != winners[:, None]].reshape(sessions, size - 1)
