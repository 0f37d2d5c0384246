"""TLS channels, beyond what `tests/conformance/test_channels.py` checks of every transport: who is let in, and why not.

Each refusal is read on both sides, since either may be the one whose keys are wrong.
"""

import contextlib
import dataclasses
import datetime as dt
import functools
import gc
import os
import shutil
import socket
import ssl
import stat
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from pathlib import Path

import pytest
import trio
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from openssl_calls import ask_for_new_keys, needs_openssl_calls
from pairs import open_pair
from psephos.protocol.errors import ConfigurationError, HandshakeError
from psephos.transports import Channel, TCPTransport, TLSTransport, encode_frames
from psephos.transports.addresses import parse_address
from psephos.transports.keys import Identity, fingerprint_of, make_identity, read_certificate
from relays import between

# Never waited for: a handshake on loopback ends in milliseconds.
PATIENCE = 240.0


class Keys:
    """Files of identities in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server = make_identity()
        self.ann = make_identity()
        self.server_file = self.file(self.server)

    def file(self, identity: Identity) -> Path:
        path = self.folder / f"{identity.fingerprint}.pem"
        if not path.exists():
            identity.write(path)
        return path

    def serving(self, *peers: Identity) -> TLSTransport:
        return TLSTransport(self.server_file, peers=[peer.certificate for peer in peers])

    def joining(self, identity: Identity, *, server: Identity | None = None) -> TLSTransport:
        """Return a client's transport, which expects the server or another one."""
        return TLSTransport(self.file(identity), peers=[(server or self.server).certificate])


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    """Return keys of a server and of a client."""
    return Keys(tmp_path)


def issue(issuer: Identity | None, *, is_authority: bool, days: float = 1) -> Identity:
    """Make an identity whose certificate another one has signed, or may sign others'."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"number {x509.random_serial_number()}")])
    signer, signed_by = key, name
    if issuer is not None:
        loaded = serialization.load_pem_private_key(issuer.private_key, password=None)
        assert isinstance(loaded, ec.EllipticCurvePrivateKey)
        signer, signed_by = loaded, x509.load_der_x509_certificate(issuer.certificate).subject
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(signed_by)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .sign(signer, hashes.SHA256())
    )
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Identity(certificate.public_bytes(serialization.Encoding.DER), pem)


@contextlib.asynccontextmanager
async def called_by(keys: Keys, call: Callable[[str], object]) -> AsyncGenerator[Channel]:
    """Yield the server's end of a channel whose other end a thread plays, given the address."""
    async with await keys.serving(keys.ann).open_listener() as listener, trio.open_nursery() as nursery:
        nursery.start_soon(trio.to_thread.run_sync, call, listener.address)
        async with await listener.accept() as channel:
            yield channel


