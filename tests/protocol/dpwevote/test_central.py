"""Votes that a trusted server counts: exact laws over all pairs of partners, by ladders of sizes, prices and quotas."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from bad_input import refuses
from helpers import Session
from psephos.protocol import Tally
from psephos.protocol.blocks import goes_with
from psephos.protocol.dpwevote import DPWeVote, Outcome, Parameters
from psephos.protocol.dpwevote.central import CentralSums, CentralVariant, CentralVotes
from psephos.protocol.estimators import Verdict
from psephos.protocol.mechanisms import VectorLaplace
from psephos.protocol.mechanisms.realized import greatest_gap
from psephos.protocol.privacy import NeighboringRelation, TrustModel
from vote_margins import margin_of

QUOTAS: list[dict[str, Any]] = [
    {},
    {"quota_fraction": 2 / 3},
    {"quota_fraction": 0.01},
    {"quota_fraction": 1.0},
    {"quota": 2.5},
]
WEIGHTS: list[tuple[float, ...]] = [(1.0, 2.0), (1.0, 2.0, 3.0), (0.25, 3.5, 1_000.0), (0.1, 0.3), (1.0, 1e15)]

every_quota = pytest.mark.parametrize("quota", QUOTAS)


def make_vote(*, number: int = 1, **given: Any) -> DPWeVote:
    candidates = tuple(f"c{place}" for place in range(number))
    return DPWeVote(Parameters(candidates=candidates, variant="central", **given))


def phase_of(vote: DPWeVote) -> CentralVotes:
    (phase,) = vote.phases
    assert isinstance(phase, CentralVotes)
    return phase


def rows_of(vote: DPWeVote) -> list[list[int]]:
    """Return every private row that a partner may have."""
    weights = [] if vote.parameters.public_weights else [range(len(vote.parameters.weights))]
    return [list(row) for row in itertools.product(*weights, *[(0, 1)] * len(vote.parameters.candidates))]


def totals_of(vote: DPWeVote, row: Sequence[int], public: Sequence[int] = ()) -> list[int]:
    shown = np.array([public], dtype=np.int64).reshape(1, -1)
    totals: list[int] = phase_of(vote).tally(np.array([row]), earlier=[], public=shown).totals.tolist()
    return totals


def released(vote: DPWeVote, totals: Sequence[int], number: int) -> Outcome:
    return vote.outcome([Tally(number, np.array(totals))])


@every_quota
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("number", [1, 2, 3])
def test_no_two_partners_are_farther_apart_than_the_noise_is_made_for(
    quota: dict[str, Any], weights: tuple[float, ...], number: int
) -> None:
    """By all pairs of rows; nor is a partner from nobody, so that the release bounds both relations."""
    vote = make_vote(number=number, weights=weights, **quota)
    sums = phase_of(vote).sums
    totals = np.array([totals_of(vote, row) for row in rows_of(vote)])
    apart = np.abs(totals[:, None] - totals).sum(axis=2)
    assert apart.max() == sums.sensitivity
    assert np.abs(totals).sum(axis=1).max() <= sums.sensitivity + number  # rounding, where there is any
    if not sums.deviation:
        assert np.abs(totals).sum(axis=1).max() <= sums.sensitivity
        assert sums.sensitivity * sums.step == number * Fraction(str(weights[-1]))  # the total weight costs nothing


@every_quota
@pytest.mark.parametrize("epsilon", [1e-9, 0.01, 0.5, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("number", [1, 3])
def test_the_law_of_the_release_attains_what_is_charged(quota: dict[str, Any], epsilon: float, number: int) -> None:
    vote = make_vote(number=number, epsilon=epsilon, **quota)
    phase = phase_of(vote)
    totals = np.array([totals_of(vote, row) for row in rows_of(vote)])
    # Where the first row's and the last row's sums lie, and in between, ratios are greatest.
    logs = phase.tally_mechanism.log_likelihoods(totals, totals)
    gap = float((logs[:, :, None] - logs[:, None, :]).max())
    (loss,) = vote.losses
    assert gap == pytest.approx(number * epsilon, rel=1e-9)
    assert loss.proven == pytest.approx(number * epsilon, rel=1e-12)
    assert (loss.model, loss.relation) == (TrustModel.CENTRAL, NeighboringRelation.REPLACE_ONE)


def test_who_weighs_less_pays_less_where_weights_are_public() -> None:
    vote = make_vote(number=2, epsilon=1.0, public_weights=True, weights=(1.0, 2.0, 4.0))
    public = vote.encode({"weight": [1, 2, 4, 4], "c0": [0, 1, 0, 1], "c1": [0, 0, 1, 1]}).public
    phase = phase_of(vote)
    vote.check_loss_groups(public)
    prices = {name: (number, losses[0].proven) for name, number, losses in phase.loss_groups(public)}
    assert prices == {"of weight 1": (1, 0.5), "of weight 2": (1, 1.0), "of weight 4": (2, 2.0)}
    for own in public.tolist():
        vote.check_losses(own)
        sums = np.array([totals_of(vote, row, own) for row in rows_of(vote)])
        law = phase.log_laws([Tally(1, own_sums) for own_sums in sums])
        gap = greatest_gap(law, np.ones((len(sums),) * 2, dtype=np.bool_)).loss
        assert gap == pytest.approx(vote.losses_of(own)[0].proven, rel=1e-9)
    assert [name for name, _, _ in phase.loss_groups(public[:1])] == [""]


@pytest.mark.parametrize("epsilon", [0.3, 0.7, 1.1, 1.9])
@pytest.mark.parametrize("number", [1, 3])
def test_no_price_of_a_public_weight_is_below_what_it_loses_to_the_last_bit(number: int, epsilon: float) -> None:
    vote = make_vote(number=number, epsilon=epsilon, public_weights=True, weights=(3.0, 7.0, 11.0, 13.0, 17.0, 23.0))
    sums = phase_of(vote).sums
    for place in range(6):
        (loss,) = vote.losses_of((place, place))
        exact = Fraction(sums.sensitivity_of(place)) / Fraction(sums.mechanism.scale)
        assert math.nextafter(loss.proven, 0) < exact <= Fraction(loss.proven)


def test_a_loss_that_is_stated_too_low_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard compares releases by their law: half of the noise would cost twice as much."""

    def halved(self: CentralSums, place: int) -> int:
        return int(self.margins[place, 1] - self.margins[place, 0])  # of one candidate of two

    monkeypatch.setattr(CentralSums, "sensitivity_of", halved)
    vote = make_vote(number=2, public_weights=True)
    public = vote.encode({"weight": [3], "c0": [0], "c1": [1]}).public
    with refuses(field="losses", allowed="at least what phase"):
        vote.check_loss_groups(public)


