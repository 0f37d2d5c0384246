"""Somebody between the parties and their server, or in its place, over TLS: what reaches whom, and what it costs.

Servers are processes of their own, and so are clients that do more than be refused. Each attack is one that worked
while sessions were not encrypted.
"""

import contextlib
import json
import shutil
import socket
import ssl
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from deployments import ENTRIES, PATIENCE, WARNED, Peer, Process, write_vote
from psephos.protocol.messages import NOT_ADMITTED, PROTOCOL_VERSION, Hello, Terms, Welcome, encode
from psephos.scenarios.deployment import Invitation, enroll, find_invitation
from psephos.scenarios.running.folder import read_ledger
from psephos.transports import encode_frames
from psephos.transports.addresses import parse_address
from psephos.transports.keys import make_identity
from relays import SHORTER_THAN_A_HELLO, Relay
from runs import read_json

Psephos = Callable[..., Any]
Drawn = tuple[Path, dict[str, Invitation]]


@pytest.fixture
def drawn(tmp_path: Path, psephos: Psephos) -> Drawn:
    """A vote of three that is drawn up, and everybody's invitation."""
    return draw(psephos, tmp_path, "drawn")


def draw(psephos: Psephos, folder: Path, name: str, *words: object) -> Drawn:
    """Draw up a session of the vote."""
    write_vote(folder)
    ended = psephos("roster", "vote.toml", *(words or ("--make-keys",)), "--out", name)
    assert (ended.status, ended.err) == (0, "")
    invitations = {party: find_invitation(folder / name / "invitations", party=party) for party in ENTRIES}
    return folder / name, invitations


@contextlib.contextmanager
def serving(folder: Path, *words: object) -> Generator[Process]:
    """Serve what was drawn up, in a process."""
    how = ("--roster", folder, "--listen", "127.0.0.1:0", "--no-pictures", "--out", f"at-{folder.name}", *words)
    with Process("serve", "vote.toml", *how, folder=folder.parent, is_measured=False) as server:
        yield server


@contextlib.contextmanager
def joining(folder: Path, address: str, *parties: str, key: Path | None = None) -> Generator[dict[str, Process]]:
    """Let parties take part by their invitations in this folder, each in a process."""
    with contextlib.ExitStack() as stack:
        own = () if key is None else ("--key", key)
        yield {
            party: stack.enter_context(
                Process(
                    *("join", folder / "invitations", "--as", party, "--input", f"{party}.csv", "--address", address),
                    *("--json", "--out", f"as-{party}", *own),
                    folder=folder.parent,
                    is_measured=False,
                )
            )
            for party in parties
        }


def join(psephos: Psephos, folder: Path, address: str, party: str) -> Any:
    """Let a party take part by its invitation in this folder, in this process, and return how it ended."""
    own = ("--as", party, "--input", f"{party}.csv", "--address", address, "--out", f"as-{party}")
    return psephos("join", folder / "invitations", *own, "--json")


def check_refused(ending: Any, words: str, folder: Path) -> None:
    """Check that a party was warned, ended with one line that says this, and paid nothing."""
    warned, _, said = ending.err.partition("\n")
    assert (ending.status, ending.out, said.count("\n")) == (1, "", 1), ending
    assert warned.startswith("warning: 3 partners at")
    assert said.startswith("psephos: ")
    assert words in said
    assert read_ledger(folder) == []
    assert not (folder / "outcome.json").exists()


def refusals_at(folder: Path, *, number: int = 0) -> dict[str, int]:
    """Return how many connections a server has refused, by reason, as its log last said it.

    Args:
        folder: the server's.
        number: of refusals that are waited for: who hangs up on a server is gone before it has written that down.
    """
    gives_up = time.monotonic() + PATIENCE
    while True:
        *lines, _ = (folder / "events.jsonl").read_bytes().split(b"\n")  # a last one may not be whole yet
        told = [event["reasons"] for event in map(json.loads, lines) if event["event"] == "connections_refused"]
        reasons: dict[str, int] = told[-1] if told else {}
        if sum(reasons.values()) >= number:
            return reasons
        assert time.monotonic() < gives_up, reasons
        threading.Event().wait(0.01)


