"""Sessions in memory, beside bare channels that carry the same bytes; large ones; and the command's help.

The vote that is measured has one candidate and weights of 1 to 3; in the crowd each worker gives twenty answers.
"""

import gc
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import msgspec
import numpy as np
import trio
from harness import Rows, Run, apart, row, timed, turns
from psephos.agents import Simulation
from psephos.agents.events import Log
from psephos.protocol import Inputs, PhasedProtocol, SimulatedNoise, run_population
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse
from psephos.protocol.messages import encode
from psephos.protocol.truth_discovery import Parameters as CrowdParameters
from psephos.protocol.truth_discovery import TruthDiscovery
from psephos.protocol.views import Happening
from psephos.scenarios.running.folder import open_event_log
from psephos.scenarios.running.session import SessionObservers, SessionRecord, run_agents
from psephos.scenarios.truth_discovery.data.parties import crowd_to_parties
from psephos.scenarios.truth_discovery.data.synthetic import SyntheticCrowd, make_crowd
from psephos.transports import MemoryTransport, Transport

ANSWERS_OF_EACH = 20
_SESSION = "benchmark"
_SEED = 1
_TURNS = 7
_RECORDED = 1_000  # raw twins of many partners say what so many have said, again and again


class Transcript(NamedTuple):
    """The bytes of a session's messages, of each party.

    Args:
        ups: its Hello, and a report a phase.
        downs: a Welcome, a request a phase, and the release; but for the first each follows when all have answered.
    """

    ups: Sequence[Sequence[bytes]]
    downs: Sequence[Sequence[bytes]]

    @property
    def num_messages(self) -> int:
        """How many messages are sent."""
        return sum(len(party) for side in self for party in side)

    def framed(self) -> "Transcript":
        """Return the same messages behind four bytes of length each."""
        return Transcript(*([[len(own).to_bytes(4, "big") + own for own in party] for party in side] for side in self))

    def repeated(self, times: int) -> "Transcript":
        """Return the messages of so many times the parties, who say and hear the same again."""
        return Transcript(*([*side] * times for side in self))


class Session:
    """A roster with its inputs, ready to run.

    Args:
        protocol: what is run.
        names: the parties, in roster order.
        inputs: their rows.
    """

    def __init__(self, protocol: PhasedProtocol[Any, Any], names: Sequence[str], inputs: Inputs) -> None:
        self.protocol, self.names, self.inputs = protocol, names, inputs

    @property
    def num_messages(self) -> int:
        """Hello, Welcome and Release, and a Request and a Report a phase, for each party."""
        return len(self.names) * (3 + 2 * len(self.protocol.phases))

    def noise(self) -> SimulatedNoise:
        """Return fresh noise: nothing is drawn ahead."""
        return SimulatedNoise(_SEED, session=_SESSION)

    def run(self, transport: Transport, *, log: Log | None = None, record_views: bool = False) -> SessionRecord:
        """Run a whole session of agents.

        Raises:
            RuntimeError: somebody's messages did not all arrive, so that there is nothing to compare.
        """
        mode = Simulation(_SESSION, self.noise(), record_views=record_views)
        run = partial(run_agents, names=self.names, inputs=self.inputs, mode=mode, transport=transport)
        record = trio.run(partial(run, self.protocol, observers=SessionObservers(log=log)))
        if record.endings or set(record.num_received) != {len(self.names)}:
            raise RuntimeError(f"of {len(self.names)} parties {record.num_received} reported: {record.endings}")
        return record

    def run_with_events(self, transport: Transport) -> SessionRecord:
        """Run a whole session of agents that writes its events to a file, as a run's folder has them."""
        with tempfile.TemporaryDirectory() as folder, open_event_log(Path(folder) / "events.jsonl") as log:
            return self.run(transport, log=log)

    def transcript(self) -> Transcript:
        """Run the session in memory, and return what it sent.

        Raises:
            RuntimeError: there are other messages than are measured.
        """
        server, *_ = self.run(MemoryTransport(), record_views=True).views
        sides: list[dict[str, list[bytes]]] = [{name: [] for name in self.names} for _ in range(2)]
        for seen in server.observations:
            if seen.message is not None and seen.happening in {Happening.RECEIVED, Happening.SENT}:
                sides[seen.happening is Happening.SENT][seen.peer].append(encode(seen.message))
        transcript = Transcript(*([*side.values()] for side in sides))
        if transcript.num_messages != self.num_messages:
            raise RuntimeError(f"expected {self.num_messages} messages, recorded {transcript.num_messages}")
        return transcript


