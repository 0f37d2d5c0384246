"""Poisoning a fair and private vote: one alternative's welfare is pushed.

In the local model a report adds what the mechanism's estimator makes of it alone: of reports from a small set all are
compared, noisy scores add by their own coordinate, whose ends are compared. Where groups are private, a report speaks
for every group, with the alternative's scores in all of them, or with the same sign for all groups that it tells of. In
the central model a voter shows its ranking, and what is no ranking is refused: the worst that anybody can do is to rank
untruthfully.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.errors import refuse
from ....protocol.fair_voting import FairVoting, Parameters
from ....protocol.fair_voting.phases import DisclosedRankings, JointRankings, RandomizedRankings
from ....protocol.fair_voting.rankings import cells_of_members
from ....protocol.mechanisms import JointPair, JointScores, NoisyScores
from ....protocol.phases import Inputs
from ...attacks.poisoning import Choices, Poisoning

_MOST_TRIED: Final = 5_040  # reports of one number, of which all are tried: the codes of rankings of seven


class PoisonedRankings(Poisoning):
    """Pushes one alternative's welfare: its mean utility to all voters."""

    unit: ClassVar[str] = "utility to the mean voter"
    aimed_at: ClassVar[str] = "alternatives"

    protocol: FairVoting

    @property
    def _parameters(self) -> Parameters:
        return self.protocol.parameters

    def check_protocol(self) -> None:
        levels, phase = self._parameters.own_levels.epsilons, self.protocol.phase
        refuse(levels, "epsilons", list(levels), "left out: poisoning is known where all voters have one epsilon")
        is_winner = isinstance(phase, DisclosedRankings) and phase.choice is not None
        allowed = "'laplace' or a local one: this one releases no estimate in which a shift could be seen"
        refuse(is_winner, "mechanism", self._parameters.mechanism, allowed)
        if isinstance(phase.mechanism, JointPair):
            return  # two reports stand for all
        are_many = phase.mechanism.report_range[1] >= _MOST_TRIED and phase.num_reported == 1
        allowed = f"few enough for {_MOST_TRIED} possible reports"
        refuse(are_many, "alternatives", len(self._parameters.alternatives), allowed)

    @property
    def pushed(self) -> str:
        return f"the welfare of {self.aim!r}"

    def contributions(self, reports: Sequence[IntArray], public: IntArray, *, num_parties: int) -> FloatArray:
        del public
        phase = self.protocol.phase
        if isinstance(phase, JointRankings):
            return self._of_joint_reports(phase, reports[0]) / num_parties
        if isinstance(phase, RandomizedRankings):
            own = reports[0]
            if isinstance(phase.mechanism, NoisyScores):  # affine in the alternative's own coordinate
                units = np.array([[0] * own.shape[1], [1] * own.shape[1]], dtype=np.int64)
                base, one = self._utilities_of(phase, units)
                return (base + (one - base) * own[:, self.number]) / num_parties
            kinds, places = np.unique(own, axis=0, return_inverse=True)
            return self._utilities_of(phase, kinds)[places.reshape(-1)] / num_parties
        scoring = self._parameters.make_scoring(is_centered=self._parameters.is_centered)
        utilities = np.array([(step + scoring.center) * scoring.step for step in scoring.steps], dtype=np.float64)
        return utilities[reports[0][:, self.number]] / num_parties

    def choices(self, public: Sequence[int]) -> Choices:
        """Return all reports of one number, both ends of noisy scores, or rankings. See `Poisoning.choices`."""
        del public
        phase = self.protocol.phase
        low, high = phase.mechanism.report_range
        if isinstance(phase.mechanism, NoisyScores):
            table = np.array([[low] * phase.num_reported, [high] * phase.num_reported], dtype=np.int64)
            table[:, self.number] = high, low
        elif isinstance(phase, JointRankings):
            table = self._joint_table(phase)
        elif isinstance(phase, RandomizedRankings):
            table = np.arange(low, high + 1, dtype=np.int64)[:, None]
        else:
            size = len(self._parameters.alternatives)
            table = np.array([self._ranking(0, range(size)), self._ranking(size - 1, range(size))], dtype=np.int64)
        return Choices((table,), (range(phase.num_reported),))

    def random_choices(self, public: Sequence[int], uniforms: FloatArray) -> tuple[list[int], ...]:
        """Return any report; where rankings are shown, any ranking. See `Poisoning.random_choices`."""
        mechanism = self.protocol.phase.mechanism
        if isinstance(mechanism, JointPair):
            question, *others = uniforms.tolist()
            needed, signs = mechanism.num_signs, list[int]()
            for left, place in zip(range(mechanism.num_groups, 0, -1), others, strict=True):
                signs.append((1 if place * left * 2 < needed else -1) if place * left < needed else 0)
                needed -= abs(signs[-1])
            return ([int(question * mechanism.num_questions), *signs],)
        if not isinstance(self.protocol.phase, DisclosedRankings):
            return super().random_choices(public, uniforms)
        return (np.argsort(uniforms, kind="stable").tolist(),)

    def wished_rows(self, inputs: Inputs, places: IntArray) -> IntArray:
        """Return a poisoner's own ranking with the aim moved to its end. See `Poisoning.wished_rows`."""
        groups, own = (each[places] for each in self.protocol.members_of(inputs))
        end = 0 if self.sign > 0 else own.shape[1] - 1
        wished = np.array([self._ranking(end, row) for row in own.tolist()], dtype=np.int64)
        return cells_of_members(groups, wished) if self._parameters.is_joint else self.protocol.rows_for(wished, groups)

    def truthful_range(self, public: Sequence[int], *, num_parties: int) -> float:
        del public
        scoring = self._parameters.make_scoring(is_centered=self._parameters.is_centered)
        return float((max(scoring.steps) - min(scoring.steps)) * scoring.step) / num_parties

    def decided(self, outcome: Any) -> str:
        return f"{outcome.winner!r} is elected"

    def has_reached(self, outcome: Any) -> bool:
        return (outcome.winner == self.aim) == (self.sign > 0)

    def error_of_release(self, outcome: Any) -> float:
        return float(outcome.alternatives[self.number].welfare.standard_error)

    def _utilities_of(self, phase: RandomizedRankings, reports: IntArray) -> FloatArray:
        """Return what the estimator makes of single reports: the aim's utility, shape (n,)."""
        report = phase.report
        told = [list(report.estimates(report.totals_of(row[None, :]).tolist(), 1))[self.number] for row in reports]
        return np.array([float(value + report.mean) for value in told])

    def _of_joint_reports(self, phase: JointRankings, reports: IntArray) -> FloatArray:
        """Return what single reports add to the aim's sum of utilities over all groups, shape (n,)."""
        report = phase.report
        if isinstance(phase.mechanism, JointScores):  # linear in the aim's score of every group
            step = self._parameters.make_scoring(is_centered=True).step
            return reports[:, self.number :: report.size].sum(axis=1) * step
        kinds, places = np.unique(reports, axis=0, return_inverse=True)
        told = [
            sum(list(report.estimates(own, 1))[self.number] for own in report.totals_of(row[None, :]).tolist())
            for row in kinds
        ]
        return np.array([float(value) for value in told])[places.reshape(-1)]

    def _joint_table(self, phase: JointRankings) -> IntArray:
        """Return all reports of one number; else one for the aim in all groups that are told of, and one against it."""
        mechanism = phase.mechanism
        low, high = mechanism.report_range
        if isinstance(mechanism, JointPair):
            firsts, seconds = mechanism.pairs
            question = int(np.flatnonzero((firsts == self.number) | (seconds == self.number))[0])
            rest = [0] * (mechanism.num_groups - mechanism.num_signs)
            return np.array([[question, *[sign] * mechanism.num_signs, *rest] for sign in (1, -1)], dtype=np.int64)
        if isinstance(mechanism, JointScores):
            ends = np.zeros((2, phase.num_reported), dtype=np.int64)
            ends[:, self.number :: phase.report.size] = [[low], [high]]
            return ends
        return np.arange(low, high + 1, dtype=np.int64)[:, None]

    def _ranking(self, position: int, own: Sequence[int]) -> list[int]:
        """Return a ranking with the aim at this position and the others in their own order."""
        others = [place for place in np.argsort(own).tolist() if place != self.number]
        ranking = [0] * len(own)
        for place, alternative in enumerate([*others[:position], self.number, *others[position:]]):
            ranking[alternative] = place
        return ranking
