"""Fair voting between processes: whom a voter trusts is its own to say, and its group is what it agreed to."""

import concurrent.futures
import contextlib
import dataclasses
import functools
import math
import stat
from collections.abc import Callable, Generator, Sequence
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
from psephos.protocol.errors import BudgetExceededError, PsephosError, QuorumError
from psephos.protocol.fair_voting.parameters import CENTRAL
from psephos.protocol.messages import Release
from psephos.scenarios import load_scenario, resolve, run_session
from psephos.scenarios.deployment import Agreement, Joining
from psephos.scenarios.deployment.client import Heard
from psephos.scenarios.running.folder import read_ledger

Psephos = Callable[..., Any]
Write = Callable[[str, str | bytes], Path]

GROUPS = {"ann": "north", "bob": "north", "cid": "north", "dee": "south", "eve": "south"}
RANKINGS = {"ann": "a > b > c", "bob": "b > a > c", "cid": "a > c > b", "dee": "c > a > b", "eve": "c > b > a"}
NAMES = tuple(GROUPS)
# As each of them would write it; who says its group says the one that the server has.
FILES = {
    "ann": "ranking\na > b > c\n",
    "bob": "voter,group,ranking\nbob,north,b>a>c\n",
    "cid": "ranking,voter\n a >c> b ,cid\n",
    "dee": "group,ranking\n south ,c > a > b\n",
    "eve": "\ufeffvoter,ranking\r\neve,c > b > a\r\n",
}
PARTIES = ("laplace", "sampling", "exponential", "sampled_pair", "noisy_scores")
"""Mechanisms, of either model."""
FEW = ("ann", "dee", "eve")
"""Those who are processes: one of the north, two of the south."""


def write_plans(folder: Path, *, lines: str = "mechanism = 'laplace'", names: Sequence[str] = NAMES) -> str:
    """Write a session of voters in two groups, and each one's own file, and return the scenario's path.

    Args:
        folder: where.
        lines: more of the parameters.
        names: who takes part.
    """
    rows = [f"{{voter = '{name}', group = '{GROUPS[name]}', ranking = '{RANKINGS[name]}'}}" for name in names]
    own = f"alternatives = ['a', 'b', 'c']\nnum_samples = 2\nepsilon = 1.5\n{lines}"
    path = folder / "plans.toml"
    path.write_text(f'protocol = "fair-voting"\nvoters = [{", ".join(rows)}]\n[parameters]\n{own}\n', encoding="utf-8")
    for name, content in FILES.items():
        (folder / f"{name}.csv").write_text(content, encoding="utf-8")
    return str(path)


@pytest.fixture
def central(tmp_path: Path) -> str:
    """A session whose aggregator has to be trusted; its path."""
    return write_plans(tmp_path)


@pytest.fixture
def local(tmp_path: Path) -> str:
    """A session whose voters trust nobody; its path."""
    return write_plans(tmp_path, lines="mechanism = 'local'")


entries_of = functools.partial(deployments.entries_of, role="voter")
joining = functools.partial(deployments.joining, role="voter", most=len(NAMES))
refusal = functools.partial(deployments.refusal, role="voter")


def all_join(session: Serving, folder: Path, *names: str, **options: Any) -> dict[str, Heard]:
    """Let voters take part, by default all, with the same options, and return what each heard."""
    return join_all(session, folder, dict.fromkeys(names or NAMES, options), role="voter")


# What everybody hears.


@pytest.mark.parametrize("mechanism", PARTIES)
def test_voters_who_join_one_by_one_hear_what_one_process_finds(tmp_path: Path, mechanism: str) -> None:
    scenario = write_plans(tmp_path, lines=f"mechanism = '{mechanism}'")
    resolved = resolve(load_scenario(scenario))
    record = run_session(resolved, seed=SEED)
    told: list[Agreement] = []
    with serving(scenario) as session:
        heard = all_join(session, tmp_path, trusts_server=mechanism in CENTRAL, on_agreed=told.append)
        result = session.result()
    assert [each.outcome for each in heard.values()] == [record.outcome] * 5 == [result.outcome] * 5
    assert [tally.totals.tolist() for tally in result.tallies] == [tally.totals.tolist() for tally in record.tallies]
    # In whatever form it is written, a file is what the scenario lists.
    rows = {agreement.terms.party: list(agreement.row) for agreement in told}
    assert [rows[party] for party in NAMES] == resolved.inputs.private.tolist()
    for party in NAMES:
        (entry,) = read_ledger(tmp_path / f"as-{party}")
        assert (entry.person, entry.claimed, entry.unit) == (party, 1.5, "voter")
        assert entry.model.value == ("central" if mechanism in CENTRAL else "local")


