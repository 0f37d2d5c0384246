"""Runs' pictures: every name as it is written, all words on a phone too, round ticks, and places as they were given."""

import html
import itertools
import math
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import hypothesis
import pytest
from hypothesis import strategies as st
from psephos.protocol.dpwevote import DPWeVote, Outcome, Parameters
from psephos.protocol.estimators import Estimate
from psephos.scenarios import load_scenario, resolve, simulate
from psephos.scenarios.presentation import draw_outcome
from psephos.scenarios.presentation.charts import EDGES, Axis, Chart, Panel, save_chart
from psephos.scenarios.presentation.drawing import INK, MARKERS, NARROW, TRUTH
from psephos.scenarios.reports.drawings import Classes, Drawing, inline_picture
from psephos.scenarios.running.run import run_session

NUMBER = r"-?[\d.]+"


def outcome(*candidates: str) -> Outcome:
    """Return the outcome of a vote on these candidates."""
    parties = {f"p{n}": (1 + n % 3, *(n % 2 for _ in candidates)) for n in range(30)}
    return simulate(DPWeVote(Parameters(candidates=candidates)), parties, seed=2)


def saved(panel: Panel, folder: Path, *, kind: str = "") -> ET.Element:
    """Return what is drawn of a panel, as wide as a page, or as a phone."""
    save_chart(Chart(panels=[panel]), folder=folder, name="chart", title="A chart")
    return ET.parse(folder / f"chart{kind}.svg").getroot()  # noqa: S314  our own file


def paths_of(root: ET.Element, color: str) -> list[list[tuple[float, float]]]:
    """Return the corners of all that is drawn in a color."""
    found = [each for each in root.iter() if each.tag.endswith("path") and color in str(each.get("style"))]
    numbers = [[float(number) for number in re.findall(NUMBER, str(each.get("d")))] for each in found]
    return [list(zip(own[::2], own[1::2], strict=True)) for own in numbers]


def words_of(root: ET.Element) -> dict[str, tuple[float, float]]:
    """Return where each line of words stands; of equal ones, the last."""
    texts = [each for each in root.iter() if each.tag.endswith("text")]
    return {str(each.text): (float(str(each.get("x"))), float(str(each.get("y")))) for each in texts}


@pytest.mark.few(most=2)
@pytest.mark.parametrize(
    "name", ["Ελληνικά 日本 🗳", "from $5 to $6", "$x", "$a$ $\\bad$", "a_b^c", "50 % \\alpha", "a < b & c"]
)
def test_a_name_is_drawn_as_it_is_written(tmp_path: Path, name: str) -> None:
    (svg,) = draw_outcome(outcome(name), title=f"On {name}", truth=None, folder=tmp_path)
    text = html.unescape(svg.read_text(encoding="utf-8"))
    assert f">{name}<" in text
    assert f">On {name}<" in text


@pytest.mark.parametrize(
    "name", ["a long name of somebody else's " * 4, "x" * 128, "日" * 128], ids=["words", "x", "日"]
)
def test_a_long_name_and_a_long_title_go_on_in_the_next_line(tmp_path: Path, name: str) -> None:
    (svg,) = draw_outcome(outcome(name.strip()), title=name, truth=None, folder=tmp_path)
    drawn = re.sub(r"<[^>]*>|\s", "", html.unescape(svg.read_text(encoding="utf-8")))
    assert re.sub(r"\s", "", name) in drawn


def test_without_matplotlib_the_picture_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    for folder in (tmp_path / "with", tmp_path / "without"):
        folder.mkdir()
        (svg,) = draw_outcome(outcome("rail"), title="A vote", truth=None, folder=folder)
        texts.append(svg.read_text(encoding="utf-8"))
        monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert texts[0] == texts[1]


@pytest.mark.parametrize("name", ["eu-council", "two-societies", "crowd", "moral-synthetic"])
def test_a_runs_picture_has_another_for_phones_with_all_of_its_words(name: str, tmp_path: Path) -> None:
    """A phone is some 390 px wide, of which a page takes 30: at half of the wide one's width words keep their size."""
    resolved = resolve(load_scenario(name, ["transport=array", "seed=3"]))
    title = "What all of us decide on one of our long evenings in November"
    draw_outcome(run_session(resolved, seed=3).outcome, title=title, truth=None, folder=tmp_path)
    wide, narrow = (ET.parse(tmp_path / f"estimates{kind}.svg").getroot() for kind in ("", NARROW))  # noqa: S314  our own
    assert float(narrow.attrib["width"].removesuffix("pt")) < 0.55 * float(wide.attrib["width"].removesuffix("pt"))
    words, shown = (" ".join("".join(each.itertext()).split()) for each in (wide, narrow))
    missing = {word for word in re.findall(r"[^\W\d]{3,}", words) if word not in shown}
    assert missing == set()
    for root in (wide, narrow):
        width, height = (float(side) for side in root.attrib["viewBox"].split()[2:])
        assert all(0 <= x <= width and 0 <= y <= height for x, y in words_of(root).values())


