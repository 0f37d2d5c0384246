"""Rounded weights: each is taken for the nearest of the set, and verdicts are about the weights before that.

What is true is counted here, in fractions, from the weights as a file has them.
"""

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import pytest
from bad_input import refuses
from psephos.protocol import SimulatedNoise, run_population
from psephos.protocol.dpwevote import DPWeVote, Outcome, Parameters
from psephos.protocol.dpwevote.central import CentralVariant
from psephos.protocol.dpwevote.rounding import nearest_places, quotas_within
from psephos.protocol.estimators import Verdict
from repeated_votes import tallies_of_trials
from scipy.stats import binom
from thoroughness import IS_FULL, draws

GRID = (1.0, 1.2, 1.44, 1.72, 2.06, 2.47, 2.97, 3.56, 4.27, 5.13, 6.15)
WITHIN = 0.1
MASKED = {"variant": "masked", "threshold": 3, "colluders": 0}
PUBLIC = {"public_weights": True}
VARIANTS: dict[str, dict[str, Any]] = {
    **{name: {"variant": name} for name in ("joint", "printed", "laplace", "two_point", "signed_rr", "central")},
    **{f"{name}, public": {"variant": name, **PUBLIC} for name in ("joint", "laplace", "central")},
    "masked": MASKED,
    "masked, public": {**MASKED, **PUBLIC},
    "groups": {"variant": "joint", "groups": [GRID[:2], *([weight] for weight in GRID[2:])]},
    "levels": {"variant": "two_point", "epsilons": (12.0, 16.0)},
}
DECIDES_SOON = [name for name in VARIANTS if not name.startswith(("laplace", "two_point", "levels"))]
COPIES = 80
"""Of each partner: noise is then far less than what rounding moves."""
QUOTAS: dict[str, dict[str, Any]] = {
    "half": {},
    "more than half": {"passes": "more_than"},
    "two thirds": {"quota_fraction": 2 / 3},
    "a tenth": {"quota_fraction": 0.1, "passes": "more_than"},
    "all": {"quota_fraction": 1.0},
    "fixed": {"quota": 40.0},
}
SHAPES = {
    "a ladder": [place % len(GRID) for place in range(30)],
    "few are heavy": [len(GRID) - 1 if place % 7 == 0 else place % 3 for place in range(30)],
    "alike": [4] * 30,
    "two kinds": [9 * (place % 2) for place in range(30)],
}


def make_vote(variant: str, quota: str = "half", **given: Any) -> DPWeVote:
    fields: dict[str, Any] = {"weights": GRID, "weights_within": WITHIN, **VARIANTS[variant], **QUOTAS[quota], **given}
    if "epsilons" in fields:
        del fields["epsilon"]
    return DPWeVote(Parameters(candidates=("a",), **fields))


def margin_of(parameters: Parameters, weights: Sequence[float], yes: Sequence[int]) -> Fraction:
    own = [Fraction(str(weight)) for weight in weights]
    share = Fraction(parameters.fraction).limit_denominator(100)
    support = sum((weight for weight, opinion in zip(own, yes, strict=True) if opinion), start=Fraction(0))
    return support - share * sum(own) - Fraction(str(parameters.quota or 0))


def should_pass(parameters: Parameters, weights: Sequence[float], yes: Sequence[int]) -> bool:
    margin = margin_of(parameters, weights, yes)
    return margin >= 0 if parameters.passes == "at_least" else margin > 0


def farthest(grid: Sequence[float], *, above: bool) -> list[float]:
    """Return of each number of the set about the greatest, or the least, weight that is taken for it."""
    bounds = [2 * a * b / (a + b) for a, b in itertools.pairwise(grid)]
    if above:
        return [round(bound * (1 - 1e-6), 9) for bound in bounds] + [grid[-1] * (1 + 0.999 * WITHIN)]
    return [grid[0] * (1 - 0.999 * WITHIN)] + [round(bound * (1 + 1e-6), 9) for bound in bounds]


def next_to_the_quota(
    parameters: Parameters, shape: Sequence[int], *, to_yes: bool
) -> list[tuple[list[float], list[int]]]:
    """Return the two electorates nearest to the quota, on either side, that rounding moves as far as it can.

    Weights of those who say "yes" are rounded up and those of the others down, or the other way round.
    """
    of_yes, of_no = farthest(GRID, above=not to_yes), farthest(GRID, above=to_yes)
    found: list[tuple[list[float], list[int]]] = []
    for num_yes in range(len(shape) + 1):
        yes = [int(place < num_yes) for place in range(len(shape))]
        found.append(([(of_yes if own else of_no)[place] for place, own in zip(shape, yes, strict=True)], yes))
    decided = [should_pass(parameters, *one) for one in found]
    return [found[decided.count(False) - 1], found[min(decided.count(False), len(found) - 1)]]


