"""Fault injection: another transport whose payloads are delayed, duplicated or lost, as a seed determines.

The fate of a payload depends only on its connection, direction and number. So it does not depend on time or on the
order of tasks. Faults happen at the receiver: a delayed payload delays those behind it, and a lost one breaks the
connection, like a reset.

Without faults, and with delays only, the contract of `transports.abc` holds. Duplicates break it. They cannot come from
a network below TLS; they stand for a peer that repeats itself. The first payload of either direction is never
duplicated.
"""

import dataclasses
import hashlib
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

import trio

from ..protocol.errors import require
from .abc import Channel, Listener, Transport

_UNIFORM_BYTES: Final = 8


class Fate(NamedTuple):
    """The fate of one payload, or of the end of a channel.

    Args:
        delay_seconds: the time between arrival and receipt; infinite if the connection is half open from here on.
        num_copies: the number of times that it is received.
        is_lost: whether the connection is lost instead.

    Examples:
        >>> Fate(delay_seconds=0.5)
        Fate(delay_seconds=0.5, num_copies=1, is_lost=False)
    """

    delay_seconds: float = 0.0
    num_copies: int = 1
    is_lost: bool = False


CALM: Final = Fate()
"""The fate of a payload without faults."""

Weather: TypeAlias = Callable[[int, bool, int], Fate]
"""A function that returns the fate of a payload. Its arguments are the connection's number in order of creation,
whether the payload goes to the listener's side, and its number in that direction, from 0. A channel's end has the
number after its last payload."""


@dataclasses.dataclass(frozen=True)
class Faults:
    """The probabilities of a network's faults.

    Args:
        loss: the probability that a payload, or the end of a channel, is lost, and the connection with it.
        delay: the greatest delay of a payload in seconds; delays are uniform from 0.
        duplication: the probability that a payload is received twice.
        partition: the probability that a connection is cut silently at a payload: neither this nor a later one arrives
            in that direction.

    Raises:
        ConfigurationError: a probability is not in [0, 1], or the delay is negative or infinite.

    Examples:
        >>> Faults(loss=0.1).loss
        0.1
        >>> Faults(loss=2.0)
        Traceback (most recent call last):
            ...
        psephos.protocol.errors.ConfigurationError: loss is 2.0: use a probability, in [0, 1]
    """

    loss: float = 0.0
    delay: float = 0.0
    duplication: float = 0.0
    partition: float = 0.0

    def __post_init__(self) -> None:
        for field in ("loss", "duplication", "partition"):
            probability = getattr(self, field)
            require(0 <= probability <= 1, field, probability, "a probability, in [0, 1]")
        require(0 <= self.delay < math.inf, "delay", self.delay, "seconds, at least 0 and finite")


def seeded_weather(faults: Faults, seed: int) -> Weather:
    """Return a function that draws each payload's fate, the same for the same seed.

    Examples:
        >>> weather = seeded_weather(Faults(loss=0.5), seed=1)
        >>> [weather(0, True, number).is_lost for number in range(6)]
        [False, True, False, False, True, True]
    """

    def decide(connection: int, is_upstream: bool, number: int) -> Fate:  # noqa: FBT001  one of three coordinates
        late, cut, lost, twice = _uniforms(f"{seed}/{connection}/{is_upstream:d}/{number}")
        if lost < faults.loss:
            return Fate(is_lost=True)
        delay_seconds = math.inf if cut < faults.partition else late * faults.delay
        return Fate(delay_seconds, 2 if number and twice < faults.duplication else 1)

    return decide


class FaultyTransport(Transport):
    """Another transport with injected faults.

    It supports one listener. Connections must be made one after another, since both sides number them in that order.
    """

    def __init__(self, inner: Transport, weather: Weather) -> None:
        self.name = inner.name
        self._inner = inner
        self._weather = weather
        self._numbers = itertools.count()

    async def open_listener(self, address: str | None = None) -> Listener:
        return _FaultyListener(await self._inner.open_listener(address), self._weather)

    async def connect(self, address: str) -> Channel:
        channel = await self._inner.connect(address)
        return FaultyChannel(channel, self._weather, connection=next(self._numbers), is_upstream=False)

    def stays_on_this_machine(self, address: str) -> bool:
        return self._inner.stays_on_this_machine(address)


class _FaultyListener(Listener):
    def __init__(self, inner: Listener, weather: Weather) -> None:
        self._inner = inner
        self._weather = weather
        self._numbers = itertools.count()

    @property
    def address(self) -> str:
        return self._inner.address

    async def accept(self) -> Channel:
        channel = await self._inner.accept()
        return FaultyChannel(channel, self._weather, connection=next(self._numbers), is_upstream=True)

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Arriving(NamedTuple):
    """A payload on its way, or the exception that a receiver gets."""

    due: float
    what: bytes | Exception