@pytest.mark.full("processes; within one, others read and change bytes")
def test_a_relay_reads_nothing_and_what_it_changes_counts_for_nothing(tmp_path: Path, drawn: Drawn) -> None:
    folder, invitations = drawn

    def change(number: int, data: bytes) -> bytes:
        """Change the reports of one party: nothing else that a party sends is so short."""
        return data[:-1] + bytes([data[-1] ^ 1]) if number == 2 and len(data) < SHORTER_THAN_A_HELLO else data

    with serving(folder, "--set", "quorum=2") as server:
        relay = Relay(server.address(), change)
        with joining(folder, relay.address, *ENTRIES) as clients:
            heard = {party: client.ending() for party, client in clients.items()}
        ended = server.ending()
        relay.close()
    assert [each.status for each in (ended, *heard.values())] == [0] * 4
    assert all(each.err.startswith(WARNED) for each in heard.values())
    lost = [
        each.err.removeprefix(WARNED) for each in heard.values() if each.err != WARNED
    ]  # one has come back, and what was changed counts nowhere
    assert lost == ["trying again: server ended the session: the connection was lost before the release\n"]
    result = read_json(tmp_path / "at-drawn" / "result.json")
    assert result["received"] == {"weights": 3, "opinions": 3}
    assert [json.loads(each.out) for each in heard.values()] == [result["outcome"]] * 3
    for secret in ("dpwevote", "deployment", "candidates", "merger", "epsilon", invitations["ann"].session_id):
        assert secret.encode() not in relay.seen


@pytest.mark.full("processes once more")
def test_what_was_captured_in_one_session_is_void_in_the_next(tmp_path: Path, psephos: Psephos) -> None:
    """Bytes say nothing to another server, and an enrolled party's own words of the last session are of the last."""
    for party in ENTRIES:
        enroll(party, tmp_path / "keys" / party)
    write_vote(tmp_path)
    first, _ = draw(psephos, tmp_path, "first", "--enrolled", "keys")
    second, again = draw(psephos, tmp_path, "second", "--enrolled", "keys")
    with serving(first) as server:
        relay = Relay(server.address())
        with joining(first, relay.address, "ann", key=tmp_path / "keys" / "ann") as clients:
            captured = relay.wait_for(2)  # of the handshake, and what follows
            clients["ann"].kill()
        relay.close()
        server.kill()
    with serving(second) as server:
        address = server.address()
        with socket.create_connection(parse_address(address), timeout=PATIENCE) as replayer:
            replayer.sendall(captured)
            with contextlib.suppress(ConnectionResetError):
                while replayer.recv(1 << 16):
                    pass
        old = find_invitation(first / "invitations", party="ann")
        keys = again["ann"].find_keys([tmp_path / "keys" / "ann"])
        with Peer(address, keys=keys) as ann:
            ann.send(Hello(PROTOCOL_VERSION, "vote", "dpwevote", "deployment", "ann", old.session_id))
            assert ann.refusal() == "'ann' came with the id of another session"
        stale = ("--key", tmp_path / "keys" / "ann", "--address", address, "--input", "ann.csv", "--out", "stale")
        ended = psephos("join", first / "invitations", "--as", "ann", *stale)
        assert (ended.status, ended.err.count("\n")) == (1, 1)
        assert "the other end's certificate is not one of those that were agreed" in ended.err
        assert read_ledger(Path("stale")) == []
        refused = refusals_at(tmp_path / "at-second", number=3)
        server.kill()
    assert sorted(refused.values()) == [1, 1, 1]


class FakeServer:
    """Somebody at the server's address, with a key of its own, who offers a session at ε = 10.

    Attributes:
        heard: what it was told.
    """

    def __init__(self, folder: Path, invitation: Invitation) -> None:
        self.heard = bytearray()
        identity = make_identity()
        identity.write(folder / "fake.pem")
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)  # which asks for no certificate
        self._context.load_cert_chain(folder / "fake.pem")
        parameters = msgspec.Raw(msgspec.msgpack.encode({**invitation.parameters, "epsilon": 10.0}))
        terms = Terms(PROTOCOL_VERSION, "vote", "dpwevote", "deployment", parameters, 0, (), invitation.descriptor)
        welcome = Welcome(PROTOCOL_VERSION, parameters, (), invitation.descriptor)
        self._words = encode_frames([encode(terms), encode(welcome)])
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        with contextlib.suppress(OSError), self._context.wrap_socket(connection, server_side=True) as stream:
            stream.sendall(self._words)
            while data := stream.recv(1 << 16):
                self.heard += data

    def close(self) -> None:
        """Wait until the client has gone."""
        self._thread.join(PATIENCE)
        self._listener.close()


def test_a_fake_server_is_told_nothing_and_takes_no_seat(tmp_path: Path, psephos: Psephos, drawn: Drawn) -> None:
    folder, invitations = drawn
    fake = FakeServer(tmp_path, invitations["ann"])
    ending = join(psephos, folder, fake.address, "ann")
    fake.close()
    check_refused(ending, "the other end's certificate is not one of those that were agreed", tmp_path / "as-ann")
    assert fake.address in ending.err
    assert bytes(fake.heard) == b""


