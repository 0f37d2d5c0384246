"""Other processes: what goes in, what comes out, and that none is left behind."""

import os
import subprocess
from pathlib import Path
from unittest import mock

import pytest
import unsteady
from psephos.scenarios.running.processes import Processes, num_cores, open_worker

ROWS = "psephos.scenarios.audit.running"
NOTHING = b"\x80"  # a task that no worker takes


def test_there_is_a_core() -> None:
    assert num_cores() >= 1


def test_a_worker_is_ended_on_leaving_whatever_happens() -> None:
    with pytest.raises(RuntimeError, match="something else"), open_worker(ROWS, NOTHING) as process:
        raise RuntimeError("something else")
    assert process.returncode is not None


def test_a_second_interrupt_leaves_no_worker_behind() -> None:
    """It comes as the worker is about to be ended because of the first one."""
    workers: list[subprocess.Popen[bytes]] = []

    def work() -> None:
        with open_worker(ROWS, NOTHING) as process:
            workers.append(process)
            process.kill = mock.Mock(side_effect=[KeyboardInterrupt, mock.DEFAULT], wraps=process.kill)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    (process,) = workers
    assert process.returncode is not None


def test_a_task_that_a_worker_cannot_read_ends_it_with_a_status(capfd: pytest.CaptureFixture[str]) -> None:
    with open_worker(ROWS, NOTHING) as process:
        answer, _ = process.communicate()
    assert (answer, process.returncode) == (b"", 1)
    assert "ValidationError" in capfd.readouterr().err


def test_what_a_keyboard_sends_goes_to_this_process_alone() -> None:
    with open_worker(ROWS, NOTHING) as process:
        assert os.getpgid(process.pid) != os.getpgrp()


@pytest.mark.full("processes once more")
def test_more_tasks_than_processes_are_answered_each_by_its_number(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """That of a process that dies is nothing, and those of others are theirs."""
    monkeypatch.setenv("PYTHONPATH", str(Path(unsteady.__file__).parent))
    tasks = [unsteady.ask(0), unsteady.ask(1, "die"), unsteady.ask(2)]
    found = list(Processes(2).answers("unsteady", tasks))
    assert found == [(0, unsteady.answer(0)), (1, None), (2, unsteady.answer(2))]
    assert not capfd.readouterr().out
