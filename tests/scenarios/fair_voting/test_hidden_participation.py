"""Votes with add-remove-one neighbors, whole: nobody reads who stayed away.

What a server and its folder show is compared between elections of one roster to which more, fewer or no voters came.
"""

import contextlib
import functools
import itertools
import json
import re
import shutil
import threading
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import trio
import trio.testing
from bad_input import Psephos, Write, check_refused
from deployments import PATIENCE, SEED, Ending, Peer, Process, serving
from helpers import make_fair_inputs, make_fair_vote, make_names
from psephos.agents import Simulation
from psephos.agents.adversaries import Leaver
from psephos.agents.driver import LINGER_SECONDS
from psephos.protocol import ConfigurationError, PhaseRules, SimulatedNoise
from psephos.protocol.messages import PROTOCOL_VERSION, Hello, Report
from psephos.protocol.privacy import NeighboringRelation
from psephos.protocol.rules import SessionRules
from psephos.scenarios import Adversity, RunFolder, load_scenario, resolve, resolve_served, run_in_folder
from psephos.scenarios.deployment import Invitation, Serving, find_invitation, serve, serve_in_folder
from psephos.scenarios.deployment.common import make_mode
from psephos.scenarios.plugins import make_transport
from psephos.scenarios.running.session import SessionObservers, run_agents
from runs import read_json

NUM_VOTERS = 7
HIDING = ("relation=add-remove-one",)
SMALL = ("voters.groups.north.voters=8", "voters.groups.south.voters=5", *HIDING)
NAMES = ("ann", "bob", "zoe")  # none of which a digest could hold by chance
VOTERS = "voter,group\nann,north\nbob,north\nzoe,south\n"
PLANS = """protocol = "fair-voting"
voters = "voters.csv"

[parameters]
alternatives = ["a", "b", "c"]
epsilon = 1.5
mechanism = "exponential"
relation = "add-remove-one"

[phases.join]
deadline_seconds = 30

[phases.rankings]
deadline_seconds = 8
"""
"""With time enough for a process to start where many others do."""


# What is left of a simulation that is not the simulator's alone.


def published_of(folder: Path) -> dict[str, Any]:
    """Return what a run's folder publishes but for noisy numbers and for times."""
    result = read_json(folder / "result.json")
    del result["tallies"]
    result["outcome"]["winner"] = "noisy"
    run = read_json(folder / "run.json")
    del run["seconds"], run["at"]
    server = [
        {key: value for key, value in json.loads(line).items() if key != "timestamp"}
        for line in (folder / "events.jsonl").read_text(encoding="utf-8").splitlines()
        if '"party":"aggregator"' in line
    ]
    tables = (folder / "estimates.csv").read_text(encoding="utf-8").splitlines()[0]
    return {"result": result, "run": run, "server": server, "tables": tables}


@pytest.mark.few(most=1)
@pytest.mark.parametrize("transport", ["memory", "tcp"])
def test_runs_that_differ_in_who_left_differ_in_noisy_numbers_alone(
    psephos: Psephos, tmp_path: Path, transport: str
) -> None:
    shown: list[str] = []
    for number, members in enumerate(([], ["voter-1"], ["voter-1", "voter-9", "voter-10"])):
        adversary = [f"adversary=[{{role='drop-out', members={members}}}]"] if members else []
        settings = (*SMALL, "mechanism=exponential", f"transport={transport}", *adversary)
        words = [word for setting in settings for word in ("--set", setting)]
        how = ("--seed", 3, "--no-pictures", "--verbose", "--out", f"run-{number}")
        ended = psephos("run", "two-societies", *words, *how)
        assert (ended.status, ended.err) == (0, "")
        told = ended.out.partition("Adversary:")[0].partition("Everything")[0]
        shown.append(re.sub(r"\w+ wins", "somebody wins", told).strip())
    first, *others = (published_of(tmp_path / f"run-{number}") for number in range(3))
    assert first == others[0] == others[1]
    assert first["result"]["received"] == {}
    assert "parties_without_outcome" not in first["run"]
    assert shown[0] == shown[1] == shown[2]
    for text in shown:
        assert "join         closed: who joined is private\n" in text
        assert "rankings     closed: who reported is private\n" in text
        assert "release      told to the voters who took part\n" in text
        assert "did not hear" not in text


