"""A session that is measured, whatever its protocol, and what it sends."""

import dataclasses
import pathlib
import tempfile
from collections.abc import Sequence
from typing import Any, Final

import trio
from psephos.agents.events import Log
from psephos.agents.modes import Simulation
from psephos.protocol.messages import Hello, Release, Report, Request, Welcome, encode
from psephos.protocol.phases import Inputs, PhasedProtocol
from psephos.protocol.randomness import SimulatedNoise
from psephos.protocol.views import Happening
from psephos.scenarios.running.folder import open_event_log
from psephos.scenarios.running.session import SessionRecord, Told, run_agents
from psephos.transports import MemoryTransport
from psephos.transports.abc import Transport

__all__ = ["Session", "Transcript", "record_transcript"]

_SESSION: Final = "benchmark"
_SEED: Final = 1


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

        async def main() -> SessionRecord:
            return await run_agents(
                self.protocol, names=self.names, inputs=self.inputs, mode=mode, transport=transport, told=Told(log=log)
            )

        record = trio.run(main)
        if record.endings or set(record.num_received) != {len(self.names)}:
            raise RuntimeError(f"of {len(self.names)} parties {record.num_received} reported: {record.endings}")
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
        hellos: each party's.
        welcomes: to each party, as soon as its Hello is there.
        requests: everybody's, one a phase, sent as soon as everybody has answered what was before.
        reports: each party's, one a phase.
        releases: to each party.
    """

    hellos: Sequence[bytes]
    welcomes: Sequence[bytes]
    requests: Sequence[bytes]
    reports: Sequence[Sequence[bytes]]
    releases: Sequence[bytes]

    @property
    def num_parties(self) -> int:
        """How many parties there are."""
        return len(self.hellos)

    @property
    def num_messages(self) -> int:
        """How many messages are sent."""
        return sum(len(reports) for reports in self.reports) + self.num_parties * (3 + len(self.requests))

    def announcements(self, num_arrived: int) -> Sequence[bytes]:
        """Return what each party is sent once so many messages have arrived, a multiple of the parties."""
        phase = num_arrived // self.num_parties - 1
        return [self.requests[phase]] * self.num_parties if phase < len(self.requests) else self.releases

    def framed(self) -> "Transcript":
        """Return the same messages behind four bytes of length each."""
        return Transcript(
            hellos=[_frame(hello) for hello in self.hellos],
            welcomes=[_frame(welcome) for welcome in self.welcomes],
            requests=[_frame(request) for request in self.requests],
            reports=[[_frame(report) for report in reports] for reports in self.reports],
            releases=[_frame(release) for release in self.releases],
        )

    def repeated(self, times: int) -> "Transcript":
        """Return the messages of so many times the parties, who say and hear the same again."""
        return dataclasses.replace(
            self,
            hellos=[*self.hellos] * times,
            welcomes=[*self.welcomes] * times,
            reports=[*self.reports] * times,
            releases=[*self.releases] * times,
        )


def record_transcript(session: Session) -> Transcript:
    """Run a session in memory and return what it sent."""
    record = session.run(MemoryTransport(), record_views=True)
    server, *_ = record.views
    hellos: dict[str, bytes] = {}
    welcomes: dict[str, bytes] = {}
    reports: dict[str, list[bytes]] = {name: [] for name in session.names}
    releases: dict[str, bytes] = {}
    requests: dict[int, bytes] = {}
    for observation in server.observations:
        if observation.happening not in {Happening.SENT, Happening.RECEIVED}:
            continue
        match observation.message:
            case Hello() as hello:
                hellos[observation.peer] = encode(hello)
            case Welcome() as welcome:
                welcomes[observation.peer] = encode(welcome)
            case Request() as request:
                requests[request.step] = encode(request)
            case Report() as report:
                reports[observation.peer].append(encode(report))
            case Release() as release:
                releases[observation.peer] = encode(release)
            case message:
                raise RuntimeError(f"{message} has no place in a session that nobody disturbs")
    transcript = Transcript(
        hellos=[hellos[name] for name in session.names],
        welcomes=[welcomes[name] for name in session.names],
        requests=[requests[phase] for phase in sorted(requests)],
        reports=[reports[name] for name in session.names],
        releases=[releases[name] for name in session.names],
    )
    if transcript.num_messages != session.num_messages:
        raise RuntimeError(f"expected {session.num_messages} messages, recorded {transcript.num_messages}")
    return transcript


def _frame(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload
