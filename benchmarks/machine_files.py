"""Files in the Moral Machine's column format, written from made-up voters: for tests and measurements of readers.

Of the 41 published columns a file has the 28 that a reader needs: ResponseID, UserID, Intervention, PedPed, Barrier,
CrossingSignal, Saved, NumberOfCharacters and the twenty characters. Every entry of a column has the same width, so that
rows are written as one table of bytes.

Shuffled, the rows stand record by record: first one dilemma of every voter, then the next. Within each block of voters
all rows are in random order, so a voter's rows are spread over the whole file and the two rows of a response are apart.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from psephos.protocol.arrays import IntArray
from psephos.scenarios.moral_preferences.data.dilemmas import CHARACTERS
from psephos.scenarios.moral_preferences.data.machine_like import (
    Dilemmas,
    MoralMachineLike,
    draw_dilemmas,
    draw_preferences,
)
from psephos.scenarios.moral_preferences.data.made_up import draw_uniforms

__all__ = ["MACHINE_COLUMNS", "write_moral_machine_like"]

MACHINE_COLUMNS: Final[Sequence[str]] = (
    "ResponseID",
    "UserID",
    "Intervention",
    "PedPed",
    "Barrier",
    "CrossingSignal",
    "NumberOfCharacters",
    "Saved",
    *CHARACTERS,
)
"""Of a written file."""

_USER_DIGITS: Final = 16
_RESPONSE_DIGITS: Final = (12, 4)
"""Of the voter, then "r" and those of the record."""
_BLOCK_ROWS: Final = 1 << 18
_SHUFFLED_BLOCK_VOTERS: Final = 1 << 17
_GENERATOR: Final = "moral-machine-like"


def write_moral_machine_like(
    path: Path,
    *,
    voters: int,
    records: int = 13,
    seed: int = 0,
    shuffle: bool = True,
    progress: Callable[[int], object] | None = None,
) -> int:
    """Write made-up voters' responses as a file in the Moral Machine's column format; return how many rows it has.

    Reading the file gives the voters of `make_machine_like` for the same description.

    Args:
        path: the file; it is written anew.
        voters: how many.
        records: dilemmas that each answers.
        seed: of the voters.
        shuffle: the rows of a voter are scattered; otherwise they stand together.
        progress: called with the number of rows after each block.

    Raises:
        ConfigurationError: an option is not allowed.
        OSError: the file cannot be written.
    """
    spec = MoralMachineLike(voters=voters, records=records, seed=seed)
    num_rows = 0
    with path.open("wb") as file:
        file.write(",".join(MACHINE_COLUMNS).encode() + b"\n")
        size = _SHUFFLED_BLOCK_VOTERS if shuffle else max(1, _BLOCK_ROWS // (2 * records))
        places = range(records) if shuffle else [None]
        for place in places:
            for start in range(0, voters, size):
                stop = min(start + size, voters)
                if place is None:
                    lines = _lines_of_voters(spec, start, stop)
                else:
                    lines = _scattered(_lines(spec, place, start, stop, None), spec, place, start, stop)
                file.write(lines.tobytes())
                num_rows += len(lines)
                if progress is not None:
                    progress(num_rows)
    return num_rows


def _lines_of_voters(spec: MoralMachineLike, start: int, stop: int) -> NDArray[np.uint8]:
    """Return the lines of some voters, one voter after another."""
    truth = draw_preferences(spec, start=start, stop=stop)
    blocks = [_lines(spec, record, start, stop, truth) for record in range(spec.records)]
    lines = np.stack([block.reshape(stop - start, 2, -1) for block in blocks], axis=1)
    return lines.reshape(2 * spec.records * (stop - start), -1)


def _scattered(
    lines: NDArray[np.uint8], spec: MoralMachineLike, record: int, start: int, stop: int
) -> NDArray[np.uint8]:
    """Return lines in random order."""
    purpose = f"order of rows {record}"
    uniforms = draw_uniforms(_GENERATOR, spec.seed, purpose, start=start, stop=stop, slots=2)
    return lines[np.argsort(uniforms.ravel(), kind="stable")]


def _lines(spec: MoralMachineLike, record: int, start: int, stop: int, truth: Any) -> NDArray[np.uint8]:
    """Return the lines of one dilemma of each of some voters, two for each: uint8, shape (2·voters, bytes)."""
    dilemmas = draw_dilemmas(spec, record, start=start, stop=stop, preferences=truth)
    numbers = np.arange(start + 1, stop + 1)
    responses = [_digits(numbers, _RESPONSE_DIGITS[0]), _text("r", len(numbers))]
    responses.append(_digits(np.full(len(numbers), record), _RESPONSE_DIGITS[1]))
    head = [*responses, _text(",", len(numbers)), _digits(numbers, _USER_DIGITS)]
    heads = np.repeat(np.concatenate(head, axis=1), 2, axis=0)
    cells = _cells(dilemmas)
    lines = np.empty((len(heads), heads.shape[1] + 2 * cells.shape[1] + 1), dtype=np.uint8)
    lines[:, : heads.shape[1]] = heads
    lines[:, heads.shape[1] :: 2] = ord(",")
    lines[:, heads.shape[1] + 1 :: 2] = cells + ord("0")
    lines[:, -1] = ord("\n")
    return lines


def _cells(dilemmas: Dilemmas) -> NDArray[np.uint8]:
    """Return the columns of one digit: uint8, shape (2·voters, 26)."""
    entries: NDArray[np.uint8] = dilemmas.entries
    num_counts = len(CHARACTERS)
    counts, circumstances = entries[:, :, :num_counts], entries[:, :, num_counts:]
    are_pedestrians = np.broadcast_to(np.all(circumstances[:, :, 1] == 0, axis=1)[:, None], entries.shape[:2])
    is_saved = np.arange(2) == dilemmas.spared[:, None]
    columns = [
        circumstances[:, :, 0],
        are_pedestrians,
        circumstances[:, :, 1],
        circumstances[:, :, 2],
        counts.sum(axis=2),
        is_saved,
    ]
    cells = np.concatenate([np.stack(columns, axis=2).astype(np.uint8), counts], axis=2)
    return cells.reshape(-1, cells.shape[2])


def _digits(numbers: IntArray, width: int) -> NDArray[np.uint8]:
    """Return numbers as decimal digits of one width: uint8, shape (numbers, width)."""
    powers = 10 ** np.arange(width - 1, -1, -1, dtype=np.int64)
    return (numbers[:, None] // powers % 10 + ord("0")).astype(np.uint8)


def _text(text: str, number: int) -> NDArray[np.uint8]:
    """Return the same text for each: uint8, shape (number, bytes)."""
    return np.tile(np.frombuffer(text.encode(), dtype=np.uint8), (number, 1))
