"""A server's journal: what one session must not forget, in a file of its own.

The rule that holds here: a step opens once and closes once; a party's report counts once in a step; a party chooses its
part of its public row once; and a journal never goes on under another configuration than it was begun with.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import msgspec

from ..protocol.errors import ConfigurationError
from ..protocol.records import Accepted, Chosen, PhaseClosed, PhaseOpened, Record, ServerRecord, SessionFailed
from .journal_file import JournalFile
from .journal_format import SESSION, About, Closing, Row, decode_record
from .rollback_guard import RollbackGuard

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[ServerRecord] = msgspec.msgpack.Decoder(ServerRecord)


class SessionJournal(Closing):
    """A server's journal, which no other process can have open (`journals.Journal`).

    Made by `SessionJournal.open`; to be closed, or used in a `with`.
    """

    def __init__(self, file: JournalFile, records: Sequence[ServerRecord]) -> None:
        self._file = file
        self._records = list(records)

    @classmethod
    def open(cls, path: Path, *, configuration: Mapping[str, str], witness: RollbackGuard | None = None) -> Self:
        """Open a session's journal, or begin it.

        Args:
            configuration: what makes the session what it is, by field.
            witness: where it is told outside the file's folder how far it is; by which an older copy is found.

        Raises:
            ConfigurationError: it was begun with another configuration; the first field that differs is named.
            JournalError: another process has it open, or it cannot be read or written, is not a session's, or is not as
                it was left.
        """
        ours = dict(configuration)
        file, rows = JournalFile.open(path, About(kind=SESSION, configuration=ours), witness=witness)
        try:
            _check_configuration(ours, file.about.configuration, file.path)
            return cls(file, [decode_record(row.body, _decoder, file.path) for row in rows])
        except BaseException:
            file.close()
            raise

    @property
    def path(self) -> Path:
        """The file's."""
        return self._file.path

    @property
    def records(self) -> tuple[ServerRecord, ...]:
        """All that is kept of the session, in order."""
        return tuple(self._records)

    def keep(self, records: Sequence[Record]) -> None:
        """Make records durable, all of them or none.

        Raises:
            JournalError: they cannot be written, or there is one already that there may be once.
            TypeError: one is a client's.
        """
        ours = [record for record in records if isinstance(record, ServerRecord)]
        if len(ours) < len(records):
            raise TypeError(f"a session's journal keeps no records of clients, got {len(records) - len(ours)}")
        self._file.append([_row_of(record) for record in ours])
        self._records += ours

    def close(self) -> None:
        self._file.close()


def _check_configuration(ours: Mapping[str, str], theirs: Mapping[str, str], path: Path) -> None:
    for field in {**ours, **theirs}:
        recorded_value = theirs.get(field)
        if ours.get(field) != recorded_value:
            allowed = f"The journal {path} was begun with another value. Start it with that, or draw up a new roster."
            raise ConfigurationError(field=field, value=ours.get(field), allowed=allowed)


def _row_of(record: ServerRecord) -> Row:
    match record:
        case Accepted(step=step, place=place):
            kind, key = "accepted", f"{step}:{place}"
        case Chosen(place=place):
            kind, key = "chosen", str(place)
        case PhaseOpened(step=step):
            kind, key = "opened", str(step)
        case PhaseClosed(step=step):
            kind, key = "closed", str(step)
        case SessionFailed():
            kind, key = "broken", ""
    return Row("", kind, key, _encoder.encode(record))
