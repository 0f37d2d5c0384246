"""The reference run equals the array path bit for bit, and covers all variants but the paper's baseline."""

import itertools
from typing import Any

import pytest
from psephos.protocol import SimulatedNoise, run_population
from psephos.protocol.dpwevote import DPWeVote, Parameters, reference_run


def test_the_baseline_has_no_reference_run() -> None:
    vote = DPWeVote(Parameters(candidates=("a",), variant="laplace"))
    inputs = vote.encode({"weight": [1], "a": [0]})
    with pytest.raises(ValueError, match="does not cover the variant 'laplace'"):
        reference_run(vote, inputs, noise=SimulatedNoise(1, session="s"))


OF_WEIGHTS: list[dict[str, Any]] = [
    {"public_weights": True},
    {"weight_collection": "per_candidate"},
    {"groups": ((1.0,), (2.0, 3.0))},
    {"quota": 3.0, "passes": "more_than"},
    {"quota_fraction": 2 / 3, "project_counts": True},
]
OF_SIGNED_WEIGHTS: list[dict[str, Any]] = [{"quota": 3.0}, {"quota_fraction": 2 / 3}]


@pytest.mark.few(most=12)
@pytest.mark.parametrize(
    ("variant", "given"),
    [
        *itertools.product(["joint", "printed"], [{}, *OF_WEIGHTS]),
        *itertools.product(["two_point", "signed_rr", "optimal", "auto", "central"], [{}, *OF_SIGNED_WEIGHTS]),
        ("central", {"public_weights": True}),
        ("central", {"quota_fraction": 1.0}),
    ],
)
@pytest.mark.parametrize("epsilon", [0.3, 4.0])
def test_one_function_and_arrays_give_equal_outcomes(variant: str, given: dict[str, Any], epsilon: float) -> None:
    parameters: dict[str, Any] = {"candidates": ("a", "b"), "variant": variant, "epsilon": epsilon, **given}
    vote = DPWeVote(Parameters(**parameters))
    inputs = vote.encode({"weight": [1, 2, 3, 3, 2, 1, 3], "a": [1, 0, 0, 1, 1, 1, 0], "b": [0, 0, 1, 1, 0, 1, 0]})
    noise = SimulatedNoise(9, session="spring")
    population = run_population(vote, inputs, noise=noise, batch_rows=3)
    assert reference_run(vote, inputs, noise=noise) == population.outcome
