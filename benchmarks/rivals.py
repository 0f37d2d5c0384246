"""Other people's libraries, in processes and in an environment of their own.

`make bench` installs them into `.rivals`, where they can neither raise nor lower the version of anything of ours.
What cannot be installed or run there becomes a row that says why.
"""

import contextlib
import os
import pathlib
import subprocess
import tempfile
import threading
from collections.abc import Generator, Mapping, Sequence
from typing import IO, Final

__all__ = ["MOST_SECONDS", "Rival", "RivalError", "open_process", "open_rival"]

_FOLDER: Final = pathlib.Path(__file__).parent
_PYTHON: Final = _FOLDER.parent / ".rivals" / "bin" / "python"
# An answer of most takes a few seconds, the first one included, for which a library is imported and compiled.
MOST_SECONDS: Final = 60


class RivalError(Exception):
    """A rival cannot be measured; the message says why."""


class Rival:
    """A process that is told lines, and answers some of them with a line.

    Args:
        process: the process.
        told: its standard input.
        answers: its standard output.
        errors: the file that takes its standard error.
        most_seconds: how long it may let us wait for an answer.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        told: IO[bytes],
        answers: IO[bytes],
        errors: IO[bytes],
        *,
        most_seconds: float,
    ) -> None:
        self._process = process
        self._told = told
        self._answers = answers
        self._errors = errors
        self._most_seconds = most_seconds

    def tell(self, line: bytes) -> None:
        """Send a line, given without its end.

        Raises:
            RivalError: the process has ended.
        """
        try:
            self._told.write(line + b"\n")
        except BrokenPipeError:
            raise RivalError(self._last_words()) from None

    def answer(self) -> bytes:
        """Return the next line that it writes; one that lets us wait for too long is killed.

        Raises:
            RivalError: the process has ended.
        """
        alarm = threading.Timer(self._most_seconds, self._process.kill)
        alarm.start()
        try:
            line = self._answers.readline()
        finally:
            alarm.cancel()
        if not line:
            raise RivalError(self._last_words())
        return line

    def _last_words(self) -> str:
        """Return why it ended: the last line of the traceback, where there is one."""
        status = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").split("\n")
        words = [line.strip() for line in lines if line.strip()]
        if status < 0:
            return f"killed, or no answer in {self._most_seconds:g} seconds"
        return words[-1] if words else f"exit status {status}"


@contextlib.contextmanager
def open_rival(script: str, *arguments: str, most_seconds: float = MOST_SECONDS) -> Generator[Rival]:
    """Run one of this folder's scripts by the rivals' interpreter, and kill it at the end.

    Args:
        script: the file's name.
        arguments: its arguments.
        most_seconds: how long it may let us wait for an answer; then it is killed.

    Raises:
        RivalError: there is no such interpreter.
    """
    if not _PYTHON.exists():
        raise RivalError("not installed; `make bench` does it")
    with open_process([str(_PYTHON), str(_FOLDER / script), *arguments], most_seconds=most_seconds) as rival:
        yield rival


@contextlib.contextmanager
def open_process(
    command: Sequence[str], *, most_seconds: float, environment: Mapping[str, str] | None = None
) -> Generator[Rival]:
    """Run a command, in this environment and more, and kill it at the end.

    Raises:
        RivalError: there are no pipes to it.
    """
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(  # noqa: S603  our script
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, **(environment or {})},
        ) as process,
    ):
        try:
            if process.stdin is None or process.stdout is None:
                raise RivalError("there are no pipes to it")
            yield Rival(process, process.stdin, process.stdout, errors, most_seconds=most_seconds)
        finally:
            process.kill()
