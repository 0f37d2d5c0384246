"""Record inference: one record within its bound, all of a voter's beyond it and within the voter's."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from bad_input import refuses
from psephos.protocol import ConfigurationError, QuorumError
from psephos.scenarios import read_ledger
from psephos.scenarios.running.resolution import Local

Configuration = Callable[..., Local]
Play = Callable[..., Any]

SERVER = ["server"]
TRIALS = 2_000
TOLERANCE = 4 * math.sqrt(0.25 / TRIALS)  # four standard errors of a share: false alarms below 1e-4
LOCAL, CENTRAL = "paradigm=RLDP", "paradigm=RLCP"


def inference(**keys: Any) -> dict[str, Any]:
    return {"role": "record-inference", "target": "voter 000000001", "members": SERVER, "trials": TRIALS, **keys}


def rows_of(attack_report: Any) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Return a lesson's rows by what is unknown and what is seen."""
    return {(row["unknown"], row["seen"]): row for row in attack_report.rows}


@pytest.mark.parametrize(
    ("mechanism", "paradigm", "members"),
    [("functional", LOCAL, SERVER), ("pooled", CENTRAL, ["*"]), ("direction", LOCAL, ["server", "*"])],
)
def test_a_record_stays_within_its_bound_and_all_of_a_voter_s_within_the_voter_s(
    play: Play, mechanism: str, paradigm: str, members: list[str]
) -> None:
    settings = [paradigm, f"mechanism={mechanism}", "epsilon=1.0"]
    (attack_report,) = play(
        "moral-preferences", inference(members=members), settings=settings, transport="array"
    ).attack_reports
    rows = rows_of(attack_report)
    assert {sees for _, sees in rows} == ({"coefficients", "report"} if mechanism == "functional" else {"report"})
    for (unknown, _), row in rows.items():
        number = 1 if unknown == "one record" else 6
        assert row["epsilon"] == pytest.approx(number, rel=1e-4)
        assert row["proven_bound"] == pytest.approx(1 / (1 + math.exp(-row["epsilon"])))
        assert row["success"] <= row["proven_bound"] + TOLERANCE
        assert row["distance"] <= row["epsilon"] * (1 + 1e-9)
    best = max(row["success"] for (unknown, _), row in rows.items() if unknown != "one record")
    record = next(iter(rows.values()))
    assert best > record["success"] + TOLERANCE
    if mechanism == "direction":  # opposite directions are as far apart as records can be
        assert record["distance"] == pytest.approx(1.0, rel=1e-4)
        assert best > record["proven_bound"] + TOLERANCE
        assert "more than a record's ε allows (0.732), and within 0.998" in attack_report.sentences[2]
    assert "The target's ledger has 6 for the voter, of up to 6 records, and 1 for each" in attack_report.sentences[-1]


def test_a_report_tells_less_than_the_coefficients_behind_it(play: Play) -> None:
    settings = [LOCAL, "mechanism=functional", "epsilon=6.0"]
    (attack_report,) = play(
        "moral-preferences", inference(records=1), settings=settings, transport="array"
    ).attack_reports
    rows = rows_of(attack_report)
    clear, report = (rows["one record", sees] for sees in ("coefficients", "report"))
    assert clear["success"] > report["success"] + 0.03
    assert clear["bits"] > report["bits"]
    assert "The target has one record, so that the record's ε is the voter's." in attack_report.sentences


def test_candidates_are_the_scenario_s_own(play: Play) -> None:
    settings = [LOCAL, "mechanism=direction", "epsilon=3.0"]
    table = inference(candidates=[[1.0, 0.0], [0.0, 0.5]], records=2)
    (attack_report,) = play("moral-preferences", table, settings=settings, transport="array").attack_reports
    # Directions at a right angle are √2 apart, where two may be opposite, 2.
    assert rows_of(attack_report)["one record", "report"]["distance"] == pytest.approx(3 / math.sqrt(2), rel=1e-4)


