"""The moral preferences paper, run again: what is written, and that every verdict follows from the numbers."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from psephos.scenarios.experiments.comparing import ClaimRule, compare
from psephos.scenarios.experiments.declared import page_of as declared_page
from psephos.scenarios.experiments.measurements import sample_of
from psephos.scenarios.experiments.paper_files import rows_beside
from psephos.scenarios.moral_preferences.paper import PAPER, runs
from psephos.scenarios.moral_preferences.paper.societies import MACHINE_LIKE, OWN
from psephos.scenarios.moral_preferences.paper.trials import METHODS, CellToMeasure
from psephos.scenarios.verdicts import Judgement
from rerun_papers import Reproduced, check_folder, check_pictures, run_small, shown

TABLES = ("figures_1_to_4", *(f"figure_{number}" for number in range(5, 11)), "baselines", "variants", "weights")
PICTURES = (*(f"figure-{number}" for number in range(1, 11)), "variants", "weights")
LINES = [line for file in ("claims.csv", "additions.csv") for line in rows_beside(runs.__name__, file) if line["rows"]]
BONUS = {
    "algorithm-1": 0.008,
    "central-laplace": 0.008,
    "algorithm-3": 0.005,
    "algorithm-3-less-noise": 0.006,
    "algorithm-3-trimmed": 0.006,
    "direction": 0.012,
    "central-direction": 0.012,
    "central-voter-direction": 0.012,
    "voter-direction": 0.003,
}


def synthetic_accuracy(cell: CellToMeasure) -> float:
    """Return an accuracy of which all that is claimed of the paper's methods, and of ours, is true."""
    name = cell.method.removesuffix("-weighted").removesuffix("-projected").replace("whitened", "direction")
    found = 0.9 + BONUS.get(name, 0.0) + 0.001 * (name != cell.method)
    found += 1e-5 * (cell.voters + cell.society.records - 10 * cell.society.features)
    found -= 0.001 * abs((cell.bound or 2.0) - 2)
    if groups := cell.groups:
        return found + 0.003 * (groups.epsilon_conservative + groups.epsilon_moderate - groups.conservative)
    return 0.96 if math.isinf(cell.epsilon) else found + 0.003 * math.log(cell.epsilon)


