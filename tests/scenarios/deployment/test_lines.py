"""What a server prints while a session is open: lines in their order, which hold up nobody."""

import io
import threading
from typing import Any

import trio
from deployments import PATIENCE
from psephos.protocol.effects import Attended, Closed, Presence
from psephos.scenarios.deployment.lines import ServerLines
from rich.console import Console


class Slow(Console):
    """What shows its first line when it is told to."""

    def __init__(self) -> None:
        super().__init__(file=io.StringIO())
        self.is_asked, self.may_show = threading.Event(), threading.Event()

    def print(self, *objects: Any, **how: Any) -> None:
        """Show it, once it may."""
        if not self.is_asked.is_set():
            self.is_asked.set()
            assert self.may_show.wait(PATIENCE)
        super().print(*objects, **how)


def test_lines_keep_their_order_where_the_session_ends_while_a_terminal_takes_no_more() -> None:
    """Ctrl-S: what would be shown waits for Ctrl-Q, and the session goes on."""
    console = Slow()
    assert isinstance(console.file, io.StringIO)
    lines = ServerLines(console)

    def tell() -> Any:
        raise AssertionError("lines need no standing")

    async def run() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lines.show, tell)
            await trio.to_thread.run_sync(console.is_asked.wait, PATIENCE)
            nursery.cancel_scope.cancel()

    lines.on_effect(Closed("weights", 3, 0, None))
    lines.on_effect(Closed("opinions", 3, 0, None))
    trio.run(run)
    assert not console.file.getvalue()
    threading.Timer(0.2, console.may_show.set).start()  # in which the other line would be written
    lines.show_rest()
    assert [line.split()[0] for line in console.file.getvalue().splitlines()] == ["weights", "opinions"]


def test_a_server_says_why_each_of_the_first_leaves_and_then_no_more() -> None:
    file = io.StringIO()
    lines = ServerLines(Console(file=file))
    for number in range(15):
        lines.on_effect(Attended(f"p{number}", Presence.LEFT, "enough"))
    lines.show_rest()
    assert file.getvalue().splitlines() == [
        *(f"  p{number} has left: enough" for number in range(12)),
        "  more parties leave; events.jsonl has each with its reason",
    ]
