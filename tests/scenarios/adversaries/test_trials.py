"""How good a coalition is on average: exact and tried agree, and a bound on the average holds."""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import pytest
from psephos.protocol import SimulatedNoise
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.scenarios.adversaries import AttackContext, trials
from psephos.scenarios.adversaries.trials import try_coalition
from psephos.scenarios.attacks import Coalition, find_attack, success_bound
from psephos.scenarios.running.resolution import Local

Configuration = Callable[..., Local]
SERVER = Coalition((), has_server=True)
WEIGHT, OPINIONS = "weight", "opinions"


def without_a_list(*_words: object, **_options: object) -> None:
    """Stand in for `session_channel` where reports cannot be listed."""


def test_the_exact_success_is_that_of_ten_thousand_targets(
    configuration: Configuration, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fixed seed: four standard errors, false alarm 6e-5 each."""
    context = configuration("dpwevote", transport="array").context(seed=3)
    attack, targets = find_attack(context.protocol), np.arange(4)
    prior = np.array([0.6, 0.3, 0.1])
    for votes in (1, 2):
        exact = try_coalition(context, SERVER, attack, targets, secret=WEIGHT, prior=prior, votes=votes)
        assert (exact.num_targets, exact.success_error) == (0, 0.0)
        with monkeypatch.context() as patch:
            patch.setattr(trials, "session_channel", without_a_list)
            tried = try_coalition(context, SERVER, attack, targets, secret=WEIGHT, prior=prior, votes=votes)
        assert tried.num_targets == 10_000
        assert tried.baseline == pytest.approx(exact.baseline) == 0.6
        assert abs(tried.success - exact.success) < 4 * tried.success_error + 1e-12
        assert tried.greatest_log_odds_ratio == pytest.approx(exact.greatest_log_odds_ratio)


def test_targets_of_unlike_public_weights_are_tried_together(configuration: Configuration) -> None:
    context = configuration("dpwevote", transport="array", settings=["public_weights=true"]).context(seed=3)
    attack = find_attack(context.protocol)
    assert len(np.unique(context.inputs.public, axis=0)) > 1
    found = try_coalition(context, SERVER, attack, np.arange(4), secret=OPINIONS)
    assert found.num_targets == 10_000
    epsilon = attack.loss(OPINIONS, context.inputs.public, np.arange(4), SERVER)
    assert found.success == pytest.approx(success_bound(epsilon, [0.5]))  # one opinion by randomized response


def test_all_others_without_the_server_are_as_good_as_the_server(configuration: Configuration) -> None:
    context = configuration("dpwevote", transport="array").context(seed=3)
    attack, target = find_attack(context.protocol), np.array([1])
    others = Coalition((0, 2, 3), has_server=False)
    found = try_coalition(context, others, attack, target, secret=WEIGHT, num_targets=20)
    exact = try_coalition(context, SERVER, attack, target, secret=WEIGHT)
    assert found.num_targets == 20
    assert found.success == pytest.approx(exact.success)  # of k-RR the best guess is always equally sure


def test_tries_are_the_same_again_and_others_for_another_seed(configuration: Configuration) -> None:
    resolved = configuration("dpwevote", transport="array")
    attack, few = find_attack(resolved.protocol), Coalition((0,), has_server=False)
    first, again, other = (
        try_coalition(resolved.context(seed=seed), few, attack, np.array([1]), secret=WEIGHT, num_targets=10)
        for seed in (1, 1, 2)
    )
    assert first == again != other


def test_what_is_said_with_a_prior_is_true_of_several_targets() -> None:
    """The others are not drawn from the target's prior: its likelihoods take them for anybody. Five standard errors."""
    vote = DPWeVote(Parameters(candidates=("a",), weights=(1, 2), variant="two_point", epsilon=6.0))
    numbers = np.arange(9)
    names = [f"partner-{number}" for number in numbers]
    context = AttackContext(vote, names, vote.encode({"weight": 1 + numbers % 2, "a": numbers % 2}), "vote", seed=3)
    attack, few = find_attack(vote), Coalition((0,), has_server=False)
    prior, secret = np.array([0.02, 0.02, 0.02, 0.94]), attack.secrets[0]
    each, one = (
        try_coalition(context, few, attack, targets, secret=secret, prior=prior)
        for targets in (numbers[1:], numbers[1:2])
    )
    assert abs(each.success - one.success) < 5 * math.hypot(each.success_error, one.success_error)
    assert each.success < 0.95  # where all targets are drawn from it, their votes seem to say more: 0.977


def test_the_error_of_targets_that_share_what_is_published_is_that_of_sessions(configuration: Configuration) -> None:
    context = configuration("dpwevote", transport="array", settings=["partners.count=10"]).context(seed=3)
    attack, few = find_attack(context.protocol), Coalition((0,), has_server=False)
    each, one = (
        try_coalition(context, few, attack, targets, secret=OPINIONS, num_targets=number)
        for targets, number in ((np.arange(1, 10), 900), (np.array([1]), 100))
    )
    # Of equal priors all targets have the same posterior: nine of them say what one says.
    assert each.num_targets == 9 * one.num_targets
    assert each.success_error == pytest.approx(one.success_error, rel=0.5)


def test_over_several_votes_right_guesses_are_counted(configuration: Configuration) -> None:
    """What a coalition says of its own chances may be false: the others' inputs are the same in all votes."""
    context = configuration("dpwevote", transport="array").context(seed=3)
    attack, few = find_attack(context.protocol), Coalition((0,), has_server=False)
    found = try_coalition(context, few, attack, np.array([1]), secret=WEIGHT, votes=3, num_targets=40)
    assert found.success * 40 == pytest.approx(round(found.success * 40))


@pytest.mark.parametrize("votes", [1, 2, 3])
@pytest.mark.parametrize("coalition", [SERVER, Coalition((0,), has_server=False)], ids=["server", "party"])
def test_synthetic_targets_have_noise_of_their_own_in_each_session(
    coalition: Coalition, votes: int, configuration: Configuration, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not that of a session that the coalition has seen, nor that of another made-up one: they would not be apart."""
    asked: list[int] = []

    class Watched(AttackContext):
        def noise(self, *, rerun: int = 0) -> SimulatedNoise:
            asked.append(rerun)
            return super().noise(rerun=rerun)

    monkeypatch.setattr(trials, "session_channel", without_a_list)
    plain = configuration("dpwevote", transport="array").context(seed=3)
    context = Watched(**{field.name: getattr(plain, field.name) for field in dataclasses.fields(plain)})
    num_targets = 5
    try_coalition(
        context,
        coalition,
        find_attack(context.protocol),
        np.array([1]),
        secret=WEIGHT,
        votes=votes,
        num_targets=num_targets,
    )
    assert asked.pop(0) == 0  # by another stream, of secrets
    sessions = votes if coalition.has_server else votes * num_targets
    assert len(asked) == len({*asked}) == sessions
    assert min(asked) >= votes