@every_quota
@pytest.mark.parametrize("passes", ["at_least", "more_than"])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("level", [0.4, 0.05, 0.001])
def test_verdicts_are_wrong_as_rarely_as_the_level_says_by_the_exact_law(
    quota: dict[str, Any], passes: str, epsilon: float, level: float
) -> None:
    """Of the two truths next to the quota, the worst ones, all noise is summed up; and one step less would not do."""
    vote = make_vote(epsilon=epsilon, passes=passes, level=level, **quota)
    mechanism, number = phase_of(vote).tally_mechanism, 4
    assert isinstance(mechanism, VectorLaplace)
    held = Fraction(str(vote.parameters.quota or 0)) / phase_of(vote).sums.step
    least_passing = math.ceil(held) if passes == "at_least" else math.floor(held) + 1

    noises = np.arange(math.ceil(45 * mechanism.scale) + 2)
    law = mechanism.noise_probability(0) * np.exp(-noises / mechanism.scale)
    tails = np.cumsum(law[::-1])[::-1]  # P[noise ≥ t]

    def told(steps: int) -> Verdict:
        rest = [0] * bool(phase_of(vote).sums.total_share)
        candidate = released(vote, [steps, *rest], number).candidates[0]
        assert candidate.leans_yes is (steps >= least_passing)
        return candidate.verdict.verdict

    for verdict, sign, truth in ((Verdict.PASSES, 1, least_passing - 1), (Verdict.FAILS, -1, least_passing)):
        noise = max(1, int(np.argmax(tails <= level)))
        assert told(truth + sign * noise) is verdict
        assert noise == 1 or told(truth + sign * (noise - 1)) is Verdict.TOO_CLOSE
        assert all(told(truth + sign * size) is verdict for size in (noise + 1, 2 * noise, 50 * noise))


@pytest.mark.parametrize("level", [0.3, 0.05, 0.01])
@pytest.mark.parametrize("public", [False, True])
def test_margins_beyond_the_reach_are_decided_wrongly_as_rarely_as_the_level_says(
    level: float, *, public: bool
) -> None:
    variant = CentralVariant(make_vote(level=level, public_weights=public).parameters)
    mechanism, step = variant.central_sums.mechanism, float(variant.central_sums.step)
    steps = round(variant.reach([2, 3, 4]) / step)
    law = mechanism.noise_probability(0) * np.exp(-np.arange(steps, 3_000) / mechanism.scale)
    assert math.fsum(law) <= level < math.fsum(law) + mechanism.noise_probability(steps - 1)


def test_verdicts_allow_for_what_rounding_to_the_grid_moves() -> None:
    """Weights that no fine grid has in common: all partners' rounding counts against a verdict."""
    vote = make_vote(weights=(0.1, 1e15), epsilon=1.0, quota=1e14)
    sums = phase_of(vote).sums
    assert 0 < sums.deviation <= float(sums.step) / 2
    reach = sums.mechanism.reach_of(0.05)
    edge = math.ceil(1e14 / float(sums.step))
    few, many = released(vote, [edge + reach + 10], 1), released(vote, [edge + reach + 10], 1_000_000)
    assert few.candidates[0].verdict.verdict is Verdict.PASSES
    assert many.candidates[0].verdict.verdict is Verdict.TOO_CLOSE
    assert many.weight_bias_bound == float(1_000_000 * sums.deviation)


