"""The hostile world: real agents, machines and journals, and around them a network, disks and a clock that fail.

One plan is one run (`plans.Plan`). Persons' processes take part in one session after another, servers serve them, and
each is started again when it has died or its journal could not be written. Time is virtual, and the order of tasks
follows from the plan's seed, so that a run is the same each time. What must hold is in `invariants`.

What the network does besides what `network` does, to machines that vanish and to parties that are cut off for a while,
is here. Below TLS a stream has no reordering and no repetition inside a
connection: messages of different connections overtake each other, and a peer that repeats a message stands for the
rest.
"""

import contextlib
import dataclasses
import hashlib
import importlib
import math
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from typing import Any, Final
from unittest import mock

import msgspec
import trio
from liars import befriend
from psephos.agents import masking as agents_masking
from psephos.agents.client import Client, answer_seconds
from psephos.agents.driver import LINGER_SECONDS
from psephos.agents.host_journal import HostJournal
from psephos.agents.modes import Simulation, with_keys
from psephos.agents.person_journal import PersonJournal
from psephos.agents.returning import take_part_durably
from psephos.agents.server import Server
from psephos.protocol import Party, PsephosError, Roster, SessionRules, SimulatedNoise, masked_sessions
from psephos.protocol.errors import (
    BudgetExceededError,
    ConfigurationError,
    HandshakeError,
    JournalError,
    QuorumError,
)
from psephos.protocol.masking import Circle, MaskingParty, MaskingRules, graph
from psephos.protocol.messages import Abort, SessionDescriptor, decode
from psephos.protocol.phases import masked_phase
from psephos.protocol.privacy import Budget
from psephos.protocol.session_flow import SessionResult
from psephos.transports import Channel
from psephos.transports.faults import Fate, seeded_weather
from psephos.transports.shared import SharedTransport
from simulation.cases import make_case, sizes_for
from simulation.disks import Disk, MemoryDisk, open_host_journal, open_person_journal, open_session_journal
from simulation.invariants import Observer, secret_of
from simulation.network import Death, HostTransport, Link, Network, Process
from simulation.plans import (
    HOST,
    LEAST_ON_A_CIRCLE,
    Clock,
    Crash,
    FullDisk,
    Lie,
    Misconfigured,
    OtherChoice,
    Partition,
    Plan,
    WriteFault,
    WrongClock,
    server_name,
)
from simulation.remembering import Remembering, remembering_signer

__all__ = ["Held", "World", "run_plan"]

_SCHEDULER: Final = importlib.import_module("trio._core._run")
"""Orders tasks at random, unless told otherwise as it is where Hypothesis runs; there is no public way to do so."""
_HORIZON: Final = 1e7
"""Seconds in which everything has to end."""
_NUM_TRIES: Final = 60
"""So often a process is started again, or a person tries a session."""
_PAUSE_SECONDS: Final = 5.0
_LONGEST_PAUSE_SECONDS: Final = 80.0
"""Whoever ends without an outcome tries again less and less often."""
_DEAD_SECONDS: Final = 150.0
"""After which an end of a connection is told that the other one's machine has vanished."""
_UNREACHABLE_SECONDS: Final = 3.0
_DOWN_SECONDS: Final = 3.0
"""After which a server's machine itself is down, not its process alone: whoever calls hears nothing for a while."""
_SILENT_SECONDS: Final = 20.0
_PATIENCE_SECONDS: Final = 100.0
_LONG_PATIENCE_SECONDS: Final = 2400.0
"""More than any server is away whose faults pass, or all connections of a host are lost by chance."""
_TODAY: Final = 1.8e9
"""Of a person's clock, as the world begins."""
_HIDDEN_SECONDS: Final = 1e5
"""Of a phase that hides who takes part, and so waits for its deadline: longer than a person looks for the server of an
earlier session that has ended, which it does for `_LONG_PATIENCE_SECONDS`, and again after each crash."""


