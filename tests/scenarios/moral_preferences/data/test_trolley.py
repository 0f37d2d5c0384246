"""Trolley dilemmas: what an answer says as a record, and what is refused with its line."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from bad_input import refuses
from psephos.protocol import ConfigurationError
from psephos.scenarios.moral_preferences.data.trolley import TROLLEY_FEATURES, read_trolley

Put = Callable[[str], Path]

FILE = """UserIP_Anonymized,Scenario,survey.age,Outcome
aa,Footbridge,30,0
bb,Switch,40,1
aa,Loop,30,1
aa,Footbridge,30,1
aa,Switch,30,1
"""


def test_answers_are_alternatives_that_were_chosen(put: Put) -> None:
    survey = read_trolley(put(FILE))
    assert survey.features == TROLLEY_FEATURES == ("deaths", "intervention", "means", "personal_force")
    assert list(survey.voters) == ["respondent 1", "respondent 2"]
    assert list(survey.lines) == [2, 3]
    assert survey.records.offsets.tolist() == [0, 3, 4]
    nothing = [5, 0, 0, 0]
    assert survey.records.chosen.tolist() == [nothing, [1, 1, 1, 0], [1, 1, 0, 0], [1, 1, 0, 0]]
    assert survey.records.rejected.tolist() == [[1, 1, 1, 1], nothing, nothing, nothing]


def test_first_answer_to_a_dilemma_counts(put: Put) -> None:
    reading = read_trolley(put(FILE)).reading
    assert (reading.num_responses, reading.num_records, reading.num_repeated) == (5, 4, 1)
    assert "1 given again" in reading.description


def test_respondents_with_too_few_dilemmas_are_dropped(put: Put) -> None:
    survey = read_trolley(put(FILE), min_records=3)
    assert list(survey.voters) == ["respondent 1"]
    assert (survey.reading.num_voters_dropped, survey.reading.num_records_dropped) == (1, 1)


@pytest.mark.parametrize(
    ("old", "new", "field", "what"),
    [
        ("aa,Loop,30,1", "aa,Loop,30,2", "Outcome (survey.csv line 4)", "'2'"),
        ("aa,Loop,30,1", "aa,Loop,30,", "Outcome (survey.csv line 4)", "empty"),
        ("aa,Loop,30,1", "aa,Loop,30", "survey.csv line 4", "3 entries"),
        ("aa,Loop", "aa,Lopp", "Scenario (survey.csv line 4)", "'Lopp'"),
        ("bb,", ",", "survey.csv line 3", "no respondent"),
        ("Outcome", "Result", "survey.csv line 1", "a header with Outcome"),
    ],
)
def test_fault_is_named_with_its_line(put: Put, old: str, new: str, field: str, what: str) -> None:
    with refuses(field, said=what):
        read_trolley(put(FILE.replace(old, new)))


@pytest.mark.parametrize("min_records", [0, 4])
def test_least_number_of_dilemmas_is_checked(put: Put, min_records: int) -> None:
    with pytest.raises(ConfigurationError, match="1, 2 or 3"):
        read_trolley(put(FILE), min_records=min_records)


def test_file_in_which_nobody_has_enough_is_refused(put: Put) -> None:
    with pytest.raises(ConfigurationError, match="answered 2 dilemmas"):
        read_trolley(put("\n".join(FILE.splitlines()[:3])), min_records=2)


def test_real_file_has_the_known_counts(real_sets: Path) -> None:
    survey = read_trolley(real_sets / "moral_trolley" / "Shared_data_responses_demographics.csv")
    reading = survey.reading
    assert (reading.num_rows, reading.num_voters, reading.num_repeated) == (59_159, 20_108, 1_055)
    assert int(np.sum(survey.records.num_records == 3)) == 18_430
    # Fewer intervene where the one is used as a means, and fewer still by hand.
    chosen, rejected = survey.records.chosen, survey.records.rejected
    actions = np.where(chosen[:, 1:2] == 1, chosen, rejected)
    shares = [chosen[(actions[:, 2:] == kind).all(axis=1), 1].mean() for kind in ([0, 0], [1, 0], [1, 1])]
    assert shares == pytest.approx([0.839, 0.757, 0.467], abs=0.005)
