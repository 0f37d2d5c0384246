"""What others do wrong: it ends their own conversation, is said and logged, and never stops or delays the vote."""

# ruff: noqa: ARG001  a clock acts by being asked for

import contextlib
import errno
import math
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from struct import Struct
from typing import Any

import msgspec
import pytest
import structlog.testing
import trio
import trio.testing
from certified import CertifiedTransport
from peers import (
    INPUTS,
    NAMES,
    OWN,
    VOTE,
    InOneProcess,
    Session,
    hello,
    make_client,
    messages_until_the_end,
    next_request,
    open_session,
    open_unfinished,
    report,
    simulation,
    welcome,
)
from psephos.agents import CloudServer, Partner
from psephos.agents import driver as driver_module
from psephos.agents import outbox as outbox_module
from psephos.agents.adversaries import DeviatingChannel, Deviation, Passage
from psephos.agents.driver import LINGER_SECONDS
from psephos.agents.pending import GREETING_SECONDS
from psephos.protocol import run_population
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
    MAX_GREETING_BYTES,
    NOT_ADMITTED,
    Abort,
    Acknowledgement,
    Hello,
    Message,
    Release,
    Request,
    Welcome,
    decode,
    encode,
)
from psephos.protocol.records import Record, ServerRecord
from psephos.protocol.roster import Roster
from psephos.protocol.rules import JOIN, SessionRules
from psephos.protocol.server_machine import ServerMachine
from psephos.protocol.views import Happening
from psephos.transports import Channel, Listener, MemoryTransport, TCPTransport, Transport
from psephos.transports import memory as memory_module
from psephos.transports.addresses import parse_address
from psephos.transports.carrier import GREETING
from psephos.transports.framing import FrameDecoder, encode_frames

DEADLINE = 30.0
TWO_OF_THREE = SessionRules(deadline_seconds=DEADLINE, quorum=2)
ALL_THREE = SessionRules(deadline_seconds=DEADLINE)
HONEST = ("alice", "bob")
GARBAGE = b"\xc1 garbage"
NESTED = b"\x91" * 100_000 + b"\xc0"


# A client that stalls.


@contextlib.asynccontextmanager
async def open_with_carol(
    transport: Transport, rules: SessionRules = TWO_OF_THREE, **observers: Any
) -> AsyncGenerator[tuple[Session, Channel]]:
    """Start a session with two honest clients, and a third, played by a test, that has its first request."""
    async with (
        open_session(transport, rules, honest=HONEST, **observers) as session,
        await session.connect() as carol,
    ):
        await carol.send([hello("carol")])
        await next_request(carol)
        yield session, carol


@contextlib.asynccontextmanager
async def serving(server: CloudServer, transport: Transport) -> AsyncGenerator[str]:
    """Serve until the block ends; give the address."""
    async with await transport.open_listener() as listening, trio.open_nursery() as nursery:
        nursery.start_soon(server.serve, listening)
        yield listening.address
        nursery.cancel_scope.cancel()


@pytest.mark.bad_input("a partner that stalls")
async def test_a_client_that_stalls_until_the_deadline_is_left_out_and_hears_the_release(
    transport: Transport, clock: trio.testing.MockClock
) -> None:
    async with open_with_carol(transport) as (session, carol):
        messages = await messages_until_the_end(carol)
    session.assert_two_have_decided(2, 2)
    assert [type(message) for message in messages] == [Release]
    assert DEADLINE <= session.seconds < DEADLINE + 2 * LINGER_SECONDS


async def test_a_quorum_that_is_missed_at_the_deadline_is_an_error_on_every_side_that_names_who_was_missing(
    transport: Transport, clock: trio.testing.MockClock
) -> None:
    async with open_with_carol(transport, ALL_THREE) as (session, carol):
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


# A client that leaves.


@pytest.mark.parametrize("rules", [TWO_OF_THREE, ALL_THREE], ids=["the vote goes on", "the session ends"])
async def test_who_says_that_it_leaves_is_hung_up_on_at_once_and_keeps_nobody_waiting(
    transport: Transport, rules: SessionRules, clock: trio.testing.MockClock
) -> None:
    """Also where it does not hang up by itself."""
    async with open_with_carol(transport, rules) as (session, carol):
        began = trio.current_time()
        await carol.send([encode(Abort("not today"))])
        assert await messages_until_the_end(carol) == []
        assert trio.current_time() - began < 1
    assert session.seconds < 1


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


@pytest.mark.bad_input("a partner that never reads")
async def test_a_client_that_never_reads_holds_up_the_end_for_a_bounded_time(clock: trio.testing.MockClock) -> None:
    async with open_session(TCPTransport(), TWO_OF_THREE, honest=HONEST) as session:
        carol = await session.connect()
        await carol.send([hello("carol")])
    session.assert_two_have_decided(2, 2)
    assert session.seconds <= DEADLINE + LINGER_SECONDS + 1
    await carol.aclose()


# Bytes that are no message, while the server keeps a record.


class Disk:
    """A server's records, which are kept once it is told to."""

    def __init__(self) -> None:
        self.records: tuple[ServerRecord, ...] = ()
        self.num_kept = 0
        self.may_keep = trio.Event()
        self.may_keep.set()

    def keep(self, records: Sequence[Record]) -> None:
        """Count them."""
        self.num_kept += len(records)

    async def run_in_thread(self, function: Callable[..., None], *arguments: object) -> None:
        """Call a function once it may be called."""
        await self.may_keep.wait()
        function(*arguments)


@pytest.mark.parametrize("junk", [encode_frames([b"\xc1"]), b"\xff" * 100], ids=["no message", "no frame"])
async def test_who_sends_junk_while_a_record_is_kept_hears_of_its_report_and_why_it_is_dropped(junk: bytes) -> None:
    disk = Disk()
    mode = simulation(record_views=True)
    server = CloudServer(VOTE, Roster(NAMES, INPUTS.public), mode, rules=TWO_OF_THREE, sitting=disk)
    server.run_in_thread = disk.run_in_thread
    view = server.view
    assert view is not None
    async with serving(server, TCPTransport()) as address, contextlib.AsyncExitStack() as stack:
        streams = [await stack.enter_async_context(await trio.open_tcp_stream(*parse_address(address))) for _ in NAMES]
        for name, stream in zip(NAMES, streams, strict=True):
            await stream.send_all(encode_frames([hello(name)]))
        while server.progress != ("weights", 0, 3):
            await trio.testing.wait_all_tasks_blocked(0.005)
        num_kept, disk.may_keep = disk.num_kept, trio.Event()
        await streams[2].send_all(encode_frames([report(0, 1)]) + junk)
        while not any(each.happening is Happening.FAULT for each in view.observations):
            await trio.testing.wait_all_tasks_blocked(0.005)
        assert disk.num_kept == num_kept
        disk.may_keep.set()
        decoder = FrameDecoder()
        answers = [decode(payload) async for data in streams[2] for payload in decoder.feed(bytes(data))]
    assert [type(message) for message in answers] == [Welcome, Request, Acknowledgement, Abort]


async def test_a_party_has_one_connection_however_often_it_comes() -> None:
    """By its certificate: each takes the place of the one before, which is closed."""
    transport, roster = CertifiedTransport(), Roster(NAMES, INPUTS.public, fingerprints=tuple(OWN.values()))
    server = CloudServer(VOTE, roster, simulation(), rules=TWO_OF_THREE, sitting=Disk())
    async with serving(server, transport) as address:
        for _ in range(5):
            carol = await transport.connect(address, fingerprint=OWN["carol"])
            await carol.send([hello("carol")])
            await trio.testing.wait_all_tasks_blocked()
        connections = server.session_status.connections
    assert connections is not None
    assert connections.num_open == 1


async def test_a_connection_carries_as_many_channels_as_its_certificate_has_seats() -> None:
    header = Struct(">BII").pack
    async with open_unfinished(CertifiedTransport()) as session, await session.connect(OWN["alice"]) as connection:
        await connection.send([GREETING, header(0, 1, 0), header(0, 2, 0)])
        await trio.testing.wait_all_tasks_blocked()
        assert {*session.server.refusals} == {"malformed"}


async def test_two_parties_of_one_certificate_share_one_connection() -> None:
    transport = CertifiedTransport()
    server = CloudServer(VOTE, Roster(NAMES, INPUTS.public, fingerprints=("a1", "a1", "c3")), simulation())
    async with serving(server, transport) as address:
        alice = await transport.connect(address, fingerprint="a1")
        await alice.send([hello("alice")])
        (abort,) = map(decode, await alice.receive())
    assert isinstance(abort, Abort)
    assert abort.reason.startswith("2 parties have this certificate")


