"""Which variant is best at a price: worst variances by brute force, equal prices, and what "auto" becomes."""

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest
from makers import as_usual
from psephos.protocol.dpwevote import DPWeVote, Offer, Parameters, decide, make_offers
from psephos.protocol.dpwevote.finite import joint_worst_variance
from psephos.protocol.dpwevote.signed import make_report
from psephos.protocol.estimators import LinearEstimator, debiased_values
from psephos.protocol.estimators.frequencies import inverse_matrix
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse

make_parameters = as_usual(Parameters, candidates=("a",), variant="auto")


def offers_of(**given: Any) -> dict[str, Offer]:
    return {offer.variant: offer for offer in make_offers(make_parameters(**given))}


def worst_variance_by_the_channel(parameters: Parameters, *, epsilon_weight: float, epsilon_opinion: float) -> float:
    """Return the greatest variance over (weight, opinion) from the law of both reports together."""
    weights = [Fraction(mean) for mean in parameters.group_means]
    of_weight = GeneralizedRandomizedResponse(epsilon_weight, len(weights))
    of_opinion = GeneralizedRandomizedResponse(epsilon_opinion, 2)
    rows = itertools.product(of_weight.channel_matrix(), of_opinion.channel_matrix())
    channel = [[a * b for a in row for b in other] for row, other in rows]
    inverses = itertools.product(inverse_matrix(of_weight), inverse_matrix(of_opinion))
    inverse = [[a * b for a in row for b in other] for row, other in inverses]
    pairs = itertools.product(debiased_values(of_weight, weights), debiased_values(of_opinion, (0, 1)))
    contributions = [weight * (opinion - Fraction(parameters.fraction)) for weight, opinion in pairs]
    estimator = LinearEstimator(contributions, channel, inverse)
    return max(estimator.variance(value) for value in range(len(channel)))


@pytest.mark.parametrize(("epsilon_weight", "epsilon_opinion"), [(0.5, 0.5), (2.0, 0.7), (0.1, 5.0), (9.0, 9.0)])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"quota_fraction": 2 / 3},
        {"quota": 9.0},
        {"weights": (1.0, 50.0)},
        {"weights": (1.0, 2.0, 6.0), "groups": ((1.0, 2.0), (6.0,))},
    ],
    ids=str,
)
def test_the_variance_of_two_reports_is_that_of_their_law(
    given: dict[str, Any], epsilon_weight: float, epsilon_opinion: float
) -> None:
    parameters = make_parameters(**given)
    split = {"epsilon_weight": epsilon_weight, "epsilon_opinion": epsilon_opinion}
    assert joint_worst_variance(parameters, **split) == pytest.approx(
        worst_variance_by_the_channel(parameters, **split), rel=1e-9
    )


@pytest.mark.few(most=2)
@pytest.mark.parametrize("candidates", [("a",), ("a", "b", "c")])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
def test_all_offers_have_one_price(candidates: tuple[str, ...], epsilon: float) -> None:
    offers = offers_of(candidates=candidates, epsilon=epsilon)
    assert list(offers) == ["joint", "two_point", "signed_rr", "optimal"]
    for offer in offers.values():
        assert offer.epsilon_total == pytest.approx(epsilon * len(candidates), rel=1e-12)
        assert offer.epsilon_weight + len(candidates) * offer.epsilon_opinion == pytest.approx(offer.epsilon_total)
    signed = {"weight": 0.0, "opinion": epsilon}
    for variant in ("two_point", "signed_rr", "optimal"):
        offer = offers[variant]
        assert {"weight": offer.epsilon_weight, "opinion": offer.epsilon_opinion} == signed
        report = make_report(make_parameters(variant=variant, epsilon=epsilon))
        assert offer.worst_variance == report.worst_variance


@pytest.mark.parametrize("number", [1, 4])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_the_joint_offer_is_the_best_of_a_hundred_splits(number: int, epsilon: float) -> None:
    parameters = make_parameters(candidates=tuple("abcd"[:number]), epsilon=epsilon)
    price = number * epsilon
    by_hand = min(
        worst_variance_by_the_channel(
            parameters, epsilon_weight=price * part / 100, epsilon_opinion=price * (1 - part / 100) / number
        )
        for part in range(1, 100)
    )
    assert make_offers(parameters)[0].worst_variance == pytest.approx(by_hand, rel=1e-9)


def test_the_readings_offers_at_one() -> None:
    """W8: 35.8 and 41.1 for weights 1, 2, 3, in whole units of signed weight; halves of them here."""
    offers = offers_of(epsilon=1.0)
    assert 4 * offers["optimal"].worst_variance == pytest.approx(35.8, abs=0.05)
    assert 4 * offers["two_point"].worst_variance == pytest.approx(41.1, abs=0.05)


