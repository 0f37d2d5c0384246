"""What another variant of a system would offer at the price that a run has: said in one line where it is much better.

A system brings `offers` (`system.System`): other variants beside the session's own, by a number that both have. It
offers only what is computed in half a second on one core of a desktop, which it knows by the size of the problem, so
that a run says the same on every machine.

What is asked in passing, of sessions that nobody holds, never refuses or changes the one that is held: `if_allowed`.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Final, ParamSpec, TypeVar

from ...protocol.errors import ConfigurationError
from ...protocol.phases import PhasedProtocol
from ..presentation.numbers import decimals_of, rounded
from ..system import part_of

P = ParamSpec("P")
T = TypeVar("T")

WORTH_SAYING: Final = 0.1
"""By such a share another variant must be better for a run to say so."""

_ROUNDING: Final = 1e-9  # of quotients: a tenth is a tenth


@dataclasses.dataclass(frozen=True, kw_only=True)
class Offer:
    """What another variant would offer at the same price.

    Args:
        name: of the variant, with the parameters that give it the session's price where these differ.
        value: what it offers, > 0.
        own: the same number of the session's variant, > 0.
        of: what the numbers are of, as words that follow them.
        sign: stands before the numbers.
        is_less_better: whether the smaller number is better, as of errors; else the greater one is.
    """

    name: str
    value: float
    own: float
    of: str
    sign: str = "± "
    is_less_better: bool = True

    @property
    def gain(self) -> float:
        """By which share of the session's own number it is better; negative where it is worse."""
        gain = self.value / self.own - 1
        return -gain if self.is_less_better else gain


Offers = Callable[[PhasedProtocol[Any, Any], int], Sequence[Offer]]
"""A system's part: protocol, number of parties → what other variants offer at the same price."""


def if_allowed(ask: Callable[P, T], *args: P.args, **settings: P.kwargs) -> T | None:
    """Return what a session that nobody holds would tell or offer; None where there can be no such session."""
    try:
        return ask(*args, **settings)
    except ConfigurationError:
        return None


def best_offer(protocol: PhasedProtocol[Any, Any], *, num_parties: int) -> Offer | None:
    """Return the best offer of another variant; None where none is better by `WORTH_SAYING` or more."""
    offers: Offers | None = part_of(type(protocol), "offers", Callable)
    if offers is None or num_parties < 1:
        return None
    best = max(if_allowed(offers, protocol, num_parties) or (), key=lambda offer: offer.gain, default=None)
    return best if best is not None and best.gain >= WORTH_SAYING - _ROUNDING else None


def sentence_of(offer: Offer) -> str:
    """Return an offer as one line."""
    decimals = decimals_of([offer.value, offer.own], [])
    value, own = (f"{offer.sign}{rounded(number, decimals)}" for number in (offer.value, offer.own))
    told = "{name}: {value} instead of {own} {of}, at the same price"
    return told.format(name=offer.name, value=value, own=own, of=offer.of)