def verdict_on(vote: DPWeVote, weights: Sequence[float], yes: Sequence[int]) -> Verdict:
    inputs = vote.encode({"weight": list(weights), "a": list(yes)})
    outcome = run_population(vote, inputs, noise=SimulatedNoise(7, session="s")).outcome
    assert isinstance(outcome, Outcome)
    assert outcome.weights_within == WITHIN
    return outcome.candidates[0].verdict.verdict


@pytest.mark.parametrize("quota", list(QUOTAS))
@pytest.mark.parametrize("variant", DECIDES_SOON)
def test_next_to_the_quota_no_verdict_contradicts_the_weights_before_rounding(variant: str, quota: str) -> None:
    """Hardly anybody lies at ε = 16, and noise is wrong in one of a million: chance 1e-3 in all."""
    many = {"threshold": 30 * COPIES} if variant.startswith("masked") else {}
    vote = make_vote(variant, quota, epsilon=16.0, level=1e-6, **many)
    if quota == "fixed":
        vote = DPWeVote(msgspec.structs.replace(vote.parameters, quota=40.0 * COPIES))
    for shape in list(SHAPES)[: 4 if IS_FULL else 2]:
        for to_yes in (False, True):
            of_few = next_to_the_quota(make_vote(variant, quota).parameters, SHAPES[shape], to_yes=to_yes)
            for weights, yes in [(weights * COPIES, yes * COPIES) for weights, yes in of_few]:
                wrong = Verdict.FAILS if should_pass(vote.parameters, weights, yes) else Verdict.PASSES
                assert verdict_on(vote, weights, yes) is not wrong, (shape, weights, yes)


@pytest.mark.parametrize("variant", DECIDES_SOON)
@pytest.mark.parametrize(("opinion", "verdict"), [(1, Verdict.PASSES), (0, Verdict.FAILS)])
def test_what_rounding_cannot_change_is_decided(variant: str, opinion: int, verdict: Verdict) -> None:
    """Of 90 partners 80 agree: noise would have to move a sum by a third of all votes."""
    vote = make_vote(variant, epsilon=16.0)
    assert verdict_on(vote, [weight * 1.01 for weight in GRID[1:] * 9], [opinion] * 80 + [1 - opinion] * 10) is verdict


