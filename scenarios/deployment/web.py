"""`serve --web`: the ballot page, the page for observers, and the channels of browsers.

A browser acts as a party only after it has proven that it holds the key with which its link was enrolled. That key is
on disk before the browser is admitted. The first device that uses a link enrolls; any other is refused with that
reason. The pages show what `SessionStatus` has: nothing private, and no names.

All pages are static files of Psephos. The server never inserts text from voters or operators into HTML; scripts read it
as JSON and show it as text.
"""

import base64
import collections
import contextlib
import hashlib
import hmac
import http
import json
import math
import os
import secrets
import ssl
import time
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Final, Self

import h11
import msgspec
import trio

from ...agents.masking import Cryptography
from ...agents.rollback_guard import sync_folder
from ...agents.session_status import SessionStatus
from ...protocol.errors import ConfigurationError, RemoteProtocolError, refuse
from ...protocol.masking import check_signature_key
from ...protocol.messages import MAX_GREETING_BYTES, Abort, encode
from ...protocol.roster import Roster
from ...protocol.rules import JOIN
from ...transports.abc import Channel
from ...transports.addresses import is_loopback, parse_address
from ...transports.http_server import HttpAnswer, Room, Takeover
from ...transports.web import MOST_STRANGERS, WebListener, WebTransport
from ..reading.files import check_regular
from .common import name_address_in_errors
from .links import (
    KEYS_FILE,
    NOTICE_SECONDS,
    VOTE_PATH,
    LinkTable,
    check_origin,
    page_files,
    read_links,
    read_terms,
    secrets_file_of,
)

_TAG_OF_CHALLENGE, _TAG_OF_ENROLMENT, _TAG_OF_ADMISSION = 20, 21, 22
_NONCE_BYTES: Final = 32
_CONTEXT: Final = b"psephos web party 1\0"
_PENALTY_SECONDS: Final = 1.0
"""Delay before a wrong link is refused; each guess also takes a connection and a signature."""
_COMMENT_SECONDS: Final = 20.0
_SEND_SECONDS: Final = 5.0
_MOST_WATCHERS: Final = 512
_STRANGER: Final = "This link opens nothing here. Open the whole link, and the newest one that you were sent."
_CLOSED: Final = (
    "The list of voters is closed, with another device's key for this link, or with none. If you have not opened it "
    "before, tell whoever runs the vote."
)
_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
_RESULTS: Final = ("result.json", "estimates.svg", "estimates-narrow.svg")
"""The files of a run's folder with released results; they do not depend on who took part."""
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class _Enrolment(msgspec.Struct, frozen=True, array_like=True, tag=_TAG_OF_ENROLMENT, forbid_unknown_fields=True):
    """A browser's answer to the server's challenge."""

    place: Annotated[int, msgspec.Meta(ge=0)]
    key: bytes
    secret: bytes | None
    signature: bytes

    def __repr__(self) -> str:
        return f"{type(self).__name__}(place={self.place})"


