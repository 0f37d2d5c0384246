"""Randomized response for heavy partners in a trusted server's sum: its worst case, and the best noise weight.

Laplace noise on a sum is scaled for the heaviest partner, so a few heavy partners make the whole result noisy. If
weights are public, opinions of partners above a *noise weight* may pass through randomized response at ε instead. The
Laplace noise then has the scale (noise weight)/ε. Let p be the probability that an opinion is reported unchanged, q = 1
− p and c = 1/(p − q). A heavy partner of weight w with randomized opinion y adds w·c·y to the sum, and the public
number w·c·q is subtracted. This is unbiased, with variance w²·p·q·c².

**Privacy.** A heavy partner's opinion is protected by its randomized response, a light one's by the Laplace noise. All
draws are independent, and the release is computed from them. So each partner loses at most ε for each candidate
(`mechanisms.response_sum`).

**Worst case.** If a heavy partner says yes, its part has the error w·c·q with probability p, and −w·c·p with
probability q; if it says no, the opposites. Let an adversary choose each heavy partner's opinion after seeing the
errors of the earlier parts. It does at least as well as any truth, since a truth is a choice that ignores them. Its
best probability to push the sum by r or more is V₀(r) = P[noise ≥ r], Vᵢ(r) = max over yes and no of E Vᵢ₋₁(r − part).
This is computed on a grid, as an upper bound: parts are rounded to the grid, the sum of all rounding errors is added to
r, and values beyond the grid count as its end.

**The noise weight** is chosen before the vote, from public weights alone. It maximizes the probability of the right
decision if all partners say yes independently, with the quota's share as probability, which makes votes close. This
probability is exact if all weights add up to few units; otherwise weights are rounded to 1/`_UNITS` of their total.
"""

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import scipy as sp

from ..arrays import FloatArray, IntArray
from ..elementary import exp, ln, square
from ..estimators.adaptive_sums import expected_chance
from ..estimators.sum_tests import Alike, decisive_reach
from ..mechanisms import GeneralizedRandomizedResponse, VectorLaplace

_UNITS: Final = 256
_MOST_TRIED: Final = 16
_CELLS: Final = 1 << 16  # of the grid for the worst case, on either side of 0
_FARTHEST: Final = 14.0  # the reach of the grid, in standard deviations
_MOST_STEPWISE: Final = 1_000
"""The most heavy partners for the grid; with more, Chernoff's bound is used."""
_MORE: Final = 1 + 1e-9  # covers rounding errors
_SLACK: Final = 2.0  # noise weights with more than this times the variance of noise for all are skipped
_ALIKE: Final = 1e-9


@functools.lru_cache(maxsize=64)
def reach_of_sum(
    gains: tuple[int, ...], numbers: tuple[int, ...], noise: VectorLaplace | None, *, keep: float, level: float
) -> int:
    """Return a bound on the error of a sum from noise and heavy partners' reports, exceeded with at most `level`.

    Args:
        gains: for each kind of heavy partner, the number that a reported yes adds, in steps.
        numbers: the number of partners of each kind.
        noise: the noise on the sum; None if all partners are heavy.
        keep: the probability that an opinion is reported unchanged.
        level: the probability, below ½.

    Returns:
        The error in steps, for either side, and for every truth.

    Examples:
        >>> noise = VectorLaplace(scale=100.0, sensitivity=1, bound=1)
        >>> noise.reach_of(0.05), reach_of_sum((200,), (1,), noise, keep=0.9, level=0.05)
        (231, 262)
    """
    kinds = [(gain, number) for gain, number in zip(gains, numbers, strict=True) if number]
    if not kinds:
        return 0 if noise is None else noise.reach_of(level)
    if sum(number for _, number in kinds) > _MOST_STEPWISE:
        parts = level if noise is None else level / 2
        channel = ((keep, 1 - keep), (1 - keep, keep))
        reach = decisive_reach([Alike((0.0, float(gain)), channel, number) for gain, number in kinds], parts)
        return math.ceil(reach) + (0 if noise is None else noise.reach_of(parts))
    variance = 0.0 if noise is None else noise.noise_variance
    variance += keep * (1 - keep) * math.fsum(square(float(gain)) * number for gain, number in kinds)
    cell = math.sqrt(variance) * (_FARTHEST - ln(level)) / _CELLS
    chances, rounded = _chance_beyond(noise, cell), 0.0
    for gain, number in kinds:
        ends = [round(gain * chance / cell) for chance in (1 - keep, keep)]
        off = max(abs(end - gain * chance / cell) for end, chance in zip(ends, (1 - keep, keep), strict=True))
        rounded += number * off
        for _ in range(number):
            near, far = ends
            of_yes = expected_chance(chances, (near, -far), (keep, 1 - keep))
            chances = np.maximum(of_yes, expected_chance(chances, (far, -near), (1 - keep, keep)))
    is_rare = chances * _MORE <= level
    cells = int(np.argmax(is_rare)) - _CELLS if is_rare.any() else _farthest_cell(kinds, noise, keep, level, cell)
    return math.ceil((cells + rounded) * cell * _MORE) + 1


