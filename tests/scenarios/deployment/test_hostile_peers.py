"""Strangers at the door of a server, a process of its own, and servers that are none: what is refused and survived."""

import contextlib
import resource
import socket
import struct
import threading
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from deployments import PATIENCE, SEED, Peer, Process, report, write_vote
from durable_votes import Vote
from openssl_calls import needs_openssl_calls
from psephos.protocol import SimulatedNoise, run_population
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.messages import (
    MAX_GREETING_BYTES,
    NIL,
    PROTOCOL_VERSION,
    Abort,
    Hello,
    Message,
    Release,
    Request,
    Terms,
    Welcome,
    encode,
)
from psephos.scenarios.deployment import find_invitation
from psephos.scenarios.deployment.common import make_mode
from psephos.transports import MAX_FRAME_BYTES
from psephos.transports.addresses import format_address, parse_address
from psephos.transports.framing import encode_frames
from runs import read_json, read_lines, read_rows

Psephos = Callable[..., Any]
Join = Callable[..., Any]

SIMULATED: Final = ("--simulate", "--seed", SEED)
HOW: Final = ("--transport", "tcp", *SIMULATED)
ANN: Final = ("--as", "ann", "--input", "ann.csv", "--out", "ann", *HOW)
MEGABYTE: Final = 1 << 20
VOTE: Final = DPWeVote(Parameters(candidates=("merger",)))


@contextlib.contextmanager
def serve(folder: Path, *words: object, scenario: str = "", ulimit: str = "") -> Generator[tuple[Process, str]]:
    """Serve the vote of three partners, and yield the process with its address."""
    options = ("--listen", "127.0.0.1:0", "--no-pictures", "--out", "server")
    scenario = scenario or write_vote(folder)
    with Process("serve", scenario, *words, *options, *HOW, folder=folder, is_measured=False, ulimit=ulimit) as server:
        yield server, server.address()


@contextlib.contextmanager
def take_part(folder: Path, address: str, party: str) -> Generator[Process]:
    """Let a party take part, with its own file and a folder of its name."""
    own = ("--as", party, "--input", f"{party}.csv", "--out", party, *HOW)
    with Process("join", address, *own, folder=folder, is_measured=False) as client:
        yield client


def decide(folder: Path, server: Process, address: str) -> tuple[dict[str, Any], float]:
    """Let all three take part; return the result, and how many megabytes the server had before the last one came."""
    with contextlib.ExitStack() as stack:
        ann = stack.enter_context(take_part(folder, address, "ann"))
        ann.line_with("Session vote")  # so that the server has accepted whoever came before it
        peak = peak_megabytes(server)
        others = [stack.enter_context(take_part(folder, address, party)) for party in ("bob", "cid")]
        endings = [process.ending() for process in (ann, *others, server)]
    assert [(ended.status, ended.err) for ended in endings] == [(0, "")] * 4
    return read_json(folder / "server" / "result.json"), peak


