"""Moral Machine files: features, pairing, limits, faults with their lines; in memory and streamed alike."""

import csv
import dataclasses
import importlib
import io
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bad_input import refuses
from machine_files import MACHINE_COLUMNS, write_moral_machine_like
from psephos.protocol import ConfigurationError
from psephos.protocol.arrays import FloatArray
from psephos.scenarios.moral_preferences.data.dilemmas import CHARACTERS, FEATURES
from psephos.scenarios.moral_preferences.data.machine_like import MoralMachineLike, make_machine_like
from psephos.scenarios.moral_preferences.data.moral_machine import ResponseFiles, read_moral_machine
from psephos.scenarios.moral_preferences.data.responses import Limits
from psephos.scenarios.moral_preferences.data.survey import Reading, Survey

Put = Callable[[str], Path]
Read = Callable[..., Survey]

COLUMNS = ["ResponseID", "UserID", "ScenarioType", *MACHINE_COLUMNS[2:]]


def row(response: str, user: str, characters: str, **entries: object) -> dict[str, object]:
    counts: dict[str, int] = dict.fromkeys(CHARACTERS, 0)
    for name in characters.split():
        counts[name] += 1
    cells = {"Intervention": 0, "PedPed": 1, "Barrier": 0, "CrossingSignal": 0, "Saved": 0}
    return {
        "ResponseID": response,
        "UserID": user,
        **cells,
        "NumberOfCharacters": sum(counts.values()),
        **counts,
    } | entries


def text_of(rows: Sequence[dict[str, object]], columns: Sequence[str] = COLUMNS) -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, columns, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def pair(response: str, user: str, spared: str, dead: str, **entries: object) -> list[dict[str, object]]:
    """Return the two rows of a response, of which the first one's characters were spared by staying in lane."""
    first = row(response, user, spared, Intervention=1, Saved=1, **entries)
    return [first, row(response, user, dead, Intervention=0, Saved=0)]


SEVERAL = [
    *pair("r1", "ann", "Man Girl", "Dog"),
    pair("r2", "bob", "Cat", "Boy")[1],
    *pair("r3", "ann", "Woman", "OldMan OldMan"),
    pair("r2", "bob", "Cat", "Boy")[0],
    pair("r4", "cid", "Man", "Man")[0],
    *pair("r5", "ann", "Pregnant", "Criminal"),
    row("r6", "", "Man"),
    pair("r7", "bob", "Man", "Man")[0],
]
"""Ann has three responses, Bob one and a half, Cid half of one, and one row names nobody."""


def stream(
    path: Path,
    *,
    folder: Path,
    batch_voters: int | None = None,
    min_records: int = 1,
    max_records: int | None = None,
    field: str = "file",
) -> Generator[Survey]:
    files = ResponseFiles(str(path), Limits(min_records, max_records), field=field)
    return files.surveys(folder, batch_voters=batch_voters)


@pytest.fixture(params=["memory", "stream"])
def read(request: pytest.FixtureRequest, tmp_path: Path) -> Read:
    """Return what reads a file, in memory or as the batches of a stream put together."""
    if request.param == "memory":
        return read_moral_machine

    def read_stream(path: Path, **options: object) -> Survey:
        return joined(list(stream(path, folder=tmp_path, **options)))  # pyright: ignore[reportArgumentType]  options of any kind, on purpose

    return read_stream


def joined(surveys: Sequence[Survey]) -> Survey:
    voters = [name for survey in surveys for name in survey.voters]
    records = surveys[0].records.from_voters(
        [
            np.stack([part.chosen, part.rejected], axis=1)
            for survey in surveys
            for place in range(len(survey.voters))
            for part in [survey.records.slice_rows(place, place + 1)]
        ],
        num_features=len(FEATURES),
    )
    readings = [survey.reading for survey in surveys]
    return dataclasses.replace(
        surveys[0],
        voters=voters,
        records=records,
        reading=sum(readings[1:], start=readings[0]),
        lines=[line for survey in surveys for line in survey.lines],
    )


def features(**values: float) -> list[float]:
    return [float(values.get(name, 0)) for name in FEATURES]


def test_alternative_describes_the_side_that_is_spared(put: Put, read: Read) -> None:
    rows = [
        row("r", "ann", "Man Man Dog", Intervention=0, CrossingSignal=2, Saved=0, PedPed=0),
        row("r", "ann", "Stroller", Intervention=1, Barrier=1, Saved=1, PedPed=0),
    ]
    survey = read(put(text_of(rows)))
    # The passengers are spared if the car stays in its lane; to spare the illegal pedestrians it would have to swerve.
    assert survey.features == tuple(FEATURES)
    assert survey.records.chosen.tolist() == [features(Stroller=1, passengers=1)]
    assert survey.records.rejected.tolist() == [features(Man=2, Dog=1, intervention=1, legality=-1)]


