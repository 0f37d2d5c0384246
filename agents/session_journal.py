"""A server's journal: the records of one session, in one file.

A step opens once and closes once. A party's report counts once in a step. A party chooses its part of the public row
once. A journal never continues with another configuration than that of its beginning.
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
    """A server's journal (`journals.Journal`), opened exclusively by `SessionJournal.open`.

    Close it, or use it in a `with` statement.
    """

    def __init__(self, file: JournalFile, records: Sequence[ServerRecord]) -> None:
        self._file = file
        self._records = list(records)

    @classmethod
    def open(cls, path: Path, *, configuration: Mapping[str, str], witness: RollbackGuard | None = None) -> Self:
        """Open a session's journal, or create one if there is none.

        Args:
            path: the path of the file.
            configuration: the configuration of the session, by field.
            witness: records the journal's length outside its folder, so that an older copy is detected.

        Raises:
            ConfigurationError: it was begun with another configuration; the message names the first different field.
            JournalError: another process has it open; or it cannot be read or written, is not a session's, or was
                changed since its last use.
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
            JournalError: they cannot be written, or a record that must be unique exists already.
            TypeError: a record is a client's.
        """
        ours = [record for record in records if isinstance(record, ServerRecord)]
        if len(ours) < len(records):
            raise TypeError(f"{len(records) - len(ours)} records are a client's: keep them in the client's journal")
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
