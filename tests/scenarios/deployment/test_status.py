"""The page of `serve --status`: what it says, to whom, and that it is never in the way of the vote."""

import contextlib
import dataclasses
import http.client
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
import trio
from deployments import AHEAD, PATIENCE, SEED, Peer, Process, report, write_vote
from prometheus_client.parser import text_string_to_metric_families
from psephos.agents.session_status import Connections, SessionStatus
from psephos.protocol.messages import Abort, Welcome
from psephos.protocol.phase_reports import Attendance
from psephos.protocol.states import SessionState
from psephos.scenarios.deployment.status import Status, open_status
from psephos.transports.addresses import parse_address
from runs import read_json, read_lines

Psephos = Callable[..., Any]

LOCALHOST: Final = socket.getaddrinfo("localhost", None, type=socket.SOCK_STREAM)[0][4][0]
"""What this machine takes the name for: an address of either version."""

HOW: Final = ("--transport", "tcp", "--simulate", "--seed", SEED, "--listen", "127.0.0.1:0", "--no-pictures")
MOST_SECONDS_A_CONNECTION: Final = 5.0


class Page:
    """The page of a process or of a server in a thread.

    Args:
        address: where.
    """

    def __init__(self, address: str) -> None:
        self.address = address

    def ask(self, path: str, method: str = "GET") -> tuple[int, str, Mapping[str, str]]:
        """Return status, text and headers."""
        connection = http.client.HTTPConnection(*parse_address(self.address), timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), dict(answer.getheaders())

    def ask_until_answered(self) -> None:
        """Ask until it is this one's turn, among many."""
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                assert self.ask("/healthz")[0] == 200
                return

    def say(self, data: bytes) -> bytes:
        """Return what is answered to bytes as they are, up to the end."""
        with socket.create_connection(parse_address(self.address), timeout=PATIENCE) as connection:
            connection.sendall(data)
            return _all_of(connection)

    def metrics(self) -> dict[str, float]:
        status, text, _ = self.ask("/metrics")
        assert status == 200
        return samples_in(text)

    def metrics_with(self, **expected: float) -> dict[str, float]:
        """Wait until these of `psephos_...` are so, and return all samples."""
        gives_up = time.monotonic() + PATIENCE
        while True:
            found = self.metrics()
            if {name: found[f"psephos_{name}"] for name in expected} == expected:
                return found
            assert time.monotonic() < gives_up, found


def _all_of(connection: socket.socket) -> bytes:
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while data := connection.recv(1 << 16):
            received += data
    return received


