"""Pages of trials, of an audit and of a reproduction: from the files that those leave."""

import json
from pathlib import Path
from typing import Any

import pytest
from bad_input import Psephos, refuses
from page_parts import Parts
from psephos.protocol.errors import ConfigurationError
from psephos.scenarios.presentation.seals import seal
from psephos.scenarios.reports import REPORT, write_report

AUDIT: dict[str, Any] = {
    "names": ["k-rr"],
    "samples": {"simulated": 1000},
    "confidence": 0.99,
    "rows": [
        {
            "group": "k-rr",
            "name": name,
            "unit": "answer",
            "claimed": 1.0,
            "proven": proven,
            "audited": 0.5,
            "verdict": verdict,
        }
        for name, proven, verdict in (("k = 2", 1.0, "consistent"), ("k = 3", None, "claim refuted"))
    ],
}
REPRODUCTION = {
    "trials": 40,
    "seed": 1,
    "versions": {"psephos": "0.1.0"},
    "paper_findings": [
        {"claim": "It is <fast>.", "source": "Section 1", "judgement": "holds", "numbers": "9 of 9."},
        {"claim": "It is exact.", "source": "Section 2", "judgement": "does not hold", "numbers": "0 of 9."},
    ],
    "own_findings": [],
    "tables": {"table-1": [{"n": 10, "accuracy": 0.5}]},
}
SUMMARY = """# A paper, run again

`psephos reproduce paper` runs it.

## Pictures

![What comes of n](figure-1.png)

What comes of n
"""


def page_of(folder: Path) -> str:
    """Return the text of a folder's page, made now."""
    return Parts(write_report(folder).read_text(encoding="utf-8")).text


@pytest.fixture
def audit(tmp_path: Path) -> Path:
    """The folder of an audit."""
    (tmp_path / "audit.json").write_text(json.dumps(AUDIT), encoding="utf-8")
    return tmp_path


@pytest.fixture
def reproduction(tmp_path: Path) -> Path:
    """The folder of a reproduction."""
    (tmp_path / "reproduction.json").write_text(json.dumps(REPRODUCTION), encoding="utf-8")
    (tmp_path / "summary.md").write_text(SUMMARY, encoding="utf-8")
    (tmp_path / "table-1.csv").write_text("n,accuracy,accuracy_standard_error\n10,0.5,0.01\n", encoding="utf-8")
    (tmp_path / "figure-1.svg").write_text('<svg viewBox="0 0 1 1"><text>drawn</text></svg>', encoding="utf-8")
    seal(tmp_path, [tmp_path / "figure-1.svg"])
    return tmp_path


def test_an_audit_says_first_whether_a_proof_is_refuted(audit: Path) -> None:
    said = page_of(audit)
    for words in (
        "Audit of k-rr",
        "No proof is refuted. 2 audited: 1 consistent, 1 claim refuted.",
        "k-rr: k = 3 answer 1 ∞",
    ):
        assert words in said
    rows = [{**AUDIT["rows"][0], "verdict": "proof refuted"}]
    (audit / "audit.json").write_text(json.dumps({**AUDIT, "rows": rows}), encoding="utf-8")
    assert "1 proof is refuted." in page_of(audit)


def test_a_reproduction_says_which_claims_hold_and_has_pictures_and_tables(reproduction: Path) -> None:
    said = page_of(reproduction)
    for words in (
        "A paper, run again",
        "1 of 2 claims of the paper hold.",
        "psephos reproduce paper runs it.",
        "It is <fast>. holds 9 of 9. Section 1",
        "It is exact. does not hold 0 of 9. Section 2",
        "drawn",
        "What comes of n",
        "10 0.500 ± 0.010",
    ):
        assert words in said


def test_trials_leave_a_page_with_every_measure(psephos: Psephos) -> None:
    words = ("consortium", "--set", "count=20", "--trials", "12", "--grid", "epsilon=1,4", "--workers", "1")
    assert psephos("trials", *words, "--no-pictures", "--out", "out", "--seed", "3").status == 0
    said = Parts(Path("out", REPORT).read_text(encoding="utf-8")).text
    for each in (
        "Trials of consortium",
        "12 trials of each cell",
        "epsilon = 1, ε proven = 1: Accuracy ",
        "epsilon = 4, ε proven = 4: Accuracy ",
        "MSE margin",
    ):
        assert each in said
    assert psephos("trials", *words, "--no-pictures", "--no-report", "--out", "none").status == 0
    assert not Path("none", REPORT).exists()


@pytest.mark.bad_input("a run's folder that is unfinished, damaged, of another kind, or of a later version")
@pytest.mark.parametrize("name", ["../salaries", "/", "a/../../salaries", "..", ""])
def test_a_table_of_another_folder_is_not_shown(reproduction: Path, name: str) -> None:
    folder = reproduction / "made"
    folder.mkdir()
    for path in list(reproduction.iterdir()):
        if path.is_file():
            path.rename(folder / path.name)
    (reproduction / "salaries.csv").write_text("name,salary\nann,9\n", encoding="utf-8")
    tables = {f"{reproduction}/salaries" if name == "/" else name: [{"a": 1}]}
    (folder / "reproduction.json").write_text(json.dumps({**REPRODUCTION, "tables": tables}), encoding="utf-8")
    with refuses("reproduction.json.tables"):
        write_report(folder)


