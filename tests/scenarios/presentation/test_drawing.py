"""Pictures: files that are the same for the same outcome, with every name as it is written."""

import html
import re
import sys
from pathlib import Path

import pytest
from psephos.protocol.dpwevote import DPWeVote, Outcome, Parameters
from psephos.scenarios import simulate
from psephos.scenarios.presentation import draw_outcome


def outcome(*candidates: str) -> Outcome:
    """Return the outcome of a vote on these candidates."""
    parties = {f"p{n}": (1 + n % 3, *(n % 2 for _ in candidates)) for n in range(30)}
    return simulate(DPWeVote(Parameters(candidates=candidates)), parties, seed=2)


def test_the_same_outcome_gives_the_same_files(tmp_path: Path) -> None:
    pictures: list[list[bytes]] = []
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        paths = draw_outcome(outcome("rail", "fish"), title="A vote", truth=None, folder=folder)
        pictures.append([path.read_bytes() for path in paths])
    assert pictures[0] == pictures[1]


@pytest.mark.parametrize("name", ["from $5 to $6", "$x", "$a$ $\\bad$", "a_b^c", "50 % \\alpha"])
def test_a_name_is_drawn_as_it_is_written(tmp_path: Path, name: str) -> None:
    svg, _ = draw_outcome(outcome(name), title=f"On {name}", truth=None, folder=tmp_path)
    text = html.unescape(svg.read_text(encoding="utf-8"))
    assert f">{name}<" in text
    assert f">On {name}<" in text


@pytest.mark.parametrize("name", ["Ελληνικά", "日本", "🗳"])
def test_a_name_in_any_script_is_drawn_without_a_warning(tmp_path: Path, name: str) -> None:
    svg, _ = draw_outcome(outcome(name), title=name, truth=None, folder=tmp_path)
    assert name in svg.read_text(encoding="utf-8")


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
