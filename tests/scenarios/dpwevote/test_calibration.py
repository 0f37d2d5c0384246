"""DPWeVote's part of the calibration: sessions drawn as tallies are the protocol's, and its tables have every cell."""

import numpy as np
import pytest
from psephos.protocol.arrays import IntArray
from psephos.protocol.dpwevote import Parameters
from psephos.scenarios.dpwevote import calibration
from psephos.scenarios.dpwevote.calibration import CALIBRATION, PRIORS, Prior, matrices_of, measure
from psephos.scenarios.experiments.calibration import Drawn


@pytest.mark.parametrize(
    "variant",
    [
        "joint",
        "printed",
        "laplace",
        "two_point",
        "signed_rr",
        "optimal",
        "public",
        "matrices",
        "central",
        "central public",
    ],
)
def test_a_clear_majority_is_found_at_a_high_price(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 300 partners of weight 2 nine in ten say yes, at ε = 20: each value must stand at its own place."""

    def clear(number: int, generator: np.random.Generator) -> IntArray:
        del generator
        return np.array([[0, 0], [number // 10, number - number // 10], [0, 0]], dtype=np.int64)

    monkeypatch.setitem(PRIORS, "mixed", Prior("clear", clear))
    number = 6000 if variant == "matrices" else 300  # whose yes is seldom told, at any price
    cell = measure(variant, num_partners=number, epsilon=20.0, prior="mixed", trials=3, seed=1)
    assert (cell.number, cell.found, cell.decided, cell.verdicts_wrong) == (3, 0.0, 1.0, 0.0)
    assert cell.claimed < 1e-6


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, 20.0])
def test_matrices_cost_the_price_that_they_are_made_for(epsilon: float) -> None:
    parameters = Parameters(candidates=("a",), weights=(1.0, 2.0, 3.0), **matrices_of(epsilon))
    assert parameters.loss_of_weight == pytest.approx(epsilon / 2, rel=1e-9)
    assert parameters.loss_of_opinion == pytest.approx(epsilon / 2, rel=1e-9)


@pytest.mark.parametrize("prior", list(PRIORS))
def test_an_electorate_has_everybody(prior: str) -> None:
    for number in (9, 1000):
        electorate = PRIORS[prior].draw(number, np.random.default_rng(3))
        assert electorate.shape == (3, 2)
        assert electorate.min() >= 0
        assert electorate.sum() == number


@pytest.mark.full("two seconds of trials")
def test_there_is_a_table_for_each_prior_one_of_cells_and_the_power(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "_PARTNERS", (9,))
    monkeypatch.setattr(calibration, "_EPSILONS", (1.0,))
    told: list[str] = []
    tables = {table.name: table for table in CALIBRATION.tables(Drawn(10, 1, told.append))}
    assert list(tables) == [*PRIORS, "cells", "power", "claims-on-coins"]
    assert all(len(tables[prior].full) == 8 for prior in PRIORS)
    assert len(tables["cells"].rows) == 8
    assert len(tables["power"].rows) == 8
    assert len(tables["claims-on-coins"].rows) == 16
    assert told[-1] == "dpwevote: fair coins"


def test_the_same_seed_draws_the_same() -> None:
    cells = [
        measure("optimal", num_partners=30, epsilon=1.0, prior="mixed", trials=20, seed=seed) for seed in (5, 5, 6)
    ]
    assert cells[0].claimed == cells[1].claimed != cells[2].claimed
