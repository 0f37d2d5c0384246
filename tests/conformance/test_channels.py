"""Every transport keeps the contract of `psephos.transports.abc`, and the suite that says so notices planted faults.

A conformance suite that passes everything proves nothing. So each promise of it is broken here on purpose, by a
transport that is right in all other respects, and the suite must name that promise.
"""

# ruff: noqa: ARG001, D101  a clock acts by being asked for; a planted fault is described by its name

import contextlib
import zlib
from collections.abc import Callable, Sequence

import pytest
import trio
from psephos.transports import Channel, Listener, MemoryTransport, TCPTransport, TLSTransport, Transport
from psephos.transports.testing import PROMISES, check_transport
from psephos.transports.web import WebTransport
from thoroughness import draws

LIMIT = 1 << 12
FLOOD_BYTES = 1 << 16
SOCKETS = draws(1 << 23, full=1 << 25)
"""Twice what Linux buffers as it comes, and eight times."""


@pytest.mark.parametrize(
    ("make_transport", "flood_bytes"),
    [(MemoryTransport, 1 << 19), (TCPTransport, SOCKETS), (TLSTransport, SOCKETS), (WebTransport, SOCKETS)],
)
async def test_transport_keeps_the_contract(make_transport: Callable[[], Transport], flood_bytes: int) -> None:
    await check_transport(make_transport, flood_bytes=flood_bytes)


class PlainChannel(Channel):
    """A memory channel with a smaller limit; planted faults override one method."""

    def __init__(self, inner: Channel) -> None:
        self.inner = inner

    @property
    def peer(self) -> str:
        return self.inner.peer

    async def send(self, payloads: Sequence[bytes]) -> None:
        for payload in payloads:
            self.check_size(payload)
        await self.inner.send(payloads)

    def send_nowait(self, payload: bytes) -> None:
        self.check_size(payload)
        self.inner.send_nowait(payload)

    def limit_payloads(self, max_payload_bytes: int) -> None:
        self.inner.limit_payloads(max_payload_bytes)

    async def receive(self) -> list[bytes]:
        return await self.inner.receive()

    def close(self) -> None:
        self.inner.close()

    async def aclose(self) -> None:
        await self.inner.aclose()

    def check_size(self, payload: bytes) -> None:
        if len(payload) > LIMIT:
            raise ValueError


class PlainListener(Listener):
    """A memory listener that wraps its channels; planted faults override one method."""

    def __init__(self, inner: Listener, channel_type: type[PlainChannel]) -> None:
        self.inner = inner
        self.channel_type = channel_type

    @property
    def address(self) -> str:
        return self.inner.address

    async def accept(self) -> Channel:
        return self.channel_type(await self.inner.accept())

    async def aclose(self) -> None:
        await self.inner.aclose()


class PlainTransport(Transport):
    """A memory transport whose channels and listeners may be faulty."""

    name = "plain"
    channel_type: type[PlainChannel] = PlainChannel
    listener_type: type[PlainListener] = PlainListener

    def __init__(self) -> None:
        self.inner: Transport = MemoryTransport()

    async def open_listener(self, address: str | None = None) -> Listener:
        return self.listener_type(await self.inner.open_listener(address), self.channel_type)

    async def connect(self, address: str) -> Channel:
        return self.channel_type(await self.inner.connect(address))


# Faults of channels, in the order of the promises that they break.


class Loses(PlainChannel):
    async def receive(self) -> list[bytes]:
        payloads = await super().receive()
        kept = [payload for payload in payloads if not payload.startswith(b"payload 13 ")]
        return kept or await super().receive()


class Duplicates(PlainChannel):
    async def send(self, payloads: Sequence[bytes]) -> None:
        again = [payload for payload in payloads if payload.startswith(b"payload 499 ")]
        await super().send([*payloads, *again])


class Reorders(PlainChannel):
    async def receive(self) -> list[bytes]:
        return (await super().receive())[::-1]


class Truncates(PlainChannel):
    async def send(self, payloads: Sequence[bytes]) -> None:
        await super().send([payload[:100] for payload in payloads])


class JoinsWhatIsReady(PlainChannel):
    async def receive(self) -> list[bytes]:
        return [b"".join(await super().receive())]


class ReturnsNothing(PlainChannel):
    async def receive(self) -> list[bytes]:
        with trio.move_on_after(0):
            return await super().receive()
        return []


class SkipsEmptyPayloads(PlainChannel):
    async def send(self, payloads: Sequence[bytes]) -> None:
        await super().send([payload for payload in payloads if payload])


class CountsInTooFewBits(PlainChannel):
    async def send(self, payloads: Sequence[bytes]) -> None:
        await super().send([payload[: LIMIT - 1] for payload in payloads])


