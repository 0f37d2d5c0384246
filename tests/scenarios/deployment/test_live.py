"""What the terminal of a server shows while a session is open: pictures of any standing, and real terminals."""

import contextlib
import dataclasses
import io
import itertools
import json
import re
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import trio
from deployments import PATIENCE, SEED, Peer, Process, Terminal, report, write_vote
from psephos.agents.standing import Standing
from psephos.protocol.effects import Attended, Closed, Presence
from psephos.protocol.server_machine import Attendance
from psephos.protocol.states import SessionState
from psephos.scenarios.deployment.live import picture_of, watch_server
from rich.cells import cell_len
from rich.console import Console

HOW: Final = ("--transport", "tcp", "--simulate", "--seed", SEED, "--listen", "127.0.0.1:0", "--no-pictures")
CONTROLS: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def standing_of(num_parties: int, num_present: int, *, name: str = "party-{}", **fields: Any) -> Standing:
    """Return an open phase in which the first of the roster have reported."""
    names = tuple(name.format(number) for number in range(1, num_parties + 1))
    attendance = Attendance({"join": num_parties, "votes": num_present}, names[:num_present], names[num_present:])
    usual = Standing(SessionState.COLLECTING, "votes", num_parties, 272.0, {"votes": 1.8e9}, attendance, None)
    return dataclasses.replace(usual, **fields)


def lines_of(standing: Standing, *, width: int = 80) -> list[str]:
    """Return what a terminal of this width shows."""
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=True, color_system="standard")
    console.print(picture_of(standing, role="voter", width=width))
    return [line.rstrip() for line in CONTROLS.sub("", file.getvalue()).split("\n")][:-1]


def test_a_small_roster_is_shown_by_name() -> None:
    assert lines_of(standing_of(3, 1)) == [
        "  votes        ━━━━━━━━╺━━━━━━━━━━━━━━━ 1 of 3 reported · 0:04:32 left",
        "    reported   party-1",
        "    awaited    party-2, party-3",
    ]


@pytest.mark.parametrize("num_parties", [27, 600, 100_000])
@pytest.mark.parametrize("width", [80, 120])
def test_a_large_roster_is_counted_and_its_first_are_named(num_parties: int, width: int) -> None:
    lines = lines_of(standing_of(num_parties, 9, name="Party of the {}th"), width=width)
    assert len(lines) == 3
    assert max(map(cell_len, lines)) <= width
    assert f" 9 of {num_parties:,} reported · 0:04:32 left" in lines[0]
    assert lines[2].startswith("    awaited    Party of the 10th, Party of the 11th")
    named = lines[2].count("Party")
    assert lines[2].endswith(f" and {num_parties - 9 - named:,} more")


@pytest.mark.parametrize("name", ["日本語の名前" * 20, "x" * 300, "\x1b[2J\x9b1m\r\nowned\u202e{}", "{}" + "\n" * 50])
@pytest.mark.parametrize("width", [60, 80, 120])
def test_any_name_fits_and_is_no_order_to_a_terminal(name: str, width: int) -> None:
    lines = lines_of(standing_of(40, 20, name=name), width=width)
    assert len(lines) == 3
    assert max(map(cell_len, lines)) <= width
    assert all(line.isprintable() for line in lines)
    assert lines[2].startswith("    awaited    ")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"seconds_left": float("inf")}, "  votes        ━━━━━━━━╺━━━━━━━━━━━━━━━ 1 of 3 reported · no deadline"),
        ({"seconds_left": 0.0}, "  votes        ━━━━━━━━╺━━━━━━━━━━━━━━━ 1 of 3 reported · 0:00:00 left"),
        ({"seconds_left": 0.2}, "  votes        ━━━━━━━━╺━━━━━━━━━━━━━━━ 1 of 3 reported · 0:00:01 left"),
        ({"seconds_left": 2e5}, "  votes        ━━━━━━━━╺━━━━━━━━━━━━━━━ 1 of 3 reported · 2 days, 7:33:20 left"),
        ({"attendance": None}, "  votes        0:04:32 left · who reports is private"),
        ({"attendance": None, "phase": "join"}, "  join         0:04:32 left · who joins is private"),
        ({"phase": "\x1b[2Jvotes"}, "  �[2Jvotes    ━━━━━━━━╺━━━━━━━━━━━━━━━ 1 of 3 reported · 0:04:32 left"),
        ({"phase": "join"}, "  join         ━━━━━━━━╺━━━━━━━━━━━━━━━ 1 of 3 joined · 0:04:32 left"),
        ({"state": SessionState.RELEASED}, "  release      the voters are told the outcome"),
        ({"state": SessionState.ABORTED}, ""),
    ],
)
def test_the_first_line_says_the_phase_how_many_and_how_long(fields: dict[str, Any], expected: str) -> None:
    first, *_ = lines_of(standing_of(3, 1, **fields))
    assert first == expected


def test_no_time_is_too_long_to_be_shown() -> None:
    (first, *_) = lines_of(standing_of(3, 1, seconds_left=1e300))
    assert "days" in first


def test_a_phase_that_waits_for_nobody_is_shown() -> None:
    assert len(lines_of(standing_of(0, 0))) == 1
    assert len(lines_of(standing_of(2, 2))) == 2


# Real terminals


