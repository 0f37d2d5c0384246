"""Taking part over connections that may be lost: a party returns, and continues if it has a journal.

Each attempt is a new connection and a new client from the same journal, so returning within a process works like
returning after its restart. Pauses between attempts grow, and are random, so that the parties of a restarted server do
not all return at once.
"""

import math
import secrets
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
import trio

from ..protocol.errors import ConnectionLostError
from ..transports.abc import Channel
from .client import Client

_FIRST_PAUSE_SECONDS: Final = 0.2
_LONGEST_PAUSE_SECONDS: Final = 10.0


def _draw() -> float:
    """Return a number in [0, 1)."""
    return secrets.randbits(32) / (1 << 32)


class RetryPolicy:
    """A policy for repeated attempts, with growing pauses.

    Args:
        seconds: the time limit since the beginning, or since the last renewal; may be infinite.
        on_loss: called before each pause with the error of the connection.
        draw: returns a number in [0, 1) for each pause; it is not used for noise.
    """

    def __init__(
        self, seconds: float, *, on_loss: Callable[[Exception], None] | None = None, draw: Callable[[], float] = _draw
    ) -> None:
        self._on_loss = on_loss
        self._draw = draw
        self.renew(seconds)

    def renew(self, seconds: float) -> None:
        """Begin anew, as all is well."""
        self._gives_up = trio.current_time() + seconds
        self._pause = _FIRST_PAUSE_SECONDS

    async def wait(self, error: Exception) -> None:
        """Wait before another attempt.

        Raises:
            Exception: `error`, if the time limit is reached.
        """
        seconds = self._pause * (1 + self._draw()) / 2
        if trio.current_time() + seconds > self._gives_up:
            raise error
        if self._on_loss is not None:
            self._on_loss(error)
        await trio.sleep(seconds)
        self._pause = min(2 * self._pause, _LONGEST_PAUSE_SECONDS)


async def take_part_durably(
    make_client: Callable[[], Client],
    connect: Callable[[], Awaitable[Channel]],
    *,
    channel: Channel | None = None,
    patience_seconds: float,
    has_journal: bool = True,
    on_loss: Callable[[Exception], None] | None = None,
    draw: Callable[[], float] = _draw,
) -> tuple[Client, msgspec.Struct]:
    """Take part in one session, and return whenever the connection is lost.

    Args:
        make_client: makes a client from the current state of the party's journal.
        connect: opens a channel to the server.
        channel: the first connection, if it exists; without it the server may be unavailable at first.
        patience_seconds: the time limit for attempts since the server last welcomed the party; may be infinite.
        has_journal: whether the clients are made from a journal. Without one, the party returns only before the server
            has welcomed it, since it might draw again, and only while the server is available.
        on_loss, draw: as in `RetryPolicy`.

    Returns:
        The client that received the release, and the outcome; at once if the journal has the release.

    Raises:
        ConnectionLostError, OSError: the last loss, at the time limit.
        Exception: as `Client.take_part` and `connect`.
    """
    patience = RetryPolicy(patience_seconds, on_loss=on_loss, draw=draw)
    loss: Exception | None = None
    while True:
        try:
            client = make_client()
            if (outcome := client.recorded_outcome) is not None:
                return client, outcome
            if channel is None:
                channel = await connect()
            try:
                return client, await client.take_part(channel)
            finally:
                if client.was_welcomed:
                    patience.renew(patience_seconds if has_journal else -math.inf)
        except (ConnectionLostError, OSError) as error:
            if loss is not None and channel is None and not has_journal:
                raise loss from None  # the server is gone
            await patience.wait(error)
            loss = None if channel is None else error  # before the first connection, the server may not have started
        channel = None
