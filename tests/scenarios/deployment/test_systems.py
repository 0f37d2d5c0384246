"""Each system between processes: whom a party trusts is its own to say, and its values leave it in no form."""

import contextlib
import dataclasses
import math
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest
from deployments import NOBODY_LISTENS, PATIENCE, SEED, Ending, Process, Serving, invitations_to, report, serving
from psephos.protocol import ConfigurationError
from psephos.protocol.effects import Drop
from psephos.protocol.errors import BudgetExceededError, PsephosError
from psephos.protocol.messages import Release
from psephos.scenarios import load_scenario, resolve, run_session
from psephos.scenarios.deployment import CheckedInvitation, Joining
from psephos.scenarios.running.folder import read_ledger
from runs import read_json
from surveyed import (
    DIRECTION,
    LOCAL_PLANS,
    PLANS,
    QUIZ,
    SOCIETIES,
    SURVEY,
    TRUSTED_PLANS,
    TRUSTED_QUIZ,
    TRUSTED_SURVEY,
    Surveyed,
)

CENTRAL = [
    pytest.param(TRUSTED_PLANS, id="rankings"),
    pytest.param(TRUSTED_SURVEY, id="preferences"),
    pytest.param(TRUSTED_QUIZ, id="answers"),
]
MECHANISMS = ("laplace", "sampling", "exponential", "sampled_pair", "noisy_scores")
"""Of fair voting, of either model."""


def has_reported(session: Serving, party: str = "ann") -> bool:
    return any(event.get("party") == party and "report" in event["event"] for event in session.events)


# What everybody hears.


@pytest.mark.parametrize(
    "system",
    [
        *(pytest.param(PLANS.having(f"mechanism = '{name}'"), id=name) for name in MECHANISMS),
        pytest.param(SURVEY, id="preferences"),
        pytest.param(TRUSTED_SURVEY, id="preferences, central"),
        pytest.param(SURVEY.having(SURVEY.lines, SOCIETIES), id="societies"),
        pytest.param(TRUSTED_SURVEY.having(TRUSTED_SURVEY.lines, SOCIETIES), id="societies, central"),
        pytest.param(QUIZ, id="answers"),
        pytest.param(TRUSTED_QUIZ, id="answers, central"),
    ],
)
def test_parties_who_join_one_by_one_hear_what_one_process_finds(tmp_path: Path, system: Surveyed) -> None:
    """Of societies, a voter pays for its own one's release alone."""
    scenario = system.write(tmp_path)
    resolved = resolve(load_scenario(scenario, ["noise=simulated"]))
    record = run_session(resolved, seed=SEED)
    told: dict[str, CheckedInvitation] = {}

    def tell(agreement: CheckedInvitation) -> None:
        told[agreement.terms.party] = agreement

    with serving(scenario) as session:
        heard = system.join_all(session, tmp_path, on_agreed=tell)
        result = session.result()
    outcomes = [each.outcome for each in heard.values()]
    assert outcomes == [record.outcome] * len(outcomes) == [result.outcome] * len(outcomes)
    assert [tally.totals.tolist() for tally in result.tallies] == [tally.totals.tolist() for tally in record.tallies]
    owns = [each.own for each in heard.values()]
    assert owns == [(record.own_outcomes or {}).get(place) for place in range(len(owns))]
    # In whatever form it is written, a file is what the scenario lists.
    assert [list(told[party].row) for party in system.names] == resolved.inputs.private.tolist()
    # Two or three answers were asked of a worker, at 2 each; whom it skips is paid for.
    paid = {"ann": 6, "bob": 4, "cid": 4, "dee": 6} if system.name == "quiz" else dict.fromkeys(system.names, 1.5)
    for party, cost in paid.items():
        (entry,) = read_ledger(tmp_path / f"as-{party}")
        assert (entry.person, entry.num_persons) == (party, 1)
        assert (entry.proven if system.name == "quiz" else entry.claimed) == cost
        assert entry.model.value == ("central" if system.trusts else "local")
        assert told[party].cost == pytest.approx(entry.proven)


# Whom a party trusts.


