"""What is seen while a session runs: a line a phase, and a bar where somebody watches."""

import errno
import io

from psephos.protocol.effects import Closed, Opened, SetDeadline
from psephos.scenarios.running.progress import ProgressSteps, Watcher, steps, watch
from rich.console import Console
from rich.progress import Progress


def plain_console() -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    return Console(file=file, width=100), file


def terminal() -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    return Console(file=file, width=100, force_terminal=True), file


def test_a_line_is_shown_as_each_phase_closes() -> None:
    console, file = plain_console()
    watcher = Watcher(console, None)
    watcher.on_effect(Opened("weights", 9))
    watcher.on_effect(SetDeadline("weights", 3.0))
    assert file.getvalue() == ""
    watcher.on_effect(Closed("weights", 8, 1, None))
    assert file.getvalue().split() == ["weights", "8", "of", "9", "reported"]


class FullDisk(io.StringIO):
    """A file on a disk that is full until it is not."""

    is_full = True

    def write(self, text: str, /) -> int:
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(text)


def test_a_line_that_cannot_be_shown_ends_no_session() -> None:
    file = FullDisk()
    watcher = Watcher(Console(file=file, width=100), None)
    watcher.on_effect(Closed("weights", 8, 1, None))
    file.is_full = False
    watcher.on_effect(Closed("opinions", 7, 2, None))
    assert file.getvalue().split()[-5:] == ["opinions", "7", "of", "9", "reported"]


def test_a_line_counts_nobody_where_who_came_is_private() -> None:
    console, file = plain_console()
    watcher = Watcher(console, None)
    for phase in ("join", "rankings"):
        watcher.on_effect(Opened(phase, None))
        watcher.on_effect(Closed(phase, None, None, None))
    joined, reported = file.getvalue().splitlines()
    assert joined == "  join         closed: who joined is private"
    assert reported == "  rankings     closed: who reported is private"


def test_a_bar_moves_while_its_phase_is_open_and_goes_when_it_closes() -> None:
    errors, _ = terminal()
    progress = Progress(console=errors)
    now = [0.0]
    watcher = Watcher(None, progress, clock=lambda: now[0])
    watcher.on_progress("weights", 0, 9)
    assert progress.tasks == []  # not for what is over within a second
    now[0] = 1.5
    watcher.on_progress("weights", 0, 9)
    (task,) = progress.tasks
    assert (task.description, task.completed, task.total) == ("weights", 0, 9)
    watcher.on_progress("weights", 4, 4)
    assert (progress.tasks[0].completed, progress.tasks[0].total) == (4, 8)
    watcher.on_effect(Closed("weights", 8, 0, None))
    assert progress.tasks == []
    watcher.on_progress("opinions", 1, 7)
    assert [task.description for task in progress.tasks] == ["opinions"]


def test_rows_of_files_have_an_estimate_of_the_end_and_none_where_nobody_knows_how_many_there_are() -> None:
    now = [0.0]
    progress = Progress(console=terminal()[0], get_time=lambda: now[0], speed_estimate_period=1e6)
    watcher = Watcher(None, progress, clock=lambda: now[0])
    for step in range(1, 6):
        now[0] = 2.0 * step
        watcher.on_progress("weights and opinions", 1_000 * step, 9_000 - 1_000 * step)
        watcher.on_progress("rankings", 1_000 * step, -1)
        watcher.on_progress("texts", 1_000 * step, 9_000.0 - 1_000 * step)  # by bytes: a share, and no number of rows
    known, unknown, estimated = progress.tasks
    assert (known.completed, known.total, known.time_remaining) == (5_000, 9_000, 8)
    assert (unknown.completed, unknown.total, unknown.time_remaining) == (5_000, None, None)
    assert (estimated.completed, estimated.total, estimated.time_remaining) == (5 / 9, 1.0, 8)


def test_a_phase_that_had_no_bar_closes_all_the_same() -> None:
    errors, _ = terminal()
    Watcher(None, Progress(console=errors)).on_effect(Closed("join", 9, 0, None))


def test_without_a_terminal_there_is_no_bar_and_nothing_to_poll() -> None:
    console, shown = plain_console()
    errors, bars = plain_console()
    with watch(console=console, errors=errors) as watcher:
        assert watcher.poll is None
        watcher.on_progress("weights", 1, 1)
        watcher.on_effect(Opened("weights", 2))
        watcher.on_effect(Closed("weights", 2, 0, None))
    assert "2 reported" in shown.getvalue()
    assert bars.getvalue() == ""


def test_on_a_terminal_the_bars_go_to_their_own_stream() -> None:
    console, shown = plain_console()
    errors, bars = terminal()
    with watch(console=console, errors=errors) as watcher:
        assert watcher.poll == watcher.on_progress
        watcher.on_effect(Opened("weights", 2))
        watcher.on_progress("weights", 1, 1)
        watcher.on_effect(Closed("weights", 2, 0, None))
    assert "2 reported" in shown.getvalue()
    assert "\x1b[" in bars.getvalue()


def test_nothing_is_shown_where_json_is_asked_for() -> None:
    errors, bars = plain_console()
    with watch(console=None, errors=errors) as watcher:
        watcher.on_effect(Closed("weights", 2, 0, None))
    assert bars.getvalue() == ""


def test_without_a_terminal_each_step_is_a_line_of_its_own() -> None:
    errors, shown = plain_console()
    with steps(errors) as tell:
        tell("", 0, 2)
        for done in range(3):
            tell("epsilon = 1: 500 trials", done, 2)
        tell("epsilon = 2: 500 trials", 2, 2)
    assert shown.getvalue().splitlines() == ["  epsilon = 1: 500 trials", "  epsilon = 2: 500 trials"]


def test_on_a_terminal_steps_are_a_bar_with_an_estimate_of_the_end() -> None:
    now = [0.0]
    progress = Progress(console=terminal()[0], get_time=lambda: now[0], speed_estimate_period=1e6)
    bar = ProgressSteps(progress)
    bar("first", 0, 10)
    for done in range(1, 6):
        now[0] = 2.0 * done
        bar("first", done, 10)
    (task,) = progress.tasks
    assert (task.description, task.completed, task.total) == ("first", 5, 10)
    assert task.time_remaining == 10  # five more of two seconds


def test_where_nobody_knows_how_many_steps_there_are_a_bar_has_no_end() -> None:
    progress = Progress(console=terminal()[0])
    ProgressSteps(progress)("something", 3, 0)
    assert progress.tasks[0].total is None


def test_a_bar_leaves_nothing_behind_and_no_line_wraps() -> None:
    file = io.StringIO()
    with steps(Console(file=file, width=80, force_terminal=True)) as tell:
        tell("a step whose name is longer than any terminal of eighty columns, however it is written", 1, 1_000_000)
    assert "\n\n" not in file.getvalue()
