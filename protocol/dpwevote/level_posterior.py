"""How probably a decision is wrong where partners have an ε of their own.

A sum of reports by several ε is no normal number about the margin: few reports of a small ε may be nearly all of its
noise. But what each report says of its own partner is known. Let all weights of the set be alike frequent, and each
partner say "yes" with probability q. Reports then are independent, with a likelihood that is a product over them, and
given q and a report the mean and the variance of a partner's signed weight are known as well; the margin is their sum,
which is taken for normal. Under the prior `uniform` q is uniform on [0, 1]; under `coins` it is ½ (`error_prior`).
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import scipy as sp

from ..arrays import FloatArray, IntArray
from .error_prior import Electorate, ErrorPrior

__all__ = ["Posterior"]

_POINTS: Final = 64
"""Values of q that stand for an interval."""
_NEGLIGIBLE: Final = 50.0
"""So much less in the logarithm of a likelihood is nothing."""
_NARROWEST: Final = 1e-9
_LEAST_VARIANCE: Final = 1e-200
# Probabilities are raised to it, so that a processor's last bit does not show.
_GRID: Final = 2.0**-20


class Posterior:
    """What the reports on one candidate say of its margin.

    Args:
        counts: of each level the number of each report, shape (reports,).
        channels: of each level the probabilities of reports, a row for each signed weight.
        values: the signed weight of each group's "no" and "yes", shape (groups, 2).
        places: the row of each in the channels, likewise.
        shares: of the groups, if all weights are alike frequent.
        fixed_quota: what the sum of signed weights is held against.
    """

    def __init__(
        self,
        counts: Sequence[IntArray],
        channels: Sequence[FloatArray],
        *,
        values: FloatArray,
        places: IntArray,
        shares: FloatArray,
        fixed_quota: float,
    ) -> None:
        self._fixed_quota = fixed_quota
        powers = np.stack([np.ones_like(values), values, values * values]) * shares[:, None]
        # For each report that came in, its number; and of "no" and "yes", P[report], E[v; report] and E[v²; report].
        self._counts = np.concatenate([own[own > 0] for own in counts])
        moments = (np.einsum("pgo,gor->opr", powers, channel[places]) for channel in channels)
        seen = [of_level[:, :, own > 0] for of_level, own in zip(moments, counts, strict=True)]
        self._moments = np.concatenate(seen, axis=2)

    def error_probability(self, electorate: Electorate, *, prior: ErrorPrior, passed: bool) -> float:
        """Return the probability that a decision is wrong; a multiple of 2⁻²⁰, rounded up."""
        if electorate.least == electorate.greatest:
            return 0.0 if passed == (electorate.least > electorate.threshold) else 1.0
        threshold = electorate.threshold + self._fixed_quota
        low, high = 0.0, 1.0
        while True:
            ends = np.linspace(low, high, _POINTS + 1)
            logs, wrong = self._at((ends[1:] + ends[:-1]) / 2, threshold, passed=passed)
            # The likelihood has one peak: a sum of logarithms of linear functions is concave.
            near = np.flatnonzero(logs > logs.max() - _NEGLIGIBLE)
            first, last = max(int(near[0]) - 1, 0), min(int(near[-1]) + 2, _POINTS)
            if 2 * (last - first) > _POINTS or high - low < _NARROWEST:
                break
            low, high = float(ends[first]), float(ends[last])
        of_coins, wrong_coins = self._at(np.array([0.5]), threshold, passed=passed)
        greatest = max(float(logs.max()), float(of_coins[0]))
        likely, coins = ((high - low) / _POINTS * (sp.special.expm1(own - greatest) + 1.0) for own in (logs, of_coins))
        coins = coins * _POINTS / (high - low) if prior == "mixed" else 0.0 * coins
        evidence = math.fsum((*likely.tolist(), *coins.tolist()))
        found = math.fsum((*(likely * wrong).tolist(), *(coins * wrong_coins).tolist())) / evidence
        return min(math.ceil(found / _GRID) * _GRID, 1.0)

    def _at(self, shares: FloatArray, threshold: float, *, passed: bool) -> tuple[FloatArray, FloatArray]:
        """Return for each share of "yes" the likelihood's logarithm, and how probably the decision is wrong."""
        no, yes = self._moments
        chances, sums, squares = np.moveaxis((1 - shares[:, None, None]) * no + shares[:, None, None] * yes, 1, 0)
        means = sums / chances
        mean = (means * self._counts).sum(axis=1)
        variance = ((squares / chances - means * means) * self._counts).sum(axis=1)
        away = (threshold - mean) / np.sqrt(np.maximum(variance, _LEAST_VARIANCE))
        logs: FloatArray = np.asarray(sp.special.xlogy(self._counts, chances), dtype=np.float64).sum(axis=1)
        return logs, np.asarray(sp.special.ndtr(away if passed else -away), dtype=np.float64)