class _Clock(trio.abc.Clock):
    """Virtual time: once nobody can go on it is what somebody waits for, and until then it stands."""

    def __init__(self) -> None:
        self.now = 0.0

    def start_clock(self) -> None:
        pass

    def current_time(self) -> float:
        return self.now

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Go on to the next deadline, for which trio asks where no task can run; nothing else is to come."""
        self.now = max(self.now, deadline)
        return 0.0


@dataclasses.dataclass
class Held:
    """A session of the world, as all sides agreed to it."""

    number: int
    case: str
    name: str
    descriptor: SessionDescriptor
    roster: Roster
    protocol: Any
    inputs: Any
    rules: SessionRules
    noises: list[SimulatedNoise] = dataclasses.field(default_factory=list[SimulatedNoise])
    """Of each run of the server."""
    signers: Sequence[Callable[[bytes], bytes]] = ()
    """Of a masked session: what signs for each party."""
    drawing: dict[str, SimulatedNoise] = dataclasses.field(default_factory=dict[str, SimulatedNoise])
    """Of each party's last client."""
    result: SessionResult | None = None
    failure: PsephosError | None = None
    is_over: bool = False
    has_ended: trio.Event = dataclasses.field(default_factory=trio.Event)


class World:
    """One run of a plan.

    Args:
        plan: what happens.
        make_disk: makes the disk of a process.

    Attributes:
        observer: what was seen, and which invariants were broken.
        endings: for each person and session, how it ended.
    """

    def __init__(self, plan: Plan, *, make_disk: Callable[[str], Disk] = lambda _: MemoryDisk()) -> None:
        self.plan = plan
        self.numbers = iter(range(1 << 40))
        self.crashes: dict[str, Crash] = {}
        self.held = [self._hold(number, case) for number, case in enumerate(plan.sessions)]
        self.observer = Observer(plan, self.held)
        self.disks = {name: make_disk(name) for name in plan.processes}
        self.endings: dict[tuple[str, int], msgspec.Struct | Exception] = {}
        self.trace = hashlib.sha256()
        self._commits = dict.fromkeys(plan.processes, 0)
        self._runs = dict.fromkeys(plan.processes, 0)
        self._networks: dict[int, Network] = {}
        self._down_since: dict[int, float] = {}
        self._weather = seeded_weather(plan.faults, plan.seed)
        self._random = random.Random(plan.seed)
        self._partitions = [event for event in plan.events if isinstance(event, Partition)]
        self._write_faults = {(e.process, e.commit): e for e in plan.events if isinstance(e, WriteFault)}
        self._full = [event for event in plan.events if isinstance(event, FullDisk)]
        self._other_choices = {(e.process, e.run): e for e in plan.events if isinstance(e, OtherChoice)}
        self._misconfigured = {(e.process, e.run) for e in plan.events if isinstance(e, Misconfigured)}
        self._wrong_clocks = {(e.process, e.run): e.seconds for e in plan.events if isinstance(e, WrongClock)}
        self._lies = [event for event in plan.events if isinstance(event, Lie)]
        self._num_noises = 0
        self._begun = 0.0

    # What goes wrong

    def weather_of(self, link: Link, connection: int, is_upstream: bool, number: int) -> Fate:  # noqa: FBT001  as `Weather`
        """Return the fate of a payload, or of a connection's end."""
        sender = link.person if is_upstream else link.server
        if sender.has_vanished:
            return Fate(_DEAD_SECONDS, is_lost=True)
        fate = self._weather(connection, is_upstream, number)
        begun = self._cut_until(link.person.name) - trio.current_time()
        return fate if begun <= 0 else fate._replace(delay_seconds=fate.delay_seconds + begun)

    def lies_to(self, link: Link) -> set[int]:
        """Return in which steps a server lies to whom it is connected with."""
        ends = link.server.name, link.person.name
        return {lie.step for lie in self._lies if (lie.process, lie.party) == ends}

    def other_choice(self, process: Process) -> OtherChoice | None:
        """Return what a person chooses in this run, unless it is what it means to choose."""
        return self._other_choices.get((process.name, process.run))

    def is_revoked(self, party: str, server: Process) -> bool:
        """Return whether a server that runs now takes a person's certificate no more."""
        return self.plan.is_revoked(party, server.name, server.run)

    def _time_of(self, process: Process) -> float:
        """Return what time it is to a person, in seconds since 1970."""
        return _TODAY + self.now + self._wrong_clocks.get((process.name, process.run), 0.0)

    def _choice_of(self, process: Process, party: str, held: Held) -> tuple[int, ...]:
        """Return a person's public row, whose end it chooses itself: as it is held to, once a server says so."""
        public: list[int] = self.observer.public_of(held)[held.roster.places[party]].tolist()
        other = self.other_choice(process)
        if other is not None and not other.is_forged and held.protocol.num_chosen:
            public[-1] = other.choice
        return tuple(public)

    def commit(self, process: Process, write: Callable[[], None], rows: Sequence[Any]) -> None:
        process.do_step()
        name = process.name
        number = self._commits[name]
        self._commits[name] += 1
        now = self.now
        if any(full.process == name and full.begin <= now < full.begin + full.seconds for full in self._full):
            raise JournalError("cannot be written: the disk is full")
        fault = self._write_faults.get((name, number))
        if fault is not None and not fault.is_durable:
            raise JournalError("cannot be written")
        write()
        self.observer.note_durable(name, rows, now=self._time_of(process))
        process.do_step()
        if fault is not None:
            raise JournalError("may be written, or not")

    @property
    def now(self) -> float:
        """Seconds since the world began."""
        return trio.current_time() - self._begun

    def _cut_until(self, party: str) -> float:
        """Return when a partition that holds now ends, on trio's clock; the past where there is none."""
        now = self.now
        ends = (cut.begin + cut.seconds for cut in self._partitions if cut.process == party and cut.begin <= now)
        return self._begun + max(ends, default=-1.0)

    def note_sent(self, link: Link, party: str, payload: bytes, *, by_server: bool) -> None:
        message = decode(payload)
        self.trace.update(f"{self.now:.6f} {link.number} {by_server:d} ".encode() + payload)
        if by_server:
            self.observer.note_told(link.held, party, message, is_revoked=link.is_revoked)
        else:
            self.observer.note_left(link.held, party, message, payload)
            # Who has heard a lie that a later step brings to light may leave before, for the server's silence.
            if isinstance(message, Abort) and link.heard_lie and "has said nothing" not in message.reason:
                self.observer.note_fault(link.held, party)

    # Who there is

    def _hold(self, number: int, case: str) -> Held:
        plan = self.plan
        protocol, inputs = make_case(case, plan.num_parties)
        owners = [HOST] * plan.hosted + plan.parties[plan.hosted :]
        fingerprints = [f"certificate of {name}" for name in owners] if plan.has_certificates else None
        public = inputs.public
        if protocol.num_chosen:
            public = protocol.encode_public({}, num_parties=plan.num_parties)
        roster = Roster(plan.parties, public, fingerprints=fingerprints)
        quorum = None if protocol.hides_participation else plan.quorum
        rules = SessionRules(deadline_seconds=plan.deadline, quorum=quorum)
        if protocol.hides_participation and plan.is_gentle:
            rules = SessionRules(deadline_seconds=_HIDDEN_SECONDS)
        name = f"session{number}"
        descriptor = SessionDescriptor(hashlib.sha256(f"{plan.seed} {name}".encode()).hexdigest()[:32], roster.digest)
        mode = Simulation(name, SimulatedNoise(plan.seed, session=name), descriptor=descriptor)
        roster, mode, signers = with_keys(protocol, roster, mode)
        signers = [*map(remembering_signer, signers)]
        return Held(number, case, name, mode.descriptor, roster, protocol, inputs, rules, signers=signers)

    def _fresh_mode(self, held: Held) -> Simulation:
        """Return noise that nobody has drawn before: as of a deployment, a second draw is another one."""
        self._num_noises += 1
        noise = SimulatedNoise(self.plan.seed + (self._num_noises << 40), session=held.name)
        return Simulation(held.name, noise, descriptor=held.descriptor)

    def budget_of(self, party: str) -> Budget | None:
        """Return what a person allows for all sessions together."""
        if self.plan.affordable is None:
            return None
        return Budget(epsilon=self.observer.budget_of(party))

    def _begin_run(self, name: str) -> Process:
        run = self._runs[name]
        self._runs[name] += 1
        crashes = [event for event in self.plan.events if isinstance(event, Crash)]
        steps = {event.step: event for event in crashes if (event.process, event.run) == (name, run)}
        return Process(self, name, run, dies_at=steps)

    async def _live(self, name: str, run_once: Callable[[Process], Any]) -> None:
        """Start a process, and again when it has died, until it is done."""
        pause = _PAUSE_SECONDS
        for _ in range(_NUM_TRIES):
            process = self._begin_run(name)
            is_done = False
            try:
                with _until_death():
                    is_done = await run_once(process)
            finally:
                died = not process.is_alive
                process.is_alive = False
                self.disks[name].close()
            if died:
                crash = self.crashes[name]
                if crash.seconds == math.inf:
                    self.observer.gone |= {*self.plan.parties[: self.plan.hosted]} if name == HOST else {name}
                    return
                await trio.sleep(crash.seconds)
            elif is_done:
                return
            else:
                await trio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    # A person

    async def _person(self, process: Process) -> bool:
        """Take part in all sessions that have no ending yet; return whether they have one."""
        journal = open_person_journal(
            self.disks[process.name], _committing(process), clock=lambda: self._time_of(process)
        )
        for held in self._in_turn(process):
            if self._is_over(process.name, held):
                continue
            await self._wait_for(held)
            await self._end(process, process.name, journal, held, lambda held=held: self._connect(process, held))
            ending = self.endings[process.name, held.number]
            if isinstance(ending, JournalError) and not self._is_over(process.name, held):
                return False  # its process ends, and is started again
        return all(self._is_over(process.name, held) for held in self.held)

    def _in_turn(self, process: Process) -> Sequence[Held]:
        """Return the sessions as a run of a process takes part in them: the next run begins with another one."""
        first = 0 if self.plan.is_gentle or self.plan.gap else process.run % len(self.held)
        return self.held[first:] + self.held[:first]

    async def _wait_for(self, held: Held) -> None:
        """Wait until a session is to begin."""
        if self.plan.gap:
            await trio.sleep_until(self._begun + held.number * self.plan.gap)

    async def _end(
        self,
        process: Process,
        party: str,
        journal: PersonJournal,
        held: Held,
        connect: Callable[[], Awaitable[Channel]],
    ) -> None:
        """Take part in a session, and take note of how that ended."""
        try:
            ending: msgspec.Struct | Exception = await self._sit(process, party, journal, held, connect)
        except (PsephosError, OSError) as error:
            ending = error
        if not process.is_alive:
            raise Death
        self.observer.note_ending(held, party, ending)
        self.endings[party, held.number] = ending

    async def _host(self, process: Process) -> bool:
        """Take part for all persons of a host, as `_person`: in each session for all at once, over one connection."""
        journal = open_host_journal(self.disks[HOST], _committing(process), clock=lambda: self._time_of(process))
        journal.run_in_thread = self._run_in_thread
        parties = self.plan.parties[: self.plan.hosted]
        journals = {party: journal.person_journal(party) for party in parties}
        for held in self._in_turn(process):
            taking_part = [party for party in parties if not self._is_over(party, held)]
            if taking_part and not await self._sit_together(process, taking_part, journal, journals, held):
                return False
        return all(self._is_over(party, held) for party in parties for held in self.held)

    async def _sit_together(
        self,
        process: Process,
        parties: Sequence[str],
        journal: HostJournal,
        journals: dict[str, PersonJournal],
        held: Held,
    ) -> bool:
        """Take part as `psephos.scenarios.deployment.hosting.host` lets parties; return whether the journal goes on."""
        failure: BaseException | None = None
        try:
            async with trio.open_nursery() as nursery:
                shared = SharedTransport(
                    HostTransport(lambda: self._connect(process, held)),
                    nursery,
                    before_writing=journal.commit,
                    answer_seconds=answer_seconds(self._silence_seconds),
                )
                async with trio.open_nursery() as taking_part:
                    for party in parties:
                        own = journals[party], held, lambda: shared.connect(held.name)
                        taking_part.start_soon(self._end, process, party, *own)
                with trio.move_on_after(LINGER_SECONDS):
                    await shared.aclose()
                await journal.commit()
                nursery.cancel_scope.cancel()
        except* (JournalError, ConfigurationError) as group:
            failure = group.exceptions[0]
        if not process.is_alive:
            raise Death
        if isinstance(failure, ConfigurationError):
            for party in parties:
                self.endings.setdefault((party, held.number), failure)
        return failure is None

    @property
    def _silence_seconds(self) -> float:
        """How long a server may say nothing: where nobody is to be missing, longer than it waits for others."""
        return 2 * self.plan.deadline if self.plan.is_gentle else _PATIENCE_SECONDS

    def _is_over(self, name: str, held: Held) -> bool:
        """Return whether a person does not try again: it has heard the outcome, or why there is none for it."""
        ending = self.endings.get((name, held.number))
        if isinstance(ending, (BudgetExceededError, QuorumError, ConfigurationError, HandshakeError)):
            return True
        if isinstance(ending, JournalError) and self.observer.has_refused(held, name):
            return True
        is_closed = held.is_over or server_name(held.number) in self.observer.gone
        return ending is not None and (is_closed or not isinstance(ending, Exception))

    async def _sit(
        self,
        process: Process,
        party: str,
        journal: PersonJournal,
        held: Held,
        reach: Callable[[], Awaitable[Channel]],
    ) -> msgspec.Struct:
        place = held.roster.places[party]
        row: list[int] = held.inputs.private[place].tolist()
        public = self._choice_of(process, party, held)
        budget, period = self.budget_of(party), self.plan.period
        self.observer.note_try(held, party)
        unused: Client | None = None  # where nobody was reached another one would be the same

        async def connect() -> Channel:
            nonlocal unused
            channel = await reach()
            unused = None
            return channel

        def make_client() -> Client:
            nonlocal unused
            process.do_step()
            if unused is not None and period is None:  # in which time passes
                return unused
            recalled = journal.recall(held.protocol.phases, session_id=held.descriptor.id)
            ledger = journal.ledger(party, budget, session_id=held.descriptor.id, period_seconds=period)
            self.observer.note_asked(held, party, now=self._time_of(process))
            kept = {phase: each.report for phase, each in recalled.items()}
            mode = self._fresh_mode(held)
            held.drawing[party] = mode.noise
            masked: dict[str, Any] = {}
            if held.signers:
                masked = {"sign": held.signers[place], "secret": secret_of(party)}
            person = Party(party, place, row, public=public, ledger=ledger, memoized_reports=kept, **masked)
            unused = Client(
                held.protocol,
                person,
                mode,
                patience_seconds=self._silence_seconds,
                sitting=journal.sitting(held.descriptor.id),
            )
            return unused

        patience = _LONG_PATIENCE_SECONDS if self.plan.is_gentle else _PATIENCE_SECONDS
        client, outcome = await take_part_durably(
            make_client,
            connect,
            patience_seconds=patience,
            draw=self._random.random,
        )
        self.observer.note_heard(held, party, outcome, client.own_outcome, client.transcript)
        return outcome

    async def _connect(self, process: Process, held: Held) -> Channel:
        if self._cut_until(process.name) > trio.current_time():
            await trio.sleep(_UNREACHABLE_SECONDS)
            raise OSError("timed out")
        network = self._networks.get(held.number)
        if network is None:
            await trio.sleep(
                _SILENT_SECONDS if self.now > self._down_since.get(held.number, 0.0) + _DOWN_SECONDS else 0
            )
            raise ConnectionRefusedError("nobody listens")
        return await network.connect(process)

    # A server

    async def _server(self, process: Process, held: Held) -> bool:
        """Serve the session; return whether it is over."""
        self._try_misconfigured(process, held)
        journal = open_session_journal(
            self.disks[process.name], _committing(process), configuration=_configuration_of(held)
        )
        mode = self._fresh_mode(held)
        held.noises.append(mode.noise)
        try:
            server = Server(
                held.protocol,
                held.roster,
                mode,
                rules=held.rules,
                sitting=journal,
                memoized_reports=self.observer.kept_before(held),
                secret=held.descriptor.id.encode(),
            )
            server.run_in_thread = self._run_in_thread
            network = Network(held, process)
            listener = await network.listen()
            self._networks[held.number] = network
            try:
                held.result = await server.serve(listener)
            finally:
                del self._networks[held.number]
                self._down_since[held.number] = self.now
        except JournalError as error:
            held.failure = error
            return False
        except PsephosError as error:
            if not process.is_alive:
                raise Death from None
            held.failure = error
        held.is_over = True
        held.has_ended.set()
        return True

    def _try_misconfigured(self, process: Process, held: Held) -> None:
        """Start with another configuration, which has to be refused once there is a journal."""
        if (process.name, process.run) not in self._misconfigured:
            return
        other = _configuration_of(held) | {"quorum": "another"}
        try:
            open_session_journal(self.disks[process.name], _committing(process), configuration=other)
        except ConfigurationError:
            self.disks[process.name].close()
        else:
            self.observer.broke("another configuration is refused", f"{process.name} took one up")

    async def _run_in_thread(self, function: Callable[..., None], *arguments: object) -> None:
        """Commit as a thread does, while others go on; who is cancelled waits for what it has begun."""
        await trio.sleep(self.plan.commit_seconds * self._random.random())
        function(*arguments)
        with trio.CancelScope(shield=True):
            await trio.sleep(self.plan.commit_seconds * self._random.random())

    # All together

    async def run(self) -> None:
        """Let everything happen."""
        self._begun = trio.current_time()
        with trio.move_on_after(_HORIZON) as scope:
            async with trio.open_nursery() as nursery, _jumping(self.plan):
                for held in self.held:
                    nursery.start_soon(self._live, server_name(held.number), self._serving(held))
                for name in self.plan.parties[self.plan.hosted :]:
                    nursery.start_soon(self._live, name, self._person)
                if self.plan.hosted:
                    nursery.start_soon(self._live, HOST, self._host)
        if scope.cancelled_caught:
            self.observer.broke("everything ends", "after the horizon somebody still waits")
        self.observer.check_end(self.endings)

    def _serving(self, held: Held) -> Callable[[Process], Any]:
        async def serve(process: Process) -> bool:
            if self.plan.is_gentle and held.number:  # nobody joins two sessions at once, and this one is not to wait
                await self.held[held.number - 1].has_ended.wait()
            await self._wait_for(held)
            return await self._server(process, held)

        return serve