@pytest.mark.parametrize("system", CENTRAL)
def test_a_server_that_would_have_to_be_trusted_is_refused_before_it_is_called(
    tmp_path: Path, system: Surveyed
) -> None:
    invitation = invitations_to(system.write(tmp_path))["ann"]
    said = system.refusal(NOBODY_LISTENS, tmp_path, ConfigurationError, invitation=invitation)
    assert said.startswith("give --trust-server: this session is in the central model")
    own = system.entries_of("ann", tmp_path)
    joining = Joining(
        address=NOBODY_LISTENS, party="ann", entries=own, seed=SEED, invitation=invitation, transport="tcp"
    )
    with pytest.raises(ConfigurationError, match="--trust-server"):
        joining.agree_beforehand()
    assert dataclasses.replace(joining, trusts_server=True).agree_beforehand()


@pytest.mark.parametrize("system", CENTRAL)
def test_a_server_that_would_have_to_be_trusted_is_refused_by_its_terms_and_hears_no_value(
    tmp_path: Path, system: Surveyed
) -> None:
    with serving(system.write(tmp_path)) as session:
        said = system.refusal(session.address, tmp_path, ConfigurationError)
        assert said.startswith("give --trust-server")
        assert not has_reported(session)
        (tmp_path / "as-ann").rename(tmp_path / "refused")
        system.join_all(session, tmp_path, trusts_server=True)
        assert session.result().num_received == (len(system.names),)


def test_trust_that_is_not_needed_is_no_fault(tmp_path: Path) -> None:
    with serving(SURVEY.write(tmp_path)) as session:
        SURVEY.join_all(session, tmp_path, trusts_server=True)
        assert session.result().num_received == (3,)


@pytest.mark.few(most=5)
@pytest.mark.parametrize(
    ("agreed", "served", "setting"),
    [
        *(
            (PLANS.having("mechanism = 'sampling'"), None, setting)
            for setting in (
                "mechanism=laplace",
                "gamma=0.5",
                "delta=0.5",
                "epsilon=1.4",
                "num_samples=1",
                "scale=printed",
                "objective=penalized",
            )
        ),
        (SURVEY, TRUSTED_SURVEY, None),
        (QUIZ, None, "epsilon=3"),
    ],
)
def test_a_server_with_other_terms_than_were_agreed_to_is_found_out(
    tmp_path: Path, agreed: Surveyed, served: Surveyed | None, setting: str | None
) -> None:
    """What the invitation says holds, down to γ and δ; nothing is reported to who says otherwise."""
    scenario = agreed.write(tmp_path)
    invitation = invitations_to(scenario)["ann"]
    if served is not None:
        scenario = served.write(tmp_path)
    with serving(scenario, *([] if setting is None else [setting])) as session:
        said = agreed.refusal(session.address, tmp_path, PsephosError, invitation=invitation, trusts_server=True)
        assert "parameters" in said
        assert not has_reported(session)


# Price.


@pytest.mark.parametrize("is_invited", [False, True])
@pytest.mark.parametrize(
    ("system", "too_little", "enough", "said"),
    [
        # The label is 1.5; proven are ln(1 + (1 − γ)·3·h/γ) with h near 1, about 4.
        pytest.param(PLANS.having("mechanism = 'sampling'"), 1.5, 4.1, "1.5", id="rankings"),
        # At ε = 3 a record and at most two records, six is asked of everybody, also of bob, who has one record.
        pytest.param(SURVEY.having(f"{DIRECTION}\nepsilon = 3.0"), 5.99, 6.0, "6", id="preferences"),
        pytest.param(QUIZ, 5.99, 6.0, "6", id="answers"),
    ],
)
def test_a_party_says_how_much_it_may_cost(
    tmp_path: Path, system: Surveyed, too_little: float, enough: float, said: str, *, is_invited: bool
) -> None:
    scenario = system.write(tmp_path)
    options: dict[str, Any] = {"trusts_server": True}
    if is_invited:
        options["invitation"] = invitations_to(scenario)["ann"]
    with serving(scenario) as session:
        assert said in system.refusal(session.address, tmp_path, BudgetExceededError, budget=too_little, **options)
        assert not has_reported(session)
        (tmp_path / "as-ann").rename(tmp_path / "refused")
        own = {"bob": {"budget": 4.0}} if system is QUIZ else None  # two tasks
        system.join_all(session, tmp_path, own, budget=enough, trusts_server=True)
        session.result()
    for party in system.names:
        (entry,) = read_ledger(tmp_path / f"as-{party}")
        assert too_little < entry.proven <= enough or (party, entry.proven) in {("bob", 4), ("cid", 4)}


