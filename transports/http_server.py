"""HTTP/1.1 for the few pages of a session's server: one short request per connection, within seconds.

Pages never block a session. The number of unanswered connections is bounded, and so is their duration; the oldest is
closed for a new one, since an honest client sends its request at once. A response may take the connection over, such as
a WebSocket, which then has other limits.
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
"""The bytes that are read after the answer, since closing a connection with unread bytes could cut off the answer."""
_READ_BYTES: Final = 1 << 12
_NO_HEADERS: Final[Mapping[str, str]] = {}


@dataclasses.dataclass(frozen=True)
class HttpAnswer:
    r"""The answer to a request.

    Args:
        body: text or bytes; by default the name of the status.
        headers: further headers, in addition to those of every answer.

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
"""A function that continues a connection after its request, and closes it."""
Responder: TypeAlias = Callable[[h11.Request], HttpAnswer | Takeover]
"""A function that answers a request, without waiting."""


class Room:
    """A limit for concurrent conversations: at the limit, a new one ends the oldest.

    Args:
        most: the most conversations at a time.
        seconds: the greatest duration of each.

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
        respond: the function that answers requests.
        most_at_once: the most connections at a time.
        seconds: the greatest duration of each.
        most_request_bytes: the most bytes of a request's lines.
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
            await stream.aclose()  # sends the closing alert of TLS
        num_unread = _MOST_LEFT_UNREAD
        while num_unread > 0 and (data := await stream.receive_some(num_unread)):
            num_unread -= len(data)
        return None


def host_of(request: h11.Request) -> str:
    """Return the host that a request is for, in small letters; empty where it names none."""
    return dict(request.headers).get(b"host", b"").decode("ascii", "replace").lower()


def is_meant_for(request: h11.Request, address: str) -> bool:
    """Return whether the `Host` of a request is the listener's address, or the listener accepts any.

    Otherwise a foreign page in a browser on this machine could reach a loopback address under another name (DNS
    rebinding).
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
        h11.RemoteProtocolError: it is no request, or too long.
        trio.EndOfChannel: the other end closed without a request.
    """
    while (event := connection.next_event()) is h11.NEED_DATA:
        connection.receive_data(bytes(await stream.receive_some(_READ_BYTES)))
    if not isinstance(event, h11.Request):
        raise trio.EndOfChannel
    return event
