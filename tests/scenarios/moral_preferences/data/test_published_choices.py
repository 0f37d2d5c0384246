"""Published moral choices: everybody's to know, of as many records as asked for, with an ε where voters have one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bad_input import refuses
from machine_files import write_moral_machine_like
from psephos.protocol import ConfigurationError
from psephos.protocol.dpwevote import DPWeVote
from psephos.protocol.moral_preferences import MoralPreferences
from psephos.scenarios import Local, RunFolder, load_scenario, resolve, run_in_folder
from psephos.scenarios.datasets import load_data_set
from psephos.scenarios.moral_preferences.data import moral_machine
from psephos.scenarios.moral_preferences.data.dilemmas import FEATURES
from psephos.scenarios.moral_preferences.data.privacy_groups import PrivacyGroups, draw_epsilons
from psephos.scenarios.moral_preferences.data.published_choices import DATA_SETS
from psephos.scenarios.moral_preferences.data.trolley import TROLLEY_FEATURES
from psephos.scenarios.reading.sources import PartiesTable

Put = Callable[[str, str | bytes], Path]

MACHINE = "moral_machine_sample"
TROLLEY = "moral_trolley"
TROLLEY_FILE = f"{TROLLEY}/Shared_data_responses_demographics.csv"
ANSWERS = """UserIP_Anonymized,Scenario,survey.age,Outcome
aa,Footbridge,30,0
bb,Switch,40,1
aa,Loop,30,1
aa,Switch,30,1
cc,Loop,50,0
"""


@pytest.fixture
def folder(put_set: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small folder of both data sets, which no variable names."""
    monkeypatch.delenv("PSEPHOS_DATA", raising=False)
    put_set(TROLLEY_FILE, ANSWERS)
    write_moral_machine_like(put_set(f"{MACHINE}/{MACHINE}.csv", ""), voters=5, records=2)
    return tmp_path / "sets"


def load(folder: Path, name: str, **options: Any) -> PartiesTable:
    """Return the voters of a data set."""
    return load_data_set({"data": name, **options}, folder=str(folder), parameters={}, protocol=MoralPreferences)


def resolved(folder: Path, name: str, *settings: str) -> Local:
    """Return a session of a data set's voters."""
    return resolve(load_scenario("moral-synthetic", [f"voters.data={name}", f"data={folder}", *settings]))


@pytest.mark.parametrize(
    ("name", "features", "num_voters", "max_records"),
    [(TROLLEY, TROLLEY_FEATURES, 3, 3), (MACHINE, tuple(FEATURES), 5, 2)],
)
def test_choices_are_public_record_and_nobody_made_them_up(
    folder: Path, name: str, features: tuple[str, ...], num_voters: int, max_records: int
) -> None:
    loaded = load(folder, name)
    assert (loaded.is_public_record, loaded.is_generated) == (True, False)
    assert loaded.parameters == {"features": list(features), "max_records": max_records}
    assert (len(loaded.names), len(loaded.lines)) == (num_voters, num_voters)
    assert loaded.note.endswith(" rows")


def test_respondents_with_fewer_dilemmas_are_dropped_and_counted(folder: Path) -> None:
    loaded = load(folder, TROLLEY, min_records=3)
    assert list(loaded.names) == ["respondent 1"]
    assert loaded.note == (
        "3 records of 1 voters, from 5 rows; responses dropped: 2 of voters with too few; voters dropped: 2"
    )
    assert list(load(folder, MACHINE, min_records=2).names) == list(load(folder, MACHINE).names)


def test_respondents_may_have_an_epsilon_of_their_own(folder: Path, tmp_path: Path) -> None:
    groups = load(folder, TROLLEY, groups={"seed": 4}).table["epsilon"]
    assert groups == draw_epsilons(PrivacyGroups(seed=4), num_voters=3)
    path = tmp_path / "e.csv"
    path.write_text("voter,epsilon\nrespondent 3,3\nrespondent 2,2\nrespondent 1,1\n", encoding="utf-8")
    assert load(folder, TROLLEY, epsilons=str(path)).table["epsilon"] == [1, 2, 3]


@pytest.mark.parametrize(
    ("name", "options", "field", "allowed"),
    [
        (TROLLEY, {"min_records": 0}, "min_records", "1, 2 or 3"),
        (TROLLEY, {"min_records": 4}, "min_records", "1, 2 or 3"),
        (MACHINE, {"min_records": 0}, "min_records", "at least 1"),
        (MACHINE, {"min_records": 3}, None, "a file with"),
        (TROLLEY, {"max_records": 3}, "voters", "without the unknown key 'max_records'"),
        (TROLLEY, {"groups": {}, "epsilons": "e.csv"}, "voters.groups and voters.epsilons", "alone"),
        (TROLLEY, {"epsilons": "e.csv"}, "voters.epsilons", "a readable file"),
        ("moral_troley", {}, "voters.data", "(did you mean 'moral_trolley'?)"),
        ("imf_votes", {}, "voters.data", "another data set: this one is for protocol 'dpwevote'"),
    ],
)
def test_what_cannot_be_chosen_is_named(
    folder: Path, name: str, options: dict[str, Any], field: str | None, allowed: str
) -> None:
    with refuses(allowed=allowed) as caught:
        load(folder, name, **options)
    assert field in {None, caught.value.field}


