"""The Council's and the Fund's votes: weights as published, opinions made up, every fault named with its line."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bad_input import Write, refuses
from psephos.protocol import ConfigurationError
from psephos.protocol.dpwevote import DPWeVote
from psephos.scenarios.datasets import load_data_set
from psephos.scenarios.dpwevote.data.synthetic import make_partners
from psephos.scenarios.dpwevote.data.weighted_votes import TREATIES
from psephos.scenarios.reading.sources import PartiesTable

COUNCIL = "eu_council_weights/eucouncil_weights.csv"
FUND = "imf_votes/votes.csv"


def load(folder: Path, data: str, parameters: dict[str, Any] | None = None, **options: Any) -> PartiesTable:
    """Return a data set's parties."""
    return load_data_set({"data": data, **options}, folder=str(folder), parameters=parameters or {}, protocol=DPWeVote)


def council(folder: Path, treaty: str, parameters: dict[str, Any] | None = None, **options: Any) -> PartiesTable:
    """Return the Council's members."""
    return load(folder, "eu_council_weights", parameters, treaty=treaty, **options)


def weights(loaded: PartiesTable) -> list[float]:
    return list(loaded.table["weight"])


@pytest.mark.parametrize(
    ("treaty", "num_members", "total", "quota"),
    [("EU-10", 10, 63, 45), ("EU-25", 25, 321, 232), ("EU-27", 27, 345, 255), ("EU-28", 28, 352, 260)],
)
def test_a_treaty_has_its_members_its_weights_and_its_quota(
    sets: Path, treaty: str, num_members: int, total: int, quota: int
) -> None:
    loaded = council(sets, treaty)
    assert (len(loaded.names), sum(weights(loaded))) == (num_members, total)
    assert loaded.parameters == {"public_weights": True, "weights": sorted(set(weights(loaded))), "quota": quota}
    assert loaded.is_generated
    assert not loaded.is_public_record


def test_members_keep_the_order_and_the_lines_of_their_file(sets: Path) -> None:
    loaded = council(sets, "EU-10")
    assert list(loaded.names[:5]) == ["Large 0", "Large 1", "Large 2", "Large 3", "Middle 0"]
    assert list(loaded.lines) == list(range(2, 12))
    assert loaded.source == "eucouncil_weights.csv"


@pytest.mark.parametrize(
    ("parameters", "has_quota"),
    [
        ({"quota": 40}, False),
        ({"quota_fraction": 0.5}, False),
        ({"quota": None, "quota_fraction": None}, True),
        ({"epsilon": 2.0}, True),
    ],
)
def test_a_scenarios_own_quota_stands(sets: Path, parameters: dict[str, Any], *, has_quota: bool) -> None:
    assert ("quota" in council(sets, "EU-10", parameters).parameters) == has_quota


def test_opinions_are_those_of_the_generator(sets: Path) -> None:
    options: dict[str, Any] = {"yes_shares": [0.3, 0.8], "seed": 5}
    parameters = {"candidates": ["a", "b"]}
    loaded = council(sets, "EU-10", parameters, **options)
    partners = make_partners({"count": 10, **options}, parameters=parameters)
    assert partners is not None
    table = partners.table
    assert {name: np.asarray(loaded.table[name]).tolist() for name in "ab"} == {
        name: np.asarray(table[name]).tolist() for name in "ab"
    }


def test_without_candidates_there_is_one_proposal(sets: Path) -> None:
    assert set(load(sets, "imf_votes").table) == {"weight", "proposal"}


def test_the_funds_shares_are_taken_as_they_are_and_its_names_put_right(sets: Path) -> None:
    loaded = load(sets, "imf_votes")
    assert list(loaded.names) == ["Alpha, Republic of", "Beta", "Côte", "Delta"]
    assert weights(loaded) == [51.0, 26.5, 12.25, 10.24]
    assert loaded.parameters == {"public_weights": True, "weights": [10.24, 12.25, 26.5, 51.0]}
    assert loaded.is_generated


def test_of_a_name_one_digit_alone_is_a_footnote(sets: Path, put_set: Write) -> None:
    put_set(FUND, "country,vote_percentage\nArea 513,60\nZürich,40\n")
    assert list(load(sets, "imf_votes").names) == ["Area 51", "Zürich"]


