"""Work for other processes that dies, fails, or does what another module's work does: what a task says.

A worker imports this by its name; `work` is the function that it runs.
"""

import importlib
import os
import signal
from pathlib import Path
from typing import Final, Literal

import msgspec
from psephos.protocol.errors import PsephosError


class _Asked(msgspec.Struct):
    how: str
    number: int = 0
    module: str = ""
    task: bytes = b""
    flag: str = ""


def ask(number: int, how: Literal["", "die", "fail"] = "") -> bytes:
    """Return a task whose answer is `answer(number)`, unless its worker is to die or to fail."""
    return msgspec.msgpack.encode(_Asked(how, number))


def through(module: str, task: bytes, flag: Path) -> bytes:
    """Return a task that kills the first worker that takes it, if the flag is not there yet, and is another's then."""
    return msgspec.msgpack.encode(_Asked("die once", module=module, task=task, flag=str(flag)))


def answer(number: int) -> bytes:
    """Return the square of a number, as bytes."""
    return str(number * number).encode()


def _work(task: bytes) -> bytes:
    asked = msgspec.msgpack.decode(task, type=_Asked)
    if asked.how == "fail":
        raise PsephosError(f"{asked.number} is what nobody can do")
    if asked.how == "die once" and not Path(asked.flag).exists():
        Path(asked.flag).touch()
        asked.how = "die"
    if asked.how == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    return importlib.import_module(asked.module).work(asked.task) if asked.module else answer(asked.number)


work: Final = _work
