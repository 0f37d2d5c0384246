"""Files in the Moral Machine's column format, written from made-up voters: for tests and measurements of readers.

Of the 41 published columns a file has the 28 that a reader needs: ResponseID, UserID, Intervention, PedPed, Barrier,
CrossingSignal, Saved, NumberOfCharacters and the twenty characters. Every entry of a column has the same width, so that
rows are written as one table of bytes.

Shuffled, the rows stand record by record: first one dilemma of every voter, then the next. Within each block of voters
all rows are in random order, so a voter's rows are spread over the whole file and the two rows of a response are apart.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from psephos.protocol.arrays import IntArray
from psephos.scenarios.moral_preferences.data.dilemmas import CHARACTERS
from psephos.scenarios.moral_preferences.data.generators import draw_uniforms
from psephos.scenarios.moral_preferences.data.machine_like import MoralMachineLike, draw_dilemmas

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
_GENERATOR: Final = "moral-machine-like"


def write_moral_machine_like(path: Path, *, voters: int, records: int = 13, seed: int = 0, shuffle: bool = True) -> int:
    """Write made-up voters' responses as a file in the Moral Machine's column format; return how many rows it has.

    Reading the file gives the voters of `make_machine_like` for the same description.

    Args:
        path: the file; it is written anew.
        voters: how many.
        records: dilemmas that each answers.
        seed: of the voters.
        shuffle: the rows of a voter are scattered; otherwise they stand together.

    Raises:
        ConfigurationError: an option is not allowed.
        OSError: the file cannot be written.
    """
    spec = MoralMachineLike(voters=voters, records=records, seed=seed)
    with path.open("wb") as file:
        file.write(",".join(MACHINE_COLUMNS).encode() + b"\n")
        for lines in _scattered(spec) if shuffle else _by_voter(spec):
            file.write(lines.tobytes())
    return 2 * records * voters


def _by_voter(spec: MoralMachineLike) -> Iterator[NDArray[np.uint8]]:
    """Yield the lines of one voter after another."""
    for start, stop in _spans(spec.voters, max(1, _BLOCK_ROWS // (2 * spec.records))):
        blocks = [_lines(spec, record, start, stop).reshape(stop - start, 2, -1) for record in range(spec.records)]
        yield np.stack(blocks, axis=1).reshape(2 * spec.records * (stop - start), -1)


def _scattered(spec: MoralMachineLike) -> Iterator[NDArray[np.uint8]]:
    """Yield the lines of one dilemma after another, in random order."""
    for record in range(spec.records):
        for start, stop in _spans(spec.voters, _BLOCK_ROWS // 2):
            purpose = f"order of rows {record}"
            uniforms = draw_uniforms(_GENERATOR, spec.seed, purpose, start=start, stop=stop, slots=2)
            yield _lines(spec, record, start, stop)[np.argsort(uniforms.ravel(), kind="stable")]


def _spans(number: int, size: int) -> list[tuple[int, int]]:
    return [(start, min(start + size, number)) for start in range(0, number, size)]


def _lines(spec: MoralMachineLike, record: int, start: int, stop: int) -> NDArray[np.uint8]:
    """Return the lines of one dilemma of each of some voters, two for each: uint8, shape (2·voters, bytes)."""
    dilemmas = draw_dilemmas(spec, record, start=start, stop=stop)
    numbers = np.arange(start + 1, stop + 1)
    responses = [_digits(numbers, _RESPONSE_DIGITS[0]), _text("r", len(numbers))]
    responses.append(_digits(np.full(len(numbers), record), _RESPONSE_DIGITS[1]))
    head = [*responses, _text(",", len(numbers)), _digits(numbers, _USER_DIGITS)]
    heads = np.repeat(np.concatenate(head, axis=1), 2, axis=0)
    entries: NDArray[np.uint8] = dilemmas.entries
    counts, circumstances = np.split(entries, [len(CHARACTERS)], axis=2)
    # The columns of one digit.
    columns = [
        circumstances[:, :, 0],
        np.broadcast_to(np.all(circumstances[:, :, 1] == 0, axis=1)[:, None], entries.shape[:2]),  # only pedestrians
        circumstances[:, :, 1],
        circumstances[:, :, 2],
        counts.sum(axis=2),
        np.arange(2) == dilemmas.spared[:, None],
    ]
    cells = np.concatenate([np.stack(columns, axis=2).astype(np.uint8), counts], axis=2).reshape(len(heads), -1)
    lines = np.empty((len(heads), heads.shape[1] + 2 * cells.shape[1] + 1), dtype=np.uint8)
    lines[:, : heads.shape[1]] = heads
    lines[:, heads.shape[1] :: 2] = ord(",")
    lines[:, heads.shape[1] + 1 :: 2] = cells + ord("0")
    lines[:, -1] = ord("\n")
    return lines


def _digits(numbers: IntArray, width: int) -> NDArray[np.uint8]:
    """Return numbers as decimal digits of one width: uint8, shape (numbers, width)."""
    powers = 10 ** np.arange(width - 1, -1, -1, dtype=np.int64)
    return (numbers[:, None] // powers % 10 + ord("0")).astype(np.uint8)


def _text(text: str, number: int) -> NDArray[np.uint8]:
    """Return the same text for each: uint8, shape (number, bytes)."""
    return np.tile(np.frombuffer(text.encode(), dtype=np.uint8), (number, 1))
