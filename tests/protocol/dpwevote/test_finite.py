"""The estimates of `joint` and `printed` against brute force: all reports of a few partners, with their probabilities.

Means over all reports are exact, so unbiased means unbiased. The squared standard error is linear in the counts of
reports wherever its bounds do not act; evaluated at the expected counts it is therefore its own mean, which must be
the exact variance.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest
from psephos.protocol import Tally
from psephos.protocol.arrays import IntArray
from psephos.protocol.dpwevote import CandidateOutcome, DPWeVote, Outcome, Parameters
from psephos.protocol.estimators import Estimate
from strategies import told
from vote_margins import margin_of

# With these losses, three groups keep with 1/2 and lie with 1/4 each, opinions keep with 3/4: sixteenths in all.
SIXTEENTHS: dict[str, Any] = {"epsilon_weight": math.log(2), "epsilon_opinion": math.log(3)}
# In eighths, and neither of them symmetric: 64ths in all.
MATRICES: dict[str, Any] = {
    "weight_matrix": (("5/8", "2/8", "1/8"), ("1/8", "6/8", "1/8"), (0.25, 0.25, 0.5)),
    "opinion_matrix": ((0.75, 0.25), (0.125, 0.875)),
}
COPIES = 64

Reports = tuple[tuple[int, int | None], ...]
"""A reported group, and an opinion or None, of each who reports; in order, so that equal tallies are computed once."""


@dataclasses.dataclass(frozen=True)
class Partner:
    """A weight and an opinion; a partner that is absent reports the weight alone."""

    weight: float
    opinion: int
    absent: bool = False


PARTIES = {
    "mixed": (Partner(1, 1), Partner(3, 0), Partner(2, 1)),
    "heavy": (Partner(3, 1), Partner(3, 1), Partner(3, 0)),
    "one absent": (Partner(3, 1), Partner(1, 0), Partner(2, 1, absent=True)),
    "two absent": (Partner(2, 1), Partner(3, 1, absent=True), Partner(1, 0, absent=True)),
}
QUOTAS: dict[str, dict[str, Any]] = {
    "majority": {},
    "two thirds": {"quota_fraction": 2 / 3},
    "unanimity": {"quota_fraction": 1.0},
    "fixed": {"quota": 4.5},
}
kinds = pytest.mark.parametrize("reports", [SIXTEENTHS, MATRICES], ids=["k-RR", "matrices"])
parties = pytest.mark.parametrize("partners", list(PARTIES.values()), ids=list(PARTIES))
quotas = pytest.mark.parametrize("quota", list(QUOTAS.values()), ids=list(QUOTAS))


def make_vote(**given: Any) -> DPWeVote:
    reports: dict[str, Any] = {} if given.keys() & MATRICES.keys() else SIXTEENTHS
    fields: dict[str, Any] = {"candidates": ("a",), **reports, **given}
    return DPWeVote(Parameters(**fields))


def report_laws(vote: DPWeVote, partner: Partner) -> list[tuple[float, int, int | None]]:
    """Return (probability, reported group, reported opinion or None) of one partner."""
    parameters = vote.parameters
    group = parameters.group_of_weight[parameters.weights.index(partner.weight)]
    opinions = parameters.make_opinion_mechanism().channel_matrix()[partner.opinion]
    if parameters.public_weights:
        return [(chance, group, opinion) for opinion, chance in enumerate(opinions)]
    channel = parameters.make_weight_mechanism().channel_matrix()
    if partner.absent:
        return [(chance, reported, None) for reported, chance in enumerate(channel[group])]
    return [
        (chance * of_opinion, reported, opinion)
        for reported, chance in enumerate(channel[group])
        for opinion, of_opinion in enumerate(opinions)
    ]


def tallies_of(vote: DPWeVote, counted: list[tuple[int, int, int | None]]) -> list[Tally]:
    """Return the tallies of (how many, reported group, reported opinion or None)."""
    num_groups = len(vote.parameters.group_means)
    weights, opinions = np.zeros(num_groups, dtype=np.int64), np.zeros((1, num_groups, 2), dtype=np.int64)
    for number, group, opinion in counted:
        weights[group] += number
        if opinion is not None:
            opinions[0, group, opinion] += number
    of_opinions = Tally(int(opinions.sum()), opinions)
    return [of_opinions] if vote.parameters.public_weights else [Tally(int(weights.sum()), weights), of_opinions]


def laws_of_reports(vote: DPWeVote, partners: Iterable[Partner]) -> dict[Reports, float]:
    """Return P[reports come], whoever sends which: the sum over all vectors of reports."""
    law: dict[Reports, float] = {(): 1.0}
    for partner in partners:
        longer: dict[Reports, float] = {}
        for (chance, group, opinion), (others, of_others) in itertools.product(report_laws(vote, partner), law.items()):
            reports = tuple(sorted((*others, (group, opinion)), key=repr))
            longer[reports] = longer.get(reports, 0.0) + chance * of_others
        law = longer
    return law


@functools.lru_cache(maxsize=20_000)
def outcome_of(vote: DPWeVote, *rounds: Reports) -> Outcome:
    told = [[(1, group, opinion) for group, opinion in reports] for reports in rounds]
    return vote.outcome([tally for of_round in told for tally in tallies_of(vote, of_round)])


def all_outcomes(vote: DPWeVote, partners: tuple[Partner, ...]) -> list[tuple[float, Outcome]]:
    """Return the outcomes of all reports, with their probabilities."""
    return [(chance, outcome_of(vote, reports)) for reports, chance in laws_of_reports(vote, partners).items()]


def at_expected_counts(vote: DPWeVote, partners: tuple[Partner, ...], *, rounds: int = 1) -> Outcome:
    """Return the outcome of many copies of each partner whose reports come exactly as often as expected."""
    counted = [
        (round(COPIES * chance), group, opinion)
        for partner in partners
        for chance, group, opinion in report_laws(vote, partner)
    ]
    return vote.outcome(tallies_of(vote, counted) * rounds)


def first(outcome: Outcome) -> CandidateOutcome:
    return outcome.candidates[0]


def estimates_in(outcome: Outcome) -> list[Estimate]:
    """Return margin, support and quota of the first candidate, the total weight, and the numbers of each weight."""
    candidate, counts = first(outcome), (entry.count for entry in outcome.weight_counts)
    return [margin_of(candidate), *map(told, (candidate.support, candidate.quota, outcome.total_weight)), *counts]


def unbiased_margins(outcome: Outcome) -> list[float]:
    return [margin_of(candidate).value - candidate.bias for candidate in outcome.candidates]


def squared_errors(outcome: Outcome) -> list[float]:
    return [estimate.standard_error**2 / COPIES for estimate in estimates_in(outcome)]


def means_and_variances(
    outcomes: list[tuple[float, Outcome]],
    quantities: Callable[[Outcome], list[float]] = lambda outcome: [each.value for each in estimates_in(outcome)],
) -> tuple[list[float], list[float]]:
    """Return these of some numbers, by default of all estimates."""
    chances, values = np.array([chance for chance, _ in outcomes]), np.array([quantities(o) for _, o in outcomes])
    assert chances.sum() == pytest.approx(1)
    means = chances @ values
    return means.tolist(), (chances @ (values - means) ** 2).tolist()


def true_support(partners: tuple[Partner, ...]) -> float:
    return sum(partner.weight * partner.opinion for partner in partners if not partner.absent)


def true_quota(vote: DPWeVote, partners: tuple[Partner, ...]) -> float:
    if vote.parameters.quota is not None:
        return vote.parameters.quota
    return vote.parameters.fraction * sum(partner.weight for partner in partners)


@pytest.mark.unmeasured
@parties
@quotas
@pytest.mark.parametrize(
    ("variant", "reports"),
    [("joint", SIXTEENTHS), ("joint", MATRICES), ("printed", SIXTEENTHS)],
    ids=["k-RR", "matrices", "printed"],
)
def test_estimates_are_unbiased_and_so_is_the_printed_bias(
    variant: str, partners: tuple[Partner, ...], quota: dict[str, Any], reports: dict[str, Any]
) -> None:
    """Reading W2: E[μ(g) | w] = c·w + (1 − c)·2 with c = (3p − 1)/2 = 1/4 here; the quota is not shrunk."""
    vote = make_vote(variant=variant, **quota, **reports)
    outcomes = all_outcomes(vote, partners)
    counted = [p if variant == "joint" else Partner(p.weight / 4 + 3 / 2, p.opinion, p.absent) for p in partners]
    support, held_against = true_support(tuple(counted)), true_quota(vote, partners)
    weights = [partner.weight for partner in partners]
    expected = [support - held_against, support, held_against, sum(weights), *map(weights.count, (1, 2, 3))]
    assert means_and_variances(outcomes)[0] == pytest.approx(expected, abs=1e-9)
    (bias,), (spread,) = means_and_variances(outcomes, lambda outcome: [first(outcome).bias])
    assert bias == pytest.approx(support - true_support(partners), abs=1e-9)
    assert variant == "printed" or spread == bias == 0


@pytest.mark.unmeasured
@parties
@quotas
@pytest.mark.parametrize(
    "reports",
    [
        pytest.param(SIXTEENTHS, id="k-RR"),
        pytest.param(MATRICES, id="matrices", marks=pytest.mark.full("all reports once more, by another channel")),
    ],
)
@pytest.mark.parametrize("variant", ["joint", "printed"])
def test_the_mean_squared_standard_error_is_the_exact_variance(
    variant: str, partners: tuple[Partner, ...], quota: dict[str, Any], reports: dict[str, Any]
) -> None:
    vote = make_vote(variant=variant, **quota, **reports)
    outcomes = all_outcomes(vote, partners)
    _, variances = means_and_variances(outcomes)
    assert squared_errors(at_expected_counts(vote, partners)) == pytest.approx(variances, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("variant", ["joint", "printed"])
def test_who_reports_a_weight_alone_adds_the_error_of_its_share_of_the_quota(variant: str) -> None:
    """Exactly, over all reports: where the quota is no half, a share and its square are not alike."""
    partners = (Partner(1, 1), Partner(3, 0, absent=True), Partner(2, 0, absent=True))
    for fraction in (0.25, 1.0):
        vote = make_vote(variant=variant, quota_fraction=fraction)
        _, (variance, *_) = means_and_variances(all_outcomes(vote, partners))
        assert squared_errors(at_expected_counts(vote, partners))[0] == pytest.approx(variance, rel=1e-9)


@parties
def test_the_printed_margin_less_its_bias_is_the_unbiased_one_and_has_its_verdict(
    partners: tuple[Partner, ...],
) -> None:
    vote, unbiased = make_vote(variant="printed"), make_vote(variant="joint")
    for reports in itertools.islice(itertools.product(*(report_laws(vote, p) for p in partners)), 0, None, 5):
        tallies = tallies_of(vote, [(1, group, opinion) for _, group, opinion in reports])
        printed, joint = first(vote.outcome(tallies)), first(unbiased.outcome(tallies))
        assert margin_of(printed).value - printed.bias == pytest.approx(margin_of(joint).value, abs=1e-9)
        assert printed.leans_yes == (margin_of(printed).value >= 0)
        assert printed.verdict == joint.verdict


PUBLIC_PARTNERS = (Partner(1, 1), Partner(2, 0), Partner(3, 1), Partner(3, 0))


def test_a_matrix_of_k_rr_estimates_as_k_rr_does() -> None:
    """At p = 1/2 of three weights and 3/4 of two opinions, whatever is reported."""
    krr, own = (
        make_vote(),
        make_vote(
            weight_matrix=((0.5, 0.25, 0.25), (0.25, 0.5, 0.25), (0.25, 0.25, 0.5)),
            opinion_matrix=((0.75, 0.25), (0.25, 0.75)),
        ),
    )
    assert own.parameters.epsilon_total == pytest.approx(krr.parameters.epsilon_total)
    for (_, one), (_, other) in zip(
        all_outcomes(krr, PARTIES["mixed"]), all_outcomes(own, PARTIES["mixed"]), strict=True
    ):
        assert margin_of(first(one)).value == pytest.approx(margin_of(first(other)).value)
        assert margin_of(first(one)).standard_error == pytest.approx(margin_of(first(other)).standard_error)


@quotas
@pytest.mark.parametrize(
    ("given", "variances"),
    [
        # Binary randomized response at e^ε = 3: pq/(p − q)² = 3/4 for each partner, times its squared weight.
        ({"variant": "joint"}, (3 / 4, 3 / 4)),
        ({"variant": "printed"}, (3 / 4, 3 / 4)),
        # By the matrix φ̂ is −2/5 and 6/5: variances 12/25 of a "no" and 7/25 of a "yes".
        ({"opinion_matrix": MATRICES["opinion_matrix"]}, (12 / 25, 7 / 25)),
    ],
    ids=["joint", "printed", "matrix"],
)
def test_public_weights_are_estimated_without_bias_and_with_their_own_error(
    given: dict[str, Any], variances: tuple[float, float], quota: dict[str, Any]
) -> None:
    fields: dict[str, Any] = {"public_weights": True, **given, **quota}
    vote = make_vote(**fields, **({"epsilon_weight": None} if "variant" in given else {}))
    outcomes = all_outcomes(vote, PUBLIC_PARTNERS)
    (margin, *_), (variance, *_) = means_and_variances(outcomes)
    assert margin == pytest.approx(true_support(PUBLIC_PARTNERS) - true_quota(vote, PUBLIC_PARTNERS), abs=1e-9)
    assert variance == pytest.approx(sum(variances[each.opinion] * each.weight**2 for each in PUBLIC_PARTNERS))
    for _, outcome in outcomes:
        if "variant" in given:
            assert margin_of(first(outcome)).standard_error == pytest.approx(math.sqrt(variance))
            assert told(first(outcome).support).standard_error == pytest.approx(math.sqrt(variance))
        assert outcome.total_weight == Estimate(9.0, 0.0)
        assert first(outcome).quota == Estimate(true_quota(vote, PUBLIC_PARTNERS), 0.0)
        assert first(outcome).bias == 0
        assert outcome.weight_counts == ()


GROUPED: dict[str, Any] = {
    "weights": (1.0, 2.0, 6.0, 10.0, 11.0),
    "groups": ((1.0, 2.0, 6.0), (10.0, 11.0)),
    "epsilon_weight": math.log(3),
}


@pytest.mark.unmeasured
@quotas
@pytest.mark.parametrize("variant", ["joint", "printed"])
def test_grouped_weights_move_the_margin_by_their_bound_at_most(variant: str, quota: dict[str, Any]) -> None:
    """Reading W7: the estimate is that of the group means; Σ(w − μ)(φ − τ) is what it misses.

    Two partners of weight 6, which a mean of 3 stands for, both for or both against, reach the bound.
    """
    vote = make_vote(**GROUPED, **quota, variant=variant)
    missed: list[float] = []
    bound = math.nan
    for weights in itertools.combinations_with_replacement(GROUPED["weights"], 2):
        for opinions in itertools.product((0, 1), repeat=2):
            for absent in (False, True):
                partners = (Partner(weights[0], opinions[0]), Partner(weights[1], opinions[1], absent))
                outcomes = all_outcomes(vote, partners)
                (unbiased,), _ = means_and_variances(outcomes, unbiased_margins)
                truth = true_support(partners) - true_quota(vote, partners)
                missed.append(abs(unbiased - truth))
                bound = outcomes[0][1].weight_bias_bound
    assert max(missed) == pytest.approx(bound)


def test_weights_that_are_not_grouped_have_no_bias_bound() -> None:
    assert at_expected_counts(make_vote(), PARTIES["mixed"]).weight_bias_bound == 0


def per_candidate_outcomes(
    vote: DPWeVote, weights: tuple[float, ...], opinions: list[tuple[int, ...]]
) -> Iterator[tuple[float, Outcome]]:
    """Yield the outcomes of all reports of all rounds, with their probabilities."""
    rounds = [laws_of_reports(vote, map(Partner, weights, of_round)) for of_round in opinions]
    for reports in itertools.product(*rounds):
        chance = math.prod(law[of_round] for law, of_round in zip(rounds, reports, strict=True))
        yield chance, outcome_of(vote, *reports)


@pytest.mark.few(most=1)
@pytest.mark.unmeasured
@pytest.mark.parametrize("variant", ["joint", "printed"])
def test_weights_collected_for_each_candidate_are_averaged(variant: str) -> None:
    """Two rounds of independent reports: the total weight has half the variance of one round's, each margin its own."""
    vote = make_vote(candidates=("a", "b"), weight_collection="per_candidate", variant=variant)
    outcomes = list(per_candidate_outcomes(vote, (1.0, 3.0), [(1, 0), (1, 1)]))
    means, variances = means_and_variances(outcomes)
    _, alone = means_and_variances(all_outcomes(make_vote(variant=variant), (Partner(1, 1), Partner(3, 0))))
    assert means[3:] == pytest.approx([4, 1, 0, 1], abs=1e-9)
    assert variances[3:] == pytest.approx([each / 2 for each in alone[3:]])
    assert variances[0] == pytest.approx(alone[0])
    assert means_and_variances(outcomes, unbiased_margins)[0] == pytest.approx([1 - 2, 4 - 2])


