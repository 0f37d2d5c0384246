"""Columns of names and of numbers in files, and the error for an entry that is no number."""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from ....protocol.arrays import FloatArray
from ....protocol.errors import ConfigurationError
from ....protocol.moral_preferences.records import GREATEST_FEATURE
from ...reading.batches import TableFiles
from ...reading.columns import RowBatch, join_batches
from ...reading.grouping import numbers_in

ALLOWED: Final = f"a number in [-{GREATEST_FEATURE:g}, {GREATEST_FEATURE:g}]"
"""What an entry of a feature is to be."""


def numbers_of(batch: RowBatch, names: Sequence[str], *, is_strict: bool = True) -> FloatArray:
    """Return columns of numbers in the range of features, float64, shape (rows, columns).

    What is none is refused with its place, or else nan.
    """
    numbers = np.empty((batch.num_rows, len(names)))
    for place, name in enumerate(names):
        numbers[:, place] = numbers_in(batch.table[name])
    is_fault = ~(np.abs(numbers) <= GREATEST_FEATURE)
    if is_fault.any() and is_strict:
        row, place = map(int, np.argwhere(is_fault)[0])
        field = f"{names[place]} ({batch.where(row + 1)})"
        raise ConfigurationError(field=field, value=str(batch.table[names[place]][row]), allowed=ALLOWED)
    numbers[is_fault] = math.nan
    return numbers


def read_numbers(
    files: TableFiles, names: Sequence[str], numbers: Sequence[str], *, is_strict: bool = True
) -> tuple[RowBatch, FloatArray]:
    """Return all rows of a file, with columns of names, and columns of numbers as `numbers_of` has them."""
    parts = list[FloatArray]()

    def batches() -> Iterator[RowBatch]:
        for batch in files.batches([*names, *numbers], uncoded=numbers):
            parts.append(numbers_of(batch, numbers, is_strict=is_strict))
            yield dataclasses.replace(batch, table={name: batch.table[name] for name in names})

    rows = join_batches(batches())
    return rows, np.concatenate(parts)
