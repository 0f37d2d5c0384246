"""Computes again, in processes that have seen no party, what a server computes of reports.

Each has another `PYTHONHASHSEED`, another process id, a later clock and an empty memory. They are started once for all
checks, import what Psephos itself needs, and fork one that is asked once; where there is no fork, each question has
processes of its own. Their seeds are fixed, so that what depends on the order of a set is found in each run or in none:
of two strings in a set, say, one in four times not.
"""

import atexit
import datetime as dt
import functools
import os
import pkgutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import IO, Any, Final, NamedTuple, TypeVar, cast

import msgspec
import numpy as np

from ...protocol.arrays import IntArray
from ...protocol.phases import PhasedProtocol
from ...protocol.population import tally_batch
from ...protocol.tally import Tally

_LATER_SECONDS: Final = 400 * 86_400 + 3_661  # so much later the other processes believe to be
_HASH_SEEDS: Final = (1, 2, 3)


StructT = TypeVar("StructT", bound=msgspec.Struct)


class Computed(NamedTuple):
    """What a server computes: of each phase's reports a tally, and of released tallies all that is published."""

    tallies: list[Tally]
    released: bytes


class _Question(msgspec.Struct, frozen=True):
    path: list[str]
    module: str
    name: str
    parameters: bytes
    functions: list[tuple[str, str, str]]  # what parameters name: the parameter, the function's module and name
    reports: list[IntArray]
    public: IntArray
    tallies: list[Tally]


class _Answer(msgspec.Struct, frozen=True):
    """What was computed; nothing where the protocol's class is not found, and what its code raised."""

    computed: Computed | None = None
    failure: str = ""


def compute(
    protocol: PhasedProtocol[Any, Any], reports: Sequence[IntArray], public: IntArray, tallies: Sequence[Tally]
) -> Computed:
    """Return what a protocol's server computes of everybody's reports and of what is released, phase by phase."""
    published = [phase.outcome(tallies[: number + 1]) for number, phase in enumerate(protocol.phases)]
    own = sorted(protocol.own_outcomes(tallies).items())
    # As bytes, which differ where −0.0 stands for 0.0; before any tally, of which something might be kept.
    released = msgspec.msgpack.encode([protocol.outcome(tallies), published, own])
    made = [
        tally_batch(phase, reports[number], protocol.retained_reports(reports[:number]), public, slice(None))
        for number, phase in enumerate(protocol.phases)
    ]
    return Computed(made, released)


def compute_afresh(
    protocol: PhasedProtocol[Any, Any], reports: Sequence[IntArray], public: IntArray, tallies: Sequence[Tally]
) -> list[Computed]:
    """Return what each of the other processes computes. See `compute`.

    It is nothing where the protocol's class, or a function that its parameters name, cannot be imported by its name
    there, as one of a notebook or a function.
    RuntimeError: the protocol's own code raises there.
    """
    kind = type(protocol)
    named = [(field, cast("Any", protocol.function_of(field))) for field in protocol.foreign_functions]
    functions = [(field, getattr(own, "__module__", ""), getattr(own, "__qualname__", "")) for field, own in named]
    places = [(kind, kind.__module__, kind.__qualname__)]
    places += [(own, module, name) for (_, own), (_, module, name) in zip(named, functions, strict=True)]
    if any(module == "__main__" or _found(module, name) is not own for own, module, name in places):
        return []
    question = _Question(
        sys.path,
        kind.__module__,
        kind.__qualname__,
        bytes(protocol.encoded_parameters),
        functions,
        list(reports),
        public,
        list(tallies),
    )
    processes = _other_processes()
    for process in processes:
        _write(process.asked, question)
    answers = [_read(process.told, _Answer) for process in processes]
    if not hasattr(os, "fork"):  # they have been asked once
        _other_processes.cache_clear()
        for process in processes:
            process.end()
    for answer in answers:
        if answer.failure:
            raise RuntimeError(f"in a new process: {answer.failure}")
    return [answer.computed for answer in answers if answer.computed is not None]


