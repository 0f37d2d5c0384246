"""Rehearsals: all of a deployment's processes on one machine, what they decide, and that none of them is left."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
import trio
from bad_input import check_refused
from deployments import ENTRIES, PATIENCE, SEED, WARNED, Process, write_vote
from psephos.protocol.dpwevote import DPWeVote
from psephos.protocol.errors import ConfigurationError
from psephos.scenarios import load_scenario, resolve, resolve_served
from psephos.scenarios.deployment import rehearsal
from psephos.scenarios.deployment.own_entries import read_own_entries, write_own_file
from psephos.scenarios.deployment.own_rows import encode_own
from psephos.scenarios.deployment.rehearsal import (
    ProcessEnd,
    check_rehearsed,
    make_plan,
    reserve_address,
    values_of,
    write_values,
)
from psephos.scenarios.plugins import ROLES, names_in
from runs import read_json

Psephos = Callable[..., Any]
Write = Callable[[str, str | bytes], Path]

SMALL: Final[Mapping[str, Sequence[str]]] = {
    "averaging": ("partners.count=4",),
    "crowd": ("workers.workers=4", "workers.tasks=6", "workers.answers_per_task=2"),
    "differencing": (),
    "eu-council": (),
    "fairness-judgements": ("voters.voters=4",),
    "moral-machine": ("voters.voters=3",),
    "moral-synthetic": ("voters.voters=3", "voters.records=4"),
    "own-epsilon": (),
    "peer-grading": (),
    "two-societies": ("voters.groups.north.voters=2", "voters.groups.south.voters=2"),
}
"""Shipped scenarios of each system, with few parties."""
HIDDEN: Final = """
protocol = "fair-voting"
[parameters]
mechanism = "laplace"
objective = "parity"
relation = "add-remove-one"
epsilon = 2.0
[voters]
generator = "mallows"
alternatives = ["bridge", "ferry", "tunnel"]
seed = 3
[voters.groups.hill]
voters = 1
center = ["bridge", "tunnel", "ferry"]
dispersion = 0.4
[voters.groups.shore]
voters = 1
center = ["ferry", "bridge", "tunnel"]
dispersion = 0.6
"""


# What each party is given.


@pytest.mark.parametrize("name", list(SMALL))
def test_the_file_of_each_party_holds_its_own_values(name: str, tmp_path: Path) -> None:
    side = check_rehearsed(load_scenario(name, SMALL[name]), trusts_server=True)
    plan = make_plan(side, tmp_path, address="127.0.0.1:7000", scenario=[name])
    write_values(plan, values_of(side))
    for place, part in enumerate(plan.parts):
        entries = read_own_entries(part.values, party=part.party, roles=names_in(ROLES))
        row = encode_own(side.protocol, entries, tuple(side.inputs.public[place].tolist()))
        assert list(row) == side.inputs.private[place].tolist()
        assert part.values.stat().st_mode & 0o077 == 0


def test_a_worker_without_an_answer_has_a_file_that_says_so(write: Write) -> None:
    workers = "workers = [{worker = 'ann', tasks = 'q1; q2', answers = ''}, {worker = 'bob', tasks = '', answers = ''}]"
    parameters = "[parameters]\nanswer_sets = [['yes', 'no']]\nepsilon = 2.0\n"
    scenario = write("quiz.toml", f'protocol = "truth-discovery"\n{workers}\n{parameters}')
    side = resolve(load_scenario(str(scenario)))
    for place, (name, entries) in enumerate({"ann": ("q1; q2", ""), "bob": ("", "")}.items()):
        path = scenario.parent / f"{name}.csv"
        path.write_bytes(write_own_file(side.protocol, dict(zip(("tasks", "answers"), entries, strict=True))))
        own = read_own_entries(path, party=name, roles=names_in(ROLES))
        public = tuple(side.inputs.public[place].tolist())
        assert list(encode_own(side.protocol, own, public)) == side.inputs.private[place].tolist()


def test_entries_that_no_line_can_hold_are_refused_by_their_column() -> None:
    side = resolve(load_scenario("eu-council"))
    with pytest.raises(ConfigurationError, match=r"column 'weight' (is|are) .*text or a number"):
        write_own_file(side.protocol, {"weight": [1, 2]})


@pytest.mark.parametrize("name", list(SMALL))
def test_a_server_takes_the_roster_that_was_drawn_up_of_the_same_scenario(
    name: str, tmp_path: Path, psephos: Psephos
) -> None:
    """Tasks, prices and groups are those of the invitations, and not read anew from what the roster's text says."""
    settings = [word for setting in SMALL[name] for word in ("--set", setting)]
    assert psephos("roster", name, *settings, "--make-keys", "--out", "drawn").status == 0
    own = resolve_served(load_scenario(name, SMALL[name]))
    served = resolve_served(load_scenario(name, SMALL[name]), roster=tmp_path / "drawn")
    assert served.protocol.parameters == own.protocol.parameters
    assert served.inputs.public.tolist() == own.inputs.public.tolist()