async def test_a_party_sends_no_more_than_the_largest_report() -> None:
    async with open_unfinished(MemoryTransport()) as session, await session.connect() as carol:
        await carol.send([hello("carol")])
        await carol.receive()
        await carol.send([bytes(2 * MAX_GREETING_BYTES)])
        (abort,) = map(decode, await carol.receive())
    assert isinstance(abort, Abort)
    assert abort.reason.startswith("a payload may have 4")


async def test_who_is_lost_before_the_release_comes_back_to_hear_it() -> None:
    """Where the server keeps a journal; it listens until then."""
    transport, disk = MemoryTransport(), Disk()
    server = CloudServer(VOTE, Roster(NAMES, INPUTS.public), simulation(), sitting=disk)
    server.run_in_thread = disk.run_in_thread
    async with serving(server, transport) as address:
        channels = [await transport.connect(address) for _ in NAMES]
        for name, channel in zip(NAMES, channels, strict=True):
            await channel.send([hello(name)])
        for payload in (report(0, 1), report(1, 0, 1)):
            for channel in channels:
                await next_request(channel)
            for channel in channels:
                await channel.send([payload])
                await trio.testing.wait_all_tasks_blocked()
                if payload == report(1, 0, 1) and channel is channels[0]:
                    await channel.aclose()
                    await trio.testing.wait_all_tasks_blocked()
        for channel in channels[1:]:
            await messages_until_release(channel)
            await channel.send([encode(Acknowledgement(2))])
            await channel.aclose()
        await trio.testing.wait_all_tasks_blocked()
        alice = await transport.connect(address)
        await alice.send([encode(msgspec.structs.replace(decode(hello("alice")), num_reports=2))])
        answers = [type(message) for message in await messages_until_release(alice)]
    assert answers == [Welcome, Acknowledgement, Release]


async def messages_until_release(channel: Channel) -> list[Message]:
    messages: list[Message] = []
    while not messages or not isinstance(messages[-1], Release):
        messages += [decode(payload) for payload in await channel.receive()]
    return messages


# A client that vanishes.


@pytest.mark.bad_input("a partner that vanishes")
async def test_a_client_that_vanishes_in_a_phase_is_not_waited_for(
    transport: Transport, clock: trio.testing.MockClock
) -> None:
    async with open_with_carol(transport) as (session, carol):
        await carol.aclose()
    session.assert_two_have_decided(2, 2)
    assert session.seconds < DEADLINE


async def test_what_a_client_reported_before_it_vanished_stands(clock: trio.testing.MockClock) -> None:
    async with open_with_carol(MemoryTransport()) as (session, carol):
        await carol.send([report(0, 1)])
        await carol.aclose()
    session.assert_two_have_decided(3, 2)
    assert session.seconds < DEADLINE


# Bytes that are no message, and messages that have no place.


@pytest.mark.bad_input("oversized, truncated or garbage frames", "a report in the wrong phase")
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
    transport: Transport, payload: bytes, error: type[RemoteProtocolError], clock: trio.testing.MockClock
) -> None:
    with structlog.testing.capture_logs() as events:
        async with open_with_carol(transport, log=structlog.get_logger()) as (session, carol):
            await carol.send([payload])
            (abort,) = await messages_until_the_end(carol)
    session.assert_two_have_decided(2, 2)
    assert session.seconds < DEADLINE
    (dropped,) = [event for event in events if event["event"] == "party_dropped"]
    assert (dropped["peer"], dropped["error"]) == ("carol", error.__name__)
    assert isinstance(abort, Abort)
    assert abort.reason == dropped["reason"]


