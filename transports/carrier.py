"""Carriers: many channels over one connection, for a host of many parties.

No channel blocks another one. A channel has at most `WINDOW_BYTES` plus one payload in transit; beyond that its sender
must wait. An end that breaks the rules loses only its connection.

The connection begins with `GREETING` from the end that opens channels. Then come headers: a kind, the channel's number,
and an amount. Channels are numbered 1, 2, 3, …, and no number is used twice. A header of kind `_PAYLOAD` is followed by
its payload. Two kinds belong to no channel: `_ASK`, which the other end answers, and `REFUSAL`, after which the
connection ends.
"""

import collections
import copy
import math
from collections.abc import Awaitable, Callable, Sequence
from struct import Struct
from typing import Final

import trio

from ..protocol.errors import ConfigurationError, MalformedMessageError, RemoteProtocolError
from .abc import Channel, Listener
from .framing import MAX_FRAME_BYTES, check_size, refused_size

GREETING: Final = b"\xc1psephos carrier 1"
"""The first payload of a carrier's connection. No message begins like this, since MessagePack never uses byte 0xc1."""
WINDOW_BYTES: Final = 1 << 16
"""The most bytes of a channel that one end may send before the other takes them; the last payload may exceed it."""
_OF_PAYLOAD: Final = 64
"""The bytes that a payload counts in addition to its length, so that the number of empty payloads is bounded."""
_MOST_QUEUED: Final = 1 << 22
"""The bytes of payloads that may wait for the connection; beyond this all senders wait."""
_MOST_OWED: Final = 1 << 10
"""The headers without payloads that may wait for the connection, in addition to two for each channel. More show that
the other end does not read."""
_HEADER: Final = Struct(">BII")
_OPEN, _PAYLOAD, _TAKEN, _CLOSE, _ASK, _ANSWER, _REFUSE = range(7)
REFUSAL: Final = _HEADER.pack(_REFUSE, 0, 0)
"""The reply to a peer whose key another connected process already uses."""


