"""What the terminal of a server shows while a session is open: the phase, its deadline, who is there, who is awaited.

It goes to standard error, where that is a terminal, and stands below the lines of the phases that have closed. A thread
writes it: a terminal that takes no more, as after Ctrl-S, holds up no vote.
"""

import collections
import contextlib
import datetime as dt
import functools
import math
import queue
from collections.abc import Callable, Generator, Sequence
from typing import Final, NamedTuple

import trio
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ...agents.driver import EffectListener
from ...agents.standing import Companion, Standing
from ...protocol.effects import Attended, Closed, Effect, Named, Presence
from ...protocol.errors import MAX_NAMES_IN_A_SENTENCE, printable
from ...protocol.rules import JOIN
from ...protocol.states import SessionState
from ..presentation.terminal import show_note
from ..running.progress import Watcher

_SECONDS_BETWEEN_PICTURES: Final = 0.5
_LABEL: Final = 12
"""Characters of the first column, as in the lines of closed phases."""
_WIDEST_BAR: Final = 24
_NARROWEST_BAR: Final = 8
"""A narrower one says nothing, and what is beside it needs the room."""
_MOST_SECONDS: Final = 10**9
"""Of what is left; more is for nobody to wait for, and too much for a clock."""
_LONGEST_NAME: Final = 24


class Watching(NamedTuple):
    """What shows a session while its server runs: told of its effects, and run beside it."""

    listener: EffectListener
    beside: Sequence[Companion]


class _Lines(Watcher):
    """Shows a line as a phase closes, and one as a party leaves, for the first of them."""

    _num_departed = 0

    def on_effect(self, effect: Effect) -> None:
        """Take note of an effect of the server's machine."""
        super().on_effect(effect)
        if not isinstance(effect, Attended) or effect.presence is not Presence.LEFT:
            return
        if self._console is None or self._num_departed > MAX_NAMES_IN_A_SENTENCE:
            return
        self._num_departed += 1
        said = f"{printable(effect.party)} has left: {effect.reason}"
        if self._num_departed > MAX_NAMES_IN_A_SENTENCE:
            said = "more parties leave; events.jsonl has each with its reason"
        with contextlib.suppress(OSError):  # as of a phase's line
            show_note(self._console, said)


class _Screen:
    """Shows where a session stands, and a line for each phase that has closed and each of the first who leave."""

    def __init__(self, live: Live, lines: Watcher, *, role: str) -> None:
        self._live = live
        self._lines = lines
        self._role = role
        self._effects: collections.deque[Effect] = collections.deque()
        # Held by whoever writes lines: a thread that is abandoned at the session's end may be at one still.
        self._turn: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._turn.put(None)

    def on_effect(self, effect: Effect) -> None:
        """Take note of an effect of the server's machine."""
        if isinstance(effect, (Attended, Closed, Named)):
            self._effects.append(effect)

    async def show(self, tell: Callable[[], Standing]) -> None:
        """Show where the session stands, for ever."""
        while True:
            draw = functools.partial(self._draw, tell())
            await trio.to_thread.run_sync(draw, abandon_on_cancel=True)
            await trio.sleep(_SECONDS_BETWEEN_PICTURES)

    def _draw(self, standing: Standing) -> None:
        with contextlib.suppress(OSError):  # a terminal that is gone ends no session
            self.show_lines()
            self._live.update(picture_of(standing, role=self._role, width=self._live.console.width), refresh=True)

    def show_lines(self) -> None:
        """Show the lines of what has come since, in their order whichever threads ask."""
        turn = self._turn.get()
        try:
            while self._effects:
                self._lines.on_effect(self._effects.popleft())
        finally:
            self._turn.put(turn)


@contextlib.contextmanager
def watch_server(*, console: Console | None, errors: Console, role: str) -> Generator[Watching]:
    """Yield what shows a session while its server runs; where standard error is no terminal, lines alone.

    The console, if any, gets a line as each phase closes and as a party leaves; standard error shows where the session
    stands.
    """
    if not errors.is_interactive:
        yield Watching(_Lines(console, None).on_effect, ())
        return
    with Live(console=errors, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False) as live:
        # On one and the same terminal, lines must go through the picture's console, which keeps the two apart.
        lines = errors if console is not None and console.is_terminal else console
        screen = _Screen(live, _Lines(lines, None), role=role)
        try:
            yield Watching(screen.on_effect, (screen.show,))
        finally:
            screen.show_lines()


def picture_of(standing: Standing, *, role: str, width: int) -> RenderableType:
    """Return what a terminal, so many cells wide, shows of where a session stands."""
    if standing.state is SessionState.RELEASED:
        told = f"the {f'{role}s'} are told the outcome"
        return Text.assemble((f"  {'release':<{_LABEL}}", "bold"), f" {told}")
    if not standing.is_open:
        return Text()
    phase = Text(f"  {printable(standing.phase):<{_LABEL}}", style="bold")
    left = _time_left(standing.seconds_left)
    attendance = standing.attendance
    is_joining = standing.phase == JOIN
    if attendance is None:
        who = "who joins is private" if is_joining else "who reports is private"
        return Text.assemble(phase, " ", f"{left} · {who}")
    verb = "joined" if is_joining else "reported"
    num_present = len(attendance.present)
    total = num_present + len(attendance.awaited)
    counted = Text(f"{f'{num_present:,} of {total:,}'} {verb} · {left}")
    line = Table.grid(padding=(0, 1))
    room = min(_WIDEST_BAR, width - phase.cell_len - counted.cell_len - 2)
    if room < _NARROWEST_BAR:
        line.add_row(phase, counted)
    else:
        line.add_row(phase, ProgressBar(total=max(1, total), completed=num_present, width=room), counted)
    rows = [
        Text.assemble((f"    {label:<{_LABEL - 2}} ", "dim"), first_names(names, width=width - _LABEL - 4))
        for label, names in ((verb, attendance.present), ("awaited", attendance.awaited))
        if names
    ]
    return Group(line, *rows)


def first_names(names: Sequence[str], *, width: int) -> str:
    """Return as many names, of one at least, as fit into so many cells, and how many more there are."""
    shown: list[str] = []
    used = 0
    for place, name in enumerate(names):
        text = _shortened(name)
        room = width - len(_and_more(len(names) - place - 1))
        used += cell_len(text) + (2 if shown else 0)
        if shown and used > room:
            break
        shown.append(text)
    return ", ".join(shown) + _and_more(len(names) - len(shown))


def _and_more(number: int) -> str:
    return f" and {number:,} more" if number else ""


def _shortened(name: str) -> str:
    """Return a name that takes at most so many cells, without what a terminal would obey."""
    text = Text(printable(name))
    text.truncate(_LONGEST_NAME, overflow="ellipsis")
    return text.plain


def _time_left(seconds: float) -> str:
    if math.isinf(seconds):
        return "no deadline"
    return f"{dt.timedelta(seconds=math.ceil(min(seconds, _MOST_SECONDS)))} left"