@pytest.mark.parametrize(
    ("system", "said"),
    [
        pytest.param(PLANS.having("mechanism = 'sampling'\ngamma = 0.0"), "inf", id="what nothing bounds"),
        pytest.param(SURVEY.having(f"{DIRECTION}\nepsilon = 5.01"), "10", id="two records"),
    ],
)
def test_without_an_invitation_no_more_than_the_usual_budget_is_paid(
    tmp_path: Path, system: Surveyed, said: str
) -> None:
    with serving(system.write(tmp_path)) as session:
        assert said in system.refusal(session.address, tmp_path, BudgetExceededError, trusts_server=True)


# A server believes nothing that no party would report.


@pytest.mark.bad_input(
    "a ranking that repeats, omits or invents an alternative",
    "preferences outside the ball, nan, inf or of another dimension, from a peer",
    "nothing accepted is lost",
)
@pytest.mark.parametrize(
    ("system", "values"),
    [
        *((TRUSTED_PLANS, values) for values in ([0, 1], [0, 0, 1], [1, 2, 3], [0.0, 1.0, 2.0], ["a", "b", "c"])),
        (LOCAL_PLANS, [1 << 40]),
        *((TRUSTED_SURVEY, values) for values in ([1], [math.nan, 0.0], [0.5, 0.5], [1 << 62, 0])),
        (SURVEY, [0.0, math.inf]),
    ],
)
def test_a_report_of_another_form_ends_its_sender_alone(tmp_path: Path, system: Surveyed, values: list[Any]) -> None:
    *others, last = system.names
    quorum = f"quorum={len(others)}"
    with serving(system.write(tmp_path), quorum) as session, system.joining(session, tmp_path) as start:
        with session.connect() as peer:
            peer.hello(last, session=system.name, protocol=system.protocol)
            heard = [start(party, trusts_server=True) for party in others]
            assert peer.next_request().step == 0
            peer.send(report(0, *values))
            assert not isinstance(peer.last_message(), Release)
        outcomes = [each.result(PATIENCE).outcome for each in heard]
        result = session.result()
    assert outcomes == [result.outcome] * len(others)
    assert result.num_received == (len(others),)
    (dropped,) = [effect for effect in session.effects if isinstance(effect, Drop)]
    assert dropped.party == last


# Processes of their own, with secure noise.


FEW = ("ann", "dee", "eve")
"""Those who are processes: one of the north, two of the south."""
LEVELS = SURVEY.having("paradigm = 'VLDP'", {"ann": ", epsilon = 0.5", "bob": ", epsilon = 2", "cid": ", epsilon = 1"})
ONE_IS_ENOUGH = pytest.mark.full("processes, which quick tests have of weighted votes")
Deployed = tuple[Surveyed, Path, dict[str, Ending]]


