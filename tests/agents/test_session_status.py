"""What a server tells those who watch it, and that they are never in its way."""

from collections.abc import Callable
from typing import Any

import structlog.testing
import trio
import trio.testing
from peers import INPUTS, NAMES, VOTE, hello, make_client, simulation
from psephos.agents import CloudServer
from psephos.agents.driver import Observers
from psephos.agents.session_status import Connections, SessionStatus
from psephos.protocol.roster import Roster
from psephos.protocol.rules import JOIN, SessionRules
from psephos.protocol.states import SessionState
from psephos.transports import MemoryTransport, Transport


def make_server(**options: Any) -> CloudServer:
    """Return a server of three partners."""
    rules = SessionRules(deadline_seconds=30.0)
    return CloudServer(VOTE, Roster(NAMES, INPUTS.public), simulation(), rules=rules, **options)


def test_before_it_serves_nothing_is_open() -> None:
    session_status = make_server().session_status
    assert (session_status.state, session_status.phase, session_status.is_open) == (SessionState.IDLE, JOIN, False)
    assert (session_status.deadlines, session_status.seconds_left) == ({}, float("inf"))


async def test_whoever_is_there_is_counted_and_named(transport: Transport, clock: trio.testing.MockClock) -> None:
    del clock
    server = make_server()

    async def come_to(expected: tuple[int, int]) -> SessionStatus:
        while True:
            session_status = server.session_status
            assert session_status.connections is not None
            if (session_status.connections.num_open, session_status.connections.num_greeting) == expected:
                return session_status
            await trio.testing.wait_all_tasks_blocked(0.005)

    async with await transport.open_listener() as listening, trio.open_nursery() as nursery:
        nursery.start_soon(server.serve, listening)
        async with (
            await transport.connect(listening.address) as bob,
            await transport.connect(listening.address),
            await transport.connect(listening.address) as stranger,
        ):
            await bob.send([hello("bob")])
            await stranger.send([hello("mallory")])
            await stranger.receive()
            await stranger.aclose()
            session_status = await come_to((2, 1))
            assert session_status.connections == Connections(2, 1, {"stranger": 1})
            assert session_status.attendance is not None
            assert session_status.attendance.num_received == {JOIN: 1, "weights": 0, "opinions": 0}
            assert (session_status.attendance.present, session_status.attendance.awaited) == (
                ("bob",),
                ("alice", "carol"),
            )
            assert 0 < session_status.seconds_left <= 30
            assert session_status.deadlines[JOIN].is_integer()  # what is beyond that would tell how long a tally took
        gone = (await come_to((0, 0))).attendance
        assert gone is not None
        assert (gone.present, gone.awaited) == ((), NAMES)  # a connection that was lost may come back
        nursery.cancel_scope.cancel()


async def test_what_watches_and_fails_ends_no_session() -> None:
    told: list[SessionStatus] = []

    async def fail_at_once(tell: Callable[[], SessionStatus]) -> None:
        told.append(tell())
        raise MemoryError("too little for a picture")

    async def fail_later(tell: Callable[[], SessionStatus]) -> None:
        while tell().phase == JOIN:
            await trio.lowlevel.checkpoint()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail_at_once, tell)

    transport = MemoryTransport()
    mode = simulation()
    with structlog.testing.capture_logs() as log:
        server = make_server(observers=Observers(log=structlog.get_logger()))
        async with await transport.open_listener() as listening, trio.open_nursery() as nursery:
            for name in NAMES:
                nursery.start_soon(make_client(name, mode).take_part, await transport.connect(listening.address))
            result = await server.serve(listening, companions=[fail_at_once, fail_later])
    assert result.num_received == (3, 3)
    at_once, later = (session_status.phase for session_status in told)
    assert at_once == JOIN
    assert later in {"weights", "opinions"}  # trio's task order is random: a vote in memory may be further when asked
    failed = [event["error"] for event in log if event["event"] == "watching_failed"]
    assert failed == ["MemoryError", "ExceptionGroup"]
    assert server.session_status.state is SessionState.RELEASED
    attendance = server.session_status.attendance
    assert attendance is not None
    assert (attendance.present, attendance.awaited) == (NAMES, ())
