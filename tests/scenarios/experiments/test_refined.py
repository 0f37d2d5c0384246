"""Means that exact laws and controls refine: they are right, and worth what they say.

Statistical tests have fixed seeds; each states with which probability it would fail of what is right.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
from bad_input import Psephos
from psephos.protocol import Tally
from psephos.protocol.arrays import FloatArray
from psephos.protocol.phases import InputBlock
from psephos.scenarios import load_scenario
from psephos.scenarios.dpwevote.measures import VoteMeasures
from psephos.scenarios.experiments import benches
from psephos.scenarios.experiments.benches import Bench
from psephos.scenarios.experiments.measured import MeasuredCell, Trial, TrialCell, Wanted
from psephos.scenarios.experiments.measures import Measure
from psephos.scenarios.experiments.summaries import refine_by_control, summary_of
from psephos.scenarios.experiments.trials import prepare, run_trials
from psephos.scenarios.experiments.trials_shown import verdict_of_trials
from psephos.scenarios.running.resolution import Local

LIMITS = (-math.inf, math.inf)
CROWD = ("crowd", "workers.tasks=40", "workers.workers=12", "workers.answers_per_task=6")


def tried(name: str, *settings: str, trials: int, redraw: int = 0, wanted: Wanted | None = None) -> MeasuredCell:
    scenario, resolved = prepare(load_scenario(name, list(settings)), redraws=redraw > 0)
    cells = [TrialCell(settings=(), scenario=scenario, redraw=redraw)]
    (cell,) = run_trials(cells, trials=trials, workers=1, setups={(): resolved}, precision=wanted)
    return cell


@pytest.mark.parametrize("variant", ["joint", "printed", "two_point", "signed_rr"])
def test_trials_of_the_same_electorate_are_right_as_often_as_the_law_says(variant: str) -> None:
    """Each share of 2,000 trials is within 5.5 standard deviations: false alarms are fewer than 1 in 10^6."""
    cell = tried("consortium", "partners.count=60", f"variant={variant}", trials=2_000)
    decisions = ("accuracy", "true passes", "false passes", "true rejections", "false rejections")
    assert cell.refined.keys() == {*decisions}
    for name in decisions:
        mean, plain = cell.refined[name], cell.summaries[name]
        assert (mean.standard_error, mean.low, mean.high, mean.worth) == (0.0, mean.mean, mean.mean, None)
        assert abs(plain.mean - mean.mean) <= 5.5 * math.sqrt(mean.mean * (1 - mean.mean) / 2_000)
    assert math.fsum(cell.refined[name].mean for name in decisions[1:]) == pytest.approx(1, abs=1e-11)
    assert verdict_of_trials([cell]).endswith("on average over all noise: by its exact law.")


def test_electorates_drawn_anew_leave_their_own_variance_alone() -> None:
    """Both means are of one number: within 5.5 joint standard errors, at a false alarm of fewer than 1 in 10^6."""
    cell = tried("consortium", "partners.count=40", "partners.yes_shares=[0.5]", trials=600, redraw=1)
    plain, refined = cell.summaries["accuracy"], cell.refined["accuracy"]
    assert abs(plain.mean - refined.mean) <= 5.5 * math.hypot(plain.standard_error, refined.standard_error)
    assert refined.worth is not None
    assert refined.worth > 50 * 600
    assert refined.worth == pytest.approx(600 * (plain.standard_error / refined.standard_error) ** 2)
    assert "over 600 trials that are worth " in verdict_of_trials([cell])


@pytest.mark.parametrize(
    "settings",
    [
        ("mechanism=two_layer", "estimator=dawid_skene"),
        ("estimator=majority", "ties=last"),
        ("estimator=majority", "workers.classes=3"),
    ],
    ids=" ".join,
)
def test_a_control_has_a_mean_of_zero(settings: tuple[str, ...]) -> None:
    """Of 1,500 trials it is within 5.5 standard errors, at a false alarm of fewer than 1 in 10^6 for each."""
    cell = tried(*CROWD, *settings, trials=1_500)
    for name in ("error rate", "changed truths"):
        own = np.array([trial.controls[name] for trial in cell.trials])
        assert own.std() > 0
        assert abs(own.mean()) <= 5.5 * own.std() / math.sqrt(len(own))
        assert cell.refined[name].standard_error < cell.summaries[name].standard_error
    by = {own.by for own in cell.refined.values()}
    assert by == ({"law"} if "ties=last" in settings else {"control"})
    if by == {"law"}:  # which the control then is, but for its mean
        off = {trial.measures[name] - trial.controls[name] - trial.expected[name] for trial in cell.trials}
        assert max(map(abs, off)) < 1e-12


def test_an_interval_by_a_control_holds_as_often_as_it_says() -> None:
    """Of 4,000 intervals .931 to .969 hold the mean: false alarms are fewer than 1 in 10^6."""
    generator = np.random.default_rng(56)
    count, mean, held, worth = 100, 1 - 0.85 * 0.95, 0, list[float]()
    for _ in range(4_000):
        coins, others = generator.random((2, count, 40))
        control = (coins < 0.2).mean(axis=1) - 0.2
        numbers = ((coins < 0.15) | (others < 0.05)).mean(axis=1)
        plain = summary_of("x", numbers)
        found = refine_by_control(plain, numbers.tolist(), control.tolist(), limits=LIMITS)
        assert found is not None
        held += found.low <= mean <= found.high
        worth.append(found.worth or 0.0)
    assert 0.931 * 4_000 < held < 0.969 * 4_000
    assert 1.8 < np.median(worth) / count < 2.3


@pytest.mark.parametrize("off", [0.0, 0.4, 3.0])
def test_an_error_by_a_control_is_that_of_a_line_s_height_where_the_control_is_zero(off: float) -> None:
    """By ordinary least squares, of controls whose mean happens to be off: what the slope is wrong by counts too."""
    rng, count = np.random.default_rng(8), 150
    controls = rng.normal(off, 1.0, count)
    numbers = 5 + 2 * controls + rng.normal(0, 0.5, count)
    found = refine_by_control(summary_of("m", numbers), numbers.tolist(), controls.tolist(), limits=LIMITS)
    assert found is not None
    design = np.stack([np.ones(count), controls], axis=1)
    line, rest, *_ = np.linalg.lstsq(design, numbers)
    error = math.sqrt(float(rest[0]) / (count - 2) * np.linalg.inv(design.T @ design)[0, 0])
    assert found.mean == pytest.approx(float(line[0]), rel=1e-9)
    assert found.standard_error == pytest.approx(error, rel=1e-9)
    assert found.high - found.mean == pytest.approx(scipy.stats.t.ppf(0.975, count - 2) * error, rel=1e-9)


def test_a_control_that_explains_nothing_or_of_few_trials_refines_nothing() -> None:
    numbers, control = (np.random.default_rng(seed).normal(size=200).tolist() for seed in (1, 2))
    plain = summary_of("x", np.array(numbers))
    assert refine_by_control(plain, numbers, control, limits=LIMITS) is None
    assert refine_by_control(plain, numbers, [0.0] * 200, limits=LIMITS) is None
    assert refine_by_control(summary_of("x", np.array(numbers[:9])), numbers[:9], numbers[:9], limits=LIMITS) is None


def test_where_all_draws_have_one_mean_it_is_not_called_exact() -> None:
    measure = Measure(name="accuracy", about="", is_share=True, said="{} hold")
    trials = tuple(Trial({"accuracy": 1.0}, (), {"accuracy": 1.0}) for _ in range(20))
    cell = MeasuredCell(settings=(), measures=(measure,), num_parties=3, trials=trials, redraw=1)
    refined = cell.refined["accuracy"]
    assert not refined.is_exact
    assert refined.low < 1 == refined.high
    assert "exact" not in verdict_of_trials([cell])


def test_trials_end_where_the_law_knows_the_mean_well_enough() -> None:
    wanted = Wanted(measure="accuracy", error=1e-6)
    assert len(tried("consortium", "partners.count=30", trials=1_000, wanted=wanted).trials) == 100
    assert len(tried("consortium", "partners.count=30", "variant=laplace", trials=150, wanted=wanted).trials) == 150


class OtherMeasures(VoteMeasures):
    """Somebody's own: accuracy is another number."""

    def of(self, outcome: Any, tallies: Sequence[Tally]) -> Mapping[str, float]:
        return {"accuracy": 0.25 + 0 * len(tallies)}


