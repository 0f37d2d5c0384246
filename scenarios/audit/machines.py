"""Whole sessions for audits, run with a deployment's machines, noise and bytes.

There are three ways to run a session. *Machines*: the parties' state machines exchange the bytes that an agent's driver
would send, without a network; a deadline passes once all queues are empty. *Agents*: over memory. *Arrays*: phase by
phase. The record is the same: the numbers of each party's reports, decoded from its bytes, and the server's release.

All noise and all charges come from the code that sessions run. Every output is from a separate session, or from a
separate party with independent noise.
"""

import collections
import copy
import dataclasses
import functools
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

import msgspec
import numpy as np
import trio

from ...agents.adversaries import Deviation
from ...agents.adversaries.deviation import Passage
from ...agents.client import Client
from ...agents.modes import Deployment, Mode, Simulation
from ...agents.noise import SecureNoise
from ...agents.server import Server
from ...protocol.arrays import IntArray
from ...protocol.client_machine import ClientMachine
from ...protocol.effects import Drop, Effect, Fail, Finish, Send, SetDeadline
from ...protocol.errors import PsephosError
from ...protocol.memoized_reports import KeptReports
from ...protocol.messages import Message, Release, Report, Request, decode, encode
from ...protocol.phases import Inputs, PhasedProtocol
from ...protocol.population import draw_reports, run_population
from ...protocol.privacy import Ledger
from ...protocol.randomness import NoiseSource, SimulatedNoise
from ...protocol.roles import SERVER
from ...protocol.roster import Roster
from ...protocol.server_machine import ServerMachine
from ...protocol.session_flow import SessionResult
from ...protocol.sides import SessionMode
from ...protocol.tally import Tally
from ...transports.memory import MemoryTransport
from ..running.earlier_reports import EarlierReports
from ..running.session import Adversity, AgentClasses, SessionObservers, run_agents
from .case import OutputSampler, Source

SESSION: Final = "audited"  # name of audited sessions, followed by a number
_NUMBERS: Final = msgspec.msgpack.Decoder(tuple[int, ...])
_SIDES: Final = 2


@dataclasses.dataclass(frozen=True, eq=False)
class RecordedSession:
    """The record of a session: its reports and its outcome."""

    reports: Sequence[Sequence[int]]  # for each party, in roster order, the numbers of its reports, phase after phase
    outcome: msgspec.Struct | None = None  # the release; None if there is none (arrays without a trusted server)
    # A digest of all else that left the parties: number and sizes of messages, and bytes outside reports; 0 if no bytes
    # were sent (arrays).
    others: int = 0


class SessionRunner(Protocol):
    """Runs one session."""

    def __call__(
        self,
        protocol: PhasedProtocol[Any, Any],
        inputs: Inputs,
        *,
        session: str,
        noise: NoiseSource,
        memoized: KeptReports | None = None,
    ) -> RecordedSession:
        """Return the record of a session whose parties, including the server, draw this noise.

        `memoized` holds the memoized reports of earlier sessions; this session's are added. PsephosError: the session
        failed, or a party was dropped.
        """
        ...


NoiseMaker: TypeAlias = Callable[[str, int, int], NoiseSource]
"""Maps (session, seed, round) to the noise of one session; secure noise ignores all three."""
MakeNoise: TypeAlias = Callable[[], NoiseMaker]  # called once to prepare the noise of many sessions


def run_by_machines(
    protocol: PhasedProtocol[Any, Any],
    inputs: Inputs,
    *,
    session: str,
    noise: NoiseSource,
    memoized: KeptReports | None = None,
    ledgers: Sequence[Ledger] | None = None,
    machine: type[ClientMachine] = ClientMachine,
) -> RecordedSession:
    """Run a session by its parties' machines; clients' may be of another class. See `SessionRunner`."""
    names = names_of(len(inputs))
    earlier_reports = EarlierReports(protocol, names, inputs, memoized)
    mode = SessionMode(session, noise)
    server = ServerMachine(protocol, Roster(names, inputs.public), mode, memoized_reports=earlier_reports.received())
    of_names = None if ledgers is None else dict(zip(names, ledgers, strict=True))
    clients = {party.name: machine(protocol, party, mode) for party in earlier_reports.parties(of_names)}
    wire = Wire(server, clients)
    wire.run()
    earlier_reports.take_up(
        {name: client.memoized_reports for name, client in clients.items()}, server.memoized_reports
    )
    return _record_session(protocol, [wire.sent[name] for name in names], wire.told[names[0]], session)


