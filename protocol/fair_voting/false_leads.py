"""How likely any wrong winner leads all others by so much: bounds for every truth, as a whole and not pair by pair.

Let merits be estimated with independent noise of one law, b the best in truth and every other one no better. A wrong
winner leads the second, T, by c or more. With p(y) = P[merit + noise > y] and h(y) = p(y + c)/p(y) of an alternative as
good as b, h falls where p is log-concave, and whoever is worse has no more of either: so the chance of a wrong winner
with that lead is E[h(T)] over wrong winners at most. Let f and F be the law of b's estimate and N(y) how many of the
others are above y:

    E[h(T)] = ∫ f·h·P[N ≥ 1] − F·(−h')·P[N ≥ 2] dy

The others are independent, each above y with p(y) at most. The integrand is affine in each of these probabilities, so
that it is greatest where k of them are p(y) and the others 0: the greatest over k, at each y, is a bound for every
truth. With one other it is the chance that it leads b by c, exactly. So what many others cost is only where several
have to be near: nothing where noise is nearly normal, up to 29 % at 5 % where it is one draw of Laplace noise, in place
of the m − 1 times of a sum over pairs.

p is log-concave: Laplace draws have a log-concave density, and their sums; noise shares a log-concave law on their
grid. The integral is an upper sum over a grid, on which h falls by steps, and which is an identity for such an h as
well.

Where merits are −|D + e| and e is a sum of Laplace draws, p is log-concave as well, since |D + e| ≤ x is convex in e
and x (Prékopa 1973). A draw of scale β has the kernel f(x − D) + f(x + D) = e^(−max/β)·cosh(min/β)/β of x, D ≥ 0,
which is totally positive of order 2, and so are compositions of such kernels (Karlin), which are the kernels of sums.
So |D + e| has a monotone likelihood ratio in |D|, P[|D + e| ≤ x] is totally positive, and p and h at |D_b| bound
those of all others. Of |D_b| the greatest bound is searched: moving all D by δ at most moves each |D + e| by δ, and a
lead by 2δ, so that for |D_b| from t to t + δ the bound at t for c − 2δ holds; intervals are halved until that is no
more than the worst. Beyond a distance t, leads are those of D + e, but where somebody is at −c or beyond: by one of m
with P[e ≥ t + c] at most.

Source: ours. Gutmann and Maymin, Is the selected population the best?, Annals of Statistics 1987, have one other as
the worst case for the test of two; Karlin, Total Positivity, 1968, for the composition.
"""

import functools
import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..estimators.noise_tails import GRID, NoisePart, NoiseTails, reach_of_steps

_ERROR: Final = 2.0**-24
"""More than the error of a tail that is added up."""
_FARTHEST: Final = 12.0
"""The ends of the grid, in standard deviations: beyond is less than `_ERROR`."""
_FIRST_PARTS: Final = 8
"""The parts of a lead that distances are apart at first, and what those near the worst are halved to."""
_LAST_PARTS: Final = 512
_LEAD_GRAINS: Final = 4
"""Steps of the grid to which leads are rounded down, a fiftieth of a standard deviation: many sessions ask for one."""
_UNSEEN: Final = 2.0**-26
"""The chance that the fractional parts of two alternatives' noise are farther from 0 than they are taken for."""
_NO_TURN: Final = 2.0**-6
"""The greatest share of the bound that is added for whoever is beyond 0."""


class FalseLeads(NamedTuple):
    """The chance that any wrong winner leads all others.

    Args:
        parts: the noise of one alternative's merit, or of its difference of two groups.
        is_folded: whether merits are −|D + noise|, and else what is estimated itself.
    """

    parts: tuple[NoisePart, ...]
    is_folded: bool

    def chance(self, lead: float, num_others: int) -> float:
        """Return how likely any wrong winner leads all others by so much, at most.

        Args:
            lead: > 0.
            num_others: the alternatives but for the best, at least 1.

        Returns:
            In (0, 1].

        Examples:
            >>> leads = FalseLeads((NoisePart(1.0, 2.0),), is_folded=False)
            >>> one, nine = leads.chance(7.0, 1), leads.chance(7.0, 9)
            >>> nine / one < 1.05
            True
        """
        tails = _tails_of(self.parts)
        # Draws on a grid lead by no less than draws on the continuum but for the fractional parts of both. The tails of
        # shares are those of shares and something within a step.
        both = reach_of_steps([part for part in self.parts if not part.is_of_shares] * 2)
        blur = max((part.step for part in self.parts if part.is_of_shares), default=0.0)
        sought = (lead - both) / tails.deviation
        grains = math.floor(sought / tails.spacing)
        if grains < _FIRST_PARTS + _LEAD_GRAINS:
            return 1.0
        blurred = math.ceil(blur / tails.deviation / tails.spacing)
        chance = _chance_of_lead(self, grains - grains % _LEAD_GRAINS, num_others, blurred)
        chance += (num_others + 1) ** 2 * _UNSEEN
        return min((math.ceil(chance / GRID) + 1) * GRID, 1.0)  # a processor's last bits do not show


