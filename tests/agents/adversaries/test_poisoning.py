"""A poisoner moves a count by 1/(p - q) and no more, and a report that nobody could draw is refused."""

import math

import pytest
from deviants import NAMES, meet
from psephos.agents.adversaries import Deviation, Poisoner
from psephos.protocol.dpwevote import DPWeVote, Outcome, Parameters
from psephos.transports import MemoryTransport

EPSILON = 1.5
PUBLIC = DPWeVote(Parameters(candidates=("bridge",), epsilon=EPSILON, public_weights=True))
ROWS = PUBLIC.encode({"weight": [1.0, 2.0, 3.0], "bridge": [0, 0, 0]})
GAIN = (math.exp(EPSILON) + 1) / (math.exp(EPSILON) - 1)
"""1/(p - q) of binary randomized response."""


def support_in(outcome: Outcome) -> float:
    (candidate,) = outcome.candidates
    assert candidate.support is not None
    return candidate.support.value


async def support(deviations: dict[str, Deviation], *, seed: int = 7) -> float:
    meeting = await meet(MemoryTransport(), deviations, protocol=PUBLIC, inputs=ROWS, seed=seed)
    return support_in(meeting.outcome)


async def test_one_report_moves_the_support_by_the_weight_over_p_minus_q() -> None:
    by_weight = zip(NAMES, (1.0, 2.0, 3.0), strict=True)
    for name, weight in by_weight:
        least, most = [await support({name: Poisoner({0: [report]})}) for report in (0, 1)]
        assert most - least == pytest.approx(weight * GAIN)
        assert least <= await support({}) <= most


@pytest.mark.parametrize("numbers", [[2], [-1], [0, 1], []])
async def test_a_report_that_nobody_could_draw_is_refused_and_the_others_vote(numbers: list[int]) -> None:
    meeting = await meet(MemoryTransport(), {"bob": Poisoner({0: numbers})}, protocol=PUBLIC, inputs=ROWS, quorum=2)
    assert meeting.outcome.num_partners == 2
    assert "is not what the phase declares" in str(meeting.endings["bob"])


async def test_phases_that_are_not_named_are_reported_as_they_were_drawn() -> None:
    assert await support({"bob": Poisoner({1: [1]})}) == await support({})


def test_what_is_reported_is_in_no_log() -> None:
    assert "4711" not in repr(Poisoner({0: [4711]}))