class _EnrolledKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of `KEYS_FILE`: the party's index, its key, and the SHA-256 of the link's secret."""

    place: int
    key: str
    link: str


class BrowserKeys:
    """Authenticates browsers by their keys, and enrolls those that use a link for the first time.

    Args:
        folder: the roster's folder.
        table: the records of its links.
        origin: the page's origin, as browsers sign it.

    Attributes:
        refusal: why new browsers are refused, as a sentence; empty while the session runs.
    """

    def __init__(self, folder: Path, table: LinkTable, roster: Roster, *, origin: str) -> None:
        self.refusal = ""
        self._folder = folder
        self._roster = roster
        self._about = hashlib.sha256(origin.encode()).digest()
        self._terms = base64.urlsafe_b64decode(table.terms + "=")
        self._set_links(table)
        self._file_state = self._state_of_file()
        self._lock = trio.Lock()
        self._channels: dict[int, weakref.WeakSet[Channel]] = collections.defaultdict(weakref.WeakSet)
        self._keys: dict[int, _EnrolledKey] = {}  # keys on disk
        self._claims: dict[int, _EnrolledKey] = {}  # keys that are not on disk yet, and not confirmed to browsers
        path = folder / KEYS_FILE
        check_regular(path, field="--roster")
        try:
            self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW)
            whole, _, torn = path.read_bytes().rpartition(b"\n")
            if torn:  # an incomplete last line from a crash, which was never confirmed
                os.truncate(self._file, len(whole) + bool(whole))
            for line in whole.splitlines():
                key = msgspec.json.decode(line, type=_EnrolledKey)
                self._keys[key.place] = key
            sync_folder(folder)
        except (OSError, ValueError) as error:
            allowed = f"The keys in {path} cannot be read ({error}). Restore the file, or draw up a new roster."
            raise ConfigurationError(field="--roster", value=str(path), allowed=allowed) from None

    @property
    def enrolled(self) -> dict[int, bytes]:
        """The keys of the links that were opened, by place."""
        known = self._keys.items()
        return {
            place: bytes.fromhex(key.key)
            for place, key in known
            if place in self._links and key.link == self._links[place].secret
        }

    @property
    def num_links(self) -> int:
        """How many links there are."""
        return len(self._links)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    async def greet(self, channel: Channel) -> str | None:
        """Return the fingerprint of a new channel's party; None if it was refused with a reason."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        channel.limit_payloads(MAX_GREETING_BYTES)
        with contextlib.suppress(trio.EndOfChannel, trio.BrokenResourceError, RemoteProtocolError):
            if self.refusal:
                await channel.send([encode(Abort(self.refusal))])
                return None
            await channel.send([msgspec.msgpack.encode((_TAG_OF_CHALLENGE, nonce))])
            payloads = await channel.receive()
            try:
                if len(payloads) != 1:
                    raise ValueError(_STRANGER)  # noqa: TRY301  told below, as all
                enrolment = msgspec.msgpack.decode(payloads[0], type=_Enrolment)
                is_new = await self._admit(enrolment, nonce)
            except (ValueError, OSError) as error:
                is_told = type(error) is ValueError  # raised here, with a sentence for the user
                reason = str(error) if is_told else _STRANGER
                if isinstance(error, OSError):
                    reason = "The server cannot write down this device's key. Tell whoever runs the vote; try again."
                await trio.sleep(_PENALTY_SECONDS)
                await channel.send([encode(Abort(reason))])
                return None
            place = enrolment.place
            row: list[int] = self._roster.public[place].tolist()
            self._channels[place].add(channel)
            await channel.send([msgspec.msgpack.encode((_TAG_OF_ADMISSION, self._roster.names[place], row, is_new))])
            return self._links[place].fingerprint
        return None

    async def _admit(self, enrolment: _Enrolment, nonce: bytes) -> bool:
        """Authenticate a browser, and return whether it was enrolled now; ValueError: it is refused.

        Raises:
            OSError: its key cannot be written.
        """
        place, key = enrolment.place, enrolment.key
        link = self._links.get(place)
        signed = _CONTEXT + nonce + self._terms + place.to_bytes(8, "big") + self._about
        if link is None or not _is_signed(key, enrolment.signature, signed):
            raise ValueError(_STRANGER)
        digest = hashlib.sha256(enrolment.secret or b"").hexdigest()
        has_secret = enrolment.secret is not None and hmac.compare_digest(digest, link.secret)
        if has_secret and self._roster.keys is not None and self._roster.keys[place] != key:
            raise ValueError(_CLOSED)
        known = self._claims.get(place) or self._keys.get(place)
        if known is None or known.link != link.secret:
            known_keys = (*self._keys.values(), *self._claims.values())
            if not has_secret or any(each.key == key.hex() and each.place != place for each in known_keys):
                raise ValueError(_STRANGER)
            self._claims[place] = known = _EnrolledKey(place, key.hex(), link.secret)
        elif not hmac.compare_digest(known.key, key.hex()):
            reason = "Another device uses this link. If it is not yours, ask whoever sent you the link for a new one."
            raise ValueError(reason if has_secret else _STRANGER)
        if self._keys.get(place) == known:
            return False
        async with self._lock:
            if self._claims.get(place) == known:  # otherwise it was written in another batch, or writing failed
                batch = dict(self._claims)
                try:
                    await trio.to_thread.run_sync(self._keep, map(msgspec.json.encode, batch.values()))
                    self._keys |= batch
                finally:
                    for each in batch:
                        del self._claims[each]
        if self._keys.get(place) != known:
            raise OSError("the key was not written")
        if self._links.get(place) != link:  # the link was replaced in the meantime
            raise ValueError(_STRANGER)
        return True

    def look_for_replaced_links(self) -> None:
        """Reload the links if one was replaced, and disconnect the clients of the old link."""
        state = self._state_of_file()
        if state == self._file_state:
            return
        with contextlib.suppress(ConfigurationError):  # possibly half-written; it is read again after the next change
            table = read_links(self._folder)
            old_links = self._links
            if table is not None:
                self._set_links(table)
                for place, link in old_links.items():
                    if self._links.get(place) != link:
                        for channel in self._channels.pop(place, ()):
                            channel.close()
        self._file_state = state

    def _set_links(self, table: LinkTable) -> None:
        self._links = {link.place: link for link in table.links}

    def _state_of_file(self) -> tuple[int, int]:
        try:
            status = secrets_file_of(self._folder).stat()
        except OSError:
            return 0, 0
        return status.st_ino, status.st_mtime_ns

    def _keep(self, lines: Iterable[bytes]) -> None:
        """Append lines durably; OSError: this failed, and none was appended."""
        size = os.fstat(self._file).st_size
        try:
            data = b"".join(line + b"\n" for line in lines)
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, size)
            raise


class WebSite:
    """The pages of a session, and the listener for its browsers.

    Args:
        address: HOST:PORT to listen on.
        origin: the pages' public origin.
        tls: the TLS context for HTTPS.
        keys: the browsers' keys.
        terms: the bytes of /session.json.
        hours: how long the pages stay after the session (`show_result`), which the observers' page states.

    Closing the site closes the file of keys.
    """

    def __init__(
        self,
        address: str,
        *,
        origin: str,
        tls: ssl.SSLContext | None,
        keys: BrowserKeys,
        terms: bytes,
        hours: float = 0.0,
    ) -> None:
        self.hours = hours
        self.most_connections: Final = 2 * MOST_STRANGERS + _MOST_WATCHERS
        """The most simultaneous connections that do not belong to a party."""
        self.address = address
        self.origin = origin
        self._keys = keys
        files = {name: _file(name, content) for name, content in page_files().items()}
        self._files = {f"{VOTE_PATH}/{name}": file for name, file in files.items()}
        for path, name in ((VOTE_PATH, "index.html"), ("/", "live.html")):
            self._files[path] = files[name]
        self._files["/session.json"] = _file("session.json", terms)
        self._facts: dict[str, Any] = {}
        self._event = b""
        self._has_changed = trio.Event()
        self._watchers = Room(_MOST_WATCHERS)
        self._transport = WebTransport(respond=self._respond, greet=keys.greet, origin=origin, tls=tls)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._keys.close()

    def __str__(self) -> str:
        """The pages' address and purpose."""
        return f"ballots at {self.origin}{VOTE_PATH}, and for whoever watches {self.origin}/, from {self.address}"

    async def open_listener(self) -> WebListener:
        """Start to listen; ConfigurationError, OSError: as `Transport.open_listener`."""
        with name_address_in_errors(self.address, field="--web"):
            listener = await self._transport.open_listener(self.address)
        self.address = listener.address
        return listener

    async def register(self, seconds: float, tell: Callable[[str], object]) -> dict[int, bytes]:
        """Hold the pages of a masked session until all links were opened; return the keys of browsers, by place.

        Args:
            seconds: after which it returns though some were not.
            tell: hears, as sentences, where the pages are and how many links were opened.
        """
        num_told = -1
        deadline = time.time() + seconds
        async with await self.open_listener() as listener, trio.open_nursery() as nursery:
            tell(f"{self}; {seconds:,g} s to open the {self._keys.num_links} links (phases.{JOIN}.deadline_seconds)")
            nursery.start_soon(_hold_channels, listener, nursery)
            with trio.move_on_after(seconds):
                while (num_opened := len(self._keys.enrolled)) < self._keys.num_links:
                    if num_opened > num_told:
                        num_told = num_opened
                        tell(f"{num_opened} of {self._keys.num_links} links were opened")
                    facts = {
                        "state": "registering",
                        "phase": JOIN,
                        "deadline": None if math.isinf(deadline) else deadline,
                    }
                    self._publish({**facts, "parties": self._keys.num_links, "joined": num_opened, "reported": None})
                    self._keys.look_for_replaced_links()
                    await trio.sleep(NOTICE_SECONDS)
            nursery.cancel_scope.cancel()
        return self._keys.enrolled

    async def watch(self, tell: Callable[[], SessionStatus]) -> None:
        """Update the observers' page, without end; runs next to the session."""
        try:
            while True:
                self._publish(_facts_of(tell()))
                self._keys.look_for_replaced_links()
                await trio.sleep(NOTICE_SECONDS)
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + NOTICE_SECONDS):
                self._publish(_facts_of(tell()))  # the final status
                if len(self._watchers):
                    await trio.sleep_forever()

    async def show_result(self, verdict: str, folder: Path) -> None:
        """Show the session's result for `hours`, and tell voters who arrive that the vote is over.

        Args:
            verdict: the released result as a sentence.
            folder: the run's folder, with the released result in `result.json` and its pictures.
        """
        self._keys.refusal = f"The vote is over. Its result is at {self.origin}/"
        for name in _RESULTS:
            with contextlib.suppress(FileNotFoundError):  # the run may have no pictures
                self._files[f"/{name}"] = _file(name, (folder / name).read_bytes())
        result = {"verdict": verdict, "has_picture": f"/{_RESULTS[-1]}" in self._files}
        self._publish({**self._facts, "result": result})
        with trio.move_on_after(3600 * self.hours):
            async with await self.open_listener():
                await trio.sleep_forever()

    def _publish(self, facts: dict[str, Any]) -> None:
        self._facts = facts
        event = b"data: " + json.dumps({**facts, "stays": self.hours > 0}).encode() + b"\n\n"
        if event != self._event:
            self._event = event
            self._has_changed.set()
            self._has_changed = trio.Event()

    def _respond(self, request: h11.Request) -> HttpAnswer | Takeover:
        path = request.target.partition(b"?")[0].decode("ascii", "replace")
        if request.method not in {b"GET", b"HEAD"}:
            return HttpAnswer(http.HTTPStatus.METHOD_NOT_ALLOWED, headers=_HEADERS)
        if path == "/events" and request.method == b"GET":
            return self._stream_events
        return self._files.get(path) or HttpAnswer(http.HTTPStatus.NOT_FOUND, headers=_HEADERS)

    async def _stream_events(self, stream: trio.abc.Stream, connection: h11.Connection) -> None:
        """Send updates to an observer, until it disconnects, or stops reading."""
        headers = {**_HEADERS, "Content-Type": "text/event-stream", "Cache-Control": "no-store"}
        headers |= {"X-Accel-Buffering": "no", "Connection": "close"}
        head = h11.Response(status_code=200, headers=list(headers.items()))
        data, seen = connection.send(head) or b"", b""
        try:
            with self._watchers.enter():
                while True:
                    has_changed = self._has_changed
                    event = self._event if self._event != seen else b":\n\n"
                    seen = self._event
                    data += connection.send(h11.Data(event)) or b""
                    with trio.fail_after(_SEND_SECONDS):
                        await stream.send_all(data)
                    data = b""
                    with trio.move_on_after(_COMMENT_SECONDS):
                        await has_changed.wait()
        finally:
            await trio.aclose_forcefully(stream)