def parties_of(system: Surveyed) -> tuple[str, ...]:
    return FEW if system.protocol == PLANS.protocol else system.names


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(PLANS.having("mechanism = 'sampling'"), marks=ONE_IS_ENOUGH, id="rankings, central"),
        pytest.param(LOCAL_PLANS, marks=ONE_IS_ENOUGH, id="rankings"),
        pytest.param(LEVELS, marks=ONE_IS_ENOUGH, id="preferences"),
        pytest.param(QUIZ, marks=ONE_IS_ENOUGH, id="answers"),
        pytest.param(SURVEY.having(SURVEY.lines, SOCIETIES), marks=ONE_IS_ENOUGH, id="societies"),
        pytest.param(
            TRUSTED_SURVEY.having(TRUSTED_SURVEY.lines, SOCIETIES), marks=ONE_IS_ENOUGH, id="societies, central"
        ),
    ],
)
def deployment(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Deployed:
    """A folder in which processes took part with secure noise, by certificates, and how each ended."""
    system: Surveyed = request.param
    folder = tmp_path_factory.mktemp("deployment")
    parties = parties_of(system)
    endings: dict[str, Ending] = {}
    with contextlib.ExitStack() as stack:

        def start(*words: object) -> Process:
            return stack.enter_context(Process(*words, folder=folder))

        scenario = system.write(folder, names=parties)
        endings["roster"] = start("roster", scenario, "--make-keys", "--out", "drawn").ending()
        system.write_served(folder)
        words = ("--listen", "127.0.0.1:0", "--roster", "drawn", "--no-pictures", "--out", "server")
        server = start("serve", "served.toml", *words)
        address = server.address()
        trust = ("--trust-server",) if system.trusts else ()
        clients = {
            party: start(
                *("join", "drawn/invitations", "--as", party, "--input", f"{party}.csv"),
                *("--address", address, "--out", party, "--json", *trust),
            )
            for party in parties
        }
        endings |= {party: client.ending() for party, client in clients.items()}
        endings["server"] = server.ending()
    return system, folder, endings


def test_processes_decide(deployment: Deployed) -> None:
    system, folder, endings = deployment
    parties = parties_of(system)
    assert {name: (ended.status, ended.err) for name, ended in endings.items()} == dict.fromkeys(
        ("roster", *parties, "server"), (0, "")
    )
    result = read_json(folder / "server" / "result.json")
    assert result["kind"] == "deployment"
    assert list(result["received"].values()) == [len(parties)]
    paid: dict[str, float] = {}
    for party in parties:
        assert read_json(folder / party / "outcome.json") == result["outcome"]
        if system is QUIZ:
            assert read_json(folder / party / "own_outcome.json").keys() == {"weight", "quality", "num_answers"}
        else:
            assert msgspec.json.decode(endings[party].out) == result["outcome"]
        (entry,) = read_ledger(folder / party)
        assert entry.model.value == ("central" if system.trusts else "local")
        assert system is not LEVELS or entry.claimed == {"ann": 0.5, "bob": 2, "cid": 1}[party]
        paid[party] = entry.proven
    outcome = result["outcome"]
    if system is LEVELS:
        levels = [(level["epsilon"], level["num_voters"]) for level in outcome["levels"]]
        assert levels == [(0.5, 1), (1, 1), (2, 1)]
    elif system.own:
        assert [(each["name"], each["num_voters"]) for each in outcome["societies"]] == [("north", 2), ("south", 1)]
    elif system is QUIZ:
        assert outcome["num_answers"] == [3, 3, 3]  # bob skipped one of ten
        assert "truth" not in result
    else:
        assert outcome["groups"] == ["north", "south"]
        if system.trusts:
            assert 1.5 < paid["dee"] == paid["eve"] < paid["ann"]
        else:
            assert list(paid.values()) == [pytest.approx(1.5)] * 3


HIDDEN = {
    "plans": ('"ranking"', "truth", " > ", "c>", "b>"),
    "survey": ('"records"', "truth"),
    "quiz": ('"weight', '"quality"', "yes; no", "no; no", "q1=", "q1 ="),
}
ROSTERS = {
    "plans": ["voter,group", "ann,north", "dee,south", "eve,south"],
    "survey": ["voter,epsilon", "ann,0.5", "bob,2.0", "cid,1.0"],
}


def test_a_deployment_leaves_nobodys_values_with_anybody_else(deployment: Deployed) -> None:
    system, folder, _ = deployment
    parties = parties_of(system)
    left = {"estimates.csv", "events.jsonl", "report.html", "result.json", "run.json", "scenario.json"}
    assert {path.name for path in (folder / "server").iterdir()} == left
    own = {"events.jsonl", "ledger.jsonl", "outcome.json", "report.html", "run.json"}
    own |= {"own_outcome.json"} if system is QUIZ else set()
    for party in parties:
        assert {path.name for path in (folder / party).iterdir()} == own
    for path in [*(folder / "server").iterdir(), *(folder / "drawn").rglob("*")]:
        text = path.read_bytes().decode(errors="replace") if path.is_file() else ""
        for written in ("private_row", '"rows"', '"seed"', *HIDDEN[system.name]):
            by_chance = path.suffix == ".sqlite" and len(written) < 4  # a few bytes of a journal's signatures and seeds
            assert by_chance or written not in text, (path, written)
        for line in text.splitlines() if system is QUIZ and path.suffix != ".json" else []:
            # In a line of a table or a log, who and what would stand together.
            assert not any(party in line and ("yes" in line or ",no" in line) for party in parties), path
    roster = (folder / "drawn" / "roster.csv").read_text(encoding="utf-8").splitlines()
    if system.name == "plans" or system is LEVELS:
        assert [line.rsplit(",", 1)[0] for line in roster] == ROSTERS[system.name]
    for path in (folder / "drawn" / "invitations").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