class HidesOversize(PlainChannel):
    def check_size(self, payload: bytes) -> None:
        pass


class CutsOversize(PlainChannel):
    async def send(self, payloads: Sequence[bytes]) -> None:
        await super().send([payload[:LIMIT] for payload in payloads])


class SendsWhatComesBeforeOversize(PlainChannel):
    async def send(self, payloads: Sequence[bytes]) -> None:
        sizes = [len(payload) for payload in payloads]
        if len(payloads) > 1 and max(sizes) > LIMIT:
            await super().send(payloads[:1])
        await super().send(payloads)


class KnowsNoLimits(PlainChannel):
    def limit_payloads(self, max_payload_bytes: int) -> None:
        pass


class KeepsItsFirstLimit(PlainChannel):
    def limit_payloads(self, max_payload_bytes: int) -> None:
        if max_payload_bytes < LIMIT:
            super().limit_payloads(max_payload_bytes)


class NeverMakesAnybodyWait(PlainChannel):
    """Queues whatever comes."""

    async def send(self, payloads: Sequence[bytes]) -> None:
        await super().send([])
        for payload in payloads:
            self.check_size(payload)
        other = getattr(self.inner, "other")  # noqa: B009  a fault may reach inside
        other.arrivals = [*(other.arrivals or ()), *payloads]
        other.longest = max(map(len, payloads), default=other.longest)
        other.wake_receiver()


class TakesTurns(PlainChannel):
    """Receives only while it is not sending."""

    def __init__(self, inner: Channel) -> None:
        super().__init__(inner)
        self.turns = trio.Lock()

    async def send(self, payloads: Sequence[bytes]) -> None:
        if len(payloads) != 8:
            await super().send(payloads)
            return
        async with self.turns:
            await super().send(payloads)

    async def receive(self) -> list[bytes]:
        async with self.turns:
            pass
        return await super().receive()


class Overtakes(PlainChannel):
    """Has no WouldBlock: it sends out of turn."""

    def __init__(self, inner: Channel) -> None:
        super().__init__(inner)
        self.late: list[bytes] = []

    def send_nowait(self, payload: bytes) -> None:
        try:
            super().send_nowait(payload)
        except trio.WouldBlock:
            self.late.append(payload)


class SendsAndSaysWouldBlock(PlainChannel):
    def send_nowait(self, payload: bytes) -> None:
        super().send_nowait(payload)
        raise trio.WouldBlock


class NeverEnds(PlainChannel):
    async def receive(self) -> list[bytes]:
        try:
            return await super().receive()
        except trio.EndOfChannel:
            await trio.sleep_forever()
            raise


class EndsOnce(PlainChannel):
    has_ended = False

    async def receive(self) -> list[bytes]:
        if self.has_ended:
            raise trio.BrokenResourceError
        try:
            return await super().receive()
        except trio.EndOfChannel:
            self.has_ended = True
            raise


class BreaksInsteadOfEnding(PlainChannel):
    async def receive(self) -> list[bytes]:
        try:
            return await super().receive()
        except trio.EndOfChannel:
            raise trio.BrokenResourceError from None


class TakesItsPayloadsAlong(PlainChannel):
    """Throws away what is unread when it closes, as a socket does that is reset, if its last send was a large one."""

    last_size = 0

    async def send(self, payloads: Sequence[bytes]) -> None:
        self.last_size = len(payloads)
        await super().send(payloads)

    async def aclose(self) -> None:
        if self.last_size == 50:
            getattr(self.inner, "other").arrivals = None  # noqa: B009  a fault may reach inside
        await super().aclose()


class NeverBreaks(PlainChannel):
    async def send(self, payloads: Sequence[bytes]) -> None:
        with contextlib.suppress(trio.BrokenResourceError):
            await super().send(payloads)


class NoticesNoCloseWhileSending(PlainChannel):
    async def send(self, payloads: Sequence[bytes]) -> None:
        try:
            await super().send(payloads)
        except trio.BrokenResourceError:
            if len(payloads) == 1:
                raise


class SendsIntoItsOwnClose(PlainChannel):
    async def send(self, payloads: Sequence[bytes]) -> None:
        with contextlib.suppress(trio.ClosedResourceError):
            await super().send(payloads)


class EndsAtItsOwnClose(PlainChannel):
    async def receive(self) -> list[bytes]:
        try:
            return await super().receive()
        except trio.ClosedResourceError:
            raise trio.EndOfChannel from None


class SleepsThroughItsOwnClose(PlainChannel):
    is_closed = False

    async def receive(self) -> list[bytes]:
        was_closed = self.is_closed
        try:
            return await super().receive()
        except trio.ClosedResourceError:
            if not was_closed:
                await trio.sleep_forever()
            raise

    async def aclose(self) -> None:
        self.is_closed = True
        await super().aclose()


