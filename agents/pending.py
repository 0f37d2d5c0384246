"""Connections without a Hello: few, for a short time, and the oldest is closed for a new one.

Anybody who reaches a server's address can connect. A connection without a Hello gets minimal resources: frames of at
most `MAX_GREETING_BYTES`, `GREETING_SECONDS` of time, and one of a bounded number of places, in all and per address. If
all places are taken, a new connection replaces the oldest, since an honest party sends its Hello at once. A connection
that has sent an Inquiry for a party, authenticated if the roster requires it, has a place reserved for that party.
Refusals are counted by reason; nothing else is stored.
"""

import collections
import dataclasses
import ipaddress
from collections.abc import Callable, Mapping
from typing import Final, Self

import msgspec
import trio

from ..protocol.messages import MAX_GREETING_BYTES
from ..transports.abc import Channel

GREETING_SECONDS: Final = 10.0
"""The seconds within which a connection must send a Hello; an honest client sends it in its first frame."""

REASONS: Final[Mapping[str, str]] = {
    "stranger": "it is no party's",
    "malformed": "no greeting",
    "silent": "it said none in time",
    "evicted": "there were too many without one",
    "party": "a party's, of another session or kind, too late or for the second time",
    "failed": "whatever else went wrong",
}
"""The reasons for which a connection is refused, in addition to those of a failed handshake."""

_MIN_PLACES: Final = 512
_MIN_PLACES_OF_ADDRESS: Final = 256
_IPV6_NETWORK_BITS: Final = 64
"""The bits of the network part of an IPv6 address. One machine may have all addresses of a network."""


@dataclasses.dataclass(frozen=True)
class Places:
    """The numbers of connections that may be without a Hello at a time.

    Args:
        in_all: for all addresses together.
        of_address: for one address, or one IPv6 network.

    Examples:
        >>> Places.make_for_roster(1_000)
        Places(in_all=2000, of_address=1000)
    """

    in_all: int
    of_address: int

    @classmethod
    def make_for_roster(cls, num_parties: int, *, most: int | None = None) -> Self:
        """Return places for a whole roster that connects at once from one address, and as many for other connections.

        Args:
            num_parties: the number of parties on the roster.
            most: the number that the system allows in all; None if unknown.
        """
        of_address = max(_MIN_PLACES_OF_ADDRESS, num_parties)
        in_all = max(_MIN_PLACES, 2 * num_parties)
        in_all = in_all if most is None else min(in_all, most)
        return cls(in_all, min(of_address, in_all))


class UnlimitedPlaces(msgspec.Struct, frozen=True):
    """Unlimited places, for sessions whose parties all run in this process, so that nobody else can connect.

    With these, a phase's deadline passes as soon as all parties have answered or left. In other sessions this would
    reveal a private participation.

    Examples:
        >>> UnlimitedPlaces()
        UnlimitedPlaces()
    """


@dataclasses.dataclass(slots=True)
class _Stay:
    """How long a connection has been here, from where, and whose it is as far as anybody knows."""

    address: str
    since: float
    party: str = ""


class PendingConnections:
    """The connections without a Hello.

    Args:
        places: the numbers of connections; with `UnlimitedPlaces`, any number for any time.
        tell: called with `refused` for the first refusal of a reason, and whenever the number is ten times as large. So
            a storm of connections cannot fill a log.

    Attributes:
        refused: the number of refused connections, by reason.
    """

    def __init__(self, places: Places | UnlimitedPlaces, *, tell: Callable[[Mapping[str, int]], None]) -> None:
        self._places = None if isinstance(places, UnlimitedPlaces) else places
        self._tell = tell
        self._strangers: dict[Channel, _Stay] = {}  # oldest first, like all of these
        self._of_address: dict[str, dict[Channel, None]] = {}
        self._stays: dict[Channel, _Stay] = {}
        self._parties: set[str] = set()
        self._has_come = trio.Event()
        self.refused: collections.Counter[str] = collections.Counter()

    def __len__(self) -> int:
        return len(self._strangers) + len(self._stays)

    def enter(self, channel: Channel) -> None:
        """Let a connection wait; one that has waited longest goes for it, where it must."""
        channel.limit_payloads(MAX_GREETING_BYTES)
        if self._places is None:
            return
        address = _network_of(channel.peer)
        self._strangers[channel] = _Stay(address, trio.current_time())
        self._has_come.set()
        same = self._of_address.setdefault(address, {})
        same[channel] = None
        if len(same) > self._places.of_address:
            self._close(next(iter(same)), "evicted")
        if len(self._strangers) > self._places.in_all:
            self._close(next(iter(self._strangers)), "evicted")

    def recognize(self, channel: Channel, party: str) -> None:
        """Let a connection wait in a party's own place, where no stranger takes it; each party has one."""
        if channel in self._strangers and party not in self._parties:
            stay = self._forget_stranger(channel)
            stay.party = party
            self._stays[channel] = stay
            self._parties.add(party)

    def leave(self, channel: Channel) -> None:
        """Free a connection's place, if it has one, since it has sent a Hello or is closed."""
        if channel in self._strangers:
            self._forget_stranger(channel)
        elif channel in self._stays:
            self._parties.discard(self._stays.pop(channel).party)

    def turn_away(self, reason: str) -> None:
        """Count a connection that is refused."""
        self.refused[reason] += 1
        if str(self.refused[reason]).rstrip("0") == "1":
            self._tell(self.refused)

    async def close_silent(self) -> None:
        """Close connections as their time is up, for ever; one task for all of them."""
        while True:
            if not self:
                self._has_come = trio.Event()
                await self._has_come.wait()
            now = trio.current_time()
            seconds = GREETING_SECONDS  # connections that come in the meantime have the same time
            for waiting in (self._strangers, self._stays):
                while waiting and next(iter(waiting.values())).since + GREETING_SECONDS <= now:
                    self._close(next(iter(waiting)), "silent")
                if waiting:
                    seconds = min(seconds, next(iter(waiting.values())).since + GREETING_SECONDS - now)
            await trio.sleep(seconds)

    def _forget_stranger(self, channel: Channel) -> _Stay:
        stay = self._strangers.pop(channel)
        same = self._of_address[stay.address]
        del same[channel]
        if not same:
            del self._of_address[stay.address]
        return stay

    def _close(self, channel: Channel, reason: str) -> None:
        self.leave(channel)
        channel.close()
        self.turn_away(reason)


def _network_of(peer: str) -> str:
    """Return whose connections count together: those of a host, or of a network of IPv6."""
    host = peer.rpartition(":")[0].strip("[]").partition("%")[0] or peer
    try:
        address = ipaddress.ip_address(host)
    except ValueError:  # the transport's addresses are not IP addresses
        return host
    if address.version == 4 or address.ipv4_mapped is not None:  # noqa: PLR2004  the other version of IP
        return str(getattr(address, "ipv4_mapped", None) or address)
    return str(ipaddress.ip_network((address, _IPV6_NETWORK_BITS), strict=False))
