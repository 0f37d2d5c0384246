"""What the generators have in common: their streams of numbers, ranges of voters, and sums with one order.

A generator's numbers are rows of Philox streams that belong to it alone, so voter i is the same whichever voters are
made with it. Normal draws are quantiles of these uniforms by scipy's functions, whose bits no processor changes.
"""

from typing import Final

import numpy as np
from scipy.special import ndtri

from ....protocol.arrays import FloatArray
from ....protocol.randomness import philox_rows, stream_key

__all__ = ["MAX_VOTERS", "NAME_DIGITS", "check_range", "dot", "draw_normals", "draw_uniforms"]

MAX_VOTERS: Final = 100_000_000
NAME_DIGITS: Final = 9  # enough for `MAX_VOTERS`, so that the order of made-up names is that of their numbers
_LEAST: Final = 2.0**-54  # in place of 0, whose quantile is no number: half the least step of the uniforms


def check_range(start: int, stop: int | None, voters: int) -> int:
    """Return the end of a range of voters; ValueError where it is no range of at least one of them."""
    end = voters if stop is None else stop
    if not 0 <= start < end <= voters:
        raise ValueError(f"voters must be a range within 0 to {voters}, got {start} to {end}")
    return end


def draw_uniforms(generator: str, seed: int, purpose: str, *, start: int, stop: int, slots: int) -> FloatArray:
    """Return rows `start` to `stop` of one of a generator's streams: float64 in [0, 1), shape (stop − start, slots)."""
    key = stream_key(seed=seed, session="", round_number=0, protocol=generator, phase="", purpose=purpose)
    return philox_rows(key, start=start, stop=stop, slots=slots)


def draw_normals(generator: str, seed: int, purpose: str, *, start: int, stop: int, slots: int) -> FloatArray:
    """Return the same as standard normal draws."""
    uniforms = draw_uniforms(generator, seed, purpose, start=start, stop=stop, slots=slots)
    normals: FloatArray = ndtri(np.maximum(uniforms, _LEAST))
    return normals


def dot(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return inner products over the last axis, summed in its order, so that their bits do not depend on the batch."""
    total = first[..., 0] * second[..., 0]
    for place in range(1, first.shape[-1]):
        total = total + first[..., place] * second[..., place]
    return total
