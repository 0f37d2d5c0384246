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

__all__ = ["take_part_durably"]

_FIRST_PAUSE_SECONDS: Final = 0.2
_LONGEST_PAUSE_SECONDS: Final = 10.0


def _draw() -> float:
    """Return a number in [0, 1)."""
    return secrets.randbits(32) / (1 << 32)


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
        connect: connects to the server.
        channel: the first connection, where there is one; without it the server may be away at first.
        patience_seconds: how long to go on trying since the server last welcomed the party; infinite for ever.
        has_journal: whether the clients are made from a journal. Without one the party comes back only until the server
            has welcomed it, since it might draw again, and while there is a server.
        on_loss: told why a connection was lost, or could not be made, before each pause.
        draw: a number in [0, 1) for each pause; not part of any noise.

    Returns:
        The client that heard the release, and the outcome; from the journal at once where it is there.

    Raises:
        ConnectionLostError, OSError: the last loss, once patience ends.
        Exception: as `Client.take_part` and `connect`.
    """
    gives_up = trio.current_time() + patience_seconds
    pause = _FIRST_PAUSE_SECONDS
    loss: Exception | None = None
    while True:
        try:
            client = make_client()
            if (heard := client.heard) is not None:
                return client, heard
            if channel is None:
                channel = await connect()
            try:
                return client, await client.take_part(channel)
            finally:
                if client.was_welcomed:
                    gives_up = trio.current_time() + patience_seconds if has_journal else -math.inf
                    pause = _FIRST_PAUSE_SECONDS
        except (ConnectionLostError, OSError) as error:
            if loss is not None and channel is None and not has_journal:
                raise loss from None  # there is no server to come back to
            seconds = pause * (1 + draw()) / 2
            if trio.current_time() + seconds > gives_up:
                raise
            if on_loss is not None:
                on_loss(error)
            loss = error
        channel = None
        await trio.sleep(seconds)
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
