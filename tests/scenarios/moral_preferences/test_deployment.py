"""Moral preferences between processes: whom a voter trusts is its own to say, and its records leave it in no form."""

import contextlib
import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import deployments
import msgspec
import pytest
from deployments import (
    NOBODY_LISTENS,
    PATIENCE,
    SEED,
    Ending,
    Process,
    Serving,
    invitations_to,
    join_all,
    read_json,
    report,
    serving,
)
from psephos.protocol import ConfigurationError
from psephos.protocol.effects import Drop
from psephos.protocol.errors import BudgetExceededError, PsephosError
from psephos.protocol.messages import Release
from psephos.protocol.moral_preferences import MoralPreferences, Outcome
from psephos.scenarios import load_scenario, resolve, run_session
from psephos.scenarios.deployment import Agreement, Joining
from psephos.scenarios.deployment.client import Heard
from psephos.scenarios.running.folder import read_ledger

Psephos = Callable[..., Any]
Write = Callable[[str, str | bytes], Path]

NAMES = ("ann", "bob", "cid")
# Each one's records as they write them: two lines for each, the lines and the columns in any order.
FILES = {
    "ann": "record,choice,lives,law\n1,1,5,0\n1,0,1,1\n2,0,0,1\n2,1,4,1\n",
    "bob": "law,lives,choice,record\n2,2,0,a\n0,3,1,a\n",
    "cid": "record,choice,lives,law\n7,0,2,0\n8,1,3,1\n8,0,6,0\n7,1,1,1\n",
}
ROWS = {
    "ann": "[[[5, 0], [1, 1]], [[4, 1], [0, 1]]]",
    "bob": "[[[3, 0], [2, 2]]]",
    "cid": "[[{lives = 1, law = 1}, {law = 0, lives = 2}], [{lives = 3, law = 1}, {lives = 6, law = 0}]]",
}
LOCAL = "paradigm = 'VLDP'\nepsilon = 1.5"
CENTRAL = "paradigm = 'VLCP'\nepsilon = 1.5"


# Public, as bob's vote is all of his society's.
SOCIETIES = {"ann": "north", "bob": "south", "cid": "north"}


def write_survey(
    folder: Path,
    *,
    lines: str = LOCAL,
    epsilons: Mapping[str, float] | None = None,
    societies: Mapping[str, str] | None = None,
) -> str:
    """Write a session of three voters, and each one's own file, and return the scenario's path.

    Args:
        folder: where.
        lines: more of the parameters.
        epsilons: of the voters, where each has its own.
        societies: of the voters, where there are several.
    """
    own = {name: "" if epsilons is None else f", epsilon = {epsilons[name]}" for name in NAMES}
    if societies is not None:
        own = {name: f"{more}, society = '{societies[name]}'" for name, more in own.items()}
    rows = [f"{{voter = '{name}', records = {ROWS[name]}{own[name]}}}" for name in NAMES]
    text = f"voters = [{', '.join(rows)}]\n[parameters]\nfeatures = ['lives', 'law']\nmax_records = 2\n{lines}\n"
    path = folder / "survey.toml"
    path.write_text(f'protocol = "moral-preferences"\n{text}', encoding="utf-8")
    for name, content in FILES.items():
        (folder / f"{name}.csv").write_text(content, encoding="utf-8")
    return str(path)


@pytest.fixture
def survey(tmp_path: Path) -> str:
    """A session of three voters who trust nobody; its path."""
    return write_survey(tmp_path)


@pytest.fixture
def central(tmp_path: Path) -> str:
    """A session of three voters whose aggregator has to be trusted; its path."""
    return write_survey(tmp_path, lines=CENTRAL)


entries_of = functools.partial(deployments.entries_of, role="voter")
joining = functools.partial(deployments.joining, role="voter", most=len(NAMES))
refusal = functools.partial(deployments.refusal, role="voter")


def all_join(session: Serving, folder: Path, **options: Any) -> dict[str, Heard]:
    """Let all voters take part, all with the same options, and return what each heard."""
    return join_all(session, folder, dict.fromkeys(NAMES, options), role="voter")


# What everybody hears.


