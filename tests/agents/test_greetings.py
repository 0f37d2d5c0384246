"""How connections begin: with an inquiry, by a certificate, or again after one was lost."""

# ruff: noqa: ARG001  a clock acts by being asked for

from collections.abc import Callable

import msgspec
import pytest
import structlog.testing
import trio
import trio.testing
from certified import CertifiedTransport
from pairs import open_pair
from peers import (
    INPUTS,
    NAMES,
    OWN,
    VOTE,
    WITH_LOBBY,
    Session,
    hello,
    inquiry,
    make_client,
    messages_until_the_end,
    next_request,
    open_session,
    open_unfinished,
    report,
    simulation,
    welcome,
)
from psephos.agents import Deployment, Mode, Partner, SecureNoise, inquire
from psephos.agents.pending import GREETING_SECONDS
from psephos.protocol import (
    JOIN,
    MalformedMessageError,
    PsephosError,
    RemoteProtocolError,
    SessionAborted,
    SessionRules,
    run_population,
)
from psephos.protocol.messages import (
    NOT_ADMITTED,
    PROTOCOL_VERSION,
    Abort,
    Hello,
    Inquiry,
    Message,
    Release,
    Terms,
    decode,
    encode,
)
from psephos.transports import Channel, MemoryTransport, TCPTransport, Transport

DEADLINE = 500.0
TWO_OF_THREE = SessionRules(deadline_seconds=DEADLINE, quorum=2)
TERMS = Terms(
    PROTOCOL_VERSION,
    "council",
    "dpwevote",
    "simulation",
    VOTE.encoded_parameters,
    2,
    descriptor=simulation().descriptor,
)


async def hear_the_release(channel: Channel) -> None:
    """Receive the release and hang up, since the server waits for that."""
    (message,) = [decode(payload) for payload in await channel.receive()]
    assert isinstance(message, Release)
    await channel.aclose()


# Inquiries, from the client's side


async def test_whoever_asks_hears_the_terms_and_takes_part_over_the_same_channel(
    transport: Transport,
) -> None:
    mode = simulation()
    async with open_session(transport, TWO_OF_THREE, mode=mode) as session:
        for place, name in enumerate(NAMES):
            channel = await session.connect()
            assert await inquire(channel, party=name) == msgspec.structs.replace(TERMS, place=place)
            session.nursery.start_soon(_take_part_over, session, channel, make_client(name, mode), name)
    assert session.result is not None
    assert session.result.num_received == (3, 3)
    assert session.result.outcome == run_population(VOTE, INPUTS, noise=mode.noise).outcome
    assert session.endings == dict.fromkeys(NAMES, session.result.outcome)


async def _take_part_over(session: Session, channel: Channel, client: Partner, name: str) -> None:
    session.endings[name] = await client.take_part(channel)


async def test_the_terms_of_a_deployment_say_so() -> None:
    mode = Deployment("council", SecureNoise())
    async with open_unfinished(MemoryTransport(), mode=mode) as session, await session.connect() as channel:
        assert (await inquire(channel, party="carol")).kind == "deployment"


@pytest.mark.parametrize(("party", "fingerprint"), [("mallory", OWN["alice"]), ("carol", ""), ("carol", OWN["alice"])])
async def test_an_inquiry_that_is_refused_tells_strangers_apart_by_nothing(party: str, fingerprint: str) -> None:
    with structlog.testing.capture_logs() as events:
        async with open_unfinished(CertifiedTransport(), log=structlog.get_logger()) as session:
            async with await session.connect(fingerprint) as channel:
                with pytest.raises(SessionAborted) as caught:
                    await inquire(channel, party=party)
                assert await messages_until_the_end(channel) == []
            assert session.server.progress == (JOIN, 0, 3)
            async with await session.connect(OWN["carol"]) as channel:
                assert await inquire(channel, party="carol") == TERMS
    assert (caught.value.reason, caught.value.by) == (NOT_ADMITTED, "server")
    (refused,) = events
    assert (refused["event"], refused["total"], refused["reasons"]) == ("connections_refused", 1, {"stranger": 1})


