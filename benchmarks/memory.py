"""Whole sessions in memory, against bare trio memory channels that carry the same messages in the same rounds."""

import gc
from collections.abc import Iterator, Sequence
from time import process_time

import trio
from crowd_sessions import ANSWERS_OF_EACH, CrowdSession
from psephos.transports import MemoryTransport
from sessions import Transcript, record_transcript
from table import Row, at_least, at_most
from trials import interleave, timed
from votes import Vote

__all__ = ["measure", "run_raw"]

_LEAST_WITH_EVENTS = 0.55
_LEAST_WITHOUT = 0.65
_TRIALS = 7
_WORKERS = 1_000
_MOST_MICROSECONDS = 45


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield messages a second, with events at their default and with none."""
    for num_partners in (1_000,) if quick else (1_000, 5_000):
        vote = Vote(num_partners)
        transcript = record_transcript(vote)
        times = interleave(
            {
                "raw": lambda transcript=transcript: timed(lambda: run_raw(transcript)),
                "without": lambda vote=vote: timed(lambda: vote.run(MemoryTransport())),
                "with": lambda vote=vote: timed(lambda: vote.run_with_events(MemoryTransport())),
            },
            trials=_TRIALS,
        )
        for name, events, least in (
            ("with", "events to a file", _LEAST_WITH_EVENTS),
            ("without", "events off", _LEAST_WITHOUT),
        ):
            ratio = times.ratio("raw", to=name)
            yield Row(
                f"session in memory, {num_partners:,} partners, {events}",
                f"{vote.num_messages / times.median(name):,.0f} messages/s",
                f"{vote.num_messages / times.median('raw'):,.0f} messages/s",
                f"{ratio:.2f}",
                at_least(ratio, least),
            )
    yield _crowd(has_target=not quick)


def _crowd(*, has_target: bool) -> Row:
    """Return what a crowd's message takes of CPU, in the session that takes least.

    Each has a protocol of its own: what is found out about a public row is not known yet.
    """
    crowds = [CrowdSession(_WORKERS) for _ in range(_TRIALS)]
    least = float("inf")
    for crowd in crowds:
        begin = process_time()
        crowd.run(MemoryTransport())
        least = min(least, 1e6 * (process_time() - begin) / crowd.num_messages)
    what = f"truth discovery in memory, {_WORKERS:,} workers with {ANSWERS_OF_EACH} answers each"
    goal = at_most(least, _MOST_MICROSECONDS if has_target else None, unit=" µs")
    return Row(what, f"{least:.1f} µs of CPU a message", goal=goal)


def run_raw(transcript: Transcript) -> None:
    """Send a transcript's messages through trio's memory channels: two tasks a party, and nothing else.

    Sends never wait, and Python's cyclic collector is off: this is meant to be the least that it can take.

    Raises:
        RuntimeError: a message did not arrive.
    """
    gc.disable()
    try:
        num_arrived = trio.run(_run_raw, transcript)
    finally:
        gc.enable()
    if num_arrived != transcript.num_messages:
        raise RuntimeError(f"expected {transcript.num_messages} messages, {num_arrived} arrived")


async def _run_raw(transcript: Transcript) -> int:
    num_parties = transcript.num_parties
    downs: list[trio.MemorySendChannel[bytes]] = []
    at_server = at_clients = 0

    async def serve(
        welcome: bytes, inbound: trio.MemoryReceiveChannel[bytes], outbound: trio.MemorySendChannel[bytes]
    ) -> None:
        nonlocal at_server
        async for _ in inbound:
            at_server += 1
            if at_server <= num_parties:
                outbound.send_nowait(welcome)
            if at_server % num_parties == 0:
                for down, payload in zip(downs, transcript.announcements(at_server), strict=True):
                    down.send_nowait(payload)

    async def take_part(
        hello: bytes,
        reports: Sequence[bytes],
        outbound: trio.MemorySendChannel[bytes],
        inbound: trio.MemoryReceiveChannel[bytes],
    ) -> None:
        nonlocal at_clients
        outbound.send_nowait(hello)
        await inbound.receive()
        for report in reports:
            await inbound.receive()
            outbound.send_nowait(report)
        await inbound.receive()
        at_clients += 2 + len(reports)
        outbound.close()

    async with trio.open_nursery() as nursery:
        for hello, welcome, reports in zip(transcript.hellos, transcript.welcomes, transcript.reports, strict=True):
            up_in, up_out = trio.open_memory_channel[bytes](64)
            down_in, down_out = trio.open_memory_channel[bytes](64)
            downs.append(down_in)
            nursery.start_soon(serve, welcome, up_out, down_in)
            nursery.start_soon(take_part, hello, reports, up_in, down_out)
    return at_server + at_clients