def test_voters_whose_groups_are_private_tell_nobody_theirs(tmp_path: Path) -> None:
    """No roster, welcome or report has a group: it stands in one's own file, and leaves randomized with the ranking."""
    scenario = write_plans(tmp_path, lines="mechanism = 'joint'")
    for name in NAMES:
        content = f"ranking,group\n{RANKINGS[name]},{GROUPS[name]}\n"
        (tmp_path / f"{name}.csv").write_text(content, encoding="utf-8")
    resolved = resolve(load_scenario(scenario))
    assert resolved.inputs.public.shape == (5, 0)
    record = run_session(resolved, seed=SEED)
    told: list[Agreement] = []
    with serving(scenario) as session:
        heard = all_join(session, tmp_path, on_agreed=told.append)
    assert [each.outcome for each in heard.values()] == [record.outcome] * 5
    assert {tuple(agreement.terms.public) for agreement in told} == {()}
    for party in NAMES:
        (entry,) = read_ledger(tmp_path / f"as-{party}")
        assert (entry.person, entry.proven, entry.model.value) == (party, 1.5, "local")


def test_who_is_in_the_smaller_group_pays_more(tmp_path: Path) -> None:
    """Three voters against two: one of the two moves the difference of means by 3/2 of what one of the three does."""
    scenario = write_plans(tmp_path, lines="mechanism = 'exponential'")
    with serving(scenario) as session:
        all_join(session, tmp_path, trusts_server=True)
    paid = {party: [entry.proven for entry in read_ledger(tmp_path / f"as-{party}")] for party in NAMES}
    assert paid["ann"] == paid["bob"] == paid["cid"] == [pytest.approx(1)]
    assert paid["dee"] == paid["eve"] == [pytest.approx(1.5)]


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


def test_a_server_that_would_have_to_be_trusted_is_refused_by_its_terms_and_hears_no_ranking(
    central: str, tmp_path: Path
) -> None:
    with serving(central) as session:
        said = refusal(session.address, tmp_path, ConfigurationError)
        assert said.startswith("--trust-server must be given")
        assert not [event for event in session.events if event.get("party") == "ann" and "report" in event["event"]]
        (tmp_path / "as-ann").rename(tmp_path / "refused")
        all_join(session, tmp_path, trusts_server=True)
        assert session.result().num_received == (5,)


def test_trust_that_is_not_needed_is_no_fault(local: str, tmp_path: Path) -> None:
    with serving(local) as session:
        all_join(session, tmp_path, trusts_server=True)
        assert session.result().num_received == (5,)


@pytest.mark.parametrize(
    "setting",
    [
        "mechanism=laplace",
        "gamma=0.5",
        "delta=0.5",
        "epsilon=1.4",
        "num_samples=1",
        "scale=printed",
        "objective=penalized",
    ],
)
def test_a_server_with_other_terms_than_were_agreed_to_is_found_out(tmp_path: Path, setting: str) -> None:
    """What the invitation says holds, down to γ and δ; nothing is reported to who says otherwise."""
    scenario = write_plans(tmp_path, lines="mechanism = 'sampling'")
    agreed = invitations_to(scenario)["ann"]
    assert (agreed.parameters["gamma"], agreed.parameters["delta"], agreed.parameters["epsilon"]) == (0.05, 1e-3, 1.5)
    with serving(scenario, setting) as session:
        assert refusal(session.address, tmp_path, PsephosError, invitation=agreed, trusts_server=True)
        assert not [event for event in session.events if "report" in event["event"]]


