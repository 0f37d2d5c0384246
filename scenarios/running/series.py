"""Series: consecutive votes of the same parties, as data.

A file with `[[votes]]` is a series. Each vote is the file's scenario with some keys replaced. Its number, from 1, is
its `round`, so that no two votes share noise. Errors are found before anything runs, and name the vote.
"""

import contextlib
import copy
import datetime as dt
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from ...protocol.arguments import first_repeated
from ...protocol.errors import ConfigurationError, refuse, require
from ...protocol.phases import PhasedProtocol
from ...protocol.privacy import Budget
from ..reading.conversion import convert
from ..reading.headers import check_column_names
from ..reading.settings import Tables, read_setting
from ..reading.text_forms import header_of, read_rows
from ..reading.times import read_period, read_time
from .config import (
    VOTES,
    Scenario,
    drop_replaced,
    find_source,
    name_parties,
    protocol_of,
    read_tables,
    scenario_of,
    unknown_key,
)
from .parties import sources_of
from .turnout import Turnout

_OF_SERIES: Final = (VOTES, "budget_period", "budget_in_all")  # keys that only series have
_OF_VOTE: Final = ("at", "absent", "join", "leave", "entries")  # keys that only votes have
_BUDGETS: Final = ("budget", "budget_datum", "budget_delta", "budget_in_all", "budget_period")
_REFUSED: Final = {
    **dict.fromkeys(_BUDGETS, "the budget is the series'"),
    **dict.fromkeys(("noise", "protocol", "transport"), "all votes of a series have the same"),
    "name": "all votes of a series have its name",
    "round": "it is the vote's number",
    "seed": "all votes of a series have the same, and noise of their own by their numbers",
}
"""Keys of a scenario that a vote cannot replace, with reasons."""
_TABLES: Final = ("parameters", "phases", "network")  # tables in which a vote replaces single keys


class Allowance(msgspec.Struct, frozen=True, kw_only=True):
    """Each party's budgets over a series.

    Args:
        budget: the budget over all votes, or with a period in every window of that length; None for no limit.
        period_seconds: the length of the window; None for all votes.
        in_all: the budget over all votes, in addition to one by periods; None for no further limit.

    Examples:
        >>> week = Allowance(budget=Budget(epsilon=2.0), period_seconds=7 * 86_400.0, in_all=Budget(epsilon=10.0))
        >>> week.budget.epsilon, week.in_all.epsilon
        (2.0, 10.0)
    """

    budget: Budget | None = None
    period_seconds: float | None = None
    in_all: Budget | None = None


class Vote(msgspec.Struct, frozen=True, kw_only=True):
    """One vote of a series.

    Args:
        number: the number, from 1, which is also the scenario's `round`.
        scenario: the scenario; its parties are those of the series, before `turnout`.
        turnout: the parties that are present.
        at: the time of the vote; None if the series has no clock.

    Examples:
        >>> vote = load_series("housing-cooperative").votes[1]
        >>> vote.number, vote.scenario.round
        (2, 2)
    """

    number: int
    scenario: Scenario
    turnout: Turnout
    at: dt.datetime | None = None


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """Votes of the same parties, in order.

    Args:
        name: the name of the series and of each vote.
        title: the title, one line.
        description: the subject.
        protocol: the protocol of all votes.
        client_role: the role of the parties.
        allowance: each party's budgets.
        votes: the votes, at least one.

    Examples:
        >>> series = load_series("housing-cooperative", ["epsilon=1"])
        >>> series.name, series.protocol, [vote.number for vote in series.votes]
        ('housing-cooperative', 'dpwevote', [1, 2, 3, 4])
    """

    name: str
    title: str
    description: str
    protocol: str
    client_role: str
    allowance: Allowance
    votes: tuple[Vote, ...]


def is_series(source: str, settings: Sequence[str] = ()) -> bool:
    """Return whether a file, or its settings, have votes; arguments and errors are those of `load_series`.

    Examples:
        >>> is_series("housing-cooperative"), is_series("consortium")
        (True, False)
    """
    return any(read_setting(setting)[0] == VOTES for setting in settings) or VOTES in read_tables(find_source(source))


