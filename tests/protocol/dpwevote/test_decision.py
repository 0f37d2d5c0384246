"""Votes of which a trusted server tells the decisions alone: laws over all partners, quotas and prices."""

import functools
import itertools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from bad_input import refuses
from psephos.protocol import SimulatedNoise, Tally, run_population
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.dpwevote.central import CentralVariant
from psephos.protocol.dpwevote.decision import DecisionVariant, DecisionVotes
from psephos.protocol.estimators import Verdict
from psephos.protocol.mechanisms import ThresholdDecision, VectorLaplace
from psephos.protocol.privacy import NeighboringRelation, TrustModel
from psephos.protocol.tally import TallyBlock

QUOTAS: list[dict[str, Any]] = [
    {},
    {"passes": "more_than"},
    {"quota_fraction": 2 / 3},
    {"quota_fraction": 1.0},
    {"quota": 2.5},
    {"quota": 4.0, "passes": "more_than"},
]
every_quota = pytest.mark.parametrize("quota", QUOTAS)
WORDS = ["fails", "undecided, leaning no", "undecided, leaning yes", "passes"]


PAGE = Path(__file__).parents[3] / "docs" / "dpwevote.md"
ROWS = ("| by the noisy margin |", "| the decision alone |")


def make_vote(*, number: int = 1, release: Any = "decision", **given: Any) -> DPWeVote:
    candidates = tuple(f"c{place}" for place in range(number))
    return DPWeVote(Parameters(candidates=candidates, variant="central", release=release, **given))


def phase_of(vote: DPWeVote) -> DecisionVotes:
    (phase,) = vote.phases
    assert isinstance(phase, DecisionVotes)
    return phase


def drawn_for(vote: DPWeVote, table: dict[str, list[Any]]) -> tuple[ThresholdDecision, list[int]]:
    """Return what draws the decisions of a vote, and the margins that it draws them for."""
    phase, inputs = phase_of(vote), vote.encode(table)
    tally = phase.tally(inputs.private, earlier=[], public=inputs.public)
    ((mechanism, values),) = phase.fixed_release(tally, 0).drawn
    assert isinstance(mechanism, ThresholdDecision)
    return mechanism, list(values)


@every_quota
@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("weights", [(1.0, 2.0, 3.0), (0.5, 4.0), (0.1, 0.3)])
def test_every_electorate_of_three_is_decided_by_how_far_it_is_from_the_quota(
    quota: dict[str, Any], weights: tuple[float, ...], *, public: bool
) -> None:
    """All weights and opinions: a margin at or above 0 is one that should pass, and its block says how surely."""
    if quota.get("quota", 0) > 3 * weights[-1]:
        pytest.skip("nobody passes this quota")
    vote = make_vote(weights=weights, public_weights=public, **quota)
    greatest = Fraction(str(weights[-1]))
    for own in itertools.product(itertools.product(weights, (0, 1)), repeat=3):
        if public and vote.parameters.quota and math.fsum(weight for weight, _ in own) < vote.parameters.quota:
            continue
        table = {"weight": [weight for weight, _ in own], "c0": [opinion for _, opinion in own]}
        mechanism, (value,) = drawn_for(vote, table)
        (should_pass,) = vote.should_pass(vote.encode(table)).values()
        assert (value >= 0) == should_pass
        yes = sum(Fraction(str(weight)) for weight, opinion in own if opinion)
        total = sum(Fraction(str(weight)) for weight, _ in own)
        quotas = Fraction(str(vote.parameters.quota or 0)) or vote.parameters.exact_fraction * total
        blocks = abs(yes - quotas) / greatest
        most, least = (math.exp(-own) / (1 + math.e) for own in (max(math.ceil(blocks) - 1, 0), math.floor(blocks)))
        assert least * (1 - 1e-9) <= mechanism.chance_of_error(value) <= most * (1 + 1e-9)


@every_quota
@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 4.0])
@pytest.mark.parametrize("number", [1, 3])
def test_no_two_electorates_that_differ_in_one_partner_are_told_apart_by_more_than_is_charged(
    quota: dict[str, Any], epsilon: float, number: int
) -> None:
    """Of two partners: all rows of one beside all rows of the other; and no less is charged than somebody loses."""
    vote = make_vote(number=number, epsilon=epsilon, weights=(1.0, 3.0), **quota)
    (loss,) = vote.losses
    assert loss.proven == pytest.approx(number * epsilon, rel=1e-12)
    assert loss.claimed == loss.proven >= number * epsilon * (1 - 1e-12)
    assert (loss.model, loss.relation) == (TrustModel.CENTRAL, NeighboringRelation.REPLACE_ONE)
    rows = np.array(list(itertools.product(range(2), *[(0, 1)] * number)), dtype=np.int64)
    phase, greatest = phase_of(vote), 0.0
    for other in rows:
        pairs = [np.stack([row, other]) for row in rows]
        laws = phase.log_laws(
            [phase.tally(pair, earlier=[], public=np.empty((2, 0), dtype=np.int64)) for pair in pairs]
        )
        laws = laws[~np.isneginf(laws).all(axis=1)]
        greatest = max(greatest, float((laws[:, :, None] - laws[:, None, :]).max()))
    assert greatest <= loss.proven * (1 + 1e-9)
    is_near = vote.parameters.fraction < 1 and (vote.parameters.quota or 0) < 4
    assert not is_near or greatest == pytest.approx(loss.proven, rel=1e-9)


