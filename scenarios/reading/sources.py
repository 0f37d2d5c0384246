"""Sources of parties: a system's description of its files and generators, and the tables that they return.

Without a word from a system, parties are a file with a line for each of them, or a list in the scenario.
"""

import contextlib
import dataclasses
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias

from ...protocol.errors import ConfigurationError, refuse
from ...protocol.phases import Entries, Inputs, PhasedProtocol
from .batches import TableFiles
from .headers import USUAL, TableOptions

_MOST_PARTIES: Final = 1 << 40
_ROW: Final = re.compile(r"(.*) in row (\d+)(: .*)?$")


def locate_error(error: ConfigurationError, place_of: Callable[[int], str]) -> ConfigurationError | None:
    """Return an error of a row, the first being 1, with where that stands in place of its number; None of any other."""
    if (row := _ROW.search(error.field)) is None:
        return None
    field = f"{row[1]}{row[3] or ''} ({place_of(int(row[2]))})"
    return ConfigurationError(field=field, value=error.value, allowed=error.allowed)


def _find_nothing(files: TableFiles) -> dict[str, Any]:
    """Return no parameters."""
    del files
    return {}


@dataclasses.dataclass(frozen=True, kw_only=True)
class RowFiles:
    """Files of any size with a line for each party, which is not named: it has its place.

    Args:
        path: a file, a folder or a pattern, as `reading.batches` has it.
        columns: what the files call columns that the protocol calls otherwise.
        only: the columns that count; without any, all but that of names.
        prepared: what is done to rows before the protocol has them; what it makes an array of numbers is coded, and a
            protocol completes nothing of it.
        parameters_of: what the files say of the parameters, where the scenario does not; asked before any row is
            prepared.
        options: what is said of each table.
        each_once: whether no two lines may have one name ("same"), or one but for case and blanks ("unlike"); empty
            where lines are said to be different persons'.
    """

    path: str
    columns: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    only: Sequence[str] = ()
    prepared: Callable[[Mapping[str, Entries]], dict[str, Entries]] = dict
    parameters_of: Callable[[TableFiles], Mapping[str, Any]] = _find_nothing
    options: TableOptions = USUAL
    each_once: Literal["", "same", "unlike"] = "same"


OpenStream: TypeAlias = Callable[[], "PartyStream"]
"""Opens parties who come in batches; it may take a pass over them.

Raises:
    ConfigurationError: an option is not allowed, or a file cannot be read or is not what it should be.
"""


@dataclasses.dataclass(frozen=True, eq=False)
class Batch:
    """Parties that follow each other.

    Args:
        table: the protocol's columns.
        num_parties: how many.
        note: what became of all rows that have been read, as a line for people.
        where: of a party's number in it, from 1, where that stands in a file; None where there is none.
    """

    table: Mapping[str, Entries]
    num_parties: int
    note: str
    where: Callable[[int], str] | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class PartyStream:
    """Parties in batches.

    Args:
        parameters: what they say of the protocol's parameters, where the scenario does not.
        num_parties: how many there are, where that is known beforehand.
        open: makes the batches anew; its argument is a folder for temporary files.
        fixed: which of the parameters cannot be set otherwise.
        check: raises ConfigurationError unless the parameters are those of the parties who will come.
        most_parties: as many as there can be.
        pays_alike: whether every party pays the same; None where that follows from having no public columns.
        columns: those of files, of whose names alone a protocol may complete its parameters; None of other streams.
        gold: what is true, where somebody knows: a name's true value.
        unsaid: see `PartiesTable`.
        files: those with a line for each party, of which any piece can be read by itself; None of other streams.
        names: the columns of them that are read.
    """

    parameters: Mapping[str, Any]
    num_parties: int | None
    open: Callable[[Path], Generator[Batch]]
    fixed: frozenset[str] = frozenset()
    check: Callable[[PhasedProtocol[Any, Any]], None] | None = None
    most_parties: int = _MOST_PARTIES
    pays_alike: bool | None = None
    columns: Mapping[str, Entries] | None = None
    gold: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    unsaid: ConfigurationError | None = None
    files: TableFiles | None = None
    names: Sequence[str] = ()

    def num_left(self, num_parties: int) -> float:
        """Return how many come after so many: estimated, as a float, where bytes alone are known; -1 where nothing."""
        num_known = self.num_parties if self.files is None else self.files.num_rows
        if num_known is not None:
            return max(0, num_known - num_parties)
        share = 0.0 if self.files is None else self.files.share_read
        return num_parties * (1 / share - 1) if share else -1