@pytest.mark.parametrize("greeting", [Inquiry(1, "carol"), msgspec.structs.replace(decode(hello("carol")), version=1)])
async def test_a_stranger_of_another_version_hears_no_more(greeting: Message) -> None:
    async with open_unfinished(CertifiedTransport()) as session, await session.connect(OWN["alice"]) as channel:
        await channel.send([encode(greeting)])
        assert await messages_until_the_end(channel) == [Abort(NOT_ADMITTED)]


ANSWERS: dict[str, tuple[bytes, type[PsephosError], str]] = {
    "terms of another version": (
        encode(msgspec.structs.replace(TERMS, version=PROTOCOL_VERSION + 1)),
        RemoteProtocolError,
        f"server speaks version {PROTOCOL_VERSION + 1}, this side {PROTOCOL_VERSION}",
    ),
    "a welcome": (
        encode(welcome()),
        RemoteProtocolError,
        "server answered an inquiry with Welcome",
    ),
    "an inquiry": (inquiry("carol"), RemoteProtocolError, "server answered an inquiry with Inquiry"),
    "garbage": (b"\xc1 garbage", MalformedMessageError, "server sent 9 bytes that are no message"),
    "nothing": (b"", MalformedMessageError, "server sent 0 bytes that are no message"),
    "a refusal": (encode(Abort("not today")), SessionAborted, "server ended the session: not today"),
}


@pytest.mark.parametrize("name", list(ANSWERS))
async def test_an_answer_that_is_no_terms_is_an_error_that_says_what_it_was(transport: Transport, name: str) -> None:
    answer, kind, reason = ANSWERS[name]
    async with open_pair(transport) as (near, far):
        await far.send([answer])
        with pytest.raises(kind) as caught:
            await inquire(near, party="carol")
        assert [decode(payload) for payload in await far.receive()] == [Inquiry(PROTOCOL_VERSION, "carol")]
    error = caught.value
    assert type(error) is kind
    assert str(error).startswith(reason)
    if isinstance(error, RemoteProtocolError):
        assert error.sender == "server"


@pytest.mark.parametrize("which", ["the server's end", "this end"])
async def test_an_inquiry_over_a_connection_that_is_lost_says_so(transport: Transport, which: str) -> None:
    async with open_pair(transport) as (near, far):
        await (far if which == "the server's end" else near).aclose()
        with pytest.raises(SessionAborted, match="the connection was lost before it named its terms"):
            await inquire(near, party="carol")


async def test_frames_that_are_none_are_the_servers_fault() -> None:
    with trio.fail_after(240):
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        async with listener:
            port = listener.socket.getsockname()[1]
            near = await TCPTransport().connect(f"127.0.0.1:{port}")
            async with near, await listener.accept() as far:
                await far.send_all(b"\xff\xff\xff\xff")
                with pytest.raises(RemoteProtocolError):
                    await inquire(near, party="carol")


async def test_a_cancelled_inquiry_leaves_the_channel_open() -> None:
    async with open_pair() as (near, far):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_inquire_as_carol, near)
            await far.receive()
            nursery.cancel_scope.cancel()
        await near.send([b"still here"])
        assert await far.receive() == [b"still here"]


async def _inquire_as_carol(channel: Channel) -> None:
    await inquire(channel, party="carol")


# Inquiries, from the server's side


async def test_an_inquiry_and_a_hello_may_come_at_once(transport: Transport) -> None:
    async with open_unfinished(transport) as session, await session.connect() as carol:
        await carol.send([inquiry("carol"), hello("carol")])
        received: list[Message] = []
        while len(received) < 2:
            received += [decode(payload) for payload in await carol.receive()]
        assert received == [TERMS, welcome()]
        assert session.server.progress == (JOIN, 1, 2)


