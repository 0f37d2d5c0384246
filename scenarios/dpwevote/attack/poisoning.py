"""Poisoning a weighted vote (DPWeVote): one candidate's margin is pushed.

What a pair of reports adds to a margin is `DPWeVote.contributions`. Of finite reports all combinations are compared.
Reports with Laplace noise come from ranges too wide for that; what they add is linear in each of the two, so that the
extremes are at the ends of the ranges. A trusted server is shown a weight and opinions, of which all are compared.
"""

import itertools
from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.dpwevote import DPWeVote, Parameters
from ....protocol.errors import refuse
from ....protocol.phases import Inputs
from ...attacks.poisoning import Choices, Poisoning

_MOST_TRIED: Final = 1_000  # reports of one number of which all are tried; Laplace reports have many more


class PoisonedVote(Poisoning):
    """Pushes one candidate's margin over the quota."""

    unit: ClassVar[str] = "units of weight"
    aimed_at: ClassVar[str] = "candidates"

    protocol: DPWeVote

    @property
    def _parameters(self) -> Parameters:
        return self.protocol.parameters

    def check_protocol(self) -> None:
        """Refuse reports of which some count for more than others. See the base class."""
        levels = self._parameters.own_levels.epsilons
        refuse(levels, "epsilons", list(levels), "left out: poisoning is known where all partners have one epsilon")

    @property
    def pushed(self) -> str:
        return f"the margin of {self.aim!r}"

    def contributions(self, reports: Sequence[IntArray], public: IntArray, *, num_parties: int) -> FloatArray:
        del num_parties
        return self.protocol.contributions(reports, public)[:, self.number]

    def choices(self, public: Sequence[int]) -> Choices:
        touched = self._touched()
        columns: list[Sequence[int]] = []
        for phase, own in zip(self.protocol.phases, touched, strict=True):
            low, high = phase.mechanism_of(public).report_range
            numbers = range(low, high + 1) if high - low < _MOST_TRIED else (low, high)
            shown = phase.values_of(public) if phase.model.trusts_server else [numbers] * phase.num_reported
            columns += [shown[column] for column in own]
        combinations = np.array(list(itertools.product(*columns)), dtype=np.int64)
        reports: list[IntArray] = []
        used = 0
        for phase, own in zip(self.protocol.phases, touched, strict=True):
            least = 0 if phase.model.trusts_server else phase.mechanism.report_range[0]
            table = np.full((len(combinations), phase.num_reported), least, dtype=np.int64)
            table[:, list(own)] = combinations[:, used : used + len(own)]
            reports.append(table)
            used += len(own)
        return Choices(tuple(reports), tuple(touched))

    def wished_rows(self, inputs: Inputs, places: IntArray) -> IntArray:
        """Return the greatest weight, unless weights are public, and the opinion on the aim. See the base class."""
        parameters = self._parameters
        names = parameters.candidates
        opinion = int(self.sign > 0)
        own: list[int] = [-1] * len(places)
        if parameters.public_weights:
            own = inputs.public[places, 1].tolist()
        table: dict[str, list[float]] = {"weight": [parameters.weights[place] for place in own]}
        table |= {name: [opinion if name == self.aim else 0] * len(places) for name in names}
        wished = self.protocol.encode(table).private
        if parameters.reports_signed_weights:
            return wished
        # Opinions on the other candidates stay a poisoner's own.
        rows = inputs.private[places].copy()
        first = 0 if parameters.public_weights else 1
        kept = [first + number for number, name in enumerate(names) if name != self.aim]
        changed = [column for column in range(rows.shape[1]) if column not in kept]
        rows[:, changed] = wished[:, changed]
        return rows

    def truthful_range(self, public: Sequence[int], *, num_parties: int) -> float:
        del num_parties
        parameters = self._parameters
        return parameters.weights[public[1] if parameters.public_weights else -1]

    def decided(self, outcome: Any) -> str:
        decision = outcome.candidates[self.number].decision
        return f"{self.aim!r} {'is ' * decision.startswith('undecided')}{decision}"

    def has_reached(self, outcome: Any) -> bool:
        return outcome.candidates[self.number].decision == ("passes" if self.sign > 0 else "fails")

    def error_of_release(self, outcome: Any) -> float:
        if not self.protocol.trusts_server:
            return 0.0
        return float(outcome.candidates[self.number].margin.standard_error)

    def _touched(self) -> list[Sequence[int]]:
        """Return for each phase the columns that count for this candidate."""
        parameters, number = self._parameters, self.number
        phases = self.protocol.phases
        if self.protocol.trusts_server and not parameters.public_weights:
            return [(0, 1 + number)]
        if parameters.weight_collection == "per_candidate":
            return [(0,) if place // 2 == number else () for place in range(len(phases))]
        return [(number,)] if len(phases) == 1 else [(0,), (number,)]