@pytest.mark.bad_input("oversized, truncated or garbage frames")
@pytest.mark.parametrize(
    ("payload", "reason", "kind"),
    [
        pytest.param(GARBAGE, NOT_ADMITTED, "malformed", id="garbage"),
        pytest.param(b"", NOT_ADMITTED, "malformed", id="nothing"),
        pytest.param(b"\x93\x04\x00" + NESTED, NOT_ADMITTED, "malformed", id="nested too deeply"),
        pytest.param(report(0, 1), NOT_ADMITTED, "stranger", id="no hello"),
        pytest.param(hello("mallory"), NOT_ADMITTED, "stranger", id="nobody's name"),
        pytest.param(hello("mallory", session="another"), NOT_ADMITTED, "stranger", id="nobody's, another session"),
        pytest.param(hello("\0" * MAX_GREETING_BYTES), NOT_ADMITTED, "malformed", id="a name of 4 KB"),
        pytest.param(
            hello("carol", session="another"),
            "the server's session is 'council', 'carol' came with 'another'",
            "party",
            id="another session",
        ),
        pytest.param(
            hello("carol", kind="deployment"),
            "the server's kind is 'simulation', 'carol' came with 'deployment'",
            "party",
            id="another kind",
        ),
    ],
)
async def test_a_stranger_is_told_one_sentence_whatever_it_says_and_a_party_is_told_why(
    transport: Transport, payload: bytes, reason: str, kind: str, clock: trio.testing.MockClock
) -> None:
    with structlog.testing.capture_logs() as events:
        async with (
            open_session(transport, TWO_OF_THREE, honest=HONEST, log=structlog.get_logger()) as session,
            await session.connect() as stranger,
        ):
            await stranger.send([payload])
            (abort,) = await messages_until_the_end(stranger)
    session.assert_two_have_decided(2, 2)
    assert abort == Abort(reason)
    counted = [event for event in events if event["event"] == "connections_refused"]
    assert [(event["total"], event["reasons"]) for event in counted] == [(1, {kind: 1})] * 2  # at once, and in the end
    assert "mallory" not in repr(counted)


async def test_a_thousand_refusals_are_a_handful_of_events(clock: trio.testing.MockClock) -> None:
    with structlog.testing.capture_logs() as events:
        async with open_session(MemoryTransport(), TWO_OF_THREE, honest=HONEST, log=structlog.get_logger()) as session:
            for number in range(1000):
                async with await session.connect() as stranger:
                    await stranger.send([hello("mallory") if number % 4 else GARBAGE])
                    await messages_until_the_end(stranger)
            assert session.server.refusals == {"stranger": 750, "malformed": 250}
    session.assert_two_have_decided(2, 2)
    totals = [event["total"] for event in events if event["event"] == "connections_refused"]
    assert totals == [1, 2, 14, 37, 134, 397, 1000]  # at the 1st, 10th and 100th of both reasons, and in the end


async def test_a_stranger_that_does_not_wait_for_its_refusal_does_not_stop_the_vote(
    clock: trio.testing.MockClock,
) -> None:
    async with open_session(MemoryTransport(), TWO_OF_THREE, honest=HONEST) as session:
        for payload in (GARBAGE, hello("mallory"), hello("carol", session="another")):
            async with await session.connect() as stranger:
                await stranger.send([payload])
    session.assert_two_have_decided(2, 2)


@pytest.mark.parametrize(
    "payload", [b"\x93\x04\x00" + NESTED, hello("\0" * 1_000_000)], ids=["nested", "a name of a megabyte"]
)
async def test_a_client_that_sends_monstrous_messages_does_not_stop_the_vote(
    payload: bytes, clock: trio.testing.MockClock
) -> None:
    async with open_with_carol(MemoryTransport()) as (session, carol):
        await carol.send([payload])
        await messages_until_the_end(carol)
    session.assert_two_have_decided(2, 2)


async def test_a_second_connection_with_a_taken_name_is_refused_and_the_first_goes_on(
    transport: Transport, clock: trio.testing.MockClock
) -> None:
    async with open_with_carol(transport, ALL_THREE) as (session, carol), await session.connect() as thief:
        await thief.send([hello("carol"), report(0, 0)])
        (abort,) = await messages_until_the_end(thief)
        assert isinstance(abort, Abort)
        assert abort.reason == "'carol' has joined before"
        await carol.send([report(0, 1)])
        assert (await next_request(carol)).step == 1
        await carol.send([report(1, 0, 1)])
        assert [type(message) for message in await messages_until_release(carol)] == [Release]
    session.assert_two_have_decided(3, 3)
    assert session.seconds < DEADLINE


# A connection that says nothing.


async def test_a_connection_that_says_nothing_does_not_hold_up_the_end(
    transport: Transport, clock: trio.testing.MockClock
) -> None:
    async with open_session(transport, TWO_OF_THREE) as session, await session.connect() as silent:
        for name in NAMES:
            session.nursery.start_soon(session.take_part, name, make_client(name, simulation()))
        assert not await messages_until_the_end(silent)
    assert session.result is not None
    assert session.result.num_received == (3, 3)
    assert session.seconds < 1.0


