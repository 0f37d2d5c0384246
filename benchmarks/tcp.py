"""TCP and TLS on the loopback interface: one connection full of small payloads, and whole sessions over many."""

import itertools
import pathlib
import resource
import ssl
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import perf_counter

import trio
from harness import Rows, turns
from psephos.transports import Channel, TCPTransport, TLSTransport, Transport
from psephos.transports.keys import Identity, make_identity
from sessions import ANSWERS_OF_EACH, CrowdSession, Session, Transcript, Vote, run_raw

_HOST = "127.0.0.1"
_READ_BYTES = 1 << 16
_HEADER_BYTES = 4
_BATCH = 256  # as many as an agent lets wait for one peer
_Wrap = Callable[[trio.SocketStream, int], trio.abc.Stream]


def tcp(*, quick: bool) -> Rows:
    """Yield payloads a second on one connection, and the time of a whole session over many."""
    payload = Vote(10).transcript().ups[0][1]
    batches = [[payload] * _BATCH] * (100 if quick else 1_000)
    yield turns(
        7,
        ours=lambda: trio.run(_time_our_connection, batches),
        raw=lambda: trio.run(_time_raw_connection, batches),
    ).row(
        f"one TCP connection, reports of {len(payload)} bytes, {_BATCH} a write",
        number=_BATCH * len(batches),
        show="{:,.0f} messages/s",
        target="≥ 0.4",
    )
    number = 200 if quick else 1_000
    vote, keys, transport = Vote(number), Keyring(number), TCPTransport()
    what = f"session over TCP, {number:,} partners in one process"
    yield from _beside_frames(what, vote, 7, {"": (partial(vote.run, transport), "≤ 1.4")})
    crowd = CrowdSession(number)
    what = f"truth discovery over TCP, {number:,} workers with {ANSWERS_OF_EACH} answers each in one process, events "
    to_file = partial(crowd.run_with_events, transport)
    ours = {"to a file": (to_file, ""), "off": (partial(crowd.run, transport), "≤ 1.8")}
    yield from _beside_frames(what, crowd, 3, ours)
    what = f"session over TLS, {number:,} partners with a certificate each in one process"
    over_tls = partial(vote.run, _TLSOfEach(keys))
    yield from _beside_frames(what, vote, 3, {"": (over_tls, "≤ 1.1")}, *_raw_tls(keys))


class Keyring:
    """A server's key, and one for each party.

    Args:
        num_parties: how many there are.
    """

    def __init__(self, num_parties: int) -> None:
        self.server, *self.parties = [make_identity() for _ in range(1 + num_parties)]

    @property
    def certificates(self) -> list[bytes]:
        """The parties'."""
        return [party.certificate for party in self.parties]

    def transports(self) -> list[Transport]:
        """Return each party's way to the server."""
        return [TLSTransport(party, peers=[self.server.certificate]) for party in self.parties]


class _TLSOfEach(TLSTransport):
    """TLS as a deployment has it: every connection is the next party's, by its own key."""

    def __init__(self, keys: Keyring) -> None:
        super().__init__(keys.server, peers=keys.certificates)
        self._next = itertools.cycle(keys.transports())

    async def connect(self, address: str) -> Channel:
        return await next(self._next).connect(address)


def _bare(stream: trio.SocketStream, _: int) -> trio.abc.Stream:
    return stream


def _raw_tls(keys: Keyring) -> tuple[_Wrap, _Wrap]:
    """Return both ends of trio's TLS with the same certificates, checked by OpenSSL alone."""
    server = context_of(ssl.PROTOCOL_TLS_SERVER, keys.server, keys.certificates)
    parties = [context_of(ssl.PROTOCOL_TLS_CLIENT, party, [keys.server.certificate]) for party in keys.parties]
    return (
        lambda stream, _: trio.SSLStream(stream, server, server_side=True),
        lambda stream, place: trio.SSLStream(stream, parties[place]),
    )


def context_of(kind: int, own: Identity, peers: Sequence[bytes]) -> ssl.SSLContext:
    """Return a context as `psephos.transports.tls` has it."""
    context = ssl.SSLContext(kind)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if kind == ssl.PROTOCOL_TLS_SERVER:
        context.num_tickets = 0
    with tempfile.TemporaryDirectory() as folder:
        own.write(file := pathlib.Path(folder) / "key.pem")
        context.load_cert_chain(file)
    context.load_verify_locations(cadata=b"".join(peers))
    return context


