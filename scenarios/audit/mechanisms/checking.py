"""Checks of a mechanism's outputs against their laws: for all rows if they are few, else for extremes and some others.

If there are few reports, the law is that of whole reports, so that numbers that share randomness are detected. Laplace
noise has a law for each number, including its tails, and a joint law of coarse ranges. For spherical noise only each
number's marginal law is tested; dependence between numbers is left to pairs of neighbors that differ in several.
"""

import functools
import math
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.mechanisms import (
    CLAMP_IN_SCALES,
    DiscreteLaplace,
    Mechanism,
    NoiseShare,
    PostProcessed,
    Prepared,
    RowMechanism,
    SphericalLaplace,
    VectorLaplace,
    share_log_law,
)
from ....protocol.mechanisms.polya import share_masses
from ..case import NO_PLACE, LawCheck, OutputView
from .sampling import PrivateRow, list_rows, number_outputs, secure_draw, simulate_draw

MOST_ROWS: Final = 32  # most rows of a mechanism that are tested
_MOST_OUTPUTS: Final = 1 << 14  # most reports for a law of whole reports
_MOST_OUTCOMES: Final = 1 << 17
_NUM_OUTCOMES: Final = 1 << 14
"""Cells of a single number's law; neighboring integers share a cell if there are more values."""
_LOW_BITS: Final = 8  # low bits of noise, tested separately if neighboring integers share a cell
_SCALE_OF_SIZES: Final = 2.0**9
_LEAST_SIZE, _NUM_SIZES, _LEAST_MASS = 16, 64, 1e-30
_MOST_CELLS: Final = 512  # cells of the joint law of all numbers
_SEED: Final = 1
WITH_MARGINS: Final = frozenset({1, 3})  # dimensions in which spherical noise has an elementary marginal law


def checks_of(
    mechanism: RowMechanism, rows: IntArray, *, limit: int = MOST_ROWS, is_secure: bool = True
) -> list[LawCheck]:
    """Return checks of at most `limit` of a mechanism's rows, shape (c, w).

    If reports are computed from another mechanism's noise, that noise is tested. NotImplementedError: there is no law.
    """
    noise_law = mechanism.noise if isinstance(mechanism, PostProcessed) else mechanism
    return [
        LawCheck(
            name=str(row),
            views=_views_of(noise_law, row),
            draw=simulate_draw(noise_law, row),
            secure=secure_draw(noise_law, row) if is_secure else None,
            mechanism=mechanism,
        )
        for row in some_rows(rows, limit).tolist()
    ]


def some_rows(rows: IntArray, limit: int) -> IntArray:
    """Return all rows if they are at most `limit`; else those with an extreme number, and others by a fixed seed."""
    if len(rows) <= limit:
        return rows
    extremes = np.unique(np.concatenate([[0, len(rows) - 1], rows.argmin(axis=0), rows.argmax(axis=0)]))[:limit]
    inner_places = np.setdiff1d(np.arange(len(rows)), extremes)
    sampled_places = np.random.default_rng(_SEED).choice(inner_places, size=limit - len(extremes), replace=False)
    return rows[np.sort(np.concatenate([extremes, sampled_places]))]


