"""Votes with heavy partners: prices, estimates and verdicts by exact laws, and who is heavy, by enumeration."""

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from bad_input import refuses
from helpers import Session
from psephos.protocol import SimulatedNoise, Tally, run_population
from psephos.protocol.blocks import goes_with
from psephos.protocol.dpwevote import (
    DPWeVote,
    Outcome,
    Parameters,
    make_central_offer,
    make_public_offer,
    with_noise_weight,
)
from psephos.protocol.dpwevote.chances import chances_to_pass
from psephos.protocol.dpwevote.heavy import decision_chances, reach_of_sum
from psephos.protocol.dpwevote.heavy_votes import HeavyVariant, HeavyVotes
from psephos.protocol.estimators import Verdict
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse, RowMechanism, VectorLaplace
from psephos.protocol.mechanisms.realized import greatest_gap
from psephos.protocol.phases import InputBlock
from psephos.protocol.privacy import PrivacyLoss, PureAccountant, TrustModel
from thoroughness import IS_FULL
from vote_margins import margin_of

WEIGHTS = (1.0, 2.0, 7.0, 12.0)
HELD = (1.0, 1.0, 2.0, 2.0, 7.0, 12.0)
NOISE_WEIGHTS = (7.0, 2.0, 0.0)

every_noise_weight = pytest.mark.parametrize("noise_weight", NOISE_WEIGHTS)


def make_vote(*, number: int = 1, **given: Any) -> DPWeVote:
    candidates = tuple(f"c{place}" for place in range(number))
    usual: dict[str, Any] = {
        "weights": WEIGHTS,
        "public_weights": True,
        "variant": "central",
        "epsilon": 1.5,
        "noise_weight": 2.0,
    }
    return DPWeVote(Parameters(candidates=candidates, **{**usual, **given}))


def phase_of(vote: DPWeVote) -> HeavyVotes:
    (phase,) = vote.phases
    assert isinstance(phase, HeavyVotes)
    return phase


def tally_of(vote: DPWeVote, opinions: Sequence[int], weights: Sequence[float] = HELD) -> Tally:
    inputs = vote.encode({"weight": list(weights), "c0": list(opinions)})
    return phase_of(vote).tally(inputs.private, earlier=[], public=inputs.public)


def all_truths(number: int) -> Iterator[tuple[int, ...]]:
    return itertools.product((0, 1), repeat=number)


@every_noise_weight
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_each_partner_pays_for_its_own_protection_and_the_guard_agrees(noise_weight: float, epsilon: float) -> None:
    vote = make_vote(number=2, noise_weight=noise_weight, epsilon=epsilon)
    public = vote.encode({"weight": WEIGHTS, "c0": [0] * 4, "c1": [1] * 4}).public
    vote.check_loss_groups(public)
    for weight, row in zip(WEIGHTS, public.tolist(), strict=True):
        vote.check_losses(row)
        (loss,) = vote.losses_of(row)
        share = 1.0 if weight > noise_weight else weight / noise_weight
        assert loss.proven == pytest.approx(2 * epsilon * share, rel=1e-9)
        assert loss.model is TrustModel.CENTRAL
        # By the law of the release, all votes but this one being known.
        rows = [list(opinions) for opinions in all_truths(2)]
        tallies = [phase_of(vote).tally(np.array([own]), earlier=[], public=np.array([row])) for own in rows]
        gap = greatest_gap(phase_of(vote).log_laws(tallies), np.ones((4, 4), dtype=np.bool_)).loss
        assert 0.9 * loss.proven <= gap <= loss.proven + 1e-9 or weight > noise_weight > 0  # who has the noise on top


def test_a_loss_of_heavy_partners_that_is_stated_too_low_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    vote = make_vote(noise_weight=0.0)
    public = vote.encode({"weight": [12], "c0": [0]}).public
    right = phase_of(vote).losses_of(public[0].tolist())
    half = GeneralizedRandomizedResponse(0.75, 2).event_of(1)
    stated = (phase_of(vote).loss_for(half),)
    assert stated[0].proven == right[0].proven / 2

    def losses_of(self: HeavyVotes, public: Sequence[int]) -> tuple[PrivacyLoss, ...]:
        del self, public
        return stated

    monkeypatch.setattr(HeavyVotes, "losses_of", losses_of)
    with refuses(field="losses", allowed="at least what phase"):
        vote.check_loss_groups(public)