def _chance_beyond(noise: VectorLaplace | None, cell: float) -> FloatArray:
    """Return a bound on P[noise ≥ r] for r = −`_CELLS` to `_CELLS` cells: a^r/(1 + a), by the other side's below 0."""
    reaches = np.arange(-_CELLS, _CELLS + 1) * cell
    if noise is None:
        return (reaches <= 0).astype(np.float64)
    spread, rate = 1 + exp(-1 / noise.scale), -1 / (noise.scale * ln(2.0))
    far = sp.special.exp2(np.where(reaches > 0, reaches, 1 - reaches) * rate) / spread
    return np.where(reaches > 0, far, 1 - far)


def _farthest_cell(
    kinds: Sequence[tuple[int, int]], noise: VectorLaplace | None, keep: float, level: float, cell: float
) -> int:
    """Return a reach in cells where the grid has none: all heavy partners' parts, and the noise by itself."""
    parts = keep * math.fsum(gain * number for gain, number in kinds)
    return math.ceil((parts + (0 if noise is None else noise.reach_of(level)) + 1) / cell)


@functools.lru_cache(maxsize=256)
def decision_chances(
    weights: tuple[float, ...], numbers: tuple[int, ...], *, epsilon: float, share: float
) -> Mapping[float, float]:
    """Return the probability of the right decision by noise weight: the heaviest partner's, lighter ones, and 0.

    At the first, noise protects all partners. At 0, all opinions pass through randomized response, as in `joint`. Noise
    weights with a much greater variance than the first are skipped; of many, only some are computed.

    Args:
        weights: the public set, increasing.
        numbers: the number of partners with each weight.
        epsilon: ε for each candidate, in nats.
        share: the quota's share of all weight, and the probability that a partner says yes.

    Examples:
        >>> chances = decision_chances((1.0, 10.0), (50, 1), epsilon=2.0, share=0.5)
        >>> {weight: round(chance, 3) for weight, chance in chances.items()}
        {10.0: 0.792, 1.0: 0.853, 0.0: 0.831}
    """
    partner_weights = np.repeat(np.array(weights)[::-1], np.array(numbers, dtype=np.int64)[::-1])
    if not len(partner_weights):
        return {}
    keep = GeneralizedRandomizedResponse(epsilon, 2).keep_probability
    units, per_weight, is_exact = _units_of(partner_weights)
    tables = _Tables(units, is_exact=is_exact, keep=keep, share=share)
    own_variance = keep * (1 - keep) / square(2 * keep - 1)
    squares = np.concatenate([[0.0], np.cumsum(partner_weights * partner_weights)])
    chances: dict[float, float] = {}
    firsts = [0, *(np.flatnonzero(np.diff(partner_weights)) + 1).tolist()]
    for first in _thinned(firsts):
        heaviest = float(partner_weights[first])
        variance = 2 * square(heaviest / epsilon) + own_variance * float(squares[first])
        if variance <= _SLACK * 2 * square(partner_weights[0] / epsilon):
            chances[heaviest] = tables.chance(first, per_weight * heaviest / epsilon)
    chances[0.0] = tables.chance(len(partner_weights), 0.0)
    return chances


