"""Probabilities of errors of votes by one to three partners, whose noise is far from normal."""

from typing import Any

import numpy as np
import pytest
import scipy as sp
from psephos.protocol import SimulatedNoise, run_population
from psephos.protocol.dpwevote import DPWeVote, Parameters
from thoroughness import draws

FALSE_ALARM = 1e-6
"""Of each case, whose seeds are fixed."""
NEAR = 1.5
"""A tenth or more, said by a normal law, is wrong up to so many times as often."""


@pytest.mark.parametrize(
    ("weights", "given"),
    [
        ((1.0,), {"variant": "joint", "public_weights": True}),
        ((1.0, 2.0, 3.0), {"variant": "joint"}),
        ((1.0, 2.0, 3.0), {"variant": "optimal"}),
        ((1.0, 2.0, 3.0), {"variant": "laplace"}),
    ],
    ids=str,
)
@pytest.mark.parametrize("number", [1, 2, 3])
def test_what_is_said_of_few_reports_is_near(weights: tuple[float, ...], given: dict[str, Any], number: int) -> None:
    generator = np.random.default_rng(number)
    stated, wrong = [0.0], 0
    for epsilon in (1.0, 2.5, 4.0, 8.0):
        vote = DPWeVote(Parameters(candidates=("c",), weights=weights, epsilon=epsilon, **given))
        for session in range(draws(25, full=400)):
            is_coins = generator.random() < 1 / 2  # the prior `mixed`
            yes = 0.5 if is_coins else generator.random()
            table = {
                "weight": generator.choice(weights, number),
                "c": (generator.random(number) < yes).astype(np.int64),
            }
            noise = SimulatedNoise(session, session=f"{number}")
            (candidate,) = run_population(vote, vote.encode(table), noise=noise).outcome.candidates
            if candidate.error_probability is not None:
                stated.append(candidate.error_probability)
                passes = bool((table["weight"] * (2 * table["c"] - 1)).sum() >= 0)
                wrong += candidate.leans_yes != passes
    assert min(stated[1:]) >= 0.1
    assert sp.stats.poisson.sf(wrong - 1, NEAR * sum(stated)) > FALSE_ALARM
