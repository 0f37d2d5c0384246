"""A process that has a journal open, for tests that take something away from it: its life, its disk, its rights.

    python journal_child.py JOURNAL STEP [STEP ...]

Steps: `open`, `append COUNT BYTES` (prints how many rows there are, or the error), `killed TIMES COUNT` (a process of
its own opens, appends and closes until it is killed, and after that prints how many rows it had told of, and how many
there are), `limit BYTES` (no file may grow beyond that many; -1 lifts it), `user NUMBER` (becomes that user), `wait`
(until its input ends), `close`.
"""

import os
import random
import resource
import signal
import sys
import time
from pathlib import Path
from typing import NoReturn

from psephos.agents.journal_file import JournalFile
from psephos.agents.journal_format import About, Row
from psephos.protocol.errors import JournalError

ABOUT = About(kind="person")


def row(number: int, *, size: int = 40) -> Row:
    return Row("", "accepted", f"0:{number}", number.to_bytes(4, "big") * (size // 4))


def say(*words: object) -> None:
    """Write a line at once, and all of it or nothing, whenever this process is killed."""
    os.write(sys.stdout.fileno(), (" ".join(map(str, words)) + "\n").encode())


class Child:
    """Takes steps, one after another."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._journal: JournalFile | None = None
        self._num_rows = 0

    def open(self) -> None:
        self._journal, rows = JournalFile.open(self._path, ABOUT)
        self._num_rows = len(rows)
        say("open", self._num_rows)

    def append(self, count: str, size: str = "40") -> None:
        """Add rows, all of them in one commit."""
        assert self._journal is not None
        rows = [row(self._num_rows + number, size=int(size)) for number in range(int(count))]
        self._journal.append(rows)
        self._num_rows += len(rows)
        say("kept", self._num_rows)

    def killed(self, times: str, count: str) -> None:
        """Have processes killed at any moment: as they open, between commits, in one, as they close.

        Each has told of some steps by then, so that all come on, however slow the machine is.
        """
        luck = random.Random(int(count))
        for _ in range(int(times)):
            reading, writing = os.pipe()
            if (process := os.fork()) == 0:
                os.dup2(writing, sys.stdout.fileno())
                self._go_on(count)
            os.close(writing)
            with os.fdopen(reading, encoding="utf-8") as said:
                told = "".join(said.readline() for _ in range(luck.randint(1, 6)))
                time.sleep(luck.random() * 0.06)
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
                told += said.read()
            journal, rows = JournalFile.open(self._path, ABOUT)
            journal.close()
            assert rows == [row(number) for number in range(len(rows))]
            say("killed", max(int(line.split()[1]) for line in told.splitlines()), len(rows))

    def _go_on(self, count: str) -> NoReturn:
        while True:
            self.open()
            self.append(count)
            self.append(count)
            self.close()

    def limit(self, size: str) -> None:
        """Let no file grow beyond a size; who writes beyond it is told, and not killed."""
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        sys.dont_write_bytecode = True  # a file of compiled code that is cut off would be read by every later process
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(size) if int(size) >= 0 else hard, hard))

    def user(self, number: str) -> None:
        """Become somebody with fewer rights."""
        os.setgroups([])
        os.setgid(int(number))
        os.setuid(int(number))

    def wait(self) -> None:
        """Wait until the input ends."""
        sys.stdin.read()

    def close(self) -> None:
        assert self._journal is not None
        self._journal.close()


def main(path: str, *steps: str) -> None:
    """Take each step; an error of a journal is a line, and the next step comes."""
    child = Child(Path(path))
    for step in steps:
        name, *words = step.split()
        try:
            getattr(child, name)(*words)
        except JournalError as error:
            say("error", error)


if __name__ == "__main__":
    main(*sys.argv[1:])
