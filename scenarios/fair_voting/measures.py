"""Measures of a fair vote's trials: ΔW and W of the winner, and agreement with the noiseless winner.

With overlapping features, ΔW is the greatest over features; each feature and the crossings also have their own ΔW.

Source: Mohsin, Fair and Private Voting Rules, Section 4: fairness, welfare, and the fraction of elections with the
non-private winner.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from ...protocol import Tally
from ...protocol.arrays import FloatArray
from ...protocol.fair_voting import FairVoting, Feature, Outcome, welfare_of
from ...protocol.fair_voting.objective import Utilities, disparity_of, join_groups
from ...protocol.fair_voting.protocol import ElectionDecisions
from ...protocol.phases import InputBlock, Inputs, PhasedProtocol
from ...protocol.tally import Decisions, TallyBlock
from ..experiments.measures import Measure, Measures

_EQUAL = Measure(
    name="equal winners",
    about="the share of trials whose winner is one without noise",
    is_share=True,
    said="{} of winners win without noise as well",
)
_DISPARITY = Measure(name="disparity", about="ΔW of the winner: how far apart the groups' true mean utilities are")
_WELFARE = Measure(name="welfare", about="W of the winner: the true mean utility of all voters")
_OF_CROSSINGS = Measure(
    name="disparity of crossings", about="ΔW of the winner between the crossings of all features", is_detail=True
)


def _disparity_measure(feature: Feature) -> Measure:
    description = f"ΔW of the winner between the groups of {feature.name}"
    return Measure(name=f"disparity of {feature.name}", about=description, is_detail=True)


class ElectionMeasures(Measures):
    """The true quality of the winner, precomputed for each alternative."""

    def __init__(self, protocol: PhasedProtocol[Any, Any], inputs: Inputs, *, gold: Mapping[str, str]) -> None:
        super().__init__(protocol, inputs, gold=gold)
        assert isinstance(protocol, FairVoting)  # noqa: S101  what the descriptor says
        self._election = protocol
        self._features = protocol.parameters.features or ()
        self._of = self._facts_of(inputs)

    def _facts_of(self, inputs: Inputs) -> Mapping[str, Mapping[str, float]]:
        """Return the measures of each alternative as the winner, by name."""
        election, parameters = self._election, self._election.parameters
        utilities, sizes = election.utilities_in(inputs), parameters.group_sizes
        objective, best = parameters.make_objective(), election.best_in(inputs)
        disparities = objective.disparities(utilities, sizes)
        return {
            name: {
                _EQUAL.name: float(place in best),
                _DISPARITY.name: float(disparities[place]),
                _WELFARE.name: float(welfare_of(utilities, sizes, place)),
                **self._disparities(utilities, sizes, place),
            }
            for place, name in enumerate(parameters.alternatives)
        }

    @property
    def measures(self) -> Sequence[Measure]:
        """The measures, independent of the mechanism; their limits are the extremes over all alternatives."""
        of_features = (*map(_disparity_measure, self._features), _OF_CROSSINGS) if self._features else ()
        return _EQUAL, *(self._within(measure) for measure in (_DISPARITY, _WELFARE, *of_features))

    def _disparities(self, utilities: Utilities, sizes: Sequence[int], place: int) -> Mapping[str, float]:
        """Return ΔW of an alternative for each feature and between crossings; empty without features."""
        if not self._features:
            return {}
        disparities = {_OF_CROSSINGS.name: float(disparity_of(utilities, place))}
        for feature in self._features:
            joined_utilities = join_groups(utilities, sizes, feature.partition, place)
            disparities[_disparity_measure(feature).name] = float(max(joined_utilities) - min(joined_utilities))
        return disparities

    def _within(self, measure: Measure) -> Measure:
        values = [measure_found[measure.name] for measure_found in self._of.values()]
        return msgspec.structs.replace(measure, limits=(min(values), max(values)), is_bound_by_parties=True)

    def of(self, outcome: Any, tallies: Sequence[Tally]) -> Mapping[str, float]:
        del tallies
        assert isinstance(outcome, Outcome)  # noqa: S101  what this protocol releases
        return self._of[outcome.winner]

    def measure_block(
        self, inputs: InputBlock, decisions: Decisions, tallies: Sequence[TallyBlock]
    ) -> Mapping[str, FloatArray]:
        assert isinstance(decisions, ElectionDecisions)  # noqa: S101  what this protocol decides
        places: list[int] = decisions.winners.tolist()
        facts = [self._of] * len(places)
        if inputs is not self.block:
            facts = [self._facts_of(inputs.inputs(number)) for number in range(len(inputs.private))]
        names = self._election.parameters.alternatives
        won = [facts_of_place[names[place]] for facts_of_place, place in zip(facts, places, strict=True)]
        return {measure: np.array([each[measure] for each in won]) for measure in won[0]}
