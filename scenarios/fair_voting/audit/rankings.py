"""Rankings: a comparison, a position or the whole of one by randomized response, and noisy scores.

Of the first three every pair of rankings is tried, and the law is exact. Noisy scores are farthest apart where one
ranking is the other reversed.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from ....protocol.mechanisms import NoisyScores, RowMechanism, SampledPair, SampledPosition, WholeRanking
from ...audit.case import Case, Pair
from ...audit.mechanisms.sampling import EPSILONS, finite_pairs, local_case, pair_of

__all__ = ["ranking_cases"]

_NUM_ALTERNATIVES: Final = 3
_STEPS: Final = 512
"""Grid steps between neighboring positions' scores at ε ≥ 1: a scale of Borda's noise has 128 or more up to ε = 8."""
_SECURE: Final = frozenset({1.0})
"""ε for which the noise of deployments is audited too."""
_SECURE_SHARES: Final = {"whole": 0.5, "noisy scores": 0.2}
"""Of the outputs asked for, where one takes up to a millisecond with such noise."""


def ranking_cases() -> Iterator[Case]:
    """Yield the four, for each ε."""
    for epsilon in EPSILONS:
        is_secure = epsilon in _SECURE
        finite = {
            "a pair": SampledPair(epsilon, _NUM_ALTERNATIVES),
            "a position": SampledPosition(epsilon, _NUM_ALTERNATIVES),
            "whole": WholeRanking(epsilon, _NUM_ALTERNATIVES),
        }
        pairs = {name: _pairs(mechanism, is_secure=is_secure) for name, mechanism in finite.items()}
        steps = tuple(_STEPS * score for score in range(_NUM_ALTERNATIVES - 1, -1, -1))
        pairs["noisy scores"] = _reversed(NoisyScores(epsilon, steps), is_secure=is_secure)
        for name, own in pairs.items():
            yield local_case(
                f"{name}, m = {_NUM_ALTERNATIVES}, ε = {epsilon:g}",
                "rankings",
                "ranking",
                own,
                proven=epsilon,
                secure_share=_SECURE_SHARES.get(name, 1.0),
            )


def _pairs(mechanism: RowMechanism, *, is_secure: bool) -> Callable[[], Sequence[Pair]]:
    rankings = np.array(list(itertools.permutations(range(_NUM_ALTERNATIVES))), dtype=np.int64)
    return lambda: finite_pairs(mechanism, rankings, is_secure=is_secure)


def _reversed(mechanism: RowMechanism, *, is_secure: bool) -> Callable[[], Sequence[Pair]]:
    ranking = list(range(_NUM_ALTERNATIVES))
    return lambda: [
        pair_of(mechanism, ranking, ranking[::-1], name="a ranking and its reverse", is_secure=is_secure),
    ]
