"""Sessions whose parties are processes: what comes out, what stays in their folders, and how they are interrupted."""

import contextlib
import csv
import json
import signal
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deployments import SEED, Ending, Peer, Process, report, write_vote
from psephos.protocol.messages import PROTOCOL_VERSION, Inquiry, Terms
from psephos.scenarios import load_scenario
from psephos.transports.keys import Identity
from runs import read_json, read_lines

Psephos = Callable[..., Any]


def check_failed(ending: Ending, *words: str, status: int = 1) -> None:
    """Check that a process ended with one line that holds these words, and without a traceback."""
    assert ending.status == status, ending
    lines = ending.err.lstrip("\n").splitlines(keepends=True)  # the line that a terminal's ^C stands in is ended first
    error = "".join(line for line in lines if not line.startswith("trying again: "))  # who was not yet welcomed does
    assert error.startswith("psephos: ")
    assert error.count("\n") == 1
    for word in words:
        assert word in error


@pytest.mark.full("processes, where another test of this file has them already")
def test_eight_processes_decide_what_one_process_decides(psephos: Psephos, tmp_path: Path) -> None:
    council = load_scenario("eu-council").parties
    assert isinstance(council, list)
    partners = council[:8]
    with (tmp_path / "council.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.DictWriter(file, list(partners[0]))
        rows.writeheader()
        rows.writerows(partners)
    part = ("eu-council", "--set", "partners=council.csv", "--set", "quota=100")
    for number, own in enumerate(partners):
        with (tmp_path / f"{number}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([own.keys(), own.values()])
    with contextlib.ExitStack() as stack:

        def start(*words: object) -> Process:
            return stack.enter_context(
                Process(*words, "--transport", "tcp", "--simulate", "--seed", 345, folder=tmp_path, is_measured=False)
            )

        server = start("serve", *part, "--listen", "127.0.0.1:0", "--no-pictures", "--out", "served")
        address = server.address()
        clients = [
            start("join", address, "--as", own["partner"], "--input", f"{number}.csv", "--json", "--out", f"c{number}")
            for number, own in enumerate(partners)
        ]
        heard = [client.ending() for client in clients]
        served = server.ending()
    assert [(ended.status, ended.err) for ended in (served, *heard)] == [(0, "")] * 9
    assert psephos("run", *part, "--seed", 345, "--set", "noise=simulated", "--no-pictures", "--out", "ran").status == 0
    expected = read_json(tmp_path / "ran" / "result.json")
    assert read_json(tmp_path / "served" / "result.json") == expected
    assert [json.loads(ended.out) for ended in heard] == [expected["outcome"]] * 8
    ran = read_lines(tmp_path / "ran" / "ledger.jsonl")
    for number, own in enumerate(partners):
        ledger = read_lines(tmp_path / f"c{number}" / "ledger.jsonl")
        assert ledger == [line for line in ran if line["person"] == own["partner"]] != []


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Ending]]:
    """A folder in which three partners decided, one of whom was killed and came back, and how each process ended."""
    folder = tmp_path_factory.mktemp("deployment")
    scenario = write_vote(folder)
    endings: dict[str, Ending] = {}
    with contextlib.ExitStack() as stack:

        def start(*words: object) -> Process:
            return stack.enter_context(Process(*words, folder=folder))

        endings["roster"] = start("roster", scenario, "--make-keys", "--out", "drawn").ending()
        words = ("--roster", "drawn", "--no-pictures", "--out", "server")
        server = start("serve", scenario, "--listen", "127.0.0.1:0", *words)
        address = server.address()

        def take_part(party: str, out: str) -> Process:
            own = ("--as", party, "--input", f"{party}.csv", "--address", address)
            return start("join", "drawn/invitations", *own, "--out", out)

        killed = take_part("ann", "killed")
        killed.line_with("Session vote")  # agreed; that others are missing keeps it from being asked
        killed.kill()
        endings["killed"] = killed.ending()
        clients = {party: take_part(party, party) for party in ("ann", "bob", "cid")}
        endings |= {party: client.ending() for party, client in clients.items()}
        endings["server"] = server.ending()
    return folder, endings


Deployed = tuple[Path, dict[str, Ending]]


@pytest.mark.full("a dozen processes; in one process the same is looked at in `test_restarts.py`")
def test_a_partner_that_was_killed_before_it_reported_comes_back_and_all_decide(deployment: Deployed) -> None:
    folder, endings = deployment
    assert endings.pop("killed").status == -9
    assert {name: (ended.status, ended.err) for name, ended in endings.items()} == dict.fromkeys(
        ("roster", "server", "ann", "bob", "cid"), (0, "")
    )
    result = read_json(folder / "server" / "result.json")
    assert (result["kind"], result["received"]) == ("deployment", {"weights": 3, "opinions": 3})
    for party in ("ann", "bob", "cid"):
        assert read_json(folder / party / "outcome.json") == result["outcome"]
        ledger = read_lines(folder / party / "ledger.jsonl")
        assert [(line["person"], line["phase"], line["proven"]) for line in ledger] == [
            (party, "weights", 0.5),
            (party, "opinions", 0.5),
        ]