@every_quota
@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0, 6.0])
@pytest.mark.parametrize("level", [0.3, 0.05, 0.001])
def test_verdicts_are_wrong_as_rarely_as_the_level_says(
    quota: dict[str, Any], epsilon: float, level: float, *, public: bool
) -> None:
    """Next to the quota, the worst truths there are; where a decision is wrong as rarely, it is the verdict."""
    vote = make_vote(epsilon=epsilon, level=level, public_weights=public, **quota)
    mechanism = phase_of(vote).tally_mechanism
    assert isinstance(mechanism, ThresholdDecision)
    law = np.exp(mechanism.log_probabilities(np.arange(4), np.array([-1, 0])))
    false_pass, false_fail = law[3, 0], law[0, 1]
    assert false_pass == pytest.approx(false_fail, rel=1e-9)
    assert false_pass <= level < false_pass * math.exp(epsilon) * (1 + 1e-9) or false_pass == pytest.approx(
        1 / (1 + math.exp(epsilon))
    )
    always = 1 / (1 + math.exp(epsilon)) <= level
    assert (law[1:3] == 0).all() == always
    reach = vote.reach(np.zeros((4, 2 * public), dtype=np.int64))
    assert reach is not None
    steps = math.floor(reach / float(phase_of(vote).sums.step) + 1e-9)
    assert mechanism.chance_of_error(steps) <= level * (1 + 1e-9)
    assert mechanism.chance_of_error(-steps) <= level * (1 + 1e-9)


@every_quota
@pytest.mark.parametrize("public", [False, True])
def test_what_is_released_says_decisions_and_nothing_else(quota: dict[str, Any], *, public: bool) -> None:
    vote = make_vote(number=4, public_weights=public, **quota)
    told = [0, 1, 2, 3, *([2, 1, 0] * public)]
    outcome = vote.outcome([Tally(3, np.array(told))])
    assert [each.decision for each in outcome.candidates] == WORDS
    assert [each.leans_yes for each in outcome.candidates] == [False, False, True, True]
    assert {(each.support, each.quota, each.margin, each.bias) for each in outcome.candidates} == {(None,) * 3 + (0.0,)}
    assert (outcome.total_weight is None) is not public
    assert outcome.epsilon_total == 4
    assert outcome.winners == ("c3",)
    block = vote.decisions([TallyBlock(3, np.array([told, told[::-1]] if not public else [told]))])
    assert block.kinds()[0].tolist() == [1, 1, 2]
    assert not vote.tells_support


@pytest.mark.parametrize("given", [{}, {"public_weights": True, "quota_fraction": 2 / 3}, {"quota": 30.0}])
def test_sessions_in_a_block_and_one_by_one_release_the_same(given: dict[str, Any]) -> None:
    vote = make_vote(number=2, **given)
    inputs = vote.encode({"weight": [1, 2, 3] * 10, "c0": [1, 0, 1] * 10, "c1": [0, 1, 0] * 10})
    phase, uniforms = phase_of(vote), np.random.default_rng(3).random((2, 2))
    one, rows = phase.tally(inputs.private, earlier=[], public=inputs.public), iter(uniforms.tolist())
    alone = [phase.randomize_tally(one, lambda own, row: own.randomize_row(row, next(rows))) for _ in range(2)]
    block = TallyBlock(30, np.stack([one.totals, one.totals]))
    many = phase.randomize_tallies(block, lambda own, values: own.randomize_rows(values, uniforms))
    assert many.totals.tolist() == [each.totals.tolist() for each in alone]


@pytest.mark.few(most=6)
@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("epsilon", [1.0, 5.0])
def test_whole_sessions_are_decided_as_often_as_the_law_says(epsilon: float, *, public: bool) -> None:
    """1,000 sessions: five standard deviations, a false alarm of 6e-7 for each."""
    vote = make_vote(epsilon=epsilon, public_weights=public)
    table: dict[str, list[Any]] = {"weight": [1, 2, 3, 3], "c0": [1, 1, 1, 0]}
    mechanism, (value,) = drawn_for(vote, table)
    chance = 1 - mechanism.chance_of_error(value) if value >= 0 else mechanism.chance_of_error(value)
    inputs, number = vote.encode(table), 1_000
    noises = (SimulatedNoise(seed, session="law") for seed in range(number))
    passed = sum(run_population(vote, inputs, noise=noise).outcome.candidates[0].leans_yes for noise in noises)
    assert abs(passed - number * chance) <= 5 * math.sqrt(number * chance * (1 - chance)) + 1


