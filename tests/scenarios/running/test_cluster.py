"""A cluster of real Dask workers: the bits of one process, through workers that die, and each refusal in one line."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any, Final, Self

import pytest
import unsteady
from deployments import Process
from psephos.protocol.errors import ConfigurationError
from psephos.scenarios import load_scenario
from psephos.scenarios.experiments.measured import MeasuredCell, TrialCell
from psephos.scenarios.experiments.trials import prepare, run_trials
from psephos.scenarios.running import cluster
from psephos.scenarios.running.cluster import open_cluster
from psephos.scenarios.running.journaling import installed_versions
from psephos.scenarios.running.processes import Pool, TaskError, name_answers
from psephos.transports.keys import make_identity
from runs import read_json

pytest.importorskip("distributed", reason="distributed, the extra `cluster`, is not installed")
parquet: Any = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")

Psephos = Callable[..., Any]
UNSTEADY = "unsteady"
PATIENCE: Final = 60.0


@pytest.fixture(scope="module")
def two() -> Generator[Pool]:
    with open_cluster("local", workers=2) as pool:
        pool.least_seconds = 0.05
        yield pool


class Daemons:
    """A scheduler of one's own and a worker of it, as processes.

    Args:
        folder: where they run.
        options: of both, as their command line has them.
    """

    def __init__(self, folder: Path, *options: object) -> None:
        self._folder, self._options = folder, options
        self._running: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        file = self._folder / f"scheduler-{time.monotonic_ns()}.json"
        found = ("--scheduler-file", file, *self._options)
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", 0, "--no-dashboard", *found)
        self._start("worker", "--nthreads", 1, "--no-dashboard", "--no-nanny", *found)
        until = time.monotonic() + PATIENCE
        while not file.exists() and time.monotonic() < until:
            time.sleep(0.05)
        self.address = str(read_json(file)["address"])
        return self

    def __exit__(self, *of_error: object) -> None:
        for process in self._running:
            process.kill()
            process.wait()

    def _start(self, kind: str, *words: object) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "distributed.cli.dask_" + kind, *map(str, words)]
        nowhere = subprocess.DEVNULL
        process = subprocess.Popen(command, cwd=self._folder, stdout=nowhere, stderr=nowhere)  # noqa: S603  Dask's own
        self._running.append(process)
        return process


class Dying:
    """A pool of which a worker dies in the midst of a task."""

    least_seconds = 0.05

    def __init__(self, pool: Pool, flag: Path) -> None:
        self._pool, self._flag, self.num_workers = pool, flag, pool.num_workers

    def answers(self, module: str, tasks: Iterable[bytes]) -> Generator[tuple[int, bytes | None]]:
        return self._pool.answers(UNSTEADY, (unsteady.through(module, task, self._flag) for task in tasks))


def tried(*, redraw: int = 0, **how: Any) -> list[MeasuredCell]:
    cells = [load_scenario("consortium", ["partners.count=40", f"epsilon={own}"]) for own in (0.5, 2)]
    prepared = [
        TrialCell(settings=(("epsilon", str(n)),), scenario=prepare(each, seed=6)[0], redraw=redraw)
        for n, each in enumerate(cells)
    ]
    return run_trials(prepared, trials=60, **how)


@pytest.mark.full("workers die and begin again, which takes what time the machine has")
def test_trials_have_the_same_bits_on_a_cluster_and_through_a_killed_worker(two: Pool, tmp_path: Path) -> None:
    alone = [cell.trials for cell in tried(workers=1)]
    assert [cell.trials for cell in tried(pool=two)] == alone
    drawn = [cell.trials for cell in tried(redraw=3, workers=1)]
    assert drawn != alone
    assert [cell.trials for cell in tried(redraw=3, pool=two)] == drawn
    flag = tmp_path / "died"
    assert [cell.trials for cell in tried(pool=Dying(two, flag))] == alone
    assert flag.exists()


@pytest.mark.full("workers die and begin again, which takes what time the machine has")
def test_a_poisoned_task_is_named_after_three_failures(two: Pool) -> None:
    tasks = [unsteady.ask(1), unsteady.ask(2, "die")]
    with pytest.raises(TaskError, match=r"^task 1: each of 3 workers that ran it died \(the last: tcp://.*\)$"):
        dict(name_answers(two, UNSTEADY, tasks, lambda number: f"task {number}"))


@pytest.mark.full("five seconds of starting workers; a pool of processes says the same")
def test_a_task_that_fails_is_named_with_its_reason_and_its_worker(two: Pool) -> None:
    said = r"^task 0: 5 is what nobody can do \(worker tcp://.*, 3 times\)$"
    with pytest.raises(TaskError, match=said):
        dict(name_answers(two, UNSTEADY, [unsteady.ask(5, "fail")], lambda number: f"task {number}"))


@pytest.mark.bad_input("a cluster that is not there, or of another version")
@pytest.mark.full("workers die and begin again, which takes what time the machine has")
def test_a_worker_of_another_version_is_refused_by_name(two: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    own, here = installed_versions(), os.getpid()

    def versions() -> dict[str, str]:
        return {**own, "psephos": "9.9"} if os.getpid() == here else own

    monkeypatch.setattr(cluster, "installed_versions", versions)
    said = r"psephos of worker tcp://[\d.:]+ is '0. Make it as here \(psephos 9\.9, .*\)"
    with pytest.raises(ConfigurationError, match=said):
        dict(two.answers(UNSTEADY, [unsteady.ask(1)]))


@pytest.mark.bad_input("a cluster that is not there, or of another version")
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nowhere", "tcp://", ""])
def test_a_scheduler_that_is_not_there_is_one_line(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_SECONDS_TO_FIND", 0.5)
    said = r"^--cluster is .*: use 'local', or the address of a scheduler"
    with pytest.raises(ConfigurationError, match=said) as caught, open_cluster(address):
        pass
    assert "\n" not in str(caught.value)


@pytest.mark.bad_input("a cluster that is not there, or of another version")
def test_without_dask_a_cluster_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'psephos\[cluster\]'"), open_cluster("local"):
        pass


@pytest.mark.full("workers die and begin again, which takes what time the machine has")
def test_a_run_over_files_has_the_same_bytes_on_one_worker_and_through_a_killed_one(
    psephos: Psephos, two: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the command line: alone, on a cluster of its own, and on two workers of which one dies."""
    pyarrow: Any = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    (tmp_path / "votes").mkdir()
    for number in range(4):
        rows = range(100 * number, 100 * number + 100)
        table = pyarrow.table({"weight": [1 + row % 3 for row in rows], "roof": [row % 5 < 2 for row in rows]})
        parquet.write_table(table, tmp_path / "votes" / f"{number}.parquet", row_group_size=40)
    content: dict[str, Any] = {"protocol": "dpwevote", "partners": {"file": "votes"}}
    content["parameters"] = {"candidates": ["roof"], "variant": "joint", "epsilon": 1.0, "weights": [1, 2, 3]}
    (tmp_path / "v.json").write_text(json.dumps({"name": "v", **content}))
    words = ["run", "v.json", "--seed", "5", "--set", "noise=simulated", "--no-pictures", "--no-report"]
    assert psephos(*words, "--out", "alone").status == 0
    ended = psephos(*words, "--out", "one", "--cluster", "local")
    assert ended.status == 0, ended.err

    flag = tmp_path / "died"

    def opened(address: str) -> contextlib.nullcontext[Dying]:
        del address
        return contextlib.nullcontext(Dying(two, flag))

    monkeypatch.setattr(cluster, "open_cluster", opened)
    assert psephos(*words, "--out", "dying", "--cluster", "tcp://there").status == 0
    assert flag.exists()
    for name in ("result.json", "ledger.jsonl", "estimates.csv"):
        assert len({Path(folder, name).read_bytes() for folder in ("alone", "one", "dying")}) == 1
    assert not Path("one/finished.jsonl").exists()

    for more in (["--resume", "one"], ["--resume", "one", "--cluster", "tcp://there"]):
        assert "resume" in psephos(*words, *more).refusal


