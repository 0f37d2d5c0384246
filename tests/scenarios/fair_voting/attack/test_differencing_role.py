"""Differencing: two outcomes tell more of the voter in which they differ than one does, and no more than is proven."""

from collections.abc import Callable
from typing import Any

import pytest
from bad_input import refuses
from psephos.protocol import ConfigurationError, QuorumError
from psephos.scenarios.running.resolution import Local

Configuration = Callable[..., Local]
Play = Callable[..., Any]

WINNER = ("mechanism=exponential", "epsilon=4.0")
SUMS = ("mechanism=laplace", "epsilon=4.0")


def differencing(**keys: Any) -> dict[str, Any]:
    return {"role": "differencing", "target": "voter-1", "members": ["voter-2"], "trials": 8, **keys}


@pytest.mark.parametrize("change", ["left", "changed"])
@pytest.mark.parametrize("settings", [WINNER, SUMS], ids=["winner", "sums"])
def test_two_outcomes_tell_more_than_one_and_no_more_than_both_losses_allow(
    play: Play, settings: tuple[str, ...], change: str
) -> None:
    # A member of the target's group would leave nothing unknown in the group's sums.
    table = differencing(members=["voter-3"], change=change)
    (attack_report,) = play("fair-voting", table, settings=settings, transport="array").attack_reports
    one, two = attack_report.rows
    assert (one["heard"], two["heard"]) == ("one election", "two elections")
    assert 1 / 6 < one["success"] <= two["success"] + 1e-9
    assert one["bits"] < two["bits"]
    assert two["ledger_total"] == pytest.approx(one["ledger_total"] * (1 if change == "left" else 2))
    for row in (one, two):
        assert row["success"] <= row["proven_bound"]
        assert (row["standard_error"] == 0) == (settings == WINNER)
    assert ("charged in both" in " ".join(attack_report.sentences)) == (change == "changed")


def test_who_knows_all_others_learns_nothing_from_an_election_without_the_target(play: Play) -> None:
    (attack_report,) = play(
        "fair-voting", differencing(members=["*"]), settings=WINNER, transport="array"
    ).attack_reports
    one, two = attack_report.rows
    assert two["bits"] == pytest.approx(one["bits"])
    assert "Who knows all other rankings learns nothing from the second outcome" in " ".join(attack_report.sentences)


@pytest.mark.parametrize("change", ["left", "changed"])
def test_agents_and_arrays_teach_the_same(play: Play, change: str) -> None:
    table = differencing(change=change, secret="pair")  # noqa: S106  what is inferred
    by_agents, by_arrays = (
        play("fair-voting", table, settings=WINNER, transport=transport).attack_reports
        for transport in ("tcp", "array")
    )
    assert by_agents == by_arrays
    (attack_report,) = by_agents
    assert attack_report.sentences[-1].startswith("Of voter-1 it believes most in ")
    assert "; it is " in attack_report.sentences[-1]


def test_of_somebody_real_the_lesson_does_not_tell_the_truth(play: Play) -> None:
    rankings = {1: ("north", "a > b"), 2: ("north", "b > a"), 3: ("south", "a > b")}
    rows = [f"{{voter='voter-{n}', group='{group}', ranking='{order}'}}" for n, (group, order) in rankings.items()]
    voters = f"voters=[{', '.join(rows)}]"
    (attack_report,) = play(
        "fair-voting", differencing(), settings=WINNER, parties=voters, transport="array"
    ).attack_reports
    assert "; it is " not in attack_report.sentences[-1]


def test_without_an_outcome_there_is_no_difference(play: Play) -> None:
    leaver = {"role": "drop-out", "members": ["voter-2"]}
    played = play("fair-voting", differencing(), leaver, settings=[*WINNER, "quorum=1.0"])
    assert isinstance(played.failure, QuorumError)
    assert played.attack_reports[0].sentences[-1].startswith("It heard no outcome of this session")


ALONE = "voters.groups.north={voters=1, center=['harbor', 'market', 'park'], dispersion=0.4}"
MANY = "voters.groups.north={voters=80, center=['harbor', 'market', 'park'], dispersion=0.4}"

PLANS = ["harbor", "market", "park", "museum"]
FOUR = (
    f"voters.alternatives={PLANS}",
    f"voters.groups.north={{voters=7, center={PLANS}, dispersion=0.4}}",
    f"voters.groups.south={{voters=2, center={PLANS}, dispersion=0.4}}",
)


@pytest.mark.parametrize(
    ("table", "settings", "field", "words"),
    [
        (differencing(members=["voter-1"]), WINNER, "target", "no member of the coalition"),
        (differencing(target="voter-9"), WINNER, "target", "a voter of the roster"),
        (differencing(members=["voter-9"]), WINNER, "members", "a voter of the roster"),
        (differencing(members=["server"]), WINNER, "members", "the aggregator, which is trusted"),
        (differencing(members=[]), WINNER, "members", "they hear the outcomes"),
        (differencing(trials=0), WINNER, "trials", "in [1, 10000]"),
        (differencing(secret="weight"), WINNER, "secret", "ranking, favorite, pair"),  # noqa: S106  what is inferred
        (differencing(change="died"), WINNER, "", "left"),
        (differencing(), (), "mechanism", "the aggregator is trusted"),
        (differencing(), (*WINNER, ALONE), "target", "whose group has another voter"),
        (differencing(), (*SUMS, MANY), "members", "but 16 at most"),
        (differencing(change="changed"), (*SUMS, *FOUR), "members", "but 4 at most"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(
    configuration: Configuration, table: dict[str, Any], settings: tuple[str, ...], field: str, words: str
) -> None:
    with refuses(said=words) as caught:
        configuration("fair-voting", table, settings=settings)
    assert caught.value.field.startswith(f"adversary 1: {field}" if field else "adversary 1")


@pytest.mark.parametrize(
    ("number", "change", "field", "words"),
    [(5, "changed", "members", "more than four alternatives"), (7, "left", "alternatives", "at most 6")],
)
def test_more_rankings_than_can_be_added_up_are_refused(
    configuration: Configuration, number: int, change: str, field: str, words: str
) -> None:
    names = [f"p{place}" for place in range(number)]
    settings = [
        *WINNER,
        f"voters.alternatives={names}",
        *(f"voters.groups.{group}={{voters=2, center={names}, dispersion=0.4}}" for group in ("north", "south")),
    ]
    with pytest.raises(ConfigurationError, match=words) as caught:
        configuration("fair-voting", differencing(change=change), settings=settings)
    assert caught.value.field == f"adversary 1: {field}"


def test_a_protocol_without_rankings_does_not_have_the_role(configuration: Configuration) -> None:
    with pytest.raises(ConfigurationError, match="one that protocol 'dpwevote' has: ") as caught:
        configuration("dpwevote", {"role": "differencing", "target": "partner-1", "members": ["partner-2"]})
    assert (caught.value.field, caught.value.value) == ("adversary 1: role", "differencing")