def run_by_agents(
    protocol: PhasedProtocol[Any, Any],
    inputs: Inputs,
    *,
    session: str,
    noise: NoiseSource,
    memoized: KeptReports | None = None,
    client: type[Client] = Client,
) -> RecordedSession:
    """Run a session by agents over memory, with simulated or secure noise. See `SessionRunner`."""
    names = names_of(len(inputs))
    recorders = {name: _Recorder() for name in names}

    async def run() -> None:
        record = await run_agents(
            protocol,
            names=names,
            inputs=inputs,
            mode=_mode_of(session, noise),
            transport=MemoryTransport(),
            observers=SessionObservers(kept=memoized),
            classes=AgentClasses(client, Server),
            adversity=Adversity(deviations=recorders),
        )
        for error in record.endings.values():
            raise error

    trio.run(run)
    return _record_session(protocol, [recorders[name].sent for name in names], recorders[names[0]].told, session)


def run_by_arrays(
    protocol: PhasedProtocol[Any, Any],
    inputs: Inputs,
    *,
    session: str,
    noise: NoiseSource,
    memoized: KeptReports | None = None,
) -> RecordedSession:
    """Run the clients' part of a session by arrays, with simulated noise; also the release if losses bound it."""
    del session
    assert isinstance(noise, SimulatedNoise)  # noqa: S101  arrays have no other
    if protocol.model.bounds_release:
        return RecordedSession([], run_population(protocol, inputs, noise=noise).outcome)
    earlier_reports = EarlierReports(protocol, names_of(len(inputs)), inputs, memoized)
    reports = {
        phase.name: draw_reports(phase, inputs, noise=noise, protocol=protocol.name, start=0)
        for phase in protocol.phases
    }
    for phase, phase_reports in earlier_reports.reports_by_place().items():
        for place, report in phase_reports.items():
            reports[phase][place] = report
    earlier_reports.take_up_arrays(
        {phase.name: reports[phase.name] for phase in protocol.phases if phase.memo_scope is not None}
    )
    return RecordedSession(np.concatenate(list(reports.values()), axis=1).tolist())


def noise_of(source: Source) -> MakeNoise:
    """Return the noise maker of a source: simulated, different for each seed and round, or secure."""
    return one_source(SecureNoise) if source == "secure" else source_of_each(SimulatedNoise)


def one_source(make: Callable[[], NoiseSource]) -> MakeNoise:
    """Return a noise maker that serves all sessions from one source, whose noise never repeats.

    Building its samplers takes longer than drawing.
    """

    def make_noise() -> NoiseMaker:
        noise = make()
        return lambda _session, _seed, _round: noise

    return make_noise


def source_of_each(kind: type[SimulatedNoise]) -> MakeNoise:
    """Return a noise maker with a separate source for each session, seed and round."""

    def make(session: str, seed: int, round_number: int) -> NoiseSource:
        return kind(seed, session=session, round_number=round_number)

    return lambda: make


def roster_of(
    protocol: PhasedProtocol[Any, Any], rows: Sequence[Sequence[int] | IntArray], public: Sequence[Sequence[int]]
) -> Inputs:
    """Return a roster of parties with these rows; a public row's index of its party is corrected."""
    private, table = (np.array(rows_of_kind, dtype=np.int64).reshape(len(rows), -1) for rows_of_kind in (rows, public))
    public_table = protocol.write_public(table)
    return Inputs(private, protocol.encode_public(public_table, num_parties=len(rows)) if public_table else table)