def test_legal_crossing_is_positive(put: Put, read: Read) -> None:
    survey = read(put(text_of(pair("r", "ann", "Man", "Dog", CrossingSignal=1))))
    assert survey.records.chosen.tolist() == [features(Man=1, legality=1)]


def test_scattered_rows_are_paired_and_every_row_is_accounted_for(put: Put, read: Read) -> None:
    survey = read(put(text_of(SEVERAL)))
    assert list(survey.voters) == ["ann", "bob"]
    assert survey.records.offsets.tolist() == [0, 3, 4]
    expected = [features(Man=1, Girl=1), features(Woman=1), features(Pregnant=1), features(Cat=1)]
    assert survey.records.chosen.tolist() == expected
    assert list(survey.lines) == [2, 4]
    assert survey.reading == Reading(
        num_rows=11,
        num_responses=6,
        num_voters=2,
        num_records=4,
        num_incomplete=2,
        num_voters_dropped=1,
        num_rows_without_voter=1,
    )
    assert survey.reading.description == (
        "4 records of 2 voters, from 11 rows; responses dropped: 2 without a second row; voters dropped: 1; "
        "rows without a voter: 1"
    )


def test_first_responses_count_up_to_the_most(put: Put, read: Read) -> None:
    survey = read(put(text_of(SEVERAL)), max_records=2)
    assert survey.records.offsets.tolist() == [0, 2, 3]
    assert survey.records.chosen.tolist()[:2] == [features(Man=1, Girl=1), features(Woman=1)]
    assert survey.reading.num_surplus == 1


def test_voters_with_too_few_responses_are_dropped_and_counted(put: Put, read: Read) -> None:
    survey = read(put(text_of(SEVERAL)), min_records=2)
    assert list(survey.voters) == ["ann"]
    assert (survey.reading.num_voters_dropped, survey.reading.num_records_dropped) == (2, 1)


@pytest.mark.parametrize("options", [{}, {"min_records": 2}, {"max_records": 1}, {"min_records": 2, "max_records": 2}])
def test_responses_are_records_or_dropped_for_one_reason(put: Put, read: Read, options: dict[str, int]) -> None:
    reading = read(put(text_of(SEVERAL)), **options).reading
    dropped = reading.num_incomplete + reading.num_surplus + reading.num_records_dropped
    assert reading.num_responses == reading.num_records + dropped
    assert reading.num_rows == 2 * reading.num_responses - reading.num_incomplete + reading.num_rows_without_voter


def test_decimals_and_more_columns_are_read_as_published(put: Put, read: Read) -> None:
    rows = [dict(entries, Man=f"{entries['Man']}.0", Other="x") for entries in pair("r", "ann", "Man", "Dog")]
    survey = read(put(text_of(rows, [*COLUMNS, "Other"])))
    assert survey.records.chosen.tolist() == [features(Man=1)]


def test_column_with_the_number_of_characters_may_be_missing(put: Put, read: Read) -> None:
    columns = [name for name in COLUMNS if name != "NumberOfCharacters"]
    assert len(read(put(text_of(pair("r", "ann", "Man", "Dog"), columns))).voters) == 1


FAULTY: dict[str, tuple[dict[str, object], str, str]] = {
    "negative count": ({"Dog": -1}, "Dog (survey.csv line 4)", "'-1'"),
    "half a character": ({"Dog": 0.5}, "Dog (survey.csv line 4)", "'0.5'"),
    "too many characters": ({"Dog": 101}, "Dog (survey.csv line 4)", "from 0 to 100"),
    "count that is no number": ({"Dog": "nan"}, "Dog (survey.csv line 4)", "'nan'"),
    "no count": ({"Dog": ""}, "Dog (survey.csv line 4)", "is empty: "),
    "saved twice": ({"Saved": 2}, "Saved (survey.csv line 4)", "from 0 to 1"),
    "intervention": ({"Intervention": 2}, "Intervention (survey.csv line 4)", "from 0 to 1"),
    "barrier": ({"Barrier": -1}, "Barrier (survey.csv line 4)", "from 0 to 1"),
    "signal": ({"CrossingSignal": 3}, "CrossingSignal (survey.csv line 4)", "[0, 2]"),
    "character of an unknown kind": ({"NumberOfCharacters": 2}, "NumberOfCharacters (survey.csv line 4)", "'2'"),
    "neither side saved": ({"Saved": 0}, "ResponseID r2 (survey.csv line 4, also line 5)", "Saved 0 and 0"),
    "both sides die on a swerve": ({"Intervention": 0}, "ResponseID r2 (survey.csv line 4", "Intervention 0 and 0"),
}


