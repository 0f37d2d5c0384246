"""The network of the hostile world: connections between processes that die, vanish, lie and are cut off.

What it does to payloads is `psephos.transports.faults`; what it does besides is here. A host's connection carries the
messages of all its parties; what they are is read from its frames as they leave.
"""

import dataclasses
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from struct import Struct
from typing import TYPE_CHECKING, Final

import msgspec
import trio
from psephos.protocol.errors import HandshakeError
from psephos.protocol.masking import MaskingMove, NeighborKeys
from psephos.protocol.messages import NIL, Hello, Inquiry, Request, decode, encode
from psephos.protocol.roster import SeededRoster
from psephos.transports import Channel, Listener, MemoryTransport, Transport
from psephos.transports.carrier import GREETING
from psephos.transports.faults import Fate, FaultyChannel
from simulation.plans import HOST, Crash

if TYPE_CHECKING:
    from simulation.world import Held, World

__all__ = ["NOT_AGREED", "Death", "HostTransport", "Link", "Network", "Process"]

_HEADER: Final = Struct(">BII")
_PAYLOAD: Final = 1
"""The kind of a carrier's header whose payload is the next."""
NOT_AGREED: Final = "the other end's certificate is none of those that were agreed"


class Death(BaseException):
    """A process dies here; no handler of its own sees it."""


@dataclasses.dataclass
class Process:
    """One run of a process.

    Attributes:
        step: how many of its steps it has done.
        is_alive: whether it does any more.
        has_vanished: whether nobody hears that it has ended, since its machine is cut off.
    """

    world: "World"
    name: str
    run: int
    step: int = 0
    is_alive: bool = True
    has_vanished: bool = False
    dies_at: dict[int, Crash] = dataclasses.field(default_factory=dict[int, Crash])
    scope: trio.CancelScope = dataclasses.field(default_factory=trio.CancelScope)

    def do_step(self) -> None:
        """Die here if that is planned."""
        if not self.is_alive:
            raise Death
        crash = self.dies_at.get(self.step)
        self.step += 1
        if crash is not None:
            self.is_alive = False
            self.world.crashes[self.name] = crash
            self.has_vanished = crash.is_silent
            raise Death


