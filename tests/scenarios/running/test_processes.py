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
    with pytest.raises(RuntimeError, match="something else"), open_worker(ROWS) as worker:
        raise RuntimeError("something else")
    assert worker.process.returncode is not None


def test_a_second_interrupt_leaves_no_worker_behind() -> None:
    """It comes as the worker is about to be ended because of the first one."""
    workers: list[subprocess.Popen[bytes]] = []

    def work() -> None:
        with open_worker(ROWS) as worker:
            workers.append(process := worker.process)
            process.kill = mock.Mock(side_effect=[KeyboardInterrupt, mock.DEFAULT], wraps=process.kill)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    (process,) = workers
    assert process.returncode is not None


def test_a_task_that_a_worker_cannot_read_ends_it_with_a_status(capfd: pytest.CaptureFixture[str]) -> None:
    with open_worker(ROWS) as worker:
        worker.send(NOTHING)
        assert worker.receive() is None
        assert worker.process.wait() == 1
    assert "ValidationError" in capfd.readouterr().err


def test_what_a_keyboard_sends_goes_to_this_process_alone() -> None:
    with open_worker(ROWS) as worker:
        assert os.getpgid(worker.process.pid) != os.getpgrp()


def test_a_worker_that_has_died_gets_a_task_and_answers_nothing() -> None:
    with open_worker(ROWS) as worker:
        worker.process.kill()
        worker.process.wait()
        worker.send(bytes(1 << 20))  # more than a pipe holds
        assert worker.receive() is None


def test_more_tasks_than_processes_are_answered_each_by_its_number(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """That of a process that dies is nothing, and those of others are theirs."""
    monkeypatch.setenv("PYTHONPATH", str(Path(unsteady.__file__).parent))
    tasks = [unsteady.ask(0), unsteady.ask(1, "die"), unsteady.ask(2), unsteady.ask(3)]
    found = dict(Processes(2).answers("unsteady", tasks))
    assert found == {0: unsteady.answer(0), 1: None, 2: unsteady.answer(2), 3: unsteady.answer(3)}
    assert not capfd.readouterr().out


def test_a_process_begins_once_however_many_tasks_it_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(unsteady.__file__).parent))
    begun = mock.Mock(wraps=subprocess.Popen)
    monkeypatch.setattr(subprocess, "Popen", begun)
    found = dict(Processes(1).answers("unsteady", map(unsteady.ask, range(5))))
    assert found == {number: unsteady.answer(number) for number in range(5)}
    assert begun.call_count == 1