async def test_a_connection_that_says_nothing_for_long_is_closed(clock: trio.testing.MockClock) -> None:
    async with open_session(
        MemoryTransport(), SessionRules(deadline_seconds=500.0, quorum=2), honest=("alice",)
    ) as session:
        silent = await session.connect()
        assert not await messages_until_the_end(silent)
        assert trio.current_time() - session.start == pytest.approx(GREETING_SECONDS)
        assert session.server.refusals == {"silent": 1}
    assert isinstance(session.failure, QuorumError)


async def test_half_a_hello_does_not_hold_up_the_end(clock: trio.testing.MockClock) -> None:
    async with (
        open_session(TCPTransport(), TWO_OF_THREE, honest=HONEST) as session,
        await trio.open_tcp_stream(*parse_address(session.listener.address)) as stream,
    ):
        await stream.send_all(b"\x00\x00\x00\x10half")
        with contextlib.suppress(trio.BrokenResourceError):
            assert not await stream.receive_some()
    session.assert_two_have_decided(2, 2)
    assert session.seconds <= DEADLINE + 1.0  # which carol was waited for


# A server that misbehaves.


async def take_part_with(
    transport: Transport, play: Callable[[Channel], Awaitable[object]], client: Partner | None = None
) -> tuple[object, list[Message]]:
    """Let a client meet a server that is played by hand; return its outcome or error, and what it said last."""
    client = client or make_client("alice", simulation())
    ending: object = None
    messages: list[Message] = []

    async def take_part() -> None:
        nonlocal ending
        try:
            ending = await client.take_part(await transport.connect(listener.address))
        except (PsephosError, OSError) as error:
            ending = error

    with trio.fail_after(10_000 if isinstance(trio.lowlevel.current_clock(), trio.testing.MockClock) else 100):
        async with await transport.open_listener() as listener, trio.open_nursery() as nursery:
            nursery.start_soon(take_part)
            async with await listener.accept() as channel:
                await channel.receive()
                await play(channel)
                with contextlib.suppress(trio.ClosedResourceError):
                    messages += await messages_until_the_end(channel)
    return ending, messages


WELCOME = encode(welcome())
REQUEST = encode(Request(0, msgspec.Raw(msgspec.msgpack.encode(None))))
NEXT_REQUEST = encode(Request(1, msgspec.Raw(msgspec.msgpack.encode(None))))
NO_TEXT = msgspec.Raw(b"\x81\xa1\xff\x01")
HUGE = msgspec.Raw(msgspec.msgpack.encode({"quota": "\0" * 900_000}))
OUTCOME = msgspec.Raw(msgspec.msgpack.encode(run_population(VOTE, INPUTS, noise=simulation().noise).outcome))


@pytest.mark.parametrize(
    ("payloads", "error"),
    [
        ([GARBAGE], MalformedMessageError),
        ([hello("server")], UnexpectedMessageError),
        ([REQUEST], UnexpectedMessageError),
        ([WELCOME, WELCOME], UnexpectedMessageError),
        ([encode(welcome(99))], RemoteProtocolError),
        ([encode(welcome(parameters=msgspec.Raw(b"\x80")))], RemoteProtocolError),
        ([WELCOME, encode(Release(OUTCOME))], UnexpectedMessageError),
        ([WELCOME, REQUEST, encode(Release(OUTCOME))], UnexpectedMessageError),
        ([WELCOME, REQUEST, NEXT_REQUEST, encode(Release(msgspec.Raw(b"\x01")))], MalformedMessageError),
        ([WELCOME, REQUEST, encode(Request(5, msgspec.Raw(b"\xc0")))], UnexpectedMessageError),
        ([b"\x93\x02\x01" + NESTED], MalformedMessageError),
        ([WELCOME, b"\x92\x05" + NESTED], MalformedMessageError),
        ([encode(welcome(parameters=NO_TEXT))], RemoteProtocolError),
        ([encode(welcome(parameters=HUGE))], RemoteProtocolError),
        ([WELCOME, REQUEST, NEXT_REQUEST, encode(Release(NO_TEXT))], MalformedMessageError),
    ],
    ids=[
        "garbage",
        "hello",
        "request before welcome",
        "welcome twice",
        "another version",
        "no parameters",
        "a release before any request",
        "a release before the last request",
        "a release that is none",
        "a phase that there is not",
        "a nested welcome",
        "a nested release",
        "a welcome in no UTF-8",
        "huge parameters",
        "a release in no UTF-8",
    ],
)
async def test_a_server_that_breaks_the_rules_is_told_and_left(
    transport: Transport, payloads: list[bytes], error: type[RemoteProtocolError]
) -> None:
    ending, messages = await take_part_with(transport, lambda channel: channel.send(payloads))
    assert type(ending) is error
    assert messages[-1] == Abort(reason=str(ending))


async def test_a_server_that_hangs_up_ends_the_client(transport: Transport) -> None:
    async def play(channel: Channel) -> None:
        await channel.send([WELCOME])
        await channel.aclose()

    ending, _ = await take_part_with(transport, play)
    assert isinstance(ending, SessionAborted)
    assert "lost" in str(ending)


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


# A server that falls silent.


@pytest.mark.parametrize(
    ("payloads", "patience", "seconds"),
    [([], 3600.0, 30.0), ([], 5.0, 5.0), ([WELCOME], 3600.0, 3600.0), ([WELCOME, REQUEST], 100.0, 100.0)],
    ids=["at once", "at once, of less patience", "after its welcome", "after a request"],
)
async def test_a_client_leaves_a_server_that_falls_silent(
    transport: Transport, payloads: list[bytes], patience: float, seconds: float, clock: trio.testing.MockClock
) -> None:
    start = trio.current_time()
    client = make_client("alice", simulation(), patience_seconds=patience)
    ending, messages = await take_part_with(transport, lambda channel: channel.send(payloads), client)
    assert trio.current_time() - start == pytest.approx(seconds, abs=1.0)
    assert isinstance(ending, RemoteProtocolError)
    assert str(ending) == f"server has said nothing for {seconds:g} seconds"
    assert messages[-1] == Abort(str(ending))


async def test_patience_begins_anew_with_every_message(clock: trio.testing.MockClock) -> None:
    async def play(channel: Channel) -> None:
        for payload in (WELCOME, REQUEST, NEXT_REQUEST, encode(Release(OUTCOME))):
            await channel.send([payload])
            await trio.sleep(29.0)

    client = make_client("alice", simulation(), patience_seconds=40.0)
    ending, _ = await take_part_with(MemoryTransport(), play, client)
    assert not isinstance(ending, Exception)
    assert client.late_phase is None


async def test_without_an_end_to_its_patience_a_client_waits(clock: trio.testing.MockClock) -> None:
    client = make_client("alice", simulation(), patience_seconds=math.inf)
    transport = MemoryTransport()
    with trio.move_on_after(10 * 3600.0) as scope:
        async with await transport.open_listener() as listener, await transport.connect(listener.address) as channel:
            await client.take_part(channel)
    assert scope.cancelled_caught


# What goes wrong on this side.


class FailingLog:
    """A log on a disk that is full."""

    def info(self, event: str, **fields: object) -> None:
        del event, fields
        raise OSError(errno.ENOSPC, "No space left on device")

    warning = info


async def test_a_log_that_cannot_be_written_does_not_end_the_vote(clock: trio.testing.MockClock) -> None:
    async with (
        open_session(MemoryTransport(), TWO_OF_THREE, honest=HONEST, log=FailingLog()) as session,
        await session.connect() as stranger,
    ):
        await stranger.send([GARBAGE])
        assert await messages_until_the_end(stranger) == [Abort(NOT_ADMITTED)]
        async with await session.connect() as carol:
            await carol.send([hello("carol"), GARBAGE])
    session.assert_two_have_decided(2, 2)


async def test_a_loss_that_cannot_be_logged_stops_the_report() -> None:
    client = make_client("alice", simulation(), log=FailingLog())
    ending, messages = await take_part_with(MemoryTransport(), lambda channel: channel.send([WELCOME, REQUEST]), client)
    assert isinstance(ending, OSError)
    assert ending.errno == errno.ENOSPC
    assert messages == []
    assert [entry.phase for entry in client.ledger.entries] == ["weights"]  # charged, and never too little


