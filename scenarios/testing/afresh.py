"""Repeat a server's computations in fresh processes that have not seen any party.

Each process has a different `PYTHONHASHSEED`, process id, a later clock and empty memory. The processes are started
once for all checks, import the modules of Psephos, and fork a child for each question. Their hash seeds are fixed, so a
dependence on the order of a set is found in every run or in none; for a set of two strings, for example, it is missed
in one of four cases.
"""

import atexit
import contextlib
import datetime as dt
import functools
import os
import pkgutil
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, cast

import msgspec
import numpy as np

from ...protocol.arrays import IntArray
from ...protocol.phases import PhasedProtocol
from ...protocol.population import tally_batch
from ...protocol.records import KeptTally
from ...protocol.tally import Tally
from ..running.processes import WorkerProcess, make_worker, open_worker

_LATER_SECONDS: Final = 400 * 86_400 + 3_661  # how much later the clocks of the other processes are
_HASH_SEEDS: Final = ("1", "2", "3")


class Computation(NamedTuple):
    """A server's computation: each phase's tally from reports, and all published values from released tallies."""

    tallies: list[Tally]
    released: bytes


class _Question(msgspec.Struct, frozen=True):
    path: list[str]
    module: str
    name: str
    parameters: bytes
    # functions named in parameters: the parameter, the function's module and name
    functions: list[tuple[str, str, str]]
    reports: list[list[list[int]]]
    public: list[list[int]]
    tallies: list[KeptTally]


class _Computed(msgspec.Struct, frozen=True):
    """The results; empty if the protocol's class is not found; and the exception that its code raised."""

    computed: tuple[list[KeptTally], bytes] | None = None
    failure: str = ""


def compute(
    protocol: PhasedProtocol[Any, Any], reports: Sequence[IntArray], public: IntArray, tallies: Sequence[Tally]
) -> Computation:
    """Return the server's results from all reports and from released tallies, phase by phase."""
    published = [phase.outcome(tallies[: number + 1]) for number, phase in enumerate(protocol.phases)]
    own_outcomes = sorted(protocol.own_outcomes(tallies).items())
    # As bytes, which distinguish −0.0 from 0.0; before any tally, which might leave state behind.
    released_bytes = msgspec.msgpack.encode([protocol.outcome(tallies), published, own_outcomes])
    batch_tallies = [
        tally_batch(phase, reports[number], protocol.retained_reports(reports[:number]), public, slice(None))
        for number, phase in enumerate(protocol.phases)
    ]
    return Computation(batch_tallies, released_bytes)


def compute_afresh(
    protocol: PhasedProtocol[Any, Any], reports: Sequence[IntArray], public: IntArray, tallies: Sequence[Tally]
) -> list[Computation]:
    """Return the results of each fresh process. See `compute`.

    They are empty if the protocol's class, or a function named in its parameters, cannot be imported by name, such as
    one defined in a notebook or a function. RuntimeError: the protocol's code raises an exception there.
    """
    kind = type(protocol)
    named_functions = [(field, cast("Any", protocol.function_of(field))) for field in protocol.foreign_functions]
    functions = [
        (field, getattr(function, "__module__", ""), getattr(function, "__qualname__", ""))
        for field, function in named_functions
    ]
    places = [(kind, kind.__module__, kind.__qualname__)]
    places += [
        (function, module, name) for (_, function), (_, module, name) in zip(named_functions, functions, strict=True)
    ]
    if any(module == "__main__" or _find_attribute(module, name) is not function for function, module, name in places):
        return []
    question = _Question(
        sys.path,
        kind.__module__,
        kind.__qualname__,
        bytes(protocol.encoded_parameters),
        functions,
        [table.tolist() for table in reports],
        public.tolist(),
        [KeptTally.from_tally(tally) for tally in tallies],
    )
    workers = _other_processes()
    for worker in workers:
        worker.send(msgspec.msgpack.encode(question))
    answers = [msgspec.msgpack.decode(worker.receive() or b"", type=_Computed) for worker in workers]
    for answer in answers:
        if answer.failure:
            raise RuntimeError(f"in a new process: {answer.failure}")
    computations = [answer.computed for answer in answers if answer.computed is not None]
    return [
        Computation([tally.restore() for tally in tallies_made], released_bytes)
        for tallies_made, released_bytes in computations
    ]


def _find_attribute(module: str, name: str) -> object:
    """Return a module's attribute by name; None if it does not exist."""
    try:
        return pkgutil.resolve_name(f"{module}:{name}")
    except (ImportError, AttributeError, ValueError):
        return None


@functools.cache
def _other_processes() -> list[WorkerProcess]:
    """Start the processes that answer all questions; cached."""
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    environments = ({**os.environ, "PYTHONHASHSEED": seed, "TZ": "Pacific/Kiritimati"} for seed in _HASH_SEEDS)
    return [stack.enter_context(open_worker(__name__, environment)) for environment in environments]


def _answer(question: _Question) -> _Computed:
    try:
        sys.path[:] = question.path
        _live_later()
        kind: Any = _find_attribute(question.module, question.name)
        if kind is None:
            return _Computed()
        protocol = kind(msgspec.msgpack.decode(question.parameters, type=kind.parameters_type))
        for field, module, name in question.functions:
            protocol.use_function(field, cast("Callable[..., Any]", _find_attribute(module, name)))
        reports = [np.array(rows, dtype=np.int64) for rows in question.reports]
        tallies = [tally.restore() for tally in question.tallies]
        tallies_made, released_bytes = compute(protocol, reports, np.array(question.public, dtype=np.int64), tallies)
        return _Computed(([KeptTally.from_tally(tally) for tally in tallies_made], released_bytes))
    except Exception as error:  # noqa: BLE001  plugin code may raise anything; report it
        return _Computed(failure=f"{type(error).__name__}: {error}")


def _live_later() -> None:
    """Move this process's clocks forward."""
    for name, later_time in (("time", _LATER_SECONDS), ("time_ns", _LATER_SECONDS * 10**9)):
        setattr(time, name, functools.partial(_sum, getattr(time, name), later_time))

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


def _sum(clock: Callable[[], Any], shift: int) -> Any:
    return clock() + shift


_compute: Final = make_worker(_Question, _answer)


def work(question_bytes: bytes) -> bytes:
    """Answer a question in a fresh forked process; run by other processes."""
    receiving, sending = os.pipe()
    if (child := os.fork()) == 0:
        with os.fdopen(sending, "wb") as pipe:
            pipe.write(_compute(question_bytes))
        os._exit(0)
    os.close(sending)
    with os.fdopen(receiving, "rb") as pipe:
        answer = pipe.read()
    if os.waitpid(child, 0)[1]:
        return msgspec.msgpack.encode(_Computed(failure="the process ended without an answer"))
    return answer
