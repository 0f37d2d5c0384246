"""Moral Machine responses in the original column format (`SharedResponses.csv`), at once or some voters at a time.

Only the columns ResponseID, UserID, Intervention, Barrier, CrossingSignal, Saved and the twenty characters are read,
and NumberOfCharacters where it is there; others are ignored. `dilemmas` says how they become 23 features, `responses`
what becomes of every row.

In the published file the rows of one user are scattered over some twelve gigabytes. One pass reads the needed columns,
packs each row's entries into three numbers, and brings each user's rows together (`reading.grouping`), whose names are
in memory.

Source: Awad et al. (2018), the published data set.
"""

import contextlib
import dataclasses
from collections.abc import Generator
from pathlib import Path
from typing import Final

import numpy as np

from ....protocol.errors import refuse
from ...reading.batches import TableFiles
from ...reading.grouping import Names, RowPlaces, RowsByOwner, hashed
from .numbers import numbers_of
from .responses import (
    ENTRY_COLUMNS,
    RESPONSE,
    TOTAL,
    VOTER,
    Limits,
    ResponseRows,
    entries_of_numbers,
    no_voters,
    survey_of_rows,
)
from .survey import Survey

_COLUMNS: Final = (VOTER, RESPONSE, *ENTRY_COLUMNS)
_CODES: Final = 3  # before the entries of a row: voter, number of the row, response


def read_moral_machine(
    path: Path, *, min_records: int = 1, max_records: int | None = None, field: str = "file"
) -> Survey:
    """Return the survey of a file that is read at once. See `ResponseFiles`."""
    (survey,) = ResponseFiles(path, Limits(min_records, max_records), field=field).surveys(None)
    return survey


class ResponseFiles:
    """Files in the Moral Machine's original column format, of which no row is read yet.

    Voters are users, sorted by UserID as text; their records are in the order of the files. Surveys of some voters at a
    time have readings that sum to that of all.

    Args:
        path: as `TableFiles` has it.
        limits: which voters and responses count.

    Raises:
        ConfigurationError: a file cannot be read, or has other columns.
    """

    def __init__(self, path: str | Path, limits: Limits, *, field: str) -> None:
        self._limits = limits
        self._files = TableFiles(path, field=field, wanted=[*_COLUMNS, TOTAL])
        names = self._files.names
        missing = [name for name in _COLUMNS if name not in names]
        allowed = f"a header with the Moral Machine's columns; missing: {', '.join(missing)}"
        refuse(missing, f"{self._files.paths[0].name} line 1", names, allowed)
        self._columns = [*_COLUMNS, TOTAL] if TOTAL in names else list(_COLUMNS)

    def surveys(self, folder: Path | None, *, batch_voters: int | None = None) -> Generator[Survey]:
        """Yield the survey, some voters at a time. Nothing is read before the first one is asked for.

        Args:
            folder: for temporary files of some 50 bytes a row; without one all is in memory.
            batch_voters: so many at a time at most, before those with too few responses are dropped; by default all.

        Raises:
            ConfigurationError: a file is not what it should be; the field names the line. What was yielded before
                stands.
        """
        source, held_survey = self._files.paths[0].name, None
        voters, places = Names(VOTER, as_they_are=True), RowPlaces()
        with contextlib.ExitStack() as stack:
            rows_by_voter = stack.enter_context(RowsByOwner(folder, width=_CODES + len(ENTRY_COLUMNS) // 8))
            for batch in stack.enter_context(contextlib.closing(self._files.batches(self._columns))):
                start = places.add(batch)
                entries = entries_of_numbers(numbers_of(batch, self._columns[2:], is_strict=False))
                codes = voters.codes_in(batch, start), np.arange(start, places.num_rows), hashed(batch.table[RESPONSE])
                rows_by_voter.add(np.concatenate([np.stack(codes, axis=1), entries.view(np.int64)], axis=1))
            names = list(voters)
            order = sorted(range(len(names)), key=names.__getitem__)
            for place, number, part in rows_by_voter.split_batches(np.argsort(order), batch_voters or len(names)):
                rows = ResponseRows(
                    [names[code] for code in order[place : place + number]],
                    part[:, 0] - place,
                    part[:, 2],
                    part[:, _CODES:].copy().view(np.uint8),
                    part[:, 1],
                )
                survey = survey_of_rows(rows, self._limits, source=source, row_at=self._row_at, line_of=places.line)
                # Until it is known whether one without voters comes, whose reading it takes along.
                if held_survey is None:
                    held_survey = survey
                elif not len(held_survey.voters) or not len(survey.voters):
                    kept_survey = survey if len(survey.voters) else held_survey
                    held_survey = dataclasses.replace(kept_survey, reading=held_survey.reading + survey.reading)
                else:
                    yield held_survey
                    held_survey = survey
        if held_survey is None or not len(held_survey.voters):
            num_rows = 0 if held_survey is None else held_survey.reading.num_rows
            raise no_voters(source, self._limits, num_rows=num_rows)
        yield held_survey

    def _row_at(self, place: int) -> tuple[str, dict[str, str]]:
        """Return where a row stands, and its entries, which are read again."""
        start = 0
        with contextlib.closing(self._files.batches(self._columns)) as batches:
            batch = next(each for each in batches if (start := start + each.num_rows) > place)
        row = place - start + batch.num_rows
        return batch.where(row + 1), {name: str(batch.table[name][row]) for name in self._columns}
