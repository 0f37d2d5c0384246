"""What a server prints while a session is open: lines in their order, which hold up nobody."""

import io
import threading
from typing import Any

from deployments import PATIENCE
from psephos.protocol.effects import Attended, Closed, Presence
from psephos.scenarios.deployment.lines import print_lines
from rich.console import Console


class Slow(Console):
    """What shows its first line when it may."""

    def __init__(self) -> None:
        super().__init__(file=io.StringIO())
        self.may_show = threading.Event()

    def print(self, *objects: Any, **how: Any) -> None:
        """Show it, once it may."""
        assert self.may_show.wait(PATIENCE)
        super().print(*objects, **how)


def test_a_terminal_that_takes_no_more_holds_up_no_effect_and_has_all_lines_in_the_end() -> None:
    """Ctrl-S: what would be shown waits for Ctrl-Q, and the session goes on."""
    lines = Slow()
    assert isinstance(lines.file, io.StringIO)
    with print_lines(lines) as listen:
        listen(Closed("weights", 3, 0, None))
        listen(Closed("opinions", 3, 0, None))
        assert not lines.file.getvalue()
        lines.may_show.set()
    assert [line.split()[0] for line in lines.file.getvalue().splitlines()] == ["weights", "opinions"]


def test_a_server_says_why_each_of_the_first_leaves_and_then_no_more() -> None:
    file = io.StringIO()
    with print_lines(Console(file=file)) as listen:
        for number in range(15):
            listen(Attended(f"p{number}", Presence.LEFT, "enough"))
    assert file.getvalue().splitlines() == [
        *(f"  p{number} has left: enough" for number in range(12)),
        "  more parties leave; events.jsonl has each with its reason",
    ]


def test_nothing_is_printed_where_there_is_no_console() -> None:
    with print_lines(None) as listen:
        listen(Attended("ann", Presence.LEFT, "enough"))
