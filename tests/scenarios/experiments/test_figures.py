"""What figures have in common: scales, labels that do not overlap, and no figure without matplotlib."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from psephos.scenarios.experiments import figures
from psephos.scenarios.experiments.figures import clean, draw_figure, label_line_ends, log_scale, percent_scale


def draw(_figure: Any, panels: Any) -> None:
    """Draw a line with all that a panel may have."""
    axes = panels[0][0]
    clean(axes, title="a title", x="across", y="up")
    axes.plot([1, 2], [1e-5, 10])
    log_scale(axes)
    percent_scale(panels[0][1])


def test_a_figure_is_an_svg_and_a_png_with_powers_of_ten(tmp_path: Path) -> None:
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        paths = draw_figure(folder, "line", title="A line", size=(6, 3), panels=(1, 2), draw=draw)
        assert paths == [folder / "line.svg", folder / "line.png"]
    text = (tmp_path / "one" / "line.svg").read_text(encoding="utf-8")
    for shown in ("A line", "a title", "across", "up", "10⁻⁵", ">0.1<", "100 %"):
        assert shown in text
    assert "mathdefault" not in text
    for name in ("line.svg", "line.png"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_without_matplotlib_there_is_no_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(_name: str) -> None:
        return None

    monkeypatch.setattr(figures, "find_spec", nowhere)
    assert draw_figure(tmp_path, "line", title="A line", size=(6, 3), panels=(1, 2), draw=draw) == []
    assert list(tmp_path.iterdir()) == []


class Panel:
    """Keeps the heights of what is written."""

    def __init__(self) -> None:
        self.heights: dict[str, float] = {}

    def annotate(self, text: str, place: tuple[float, float], **_style: object) -> None:
        """Take a text."""
        self.heights[text] = place[1]


def test_labels_move_apart_and_stay_in_the_panel() -> None:
    panel = Panel()
    ends = {"a": (0.50, "k"), "b": (0.51, "k"), "c": (0.99, "k"), "d": (1.0, "k"), "e": (0.1, "k")}
    label_line_ends(panel, ends, gap=0.1)
    ordered = sorted(panel.heights.values())
    assert all(above - below >= 0.1 - 1e-9 for below, above in itertools.pairwise(ordered))
    assert max(ordered) <= 1
    assert panel.heights["e"] == 0.1
    assert panel.heights["a"] < panel.heights["b"] < panel.heights["c"] < panel.heights["d"]