@contextlib.contextmanager
def crowd(address: str, number: int, data: bytes) -> Generator[list[socket.socket]]:
    """Connect often, send the same each time, and hold on; whom the server cuts off holds on as well."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < number + 200:
        resource.setrlimit(resource.RLIMIT_NOFILE, (number + 200, hard))
    with contextlib.ExitStack() as stack:
        connections: list[socket.socket] = []
        for _ in range(number):
            connection = stack.enter_context(socket.create_connection(parse_address(address), timeout=PATIENCE))
            with contextlib.suppress(OSError):
                connection.sendall(data)
            connections.append(connection)
        yield connections
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def peak_megabytes(process: Process) -> float:
    """Return the most memory that a process has had at a time."""
    for line in Path(f"/proc/{process.pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise AssertionError


# Strangers at a server


@pytest.mark.full("two thousand connections")
@pytest.mark.parametrize(
    ("announced", "num_sent"), [(MAX_FRAME_BYTES, MEGABYTE // 8), (MAX_GREETING_BYTES, MAX_GREETING_BYTES - 1)]
)
def test_two_thousand_half_frames_before_hello_cost_no_memory_and_the_vote_is_held(
    tmp_path: Path, announced: int, num_sent: int
) -> None:
    with serve(tmp_path) as (server, address):
        before = peak_megabytes(server)
        with crowd(address, 2000, struct.pack(">I", announced) + bytes(num_sent)):
            result, peak = decide(tmp_path, server, address)
    assert result["received"] == {"weights": 3, "opinions": 3}
    assert peak < before + 40, f"{before:.0f} MB before, {peak:.0f} MB at most"


@pytest.mark.full("processes that wait")
def test_thirteen_hundred_idle_connections_leave_room_for_the_roster_where_files_are_few(tmp_path: Path) -> None:
    with serve(tmp_path, ulimit="-n 1024") as (server, address), crowd(address, 1300, b""):
        result, _ = decide(tmp_path, server, address)
    assert result["received"] == {"weights": 3, "opinions": 3}
    (*_, last) = [
        event for event in read_lines(tmp_path / "server" / "events.jsonl") if event["event"] == "connections_refused"
    ]
    assert last["reasons"].keys() <= {"evicted", "silent"}
    assert last["total"] >= 1300 - 512


@pytest.mark.full("a process more")
def test_a_server_with_too_few_files_for_its_roster_says_so_by_name_and_number(tmp_path: Path) -> None:
    words = ("serve", write_vote(tmp_path), "--listen", "127.0.0.1:0", "--out", "server", *HOW)
    with Process(*words, folder=tmp_path, is_measured=False, ulimit="-n 100") as server:
        ended = server.ending()
    said = (
        "psephos: open files: This machine allows 100 open files, and 3 parties need 131. Raise the limit "
        "(`ulimit -n 131`, in systemd LimitNOFILE), or serve fewer.\n"
    )
    assert (ended.status, ended.out, ended.err) == (2, "", said)
    assert not (tmp_path / "server").exists()


@pytest.mark.full("processes that wait")
def test_a_log_that_cannot_be_written_is_said_in_the_end_and_the_vote_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # every later process would read what is cut off
    with serve(tmp_path) as (server, address):
        _, hard = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (1, hard))
        with crowd(address, 800, encode_frames([encode(report(0, 1))])), contextlib.ExitStack() as stack:
            ann, bob = (stack.enter_context(take_part(tmp_path, address, party)) for party in ("ann", "bob"))
            ann.line_with("Session vote")
            resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (hard, hard))  # its disk has room again
            cid = stack.enter_context(take_part(tmp_path, address, "cid"))
            endings = [process.ending() for process in (ann, bob, cid, server)]
    assert [(ended.status, ended.err) for ended in endings] == [(0, "")] * 4
    lost = read_json(tmp_path / "server" / "run.json")["events_lost"]
    assert lost["File too large"] >= 3  # at 1, 10 and 100 refusals
    assert read_lines(tmp_path / "server" / "events.jsonl")[-1]["event"] == "connections_refused"


# A server that is none


class FakeServer:
    """A server that says what it is told to say to the first who comes, and then nothing.

    Args:
        replies: said one by one, the first, a welcome and a refusal after something has come.
    """

    def __init__(self, *replies: Message) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(PATIENCE)
        self._replies = replies
        self.address = format_address(*self._listener.getsockname())
        self._thread = threading.Thread(target=self._play)

    def _play(self) -> None:
        with self._listener, contextlib.suppress(OSError), self._listener.accept()[0] as client:
            client.settimeout(PATIENCE)
            for place, reply in enumerate(self._replies):
                if not place or isinstance(reply, (Welcome, Abort)):  # to an inquiry, or to a Hello
                    client.recv(1 << 16)
                client.sendall(encode_frames([encode(reply)]))
            while client.recv(1 << 16):
                pass

    def __enter__(self) -> str:
        self._thread.start()
        return self.address

    def __exit__(self, *_: object) -> None:
        self._thread.join(PATIENCE)


CHARTER: Final = make_mode("vote", seed=SEED).descriptor
TERMS: Final = Terms(PROTOCOL_VERSION, "vote", "dpwevote", "simulation", VOTE.encoded_parameters, 0, descriptor=CHARTER)
WELCOME: Final = Welcome.make(VOTE, descriptor=CHARTER)


@pytest.fixture
def join(tmp_path: Path, psephos: Psephos) -> Join:
    """Lets ann join a server that gives these replies, by the command line in this process; returns how that ended."""

    def join(*replies: Message, words: Sequence[object] = ()) -> Any:
        write_vote(tmp_path)
        with FakeServer(*replies) as address:
            return psephos("join", address, *ANN, *words)

    return join


def real_outcome() -> msgspec.Raw:
    """Return an outcome of the vote, such as somebody makes up."""
    inputs = VOTE.encode({"weight": [1.0], "merger": [1]})
    return msgspec.Raw(
        msgspec.msgpack.encode(run_population(VOTE, inputs, noise=SimulatedNoise(1, session="x")).outcome)
    )


@pytest.mark.parametrize("num_requests", [0, 1])
def test_a_forged_release_before_the_last_request_is_refused_and_nothing_is_stored(
    tmp_path: Path, join: Join, num_requests: int
) -> None:
    requests = [Request(phase, NIL) for phase in range(num_requests)]
    ended = join(TERMS, WELCOME, *requests, Release(real_outcome()))
    assert ended.status == 1
    state = "reported" if num_requests else "joined"
    which = "too early a" if num_requests else "a"
    assert ended.err == f"psephos: server sent {which} Release in state '{state}'\n"
    assert "You paid" not in ended.out
    assert not (tmp_path / "ann" / "outcome.json").exists()


def test_who_was_late_is_told_so_and_it_is_written_down(tmp_path: Path, join: Join) -> None:
    ended = join(TERMS, WELCOME, Request(0, NIL), Release(real_outcome(), is_late=True))
    assert (ended.status, ended.err) == (0, "")
    assert "Late: phase 'weights' closed without a report of yours" in ended.out
    run = read_json(tmp_path / "ann" / "run.json")
    assert (run["late_phase"], run["transcript"]) == ("weights", None)


ESCAPES: Final = "\x1b[2J\x1b]0;owned\x07\x9b1m\r\nYou paid nothing\u202e"


@pytest.mark.parametrize(
    "replies", [[Abort(ESCAPES)], [TERMS, Abort(ESCAPES)], [TERMS, Abort("", "\x1b[1m", 1, 2, (ESCAPES,), 1)]]
)
def test_what_a_server_says_reaches_no_terminal_and_no_file_as_an_order(
    tmp_path: Path, join: Join, replies: list[Message]
) -> None:
    ended = join(*replies)
    assert ended.status == 1
    assert ended.err.count("\n") == 1
    assert ended.err.rstrip("\n").isprintable()
    assert "owned" in ended.err
    for file in (tmp_path / "ann").iterdir():
        text = file.read_text(encoding="utf-8").replace("\n", "").replace("\N{NO-BREAK SPACE}", " ")
        assert text.isprintable(), file.name


def test_names_that_are_orders_to_a_terminal_are_shown_without_them(join: Join) -> None:
    ended = join(msgspec.structs.replace(TERMS, session=ESCAPES), Abort("enough"))
    assert ended.status == 1
    assert "\nSession �[2J�]0;owned��1m��You paid nothing�\n" in ended.out


@pytest.mark.parametrize(
    "replies",
    [
        [],
        *(
            pytest.param(replies, marks=pytest.mark.full("it waits"))
            for replies in ([TERMS], [TERMS, WELCOME], [TERMS, WELCOME, Request(0, NIL)])
        ),
    ],
)
def test_a_server_that_falls_silent_is_left(tmp_path: Path, join: Join, replies: list[Message]) -> None:
    ended = join(*replies, words=("--patience", "0.75"))
    assert (ended.status, ended.err) == (1, "psephos: server has said nothing for 0.75 seconds\n")
    assert read_json(tmp_path / "ann" / "run.json")["failure"]["error"] == "RemoteProtocolError"


@pytest.mark.parametrize("patience", ["0", "-1", "nan"])
def test_patience_is_a_positive_number_of_seconds(tmp_path: Path, psephos: Psephos, patience: str) -> None:
    write_vote(tmp_path)
    ended = psephos("join", "127.0.0.1:1", *ANN, "--patience", patience)
    reason = f"psephos: --patience is {float(patience)!r}: use a positive number of seconds, or inf\n"
    assert (ended.status, ended.err) == (2, reason)
    assert not (tmp_path / "ann").exists()


@pytest.mark.full("a process; an agent's is quick")
def test_a_loss_that_cannot_be_written_stops_the_report(tmp_path: Path) -> None:
    write_vote(tmp_path)
    with (
        FakeServer(TERMS, WELCOME, Request(0, NIL)) as address,
        Process("join", address, *ANN, folder=tmp_path, is_measured=False, ulimit="-f 0") as client,
    ):
        ended = client.ending()
    assert ended.status == 1
    assert ended.err.count("\n") == 1
    assert "File too large" in ended.err


# What is left on the disk


@pytest.mark.full("processes that wait")
def test_a_name_that_is_a_formula_is_written_as_text_and_its_owner_takes_part(tmp_path: Path) -> None:
    scenario = write_vote(tmp_path)
    name = "=HYPERLINK(A1)"
    for file in ("three.csv", "ann.csv"):
        path = tmp_path / file
        path.write_text(path.read_text(encoding="utf-8").replace("ann,", f"{name},"), encoding="utf-8")
    with Process(
        "roster", scenario, "--simulate", "--make-keys", "--out", "drawn", folder=tmp_path, is_measured=False
    ) as drawing:
        assert drawing.ending().status == 0
    assert [row["partner"] for row in read_rows(tmp_path / "drawn" / "roster.csv")] == [f"'{name}", "bob", "cid"]
    words = ("serve", scenario, "--roster", "drawn", "--listen", "127.0.0.1:0", "--out", "server", *SIMULATED)
    with Process(*words, folder=tmp_path, is_measured=False) as server, contextlib.ExitStack() as stack:
        address = server.address()
        clients = [
            stack.enter_context(
                Process(
                    *("join", "drawn/invitations", "--address", address, "--as", party),
                    *("--input", f"{file}.csv", "--out", file, *SIMULATED),
                    folder=tmp_path,
                    is_measured=False,
                )
            )
            for file, party in {"ann": name, "bob": "bob", "cid": "cid"}.items()
        ]
        endings = [process.ending() for process in (*clients, server)]
    assert [(ended.status, ended.err) for ended in endings] == [(0, "")] * 4


@needs_openssl_calls
@pytest.mark.full("half a dozen processes")
def test_a_party_that_asks_for_new_keys_without_end_costs_the_server_nothing(tmp_path: Path) -> None:
    """Over TLS, with a certificate of the roster; the others decide without it."""
    with Vote(tmp_path, "quorum=2") as vote:
        server = vote.serve()
        server.address()
        before = peak_megabytes(server)
        invitation = find_invitation(vote.roster / "invitations", party="ann")
        ann = Peer(vote.address, keys=invitation.find_keys([]))
        ann.send(Hello(PROTOCOL_VERSION, "vote", "dpwevote", "deployment", "ann", invitation.session_id))
        assert isinstance(ann.receive(), Welcome)
        with contextlib.suppress(OSError):
            for _ in range(10_000):
                ann.ask_for_new_keys(30)
        assert peak_megabytes(server) < before + 10
        ann.close()
        clients = {party: vote.join(party) for party in ("bob", "cid")}
        vote.check(clients, server, absent=["ann"])
        (dropped,) = [event for event in vote.events_of("server") if event["event"] == "party_dropped"]
        assert (dropped["peer"], "asks for new keys" in dropped["reason"]) == ("ann", True)
