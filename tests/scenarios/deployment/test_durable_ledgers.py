"""What a person pays over many sessions, with servers that ask again and again, and what a full disk costs: nothing.

Servers and parties are processes over TLS; a hostile server has the true server's key.
"""

import contextlib
import itertools
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from deployments import ENTRIES, PATIENCE, Process
from durable_votes import PHASES, Vote, check_ended
from psephos.agents.person_journal import read_sessions
from psephos.protocol.messages import (
    NIL,
    PROTOCOL_VERSION,
    Abort,
    Acknowledgement,
    Hello,
    Message,
    Report,
    Request,
    Welcome,
    decode,
    encode,
)
from psephos.protocol.records import Drawn
from psephos.scenarios.deployment import find_invitation
from psephos.scenarios.deployment.invitations import SERVER_KEY_FILE
from psephos.transports import FrameDecoder, encode_frames
from thoroughness import draws

Psephos = Callable[..., Any]


class HostileServer:
    """The server of a vote, who forgets what it heard, cuts connections, and asks for the same and for other things.

    Args:
        vote: whose key it has.
        party: whom it talks to.
        num_cuts: how often in a row it cuts the connection after a report, before it says that the session is over.

    Attributes:
        heard: every report, by phase.
    """

    def __init__(self, vote: Vote, party: str, *, num_cuts: int) -> None:
        self.heard: dict[int, list[bytes]] = {phase: [] for phase in range(len(PHASES))}
        self._invitation = find_invitation(vote.roster / "invitations", party=party)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.num_tickets = 0
        self._context.load_cert_chain(vote.roster / SERVER_KEY_FILE)
        self._num_cuts = num_cuts
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        for number in itertools.count():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.settimeout(PATIENCE)
            with contextlib.suppress(OSError), self._context.wrap_socket(connection, server_side=True) as stream:
                self._talk(stream, number)
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def _talk(self, stream: ssl.SSLSocket, number: int) -> None:
        decoder = FrameDecoder()
        while data := stream.recv(1 << 16):
            for message in map(decode, decoder.feed(data)):
                match message:
                    case Hello():
                        parameters = msgspec.Raw(msgspec.msgpack.encode(self._invitation.parameters))
                        public, descriptor = tuple(self._invitation.public), self._invitation.descriptor
                        stream.sendall(_frames(Welcome(PROTOCOL_VERSION, parameters, public, descriptor)))
                        if number % (self._num_cuts + 1) == self._num_cuts:
                            stream.sendall(_frames(Abort("that was all")))
                        else:
                            stream.sendall(_frames(self._question(number)))
                    case Report(step=answered, payload=payload):
                        self.heard[answered].append(bytes(payload))
                        if number % 2:
                            stream.sendall(_frames(Acknowledgement(answered)))
                        return
                    case _:
                        return

    def _question(self, number: int) -> Request:
        """Return the request of a phase that was or may be answered, at times with other words."""
        phase = number % len(PHASES) if self.heard[0] else 0
        return Request(phase, msgspec.Raw(msgspec.msgpack.encode(number)) if number % 5 == 4 else NIL)

    def close(self) -> None:
        """Talk to nobody any more."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(PATIENCE)


def _frames(*messages: Message) -> bytes:
    return encode_frames([encode(message) for message in messages])


@pytest.mark.full("processes that come back")
def test_who_joins_many_times_draws_once_whatever_the_server_asks(tmp_path: Path, psephos: Psephos) -> None:
    num_joins = draws(4, full=40)
    with Vote(tmp_path) as vote:
        server = HostileServer(vote, "ann", num_cuts=3)
        endings = [vote.join("ann", "--budget", "2", "--address", server.address).ending() for _ in range(num_joins)]
        server.close()
        assert {ending.status for ending in endings} == {1}, endings
        drawn = [record for record in vote.records_of("ann").records if isinstance(record, Drawn)]
    said = [ending.err.splitlines()[-1] for ending in endings]
    assert all("equest of phase" in each or "that was all" in each for each in said), said
    assert any("equest of phase" in each for each in said)
    # Of eight connections two are asked for what is drawn already, by the same words or by others.
    assert sum(map(len, server.heard.values())) >= num_joins // 4
    assert [len(set(heard)) for heard in server.heard.values()] == [1, 1]
    assert [record.step for record in drawn] == [0, 1]
    shown = psephos("ledger", vote.journal_of("ann"), "--json")
    assert (shown.status, shown.out.count("\n")) == (0, 2)
    assert [entry.proven for entry in vote.records_of("ann").entries] == [0.5, 0.5]


@pytest.mark.full("many processes")
def test_sessions_on_one_journal_are_refused_when_their_budget_is_spent(tmp_path: Path, psephos: Psephos) -> None:
    for number in range(10):
        with Vote(tmp_path, name=f"session-{number}") as vote:
            server = vote.serve()
            server.address()
            ann = vote.join("ann", "--budget", "3")
            if not number:
                assert "begun now" in ann.line_with("Journal: ")
            if number < 3:
                vote.check({"ann": ann, **{party: vote.join(party) for party in ("bob", "cid")}}, server)
            else:
                check_ended(ann.ending(), "budget", status=1)
                assert not vote.records_of("ann").records
        _, sessions = read_sessions(vote.journal_of("ann"))
        assert sum(entry.proven for each in sessions.values() for entry in each.entries) == min(number + 1, 3)
        assert psephos("ledger", vote.journal_of("ann"), "--json").out.count("\n") == 2 * min(number + 1, 3)


LIMITS: Final = range(60, 100, 2)
"""Of a file, in 512 bytes: each commit of a journal takes 8 to 16."""
_OPENED: Final = 64
"""With this a journal can be opened."""


@pytest.mark.full("many processes; a disk that fills is tested beside a journal's file as well")
def test_a_partys_disk_that_is_full_sends_nothing_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    with Vote(tmp_path) as vote:
        server = vote.serve()
        server.address()
        clients = {party: vote.join(party) for party in ("bob", "cid")}
        for limit in LIMITS:
            clients["ann"] = vote.join("ann", ulimit=f"-f {limit}")
            ending = clients["ann"].ending()
            if not ending.status:
                break
            check_ended(ending, ".sqlite cannot be ", status=2)
            for phase in range(len(PHASES)):
                assert "ann" not in vote.accepted(phase) or vote.records_of("ann").num_drawn > phase
        assert vote.records_of("ann").end_record is not None  # there was room for all in the end
        vote.check(clients, server)


@pytest.mark.full("many processes; a disk that fills is tested beside a journal's file as well")
def test_a_servers_disk_that_is_full_accepts_nothing_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    with Vote(tmp_path) as vote:
        clients: dict[str, Process] = {}
        for limit in LIMITS:
            server = vote.serve(ulimit=f"-f {limit}")
            if limit >= _OPENED:
                server.address()
                clients = clients or {party: vote.join(party) for party in ENTRIES}
            ending = server.ending()
            if not ending.status:
                break
            check_ended(ending, "journal.sqlite cannot be ", status=2)
            assert all(vote.records_of(party).num_acknowledged <= len(vote.accepted_of(party)) for party in clients)
        else:
            server = vote.serve()
        vote.check(clients, server)
