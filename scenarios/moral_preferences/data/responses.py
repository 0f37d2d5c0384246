"""Rows of the Moral Machine become records: pairing, limits, and what becomes of every row.

A response is one dilemma that one voter answered, in two rows. Rows without a voter and responses without their second
row are dropped and counted. A faulty response (an entry that is not allowed; three rows; two sides of which not exactly
one is spared, or not exactly one dies when the car swerves) is an error. Of a voter's
complete responses the first ones in the order of the file count, up to the most that was asked for; voters with fewer
than the least are dropped and counted.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.errors import ConfigurationError, refuse, require
from ....protocol.moral_preferences.records import Records
from ....protocol.roles import check_party_name
from .dilemmas import CHARACTERS, CIRCUMSTANCES, FEATURES, features_of_rows
from .survey import Reading, Survey

RESPONSE: Final = "ResponseID"
VOTER: Final = "UserID"
TOTAL: Final = "NumberOfCharacters"
"""Where a file has this column, the counts must sum to it: a character of another kind does not go unnoticed."""
_SAVED: Final = "Saved"
ENTRY_COLUMNS: Final = (*CHARACTERS, *CIRCUMSTANCES, _SAVED)
"""The columns of numbers that are read, in the order in which `ResponseRows` has them."""
MAX_COUNT: Final = 100  # of one character on one side; published dilemmas have at most five
FAULTY: Final = 255  # in place of an entry that is not allowed

_MOST: Final = {**dict.fromkeys(CHARACTERS, MAX_COUNT), "Intervention": 1, "Barrier": 1, "CrossingSignal": 2, _SAVED: 1}
_INTERVENTION_AT: Final = ENTRY_COLUMNS.index("Intervention")
_SAVED_AT: Final = ENTRY_COLUMNS.index(_SAVED)
_ROWS_OF_A_RESPONSE: Final = 2


@dataclasses.dataclass(frozen=True)
class Limits:
    """Which voters and responses count; ConfigurationError where a value is not allowed."""

    min_records: int = 1  # the least number of complete responses of a voter, at least 1
    max_records: int | None = None  # the most that count of each voter; None for all

    def __post_init__(self) -> None:
        require(self.min_records >= 1, "min_records", self.min_records, "at least 1")
        is_allowed = self.max_records is None or self.max_records >= self.min_records
        allowed = f"at least min_records = {self.min_records}"
        require(is_allowed, "max_records", self.max_records, allowed)


@dataclasses.dataclass(frozen=True, eq=False)
class ResponseRows:
    """All rows of some voters."""

    names: Sequence[str]  # of the voters; "" for rows that name none
    voters: IntArray  # int64, shape (rows,): places in `names`
    responses: Any  # shape (rows,): a number for each response, which may be shared with other voters' responses
    entries: NDArray[np.uint8]  # uint8, shape (rows, 24): by `ENTRY_COLUMNS`, `FAULTY` for what is not allowed
    places: IntArray  # int64, shape (rows,): the row's place in the file, from 0


def no_voters(source: str, limits: Limits, *, num_rows: int) -> ConfigurationError:
    """Return the error for a file in which nobody has enough responses."""
    allowed = f"a file with a voter who has {limits.min_records} or more complete responses"
    return ConfigurationError(field=source, value=f"{num_rows} rows", allowed=allowed)


def entries_of_numbers(numbers: FloatArray) -> NDArray[np.uint8]:
    """Return entries as small integers, with `FAULTY` for those that are not allowed.

    Numbers are float64, shape (rows, 24 or 25), by `ENTRY_COLUMNS`, and the number of characters where the file says
    it; nan for what is no number.
    """
    width = len(ENTRY_COLUMNS)
    max_values = np.array([_MOST[name] for name in ENTRY_COLUMNS], dtype=np.float64)
    values = numbers[:, :width]
    is_allowed = (values >= 0) & (values <= max_values) & (values == np.floor(values))
    entries = np.where(is_allowed, values, FAULTY).astype(np.uint8)
    if numbers.shape[1] > width:
        entries[values[:, : len(CHARACTERS)].sum(axis=1) != numbers[:, width], _SAVED_AT] = FAULTY
    return entries


def survey_of_rows(
    rows: ResponseRows,
    limits: Limits,
    *,
    source: str,
    row_at: Callable[[int], tuple[str, dict[str, str]]],
    line_of: Callable[[int], int],
) -> Survey:
    """Return the survey of some voters' rows; the voters are in the order of `rows.names`.

    `row_at` tells, for errors, where the row of a place stands, and its entries by column; it may be slow. `line_of`
    tells its line.

    Raises:
        ConfigurationError: a response is faulty, with the line of its first row; or a voter's name can name no party.
    """
    is_named = np.array([name != "" for name in rows.names], dtype=np.bool_)[rows.voters]
    kept_rows = np.flatnonzero(is_named)
    order = kept_rows[np.lexsort((rows.places[kept_rows], rows.responses[kept_rows], rows.voters[kept_rows]))]
    voters, responses = rows.voters[order], rows.responses[order]
    is_new = np.ones(len(order), dtype=np.bool_)
    is_new[1:] = (voters[1:] != voters[:-1]) | (responses[1:] != responses[:-1])
    starts = np.flatnonzero(is_new)
    sizes = np.diff(np.append(starts, len(order)))
    entries = rows.entries[order]
    is_faulty = sizes > _ROWS_OF_A_RESPONSE
    is_faulty |= np.logical_or.reduceat(np.any(entries == FAULTY, axis=1), starts) if len(starts) else is_faulty
    is_pair = sizes == _ROWS_OF_A_RESPONSE
    pairs = starts[is_pair]
    for column in (_INTERVENTION_AT, _SAVED_AT):
        is_faulty[is_pair] |= entries[pairs, column].astype(np.int64) + entries[pairs + 1, column] != 1
    if np.any(is_faulty):
        faulty = np.flatnonzero(is_faulty)
        first = starts[faulty[np.argmin(rows.places[order[starts[faulty]]])]]
        size = sizes[np.searchsorted(starts, first)]
        _blame([row_at(int(place)) for place in rows.places[order[first : first + size]]])
    pairs = pairs[np.lexsort((rows.places[order[pairs]], voters[pairs]))]  # a voter's in the order of the file
    num_names = len(rows.names)
    counts = np.bincount(rows.voters[order[pairs]], minlength=num_names)
    is_kept = counts >= limits.min_records
    is_named_voter = np.zeros(num_names, dtype=np.bool_)
    is_named_voter[rows.voters[order]] = True
    ranks = np.arange(len(pairs)) - np.repeat(np.cumsum(counts) - counts, counts)
    of_kept = np.repeat(is_kept, counts)
    is_within_limit = of_kept if limits.max_records is None else of_kept & (ranks < limits.max_records)
    first_rows, second_rows = order[pairs[is_within_limit]], order[pairs[is_within_limit] + 1]
    is_first_saved = rows.entries[first_rows, _SAVED_AT] == 1
    chosen = np.where(is_first_saved, first_rows, second_rows)
    rejected = np.where(is_first_saved, second_rows, first_rows)
    of_survey = np.flatnonzero(is_kept)
    firsts = np.full(num_names, np.iinfo(np.int64).max)
    np.minimum.at(firsts, rows.voters[order], rows.places[order])
    names = [rows.names[voter] for voter in of_survey.tolist()]
    for voter, name in zip(of_survey.tolist(), names, strict=True):
        if not name.isalnum() or len(name) > 100:  # noqa: PLR2004  the others can name a party in any case
            try:
                check_party_name(name)
            except ConfigurationError:  # only now, since where a row stands takes another reading of the file
                check_party_name(name, field=f"{VOTER} ({row_at(int(firsts[voter]))[0]})")
    offsets = np.zeros(len(of_survey) + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows.voters[first_rows], minlength=num_names)[of_survey], out=offsets[1:])
    return Survey(
        voters=names,
        features=tuple(FEATURES),
        records=Records(offsets, features_of_rows(rows.entries[chosen]), features_of_rows(rows.entries[rejected])),
        source=source,
        reading=Reading(
            num_voters=len(of_survey),
            num_records=len(first_rows),
            num_surplus=int(np.sum(of_kept & ~is_within_limit)),
            num_voters_dropped=int(np.sum(is_named_voter & ~is_kept)),
            num_records_dropped=int(np.sum(~of_kept)),
            num_rows=len(rows.voters),
            num_responses=len(starts),
            num_incomplete=int(np.sum(sizes == 1)),
            num_rows_without_voter=int(np.sum(~is_named)),
        ),
        lines=[line_of(row) for row in firsts[of_survey].tolist()],
    )


def _blame(rows: list[tuple[str, dict[str, str]]]) -> NoReturn:
    """Raise the error for a faulty response, whose rows are given with their places."""
    for place_text, entries in rows:
        for name in ENTRY_COLUMNS:
            try:
                number = float(entries[name])
            except ValueError:
                number = -1.0
            if not 0 <= number <= _MOST[name] or number != int(number):
                allowed = f"an integer in [0, {_MOST[name]}]"
                raise ConfigurationError(field=f"{name} ({place_text})", value=entries[name], allowed=allowed)
        total = sum(float(entries[name]) for name in CHARACTERS)
        if TOTAL in entries and entries[TOTAL] != "" and total != float(entries[TOTAL]):
            allowed = f"the sum of the row's known characters, {total:g}"
            raise ConfigurationError(field=f"{TOTAL} ({place_text})", value=entries[TOTAL], allowed=allowed)
    place_text, entries = rows[0]
    other_lines = ", ".join(other.rpartition(" ")[2] for other, _ in rows[1:])
    field = f"{RESPONSE} {entries[RESPONSE]} ({place_text}, also line {other_lines})"
    refuse(len(rows) != _ROWS_OF_A_RESPONSE, field, f"{len(rows)} rows", "a response of two rows")
    saved_entries = [entries[_SAVED] for _, entries in rows]
    refuse(sum(map(float, saved_entries)) != 1, field, f"Saved {' and '.join(saved_entries)}", "one side saved")
    sides = [entries["Intervention"] for _, entries in rows]
    allowed = "one side that dies if the car swerves, and one if it does not"
    raise ConfigurationError(field=field, value=f"Intervention {' and '.join(sides)}", allowed=allowed)
