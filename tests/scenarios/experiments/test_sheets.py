"""Tables: the same cells in Markdown and in a terminal, and rows with an error in a column of its own."""

import io

import msgspec
from psephos.scenarios.experiments import Finding, Measurement
from psephos.scenarios.experiments.findings_shown import findings_in_markdown
from psephos.scenarios.experiments.sheets import flatten, in_percent, pivot
from psephos.scenarios.presentation.terminal import show_sheet
from psephos.scenarios.tables import Table, listed, markdown_of
from rich.console import Console

SHEET = Table(
    caption="Votes", columns=("n", "share"), rows=(("10", "0.5 ± 0.1"), ("500", "a|b")), note="of all", labels=0
)
LABELED = Table(caption="Votes", columns=("who", "n"), rows=(("a", "1"),))


class Row(msgspec.Struct):
    """A row with a full and an empty measurement."""

    name: str
    share: Measurement
    error: Measurement | None


def test_markdown_has_every_cell() -> None:
    lines = markdown_of(SHEET).splitlines()
    assert lines[0] == "**Votes**"
    assert lines[2:6] == ["| n | share |", "| ---: | ---: |", "| 10 | 0.5 ± 0.1 |", "| 500 | a\\|b |"]
    assert lines[-1] == "of all"
    assert markdown_of(LABELED).splitlines()[3] == "| :--- | ---: |"


def test_a_terminal_shows_every_cell() -> None:
    file = io.StringIO()
    show_sheet(Console(file=file, width=100), SHEET)
    text = file.getvalue()
    assert all(str(cell) in text for row in (SHEET.columns, *SHEET.rows) for cell in row)
    assert "of all" in text


def test_a_measurement_takes_two_columns_and_an_empty_one_too() -> None:
    row = flatten(Row("a", Measurement(0.5, 0.1), None))
    assert row == {"name": "a", "share": 0.5, "share_standard_error": 0.1, "error": None, "error_standard_error": None}


def test_a_finding_says_its_verdict_first() -> None:
    findings = [Finding(claim=f"{n}.", source="W1", holds=n == 1, numbers="So.") for n in (1, 2)]
    assert findings_in_markdown(findings).splitlines() == [
        "- **Holds.** 1. (W1) So.",
        "- **Does not hold.** 2. (W1) So.",
    ]


def test_a_table_has_a_line_for_each_row_and_a_header_for_each_cell() -> None:
    sheet = listed(
        [("b", 2), ("a", 1)], (("who", lambda row: row[0]), ("n", lambda row: f"{row[1]}")), caption="Votes", labels=0
    )
    assert sheet == Table(caption="Votes", columns=["who", "n"], rows=[["b", "2"], ["a", "1"]], labels=0)


def test_flat_rows_are_set_out_in_lines_and_columns() -> None:
    rows = [("b", 2, 0.5), ("a", 1, 0.25), ("b", 1, 1.0)]
    table = pivot(rows, lines=lambda row: row[0], columns=lambda row: row[1])
    assert (list(table.lines), list(table.columns)) == (["b", "a"], [2, 1])  # as they first come
    assert table.places["b", 1] == ("b", 1, 1.0)
    assert table.line("b", lambda row: f"{row[2]}", lambda row: row[0]) == ["0.5", "b", "1.0", "b"]
    assert table.rows(lambda at: [at, "!"], lambda row: f"{row[2]}", missing="–") == [
        ["b", "!", "0.5", "1.0"],
        ["a", "!", "–", "0.25"],
    ]


def test_a_place_without_a_row_is_empty_in_each_of_its_cells() -> None:
    table = pivot([("a", 1), ("b", 2)], lines=lambda row: row[0], columns=lambda row: row[1])
    assert table.line("a", lambda row: row[0], lambda row: f"{row[1]}") == ["a", "1", "", ""]


def test_a_share_is_written_in_percent() -> None:
    assert in_percent(Measurement(0.5, 0.012)) == "50.0 ± 1.2"
    assert [in_percent(Measurement(value, 0.01), signed=True) for value in (0.05, -0.05)] == [
        "+5.0 ± 1.0",
        "-5.0 ± 1.0",
    ]
