"""Roles against masked sessions, through real agents: who sees what, who finds out, and what nobody can check."""

from typing import Any

import msgspec
import numpy as np
import pytest
from psephos.protocol.errors import ConfigurationError, PsephosError
from psephos.protocol.masking import graph
from psephos.protocol.phases import masked_phase
from psephos.scenarios import load_scenario, resolve
from psephos.scenarios.adversaries import AttackReport, SessionTrace
from psephos.scenarios.adversaries.poisoner import PoisonerRole
from psephos.scenarios.attacks import find_attack, view_by_arrays
from psephos.scenarios.running.resolution import Local
from psephos.scenarios.running.run import ObservedRun, run_in_memory, seed_of

GROUP = "{{voters=3, center={center}, dispersion=0.5}}"
SESSIONS: dict[str, tuple[str, list[str], str, str]] = {
    "votes": ("eu-council-masked", [], "France", "Malta"),
    "secret weights": (
        "consortium-masked",
        ["partners.count=8", "threshold=7", "colluders=2"],
        "partner-1",
        "partner-2",
    ),
    "answers": (
        "truth-masked",
        ["workers={tasks=3, workers=8, answers_per_task=4}", "threshold=7", "colluders=2"],
        "w4",
        "w3",
    ),
    "rankings": (
        "two-societies",
        [
            *["mechanism=masked", "trust=distributed", "threshold=5", "colluders=1", "objective=parity"],
            "voters.alternatives=['harbor', 'market', 'park']",
            f"voters.groups.north={GROUP.format(center=['harbor', 'market', 'park'])}",
            f"voters.groups.south={GROUP.format(center=['park', 'harbor', 'market'])}",
        ],
        "voter-1",
        "voter-2",
    ),
}
"""By what is added up: a shipped scenario, settings, and two of its parties."""
each_session = pytest.mark.parametrize("name", SESSIONS)


def resolved(name: str, *tables: dict[str, Any]) -> Local:
    scenario, settings, _, _ = SESSIONS[name]
    return resolve(msgspec.structs.replace(load_scenario(scenario, settings), adversary=list(tables)))


def played(name: str, *tables: dict[str, Any]) -> tuple[list[AttackReport], SessionTrace | None, str]:
    """Return what roles learnt, what happened, and why the session came to no end."""
    watched = ObservedRun()
    try:
        finished = run_in_memory(resolved(name, *tables), observed_run=watched)
    except PsephosError as error:
        return [], None, "\n".join([str(error), *error.__notes__])
    assert finished.trace is not None
    return list(finished.attack_reports), finished.trace[1], ""


def odds_of(attack_report: AttackReport) -> tuple[float, float]:
    """Return by how much evidence moved the odds, and what is proven, as the lesson says it."""
    (said,) = [sentence for sentence in attack_report.sentences if "moved the odds" in sentence]
    moved, proven = (float(part.split()[0].strip(".;")) for part in said.split("e^")[1:])
    return moved, proven


@each_session
def test_a_coalition_of_server_and_parties_stays_within_what_is_charged(name: str) -> None:
    _, _, target, member = SESSIONS[name]
    (attack_report,), _, _ = played(name, {"role": "coalition", "members": ["server", member], "target": target})
    moved, proven = odds_of(attack_report)
    assert 0 < moved <= proven
    assert not attack_report.refutes_ledger


def test_colluders_beyond_c_have_a_greater_bound_and_reach_it() -> None:
    (attack_report,), _, _ = played("votes", {"role": "coalition", "members": ["server", "*"], "target": "France"})
    moved, proven = odds_of(attack_report)
    assert moved > 1  # which is charged
    assert moved == pytest.approx(proven, abs=1e-3)
    assert not attack_report.refutes_ledger


