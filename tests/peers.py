"""A server of three partners in the background, for clients and for peers that are played by hand."""

import contextlib
import dataclasses
import math
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
import trio
import trio.testing
from certified import CertifiedTransport
from psephos.agents import Aggregator, Client, CloudServer, Mode, Partner, Simulation
from psephos.agents.driver import Observers
from psephos.agents.pending import UnlimitedPlaces
from psephos.protocol import Party
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.effects import Effect
from psephos.protocol.errors import PsephosError, QuorumError
from psephos.protocol.messages import (
    PROTOCOL_VERSION,
    Hello,
    Inquiry,
    Message,
    Report,
    Request,
    Welcome,
    decode,
    encode,
)
from psephos.protocol.randomness import SimulatedNoise
from psephos.protocol.roster import Roster
from psephos.protocol.rules import SessionRules
from psephos.protocol.session_flow import SessionResult
from psephos.transports import Channel, Listener, MemoryTransport, TCPTransport, Transport


class InOneProcess(MemoryTransport):
    """Memory, to a server that runs all parties: it reads all their channels in one task."""


WITH_LOBBY: Final = [MemoryTransport, TCPTransport]
"""Whose servers let nobody wait for long who has not said Hello."""
TRANSPORTS: Final = [*WITH_LOBBY, InOneProcess]
VOTE: Final = DPWeVote(Parameters(candidates=("bridge", "tunnel"), epsilon=2.0))
NAMES: Final = ("alice", "bob", "carol")
OWN: Final[Mapping[str, str]] = dict(zip(NAMES, ("a1" * 32, "b2" * 32, "c3" * 32), strict=True))
"""The fingerprints of certificates."""
TABLE: Final[Mapping[str, Sequence[Any]]] = {"weight": [1.0, 2.0, 3.0], "bridge": [1, 0, 1], "tunnel": [0, 1, 1]}
INPUTS: Final = VOTE.encode(TABLE)


def simulation(*, record_views: bool = False) -> Simulation:
    """Return a simulation of the session that everybody here means."""
    return Simulation("council", SimulatedNoise(7, session="council"), record_views=record_views)


def make_client(name: str, mode: Mode, *, protocol: DPWeVote = VOTE, **options: Any) -> Partner:
    """Return the honest client of one party, with yes and no by turns where the protocol is another."""
    place = NAMES.index(name)
    opinions = {candidate: [1, 0, 1] for candidate in protocol.parameters.candidates}
    inputs = INPUTS if protocol is VOTE else protocol.encode({"weight": TABLE["weight"], **opinions})
    row: list[int] = inputs.private[place].tolist()
    return Partner(protocol, Party(name, place, row), mode, **options)


def hello(party: str, *, session: str = "council", kind: str = "simulation", session_id: str | None = None) -> bytes:
    """Return a Hello, by default of the session's own id; a deployment's here has none."""
    own = simulation().descriptor.id if kind == "simulation" else ""
    return encode(Hello(PROTOCOL_VERSION, session, "dpwevote", kind, party, own if session_id is None else session_id))


def welcome(version: int = PROTOCOL_VERSION, parameters: msgspec.Raw = VOTE.encoded_parameters) -> Welcome:
    """Return what a server of the simulation welcomes everybody with."""
    return Welcome(version, parameters, descriptor=simulation().descriptor)


def inquiry(party: str) -> bytes:
    return encode(Inquiry(PROTOCOL_VERSION, party))


def report(phase: int, *values: int) -> bytes:
    return encode(Report(phase, msgspec.Raw(msgspec.msgpack.encode(values))))


