"""The contract that every transport keeps, and that `transports.testing.check_transport` checks.

A *channel* joins two parties and carries payloads: bytes of a limited size, in order, each once, none lost while
both ends are open. Payloads that are ready together leave in one write and may arrive together. A channel holds a
bounded amount; beyond that, senders wait for the other end to receive.

Who raises what, and when (trio's own exceptions, unwrapped):

- `trio.ClosedResourceError`, by send, receive and accept: this end closed it, before or during the call.
- `trio.BrokenResourceError`, by send: the other end closed, or the network failed.
- `trio.BrokenResourceError`, by receive: the network failed, or the bytes ended inside a payload.
- `trio.EndOfChannel`, by receive: the other end closed, and everything that it had sent was received.
- `trio.BusyResourceError`, by send and receive: another task is in the same call.
- `trio.WouldBlock`, by send_nowait: sending would wait; the other end does not have it, and whoever goes on sending
  begins with this payload, of which the network may have taken a part.
- `ValueError`, by send and send_nowait: a payload exceeds the limit; nothing was sent.
- `MalformedMessageError`, by receive: the peer announced a payload above the limit, the transport's or the receiver's
  own; the channel is useless now.
- `HandshakeError`, by receive: who is at the other end could not be established, or is nobody that was expected; the
  channel is useless, nothing was received on it, and `send` raises `trio.BrokenResourceError`. Of these
  `BrokenHandshakeError`: nobody's certificate is at fault, so that another channel may come about.
- `OSError`, by open_listener and connect: the operating system's; the address is taken, unreachable, not ours.

A network brings news late: the first sends after the other end has closed may succeed, and an end that closes with
payloads unread may break the channel where it would else have ended.

`async` means that a call may wait; each such call is a checkpoint. Nobody here takes a timeout: deadlines belong
to the caller. A cancelled `receive` loses nothing; a cancelled `send` leaves the channel in an unknown state, and
all that can be done with it then is to close it.
"""

import abc
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import ClassVar, Self

import trio

from .addresses import is_loopback


class _Closable(abc.ABC):
    """A resource with an idempotent close."""

    __slots__ = ()

    @abc.abstractmethod
    async def aclose(self) -> None:
        """Close; at once if cancelled. Closing twice does nothing the second time."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()


class Channel(_Closable):
    """One end of an ordered, reliable, two-way channel of payloads."""

    __slots__ = ()

    @abc.abstractmethod
    def close(self) -> None:
        """Close at once, without a checkpoint: for who has said all that there is to say. Idempotent."""

    async def aclose(self) -> None:
        """Close; at once if cancelled. Closing twice does nothing the second time.

        A transport that says goodbye to the other end does so here; by itself, this is `close` and a checkpoint.
        """
        self.close()
        await trio.lowlevel.checkpoint()

    @abc.abstractmethod
    async def send(self, payloads: Sequence[bytes]) -> None:
        """Send payloads in one write, and wait until the channel can take more.

        Raises:
            ValueError: one of them is too large; then none is sent.
            trio.ClosedResourceError, trio.BrokenResourceError, trio.BusyResourceError: see the module.
        """

    @abc.abstractmethod
    def send_nowait(self, payload: bytes) -> None:
        """Send one payload if that needs no waiting.

        Raises:
            trio.WouldBlock: it would wait, and is to be sent before any other; a channel may always say so.
            ValueError, trio.ClosedResourceError, trio.BrokenResourceError: as `send`.
        """

    @abc.abstractmethod
    async def receive(self) -> list[bytes]:
        """Return all payloads that have arrived, in order; wait for the first if there is none.

        Raises:
            trio.EndOfChannel: the other end has closed, and there will be no more.
            MalformedMessageError: the peer announced a payload above the limit.
            HandshakeError: the other end is not who was expected.
            trio.ClosedResourceError, trio.BrokenResourceError, trio.BusyResourceError: see the module.
        """

    def receive_nowait(self) -> list[bytes]:
        """Return what has arrived on a watched channel.

        Raises:
            trio.WouldBlock: nothing has.
            As `receive`, for what ends a channel.
        """
        raise NotImplementedError

    def watch(self, note: Callable[["Channel"], None]) -> bool:
        """Call `note` with this channel whenever something arrives or the channel ends; return whether it will.

        That is for one task that reads many channels. It is called when there is something that was not there when
        `receive_nowait` was called last; it must not wait or raise. A channel may always say that it will not, which
        is what this does without a word from its transport: then its reader waits in `receive`.
        """
        return False

    @abc.abstractmethod
    def limit_payloads(self, max_payload_bytes: int) -> None:
        """Refuse payloads above this size from now on: for a peer that is still unknown.

        Without a word it is the transport's own limit. What is above it is not kept until it is complete.

        Args:
            max_payload_bytes: at most the transport's own limit.
        """

    @property
    @abc.abstractmethod
    def peer(self) -> str:
        """The other end's address, for logs; what it calls itself is for the driver to find out."""

    @property
    def peer_fingerprint(self) -> str:
        """The SHA-256, in hexadecimal, of the certificate whose key the other end has proven to hold.

        Empty where the transport proves nothing, and before anything was received.
        """
        return ""


class Listener(_Closable):
    """Waits for channels.

    Closing it leaves accepted channels as they are, and ends those that nobody has accepted.
    """

    __slots__ = ()

    @property
    @abc.abstractmethod
    def address(self) -> str:
        """The address for `Transport.connect`, as seen from where the listener was opened."""

    @abc.abstractmethod
    async def accept(self) -> Channel:
        """Return the next incoming channel.

        Raises:
            trio.ClosedResourceError: the listener was closed, before or during the call.
        """

    def accept_nowait(self) -> Channel | None:
        """Return an incoming channel that is here; None where there is none, which a listener may always say."""
        return None


class Transport(abc.ABC):
    """Opens listeners and channels. Entry points of group `psephos.transports` name subclasses by `name`."""

    name: str
    joins_processes: ClassVar[bool] = True
    """Whether a process reaches another one's listener by its address."""
    is_authenticated: ClassVar[bool] = False
    """Whether either end knows who the other is, and nobody between them reads or changes a byte."""
    is_over_tcp: ClassVar[bool] = False
    """Whether an address is HOST:PORT of a TCP socket, whatever is said there: then a relay can pass its bytes on."""

    def stays_on_this_machine(self, address: str) -> bool:
        """Return whether nobody beyond this machine can reach a listener at an address, or read its traffic.

        Unless a transport overrides it, this is true only of loopback addresses of the form HOST:PORT.

        Raises:
            ValueError: it is no address.
        """
        try:
            return is_loopback(address)
        except ValueError:  # of another form, which need not be wrong
            return False

    @abc.abstractmethod
    async def open_listener(self, address: str | None = None) -> Listener:
        """Begin to listen.

        Args:
            address: in the transport's own form; by default one that it chooses.

        Raises:
            OSError: the address is taken or not ours.
            ValueError: it is no address.
        """

    @abc.abstractmethod
    async def connect(self, address: str) -> Channel:
        """Return a channel to the listener at `address`.

        Raises:
            OSError: nobody listens there, or it cannot be reached.
            ValueError: it is no address.
        """
