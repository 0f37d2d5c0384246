"""Verdicts keep their level for every truth that is tried.

Seeds are fixed; each test states the probability that another seed would fail although all is right.
"""

from typing import Any

import numpy as np
import pytest
from calibration.dpwevote import matrices_of
from psephos.protocol.estimators import Verdict
from repeated_votes import make_vote, tallies_of_trials
from scipy.stats import binom
from thoroughness import draws

pytestmark = pytest.mark.unmeasured  # thousands of sessions, on ways that the mirrors' tests take too


TRUTHS: dict[str, tuple[int, ...]] = {
    # Numbers by weight and opinion: no of 1, yes of 1, no of 2, yes of 2, no of 3, yes of 3. Margins are just below 0.
    "even": (10, 9, 10, 10, 10, 10),
    "light yes": (0, 31, 0, 14, 20, 0),
    "heavy yes": (43, 0, 0, 0, 0, 14),
    "one kind": (0, 0, 0, 0, 10, 9),
}


@pytest.mark.parametrize("variant", ["joint", "two_point", "signed_rr", "optimal", "public", "matrices"])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
@pytest.mark.parametrize("truth", list(TRUTHS))
def test_no_truth_that_just_fails_is_said_to_pass_in_more_cases_than_the_level(
    variant: str, epsilon: float, truth: str
) -> None:
    """Sessions of one truth: more than the binomial law allows at 5 %, chance 1e-6 each, 8e-5 together."""
    given: dict[str, Any] = {"variant": variant, "epsilon": epsilon}
    if variant == "public":
        given |= {"variant": "joint", "public_weights": True}
    elif variant == "matrices":
        given = {"variant": "joint", **matrices_of(epsilon)}
    vote = make_vote(weights=(1.0, 2.0, 3.0), **given)
    trials = draws(40, full=2000)
    weights, opinions = np.repeat([1, 1, 2, 2, 3, 3], TRUTHS[truth]), np.repeat([0, 1] * 3, TRUTHS[truth])
    assert int((weights * (2 * opinions - 1)).sum()) < 0
    rows = np.tile(weights, (trials, 1)), np.tile(opinions, (trials, 1))
    tallies = tallies_of_trials(vote, *rows, np.random.default_rng(45))
    verdicts = [vote.outcome(of_trial).candidates[0].verdict.verdict for of_trial in tallies]
    passes = verdicts.count(Verdict.PASSES)
    assert binom.sf(passes - 1, trials, 0.05) > 1e-6