@pytest.mark.parametrize("trusts", [False, True], ids=["local", "central"])
def test_voters_who_join_one_by_one_hear_what_one_process_finds(tmp_path: Path, *, trusts: bool) -> None:
    scenario = write_survey(tmp_path, lines=CENTRAL if trusts else LOCAL)
    record = run_session(resolve(load_scenario(scenario)), seed=SEED)
    told: list[Agreement] = []
    with serving(scenario) as session:
        heard = all_join(session, tmp_path, trusts_server=trusts, on_agreed=told.append)
        result = session.result()
    assert [each.outcome for each in heard.values()] == [record.outcome] * 3 == [result.outcome] * 3
    assert [each.own for each in heard.values()] == [None] * 3
    assert result.tallies[0].totals.tolist() == record.tallies[0].totals.tolist()
    # Whatever the order of lines and columns, a file is what the scenario lists.
    rows = {agreement.terms.party: list(agreement.row) for agreement in told}
    assert [rows[party] for party in NAMES] == resolve(load_scenario(scenario)).inputs.private.tolist()
    for party in NAMES:
        (entry,) = read_ledger(tmp_path / f"as-{party}")
        assert (entry.person, entry.claimed, entry.unit) == (party, 1.5, "voter")
        assert entry.model.value == ("central" if trusts else "local")


@pytest.mark.parametrize("trusts", [False, True], ids=["local", "central"])
def test_each_society_has_its_release_over_sockets_and_every_voter_hears_all_of_them(
    tmp_path: Path, *, trusts: bool
) -> None:
    """The same bits as by arrays; a voter pays for its own society's release alone."""
    scenario = write_survey(tmp_path, lines=CENTRAL if trusts else LOCAL, societies=SOCIETIES)
    record = run_session(resolve(load_scenario(scenario, ["transport=array"])), seed=SEED)
    with serving(scenario) as session:
        heard = all_join(session, tmp_path, trusts_server=trusts)
        result = session.result()
    assert [each.outcome for each in heard.values()] == [record.outcome] * 3 == [result.outcome] * 3
    assert result.tallies[0].totals.tolist() == record.tallies[0].totals.tolist()
    assert isinstance(result.outcome, Outcome)
    assert isinstance(result.outcome.societies, tuple)
    assert [(each.name, each.num_voters) for each in result.outcome.societies] == [("north", 2), ("south", 1)]
    for party in NAMES:
        (entry,) = read_ledger(tmp_path / f"as-{party}")
        assert (entry.person, entry.claimed, entry.model.value) == (party, 1.5, "central" if trusts else "local")


def test_voters_with_an_epsilon_each_pay_their_own(tmp_path: Path) -> None:
    epsilons = {"ann": 0.5, "bob": 2, "cid": 0.5}
    scenario = write_survey(tmp_path, lines="paradigm = 'RLDP'\nmechanism = 'direction'", epsilons=epsilons)
    record = run_session(resolve(load_scenario(scenario)), seed=SEED)
    with serving(scenario) as session:
        assert session.side.protocol.parameters.epsilons == (0.5, 2)
        heard = all_join(session, tmp_path)
    assert [each.outcome for each in heard.values()] == [record.outcome] * 3
    paid = {party: [entry.claimed for entry in read_ledger(tmp_path / f"as-{party}")] for party in NAMES}
    assert paid == {"ann": [1], "bob": [4], "cid": [1]}  # two records of each at most


CHOSEN = "paradigm = 'VLDP'\nepsilons = [0.5, 1, 2]\nchosen_by = 'voter'"
EPSILONS = {"ann": 0.5, "bob": 2, "cid": 0.5}


@pytest.mark.parametrize("is_invited", [False, True])
def test_voters_choose_their_epsilon_as_they_join(tmp_path: Path, *, is_invited: bool) -> None:
    """Over real sockets: the server has no level of anybody's before, and the bits are those of one process."""
    scenario = write_survey(tmp_path, lines=CHOSEN, epsilons=EPSILONS)
    record = run_session(resolve(load_scenario(scenario)), seed=SEED)
    invited = invitations_to(scenario) if is_invited else dict.fromkeys(NAMES)
    with serving(scenario) as session:
        assert session.side.inputs.public.tolist() == [[2], [2], [2]]
        options = {name: {"choices": {"epsilon": str(EPSILONS[name])}, "invitation": invited[name]} for name in NAMES}
        heard = join_all(session, tmp_path, options, role="voter")
    assert [each.outcome for each in heard.values()] == [record.outcome] * 3
    paid = {party: [entry.claimed for entry in read_ledger(tmp_path / f"as-{party}")] for party in NAMES}
    assert paid == {name: [epsilon] for name, epsilon in EPSILONS.items()}


