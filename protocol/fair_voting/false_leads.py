"""The probability that any wrong winner leads all others by a given amount: bounds for every truth, not pair by pair.

Let merits be estimated with independent noise of one law, and let b be the truly best alternative. A wrong winner leads
the second, with estimate T, by c or more. For an alternative as good as b, let p(y) = P[merit + noise > y] and h(y) =
p(y + c)/p(y). h is decreasing if p is log-concave, and for a worse alternative both are smaller. So the probability of
a wrong winner with this lead is at most E[h(T)] over wrong winners. Let f and F be the density and distribution
function of b's estimate, and N(y) the number of others above y. Then

    E[h(T)] = ∫ f·h·P[N ≥ 1] − F·(−h')·P[N ≥ 2] dy

The others are independent, each above y with probability at most p(y). The integrand is affine in each of these
probabilities, so it is greatest if k of them are p(y) and the others 0. The maximum over k, at each y, is a bound for
every truth. With one other alternative it is exactly the probability that this leads b by c. Many others raise the
bound only where several must be close: not at all for nearly normal noise, and by up to 29 % at the level 5 % for a
single draw of Laplace noise. A sum over pairs would be m − 1 times as large.

p is log-concave: Laplace draws and their sums have a log-concave density, and noise shares a log-concave law on their
grid. The integral is computed as an upper sum over a grid, on which h decreases in steps; the identity holds for such
an h, too.

Now let merits be −|D + e| with e a sum of Laplace draws. p is log-concave, since |D + e| ≤ x is convex in e and x
(Prékopa 1973). A draw of scale β has the kernel f(x − D) + f(x + D) = e^(−max/β)·cosh(min/β)/β of x, D ≥ 0. It is
totally positive of order 2, and so are compositions of such kernels (Karlin), which are the kernels of sums. So |D + e|
has a monotone likelihood ratio in |D|, P[|D + e| ≤ x] is totally positive, and p and h at |D_b| bound those of all
others.

The greatest bound over |D_b| is found by search. Changing all D by at most δ changes each |D + e| by at most δ, and a
lead by at most 2δ. So for |D_b| from t to t + δ, the bound at t for the lead c − 2δ holds; intervals are halved until
this is at most the greatest bound so far. Beyond a distance t, leads are those of D + e, unless some alternative is at
−c or beyond, which has probability at most P[e ≥ t + c] for each of m.

Source: ours. Gutmann and Maymin, Is the selected population the best?, Annals of Statistics 1987, show that one other
alternative is the worst case for the test of two; Karlin, Total Positivity, 1968, for the composition.
"""

import functools
import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..estimators.noise_tails import GRID, NoisePart, NoiseTails, reach_of_steps

_ERROR: Final = 2.0**-24
"""A bound on the error of a tail that is computed by addition."""
_FARTHEST: Final = 12.0
"""The ends of the grid, in standard deviations; the probability beyond is less than `_ERROR`."""
_FIRST_PARTS: Final = 8
"""The first spacing of distances, as a fraction of the lead; intervals near the greatest bound are halved."""
_LAST_PARTS: Final = 512
_LEAD_GRAINS: Final = 4
"""The grid steps, 1/50 of a standard deviation, to which leads are rounded down, so that many sessions share one."""
_UNSEEN: Final = 2.0**-26
"""The probability that the fractional parts of two alternatives' noise exceed the assumed limit."""
_NO_TURN: Final = 2.0**-6
"""The greatest share of the bound that is added for alternatives beyond 0."""


class FalseLeads(NamedTuple):
    """The probability that any wrong winner leads all others.

    Args:
        parts: the noise of one alternative's merit, or of its difference between two groups.
        is_folded: whether merits are −|D + noise|; otherwise they are the estimates themselves.
    """

    parts: tuple[NoisePart, ...]
    is_folded: bool

    def chance(self, lead: float, num_others: int) -> float:
        """Return a bound on the probability that any wrong winner leads all others by this much.

        Args:
            lead: the lead, > 0.
            num_others: the number of alternatives without the best, at least 1.

        Returns:
            The bound, in (0, 1].

        Examples:
            >>> leads = FalseLeads((NoisePart(1.0, 2.0),), is_folded=False)
            >>> one, nine = leads.chance(7.0, 1), leads.chance(7.0, 9)
            >>> nine / one < 1.05
            True
        """
        tails = _tails_of(self.parts)
        # The lead of draws on a grid differs from that of continuous draws only by the fractional parts of both. The
        # tails of shares already allow for a step.
        both = reach_of_steps([part for part in self.parts if not part.is_of_shares] * 2)
        blur = max((part.step for part in self.parts if part.is_of_shares), default=0.0)
        sought = (lead - both) / tails.deviation
        grains = math.floor(sought / tails.spacing)
        if grains < _FIRST_PARTS + _LEAD_GRAINS:
            return 1.0
        blurred = math.ceil(blur / tails.deviation / tails.spacing)
        chance = _chance_of_lead(self, grains - grains % _LEAD_GRAINS, num_others, blurred)
        chance += (num_others + 1) ** 2 * _UNSEEN
        return min((math.ceil(chance / GRID) + 1) * GRID, 1.0)  # rounded up, to hide a processor's last bits


@functools.lru_cache(maxsize=4096)
def _chance_of_lead(leads: FalseLeads, lead: int, num_others: int, blurred: int) -> float:
    """Return the bound for a lead in steps of the grid, which many sessions ask for."""
    tails = _tails_of(leads.parts)
    located = _located_chance(tails, lead, num_others, blurred)
    if not leads.is_folded:
        return located
    # The difference of the best one may have any distance from 0; beyond some distance, signs do not change.
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
    """Return the bound if all merits have noise of one law.

    Args:
        tails: the tails of the noise.
        lead: the lead, in steps of their grid, like all numbers here.
        num_others: the number of alternatives without the best.
        blurred: the greatest difference between noise by the tails' law and the actual noise, which is on a grid.
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
        ratios: bounds on h at these points.
        below: upper and lower bounds on the probability that the best one's estimate is below these points.
        num_others: the number of alternatives without the best.
    """
    falling = np.minimum(np.minimum.accumulate(ratios), 1.0)
    most, least = below
    masses = np.diff(most, append=1.0)
    drops = np.abs(np.diff(falling, prepend=1.0)) * least  # abs avoids −0, which would change the sign of a quotient
    # One more alternative with probability p, in addition to k, adds p(1 − p)^(k − 1)·[gain·(1 − p) − drop·k·p].
    gains, not_above = masses * falling, 1 - above
    with np.errstate(divide="ignore", invalid="ignore"):
        turning = np.ceil(np.nan_to_num(gains * not_above / (drops * above), nan=1.0, posinf=num_others))
    times = np.clip(turning, 1, num_others)
    nobody = not_above**times
    several = 1 - nobody - times * above * not_above ** (times - 1)
    return float(most[0] + np.sum(np.maximum(gains * (1 - nobody) - drops * several, 0.0)))