def load_series(source: str, settings: Sequence[str] = (), *, data: str | None = None) -> Series:
    """Load a series, with some values changed in all votes.

    Args:
        source: a shipped series' name, or the path of a TOML or JSON file.
        settings: as in `config.load_scenario`; they override the votes' values.
        data: the folder of data sets, which overrides the file's.

    Raises:
        ConfigurationError: there is no such file, it cannot be read, or a key or a value is not allowed.

    Examples:
        >>> series = load_series("housing-cooperative")
        >>> len(series.votes), series.client_role, series.votes[0].at.date().isoformat()
        (4, 'partner', '2026-01-05')
    """
    path = find_source(source)
    tables = read_tables(path)
    pairs = {setting: read_setting(setting) for setting in settings}
    tables |= {key: value for key, value in pairs.values() if key in _OF_SERIES}
    vote_settings = [setting for setting, (key, _) in pairs.items() if key not in _OF_SERIES]
    series_settings = {key: value for key, value in pairs.values() if key not in _OF_SERIES}
    protocol = protocol_of(tables, series_settings)
    known_keys = {*Scenario.__struct_fields__, *_OF_SERIES, f"{protocol.client_role}s"}
    for key in tables:
        if key not in known_keys:
            raise unknown_key(key, known_keys, protocol)
    all_tables = {**tables, **series_settings}
    allowed = "left out: the first vote has round 1, the second round 2, and so on"
    refuse("round" in all_tables, "round", all_tables.get("round"), allowed)
    period, in_all = tables.pop("budget_period", None), tables.pop("budget_in_all", None)
    vote_tables, folder = _votes_of(tables.pop(VOTES, None), path.parent, protocol)
    title, description = (str(tables.get(key, "")) for key in ("title", "description"))
    reader = _Reader(tables, protocol, folder=path.parent, settings=vote_settings, data=data)
    votes = tuple(
        reader.read(vote_table, number=number, folder=folder) for number, vote_table in enumerate(vote_tables, start=1)
    )
    allowance = _allowance_of(votes[0].scenario, period, in_all)
    _check_clock(votes, is_needed=allowance.period_seconds is not None)
    return Series(
        name=votes[0].scenario.name,
        title=title or votes[0].scenario.name,
        description=description,
        protocol=protocol.name,
        client_role=protocol.client_role,
        allowance=allowance,
        votes=votes,
    )


