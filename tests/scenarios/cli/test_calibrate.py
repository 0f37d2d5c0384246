"""`psephos calibrate`: systems by name, tables in a terminal and a folder, and refusals before anything is drawn."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from bad_input import Psephos
from psephos.scenarios.dpwevote import calibration
from psephos.scenarios.experiments.calibration import Calibration, Drawn
from psephos.scenarios.tables import Table, listed


class Row(msgspec.Struct):
    """What a made-up table has."""

    trials: int
    seed: int


COLUMNS: list[tuple[str, Callable[[Row], str]]] = [
    ("trials", lambda row: str(row.trials)),
    ("seed", lambda row: str(row.seed)),
]


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a table of what was asked in place of DPWeVote's."""

    def tables(asked: Drawn) -> Iterator[Table]:
        asked.tell("drawing")
        rows = [Row(asked.trials, asked.seed)]
        full = [msgspec.structs.asdict(row) for row in rows]
        yield listed(rows, COLUMNS, caption="What was asked", name="asked", full=full)

    monkeypatch.setattr(calibration, "CALIBRATION", Calibration(title="A vote", about="It claims.", tables=tables))


def test_tables_are_printed_and_nothing_is_written(psephos: Psephos, tmp_path: Path) -> None:
    ended = psephos("calibrate", "dpwevote", "--trials", "12", "--seed", "7")
    assert ended.status == 0
    for shown in ("A vote", "It claims.", "What was asked", "12", "7"):
        assert shown in ended.out
    assert "drawing" in ended.err
    assert not list(tmp_path.glob("runs/*"))


def test_a_folder_gets_the_page_and_a_file_for_each_table(psephos: Psephos, tmp_path: Path) -> None:
    folder = tmp_path / "held"
    ended = psephos("calibrate", "dpwevote", "--trials", "12", "--out", str(folder))
    assert ended.status == 0
    assert (folder / "dpwevote-asked.csv").read_text(encoding="utf-8").split() == ["trials,seed", "12,1"]
    page = (folder / "calibration.md").read_text(encoding="utf-8")
    assert page.startswith("# Calibration: claimed and counted errors")
    assert "draws 12 societies for each cell (seed 1)" in page
    assert "## A vote\n\nIt claims.\n\n**What was asked**" in page


@pytest.mark.parametrize(
    ("words", "said"),
    [(["nobody"], "system must be one of all, dpwevote"), (["all", "--trials", "9"], "--trials must be from 10 to")],
)
def test_what_cannot_be_asked_for_ends_with_status_2(
    psephos: Psephos, tmp_path: Path, words: list[str], said: str
) -> None:
    folder = tmp_path / "held"
    ended = psephos("calibrate", *words, "--out", str(folder))
    assert ended.status == 2
    assert said in ended.err
    assert "drawing" not in ended.err
    assert not folder.exists()
