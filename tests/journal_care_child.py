"""A person's journal in a process that dies at a call of its own, or has no room left, and its owner after that.

    python journal_care_child.py killed|limited|full FOLDER STEP ACT [ACT ...]

Of each case it prints a line of JSON: which `act`, whether it `is_killed` or `failed`, what psephos said to its owner
until all was well (`said`), whether it then was (`ends`), and what the journal knows to be lost beside what it has to
(`spent`, `expected`).

Acts: `open` (makes a journal), `backup`, `restore` (of one that is lost), `restore here` (of one that is damaged, from
a copy of its file), `leave`.
"""

import contextlib
import functools
import json
import os
import resource
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from journal_sessions import NOW, SESSIONS, SPENT
from psephos.agents.person_journal import PersonJournal
from psephos.agents.rollback_guard import RollbackGuard
from psephos.protocol.errors import JournalError
from psephos.scenarios.deployment import journal_care

MOST_TRIES: Final = 3
OF_SYSTEM: Final = {"open", "mkdir", "pwrite", "fsync", "rename", "replace", "unlink", "fchmod"}
WRITING: Final = OF_SYSTEM | {"execute", "executemany", "backup", "close"}


class Place:
    """A person's journal with its backup and its witness.

    Args:
        folder: where all of that is.
        act: what is done with the journal.
    """

    def __init__(self, folder: Path, act: str) -> None:
        self._folder, self._act = folder, act
        self._path = folder / "own" / "journal.sqlite"
        self._backup = folder / "backup.sqlite"
        self._witness = RollbackGuard(folder / "witness")
        self.expected = 0.0 if act == "open" else SPENT

    def prepare(self) -> None:
        """Let all be as it is before the act."""
        for name in ("own", "witness"):
            shutil.rmtree(self._folder / name, ignore_errors=True)
        for file in self._folder.glob("backup.sqlite*"):
            file.unlink()
        if self._act == "open":
            return
        with self.open() as journal:
            for session_id, records in SESSIONS.items():
                journal.sitting(session_id).keep(records)
        if self._act == "restore":
            self._back_up()
            with self.open() as journal:
                journal.sitting("id-later").keep(SESSIONS["id-heard"])
            self._path.unlink()
        elif self._act == "restore here":
            shutil.copy(self._path, self._backup)
            os.truncate(self._path, 5000)

    def act(self) -> None:
        """Do what may be cut off."""
        match self._act:
            case "open":
                self.open().close()
            case "backup":
                self._back_up()
            case "restore" | "restore here":
                self._restore()
            case "leave":
                journal_care.leave(self._path, "under-way", now=NOW, witness=self._witness)
            case _:
                raise AssertionError(self._act)

    def mend(self, said: list[str]) -> str:
        """Go on as its owner, by what psephos says, and return how that ends."""
        for _ in range(MOST_TRIES):
            try:
                self.open().close()
                break
            except JournalError as error:
                said.append(str(error))
                if not self._act.startswith("restore") or "`psephos journal restore" not in str(error):
                    return "with nothing that helps"
                self._restore()
        else:
            return "never"
        if self._act == "backup":
            try:
                self._back_up()
            except JournalError as error:
                said.append(str(error))
                if not str(error).endswith("is there already, or was: name a new file"):
                    return "without a backup"
            self._path.unlink()
            self._restore()
        left = sorted(file.name for file in self._folder.rglob("*.new*"))
        return "well" if not left else f"with {left}"

    def spent(self) -> float:
        with self.open() as journal:
            return journal.ledger("me", None).spent

    def open(self) -> PersonJournal:
        return PersonJournal.open(self._path, now=NOW, witness=self._witness)

    def _back_up(self) -> None:
        journal_care.back_up(self._path, self._backup, witness=self._witness)

    def _restore(self) -> None:
        journal_care.restore(self._backup, self._path, accepts_unknown_losses=True, witness=self._witness)


def in_a_process(limit: Callable[[], None], act: Callable[[], object]) -> tuple[bool, str]:
    """Return whether a process was killed in an act, and what was said to it."""
    reading, writing = os.pipe()
    if (process := os.fork()) == 0:
        os.close(reading)
        try:
            limit()
            act()
        except JournalError as error:
            sys.setprofile(None)
            os.write(writing, str(error).encode())
        except BaseException as error:  # noqa: BLE001  whatever it is, it is the finding
            sys.setprofile(None)
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as told:
        said = told.read()
    _, status = os.waitpid(process, 0)
    return os.WIFSIGNALED(status), said


def report(place: Place, act: str, said: str, *, is_killed: bool) -> None:
    everything = [said] if said else []
    told: dict[str, Any] = {"act": act, "is_killed": is_killed, "failed": bool(said), "said": everything}
    told |= {"ends": place.mend(everything), "expected": place.expected}
    told["spent"] = place.spent() if told["ends"] == "well" else None
    sys.stdout.write(json.dumps(told) + "\n")


def die_at(number: int) -> None:
    """Let this process be killed before so many of its calls that make, write, synchronize or rename a file."""
    num_calls = 0

    def watch(_: object, event: str, called: Any) -> None:
        nonlocal num_calls
        is_sqlites = isinstance(getattr(called, "__self__", None), sqlite3.Connection)
        if event == "c_call" and called.__name__ in WRITING and (is_sqlites or called.__module__ == "posix"):
            num_calls += 1
            if num_calls == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(watch)


def may_write(size: int) -> None:
    """Let no file grow beyond a size; nor be one of compiled code, which every later process would read cut off."""
    sys.dont_write_bytecode = True
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def fill(ballast: Path, *, free: int) -> None:
    """Leave so many bytes of a disk free."""
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    os.truncate(ballast, ballast.stat().st_size - free)


def main(how: str, folder: str, step: str, *acts: str) -> None:
    """Go through all cases of each act, from the least to where nothing is in its way any more."""
    ballast = Path(folder) / "ballast"
    for act in acts:
        place = Place(Path(folder), act)
        number, is_cut = int(how == "killed"), True
        while is_cut:
            place.prepare()
            limit: Callable[[], None] = functools.partial(may_write, number * 1024)
            if how == "killed":
                limit = functools.partial(die_at, number)
            elif how == "full":
                limit = functools.partial(fill, ballast, free=number * 4096)
            is_killed, said = in_a_process(limit, place.act)
            ballast.unlink(missing_ok=True)
            report(place, act, said, is_killed=is_killed)
            is_cut = is_killed or bool(said)
            number += int(step)


if __name__ == "__main__":
    main(*sys.argv[1:])