@pytest.mark.bad_input("an epsilon that is no level, or another one than was chosen before")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "epsilon=0.7"], "epsilon must be one of 0.5, 1, 2, got '0.7'"),
        (["--set", "epsilon=nan"], "epsilon must be a number > 0, got 'nan'"),
        ([], "epsilon must be one of 0.5, 1, 2, got 'left out'"),
        (["--set", "epsilon"], "--set must be NAME=VALUE, once for each name, got 'epsilon'"),
        (["--set", "epsilon=1", "--set", "epsilon=2"], "--set must be NAME=VALUE, once for each name"),
        (["--set", "records=1"], "--set must be one of epsilon, got 'records'"),
    ],
)
def test_an_epsilon_that_is_no_level_is_refused_before_anybody_is_called(
    psephos: Psephos, tmp_path: Path, words: list[str], said: str
) -> None:
    survey = write_survey(tmp_path, lines=CHOSEN, epsilons=EPSILONS)
    assert psephos("roster", survey, "--make-keys", "--simulate", "--out", "drawn").status == 0
    assert "epsilon" not in Path("drawn/roster.csv").read_text(encoding="utf-8")
    invited = ("--invitation", "drawn/invitations", "--simulate", "--seed", SEED)
    own = ("--as", "ann", "--input", "ann.csv", *words)
    ended = psephos("join", NOBODY_LISTENS, "--transport", "tcp", *own, *invited, "--out", "out")
    assert (ended.status, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert said in ended.err
    assert not Path("out").exists()


@pytest.mark.bad_input("an epsilon that is no level, or another one than was chosen before")
def test_a_session_without_anything_to_choose_takes_no_choice(survey: str, tmp_path: Path) -> None:
    invitation = invitations_to(survey)["ann"]
    choices = {"epsilon": "1"}
    said = refusal(NOBODY_LISTENS, tmp_path, ConfigurationError, invitation=invitation, choices=choices)
    assert said.startswith("--set must be left out: the session leaves nothing to choose, got 'epsilon'")


# Whom a voter trusts.


def test_a_server_that_would_have_to_be_trusted_is_refused_before_it_is_called(central: str, tmp_path: Path) -> None:
    invitation = invitations_to(central)["ann"]
    said = refusal(NOBODY_LISTENS, tmp_path, ConfigurationError, invitation=invitation)
    assert said.startswith("--trust-server must be given: this session is in the central model")
    own = entries_of("ann", tmp_path)
    joining = Joining(
        address=NOBODY_LISTENS, party="ann", entries=own, seed=SEED, invitation=invitation, transport="tcp"
    )
    with pytest.raises(ConfigurationError, match="--trust-server"):
        joining.agree_beforehand()
    assert dataclasses.replace(joining, trusts_server=True).agree_beforehand()


def test_a_server_that_would_have_to_be_trusted_is_refused_by_its_terms_and_hears_no_value(
    central: str, tmp_path: Path
) -> None:
    with serving(central) as session:
        said = refusal(session.address, tmp_path, ConfigurationError)
        assert said.startswith("--trust-server must be given")
        assert not [event for event in session.events if event.get("party") == "ann" and "report" in event["event"]]
        (tmp_path / "as-ann").rename(tmp_path / "refused")
        all_join(session, tmp_path, trusts_server=True)
        assert session.result().num_received == (3,)


def test_trust_that_is_not_needed_is_no_fault(survey: str, tmp_path: Path) -> None:
    with serving(survey) as session:
        all_join(session, tmp_path, trusts_server=True)
        assert session.result().num_received == (3,)


def test_a_server_that_turns_local_terms_into_central_ones_is_found_out(tmp_path: Path) -> None:
    """The invitation said that nobody is trusted; the server's parameters are other ones."""
    local = invitations_to(write_survey(tmp_path))["ann"]
    with serving(write_survey(tmp_path, lines=CENTRAL)) as session:
        assert refusal(session.address, tmp_path, PsephosError, invitation=local)


# A voter's own records.


@pytest.mark.parametrize(
    "content",
    [
        FILES["ann"],
        "record,choice,law,lives\n1,1,0,5\n1,0,1,1\n2,0,1,0\n2,1,1,4\n",
        "record,choice,lives,law\n2,0,0,1\n1,1,5,0\n2,1,4,1\n1,0,1,1\n",
        'lives,law,record,choice\n5,0,"first, of all",1\n1,1,"first, of all",0\n\n4.0,1e0,second,1\n0,1,second,0\n',
        "\ufeffrecord,choice,lives,law\r\n1,1,5,0\r\n1,0,1,1\r\n2,0,0,1\r\n2,1,4,1\r\n",
    ],
    ids=["plain", "another order of columns", "another order of lines", "quotes", "as spreadsheets save it"],
)
def test_a_voters_file_is_read_in_every_usual_form(survey: str, write: Write, tmp_path: Path, content: str) -> None:
    side = resolve(load_scenario(survey), is_served=True)
    whole = resolve(load_scenario(survey)).inputs.private.tolist()
    write("ann.csv", content)
    assert list(side.protocol.encode_own(entries_of("ann", tmp_path), ())) == whole[0]


FAULTS: dict[str, tuple[str | bytes, list[str]]] = {
    "a line is missing": (
        "record,choice,lives,law\n1,1,5,0\n1,0,1,1\n2,1,4,1\n",
        ["ann.csv line 4 must be a record of two lines, one with choice 1 and one with choice 0", "got '1 lines"],
    ),
    "a line too many": (
        "record,choice,lives,law\n1,1,5,0\n1,0,1,1\n1,0,4,1\n",
        ["ann.csv line 2 must be a record of two lines", "3 lines, 1 of them chosen (also line 3, 4)"],
    ),
    "both are chosen": (
        "record,choice,lives,law\n1,1,5,0\n1,1,1,1\n",
        ["ann.csv line 2 must be a record of two lines", "2 of them chosen"],
    ),
    "a choice of 2": ("record,choice,lives,law\n1,2,5,0\n1,0,1,1\n", ["choice (ann.csv line 2) must be 1", "got '2'"]),
    "nan": ("record,choice,lives,law\n1,1,nan,0\n1,0,1,1\n", ["lives (ann.csv line 2) must be a number", "got 'nan'"]),
    "inf": ("record,choice,lives,law\n1,1,5,0\n1,0,1,-inf\n", ["law (ann.csv line 3) must be a number", "got '-inf'"]),
    "text": ("record,choice,lives,law\n1,1,5,0\n1,0,one,1\n", ["lives (ann.csv line 3) must be a number", "'one'"]),
    "no number": ("record,choice,lives,law\n1,1,5,0\n1,0,,1\n", ["lives (ann.csv line 3) must be a number", "got ''"]),
    "a line too short": ("record,choice,lives,law\n1,1,5,0\n1,0,1\n", ["ann.csv line 3", "4 entries"]),
    "another feature": (
        "record,choice,lives,lwa\n1,1,5,0\n1,0,1,1\n",
        ["records: an alternative must be described by all of lives, law, and by nothing else, got 'law'"],
    ),
    "a feature too many": (
        "record,choice,lives,law,age\n1,1,5,0,3\n1,0,1,1,3\n",
        ["records: an alternative must be described by all of lives, law, and by nothing else, got 'age'"],
    ),
    "no features": ("record,choice\n1,1\n1,0\n", ["ann.csv line 1", "at least one feature"]),
    "a feature twice": ("record,choice,lives,lives\n1,1,5,0\n1,0,1,1\n", ["ann.csv line 1", "distinct"]),
    "others' records": ("voter,record,choice,lives,law\nann,1,1,5,0\nann,1,0,1,1\n", ["without 'voter'"]),
    "no records": ("record,choice,lives,law\n", ["ann.csv must be a CSV file with rows"]),
    "nothing": ("", ["ann.csv line 1 must be a header"]),
    "no UTF-8": (b"record,choice,lives,law\n\x81", ["line 2 must be UTF-8 text"]),
    "too many records": (
        "record,choice,lives,law\n1,1,5,0\n1,0,1,1\n2,1,5,0\n2,0,1,1\n3,1,5,0\n3,0,1,1\n",
        ["records must be 1 to 2 records (max_records), got '3 records'"],
    ),
}


@pytest.mark.parametrize("case", list(FAULTS))
def test_a_fault_in_a_voters_file_is_named_and_nobody_is_called(
    psephos: Psephos, write: Write, tmp_path: Path, case: str
) -> None:
    content, words = FAULTS[case]
    survey = write_survey(tmp_path)
    write("ann.csv", content)
    assert psephos("roster", survey, "--make-keys", "--simulate", "--out", "drawn").status == 0
    invited = ("--invitation", "drawn/invitations", "--simulate", "--seed", SEED)
    ended = psephos(
        "join", NOBODY_LISTENS, "--transport", "tcp", "--as", "ann", "--input", "ann.csv", *invited, "--out", "out"
    )
    assert (ended.status, ended.out, ended.err.count("\n")) == (2, "", 1)
    for word in words:
        assert word in ended.err
    assert not Path("out").exists()


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        entries_of("ann", tmp_path)
    assert caught.value.field == "--input"


def test_what_is_wrong_with_a_voters_records_stays_with_it(survey: str, tmp_path: Path) -> None:
    """Without an invitation the terms are asked for first; what run.json says of the fault has no value in it."""
    with serving(survey) as session:
        records = [[{"lives": 54321.0, "law": 0.0}, {"lives": 1.0}]]
        said = refusal(session.address, tmp_path, ConfigurationError, entries={"records": records})
        assert "records: an alternative" in said
        failure = read_json(tmp_path / "as-ann" / "run.json")["failure"]
        assert failure["reason"].startswith("records: an alternative must be described by")
        assert "54321" not in (tmp_path / "as-ann" / "run.json").read_text(encoding="utf-8")
        assert "54321" not in repr(session.events)


# Price.


@pytest.mark.parametrize("is_invited", [False, True])
def test_a_voter_pays_for_every_record_that_it_may_have(tmp_path: Path, *, is_invited: bool) -> None:
    """At ε = 3 a record and at most two records, six is asked of everybody, also of bob, who has one record."""
    scenario = write_survey(tmp_path, lines="paradigm = 'RLDP'\nmechanism = 'direction'\nepsilon = 3.0")
    invitation = invitations_to(scenario)["ann"] if is_invited else None
    with serving(scenario) as session:
        said = refusal(session.address, tmp_path, BudgetExceededError, budget=5.99, invitation=invitation)
        assert "6" in said
        assert not [event for event in session.events if event.get("party") == "ann" and "report" in event["event"]]
        (tmp_path / "as-ann").rename(tmp_path / "refused")
        all_join(session, tmp_path, budget=6.0)
    assert [entry.claimed for entry in read_ledger(tmp_path / "as-bob")] == [6]


def test_without_an_invitation_no_more_than_the_usual_budget_is_paid(tmp_path: Path) -> None:
    scenario = write_survey(tmp_path, lines="paradigm = 'RLDP'\nmechanism = 'direction'\nepsilon = 5.01")
    with serving(scenario) as session:
        assert "10" in refusal(session.address, tmp_path, BudgetExceededError)


# A trusted server believes no sums that no records give.


STRANGE: dict[str, list[Any]] = {
    "too few numbers": [1],
    "too many numbers": [1, 2, 3],
    "no number": [math.nan, 0.0],
    "without end": [0.0, math.inf],
    "fractions": [0.5, 0.5],
    "text": ["1", "2"],
}


# In parts of the bound; what is rounded up to the grid is farther out than it.
OUTSIDE = {"outside the ball": [0.5, 0.5000001], "outside in one coordinate": [0.0, -1.0000001]}


@pytest.mark.bad_input(
    "preferences outside the ball, nan, inf or of another dimension, from a peer",
    "nothing accepted is lost",
)
@pytest.mark.parametrize("lines", [CENTRAL, LOCAL], ids=["central", "local"])
@pytest.mark.parametrize("case", list(STRANGE))
def test_a_report_of_another_form_ends_its_sender_alone(tmp_path: Path, lines: str, case: str) -> None:
    check_others_go_on(tmp_path, lines, lambda _: STRANGE[case])


@pytest.mark.bad_input("preferences outside the ball, nan, inf or of another dimension, from a peer")
@pytest.mark.parametrize("case", list(OUTSIDE))
def test_preferences_outside_the_ball_end_their_sender_alone(tmp_path: Path, case: str) -> None:
    """They would weigh more than a voter. Of local reports there is no such rule, since noise carries them out."""

    def outside(protocol: MoralPreferences) -> list[int]:
        most = protocol.parameters.bound / protocol.summary.step
        return [math.ceil(part * most) if part > 0 else math.floor(part * most) for part in OUTSIDE[case]]

    check_others_go_on(tmp_path, CENTRAL, outside)


def check_others_go_on(folder: Path, lines: str, make: Callable[[MoralPreferences], list[Any]]) -> None:
    """Check that what cid reports ends cid's part, and that ann and bob hear an outcome of their two reports."""
    with serving(write_survey(folder, lines=lines), "quorum=2") as session, joining(session, folder) as start:
        protocol = session.side.protocol
        assert isinstance(protocol, MoralPreferences)
        with session.connect() as peer:
            peer.hello("cid", session="survey", protocol="moral-preferences")
            heard = [start(party, trusts_server=True) for party in ("ann", "bob")]
            assert peer.next_request().phase == 0
            peer.send(report(0, *make(protocol)))
            assert not isinstance(peer.last_message(), Release)
        outcomes = [each.result(PATIENCE).outcome for each in heard]
        result = session.result()
    assert outcomes == [result.outcome] * 2
    assert result.num_received == (2,)
    (dropped,) = [effect for effect in session.effects if isinstance(effect, Drop)]
    assert dropped.party == "cid"


# Processes of their own, with secure noise.


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Ending]]:
    """A folder in which three processes took part with secure noise, each with an ε of its own."""
    folder = tmp_path_factory.mktemp("deployment")
    scenario = write_survey(folder, lines="paradigm = 'VLDP'", epsilons={"ann": 0.5, "bob": 2, "cid": 1})
    endings: dict[str, Ending] = {}
    with contextlib.ExitStack() as stack:

        def start(*words: object) -> Process:
            return stack.enter_context(Process(*words, folder=folder))

        endings["roster"] = start("roster", scenario, "--make-keys", "--out", "drawn").ending()
        # The server's own copy of the scenario has nobody's records.
        lines = "features = ['lives', 'law']\nmax_records = 2\nparadigm = 'VLDP'"
        text = f'name = "survey"\nprotocol = "moral-preferences"\n[parameters]\n{lines}\n'
        (folder / "served.toml").write_text(text, encoding="utf-8")
        words = ("--listen", "127.0.0.1:0", "--roster", "drawn", "--no-pictures", "--out", "server")
        server = start("serve", "served.toml", *words)
        address = server.address()
        clients = {
            party: start(
                *("join", "drawn/invitations", "--as", party, "--input", f"{party}.csv"),
                *("--address", address, "--out", party, "--json"),
            )
            for party in NAMES
        }
        endings |= {party: client.ending() for party, client in clients.items()}
        endings["server"] = server.ending()
    return folder, endings


