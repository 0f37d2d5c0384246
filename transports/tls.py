"""Channels over TLS 1.3 with certificates that both ends know in advance: framed payloads on TCP, as in `tcp`.

A channel carries payloads only between ends that have proven to hold the keys of agreed certificates. OpenSSL uses the
agreed certificates as trust anchors, and checks their dates. Since an anchor could sign other certificates, the peer's
certificate is also compared with the agreed ones by its fingerprint. Names and authorities do not count.

A channel exists once TCP is connected. The handshake runs in the background, for at most `HANDSHAKE_SECONDS`, and
sending and receiving wait for it. So a listener can accept the next connection in the meantime. `receive` raises
`HandshakeError` if the handshake failed, and the other end gets the TLS alert. For a client only a certificate's fault
is final: one that the client finds, or that the server states under the handshake's keys. Anything else is a
`BrokenHandshakeError`, since anybody on the network path, or an overloaded server, may have caused it.

Sizes, times, and who connects to whom are not protected. Anybody who can cut the connection can end a channel between
two payloads, as if the other end had closed it. So a protocol must mark the end of its conversations.

Source: RFC 8446.
"""

import contextlib
import copy
import functools
import os
import socket
import ssl
from collections.abc import Collection, Generator, Sequence
from pathlib import Path
from struct import Struct
from typing import ClassVar, Final

import trio

from ..protocol.errors import BrokenHandshakeError, ConfigurationError, HandshakeError
from .abc import Channel
from .framing import check_size
from .keys import Identity, fingerprint_of, make_identity
from .tcp import SocketChannel, TCPTransport

HANDSHAKE_SECONDS: Final = 10.0
"""The time from TCP's connection to the end of the handshake, which takes a second on a slow line."""
_ALERT_SECONDS: Final = 1.0
"""The seconds within which a refused end should close the connection."""
_MOST_READ: Final = 1 << 16
"""The most bytes that are read from it in the meantime."""
_NO_PASSWORD: Final = b"\0"
"""The password for encrypted keys, which are refused; without one, OpenSSL would ask for it in the terminal."""
_RECORD_HEADER: Final = Struct(">BHH")
"""The header of a client's first record: type, version, length."""
_HANDSHAKE_RECORD: Final = 22
_MAX_RECORD_BYTES: Final = 1 << 14
_MOST_OWED: Final = 1 << 12
"""The most bytes of unsent answers to key updates: about 150 answers, while an honest peer needs one in hours."""
_MAX_KEY_BYTES: Final = 1 << 14
"""The most bytes of a key or a certificate, which fit into the pipe of any system."""
_NOT_AGREED: Final = "is not one of those that were agreed"
_OURS: Final = {9: "is not valid yet", 10: "has expired"} | dict.fromkeys((18, 19, 20, 21), _NOT_AGREED)
"""This end's reasons to refuse a certificate, by OpenSSL's code (X509_V_ERR_…)."""
_THEIRS: Final = {
    "ALERT_CERTIFICATE_EXPIRED": "says that this side's certificate has expired",
    "ALERT_UNKNOWN_CA": "does not know this side's certificate",
    "ALERT_BAD_CERTIFICATE": "refuses this side's certificate",
    "ALERT_UNSUPPORTED_CERTIFICATE": "refuses this side's certificate",
    "ALERT_CERTIFICATE_UNKNOWN": "refuses this side's certificate",
    "ALERT_CERTIFICATE_REVOKED": "refuses this side's certificate",
    "ALERT_CERTIFICATE_REQUIRED": "asks for a certificate",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "shows no certificate",
}
"""The other end's reasons, by the end of OpenSSL's name of the error."""


