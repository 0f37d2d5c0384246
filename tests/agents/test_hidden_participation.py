"""Agents of a session that hides who takes part: what is logged, when it ends, and what others see.

Whoever looks on sees the server's log, its status, how long it lasts, and what it tells a voter. Each test compares
sessions of one roster that differ in who came and how they behaved, on a virtual clock.
"""

import dataclasses
import functools
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
import pytest
import structlog.testing
import trio
import trio.testing
from certified import CertifiedTransport
from helpers import make_fair_inputs, make_fair_vote
from psephos.agents import Aggregator, Client, Simulation, Voter
from psephos.agents.adversaries import DeviatingChannel, Deviation, Leaver, Passage, Replayer
from psephos.agents.driver import LINGER_SECONDS, Observers
from psephos.agents.pending import UnlimitedPlaces
from psephos.agents.session_status import SessionStatus
from psephos.protocol import Party, PhaseRules, SimulatedNoise
from psephos.protocol.effects import Effect, Finish
from psephos.protocol.errors import PsephosError, SessionAborted
from psephos.protocol.fair_voting import FairVoting
from psephos.protocol.messages import (
    NOT_ADMITTED,
    PROTOCOL_VERSION,
    Abort,
    Hello,
    Message,
    Release,
    Report,
    Welcome,
    decode,
    encode,
)
from psephos.protocol.phases import PhasedProtocol
from psephos.protocol.privacy import NeighboringRelation
from psephos.protocol.records import Record, ServerRecord
from psephos.protocol.roster import Roster
from psephos.protocol.rules import JOIN, SessionRules
from psephos.protocol.session_flow import SessionResult
from psephos.transports import Channel

NAMES: Final = ("ann", "bob", "cid", "dee", "eve")
OWN: Final = {name: f"{place}d" * 32 for place, name in enumerate(NAMES)}
JOINING, REPORTING = 40.0, 50.0
HIDDEN = make_fair_vote(3, 2, relation=NeighboringRelation.ADD_OR_REMOVE_ONE, mechanism="exponential")
SHOWN = make_fair_vote(3, 2, mechanism="exponential")
INPUTS = make_fair_inputs(HIDDEN, seed=4)


@dataclasses.dataclass
class Observed:
    """What is seen of a session from outside: its log, its status in turn, its length, and what each voter heard.

    `session_statuses` are what watchers of the server are told, and when; `knocks` what becomes of who
    is nobody, and tries to come in, with when it tried.
    """

    log: list[Any]
    status: set[tuple[str, int | None, int | None]]
    released_at: float
    seconds: float
    result: SessionResult | None
    endings: dict[str, object]
    session_statuses: list[tuple[float, SessionStatus]] = dataclasses.field(default_factory=list)
    knocks: list[tuple[float, str]] = dataclasses.field(default_factory=list)


class Silent(Deviation):
    """A voter who takes part, and never hangs up, reads or answers any more once asked."""

    __slots__ = ()

    def incoming(self, peer: str, message: Message) -> Passage:
        """Show the agent nothing but its welcome."""
        del peer
        return Passage() if isinstance(message, Release) else Passage(inward=(message,))


class Garbler(Deviation):
    """A voter whose report is no ranking."""

    __slots__ = ()

    def outgoing(self, peer: str, message: Message) -> Passage:
        """Report one position twice."""
        del peer
        if isinstance(message, Report):
            message = Report(0, msgspec.Raw(msgspec.msgpack.encode([0, 0, 1])))
        return Passage(outward=(message,))


class Leaving(Deviation):
    """A voter who says why it leaves, in place of a report."""

    __slots__ = ()

    def outgoing(self, peer: str, message: Message) -> Passage:
        """Say so."""
        del peer
        return Passage(outward=(Abort("not today") if isinstance(message, Report) else message,))


def make_clients(protocol: PhasedProtocol[Any, Any], present: Sequence[str], mode: Simulation) -> dict[str, Client]:
    """Return honest voters."""
    rows: list[list[int]] = INPUTS.private.tolist()
    public: list[list[int]] = INPUTS.public.tolist()
    return {
        name: Voter(protocol, Party(name, place, rows[place], public=public[place]), mode)
        for place, name in enumerate(NAMES)
        if name in present
    }


class MemoizedReports:
    """A journal, as far as a session needs one that never stops."""

    records: tuple[ServerRecord, ...] = ()

    def keep(self, records: Sequence[Record]) -> None:
        """Do nothing."""