@pytest.mark.parametrize("name", ["eu-council", "two-societies", "crowd", "moral-synthetic"])
def test_every_color_of_a_runs_picture_is_another_in_the_dark(name: str, tmp_path: Path) -> None:
    """A page writes its own names for the frame's colors; one that it does not know stays as it is."""
    resolved = resolve(load_scenario(name, ["transport=array", "seed=3"]))
    (svg,) = draw_outcome(run_session(resolved, seed=3).outcome, title="A run", truth=None, folder=tmp_path)
    classes = Classes()
    shown = inline_picture(Drawing(svg=svg.read_bytes(), words="A run"), classes)
    assert "var(--ink)" in classes.style
    assert re.findall(r"#[0-9a-f]{3,6}", classes.style) == []
    assert "style=" not in shown
    assert shown.count("<text") == svg.read_text(encoding="utf-8").count("<text")
    assert shown.count("<path") == svg.read_text(encoding="utf-8").count("<path")


def test_what_stands_beside_rows_stands_below_their_names_on_a_phone(tmp_path: Path) -> None:
    panel = Panel(x=Axis("across"), y=Axis(names=["first", "a long name of a row"]))
    panel.mark(1.0, 0)
    panel.beside[1] = "undecided, leaning yes", INK
    wide, narrow = (words_of(saved(panel, tmp_path, kind=kind)) for kind in ("", NARROW))
    assert wide["undecided, leaning yes"][0] > wide["a long name of a row"][0]
    own = [narrow[words] for words in ("a long name of a", "row", "undecided,", "leaning yes")]
    assert len({x for x, _ in own}) == 1
    assert [y for _, y in own] == sorted(y for _, y in own)


def test_marks_bars_and_whiskers_stand_where_they_are_said_to(tmp_path: Path) -> None:
    panel = Panel(x=Axis(ends=(0.0, 10.0)), y=Axis(names=["one", "two"]))
    panel.bar(0, 5.0, height=0.5, color="#111111")
    panel.measured(Estimate(7.5, 0.5), 1, color="#222222", marker="s", markersize=4)
    panel.line((2.5, 2.5), EDGES, color="#333333")
    root = saved(panel, tmp_path)
    ((left, right),) = [{x for x, _ in own} for own in paths_of(root, "#111111")]
    left, right = min(left, right), max(left, right)
    unit = (right - left) / 5
    ((upright, _),) = list(paths_of(root, "#333333"))
    assert upright[0] == pytest.approx(left + 2.5 * unit, abs=0.11)
    whisker, _, mark = paths_of(root, "#222222")
    assert [x for x, _ in whisker] == pytest.approx([left + 6.5 * unit, left + 8.5 * unit], abs=0.11)
    assert {y for _, y in whisker} == {sum(y for _, y in mark) / 4}
    assert sum(x for x, _ in mark) / 4 == pytest.approx(left + 7.5 * unit, abs=0.11)
    bar = {y for own in paths_of(root, "#111111") for _, y in own}
    assert max(bar) < whisker[0][1]  # the first row is the upper one


def test_what_is_out_of_sight_ends_at_an_edge(tmp_path: Path) -> None:
    panel = Panel(x=Axis(ends=(0.0, 1.0)), y=Axis(names=["one"]))
    panel.area((0.5, 9.0), EDGES, color="#111111")
    panel.area(EDGES, (-0.1, 0.1), color="#222222")
    root = saved(panel, tmp_path)
    ((inner,), (outer,)) = paths_of(root, "#111111"), paths_of(root, "#222222")
    assert max(x for x, _ in inner) == max(x for x, _ in outer)
    assert min(x for x, _ in inner) > min(x for x, _ in outer)


def test_every_kind_of_mark_is_drawn_around_its_place(tmp_path: Path) -> None:
    kinds = [*MARKERS, "X", "|", "_"]
    panel = Panel(x=Axis(ends=(0.0, 1.0)), y=Axis(names=[""] * len(kinds)))
    for row, kind in enumerate(kinds):
        panel.mark(0.5, row, marker=kind, markersize=8, color=f"#00000{row}")
    root = saved(panel, tmp_path)
    drawn = [paths_of(root, f"#00000{row}")[0] for row in range(len(kinds))]
    for kind, corners in zip(kinds[1:], drawn[1:], strict=True):  # a circle is described by arcs
        assert sum(x for x, _ in corners) / len(corners) == pytest.approx(sum(x for x, _ in drawn[1]) / 4, abs=0.2), (
            kind
        )
        reach = max(max(side) - min(side) for side in zip(*corners, strict=True))
        assert 7.9 <= reach <= 11.4, kind
    assert len({tuple((round(x - own[0][0], 1), round(y - own[0][1], 1)) for x, y in own) for own in drawn}) == len(
        kinds
    )


