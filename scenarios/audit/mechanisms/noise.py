"""Laplace noise: of a number, of a row by its l1 distance, of a row by its l2 distance.

Of a number the law is finite, and exact. A row's worst neighbors are as far apart as the sensitivity allows: all in one
coordinate, or spread over all of them. Which are told apart best is for the audit to find. Numbers and rows are held
against their laws, of which that of each number goes down to its tails. Grids are those of sessions: a scale has 128
steps or more.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from ....protocol.mechanisms import DiscreteLaplace, RowMechanism, SphericalLaplace, VectorLaplace
from ..case import Case, LawCheck, Pair
from .checking import checks_of
from .sampling import EPSILONS, PrivateRow, finite_pairs, local_case, pair_of

__all__ = ["noise_cases"]

_STEPS: Final = 128  # grid steps per scale at least, as `laplace_grid` has them
_WIDTH: Final = 3
_SECURE: Final = frozenset({1.0})
"""ε for which the noise of deployments is audited too: a row takes up to a millisecond."""
_ROW_SHARE: Final = 0.3  # of the outputs asked for, where they are rows with such noise


def noise_cases() -> Iterator[Case]:
    """Yield discrete, vector and spherical Laplace noise."""
    for epsilon in EPSILONS:
        scale = _STEPS * max(1.0, 1 / epsilon)
        steps = round(epsilon * scale)
        is_secure = epsilon in _SECURE
        pairs = _of_number(scale, steps, is_secure=is_secure)
        checks = _checks(DiscreteLaplace(scale, 0, steps), [[0], [steps // 2], [steps], [0, steps], [0, 0]])
        yield local_case(f"Laplace, ε = {epsilon:g}", "laplace", "number", pairs, proven=epsilon, law_checks=checks)
        vector = VectorLaplace(scale=scale, sensitivity=steps, bound=steps)
        apart = [steps, *([0] * (_WIDTH - 1))]
        spread = [steps - (_WIDTH - 1) * (steps // _WIDTH), *([steps // _WIDTH] * (_WIDTH - 1))]
        pairs = _of_rows(vector, [apart, spread], is_secure=is_secure)
        name = f"{_WIDTH} × Laplace, ε = {epsilon:g}"
        checks = _checks(vector, [[0] * _WIDTH, apart, spread])
        yield local_case(
            name, "vector-laplace", "row", pairs, proven=epsilon, secure_share=_ROW_SHARE, law_checks=checks
        )
        spherical = SphericalLaplace(scale=scale, sensitivity=steps, bound=steps, dimension=_WIDTH)
        diagonal = [math.floor(steps / math.sqrt(_WIDTH))] * _WIDTH
        pairs = _of_rows(spherical, [apart, diagonal], is_secure=is_secure)
        name = f"spherical, d = {_WIDTH}, ε = {epsilon:g}"
        checks = _checks(spherical, [[0] * _WIDTH, apart, diagonal])
        yield local_case(
            name, "spherical-laplace", "row", pairs, proven=epsilon, secure_share=_ROW_SHARE, law_checks=checks
        )


def _of_number(scale: float, steps: int, *, is_secure: bool) -> Callable[[], Sequence[Pair]]:
    mechanism = DiscreteLaplace(scale, 0, steps)
    ends = np.array([[0], [steps]], dtype=np.int64)  # no two others are farther apart
    return lambda: finite_pairs(mechanism, ends, is_secure=is_secure)


def _checks(mechanism: RowMechanism, rows: Sequence[PrivateRow]) -> Callable[[], Sequence[LawCheck]]:
    return lambda: [check for row in rows for check in checks_of(mechanism, np.array([row], dtype=np.int64))]


def _of_rows(mechanism: RowMechanism, rows: Sequence[PrivateRow], *, is_secure: bool) -> Callable[[], Sequence[Pair]]:
    zero = [0] * _WIDTH
    return lambda: [pair_of(mechanism, zero, row, name=f"{zero} and {row}", is_secure=is_secure) for row in rows]
