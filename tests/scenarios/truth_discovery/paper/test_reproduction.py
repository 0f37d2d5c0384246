"""The truth discovery paper, run again: what is written, and that every verdict follows from the numbers."""

import functools
import io
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from psephos.scenarios.experiments.findings import Finding
from psephos.scenarios.experiments.judging import difference
from psephos.scenarios.experiments.measurements import Measurement
from psephos.scenarios.experiments.reproductions import page_of, reproduce, show_reproduction
from psephos.scenarios.experiments.sheets import where
from psephos.scenarios.presentation.drawing import save_pictures
from psephos.scenarios.running.folder import RunFolder
from psephos.scenarios.truth_discovery.data.synthetic import PeerGrading
from psephos.scenarios.truth_discovery.paper import PAPER, claims, workloads
from psephos.scenarios.truth_discovery.paper import (
    reproduction as made,
)
from psephos.scenarios.truth_discovery.paper.additions import own_findings
from psephos.scenarios.truth_discovery.paper.claims import findings_on_paper
from psephos.scenarios.truth_discovery.paper.pictures import pictures_of
from psephos.scenarios.truth_discovery.paper.published import EPSILONS, GRIDS, METHODS, TABLES
from psephos.scenarios.truth_discovery.paper.rows import ChoiceRow, ComparisonRow, PublishedCell, Reproduction
from psephos.scenarios.truth_discovery.paper.tables import sheets_of
from psephos.scenarios.truth_discovery.paper.theory import domination_excess
from psephos.scenarios.verdicts import Judgement
from rich.console import Console

pytestmark = pytest.mark.full("fifteen seconds of crowds; other papers are reproduced small as well")

TABLE_NAMES = (
    "crowds",
    "table-2",
    "table-3",
    "figure-1",
    "figure-2",
    "falls",
    "comparisons",
    "choices",
    "hypers",
    "bounds",
)
PICTURES = ("figure-1", "figure-2", "figure-3", "figure-4", "equal-loss", "estimators")
SMALL_CLASS = PeerGrading(groups=6, students=12, grades=3, quality=(0.75, 0.1))
FEW_PRICES = {"claimed": (1.0,), "all answers": (0.5, 1.0, 2.0), "one answer": (1.0, 4.0)}


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
    """A smaller class in the stand-in's place, two published crowds, and fewer prices at which they are compared."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workloads, "PEER_GRADING_STAND_IN", SMALL_CLASS)
        few = msgspec.structs.replace(GRIDS, compared=("duchenne", "bluebird", "rte"), prices=FEW_PRICES)
        for module in (workloads, made):
            patch.setattr(module, "GRIDS", few)
        yield


@pytest.fixture(scope="module", autouse=True)
def computed_once() -> Iterator[None]:
    """What follows from formulas alone takes a second each time, and nearly every test here asks for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claims, "domination_excess", functools.cache(domination_excess))
        yield


@pytest.fixture(scope="module")
def reproduced(small: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Reproduction, Path, list[str]]:
    """A small reproduction, its folder, and what it said as it went on."""
    del small
    lines: list[str] = []
    root = tmp_path_factory.mktemp("reproduction")
    write_sets(root / "sets")
    path = root / "run"
    found = reproduce(
        PAPER,
        RunFolder(path),
        data=str(root / "sets"),
        trials=10,
        seed=3,
        pictures=False,
        on_progress=lambda said, _done, _total: lines.append(said),
    )
    return found, path, lines


@pytest.fixture
def reproduction(reproduced: tuple[Reproduction, Path, list[str]]) -> Reproduction:
    """The numbers."""
    return reproduced[0]


def test_the_folder_holds_a_csv_for_each_table_the_whole_and_the_summary(
    reproduced: tuple[Reproduction, Path, list[str]],
) -> None:
    found, path, lines = reproduced
    names = {file.name for file in path.iterdir()}
    assert names == {*(f"{name}.csv" for name in TABLE_NAMES), "reproduction.json", "summary.md"}
    assert (path / "summary.md").read_text(encoding="utf-8") == page_of(PAPER, found)
    kept = ("trials", "comparison_trials", "seed", "versions", "missing", "paper_findings", "own_findings", "tables")
    assert tuple(msgspec.json.decode((path / "reproduction.json").read_bytes())) == kept
    assert found.missing == {"rte": "not in the folder of data sets"}
    assert lines[:2] == ["Table 2: 52 cells", "Table 3: 52 cells"]


