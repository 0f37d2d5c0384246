"""The best variant for a privacy cost, by exact worst-case variances.

The variance of a partner's contribution to a margin depends on its signed weight. The greatest one holds without any
prior. Variants are compared at the same total cost for a session of k candidates: k·ε for variants that report signed
weights; for `joint`, the best split of k·ε between one report of the weight and k reports of opinions.
"""

import math
import operator
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from ..mechanisms import GeneralizedRandomizedResponse
from .central import CentralVariant
from .finite import debiased_variances, joint_worst_variance
from .heavy import decision_chances
from .parameters import VARIANTS, Parameters
from .variant import Offer

# If variances differ by a smaller share, they count as equal, and the simpler variant is taken.
_ALIKE = 1e-6
_ALIKE_CHANCES: Final = 1e-9
_LEAST_SHARE: Final = 0.05
"""The least share of partners that say yes, and that say no, in the votes for which the noise weight is optimized."""


def make_offers(parameters: Parameters) -> tuple[Offer, ...]:
    """Return the alternatives among unbiased local variants at a cost of `len(candidates)`·ε, simpler first.

    The optimal mechanism is missing if there are too many weights to compute it (`signed.OPTIMAL_LIMITS`).

    Args:
        parameters: parameters with private weights; variant and split are ignored.

    Examples:
        >>> offers = make_offers(Parameters(candidates=("merger",), weights=(1.0, 2.0)))
        >>> {offer.variant: round(offer.worst_variance, 1) for offer in offers}
        {'joint': 29.0, 'two_point': 4.4, 'signed_rr': 7.2, 'optimal': 3.9}
    """
    kinds = (kind for kind in VARIANTS.values() if not kind.model.bounds_release)
    return tuple(offer for kind in kinds if (offer := kind.offer_of(parameters)) is not None)


def with_noise_weight(parameters: Parameters, numbers: Sequence[int]) -> Parameters:
    """Return parameters of `central` with the noise weight that makes decisions most often right.

    Parameters are returned unchanged if no noise weight is better, if one is set, if weights are private, or if only
    decisions are released.

    Args:
        parameters: the parameters of a vote.
        numbers: the number of partners with each weight of the set.

    Examples:
        >>> given = {"weights": (1.0, 10.0), "public_weights": True, "variant": "central", "epsilon": 2.0}
        >>> with_noise_weight(Parameters(candidates=("merger",), **given), [50, 1]).noise_weight
        1.0
    """
    is_central = parameters.variant == CentralVariant.name and parameters.public_weights
    if not is_central or parameters.release == "decision" or parameters.noise_weight is not msgspec.UNSET:
        return parameters
    chances = chances_of_decisions(parameters, numbers)
    # Of equally good noise weights the greatest is taken, so that the fewest partners are heavy.
    most = max(chances.values(), default=0.0)
    best_weight = next((weight for weight, chance in chances.items() if chance >= most - _ALIKE_CHANCES), 0.0)
    if best_weight == max(chances, default=0.0):
        return parameters
    return msgspec.structs.replace(parameters, noise_weight=best_weight)


def chances_of_decisions(parameters: Parameters, numbers: Sequence[int]) -> Mapping[float, float]:
    """Return the probability that `central` with public weights decides rightly, by noise weight.

    Noise weight 0 is equivalent to `joint`. Each partner says yes with a probability that equals the quota's share of
    all weight: see `heavy.decision_chances`.

    Args:
        parameters: the parameters of a vote.
        numbers: the number of partners with each weight of the set.

    Examples:
        >>> parameters = Parameters(candidates=("merger",), weights=(1.0, 10.0), public_weights=True, epsilon=2.0)
        >>> {weight: round(chance, 3) for weight, chance in chances_of_decisions(parameters, [50, 1]).items()}
        {10.0: 0.792, 1.0: 0.853, 0.0: 0.831}
    """
    share = parameters.fraction
    if parameters.quota is not None:
        share = parameters.quota / max(math.fsum(map(operator.mul, parameters.weights, numbers)), parameters.quota)
    share = min(max(share, _LEAST_SHARE), 1 - _LEAST_SHARE)
    return decision_chances(parameters.weights, tuple(numbers), epsilon=parameters.epsilon, share=share)


def make_central_offer(parameters: Parameters, numbers: Sequence[int] = ()) -> Offer:
    """Return the alternative `central` at a cost of `len(candidates)`·ε.

    Args:
        parameters: the parameters of a vote; variant and split are ignored.
        numbers: the number of partners with each public weight, for which the best noise weight is chosen. By default
            noise protects all partners.

    Examples:
        >>> offer = make_central_offer(Parameters(candidates=("merger",), epsilon=1.0))
        >>> round(offer.error(num_partners=30), 2)
        4.24
    """
    parameters = parameters.with_variant("central")
    if numbers:
        parameters = with_noise_weight(parameters, numbers)
    variant = parameters.kind(parameters)
    assert isinstance(variant, CentralVariant)  # noqa: S101  of this variant
    return msgspec.structs.replace(variant.offer, server_variance=variant.server_variance_of(numbers))


def make_paper_offer(parameters: Parameters) -> Offer:
    """Return `joint` with the paper's split: half of ε for the weight, once, and half for each opinion.

    With several candidates it costs less than the others: (k + 1)·ε/2.

    Examples:
        >>> offer = make_paper_offer(Parameters(candidates=("merger", "budget"), epsilon=2.0))
        >>> (offer.epsilon_weight, offer.epsilon_opinion, offer.epsilon_total)
        (1.0, 1.0, 3.0)
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
    """Return `joint` with public weights, in which only opinions are reported, each with all of ε.

    The stated variance is that for weight 1; a partner of weight w adds w² times as much. Variant and split of the
    parameters are ignored.

    Examples:
        >>> offer = make_public_offer(Parameters(candidates=("merger",), epsilon=2.0))
        >>> (offer.epsilon_weight, offer.epsilon_opinion, round(offer.worst_variance, 3))
        (0.0, 2.0, 0.181)
    """
    response = GeneralizedRandomizedResponse(parameters.epsilon, 2)
    return Offer(
        variant="joint",
        epsilon_weight=0.0,
        epsilon_opinion=parameters.epsilon,
        epsilon_total=len(parameters.candidates) * parameters.epsilon,
        worst_variance=max(debiased_variances(response, (0.0, 1.0))),
    )


def decide(parameters: Parameters) -> Parameters:
    """Replace variant "auto" by the variant with the least worst-case variance; return other parameters unchanged.

    If weights are public, only opinions are reported, so it is `joint`.

    Examples:
        >>> decide(Parameters(candidates=("merger",), weights=(1.0, 2.0), variant="auto")).variant
        'optimal'
        >>> decide(Parameters(candidates=("merger",), public_weights=True, variant="auto")).variant
        'joint'
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
            parameters, variant="joint", epsilon_weight=best.epsilon_weight, epsilon_opinion=best.epsilon_opinion
        )
    return msgspec.structs.replace(parameters, variant=best.variant)


def worst_variance_of(parameters: Parameters) -> float:
    """Return the greatest variance of a partner's contribution to the unbiased margin of one candidate.

    If weights are public, the result is that for weight 1; a partner of weight w adds w² times as much.
    """
    if parameters.public_weights and not parameters.kind.model.bounds_release:
        return max(debiased_variances(parameters.make_opinion_mechanism(), (0.0, 1.0)))
    return parameters.kind(parameters).worst_variance