@dataclasses.dataclass(frozen=True)
class PartiesTable:
    """Parties in roster order: what a file, a data set or a generator hands over.

    Args:
        table: the protocol's columns.
        lines: where each party stands in its file; empty where there is none.
        source: what to call that in errors.
        parameters: what their source says of the protocol's parameters, where the scenario does not.
        is_generated: whether a generator made up what is private of them.
        is_of_data_set: whether a data set holds them.
        is_public_record: whether everybody may know their values already.
        fixed: which of the parameters cannot be set otherwise, since the codes in the table mean nothing else.
        gold: what is true, where somebody knows: a name's true value.
        note: what became of the rows of their file, as a line for people.
        has_header: whether the first line of their file says what is in the others.
        unsaid: a parameter, which is public, was read off what is private, where nobody said it: this is raised, unless
            nobody real stands behind the parties, or everybody may know it.
    """

    names: Sequence[str]
    table: Mapping[str, Entries]
    lines: Sequence[int] = ()
    source: str = ""
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])
    is_generated: bool = False
    is_of_data_set: bool = False
    is_public_record: bool = False
    fixed: frozenset[str] = frozenset()
    gold: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    note: str = ""
    has_header: bool = True
    unsaid: ConfigurationError | None = None

    def check_said(self, *, is_public: bool) -> None:
        """Raise what is `unsaid`, unless a scenario says that nobody real is behind the parties, or all is public."""
        if self.unsaid is not None and not (is_public or self.is_generated or self.is_public_record):
            raise self.unsaid

    def of_rows(self, rows: Sequence[int]) -> "PartiesTable":
        """Return some of the parties of a file."""
        names, lines = ([column[row] for row in rows] for column in (self.names, self.lines))
        table = {name: [entries[row] for row in rows] for name, entries in self.table.items()}
        return dataclasses.replace(self, names=names, table=table, lines=lines)

    def with_note(self, sentence: str) -> "PartiesTable":
        """Return the parties with a sentence more on what became of their rows; it may be empty."""
        return dataclasses.replace(self, note=f"{self.note} {sentence}".strip())

    def complete(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return a scenario's parameters with what the source of the parties says of the others.

        Raises:
            ConfigurationError: one is given otherwise that follows from the parties.
        """
        for name in self.fixed & given.keys():
            allowed = f"left out: it follows from {self.source or 'the parties'}"
            refuse(given[name] != self.parameters[name], name, given[name], allowed)
        return {**self.parameters, **given}

    @contextlib.contextmanager
    def name_lines_in_errors(self) -> Generator[None]:
        """Let errors name line and party rather than the row, and the file's header unless they are of parameters."""
        try:
            yield
        except ConfigurationError as error:
            is_of_header = self.lines and self.has_header and not error.field.startswith("parameters.")
            if (located_error := locate_error(error, self._where)) is not None:
                raise located_error from None
            if not is_of_header:
                raise
            field = f"{error.field} ({self.source} line 1)"
            raise ConfigurationError(field=field, value=error.value, allowed=error.allowed) from None

    def _where(self, row: int) -> str:
        name = self.names[row - 1]
        return f"{self.source} line {self.lines[row - 1]}, {name}" if self.lines else name


class ReadParties(Protocol):
    """Reads parties as a scenario names them: a path, or a table without a data set."""

    def __call__(self, parties: str | Mapping[str, Any], *, parameters: Mapping[str, Any]) -> PartiesTable | None:
        """Return the parties of a file or a table; None for a file with a line for each of them.

        The scenario's parameters are not checked yet.

        Raises:
            ConfigurationError: a file cannot be read or is not what it should be, or an option is not allowed.
        """
        ...


def _keep_path(path: str) -> str:
    """Return the path itself."""
    return path


@dataclasses.dataclass(frozen=True, kw_only=True)
class PartySources:
    """Where a system's parties may be from, and what of its parameters goes with them.

    Args:
        read: reads them.
        paths: the keys of a table of parties that hold paths.
        path_tables: those that hold a table of paths.
        synthetic: those that say how parties are made up; nobody real stands behind these.
        published: those behind which somebody real may stand, beside `data`.
        table_of: what a bare path stands for: itself, or a table beside whose path more can be said.
        own_parameters: for a key that gives each party a value of its own, the parameters in place of which it does.
        of_each: the parameter of whose values a key of made-up parties says something each, by that key: it goes with
            another number of them.
        parameters_of_table: parameters that describe a table's columns: another table brings its own.
        parameters_of_public_columns: those of them that follow from the public columns alone.
        implied_parameters: those, and further ones, that the parties may imply, say by a column that they lack: what
            was agreed of them stands beside a roster.
        like: makes up parties in place of those of a session, as many and with the same public values, of whom a
            share says yes: protocol, their rows, that share → the parties, and the parameters that go with them.
        draws: makes many draws of a generator's parties at once: a scenario's table of parties, a seed for each draw,
            the scenario's parameters → the protocol's columns, one draw after another, each of as many parties. It is
            what `read` gives of each seed, bit for bit, of which the protocol completes the same parameters; None
            where it does not know how.
        alternatives: sets of parameters of which one is given: who sets another one means that in place of it.
        stream: what opens the parties of a path or a table that come in batches, or files of any size with a line for
            each of them, who do so where these cannot be read at once; None of all others. Without it and `read`, a
            path is such files.
        words: what files and frames of parties are called beside what the parties are: by the word the key of a table
            of parties that each is, or nothing where it is all that is said of them.
        unpack: what an object of the system's own, as one of these words may be given, stands for: settings by their
            keys; None of any other object.
    """

    read: ReadParties | None = None
    paths: Sequence[str] = ()
    path_tables: Sequence[str] = ()
    synthetic: frozenset[str] = frozenset()
    published: frozenset[str] = frozenset()
    table_of: Callable[[str], str | dict[str, Any]] = _keep_path
    own_parameters: Mapping[str, frozenset[str]] = dataclasses.field(default_factory=dict[str, frozenset[str]])
    of_each: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    parameters_of_table: frozenset[str] = frozenset()
    parameters_of_public_columns: frozenset[str] = frozenset()
    implied_parameters: frozenset[str] = frozenset()
    like: Callable[[Any, Inputs, float], tuple[list[dict[str, Any]], dict[str, Any]]] | None = None
    draws: Callable[[Mapping[str, Any], Sequence[int], Mapping[str, Any]], Mapping[str, Entries] | None] | None = None
    alternatives: tuple[frozenset[str], ...] = ()
    stream: Callable[[str | Mapping[str, Any], Mapping[str, Any]], OpenStream | RowFiles | None] | None = None
    words: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    unpack: Callable[[Any], Mapping[str, object] | None] | None = None

    @property
    def keys(self) -> frozenset[str]:
        """The keys that say where parties are from; a table without one describes made-up ones."""
        return self.synthetic | self.published | {"data"}
