"""A host's journal: the journals of all its parties in one file, committed together.

Nothing may be sent before the `commit` that makes its records durable. A party's journal holds records in memory until
the next commit.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Self

import trio

from ..protocol.errors import JournalError
from .driver import RunInThread
from .journal_file import JournalFile
from .journal_format import About, Closing, Row
from .person_journal import PERSON, PersonJournal
from .rollback_guard import RollbackGuard

HOST: Final = "host"
"""The kind of these journals."""
OF_PARTIES: Final = (PERSON, HOST)
"""The kinds of journals that contain privacy losses."""
_BETWEEN: Final = "\t"
"""The separator between a session's id, which is arbitrary, and a party's name, which never contains it."""


def id_of(line: str) -> str:
    """Return the id of a session, of how a person's journal keeps it, or a host's, with a party's name behind it."""
    return line.rpartition(_BETWEEN)[0] or line


class _RowsOfParty:
    """The rows of one party's journal; `append` collects them for the file's next commit."""

    def __init__(self, file: JournalFile, append: Callable[[Sequence[Row]], None], check: Callable[[], None]) -> None:
        self.path = file.path
        self.is_new = file.is_new
        self.append = append
        self.check = check

    def close(self) -> None:
        """Close nothing: the file is the host's."""


class HostJournal(Closing):
    """A host's journal, opened exclusively by `HostJournal.open`.

    Attributes:
        run_in_thread: runs the blocking commit; tests under a virtual clock replace it.
    """

    def __init__(self, file: JournalFile, rows: Sequence[Row], *, now: float, clock: Callable[[], float]) -> None:
        self.run_in_thread: RunInThread = trio.to_thread.run_sync
        self._file = file
        self._now = now
        self._clock = clock
        self._rows: dict[str, list[Row]] = {}
        # The sessions of all parties are unsure: even a party without rows in the backup may have drawn after it was
        # made.
        self._unsure_names = {row.session.rpartition(_BETWEEN)[0] for row in rows[: file.about.unsure_rows]}
        for row in rows:
            session, _, party = row.session.rpartition(_BETWEEN)
            self._rows.setdefault(party, []).append(row._replace(session=session))
        self._waiting_rows: list[Row] = []
        self._lock = trio.Lock()
        self._failure: JournalError | None = None

    @classmethod
    def open(cls, path: Path, *, now: float, clock: Callable[[], float], witness: RollbackGuard | None = None) -> Self:
        """Open a journal, or create one if there is none.

        Arguments and errors are those of `PersonJournal.open`.
        """
        file, rows = JournalFile.open(path, About(kind=HOST), witness=witness)
        return cls(file, rows, now=now, clock=clock)

    def person_journal(self, party: str) -> PersonJournal:
        """Return the journal of a party; once for each party.

        Raises:
            JournalError: a row is no record of a person's.
        """

        def append(rows: Sequence[Row]) -> None:
            self._check()
            self._waiting_rows += [row._replace(session=f"{row.session}{_BETWEEN}{party}") for row in rows]

        file, rows = _RowsOfParty(self._file, append, self._check), self._rows.pop(party, ())
        return PersonJournal(file, rows, now=self._now, clock=self._clock, unsure=self._unsure_names)

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    async def commit(self) -> None:
        """Make all parties' records so far durable. If it is cancelled, it is done completely or not at all.

        Raises:
            JournalError: writing failed; the journal refuses further records until it is opened again.
        """
        async with self._lock:
            self._check()
            rows = tuple(self._waiting_rows)
            if rows:
                await self.run_in_thread(self._append, rows)
                del self._waiting_rows[: len(rows)]

    def close(self) -> None:
        try:
            if self._failure is None and self._waiting_rows:
                self._append(tuple(self._waiting_rows))
        finally:
            self._file.close()

    def _append(self, rows: Sequence[Row]) -> None:
        try:
            self._file.append(rows)
        except JournalError as error:
            self._failure = error
            raise
