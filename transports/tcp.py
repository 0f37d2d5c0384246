"""Channels over TCP: framed payloads, coalesced writes, addresses as HOST:PORT.

Without TLS, anybody on the network path can read every report. Local differential privacy allows for this, since each
report is private by itself. But names, traffic and integrity are not protected, so use it only on loopback, or in a
network that you trust.
"""

import contextlib
import errno
import ipaddress
import os
import socket
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

import trio

from .abc import Channel, Listener, Transport
from .addresses import format_address, is_loopback, parse_address
from .framing import FrameDecoder, encode_frames

_READ_BYTES: Final = 1 << 16
MOST_AT_ONCE: Final = 1 << 14
"""The longest payload that `send_nowait` tries to send; the system would often take only a part of a longer one."""
# A whole roster may connect at once. The kernel drops connections beyond the backlog, whose clients then wait a second.
_BACKLOG: Final = 4096
# The process or the system has no free descriptor for another connection; this may change soon.
_OUT_OF_DESCRIPTORS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_PAUSE_SECONDS: Final = 0.1
# Errors of accept(2) for a connection that failed before it was accepted; the listener is not affected.
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
# To detect a peer whose machine vanished: after two minutes of silence, three probes ten seconds apart.
_SECONDS_AND_PROBES: Final = {"TCP_KEEPIDLE": 120, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
_KEEPALIVE: Final = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in _SECONDS_AND_PROBES.items()
        if hasattr(socket, name)  # some systems lack some of them
    ),
)


class SocketChannel(Channel):
    """Payloads as frames on a socket."""

    __slots__ = ("_decoder", "_is_receiving", "_is_sending", "_peer", "_stream", "_unsent")

    def __init__(self, stream: trio.SocketStream, peer: str) -> None:
        self._stream = stream
        self._peer = peer
        self._decoder = FrameDecoder()
        with contextlib.suppress(OSError):  # it has gone already, which its reader will find out
            for level, option, value in _KEEPALIVE:
                stream.setsockopt(level, option, value)
        self._is_receiving = False
        self._is_sending = False
        self._unsent = b""  # the remainder of a payload that the system took only in part

    @property
    def peer(self) -> str:
        return self._peer

    async def send(self, payloads: Sequence[bytes]) -> None:
        if self._is_sending:
            raise trio.BusyResourceError("another task is sending on this channel")
        if self._unsent and payloads:  # the first of them is the one that was begun
            data, self._unsent = self._unsent + self._seal(encode_frames(payloads[1:])), b""
        else:
            data = self._seal(encode_frames(payloads))
        self._is_sending = True
        try:
            await self._stream.send_all(data)
        finally:
            self._is_sending = False

    def send_nowait(self, payload: bytes) -> None:
        if self._is_sending or self._unsent or len(payload) > MOST_AT_ONCE:
            raise trio.WouldBlock
        data = self._seal(encode_frames((payload,)))
        try:
            num_taken = os.write(self._descriptor(), data)
        except BlockingIOError:
            num_taken = 0
        except OSError as error:
            raise trio.BrokenResourceError(f"the connection is broken: {error}") from error
        if num_taken < len(data):
            self._unsent = data[num_taken:]
            raise trio.WouldBlock

    def limit_payloads(self, max_payload_bytes: int) -> None:
        self._decoder.max_payload_bytes = max_payload_bytes

    async def receive(self) -> list[bytes]:
        # trio detects a second reader only if both wait; otherwise two readers would mix up the bytes.
        if self._is_receiving:
            raise trio.BusyResourceError("another task is receiving on this channel")
        self._is_receiving = True
        try:
            self._decoder.check()
            while not (payloads := self._payloads_in(await self._read())):
                pass
            return payloads
        finally:
            self._is_receiving = False

    async def _read(self) -> bytes:
        """Return the next bytes that come, and none at their end."""
        while True:
            # Waiting first is a checkpoint, and usually necessary, since a party mostly sends in response.
            await trio.lowlevel.wait_readable(self._descriptor())
            try:
                return os.read(self._descriptor(), _READ_BYTES)
            except BlockingIOError:
                continue
            except OSError as error:
                raise trio.BrokenResourceError(f"the connection is broken: {error}") from error

    def _seal(self, frames: bytes) -> bytes:
        """Return the bytes that carry frames, to be sent once and in order."""
        return frames

    def _payloads_in(self, data: bytes) -> list[bytes]:
        """Return the payloads that bytes complete; raise what the end of the bytes means."""
        if not data:
            raise self._end()
        return self._decoder.feed(data)

    def _end(self) -> Exception:
        """Return the exception for a receiver at the end of the bytes."""
        if self._decoder.is_empty:
            return trio.EndOfChannel()
        return trio.BrokenResourceError("the connection ended inside a payload")

    def _descriptor(self) -> int:
        descriptor = self._stream.socket.fileno()
        if descriptor < 0:
            raise trio.ClosedResourceError("this end of the channel is closed")
        return descriptor

    def close(self) -> None:
        self._stream.socket.close()


