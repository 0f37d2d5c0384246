"""The session that is measured: one candidate, weights of 1 to 3, everybody answers. And what it sends."""

import dataclasses
import pathlib
import tempfile
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import trio
from psephos.agents.events import Log
from psephos.agents.modes import Simulation
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.messages import Hello, Release, Report, Request, Welcome, encode
from psephos.protocol.phases import Inputs, PhasedProtocol
from psephos.protocol.randomness import SimulatedNoise
from psephos.protocol.views import Happening
from psephos.scenarios.folder import open_event_log
from psephos.scenarios.session import SessionRecord, run_agents
from psephos.transports import MemoryTransport
from psephos.transports.abc import Transport

__all__ = ["Transcript", "Vote", "record_transcript"]

_SESSION: Final = "benchmark"
_SEED: Final = 1


class Vote:
    """A roster with its inputs, ready to run.

    Args:
        num_partners: how many.
    """

    def __init__(self, num_partners: int) -> None:
        generator = np.random.default_rng(_SEED)
        self.protocol: PhasedProtocol[Any, Any] = DPWeVote(Parameters(candidates=("proposal",)))
        self.names = [f"partner-{place}" for place in range(num_partners)]
        weights, opinions = generator.integers(1, 4, num_partners), generator.integers(0, 2, num_partners)
        self.weights: list[int] = weights.tolist()
        self.opinions: list[int] = opinions.tolist()
        self.inputs: Inputs = self.protocol.encode({"weight": weights, "proposal": opinions})

    @property
    def num_messages(self) -> int:
        """Hello, Welcome and Release, and a Request and a Report a phase, for each partner."""
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

        async def main() -> SessionRecord:
            return await run_agents(
                self.protocol, names=self.names, inputs=self.inputs, mode=mode, transport=transport, log=log
            )

        record = trio.run(main)
        if record.endings or set(record.num_received) != {len(self.names)}:
            raise RuntimeError(f"of {len(self.names)} partners {record.num_received} reported: {record.endings}")
        return record

    def run_with_events(self, transport: Transport) -> SessionRecord:
        """Run a whole session of agents that writes its events to a file, as a run's folder has them."""
        with (
            tempfile.TemporaryDirectory() as folder,
            open_event_log(pathlib.Path(folder) / "events.jsonl") as log,
        ):
            return self.run(transport, log=log)


@dataclasses.dataclass(frozen=True)
class Transcript:
    """The bytes of a session's messages.

    Args:
        hellos: each partner's.
        welcome: everybody's, sent as soon as its Hello is there.
        requests: everybody's, one a phase, sent as soon as everybody has answered what was before.
        reports: each partner's, one a phase.
        release: everybody's.
    """

    hellos: Sequence[bytes]
    welcome: bytes
    requests: Sequence[bytes]
    reports: Sequence[Sequence[bytes]]
    release: bytes

    @property
    def num_partners(self) -> int:
        """How many partners there are."""
        return len(self.hellos)

    @property
    def num_messages(self) -> int:
        """How many messages are sent."""
        return sum(len(reports) for reports in self.reports) + self.num_partners * (3 + len(self.requests))

    def announcement(self, num_arrived: int) -> bytes:
        """Return what everybody is sent once so many messages have arrived, a multiple of the partners."""
        return (*self.requests, self.release)[num_arrived // self.num_partners - 1]

    def framed(self) -> "Transcript":
        """Return the same messages behind four bytes of length each."""
        return Transcript(
            hellos=[_frame(hello) for hello in self.hellos],
            welcome=_frame(self.welcome),
            requests=[_frame(request) for request in self.requests],
            reports=[[_frame(report) for report in reports] for reports in self.reports],
            release=_frame(self.release),
        )

    def repeated(self, times: int) -> "Transcript":
        """Return the messages of so many times the partners, who say the same again."""
        return dataclasses.replace(self, hellos=[*self.hellos] * times, reports=[*self.reports] * times)


def record_transcript(vote: Vote) -> Transcript:
    """Run a session in memory and return what it sent."""
    record = vote.run(MemoryTransport(), record_views=True)
    server, *_ = record.views
    hellos: dict[str, bytes] = {}
    reports: dict[str, list[bytes]] = {name: [] for name in vote.names}
    welcome = release = b""
    requests: dict[int, bytes] = {}
    for observation in server.observations:
        if observation.happening not in {Happening.SENT, Happening.RECEIVED}:
            continue
        match observation.message:
            case Hello() as hello:
                hellos[observation.peer] = encode(hello)
            case Welcome() as message:
                welcome = encode(message)
            case Request() as request:
                requests[request.phase] = encode(request)
            case Report() as report:
                reports[observation.peer].append(encode(report))
            case Release() as message:
                release = encode(message)
            case message:
                raise RuntimeError(f"{message} has no place in a session that nobody disturbs")
    transcript = Transcript(
        hellos=[hellos[name] for name in vote.names],
        welcome=welcome,
        requests=[requests[phase] for phase in sorted(requests)],
        reports=[reports[name] for name in vote.names],
        release=release,
    )
    if transcript.num_messages != vote.num_messages:
        raise RuntimeError(f"expected {vote.num_messages} messages, recorded {transcript.num_messages}")
    return transcript


def _frame(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload
