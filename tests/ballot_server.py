"""A server of ballot pages that goes on when a test says so, and writes down what each page sends.

It keeps the contract of `docs/wire.md` for one weighted vote and one seat. Nobody else votes: what it publishes is that
of the vector `good_joint`.
"""

import base64
import contextlib
import hashlib
import http.server
import json
import secrets
import socket
import struct
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, Final

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from psephos.protocol.messages import (
    PROTOCOL_VERSION,
    Abort,
    Acknowledgement,
    Hello,
    Message,
    Release,
    Report,
    Request,
    SessionDescriptor,
    Welcome,
    decode,
    encode,
)
from psephos.protocol.transcript import Transcript
from runs import read_json
from vectors.generate import FOLDER

PAGE: Final = Path(__file__).parents[1] / "scenarios" / "deployment" / "page"
_TYPES: Final = {".html": "text/html; charset=utf-8", ".css": "text/css", ".js": "text/javascript"}
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PLACE: Final = 2
NAME: Final = "Nora Öztürk"
PUBLISHED: Final = read_json(FOLDER / "good_joint.json")
_MESSAGES: Final = [decode(bytes.fromhex(each["bytes"])) for each in PUBLISHED["messages"]]
REQUESTS: Final = {each.step: each for each in _MESSAGES if isinstance(each, Request)}
RELEASE: Final = next(each for each in _MESSAGES if isinstance(each, Release))


def in_base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


class BallotServer:
    """See the module.

    Args:
        changes: of the terms' fields.
        is_automatic: whether each report is answered with what comes next.

    Attributes:
        is_late, is_deaf, loses_next_report: whether the outcome is released before the last step; reports get no
            acknowledgement; the next one gets lost with the connection.
        sent: each message that a page has sent, in order, as bytes; without what shows whose channel it is.
        reports: all that was ever sent as the report of a step.
        public_keys: all keys that came with the link's secret.
        stage: how many steps were asked for; one more once the outcome is released.
        on_moment: called with what a page says at `/moment/…`, while its script waits.
    """

    def __init__(self, *, is_automatic: bool = False, **changes: Any) -> None:
        self.is_automatic = is_automatic
        self.secret = secrets.token_bytes(16)
        self.sent: list[bytes] = []
        self.reports: dict[int, set[bytes]] = {}
        self.public_keys: list[bytes] = []
        self.stage = 0
        self.is_late = self.is_deaf = self.loses_next_report = False
        self.refusal: str | None = None
        self.num_done = 0
        self.on_moment: Callable[[str], None] = lambda _: None
        self._lock = threading.RLock()
        self._socket: socket.socket | None = None
        until = 2_000_000_000
        self.descriptor = SessionDescriptor(secrets.token_hex(16), secrets.token_hex(32), until)
        files = sorted(PAGE.iterdir())
        terms = {
            "wire": PROTOCOL_VERSION,
            "session": "spring-ballot",
            "protocol": "dpwevote",
            "kind": "deployment",
            "parameters": PUBLISHED["parameters"],
            "descriptor": [self.descriptor.id, self.descriptor.roster, until],
            "title": "Spring ballot of the allotment society",
            "question": "Which of these should the society do next year?",
            "ballots": [{"name": name, "options": ["no", "yes"]} for name in PUBLISHED["parameters"]["candidates"]],
            "trust": "local",
            "epsilon": {"weight": 1.0, "opinion": 1.0, "total": 3.0},
            "page": {each.name: in_base64(hashlib.sha256(each.read_bytes()).digest()) for each in files},
        }
        self.terms = json.dumps(terms | changes, ensure_ascii=False).encode()
        parameters = json.loads(self.terms)["parameters"]
        own = msgspec.msgpack.encode(parameters)
        self.welcome = Welcome(PROTOCOL_VERSION, msgspec.Raw(own), descriptor=self.descriptor)
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self.origin = f"http://127.0.0.1:{self.http.server_port}"

    @property
    def link(self) -> str:
        digest = hashlib.sha256(self.terms).digest()
        return f"{self.origin}/vote#{_PLACE}.{in_base64(self.secret)}.{in_base64(digest)}"

    @property
    def transcript(self) -> str:
        words = {"session": "spring-ballot", "protocol": "dpwevote", "kind": "deployment"}
        transcript = Transcript(**words, num_steps=len(REQUESTS))
        for message in (self.welcome, *REQUESTS.values(), RELEASE):
            transcript.add(message)
        assert transcript.digest is not None
        return transcript.digest

    def receipt(self, step: int) -> Acknowledgement:
        return Acknowledgement(step, hashlib.sha256(self.secret + bytes([step])).digest())

    def go_on(self) -> None:
        """Ask for the next step, or release the outcome."""
        with self._lock:
            self.stage += 1
            self._send_what_is_due()

    def drop(self) -> None:
        """Lose the page's connection."""
        with self._lock, contextlib.suppress(OSError):
            if self._socket is not None:
                self._socket.shutdown(socket.SHUT_RDWR)

    def _send(self, message: Message) -> None:
        with contextlib.suppress(OSError):
            if self._socket is not None:
                _write_frame(self._socket, encode(message))

    def _send_what_is_due(self) -> None:
        if self.stage > len(REQUESTS) or (self.is_late and self.stage > len(self.reports)):
            self._send(msgspec.structs.replace(RELEASE, is_late=self.is_late))
        elif len(self.reports) < self.stage:
            self._send(REQUESTS[self.stage - 1])

    def converse(self, connection: socket.socket, origin: str) -> None:
        nonce = secrets.token_bytes(32)
        _write_frame(connection, msgspec.msgpack.encode([20, nonce]))
        frame = _read_frame(connection)
        _, place, public_key, secret, signature = msgspec.msgpack.decode(frame)
        digests = [hashlib.sha256(part).digest() for part in (self.terms, origin.encode())]
        signed = b"psephos web party 1\0" + nonce + digests[0] + struct.pack(">Q", place) + digests[1]
        is_known = public_key in self.public_keys
        try:
            Ed25519PublicKey.from_public_bytes(public_key).verify(signature, signed)
        except InvalidSignature:
            refusal = "the signature is wrong"
        else:
            refusal = "" if is_known or not self.public_keys else "the link is already used by another device"
            if not is_known and secret != self.secret:
                refusal = "wrong link"
        if self.refusal or refusal or place != _PLACE:
            _write_frame(connection, encode(Abort(self.refusal or refusal)))
            return
        with self._lock:
            self.public_keys += [] if is_known else [public_key]
        _write_frame(connection, msgspec.msgpack.encode([22, NAME, [], not is_known]))
        while True:
            self._receive(_read_frame(connection), connection)

    def _receive(self, frame: bytes, connection: socket.socket) -> None:
        message = decode(frame)
        with self._lock:
            self.sent.append(frame)
            match message:
                case Hello():
                    assert message.num_reports >= len(self.reports)
                    self._socket = connection  # to which nothing is said before
                    self._send(self.welcome)
                    if self.reports:
                        self._send(self.receipt(max(self.reports)))
                    self.stage += self.is_automatic and not self.stage
                    self._send_what_is_due()
                case Report() if self.loses_next_report:
                    self.loses_next_report = False
                    self.drop()
                case Report():
                    self.reports.setdefault(message.step, set()).add(bytes(message.payload))
                    if self.is_deaf:
                        return
                    self._send(self.receipt(message.step))
                    self.stage += self.is_automatic and self.stage == len(self.reports)
                    self._send_what_is_due()
                case Acknowledgement():
                    self.num_done += 1
                case _:
                    pass


def _handler_of(server: BallotServer) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == "/session":
                self._take_socket()
                return
            if path.startswith("/moment/"):
                server.on_moment(path.removeprefix("/moment/"))
            file = PAGE / {"/vote": "index.html"}.get(path, path.removeprefix("/vote/"))
            content = server.terms if path == "/session.json" else file.read_bytes() if file.is_file() else None
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Type", _TYPES.get(file.suffix, "application/json"))
            self.send_header("Content-Length", str(len(content or b"")))
            self.send_header("Content-Security-Policy", _POLICY)
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(content or b"")

        def _take_socket(self) -> None:
            key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
            accept = base64.b64encode(hashlib.sha1(key.encode(), usedforsecurity=False).digest()).decode()
            self.send_response(101)
            for name, value in (("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accept)):
                self.send_header(name, value)
            self.send_header("Sec-WebSocket-Protocol", "psephos")
            self.end_headers()
            self.close_connection = True
            with contextlib.suppress(OSError, EOFError):
                server.converse(self.connection, self.headers["Origin"])

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base's name
            pass

    return Handler


def _read(connection: socket.socket, size: int) -> bytes:
    content = b""
    while len(content) < size:
        part = connection.recv(size - len(content))
        if not part:
            raise EOFError
        content += part
    return content


def _read_frame(connection: socket.socket) -> bytes:
    """Return the next binary frame's content; EOFError where the page closes instead."""
    opcode, size = _read(connection, 2)
    assert size & 0x80  # a client masks
    size &= 0x7F
    if size > 125:
        (size,) = (
            struct.unpack(">H", _read(connection, 2)) if size == 126 else struct.unpack(">Q", _read(connection, 8))
        )
    mask, masked = _read(connection, 4), _read(connection, size)
    if opcode != 0x82:
        raise EOFError
    return bytes(byte ^ mask[at % 4] for at, byte in enumerate(masked))


def _write_frame(connection: socket.socket, content: bytes) -> None:
    size = len(content)
    header = bytes([0x82, size]) if size < 126 else b"\x82\x7e" + struct.pack(">H", size)
    assert size < 1 << 16
    connection.sendall(header + content)


@contextlib.contextmanager
def open_ballot_server(**given: Any) -> Generator[BallotServer]:
    """Run a server until the block ends."""
    server = BallotServer(**given)
    thread = threading.Thread(target=server.http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.drop()
        server.http.shutdown()
        server.http.server_close()
        thread.join()