@pytest.mark.unmeasured
@pytest.mark.full("a second reproduction")
def test_the_same_seed_gives_the_same_files(reproduced: tuple[Reproduction, Path, list[str]], tmp_path: Path) -> None:
    _, path, _ = reproduced
    again = reproduce(
        PAPER, RunFolder(tmp_path / "run"), data=str(path.parent / "sets"), trials=10, seed=3, pictures=False
    )
    assert again == reproduced[0]


def test_a_lead_is_over_the_majority_on_the_same_reports(reproduction: Reproduction) -> None:
    """Its error is that of the differences, which is less than that of two crowds."""
    for cell in reproduction.table_3:
        (majority,) = where(reproduction.table_3, estimator="majority", mechanism=cell.mechanism, epsilon=cell.epsilon)
        if cell is majority:
            assert cell.lead is None
            continue
        assert cell.lead is not None
        assert cell.lead.value == pytest.approx(majority.error_rate.value - cell.error_rate.value)
    leads = [cell.lead.standard_error for cell in reproduction.table_3 if cell.lead is not None]
    apart = [difference(cell.error_rate, cell.error_rate).standard_error for cell in reproduction.table_3]
    assert np.mean(leads) < np.mean(apart)


def test_every_published_cell_is_there_once(reproduction: Reproduction) -> None:
    for crowd, table in (("peer-grading", reproduction.table_2), ("duchenne", reproduction.table_3)):
        places = {(cell.estimator, cell.mechanism, cell.epsilon): cell for cell in table}
        assert len(places) == len(table) == len(EPSILONS) * len(METHODS) == 52
        for epsilon, (name, (estimator, mechanism)), change in (
            (epsilon, method, change)
            for epsilon, changes in TABLES[crowd].items()
            for method, change in zip(METHODS.items(), changes, strict=True)
        ):
            cell = places[estimator, mechanism, epsilon]
            assert cell.published is not None
            assert (cell.published.value, cell.method) == (change, name)
            clean = cell.error_rate.value - cell.change.value
            row = next(row for row in reproduction.crowds if row.crowd == crowd)
            assert clean == pytest.approx(1 - getattr(row, estimator))


def test_published_tables_are_typed_as_printed() -> None:
    """Single cells of every column, read in the paper; and every column falls with ε but for what chance does."""
    assert list(METHODS) == [f"{name} with {layers}-layer" for layers in ("one", "two") for name in ("MV", "TD")]
    assert TABLES["peer-grading"][1.0][3] == 0.0619
    assert TABLES["peer-grading"][0.001][0] == 0.2485
    assert TABLES["duchenne"][0.5][3] == 0.0962
    assert TABLES["duchenne"][0.0][1] == 0.2277
    assert TABLES["duchenne"][0.2][2] == 0.2160
    for table in TABLES.values():
        for column in zip(*(table[epsilon] for epsilon in (1.0, 0.5, 0.1, 0.0)), strict=True):
            assert list(column) == sorted(column)


def test_proven_losses_stand_beside_the_claimed_one(reproduction: Reproduction) -> None:
    """With one layer ε an answer and m·ε; with two layers more than ε for one answer."""
    most = next(row.most_answers for row in reproduction.crowds if row.crowd == "duchenne")
    for cell in reproduction.table_3:
        if cell.mechanism == "one_layer":
            assert cell.epsilon_answer == pytest.approx(cell.epsilon, abs=1e-12)
            assert cell.epsilon_worker == pytest.approx(most * cell.epsilon, abs=1e-11)
        else:
            assert cell.epsilon_answer > cell.epsilon
            assert cell.epsilon_worker > 0
    last = [cell for cell in reproduction.table_3 if cell.epsilon == 0 and cell.mechanism == "two_layer"]
    assert {round(cell.epsilon_answer, 9) for cell in last} == {round(math.log(most), 9)}