def test_what_a_deployment_leaves_is_these_files(deployment: Deployed) -> None:
    folder, _ = deployment
    served = {"estimates.csv", "events.jsonl", "report.html", "result.json", "run.json", "scenario.json"}
    assert {path.name for path in (folder / "server").iterdir()} == served
    for party in ("ann", "bob", "cid"):
        own = {"events.jsonl", "ledger.jsonl", "outcome.json", "report.html", "run.json"}
        assert {path.name for path in (folder / party).iterdir()} == own


def test_a_private_key_is_in_its_owners_file_and_nowhere_else(deployment: Deployed) -> None:
    folder, endings = deployment
    invitations = sorted((folder / "drawn" / "invitations").iterdir())
    assert [path.name for path in invitations] == ["1-ann.json", "2-bob.json", "3-cid.json"]
    keys = [Identity.from_text(read_json(path)["key"]).private_key.decode() for path in invitations]
    keys.append(Identity.from_text((folder / "drawn" / "server.pem").read_text(encoding="ascii")).private_key.decode())
    secrets = [key.splitlines()[1] for key in keys]  # a line of base64, of which no two keys have the same
    assert len(set(secrets)) == 4
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            owners = [path == owner for owner in (*invitations, folder / "drawn" / "server.pem")]
            assert [secret.encode() in data for secret in secrets] == owners, path
    for ended in endings.values():
        assert not any(secret in ended.out + ended.err for secret in secrets)


