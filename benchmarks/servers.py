"""Thousands of parties at one server: the time of a vote, the memory of a connection, and how soon a report counts.

The server is a process of its own, whose memory is then the server's. The parties are tasks of this process, each with
a connection of its own, over TLS with a key of its own. They come one after another without a pause, and all
report at once: a report waits for those before it. Both processes share the machine. What it takes to keep records for
good is measured on the disk of TMPDIR, beside the same bytes written and synchronized.
"""

import collections
import itertools
import math
import multiprocessing
import os
import tempfile
from collections.abc import Iterator
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic
from typing import Any
from unittest import mock

import trio
from attacked_votes import hold_vote
from harness import Rows, Times, memory, row, skipped, timed, turns
from hostile import ATTACKS_OVER_TCP, ATTACKS_OVER_TLS
from psephos.agents import CloudServer, Deployment, Partner, SecureNoise, draw_session_id
from psephos.agents.person_journal import PersonJournal
from psephos.agents.session_journal import SessionJournal
from psephos.protocol import Party, Roster, SessionDescriptor
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.messages import decode
from psephos.protocol.privacy import LedgerEntry
from psephos.protocol.records import Accepted, Acknowledged, Drawn, Reserved
from psephos.scenarios.running.limits import calm_collector, reserve_for_server
from psephos.transports import TCPTransport, TLSTransport
from psephos.transports.keys import fingerprint_of
from psephos.transports.shared import SharedTransport
from psephos.transports.tcp import SocketChannel
from sessions import Vote
from tcp import Keyring

_SESSION = "benchmark"
_REPORT = bytes(32)


def one_server(*, quick: bool) -> Rows:
    """Yield seconds of a vote of many, the server's memory for a connection, and how late the last hundredth counts."""
    few, many = (200, 500) if quick else (2_000, 5_000)
    yield from _vote_at_one_server(f"{many:,} parties over TCP at one server", many, None, "≤ 30 KB")
    yield from _vote_at_one_server(f"{few:,} parties over TLS at one server", few, Keyring(few), "≤ 100 KB")
    what = f"{few:,} parties of one host over TLS at one server"
    yield next(_vote_at_one_server(what, few, Keyring(1), ""))


def _vote_at_one_server(what: str, number: int, keys: Keyring | None, target: str) -> Rows:
    try:
        reserve_for_server(num_parties=number)  # which the parties' process needs, too
    except ConfigurationError as error:
        yield skipped(what, str(error))
        return
    vote, session_id = Vote(number), draw_session_id()
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=_serve, args=(there, number, session_id, keys), daemon=True)
    server.start()
    address = here.recv()
    begin = monotonic()
    sent = trio.run(_take_part, vote, keys, address, session_id)
    seconds = monotonic() - begin
    kilobytes, accepted = here.recv()
    server.join()
    yield row(what, seconds)
    name = f"{what}: its memory for each connection"
    yield row(name, kilobytes / number, show="{:.0f} KB", target=target)
    # The first wait is for Hello, the second for the first report.
    ends = {place: accepted.get(name, [])[2:] for place, name in enumerate(vote.names)}
    pairs = (pair for place, times in sent.items() for pair in zip(times, ends[place], strict=True))
    delays = sorted(kept - left for left, kept in pairs)
    yield row(f"{what}: from report to acceptance, 99th percentile", delays[math.ceil(0.99 * len(delays)) - 1])


async def _take_part(vote: Vote, keys: Keyring | None, address: str, session_id: str) -> dict[int, list[float]]:
    """Let all parties vote; return when each had drawn its reports, which are sent then."""
    mode, rows = Deployment(_SESSION, SecureNoise(), SessionDescriptor(session_id)), vote.inputs.private.tolist()
    randomize, times = SecureNoise.randomize, collections.defaultdict[int, list[float]](list)

    def noted(noise: SecureNoise, *arguments: Any, place: int, **more: Any) -> list[int]:
        reports = randomize(noise, *arguments, place=place, **more)
        times[place].append(monotonic())
        return reports

    transports = [TCPTransport()] if keys is None else keys.transports()
    with calm_collector(len(rows)), mock.patch.object(SecureNoise, "randomize", noted):
        async with trio.open_nursery() as nursery:
            if keys is not None and len(transports) < len(rows):  # a host's
                transports = [SharedTransport(transports[0], nursery)]
            for place, (name, transport) in enumerate(zip(vote.names, itertools.cycle(transports), strict=False)):
                client = Partner(vote.protocol, Party(name, place, rows[place]), mode)
                nursery.start_soon(client.take_part, await transport.connect(address))
    return times


