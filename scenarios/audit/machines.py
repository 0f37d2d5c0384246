"""Whole sessions as they are held: machines, noise and bytes of a deployment, and what leaves a party in them.

A session is held in one of three ways. By *machines*: the parties' own, which exchange the bytes that the driver of
an agent would send, without a network between them; a deadline passes once nobody has anything left to say. By
*agents*, over memory. By *arrays*, phase by phase. What it leaves is the same: the numbers of each party's reports as
they were read from its bytes, and what the server released. Where nobody trusts it, that is the first session's again.

The rule that holds here: nothing is drawn or charged but by the code that runs in a session, and every output is of a
session of its own, or of a party of its own, whose noise nobody else has.
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

SESSION: Final = "audited"  # what audited sessions are called, with a number behind it
_NUMBERS: Final = msgspec.msgpack.Decoder(tuple[int, ...])
_SIDES: Final = 2


@dataclasses.dataclass(frozen=True, eq=False)
class RecordedSession:
    """What a session leaves."""

    reports: Sequence[Sequence[int]]  # of each party, in roster order, the numbers that left it, phase after phase
    outcome: msgspec.Struct | None = None  # what was released; None where nothing is (arrays, but of a trusted server)
    # All else that left the parties: how many messages, each one's size, and what bytes no report has, as one number; 0
    # where no bytes were sent (arrays).
    others: int = 0


class SessionRunner(Protocol):
    """Holds one session."""

    def __call__(
        self,
        protocol: PhasedProtocol[Any, Any],
        inputs: Inputs,
        *,
        session: str,
        noise: NoiseSource,
        memoized: KeptReports | None = None,
    ) -> RecordedSession:
        """Return what a session leaves whose parties, the server among them, draw this noise.

        `memoized` is what earlier sessions left, and gets what this one leaves. PsephosError: the session failed, or a
        party was dropped.
        """
        ...


NoiseMaker: TypeAlias = Callable[[str, int, int], NoiseSource]
"""(session, seed, round) → the noise of one session; what is secure heeds none of them."""
MakeNoise: TypeAlias = Callable[[], NoiseMaker]  # makes the noise of many sessions, and is called once for them all


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
    """Hold a session by its parties' machines, of which clients' may be another kind. See `SessionRunner`."""
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
    """Hold a session by agents over memory, with simulated or secure noise. See `SessionRunner`."""
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
    """Hold the clients' part of a session by arrays, with simulated noise; all of it where losses bound releases."""
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
    """Return what makes the noise of sessions: simulated, another for each seed and round, or secure."""
    return one_source(SecureNoise) if source == "secure" else source_of_each(SimulatedNoise)


def one_source(make: Callable[[], NoiseSource]) -> MakeNoise:
    """Return what makes one noise source that serves all sessions, as one that never repeats may.

    Its samplers take longer to make than to ask.
    """

    def make_noise() -> NoiseMaker:
        noise = make()
        return lambda _session, _seed, _round: noise

    return make_noise


def source_of_each(kind: type[SimulatedNoise]) -> MakeNoise:
    """Return what makes a noise source of a kind for each session, seed and round."""

    def make(session: str, seed: int, round_number: int) -> NoiseSource:
        return kind(seed, session=session, round_number=round_number)

    return lambda: make


def roster_of(
    protocol: PhasedProtocol[Any, Any], rows: Sequence[Sequence[int] | IntArray], public: Sequence[Sequence[int]]
) -> Inputs:
    """Return a roster of parties with these rows; what a public row says of its owner's place is put right."""
    private, table = (np.array(rows_of_kind, dtype=np.int64).reshape(len(rows), -1) for rows_of_kind in (rows, public))
    public_table = protocol.write_public(table)
    return Inputs(private, protocol.encode_public(public_table, num_parties=len(rows)) if public_table else table)


def reports_of_each(session: RecordedSession) -> Sequence[Sequence[int]]:
    """Return each party's reports as an output of its own: parties are independent of each other."""
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
    """Return draws of what sessions show.

    Args:
        protocol: what is run.
        inputs: of all parties, in roster order.
        observe: what one session shows: independent outputs, one or more, of which each is a row of integers.
        make_noise: makes the sessions' noise.
        side: 0 or 1: the two neighbors share no simulated noise, whatever streams they are asked for.
        num_sessions: rounds on the same data whose rows stand side by side in an output.
        hold: how a session is held.
    """

    @functools.cache
    def noises() -> NoiseMaker:  # made when something is drawn: what makes secure noise is heavy
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
            )  # from round to round, and no further
            rounds = [
                observe(hold(session_protocol, inputs, session=session, noise=noise, **memoized_reports))
                for noise in of_rounds
            ]
            outputs += [[number for part in parts for number in part] for parts in zip(*rounds, strict=True)]
        return np.array(outputs[:number], dtype=np.int64).reshape(number, -1)

    return draw


def _repeating_outcome(protocol: PhasedProtocol[Any, Any]) -> PhasedProtocol[Any, Any]:
    """Return the protocol, in whose sessions the first outcome is told again: it is made of reports that are shown."""
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
    """Carries bytes between one server's machine and its clients', in the order in which they are sent.

    Clients that leave do so when they are asked for a step.

    Attributes:
        sent: what each client said, as it was read.
        told: what each client was told.
        tallies: what the phases left, once the session is over.
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
        """Hold the session; PsephosError: it failed, or a party was dropped."""
        self._act(SERVER, self._server.start())
        for name, client in self._clients.items():
            self._act(name, client.start())
        while self._queue or self._deadlines:
            while self._queue:
                self._deliver(*self._queue.popleft())
            if self._deadlines:  # nothing of a phase that has closed
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
                    pass  # these are for logs and listeners


class _Recorder(Deviation):
    """Changes nothing, and keeps what passes."""

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
    """Return what the parties of audited sessions are called, in roster order."""
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
    """Return what a session leaves whose parties said this, and whose first one was told that.

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
    """Return a number that stands for all that left the parties but the numbers of their reports.

    Messages are encoded as they left, with the session's name taken out. A report has its phase, its size, and whether
    its bytes are those of its numbers.
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