def _thinned(places: Sequence[int]) -> Iterator[int]:
    """Yield places: all of few, and of more ever fewer."""
    ordinals = {min(round(1.3**power), len(places)) for power in range(_MOST_TRIED * 2)}
    for number, place in enumerate(places, start=1):
        if len(places) <= _MOST_TRIED or number in ordinals or number < _MOST_TRIED // 2:
            yield place


def _units_of(partner_weights: FloatArray) -> tuple[IntArray, float, bool]:
    """Return the weights in units, `_UNITS` at most in all, how many a weight of 1 has, and whether that is exact."""
    least = float(partner_weights[-1])
    ratios = partner_weights / least
    if np.all(ratios == np.rint(ratios)) and ratios.sum() <= _UNITS:
        return ratios.astype(np.int64), 1 / least, True
    per_weight = _UNITS / float(partner_weights.sum())
    return np.diff(np.rint(np.cumsum(partner_weights) * per_weight), prepend=0.0).astype(np.int64), per_weight, False


class _Tables:
    """The joint law of what heavy partners say and report, and the law of what light ones say, in units."""

    def __init__(self, units: IntArray, *, is_exact: bool, keep: float, share: float) -> None:
        self._units, self._is_exact, self._keep, self._share = units, is_exact, keep, share
        self._total = int(self._units.sum())
        self._joint = np.ones((1, 1))
        self._first = 0
        # By index: the law of the summed opinions of the partners from this index on.
        self._light: dict[int, FloatArray] = {len(self._units): np.ones(1)}
        law = np.ones(1)
        for place in np.flatnonzero(self._units)[::-1].tolist():
            unit = int(self._units[place])
            law = np.concatenate([law * (1 - share), np.zeros(unit)]) + np.concatenate([np.zeros(unit), law * share])
            self._light[place] = law
        self._places: list[int] = sorted(self._light)

    def chance(self, first: int, scale: float) -> float:
        """Return the chance of the right decision if partners before a place are heavy, with noise of this scale."""
        for unit in self._units[self._first : first].tolist():
            if unit:
                self._add(unit)
        self._first = first
        light = self._light[next(place for place in self._places if place >= first)]
        heavy = self._joint  # axes: opinions, reports
        quota = self._share * self._total
        supports = np.arange(len(light))
        reported = (np.arange(heavy.shape[1]) - (1 - self._keep) * (heavy.shape[1] - 1)) / (2 * self._keep - 1)
        beyond = supports[:, None] + reported - quota
        passes = _chance_to_pass(beyond, scale, is_whole=self._is_exact and not first) * light[:, None]
        # If the heavy partners' opinions sum to T, it passes if the light ones' sum to ⌈quota − T⌉ or more.
        sums = np.concatenate([np.zeros((1, passes.shape[1])), np.cumsum(passes, axis=0)])
        masses = np.concatenate([[0.0], np.cumsum(light)])
        least = np.clip(np.ceil(quota - np.arange(len(heavy)) - _ALIKE), 0, len(light)).astype(np.int64)
        right = (sums[-1] - sums[least]) + masses[least][:, None] - sums[least]
        return float((heavy * right).sum())

    def _add(self, unit: int) -> None:
        size = len(self._joint)
        wider = np.zeros((size + unit, size + unit))
        for says, chance in ((1, self._share), (0, 1 - self._share)):
            for reports in (0, 1):
                probability = self._keep if says == reports else 1 - self._keep
                rows, columns = says * unit, reports * unit
                wider[rows : rows + size, columns : columns + size] += chance * probability * self._joint
        self._joint = wider


def _chance_to_pass(beyond: FloatArray, scale: float, *, is_whole: bool) -> FloatArray:
    """Return P[number + Laplace noise ≥ 0] of each number; of whole numbers with noise on them, or on the continuum."""
    if not scale:
        return (beyond >= -_ALIKE).astype(np.float64)
    step = float(is_whole)
    missing, spread = np.ceil(-beyond - _ALIKE) if is_whole else -beyond, 1 + exp(-step / scale)
    # numpy's last bits may depend on the processor, but choices ignore such small differences, so scipy is not needed.
    far = np.exp(np.where(missing > 0, missing, step - missing) / -scale) / spread
    return np.where(missing > 0, far, 1 - far)
