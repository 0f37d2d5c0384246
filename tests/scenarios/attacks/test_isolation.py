"""What a party loses that is counted alone: nothing to who sees reports, the crowd's shelter to everybody else."""

import math
from typing import Any

import numpy as np
import pytest
from helpers import make_fair_inputs, make_fair_vote, make_inputs, make_preference_inputs, make_preferences, make_vote
from psephos.protocol import ConfigurationError, Inputs, PhasedProtocol, SimulatedNoise
from psephos.protocol.fair_voting.kinds import MechanismName
from psephos.protocol.population import run_population
from psephos.scenarios.attacks import Coalition, find_attack, view_by_arrays
from psephos.scenarios.attacks.isolation import Isolation, evaluate_isolation
from thoroughness import draws

FAVORITE = "favorite"


def make_fair(mechanism: MechanismName) -> tuple[PhasedProtocol[Any, Any], Inputs]:
    vote = make_fair_vote(4, 2, mechanism=mechanism, epsilon=2.0)
    return vote, make_fair_inputs(vote)


def make_dpwevote() -> tuple[PhasedProtocol[Any, Any], Inputs]:
    vote = make_vote()
    return vote, make_inputs(vote, 5)


def make_moral() -> tuple[PhasedProtocol[Any, Any], Inputs]:
    protocol = make_preferences()
    return protocol, make_preference_inputs(protocol, 5)


@pytest.mark.parametrize("make", [make_dpwevote, make_moral, lambda: make_fair("laplace"), lambda: make_fair("local")])
@pytest.mark.parametrize("coalition", [Coalition((1, 3), has_server=False), Coalition((0,), has_server=True)], ids=str)
def test_where_everybody_is_counted_the_session_is_the_usual_one(make: Any, coalition: Coalition) -> None:
    protocol, inputs = make()
    noise = SimulatedNoise(1, session="s")
    usual = run_population(protocol, inputs, noise=noise)
    seen = view_by_arrays(protocol, inputs, noise=noise, coalition=coalition)
    assert seen.release == usual.outcome
    np.testing.assert_equal(seen.totals, tuple(tally.totals for tally in usual.tallies))


def test_a_report_is_the_same_whoever_else_is_counted() -> None:
    protocol, inputs = make_dpwevote()
    noise = SimulatedNoise(1, session="s")
    coalition = Coalition((3,), has_server=True)
    whole = view_by_arrays(protocol, inputs, noise=noise, coalition=coalition)
    alone = view_by_arrays(protocol, inputs, noise=noise, coalition=coalition, places=[2, 3])
    assert alone.num_parties == 2
    assert alone.coalition.members == (1,)
    for reports, all_reports in zip(alone.reports, whole.reports, strict=True):
        np.testing.assert_array_equal(reports, all_reports[[2, 3]])


@pytest.mark.parametrize("counted", [[], [0, 1]], ids=str)
def test_members_are_counted(counted: list[int]) -> None:
    protocol, inputs = make_dpwevote()
    with pytest.raises(ValueError, match="count at least one, and those of all members"):
        view_by_arrays(
            protocol,
            inputs,
            noise=SimulatedNoise(1, session="s"),
            coalition=Coalition((3,), has_server=False),
            places=counted,
        )


def isolated(
    protocol: PhasedProtocol[Any, Any],
    inputs: Inputs,
    *members: int,
    num_sessions: int,
    secret: str = "",
    target: int = 0,
    has_server: bool = False,
) -> Isolation:
    attack, who = find_attack(protocol), Coalition(members, has_server)
    secret = secret or attack.default_secret
    return evaluate_isolation(attack, inputs, target=target, coalition=who, secret=secret, num_sessions=num_sessions)


@pytest.mark.parametrize("mechanism", ["sampled_pair", "sampled_position"])
def test_without_the_server_a_coalition_gains_what_the_server_has(mechanism: MechanismName) -> None:
    found = isolated(*make_fair(mechanism), 2, 4, num_sessions=draws(6, full=20))
    assert found.after.information == pytest.approx(found.server.information)
    assert found.after.success == found.server.success
    assert found.after.greatest_log_odds_ratio == pytest.approx(found.server.greatest_log_odds_ratio)
    assert found.before.information < found.after.information
    assert found.after.greatest_log_odds_ratio <= found.epsilon * (1 + 1e-9)
    assert found.epsilon == pytest.approx(2.0)


def test_with_the_server_nothing_changes_in_the_local_model() -> None:
    found = isolated(*make_fair("whole_ranking"), target=1, has_server=True, secret=FAVORITE, num_sessions=20)
    assert found.before == found.after == found.server
    assert found.before.greatest_log_odds_ratio <= found.epsilon * (1 + 1e-9)
    assert found.epsilon == pytest.approx(2.0)


def test_a_partner_of_a_weighted_vote_is_sheltered_by_the_crowd_alone() -> None:
    found = isolated(*make_dpwevote(), 2, num_sessions=12)
    assert found.after.information == pytest.approx(found.server.information)
    assert found.before.information < found.after.information
    assert found.after.greatest_log_odds_ratio <= found.epsilon * (1 + 1e-9)


def test_noise_of_the_servers_own_protects_who_is_counted_alone() -> None:
    vote = make_fair("laplace")
    found = isolated(*vote, 1, secret=FAVORITE, num_sessions=20)
    assert found.before.information < found.after.information < found.server.information
    assert found.after.greatest_log_odds_ratio <= found.epsilon * (1 + 1e-9)
    assert (found.server.success, found.server.greatest_log_odds_ratio) == (1.0, math.inf)
    assert found.before.baseline == pytest.approx(1 / 3)
    assert isolated(*vote, has_server=True, secret=FAVORITE, num_sessions=2).epsilon == math.inf


def test_a_member_is_no_target() -> None:
    with pytest.raises(ConfigurationError, match="no member of the coalition"):
        isolated(*make_fair("laplace"), 0, num_sessions=1)
