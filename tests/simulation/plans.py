"""What is to happen in a hostile world, as data: drawn from one seed, and made smaller where it fails.

A plan is all that a run depends on: the same plan is the same run, message by message. Which run of a plan's processes
dies, and at which of its steps, is written down; what the network does follows from the plan's seed. So an event can
be left out and the others stay what they are, which is how a failure is made smaller (`smaller`).
"""

import dataclasses
import math
import random
from collections.abc import Iterator
from typing import Final, TypeAlias

from liars import ALONE, PAIRS, UNSIGNED
from psephos.protocol.masking import IN_DISPUTE, MaskingMove, MaskingParty
from psephos.transports.faults import Faults

__all__ = [
    "CASES",
    "CHOSEN",
    "GAME",
    "HOST",
    "LEAST_ON_A_CIRCLE",
    "LIES",
    "MASKED",
    "MODELS",
    "NO_LEVEL",
    "USUAL_STEPS",
    "Clock",
    "Crash",
    "Event",
    "FullDisk",
    "Liar",
    "Lie",
    "Misconfigured",
    "OtherChoice",
    "Partition",
    "Plan",
    "Revoked",
    "WriteFault",
    "WrongClock",
    "choosing",
    "draw_plan",
    "masking",
    "server_name",
    "smaller",
    "storming",
]

GAME: Final = "dpwevote-game"
"""A case whose sessions are of one game; it is not drawn, and has runs of its own."""
CHOSEN: Final = "moral-preferences-chosen"
"""A case in which voters choose their ε as they join; it takes the place of every other one whose ε is everybody's."""
NO_LEVEL: Final = 3
"""A choice that is no level, of which such a session has three."""
CASES: Final = (
    "dpwevote",
    "dpwevote-laplace",
    "truth-discovery",
    "moral-preferences",
    "moral-preferences-central",
    "fair-voting",
    "fair-voting-central",
    "fair-voting-hidden",
    "quiz",
)
"""Sessions of all four systems, local and central, with and without private participation; `world.make_case`."""
MASKED: Final = ("dpwevote-masked", "fair-voting-masked", "moral-preferences-masked", "truth-discovery-masked")
"""Cases of masked sums, which have runs of their own."""
MODELS: Final = (
    ("dpwevote", "dpwevote-central", "dpwevote-masked"),
    ("truth-discovery", "truth-discovery-central", "truth-discovery-masked"),
    ("moral-preferences", "moral-preferences-central", "moral-preferences-masked"),
    ("fair-voting", "fair-voting-central", "fair-voting-masked"),
)
"""Each system in the local, the central and the distributed model of trust."""
HOST: Final = "host"
"""What the process of a host's parties is called."""
LEAST_ON_A_CIRCLE: Final = 6
"""Of so many parties or more each masks with four others alone, as it does of more than 1,000."""
USUAL_STEPS: Final = tuple(number for number, move in enumerate([*MaskingMove][:-1]) if move not in IN_DISPUTE)
"""The steps of a masked phase in which all are asked, by their numbers."""
_HIDDEN_OR_TRUSTING: Final = ("fair-voting-hidden", "fair-voting-central", "moral-preferences-central")
_DAY: Final = 86_400.0
_CALM: Final = Faults()


def server_name(session: int) -> str:
    """Return what a session's server is called."""
    return f"server{session}"


@dataclasses.dataclass(frozen=True)
class Crash:
    """A process dies at a step: a message sent or received, a commit begun or ended. Its disk keeps what is on it.

    Args:
        process: a party's or a server's.
        run: which of its runs, from 0.
        step: of that run, from 0.
        seconds: until it is started again; infinite for never.
        is_silent: its machine is cut off at once, and whoever was connected to it is not told for a while.
    """

    process: str
    run: int
    step: int
    seconds: float
    is_silent: bool = False


@dataclasses.dataclass(frozen=True)
class WriteFault:
    """A commit fails with an error that the process survives.

    Args:
        process: whose disk.
        commit: which of all commits to it, from 0.
        is_durable: what it wrote is there all the same, as after a synchronization that failed.
    """

    process: str
    commit: int
    is_durable: bool


@dataclasses.dataclass(frozen=True)
class FullDisk:
    """No commit to a disk succeeds for a while."""

    process: str
    begin: float
    seconds: float


