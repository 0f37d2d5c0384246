"""Surveys as voters: every source, who has an ε of its own, and what a table of voters must not say."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bad_input import refuses
from machine_files import write_moral_machine_like
from psephos.protocol import ConfigurationError
from psephos.protocol.moral_preferences.records import Records
from psephos.scenarios.moral_preferences.data.dilemmas import FEATURES
from psephos.scenarios.moral_preferences.data.fairness import FAIRNESS_FEATURES
from psephos.scenarios.moral_preferences.data.files import read_survey
from psephos.scenarios.moral_preferences.data.machine_like import MoralMachineLike, make_machine_like
from psephos.scenarios.moral_preferences.data.parties import GENERATORS, OwnEpsilons, load_voters, survey_to_parties
from psephos.scenarios.moral_preferences.data.privacy_groups import PrivacyGroups, draw_epsilons
from psephos.scenarios.moral_preferences.data.sources import SOURCES
from psephos.scenarios.moral_preferences.data.synthetic import SyntheticPreferences, make_preferences
from psephos.scenarios.reading.sources import PartiesTable

Put = Callable[[str], Path]

CHOICES = (
    "voter,record,choice,lives,law\nann,1,1,5,0\nann,1,0,1,1\nbob,1,0,2,2\nbob,1,1,3,0\nann,2,1,0,0\nann,2,0,1,0\n"
)


def records_of(loaded: PartiesTable) -> Records:
    """Return what the voters hold."""
    records = loaded.table["records"]
    assert isinstance(records, Records)
    return records


def pairs_of(loaded: PartiesTable) -> list[Any]:
    """Return every voter's records as lists."""
    return [pairs.tolist() for pairs in records_of(loaded)]


@pytest.fixture
def machine_file(tmp_path: Path) -> Path:
    """A Moral Machine file of three voters with two dilemmas each."""
    path = tmp_path / "responses.csv"
    write_moral_machine_like(path, voters=3, records=2)
    return path


# Sources.


@pytest.mark.parametrize("as_table", [False, True])
def test_a_file_of_choices_names_voters_features_and_lines(put: Put, *, as_table: bool) -> None:
    path = str(put(CHOICES))
    loaded = load_voters({"choices": path} if as_table else path)
    assert list(loaded.names) == ["ann", "bob"]
    assert pairs_of(loaded) == [[[[5, 0], [1, 1]], [[0, 0], [1, 0]]], [[[3, 0], [2, 2]]]]
    assert loaded.parameters == {"features": ["lives", "law"], "max_records": 2}
    assert loaded.fixed == {"features"}  # the columns mean nothing else; how many records are allowed may be more
    assert (list(loaded.lines), loaded.source) == ([2, 4], "survey.csv")
    assert not loaded.is_generated
    assert not loaded.is_public_record
    assert loaded.note == "3 records of 2 voters, from 6 rows"
    assert set(loaded.table) == {"records"}


@pytest.mark.parametrize("as_table", [False, True])
def test_a_file_of_responses_is_known_by_its_header(machine_file: Path, *, as_table: bool) -> None:
    loaded = load_voters({"responses": str(machine_file)} if as_table else str(machine_file))
    made = make_machine_like(MoralMachineLike(voters=3, records=2))
    assert loaded.parameters == {"features": list(FEATURES), "max_records": 2}
    assert [np.array(pairs).shape for pairs in pairs_of(loaded)] == [(2, 2, 23)] * 3
    assert loaded.note == "6 records of 3 voters, from 12 rows"
    assert sorted(records_of(loaded).chosen.sum(axis=1)) == sorted(made.records.chosen.sum(axis=1))


@pytest.mark.parametrize("kind", ["choices", "responses"])
def test_a_packed_file_is_known_as_well(tmp_path: Path, machine_file: Path, kind: str) -> None:
    content = machine_file.read_bytes() if kind == "responses" else CHOICES.encode()
    packed = tmp_path / "survey.csv.gz"
    packed.write_bytes(gzip.compress(content))
    plain = tmp_path / "survey.csv"
    plain.write_bytes(content)
    assert pairs_of(load_voters(str(packed))) == pairs_of(load_voters(str(plain)))


def test_limits_on_responses_are_those_of_the_table(machine_file: Path) -> None:
    loaded = load_voters({"responses": str(machine_file), "max_records": 1})
    assert loaded.parameters["max_records"] == 1
    assert "3 beyond the most for each voter" in loaded.note
    with pytest.raises(ConfigurationError):
        load_voters({"responses": str(machine_file), "min_records": 3})


@pytest.mark.parametrize(
    ("table", "features", "max_records"),
    [
        ({"voters": 4, "records": 3, "features": 2}, ("x1", "x2"), 3),
        ({"generator": "normal", "voters": 4, "records": 3, "features": 2}, ("x1", "x2"), 3),
        ({"generator": "moral_machine", "voters": 4, "records": 3}, FEATURES, 3),
        ({"generator": "fairness", "voters": 4, "records": 3}, FAIRNESS_FEATURES, 3),
    ],
)
def test_a_generators_voters_are_synthetic_and_have_no_lines(
    table: dict[str, Any], features: tuple[str, ...], max_records: int
) -> None:
    loaded = load_voters(table)
    assert len(loaded.names) == 4
    assert loaded.is_generated
    assert (list(loaded.lines), loaded.note) == ([], "")
    assert loaded.parameters == {"features": list(features), "max_records": max_records}
    assert pairs_of(load_voters(table)) == pairs_of(loaded)


