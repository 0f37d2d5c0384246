"""What all measurements share: rows, turns, processes of their own, rivals in an environment of their own, and options.

    python benchmarks/harness.py FILE FUNCTION TIMES ARGUMENT...

is such a process: it calls one of this folder's functions, and measures what that returns (`count_apart`).
"""

import argparse
import contextlib
import gc
import importlib
import inspect
import json
import math
import operator
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import IO, Any, NamedTuple

DOCS = Path(__file__).parents[1] / "docs"
sys.path.append(str(DOCS.parent / "tests"))  # who attacks, and files of choices, are tests' as well
NOTHING = "–"
MEGABYTE = 1_000_000
HEADERS = ("what", "ours", "raw limit or rival", "ratio", "target", "met")


class RivalError(Exception):
    """A rival cannot be measured; the message says why."""


class Row(NamedTuple):
    """One line of the table.

    Args:
        what: what is measured.
        ours: the number with its unit.
        raw: what the same work takes without Psephos, or by a rival, in the same unit.
        ratio: ours divided by raw.
        target: what the project wants.
        met: "yes", "no", or why there is no answer.
    """

    what: str
    ours: str
    raw: str = NOTHING
    ratio: str = NOTHING
    target: str = NOTHING
    met: str = NOTHING


Rows = Iterator[Row]
Run = Callable[[], object]


def row(
    what: str,
    ours: float,
    raw: float = 0,
    *,
    show: str = "{:.2f} s",
    times: str = "{:.2f}",
    ratio: float = 0,
    note: str = "",
    beside: str = "",
    target: str = "",
) -> Row:
    """Return a row of numbers.

    Args:
        what: what is measured.
        ours: the number.
        raw: what it is beside; 0 for nothing.
        show: how both are written.
        times: how the ratio is; its inverse behind "1/".
        ratio: if it is not ours divided by raw.
        note: what stands behind ours.
        beside: what stands behind the other number.
        target: such as "≤ 4 s", with a unit for ours; without one for the ratio, if there is one; × for its inverse.
    """
    if math.isnan(ours):
        return skipped(what, "this system does not tell")
    ratio = ratio or (raw and ours / raw)
    found = Row(what, show.format(ours) + note)
    if raw:
        shown = times.format(1 / ratio if times.startswith("1/") else ratio)
        found = found._replace(raw=show.format(raw) + beside, ratio=shown)
    if not target:
        return found
    sign, number, *unit = target.split()
    value = 1 / ratio if unit == ["×"] else ratio if raw and not unit else ours
    is_met = (operator.le if sign == "≤" else operator.ge)(value, float(number))
    return found._replace(target=target, met="yes" if is_met else "no")


def skipped(what: str, reason: str) -> Row:
    """Return the row of something that was not measured."""
    return Row(what, NOTHING, met=f"skipped: {reason}")


def or_skipped(what: str, rows: Iterable[Row]) -> Rows:
    """Yield rows beside a rival, or one that says why there are none."""
    try:
        yield from list(rows)
    except RivalError as error:
        yield skipped(what, str(error))


def number_in(text: str) -> float:
    """Return the first number of a cell."""
    return float(re.findall(r"[\d,]*\.?\d+", text)[0].replace(",", ""))