@pytest.mark.few(most=3)
@pytest.mark.unmeasured
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0, 6.0, 12.0, 30.0])
@pytest.mark.parametrize(
    "given", [{}, {"candidates": ("a", "b", "c", "d")}, {"weights": (1.0, 20.0)}, {"quota": 5.0}], ids=str
)
def test_auto_is_the_variant_with_the_least_worst_variance(given: dict[str, Any], epsilon: float) -> None:
    parameters = make_parameters(epsilon=epsilon, **given)
    offers = make_offers(parameters)
    chosen = decide(parameters)
    least = min(offer.worst_variance for offer in offers)
    (offer,) = (offer for offer in offers if offer.variant == chosen.variant)
    assert offer.worst_variance <= least * (1 + 1e-6)
    # Of those that are alike, the first is the simplest.
    assert chosen.variant == next(o.variant for o in offers if o.worst_variance <= least * (1 + 1e-6))
    assert chosen.epsilon_total == pytest.approx(offer.epsilon_total)
    assert chosen.loss_of_weight == offer.epsilon_weight
    assert chosen.loss_of_opinion == offer.epsilon_opinion
    assert DPWeVote(parameters).parameters == chosen


def test_many_candidates_share_one_report_of_a_wide_range_of_weights() -> None:
    """Where weights are told once for forty candidates, two reports beat forty that each hide the weight anew."""
    parameters = make_parameters(candidates=tuple(f"c{n}" for n in range(40)), epsilon=2.0)
    chosen = decide(parameters)
    assert chosen.variant == min(make_offers(parameters), key=lambda offer: offer.worst_variance).variant


@pytest.mark.parametrize("number", [1, 1000])
@pytest.mark.parametrize("epsilon", [1e-9, 1e-8, 30.0])
def test_there_are_offers_at_every_price(number: int, epsilon: float) -> None:
    """A price of which no part is a report's leaves `joint` out; more than reports may cost is not spent."""
    parameters = make_parameters(candidates=tuple(f"c{n}" for n in range(number)), epsilon=epsilon)
    offers = make_offers(parameters)
    assert {offer.variant for offer in offers} >= {"two_point", "signed_rr", "optimal"}
    for offer in offers:
        assert offer.epsilon_total <= number * epsilon * (1 + 1e-12)
        assert max(offer.epsilon_weight, offer.epsilon_opinion) <= 30
        assert 0 < offer.worst_variance < math.inf
    assert ("joint" in {offer.variant for offer in offers}) == (epsilon > 1e-9)
    assert decide(parameters).epsilon_total <= number * epsilon * (1 + 1e-12)


def test_opinions_alone_are_joint() -> None:
    parameters = make_parameters(public_weights=True, epsilon=1.5)
    chosen = decide(parameters)
    assert (chosen.variant, chosen.loss_of_weight, chosen.loss_of_opinion) == ("joint", 0.0, 1.5)
    assert [phase.name for phase in DPWeVote(parameters).phases] == ["opinions"]


@pytest.mark.parametrize(
    ("number", "quota", "solved"), [(10, None, True), (11, None, False), (19, 7.0, True), (20, 7.0, False)]
)
def test_more_weights_than_the_optimum_is_computed_for_have_the_best_of_the_others(
    number: int, quota: float | None, *, solved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two signed weights each, or one and a zero for a fixed quota; twenty in all."""
    asked: list[str] = []

    def make(parameters: Parameters) -> Any:
        asked.append(parameters.variant)
        variant = "two_point" if parameters.variant == "optimal" else parameters.variant  # it takes ten seconds
        return make_report(make_parameters(variant=variant, weights=parameters.weights, quota=parameters.quota))

    monkeypatch.setattr("psephos.protocol.dpwevote.signed.make_report", make)
    parameters = make_parameters(weights=tuple(float(n) for n in range(1, number + 1)), quota=quota)
    offers = make_offers(parameters)
    assert ("optimal" in asked) == solved == (offers[-1].variant == "optimal")
    chosen = decide(parameters)
    assert chosen.variant == min(offers[: 3 + solved], key=lambda offer: offer.worst_variance).variant


@pytest.mark.parametrize("variant", ["joint", "printed", "laplace", "two_point", "signed_rr", "optimal"])
def test_what_is_decided_stays(variant: str) -> None:
    parameters = make_parameters(variant=variant)
    assert decide(parameters) is parameters


def test_offers_do_not_depend_on_variant_split_or_prior() -> None:
    expected = make_offers(make_parameters(epsilon=1.5))
    split = {"epsilon_weight": 1.0, "weight_collection": "per_candidate", "project_counts": True}
    assert make_offers(make_parameters(epsilon=1.5, variant="joint", **split)) == expected
    assert make_offers(make_parameters(epsilon=1.5, variant="optimal", prior="uniform")) == expected
    assert make_offers(make_parameters(epsilon=1.5, variant="laplace")) == expected