def _beside_frames(
    what: str,
    session: Session,
    times: int,
    ours: Mapping[str, tuple[Callable[[], object], str]],
    accepted: _Wrap = _bare,
    reached: _Wrap = _bare,
) -> Rows:
    """Yield a row for each way to run a session, beside the raw exchange of its frames.

    Args:
        what: is measured.
        session: whose frames.
        times: turns for each.
        ours: by what it adds to `what`, a way to run it and its target.
        accepted: what the raw exchange goes through at the server.
        reached: likewise at a party.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(2 * len(session.names) + 64, hard)), hard))
    frames = session.transcript().framed()
    raw = partial(run_raw, _streams, frames, accepted, reached)
    found = turns(times, raw=raw, **{name: run for name, (run, _) in ours.items()})
    for name, (_, target) in ours.items():
        yield found.row(f"{what}{name}", name, target=target)


async def _time_our_connection(batches: Sequence[Sequence[bytes]]) -> float:
    transport = TCPTransport()
    async with (
        await transport.open_listener() as listener,
        await transport.connect(listener.address) as near,
        await listener.accept() as far,
        trio.open_nursery() as nursery,
    ):

        async def send() -> None:
            for batch in batches:
                await near.send(batch)

        missing = sum(map(len, batches))
        begin = perf_counter()
        nursery.start_soon(send)
        while missing:
            missing -= len(await far.receive())
        return perf_counter() - begin


async def _time_raw_connection(batches: Sequence[Sequence[bytes]]) -> float:
    listener, *_ = await trio.open_tcp_listeners(0, host=_HOST)
    async with (
        listener,
        await trio.open_tcp_stream(_HOST, listener.socket.getsockname()[1]) as near,
        await listener.accept() as far,
        trio.open_nursery() as nursery,
    ):

        async def send() -> None:
            for batch in batches:
                framed = [len(payload).to_bytes(_HEADER_BYTES, "big") + payload for payload in batch]
                await near.send_all(b"".join(framed))

        missing = sum(map(len, batches))
        rest = b""
        begin = perf_counter()
        nursery.start_soon(send)
        while missing:
            payloads, rest = _split(rest + await far.receive_some(_READ_BYTES))
            missing -= len(payloads)
        return perf_counter() - begin


def _split(data: bytes) -> tuple[list[bytes], bytes]:
    """Return the payloads in `data`, and the beginning of the next one."""
    payloads: list[bytes] = []
    at = 0
    while (start := at + _HEADER_BYTES) <= len(data):
        stop = start + int.from_bytes(data[at:start], "big")
        if stop > len(data):
            break
        payloads.append(data[start:stop])
        at = stop
    return payloads, data[at:]


async def _streams(frames: Transcript, accepted: _Wrap, reached: _Wrap) -> int:
    """Send a transcript's frames through bare streams: two tasks a party, and nothing else."""
    num_parties = len(frames.ups)
    streams: list[trio.abc.Stream] = []
    at_server = at_clients = 0

    async def accept(listener: trio.SocketListener, nursery: trio.Nursery) -> None:
        async with listener:
            for place, downs in enumerate(frames.downs):
                streams.append(accepted(await listener.accept(), place))
                nursery.start_soon(serve, streams[place], downs[0])

    async def serve(stream: trio.abc.Stream, welcome: bytes) -> None:
        nonlocal at_server
        rest = b""
        async with stream:
            while data := await stream.receive_some(_READ_BYTES):
                payloads, rest = _split(rest + data)
                for _ in payloads:
                    if welcome:
                        await stream.send_all(welcome)
                        welcome = b""
                    at_server += 1
                    if at_server % num_parties == 0:
                        for other, told in zip(streams, frames.downs, strict=True):
                            await other.send_all(told[at_server // num_parties])

    async def take_part(stream: trio.abc.Stream, ups: Sequence[bytes]) -> None:
        nonlocal at_clients
        answers = [b"", *ups[1:], b""]  # to Welcome, to each Request, to Release
        rest = b""
        async with stream:
            await stream.send_all(ups[0])
            while answers:
                payloads, rest = _split(rest + await stream.receive_some(_READ_BYTES))
                for _ in payloads:
                    at_clients += 1
                    if answer := answers.pop(0):
                        await stream.send_all(answer)

    async with trio.open_nursery() as nursery:
        listener, *_ = await trio.open_tcp_listeners(0, host=_HOST, backlog=4096)
        nursery.start_soon(accept, listener, nursery)
        for place, ups in enumerate(frames.ups):
            stream = await trio.open_tcp_stream(_HOST, listener.socket.getsockname()[1])
            nursery.start_soon(take_part, reached(stream, place), ups)
    return at_server + at_clients
