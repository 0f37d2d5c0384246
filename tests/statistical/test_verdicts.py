"""Verdicts keep their level for every truth that is tried.

Seeds are fixed; each test states the probability that another seed would fail although all is right.
"""

from typing import Any

import numpy as np
import pytest
from psephos.protocol import Tally
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.estimators import Verdict
from psephos.scenarios.dpwevote.calibration import matrices_of
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
    vote = DPWeVote(Parameters(candidates=("a",), weights=(1.0, 2.0, 3.0), **given))
    trials, number = draws(40, full=2000), sum(TRUTHS[truth])
    weights, opinions = np.repeat([1, 1, 2, 2, 3, 3], TRUTHS[truth]), np.repeat([0, 1] * 3, TRUTHS[truth])
    assert int((weights * (2 * opinions - 1)).sum()) < 0
    inputs = vote.encode({"weight": np.tile(weights, trials), "a": np.tile(opinions, trials)})
    generator = np.random.default_rng(45)
    drawn = [
        phase.mechanism.randomize_rows(
            inputs.private[:, phase.columns], generator.random((trials * number, phase.mechanism.slots_of(1)))
        ).reshape(trials, number, 1)
        for phase in vote.phases
    ]
    public = inputs.public.reshape(trials, number, -1)
    passes = 0
    for trial in range(trials):
        tallies: list[Tally] = []
        for place, phase in enumerate(vote.phases):
            earlier = [reports[trial] for reports in drawn[:place]]
            tallies.append(phase.tally(drawn[place][trial], earlier=earlier, public=public[trial]))
        passes += vote.outcome(tallies).candidates[0].verdict.verdict is Verdict.PASSES
    assert binom.sf(passes - 1, trials, 0.05) > 1e-6
