"""Thousands of parties at one server: the time of a vote, the memory of a connection, and how soon a report counts.

The server is a process of its own, whose memory is then the server's. The parties are tasks of this process, each with
a connection of its own, over TLS with a key of its own. They come one after another without a pause, and all
report at once: a report waits for those before it. Both processes share the machine. Alone, by hand:

    python benchmarks/one_server.py
"""

import contextlib
import math
import pathlib
import subprocess
import sys
from collections.abc import Generator, Iterator, Sequence
from time import monotonic
from typing import IO, Final

import msgspec
import trio
from psephos.agents import CloudServer, Deployment, Partner, SecureNoise, draw_session_id
from psephos.protocol import Charter, Party, Roster
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.messages import Hello, decode
from psephos.scenarios.running.limits import calm_collector, reserve_for_server
from psephos.transports import TCPTransport, TLSTransport
from psephos.transports.abc import Channel, Listener, Transport
from psephos.transports.keys import Identity, fingerprint_of
from psephos.transports.shared import SharedTransport
from table import Row, at_most, skipped, to_text
from tcp import Keyring
from votes import Vote

__all__ = ["measure"]

_SESSION: Final = "benchmark"
_PERCENTILE: Final = 0.99
_HOSTED: Final = "hosted"
_MOST_KILOBYTES: Final = {"tcp": 30.0, "tls": 100.0}


class _Order(msgspec.Struct, frozen=True):
    """What a server's process is to serve.

    Args:
        num_parties: how many partners vote.
        session_id: the session's.
        key: the server's, with its certificate; empty over TCP.
        certificates: each party's; none over TCP.
    """

    num_parties: int
    session_id: str
    key: str = ""
    certificates: tuple[bytes, ...] = ()


class _Served(msgspec.Struct, frozen=True):
    """What a server's process has measured.

    Args:
        memory: bytes before anybody came, and at most.
        accepted: when each party's reports had been accepted, by the system's clock.
    """

    memory: tuple[int, int]
    accepted: dict[str, list[float]]


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield seconds of a vote of many, the server's memory for a connection, and how late the last hundredth counts."""
    sizes = (
        (("tcp", 500), ("tls", 200), (_HOSTED, 200)) if quick else (("tcp", 5_000), ("tls", 2_000), (_HOSTED, 2_000))
    )
    for transport, num_parties in sizes:
        what = f"{num_parties:,} parties over {transport.upper()} at one server"
        if transport == _HOSTED:
            what = f"{num_parties:,} parties of one host over TLS at one server"
        try:
            reserve_for_server(num_parties=num_parties)  # which the parties' process needs, too
        except ConfigurationError as error:
            yield skipped(what, str(error))
            continue
        yield from _measure_vote(what, transport, num_parties, is_small=quick)


def _measure_vote(what: str, transport: str, num_parties: int, *, is_small: bool) -> Iterator[Row]:
    vote = Vote(num_parties)
    order = _Order(num_parties, draw_session_id())
    parties: Sequence[Transport] = [TCPTransport()] * num_parties
    if transport != TCPTransport.name:
        keys = Keyring(1 if transport == _HOSTED else num_parties)
        order = msgspec.structs.replace(order, key=keys.server.text, certificates=tuple(keys.certificates))
        parties = [TLSTransport(party, peers=[keys.server.certificate]) for party in keys.parties]
    with _serving(order) as (address, answers):
        begin = monotonic()
        sent = trio.run(_take_part, vote, parties, address, order)
        seconds = monotonic() - begin
        served = msgspec.json.decode(answers.read(), type=_Served)
    if transport == _HOSTED:
        yield Row(what, f"{seconds:.2f} s")
        return
    delays = sorted(
        accepted - left
        for name, times in sent.items()
        for left, accepted in zip(times, served.accepted[name], strict=True)
    )
    before, most = served.memory
    kilobytes = (most - before) / num_parties / 1000
    yield Row(what, f"{seconds:.2f} s")
    yield Row(
        f"{what}: its memory for each connection",
        f"{kilobytes:.0f} KB",
        goal=at_most(kilobytes, None if is_small else _MOST_KILOBYTES[transport], unit=" KB"),
    )
    last = delays[math.ceil(_PERCENTILE * len(delays)) - 1]
    yield Row(f"{what}: from report to acceptance, 99th percentile", f"{last:.2f} s")