def synthetic(cells: Iterable[CellToMeasure], *, trials: int, **_: object) -> Mapping[CellToMeasure, Any]:
    spread = 1e-6 * np.random.default_rng(1).normal(size=trials)
    return {cell: (synthetic_accuracy(cell) + np.roll(spread, number)).tolist() for number, cell in enumerate(cells)}


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Reproduced:
    """A reproduction with accuracies of our own making, its folder, and what it said as it went on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "measure_all", synthetic)
        return run_small(PAPER, tmp_path_factory.mktemp("reproduction") / "run", trials=10, seed=3, workers=1)


@pytest.fixture
def tables(reproduced: Reproduced) -> dict[str, Sequence[Mapping[str, Any]]]:
    """Its rows."""
    return {name: getattr(reproduced[0], name) for name in TABLES}


def test_the_folder_holds_a_csv_for_each_table_the_whole_and_the_summary(reproduced: Reproduced) -> None:
    check_folder(PAPER, reproduced, [name.replace("_", "-") for name in TABLES])
    said = reproduced[2]
    assert [number for _, number, _ in said] == list(range(int(said[0][2]) - 1))  # the pictures are the last step


def test_every_figure_has_its_points(tables: dict[str, Sequence[Mapping[str, Any]]]) -> None:
    places = {(row["method"], row["voters"], row["records"], row["epsilon"]) for row in tables["figures_1_to_4"]}
    assert len(places) == len(tables["figures_1_to_4"]) == 3 * 2 * 2 * 17
    assert len(tables["figure_5"]) == 2 * 3 * 7
    assert {row["panel"] for row in tables["figure_6"]} == {"a", "b", "c"}
    assert {row["panel"] for row in tables["figure_8"]} == {"a-c", "d"}
    assert {row["kind"] for name in ("figure_8", "figure_9") for row in tables[name]} == {MACHINE_LIKE}
    shares = {row["conservative"] for row in tables["figure_6"] if row["panel"] == "a"}
    assert shares == {0.1, 0.2, 0.3, 0.4, 0.5, 0.6}
    assert [(row["ratio"].value, row["epsilon_voter"]) for row in tables["baselines"] if row["bound"] == 2] == [
        (1, None)
    ] * 3


def test_what_a_voter_pays_follows_from_the_unit(tables: dict[str, Sequence[Mapping[str, Any]]]) -> None:
    """ε for a voter's mechanism and for Laplace noise on preferences; n·ε for records' own."""
    for row in tables["variants"]:
        parameters = METHODS[row["method"]]
        is_voter_s = row["paradigm"].startswith("V") or parameters["mechanism"] == "laplace"
        assert row["epsilon_voter"] == pytest.approx(row["epsilon"] * (1 if is_voter_s else row["records"]))


@pytest.mark.parametrize("line", LINES, ids=[line["claim"] for line in LINES])
def test_each_claim_follows_from_the_numbers(
    line: Mapping[str, str], tables: dict[str, Sequence[Mapping[str, Any]]]
) -> None:
    """It holds of numbers that are as it says, and does not of their opposites; what is vague cannot be told then."""

    def judged(turned: Callable[[float], float]) -> Judgement:
        def changed(row: Mapping[str, Any]) -> Mapping[str, Any]:
            given = row[line["measure"]]
            numbers = [turned(number) for number in given.numbers]
            return {**row, line["measure"]: sample_of(numbers, is_share=given.is_share)}

        other = {name: [changed(row) for row in rows] for name, rows in tables.items()}
        how = ClaimRule(line["rows"], line["against"], line["measure"], line["judge"])
        told = compare(how, other, trials=10, axes=declared_page(runs.__name__).axes)
        assert told is not None
        return told.judgement

    assert judged(lambda number: number) is Judgement.HOLDS
    assert judged(lambda number: 1 - number) is (
        Judgement.OPEN if line["judge"].startswith("vague") else Judgement.REFUTED
    )
    assert judged(lambda _: 0.5) is not Judgement.HOLDS


def test_each_sentence_of_the_paper_has_one_verdict(reproduced: Reproduced) -> None:
    found = reproduced[0]
    claims = [finding.claim for finding in found.paper_findings]
    assert len(claims) == len(set(claims)) == 25
    assert sum(finding.on_stand_in for finding in found.paper_findings) == 4
    assert len(found.own_findings) == 12
    for finding in (*found.paper_findings, *found.own_findings):
        assert "nan" not in finding.numbers
        assert finding.numbers.endswith(".")


@pytest.mark.usefixtures("unmeasured_drawing")
def test_all_pictures_are_drawn(reproduced: Reproduced, tmp_path: Path) -> None:
    check_pictures(runs.EXPERIMENTS.pictures(reproduced[0]), PICTURES, tmp_path)
    text = (tmp_path / "figure-10.svg").read_text(encoding="utf-8")
    for words in ("Algorithm 3", "10 repetitions a point", "a stand-in"):
        assert words in text


def test_the_terminal_shows_every_table_in_full(reproduced: Reproduced) -> None:
    text = shown(PAPER, reproduced[0], width=130)
    for words in (
        "Figures 1 to 4: Algorithm 1",
        "Figure 9",
        "RLDP, all methods at equal ε",
        "What we add",
        "10 repetitions",
    ):
        assert words in text
    assert "…" not in text


def test_other_grids_give_other_rows_and_one_table_that_one_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(runs, "measure_all", synthetic)
    settings = ["curves.figure_5.all.epsilon=[0.1, 1.0]"]
    found = run_small(PAPER, tmp_path, trials=10, settings=settings, only=["figure-5"])[0]
    assert [row["epsilon"] for row in found.figure_5] == [0.1, 1.0] * 6
    assert not any(getattr(found, name) for name in TABLES if name != "figure_5")
    assert "The accuracy of Algorithms 1 and 3 falls" in (tmp_path / "summary.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("unmeasured_drawing")
def test_a_file_of_one_s_own_has_three_figures_and_four_claims(
    reproduced: Reproduced, tables: dict[str, Sequence[Mapping[str, Any]]], tmp_path: Path
) -> None:
    """With half as many voters, as a small file has."""

    def changed(row: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**row, "kind": OWN, "voters": row["voters"] // 2, "records": 3}

    own = {name: [changed(row) for row in tables[name] if row["kind"] == MACHINE_LIKE] for name in TABLES[4:7]}
    kept = dict.fromkeys(TABLES, ()) | {name: tuple(rows) for name, rows in own.items()}
    found = msgspec.structs.replace(reproduced[0], own="mine.csv", **kept)
    assert [finding.judgement for finding in runs.ON_OWN_DATA.on_paper(found)] == [Judgement.HOLDS] * 4
    check_pictures(runs.ON_OWN_DATA.pictures(found), ("figure-8", "figure-9", "figure-10"), tmp_path)
    told = [sheet.caption for sheet in runs.ON_OWN_DATA.sheets(found)]
    assert len(told) == 3 + 2 + 1
    assert all("your data" in caption for caption in told)