async def at_once(function: Callable[..., None], *arguments: object) -> None:
    """Do what else a thread does, for which a virtual clock does not wait."""
    function(*arguments)


async def visit(address: str, transport: CertifiedTransport, name: str) -> None:
    """Join as a voter whose connection is then lost."""
    channel = await transport.connect(address, fingerprint=OWN[name])
    await channel.send([encode(msgspec.structs.replace(HELLO, party=name))])
    assert isinstance(decode((await channel.receive())[0]), Welcome)
    await channel.aclose()


async def try_to_join(
    address: str, transport: CertifiedTransport, hello: Hello, fingerprint: str, endings: dict[str, object]
) -> None:
    channel = await transport.connect(address, fingerprint=fingerprint)
    await channel.send([encode(hello)])
    answer = decode((await channel.receive())[0])
    assert isinstance(answer, Abort)
    endings[hello.party] = answer.reason


async def knock(address: str, transport: CertifiedTransport, answers: list[tuple[float, str]]) -> None:
    """Try to come in, as nobody on the roster, again and again."""
    began = trio.current_time()
    while True:
        now = trio.current_time()
        try:
            channel = await transport.connect(address)
            await channel.send([encode(msgspec.structs.replace(HELLO, party="mallory"))])
            answer: object = decode((await channel.receive())[0])
        except (OSError, trio.BrokenResourceError, trio.EndOfChannel) as error:
            answer = type(error).__name__
        answers.append((round(now - began, 6), repr(answer)))
        await trio.sleep_until(now + 1.3)


async def observe(
    present: Sequence[str],
    deviations: dict[str, Deviation] | None = None,
    *,
    keeps: bool = False,
    protocol: FairVoting = HIDDEN,
    strangers: Sequence[tuple[Hello, str]] = (),
    skips_waiting: bool = False,
    returning: Sequence[str] = (),
) -> Observed:
    """Hold a session over memory to which these voters come."""
    mode = Simulation("plans", SimulatedNoise(7, session="plans"))
    roster = Roster(NAMES, INPUTS.public, fingerprints=list(OWN.values()))
    quorum = None if protocol.hides_participation else 4
    phases = {JOIN: PhaseRules(deadline_seconds=JOINING, quorum=quorum)}
    rules = SessionRules(deadline_seconds=REPORTING, quorum=quorum, phases=phases)
    seen, transport = Observed([], set(), float("nan"), float("nan"), None, {}), CertifiedTransport()
    with structlog.testing.capture_logs() as seen.log:

        def note(effect: Effect) -> None:
            if isinstance(effect, Finish):
                seen.released_at = trio.current_time() - began

        server = Aggregator(
            protocol,
            roster,
            mode,
            rules=rules,
            places=UnlimitedPlaces() if skips_waiting else None,
            sitting=MemoizedReports() if keeps else None,
            observers=Observers(log=structlog.get_logger(), listener=note),
        )
        server.run_in_thread = at_once

        async def take_part(name: str, client: Client, channel: Channel) -> None:
            try:
                if name in returning:
                    await visit(listening.address, transport, name)
                seen.endings[name] = await client.take_part(channel)
            except PsephosError as error:
                seen.endings[name] = error

        async def look_on() -> None:
            while not server.has_ended:
                seen.status.add(server.progress)
                await trio.sleep(0.7)

        async def watch(tell: Callable[[], SessionStatus]) -> None:
            while True:
                told, now = tell(), trio.current_time()
                deadlines = {name: round(at - began_at, -1) for name, at in told.deadlines.items()}
                rounded = dataclasses.replace(told, deadlines=deadlines, seconds_left=round(told.seconds_left, 6))
                seen.session_statuses.append((round(now - began, 6), rounded))
                await trio.sleep(0.9)

        began, began_at = trio.current_time(), time.time()
        with trio.fail_after(1000):
            async with await transport.open_listener() as listening, trio.open_nursery() as nursery:
                for name, client in make_clients(protocol, present, mode).items():
                    channel: Channel = await transport.connect(listening.address, fingerprint=OWN[name])
                    if deviations and name in deviations:
                        channel = DeviatingChannel(channel, deviations[name])
                    nursery.start_soon(take_part, name, client, channel)
                for hello, fingerprint in strangers:
                    nursery.start_soon(try_to_join, listening.address, transport, hello, fingerprint, seen.endings)
                if not skips_waiting:
                    nursery.start_soon(look_on)
                if protocol.hides_participation and not skips_waiting:
                    nursery.start_soon(knock, listening.address, transport, seen.knocks)
                seen.result = await server.serve(listening, companions=[watch])
                seen.seconds = trio.current_time() - began
                nursery.cancel_scope.cancel()
    for line in seen.log:
        if line.get("outcome"):  # what is noisy
            line["outcome"] = "noisy"
    return seen