class CarriedChannel(Channel):
    """One end of a channel over a carrier, made by `Carrier.open` and `Carrier.accept`."""

    __slots__ = (
        "_carrier",
        "_failure",
        "_is_closed",
        "_is_receiving",
        "_is_sending",
        "_limit",
        "_news",
        "_num_underway",
        "_num_unread",
        "_num_untold",
        "_number",
        "_on_heard",
        "_payloads",
        "_room",
        "is_ended",
    )

    def __init__(self, carrier: "Carrier", number: int, on_heard: Callable[[], None] | None = None) -> None:
        self._carrier = carrier
        self._number = number
        self._on_heard = on_heard
        self._limit = MAX_FRAME_BYTES
        self._payloads: list[bytes] = []
        self._failure: Exception | None = None  # raised after the last payload: the end of the channel, or an error
        self._is_closed = self._is_receiving = self._is_sending = False
        self.is_ended = False  # by the other end
        self._num_unread = 0  # bytes received, minus bytes reported to the other end as taken
        self._num_untold = 0  # bytes taken, but not yet reported
        self._num_underway = 0  # bytes sent, minus bytes that the other end has reported as taken
        self._news: trio.Event | None = None
        self._room: trio.Event | None = None

    @property
    def peer(self) -> str:
        return self._carrier.connection.peer

    @property
    def peer_fingerprint(self) -> str:
        return self._carrier.connection.peer_fingerprint

    @property
    def connection(self) -> Channel:
        """The connection that carries this channel, and others."""
        return self._carrier.connection

    def limit_payloads(self, max_payload_bytes: int) -> None:
        self._limit = max_payload_bytes

    async def send(self, payloads: Sequence[bytes]) -> None:
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._is_sending:
            raise trio.BusyResourceError("another task is sending on this channel")
        self._check_sending()
        for payload in payloads:
            check_size(payload)
        self._is_sending = True
        try:
            for payload in payloads:
                while not self._has_room:
                    await self._wait_for_room()
                    self._check_sending()
                self._put(payload)
            await trio.lowlevel.cancel_shielded_checkpoint()
        finally:
            self._is_sending = False

    def send_nowait(self, payload: bytes) -> None:
        self._check_sending()
        check_size(payload)
        if self._is_sending or not self._has_room:
            raise trio.WouldBlock
        self._put(payload)

    async def receive(self) -> list[bytes]:
        if self._is_receiving:
            raise trio.BusyResourceError("another task is receiving on this channel")
        self._is_receiving = True
        try:
            await trio.lowlevel.checkpoint()
            while not self._payloads or self._is_closed:
                if self._is_closed:
                    raise trio.ClosedResourceError("this end of the channel is closed")
                if self._failure is not None:
                    raise copy.copy(self._failure)
                self._news = trio.Event()
                await self._news.wait()
            payloads, self._payloads = self._payloads, []
            self._num_untold += sum(map(_cost_of, payloads))
            if self._num_untold * 2 >= WINDOW_BYTES and self._failure is None:
                self._carrier.tell(_TAKEN, self._number, self._num_untold)
                self._num_unread, self._num_untold = self._num_unread - self._num_untold, 0
            return payloads
        finally:
            self._is_receiving = False

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._note_heard()
            self._payloads.clear()
            self._wake()
            self._carrier.leave(self._number, self)

    @property
    def is_over(self) -> bool:
        """Whether neither end speaks of it any more."""
        return self._is_closed and self.is_ended

    def deliver(self, payload: bytes) -> None:
        """Take a payload that has arrived.

        Raises:
            MalformedMessageError: the other end had to wait, but did not.
        """
        if self._num_unread >= WINDOW_BYTES:
            raise MalformedMessageError(f"channel {self._number} has more than {WINDOW_BYTES} bytes on the way")
        self._num_unread += _cost_of(payload)
        self._note_heard()
        if self._is_closed or self._failure is not None:
            return
        if len(payload) > self._limit:
            self._failure = refused_size(len(payload), limit=self._limit)
        else:
            self._payloads.append(payload)
        self._wake_reader()

    def note_taken(self, amount: int) -> None:
        """Take note of the bytes that the other end has taken.

        Raises:
            MalformedMessageError: the amount exceeds the bytes in transit.
        """
        if not 0 < amount <= self._num_underway:
            raise MalformedMessageError(f"channel {self._number} had {self._num_underway} bytes to take, not {amount}")
        self._num_underway -= amount
        if self._room is not None:
            self._room.set()

    def end(self, failure: Exception) -> None:
        """Take note that nothing more comes, and why."""
        self._failure = self._failure or failure
        self._wake()

    @property
    def _has_room(self) -> bool:
        return self._num_underway < WINDOW_BYTES and not self._carrier.is_full

    async def _wait_for_room(self) -> None:
        if self._carrier.is_full:
            await self._carrier.wait_for_room()
        else:
            self._room = trio.Event()
            await self._room.wait()

    def _put(self, payload: bytes) -> None:
        self._num_underway += _cost_of(payload)
        self._carrier.put(self._number, payload)

    def _check_sending(self) -> None:
        if self._is_closed:
            raise trio.ClosedResourceError("this end of the channel is closed")
        if self._failure is not None:
            raise trio.BrokenResourceError("the other end is closed, or the connection broken") from self._failure

    def _note_heard(self) -> None:
        if self._on_heard is not None:
            self._on_heard()
            self._on_heard = None

    def _wake(self) -> None:
        self._wake_reader()
        if self._room is not None:
            self._room.set()

    def _wake_reader(self) -> None:
        if self._news is not None:
            self._news.set()
            self._news = None


