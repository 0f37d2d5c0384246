"""Pictures: files that are the same for the same outcome, with every name as it is written; scales; labels apart."""

import html
import itertools
import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from matplotlib.figure import Figure
from psephos.protocol.dpwevote import DPWeVote, Outcome, Parameters
from psephos.scenarios import load_scenario, resolve, simulate
from psephos.scenarios.presentation import draw_outcome
from psephos.scenarios.presentation.drawing import (
    NARROW,
    WIDTH,
    Marks,
    Picture,
    annotate_row,
    clean,
    label_lines,
    log_scale,
    name_rows,
    percent_scale,
    save_pictures,
)
from psephos.scenarios.running.run import run_session


def outcome(*candidates: str) -> Outcome:
    """Return the outcome of a vote on these candidates."""
    parties = {f"p{n}": (1 + n % 3, *(n % 2 for _ in candidates)) for n in range(30)}
    return simulate(DPWeVote(Parameters(candidates=candidates)), parties, seed=2)


@pytest.mark.few(most=2)
@pytest.mark.parametrize("name", ["from $5 to $6", "$x", "$a$ $\\bad$", "a_b^c", "50 % \\alpha"])
def test_a_name_is_drawn_as_it_is_written(tmp_path: Path, name: str) -> None:
    svg, _ = draw_outcome(outcome(name), title=f"On {name}", truth=None, folder=tmp_path)
    text = html.unescape(svg.read_text(encoding="utf-8"))
    assert f">{name}<" in text
    assert f">On {name}<" in text


@pytest.mark.few(most=1)
@pytest.mark.parametrize("name", ["Ελληνικά", "日本", "🗳"])
def test_a_name_in_any_script_is_drawn_without_a_warning(tmp_path: Path, name: str) -> None:
    svg, _ = draw_outcome(outcome(name), title=name, truth=None, folder=tmp_path)
    assert name in svg.read_text(encoding="utf-8")


@pytest.mark.few(most=1)
@pytest.mark.parametrize(
    "name", ["a long name of somebody else's " * 4, "x" * 128, "日" * 128], ids=["words", "x", "日"]
)
def test_a_long_name_and_a_long_title_go_on_in_the_next_line(tmp_path: Path, name: str) -> None:
    svg, _ = draw_outcome(outcome(name.strip()), title=name, truth=None, folder=tmp_path)
    drawn = re.sub(r"<[^>]*>|\s", "", html.unescape(svg.read_text(encoding="utf-8")))
    assert re.sub(r"\s", "", name) in drawn


def test_without_matplotlib_there_is_no_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert draw_outcome(outcome("rail"), title="A vote", truth=None, folder=tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def draw(panels: Any) -> Marks:
    """Draw a line with all that a panel may have."""
    left, right = panels.flat
    clean(left, title="a title", x="across", y="up")
    left.plot([1, 2], [1e-5, 10])
    log_scale(left)
    percent_scale(right)
    return {"a mark": {"color": "k", "elinewidth": 1}}


def test_a_picture_is_an_svg_and_a_png_with_powers_of_ten(tmp_path: Path) -> None:
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        paths = save_pictures({"line": Picture(draw=draw, size=(6, 3), panels=(1, 2), title="A line")}, folder)
        assert paths == [folder / "line.svg", folder / "line.png"]
    text = (tmp_path / "one" / "line.svg").read_text(encoding="utf-8")
    for shown in ("A line", "a title", "across", "up", "a mark", "10⁻⁵", ">0.1<", "100 %"):
        assert shown in text
    assert "mathdefault" not in text
    for name in ("line.svg", "line.png"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.parametrize("name", ["eu-council", "two-societies", "crowd", "moral-synthetic"])
def test_a_runs_picture_has_another_for_phones_with_all_of_its_words(name: str, tmp_path: Path) -> None:
    """A phone is some 390 px wide, of which a page takes 30: at half of the wide one's width words keep their size."""
    resolved = resolve(load_scenario(name, ["transport=array", "seed=3"]))
    title = "What all of us decide on one of our long evenings in November"
    outcome = run_session(resolved, seed=3).outcome
    draw_outcome(outcome, title=title, truth=None, folder=tmp_path)
    wide, narrow = (ET.parse(tmp_path / f"estimates{kind}.svg").getroot() for kind in ("", NARROW))  # noqa: S314  our own
    assert float(narrow.attrib["width"].removesuffix("pt")) < 0.55 * float(wide.attrib["width"].removesuffix("pt"))
    words, shown = (" ".join("".join(each.itertext()).split()) for each in (wide, narrow))
    missing = {word for word in re.findall(r"[^\W\d]{3,}", words) if word not in shown}
    assert missing == set()


def test_what_stands_beside_rows_stands_below_their_names_on_a_phone(tmp_path: Path) -> None:
    def draw_rows(panels: Any) -> Marks:
        for axes in panels.flat:
            name_rows(axes, ["first", "a long name of a row"] if axes is panels[0, 0] else ["", ""], x="across")
            annotate_row(axes, 1, "undecided, leaning yes", color="k")
        return {}

    save_pictures({"rows": Picture(draw=draw_rows, size=(WIDTH, 3), panels=(1, 2), title="Rows")}, tmp_path)
    text = (tmp_path / f"rows{NARROW}.svg").read_text(encoding="utf-8")
    assert re.findall(r">([\w ,]+)</(?:tspan|text)>", text).count("undecided,") >= 2
    assert text.count("a long name of a") >= 2


def test_labels_move_apart_and_stay_in_the_panel() -> None:
    axes: Any = Figure().subplots()
    ends = {"a": (0.50, "k"), "b": (0.51, "k"), "c": (0.99, "k"), "d": (1.0, "k"), "e": (0.1, "k")}
    label_lines(axes, ends, gap=0.1)
    heights = {text.get_text(): text.xy[1] for text in axes.texts}
    ordered = sorted(heights.values())
    assert all(above - below >= 0.1 - 1e-9 for below, above in itertools.pairwise(ordered))
    assert max(ordered) <= 1
    assert heights["e"] == pytest.approx(0.1)
    assert heights["a"] < heights["b"] < heights["c"] < heights["d"]