def test_a_run_says_again_what_was_run_with_no_quorum_in_it(psephos: Psephos, tmp_path: Path) -> None:
    words = [word for setting in SMALL for word in ("--set", setting)]
    first = psephos("run", "two-societies", *words, "--seed", 3, "--no-pictures", "--json", "--out", "first")
    assert (first.status, first.err) == (0, "")
    assert read_json(tmp_path / "first" / "scenario.json")["quorum"] is None
    again = psephos("run", "first/scenario.json", "--seed", 3, "--no-pictures", "--json", "--out", "again")
    assert (again.status, again.err, again.out) == (0, "", first.out)


def test_a_run_whose_participation_is_public_says_its_quorum_as_ever(tmp_path: Path) -> None:
    scenario = load_scenario("two-societies", ["transport=array"])
    run_in_folder(resolve(scenario), RunFolder(tmp_path / "out"), pictures=False)
    assert read_json(tmp_path / "out" / "scenario.json")["quorum"] == 1.0


async def test_nobody_who_watches_a_session_is_told_how_far_it_is(
    autojump_clock: trio.testing.MockClock,  # noqa: ARG001  the silent party is waited for
) -> None:
    """A voter who neither answers nor leaves keeps the session open, so that there is time to look."""
    vote = make_fair_vote(4, 3, relation=NeighboringRelation.ADD_OR_REMOVE_ONE)
    looked: list[tuple[str, int, float]] = []
    began = trio.current_time()
    with contextlib.suppress(trio.TooSlowError), trio.fail_after(30):
        await run_agents(
            vote,
            names=make_names(NUM_VOTERS),
            inputs=make_fair_inputs(vote),
            mode=Simulation("plans", SimulatedNoise(SEED, session="plans")),
            transport=make_transport("memory"),
            adversity=Adversity(deviations={"p3": _Mute()}),
            rules=SessionRules(phases={"rankings": PhaseRules(deadline_seconds=25.0)}),
            observers=SessionObservers(
                on_progress=lambda phase, received, outstanding: looked.append((phase, received, outstanding))
            ),
        )
    assert trio.current_time() - began == pytest.approx(25.0)
    assert looked == []


class _Mute(Leaver):
    """A party that is asked and does nothing, not even hang up."""

    def __init__(self) -> None:
        super().__init__(0, lambda _: False)

    def incoming(self, peer: str, message: Any) -> Any:
        """Show the agent no request."""
        passage = super().incoming(peer, message)
        is_request = type(message).__name__ == "Request"
        return passage._replace(inward=()) if is_request else passage


ADVERSARIES: dict[str, tuple[str, str]] = {
    "drop-out": (
        "{role='drop-out', members=['voter-1', 'voter-9']}",
        "nothing that is published says that they left",
    ),
    "replayer": ("{role='replayer', members=['voter-1']}", "How many parties were counted is private"),
    "selective abort": (
        "{role='selective-abort', target='voter-1', members=['voter-2'], trials=2}",
        "there is no quorum: whoever was left was counted, and what is published would be the same whoever that is",
    ),
    "sybils": (
        "{role='sybils', members=['voter-2'], outsiders=2, impersonated=['voter-1']}",
        "Of 3 connections in names that were not the person's to use, the server of this session took 0",
    ),
}