def test_weights_that_no_grid_has_in_common_are_allowed_for() -> None:
    """Rounding may bring a margin to the other side: verdicts need a block more, and too many partners are refused."""
    vote = make_vote(weights=(0.1, 1e15), quota=1e14, epsilon=1e-6)
    sums, mechanism = phase_of(vote).sums, phase_of(vote).tally_mechanism
    assert isinstance(mechanism, ThresholdDecision)
    assert sums.deviation > 0
    exact = make_vote(weights=(1.0, 2.0), quota=1.0, epsilon=1e-6)
    plain = phase_of(exact).tally_mechanism
    assert isinstance(plain, ThresholdDecision)
    assert (mechanism.passing, mechanism.failing) == (plain.passing + 1, plain.failing - 1)
    most = math.ceil(sums.margin_sensitivity * sums.step / sums.deviation) - 1
    CentralVariant.check_roster(variant := DecisionVariant(vote.parameters), most + 1)
    variant.check_roster(most)
    with refuses("partners"):
        variant.check_roster(most + 1)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"variant": "joint"}, "release"),
        ({"variant": "masked", "threshold": 3, "colluders": 0}, "release"),
        ({"weights_within": 0.1}, "weights_within"),
        ({"epsilon_weight": 1.0}, "epsilon_weight"),
        ({"quota": 1e300}, "quota"),
    ],
)
def test_where_decisions_alone_are_not_told_is_refused(given: dict[str, Any], field: str) -> None:
    as_central: dict[str, Any] = {"candidates": ("a",), "variant": "central", "release": "decision", **given}
    with refuses(field):
        assert DPWeVote(Parameters(**as_central)).phases


def test_the_bytes_of_other_votes_are_what_they_were() -> None:
    plain = Parameters(candidates=("a",), variant="central")
    assert b"release" not in msgspec.json.encode(plain)
    assert plain.with_variant("joint") == msgspec.structs.replace(plain, variant="joint")
    told = msgspec.structs.replace(plain, release="decision")
    assert told.with_variant("central") == plain
    assert DPWeVote(msgspec.structs.replace(plain, release="margin")).losses == DPWeVote(plain).losses
    verdict = DPWeVote(told).outcome([Tally(1, np.array([3]))]).candidates[0].verdict
    assert verdict.verdict is Verdict.PASSES


def test_the_manual_quotes_how_often_coin_tosses_of_a_hundred_partners_are_decided_rightly() -> None:
    """By the exact laws of the noise and of the sum of all votes, each weight of 1 to 3 being as likely."""
    weights = [own * sign for own in (1, 2, 3) for sign in (-1, 1)]  # in half units of weight
    chances = np.bincount(np.array(weights) + 3) / len(weights)
    law = functools.reduce(np.convolve, [chances] * 100)
    margins = range(-300, 301)
    rows = [line.split("|")[2:-1] for line in PAGE.read_text().splitlines() if line.startswith(ROWS)]
    by_margin, alone = [[float(cell) for cell in row] for row in rows]
    for epsilon, quoted in zip((1.0, 2.0, 3.0, 5.0), zip(by_margin, alone, strict=True), strict=True):
        phases = (make_vote(epsilon=epsilon, release=own).phases[0] for own in ("margin", "decision"))
        noise, decision = (phase.tally_mechanism for phase in phases)
        assert isinstance(noise, VectorLaplace)
        assert isinstance(decision, ThresholdDecision)
        decay = math.exp(-1 / noise.scale)
        wrong = [
            [decay ** (own + 1 if own >= 0 else -own) / (1 + decay) for own in margins],
            [decision.chance_of_error(own) for own in margins],
        ]
        assert quoted == pytest.approx([1 - float(law @ own) for own in wrong], abs=6e-4)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_the_manual_says_where_a_margins_sign_is_no_worse(epsilon: float) -> None:
    """It said that decisions alone are right more often: not of one weight for all, and not at every margin."""
    (alone,) = make_vote(epsilon=epsilon, public_weights=True, weights=(1.0,)).phases
    (sign,) = make_vote(epsilon=epsilon, public_weights=True, weights=(1.0,), release="margin").phases
    decided, noisy = alone.tally_mechanism, sign.tally_mechanism
    assert isinstance(decided, ThresholdDecision)
    assert isinstance(noisy, VectorLaplace)
    assert (decided.sensitivity, decided.scale) == (1, pytest.approx(noisy.scale, rel=1e-12))

    fine = phase_of(make_vote(epsilon=epsilon, weights=(1.0, 1000.0))).tally_mechanism
    assert isinstance(fine, ThresholdDecision)
    outer, decay = fine.sensitivity - 1, math.exp(-epsilon / fine.sensitivity)  # the sign's: P[noise < -margin]
    assert decay ** (outer + 1) / (1 + decay) == pytest.approx(math.exp(-epsilon) / 2, rel=0.01)
    assert decay ** (outer + 1) / (1 + decay) < fine.chance_of_error(outer)
    assert 1 / (1 + decay) * decay > fine.chance_of_error(0)
