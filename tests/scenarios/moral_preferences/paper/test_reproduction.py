"""The moral preferences paper, run again: what is written, and that every verdict follows from the numbers."""

import dataclasses
import functools
import io
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest
from psephos.protocol.moral_preferences import Level
from psephos.scenarios.experiments.findings import Finding
from psephos.scenarios.experiments.measurements import Measurement
from psephos.scenarios.experiments.reproductions import page_of, reproduce, show_reproduction
from psephos.scenarios.moral_preferences.paper import PAPER, declaration
from psephos.scenarios.moral_preferences.paper.additions import own_findings
from psephos.scenarios.moral_preferences.paper.claims import findings_on_paper
from psephos.scenarios.moral_preferences.paper.methods import METHODS
from psephos.scenarios.moral_preferences.paper.pictures import pictures_of
from psephos.scenarios.moral_preferences.paper.plan import (
    REFERENCES,
    Sizes,
    baseline_cells,
    curve_places,
    projection_cells,
    variant_cells,
    weight_cells,
)
from psephos.scenarios.moral_preferences.paper.published import AXIS, EPSILONS
from psephos.scenarios.moral_preferences.paper.reproduction import parts
from psephos.scenarios.moral_preferences.paper.rows import CurvePoint, EffectRow, Reproduction, VariantRow
from psephos.scenarios.moral_preferences.paper.societies import MACHINE_LIKE, Setting
from psephos.scenarios.presentation.drawing import save_pictures
from psephos.scenarios.running.folder import RunFolder
from psephos.scenarios.verdicts import Judgement
from rich.console import Console

pytestmark = pytest.mark.full("seven seconds of sessions; other papers are reproduced small as well")

SMALL = Sizes(
    short=Setting(records=2, features=3),
    long=Setting(records=4, features=3),
    machine=Setting(kind=MACHINE_LIKE, records=2, features=23),
    crowd=Setting(records=2, features=3, is_fixed=True),
    few=2,
    many=3,
    most=4,
    crowd_voters=8,
    crowd_objectives=5,
    dimensions=(2, 3, 4),
    times=2,
    often=3,
)
TABLE_NAMES = (
    *(f"figure-{number}" for number in range(1, 11)),
    "effects",
    "baselines",
    "variants",
    "weights",
    "projections",
    "sensitivities",
)
PICTURES = (*(f"figure-{number}" for number in range(1, 11)), "variants", "weights")

Reproduced = tuple[Reproduction, Path, list[str]]


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Reproduced:
    """A small reproduction, its folder, and what it said as it went on."""
    lines: list[str] = []
    path = tmp_path_factory.mktemp("reproduction") / "run"
    small = dataclasses.replace(declaration.EXPERIMENTS, parts=functools.partial(parts, sizes=SMALL))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(declaration, "EXPERIMENTS", small)
        found = reproduce(
            PAPER,
            RunFolder(path),
            trials=10,
            seed=3,
            workers=1,
            pictures=False,
            on_progress=lambda said, _done, _total: lines.append(said),
        )
    assert isinstance(found, Reproduction)
    return found, path, lines


@pytest.fixture
def reproduction(reproduced: Reproduced) -> Reproduction:
    """The numbers."""
    return reproduced[0]


def claim(findings: Iterable[Finding], words: str) -> Finding:
    """Return the one finding whose claim or source has some words."""
    (found,) = [finding for finding in findings if words in f"{finding.claim} {finding.source}"]
    return found


def test_the_folder_holds_a_csv_for_each_table_the_whole_and_the_summary(reproduced: Reproduced) -> None:
    found, path, lines = reproduced
    names = {file.name for file in path.iterdir()}
    assert names == {*(f"{name}.csv" for name in TABLE_NAMES), "reproduction.json", "summary.md"}
    assert (path / "summary.md").read_text(encoding="utf-8") == page_of(PAPER, found)
    assert lines[0].startswith("synthetic societies, 2 records of 3 features: ")


def test_it_tells_as_many_beginnings_as_it_says() -> None:
    """One of each setting, and the pictures."""
    plans = (variant_cells, weight_cells, projection_cells, baseline_cells)
    cells = [*(place.cell for place in curve_places()), *(cell for plan in plans for cell in plan())]
    assert declaration.EXPERIMENTS.steps == len({cell.setting for cell in cells}) + 1


def test_every_figure_has_its_points(reproduction: Reproduction) -> None:
    for figure in (1, 2, 3):
        found = reproduction.of_figure(figure)
        places = {(point.panel, point.records, point.at) for point in found}
        assert len(places) == len(found) == 2 * 2 * len(EPSILONS)
        assert {point.method for point in found} == {f"algorithm-{figure}"}
    assert len(reproduction.of_figure(4)) == 2 * 3 * len(EPSILONS)
    assert len(reproduction.of_figure(5)) == 2 * 3 * len(AXIS)
    assert {point.panel for point in reproduction.of_figure(6)} == {"a", "b", "c"}
    assert {point.panel for point in reproduction.of_figure(8)} == {"a", "b", "c", "d"}
    assert {point.setting for figure in (8, 9) for point in reproduction.of_figure(figure)} == {MACHINE_LIKE}
    shares = {(point.at, point.conservative) for point in reproduction.of_figure(6) if point.panel == "a"}
    assert shares == {(share, share) for share in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)}


