"""A host's journal: the journals of all its parties in one file, committed together.

The rule that holds here: nothing may leave, nor be told to anybody, before the `commit` that makes it durable. A
party's own journal keeps records in memory until the next commit.
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
"""The kinds that keep what parties have lost."""
_BETWEEN: Final = "\t"
"""Between a session's id, which whoever draws it up chooses, and a party's name, which has none."""


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
    """A host's journal, which no other process can have open. Made by `HostJournal.open`.

    Attributes:
        run_in_thread: runs what blocks, which is a commit; another one is for tests under a virtual clock.
    """

    def __init__(self, file: JournalFile, rows: Sequence[Row], *, now: float, clock: Callable[[], float]) -> None:
        self.run_in_thread: RunInThread = trio.to_thread.run_sync
        self._file = file
        self._now = now
        self._clock = clock
        self._rows: dict[str, list[Row]] = {}
        # Of all its parties: one of which a backup has nothing may have drawn as well, after it was made.
        self._unsure_names = {row.session.rpartition(_BETWEEN)[0] for row in rows[: file.about.unsure_rows]}
        for row in rows:
            session, _, party = row.session.rpartition(_BETWEEN)
            self._rows.setdefault(party, []).append(row._replace(session=session))
        self._waiting_rows: list[Row] = []
        self._lock = trio.Lock()
        self._failure: JournalError | None = None

    @classmethod
    def open(cls, path: Path, *, now: float, clock: Callable[[], float], witness: RollbackGuard | None = None) -> Self:
        """Open a journal, or begin one where there has been none.

        Arguments and errors are those of `PersonJournal.open`.
        """
        file, rows = JournalFile.open(path, About(kind=HOST), witness=witness)
        return cls(file, rows, now=now, clock=clock)

    def person_journal(self, party: str) -> PersonJournal:
        """Return a party's own; of each party once.

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
        """Make durable what all parties have kept so far. Cancelled, that is as if it had not begun, or is done.

        Raises:
            JournalError: it cannot be; nothing is kept any more, until the journal is opened anew.
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