def reports_of_each(session: RecordedSession) -> Sequence[Sequence[int]]:
    """Return each party's reports as a separate output, since parties are independent."""
    return session.reports


def reports_of_all(session: RecordedSession) -> Sequence[Sequence[int]]:
    """Return all parties' reports as one output."""
    return [[number for report in session.reports for number in report]]


def session_sampler(
    protocol: PhasedProtocol[Any, Any],
    inputs: Inputs,
    observe: Callable[[RecordedSession], Sequence[Sequence[int]]],
    make_noise: MakeNoise,
    *,
    side: int,
    num_sessions: int = 1,
    hold: SessionRunner = run_by_machines,
) -> OutputSampler:
    """Return a sampler of what sessions show.

    Args:
        protocol: the sessions' protocol.
        inputs: all parties' rows, in roster order.
        observe: maps a session's record to one or more independent outputs, each a row of integers.
        make_noise: prepares the sessions' noise.
        side: 0 or 1; the two neighbors never share simulated noise, even with equal streams.
        num_sessions: number of rounds on the same data, whose rows are concatenated in an output.
        hold: runs a session.
    """

    @functools.cache
    def noises() -> NoiseMaker:  # built on first use, since secure noise is slow to prepare
        return make_noise()

    has_memoized_phase = any(phase.memo_scope is not None for phase in protocol.phases)
    session_protocol = protocol if protocol.model.bounds_release else _repeating_outcome(protocol)

    def draw(number: int, stream: int) -> IntArray:
        outputs: list[Sequence[int]] = []
        while len(outputs) < number:
            session = f"{SESSION}-{len(outputs)}"
            of_rounds = (noises()(session, _SIDES * stream + side, each) for each in range(num_sessions))
            memoized_reports: dict[str, KeptReports] = (
                {"kept": {}} if has_memoized_phase else {}
            )  # shared by the rounds of one output only
            rounds = [
                observe(hold(session_protocol, inputs, session=session, noise=noise, **memoized_reports))
                for noise in of_rounds
            ]
            outputs += [[number for part in parts for number in part] for parts in zip(*rounds, strict=True)]
        return np.array(outputs[:number], dtype=np.int64).reshape(number, -1)

    return draw


def _repeating_outcome(protocol: PhasedProtocol[Any, Any]) -> PhasedProtocol[Any, Any]:
    """Return the protocol with its first outcome cached, since outcomes are functions of observed reports."""
    copied = copy.copy(protocol)
    for name in ("outcome", "own_outcomes"):
        outcomes: list[Any] = []
        setattr(copied, name, functools.partial(_first_of, outcomes, getattr(protocol, name)))
    return copied


def _first_of(outcomes: list[Any], make: Callable[[Sequence[Tally]], Any], tallies: Sequence[Tally]) -> Any:
    if not outcomes:
        outcomes.append(make(tallies))
    return outcomes[0]