@every_noise_weight
@pytest.mark.parametrize("quota", [{}, {"quota_fraction": 2 / 3}, {"quota": 4.0}])
def test_estimates_are_right_on_average_and_as_far_off_as_they_say(noise_weight: float, quota: dict[str, Any]) -> None:
    """By all reports of the heavy partners, with their chances; the noise is symmetric."""
    vote = make_vote(noise_weight=noise_weight, **quota)
    phase, keep = phase_of(vote), GeneralizedRandomizedResponse(1.5, 2).keep_probability
    for opinions in ((1, 0, 1, 0, 1, 0), (0, 0, 0, 1, 1, 1), (1,) * 6, (0,) * 6):
        clear = tally_of(vote, opinions)
        by_weight = clear.totals[-len(WEIGHTS) :]
        heavy = [place for place, weight in enumerate(HELD) if weight > noise_weight]
        light = sum(
            phase.sums.margins[WEIGHTS.index(weight), opinion]
            for weight, opinion in zip(HELD, opinions, strict=True)
            if weight <= noise_weight
        )
        mean = square = 0.0
        stated = list[Outcome]()
        for reported in all_truths(len(heavy)):
            pairs = list(zip(heavy, reported, strict=True))
            chance = math.prod(keep if opinions[place] == report else 1 - keep for place, report in pairs)
            total = light + sum(phase.sums.margins[WEIGHTS.index(HELD[place]), report] for place, report in pairs)
            outcome = vote.outcome([Tally(6, np.array([total, *by_weight]))])
            stated.append(outcome)
            margin = margin_of(outcome.candidates[0])
            mean += chance * margin.value
            square += chance * margin.value**2
        truth = vote.truth(vote.encode({"weight": HELD, "c0": opinions}))
        assert mean == pytest.approx(truth["c0"] - truth["quota"], abs=1e-6)
        noise = phase.of_nobody.noise
        variance = square - mean**2 + (noise.noise_variance * float(phase.sums.step) ** 2 if noise else 0)
        assert margin_of(stated[-1].candidates[0]).standard_error == pytest.approx(math.sqrt(variance), rel=1e-6)
        assert stated[-1].weight_bias_bound < 1e-6


@every_noise_weight
@pytest.mark.parametrize("passes", ["at_least", "more_than"])
@pytest.mark.parametrize(("epsilon", "level"), [(1.0, 0.2), (2.0, 0.05), (4.0, 0.01)])
def test_no_truth_is_told_wrongly_more_often_than_the_level_says(
    noise_weight: float, passes: str, epsilon: float, level: float
) -> None:
    """By the law of the release over every truth: from the first sum that is told to pass, and to fail."""
    vote = make_vote(noise_weight=noise_weight, passes=passes, epsilon=epsilon, level=level)
    phase = phase_of(vote)
    by_weight = tally_of(vote, (0,) * 6).totals[-len(WEIGHTS) :]

    def verdict_of(total: int) -> Verdict:
        return vote.outcome([Tally(6, np.array([total, *by_weight]))]).candidates[0].verdict.verdict

    reach = int(100 / phase.sums.step)
    least_passing = _turn(lambda total: verdict_of(total) is Verdict.PASSES, reach)
    most_failing = _turn(lambda total: verdict_of(total) is not Verdict.FAILS, reach) - 1
    assert most_failing < least_passing
    wrong = [0.0, 0.0]
    for opinions in all_truths(6):
        mechanism, (row,) = phase.sums_of(tally_of(vote, opinions).totals[None])
        (passing,), (failing,) = (
            mechanism.chances_to_reach(row.tolist(), end) for end in (least_passing, most_failing + 1)
        )
        should_pass = vote.should_pass(vote.encode({"weight": HELD, "c0": opinions}))["c0"]
        wrong[should_pass] = max(wrong[should_pass], 1 - failing if should_pass else passing)
    assert max(wrong) <= level
    assert max(wrong) > level / 3 or noise_weight == 0.0  # of reports alone chances jump


