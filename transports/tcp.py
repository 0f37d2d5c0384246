"""Channels over TCP: framed payloads, coalesced writes, addresses as HOST:PORT.

Without TLS everybody on the way reads every report. Local differential privacy is made for that (each report is
private by itself), but names, traffic and integrity are not protected: loopback, or a network that you trust.
"""

import contextlib
import errno
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

import trio

from .abc import Channel, Listener, Transport
from .addresses import format_address, is_loopback, parse_address
from .framing import FrameDecoder, encode_frames

__all__ = ["SocketChannel", "SocketListener", "TCPTransport"]

_READ_BYTES: Final = 1 << 16
# A whole roster may connect at once; the kernel drops what does not fit and the clients then wait a second.
_BACKLOG: Final = 4096
# The process or the system has no descriptor left for one more connection; it may have one again in a moment.
_OUT_OF_DESCRIPTORS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_PAUSE_SECONDS: Final = 0.1
# What accept(2) reports of a connection that failed before it was accepted: its client's business, not ours.
_FAILED_BEFORE_ACCEPT: Final = frozenset(
    {
        errno.ECONNABORTED,
        errno.EHOSTDOWN,
        errno.EHOSTUNREACH,
        errno.ENETDOWN,
        errno.ENETUNREACH,
        errno.ENOPROTOOPT,
        errno.EOPNOTSUPP,
        errno.EPERM,
        errno.EPROTO,
    }
)
# A peer whose machine vanished answers no probe: after two minutes of silence, three probes ten seconds apart.
_KEEPALIVE: Final = {"TCP_KEEPIDLE": 120, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}


class SocketChannel(Channel):
    """Payloads as frames on a socket.

    Args:
        stream: the socket, whose bytes the frames are unless `_bytes` is another stream above it.
        peer: the other end's address.
    """

    __slots__ = ("_bytes", "_decoder", "_is_receiving", "_peer", "_stream")

    def __init__(self, stream: trio.SocketStream, peer: str) -> None:
        self._stream = stream
        self._bytes: trio.abc.Stream = stream
        self._peer = peer
        self._decoder = FrameDecoder()
        with contextlib.suppress(OSError):  # it has gone already, which its reader will find out
            stream.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_KEEPALIVE, 1)
            for name, value in _KEEPALIVE.items():
                option: int | None = getattr(trio.socket, name, None)  # not every system has all of them
                if option is not None:
                    stream.setsockopt(trio.socket.IPPROTO_TCP, option, value)
        self._is_receiving = False

    @property
    def peer(self) -> str:
        """The other end's address. See `Channel.peer`."""
        return self._peer

    async def send(self, payloads: Sequence[bytes]) -> None:
        """Send payloads in one write. See `Channel.send`."""
        await self._bytes.send_all(encode_frames(payloads))

    def send_nowait(self, payload: bytes) -> None:
        """Say that it would wait. See `Channel.send_nowait`."""
        del payload
        # Messages that are ready together leave in one write; only the writer knows when that is.
        raise trio.WouldBlock

    def limit_payloads(self, max_payload_bytes: int) -> None:
        """Take no longer payloads from now on. See `Channel.limit_payloads`."""
        self._decoder.max_payload_bytes = max_payload_bytes

    async def receive(self) -> list[bytes]:
        """Return what has arrived. See `Channel.receive`."""
        # The stream notices a second reader only if both have to wait; else the two would mix up the bytes.
        if self._is_receiving:
            raise trio.BusyResourceError("another task is receiving on this channel")
        self._is_receiving = True
        try:
            return await self._receive()
        finally:
            self._is_receiving = False

    async def _receive(self) -> list[bytes]:
        self._decoder.check()
        while True:
            data = await self._bytes.receive_some(_READ_BYTES)
            if not data:
                raise self._end()
            payloads = self._decoder.feed(data)
            if payloads:
                return payloads

    def _end(self) -> Exception:
        """Return what the end of the bytes means to whoever receives."""
        if self._decoder.is_empty:
            return trio.EndOfChannel()
        return trio.BrokenResourceError("the connection ended inside a payload")

    def close(self) -> None:
        """Close the socket. See `Channel.close`."""
        self._stream.socket.close()


class SocketListener(Listener):
    """Waits for connections.

    Args:
        listener: the socket.
        make_channel: makes a channel of a connection and its other end's address.
    """

    def __init__(
        self, listener: trio.SocketListener, make_channel: Callable[[trio.SocketStream, str], Channel]
    ) -> None:
        self._listener = listener
        self._make_channel = make_channel
        host, port = listener.socket.getsockname()[:2]
        self._address = format_address(host, port)

    @property
    def address(self) -> str:
        """HOST:PORT. See `Listener.address`."""
        return self._address

    async def accept(self) -> Channel:
        """Return the next channel. See `Listener.accept`."""
        while True:
            try:
                stream = await self._listener.accept()
            except OSError as error:
                if error.errno in _OUT_OF_DESCRIPTORS:
                    await trio.sleep(_PAUSE_SECONDS)
                elif error.errno not in _FAILED_BEFORE_ACCEPT:
                    raise
            else:
                return self._make_channel(stream, _peer_address(stream))

    async def aclose(self) -> None:
        """Close. See `Listener.aclose`."""
        await self._listener.aclose()


class TCPTransport(Transport):
    """Channels over TCP.

    Listens on the loopback interface, at a port that the system chooses, unless an address is given.
    """

    name: ClassVar[str] = "tcp"  # pyright: ignore[reportIncompatibleVariableOverride]  a constant of the class
    is_over_tcp: ClassVar[bool] = True

    def stays_on_this_machine(self, address: str) -> bool:
        """Return whether HOST is a loopback address. See `Transport.stays_on_this_machine`."""
        return is_loopback(address)

    async def open_listener(self, address: str | None = None) -> Listener:
        """Listen at HOST:PORT. See `Transport.open_listener`."""
        host, port = parse_address("127.0.0.1:0" if address is None else address)
        first, *others = await trio.open_tcp_listeners(port, host=host, backlog=_BACKLOG)
        for listener in others:  # a name with several addresses; clients try all of them, so one will do
            listener.socket.close()  # without waiting, so that a cancelled call leaves none of them open
        return SocketListener(first, self._accept)

    async def connect(self, address: str) -> Channel:
        """Reach HOST:PORT. See `Transport.connect`."""
        host, port = parse_address(address)
        return self._reach(await trio.open_tcp_stream(host, port), address)

    def _accept(self, stream: trio.SocketStream, peer: str) -> Channel:
        """Return the channel of a connection that came in."""
        return SocketChannel(stream, peer)

    def _reach(self, stream: trio.SocketStream, peer: str) -> Channel:
        """Return the channel of a connection that went out."""
        return SocketChannel(stream, peer)


def _peer_address(stream: trio.SocketStream) -> str:
    try:
        host, port = stream.socket.getpeername()[:2]
    except OSError:  # it has gone already, which its reader will find out
        return "unknown"
    return format_address(host, port)
