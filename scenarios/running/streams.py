"""Parties that do not fit into memory: they come in batches, from what a system opens, and are never kept together.

A table of parties asks for it by `stream = true`; where parties have a line each, so do files that cannot be read at
once (`reading.batches`). The result is that of all parties at once, bit for bit. Nobody's
values are kept, so there is no truth beside the estimates, and nothing to record. Where parties pay differently, the
ledger's one line says what each pays at most: who pays what is not kept.
"""

import contextlib
import dataclasses
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import numpy as np

from ...protocol.arrays import distinct_rows
from ...protocol.columns import Observed
from ...protocol.errors import ConfigurationError
from ...protocol.phases import Entries, Inputs, PhasedProtocol
from ...protocol.plugin_checks import checked_inputs
from ...protocol.privacy import LedgerEntry
from ..reading.batches import TableFiles, is_in_batches
from ..reading.sources import PartySources, RowFiles, located
from ..system import part_of
from .plugin_errors import blaming

__all__ = ["Batch", "PartyStream", "StreamedInputs", "batches_of", "is_streamed", "open_stream", "row_files_of"]

_MOST_PARTIES: Final = 1 << 40


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
        fixed: which of these cannot be set otherwise.
        check: raises ConfigurationError unless the parameters are those of the parties who will come.
        num_parties: how many there are, where that is known beforehand.
        most_parties: as many as there can be.
        open: makes the batches anew; its argument is a folder for temporary files.
        pays_alike: whether every party pays the same; None where that follows from having no public columns.
        columns: those of files, of whose names alone a protocol may complete its parameters; None of other streams.
        files: these files, of which any piece can be read by itself; None of other streams.
        names: the columns of them that are read.
    """

    parameters: Mapping[str, Any]
    fixed: frozenset[str]
    check: Callable[[PhasedProtocol[Any, Any]], None]
    num_parties: int | None
    most_parties: int
    open: Callable[[Path], Generator[Batch]]
    pays_alike: bool | None = None
    columns: Mapping[str, Entries] | None = None
    files: TableFiles | None = None
    names: Sequence[str] = ()


def is_streamed(kind: type[PhasedProtocol[Any, Any]], parties: object, parameters: Mapping[str, Any]) -> bool:
    """Return whether a path or a table of parties asks for a stream, and the protocol's parties can come so."""
    asks = isinstance(parties, Mapping) and bool(parties.get("stream"))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]  of any keys
    if asks and part_of(kind, "stream", Callable) is not None:
        return True
    return _rows_of(kind, parties, parameters) is not None


def open_stream(kind: type[PhasedProtocol[Any, Any]], parties: Any, parameters: Mapping[str, Any]) -> PartyStream:
    """Return the parties of a path or table that asks for a stream (`is_streamed`); none of them is read yet.

    Raises:
        ConfigurationError: an option is not allowed, or a file cannot be read or has another header.
    """
    if (rows := _rows_of(kind, parties, parameters)) is not None:
        return _stream_of(rows, kind.client_role)
    return part_of(kind, "stream", Callable)(parties)


def _rows_of(kind: type[PhasedProtocol[Any, Any]], parties: Any, parameters: Mapping[str, Any]) -> RowFiles | None:
    """Return the files with a line for each party that cannot be read at once; None where there are none such."""
    rows = row_files_of(kind, parties, parameters)
    return rows if rows is not None and is_in_batches(rows.path) else None


def row_files_of(kind: type[PhasedProtocol[Any, Any]], parties: Any, parameters: Mapping[str, Any]) -> RowFiles | None:
    """Return the files with a line for each party that a path or a table names; None where it names none."""
    sources = part_of(kind, "sources", PartySources) or PartySources()
    if sources.rows_of is not None:
        is_named = isinstance(parties, str | Mapping)
        rows = sources.rows_of(cast("str | Mapping[str, Any]", parties), parameters) if is_named else None
    else:
        rows = RowFiles(path=parties) if isinstance(parties, str) and sources.read is None else None
    return rows