@pytest.fixture
def on_a_circle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the Council each masks with some others, as of more than 1,000."""
    monkeypatch.setattr(graph, "LEAST_FOR_CIRCLE", 24)
    monkeypatch.setattr(masked_phase, "LEAST_FOR_CIRCLE", 24)


@pytest.mark.usefixtures("on_a_circle")
def test_on_a_circle_nothing_is_said_of_more_than_c_with_the_server() -> None:
    few, many = ["Malta", "Cyprus"], ["Malta", "Cyprus", "Latvia"]
    for members in (["server", *few], many):
        (attack_report,), _, _ = played("votes", {"role": "coalition", "members": members, "target": "France"})
        moved, proven = odds_of(attack_report)
        assert moved <= proven
        assert (proven > 1) is (members is many)  # 1 is charged
        assert ("but for 2⁻⁴⁰" in attack_report.trust) is ("server" in members)
    with pytest.raises(ConfigurationError, match=r"members is .*: use at most 2 with the server: .* of more nothing"):
        resolved("votes", {"role": "coalition", "members": ["server", *many], "target": "France"})


@pytest.mark.usefixtures("on_a_circle")
def test_on_a_circle_a_server_that_lies_is_no_role_and_who_signs_wrong_shares_is_named() -> None:
    with pytest.raises(ConfigurationError, match="at most 1,000: where more have to take part, a server that lies"):
        resolved("votes", {"role": "unmasker", "dropped": ["Malta"]})
    for step, counted in (("unmask", 27), ("shares", 26)):
        attack_reports, trace, _ = played("votes", {"role": "wrong-shares", "members": ["Malta"], "step": step})
        assert "Found out: 1 of 1. Honest parties that left: 0." in str(attack_reports[0])
        assert trace is not None
        assert trace.tallies[0].num_reports == counted


@each_session
def test_agents_show_a_coalition_what_arrays_do_of_those_who_stayed(name: str) -> None:
    _, _, target, member = SESSIONS[name]
    step = next(step.name for step in resolved(name).protocol.steps if step.is_charged)
    local = resolved(name, {"role": "drop-out", "members": [target], "phase": step})
    finished = run_in_memory(local, observed_run=ObservedRun())
    assert finished.trace is not None
    context, trace = finished.trace
    coalition = context.coalition(["server", member])
    attack = find_attack(context.protocol).against(context.inputs)
    stayed = [place for place, own in enumerate(context.names) if own != target]
    counted = view_by_arrays(
        context.protocol, context.inputs, noise=context.noise(), coalition=coalition, places=stayed
    )
    others = np.setdiff1d(stayed, coalition.members)
    (of_agents, of_arrays) = (
        attack.posteriors([seen], places, secret=attack.default_secret).probabilities
        for seen, places in (
            (trace.seen(context, coalition), others),
            (counted, np.searchsorted(stayed, others)),
        )
    )
    assert np.array_equal(of_agents, of_arrays)
    (of_target,) = attack.posteriors(
        [trace.seen(context, coalition)], np.array([context.names.index(target)]), secret=attack.default_secret
    ).probabilities
    assert np.ptp(of_target) < 1e-12  # of who left before its row nothing is known


@pytest.mark.parametrize(
    ("dropped", "misled", "found", "said", "released"),
    [
        (
            [],
            ["Spain"],
            "1 found out and left.",
            "in step 'votes, confirm', and said: the server is at fault: the survivors lack",
            27,
        ),
        (["Malta"], [], "1 found out and left.", "the survivors lack this party", 26),
        (["Malta"], ["Spain", "Italy"], "2 found out and left.", "in step 'votes, unmask', and said: ", 27),
        (["Malta", "Cyprus", "Latvia", "Italy"], ["Spain"], "1 found out", "23 parties survived, and at least 24", 27),
        (["Malta", "Cyprus", "Latvia", "Italy"], [], "4 found out", "the survivors lack this party", 0),
    ],
)
def test_a_server_that_lies_about_survivors_is_found_out_and_opens_nothing(
    dropped: list[str], misled: list[str], found: str, said: str, released: int
) -> None:
    table = {"role": "unmasker", "dropped": dropped or misled, "misled": misled}
    attack_reports, trace, failure = played("votes", table)
    told = failure or str(attack_reports[0])
    assert found in told
    assert said in told
    assert told.count("It was not opened.") == len(dropped or misled)
    assert "27 losses are in the ledgers" in told
    assert (0 if trace is None else trace.tallies[0].num_reports) == released


@pytest.mark.parametrize(
    ("step", "deed", "counted"),
    [
        ("unmask", "'Germany' has told another share than it had acknowledged", 27),
        ("shares", "'Germany' has signed a box that does not hold what it says", 26),
    ],
)
def test_who_signs_wrong_shares_is_named_and_the_session_goes_on(step: str, deed: str, counted: int) -> None:
    attack_reports, trace, failure = played("votes", {"role": "wrong-shares", "members": ["Germany"], "step": step})
    assert not failure
    assert trace is not None
    assert trace.endings.keys() == {"Germany"}
    assert trace.tallies[0].num_reports == counted
    told = str(attack_reports[0])
    assert deed in told
    assert "Found out: 1 of 1. Honest parties that left: 0." in told
    assert f"{counted} losses are in the ledgers" in told


def test_whoever_leaves_does_before_the_last_step_that_everybody_is_asked() -> None:
    """Where nobody lies nobody is asked to open anything: it is no step before which somebody leaves."""
    for table in ({}, {"phase": "votes, unmask"}):
        _, trace, _ = played("votes", {"role": "drop-out", "members": ["Malta"], **table})
        assert trace is not None
        assert trace.endings.keys() == {"Malta"}
    with pytest.raises(ConfigurationError, match="phase 'votes, open' is unknown"):
        resolved("votes", {"role": "drop-out", "members": ["Malta"], "phase": "votes, open"})


def test_more_liars_than_may_leave_end_a_session_and_open_nothing() -> None:
    members = ["Germany", "France", "Italy", "Spain"]
    _, _, failure = played("votes", {"role": "wrong-shares", "members": members})
    assert "came to no end, and nothing was released" in failure
    assert "Found out: 4 of 4. Honest parties that left: " in failure


@each_session
def test_a_poisoner_moves_the_sum_by_what_it_is_said_to_and_nobody_notices(name: str) -> None:
    _, _, member, _ = SESSIONS[name]
    (attack_report,), trace, _ = played(name, {"role": "poisoner", "members": [member]})
    assert trace is not None
    assert not trace.endings
    context = resolved(name).context(seed=seed_of(resolved(name)))
    session = PoisonerRole(members=(member,)).extremes(context)
    places = np.array([context.names.index(member)])
    phase = context.protocol.masked_phase
    assert phase is not None
    tally = phase.tally(session.reports(places)[0], earlier=(), public=context.inputs.public)
    assert trace.tallies[0].totals.tolist() == tally.totals.tolist()
    assert "unnoticed" in attack_report.sentences[-1]
    row = next(row for row in attack_report.rows if row["estimate"] == session.name_of_aim)
    assert float(row["in standard errors"]) > 1e12


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ({"role": "network-observer"}, "another in a masked session: masked rows are uniform"),
        ({"role": "selective-abort", "target": "Malta"}, "another in a masked session: fewer than its threshold"),
        ({"role": "collusion-sweep"}, "another in a masked session: its bound is one"),
        ({"role": "sybils", "members": ["Malta"]}, "what members add, 'poisoner' measures"),
        ({"role": "unmasker", "dropped": []}, "use parties, at least one"),
        ({"role": "unmasker", "dropped": ["server"]}, "use parties, at least one"),
        ({"role": "unmasker", "dropped": ["nobody"]}, "use a partner of the roster"),
    ],
)
def test_what_a_masked_session_does_not_have_is_refused_with_its_reason(table: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        resolved("votes", table)


def test_roles_of_masked_sessions_are_refused_elsewhere_and_laws_that_are_not_worked_out_are_named() -> None:
    for table in ({"role": "unmasker", "dropped": ["partner-1"]}, {"role": "wrong-shares", "members": ["partner-1"]}):
        with pytest.raises(ConfigurationError, match="masks nothing here"):
            resolve(msgspec.structs.replace(load_scenario("consortium", ["partners.count=4"]), adversary=[table]))
    scenario = load_scenario("moral-masked", [])
    with pytest.raises(ConfigurationError, match="the law of noise shares is worked out up to"):
        resolve(msgspec.structs.replace(scenario, adversary=[{"role": "coalition", "members": ["server"]}]))