def test_the_usual_generator_is_the_papers() -> None:
    loaded = load_voters({"voters": 3, "seed": 5})
    made = make_preferences(SyntheticPreferences(voters=3, seed=5))
    assert records_of(loaded).chosen.tolist() == made.records.chosen.tolist()
    assert set(GENERATORS) == {"normal", "moral_machine", "fairness", "cultures"}


def test_a_table_is_left_as_it_was() -> None:
    table: dict[str, Any] = {"voters": 2, "groups": {"seed": 3}, "generator": "normal", "stream": False}
    load_voters(table)
    assert table == {"voters": 2, "groups": {"seed": 3}, "generator": "normal", "stream": False}


# An ε of their own.


def test_groups_give_every_voter_an_epsilon() -> None:
    table = {"voters": 40, "records": 1, "features": 1}
    loaded = load_voters({**table, "groups": {"seed": 9}})
    assert loaded.table["epsilon"] == draw_epsilons(PrivacyGroups(seed=9), num_voters=40)
    assert "epsilon" not in load_voters(table).table
    # The levels are the groups', and not those that happened to be drawn.
    assert loaded.parameters["epsilons"] == list(PrivacyGroups().levels)
    assert set(load_voters(table).parameters) == {"features", "max_records"}


def test_a_file_gives_every_voter_an_epsilon_whatever_its_order(put: Put, tmp_path: Path) -> None:
    epsilons = tmp_path / "epsilons.csv"
    epsilons.write_text("voter,epsilon\nzoe,3\nbob,2\nann,0.5\n", encoding="utf-8")
    loaded = load_voters({"choices": str(put(CHOICES)), "epsilons": str(epsilons)})
    assert loaded.table["epsilon"] == [0.5, 2]


def test_responses_too_may_have_groups(machine_file: Path) -> None:
    loaded = load_voters({"responses": str(machine_file), "groups": {}})
    assert loaded.table["epsilon"] == draw_epsilons(PrivacyGroups(), num_voters=3)


def test_public_choices_are_said_to_be(put: Put) -> None:
    survey = read_survey(put(CHOICES))
    assert survey_to_parties(survey, is_public_record=True).is_public_record
    assert set(survey_to_parties(survey, OwnEpsilons()).table) == {"records"}


# What is refused.


@pytest.mark.parametrize(
    ("table", "field", "value", "allowed"),
    [
        (
            {"groups": {}, "epsilons": "e.csv"},
            "voters.groups and voters.epsilons",
            "given",
            "given one of them alone",
        ),
        ({"groups": 3}, "voters.groups", 3, "a table"),
        ({"groups": {"liberals": 1}}, "voters.groups", None, "without the unknown key 'liberals'"),
        ({"groups": {"liberal": 0.2}}, "conservative, moderate, liberal", None, "add up to 1"),
        ({"generator": "norml"}, "voters.generator", "norml", "fairness, cultures (did you mean 'normal'?)"),
        ({"generator": 3}, "voters.generator", 3, "text"),
        ({"choices": "a.csv", "generator": "normal"}, "voters.choices and voters.generator", "given", "alone"),
        ({"choices": "a.csv", "responses": "b.csv"}, "voters.choices and voters.responses", "given", "alone"),
        ({"responses": "b.csv", "generator": "fairness"}, "voters.generator and voters.responses", "given", "alone"),
        ({"choices": "a.csv"}, "voters", None, "without the unknown key 'voters'"),
        ({"choices": ""}, "voters", None, ""),
        ({"stream": True}, "voters.stream", True, "left out, or false"),
        ({"stream": "yes"}, "voters.stream", "yes", "true or false"),
        ({"voters": 0}, "voters", 0, "in [1,"),
        ({"voters": 2.5}, "voters.voters", 2.5, "an integer"),
        ({"records": 0}, "records", 0, "in [1,"),
        ({"features": 0}, "features", 0, "in [1,"),
        ({"spread": -1}, "spread", -1, "at least 0"),
        ({"answers": "a.csv"}, "voters", None, "without the unknown key 'answers'"),
    ],
)
def test_what_a_table_must_not_say_is_named(table: dict[str, Any], field: str, value: object, allowed: str) -> None:
    with refuses(field, allowed=allowed) as caught:
        load_voters({"voters": 3, **table})
    if value is not None:
        assert caught.value.value == value


@pytest.mark.parametrize(
    ("table", "field"),
    [
        ("none.csv", "voters.choices"),
        ({"choices": "none.csv"}, "voters.choices"),
        ({"responses": "none.csv"}, "voters.responses"),
        ({"voters": 3, "epsilons": "none.csv"}, "voters.epsilons"),
    ],
)
def test_a_file_that_is_not_there_is_named_by_its_setting(table: str | dict[str, Any], field: str) -> None:
    with refuses(field, "none.csv"):
        load_voters(table)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"a,b\n1,2\n"])
@pytest.mark.parametrize("name", ["mine.csv", "mine.csv.gz"])
def test_a_file_of_neither_kind_is_refused_as_one_of_choices(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ConfigurationError) as caught:
        load_voters(str(path))
    assert "mine.csv" in f"{caught.value.field} {caught.value.value}"


def test_keys_that_hold_paths_are_those_of_the_tables() -> None:
    assert SOURCES.paths == ("choices", "responses", "epsilons", "manifest")