def _stream_of(rows: RowFiles, role: str) -> PartyStream:
    """Return the parties of files with a line for each of them."""
    files = TableFiles(rows.path, field=f"{role}s", columns=rows.columns, left_out=role)
    names = [name for name in files.names if not rows.only or name in rows.only]
    parameters = rows.parameters_of(files)

    return PartyStream(
        parameters=parameters,
        fixed=frozenset(),
        check=lambda _: None,
        num_parties=files.num_rows,
        most_parties=_MOST_PARTIES,
        open=lambda _: batches_of(rows, files, names),
        columns=_Unread(rows.prepared(dict.fromkeys(names, ()))),
        files=files,
        names=names,
    )


def batches_of(
    rows: RowFiles, files: TableFiles, names: Sequence[str], *, pieces: range | None = None
) -> Generator[Batch]:
    """Yield the parties of files with a line for each of them; of some pieces, where these are named."""
    for batch in files.batches(names, pieces=pieces):
        with _naming(batch.where):
            table = rows.prepared(batch.table)
        yield Batch(table, batch.num_rows, "", batch.where)


class _Unread(Observed):
    """Columns before parties come: nobody looks at the entries of any, unless it has codes, and then there are none."""

    def __getitem__(self, name: str) -> Entries:
        if isinstance(entries := super().__getitem__(name), np.ndarray):
            return entries
        allowed = "given, since parties come in batches, and parameters before them"
        raise ConfigurationError(field=f"parameters that follow from {name}", value="left out", allowed=allowed)


class StreamedInputs:
    """The rows of a stream's parties, and how far they have come.

    Args:
        protocol: with its parameters.
        stream: the parties.
        folder: below it temporary files are kept; by default where the system has them.
        first: the place of the first one; None of all parties, of whom it is known in the end how many there are.
    """

    def __init__(
        self,
        protocol: PhasedProtocol[Any, Any],
        stream: PartyStream,
        *,
        folder: Path | None = None,
        first: int | None = None,
    ) -> None:
        self._protocol = protocol
        self._stream = stream
        self._folder = folder
        self._is_whole = first is None
        self.num_parties = first or 0
        """Those whose reports were drawn, and those in places before the first."""
        self.numbers = Counter[tuple[int, ...]]()
        """How many have each public row."""
        self.note = ""
        """What became of their rows, as a line for people."""

    def open(self) -> Generator[Inputs]:
        """Yield the rows, batch by batch; closed, temporary files are gone.

        Raises:
            ConfigurationError: a file cannot be read or is not what it should be; or, after the last batch, the
                parameters cannot serve so many.
        """
        with contextlib.ExitStack() as stack:
            folder = self._folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            batches = stack.enter_context(contextlib.closing(self._stream.open(folder)))
            for batch in batches:
                with blaming(type(self._protocol)), _naming(batch.where):
                    inputs = checked_inputs(
                        self._protocol, self._protocol.encode(batch.table), num_parties=batch.num_parties
                    )
                yield inputs
                rows, of_each = distinct_rows(inputs.public)
                for row, number in zip(rows.tolist(), of_each.tolist(), strict=True):
                    self.numbers[tuple(row)] += number
                self.num_parties += batch.num_parties
                self.note = batch.note
        if self._is_whole:
            self.check_numbers()

    def check_numbers(self) -> None:
        """Raise ConfigurationError unless the parameters can serve so many with these public rows."""
        with blaming(type(self._protocol)):
            rows = np.array(list(self.numbers), dtype=np.int64).reshape(len(self.numbers), -1)
            self._protocol.check_numbers(rows, np.array(list(self.numbers.values()), dtype=np.int64))

    def entries(self, session: str) -> list[LedgerEntry]:
        """Return one line of each loss for all parties whose reports were drawn: none pays more."""
        pays_alike = self._stream.pays_alike
        if pays_alike is None:
            pays_alike = all(column.private for column in self._protocol.columns())
        at_most = "" if pays_alike else " at most"
        return [
            LedgerEntry.of(
                loss,
                person=f"each of {self.num_parties} {self._protocol.client_role}s{at_most}",
                session=session,
                phase=phase.name,
                num_persons=self.num_parties,
            )
            for phase in self._protocol.phases
            for loss in phase.losses
            if self.num_parties
        ]


@contextlib.contextmanager
def _naming(where: Callable[[int], str] | None) -> Generator[None]:
    """Let errors say where a row stands, if somebody knows."""
    try:
        yield
    except ConfigurationError as error:
        if where is None or (named := located(error, where)) is None:
            raise
        raise named from None
