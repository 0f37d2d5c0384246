"""`psephos`, which is killed (SIGKILL) at a durable step of its own.

    python dying.py WHEN STEP COMMAND ...

WHEN is `before` or `after`: before the records of the STEP-th step, from 1, are kept, or when they are, and nothing
that follows from them was done. A step is one commit of a journal.
"""

import os
import signal
import sys
from collections.abc import Sequence
from unittest import mock

from psephos.agents.journal_file import JournalFile
from psephos.agents.journal_format import Row
from psephos.scenarios.cli import main

_append = JournalFile.append


def die_at(when: str, step: int) -> None:
    """Run the command line, and die at a step."""
    num_steps = 0

    def append(journal: JournalFile, rows: Sequence[Row]) -> None:
        nonlocal num_steps
        num_steps += 1
        if when == "before" and num_steps == step:
            os.kill(os.getpid(), signal.SIGKILL)
        _append(journal, rows)
        if num_steps == step:
            os.kill(os.getpid(), signal.SIGKILL)

    with mock.patch.object(JournalFile, "append", append):
        main()


if __name__ == "__main__":
    when, step = sys.argv[1:3]
    sys.argv[1:3] = []
    die_at(when, int(step))
