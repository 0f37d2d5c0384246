"""Streams of voters: the same voters as at once, the levels of ε they may have, and what cannot be streamed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bad_input import refuses
from machine_files import write_moral_machine_like
from psephos.scenarios.moral_preferences.data import streams
from psephos.scenarios.moral_preferences.data.dilemmas import FEATURES
from psephos.scenarios.moral_preferences.data.moral_machine import read_moral_machine
from psephos.scenarios.moral_preferences.data.parties import load_voters
from psephos.scenarios.moral_preferences.data.privacy_groups import PrivacyGroups
from psephos.scenarios.moral_preferences.data.streams import open_stream

Put = Callable[[str], Path]


def table(**options: Any) -> dict[str, Any]:
    """Return a table of voters that asks to be streamed."""
    return {"stream": True, **options}


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BATCH_VOTERS", 7)


@pytest.mark.parametrize(
    ("options", "features", "max_records"),
    [
        ({"voters": 20, "records": 3, "features": 2}, ("x1", "x2"), 3),
        ({"generator": "normal", "voters": 20, "records": 2, "features": 1, "seed": 8}, ("x1",), 2),
        ({"generator": "moral_machine", "voters": 20, "records": 3}, tuple(FEATURES), 3),
    ],
)
def test_a_generators_batches_are_its_voters(
    tmp_path: Path, options: dict[str, Any], features: tuple[str, ...], max_records: int
) -> None:
    stream = open_stream(table(**options))
    assert (stream.features, stream.max_records) == (features, max_records)
    assert (stream.num_voters, stream.groups) == (20, None)
    surveys = list(stream.open(tmp_path))
    assert [len(survey.voters) for survey in surveys] == [7, 7, 6]
    whole = load_voters(options)
    assert [name for survey in surveys for name in survey.voters] == list(whole.names)
    pairs = [pairs for survey in surveys for pairs in survey.records]
    assert all(np.array_equal(ours, theirs) for ours, theirs in zip(pairs, whole.table["records"], strict=True))
    assert len(list(stream.open(tmp_path))) == 3  # it may be opened again
    assert not list(tmp_path.iterdir())


@pytest.fixture
def machine_file(tmp_path: Path) -> Path:
    """A Moral Machine file of sixteen voters with three dilemmas each."""
    path = tmp_path / "responses.csv"
    write_moral_machine_like(path, voters=16, records=3)
    return path


@pytest.mark.parametrize("max_records", [None, 2])
def test_a_files_batches_are_its_voters(tmp_path: Path, machine_file: Path, max_records: int | None) -> None:
    options = {} if max_records is None else {"max_records": max_records}
    stream = open_stream(table(responses=str(machine_file), **options))
    assert (stream.features, stream.max_records) == (tuple(FEATURES), max_records or 13)
    assert stream.num_voters is None
    surveys = list(stream.open(tmp_path))
    assert [len(survey.voters) for survey in surveys] == [7, 7, 2]
    whole = read_moral_machine(machine_file, max_records=max_records)
    assert [name for survey in surveys for name in survey.voters] == whole.voters
    readings = [survey.reading for survey in surveys]
    assert sum(readings[1:], readings[0]) == whole.reading
    for survey, start in zip(surveys, (0, 7, 14), strict=True):
        part = whole.records.slice_rows(start, start + len(survey.voters))
        assert np.array_equal(survey.records.chosen, part.chosen)
        assert np.array_equal(survey.records.rejected, part.rejected)
    assert [path.name for path in tmp_path.iterdir()] == ["responses.csv"]  # temporary files are gone


def test_temporary_files_go_with_a_stream_that_is_left_early(tmp_path: Path, machine_file: Path) -> None:
    surveys = open_stream(table(responses=str(machine_file))).open(tmp_path)
    next(surveys)
    surveys.close()
    assert [path.name for path in tmp_path.iterdir()] == ["responses.csv"]


def test_levels_are_all_hundredths_between_the_least_and_the_greatest() -> None:
    groups = {"epsilon_conservative": 0.07, "epsilon_moderate": 0.1, "epsilon_liberal": 0.29}
    stream = open_stream(table(voters=3, groups=groups))
    expected = PrivacyGroups(epsilon_conservative=0.07, epsilon_moderate=0.1, epsilon_liberal=0.29)
    assert stream.groups == expected
    assert expected.levels == tuple(float(f"0.{number:02d}") for number in range(7, 30))
    usual = PrivacyGroups().levels
    assert (len(usual), usual[0], usual[28], usual[-1]) == (100, 0.01, 0.29, 1.0)


@pytest.mark.parametrize(
    ("options", "field", "value", "allowed"),
    [
        ({"stream": "yes"}, "voters.stream", "yes", "true or false"),
        ({"choices": "a.csv"}, "voters", None, "without the unknown key 'voters'"),
        ({"data": "moral_trolley"}, "voters.data", "moral_trolley", "left out: streamed voters come from"),
        ({"epsilons": "e.csv"}, "voters.epsilons", "e.csv", "left out: streamed voters come from"),
        (
            {"responses": "a.csv", "generator": "normal"},
            "voters.generator",
            "normal",
            "come from choices, responses or",
        ),
        ({"generator": "fairness"}, "voters.generator", "fairness", "one of normal, moral_machine"),
        ({"generator": "moral-machine"}, "voters.generator", None, "(did you mean 'moral_machine'?)"),
        ({"generator": 1}, "voters.generator", 1, "text"),
        ({"groups": 1}, "voters.groups", 1, "a table"),
        ({"groups": {"liberal": 1}}, "conservative, moderate, liberal", None, "add up to 1"),
        ({"recrods": 1}, "voters", None, "without the unknown key 'recrods'"),
        ({"voters": 0}, "voters", 0, "in [1,"),
    ],
)
def test_what_cannot_be_streamed_is_named_before_anything_is_read(
    options: dict[str, Any], field: str, value: object, allowed: str
) -> None:
    with refuses(field, allowed=allowed) as caught:
        open_stream(table(voters=3) | options)
    if value is not None:
        assert caught.value.value == value


@pytest.mark.parametrize(
    ("content", "options", "field", "allowed"),
    [
        (None, {}, "voters.responses", "There is no file"),
        ("", {}, "survey.csv", "a CSV file with a header"),
        ("ResponseID,UserID\nr,u\n", {}, "survey.csv line 1", "a header with"),
        ("ResponseID,UserID,UserID\n", {}, "survey.csv line 1", "distinct, non-empty names"),
        (None, {"max_records": 0}, "max_records", "at least min_records"),
        (None, {"min_records": 0}, "min_records", "at least 1"),
        (None, {"min_records": 14}, "max_records", "at least min_records"),
        (None, {"voters": 3}, "voters", "without the unknown key 'voters'"),
    ],
)
def test_a_file_that_cannot_be_grouped_is_named_at_once(
    put: Put, content: str | None, options: dict[str, Any], field: str, allowed: str
) -> None:
    path = put(content or "")
    if content is None:
        path.unlink()
    with refuses(field, allowed=allowed):
        open_stream(table(responses=str(path), **options))
