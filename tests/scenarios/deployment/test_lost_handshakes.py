"""TLS handshakes that come to no end: a party tries again, unless it is a certificate's fault."""

import contextlib
import functools
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import trio
from bad_input import Psephos
from deployments import ENTRIES, PATIENCE, serving, write_vote
from durable_votes import Vote
from psephos.protocol.errors import BrokenHandshakeError, HandshakeError
from psephos.scenarios.deployment import Joining, find_invitation, join
from psephos.transports import TLSTransport
from psephos.transports.addresses import format_address, parse_address
from psephos.transports.keys import make_identity
from relays import between
from thoroughness import draws


class Front:
    """Somebody at the server's address, who breaks the first connection and passes on all later ones.

    Args:
        server: the address that they go to.
        break_off: what is done with the first; it is closed after that.
    """

    def __init__(self, server: str, break_off: Callable[[socket.socket], None]) -> None:
        self._server = parse_address(server)
        self._break_off = break_off
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.num_connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # as it is closed
            while True:
                client, _ = self._listener.accept()
                self.num_connections += 1
                if self.num_connections == 1:
                    with client:
                        self._break_off(client)
                    continue
                server = socket.create_connection(self._server)
                for source, sink in ((client, server), (server, client)):
                    threading.Thread(target=self._pass_on, args=(source, sink), daemon=True).start()

    @staticmethod
    def _pass_on(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def drawn(tmp_path: Path, psephos: Psephos) -> Path:
    """The folder of a session that is drawn up, in the current folder."""
    write_vote(tmp_path)
    assert psephos("roster", "vote.toml", "--make-keys", "--out", "drawn").status == 0
    return tmp_path / "drawn"


def be_silent(client: socket.socket) -> None:
    while client.recv(1 << 16):
        pass


def hang_up(client: socket.socket) -> None:
    client.recv(1 << 16)


def speak_no_tls(client: socket.socket) -> None:
    client.sendall(b"220 mail.example ESMTP\r\n")
    be_silent(client)


def say_in_the_clear_that_the_certificate_is_unknown(client: socket.socket) -> None:
    client.recv(1 << 16)
    client.sendall(bytes((21, 3, 3, 0, 2, 2, 46)))
    be_silent(client)


@pytest.mark.parametrize(
    ("break_off", "said"),
    [
        (be_silent, "no TLS handshake within 1 s"),
        (hang_up, "the connection was lost before the release"),
        (speak_no_tls, "the other end does not speak TLS 1.3 as this side does (WRONG_VERSION_NUMBER)"),
        (
            say_in_the_clear_that_the_certificate_is_unknown,
            "the other end does not speak TLS 1.3 as this side does (SSLV3_ALERT_CERTIFICATE_UNKNOWN)",
        ),
    ],
)
def test_a_party_whose_handshake_broke_off_says_why_and_takes_part(
    drawn: Path, monkeypatch: pytest.MonkeyPatch, break_off: Callable[[socket.socket], None], said: str
) -> None:
    losses: list[str] = []
    invitations = {party: find_invitation(drawn / "invitations", party=party) for party in ENTRIES}
    with serving("vote.toml", seed=None, roster=drawn) as session:
        others = [session.join(party, seed=None, invitation=invitations[party]) for party in ("bob", "cid")]
        front = Front(session.address, break_off)
        joining = Joining(
            address=front.address,
            party="ann",
            entries=ENTRIES["ann"],
            seed=None,
            invitation=invitations["ann"],
            keys=invitations["ann"].find_keys([]),
        )
        monkeypatch.setattr("psephos.transports.tls.HANDSHAKE_SECONDS", 1.0)
        heard = trio.run(functools.partial(join, joining, on_loss=lambda error: losses.append(str(error))))
        front.close()
        assert [each.result(PATIENCE) for each in others] == [heard.outcome] * 2
        session.result()
    assert losses == [f"server ended the session: {said}"]


@pytest.mark.full("a server that is stopped for longer than a handshake may take, twelve seconds")
def test_a_server_that_is_stopped_for_longer_than_a_handshake_may_take_loses_nobody(tmp_path: Path) -> None:
    with Vote(tmp_path) as vote:
        server = vote.serve()
        server.address()
        server.send(signal.SIGSTOP)
        clients = {party: vote.join(party) for party in ENTRIES}
        threading.Event().wait(12)
        server.send(signal.SIGCONT)
        vote.check(clients, server)


def test_a_port_on_which_nothing_is_said_is_left_at_the_end_of_patience(
    drawn: Path, psephos: Psephos, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("psephos.transports.tls.HANDSHAKE_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        own = ("--as", "ann", "--input", "ann.csv", "--address", format_address(*silent.getsockname()))
        ended = psephos("join", drawn / "invitations", *own, "--out", "ann", "--patience", "1")
    lines = ended.err.splitlines()
    said = "server ended the session: no TLS handshake within 0.2 s"
    assert ended.status == 1
    assert lines == [*[f"trying again: {said}"] * (len(lines) - 1), f"psephos: {said}"]
    assert len(lines) > 1


@pytest.fixture(scope="module")
def ends() -> tuple[TLSTransport, TLSTransport]:
    server, client = make_identity(), make_identity()
    return TLSTransport(server, peers=[client.certificate]), TLSTransport(client, peers=[server.certificate])


async def outcome_at_client(
    ends: tuple[TLSTransport, TLSTransport], *, is_to_server: bool, place: int, bit: int
) -> Exception | None:
    """Return what a client has of a handshake in which one bit is changed on its way; None where it succeeds."""

    async def pump(source: trio.SocketStream, sink: trio.SocketStream, *, is_changed: bool) -> None:
        passed = 0
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            async for received in source:
                data = bytearray(received)
                if is_changed and passed <= place < passed + len(data):
                    data[place - passed] ^= 1 << bit
                passed += len(data)
                await sink.send_all(data)
            await sink.send_eof()

    failure: Exception | None = None
    up, down = (functools.partial(pump, is_changed=is_changed) for is_changed in (is_to_server, not is_to_server))
    with trio.fail_after(PATIENCE):
        async with (
            await ends[0].open_listener() as listener,
            between(listener.address, up, down) as address,
            await ends[1].connect(address) as near,
            await listener.accept() as far,
        ):
            with contextlib.suppress(HandshakeError, trio.EndOfChannel, trio.BrokenResourceError):
                await far.send([b"hello"])
            try:
                await near.receive()
            except (HandshakeError, trio.EndOfChannel, trio.BrokenResourceError) as error:
                failure = error
    return failure


@pytest.mark.parametrize("is_to_server", [True, False])
async def test_no_bit_that_is_changed_in_a_handshake_is_a_certificates_fault(
    ends: tuple[TLSTransport, TLSTransport], monkeypatch: pytest.MonkeyPatch, *, is_to_server: bool
) -> None:
    monkeypatch.setattr("psephos.transports.tls.HANDSHAKE_SECONDS", 0.3)
    monkeypatch.setattr("psephos.transports.tls._ALERT_SECONDS", 0.05)
    for place in range(0, 820, draws(41, full=7)):
        failure = await outcome_at_client(ends, is_to_server=is_to_server, place=place, bit=place % 8)
        is_final = isinstance(failure, HandshakeError) and not isinstance(failure, BrokenHandshakeError)
        assert not is_final, (place, failure)
