"""Truth discovery's part of the calibration: credits by hand, crowds by other families, lies caught."""

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import pytest
from calibration import truth_discovery as calibration
from calibration.engine import Wanted, hold
from calibration.truth_discovery import (
    CALIBRATION,
    FAMILIES,
    Confidences,
    CrowdRow,
    credit_of,
    crowd_rows,
    skewed_crowd,
)
from psephos.protocol.estimators.truth_inference import support_limits_by_level
from psephos.protocol.truth_discovery import CREDITS
from psephos.scenarios.tables import Table
from psephos.scenarios.truth_discovery.crowd_reports import Layout
from psephos.scenarios.truth_discovery.data.published import CROWDS
from psephos.scenarios.truth_discovery.data.synthetic import SyntheticCrowd, make_crowd

PLAIN: Mapping[str, Any] = {
    "mechanism": "one_layer",
    "labels": 3,
    "answers": 10,
    "epsilon": 1.0,
    "level": 0.05,
    "given": "two alike",
}
STATEMENTS = {statement.name: statement for statement in CALIBRATION.statements()}


def of(model: float, chance: float, right: float, number: int = 1000) -> Confidences:
    """Return the confidences of a crowd of one kind of task, of which a share is right."""
    is_right = (np.arange(number) < right * number).astype(np.float64)
    return Confidences(np.full(number, model), np.full(number, chance), is_right)


def test_the_credit_by_hand() -> None:
    """What claims .9 of two labels and is right in .7 deserves half of what it says beyond chance."""
    assert credit_of([of(0.9, 0.5, 0.7)]) == pytest.approx(0.5)
    assert credit_of([of(0.9, 0.5, 0.7), of(0.9, 0.5, 0.8, number=10)]) == pytest.approx(0.625)  # one weight each
    assert of(0.9, 0.5, 0.7).at(0.5).mean() == pytest.approx(0.7)
    assert of(0.9, 0.5, 0.7).error_at(0.5) == pytest.approx(0, abs=1e-12)
    assert of(0.9, 0.5, 0.7).error_at(1.0) == pytest.approx(0.2)


def test_a_crowd_is_held_against_other_families_alone() -> None:
    """`ducks` is of the family of `bluebird`, whose credit of 1 therefore says nothing of it."""
    crowds = {
        "bluebird": of(0.9, 0.5, 0.9),
        "ducks": of(0.9, 0.5, 0.6),
        "rte": of(0.9, 0.5, 0.7),
        "dog": of(0.9, 0.5, 0.8),
    }
    rows = {row.crowd: row for row in crowd_rows("cautious", crowds)}
    ducks = rows["ducks"]
    assert (ducks.family, ducks.least, ducks.most) == ("birds", pytest.approx(0.5), pytest.approx(0.75))
    assert (ducks.low, ducks.high, ducks.found) == (pytest.approx(0.7), pytest.approx(0.8), pytest.approx(0.6))
    assert not ducks.is_covered
    assert ducks.error == pytest.approx(0.15)
    assert (rows["rte"].least, rows["rte"].most) == (pytest.approx(0.25), pytest.approx(1.0))
    assert rows["rte"].is_covered


def test_every_published_crowd_has_one_family() -> None:
    named = [name for names in FAMILIES.values() for name in names]
    assert sorted(named) == sorted(CROWDS)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have small made-up crowds, and two of these as if they had been published."""
    spec = SyntheticCrowd(tasks=60, workers=12, answers_per_task=5)
    crowds = {name: Layout.of(make_crowd(spec)) for name in ("ducks", "rte")}
    monkeypatch.setattr(calibration, "_layouts", lambda: crowds)
    monkeypatch.setattr(calibration, "_MADE_UP", {"made up": spec})
    monkeypatch.setattr(calibration, "_EPSILONS", (1.0,))


def tables() -> Mapping[str, Table]:
    return {table.name: table for table in CALIBRATION.tables(Wanted(trials=100))}


@pytest.mark.usefixtures("few")
def test_each_calibrated_estimator_is_held_on_each_crowd_and_auto_beside_its_rivals() -> None:
    found = tables()
    assert list(found) == ["confidences", "auto"]
    rows = msgspec.convert(found["confidences"].full, list[CrowdRow])
    calibrated = [name for name, credit in CREDITS.items() if credit.average < 1]
    assert [(row.estimator, row.crowd) for row in rows] == [
        (own, crowd) for own in calibrated for crowd in ("ducks", "rte")
    ]
    accuracies: list[dict[str, Any]] = list(map(dict, found["auto"].full))
    assert sorted({(row["crowd"], row["mechanism"]) for row in accuracies}) == [
        (crowd, mechanism) for crowd in ("ducks", "made up", "rte") for mechanism in ("one_layer", "two_layer")
    ]
    for row in accuracies:
        best = max(row["majority"], row["truth_discovery"], row["one_coin"])
        assert row["behind"] == pytest.approx(100 * (best - row["auto"]))


def test_without_published_crowds_no_credit_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "_EPSILONS", (1.0,))
    monkeypatch.setattr(calibration, "_MADE_UP", {"made up": SyntheticCrowd(tasks=6, workers=4, answers_per_task=2)})
    monkeypatch.setenv("PSEPHOS_DATA", "")
    assert list(tables()) == ["auto"]


@pytest.mark.parametrize("mechanism", ["two_layer", "beta"])
def test_limits_that_are_too_near_are_caught(mechanism: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = STATEMENTS["limits of supports"]
    case = {**PLAIN, "mechanism": mechanism}
    cell = hold("truth-discovery", limits, case, 100, np.random.default_rng(2))
    assert cell is not None
    assert cell.holds

    def near(*given: Any, level: float, **named: Any) -> Any:
        return support_limits_by_level(*given, level=max(level, 0.49), **named)

    monkeypatch.setattr(calibration, "support_limits_by_level", near)
    cell = hold("truth-discovery", limits, case, 100, np.random.default_rng(2))
    assert cell is not None
    assert not cell.holds


@pytest.mark.parametrize("classes", [2, 4])
def test_a_skewed_crowd_has_one_frequent_label(classes: int) -> None:
    spec = skewed_crowd(classes, 0.8)
    assert spec.class_shares == pytest.approx([0.8, *[0.2 / (classes - 1)] * (classes - 1)])
    assert len(make_crowd(spec).answers) == 3000