Deployed = tuple[Path, dict[str, Ending]]


@pytest.mark.full("processes, which other systems' quick tests have as well")
def test_processes_find_the_societys_preferences(deployment: Deployed) -> None:
    folder, endings = deployment
    assert {name: (ended.status, ended.err) for name, ended in endings.items()} == dict.fromkeys(
        ("roster", *NAMES, "server"), (0, "")
    )
    result = read_json(folder / "server" / "result.json")
    assert (result["kind"], result["received"]) == ("deployment", {"preferences": 3})
    levels = result["outcome"]["levels"]
    assert [(level["epsilon"], level["num_voters"]) for level in levels] == [(0.5, 1), (1, 1), (2, 1)]
    for party, epsilon in {"ann": 0.5, "bob": 2, "cid": 1}.items():
        assert read_json(folder / party / "outcome.json") == result["outcome"]
        assert msgspec.json.decode(endings[party].out) == result["outcome"]
        (entry,) = read_ledger(folder / party)
        assert (entry.claimed, entry.model.value) == (epsilon, "local")


def test_a_deployment_leaves_nobodys_records_with_anybody_else(deployment: Deployed) -> None:
    folder, _ = deployment
    left = {"estimates.csv", "events.jsonl", "report.html", "result.json", "run.json", "scenario.json"}
    assert {path.name for path in (folder / "server").iterdir()} == left
    own = {"events.jsonl", "ledger.jsonl", "outcome.json", "report.html", "run.json"}
    for party in NAMES:
        assert {path.name for path in (folder / party).iterdir()} == own
    for path in [*(folder / "server").iterdir(), *(folder / "drawn").rglob("*")]:
        text = path.read_bytes().decode(errors="replace") if path.is_file() else ""
        for written in ("private_row", '"rows"', '"records"', '"seed"', "truth"):
            assert written not in text, (path, written)
    roster = (folder / "drawn" / "roster.csv").read_text(encoding="utf-8").splitlines()
    assert [line.rsplit(",", 1)[0] for line in roster] == ["voter,epsilon", "ann,0.5", "bob,2.0", "cid,1.0"]


