"""HTTP/1.1 for the few pages of a session's server: one request a connection, a few lines long, within seconds.

Pages never stand in a session's way. Of connections that have not been answered a bounded number is there at a time,
each for a bounded time, and the oldest gives way: who asks does so at once, so that a connection that does not is the
first to go. What a request asks for may take the connection over, as a WebSocket does; it then has limits of its own.
"""

import contextlib
import dataclasses
import email.utils
import http
import math
from collections.abc import Awaitable, Callable, Generator, Mapping
from typing import Final, TypeAlias

import h11
import trio

from ..protocol.errors import ConfigurationError
from .addresses import is_loopback

TEXT: Final = "text/plain; charset=utf-8"
_MOST_LEFT_UNREAD: Final = 1 << 16
"""What is read of a connection after its answer: closing it with bytes unread would cut off what was sent."""
_READ_BYTES: Final = 1 << 12
_NO_HEADERS: Final[Mapping[str, str]] = {}


@dataclasses.dataclass(frozen=True)
class HttpAnswer:
    r"""The answer to a request.

    Args:
        body: text or bytes; by default the name of the status.
        headers: beside those that every answer has.

    Examples:
        >>> HttpAnswer(http.HTTPStatus.NOT_FOUND).content
        b'404 Not Found\n'
    """

    status: http.HTTPStatus
    body: str | bytes = ""
    content_type: str = TEXT
    headers: Mapping[str, str] = dataclasses.field(default_factory=lambda: _NO_HEADERS)

    @property
    def content(self) -> bytes:
        """Its body, or what its status is called."""
        body = self.body or f"{self.status.value} {self.status.phrase}\n"
        return body if isinstance(body, bytes) else body.encode()


Takeover: TypeAlias = Callable[[trio.abc.Stream, h11.Connection], Awaitable[None]]
"""Goes on with a connection after its request, and closes it."""
Responder: TypeAlias = Callable[[h11.Request], HttpAnswer | Takeover]
"""Answers a request, without waiting."""


class Room:
    """Room for a bounded number of conversations, of which the oldest gives way to a new one.

    Args:
        most: how many there are at a time.
        seconds: how long each of them may take.

    Examples:
        >>> async def hold_two():
        ...     room = Room(1)
        ...     with room.enter() as older, room.enter():
        ...         return older.cancel_called
        >>> trio.run(hold_two)
        True
    """

    def __init__(self, most: int, *, seconds: float = math.inf) -> None:
        self._most = most
        self._seconds = seconds
        self._open: dict[trio.CancelScope, None] = {}  # the oldest first

    def __len__(self) -> int:
        return len(self._open)

    @contextlib.contextmanager
    def enter(self) -> Generator[trio.CancelScope]:
        """Hold a conversation, which ends where its time is up or it has to give way."""
        if len(self._open) >= self._most:
            oldest = next(iter(self._open))
            del self._open[oldest]
            oldest.cancel()
        scope = trio.CancelScope(deadline=trio.current_time() + self._seconds)
        self._open[scope] = None
        try:
            with scope:
                yield scope
        finally:
            self._open.pop(scope, None)


class HttpConversations:
    """Connections that have not been answered yet.

    Args:
        respond: answers requests.
        most_at_once: how many there are at a time.
        seconds: how long each of them may take.
        most_request_bytes: of a request's lines.
    """

    def __init__(self, respond: Responder, *, most_at_once: int, seconds: float, most_request_bytes: int) -> None:
        self._respond = respond
        self._room = Room(most_at_once, seconds=seconds)
        self._most_request_bytes = most_request_bytes

    async def hold(self, stream: trio.abc.Stream) -> None:
        """Answer one connection's request, and close it; whatever it breaks by is its own business."""
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=self._most_request_bytes)
        takeover = None
        try:
            with self._room.enter(), contextlib.suppress(Exception):
                takeover = await self._answer(stream, connection)
        finally:
            if takeover is None:
                await trio.aclose_forcefully(stream)
        if takeover is not None:
            with contextlib.suppress(Exception):
                await takeover(stream, connection)

    async def _answer(self, stream: trio.abc.Stream, connection: h11.Connection) -> Takeover | None:
        """Answer a request, or return what takes its connection over."""
        is_head = False
        try:
            request = await _hear(stream, connection)
            is_head = request.method == b"HEAD"
            answer = self._respond(request)
        except h11.RemoteProtocolError as error:
            answer = HttpAnswer(http.HTTPStatus(error.error_status_hint))
        if not isinstance(answer, HttpAnswer):
            return answer
        await stream.send_all(write_answer(answer, connection, is_head=is_head))
        if isinstance(stream, trio.abc.HalfCloseableStream):
            await stream.send_eof()
        else:
            await stream.aclose()  # TLS says goodbye so
        num_unread = _MOST_LEFT_UNREAD
        while num_unread > 0 and (data := await stream.receive_some(num_unread)):
            num_unread -= len(data)
        return None


def host_of(request: h11.Request) -> str:
    """Return the host that a request is for, in small letters; empty where it names none."""
    return dict(request.headers).get(b"host", b"").decode("ascii", "replace").lower()


def is_meant_for(request: h11.Request, address: str) -> bool:
    """Return whether a request names this machine's own address, or is for whoever reaches it.

    A page of somebody else's, in a browser of this machine, can call a loopback address by a name of its own.
    """
    host = host_of(request)
    if not host or not is_loopback(address):
        return True
    for host_name in (host, f"{host}:80"):
        with contextlib.suppress(ConfigurationError):
            return is_loopback(host_name)
    return False


def write_answer(answer: HttpAnswer, connection: h11.Connection, *, is_head: bool = False) -> bytes:
    """Return an answer's bytes, after which the connection ends; to a HEAD without its body."""
    headers = {
        "Content-Type": answer.content_type,
        "Content-Length": str(len(answer.content)),
        "Cache-Control": "no-store",
        "Date": email.utils.formatdate(usegmt=True),
        "Connection": "close",
        **answer.headers,
    }
    if answer.status is http.HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = "GET, HEAD"
    head = h11.Response(status_code=answer.status, reason=answer.status.phrase, headers=list(headers.items()))
    body = b"" if is_head else answer.content
    events: tuple[h11.Event, ...] = (head, h11.Data(body), h11.EndOfMessage())
    return b"".join(connection.send(event) or b"" for event in events)


async def _hear(stream: trio.abc.Stream, connection: h11.Connection) -> h11.Request:
    """Return the request that a connection begins with.

    Raises:
        h11.RemoteProtocolError: it is none, or too long.
        trio.EndOfChannel: the other end has said nothing.
    """
    while (event := connection.next_event()) is h11.NEED_DATA:
        connection.receive_data(bytes(await stream.receive_some(_READ_BYTES)))
    if not isinstance(event, h11.Request):
        raise trio.EndOfChannel
    return event
