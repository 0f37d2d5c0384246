"""Show progress: a line when a phase closes or a step begins, and a bar with the estimated time left.

Bars are shown on standard error, and only if it is a terminal.
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
"""Called with a text, the number of completed steps, and the total, which is 0 if unknown.

If durations of steps differ strongly, it is called with the fraction of work done, and 1.0.
"""

_SECONDS_OF_ESTIMATE: Final = 86_400.0  # window of the time estimate, which includes all steps
_MOST_SAID: Final = 34
_WIDTH_OF_BARS: Final = 16
_SECONDS_WITHOUT_BARS: Final = 1.0  # shorter work needs no bar


class Watcher:
    """Shows one session: a line when a phase closes, and in a terminal bars after a second."""

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
        """Handle an effect of the server's machine."""
        match effect:
            case Closed():
                if self._progress is not None and effect.phase in self._bars:
                    self._progress.remove_task(self._bars.pop(effect.phase))
                if self._console is not None:
                    with contextlib.suppress(OSError):  # a closed terminal or a full disk does not end the session
                        show_phase(self._console, effect)
            case LiarNamed(party, deed, _) if self._console is not None:
                with contextlib.suppress(OSError):
                    self._console.print(f"  {printable(party)} has {deed}, and is left out", style="red", markup=False)
            case _:
                pass

    def on_progress(self, phase: str, num_received: int, outstanding: float) -> None:
        """Update the open phase's bar, which has no end if the number outstanding is unknown (-1).

        If the number is an estimate (a float), the bar shows the fraction.
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
        """`on_progress`, if there is a bar."""
        return None if self._progress is None else self.on_progress


@contextlib.contextmanager
def watch(*, console: Console | None, errors: Console) -> Generator[Watcher]:
    """Yield the watcher of a running session: a line on the console, if any, when each phase closes, and bars."""
    if not errors.is_terminal:
        yield Watcher(console, None)
        return
    with _bars(errors) as progress:
        # On the same terminal, lines must go through the bars' console, which separates both.
        lines = progress.console if console is not None and console.is_terminal else console
        yield Watcher(lines, progress)


@contextlib.contextmanager
def steps(errors: Console) -> Generator[OnStep]:
    """Yield a function that shows progress on standard error: one bar in a terminal, else a line for each step."""
    if not errors.is_terminal:
        yield _ProgressLines(errors)
        return
    with _bars(errors) as progress:
        yield ProgressSteps(progress)


def _bars(errors: Console) -> Progress:
    """Return bars that are removed at the end."""
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
    """The number of completed steps, or the fraction."""

    def render(self, task: Task) -> Text:
        return (
            Text(f"{task.completed:4.0%}", style="progress.download")
            if isinstance(task.total, float)
            else super().render(task)
        )


class _ProgressLines:
    """Prints each step's text once."""

    def __init__(self, errors: Console) -> None:
        self._errors = errors
        self._last = ""

    def __call__(self, text: str, done: float, total: float) -> None:
        del done, total
        if text not in {"", self._last}:
            self._last = text
            self._errors.print(f"  {text}", style="dim", soft_wrap=True)


class ProgressSteps:
    """Updates one bar, which appears at the first step, since the next may take minutes."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._bar: TaskID | None = None

    def __call__(self, text: str, done: float, total: float) -> None:
        """Update the bar. See `OnStep`."""
        if self._bar is None:
            self._bar = self._progress.add_task(text or "…", total=total or None)
        self._progress.update(self._bar, description=text or "…", completed=done, total=total or None)