class Wire:
    """Carries bytes between a server's machine and its clients' machines, in the order of sending.

    Clients that leave do so when they are asked for a given step.

    Attributes:
        sent: each client's messages, as decoded by the server.
        told: the messages that each client received.
        tallies: the phases' tallies, after the session.
    """

    def __init__(
        self,
        server: ServerMachine,
        clients: Mapping[str, ClientMachine],
        *,
        leave_steps: Mapping[str, int] | None = None,
    ) -> None:
        self._leaving = leave_steps or {}
        self.tallies: Sequence[Tally] = ()
        self._server = server
        self._clients = clients
        self._queue: collections.deque[tuple[str, str, bytes]] = collections.deque()
        self._deadlines: collections.deque[str] = collections.deque()
        self.sent: dict[str, list[Message]] = {name: [] for name in clients}
        self.told: dict[str, list[Message]] = {name: [] for name in clients}

    def run(self) -> None:
        """Run the session; PsephosError: it failed, or a party was dropped."""
        self._act(SERVER, self._server.start())
        for name, client in self._clients.items():
            self._act(name, client.start())
        while self._queue or self._deadlines:
            while self._queue:
                self._deliver(*self._queue.popleft())
            if self._deadlines:  # ignore deadlines of phases that have closed
                self._act(SERVER, self._server.receive_timeout(self._deadlines.popleft()))

    def _deliver(self, sender: str, recipient: str, payload: bytes) -> None:
        message = decode(payload, sender=sender)
        if recipient == SERVER:
            self.sent[sender].append(message)
            self._act(SERVER, self._server.receive(sender, message))
        elif isinstance(message, Request) and message.step == self._leaving.get(recipient):
            self._act(SERVER, self._server.receive_loss(recipient))
        else:
            self.told[recipient].append(message)
            self._act(recipient, self._clients[recipient].receive(sender, message))

    def _act(self, actor: str, effects: Sequence[Effect]) -> None:
        for effect in effects:
            match effect:
                case Send(recipients, message):
                    payload = encode(message)
                    self._queue.extend((actor, recipient, payload) for recipient in recipients)
                case SetDeadline(phase, _):
                    self._deadlines.append(phase)
                case Drop(_, error) | Fail(error):
                    raise error
                case Finish(SessionResult(tallies=tallies)):
                    self.tallies = tallies
                case _:
                    pass  # these effects are for logs and listeners


class _Recorder(Deviation):
    """Records messages, and changes nothing."""

    __slots__ = ("sent", "told")

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.told: list[Message] = []

    def outgoing(self, peer: str, message: Message) -> Passage:
        self.sent.append(message)
        return super().outgoing(peer, message)

    def incoming(self, peer: str, message: Message) -> Passage:
        self.told.append(message)
        return super().incoming(peer, message)


def names_of(number: int) -> list[str]:
    """Return the names of audited sessions' parties, in roster order."""
    return [f"party-{place}" for place in range(number)]


def _mode_of(session: str, noise: NoiseSource) -> Mode:
    if isinstance(noise, SecureNoise):
        return Deployment(session, noise)
    assert isinstance(noise, SimulatedNoise)  # noqa: S101  there are two kinds
    return Simulation(session, noise)


def _record_session(
    protocol: PhasedProtocol[Any, Any],
    sent_messages: Sequence[Sequence[Message]],
    received: Sequence[Message],
    session: str,
) -> RecordedSession:
    """Return the record of a session in which parties sent these messages, and the first one received those.

    PsephosError: nothing was released.
    """
    payloads = [[bytes(each.payload) for each in messages if isinstance(each, Report)] for messages in sent_messages]
    reports = [[number for payload in payload_part for number in _NUMBERS.decode(payload)] for payload_part in payloads]
    for message in received:
        if isinstance(message, Release):
            outcome = protocol.outcome_decoder.decode(message.payload)
            return RecordedSession(reports, outcome, _others_of(protocol, sent_messages, session))
    raise PsephosError("the session ended without a release")


def _others_of(protocol: PhasedProtocol[Any, Any], sent_messages: Sequence[Sequence[Message]], session: str) -> int:
    """Return a digest of all that left the parties except the numbers of their reports.

    Messages are encoded as they were sent, without the session's name. A report counts by its phase, its size, and
    whether its bytes are the canonical encoding of its numbers.
    """
    digest = hashlib.sha256()
    for place, messages in enumerate(sent_messages):
        for number, message in enumerate(messages):
            encoded = encode(message).replace(msgspec.msgpack.encode(session), b"")
            if isinstance(message, Report):
                payload = bytes(message.payload)
                usual_payload = bytes(protocol.steps[message.step].codec.encode(_NUMBERS.decode(payload)))
                encoded = repr((message.step, len(encoded), usual_payload == payload)).encode()
            digest.update(repr((place, number, encoded)).encode())
    return int.from_bytes(digest.digest()[:7])
