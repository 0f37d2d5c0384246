"""How many labels are right, as a verdict says it: made where published crowds were tried alone, and true there."""

import dataclasses
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import pytest
from psephos.protocol.randomness import SimulatedNoise
from psephos.protocol.truth_discovery import CREDITS, find_truths, make_noise
from psephos.protocol.truth_discovery.estimators import ESTIMATORS
from psephos.scenarios import load, run
from psephos.scenarios.presentation import verdict_of
from psephos.scenarios.truth_discovery.crowd_reports import Layout, draw_labels, draw_renumbering
from psephos.scenarios.truth_discovery.data import SyntheticCrowd, make_crowd
from psephos.scenarios.truth_discovery.data.published import CROWDS, load_crowd
from thoroughness import draws

CLAIMING: Final = [name for name, credit in CREDITS.items() if credit.least > 0 and credit.average < 1]
LADDER: Final = {
    f"{workers} workers, {tasks} tasks, {labels} labels, {quality} right": SyntheticCrowd(
        tasks=tasks, workers=workers, answers_per_task=5, classes=labels, quality=(quality, 0.1), seed=3
    )
    for workers, tasks in ((6, 20), (30, 100), (100, 300))
    for labels in (2, 4)
    for quality in (0.65, 0.85)
}
PEERS: Final = ("peer-grading", {"mechanism": "one_layer", "epsilon": 8.0, "estimator": "truth_discovery"})


def claims(outcome: Any) -> bool:
    return re.search(r"of these [\d,]+ are right|with a probability of", verdict_of(outcome)) is not None


@pytest.mark.parametrize(
    ("settings", "is_made"),
    [
        ({}, True),
        ({"normalization": "answered"}, True),
        ({"normalization": "all"}, False),
        ({"weight_function": "linear"}, False),
        ({"quality_clamp": 0.01}, False),
        ({"max_iterations": 1}, False),
        ({"epsilon": 2.0}, True),
        ({"epsilon": 1.9}, False),
        ({"estimator": "auto", "epsilon": 1.5}, True),
        ({"estimator": "auto", "epsilon": 1.49}, False),
        ({"estimator": "noise_aware", "epsilon": 0.5}, True),
        ({"estimator": "noise_aware", "rounds": 1}, False),
        ({"estimator": "dawid_skene"}, False),
        ({"estimator": "accu"}, False),
        ({"estimator": "one_coin"}, False),
        ({"estimator": "minimax_entropy"}, False),
        ({"estimator": "noise_aware_dawid_skene"}, False),
        ({"estimator": "majority"}, False),
        ({"mechanism": "two_layer"}, True),
        ({"mechanism": "two_layer", "epsilon": None, "hyper": {"type": "Uniform", "low": 0.0, "high": 0.1}}, False),
        ({"epsilon": None, "epsilons": [4.0, 8.0], "chosen_by": "worker", "estimator": "auto"}, False),
    ],
)
def test_only_settings_that_published_crowds_were_tried_with_claim_that_labels_are_right(
    settings: dict[str, Any], *, is_made: bool
) -> None:
    name, usual = PEERS
    chosen = {key: value for key, value in {**usual, **settings}.items() if value is not None}
    if "epsilon" in settings and settings["epsilon"] is None:  # another price, in place of the scenario's
        chosen.pop("epsilon", None)
    outcome: Any = run(load(name, chosen), seed=1, transport="array").outcome
    assert claims(outcome) == is_made
    assert (
        is_made or outcome.is_calibrated is False or not CREDITS[outcome.estimator].least or "majority" in str(settings)
    )


def right_and_range(
    layout: Layout, name: str, estimator: str, mechanism: str, epsilon: float
) -> Iterator[tuple[float, ...]]:
    """Yield of each session how many labels are right, and from how many to how many are said to be."""
    parameters = msgspec.structs.replace(layout.parameters, epsilon=epsilon, mechanism=mechanism, estimator=estimator)
    noise, gold, crowd = make_noise(parameters), layout.is_gold, layout.crowd
    generator = np.random.default_rng(1)
    for labels in draw_labels(layout, noise, SimulatedNoise(1, session=name), start=0, stop=draws(2, full=20)):
        numbers = draw_renumbering(crowd.answers.num_classes, crowd.answers.sizes, generator)
        reports = dataclasses.replace(crowd.answers, labels=numbers[crowd.answers.tasks, labels])
        truth = numbers[np.arange(crowd.answers.num_tasks), np.maximum(crowd.truth, 0)][gold]
        _, found = find_truths(reports, parameters=parameters, noise=noise)
        chance, credit = 1 / crowd.answers.sizes[gold], CREDITS[estimator]
        least, most = ((chance + own * (found.confidences[gold] - chance)).sum() for own in (credit.least, credit.most))
        yield float((found.truths[gold] == truth).sum()), min(least, most), max(least, most)


def check(layout: Layout, name: str) -> None:
    """Hold the mean number of right labels against the mean of what is said.

    Workers who err together have labels right or wrong together, so that four standard errors of independent ones are
    allowed.
    """
    for estimator in CLAIMING:
        (lowest,) = (each.tried_from for own, each in ESTIMATORS.items() if own == estimator)
        for mechanism, epsilon in (("one_layer", lowest), ("two_layer", lowest), ("one_layer", 8.0)):
            sessions = list(right_and_range(layout, name, estimator, mechanism, epsilon))
            right, least, most = (sum(each) / len(sessions) for each in zip(*sessions, strict=True))
            number = int(layout.is_gold.sum())
            error = 4 * math.sqrt(number / 4 / len(sessions))
            assert least - error <= right <= most + error, (estimator, mechanism, epsilon, right, least, most)


@pytest.mark.few(most=4)
@pytest.mark.parametrize("name", LADDER)
def test_crowds_of_many_sizes_are_right_as_often_as_is_said(name: str) -> None:
    """Within four standard errors at most: one of 180 comparisons is outside with a probability below .012."""
    check(Layout.of(make_crowd(LADDER[name])), name)


@pytest.mark.few(most=4)
@pytest.mark.parametrize("name", [name for name, crowd in CROWDS.items() if crowd.num_bytes < 200_000])
def test_published_crowds_are_right_as_often_as_is_said(name: str, real_sets: Path) -> None:
    """Likewise; that the worst and the best of them lie within is what the credits are fitted to."""
    if not (real_sets / name).is_dir():
        pytest.skip(f"{name} is not there")
    check(Layout.of(load_crowd(name, real_sets)), name)
