"""The truth discovery paper, run again: what is written, and that every verdict follows from the numbers."""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from psephos.scenarios.experiments.comparing import Row
from psephos.scenarios.experiments.declared import grids_of
from psephos.scenarios.experiments.findings import Finding, sentences
from psephos.scenarios.experiments.paper_files import rows_beside
from psephos.scenarios.experiments.reproductions import page_of
from psephos.scenarios.truth_discovery.data.synthetic import PeerGrading
from psephos.scenarios.truth_discovery.paper import PAPER, runs
from psephos.scenarios.truth_discovery.paper.claims import findings_on_truth_discovery
from psephos.scenarios.truth_discovery.paper.runs import EXPERIMENTS, GRIDS, OF_PAPER, noise_at
from psephos.scenarios.truth_discovery.paper.theory import ProductOfUniforms
from psephos.scenarios.verdicts import Judgement
from rerun_papers import (
    Change,
    Flip,
    Reproduced,
    check_flip,
    check_folder,
    check_pictures,
    exactly,
    findings_of,
    run_small,
    shown,
    swapped,
    where,
)

pytestmark = pytest.mark.full("fifteen seconds of crowds; other papers are reproduced small as well")

TABLES = ("crowds", "table-1", "table-2", "table-3", "figure-1", "figure-2", "falls", "comparisons")
PICTURES = {"figure-1", "figure-2", "figure-3", "figure-4", "equal-loss", "estimators"}
SMALL_CLASS = PeerGrading(groups=6, students=12, grades=3, quality=(0.75, 0.1))
FEW = (
    'compared=["duchenne","bluebird","rte"]',
    "prices.claimed=[1.0]",
    "prices.all answers=[0.5,1.0,2.0]",
    "prices.one answer=[1.0,4.0]",
)


def write_sets(folder: Path) -> None:
    """Write two small data sets in the forms of the published ones: smiles, and which bird it is."""
    generator = np.random.default_rng(7)
    truth = generator.integers(0, 2, size=14)
    rows = [
        (task, worker, int(truth[task] ^ (generator.random() < 0.05 + 0.04 * worker)))
        for task in range(14)
        for worker in range(7)
    ]
    smiles, birds = folder / "duchenne", folder / "bluebird"
    for path in (smiles, birds):
        path.mkdir(parents=True)
    labels = "".join(f"{2001 + task:04d} w{worker:02d} {label}\n" for task, worker, label in rows)
    (smiles / "mturklabels.txt").write_text(labels, encoding="utf-8")
    gold = "".join(f"{2001 + task:04d}\t{label}\n" for task, label in enumerate(truth.tolist()) if task)
    (smiles / "groundtruth.txt").write_text(gold, encoding="utf-8")
    answers = "".join(f"{task},{worker},{label}\n" for task, worker, label in rows if (task + worker) % 3)
    (birds / "label.csv").write_text(f"item,worker,label\n{answers}", encoding="utf-8")
    truths = "".join(f"{task},{label}\n" for task, label in enumerate(truth.tolist()))
    (birds / "truth.csv").write_text(f"item,truth\n{truths}", encoding="utf-8")


@pytest.fixture(scope="module")
def small() -> Iterator[None]:
    """A smaller class in the stand-in's place, and fewer crowds and prices at which they are compared."""
    few = grids_of(runs.__name__, FEW)

    def grids(_: object) -> dict[str, Any]:
        return few

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "PEER_GRADING_STAND_IN", SMALL_CLASS)
        patch.setattr(runs, "EXPERIMENTS", dataclasses.replace(EXPERIMENTS, grids=grids))
        yield


def again(sets: Path, path: Path, **options: Any) -> Reproduced:
    return run_small(PAPER, path, data=str(sets), trials=10, seed=3, **options)


@pytest.fixture(scope="module")
def reproduced(small: None, tmp_path_factory: pytest.TempPathFactory) -> Reproduced:
    """A small reproduction, its folder, and what it said as it went on."""
    del small
    root = tmp_path_factory.mktemp("reproduction")
    write_sets(root / "sets")
    return again(root / "sets", root / "run")