def _found(module: str, name: str) -> object:
    """Return what a module calls so; None where there is nothing."""
    try:
        return pkgutil.resolve_name(f"{module}:{name}")
    except (ImportError, AttributeError, ValueError):
        return None


class _Process(NamedTuple):
    """One that answers questions."""

    asked: IO[bytes]
    told: IO[bytes]
    process: "subprocess.Popen[bytes]"

    def end(self) -> None:
        """Let it end."""
        self.asked.close()
        self.told.close()
        self.process.wait()


@functools.cache
def _other_processes() -> list[_Process]:
    """Start the processes that answer all questions."""
    processes = [_start(seed) for seed in _HASH_SEEDS]
    for process in processes:
        atexit.register(process.end)
    return processes


def _start(hash_seed: int) -> _Process:
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed), "TZ": "Pacific/Kiritimati"}
    command = [sys.executable, "-c", f"from {__name__} import main; main()"]
    process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603  itself
    assert process.stdin is not None  # noqa: S101  as asked for
    assert process.stdout is not None  # noqa: S101  the same
    return _Process(process.stdin, process.stdout, process)


def _written(array: IntArray) -> tuple[tuple[int, ...], bytes]:
    """Return an array of integers as it travels. See `_array`."""
    return array.shape, np.ascontiguousarray(array, dtype=np.int64).tobytes()


def _array(kind: type[object], told: tuple[Sequence[int], bytes]) -> IntArray:
    del kind
    shape, content = told
    return np.frombuffer(content, dtype=np.int64).reshape(shape).copy()


def _write(file: IO[bytes], value: msgspec.Struct) -> None:
    content = msgspec.msgpack.encode(value, enc_hook=_written)
    file.write(len(content).to_bytes(8, "big") + content)
    file.flush()


def _read(file: IO[bytes], kind: type[StructT]) -> StructT:
    """Return what was written; EOFError at the end."""
    if not (head := file.read(8)):
        raise EOFError
    return msgspec.msgpack.decode(file.read(int.from_bytes(head, "big")), type=kind, dec_hook=_array)


def _answer(question: _Question) -> _Answer:
    try:
        sys.path[:] = question.path
        _live_later()
        kind: Any = _found(question.module, question.name)
        if kind is None:
            return _Answer()
        protocol = kind(msgspec.msgpack.decode(question.parameters, type=kind.parameters_type))
        for field, module, name in question.functions:
            protocol.use_function(field, cast("Callable[..., Any]", _found(module, name)))
        return _Answer(compute(protocol, question.reports, question.public, question.tallies))
    except Exception as error:  # noqa: BLE001  whatever somebody's code raises is told
        return _Answer(failure=f"{type(error).__name__}: {error}")


def _live_later() -> None:
    """Let this process's clocks be later than they are."""
    for name, later in (("time", _LATER_SECONDS), ("time_ns", _LATER_SECONDS * 10**9)):
        setattr(time, name, functools.partial(_sum, getattr(time, name), later))

    class Moment(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, cls.__mro__[1])

    class Later(dt.datetime, metaclass=Moment):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> "Later":
            return super().now(tz) + dt.timedelta(seconds=_LATER_SECONDS)

    class Day(dt.date, metaclass=Moment):
        @classmethod
        def today(cls) -> "Day":
            return super().today() + dt.timedelta(seconds=_LATER_SECONDS)

    dt.datetime, dt.date = Later, Day


def _sum(clock: Callable[[], Any], later: int) -> Any:
    return clock() + later


def _serve(asked: IO[bytes], told: IO[bytes]) -> None:
    """Answer each question in a process that nobody has asked before."""
    while True:
        try:
            question = _read(asked, _Question)
        except EOFError:
            return
        if not hasattr(os, "fork"):
            _write(told, _answer(question))
        elif (child := os.fork()) == 0:
            _write(told, _answer(question))
            os._exit(0)
        elif os.waitpid(child, 0)[1]:
            _write(told, _Answer(failure="the process ended without an answer"))


def main() -> None:
    """Run in the other process: answer questions until there are no more."""
    # What somebody's code prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _serve(sys.stdin.buffer, answers)
    answers.flush()