@dataclasses.dataclass(frozen=True)
class Partition:
    """Nothing passes between a party and any server for a while; connections last, and new ones fail."""

    process: str
    begin: float
    seconds: float


@dataclasses.dataclass(frozen=True)
class Clock:
    """The clock jumps, as that of a machine does which was asleep."""

    begin: float
    seconds: float


@dataclasses.dataclass(frozen=True)
class Misconfigured:
    """A server is started with another configuration first."""

    process: str
    run: int


@dataclasses.dataclass(frozen=True)
class OtherChoice:
    """A person chooses another ε in one of its runs.

    Args:
        process: the person's.
        run: which of its runs.
        choice: the place of the level, or one where there is none.
        is_forged: only its Hello says so, and all else of its program does not know; no honest one chooses what is no
            level, since its own machine refuses that.
    """

    process: str
    run: int
    choice: int
    is_forged: bool


@dataclasses.dataclass(frozen=True)
class WrongClock:
    """A person's own clock, by which its journal dates what it keeps, is so many seconds ahead in one of its runs."""

    process: str
    run: int
    seconds: float


@dataclasses.dataclass(frozen=True)
class Lie:
    """A server tells one party something false as it asks for a step of a masked phase.

    Args:
        process: the server's.
        party: who is lied to, in every conversation.
        step: in which, from 0.
    """

    process: str
    party: str
    step: int


@dataclasses.dataclass(frozen=True)
class Liar:
    """A party lies in all masked sessions.

    Args:
        process: the party's.
        lie: by its place in `LIES`.
    """

    process: str
    lie: int


@dataclasses.dataclass(frozen=True)
class Revoked:
    """A server takes a party's certificate no more; of a host's, that of all its parties.

    Args:
        process: the server's.
        party: whose certificate.
        run: from which of the server's runs on.
    """

    process: str
    party: str
    run: int


LIES: Final[tuple[type[MaskingParty], ...]] = (*ALONE, *(kind for pair in PAIRS for kind in pair), *UNSIGNED)
"""Each way to lie: alone; as one of a dealer and a holder who know each other; unsigned, for which nobody is named."""
Event: TypeAlias = (
    Crash | WriteFault | FullDisk | Partition | Clock | Misconfigured | OtherChoice | WrongClock | Lie | Liar | Revoked
)


@dataclasses.dataclass(frozen=True)
class Plan:
    """All that a run depends on.

    Args:
        seed: of the network, the tasks' order, the noise and the values.
        sessions: the case of each (`CASES`); all persons take part in all of them, over one journal each.
        num_parties: how many persons there are.
        quorum: of every phase, where who takes part is not private.
        deadline: of every phase, in seconds.
        has_certificates: whether parties prove who they are, so that one may replace a predecessor that seems there.
        affordable: for how many of the sessions each person's budget is enough; None for no budget.
        period: the length of the window in which the budget holds, in seconds; None for all time.
        gap: between the beginnings of sessions, in seconds; 0 where they all begin at once.
        hosted: how many of the persons have a host, who takes part for them: the first ones.
        commit_seconds: at most so long a server's commit takes.
        faults: what the network does to payloads.
        is_gentle: every fault passes and every process comes back long before a deadline, so that nothing may be lost.
        events: what else happens.
    """

    seed: int
    sessions: tuple[str, ...] = ("dpwevote",)
    num_parties: int = 2
    quorum: float = 1
    deadline: float = 100.0
    has_certificates: bool = True
    affordable: int | None = None
    period: float | None = None
    gap: float = 0.0
    hosted: int = 0
    commit_seconds: float = 0.02
    faults: Faults = _CALM
    is_gentle: bool = False
    events: tuple[Event, ...] = ()

    @property
    def is_faulty(self) -> bool:
        """Whether anything goes wrong."""
        return bool(self.events) or self.faults != _CALM

    @property
    def liars(self) -> dict[str, type[MaskingParty]]:
        """Who lies, and how."""
        return {event.process: LIES[event.lie] for event in self.events if isinstance(event, Liar)}

    @property
    def processes(self) -> list[str]:
        host = [HOST] if self.hosted else []
        return [*host, *self.parties[self.hosted :], *(server_name(session) for session in range(len(self.sessions)))]

    def is_revoked(self, party: str, server: str, run: float = math.inf) -> bool:
        """Return whether a run of a server takes a party's certificate no more; by default any run."""
        hosted = self.parties[: self.hosted]
        return any(
            isinstance(event, Revoked)
            and event.process == server
            and event.run <= run
            and (party == event.party or {party, event.party} <= {*hosted})
            for event in self.events
        )

    @property
    def parties(self) -> list[str]:
        return [f"p{place}" for place in range(self.num_parties)]


