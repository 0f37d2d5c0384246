"""Lessons: on a terminal, as plain data without infinities, and as pictures of every style."""

import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from psephos.scenarios.adversaries import Figure, Lesson, Row, Series
from psephos.scenarios.presentation import draw_lesson, lessons_drawn, show_lesson, written_lesson
from psephos.scenarios.presentation.charts import Chart, Panel
from psephos.scenarios.presentation.drawing import BEYOND
from rich.console import Console

BARS = Figure(
    title="How often",
    x_label="",
    y_label="probability",
    series=(
        Series(
            name="success",
            x=("guessing", "coalition", "bound"),
            y=(0.5, 0.6, 0.7),
            errors=(0.0, 0.1, 0.0),
            style="bars",
        ),
    ),
)
LINES = Figure(
    title="Larger coalitions",
    x_label="others",
    y_label="advantage",
    series=(
        Series(name="measured", x=(1.0, 2.0), y=(0.1, 0.2), errors=(0.01, 0.02), color=1),
        Series(name="proven", x=(1.0, 2.0), y=(0.3, 0.3), style="bound", color=1),
        Series(name="proven of no case", x=(1.0, 2.0), y=(0.4, 0.4), style="bound"),
        Series(name="with the server", x=(1.0, 2.0), y=(0.2, 0.2), style="reference"),
        Series(name="seen", x=(1.5, 64), y=(0.2, 0.2), style="points"),
    ),
    is_log=True,
)
SMALL = tuple(
    Figure(
        title=f"ε = {epsilon}",
        x_label="others",
        y_label="advantage",
        series=(
            Series(name="others alone", x=(0.0, 8.0), y=(0.1, 0.1 * epsilon)),
            Series(name="bound", x=(0.0, 8.0), y=(0.2 * epsilon, 0.2 * epsilon), style="bound"),
        ),
        is_share=True,
        row=row,
    )
    for row in ("DPWeVote", "Fair voting")
    for epsilon in (1, 4)
)
BELIEFS = Figure(
    title="Beliefs",
    x_label="",
    y_label="probability",
    series=tuple(
        Series(name=name, x=tuple(f"label {n}" for n in range(6)), y=(1 / 6,) * 6, style="bars")
        for name in ("before", "after")
    ),
)


def lesson(*figures: Figure, rows: tuple[Row, ...] = ()) -> Lesson:
    """Return one."""
    return Lesson(
        role="coalition", who="the server", trust="Nobody.", sentences=("It is so.",), rows=rows, figures=figures
    )


def shown(told: Lesson) -> str:
    """Return what a terminal shows."""
    output = io.StringIO()
    show_lesson(Console(file=output, width=100), told)
    return output.getvalue()


def test_a_terminal_shows_who_trust_words_and_the_table() -> None:
    rows: tuple[Row, ...] = (
        {"others": 1200, "case": "[bold]", "ε": math.inf, "bound_on_success": 0.123456},
        {"others": 3, "case": "other", "ε": 1.0, "bound_on_success": 1.0},
    )
    text = shown(lesson(BARS, rows=rows))
    for words in (
        "Adversary: coalition, the server",
        "Trust: Nobody.",
        "  It is so.",
        "Bound on success",
        "ε",
        "Others",
    ):
        assert words in text
    for cell in ("1,200", "[bold]", "∞", "0.1235"):
        assert cell in text
    assert text.index("Case") < text.index("Others")  # texts stand before numbers
    assert "adversary-*.svg" in text


def test_a_long_table_and_no_table_are_left_to_the_folder() -> None:
    rows: tuple[Row, ...] = tuple({"number": n} for n in range(25))
    assert "The table has 25 rows" in shown(lesson(rows=rows))
    assert "Number" not in shown(lesson(rows=rows))
    assert "Number" in shown(lesson(rows=rows[:24]))
    assert "adversary-" not in shown(lesson())


def test_plain_data_has_null_where_json_has_no_number() -> None:
    told = lesson(BARS, LINES, rows=({"odds": math.inf, "bits": math.nan, "who": "server", "n": 2},))
    plain = json.loads(json.dumps(written_lesson(told), allow_nan=False))
    assert plain["rows"] == [{"odds": None, "bits": None, "who": "server", "n": 2}]
    assert plain["sentences"] == ["It is so."]
    assert plain["figures"][0]["series"][0]["y"] == [0.5, 0.6, 0.7]
    assert plain["figures"][1]["is_log"] is True


