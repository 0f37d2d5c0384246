"""What is run of published profiles, on somebody's own."""

from pathlib import Path

import pytest
from bad_input import Psephos
from psephos.scenarios.fair_voting.paper.profiles import load_own_profile
from runs import read_json, read_rows

ROWS = [("n", "a > b > c")] * 3 + [("s", "c > b > a")] * 2 + [("s", "b > c > a")]
TEXT = "voter,group,ranking\n" + "".join(f"v{number},{group},{own}\n" for number, (group, own) in enumerate(ROWS))


def test_a_file_of_rankings_is_a_profile(tmp_path: Path) -> None:
    """To the north a, b, c are worth 2, 1, 0, to the south 0, 4/3, 5/3: ΔW = 2, 1/3, 5/3, the middle 5/3."""
    path = tmp_path / "mine.csv"
    path.write_text(TEXT, encoding="utf-8")
    loaded = load_own_profile(str(path))
    assert loaded.columns == {"profile": "mine.csv", "voters": 6, "groups": "n 3, s 3", "alternatives": 3}
    assert loaded.profiles.disparities[0].tolist() == pytest.approx([2, 1 / 3, 5 / 3])
    assert loaded.max_disparity == pytest.approx(5 / 3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "--rankings is 'mine.csv': use a file that is there"),
        ("voter,group,ranking\nann,a,p>q\n", "use a file with two groups or more"),
        ("voter,group,ranking\nv1,n,a > b\nv2,s,a > d\n", "(mine.csv line 3, v2)"),
        ("voter,ranking\nv1,a > b\n", "group (mine.csv line 1)"),
    ],
)
def test_a_file_that_is_none_is_named_in_one_line(psephos: Psephos, text: str, said: str) -> None:
    if text:
        Path("mine.csv").write_text(text, encoding="utf-8")
    refusal = psephos("reproduce", "fair-voting", "--rankings", "mine.csv", "--trials", 10, "--out", "out").refusal
    assert said in refusal


@pytest.mark.full("a profile at eight prices by all mechanisms takes half a minute")
def test_a_profile_of_one_s_own_has_the_tables_and_counts_neither_way(psephos: Psephos) -> None:
    Path("mine.csv").write_text(TEXT, encoding="utf-8")
    words = ("reproduce", "fair-voting", "--rankings", "mine.csv", "--trials", 10, "--no-pictures", "--no-report")
    ended = psephos(*words, "--out", "out")
    assert ended.status == 0, ended.err
    assert {row["profile"] for row in read_rows("out/profiles.csv")} == {"mine.csv"}
    assert read_json("out/reproduction.json")["own"] == "mine.csv"
    page = Path("out/summary.md").read_text(encoding="utf-8")
    assert "## On your data" in page
    assert "## What the paper says" not in page
    assert "Of 2 claims" in page
