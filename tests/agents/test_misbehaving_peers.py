"""What others do wrong: it ends their own conversation, is said and logged, and never stops or delays the vote."""

# ruff: noqa: ARG001  a clock acts by being asked for

import contextlib
from collections.abc import Awaitable, Callable

import msgspec
import pytest
import structlog.testing
import trio
import trio.testing
from peers import (
    NAMES,
    TRANSPORTS,
    hello,
    make_client,
    messages_until_the_end,
    next_request,
    open_session,
    report,
    simulation,
    welcome,
)
from psephos.agents import outbox as outbox_module
from psephos.agents.driver import LINGER_SECONDS
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.effects import Effect, Opened
from psephos.protocol.errors import (
    MalformedMessageError,
    PsephosError,
    QuorumError,
    RemoteProtocolError,
    SessionAborted,
    UnexpectedMessageError,
)
from psephos.protocol.messages import (
    Abort,
    Message,
    Release,
    Request,
    decode,
    encode,
)
from psephos.protocol.rules import JOIN, PhaseRules
from psephos.transports import Channel, Listener, MemoryTransport, TCPTransport, Transport
from psephos.transports import memory as memory_module

DEADLINE = 30.0
TWO_OF_THREE = PhaseRules(deadline_seconds=DEADLINE, quorum=2)
ALL_THREE = PhaseRules(deadline_seconds=DEADLINE)
HONEST = ("alice", "bob")
GARBAGE = b"\xc1 garbage"


# A client that stalls.


@pytest.mark.parametrize("make_transport", TRANSPORTS)
async def test_a_client_that_stalls_until_the_deadline_is_left_out_and_hears_the_release(
    make_transport: Callable[[], Transport], clock: trio.testing.MockClock
) -> None:
    async with open_session(make_transport(), TWO_OF_THREE, honest=HONEST) as session, await session.connect() as carol:
        await carol.send([hello("carol")])
        await next_request(carol)
        messages = await messages_until_the_end(carol)
    session.assert_two_have_decided(2, 2)
    assert [type(message) for message in messages] == [Release]
    assert DEADLINE <= session.seconds < DEADLINE + 2 * LINGER_SECONDS


@pytest.mark.parametrize("make_transport", TRANSPORTS)
async def test_a_quorum_that_is_missed_at_the_deadline_is_an_error_on_every_side_that_names_who_was_missing(
    make_transport: Callable[[], Transport], clock: trio.testing.MockClock
) -> None:
    async with open_session(make_transport(), ALL_THREE, honest=HONEST) as session, await session.connect() as carol:
        await carol.send([hello("carol")])
        await next_request(carol)
        (abort,) = await messages_until_the_end(carol)
    session.assert_quorum_failed("weights", ("carol",))
    assert isinstance(abort, Abort)
    assert abort.missing == ("carol",)
    assert DEADLINE <= session.seconds < DEADLINE + 2 * LINGER_SECONDS


async def test_a_roster_that_does_not_come_is_an_error_that_names_who_was_missing(
    clock: trio.testing.MockClock,
) -> None:
    async with open_session(MemoryTransport(), ALL_THREE, honest=HONEST) as session:
        pass
    session.assert_quorum_failed(JOIN, ("carol",))
    assert session.seconds == pytest.approx(DEADLINE)


async def test_a_late_report_is_neither_counted_nor_a_fault(clock: trio.testing.MockClock) -> None:
    num_opened = 0
    second_phase = trio.Event()

    def listen(effect: Effect) -> None:
        nonlocal num_opened
        num_opened += isinstance(effect, Opened)
        if num_opened == 2:
            second_phase.set()

    protocol = DPWeVote(Parameters(candidates=("a", "b"), weight_collection="per_candidate"))
    async with (
        open_session(MemoryTransport(), TWO_OF_THREE, honest=HONEST, protocol=protocol, listener=listen) as session,
        await session.connect() as carol,
    ):
        await carol.send([hello("carol")])
        await next_request(carol)
        await second_phase.wait()
        await carol.send([report(0, 1)])
        messages = await messages_until_the_end(carol)
    session.assert_two_have_decided(2, 2, 2, 2)
    assert [type(message) for message in messages] == [Release]


# A client that does not read.