@pytest.mark.parametrize("who", list(ADVERSARIES))
def test_what_an_adversary_does_in_a_session_without_a_quorum_is_said(tmp_path: Path, who: str) -> None:
    """And it waits for no deadline: the released outcome is that of those who were left."""
    table, said = ADVERSARIES[who]
    settings = (*SMALL, f"adversary=[{table}]")
    resolved = resolve(load_scenario("two-societies", settings))
    finished = run_in_folder(resolved, RunFolder(tmp_path / "out"), pictures=False)
    (attack_report,) = finished.attack_reports
    assert said in " ".join(attack_report.sentences)
    assert finished.record.num_received == (None,)
    assert finished.seconds < 60


# Refusals.


REFUSED: dict[str, tuple[list[str], list[str]]] = {
    "for every phase": (["quorum=0.5"], ["leave out quorum: participation is private"]),
    "of everybody": (["quorum=1.0"], ["leave out quorum: participation is private"]),
    "of joining": (["phases.join.quorum=2"], ["leave out phases.join.quorum"]),
    "of the phase": (["phases.rankings.quorum=0.9"], ["leave out phases.rankings.quorum"]),
    "by arrays": (["quorum=2", "transport=array"], ["leave out quorum"]),
}


@pytest.mark.bad_input("a quorum where who takes part is private")
@pytest.mark.few
@pytest.mark.parametrize("command", ["run", "serve"])
@pytest.mark.parametrize("what", list(REFUSED))
def test_a_quorum_is_refused_before_anything_is_left(psephos: Psephos, command: str, what: str) -> None:
    settings, words = REFUSED[what]
    if command == "run":
        check_refused(psephos, "two-societies", [*SMALL, *settings], words)
        return
    options = [word for setting in (*SMALL, *settings) for word in ("--set", setting)]
    refusal = psephos(
        "serve", "two-societies", *options, "--transport", "tcp", "--listen", "127.0.0.1:0", "--out", "out"
    ).refusal
    assert all(word in refusal for word in words)
    assert not Path("out").exists()


def test_a_deployment_needs_certificates_where_who_takes_part_is_private(psephos: Psephos, write: Write) -> None:
    """Else whoever knows a name could ask whether its seat is taken; a rehearsal protects nobody."""
    write("voters.csv", VOTERS)
    path = write("plans.toml", PLANS)
    refusal = psephos("serve", path, "--listen", "127.0.0.1:0", "--out", "out").refusal
    assert refusal.startswith("psephos: give --roster, with certificates: participation is private here")
    assert not Path("out").exists()
    side = resolve_served(load_scenario(str(path)))
    with pytest.raises(ConfigurationError, match="give --roster, with certificates"):
        trio.run(lambda: serve(Serving(side=side, address="127.0.0.1:0", mode=make_mode("plans", seed=None))))
    with serving(str(path), "phases.join.deadline_seconds=0.1", "phases.rankings.deadline_seconds=0.1"):
        pass


def vote_if_in_time(address: str, invitation: Invitation) -> None:
    with contextlib.suppress(AssertionError, EOFError, OSError):  # where much else is done, it may be late
        vote_by_hand(address, invitation, [0, 1, 2])


def served_to(names: Sequence[str], path: Path, folder: Path) -> dict[str, Any]:
    """Return what the folder of a server publishes to which these voters come, as in `published_of`."""
    brief = ("phases.join.deadline_seconds=0.3", "phases.rankings.deadline_seconds=0.3")
    side, mode = resolve_served(load_scenario(str(path), brief)), make_mode("plans", seed=SEED)
    voting: list[threading.Thread] = []

    def come(address: str) -> None:
        for name in names:
            invitation = Invitation(
                session="plans",
                protocol="fair-voting",
                kind="simulation",
                parameters={},
                party=name,
                place=NAMES.index(name),
                public=(),
                session_id=mode.descriptor.id,
            )
            voting.append(threading.Thread(target=vote_if_in_time, args=(address, invitation)))
            voting[-1].start()

    own = Serving(side=side, address="127.0.0.1:0", transport="tcp", mode=mode)
    serve_in_folder(own, RunFolder(folder), pictures=False, on_listening=come)
    for each in voting:
        each.join(PATIENCE)
    published = published_of(folder)
    assert len(published["run"].pop("transcript")) == 64  # of the winner, who is noisy
    return published