@pytest.mark.bad_input("another's certificate, one that is on no roster, one that has expired")
def test_a_certificate_that_is_unknown_foreign_or_expired_is_one_line_on_either_side(
    tmp_path: Path, psephos: Psephos
) -> None:
    for party, days in (("ann", 365.0), ("bob", 365.0), ("cid", 365.0)):
        enroll(party, tmp_path / "keys" / party, days=days)
    folder, invitations = draw(psephos, tmp_path, "drawn", "--enrolled", "keys")
    unknown, expired = make_identity(), make_identity(days=-1)
    # Cid's certificate expired meanwhile: the roster has it as it is.
    known = (folder / "certificates.pem").read_text(encoding="ascii")
    (folder / "certificates.pem").write_text(known + expired.certificate_pem, encoding="ascii")
    cases = {
        "ann": (unknown, "does not know this side's certificate", "is not one of those that were agreed"),
        "bob": (expired, "says that this side's certificate has expired", "has expired"),
    }
    for party, (identity, _, _) in cases.items():
        changed = msgspec.structs.replace(invitations[party], certificate=identity.fingerprint, key=identity.text)
        (file,) = (folder / "invitations").glob(f"*-{party}.json")
        file.write_bytes(msgspec.json.encode(changed))
    (file,) = (folder / "invitations").glob("*-cid.json")
    foreign = msgspec.structs.replace(
        invitations["cid"], certificate=invitations["bob"].certificate, key=(tmp_path / "keys/bob/key.pem").read_text()
    )
    file.write_bytes(msgspec.json.encode(foreign))
    with serving(folder) as server:
        address = server.address()
        endings = {party: join(psephos, folder, address, party) for party in ENTRIES}
        refused = refusals_at(tmp_path / "at-drawn", number=3)
        server.kill()
    for party, (_, words, _) in cases.items():
        check_refused(endings[party], words, tmp_path / f"as-{party}")
    check_refused(endings["cid"], f"server ended the session: {NOT_ADMITTED}\n", tmp_path / "as-cid")
    reasons = [f"the other end's certificate {words}" for _, _, words in cases.values()]
    assert refused == {**dict.fromkeys(reasons, 1), "stranger": 1}


@pytest.mark.full("seven hundred handshakes")
def test_strangers_who_never_end_a_handshake_give_way_and_the_vote_is_held(tmp_path: Path, drawn: Drawn) -> None:
    folder, _ = drawn
    begun = bytes.fromhex("16030102000100")  # of a ClientHello of 512 bytes
    with serving(folder) as server, contextlib.ExitStack() as stack:
        address = server.address()
        for _ in range(700):
            stranger = socket.create_connection(parse_address(address), timeout=PATIENCE)
            stack.enter_context(stranger).sendall(begun)
        with joining(folder, address, *ENTRIES) as clients:
            endings = [client.ending() for client in clients.values()]
        ended = server.ending()
    assert [(each.status, each.err) for each in (*endings, ended)] == [*[(0, WARNED)] * 3, (0, "")]
    assert read_json(tmp_path / "at-drawn" / "result.json")["received"] == {"weights": 3, "opinions": 3}
    assert refusals_at(tmp_path / "at-drawn")["evicted"] >= 700 - 512


@pytest.mark.full("eight processes; its parts are tested one by one")
@pytest.mark.bad_input("another's certificate, one that is on no roster, one that has expired")
def test_a_party_that_renews_its_key_is_drawn_up_anew_and_its_old_key_is_nobodys(
    tmp_path: Path, psephos: Psephos
) -> None:
    for party in ENTRIES:
        enroll(party, tmp_path / "keys" / party)
    draw(psephos, tmp_path, "before", "--enrolled", "keys")
    shutil.move(tmp_path / "keys" / "ann", tmp_path / "old-ann")
    enroll("ann", tmp_path / "keys" / "ann")
    folder, _ = draw(psephos, tmp_path, "after", "--enrolled", "keys")
    own = ("--input", "ann.csv", "--address", "127.0.0.1:1", "--out", "out")
    refusal = psephos("join", folder / "invitations/1-ann.json", "--key", tmp_path / "old-ann", *own).refusal
    assert refusal.startswith("psephos: give --key: the folder of the keys of 'ann', with certificate ")
    with serving(folder) as server:
        address = server.address()
        with contextlib.ExitStack() as stack:
            clients = [
                stack.enter_context(joining(folder, address, party, key=tmp_path / "keys" / party))[party]
                for party in ENTRIES
            ]
            endings = [client.ending() for client in clients]
        ended = server.ending()
    assert [ending.status for ending in endings] == [0, 0, 0]
    assert ended.status == 0