def _turn(holds: Callable[[int], bool], reach: int) -> int:
    """Return the least number from −reach to reach at which something holds that holds from there on."""
    low, high = -reach, reach
    assert holds(high)
    assert not holds(low)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@pytest.mark.parametrize(
    ("gains", "numbers", "scale", "keep", "level"),
    [
        ((1000,), (1,), 300.0, 0.9, 0.05),
        ((1000, 700), (2, 2), 300.0, 0.88, 0.05),
        ((1000, 700, 300), (1, 1, 2), 100.0, 0.95, 0.01),
        ((1000, 700), (2, 2), 0.0, 0.8, 0.05),
        ((1000,), (5,), 500.0, 0.73, 0.2),
    ],
)
def test_the_worst_case_is_bounded_and_hardly_more(
    gains: tuple[int, ...], numbers: tuple[int, ...], scale: float, keep: float, level: float
) -> None:
    noise = VectorLaplace(scale, 1, 1) if scale else None
    held = [gain for gain, number in zip(gains, numbers, strict=True) for _ in range(number)]

    def worst_chance(reach: float) -> float:
        chances: list[float] = []
        for opinions in all_truths(len(held)):
            total = 0.0
            for reported in all_truths(len(held)):
                triples = list(zip(held, opinions, reported, strict=True))
                chance = math.prod(keep if says == told else 1 - keep for _, says, told in triples)
                off = sum(gain * (told - (keep if says else 1 - keep)) for gain, says, told in triples)
                needed = math.ceil(reach - off - 1e-9)
                total += chance * (math.exp(noise.log_tail(needed)) if noise else needed <= 0)
            chances.append(total)
        return max(chances)

    reach = reach_of_sum(gains, numbers, noise, keep=keep, level=level)
    assert worst_chance(reach) <= level < worst_chance(0.85 * reach)
    if sum(numbers) > 1:  # Chernoff's bound, which is for many
        many = reach_of_sum(gains, tuple(600 * number for number in numbers), noise, keep=keep, level=level)
        assert many > 10 * reach


@pytest.mark.parametrize("held", [(1, 2, 5), (1, 1, 1, 6), (3, 1, 1), (1, 1, 1, 1)])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("share", [0.5, 2 / 3])
def test_chances_of_right_decisions_are_those_of_every_truth_and_report(
    held: tuple[int, ...], epsilon: float, share: float
) -> None:
    weights = tuple(sorted(set(map(float, held))))
    numbers = tuple(held.count(int(weight)) for weight in weights)
    found = decision_chances(weights, numbers, epsilon=epsilon, share=share)
    assert min(found) == 0.0
    keep = GeneralizedRandomizedResponse(epsilon, 2).keep_probability
    quota = share * sum(held)
    for noise_weight, chance in found.items():
        scale = noise_weight / epsilon
        total = 0.0
        for opinions in all_truths(len(held)):
            likely = math.prod(share if opinion else 1 - share for opinion in opinions)
            support = sum(weight for weight, opinion in zip(held, opinions, strict=True) if opinion)
            heavy = [place for place, weight in enumerate(held) if weight > noise_weight]
            for reported in all_truths(len(heavy)):
                pairs = list(zip(heavy, reported, strict=True))
                own = math.prod(keep if opinions[place] == told else 1 - keep for place, told in pairs)
                told = support + sum(
                    held[place] * ((told - (1 - keep)) / (2 * keep - 1) - opinions[place]) for place, told in pairs
                )
                total += likely * own * abs((support < quota - 1e-9) - _chance_beyond(told - quota, scale, heavy=heavy))
        assert chance == pytest.approx(total, abs=1e-9)


def _chance_beyond(margin: float, scale: float, *, heavy: Sequence[int]) -> float:
    """Return P[margin + noise ≥ 0]: where none is heavy, with noise on whole numbers."""
    if not scale:
        return float(margin >= -1e-9)
    if heavy:
        return math.exp(margin / scale) / 2 if margin < 0 else 1 - math.exp(-margin / scale) / 2
    return math.exp(VectorLaplace(scale, 1, 1).log_tail(math.ceil(-margin - 1e-9)))


LADDER: dict[str, tuple[dict[float, int], int]] = {
    "equal": ({1.0: 1}, 1),
    "1 to 3": ({1.0: 3, 2.0: 2, 3.0: 1}, 1),
    "Zipf": ({round(60 / place, 2): 1 for place in range(1, 31)}, 1),
    "one giant": ({1.0: 50, 10.0: 1}, 50),
    "few giants": ({1.0: 90, 10.0: 1, 14.0: 1, 20.0: 1}, 30),
    "a giant beyond the quota": ({1.0: 9, 11.0: 1}, 9),
    "as in the IMF": ({round(0.05 * 1.035**place, 2): 1 for place in range(168)} | {6.1: 2, 16.5: 1}, 1),
}
EPSILONS = (0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0)


