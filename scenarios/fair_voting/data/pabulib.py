"""Pabulib's files of participatory budgeting: .pb.

    META
    key;value
    vote_type;ordinal
    PROJECTS
    project_id;cost;name
    VOTES
    voter_id;age;sex;vote;points
    7;34;F;2,5;2,1

A ballot orders the projects that it lists: those of an ordinal vote by their place, those of a cumulative or a scoring
vote by their points, and those of an approval vote are all tied. Projects that it does not list stand below all listed
ones of an ordinal or an approval vote, which have no scores. Of a cumulative vote they have 0 points, and of a scoring
vote the file's `default_score`, or 0. A vote may be empty.

What META says of a ballot's length and points holds, or the ballot is refused, or left out if that is asked for.

The identifiers of voters serve to find faults and groups, and go no further.

It is parsed here and not by pabutools since that (1.2.3) takes 16 of the 32 faults that our tests plant without a word
(wrong totals, a voter or a project repeated, a file cut in a row), names no line for the rest, fails on all of Zurich's
files, and for 100,000 votes takes 18 s and 420 MiB (here 1 s and 77 MiB); it brings two solvers along.

Source: Stolicki, Szufa and Talmon (2020), Pabulib; https://pabulib.org/format.
"""

import contextlib
import csv
import dataclasses
import math
import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.errors import ConfigurationError, did_you_mean, list_choices, refuse, require
from ....protocol.fair_voting.rankings import positions_of_classes
from ...reading.cells import number_in
from .ballots import MAX_ALTERNATIVES_OF_A_FILE, MAX_VOTERS, FileBallots, PlaceArray, make_distinct_names, tabulate
from .lines import line_fault, read_lines

OutsideLimits: TypeAlias = Literal["refuse", "leave out"]
"""What becomes of a ballot that breaks its own file's limits."""

VOTE_TYPES: Final = ("ordinal", "approval", "choose-1", "cumulative", "scoring")
_BY_POINTS: Final = ("cumulative", "scoring")
_SECTIONS: Final = ("META", "PROJECTS", "VOTES")
_VOTER: Final = "voter_id"
_VOTE: Final = "vote"
_POINTS: Final = "points"


def read_pabulib(
    path: Path,
    *,
    column: str = "",
    num_unnamed: int = 0,
    outside_limits: OutsideLimits = "refuse",
    field: str = "file",
) -> FileBallots:
    """Return the ballots of a Pabulib file, which may be packed (`.gz`).

    UTF-8; entries may be quoted as in CSV, and blanks around them do not count; blank lines are skipped. What META says
    of the numbers of votes and projects must be so.

    Args:
        column: of VOTES, whose entries are wanted; by default none.
        num_unnamed: how many more entries than columns each vote has, in a file whose header is known to lack names;
            whoever gives it has made sure that the columns that are read stand before them.
        outside_limits: what becomes of a ballot that breaks the file's own limits.

    Raises:
        ConfigurationError: the file cannot be read, or is not what it should be; the field names the line.
    """
    with contextlib.closing(read_lines(path, field=field)) as text:
        rows = _rows(path, text)
        meta = _read_meta(path, rows)
        projects = _read_projects(path, rows)
        meta.check_number("num_projects", len(projects), "projects below")
        votes = _BallotVotes(path, list(projects), meta)
        entries = _read_votes(path, rows, votes, column=column, num_unnamed=num_unnamed)
    meta.check_number("num_votes", len(votes.lines), "votes below")
    classes, rank_table, is_within = votes.tabulate(may_break=outside_limits == "leave out")
    ballot_of_voter = np.array(votes.ballots, dtype=np.int64)
    kept_voters: list[int] = np.flatnonzero(is_within[ballot_of_voter]).tolist()
    require(kept_voters, path.name, "no ballot within its limits", "a Pabulib file with votes")
    return FileBallots(
        alternatives=make_distinct_names(list(projects.values()), list(projects)),
        ids=tuple(projects),
        classes=classes,
        listed=rank_table,
        ballot_of_voter=ballot_of_voter[kept_voters],
        lines=np.array(votes.lines, dtype=np.int64)[kept_voters],
        voters=[votes.voters[place] for place in kept_voters],
        source=path.name,
        entries=[entries[place] for place in kept_voters] if column else (),
        num_left_out=len(votes.voters) - len(kept_voters),
    )