def test_a_server_knows_by_its_roster_that_each_partner_has_one_vote(
    tmp_path: Path, write: Write, psephos: Psephos
) -> None:
    write("votes.csv", "partner,roof\nann,yes\nbob,no\n")
    scenario = str(
        write(
            "roof.toml",
            'protocol = "dpwevote"\npartners = "votes.csv"\n[parameters]\ncandidates = ["roof"]\nepsilon = 1.0\n',
        )
    )
    assert psephos("roster", scenario, "--make-keys", "--out", "drawn").status == 0
    (tmp_path / "votes.csv").unlink()  # the server need not have it
    served = resolve_served(load_scenario(scenario), roster=tmp_path / "drawn").protocol
    assert isinstance(served, DPWeVote)
    assert (served.parameters.public_weights, served.parameters.weights) == (True, (1.0,))


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff"])
def test_agreed_parameters_that_cannot_be_read_are_named(tmp_path: Path, psephos: Psephos, content: bytes) -> None:
    write_vote(tmp_path)
    assert psephos("roster", "vote.toml", "--make-keys", "--out", "drawn").status == 0
    (tmp_path / "drawn" / "parameters.json").write_bytes(content)
    refusal = psephos("serve", "vote.toml", "--roster", "drawn", "--out", "out").refusal
    assert refusal.startswith("psephos: --roster: The parameters in ")
    assert not (tmp_path / "out").exists()


# Whole rehearsals.


def rehearsing(scenario: str, *words: object, trust: bool = False) -> tuple[object, ...]:
    """Return the words of a rehearsal by a seed that is kept."""
    trusted = ("--trust-server",) if trust else ()
    return ("rehearse", scenario, *words, *trusted, "--simulate", "--seed", SEED, "--no-pictures")


def lasting(name: str, *, trust: bool = False) -> Any:
    """Return a case that only `make verify` runs: its processes are those of the first one."""
    return pytest.param(name, trust, marks=pytest.mark.full("processes, of which the vote has as many"))


@pytest.mark.parametrize(
    ("name", "trust"),
    [
        lasting("averaging"),
        lasting("crowd"),
        lasting("fairness-judgements"),
        lasting("moral-synthetic", trust=True),
        lasting("two-societies", trust=True),
    ],
)
def test_a_rehearsal_by_a_seed_decides_what_a_run_decides(
    name: str, *, trust: bool, tmp_path: Path, psephos: Psephos
) -> None:
    settings = [word for setting in SMALL[name] for word in ("--set", setting)]
    ended = psephos(*rehearsing(name, *settings, "--out", "out", trust=trust))
    assert (ended.status, ended.err) == (0, "")
    ran = psephos("run", name, *settings, "--set", "adversary=[]", "--seed", SEED, "--no-pictures", "--out", "ran")
    assert ran.status == 0, ran.err
    expected = read_json(tmp_path / "ran" / "result.json")
    expected.pop("truth", None)
    assert read_json(tmp_path / "out" / "server" / "result.json") == expected
    (heard,) = re.findall(r"^(\d+) of (\d+) \w+s heard what the server released", ended.out, re.MULTILINE)
    assert heard[0] == heard[1] == str(expected["num_parties"])
    assert f"Everything is in out{chr(10)}" in ended.out


@pytest.mark.full("processes, where others of this file have them already")
def test_the_commands_that_are_printed_hold_the_session_by_hand(tmp_path: Path, psephos: Psephos) -> None:
    write_vote(tmp_path)
    with reserve_address() as address:
        words = ("--address", address, "--show-commands", "--out", "out")
        ended = psephos(*rehearsing("vote.toml", *words))
        assert (ended.status, ended.err) == (0, "")
        lines = [line.strip() for line in ended.out.splitlines() if line.startswith("  psephos ")]
        roster, serve, *joins = ([*shlex.split(line)[1:]] for line in lines)
        assert [command[0] for command in (roster, serve, *joins)] == ["roster", "serve", "join", "join", "join"]
        first = read_json(tmp_path / "out" / "server" / "result.json")
        for folder in ("vote", "server", "parties"):
            shutil.rmtree(tmp_path / "out" / folder)
        assert psephos(*roster).status == 0
        with Process(*serve, folder=tmp_path, is_measured=False) as server:
            server.address()
            clients = [Process(*join, folder=tmp_path, is_measured=False) for join in joins]
            assert [client.ending().status for client in clients] == [0, 0, 0]
            assert server.ending().status == 0
    assert read_json(tmp_path / "out" / "server" / "result.json") == first