class Carrier(Listener):
    """Channels over one connection. `run` must run as long as any of them is used.

    Args:
        connection: a new channel, or one on which `GREETING` was received; closed with the carrier.
        most: the most channels that the other end may have open at a time; 0 on the end that opens channels.
        before_writing: awaited before payloads are sent, for example to make the records behind them durable.
        early_payloads: payloads of the connection that were already received.

    Attributes:
        failure: why the carrier ended; None before.
        heard_at: the time at which the last payload arrived, by trio's clock.
    """

    def __init__(
        self,
        connection: Channel,
        *,
        most: int = 0,
        before_writing: Callable[[], Awaitable[None]] | None = None,
        early_payloads: Sequence[bytes] = (),
    ) -> None:
        self.connection = connection
        self.failure: Exception | None = None
        self.heard_at = -math.inf
        self._most = most
        self._before_writing = before_writing
        self._early_payloads = early_payloads
        self._channels: dict[int, CarriedChannel] = {}  # channels that either end may still refer to
        self._last = 0
        self._num_open = 0
        self._addressee: CarriedChannel | None = None  # the channel of the next payload; None if a header is next
        self._arrivals: collections.deque[CarriedChannel] = collections.deque()
        self._queue = [] if most else [GREETING]
        self._num_queued = 0
        self._num_owed = 0
        self._news, self._arrival, self._room, self._idle, self._answer = (trio.lowlevel.ParkingLot() for _ in range(5))
        self._is_writing = False
        self._error: Exception | None = None

    @property
    def address(self) -> str:
        """The address of the other end; nobody connects there."""
        return self.connection.peer

    @property
    def is_full(self) -> bool:
        """Whether senders have to wait until the connection has taken what there is."""
        return self._num_queued >= _MOST_QUEUED

    def open(self, on_heard: Callable[[], None] | None = None) -> CarriedChannel:
        """Open a channel.

        Args:
            on_heard: called once, when the first payload arrives or the channel is closed here.

        Raises:
            trio.BrokenResourceError: the connection has ended.
        """
        if self.failure is not None:
            raise trio.BrokenResourceError("the connection is broken") from self.failure
        self._last += 1
        channel = self._channels[self._last] = CarriedChannel(self, self._last, on_heard)
        self.tell(_OPEN, self._last)
        return channel

    async def accept(self) -> Channel:
        await trio.lowlevel.checkpoint()
        while not self._arrivals:
            if self.failure is not None:
                raise trio.ClosedResourceError("the connection has ended")
            await self._arrival.park()
        self._arrival.unpark()
        return self._arrivals.popleft()

    async def run(self) -> None:
        """Carry payloads until the connection ends or the call is cancelled; then end all channels.

        Raises:
            RemoteProtocolError: the other end broke the rules, or is not the expected party.
            ConfigurationError: another process uses the same key. The channels are not ended then, so that their users
                fail with this error instead.
            Exception: as `before_writing`; the payloads after it were not sent.
        """
        failure: Exception = trio.BrokenResourceError("the connection is broken")
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._write)
                try:
                    for payload in self._early_payloads:
                        self._take(payload)
                    while True:
                        payloads = await self.connection.receive()
                        self.heard_at = trio.current_time()
                        for payload in payloads:
                            self._take(payload)
                        while len(self._arrivals) > self._most:  # opened and closed, not yet accepted
                            await self._arrival.park()
                except (trio.EndOfChannel, trio.BrokenResourceError, trio.ClosedResourceError):
                    pass
                except (RemoteProtocolError, ConfigurationError) as error:
                    failure = error
                nursery.cancel_scope.cancel()
        finally:
            self.connection.close()
            self.failure = self._error or failure
            for channel in () if isinstance(failure, ConfigurationError) else self._channels.values():
                channel.end(self.failure)
            for lot in (self._arrival, self._room, self._idle, self._answer):
                lot.unpark_all()
        if self._error is not None or isinstance(failure, (RemoteProtocolError, ConfigurationError)):
            raise self.failure

    async def drain(self) -> None:
        """Wait until everything that was sent has left, or the connection has ended."""
        await trio.lowlevel.checkpoint()
        while self.failure is None and (self._queue or self._is_writing):
            await self._idle.park()

    async def answers(self, seconds: float) -> bool:
        """Ask whether the other end is there, and return whether it answers within so many seconds."""
        with trio.move_on_after(seconds):
            if self.failure is None:
                self.tell(_ASK, 0)
                await self._answer.park()
            return self.failure is None
        return False

    async def aclose(self) -> None:
        self.connection.close()
        await trio.lowlevel.checkpoint()

    def put(self, number: int, payload: bytes) -> None:
        """Let a payload leave in its turn."""
        self._num_queued += _cost_of(payload)
        self._queue += (_HEADER.pack(_PAYLOAD, number, 0), payload)
        self._news.unpark()

    def tell(self, kind: int, number: int, amount: int = 0) -> None:
        """Let a header leave that no payload follows."""
        if self.failure is None:
            self._queue.append(_HEADER.pack(kind, number, amount))
            self._num_owed += 1
            self._news.unpark()
            if self._num_owed > _MOST_OWED + 2 * (self._most or self._last):
                self.connection.close()  # the other end does not read the answers to its requests

    def leave(self, number: int, channel: CarriedChannel) -> None:
        """Take note that this end has closed a channel."""
        self.tell(_CLOSE, number)
        if channel.is_over:
            self._channels.pop(number, None)

    async def wait_for_room(self) -> None:
        """Wait until the connection has taken what there is."""
        await self._room.park()

    async def _write(self) -> None:
        try:
            while True:
                while self._queue:
                    self._is_writing = True
                    queue, self._queue = self._queue, []
                    self._num_queued = self._num_owed = 0
                    if self._before_writing is not None:
                        await self._before_writing()
                    await self.connection.send(queue)
                    self._room.unpark_all()
                self._is_writing = False
                self._idle.unpark_all()
                await self._news.park()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # the reader will notice
        except Exception as error:  # noqa: BLE001  raised by `run`, to which all of this belongs
            self._error = error
            self.connection.close()

    def _take(self, payload: bytes) -> None:
        """Take one payload of the connection.

        Raises:
            MalformedMessageError: it breaks the rules.
            ConfigurationError: it is `REFUSAL`, and this end opens channels.
        """
        if self._addressee is not None:
            channel, self._addressee = self._addressee, None
            channel.deliver(payload)
            return
        if len(payload) != _HEADER.size:
            raise MalformedMessageError(f"a carrier's header has {_HEADER.size} bytes, not {len(payload)}")
        kind, number, amount = _HEADER.unpack(payload)
        if kind == _OPEN:
            self._admit(number)
            return
        if kind == _ASK:
            self.tell(_ANSWER, 0)
            return
        if kind == _ANSWER:
            self._answer.unpark_all()
            return
        if kind == _REFUSE and not self._most:
            allowed = "one with which no other process takes part in this session: end that one first, or let it go on"
            raise ConfigurationError(field="the host's key", value="in use", allowed=allowed)
        channel = self._channels.get(number)
        if channel is None or channel.is_ended or kind > _CLOSE:
            raise MalformedMessageError(f"channel {number} is not open")
        if kind == _PAYLOAD:
            self._addressee = channel
        elif kind == _TAKEN:
            channel.note_taken(amount)
        else:
            self._num_open -= 1
            channel.is_ended = True
            channel.end(trio.EndOfChannel())
            if channel.is_over:
                del self._channels[number]

    def _admit(self, number: int) -> None:
        if number != self._last + 1 or self._num_open >= self._most:
            reason = (
                f"channel {number} cannot be opened behind {self._last}, with {self._num_open} of {self._most} open"
            )
            raise MalformedMessageError(reason)
        self._last, self._num_open = number, self._num_open + 1
        channel = self._channels[number] = CarriedChannel(self, number)
        self._arrivals.append(channel)
        self._arrival.unpark()


def _cost_of(payload: bytes) -> int:
    return len(payload) + _OF_PAYLOAD
