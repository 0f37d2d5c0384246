"""What the unbiased variants of a vote offer at one price, and the paper's split at its own: by exact variances.

The error is the standard error of a candidate's margin if all partners were the worst. It depends on nobody's values.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from ...protocol.dpwevote import OPTIMAL_LIMITS, Offer, Parameters, make_offer, make_offers, make_paper_offer
from ...protocol.dpwevote.parameters import VariantName
from ...protocol.errors import ConfigurationError
from ..experiments.measurements import Measurement
from ..experiments.variants import Offered, VariantTable
from ..running.resolution import Resolved

__all__ = ["VoteVariants"]

_PAPERS: Final = "joint, the paper's split"
_ERROR: Final = "± of a margin"
_UNBIASED: Final[tuple[VariantName, ...]] = ("joint", "two_point", "signed_rr", "optimal")


class VoteVariants(VariantTable):
    """The variants of a vote with private weights."""

    def __init__(self, resolved: Resolved, *, trials: int) -> None:
        super().__init__(resolved, trials=trials)
        self._parameters: Parameters = resolved.protocol.parameters
        if self._parameters.public_weights:
            allowed = (
                "false: if weights are public, only opinions are reported, by 'joint'; variants report private weights"
            )
            raise ConfigurationError(field="public_weights", value=True, allowed=allowed)
        self._number = len(self._parameters.candidates)
        self.price = self._number * self._parameters.epsilon

    @property
    def names(self) -> Sequence[str]:
        """The paper's split, and the unbiased variants."""
        return _PAPERS, *_UNBIASED

    @property
    def error(self) -> str:
        """A margin's standard error."""
        return _ERROR

    @property
    def dropped(self) -> Sequence[str]:
        """The price of a weight."""
        return ("ε weight",)

    def offer(self, name: str, price: float) -> Offered | None:
        """Return what a variant offers at a price."""
        shares = (self._number + 1) / 2 if name == _PAPERS else self._number
        try:
            parameters = msgspec.structs.replace(
                self._parameters,
                variant="joint",
                prior=None,
                epsilon=price / shares,
                epsilon_weight=None,
                epsilon_opinion=None,
            )
            if name == _PAPERS:
                return self._told(make_paper_offer(parameters), name)
            found = make_offer(parameters, next(variant for variant in _UNBIASED if variant == name))
        except (ConfigurationError, ValueError):  # no mechanism has this ε
            return None
        return None if found is None else self._told(found, name)

    def offers(self, tell: Callable[[str], object] | None = None) -> list[Offered]:
        """Return what the variants offer at k·ε, after the paper's split, which costs less."""
        del tell  # it takes no time
        told = [self._told(make_paper_offer(self._parameters), _PAPERS)]
        return [*told, *(self._told(offer, offer.variant) for offer in make_offers(self._parameters))]

    def _told(self, offer: Offer, name: str) -> Offered:
        error = math.sqrt(len(self.resolved.names) * offer.worst_variance)
        settings: dict[str, Any] = {
            "variant": offer.variant,
            "epsilon": None,
            "epsilon_weight": None,
            "epsilon_opinion": None,
        }
        if offer.epsilon_weight:
            settings |= {"epsilon_weight": offer.epsilon_weight, "epsilon_opinion": offer.epsilon_opinion}
        else:
            settings["epsilon"] = offer.epsilon_opinion
        return Offered(
            name=name,
            epsilon=offer.epsilon_total,
            error=Measurement(error, 0.0),
            settings=settings,
            cells={
                "ε weight": f"{offer.epsilon_weight:.4g}" if offer.epsilon_weight else "",
                "ε a candidate": f"{offer.epsilon_opinion:.4g}",
                "ε in all": f"{offer.epsilon_total:.4g}",
                "Worst variance": f"{offer.worst_variance:.5g}",
                _ERROR: f"{error:,.4g}",
            },
        )

    def marked(self, offers: Sequence[Offered]) -> tuple[Offered, str]:
        """Return what `auto` takes."""
        own = [offered for offered in offers if offered.name != _PAPERS]
        return min(own, key=lambda offered: offered.error.value), " <- auto"

    def notes(self, offers: Sequence[Offered]) -> Sequence[str]:
        """Return what the numbers are of."""
        partners = len(self.resolved.names)
        variance = "one partner's contribution to the margin of one candidate has at most this variance"
        notes = [
            f"{variance}; ± is the standard error",
            f"of a margin if all {partners:,} partners were the worst; `auto` takes the one that is marked",
        ]
        if all(offered.name != "optimal" for offered in offers):
            number = len(self._parameters.group_means)
            notes.append(f"`optimal` is not computed for these {number} weights: {OPTIMAL_LIMITS}")
        return notes
