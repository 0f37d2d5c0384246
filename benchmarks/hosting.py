"""Many parties of few hosts at one server, by the commands that hold a session: seconds, CPU and memory of each.

    python benchmarks/hosting.py                                  # 2,000 parties: of one host
    python benchmarks/hosting.py --parties 100000 --hosts 10      # minutes

Everything is a process of its own on this machine, over TLS, with secure noise and with journals.
"""

import argparse
import contextlib
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from time import perf_counter
from typing import Any

__all__: list[str] = []

_SCENARIO = """protocol = "dpwevote"
partners = "parties.csv"
deadline_seconds = 3600
[parameters]
candidates = ["merger"]
public_weights = true
epsilon = 1.0
"""


def _start(folder: pathlib.Path, *words: object, **options: Any) -> subprocess.Popen[Any]:
    command = [sys.executable, "-m", "psephos.scenarios.cli", *map(str, words)]
    return subprocess.Popen(command, cwd=folder, **options)  # noqa: S603  our own


def _end(process: subprocess.Popen[Any], what: str) -> str:
    """Wait for a process, and return what it took.

    Raises:
        RuntimeError: it failed.
    """
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{what} ended with status {process.returncode}")
    return f"{usage.ru_utime + usage.ru_stime:.1f} s of CPU, {usage.ru_maxrss / 1e3:,.0f} MB"


def _write(path: pathlib.Path, places: Sequence[int], *, own: bool) -> None:
    header, end = ("partner,weight,merger\n", ",{}\n") if own else ("partner,weight\n", "\n")
    lines = (f"party-{place:06},{1 + place % 3}{end.format(place % 2)}" for place in places)
    path.write_text(header + "".join(lines), encoding="ascii")


def _hold(folder: pathlib.Path, *, num_parties: int, num_hosts: int) -> None:
    (folder / "vote.toml").write_text(_SCENARIO, encoding="ascii")
    _write(folder / "parties.csv", range(num_parties), own=False)
    hosts = [f"host-{number}" for number in range(num_hosts)]
    for number, name in enumerate(hosts):
        places = range(number * num_parties // num_hosts, (number + 1) * num_parties // num_hosts)
        _write(folder / f"{name}.csv", places, own=True)
        enrolled = folder / "keys" / name
        _end(
            _start(folder, "enroll", name, "--parties", f"{name}.csv", "--out", enrolled, stdout=subprocess.DEVNULL),
            name,
        )
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{reserved.getsockname()[1]}"
    drawn = ("roster", "vote.toml", "--enrolled", "keys", "--address", address, "--out", "drawn")
    print("drawing up:", _end(_start(folder, *drawn, stdout=subprocess.DEVNULL), "roster"), flush=True)
    served = ("serve", "vote.toml", "--roster", "drawn", "--no-pictures", "--json", "--out", "served")
    invitations = sorted((folder / "drawn" / "invitations").iterdir())
    for place, path in enumerate(invitations):  # each host is given its own
        own = folder / f"invitations-{hosts[place * num_hosts // num_parties]}"
        own.mkdir(exist_ok=True)
        path.rename(own / path.name)
    with contextlib.ExitStack() as stack:
        _serve(folder, served, hosts, num_parties, stack)


def _serve(
    folder: pathlib.Path, served: Sequence[str], hosts: Sequence[str], num_parties: int, stack: contextlib.ExitStack
) -> None:
    server = _start(folder, *served, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    stack.callback(server.kill)
    assert server.stderr is not None  # noqa: S101  it is a pipe
    while b"listening" not in server.stderr.readline():
        pass
    began = perf_counter()
    joined = [
        _start(
            folder,
            *("join", f"invitations-{name}", "--parties", f"{name}.csv", "--key", f"keys/{name}"),
            *("--journal", f"journals/{name}.sqlite", "--witness", "witness", "--out", f"as-{name}", "--json"),
            stdout=subprocess.DEVNULL,
        )
        for name in hosts
    ]
    for process in joined:
        stack.callback(process.kill)
    for name, process in zip(hosts, joined, strict=True):
        print(f"{name}:", _end(process, name), flush=True)
    print("server:", _end(server, "server"))
    seconds = perf_counter() - began
    print(
        f"{num_parties:,} parties of {len(hosts)} hosts: {seconds:.1f} s, {num_parties / seconds:,.0f} parties a second"
    )


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parties", type=int, default=2_000)
    parser.add_argument("--hosts", type=int, default=1)
    options = parser.parse_args()
    with contextlib.chdir(tempfile.gettempdir()), tempfile.TemporaryDirectory() as folder:
        _hold(pathlib.Path(folder), num_parties=options.parties, num_hosts=options.hosts)


if __name__ == "__main__":
    _main()