def to_text(rows: Sequence[Row]) -> str:
    """Return the table in aligned columns: words to the left, numbers to the right."""
    lines = [HEADERS, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    marks = "<>>>><"
    cells = [[f"{cell:{mark}{width}}" for cell, mark, width in zip(line, marks, widths, strict=True)] for line in lines]
    return "\n".join("  ".join(line).rstrip() for line in cells)


def to_markdown(lines: Sequence[Sequence[str]], headers: Sequence[str] = HEADERS) -> str:
    """Return lines of cells as a table in Markdown; what is measured stands to the left, its numbers to the right."""
    marks = ["---" if header in {"what", "met", "day", "commit"} else "---:" for header in headers]
    return "\n".join(f"| {' | '.join(line)} |" for line in (headers, marks, *lines))


def rewrite_between_marks(path: Path, table: str) -> None:
    """Put the table between the two marks of a page.

    Raises:
        ValueError: the page has no marks.
    """
    begin, end = "<!-- begin table -->", "<!-- end table -->"
    head, begun, rest = path.read_text(encoding="utf-8").partition(begin)
    _, ended, tail = rest.partition(end)
    if not begun or not ended:
        raise ValueError(f"{path} must hold {begin} and, below it, {end}")
    path.write_text(f"{head}{begin}\n{table}\n{end}{tail}", encoding="utf-8")


class Times:
    """The seconds of each contestant, turn by turn.

    Args:
        seconds: by contestant, in the order of the turns.
    """

    def __init__(self, seconds: Mapping[str, Sequence[float]]) -> None:
        self.seconds = seconds

    def median(self, name: str) -> float:
        """Return the median of one contestant's seconds."""
        return statistics.median(self.seconds[name])

    def row(
        self,
        what: str,
        ours: str = "ours",
        raw: str = "raw",
        *,
        scale: float = 1,
        number: float = 0,
        of_raw: float = 0,
        **more: Any,
    ) -> Row:
        """Return the row of two contestants: medians, and the median of their quotients in the same turn.

        Args:
            what: what is measured.
            ours: a contestant.
            raw: beside which.
            scale: of seconds, as they are shown.
            number: of things that either does in a turn, if a rate is shown.
            of_raw: of those that the other does, if they are others.
            more: as `row` has it.
        """
        one, other = (
            [count / took if count else scale * took for took in self.seconds[name]]
            for name, count in ((ours, number), (raw, of_raw or number))
        )
        more.setdefault("ratio", statistics.median([own / its for own, its in zip(one, other, strict=True)]))
        return row(what, statistics.median(one), statistics.median(other), **more)


def turns(times: int, /, **contestants: Run) -> Times:
    """Let contestants take turns, so that a noisy machine is as noisy for one as for the other.

    Args:
        times: turns for each, at least 1; one more at the beginning warms up and is not counted.
        contestants: what each does in a turn; a float that it returns are its seconds by its own clock.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(times + 1):
        for name, run in contestants.items():
            gc.collect()
            took = timed(run)
            if turn:
                seconds[name].append(took)
    return Times(seconds)


def timed(run: Run, clock: Callable[[], float] = perf_counter) -> float:
    """Run once, and return the seconds; what it returns is thrown away after the clock has stopped."""
    begin = clock()
    result = run()
    seconds = clock() - begin
    return result if isinstance(result, float) else seconds


class Used(NamedTuple):
    """What a process of its own took.

    Args:
        value: that came of it, if that is a whole number or an object of JSON.
        seconds: the median of its times.
        cpu: the least of its times on the processor.
        before: bytes in memory when it began.
        peak: bytes in memory at most, from the process's beginning.
        whole: seconds of the whole process.
    """

    value: Any
    seconds: float
    cpu: float
    before: float
    peak: float
    whole: float = 0

    @property
    def megabytes(self) -> float:
        """The peak."""
        return self.peak / MEGABYTE


def apart(
    prepare: Callable[..., Run],
    *arguments: object,
    times: int = 1,
) -> Used:
    """Measure what a function of this folder returns, in a process of its own.

    Args:
        prepare: a file's function: of the arguments, each a whole number or a text, what is measured.
        arguments: its.
        times: how often it is run.
    """
    words = (Path(inspect.getfile(prepare)).stem, prepare.__name__, times, *arguments)
    begin = perf_counter()
    command = [sys.executable, __file__, *map(str, words)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)  # noqa: S603  this file, by this interpreter
    return Used(*json.loads(done.stdout.splitlines()[-1]))._replace(whole=perf_counter() - begin)


def memory(field: str = "VmHWM", process: int | str = "self") -> float:
    """Return how many bytes a process has in memory (VmRSS) or has had at most; NaN where the system does not tell."""
    status = Path(f"/proc/{process}/status")
    if not status.exists():
        return math.nan
    return next(int(line.split()[1]) * 1024.0 for line in status.read_text().splitlines() if line.startswith(field))


class Rival:
    """A process that is told lines of JSON, and answers some of them with a line.

    Args:
        process: the process.
        errors: the file that takes its standard error.
        most_seconds: how long it may let us wait for an answer.
    """

    def __init__(self, process: subprocess.Popen[bytes], errors: IO[bytes], *, most_seconds: float) -> None:
        self._process: Any = process
        self._errors, self._most_seconds = errors, most_seconds

    def ask(self, question: object) -> Any:
        """Return the answer to a question.

        Raises:
            RivalError: the process has ended.
        """
        self.tell(question)
        return self.answer()

    def tell(self, line: object) -> None:
        """Send a line.

        Raises:
            RivalError: the process has ended.
        """
        try:
            self._process.stdin.write(json.dumps(line).encode() + b"\n")
        except BrokenPipeError:
            raise RivalError(self._last_words()) from None

    def answer(self) -> Any:
        """Return the next line that it writes; one that lets us wait for too long is killed.

        Raises:
            RivalError: the process has ended.
        """
        alarm = threading.Timer(self._most_seconds, self._process.kill)
        alarm.start()
        line = self._process.stdout.readline()
        alarm.cancel()
        if not line:
            raise RivalError(self._last_words())
        return json.loads(line)

    def _last_words(self) -> str:
        """Return why it ended: the last line of the traceback, where there is one."""
        status = self._process.wait()
        self._errors.seek(0)
        words = self._errors.read().decode(errors="replace").split("\n")
        if status < 0:
            return f"killed, or no answer in {self._most_seconds:g} seconds"
        return next((line.strip() for line in reversed(words) if line.strip()), f"exit status {status}")


def open_rival(name: str, *arguments: object, most_seconds: float = 60) -> contextlib.AbstractContextManager[Rival]:
    """Run a function of `rival.py` by the rivals' interpreter, and kill it at the end.

    Args:
        name: the function's.
        arguments: its arguments.
        most_seconds: how long it may let us wait for an answer, the first one included; then it is killed.

    Raises:
        RivalError: there is no such interpreter.
    """
    folder = Path(__file__).parent
    python = folder.parent / ".rivals" / "bin" / "python"
    if not python.exists():
        raise RivalError("not installed; `make bench` does it")
    return open_process([python, folder / "rival.py", name, *arguments], most_seconds=most_seconds)


@contextlib.contextmanager
def open_process(
    command: Sequence[object], *, most_seconds: float, environment: Mapping[str, str] | None = None
) -> Generator[Rival]:
    """Run a command, in this environment and more, and kill it at the end."""
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(  # noqa: S603  our script
            list(map(str, command)),
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, **(environment or {})},
        ) as process,
    ):
        try:
            yield Rival(process, errors, most_seconds=most_seconds)
        finally:
            process.kill()


def options(purpose: str | None, **defaults: Any) -> Any:
    """Return what the command line says: an option for each default; a flag is off, a list takes several."""
    parser = argparse.ArgumentParser(description=purpose, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in defaults.items():
        flag, several = f"--{name.replace('_', '-')}", "append" in dir(default)
        if default is False:
            parser.add_argument(flag, action="store_true")
        else:
            kind = (default[0] if several else default).__class__
            number = "+" if several else None
            parser.add_argument(flag, type=kind, default=default, nargs=number, help=f"(default: {default})")
    return parser.parse_args()


def _main() -> None:
    file, name, times, *words = sys.argv[1:]
    prepare = getattr(importlib.import_module(file), name)
    run = prepare(*(int(word) if word.isdigit() else word for word in words))
    gc.collect()
    before, value, seconds, cpu = memory("VmRSS"), None, list[float](), list[float]()
    for _ in range(int(times)):
        begun = perf_counter(), process_time()
        value = run()
        seconds.append(perf_counter() - begun[0])
        cpu.append(process_time() - begun[1])
    kept = value if type(value) in {int, dict} else None
    print(json.dumps([kept, statistics.median(seconds), min(cpu), before, memory()]))


if __name__ == "__main__":
    _main()