class FailingListener(Listener):
    """A listener some of whose channels fail, and that fails itself now and then."""

    def __init__(self, inner: Listener) -> None:
        self._inner = inner
        self._num_accepted = 0

    @property
    def address(self) -> str:
        return self._inner.address

    async def accept(self) -> Channel:
        channel = await self._inner.accept()
        self._num_accepted += 1
        match self._num_accepted:
            case 1:
                channel.close()
                raise OSError(errno.EIO, "Input/output error")
            case 2:
                return DeviatingChannel(channel, Raising(MemoryError()), peer=None)
            case 3:
                return DeviatingChannel(channel, Raising(RuntimeError("a bug")), peer=None)
            case 4:
                return DeviatingChannel(channel, Raising(RemoteProtocolError("a handshake failed")), peer=None)
            case _:
                return channel

    async def aclose(self) -> None:
        await self._inner.aclose()


class Raising(Deviation):
    """What comes on a channel makes it fail."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def incoming(self, peer: str, message: Message) -> Passage:
        del peer, message
        raise self._error


async def test_a_hello_that_cannot_be_looked_at_fails_alone(
    transport: Transport, clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    admit = ServerMachine.admit

    def admit_all_but_carol(machine: ServerMachine, hello: Hello, *, fingerprint: str = "") -> None:
        if hello.party == "carol":
            raise MemoryError
        admit(machine, hello, fingerprint=fingerprint)

    monkeypatch.setattr(ServerMachine, "admit", admit_all_but_carol)
    async with open_session(transport, TWO_OF_THREE, honest=HONEST) as session, await session.connect() as carol:
        await carol.send([hello("carol")])
        assert await messages_until_the_end(carol) == []
    session.assert_two_have_decided(2, 2)
    assert session.server.refusals == {"failed": 1}


async def test_no_failure_of_a_connection_ends_the_vote(clock: trio.testing.MockClock) -> None:
    transport = MemoryTransport()
    mode = simulation()
    server = CloudServer(VOTE, Roster(NAMES, INPUTS.public), mode, rules=TWO_OF_THREE)
    with trio.fail_after(10_000):
        async with await transport.open_listener() as listening, trio.open_nursery() as nursery:
            session = Session(server, FailingListener(listening), transport, nursery)
            nursery.start_soon(session.serve)
            for _ in range(4):
                async with await session.connect() as carol:
                    with contextlib.suppress(trio.BrokenResourceError):
                        await carol.send([hello("carol")])
                    await messages_until_the_end(carol)
            for name in HONEST:
                nursery.start_soon(session.take_part, name, make_client(name, mode))
    session.assert_two_have_decided(2, 2)
    assert server.refusals == {"failed": 3, "stranger": 1}


@pytest.mark.parametrize("make_transport", [MemoryTransport, InOneProcess])
async def test_a_member_whose_connection_fails_in_a_new_way_is_gone_and_the_vote_goes_on(
    make_transport: Callable[[], Transport], clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def decode_or_fail(payload: bytes, *, sender: str) -> Message:
        if sender == "carol" and payload == GARBAGE:
            raise MemoryError
        return decode(payload, sender=sender)

    monkeypatch.setattr(driver_module, "decode", decode_or_fail)
    async with (
        open_session(make_transport(), TWO_OF_THREE, honest=HONEST) as session,
        await session.connect() as carol,
    ):
        await carol.send([hello("carol"), GARBAGE])
        await messages_until_the_end(carol)
    session.assert_two_have_decided(2, 2)


def test_an_interrupt_tells_everybody_who_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Message] = []

    async def main() -> None:
        transport = TCPTransport()
        server = CloudServer(VOTE, Roster(NAMES, INPUTS.public), simulation(), rules=ALL_THREE)
        async with trio.open_nursery() as nursery:
            listening = await transport.open_listener()

            async def join() -> None:
                async with await transport.connect(listening.address) as carol:
                    await carol.send([hello("carol")])
                    await carol.receive()
                    signal.raise_signal(signal.SIGINT)
                    heard.extend(await messages_until_the_end(carol))

            nursery.start_soon(join)
            await server.serve(listening)

    with pytest.raises(BaseExceptionGroup) as caught:
        trio.run(main, restrict_keyboard_interrupt_to_checkpoints=True)
    assert caught.group_contains(KeyboardInterrupt, depth=None)
    assert heard == [Abort("whoever runs it has stopped it")]
