"""Channels inside one process, without sockets.

Each direction is a queue of at most `MAX_QUEUED_PAYLOADS` payloads. Beyond that senders wait, as with a full socket
buffer.
"""

import collections
import errno
import itertools
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

import trio

from .abc import Channel, Listener, Transport
from .framing import MAX_FRAME_BYTES, check_size, refused_size

MAX_QUEUED_PAYLOADS: Final = 64
"""The most payloads in one direction of one channel."""


class _MemoryChannel(Channel):
    """One end of a channel, with the payloads that have arrived at it.

    Args:
        address: the address of the listener.
        number: the number of the channel, at the listener's end; 0 at the other end.
        other: the other end, if it exists already.

    Attributes:
        arrivals: the queued payloads; None if empty, which saves memory for many channels.
        longest: the size of the longest payload so far.
        receiver: the task that waits for an arrival.
        sender: the task at the other end that waits for space in this queue.
    """

    __slots__ = (
        "_address",
        "_is_receiving",
        "_is_sending",
        "_limit",
        "_number",
        "_watcher",
        "arrivals",
        "is_closed",
        "longest",
        "other",
        "receiver",
        "sender",
    )

    def __init__(self, address: str, number: int = 0, *, other: "_MemoryChannel | None" = None) -> None:
        self._address = address
        self._number = number
        self.arrivals: list[bytes] | None = None
        self.longest = 0
        self.is_closed = False
        self._is_sending = False
        self._is_receiving = False
        self._limit = MAX_FRAME_BYTES
        self.receiver: trio.lowlevel.Task | None = None
        self.sender: trio.lowlevel.Task | None = None
        self._watcher: Callable[[Channel], None] | None = None
        self.other: _MemoryChannel = other or self
        if other is not None:
            other.other = self

    @property
    def peer(self) -> str:
        return f"{self._address}#{self._number}" if self._number else self._address

    def limit_payloads(self, max_payload_bytes: int) -> None:
        self._limit = max_payload_bytes

    def send_nowait(self, payload: bytes) -> None:
        other = self.other
        if self.is_closed or other.is_closed:
            self._check_sending()
        size = len(payload)
        if size > other.longest:
            if size > MAX_FRAME_BYTES:
                check_size(payload)
            other.longest = size
        queued = other.arrivals
        if self._is_sending or (queued is not None and len(queued) >= MAX_QUEUED_PAYLOADS):
            raise trio.WouldBlock
        if queued is None:
            other.arrivals = [payload]
            other.wake_receiver()
        else:
            queued.append(payload)

    async def send(self, payloads: Sequence[bytes]) -> None:
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._is_sending:
            raise trio.BusyResourceError("another task is sending on this channel")
        self._check_sending()
        for payload in payloads:
            check_size(payload)
        self._is_sending = True
        try:
            await self._enqueue(payloads)
        finally:
            self._is_sending = False

    async def receive(self) -> list[bytes]:
        if self._is_receiving:
            raise trio.BusyResourceError("another task is receiving on this channel")
        self._is_receiving = True
        self._watcher = None
        try:
            if self.arrivals or self.is_closed or self.other.is_closed:
                await trio.lowlevel.checkpoint()
            while (payloads := self._take()) is None:
                self.receiver = trio.lowlevel.current_task()
                await trio.lowlevel.wait_task_rescheduled(self._forget_receiver)
            return payloads
        finally:
            self._is_receiving = False

    def receive_nowait(self) -> list[bytes]:
        if (payloads := self._take()) is None:
            raise trio.WouldBlock
        return payloads

    def watch(self, note: Callable[[Channel], None]) -> bool:
        self._watcher = note
        if self.arrivals or self.is_closed or self.other.is_closed:
            note(self)
        return True

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            self.arrivals = None
            for end in (self, self.other):
                end.wake_receiver()
                if end.sender is not None:
                    end.wake_sender()
            if self.other.is_closed:  # both are closed: drop the references to each other
                self.other.other = self.other = _NOBODY

    def _take(self) -> list[bytes] | None:
        """Return the payloads that have arrived; None if there are none."""
        if self.is_closed:
            raise trio.ClosedResourceError("this end of the channel is closed")
        if payloads := self.arrivals:
            if self._limit < self.longest and (payloads_below := self._take_below_limit(payloads)):
                return payloads_below
            self.arrivals = None
            if self.sender is not None:
                self.wake_sender()
            return payloads
        if self.other.is_closed:
            raise trio.EndOfChannel
        return None

    def _take_below_limit(self, queued: list[bytes]) -> list[bytes]:
        """Return the payloads before the first one above the limit; nothing after it is received.

        Raises:
            MalformedMessageError: the first payload is above the limit.
        """
        for place, payload in enumerate(queued):
            if len(payload) > self._limit:
                if not place:
                    raise refused_size(len(payload), limit=self._limit)
                self.arrivals = queued[place:]
                self.wake_receiver()  # notify a watcher of the remaining payloads
                return queued[:place]
        return []

    async def _enqueue(self, payloads: Sequence[bytes]) -> None:
        other = self.other
        waited = False
        for payload in payloads:
            while len(other.arrivals or ()) >= MAX_QUEUED_PAYLOADS:
                await other.wait_for_room()
                waited = True
                self._check_sending()
            other.arrivals = other.arrivals or []
            other.arrivals.append(payload)
            other.longest = max(other.longest, len(payload))
            other.wake_receiver()
        if not waited:
            await trio.lowlevel.cancel_shielded_checkpoint()

    async def wait_for_room(self) -> None:
        """Let the other end's sender wait."""
        self.sender = trio.lowlevel.current_task()

        def abort(_: trio.lowlevel.RaiseCancelT) -> trio.lowlevel.Abort:
            self.sender = None
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(abort)

    def _forget_receiver(self, _: trio.lowlevel.RaiseCancelT) -> trio.lowlevel.Abort:
        """Let a receiver go that is cancelled."""
        self.receiver = None
        return trio.lowlevel.Abort.SUCCEEDED

    def wake_receiver(self) -> None:
        """Tell whoever waits that something has come where nothing was, or that nothing more will."""
        if (task := self.receiver) is not None:
            self.receiver = None
            trio.lowlevel.reschedule(task)
        elif self._watcher is not None:
            self._watcher(self)

    def wake_sender(self) -> None:
        if (task := self.sender) is not None:
            self.sender = None
            trio.lowlevel.reschedule(task)

    def _check_sending(self) -> None:
        if self.is_closed:
            raise trio.ClosedResourceError("this end of the channel is closed")
        if self.other.is_closed:
            raise trio.BrokenResourceError("the other end of the channel is closed")


