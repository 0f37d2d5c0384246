"""Channels over WebSockets, for browsers. A payload is a binary message; addresses are HOST:PORT, as for TCP.

The number of bytes on the wire must not depend on a payload's content. So no extension is accepted, in particular no
compression, which browsers always offer: reports of the same size would travel as 12 or as 137 bytes.

A listener also answers requests for pages (`WebTransport.respond`). It refuses a request with another `Host`, by which
a foreign page could reach a loopback address, and a WebSocket with another `Origin`, by which a foreign page could act
for its visitor. A WebSocket is accepted once `greet` has identified the peer. Each gets a ping every `PING_SECONDS`;
one from which nothing has come for `GONE_SECONDS` is broken. A browser's closing message is not reliable, so a protocol
must mark the end of its conversations.

Source: RFC 6455.
"""

import contextlib
import copy
import functools
import http
import os
import ssl
import weakref
from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar, Final, TypeAlias, cast

import h11
import trio
from wsproto.connection import Connection, ConnectionState, ConnectionType
from wsproto.events import AcceptConnection, BytesMessage, CloseConnection, Ping, Pong, Request, TextMessage
from wsproto.handshake import H11Handshake
from wsproto.utilities import LocalProtocolError, generate_accept_token
from wsproto.utilities import RemoteProtocolError as HandshakeFault

from ..protocol.errors import MalformedMessageError
from .abc import Channel, Listener, Transport
from .addresses import format_address, is_loopback, parse_address
from .framing import MAX_FRAME_BYTES, check_size, refused_size
from .http_server import HttpAnswer, HttpConversations, Responder, Room, Takeover, host_of, is_meant_for
from .tcp import MOST_AT_ONCE, accept_stream, open_socket, open_stream, peer_address

SESSION_PATH: Final = "/session"
"""The path of a listener's WebSockets."""
SUBPROTOCOL: Final = "psephos"
PING_SECONDS: Final = 20.0
GONE_SECONDS: Final = 60.0
GREETING_SECONDS: Final = 10.0
"""The time limits for TLS's handshake from TCP's connection on, for a request, and for `greet` of a WebSocket."""
MOST_STRANGERS: Final = 512
"""The most connections without a request at a time; the same limit holds for WebSockets before `greet` has ended."""
_MOST_REQUEST_BYTES: Final = 1 << 14
_READ_BYTES: Final = 1 << 16
_MOST_FRAMES: Final = 256
"""The most control frames and frames of incomplete payloads in `PING_SECONDS`. Each takes as much time as a payload,
and browsers send few."""
_VERSION: Final = b"13"

Greeting: TypeAlias = Callable[[Channel], Awaitable[str | None]]
"""A function that identifies the peer of a new channel; it returns its fingerprint, or None if it refused the peer."""


