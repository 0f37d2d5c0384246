"""Channels over TCP: framed payloads, coalesced writes, addresses as HOST:PORT.

Without TLS everybody on the way reads every report. Local differential privacy is made for that (each report is
private by itself), but names, traffic and integrity are not protected: loopback, or a network that you trust.
"""

import contextlib
import errno
from collections.abc import Sequence
from typing import ClassVar, Final

import trio

from .abc import Channel, Listener, Transport
from .addresses import format_address, is_loopback, parse_address
from .framing import FrameDecoder, encode_frames

__all__ = ["TCPTransport"]

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


class _TCPChannel(Channel):
    __slots__ = ("_decoder", "_is_receiving", "_peer", "_stream")

    def __init__(self, stream: trio.SocketStream, peer: str) -> None:
        self._stream = stream
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
        return self._peer

    async def send(self, payloads: Sequence[bytes]) -> None:
        await self._stream.send_all(encode_frames(payloads))

    def send_nowait(self, payload: bytes) -> None:
        del payload
        # Messages that are ready together leave in one write; only the writer knows when that is.
        raise trio.WouldBlock

    def limit_payloads(self, max_payload_bytes: int) -> None:
        self._decoder.max_payload_bytes = max_payload_bytes

    async def receive(self) -> list[bytes]:
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
            data = await self._stream.receive_some(_READ_BYTES)
            if not data:
                if self._decoder.is_empty:
                    raise trio.EndOfChannel
                raise trio.BrokenResourceError("the connection ended inside a payload")
            payloads = self._decoder.feed(data)
            if payloads:
                return payloads

    def close(self) -> None:
        self._stream.socket.close()


class _TCPListener(Listener):
    def __init__(self, listener: trio.SocketListener) -> None:
        self._listener = listener
        host, port = listener.socket.getsockname()[:2]
        self._address = format_address(host, port)

    @property
    def address(self) -> str:
        return self._address

    async def accept(self) -> Channel:
        while True:
            try:
                stream = await self._listener.accept()
            except OSError as error:
                if error.errno in _OUT_OF_DESCRIPTORS:
                    await trio.sleep(_PAUSE_SECONDS)
                elif error.errno not in _FAILED_BEFORE_ACCEPT:
                    raise
            else:
                return _TCPChannel(stream, _peer_address(stream))

    async def aclose(self) -> None:
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
        return _TCPListener(first)

    async def connect(self, address: str) -> Channel:
        """Reach HOST:PORT. See `Transport.connect`."""
        host, port = parse_address(address)
        stream = await trio.open_tcp_stream(host, port)
        return _TCPChannel(stream, address)


def _peer_address(stream: trio.SocketStream) -> str:
    try:
        host, port = stream.socket.getpeername()[:2]
    except OSError:  # it has gone already, which its reader will find out
        return "unknown"
    return format_address(host, port)
