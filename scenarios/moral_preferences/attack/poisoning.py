"""Poisoning moral preferences: what one feature counts for is pushed.

What is pushed is the mean report's coordinate of the feature, before anything else is made of it (a projection, the
direction's length). Reports with additive noise come from a wide range, whose ends are all that the server refuses to
go beyond; where a voter reports the maximum of a noisy objective, reports are in the ball, and no poisoner gains more
than a voter who lies about its values. In the central model summaries have that bound too.
"""

import functools
import math
from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.errors import ConfigurationError, refuse
from ....protocol.moral_preferences import MoralPreferences, Parameters
from ....protocol.moral_preferences.functional import NoisyObjective
from ....protocol.moral_preferences.records import Records
from ....protocol.moral_preferences.summaries import Summary, make_summary
from ....protocol.phases import Inputs
from ....protocol.randomness import SimulatedNoise
from ...attacks.poisoning import Choices, Poisoning

_DRAWS: Final = 200  # of a report without a closed form, from which its mean is estimated


class PoisonedPreferences(Poisoning):
    """Pushes the mean of one feature's coordinate."""

    unit: ClassVar[str] = "units of the mean report"
    aimed_at: ClassVar[str] = "features"

    protocol: MoralPreferences

    @property
    def _parameters(self) -> Parameters:
        return self.protocol.parameters

    @functools.cached_property
    def _summary(self) -> Summary:
        return make_summary(self._parameters)

    def check_protocol(self) -> None:
        """Refuse reports that are no vectors of features, or of which some weigh more. See the base class."""
        parameters = self._parameters
        if parameters.mechanism == "pooled" or (parameters.mechanism == "functional" and not parameters.is_local):
            allowed = (
                "'laplace', 'direction' or 'functional': with pooled coefficients the release is not a mean of reports"
            )
            raise ConfigurationError(field="mechanism", value=parameters.mechanism, allowed=allowed)
        allowed = "left out: poisoning is known where all voters have one epsilon"
        refuse(parameters.is_personal, "epsilons", list(parameters.epsilons[:5]), allowed)

    @property
    def pushed(self) -> str:
        return f"the mean report's coordinate of {self.aim!r}"

    def contributions(self, reports: Sequence[IntArray], public: IntArray, *, num_parties: int) -> FloatArray:
        del public
        is_shown = self.protocol.phase.model.trusts_server
        step = self._summary.step if is_shown else self._summary.reported_step
        return reports[0][:, self.number].astype(np.float64) * (step / num_parties)

    def choices(self, public: Sequence[int]) -> Choices:
        """Return both ends of the coordinate, the others being 0. See `Poisoning.choices`."""
        phase = self.protocol.phase
        low, high = phase.mechanism_of(public).report_range
        rows = np.zeros((2, phase.num_reported), dtype=np.int64)
        rows[:, self.number] = high, low
        # Where a report has to be short, the other coordinates have to be 0.
        is_bounded = phase.model.trusts_server or isinstance(phase.mechanism, NoisyObjective)
        return Choices((rows,), (range(phase.num_reported) if is_bounded else (self.number,),))

    def random_choices(self, public: Sequence[int], uniforms: FloatArray) -> tuple[list[int], ...]:
        """Return any place of the coordinate; where reports have to be short, the others are 0. See the base class."""
        (columns,) = self.choices(public).touched
        low, high = self.protocol.phase.mechanism_of(public).report_range
        drawn = low + int(float(uniforms[0]) * (high - low + 1))
        return ([drawn if column == self.number else 0 for column in columns],)

    def wished_rows(self, inputs: Inputs, places: IntArray) -> IntArray:
        """Return a summary as far out as any, along the feature. See `Poisoning.wished_rows`."""
        if self._parameters.mechanism == "functional":
            # As many records as one may have, each of which says the same as clearly as it can.
            pairs = np.zeros((self._parameters.max_records, 2, self._parameters.num_features))
            pairs[:, 0, self.number] = self.sign
            records = Records.of_voters([pairs], num_features=self._parameters.num_features)
            return np.repeat(self._summary.rows_of(records), len(places), axis=0)
        rows = np.zeros((len(places), inputs.private.shape[1]), dtype=np.int64)
        rows[:, self.number] = self.sign * self._summary.bound
        return rows

    def truthful_range(self, public: Sequence[int], *, num_parties: int) -> float:
        if self._parameters.mechanism == "functional":  # no closed form: the mean of many draws
            return self._measured_range(public) / num_parties
        return 2 * self._summary.bound * self._summary.step / num_parties

    def _measured_range(self, public: Sequence[int]) -> float:
        """Return how far the mean reports of two opposite voters are apart, in units."""
        mechanism = self.protocol.phase.mechanism_of(public)
        pairs = np.zeros((self._parameters.max_records, 2, self._parameters.num_features))
        pairs[:, 0, self.number] = 1
        both = Records.of_voters([pairs, pairs[:, ::-1]], num_features=self._parameters.num_features)
        rows = self._summary.rows_of(both)
        slots = mechanism.slots_of(rows.shape[1])
        uniforms = SimulatedNoise(0, session="lies").uniforms(
            protocol=self.protocol.name, phase="lies", start=0, stop=_DRAWS, slots=slots
        )
        means = [
            float(mechanism.randomize_rows(np.tile(row, (_DRAWS, 1)), uniforms)[:, self.number].mean()) for row in rows
        ]
        return abs(means[0] - means[1]) * self._summary.reported_step

    def decided(self, outcome: Any) -> str:
        return f"{self.aim!r} counts {outcome.preferences[self.number]:+.3g}"

    def has_reached(self, outcome: Any) -> bool:
        return outcome.preferences[self.number] * self.sign > 0

    def error_of_release(self, outcome: Any) -> float:
        phase = self.protocol.phase
        if phase.tally_mechanism is None:
            return 0.0
        num_draws = max(len(self._parameters.names_of_societies), 1)
        variance = self._summary.noise_variance(phase.tally_mechanism) or 0.0
        return math.sqrt(num_draws * variance) / outcome.num_voters
