"""Randomized response and other channels on finitely many values: exact, each pair of values tried."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from ....protocol.mechanisms import FiniteMechanism, GeneralizedRandomizedResponse, UnbiasedReport, optimal, two_point
from ..case import Case, Pair
from .sampling import EPSILONS, finite_pairs, local_case

__all__ = ["response_cases"]

_CHOICES: Final = (2, 3, 10)
_SECURE: Final = frozenset({(1.0, 2), (1.0, 10), (8.0, 3)})
"""ε and k that are also drawn with the noise of deployments: a draw takes a thousand times a simulated one's time."""
_WEIGHTS: Final = tuple(map(Fraction, (1, 2, 4, 7)))
"""Numbers to report without bias."""


def response_cases() -> Iterator[Case]:
    """Yield k-RR, and channels that report numbers without bias."""
    for size in _CHOICES:
        for epsilon in EPSILONS:
            mechanism = GeneralizedRandomizedResponse(epsilon, size)
            is_secure = (epsilon, size) in _SECURE
            pairs = _pairs(mechanism, is_secure=is_secure)
            yield local_case(f"{size}-RR, ε = {epsilon:g}", "k-rr", "value", pairs, proven=epsilon)
    for epsilon in EPSILONS:
        for name, make in (("two-point", two_point), ("optimal", optimal)):
            pairs = _reports(make, epsilon)
            yield local_case(f"{name} report, ε = {epsilon:g}", "channels", "value", pairs, proven=epsilon)


def _pairs(mechanism: FiniteMechanism, *, is_secure: bool) -> Callable[[], Sequence[Pair]]:
    low, high = mechanism.value_range
    rows = np.arange(low, high + 1, dtype=np.int64)[:, None]
    return lambda: finite_pairs(mechanism, rows, is_secure=is_secure)


def _reports(make: Callable[..., UnbiasedReport], epsilon: float) -> Callable[[], Sequence[Pair]]:
    def pairs() -> Sequence[Pair]:  # made when it is asked for: the optimal one takes some tenths of a second
        return _pairs(make(_WEIGHTS, epsilon=epsilon).mechanism, is_secure=True)()

    return pairs
