"""Moral Machine responses of any size: grouped by voter in bounded memory.

In the published file the rows of one user are scattered over some twelve gigabytes. DuckDB (the extra `outofcore`)
reads the needed columns once, packs each row's entries into three numbers, sorts by user on disk where memory does not
suffice, and hands the rows over in pieces; from there on all is as for files that fit into memory.

Source: Awad et al. (2018), the published data set.
"""

import contextlib
import dataclasses
import importlib
import importlib.util
import re
import tempfile
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.errors import ConfigurationError
from .csv_numbers import header_of, row_at
from .dilemmas import CHARACTERS
from .options import check_option
from .responses import (
    ENTRY_COLUMNS,
    FAULTY,
    RESPONSE,
    TOTAL,
    VOTER,
    Limits,
    ResponseRows,
    check_header,
    most_of,
    no_voters,
    survey_of_rows,
)
from .survey import Survey

__all__ = ["check_outofcore", "stream_moral_machine"]

_LEAST_BYTES: Final = 1 << 27
_THREADS: Final = 2
_VECTORS: Final = 64  # of 2,048 rows each: so many are fetched at once
_WORD_BYTES: Final = 8
_WORDS: Final = ("a", "b", "c")
_LINE: Final = re.compile(r"Line: ([0-9]+)")


def check_outofcore() -> None:
    """Raise ConfigurationError where DuckDB is not installed."""
    if importlib.util.find_spec("duckdb") is None:
        allowed = "installed to read files that do not fit into memory: pip install 'psephos[outofcore]'"
        raise ConfigurationError(field="duckdb", value="not installed", allowed=allowed)


def stream_moral_machine(
    path: Path,
    *,
    folder: Path,
    batch_voters: int = 10_000,
    min_records: int = 1,
    max_records: int | None = None,
    memory_bytes: int = 400_000_000,
    field: str = "file",
) -> Generator[Survey]:
    """Yield the survey of a file in the Moral Machine's column format, some voters at a time.

    One batch after another, this is what `read_moral_machine` returns: voters sorted by UserID as text, their records
    in the order of the file, and readings that sum to the whole file's. The voters' lines are counted as if each row
    were one line; an error names the true one.

    Nothing is read before the first batch is asked for; that one takes nearly all of the time.

    Args:
        path: the file, which may be packed (`.gz`).
        folder: where temporary files may grow to about the file's size (unpacked); they are removed at the end.
        batch_voters: of each batch, before voters with too few responses are dropped, at least 1.
        min_records: as in `read_moral_machine`.
        max_records: likewise.
        memory_bytes: DuckDB's limit, at least 2**27; the process needs some 400 MB beside it.
        field: the setting that names the file, for errors.

    Raises:
        ConfigurationError: an option is not allowed, DuckDB is not installed, or the file cannot be read or is not what
            it should be; the field names the line. Batches that were yielded before stand.
    """
    limits = Limits(min_records, max_records)
    check_option("batch_voters", batch_voters, is_allowed=batch_voters >= 1, allowed="at least 1")
    check_option(
        "memory_bytes", memory_bytes, is_allowed=memory_bytes >= _LEAST_BYTES, allowed=f"at least {_LEAST_BYTES}"
    )
    header = header_of(path, check_header, field=field)

    def row_of(place: int) -> tuple[str, dict[str, str]]:
        line, entries = row_at(path, place)
        return f"{path.name} line {line}", dict(entries)

    held: Survey | None = None  # until it is known whether a batch without voters comes, whose reading it takes along
    with contextlib.closing(_batches(path, header, folder, memory_bytes, batch_voters)) as batches:
        for rows in batches:
            survey = survey_of_rows(rows, limits, source=path.name, row_at=row_of, is_empty_allowed=True)
            if held is None:
                held = survey
            elif not len(held.voters) or not len(survey.voters):
                kept = survey if len(survey.voters) else held
                held = dataclasses.replace(kept, reading=held.reading + survey.reading)
            else:
                yield held
                held = survey
    if held is None or not len(held.voters):
        raise no_voters(path.name, limits, num_rows=0 if held is None else held.reading.num_rows)
    yield held


def _batches(
    path: Path, header: Sequence[str], folder: Path, memory_bytes: int, batch_voters: int
) -> Generator[ResponseRows]:
    """Yield all rows of so many voters at a time, in the order of their names."""
    buffered: list[_Piece] = []
    num_names = 0
    with contextlib.closing(_pieces(path, header, folder, memory_bytes)) as pieces:
        for piece in pieces:
            is_new = piece.voters[1:] != piece.voters[:-1]
            num_names += int(np.sum(is_new)) + 1  # one too many where the piece goes on with the last one's voter
            buffered.append(piece)
            if num_names <= batch_voters + len(buffered):
                continue
            whole = _Piece.joined(buffered)
            ends = np.flatnonzero(whole.voters[1:] != whole.voters[:-1]) + 1  # the last voter may go on
            starts = np.concatenate([[0], ends])
            cuts = starts[batch_voters::batch_voters]
            for start, stop in zip([0, *cuts[:-1]], cuts, strict=True) if len(cuts) else ():
                yield whole.part(int(start), int(stop)).rows()
            rest = whole.part(int(cuts[-1]) if len(cuts) else 0, len(whole.voters))
            buffered = [rest]
            num_names = int(np.sum(rest.voters[1:] != rest.voters[:-1])) + 1
    if buffered:
        yield _Piece.joined(buffered).rows()


