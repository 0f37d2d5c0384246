"""The reference run equals the array path bit for bit, and covers all variants but the paper's baseline."""

from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st
from psephos.protocol import SimulatedNoise, run_population
from psephos.protocol.dpwevote import DPWeVote, Parameters, reference_run
from thoroughness import draws


@hypothesis.settings(max_examples=draws(15, full=40), deadline=None)
@hypothesis.given(
    variant=st.sampled_from(["joint", "printed"]),
    given=st.sampled_from(
        [
            {},
            {"public_weights": True},
            {"weight_collection": "per_candidate"},
            {"groups": ((1.0,), (2.0, 3.0))},
            {"quota": 3.0, "passes": "more_than"},
            {"quota_fraction": 2 / 3, "project_counts": True},
        ]
    ),
    rows=st.lists(st.tuples(st.sampled_from([1, 2, 3]), st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=12),
    epsilon=st.floats(min_value=0.05, max_value=20),
    seed=st.integers(0, 2**64),
    batch_rows=st.integers(1, 13),
)
def test_one_function_and_arrays_give_equal_outcomes(
    variant: str,
    given: dict[str, Any],
    rows: list[tuple[int, int, int]],
    epsilon: float,
    seed: int,
    batch_rows: int,
) -> None:
    parameters: dict[str, Any] = {"candidates": ("a", "b"), "variant": variant, "epsilon": epsilon, **given}
    vote = DPWeVote(Parameters(**parameters))
    inputs = vote.encode({name: [row[n] for row in rows] for n, name in enumerate(("weight", "a", "b"))})
    noise = SimulatedNoise(seed, session="spring")
    population = run_population(vote, inputs, noise=noise, batch_rows=batch_rows)
    assert reference_run(vote, inputs, noise=noise) == population.outcome


def test_the_baseline_has_no_reference_run() -> None:
    vote = DPWeVote(Parameters(candidates=("a",), variant="laplace"))
    inputs = vote.encode({"weight": [1], "a": [0]})
    with pytest.raises(ValueError, match="does not cover the variant 'laplace'"):
        reference_run(vote, inputs, noise=SimulatedNoise(1, session="s"))


@pytest.mark.parametrize("variant", ["two_point", "signed_rr", "optimal", "auto"])
@pytest.mark.parametrize("given", [{}, {"quota": 3.0}, {"quota_fraction": 2 / 3}], ids=str)
def test_one_function_and_arrays_give_equal_outcomes_of_signed_weights(variant: str, given: dict[str, Any]) -> None:
    parameters: dict[str, Any] = {"candidates": ("a", "b"), "variant": variant, **given}
    vote = DPWeVote(Parameters(**parameters))
    inputs = vote.encode({"weight": [1, 2, 3, 3, 2, 1, 3], "a": [1, 0, 0, 1, 1, 1, 0], "b": [0, 0, 1, 1, 0, 1, 0]})
    noise = SimulatedNoise(9, session="spring")
    population = run_population(vote, inputs, noise=noise, batch_rows=3)
    assert reference_run(vote, inputs, noise=noise) == population.outcome
