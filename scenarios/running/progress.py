"""What is seen while a session runs: a line as each phase closes, and a bar while one is open.

The bar is for people: it goes to standard error and only where that is a terminal.
"""

import contextlib
import time
from collections.abc import Callable, Generator
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from ...protocol.effects import Closed, Effect
from .report import show_phase

__all__ = ["Watcher", "watch"]


# What takes no longer is over before anybody has read its bar.
_SECONDS_WITHOUT_BARS: Final = 1.0


class Watcher:
    """Shows one session.

    Args:
        console: where a phase's line goes as it closes; None for nowhere.
        progress: the bars, which come once the session has taken a second; None where nobody watches.
        num_parties: on the roster.
        clock: seconds that pass.
    """

    def __init__(
        self,
        console: Console | None,
        progress: Progress | None,
        *,
        num_parties: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._progress = progress
        self._num_parties = num_parties
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
                        show_phase(self._console, effect, num_parties=self._num_parties)
            case _:
                pass

    def on_progress(self, phase: str, received: int, outstanding: int) -> None:
        """Move the open phase's bar."""
        if self._progress is None or self._clock() - self._began < _SECONDS_WITHOUT_BARS:
            return
        if phase not in self._bars:
            self._bars[phase] = self._progress.add_task(phase, total=received + outstanding)
        self._progress.update(self._bars[phase], completed=received, total=received + outstanding)

    @property
    def poll(self) -> Callable[[str, int, int], None] | None:
        """`on_progress`, if there is a bar to move."""
        return None if self._progress is None else self.on_progress


@contextlib.contextmanager
def watch(*, console: Console | None, errors: Console, num_parties: int) -> Generator[Watcher]:
    """Yield what shows a session while it runs.

    Args:
        console: for a line as each phase closes; None for none.
        errors: for the bars, on standard error.
        num_parties: on the roster.
    """
    if not errors.is_terminal:
        yield Watcher(console, None, num_parties=num_parties)
        return
    columns = (
        TextColumn("  {task.description:<12}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=errors, transient=True) as progress:
        # On one and the same terminal, lines must go through the bars' console, which keeps the two apart.
        lines = progress.console if console is not None and console.is_terminal else console
        yield Watcher(lines, progress, num_parties=num_parties)
