"""The paper on fair and private voting, run again: what is written, and that every verdict follows from the numbers."""

import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from psephos.protocol.fair_voting import FairVoting, Scoring, make_scores
from psephos.protocol.fair_voting.reports import possible_reports
from psephos.scenarios.experiments.comparing import Row
from psephos.scenarios.experiments.findings import Finding, sentences
from psephos.scenarios.fair_voting.paper import PAPER, cells, runs
from psephos.scenarios.fair_voting.paper.cells import (
    FITTED,
    GRIDS,
    PUBLISHED,
    READ,
    SIZES,
    MallowsPair,
    expected_utilities,
    proven_of,
    samples_for,
)
from psephos.scenarios.fair_voting.paper.claims import findings_on_fair_voting
from psephos.scenarios.fair_voting.paper.profiles import Loaded, load_profiles
from psephos.scenarios.fair_voting.paper.runs import EXPERIMENTS
from psephos.scenarios.fair_voting.profiles import fixed_profile
from psephos.scenarios.verdicts import Judgement
from rerun_papers import (
    Change,
    Flip,
    Reproduced,
    check_flip,
    check_folder,
    check_pictures,
    exactly,
    finding_of,
    run_small,
    shown,
    swapped,
    where,
)

TABLES = ("table-1", "noises", "equal-losses", "variances", "profiles")
TRIALS = 20
REPRODUCES = pytest.mark.full("a reproduction of some ten seconds")


def synthetic_profile() -> Loaded:
    """Twelve voters of three groups, who rank four alternatives."""
    rows = np.array(list(itertools.permutations(range(4)))[::2], dtype=np.int64)
    columns = {"profile": "breakfast", "voters": 12, "groups": "x 4, y 4, z 4", "alternatives": 4}
    return Loaded(fixed_profile(rows, np.arange(12) % 3, 3), 0.5, columns)


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Reproduced:
    """A small reproduction with a made-up profile for a published one, its folder, and what it said as it went on."""
    few = GRIDS | {"prices": [0.05, 0.5, 2.0], "profile_prices": [0.5, 2.0, 8.0], "gammas": [0.1, 0.7]}

    def load(folder: str, profiles: object) -> tuple[list[Loaded], dict[str, str]]:
        del folder, profiles
        return [synthetic_profile()], {"zurich": "not in the folder of data sets"}

    def grids(_: object) -> dict[str, Any]:
        return few

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "EXPERIMENTS", dataclasses.replace(EXPERIMENTS, grids=grids))
        patch.setattr(runs, "load_profiles", load)
        return run_small(PAPER, tmp_path_factory.mktemp("reproduction") / "run", trials=TRIALS, seed=3)


@REPRODUCES
def test_the_folder_holds_a_csv_for_each_table_the_whole_and_the_summary(reproduced: Reproduced) -> None:
    check_folder(PAPER, reproduced, TABLES)
    told = reproduced[2]
    assert told[0][0] == "Table 1: fitted, 1,000 and 500 voters"
    assert len(told) == EXPERIMENTS.steps - len(GRIDS["profiles"])  # of three profiles there is one; no pictures


@REPRODUCES
def test_every_published_cell_is_there_once_for_each_society(reproduction: Any) -> None:
    for society, what in itertools.product((FITTED.name, READ.name), ("disparity", "welfare")):
        rows = [row for row in reproduction.table_1 if (row["society"], row["what"]) == (society, what)]
        told = {
            (row["sizes"], row["algorithm"], row["epsilon"]): row["printed"]
            for row in rows
            if row["algorithm"] != "line 17"
        }
        assert told == {
            (f"{sizes[0]:,} and {sizes[1]:,}", mechanism, epsilon): cell[what]
            for (sizes, mechanism, epsilon), cell in PUBLISHED.items()
        }
        assert len(told) == 18
        assert len(rows) == 27