def decide(address: str) -> None:
    """Let all three take part, by hand, up to the release."""
    with contextlib.ExitStack() as stack:
        peers = [stack.enter_context(Peer(address)) for _ in range(3)]
        for name, peer in zip(("ann", "bob", "cid"), peers, strict=True):
            peer.hello(name)
        for phase in range(2):
            for peer in peers:
                assert peer.next_request().step == phase
            for peer in peers:
                peer.send(report(phase, 1))
        for peer in peers:
            peer.hear_release()


@pytest.mark.full("a terminal more")
@pytest.mark.parametrize("columns", [80, 120])
def test_a_terminal_shows_who_has_joined_and_who_is_awaited(tmp_path: Path, columns: int) -> None:
    terminal = Terminal(columns=columns)
    words = ("serve", write_vote(tmp_path), *HOW, "--out", "server")
    with Process(*words, folder=tmp_path, terminal=terminal) as server:
        address = server.address()
        terminal.wait_for("0 of 3 joined · ")
        with Peer(address) as bob:
            bob.hello("bob")
            terminal.wait_for("1 of 3 joined · ")
            server.send(signal.SIGINT)
            assert server.ending().status == 130
    shown = CONTROLS.sub("", terminal.seen())
    assert re.search(r"joined +bob *\r*\n +awaited +ann, cid", shown)
    assert re.search(r"psephos: interrupted; \S+ keeps [^\n]+\n$", shown)


@pytest.mark.full("processes once more")
def test_a_session_in_a_terminal_writes_to_pipes_what_it_writes_without_one(tmp_path: Path) -> None:
    outs: list[str] = []
    for terminal in (None, Terminal()):
        folder = tmp_path / ("piped" if terminal is None else "shown")
        folder.mkdir()
        words = ("serve", write_vote(folder), *HOW, "--out", "server")
        with Process(*words, folder=folder, is_measured=False, terminal=terminal) as server:
            address = server.address()
            decide(address)
            ended = server.ending()
        assert (ended.status, ended.err) == (0, "")
        assert "\x1b" not in ended.out
        outs.append(ended.out.replace(address, "ADDRESS").replace(str(folder), "FOLDER"))
        if terminal is not None:
            assert "weights" not in CONTROLS.sub("", terminal.seen()).splitlines()[-1]
    assert outs[0] == outs[1]
    assert re.search(r"^  weights +3 reported", outs[0], re.MULTILINE)


@pytest.mark.full("a process more")
def test_a_terminal_that_takes_no_more_holds_up_no_vote(tmp_path: Path) -> None:
    """Ctrl-S: what would be shown waits for Ctrl-Q, and the parties are told the outcome all the same."""
    terminal = Terminal()
    words = ("serve", write_vote(tmp_path), *HOW, "--out", "server")
    with Process(*words, folder=tmp_path, is_measured=False, terminal=terminal) as server:
        address = server.address()
        terminal.wait_for("0 of 3 joined · ")
        terminal.press(b"\x13")
        threading.Event().wait(1.5)  # in which two more pictures would be drawn
        decide(address)
        began = time.monotonic()
        while not (tmp_path / "server" / "run.json").exists():
            assert time.monotonic() - began < PATIENCE
            threading.Event().wait(0.01)
        terminal.press(b"\x11")
        assert server.ending().status == 0
    assert json.loads((tmp_path / "server" / "result.json").read_bytes())["received"] == {"weights": 3, "opinions": 3}
    assert "\x1b[?25h" in terminal.seen()  # the cursor is there again


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


def test_lines_keep_their_order_where_the_session_ends_while_a_thread_writes_one() -> None:
    lines = Slow()
    assert isinstance(lines.file, io.StringIO)
    terminal = Console(file=io.StringIO(), force_terminal=True)

    async def run(show: Callable[..., Any]) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(show, lambda: standing_of(3, 3))
            await trio.to_thread.run_sync(lines.is_asked.wait, PATIENCE)
            nursery.cancel_scope.cancel()

    with watch_server(console=lines, errors=terminal, role="voter") as watching:
        watching.listener(Closed("weights", 3, 0, None))
        watching.listener(Closed("opinions", 3, 0, None))
        trio.run(run, watching.beside[0])
        threading.Timer(0.2, lines.may_show.set).start()  # in which the other line would be written
    assert [line.split()[0] for line in lines.file.getvalue().splitlines()] == ["weights", "opinions"]


def test_a_server_says_why_each_of_the_first_leaves_and_then_no_more() -> None:
    file = io.StringIO()
    errors = Console(file=io.StringIO(), force_terminal=False)
    with watch_server(console=Console(file=file), errors=errors, role="voter") as watching:
        for number in range(15):
            watching.listener(Attended(f"p{number}", Presence.LEFT, "enough"))
    assert file.getvalue().splitlines() == [
        *(f"  p{number} has left: enough" for number in range(12)),
        "  more parties leave; events.jsonl has each with its reason",
    ]


def test_a_terminal_says_nothing_of_who_comes_where_that_is_private() -> None:
    """The picture of a session is one and the same whoever comes; `test_hidden_participation.py` has real ones."""
    hidden = [standing_of(27, present, attendance=None) for present in (0, 9, 27)]
    for one, other in itertools.pairwise(hidden):
        assert lines_of(one) == lines_of(other)