SECOND_MESSAGES: dict[str, bytes] = {
    "a second inquiry": inquiry("carol"),
    "a report": report(0, 1),
    "garbage": b"\xc1",
    "a hello of a stranger": hello("mallory"),
}


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("name", list(SECOND_MESSAGES))
async def test_what_follows_an_inquiry_is_a_hello_or_refused(
    transport: Transport,
    at_once: bool,  # noqa: FBT001  a parameter of the test
    name: str,
) -> None:
    payload = SECOND_MESSAGES[name]
    async with open_unfinished(transport) as session, await session.connect() as carol:
        if at_once:
            await carol.send([inquiry("carol"), payload])
        else:
            assert await inquire(carol, party="carol") == TERMS
            await carol.send([payload])
        *_, abort = await messages_until_the_end(carol)
        assert abort == Abort(NOT_ADMITTED)
        assert session.server.progress == (JOIN, 0, 3)


async def test_an_inquiry_after_hello_ends_that_party(transport: Transport) -> None:
    async with open_unfinished(transport) as session, await session.connect() as carol:
        await carol.send([hello("carol"), inquiry("carol")])
        *_, abort = await messages_until_the_end(carol)
        assert abort == Abort("carol sent an Inquiry in state 'joined' of phase 'join'")


@pytest.mark.parametrize("make_transport", WITH_LOBBY)
async def test_an_inquiry_and_then_silence_is_closed_after_the_time_for_greeting(
    make_transport: Callable[[], Transport], clock: trio.testing.MockClock
) -> None:
    async with open_unfinished(make_transport()) as session:
        start = trio.current_time()
        async with await session.connect() as carol:
            assert await inquire(carol, party="carol") == TERMS
            assert await messages_until_the_end(carol) == []
        assert trio.current_time() - start == pytest.approx(GREETING_SECONDS, abs=1.0)


async def test_who_asks_and_goes_again_leaves_no_trace(transport: Transport) -> None:
    mode = simulation()
    async with open_session(transport, TWO_OF_THREE, mode=mode) as session:
        for _ in range(3):
            async with await session.connect() as channel:
                await inquire(channel, party="carol")
        assert session.server.progress == (JOIN, 0, 3)
        for name in NAMES:
            session.nursery.start_soon(session.take_part, name, make_client(name, mode))
    assert session.result is not None
    assert session.result.num_received == (3, 3)


async def test_a_party_that_has_joined_may_still_ask_over_another_connection() -> None:
    async with (
        open_unfinished(MemoryTransport()) as session,
        await session.connect() as carol,
        await session.connect() as other,
    ):
        await carol.send([hello("carol")])
        await carol.receive()
        assert await inquire(other, party="carol") == TERMS
        await other.send([hello("carol")])
        assert await messages_until_the_end(other) == [Abort("'carol' has joined before")]
        assert session.server.progress == (JOIN, 1, 2)


# Certificates


async def test_everybody_takes_part_by_a_certificate_and_nobody_by_anothers() -> None:
    log = structlog.get_logger()
    mode = simulation()
    with structlog.testing.capture_logs() as events:
        async with open_session(CertifiedTransport(), TWO_OF_THREE, mode=mode, log=log) as session:
            async with await session.connect(OWN["bob"]) as stranger:
                await stranger.send([hello("alice")])
                assert await messages_until_the_end(stranger) == [Abort(NOT_ADMITTED)]
            for name in NAMES:
                session.nursery.start_soon(session.take_part, name, make_client(name, mode, log=log))
    assert session.result is not None
    assert session.endings == dict.fromkeys(NAMES, session.result.outcome)
    assert {event["event"] for event in events} >= {"connections_refused", "privacy_loss", "phase_closed"}