async def _hold_channels(listener: WebListener, nursery: trio.Nursery) -> None:
    """Keep pages connected that have voted; what they say is answered in the session."""

    async def hold(channel: Channel) -> None:
        async with channel:
            with contextlib.suppress(
                trio.EndOfChannel, trio.BrokenResourceError, trio.ClosedResourceError, RemoteProtocolError
            ):
                for _ in range(2):  # its Hello, and nothing more before the session
                    await channel.receive()

    while True:
        nursery.start_soon(hold, await listener.accept())


def open_site(
    folder: Path,
    roster: Roster,
    address: str,
    *,
    origin: str | None,
    certificate: Path | None,
    key: Path | None,
    hours: float = 0.0,
) -> WebSite:
    """Open the pages of a session that was drawn up with links.

    Args:
        folder: the roster's folder.
        address: HOST:PORT to listen on, or a port of the loopback interface.
        origin: the pages' public origin; by default that in the links.
        certificate: file of the HTTPS certificate chain, in PEM. Without it, a reverse proxy must provide HTTPS.
        key: file of the certificate's private key, if the certificate's file does not contain it.
        hours: how long the pages stay after the session.

    Raises:
        ConfigurationError: the roster has no links, or another version's page; or an address, origin or file is
            invalid, or they do not match.
    """
    table = read_links(folder)
    if table is None:
        allowed = "This roster has no links. Draw one up with psephos roster SCENARIO --links ORIGIN."
        raise ConfigurationError(field="--web", value=address, allowed=allowed)
    address = f"127.0.0.1:{address}" if address.isdecimal() else address
    with name_address_in_errors(address, field="--web"):
        parse_address(address)
    terms = read_terms(folder, table)
    origin = table.origin if origin is None else check_origin(origin, field="--web-origin")
    is_secure = origin.startswith("https:")
    refuse(key is not None and certificate is None, "--web-key", str(key), "left out, or --web-certificate given, too")
    allowed = (
        "Without a certificate the pages are for this machine, or for a proxy on it that adds HTTPS. "
        "Listen on 127.0.0.1, or add --web-certificate."
    )
    refuse(certificate is None and not is_loopback(address), "--web", address, allowed)
    allowed = f"The links begin with {origin}. With a certificate they have to begin with https://: --web-origin."
    refuse(certificate is not None and not is_secure, "--web-certificate", str(certificate), allowed)
    is_there = is_secure or origin.partition("://")[2] in {address, address.removesuffix(":80")}
    allowed = f"The links lead to {origin}. Listen there, or say by --web-origin where people reach the pages."
    refuse(not is_there, "--web", address, allowed)
    tls = None if certificate is None else _tls_of(certificate, key)
    keys = BrowserKeys(folder, table, roster, origin=origin)
    return WebSite(address, origin=origin, tls=tls, keys=keys, terms=terms, hours=hours)


