"""How sure a winner is, of every mechanism and objective: what is told, and what it is told from."""

import math
from typing import Any

import numpy as np
import pytest
from helpers import make_fair_inputs, make_fair_vote
from psephos.protocol import SimulatedNoise, run_population
from psephos.protocol.fair_voting import Assurance, FairVoting, Outcome, Rankings
from psephos.protocol.fair_voting.kinds import MechanismName
from psephos.protocol.phases import Inputs
from thoroughness import draws

ALONE: tuple[MechanismName, ...] = ("sampling", "exponential", "permute_and_flip")
ESTIMATES: tuple[MechanismName, ...] = (
    "laplace",
    "sampled_pair",
    "sampled_position",
    "whole_ranking",
    "noisy_scores",
)


def make(mechanism: MechanismName, *sizes: int, **given: Any) -> FairVoting:
    given = {"epsilon": 2.0, **({"num_samples": 50} if mechanism == "sampling" else {}), **given}
    return make_fair_vote(*(sizes or (60, 30)), mechanism=mechanism, **given)


def outcome_of(vote: FairVoting, inputs: Inputs | None = None, *, seed: int = 1) -> Outcome:
    given = make_fair_inputs(vote, seed=seed) if inputs is None else inputs
    return run_population(vote, given, noise=SimulatedNoise(seed, session="s")).outcome


def unanimous(vote: FairVoting) -> Inputs:
    """Return voters of whom the groups' disagree about all but the first alternative."""
    north, south = vote.parameters.group_sizes
    size = len(vote.parameters.alternatives)
    positions = np.array([list(range(size))] * north + [[0, *range(size - 1, 0, -1)]] * south, dtype=np.int64)
    groups = np.repeat([0, 1], [north, south])
    return vote.encode({"group": groups, "ranking": Rankings(positions)})


@pytest.mark.parametrize("objective", ["parity", "constrained", "penalized"])
@pytest.mark.parametrize("mechanism", [*ALONE, *ESTIMATES])
def test_every_winner_of_estimates_has_a_probability_with_its_prior(mechanism: MechanismName, objective: str) -> None:
    vote = make(mechanism, objective=objective, max_disparity=0.5)
    told = outcome_of(vote).assurance
    assert told.level == 0.05
    if mechanism in ALONE:
        assert (told.probability, told.prior, told.verdict, told.p_value) == (None, None, None, None)
        assert told == outcome_of(vote, seed=2).assurance  # it depends on no ranking
        return
    assert told.probability is not None
    assert 0 < told.probability <= 1
    with_differences = objective == "parity" and mechanism in {"laplace", "sampled_position", "noisy_scores"}
    assert told.prior == ("uniform differences" if with_differences else "uniform utilities")
    assert told.p_value is not None
    assert told.verdict == ("confirmed" if told.p_value <= 0.05 else "too close to tell")
    assert told.shortfall is None


@pytest.mark.parametrize("mechanism", ESTIMATES)
def test_a_clear_winner_is_confirmed_and_one_of_noise_is_not(mechanism: MechanismName) -> None:
    vote = make(mechanism, 2000, 2000, epsilon=4.0, objective="penalized")
    told = outcome_of(vote, unanimous(vote)).assurance
    assert told.verdict == "confirmed"
    assert told.probability is not None
    assert told.probability > 0.95
    vote = make(mechanism, 40, 30, epsilon=0.05, objective="penalized")
    told = outcome_of(vote).assurance
    assert told.verdict == "too close to tell"
    assert told.probability is not None
    assert told.probability < 0.6


@pytest.mark.parametrize("mechanism", ESTIMATES)
def test_few_reports_of_which_hardly_any_lies_have_no_probability(mechanism: MechanismName) -> None:
    """One voter lies in 1.8 % of votes at ε = 4; of normal noise of that variance it would be wrong in 0.05 %."""
    vote = make(mechanism, 1, 1, epsilon=4.0, objective="parity", num_alternatives=4)
    told = outcome_of(vote).assurance
    assert told.p_value is not None
    is_known = mechanism in {"laplace", "noisy_scores"}  # one draw each
    assert (told.probability is not None, told.prior is not None) == (is_known, is_known)