async def test_a_client_that_never_reads_is_cut_off_and_the_vote_goes_on(
    monkeypatch: pytest.MonkeyPatch, clock: trio.testing.MockClock
) -> None:
    monkeypatch.setattr(memory_module, "MAX_QUEUED_PAYLOADS", 1)
    monkeypatch.setattr(outbox_module, "MAX_QUEUED_MESSAGES", 1)
    protocol = DPWeVote(Parameters(candidates=("a", "b", "c"), weight_collection="per_candidate"))
    opened: list[int | None] = []

    def listen(effect: Effect) -> None:
        if isinstance(effect, Opened):
            with contextlib.suppress(trio.ClosedResourceError, trio.BrokenResourceError):
                carol.send_nowait(report(len(opened), 1))  # it answers without having read the question
            opened.append(effect.num_asked)

    with structlog.testing.capture_logs() as events:
        async with open_session(
            MemoryTransport(),
            TWO_OF_THREE,
            honest=HONEST,
            protocol=protocol,
            listener=listen,
            log=structlog.get_logger(),
        ) as session:
            carol = await session.connect()
            await carol.send([hello("carol")])
        with pytest.raises(trio.BrokenResourceError):
            await carol.send([report(6, 1)])
    # The channel holds the welcome, the writer the first request, the queue the second; the third is one too many.
    session.assert_two_have_decided(3, 3, 2, 2, 2, 2)
    assert opened == [3, 3, 3, 2, 2, 2]
    (dropped,) = [event for event in events if event["event"] == "party_dropped"]
    assert dropped["peer"] == "carol"
    assert dropped["reason"] == "carol does not read what it is sent"
    assert session.seconds <= LINGER_SECONDS


async def test_a_client_that_never_reads_holds_up_the_end_for_a_bounded_time(clock: trio.testing.MockClock) -> None:
    async with open_session(TCPTransport(), TWO_OF_THREE, honest=HONEST) as session:
        carol = await session.connect()
        await carol.send([hello("carol")])
    session.assert_two_have_decided(2, 2)
    assert session.seconds <= DEADLINE + LINGER_SECONDS + 1
    await carol.aclose()


# A client that vanishes.


@pytest.mark.parametrize("make_transport", TRANSPORTS)
async def test_a_client_that_vanishes_in_a_phase_is_not_waited_for(
    make_transport: Callable[[], Transport], clock: trio.testing.MockClock
) -> None:
    async with open_session(make_transport(), TWO_OF_THREE, honest=HONEST) as session, await session.connect() as carol:
        await carol.send([hello("carol")])
        await next_request(carol)
        await carol.aclose()
    session.assert_two_have_decided(2, 2)
    assert session.seconds < DEADLINE


async def test_what_a_client_reported_before_it_vanished_stands(clock: trio.testing.MockClock) -> None:
    async with (
        open_session(MemoryTransport(), TWO_OF_THREE, honest=HONEST) as session,
        await session.connect() as carol,
    ):
        await carol.send([hello("carol")])
        await next_request(carol)
        await carol.send([report(0, 1)])
        await carol.aclose()
    session.assert_two_have_decided(3, 2)
    assert session.seconds < DEADLINE


# Bytes that are no message, and messages that have no place.


@pytest.mark.bad_input("oversized, truncated or garbage frames")
@pytest.mark.parametrize("make_transport", TRANSPORTS)
@pytest.mark.parametrize(
    ("payload", "error"),
    [
        pytest.param(GARBAGE, MalformedMessageError, id="garbage"),
        pytest.param(b"", MalformedMessageError, id="nothing"),
        pytest.param(report(0, 99), MalformedMessageError, id="out of range"),
        pytest.param(report(1, 1), UnexpectedMessageError, id="another phase"),
        pytest.param(hello("carol"), UnexpectedMessageError, id="hello again"),
        pytest.param(hello("alice"), UnexpectedMessageError, id="another's hello"),
        pytest.param(encode(welcome()), UnexpectedMessageError, id="welcome"),
    ],
)
async def test_a_fault_after_hello_is_said_logged_and_ends_that_client_alone(
    make_transport: Callable[[], Transport],
    payload: bytes,
    error: type[RemoteProtocolError],
    clock: trio.testing.MockClock,
) -> None:
    with structlog.testing.capture_logs() as events:
        async with (
            open_session(make_transport(), TWO_OF_THREE, honest=HONEST, log=structlog.get_logger()) as session,
            await session.connect() as carol,
        ):
            await carol.send([hello("carol")])
            await next_request(carol)
            await carol.send([payload])
            (abort,) = await messages_until_the_end(carol)
    session.assert_two_have_decided(2, 2)
    assert session.seconds < DEADLINE
    (dropped,) = [event for event in events if event["event"] == "party_dropped"]
    assert (dropped["peer"], dropped["error"]) == ("carol", error.__name__)
    assert isinstance(abort, Abort)
    assert abort.reason == dropped["reason"]