class _TLSChannel(SocketChannel):
    __slots__ = (
        "_context",
        "_failure",
        "_fingerprint",
        "_fingerprints",
        "_heard",
        "_is_closed",
        "_is_server",
        "_is_settled",
        "_said",
        "_tls",
    )

    def __init__(
        self, stream: trio.SocketStream, peer: str, context: ssl.SSLContext, agreed: Collection[str], *, is_server: bool
    ) -> None:
        super().__init__(stream, peer)
        self._context = context
        self._is_server = is_server
        self._fingerprints = agreed
        self._fingerprint = ""
        # OpenSSL's input and output. An answer that it owes, such as to a key update, is sent with the next payload,
        # which TLS allows.
        self._heard, self._said = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls: ssl.SSLObject  # set once a handshake has begun
        # Set until the end of the handshake, so that nothing is ever sent in clear. Only copies of it are raised, since
        # its traceback would keep this channel alive until garbage collection.
        self._failure: Exception | None = trio.BrokenResourceError("there was no handshake")
        self._is_closed = False
        self._is_settled = trio.Event()
        # A system task, since users of a transport do not wait for it, and a cancelled `receive` must not cancel it. It
        # always ends.
        trio.lowlevel.spawn_system_task(self._shake_hands)

    @property
    def peer_fingerprint(self) -> str:
        return self._fingerprint

    async def send(self, payloads: Sequence[bytes]) -> None:
        for payload in payloads:
            check_size(payload)
        await self._settle()
        self._check_sending()
        await super().send(payloads)

    def send_nowait(self, payload: bytes) -> None:
        if not self._is_settled.is_set():
            raise trio.WouldBlock
        self._check_sending()
        super().send_nowait(payload)

    async def receive(self) -> list[bytes]:
        if self._is_receiving:
            raise trio.BusyResourceError("another task is receiving on this channel")
        self._is_receiving = True
        try:
            await self._settle()
            if self._failure is not None:
                raise copy.copy(self._failure)
            if self._heard.pending:  # bytes that came with the end of the handshake
                await trio.lowlevel.checkpoint()
                if payloads := self._payloads_heard():
                    return payloads
        finally:
            self._is_receiving = False
        return await super().receive()

    def close(self) -> None:
        self._is_closed = True
        super().close()

    def _check_sending(self) -> None:
        if self._is_closed:
            raise trio.ClosedResourceError("this end of the channel is closed")
        if self._failure is not None:
            raise trio.BrokenResourceError(str(self._failure)) from self._failure

    async def _settle(self) -> None:
        """Wait for the end of the handshake.

        Raises:
            trio.ClosedResourceError: this end closed the channel.
        """
        if not self._is_settled.is_set():
            await self._is_settled.wait()
        if self._is_closed:
            raise trio.ClosedResourceError("this end of the channel is closed")

    def _seal(self, frames: bytes) -> bytes:
        sealed = [self._said.read()]
        try:
            for begin in range(0, len(frames), _MAX_RECORD_BYTES):  # what OpenSSL has once held it holds for good
                self._tls.write(frames[begin : begin + _MAX_RECORD_BYTES])
                sealed.append(self._said.read())
        except ssl.SSLError as error:
            raise trio.BrokenResourceError(f"the connection is broken: {error}") from error
        return b"".join(sealed)

    def _payloads_in(self, data: bytes) -> list[bytes]:
        if not data:
            self._failure = self._end()
            raise copy.copy(self._failure)
        self._heard.write(data)
        return self._payloads_heard()

    def _payloads_heard(self) -> list[bytes]:
        """Return the payloads that the received bytes complete.

        If payloads precede the end of the channel, the end is raised by the next call.
        """
        parts: list[bytes] = []
        has_ended = False
        try:
            while self._heard.pending and not has_ended:
                part = self._tls.read(_MAX_RECORD_BYTES)  # a whole record, so that OpenSSL buffers nothing
                has_ended = not part  # the other end closed
                parts.append(part)
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            # In TLS 1.3, a client learns only here that its certificate was refused.
            if (reason := _reason_of(error)) is not None:
                self._failure = HandshakeError(reason)
                self._stream.socket.close()  # the other end waits for this
            else:
                self._failure = trio.BrokenResourceError(f"the connection is broken: {error}")
        if self._said.pending > _MOST_OWED:
            self._failure = HandshakeError("the other end asks for new keys again and again")
        payloads = self._decoder.feed(b"".join(parts))
        if has_ended:
            self._failure = self._end()
        if self._failure is not None and not payloads:
            raise copy.copy(self._failure)
        return payloads

    async def _shake_hands(self) -> None:
        try:
            with trio.move_on_after(HANDSHAKE_SECONDS) as scope:
                try:
                    if not self._is_server or await self._hear_beginning():
                        self._tls = self._context.wrap_bio(self._heard, self._said, server_side=self._is_server)
                        await self._agree()
                        self._failure = self._know_peer()
                    else:
                        self._failure = trio.EndOfChannel()
                except Exception as error:  # noqa: BLE001  nobody waits for this task, and all others would end with it
                    self._failure = _failure_of(error, is_server=self._is_server)
            if scope.cancelled_caught:
                self._failure = BrokenHandshakeError(f"no TLS handshake within {HANDSHAKE_SECONDS:g} s")
            if self._failure is not None:
                await self._say_why(self._said.read())
        finally:
            self._is_settled.set()

    async def _agree(self) -> None:
        """Send what OpenSSL has to say and let it hear what comes, until both ends have agreed on keys."""
        is_agreed = False
        while not is_agreed:
            with contextlib.suppress(ssl.SSLWantReadError):
                self._tls.do_handshake()
                is_agreed = True
            if tls_bytes := self._said.read():
                await self._stream.send_all(tls_bytes)
            if not is_agreed:
                if not (data := await self._read()):
                    raise trio.EndOfChannel
                self._heard.write(data)

    async def _hear_beginning(self) -> bool:
        """Wait for a client's complete first record; return False once the bytes cannot become one.

        The operating system buffers the record, and wakes this task only when enough has arrived. So a slow or silent
        client costs no more than a socket.

        Raises:
            OSError: the connection is lost, or this end closed it.
        """
        raw, most = self._stream.socket, _RECORD_HEADER.size + _MAX_RECORD_BYTES
        data = await raw.recv(most, socket.MSG_PEEK)
        while 0 < len(data) < (size := _first_record(data)):
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size)
            await trio.lowlevel.wait_readable(raw)
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
            data = await raw.recv(most, socket.MSG_PEEK)
            if len(data) < size:
                return False
        return bool(data)

    def _know_peer(self) -> HandshakeError | None:
        """Note whose certificate came, if it is one of those that were agreed; else return what is wrong."""
        certificate = self._tls.getpeercert(binary_form=True)
        fingerprint = "" if certificate is None else fingerprint_of(certificate)
        if fingerprint not in self._fingerprints:
            return HandshakeError(f"the other end's certificate {_NOT_AGREED}")
        self._fingerprint = fingerprint
        return None

    async def _say_why(self, alert: bytes) -> None:
        """Send the alert that OpenSSL has for the other end, if any, and hang up once that has, or soon."""
        with (
            contextlib.suppress(Exception),  # the connection may be lost, and nobody waits for this task
            trio.move_on_after(_ALERT_SECONDS),
        ):
            if alert:
                await self._stream.send_all(alert)
                await self._stream.send_eof()
                num_remaining = _MOST_READ  # unread bytes may cut it off
                while num_remaining > 0 and (data := await self._stream.receive_some(num_remaining)):
                    num_remaining -= len(data)
        self._stream.socket.close()