def _tls_of(certificate: Path, key: Path | None) -> ssl.SSLContext:
    for field, path in (("--web-certificate", certificate), ("--web-key", key)):
        if path is not None:
            check_regular(path, field=field)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key, password=lambda: b"\0")  # keys with a password are not supported
    except (OSError, ValueError) as error:
        reason = (error.reason if isinstance(error, ssl.SSLError) else None) or error
        allowed = (
            f"There is no certificate in PEM with its private key in {certificate} ({reason}). Name the file for your "
            "host, and its key by --web-key."
        )
        raise ConfigurationError(field="--web-certificate", value=str(certificate), allowed=allowed) from None
    return context


def _facts_of(session_status: SessionStatus) -> dict[str, Any]:
    """Return the facts on the observers' page: nothing private, and no names."""
    attendance = session_status.attendance
    deadline = session_status.deadlines.get(session_status.phase, math.inf)
    received = None if attendance is None else dict(attendance.num_received)
    return {
        "state": session_status.state.value,
        "phase": session_status.phase,
        "deadline": None if math.isinf(deadline) else deadline,
        "parties": session_status.num_parties,
        "joined": None if received is None else received.pop(JOIN),
        "reported": received,
    }


def _file(name: str, content: bytes) -> HttpAnswer:
    return HttpAnswer(http.HTTPStatus.OK, content, _TYPES[Path(name).suffix], _HEADERS)


def _is_signed(key: bytes, signature: bytes, message: bytes) -> bool:
    try:
        check_signature_key("", key, may_be_nobodys=True)
    except ConfigurationError:
        return False  # not a key, or a weak one that anybody could sign with
    return Cryptography().verify(key, signature, message)