@pytest.mark.parametrize("fault", FAULTY)
def test_faulty_response_is_named_with_its_line(put: Put, read: Read, fault: str) -> None:
    change, field, what = FAULTY[fault]
    rows = [*pair("r1", "bob", "Man", "Dog"), *pair("r2", "ann", "Man", "Dog")]
    rows[2] |= change
    with refuses(said=what) as caught:
        read(put(text_of(rows)))
    assert field in caught.value.field


def test_third_row_of_a_response_is_an_error(put: Put, read: Read) -> None:
    rows = [*pair("r1", "ann", "Man", "Dog"), *pair("r2", "ann", "Man", "Dog"), pair("r1", "ann", "Man", "Dog")[0]]
    with pytest.raises(ConfigurationError, match="3 rows") as caught:
        read(put(text_of(rows)))
    assert caught.value.field == "ResponseID r1 (survey.csv line 2, also line 3, 6)"


def test_first_of_several_faults_is_named(put: Put, read: Read) -> None:
    rows = [*pair("r1", "zoe", "Man", "Dog"), *pair("r2", "ann", "Man", "Dog")]
    rows[0]["Cat"] = rows[2]["Cat"] = 1
    with pytest.raises(ConfigurationError) as caught:
        read(put(text_of(rows)))
    assert "line 2" in caught.value.field


@pytest.mark.parametrize("cut", [-1, -3, -30, -60, -61])
def test_truncated_file_is_an_error_or_lacks_a_second_row(put: Put, read: Read, cut: int) -> None:
    text = text_of([*pair("r1", "ann", "Man", "Dog"), *pair("r2", "ann", "Man", "Dog")])[:cut]
    if cut == -1:  # the line is whole but for its end
        assert read(put(text)).reading.num_records == 2
        return
    if cut <= -60:  # the last line is gone as a whole
        assert read(put(text)).reading.num_incomplete == 1
        return
    with pytest.raises(ConfigurationError) as caught:
        read(put(text))
    assert "survey.csv line 5" in caught.value.field


def test_missing_columns_are_named(put: Put, read: Read) -> None:
    text = text_of(pair("r1", "ann", "Man", "Dog")).replace("Stroller", "Pram").replace("Barrier", "Wall")
    with pytest.raises(ConfigurationError, match="missing: Stroller, Barrier") as caught:
        read(put(text))
    assert caught.value.field == "survey.csv line 1"


def test_empty_file_is_refused(put: Put, read: Read) -> None:
    with pytest.raises(ConfigurationError, match="an empty file"):
        read(put(""))


def test_file_without_rows_or_voters_is_refused(put: Put, read: Read) -> None:
    with pytest.raises(ConfigurationError):
        read(put(text_of([])))
    with pytest.raises(ConfigurationError, match="a voter who has 1 or more complete responses"):
        read(put(text_of([row("r1", "ann", "Man")])))


def test_missing_file_is_blamed_on_its_setting(tmp_path: Path, read: Read) -> None:
    with refuses("voters.responses"):
        read(tmp_path / "none.csv", field="voters.responses")


def test_user_who_can_name_no_party_is_refused_with_its_line(put: Put, read: Read) -> None:
    rows = [*pair("r1", "ann", "Man", "Dog"), *pair("r2", " bob", "Man", "Dog")]
    with refuses("UserID (survey.csv line 4)"):
        read(put(text_of(rows)))


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"min_records": 0}, "min_records"),
        ({"min_records": 3, "max_records": 2}, "max_records"),
    ],
)
def test_limit_that_is_not_allowed_is_refused(put: Put, read: Read, options: dict[str, object], field: str) -> None:
    with refuses(field):
        read(put(text_of(SEVERAL)), **options)


@pytest.mark.parametrize("batch_voters", [1, 2, 3, 1000])
def test_batches_are_the_whole_survey(tmp_path: Path, batch_voters: int) -> None:
    path = tmp_path / "like.csv"
    write_moral_machine_like(path, voters=7, records=3, seed=4)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:4], *lines[5:]]))  # one response lacks a row
    expected = read_moral_machine(path, min_records=3, max_records=3)
    assert expected.reading.num_voters == 6
    surveys = list(stream(path, folder=tmp_path, batch_voters=batch_voters, min_records=3, max_records=3))
    survey = joined(surveys)
    assert max(len(each.voters) for each in surveys) <= batch_voters
    assert list(survey.voters) == list(expected.voters)
    assert list(survey.lines) == list(expected.lines)
    assert survey.reading == expected.reading
    assert np.array_equal(survey.records.offsets, expected.records.offsets)
    assert np.array_equal(survey.records.chosen, expected.records.chosen)
    assert np.array_equal(survey.records.rejected, expected.records.rejected)