class WebChannel(Channel):
    """Payloads as binary messages of a WebSocket, whose opening handshake is over.

    Args:
        raw: the connection's socket.
        stream: the same, or TLS on it.
        websocket: the RFC 6455 protocol object, with bytes that came after the handshake.
        owed: bytes to send before the first payload.

    Attributes:
        peer_fingerprint: the fingerprint that `greet` returned.
    """

    __slots__ = (
        "__weakref__",
        "_counted_from",
        "_failure",
        "_fingerprint",
        "_heard_at",
        "_is_closed",
        "_is_early",
        "_is_receiving",
        "_is_sending",
        "_limit",
        "_num_frames",
        "_owed",
        "_parts",
        "_peer",
        "_raw",
        "_size",
        "_stream",
        "_turn",
        "_unsent",
        "_websocket",
    )

    def __init__(
        self, raw: trio.SocketStream, stream: trio.abc.Stream, peer: str, websocket: Connection, owed: bytes = b""
    ) -> None:
        self._raw = raw
        self._stream = stream
        self._peer = peer
        self._websocket = websocket
        self._is_early = True  # until bytes after the handshake are processed
        self._limit = MAX_FRAME_BYTES
        self._parts: list[bytes] = []  # of an incomplete message
        self._size = 0
        self._failure: Exception | None = None
        self._fingerprint = ""
        self._heard_at = self._counted_from = trio.current_time()
        self._num_frames = 0
        self._is_closed = self._is_receiving = self._is_sending = False
        self._turn = trio.Lock()
        self._owed = owed  # also control frames, or their unsent remainder, which go with the next payload
        self._unsent = b""  # as in `SocketChannel`

    @property
    def peer(self) -> str:
        return self._peer

    @property
    def peer_fingerprint(self) -> str:
        return self._fingerprint

    @peer_fingerprint.setter
    def peer_fingerprint(self, fingerprint: str) -> None:
        self._fingerprint = fingerprint

    async def send(self, payloads: Sequence[bytes]) -> None:
        if self._is_sending:
            raise trio.BusyResourceError("another task is sending on this channel")
        for payload in payloads:
            check_size(payload)
        self._check_open()
        parts = [self._owed, self._unsent]
        self._owed = b""
        if self._unsent and payloads:  # the first of them is the one that was begun
            payloads, self._unsent = payloads[1:], b""
        parts += map(self._frame, payloads)
        self._is_sending = True
        try:
            await self._send_all(b"".join(parts))
        finally:
            self._is_sending = False

    def send_nowait(self, payload: bytes) -> None:
        self._check_open()
        is_busy = self._is_sending or self._turn.locked() or bool(self._unsent)
        if self._stream is not self._raw or is_busy or len(payload) > MOST_AT_ONCE:
            raise trio.WouldBlock
        data, self._owed = self._owed + self._frame(payload), b""
        self._unsent = self._rest_of(data)
        if self._unsent:
            raise trio.WouldBlock

    def limit_payloads(self, max_payload_bytes: int) -> None:
        self._limit = max_payload_bytes

    async def receive(self) -> list[bytes]:
        if self._is_receiving:
            raise trio.BusyResourceError("another task is receiving on this channel")
        self._is_receiving = True
        try:
            if self._is_early:
                await trio.lowlevel.checkpoint()
                self._is_early = False
                if payloads := self._take():
                    return payloads
            while True:
                if self._is_closed:
                    raise trio.ClosedResourceError("this end of the channel is closed")
                if self._failure is not None:
                    raise copy.copy(self._failure)
                if payloads := self._take_from(await self._read()):
                    return payloads
        finally:
            self._is_receiving = False

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            if self._stream is self._raw and not self._is_sending and not self._unsent:
                with contextlib.suppress(OSError, LocalProtocolError):  # the closing message is not essential
                    os.write(self._raw.socket.fileno(), self._websocket.send(CloseConnection(code=1000)))
            self._raw.socket.close()

    def give_up(self) -> None:
        """Break the channel: the other end answers no ping."""
        self._failure = trio.BrokenResourceError(f"nothing has come for {GONE_SECONDS:g} s")
        self._raw.socket.close()

    @property
    def silent_seconds(self) -> float:
        """How long nothing has come; 0 of a channel that has ended."""
        has_ended = self._is_closed or self._failure is not None
        return 0.0 if has_ended else trio.current_time() - self._heard_at

    async def ping(self) -> None:
        """Ask the other end whether it is there; nothing while something else is being sent."""
        if self._is_closed or self._failure is not None or self._is_sending or self._unsent or self._turn.locked():
            return
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError, LocalProtocolError):
            await self._send_all(self._websocket.send(Ping()))

    def _check_open(self) -> None:
        if self._is_closed:
            raise trio.ClosedResourceError("this end of the channel is closed")
        if self._websocket.state is not ConnectionState.OPEN or isinstance(self._failure, trio.BrokenResourceError):
            raise trio.BrokenResourceError("the other end has closed")

    def _frame(self, payload: bytes) -> bytes:
        return self._websocket.send(BytesMessage(payload))

    def _rest_of(self, data: bytes) -> bytes:
        """Write what the system takes at once, and return the rest."""
        try:
            num_taken = os.write(self._raw.socket.fileno(), data)
        except BlockingIOError:
            num_taken = 0
        except OSError as error:
            raise trio.BrokenResourceError(f"the connection is broken: {error}") from error
        return data[num_taken:]

    async def _send_all(self, data: bytes) -> None:
        async with self._turn:
            try:
                await self._stream.send_all(data)
            except trio.ClosedResourceError:
                if self._is_closed:
                    raise
                raise trio.BrokenResourceError("the connection is broken") from None

    async def _read(self) -> bytes:
        """Return the next bytes that come, and none at their end."""
        try:
            return bytes(await self._stream.receive_some(_READ_BYTES))
        except (trio.ClosedResourceError, trio.BrokenResourceError):
            if self._is_closed:
                raise trio.ClosedResourceError("this end of the channel is closed") from None
            if self._failure is not None:
                raise copy.copy(self._failure) from None
            raise

    def _take_from(self, data: bytes) -> list[bytes]:
        """Return the payloads that bytes complete; raise what ends the channel, unless payloads come before it."""
        if data:
            self._heard_at = now = trio.current_time()
            if now - self._counted_from > PING_SECONDS:
                self._counted_from, self._num_frames = now, 0
            self._websocket.receive_data(data)
            payloads = self._take()
        else:
            payloads = list[bytes]()
            self._failure = self._end()
        if self._failure is not None and not payloads:
            raise copy.copy(self._failure)
        return payloads

    def _take(self) -> list[bytes]:
        payloads: list[bytes] = []
        for event in self._websocket.events():
            self._num_frames += not isinstance(event, BytesMessage) or event.frame_finished
            if self._num_frames > _MOST_FRAMES:
                self._failure = MalformedMessageError(f"more than {_MOST_FRAMES} frames without a payload")
                break
            match event:
                case BytesMessage():
                    self._size += len(event.data)
                    if self._size > self._limit:
                        self._failure = refused_size(self._size, limit=self._limit)
                        break
                    self._parts.append(bytes(event.data))
                    if event.message_finished:
                        payloads.append(b"".join(self._parts))
                        self._parts.clear()
                        self._size = self._num_frames = 0
                case Ping():  # over TLS the answer waits for the next payload; browsers send no pings
                    self._owed = self._websocket.send(event.response())
                    if self._stream is self._raw and not self._is_sending and not self._unsent:
                        self._owed = self._rest_of(self._owed)
                case Pong():
                    pass
                case CloseConnection() if self._websocket.state is ConnectionState.OPEN:
                    self._failure = MalformedMessageError(f"that is no WebSocket's frame: {event.reason}")
                    break
                case CloseConnection():
                    self._failure = self._end()
                    break
                case TextMessage():
                    self._failure = MalformedMessageError("payloads are binary messages, and this one is text")
                    break
                case _:
                    pass
        return payloads

    def _end(self) -> Exception:
        """Return the exception for a receiver at the end of the bytes."""
        if self._parts:
            return trio.BrokenResourceError("the connection ended inside a payload")
        return trio.EndOfChannel()


