"""Surveys with two rows for each record, in files of any size, as batches of voters.

A voter's rows may stand anywhere: they are brought together on disk, and memory holds the voters' names. One pass finds
the most records of one voter, which bound what each pays; another yields the voters.
"""

import contextlib
import dataclasses
import functools
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Final

import numpy as np

from ....protocol.arrays import FloatArray
from ....protocol.errors import ConfigurationError, did_you_mean, refuse, require
from ....protocol.moral_preferences.records import GREATEST_FEATURE
from ...reading.batches import RowBatch, TableFiles
from ...reading.grouping import Names, RowPlaces, RowsOnDisk, hashed, numbers_in
from ...reading.headers import USUAL, TableOptions
from ...reading.manifests import remembered
from .csv_numbers import ALLOWED
from .files import CHOICE, RECORD, VOTER, Voters, check_voters, make_reading, records_of
from .privacy_groups import PrivacyGroups
from .survey import Survey

BATCH_VOTERS: Final = 10_000
_FIELD: Final = "voters.choices"
_CODES: Final = 3  # before the numbers of a row: voter, number of the row, record


@dataclasses.dataclass(frozen=True)
class SurveyStream:
    """A survey in batches."""

    features: tuple[str, ...]  # of every alternative
    max_records: int  # the most of one voter
    groups: PrivacyGroups | None  # by which voters have an ε of their own; None where everybody has the session's
    num_voters: int | None  # how many there are, where that is known beforehand
    open: Callable[[Path], Generator[Survey]]  # makes the batches anew; its argument is a folder for temporary files


def stream_choices(
    path: str,
    groups: PrivacyGroups | None,
    *,
    manifest: str = "",
    alike_voters: Voters = "refuse",
    options: TableOptions = USUAL,
) -> SurveyStream:
    """Return the voters of a file, a folder or a pattern with the columns voter, record, choice and the features.

    Voters are numbered by their first row, and each voter's records likewise, as `read_survey` has them.

    Raises:
        ConfigurationError: a file cannot be read or is not what it should be; the field names file and row.
    """
    files = TableFiles(path, field=_FIELD, columns={}, options=options)
    for name in (VOTER, RECORD, CHOICE):
        allowed = f"a column of each file{did_you_mean(name, files.names)}"
        require(name in files.names, f"column {name!r} of {files.paths[0].name}", "missing", allowed)
    features = tuple(name for name in files.names if name not in {VOTER, RECORD, CHOICE})
    require(features, f"features of {files.paths[0].name}", "none", "at least one column of numbers")
    surveys = functools.partial(_surveys, files=files, features=features, alike_voters=alike_voters)
    limits_found = remembered(
        manifest, files, functools.partial(_look_at, surveys), facts_asked={"alike_voters": alike_voters}
    )
    read_surveys = functools.partial(surveys, max_records=limits_found["max_records"])
    return SurveyStream(features, limits_found["max_records"], groups, limits_found["voters"], open=read_surveys)


def _look_at(surveys: Callable[[Path], Generator[Survey]]) -> dict[str, int]:
    """Return the most records of one voter, and the number of voters."""
    max_records = number = 0
    with tempfile.TemporaryDirectory() as folder:
        for survey in surveys(Path(folder)):
            max_records = max(max_records, int(survey.records.num_records.max()))
            number += len(survey.voters)
    return {"max_records": max_records, "voters": number}


def _surveys(
    folder: Path, *, files: TableFiles, features: tuple[str, ...], alike_voters: Voters, max_records: int | None = None
) -> Generator[Survey]:
    """Yield the voters by their places."""
    voters, places = Names(VOTER, as_they_are=True, are_alike_one=alike_voters == "one"), RowPlaces()
    columns = [VOTER, RECORD, CHOICE, *features]
    with contextlib.ExitStack() as stack:
        rows_on_disk = stack.enter_context(RowsOnDisk(folder, width=len(columns) + 1))
        batches = stack.enter_context(contextlib.closing(files.batches(columns)))
        for batch in batches:
            start = places.add(batch)
            rows = np.empty((batch.num_rows, len(columns) + 1), dtype=np.int64)
            rows[:, 0] = voters.codes_in(batch, start)
            rows[:, 1] = np.arange(start, start + batch.num_rows)
            rows[:, 2] = hashed(batch.table[RECORD])
            for column, name in enumerate((CHOICE, *features), start=_CODES):
                rows[:, column] = _numbers_in(batch, name).view(np.int64)
            rows_on_disk.add(rows)
        names = list(voters)
        check_voters(names, lambda place: places.where(voters.first_rows[place]), alike_voters)
        for place, number, rows_of_part in rows_on_disk.split_batches(np.arange(len(names)), BATCH_VOTERS):
            records = records_of(
                rows_of_part[:, _CODES:].copy().view(np.float64),
                lambda row, rows_of_part=rows_of_part: places.where(int(rows_of_part[row, 1])),
                rows_of_part[:, 0] - place,
                number,
                rows_of_part[:, 2],
            )
            allowed = "as they were in the first pass: files are not to change while they are read"
            largest = int(records.num_records.max())
            refuse(max_records is not None and largest > max_records, "records of one voter", largest, allowed)
            yield Survey(names[place : place + number], features, records, files.paths[0].name, make_reading(records))


def _numbers_in(batch: RowBatch, name: str) -> FloatArray:
    """Return a column of numbers in the range of features; ConfigurationError where an entry is none."""
    entries = batch.table[name]
    numbers = numbers_in(entries)
    is_fault = ~(np.abs(numbers) <= GREATEST_FEATURE)
    if np.any(is_fault):
        row = int(np.argmax(is_fault))
        raise ConfigurationError(field=f"{name} ({batch.where(row + 1)})", value=str(entries[row]), allowed=ALLOWED)
    return numbers
