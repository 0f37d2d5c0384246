"""Surveys in files of any size: two lines for each record, one for either alternative.

    voter,record,choice,lives,law
    ann,1,1,5,0
    ann,1,0,1,1

`choice` is 1 for the alternative that the voter chose and 0 for the other one. The order of the lines is free: voters
are numbered by their first line, and each voter's records likewise. One person's own file has no column `voter`.

A voter's rows are brought together in memory, or on disk, from where batches of voters come; their names are in memory.
"""

import contextlib
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.columns import first_alike
from ....protocol.errors import ConfigurationError, did_you_mean, refuse, require
from ....protocol.moral_preferences.records import Records
from ....protocol.roles import check_party_name
from ...reading.batches import TableFiles
from ...reading.grouping import Names, RowPlaces, RowsByOwner, hashed
from ...reading.headers import USUAL, TableOptions
from .numbers import numbers_of, read_numbers
from .survey import Reading, Survey

VOTER: Final = "voter"  # the column that names voters
RECORD: Final = "record"
CHOICE: Final = "choice"
BATCH_VOTERS: Final = 10_000
_LINES_OF_A_RECORD: Final = 2
_CHANGED: Final = "as they were in the first pass: files are not to change while they are read"
_CODES: Final = 3  # before the numbers of a row: voter, number of the row, record


Voters: TypeAlias = Literal["refuse", "one", "several"]
"""Whose names are that differ in case or blanks alone: refused, one voter's, or those of several."""