class Vote(Session):
    """A vote's partners, all of whom answer.

    Args:
        num_partners: how many.
    """

    def __init__(self, num_partners: int) -> None:
        generator = np.random.default_rng(_SEED)
        protocol = DPWeVote(Parameters(candidates=("proposal",)))
        names = [f"partner-{place}" for place in range(num_partners)]
        self.table = {
            "weight": generator.integers(1, 4, num_partners),
            "proposal": generator.integers(0, 2, num_partners),
        }
        super().__init__(protocol, names, protocol.encode(self.table))


class CrowdSession(Session):
    """Workers and their answers to binary tasks, ten answers a task on average, one layer at ε = 1.

    Args:
        num_workers: how many.
    """

    def __init__(self, num_workers: int) -> None:
        tasks = num_workers * ANSWERS_OF_EACH // 10
        spec = SyntheticCrowd(tasks=tasks, workers=num_workers, answers_per_worker=ANSWERS_OF_EACH, seed=_SEED)
        loaded = crowd_to_parties(make_crowd(spec), is_generated=True)
        protocol = TruthDiscovery(msgspec.convert({**loaded.parameters, "epsilon": 1.0}, CrowdParameters))
        super().__init__(protocol, loaded.names, protocol.encode(loaded.table))


def startup(*, quick: bool) -> Rows:  # noqa: ARG001  it is quick
    """Yield the time of `psephos --help`, beside that of an interpreter that does nothing."""
    command = [Path(sys.executable).parent / "psephos", "--help"]
    start = partial(subprocess.run, check=True, stdout=subprocess.DEVNULL)
    times = turns(_TURNS, ours=lambda: start(command), raw=lambda: start([sys.executable, "-c", ""]))
    yield times.row("psephos --help", target="≤ 0.4 s")


def scale(*, quick: bool) -> Rows:
    """Yield seconds and megabytes of large sessions, each run once in a process of its own."""
    memory, arrays = (agents, channels), (population, in_numpy)
    sizes = (
        ("session in memory", memory, 2_000 if quick else 10_000, "≤ 4 s", "≤ 200 MB"),
        ("session in memory", memory, 4_000 if quick else 100_000, "≤ 50 s", "≤ 800 MB"),
        ("session as arrays", arrays, 100_000 if quick else 1_000_000, "≤ 0.4 s", "≤ 400 MB"),
    )
    for name, contestants, number, seconds, megabytes in sizes:
        what = f"{name}, {number:,} partners"
        ours, raw = (apart(contestant, number) for contestant in contestants)
        yield row(what, ours.seconds, raw.seconds, target=seconds)
        yield row(f"{what}, whole process", ours.whole, raw.whole)
        yield row(f"{what}, peak memory", ours.megabytes, raw.megabytes, show="{:,.0f} MB", target=megabytes)


def agents(num_partners: int) -> Run:
    """Return a session of agents."""
    vote = Vote(num_partners)
    return lambda: vote.run_with_events(MemoryTransport())