def test_mechanisms_of_one_price_have_one_proven_loss(reproduction: Reproduction) -> None:
    most = {row.crowd: row.most_answers for row in reproduction.crowds}
    for row in reproduction.comparisons:
        if row.unit == "all answers":
            assert row.epsilon_worker == pytest.approx(row.price * most[row.crowd], rel=1e-6)
        if row.unit == "one answer":
            assert row.epsilon_answer == pytest.approx(row.price, rel=1e-6)


def test_leads_are_trial_by_trial_on_the_same_reports(reproduction: Reproduction) -> None:
    """An estimator's lead is the difference of the means; its error is smaller than that of independent trials."""
    by_place = {(r.crowd, r.unit, r.price, r.mechanism, r.estimator): r for r in reproduction.comparisons}
    smaller = 0
    for (*place, estimator), row in by_place.items():
        paper = by_place[(*place, "truth_discovery")]  # pyright: ignore[reportArgumentType]  four of five parts
        if row.lead is None:
            assert estimator == "truth_discovery"
            continue
        assert row.lead.value == pytest.approx(row.accuracy.value - paper.accuracy.value)
        smaller += row.lead.standard_error <= math.hypot(row.accuracy.standard_error, paper.accuracy.standard_error)
    assert smaller > 0.8 * len(by_place) * 6 / 7


def test_choices_follow_the_comparisons(reproduction: Reproduction) -> None:
    by_place = {(r.crowd, r.unit, r.price, r.mechanism, r.estimator): r for r in reproduction.comparisons}
    for choice in reproduction.choices:
        place = choice.crowd, choice.unit, choice.price
        found = {key[3:]: row for key, row in by_place.items() if key[:3] == place}
        best = max(row.accuracy.value for (_, estimator), row in found.items() if estimator != "auto")
        assert choice.best.value == best == found[choice.best_mechanism, choice.best_estimator].accuracy.value
        assert choice.paper == found[choice.paper_mechanism, "truth_discovery"].accuracy
        assert choice.auto == found[choice.auto_mechanism, "auto"].accuracy
        offers = {mechanism: row.informativeness for (mechanism, _), row in found.items()}
        if choice.unit == "claimed":
            assert choice.auto_mechanism == choice.paper_mechanism == "two_layer"
        else:
            assert offers[choice.auto_mechanism] == max(offers.values())
        assert (choice.two_layer_gain is None) == ("two_layer" not in offers)


def test_weights_are_of_the_first_trial(reproduction: Reproduction) -> None:
    for crowd, workers in (("peer-grading", 12), ("duchenne", 7)):
        rows = [row for row in reproduction.weights if row.crowd == crowd]
        assert [row.worker for row in rows] == list(range(workers))
        assert all(0 <= row.flip_probability <= 2 * 0.378 for row in rows)
        assert sum(row.is_drawn for row in rows) == min(workers, 12)
        assert any(row.clean != row.reported for row in rows)


def test_what_is_not_drawn_is_right_whatever_the_seed(reproduction: Reproduction) -> None:
    """Readings T3, T8 and T9: five answers at ε = 1, and eleven workers of p = ¼."""
    at_one = {(row["hyper"], row["num_answers"]): row for row in reproduction.hypers if round(row["epsilon"], 6) == 1}
    assert at_one["uniform", 5]["all_answers"] == pytest.approx(3.711, abs=5e-4)
    assert at_one["uniform", 5]["one_answer"] == pytest.approx(1.681, abs=5e-4)
    assert at_one["point mass", 277]["all_answers"] == pytest.approx(277, rel=1e-9)
    (bound,) = where(reproduction.bounds, num_workers=11, quality=0.25)
    assert bound["exact"] == pytest.approx(0.0343, abs=5e-5)
    assert bound["printed"] == pytest.approx(1.1e-4, abs=5e-6)
    assert bound["chernoff"] > bound["exact"]