@pytest.mark.full("processes, where another test of this file has them already")
def test_processes_whose_voters_trust_the_server_rehearse_what_a_run_finds(psephos: Psephos, tmp_path: Path) -> None:
    scenario = write_survey(tmp_path, lines=CENTRAL)
    with contextlib.ExitStack() as stack:

        def start(*words: object) -> Process:
            return stack.enter_context(
                Process(*words, "--transport", "tcp", "--simulate", "--seed", SEED, folder=tmp_path, is_measured=False)
            )

        server = start("serve", scenario, "--listen", "127.0.0.1:0", "--no-pictures", "--out", "served")
        address = server.address()
        words = {party: ("join", address, "--as", party, "--input", f"{party}.csv") for party in NAMES}
        wary = psephos(*words["ann"], "--transport", "tcp", "--simulate", "--seed", SEED, "--out", "wary")
        assert (wary.status, wary.out, wary.err.count("\n")) == (2, "", 1)
        assert wary.err.startswith("psephos: --trust-server must be given")
        clients = [start(*words[party], "--trust-server", "--out", f"as-{party}") for party in NAMES]
        assert [(ended.status, ended.err) for client in clients for ended in [client.ending()]] == [(0, "")] * 3
        assert server.ending().status == 0
    assert read_ledger(tmp_path / "wary") == []
    ended = psephos("run", scenario, "--seed", SEED, "--no-pictures", "--out", "ran")
    assert (ended.status, ended.err) == (0, "")
    assert (tmp_path / "served" / "result.json").read_bytes() == (tmp_path / "ran" / "result.json").read_bytes()


