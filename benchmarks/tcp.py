"""TCP and TLS on the loopback interface: one connection full of small payloads, and whole sessions over many."""

import functools
import gc
import itertools
import pathlib
import resource
import ssl
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import ClassVar, Final

import trio
from crowd_sessions import ANSWERS_OF_EACH, CrowdSession
from psephos.transports import TCPTransport, TLSTransport
from psephos.transports.abc import Channel, Listener, Transport
from psephos.transports.keys import Identity, make_identity
from sessions import Session, Transcript, record_transcript
from table import Row, at_least, at_most
from trials import interleave, timed
from votes import Vote

__all__ = ["Keyring", "measure"]

_HOST: Final = "127.0.0.1"
_READ_BYTES: Final = 1 << 16
_BACKLOG: Final = 4096
_HEADER_BYTES: Final = 4
# As many as an agent lets wait for one peer.
_BATCH: Final = 256
_LEAST_OF_CONNECTION: Final = 0.4
_MOST_OF_SESSION: Final = 1.4
_MOST_OF_CROWD_SESSION: Final = 1.8
_MOST_OF_TLS_SESSION: Final = 1.1
_TRIALS: Final = 7
# Its sessions take seconds.
_TRIALS_OF_CROWD: Final = 3


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield payloads a second on one connection, and the time of a whole session over many."""
    yield _measure_connection(num_payloads=_BATCH * (100 if quick else 1_000))
    yield from _measure_vote(200) if quick else _measure_vote(1_000, most=_MOST_OF_SESSION)
    yield from _measure_crowd(200) if quick else _measure_crowd(1_000, most=_MOST_OF_CROWD_SESSION)
    yield from _measure_vote_over_tls(200) if quick else _measure_vote_over_tls(1_000, most=_MOST_OF_TLS_SESSION)


def _measure_connection(*, num_payloads: int) -> Row:
    payload = record_transcript(Vote(10)).reports[0][0]
    batches = [[payload] * _BATCH] * (num_payloads // _BATCH)
    times = interleave(
        {
            "raw": lambda: trio.run(_time_raw_connection, batches),
            "ours": lambda: trio.run(_time_our_connection, batches),
        },
        trials=_TRIALS,
    )
    ratio = times.ratio("raw", to="ours")
    return Row(
        f"one TCP connection, reports of {len(payload)} bytes, {_BATCH} a write",
        f"{num_payloads / times.median('ours'):,.0f} messages/s",
        f"{num_payloads / times.median('raw'):,.0f} messages/s",
        f"{ratio:.2f}",
        at_least(ratio, _LEAST_OF_CONNECTION),
    )


def _measure_vote(num_partners: int, *, most: float | None = None) -> Iterator[Row]:
    vote = Vote(num_partners)
    ours = {"": (lambda: vote.run(TCPTransport()), most)}
    what = f"session over TCP, {num_partners:,} partners in one process"
    yield from _measure_session(what, vote, ours, trials=_TRIALS)


def _measure_crowd(num_workers: int, *, most: float | None = None) -> Iterator[Row]:
    session = CrowdSession(num_workers)
    what = f"truth discovery over TCP, {num_workers:,} workers with {ANSWERS_OF_EACH} answers each in one process"
    ours = {
        ", events to a file": (lambda: session.run_with_events(TCPTransport()), None),
        ", events off": (lambda: session.run(TCPTransport()), most),
    }
    yield from _measure_session(what, session, ours, trials=_TRIALS_OF_CROWD)


def _measure_vote_over_tls(num_partners: int, *, most: float | None = None) -> Iterator[Row]:
    vote = Vote(num_partners)
    keys = Keyring(num_partners)
    transport = _TLSOfEach(keys)
    ours = {"": (lambda: vote.run(transport), most)}
    what = f"session over TLS, {num_partners:,} partners with a certificate each in one process"
    yield from _measure_session(what, vote, ours, trials=_TRIALS_OF_CROWD, ends=_RawTLS(keys))


class Keyring:
    """A server's key, and one for each party.

    Args:
        num_parties: how many there are.
    """

    def __init__(self, num_parties: int) -> None:
        self.server = make_identity()
        self.parties = [make_identity() for _ in range(num_parties)]

    @property
    def certificates(self) -> list[bytes]:
        """The parties'."""
        return [party.certificate for party in self.parties]


class _TLSOfEach(Transport):
    """TLS as a deployment has it: every connection is the next party's, by its own key.

    Args:
        keys: whose keys.
    """

    name = "tls"
    is_over_tcp: ClassVar[bool] = True

    def __init__(self, keys: Keyring) -> None:
        self._server = TLSTransport(keys.server, peers=keys.certificates)
        parties = [TLSTransport(party, peers=[keys.server.certificate]) for party in keys.parties]
        self._next = itertools.cycle(parties)

    async def open_listener(self, address: str | None = None) -> Listener:
        return await self._server.open_listener(address)

    async def connect(self, address: str) -> Channel:
        return await next(self._next).connect(address)


class _RawEnds:
    """What a raw session's bytes go through: nothing but TCP."""

    def accepted(self, stream: trio.SocketStream) -> trio.abc.Stream:
        """Return the server's end of a connection."""
        return stream

    def reached(self, stream: trio.SocketStream, place: int) -> trio.abc.Stream:
        """Return a party's end of a connection."""
        return stream