def _views_of(mechanism: RowMechanism, row: PrivateRow) -> list[OutputView]:
    low, high = mechanism.report_range
    width = mechanism.num_reports_of(len(row))
    if width * math.log(high - low + 1) <= math.log(_MOST_OUTPUTS):
        return [_whole(mechanism, row)]
    if isinstance(mechanism, Prepared):
        return _views_of(mechanism.noise, mechanism.prepare_row(row))
    if isinstance(mechanism, (DiscreteLaplace, VectorLaplace)):
        noise = noise_of_laplace(mechanism.scale)
        views = views_of_noise(row, noise, mechanism.report_range)
        if noise.each > 1:
            views += [_low_bits(mechanism.scale, value, place) for place, value in enumerate(row)]
        return views
    if isinstance(mechanism, NoiseShare):
        return views_of_noise(row, noise_of_shares(mechanism.scale, mechanism.planned, 1), mechanism.report_range)
    if isinstance(mechanism, SphericalLaplace) and mechanism.dimension in WITH_MARGINS:
        return _numbers(row, noise_of_sphere(mechanism.scale, mechanism.dimension), mechanism.report_range)
    if isinstance(mechanism, Mechanism) and high - low < _MOST_OUTPUTS:
        max_numbers = max(1, int(math.log(_MOST_CELLS) / math.log(high - low + 1)))
        blocks = [range(start, min(start + max_numbers, len(row))) for start in range(0, len(row), max_numbers)]
        if max_numbers > 1:  # also numbers that are farther apart
            blocks.append(range(0, len(row), -(-len(row) // max_numbers)))
        return [_numbers_together(mechanism, row, places) for places in blocks]
    raise NotImplementedError(f"the law of {type(mechanism).__name__} is not written down")


def _numbers_together(mechanism: Mechanism, row: PrivateRow, places: range) -> OutputView:
    """Return the joint law of some numbers that are randomized independently."""
    whole = _whole(mechanism, [row[place] for place in places])
    name = f"number {places[0] + 1}"
    if len(places) > 1:
        each = "" if places.step == 1 else f", each {places.step}."
        name = f"numbers {places[0] + 1} to {places[-1] + 1}{each}"
    return OutputView(
        name, whole.law, lambda outputs: whole.places(outputs[:, places.start : places.stop : places.step])
    )


def _whole(mechanism: RowMechanism, row: PrivateRow) -> OutputView:
    """Return the law of whole reports, in lexicographic order."""
    low, high = mechanism.report_range
    width = mechanism.num_reports_of(len(row))
    outputs = list_rows(width, high - low + 1) + low
    law = np.exp(mechanism.log_likelihoods(outputs, np.array([row], dtype=np.int64))[:, 0])
    encode = number_outputs(outputs)
    return OutputView("", law / law.sum(), lambda rows_drawn: encode(rows_drawn)[:, 0])


class NoiseLaw(NamedTuple):
    """The law of a number's noise by cells of neighboring integers; the first and the last cell are the tails.

    The second cell begins at −`reach`; each inner cell has the same number of integers.
    """

    reach: int
    each: int
    law: FloatArray

    def cells(self, noise: IntArray) -> IntArray:
        """Return the cell of each number."""
        return np.clip((noise + self.reach) // self.each + 1, 0, len(self.law) - 1)


@functools.lru_cache(maxsize=64)
def noise_of_laplace(scale: float) -> NoiseLaw:
    """Return the law of discrete Laplace noise: P[noise ≥ k] = a^k/(1 + a) for k > 0, with a = e^(−1/scale)."""
    return _noise(scale, lambda ends: np.exp(-(ends + 0.5) / scale) / (1 + np.exp(-1 / scale)))


@functools.lru_cache(maxsize=64)
def noise_of_sphere(scale: float, dimension: int) -> NoiseLaw:
    """Return the marginal law of spherical noise, in one or three dimensions.

    With x in scales, P[noise > x] is e^(−x)/2 in one dimension, and (2 + x)·e^(−x)/4 in three: the density in
    proportion to e^(−‖x‖₂), integrated over the other two coordinates, is (1 + x)·e^(−x)/4.
    """

    def tail(ends: FloatArray) -> FloatArray:
        sizes = ends / scale
        return np.exp(-sizes) * ((2 + sizes) / 4 if dimension > 1 else 0.5)

    return _noise(scale, tail)


@functools.lru_cache(maxsize=64)
def noise_of_shares(scale: float, num_planned: int, num_shares: int) -> NoiseLaw:
    """Return the law of a sum of shares of discrete Laplace noise."""
    law = np.exp(share_log_law(scale=scale, planned=num_planned, num_shares=num_shares))
    tails = np.cumsum(law[::-1])[::-1]
    return _noise(scale, lambda ends: tails[(ends + 0.5).astype(np.int64)])


@functools.lru_cache(maxsize=64)
def sizes_of_shares(scale: float, num_planned: int) -> tuple[FloatArray, FloatArray]:
    """Return the increasing ends of ranges of a single share's absolute value, and their probabilities.

    The last probability is that of the tail. For a large scale, the law of a small one is rescaled; its ranges are
    coarse enough that probabilities are within a thousandth.
    """
    known_scale = min(scale, _SCALE_OF_SIZES)
    masses = share_masses(scale=known_scale, planned=num_planned, num_shares=1)
    cumulated = np.cumsum(masses + np.concatenate([[0.0], masses[1:]]))
    min_size = 1 if scale == known_scale else _LEAST_SIZE
    places = np.unique(np.geomspace(min_size, len(masses) - 1, _NUM_SIZES).astype(np.int64)) - (scale == known_scale)
    ends = ((places + 0.5) * (scale / known_scale)).astype(np.float64)
    law: FloatArray = np.diff(cumulated[places], prepend=0.0, append=1.0)
    return ends, np.maximum(law, _LEAST_MASS)


def _noise(scale: float, tail: Callable[[FloatArray], FloatArray]) -> NoiseLaw:
    """Return the law of symmetric integer noise.

    `tail` maps positive half-integers to the probability that the noise exceeds them.
    """
    reach = math.ceil(CLAMP_IN_SCALES * scale)
    each = 1 if 2 * reach < _MOST_OUTCOMES else math.ceil(2 * reach / _NUM_OUTCOMES)
    ends = np.arange(-reach, reach + 1, each) - 0.5
    chances = tail(np.abs(ends))
    inner = np.abs(np.diff(chances))
    center = int(np.count_nonzero(ends < 0)) - 1  # the cell that contains both signs
    inner[center] = 1 - chances[center] - chances[center + 1]
    return NoiseLaw(reach, each, np.concatenate([chances[:1], inner, chances[-1:]]))


def views_of_noise(row: PrivateRow, noise: NoiseLaw, report_range: tuple[int, int]) -> list[OutputView]:
    """Return tests of each number's noise, and of the joint law if there are several numbers."""
    views = _numbers(row, noise, report_range)
    return [*views, _joint_view(row, noise)] if len(row) > 1 else views


def _numbers(row: PrivateRow, noise: NoiseLaw, report_range: tuple[int, int]) -> list[OutputView]:
    """Return tests of each number."""

    def view(place: int, value: int) -> OutputView:
        def places(outputs: IntArray) -> IntArray:
            numbers = outputs[:, place]
            is_report = (numbers >= report_range[0]) & (numbers <= report_range[1])
            return np.where(is_report, noise.cells(numbers - value), NO_PLACE)

        return OutputView(f"number {place + 1}" if len(row) > 1 else "", noise.law, places)

    return [view(place, value) for place, value in enumerate(row)]


def _low_bits(scale: float, value: int, place: int) -> OutputView:
    """Return a test of noise modulo M: P[x] = (1 − a)·(a^x + a^(M − x))/((1 + a)·(1 − a^M)), a = e^(−1/scale)."""
    size = 1 << _LOW_BITS
    rests = np.arange(size)
    law = np.exp(-rests / scale) + np.exp((rests - size) / scale)
    return OutputView(
        f"number {place + 1}'s low bits", law / law.sum(), lambda outputs: (outputs[:, place] - value) % size
    )


def _joint_view(row: PrivateRow, noise: NoiseLaw) -> OutputView:
    """Return a test of the joint law, with about equally probable ranges of each number."""
    width = min(len(row), int(math.log2(_MOST_CELLS)))
    parts = max(2, int(_MOST_CELLS ** (1 / width)))
    starts = np.unique(np.searchsorted(np.cumsum(noise.law), np.arange(1, parts) / parts)) + 1
    single = np.add.reduceat(noise.law, np.concatenate([[0], starts]))
    joint = functools.reduce(
        lambda law, number_values: np.multiply.outer(law, number_values).reshape(-1), [single] * width
    )

    def places(outputs: IntArray) -> IntArray:
        cells = np.zeros(len(outputs), dtype=np.int64)
        for place, value in enumerate(row[:width]):
            ranges = np.searchsorted(starts, noise.cells(outputs[:, place] - value), side="right")
            cells = cells * len(single) + ranges
        return cells

    return OutputView("all numbers together", joint, places)
