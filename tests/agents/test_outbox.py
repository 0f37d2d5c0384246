"""The outbox: bounded, coalescing, and never a task that waits for what does not come."""

import contextlib
from collections.abc import AsyncGenerator, Sequence

import pytest
import trio
import trio.testing
from psephos.agents.outbox import MAX_QUEUED_MESSAGES, Outbox, OutboxFullError
from psephos.transports import Channel


class Gate(Channel):
    """A channel that records what is sent, and sends only while its gate is open."""

    def __init__(self, *, is_open: bool = True, has_nowait: bool = False) -> None:
        self.gate = trio.Event()
        self.batches: list[list[bytes]] = []
        self.num_sending = 0
        self.has_nowait = has_nowait
        self.is_broken = False
        self.is_closed = False
        if is_open:
            self.gate.set()

    @property
    def peer(self) -> str:
        return "gate"

    @property
    def sent(self) -> list[bytes]:
        return [payload for batch in self.batches for payload in batch]

    async def send(self, payloads: Sequence[bytes]) -> None:
        assert payloads
        assert not self.num_sending, "two tasks send"
        self.num_sending += 1
        try:
            await trio.lowlevel.checkpoint()
            await self.gate.wait()
        finally:
            self.num_sending -= 1
        self._check()
        self.batches.append(list(payloads))

    def send_nowait(self, payload: bytes) -> None:
        self._check()
        if not self.has_nowait:
            raise trio.WouldBlock
        self.batches.append([payload])

    def limit_payloads(self, max_payload_bytes: int) -> None:
        raise AssertionError(max_payload_bytes)  # an outbox receives nothing

    async def receive(self) -> list[bytes]:
        await trio.sleep_forever()
        raise AssertionError

    def close(self) -> None:
        self.is_closed = True
        self.gate.set()

    def break_off(self) -> None:
        """Let the network fail."""
        self.is_broken = True
        self.gate.set()

    def _check(self) -> None:
        if self.is_closed:
            raise trio.ClosedResourceError
        if self.is_broken:
            raise trio.BrokenResourceError


@contextlib.asynccontextmanager
async def outbox_to(channel: Gate, *payloads: bytes) -> AsyncGenerator[tuple[Outbox, trio.Nursery]]:
    """Yield an outbox into which these were put, and its nursery, which ends with the writer."""
    with trio.fail_after(240):
        async with trio.open_nursery() as nursery:
            outbox = Outbox(channel, nursery)
            for payload in payloads:
                outbox.put(payload)
            yield outbox, nursery


async def test_what_need_not_wait_is_sent_at_once_and_without_a_task() -> None:
    channel = Gate(has_nowait=True)
    async with outbox_to(channel, b"a", b"b") as (outbox, nursery):
        assert channel.batches == [[b"a"], [b"b"]]
        assert not nursery.child_tasks
        await outbox.drain()


async def test_messages_that_are_ready_together_leave_in_one_send() -> None:
    channel = Gate()
    async with outbox_to(channel, b"a", b"b", b"c") as (outbox, _):
        await outbox.drain()
        assert channel.batches == [[b"a", b"b", b"c"]]
        await outbox.drain_and_close()


async def test_messages_that_come_while_another_is_sent_leave_together_and_in_order() -> None:
    channel = Gate(is_open=False)
    async with outbox_to(channel, b"a") as (outbox, _):
        await trio.testing.wait_all_tasks_blocked()
        for payload in (b"b", b"c", b"d"):
            outbox.put(payload)
        channel.gate.set()
        await outbox.drain_and_close()
    assert channel.batches == [[b"a"], [b"b", b"c", b"d"]]


async def test_a_writer_that_waits_is_woken_by_the_next_message() -> None:
    channel = Gate()
    async with outbox_to(channel) as (outbox, _):
        for payload in (b"a", b"b", b"c"):
            outbox.put(payload)
            await trio.testing.wait_all_tasks_blocked()
        assert channel.batches == [[b"a"], [b"b"], [b"c"]]
        await outbox.drain_and_close()


async def test_the_outbox_holds_so_many_messages_and_then_says_that_it_is_full() -> None:
    channel = Gate(is_open=False)
    payloads = [b"%d" % number for number in range(MAX_QUEUED_MESSAGES)]
    async with outbox_to(channel, b"in flight") as (outbox, _):
        await trio.testing.wait_all_tasks_blocked()
        for payload in payloads:
            outbox.put(payload)
        with pytest.raises(OutboxFullError):
            outbox.put(b"too many")
        channel.gate.set()
        await outbox.drain()
        outbox.put(b"room again")
        await outbox.drain_and_close()
    assert channel.sent == [b"in flight", *payloads, b"room again"]