@functools.lru_cache(maxsize=4096)
def _chance_of_lead(leads: FalseLeads, lead: int, num_others: int, blurred: int) -> float:
    """Return the bound for a lead in steps of the grid, which many sessions ask for."""
    tails = _tails_of(leads.parts)
    located = _located_chance(tails, lead, num_others, blurred)
    if not leads.is_folded:
        return located
    # The best one's difference may be at any distance from 0. From a distance on signs do not change.
    width, end = lead // _FIRST_PARTS, 0
    while (num_others + 1) * tails.tail(end + lead) > _NO_TURN * located and end < tails.farthest:
        end += width
    worst = located + (num_others + 1) * tails.tail(end + lead)
    open_places = [(place, width) for place in range(0, end, width)]
    while open_places:
        place, width = open_places.pop()
        chance = _chance_at_distance(tails, place, lead - 2 * width, num_others)
        if chance <= worst:
            continue
        if width * _LAST_PARTS <= lead or width == 1:
            worst = chance
        else:
            half = width // 2
            open_places += [(place, half), (place + half, width - half)]
    return worst


@functools.lru_cache(maxsize=64)
def _tails_of(parts: tuple[NoisePart, ...]) -> NoiseTails:
    return NoiseTails.from_parts(parts, _FARTHEST)


def _located_chance(tails: NoiseTails, lead: int, num_others: int, blurred: int) -> float:
    """Return the bound where all merits have one noise.

    Args:
        tails: of the noise.
        lead: in steps of their grid, as all numbers here.
        num_others: the alternatives but for the best.
        blurred: how far the tails' law may be from the noise's, which is on a grid itself.
    """
    places = np.arange(-tails.farthest, tails.farthest + 1)
    above, below = tails.tails(places - blurred), tails.tails(places + blurred)
    ratios = (tails.tails(places + lead - blurred) + _ERROR) / np.maximum(below - _ERROR, _ERROR)
    return _greatest_sum(above, ratios, (1 - below, 1 - above), num_others)


def _chance_at_distance(tails: NoiseTails, distance: int, lead: int, num_others: int) -> float:
    """Return the bound where the best merit is −`distance`, and merits are −|D + noise|."""
    sizes = np.arange(distance + tails.farthest, -1, -1, dtype=np.int64)

    def chance_within(size: IntArray) -> FloatArray:  # P[|D + e| <= size]
        near = np.maximum(size, 0)
        return np.where(size > 0, 1 - tails.tails(near - distance) - tails.tails(near + distance), 0.0)

    above, ahead = chance_within(sizes), chance_within(sizes - lead)
    ratios = np.where(ahead > 0, (ahead + _ERROR) / np.maximum(above - _ERROR, _ERROR), 0.0)
    return _greatest_sum(above, ratios, (1 - above, 1 - above), num_others)


def _greatest_sum(above: FloatArray, ratios: FloatArray, below: Sequence[FloatArray], num_others: int) -> float:
    """Return a bound on E[h(T)] over wrong winners, as an upper sum.

    Args:
        above: p at points of a grid, ascending.
        ratios: bounds on h at these.
        below: how likely the best one's estimate is below the points, at most and at least.
        num_others: the alternatives but for the best.
    """
    falling = np.minimum(np.minimum.accumulate(ratios), 1.0)
    most, least = below
    masses = np.diff(most, append=1.0)
    drops = np.abs(np.diff(falling, prepend=1.0)) * least  # no −0, by which a quotient would have the other sign
    # One more than k at p adds p(1 − p)^(k − 1)·[gain·(1 − p) − drop·k·p].
    gains, not_above = masses * falling, 1 - above
    with np.errstate(divide="ignore", invalid="ignore"):
        turning = np.ceil(np.nan_to_num(gains * not_above / (drops * above), nan=1.0, posinf=num_others))
    times = np.clip(turning, 1, num_others)
    nobody = not_above**times
    several = 1 - nobody - times * above * not_above ** (times - 1)
    return float(most[0] + np.sum(np.maximum(gains * (1 - nobody) - drops * several, 0.0)))
