"""Deviating parties: a wrapper between an honest agent and its channels.

An honest agent runs unchanged, and a `Deviation` changes the messages between it and the network: it may alter, drop,
repeat or add messages, or disconnect. So a deviating party knows exactly what its agent knows. Every deviation works
over every transport, and the other side runs its regular code.

The docstring of each deviation states who must be corrupt, what the honest side does, and what harm remains.
"""

import collections
from collections.abc import Sequence
from typing import NamedTuple

import trio

from ...protocol.errors import RemoteProtocolError
from ...protocol.messages import Hello, Inquiry, Message, decode, encode
from ...protocol.roles import SERVER
from ...transports.abc import Channel, Listener


class Passage(NamedTuple):
    """The messages that replace one message.

    `inward` goes to the agent, and `outward` to the network, in order. Then the channel is closed if `hangs_up`.

    Examples:
        >>> Passage(hangs_up=True).outward
        ()
    """

    inward: Sequence[Message] = ()
    outward: Sequence[Message] = ()
    hangs_up: bool = False


class Deviation:
    """A party's deviation from the protocol in one session; the base class changes nothing.

    One object serves one party on all its channels, and may store what it sees. Its methods must not wait or raise.

    Examples:
        >>> passage = Deviation().outgoing("server", Inquiry(10, "ann"))
        >>> [message.party for message in passage.outward]
        ['ann']
    """

    __slots__ = ()

    def outgoing(self, peer: str, message: Message) -> Passage:
        """Return the replacement of a message that the agent sends.

        Args:
            peer: the recipient: a party's name, or `SERVER`; empty before the peer's Hello.
        """
        return Passage(outward=(message,))

    def incoming(self, peer: str, message: Message) -> Passage:
        """Return the replacement of a message that arrives from the network.

        Args:
            peer: the sender: a party's name, or `SERVER`; a name from a Hello may be false.
        """
        return Passage(inward=(message,))


class DeviatingChannel(Channel):
    """A channel whose messages pass through a deviation.

    Args:
        peer: the other end's name; None if its first message states it (on a server's channel).
    """

    __slots__ = ("_arrivals", "_channel", "_deviation", "_outputs", "_peer", "_sending", "_waiting")

    def __init__(self, channel: Channel, deviation: Deviation, *, peer: str | None = SERVER) -> None:
        self._channel = channel
        self._deviation = deviation
        self._peer = peer
        self._arrivals: collections.deque[bytes] = collections.deque()  # payloads that are not processed yet
        self._outputs: collections.deque[bytes] = collections.deque()  # payloads that the agent has not taken yet
        self._sending = trio.Lock()  # an incoming message may cause sending while the agent sends
        self._waiting: trio.CancelScope | None = None  # of a waiting `receive`

    @property
    def peer(self) -> str:
        return self._channel.peer

    @property
    def peer_fingerprint(self) -> str:
        return self._channel.peer_fingerprint

    def close(self) -> None:
        self._channel.close()

    async def aclose(self) -> None:
        await self._channel.aclose()

    def limit_payloads(self, max_payload_bytes: int) -> None:
        self._channel.limit_payloads(max_payload_bytes)

    def send_nowait(self, payload: bytes) -> None:
        """Raise trio.WouldBlock, since one message may become several. See `Channel.send_nowait`."""
        raise trio.WouldBlock

    async def send(self, payloads: Sequence[bytes]) -> None:
        outward: list[Message] = []
        hangs_up = False
        for payload in payloads:
            passage = self._check_passage("outgoing", self._deviation.outgoing(self._peer or "", decode(payload)))
            outward += passage.outward
            self._show(passage.inward)
            if hangs_up := passage.hangs_up:
                break
        await self._pass_on(outward, hangs_up=hangs_up)

    async def receive(self) -> list[bytes]:
        if self._outputs:  # otherwise waiting is the checkpoint
            await trio.lowlevel.checkpoint()
        while not self._outputs:
            if not self._arrivals:
                await self._wait()
            while self._arrivals:
                await self._take(self._arrivals.popleft())
        payloads = list(self._outputs)
        self._outputs.clear()
        return payloads

    async def _wait(self) -> None:
        """Return when something has arrived, or is to be shown."""
        try:
            with trio.CancelScope() as self._waiting:  # a cancelled receive loses nothing
                self._arrivals.extend(await self._channel.receive())
        finally:
            self._waiting = None

    async def _take(self, payload: bytes) -> None:
        """Pass one payload on."""
        try:
            message = decode(payload)
        except RemoteProtocolError:
            self._outputs.append(payload)  # no message, which the agent reports
            return
        if self._peer is None and isinstance(message, (Hello, Inquiry)):
            self._peer = message.party
        passage = self._check_passage("incoming", self._deviation.incoming(self._peer or "", message))
        self._show(passage.inward)
        if passage.hangs_up:
            self._arrivals.clear()
        if passage.outward or passage.hangs_up:
            await self._pass_on(passage.outward, hangs_up=passage.hangs_up)

    def _check_passage(self, step: str, passage: object) -> Passage:
        """Return what a deviation made of a message, where it is a passage."""
        if not isinstance(passage, Passage):
            kind = type(self._deviation).__name__
            raise TypeError(f"{kind}.{step} returned a {type(passage).__name__}, and not a Passage")
        return passage

    async def _pass_on(self, outward: Sequence[Message], *, hangs_up: bool) -> None:
        async with self._sending:
            try:
                if outward:
                    await self._channel.send([encode(message) for message in outward])
            finally:
                if hangs_up:
                    self._channel.close()

    def _show(self, inward: Sequence[Message]) -> None:
        self._outputs.extend(map(encode, inward))
        if inward and self._waiting is not None:
            self._waiting.cancel()


class DeviatingListener(Listener):
    """A listener whose channels pass through the deviation of the server behind it."""

    __slots__ = ("_deviation", "_listener")

    def __init__(self, listener: Listener, deviation: Deviation) -> None:
        self._listener = listener
        self._deviation = deviation

    @property
    def address(self) -> str:
        return self._listener.address

    async def accept(self) -> Channel:
        return DeviatingChannel(await self._listener.accept(), self._deviation, peer=None)

    async def aclose(self) -> None:
        await self._listener.aclose()