@pytest.mark.full("half a dozen processes")
def test_a_worker_in_another_folder_finds_the_parties_file(
    two: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.csv").write_text("partner,weight,roof\na,1,yes\nb,2,no\nc,3,yes\n")
    Path("own.toml").write_text('protocol = "dpwevote"\npartners = "own.csv"\n')
    cells = [TrialCell(settings=(), scenario=prepare(load_scenario("own.toml", ["synthetic=true"]), seed=2)[0])]
    (alone,) = run_trials(cells, trials=20, workers=1)
    (shared,) = run_trials(cells, trials=20, pool=two)
    assert shared.trials == alone.trials


TRIALS: Final = ("trials", "consortium", "--set", "partners.count=40", "--grid", "epsilon=0.5,1,2,4", "--seed", "6")
HOW: Final = ("--trials", "400", "--no-pictures", "--json")


class Interrupted:
    """A pool to which something happens as the first task has an answer; it says that it has many workers."""

    least_seconds, num_workers = 0.01, 12

    def __init__(self, pool: Pool, happen: Callable[[], object]) -> None:
        self._pool, self._happen = pool, happen

    def answers(self, module: str, tasks: Iterable[bytes]) -> Generator[tuple[int, bytes | None]]:
        for answered in self._pool.answers(module, tasks):
            yield answered
            self._happen()


@pytest.mark.full("a scheduler dies, and workers begin again")
def test_whoever_lost_its_scheduler_goes_on_with_another_by_the_same_bits(
    psephos: Psephos, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = psephos(*TRIALS, *HOW, "--out", "alone")
    assert alone.status == 0, alone.err
    with Daemons(tmp_path) as lost:

        @contextlib.contextmanager
        def opened(address: str, **_: object) -> Generator[Pool]:
            with open_cluster(address) as pool:
                yield Interrupted(pool, lost.scheduler.kill)

        monkeypatch.setattr(cluster, "open_cluster", opened)
        ended = psephos(*TRIALS, *HOW, "--out", "shared", "--cluster", lost.address)
    assert (ended.status, ended.err.count("Traceback")) == (1, 0)
    assert f"the scheduler {lost.address} is gone, or was restarted" in ended.err
    assert Path("shared/finished.jsonl").read_bytes().count(b"\n") > 1
    monkeypatch.setattr(cluster, "open_cluster", open_cluster)
    with Daemons(tmp_path) as other:
        resumed = psephos(*TRIALS, *HOW, "--resume", "shared", "--cluster", other.address)
    assert resumed.status == 0, resumed.err
    assert Path("shared/trials.csv").read_bytes() == Path("alone/trials.csv").read_bytes()


@pytest.mark.full("a disk that fills, and workers that begin again")
def test_whoever_s_disk_was_full_goes_on_where_there_is_room(psephos: Psephos, tmp_path: Path) -> None:
    assert psephos(*TRIALS, *HOW, "--out", "alone").status == 0
    words = (*TRIALS, *HOW, "--cluster", "local", "--workers", 1)
    with Process(*words, "--out", "shared", folder=tmp_path, is_measured=False, ulimit="-f 8") as process:
        ended = process.ending()
    assert (ended.status, ended.err.count("Traceback")) == (1, 0), ended
    assert "shared/finished.jsonl" in ended.err
    assert Path("shared/finished.jsonl").stat().st_size <= 8 * 512
    resumed = psephos(*TRIALS, *HOW, "--resume", "shared")
    assert resumed.status == 0, resumed.err
    assert Path("shared/trials.csv").read_bytes() == Path("alone/trials.csv").read_bytes()


@pytest.mark.full("workers begin, with keys of their own")
def test_workers_are_reached_over_tls_where_dask_has_it_and_by_nobody_without_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dask: Any = pytest.importorskip("dask", reason="dask is not installed")
    identity, keys = make_identity(), tmp_path / "keys.pem"
    keys.write_bytes(identity.private_key + identity.certificate_pem.encode())
    files = [word for kind in ("ca-file", "cert", "key") for word in (f"--tls-{kind}", keys)]
    with Daemons(tmp_path, "--protocol", "tls", *files) as daemons:
        assert daemons.address.startswith("tls://")
        monkeypatch.setattr(cluster, "_SECONDS_TO_FIND", 3.0)
        for address, is_encrypted in ((daemons.address, False), ("tcp://127.0.0.1:9", True)):
            refused = pytest.raises(
                ConfigurationError, match=r"^--cluster is .*: use 'local', or .* that is there \(.+\)"
            )
            require = dask.config.set({"distributed.comm.require-encryption": is_encrypted})
            with require, refused as caught, open_cluster(address):
                pass
            assert "\n" not in str(caught.value)
        own = {f"distributed.comm.tls.{field}": str(keys) for field in ("ca-file", "client.cert", "client.key")}
        encrypted = {"distributed.comm.require-encryption": True, **own}
        with dask.config.set(encrypted), open_cluster(daemons.address) as pool:
            shared = [cell.trials for cell in tried(pool=pool)]
    assert shared == [cell.trials for cell in tried(workers=1)]


_COLLECTS: Final = """
import dask, distributed.utils, gc
from psephos.protocol.errors import ConfigurationError
from psephos.scenarios.running import cluster

def refuse():
    try:
        with dask.config.set({"distributed.comm.require-encryption": True}), cluster.open_cluster("tcp://127.0.0.1:9"):
            raise SystemExit("nobody is there")
    except ConfigurationError:
        pass

gc.disable()
refuse()
begin = distributed.utils._CollectErrorThread.__init__
distributed.utils._CollectErrorThread.__init__ = lambda *args, **options: (gc.collect(), begin(*args, **options))[1]
refuse()
"""


@pytest.mark.full("a process begins")
def test_a_refused_cluster_does_not_hold_up_the_next_one_for_ever() -> None:
    """Whatever is left of the first may be collected as the second begins, with Dask's lock held."""
    pytest.importorskip("dask", reason="dask is not installed")
    subprocess.run([sys.executable, "-c", _COLLECTS], check=True, timeout=60)  # noqa: S603  our own words
