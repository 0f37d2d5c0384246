"""Membership over repeated releases: within what the ledger adds up, and by agents what it is by arrays."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from bad_input import refuses
from helpers import make_preferences
from psephos.protocol import ConfigurationError, QuorumError
from psephos.protocol.moral_preferences import Paradigm
from psephos.scenarios import read_ledger
from psephos.scenarios.moral_preferences.attack.membership_role import repeat_to_crowd
from psephos.scenarios.running.resolution import Local

Configuration = Callable[..., Local]
Play = Callable[..., Any]

SERVER = ["server"]
TARGET = "voter 000000001"
ROUNDS = 1_000


def membership(**keys: Any) -> dict[str, Any]:
    return {"role": "membership", "target": TARGET, "members": ["*"], "rounds": ROUNDS, **keys}


@pytest.mark.parametrize(
    ("members", "settings"),
    [(["*"], ()), (SERVER, ("paradigm=VLDP",)), (["server", "*"], ("paradigm=VLDP",)), ([], ())],
    ids=["all others", "the server", "everybody", "somebody outside"],
)
def test_what_agents_saw_and_what_arrays_hold_teach_the_same(
    play: Play, members: list[str], settings: tuple[str, ...]
) -> None:
    table = membership(members=members, releases=[1, 4])
    by_agents, by_arrays = (
        play("moral-preferences", table, settings=settings, transport=transport).attack_reports
        for transport in ("tcp", "array")
    )
    assert by_agents == by_arrays


def test_success_grows_within_the_ledger_s_total_while_the_error_falls_with_the_root(play: Play) -> None:
    (attack_report,) = play(
        "moral-preferences", membership(), settings=["epsilon=2.0"], transport="array"
    ).attack_reports
    assert [row["releases"] for row in attack_report.rows] == [1, 4, 16, 64]
    assert [row["ledger_total"] for row in attack_report.rows] == pytest.approx([2, 8, 32, 128], rel=1e-4)
    tolerance = 4 * math.sqrt(0.25 / ROUNDS)  # four standard errors: false alarms below 1e-4
    for row in attack_report.rows:
        assert row["proven_bound"] == pytest.approx(1 / (1 + math.exp(-row["ledger_total"])))
        assert row["success"] <= row["proven_bound"] + tolerance
        assert row["error"] == pytest.approx(attack_report.rows[0]["error"] / math.sqrt(row["releases"]), rel=0.15)
    for before, after in pairwise(attack_report.rows):
        assert before["success"] < after["success"]
    assert "No budget refuses any of these releases" in attack_report.sentences[-1]


def test_a_budget_ends_it_where_the_ledger_is_used_up(play: Play) -> None:
    table = membership(budget=4.5)  # the noise's grid makes each release cost a little more than 1
    (attack_report,) = play("moral-preferences", table, settings=["epsilon=1.0"], transport="array").attack_reports
    assert [row["budget"] for row in attack_report.rows] == ["allows it", "allows it", "refuses it", "refuses it"]
    assert "A ledger with a budget of 4.5 lets the target take part in 4 releases" in attack_report.sentences[-1]
    (refused,) = play(
        "moral-preferences", membership(budget=0.5), settings=["epsilon=1.0"], transport="array"
    ).attack_reports
    assert {row["budget"] for row in refused.rows} == {"refuses it"}


def test_where_everybody_has_an_epsilon_the_target_s_own_counts(play: Play) -> None:
    voters = "voters={generator='normal', voters=4, records=6, features=2, groups={}}"
    table = membership(members=SERVER, releases=[1, 2])
    played = play("moral-preferences", table, settings=["paradigm=VLDP"], parties=voters)
    (attack_report,) = played.attack_reports
    charged = [entry.proven for entry in read_ledger(played.folder) if entry.person == TARGET]
    assert [row["ledger_total"] for row in attack_report.rows] == pytest.approx([charged[0], 2 * charged[0]])


def test_a_crowd_stands_before_the_target_and_repetition_does_not_remove_it() -> None:
    protocol = make_preferences(2, epsilon=8.0, max_records=1, paradigm=Paradigm.VLCP)
    bound = protocol.summary.bound
    corners = np.array([[bound, 0], [-bound, 0], [0, bound], [0, -bound]], dtype=np.int64)
    alone, few, many = (
        repeat_to_crowd(protocol, corners, num_unknown=number, num_releases=(1, 64), num_rounds=4_000, seed=5)
        for number in (1, 4, 64)
    )
    assert alone[1].success > few[1].success + 0.03 > many[1].success + 0.06
    assert many[1].success < 0.62
    for found in (alone, few, many):
        for after in found:
            assert after.error == pytest.approx(after.expected_error, rel=0.05)
            assert after.success <= after.success_bound + 4 * after.success_error
    # One release's noise goes; what is not known of the others stays.
    assert few[1].error > 0.7 * few[0].error


def test_noise_of_many_voters_is_drawn_as_a_normal_one_of_the_same_size() -> None:
    protocol = make_preferences(2, epsilon=1.0, max_records=1, paradigm=Paradigm.VLDP)
    bound = protocol.summary.bound
    corners = np.array([[bound, 0], [-bound, 0], [0, bound]], dtype=np.int64)
    for number in (3, 40):  # few draws are Laplace's own
        (after,) = repeat_to_crowd(protocol, corners, num_unknown=number, num_releases=(1,), num_rounds=4_000, seed=5)
        assert after.error == pytest.approx(after.expected_error, rel=0.05)
        assert 0.4 < after.success < 0.6


def test_of_many_colluders_a_sample_is_the_population(play: Play) -> None:
    voters = "voters={generator='normal', voters=60, records=6, features=2}"
    (attack_report,) = play(
        "moral-preferences", membership(releases=[1]), parties=voters, transport="array"
    ).attack_reports
    assert attack_report.who == "59 voters"
    assert 0.4 < attack_report.rows[0]["success"] <= attack_report.rows[0]["proven_bound"]


def test_a_session_that_came_to_no_end_published_nothing(play: Play) -> None:
    leaver = {"role": "drop-out", "members": ["voter 000000002"]}
    played = play("moral-preferences", membership(releases=[1]), leaver, settings=["quorum=1.0"])
    assert isinstance(played.failure, QuorumError)
    assert played.attack_reports[0].sentences[0].startswith("The session came to no end, and nothing was published")


@pytest.mark.parametrize(
    ("table", "settings", "field", "words"),
    [
        (membership(members=["voter 000000001..2"]), (), "target", "it knows that it took part"),
        (membership(target="voter-9"), (), "target", "a voter of the roster"),
        (membership(members=["voter-9"]), (), "members", "a voter of the roster"),
        (membership(members=SERVER), (), "members", "this protocol trusts its server"),
        (membership(releases=[]), (), "releases", "increasing numbers"),
        (membership(releases=[4, 1]), (), "releases", "increasing numbers"),
        (membership(releases=[0, 1]), (), "releases", "increasing numbers"),
        (membership(releases=[1, 2000]), (), "releases", "increasing numbers"),
        (membership(rounds=0), (), "rounds", "in [1, 100000]"),
        (membership(budget=0.0), (), "budget", "above 0"),
        (membership(members=SERVER), ("paradigm=RLDP", "mechanism=functional"), "mechanism", "additive noise"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(
    configuration: Configuration, table: dict[str, Any], settings: tuple[str, ...], field: str, words: str
) -> None:
    with refuses(said=words) as caught:
        configuration("moral-preferences", table, settings=settings)
    assert caught.value.field in {field, f"adversary 1: {field}"}


def test_who_is_like_everybody_cannot_be_told_from_anybody(configuration: Configuration) -> None:
    voters = "voters={generator='normal', voters=1, records=6, features=2}"
    with pytest.raises(ConfigurationError, match="whose preferences differ from the other voters'"):
        configuration("moral-preferences", membership(members=[]), parties=voters)


@pytest.mark.parametrize("protocol", ["dpwevote", "truth-discovery", "fair-voting"])
def test_a_protocol_that_does_not_have_the_role_says_which_it_has(configuration: Configuration, protocol: str) -> None:
    with pytest.raises(
        ConfigurationError, match=f"one that protocol '{protocol}' has: averaging-attacker, coalition"
    ) as caught:
        configuration(protocol, {"role": "membership", "target": "anybody"}, transport="array")
    assert (caught.value.field, caught.value.value) == ("adversary 1: role", "membership")
    assert "membership" not in caught.value.allowed
    assert ("differencing" in caught.value.allowed) == (protocol == "fair-voting")
