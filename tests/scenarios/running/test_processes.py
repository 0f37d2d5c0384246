"""Other processes: what goes in, what comes out, and that none is left behind."""

import os
import subprocess
from pathlib import Path
from unittest import mock

import msgspec
import pytest
import unsteady
from psephos.scenarios.running.processes import num_cores, open_pool, open_worker, open_workers

ROWS = "psephos.scenarios.audit.running"
UNSTEADY = "unsteady"


class Nothing(msgspec.Struct):
    """A task that no worker takes."""


@pytest.fixture(autouse=True)
def _found_by_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let other processes import what the tests have beside them."""
    monkeypatch.setenv("PYTHONPATH", str(Path(unsteady.__file__).parent))


def test_there_is_a_core() -> None:
    assert num_cores() >= 1


def test_a_worker_is_ended_on_leaving_whatever_happens() -> None:
    with pytest.raises(RuntimeError, match="something else"), open_worker() as process:
        raise RuntimeError("something else")
    assert process.returncode is not None


def test_a_second_interrupt_leaves_no_worker_behind() -> None:
    """It comes as the worker is about to be ended because of the first one."""
    workers: list[subprocess.Popen[bytes]] = []

    def work() -> None:
        with open_worker() as process:
            workers.append(process)
            process.kill = mock.Mock(side_effect=[KeyboardInterrupt, mock.DEFAULT], wraps=process.kill)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    (process,) = workers
    assert process.returncode is not None


def test_a_task_that_a_worker_cannot_read_has_no_answer(capfd: pytest.CaptureFixture[str]) -> None:
    with open_workers(ROWS, [Nothing()], answer=list[int]) as answers:
        assert list(answers) == [None]
    assert "ValidationError" in capfd.readouterr().err


def test_more_tasks_than_processes_are_answered_each_by_its_number() -> None:
    with open_pool(2) as pool:
        found = dict(pool.answers(UNSTEADY, [unsteady.ask(number) for number in range(7)]))
        again = dict(pool.answers(UNSTEADY, [unsteady.ask(9)]))
    assert found == {number: unsteady.answer(number) for number in range(7)}
    assert again == {0: unsteady.answer(9)}


def test_where_all_processes_have_died_every_task_that_is_left_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    with open_pool(1) as pool:
        tasks = [unsteady.ask(1), unsteady.ask(2, "die"), unsteady.ask(3)]
        assert list(pool.answers(UNSTEADY, tasks)) == [(0, unsteady.answer(1)), (1, None), (2, None)]
    assert not capfd.readouterr().out


def test_what_a_keyboard_sends_goes_to_this_process_alone() -> None:
    with open_worker() as process:
        assert os.getpgid(process.pid) != os.getpgrp()
