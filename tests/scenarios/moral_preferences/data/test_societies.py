"""Whose society voters belong to: a column of their file, a generator's shares, or the countries of a data set."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from machine_files import write_moral_machine_like
from psephos.protocol import ConfigurationError
from psephos.protocol.moral_preferences import MoralPreferences
from psephos.protocol.moral_preferences.records import Records
from psephos.scenarios.datasets import load_data_set
from psephos.scenarios.moral_preferences.data.cultures import (
    ATTRIBUTES,
    CountryVoters,
    CultureVoters,
    make_cultures,
    read_countries,
)
from psephos.scenarios.moral_preferences.data.parties import load_voters
from psephos.scenarios.moral_preferences.data.streams import open_stream
from scipy.special import ndtri

Put = Callable[[str], Path]

SPEC = CultureVoters(voters=40, records=5, seed=4, societies={"north": 0.5, "east": 0.3, "south": 0.2})
CHOICES = """voter,region,record,choice,lives,law
ann,north,1,1,5,0
ann,north,1,0,1,1
bob,south,1,1,3,0
cho,north,1,0,2,2
bob,south,1,0,2,2
cho,north,1,1,3,0
dan,east,1,1,2,0
dan,east,1,0,1,0
"""


def societies_of(table: dict[str, Any]) -> dict[str, str]:
    loaded = load_voters(table)
    return dict(zip(loaded.names, map(str, loaded.table["society"]), strict=True))


def refused(table: dict[str, Any]) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load_voters(table)
    return str(caught.value)


def test_a_column_of_the_file_says_it_and_is_no_feature(put: Put) -> None:
    path = str(put(CHOICES))
    assert societies_of({"choices": path, "society": "region"}) == {
        "ann": "north",
        "bob": "south",
        "cho": "north",
        "dan": "east",
    }
    loaded = load_voters({"choices": path, "society": "region"})
    assert loaded.parameters == {
        "features": ["lives", "law"],
        "max_records": 1,
        "societies": ["east", "north", "south"],
    }
    assert loaded.fixed == {"features", "societies"}


def test_voters_of_small_societies_are_dropped_and_counted(put: Put) -> None:
    path = put(CHOICES + "eva,south,1,1,2,0\neva,south,1,0,1,0\n")
    loaded = load_voters({"choices": str(path), "society": "region", "min_society": 2})
    assert list(loaded.names) == ["ann", "bob", "cho", "eva"]
    assert list(loaded.lines) == [2, 4, 5, 10]
    records = loaded.table["records"]
    assert isinstance(records, Records)
    assert [pairs.tolist() for pairs in records][3] == [[[2, 0], [1, 0]]]
    expected = "4 records of 4 voters, from 10 rows; responses dropped: 1 of small societies; voters dropped: 1"
    assert loaded.note == expected


def test_users_of_a_moral_machine_file_have_that_of_a_column(tmp_path: Path) -> None:
    path = tmp_path / "responses.csv"
    write_moral_machine_like(path, voters=4, records=2)
    header, *lines = path.read_text().splitlines()
    place = header.split(",").index("UserID")
    users = sorted({line.split(",")[place] for line in lines})
    countries = dict(zip(users, ["USA", "FRA", "USA", "FRA"], strict=True))
    rows = [f"{line},{countries[line.split(',')[place]]}" for line in lines]
    path.write_text("\n".join([f"{header},UserCountry3", *rows]) + "\n")
    assert societies_of({"responses": str(path), "society": "UserCountry3"}) == countries


@pytest.mark.bad_input("societies that are not two or more, or that a voter is not in exactly once")
@pytest.mark.parametrize(
    ("text", "given", "why"),
    [
        (
            CHOICES + "ann,south,2,1,2,0\nann,south,2,0,1,0\n",
            {},
            (
                "region (survey.csv line 10) is 'south': use 'north', as on an earlier line of the same voter: a voter "
                "belongs to one society"
            ),
        ),
        (
            CHOICES,
            {"society": "regoin"},
            (
                "voters.society is 'regoin': use another column of survey.csv: region, record, choice, lives, law "
                "(did you mean 'region'?)"
            ),
        ),
        (
            CHOICES.replace("south", "north").replace("east", "north"),
            {},
            "voters.society is 'region: north (4)': use a column with two societies or more",
        ),
        (
            CHOICES,
            {"min_society": 2},
            (
                "voters.society is 'region: north (2), south (1), east (1)': use a column with two societies or more "
                "of 2 voters or more (voters.min_society)"
            ),
        ),
        (
            CHOICES.replace("east", ""),
            {},
            "region (survey.csv line 8) is empty: use the name of the voter's society",
        ),
        (CHOICES, {"min_society": 0}, "voters.min_society is 0: use at least 1"),
        (
            CHOICES.replace("region,", "").replace("north,", "").replace("south,", "").replace("east,", ""),
            {"society": "", "min_society": 3},
            "leave out voters.min_society, unless voters.society names a column",
        ),
    ],
)
def test_a_column_that_does_not_say_of_each_voter_one_society_is_refused(
    put: Put, text: str, given: dict[str, Any], why: str
) -> None:
    assert refused({"choices": str(put(text)), "society": "region", **given}) == why


def test_streamed_voters_have_no_societies() -> None:
    for given in ({"generator": "cultures"}, {"responses": "a.csv", "society": "UserCountry3"}):
        with pytest.raises(ConfigurationError):
            open_stream({"stream": True, **given})


def test_synthetic_societies_have_their_shares_one_after_another() -> None:
    survey = make_cultures(SPEC)
    assert Counter(survey.societies) == {"north": 20, "east": 12, "south": 8}
    assert list(survey.societies) == sorted(survey.societies, key=["north", "east", "south"].index)
    part = make_cultures(SPEC, start=19, stop=21)
    assert list(part.societies) == ["north", "east"]
    assert np.array_equal(part.records.chosen, survey.records.slice_rows(19, 21).chosen)
    other = make_cultures(msgspec.structs.replace(SPEC, seed=5))
    assert not np.array_equal(survey.records.chosen, other.records.chosen)


def test_voters_lie_around_the_effects_of_their_society(put: Put) -> None:
    """Means over 2,000 voters, to five standard errors; how often each side is spared, to five."""
    columns = [f"{name}: Estimates" for name in COLUMNS]
    effects = {"AAA": [0.5] * 9, "BBB": [-0.3] * 8 + [0.9], "CCC": [0.0] * 9}
    lines = [f"{code},{','.join(map(str, own))}" for code, own in effects.items()]
    path = put("\n".join([",".join(['""', *columns]), *lines]) + "\n")
    survey = read_countries(path, CountryVoters(voters=2000, records=3, countries=("CCC", "BBB")))
    assert survey.features == ATTRIBUTES
    assert Counter(survey.societies) == {"CCC": 2000, "BBB": 2000}
    assert survey.truth is not None
    for place, country in enumerate(("CCC", "BBB")):
        own = survey.truth[2000 * place : 2000 * (place + 1)]
        expected = ndtri((1 + np.array(effects[country])) / 2)
        assert np.all(np.abs(own.mean(axis=0) - expected) < 5 * 0.3 / np.sqrt(2000))
    chosen = (survey.records.differences[6000:, 8] > 0).mean()
    rejected = (survey.records.differences[6000:, 8] < 0).mean()
    assert chosen > 5 * rejected  # who are spared have what counts most


COLUMNS = (
    "[Omission -> Commission]",
    "[Passengers -> Pedestrians]",
    "Law [Illegal -> Legal]",
    "Gender [Male -> Female]",
    "Fitness [Large -> Fit]",
    "Social Status [Low -> High]",
    "Age [Elderly -> Young]",
    "No. Characters [Less -> More]",
    "Species [Pets -> Humans]",
)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"societies": {"north": 1.0}}, "use 2 to 256 names with shares above 0 that add up to 1"),
        ({"societies": {"north": 0.5, "east": 0.4}}, "use 2 to 256 names"),
        ({"societies": {"north": 1.5, "east": -0.5}}, "use 2 to 256 names"),
        (
            {"societies": {"north": 0.99, "east": 0.01}},
            ": use a share of 40 voters with at least",
        ),
        ({"distance": -1}, r"distance is .*: use a value from 0 to 1"),
    ],
)
def test_societies_that_cannot_be_synthetic_are_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        msgspec.structs.replace(SPEC, **given)


@pytest.mark.parametrize("countries", [("USA",), ("USA", "USA")])
def test_a_single_country_is_refused(countries: tuple[str, ...]) -> None:
    with pytest.raises(ConfigurationError, match=r"countries (is|are) .*2 to 256 distinct countries"):
        CountryVoters(countries=countries)


def test_real_countries_and_continents_are_societies(real_sets: Path) -> None:
    loaded = load_data_set(
        {"data": "moral_machine_countries", "countries": ["JPN", "BRA"], "voters": 3, "records": 2},
        folder=str(real_sets),
        protocol=MoralPreferences,
        parameters={},
    )
    assert loaded.parameters["societies"] == ["BRA", "JPN"]
    assert loaded.is_generated
    continents = load_data_set(
        {"data": "moral_trolley", "society": "Continent", "min_society": 1000},
        folder=str(real_sets),
        protocol=MoralPreferences,
        parameters={},
    )
    assert Counter(continents.table["society"]) == {"Europe": 11_465, "Americas": 5_877, "Asia": 2_284}


@pytest.mark.bad_input("societies that are not two or more, or that a voter is not in exactly once")
def test_a_country_that_no_file_has_is_refused(put: Put) -> None:
    columns = ",".join(f"{name}: Estimates" for name in COLUMNS)
    path = put(f'"",{columns}\nJPN,{",".join(["0.1"] * 9)}\nFRA,{",".join(["0.1"] * 9)}\n')
    with pytest.raises(
        ConfigurationError, match=r"voters.countries (is|are) .*codes of three letters in .*did you mean"
    ):
        read_countries(path, CountryVoters(countries=("FRA", "JPM")))
    path = put(f'"",{columns}\nJPN,{",".join(["1.5"] * 9)}\n')
    with pytest.raises(ConfigurationError, match=r"is 1.5: use a value above -1 and below 1"):
        read_countries(path, CountryVoters(countries=("JPN", "FRA")))
    with pytest.raises(ConfigurationError, match="use a header with"):
        read_countries(put("a,b\n1,2\n"), CountryVoters())