def test_a_server_that_moves_a_voter_into_another_group_is_found_out(tmp_path: Path) -> None:
    """The roster of the server has ann among the two of the south and eve in the north, which was not agreed to."""
    scenario = write_plans(tmp_path)
    agreed = invitations_to(scenario)
    text = Path(scenario).read_text(encoding="utf-8")
    text = text.replace("'ann', group = 'north'", "'ann', group = 'south'")
    other = tmp_path / "other"
    other.mkdir()
    (other / "plans.toml").write_text(
        text.replace("'eve', group = 'south'", "'eve', group = 'north'").replace(
            "[parameters]", "[parameters]\ngroups = ['north', 'south']"
        ),
        encoding="utf-8",
    )
    with serving(str(other / "plans.toml")) as session:
        assert refusal(session.address, tmp_path, PsephosError, invitation=agreed["ann"], trusts_server=True)
        assert not [event for event in session.events if "report" in event["event"]]


# A voter's group.


@pytest.mark.parametrize("is_invited", [False, True])
@pytest.mark.parametrize("group", ["south", "west", ""])
def test_a_group_that_differs_from_the_servers_is_refused(
    central: str, tmp_path: Path, group: str, *, is_invited: bool
) -> None:
    entries = {"group": group, "ranking": RANKINGS["ann"]}
    options: dict[str, Any] = {"entries": entries, "trusts_server": True}
    if is_invited:
        options["invitation"] = invitations_to(central)["ann"]
        said = refusal(NOBODY_LISTENS, tmp_path, ConfigurationError, **options)
    else:
        with serving(central) as session:
            said = refusal(session.address, tmp_path, ConfigurationError, **options)
            assert not [event for event in session.events if "report" in event["event"]]
    assert said.startswith("group must be ")
    assert "north" in said
    assert said.endswith(f"got {group!r}")


@pytest.mark.parametrize("public", [(), (2,), (-1,), (0, 1)])
def test_a_group_that_there_is_not_is_refused(central: str, tmp_path: Path, public: tuple[int, ...]) -> None:
    strange = msgspec.structs.replace(invitations_to(central)["ann"], public=public)
    said = refusal(NOBODY_LISTENS, tmp_path, ConfigurationError, invitation=strange, trusts_server=True)
    assert said.startswith("the server's public row must be the place of a group, in [0, 1]")


# A voter's own file.


FAULTS: dict[str, tuple[str | bytes, list[str]]] = {
    "an alternative twice": ("ranking\na > b > b\n", ["ranking: repeated alternative must be each of a, b, c", "'b'"]),
    "an alternative left out": ("ranking\na > b\n", ["ranking: missing alternative must be each of", "got 'c'"]),
    "an alternative invented": ("ranking\na > b > d\n", ["ranking: unknown alternative must be each of", "got 'd'"]),
    "another sign": ("ranking\na < b < c\n", ["with '>' between them, got 'a < b < c'"]),
    "no ranking": ('ranking\n""\n', ["ranking: unknown alternative", "got ''"]),
    "no column of rankings": ("voter,group\nann,north\n", ["ranking must be a column of the table"]),
    "another column": ("order\na > b > c\n", ["column 'order' must be one of group, ranking, got 'unknown'"]),
    "others' rankings": (
        "voter,ranking\nann,a > b > c\nbob,b > a > c\n",
        ["--input must be a header and one line, that of 'ann'", "2 lines"],
    ),
    "another's ranking": ("voter,ranking\nbob,a > b > c\n", ["voter (ann.csv line 2) must be 'ann', got 'bob'"]),
    "an entry too many": ("ranking\na,b,c\n", ["ann.csv line 2 must be 1 entries: ranking", "3 entries"]),
    "another group": (
        "group,ranking\nsouth,a > b > c\n",
        ["group must be the group that the server has: north, got 'south'"],
    ),
    "two groups": ("group,ranking\nnorth;south,a > b > c\n", ["group", "north", "got 'north;south'"]),
    "nothing": ("", ["ann.csv line 1 must be a header"]),
    "no UTF-8": (b"ranking\n\x81", ["line 2 must be UTF-8 text"]),
}


@pytest.mark.parametrize("case", list(FAULTS))
def test_a_fault_in_a_voters_file_is_named_and_nobody_is_called(
    psephos: Psephos, write: Write, tmp_path: Path, case: str
) -> None:
    content, words = FAULTS[case]
    plans = write_plans(tmp_path)
    write("ann.csv", content)
    assert psephos("roster", plans, "--make-keys", "--simulate", "--out", "drawn").status == 0
    invited = ("--invitation", "drawn/invitations", "--simulate", "--seed", SEED, "--trust-server")
    ended = psephos(
        "join", NOBODY_LISTENS, "--transport", "tcp", "--as", "ann", "--input", "ann.csv", *invited, "--out", "out"
    )
    assert (ended.status, ended.out, ended.err.count("\n")) == (2, "", 1)
    for word in words:
        assert word in ended.err
    assert not Path("out").exists()


