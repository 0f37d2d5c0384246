"""Inputs of a mechanism that are held against their laws: every row where they are few, else extremes and some others.

Where reports are few, the law is that of whole reports, so that numbers that share their randomness show. Laplace noise
has a law for each number, down to its tails, and one of coarse ranges of all numbers together. Of spherical noise each
number's own law is exact; how the numbers of one report hang together is left to neighbors that differ in several.
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

MOST_ROWS: Final = 32  # rows of a mechanism that are drawn
_MOST_OUTPUTS: Final = 1 << 14  # reports whose law is written down whole
_MOST_OUTCOMES: Final = 1 << 17
_NUM_OUTCOMES: Final = 1 << 14
"""Of a single number: where there are more than the most, neighboring ones are taken together, to about so many."""
_LOW_BITS: Final = 8  # of noise, looked at by themselves where neighboring numbers are taken together
_SCALE_OF_SIZES: Final = 2.0**9
_LEAST_SIZE, _NUM_SIZES, _LEAST_MASS = 16, 64, 1e-30
_MOST_CELLS: Final = 512  # ranges of all numbers together
_SEED: Final = 1
WITH_MARGINS: Final = frozenset({1, 3})  # dimensions in which a number's own law of spherical noise is elementary


def checks_of(
    mechanism: RowMechanism, rows: IntArray, *, limit: int = MOST_ROWS, is_secure: bool = True
) -> list[LawCheck]:
    """Return at most so many rows of a mechanism, shape (c, w), to be held against their laws.

    Of one whose reports are computed from another one's, the other one's are drawn. NotImplementedError: no law is
    written down.
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
    """Return all rows where they are few enough; else those with an extreme number, and others by a fixed seed."""
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
        if max_numbers > 1:  # numbers that are farther apart
            blocks.append(range(0, len(row), -(-len(row) // max_numbers)))
        return [_numbers_together(mechanism, row, places) for places in blocks]
    raise NotImplementedError(f"the law of {type(mechanism).__name__} is not written down")


def _numbers_together(mechanism: Mechanism, row: PrivateRow, places: range) -> OutputView:
    """Return some numbers together, where all are randomized independently."""
    whole = _whole(mechanism, [row[place] for place in places])
    name = f"number {places[0] + 1}"
    if len(places) > 1:
        each = "" if places.step == 1 else f", each {places.step}."
        name = f"numbers {places[0] + 1} to {places[-1] + 1}{each}"
    return OutputView(
        name, whole.law, lambda outputs: whole.places(outputs[:, places.start : places.stop : places.step])
    )


def _whole(mechanism: RowMechanism, row: PrivateRow) -> OutputView:
    """Return whole reports, in lexicographic order."""
    low, high = mechanism.report_range
    width = mechanism.num_reports_of(len(row))
    outputs = list_rows(width, high - low + 1) + low
    law = np.exp(mechanism.log_likelihoods(outputs, np.array([row], dtype=np.int64))[:, 0])
    encode = number_outputs(outputs)
    return OutputView("", law / law.sum(), lambda rows_drawn: encode(rows_drawn)[:, 0])


class NoiseLaw(NamedTuple):
    """The law of a number's noise, by cells of neighboring integers; the first and the last one are the tails beyond.

    The second cell begins at minus `reach`, and each has so many integers.
    """

    reach: int
    each: int
    law: FloatArray

    def cells(self, noise: IntArray) -> IntArray:
        """Return the cell of each number."""
        return np.clip((noise + self.reach) // self.each + 1, 0, len(self.law) - 1)


@functools.lru_cache(maxsize=64)
def noise_of_laplace(scale: float) -> NoiseLaw:
    """Return discrete Laplace noise, which is at least k > 0 with probability a^k/(1 + a), a = e^(−1/scale)."""
    return _noise(scale, lambda ends: np.exp(-(ends + 0.5) / scale) / (1 + np.exp(-1 / scale)))


@functools.lru_cache(maxsize=64)
def noise_of_sphere(scale: float, dimension: int) -> NoiseLaw:
    """Return a number's noise: beyond x scales with probability e^(−x)/2, or (2 + x)·e^(−x)/4 in three dimensions.

    The density in proportion to e^(−‖x‖₂), integrated over the other two numbers, is (1 + x)·e^(−x)/4.
    """

    def tail(ends: FloatArray) -> FloatArray:
        sizes = ends / scale
        return np.exp(-sizes) * ((2 + sizes) / 4 if dimension > 1 else 0.5)

    return _noise(scale, tail)


@functools.lru_cache(maxsize=64)
def noise_of_shares(scale: float, num_planned: int, num_shares: int) -> NoiseLaw:
    """Return the noise of a sum of shares of discrete Laplace noise."""
    law = np.exp(share_log_law(scale=scale, planned=num_planned, num_shares=num_shares))
    tails = np.cumsum(law[::-1])[::-1]
    return _noise(scale, lambda ends: tails[(ends + 0.5).astype(np.int64)])


@functools.lru_cache(maxsize=64)
def sizes_of_shares(scale: float, num_planned: int) -> tuple[FloatArray, FloatArray]:
    """Return ends of ranges of a single share's size, rising, and their probabilities, with that of what is beyond.

    Of a large scale the law is that of a small one, of which no range is finer than some steps: within a thousandth.
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
    """Return symmetric noise of a scale in integers.

    `tail` is the probability that noise exceeds numbers between integers, which are above 0.
    """
    reach = math.ceil(CLAMP_IN_SCALES * scale)
    each = 1 if 2 * reach < _MOST_OUTCOMES else math.ceil(2 * reach / _NUM_OUTCOMES)
    ends = np.arange(-reach, reach + 1, each) - 0.5
    chances = tail(np.abs(ends))
    inner = np.abs(np.diff(chances))
    center = int(np.count_nonzero(ends < 0)) - 1  # the cell that has both signs
    inner[center] = 1 - chances[center] - chances[center + 1]
    return NoiseLaw(reach, each, np.concatenate([chances[:1], inner, chances[-1:]]))


def views_of_noise(row: PrivateRow, noise: NoiseLaw, report_range: tuple[int, int]) -> list[OutputView]:
    """Return each number with its noise by itself, and, where there are more, ranges of all together."""
    views = _numbers(row, noise, report_range)
    return [*views, _joint_view(row, noise)] if len(row) > 1 else views


def _numbers(row: PrivateRow, noise: NoiseLaw, report_range: tuple[int, int]) -> list[OutputView]:
    """Return each number by itself."""

    def view(place: int, value: int) -> OutputView:
        def places(outputs: IntArray) -> IntArray:
            numbers = outputs[:, place]
            is_report = (numbers >= report_range[0]) & (numbers <= report_range[1])
            return np.where(is_report, noise.cells(numbers - value), NO_PLACE)

        return OutputView(f"number {place + 1}" if len(row) > 1 else "", noise.law, places)

    return [view(place, value) for place, value in enumerate(row)]


def _low_bits(scale: float, value: int, place: int) -> OutputView:
    """Return the low bits of a number's noise: x with probability (1 − a)·(a^x + a^(M − x))/((1 + a)·(1 − a^M))."""
    size = 1 << _LOW_BITS
    rests = np.arange(size)
    law = np.exp(-rests / scale) + np.exp((rests - size) / scale)
    return OutputView(
        f"number {place + 1}'s low bits", law / law.sum(), lambda outputs: (outputs[:, place] - value) % size
    )


def _joint_view(row: PrivateRow, noise: NoiseLaw) -> OutputView:
    """Return ranges of all numbers together, each number in about as many ranges of one probability."""
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
