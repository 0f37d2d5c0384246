"""`roster`, `serve` and `join`: what they print, what they refuse, and with which exit status."""

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deployments import ENTRIES, PATIENCE, SEED, serving, write_vote
from psephos.scenarios.deployment import find_invitation
from psephos.transports.addresses import format_address

Psephos = Callable[..., Any]
Write = Callable[[str, str | bytes], Path]

SIMULATED = ("--simulate", "--seed", SEED)
NOBODY_LISTENS = "127.0.0.1:1"


@pytest.fixture(autouse=True)
def vote(tmp_path: Path) -> str:
    """A vote of three partners; its path."""
    return write_vote(tmp_path)


def folders() -> set[str]:
    """Return the folders that commands have left."""
    return {path.name for path in Path().iterdir() if path.is_dir()}


def check_refused(ended: Any, sentence: str, *, status: int = 2) -> None:
    """Check that a command ended with this sentence alone."""
    assert (ended.status, ended.err) == (status, f"psephos: {sentence}\n")


def test_roster_writes_a_file_for_the_server_and_one_for_each_partner(psephos: Psephos) -> None:
    ended = psephos("roster", "vote.toml", "--out", "drawn")
    assert (ended.status, ended.err) == (0, "")
    assert ended.out == (
        "drawn/roster.csv: for the server, 3 partners\n"
        "drawn/invitations: a file for each of them, with a token that is for it alone\n"
    )
    assert {path.name for path in Path("drawn").iterdir()} == {"roster.csv", "invitations"}
    for name in ENTRIES:
        invitation = find_invitation(Path("drawn/invitations"), party=name)
        assert (invitation.session, invitation.kind) == ("vote", "deployment")
        assert invitation.token not in ended.out
        assert invitation.token not in Path("drawn/roster.csv").read_text(encoding="utf-8")


def test_roster_invites_to_a_simulation_on_request(psephos: Psephos) -> None:
    assert psephos("roster", "vote.toml", "--simulate", "--out", "drawn").status == 0
    assert find_invitation(Path("drawn/invitations"), party="ann").kind == "simulation"


def test_roster_refuses_what_a_session_would_and_leaves_no_folder(psephos: Psephos) -> None:
    ended = psephos("roster", "vote.toml", "--set", "epsilon=0", "--out", "drawn")
    assert ended.status == 2
    assert ended.err.startswith("psephos: epsilon must be ")
    assert folders() == set()


def test_join_shows_what_it_takes_part_in_and_the_outcome(psephos: Psephos) -> None:
    with serving("vote.toml") as session:
        others = [session.join(name) for name in ("bob", "cid")]
        words = ("--as", "ann", "--input", "ann.csv", "--out", "mine")
        ended = psephos("join", session.address, *words, *SIMULATED)
        assert all(other.result(PATIENCE) for other in others)
    assert (ended.status, ended.err) == (0, "")
    for shown in (
        "Session vote",
        "as ann · protocol dpwevote · simulation · costs epsilon = 1",
        "Trust: Nobody is trusted with private values",
        "ε = 1: from even odds, up to 73.2 % certainty of what one partner holds",
        "merger",
        "in mine",
    ):
        assert shown in ended.out
    assert str(SEED) not in ended.out.split("merger")[0]


def test_join_prints_the_outcome_as_json_and_nothing_else(psephos: Psephos) -> None:
    with serving("vote.toml") as session:
        others = [session.join(name) for name in ("bob", "cid")]
        words = ("--as", "ann", "--input", "ann.csv", "--out", "mine", "--json")
        ended = psephos("join", session.address, *words, *SIMULATED)
        assert all(other.result(PATIENCE) for other in others)
    assert (ended.status, ended.err) == (0, "")
    assert json.loads(ended.out) == json.loads(Path("mine/outcome.json").read_bytes())


@pytest.mark.bad_input("an unreachable or a taken address")
def test_without_a_folder_named_a_partner_gets_its_own_below_runs(psephos: Psephos) -> None:
    ended = psephos("join", NOBODY_LISTENS, "--as", "ann", "--input", "ann.csv", *SIMULATED)
    check_refused(ended, "all attempts to connect to 127.0.0.1:1 failed", status=1)
    (folder,) = Path("runs").iterdir()
    assert folder.name.startswith("as-ann-")
    assert {path.name for path in folder.iterdir()} == {"events.jsonl", "ledger.jsonl", "run.json"}