class WebListener(Listener):
    """A listener for WebSockets, which also answers requests for pages.

    Args:
        listener: the socket.
        transport: the transport, with its settings.
    """

    def __init__(self, listener: trio.SocketListener, transport: "WebTransport") -> None:
        self._listener = listener
        self._transport = transport
        host, port = listener.socket.getsockname()[:2]
        self._address = format_address(host, port)
        self.origin = transport.origin or f"http{'s' * (transport.tls is not None)}://{self._address}"
        """The origin that a browser states for a page from this listener."""
        self._hosts = {self.origin.partition("://")[2], self._address}
        self._channels = weakref.WeakSet[WebChannel]()
        self._arrivals, self._accepted = trio.open_memory_channel[WebChannel](1 << 20)
        self._scope = trio.CancelScope()
        self._conversations = HttpConversations(
            self._respond,
            most_at_once=MOST_STRANGERS,
            seconds=GREETING_SECONDS,
            most_request_bytes=_MOST_REQUEST_BYTES,
        )
        self._strangers = Room(MOST_STRANGERS, seconds=GREETING_SECONDS)
        # A system task, as for TLS's handshakes; it ends with the listener.
        trio.lowlevel.spawn_system_task(self._run)

    @property
    def address(self) -> str:
        return self._address

    async def accept(self) -> Channel:
        return await self._accepted.receive()

    async def aclose(self) -> None:
        self._scope.cancel()
        self._listener.socket.close()
        with contextlib.suppress(trio.WouldBlock, trio.ClosedResourceError):
            while True:
                self._accepted.receive_nowait().close()
        self._accepted.close()
        await trio.lowlevel.checkpoint()

    async def _run(self) -> None:
        # An exception here would end all of trio's tasks.
        with contextlib.suppress(Exception), self._scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._keep_alive, nursery)
                while True:
                    stream = await accept_stream(self._listener)
                    nursery.start_soon(self._converse, stream)

    async def _keep_alive(self, nursery: trio.Nursery) -> None:
        while True:
            await trio.sleep(PING_SECONDS)
            for channel in list(self._channels):
                if channel.silent_seconds > GONE_SECONDS:
                    channel.give_up()
                else:
                    nursery.start_soon(channel.ping)

    async def _converse(self, raw: trio.SocketStream) -> None:
        stream: trio.abc.Stream = raw
        if self._transport.tls is not None:
            stream = trio.SSLStream(raw, self._transport.tls, server_side=True, https_compatible=True)
        await self._conversations.hold(stream)

    def _respond(self, request: h11.Request) -> HttpAnswer | Takeover:
        host = host_of(request)
        is_ours = host in self._hosts if self._transport.origin else is_meant_for(request, self._address)
        if not is_ours:
            return HttpAnswer(http.HTTPStatus.MISDIRECTED_REQUEST)
        if request.target.partition(b"?")[0] == SESSION_PATH.encode():
            origin = self._transport.origin or f"{self.origin.partition('://')[0]}://{host}"
            return self._upgrade(request, origin)
        if self._transport.respond is None:
            return HttpAnswer(http.HTTPStatus.NOT_FOUND)
        return self._transport.respond(request)

    def _upgrade(self, request: h11.Request, origin: str) -> HttpAnswer | Takeover:
        headers = dict(request.headers)
        protocols = [each.strip() for each in headers.get(b"sec-websocket-protocol", b"").split(b",")]
        key = headers.get(b"sec-websocket-key", b"")
        is_websocket = request.method == b"GET" and headers.get(b"upgrade", b"").lower() == b"websocket"
        if not is_websocket or not key or headers.get(b"sec-websocket-version") != _VERSION:
            hint = {"Upgrade": "websocket", "Sec-WebSocket-Version": _VERSION.decode()}
            return HttpAnswer(http.HTTPStatus.UPGRADE_REQUIRED, headers=hint)
        if SUBPROTOCOL.encode() not in protocols:
            return HttpAnswer(http.HTTPStatus.BAD_REQUEST, f"the subprotocol has to be {SUBPROTOCOL}\n")
        if headers.get(b"origin", b"").decode("ascii", "replace").lower() != origin:
            return HttpAnswer(http.HTTPStatus.FORBIDDEN, f"this server is for pages of {origin}\n")
        return functools.partial(self._open_channel, generate_accept_token(key))

    async def _open_channel(self, token: bytes, stream: trio.abc.Stream, connection: h11.Connection) -> None:
        """Accept a WebSocket, and hand it over once it was greeted."""
        # `_converse` made the stream.
        raw = cast("trio.SSLStream[trio.SocketStream]", stream).transport_stream if self._transport.tls else stream
        assert isinstance(raw, trio.SocketStream)  # noqa: S101  the same
        websocket = Connection(ConnectionType.SERVER, [], connection.trailing_data[0])
        headers = [
            (b"Upgrade", b"websocket"),
            (b"Connection", b"Upgrade"),
            (b"Sec-WebSocket-Accept", token),
            (b"Sec-WebSocket-Protocol", SUBPROTOCOL.encode()),
        ]
        answer = h11.InformationalResponse(status_code=101, headers=headers, reason=b"Switching Protocols")
        channel = WebChannel(raw, stream, peer_address(raw), websocket, connection.send(answer) or b"")
        is_known = False
        try:
            with self._strangers.enter():
                if self._transport.greet is None:
                    await channel.send([])
                elif (fingerprint := await self._transport.greet(channel)) is not None:
                    channel.peer_fingerprint = fingerprint
                else:
                    return
                self._arrivals.send_nowait(channel)
                self._channels.add(channel)
                is_known = True
        finally:
            if not is_known:
                channel.close()