@REPRODUCES
def test_table_1_alone_is_the_same(reproduction: Any) -> None:
    whole = [row for row in reproduction.table_1 if row["society"] == FITTED.name]
    alone = [cells.electorate(FITTED, sizes, trials=TRIALS, seed=reproduction.seed) for sizes in SIZES]
    assert list(itertools.chain.from_iterable(map(runs.table_1, alone))) == whole


@REPRODUCES
def test_cells_without_enough_samples_are_the_paper_s(reproduction: Any) -> None:
    """Reading F2: n_s ≤ ε·min n_k, with n_s = ⌈(4/ε²)·ln(4/10⁻⁵)⌉ = 574, 144, 52."""
    for row in reproduction.table_1:
        if row["algorithm"] == "laplace":
            assert row["is_published"]
            assert row["samples"] is None
        elif row["what"] == "disparity":
            assert row["samples"] == {0.3: 574, 0.6: 144, 1.0: 52}[row["epsilon"]]
            smaller = int(row["sizes"].split(" and ")[1].replace(",", ""))
            assert row["is_published"] == (row["samples"] <= row["epsilon"] * smaller)


@REPRODUCES
def test_losses_of_algorithm_1_are_those_of_reading_f1(reproduction: Any) -> None:
    for row in reproduction.table_1:
        if row["algorithm"] == "laplace":
            assert row["proven"] == pytest.approx(row["epsilon"] * 8 / 6)


@REPRODUCES
def test_equal_losses_are_equal(reproduction: Any) -> None:
    """What Algorithm 2 may have is within its price."""
    rows = [row for row in reproduction.equal_losses if row["mechanism"] == "sampling"]
    assert len(rows) == 2 * 3 * 3
    every = cells.electorate(FITTED, SIZES[0], trials=1, seed=1)
    for row in rows:
        given = {"gamma": row["gamma"], "num_samples": row["samples"], "objective": row["objective"]}
        parameters = every.parameters("sampling", 1.0, **given)
        assert proven_of(parameters) <= row["epsilon_proven"]


@REPRODUCES
def test_variances_are_the_estimators(reproduction: Any) -> None:
    reports = possible_reports(Scoring(make_scores("borda", 4)), 0.6)
    rows = [row for row in reproduction.variances if (row["alternatives"], row["epsilon"]) == (4, 0.6)]
    assert {row["mechanism"]: row["variance"] for row in rows} == {each.name: each.mean_variance for each in reports}
    assert [row["mechanism"] for row in rows if row["ratio"] == 1] == ["sampled_pair"]


def test_agreed_groups_have_their_centers_utilities() -> None:
    agreed = MallowsPair("agreed", ((3, 1, 0, 2), (0, 1, 2, 3)), (0.0, 1.0), 0.0)
    assert expected_utilities(agreed).tolist() == [[1, 2, 0, 3], pytest.approx([1.5] * 4)]


def test_samples_for_a_price_are_within_it_and_grow_with_it() -> None:
    base = cells.electorate(FITTED, SIZES[0], trials=1, seed=1).parameters("sampling", 1.0)
    numbers = [samples_for(base, price=price) for price in (0.001, 0.3, 0.6)]
    assert numbers[0] is None
    assert numbers[1] is not None
    assert numbers[2] is not None
    assert numbers[1] < numbers[2]
    assert proven_of(msgspec.structs.replace(base, num_samples=numbers[2])) <= 0.6
    assert (samples_for(base, price=50.0) or 0) < 2_500
    assert (samples_for(base, price=50.0, is_fixed=True) or 0) > 30_000