def outside(seen: Observed) -> tuple[object, ...]:
    """Return what is seen from outside but for the noisy outcome."""
    return seen.log, seen.status, seen.released_at, seen.seconds


EXPECTED_LOG: Final = [
    {"event": "phase_closed", "session": "plans", "party": "aggregator", "phase": "join", "outcome": None},
    {"event": "phase_opened", "session": "plans", "party": "aggregator", "phase": "rankings"},
    {"event": "phase_closed", "session": "plans", "party": "aggregator", "phase": "rankings", "outcome": None},
]

EVERYBODY = Observed(
    [{**line, "log_level": "info"} for line in EXPECTED_LOG],
    {(JOIN, None, None), ("rankings", None, None)},
    JOINING + REPORTING,
    JOINING + REPORTING + LINGER_SECONDS,
    None,
    {},
)


@pytest.mark.parametrize("present", [NAMES, NAMES[:4], NAMES[1:3], NAMES[:1], ()], ids=len)
async def test_it_looks_the_same_whoever_comes(
    present: tuple[str, ...],
    autojump_clock: trio.testing.MockClock,  # noqa: ARG001  it is waited on
) -> None:
    seen = await observe(present)
    assert outside(seen) == outside(EVERYBODY)
    assert seen.result is not None
    assert seen.endings == dict.fromkeys(present, seen.result.outcome)
    nobody = await observe(())
    assert (seen.session_statuses, seen.knocks) == (nobody.session_statuses, nobody.knocks)
    assert {session_status.state.value for _, session_status in seen.session_statuses} == {
        "gathering",
        "collecting",
        "released",
    }
    _, last = seen.session_statuses[-1]
    assert last.deadlines == {JOIN: JOINING, "rankings": JOINING + REPORTING}
    assert (last.attendance, last.connections) == (None, None)


MISBEHAVES: dict[str, Deviation] = {
    "hangs up when asked": Leaver(0, lambda _: True),
    "reports what is no ranking": Garbler(),
    "reports twice, and differently": Replayer(times=0, altered={0: (2, 1, 0)}),
    "does not hear the release": Silent(),
    "says why it leaves": Leaving(),
}


@pytest.mark.parametrize("how", list(MISBEHAVES))
@pytest.mark.parametrize("keeps", [False, True])
async def test_it_looks_the_same_however_a_voter_behaves(
    how: str,
    autojump_clock: trio.testing.MockClock,  # noqa: ARG001  it is waited on
    *,
    keeps: bool,
) -> None:
    """A fault names its sender nowhere, and who does not hang up, or may come back, keeps the server no longer."""
    seen = await observe(NAMES, {"bob": MISBEHAVES[how]}, keeps=keeps)
    assert outside(seen) == outside(EVERYBODY)
    nobody = await observe((), keeps=keeps)
    assert (seen.session_statuses, seen.knocks) == (nobody.session_statuses, nobody.knocks)


@pytest.mark.parametrize("returning", [NAMES[:1], NAMES[2:4], NAMES], ids=len)
@pytest.mark.parametrize("keeps", [False, True])
async def test_it_looks_the_same_whoever_is_lost_and_comes_back(
    returning: tuple[str, ...],
    autojump_clock: trio.testing.MockClock,  # noqa: ARG001  it is waited on
    *,
    keeps: bool,
) -> None:
    seen = await observe(NAMES, keeps=keeps, returning=returning)
    assert outside(seen) == outside(EVERYBODY)
    assert seen.result is not None
    assert seen.endings == dict.fromkeys(NAMES, seen.result.outcome)
    nobody = await observe((), keeps=keeps)
    assert (seen.session_statuses, seen.knocks) == (nobody.session_statuses, nobody.knocks)


MODE = Simulation("plans", SimulatedNoise(7, session="plans"))
HELLO = Hello(PROTOCOL_VERSION, "plans", "fair-voting", "simulation", "eve", MODE.descriptor.id)
STRANGERS = {
    "in a voter's name": (HELLO, ""),
    "by another's certificate": (HELLO, OWN["ann"]),
    "nobody's name": (msgspec.structs.replace(HELLO, party="mallory"), OWN["eve"]),
    "another session's": (msgspec.structs.replace(HELLO, session="others"), OWN["eve"]),
    "an earlier session's": (msgspec.structs.replace(HELLO, session_id="0" * 32), OWN["eve"]),
}


