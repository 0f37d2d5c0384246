"""What pages quote is what is computed, drawn or typed: figures, pictures, and commands within a sentence."""

import math
import re
import runpy
import shlex
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from psephos.scenarios import load_scenario
from psephos.scenarios.cli import cli
from scipy.stats import binom, dlaplace
from test_documents import DOCS, blocks_of, check_psephos

FIGURES: dict[str, Any] = runpy.run_path(str(DOCS / "figures.py"))
INLINE = re.compile(r"`psephos\s([^`]+)`")
SHARES = re.compile(r"^\| (?P<epsilon>[\d.]+) \| (?P<cells>.+) \|$", re.MULTILINE)
PEOPLE = (30, 100, 300, 1_000, 10_000)


@pytest.mark.parametrize("page", FIGURES["TABLES"])
def test_a_page_quotes_what_is_computed(page: str) -> None:
    quoted = (DOCS / page).read_text(encoding="utf-8")
    assert quoted == FIGURES["with_tables"](page), "`python docs/figures.py` writes what is computed"


def test_the_summary_has_every_page_of_evidence() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    group = index.partition(":caption: Evidence")[2].partition(":hidden:")[2].partition("```")[0].split()
    summary = (DOCS / "evidence.md").read_text(encoding="utf-8")
    assert group[0] == "evidence"
    assert [page for page in group[1:] if f"]({page}.md) |" not in summary] == []


def wrong_by_responses(number: int, yes: int, epsilon: float) -> float:
    """Return how probable it is that randomized responses of so many yes do not count as more than half."""
    kept = math.exp(epsilon) / (1 + math.exp(epsilon))
    of_yes = np.asarray(binom.pmf(np.arange(yes + 1), yes, kept))
    of_no = np.asarray(binom.pmf(np.arange(number - yes + 1), number - yes, 1 - kept))
    return float(np.convolve(of_yes, of_no)[: number // 2 + 1].sum())


def wrong_by_sum(number: int, yes: int, epsilon: float) -> float:
    """Return the same of one sum with discrete Laplace noise, of a vote that changes it by one."""
    return float(dlaplace.cdf(number // 2 - yes, epsilon))


@pytest.mark.parametrize(("mark", "wrong"), [("local", wrong_by_responses), ("central", wrong_by_sum)])
def test_the_shares_that_votes_can_tell_hold_by_the_exact_law(mark: str, wrong: Any) -> None:
    """Nor are far fewer yes enough: the proof gives away one vote of a sum, and at most 7 in a hundred responses."""
    text = (DOCS / "how-many-people.md").read_text(encoding="utf-8")
    rows = SHARES.findall(text.partition(f"<!-- begin {mark} -->")[2].partition("<!-- end")[0])
    assert len(rows) == 4
    for epsilon, cells in rows:
        for number, cell in zip(PEOPLE, cells.split(" | "), strict=True):
            if cell == "none":
                assert wrong(number, number, float(epsilon)) > 0.05
                continue
            least = float(cell.removesuffix(" %")) * number / 100
            assert wrong(number, math.ceil(least - 1e-9), float(epsilon)) <= 0.05
            given_away = 1 if mark == "central" else 0.07 * number
            assert wrong(number, math.floor(least - given_away - number / 100), float(epsilon)) > 0.05


def test_each_picture_of_the_gallery_stands_above_the_command_that_draws_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(DOCS), *sys.path])
    drawn: dict[str, tuple[str, str]] = runpy.run_path(str(DOCS / "build.py"))["GALLERY"]
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    shown = re.findall(r"^!\[[^\]]+\]\((\S+)\)\n\n(`psephos .+)$", text, re.MULTILINE)
    assert sorted(name for name, _ in shown) == sorted(drawn)
    for name, line in shown:
        commands = re.findall(r"`psephos ([^`]+)`", line)
        assert drawn[name][0].split("; ") == commands[: drawn[name][0].count(";") + 1], name
    assert [name for name in drawn if not (DOCS / name).is_file()] == []


@pytest.mark.parametrize("page", ["cheat-sheet.md", "faq.md", "gallery.md", "evidence.md", "tutorial.md"])
def test_commands_within_sentences_exist(page: str, tmp_path: Path) -> None:
    commands = [each for each in INLINE.findall((DOCS / page).read_text(encoding="utf-8")) if "--help" not in each]
    assert commands
    for words in map(str.split, commands):
        assert cli.get_command(click.Context(cli), words[0]) is not None, words
        if len(words) > 1:
            check_psephos(words, tmp_path)


def test_the_cheat_sheets_scenario_is_one(tmp_path: Path) -> None:
    (scenario,) = blocks_of(DOCS / "cheat-sheet.md", "toml")
    (tmp_path / "board.toml").write_text(scenario, encoding="utf-8")
    assert load_scenario(str(tmp_path / "board.toml")).protocol == "dpwevote"


def test_the_tours_six_users_type_commands_that_exist(tmp_path: Path) -> None:
    users: dict[str, Any] = runpy.run_path(str(DOCS / "tour.py"))["_USERS"]
    assert list(users) == ["secretary", "works council", "annotation lead", "student", "security engineer", "author"]
    for _, steps in users.values():
        for _, _, words, *_ in steps:
            if words:
                check_psephos(shlex.split(words), tmp_path)
