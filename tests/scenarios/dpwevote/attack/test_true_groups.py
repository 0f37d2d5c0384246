"""Counting opinions by the true group tells weights, whatever their noise: an attack that succeeds."""

import math
from typing import Any

import pytest
from psephos.protocol import ConfigurationError
from psephos.protocol.dpwevote import Parameters
from psephos.scenarios.dpwevote.attack.true_groups import evaluate_true_groups


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0])
def test_a_weight_is_named_with_certainty_by_its_true_group_alone(epsilon: float) -> None:
    found = evaluate_true_groups(
        Parameters(candidates=("m",), weights=(1, 2, 3), epsilon=2 * epsilon, variant="printed")
    )
    keep = math.exp(epsilon) / (math.exp(epsilon) + 2)
    assert found.epsilon == pytest.approx(epsilon)
    assert found.reported.success == pytest.approx(keep, rel=1e-12)
    assert found.reported.greatest_log_odds_ratio == pytest.approx(epsilon, rel=1e-6)
    assert (found.true.success, found.true.greatest_log_odds_ratio) == (pytest.approx(1.0, rel=1e-12), math.inf)
    assert found.true.advantage == pytest.approx(1.0)
    assert found.true.information == pytest.approx(math.log2(3))


def test_weights_of_one_group_are_told_apart_by_neither() -> None:
    found = evaluate_true_groups(
        Parameters(candidates=("m",), weights=(1, 2, 9), groups=((1, 2), (9,)), epsilon=2.0, variant="joint")
    )
    assert found.true.success == pytest.approx(2 / 3, rel=1e-12)  # one of the two, or the one
    assert found.reported.success < found.true.success


def test_a_weight_that_is_reported_for_each_candidate_costs_as_often() -> None:
    found = evaluate_true_groups(
        Parameters(
            candidates=("m", "n"), weights=(1, 2), epsilon=1.0, weight_collection="per_candidate", variant="joint"
        )
    )
    assert found.epsilon == pytest.approx(1.0)
    assert found.reported.greatest_log_odds_ratio == pytest.approx(1.0, rel=1e-9)
    assert found.true.success == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("settings", "value"),
    [
        ({"variant": "laplace"}, "laplace"),
        ({"variant": "optimal"}, "optimal"),
        ({"public_weights": True}, "public weights"),
    ],
)
def test_where_no_group_is_reported_there_is_nothing_to_compare(settings: dict[str, Any], value: str) -> None:
    with pytest.raises(ConfigurationError, match="only these report a group") as caught:
        evaluate_true_groups(Parameters(candidates=("m",), weights=(1, 2), epsilon=1.0, **settings))
    assert caught.value.value == value


def test_reports_that_cannot_be_listed_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="a partner has too many possible reports to list"):
        evaluate_true_groups(
            Parameters(
                candidates=("a", "b", "c"),
                weights=tuple(range(1, 31)),
                weight_collection="per_candidate",
                variant="joint",
            )
        )
