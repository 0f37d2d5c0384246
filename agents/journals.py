"""Where a party keeps its records: what the driver needs of a journal."""

from collections.abc import Sequence
from typing import Protocol

from ..protocol.records import Record

__all__ = ["Journal"]


class Journal(Protocol):
    """Keeps the records of one side of one session."""

    def keep(self, records: Sequence[Record]) -> None:
        """Make records durable, in their order: all of them or none.

        Blocks until they are; agents call it from one thread at a time.

        Raises:
            JournalError: they are not.
        """
        ...
