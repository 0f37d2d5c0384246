"""The paper on fair and private voting, run again: what is written, and that every verdict follows from the numbers."""

import io
import itertools
from pathlib import Path

import msgspec
import numpy as np
import pytest
from psephos.protocol.fair_voting import FairVoting, Objective, Scoring, make_scores
from psephos.protocol.fair_voting.choices import SampledChoice, SampleScale
from psephos.protocol.fair_voting.reports import possible_reports
from psephos.scenarios.experiments.measurements import Measurement
from psephos.scenarios.experiments.reproductions import page_of, reproduce, show_reproduction
from psephos.scenarios.fair_voting.audit.winner_laws import winner_law
from psephos.scenarios.fair_voting.paper import PAPER, declaration, societies_fit
from psephos.scenarios.fair_voting.paper import local_table as local_module
from psephos.scenarios.fair_voting.paper import reproduction as module
from psephos.scenarios.fair_voting.paper.additions import own_findings
from psephos.scenarios.fair_voting.paper.cells import Cells, proven_of, samples_for
from psephos.scenarios.fair_voting.paper.claims import findings_on_paper
from psephos.scenarios.fair_voting.paper.pictures import pictures_of
from psephos.scenarios.fair_voting.paper.published import SIZES, TABLE_1
from psephos.scenarios.fair_voting.paper.real_sets import REAL_SETS, LoadedSet, RealSet, load_real_sets
from psephos.scenarios.fair_voting.paper.rows import Reproduction
from psephos.scenarios.fair_voting.paper.settings import FITTED, READ, Setting
from psephos.scenarios.fair_voting.paper.societies_fit import expected_utilities, sampling_law, society_row
from psephos.scenarios.fair_voting.paper.tables import sheets_of
from psephos.scenarios.fair_voting.profiles import fixed_profile
from psephos.scenarios.presentation.drawing import save_pictures
from psephos.scenarios.running.folder import RunFolder
from psephos.scenarios.verdicts import Judgement
from rich.console import Console

TABLES = (
    "table-1",
    "samplings",
    "societies",
    "objectives",
    "rules",
    "noises",
    "equal-losses",
    "losses",
    "searches",
    "variances",
    "crossings",
    "real-sets",
    "real",
)
TRIALS = 20
REPRODUCES = pytest.mark.full("a reproduction of some fifteen seconds")


def made_up_set() -> LoadedSet:
    """Twelve voters of three groups, who rank four alternatives."""
    rows = np.array(list(itertools.permutations(range(4)))[::2], dtype=np.int64)
    return LoadedSet(
        real_set=RealSet(name="breakfast", title="Made up", options={"data": "nowhere"}, max_disparity=0.5),
        profiles=fixed_profile(rows, np.arange(12) % 3, 3),
        alternatives=("a", "b", "c", "d"),
        groups=("x", "y", "z"),
    )


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Reproduction, Path, list[str]]:
    """A small reproduction with a made-up profile for a published one, its folder, and what it said as it went on."""
    lines: list[str] = []
    path = tmp_path_factory.mktemp("reproduction") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_PRICES", (0.05, 0.5, 2.0))
        patch.setattr(module, "_REAL_PRICES", (0.5, 2.0, 8.0))
        patch.setattr(module, "_TRIED_GAMMAS", (0.1, 0.7))
        patch.setattr(module, "_SEARCH_STARTS", 1)
        patch.setattr(module, "_SEARCH_STEPS", 1)
        patch.setattr(societies_fit, "_STEPS", 20)
        patch.setattr(local_module, "_STEPS", 40)

        def load(folder: str) -> tuple[list[LoadedSet], dict[str, str]]:
            del folder
            return [made_up_set()], {"zurich": "not in the folder of data sets"}

        patch.setattr(module, "load_real_sets", load)
        found = reproduce(
            PAPER,
            RunFolder(path),
            trials=TRIALS,
            seed=3,
            pictures=False,
            on_progress=lambda said, _done, _total: lines.append(said),
        )
    return found, path, lines


@pytest.fixture
def reproduction(reproduced: tuple[Reproduction, Path, list[str]]) -> Reproduction:
    """The numbers."""
    return reproduced[0]


@REPRODUCES
def test_the_folder_holds_a_csv_for_each_table_the_whole_and_the_summary(
    reproduced: tuple[Reproduction, Path, list[str]],
) -> None:
    found, path, lines = reproduced
    assert {file.name for file in path.iterdir()} == {*(f"{t}.csv" for t in TABLES), "reproduction.json", "summary.md"}
    assert (path / "summary.md").read_text(encoding="utf-8") == page_of(PAPER, found)
    assert lines[0] == "Table 1 and all mechanisms: fitted, 1,000 and 500 voters"