@dataclasses.dataclass(frozen=True, eq=False)
class _Piece:
    """Some rows, sorted by voter."""

    voters: Any
    responses: Any
    places: IntArray
    words: Any

    @classmethod
    def joined(cls, pieces: Sequence["_Piece"]) -> "_Piece":
        """Return all rows of some pieces."""
        columns = zip(*((piece.voters, piece.responses, piece.places, piece.words) for piece in pieces), strict=True)
        return cls(*(np.concatenate(column) for column in columns))

    def part(self, start: int, stop: int) -> "_Piece":
        """Return the rows in a range."""
        return _Piece(
            self.voters[start:stop], self.responses[start:stop], self.places[start:stop], self.words[start:stop]
        )

    def rows(self) -> ResponseRows:
        """Return them with numbers for voters."""
        is_new = np.ones(len(self.voters), dtype=np.bool_)
        is_new[1:] = self.voters[1:] != self.voters[:-1]
        return ResponseRows(
            self.voters[is_new].tolist(),
            np.cumsum(is_new) - 1,
            self.responses,
            self.words.view(np.uint8).reshape(len(self.voters), -1),
            self.places,
            self.places + 2,
        )


def _pieces(path: Path, header: Sequence[str], folder: Path, memory_bytes: int) -> Generator[_Piece]:
    """Yield a file's rows, sorted by voter."""
    check_outofcore()
    duckdb: Any = importlib.import_module("duckdb")
    try:
        temporary = tempfile.TemporaryDirectory(dir=folder)
    except OSError as error:
        allowed = f"a folder for temporary files ({error.strerror})"
        raise ConfigurationError(field="folder", value=str(folder), allowed=allowed) from None
    with temporary as name:
        settings = {"memory_limit": f"{memory_bytes}B", "temp_directory": name, "threads": _THREADS}
        with contextlib.closing(duckdb.connect(config=settings)) as connection:
            try:
                connection.execute(_query(header), [str(path)])
                while len(frame := connection.fetch_df_chunk(_VECTORS)):
                    yield _Piece(
                        frame["voter"].to_numpy(dtype=object),
                        frame["response"].to_numpy(),
                        frame["place"].to_numpy(),
                        np.stack([frame[word].to_numpy() for word in _WORDS], axis=1).astype("<u8"),
                    )
            except duckdb.OutOfMemoryException as error:
                allowed = f"enough to sort the file's rows ({_first_line(error)})"
                raise ConfigurationError(field="memory_bytes", value=memory_bytes, allowed=allowed) from None
            except duckdb.Error as error:
                line = _LINE.search(str(error))
                where = f"{path.name} line {line[1]}" if line else path.name
                raise ConfigurationError(field=where, value=_first_line(error), allowed="a readable CSV file") from None


def _first_line(error: Exception) -> str:
    return next((line for line in str(error).splitlines()[1:] if line.strip()), str(error).partition("\n")[0])


def _query(header: Sequence[str]) -> str:
    """Return what reads, packs and sorts; its parameter is the file."""
    has_totals = TOTAL in header
    numbers = {*ENTRY_COLUMNS, *([TOTAL] if has_totals else [])}
    types = ", ".join(f"{_literal(name)}: '{'DOUBLE' if name in numbers else 'VARCHAR'}'" for name in header)
    total = f"({' + '.join(_name(name) for name in CHARACTERS)}) = {_name(TOTAL)}" if has_totals else "true"
    cells = [_cell(name, "true" if name != ENTRY_COLUMNS[-1] else total) for name in ENTRY_COLUMNS]
    words = [
        " | ".join(
            f"({cell} << {_WORD_BYTES * place})" for place, cell in enumerate(cells[start : start + _WORD_BYTES])
        )
        for start in range(0, len(cells), _WORD_BYTES)
    ]
    packed = ", ".join(f"{word} AS {name}" for word, name in zip(words, _WORDS, strict=True))
    return (
        f"SELECT coalesce({_name(VOTER)}, '') AS voter, hash({_name(RESPONSE)}) AS response, "  # noqa: S608  our own names
        f"row_number() OVER () - 1 AS place, {packed} "
        f"FROM read_csv(?, auto_detect = false, header = true, delim = ',', quote = '\"', escape = '\"', "
        f"columns = {{{types}}}) ORDER BY voter"
    )


def _cell(name: str, condition: str) -> str:
    """Return an entry as a small integer of a word's type."""
    column, most = _name(name), most_of(name)
    is_allowed = f"{column} BETWEEN 0 AND {most} AND {column} = trunc({column}) AND {condition}"
    return f"(CASE WHEN {is_allowed} THEN {column}::UTINYINT ELSE {FAULTY} END)::UBIGINT"


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