async def test_an_announced_oversize_after_hello_ends_that_client_alone(clock: trio.testing.MockClock) -> None:
    transport = TCPTransport()
    async with open_session(transport, TWO_OF_THREE, honest=HONEST) as session:
        host, port = session.listener.address.rsplit(":", 1)
        async with await trio.open_tcp_stream(host, int(port)) as stream:
            greeting = hello("carol")
            await stream.send_all(len(greeting).to_bytes(4, "big") + greeting + b"\xff\xff\xff\xff")
            with contextlib.suppress(trio.BrokenResourceError):
                while await stream.receive_some():
                    pass
    session.assert_two_have_decided(2, 2)


@pytest.mark.bad_input("oversized, truncated or garbage frames")
@pytest.mark.parametrize("make_transport", TRANSPORTS)
@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        pytest.param(GARBAGE, "no message", id="garbage"),
        pytest.param(report(0, 1), "began with Report instead of Hello", id="no hello"),
        pytest.param(hello("mallory"), "not on the roster", id="nobody's name"),
        pytest.param(hello("carol", session="another"), "session is 'council'", id="another session"),
        pytest.param(hello("carol", kind="deployment"), "kind is 'simulation'", id="another kind"),
        pytest.param(hello("\0" * 1_000_000), "", id="a name of a megabyte"),
    ],
)
async def test_a_stranger_is_told_why_and_the_vote_goes_on(
    make_transport: Callable[[], Transport], payload: bytes, reason: str, clock: trio.testing.MockClock
) -> None:
    with structlog.testing.capture_logs() as events:
        async with (
            open_session(make_transport(), TWO_OF_THREE, honest=HONEST, log=structlog.get_logger()) as session,
            await session.connect() as stranger,
        ):
            await stranger.send([payload])
            (abort,) = await messages_until_the_end(stranger)
    session.assert_two_have_decided(2, 2)
    assert isinstance(abort, Abort)
    assert reason in abort.reason
    (refused,) = [event for event in events if event["event"] == "connection_refused"]
    assert refused["reason"] == abort.reason
    assert len(repr(refused)) < 10_000


async def test_a_stranger_that_does_not_wait_for_its_refusal_does_not_stop_the_vote(
    clock: trio.testing.MockClock,
) -> None:
    async with open_session(MemoryTransport(), TWO_OF_THREE, honest=HONEST) as session:
        for payload in (GARBAGE, hello("mallory"), hello("carol", session="another")):
            async with await session.connect() as stranger:
                await stranger.send([payload])
    session.assert_two_have_decided(2, 2)


NESTED = b"\x91" * 100_000 + b"\xc0"


@pytest.mark.parametrize("first", [b"\x93\x04\x00" + NESTED, b"\x93\x02\x01" + NESTED], ids=["report", "welcome"])
async def test_a_stranger_whose_message_is_nested_too_deeply_does_not_stop_the_vote(
    first: bytes, clock: trio.testing.MockClock
) -> None:
    async with (
        open_session(MemoryTransport(), TWO_OF_THREE, honest=HONEST) as session,
        await session.connect() as stranger,
    ):
        await stranger.send([first])
        await messages_until_the_end(stranger)
    session.assert_two_have_decided(2, 2)


