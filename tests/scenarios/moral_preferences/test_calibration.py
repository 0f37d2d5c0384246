"""Moral preferences' part of the calibration: societies in their balls, claims under both priors, and every table."""

import math

import msgspec
import numpy as np
import pytest
from psephos.scenarios.experiments.calibration import Drawn
from psephos.scenarios.moral_preferences import calibration
from psephos.scenarios.moral_preferences.calibration import (
    CALIBRATION,
    DIVISIONS,
    SOCIETIES,
    WAYS,
    Way,
    measure,
    measure_differences,
)


@pytest.mark.parametrize("way", list(WAYS))
def test_with_little_noise_every_choice_is_right_and_said_to_be(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of_way = WAYS[way]
    monkeypatch.setitem(WAYS, way, Way(of_way.mechanism, of_way.paradigm, (90.0,)))
    for cell in measure(way, num_features=2, epsilon=90.0, society="strong", trials=15, seed=1):
        assert cell.found <= 0.1
        assert cell.claimed < 0.1
        if of_way.mechanism == "functional":  # has no verdicts
            assert math.isnan(cell.decided)
        else:
            assert cell.decided > 0.7


def test_of_weak_societies_the_prior_of_any_size_claims_more_errors() -> None:
    ball, size = measure("laplace, VLDP", num_features=10, epsilon=1.0, society="weak", trials=40, seed=2)
    assert (ball.prior, size.prior) == ("ball", "size")
    assert ball.found == size.found
    assert ball.claimed < size.claimed
    assert ball.verdicts_wrong == size.verdicts_wrong <= ball.decided


@pytest.mark.parametrize("society", list(SOCIETIES))
def test_every_society_stays_in_the_ball(society: str) -> None:
    generator = np.random.default_rng(3)
    draw = SOCIETIES[society][1]
    for _ in range(50):
        shares = generator.exponential(size=5)
        point = shares[:4] / shares.sum() * generator.choice([-1.0, 1.0], size=4)
        drawn = draw(point, float(np.abs(point).sum()), generator)
        assert float(np.abs(drawn).sum()) <= 1 + 1e-12


def test_the_same_seed_gives_the_same_numbers() -> None:
    first, second = (
        measure("direction, RLDP", num_features=3, epsilon=0.3, society="ball", trials=10, seed=4) for _ in range(2)
    )
    assert msgspec.json.encode(first) == msgspec.json.encode(second)


def test_with_little_noise_all_true_differences_hold_and_no_others() -> None:
    of_division = {
        name: measure_differences(
            "laplace, VLCP", num_features=2, epsilon=100.0, division=name, trials=5, seed=6, level=1e-4
        )
        for name in DIVISIONS
    }
    assert of_division["alike"].decided == 0
    assert of_division["one feature"].decided == 1 / 3  # of six differences, the two of one society in one feature
    assert of_division["apart"].decided > 0.9
    assert {(cell.wrong, cell.compared) for cell in of_division.values()} == {(0, 6)}


@pytest.mark.full("seven seconds of societies")
def test_there_is_a_table_for_each_society(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "_FEATURES", (2,))
    slow = WAYS["functional, RLDP"]
    monkeypatch.setitem(WAYS, "functional, RLDP", Way(slow.mechanism, slow.paradigm, slow.epsilons[:1]))
    told: list[str] = []
    tables = list(CALIBRATION.tables(Drawn(10, 1, told.append)))
    assert [table.name for table in tables] == [*SOCIETIES, "differences"]
    assert told == [
        *(f"moral-preferences: {way}" for way in WAYS),
        "moral-preferences: differences between societies",
    ]
    assert len(tables.pop().rows) == 4 * len(DIVISIONS) * 2
    for table in tables:
        assert len(table.full) == sum(len(way.epsilons) for way in WAYS.values()) * 2
        assert len(table.rows) == len(WAYS) * 2
        assert not any(math.isnan(float(str(row["claimed"]))) for row in table.full)
