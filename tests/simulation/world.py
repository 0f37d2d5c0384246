"""The hostile world: real agents, machines and journals, and around them a network, disks and a clock that fail.

One plan is one run (`plans.Plan`). Persons' processes take part in one session after another, servers serve them, and
each is started again when it has died or its journal could not be written. Time is virtual, and the order of tasks
follows from the plan's seed, so that a run is the same each time. What must hold is in `invariants`.

What the network does to payloads is `psephos.transports.faults`; what it does besides, to machines that vanish and to
parties that are cut off for a while, is here. Below TLS a stream has no reordering and no repetition inside a
connection: messages of different connections overtake each other, and a peer that repeats a message stands for the
rest.
"""

import contextlib
import dataclasses
import hashlib
import importlib
import math
import random
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Sequence
from typing import Any, Final
from unittest import mock

import msgspec
import trio
from psephos.agents.client import Client
from psephos.agents.modes import Simulation, with_keys
from psephos.agents.person_journal import PersonJournal
from psephos.agents.returning import take_part_durably
from psephos.agents.server import Server
from psephos.protocol import Party, PsephosError, Roster, SessionRules, SimulatedNoise, masked_sessions
from psephos.protocol.errors import (
    BudgetExceededError,
    ConfigurationError,
    JournalError,
    QuorumError,
)
from psephos.protocol.masking import Circle, MaskingMove, MaskingParty, MaskingRules, NeighborKeys, graph
from psephos.protocol.messages import NIL, Abort, Charter, Hello, Request, decode, encode
from psephos.protocol.phases import masked_phase
from psephos.protocol.privacy import Budget
from psephos.protocol.roster import SeededRoster
from psephos.protocol.server_machine import SessionResult
from psephos.transports import Channel, Listener, MemoryTransport
from psephos.transports.faults import Fate, FaultyChannel, seeded_weather
from simulation.cases import make_case, sizes_for
from simulation.disks import Disk, MemoryDisk, open_person_journal, open_session_journal
from simulation.invariants import Observer, secret_of
from simulation.plans import (
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

__all__ = ["Held", "World", "run_plan"]

_SCHEDULER: Final = importlib.import_module("trio._core._run")
"""Orders tasks at random, unless told otherwise as it is where Hypothesis runs; there is no public way to do so."""
_HORIZON: Final = 1e7
"""Seconds in which everything has to end."""
_NUM_TRIES: Final = 60
"""So often a process is started again, or a person tries a session."""
_PAUSE_SECONDS: Final = 5.0
_DEAD_SECONDS: Final = 150.0
"""After which an end of a connection is told that the other one's machine has vanished."""
_UNREACHABLE_SECONDS: Final = 3.0
_PATIENCE_SECONDS: Final = 100.0
_LONG_PATIENCE_SECONDS: Final = 800.0
"""More than any server is away whose faults pass."""
_TODAY: Final = 1.8e9
"""Of a person's clock, as the world begins."""
_HIDDEN_SECONDS: Final = 3000.0
"""Of a phase that waits for its deadline, whose faults pass long before."""


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


class Death(BaseException):
    """A process dies here; no handler of its own sees it."""


@dataclasses.dataclass
class Process:
    """One run of a process.

    Attributes:
        step: how many of its steps it has done.
        is_alive: whether it does any more.
        has_vanished: whether nobody hears that it has ended, since its machine is cut off.
    """

    world: "World"
    name: str
    run: int
    step: int = 0
    is_alive: bool = True
    has_vanished: bool = False
    dies_at: dict[int, Crash] = dataclasses.field(default_factory=dict[int, Crash])
    scope: trio.CancelScope = dataclasses.field(default_factory=trio.CancelScope)

    def do_step(self) -> None:
        """Die here if that is planned."""
        if not self.is_alive:
            raise Death
        crash = self.dies_at.get(self.step)
        self.step += 1
        if crash is not None:
            self.is_alive = False
            self.world.crashes[self.name] = crash
            self.has_vanished = crash.is_silent
            raise Death


@dataclasses.dataclass
class Held:
    """A session of the world, as all sides agreed to it."""

    number: int
    case: str
    name: str
    charter: Charter
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


class _Channel(FaultyChannel):
    """An end of a connection: tells the observer what leaves, and its process of its steps."""

    def __init__(self, inner: Channel, link: "_Link", process: Process, *, is_upstream: bool) -> None:
        super().__init__(inner, link.weather, connection=link.number, is_upstream=is_upstream)
        self._link = link
        self._process = process
        self._is_server = is_upstream

    @property
    def peer(self) -> str:
        return f"10.0.0.{self._link.place}:{self._link.number}"

    @property
    def peer_fingerprint(self) -> str:
        return self._link.fingerprint if self._is_server else ""

    async def send(self, payloads: Sequence[bytes]) -> None:
        payloads = [self._said(payload) for payload in payloads]
        self._note(payloads)
        await super().send([self._lied(payload) for payload in payloads])
        self._process.do_step()

    def send_nowait(self, payload: bytes) -> None:
        payload = self._said(payload)
        self._note([payload])
        super().send_nowait(self._lied(payload))
        self._process.do_step()

    async def receive(self) -> list[bytes]:
        payloads = await super().receive()
        self._process.do_step()
        self._link.heard_lie |= not self._link.lies.isdisjoint(payloads)
        return payloads

    def _said(self, payload: bytes) -> bytes:
        """Return what leaves in place of a payload."""
        other = None if self._is_server else self._link.world.other_choice(self._process)
        if other is None or not other.is_forged or not self._link.held.protocol.num_chosen:
            return payload
        message = decode(payload)
        return (
            encode(msgspec.structs.replace(message, chosen=(other.choice,))) if isinstance(message, Hello) else payload
        )

    def _lied(self, payload: bytes) -> bytes:
        """Return what a server tells in place of what it should."""
        link = self._link
        steps = link.world.lies_to(link) if self._is_server else ()
        if not steps or not isinstance(request := decode(payload), Request) or request.step not in steps:
            return payload
        lie = encode(_false(request, link.place))
        link.lies.add(lie)
        link.world.observer.lies.add(lie)
        return lie

    def _note(self, payloads: Iterable[bytes]) -> None:
        self._process.do_step()
        for payload in payloads:
            self._link.world.note_sent(self._link, payload, by_server=self._is_server)


@dataclasses.dataclass
class _Link:
    """A connection between a person and a server's run."""

    world: "World"
    number: int
    held: Held
    person: Process
    server: Process
    place: int
    fingerprint: str
    lies: set[bytes] = dataclasses.field(default_factory=set[bytes])
    heard_lie: bool = False

    def weather(self, connection: int, is_upstream: bool, number: int) -> Fate:  # noqa: FBT001  as `Weather`
        return self.world.weather_of(self, connection, is_upstream, number)


class _Listener(Listener):
    def __init__(self, inner: Listener, network: "_Network", process: Process) -> None:
        self._inner = inner
        self._network = network
        self._process = process
        self._num_accepted = 0

    @property
    def address(self) -> str:
        return self._inner.address

    async def accept(self) -> Channel:
        channel = await self._inner.accept()
        link = self._network.links[self._num_accepted]
        self._num_accepted += 1
        return _Channel(channel, link, self._process, is_upstream=True)

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Network:
    """Where one run of a server can be reached."""

    def __init__(self, held: Held, server: Process) -> None:
        self.held = held
        self.server = server
        self.links: list[_Link] = []
        self._memory = MemoryTransport()

    async def listen(self) -> Listener:
        return _Listener(await self._memory.open_listener(self.held.name), self, self.server)

    async def connect(self, person: Process) -> Channel:
        world = person.world
        channel = await self._memory.connect(self.held.name)
        place = self.held.roster.places[person.name]
        fingerprint = self.held.roster.fingerprint_of(person.name)
        link = _Link(world, next(world.numbers), self.held, person, self.server, place, fingerprint)
        self.links.append(link)
        return _Channel(channel, link, person, is_upstream=False)


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
        self._networks: dict[int, _Network] = {}
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

    def weather_of(self, link: _Link, connection: int, is_upstream: bool, number: int) -> Fate:  # noqa: FBT001  as `Weather`
        """Return the fate of a payload, or of a connection's end."""
        sender = link.person if is_upstream else link.server
        if sender.has_vanished:
            return Fate(_DEAD_SECONDS, is_lost=True)
        fate = self._weather(connection, is_upstream, number)
        begun = self._cut_until(link.person.name) - trio.current_time()
        return fate if begun <= 0 else fate._replace(delay_seconds=fate.delay_seconds + begun)

    def lies_to(self, link: _Link) -> set[int]:
        """Return in which steps a server lies to whom it is connected with."""
        ends = link.server.name, link.person.name
        return {lie.step for lie in self._lies if (lie.process, lie.party) == ends}

    def other_choice(self, process: Process) -> OtherChoice | None:
        """Return what a person chooses in this run, unless it is what it means to choose."""
        return self._other_choices.get((process.name, process.run))

    def _time_of(self, process: Process) -> float:
        """Return what time it is to a person, in seconds since 1970."""
        return _TODAY + self.now + self._wrong_clocks.get((process.name, process.run), 0.0)

    def _choice_of(self, process: Process, held: Held) -> tuple[int, ...]:
        """Return a person's public row, whose end it chooses itself: as it is held to, once a server says so."""
        public: list[int] = self.observer.public_of(held)[held.roster.places[process.name]].tolist()
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
        self.observer.note_durable(name, rows)
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

    def note_sent(self, link: _Link, payload: bytes, *, by_server: bool) -> None:
        message = decode(payload)
        self.trace.update(f"{self.now:.6f} {link.number} {by_server:d} ".encode() + payload)
        if by_server:
            self.observer.note_told(link.held, link.person.name, message)
        else:
            self.observer.note_left(link.held, link.person.name, message, payload)
            if isinstance(message, Abort) and link.heard_lie:
                self.observer.note_fault(link.held, link.person.name)

    # Who there is

    def _hold(self, number: int, case: str) -> Held:
        plan = self.plan
        protocol, inputs = make_case(case, plan.num_parties)
        fingerprints = [f"certificate of {name}" for name in plan.parties] if plan.has_certificates else None
        public = inputs.public
        if protocol.num_chosen:
            public = protocol.encode_public({}, num_parties=plan.num_parties)
        roster = Roster(plan.parties, public, fingerprints=fingerprints)
        quorum = None if protocol.hides_participation else plan.quorum
        rules = SessionRules(deadline_seconds=plan.deadline, quorum=quorum)
        if protocol.hides_participation and plan.is_gentle:
            rules = SessionRules(deadline_seconds=_HIDDEN_SECONDS)
        name = f"session{number}"
        charter = Charter(hashlib.sha256(f"{plan.seed} {name}".encode()).hexdigest()[:32], roster.digest)
        mode = Simulation(name, SimulatedNoise(plan.seed, session=name), charter=charter)
        roster, mode, signers = with_keys(protocol, roster, mode)
        return Held(number, case, name, mode.charter, roster, protocol, inputs, rules, signers=signers)

    def _fresh_mode(self, held: Held) -> Simulation:
        """Return noise that nobody has drawn before: as of a deployment, a second draw is another one."""
        self._num_noises += 1
        noise = SimulatedNoise(self.plan.seed + (self._num_noises << 40), session=held.name)
        return Simulation(held.name, noise, charter=held.charter)

    def budget_of(self, party: str) -> Budget | None:
        """Return what a person allows for all sessions together."""
        if self.plan.affordable is None:
            return None
        costs = [self.observer.cost_of(held, party) for held in self.held]
        return Budget(epsilon=sum(costs[: self.plan.affordable]))

    def _begin_run(self, name: str) -> Process:
        run = self._runs[name]
        self._runs[name] += 1
        crashes = [event for event in self.plan.events if isinstance(event, Crash)]
        steps = {event.step: event for event in crashes if (event.process, event.run) == (name, run)}
        return Process(self, name, run, dies_at=steps)

    async def _live(self, name: str, run_once: Callable[[Process], Any]) -> None:
        """Start a process, and again when it has died, until it is done."""
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
                    self.observer.gone.add(name)
                    return
                await trio.sleep(crash.seconds)
            elif is_done:
                return
            else:
                await trio.sleep(_PAUSE_SECONDS)

    # A person

    async def _person(self, process: Process) -> bool:
        """Take part in all sessions that have no ending yet; return whether they have one."""
        journal = open_person_journal(
            self.disks[process.name], _committing(process), clock=lambda: self._time_of(process)
        )
        is_done = True
        first = 0 if self.plan.is_gentle else process.run % len(self.held)  # the next process begins with another one
        for held in self.held[first:] + self.held[:first]:
            if self._is_over(process.name, held):
                continue
            try:
                ending: msgspec.Struct | Exception = await self._sit(process, journal, held)
            except (PsephosError, OSError) as error:
                ending = error
            if not process.is_alive:
                raise Death
            self.observer.note_ending(held, process.name, ending)
            self.endings[process.name, held.number] = ending
            if isinstance(ending, JournalError) and not self._is_over(process.name, held):
                return False  # its process ends, and is started again
            is_done &= self._is_over(process.name, held)
        return is_done

    def _is_over(self, name: str, held: Held) -> bool:
        """Return whether a person does not try again: it has heard the outcome, or why there is none for it."""
        ending = self.endings.get((name, held.number))
        if isinstance(ending, (BudgetExceededError, QuorumError, ConfigurationError)):
            return True
        if isinstance(ending, JournalError) and self.observer.has_refused(held, name):
            return True
        is_closed = held.is_over or server_name(held.number) in self.observer.gone
        return ending is not None and (is_closed or not isinstance(ending, Exception))

    async def _sit(self, process: Process, journal: PersonJournal, held: Held) -> msgspec.Struct:
        place = held.roster.places[process.name]
        row: list[int] = held.inputs.private[place].tolist()
        public = self._choice_of(process, held)
        budget = self.budget_of(process.name)
        self.observer.note_try(held, process.name)

        def make_client() -> Client:
            process.do_step()
            recalled = journal.recall(held.protocol.phases, session_id=held.charter.id)
            ledger = journal.ledger(process.name, budget, session_id=held.charter.id)
            kept = {phase: each.report for phase, each in recalled.items()}
            mode = self._fresh_mode(held)
            held.drawing[process.name] = mode.noise
            masked: dict[str, Any] = {}
            if held.signers:
                masked = {"sign": held.signers[place], "secret": secret_of(process.name)}
            party = Party(process.name, place, row, public=public, ledger=ledger, kept=kept, **masked)
            return Client(
                held.protocol,
                party,
                mode,
                patience_seconds=self.plan.deadline if self.plan.is_gentle else _PATIENCE_SECONDS,
                sitting=journal.sitting(held.charter.id),
            )

        patience = _LONG_PATIENCE_SECONDS if self.plan.is_gentle else _PATIENCE_SECONDS
        client, outcome = await take_part_durably(
            make_client,
            lambda: self._connect(process, held),
            patience_seconds=patience,
            draw=self._random.random,
        )
        self.observer.note_heard(held, process.name, outcome, client.own_outcome, client.transcript)
        return outcome

    async def _connect(self, process: Process, held: Held) -> Channel:
        if self._cut_until(process.name) > trio.current_time():
            await trio.sleep(_UNREACHABLE_SECONDS)
            raise OSError("timed out")
        network = self._networks.get(held.number)
        if network is None:
            await trio.lowlevel.checkpoint()
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
                kept=self.observer.kept_before(held),
                secret=held.charter.id.encode(),
            )
            server.run_in_thread = self._run_in_thread
            network = _Network(held, process)
            listener = await network.listen()
            self._networks[held.number] = network
            try:
                held.result = await server.serve(listener)
            finally:
                del self._networks[held.number]
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
        """Commit as a thread does, while others go on."""
        await trio.sleep(self.plan.commit_seconds * self._random.random())
        function(*arguments)
        await trio.sleep(self.plan.commit_seconds * self._random.random())

    # All together

    async def run(self) -> None:
        """Let everything happen."""
        self._begun = trio.current_time()
        with trio.move_on_after(_HORIZON) as scope:
            async with trio.open_nursery() as nursery, _jumping(self.plan):
                for held in self.held:
                    nursery.start_soon(self._live, server_name(held.number), self._serving(held))
                for name in self.plan.parties:
                    nursery.start_soon(self._live, name, self._person)
        if scope.cancelled_caught:
            self.observer.broke("everything ends", "after the horizon somebody still waits")
        self.observer.check_end(self.endings)

    def _serving(self, held: Held) -> Callable[[Process], Any]:
        async def serve(process: Process) -> bool:
            if self.plan.is_gentle and held.number:  # nobody joins two sessions at once, and this one is not to wait
                await self.held[held.number - 1].has_ended.wait()
            return await self._server(process, held)

        return serve