class OtherLaw(OtherMeasures):
    """The same, who knows its mean."""

    def expected(self, inputs: InputBlock) -> Mapping[str, FloatArray]:
        return {"accuracy": np.full(len(inputs.private), 0.25)}


def test_measures_of_somebody_have_a_law_where_they_say_it(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario, resolved = prepare(load_scenario("consortium", ["partners.count=10"]))
    for kind, known in ((OtherMeasures, {}), (OtherLaw, {"accuracy": 0.25})):
        own = kind(resolved.protocol, resolved.inputs, gold={})

        def given(resolved: Local, own: VoteMeasures = own) -> VoteMeasures:
            del resolved
            return own

        monkeypatch.setattr(benches, "measures_of", given)
        bench = Bench(resolved, TrialCell(settings=(), scenario=scenario))
        assert [trial.expected for trial in bench.run(range(2))] == [known] * 2


def test_what_is_refined_stands_beside_in_tables_and_in_the_picture(psephos: Psephos) -> None:
    words = ("trials", "consortium", "--set", "partners.count=30", "--redraw", "1", "--trials", "40", "--out", "out")
    ended = psephos(*words, "--grid", "variant=printed,laplace")
    assert ended.status == 0, ended.err
    header, first, *_ = (line.split(",") for line in Path("out/summary.csv").read_text().splitlines())
    row = dict(zip(header, first, strict=True))
    told = json.loads(Path("out/summary.json").read_text())["cells"]
    own = told[0]["refined"]["accuracy"]
    assert row["measure"] == "accuracy"
    assert (float(row["refined_mean"]), float(row["worth_trials"])) == (own["mean"], own["worth"])
    assert (row["refined_by"], float(row["refined_low"])) == ("law", own["low"])
    assert "refined" not in told[1]
    ended = psephos(*words[:-1], "one", "--set", "variant=printed")
    assert ended.status == 0, ended.err
    assert "Worth, trials" in ended.out
    worth = ended.out.split("that are worth ")[1].split(";")[0]
    assert f"accuracy worth {worth} plain trials" in Path("one/trials.svg").read_text()