def test_the_folder_of_a_server_is_the_same_whoever_came(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one process: sizes and numbers of what was said and kept, and how it ended, are of the roster alone."""
    monkeypatch.setattr("psephos.agents.server.LINGER_SECONDS", 0.2)
    write("voters.csv", VOTERS)
    path = write("plans.toml", PLANS)
    folders = tmp_path / "at-nobody's", tmp_path / "at-everybody's"
    nobodys, everybodys = (served_to(who, path, folder) for who, folder in zip(((), NAMES), folders, strict=True))
    assert nobodys == everybodys
    assert len({tuple(sorted(each.name for each in folder.iterdir())) for folder in folders}) == 1


# Processes of their own, with secure noise.


def vote_by_hand(address: str, invitation: Invitation, ranking: Sequence[int]) -> None:
    """Take part as one voter, by hand, up to the release."""
    own = (invitation.kind, invitation.party, invitation.session_id)
    keys = invitation.find_keys([]) if invitation.certificate else None
    with Peer(address, keys=keys) as peer:
        peer.send(Hello(PROTOCOL_VERSION, "plans", "fair-voting", *own))
        peer.next_request()
        peer.send(Report(0, msgspec.Raw(msgspec.msgpack.encode(ranking))))
        peer.hear_release()


def outside(folder: Path, ending: Ending, *, name: str, addresses: Sequence[str]) -> dict[str, Any]:
    """Return all that a server leaves and shows, but for noisy numbers, times, its addresses and its folder's name."""
    left: dict[str, Any] = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}
    events = [json.loads(line) for line in left.pop("events.jsonl").splitlines()]
    left["events"] = [{key: value for key, value in event.items() if key != "timestamp"} for event in events]
    run = json.loads(left.pop("run.json"))
    left["run"] = sorted(run)
    assert run["seconds"] >= 30 + 8 + LINGER_SECONDS  # as long as a voter may take to hang up
    result = json.loads(left.pop("result.json"))
    left["tallies"] = np.array(result.pop("tallies")).shape
    left["outcome"] = sorted(result.pop("outcome"))
    left["result"] = result
    left["estimates.csv"] = left["estimates.csv"].splitlines()[0]
    page = left.pop("report.html")
    assert not any(who in page for who in NAMES)
    # Above are noisy numbers; below, how long it took, and the digest of what was told.
    left["report"] = page.rpartition(">Privacy loss per person<")[2].partition(">Seconds<")[0]
    out = functools.reduce(lambda text, address: text.replace(address, "ADDRESS"), addresses, ending.out)
    lines = out.replace(name, "FOLDER").splitlines()
    shown = [re.sub(r"-?\d[\d.]*", "N", line) for line in lines]
    left["out"] = [line for line in shown if "wins" not in line and "Public transcript" not in line]
    left["status"], left["err"] = ending.status, ending.err
    return left


class Monitor:
    """Asks a server's page for all that it has, again and again, as long as the server is there.

    Args:
        page: the page's address.
    """

    def __init__(self, page: str) -> None:
        self._page = page
        self._seen: list[str] = []
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        with contextlib.suppress(OSError):  # as the server goes
            while True:
                self._seen += [self._ask("healthz"), self._ask("metrics")]
                time.sleep(0.02)  # what is shown stays for seconds; who asks without a rest slows all servers down

    def _ask(self, path: str) -> str:
        with urllib.request.urlopen(f"http://{self._page}/{path}", timeout=PATIENCE) as answer:
            return answer.read().decode()

    def seen(self) -> set[str]:
        """Return all that it was told, but for times of day, and what stands there for some milliseconds alone.

        That is a phase whose deadline is over, until its tally is counted: one asker sees it and another does not.
        """
        self._thread.join(PATIENCE)
        told = {re.sub(r"(_timestamp_seconds.*|start_time_seconds) .*|until .*", r"\1", text) for text in self._seen}
        under_way = re.compile(r'^psephos_session_state\{state="(gathering|collecting)"\} 1.0$', re.MULTILINE)
        is_open = re.compile(r"^psephos_phase_open\{.*\} 1.0$", re.MULTILINE)
        between = {text for text in told if under_way.search(text) and not is_open.search(text)}
        return {text for text in told - between if not text.endswith(" without a deadline\n")}


