"""Mail: channels on which something has arrived, so that one task can read all of them."""

import trio

from ..transports.abc import Channel


class Mail:
    """What many channels have, as each says (`Channel.watch`), for a single reader."""

    __slots__ = ("_arrived", "_reader")

    def __init__(self) -> None:
        self._arrived: list[Channel] = []
        self._reader = trio.lowlevel.ParkingLot()

    def note(self, channel: Channel) -> None:
        """Take note that there is something to receive on a channel."""
        if not self._arrived:
            self._reader.unpark()
        self._arrived += (channel,)

    async def wait(self) -> list[Channel]:
        """Return the channels that have something, in the order in which it came; wait for the first of them.

        Cancelled, it forgets none.
        """
        if self._arrived:
            await trio.lowlevel.checkpoint()
        else:
            await self._reader.park()
        arrived, self._arrived = self._arrived, []
        return arrived
