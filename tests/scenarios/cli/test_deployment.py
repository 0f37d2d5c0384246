"""`serve` and `join`: what they print, what they refuse, and with which exit status."""

import json
import socket
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from bad_input import Psephos, Write
from deployments import NOBODY_LISTENS, PATIENCE, SEED, serving, write_vote
from psephos.scenarios.audit import audit
from psephos.scenarios.audit.mechanisms import shared_cases
from psephos.scenarios.deployment import find_invitation
from psephos.transports.addresses import format_address
from runs import read_json

SIMULATED = ("--simulate", "--seed", SEED)
PLAIN = ("--transport", "tcp")


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


def joined(psephos: Psephos, *more: str) -> str:
    """Take part as ann, and return what is printed."""
    with serving("vote.toml") as session:
        others = [session.join(name) for name in ("bob", "cid")]
        words = ("--as", "ann", "--input", "ann.csv", "--out", "mine", *more)
        ended = psephos("join", session.address, *PLAIN, *words, *SIMULATED)
        assert all(other.result(PATIENCE) for other in others)
    assert (ended.status, ended.err) == (0, "")
    out: str = ended.out
    return out


def test_join_shows_what_it_takes_part_in_and_the_outcome(psephos: Psephos) -> None:
    out = joined(psephos)
    for shown in (
        "Session vote",
        "as ann · protocol dpwevote · simulation · costs epsilon = 1",
        "Trust: Nobody is trusted with private values",
        "Your privacy loss: Whoever had no idea (50 : 50) ends at most 73.2 % sure of one person's vote (ε",
        "merger",
        "in mine",
    ):
        assert shown in out
    assert str(SEED) not in out.split("merger")[0]


def test_join_says_what_counts_in_place_of_a_weight_that_is_rounded(psephos: Psephos, vote: str) -> None:
    entries = {"ann": {"weight": "1.1", "merger": "1"}, "bob": {"weight": "2.8", "merger": "0"}}
    write_vote(Path(), entries={**entries, "cid": {"weight": "2", "merger": "1"}})
    with Path(vote).open("a", encoding="utf-8") as scenario:
        scenario.write("weights_within = 0.2\n")
    text = " ".join(joined(psephos).split())
    assert "as ann · weight counts as 1 · protocol dpwevote" in text
    assert "Weights are rounded, each by at most 20 %: verdicts are about those before" in text
    assert "1.1" not in Path("mine/outcome.json").read_text(encoding="utf-8")


def test_join_prints_the_outcome_as_json_and_nothing_else(psephos: Psephos) -> None:
    assert json.loads(joined(psephos, "--json")) == read_json("mine/outcome.json")


@pytest.mark.bad_input("an unreachable or a taken address")
def test_without_a_folder_named_a_partner_gets_its_own_below_runs(psephos: Psephos) -> None:
    words = ("--as", "ann", "--input", "ann.csv", *SIMULATED, "--patience", "0.01")
    check_refused(
        psephos("join", NOBODY_LISTENS, *PLAIN, *words),
        "all attempts to connect to 127.0.0.1:1 failed. " + NOBODY,
        status=1,
    )
    (folder,) = Path("runs").iterdir()
    assert folder.name.startswith("as-ann-")
    assert {path.name for path in folder.iterdir()} == {"events.jsonl", "ledger.jsonl", "run.json"}


@pytest.mark.parametrize("out", ["drawn", "ann.csv"])
def test_a_folder_that_holds_something_is_left_alone(psephos: Psephos, out: str) -> None:
    psephos("roster", "vote.toml", "--make-keys", "--out", "drawn")
    before = {path: path.stat().st_mtime_ns for path in Path().rglob("*")}
    for words in (
        ("roster", "vote.toml", "--make-keys"),
        ("serve", "vote.toml", *PLAIN, "--listen", "127.0.0.1:0"),
        ("join", NOBODY_LISTENS, *PLAIN, "--as", "ann", "--input", "ann.csv"),
    ):
        refusal = psephos(*words, "--out", out).refusal
        assert refusal.startswith(
            ("psephos: --out: There is something in ", "psephos: --out: nothing can be written into ")
        )
    assert {path: path.stat().st_mtime_ns for path in Path().rglob("*")} == before