def test_the_folder_holds_a_csv_for_each_table_the_whole_and_the_summary(reproduced: Reproduced) -> None:
    check_folder(PAPER, reproduced, TABLES)
    found, _, steps = reproduced
    lines = [said for said, _, _ in steps]
    assert found.missing == {"rte": "not in the folder of data sets"}
    told = list(dict.fromkeys(lines))
    assert told[:4] == ["crowds", "Table 2", "Table 3", "weights: peer-grading"]
    assert len(told) + 1 == EXPERIMENTS.steps - len(GRIDS["compared"]) + 2  # of nine crowds two; no pictures
    assert lines.count("Table 3") == 1 + 52


@pytest.mark.unmeasured
@pytest.mark.full("a second reproduction")
def test_the_same_seed_gives_the_same_files(reproduced: Reproduced, tmp_path: Path) -> None:
    found, path, _ = reproduced
    other = again(path.parent / "sets", tmp_path / "run")[0]
    assert (other.tables, other.findings) == (found.tables, found.findings)


def test_every_published_cell_is_there_once(reproduction: Any) -> None:
    known = {row["crowd"]: row for row in reproduction.crowds}
    for crowd, table in (("peer-grading", reproduction.table_2), ("duchenne", reproduction.table_3)):
        lines = [line for line in rows_beside(runs.__name__, "published.csv") if line["crowd"] == crowd]
        assert len(table) == len(lines) == 52
        for row, line in zip(table, lines, strict=True):
            assert all(row[name] == line[name] for name in ("crowd", "method", "estimator", "mechanism"))
            assert (row["epsilon"], row["published"].value) == (float(line["epsilon"]), float(line["change"]))
            clean = row["accuracy"].value + row["change"].value
            assert clean == pytest.approx(known[crowd][row["estimator"]])


def test_published_tables_are_typed_as_printed() -> None:
    """Single cells of every column, read in the paper; and every column falls with ε but for what chance does."""
    told = {
        (line["crowd"], float(line["epsilon"]), line["method"]): float(line["change"])
        for line in rows_beside(runs.__name__, "published.csv")
    }
    assert len(told) == 104
    assert told["peer-grading", 1.0, "TD with two-layer"] == 0.0619
    assert told["peer-grading", 0.001, "MV with one-layer"] == 0.2485
    assert told["duchenne", 0.5, "TD with two-layer"] == 0.0962
    assert told["duchenne", 0.0, "TD with one-layer"] == 0.2277
    assert told["duchenne", 0.2, "MV with two-layer"] == 0.2160
    for crowd, _, method in told:
        column = [told[crowd, epsilon, method] for epsilon in (1.0, 0.5, 0.1, 0.0)]
        assert column == sorted(column)


def test_proven_losses_stand_beside_the_claimed_one(reproduction: Any) -> None:
    """With one layer ε an answer and m·ε; with two layers more than ε for one answer."""
    most = next(row["most_answers"] for row in reproduction.crowds if row["crowd"] == "duchenne")
    for row in reproduction.table_3:
        if row["mechanism"] == "one_layer":
            assert row["epsilon_answer"] == pytest.approx(row["epsilon"], abs=1e-12)
            assert row["epsilon_worker"] == pytest.approx(most * row["epsilon"], abs=1e-11)
        else:
            assert row["epsilon_answer"] > row["epsilon"]
            assert row["epsilon_worker"] > 0
    last = [row for row in reproduction.table_3 if row["epsilon"] == 0 and row["mechanism"] == "two_layer"]
    assert {round(row["epsilon_answer"], 9) for row in last} == {round(math.log(most), 9)}


def test_mechanisms_of_one_price_have_one_proven_loss(reproduction: Any) -> None:
    most = {row["crowd"]: row["most_answers"] for row in reproduction.crowds}
    for row in reproduction.comparisons:
        if row["unit"] == "all answers":
            assert row["epsilon_worker"] == pytest.approx(row["price"] * most[row["crowd"]], rel=1e-6)
        if row["unit"] == "one answer":
            assert row["epsilon_answer"] == pytest.approx(row["price"], rel=1e-6)