@pytest.mark.parametrize("who", list(STRANGERS))
async def test_who_is_refused_is_not_logged(
    who: str,
    autojump_clock: trio.testing.MockClock,  # noqa: ARG001  it is waited on
) -> None:
    """A line for each would say of whom somebody knows the name, and how many came in vain."""
    hello, fingerprint = STRANGERS[who]
    seen = await observe([name for name in NAMES if name != hello.party], strangers=[(hello, fingerprint)])
    assert isinstance(seen.endings[hello.party], str)  # why
    assert outside(seen) == outside(EVERYBODY)


async def test_who_is_told_apart_by_a_certificate_is_refused_alike_before_and_after_its_owner_came(
    autojump_clock: trio.testing.MockClock,  # noqa: ARG001  it is waited on
) -> None:
    """Else whoever knows a name could ask whether its seat is taken."""
    answers = set[str]()
    for present in (NAMES, NAMES[:4]):
        mode = Simulation("plans", SimulatedNoise(7, session="plans"))
        roster = Roster(NAMES, INPUTS.public, fingerprints=list(OWN.values()))
        server = Aggregator(HIDDEN, roster, mode)
        transport = CertifiedTransport()
        async with await transport.open_listener() as listening, trio.open_nursery() as nursery:
            nursery.start_soon(server.serve, listening)
            for name, client in make_clients(HIDDEN, present, mode).items():
                nursery.start_soon(client.take_part, await transport.connect(listening.address, fingerprint=OWN[name]))
            await trio.sleep(1)
            channel = await transport.connect(listening.address)
            await channel.send([encode(HELLO)])
            answer = decode((await channel.receive())[0])
            assert isinstance(answer, Abort)
            answers.add(answer.reason)
            nursery.cancel_scope.cancel()
    assert answers == {NOT_ADMITTED}


async def test_who_comes_late_is_told_so_and_nobody_else_is(
    autojump_clock: trio.testing.MockClock,  # noqa: ARG001  it is waited on
) -> None:
    mode = Simulation("plans", SimulatedNoise(7, session="plans"))
    server = Aggregator(HIDDEN, Roster(NAMES, INPUTS.public), mode)
    transport = CertifiedTransport()
    late = make_clients(HIDDEN, ["eve"], mode)["eve"]
    with structlog.testing.capture_logs() as log:
        async with await transport.open_listener() as listening, trio.open_nursery() as nursery:
            nursery.start_soon(server.serve, listening)
            await trio.sleep(301)
            with pytest.raises(SessionAborted, match="no longer admits anybody"):
                await late.take_part(await transport.connect(listening.address))
    assert not [line for line in log if "eve" in str(line)]


# Where participation is public, everything is as it was.


async def test_who_takes_part_is_logged_where_it_is_public(
    autojump_clock: trio.testing.MockClock,  # noqa: ARG001  it is waited on
) -> None:
    seen = await observe(NAMES, {"bob": MISBEHAVES["reports what is no ranking"]}, protocol=SHOWN)
    assert seen.seconds < LINGER_SECONDS
    events = {line["event"]: line for line in seen.log}
    assert (events["phase_closed"]["received"], events["phase_closed"]["missing"]) == (4, 1)
    assert events["phase_opened"]["asked"] == 5
    assert events["party_dropped"]["peer"] == "bob"
    at_first = seen.session_statuses[0][1].attendance
    assert at_first is not None
    assert (at_first.present, at_first.awaited) == ((), NAMES)
    seen = await observe(NAMES, {"cid": MISBEHAVES["says why it leaves"]}, protocol=SHOWN)
    (left,) = [line for line in seen.log if line["event"] == "party_left"]
    assert (left["peer"], left["reason"]) == ("cid", "not today")


# Where one process runs all parties.


@pytest.mark.parametrize("present", [NAMES, ()], ids=len)
async def test_whoever_runs_all_parties_waits_for_no_deadline(
    present: tuple[str, ...],
    mock_clock: trio.testing.MockClock,  # noqa: ARG001  it stands still: a wait for a deadline would never end
) -> None:
    leaves: Callable[[], Leaver] = functools.partial(Leaver, 0, lambda _: True)
    deviations: dict[str, Deviation] = {name: leaves() for name in NAMES if name not in present}
    seen = await observe(NAMES, deviations, skips_waiting=True)
    assert seen.result is not None
    assert seen.result.num_received == (None,)
    assert {name for name, ending in seen.endings.items() if ending == seen.result.outcome} == {*present}
