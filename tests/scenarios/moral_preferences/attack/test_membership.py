"""Repeated releases: success grows with what the ledger adds up, and never beyond it."""

import math
from itertools import pairwise

import numpy as np
import pytest
from psephos.protocol import ConfigurationError
from psephos.protocol.arrays import IntArray
from psephos.protocol.moral_preferences import MoralPreferences, Paradigm, Parameters
from psephos.scenarios.moral_preferences.attack.membership import mechanism_faced, repeat_releases

NUM_ROUNDS = 4_000
TOLERANCE = 4 / math.sqrt(4 * NUM_ROUNDS)  # four standard errors of a share: false alarms below 1e-4


def survey(paradigm: Paradigm = Paradigm.VLCP, *, epsilon: float = 1.0) -> MoralPreferences:
    return MoralPreferences(Parameters(features=("a", "b", "c"), paradigm=paradigm, max_records=1, epsilon=epsilon))


def far_apart(protocol: MoralPreferences) -> IntArray:
    """Return the two vertices of the ball that differ most: 2B in one number."""
    bound = protocol.summary.bound
    return np.array([[bound, 0, 0], [-bound, 0, 0]], dtype=np.int64)


@pytest.mark.parametrize("paradigm", [Paradigm.VLCP, Paradigm.VLDP])
def test_success_grows_with_releases_up_to_what_their_losses_allow(paradigm: Paradigm) -> None:
    protocol = survey(paradigm, epsilon=1.0)
    found = repeat_releases(protocol, far_apart(protocol), num_releases=(1, 2, 4, 16), num_rounds=NUM_ROUNDS, seed=1)
    assert [after.epsilon for after in found] == pytest.approx([1, 2, 4, 16], rel=1e-4)
    # One Laplace draw is told right unless it is more than half of the way off, on one side.
    assert found[0].success == pytest.approx(1 - math.exp(-1 / 2) / 2, abs=TOLERANCE)
    for after in found:
        assert after.success <= after.success_bound + TOLERANCE
        assert after.success_bound == pytest.approx(1 / (1 + math.exp(-after.epsilon)))
        assert after.error == pytest.approx(after.expected_error, rel=0.1)
        assert after.expected_error == pytest.approx(4 * math.sqrt(2 / after.num_releases), rel=1e-3)
    for before, after in pairwise(found):
        assert before.success < after.success
    assert found[-1].success > 0.93


def test_a_suspect_like_the_population_is_hard_to_tell() -> None:
    protocol = survey(epsilon=1.0)
    apart, near = far_apart(protocol), far_apart(protocol) // 10
    few = {
        name: repeat_releases(protocol, rows, num_releases=(4,), num_rounds=NUM_ROUNDS, seed=2)[0].success
        for name, rows in (("apart", apart), ("near", near))
    }
    assert few["near"] < few["apart"] - 0.1


def test_what_cannot_be_repeated_is_refused() -> None:
    protocol = survey()
    functional = MoralPreferences(Parameters(features=("a",), paradigm=Paradigm.RLDP, mechanism="functional"))
    with pytest.raises(ConfigurationError, match="one with additive noise"):
        mechanism_faced(functional)
    for rows, rounds, releases in ((1, 1, (1,)), (2, 0, (1,)), (2, 1, ()), (2, 1, (0, 1))):
        with pytest.raises(ValueError, match="use a line-up of two rows"):
            repeat_releases(protocol, far_apart(protocol)[:rows], num_releases=releases, num_rounds=rounds, seed=1)
