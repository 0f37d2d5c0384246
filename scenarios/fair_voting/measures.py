"""What trials of a fair vote are measured by: ΔW and W of the winner, and how often it is the one without noise.

Source: Mohsin, Fair and Private Voting Rules, Section 4: fairness, welfare, and the share of elections with the winner
that there is without privacy.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ...protocol import Tally
from ...protocol.fair_voting import FairVoting, Outcome, welfare_of
from ...protocol.phases import Inputs, PhasedProtocol
from ..experiments.measures import Measure, Measures

__all__ = ["ElectionMeasures"]

_EQUAL = Measure(
    name="equal winners",
    about="the share of trials whose winner is one without noise",
    is_share=True,
    said="{} of winners win without noise as well",
)
_DISPARITY = Measure(name="disparity", about="ΔW of the winner: how far apart the groups' true mean utilities are")
_WELFARE = Measure(name="welfare", about="W of the winner: the true mean utility of all voters")


class ElectionMeasures(Measures):
    """How good the winner truly is, for each alternative that may win."""

    def __init__(self, protocol: PhasedProtocol[Any, Any], inputs: Inputs, *, gold: Mapping[str, str]) -> None:
        super().__init__(protocol, inputs, gold=gold)
        assert isinstance(protocol, FairVoting)  # noqa: S101  what the descriptor says
        parameters = protocol.parameters
        utilities, sizes = protocol.utilities_in(inputs), parameters.group_sizes
        objective = parameters.make_objective()
        best = objective.best(utilities, sizes)
        self._of = {
            name: {
                _EQUAL.name: float(place in best),
                _DISPARITY.name: float(objective.disparity(utilities, sizes, place)),
                _WELFARE.name: float(welfare_of(utilities, sizes, place)),
            }
            for place, name in enumerate(parameters.alternatives)
        }

    @property
    def measures(self) -> Sequence[Measure]:
        """All three, whatever the mechanism releases; no winner has more or less than all alternatives have."""
        return _EQUAL, *(self._within(measure) for measure in (_DISPARITY, _WELFARE))

    def _within(self, measure: Measure) -> Measure:
        values = [found[measure.name] for found in self._of.values()]
        return msgspec.structs.replace(measure, limits=(min(values), max(values)))

    def of(self, outcome: Any, tallies: Sequence[Tally]) -> Mapping[str, float]:
        """Return the numbers of one trial."""
        del tallies
        assert isinstance(outcome, Outcome)  # noqa: S101  what this protocol releases
        return self._of[outcome.winner]
