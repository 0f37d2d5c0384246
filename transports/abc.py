"""The contract of every transport, which `transports.testing.check_transport` checks.

A *channel* joins two parties and carries payloads: bytes of a limited size, in order, each once, without losses while
both ends are open. Payloads that are ready together are sent in one write, and may arrive together. A channel buffers a
bounded amount; beyond that, senders wait for the other end to receive.

Methods raise these exceptions (trio's are not wrapped):

- `trio.ClosedResourceError`, by send, receive and accept: this end was closed before or during the call.
- `trio.BrokenResourceError`, by send: the other end closed, or the network failed.
- `trio.BrokenResourceError`, by receive: the network failed, or the bytes ended inside a payload.
- `trio.EndOfChannel`, by receive: the other end closed, and all payloads from it were received.
- `trio.BusyResourceError`, by send and receive: another task is in the same call.
- `trio.WouldBlock`, by send_nowait: sending would wait. The other end does not have the payload, but the network may
  have taken a part of it, so the caller must send this payload before any other.
- `ValueError`, by send and send_nowait: a payload exceeds the limit; nothing was sent.
- `MalformedMessageError`, by receive: the peer announced a payload above the limit of the transport or the receiver.
  The channel is unusable then.
- `HandshakeError`, by receive: the identity of the other end could not be established, or is not an expected one. The
  channel is unusable, nothing was received on it, and `send` raises `trio.BrokenResourceError`. Its subclass
  `BrokenHandshakeError` means that no certificate is at fault, so another attempt may succeed.
- `OSError`, by open_listener and connect: an error of the operating system, such as an address that is taken,
  unreachable, or of another machine.

A network reports a close late: the first sends after the other end has closed may succeed. If an end closes with unread
payloads, the other end may see a broken channel instead of its end.

Each `async` call may wait, and is a checkpoint. No method takes a timeout; callers set deadlines. A cancelled `receive`
loses nothing. A cancelled `send` leaves the channel in an unknown state; it must then be closed.
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
        """Close at once, without a checkpoint, after everything was sent. Idempotent."""

    async def aclose(self) -> None:
        """Close; at once if cancelled. Closing twice does nothing the second time.

        A transport with a closing handshake performs it here; by default, this is `close` and a checkpoint.
        """
        self.close()
        await trio.lowlevel.checkpoint()

    @abc.abstractmethod
    async def send(self, payloads: Sequence[bytes]) -> None:
        """Send payloads in one write, and wait until the channel can take more.

        Raises:
            ValueError: a payload is too large; then none is sent.
            trio.ClosedResourceError, trio.BrokenResourceError, trio.BusyResourceError: see the module.
        """

    @abc.abstractmethod
    def send_nowait(self, payload: bytes) -> None:
        """Send one payload if that needs no waiting.

        Raises:
            trio.WouldBlock: sending would wait; this payload must then be sent before any other. A channel may always
                raise this.
            ValueError, trio.ClosedResourceError, trio.BrokenResourceError: as `send`.
        """

    @abc.abstractmethod
    async def receive(self) -> list[bytes]:
        """Return all payloads that have arrived, in order; wait for the first if there is none.

        Raises:
            trio.EndOfChannel: the other end has closed, and all payloads were received.
            MalformedMessageError: the peer announced a payload above the limit.
            HandshakeError: the other end is not the expected party.
            trio.ClosedResourceError, trio.BrokenResourceError, trio.BusyResourceError: see the module.
        """

    def receive_nowait(self) -> list[bytes]:
        """Return the payloads that have arrived on a watched channel.

        Raises:
            trio.WouldBlock: nothing has arrived.
            As `receive`, at the end of a channel.
        """
        raise NotImplementedError

    def watch(self, note: Callable[["Channel"], None]) -> bool:
        """Call `note` with this channel whenever something arrives or the channel ends; return whether it does so.

        This lets one task read many channels. `note` is called when there is something new since the last call of
        `receive_nowait`; it must not wait or raise. By default a channel returns False, and its reader must wait in
        `receive`.
        """
        return False

    @abc.abstractmethod
    def limit_payloads(self, max_payload_bytes: int) -> None:
        """Refuse payloads above this size from now on, for a peer that is still unknown.

        By default the limit is the transport's. A larger payload is refused before it is buffered.

        Args:
            max_payload_bytes: the limit in bytes, at most the transport's.
        """

    @property
    @abc.abstractmethod
    def peer(self) -> str:
        """The other end's address, for logs; what it calls itself is for the driver to find out."""

    @property
    def peer_fingerprint(self) -> str:
        """The SHA-256, in hexadecimal, of the certificate by which the other end has authenticated.

        It is empty if the transport does not authenticate, and before anything was received.
        """
        return ""


class Listener(_Closable):
    """A listener for incoming channels.

    Closing it does not affect accepted channels, and ends those that were not accepted.
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
    """A factory of listeners and channels. Entry points in the group `psephos.transports` register subclasses."""

    name: str
    joins_processes: ClassVar[bool] = True
    """Whether a process can reach the listener of another process by its address."""
    is_authenticated: ClassVar[bool] = False
    """Whether both ends authenticate each other, and nobody between them can read or change a byte."""
    is_over_tcp: ClassVar[bool] = False
    """Whether an address is HOST:PORT of a TCP socket, so that a relay can forward its bytes."""

    def stays_on_this_machine(self, address: str) -> bool:
        """Return whether a listener at this address, and its traffic, can be reached only from this machine.

        By default this is true only for loopback addresses of the form HOST:PORT.

        Raises:
            ValueError: it is no address.
        """
        try:
            return is_loopback(address)
        except ValueError:  # an address of another form, which may be valid
            return False

    @abc.abstractmethod
    async def open_listener(self, address: str | None = None) -> Listener:
        """Begin to listen.

        Args:
            address: an address in the transport's format; by default the transport chooses one.

        Raises:
            OSError: the address is taken, or of another machine.
            ValueError: it is no address.
        """

    @abc.abstractmethod
    async def connect(self, address: str) -> Channel:
        """Return a channel to the listener at `address`.

        Raises:
            OSError: nothing listens there, or it cannot be reached.
            ValueError: it is no address.
        """