@pytest.mark.parametrize(
    ("options", "field", "allowed"),
    [
        ({"treaty": "EU27"}, "treaty", "EU-28 (did you mean 'EU-27'?)"),
        ({"treaty": "Nice"}, "treaty", "one of EU-10, EU-12, EU-15"),
        ({}, "partners", "with the required key 'treaty'"),
        ({"treaty": "EU-10", "count": 3}, "partners", "without the unknown key 'count'"),
        ({"treaty": "EU-10", "yes_shares": [2]}, "partners.yes_shares", "shares in [0, 1]"),
        ({"treaty": "EU-10", "yes_shares": [0.5, 0.5]}, "partners.yes_shares", "1 share, for proposal"),
        ({"treaty": "EU-10", "seed": -1}, "partners.seed", "at least 0"),
    ],
)
def test_a_wrong_option_is_refused(sets: Path, options: dict[str, Any], field: str, allowed: str) -> None:
    with refuses(field, allowed=allowed):
        load(sets, "eu_council_weights", **options)


@pytest.mark.parametrize("votes", ["ten", "-3", "2.5", "0", "٣", "9" * 5000])
def test_votes_that_are_no_number_are_named_with_their_line(sets: Path, put_set: Write, votes: str) -> None:
    put_set(COUNCIL, f"country,v10\nAlpha,10\n\nBeta,{votes}\n")
    with pytest.raises(ConfigurationError, match=": use a number of votes") as caught:
        council(sets, "EU-10")
    assert (caught.value.field, caught.value.value) == ("v10 (eucouncil_weights.csv line 4)", votes)
    assert caught.value.allowed == "a number of votes, or empty for no member"


@pytest.mark.parametrize(
    ("rows", "found"),
    [("Alpha,10\nBeta,53\n", "2 members with 63 votes"), ("A,6\n" * 10, "10 members with 60 votes"), ("", "0 members")],
)
def test_a_file_that_is_not_the_treatys_is_refused(sets: Path, put_set: Write, rows: str, found: str) -> None:
    put_set(COUNCIL, f"country,v10\n{rows}")
    with refuses("eucouncil_weights.csv, column v10") as caught:
        council(sets, "EU-10")
    assert str(caught.value.value).startswith(found)
    assert caught.value.allowed == "10 members with 63 votes under EU-10"


@pytest.mark.parametrize("share", ["much", "", "0", "-1", "100.5", "nan", "inf"])
def test_a_share_that_is_none_is_named_with_its_line(sets: Path, put_set: Write, share: str) -> None:
    put_set(FUND, f"country,vote_percentage\nAlpha,60\nBeta,{share}\n")
    with refuses("vote_percentage (votes.csv line 3)", share) as caught:
        load(sets, "imf_votes")
    assert caught.value.allowed == "a share in percent, in (0, 100]"


@pytest.mark.parametrize(("rows", "total"), [("Alpha,60\nBeta,39.98\n", "99.98"), ("", "0.00")])
def test_shares_that_are_not_everybodys_are_refused(sets: Path, put_set: Write, rows: str, total: str) -> None:
    put_set(FUND, f"country,vote_percentage\n{rows}")
    with refuses("votes.csv, column vote_percentage") as caught:
        load(sets, "imf_votes")
    assert total in str(caught.value.value)


@pytest.mark.parametrize("treaty", list(TREATIES))
def test_the_real_file_holds_every_treaty(real_sets: Path, treaty: str) -> None:
    loaded = council(real_sets, treaty)
    expected = TREATIES[treaty]
    assert (len(loaded.names), sum(weights(loaded))) == (expected.num_members, expected.total)
    assert loaded.parameters["quota"] == expected.quota
    assert ("Croatia" in loaded.names) == (treaty == "EU-28")
    assert ("Romania" in loaded.names) == (treaty in {"EU-27", "EU-28"})


def test_the_real_fund_has_190_members(real_sets: Path) -> None:
    loaded = load(real_sets, "imf_votes")
    of = dict(zip(loaded.names, weights(loaded), strict=True))
    assert len(of) == 190
    assert math.isclose(math.fsum(of.values()), 99.91)
    assert (of["United States"], of["Japan"], of["China"]) == (16.51, 6.15, 6.08)
    assert not any(name[-1].isdigit() for name in of)
    assert {"Côte d'Ivoire", "São Tomé and Príncipe", "Venezuela, República Bolivariana de"} <= of.keys()
