"""Noise of which each party draws a share: sums, as the server sees them, with so many honest shares.

Audited are the sum at as many honest shares as planned, which has pure Laplace noise, and at fewer, whose loss is the
larger one that is proven. A change is worst all in one coordinate, or spread over all of them.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.mechanisms import PolyaShare, share_log_law
from ....protocol.privacy import TrustModel
from ..case import Case, LawCheck, OutputSampler, Pair
from .checking import checks_of, noise_of_shares, views_of_noise
from .sampling import EPSILONS, PrivateRow, secure_draw, simulated_draw

__all__ = ["share_cases", "sum_of"]

_SENSITIVITY: Final = 6
_WIDTH: Final = 3
_PLANNED: Final = 4
_HONEST: Final = (4, 3, 2, 1)
_SECURE: Final = frozenset({1.0})
"""ε for which the noise of deployments is audited too."""
_SHARE: Final = 0.3  # of the outputs asked for, each of which is made of some shares


def share_cases() -> Iterator[Case]:
    """Yield sums of noise shares."""
    for epsilon in EPSILONS:
        for honest in _HONEST:
            for width in (1, _WIDTH) if honest in {_PLANNED, _PLANNED // 2} else (1,):
                mechanism = PolyaShare(_SENSITIVITY / epsilon, _SENSITIVITY, _SENSITIVITY, _PLANNED)
                sums = "sum" if width == 1 else f"{width} × sum"
                yield Case(
                    name=f"{sums} with {honest} of {_PLANNED} shares, ε = {epsilon:g}",
                    group="noise-shares",
                    unit="row",
                    claimed=mechanism.privacy(width, honest=honest),
                    proven=mechanism.privacy(width, honest=honest),
                    pairs=functools.partial(_pairs, mechanism, honest, width, is_secure=epsilon in _SECURE),
                    model=TrustModel.DISTRIBUTED,
                    is_tight=True,
                    share=_SHARE,
                    secure_share=_SHARE,
                    law_checks=functools.partial(_checks, mechanism, honest, width),
                )


def sum_of(
    mechanism: PolyaShare,
    row: PrivateRow,
    *,
    num_shares: int,
    draw_by: Callable[[PolyaShare, PrivateRow], OutputSampler] = simulated_draw,
) -> OutputSampler:
    """Return draws of a row's sum with rows of zeros, one share in each."""
    draw = draw_by(mechanism, [0] * len(row))

    def total(number: int, stream: int) -> IntArray:
        shares = draw(number * num_shares, stream).reshape(number, num_shares, len(row))
        return shares.sum(axis=1) + np.array(row, dtype=np.int64)

    return total


def _pairs(mechanism: PolyaShare, honest: int, width: int, *, is_secure: bool) -> Sequence[Pair]:
    zero, apart = [0] * width, [_SENSITIVITY, *([0] * (width - 1))]
    spread = [_SENSITIVITY // width] * width
    draws = [simulated_draw, *([secure_draw] if is_secure else [])]
    found: list[Pair] = []
    for row in [apart] if width == 1 else [apart, spread]:
        simulated, *secure = (
            (
                sum_of(mechanism, zero, num_shares=honest, draw_by=draw),
                sum_of(mechanism, row, num_shares=honest, draw_by=draw),
            )
            for draw in draws
        )
        score = functools.partial(_score, mechanism, honest, np.array(row, dtype=np.int64))
        found.append(Pair(f"{zero} and {row}", draws=simulated, score=score, secure=secure[0] if secure else None))
    return found


def _score(mechanism: PolyaShare, honest: int, row: IntArray, sums: IntArray) -> FloatArray:
    logs = share_log_law(scale=mechanism.scale, planned=mechanism.planned, num_shares=honest)
    without, with_row = (logs[np.minimum(np.abs(noise), len(logs) - 1)] for noise in (sums, sums - row))
    return (without - with_row).sum(axis=1)


def _checks(mechanism: PolyaShare, honest: int, width: int) -> Sequence[LawCheck]:
    """Return rows whose single shares are looked at, and those whose sums are."""
    noise = noise_of_shares(mechanism.scale, mechanism.planned, honest)
    rows = [0] * width, [_SENSITIVITY // width] * width
    sums = [
        LawCheck(
            name=f"a sum with {row}",
            views=views_of_noise(row, noise, mechanism.report_range),
            draw=sum_of(mechanism, row, num_shares=honest),
            secure=sum_of(mechanism, row, num_shares=honest, draw_by=secure_draw),
        )
        for row in rows
    ]
    singles = checks_of(mechanism, np.array(rows, dtype=np.int64)) if honest == 1 or width > 1 else []
    return [*sums, *singles]