@dataclasses.dataclass(frozen=True)
class _Meta:
    """META: by key the line where it stands, and its value."""

    path: Path
    entries: Mapping[str, tuple[int, str]]

    def vote_type(self) -> str:
        """Return how the votes are cast."""
        line, value = self.entries.get("vote_type", (1, ""))
        if value not in VOTE_TYPES:
            raise line_fault(self.path, line, value or "nothing", list_choices(VOTE_TYPES, value), what="vote_type")
        return value

    def number(self, key: str, otherwise: float) -> float:
        """Return the number that META gives, if any."""
        line, value = self.entries.get(key, (1, ""))
        # What pabutools writes for a number that nobody gave.
        number = otherwise if not value or value.startswith("Auto-filled") else number_in(value)
        if math.isnan(number):
            raise line_fault(self.path, line, value, "a number", what=key)
        return number

    def check_number(self, key: str, number: int, what_counted: str) -> None:
        """Raise ConfigurationError unless META gives this number."""
        line, value = self.entries.get(key, (1, ""))
        if not re.fullmatch(r"[0-9]{1,9}", value) or int(value) != number:
            raise line_fault(self.path, line, value or "nothing", f"the number of {what_counted}, {number}", what=key)


class _BallotVotes:
    """Votes as they are read: a ballot is worked out once, however many voters cast it, and all of them together."""

    def __init__(self, path: Path, projects: Sequence[str], meta: _Meta) -> None:
        self.voters: list[str] = []
        self.lines: list[int] = []
        self.ballots: list[int] = []
        self.vote_type = meta.vote_type()
        self._meta = meta
        self._path = path
        self._projects = {name: number for number, name in enumerate(projects)}
        self._known: dict[tuple[str, str | None], int] = {}
        self._first_voters: list[int] = []

    def add(self, line: int, voter: str, vote: str, points: str | None) -> None:
        """Add a voter's vote."""
        ballot = self._known.get((vote, points))
        if ballot is None:
            ballot = self._known[vote, points] = len(self._known)
            self._first_voters.append(len(self.voters))
        self.voters.append(voter)
        self.lines.append(line)
        self.ballots.append(ballot)

    def tabulate(self, *, may_break: bool) -> tuple[PlaceArray, PlaceArray, NDArray[np.bool_]]:
        """Return the classes and the listed places of all ballots, and which of them keep to the file's limits.

        One that does not is refused unless it may break them.
        """
        votes = [vote for vote, _ in self._known]
        ids, lengths = _split(votes)
        numbers = np.array([self._projects.get(name, -1) for name in ids], dtype=np.int64)
        if np.any(numbers < 0):
            place = int(np.argmax(numbers < 0))
            allowed = f"a project_id of PROJECTS{did_you_mean(ids[place], self._projects)}"
            raise self._fault(_ballot_at(lengths, place), ids[place], allowed, _VOTE)
        starts = np.cumsum(lengths) - lengths
        classes = np.arange(len(numbers)) - np.repeat(starts, lengths)
        points = [entry for _, entry in self._known if entry is not None]
        values = self._values(points, lengths) if points else np.zeros(0)
        has_points = self.vote_type in _BY_POINTS
        is_within = self._find_within_limits(lengths, values if has_points else None, may_break=may_break)
        if self.vote_type not in (*_BY_POINTS, "ordinal"):
            classes = np.zeros_like(numbers)
        class_table, rank_table, repeated_ballot = tabulate(
            numbers, classes, lengths, num_alternatives=len(self._projects)
        )
        if repeated_ballot >= 0:
            ballot_names = ids[starts[repeated_ballot] : starts[repeated_ballot] + lengths[repeated_ballot]]
            repeated_name = next(name for place, name in enumerate(ballot_names) if name in ballot_names[:place])
            allowed = f"a list with each project once: {repeated_name!r} is repeated"
            raise self._fault(repeated_ballot, votes[repeated_ballot], allowed, _VOTE)
        if has_points:
            default = self._meta.number("default_score", 0.0) if self.vote_type == "scoring" else 0.0
            scores = np.full(class_table.shape, default)
            scores[np.repeat(np.arange(len(lengths)), lengths), numbers] = values
            class_table = positions_of_classes(-scores).astype(np.int16)
        return class_table, rank_table, is_within

    def _find_within_limits(
        self, lengths: IntArray, values: FloatArray | None, *, may_break: bool
    ) -> NDArray[np.bool_]:
        """Return which ballots have as many projects and points as META allows; refuse one that may not break it."""
        numbers = lengths.astype(np.float64)
        limited_numbers = {"min_length": numbers, "max_length": numbers}
        if values is not None:
            each = np.split(values, np.cumsum(lengths)[:-1])
            sums = np.array([math.fsum(limited.tolist()) for limited in each])
            limited_numbers |= {"min_sum_points": sums, "max_sum_points": sums}
            limited_numbers["min_points"] = np.array([limited.min(initial=math.inf) for limited in each])
            limited_numbers["max_points"] = np.array([limited.max(initial=-math.inf) for limited in each])
        is_within = np.ones(len(lengths), dtype=np.bool_)
        for key, limited in limited_numbers.items():
            is_least = key.startswith("min")
            limit = self._meta.number(key, -math.inf if is_least else math.inf)
            if key == "max_length" and self.vote_type == "choose-1":
                limit = 1
            is_fine = limited >= limit if is_least else limited <= limit
            if not may_break and not is_fine.all():
                ballot = int(np.argmin(is_fine))
                end = "at least" if is_least else "at most"
                allowed = f"{end} {limit:g}, {key} of the file; or voters.outside_limits = 'leave out'"
                raise self._fault(ballot, f"{limited[ballot]:g}", allowed, key[4:].replace("_", " "))
            is_within &= is_fine
        return is_within

    def _values(self, points: Sequence[str], lengths: IntArray) -> FloatArray:
        entries, num_entries = _split(points)
        if np.any(num_entries != lengths):
            ballot = int(np.argmax(num_entries != lengths))
            allowed = f"as many as there are projects in the vote, {lengths[ballot]}"
            raise self._fault(ballot, points[ballot], allowed, _POINTS)
        value_of = {entry: number_in(entry) for entry in set(entries)}
        values = np.array([value_of[entry] for entry in entries], dtype=np.float64)
        if not np.all(np.isfinite(values)):
            place = int(np.argmin(np.isfinite(values)))
            raise self._fault(_ballot_at(lengths, place), entries[place], "numbers", _POINTS)
        return values

    def _fault(self, ballot: int, value: str, allowed: str, what: str) -> ConfigurationError:
        """Return the error for the first voter who cast a ballot."""
        voter = self._first_voters[ballot]
        place_text = f"{self._path.name} line {self.lines[voter]}, voter {self.voters[voter]!r}"
        return ConfigurationError(field=f"{what} ({place_text})", value=value, allowed=allowed)


