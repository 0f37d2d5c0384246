"""Many parties of few hosts at one server, by the commands that hold a session: seconds, CPU and memory of each.

    python benchmarks/hosting.py                                  # 2,000 parties: of one host
    python benchmarks/hosting.py --parties 100000 --hosts 10      # minutes

Everything is a process of its own on this machine, over TLS, with secure noise and with journals.
"""

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from harness import options

_SCENARIO = """protocol = "dpwevote"
partners = "parties.csv"
deadline_seconds = 3600
[parameters]
candidates = ["merger"]
public_weights = true
epsilon = 1.0
"""


def _start(folder: Path, *words: object, **more: Any) -> subprocess.Popen[Any]:
    command = [sys.executable, "-m", "psephos.scenarios.cli", *map(str, words)]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, **more)  # noqa: S603  our own


def _end(what: str, process: subprocess.Popen[Any]) -> None:
    """Wait for a process, and print what it took.

    Raises:
        RuntimeError: it failed.
    """
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{what} ended with status {process.returncode}")
    seconds = usage.ru_utime + usage.ru_stime
    print(f"{what}: {seconds:.1f} s of CPU, {usage.ru_maxrss / 1e3:,.0f} MB")


def _write(path: Path, places: range, *, own: bool) -> None:
    lines = [f"party-{place:06},{1 + place % 3}" + f",{place % 2}" * own for place in places]
    path.write_text("\n".join(["partner,weight" + ",merger" * own, *lines, ""]))


def _hold(folder: Path, number: int, num_hosts: int) -> None:
    (folder / "vote.toml").write_text(_SCENARIO)
    _write(folder / "parties.csv", range(number), own=False)
    hosts = [f"host-{place}" for place in range(num_hosts)]
    for place, name in enumerate(hosts):
        _write(folder / f"{name}.csv", range(place * number // num_hosts, (place + 1) * number // num_hosts), own=True)
        _end(f"enroll {name}", _start(folder, "enroll", name, "--parties", f"{name}.csv", "--out", f"keys/{name}"))
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        address = f"127.0.0.1:{reserved.getsockname()[1]}"
    drawn = ("roster", "vote.toml", "--enrolled", "keys", "--address", address, "--out", "drawn")
    _end("drawing up", _start(folder, *drawn))
    for place, path in enumerate(sorted((folder / "drawn" / "invitations").iterdir())):  # each host is given its own
        own = folder / f"invitations-{hosts[place * num_hosts // number]}"
        own.mkdir(exist_ok=True)
        path.rename(own / path.name)
    served = ("serve", "vote.toml", "--roster", "drawn", "--no-pictures", "--json", "--out", "served")
    server = _start(folder, *served, stderr=subprocess.PIPE)
    processes = {"server": server}
    try:
        assert server.stderr is not None  # noqa: S101  it is a pipe
        while b"listening" not in server.stderr.readline():
            pass
        begin = perf_counter()
        for name in hosts:
            own = ("--parties", f"{name}.csv", "--key", f"keys/{name}", "--journal", f"journals/{name}.sqlite")
            words = ("join", f"invitations-{name}", *own, "--witness", "witness", "--out", f"as-{name}", "--json")
            processes[name] = _start(folder, *words)
        for name, process in reversed(processes.items()):
            _end(name, process)
        seconds = perf_counter() - begin
    finally:
        for process in processes.values():
            process.kill()
    print(f"{number:,} parties of {num_hosts} hosts: {seconds:.1f} s, {number / seconds:,.0f} parties a second")


if __name__ == "__main__":
    asked = options(__doc__, parties=2_000, hosts=1)
    with tempfile.TemporaryDirectory() as temporary:
        _hold(Path(temporary), asked.parties, asked.hosts)