def test_every_style_is_drawn(tmp_path: Path) -> None:
    paths = draw_lesson(lesson(BARS, LINES, BELIEFS), folder=tmp_path, name="adversary-1")
    assert [path.name for path in paths] == ["adversary-1.svg"]
    text = paths[0].read_text(encoding="utf-8")
    for words in ("Coalition: the server", "How often", "Larger coalitions", "measured", "proven", "seen", "0.600"):
        assert words in text
    assert "label 5" in text
    assert ">64<" in text  # a place that was measured has its tick, rather than a power of ten
    assert ">10<" not in text


def svg_of(*figures: Figure, folder: Path) -> str:
    """Return the text of a lesson's picture."""
    (svg,) = draw_lesson(lesson(*figures), folder=folder, name="adversary-1", setting="9 parties")
    return svg.read_text(encoding="utf-8")


@pytest.mark.full("a picture more")
def test_bars_lie_in_rows_with_their_numbers_and_a_bound_is_a_region(tmp_path: Path) -> None:
    text = svg_of(BARS, folder=tmp_path)
    for words in ("guessing", "coalition", "bound", "0.600", "ruled out by proof", "whiskers: 2 standard errors"):
        assert f">{words}<" in text, words
    assert BEYOND in text
    assert "rotate(-30" not in text
    assert "ruled out" not in svg_of(BELIEFS, folder=tmp_path)


def test_lines_have_their_names_beside_them_and_points_a_legend(tmp_path: Path) -> None:
    text = svg_of(LINES, folder=tmp_path)
    for words in ("measured", "proven", "proven of no case", "with the server", "seen"):
        assert text.count(f">{words}<") == 1, words


@pytest.mark.full("a picture more")
def test_small_multiples_have_one_legend_one_scale_and_each_row_its_title(tmp_path: Path) -> None:
    text = svg_of(*SMALL, folder=tmp_path)
    for words in ("DPWeVote", "Fair voting", "others alone", "ruled out by proof", "9 parties"):
        assert text.count(f">{words}<") == 1, words
    assert text.count(">ε = 1<") == text.count(">ε = 4<") == 2
    assert text.count(">others<") == 2  # below the last row
    assert text.count(">advantage<") == 2  # beside the first of each row
    assert text.count(">0.5<") == 2


def test_small_multiples_stand_one_below_the_other_on_a_phone(tmp_path: Path) -> None:
    svg_of(*SMALL[:3], BARS, folder=tmp_path)
    text = (tmp_path / "adversary-1-narrow.svg").read_text(encoding="utf-8")
    titles = ("DPWeVote: ε = 1", "DPWeVote: ε = 4", "Fair voting: ε = 1", "How often")
    places = [text.index(f">{title}<") for title in titles]
    assert places == sorted(places)
    assert text.count(">others<") == text.count(">advantage<") == 3  # each panel can be read by itself
    assert text.count(">0.5<") == 3


def test_bars_of_errors_are_two_standard_errors_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a role gives is one standard error of each number, whatever is drawn of it."""
    drawn: list[float] = []
    whisker = Panel.whisker

    def measured(panel: Panel, *given: Any, **style: Any) -> None:
        before = len(panel.shapes)
        whisker(panel, *given, **style)
        drawn.extend(np.ptp(np.array(shape.points), axis=0).max() / 2 for shape in panel.shapes[before:])

    monkeypatch.setattr(Panel, "whisker", measured)
    svg_of(BARS, LINES, folder=tmp_path)
    assert drawn == pytest.approx([0.2, 0.02, 0.04])


def test_bounds_of_one_height_go_from_edge_to_edge_and_their_regions_to_the_top(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    charts: list[Chart] = []

    def keep(chart: Chart, **_: Any) -> None:
        charts.append(chart)

    monkeypatch.setattr(lessons_drawn, "save_chart", keep)
    draw_lesson(lesson(LINES), folder=tmp_path, name="adversary-1")
    (panel,) = charts[0].panels
    regions = [shape for shape in panel.shapes if shape.is_area]
    assert {region.style["color"] for region in regions} == {BEYOND}
    assert [min(y for _, y in region.points) for region in regions] == [0.3, 0.4]
    for region in regions:
        assert max(y for _, y in region.points) == math.inf
        assert {x for x, _ in region.points} == {-math.inf, math.inf}
