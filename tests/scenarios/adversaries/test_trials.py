"""How good a coalition is on average: exact and tried agree, and a bound on the average holds."""

from collections.abc import Callable

import numpy as np
import pytest
from psephos.scenarios.adversaries import trials
from psephos.scenarios.adversaries.trials import try_coalition
from psephos.scenarios.attacks import Coalition, find_attack, success_bound
from psephos.scenarios.resolution import Resolved

Stage = Callable[..., Resolved]
SERVER = Coalition((), has_server=True)
WEIGHT, OPINIONS = "weight", "opinions"


def test_the_exact_success_is_that_of_ten_thousand_targets(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fixed seed: four standard errors, false alarm 6e-5 each."""
    scene = stage("dpwevote", transport="array").scene(seed=3)
    attack, targets = find_attack(scene.protocol), np.arange(4)
    prior = np.array([0.6, 0.3, 0.1])
    for votes in (1, 2):
        exact = try_coalition(scene, SERVER, attack, targets, secret=WEIGHT, prior=prior, votes=votes)
        assert (exact.num_targets, exact.success_error) == (0, 0.0)
        with monkeypatch.context() as patch:
            patch.setattr(trials, "session_channel", lambda *_args, **_keys: None)
            tried = try_coalition(scene, SERVER, attack, targets, secret=WEIGHT, prior=prior, votes=votes)
        assert tried.num_targets == 10_000
        assert tried.baseline == pytest.approx(exact.baseline) == 0.6
        assert abs(tried.success - exact.success) < 4 * tried.success_error + 1e-12
        assert tried.greatest_odds == pytest.approx(exact.greatest_odds)


def test_targets_of_unlike_public_weights_are_tried_together(stage: Stage) -> None:
    scene = stage("dpwevote", transport="array", settings=["public_weights=true"]).scene(seed=3)
    attack = find_attack(scene.protocol)
    assert len(np.unique(scene.inputs.public, axis=0)) > 1
    found = try_coalition(scene, SERVER, attack, np.arange(4), secret=OPINIONS)
    assert found.num_targets == 10_000
    epsilon = attack.loss(OPINIONS, scene.inputs.public, np.arange(4), SERVER)
    assert found.success == pytest.approx(success_bound(epsilon, [0.5]))  # one opinion by randomized response


def test_all_others_without_the_server_are_as_good_as_the_server(stage: Stage) -> None:
    scene = stage("dpwevote", transport="array").scene(seed=3)
    attack, target = find_attack(scene.protocol), np.array([1])
    others = Coalition((0, 2, 3), has_server=False)
    found = try_coalition(scene, others, attack, target, secret=WEIGHT, num_targets=20)
    exact = try_coalition(scene, SERVER, attack, target, secret=WEIGHT)
    assert found.num_targets == 20
    assert found.success == pytest.approx(exact.success)  # of k-RR the best guess is always equally sure


def test_tries_are_the_same_again_and_others_for_another_seed(stage: Stage) -> None:
    resolved = stage("dpwevote", transport="array")
    attack, few = find_attack(resolved.protocol), Coalition((0,), has_server=False)
    first, again, other = (
        try_coalition(resolved.scene(seed=seed), few, attack, np.array([1]), secret=WEIGHT, num_targets=10)
        for seed in (1, 1, 2)
    )
    assert first == again != other
