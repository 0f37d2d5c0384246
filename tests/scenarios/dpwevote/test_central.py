"""A vote that trusts its server, as people see it: what variants, plans, power, attacks and poisoners say of it."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from bad_input import refuses
from calibration.dpwevote import CALIBRATION
from calibration.engine import hold
from makers import as_usual, vote_of
from psephos.protocol import SimulatedNoise, run_population
from psephos.protocol.dpwevote import DPWeVote, Parameters, make_central_offer, make_offers
from psephos.protocol.dpwevote.central import CentralVariant
from psephos.protocol.dpwevote.chances import chances_to_pass
from psephos.protocol.dpwevote.heavy_votes import HeavyVariant, HeavyVotes
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.mechanisms import VectorLaplace
from psephos.protocol.phases import InputBlock, Inputs
from psephos.protocol.privacy import TrustModel
from psephos.scenarios.attacks.coalition_view import Coalition, CoalitionView
from psephos.scenarios.attacks.extreme_reports import ExtremeReports
from psephos.scenarios.dpwevote.attack.inference import DPWeVoteAttack
from psephos.scenarios.dpwevote.power import measure_power, simulate_power
from psephos.scenarios.dpwevote.variants import VoteVariants
from psephos.scenarios.running.config import load_scenario
from psephos.scenarios.running.resolution import resolve, resolve_served
from thoroughness import draws
from vote_margins import margin_of

make_vote = as_usual(vote_of, candidates=("a", "b"), variant="central")


def noise_of(vote: DPWeVote) -> VectorLaplace:
    """Return what the server draws its noise by."""
    (phase,) = vote.phases
    assert isinstance(phase.tally_mechanism, VectorLaplace)
    return phase.tally_mechanism


def test_no_variant_that_trusts_nobody_is_as_precise_and_auto_trusts_nobody() -> None:
    """From five partners on at these prices; and nobody is offered more trust as `auto`."""
    for epsilon in (0.1, 1.0, 4.0):
        parameters = Parameters(candidates=("a",), epsilon=epsilon, variant="auto")
        central = make_central_offer(parameters)
        assert central.epsilon_total == epsilon
        for number in (5, 100):
            assert central.error(number) == central.error(1)
            assert all(central.error(number) < offer.error(number) for offer in make_offers(parameters))
        assert DPWeVote(parameters).model is TrustModel.LOCAL


@pytest.mark.parametrize("given", [{}, {"public_weights": True}, {"quota": 4.0}, {"quota_fraction": 1.0}])
def test_the_error_that_is_offered_is_the_one_that_is_released(given: dict[str, Any]) -> None:
    vote = make_vote(**given)
    inputs = vote.encode({"weight": [1, 3, 2], "a": [1, 0, 1], "b": [0, 0, 1]})
    outcome = run_population(vote, inputs, noise=SimulatedNoise(3, session="s")).outcome
    (stated,) = {margin_of(candidate).standard_error for candidate in outcome.candidates}
    assert stated == pytest.approx(math.sqrt(CentralVariant(vote.parameters).server_variance), rel=1e-12)


def test_variants_and_plans_have_a_row_for_the_trusted_server() -> None:
    for settings in ([], ["public_weights=true"]):
        table = VoteVariants(resolve_served(load_scenario("consortium", ["partners.count=40", *settings])), trials=0)
        assert table.names[-1] == "central"
        assert [table.model_of(name) for name in table.names].count(TrustModel.CENTRAL) == 1
        offers = table.offers()
        assert offers[-1].name == "central"
        assert table.best(offers).name != "central"
        assert table.best(offers[-1:]).name == "central"
        resolved = table.setup_with(offers[-1].settings)
        assert resolved.protocol.model is TrustModel.CENTRAL
        assert table.losses_of(offers[-1])[0].proven == pytest.approx(offers[-1].epsilon)


def test_power_in_the_release_is_that_of_the_exact_law() -> None:
    """Three partners of whom two toss coins: by the distribution function of the noise."""
    vote = make_vote(candidates=("a",), epsilon=1.0)
    weights = (1.0, 2.0, 3.0)
    trials = draws(full=40_000, quick=8_000)
    found = simulate_power(vote, weights, trials=trials, seed=3)
    scale, step = noise_of(vote).scale, 0.5
    decay = math.exp(-1 / scale)

    def passes(margin: float) -> float:
        steps = round(margin / step)  # P[noise ≥ −steps]
        return 1 - decay ** (steps + 1) / (1 + decay) if steps >= 0 else decay**-steps / (1 + decay)

    for place, weight in enumerate(weights):
        others = [own for number, own in enumerate(weights) if number != place]
        sums = [
            sum(sign * own / 2 for sign, own in zip(signs, others, strict=True))
            for signs in itertools.product((-1, 1), repeat=2)
        ]
        exact = math.fsum(passes(each + weight / 2) - passes(each - weight / 2) for each in sums) / 4
        assert abs(found[place].value - exact) < 5 * found[place].standard_error + 1e-3


def _seen(vote: DPWeVote, inputs: Inputs, members: tuple[int, ...]) -> CoalitionView:
    result = run_population(vote, inputs, noise=SimulatedNoise(3, session="s"))
    return CoalitionView(
        protocol=vote,
        rows=inputs.private[list(members)],
        coalition=Coalition(members=members, has_server=False),
        public=inputs.public,
        reports=(inputs.private,),
        told=(np.ones(len(inputs), dtype=np.bool_),),
        totals=tuple(tally.totals for tally in result.tallies),
    )


@pytest.mark.parametrize("public", [False, True])
def test_all_partners_but_one_have_the_posterior_that_the_noise_leaves(*, public: bool) -> None:
    vote = make_vote(public_weights=public)
    inputs = vote.encode({"weight": [1, 3, 2], "a": [1, 0, 1], "b": [0, 0, 1]})
    attack = DPWeVoteAttack(vote)
    candidates = attack.candidates(attack.default_secret)
    seen = _seen(vote, inputs, (0, 2))
    logs = attack.release_log_likelihoods(seen, np.array([1]), candidates)[0]
    (phase,) = vote.phases
    mine = phase.tally(inputs.private[[0, 2]], earlier=[], public=inputs.public[[0, 2]]).totals
    noisy = slice(2 if public else None)
    left = (seen.totals[0] - mine)[noisy]
    expected: list[float] = []
    for row in candidates.rows:
        own = phase.tally(row[None], earlier=[], public=inputs.public[1:2]).totals[noisy]
        expected.append(-float(np.abs(left - own).sum()) / noise_of(vote).scale)
    assert logs - logs.max() == pytest.approx(np.array(expected) - max(expected), abs=1e-9)
    assert logs.max() - logs.min() <= 2.0 + 1e-9
    with pytest.raises(ConfigurationError, match="of a trusted server"):
        attack.release_log_likelihoods(_seen(vote, inputs, (0,)), np.array([1]), candidates)


@pytest.mark.parametrize("public", [False, True])
def test_all_partners_but_one_learn_of_decisions_what_their_law_tells(*, public: bool) -> None:
    """By Bayes's rule from the law itself, over all that the last partner may hold; never beyond the proven loss."""
    vote = make_vote(public_weights=public, release="decision")
    inputs = vote.encode({"weight": [1, 3, 2], "a": [1, 0, 1], "b": [0, 0, 1]})
    attack = DPWeVoteAttack(vote)
    candidates = attack.candidates(attack.default_secret)
    logs = attack.release_log_likelihoods(_seen(vote, inputs, (0, 2)), np.array([1]), candidates)[0]
    (phase,) = vote.phases
    released = run_population(vote, inputs, noise=SimulatedNoise(3, session="s")).tallies[0].totals[:2]
    for row, log in zip(candidates.rows, logs.tolist(), strict=True):
        all_rows = np.stack([inputs.private[0], row, inputs.private[2]])
        tally = phase.tally(all_rows, earlier=[], public=inputs.public)
        ((mechanism, margins),) = phase.fixed_release(tally, 0).drawn
        law = [
            float(mechanism.log_likelihoods(np.array([[told]]), np.array([[margin]]))[0, 0])
            for told, margin in zip(released.tolist(), margins, strict=True)
        ]
        assert log == pytest.approx(math.fsum(law), abs=1e-12)
    assert logs.max() - logs.min() <= vote.losses[0].proven + 1e-9
    assert np.unique(logs.round(9)).size > 1