def _split(lists: Sequence[str]) -> tuple[list[str], IntArray]:
    """Return the entries of all lists one after another, and how many there are of each."""
    lengths = np.array([entry.count(",") + 1 if entry else 0 for entry in lists], dtype=np.int64)
    joined_text = ",".join(filter(None, lists))
    return [entry.strip() for entry in joined_text.split(",")] if joined_text else [], lengths


def _ballot_at(lengths: IntArray, place: int) -> int:
    """Return the ballot to which an entry belongs."""
    return int(np.searchsorted(np.cumsum(lengths), place, side="right"))


def _read_meta(path: Path, rows: Iterator[tuple[int, list[str]]]) -> _Meta:
    """Return META, with which a file begins, up to PROJECTS."""
    line, row = next(rows, (1, list[str]()))
    if row != ["META"]:
        raise line_fault(path, line, ";".join(row), "META, with which a Pabulib file begins")
    header_line, header = next(rows, (1, list[str]()))
    if header != ["key", "value"]:
        raise line_fault(path, header_line, header, "the header key;value")
    entries: dict[str, tuple[int, str]] = {}
    for line, row in rows:
        if row == ["PROJECTS"]:
            return _Meta(path, entries)
        if len(row) != len(header):
            raise line_fault(path, line, row, "a key and a value, or PROJECTS")
        if row[0] in entries:
            raise line_fault(path, line, row[0], f"another key: line {entries[row[0]][0]} has it")
        entries[row[0]] = line, row[1]
    raise ConfigurationError(field=path.name, value="PROJECTS", allowed="There is no PROJECTS. Name a Pabulib file.")