def samples_in(text: str) -> dict[str, float]:
    """Return a text's samples, by name and label."""
    return {
        ":".join([sample.name, *sample.labels.values()]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@contextlib.contextmanager
def serve(
    folder: Path, *words: object, program: Sequence[object] = ("-m", "psephos.scenarios.cli")
) -> Generator[tuple[Process, str, Page]]:
    """Serve the vote of three partners with a page; yield the process, its address and the page."""
    how = (*HOW, "--out", "server", "--status", "0", *words)
    with Process("serve", write_vote(folder), *how, folder=folder, is_measured=False, program=program) as server:
        address = server.address()
        line = server.line_with("status at ")
        found = re.fullmatch(r"status at http://(127\.0\.0\.1:[1-9]\d*)/healthz and http://\1/metrics\n", line)
        assert found is not None, line
        yield server, address, Page(found[1])


def decide(address: str, folder: Path, server: Process) -> None:
    """Let all three take part, by hand."""
    with contextlib.ExitStack() as stack:
        peers = {name: stack.enter_context(Peer(address)) for name in ("ann", "bob", "cid")}
        for name, peer in peers.items():
            peer.hello(name)
        for number, peer in enumerate(peers.values()):
            assert peer.next_request().step == 0
            peer.send(report(0, number % 3))
        for peer in peers.values():
            assert peer.next_request().step == 1
        for peer in peers.values():
            peer.send(report(1, 1))
        for peer in peers.values():
            peer.hear_release()
        ended = server.ending()
    assert (ended.status, ended.err) == (0, "")
    assert read_json(folder / "server" / "result.json")["received"] == {"weights": 3, "opinions": 3}


def num_descriptors(process: Process) -> int:
    return len(list(Path(f"/proc/{process.pid}/fd").iterdir()))


# What it says


def test_it_says_where_the_session_stands_and_who_is_counted(tmp_path: Path) -> None:
    begun = time.time()
    with serve(tmp_path) as (server, address, page), contextlib.ExitStack() as stack:
        status, words, headers = page.ask("/healthz")
        assert status == 200
        assert re.fullmatch(r"open: phase 'join' until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\n", words)
        assert headers["Content-Length"] == str(len(words))
        at_first = page.metrics()
        assert at_first["psephos_session_state:gathering"] == 1
        deadline = at_first["psephos_phase_deadline_timestamp_seconds:join"]
        assert begun + 300 - 1 <= deadline <= time.time() + 300 + 1  # it is of whole seconds
        ann, bob, cid, stranger = (stack.enter_context(Peer(address)) for _ in range(4))
        stranger.hello("mallory")
        stranger.refusal()
        for name, peer in {"ann": ann, "bob": bob}.items():
            peer.hello(name)
            peer.receive()
        stack.enter_context(socket.create_connection(parse_address(address)))  # who says nothing
        joining = page.metrics_with(
            connections_open=4, connections_greeting=2, roster_parties=3, parties_joined=2, parties_awaited=1
        )
        refused = {name: number for name, number in joining.items() if "refused_total" in name and number}
        assert refused == {"psephos_connections_refused_total:stranger": 1}
        assert 0 < joining["process_open_fds"] < joining["process_max_fds"]
        assert joining["process_resident_memory_bytes"] > 1e7
        cid.hello("cid")
        for peer in (ann, bob, cid):
            peer.next_request()
        ann.send(report(0, 1))
        reporting = page.metrics_with(**{"reports_accepted_total:weights": 1})
        assert reporting["psephos_session_state:collecting"] == 1
        assert (reporting["psephos_phase_open:join"], reporting["psephos_phase_open:weights"]) == (0, 1)
        assert (reporting["psephos_parties_joined"], reporting["psephos_parties_awaited"]) == (3, 2)
        assert reporting["psephos_reports_accepted_total:opinions"] == 0
        assert page.ask("/healthz")[1].startswith("open: phase 'weights' until ")
        server.kill()


def test_it_says_why_parties_have_left_and_so_does_the_server_whose_events_say_who_comes_and_goes(
    tmp_path: Path,
) -> None:
    reason = "the server or 'cid' is at fault: \x1b[2J"
    with serve(tmp_path, "--set", "quorum=0.5") as (server, address, page), Peer(address) as ann:
        with Peer(address) as lost:
            lost.hello("ann")
            assert isinstance(lost.receive(), Welcome)
        page.metrics_with(parties_joined=0, parties_awaited=3)
        ann.hello("ann")
        assert isinstance(ann.receive(), Welcome)
        ann.send(Abort(reason))
        page.metrics_with(parties_joined=0, parties_awaited=2)
        printable = reason.replace("\x1b", "�")
        shown = f"ann has left: {printable}\n"
        assert page.ask("/healthz")[1].partition("\n")[2] == shown
        assert server.line_with("has left") == f"  {shown}"
        server.kill()
    events = [line for line in read_lines(tmp_path / "server" / "events.jsonl") if line.get("peer") == "ann"]
    assert [(line["event"], line["level"]) for line in events] == [
        ("party_joined", "info"),
        ("connection_lost", "warning"),
        ("party_returned", "info"),
        ("party_left", "warning"),
    ]
    assert events[-1]["reason"] == printable


@pytest.mark.full("one more server")
def test_it_answers_503_once_the_session_has_failed_and_while_the_parties_are_told_so(tmp_path: Path) -> None:
    with serve(tmp_path, program=(AHEAD, 300)) as (server, address, page), Peer(address) as ann:
        ann.hello("ann")
        assert isinstance(ann.receive(), Welcome)
        assert page.ask("/healthz")[0] == 200
        server.send(signal.SIGCONT)  # which lets all the time pass that there is to join
        assert isinstance(ann.receive(), Abort)
        assert page.ask("/healthz")[:2] == (503, "failed: the session has ended without an outcome\n")
        assert page.metrics()["psephos_session_state:aborted"] == 1
        ann.close()
        assert server.ending().status == 1


def test_what_a_request_may_be_is_little_and_all_else_is_refused(tmp_path: Path) -> None:
    with serve(tmp_path) as (server, _, page):
        status, text, headers = page.ask("/healthz", "HEAD")
        assert (status, text) == (200, "")
        assert int(headers["Content-Length"]) > 0
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
            status, _, headers = page.ask("/metrics", method)
            assert (status, headers["Allow"]) == (405, "GET, HEAD")
        for path in ("/", "/metrics/", "/healthz/../metrics", "//metrics", "/server.pem"):
            assert page.ask(path)[0] == 404
        assert page.ask("/metrics?name[]=x")[0] == 200
        cases = {
            b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n": b"HTTP/1.1 400 ",
            b"GET /metrics\r\n\r\n": b"HTTP/1.1 400 ",
            b"GET / HTTP/1.1\r\n\r\n": b"HTTP/1.1 400 ",  # without a Host
            b"GET / HTTP/1.1\r\nA: " + b"x" * 10_000: b"HTTP/1.1 431 ",
            b"GET /metrics HTTP/1.0\r\n\r\n": b"HTTP/1.1 200 ",
            b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000\r\n\r\n"
            + b"x" * 9000: b"HTTP/1.1 405 ",
        }
        port = page.address.rpartition(":")[2]
        for host in (
            "evil.example",
            f"evil.example:{port}",
            "127.0.0.1.evil.example",
            "10.0.0.1",
            "[::2]:80",
            "a:b:c",
            "\xff",
        ):
            cases[f"GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n".encode("latin-1")] = b"HTTP/1.1 421 "
        for host in ("localhost", f"LOCALHOST:{port}", "127.0.0.1", "127.8.8.8:1", "[::1]", f"[::1]:{port}"):
            cases[f"GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()] = b"HTTP/1.1 200 "
        for said, answered in cases.items():
            assert page.say(said).startswith(answered), said
        with socket.create_connection(parse_address(page.address)):
            pass  # who says nothing and leaves
        assert page.ask("/healthz")[0] == 200
        server.send(signal.SIGTERM)
        assert server.ending().status == 143


@pytest.mark.full("it waits")
@pytest.mark.parametrize("said", [b"", b"GET /metrics HTTP/1.1\r\nHost: x\r\n"])
def test_who_says_too_little_is_cut_off_after_a_while(tmp_path: Path, said: bytes) -> None:
    with (
        serve(tmp_path) as (server, _, page),
        socket.create_connection(parse_address(page.address), timeout=PATIENCE) as slow,
    ):
        slow.sendall(said)
        began = time.monotonic()
        assert _all_of(slow) == b""
        assert time.monotonic() - began > MOST_SECONDS_A_CONNECTION / 2
        assert page.ask("/healthz")[0] == 200
        server.kill()


@pytest.mark.full("a flood of eight seconds")
def test_a_flood_at_the_page_holds_up_no_vote_and_the_page_still_answers(tmp_path: Path) -> None:
    """Forty connections that say nothing, and requests as fast as they go."""
    with serve(tmp_path) as (server, address, page):
        is_over = threading.Event()

        def flood() -> None:
            while not is_over.is_set():
                with contextlib.suppress(OSError), socket.create_connection(parse_address(page.address), 0.2) as one:
                    one.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
                    one.recv(1)

        with contextlib.ExitStack() as stack:
            for _ in range(40):
                with contextlib.suppress(OSError):
                    stack.enter_context(socket.create_connection(parse_address(page.address), 0.05))
            threads = [threading.Thread(target=flood) for _ in range(2)]
            for thread in threads:
                thread.start()
            page.ask_until_answered()  # so that what came before has been accepted
            descriptors = num_descriptors(server)
            decide(address, tmp_path, server)
            is_over.set()
            for thread in threads:
                thread.join(PATIENCE)
    assert descriptors < 40


@pytest.mark.full("it waits")
def test_at_the_limit_of_descriptors_the_page_takes_none_of_the_rosters(tmp_path: Path) -> None:
    """A page has at most nine descriptors, of those that `reserve_for_server` leaves beside the roster's."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft > 200
    scenario = write_vote(tmp_path)
    words = ("serve", scenario, *HOW, "--out", "server", "--status", "0")
    with (
        Process(*words, folder=tmp_path, is_measured=False, ulimit="-n 140") as server,
        contextlib.ExitStack() as stack,
    ):
        address = server.address()
        page = Page(server.line_with("status at ").split("/")[2])
        for _ in range(60):
            with contextlib.suppress(OSError):
                stack.enter_context(socket.create_connection(parse_address(page.address), 0.05))
        for _ in range(150):
            stack.enter_context(socket.create_connection(parse_address(address), PATIENCE))
        page.ask_until_answered()
        assert num_descriptors(server) < 120
        decide(address, tmp_path, server)


# Where it is


@pytest.mark.bad_input("an unreachable or a taken address", "a page for monitors at no address of this machine")
@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("", "a port, or HOST:PORT or [IPV6]:PORT, with a port up to 65535"),
        ("127.0.0.1", "a port, or HOST:PORT or [IPV6]:PORT"),
        ("127.0.0.1:http", "a port, or HOST:PORT or [IPV6]:PORT"),
        ("::1:9100", "a port, or HOST:PORT or [IPV6]:PORT"),
        ("65536", "with a port up to 65535"),
        ("-1", "with a port up to 65535"),
        ("٩١٠٠", "with a port up to 65535"),
        ("192.0.2.1:9100", "at which nobody listens (cannot assign requested address"),
        ("nowhere.invalid:9100", "an address of this machine at which nobody listens ("),
        (f"{'a' * 70}.example:9100", "an address of this machine at which nobody listens ("),
        ("TAKEN", "an address of this machine at which nobody listens (address already in use"),
    ],
)
def test_an_address_that_cannot_be_is_refused_before_anything_is_left(
    psephos: Psephos, tmp_path: Path, address: str, reason: str
) -> None:
    scenario = write_vote(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        if address == "TAKEN":
            address = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = psephos("serve", scenario, *HOW, "--out", "out", f"--status={address}")
    assert (ended.status, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith("psephos: --status ")
    assert reason in ended.err
    assert (repr(address) if address else "is empty") in ended.err
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("address", "shown", "is_open_to_others"),
    [("0", "127.0.0.1", False), ("localhost:0", LOCALHOST, False), ("0.0.0.0:0", "0.0.0.0", True)],  # noqa: S104  what is tested
)
def test_it_says_where_it_is_and_whether_others_reach_it(address: str, shown: str, *, is_open_to_others: bool) -> None:
    with open_status(address) as status:
        host, port = parse_address(status.address)
        assert host == shown
        assert port > 0
        words = f"status at http://{status.address}/healthz and http://{status.address}/metrics"
        assert str(status) == words + (", for whoever reaches this address" if is_open_to_others else "")


def test_with_json_the_page_is_named_on_standard_error(tmp_path: Path, psephos: Psephos) -> None:
    words = ("serve", write_vote(tmp_path), *HOW, "--out", "server", "--json", "--status", "0")
    ended = psephos(*words, "--set", "deadline_seconds=0.01")
    assert (ended.status, ended.out) == (1, "")
    assert ended.err.startswith("warning: 3 partners at")
    assert ended.err.splitlines()[2].startswith("status at http://127.0.0.1:")


@pytest.mark.full("processes once more")
@pytest.mark.parametrize(("words", "are_there"), [((), False), (("--status", "0"), True)])
def test_who_asks_for_no_page_waits_for_no_library_of_its(
    tmp_path: Path, words: tuple[str, ...], *, are_there: bool
) -> None:
    serving = (
        "serve",
        write_vote(tmp_path),
        *map(str, HOW),
        "--out",
        "server",
        "--set",
        "deadline_seconds=0.01",
        *words,
    )
    command = [sys.executable, "-X", "importtime", "-m", "psephos.scenarios.cli", *serving]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)  # noqa: S603  our own
    assert ended.returncode == 1
    for library in ("h11", "prometheus_client"):
        assert (re.search(rf"\| +{library}$", ended.stderr, re.MULTILINE) is not None) == are_there, library


# In one process, with any standing


OPEN: Final = SessionStatus(
    SessionState.GATHERING,
    "join",
    3,
    9.0,
    {"join": 1_800_000_000.0},
    Attendance({"join": 1, "weights": 0}, ("ann",), ("bob", "cid")),
    Connections(2, 1, {"stranger": 2, "\x1b[2J owned": 3, "the other end's certificate has expired": 4}),
)


LEFT: Final = Attendance({"join": 0}, (), (), reasons={f"p{number}": "enough" for number in range(15)})
FIRST_TWELVE: Final = "".join(f"p{number} has left: enough\n" for number in range(12))


def page_of(session_status: SessionStatus, path: str, *, at: str = "0", host: str = "") -> tuple[int, str]:
    """Return what the page answers of a standing, at an address and by the name that a browser has for it."""
    named = f"Host: {host}\r\n" if host else ""

    async def ask(status: Status) -> bytes:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(status.serve, lambda: session_status)
            async with await trio.open_tcp_stream(*parse_address(status.address)) as stream:
                await stream.send_all(f"GET {path} HTTP/1.0\r\n{named}\r\n".encode())
                received = b"".join([bytes(data) async for data in stream])
            nursery.cancel_scope.cancel()
        return received

    with open_status(at) as status:
        head, _, body = trio.run(ask, status).decode().partition("\r\n\r\n")
    return int(head.split()[1]), body


def test_what_a_peer_or_a_transport_says_is_no_label() -> None:
    _, text = page_of(OPEN, "/metrics")
    assert samples_in(text)["psephos_connections_refused_total:handshake"] == 7
    assert "owned" not in text
    assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("session_status", "expected"),
    [
        ({}, (200, "open: phase 'join' until 2027-01-15 08:00:00 UTC\n")),
        ({"deadlines": {"join": float("inf")}}, (200, "open: phase 'join' without a deadline\n")),
        ({"deadlines": {"join": 1e300}}, (200, "open: phase 'join' without a deadline\n")),
        ({"phase": "\x1b[2J"}, (200, "open: phase '�[2J' without a deadline\n")),
        ({"state": SessionState.RELEASED}, (200, "released: the parties are told the outcome\n")),
        ({"state": SessionState.ABORTED}, (503, "failed: the session has ended without an outcome\n")),
        (
            {"state": SessionState.RELEASED, "attendance": LEFT},
            (200, f"released: the parties are told the outcome\n{FIRST_TWELVE}3 more have left\n"),
        ),
    ],
)
def test_its_words_are_these(session_status: dict[str, Any], expected: tuple[int, str]) -> None:
    assert page_of(dataclasses.replace(OPEN, **session_status), "/healthz") == expected


def test_where_it_is_private_who_takes_part_nothing_follows_from_it() -> None:
    _, text = page_of(dataclasses.replace(OPEN, attendance=None, connections=None), "/metrics")
    assert {name.partition(":")[0] for name in samples_in(text)} == {
        "psephos_session_state",
        "psephos_roster_parties",
        "psephos_phase_open",
        "psephos_phase_deadline_timestamp_seconds",
        "process_max_fds",
        "process_start_time_seconds",
    }


@pytest.mark.parametrize(
    ("at", "host", "expected"),
    [
        ("0", "localhost", 200),
        ("0", "votes.example.org", 421),
        ("127.0.0.1:0", "evil.example:80", 421),
        ("0.0.0.0:0", "votes.example.org", 200),
        ("0.0.0.0:0", "", 200),
    ],
)
def test_a_page_of_this_machine_answers_to_no_other_name(at: str, host: str, expected: int) -> None:
    """A page of somebody else's in a browser here would else read it by a name of its own; elsewhere anybody may."""
    status, body = page_of(OPEN, "/metrics", at=at, host=host)
    assert status == expected
    assert ("psephos_" in body) is (expected == 200)
