"""Deadlines and quorums."""

import math

import pytest
from bad_input import refuses
from helpers import make_vote
from masked_sums import make_session
from psephos.protocol import JOIN, ConfigurationError, PhaseRules, SessionRules
from psephos.protocol.phases import MaskedPhase
from psephos.protocol.rules import Wait


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan])
def test_a_deadline_must_be_positive(seconds: float) -> None:
    with refuses("deadline_seconds"):
        PhaseRules(deadline_seconds=seconds)


@pytest.mark.parametrize("quorum", [0, -1, 0.0, -0.5, 1.0000001, 2.0, math.nan, math.inf])
def test_a_quorum_must_be_a_number_or_a_share(quorum: float) -> None:
    with refuses("quorum"):
        PhaseRules(quorum=quorum)


@pytest.mark.parametrize(
    ("quorum", "num_parties", "required"),
    [
        (1.0, 1, 1),
        (1.0, 100_000, 100_000),
        (1, 5, 1),
        (5, 5, 5),
        (0.6, 5, 3),  # 0.6 * 5 is 3.0000000000000004 in floating point
        (0.5, 5, 3),
        (0.5, 4, 2),
        (0.1, 30, 3),  # 0.1 * 30 is 3.0000000000000004 too
        (2 / 3, 3, 2),
        (0.50001, 4, 3),
        (1e-12, 5, 1),
    ],
)
def test_a_quorum_is_rounded_up(quorum: float, num_parties: int, required: int) -> None:
    assert PhaseRules(quorum=quorum).num_required(num_parties) == required


def test_a_quorum_above_the_roster_is_refused() -> None:
    with pytest.raises(ConfigurationError) as caught:
        PhaseRules(quorum=4).num_required(3)
    assert (caught.value.field, caught.value.value, caught.value.allowed) == ("quorum", 4, "at most the 3 parties")


def test_a_phase_that_is_not_named_has_the_sessions_rules() -> None:
    of_weights = PhaseRules(deadline_seconds=7.0)
    rules = SessionRules(deadline_seconds=9.0, quorum=0.5, phases={"weights": of_weights})
    assert rules.phase_rules("weights") == of_weights
    assert (rules.phase_rules("opinions").deadline_seconds, rules.phase_rules("opinions").quorum) == (9.0, 0.5)
    assert rules.waits_of(make_vote(), num_parties=5) == (
        Wait(JOIN, 9.0, 3, is_hidden=False),
        Wait("weights", 7.0, 5, is_hidden=False),
        Wait("opinions", 9.0, 3, is_hidden=False),
    )


@pytest.mark.parametrize("quorum", [1, 0.01, None])
def test_no_masked_step_has_a_quorum_below_the_threshold_but_for_disputes(quorum: float | None) -> None:
    """Nobody is to answer where nothing can open."""
    protocol = make_session(4).protocol
    (phase,) = protocol.phases
    assert isinstance(phase, MaskedPhase)
    waits = SessionRules(quorum=quorum).waits_of(protocol, num_parties=4)
    in_dispute = {step.name for step in phase.steps if step.is_in_dispute}
    assert {wait.name for wait in waits if wait.quorum < phase.threshold} == in_dispute
