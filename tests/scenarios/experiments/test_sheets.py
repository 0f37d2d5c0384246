"""Rows set out in lines and columns, with an error in a column of its own; and findings in Markdown."""

import msgspec
from psephos.scenarios.experiments import Finding, Measurement
from psephos.scenarios.experiments.findings_shown import findings_in_markdown
from psephos.scenarios.experiments.sheets import flatten, in_percent, pivot


class Row(msgspec.Struct):
    """A row with a full and an empty measurement."""

    name: str
    share: Measurement
    error: Measurement | None


def test_a_measurement_takes_two_columns_and_an_empty_one_too() -> None:
    row = flatten(Row("a", Measurement(0.5, 0.1), None))
    assert row == {"name": "a", "share": 0.5, "share_standard_error": 0.1, "error": None, "error_standard_error": None}


def test_a_finding_says_its_verdict_first() -> None:
    findings = [Finding(claim=f"{n}.", source="W1", holds=n == 1, numbers="So.") for n in (1, 2)]
    assert findings_in_markdown(findings).splitlines() == [
        "- **Holds.** 1. (W1) So.",
        "- **Does not hold.** 2. (W1) So.",
    ]


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