def test_leads_and_gains_are_trial_by_trial(reproduction: Any) -> None:
    """An estimator's lead is on the same reports, and is known better than by independent trials."""
    by_place = {place_of(row): row for row in reproduction.comparisons}
    smaller = 0
    for (*place, mechanism, estimator), row in by_place.items():
        paper = by_place[(*place, mechanism, "truth_discovery")]
        assert row["lead"].value == pytest.approx(row["accuracy"].value - paper["accuracy"].value)
        apart = math.hypot(row["accuracy"].standard_error, paper["accuracy"].standard_error)
        smaller += row["lead"].standard_error <= apart
        other = by_place.get((*place, "one_layer", estimator))
        if mechanism == "one_layer" or other is None:
            assert row["gain"] is None
        else:
            assert row["gain"].value == pytest.approx(row["accuracy"].value - other["accuracy"].value)
    assert smaller > 0.8 * len(by_place)


def place_of(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("crowd", "unit", "price", "mechanism", "estimator"))


def test_each_price_has_the_estimators_that_are_asked_for(reproduction: Any) -> None:
    found: dict[tuple[Any, ...], list[str]] = {}
    for row in reproduction.comparisons:
        found.setdefault(place_of(row)[:-1], []).append(row["estimator"])
    assert {tuple(place[1:2]) for place in found} == {("claimed",), ("all answers",), ("one answer",)}
    for (_, unit, *_), estimators in found.items():
        assert estimators == ["truth_discovery", *GRIDS["estimators"][unit]]


def test_the_mechanism_that_is_taken_is_autos_and_at_a_claimed_price_the_papers(
    reproduction: Any, tmp_path: Path
) -> None:
    write_sets(tmp_path)
    layouts, _ = runs.load_layouts(str(tmp_path), ["bluebird"])
    taken = {place_of(row)[:3]: row["mechanism"] for row in reproduction.comparisons if row["is_taken"]}
    for (crowd, unit, price), mechanism in taken.items():
        if crowd == "bluebird":
            due = "two_layer" if unit == "claimed" else noise_at(layouts[crowd], "auto", unit=unit, price=price).name
            assert mechanism == due
    assert len(taken) == 3 * 6


def test_weights_are_of_the_first_trial(reproduction: Any) -> None:
    for crowd, workers in (("peer-grading", 12), ("duchenne", 7)):
        rows = [row for row in reproduction.figure_2 if row["crowd"] == crowd]
        assert len({row["name"] for row in rows}) == len(rows) == workers
        assert all(0 <= row["flip_probability"] <= 2 * 0.378 for row in rows)
        assert sum(row["is_drawn"] for row in rows) == min(workers, 12)
        assert any(row["clean"] != row["reported"] for row in rows)