def test_a_scale_is_found_once_however_many_marks_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, asked = vars(Axis)["reach"], list[Axis]()

    def reach(axis: Axis) -> tuple[float, float]:
        asked.append(axis)
        return found.fget(axis)

    monkeypatch.setattr(Axis, "reach", property(reach))
    counts: list[int] = []
    for number in (10, 1_000):
        panel = Panel(x=Axis(), y=Axis(names=["one"]))
        panel.line([place / (number - 1) for place in range(number)], [0] * number, marker="o", linestyle="none")
        asked.clear()
        saved(panel, tmp_path)
        counts.append(len(asked))
    assert counts[0] == counts[1]


def test_pale_marks_at_one_place_are_one_and_as_dark_as_they_are_together(tmp_path: Path) -> None:
    panel = Panel(x=Axis(ends=(0.0, 1.0)), y=Axis(names=["one"]))
    panel.line([0.2, *[0.6] * 3], [0] * 4, marker="|", linestyle="none", alpha=0.5, color="#111111")
    drawn = [each for each in saved(panel, tmp_path).iter() if "#111111" in str(each.get("style"))]
    assert [re.findall(r"opacity: ([\d.]+)", str(each.get("style"))) for each in drawn] == [["0.5"], ["0.875"]]
    assert [str(each.get("d")).count("M") for each in drawn] == [1, 1]


@hypothesis.given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(1, 12))
def test_ticks_are_round_in_sight_apart_and_no_more_than_wanted(low: float, span: float, most: int) -> None:
    ends = low, low + span
    words = Axis(ends=ends).words(most)
    places = list(words)
    assert len(places) <= most + 1
    near = 1e-6 * span
    assert all(ends[0] - near <= place <= ends[1] + near for place in places)
    assert len({*words.values()}) == len(places)  # written with as many digits as tell them apart
    for place, word in words.items():
        assert float(word.replace(",", "").replace("−", "-")) == pytest.approx(place, rel=1e-9, abs=1e-12)
    steps = [after - before for before, after in itertools.pairwise(places)]
    assert steps == pytest.approx([steps[0]] * len(steps), rel=1e-3) if steps else True


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        (Axis(ends=(0.0, 1.0)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (Axis(ends=(-2.0, 2.0)), ["−2", "−1", "0", "1", "2"]),
        (Axis(ends=(0.0, 1.0), is_share=True), ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]),
        (Axis(ends=(0.0, 2.0), least_step=1), ["0", "1", "2"]),
        (Axis(ends=(0.0, 5_000.0)), ["0", "1,000", "2,000", "3,000", "4,000", "5,000"]),
        (Axis(names=["a", "b"]), ["a", "b"]),
        (Axis(ticks={1.0: "first"}), ["first"]),
    ],
)
def test_ticks_are_written_as_people_write_them(axis: Axis, expected: Sequence[str]) -> None:
    assert list(axis.words(5).values()) == expected


def test_all_that_is_drawn_is_in_sight_with_a_margin_but_beyond_the_base_of_bars() -> None:
    panel = Panel(y=Axis(names=["one"]))
    panel.bar(0, 2.0, height=0.5)
    assert panel.x.reach == (0.0, pytest.approx(2.1))
    panel.mark(-1.0, 0, **TRUTH)
    assert panel.x.reach == pytest.approx((-1.15, 2.15))


@pytest.mark.parametrize("value", [0.0, 5.0, -1e6])
def test_a_single_value_is_drawn_too_and_what_is_no_number_is_not(tmp_path: Path, value: float) -> None:
    panel = Panel(y=Axis(names=["one", "two", "three"]))
    panel.mark(value, 0)
    panel.measured(Estimate(math.nan, 1.0), 1)
    panel.measured(Estimate(value, math.inf), 2, color="#222222")
    low, high = panel.x.reach
    assert low < value < high
    assert [shape.points for shape in panel.shapes if any(math.isnan(x) for x, _ in shape.points)] == []
    (whisker, *_) = paths_of(saved(panel, tmp_path), "#222222")
    assert whisker[1][0] - whisker[0][0] > 200  # from edge to edge
    assert math.isfinite(sum(Panel().x.reach))  # where nothing is drawn