def _with_liars(plan: Plan) -> Callable[..., MaskingParty]:
    """Return what makes each party's part of a masked phase; who lies together knows each other's."""
    liars = plan.liars
    lying: dict[str, dict[int, MaskingParty]] = {}

    def make(rules: MaskingRules, place: int, **given: Any) -> MaskingParty:
        part = liars.get(rules.names[place], MaskingParty)(rules, place, **given)
        if rules.names[place] in liars:
            together = lying.setdefault(rules.session, {})
            together[place] = part
            befriend(together)
        return part

    return make


def _small_circle(number: int, *, seed: bytes, **_: object) -> Circle:
    """Return a circle of four neighbors each, of whom two tell a seed: no small one keeps a circle's bounds."""
    return Circle(number, needed=2, degree=4, seed=seed)


def _committing(process: Process) -> Callable[[Callable[[], None], Sequence[Any]], None]:
    return lambda write, rows: process.world.commit(process, write, rows)


def _configuration_of(held: Held) -> dict[str, str]:
    return {"session id": held.descriptor.id, "quorum": str(held.rules.quorum)}


@contextlib.contextmanager
def _until_death() -> Generator[None]:
    """End quietly where a process died inside."""
    try:
        yield
    except Death:
        pass
    except BaseExceptionGroup as group:
        _, rest = group.split(Death)
        if rest is not None:
            raise