def _false(request: Request, place: int) -> Request:
    """Return a question of a masked phase with something false in it, which the party at this place can see."""
    is_own = request.own != NIL
    told = bytearray(bytes(request.own if is_own else request.payload))
    match tuple(MaskingMove)[request.step]:
        case MaskingMove.KEYS if (roster := msgspec.msgpack.decode(told, type=SeededRoster)).seed:
            # Of a circle's seed alone a party cannot say that it is another.
            changed = msgspec.structs.replace(roster, keys=(*roster.keys[:-1], bytes(len(roster.keys[-1]))))
            told = msgspec.msgpack.encode(changed)
        case MaskingMove.SHARES:  # its own keys it does not read
            keys = list(msgspec.msgpack.decode(told, type=NeighborKeys).keys)
            other = next(number for number, (at, _) in enumerate(keys) if at != place)
            at, theirs = keys[other]
            keys[other] = at, msgspec.structs.replace(theirs, signature=bytes(len(theirs.signature)))
            told = msgspec.msgpack.encode(NeighborKeys(tuple(keys)))
        case _:
            told[-1] ^= 0x40  # of a key, a box, a place or a signature
    lie = msgspec.Raw(bytes(told))
    return Request(request.step, request.payload, lie) if is_own else Request(request.step, lie)


def _with_liars(plan: Plan) -> Callable[..., MaskingParty]:
    """Return what makes each party's part of a masked phase."""

    def make(rules: MaskingRules, place: int, **given: Any) -> MaskingParty:
        return plan.liars.get(rules.names[place], MaskingParty)(rules, place, **given)

    return make


def _small_circle(number: int, *, seed: bytes, **_: object) -> Circle:
    """Return a circle of four neighbors each, of whom two tell a seed: no small one keeps a circle's bounds."""
    return Circle(number, needed=2, degree=4, seed=seed)


def _committing(process: Process) -> Callable[[Callable[[], None], Sequence[Any]], None]:
    return lambda write, rows: process.world.commit(process, write, rows)


def _configuration_of(held: Held) -> dict[str, str]:
    return {"session id": held.charter.id, "quorum": str(held.rules.quorum)}


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
        mock.patch.object(_SCHEDULER, "_r", source),
        mock.patch.object(_SCHEDULER, "_ALLOW_DETERMINISTIC_SCHEDULING", new=True),
    ):
        world = World(plan, make_disk=make_disk)
        trio.run(world.run, clock=_Clock())
    return world