@pytest.mark.full("processes, one for each party")
@pytest.mark.parametrize("trusts", [False, True], ids=["local", "central"])
def test_a_rehearsal_over_tls_finds_of_societies_what_arrays_find(
    psephos: Psephos, tmp_path: Path, *, trusts: bool
) -> None:
    scenario = write_survey(tmp_path, lines=CENTRAL if trusts else LOCAL, societies=SOCIETIES)
    trust = ("--trust-server",) if trusts else ()
    ended = psephos("rehearse", scenario, *trust, "--simulate", "--seed", SEED, "--out", "rehearsed")
    assert (ended.status, ended.err) == (0, "")
    ended = psephos("run", scenario, "--transport", "array", "--seed", SEED, "--no-pictures", "--out", "ran")
    assert (ended.status, ended.err) == (0, "")
    (rehearsed,) = Path("rehearsed").rglob("result.json")
    outcomes = [read_json(path)["outcome"] for path in (rehearsed, Path("ran") / "result.json")]
    assert outcomes[0] == outcomes[1]
    assert [each["name"] for each in outcomes[0]["societies"]] == ["north", "south"]


@pytest.mark.full("processes, one for each party")
@pytest.mark.parametrize("trusts", [False, True], ids=["local", "central"])
def test_processes_with_secure_noise_release_each_society_by_itself(tmp_path: Path, *, trusts: bool) -> None:
    """The server has no file of the voters: what it says was agreed stands beside the roster."""
    scenario = write_survey(tmp_path, lines=CENTRAL if trusts else LOCAL, societies=SOCIETIES)
    with contextlib.ExitStack() as stack:

        def start(*words: object) -> Process:
            return stack.enter_context(Process(*words, folder=tmp_path, is_measured=False))

        drawn = start("roster", scenario, "--make-keys", "--out", "drawn").ending()
        assert (drawn.status, drawn.err) == (0, "")
        text = f'name = "survey"\nprotocol = "moral-preferences"\n[parameters]\n{CENTRAL if trusts else LOCAL}\n'
        (tmp_path / "served.toml").write_text(text, encoding="utf-8")
        words = ("--listen", "127.0.0.1:0", "--roster", "drawn", "--no-pictures", "--out", "server")
        server = start("serve", "served.toml", *words)
        address = server.address()
        trust = ("--trust-server",) if trusts else ()
        clients = {
            party: start(
                *("join", "drawn/invitations", "--as", party, "--input", f"{party}.csv", *trust),
                *("--address", address, "--out", party, "--json"),
            )
            for party in NAMES
        }
        endings = [*(client.ending() for client in clients.values()), server.ending()]
    assert [(ended.status, ended.err) for ended in endings] == [(0, "")] * 4
    result = read_json(tmp_path / "server" / "result.json")
    assert result["kind"] == "deployment"
    found = [(each["name"], each["num_voters"]) for each in result["outcome"]["societies"]]
    assert found == [("north", 2), ("south", 1)]
    for party in NAMES:
        assert read_json(tmp_path / party / "outcome.json") == result["outcome"]
        (entry,) = read_ledger(tmp_path / party)
        assert (entry.claimed, entry.model.value) == (1.5, "central" if trusts else "local")


