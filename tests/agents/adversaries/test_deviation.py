"""What stands between a deviating party's agent and the network passes on what it is told to, and loses nothing."""

import contextlib
from collections.abc import AsyncGenerator, Callable

import pytest
import trio
import trio.testing
from deviants import NAMES, TRANSPORTS, meet
from psephos.agents.adversaries import SERVER, DeviatingChannel, Deviation, Passage
from psephos.protocol.messages import NIL, Abort, Message, Request, decode, encode
from psephos.transports import Channel, MemoryTransport, Transport
from psephos.transports.memory import MAX_QUEUED_PAYLOADS

QUESTION = Request(0, NIL)
ANSWER = Abort("because")


class Echo(Deviation):
    """Shows the agent what it sends, and returns to the network what comes."""

    def outgoing(self, peer: str, message: Message) -> Passage:
        return Passage(inward=(message,))

    def incoming(self, peer: str, message: Message) -> Passage:
        return Passage(outward=(message,))


class Impatient(Deviation):
    """Hangs up on what comes, or on what it is to send, after it has passed on something else."""

    def outgoing(self, peer: str, message: Message) -> Passage:
        return Passage(outward=(ANSWER,), hangs_up=True)

    def incoming(self, peer: str, message: Message) -> Passage:
        return Passage(inward=(ANSWER,), outward=(ANSWER,), hangs_up=True)


@contextlib.asynccontextmanager
async def channel_through(deviation: Deviation) -> AsyncGenerator[tuple[DeviatingChannel, Channel]]:
    """Yield an agent's channel that passes through a deviation, and the other end."""
    transport = MemoryTransport()
    with trio.fail_after(240):
        async with await transport.open_listener() as listener:
            near = DeviatingChannel(await transport.connect(listener.address), deviation)
            async with near, await listener.accept() as far:
                yield near, far


@pytest.mark.parametrize("make_transport", TRANSPORTS)
async def test_a_deviation_that_overrides_nothing_changes_nothing(make_transport: Callable[[], Transport]) -> None:
    honest = await meet(make_transport())
    through = await meet(make_transport(), dict.fromkeys([*NAMES, SERVER], Deviation()))
    assert honest.outcome == through.outcome
    assert honest.entries == through.entries
    assert set(through.transcripts.values()) == set(honest.transcripts.values())


async def test_what_is_shown_to_an_agent_ends_its_wait_for_the_network() -> None:
    shown: list[bytes] = []

    async def receive(channel: Channel) -> None:
        shown.extend(await channel.receive())

    async with channel_through(Echo()) as (near, _), trio.open_nursery() as nursery:
        nursery.start_soon(receive, near)
        await trio.testing.wait_all_tasks_blocked()
        await near.send([encode(QUESTION), encode(ANSWER)])
    assert [decode(payload) for payload in shown] == [QUESTION, ANSWER]


async def test_an_answer_to_what_comes_waits_until_the_agent_has_sent() -> None:
    class Answering(Deviation):
        """Answers what comes."""

        def incoming(self, peer: str, message: Message) -> Passage:
            return Passage(inward=(message,), outward=(ANSWER,))

    async with channel_through(Answering()) as (near, far), trio.open_nursery() as nursery:
        nursery.start_soon(near.send, [encode(QUESTION)] * (MAX_QUEUED_PAYLOADS + 1))
        await trio.testing.wait_all_tasks_blocked()
        await far.send([encode(QUESTION)])
        nursery.start_soon(near.receive)
        await trio.testing.wait_all_tasks_blocked()
        arrived: list[bytes] = []
        while len(arrived) < MAX_QUEUED_PAYLOADS + 2:
            arrived += await far.receive()
    assert decode(arrived[-1]) == ANSWER


async def test_after_hanging_up_on_what_comes_the_agent_sees_the_last_words_and_no_more() -> None:
    async with channel_through(Impatient()) as (near, far):
        await far.send([encode(QUESTION), encode(QUESTION)])
        assert [decode(payload) for payload in await near.receive()] == [ANSWER]
        with pytest.raises(trio.ClosedResourceError):
            await near.receive()
        assert [decode(payload) for payload in await far.receive()] == [ANSWER]
        with pytest.raises(trio.EndOfChannel):
            await far.receive()


async def test_hanging_up_on_what_is_sent_sends_what_is_said_instead() -> None:
    async with channel_through(Impatient()) as (near, far):
        await near.send([encode(QUESTION), encode(QUESTION)])
        assert [decode(payload) for payload in await far.receive()] == [ANSWER]
        with pytest.raises(trio.ClosedResourceError):
            await near.send([encode(QUESTION)])


async def test_a_cancelled_receive_loses_nothing() -> None:
    async with channel_through(Deviation()) as (near, far):
        for scope in (trio.CancelScope(), trio.CancelScope()):
            with scope:
                scope.cancel()
                await near.receive()
            assert scope.cancelled_caught
            await far.send([encode(QUESTION)])
        assert [decode(payload) for payload in await near.receive()] == [QUESTION, QUESTION]


async def test_what_waits_to_be_shown_is_shown_after_a_cancelled_receive() -> None:
    async with channel_through(Echo()) as (near, _):
        await near.send([encode(QUESTION)])
        with trio.CancelScope() as scope:
            scope.cancel()
            await near.receive()
        assert scope.cancelled_caught
        assert [decode(payload) for payload in await near.receive()] == [QUESTION]


async def test_bytes_that_are_no_message_are_for_the_agent() -> None:
    async with channel_through(Echo()) as (near, far):
        await far.send([b"\xc1"])
        assert await near.receive() == [b"\xc1"]


async def test_a_channel_through_a_deviation_never_sends_at_once() -> None:
    async with channel_through(Deviation()) as (near, far):
        with pytest.raises(trio.WouldBlock):
            near.send_nowait(encode(QUESTION))
        assert near.peer.startswith("memory")
        near.close()
        with pytest.raises(trio.EndOfChannel):
            await far.receive()
