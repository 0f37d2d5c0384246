"""Parties that do not fit into memory: read in batches from what a system opens, and never kept together.

A table of parties asks for it by `stream = true`; where parties have a line each, so do files that cannot be read at
once (`reading.batches`). The result is that of all parties at once, bit for bit. Nobody's
values are kept, so there is no truth beside the estimates, and nothing to record. Where parties pay differently, the
ledger's one line says what each pays at most: who pays what is not kept.
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
    """Return what opens the parties of a path or a table as batches; None where they are read at once.

    None of them is read yet; opening may take a pass over them.

    Raises:
        ConfigurationError: an option is not allowed. Opened, a file cannot be read or has another header.

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
    """Return the files with a line for each party that a path or a table names, which are known to be such."""
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
    """Return the parties of files with a line for each of them."""
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
    """Yield the parties of files with a line for each of them; of some pieces, where these are named."""
    for batch in files.batches(names, pieces=pieces):
        with _name_rows_in_errors(batch.where):
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
        self.note = "" if stream.files is None else _NOT_NAMED
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
    """Let errors say where a row stands, if somebody knows."""
    try:
        yield
    except ConfigurationError as error:
        if place_of is None or (located_error := locate_error(error, place_of)) is None:
            raise
        raise located_error from None
