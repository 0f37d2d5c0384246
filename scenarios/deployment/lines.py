"""What a server prints while a session is open: a line as a phase closes, and one as each of the first parties leaves.

A thread writes them: a terminal that takes no more, as after Ctrl-S, holds up no vote.
"""

import collections
import contextlib
import queue
from collections.abc import Callable
from typing import Final

import trio
from rich.console import Console

from ...agents.standing import Standing
from ...protocol.effects import Attended, Closed, Effect, Named, Presence
from ...protocol.errors import MAX_NAMES_IN_A_SENTENCE, printable
from ..presentation.terminal import show_note
from ..running.progress import Watcher

_SECONDS: Final = 0.5  # between looks for lines


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


class ServerLines:
    """Lines of a session, which are printed while `show` runs beside it, and the last of them by `show_rest`.

    Args:
        console: where they go; None for nowhere.
    """

    def __init__(self, console: Console | None) -> None:
        self._lines = _Lines(console, None)
        self._effects: collections.deque[Effect] = collections.deque()
        # Held by whoever writes: a thread that is abandoned at the session's end may be at a line still.
        self._turn: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._turn.put(None)

    def on_effect(self, effect: Effect) -> None:
        """Take note of an effect of the server's machine."""
        if isinstance(effect, Attended | Closed | Named):
            self._effects.append(effect)

    async def show(self, tell: Callable[[], Standing]) -> None:
        """Print what has come since, for ever."""
        del tell
        while True:
            await trio.to_thread.run_sync(self.show_rest, abandon_on_cancel=True)
            await trio.sleep(_SECONDS)

    def show_rest(self) -> None:
        """Print what has come since, in its order whichever threads ask."""
        turn = self._turn.get()
        try:
            while self._effects:
                self._lines.on_effect(self._effects.popleft())
        finally:
            self._turn.put(turn)