@pytest.mark.parametrize("fingerprint", ["", OWN["alice"]])
async def test_a_client_without_its_certificate_is_refused_and_charged_nothing(fingerprint: str) -> None:
    mode = simulation()
    carol = make_client("carol", mode)
    async with open_unfinished(CertifiedTransport(), mode=mode) as session:
        with pytest.raises(SessionAborted, match=NOT_ADMITTED):
            await carol.take_part(await session.connect(fingerprint))
    assert not carol.ledger.entries


# Coming back


async def test_a_client_that_is_restarted_before_it_has_reported_takes_part(
    transport: Transport,
) -> None:
    mode = simulation()
    carol = make_client("carol", mode)
    async with (
        open_session(transport, TWO_OF_THREE, mode=mode) as session,
        await session.connect() as bob,
        await session.connect() as first,
    ):
        session.nursery.start_soon(session.take_part, "alice", make_client("alice", mode))
        await bob.send([hello("bob")])
        await first.send([hello("carol")])
        await next_request(first)
        await session.come_to("weights", 1, 2)
        await first.aclose()
        await session.come_to("weights", 1, 1)
        session.nursery.start_soon(session.take_part, "carol", carol)
        await session.come_to("weights", 2, 1)
        await next_request(bob)
        await bob.send([report(0, 1)])
        await next_request(bob)
        await bob.send([report(1, 0, 1)])
        await hear_the_release(bob)
    assert session.result is not None
    assert session.result.num_received == (3, 3)
    assert session.server.has_ended
    assert session.endings == dict.fromkeys(("alice", "carol"), session.result.outcome)
    assert carol.ledger.spent == pytest.approx(3.0)


def deployment() -> Deployment:
    return Deployment("council", SecureNoise())


@pytest.mark.parametrize(
    ("make_mode", "make_transport"),
    [
        (deployment, TCPTransport),
        (deployment, CertifiedTransport),
        (simulation, TCPTransport),
        (simulation, CertifiedTransport),
    ],
)
async def test_a_client_that_is_restarted_after_it_has_reported_is_refused_and_its_first_report_stands(
    make_mode: Callable[[], Mode], make_transport: Callable[[], Transport]
) -> None:
    mode = make_mode()
    before = make_client("carol", mode)
    after = make_client("carol", mode)
    async with (
        open_session(make_transport(), TWO_OF_THREE, mode=mode) as session,
        await session.connect(OWN["bob"]) as bob,
    ):
        session.nursery.start_soon(session.take_part, "alice", make_client("alice", mode))
        scope = await session.nursery.start(session.take_part, "carol", before)
        await bob.send([hello("bob", kind=mode.kind.value)])
        await session.come_to("weights", 2, 1)
        scope.cancel()
        await session.take_part("carol", after)
        assert session.server.progress == ("weights", 2, 1)
        await next_request(bob)
        await bob.send([report(0, 1)])
        await next_request(bob)
        await session.come_to("opinions", 1, 1)
        await bob.send([report(1, 0, 1)])
        await hear_the_release(bob)
    assert session.result is not None
    assert session.result.num_received == (3, 2)
    assert session.result.tallies[0].num_reports == 3
    error = session.endings["carol"]
    assert isinstance(error, SessionAborted)
    assert error.reason == "'carol' has reported; its first report stands, and nothing is drawn again"
    assert before.ledger.spent == pytest.approx(1.0)
    assert after.ledger.entries == ()
    assert after.ledger.spent == 0.0


async def test_a_restarted_client_that_is_refused_has_seen_nothing_but_the_refusal() -> None:
    mode = simulation(record_views=True)
    after = make_client("carol", mode)
    async with open_unfinished(MemoryTransport(), mode=mode) as session, await session.connect() as bob:
        session.nursery.start_soon(session.take_part, "alice", make_client("alice", mode))
        scope = await session.nursery.start(session.take_part, "carol", make_client("carol", mode))
        await bob.send([hello("bob")])
        await session.come_to("weights", 2, 1)
        scope.cancel()
        await session.take_part("carol", after)
    assert after.view is not None
    assert [type(observation.message) for observation in after.view.observations] == [Hello, Abort]