def channels(num_partners: int) -> Run:
    """Return its raw twin."""
    recorded = min(num_partners, _RECORDED)
    transcript = Vote(recorded).transcript().repeated(num_partners // recorded)
    return lambda: run_raw(_channels, transcript)


def population(num_partners: int) -> Run:
    """Return a session as arrays."""
    vote = Vote(num_partners)
    return lambda: run_population(vote.protocol, vote.inputs, noise=vote.noise())


def in_numpy(num_partners: int) -> Run:
    """Return the same draws and counts: all weights, then all opinions, with one line of numpy for each step."""
    vote = Vote(num_partners)

    def run() -> None:
        cells = 0
        for column, phase in enumerate(vote.protocol.phases):
            mechanism = phase.mechanism
            assert isinstance(mechanism, GeneralizedRandomizedResponse)  # noqa: S101  of `joint`
            values = vote.inputs.private[:, column]
            place = np.random.Generator(np.random.Philox(key=column)).random(num_partners) - mechanism.keep_probability
            lies = (place / mechanism.flip_probability).astype(np.int64)
            lies += lies >= values
            cells = cells * mechanism.num_choices + np.where(place < 0, values, lies)
            np.bincount(cells)

    return run


def memory(*, quick: bool) -> Rows:
    """Yield messages a second, with events at their default and with none; and what a crowd's message takes of CPU."""
    for num_partners in (1_000,) if quick else (1_000, 5_000):
        vote, transport = Vote(num_partners), MemoryTransport()
        transcript = vote.transcript()
        times = turns(
            _TURNS,
            raw=partial(run_raw, _channels, transcript),
            off=partial(vote.run, transport),
            file=partial(vote.run_with_events, transport),
        )
        for ours, events, target in (("file", "events to a file", "≥ 0.55"), ("off", "events off", "≥ 0.65")):
            what = f"session in memory, {num_partners:,} partners, {events}"
            yield times.row(what, ours, number=vote.num_messages, show="{:,.0f} messages/s", target=target)
    # Each crowd has a protocol of its own: what is found out about a public row is not known yet.
    crowds = [CrowdSession(1_000) for _ in range(_TURNS)]
    seconds = [timed(partial(crowd.run, MemoryTransport()), process_time) for crowd in crowds]
    least = 1e6 * min(seconds) / crowds[0].num_messages
    what = f"truth discovery in memory, 1,000 workers with {ANSWERS_OF_EACH} answers each"
    yield row(what, least, show="{:.1f} µs of CPU a message", target="≤ 45 µs")


def run_raw(exchange: Callable[..., Awaitable[int]], transcript: Transcript, *more: object) -> None:
    """Send a transcript's messages through what is bare, which returns how many arrived.

    Python's cyclic collector is off: this is meant to be the least that it can take.

    Raises:
        RuntimeError: a message did not arrive.
    """
    gc.disable()
    num_arrived = trio.run(exchange, transcript, *more)
    gc.enable()
    if num_arrived != transcript.num_messages:
        raise RuntimeError(f"expected {transcript.num_messages} messages, {num_arrived} arrived")


async def _channels(transcript: Transcript) -> int:
    """Send messages through trio's memory channels, where sends never wait: two tasks a party, and nothing else."""
    num_parties = len(transcript.ups)
    outbounds: list[trio.MemorySendChannel[bytes]] = []
    at_server = at_clients = 0

    async def serve(welcome: bytes, inbound: trio.MemoryReceiveChannel[bytes], place: int) -> None:
        nonlocal at_server
        async for _ in inbound:
            at_server += 1
            if at_server <= num_parties:
                outbounds[place].send_nowait(welcome)
            if at_server % num_parties == 0:
                for other, told in zip(outbounds, transcript.downs, strict=True):
                    other.send_nowait(told[at_server // num_parties])

    async def take_part(
        ups: Sequence[bytes], outbound: trio.MemorySendChannel[bytes], inbound: trio.MemoryReceiveChannel[bytes]
    ) -> None:
        nonlocal at_clients
        with outbound:
            for payload in ups:
                outbound.send_nowait(payload)
                await inbound.receive()
                if payload is ups[0]:
                    await inbound.receive()
        at_clients += 1 + len(ups)

    async with trio.open_nursery() as nursery:
        for place, (ups, downs) in enumerate(zip(*transcript, strict=True)):
            up_in, up_out = trio.open_memory_channel[bytes](64)
            down_in, down_out = trio.open_memory_channel[bytes](64)
            outbounds.append(down_in)
            nursery.start_soon(serve, downs[0], up_out, place)
            nursery.start_soon(take_part, ups, up_in, down_out)
    return at_server + at_clients