class BlamesTheOtherForItsOwnClose(PlainChannel):
    async def send(self, payloads: Sequence[bytes]) -> None:
        try:
            await super().send(payloads)
        except trio.ClosedResourceError:
            if len(payloads) > 1:
                raise trio.BrokenResourceError from None
            raise


class LetsTwoReceive(PlainChannel):
    def __init__(self, inner: Channel) -> None:
        super().__init__(inner)
        self.turns = trio.Lock()

    async def receive(self) -> list[bytes]:
        async with self.turns:
            return await super().receive()


class LetsTwoSend(PlainChannel):
    def __init__(self, inner: Channel) -> None:
        super().__init__(inner)
        self.turns = trio.Lock()

    async def send(self, payloads: Sequence[bytes]) -> None:
        async with self.turns:
            await super().send(payloads)


class SwallowsCancelled(PlainChannel):
    async def receive(self) -> list[bytes]:
        try:
            return await super().receive()
        except trio.Cancelled:
            return []


class LosesWhenCancelled(PlainChannel):
    async def receive(self) -> list[bytes]:
        payloads = await super().receive()
        await trio.lowlevel.checkpoint()
        return payloads


class ClosesOnce(PlainChannel):
    is_closed = False

    async def aclose(self) -> None:
        if self.is_closed:
            raise trio.ClosedResourceError
        self.is_closed = True
        await super().aclose()


class ClosesLater(PlainChannel):
    """Leaves it to `aclose` to close."""

    def close(self) -> None:
        pass


class ClosesPolitely(PlainChannel):
    """Waits before it closes, and so does not close where it is cancelled."""

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()
        await super().aclose()


class SendsWithoutCheckpoint(PlainChannel):
    async def send(self, payloads: Sequence[bytes]) -> None:
        if len(payloads) != 1:
            await super().send(payloads)
            return
        try:
            self.send_nowait(payloads[0])
        except trio.WouldBlock:
            await super().send(payloads)


class HasNoName(PlainChannel):
    @property
    def peer(self) -> str:
        return ""


# Faults of listeners.


class Mixes(PlainListener):
    """Hands out the same channel twice."""

    def __init__(self, inner: Listener, channel_type: type[PlainChannel]) -> None:
        super().__init__(inner, channel_type)
        self.accepted: list[Channel] = []

    async def accept(self) -> Channel:
        channel = await super().accept()
        self.accepted.append(channel)
        return self.accepted[0] if len(self.accepted) == 2 else channel


class LosesAChannelWhenCancelled(PlainListener):
    async def accept(self) -> Channel:
        channel = await super().accept()
        await trio.lowlevel.checkpoint()
        return channel


class WaitsAfterItsClose(PlainListener):
    async def accept(self) -> Channel:
        try:
            return await super().accept()
        except trio.ClosedResourceError:
            await trio.sleep_forever()
            raise


class AcceptsWithoutCheckpoint(PlainListener):
    async def accept(self) -> Channel:
        incoming = getattr(self.inner, "_incoming")  # noqa: B009  a fault may reach inside
        return self.channel_type(incoming.popleft()) if incoming else await super().accept()


class ForgetsWhoWaits(PlainListener):
    """Does not end the channels that nobody has accepted."""

    async def aclose(self) -> None:
        getattr(self.inner, "_incoming").clear()  # noqa: B009  a fault may reach inside
        await super().aclose()


class TakesItsChannelsAlong(PlainListener):
    def __init__(self, inner: Listener, channel_type: type[PlainChannel]) -> None:
        super().__init__(inner, channel_type)
        self.accepted: list[Channel] = []

    async def accept(self) -> Channel:
        channel = await super().accept()
        self.accepted.append(channel)
        return channel

    async def aclose(self) -> None:
        with trio.CancelScope(shield=True):
            for channel in self.accepted:
                await channel.aclose()
        await super().aclose()


# Faults of transports.


class ConnectsToNobody(PlainTransport):
    async def connect(self, address: str) -> Channel:
        try:
            return await super().connect(address)
        except OSError:
            async with await self.inner.open_listener() as nobody:
                return PlainChannel(await self.inner.connect(nobody.address))


class SharesAddresses(PlainTransport):
    async def open_listener(self, address: str | None = None) -> Listener:
        try:
            return await super().open_listener(address)
        except OSError:
            return await super().open_listener()


class CompressesReports(PlainChannel):
    async def send(self, payloads: Sequence[bytes]) -> None:
        await super().send([zlib.compress(each) if len(each) == 123 else each for each in payloads])

    async def receive(self) -> list[bytes]:
        payloads = await super().receive()
        return [zlib.decompress(each) if each.startswith(b"\x78\x9c") else each for each in payloads]


