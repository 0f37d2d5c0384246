"""The command line in a terminal: a real one (pty), in which somebody answers what is asked."""

import codecs
import os
import pty
import select
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from deployments import PATIENCE, with_journals


class Terminal:
    """The command line in a terminal of its own.

    Args:
        words: of the command line.
        folder: where it runs.
    """

    def __init__(self, *words: object, folder: Path) -> None:
        self._end, theirs = pty.openpty()
        command = [sys.executable, "-m", "psephos.scenarios.cli", *map(str, words)]
        environment = with_journals(folder)
        self._process = subprocess.Popen(  # noqa: S603  our own
            command, cwd=folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        self.seen = ""
        self._decode = codecs.getincrementaldecoder("utf-8")().decode  # a read may end inside a character
        self._read_up_to = 0

    def _read(self) -> bool:
        ready, _, _ = select.select([self._end], [], [], PATIENCE)
        assert ready, self.seen
        try:
            data = os.read(self._end, 1 << 16)
        except OSError:  # by which Linux says that nobody is at the other end any more
            return False
        self.seen += self._decode(data)
        return bool(data)

    def answer(self, question: str, line: str) -> None:
        while question not in self.seen[self._read_up_to :]:
            assert self._read(), self.seen
        self._read_up_to = len(self.seen)
        os.write(self._end, f"{line}\n".encode())

    def ending(self) -> int:
        while self._read():
            pass
        return self._process.wait(PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._end)
