"""Print a server's progress: a line when a phase closes, and when one of the first parties leaves.

A thread prints the lines, so that a blocked terminal, as after Ctrl-S, does not stop the session.
"""

import contextlib
import queue
from collections.abc import Generator
from typing import Any

import trio
from rich.console import Console

from ...agents.driver import EffectListener
from ...protocol.effects import Attended, Closed, Effect, LiarNamed, Presence
from ...protocol.errors import MAX_NAMES_IN_A_SENTENCE, printable
from ..presentation.terminal import show_note
from ..running.progress import Watcher


class _PhaseLines(Watcher):
    """Prints a line when a phase closes, and when one of the first parties leaves."""

    _num_departed = 0

    def on_effect(self, effect: Effect) -> None:
        """Handle an effect of the server's machine."""
        super().on_effect(effect)
        if not isinstance(effect, Attended) or effect.presence is not Presence.LEFT:
            return
        if self._console is None or self._num_departed > MAX_NAMES_IN_A_SENTENCE:
            return
        self._num_departed += 1
        line = f"{printable(effect.party)} has left: {effect.reason}"
        if self._num_departed > MAX_NAMES_IN_A_SENTENCE:
            line = "more parties leave; events.jsonl has each with its reason"
        with contextlib.suppress(OSError):  # as for a phase's line
            show_note(self._console, line)


@contextlib.contextmanager
def print_lines(console: Console | None) -> Generator[EffectListener]:
    """Yield a listener to the server's effects that prints lines, if there is a console."""
    lines = _PhaseLines(console, None)
    effects: queue.SimpleQueue[Effect | None] = queue.SimpleQueue()

    def write() -> None:
        while (effect := effects.get()) is not None:
            lines.on_effect(effect)

    def listen(effect: Effect) -> None:
        if isinstance(effect, Attended | Closed | LiarNamed):
            effects.put(effect)

    ended_lines: queue.SimpleQueue[Any] = queue.SimpleQueue()  # receives the thread's end from trio
    trio.lowlevel.start_thread_soon(write, ended_lines.put)
    try:
        yield listen
    finally:
        effects.put(None)
        ended_lines.get().unwrap()