def test_blocks_of_trials_are_trials(reproduced: Reproduced, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The falls of weights are the same, one trial at a time."""
    found, path, _ = reproduced
    monkeypatch.setattr(runs, "TRIALS_AT_A_TIME", 1)
    other = again(path.parent / "sets", tmp_path / "run", only=["falls", "figure-2"])[0]
    assert (other.falls, other.figure_2, other.table_3) == (found.falls, found.figure_2, ())
    assert {finding.claim for finding in other.paper_findings} >= {f"{WEIGHTS}."}


def test_figure_1_is_the_law(reproduction: Any) -> None:
    assert {(row["panel"], row["high"], row["num_workers"]) for row in reproduction.figure_1} == {
        *(("a", high, 2) for high in (0.5, 0.7, 0.9)),
        *(("b", 0.9, number) for number in (2, 4, 8)),
    }
    for row in reproduction.figure_1[::37]:
        law = ProductOfUniforms(row["high"], row["num_workers"])
        assert (row["density"], row["chance"]) == (law.density(row["change"]), law.distribution(row["change"]))


@pytest.mark.usefixtures("small")
def test_without_a_folder_there_is_what_can_be_made_without_one(tmp_path: Path) -> None:
    found, path, _ = run_small(PAPER, tmp_path / "run", trials=10)
    assert found.table_3 == ()
    assert not (path / "table-3.csv").exists()
    assert (path / "table-2.csv").exists()
    assert found.missing == dict.fromkeys(("duchenne", "bluebird", "rte"), "no folder of data sets was named")
    page = (path / "summary.md").read_text(encoding="utf-8")
    assert "duchenne, bluebird, rte: no folder of data sets was named" in page
    assert set(EXPERIMENTS.pictures(found)) == PICTURES - {"figure-2", "figure-4"}
    told = {finding.source: finding.judgement for finding in found.paper_findings}
    assert told["Table 3, Section 7.2 (3), at equal claimed ε"] is Judgement.NO_DATA
    assert told["Table 1, reading T1"] is Judgement.NO_DATA


@pytest.mark.usefixtures("unmeasured_drawing")
def test_all_pictures_are_drawn(reproduction: Any, tmp_path: Path) -> None:
    pictures = EXPERIMENTS.pictures(reproduction)
    assert set(EXPERIMENTS.captions) == PICTURES
    check_pictures(pictures, PICTURES, tmp_path)
    text = (tmp_path / "figure-4.svg").read_text(encoding="utf-8")
    for words in ("TD with two-layer", "published", "10 trials a point", "error rate change"):
        assert words in text
    text = (tmp_path / "equal-loss.svg").read_text(encoding="utf-8")
    for words in ("peer-grading", "bluebird", "price = 0.5"):
        assert words in text


def test_the_summary_says_what_is_synthetic_and_what_readings_are_before_it_names_one(reproduction: Any) -> None:
    page = page_of(PAPER, reproduction)
    assert page.index("T1 to T9 are readings") < page.index("reading T3")
    assert "made-up stand-in" in page


def test_the_terminal_shows_every_sheet(reproduction: Any) -> None:
    for sheet in EXPERIMENTS.sheets(reproduction):
        assert sheet.rows
        assert all(len(row) == len(sheet.columns) for row in sheet.rows)
    text = shown(PAPER, reproduction, width=300)
    for words in ("Table 2, peer grading (a made-up stand-in)", "Table 3, Duchenne smiles", "layers: two", "gain"):
        assert words in text
    assert "nan" not in text


def test_a_sentence_has_one_verdict_and_laws_are_told_once(reproduction: Any) -> None:
    by_law = sentences(findings_on_truth_discovery())
    told = {f.claim: f.judgement for f in reproduction.paper_findings if f.source.startswith("reading")}
    assert told == {f"{each.findings[0].claim} ({each.findings[0].place}).": each.judgement for each in by_law}
    holding = {each.findings[0].key for each in by_law if each.judgement is Judgement.HOLDS}
    refuted = {each.findings[0].key for each in by_law if each.judgement is Judgement.REFUTED}
    assert (holding, refuted) == ({"T10", "T15", "T5"}, {"T9", "T8", "T14"})
    assert {each.judgement for each in by_law} == {Judgement.HOLDS, Judgement.REFUTED, Judgement.IN_PART}
    words = [line["words"] for line in rows_beside(runs.__name__, "claims.csv") if not line["rows"]]
    assert len(set(words)) == len(words)


def as_published(less: float) -> Change:
    return lambda row: exactly(change=row["published"].value + less, published=row["published"].value)


def chance(field: str, slope: float) -> Change:
    """Give curves a chance that grows, or falls, with a field."""
    return lambda row: {"chance": 0.5 + slope * row[field]}


TD, MV, TWO = "truth_discovery", "majority", "two_layer"
WEIGHTS = "A worker's estimated weight falls the more, the larger the flip probability it drew"
SIZES = {"tasks": 2134, "workers": 64, "answers": 17729, "gold": 159}
FLIPS: Sequence[Flip] = (
    ("A smaller b", "figure_1", chance("high", -0.1), chance("high", 0.1)),
    ("More important users", "figure_1", chance("num_workers", 0.01), chance("num_workers", -0.01)),
    (
        "The Duchenne data set",
        "table_1",
        lambda row: {"ours": SIZES.get(row["what"], 0), "printed": SIZES.get(row["what"], 0)},
        lambda row: {"ours": 30319, "printed": SIZES.get(row["what"], 0)},
    ),
    (
        "The accuracy without perturbation",
        "table_1",
        lambda _: {"distance": 0.004},
        lambda row: {"distance": 0.001 if row["what"] == MV else 0.04},
    ),
    *(
        (f"The changes of {name} with {layers}-layer", "table_3", as_published(0.0), as_published(0.02))
        for name in ("MV", "TD")
        for layers in ("one", "two")
    ),
    *(
        flip
        for table in ("table_2", "table_3")
        for flip in (
            swapped("every ε truth discovery has a smaller", table, "change", 0.1, 0.2, estimator=TD, mechanism=TWO),
            (
                "ajority voting does as well",
                table,
                where("change", 0.2, 0.2),
                where("change", 0.3, 0.2, estimator=MV, mechanism=TWO),
            ),
            swapped("ith two layers truth discovery gives", table, "accuracy", 0.8, 0.7, estimator=TD, mechanism=TWO),
        )
    ),
    ("A worker's estimated weight", "falls", lambda _: exactly(correlation=0.3), lambda _: exactly(correlation=-0.3)),
    (
        "On the stand-in, a worker's estimated weight",
        "falls",
        lambda _: exactly(correlation=0.3),
        lambda _: exactly(correlation=-0.3),
    ),
    ("A made-up crowd", "table_2", as_published(0.0), as_published(0.05)),
    swapped("At the same privacy the two-layer mechanism", "comparisons", "accuracy", 0.8, 0.7, mechanism=TWO),
    swapped("With one layer truth discovery's smaller changes", "table_3", "accuracy", 0.8, 0.7, estimator=TD),
    (
        "At equal proven loss of one answer",
        "comparisons",
        where("accuracy", 0.705, 0.7, mechanism=TWO),
        where("accuracy", 0.715, 0.7, mechanism=TWO),
    ),
    *(
        swapped(f"On the reports of {told}", "comparisons", "accuracy", 0.8, 0.7, estimator="auto", mechanism=mechanism)
        for mechanism, told in (("one_layer", "one layer"), (TWO, "two layers"))
    ),
    swapped(
        "At equal proven loss of all answers, auto",
        "comparisons",
        "accuracy",
        0.8,
        0.7,
        estimator="auto",
        is_taken=True,
    ),
    (
        "The mechanism that promises",
        "comparisons",
        where("accuracy", 0.695, 0.7, is_taken=True),
        where("accuracy", 0.685, 0.7, is_taken=True),
    ),
)


def found_of(reproduction: Any, claim: str, table: str) -> list[Finding]:
    """Return what is found of a claim: of those on Tables 2 and 3 the one on this table."""
    own = [each for each in findings_of(EXPERIMENTS, reproduction) if claim in each.claim]
    return [each for each in own if len(own) == 1 or each.on_stand_in is (table == "table_2")]


@pytest.mark.parametrize("flip", FLIPS, ids=lambda flip: f"{flip[0]}, {flip[1]}")
def test_a_verdict_follows_the_numbers(reproduction: Any, flip: Flip) -> None:
    def find(changed: Any) -> Finding:
        (finding,) = found_of(changed, *flip[:2])
        return finding

    in_part = flip[0] == "The accuracy without perturbation"
    check_flip(flip, reproduction, find, Judgement.IN_PART if in_part else Judgement.REFUTED)


def test_what_wins_at_some_prices_and_loses_at_others_holds_in_part(reproduction: Any) -> None:
    change = where("accuracy", 0.8, 0.7, mechanism=TWO, price=1.0)
    fewer = where("accuracy", 0.6, 0.7, mechanism=TWO, price=0.5)
    rows = tuple({**row, **(fewer if row["price"] == 0.5 else change)(row)} for row in reproduction.comparisons)
    changed = msgspec.structs.replace(reproduction, comparisons=rows)
    (finding,) = found_of(changed, "At the same privacy the two-layer mechanism", "comparisons")
    assert finding.judgement is Judgement.IN_PART


def test_every_line_can_flip(reproduction: Any) -> None:
    known = [own for flip in FLIPS for own in found_of(reproduction, *flip[:2])]
    lines = [
        line["claim"]
        for file in ("claims.csv", "additions.csv")
        for line in rows_beside(runs.__name__, file)
        if line["rows"]
    ]
    assert sorted(each.claim for each in known) == sorted(f"{line}." for line in lines)
    assert len(known) == len(FLIPS)


def test_few_trials_of_other_estimators_are_known_to_be_few(reproduction: Any) -> None:
    """Their verdicts take the errors of so many trials, not of the published cells'."""
    changed = msgspec.structs.replace(reproduction, trials=100_000)
    claim = "On the reports of one layer"
    (own,), (other,) = (found_of(each, claim, "comparisons") for each in (reproduction, changed))
    assert own == other
    assert {len(row["accuracy"].numbers) for row in reproduction.comparisons} == {10}
    assert OF_PAPER == (MV, TD)