@pytest.mark.parametrize("noise_weight", [2.0, 0.0])
@pytest.mark.parametrize("target", [0, 1, 2])
def test_all_partners_but_one_do_not_know_what_came_of_heavy_opinions(noise_weight: float, target: int) -> None:
    """Their posterior is that of all reports that may have been drawn, also of their own; within the proven loss."""
    vote = make_vote(public_weights=True, noise_weight=noise_weight, epsilon=1.5)
    table = {"weight": [3, 1, 3], "a": [1, 0, 1], "b": [0, 0, 1]}
    inputs = vote.encode(table)
    attack = DPWeVoteAttack(vote)
    candidates = attack.candidates(attack.default_secret)
    members = tuple(place for place in range(3) if place != target)
    seen = _seen(vote, inputs, members)
    logs = attack.release_log_likelihoods(seen, np.array([target]), candidates)[0]
    (phase,) = vote.phases
    assert isinstance(phase, HeavyVotes)
    keep, noise = phase.sums.response.keep_probability, phase.of_nobody.noise
    heavy = [place for place, weight in enumerate(table["weight"]) if weight > noise_weight]
    for row, log in zip(candidates.rows, logs.tolist(), strict=True):
        held = inputs.private.copy()
        held[target] = row
        expected = 0.0
        for candidate, told in enumerate(seen.totals[0][:2].tolist()):
            law = 0.0
            for reported in itertools.product((0, 1), repeat=len(heavy)):
                shown = held[:, candidate].copy()
                shown[heavy] = reported
                chance = math.prod(keep if shown[each] == held[each, candidate] else 1 - keep for each in heavy)
                total = sum(phase.sums.margins[inputs.public[:, 1], shown].tolist())
                law += chance * (noise.noise_probability(told - total) if noise else told == total)
            expected += math.log(law)
        assert log == pytest.approx(expected, abs=1e-9)
    (loss,) = vote.losses_of(inputs.public[target].tolist())
    assert logs.max() - logs.min() <= loss.proven + 1e-9
    assert np.unique(logs.round(9)).size > 1


