"""A host's transport: all its parties' channels over one connection (`carrier`)."""

import contextlib
import errno
import math
import os
from collections.abc import Awaitable, Callable
from typing import Final

import trio

from ..protocol.errors import RemoteProtocolError
from .abc import Channel, Listener, Transport
from .carrier import Carrier

_PAUSE_SECONDS: Final = 1.0
"""The seconds between two attempts to connect, however many channels wait."""
_CONNECT_SECONDS: Final = 30.0
"""The seconds after which an attempt to connect fails."""
_UNANSWERED: Final = 256
"""The most channels without an answer. Beyond this others wait, so that the other end answers each one soon."""


class SharedTransport(Transport):
    """All channels to one address over one connection of another transport; a lost connection is made again.

    Args:
        nursery: runs the connection. An error of `before_writing`, or `REFUSAL`, ends it.
        before_writing: as in `Carrier`.
        answer_seconds: a channel that waits for its turn gives up if nothing at all was received for this time.
    """

    def __init__(
        self,
        inner: Transport,
        nursery: trio.Nursery,
        *,
        before_writing: Callable[[], Awaitable[None]] | None = None,
        answer_seconds: float = math.inf,
    ) -> None:
        self.name = inner.name
        self._inner = inner
        self._nursery = nursery
        self._before_writing = before_writing
        self._answer_seconds = answer_seconds
        self._carrier: Carrier | None = None
        self._lock = trio.Lock()
        self._open_attempts = trio.Semaphore(_UNANSWERED)
        self._next_attempt_at = -math.inf

    async def open_listener(self, address: str | None = None) -> Listener:
        return await self._inner.open_listener(address)

    async def connect(self, address: str) -> Channel:
        await self._wait_for_turn(address)
        try:
            async with self._lock:
                if self._carrier is None or self._carrier.failure is not None:
                    self._carrier = await self._make(address)
                return self._carrier.open(self._open_attempts.release)
        except BaseException:
            self._open_attempts.release()
            raise

    async def aclose(self) -> None:
        """Let what was sent leave, and close the connection."""
        if self._carrier is not None:
            await self._carrier.drain()
            await self._carrier.aclose()

    async def _make(self, address: str) -> Carrier:
        await trio.sleep_until(self._next_attempt_at)
        self._next_attempt_at = trio.current_time() + _PAUSE_SECONDS
        with trio.move_on_after(_CONNECT_SECONDS):
            connection = await self._inner.connect(address)
            carrier = Carrier(connection, before_writing=self._before_writing)
            self._nursery.start_soon(self._run, carrier)
            return carrier
        raise _silence_of(address)

    async def _wait_for_turn(self, address: str) -> None:
        while True:
            began = trio.current_time()
            with trio.move_on_after(self._answer_seconds):
                await self._open_attempts.acquire()
                return
            if self._carrier is None or self._carrier.heard_at < began:
                raise _silence_of(address)

    async def _run(self, carrier: Carrier) -> None:
        with contextlib.suppress(RemoteProtocolError):  # every channel raises it
            await carrier.run()


def _silence_of(address: str) -> TimeoutError:
    return TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT), address)
