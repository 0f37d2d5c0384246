"""Figures 8, 9 and 10(b) on somebody's own survey: who is drawn, who is held out, and what is said of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.moral_preferences import Records
from psephos.scenarios.moral_preferences.paper.societies import OWN, RepeatedSociety, draw_society, kind_of_file
from psephos.scenarios.moral_preferences.paper.trials import CellToMeasure, measure

Psephos = Callable[..., Any]


def _survey(folder: Path, *, voters: int, records: Callable[[int], int]) -> str:
    """Write voters who choose more x1, voter v's record r being (v + 1, r) against (0, 0)."""
    lines = ["voter,record,choice,x1,x2"]
    for voter in range(voters):
        for record in range(records(voter)):
            lines += [f"v{voter:03d},{record},1,{voter + 1},{record}", f"v{voter:03d},{record},0,0,0"]
    (folder / "mine.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    return str(folder / "mine.csv")


def test_records_are_as_many_as_half_of_a_small_file_has(tmp_path: Path) -> None:
    """Of 40 voters, 30 have 4 records and 10 have 2: half of all have 4, and the others are left out."""
    kind, number = kind_of_file(_survey(tmp_path, voters=40, records=lambda voter: 2 if voter < 10 else 4))
    assert (kind.kind, kind.records, kind.features, number) == (OWN, 4, 2, 30)


def test_voters_are_drawn_anew_and_others_are_held_out(tmp_path: Path) -> None:
    kind, _ = kind_of_file(_survey(tmp_path, voters=40, records=lambda _: 2))
    society = draw_society(kind, 1, range(3), num_voters=20)
    drawn = society.records.chosen[:, 0].reshape(3, 20, 2)
    assert (drawn[:, :, 0] == drawn[:, :, 1]).all()  # a voter's two records stand together
    sets = [{*own[:, 0].tolist()} for own in drawn]
    assert all(len(own) == 20 for own in sets)
    assert sets[0] != sets[1] != sets[2]
    assert society.pairs is not None
    for own, others in zip(sets, society.pairs, strict=True):
        assert own.isdisjoint(others[:, 0].tolist())
        assert len(others) == 40
    again = draw_society(kind, 1, range(2, 3), num_voters=20)
    assert np.array_equal(again.records.chosen, society.records.chosen[80:])


def test_accuracy_is_the_share_of_choices_that_others_made(tmp_path: Path) -> None:
    """By x1 alone all choices are right, against it none; an estimate of 0 tosses a coin."""
    pairs = np.array([[1.0, 0.0], [2.0, -3.0], [1.0, 5.0]])
    estimates = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    records = Records(np.zeros(1, dtype=np.int64), np.zeros((0, 2)), np.zeros((0, 2)))
    society = RepeatedSociety(records=records, means=None, pairs=np.stack([pairs] * 4))
    assert society.accuracies(estimates, 3).tolist() == pytest.approx([1, 0, 1 / 2, 1 / 2])
    kind, _ = kind_of_file(_survey(tmp_path, voters=40, records=lambda _: 3))
    cell = CellToMeasure(society=kind, voters=10, method="algorithm-1", epsilon=10.0)
    whole = measure([cell], seed=1, start=0, stop=4)[cell]
    assert whole == [
        *measure([cell], seed=1, start=0, stop=2)[cell],
        *measure([cell], seed=1, start=2, stop=4)[cell],
    ]
    assert min(whole) > 0.9  # everybody chooses the larger x1


def test_a_file_with_too_few_voters_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="a file with at least 16 voters") as raised:
        kind_of_file(_survey(tmp_path, voters=9, records=lambda _: 3))
    assert raised.value.field == "--responses"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "use a file that is there"),
        ("voter,record,choice,x1\na,1,1,2\na,1,0,high\n", "x1 (mine.csv line 3)"),
    ],
)
def test_a_file_that_is_none_is_named_in_one_line(psephos: Psephos, text: str, said: str) -> None:
    if text:
        Path("mine.csv").write_text(text, encoding="utf-8")
    refusal = psephos(
        "reproduce", "moral-preferences", "--responses", "mine.csv", "--trials", 10, "--out", "out"
    ).refusal
    assert said in refusal


@pytest.mark.full("three figures with many maximizations take a minute")
def test_a_survey_of_one_s_own_has_the_figures_and_counts_neither_way(psephos: Psephos, tmp_path: Path) -> None:
    _survey(tmp_path, voters=40, records=lambda _: 3)
    words = ("reproduce", "moral-preferences", "--responses", "mine.csv", "--trials", 10, "--workers", 1, "--no-report")
    ended = psephos(*words, "--out", "out")
    assert ended.status == 0, ended.err
    pictures = {path.stem for path in Path("out").glob("*.png")}
    assert pictures == {"figure-8", "figure-9", "figure-10"}
    page = Path("out/summary.md").read_text(encoding="utf-8")
    assert "## On your data" in page
    assert "## What the paper says" not in page
    assert "stand-in" not in page
