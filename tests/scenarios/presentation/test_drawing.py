"""Pictures: files that are the same for the same outcome, with every name as it is written; scales; labels apart."""

import html
import itertools
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from psephos.protocol.dpwevote import DPWeVote, Outcome, Parameters
from psephos.scenarios import simulate
from psephos.scenarios.presentation import draw_outcome
from psephos.scenarios.presentation.drawing import (
    Marks,
    Picture,
    clean,
    label_lines,
    log_scale,
    percent_scale,
    save_pictures,
)


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
