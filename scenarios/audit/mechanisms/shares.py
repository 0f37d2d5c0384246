"""Audits of noise shares: the sum that the server sees, with a given number of honest shares.

With the planned number of honest shares, the sum has discrete Laplace noise. With fewer, the proven loss is larger, and
is audited too. The worst neighbors differ in one coordinate, or in all of them.
"""

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.mechanisms import NoiseShare, share_log_law
from ....protocol.privacy import TrustModel
from ..case import Case, LawCheck, OutputSampler, Pair
from .checking import checks_of, noise_of_shares, views_of_noise
from .sampling import EPSILONS, PrivateRow, local_case, secure_draw, simulate_draw

_SENSITIVITY: Final = 6
_WIDTH: Final = 3
_PLANNED: Final = 4
_SECURE: Final = frozenset({1.0})
"""ε at which the noise of deployments is audited too."""
_SHARE: Final = 0.3  # fraction of the requested outputs, each of which is a sum of several shares


def share_cases() -> Iterator[Case]:
    """Yield the cases of sums of noise shares."""
    for epsilon, honest, width in itertools.product(EPSILONS, range(_PLANNED, 0, -1), (1, _WIDTH)):
        mechanism = NoiseShare(_SENSITIVITY / epsilon, _SENSITIVITY, _SENSITIVITY, _PLANNED)
        proven = mechanism.privacy(width, honest=honest)
        yield local_case(
            f"{width} × sum with {honest} of {_PLANNED} shares, ε = {epsilon:g}",
            "noise-shares",
            "row",
            functools.partial(_pairs, mechanism, honest, width, is_secure=epsilon in _SECURE),
            proven=proven,
            model=TrustModel.DISTRIBUTED,
            share=_SHARE,
            secure_share=_SHARE / (honest * width),
            law_checks=functools.partial(_checks, mechanism, honest, width),
        )


def sum_of(
    mechanism: NoiseShare,
    row: PrivateRow,
    *,
    num_shares: int,
    draw_by: Callable[[NoiseShare, PrivateRow], OutputSampler] = simulate_draw,
) -> OutputSampler:
    """Return a sampler of the sum of a row and rows of zeros, each with a noise share."""
    draw = draw_by(mechanism, [0] * len(row))

    def total(number: int, stream: int) -> IntArray:
        shares = draw(number * num_shares, stream).reshape(number, num_shares, len(row))
        return shares.sum(axis=1) + np.array(row, dtype=np.int64)

    return total


def _pairs(mechanism: NoiseShare, honest: int, width: int, *, is_secure: bool) -> Sequence[Pair]:
    zero, distant_row = [0] * width, [_SENSITIVITY, *([0] * (width - 1))]

    def pair(row: PrivateRow) -> Pair:
        sums = functools.partial(sum_of, mechanism, num_shares=honest)
        secure = (sums(zero, draw_by=secure_draw), sums(row, draw_by=secure_draw)) if is_secure else None
        score = functools.partial(_score, mechanism, honest, np.array(row, dtype=np.int64))
        return Pair(f"{zero} and {row}", draws=(sums(zero), sums(row)), score=score, secure=secure)

    spread = [_SENSITIVITY // width] * width
    return [pair(distant_row), pair(spread)] if width > 1 else [pair(distant_row)]


def _score(mechanism: NoiseShare, honest: int, row: IntArray, sums: IntArray) -> FloatArray:
    logs = share_log_law(scale=mechanism.scale, planned=mechanism.planned, num_shares=honest)
    without_row, with_row = (logs[np.minimum(np.abs(noise), len(logs) - 1)] for noise in (sums, sums - row))
    return (without_row - with_row).sum(axis=1)


def _checks(mechanism: NoiseShare, honest: int, width: int) -> Sequence[LawCheck]:
    """Return checks of sums, and once of single shares."""
    views_by = noise_of_shares(mechanism.scale, mechanism.planned, honest)
    sums = functools.partial(sum_of, mechanism, num_shares=honest)
    row = [_SENSITIVITY // width] * width
    views = views_of_noise(row, views_by, mechanism.report_range)
    check = LawCheck(f"a sum with {row}", views, draw=sums(row), secure=sums(row, draw_by=secure_draw))
    singles = checks_of(mechanism, np.array([row, [0] * width], dtype=np.int64)) if honest == 1 else []
    return [check, *singles]