class Session:
    """A server in the background; a test plays or starts the clients.

    Attributes:
        result: the server's, if it has one.
        failure: the error that the server ended with.
        endings: for each party that took part, its outcome or its error.
        start: when the session began.
        seconds: how long the server lasted.
    """

    def __init__(self, server: CloudServer, listener: Listener, transport: Transport, nursery: trio.Nursery) -> None:
        self.server = server
        self.listener = listener
        self.transport = transport
        self.nursery = nursery
        self.result: SessionResult | None = None
        self.failure: PsephosError | None = None
        self.endings: dict[str, object] = {}
        self.start = trio.current_time()
        self.seconds = math.nan

    async def connect(self, fingerprint: str = "") -> Channel:
        """Return a new connection to the server, by a certificate where the transport has any."""
        if isinstance(self.transport, CertifiedTransport):
            return await self.transport.connect(self.listener.address, fingerprint=fingerprint)
        return await self.transport.connect(self.listener.address)

    async def serve(self) -> None:
        try:
            self.result = await self.server.serve(self.listener)
        except PsephosError as error:
            self.failure = error
        self.seconds = trio.current_time() - self.start

    async def take_part(
        self, name: str, client: Partner, *, task_status: trio.TaskStatus[trio.CancelScope] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Let a client take part, under a scope by which it can be cancelled."""
        with trio.CancelScope() as scope:
            channel = await self.connect(OWN[name])
            task_status.started(scope)
            try:
                self.endings[name] = await client.take_part(channel)
            except PsephosError as error:
                self.endings[name] = error

    async def come_to(self, *progress: str | int) -> None:
        """Wait until the server's open phase, its reports and those outstanding are these."""
        while self.server.progress != progress:
            await trio.testing.wait_all_tasks_blocked(0.005)

    def assert_two_have_decided(self, *num_received: int) -> None:
        """Check that alice and bob ended with the outcome, and how many reports there were."""
        assert self.result is not None
        assert self.endings == {"alice": self.result.outcome, "bob": self.result.outcome}
        assert self.result.num_received == num_received

    def assert_quorum_failed(self, phase: str, missing: tuple[str, ...]) -> None:
        """Check that everybody ended with the same quorum error."""
        for error in (self.failure, self.endings["alice"], self.endings["bob"]):
            assert isinstance(error, QuorumError)
            assert (error.phase, error.missing, error.received, error.required) == (phase, missing, 2, 3)


@contextlib.asynccontextmanager
async def open_session(
    transport: Transport,
    rules: SessionRules,
    *,
    honest: Sequence[str] = (),
    protocol: DPWeVote = VOTE,
    mode: Mode | None = None,
    listener: Callable[[Effect], None] | None = None,
    log: Any = None,
) -> AsyncGenerator[Session]:
    """Start a server and its honest clients, and leave when it and every client have ended."""
    mode = mode or simulation()
    has_certificates = isinstance(transport, CertifiedTransport)
    roster = Roster(NAMES, INPUTS.public, fingerprints=tuple(OWN.values()) if has_certificates else None)
    places = UnlimitedPlaces() if isinstance(transport, InOneProcess) else None
    told = Observers(listener=listener, log=log)
    server = CloudServer(protocol, roster, mode, rules=rules, places=places, observers=told)
    with trio.fail_after(10_000 if isinstance(trio.lowlevel.current_clock(), trio.testing.MockClock) else 240):
        async with await transport.open_listener() as listening, trio.open_nursery() as nursery:
            session = Session(server, listening, transport, nursery)
            nursery.start_soon(session.serve)
            for name in honest:
                nursery.start_soon(session.take_part, name, make_client(name, mode, protocol=protocol))
            yield session


@contextlib.asynccontextmanager
async def open_unfinished(transport: Transport, **options: Any) -> AsyncGenerator[Session]:
    """Start a server that two of three are enough for, and end it with the block."""
    async with open_session(transport, SessionRules(deadline_seconds=500.0, quorum=2), **options) as session:
        yield session
        session.nursery.cancel_scope.cancel()


async def messages_until_the_end(channel: Channel) -> list[Message]:
    """Return everything that arrives until the channel ends or breaks."""
    messages: list[Message] = []
    try:
        while True:
            messages += [decode(payload) for payload in await channel.receive()]
    except (trio.EndOfChannel, trio.BrokenResourceError):
        return messages


async def next_request(channel: Channel) -> Request:
    """Receive until a request comes."""
    while True:
        for payload in await channel.receive():
            message = decode(payload)
            if isinstance(message, Request):
                return message


@dataclasses.dataclass
class Ending:
    """How a session ended on every side."""

    result: SessionResult | None = None
    failure: PsephosError | None = None
    outcomes: dict[str, msgspec.Struct] = dataclasses.field(default_factory=dict[str, msgspec.Struct])
    endings: dict[str, PsephosError] = dataclasses.field(default_factory=dict[str, PsephosError])


async def run(
    server: Aggregator | CloudServer,
    clients: Mapping[str, Client],
    transport: Transport,
    *,
    last: str = "",
    patience_seconds: float = 240.0,
) -> Ending:
    """Run a session to its end on every side; the party `last` comes when all others have joined."""
    ending = Ending()

    async def take_part(name: str, client: Client, address: str) -> None:
        if name == last:
            await trio.testing.wait_all_tasks_blocked(0.02)
        try:
            ending.outcomes[name] = await client.take_part(await transport.connect(address))
        except PsephosError as error:
            ending.endings[name] = error

    with trio.fail_after(patience_seconds):
        async with await transport.open_listener() as listener, trio.open_nursery() as nursery:
            for name, client in clients.items():
                nursery.start_soon(take_part, name, client, listener.address)
            try:
                ending.result = await server.serve(listener)
            except PsephosError as error:
                ending.failure = error
    return ending