class _Noted(Channel):
    """A channel that notes when something is sent, and when the next receipt is asked for: what came before is done.

    Args:
        channel: what it is.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.sent: list[float] = []
        self.asked: list[float] = []
        self.first = b""

    async def send(self, payloads: Sequence[bytes]) -> None:
        self.sent.append(monotonic())
        await self._channel.send(payloads)

    def send_nowait(self, payload: bytes) -> None:
        now = monotonic()
        self._channel.send_nowait(payload)
        self.sent.append(now)  # of what would wait, `send` takes note

    async def receive(self) -> list[bytes]:
        self.asked.append(monotonic())
        payloads = await self._channel.receive()
        self.first = self.first or payloads[0]
        return payloads

    def limit_payloads(self, max_payload_bytes: int) -> None:
        self._channel.limit_payloads(max_payload_bytes)

    def close(self) -> None:
        self._channel.close()

    @property
    def peer(self) -> str:
        return self._channel.peer

    @property
    def peer_fingerprint(self) -> str:
        return self._channel.peer_fingerprint


class _NotedListener(Listener):
    """A listener whose channels note times.

    Args:
        listener: what it is.
    """

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self.channels: list[_Noted] = []

    @property
    def address(self) -> str:
        return self._listener.address

    async def accept(self) -> Channel:
        channel = _Noted(await self._listener.accept())
        self.channels.append(channel)
        return channel

    async def aclose(self) -> None:
        await self._listener.aclose()


async def _take_part(
    vote: Vote, transports: Sequence[Transport], address: str, order: _Order
) -> dict[str, list[float]]:
    """Let all parties vote; return when each sent its reports."""
    channels: dict[str, _Noted] = {}
    mode = Deployment(_SESSION, SecureNoise(), Charter(order.session_id))
    rows: list[list[int]] = vote.inputs.private.tolist()
    with calm_collector(len(rows)):
        async with trio.open_nursery() as nursery:
            if len(transports) < len(rows):  # a host's
                transports = [SharedTransport(transports[0], nursery)] * len(rows)
            for place, (name, transport) in enumerate(zip(vote.names, transports, strict=True)):
                client = Partner(vote.protocol, Party(name, place, rows[place]), mode)
                channels[name] = _Noted(await transport.connect(address))
                nursery.start_soon(client.take_part, channels[name])
    return {name: channel.sent[1:] for name, channel in channels.items()}  # a Hello comes first


@contextlib.contextmanager
def _serving(order: _Order) -> Generator[tuple[str, IO[bytes]]]:
    """Let a process serve a vote; yield its address, and where it answers in the end."""
    with subprocess.Popen([sys.executable, __file__, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:  # noqa: S603  our own
        try:
            assert server.stdin is not None  # noqa: S101  both are pipes
            assert server.stdout is not None  # noqa: S101  it is a pipe
            server.stdin.write(msgspec.json.encode(order))
            server.stdin.close()
            yield server.stdout.readline().decode().strip(), server.stdout
        finally:
            server.kill()


# The server's process


def _serve(order: _Order) -> None:
    vote = Vote(order.num_parties)
    transport = TCPTransport()
    fingerprints = None
    if order.key:
        identity = Identity.of(order.key)
        transport = TLSTransport(identity, peers=order.certificates)
        fingerprints = list(map(fingerprint_of, order.certificates)) * (order.num_parties // len(order.certificates))
    server = CloudServer(
        vote.protocol,
        Roster(vote.names, vote.inputs.public, fingerprints=fingerprints),
        Deployment(_SESSION, SecureNoise(), Charter(order.session_id)),
        places=reserve_for_server(num_parties=order.num_parties),
    )
    before = _memory("VmRSS")
    with calm_collector(order.num_parties):
        channels = trio.run(_serve_over, server, transport)
    accepted = dict(map(_accepted, channels)) if len(channels) == order.num_parties else {}
    served = _Served((before, _memory("VmHWM")), accepted)
    sys.stdout.buffer.write(msgspec.json.encode(served))


async def _serve_over(server: CloudServer, transport: Transport) -> list[_Noted]:
    listening = _NotedListener(await transport.open_listener())
    print(listening.address, flush=True)
    await server.serve(listening)
    return listening.channels


def _accepted(channel: _Noted) -> tuple[str, list[float]]:
    """Return whose channel it is, and when each of its reports had been taken."""
    hello = decode(channel.first)
    if not isinstance(hello, Hello):
        raise TypeError(f"a party began with {type(hello).__name__}")
    return hello.party, channel.asked[2:]  # one that waits for Hello, one for the first report


def _memory(field: str) -> int:
    status = pathlib.Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(f"{field}:"))


def _main(arguments: Sequence[str]) -> None:
    if arguments:
        _serve(msgspec.json.decode(sys.stdin.buffer.read(), type=_Order))
    else:
        print(to_text(list(measure(quick=False))))


if __name__ == "__main__":
    _main(sys.argv[1:])
