"""Rows chosen, laid out as tables by one of their lines, and flat, an error in a column; findings in Markdown."""

import msgspec
from psephos.scenarios.experiments.findings import Finding
from psephos.scenarios.experiments.findings_shown import findings_in_markdown
from psephos.scenarios.experiments.judging import judge_exact
from psephos.scenarios.experiments.measurements import Measurement
from psephos.scenarios.experiments.sheets import flat, list_rows_of, pivot


class Row(msgspec.Struct):
    """A row with a full and an empty measurement."""

    name: str
    share: Measurement
    error: Measurement | None


ROWS = [Row("b", Measurement(0.5, 0.012), None), Row("a", Measurement(0.25, 0.1), Measurement(2, 0.5))]
PLACES = [{"crowd": crowd, "at": at, "value": value} for crowd, at, value in (("b", 2, 0.5), ("a", 1, 3), ("b", 1, 1))]


def test_a_measurement_takes_two_columns_and_an_empty_one_too() -> None:
    first, second = flat([ROWS[0], {"name": "c"}])
    expected = {"share": 0.5, "share_standard_error": 0.012, "error": None, "error_standard_error": None}
    assert first == {"name": "b", **expected}
    assert second == {"name": "c"}


def test_a_finding_says_its_verdict_first() -> None:
    findings = [
        Finding(claim=f"{n}.", source="W1", judgement=judge_exact(is_true=n == 1), numbers="So.") for n in (1, 2)
    ]
    assert findings_in_markdown(findings).splitlines() == [
        "- **Holds.** 1. (W1) So.",
        "- **Does not hold.** 2. (W1) So.",
    ]


def test_a_line_of_a_table_says_its_headers_and_its_cells() -> None:
    table = list_rows_of(
        ROWS,
        "who: {name} | share: {share:%} | lead: {share:+%} | value: {share.value:.1%} | error: {error:.2f}"
        " | twice: {twice}",
        words={"name": {"a": "the first"}, "twice": lambda row: 2 * row.share.value},
        caption="Shares",
        labels=2,
    )
    assert list(table.columns) == ["who", "share", "lead", "value", "error", "twice"]
    assert table.rows == [
        ["b", "50.0 ± 1.2", "+50.0 ± 1.2", "50.0", "", "1.0"],
        ["the first", "25.0 ± 10.0", "+25.0 ± 10.0", "25.0", "2.00 ± 0.50", "0.5"],
    ]
    assert (table.caption, table.labels) == ("Shares", 2)


def test_rows_of_the_same_labels_stand_on_one_line_in_the_order_of_the_first() -> None:
    own = [{"crowd": "a", "best": "x"}]
    cells = "m = {at}: {value:.1f} | crowd, m = {at}: {crowd}"
    table = pivot("who: {crowd} | !: line: {crowd}", (PLACES, cells), (own, "best: {best}"), missing="–")
    assert table.columns == ["who", "!", "m = 2", "crowd, m = 2", "m = 1", "crowd, m = 1", "best"]
    assert table.rows == [
        ["b", "line: b", "0.5", "b", "1.0", "b", "–"],
        ["a", "line: a", "–", "–", "3.0", "a", "x"],
    ]