@pytest.mark.full("four processes, as those of a deployment")
def test_a_rehearsal_with_secure_noise_leaves_nothing_but_what_it_says(tmp_path: Path, psephos: Psephos) -> None:
    write_vote(tmp_path)
    before = {path.name for path in tmp_path.iterdir()}
    ended = psephos("rehearse", "vote.toml", "--json")
    assert (ended.status, ended.err) == (0, WARNED)
    result = json.loads(ended.out)
    assert (result["kind"], result["received"]) == ("deployment", {"weights": 3, "opinions": 3})
    assert {path.name for path in tmp_path.iterdir()} == before


@pytest.mark.full("a session that lasts as long as its deadlines")
def test_participation_that_is_hidden_is_rehearsed_too(write: Write, psephos: Psephos) -> None:
    write("hidden.toml", HIDDEN)
    deadlines = ("--set", "phases.join.deadline_seconds=20", "--set", "deadline_seconds=10")
    ended = psephos("rehearse", "hidden.toml", *deadlines, "--trust-server", "--out", "out")
    assert (ended.status, ended.err) == (0, "")
    assert "2 of 2 voters heard what the server released" in ended.out
    assert not {"traffic", "traffic_since_restart"} & read_json(Path("out/server/run.json")).keys()


# What fails, and what is left of it.


@pytest.mark.full("processes, where others of this file have them already")
def test_a_party_that_fails_is_named_with_its_line_and_the_status_is_the_servers(
    tmp_path: Path, psephos: Psephos
) -> None:
    """The server closes before anybody has come."""
    write_vote(tmp_path)
    ended = psephos("rehearse", "vote.toml", "--set", "deadline_seconds=0.01", "--out", "out")
    assert ended.status == 1
    said = dict(re.findall(r"^psephos: (ann|bob|cid): (.+)$", ended.err, re.MULTILINE))
    assert said.keys() == ENTRIES.keys()
    assert re.search(r"^psephos: (?!ann|bob|cid)", ended.err, re.MULTILINE)
    assert read_json(tmp_path / "out" / "server" / "run.json")["failure"]["error"] == "QuorumError"


@pytest.mark.full("processes, where others of this file have them already")
def test_a_party_that_fails_is_told_of_and_a_quorum_goes_on_without_it(tmp_path: Path) -> None:
    """Ann's file is changed behind the plan's back: her process alone ends, by her values' own fault."""
    scenario = write_vote(tmp_path)
    side = check_rehearsed(load_scenario(scenario), trusts_server=False)
    failures: dict[str, ProcessEnd] = {}
    lines: list[bytes] = []
    settings = ("--set", "quorum=2", "--set", "deadline_seconds=10", "--set", "name=vote")
    with reserve_address() as address:
        plan = make_plan(
            side, tmp_path / "out", address=address, scenario=[scenario, *settings], serve=["--no-pictures"]
        )
        (tmp_path / "out").mkdir()
        write_values(plan, values_of(side))
        plan.parts[0].values.write_text("weight,merger\n7,1\n", encoding="utf-8")

        async def run() -> rehearsal.RehearsalResult:
            return await rehearsal.rehearse(
                plan, show=lines.append, show_error=lines.append, on_failure=failures.__setitem__
            )

        rehearsed = trio.run(run)
    assert rehearsed.server == ProcessEnd(0)
    assert failures == {"ann": rehearsed.parties["ann"]}
    assert failures["ann"].status == 2
    assert failures["ann"].said.startswith("psephos: weight is ")
    assert {party: ended.status for party, ended in rehearsed.parties.items()} == {"ann": 2, "bob": 0, "cid": 0}
    assert rehearsal.num_told(plan) == 2