@pytest.mark.parametrize("out", ["drawn", "ann.csv"])
def test_a_folder_that_holds_something_is_left_alone(psephos: Psephos, out: str) -> None:
    psephos("roster", "vote.toml", "--out", "drawn")
    before = {path: path.stat().st_mtime_ns for path in Path().rglob("*")}
    for words in (
        ("roster", "vote.toml"),
        ("serve", "vote.toml", "--listen", "127.0.0.1:0"),
        ("join", NOBODY_LISTENS, "--as", "ann", "--input", "ann.csv"),
    ):
        ended = psephos(*words, "--out", out)
        assert ended.status == 2
        assert ended.err.startswith("psephos: --out must be ")
    assert {path: path.stat().st_mtime_ns for path in Path().rglob("*")} == before


SERVE = ("serve", "vote.toml", "--out", "out", "--listen")
JOIN = ("join", NOBODY_LISTENS, "--as", "ann", "--out", "out", "--input")
ENCRYPTED = "a loopback address such as 127.0.0.1:7000, since nothing is encrypted yet; --insecure lifts that"
REFUSED: dict[str, tuple[tuple[object, ...], str]] = {
    "a server for everybody": ((*SERVE, "0.0.0.0:7000"), f"--listen must be {ENCRYPTED}, got '0.0.0.0:7000'"),
    "a server for everybody who says so, without tokens": (
        (*SERVE, "0.0.0.0:7000", "--insecure"),
        "--insecure must be left out without a roster that has tokens: draw one up with `psephos roster`, got 'given'",
    ),
    "a server for everybody, with a roster without tokens": (
        (*SERVE, "0.0.0.0:7000", "--insecure", "--roster", "names.csv"),
        "--insecure must be left out without a roster that has tokens: draw one up with `psephos roster`, got 'given'",
    ),
    "a server at no address": (
        (*SERVE, "7000"),
        "--listen must be HOST:PORT or [IPV6]:PORT, with a port up to 65535, got '7000'",
    ),
    "a server of a simulation without a seed": (
        (*SERVE, "127.0.0.1:0", "--simulate"),
        "--seed must be given together with --simulate, on both sides, got 'left out'",
    ),
    "a server of a deployment with a seed": (
        (*SERVE, "127.0.0.1:0", "--seed", 7),
        "--seed must be left out without --simulate, got 'given'",
    ),
    "a server with an unknown roster": (
        (*SERVE, "127.0.0.1:0", "--roster", "nowhere.csv"),
        "--roster must be a readable CSV file (No such file or directory), got 'nowhere.csv'",
    ),
    "a client of a server elsewhere": (
        ("join", "10.0.0.1:7000", "--as", "ann", "--input", "ann.csv", "--out", "out"),
        f"the server's address must be {ENCRYPTED}, got '10.0.0.1:7000'",
    ),
    "a client of no address": (
        ("join", "nowhere", "--as", "ann", "--input", "ann.csv", "--out", "out"),
        "the server's address must be HOST:PORT or [IPV6]:PORT, with a port up to 65535, got 'nowhere'",
    ),
    "a client of a simulation without a seed": (
        (*JOIN, "ann.csv", "--simulate"),
        "--seed must be given together with --simulate, on both sides, got 'left out'",
    ),
    "a client of a deployment with a seed": (
        (*JOIN, "ann.csv", "--seed", 7),
        "--seed must be left out without --simulate, got 'given'",
    ),
    "a budget that is no number": ((*JOIN, "ann.csv", "--budget", "nan"), "budget must be at least 0, got nan"),
    "a budget below nought": ((*JOIN, "ann.csv", "--budget", -1), "budget must be at least 0, got -1.0"),
    "a name that is none": (
        ("join", NOBODY_LISTENS, "--as", " ann", "--input", "ann.csv", "--out", "out"),
        "--as must be 1 to 128 printable characters without a space at either end, got ' ann'",
    ),
    "another's entries": ((*JOIN, "bob.csv"), "partner (bob.csv line 2) must be 'ann', got 'bob'"),
    "everybody's entries": (
        (*JOIN, "three.csv"),
        "--input must be a header and one line, that of 'ann', got 'three.csv with 3 lines below its header'",
    ),
    "entries that are not there": (
        (*JOIN, "nowhere.csv"),
        "--input must be a readable CSV file (No such file or directory), got 'nowhere.csv'",
    ),
    "another's invitation": (
        (*JOIN, "ann.csv", "--invitation", "drawn/invitations/2-bob.json"),
        "--invitation must be the invitation of 'ann', got \"that of 'bob'\"",
    ),
    "no invitation among them": (
        (
            "join",
            NOBODY_LISTENS,
            "--as",
            "dee",
            "--input",
            "own.csv",
            "--out",
            "out",
            "--invitation",
            "drawn/invitations",
        ),
        "--invitation must be a folder with an invitation of 'dee', got 'drawn/invitations'",
    ),
    "an invitation to the other kind": (
        (*JOIN, "ann.csv", "--invitation", "drawn/invitations", *SIMULATED),
        "--simulate must be left out: the session is a deployment, got 'given'",
    ),
    "an invitation that is none": (
        (*JOIN, "ann.csv", "--invitation", "drawn/roster.csv"),
        "--invitation must be an invitation (JSON is malformed: invalid character (byte 0)), got 'drawn/roster.csv'",
    ),
    "an entry that the invitation does not allow": (
        (*JOIN, "own.csv", "--invitation", "drawn/invitations"),
        "weight must be one of 1, 2, 3, got '4'",
    ),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_what_needs_no_peer_to_be_refused_is_refused_before_there_is_a_folder(
    psephos: Psephos, write: Write, case: str
) -> None:
    write("names.csv", "partner\nann\nbob\n")
    write("own.csv", "weight,merger\n4,1\n")
    psephos("roster", "vote.toml", "--out", "drawn")
    words, sentence = REFUSED[case]
    ended = psephos(*words)
    check_refused(ended, sentence)
    assert ended.out == ""
    assert folders() == {"drawn"}


def test_insecure_lets_a_roster_with_tokens_listen_elsewhere(psephos: Psephos) -> None:
    psephos("roster", "vote.toml", "--out", "drawn")
    # An address of documentation (RFC 5737), which no machine has: the rule is passed, and the system refuses.
    words = ("--listen", "192.0.2.1:7000", "--insecure", "--roster", "drawn/roster.csv", "--out", "out")
    ended = psephos("serve", "vote.toml", *words)
    check_refused(ended, "[Errno 99] Cannot assign requested address: '192.0.2.1:7000'", status=1)


@pytest.mark.bad_input("an unreachable or a taken address")
def test_a_taken_address_is_named(psephos: Psephos) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = format_address(*taken.getsockname())
        ended = psephos(*SERVE, address)
    check_refused(ended, f"[Errno 98] Address already in use: {address!r}", status=1)
    assert not Path("out/result.json").exists()


def test_a_server_without_its_quorum_ends_with_status_1_and_says_who_was_missing(psephos: Psephos) -> None:
    ended = psephos(*SERVE, "127.0.0.1:0", "--set", "deadline_seconds=0.01", *SIMULATED, "--json")
    expected = "phase 'join' closed with 0 of the 3 parties that its quorum requires; missing: ann, bob, cid"
    assert (ended.status, ended.out) == (1, "")
    listening, failure = ended.err.splitlines()
    assert listening.startswith("listening on 127.0.0.1:")
    assert failure == f"psephos: {expected}"
    assert not Path("out/result.json").exists()


def test_serve_says_whom_it_serves_and_how_it_knows_them(psephos: Psephos) -> None:
    psephos("roster", "vote.toml", "--out", "drawn")
    short = ("--set", "deadline_seconds=0.01")
    ended = psephos(*SERVE, "127.0.0.1:0", *short, *SIMULATED)
    assert "3 partners · protocol dpwevote · simulation · known by their names alone" in ended.out
    assert "Trust: Nobody is trusted with private values" in ended.out
    words = ("--listen", "127.0.0.1:0", *short, "--roster", "drawn/roster.csv", "--out", "again")
    ended = psephos("serve", "vote.toml", *words)
    assert "3 partners · protocol dpwevote · deployment · with tokens" in ended.out


@pytest.mark.parametrize("command", ["roster", "serve", "join"])
def test_help_shows_each_example_on_a_line_of_its_own(psephos: Psephos, command: str) -> None:
    ended = psephos(command, "--help")
    assert ended.status == 0
    assert any(line.strip().startswith(f"psephos {command} ") for line in ended.out.splitlines())