class TLSTransport(TCPTransport):
    """Channels over TLS 1.3 between ends that know each other's certificates.

    Without arguments it makes one key for both ends: a simulation then has the cost of TLS, but no authentication of
    parties.

    Args:
        identity: this end's private key and certificate, or a file with both (`keys.Identity.write`).
        peers: the certificates, in DER, of all possible peers: for a server those of its roster, for a client that of
            its server.

    Raises:
        ConfigurationError: one of the two is missing, or is no key or certificate.
        OSError: the file cannot be read.
    """

    name: ClassVar[str] = "tls"
    is_authenticated: ClassVar[bool] = True

    def __init__(self, identity: Identity | Path | None = None, *, peers: Collection[bytes] = ()) -> None:
        if identity is None and not peers:
            identity = make_identity()
            peers = [identity.certificate]
        if identity is None or not peers:
            missing = "identity" if identity is None else "peers"
            raise ConfigurationError(field=missing, value="left out", allowed="given, as the other of the two is")
        self._fingerprints = frozenset(map(fingerprint_of, peers))
        make = functools.partial(_make_context, identity, b"".join(peers))
        self._server, self._client = make(ssl.PROTOCOL_TLS_SERVER), make(ssl.PROTOCOL_TLS_CLIENT)

    def _accept(self, stream: trio.SocketStream, peer: str) -> Channel:
        return _TLSChannel(stream, peer, self._server, self._fingerprints, is_server=True)

    def _reach(self, stream: trio.SocketStream, peer: str) -> Channel:
        return _TLSChannel(stream, peer, self._client, self._fingerprints, is_server=False)


