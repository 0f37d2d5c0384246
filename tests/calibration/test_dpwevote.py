"""DPWeVote's part of the calibration: truths on the wrong side, sessions drawn at once, lies caught."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from calibration import dpwevote as calibration
from calibration.dpwevote import CALIBRATION, matrices_of
from calibration.engine import Case, hold
from psephos.protocol.arrays import FloatArray
from psephos.protocol.dpwevote import Parameters
from psephos.protocol.dpwevote.variant import Variant
from psephos.protocol.estimators import Verdict

PLAIN: Mapping[str, Any] = {
    "variant": "joint",
    "epsilon": 2.0,
    "level": 0.05,
    "partners": 31,
    "weights": "even",
    "light": 3,
    "heavy": 1,
    "ratio": 10,
    "held": "all kinds",
    "yes": "light ones",
    "quota": "half",
    "wrong": "passes",
    "candidates": 1,
}
STATEMENTS = {statement.name: statement for statement in CALIBRATION.statements()}


def places(number: int, seed: int) -> list[Case]:
    """Return places that are drawn on the axes."""
    generator = np.random.default_rng(seed)
    axes: dict[str, Any] = {**STATEMENTS["standard error of a margin"].axes, "candidates": (1,)}
    return [{axis: each[int(generator.integers(len(each)))] for axis, each in axes.items()} for _ in range(number)]


def test_every_truth_is_on_the_side_that_the_verdict_denies_and_one_partner_from_the_other() -> None:
    sides: set[bool] = set()
    for case in places(60, 1):
        vote = calibration.vote_of(case)
        truth = None if vote is None else calibration.truth_of(case, vote.parameters)
        if vote is None or truth is None:
            continue
        parameters = vote.parameters
        margin = float((truth.weights * truth.opinions).sum())
        margin -= parameters.fraction * float(truth.weights.sum()) + (parameters.quota or 0.0)
        if abs(margin) > 1e-9 * float(truth.weights.sum()):  # else nearer than floats tell
            assert (margin > 0) == truth.passes
        assert truth.passes == (case["wrong"] == "fails")
        sides.add(truth.passes)
    assert sides == {True, False}


@pytest.mark.parametrize(
    "variant",
    [
        *("joint", "laplace", "two_point", "signed_rr", "public", "public laplace", "matrices", "central"),
        *("public central", "two_point, levels", "signed_rr, levels"),
    ],
)
def test_a_clear_truth_is_found_at_a_high_price(variant: str) -> None:
    """At ε = 20 a verdict names the truth's side: each value of the drawn sessions must stand at its own place."""
    case = {**PLAIN, "variant": variant, "epsilon": 20.0, "partners": 6_000 if variant == "matrices" else 300}
    vote = calibration.vote_of(case)
    assert vote is not None
    near = calibration.truth_of(case, vote.parameters)
    assert near is not None
    for is_yes, verdict in ((1, Verdict.PASSES), (0, Verdict.FAILS)):
        truth = near._replace(opinions=np.full_like(near.opinions, is_yes))
        sessions = calibration.Sessions(vote, truth, 3, np.random.default_rng(1))
        assert sessions.share_of(verdict).all()
        assert sessions.outcome(0).candidates[0].verdict.verdict is verdict


def test_verdicts_are_asked_for_where_they_turn_and_are_those_of_every_session() -> None:
    case = {**PLAIN, "level": 0.4, "candidates": 2}
    vote = calibration.vote_of(case)
    assert vote is not None
    truth = calibration.truth_of(case, vote.parameters)
    assert truth is not None
    sessions = calibration.Sessions(vote, truth, 200, np.random.default_rng(2))
    for verdict in (Verdict.PASSES, Verdict.FAILS):
        every = [
            any(each.verdict.verdict is verdict for each in sessions.outcome(place).candidates) for place in range(200)
        ]
        assert 0 < sum(every) < 200
        assert sessions.share_of(verdict).tolist() == every


def test_a_verdict_that_is_too_bold_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Variant, "judge", _bold)
    cell = hold(
        "dpwevote", STATEMENTS["verdict: laplace"], {**PLAIN, "variant": "laplace"}, 40, np.random.default_rng(3)
    )
    assert cell is not None
    assert not cell.holds


def _bold(variant: Variant, margins: FloatArray, *_given: Any, **_named: Any) -> list[Verdict]:
    del variant
    return [Verdict.PASSES if margin > 0 else Verdict.FAILS for margin in margins.tolist()]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, 20.0])
def test_matrices_cost_the_price_that_they_are_made_for(epsilon: float) -> None:
    parameters = Parameters(candidates=("a",), weights=(1.0, 2.0, 3.0), **matrices_of(epsilon))
    assert parameters.loss_of_weight == pytest.approx(epsilon / 2, rel=1e-9)
    assert parameters.loss_of_opinion == pytest.approx(epsilon / 2, rel=1e-9)


def test_there_is_a_statement_for_each_variant_and_for_games_and_errors() -> None:
    kinds = {name.partition(":")[0]: statement.kind for name, statement in STATEMENTS.items()}
    assert kinds == {
        "verdict": "at most",
        "verdicts in a game": "at most",
        "standard error of a margin": "error",
    }
    assert len(STATEMENTS) == 19