class FaultyChannel(Channel):
    """One end of a channel with injected faults.

    Args:
        weather: returns the fate of each payload that arrives here.
        is_upstream: whether this is the listener's side.
    """

    def __init__(self, inner: Channel, weather: Weather, *, connection: int, is_upstream: bool) -> None:
        self.connection = connection
        self._inner = inner
        self._weather = weather
        self._is_upstream = is_upstream
        self._arrivals: list[_Arriving] = []
        self._num_heard = 0
        self._waiting: trio.CancelScope | None = None
        self._is_receiving = False
        self._is_closed = False
        self._is_broken = False

    @property
    def peer(self) -> str:
        return self._inner.peer

    @property
    def peer_fingerprint(self) -> str:
        return self._inner.peer_fingerprint

    def limit_payloads(self, max_payload_bytes: int) -> None:
        self._inner.limit_payloads(max_payload_bytes)

    def close(self) -> None:
        """Close at once, and wake the receiver that waits for late payloads."""
        self._is_closed = True
        self._inner.close()
        self._wake()

    async def aclose(self) -> None:
        self._is_closed = True
        self._wake()
        await self._inner.aclose()

    async def send(self, payloads: Sequence[bytes]) -> None:
        if self._is_broken and not self._is_closed:
            await trio.lowlevel.checkpoint()
            raise trio.BrokenResourceError("the connection was lost")
        await self._inner.send(payloads)

    def send_nowait(self, payload: bytes) -> None:
        if self._is_broken and not self._is_closed:
            raise trio.BrokenResourceError("the connection was lost")
        self._inner.send_nowait(payload)

    async def receive(self) -> list[bytes]:
        """Return the payloads that have arrived and are due; wait for the first if there is none."""
        if self._is_receiving:
            raise trio.BusyResourceError("another task is receiving on this channel")
        self._is_receiving = True
        try:
            if not self._arrivals:
                await self._hear()
                if self._arrivals[0].due > trio.current_time():
                    await self._wait_until(self._arrivals[0].due)
            else:
                await self._wait_until(self._arrivals[0].due)
            return self._take_due()
        finally:
            self._is_receiving = False

    async def _hear(self) -> None:
        """Wait for the inner end, and decide what becomes of what it has."""
        arrivals: list[bytes | Exception]
        try:
            arrivals = list(await self._inner.receive())
        except trio.EndOfChannel as error:
            arrivals = [error]
        now = trio.current_time()
        due = now
        for arrival in arrivals:
            fate = self._weather(self.connection, self._is_upstream, self._num_heard)
            self._num_heard += 1
            due = max(due, now + fate.delay_seconds)
            if fate.is_lost:
                self._arrivals.append(_Arriving(due, trio.BrokenResourceError("the connection was lost")))
                return
            copies = 1 if isinstance(arrival, Exception) else fate.num_copies
            self._arrivals += [_Arriving(due, arrival)] * copies

    async def _wait_until(self, due: float) -> None:
        if not self._is_closed:
            with trio.CancelScope(deadline=due) as self._waiting:
                await trio.sleep_forever()
            self._waiting = None
        else:
            await trio.lowlevel.checkpoint()
        if self._is_closed:
            raise trio.ClosedResourceError("this end of the channel is closed")

    def _take_due(self) -> list[bytes]:
        """Return the payloads that are due, or raise what is in their place; an end stays for whoever asks again."""
        now = trio.current_time()
        payloads: list[bytes] = []
        for arriving in self._arrivals:
            if arriving.due > now or isinstance(arriving.what, Exception):
                break
            payloads.append(arriving.what)
        if payloads:
            del self._arrivals[: len(payloads)]
            return payloads
        ending = self._arrivals[0].what
        assert isinstance(ending, Exception)  # noqa: S101  the first is due, and is no payload
        if isinstance(ending, trio.BrokenResourceError):
            self._is_broken = True
            self._inner.close()
        raise ending

    def _wake(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()


def _uniforms(address: str) -> tuple[float, float, float, float]:
    """Return four numbers in [0, 1) that follow from an address."""
    digest = hashlib.blake2b(address.encode(), digest_size=4 * _UNIFORM_BYTES, person=b"psephos-faults-1").digest()
    late, cut, lost, twice = (
        (int.from_bytes(digest[at : at + _UNIFORM_BYTES], "big") >> 11) / (1 << 53)
        for at in range(0, len(digest), _UNIFORM_BYTES)
    )
    return late, cut, lost, twice
