"""What other variants of a vote offer at the price of a session: the error of a margin in the worst case."""

import math
from collections.abc import Sequence
from typing import Any, Final

from ...protocol.dpwevote import DPWeVote, make_offers
from ...protocol.dpwevote.choice import worst_variance_of
from ...protocol.mechanisms import MAX_EPSILON
from ...protocol.phases import PhasedProtocol
from ..running.offers import Offer

_MOST_WEIGHTS: Final = 50  # above, comparing takes more than half a second
_ROUNDING: Final = 1e-9  # of sums in floating point


def offers_at_price(protocol: PhasedProtocol[Any, Any], num_parties: int) -> Sequence[Offer]:
    """Return what the other unbiased variants that trust nobody offer at the price of a vote with private weights.

    The number is that of `psephos variants`: the standard error of a candidate's margin if all partners were the worst.
    Of a vote that trusts its server nothing is offered: less trust is a wish, and not a gain; nor of a masked one.
    """
    assert isinstance(protocol, DPWeVote)  # noqa: S101  what the descriptor says
    parameters = protocol.parameters
    # With levels a session has no one price, and in a game its price is that of the first vote alone.
    has_one_price = not parameters.own_levels.epsilons and parameters.scope is None
    if parameters.kind.model.bounds_release or not has_one_price or parameters.public_weights:
        return ()
    price = parameters.epsilon_total / len(parameters.candidates)
    if price > MAX_EPSILON or len(parameters.group_means) > _MOST_WEIGHTS:
        return ()
    own = math.sqrt(num_parties * worst_variance_of(parameters))
    at_price = parameters.as_variant("two_point", epsilon=price)  # which allows any other
    is_price_new = abs(price - parameters.epsilon) > _ROUNDING * price
    return [
        Offer(
            name=f"{offer.variant} with epsilon={price:.4g}" if is_price_new else offer.variant,
            value=math.sqrt(num_parties * offer.worst_variance),
            own=own,
            of="of a margin at worst",
        )
        for offer in make_offers(at_price, is_quick=True)
        if offer.variant != parameters.variant
    ]