def test_agents_and_arrays_teach_the_same(play: Play) -> None:
    settings = [LOCAL, "mechanism=direction"]
    by_agents, by_arrays = (
        play("moral-preferences", inference(trials=50), settings=settings, transport=transport).attack_reports
        for transport in ("tcp", "array")
    )
    assert by_agents == by_arrays


def test_who_has_an_epsilon_of_its_own_is_bounded_by_that(play: Play) -> None:
    voters = "voters={generator='normal', voters=4, records=6, features=2, groups={}}"
    played = play("moral-preferences", inference(trials=50), settings=[LOCAL, "mechanism=direction"], parties=voters)
    (attack_report,) = played.attack_reports
    (charged,) = [entry for entry in read_ledger(played.folder) if entry.person == "voter 000000001"]
    row = rows_of(attack_report)["one record", "report"]
    assert 6 * row["epsilon"] == pytest.approx(charged.proven)
    assert row["distance"] == pytest.approx(row["epsilon"], rel=1e-3)


def test_games_need_no_session_that_came_to_its_end(play: Play) -> None:
    leaver = {"role": "drop-out", "members": ["voter 000000001"]}
    settings = [LOCAL, "mechanism=direction", "quorum=1.0"]
    played = play("moral-preferences", inference(trials=50), leaver, settings=settings)
    assert isinstance(played.failure, QuorumError)
    first, *_, last = played.attack_reports[0].sentences
    assert first == "The session came to no end; the games are tried beside it."
    assert "ledger" not in last  # who left was charged nothing


@pytest.mark.parametrize(
    ("table", "settings", "field", "words"),
    [
        (inference(), (), "paradigm", "RLCP or RLDP"),
        (inference(), (LOCAL,), "mechanism", "functional, pooled, direction"),
        (inference(members=["*"]), (LOCAL, "mechanism=pooled"), "members", "'server', alone or with voters"),
        (inference(), (CENTRAL, "mechanism=pooled"), "members", "all other voters"),
        (inference(members=["voter 000000002"]), (CENTRAL, "mechanism=pooled"), "members", "all other voters"),
        (inference(members=["server", "voter 000000001"]), (LOCAL, "mechanism=pooled"), "target", "no member"),
        (inference(target="voter-9"), (LOCAL, "mechanism=pooled"), "target", "a voter of the roster"),
        (inference(members=["voter-9"]), (LOCAL, "mechanism=pooled"), "members", "a voter of the roster"),
        (inference(records=7), (LOCAL, "mechanism=pooled"), "records", "in [1, 6]"),
        (inference(records=-1), (LOCAL, "mechanism=pooled"), "records", "in [1, 6]"),
        (inference(trials=0), (LOCAL, "mechanism=pooled"), "trials", "in [1, 100000]"),
        (inference(candidates=[[1.0, 0.0]]), (LOCAL, "mechanism=pooled"), "candidates", "two different ones"),
        (inference(candidates=[[1.0], [0.0]]), (LOCAL, "mechanism=pooled"), "candidates", "of 2 numbers each"),
        (inference(candidates=[[1.0, 0.0]] * 2), (LOCAL, "mechanism=pooled"), "candidates", "two different ones"),
        (inference(candidates=[[1.0, 1.0], [0.0, 0.0]]), (LOCAL, "mechanism=pooled"), "candidates", "norm ≤ 1"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(
    configuration: Configuration, table: dict[str, Any], settings: tuple[str, ...], field: str, words: str
) -> None:
    with refuses(f"adversary 1: {field}", said=words):
        configuration("moral-preferences", table, settings=settings)


def test_a_protocol_without_records_does_not_have_the_role(configuration: Configuration) -> None:
    with pytest.raises(ConfigurationError, match="one that protocol 'dpwevote' has: ") as caught:
        configuration("dpwevote", {"role": "record-inference", "target": "partner-1"})
    assert (caught.value.field, caught.value.value) == ("adversary 1: role", "record-inference")