class _Channel(FaultyChannel):
    """An end of a connection: tells the observer what leaves, and its process of its steps."""

    def __init__(self, inner: Channel, link: "Link", process: Process, *, is_upstream: bool) -> None:
        super().__init__(inner, link.weather, connection=link.number, is_upstream=is_upstream)
        self._link = link
        self._process = process
        self._is_server = is_upstream
        self._channel = 0  # of a host's connection: whose payload comes next

    @property
    def peer(self) -> str:
        return f"10.0.0.{self._link.place}:{self._link.number}"

    @property
    def peer_fingerprint(self) -> str:
        return self._link.fingerprint if self._is_server else ""

    async def send(self, payloads: Sequence[bytes]) -> None:
        payloads = [self._said(payload) for payload in payloads]
        self._note(payloads)
        await super().send([self._lied(payload) for payload in payloads])
        self._process.do_step()

    def send_nowait(self, payload: bytes) -> None:
        payload = self._said(payload)
        self._note([payload])
        super().send_nowait(self._lied(payload))
        self._process.do_step()

    async def receive(self) -> list[bytes]:
        if self._link.is_revoked:
            await trio.lowlevel.checkpoint()
            raise HandshakeError(NOT_AGREED)
        payloads = await super().receive()
        self._process.do_step()
        self._link.heard_lie |= not self._link.lies.isdisjoint(payloads)
        return payloads

    def _said(self, payload: bytes) -> bytes:
        """Return what leaves in place of a payload."""
        other = None if self._is_server else self._link.world.other_choice(self._process)
        if other is None or not other.is_forged or not self._link.held.protocol.num_chosen:
            return payload
        message = decode(payload)
        return (
            encode(msgspec.structs.replace(message, chosen=(other.choice,))) if isinstance(message, Hello) else payload
        )

    def _lied(self, payload: bytes) -> bytes:
        """Return what a server tells in place of what it should."""
        link = self._link
        steps = link.world.lies_to(link) if self._is_server else ()
        if not steps or not isinstance(request := decode(payload), Request) or request.step not in steps:
            return payload
        lie = encode(_false(request, link.place))
        link.lies.add(lie)
        link.world.observer.lies.add(lie)
        return lie

    def _note(self, payloads: Iterable[bytes]) -> None:
        self._process.do_step()
        for party, payload in self._addressed(payloads):
            self._link.world.note_sent(self._link, party, payload, by_server=self._is_server)

    def _addressed(self, payloads: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
        """Yield messages, each with the party that says or hears it; of a host's connection by its frames."""
        link = self._link
        if link.host is None:
            yield from ((link.person.name, payload) for payload in payloads)
            return
        for payload in payloads:
            if self._channel:
                if not self._is_server and isinstance(hello := decode(payload), (Hello, Inquiry)):
                    link.host[self._channel] = hello.party
                yield link.host[self._channel], payload
                self._channel = 0
            elif payload != GREETING:
                kind, number, _ = _HEADER.unpack(payload)
                self._channel = number if kind == _PAYLOAD else 0


@dataclasses.dataclass
class Link:
    """A connection between a person's process, or a host's, and a server's run.

    Attributes:
        host: of a host's, who speaks on which of its channels; else None.
        is_revoked: whether the server takes its certificate no more.
    """

    world: "World"
    number: int
    held: "Held"
    person: Process
    server: Process
    place: int
    fingerprint: str
    host: dict[int, str] | None
    is_revoked: bool
    lies: set[bytes] = dataclasses.field(default_factory=set[bytes])
    heard_lie: bool = False

    def weather(self, connection: int, is_upstream: bool, number: int) -> Fate:  # noqa: FBT001  as `Weather`
        return self.world.weather_of(self, connection, is_upstream, number)


class HostTransport(Transport):
    """A host's way to a server, as `psephos.transports.shared` needs it."""

    name = "memory"

    def __init__(self, connect: Callable[[], Awaitable[Channel]]) -> None:
        self._connect = connect

    async def open_listener(self, address: str | None = None) -> Listener:
        raise NotImplementedError

    async def connect(self, address: str) -> Channel:
        del address
        return await self._connect()


class _Listener(Listener):
    def __init__(self, inner: Listener, network: "Network", process: Process) -> None:
        self._inner = inner
        self._network = network
        self._process = process
        self._num_accepted = 0

    @property
    def address(self) -> str:
        return self._inner.address

    async def accept(self) -> Channel:
        channel = await self._inner.accept()
        link = self._network.links[self._num_accepted]
        self._num_accepted += 1
        return _Channel(channel, link, self._process, is_upstream=True)

    async def aclose(self) -> None:
        await self._inner.aclose()


class Network:
    """Where one run of a server can be reached."""

    def __init__(self, held: "Held", server: Process) -> None:
        self.held = held
        self.server = server
        self.links: list[Link] = []
        self._memory = MemoryTransport()

    async def listen(self) -> Listener:
        return _Listener(await self._memory.open_listener(self.held.name), self, self.server)

    async def connect(self, person: Process) -> Channel:
        world = person.world
        channel = await self._memory.connect(self.held.name)
        is_host = person.name == HOST
        first = world.plan.parties[0] if is_host else person.name
        link = Link(
            world,
            next(world.numbers),
            self.held,
            person,
            self.server,
            self.held.roster.places[first],
            self.held.roster.fingerprint_of(first),
            {} if is_host else None,
            world.is_revoked(first, self.server),
        )
        self.links.append(link)
        return _Channel(channel, link, person, is_upstream=False)


def _false(request: Request, place: int) -> Request:
    """Return a question of a masked phase with something false in it, which the party at this place can see."""
    is_own = request.own != NIL
    told = bytearray(bytes(request.own if is_own else request.payload))
    match tuple(MaskingMove)[request.step]:
        case MaskingMove.KEYS if (roster := msgspec.msgpack.decode(told, type=SeededRoster)).seed:
            # Of a circle's seed alone a party cannot say that it is another.
            changed = msgspec.structs.replace(roster, keys=(*roster.keys[:-1], bytes(len(roster.keys[-1]))))
            told = msgspec.msgpack.encode(changed)
        case MaskingMove.SHARES:  # its own keys it does not read
            keys = list(msgspec.msgpack.decode(told, type=NeighborKeys).keys)
            other = next(number for number, (at, _) in enumerate(keys) if at != place)
            at, theirs = keys[other]
            keys[other] = at, msgspec.structs.replace(theirs, signature=bytes(len(theirs.signature)))
            told = msgspec.msgpack.encode(NeighborKeys(tuple(keys)))
        case _:
            told[-1] ^= 0x40  # of a key, a box, a place or a signature
    lie = msgspec.Raw(bytes(told))
    return Request(request.step, request.payload, lie) if is_own else Request(request.step, lie)