@pytest.mark.parametrize("name", LADDER)
@pytest.mark.parametrize("times", [1, 4])
@pytest.mark.parametrize("epsilon", EPSILONS if IS_FULL else EPSILONS[1::2])
def test_central_decides_rightly_as_often_as_joint_and_as_before(name: str, times: int, epsilon: float) -> None:
    """The noise weight that is taken, 0 as in `joint`, and none: at every size, of all weights and prices."""
    held, base = LADDER[name]
    numbers = {weight: number * (times if number >= base else 1) for weight, number in sorted(held.items())}
    parameters = Parameters(
        candidates=("c0",), weights=tuple(numbers), public_weights=True, variant="central", epsilon=epsilon
    )
    chosen = with_noise_weight(parameters, list(numbers.values()))
    chances = decision_chances(parameters.weights, tuple(numbers.values()), epsilon=epsilon, share=0.5)
    taken = chances[parameters.weights[-1] if chosen == parameters else chosen.noise_weight or 0.0]
    assert taken >= max(chances.values()) - 1e-9
    assert taken >= max(chances[0.0], chances[parameters.weights[-1]]) - 1e-9
    central = make_central_offer(parameters, list(numbers.values()))
    squares = math.fsum(number * weight**2 for weight, number in numbers.items())
    joint = make_public_offer(parameters)
    if chosen != parameters:  # of noise for all errors may be larger where decisions are right as often
        assert central.error(squares) <= joint.error(squares) * (1 + 1e-6) or taken > chances[0.0] + 1e-9
    if epsilon <= 1 and name in {"1 to 3", "as in the IMF"}:
        assert chosen == parameters


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
def test_what_is_chosen_is_what_the_votes_do(epsilon: float) -> None:
    """The exact chances of `central` as it is held, and of `joint`, over all truths of few partners."""
    held = (1.0, 1.0, 1.0, 2.0, 6.0)
    weights, numbers = (1.0, 2.0, 6.0), (3, 1, 1)
    expected = decision_chances(weights, numbers, epsilon=epsilon, share=0.5)
    truths = np.array(list(all_truths(5)), dtype=np.int64)
    for noise_weight, chance in expected.items():
        given: dict[str, Any] = {"weights": weights, "epsilon": epsilon, "noise_weight": noise_weight}
        given |= {"noise_weight": noise_weight} if noise_weight < 6 else {}
        if noise_weight == 6:
            del given["noise_weight"]
            vote = DPWeVote(Parameters(candidates=("c0",), variant="central", public_weights=True, **given))
        else:
            vote = make_vote(**given)
        votes = [vote]
        if noise_weight == 0:
            votes.append(DPWeVote(vote.parameters.with_variant("joint", epsilon=epsilon)))
        for own in votes:
            public = own.encode({"weight": held, "c0": [0] * 5}).public
            block = InputBlock(truths[:, :, None], public)
            found = chances_to_pass(own, block)
            assert found is not None
            right = np.where(own.truths(block).should_pass, found, 1 - found)
            assert right.mean() == pytest.approx(chance, abs=1e-6)


@every_noise_weight
def test_chances_to_pass_are_those_of_all_reports(noise_weight: float) -> None:
    vote = make_vote(noise_weight=noise_weight)
    inputs = vote.encode({"weight": HELD, "c0": (1, 0, 1, 0, 0, 1)})
    number = 4_000 if IS_FULL else 1_000
    passed = [
        run_population(vote, inputs, noise=SimulatedNoise(place, session="s")).outcome.candidates[0].leans_yes
        for place in range(number)
    ]
    found = chances_to_pass(vote, InputBlock.from_inputs(inputs))
    assert found is not None
    ((chance,),) = found.tolist()
    assert abs(np.mean(passed) - chance) < 5 * math.sqrt(chance * (1 - chance) / number)  # false alarm: 6e-7


@every_noise_weight
def test_many_sessions_are_tallied_and_released_as_each_alone(noise_weight: float) -> None:
    vote = make_vote(number=2, noise_weight=noise_weight, quota_fraction=2 / 3)
    inputs = vote.encode({"weight": HELD, "c0": (1, 0, 1, 1, 0, 1), "c1": (0, 0, 0, 1, 1, 1)})
    phase = phase_of(vote)
    assert goes_with(type(phase), "tally_block", "tally")
    assert goes_with(type(phase), "randomize_tallies", "randomize_tally")
    reports = np.stack([inputs.private, 1 - inputs.private])
    block = phase.tally_block(reports, earlier=[], public=inputs.public)
    alone = [phase.tally(own, earlier=[], public=inputs.public) for own in reports]
    assert block.totals.tolist() == [each.totals.tolist() for each in alone]
    parts = [phase.tally(reports[0, own], earlier=[], public=inputs.public[own]) for own in (slice(2), slice(2, 6))]
    assert parts[0].merge(parts[1]) == alone[0]
    slots = phase.sums_of(block.totals)[0].slots_of(0)
    uniforms = np.random.default_rng(1).random((2, slots))
    many = phase.randomize_tallies(block, lambda mechanism, values: mechanism.randomize_rows(values, uniforms))
    for place, tally in enumerate(alone):
        one = phase.randomize_tally(tally, functools.partial(_draw_by, uniforms[place].tolist()))
        assert one == many.tally(place)