def test_power_of_heavy_partners_is_that_of_the_exact_law() -> None:
    """By `chances_to_pass` over all opinions of the others, each tossing a coin."""
    weights = (1.0, 1.0, 2.0, 6.0)
    given: dict[str, Any] = {"weights": (1.0, 2.0, 6.0), "public_weights": True, "noise_weight": 2.0, "epsilon": 2.0}
    vote = make_vote(candidates=("a",), **given)
    trials = draws(full=40_000, quick=8_000)
    power = simulate_power(vote, weights, trials=trials, seed=3)
    truths = np.array(list(itertools.product((0, 1), repeat=4)), dtype=np.int64)
    public = vote.encode({"weight": weights, "a": [0] * 4}).public
    chances = chances_to_pass(vote, InputBlock(truths[:, :, None], public))
    assert chances is not None
    for place, found in enumerate(power):
        is_yes = truths[:, place] == 1
        exact = float(chances[is_yes].mean() - chances[~is_yes].mean())
        assert abs(found.value - exact) < 5 * found.standard_error  # false alarm: 6e-7 each


def test_variants_offer_what_heavy_partners_spare_everybody() -> None:
    """At a high price no more error than `joint`, and more right decisions than noise for all."""
    settings = ["public_weights=true", "weights=[1, 20]", "partners.weight_shares=[0.97, 0.03]", "epsilon=4"]
    table = VoteVariants(resolve_served(load_scenario("consortium", ["partners.count=100", *settings])), trials=0)
    joint, _, central = table.offers()
    assert (joint.name, central.name) == ("joint", "central")
    resolved = table.setup_with(central.settings)
    parameters = resolved.protocol.parameters
    assert parameters.noise_weight == 1.0
    numbers = np.bincount(resolved.inputs.public[:, 1]).tolist()
    variant = HeavyVariant(parameters)
    assert central.error.value == pytest.approx(math.sqrt(variant.server_variance_of(numbers)))
    assert central.error.value < joint.error.value
    chances = [float(offer.cells["Right decisions"].removesuffix(" %")) for offer in (joint, central)]
    assert chances[1] >= chances[0]
    (many,) = [offer for offer in table.with_people(10_000).offers() if offer.name == "central"]
    assert many.error.value == pytest.approx(math.sqrt(2) * 20 / 4, rel=0.05)  # noise for all, of so many


def test_extreme_reports_turn_decisions_and_power_is_told_of_margins_alone() -> None:
    vote = make_vote(release="decision", epsilon=8.0)
    inputs = vote.encode({"weight": [1, 3, 2], "a": [1, 0, 1], "b": [0, 0, 1]})
    session = ExtremeReports(vote, inputs, SimulatedNoise(3, session="s"), "b")
    assert session.spread(np.array([1])) == 1
    assert {own.value for own in session.estimates().values()} <= {0.0, 1.0}
    side = resolve(load_scenario("trusted-count", ["release=decision"]))
    with refuses("release"):
        measure_power(side, trials=10, seed=1)


@pytest.mark.parametrize("public", [False, True])
def test_a_poisoner_can_but_lie_about_its_weight_and_its_opinion(*, public: bool) -> None:
    """The server refuses all else: the greatest shift is the weight that it claims, by both ends."""
    vote = make_vote(public_weights=public)
    inputs = vote.encode({"weight": [1, 3, 2], "a": [1, 0, 1], "b": [0, 0, 1]})
    session = ExtremeReports(vote, inputs, SimulatedNoise(3, session="s"), "a")
    assert session.spread(np.array([1])) == pytest.approx(3.0)
    outcome = run_population(vote, inputs, noise=SimulatedNoise(3, session="s")).outcome
    assert session.estimates()["a"] == outcome.candidates[0].margin


STATEMENTS = {statement.name: statement for statement in CALIBRATION.statements()}


@pytest.mark.parametrize("epsilon", [0.1, 0.5])
@pytest.mark.parametrize("variant", ["central", "public central", "public central, heavy"])
def test_a_verdict_of_a_trusted_server_is_wrong_as_often_as_its_level_near_a_tie(variant: str, epsilon: float) -> None:
    """By the noise's exact law: not more often (Clopper and Pearson, 99 %), and of a tie in fact so often."""
    case = {
        "variant": variant, "epsilon": epsilon, "level": 0.2, "partners": 31, "weights": "even", "light": 3, "heavy": 0,
        "ratio": 2, "held": "all kinds", "yes": "light ones", "quota": "more than half", "wrong": "passes",
        "candidates": 1,
    }  # fmt: skip
    sessions = draws(full=4_000, quick=150)
    cell = hold("dpwevote", STATEMENTS[f"verdict: {variant}"], case, sessions, np.random.default_rng(7))
    assert cell is not None
    assert cell.holds
    assert cell.found > 0.1