@REPRODUCES
def test_verdicts_that_no_chance_decides(reproduction: Any) -> None:
    """A sentence has one verdict, whatever entries judge it."""
    found = {finding.source: finding.judgement for finding in reproduction.paper_findings}
    in_part = dict.fromkeys(("readings F1 and F7", "reading F4", "reading F8"), Judgement.IN_PART)
    others = dict.fromkeys(("reading F2", "reading F3", "reading F5"), Judgement.OPEN)
    laws = [finding for finding in reproduction.paper_findings if finding.source.startswith("reading")]
    told = {finding.claim: finding.judgement for finding in laws}
    assert told == {f"{each.findings[0].claim} ({each.findings[0].place}).": each.judgement for each in by_sentence()}
    verdicts = {"reading F9": Judgement.REFUTED, **in_part, **others}
    for source in ("reading F2", "reading F3", "reading F5", "reading F8", "reading F9", "readings F1 and F7"):
        assert found[source] is verdicts[source]
    of_f4 = [finding.judgement for finding in laws if finding.source == "reading F4"]
    assert of_f4 == [Judgement.IN_PART, Judgement.OPEN]


def by_sentence() -> Sequence[Any]:
    return sentences(findings_on_fair_voting())


@REPRODUCES
def test_every_sheet_has_a_cell_for_each_header_and_tells_what_is_missing(reproduction: Any) -> None:
    for sheet in EXPERIMENTS.sheets(reproduction):
        assert sheet.rows
        assert all(len(row) == len(sheet.columns) for row in sheet.rows)
    text = shown(PAPER, reproduction, width=300)
    assert "Table 1, centers 0>1>2>3 and 1>2>3>0" in text
    assert "zurich: not in the folder of data sets. A folder is named" in text
    assert "574" in text
    assert "nan" not in text


@REPRODUCES
def test_without_published_profiles_there_are_no_pictures_of_them(reproduction: Any) -> None:
    without = msgspec.structs.replace(reproduction, profiles=())
    assert set(EXPERIMENTS.pictures(without)) == {"table-1", "equal-loss"}
    assert finding_of(EXPERIMENTS, without, "On real profiles the least").judgement is Judgement.NO_DATA


@pytest.mark.full("five seconds of drawing")
@pytest.mark.usefixtures("unmeasured_drawing")
def test_pictures_are_drawn(reproduction: Any, tmp_path: Path) -> None:
    rows = reproduction.profiles
    three = [{**row, "profile": name} for name in ("breakfast", "zurich", "podlesie") for row in rows]
    pictures = EXPERIMENTS.pictures(msgspec.structs.replace(reproduction, profiles=tuple(three)))
    assert set(EXPERIMENTS.captions) == set(pictures)
    check_pictures(pictures, ("table-1", "equal-loss", "real"), tmp_path)
    text = (tmp_path / "table-1.svg").read_text(encoding="utf-8")
    for words in ("ΔW, 1,000 and 500 voters", "published", "society of reading F5", "20 elections a point"):
        assert words in text


def test_without_data_sets_the_reasons_are_told(tmp_path: Path) -> None:
    names = ["breakfast", "zurich", "podlesie"]
    assert load_profiles("", GRIDS["profiles"]) == ([], dict.fromkeys(names, "no folder of data sets was named"))
    assert load_profiles(str(tmp_path), GRIDS["profiles"]) == (
        [],
        dict.fromkeys(names, "not in the folder of data sets"),
    )
    assert FairVoting.name == "fair-voting"


def as_published(less: float) -> Change:
    def change(row: Row) -> dict[str, Any]:
        if row["published"] is None:
            return {}
        return exactly(ours=row["published"].value + less, published=row["published"].value)

    return change


def as_printed(less: float) -> Change:
    return lambda row: exactly(ours=float(row["printed"]) + less) if row["is_published"] else {}


