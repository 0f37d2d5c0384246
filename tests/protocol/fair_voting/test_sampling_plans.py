"""Algorithm 2 to an ε that is to hold: what is chosen is proven, no more than is needed, and the same for everybody."""

import math
from typing import Any

import msgspec
import numpy as np
import pytest
from bad_input import refuses
from helpers import make_fair_vote
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.fair_voting import FairVoting, Parameters
from psephos.protocol.fair_voting.choices import SampledChoice
from psephos.protocol.fair_voting.sampling_plans import GREATEST_GAMMA, SamplingPlan
from thoroughness import draws

STEP = 1 / 4096
VOTES: list[dict[str, Any]] = [
    {},
    {"scale": "printed"},
    {"reading": "subsample"},
    {"objective": "welfare_constrained"},
    {"objective": "constrained", "max_disparity": 0.5, "scale": "printed"},
    {"scores": "plurality", "objective": "penalized"},
    {"num_samples": 3},
]


def proven(*sizes: int, epsilon: float = 1.0, **given: Any) -> FairVoting:
    """Return a vote by samples for which ε is proven, of groups of 100 and 60 unless they are given."""
    values: dict[str, Any] = {"mechanism": "sampling", "calibration": "proven", "epsilon": epsilon} | given
    return make_fair_vote(*(sizes or (100, 60)), **values)


def losses(vote: FairVoting) -> list[float]:
    return [vote.losses_of([group])[0].proven for group in range(len(vote.parameters.groups))]


def by_hand(parameters: Parameters, plan: SamplingPlan) -> FairVoting:
    """Return the same session with γ and n_s as they are given."""
    return FairVoting(
        msgspec.structs.replace(parameters, calibration="tight", gamma=plan.gamma, num_samples=plan.num_samples)
    )


@pytest.mark.few(most=2)
@pytest.mark.parametrize("given", VOTES, ids=repr)
@pytest.mark.parametrize("sizes", [(100, 60), (7, 3, 12)])
def test_what_is_chosen_is_proven_for_every_group_and_hardly_less(
    given: dict[str, Any], sizes: tuple[int, ...]
) -> None:
    """With one step of γ less it is not; and the mechanism is that of the same γ and n_s by hand."""
    vote = proven(*sizes, epsilon=1.2, **given)
    plan = vote.parameters.plan
    assert 0 < plan.gamma <= GREATEST_GAMMA
    assert max(losses(vote)) <= 1.2
    assert plan.num_samples == given.get("num_samples", plan.num_samples)
    assert vote.losses[0].proven == max(losses(vote))
    ours = by_hand(vote.parameters, plan)
    assert ours.disclosed.elects_by(SampledChoice) == vote.disclosed.elects_by(SampledChoice)
    assert max(losses(by_hand(vote.parameters, SamplingPlan(plan.gamma - STEP, plan.num_samples)))) > 1.2


def test_the_claim_is_the_papers_label_of_so_many_samples() -> None:
    """√((m/n_s)·ln(m/δ)); n_s of the label is as many again."""
    vote = proven(1000, 500, num_alternatives=4, epsilon=0.6)
    parameters = vote.parameters
    (loss,) = vote.losses
    assert loss.claimed == parameters.claimed == math.sqrt(4 / parameters.samples * math.log(4000))
    assert loss.proven <= 0.6
    assert math.ceil(4 / loss.claimed**2 * math.log(4000) - 1e-9) == parameters.samples
    label = msgspec.structs.replace(parameters, calibration="tight")
    assert label.claimed == 0.6
    assert FairVoting(label).losses[0].proven > 0.7  # .74: the label does not hold


@pytest.mark.parametrize("given", [{}, {"num_samples": 40}, {"reading": "subsample"}], ids=repr)
def test_the_least_epsilon_that_is_named_can_be_had_and_less_cannot(given: dict[str, Any]) -> None:
    with refuses("epsilon", 0.001, "smallest group of 60") as caught:
        proven(epsilon=0.001, **given)
    least = float(caught.value.allowed.removeprefix("at least ").partition(" ")[0])
    assert proven(epsilon=least, **given).parameters.plan.gamma <= GREATEST_GAMMA
    with pytest.raises(ConfigurationError):
        proven(epsilon=least - 1e-3, **given)


def test_what_serves_best_is_taken() -> None:
    """By the same prior drawn anew: no number of samples of a list has a winner of a ΔW that is clearly less.

    With 20,000 profiles means have an error of .004 at most, and 5 of them make a false alarm of 3e-6 for all.
    """
    vote = proven(300, 200, epsilon=1.0)
    chosen = mean_disparity(vote.parameters.plan)
    for number in (1, 4, 16, 64, 256, 1024)[:: draws(3, full=1)]:
        try:
            plan = proven(300, 200, epsilon=1.0, num_samples=number).parameters.plan
        except ConfigurationError:
            continue
        assert chosen <= mean_disparity(plan) + 0.02


def mean_disparity(plan: SamplingPlan) -> float:
    """Return the mean ΔW of the winner on three alternatives, utilities being uniform, by counts that are drawn."""
    generator = np.random.default_rng(5)
    shares = generator.random((20_000, 2, 3))
    counts = generator.binomial(plan.num_samples, shares * 2 / 3)
    winners = np.abs(counts[:, 0] - counts[:, 1]).argmin(axis=1)
    disparities = 2 * np.abs(shares[:, 0] - shares[:, 1])
    of_winners = np.take_along_axis(disparities, winners[:, None], axis=1)
    return float((1 - plan.gamma) * of_winners.mean() + plan.gamma * disparities.mean())