SERVE = ("serve", "vote.toml", *PLAIN, "--out", "out", "--listen")
JOIN_AS = ("join", NOBODY_LISTENS, *PLAIN, "--out", "out", "--as")
JOIN = (*JOIN_AS, "ann", "--input")
WEEKLY = ("ann.csv", "--budget", 1, "--budget-period", "7 days")
HERE = "a loopback address such as 127.0.0.1:7000: over 'tcp' nobody proves who it is; over 'tls' everybody does"
BY_CERTIFICATE = (
    "--roster: First draw up a roster, which says who takes part: psephos roster vote.toml --make-keys --out vote. On "
    "one machine, --transport tcp needs none."
)
NOBODY = "Nobody listens there: is the server running, and the address right?"
OVER = "expired on 2001-09-09 01:46 UTC"
REFUSED: dict[str, tuple[tuple[object, ...], str]] = {
    "a server for everybody": ((*SERVE, "0.0.0.0:7000"), f"--listen is '0.0.0.0:7000': use {HERE}"),
    "a server without a roster": (("serve", "vote.toml", "--listen", "127.0.0.1:0", "--out", "out"), BY_CERTIFICATE),
    "a server with a roster without certificates": (
        ("serve", "vote.toml", "--listen", "127.0.0.1:0", "--roster", "names.csv", "--out", "out"),
        BY_CERTIFICATE,
    ),
    "a server that does not ask for the certificates of its roster": (
        (*SERVE, "127.0.0.1:0", "--roster", "drawn"),
        "transport is 'tcp': use 'tls' where the roster has certificates, which 'tcp' does not show",
    ),
    "a server of nowhere": (
        ("serve", "vote.toml", *PLAIN, "--out", "out"),
        "give --listen where no invitations say an address",
    ),
    "a server of another session": (
        ("serve", "other.toml", "--roster", "drawn", "--out", "out"),
        "SCENARIO: The roster in drawn is of the scenario 'vote'. Name that, or another roster.",
    ),
    "a server of a rehearsal with invitations to a deployment": (
        ("serve", "vote.toml", "--roster", "drawn", "--out", "out", *SIMULATED),
        "--simulate: The invitations are to 'deployment', not to 'simulation'. Serve that, or draw up a new roster.",
    ),
    "a server of other parameters": (
        ("serve", "vote.toml", "--roster", "drawn", "--set", "epsilon=7", "--out", "out"),
        "parameters.epsilon: The invitations say 1.0, not 7.0. Serve that, or draw up a new roster.",
    ),
    "a server at no address": (
        (*SERVE, "7000"),
        "--listen is '7000': use HOST:PORT or [IPV6]:PORT, with a port up to 65535",
    ),
    "a server of a simulation without a seed": (
        (*SERVE, "127.0.0.1:0", "--simulate"),
        "give --seed together with --simulate, the same on both sides",
    ),
    "a server of a deployment with a seed": (
        (*SERVE, "127.0.0.1:0", "--seed", 7),
        "leave out --seed, or add --simulate: secure noise has no seed",
    ),
    "a server with an unknown roster": (
        (*SERVE, "127.0.0.1:0", "--roster", "nowhere.csv"),
        "--roster: There is no file 'nowhere.csv' (did you mean 'three.csv'?). Check its name.",
    ),
    "a client of a server elsewhere": (
        ("join", "10.0.0.1:7000", *PLAIN, "--as", "ann", "--input", "ann.csv", "--out", "out"),
        f"the server's address is '10.0.0.1:7000': use {HERE}",
    ),
    "a client of no address": (
        ("join", "nowhere", *PLAIN, "--as", "ann", "--input", "ann.csv", "--out", "out"),
        "the server's address is 'nowhere': use HOST:PORT or [IPV6]:PORT, with a port up to 65535",
    ),
    "a client of a simulation without a seed": (
        (*JOIN, "ann.csv", "--simulate"),
        "give --seed together with --simulate, the same on both sides",
    ),
    "a client of a deployment with a seed": (
        (*JOIN, "ann.csv", "--seed", 7),
        "leave out --seed, or add --simulate: secure noise has no seed",
    ),
    "a budget that is no number": ((*JOIN, "ann.csv", "--budget", "nan"), "budget is nan: use at least 0"),
    "a budget below nought": ((*JOIN, "ann.csv", "--budget", -1), "budget is -1.0: use at least 0"),
    "a budget by periods of no length": (
        (*JOIN, "ann.csv", "--budget", 1, "--budget-period", "1 month"),
        "--budget-period is 1 month: use a number of minutes, hours, days, weeks, such as '7 days'",
    ),
    "periods without a budget": (
        (*JOIN, "ann.csv", "--budget-period", "7 days"),
        "leave out --budget-period without --budget",
    ),
    "periods without a journal": (
        (*JOIN, *WEEKLY, "--simulate", "--seed", 7),
        "leave out --budget-period without a journal, which alone knows when other sessions were",
    ),
    "a budget in all that already is": (
        (*JOIN, "ann.csv", "--budget", 1, "--budget-in-all", 9),
        "leave out --budget-in-all without --budget-period: --budget is then over all sessions",
    ),
    "a budget in all below that of a period": (
        (*JOIN, *WEEKLY, "--journal", "ann.sqlite", "--budget-in-all", 0.5),
        "--budget-in-all is 0.5: use at least the --budget of a period, 1",
    ),
    "a name that is none": (
        (*JOIN_AS, " ann", "--input", "ann.csv"),
        "--as is ' ann': use 1 to 128 printable characters without a space at either end",
    ),
    "another's entries": ((*JOIN, "bob.csv"), "partner (bob.csv line 2) is 'bob': use 'ann'"),
    "everybody's entries": (
        (*JOIN, "three.csv"),
        "--input: There are 3 lines below the header of three.csv. Keep one, that of 'ann'.",
    ),
    "entries that are not there": (
        (*JOIN, "nowhere.csv"),
        "--input: There is no file 'nowhere.csv' (did you mean 'three.csv'?). Check its name.",
    ),
    "another's invitation": (
        (*JOIN, "ann.csv", "--invitation", "drawn/invitations/2-bob.json"),
        "INVITATION is \"that of 'bob'\": use the invitation of 'ann'",
    ),
    "no invitation among them": (
        (*JOIN_AS, "dee", "--input", "own.csv", "--invitation", "drawn/invitations"),
        "INVITATION: There is no invitation of 'dee' in drawn/invitations. It has those of ann, bob, cid.",
    ),
    "an invitation to the other kind": (
        (*JOIN, "ann.csv", "--invitation", "drawn/invitations", *SIMULATED),
        "leave out --simulate: the session is a deployment",
    ),
    "an invitation that is none": (
        (*JOIN, "ann.csv", "--invitation", "drawn/roster.csv"),
        (
            "INVITATION: This is no invitation (JSON is malformed: invalid character (byte 0)). "
            "Name the file that you got from the organizer."
        ),
    ),
    "nobody's invitation": (
        ("join", "drawn/invitations", "--input", "ann.csv", "--out", "out"),
        "give --as: drawn/invitations holds invitations of ann, bob, cid",
    ),
    "no values, and nobody to ask": (
        ("join", "drawn/invitations/1-ann.json", "--out", "out"),
        "give --input: there is no terminal to ask for it",
    ),
    "no invitation, and nobody to ask": (
        ("join", "--input", "ann.csv", "--out", "out"),
        "give INVITATION: there is no terminal to ask for it",
    ),
    "an invitation without certificates": (
        ("join", "plain.json", "--input", "ann.csv", "--out", "out"),
        "INVITATION is 'ann': use an invitation with certificates, or --transport tcp on one machine",
    ),
    "a key that is another's": (
        ("join", "keyless.json", "--input", "ann.csv", "--key", "drawn/server.pem", "--out", "out"),
        "give --key: the folder of the keys of 'ann'",
    ),
    "an invitation whose time is over": (
        ("join", "over.json", "--input", "ann.csv", "--out", "out"),
        f"INVITATION: The session {OVER}, by this machine's clock. A new roster gives a longer time, by --days.",
    ),
    "an entry that the invitation does not allow": (
        (*JOIN, "own.csv", "--invitation", "drawn/invitations"),
        "own.csv: weight is '4': use one of 1, 2, 3",
    ),
}