def test_a_point_without_noise_keeps_all_of_the_accuracy_without_privacy(reproduction: Reproduction) -> None:
    points = [p for p in reproduction.of_figure(7) if p.epsilon is None and p.bound == 2]
    assert [(p.voters, p.ratio, p.epsilon_voter) for p in points] == [
        (voters, Measurement(1.0, 0.0), None) for voters in (2, 3)
    ]
    (row,) = [
        r for r in reproduction.variants if (r.method, r.setting, r.epsilon) == ("algorithm-1", "synthetic", None)
    ]
    assert row.ratio == Measurement(1.0, 0.0)


def test_what_a_voter_pays_follows_from_the_unit(reproduction: Reproduction) -> None:
    """ε for a voter's mechanism and for Laplace noise on preferences; n·ε for records' own."""
    for row in reproduction.variants:
        if row.epsilon is None:
            continue
        method = METHODS[row.method]
        records = 4 if row.setting == "synthetic" else 2
        times = 1 if method.paradigm.level is Level.VOTER or method.mechanism == "laplace" else records
        assert row.epsilon_voter == pytest.approx(times * row.epsilon)
        assert row.paradigm == method.paradigm.value


def test_leads_are_over_the_paper_s_own_method_of_the_paradigm(reproduction: Reproduction) -> None:
    by_place = {(row.setting, row.method, row.epsilon): row for row in reproduction.variants}
    for row in reproduction.variants:
        paper = by_place[row.setting, REFERENCES[row.paradigm], row.epsilon]
        if row is paper:
            assert row.lead is None
            continue
        assert row.lead is not None
        assert row.lead.value == pytest.approx(row.accuracy.value - paper.accuracy.value)
        if row.lead.standard_error:
            assert row.lead_in_errors == pytest.approx(row.lead.value / row.lead.standard_error)


def test_effects_are_mean_differences_of_the_figures_points(reproduction: Reproduction) -> None:
    """The records' effect and the order of two algorithms, added up by hand from the points."""
    found = reproduction.of_figure(1)
    (row,) = [row for row in reproduction.effects if (row.figure, row.what) == (1, "records")]
    sums = {records: sum(p.accuracy.value for p in found if p.records == records) for records in (2, 4)}
    assert row.number == 2 * len(EPSILONS)
    assert row.difference.value == pytest.approx((sums[4] - sums[2]) / row.number)
    members = reproduction.of_figure(4)
    (row,) = [row for row in reproduction.effects if (row.figure, row.what) == (4, "algorithm-1 against algorithm-2")]
    means = {
        method: sum(p.accuracy.value for p in members if p.method == method) / (2 * len(EPSILONS))
        for method in ("algorithm-1", "algorithm-2")
    }
    assert row.difference.value == pytest.approx(means["algorithm-1"] - means["algorithm-2"])
    (row,) = [row for row in reproduction.effects if (row.figure, row.what) == (2, "epsilon")]
    ends = [p.accuracy.value for at in (EPSILONS[-1], EPSILONS[0]) for p in reproduction.of_figure(2) if p.at == at]
    assert row.difference.value == pytest.approx((sum(ends[:4]) - sum(ends[4:])) / 4)


def test_sensitivities_are_those_of_reading_m6(reproduction: Reproduction) -> None:
    by_size = {row.features: row for row in reproduction.sensitivities}
    assert [round(by_size[10].printed, 2), round(by_size[10].tight, 2)] == [11.41, 8.36]
    assert [round(by_size[23].printed, 2), round(by_size[23].tight, 2)] == [22.30, 16.08]
    assert all(0.9 * row.tight < row.found <= row.tight for row in by_size.values())


@pytest.mark.parametrize(
    ("difference", "least", "verdict"),
    [
        (0.1, -1.0, Judgement.HOLDS),
        (0.01, -1.0, Judgement.OPEN),
        (0.1, -9.0, Judgement.IN_PART),
        (-0.1, -9.0, Judgement.REFUTED),
    ],
)
def test_a_claim_on_a_figure_holds_where_its_effect_is_no_chance(
    reproduction: Reproduction, difference: float, least: float, verdict: Judgement
) -> None:
    def changed(row: EffectRow) -> EffectRow:
        if (row.figure, row.what) != (1, "voters"):
            return row
        return msgspec.structs.replace(row, trials=1_000, difference=Measurement(difference, 0.01), least=least)

    other = msgspec.structs.replace(reproduction, effects=tuple(map(changed, reproduction.effects)))
    found = claim(findings_on_paper(other), "Algorithm 1: more voters give a better accuracy. Figure 1")
    assert found.judgement is verdict


