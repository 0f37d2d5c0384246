"""Taking part over connections that may be lost: a party comes back, and one with a journal goes on.

Each try is another connection and another client, made from the same journal, so that coming back within a process and
after a restart of it is one path. Pauses between tries grow, and are drawn at random, so that the parties of a server
that restarts do not come back all at once.
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
    """How long somebody goes on trying, with pauses that grow.

    Args:
        seconds: how long, since the beginning or since it was last renewed; infinite for ever.
        on_loss: told why a connection was lost, or could not be made, before each pause.
        draw: a number in [0, 1) for each pause; not part of any noise.
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
        """Wait before another try.

        Raises:
            Exception: the error, where that would be too late.
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
    """Take part in one session, and come back whenever the connection is lost.

    Args:
        make_client: makes a client from the party's journal as it is now.
        channel: the first connection, where there is one; without it the server may be away at first.
        patience_seconds: how long to go on trying since the server last welcomed the party; infinite for ever.
        has_journal: whether the clients are made from a journal. Without one the party comes back only until the server
            has welcomed it, since it might draw again, and while there is a server.
        on_loss, draw: as `RetryPolicy` has them.

    Returns:
        The client that heard the release, and the outcome; from the journal at once where it is there.

    Raises:
        ConnectionLostError, OSError: the last loss, once patience ends.
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
                raise loss from None  # there is no server to come back to
            await patience.wait(error)
            loss = None if channel is None else error  # until there was a server, it may be yet to come
        channel = None
