"""Elections as voters: what a table of voters may say, and what a session is told of a profile."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bad_input import refuses
from psephos.protocol import ConfigurationError
from psephos.protocol.fair_voting.rankings import Rankings
from psephos.scenarios.fair_voting.data import electorate_to_parties, load_electorate
from psephos.scenarios.fair_voting.data.files import RankingFile
from psephos.scenarios.fair_voting.data.own_tables import RankingTable
from psephos.scenarios.fair_voting.data.parties import SOURCES
from psephos.scenarios.fair_voting.data.profile import Profile
from psephos.scenarios.fair_voting.data.societies import make_profile, read_society
from psephos.scenarios.reading.sources import PartiesTable

SOCIETY: dict[str, Any] = {
    "alternatives": ["a", "b", "c"],
    "groups": {"north": {"voters": 3, "dispersion": 0.4}, "south": {"voters": 2, "dispersion": 0.0}},
    "seed": 4,
}
SOC = """# FILE NAME: council.soc
# DATA TYPE: soc
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: 4
# NUMBER UNIQUE ORDERS: 2
# ALTERNATIVE NAME 1: bus
# ALTERNATIVE NAME 2: park
# ALTERNATIVE NAME 3: pool
3: 2,1,3
1: 3,2,1
"""


def positions_of(loaded: PartiesTable) -> list[list[int]]:
    """Return what the voters hold."""
    rankings = loaded.table["ranking"]
    assert isinstance(rankings, Rankings)
    return rankings.positions.tolist()


def groups_of(loaded: PartiesTable) -> list[int]:
    codes = loaded.table["group"]
    assert isinstance(codes, np.ndarray)
    assert codes.dtype == np.int64
    return codes.tolist()


def test_a_profile_tells_names_groups_rankings_and_what_follows_from_them(profile: Profile) -> None:
    loaded = electorate_to_parties(profile)
    assert list(loaded.names) == ["ann", "bob", "cat", "dan", "eve"]
    assert set(loaded.table) == {"group", "ranking"}
    assert groups_of(loaded) == [0, 0, 0, 1, 1]
    assert positions_of(loaded) == profile.rankings.positions.tolist()
    assert loaded.parameters == {
        "alternatives": ["a", "b", "c"],
        "groups": ["north", "south"],
        "group_sizes": [3, 2],
    }
    assert loaded.fixed == {"alternatives", "groups", "group_sizes"}
    assert (list(loaded.lines), loaded.source, loaded.note) == ([2, 3, 4, 5, 6], "council.soc", "5 of 5 voters")
    assert (loaded.is_generated, loaded.is_public_record) == (False, False)
    assert electorate_to_parties(profile, is_public_record=True).is_public_record


def test_a_generators_voters_are_its_societys() -> None:
    loaded = load_electorate({"generator": "mallows", **SOCIETY})
    made = make_profile(read_society(SOCIETY, "mallows"))
    assert positions_of(loaded) == made.rankings.positions.tolist()
    assert positions_of(loaded)[3:] == [[0, 1, 2]] * 2
    assert list(loaded.names) == [f"voter-{number}" for number in range(1, 6)]
    assert loaded.parameters["group_sizes"] == [3, 2]
    assert loaded.is_generated
    assert list(loaded.lines) == []


def test_a_table_is_left_as_it_was() -> None:
    table = {"generator": "mallows", **SOCIETY}
    load_electorate(table)
    assert table == {"generator": "mallows", **SOCIETY}


def test_a_file_of_preflib_is_read_as_its_table_says(tmp_path: Path) -> None:
    path = tmp_path / "council.soc"
    text = SOC.replace("UNIQUE ORDERS: 2", "UNIQUE ORDERS: 4").replace("3: 2,1,3\n", "1: 2,1,3\n1: 1,2,3\n1: 2,3,1\n")
    path.write_text(text)
    table = {"file": str(path), "group_rule": "alternating", "groups": ["first", "second"]}
    loaded = load_electorate(table)
    assert positions_of(loaded) == [[1, 0, 2], [0, 1, 2], [2, 0, 1], [2, 1, 0]]
    assert groups_of(loaded) == [0, 1, 0, 1]
    assert loaded.parameters == {
        "alternatives": ["bus", "park", "pool"],
        "groups": ["first", "second"],
        "group_sizes": [2, 2],
    }
    assert not loaded.is_generated
    assert loaded.source == "council.soc"


def test_each_group_may_have_a_file_of_its_own(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / f"{name}.soc").write_text(SOC)
    files = {name: str(tmp_path / f"{name}.soc") for name in ("first", "second")}
    assert groups_of(load_electorate({"group_files": files})) == [0] * 4 + [1] * 4


@pytest.mark.parametrize("suffix", [".soc", ".soi", ".toc", ".toi", ".pb"])
def test_a_bare_path_is_a_file_whose_groups_are_not_said(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(ConfigurationError, match="groups"):
        load_electorate(str(tmp_path / f"council{suffix}"))


def test_keys_that_hold_paths_are_options_of_a_file() -> None:
    assert {*SOURCES.paths, *SOURCES.path_tables} <= {
        *RankingFile.__struct_fields__,
        *RankingTable.__struct_fields__,
    }


@pytest.mark.parametrize(
    ("table", "field", "said"),
    [
        ({}, "voters.file or voters.group_files or voters.generator", "given"),
        ({"seed": 3}, "voters.file or voters.group_files or voters.generator", "given"),
        ({"file": "a.soc", "generator": "mallows"}, "voters.file and voters.generator", "one of them alone"),
        ({"group_files": {}, "generator": "mallows"}, "voters.group_files and voters.generator", "one of them alone"),
        ({"generator": "malows", **SOCIETY}, "voters.generator", "did you mean 'mallows'?"),
        ({"generator": 3, **SOCIETY}, "voters.generator", "text"),
        ({"generator": "impartial", **SOCIETY}, "voters.groups.north", "unknown key 'dispersion'"),
        ({"generator": "mallows", **SOCIETY, "file_": 1}, "voters", "unknown key 'file_'"),
        ({"file": "a.soc", "seed": 3}, "voters", "unknown key 'seed'"),
    ],
)
def test_a_table_that_is_not_allowed_is_refused(table: dict[str, Any], field: str, said: str) -> None:
    with refuses(field, said=said):
        load_electorate(table)