@pytest.mark.bad_input("a run's folder that is unfinished, damaged, of another kind, or of a later version")
@pytest.mark.parametrize(
    ("study", "field"),
    [
        ({"tables": [{"name": "../salaries", "caption": "c"}]}, "study.json.tables"),
        ({"tables": [{"caption": "c"}]}, "study.json.tables"),
        ({"tables": 3}, "study.json.tables"),
        ({"verdict": "won"}, "study.json.verdict"),
    ],
)
@pytest.mark.parametrize("place", ["", "power"])
def test_a_damaged_study_is_refused_by_field(tmp_path: Path, study: dict[str, Any], field: str, place: str) -> None:
    (tmp_path / "salaries.csv").write_text("name,salary\nann,9\n", encoding="utf-8")
    folder = tmp_path / "run"
    (folder / place).mkdir(parents=True)
    (folder / "run.json").write_text("{}", encoding="utf-8")
    told = {"kind": "k", "title": "t", "verdict": ["v"], "tables": [], **study}
    (folder / place / "study.json").write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(ConfigurationError) as refused:
        write_report(folder)
    assert refused.value.field.startswith(field)


@pytest.mark.bad_input("a run's folder that is unfinished, damaged, of another kind, or of a later version")
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"n,accuracy\n10,0.5,0.5\n", "more entries than its header"),
        (b"n,accuracy\n" + b"1" * 200_000 + b",0.5\n", "field larger"),
        (b"n,accuracy\n\xff,0.5\n", "table-1.csv"),
    ],
)
def test_a_damaged_table_is_refused(reproduction: Path, content: bytes, words: str) -> None:
    (reproduction / "table-1.csv").write_bytes(content)
    with pytest.raises(ConfigurationError, match=words):
        write_report(reproduction)


def test_an_integer_that_no_number_holds_is_shown_as_text(reproduction: Path) -> None:
    number = "1" + "0" * 400
    (reproduction / "table-1.csv").write_text(f"name,n\nann,{number}\n", encoding="utf-8")
    assert number in page_of(reproduction)


def test_what_nothing_bounds_is_sorted_behind_all_numbers(audit: Path) -> None:
    page = write_report(audit).read_text(encoding="utf-8")
    assert 'data-value="Infinity"' in page  # as JavaScript reads it
    assert 'data-value="inf"' not in page


@pytest.mark.bad_input("a run's folder that is unfinished, damaged, of another kind, or of a later version")
@pytest.mark.parametrize(
    ("content", "field"),
    [
        ({**AUDIT, "rows": [{"group": 1}]}, "audit.json.rows[0].group"),
        ({**AUDIT, "schema": 9}, "schema in audit.json"),
        ({}, "audit.json"),
    ],
)
def test_a_damaged_audit_is_refused_by_field(audit: Path, content: dict[str, Any], field: str) -> None:
    (audit / "audit.json").write_text(json.dumps(content), encoding="utf-8")
    with refuses(field):
        write_report(audit)


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (
            (
                *("trials", "consortium", "--trials", "20", "--grid", "epsilon=1,2", "--grid", 'title="{ann}"'),
                *("--set", "count=20", "--seed", "4"),
            ),
            "psephos trials consortium --set count=20 --trials 20 --grid epsilon=1,2 --grid title=… --seed 4",
        ),
        pytest.param(
            ("audit", "k-rr", "--source", "simulated", "--samples", "1000", "--quick"),
            "psephos audit k-rr --source simulated --samples 1000 --quick",
            marks=pytest.mark.full("an audit, whose searches take seconds"),
        ),
    ],
)
def test_a_study_says_the_command_that_repeats_it(psephos: Psephos, words: tuple[str, ...], command: str) -> None:
    without = ("--no-pictures",) if words[0] == "trials" else ()
    assert psephos(*words, *without, "--out", "out").status == 0
    said = page_of(Path("out")).replace("'", "")
    assert f"the command that repeats it: {command}" in said  # which holds nothing but the result's


def test_the_command_of_a_series_has_neither_its_seed_nor_anybodys_values(psephos: Psephos) -> None:
    table = 'description="{ partner = ann }"'
    words = ("--seed", "51966", "--set", "seed=51967", "--set", "transport=array", "--set", table)
    assert psephos("run", "housing-cooperative", *words, "--no-pictures", "--out", "out").status == 0
    said = "the command that repeats it: psephos run housing-cooperative --set transport=array --set description=…"
    assert said in page_of(Path("out")).replace("'", "")
    kept = Path("out/command.json").read_text(encoding="utf-8")
    assert not any(secret in kept for secret in ("ann", "5196"))


@pytest.mark.bad_input("a run's folder that is unfinished, damaged, of another kind, or of a later version")
@pytest.mark.parametrize("content", ['{"command": 3}', '{"command"', '{"schema": 9, "command": "psephos"}'])
def test_a_damaged_command_is_refused(audit: Path, content: str) -> None:
    (audit / "command.json").write_text(content, encoding="utf-8")
    with pytest.raises(ConfigurationError, match="command"):
        write_report(audit)


def test_a_command_is_no_markup(audit: Path) -> None:
    (audit / "command.json").write_text('{"command": "<script>alert(1)</script>"}', encoding="utf-8")
    page = write_report(audit).read_text(encoding="utf-8")
    assert "&lt;script&gt;alert" in page