def _make_context(identity: Identity | Path, peers: bytes, kind: int) -> ssl.SSLContext:
    context = ssl.SSLContext(kind)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # certificates are identified by fingerprint, not by host name
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # the agreed certificate itself is the anchor
    if kind == ssl.PROTOCOL_TLS_SERVER:
        # No session tickets: a client that closes without reading them could cut off what it sent, and resumption is
        # rare.
        context.num_tickets = 0
    try:
        if isinstance(identity, Path):
            context.load_cert_chain(identity, password=_NO_PASSWORD)
        else:
            with _pipe(identity.certificate_pem.encode()) as cert, _pipe(identity.private_key) as key:
                context.load_cert_chain(cert, key, password=_NO_PASSWORD)
        context.load_verify_locations(cadata=peers)
    except (OSError, ValueError) as error:
        if isinstance(identity, Path) and not isinstance(error, (ssl.SSLError, ValueError)):
            raise
        reason = (error.reason if isinstance(error, ssl.SSLError) else None) or error
        allowed = f"a private key with its certificate, and certificates ({reason})"
        raise ConfigurationError(field="identity", value=str(identity), allowed=allowed) from None
    return context


@contextlib.contextmanager
def _pipe(data: bytes) -> Generator[str]:
    """Yield a file name under which data can be read without being on a disk, since OpenSSL reads keys only from files.

    A key in a real file would stay there if the process were killed. The name is that of a memory file if the system
    has these, otherwise of a pipe.
    """
    if len(data) > _MAX_KEY_BYTES:
        raise ValueError("it is longer than any key")
    if hasattr(os, "memfd_create"):
        reading = writing = os.memfd_create("key")
    else:
        reading, writing = os.pipe()
    try:
        with os.fdopen(writing, "wb", closefd=reading != writing) as file:
            file.write(data)
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)


def _first_record(beginning: bytes) -> int:
    """Return how many bytes the first record has, or must have for its length to be known; 0 for what is none."""
    if len(beginning) < _RECORD_HEADER.size:
        return _RECORD_HEADER.size
    kind, _, size = _RECORD_HEADER.unpack_from(beginning)
    return _RECORD_HEADER.size + size if kind == _HANDSHAKE_RECORD and size <= _MAX_RECORD_BYTES else 0


def _failure_of(error: Exception, *, is_server: bool) -> Exception:
    """Return the exception for a receiver after a failed handshake."""
    # A server refuses a certificate after the client's handshake has ended. An alert during the handshake is in clear,
    # so it proves nothing.
    is_said = is_server or isinstance(error, ssl.SSLCertVerificationError)
    if is_said and (reason := _reason_of(error)) is not None:
        return HandshakeError(reason)
    if isinstance(error, ssl.SSLError):
        return BrokenHandshakeError(f"the other end does not speak TLS 1.3 as this side does ({error.reason})")
    if isinstance(error, (trio.EndOfChannel, trio.BrokenResourceError)):
        return trio.EndOfChannel()  # an end that closes with unread data resets the connection
    if isinstance(error, trio.ClosedResourceError):
        return copy.copy(error)  # a copy has no traceback
    return trio.BrokenResourceError(f"the handshake failed: {error}")


def _reason_of(error: Exception) -> str | None:
    """Return one end's objection to the other's certificate, as a sentence; None if there is none."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the other end's certificate {_OURS.get(error.verify_code, f'cannot be used ({error.verify_message})')}"
    if isinstance(error, ssl.SSLError):
        for name, meaning in _THEIRS.items():
            if (error.reason or "").endswith(name):
                return f"the other end {meaning}"
    return None