@contextlib.asynccontextmanager
async def streamed_to(keys: Keys, send: Callable[[trio.SocketStream], Awaitable[None]]) -> AsyncGenerator[Channel]:
    """Yield the server's end of a connection whose other end sends bytes until the test has ended."""
    async with (
        await keys.serving(keys.ann).open_listener() as listener,
        await trio.open_tcp_stream(*parse_address(listener.address)) as stream,
        await listener.accept() as far,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(send, stream)
        with trio.fail_after(PATIENCE):
            yield far
        nursery.cancel_scope.cancel()


async def refusals(server: TLSTransport, client: TLSTransport) -> tuple[str, str]:
    """Return what the client and the server read of a connection that does not come about."""
    read: dict[str, str] = {}

    async def receive(who: str, channel: Channel) -> None:
        with pytest.raises(HandshakeError) as caught:
            await channel.receive()
        read[who] = str(caught.value)
        with pytest.raises(HandshakeError):  # and it stays so
            await channel.receive()
        with pytest.raises(trio.BrokenResourceError):
            await channel.send([b"nobody reads this"])

    async with open_pair(server, client) as (near, far), trio.open_nursery() as nursery:
        nursery.start_soon(receive, "client", near)
        nursery.start_soon(receive, "server", far)
    return read["client"], read["server"]


async def test_each_end_knows_the_other_by_its_certificate(keys: Keys) -> None:
    others = [make_identity() for _ in range(3)]
    async with open_pair(keys.serving(*others, keys.ann), keys.joining(keys.ann)) as (near, far):
        await near.send([b"hello"])
        assert await far.receive() == [b"hello"]
        await far.send([b"hello, Ann"])
        assert await near.receive() == [b"hello, Ann"]
        assert far.peer_fingerprint == keys.ann.fingerprint == fingerprint_of(keys.ann.certificate)
        assert near.peer_fingerprint == keys.server.fingerprint


NOT_AGREED = "the other end's certificate is not one of those that were agreed"


@pytest.mark.parametrize("days", [1, -1], ids=["not agreed", "expired"])
@pytest.mark.parametrize("is_server", [False, True])
async def test_a_certificate_that_was_not_agreed_or_has_expired_is_refused_on_either_side(
    keys: Keys, days: int, *, is_server: bool
) -> None:
    wrong = make_identity(days=days)
    ann, expected = (keys.ann, wrong) if is_server else (wrong, keys.server)
    if days < 0 and is_server:
        keys.server, keys.server_file = wrong, keys.file(wrong)
    agreed = wrong if days < 0 and not is_server else keys.ann
    read = await refusals(keys.serving(agreed), keys.joining(ann, server=expected))
    refusing, refused = read if is_server else read[::-1]
    assert refusing == (NOT_AGREED if days > 0 else "the other end's certificate has expired")
    has_expired = "the other end says that this side's certificate has expired"
    assert refused == ("the other end does not know this side's certificate" if days > 0 else has_expired)


async def test_a_party_of_the_roster_cannot_sign_a_certificate_for_another(keys: Keys) -> None:
    authority = issue(None, is_authority=True)
    mallory = issue(authority, is_authority=False)
    server = keys.serving(keys.ann, authority)
    chained = Identity(
        mallory.certificate, mallory.private_key + ssl.DER_cert_to_PEM_cert(mallory.certificate).encode()
    )
    async with open_pair(server, keys.joining(chained)) as (_, far):
        with pytest.raises(HandshakeError, match="is not one of those that were agreed"):
            await far.receive()
        assert not far.peer_fingerprint


async def test_a_certificate_that_an_authority_has_signed_can_be_agreed_by_itself(keys: Keys) -> None:
    ann = issue(issue(None, is_authority=True), is_authority=False)
    async with open_pair(keys.serving(ann), keys.joining(ann)) as (near, far):
        await near.send([b"hello"])
        assert await far.receive() == [b"hello"]
        assert far.peer_fingerprint == ann.fingerprint


async def test_the_key_of_a_certificate_has_to_be_held(keys: Keys) -> None:
    with pytest.raises(ConfigurationError, match="KEY_VALUES_MISMATCH"):
        TLSTransport(
            keys.file(Identity(keys.ann.certificate, make_identity().private_key)), peers=[keys.server.certificate]
        )


def raw_client(address: str, context: ssl.SSLContext | None) -> str:
    """Connect by the standard library alone, say something, and return what came of it."""
    try:
        with socket.create_connection(parse_address(address), timeout=PATIENCE) as plain:
            if context is None:
                plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
                return plain.recv(1 << 16).hex()
            with context.wrap_socket(plain) as stream:
                stream.sendall(b"\0\0\0\0")
                return "end" if not stream.recv(1) else "bytes"
    except ssl.SSLError as error:
        return error.reason or "SSLError"


def _context(**attributes: object) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    for name, value in attributes.items():
        setattr(context, name, value)
    return context


@pytest.mark.parametrize(
    ("context", "heard", "read"),
    [
        (_context(), "TLSV13_ALERT_CERTIFICATE_REQUIRED", "the other end shows no certificate"),
        (
            _context(maximum_version=ssl.TLSVersion.TLSv1_2),
            "TLSV1_ALERT_PROTOCOL_VERSION",
            "the other end does not speak TLS 1.3 as this side does (UNSUPPORTED_PROTOCOL)",
        ),
        (None, "", "the other end does not speak TLS 1.3 as this side does (HTTP_REQUEST)"),
    ],
    ids=["no certificate", "TLS 1.2", "no TLS"],
)
async def test_strangers_are_told_what_they_lack(
    keys: Keys, context: ssl.SSLContext | None, heard: str, read: str
) -> None:
    answers: list[str] = []
    async with called_by(keys, lambda address: answers.append(raw_client(address, context))) as channel:
        with pytest.raises(HandshakeError) as caught:
            await channel.receive()
    assert str(caught.value) == read
    assert answers == [heard]


@contextlib.contextmanager
def without_the_collector() -> Generator[None]:
    """Check that what the code inside has left behind is freed by itself."""
    gc.collect()
    gc.disable()
    try:
        yield
        assert [each for each in gc.get_objects() if type(each).__name__ == "SSLObject"] == []
    finally:
        gc.enable()


def _hang_up(address: str) -> None:
    socket.create_connection(parse_address(address), timeout=PATIENCE).close()


@pytest.mark.parametrize(
    "call",
    [_hang_up, functools.partial(raw_client, context=None), functools.partial(raw_client, context=_context())],
    ids=["says nothing", "no TLS", "no certificate"],
)
async def test_a_stranger_that_has_gone_costs_no_memory(keys: Keys, call: Callable[[str], object]) -> None:
    async def meet() -> None:
        async with called_by(keys, call) as channel:
            with contextlib.suppress(HandshakeError, trio.EndOfChannel, trio.BrokenResourceError):
                await channel.receive()

    with without_the_collector():
        await meet()


async def test_a_party_that_has_gone_costs_no_memory(keys: Keys) -> None:
    async def meet() -> None:
        async with open_pair(keys.serving(keys.ann), keys.joining(keys.ann)) as (near, far):
            await near.send([b"hello"])
            await far.receive()
            near.close()
            with contextlib.suppress(trio.EndOfChannel):
                await far.receive()

    with without_the_collector():
        await meet()


async def test_a_client_that_meets_a_server_without_tls_says_so(keys: Keys) -> None:
    async with open_pair(TCPTransport(), keys.joining(keys.ann)) as (near, far):
        await far.send([b"what is this?"])
        with pytest.raises(HandshakeError, match=r"the other end does not speak TLS 1\.3"):
            await near.receive()


async def test_a_silent_end_is_given_up(keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psephos.transports.tls.HANDSHAKE_SECONDS", 0.05)
    async with open_pair(keys.serving(keys.ann), TCPTransport()) as (_, far):
        with pytest.raises(HandshakeError, match="no TLS handshake within"):
            await far.receive()


async def test_an_end_that_trickles_its_handshake_is_given_up(keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psephos.transports.tls.HANDSHAKE_SECONDS", 0.3)

    async def trickle(stream: trio.SocketStream) -> None:
        with contextlib.suppress(trio.BrokenResourceError):
            await stream.send_all(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
            while True:
                await stream.send_all(b"\0")
                await trio.sleep(0.02)

    async with streamed_to(keys, trickle) as far:
        with pytest.raises(HandshakeError, match="no TLS handshake within"):
            await far.receive()


@pytest.mark.parametrize("num_sent", [0, 3, 5, 200])
async def test_a_client_that_leaves_before_its_beginning_is_whole_has_left(keys: Keys, num_sent: int) -> None:
    beginning = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".ljust(num_sent, b"\0")[:num_sent]
    async with await keys.serving(keys.ann).open_listener() as listener:
        async with await trio.open_tcp_stream(*parse_address(listener.address)) as stream:
            if beginning:
                await stream.send_all(beginning)
            far = await listener.accept()
        async with far:
            with trio.fail_after(PATIENCE), pytest.raises(trio.EndOfChannel):
                await far.receive()


async def test_an_end_that_goes_without_having_read_the_others_part_has_left(keys: Keys) -> None:
    async with await keys.serving(keys.ann).open_listener() as listener:
        plain = socket.create_connection(parse_address(listener.address), timeout=PATIENCE)
        with plain:
            far = await listener.accept()
            speaker = _context().wrap_bio(ssl.MemoryBIO(), said := ssl.MemoryBIO())
            with contextlib.suppress(ssl.SSLWantReadError):
                speaker.do_handshake()
            plain.sendall(said.read())
            await trio.lowlevel.wait_readable(plain)
        async with far:
            with trio.fail_after(PATIENCE), pytest.raises(trio.EndOfChannel):
                await far.receive()


@pytest.mark.parametrize("error", [MemoryError(), OSError("of the system"), ValueError("of a library")])
async def test_whatever_breaks_one_handshake_ends_that_channel_alone(
    keys: Keys, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def break_down(_: bytes) -> str:
        raise error

    client = keys.joining(keys.ann)
    async with await keys.serving(keys.ann).open_listener() as listener:
        with monkeypatch.context() as patch:
            patch.setattr("psephos.transports.tls.fingerprint_of", break_down)
            async with await client.connect(listener.address), await listener.accept() as far:
                with pytest.raises(trio.BrokenResourceError):
                    await far.receive()
        async with await client.connect(listener.address) as near, await listener.accept() as far:
            await near.send([b"hello"])
            assert await far.receive() == [b"hello"]


async def test_a_refused_end_that_sends_on_is_read_to_a_limit(keys: Keys) -> None:
    async def flood(stream: trio.SocketStream) -> None:
        with contextlib.suppress(trio.BrokenResourceError):
            while True:
                await stream.send_all(b"no TLS " * 1000)

    async with streamed_to(keys, flood) as far:
        with pytest.raises(HandshakeError):
            await far.receive()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")
@pytest.mark.parametrize(
    ("option", "status"),
    [("-tls1_2", "alert protocol version"), ("-tls1_3", "alert certificate required")],
    ids=["TLS 1.2", "no certificate"],
)
async def test_openssls_own_client_is_refused(keys: Keys, option: str, status: str) -> None:
    answers: list[str] = []

    def call(address: str) -> None:
        command = ["openssl", "s_client", "-connect", address, "-ign_eof", option]
        ended = subprocess.run(command, input=b"hello\n" * 3, capture_output=True, check=False)  # noqa: S603  the system's
        answers.append(ended.stdout.decode() + ended.stderr.decode())

    async with called_by(keys, call) as channel:
        with pytest.raises(HandshakeError):
            await channel.receive()
    assert status in answers[0]
    assert "No client certificate CA names sent" in answers[0]  # who is on the roster is no stranger's to read


@contextlib.asynccontextmanager
async def relayed(
    keys: Keys, change: Callable[[bytes], bytes], *, at_once: int = 1 << 16
) -> AsyncGenerator[tuple[Channel, Channel]]:
    """Yield the two ends of a channel whose bytes somebody passes on, so many at once, those to the server changed."""

    async def pump(change: Callable[[bytes], bytes], source: trio.SocketStream, sink: trio.SocketStream) -> None:
        with contextlib.suppress(trio.BrokenResourceError):
            async for data in source:
                for at in range(0, len(data), at_once):
                    await sink.send_all(change(bytes(data[at : at + at_once])))
            await sink.send_eof()

    async with (
        await keys.serving(keys.ann).open_listener() as listener,
        between(listener.address, functools.partial(pump, change), functools.partial(pump, bytes)) as address,
        await keys.joining(keys.ann).connect(address) as near,
        await listener.accept() as far,
    ):
        yield near, far


@pytest.mark.parametrize("at_once", [1, 3, 7])
async def test_who_comes_in_small_pieces_is_heard(keys: Keys, at_once: int) -> None:
    async with relayed(keys, bytes, at_once=at_once) as (near, far):
        await near.send([b"hello"])
        assert await far.receive() == [b"hello"]


async def test_bytes_on_the_way_are_not_the_payloads(keys: Keys) -> None:
    secret = b"the ballot of Ann"
    wire = bytearray()

    def listen(data: bytes) -> bytes:
        wire.extend(data)
        return data

    async with relayed(keys, listen) as (near, far):
        await near.send([secret])
        assert await far.receive() == [secret]
    assert len(wire) > 500
    assert secret not in wire
    assert keys.ann.certificate[-64:] not in wire  # nor who is who


async def test_a_byte_changed_on_the_way_ends_the_channel(keys: Keys) -> None:
    is_changing = False

    def change(data: bytes) -> bytes:
        return data[:-1] + bytes([data[-1] ^ 1]) if is_changing else data

    async with relayed(keys, change) as (near, far):
        await near.send([b"first"])
        assert await far.receive() == [b"first"]
        is_changing = True
        await near.send([b"second"])
        with pytest.raises(trio.BrokenResourceError):
            await far.receive()


def speak(keys: Keys, address: str, data: bytes, *, says_goodbye: bool) -> None:
    """Be Ann by the standard library alone: send bytes, and leave with or without TLS's word for it."""
    context = _context()
    context.load_cert_chain(keys.file(keys.ann))
    with (
        socket.create_connection(parse_address(address), timeout=PATIENCE) as plain,
        context.wrap_socket(plain, suppress_ragged_eofs=True) as stream,
    ):
        stream.sendall(data)
        if says_goodbye:
            with contextlib.suppress(ssl.SSLError):  # the server says none
                stream.unwrap()


@pytest.mark.parametrize("says_goodbye", [True, False])
@pytest.mark.parametrize(
    ("rest", "ending"), [(b"", trio.EndOfChannel), (b"\0\0\0\5hel", trio.BrokenResourceError)], ids=["whole", "cut"]
)
async def test_what_was_said_before_the_end_is_heard_whoever_ends_it(
    keys: Keys, rest: bytes, ending: type[Exception], *, says_goodbye: bool
) -> None:
    data = encode_frames([b"hello"] * 9_999) + rest
    async with called_by(keys, lambda address: speak(keys, address, data, says_goodbye=says_goodbye)) as channel:
        heard: list[bytes] = []
        while len(heard) < 9_999:
            heard += await channel.receive()
        assert heard == [b"hello"] * 9_999
        for _ in range(2):  # and it stays so
            with pytest.raises(ending):
                await channel.receive()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")
async def test_keys_can_be_changed_in_the_middle(keys: Keys) -> None:
    async with await keys.serving(keys.ann).open_listener() as listener, trio.open_nursery() as nursery:
        file = str(keys.file(keys.ann))
        command = ["openssl", "s_client", "-connect", listener.address, "-cert", file, "-key", file]
        run = functools.partial(
            trio.run_process, command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        process: trio.Process = await nursery.start(run)
        assert process.stdin is not None

        async def wait_for(text: bytes) -> None:
            assert process.stdout is not None
            output = b""
            while text not in output:
                output += await process.stdout.receive_some()

        async with await listener.accept() as channel:
            for name in (b"before", b"after"):
                await process.stdin.send_all(encode_frames([name]))
                assert await channel.receive() == [name]
                channel.send_nowait(b"heard " + name)
                await wait_for(b"heard " + name)
                await process.stdin.send_all(b"K\n")  # new keys, and it asks for the server's
                await wait_for(b"KEYUPDATE")
            nursery.cancel_scope.cancel()


class Bare:
    """A client of OpenSSL's, whose records a test has in its hands."""

    def __init__(self, keys: Keys, address: str, *, name: str | None = None) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(cadata=keys.server.certificate)
        context.load_cert_chain(keys.file(keys.ann))
        self._socket = socket.create_connection(parse_address(address), timeout=PATIENCE)
        self._came, self._leaves = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._came, self._leaves, server_hostname=name)
        while True:
            try:
                self.tls.do_handshake()
            except ssl.SSLWantReadError:
                self.send()
                self._came.write(self._socket.recv(1 << 16))
            else:
                break
        self.send()

    def send(self, *payloads: bytes) -> None:
        if payloads:
            self.tls.write(encode_frames(payloads))
        self._socket.sendall(self._leaves.read())

    def wait(self) -> None:
        """Wait until something comes."""
        assert self._socket.recv(1 << 16)

    def close(self) -> None:
        self._socket.close()


@needs_openssl_calls
@pytest.mark.parametrize("num_between", [0, 1])
async def test_an_end_that_asks_for_new_keys_without_end_is_given_up(keys: Keys, num_between: int) -> None:
    """Each is owed an answer, which waits for what is sent next: else they would fill the memory."""

    def call(address: str) -> None:
        client = Bare(keys, address)
        client.send(b"hello")
        client.tls.write((1 << 20).to_bytes(4, "big"))  # of a payload that never ends
        with contextlib.suppress(OSError):  # the other end has gone
            for _ in range(1000):
                ask_for_new_keys(client.tls, 30)
                client.tls.write(bytes(num_between))
                client.send()
        client.close()

    async with called_by(keys, call) as channel:
        assert await channel.receive() == [b"hello"]
        for _ in range(2):
            with pytest.raises(HandshakeError, match="the other end asks for new keys again and again"):
                await channel.receive()
        with pytest.raises(trio.BrokenResourceError):
            await channel.send([b"nobody reads this"])


@needs_openssl_calls
async def test_new_keys_now_and_then_cost_nothing(keys: Keys) -> None:
    """However many there are in all, as long as something is sent meanwhile."""
    num_sent = 200

    def call(address: str) -> None:
        client = Bare(keys, address)
        for _ in range(num_sent):
            ask_for_new_keys(client.tls, 3)
            client.send(b"hello")
            client.wait()
        client.close()

    heard = 0
    async with called_by(keys, call) as channel:
        while heard < num_sent:
            heard += len(await channel.receive())
            channel.send_nowait(b"heard")
    assert heard == num_sent


@pytest.mark.parametrize("name", ["evil.example", "a" * 63 + ".example", "127.0.0.1"])
async def test_who_names_another_host_is_known_by_its_certificate_all_the_same(keys: Keys, name: str) -> None:
    """Names play no part, the server's neither (SNI)."""

    def call(address: str) -> None:
        client = Bare(keys, address, name=name)
        assert client.tls.getpeercert(binary_form=True) == keys.server.certificate
        client.send(b"hello")
        client.close()

    async with called_by(keys, call) as channel:
        assert await channel.receive() == [b"hello"]
        assert channel.peer_fingerprint == keys.ann.fingerprint


async def test_nobody_gets_a_ticket_so_that_nothing_can_be_said_early(keys: Keys) -> None:
    """Early data needs a session that is resumed, and could be repeated by whoever has recorded it."""

    def call(address: str) -> None:
        client = Bare(keys, address)
        client.send(b"hello")
        assert client.tls.session is None or not client.tls.session.has_ticket
        assert not client.tls.session_reused
        client.close()

    async with called_by(keys, call) as channel:
        assert await channel.receive() == [b"hello"]
        await channel.send([b"heard"])


async def test_a_large_payload_leaves_no_memory_behind_with_its_channel(keys: Keys) -> None:
    """OpenSSL keeps the memory that it has once needed, as long as there is a channel."""
    payload, num_channels = bytes(1 << 20), 40
    async with await keys.serving(keys.ann).open_listener() as listener, contextlib.AsyncExitStack() as stack:
        pairs: list[tuple[Channel, Channel]] = []
        for _ in range(num_channels):
            near = await stack.enter_async_context(await keys.joining(keys.ann).connect(listener.address))
            pairs.append((near, await stack.enter_async_context(await listener.accept())))
            await near.send([b"hello"])
            assert await pairs[-1][1].receive() == [b"hello"]
        before = resident_bytes()
        for near, far in pairs:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(far.send, [payload])
                assert await near.receive() == [payload]
        assert resident_bytes() - before < num_channels * len(payload) / 2


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


WITHOUT_A_DISK = """
import os
import sys
from psephos.transports import TLSTransport
from psephos.transports.keys import make_identity

def see(event, arguments):  # whoever opens a file to write, or makes a folder, is told so
    writes = event == "open" and isinstance(arguments[0], str) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
    assert not writes and event not in {"os.mkdir", "os.rename", "os.link"}, (event, arguments)

sys.addaudithook(see)
ours, theirs = make_identity(), make_identity()
transports = [TLSTransport(), TLSTransport(ours, peers=[theirs.certificate])]
assert {transport.name for transport in transports} == {"tls"}
"""


@pytest.mark.parametrize("has_memory", [True, False])
def test_a_key_that_is_in_no_file_gets_into_none(tmp_path: Path, *, has_memory: bool) -> None:
    """A process that is killed as it begins leaves none: whatever it does, it writes nothing."""
    text = WITHOUT_A_DISK if has_memory else WITHOUT_A_DISK.replace("import os", "import os; del os.memfd_create")
    command = [sys.executable, "-c", text]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run(command, check=True, env=environment)  # noqa: S603  our own
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("part", ["certificate", "private_key"])
def test_a_key_without_end_is_refused_and_holds_up_nobody(part: str) -> None:
    identity = make_identity()
    endless = dataclasses.replace(identity, **{part: getattr(identity, part) + bytes(1 << 20)})
    num_open = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(ConfigurationError, match="it is longer than any key"):
        TLSTransport(endless, peers=[identity.certificate])
    assert len(list(Path("/proc/self/fd").iterdir())) == num_open


@pytest.mark.parametrize("missing", ["identity", "peers"])
def test_a_key_without_peers_or_peers_without_a_key_are_refused(keys: Keys, missing: str) -> None:
    make: dict[str, Callable[[], object]] = {
        "identity": lambda: TLSTransport(peers=[keys.ann.certificate]),
        "peers": lambda: TLSTransport(keys.server_file),
    }
    with pytest.raises(ConfigurationError) as caught:
        make[missing]()
    assert caught.value.field == missing


def test_an_identitys_file_is_its_owners_alone_and_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    identity = make_identity()
    identity.write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    certificate, until = read_certificate(path.read_text())
    assert certificate == identity.certificate
    assert dt.timedelta(days=364) < until - dt.datetime.now(dt.UTC) < dt.timedelta(days=366)
    with pytest.raises(FileExistsError):
        make_identity().write(path)
    assert "PRIVATE" not in repr(identity)


def test_what_holds_no_certificate_is_none() -> None:
    with pytest.raises(ValueError, match="PEM"):
        read_certificate("nothing of the kind")