def test_what_is_wrong_with_a_voters_ranking_stays_with_it(local: str, tmp_path: Path) -> None:
    """Without an invitation the terms are asked for first; what run.json says of the fault has no value in it."""
    with serving(local) as session:
        said = refusal(session.address, tmp_path, ConfigurationError, entries={"ranking": "a > b > unheard-of"})
        assert "unheard-of" in said
        failure = read_json(tmp_path / "as-ann" / "run.json")["failure"]
        assert failure["reason"].startswith("ranking: unknown alternative must be each of a, b, c once")
        assert "unheard-of" not in (tmp_path / "as-ann" / "run.json").read_text(encoding="utf-8")
        assert "unheard-of" not in repr(session.events)


# Price.


@pytest.mark.parametrize("is_invited", [False, True])
def test_a_voter_says_how_much_it_may_cost(tmp_path: Path, *, is_invited: bool) -> None:
    """The label is 1.5; proven are ln(1 + (1 − γ)·3·h/γ) with h near 1, about 4."""
    scenario = write_plans(tmp_path, lines="mechanism = 'sampling'")
    invitation = invitations_to(scenario)["ann"] if is_invited else None
    options: dict[str, Any] = {"invitation": invitation, "trusts_server": True}
    with serving(scenario) as session:
        said = refusal(session.address, tmp_path, BudgetExceededError, budget=1.5, **options)
        assert "1.5" in said
        assert not [event for event in session.events if event.get("party") == "ann" and "report" in event["event"]]
        (tmp_path / "as-ann").rename(tmp_path / "refused")
        all_join(session, tmp_path, budget=4.1, trusts_server=True)
    (entry,) = read_ledger(tmp_path / "as-dee")
    assert 3 < entry.proven < math.log1p(0.95 * 3 / 0.05)


def test_what_nothing_bounds_is_no_voters_usual_budget(tmp_path: Path) -> None:
    scenario = write_plans(tmp_path, lines="mechanism = 'sampling'\ngamma = 0.0")
    with serving(scenario) as session:
        assert "inf" in refusal(session.address, tmp_path, BudgetExceededError, trusts_server=True)


# A trusted server believes no ranking that is none.


STRANGE: dict[str, list[Any]] = {
    "too few": [0, 1],
    "too many": [0, 1, 2, 3],
    "a position twice": [0, 0, 2],
    "counted from one": [1, 2, 3],
    "below the first": [-1, 0, 1],
    "fractions": [0.0, 1.0, 2.0],
    "no number": [math.nan, 1, 2],
    "text": ["a", "b", "c"],
    "nothing": [],
}


@pytest.mark.bad_input("a ranking that repeats, omits or invents an alternative")
@pytest.mark.parametrize("case", list(STRANGE))
def test_what_is_no_ranking_ends_its_sender_alone(tmp_path: Path, case: str) -> None:
    check_others_go_on(tmp_path, "mechanism = 'laplace'", STRANGE[case])


@pytest.mark.parametrize("values", [[], [0, 0], [-1], [1 << 40], ["a"], [0.5]], ids=repr)
@pytest.mark.parametrize("mechanism", ["sampled_pair", "sampled_position", "whole_ranking"])
def test_a_report_of_another_form_ends_its_sender_alone(tmp_path: Path, mechanism: str, values: list[Any]) -> None:
    check_others_go_on(tmp_path, f"mechanism = '{mechanism}'", values)


def check_others_go_on(folder: Path, lines: str, values: list[Any]) -> None:
    """Check that what eve reports ends eve's part, and that the others hear an outcome of their four reports."""
    with serving(write_plans(folder, lines=lines), "quorum=4") as session, joining(session, folder) as start:
        with session.connect() as peer:
            peer.hello("eve", session="plans", protocol="fair-voting")
            heard = [start(party, trusts_server=True) for party in NAMES[:4]]
            assert peer.next_request().phase == 0
            peer.send(report(0, *values))
            assert not isinstance(peer.last_message(), Release)
        outcomes = [each.result(PATIENCE).outcome for each in heard]
        result = session.result()
    assert outcomes == [result.outcome] * 4
    assert result.num_received == (4,)
    (dropped,) = [effect for effect in session.effects if isinstance(effect, Drop)]
    assert dropped.party == "eve"


