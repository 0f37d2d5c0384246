"""Inputs of a mechanism that are held against their laws: every row where they are few, else extremes and some others.

Where reports are few, the law is that of whole reports, so that numbers that share their randomness show. Laplace noise
has a law for each number, down to its tails, and one of coarse ranges of all numbers together. Of spherical noise each
number's own law is exact; how the numbers of one report hang together is left to neighbors that differ in several.
"""

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.mechanisms import (
    DiscreteLaplace,
    PostProcessed,
    Prepared,
    RowMechanism,
    SphericalLaplace,
    VectorLaplace,
)
from ..case import NO_PLACE, LawCheck, View
from .sampling import PrivateRow, numbering, secure_draw, simulated_draw

__all__ = ["MOST_ROWS", "checks_of", "some_rows"]

MOST_ROWS: Final = 32
"""Rows of a mechanism that are drawn."""
_MOST_OUTPUTS: Final = 1 << 14
"""Reports whose law is written down whole."""
_MOST_OUTCOMES: Final = 1 << 17
"""Of a single number: of more, neighboring ones are taken together."""
_MOST_CELLS: Final = 512
"""Ranges of all numbers together."""
_SEED: Final = 1
_WITH_MARGINS: Final = frozenset({1, 3})
"""Dimensions in which a number's own law of spherical noise is elementary."""


def checks_of(
    mechanism: RowMechanism, rows: IntArray, *, most: int = MOST_ROWS, is_secure: bool = True
) -> list[LawCheck]:
    """Return rows of a mechanism to be held against their laws.

    Args:
        mechanism: what draws them; of one whose reports are computed from another one's, the other one's are drawn.
        rows: all rows, or those of which some are to be drawn, shape (c, w).
        most: rows that are drawn.
        is_secure: whether with the noise of deployments too.

    Raises:
        NotImplementedError: no law is written down.
    """
    drawn = mechanism.noise if isinstance(mechanism, PostProcessed) else mechanism
    return [
        LawCheck(
            name=str(row),
            views=_views_of(drawn, row),
            draw=simulated_draw(drawn, row),
            secure=secure_draw(drawn, row) if is_secure else None,
            mechanism=mechanism,
        )
        for row in some_rows(rows, most).tolist()
    ]


def some_rows(rows: IntArray, most: int) -> IntArray:
    """Return all rows where they are few enough; else those with an extreme number, and others drawn by a fixed seed.

    Args:
        rows: shape (c, w).
        most: rows.
    """
    if len(rows) <= most:
        return rows
    extremes = np.unique(np.concatenate([[0, len(rows) - 1], rows.argmin(axis=0), rows.argmax(axis=0)]))[:most]
    others = np.setdiff1d(np.arange(len(rows)), extremes)
    drawn = np.random.default_rng(_SEED).choice(others, size=most - len(extremes), replace=False)
    return rows[np.sort(np.concatenate([extremes, drawn]))]


def _views_of(mechanism: RowMechanism, row: PrivateRow) -> list[View]:
    low, high = mechanism.report_range
    width = mechanism.num_reports_of(len(row))
    if width * math.log(high - low + 1) <= math.log(_MOST_OUTPUTS):
        return [_whole(mechanism, row)]
    if isinstance(mechanism, Prepared):
        return _views_of(mechanism.noise, mechanism.prepare_row(row))
    if isinstance(mechanism, VectorLaplace):
        mechanism = mechanism.coordinate
    if isinstance(mechanism, DiscreteLaplace):
        laws = [_laplace_law(mechanism, value) for value in row]
        return [*_columns(laws, low), *([_together(laws, low)] if len(row) > 1 else [])]
    if isinstance(mechanism, SphericalLaplace) and mechanism.dimension in _WITH_MARGINS:
        return _columns([_spherical_law(mechanism, value) for value in row], low)
    raise NotImplementedError(f"the law of {type(mechanism).__name__} is not written down")


def _whole(mechanism: RowMechanism, row: PrivateRow) -> View:
    """Return whole reports, in lexicographic order."""
    low, high = mechanism.report_range
    width = mechanism.num_reports_of(len(row))
    outputs = np.array(list(itertools.product(range(low, high + 1), repeat=width)), dtype=np.int64)
    law = np.exp(mechanism.log_likelihoods(outputs, np.array([row], dtype=np.int64))[:, 0])
    encode = numbering(outputs)
    return View("", law / law.sum(), lambda drawn: encode(drawn)[:, 0])


@functools.lru_cache(maxsize=64)
def _laplace_law(mechanism: DiscreteLaplace, value: int) -> FloatArray:
    low, high = mechanism.report_range
    reports = np.arange(low, high + 1, dtype=np.int64)
    law: FloatArray = np.exp(mechanism.log_probabilities(reports, np.array([value], dtype=np.int64))[:, 0])
    return law / law.sum()


@functools.lru_cache(maxsize=64)
def _spherical_law(mechanism: SphericalLaplace, value: int) -> FloatArray:
    """Return a number's law: its noise is beyond x scales with probability e^(−x)/2, or (2 + x)·e^(−x)/4 for d = 3.

    The density in proportion to e^(−‖x‖₂), integrated over the other two numbers, is (1 + x)·e^(−x)/4.
    """
    low, high = mechanism.report_range
    ends = np.arange(low, high, dtype=np.float64) + 0.5 - value  # between neighboring reports
    sizes = np.abs(ends) / mechanism.scale
    beyond: FloatArray = np.exp(-sizes) * ((2 + sizes) / 4 if mechanism.dimension > 1 else 0.5)
    inner = np.abs(np.diff(beyond))
    center = int(np.flatnonzero(np.diff(np.sign(ends)))[0])  # the report whose range has both signs
    inner[center] = 1 - beyond[center] - beyond[center + 1]
    return np.concatenate([beyond[:1], inner, beyond[-1:]])


def _columns(laws: Sequence[FloatArray], low: int) -> list[View]:
    """Return each number by itself."""
    return [_column(law, low, place, is_alone=len(laws) == 1) for place, law in enumerate(laws)]


def _column(law: FloatArray, low: int, place: int, *, is_alone: bool) -> View:
    each = math.ceil(len(law) / _MOST_OUTCOMES)
    grouped = np.add.reduceat(law, np.arange(0, len(law), each))

    def places(outputs: IntArray) -> IntArray:
        numbers = outputs[:, place] - low
        return np.where((numbers >= 0) & (numbers < len(law)), numbers // each, NO_PLACE)

    return View("" if is_alone else f"number {place + 1}", grouped, places)


def _together(laws: Sequence[FloatArray], low: int) -> View:
    """Return ranges of all numbers together, each number in about as many ranges of one probability."""
    parts = max(2, int(_MOST_CELLS ** (1 / len(laws))))
    columns = range(min(len(laws), int(math.log2(_MOST_CELLS))))
    levels = np.arange(1, parts) / parts
    starts = [np.unique(np.searchsorted(np.cumsum(laws[place]), levels)) + 1 for place in columns]
    joint = np.ones(1)
    for place, own in zip(columns, starts, strict=True):
        joint = np.multiply.outer(joint, np.add.reduceat(laws[place], np.concatenate([[0], own]))).reshape(-1)

    def places(outputs: IntArray) -> IntArray:
        cells = np.zeros(len(outputs), dtype=np.int64)
        for place, own in zip(columns, starts, strict=True):
            cells = cells * (len(own) + 1) + np.searchsorted(own, outputs[:, place] - low, side="right")
        return cells

    return View("all numbers together", joint, places)