@every_quota
@pytest.mark.parametrize("public", [False, True])
def test_without_noise_the_release_is_the_truth(quota: dict[str, Any], *, public: bool) -> None:
    vote = make_vote(number=2, public_weights=public, **quota)
    columns = {"c0": [1, 0, 1, 1], "c1": [0, 0, 0, 1]}
    inputs = vote.encode({"weight": [1, 2, 3, 3], **columns})
    tally = phase_of(vote).tally(inputs.private, earlier=[], public=inputs.public)
    outcome, truth = vote.outcome([tally]), vote.truth(inputs)
    for candidate in outcome.candidates:
        assert margin_of(candidate).value == pytest.approx(truth[candidate.name] - truth["quota"], abs=1e-12)
        if candidate.support is not None and candidate.quota is not None:
            assert candidate.support.value == pytest.approx(truth[candidate.name], abs=1e-12)
            assert candidate.quota.value == pytest.approx(truth["quota"], abs=1e-12)
        assert (candidate.support is None) == (not vote.tells_support)
    if outcome.total_weight is not None:
        assert outcome.total_weight.value == truth["total weight"]
    assert outcome.epsilon_total == vote.parameters.epsilon_total == 2.0
    contributed = vote.contributions([inputs.private], inputs.public).sum(axis=0) - (vote.parameters.quota or 0.0)
    assert contributed.tolist() == pytest.approx([margin_of(each).value for each in outcome.candidates], abs=1e-12)


@pytest.mark.parametrize("public", [False, True])
def test_standard_errors_are_those_of_the_noise(*, public: bool) -> None:
    vote = make_vote(epsilon=0.7, public_weights=public)
    mechanism = phase_of(vote).tally_mechanism
    assert isinstance(mechanism, VectorLaplace)
    reach = math.ceil(50 * mechanism.scale)
    variance = math.fsum(x * x * mechanism.noise_probability(x) for x in range(-reach, reach + 1))
    outcome = released(vote, [4, 9, 0, 1] if public else [4, 9], 4)
    (candidate,) = outcome.candidates
    step = float(phase_of(vote).sums.step)
    assert margin_of(candidate).standard_error == pytest.approx(math.sqrt(variance) * step, rel=1e-9)
    assert candidate.support is not None
    total = outcome.total_weight
    assert total is not None
    share = vote.parameters.fraction
    assert total.standard_error == (0 if public else pytest.approx(math.sqrt(variance) * step / share, rel=1e-9))
    whole = math.hypot(margin_of(candidate).standard_error, share * total.standard_error)
    assert candidate.support.standard_error == pytest.approx(whole, rel=1e-12)


def test_the_server_refuses_what_would_weigh_more_than_a_partner() -> None:
    phase = phase_of(make_vote(number=2))
    phase.check_report([2, 0, 1], ())
    for wrong in ([3, 0, 1], [-1, 0, 1], [0, 2, 0], [0, 0, -1]):
        with pytest.raises(ValueError, match="not the place of a weight"):
            phase.check_report(wrong, ())


def test_more_partners_than_sums_have_room_for_are_refused() -> None:
    vote = make_vote(number=1_000, weights=(1.0, 1e15))
    vote.check_roster(np.empty((1_000_000, 0), dtype=np.int64))
    with refuses("partners"):
        vote.check_roster(np.empty((10_000_000, 0), dtype=np.int64))


def test_machines_charge_a_partner_once_and_the_server_sees_its_votes() -> None:
    vote = make_vote(number=2, epsilon=0.5)
    session = Session(vote, vote.encode({"weight": [1, 3], "c0": [1, 0], "c1": [0, 1]}))
    assert session.play().result is not None
    for ledger in session.ledgers.values():
        assert [(entry.proven, entry.unit, entry.model) for entry in ledger.entries] == [
            (1.0, "weight and opinions", TrustModel.CENTRAL)
        ]


@pytest.mark.parametrize("release", ["margin", "decision"])
@pytest.mark.parametrize("public", [False, True])
def test_many_sessions_are_tallied_at_once_and_as_each_alone(release: Any, *, public: bool) -> None:
    vote = make_vote(number=2, release=release, public_weights=public, quota_fraction=2 / 3)
    inputs = vote.encode({"weight": [1, 2, 3, 3], "c0": [1, 0, 1, 1], "c1": [0, 0, 0, 1]})
    phase = phase_of(vote)
    assert goes_with(type(phase), "tally_block", "tally")
    assert goes_with(type(phase), "randomize_tallies", "randomize_tally")
    reports = np.stack([inputs.private, inputs.private[::-1], np.roll(inputs.private, 1, axis=0)])
    block = phase.tally_block(reports, earlier=[], public=inputs.public)
    alone = [phase.tally(own, earlier=[], public=inputs.public) for own in reports]
    assert block.totals.tolist() == [each.totals.tolist() for each in alone]
    assert block.num_reports == 4