INVITATIONS: dict[str, dict[str, Any]] = {
    "plain.json": {"server": ""},
    "keyless.json": {"key": ""},
    "over.json": {"expires": 1_000_000_000},
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_what_needs_no_peer_to_be_refused_is_refused_before_there_is_a_folder(
    psephos: Psephos, write: Write, case: str
) -> None:
    write("names.csv", "partner\nann\nbob\n")
    write("own.csv", "weight,merger\n4,1\n")
    write("other.toml", Path("vote.toml").read_text(encoding="utf-8"))
    psephos("roster", "vote.toml", "--make-keys", "--out", "drawn")
    ann = find_invitation(Path("drawn/invitations/1-ann.json"))
    for name, change in INVITATIONS.items():
        write(name, msgspec.json.encode(msgspec.structs.replace(ann, **change)))
    words, sentence = REFUSED[case]
    ended = psephos(*words)
    if case in {"an invitation without certificates", "a key that is another's"}:  # what follows is OpenSSL's, or drawn
        assert (ended.status, ended.err.count("\n")) == (2, 1)
        assert ended.err.startswith(f"psephos: {sentence}")
    else:
        check_refused(ended, sentence)
    assert ended.out == ""
    assert folders() == {"drawn"}


def test_over_tls_a_server_listens_elsewhere(psephos: Psephos) -> None:
    # An address of documentation (RFC 5737), which no machine has: the rule is passed, and the system refuses.
    psephos("roster", "vote.toml", "--make-keys", "--address", "192.0.2.1:7000", "--out", "drawn")
    ended = psephos("serve", "vote.toml", "--roster", "drawn", "--out", "out")
    check_refused(
        ended,
        "--listen: This machine does not have the address 192.0.2.1:7000. Name one of its own, such as 127.0.0.1:7000.",
    )


@pytest.mark.bad_input("an unreachable or a taken address")
def test_a_taken_address_is_named(psephos: Psephos) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = format_address(*taken.getsockname())
        ended = psephos(*SERVE, address)
    check_refused(ended, f"--listen: Another program listens at {address}. End it, or choose another port.")
    assert not Path("out/result.json").exists()


def test_a_server_without_its_quorum_ends_with_status_1_and_says_who_was_missing(psephos: Psephos) -> None:
    ended = psephos(*SERVE, "127.0.0.1:0", "--set", "deadline_seconds=0.01", *SIMULATED, "--json")
    expected = "phase 'join' closed with 0 of the 3 parties that its quorum requires; missing: ann, bob, cid"
    assert (ended.status, ended.out) == (1, "")
    warned, listening, failure = ended.err.splitlines()
    assert warned.startswith("warning: 3 partners at ε = 1 may stay undecided even if all agree")
    assert listening.startswith("listening on 127.0.0.1:")
    assert failure == f"psephos: {expected}"
    assert not Path("out/result.json").exists()


def test_serve_says_whom_it_serves_and_how_it_knows_them(psephos: Psephos) -> None:
    psephos("roster", "vote.toml", "--make-keys", "--out", "drawn")
    short = ("--set", "deadline_seconds=0.01")
    ended = psephos(*SERVE, "127.0.0.1:0", *short, *SIMULATED)
    assert "3 partners · protocol dpwevote · simulation · known by their names alone" in ended.out
    assert "Trust: Nobody is trusted with private values" in ended.out
    words = ("--listen", "127.0.0.1:0", *short, "--roster", "drawn", "--out", "again")
    ended = psephos("serve", "vote.toml", *words)
    assert "3 partners · protocol dpwevote · deployment · known by their certificates" in ended.out
    ended = psephos("serve", "vote.toml", *words[:-1], "once more")
    assert "this session has failed: too few took part in phase 'join'; who joins is told" in ended.out
    assert "going on" not in ended.out


@pytest.mark.parametrize("command", ["enroll", "roster", "serve", "revoke", "join", "rehearse"])
def test_help_shows_each_example_on_a_line_of_its_own(psephos: Psephos, command: str) -> None:
    ended = psephos(command, "--help")
    assert ended.status == 0
    assert any(line.strip().startswith(f"psephos {command} ") for line in ended.out.splitlines())


def test_no_vote_needs_opendp(psephos: Psephos, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opendp", None)
    words = ("--set", "noise=secure", "--set", "mechanism=laplace", "--no-pictures", "--out", "a")
    assert psephos("run", "two-societies", *words).status == 0
    case = next(case for case in shared_cases() if case.group == "laplace")
    assert audit(case, samples=500, confidence=0.99, source="secure") is not None