@pytest.mark.full("processes; quick, a process that cannot be started ends a rehearsal")
@pytest.mark.bad_input("an unreachable or a taken address")
def test_a_server_that_cannot_listen_ends_the_rehearsal_at_once(tmp_path: Path, psephos: Psephos) -> None:
    write_vote(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = psephos("rehearse", "vote.toml", "--address", address)
    assert ended.status == 1
    assert ended.err.count("\n") == 1
    assert address in ended.err


def test_a_process_that_cannot_be_started_is_said(
    tmp_path: Path, psephos: Psephos, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_vote(tmp_path)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    ended = psephos("rehearse", "vote.toml", "--json")
    assert (ended.status, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert "cannot start a process: [Errno 2] No such file or directory" in ended.err


def processes_of(folder: Path) -> list[str]:
    """Return the command lines of all processes whose words name a folder."""
    ps = shutil.which("ps") or "ps"
    listed = subprocess.run([ps, "-A", "-ww", "-o", "args="], capture_output=True, text=True, check=True)  # noqa: S603  nothing of ours in it
    return [line for line in listed.stdout.splitlines() if str(folder) in line and "<defunct>" not in line]


@pytest.mark.full("processes, of which a whole rehearsal has as many")
@pytest.mark.bad_input("Ctrl-C on either side")
@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGINT, 130),
        *(
            pytest.param(number, status, marks=pytest.mark.full("processes once more"))
            for number, status in ((signal.SIGTERM, 143), (signal.SIGHUP, 129))
        ),
    ],
)
def test_whoever_stops_a_rehearsal_leaves_no_process_and_no_temporary_folder(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, status: int
) -> None:
    """Its session would wait for minutes, since it is private who comes."""
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip(f"{number.name} is ignored here, as under nohup, and what is started inherits that")
    scenario, temporary = write("hidden.toml", HIDDEN), tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    out = ("--out", temporary / "kept") if number is signal.SIGINT else ()
    with Process("rehearse", scenario, "--trust-server", *out, folder=tmp_path) as process:
        began = time.monotonic()
        while len([line for line in processes_of(temporary) if " join " in line]) < 2:
            assert time.monotonic() - began < PATIENCE
            threading.Event().wait(0.05)
        process.send(number)
        ended = process.ending()
    assert ended.status == status, ended
    assert ended.err.lstrip("\n").startswith("psephos: interrupted")
    assert "Traceback" not in ended.err
    assert processes_of(temporary) == []
    left = [path.name for path in temporary.iterdir()]
    assert left == (["kept"] if out else [])
    if out:
        assert read_json(temporary / "kept" / "server" / "run.json")["failure"]["error"] == "KeyboardInterrupt"


# What is refused before anything is started.

REFUSED: Final[Mapping[str, tuple[str, tuple[str, ...], tuple[str, ...]]]] = {
    "too many parties": ("consortium", (), ("partners of a rehearsal is 2000: use at most ", "psephos run")),
    "a value that is not allowed": ("vote.toml", ("partners=bad.csv",), ("weight (bad.csv line 2, ann)",)),
    "no values": ("vote.toml", ("partners=names.csv", "candidates=['merger']"), ("merger (names.csv line 1)",)),
    "an unknown scenario": ("volte.toml", (), ("There is no file and no shipped scenario",)),
    "a server that is trusted": (
        "moral-synthetic",
        ("voters.voters=3",),
        ("give --trust-server: this session is in the central model, and its server sees your values",),
    ),
    "a masked session": ("eu-council-masked", (), ("use another in a rehearsal", "is 'distributed'")),
}


@pytest.mark.bad_input(
    "an unknown scenario, key or transport",
    "a missing, doubled or unknown partner or column, with its line",
    "a weight outside the public set",
)
@pytest.mark.parametrize("case", list(REFUSED))
def test_what_cannot_be_rehearsed_is_refused_with_one_sentence_and_leaves_nothing(
    psephos: Psephos, write: Write, tmp_path: Path, case: str
) -> None:
    scenario, settings, words = REFUSED[case]
    write_vote(tmp_path)
    text = (tmp_path / "vote.toml").read_text(encoding="utf-8").replace("epsilon", "weights = [1, 2, 3]\nepsilon", 1)
    write("vote.toml", text)
    write("bad.csv", "partner,weight,merger\nann,7,1\nbob,1,0\n")
    write("names.csv", "partner,weight\nann,1\nbob,1\n")
    check_refused(psephos, scenario, settings, words, command=("rehearse",))


@pytest.mark.bad_input("an unreachable or a taken address")
@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--address", "nowhere"), 2, "--address"),
        (("--seed", "1"), 2, "leave out --seed, or add --simulate"),
        (("--simulate",), 2, "give --seed together with --simulate"),
        (("--out", "vote.toml"), 2, "--out: nothing can be written into 'vote.toml'"),
    ],
)
def test_wrong_options_get_one_sentence(
    psephos: Psephos, tmp_path: Path, words: Sequence[str], status: int, said: str
) -> None:
    write_vote(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    ended = psephos("rehearse", "vote.toml", *words)
    assert (ended.status, ended.out, ended.err.count("\n")) == (status, "", 1)
    assert said in ended.err
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_how_many_may_rehearse_follows_from_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"SC_PHYS_PAGES": 4 << 30 >> 12, "SC_PAGE_SIZE": 1 << 12}
    monkeypatch.setattr(os, "sysconf", sizes.__getitem__)
    assert rehearsal.most_parties() == 48
    scenario = load_scenario("moral-synthetic", ["voters.voters=49"])
    with pytest.raises(ConfigurationError, match="at most 48, as many as this machine has memory for at 64 MB each"):
        check_rehearsed(scenario, trusts_server=True)
    sizes["SC_PHYS_PAGES"] <<= 10
    assert rehearsal.most_parties() == rehearsal.MOST_PARTIES == 200
    sizes["SC_PHYS_PAGES"] = 1
    assert rehearsal.most_parties() == 1