# Voters who do not come.


@contextlib.contextmanager
def without(session: Serving, folder: Path, *absent: str) -> Generator[list[concurrent.futures.Future[Heard]]]:
    """Let all voters join, of whom some are gone as soon as they are asked; yield what the others will have heard."""
    with joining(session, folder) as start, contextlib.ExitStack() as stack:
        peers = [stack.enter_context(session.connect()) for _ in absent]
        for peer, party in zip(peers, absent, strict=True):
            peer.hello(party, session="plans", protocol="fair-voting")
        heard = [start(party, trusts_server=True) for party in NAMES if party not in absent]
        for peer in peers:
            peer.next_request()
            peer.close()
        yield heard


@pytest.mark.parametrize(
    "absent", [("bob", "cid", "eve"), ("dee", "eve")], ids=["some of both groups", "all of one group"]
)
@pytest.mark.parametrize("mechanism", [*PARTIES, "whole_ranking", "sampled_position"])
def test_a_quorum_elects_without_who_is_gone(tmp_path: Path, mechanism: str, absent: tuple[str, ...]) -> None:
    scenario = write_plans(tmp_path, lines=f"mechanism = '{mechanism}'")
    with serving(scenario, "quorum=0.4") as session, without(session, tmp_path, *absent) as heard:
        outcomes = [each.result(PATIENCE).outcome for each in heard]
        result = session.result()
    assert outcomes == [result.outcome] * (5 - len(absent))
    assert result.num_received == (5 - len(absent),)
    outcome: Any = msgspec.to_builtins(result.outcome)
    assert outcome["winner"] in {"a", "b", "c"}
    assert list(outcome["group_sizes"]) == [3, 2]  # the roster's, which is public
    if mechanism not in CENTRAL:
        assert list(outcome["num_reports"]) == ([1, 1] if "cid" in absent else [3, 0])


def test_too_few_voters_end_the_vote_on_every_side(central: str, tmp_path: Path) -> None:
    with serving(central, "quorum=3") as session, without(session, tmp_path, "bob", "cid", "eve") as heard:
        endings = [each.exception(PATIENCE) for each in heard]
        failure = session.failure()
    assert isinstance(failure, QuorumError)
    # It ends as soon as the three cannot be had any more, whether the other two have reported by then or not.
    assert failure.phase == "rankings"
    assert "of the 3 parties that its quorum requires" in str(failure)
    for party in ("bob", "cid", "eve"):
        assert party in str(failure)
    assert [str(ending) for ending in endings] == [str(failure)] * 2


# Processes of their own, with secure noise.


@pytest.fixture(scope="module", params=[pytest.param("sampling", marks=pytest.mark.full("one is enough")), "local"])
def deployment(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path, dict[str, Ending]]:
    """The mechanism, and a folder in which three processes took part with secure noise, by certificates."""
    mechanism: str = request.param
    folder = tmp_path_factory.mktemp("deployment")
    scenario = write_plans(folder, lines=f"mechanism = '{mechanism}'", names=FEW)
    endings: dict[str, Ending] = {}
    with contextlib.ExitStack() as stack:

        def start(*words: object) -> Process:
            return stack.enter_context(Process(*words, folder=folder))

        endings["roster"] = start("roster", scenario, "--make-keys", "--out", "drawn").ending()
        # The server's own copy of the scenario has nobody's ranking, and no groups: these are the roster's.
        lines = f"alternatives = ['a', 'b', 'c']\nnum_samples = 2\nepsilon = 1.5\nmechanism = '{mechanism}'"
        text = f'name = "plans"\nprotocol = "fair-voting"\n[parameters]\n{lines}\n'
        (folder / "served.toml").write_text(text, encoding="utf-8")
        words = ("--listen", "127.0.0.1:0", "--roster", "drawn", "--no-pictures", "--out", "server")
        server = start("serve", "served.toml", *words)
        address = server.address()
        trust = ("--trust-server",) if mechanism in CENTRAL else ()
        clients = {
            party: start(
                *("join", "drawn/invitations", "--as", party, "--input", f"{party}.csv"),
                *("--address", address, "--out", party, "--json", *trust),
            )
            for party in FEW
        }
        endings |= {party: client.ending() for party, client in clients.items()}
        endings["server"] = server.ending()
    return mechanism, folder, endings


