"""The variants of a protocol to compare: its system's, or else the session itself at other values of ε."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, cast

from ...protocol.errors import ConfigurationError, require
from ...protocol.phases import PhasedProtocol
from ...protocol.plugin_checks import checked_truth
from ...protocol.privacy import TrustModel
from ..running.resolution import Local
from ..system import find_protocol, names_with, part_of
from .counting import COUNTING, CountedValues
from .measurements import Measurement
from .summaries import MeasureSummary
from .variants import REACH, SimulatedVariants, Unit, VariantOffer, VariantTable

_PART: Final = "System brings the part 'variants', a VariantTable"


class PlainVariants(SimulatedVariants):
    """The session itself, at other values of ε if it has a parameter `epsilon`, for protocols without variants.

    The error is the root mean squared error of the estimates with known true values, as a fraction of the greatest true
    value.
    """

    mark: ClassVar[str] = ""
    error: str = "Error"
    measure: str = "mean squared error"

    def __init__(self, setup: Local, *, trials: int) -> None:
        super().__init__(setup, trials=trials)
        truths = checked_truth(setup.protocol, setup.inputs) or {}
        self._whole = max((abs(float(true)) for true in truths.values() if not isinstance(true, str)), default=0.0)
        allowed = f"one whose truth tells numbers above 0, or whose {_PART}"
        require(self._whole, "protocol", setup.protocol.name, allowed)

    @property
    def names(self) -> Sequence[str]:
        return ("this session",)

    @property
    def unit(self) -> Unit:
        """The unit: a fraction of the greatest true value."""
        return Unit(of="of the greatest number that truth tells")

    def model_of(self, name: str) -> TrustModel:
        del name
        return self.resolved.protocol.model

    @property
    def counted(self) -> CountedValues | None:
        for phase in self.resolved.protocol.phases:
            mechanism: Any = phase.mechanism
            for name, kind in COUNTING.items():
                if isinstance(mechanism, kind):
                    note = f"phase {phase.name!r} of this session takes {name}"
                    return CountedValues(
                        what="each value", epsilon=mechanism.epsilon, num_choices=mechanism.num_choices, note=note
                    )
        return None

    def settings(self, name: str, price: float) -> Mapping[str, Any] | None:
        """Return the parameters at a total ε, with another `epsilon` if there is one."""
        del name
        if "epsilon" in self.parameters.__struct_fields__:
            return self.with_epsilon({}, price, low=price / REACH, high=price * REACH)
        return {} if math.isclose(price, self.price) else None

    def proven(self, settings: Mapping[str, Any]) -> float:
        """Return a session's proven ε; ∞ for parameters that are refused as too large, and 0 for too small ones."""
        try:
            return super().proven(settings)
        except ConfigurationError:
            return math.inf if settings["epsilon"] > self.parameters.epsilon else 0.0

    def error_of(self, summary: MeasureSummary) -> Measurement:
        root = math.sqrt(summary.mean)
        return Measurement(root / self._whole, summary.standard_error / (2 * root * self._whole) if root else 0.0)

    def measure_of(self, error: float) -> float:
        return (error * self._whole) ** 2

    def notes(self, offers: Sequence[VariantOffer]) -> Sequence[str]:
        del offers
        explanation = (
            f"error: the root of the mean squared error of estimates, of {self._whole:g}, the greatest that truth tells"
        )
        trials = f"± is one standard error of {self.trials:,} trials"
        return (f"{explanation}; {trials}. Other variants are compared of a protocol whose {_PART}",)


def variants_of(protocol: str, *, part: str = "variants") -> type[VariantTable]:
    """Return a protocol's table of variants from its system's `part`; "plan" defaults to "variants".

    Raises:
        ConfigurationError: there is no such protocol, or it has no such part.

    Examples:
        >>> variants_of("dpwevote").__name__
        'VoteVariants'
    """
    protocol_class = find_protocol(protocol)
    for each in dict.fromkeys((part, "variants")):
        kind: type[VariantTable] | None = part_of(protocol_class, each, VariantTable, is_class=True)
        if kind is not None:
            return kind
    if cast("object", protocol_class.truth) is not cast("object", PhasedProtocol[Any, Any].truth):
        return PlainVariants
    allowed = f"one of {', '.join(names_with('variants'))}, or one that tells the truth, or one whose {_PART}"
    raise ConfigurationError(field="protocol", value=protocol, allowed=allowed)