# A server whose scenario has its voters in a file, or who draws a roster.

CHOICES = (
    "voter,record,choice,lives,law\nann,1,1,5,0\nann,1,0,1,1\nbob,a,1,3,0\nbob,a,0,2,2\nann,2,0,0,1\nann,2,1,4,1\n"
)


@pytest.mark.parametrize("more", [(), ("voters.epsilons=e.csv",)], ids=["one epsilon", "each its own"])
def test_a_roster_says_again_who_takes_part_and_at_which_epsilon(
    psephos: Psephos, write: Write, more: tuple[str, ...]
) -> None:
    write("a.csv", CHOICES)
    write("e.csv", "voter,epsilon\nbob,2\nann,0.5\n")
    settings = ("voters.choices=a.csv", "paradigm=VLDP", *more)
    words = [word for setting in settings for word in ("--set", setting)]
    assert psephos("roster", "moral-synthetic", *words, "--make-keys", "--out", "drawn").status == 0
    scenario = load_scenario("moral-synthetic", settings)
    own, drawn = resolve(scenario, is_served=True), resolve(scenario, is_served=True, roster=Path("drawn/roster.csv"))
    assert drawn.protocol.parameters == own.protocol.parameters
    assert list(drawn.roster.names) == list(own.roster.names) == ["ann", "bob"]
    assert drawn.roster.public.tolist() == own.roster.public.tolist() == ([[0], [1]] if more else [[], []])
    for path in Path("drawn").rglob("*.*"):
        assert "records" not in path.read_text(encoding="utf-8").replace("max_records", "")