class ChoiceFiles:
    """Files with the columns voter, record, choice and the features, of which no row is read yet.

    Args:
        path: as `TableFiles` has it.
        society: a column that is no feature, since it names voters' societies.

    Attributes:
        features: the names of the features.

    Raises:
        ConfigurationError: a file cannot be read or is not what it should be; the field names file and row.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        field: str = "file",
        society: str = "",
        alike_voters: Voters = "refuse",
        options: TableOptions = USUAL,
    ) -> None:
        self.files = TableFiles(path, field=field, options=options)
        self.features = _features_of(self.files, (VOTER, RECORD, CHOICE), society)
        self._alike_voters: Voters = alike_voters

    def surveys(
        self, folder: Path | None, *, batch_voters: int | None = None, max_records: int | None = None
    ) -> Generator[Survey]:
        """Yield the voters by their places.

        Args:
            folder: for temporary files; without one all is in memory.
            batch_voters: so many at a time at most; by default all.
            max_records: of one voter, as a pass found before.
        """
        voters = Names(VOTER, as_they_are=True, are_alike_one=self._alike_voters == "one")
        places, columns = RowPlaces(), [VOTER, RECORD, CHOICE, *self.features]
        with contextlib.ExitStack() as stack:
            rows_by_voter = stack.enter_context(RowsByOwner(folder, width=len(columns) + 1))
            for batch in stack.enter_context(contextlib.closing(self.files.batches(columns, uncoded=self.features))):
                start = places.add(batch)
                rows = np.empty((batch.num_rows, len(columns) + 1), dtype=np.int64)
                rows[:, 0] = voters.codes_in(batch, start)
                rows[:, 1] = np.arange(start, start + batch.num_rows)
                rows[:, 2] = hashed(batch.table[RECORD])
                rows[:, _CODES:] = numbers_of(batch, columns[2:]).view(np.int64)
                rows_by_voter.add(rows)
            names = list(voters)
            _check_voters(names, lambda place: places.where(voters.first_rows[place]), self._alike_voters)
            for place, number, part in rows_by_voter.split_batches(np.arange(len(names)), batch_voters or len(names)):
                records = _records_of(
                    part[:, _CODES:].copy().view(np.float64),
                    lambda row, part=part: places.where(int(part[row, 1])),
                    part[:, 0] - place,
                    number,
                    part[:, 2],
                )
                largest, allowed = (
                    int(records.num_records.max()),
                    _CHANGED,
                )
                refuse(max_records is not None and largest > max_records, "records of one voter", largest, allowed)
                lines = [places.line(row) for row in voters.first_rows[place : place + number]]
                some_names, source = names[place : place + number], self.files.paths[0].name
                yield Survey(some_names, self.features, records, source, make_reading(records), lines)


def read_survey(
    path: Path,
    *,
    field: str = "file",
    society: str = "",
    alike_voters: Voters = "refuse",
    options: TableOptions = USUAL,
) -> Survey:
    """Return the survey of a file that is read at once. See `ChoiceFiles`."""
    files = ChoiceFiles(path, field=field, society=society, alike_voters=alike_voters, options=options)
    (survey,) = files.surveys(None)
    return survey


def _check_voters(names: Sequence[str], place_of: Callable[[int], str], alike_voters: Voters) -> None:
    """Raise ConfigurationError for a name that no party may have, or that may be another one's of the same person.

    `place_of` says where the name at a place stands first.
    """
    for place, name in enumerate(names):
        check_party_name(name, field=f"{VOTER} ({place_of(place)})")
    if alike_voters != "several" and (places := first_alike(names)) is not None:
        first, second_place = places
        allowed = (
            f"unlike {names[first]!r}, but for case and blanks: voters.alike_voters says whether they are one voter's "
            "(one) or not (several)"
        )
        raise ConfigurationError(
            field=f"{VOTER} ({place_of(second_place)})", value=names[second_place], allowed=allowed
        )


def _records_of(
    numbers: FloatArray,
    place_of: Callable[[int], str],
    voter_of_row: IntArray,
    num_voters: int,
    record_of_row: IntArray,
) -> Records:
    """Return voters' records, each in the order of its first row.

    Args:
        numbers: of each row, the choice and the features.
        place_of: of a row's number, where that stands, for errors.
        voter_of_row: whose it is, in [0, num_voters).
        num_voters: how many there are.
        record_of_row: of one voter, equal for the rows of one record.

    Raises:
        ConfigurationError: a choice is none, or a record is not two rows, one of them chosen.
    """
    distinct, codes = np.unique(record_of_row, return_inverse=True)
    # A record's number: that of its first row among all records' first rows.
    _, firsts, inverse = np.unique(voter_of_row * len(distinct) + codes, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    key_rows, key_of_row = firsts[order], np.argsort(order)[inverse]
    chosen_rows, rejected_rows = _pair(numbers, place_of, key_of_row, len(order))
    voter_of_record = voter_of_row[key_rows]
    order = np.argsort(voter_of_record, kind="stable")
    values = numbers[:, 1:]
    counts = np.bincount(voter_of_record, minlength=num_voters)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Records(starts, values[chosen_rows[order]], values[rejected_rows[order]])


def make_reading(records: Records) -> Reading:
    """Return what became of the rows of these records: each has two.

    Examples:
        >>> records = Records(np.array([0, 1, 3]), np.zeros((3, 2)), np.ones((3, 2)))
        >>> make_reading(records).description
        '3 records of 2 voters, from 6 rows'
    """
    number = len(records.chosen)
    return Reading(
        num_rows=_LINES_OF_A_RECORD * number, num_responses=number, num_voters=len(records), num_records=number
    )


def read_own_records(path: Path, *, field: str = "file") -> tuple[FloatArray, tuple[str, ...]]:
    """Return one person's records, of a CSV file with the columns record, choice and the features, and these names.

    They are float64, shape (records, 2, d): the chosen alternative, then the rejected one.
    """
    files = TableFiles(path, field=field)
    features = _features_of(files, (RECORD, CHOICE))
    rows, numbers = read_numbers(files, [RECORD], [CHOICE, *features])
    records = rows.column(RECORD)
    chosen_rows, rejected_rows = _pair(numbers, lambda row: rows.where(row + 1), records.codes, len(records.names))
    values = numbers[:, 1:]
    return np.stack([values[chosen_rows], values[rejected_rows]], axis=1), features


def _features_of(files: TableFiles, required: Sequence[str], other: str = "") -> tuple[str, ...]:
    """Return the columns of features; ConfigurationError where there is none, or another column is missing."""
    name_of_file = files.paths[0].name
    for name in required:
        allowed = f"a column of each file{did_you_mean(name, files.names)}"
        require(name in files.names, f"column {name!r} of {name_of_file}", "missing", allowed)
    allowed = "a header without 'voter': these are one person's own records"
    refuse(VOTER not in required and VOTER in files.names, f"{name_of_file} line 1", files.names, allowed)
    features = tuple(name for name in files.names if name not in {*required, other})
    allowed = f"the columns {', '.join(required)} and at least one feature, each with a name"
    is_named = files.unnamed.isdisjoint(features) and all(name.strip() == name for name in features)
    require(features and is_named, f"{name_of_file} line 1", files.names, allowed)
    return features


def _pair(
    numbers: FloatArray, place_of: Callable[[int], str], key_of_row: IntArray, num_keys: int
) -> tuple[IntArray, IntArray]:
    """Return the rows of each record's chosen and rejected alternative."""
    choices = numbers[:, 0]
    is_fault = (choices != 0) & (choices != 1)
    if np.any(is_fault):
        row = int(np.argmax(is_fault))
        field = f"{CHOICE} ({place_of(row)})"
        raise ConfigurationError(field=field, value=f"{choices[row]:g}", allowed="1 for the chosen one, or 0")
    order = np.argsort(key_of_row, kind="stable")
    counts = np.bincount(key_of_row, minlength=num_keys)
    starts = np.cumsum(counts) - counts
    totals = np.add.reduceat(choices[order], starts)
    is_fault = (counts != _LINES_OF_A_RECORD) | (totals != 1)
    if np.any(is_fault):
        key = int(np.argmin(np.where(is_fault, order[starts], len(order))))
        first, *other_places = map(place_of, order[starts[key] : starts[key] + counts[key]][:9].tolist())
        file, _, _ = first.rpartition(" ")
        line_numbers = ", ".join(other.removeprefix(f"{file} ") for other in other_places)
        problem = f"{counts[key]} line{'s' if counts[key] > 1 else ''}, {totals[key]:g} of them chosen"
        problem += f" (also {file.rpartition(' ')[2]} {line_numbers})" if other_places else ""
        allowed = "a record of two lines, one with choice 1 and one with choice 0"
        raise ConfigurationError(field=first, value=problem, allowed=allowed)
    first_rows, second_rows = order[starts], order[starts + 1]
    is_first = choices[first_rows] == 1
    return np.where(is_first, first_rows, second_rows), np.where(is_first, second_rows, first_rows)
