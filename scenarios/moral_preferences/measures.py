"""What trials of moral preferences are measured by: how often the society chooses alike, and the distance of β.

Source: Wang et al. (2019), Section 5.1: accuracy is the share of pairs on which two preferences decide alike, here in
closed form for pairs of one normal law (reading M1), the released ones being held against those without noise.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ...protocol import Tally
from ...protocol.moral_preferences import MoralPreferences, Outcome
from ...protocol.phases import Inputs, PhasedProtocol
from ..experiments.measures import POSITIVE, Measure, Measures
from .agreement import agreement_of

__all__ = ["PreferenceMeasures"]

_EQUAL = Measure(
    name="equal choices",
    about="the share of pairs with the choice that there is without noise",
    is_share=True,
    said="{} of choices between two alternatives are those without noise",
)
_DISTANCE = Measure(
    name="distance", about="of the released β from the one without noise, by the Euclidean norm", limits=POSITIVE
)


class PreferenceMeasures(Measures):
    """How near released preferences are to those of the same voters without noise."""

    def __init__(self, protocol: PhasedProtocol[Any, Any], inputs: Inputs, *, gold: Mapping[str, str]) -> None:
        super().__init__(protocol, inputs, gold=gold)
        assert isinstance(protocol, MoralPreferences)  # noqa: S101  what the descriptor says
        truth = protocol.truth(inputs)
        self._clean = [truth[feature] for feature in protocol.parameters.features]

    @property
    def measures(self) -> Sequence[Measure]:
        """The share of equal choices, where there is any without noise, and the distance."""
        return (_EQUAL, _DISTANCE) if any(self._clean) else (_DISTANCE,)

    def of(self, outcome: Any, tallies: Sequence[Tally]) -> Mapping[str, float]:
        """Return the numbers of one trial; preferences that cancel out choose by a coin."""
        del tallies
        assert isinstance(outcome, Outcome)  # noqa: S101  what this protocol releases
        found = {_DISTANCE.name: math.dist(outcome.preferences, self._clean)}
        if any(self._clean):
            same = agreement_of(outcome.preferences, self._clean)
            found[_EQUAL.name] = 1 / 2 if same is None else same
        return found
