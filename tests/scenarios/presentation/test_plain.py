"""Outcomes of protocols without a room of their own: their fields, by name."""

import html
import math
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
from pages import shown
from psephos.protocol.dpwevote import Outcome, PossibleRanges
from psephos.protocol.estimators import Estimate
from psephos.scenarios.presentation import draw_outcome, rows_of, verdict_of
from psephos.scenarios.presentation.charts import Chart
from psephos.scenarios.presentation.drawing import MOST_ROWS, TRUTH
from psephos.scenarios.presentation.plain import PLAIN
from psephos.scenarios.presentation.presenter import Known


class Answer(msgspec.Struct):
    """What some other protocol releases."""

    mean: float
    name: str


class Empty(msgspec.Struct):
    """What says nothing."""


class Estimated(msgspec.Struct):
    """What another one estimates."""

    mean: Estimate
    name: str
    note: str | None = None


class Approved(msgspec.Struct):
    """How many approve of one candidate."""

    name: str
    approvals: Estimate


class Votes(msgspec.Struct):
    """How many approve of each."""

    candidates: tuple[Approved, ...]
    num_voters: int


class Two(msgspec.Struct):
    """Two tables, and a name that one of them has too."""

    candidates: tuple[Approved, ...]
    voters: dict[str, int]
    name: str


class Fields(msgspec.Struct):
    """Estimates of different size."""

    yes: Estimate
    no: Estimate
    salary: Estimate
    lost: Estimate


class Derived(Outcome, frozen=True, kw_only=True):
    """What a protocol made from another releases."""

    round_number: int


def test_another_protocols_outcome_is_a_table_of_its_fields_with_what_is_true() -> None:
    """A truth in words is shown in words, and one of nothing that is shown has a line of its own."""
    page = shown(Answer(1234.5, "plain"), truth={"mean": 1200.0, "name": "[flowery]", "turnout": 0.5})
    assert ["Released", "Value", "True"] in page.lines
    assert ["mean", "1,234.5", "1,200"] in page.lines
    assert ["name", "plain", "[flowery]"] in page.lines
    assert ["turnout", "(true)", "0.5"] in page.lines


def test_what_one_party_is_told_is_a_table_too() -> None:
    page = shown(Estimated(Estimate(3.0, 0.5), "yours"))
    assert ["mean", "3.00", "±", "0.50"] in page.lines
    assert "± is one standard error" in page.text


def test_another_protocols_outcome_has_a_column_for_each_field_and_its_error() -> None:
    (row,) = rows_of(Estimated(Estimate(1 / 3, 0.5), "plain"), truth=None)
    assert row == {"mean": 1 / 3, "mean_standard_error": 0.5, "name": "plain"}


