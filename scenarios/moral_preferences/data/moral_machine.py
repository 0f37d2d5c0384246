"""Moral Machine responses in the original column format (`SharedResponses.csv`), at once or some voters at a time.

Only the columns ResponseID, UserID, Intervention, Barrier, CrossingSignal, Saved and the twenty characters are read,
and NumberOfCharacters where it is there; others are ignored. `dilemmas` says how they become 23 features, `responses`
what becomes of every row.

In the published file the rows of one user are scattered over some twelve gigabytes. One pass reads the needed columns,
packs each row's entries into three numbers, and brings each user's rows together (`reading.grouping`), whose names are
in memory; from there on all is as for files that fit into memory.

Source: Awad et al. (2018), the published data set.
"""

import contextlib
import dataclasses
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from ....protocol.errors import require
from ...reading.batches import TableFiles, is_columnar
from ...reading.grouping import Names, RowPlaces, RowsOnDisk, hashed, numbers_in
from .csv_numbers import codes_of, header_of, read_numbers, row_at
from .responses import (
    ENTRY_COLUMNS,
    RESPONSE,
    TOTAL,
    VOTER,
    Limits,
    ResponseRows,
    check_header,
    entries_of_numbers,
    no_voters,
    survey_of_rows,
)
from .survey import Survey

_CODES: Final = 3  # before the entries of a row: voter, number of the row, response


def read_moral_machine(
    path: Path, *, min_records: int = 1, max_records: int | None = None, field: str = "file"
) -> Survey:
    """Return the survey of a file in the Moral Machine's original column format, which may be packed (`.gz`).

    Voters are users, sorted by UserID as text; their records are in the order of the file.

    Args:
        min_records: voters with fewer complete responses are dropped and counted.
        max_records: of each voter's complete responses the first ones count, the others are dropped and counted; None
            for all.
    """
    limits = Limits(min_records, max_records)

    def choose(header: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        check_header(header)
        return (RESPONSE, VOTER), (*ENTRY_COLUMNS, *([TOTAL] if TOTAL in header else []))

    table = read_numbers(path, choose, field=field, is_strict=False)
    width = len(ENTRY_COLUMNS)
    totals = table.numbers[:, width] if table.numbers.shape[1] > width else None
    codes, names = codes_of(table.names[VOTER])
    order = sorted(range(len(names)), key=names.__getitem__)
    rows = ResponseRows(
        [names[code] for code in order],
        np.argsort(order)[codes],
        codes_of(table.names[RESPONSE])[0],
        entries_of_numbers(table.numbers[:, :width], totals),
        np.arange(len(codes), dtype=np.int64),
        table.lines,
    )

    def row_of(place: int) -> tuple[str, dict[str, str]]:
        return table.where(place), dict(row_at(path, place, table.form)[1])

    return survey_of_rows(rows, limits, source=path.name, row_at=row_of)


def check_responses(path: Path, *, field: str) -> TableFiles:
    """Return files in the Moral Machine's column format, of which no row is read yet.

    ConfigurationError where a file cannot be read, or has other columns.
    """
    if not is_columnar(str(path)):
        header_of(path, check_header, field=field)
    files = TableFiles(str(path), field=field, columns={})
    check_header(files.names)
    return files


def stream_moral_machine(
    path: Path,
    *,
    folder: Path,
    batch_voters: int = 10_000,
    min_records: int = 1,
    max_records: int | None = None,
    field: str = "file",
) -> Generator[Survey]:
    """Yield the survey of a file in the Moral Machine's column format, some voters at a time.

    One batch after another, this is what `read_moral_machine` returns of the same options: voters sorted by UserID as
    text, their records in the order of the file, and readings that sum to the whole file's. The voters' lines are
    counted as if each row were one line of one file; an error names the true one. Nothing is read before the first
    batch is asked for; that one takes nearly all of the time.

    Args:
        path: a file, which may be packed (`.gz`), a folder or a pattern.
        folder: where temporary files take some 50 bytes a row; they are removed at the end.
        batch_voters: of each batch, before voters with too few responses are dropped, at least 1.

    Raises:
        ConfigurationError: an option is not allowed, or a file cannot be read or is not what it should be; the field
            names the line. Batches that were yielded before stand.
    """
    limits = Limits(min_records, max_records)
    require(batch_voters >= 1, "batch_voters", batch_voters, "at least 1")
    files = check_responses(path, field=field)
    columns = [VOTER, RESPONSE, *ENTRY_COLUMNS, *([TOTAL] if TOTAL in files.names else [])]

    def row_of(place: int) -> tuple[str, dict[str, str]]:
        start = 0
        with contextlib.closing(files.batches(columns)) as batches:
            batch = next(each for each in batches if (start := start + each.num_rows) > place)
        row = place - start + batch.num_rows
        return batch.where(row + 1), {name: str(batch.table[name][row]) for name in columns}

    held_survey: Survey | None = (
        None  # until it is known whether a batch without voters comes, whose reading it takes along
    )
    with contextlib.closing(_batches(files, columns, folder, batch_voters)) as batches:
        for rows in batches:
            survey = survey_of_rows(rows, limits, source=path.name, row_at=row_of, is_empty_allowed=True)
            if held_survey is None:
                held_survey = survey
            elif not len(held_survey.voters) or not len(survey.voters):
                kept_survey = survey if len(survey.voters) else held_survey
                held_survey = dataclasses.replace(kept_survey, reading=held_survey.reading + survey.reading)
            else:
                yield held_survey
                held_survey = survey
    if held_survey is None or not len(held_survey.voters):
        raise no_voters(path.name, limits, num_rows=0 if held_survey is None else held_survey.reading.num_rows)
    yield held_survey


def _batches(files: TableFiles, columns: Sequence[str], folder: Path, batch_voters: int) -> Generator[ResponseRows]:
    """Yield all rows of so many voters at a time, in the order of their names."""
    voters, places = Names(VOTER, as_they_are=True), RowPlaces()
    with contextlib.ExitStack() as stack:
        rows_on_disk = stack.enter_context(RowsOnDisk(folder, width=_CODES + len(ENTRY_COLUMNS) // 8))
        for batch in stack.enter_context(contextlib.closing(files.batches(columns))):
            start = places.add(batch)
            numbers = np.stack([numbers_in(batch.table[name]) for name in columns[2:]], axis=1)
            totals = numbers[:, -1] if TOTAL in columns else None
            entries = entries_of_numbers(numbers[:, : len(ENTRY_COLUMNS)], totals)
            codes = voters.codes_in(batch, start), np.arange(start, places.num_rows), hashed(batch.table[RESPONSE])
            rows_on_disk.add(np.concatenate([np.stack(codes, axis=1), entries.view(np.int64)], axis=1))
        names = list(voters)
        order = sorted(range(len(names)), key=names.__getitem__)
        for place, number, rows_of_part in rows_on_disk.split_batches(np.argsort(order), batch_voters):
            entries = rows_of_part[:, _CODES:].copy().view(np.uint8)
            some_names = [names[code] for code in order[place : place + number]]
            yield ResponseRows(
                some_names,
                rows_of_part[:, 0] - place,
                rows_of_part[:, 2],
                entries,
                rows_of_part[:, 1],
                rows_of_part[:, 1] + 2,
            )