def draw_plan(draw: random.Random) -> Plan:
    """Return a plan; most of what is drawn is small, so that runs are short and failures are readable."""
    is_gentle = draw.random() < 0.5
    num_parties = draw.choice((2, 2, 2, 3, 3, 4))
    sessions = tuple(draw.choice(CASES) for _ in range(draw.choice((1, 1, 1, 2, 3))))
    plan = Plan(
        seed=draw.randrange(1 << 32),
        sessions=sessions,
        num_parties=num_parties,
        quorum=draw.choice((1, 1, 0.5, 1.0)) if not is_gentle else 1.0,
        deadline=1e6 if is_gentle else draw.choice((5.0, 60.0, 300.0)),
        has_certificates=is_gentle or draw.random() < 0.7,
        affordable=None if is_gentle or draw.random() < 0.5 else draw.randint(0, len(sessions)),
        commit_seconds=draw.choice((0.02, 0.02, 0.5, 3.0)),
        faults=_draw_faults(draw, is_gentle=is_gentle),
        is_gentle=is_gentle,
    )
    number = draw.choice((0, 1, 1, 2, 2, 3, 4, 6))
    return choosing(dataclasses.replace(plan, events=tuple(_draw_event(draw, plan) for _ in range(number))), share=0.5)


def choosing(plan: Plan, *, share: float) -> Plan:
    """Return a plan in which voters choose their ε, and choose otherwise later; of draws of its own.

    Args:
        plan: in which everybody's ε is the same.
        share: of the sessions on moral preferences in which voters choose.
    """
    draw = random.Random(f"choices of {plan.seed}")
    sessions = tuple(
        CHOSEN if case == "moral-preferences" and draw.random() < share else case for case in plan.sessions
    )
    if CHOSEN not in sessions:
        return plan
    return dataclasses.replace(
        plan,
        sessions=sessions,
        events=plan.events + tuple(_draw_choice(draw, plan) for _ in range(draw.choice((0, 1, 2)))),
    )


def storming(plan: Plan) -> Plan:
    """Return a plan in which processes die by the dozen and come back soon, and clocks are set; of draws of its own.

    Args:
        plan: to which all of that is added; of its sessions every other one hides who takes part, or trusts its server.
    """
    draw = random.Random(f"storm of {plan.seed}")
    crashes = [
        Crash(
            draw.choice(plan.processes),
            draw.randrange(12),
            draw.randrange(draw.choice((4, 12, 24))),
            draw.choice((0.0, 0.3, 3.0)),
            draw.random() < 0.2,
        )
        for _ in range(draw.randrange(20, 41))
    ]
    clocks = [
        WrongClock(draw.choice(plan.parties), draw.randrange(4), draw.choice((-_DAY, -_DAY, -1.0, 3600.0, _DAY)))
        for _ in range(draw.randrange(6))
    ]
    sessions = tuple(
        case if draw.random() < 0.5 else draw.choice((*_HIDDEN_OR_TRUSTING, GAME)) for case in plan.sessions
    )
    return dataclasses.replace(plan, sessions=sessions, events=(*plan.events, *crashes, *clocks))


