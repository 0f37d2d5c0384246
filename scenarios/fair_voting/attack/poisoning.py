"""Poisoning a fair and private vote: one alternative's welfare is pushed.

In the local model a report adds what the mechanism's estimator makes of it alone: of reports from a small set all are
compared, noisy scores add by their own coordinate, whose ends are compared. In the central model a voter shows its
ranking, and what is no ranking is refused: the worst that anybody can do is to rank untruthfully.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import msgspec
import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.errors import ConfigurationError
from ....protocol.fair_voting import FairVoting, Parameters
from ....protocol.fair_voting.phases import DisclosedRankings, RandomizedRankings
from ....protocol.mechanisms import NoisyScores
from ....protocol.phases import Inputs
from ...attacks.poisoning import Choices, Poisoning

__all__ = ["PoisonedRankings"]

# Reports of one number, of which all are tried: the codes of rankings of seven.
_MOST_TRIED: Final = 5_040


class PoisonedRankings(Poisoning):
    """Pushes one alternative's welfare: its mean utility to all voters."""

    unit: ClassVar[str] = "utility to the mean voter"

    protocol: FairVoting

    @property
    def _parameters(self) -> Parameters:
        return self.protocol.parameters

    @property
    def _number(self) -> int:
        return self._parameters.alternatives.index(self.aim)

    def check_protocol(self) -> None:
        """Refuse a session that releases its winner alone. See `Poisoning.check_protocol`."""
        phase = self.protocol.phase
        if isinstance(phase, DisclosedRankings) and phase.choice is not None:
            allowed = "'laplace' or a local one: this one releases no estimate in which a shift could be seen"
            raise ConfigurationError(field="mechanism", value=self._parameters.mechanism, allowed=allowed)
        if phase.mechanism.report_range[1] >= _MOST_TRIED and phase.num_reported == 1:
            allowed = f"few enough for {_MOST_TRIED} possible reports"
            raise ConfigurationError(field="alternatives", value=len(self._parameters.alternatives), allowed=allowed)

    def aims(self) -> Sequence[str]:
        """Return the alternatives."""
        return self._parameters.alternatives

    @property
    def pushed(self) -> str:
        """The welfare."""
        return f"the welfare of {self.aim!r}"

    def contributions(self, reports: Sequence[IntArray], public: IntArray, *, num_parties: int) -> FloatArray:
        """Return what is added to the mean utility. See `Poisoning.contributions`."""
        del public
        phase = self.protocol.phase
        if isinstance(phase, RandomizedRankings):
            own = reports[0]
            if isinstance(phase.mechanism, NoisyScores):  # affine in the alternative's own coordinate
                units = np.array([[0] * own.shape[1], [1] * own.shape[1]], dtype=np.int64)
                base, one = self._utilities_of(phase, units)
                return (base + (one - base) * own[:, self._number]) / num_parties
            kinds, places = np.unique(own, axis=0, return_inverse=True)
            return self._utilities_of(phase, kinds)[places.reshape(-1)] / num_parties
        scoring = self._parameters.make_scoring(is_centered=self._parameters.is_centered)
        utilities = np.array([(step + scoring.center) * scoring.step for step in scoring.steps], dtype=np.float64)
        return utilities[reports[0][:, self._number]] / num_parties

    def choices(self, public: Sequence[int]) -> Choices:
        """Return all reports of one number, both ends of noisy scores, or rankings. See `Poisoning.choices`."""
        del public
        phase = self.protocol.phase
        low, high = phase.mechanism.report_range
        if isinstance(phase.mechanism, NoisyScores):
            table = np.array([[low] * phase.num_reported, [high] * phase.num_reported], dtype=np.int64)
            table[:, self._number] = high, low
        elif isinstance(phase, RandomizedRankings):
            table = np.arange(low, high + 1, dtype=np.int64)[:, None]
        else:
            size = len(self._parameters.alternatives)
            table = np.array([self._ranking(0, range(size)), self._ranking(size - 1, range(size))], dtype=np.int64)
        return Choices((table,), (range(phase.num_reported),))

    def random_choices(self, public: Sequence[int], uniforms: FloatArray) -> tuple[list[int], ...]:
        """Return any report; where rankings are shown, any ranking. See `Poisoning.random_choices`."""
        if isinstance(self.protocol.phase, RandomizedRankings):
            return super().random_choices(public, uniforms)
        return (np.argsort(uniforms, kind="stable").tolist(),)

    def wished_rows(self, inputs: Inputs, places: IntArray) -> IntArray:
        """Return a poisoner's own ranking with the aim moved to its end. See `Poisoning.wished_rows`."""
        end = 0 if self.sign > 0 else inputs.private.shape[1] - 1
        return np.array([self._ranking(end, row) for row in inputs.private[places].tolist()], dtype=np.int64)

    def truthful_range(self, public: Sequence[int], *, num_parties: int) -> float:
        """Return what lies between the best and the worst position. See `Poisoning.truthful_range`."""
        del public
        scoring = self._parameters.make_scoring(is_centered=self._parameters.is_centered)
        return float((max(scoring.steps) - min(scoring.steps)) * scoring.step) / num_parties

    def decided(self, outcome: Any) -> str:
        """Return who is elected."""
        return f"{outcome.winner!r} is elected"

    def has_reached(self, outcome: Any) -> bool:
        """Return whether the aim is elected, or is not."""
        return (outcome.winner == self.aim) == (self.sign > 0)

    def error_of_release(self, outcome: Any) -> float:
        """Return that of the welfare. See `Poisoning.error_of_release`."""
        return float(outcome.alternatives[self._number].welfare.standard_error)

    def at_epsilon(self, epsilon: float) -> "PoisonedRankings":
        """Return the same at another ε."""
        parameters = msgspec.structs.replace(self._parameters, epsilon=epsilon)
        return PoisonedRankings(FairVoting(parameters), self.aim, sign=self.sign)

    def _utilities_of(self, phase: RandomizedRankings, reports: IntArray) -> FloatArray:
        """Return what the estimator makes of single reports: the aim's utility, shape (n,)."""
        report = phase.report
        told = [list(report.estimates(report.totals_of(row[None, :]).tolist(), 1))[self._number] for row in reports]
        return np.array([float(value + report.mean) for value in told])

    def _ranking(self, position: int, own: Sequence[int]) -> list[int]:
        """Return a ranking with the aim at this position and the others in their own order."""
        others = [place for place in np.argsort(own).tolist() if place != self._number]
        ranking = [0] * len(own)
        for place, alternative in enumerate([*others[:position], self._number, *others[position:]]):
            ranking[alternative] = place
        return ranking