def test_stream_leaves_no_temporary_files(tmp_path: Path) -> None:
    path = tmp_path / "like.csv"
    write_moral_machine_like(path, voters=50, records=3)
    folder = tmp_path / "temporary"
    folder.mkdir()
    surveys = stream(path, folder=folder, batch_voters=10)
    next(surveys)
    assert list(folder.iterdir())
    surveys.close()
    assert not list(folder.iterdir())


def test_stream_without_a_temporary_folder_is_refused(put: Put, tmp_path: Path) -> None:
    with refuses("temporary files"):
        next(stream(put(text_of(SEVERAL)), folder=tmp_path / "none"))


def test_responses_in_parquet_are_those_of_a_csv(put: Put, tmp_path: Path) -> None:
    parquet: Any = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    parts = tmp_path / "parts"
    parts.mkdir()

    def write(number: int, rows: Sequence[dict[str, object]]) -> None:
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        parquet.write_table(importlib.import_module("pyarrow").table(columns), parts / f"{number}.parquet")

    for number, (start, stop) in enumerate([(0, 4), (4, 5), (5, len(SEVERAL))]):
        write(number, SEVERAL[start:stop])
    ours = joined(list(stream(parts, folder=tmp_path, batch_voters=1)))
    theirs = read_moral_machine(put(text_of(SEVERAL)))
    assert (list(ours.voters), ours.reading) == (list(theirs.voters), theirs.reading)
    assert np.array_equal(ours.records.differences, theirs.records.differences)
    write(2, [*SEVERAL[5:8], SEVERAL[8] | {"Dog": 101}, *SEVERAL[9:]])
    with refuses("Dog (2.parquet row 4)", "101"):
        list(stream(parts, folder=tmp_path))


def test_rows_of_nobody_are_left_out_of_parquet_as_of_a_csv(put: Put, tmp_path: Path) -> None:
    parquet: Any = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    users = sorted({str(row["UserID"]) for row in SEVERAL})
    rows = [row | {"UserID": 2**53 + users.index(str(row["UserID"]))} for row in SEVERAL]  # no float tells them apart
    columns = {name: [row[name] for row in rows] + [rows[0][name] if name != "UserID" else None] for name in rows[0]}
    parquet.write_table(importlib.import_module("pyarrow").table(columns), path := tmp_path / "all.parquet")
    ours = joined(list(stream(path, folder=tmp_path, batch_voters=1)))
    theirs = read_moral_machine(put(text_of([*rows, rows[0] | {"UserID": ""}])))
    assert (list(ours.voters), ours.reading) == (list(theirs.voters), theirs.reading)
    assert ours.reading.num_rows_without_voter == 1
    assert np.array_equal(ours.records.differences, theirs.records.differences)


@pytest.mark.parametrize("shuffle", [False, True])
def test_written_file_is_the_synthetic_survey(tmp_path: Path, read: Read, *, shuffle: bool) -> None:
    path = tmp_path / "like.csv"
    assert write_moral_machine_like(path, voters=30, records=15, seed=9, shuffle=shuffle) == 900
    survey = read(path)
    expected = make_machine_like(MoralMachineLike(voters=30, records=15, seed=9))
    assert list(survey.voters) == list(expected.voters)
    assert np.array_equal(survey.records.chosen, expected.records.chosen)
    assert np.array_equal(survey.records.rejected, expected.records.rejected)


def test_shuffled_rows_of_a_voter_are_scattered(tmp_path: Path) -> None:
    path = tmp_path / "like.csv"
    write_moral_machine_like(path, voters=100, records=4)
    users = [line.split(",")[1] for line in path.read_text().splitlines()[1:]]
    places = [place for place, user in enumerate(users) if user == users[0]]
    assert len(places) == 8
    assert places[-1] - places[0] > 500


def test_sample_of_the_real_file_has_the_known_counts(real_sets: Path, read: Read) -> None:
    path = real_sets / "moral_machine_sample" / "moral_machine_sample.csv"
    survey = read(path)
    assert survey.reading == Reading(
        num_rows=1000,
        num_responses=523,
        num_voters=477,
        num_records=477,
        num_incomplete=46,
        num_voters_dropped=46,
    )
    differences: FloatArray = survey.records.differences
    assert np.all(np.abs(differences[:, FEATURES.index("intervention")]) == 1)
    # 477 complete pairs: people spare more lives, humans rather than pets, and the lawful.
    assert differences[:, :20].sum() > 0
    assert differences[:, FEATURES.index("Dog")].sum() < 0
    assert differences[:, FEATURES.index("legality")].sum() > 0