_NOBODY: Final = _MemoryChannel("")
"""The `other` of ends that are both closed."""
_NOBODY.is_closed = True


class _MemoryListener(Listener):
    def __init__(self, transport: "MemoryTransport", address: str) -> None:
        self._transport = transport
        self._address = address
        self._incoming: collections.deque[_MemoryChannel] = collections.deque()
        self._waiting: collections.deque[trio.lowlevel.Task] = collections.deque()
        self._is_closed = False

    @property
    def address(self) -> str:
        return self._address

    async def accept(self) -> Channel:
        if self._incoming or self._is_closed:  # otherwise waiting is the checkpoint
            await trio.lowlevel.checkpoint()
        while not self._is_closed:
            if self._incoming:
                return self._incoming.popleft()
            task = trio.lowlevel.current_task()

            def abort(_: trio.lowlevel.RaiseCancelT, task: trio.lowlevel.Task = task) -> trio.lowlevel.Abort:
                self._waiting.remove(task)
                return trio.lowlevel.Abort.SUCCEEDED

            self._waiting.append(task)
            await trio.lowlevel.wait_task_rescheduled(abort)
        raise trio.ClosedResourceError("the listener is closed")

    def accept_nowait(self) -> Channel | None:
        return self._incoming.popleft() if self._incoming else None

    def offer(self, channel: _MemoryChannel) -> None:
        self._incoming.append(channel)
        if self._waiting:
            trio.lowlevel.reschedule(self._waiting.popleft())

    async def aclose(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._transport.forget(self._address)
            while self._waiting:
                trio.lowlevel.reschedule(self._waiting.popleft())
            while self._incoming:
                self._incoming.popleft().close()
        await trio.lowlevel.checkpoint()


class MemoryTransport(Transport):
    """Channels inside one process and one trio run; addresses are names.

    Each instance is a separate network: it reaches only listeners that it opened.

    Examples:
        >>> async def main():
        ...     transport = MemoryTransport()
        ...     async with await transport.open_listener("here") as listener:
        ...         near = await transport.connect("here")
        ...         await near.send([b"hello"])
        ...         return await (await listener.accept()).receive()
        >>> trio.run(main)
        [b'hello']
    """

    name: ClassVar[str] = "memory"  # pyright: ignore[reportIncompatibleVariableOverride]  a constant of the class
    joins_processes: ClassVar[bool] = False

    def __init__(self) -> None:
        self._listeners: dict[str, _MemoryListener] = {}
        self._numbers = itertools.count(1)

    async def open_listener(self, address: str | None = None) -> Listener:
        await trio.lowlevel.checkpoint()
        name = f"memory-{next(self._numbers)}" if address is None else address
        if name in self._listeners:
            raise OSError(errno.EADDRINUSE, f"the address {name!r} is taken")
        listener = self._listeners[name] = _MemoryListener(self, name)
        return listener

    async def connect(self, address: str) -> Channel:
        await trio.lowlevel.checkpoint()
        if address not in self._listeners:
            raise ConnectionRefusedError(errno.ECONNREFUSED, f"nobody listens at {address!r}")
        listener = self._listeners[address]
        channel = _MemoryChannel(listener.address)
        listener.offer(_MemoryChannel(listener.address, next(self._numbers), other=channel))
        return channel

    def forget(self, address: str) -> None:
        """Take a closed listener's name off the network; called by the listener."""
        self._listeners.pop(address, None)