class WebTransport(Transport):
    """Channels over WebSockets.

    Args:
        respond: answers requests for pages; without it there are no pages.
        greet: identifies the peer of a new channel; without it peers are not authenticated.
        origin: the public origin of the pages, such as `https://vote.example.org`; by default the listener's address.
        tls: the TLS context for HTTPS; without it, a proxy must provide HTTPS, except on loopback.

    Examples:
        >>> async def greet_each_other():
        ...     transport = WebTransport()
        ...     async with await transport.open_listener() as listener:
        ...         async with await transport.connect(listener.address) as near, await listener.accept() as far:
        ...             await near.send([b"hello"])
        ...             return await far.receive()
        >>> trio.run(greet_each_other)
        [b'hello']
    """

    name: ClassVar[str] = "web"  # pyright: ignore[reportIncompatibleVariableOverride]  a constant of the class
    is_over_tcp: ClassVar[bool] = True

    def __init__(
        self,
        *,
        respond: Responder | None = None,
        greet: Greeting | None = None,
        origin: str = "",
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.respond = respond
        self.greet = greet
        self.origin = origin
        self.tls = tls

    def stays_on_this_machine(self, address: str) -> bool:
        return is_loopback(address)

    async def open_listener(self, address: str | None = None) -> WebListener:
        return WebListener(await open_socket(address), self)

    async def connect(self, address: str) -> Channel:
        """Return a channel to a listener without TLS, for clients that are no browsers; it sends the expected origin.

        Raises:
            OSError: nothing listens there, or not for WebSockets.
            ValueError: it is no address.
        """
        stream = await open_stream(*parse_address(address))
        try:
            handshake = H11Handshake(ConnectionType.CLIENT)
            origin = self.origin or f"http://{address}"
            request = Request(
                host=origin.partition("://")[2],
                target=SESSION_PATH,
                subprotocols=[SUBPROTOCOL],
                extra_headers=[(b"Origin", origin.encode())],
            )
            await stream.send_all(handshake.send(request))
            while True:
                data = await stream.receive_some(_READ_BYTES)
                handshake.receive_data(data)
                if (event := next(handshake.events(), None)) is not None or not data:
                    break
            if not isinstance(event, AcceptConnection):
                raise OSError(f"there are no WebSockets of a session at {address}")  # noqa: TRY301  closed below, as all
        except BaseException as error:
            stream.socket.close()
            if isinstance(error, (trio.BrokenResourceError, HandshakeFault)):
                raise OSError(f"the connection to {address} broke: {error}") from error
            raise
        assert handshake.connection is not None  # noqa: S101  it was accepted
        return WebChannel(stream, stream, address, handshake.connection)