def test_an_outcome_without_estimates_leaves_no_picture(tmp_path: Path) -> None:
    assert draw_outcome(Answer(1.0, "a"), title="A survey", truth=None, folder=tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_an_outcome_made_from_another_is_shown_as_that() -> None:
    derived = Derived(
        candidates=(),
        num_partners=7,
        total_weight=None,
        weight_counts=(),
        weight_bias_bound=0.0,
        joint_level=0.0,
        possible=PossibleRanges(
            total_weight=(7.0, 21.0), support=(0.0, 21.0), quota=(3.5, 10.5), margin=(-10.5, 10.5), count=(0.0, 7.0)
        ),
        epsilon_weight=0.0,
        epsilon_opinion=1.0,
        epsilon_total=1.0,
        round_number=2,
    )
    page = shown(derived)
    assert "From the reports of 7 partners" in page.text


def tea_and(number: int, *, prefix: str = "drink") -> Votes:
    """Return an outcome with so many candidates beside tea."""
    others = (Approved(f"{prefix} {place}", Estimate(float(place), 2.0)) for place in range(number))
    return Votes((Approved("tea", Estimate(197.27, 7.37)), *others), num_voters=300)


def test_structs_of_an_outcome_are_rows_of_a_table_with_the_truth_beside_them() -> None:
    page = shown(tea_and(1), truth={"tea": 200.0, "drink 0": 1.0})
    assert ["Name", "Approvals", "True", "approvals"] in page.lines
    assert ["tea", "197.3", "±", "7.4", "200"] in page.lines
    assert ["num_voters", "300"] in page.lines
    assert "{" not in page.text
    assert "(true)" not in page.text


def test_shares_have_as_many_decimals_as_their_errors_deserve() -> None:
    page = shown(Votes((Approved("tea", Estimate(0.3127, 0.0214)),), 3))
    assert ["tea", "0.313", "±", "0.021"] in page.lines


def test_a_long_table_is_cut_and_says_where_the_rest_is() -> None:
    page = shown(tea_and(99))
    assert "… and 60 more lines in estimates.csv" in page.text
    assert ["drink", "38", "38.0", "±", "2.0"] in page.lines
    assert "drink 39" not in page.text


def test_a_narrow_terminal_goes_without_columns_and_names_them() -> None:
    page = shown(tea_and(1), width=30, truth={"tea": 200.0})
    assert "for want of room in estimates.csv alone: True approvals" in " ".join(page.text.split())


def test_rows_of_structs_have_the_errors_the_truth_and_the_rest_of_the_outcome_beside_them() -> None:
    rows = rows_of(tea_and(1), truth={"tea": 200.0})
    assert rows == [
        {
            "name": "tea",
            "approvals": 197.27,
            "approvals_standard_error": 7.37,
            "true_approvals": 200.0,
            "num_voters": 300,
        },
        {
            "name": "drink 0",
            "approvals": 0.0,
            "approvals_standard_error": 2.0,
            "true_approvals": "",
            "num_voters": 300,
        },
    ]


def test_rows_of_several_tables_say_which_and_have_the_same_keys() -> None:
    rows = rows_of(Two((Approved("tea", Estimate(1.0, 0.5)),), {"north": 3}, name="both"), truth=None)
    assert [(row["table"], row["name"], row["voters"], row["value"]) for row in rows] == [
        ("candidates", "tea", "", ""),
        ("voters", "", "north", 3),
    ]
    assert [row["outcome_name"] for row in rows] == ["both", "both"]
    assert rows[0].keys() == rows[1].keys()


def chart_of(outcome: msgspec.Struct, *, truth: Mapping[str, float] | None = None) -> Chart:
    """Return the picture of an outcome."""
    chart = PLAIN.draw(outcome, Known(truth=truth))
    assert chart is not None
    return chart


def names_of(chart: Chart) -> list[list[str]]:
    """Return the names of each panel's rows."""
    return [list(panel.y.names) for panel in chart.panels]


def test_a_bar_is_as_long_as_its_estimate_and_its_whisker_two_standard_errors() -> None:
    chart = chart_of(tea_and(1), truth={"tea": 200.0})
    (panel,) = chart.panels
    assert [max((x for x, _ in shape.points), key=abs) for shape in panel.shapes if shape.is_area] == [197.27, 0.0]
    assert [min((x for x, _ in shape.points), key=abs) for shape in panel.shapes if shape.is_area] == [0.0, 0.0]
    whiskers = [[x for x, _ in shape.points] for shape in panel.shapes if shape.style.get("marker") == "|"]
    assert whiskers == [pytest.approx([197.27 - 14.74, 197.27 + 14.74]), pytest.approx([-4.0, 4.0])]
    marked = [shape.points[0][0] for shape in panel.shapes if shape.style.get("marker") == TRUTH["marker"]]
    assert marked == [200.0]
    assert names_of(chart) == [["tea", "drink 0"]]
    assert [words for words, _ in panel.beside.values()] == ["197.3 ± 7.4", "0.0 ± 2.0"]
    assert list(chart.marks) == ["estimate, whiskers: 2 standard errors", "truth"]
    assert (chart.title, panel.x.label) == ("", "candidates: approvals")


def test_without_a_truth_and_without_errors_none_is_explained() -> None:
    assert list(chart_of(tea_and(0)).marks) == ["estimate, whiskers: 2 standard errors"]
    assert list(chart_of(Estimated(Estimate(3.0, 0.0), "yours")).marks) == ["estimate"]


def test_a_picture_of_many_is_cut_and_says_so() -> None:
    (panel,) = chart_of(tea_and(99)).panels
    assert sum(shape.is_area for shape in panel.shapes) == len(panel.y.names) == MOST_ROWS
    assert panel.x.label == "candidates: approvals (the first 40 of 100)"


def test_a_long_name_is_folded_and_cut() -> None:
    ((short, long),) = names_of(chart_of(tea_and(1, prefix="a drink of which much could be said " * 9)))
    assert (short.count("\n"), long.count("\n")) == (0, 2)
    assert long.endswith("…")


def test_single_fields_share_an_axis_where_they_can_be_compared() -> None:
    fields = Fields(
        yes=Estimate(210.0, 8.0), no=Estimate(80.0, 8.0), salary=Estimate(2998.0, 12.0), lost=Estimate(math.nan, 1.0)
    )
    chart = chart_of(fields, truth={"no": 90.0})
    assert names_of(chart) == [["yes", "no"], ["salary"]]
    assert chart.title == ""


def test_of_many_kinds_of_estimates_the_first_are_drawn_and_the_title_says_so() -> None:
    held = {f"kind_{place}": (Approved("tea", Estimate(1.0, 0.5)),) for place in range(8)}
    chart = chart_of(msgspec.defstruct("Kinds", [(name, tuple) for name in held])(**held))
    assert len(chart.panels) == 6
    assert chart.title == " (the first 6 of 8 kinds of estimates)"


def test_the_picture_of_an_outcome_of_somebody_is_written(tmp_path: Path) -> None:
    (svg,) = draw_outcome(tea_and(1), title="What is served", truth={"tea": 200.0}, folder=tmp_path)
    text = html.unescape(svg.read_text(encoding="utf-8"))
    assert all(
        f">{part}<" in text for part in ("What is served", "tea", "truth", "estimate, whiskers: 2 standard errors")
    )


def test_a_verdict_of_any_outcome_says_what_was_chosen_and_estimated_and_what_plus_minus_means() -> None:
    said = verdict_of(Estimated(Estimate(2998.2, 12.3), "tea"))
    assert said == "Name is tea and mean is 2,998 ± 12. Each ± is one standard error."
    assert verdict_of(Answer(2.5, "tea")) == "Mean is 2.5 and name is tea."
    assert verdict_of(Empty()) == "Nothing was released but that the session ended."


def test_a_verdict_of_many_fields_names_the_first_and_counts_the_rest() -> None:
    many = msgspec.defstruct("Many", [(f"share_{place}", float) for place in range(9)])
    said = verdict_of(many(*range(9)))
    assert said == "Share 0 is 0, share 1 is 1, share 2 is 2, share 3 is 3 and there are 5 more."


def test_a_verdict_holds_nothing_that_a_terminal_would_obey() -> None:
    assert verdict_of(Answer(2.5, "te\x1b[31ma\nb")) == "Mean is 2.5 and name is te�[31ma�b."