@pytest.mark.full("three servers that wait for their deadlines; in one process the same is looked at above")
def test_servers_to_which_more_fewer_or_no_voters_came_leave_and_show_the_same(tmp_path: Path, write: Write) -> None:
    """Three servers at once: one has all three voters, one lacks bob, whose neighbor has ann by `join`, one nobody.

    Each has a page for monitors, which is asked all the time.
    """
    write("voters.csv", VOTERS)
    write("ann.csv", "ranking\na > b > c\n")
    path = write("plans.toml", PLANS)
    side = resolve_served(load_scenario(str(path)))
    with contextlib.ExitStack() as stack:

        def start(*words: object) -> Process:
            return stack.enter_context(Process(*words, folder=tmp_path, is_measured=False))

        drawn = start("roster", path, "--make-keys", "--out", "drawn").ending()
        assert (drawn.status, drawn.err) == (0, "")
        invitations = {name: find_invitation(tmp_path / "drawn" / "invitations", party=name) for name in side.names}
        assert invitations.keys() == set(NAMES)
        who = {"everybody": NAMES, "without": ("ann", "zoe"), "nobody": ()}
        words = ("--listen", "127.0.0.1:0", "--no-pictures", "--status", "0")
        for name in who:  # each keeps a journal in its own, with a witness of its own, which knows no other server
            shutil.copytree(tmp_path / "drawn", tmp_path / f"drawn-{name}")
        servers = {
            name: start("serve", path, "--roster", f"drawn-{name}", *words, *own)
            for name in who
            for own in [("--out", f"at-{name}", "--witness", f"witness-{name}")]
        }
        addresses = {name: server.address() for name, server in servers.items()}
        pages = {name: server.line_with("status at ").split("/")[2] for name, server in servers.items()}
        monitors = {name: Monitor(page) for name, page in pages.items()}
        invited = ("--address", addresses["without"], "--trust-server", "--json", "--out", "joined")
        client = start("join", "drawn/invitations", "--as", "ann", "--input", "ann.csv", *invited)
        by_hand = [(name, party) for name, parties in who.items() for party in parties]
        by_hand.remove(("without", "ann"))
        threads = [
            threading.Thread(target=vote_by_hand, args=(addresses[name], invitations[party], (0, 1, 2)))
            for name, party in by_hand
        ]
        for thread in threads:
            thread.start()
        joined = client.ending()
        for thread in threads:
            thread.join()
        endings = {name: server.ending() for name, server in servers.items()}
        told = {name: monitor.seen() for name, monitor in monitors.items()}
    assert told["everybody"] == told["without"] == told["nobody"]
    assert told["everybody"] >= {
        "open: phase 'join' \n",
        "open: phase 'rankings' \n",
        "released: the parties are told the outcome\n",
    }
    assert (joined.status, joined.err) == (0, "")
    left = {
        name: outside(tmp_path / f"at-{name}", ending, name=f"at-{name}", addresses=(addresses[name], pages[name]))
        for name, ending in endings.items()
    }
    for one, other in itertools.pairwise(left.values()):
        assert one == other
    everybody = left["everybody"]
    assert (everybody["status"], everybody["err"], everybody["result"]["received"]) == (0, "", {})
    for text in (str(everybody), endings["without"].out):
        for name in NAMES:
            assert name not in text
    assert msgspec.json.decode(joined.out) == read_json(tmp_path / "at-without" / "result.json")["outcome"]
