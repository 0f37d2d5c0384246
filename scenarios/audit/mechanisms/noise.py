"""Audits of Laplace noise on a number, and on rows with L1 or L2 sensitivity, and of threshold decisions.

A number's law is finite and exact. A row's worst neighbors are at the distance of the sensitivity, in one coordinate or
spread over all; the audit finds which are distinguished best. Numbers and rows are tested against their laws, including
each number's tails. Grids are those of sessions: a scale has at least 128 steps.
"""

import dataclasses
import functools
import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from ....protocol.mechanisms import (
    DiscreteLaplace,
    GeneralizedRandomizedResponse,
    ResponseSum,
    RowMechanism,
    SphericalLaplace,
    ThresholdDecision,
    VectorLaplace,
)
from ..case import Case, LawCheck, Pair
from .checking import checks_of
from .sampling import EPSILONS, PrivateRow, finite_pairs, local_case, pair_of

_STEPS: Final = 128  # least grid steps per scale, as in `laplace_grid`
_FINE: Final = 3 << 20
"""A scale in steps that is no power of two, too large to test every step of its law."""
_LEAST_OF_FINE: Final = 8_000
"""Enough rows to detect noise that is uniform within blocks of a scale."""
_WIDTH: Final = 3
_SECURE: Final = frozenset({1.0})
"""ε for which the noise of deployments is audited too: a row takes up to a millisecond."""
_MOVED: Final = 3
"""Sensitivity of the number that is compared with a threshold."""
_ROW_SHARE: Final = 0.3  # fraction of the requested outputs, for rows with such noise


def noise_cases() -> Iterator[Case]:
    """Yield discrete, vector and spherical Laplace noise, decisions by a threshold, and sums of responses."""
    for epsilon in EPSILONS:
        scale = _STEPS * max(1.0, 1 / epsilon)
        steps = round(epsilon * scale)
        is_secure = epsilon in _SECURE
        number = DiscreteLaplace(scale, 0, steps)
        ends = np.array([[0], [steps]], dtype=np.int64)  # the two values at the greatest distance
        yield local_case(
            f"Laplace, ε = {epsilon:g}",
            "laplace",
            "number",
            functools.partial(finite_pairs, number, ends, is_secure=is_secure),
            proven=epsilon,
            law_checks=functools.partial(_checks, number, [[0], [steps // 2], [steps], [0, steps], [0, 0]]),
        )
        decision = ThresholdDecision(scale=1 / epsilon, sensitivity=_MOVED, bound=10 * _MOVED, passing=2, failing=-3)
        sides = np.array([[_MOVED - 1], [-1]], dtype=np.int64)
        yield local_case(
            f"threshold, ε = {epsilon:g}",
            "threshold",
            "number",
            functools.partial(finite_pairs, decision, sides, is_secure=is_secure),
            proven=epsilon,
            law_checks=functools.partial(_checks, decision, [[-30], [-9], [-1], [0], [7], [30]]),
        )
        response = GeneralizedRandomizedResponse(epsilon, 2)
        response_sum = ResponseSum(None, response, gains=(4, 9), numbers=(2, 1), width=1)
        yield local_case(
            f"sum of responses, ε = {epsilon:g}",
            "response-sum",
            "number",
            functools.partial(finite_pairs, response_sum, np.array([[0, 1, 0], [0, 1, 1]]), is_secure=is_secure),
            proven=epsilon,
            law_checks=functools.partial(_checks, response_sum, [[0, 0, 0], [0, 1, 1], [0, 2, 0]]),
        )
        distant_row = [steps, *([0] * (_WIDTH - 1))]
        spread = [steps - (_WIDTH - 1) * (steps // _WIDTH), *([steps // _WIDTH] * (_WIDTH - 1))]
        diagonal = [math.floor(steps / math.sqrt(_WIDTH))] * _WIDTH
        vector = VectorLaplace(scale=scale, sensitivity=steps, bound=steps)
        spherical = SphericalLaplace(scale=scale, sensitivity=steps, bound=steps, dimension=_WIDTH)
        for name, group, mechanism, other in (
            (f"{_WIDTH} × Laplace", "vector-laplace", vector, spread),
            (f"spherical, d = {_WIDTH}", "spherical-laplace", spherical, diagonal),
        ):
            yield local_case(
                f"{name}, ε = {epsilon:g}",
                group,
                "row",
                functools.partial(_pairs, mechanism, [distant_row, other], is_secure=is_secure),
                proven=epsilon,
                secure_share=_ROW_SHARE,
                law_checks=functools.partial(_checks, mechanism, [[0] * _WIDTH, distant_row, other]),
            )
    fine = VectorLaplace(scale=_FINE, sensitivity=_FINE, bound=_FINE)
    distant_row = [_FINE, *([0] * (_WIDTH - 1))]
    yield local_case(
        f"{_WIDTH} × Laplace on a fine grid, ε = 1",
        "vector-laplace",
        "row",
        functools.partial(_pairs, fine, [distant_row], is_secure=True),
        proven=1.0,
        secure_share=_ROW_SHARE,
        law_checks=lambda: [
            dataclasses.replace(check, least=_LEAST_OF_FINE) for check in _checks(fine, [[0] * _WIDTH])
        ],
    )


def _checks(mechanism: RowMechanism, rows: Sequence[PrivateRow]) -> Sequence[LawCheck]:
    return [check for row in rows for check in checks_of(mechanism, np.array([row], dtype=np.int64))]


def _pairs(mechanism: RowMechanism, rows: Sequence[PrivateRow], *, is_secure: bool) -> Sequence[Pair]:
    zero = [0] * _WIDTH
    return [pair_of(mechanism, zero, row, name=f"{zero} and {row}", is_secure=is_secure) for row in rows]
