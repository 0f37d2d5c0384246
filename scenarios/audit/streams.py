"""Streams of outputs: so many at a time, each time from a stream of their own."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from ...protocol.arrays import IntArray
from .case import OutputSampler

__all__ = ["Streams"]

_CHUNK: Final = 1 << 16
_FIRST_STREAM: Final = 1 << 40


class Streams:
    """Numbers of streams of a seed, each given out once."""

    def __init__(self, seed: int) -> None:
        self._next = seed * _FIRST_STREAM

    def chunks(self, draw: OutputSampler, number: int) -> Iterator[IntArray]:
        """Yield so many outputs, some at a time, each time from a stream of their own."""
        for start in range(0, number, _CHUNK):
            size = min(_CHUNK, number - start)
            self._next += 1
            outputs = draw(size, self._next)
            if outputs.ndim != 2 or len(outputs) != size:  # noqa: PLR2004  a table
                raise ValueError(f"expected outputs of shape ({size}, width), got {outputs.shape}")
            yield outputs

    def all(self, draw: OutputSampler, number: int) -> IntArray:
        """Return so many outputs. See `chunks`."""
        return np.concatenate(list(self.chunks(draw, number)))