@pytest.mark.parametrize("to_yes", [True, False])
@pytest.mark.parametrize("variant", ["joint", "joint, public", "laplace, public", "two_point", "signed_rr", "levels"])
def test_noise_and_rounding_together_are_wrong_as_seldom_as_the_level_says(variant: str, *, to_yes: bool) -> None:
    """Sessions of one truth next to the quota: more than the binomial law allows at 5 %, chance 1e-6 each."""
    vote = make_vote(variant, epsilon=16.0)
    of_few = next_to_the_quota(vote.parameters, SHAPES["a ladder"], to_yes=to_yes)[0 if to_yes else 1]
    weights, yes = (np.tile(column, COPIES) for column in of_few)
    assert should_pass(vote.parameters, weights.tolist(), yes.tolist()) is not to_yes
    trials = draws(20, full=1000)
    if variant == "levels":
        inputs = vote.encode({"weight": weights, "a": yes, "epsilon": np.tile([12.0, 16.0], len(yes) // 2)})
        noises = (SimulatedNoise(seed, session="s") for seed in range(trials))
        outcomes = [run_population(vote, inputs, noise=noise).outcome for noise in noises]
    else:
        rows = np.tile(weights, (trials, 1)), np.tile(yes, (trials, 1))
        outcomes = [vote.outcome(each) for each in tallies_of_trials(vote, *rows, np.random.default_rng(45))]
    wrong = Verdict.PASSES if to_yes else Verdict.FAILS
    number = sum(outcome.candidates[0].verdict.verdict is wrong for outcome in outcomes)
    assert binom.sf(number - 1, trials, 0.05) > 1e-6


@pytest.mark.parametrize("quota", list(QUOTAS))
def test_the_two_quotas_are_the_nearest_that_hold_whatever_the_weights_before_rounding_are(quota: str) -> None:
    """All opinions of seven partners, whose weights were as far off as they can be: against "yes", then for it."""
    parameters = make_vote("joint", quota).parameters
    if quota == "fixed":
        parameters = msgspec.structs.replace(parameters, quota=6.0)
    above, below = (Fraction(each) for each in quotas_within(parameters))
    rho, nearly = Fraction(str(WITHIN)), Fraction(1, 10**9)
    rounded = [Fraction(str(weight)) for weight in (1, 1, 1.2, 1.44, 2.06, 2.47, 5.13)]
    for yes in itertools.product((0, 1), repeat=len(rounded)):
        pairs = list(zip(rounded, yes, strict=True))
        share = sum(weight for weight, own in pairs if own) / (
            sum(rounded) if parameters.quota is None else Fraction(1)
        )
        least = margin_of(parameters, [float(w * (1 - rho if own else 1 + rho)) for w, own in pairs], yes)
        most = margin_of(parameters, [float(w * (1 + rho if own else 1 - rho)) for w, own in pairs], yes)
        if share >= above:
            assert least >= 0
        elif share <= above * (1 - nearly):
            assert least < 0
        if share < below:
            assert most < 0
        elif share >= below * (1 + nearly):
            assert most >= 0


def test_a_weight_is_taken_for_the_one_from_which_it_is_the_smallest_share_off() -> None:
    generator = np.random.default_rng(3)
    numbers = generator.uniform(GRID[0] * (1 - WITHIN), GRID[-1] * (1 + WITHIN), 500)
    taken = np.array(GRID)[nearest_places(numbers, np.array(GRID))]
    shares = np.abs(numbers[:, None] - np.array(GRID)) / np.array(GRID)
    assert (np.abs(numbers - taken) / taken).tolist() == pytest.approx(shares.min(axis=1).tolist())
    for variant in ("joint", "joint, public", "two_point", "central, public", "masked"):
        vote = make_vote(variant)
        assert vote.weights_of(vote.encode({"weight": numbers, "a": np.ones(500)})) == tuple(taken.tolist())


@pytest.mark.parametrize("variant", ["joint", "joint, public"])
def test_a_partner_joins_with_its_own_weight_and_is_told_what_counts(variant: str) -> None:
    vote = make_vote(variant)
    inputs = vote.encode({"weight": ["2.2"], "a": ["yes"]})
    public: list[int] = inputs.public[0].tolist()
    row = vote.encode_own({"weight": "2.2", "a": "yes"}, public)
    assert list(row) == inputs.private[0].tolist()
    assert vote.write_counted(row, public) == {"weight": "2.06"}
    exact = DPWeVote(msgspec.structs.replace(vote.parameters, weights_within=msgspec.UNSET))
    assert exact.write_counted(row, public) == {}


@pytest.mark.parametrize("weight", ["0.89", "6.8", "0", "-2", "", "nan", "inf", "2/3", "50 %", "1e6"])
@pytest.mark.parametrize("variant", ["joint", "central, public"])
def test_a_weight_that_is_near_to_none_of_the_set_is_refused(variant: str, weight: str) -> None:
    with refuses(said="Make it within 10 % of one of 1, 1.2, "):
        make_vote(variant).encode({"weight": ["1.3", weight], "a": [1, 0]})


@pytest.mark.parametrize("share", [0.0, 1e-7, -0.1, 0.51, float("nan")])
def test_what_is_no_share_of_a_weight_is_refused(share: float) -> None:
    with refuses(field="weights_within", allowed="a share of a weight"):
        make_vote("joint", weights_within=share)


@pytest.mark.parametrize("variant", ["joint", "two_point", "central", "masked", "joint, public", "central, public"])
def test_what_a_vote_can_tell_beforehand_allows_for_rounding(variant: str) -> None:
    inputs = make_vote(variant).encode({"weight": GRID, "a": [1] * len(GRID)})
    whole = sum(GRID)
    exact, rounded = (make_vote(variant, weights_within=within).reach(inputs.public) for within in (1e-6, WITHIN))
    assert exact is not None
    assert rounded is not None
    assert rounded >= exact + WITHIN / 2 * whole * (1 - 1e-4)
    fixed = [make_vote(variant, "fixed", weights_within=within).reach(inputs.public) for within in (1e-6, WITHIN)]
    assert fixed[1] == pytest.approx((fixed[0] or 0) + 40 / 0.9 - 40, rel=0.02)


@pytest.mark.parametrize("variant", ["central", "masked"])
def test_a_total_that_is_told_is_off_by_no_more_than_noise_and_grid_together(variant: str) -> None:
    """Whatever everybody weighs, and of however many candidates: each has its part of the number beside the margins.

    Exactly, in fractions: noise that is reached as seldom as the level says, and the weight that the grid moves most.
    """
    masked: dict[str, Any] = {"threshold": 40, "colluders": 5} if variant == "masked" else {}
    for size, share, greatest in itertools.product((1, 2, 3, 7), (0.5, 0.1, 2 / 3), (3.0, 7.1, 1e6)):
        parameters = Parameters(
            candidates=tuple(f"c{number}" for number in range(size)),
            weights=(1.0, 2.7, greatest),
            variant=variant,  # pyright: ignore[reportArgumentType]  one of the names
            quota_fraction=share,
            weights_within=WITHIN,
            epsilon=0.4,
            **masked,
        )
        kind = parameters.kind(parameters)
        assert isinstance(kind, CentralVariant)
        sums, number, level = kind.central_sums, 45, 0.01
        unit = sums.step / sums.total_share
        off = [
            abs(told * unit - Fraction(str(weight)))
            for told, weight in zip(sums.totals.tolist(), parameters.weights, strict=True)
        ]
        bound = kind._total_within(number, level)  # pyright: ignore[reportPrivateUsage]  what verdicts allow for
        noise = kind.reach_in_steps(number, level) * unit
        assert float(noise + number * max(off)) <= bound * (1 + 1e-12), (size, share, greatest)
        assert max(off) <= size * unit / 2