@pytest.mark.usefixtures("small")
def test_without_a_folder_there_is_what_can_be_made_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    fewer = msgspec.structs.replace(GRIDS, prices=dict.fromkeys(FEW_PRICES, (1.0, 2.0)))
    monkeypatch.setattr(made, "GRIDS", fewer)
    found = reproduce(PAPER, RunFolder(path), trials=10, pictures=False)
    assert found.table_3 == ()
    assert not (path / "table-3.csv").exists()
    assert (path / "table-2.csv").exists()
    assert found.missing == dict.fromkeys(("duchenne", "bluebird", "rte"), "no folder of data sets was named")
    page = (path / "summary.md").read_text(encoding="utf-8")
    assert "Table 3 and Figure 4, and the comparisons on duchenne, bluebird, rte are not made" in page
    assert "figure-4.png" not in page
    assert "Table 3" not in {finding.source for finding in found.paper_findings}


@pytest.mark.usefixtures("unmeasured_drawing")
def test_all_pictures_are_drawn(reproduction: Reproduction, tmp_path: Path) -> None:
    paths = save_pictures(pictures_of(reproduction), tmp_path)
    assert {path.name for path in paths} == {f"{name}.{kind}" for name in PICTURES for kind in ("svg", "png")}
    text = (tmp_path / "figure-4.svg").read_text(encoding="utf-8")
    for shown in ("TD with two-layer", "published", "10 trials a point", "error rate change"):
        assert shown in text


def test_the_summary_says_what_is_made_up_and_what_readings_are_before_it_names_one(reproduction: Reproduction) -> None:
    page = page_of(PAPER, reproduction)
    assert page.index("T1 to T9 are readings") < page.index("reading T3")
    assert "made-up stand-in" in page