class _Reader:
    """Reads votes in order, and tracks which parties have joined and left."""

    def __init__(
        self,
        tables: Tables,
        protocol: type[PhasedProtocol[Any, Any]],
        *,
        folder: Path,
        settings: Sequence[str],
        data: str | None,
    ) -> None:
        self._tables = tables
        self._protocol = protocol
        self._folder = folder
        self._settings = settings
        self._data = data
        self._left: set[str] = set()
        self._joined: dict[str, Mapping[str, Any]] = {}

    def read(self, vote_table: Tables, *, number: int, folder: Path) -> Vote:
        """Return a vote from its keys, with paths relative to the folder.

        Raises:
            ConfigurationError: a key or a value is not allowed; `field` names the vote.
        """
        with name_vote_in_errors(number):
            word = f"{self._protocol.client_role}s"
            known_keys = {*Scenario.__struct_fields__, *_OF_VOTE, word}.difference(_REFUSED)
            for key in vote_table:
                refuse(key in _REFUSED, key, vote_table[key], f"left out: {_REFUSED.get(key)}")
                if key not in known_keys and key != _PRESENT:
                    raise unknown_key(key, known_keys, self._protocol)
            if _PRESENT in vote_table and not (self._tables.get(word) or self._tables.get("parties")):
                vote_table = {
                    **vote_table,
                    word: self._rows_of(vote_table),
                    _PRESENT: None,
                    "entries": {},
                }  # a CSV file with all votes
            scenario_keys = {key: value for key, value in vote_table.items() if key not in {*_OF_VOTE, _PRESENT}}
            turnout = self._turnout_of(vote_table)
            title = self._tables.get("title", self._tables["name"])
            merged_tables = self._merged({"title": f"{title}, vote {number}", **scenario_keys}, word, folder)
            scenario = scenario_of(merged_tables, self._settings, folder=self._folder)
            changes: dict[str, Any] = {"round": number} | ({} if self._data is None else {"data": self._data})
            moment = None if "at" not in vote_table else read_time(vote_table["at"], field="at")
            return Vote(
                number=number, scenario=msgspec.structs.replace(scenario, **changes), turnout=turnout, at=moment
            )

    def _rows_of(self, vote_table: Tables) -> list[Tables]:
        """Return the parties of a vote from a CSV file, one table for each."""
        entries: dict[str, dict[str, str]] = vote_table["entries"]
        for column, entry in entries.items():
            for name in vote_table[_PRESENT]:
                if name not in entry:
                    allowed = f"an entry for {name} too, who is there"
                    raise ConfigurationError(field=column, value="left out", allowed=allowed)
        return [
            {self._protocol.client_role: name} | {column: entry[name] for column, entry in entries.items()}
            for name in vote_table[_PRESENT]
        ]

    def _turnout_of(self, vote_table: Tables) -> Turnout:
        """Return the present parties, and record who joins and leaves."""
        absent_names, leaving_names = (_names(vote_table.get(key, []), field=key) for key in ("absent", "leave"))
        role = self._protocol.client_role
        joining_entries: dict[str, Mapping[str, Any]] = {}
        rows: list[dict[str, Any]] = convert(vote_table.get("join", []), list[dict[str, Any]], "join")
        for row in rows:
            name = row.get(role)
            if not isinstance(name, str):
                raise ConfigurationError(field="join", value=row, allowed=f"a table with the key {role!r}, a name")
            refuse(name in joining_entries or name in self._joined, "join", name, "named once")
            joining_entries[name] = {column: entry for column, entry in row.items() if column != role}
        for name in leaving_names:
            if self._joined.pop(name, None) is None:
                refuse(name in self._left, "leave", name, "a party that has not left before")
                self._left.add(name)
        self._joined |= joining_entries
        entries: dict[str, dict[str, Any]] = convert(
            vote_table.get("entries", {}), dict[str, dict[str, Any]], "entries"
        )
        return Turnout(
            present=vote_table.get(_PRESENT),
            absent=absent_names,
            left=frozenset(self._left),
            joined=dict(self._joined),
            joining=frozenset(joining_entries),
            entries=entries,
        )

    def _merged(self, vote_table: Tables, word: str, folder: Path) -> Tables:
        """Return the series' tables, updated with a vote's keys."""
        tables = copy.deepcopy(self._tables)
        sources = sources_of(self._protocol)
        if "parties" in tables and word != "parties":
            tables.setdefault(word, tables.pop("parties"))
        vote_table = dict(vote_table)
        name_parties(vote_table, word, folder=folder.resolve(), sources=sources)
        replaced_keys = {f"parameters.{key}": None for key in vote_table.get("parameters", {})}
        replaced_keys |= {word: vote_table[word]} if word in vote_table else {}
        drop_replaced(tables, replaced_keys, (word,), sources)
        for key, value in vote_table.items():
            value_before = tables.get(key)
            is_part = key in _TABLES or (key == word and not _is_elsewhere(value, value_before, sources.keys))
            if is_part and isinstance(value_before, dict) and isinstance(value, dict):
                tables[key] = {**value_before, **value}
            else:
                tables[key] = value
        return tables


_PRESENT: Final = " present"  # internal key for the parties with a line in a CSV file of votes


@contextlib.contextmanager
def name_vote_in_errors(number: int) -> Generator[None]:
    """Add the vote's number, from 1, to errors."""
    try:
        yield
    except ConfigurationError as error:
        field = f"{error.field} (vote {number})"
        raise ConfigurationError(field=field, value=error.value, allowed=error.allowed) from None


def _is_elsewhere(value: object, value_before: object, keys: frozenset[str]) -> bool:
    """Return whether a table of parties names a different source from the previous one."""
    if not (isinstance(value, dict) and isinstance(value_before, dict)):
        return True
    own_table, table_before = cast("Tables", value), cast("Tables", value_before)
    return any(key in own_table and key not in table_before for key in keys)


def _names(value: object, *, field: str) -> list[str]:
    names: list[str] = convert(value, list[str], field)
    refuse((repeated_name := first_repeated(names)) is not None, field, repeated_name, "named once")
    return names