Deployed = tuple[str, Path, dict[str, Ending]]


@pytest.mark.full("processes, as two other systems have them")
def test_processes_elect(deployment: Deployed) -> None:
    mechanism, folder, endings = deployment
    assert {name: (ended.status, ended.err) for name, ended in endings.items()} == dict.fromkeys(
        ("roster", *FEW, "server"), (0, "")
    )
    result = read_json(folder / "server" / "result.json")
    assert (result["kind"], result["received"]) == ("deployment", {"rankings": 3})
    assert result["outcome"]["groups"] == ["north", "south"]
    paid: dict[str, float] = {}
    for party in FEW:
        assert read_json(folder / party / "outcome.json") == result["outcome"]
        assert msgspec.json.decode(endings[party].out) == result["outcome"]
        (entry,) = read_ledger(folder / party)
        assert (entry.claimed, entry.unit) == (1.5, "voter")
        assert entry.model.value == ("central" if mechanism in CENTRAL else "local")
        paid[GROUPS[party]] = entry.proven
    if mechanism == "sampling":
        assert 1.5 < paid["south"] < paid["north"]
    else:
        assert paid == {"north": pytest.approx(1.5), "south": pytest.approx(1.5)}


@pytest.mark.full("processes, as two other systems have them")
def test_a_deployment_leaves_nobodys_ranking_with_anybody_else(deployment: Deployed) -> None:
    _, folder, _ = deployment
    left = {"estimates.csv", "events.jsonl", "report.html", "result.json", "run.json", "scenario.json"}
    assert {path.name for path in (folder / "server").iterdir()} == left
    own = {"events.jsonl", "ledger.jsonl", "outcome.json", "report.html", "run.json"}
    for party in FEW:
        assert {path.name for path in (folder / party).iterdir()} == own
    for path in [*(folder / "server").iterdir(), *(folder / "drawn").rglob("*")]:
        text = path.read_bytes().decode(errors="replace") if path.is_file() else ""
        for written in ("private_row", '"rows"', '"ranking"', '"seed"', "truth", " > ", "c>", "b>"):
            assert written not in text, (path, written)
    roster = (folder / "drawn" / "roster.csv").read_text(encoding="utf-8").splitlines()
    assert [line.rsplit(",", 1)[0] for line in roster] == ["voter,group", *(f"{name},{GROUPS[name]}" for name in FEW)]
    for path in (folder / "drawn" / "invitations").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.full("processes, where another test of this file has them already")
def test_processes_whose_voters_trust_the_server_rehearse_what_a_run_finds(psephos: Psephos, tmp_path: Path) -> None:
    scenario = write_plans(tmp_path, lines="mechanism = 'exponential'", names=FEW)
    with contextlib.ExitStack() as stack:

        def start(*words: object) -> Process:
            return stack.enter_context(
                Process(*words, "--transport", "tcp", "--simulate", "--seed", SEED, folder=tmp_path, is_measured=False)
            )

        server = start("serve", scenario, "--listen", "127.0.0.1:0", "--no-pictures", "--out", "served")
        address = server.address()
        words = {party: ("join", address, "--as", party, "--input", f"{party}.csv") for party in FEW}
        wary = psephos(*words["ann"], "--transport", "tcp", "--simulate", "--seed", SEED, "--out", "wary")
        assert (wary.status, wary.out, wary.err.count("\n")) == (2, "", 1)
        assert wary.err.startswith("psephos: --trust-server must be given")
        clients = {party: start(*words[party], "--trust-server", "--out", f"as-{party}") for party in FEW}
        endings = {party: client.ending() for party, client in clients.items()}
        assert {(ended.status, ended.err) for ended in endings.values()} == {(0, "")}
        assert server.ending().status == 0
    # Its group and what it costs are said before anything is reported; it costs less where one is one of more.
    assert "group north" in endings["ann"].out
    assert "group south" in endings["dee"].out
    assert "costs epsilon = 1.5 in all" in endings["ann"].out
    assert "costs epsilon = 0.75 in all" in endings["dee"].out
    assert read_ledger(tmp_path / "wary") == []
    ended = psephos("run", scenario, "--seed", SEED, "--no-pictures", "--out", "ran")
    assert (ended.status, ended.err) == (0, "")
    assert (tmp_path / "served" / "result.json").read_bytes() == (tmp_path / "ran" / "result.json").read_bytes()
    told = psephos("ledger", "as-ann")
    assert (told.status, told.err) == (0, "")
    assert "ann in all: ε proven = 1.5" in told.out