FLIPPED = (
    "Permute-and-flip, which releases the winner alone, is right more often than Algorithm 1 at some proven losses, "
    "and at none less often"
)
FLIPS: Sequence[Flip] = (
    (
        "Algorithm 1's ΔW",
        "table_1",
        lambda row: exactly(ours=0.45 + 0.001 * row["epsilon"]),
        lambda row: exactly(ours=0.45 + 0.1 * row["epsilon"]),
    ),
    (
        "Algorithm 2 is fairer at",
        "table_1",
        lambda row: exactly(ours=row["epsilon"]),
        lambda row: exactly(ours=-row["epsilon"]),
    ),
    swapped("Algorithm 1 is fairer than", "table_1", "ours", 0.4, 0.5, algorithm="laplace"),
    ("Algorithm 2's rows", "table_1", as_published(0.0), as_published(0.01)),
    (
        "W̃_k = S_k/n_k",
        "table_1",
        lambda row: {"distance": float(row["algorithm"] != "line 17")},
        lambda row: {"distance": float(row["algorithm"] == "line 17")},
    ),
    (
        "Each value is the average",
        "table_1",
        lambda _: exactly(published=0.6),
        where("published", 0.58, 0.6, sizes="2,000 and 1,000"),
    ),
    ("Mallows models", "table_1", as_printed(0.09), as_printed(0.11)),
    ("The least ΔW alone", "equal_losses", lambda _: exactly(welfare=1.4), lambda _: exactly(welfare=1.6)),
    swapped("Electing the most W", "equal_losses", "welfare", 2.0, 1.0, objective="constrained"),
    swapped("Where utilities are counted", "noises", "agreement", 0.9, 0.8, calibration="tight"),
    *(
        swapped(f"{FLIPPED}{others}", "equal_losses", "agreement", 0.8, 0.9, mechanism="laplace")
        for others in (".", ", by other objectives")
    ),
    (
        "Permute-and-flip is never",
        "equal_losses",
        lambda _: {"right": 0.5},
        lambda row: {"right": 0.5 if row["mechanism"] == "exponential" else 0.499},
    ),
    swapped("At its proven loss", "equal_losses", "agreement", 0.4, 0.5, mechanism="sampling"),
    ("Where nobody is trusted", "variances", lambda _: {"ratio": 1.0}, lambda _: {"ratio": 1.001}),
    swapped("Trusting nobody costs", "equal_losses", "agreement", 0.4, 0.5, mechanism="local"),
    swapped("On real profiles the least", "profiles", "welfare", 1.0, 2.0, objective="parity"),
    swapped("On real profiles permute", "profiles", "disparity", 0.5, 0.4, mechanism="laplace"),
)
STAND_INS = ("Algorithm 2's rows", "W̃_k = S_k/n_k", "Each value is the average")


@REPRODUCES
@pytest.mark.parametrize("flip", FLIPS, ids=lambda flip: flip[0])
def test_a_verdict_follows_the_numbers(reproduction: Any, flip: Flip) -> None:
    """What was fitted to the table cannot refute it."""
    on_stand_in = flip[0] in STAND_INS

    def find(changed: Any) -> Finding:
        finding = finding_of(EXPERIMENTS, changed, flip[0])
        assert finding.on_stand_in is on_stand_in
        return finding

    check_flip(flip, reproduction, find, Judgement.OPEN if on_stand_in else Judgement.REFUTED)


@REPRODUCES
def test_every_finding_can_flip(reproduction: Any) -> None:
    claims = [finding.claim for findings in reproduction.findings.values() for finding in findings]
    judged = [claim for claim in claims if any(claim.startswith(flip[0]) for flip in FLIPS)]
    assert len(judged) == len(FLIPS)
    laws = [f"{each.findings[0].claim} ({each.findings[0].place})." for each in by_sentence()]
    assert [claim for claim in claims if claim not in judged] == laws


def test_other_grids_and_a_table_alone_can_be_run(tmp_path: Path) -> None:
    settings = ["variances.epsilons=[1.0]", "variances.alternatives=[4]"]
    found, path, _ = run_small(PAPER, tmp_path / "run", trials=10, settings=settings, only=["variances"])
    assert {file.stem for file in path.glob("*.csv")} == {"claims", "variances"}
    reports = possible_reports(Scoring(make_scores("borda", 4)), 1.0)
    assert [row["mechanism"] for row in found.variances] == [report.name for report in reports]
    assert [finding.judgement for finding in found.own_findings] == [Judgement.HOLDS]