class SocketListener(Listener):
    """A listener on a socket.

    Args:
        make_channel: makes a channel from a connection and the address of its other end.
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
        return self._address

    async def accept(self) -> Channel:
        stream = await accept_stream(self._listener)
        return self._make_channel(stream, peer_address(stream))

    async def aclose(self) -> None:
        await self._listener.aclose()


class TCPTransport(Transport):
    """Channels over TCP.

    By default it listens on the loopback interface, at a port that the system chooses.
    """

    name: ClassVar[str] = "tcp"  # pyright: ignore[reportIncompatibleVariableOverride]  a constant of the class
    is_over_tcp: ClassVar[bool] = True

    def stays_on_this_machine(self, address: str) -> bool:
        return is_loopback(address)

    async def open_listener(self, address: str | None = None) -> Listener:
        return SocketListener(await open_socket(address), self._accept)

    async def connect(self, address: str) -> Channel:
        host, port = parse_address(address)
        return self._reach(await open_stream(host, port), address)

    def _accept(self, stream: trio.SocketStream, peer: str) -> Channel:
        """Return the channel of a connection that came in."""
        return SocketChannel(stream, peer)

    def _reach(self, stream: trio.SocketStream, peer: str) -> Channel:
        """Return the channel of a connection that went out."""
        return SocketChannel(stream, peer)


async def open_socket(address: str | None) -> trio.SocketListener:
    """Listen at an address; without one on the loopback interface, at a port that the system chooses."""
    host, port = parse_address("127.0.0.1:0" if address is None else address)
    first, *other_listeners = await trio.open_tcp_listeners(port, host=host, backlog=_BACKLOG)
    for listener in other_listeners:  # of a name with several addresses; clients try all of them
        listener.socket.close()  # does not wait, so that a cancelled call closes all of them
    return first


async def accept_stream(listener: trio.SocketListener) -> trio.SocketStream:
    """Return the next connection; skip connections that fail before they are accepted.

    Raises:
        OSError: the listener is unusable.
        trio.ClosedResourceError: the listener was closed.
    """
    while True:
        try:
            return await listener.accept()
        except OSError as error:
            if error.errno in _OUT_OF_DESCRIPTORS:
                await trio.sleep(_PAUSE_SECONDS)
            elif error.errno not in _FAILED_BEFORE_ACCEPT:
                raise


async def open_stream(host: str, port: int) -> trio.SocketStream:
    """Connect; to an address in numbers at once, to a name by a race between its addresses."""
    try:
        family = socket.AF_INET if ipaddress.ip_address(host).version == 4 else socket.AF_INET6  # noqa: PLR2004  IP version 4
    except ValueError:
        return await trio.open_tcp_stream(host, port)
    connection = trio.socket.socket(family, socket.SOCK_STREAM)
    try:
        await connection.connect((host, port))
    except BaseException as error:
        connection.close()
        if isinstance(error, OSError):
            raise OSError(f"all attempts to connect to {format_address(host, port)} failed") from error
        raise
    return trio.SocketStream(connection)


def peer_address(stream: trio.SocketStream) -> str:
    """Return the address of a connection's other end, HOST:PORT."""
    try:
        host, port = stream.socket.getpeername()[:2]
    except OSError:  # it has gone already, which its reader will find out
        return "unknown"
    return format_address(host, port)