class _RawTLS(_RawEnds):
    """Trio's TLS with the same certificates, checked by OpenSSL alone.

    Args:
        keys: whose certificates.
    """

    def __init__(self, keys: Keyring) -> None:
        with tempfile.TemporaryDirectory() as folder:
            server = _make_context(ssl.PROTOCOL_TLS_SERVER, keys.server, keys.certificates, folder)
            server.num_tickets = 0
            parties = [
                _make_context(ssl.PROTOCOL_TLS_CLIENT, party, [keys.server.certificate], folder)
                for party in keys.parties
            ]
        self._server, self._parties = server, parties

    def accepted(self, stream: trio.SocketStream) -> trio.abc.Stream:
        return trio.SSLStream(stream, self._server, server_side=True)

    def reached(self, stream: trio.SocketStream, place: int) -> trio.abc.Stream:
        return trio.SSLStream(stream, self._parties[place])


def _make_context(kind: int, identity: Identity, peers: Sequence[bytes], folder: str) -> ssl.SSLContext:
    file = pathlib.Path(folder) / identity.fingerprint
    identity.write(file)
    context = ssl.SSLContext(kind)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(file)
    context.load_verify_locations(cadata=b"".join(peers))
    return context


def _measure_session(
    what: str,
    session: Session,
    ours: Mapping[str, tuple[Callable[[], object], float | None]],
    *,
    trials: int,
    ends: _RawEnds | None = None,
) -> Iterator[Row]:
    """Yield a row for each way to run the session, beside the raw exchange of its frames.

    Args:
        what: is measured.
        session: whose frames.
        ours: by what it adds to `what`, a way to run it and the most that it may take of the raw exchange.
        trials: turns for each.
        ends: what the raw exchange goes through; by default bare TCP.
    """
    _reserve_descriptors(2 * len(session.names) + 64)
    frames = record_transcript(session).framed()
    contestants = {"raw": lambda: timed(lambda: _run_raw_session(frames, ends or _RawEnds()))}
    contestants |= {name: functools.partial(timed, run) for name, (run, _) in ours.items()}
    times = interleave(contestants, trials=trials)
    for name, (_, most) in ours.items():
        ratio = times.ratio(name, to="raw")
        yield Row(
            f"{what}{name}",
            f"{times.median(name):.2f} s",
            f"{times.median('raw'):.2f} s",
            f"{ratio:.2f}",
            at_most(ratio, most),
        )


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
    port = listener.socket.getsockname()[1]
    async with (
        listener,
        await trio.open_tcp_stream(_HOST, port) as near,
        await listener.accept() as far,
        trio.open_nursery() as nursery,
    ):

        async def send() -> None:
            for batch in batches:
                await near.send_all(
                    b"".join([len(payload).to_bytes(_HEADER_BYTES, "big") + payload for payload in batch])
                )

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
    while at + _HEADER_BYTES <= len(data):
        start = at + _HEADER_BYTES
        stop = start + int.from_bytes(data[at:start], "big")
        if stop > len(data):
            break
        payloads.append(data[start:stop])
        at = stop
    return payloads, data[at:]


def _run_raw_session(frames: Transcript, ends: _RawEnds) -> None:
    """Send a transcript's frames through bare streams: two tasks a party, and nothing else.

    The cyclic collector is off: this is meant to be the least that it can take.

    Raises:
        RuntimeError: a message did not arrive.
    """
    gc.disable()
    try:
        num_arrived = trio.run(_raw_session, frames, ends)
    finally:
        gc.enable()
    if num_arrived != frames.num_messages:
        raise RuntimeError(f"expected {frames.num_messages} messages, {num_arrived} arrived")


async def _raw_session(frames: Transcript, ends: _RawEnds) -> int:
    num_parties = frames.num_parties
    accepted: list[trio.abc.Stream] = []
    at_server = at_clients = 0

    async def accept(listener: trio.SocketListener, nursery: trio.Nursery) -> None:
        async with listener:
            for _ in range(num_parties):
                stream = ends.accepted(await listener.accept())
                nursery.start_soon(serve, stream, frames.welcomes[len(accepted)])
                accepted.append(stream)

    async def serve(stream: trio.abc.Stream, welcome: bytes) -> None:
        nonlocal at_server
        rest = b""
        is_greeted = False
        async with stream:
            while data := await stream.receive_some(_READ_BYTES):
                payloads, rest = _split(rest + data)
                for _ in payloads:
                    if not is_greeted:
                        await stream.send_all(welcome)
                        is_greeted = True
                    at_server += 1
                    if at_server % num_parties == 0:
                        for other, frame in zip(accepted, frames.announcements(at_server), strict=True):
                            await other.send_all(frame)

    async def take_part(stream: trio.abc.Stream, hello: bytes, reports: Sequence[bytes]) -> None:
        nonlocal at_clients
        answers = [None, *reports, None]  # to Welcome, to each Request, to Release
        rest = b""
        async with stream:
            await stream.send_all(hello)
            while answers:
                payloads, rest = _split(rest + await stream.receive_some(_READ_BYTES))
                for _ in payloads:
                    at_clients += 1
                    answer = answers.pop(0)
                    if answer is not None:
                        await stream.send_all(answer)

    async with trio.open_nursery() as nursery:
        listener, *_ = await trio.open_tcp_listeners(0, host=_HOST, backlog=_BACKLOG)
        nursery.start_soon(accept, listener, nursery)
        port = listener.socket.getsockname()[1]
        for place, (hello, reports) in enumerate(zip(frames.hellos, frames.reports, strict=True)):
            stream = ends.reached(await trio.open_tcp_stream(_HOST, port), place)
            nursery.start_soon(take_part, stream, hello, reports)
    return at_server + at_clients


def _reserve_descriptors(number: int) -> None:
    """Raise this process's limit of open descriptors to `number` if it is lower."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < number:
        resource.setrlimit(resource.RLIMIT_NOFILE, (number, hard))
