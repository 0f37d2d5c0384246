"""Surveys in CSV files: two lines for each record, one for either alternative.

    voter,record,choice,lives,law
    ann,1,1,5,0
    ann,1,0,1,1

`choice` is 1 for the alternative that the voter chose and 0 for the other one. The order of the lines is free: voters
are numbered by their first line, and each voter's records likewise. One person's own file has no column `voter`.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.columns import first_alike, normalize_name
from ....protocol.errors import ConfigurationError, refuse, require
from ....protocol.moral_preferences.records import Records
from ....protocol.roles import check_party_name
from ...reading.headers import USUAL, TableOptions
from .csv_numbers import Choose, codes_of, read_numbers
from .survey import Reading, Survey

VOTER: Final = "voter"  # the column that names voters
RECORD: Final = "record"
CHOICE: Final = "choice"
_LINES_OF_A_RECORD: Final = 2


Voters: TypeAlias = Literal["refuse", "one", "several"]
"""Whose names are that differ in case or blanks alone: refused, one voter's, or those of several."""


def read_survey(
    path: Path,
    *,
    field: str = "file",
    society: str = "",
    alike_voters: Voters = "refuse",
    options: TableOptions = USUAL,
) -> Survey:
    """Return the survey of a CSV file with the columns voter, record, choice and the features.

    `society` is a column that is no feature, since it names voters' societies.
    """
    features: list[str] = []
    table = read_numbers(path, _chooser((VOTER, RECORD, CHOICE), features, society), field=field, options=options)
    voter_of_row, names = codes_of(table.names[VOTER])
    voters: list[str] = list(map(str, names))
    if alike_voters == "one":
        code_of, _ = codes_of(np.array([*map(normalize_name, voters)], dtype=object))
        voters = [voters[place] for place in _first_appearances(code_of)[1]]
        voter_of_row = code_of[voter_of_row]
    first_lines = table.lines[_first_appearances(voter_of_row)[1]]
    check_voters(voters, lambda place: f"{path.name} line {first_lines[place]}", alike_voters)
    records = records_of(table.numbers, table.where, voter_of_row, len(voters), codes_of(table.names[RECORD])[0])
    return Survey(
        voters=voters,
        features=tuple(features),
        records=records,
        source=path.name,
        reading=make_reading(records),
        lines=first_lines.tolist(),
    )


def check_voters(names: Sequence[str], place_of: Callable[[int], str], alike_voters: Voters) -> None:
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


def records_of(
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
    codes, distinct = codes_of(record_of_row)
    # A record's number: that of its first row among all records' first rows.
    keys, key_rows, key_of_row = _first_appearances(voter_of_row * len(distinct) + codes)
    chosen_rows, rejected_rows = _pair(numbers, place_of, key_of_row, len(keys))
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
    features: list[str] = []
    table = read_numbers(path, _chooser((RECORD, CHOICE), features), field=field)
    key_of_row, names = codes_of(table.names[RECORD])
    chosen_rows, rejected_rows = _pair(table.numbers, table.where, key_of_row, len(names))
    values = table.numbers[:, 1:]
    return np.stack([values[chosen_rows], values[rejected_rows]], axis=1), tuple(features)


def _chooser(required: Sequence[str], features: list[str], other: str = "") -> Choose:
    """Return what picks the columns; it leaves the names of the features, all but one, in `features`."""

    def choose(header: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        for name in required:
            require(name in header, "header", list(header), f"a header with {name!r}")
        allowed = "a header without 'voter': these are one person's own records"
        refuse(VOTER not in required and VOTER in header, "header", list(header), allowed)
        names_found = [name for name in header if name not in {*required, other or VOTER}]
        allowed = f"the columns {', '.join(required)} and at least one feature, each with a name"
        refuse(
            not names_found or not all(name.strip() == name and name for name in names_found),
            "header",
            list(header),
            allowed,
        )
        features.extend(names_found)
        return [name for name in required if name != CHOICE], [CHOICE, *names_found]

    return choose


def _first_appearances(keys: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the distinct keys in order of first appearance, the first row of each, and each row's number."""
    distinct, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return distinct[order], first[order].astype(np.int64), np.argsort(order)[inverse].astype(np.int64)


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
        problem = f"{counts[key]} lines, {totals[key]:g} of them chosen"
        problem += f" (also {file.rpartition(' ')[2]} {line_numbers})" if other_places else ""
        allowed = "a record of two lines, one with choice 1 and one with choice 0"
        raise ConfigurationError(field=first, value=problem, allowed=allowed)
    first_rows, second_rows = order[starts], order[starts + 1]
    is_first = choices[first_rows] == 1
    return np.where(is_first, first_rows, second_rows), np.where(is_first, second_rows, first_rows)