async def test_drain_returns_at_once_where_nothing_waits() -> None:
    async with outbox_to(Gate()) as (outbox, _):
        await outbox.drain()
        outbox.put(b"a")
        for _ in range(2):
            await outbox.drain()
            await trio.testing.wait_all_tasks_blocked()
        await outbox.drain_and_close()


async def test_drain_waits_for_the_message_that_is_being_sent_and_for_those_put_meanwhile() -> None:
    channel = Gate(is_open=False)
    drained: list[int] = []
    async with outbox_to(channel, b"a") as (outbox, nursery):

        async def drain() -> None:
            await outbox.drain()
            drained.append(len(channel.sent))

        await trio.testing.wait_all_tasks_blocked()  # "a" is in flight, and the queue is empty
        nursery.start_soon(drain)
        nursery.start_soon(drain)
        await trio.testing.wait_all_tasks_blocked()
        outbox.put(b"b")
        assert not drained
        channel.gate.set()
        await trio.testing.wait_all_tasks_blocked()
        assert drained == [2, 2]
        await outbox.drain_and_close()


@pytest.mark.parametrize("num_before", [0, 1, 2])
@pytest.mark.parametrize("num_behind", [0, 1, 2])
async def test_drain_and_close_sends_everything_and_leaves_no_task(num_before: int, num_behind: int) -> None:
    channel = Gate()
    payloads = [b"%d" % number for number in range(num_before + num_behind)]
    async with outbox_to(channel, *payloads[:num_before]) as (outbox, _):
        await trio.testing.wait_all_tasks_blocked()
        for payload in payloads[num_before:]:
            outbox.put(payload)
        await outbox.drain_and_close()
    assert channel.sent == payloads
    assert channel.is_closed


async def test_what_is_put_after_closing_has_begun_is_thrown_away() -> None:
    channel = Gate(is_open=False)
    async with outbox_to(channel, b"a") as (outbox, nursery):
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(outbox.drain_and_close)
        await trio.testing.wait_all_tasks_blocked()
        outbox.put(b"too late")
        channel.gate.set()
    outbox.put(b"far too late")
    assert channel.sent == [b"a"]


async def test_a_cancelled_drain_and_close_closes_at_once_and_leaves_no_task() -> None:
    channel = Gate(is_open=False)
    async with outbox_to(channel, b"a") as (outbox, _):
        await trio.testing.wait_all_tasks_blocked()
        with trio.CancelScope() as scope:
            scope.cancel()
            await outbox.drain_and_close()
        assert channel.is_closed
    assert not channel.sent


@pytest.mark.parametrize("is_parked", [True, False])
async def test_a_channel_that_breaks_ends_the_writer_and_every_wait(*, is_parked: bool) -> None:
    channel = Gate(is_open=is_parked)
    async with outbox_to(channel, b"a") as (outbox, nursery):
        await trio.testing.wait_all_tasks_blocked()
        if not is_parked:
            nursery.start_soon(outbox.drain)
            await trio.testing.wait_all_tasks_blocked()
        channel.break_off()
        outbox.put(b"b")
        await outbox.drain()
        for _ in range(2 * MAX_QUEUED_MESSAGES):
            outbox.put(b"thrown away")
        await outbox.drain()
        await outbox.drain_and_close()
    assert channel.sent == ([b"a"] if is_parked else [])


@pytest.mark.parametrize("is_closed", [True, False])
async def test_a_channel_that_is_gone_before_the_first_message_needs_no_task(*, is_closed: bool) -> None:
    channel = Gate(has_nowait=True)
    channel.is_closed, channel.is_broken = is_closed, not is_closed
    async with outbox_to(channel, b"a", b"b") as (outbox, nursery):
        assert not nursery.child_tasks
        await outbox.drain()
    assert not channel.sent


async def test_a_cancelled_writer_ends_whoever_waits_for_it() -> None:
    with trio.fail_after(240):
        async with trio.open_nursery() as outer, outbox_to(Gate(is_open=False), b"a") as (outbox, inner):
            outer.start_soon(outbox.drain)
            await trio.testing.wait_all_tasks_blocked()
            inner.cancel_scope.cancel()


async def test_two_that_close_wait_for_the_same_messages() -> None:
    channel = Gate()
    async with outbox_to(channel, b"a") as (outbox, nursery):
        nursery.start_soon(outbox.drain_and_close)
        nursery.start_soon(outbox.drain_and_close)
    assert channel.sent == [b"a"]