@pytest.mark.parametrize(
    "payload", [b"\x93\x04\x00" + NESTED, hello("\0" * 1_000_000)], ids=["nested", "a name of a megabyte"]
)
async def test_a_client_that_sends_monstrous_messages_does_not_stop_the_vote(
    payload: bytes, clock: trio.testing.MockClock
) -> None:
    async with (
        open_session(MemoryTransport(), TWO_OF_THREE, honest=HONEST) as session,
        await session.connect() as carol,
    ):
        await carol.send([hello("carol")])
        await next_request(carol)
        await carol.send([payload])
        await messages_until_the_end(carol)
    session.assert_two_have_decided(2, 2)


@pytest.mark.parametrize("make_transport", TRANSPORTS)
async def test_a_second_connection_with_a_taken_name_is_refused_and_the_first_goes_on(
    make_transport: Callable[[], Transport], clock: trio.testing.MockClock
) -> None:
    async with (
        open_session(make_transport(), ALL_THREE, honest=HONEST) as session,
        await session.connect() as carol,
        await session.connect() as thief,
    ):
        await carol.send([hello("carol")])
        await next_request(carol)
        await thief.send([hello("carol"), report(0, 0)])
        (abort,) = await messages_until_the_end(thief)
        assert isinstance(abort, Abort)
        assert abort.reason == "'carol' has joined before"
        await carol.send([report(0, 1)])
        assert (await next_request(carol)).phase == 1
        await carol.send([report(1, 0, 1)])
        assert [type(message) for message in await messages_until_the_end_or_release(carol)] == [Release]
    session.assert_two_have_decided(3, 3)
    assert session.seconds < DEADLINE


async def messages_until_the_end_or_release(channel: Channel) -> list[Message]:
    """Return what arrives up to the release, and hang up as a client does."""
    messages: list[Message] = []
    while not any(isinstance(message, (Release, Abort)) for message in messages):
        messages += [decode(payload) for payload in await channel.receive()]
    await channel.aclose()
    return messages


# A connection that says nothing.


@pytest.mark.parametrize("make_transport", TRANSPORTS)
async def test_a_connection_that_says_nothing_does_not_hold_up_the_end(
    make_transport: Callable[[], Transport], clock: trio.testing.MockClock
) -> None:
    async with open_session(make_transport(), PhaseRules(deadline_seconds=DEADLINE, quorum=2)) as session:
        silent = await session.connect()
        for name in NAMES:
            session.nursery.start_soon(session.take_part, name, make_client(name, simulation()))
        assert not await messages_until_the_end(silent)
        await silent.aclose()
    assert session.result is not None
    assert session.result.num_received == (3, 3)
    assert session.seconds < 1.0


async def test_a_connection_that_says_nothing_for_long_is_closed(clock: trio.testing.MockClock) -> None:
    async with open_session(
        MemoryTransport(), PhaseRules(deadline_seconds=500.0, quorum=2), honest=("alice",)
    ) as session:
        silent = await session.connect()
        assert not await messages_until_the_end(silent)
        assert trio.current_time() - session.start == pytest.approx(60.0)
    assert isinstance(session.failure, QuorumError)


async def test_half_a_hello_does_not_hold_up_the_end(clock: trio.testing.MockClock) -> None:
    async with open_session(TCPTransport(), TWO_OF_THREE, honest=HONEST) as session:
        host, port = session.listener.address.rsplit(":", 1)
        async with await trio.open_tcp_stream(host, int(port)) as stream:
            await stream.send_all(b"\x00\x00\x00\x10half")
            with contextlib.suppress(trio.BrokenResourceError):
                assert not await stream.receive_some()
    session.assert_two_have_decided(2, 2)
    assert session.seconds <= DEADLINE + 1.0  # which carol was waited for


# A server that misbehaves.


async def take_part_with(
    transport: Transport, play: Callable[[Channel], Awaitable[None]]
) -> tuple[Exception | None, list[Message]]:
    """Let a client meet a server that is played by hand; return how it ended and what it said last."""
    client = make_client("alice", simulation())
    ending: Exception | None = None

    async def take_part() -> None:
        nonlocal ending
        try:
            await client.take_part(await transport.connect(listener.address))
        except PsephosError as error:
            ending = error

    with trio.fail_after(100):
        async with await transport.open_listener() as listener, trio.open_nursery() as nursery:
            nursery.start_soon(take_part)
            async with await listener.accept() as channel:
                await channel.receive()
                await play(channel)
                messages = await messages_until_the_end(channel)
    return ending, messages