@REPRODUCES
def test_every_published_cell_is_there_once_for_each_society(reproduction: Reproduction) -> None:
    for society in (FITTED.name, READ.name):
        rows = [row for row in reproduction.table_1 if row.society == society]
        assert {((row.size_1, row.size_2), row.mechanism, row.epsilon) for row in rows} == set(TABLE_1)
        assert len(rows) == len(TABLE_1) == 18


@REPRODUCES
def test_table_1_alone_is_the_same(reproduction: Reproduction) -> None:
    whole = [row for row in reproduction.table_1 if row.society == FITTED.name]
    assert list(module.table_1(FITTED, trials=TRIALS, seed=reproduction.seed)) == whole


@REPRODUCES
def test_cells_without_enough_samples_are_the_paper_s(reproduction: Reproduction) -> None:
    """Reading F2: n_s ≤ ε·min n_k, with n_s = ⌈(4/ε²)·ln(4/10⁻⁵)⌉ = 574, 144, 52."""
    for row in reproduction.table_1:
        assert row.is_available == (row.published_disparity is not None)
        if row.mechanism == "sampling":
            assert row.samples == {0.3: 574, 0.6: 144, 1.0: 52}[row.epsilon]
            assert row.samples is not None
            assert row.most_samples is not None
            assert row.is_available == (row.samples <= row.most_samples)


@REPRODUCES
def test_losses_of_algorithm_1_are_those_of_reading_f1(reproduction: Reproduction) -> None:
    for row in reproduction.table_1:
        if row.mechanism == "laplace":
            assert row.epsilon_add_or_remove == pytest.approx(row.epsilon)
            assert row.epsilon_replace == pytest.approx(row.epsilon * 8 / 6)


@REPRODUCES
def test_equal_losses_are_equal(reproduction: Reproduction) -> None:
    """What Algorithm 2 may have is within its price; noise of add/remove is two thirds of the printed one."""
    for row in reproduction.equal_losses:
        if row.mechanism == "sampling":
            cells = Cells.parameters_only(4, SIZES[0])
            parameters = msgspec.structs.replace(
                cells, mechanism="sampling", gamma=row.gamma, num_samples=row.samples, objective=row.objective
            )
            assert proven_of(parameters) <= row.epsilon_proven
    for row in reproduction.noises:
        per_epsilon = row.scale * row.epsilon_proven
        expected = {("replace-one", "printed"): 8, ("add-remove-one", "printed"): 6, ("add-remove-one", "tight"): 4}
        assert per_epsilon == pytest.approx(expected.get((row.relation, row.calibration), 8))


@REPRODUCES
def test_variances_and_crossings_are_the_estimators(reproduction: Reproduction) -> None:
    scoring = Scoring(make_scores("borda", 4))
    by_name = {report.name: report.mean_variance for report in possible_reports(scoring, 0.6)}
    found = {r.mechanism: r.variance for r in reproduction.variances if (r.alternatives, r.epsilon) == (4, 0.6)}
    assert found == by_name
    (crossing,) = [row for row in reproduction.crossings if row.alternatives == 4]
    one, other = (
        next(r.mean_variance for r in possible_reports(scoring, crossing.epsilon) if r.name == name)
        for name in (crossing.below, crossing.above)
    )
    assert one == pytest.approx(other, rel=1e-9)
    assert (crossing.below, crossing.above) == ("sampled_pair", "whole_ranking")


def test_a_society_s_sampling_column_is_the_exact_law() -> None:
    """Beside the law of `neighbors`, which shares no code with it, and a random winner where γ is 1."""
    utilities = expected_utilities(FITTED)
    assert utilities.sum(axis=1) == pytest.approx([6, 6])
    scoring = Scoring(make_scores("borda", 4))
    scales: tuple[SampleScale, ...] = ("unbiased", "printed")
    for scale in scales:
        sizes = (1000, 500)
        each = [
            round(size * (scoring.steps[-1] + float(value) / 3 * scoring.range))
            for size, row in zip(sizes, utilities, strict=True)
            for value in row
        ]
        choice = SampledChoice(scoring, sizes, Objective("parity"), 52, sizes, 0.0, scale, (0.0, 0.0))
        assert sampling_law(utilities, samples=52, scale=scale) == pytest.approx(winner_law(choice, each), abs=1e-7)
    row = society_row(FITTED, delta=1e-3, gamma=1.0, scale="unbiased")
    assert row["sampling_welfare_1"] == pytest.approx(1.5)
    assert row["sampling_disparity_3"] == pytest.approx(np.abs(utilities[0] - utilities[1]).mean())


@REPRODUCES
def test_societies_of_the_search_are_the_best_first(reproduction: Reproduction) -> None:
    *found, fitted, read = reproduction.societies
    distances = [row["distance"] for row in found]
    assert distances == sorted(distances)
    assert distances[0] < 0.05
    assert fitted["distance"] < 0.1 < read["distance"]
    for row, setting in ((fitted, FITTED), (read, READ)):
        assert (row["dispersion_1"], row["dispersion_2"]) == setting.dispersions