def test_the_terminal_shows_everything_in_a_hundred_columns(reproduction: Reproduction) -> None:
    """Also where a crowd has the longest name, and the most answers and losses."""
    longest = "sentiment_polarity_amt"

    def renamed(rows: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(msgspec.structs.replace(row, crowd=longest) if row.crowd == "bluebird" else row for row in rows)

    names = ("crowds", "comparisons", "choices")
    wide = msgspec.structs.replace(reproduction, **{name: renamed(getattr(reproduction, name)) for name in names})
    file = io.StringIO()
    show_reproduction(Console(file=file, width=100, highlight=False, markup=False), PAPER, wide)
    text = file.getvalue()
    assert max(map(len, text.splitlines())) <= 100
    assert "…" not in text
    for shown in ("Table 3", longest, "What the paper says", "What we add", "10 trials a published cell", "rte"):
        assert shown in text


def test_every_sheet_has_a_cell_for_each_header(reproduction: Reproduction) -> None:
    for sheet in sheets_of(reproduction):
        assert sheet.rows
        assert {len(row) for row in sheet.rows} == {len(sheet.columns)}, sheet.caption


def replace_rows(reproduction: Reproduction, table: str, change: Callable[[Any], dict[str, Any]]) -> Reproduction:
    """Change rows; errors are those of many trials, so that values alone decide."""
    rows = [msgspec.structs.replace(row, **change(row)) for row in getattr(reproduction, table)]
    return msgspec.structs.replace(reproduction, trials=100_000, **{table: tuple(rows)})


def apart(errors: float, by: float = 0.0) -> Callable[[PublishedCell], dict[str, Any]]:
    """Make changes differ from the published ones: in joint standard errors, and by so much."""

    def change(row: PublishedCell) -> dict[str, Any]:
        assert row.published is not None
        ours, published = (Measurement(row.published.value + more, 1e-4) for more in (by, 0.0))
        return {"change": ours, "published": published, "difference": errors}

    return change


def of_method(
    estimator: str, mechanism: str, change: Callable[[Any], dict[str, Any]]
) -> Callable[[Any], dict[str, Any]]:
    """Change the cells of one method."""
    return lambda row: change(row) if (row.estimator, row.mechanism) == (estimator, mechanism) else {}


def method_changes(values: dict[tuple[str, str], float]) -> Callable[[PublishedCell], dict[str, Any]]:
    """Give methods these changes and error rates, nearly without error; the others 0.2."""

    def change(cell: PublishedCell) -> dict[str, Any]:
        value, majority = (values.get((each, cell.mechanism), 0.2) for each in (cell.estimator, MV))
        lead = None if cell.lead is None else Measurement(majority - value, 0.001)
        return {"change": Measurement(value, 0.001), "error_rate": Measurement(value + 0.25, 0.001), "lead": lead}

    return change


def gains(by_price: dict[float, float]) -> Callable[[ChoiceRow], dict[str, Any]]:
    def change(choice: ChoiceRow) -> dict[str, Any]:
        if choice.unit != "all answers":
            return {}
        return {"two_layer_gain": Measurement(by_price[choice.price], 0.001)}

    return change


def leads(value: float, *, unit: str = "claimed") -> Callable[[Any], dict[str, Any]]:
    def change(row: ComparisonRow | ChoiceRow) -> dict[str, Any]:
        if row.unit != unit:
            return {}
        if isinstance(row, ChoiceRow):
            return {"auto_lead": Measurement(value, 0.001)}
        return {} if row.lead is None else {"lead": Measurement(value, 0.001)}

    return change


def gains_of_the_taken(value: float) -> Callable[[ChoiceRow], dict[str, Any]]:
    """Make the mechanism that "auto" takes so much better than the other one."""

    def change(row: ChoiceRow) -> dict[str, Any]:
        return {"two_layer_gain": Measurement(value if row.auto_mechanism == "two_layer" else -value, 0.001)}

    return change


TD, MV = "truth_discovery", "majority"
FLIPS: Sequence[tuple[str, str, Callable[[Any], dict[str, Any]], Callable[[Any], dict[str, Any]]]] = (
    (
        "The data sets have the sizes",
        "crowds",
        lambda row: (
            {"tasks": 26, "workers": 72, "answers": 360, "gold": 26}
            if row.is_made_up
            else {"tasks": 2134, "workers": 64, "answers": 17729, "gold": 159}
        ),
        lambda _: {"answers": 30319},
    ),
    (
        "The accuracy without perturbation",
        "crowds",
        lambda _: {"majority": 0.761, "truth_discovery": 0.759},
        lambda _: {"majority": 0.761, "truth_discovery": 0.717},
    ),
    *(
        (
            f"The changes of {name}",
            "table_3",
            of_method(estimator, mechanism, apart(1.0)),
            of_method(estimator, mechanism, apart(9.0)),
        )
        for name, (estimator, mechanism) in METHODS.items()
    ),
    ("A made-up crowd", "table_2", apart(0.5), apart(0.5, by=0.05)),
    (
        "With one layer truth discovery's smaller changes",
        "table_3",
        method_changes({(TD, "one_layer"): 0.1}),
        method_changes({(TD, "one_layer"): 0.3}),
    ),
    (
        "At ε = 0 the accuracy is around",
        "table_3",
        lambda _: {"error_rate": Measurement(0.45, 0.001)},
        lambda _: {"error_rate": Measurement(0.35, 0.001)},
    ),
    *(
        (
            f"On {crowd}, a worker's estimated weight",
            "falls",
            lambda _: {"correlation": Measurement(0.3, 0.01)},
            lambda _: {"correlation": Measurement(-0.3, 0.01)},
        )
        for crowd in ("peer-grading", "duchenne")
    ),
    (
        "At the same privacy the two-layer mechanism",
        "choices",
        gains({0.5: 0.1, 1.0: 0.1, 2.0: 0.1}),
        gains({0.5: -0.1, 1.0: 0.1, 2.0: 0.1}),
    ),
    (
        "At equal proven loss of all answers, two layers win",
        "choices",
        gains({0.5: 0.1, 1.0: 0.1, 2.0: 0.1}),
        gains({0.5: 0.1, 1.0: -0.1, 2.0: 0.1}),
    ),
    (
        "At equal proven loss of one answer",
        "choices",
        lambda row: {"two_layer_gain": Measurement(-0.1, 0.01)} if row.unit == "one answer" else {},
        lambda row: {"two_layer_gain": Measurement(0.1, 0.01)} if row.unit == "one answer" else {},
    ),
    ("On the reports of one layer", "comparisons", leads(0.1), leads(-0.1)),
    ("On the reports of two layers", "comparisons", leads(0.1), leads(-0.1)),
    ("The mechanism that promises", "choices", gains_of_the_taken(0.0), gains_of_the_taken(-0.1)),
    ("At equal claimed ε, auto", "choices", leads(0.1), leads(-0.1)),
    (
        "At equal proven loss of all answers, auto",
        "choices",
        leads(0.1, unit="all answers"),
        leads(-0.1, unit="all answers"),
    ),
    (
        "No single estimator",
        "choices",
        lambda row: {"best_estimator": "one_coin" if row.price > 1 else "majority"},
        lambda _: {"best_estimator": "one_coin"},
    ),
)
TWICE = (
    (
        "At every ε truth discovery has a smaller",
        method_changes({(TD, "two_layer"): 0.1}),
        method_changes({(TD, "two_layer"): 0.3}),
    ),
    (
        "Majority voting does as well",
        method_changes({}),
        method_changes({(MV, "two_layer"): 0.3}),
    ),
    (
        "With two layers truth discovery gives",
        method_changes({(TD, "two_layer"): 0.1}),
        method_changes({(TD, "two_layer"): 0.3}),
    ),
)
FIXED = {
    "One layer with flip probability p": True,
    "Two layers, with flip probabilities drawn": False,
    "At ε = 0 the answers have no influence": False,
    "Flip probabilities from a uniform": False,
    "The error rate of the weighted vote": False,
    "The factor G(p) and its": False,
    "Two layers are likelier to change": True,
    "A smaller b makes": True,
    "More important users": True,
}
"""What follows from the paper's formulas alone."""


@pytest.mark.parametrize(("claim", "table", "holding", "failing"), FLIPS, ids=[flip[0] for flip in FLIPS])
def test_a_verdict_follows_the_numbers(
    reproduction: Reproduction,
    claim: str,
    table: str,
    holding: Callable[[Any], dict[str, Any]],
    failing: Callable[[Any], dict[str, Any]],
) -> None:
    for change, expected in ((holding, True), (failing, False)):
        (finding,) = findings_of(replace_rows(reproduction, table, change), claim)
        assert (finding.judgement is Judgement.HOLDS) is expected, finding.numbers


@pytest.mark.parametrize(("claim", "holding", "failing"), TWICE, ids=[flip[0] for flip in TWICE])
@pytest.mark.parametrize("table", ["table_2", "table_3"])
def test_a_verdict_on_a_table_follows_that_table(
    reproduction: Reproduction,
    table: str,
    claim: str,
    holding: Callable[[Any], dict[str, Any]],
    failing: Callable[[Any], dict[str, Any]],
) -> None:
    source = table.replace("table_", "Table ")
    for change, expected in ((holding, True), (failing, False)):
        found = findings_of(replace_rows(reproduction, table, change), claim)
        (verdict,) = (finding.judgement for finding in found if finding.source.startswith(source))
        assert (verdict is Judgement.HOLDS) is expected


@pytest.mark.parametrize(("claim", "holds"), FIXED.items(), ids=FIXED)
def test_what_follows_from_formulas_alone(reproduction: Reproduction, claim: str, *, holds: bool) -> None:
    (finding,) = findings_of(reproduction, claim)
    assert (finding.judgement is Judgement.HOLDS) is holds


def test_every_finding_is_tested(reproduction: Reproduction) -> None:
    known = (*(flip[0] for flip in FLIPS), *(flip[0] for flip in TWICE), *FIXED)
    claims = [finding.claim for findings in reproduction.findings.values() for finding in findings]
    assert len(claims) == len(FLIPS) + 2 * len(TWICE) + len(FIXED)
    assert not [claim for claim in claims if not any(claim.startswith(start) for start in known)]


def findings_of(reproduction: Reproduction, claim: str) -> list[Finding]:
    found = (*findings_on_paper(reproduction), *own_findings(reproduction))
    return [finding for finding in found if finding.claim.startswith(claim)]
