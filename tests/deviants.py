"""A session among agents some of which deviate, and all that is left of it, whatever it ended with."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
import trio
from psephos.agents import CloudServer, Partner, Simulation
from psephos.agents.adversaries import SERVER, DeviatingChannel, DeviatingListener, Deviation
from psephos.protocol import Party
from psephos.protocol.dpwevote import DPWeVote, Outcome, Parameters
from psephos.protocol.errors import PsephosError
from psephos.protocol.phases import Inputs, PhasedProtocol
from psephos.protocol.privacy import LedgerEntry
from psephos.protocol.randomness import SimulatedNoise
from psephos.protocol.roster import Roster
from psephos.protocol.rules import SessionRules
from psephos.protocol.session_flow import SessionResult
from psephos.transports import Channel, MemoryTransport, TCPTransport, Transport

__all__ = ["INPUTS", "NAMES", "TRANSPORTS", "VOTE", "Meeting", "meet"]

TRANSPORTS: Final[list[Callable[[], Transport]]] = [MemoryTransport, TCPTransport]
VOTE: Final = DPWeVote(Parameters(candidates=("bridge", "tunnel"), epsilon=2.0))
NAMES: Final = ("ann", "bob", "cid")
INPUTS: Final = VOTE.encode({"weight": [1.0, 2.0, 3.0], "bridge": [1, 0, 1], "tunnel": [0, 1, 1]})


@dataclasses.dataclass
class Meeting:
    """What is left of a session.

    Attributes:
        result: the server's, if it released.
        failure: what it failed with, else.
        endings: for each client the outcome that it heard, or its error.
        entries: for each client what it was charged.
        transcripts: for each client, and the server, the digest of what was told.
        errors: whom the server dropped, and for what.
    """

    result: SessionResult | None = None
    failure: PsephosError | None = None
    endings: dict[str, msgspec.Struct | PsephosError] = dataclasses.field(default_factory=dict[str, Any])
    entries: dict[str, list[LedgerEntry]] = dataclasses.field(default_factory=dict[str, list[LedgerEntry]])
    transcripts: dict[str, str | None] = dataclasses.field(default_factory=dict[str, "str | None"])

    @property
    def outcome(self) -> Outcome:
        """The server's, of a vote."""
        assert self.result is not None
        assert isinstance(self.result.outcome, Outcome)
        return self.result.outcome

    def paid(self, name: str) -> float:
        """Return the proven loss that a client was charged."""
        return sum(entry.proven for entry in self.entries[name])


async def meet(
    transport: Transport,
    deviations: Mapping[str, Deviation] | None = None,
    *,
    protocol: PhasedProtocol[Any, Any] = VOTE,
    inputs: Inputs = INPUTS,
    agreed: PhasedProtocol[Any, Any] | None = None,
    quorum: float = 1.0,
    deadline: float = 30.0,
    seed: int = 7,
) -> Meeting:
    """Let a server and its clients hold a session.

    Args:
        transport: how they talk.
        deviations: what single parties do otherwise; the server's under `SERVER`.
        protocol: the server's.
        inputs: the clients' rows.
        agreed: what the clients agreed to; the server's unless given.
        quorum: of every phase.
        deadline: of every phase, in seconds.
        seed: of the noise.
    """
    given = deviations or {}
    mode = Simulation("council", SimulatedNoise(seed, session="council"))
    meeting = Meeting()
    roster = Roster(NAMES, inputs.public)
    server = CloudServer(protocol, roster, mode, rules=SessionRules(deadline_seconds=deadline, quorum=quorum))

    async def take_part(name: str, client: Partner, channel: Channel) -> None:
        try:
            meeting.endings[name] = await client.take_part(channel)
        except PsephosError as error:
            meeting.endings[name] = error
        meeting.entries[name] = list(client.ledger.entries)
        meeting.transcripts[name] = client.transcript

    async with await transport.open_listener() as listener, trio.open_nursery() as nursery:
        for place, name in enumerate(NAMES):
            party = Party(name, place, inputs.private[place].tolist(), public=inputs.public[place].tolist())
            client = Partner(agreed or protocol, party, mode)
            channel = await transport.connect(listener.address)
            if name in given:
                channel = DeviatingChannel(channel, given[name])
            nursery.start_soon(take_part, name, client, channel)
        try:
            of_server = given.get(SERVER)
            meeting.result = await server.serve(
                listener if of_server is None else DeviatingListener(listener, of_server)
            )
        except PsephosError as error:
            meeting.failure = error
    meeting.transcripts[SERVER] = server.transcript
    return meeting
