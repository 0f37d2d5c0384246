"""Measurements: each recorded topic can be measured again, rows say what they should, and a few of them run."""

import ast
import csv
import math
import shutil
from pathlib import Path

import pytest
from growth import count
from harness import NOTHING, RivalError, Row, Times, apart, or_skipped, row, to_text, turns
from record import keep, recorded
from run import TOPICS, measured

ROOT = Path(__file__).parents[1]


def test_each_recorded_topic_has_a_function_that_measures_it() -> None:
    for topic, file in TOPICS.items():
        tree = ast.parse((ROOT / "benchmarks" / f"{file}.py").read_text(encoding="utf-8"))
        assert topic in {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}
    assert {line["topic"] for line in recorded().values()} <= set(TOPICS)


@pytest.mark.parametrize(
    ("ours", "raw", "target", "met"),
    [
        (3.0, 2.0, "≤ 1.5", "yes"),
        (3.1, 2.0, "≤ 1.5", "no"),
        (3.0, 2.0, "≥ 1.5", "yes"),
        (3.0, 2.0, "≤ 3 s", "yes"),
        (3.0, 2.0, "≤ 2.9 s", "no"),
        (1.0, 80.0, "≥ 80 ×", "yes"),
        (1.0, 79.0, "≥ 80 ×", "no"),
        (1.1, 0.0, "≤ 1.05", "no"),
        (1.0, 2.0, "", NOTHING),
    ],
)
def test_a_target_is_met_by_the_ratio_or_with_a_unit_by_ours(ours: float, raw: float, target: str, met: str) -> None:
    assert row("what", ours, raw, target=target).met == met


def test_what_a_system_does_not_tell_and_what_a_rival_lacks_is_skipped_with_the_reason() -> None:
    assert row("memory", math.nan, target="≤ 3 MB").met == "skipped: this system does not tell"

    def rows() -> list[Row]:
        raise RivalError("not installed")

    assert [each.met for each in or_skipped("rival", (each for _ in "r" for each in rows()))] == [
        "skipped: not installed"
    ]


def test_contestants_take_turns_and_their_ratio_is_the_median_over_the_turns() -> None:
    order: list[str] = []
    turns(2, ours=lambda: order.append("ours"), raw=lambda: order.append("raw"))
    assert order == ["ours", "raw"] * 3  # the first warms up
    times = Times({"ours": [1.0, 4.0, 2.0], "raw": [2.0, 2.0, 2.0]})
    assert times.row("seconds") == Row("seconds", "2.00 s", "2.00 s", "1.00")
    rates = times.row("rate", number=10, show="{:g}/s", times="1/{:.1f}")
    assert rates == Row("rate", "5/s", "5/s", "1/1.0")
    assert to_text([rates]).splitlines()[1].split() == ["rate", "5/s", "5/s", "1/1.0", NOTHING, NOTHING]


def test_a_few_topics_yield_the_recorded_rows_when_quick_without_targets() -> None:
    (help_row,) = measured("startup", quick=True)
    assert help_row.what in recorded()
    assert (help_row.target, help_row.met) == (NOTHING, NOTHING)
    rows = {each.what: each for each in measured("journals", quick=True)}
    assert rows["journal of a server, a report"].ours.endswith(" bytes")
    assert all(each.ours != NOTHING for each in rows.values())


def test_a_process_of_its_own_says_what_it_took() -> None:
    used = apart(count, "vote, local", 1_000, times=2)
    assert 0 < used.cpu < used.whole
    assert 0 < used.seconds < used.whole
    assert not used.peak < used.before


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="what is recorded names its commit")
def test_what_is_recorded_replaces_its_topic_in_file_page_and_picture_but_for_skipped_rows(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    for name in ("performance.md", "tables/performance.csv"):
        shutil.copy(ROOT / "docs" / name, tmp_path / name)
    before = recorded(tmp_path)
    assert [what for what, line in before.items() if line["topic"] == "startup"] == ["psephos --help"]
    skipped = next(what for what, line in before.items() if line["topic"] == "multiparty")
    found = {
        "startup": [row("psephos --help", 0.5, target="≤ 0.4 s")],
        "multiparty": [Row(skipped, "–", met="skipped: x")],
    }
    keep(found, list(TOPICS), tmp_path)
    after = recorded(tmp_path)
    assert after[skipped] == before[skipped]
    assert after["psephos --help"]["met"] == "no"
    assert "| psephos --help | 0.50 s | – | – | ≤ 0.4 s | no |" in (tmp_path / "performance.md").read_text(
        encoding="utf-8"
    )
    assert (tmp_path / "performance.png").stat().st_size > 0
    untouched = [line for line in before.values() if line["topic"] not in found]
    assert [line for line in after.values() if line["topic"] not in found] == untouched
    with (tmp_path / "tables" / "performance.csv").open(encoding="utf-8", newline="") as file:
        assert next(csv.reader(file)) == list(before["psephos --help"])