@pytest.mark.parametrize("name", [TROLLEY, MACHINE])
def test_moral_choices_are_no_votes(folder: Path, name: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_data_set({"data": name}, folder=str(folder), parameters={}, protocol=DPWeVote)
    assert caught.value.allowed == "another data set: this one is for protocol 'moral-preferences'"
    assert name in DATA_SETS


def test_a_missing_file_is_named_with_its_folder(put_set: Put, tmp_path: Path) -> None:
    put_set("moral_trolley/other.csv", "")
    with refuses("data") as caught:
        load(tmp_path / "sets", TROLLEY)
    assert "Shared_data_responses_demographics.csv" in f"{caught.value.value} {caught.value.allowed}"


def test_a_fault_in_a_file_is_named_with_its_line(put_set: Put, folder: Path) -> None:
    put_set(TROLLEY_FILE, ANSWERS.replace("aa,Loop,30,1", "aa,Loop,30,2"))
    with refuses("Outcome (Shared_data_responses_demographics.csv line 4)"):
        load(folder, TROLLEY)


def test_what_would_be_found_without_noise_may_be_shown(folder: Path, tmp_path: Path) -> None:
    session = resolved(folder, TROLLEY)
    assert session.may_show_truth
    finished = run_in_folder(session, RunFolder(tmp_path / "out"), pictures=False)
    assert set(finished.truth or {}) == set(TROLLEY_FEATURES)
    assert not resolved(folder, TROLLEY, "noise=secure").may_show_truth


def test_a_rerun_leaves_features_and_records_to_the_data_set(folder: Path, tmp_path: Path) -> None:
    settings = ("seed=5", "paradigm=VLDP", "voters.groups={}")
    first = resolved(folder, TROLLEY, *settings)
    finished = run_in_folder(first, RunFolder(tmp_path / "first"), pictures=False)
    path = str(tmp_path / "first" / "scenario.json")
    parameters = load_scenario(path).parameters
    assert parameters.keys().isdisjoint({"features", "max_records", "epsilons"})
    assert parameters["paradigm"] == "VLDP"
    again = resolve(load_scenario(path, ["seed=5"]))
    assert again.protocol.parameters == first.protocol.parameters
    assert run_in_folder(again, RunFolder(tmp_path / "again"), pictures=False).result == finished.result


@pytest.mark.parametrize("name", ["{}.0", "{}-{}", "user {}"])
def test_a_file_is_not_read_again_for_users_whose_names_are_numbers_with_a_point(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """As the published file has them: to look a line up takes the whole file, and is for errors alone."""

    def look_up(_: object, row: int) -> Any:
        raise AssertionError(f"row {row} was looked up")

    path = folder / MACHINE / f"{MACHINE}.csv"
    header, *rows = path.read_text(encoding="utf-8").splitlines()
    place = header.split(",").index("UserID")
    cells = [row.split(",") for row in rows]
    for row in cells:
        row[place] = name.format(row[place], "x")
    path.write_text("\n".join([header, *(",".join(row) for row in cells)]) + "\n", encoding="utf-8")
    monkeypatch.setattr(moral_machine.ResponseFiles, "_row_at", look_up)
    assert [each for each in load(folder, MACHINE).names if name.format("", "x").strip() in each]


# The real folder.


def test_the_real_sample_of_the_moral_machine_has_one_response_of_each_user(real_sets: Path) -> None:
    loaded = load(real_sets, MACHINE)
    assert loaded.parameters["max_records"] >= 1
    session = resolved(real_sets, MACHINE, "transport=array")
    assert len(session.names) == len(loaded.names) > 0
    assert session.protocol.parameters.features == tuple(FEATURES)


def test_the_real_trolley_problems_are_answered_for_a_direction(real_sets: Path, tmp_path: Path) -> None:
    """Twenty thousand respondents: more deaths speak against an alternative, whatever noise is drawn at ε = 1."""
    session = resolved(
        real_sets, TROLLEY, "transport=array", "paradigm=RLCP", "mechanism=direction", "voters.min_records=3"
    )
    finished = run_in_folder(session, RunFolder(tmp_path / "out"), pictures=False)
    outcome: Any = finished.record.outcome
    assert outcome.num_voters == 18_430
    assert dict(zip(outcome.features, outcome.preferences, strict=True))["deaths"] < 0
    assert "voters dropped: 1,678" in (tmp_path / "out" / "run.json").read_text(encoding="utf-8")