@pytest.mark.parametrize(
    ("best", "verdict"),
    [
        ({"N = 2": 2, "N = 3": 3}, Judgement.HOLDS),
        ({"N = 2": 0.5, "N = 3": 10}, Judgement.OPEN),
        ({"N = 2": 2, "N = 3": 0.5}, Judgement.OPEN),
        ({"N = 2": 2, "N = 3": 0}, Judgement.OPEN),
    ],
)
def test_a_bound_around_2_or_3_is_higher_where_it_beats_the_others_repetition_by_repetition(
    reproduction: Reproduction, best: dict[str, float], verdict: Judgement
) -> None:
    """One bound is ahead of the others by ten errors of a difference, or none is: 0. Nothing refutes "relatively"."""

    def changed(row: EffectRow) -> EffectRow:
        if row.figure != 7:
            return row
        one, other = map(float, row.what.partition(": ")[2].split(" against "))
        lead = (one == best[row.panel]) - (other == best[row.panel])
        return msgspec.structs.replace(row, difference=Measurement(lead, 0.1), least=10.0 * lead, most=10.0 * lead)

    rows = tuple(map(changed, reproduction.effects))
    other = msgspec.structs.replace(reproduction, trials=1_000, effects=rows)
    words = "relatively higher with a bound B"
    found = [finding.judgement for finding in findings_on_paper(other) if words in finding.claim]
    assert found == [verdict] * 2


def test_cells_of_unlike_many_repetitions_are_compared_in_those_that_both_have(reproduction: Reproduction) -> None:
    effects = {(row.panel, row.what): row.trials for row in reproduction.effects if row.figure == 6}
    assert effects["b", "voters"] == 10 * SMALL.often
    assert effects["c", "voters"] == effects["", "(b) against (c)"] == 10 * SMALL.times


def test_section_5_3_holds_only_where_every_ratio_is_above(reproduction: Reproduction) -> None:
    def with_ratios(low: float, high: float) -> Reproduction:
        def changed(point: CurvePoint) -> CurvePoint:
            ratio = Measurement(high if point.at > 1 else low, 0.0)
            return msgspec.structs.replace(point, ratio=ratio) if point.figure == 10 else point

        return msgspec.structs.replace(reproduction, curves=tuple(map(changed, reproduction.curves)))

    in_part = Judgement.IN_PART
    for low, high, verdict in ((0.81, 0.91, Judgement.HOLDS), (0.79, 0.91, in_part), (0.81, 0.89, in_part)):
        findings = findings_on_paper(with_ratios(low, high))
        verdicts = [finding.judgement for finding in findings if "Section 5.3, Figure 10" in finding.source]
        assert verdicts == [verdict] * 4


def test_a_variant_is_better_where_it_wins_clearly_and_loses_nowhere(reproduction: Reproduction) -> None:
    def with_leads(first: float, others: float) -> Reproduction:
        def changed(row: VariantRow) -> VariantRow:
            if (row.setting, row.method) != ("synthetic", "direction") or row.epsilon is None:
                return row
            lead = Measurement(0.01 * (first if row.epsilon == 1 else others), 0.01)
            return msgspec.structs.replace(row, lead=lead)

        variants = tuple(map(changed, reproduction.variants))
        return msgspec.structs.replace(reproduction, trials=1_000, variants=variants)

    words = "RLDP, Section 5.1's voters: the direction is better than Algorithm 3"
    holds, cannot_tell, in_part = Judgement.HOLDS, Judgement.OPEN, Judgement.IN_PART
    for first, others, verdict in ((9.0, 0.0, holds), (1.0, 1.0, cannot_tell), (9.0, -9.0, in_part)):
        assert claim(own_findings(with_leads(first, others)), words).judgement is verdict


def test_findings_have_numbers_and_no_nans(reproduction: Reproduction) -> None:
    assert [len(findings) for findings in reproduction.findings.values()] == [26, 13, 30]
    for findings in reproduction.findings.values():
        assert all("nan" not in finding.numbers and finding.numbers.endswith(".") for finding in findings)


@pytest.mark.usefixtures("unmeasured_drawing")
def test_all_pictures_are_drawn(reproduction: Reproduction, tmp_path: Path) -> None:
    paths = save_pictures(pictures_of(reproduction), tmp_path)
    assert {path.name for path in paths} == {f"{name}.{kind}" for name in PICTURES for kind in ("svg", "png")}
    text = (tmp_path / "figure-10.svg").read_text(encoding="utf-8")
    for shown in ("Algorithm 3", "Section 5.3", "10 or more repetitions a point", "stand-in"):
        assert shown in text
    assert "20 or 30 repetitions a point" in (tmp_path / "figure-6.svg").read_text(encoding="utf-8")


def test_the_terminal_shows_every_table_in_full(reproduction: Reproduction) -> None:
    file = io.StringIO()
    show_reproduction(Console(file=file, width=130, color_system=None), PAPER, reproduction)
    shown = file.getvalue()
    for words in ("Figure 1, Algorithm 1", "Figure 9", "RLDP, all methods at equal ε", "What we add", "10 repetitions"):
        assert words in shown
    assert "…" not in shown