def _votes_of(value: object, folder: Path, protocol: type[PhasedProtocol[Any, Any]]) -> tuple[list[Tables], Path]:
    """Return a table for each vote, and the folder that their paths are relative to."""
    if isinstance(value, str):
        path = folder / value
        if path.suffix == ".csv":
            return _votes_in_csv(path, protocol.client_role), path.parent
        tables = read_tables(path)
        for key in tables.keys() - {VOTES, "name"}:
            raise ConfigurationError(field=f"unknown key {key!r} ({path.name})", value=key, allowed="left out")
        value, folder = tables.get(VOTES), path.parent
    votes: list[Tables] = convert(value, list[dict[str, Any]], VOTES)
    require(votes, VOTES, "none", "at least one vote")
    return votes, folder


def _votes_in_csv(path: Path, role: str) -> list[Tables]:
    """Read votes from a CSV file with a line for each party in each vote.

    The columns are `vote` (a unique title), the party's name under the role, optionally `moment`, and the parties'
    columns. Empty cells are ignored. Parties without a line in a vote are absent.
    """
    header = header_of(path)
    check_column_names(header, f"{path.name} line 1")
    votes: dict[str, Tables] = {}
    for line, row in read_rows(
        path, "vote", role, *(name for name in header if name not in {"vote", role}), field=VOTES
    ):
        title, name, *other_cells = (cell.strip() for cell in row)
        cells = dict(zip((each for each in header if each not in {"vote", role}), other_cells, strict=True))
        if not (title and name):
            field = role if title else "vote"
            raise ConfigurationError(field=f"{field} ({path.name} line {line})", value="", allowed="a name")
        vote = votes.setdefault(title, {"title": title, _PRESENT: {}, "entries": {}})
        if (moment := cells.pop("at", "")) and vote.setdefault("at", moment) != moment:
            place_text = f"at ({path.name} line {line})"
            raise ConfigurationError(
                field=place_text, value=moment, allowed=f"{vote['at']}, as {title!r} has above, or empty"
            )
        if name in vote[_PRESENT]:
            allowed = f"named once in a vote (it is also in line {vote[_PRESENT][name]})"
            raise ConfigurationError(field=f"{role} ({path.name} line {line})", value=name, allowed=allowed)
        vote[_PRESENT][name] = line
        for column, cell in cells.items():
            if cell:
                vote["entries"].setdefault(column, {})[name] = cell
    require(votes, VOTES, str(path), "a file with at least one vote")
    return list(votes.values())


def _allowance_of(scenario: Scenario, period: object, in_all: object) -> Allowance:
    budget = scenario.budget_of_parties
    for field, value in (("budget_period", period), ("budget_in_all", in_all)):
        refuse(value is not None and budget is None, field, value, "left out without a budget")
    if in_all is None:
        seconds = None if period is None else read_period(period, field="budget_period")
        return Allowance(budget=budget, period_seconds=seconds)
    refuse(period is None, "budget_in_all", in_all, "left out without a budget_period: budget is then over all votes")
    epsilon: float = convert(in_all, float, "budget_in_all")
    require(
        epsilon >= cast("Budget", budget).epsilon, "budget_in_all", epsilon, f"at least the budget, {scenario.budget}"
    )
    whole = Budget(epsilon=epsilon, delta=scenario.budget_delta)
    return Allowance(budget=budget, period_seconds=read_period(period, field="budget_period"), in_all=whole)


def _check_clock(votes: Sequence[Vote], *, is_needed: bool) -> None:
    """Raise ConfigurationError if dates decrease, or if one is missing although a budget has a period."""
    last: Vote | None = None
    for vote in votes:
        field = f"at (vote {vote.number})"
        if vote.at is None:
            allowed = "a date or a time in each vote, since the budget is by periods (budget_period)"
            refuse(is_needed, field, "left out", allowed)
            continue
        if last is not None and last.at is not None and vote.at < last.at:
            allowed = f"a time that is not before vote {last.number}, at {last.at:%Y-%m-%d %H:%M %Z}"
            raise ConfigurationError(field=field, value=f"{vote.at:%Y-%m-%d %H:%M %Z}", allowed=allowed)
        last = vote