def _read_projects(path: Path, rows: Iterator[tuple[int, list[str]]]) -> dict[str, str]:
    """Return the projects' names by id, up to VOTES."""
    header = _read_header(path, rows, "project_id")
    id_place, name = header.index("project_id"), header.index("name") if "name" in header else -1
    projects: dict[str, str] = {}
    for line, row in rows:
        if row == ["VOTES"]:
            return projects
        _check_width(path, line, row, header)
        if not row[id_place] or row[id_place] in projects:
            allowed = "given" if not row[id_place] else "another one: a project has it already"
            raise line_fault(path, line, row[id_place], allowed, what="project_id")
        if "," in row[id_place]:
            allowed = "without a comma, which separates the projects of a vote"
            raise line_fault(path, line, row[id_place], allowed, what="project_id")
        if len(projects) == MAX_ALTERNATIVES_OF_A_FILE:
            raise line_fault(
                path, line, row[id_place], f"no further one: at most {MAX_ALTERNATIVES_OF_A_FILE:,} projects"
            )
        projects[row[id_place]] = row[name] if name >= 0 else ""
    raise ConfigurationError(field=path.name, value="VOTES", allowed="There is no VOTES. Name a Pabulib file.")


def _read_votes(
    path: Path, rows: Iterator[tuple[int, list[str]]], votes: _BallotVotes, *, column: str, num_unnamed: int
) -> list[str]:
    """Add the votes; return the entries of a column."""
    needed_columns = (_VOTER, _VOTE, _POINTS) if votes.vote_type in _BY_POINTS else (_VOTER, _VOTE)
    header = _read_header(path, rows, *needed_columns)
    other_columns = [name for name in header if name not in (_VOTER, _VOTE, _POINTS)]
    allowed = f"a column of VOTES in {path.name}: {', '.join(other_columns)}{did_you_mean(column, other_columns)}"
    refuse(column and column not in header, "voters.group_column", column, allowed)
    voter_place, vote_place = header.index(_VOTER), header.index(_VOTE)
    points_place = header.index(_POINTS) if _POINTS in header else -1
    column_place = header.index(column) if column else -1
    header += [f"(unnamed {number})" for number in range(1, num_unnamed + 1)]
    entries: list[str] = []
    for line, row in rows:
        if len(row) != len(header):
            _check_width(path, line, row, header)
        if not row[voter_place]:
            raise line_fault(path, line, "", "given", what=_VOTER)
        votes.add(line, row[voter_place], row[vote_place], row[points_place] if points_place >= 0 else None)
        if column:
            entries.append(row[column_place])
        if len(votes.lines) > MAX_VOTERS:
            raise line_fault(path, line, "a further vote", f"the last one: at most {MAX_VOTERS:,} votes in one file")
    require(votes.lines, path.name, "VOTES", "There is no vote below VOTES. Name a file with votes.")
    if len(set(votes.voters)) < len(votes.voters):
        line_of_voter: dict[str, int] = {}
        for line, voter in zip(votes.lines, votes.voters, strict=True):
            if voter in line_of_voter:
                allowed = f"another voter: line {line_of_voter[voter]} has this one's vote"
                raise line_fault(path, line, voter, allowed, what=_VOTER)
            line_of_voter[voter] = line
    return entries


def _read_header(path: Path, rows: Iterator[tuple[int, list[str]]], *needed_columns: str) -> list[str]:
    line, header = next(rows, (1, list[str]()))
    for name in needed_columns:
        if header.count(name) != 1:
            raise line_fault(path, line, header, f"a header with one column {name!r}")
    return header


def _check_width(path: Path, line: int, row: Sequence[str], header: Sequence[str]) -> None:
    """Raise ConfigurationError for a row that has not an entry for each column."""
    if row[0] in _SECTIONS and len(row) == 1:
        raise line_fault(path, line, row[0], f"a row: the sections are {', '.join(_SECTIONS)}, each once")
    if len(row) != len(header):
        allowed = f"{len(header)} entries, as in the header: {';'.join(header)}"
        raise line_fault(path, line, f"{len(row)} entries", allowed)


def _rows(path: Path, text: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the line where each row begins, and its entries without blanks around them; blank lines are skipped."""
    reader = csv.reader(text, delimiter=";", strict=True)
    line = 1
    strip = operator.methodcaller("strip")
    try:
        for cells in reader:
            row = list(map(strip, cells))
            if len(row) > 1 or any(row):
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        is_ending = "new-line character" in str(error)  # a CR on its own
        allowed = "a line that ends with LF or CR LF" if is_ending else f"well-formed CSV ({error})"
        raise line_fault(path, line, path.name, allowed) from None
