"""Pictures of papers and experiments: files that are the same for the same data; scales; labels apart."""

import itertools
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from matplotlib.figure import Figure
from psephos.scenarios.presentation.drawing import (
    NARROW,
    WIDTH,
    Marks,
    Picture,
    clean,
    label_lines,
    log_scale,
    name_rows,
    percent_scale,
    save_pictures,
)


def test_without_matplotlib_there_is_no_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert save_pictures({"line": Picture(draw=draw, size=(6, 3), panels=(1, 2))}, tmp_path) == []
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


def test_names_of_rows_and_words_below_are_in_short_lines_on_a_phone(tmp_path: Path) -> None:
    def draw_rows(panels: Any) -> Marks:
        for axes in panels.flat:
            names = ["first", "a long name of a row"] if axes is panels[0, 0] else ["", ""]
            name_rows(axes, names, x="what is shown from the left to the right of it")
        return {}

    save_pictures({"rows": Picture(draw=draw_rows, size=(WIDTH, 3), panels=(1, 2), title="Rows")}, tmp_path)
    wide, narrow = (ET.parse(tmp_path / f"rows{kind}.svg").getroot() for kind in ("", NARROW))  # noqa: S314  our own
    assert float(narrow.attrib["width"].removesuffix("pt")) < 0.55 * float(wide.attrib["width"].removesuffix("pt"))
    lines = [line for line in narrow.itertext() if line.strip()]
    assert lines.count("a long name of a") == 2  # each panel can be read by itself
    assert lines.count("what is shown from the left to the right of") == 2


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
