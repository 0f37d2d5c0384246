"""A vote of fifty parties on a real server, while strangers do to it what they can: how much longer, how much memory.

The server is a process of its own, the parties are tasks of this one, and the strangers are a third process on the same
machine, which is busy without a pause: they take a core that the vote would have, too. Alone, by hand:

    python benchmarks/denial_of_service.py
"""

import contextlib
import itertools
import pathlib
import resource
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Final

import trio
from psephos.scenarios.deployment import Joining, join
from psephos.transports.addresses import parse_address
from table import Row, at_most, to_text

__all__ = ["measure"]

_NUM_PARTIES: Final = 50
_NUM_CANDIDATES: Final = 10
_SEED: Final = 7
_TRIALS: Final = 3
_MOST_SLOWER: Final = 2.0
_MOST_MEGABYTES: Final = 200
_HEAD_START_SECONDS: Final = 1.0
"""In which strangers come before the parties do."""
_CROWD: Final = 1_300
_GARBAGE: Final = struct.pack(">I", 9) + b"\xc1 garbage"

Address = tuple[str, int]


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield seconds and memory of a vote under each attack, beside those of the same vote without one."""
    for name in _ATTACKS:
        # In turns, so that whatever else the machine does meets both.
        turns = [(_hold_vote(None), _hold_vote(name)) for _ in range(1 if quick else _TRIALS)]
        alone, attacked = (statistics.median(seconds for seconds, _ in held) for held in zip(*turns, strict=True))
        ratio = statistics.median(with_them / without for (without, _), (with_them, _) in turns)
        peak_alone, peak = (max(megabytes for _, megabytes in held) for held in zip(*turns, strict=True))
        what = f"vote of {_NUM_PARTIES} parties over TCP, {name}"
        yield Row(what, f"{attacked:.2f} s", f"{alone:.2f} s", f"{ratio:.2f}", *at_most(ratio, _MOST_SLOWER))
        limits = at_most(peak, _MOST_MEGABYTES, unit=" MB")
        yield Row(f"{what}: the server's memory", f"{peak:.0f} MB", f"{peak_alone:.0f} MB", "", *limits)


def _hold_vote(attack: str | None) -> tuple[float, float]:
    """Hold one vote; return how long it took its parties, and the most megabytes that the server had."""
    with tempfile.TemporaryDirectory() as folder, _serve(pathlib.Path(folder)) as (server, address):
        with _attacked(attack, address):
            began = time.perf_counter()
            trio.run(_take_part, address)
            seconds = time.perf_counter() - began
            megabytes = _peak_megabytes(server.pid)
        return seconds, megabytes


async def _take_part(address: str) -> None:
    async with trio.open_nursery() as nursery:
        for number in range(_NUM_PARTIES):
            entries = {
                "weight": str(1 + number % 3),
                **{f"c{each}": str(number % 2) for each in range(_NUM_CANDIDATES)},
            }
            joining = Joining(
                address=address, party=f"p{number}", entries=entries, seed=_SEED, budget=1000.0, transport="tcp"
            )
            nursery.start_soon(join, joining)


@contextlib.contextmanager
def _serve(folder: pathlib.Path) -> Generator[tuple[subprocess.Popen[bytes], str]]:
    """Serve the vote, with a round for each candidate."""
    candidates = [f"c{number}" for number in range(_NUM_CANDIDATES)]
    rows = [f"p{number},{1 + number % 3}," + ",".join("0" * _NUM_CANDIDATES) for number in range(_NUM_PARTIES)]
    (folder / "parties.csv").write_text("\n".join([f"partner,weight,{','.join(candidates)}", *rows]) + "\n")
    settings = f'candidates = {candidates}\nweight_collection = "per_candidate"\n'.replace("'", '"')
    (folder / "vote.toml").write_text(
        f'protocol = "dpwevote"\npartners = "parties.csv"\nquorum = 0.8\n[parameters]\n{settings}'
    )
    words = ["serve", "vote.toml", "--transport", "tcp", "--listen", "127.0.0.1:0", "--no-pictures", "--out", "served"]
    command = [sys.executable, "-m", "psephos.scenarios.cli", *words, "--simulate", "--seed", str(_SEED)]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:  # noqa: S603  our own
        try:
            assert server.stdout is not None  # noqa: S101  it is a pipe
            line = next(line for line in server.stdout if line.startswith(b"listening on "))
            yield server, line.split()[2].decode()
        finally:
            server.kill()


@contextlib.contextmanager
def _attacked(attack: str | None, address: str) -> Generator[None]:
    """Let strangers in a process of their own do what they do, from a while before to the end."""
    if attack is None:
        yield
        return
    command = [sys.executable, __file__, attack, address]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as strangers:  # noqa: S603  our own
        try:
            time.sleep(_HEAD_START_SECONDS)
            yield
        finally:
            strangers.kill()


def _peak_megabytes(pid: int) -> float:
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM:"))


# What strangers do, without end


def _hold(address: Address, data: bytes, *, at_most: int = _CROWD) -> None:
    """Keep many connections on which something was said, and make new ones for those that were cut off."""
    held: list[socket.socket] = []
    for place in itertools.count():
        connection = socket.create_connection(address)
        with contextlib.suppress(OSError):
            connection.sendall(data)
        if len(held) < at_most:
            held.append(connection)
        else:
            held[place % at_most].close()
            held[place % at_most] = connection


def _drip(address: Address) -> None:
    """Say a Hello on many connections, a byte of it now and then."""
    frame = struct.pack(">I", 4000) + bytes(4000)
    held: list[tuple[socket.socket, Iterator[int]]] = []
    for place in itertools.count():
        if len(held) < _CROWD:
            held.append((socket.create_connection(address), iter(frame)))
        connection, rest = held[place % len(held)]
        try:
            connection.sendall(bytes([next(rest)]))
        except OSError:
            connection.close()
            held[place % len(held)] = socket.create_connection(address), iter(frame)


def _say_and_leave(address: Address, data: bytes) -> None:
    """Connect, say something, and connect again."""
    while True:
        with contextlib.suppress(OSError), socket.create_connection(address) as connection:
            connection.sendall(data)


_ATTACKS: Final[Mapping[str, Callable[[Address], None]]] = {
    "idle connections": lambda address: _hold(address, b""),
    "half frames of 1 MiB": lambda address: _hold(address, struct.pack(">I", 1 << 20) + bytes(1 << 16)),
    "half frames of 4 KB": lambda address: _hold(address, struct.pack(">I", 4096) + bytes(4000)),
    "slow Hellos": _drip,
    "garbage frames": lambda address: _say_and_leave(address, _GARBAGE * 1000),
    "a storm of connections": lambda address: _say_and_leave(address, b""),
}


def _main(arguments: Sequence[str]) -> None:
    if arguments:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))
        name, address = arguments
        _ATTACKS[name](parse_address(address))
    print(to_text(list(measure(quick=False))))


if __name__ == "__main__":
    _main(sys.argv[1:])