def masking(plan: Plan) -> Plan:
    """Return a plan of masked sessions, of more parties, with more faults in late steps and with lies; of own draws."""
    draw = random.Random(f"masks of {plan.seed}")
    plan = dataclasses.replace(
        plan,
        sessions=tuple(draw.choice(MASKED) for _ in plan.sessions),
        num_parties=draw.choice((2, 3, 3, 4, 5, LEAST_ON_A_CIRCLE, 7)),
        faults=dataclasses.replace(plan.faults, duplication=0.0) if plan.is_gentle else plan.faults,
    )
    events: list[Event] = []
    for _ in range(draw.choice((0, 1, 2, 3, 4))):
        process = draw.choice(plan.processes)
        most = 12 * (plan.num_parties if process.startswith("server") else 1)  # commits of a session that ends
        seconds = draw.choice((0.0, 0.3, 3.0) if plan.is_gentle else (0.0, 0.3, 3.0, 1e3, 1e3))
        if draw.random() < 0.7:
            events.append(Crash(process, draw.randrange(2), draw.randrange(5 * most), seconds, draw.random() < 0.3))
        else:
            events.append(WriteFault(process, draw.randrange(most), draw.random() < 0.5))
    for _ in range(0 if plan.is_gentle else draw.choice((0, 0, 1, 1, 2))):
        server = server_name(draw.randrange(len(plan.sessions)))
        events.append(Lie(server, draw.choice(plan.parties), draw.choice(USUAL_STEPS)))
    if plan.num_parties > 2 and draw.random() < 0.5:
        events.append(Liar(draw.choice(plan.parties), draw.randrange(len(ALONE))))
        plan = dataclasses.replace(plan, quorum=0.5)  # a liar is missing, and the others go on
    return dataclasses.replace(plan, events=(*plan.events, *events))


def _draw_choice(draw: random.Random, plan: Plan) -> OtherChoice:
    """Return another choice; where nobody may be missing in the end, none that its voter's own program disowns."""
    is_forged = draw.random() < 0.5
    choice = draw.randrange(NO_LEVEL + is_forged)
    if is_forged and plan.is_gentle:
        choice = NO_LEVEL
    return OtherChoice(draw.choice(plan.parties), draw.choice((0, 1, 1, 2)), choice, is_forged)


def _draw_faults(draw: random.Random, *, is_gentle: bool) -> Faults:
    return Faults(
        loss=draw.choice((0.0, 0.0, 0.02, 0.1)),
        delay=draw.choice((0.0, 0.01, 1.0, 7.0)),
        duplication=draw.choice((0.0, 0.0, 0.1)),
        partition=0.0 if is_gentle else draw.choice((0.0, 0.0, 0.0, 0.02)),
    )


def _draw_event(draw: random.Random, plan: Plan) -> Event:
    process = draw.choice(plan.processes)
    begin = draw.choice((0.0, 0.05, 0.5, 2.0, 10.0, 60.0)) * draw.random()
    seconds = draw.choice((0.0, 0.3, 3.0, 20.0, 100.0))
    kind = draw.choice((Crash, Crash, Crash, Crash, Crash, WriteFault, FullDisk, Partition, Clock, Misconfigured))
    if kind is Crash:
        never = not plan.is_gentle and draw.random() < 0.1
        down = math.inf if never else seconds
        return Crash(
            process,
            draw.choice((0, 0, 0, 1, 1, 2)),
            draw.randrange(draw.choice((12, 24, 48))),
            down,
            draw.random() < 0.3,
        )
    if kind is WriteFault:
        return WriteFault(process, draw.randrange(8), draw.random() < 0.5)
    if kind is FullDisk:
        return FullDisk(process, begin, seconds)
    if kind is Partition:
        return Partition(draw.choice(plan.parties), begin, seconds)
    if kind is Clock:
        return Clock(begin, seconds)
    return Misconfigured(server_name(draw.randrange(len(plan.sessions))), draw.choice((1, 1, 2)))


def smaller(plan: Plan) -> Iterator[Plan]:
    """Yield plans with one thing less, the greatest steps first."""
    for number in range(len(plan.events)):
        yield dataclasses.replace(plan, events=plan.events[:number] + plan.events[number + 1 :])
    for number in range(len(plan.sessions)):
        if len(plan.sessions) > 1:
            yield dataclasses.replace(plan, sessions=plan.sessions[:number] + plan.sessions[number + 1 :])
    if plan.num_parties > max(2, plan.hosted):
        yield dataclasses.replace(plan, num_parties=plan.num_parties - 1)
    if plan.affordable is not None:
        yield dataclasses.replace(plan, affordable=None)
    if plan.hosted > 2:
        yield dataclasses.replace(plan, hosted=plan.hosted - 1)
    for field in ("loss", "delay", "duplication", "partition"):
        if getattr(plan.faults, field):
            yield dataclasses.replace(plan, faults=dataclasses.replace(plan.faults, **{field: 0.0}))
    for number, event in enumerate(plan.events):
        if isinstance(event, Crash) and event.is_silent:
            told = dataclasses.replace(event, is_silent=False)
            yield dataclasses.replace(plan, events=(*plan.events[:number], told, *plan.events[number + 1 :]))