def _draw_by(uniforms: Sequence[float], mechanism: RowMechanism, row: Sequence[int]) -> list[int]:
    return mechanism.randomize_row(row, uniforms)


@every_noise_weight
def test_machines_arrays_and_a_count_by_hand_have_the_same_bits(noise_weight: float) -> None:
    """The server draws noise for the sums, then a report for each heavy partner: by weight, those of yes first."""
    vote = make_vote(number=2, noise_weight=noise_weight)
    columns = ((1, 0, 1, 1, 0, 1), (0, 0, 0, 1, 1, 1))
    inputs = vote.encode({"weight": HELD, **dict(zip(("c0", "c1"), columns, strict=True))})
    session = Session(vote, inputs, seed=5)
    (phase, noise), result = (phase_of(vote), session.fresh_noise()), session.play().result
    assert result is not None
    assert result.tallies == run_population(vote, inputs, noise=session.fresh_noise()).tallies
    sums = phase.sums
    heavy = sorted(weight for weight in HELD if weight > noise_weight)
    uniforms = noise.uniforms(
        protocol=vote.name, phase="release of votes", start=0, stop=1, slots=2 * (1 + len(heavy))
    )[0].tolist()
    expected: list[int] = []
    for candidate, opinions in enumerate(columns):
        pairs = sorted(zip(HELD, opinions, strict=True), key=lambda pair: (pair[0], -pair[1]))
        light = sum(
            int(sums.margins[WEIGHTS.index(weight), opinion]) for weight, opinion in pairs if weight not in heavy
        )
        if phase.of_nobody.noise is not None:
            (light,) = phase.of_nobody.noise.randomize_row([light], uniforms[candidate : candidate + 1])
        own = [pair for pair in pairs if pair[0] in heavy]
        start = 2 + candidate * len(heavy)
        reports = sums.response.randomize_row([opinion for _, opinion in own], uniforms[start : start + len(heavy)])
        gained = (sums.margins[WEIGHTS.index(weight), report] for (weight, _), report in zip(own, reports, strict=True))
        expected.append(light + sum(map(int, gained)))
    assert result.tallies[0].totals.tolist() == [*expected, 2, 2, 1, 1]


def test_machines_charge_every_partner_once() -> None:
    vote = make_vote(number=2)
    session = Session(vote, vote.encode({"weight": HELD, "c0": (1, 0, 1, 1, 0, 1), "c1": (0, 0, 0, 1, 1, 1)}))
    assert session.play().result is not None
    charged = [entry.proven for ledger in session.ledgers.values() for entry in ledger.entries]
    assert charged == pytest.approx([1.5, 1.5, 3.0, 3.0, 3.0, 3.0])


@pytest.mark.parametrize(
    "given",
    [
        {"variant": "joint"},
        {"public_weights": False},
        {"release": "decision"},
        {"noise_weight": 12.0},
        {"noise_weight": 3.0},
        {"noise_weight": -1.0},
    ],
)
def test_a_noise_weight_that_means_nothing_is_refused(given: dict[str, Any]) -> None:
    with refuses("noise_weight"):
        make_vote(**given)


def test_a_scenario_takes_the_best_noise_weight_and_none_at_a_small_price() -> None:
    table = {"weight": [1] * 50 + [10], "c0": ["yes"] * 51}
    fields = {"variant": "central", "public_weights": True, "epsilon": 2.0}
    assert DPWeVote.complete(fields, table)["noise_weight"] == 1.0
    for other in (
        {"epsilon": 0.5},
        {"variant": "joint"},
        {"release": "decision"},
        {"public_weights": False, "weights": [1, 10]},
        {"epsilon": -1},
    ):
        assert "noise_weight" not in DPWeVote.complete({**fields, **other}, table)
    assert DPWeVote.complete({**fields, "noise_weight": 0.0}, table)["noise_weight"] == 0.0
    many = {"weight": np.full(1_000_000, 1.0), "c0": np.ones(1_000_000)}
    assert "noise_weight" not in DPWeVote.complete(fields, many)


def test_a_heavy_variant_states_events_that_cover_everybody() -> None:
    vote = make_vote(number=3, epsilon=0.4)
    variant = HeavyVariant(vote.parameters)
    (phase,) = variant.make_phases()
    (loss,) = phase.losses
    assert loss.proven == pytest.approx(PureAccountant.epsilon_of(phase.event, loss.relation)) == pytest.approx(1.2)
