"""Surveys and readings: what fits together, and what is told."""

import dataclasses

import numpy as np
import pytest
from psephos.protocol.moral_preferences.records import Records
from psephos.scenarios.moral_preferences.data.survey import Reading, Survey

RECORDS = Records(np.array([0, 1, 1]), np.array([[1.0, 2.0]]), np.array([[0.0, 2.0]]))
READING = Reading(num_rows=2, num_responses=1, num_voters=2, num_records=1)
SURVEY = Survey(voters=["a", "b"], features=("x", "y"), records=RECORDS, source="here", reading=READING)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"voters": ["a"]}, "are of 1, 2 and 0 voters: give each voter a name"),
        ({"lines": [2]}, "are of 2, 2 and 1 voters: give each voter a name, and all or none a line"),
        ({"features": ("x",)}, "the number of features' names is 1: give 2"),
        ({"truth": np.zeros((2, 3))}, r"shape \(2, 2\)"),
    ],
)
def test_parts_that_do_not_fit_are_refused(change: dict[str, object], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        dataclasses.replace(SURVEY, **change)  # pyrefly: ignore[bad-argument-type]  what does not fit


def test_readings_add_up() -> None:
    other = Reading(num_rows=5, num_responses=3, num_voters=1, num_records=1, num_incomplete=1, num_surplus=1)
    total = READING + other
    assert total == Reading(num_rows=7, num_responses=4, num_voters=3, num_records=2, num_incomplete=1, num_surplus=1)


def test_description_names_every_reason() -> None:
    names = [field.name for field in dataclasses.fields(Reading)]
    reading = Reading(**dict(zip(names, [*range(1_000, 10_000, 1_000), 99, 300, 70], strict=True)))
    assert reading.description == (
        "4,000 records of 3,000 voters, from 1,000 rows; responses dropped: 5,000 without a second row, 6,000 "
        "given again, 7,000 beyond the most for each voter, 9,000 of voters with too few, "
        "70 of small societies; voters dropped: 8,300; rows without a voter: 99"
    )
