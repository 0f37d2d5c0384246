"""Pages of trials, of an audit and of a reproduction: from the files that those leave."""

import json
from pathlib import Path
from typing import Any

import pytest
from bad_input import Psephos
from page_parts import Parts
from psephos.protocol.errors import ConfigurationError
from psephos.scenarios.presentation.seals import seal
from psephos.scenarios.reports import REPORT, write_report

STUDY: dict[str, Any] = {
    "kind": "Audit",
    "title": "Audit of k-rr",
    "facts": ["1,000 simulated outputs"],
    "verdict": ["No proof is refuted.", "2 losses: 1 consistent, 1 claim refuted."],
    "tables": [
        {"name": "audit", "caption": "What was found", "columns": {"n": "size"}, "left_out": ["seed"]},
        {"name": "figure-1", "picture": "What comes of n"},
        {"name": "missing", "caption": "None"},
    ],
    "notes": ["It is <fast>."],
}


def page_of(folder: Path) -> str:
    """Return the text of a folder's page, made now."""
    return Parts(write_report(folder).read_text(encoding="utf-8")).text


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """The folder of a study, with a table and a picture."""
    (tmp_path / "study.json").write_text(json.dumps(STUDY), encoding="utf-8")
    table = "n,seed,accuracy,accuracy_standard_error,proven\n10,7,0.5,0.01,inf\n"
    (tmp_path / "audit.csv").write_text(table, encoding="utf-8")
    (tmp_path / "figure-1.svg").write_text('<svg viewBox="0 0 1 1"><text>drawn</text></svg>', encoding="utf-8")
    seal(tmp_path, [tmp_path / "figure-1.svg"])
    return tmp_path


def test_a_study_has_its_verdict_its_tables_and_its_pictures(study: Path) -> None:
    said = page_of(study)
    for words in (*STUDY["verdict"], *STUDY["notes"], "Size", "0.500 ± 0.010", "drawn", "What comes of n"):
        assert words in said
    assert "Seed" not in said


def test_trials_leave_a_page_with_every_measure(psephos: Psephos) -> None:
    words = ("consortium", "--set", "count=20", "--trials", "12", "--grid", "epsilon=1,4", "--workers", "1")
    assert psephos("trials", *words, "--no-pictures", "--out", "out", "--seed", "3").status == 0
    said = Parts(Path("out", REPORT).read_text(encoding="utf-8")).text
    for each in (
        "Trials of consortium",
        "12 trials of each cell",
        "their losses differ: ε proven is 1 to 4",
        "MSE margin",
    ):
        assert each in said
    assert psephos("trials", *words, "--no-pictures", "--no-report", "--out", "none").status == 0
    assert not Path("none", REPORT).exists()


@pytest.mark.bad_input("a run's folder that is unfinished, damaged, of another kind, or of a later version")
@pytest.mark.parametrize(
    ("study", "field"),
    [
        *(
            ({"tables": [{"name": name, "caption": "c"}]}, "study.json.tables")
            for name in ("../salaries", "/etc/passwd", "a/../../salaries", "..", "")
        ),
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
    (folder / "run.json").write_text('{"schema": 2}', encoding="utf-8")
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
        (b"n,accuracy\n\xff,0.5\n", "audit.csv"),
    ],
)
def test_a_damaged_table_is_refused(study: Path, content: bytes, words: str) -> None:
    (study / "audit.csv").write_bytes(content)
    with pytest.raises(ConfigurationError, match=words):
        write_report(study)


def test_an_integer_that_no_number_holds_is_shown_as_text(study: Path) -> None:
    number = "1" + "0" * 400
    (study / "audit.csv").write_text(f"name,n\nann,{number}\n", encoding="utf-8")
    assert number in page_of(study)


def test_what_nothing_bounds_is_sorted_behind_all_numbers(study: Path) -> None:
    page = write_report(study).read_text(encoding="utf-8")
    assert 'data-value="Infinity"' in page  # as JavaScript reads it
    assert 'data-value="inf"' not in page


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
def test_a_damaged_command_is_refused(study: Path, content: str) -> None:
    (study / "command.json").write_text(content, encoding="utf-8")
    with pytest.raises(ConfigurationError, match="command"):
        write_report(study)


def test_a_command_is_no_markup(study: Path) -> None:
    (study / "command.json").write_text('{"command": "<script>alert(1)</script>"}', encoding="utf-8")
    page = write_report(study).read_text(encoding="utf-8")
    assert "&lt;script&gt;alert" in page