def test_what_holds_losses_or_a_roster_is_its_owners_alone(deployment: Deployed) -> None:
    folder, _ = deployment
    for name in ("drawn", "drawn/invitations", "server", "ann"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o700, name
        for path in (folder / name).rglob("*"):
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_all_are_shown_the_same_public_transcript_to_compare(deployment: Deployed) -> None:
    folder, endings = deployment
    parties = ("server", "ann", "bob", "cid")
    (digest,) = {read_json(folder / name / "run.json")["transcript"] for name in parties}
    for name in parties:
        (line,) = [line for line in endings[name].out.splitlines() if line.startswith("Public transcript ")]
        shown = line.removeprefix("Public transcript ").partition(":")[0]
        assert digest.startswith(shown.replace(" ", ""))
        assert len(shown.replace(" ", "")) == 32


def test_a_server_says_how_much_was_said_in_each_phase_and_parties_do_not(deployment: Deployed) -> None:
    folder, _ = deployment
    traffic = {each.pop("phase"): each for each in read_json(folder / "server" / "run.json")["traffic"]}
    assert list(traffic) == ["join", "weights", "opinions", "release"]
    for phase in ("weights", "opinions"):
        assert traffic[phase]["messages_up"] == 3
        assert traffic[phase]["messages_down"] >= 3  # requests, and for who keeps a journal that its report is kept
        assert min(traffic[phase].values()) > 0
    assert traffic["release"]["messages_down"] == 3
    assert all("traffic" not in read_json(folder / party / "run.json") for party in ("ann", "bob", "cid"))


def test_a_deployment_leaves_no_private_value_no_report_and_no_seed(deployment: Deployed) -> None:
    folder, _ = deployment
    left = [path for name in ("server", "ann", "bob", "cid") for path in (folder / name).iterdir()]
    for path in left:
        text = path.read_text(encoding="utf-8")
        assert "seed" not in text, path
        assert "three.csv" not in text, path
        assert "private_row" not in text, path
    for party in ("ann", "bob", "cid"):
        ended = {"schema", "about", "at", "party", "server", "transcript", "seconds", "psephos", "numpy"}
        assert read_json(folder / party / "run.json").keys() == ended
        keys = {key for event in read_lines(folder / party / "events.jsonl") for key in event}
        paid = {"mechanism", "relation", "unit", "model", "claimed", "proven", "total", "total_relation", "remaining"}
        assert keys == {"session", "party", "phase", "level", "timestamp", "event"} | paid
    served = read_json(folder / "server" / "scenario.json")
    assert served.keys().isdisjoint({"parties", "partners", "seed", "data"})
    events = read_lines(folder / "server" / "events.jsonl")
    assert {event["event"] for event in events} == {"party_joined", "phase_opened", "phase_closed"}
    assert {event["party"] for event in events} == {"cloud-server"}


@pytest.mark.bad_input("Ctrl-C on either side")
@pytest.mark.parametrize(
    ("number", "status", "said"),
    [
        (signal.SIGINT, 130, "interrupted; server keeps "),
        pytest.param(
            signal.SIGTERM, 143, "interrupted (SIGTERM); server keeps ", marks=pytest.mark.full("as by SIGINT")
        ),
        pytest.param(
            signal.SIGHUP, 129, "interrupted (SIGHUP); server keeps ", marks=pytest.mark.full("as by SIGTERM")
        ),
    ],
)
def test_a_server_that_is_told_to_end_tells_every_client_and_leaves_its_folder(
    tmp_path: Path, number: signal.Signals, status: int, said: str
) -> None:
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip(f"{number.name} is ignored here, as under nohup, and what is started inherits that")
    scenario = write_vote(tmp_path)
    how = ("--transport", "tcp", "--simulate", "--seed", SEED)
    words = ("--listen", "127.0.0.1:0", "--no-pictures", "--out", "server")
    with Process("serve", scenario, *words, *how, folder=tmp_path) as server:
        own = ("--as", "ann", "--input", "ann.csv", "--out", "ann")
        address = server.address()
        with Process("join", address, *own, *how, folder=tmp_path) as client, Peer(address) as bob:
            bob.hello("bob")
            bob.receive()  # the welcome
            client.line_with("Session vote")
            server.send(number)
            check_failed(server.ending(), said, status=status)
            check_failed(client.ending(), "server ended the session: ")  # it may not have been welcomed yet
            assert bob.refusal() == "whoever runs it has stopped it"
    assert read_json(tmp_path / "server" / "run.json")["failure"]["error"] == "KeyboardInterrupt"
    assert read_json(tmp_path / "ann" / "run.json")["failure"]["error"] in {"SessionAborted", "ConnectionLostError"}
    assert read_lines(tmp_path / "ann" / "ledger.jsonl") == []
    assert not (tmp_path / "server" / "result.json").exists()
    assert not (tmp_path / "ann" / "outcome.json").exists()


@pytest.mark.bad_input("Ctrl-C on either side")
@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.full("processes once more"))],
)
def test_a_client_that_is_told_to_end_leaves_what_it_paid_and_the_vote_goes_on(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    scenario = write_vote(tmp_path)
    how = ("--transport", "tcp", "--simulate", "--seed", SEED)
    words = ("--set", "quorum=2", "--listen", "127.0.0.1:0", "--no-pictures", "--out", "server")
    with Process("serve", scenario, *words, *how, folder=tmp_path) as server:
        address = server.address()
        own = ("--as", "ann", "--input", "ann.csv", "--out", "ann")
        with (
            Process("join", address, *own, *how, folder=tmp_path) as client,
            Peer(address) as bob,
            Peer(address) as cid,
        ):
            bob.hello("bob")
            cid.hello("cid")
            for peer in (bob, cid):
                assert peer.next_request().step == 0
                peer.send(report(0, 1))
            assert bob.next_request().step == 1  # so that all three have reported a weight
            client.send(number)
            check_failed(client.ending(), "interrupted", status=status)
            bob.send(report(1, 1))
            cid.send(report(1, 0))
            bob.hear_release()
            cid.hear_release()
            served = server.ending()
    assert (served.status, served.err) == (0, "")
    received = read_json(tmp_path / "server" / "result.json")["received"]
    paid = [(line["phase"], line["proven"]) for line in read_lines(tmp_path / "ann" / "ledger.jsonl")]
    assert received["weights"] == 3
    assert paid == [("weights", 0.5), ("opinions", 0.5)][: len(paid)] != []
    assert received["opinions"] in {2, 1 + len(paid)}  # it may have been quicker than Ctrl-C
    assert read_json(tmp_path / "ann" / "run.json")["failure"]["error"] == "KeyboardInterrupt"
    assert not (tmp_path / "ann" / "outcome.json").exists()


@pytest.mark.full("a process more")
@pytest.mark.bad_input("Ctrl-C on either side")
def test_a_server_that_a_script_runs_in_the_background_ends_by_a_signal_and_not_by_the_keyboard(tmp_path: Path) -> None:
    """A script's shell has SIGINT ignored in what it runs so, and whatever that starts inherits it."""
    scenario = write_vote(tmp_path)
    words = ("--transport", "tcp", "--listen", "127.0.0.1:0", "--no-pictures", "--out", "server")
    in_background = "-c 0 && trap '' INT"
    with Process("serve", scenario, *words, folder=tmp_path, is_measured=False, ulimit=in_background) as server:
        address = server.address()
        server.send(signal.SIGINT)
        with Peer(address) as ann:
            ann.send(Inquiry(PROTOCOL_VERSION, "ann"))
            terms = ann.receive()
            assert isinstance(terms, Terms)
            ann.hello("ann", kind="deployment", session_id=terms.descriptor.id)
            ann.receive()  # the welcome: it goes on
            server.send(signal.SIGTERM)
            check_failed(server.ending(), "interrupted (SIGTERM); ", status=143)
            assert ann.refusal() == "whoever runs it has stopped it"
    assert read_json(tmp_path / "server" / "run.json")["failure"]["error"] == "KeyboardInterrupt"