def test_the_average_over_rounds_states_its_own_standard_error() -> None:
    vote = make_vote(candidates=("a", "b"), weight_collection="per_candidate")
    partners = (Partner(1, 1), Partner(3, 0))
    expected = at_expected_counts(vote, partners, rounds=2)
    _, variances = means_and_variances(all_outcomes(make_vote(), partners))
    assert squared_errors(expected)[3:] == pytest.approx([each / 2 for each in variances[3:]])
    assert expected.num_partners == COPIES * 2


@pytest.mark.parametrize("projected", [False, True])
def test_the_weights_phase_publishes_the_quota(*, projected: bool) -> None:
    """Reports (6, 4, 2) at e^ε = 2: x̂ = 4(y − 3) = (12, 4, −4), total 12 + 8 − 12 = 8, quota 4.

    Impossible counts are projected on request.
    """
    weights_phase, _ = make_vote(project_counts=projected).phases
    tally = weights_phase.tally(as_column([0] * 6 + [1] * 4 + [2] * 2), earlier=[], public=no_columns(12))
    assert tally == Tally(12, np.array([6, 4, 2]))
    published: Any = weights_phase.outcome([tally])
    assert published.total_weight.value == pytest.approx(8)
    assert published.quota.value == pytest.approx(4)
    assert [entry.weight for entry in published.weight_counts] == [1.0, 2.0, 3.0]
    assert [entry.count.value for entry in published.weight_counts] == [pytest.approx(value) for value in (12, 4, -4)]
    nearest = [pytest.approx(value, abs=1e-12) for value in (10, 2, 0)] if projected else [None] * 3
    assert [entry.projected for entry in published.weight_counts] == nearest


