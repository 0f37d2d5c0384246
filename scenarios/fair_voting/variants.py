"""What the mechanisms of a fair vote offer at one price of a voter, by trials.

The error is the share of elections that another alternative wins than without noise. It is the one number that all
mechanisms have, whatever they release and whom they trust.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from ...protocol.fair_voting import Parameters
from ...protocol.fair_voting.parameters import (
    BY_QUALITY,
    JOINT,
    MAX_EPSILON,
    MECHANISMS,
    MIN_EPSILON,
)
from ...protocol.phases import PhasedProtocol
from ...protocol.privacy import NeighboringRelation, TrustModel
from ..experiments.variants import Offered, SimulatedVariants, Unit
from .attack.misreports import bound_of_gain
from .comparisons import PRICED

__all__ = ["ElectionVariants", "model_of"]

_NAMES: Final = tuple(name for name, each in MECHANISMS.items() if not each.is_joint and not each.is_choice)
_NOTE: Final = (
    "other winners: the share of elections with another winner than without noise, by this objective; ± is one "
    "standard error of {:,} trials. ε in all is proven"
)
_FALSE: Final = (
    "no false ranking gains a voter more than {:.3g} of a utility from 0 to 1, whatever all others report: "
    "(e^ε − 1)/(e^ε + 1). What it gains in one vote: the adversary misreporter"
)


def model_of(name: str) -> TrustModel:
    """Return whom a mechanism trusts."""
    return next(each for each in MECHANISMS.values() if each.name == name).model


class ElectionVariants(SimulatedVariants):
    """The mechanisms that trust the aggregator, then those that trust nobody."""

    error: str = "Other winners"
    measure: str = "equal winners"
    is_lack: ClassVar[bool] = True
    parameters: Parameters

    @property
    def names(self) -> Sequence[str]:
        """The mechanisms; where groups are private those that keep them so, since the others tell more at one ε."""
        return JOINT if self.parameters.is_joint else _NAMES

    @property
    def unit(self) -> Unit:
        """A share of elections."""
        return Unit(of="other winners", sign="")

    def model_of(self, name: str) -> TrustModel:
        return model_of(name)

    def settings(self, name: str, price: float) -> Mapping[str, Any] | None:
        """Return the parameters of a mechanism at a price that is proven."""
        if name == "sampling" and self.parameters.calibration == "proven":
            is_allowed = MIN_EPSILON <= price <= MAX_EPSILON
            return {"mechanism": name, "epsilon": price, "num_samples": None} if is_allowed else None
        if name == "sampling":
            samples = self._samples_at(price)
            return None if samples is None else {"mechanism": name, "num_samples": samples}
        given = {"mechanism": name, "calibration": "tight", "num_samples": None}
        return self.with_epsilon(given, price, low=MIN_EPSILON, high=MAX_EPSILON)

    def _samples_at(self, price: float) -> int | None:
        """Return the most samples of Algorithm 2, with the session's γ, whose proven loss is within a price."""
        most = min(self.parameters.group_sizes)
        low, high = 0, most + 1
        while high - low > 1:
            middle = (low + high) // 2
            proven = self.proven({"mechanism": "sampling", "num_samples": middle})
            low, high = (middle, high) if proven <= price else (low, middle)
        return low or None

    def cells(self, offered: Offered, protocol: PhasedProtocol[Any, Any]) -> dict[str, str]:
        del protocol
        return {"Trusted": model_of(offered.name).trusted("aggregator")}

    def notes(self, offers: Sequence[Offered]) -> Sequence[str]:
        parameters, missing = self.parameters, self.missing(offers)
        of_samples = "Algorithm 2 has as many samples as it allows, with this γ"
        if parameters.calibration == "proven":
            of_samples = "Algorithm 2 has the γ and the samples that serve best of those it allows"
        is_replaced = parameters.relation is NeighboringRelation.REPLACE_ONE
        bound = bound_of_gain(self.price if is_replaced else 2 * self.price)  # who adds one and removes one replaces
        is_priced = any(offered.name in BY_QUALITY for offered in offers)
        return (
            _NOTE.format(self.trials) + ("" if parameters.is_joint else f"; {of_samples}"),
            *(["groups are private in all of these, as they are in the session"] if parameters.is_joint else []),
            *([PRICED[parameters.objective]] if parameters.objective in PRICED and is_priced else []),
            _FALSE.format(bound),
            *([f"not at this price, or not here: {', '.join(missing)}"] if missing else []),
        )
