"""Channels inside one process: the same contract, no sockets.

A direction is a queue of payloads that holds at most `MAX_QUEUED_PAYLOADS`; senders wait beyond that, as they would
behind a full socket buffer.
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
"""In one direction of one channel."""


class _Direction:
    """One direction of a channel: a bounded queue between one sender and one receiver.

    Attributes:
        payloads: what is queued; None for nothing, since most directions of many channels are empty.
        longest: of all payloads so far.
        watcher: called with the channel that receives, as something arrives where nothing was, or as the channel ends.
    """

    __slots__ = (
        "is_receiver_closed",
        "is_sender_closed",
        "longest",
        "payloads",
        "receiver",
        "sender",
        "watched",
        "watcher",
    )

    def __init__(self) -> None:
        self.payloads: list[bytes] | None = None
        self.longest = 0
        self.is_sender_closed = False
        self.is_receiver_closed = False
        self.sender: trio.lowlevel.Task | None = None
        self.receiver: trio.lowlevel.Task | None = None
        self.watcher: Callable[[Channel], None] | None = None
        self.watched: Channel | None = None

    def wake_receiver(self) -> None:
        """Tell whoever waits that something has come where nothing was, or that nothing more will."""
        if (task := self.receiver) is not None:
            self.receiver = None
            trio.lowlevel.reschedule(task)
        elif self.watcher is not None and self.watched is not None:
            self.watcher(self.watched)

    def wake_sender(self) -> None:
        if self.sender is not None:
            task, self.sender = self.sender, None
            trio.lowlevel.reschedule(task)

    def forget_receiver(self, _: trio.lowlevel.RaiseCancelT) -> trio.lowlevel.Abort:
        """Let a receiver go that is cancelled."""
        self.receiver = None
        return trio.lowlevel.Abort.SUCCEEDED

    async def wait_for_room(self) -> None:
        self.sender = trio.lowlevel.current_task()

        def abort(_: trio.lowlevel.RaiseCancelT) -> trio.lowlevel.Abort:
            self.sender = None
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(abort)


class _MemoryChannel(Channel):
    """One end: sends into one direction, receives from the other."""

    __slots__ = ("_inbound", "_is_closed", "_is_receiving", "_is_sending", "_limit", "_outbound", "_peer")

    def __init__(self, *, outbound: _Direction, inbound: _Direction, peer: str) -> None:
        self._outbound = outbound
        self._inbound = inbound
        self._peer = peer
        self._is_closed = False
        self._is_sending = False
        self._is_receiving = False
        self._limit = MAX_FRAME_BYTES

    @property
    def peer(self) -> str:
        return self._peer

    def limit_payloads(self, max_payload_bytes: int) -> None:
        self._limit = max_payload_bytes

    def send_nowait(self, payload: bytes) -> None:
        outbound = self._outbound
        if self._is_closed or outbound.is_receiver_closed:
            self._check_sending()
        size = len(payload)
        if size > outbound.longest:
            if size > MAX_FRAME_BYTES:
                check_size(payload)
            outbound.longest = size
        queued = outbound.payloads
        if self._is_sending or (queued is not None and len(queued) >= MAX_QUEUED_PAYLOADS):
            raise trio.WouldBlock
        if queued is None:
            outbound.payloads = [payload]
            outbound.wake_receiver()
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
        inbound = self._inbound
        if self._is_receiving:
            raise trio.BusyResourceError("another task is receiving on this channel")
        self._is_receiving = True
        inbound.watcher = None
        try:
            if inbound.payloads or inbound.is_sender_closed or self._is_closed:
                await trio.lowlevel.checkpoint()
            while (payloads := self._take()) is None:
                inbound.receiver = trio.lowlevel.current_task()
                await trio.lowlevel.wait_task_rescheduled(inbound.forget_receiver)
            return payloads
        finally:
            self._is_receiving = False

    def receive_nowait(self) -> list[bytes]:
        if (payloads := self._take()) is None:
            raise trio.WouldBlock
        return payloads

    def watch(self, note: Callable[[Channel], None]) -> bool:
        inbound = self._inbound
        inbound.watcher, inbound.watched = note, self
        if inbound.payloads or inbound.is_sender_closed or self._is_closed:
            note(self)
        return True

    def _take(self) -> list[bytes] | None:
        """Return what has arrived; None where that is nothing."""
        inbound = self._inbound
        if self._is_closed:
            raise trio.ClosedResourceError("this end of the channel is closed")
        if payloads := inbound.payloads:
            if self._limit < inbound.longest and (below := self._below_limit(payloads)):
                return below
            inbound.payloads = None
            if inbound.sender is not None:
                inbound.wake_sender()
            return payloads
        if inbound.is_sender_closed:
            raise trio.EndOfChannel
        return None

    def _below_limit(self, queued: list[bytes]) -> list[bytes]:
        """Return what has arrived before a payload above the limit, if there is one; nothing that follows is received.

        Raises:
            MalformedMessageError: it comes first.
        """
        for place, payload in enumerate(queued):
            if len(payload) > self._limit:
                if not place:
                    raise refused_size(len(payload), limit=self._limit)
                self._inbound.payloads = queued[place:]
                self._inbound.wake_receiver()  # whoever watches: there is something left
                return queued[:place]
        return []

    async def _enqueue(self, payloads: Sequence[bytes]) -> None:
        outbound = self._outbound
        waited = False
        for payload in payloads:
            while len(outbound.payloads or ()) >= MAX_QUEUED_PAYLOADS:
                await outbound.wait_for_room()
                waited = True
                self._check_sending()
            outbound.payloads = outbound.payloads or []
            outbound.payloads.append(payload)
            outbound.longest = max(outbound.longest, len(payload))
            outbound.wake_receiver()
        if not waited:
            await trio.lowlevel.cancel_shielded_checkpoint()

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._outbound.is_sender_closed = True
            self._inbound.is_receiver_closed = True
            self._inbound.payloads = None
            for direction in (self._outbound, self._inbound):
                direction.wake_receiver()
                if direction.sender is not None:
                    direction.wake_sender()
            self._inbound.watcher = self._inbound.watched = None

    def _check_sending(self) -> None:
        if self._is_closed:
            raise trio.ClosedResourceError("this end of the channel is closed")
        if self._outbound.is_receiver_closed:
            raise trio.BrokenResourceError("the other end of the channel is closed")


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
        if self._incoming or self._is_closed:  # else waiting is the checkpoint
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

    Each instance is a network of its own: only listeners that it opened can be reached through it.
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
        up, down = _Direction(), _Direction()
        number = next(self._numbers)
        listener.offer(_MemoryChannel(outbound=down, inbound=up, peer=f"{address}#{number}"))
        return _MemoryChannel(outbound=up, inbound=down, peer=address)

    def forget(self, address: str) -> None:
        """Take a closed listener's name off the network; called by the listener."""
        self._listeners.pop(address, None)
