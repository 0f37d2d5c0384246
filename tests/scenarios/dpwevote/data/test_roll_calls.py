"""Roll calls of the General Assembly: one vote each, abstention by a stated rule, every fault named with its line."""

from pathlib import Path
from typing import Any

import pytest
from bad_input import Write, refuses
from psephos.protocol import ConfigurationError
from psephos.protocol.dpwevote import DPWeVote
from psephos.scenarios.datasets import load_data_set
from psephos.scenarios.reading.sources import PartiesTable

VOTES = "un_general_assembly/un_votes.csv.gz"
ROLL_CALLS = "un_general_assembly/un_roll_calls.csv"


def load(folder: Path, parameters: dict[str, Any] | None = None, **options: Any) -> PartiesTable:
    """Return the states that voted."""
    return load_data_set(
        {"data": "un_general_assembly", **options},
        folder=str(folder),
        parameters=parameters or {},
        protocol=DPWeVote,
    )


def votes(loaded: PartiesTable) -> dict[str, int]:
    """Return each state's opinion on the one candidate."""
    (column,) = set(loaded.table) - {"weight"}
    return dict(zip(loaded.names, loaded.table[column], strict=True))


@pytest.mark.parametrize(
    ("rule", "ivory_coast"),
    [({}, {}), ({"abstentions": "absent"}, {}), ({"abstentions": "no"}, 0), ({"abstentions": "yes"}, 1)],
)
def test_an_abstention_counts_as_the_rule_says(sets: Path, rule: dict[str, Any], ivory_coast: Any) -> None:
    expected = {"Namibia": 1, "Zanzibar": 0, "Peru": 1}
    if ivory_coast != {}:
        expected["Côte d’Ivoire"] = ivory_coast
    assert votes(load(sets, roll_call=3, **rule)) == expected


def test_a_roll_call_is_public_record_with_one_vote_each(sets: Path) -> None:
    loaded = load(sets, roll_call=3)
    assert list(loaded.table["weight"]) == [1, 1, 1]
    assert (list(loaded.lines), loaded.source) == ([2, 3, 6], "un_votes.csv.gz")
    assert loaded.parameters == {
        "public_weights": True,
        "weights": [1.0],
        "passes": "more_than",
        "candidates": ["R/1/66"],
    }
    assert loaded.is_public_record
    assert not loaded.is_generated


@pytest.mark.parametrize(
    ("number", "parameters", "name"),
    [(3, {}, "R/1/66"), (4, {}, "roll call 4"), (3, {"candidates": ["rules"]}, "rules")],
)
def test_the_candidate_is_the_resolution_unless_it_is_named(
    sets: Path, number: int, parameters: dict[str, Any], name: str
) -> None:
    assert set(load(sets, parameters, roll_call=number).table) == {"weight", name}


@pytest.mark.parametrize(
    ("parameters", "options", "field", "allowed"),
    [
        ({}, {"roll_call": 5}, "roll_call", "one of the 4 roll calls in un_roll_calls.csv, between 3 and 7"),
        ({}, {"roll_call": -3}, "roll_call", "one of the 4 roll calls"),
        ({}, {"roll_call": 6}, "roll_call", "at least one state of"),
        ({}, {"roll_call": 7}, "roll_call", "at least one state of"),
        ({}, {"roll_call": "last"}, "partners.roll_call", "an integer"),
        ({}, {}, "partners", "with the required key 'roll_call'"),
        ({}, {"roll_call": 3, "abstentions": "maybe"}, "partners.abstentions", "one of absent, no, yes"),
        ({}, {"roll_call": 3, "yes_shares": [1]}, "partners", "without the unknown key 'yes_shares'"),
        ({"candidates": ["a", "b"]}, {"roll_call": 3}, "candidates", "one, as a roll call has"),
        ({"candidates": 5}, {"roll_call": 3}, "parameters.candidates", "a list"),
    ],
)
def test_a_wrong_choice_is_refused(
    sets: Path, parameters: dict[str, Any], options: dict[str, Any], field: str, allowed: str
) -> None:
    with refuses(field, allowed=allowed):
        load(sets, parameters, **options)


def test_all_who_abstain_may_be_counted(sets: Path) -> None:
    assert votes(load(sets, roll_call=7, abstentions="no")) == {"Peru": 0}


def test_a_vote_that_is_none_is_named_with_its_line(sets: Path, put_set: Write) -> None:
    put_set(VOTES, "rcid,country,vote\n3,Peru,yes\n4,Chile,perhaps\n3,Chile,perhaps\n")
    with refuses("vote (un_votes.csv.gz line 4)", "perhaps") as caught:
        load(sets, roll_call=3)
    assert caught.value.allowed == "one of yes, no, abstain"


@pytest.mark.parametrize("number", ["three", "", "-3", "1e3", "9" * 5000])
def test_a_number_that_is_none_is_named_with_its_line(sets: Path, put_set: Write, number: str) -> None:
    put_set(ROLL_CALLS, f"rcid,unres\n2,R/1/1\n{number},R/1/2\n3,R/1/3\n")
    with refuses("rcid (un_roll_calls.csv line 3)", number):
        load(sets, roll_call=3)


def test_a_list_without_roll_calls_has_none(sets: Path, put_set: Write) -> None:
    put_set(ROLL_CALLS, "rcid,unres\n")
    with pytest.raises(ConfigurationError, match=r"roll_call is 3: use .* of the 0 roll calls in un_roll_calls\.csv"):
        load(sets, roll_call=3)


@pytest.mark.parametrize(
    ("number", "name", "num_yes", "num_no", "num_abstaining"),
    [(4801, "R/62/149", 105, 54, 28), (1190, "R/26/2758G", 76, 35, 17)],
)
def test_a_real_roll_call_is_counted_as_recorded(
    two_roll_calls: Path, number: int, name: str, num_yes: int, num_no: int, num_abstaining: int
) -> None:
    absent, against = (votes(load(two_roll_calls, roll_call=number, abstentions=rule)) for rule in ("absent", "no"))
    assert load(two_roll_calls, roll_call=number).parameters["candidates"] == [name]
    assert (sum(absent.values()), len(absent)) == (num_yes, num_yes + num_no)
    assert (sum(against.values()), len(against)) == (num_yes, num_yes + num_no + num_abstaining)


def test_a_real_roll_call_is_found_among_all(real_sets: Path, two_roll_calls: Path) -> None:
    assert votes(load(real_sets, roll_call=1190)) == votes(load(two_roll_calls, roll_call=1190))


def test_the_real_states_without_a_code_are_there(two_roll_calls: Path) -> None:
    assert "Namibia" in votes(load(two_roll_calls, roll_call=4801, abstentions="no"))
    assert "Yemen Arab Republic" in votes(load(two_roll_calls, roll_call=1190, abstentions="no"))
