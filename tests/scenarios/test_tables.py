"""Tables and verdicts: the same cells wherever they are shown, numbers apart from words, and tones of their own."""

import io
import math

import msgspec
import pytest
from psephos.scenarios.presentation.terminal import show_sheet
from psephos.scenarios.tables import Cell, Table, csv_of, listed, markdown_of, six_digits
from psephos.scenarios.verdicts import AuditVerdict, Judgement, cell_of_decision, round_up
from rich.console import Console

SHEET = Table(
    caption="Votes", columns=("n", "share"), rows=(("10", "0.5 ± 0.1"), ("500", "a|b")), note="of all", labels=0
)
LABELED = Table(caption="Votes", columns=("who", "n"), rows=(("a", "1"),))


def test_markdown_has_every_cell() -> None:
    lines = markdown_of(SHEET).splitlines()
    assert lines[0] == "**Votes**"
    assert lines[2:6] == ["| n | share |", "| ---: | ---: |", "| 10 | 0.5 ± 0.1 |", "| 500 | a\\|b |"]
    assert lines[-1] == "of all"
    assert markdown_of(LABELED).splitlines()[3] == "| :--- | ---: |"


def test_a_bound_that_is_rounded_stays_one() -> None:
    assert [round_up(bound) for bound in (0.35211, 0.352, 0.1 + 0.2, 12341.0)] == [0.353, 0.352, 0.3, 12400.0]
    assert [round_up(bound, decimals=3) for bound in (1.5e-5, 0.35211, 0.0, math.inf)] == [0.001, 0.353, 0.0, math.inf]


def test_a_terminal_shows_every_cell() -> None:
    file = io.StringIO()
    show_sheet(Console(file=file, width=100), SHEET)
    text = file.getvalue()
    assert all(str(cell) in text for row in (SHEET.columns, *SHEET.rows) for cell in row)
    assert "of all" in text


def test_a_table_has_a_line_for_each_row_and_a_header_for_each_cell() -> None:
    sheet = listed(
        [("b", 2), ("a", 1)], (("who", lambda row: row[0]), ("n", lambda row: f"{row[1]}")), caption="Votes", labels=0
    )
    assert sheet == Table(caption="Votes", columns=["who", "n"], rows=[["b", "2"], ["a", "1"]], labels=0)


def test_a_column_holds_numbers_where_each_of_its_cells_is_one_or_is_missing() -> None:
    rows = [("a", Cell("1", 1.0), Cell("–"), "2"), ("b", Cell("–"), "–", Cell("1", 1))]
    assert Table(columns=("name", "n", "none", "mixed"), rows=rows).is_number == [False, True, False, False]
    assert Table(columns=("a", "b"), rows=()).is_number == [False, False]


def test_a_file_has_a_cells_number_unless_its_words_say_more() -> None:
    cells = [Cell("1,234", 1234), Cell("1.2 ± 0.1", 1.23, is_part=True), Cell("yes"), Cell("up to 2", 2.0)]
    assert [cell.written for cell in cells] == [1234, "1.2 ± 0.1", "yes", 2.0]


def test_no_cell_of_a_file_is_a_formula() -> None:
    assert csv_of([["=name", "n"], ["=1+1", -1.5]]) == "'=name,n\r\n'=1+1,-1.5\r\n"


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (None, Cell("–")),
        ("", Cell("–")),
        (True, Cell("yes")),
        (1234, Cell("1,234", 1234)),
        (0.12345678, Cell("0.123457", 0.12345678)),
        ("a", Cell("a")),
    ],
)
def test_plain_data_has_a_cell(value: object, cell: Cell) -> None:
    assert Cell.of(value) == cell


def test_a_verdict_is_its_words_in_a_file_and_brings_its_tone() -> None:
    assert msgspec.json.encode([*AuditVerdict]) == b'["consistent","claim refuted","proof refuted","no statement"]'
    assert msgspec.json.decode(b'"proof refuted"', type=AuditVerdict) is AuditVerdict.PROOF_REFUTED
    assert [verdict.tone for verdict in AuditVerdict] == ["", "warning", "poor", "quiet"]
    assert [judgement.cell for judgement in Judgement][:2] == [
        Cell("holds", tone="good"),
        Cell("holds in part", tone="warning"),
    ]


def test_what_a_vote_decides_has_a_tone_and_nothing_else_has_one() -> None:
    said = ("passes", "fails", "undecided, leaning no", "too close to tell", "refuted", None)
    assert [cell_of_decision(words).tone for words in said] == ["good", "poor", "warning", "warning", "", ""]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.1234567, "0.123457"),
        (999_999.4, "999,999"),
        (999_999.6, "1,000,000"),
        (5e8, "500,000,000"),
        (-1_234_567.5, "-1,234,568"),
        (1e15, "1e+15"),
        (1e-9, "1e-09"),
    ],
)
def test_a_number_has_six_digits_or_all_before_its_point(value: float, written: str) -> None:
    assert six_digits(value) == Cell.of(value).words == written
    assert six_digits(abs(value), signed=True) == f"+{written.lstrip('-')}"