@pytest.mark.bad_input("a voter's epsilon ≤ 0; a voter without one, or with two")
@pytest.mark.parametrize(
    ("content", "field", "allowed"),
    [
        ("voter,epsilon\nann,0\n", "epsilon (roster.csv line 2, ann)", "a number > 0"),
        ("voter,epsilon\nann,1\nbob,-2\n", "epsilon (roster.csv line 3, bob)", "a number > 0"),
        ("voter,epsilon\nann,1\nbob,much\n", "epsilon (roster.csv line 3, bob)", "a number > 0"),
        ("voter,epsilon\nann,nan\n", "epsilon (roster.csv line 2, ann)", "a number > 0"),
        ("voter,epsilon\nann,1\nann,1\n", "voter (roster.csv line 3)", "named once"),
        ("voter,eps\nann,1\n", "eps (roster.csv line 1)", "left out: the columns are"),
        ("voter,records\nann,1\n", "records (roster.csv line 1)", "left out"),
        ("voter\n", "--roster", "at least one voter"),
        ("name\nann\n", "roster.csv line 1", "'voter'"),
    ],
)
def test_a_fault_in_a_roster_of_voters_is_named_with_its_line(
    tmp_path: Path, write: Write, content: str, field: str, allowed: str
) -> None:
    survey = write_survey(tmp_path, lines="paradigm = 'VLDP'")
    with pytest.raises(ConfigurationError) as caught:
        resolve(load_scenario(survey), is_served=True, roster=write("roster.csv", content))
    assert caught.value.field == field
    assert allowed in caught.value.allowed
