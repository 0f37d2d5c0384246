"""Measures of trials of moral preferences: agreement of choices, and distance of β.

Released preferences are compared with two references: those of the same voters by the same mechanism without noise, and
for synthetic voters the mean of the preferences that generated their choices (the truth). Measures' names say which.

Source: Wang et al. (2019), Section 5.1: accuracy is the fraction of pairs on which two preferences agree, here in
closed form for normally distributed pairs; the truth is the mean of the voters' β (reading M1).
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...protocol import Tally
from ...protocol.arrays import FloatArray
from ...protocol.moral_preferences import MoralPreferences, Outcome
from ...protocol.moral_preferences.protocol import PreferenceDecisions
from ...protocol.phases import InputBlock, Inputs, PhasedProtocol
from ...protocol.tally import Decisions, TallyBlock
from ..experiments.measures import POSITIVE, Measure, Measures
from .agreement import agreement_of

_EQUAL = Measure(
    name="choices as without noise",
    about="the share of pairs with the choice that the same voters' preferences make without noise",
    is_share=True,
    said="{} of choices between two alternatives are those without noise",
)
_RIGHT = Measure(
    name="choices as in truth",
    about="the share of pairs with the choice that the mean of the true β makes by which voters were made up",
    is_share=True,
)
_DISTANCE = Measure(
    name="distance from no noise",
    about="of the released β from that of the same voters without noise, by the Euclidean norm",
    limits=POSITIVE,
)
_FROM_TRUTH = Measure(
    name="distance from truth",
    about="of the released β from the mean of the true ones by which voters were made up, by the Euclidean norm",
    limits=POSITIVE,
)


class PreferenceMeasures(Measures):
    """Agreement and distance of released preferences with the noiseless and the true ones."""

    def __init__(self, protocol: PhasedProtocol[Any, Any], inputs: Inputs, *, gold: Mapping[str, str]) -> None:
        super().__init__(protocol, inputs, gold=gold)
        assert isinstance(protocol, MoralPreferences)  # noqa: S101  what the descriptor says
        features = protocol.parameters.features
        truth = protocol.truth(inputs)
        gold_values = [float(gold[feature]) for feature in features if feature in gold]
        references = [([truth[feature] for feature in features], _EQUAL, _DISTANCE)]
        if len(gold_values) == len(features):
            references.append((gold_values, _RIGHT, _FROM_TRUTH))
        has_length = protocol.parameters.mechanism != "direction"
        self._shares = [(reference, share) for reference, share, _ in references if any(reference)]
        self._distances = [
            (other, distance_name) for other, _, distance_name in references if has_length or distance_name is _DISTANCE
        ]

    @property
    def measures(self) -> Sequence[Measure]:
        """Agreements, if a reference is not zero, then distances; a direction has no distance from the truth."""
        return tuple(measure for _, measure in (*self._shares, *self._distances))

    def of(self, outcome: Any, tallies: Sequence[Tally]) -> Mapping[str, float]:
        """Return the numbers of one trial; zero preferences agree with probability ½."""
        del tallies
        assert isinstance(outcome, Outcome)  # noqa: S101  what this protocol releases
        return self._numbers_of(outcome.preferences)

    def measure_block(
        self, inputs: InputBlock, decisions: Decisions, tallies: Sequence[TallyBlock]
    ) -> Mapping[str, FloatArray]:
        assert isinstance(decisions, PreferenceDecisions)  # noqa: S101  what this protocol decides
        if inputs is not self.block:
            raise NotImplementedError("voters who are drawn anew are looked at one draw after another")
        numbers_of_trials = list(map(self._numbers_of, decisions.preferences.tolist()))
        return {name: np.array([numbers[name] for numbers in numbers_of_trials]) for name in numbers_of_trials[0]}

    def _numbers_of(self, preferences: Sequence[float]) -> Mapping[str, float]:
        numbers = {measure.name: math.dist(preferences, other) for other, measure in self._distances}
        for other, measure in self._shares:
            same = agreement_of(preferences, other)
            numbers[measure.name] = 1 / 2 if same is None else same
        return numbers
