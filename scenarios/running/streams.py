"""Stream parties that do not fit into memory, in batches that are not stored.

A table of parties requests it by `stream = true`. If parties have one line each, large files are also streamed
(`reading.batches`). The result equals that of all parties at once, bit for bit. Since values are not stored, the truth
is not shown, and nothing can be recorded. If losses differ between parties, the ledger's one entry has the greatest,
since who pays what is not stored.
"""

import contextlib
import functools
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
from ..reading.grouping import check_each_once
from ..reading.sources import Batch, PartySources, PartyStream, RowFiles, locate_error
from ..system import part_of
from .plugin_errors import blaming

_NOT_NAMED: Final = "Each line counts as one person, who is not named: who stands in several pays that often."


def stream_of(
    kind: type[PhasedProtocol[Any, Any]], parties: object, parameters: Mapping[str, Any]
) -> Callable[[], PartyStream] | None:
    """Return a function that opens the parties of a path or table in batches; None if they are read at once.

    No party is read yet; opening may read all files once.

    Raises:
        ConfigurationError: an option is not allowed; or on opening, a file cannot be read or has another header.

    Examples:
        >>> from psephos.scenarios.system import find_protocol
        >>> stream_of(find_protocol("dpwevote"), {"count": 30}, {}) is None
        True
    """
    source = _source_of(kind, parties, parameters)
    if not isinstance(source, RowFiles):
        return source
    return functools.partial(_stream_of_rows, source, kind.client_role) if is_in_batches(source.path) else None


def row_files_of(kind: type[PhasedProtocol[Any, Any]], parties: object, parameters: Mapping[str, Any]) -> RowFiles:
    """Return the files of a path or table that are known to have a line for each party."""
    source = _source_of(kind, parties, parameters)
    assert isinstance(source, RowFiles)  # noqa: S101  as the stream that was planned
    return source


def _source_of(
    kind: type[PhasedProtocol[Any, Any]], parties: object, parameters: Mapping[str, Any]
) -> Callable[[], PartyStream] | RowFiles | None:
    if not isinstance(parties, str | Mapping):
        return None
    sources = part_of(kind, "sources", PartySources) or PartySources()
    if sources.stream is not None:
        return sources.stream(cast("str | Mapping[str, Any]", parties), parameters)
    return RowFiles(path=parties) if isinstance(parties, str) and sources.read is None else None


def _stream_of_rows(rows: RowFiles, role: str) -> PartyStream:
    """Return the stream of files with a line for each party."""
    files = TableFiles(rows.path, field=f"{role}s", columns=rows.columns, named_by=role, options=rows.options)
    names = [name for name in files.names if not rows.only or name in rows.only]
    if files.naming and rows.each_once:
        check_each_once(files, role, are_unlike=rows.each_once == "unlike")
    return PartyStream(
        parameters=rows.parameters_of(files),
        num_parties=files.num_rows,
        open=lambda _: batches_of(rows, files, names),
        columns=_Unread(rows.prepared(dict.fromkeys(names, ()))),
        files=files,
        names=names,
    )


def batches_of(
    rows: RowFiles, files: TableFiles, names: Sequence[str], *, pieces: range | None = None
) -> Generator[Batch]:
    """Yield the parties of files with a line for each, or of some pieces of the files."""
    for batch in files.batches(names, pieces=pieces):
        with _name_rows_in_errors(batch.where):
            table = rows.prepared(batch.table)
        yield Batch(table, batch.num_rows, "", batch.where)


class _Unread(Observed):
    """Columns before parties are read: entries are not accessed, except those with codes, which are empty."""

    def __getitem__(self, name: str) -> Entries:
        if isinstance(entries := super().__getitem__(name), np.ndarray):
            return entries
        allowed = "given, since parties come in batches, and parameters before them"
        raise ConfigurationError(field=f"parameters that follow from {name}", value="left out", allowed=allowed)


class StreamedInputs:
    """The rows of a stream's parties, and the progress.

    Args:
        folder: folder for temporary files; by default the system's.
        first: the index of the first party of a shard; None for all parties, whose number is known at the end.
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
        """The number of parties with drawn reports, plus those before the first."""
        self.numbers = Counter[tuple[int, ...]]()
        """The number of parties by public row."""
        self.note = "" if stream.files is None else _NOT_NAMED
        """A line on skipped or merged rows."""

    def open(self) -> Generator[Inputs]:
        """Yield the rows in batches; temporary files are removed on closing.

        Raises:
            ConfigurationError: a file cannot be read, or has an unexpected content; or, after the last batch, the
                parameters do not support the number of parties.
        """
        with contextlib.ExitStack() as stack:
            folder = self._folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            batches = stack.enter_context(contextlib.closing(self._stream.open(folder)))
            for batch in batches:
                with blaming(type(self._protocol)), _name_rows_in_errors(batch.where):
                    inputs = checked_inputs(
                        self._protocol, self._protocol.encode(batch.table), num_parties=batch.num_parties
                    )
                inputs = Inputs(inputs.private, self._protocol.place_rows(inputs.public, start=self.num_parties))
                yield inputs
                rows, of_each = distinct_rows(self._protocol.numbers_to_check(inputs.public))
                for row, number in zip(rows.tolist(), of_each.tolist(), strict=True):
                    self.numbers[tuple(row)] += number
                self.num_parties += batch.num_parties
                self.note = batch.note or self.note
        if self._is_whole:
            self.check_numbers()

    def check_numbers(self) -> None:
        """Raise ConfigurationError unless the parameters support these numbers of parties by public row."""
        with blaming(type(self._protocol)):
            rows = np.array(list(self.numbers), dtype=np.int64).reshape(len(self.numbers), -1)
            self._protocol.check_numbers(rows, np.array(list(self.numbers.values()), dtype=np.int64))

    def entries(self, session: str) -> list[LedgerEntry]:
        """Return one entry for each loss, an upper bound for all parties with drawn reports."""
        pays_alike = self._stream.pays_alike
        if pays_alike is None:
            pays_alike = all(column.private for column in self._protocol.columns())
        at_most = "" if pays_alike else " at most"
        return [
            LedgerEntry.from_loss(
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
def _name_rows_in_errors(place_of: Callable[[int], str] | None) -> Generator[None]:
    """Add a row's location to errors, if known."""
    try:
        yield
    except ConfigurationError as error:
        if place_of is None or (located_error := locate_error(error, place_of)) is None:
            raise
        raise located_error from None
