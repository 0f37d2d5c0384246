"""Show progress: a line as a phase closes or a step begins, and a bar with the estimated time left.

Bars are for people: they go to standard error, and only where that is a terminal.
"""

import contextlib
import time
from collections.abc import Callable, Generator
from typing import Final, TypeAlias

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column
from rich.text import Text

from ...protocol.effects import Closed, Effect, LiarNamed
from ...protocol.errors import printable
from .report import show_phase

OnStep: TypeAlias = Callable[[str, float, float], None]
"""Is told what goes on, how many steps are done, and how many there are; 0 of them where nobody knows.

Where steps take very different times, it is told the share that is done, and 1.0.
"""

_SECONDS_OF_ESTIMATE: Final = 86_400.0  # steps take minutes, and the estimate counts all of them
_MOST_SAID: Final = 34
_WIDTH_OF_BARS: Final = 16
_SECONDS_WITHOUT_BARS: Final = 1.0  # what takes no longer is over before anybody has read its bar


class Watcher:
    """Shows one session: a phase's line as it closes, and bars once it has taken a second, where somebody watches."""

    def __init__(
        self,
        console: Console | None,
        progress: Progress | None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._progress = progress
        self._bars: dict[str, TaskID] = {}
        self._clock = clock
        self._began = clock()

    def on_effect(self, effect: Effect) -> None:
        """Take note of an effect of the server's machine."""
        match effect:
            case Closed():
                if self._progress is not None and effect.phase in self._bars:
                    self._progress.remove_task(self._bars.pop(effect.phase))
                if self._console is not None:
                    with contextlib.suppress(OSError):  # a terminal that is gone, or a full disk, ends no session
                        show_phase(self._console, effect)
            case LiarNamed(party, deed, _) if self._console is not None:
                with contextlib.suppress(OSError):
                    self._console.print(f"  {printable(party)} has {deed}, and is left out", style="red", markup=False)
            case _:
                pass

    def on_progress(self, phase: str, num_received: int, outstanding: float) -> None:
        """Move the open phase's bar; where nobody knows how many are outstanding (-1) it has no end.

        Where their number is an estimate, a float, the bar says the share.
        """
        if self._progress is None or self._clock() - self._began < _SECONDS_WITHOUT_BARS:
            return
        done, total = num_received, None if outstanding < 0 else num_received + outstanding
        if isinstance(total, float):
            done, total = num_received / total, 1.0
        if phase not in self._bars:
            self._bars[phase] = self._progress.add_task(phase, total=total)
        self._progress.update(self._bars[phase], completed=done, total=total)

    @property
    def poll(self) -> Callable[[str, int, float], None] | None:
        """`on_progress`, if there is a bar to move."""
        return None if self._progress is None else self.on_progress


@contextlib.contextmanager
def watch(*, console: Console | None, errors: Console) -> Generator[Watcher]:
    """Yield what shows a session while it runs: on the console, if any, a line as each phase closes, and bars."""
    if not errors.is_terminal:
        yield Watcher(console, None)
        return
    with _bars(errors) as progress:
        # On one and the same terminal, lines must go through the bars' console, which keeps the two apart.
        lines = progress.console if console is not None and console.is_terminal else console
        yield Watcher(lines, progress)


@contextlib.contextmanager
def steps(errors: Console) -> Generator[OnStep]:
    """Yield what shows on standard error how far work has come: one bar in a terminal, else a line for each step."""
    if not errors.is_terminal:
        yield _ProgressLines(errors)
        return
    with _bars(errors) as progress:
        yield ProgressSteps(progress)


def _bars(errors: Console) -> Progress:
    """Return bars that leave nothing behind."""
    return Progress(
        TextColumn(
            "  {task.description:<12}",
            markup=False,
            table_column=Column(no_wrap=True, overflow="ellipsis", max_width=_MOST_SAID),
        ),
        BarColumn(bar_width=_WIDTH_OF_BARS),
        _DoneColumn(),
        TimeElapsedColumn(),
        TextColumn("left", style="dim"),
        TimeRemainingColumn(),
        console=errors,
        transient=True,
        speed_estimate_period=_SECONDS_OF_ESTIMATE,
    )


class _DoneColumn(MofNCompleteColumn):
    """How many steps are done, or which share."""

    def render(self, task: Task) -> Text:
        return (
            Text(f"{task.completed:4.0%}", style="progress.download")
            if isinstance(task.total, float)
            else super().render(task)
        )


class _ProgressLines:
    """Prints what goes on, once."""

    def __init__(self, errors: Console) -> None:
        self._errors = errors
        self._last = ""

    def __call__(self, text: str, done: float, total: float) -> None:
        del done, total
        if text not in {"", self._last}:
            self._last = text
            self._errors.print(f"  {text}", style="dim", soft_wrap=True)


class ProgressSteps:
    """Moves one bar, which comes with the first step: the next one may be minutes away."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._bar: TaskID | None = None

    def __call__(self, text: str, done: float, total: float) -> None:
        """Move the bar; see `OnStep`."""
        if self._bar is None:
            self._bar = self._progress.add_task(text or "…", total=total or None)
        self._progress.update(self._bar, description=text or "…", completed=done, total=total or None)