def test_opinions_are_counted_in_the_reported_group() -> None:
    """Reading W1: by what the partner reported just before, or by its public weight."""
    _, opinions = make_vote(candidates=("a", "b")).phases
    reports = np.array([[1, 0], [1, 1], [0, 1]])
    tally = opinions.tally(reports, earlier=[as_column([2, 0, 2])], public=no_columns(3))
    assert tally.num_reports == 3
    assert tally.totals.tolist() == [[[0, 1], [0, 0], [1, 1]], [[0, 1], [0, 0], [1, 1]]]
    (public,) = make_vote(candidates=("a", "b"), public_weights=True, epsilon_weight=None).phases
    by_weight = public.tally(reports, earlier=[], public=np.array([[1, 1], [0, 0], [1, 1]]))
    assert by_weight.totals.tolist() == [[[0, 1], [1, 1], [0, 0]], [[0, 1], [1, 1], [0, 0]]]


def as_column(numbers: list[int]) -> IntArray:
    return np.array(numbers).reshape(-1, 1)


def no_columns(num_rows: int) -> IntArray:
    return np.empty((num_rows, 0), dtype=np.int64)


@pytest.mark.parametrize("passes", ["at_least", "more_than"])
def test_a_verdict_on_two_thirds_of_thirty_is_that_on_a_quota_of_twenty(passes: Any) -> None:
    """A float's 2/3 of 30 is less than 20, which then would have to pass as well where more is needed."""
    given: dict[str, Any] = {"weights": (1.0,), "public_weights": True, "epsilon": 3.0, "passes": passes}
    quotas: list[dict[str, Any]] = [{"quota_fraction": 2 / 3}, {"quota": 20.0}]
    votes = [make_vote(**given, epsilon_weight=None, epsilon_opinion=None, **quota) for quota in quotas]
    for yes in range(31):
        tally = Tally(30, np.array([[[30 - yes, yes]]]))
        ours, theirs = (vote.outcome([tally]).candidates[0].verdict for vote in votes)
        assert ours == theirs
