"""`tests/calibrate.py`: systems by name, tables in a terminal and a folder, and refusals before anything is drawn."""

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from bad_input import refuses
from calibrate import ALL, CALIBRATIONS, check_calibration, main
from calibration.engine import Calibration, Case, Held, Statement, Wanted
from psephos.scenarios.system import systems
from psephos.scenarios.tables import Table, listed


def held(case: Case, sessions: int, _generator: np.random.Generator) -> Held:
    return Held(np.full(sessions, 0.05), np.full(sessions, float(case["size"] == 3)))


def statements() -> Sequence[Statement]:
    axes = {"size": (1, 2, 3), "kind": ("only",)}
    return [Statement(name=f"verdict: {name}", about="It is right.", axes=axes, hold=held) for name in ("one", "two")]


def tables(wanted: Wanted) -> Iterator[Table]:
    columns: list[tuple[str, Callable[[Wanted], str]]] = [("trials", lambda each: str(each.trials))]
    yield listed([wanted], columns, caption="What was asked", name="asked", full=[{"trials": wanted.trials}])


@pytest.fixture(autouse=True)
def synthetic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have two statements, of which a third does not hold, in place of DPWeVote's."""
    made = Calibration(title="A vote", about="It claims.", statements=statements, tables=tables)
    monkeypatch.setitem(CALIBRATIONS, "dpwevote", made)


def test_every_system_has_a_calibration() -> None:
    assert check_calibration(ALL, Wanted()) == tuple(systems())


def test_tables_are_printed_and_nothing_is_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["dpwevote", "--trials", "12", "--seed", "7"]) == 0
    out, err = capsys.readouterr()
    for shown in ("A vote", "It claims.", "verdict: one", "size=3", "What was asked", "12"):
        assert shown in out
    assert "kind=" not in out
    assert "dpwevote: verdict: two" in err
    assert not list(tmp_path.iterdir())


def test_a_folder_gets_the_page_and_a_file_for_each_table(tmp_path: Path) -> None:
    folder = tmp_path / "held"
    assert main(["dpwevote", "--trials", "12", "--cells", "2", "--search", "0.1", "--out", str(folder)]) == 0
    header, *cells = (folder / "dpwevote-cells.csv").read_text(encoding="utf-8").splitlines()
    assert header.startswith("system,statement,kind,sessions,stated,found,low,high,strain,holds,case")
    assert len(cells) > 4  # two of each statement, and what the search found
    assert (folder / "dpwevote-asked.csv").is_file()
    page = (folder / "calibration.md").read_text(encoding="utf-8")
    assert page.startswith("# Calibration: what is stated, and what is found")
    assert "(12 sessions a cell, more where they are quick; seed 1), and climbs from the worst for 0.1 seconds" in page
    assert "## A vote\n\nIt claims.\n\n**Statements, each at its worst cell**" in page
    assert "| verdict: one | size=3 | 0.05 | 1 |" in page
    assert page.count("*verdict* (at most): It is right.") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nobody"], "system is 'nobody': use one of all, dpwevote"),
        (["dpwevot"], "did you mean 'dpwevote'?"),
        (["all", "--trials", "9"], "--trials is 9: use a value from 10 to"),
        (["all", "--search", "-1"], "--search is -1.0: use a number of seconds, at least 0"),
    ],
)
def test_what_cannot_be_asked_for_ends_with_status_2(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str], said: str
) -> None:
    folder = tmp_path / "held"
    assert main([*words, "--out", str(folder)]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert "verdict" not in err
    assert not folder.exists()


@pytest.mark.parametrize(
    ("name", "wanted", "field"),
    [
        ("nobody", Wanted(), "system"),
        ("all", Wanted(trials=9), "--trials"),
        ("all", Wanted(trials=10**7), "--trials"),
        ("all", Wanted(cells=-1), "--cells"),
        ("all", Wanted(seconds=-1.0), "--search"),
        ("all", Wanted(seconds=math.nan), "--search"),
        ("all", Wanted(seed=-1), "--seed"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_by_name(name: str, wanted: Wanted, field: str) -> None:
    with refuses(field):
        check_calibration(name, wanted)
