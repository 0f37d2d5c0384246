"""Queues of messages to single peers, so that a slow reader never stalls the vote."""

from collections.abc import Sequence
from typing import Final

import trio

from ..transports.abc import Channel
from ..transports.carrier import CarriedChannel

MAX_QUEUED_MESSAGES: Final = 256
"""The most queued messages. A session sends each peer few messages, so a peer with this many does not read at all."""


class OutboxFullError(Exception):
    """The peer does not read: its row ends."""


class Outbox:
    """A bounded queue in front of one channel, with a writer task as soon as a message has to wait.

    Args:
        channel: the channel to the peer; the outbox closes it.
        nursery: runs the writer. Without one there is no writer, and the caller of `put` must call `flush`; this suits
            a party with a single peer, which has nothing else to do while that peer does not read.

    Attributes:
        waiting: the queued payloads.
        has_writer: whether a message has had to wait; otherwise there is nothing to drain.
        is_replaced: whether another channel to the peer exists by now.
        is_carried: whether the channel is one of many over a host's connection.
    """

    __slots__ = (
        "_channel",
        "_idle",
        "_is_broken",
        "_is_closing",
        "_nursery",
        "_writer",
        "has_writer",
        "is_carried",
        "is_replaced",
        "waiting",
    )

    def __init__(self, channel: Channel, nursery: trio.Nursery | None) -> None:
        self._channel = channel
        self._nursery = nursery
        self.waiting: Sequence[bytes] = ()
        self.is_replaced = False
        self.is_carried = type(channel) is CarriedChannel
        self.has_writer = False
        self._is_broken = False
        self._is_closing = False
        self._idle: trio.Event | None = None
        self._writer: trio.lowlevel.ParkingLot | None = None

    def put(self, payload: bytes) -> None:
        """Send a payload at once if that needs no waiting; otherwise queue it.

        A broken or closing outbox discards payloads: the peer is gone, which its reader reports.

        Raises:
            OutboxFullError: `MAX_QUEUED_MESSAGES` are waiting.
        """
        if self._is_broken or self._is_closing:
            return
        if not self.has_writer and not self.waiting:
            try:
                self._channel.send_nowait(payload)
            except trio.WouldBlock:
                self.waiting = (payload,)
                if self._nursery is not None:
                    self.has_writer = True
                    self._nursery.start_soon(self._write)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                self._is_broken = True
            return
        if len(self.waiting) >= MAX_QUEUED_MESSAGES:
            raise OutboxFullError
        self.waiting = (*self.waiting, payload)
        if self._writer is not None:
            self._writer.unpark()

    async def flush(self) -> None:
        """Send the queue in this task, for an outbox without a nursery. Close the channel if this is cancelled."""
        try:
            while self.waiting:
                payloads, self.waiting = self.waiting, ()
                await self._channel.send(payloads)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self._is_broken = True

    async def drain(self) -> None:
        """Wait until everything that was put has been sent, or the channel is broken."""
        if self.has_writer and not self._is_broken and not self._is_parked:
            if self._idle is None:
                self._idle = trio.Event()
            await self._idle.wait()

    async def drain_and_close(self) -> None:
        """Send the queue, then close the channel and end the writer. If it is cancelled, it closes at once."""
        self._is_closing = True
        try:
            await self.drain()
        finally:
            if self._writer is not None:
                self._writer.unpark()
            await self._channel.aclose()

    @property
    def _is_parked(self) -> bool:
        return self._writer is not None and len(self._writer) > 0

    async def _write(self) -> None:
        self._writer = trio.lowlevel.ParkingLot()
        try:
            while True:
                while self.waiting:
                    payloads, self.waiting = self.waiting, ()
                    await self._channel.send(payloads)
                self._say_idle()
                if self._is_closing:
                    return
                await self._writer.park()
        except Exception:  # noqa: BLE001, S110  whatever a connection breaks by, it is gone; its reader will say so
            pass
        finally:
            self._is_broken = True
            self._say_idle()

    def _say_idle(self) -> None:
        if self._idle is not None:
            self._idle.set()
            self._idle = None