@contextlib.asynccontextmanager
async def _jumping(plan: Plan) -> AsyncGenerator[None]:
    """Let the clock jump as planned."""

    async def jump(event: Clock) -> None:
        await trio.sleep(event.begin)
        clock = trio.lowlevel.current_clock()
        assert isinstance(clock, _Clock)
        clock.now += event.seconds

    async with trio.open_nursery() as nursery:
        for event in plan.events:
            if isinstance(event, Clock):
                nursery.start_soon(jump, event)
        yield


def run_plan(plan: Plan, *, make_disk: Callable[[str], Disk] = lambda _: MemoryDisk()) -> World:
    """Run a plan, and return the world after it, with the invariants that it broke."""
    source = random.Random(plan.seed)
    least = sizes_for(LEAST_ON_A_CIRCLE)["threshold"]
    with (
        mock.patch.object(graph, "LEAST_FOR_CIRCLE", least),
        mock.patch.object(masked_phase, "LEAST_FOR_CIRCLE", least),
        mock.patch.object(masked_phase, "circle_for", _small_circle),
        mock.patch.object(masked_sessions, "MaskingParty", _with_liars(plan)),
        mock.patch.object(agents_masking, "SharedCryptography", Remembering),
        mock.patch.object(_SCHEDULER, "_r", source),
        mock.patch.object(_SCHEDULER, "_ALLOW_DETERMINISTIC_SCHEDULING", new=True),
    ):
        world = World(plan, make_disk=make_disk)
        trio.run(world.run, clock=_Clock())
    return world
