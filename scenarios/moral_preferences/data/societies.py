"""Whose society each voter belongs to: by a column of the voters' file.

All lines of a voter name the same society: a voter belongs to one, and pays for that one's release alone.
"""

import dataclasses
from collections import Counter
from pathlib import Path
from typing import Final

import numpy as np

from ....protocol.errors import ConfigurationError, did_you_mean, require
from ...reading.batches import TableFiles
from ...reading.columns import join_batches
from ...reading.headers import USUAL, TableOptions
from .survey import Survey

_FIELD: Final = "voters.society"
_LEAST_SOCIETIES: Final = 2
_MOST_NAMED: Final = 30  # columns that an error lists


def open_societies(path: Path, *, voter: str, society: str, options: TableOptions = USUAL) -> TableFiles:
    """Return a file of voters, of which no row is read yet; a column of societies that it has not is refused."""
    files = TableFiles(path, field=_FIELD, options=options, wanted=[voter, society])
    if society not in files.names or society == voter:
        other_columns = [name for name in files.names if name != voter]
        names = ", ".join(other_columns[:_MOST_NAMED]) + (" and more" if len(other_columns) > _MOST_NAMED else "")
        allowed = f"another column of {path.name}: {names}{did_you_mean(society, other_columns)}"
        raise ConfigurationError(field=_FIELD, value=society, allowed=allowed)
    return files


def with_societies(
    survey: Survey, path: Path, *, voter: str, society: str, min_voters: int, options: TableOptions = USUAL
) -> Survey:
    """Return a survey whose voters have societies, by a column of its file; those of too small ones are dropped.

    Raises:
        ConfigurationError: there is no such column, an entry is empty, a voter has lines of two societies, or fewer
            than two societies have enough voters.
    """
    require(min_voters >= 1, "voters.min_society", min_voters, "at least 1")
    files = open_societies(path, voter=voter, society=society, options=options)
    rows = join_batches(files.batches([voter, society]))
    voters, names = rows.column(voter), rows.column(society).names
    voter_of_row, society_of_row = voters.codes, rows.column(society).codes
    _, first_rows, code_of_row = np.unique(voter_of_row, return_index=True, return_inverse=True)
    society_codes = society_of_row[first_rows][code_of_row]
    is_other = (society_codes != society_of_row) & (voters.recode({"": 0}) < 0)
    if np.any(is_other):
        row = int(np.argmax(is_other))
        allowed = (
            f"{names[society_codes[row]]!r}, as on an earlier line of the same voter: a voter belongs to one society"
        )
        field = f"{society} ({rows.where(row + 1)})"
        raise ConfigurationError(field=field, value=names[society_of_row[row]], allowed=allowed)
    places = np.searchsorted(np.asarray(rows.lines), survey.lines)
    codes: list[int] = society_of_row[places].tolist()
    societies: list[str] = [str(names[code]).strip() for code in codes]
    if "" in societies:
        place_text = f"{path.name} line {survey.lines[societies.index('')]}"
        raise ConfigurationError(field=f"{society} ({place_text})", value="", allowed="the name of the voter's society")
    numbers = Counter(societies)
    kept_names = [name for name, number in numbers.items() if number >= min_voters]
    if len(kept_names) < _LEAST_SOCIETIES:
        numbers_text = ", ".join(f"{name} ({number:,})" for name, number in numbers.most_common(8))
        min_note = f" of {min_voters:,} voters or more (voters.min_society)" if min_voters > 1 else ""
        allowed = f"a column with two societies or more{min_note}"
        raise ConfigurationError(field=_FIELD, value=f"{society}: {numbers_text}", allowed=allowed)
    survey = dataclasses.replace(survey, societies=societies)
    return survey if len(kept_names) == len(numbers) else _select_societies(survey, frozenset(kept_names))


def _select_societies(survey: Survey, kept_voters: frozenset[str]) -> Survey:
    """Return the voters of some societies; the others are counted as dropped."""
    assert survey.truth is None  # noqa: S101  a file's voters have none
    places = [place for place, society in enumerate(survey.societies) if society in kept_voters]
    parts = [survey.records[place] for place in places]
    records = type(survey.records).from_voters(parts, num_features=survey.records.num_features)
    num_dropped = len(survey.records.chosen) - len(records.chosen)
    return dataclasses.replace(
        survey,
        voters=[survey.voters[place] for place in places],
        societies=[survey.societies[place] for place in places],
        lines=[survey.lines[place] for place in places],
        records=records,
        reading=dataclasses.replace(
            survey.reading,
            num_voters=len(places),
            num_records=len(records.chosen),
            num_small=num_dropped,
            num_voters_small=len(survey.voters) - len(places),
        ),
    )
