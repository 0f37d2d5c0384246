"""A Dask cluster (the extra `cluster`) as a pool, whose workers run tasks in place of local processes.

A task's key is a digest of its module, parameters, indices and files. Its result depends on nothing else, so a task
that is repeated after its worker died gives the same bits. Each task is tried three times. Tasks never draw secure
noise. The network, with addresses and certificates, is configured in Dask.
"""

import contextlib
import gc
import hashlib
import importlib
import logging
import time
import urllib.parse
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from typing import Any, Final, cast

from ...protocol.errors import ConfigurationError, PsephosError, require
from ..plugins import load
from .journaling import installed_versions
from .processes import Pool, TaskError, num_cores

LOCAL: Final = "local"
_TRIES: Final = 3
_OF_LOCAL: Final = {
    "distributed.scheduler.allowed-failures": _TRIES - 1,
    "distributed.deploy.lost-worker-timeout": "1 hour",  # time in which a busy worker may return
}
_SECONDS_WORTH_A_TASK: Final = 5.0
_SECONDS_TO_FIND: Final = 10.0
_SECONDS_FOR_WORKERS: Final = 60.0
_SECONDS_TO_LOOK: Final = 5.0  # interval of checks for workers while there is no answer
_AHEAD: Final = 32  # tasks in addition to two for each worker, for clusters that grow with their queue


@contextlib.contextmanager
def open_cluster(address: str, *, workers: int = 0) -> Generator[Pool]:
    """Connect to the workers of a scheduler, or start local ones.

    Args:
        address: the scheduler's address, such as "tcp://10.0.0.1:8786"; or `LOCAL`.
        workers: number of processes for `LOCAL`; 0 for one on each core.

    Raises:
        ConfigurationError: Dask is not installed, there is no scheduler or worker, or a worker has another version.
    """
    allowed = "left out; or pip install 'psephos[cluster]'"
    distributed: Any = None  # an optional dependency
    with contextlib.suppress(ImportError):
        distributed = importlib.import_module("distributed")
    require(distributed, "--cluster", address, allowed)
    allowed = f"{LOCAL!r}, or the address of a scheduler, as tcp://10.0.0.1:8786"
    require(address == LOCAL or _is_address(address), "--cluster", address, allowed)
    for name in [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]:
        logging.getLogger(name).setLevel(logging.CRITICAL)  # errors are reported in one line instead
    with contextlib.ExitStack() as stack:
        cluster_address: Any = address
        if address == LOCAL:
            dask: Any = importlib.import_module("dask")
            stack.enter_context(dask.config.set(_OF_LOCAL))
            cluster_address = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=workers or num_cores(),
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",  # otherwise it would listen on all interfaces
                    silence_logs=logging.CRITICAL,
                )
            )
        gc.collect()  # otherwise a refused earlier client may be closed while Dask's lock is held, and deadlock
        try:
            client = stack.enter_context(distributed.Client(cluster_address, timeout=_SECONDS_TO_FIND))
        # RuntimeError and TypeError come from encryption
        except (OSError, RuntimeError, TypeError, ValueError) as error:
            allowed = f"{LOCAL!r}, or the address of a scheduler that is there ({error})"
            raise ConfigurationError(field="--cluster", value=address, allowed=allowed) from None
        yield _Cluster(client, distributed, address)


def _is_address(text: str) -> bool:
    try:
        parts = urllib.parse.urlsplit(text)
        return bool(parts.scheme and parts.hostname and parts.port)
    except ValueError:
        return False


class _Cluster:
    """The workers of a scheduler."""

    least_seconds = _SECONDS_WORTH_A_TASK

    def __init__(self, client: Any, distributed: Any, address: str) -> None:
        self._client, self._distributed, self._address = client, distributed, address
        try:
            client.wait_for_workers(1, timeout=_SECONDS_FOR_WORKERS)
        except TimeoutError:
            allowed = "a scheduler with a worker at least"
            raise ConfigurationError(field="--cluster", value=address, allowed=allowed) from None
        versions_found: Mapping[str, Any] = client.run(installed_versions, on_error="return")
        for worker, versions in versions_found.items():
            _check_versions(worker, versions)
        self.num_workers = len(versions_found)

    def answers(self, module: str, tasks: Iterable[bytes]) -> Generator[tuple[int, bytes | None]]:
        remaining_tasks, own_versions_here = enumerate(tasks), installed_versions()
        numbers: dict[Any, int] = {}  # numbers of pending futures

        def hand() -> None:
            if (next_task := next(remaining_tasks, None)) is not None:
                number, task = next_task
                key = f"psephos-{hashlib.sha256(module.encode() + task).hexdigest()}"
                submit_options = {"key": key, "retries": _TRIES - 1, "pure": False}
                numbers[self._client.submit(answer_task, module, task, own_versions_here, **submit_options)] = number

        for _ in range(2 * self.num_workers + _AHEAD):
            hand()
        while numbers:
            for future in self._done_of(numbers):
                number = numbers.pop(future)
                if future.status == "error":
                    raise TaskError(_said(future.exception()), number=number)
                try:
                    worker, versions, answer = future.result()
                except (OSError, self._distributed.CancelledError):
                    reason = f"the scheduler {self._address} is gone, or was restarted"
                    raise TaskError(reason, number=number) from None
                _check_versions(worker, versions)
                hand()
                yield number, answer

    def _done_of(self, numbers: Mapping[Any, int]) -> Collection[Any]:
        """Wait for some of these futures; stop if all workers are gone."""
        since = time.monotonic()
        while True:
            try:
                wait_options = {"timeout": _SECONDS_TO_LOOK, "return_when": "FIRST_COMPLETED"}
                return self._distributed.wait(list(numbers), **wait_options).done
            except self._distributed.CancelledError:
                return [future for future in numbers if future.status == "cancelled"]
            except TimeoutError:
                if self._client.scheduler_info()["workers"]:
                    since = time.monotonic()
            if time.monotonic() - since > _SECONDS_FOR_WORKERS:
                reason = f"the scheduler {self._address} has had no worker for {_SECONDS_FOR_WORKERS:g} s"
                raise TaskError(reason, number=min(numbers.values()))


def answer_task(module: str, task: bytes, versions: Mapping[str, str]) -> tuple[str, Mapping[str, str], bytes]:
    """Run a task on a worker with matching versions; return the worker's address and versions, and the answer.

    RuntimeError: any exception, as text, since not every exception can be pickled.
    """
    worker = str(importlib.import_module("distributed").get_worker().address)
    if installed_versions() != versions:
        return worker, installed_versions(), b""
    try:
        return worker, versions, load(f"{module}:work", Callable, field="task", name=module)(task)
    except Exception as error:  # noqa: BLE001  a plugin's own among them
        reason = str(error) if isinstance(error, PsephosError) else f"{type(error).__name__}: {error}"
        raise RuntimeError(f"{reason} (worker {worker}, {_TRIES} times)") from None


def _check_versions(worker: str, versions: Any) -> None:
    versions_here = installed_versions()
    versions_text = ", ".join(f"{name} {version}" for name, version in versions_here.items())
    for name, version in versions_here.items():
        version_found = cast("dict[str, str]", versions).get(name) if isinstance(versions, dict) else str(versions)
        allowed = f"as here ({versions_text})"
        require(version_found == version, f"{name} of worker {worker}", version_found, allowed)


def _said(error: BaseException) -> str:
    if type(error).__name__ == "KilledWorker":
        last: Any = getattr(error, "last_worker", None)
        number = int(getattr(error, "allowed_failures", 0)) + 1
        return f"each of {number} workers that ran it died (the last: {last.address})"
    return str(error)