WELCOME = encode(welcome())
REQUEST = encode(Request(0, msgspec.Raw(msgspec.msgpack.encode(None))))


@pytest.mark.parametrize("make_transport", TRANSPORTS)
@pytest.mark.parametrize(
    ("payloads", "error"),
    [
        ([GARBAGE], MalformedMessageError),
        ([hello("server")], UnexpectedMessageError),
        ([REQUEST], UnexpectedMessageError),
        ([WELCOME, WELCOME], UnexpectedMessageError),
        ([encode(welcome(99))], RemoteProtocolError),
        ([encode(welcome(parameters=msgspec.Raw(b"\x80")))], RemoteProtocolError),
        ([WELCOME, encode(Release(msgspec.Raw(b"\x01")))], MalformedMessageError),
        ([WELCOME, REQUEST, encode(Request(5, msgspec.Raw(b"\xc0")))], UnexpectedMessageError),
    ],
    ids=[
        "garbage",
        "hello",
        "request before welcome",
        "welcome twice",
        "another version",
        "no parameters",
        "a release that is none",
        "a phase that there is not",
    ],
)
async def test_a_server_that_breaks_the_rules_is_told_and_left(
    make_transport: Callable[[], Transport], payloads: list[bytes], error: type[RemoteProtocolError]
) -> None:
    async def play(channel: Channel) -> None:
        await channel.send(payloads)

    ending, messages = await take_part_with(make_transport(), play)
    assert type(ending) is error
    assert messages[-1] == Abort(reason=str(ending))


@pytest.mark.parametrize(
    "payloads",
    [
        pytest.param([b"\x93\x02\x01" + NESTED], id="nested welcome"),
        pytest.param([WELCOME, b"\x92\x05" + NESTED], id="nested release"),
        pytest.param([encode(welcome(parameters=msgspec.Raw(b"\x81\xa1\xff\x01")))], id="welcome in no UTF-8"),
        pytest.param(
            [encode(welcome(parameters=msgspec.Raw(msgspec.msgpack.encode({"quota": "\0" * 900_000}))))],
            id="huge parameters",
        ),
        pytest.param([WELCOME, encode(Release(msgspec.Raw(b"\x81\xa1\xff\x01")))], id="release in no UTF-8"),
    ],
)
async def test_a_server_that_sends_monstrous_messages_is_blamed(payloads: list[bytes]) -> None:
    async def play(channel: Channel) -> None:
        await channel.send(payloads)

    ending, _ = await take_part_with(MemoryTransport(), play)
    assert isinstance(ending, RemoteProtocolError)


@pytest.mark.parametrize("make_transport", TRANSPORTS)
async def test_a_server_that_hangs_up_ends_the_client(make_transport: Callable[[], Transport]) -> None:
    async def play(channel: Channel) -> None:
        await channel.send([WELCOME])
        await channel.aclose()
        with contextlib.suppress(trio.ClosedResourceError):
            await channel.receive()

    transport = make_transport()
    client = make_client("alice", simulation())

    async def serve(listener: Listener) -> None:
        async with await listener.accept() as channel:
            await channel.receive()
            await play(channel)

    async with await transport.open_listener() as listener, trio.open_nursery() as nursery:
        nursery.start_soon(serve, listener)
        with pytest.raises(SessionAborted, match="lost"):
            await client.take_part(await transport.connect(listener.address))


async def test_a_server_that_does_not_read_cannot_keep_a_client_that_has_ended(
    monkeypatch: pytest.MonkeyPatch, clock: trio.testing.MockClock
) -> None:
    monkeypatch.setattr(memory_module, "MAX_QUEUED_PAYLOADS", 1)

    async def play(channel: Channel) -> None:
        await channel.send([WELCOME])
        await channel.send([REQUEST])  # the report fills the channel
        await channel.send([GARBAGE])  # the blame has to wait
        start = trio.current_time()
        with contextlib.suppress(trio.BrokenResourceError):
            for _ in range(1000):
                await channel.send([REQUEST])
        assert trio.current_time() - start == pytest.approx(LINGER_SECONDS)

    ending, _ = await take_part_with(MemoryTransport(), play)
    assert isinstance(ending, MalformedMessageError)
