"""Parties that do not fit into memory: they come in batches, from what a system opens, and are never kept together.

A table of parties asks for it by `stream = true`. The result is that of all parties at once, bit for bit. Nobody's
values are kept, so there is no truth beside the estimates, and nothing to record. Where parties pay differently, the
ledger's one line says what each pays at most: who pays what is not kept.
"""

import contextlib
import dataclasses
import tempfile
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

from ...protocol.phases import Entries, Inputs, PhasedProtocol
from ...protocol.plugin_checks import checked_inputs
from ...protocol.privacy import LedgerEntry
from ..system import part_of
from .plugin_errors import blaming

__all__ = ["Batch", "PartyStream", "StreamedInputs", "is_streamed", "open_stream"]


@dataclasses.dataclass(frozen=True, eq=False)
class Batch:
    """Parties that follow each other.

    Args:
        table: the protocol's columns.
        num_parties: how many.
        note: what became of all rows that have been read, as a line for people.
    """

    table: Mapping[str, Entries]
    num_parties: int
    note: str


@dataclasses.dataclass(frozen=True, eq=False)
class PartyStream:
    """Parties in batches.

    Args:
        parameters: what they say of the protocol's parameters, where the scenario does not.
        fixed: which of these cannot be set otherwise.
        check: raises ConfigurationError unless the parameters are those of the parties who will come.
        num_parties: how many there are, where that is known beforehand.
        most_parties: as many as there can be.
        pays_alike: whether every party pays the same.
        open: makes the batches anew; its argument is a folder for temporary files.
    """

    parameters: Mapping[str, Any]
    fixed: frozenset[str]
    check: Callable[[PhasedProtocol[Any, Any]], None]
    num_parties: int | None
    most_parties: int
    pays_alike: bool
    open: Callable[[Path], Generator[Batch]]


def is_streamed(kind: type[PhasedProtocol[Any, Any]], parties: object) -> bool:
    """Return whether a table of parties asks for a stream, and the protocol's system has one."""
    asks = isinstance(parties, Mapping) and bool(parties.get("stream"))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]  of any keys
    return asks and part_of(kind, "stream", Callable) is not None


def open_stream(kind: type[PhasedProtocol[Any, Any]], parties: Mapping[str, Any]) -> PartyStream:
    """Return the parties of a table that asks for a stream (`is_streamed`); none of them is read yet.

    Raises:
        ConfigurationError: an option is not allowed, or a file cannot be read or has another header.
    """
    return part_of(kind, "stream", Callable)(parties)


class StreamedInputs:
    """The rows of a stream's parties, and how far they have come.

    Args:
        protocol: with its parameters.
        stream: the parties.
        folder: below it temporary files are kept; by default where the system has them.
    """

    def __init__(self, protocol: PhasedProtocol[Any, Any], stream: PartyStream, *, folder: Path | None = None) -> None:
        self._protocol = protocol
        self._stream = stream
        self._folder = folder
        self.num_parties = 0
        """Those whose reports were drawn."""
        self.note = ""
        """What became of their rows, as a line for people."""

    def open(self) -> Generator[Inputs]:
        """Yield the rows, batch by batch; closed, temporary files are gone.

        Raises:
            ConfigurationError: a file cannot be read or is not what it should be.
        """
        with contextlib.ExitStack() as stack:
            folder = self._folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            batches = stack.enter_context(contextlib.closing(self._stream.open(folder)))
            for batch in batches:
                with blaming(type(self._protocol)):
                    inputs = checked_inputs(
                        self._protocol, self._protocol.encode(batch.table), num_parties=batch.num_parties
                    )
                yield inputs
                self.num_parties += batch.num_parties
                self.note = batch.note

    def entries(self, session: str) -> list[LedgerEntry]:
        """Return one line of each loss for all parties whose reports were drawn: none pays more."""
        at_most = "" if self._stream.pays_alike else " at most"
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