def _serve(there: Connection, number: int, session_id: str, keys: Keyring | None) -> None:
    """Run by the server's process: tell its address, and at the end KB of memory, and when reports were accepted.

    That is when a channel is asked for the next: what came before is done.
    """
    vote, transport, fingerprints = Vote(number), TCPTransport(), None
    if keys is not None:
        transport = TLSTransport(keys.server, peers=keys.certificates)
        fingerprints = list(map(fingerprint_of, keys.certificates)) * (number // len(keys.parties))
    server = CloudServer(
        vote.protocol,
        Roster(vote.names, vote.inputs.public, fingerprints=fingerprints),
        Deployment(_SESSION, SecureNoise(), SessionDescriptor(session_id)),
        places=reserve_for_server(num_parties=number),
    )
    (over_tls,) = SocketChannel.__subclasses__()
    kind = SocketChannel if keys is None else over_tls
    receive, asked, first = kind.receive, collections.defaultdict[Any, list[float]](list), dict[Any, bytes]()

    async def noted(channel: SocketChannel) -> list[bytes]:
        asked[channel].append(monotonic())
        payloads = await receive(channel)
        first.setdefault(channel, payloads[0])
        return payloads

    async def serve() -> None:
        listener = await transport.open_listener()
        there.send(listener.address)
        await server.serve(listener)

    before = memory("VmRSS")
    with calm_collector(number), mock.patch.object(kind, "receive", noted):
        trio.run(serve)
    accepted: dict[str, list[float]] = {}
    for channel, payload in first.items() if len(first) == number else ():  # a host's begins otherwise
        hello: Any = decode(payload)
        accepted[hello.party] = asked[channel]
    there.send(((memory() - before) / 1000, accepted))


def denial_of_service(*, quick: bool) -> Rows:
    """Yield seconds and memory of a vote under each attack, beside those of the same vote without one."""
    for transport, attacks in (("tcp", ATTACKS_OVER_TCP), ("tls", ATTACKS_OVER_TLS)):
        hold = partial(hold_vote, transport=transport, num_parties=50, num_candidates=10)
        for attack in attacks:
            # In turns, so that whatever else the machine does meets both.
            ours, raw = zip(*((hold(attack), hold()) for _ in range(1 if quick else 3)), strict=True)
            what = f"vote of 50 parties over {transport.upper()}, {attack}"
            times = Times({"ours": [held.seconds for held in ours], "raw": [held.seconds for held in raw]})
            yield times.row(what, target="≤ 2")
            peaks = [max(held.megabytes for held in side) for side in (ours, raw)]
            yield row(f"{what}: the server's memory", *peaks, show="{:.0f} MB", target="≤ 200 MB")


def journals(*, quick: bool) -> Rows:
    """Yield group commits of a server, a client's writes, and the recovery of many reports."""
    times, number = (10, 10_000) if quick else (200, 100_000)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for size in (1, 16, 256):
            with SessionJournal.open(place / f"server-{size}", configuration={}) as journal:
                keep = partial(_keep, journal, itertools.count(), size)
                write = partial(_write, place / "raw", size * len(_REPORT))
                rates = turns(times, ours=keep, raw=write)
            what = f"journal of a server, {size} report{'s' * (size > 1)} a commit"
            yield rates.row(what, number=size, show="{:,.0f} reports/s")
        with PersonJournal.open(place / "client", now=0) as own:
            steps = partial(next, _steps(own))
            write = partial(_write, place / "raw", 10 * len(_REPORT))
            rates = turns(times, ours=steps, raw=write)
        yield rates.row("journal of a client, a step", scale=1000, show="{:.1f} ms", target="≤ 10 ms")
        path = place / "recovered"
        with SessionJournal.open(path, configuration={}) as journal:
            numbers = itertools.count()
            for _ in range(number // 1000):
                _keep(journal, numbers, 1000)

        def recover() -> None:
            with SessionJournal.open(path, configuration={}) as journal:
                if len(journal.records) != number:
                    raise RuntimeError(f"{len(journal.records)} of {number} records are there")

        what = f"journal of a server, {number:,} reports recovered"
        yield row(what, timed(recover), timed(path.read_bytes), times="{:.0f}", target="≤ 10 s")
        size = path.stat().st_size / number
        yield row("journal of a server, a report", size, len(_REPORT), show="{:.0f} bytes")


def _keep(journal: SessionJournal, numbers: Iterator[int], size: int) -> None:
    journal.keep([Accepted(0, place, _REPORT) for place in itertools.islice(numbers, size)])


def _write(path: Path, size: int) -> None:
    with path.open("ab", buffering=0) as file:
        file.write(bytes(size))
        os.fsync(file.fileno())


def _steps(journal: PersonJournal) -> Iterator[None]:
    """Take the durable steps of a client, one after another: reserved, drawn, acknowledged."""
    (loss,) = Vote(1).protocol.phases[0].losses
    entries = (LedgerEntry.from_loss(loss, person="Germany", session="budget", phase="opinions"),)
    for number in itertools.count():
        sitting = journal.sitting(f"{number:032x}")
        reserved = Reserved(
            party="Germany", session="budget", protocol="dpwevote", expires=0, entries=entries, terms=""
        )
        for record in (reserved, Drawn(step=0, request=_REPORT, report=_REPORT, entries=entries), Acknowledged(0)):
            yield sitting.keep([record])
