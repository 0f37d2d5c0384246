"""Posterior attacks on masked sums: a coalition of the server and parties that takes off all that it knows.

It holds the released sum, the colluders' rows with their shares and, at worst, the values of all others but one. What
is left is that one's row with the noise of H honest shares. At H = h what it learns is within the proven loss, and at
H < h beyond it, by as much as S1 says, and no more.
"""

import functools
import math

import numpy as np
import pytest
from psephos.protocol import SimulatedNoise
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.elementary import exp
from psephos.protocol.mechanisms import share_log_law
from psephos.protocol.mechanisms.polya import share_masses
from psephos.protocol.phases import Inputs, MaskedPhase
from psephos.protocol.population import draw_reports
from thoroughness import draws

PARTNERS, THRESHOLD, COLLUDERS = 8, 7, 2
HONEST = THRESHOLD - COLLUDERS
SESSIONS = draws(400, full=4_000)
EPSILON = 1.0


@functools.cache
def vote() -> tuple[DPWeVote, MaskedPhase]:
    made = DPWeVote(
        Parameters(candidates=("x",), variant="masked", threshold=THRESHOLD, colluders=COLLUDERS, epsilon=EPSILON)
    )
    (phase,) = made.phases
    assert isinstance(phase, MaskedPhase)
    return made, phase


@functools.cache
def rolls(opinion: int) -> Inputs:
    """Return the rows of all: the first partner, who weighs most, is the target."""
    return vote()[0].encode({"weight": [3, 1, 2, 3, 1, 2, 1, 3], "x": [opinion, 1, 0, 1, 1, 0, 0, 1]})


def what_is_left(opinion: int, honest: int, session: int) -> IntArray:
    """Return the target's row under the noise of so many honest shares: the last of the survivors collude."""
    protocol, phase = vote()
    inputs = rolls(opinion)
    noise = SimulatedNoise(session, session="posteriors")
    drawn = draw_reports(phase, inputs, noise=noise, protocol=protocol.name, start=0)
    released = phase.tally(drawn[:THRESHOLD], earlier=[], public=inputs.public[:THRESHOLD]).totals
    known = inputs.private[1:honest, phase.columns].sum(axis=0)
    return released - drawn[honest:THRESHOLD].sum(axis=0) - known


def log_odds(left: IntArray, honest: int) -> float:
    """Return ln of the odds of a yes, from even ones."""
    _, phase = vote()
    logs = share_log_law(scale=phase.share.scale, planned=HONEST, num_shares=honest)
    no, yes = (
        logs[np.minimum(np.abs(left - rolls(opinion).private[0, phase.columns]), len(logs) - 1)].sum()
        for opinion in range(2)
    )
    return float(yes - no)


@functools.cache
def attacked(honest: int) -> tuple[FloatArray, float]:
    """Return the log-odds of many sessions with so many honest shares, and the share of right guesses."""
    truths: list[int] = np.random.default_rng(honest).integers(0, 2, SESSIONS).tolist()
    odds = np.array([log_odds(what_is_left(truth, honest, number), honest) for number, truth in enumerate(truths)])
    right = sum((own > 0) == bool(truth) for own, truth in zip(odds.tolist(), truths, strict=True))
    return odds, right / SESSIONS


def chance(honest: int) -> float:
    """Return how often the best guess is right, exactly: an opinion moves one number by the sensitivity."""
    _, phase = vote()
    side = share_masses(scale=phase.share.scale, planned=HONEST, num_shares=honest)
    law = np.pad(np.concatenate([side[:0:-1], side]), phase.share.sensitivity)
    return float(np.maximum(law[phase.share.sensitivity :], law[: -phase.share.sensitivity]).sum()) / 2


@pytest.mark.parametrize("honest", [HONEST, HONEST - 1, 3, 2, 1])
def test_a_posterior_moves_by_no_more_than_is_proven_of_so_many_honest_shares_and_by_as_much(honest: int) -> None:
    _, phase = vote()
    proven = phase.share.privacy(1, honest=honest)
    assert (proven > EPSILON) is (honest < HONEST)
    odds, _ = attacked(honest)
    most = float(np.abs(odds).max())
    assert most <= proven + 1e-9
    assert most == pytest.approx(proven, abs=1e-6)


def test_with_as_many_honest_shares_as_planned_it_stays_within_what_is_charged() -> None:
    protocol, _ = vote()
    (loss,) = protocol.losses
    odds, _ = attacked(HONEST)
    assert np.abs(odds).max() <= loss.proven * (1 + 1e-12)


@pytest.mark.parametrize("honest", [HONEST, 1])
def test_guesses_are_right_as_often_as_the_law_of_so_many_shares_says(honest: int) -> None:
    """Within five standard errors: a false alarm has probability 6e-7."""
    _, right = attacked(honest)
    expected = chance(honest)
    assert abs(right - expected) <= 5 * math.sqrt(expected * (1 - expected) / SESSIONS)


def test_colluders_beyond_c_guess_better_than_the_proven_loss_allows() -> None:
    allowed = exp(EPSILON) / (1 + exp(EPSILON))
    assert chance(HONEST) <= allowed
    assert chance(1) > allowed