# A server whose scenario has its voters in a file, or who draws a roster.

VOTERS = "voter,group,ranking\nann,north,a > b > c\nbob,south,b>a>c\ncid,south,c > a > b\n"
ORDERS = (
    "# NUMBER ALTERNATIVES: 2\n# NUMBER VOTERS: 3\n# NUMBER UNIQUE ORDERS: 2\n"
    "# ALTERNATIVE NAME 1: Oak\n# ALTERNATIVE NAME 2: Ash\n2: 1,2\n1: 2,1\n"
)


@pytest.mark.parametrize(
    "settings",
    [("voters=v.csv",), ("voters=v.csv", "groups=['south', 'north']"), ("voters=x.soc", "voters.groups_file=g.csv")],
    ids=["a CSV", "groups in another order", "orders"],
)
def test_a_roster_says_again_who_takes_part_and_in_which_group(
    psephos: Psephos, write: Write, settings: tuple[str, ...]
) -> None:
    write("v.csv", VOTERS)
    write("x.soc", ORDERS)
    write("g.csv", "voter,group\n1,old\n2,young\n3,young\n")
    words = [word for setting in settings for word in ("--set", setting)]
    assert psephos("roster", "two-societies", *words, "--make-keys", "--out", "drawn").status == 0
    scenario = load_scenario("two-societies", settings)
    own, drawn = resolve(scenario, is_served=True), resolve(scenario, is_served=True, roster=Path("drawn/roster.csv"))
    assert drawn.protocol.parameters == own.protocol.parameters
    assert list(drawn.roster.names) == list(own.roster.names)
    assert drawn.roster.public.tolist() == own.roster.public.tolist()
    for path in Path("drawn").rglob("*.*"):
        text = path.read_text(encoding="utf-8")
        assert "ranking" not in text
        assert ">" not in text


def test_a_roster_of_fewer_voters_is_what_counts(psephos: Psephos, write: Write) -> None:
    write("v.csv", VOTERS)
    assert psephos("roster", "two-societies", "--set", "voters=v.csv", "--make-keys", "--out", "drawn").status == 0
    lines = Path("drawn/roster.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    write("drawn/roster.csv", "".join(lines[:-1]))
    side = resolve(load_scenario("two-societies", ["voters=v.csv"]), is_served=True, roster=Path("drawn/roster.csv"))
    assert (side.protocol.parameters.groups, side.protocol.parameters.group_sizes) == (("north", "south"), (1, 1))


@pytest.mark.bad_input("a voter in no group, or in two")
@pytest.mark.parametrize(
    ("content", "field", "allowed"),
    [
        ("voter,group\nann,north\nbob,west\n", "group (roster.csv line 3, bob)", "one group of north, south"),
        ("voter,group\nann,north\nbob,\n", "group (roster.csv line 3, bob)", "one group of north, south"),
        ("voter,group\nann,north;south\nbob,south\n", "group (roster.csv line 2, ann)", "one group of north, south"),
        ("voter,group\nann,north\nbob,north\n", "group 'south'", "at least one voter"),
        ("voter,group\nann,north\nann,south\n", "voter (roster.csv line 3)", "named once"),
        ("voter,grp\nann,north\n", "", "group"),
        ("voter,group,ranking\nann,north,a>b>c\nbob,south,a>b>c\n", "ranking (roster.csv line 1)", "left out"),
        ("voter\nann\nbob\n", "", "group"),
        ("voter,group\n", "--roster", "at least one voter"),
        ("name,group\nann,north\n", "roster.csv line 1", "'voter'"),
    ],
)
def test_a_fault_in_a_roster_of_voters_is_named_with_its_line(
    tmp_path: Path, write: Write, content: str, field: str, allowed: str
) -> None:
    plans = write_plans(tmp_path, lines="groups = ['north', 'south']")
    with pytest.raises(ConfigurationError) as caught:
        resolve(load_scenario(plans), is_served=True, roster=write("roster.csv", content))
    assert caught.value.field == field or not field
    assert allowed in str(caught.value)
