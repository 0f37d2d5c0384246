"""Surveys in CSV files: what is read, and what is refused with its line."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from bad_input import refuses
from psephos.protocol import ConfigurationError
from psephos.scenarios.moral_preferences.data.files import read_own_records, read_survey
from psephos.scenarios.moral_preferences.data.streams import open_stream

Put = Callable[[str], Path]

TWO_VOTERS = """voter,record,choice,lives,law
bob,1,0,5,0
ann,1,1,1,1
bob,2,1,2,-1
ann,1,0,4,0.5
bob,1,1,3,1
bob,2,0,2,1e-1
"""


def test_records_of_scattered_rows_are_paired_in_the_order_of_first_lines(put: Put) -> None:
    survey = read_survey(put(TWO_VOTERS))
    assert list(survey.voters) == ["bob", "ann"]
    assert survey.features == ("lives", "law")
    assert list(survey.lines) == [2, 3]
    assert survey.records.offsets.tolist() == [0, 2, 3]
    assert survey.records.chosen.tolist() == [[3, 1], [2, -1], [1, 1]]
    assert survey.records.rejected.tolist() == [[5, 0], [2, 0.1], [4, 0.5]]
    assert not survey.is_generated
    assert survey.truth is None
    reading = survey.reading
    assert (reading.num_rows, reading.num_responses, reading.num_records, reading.num_voters) == (6, 3, 3, 2)
    assert reading.description == "3 records of 2 voters, from 6 rows"


FORMS = {
    "CR LF": TWO_VOTERS.replace("\n", "\r\n"),
    "byte order mark": "\ufeff" + TWO_VOTERS,
    "no last line end": TWO_VOTERS.rstrip("\n"),
    "quotes": TWO_VOTERS.replace("bob", '"bob"'),
    "another way to write a number": TWO_VOTERS.replace("1e-1", ".1"),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_the_same_file_give_the_same_survey(put: Put, form: str) -> None:
    expected = read_survey(put(TWO_VOTERS))
    survey = read_survey(put(FORMS[form]))
    assert list(survey.voters) == list(expected.voters)
    assert list(survey.lines) == list(expected.lines)
    assert np.array_equal(survey.records.chosen, expected.records.chosen)
    assert np.array_equal(survey.records.rejected, expected.records.rejected)


def test_packed_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "survey.csv.gz"
    path.write_bytes(gzip.compress(TWO_VOTERS.encode()))
    assert list(read_survey(path).voters) == ["bob", "ann"]


def test_blank_lines_are_no_rows_and_lines_count_them(put: Put) -> None:
    survey = read_survey(put(TWO_VOTERS.replace("ann,1,1", "\nann,1,1")))
    assert list(survey.lines) == [2, 4]
    assert survey.reading.num_rows == 6


def test_names_that_look_like_missing_values_are_names(put: Put) -> None:
    survey = read_survey(put(TWO_VOTERS.replace("ann", "NA").replace("bob", "nan")))
    assert list(survey.voters) == ["nan", "NA"]


def test_numbers_are_read_to_the_last_bit(put: Put) -> None:
    numbers = ["0.1", "2.2250738585072014e-308", "-999999999.9999999", "0.30000000000000004"]
    rows = [f"v,{place},{choice},{number}" for place, number in enumerate(numbers) for choice in (1, 0)]
    survey = read_survey(put("voter,record,choice,x\n" + "\n".join(rows)))
    assert survey.records.chosen[:, 0].tolist() == [float(number) for number in numbers]


FAULTS = {
    "second line missing": ("bob,2,0,2,1e-1\n", "", "line 4", "1 line, 1 of them chosen"),
    "third line": ("bob,2,0", "bob,2,0,9,9\nbob,2,0", "line 4", "3 lines, 1 of them chosen (also line 7, 8)"),
    "both chosen": ("ann,1,0", "ann,1,1", "line 3", "2 lines, 2 of them chosen (also line 5)"),
    "none chosen": ("ann,1,1", "ann,1,0", "line 3", "2 lines, 0 of them chosen (also line 5)"),
    "choice of two": ("ann,1,1", "ann,1,2", "choice (survey.csv line 3)", "'2'"),
    "choice of half": ("ann,1,1", "ann,1,0.5", "choice (survey.csv line 3)", "'0.5'"),
    "choice in words": ("ann,1,1", "ann,1,yes", "choice (survey.csv line 3)", "'yes'"),
    "nan": ("4,0.5", "nan,0.5", "lives (survey.csv line 5)", "'nan'"),
    "infinite": ("4,0.5", "4,-inf", "law (survey.csv line 5)", "'-inf'"),
    "too large": ("4,0.5", "4,1e999", "law (survey.csv line 5)", "'1e999'"),
    "empty": ("4,0.5", ",0.5", "lives (survey.csv line 5)", "empty"),
    "words": ("4,0.5", "four,0.5", "lives (survey.csv line 5)", "'four'"),
    "underscores": ("4,0.5", "4_0,0.5", "lives (survey.csv line 5)", "'4_0'"),
    "short line": ("4,0.5", "4", "survey.csv line 5", "4 entries"),
    "long line": ("4,0.5", "4,0.5,1", "survey.csv line 5", "6 entries"),
    "short and long lines": ("4,0.5\nbob,1,1", "4\nbob,1,1,1", "survey.csv line 5", "4 entries"),
    "cut within the last line": (",1e-1\n", "", "survey.csv line 7", "4 entries"),
    "cut within a quote": ("bob,2,0,2,1e-1\n", 'bob,2,0,"2', "survey.csv line 7", "end of data"),
    "column twice": ("lives,law", "lives,lives", "survey.csv line 1", "'lives'"),
    "column without a name": ("lives,law", ",law", "survey.csv line 1", "each with a name"),
    "no voters column": ("voter,", "person,", "column 'voter' of survey.csv", "missing"),
    "no choice column": ("choice,", "chosen,", "column 'choice' of survey.csv", "missing"),
    "beyond what a feature may be": ("4,0.5", "4,-1000000001", "law (survey.csv line 5)", "from -1e+09 to 1e+09"),
    "voter without a name": ("bob,2,1", ",2,1", "voter (survey.csv line 4)", "empty"),
    "voter with a blank": ("ann,", "ann ,", "voter (survey.csv line 3)", "'ann '"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_named_with_its_line(put: Put, fault: str) -> None:
    old, new, where, what = FAULTS[fault]
    assert old in TWO_VOTERS
    with refuses(said=where) as caught:
        read_survey(put(TWO_VOTERS.replace(old, new)))
    assert what in str(caught.value)


@pytest.mark.parametrize("fault", ["both chosen", "nan", "voter with a blank", "choice of two"])
def test_quotes_change_nothing_about_a_fault(put: Put, fault: str) -> None:
    old, new, where, what = FAULTS[fault]
    with refuses(said=where) as caught:
        read_survey(put(TWO_VOTERS.replace(old, new).replace("bob", '"bob"')))
    assert what in str(caught.value)


@pytest.mark.parametrize(
    ("text", "what"),
    [("", "an empty file"), ("\n\n", "an empty file"), ("voter,record,choice,x\n", "a header alone")],
    ids=["nothing", "blank lines", "header"],
)
def test_file_without_rows_is_refused(put: Put, text: str, what: str) -> None:
    with pytest.raises(ConfigurationError, match=what):
        read_survey(put(text))


def test_header_without_features_is_refused(put: Put) -> None:
    with pytest.raises(ConfigurationError, match="at least one feature"):
        read_survey(put("voter,record,choice\nann,1,1\nann,1,0\n"))


def test_file_that_is_not_there_is_blamed_on_its_setting(tmp_path: Path) -> None:
    with refuses("voters.file"):
        read_survey(tmp_path / "none.csv", field="voters.file")


def test_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "survey.csv"
    path.write_bytes(b"voter,record,choice,x\n\xff\xfe,1,1,1\n")
    with pytest.raises(ConfigurationError):
        read_survey(path)


def test_fault_beyond_the_first_block_is_found(put: Put) -> None:
    """Pandas reads a quarter of a megabyte at a time."""
    rows = [f"voter {place // 20},{place % 20 // 2},{1 - place % 2},{place},0.5" for place in range(60_000)]
    rows[-1] = rows[-1].replace("0.5", "0.5,1")
    with refuses("survey.csv line 60001"):
        read_survey(put("voter,record,choice,x,y\n" + "\n".join(rows)))


OWN = """record,choice,lives,law
a,0,1,2
b,1,3,4
b,0,5,6
a,1,7,8
"""


def test_own_records_are_chosen_and_rejected(put: Put) -> None:
    records, features = read_own_records(put(OWN))
    assert features == ("lives", "law")
    assert records.tolist() == [[[7, 8], [1, 2]], [[3, 4], [5, 6]]]


def test_own_file_with_voters_is_refused(put: Put) -> None:
    with pytest.raises(ConfigurationError, match="without 'voter'"):
        read_own_records(put(TWO_VOTERS))


def test_own_record_without_its_second_line_is_refused(put: Put) -> None:
    with pytest.raises(ConfigurationError, match="1 line, 1 of them chosen") as caught:
        read_own_records(put(OWN.replace("b,0,5,6\n", "")))
    assert caught.value.field == "survey.csv line 3"


def test_voters_whose_names_are_nearly_alike_are_refused(put: Put) -> None:
    path = put(TWO_VOTERS.replace("ann,1,1,1,1", "Bob,1,1,1,1").replace("ann", "Bob"))
    with pytest.raises(ConfigurationError, match=r"line 3\): .* and 'bob'.* differ in case or blanks alone"):
        read_survey(path)
    with pytest.raises(ConfigurationError, match=r"line 3\): .* and 'bob'.* differ in case or blanks alone"):
        open_stream({"choices": str(path)})