def test_a_level_of_ones_own_decides_the_verdict_and_the_shortfall() -> None:
    strict, loose = (make("laplace", level=level) for level in (0.001, 0.4))
    for seed in range(20):
        one, other = (outcome_of(vote, seed=seed).assurance for vote in (strict, loose))
        assert one.p_value == other.p_value
        assert one.p_value is not None
        assert (one.verdict == "confirmed") == (one.p_value <= 0.001)
        assert (other.verdict == "confirmed") == (one.p_value <= 0.4)
    shortfalls = [
        outcome_of(make("exponential", 300, 300, level=level)).assurance.shortfall for level in (0.01, 0.05, 0.2)
    ]
    assert all(shortfall is not None for shortfall in shortfalls)
    assert sorted(shortfalls, key=lambda shortfall: -(shortfall or 0.0)) == shortfalls


def test_the_shortfall_of_a_choice_by_hand() -> None:
    """Two groups of 100, 3 alternatives, Borda: Δ = 2/100, so x = ln(2·19)·2Δ/ε; a flip's m = 3, e^(−x) = q."""
    told = outcome_of(make("exponential", 100, 100)).assurance
    assert told.shortfall == pytest.approx(math.log(38) * 2 * 0.02 / 2.0, rel=1e-12)
    told = outcome_of(make("permute_and_flip", 100, 100)).assurance
    assert told.shortfall is not None
    q = math.exp(-told.shortfall * 2.0 / 0.04)
    assert 1 - (1 - (1 - q) ** 3) / (3 * q) == pytest.approx(0.05, rel=1e-9)


def test_a_shortfall_beyond_what_is_possible_is_none() -> None:
    assert outcome_of(make("exponential", 6, 6, epsilon=0.1)).assurance.shortfall is None
    assert outcome_of(make("sampling")).assurance.shortfall is None


@pytest.mark.unmeasured
@pytest.mark.parametrize("objective", ["parity", "penalized"])
@pytest.mark.parametrize("mechanism", ["exponential", "permute_and_flip"])
def test_winners_lack_more_no_more_often_than_their_level(mechanism: MechanismName, objective: str) -> None:
    """The exact law, over random profiles: that of the worst ones is worked out in the mechanisms' own tests."""
    vote = make(mechanism, 40, 25, objective=objective, epsilon=3.0)
    choice: Any = vote.disclosed_phase.choice
    shortfall = outcome_of(vote).assurance.shortfall
    assert shortfall is not None
    generator = np.random.default_rng(4)
    for _ in range(draws(50, full=300)):
        sums = vote.disclosed_phase.sums_of(
            np.array([generator.permutation(3) for _ in range(65)]), np.repeat([0, 1], [40, 25])
        )
        flat: list[int] = sums.reshape(-1).tolist()
        qualities = [float(quality) * choice.scoring.step for quality in choice.qualities(flat)]
        law = choice.probabilities(flat)
        lacking = [chance for chance, own in zip(law, qualities, strict=True) if max(qualities) - own >= shortfall]
        assert math.fsum(lacking) <= 0.05


def test_a_group_without_a_report_leaves_nothing_known() -> None:
    vote = make("sampled_pair", 20, 10)
    inputs = make_fair_inputs(vote)
    kept = inputs.public[:, 0] == 0
    phase = vote.phase
    positions, public = inputs.private[kept], inputs.public[kept]
    drawn = phase.mechanism.randomize_rows(
        positions, np.random.default_rng(1).random((len(positions), phase.mechanism.slots_of(3)))
    )
    told = vote.outcome([phase.tally(drawn, earlier=[], public=public)]).assurance
    assert told == Assurance(
        probability=1 / 3,
        prior="uniform utilities",
        verdict="too close to tell",
        level=0.05,
        p_value=0.5,
        shortfall=None,
    )
