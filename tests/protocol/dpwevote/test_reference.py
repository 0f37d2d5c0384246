"""The reference run equals the array path bit for bit, and covers all variants but the paper's baseline."""

import pytest
from psephos.protocol import SimulatedNoise
from psephos.protocol.dpwevote import DPWeVote, Parameters, reference_run


def test_the_baseline_has_no_reference_run() -> None:
    vote = DPWeVote(Parameters(candidates=("a",), variant="laplace"))
    inputs = vote.encode({"weight": [1], "a": [0]})
    with pytest.raises(ValueError, match="does not cover the variant 'laplace'"):
        reference_run(vote, inputs, noise=SimulatedNoise(1, session="s"))