class Compresses(PlainTransport):
    """Compresses what is on the wire, as browsers offer to."""

    channel_type = CompressesReports
    is_over_tcp = True

    def __init__(self) -> None:
        self.inner = TCPTransport()


FAULTS: dict[type[object], str] = {
    Loses: "in order",
    Duplicates: "in order",
    Reorders: "in order",
    Truncates: "in order",
    JoinsWhatIsReady: "in order",
    ReturnsNothing: "in order",
    SkipsEmptyPayloads: "An empty payload",
    CountsInTooFewBits: "greatest size",
    HidesOversize: "above the limit is refused",
    CutsOversize: "above the limit is refused",
    SendsWhatComesBeforeOversize: "above the limit is refused",
    KnowsNoLimits: "a limit of the receiver's own",
    KeepsItsFirstLimit: "A limit that is lifted",
    NeverMakesAnybodyWait: "bounded amount",
    TakesTurns: "in both directions",
    Overtakes: "send_nowait",
    SendsAndSaysWouldBlock: "send_nowait",
    NeverEnds: "in order",
    EndsOnce: "EndOfChannel follows",
    BreaksInsteadOfEnding: "in order",
    TakesItsPayloadsAlong: "received after it",
    NeverBreaks: "Sending to an end that has closed",
    NoticesNoCloseWhileSending: "A send that waits raises BrokenResourceError",
    SendsIntoItsOwnClose: "After its own close",
    EndsAtItsOwnClose: "After its own close",
    SleepsThroughItsOwnClose: "A receive that waits raises ClosedResourceError",
    BlamesTheOtherForItsOwnClose: "A send that waits raises ClosedResourceError",
    LetsTwoReceive: "in receive gets BusyResourceError",
    LetsTwoSend: "in send gets BusyResourceError",
    SwallowsCancelled: "A cancelled receive",
    LosesWhenCancelled: "A cancelled receive",
    ClosesOnce: "Closing twice",
    ClosesLater: "Closing without waiting",
    ClosesPolitely: "Closing twice",
    SendsWithoutCheckpoint: "Every call on a channel",
    Mixes: "one channel for each connection",
    HasNoName: "one channel for each connection",
    LosesAChannelWhenCancelled: "A cancelled accept",
    WaitsAfterItsClose: "A closed listener",
    ConnectsToNobody: "A closed listener",
    ForgetsWhoWaits: "Closing a listener",
    TakesItsChannelsAlong: "Closing a listener",
    SharesAddresses: "that is taken",
    AcceptsWithoutCheckpoint: "are checkpoints",
}
FAULTS_OF_SOCKETS: dict[type[Transport], str] = {Compresses: "has one size"}


def transport_with(fault: type[object]) -> Callable[[], Transport]:
    if issubclass(fault, PlainTransport):
        return fault

    def make() -> PlainTransport:
        transport = PlainTransport()
        if issubclass(fault, PlainChannel):
            transport.channel_type = fault
        if issubclass(fault, PlainListener):
            transport.listener_type = fault
        return transport

    return make


async def check(make_transport: Callable[[], Transport]) -> None:
    """Run the suite with the small sizes of these transports."""
    await check_transport(make_transport, max_payload_bytes=LIMIT, flood_bytes=FLOOD_BYTES, patience_seconds=10.0)


async def test_the_transport_of_the_planted_faults_is_right_without_them(
    autojump_clock: trio.testing.MockClock,
) -> None:
    await check(PlainTransport)


@pytest.mark.parametrize(("fault", "promise"), list(FAULTS.items()))
async def test_planted_fault_is_caught_by_the_promise_that_it_breaks(
    fault: type[object], promise: str, autojump_clock: trio.testing.MockClock
) -> None:
    with pytest.raises(AssertionError) as caught:
        await check(transport_with(fault))
    assert promise in str(caught.value).partition("Broken:")[0]


@pytest.mark.parametrize(("fault", "promise"), list(FAULTS_OF_SOCKETS.items()))
async def test_planted_fault_of_sockets_is_caught_by_the_promise_that_it_breaks(
    fault: type[Transport], promise: str
) -> None:
    with pytest.raises(AssertionError) as caught:
        await check_transport(fault, max_payload_bytes=LIMIT, flood_bytes=SOCKETS)
    assert promise in str(caught.value).partition("Broken:")[0]


def test_every_promise_has_a_fault_that_breaks_it() -> None:
    broken = [*FAULTS.values(), *FAULTS_OF_SOCKETS.values()]
    unbroken = [promise for promise in PROMISES if not any(words in promise for words in broken)]
    assert not unbroken
