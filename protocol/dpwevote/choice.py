"""Which variant is best at a price: exact worst-case variances, side by side.

What one partner adds to a margin has a variance that depends on its signed weight; the greatest is what a voter or a
planner can count on without any prior. Variants are compared at one price in all for the session: k candidates at ε
each for those that report signed weights; for `joint`, one report of the weight and k of opinions, with the split of
the same sum that is best for it.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import msgspec

from ..elementary import square
from ..estimators.frequencies import Invertible, debiased_values
from ..mechanisms import MAX_EPSILON, MIN_EPSILON, FiniteChannel, GeneralizedRandomizedResponse, has_optimal
from .laplace import LaplaceVariant
from .parameters import Parameters, VariantName
from .signed import make_report, signed_weights

__all__ = [
    "Offer",
    "decide",
    "joint_worst_variance",
    "make_offer",
    "make_offers",
    "make_paper_offer",
    "make_public_offer",
    "worst_variance_of",
]

# Splits that are tried: so many hundredths of the price go to the weight.
_SPLITS = range(1, 100)
# So many signed weights, of those that are symmetric about 0 so many, and such an ε take half a second at most.
_QUICK_VALUES = 6
_QUICK_SYMMETRIC_VALUES = 8
_QUICK_EPSILON = 5.0
# Variances that differ by less are alike, and the simpler variant is taken.
_ALIKE = 1e-6


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """What a variant offers at a price.

    Args:
        variant: which.
        epsilon_weight: of one report of the weight; 0 where there is none.
        epsilon_opinion: of one report of an opinion or of a signed weight.
        epsilon_total: of the session, for one partner.
        worst_variance: of what one partner adds to the margin of one candidate, in squared units of weight.
    """

    variant: VariantName
    epsilon_weight: float
    epsilon_opinion: float
    epsilon_total: float
    worst_variance: float


def make_offers(parameters: Parameters, *, is_quick: bool = False) -> tuple[Offer, ...]:
    """Return what the unbiased variants offer at the price of `len(candidates)`·ε, simpler ones first.

    The optimal mechanism is missing where there are more weights than it is computed for (`signed.OPTIMAL_LIMITS`).

    Args:
        parameters: any with private weights; variant and split are not used.
        is_quick: whether it is missing as well where it takes more than half a second.
    """
    variants: list[VariantName] = ["joint", "two_point", "signed_rr"]
    if not (is_quick and _takes_long(signed_weights(parameters), parameters.epsilon)):
        variants.append("optimal")
    offers = [make_offer(parameters, variant) for variant in variants]
    return tuple(offer for offer in offers if offer is not None)


def make_offer(parameters: Parameters, variant: VariantName) -> Offer | None:
    """Return what one unbiased variant offers at the price of `len(candidates)`·ε.

    Args:
        parameters: any with private weights; variant and split are not used.
        variant: "joint", "two_point", "signed_rr" or "optimal".

    Returns:
        None for the optimal mechanism where there are more weights than it is computed for, and for `joint` where no
        part of the price is large enough for a report.
    """
    price = len(parameters.candidates) * parameters.epsilon
    if variant == "joint":
        return _best_joint(parameters, price)
    if variant == "optimal" and not has_optimal(signed_weights(parameters)):
        return None
    return Offer(
        variant=variant,
        epsilon_weight=0.0,
        epsilon_opinion=parameters.epsilon,
        epsilon_total=price,
        worst_variance=make_report(parameters.as_variant(variant)).worst_variance,
    )


def make_paper_offer(parameters: Parameters) -> Offer:
    """Return what `joint` offers with the paper's split, half of ε for the weight, once, and half for each opinion.

    It is cheaper than the others where there are several candidates: (k + 1)·ε/2.
    """
    half = parameters.epsilon / 2
    return Offer(
        variant="joint",
        epsilon_weight=half,
        epsilon_opinion=half,
        epsilon_total=half * (1 + len(parameters.candidates)),
        worst_variance=joint_worst_variance(parameters, epsilon_weight=half, epsilon_opinion=half),
    )


def make_public_offer(parameters: Parameters) -> Offer:
    """Return what `joint` offers with public weights, of which opinions alone are reported: all of ε for each.

    Args:
        parameters: any; variant and split are not used. A partner of weight w adds w² times the variance that is told.
    """
    response = GeneralizedRandomizedResponse(parameters.epsilon, 2)
    return Offer(
        variant="joint",
        epsilon_weight=0.0,
        epsilon_opinion=parameters.epsilon,
        epsilon_total=len(parameters.candidates) * parameters.epsilon,
        worst_variance=max(_debiased_variances(response, (0.0, 1.0))),
    )


def decide(parameters: Parameters) -> Parameters:
    """Return parameters of variant "auto" as those of the variant with the least worst-case variance; others unchanged.

    Where weights are public, opinions alone are reported, and that is `joint`.
    """
    if parameters.variant != "auto":
        return parameters
    if parameters.public_weights:
        return msgspec.structs.replace(parameters, variant="joint")
    offers = make_offers(parameters)
    least = min(offer.worst_variance for offer in offers)
    best = next(offer for offer in offers if offer.worst_variance <= least * (1 + _ALIKE))
    if best.variant == "joint":
        return msgspec.structs.replace(
            parameters,
            variant="joint",
            epsilon_weight=best.epsilon_weight,
            epsilon_opinion=best.epsilon_opinion,
        )
    return msgspec.structs.replace(parameters, variant=best.variant)


def worst_variance_of(parameters: Parameters) -> float:
    """Return the greatest variance of what a partner adds to the unbiased margin of one candidate, by its own variant.

    Args:
        parameters: of a variant that is chosen. Where weights are public, a partner of weight w adds w² times the
            variance that is told.
    """
    if parameters.public_weights:
        return max(_debiased_variances(parameters.make_opinion_mechanism(), (0.0, 1.0)))
    if parameters.reports_signed_weights:
        return make_report(parameters).worst_variance
    if parameters.variant == "laplace":
        return LaplaceVariant(parameters).worst_variance
    return _joint_worst_variance(parameters, parameters.make_weight_mechanism(), parameters.make_opinion_mechanism())


def joint_worst_variance(parameters: Parameters, *, epsilon_weight: float, epsilon_opinion: float) -> float:
    """Return the greatest variance of ŵ·φ̂ − τ·ŵ, what a partner of variant `joint` adds to a margin.

    Both reported by k-RR. Var = E[ŵ² | w]·E[(φ̂ − τ)² | φ] − w²(φ − τ)², since the two reports are independent.
    """
    of_weight = GeneralizedRandomizedResponse(epsilon_weight, len(parameters.group_means))
    return _joint_worst_variance(parameters, of_weight, GeneralizedRandomizedResponse(epsilon_opinion, 2))


def _joint_worst_variance(parameters: Parameters, of_weight: Invertible, of_opinion: Invertible) -> float:
    weights = parameters.group_means
    second_moments = [
        variance + square(weight)
        for weight, variance in zip(weights, _debiased_variances(of_weight, weights), strict=True)
    ]
    spread = _debiased_variances(of_opinion, (0.0, 1.0))
    share = parameters.fraction
    return max(
        moment * (noise + square(opinion - share)) - square(weight * (opinion - share))
        for weight, moment in zip(weights, second_moments, strict=True)
        for opinion, noise in enumerate(spread)
    )


def _debiased_variances(mechanism: Invertible, values: Sequence[float]) -> list[float]:
    """Return the variance of the debiased report of each value."""
    debiased = [float(number) for number in debiased_values(mechanism, values)]
    if isinstance(mechanism, FiniteChannel):
        return [
            math.fsum(chance * square(number - value) for chance, number in zip(row, debiased, strict=True))
            for value, row in zip(values, mechanism.channel_matrix(), strict=True)
        ]
    keep, lie = mechanism.keep_probability, mechanism.lie_probability
    of_lies = lie * math.fsum(square(number) for number in debiased)
    return [
        (keep - lie) * square(number) + of_lies - square(value) for number, value in zip(debiased, values, strict=True)
    ]


def _best_joint(parameters: Parameters, price: float) -> Offer | None:
    """Return the best split of the price; None where no part of it is large enough to be spent on a report."""
    number = len(parameters.candidates)
    best: Offer | None = None
    for part in _SPLITS:
        # What is more than one report may cost is not spent.
        weight = min(price * part / 100, MAX_EPSILON)
        opinion = min(price * (100 - part) / 100 / number, MAX_EPSILON)
        if min(weight, opinion) < MIN_EPSILON:
            continue
        variance = joint_worst_variance(parameters, epsilon_weight=weight, epsilon_opinion=opinion)
        if best is None or variance < best.worst_variance:
            best = Offer(
                variant="joint",
                epsilon_weight=weight,
                epsilon_opinion=opinion,
                epsilon_total=weight + number * opinion,
                worst_variance=variance,
            )
    return best


def _takes_long(values: Sequence[Fraction], epsilon: float) -> bool:
    """Return whether the optimal mechanism may take more than half a second."""
    is_symmetric = set(values) == {-value for value in values}
    most = _QUICK_SYMMETRIC_VALUES if is_symmetric else _QUICK_VALUES
    return len(values) > most or epsilon > _QUICK_EPSILON