def test_agreed_groups_have_their_centers_utilities() -> None:
    agreed = Setting("agreed", ((3, 1, 0, 2), (0, 1, 2, 3)), (0.0, 1.0))
    assert expected_utilities(agreed).tolist() == [[1, 2, 0, 3], pytest.approx([1.5] * 4)]


def test_samples_for_a_price_are_within_it_and_grow_with_it() -> None:
    base = msgspec.structs.replace(Cells.parameters_only(4, (1000, 500)), mechanism="sampling")
    numbers = [samples_for(base, price=price) for price in (0.001, 0.3, 0.6)]
    assert numbers[0] is None
    assert numbers[1] is not None
    assert numbers[2] is not None
    assert numbers[1] < numbers[2]
    assert proven_of(msgspec.structs.replace(base, num_samples=numbers[2])) <= 0.6
    assert (samples_for(base, price=50.0) or 0) < 2_500
    assert (samples_for(base, price=50.0, is_fixed=True) or 0) > 30_000


@REPRODUCES
def test_findings_are_made_of_the_rows_again(reproduction: Reproduction) -> None:
    assert tuple(findings_on_paper(reproduction)) == reproduction.paper_findings
    assert tuple(own_findings(reproduction)) == reproduction.own_findings
    for finding in (*reproduction.paper_findings, *reproduction.own_findings):
        for words in (finding.claim, finding.source, finding.numbers):
            assert "nan" not in words
            assert "{" not in words


@REPRODUCES
def test_verdicts_that_no_chance_decides(reproduction: Reproduction) -> None:
    found = {finding.source: finding.judgement for finding in reproduction.paper_findings}
    in_part = dict.fromkeys(("F1", "F4", "F8"), Judgement.IN_PART)
    others = {"F2": Judgement.OPEN, "F3": Judgement.OPEN, "F7": Judgement.HOLDS, "F9": Judgement.REFUTED}
    verdicts = {f"reading {key}": verdict for key, verdict in {**in_part, **others}.items()}
    assert {source: found[source] for source in verdicts} == verdicts


@REPRODUCES
@pytest.mark.parametrize(
    ("error", "other", "verdict"),
    [(1e-4, 0.7, Judgement.HOLDS), (1e-4, 0.72, Judgement.REFUTED), (0.01, 0.7, Judgement.OPEN)],
)
def test_rows_of_algorithm_1_are_alike_whatever_the_size(
    reproduction: Reproduction, error: float, other: float, verdict: Judgement
) -> None:
    rows = tuple(
        msgspec.structs.replace(
            row,
            disparity=Measurement(0.45, error),
            welfare=Measurement(other if row.sizes == SIZES[-1] else 0.7, error),
        )
        for row in reproduction.table_1
    )
    changed = msgspec.structs.replace(reproduction, trials=1_000, table_1=rows)
    (found,) = [each for each in findings_on_paper(changed) if each.claim.startswith("Algorithm 1's rows")]
    assert found.judgement is verdict


@REPRODUCES
def test_every_sheet_has_a_cell_for_each_header_and_tells_what_is_missing(reproduction: Reproduction) -> None:
    for sheet in sheets_of(reproduction):
        assert sheet.rows
        assert all(len(row) == len(sheet.columns) for row in sheet.rows)
    words = (
        "Fairness, welfare and proven ε of zurich are not measured: not in the folder of data sets. A folder is named"
    )
    console = Console(width=300, record=True, file=io.StringIO())
    show_reproduction(console, PAPER, reproduction)
    text = console.export_text()
    assert "Table 1, centers 0>1>2>3 and 1>2>3>0" in text
    assert words in text
    assert "574 of 150" in text


@REPRODUCES
def test_without_published_profiles_there_are_no_pictures_of_them(reproduction: Reproduction) -> None:
    assert set(pictures_of(reproduction)) == set(declaration.EXPERIMENTS.captions)
    without = msgspec.structs.replace(reproduction, real=(), real_sets=())
    assert set(pictures_of(without)) == {"table-1", "equal-loss", "local"}
    assert not any("published profiles" in finding.source for finding in own_findings(without))


@pytest.mark.full("five seconds of drawing")
@pytest.mark.usefixtures("unmeasured_drawing")
def test_pictures_are_drawn(reproduction: Reproduction, tmp_path: Path) -> None:
    paths = save_pictures(pictures_of(reproduction), tmp_path)
    assert {path.stem for path in paths} == set(pictures_of(reproduction))
    assert all(path.stat().st_size > 1000 for path in paths)


def test_without_data_sets_the_reasons_are_told(tmp_path: Path) -> None:
    assert load_real_sets("") == ([], {each.name: "no folder of data sets was named" for each in REAL_SETS})
    assert load_real_sets(str(tmp_path)) == ([], {each.name: "not in the folder of data sets" for each in REAL_SETS})
    assert all(each.options["data"] for each in REAL_SETS)
    assert FairVoting.name == "fair-voting"
