"""The interface of a journal for agents: it stores the records of one side of a session."""

from collections.abc import Sequence
from typing import Any, Protocol

from ..protocol.records import ClientRecord, ServerRecord


class Journal(Protocol):
    """Keeps the records of one side of one session."""

    def keep(self, records: Sequence[Any]) -> None:
        """Make records durable, in their order: all of them or none.

        It blocks until they are durable. Agents call it from one thread at a time.

        Raises:
            JournalError: none of them is durable.
        """
        ...


class JournalSession(Journal, Protocol):
    """A party's records of one session."""

    @property
    def records(self) -> Sequence[ClientRecord]:
        """The session's records, in order."""
        ...


class SittingOfServer(Journal, Protocol):
    """A server's records of one session."""

    @property
    def records(self) -> Sequence[ServerRecord]:
        """The session's records, in order."""
        ...
