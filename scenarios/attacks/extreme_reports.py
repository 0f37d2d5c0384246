"""Extreme reports: the reports of some parties that move an estimate most, computed with the protocol's own outcome.

A local search finds the reports. It starts at the report that the poisoner drew, at the least, at the greatest and at
the zero report. It changes one number, or exchanges two, as long as that moves the estimate further. It tries every
number if they are few, else the ends of the range and the values that the party may hold. It skips reports that the
server refuses, or for which the protocol computes no outcome.

The reports found are always feasible. If each report adds to the estimate separately, as in sums and means, they are
optimal; for other outcomes the search proves no bound.

Source: Cao, Jia and Gong (2021), Data poisoning attacks to local differential privacy protocols, section 4 (maximal
gain). Cheu, Smith and Ullman (2021), Manipulation attacks in local differential privacy: every locally private protocol
can be manipulated so, and more strongly the smaller its ε.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from ...protocol.arrays import IntArray
from ...protocol.errors import ConfigurationError, require
from ...protocol.estimators import Estimate
from ...protocol.phases import Inputs, PhasedProtocol
from ...protocol.plugin_faults import blaming
from ...protocol.population import draw_for_release, released_tally
from ...protocol.randomness import SimulatedNoise
from ...protocol.tally import Tally
from ..outcomes import estimates_in
from ..system import part_of
from .coalition_view import draw_all

_Place: TypeAlias = tuple[int, int]
Chosen: TypeAlias = Mapping[_Place, int]
"""Maps a report's phase and column to the number that replaces it; all others stay as they were drawn."""

NOT_COMPUTED: Final = (ArithmeticError, LookupError, TypeError, ValueError)
"""Exceptions that a protocol's outcome may raise for reports that it did not expect."""
_MOST_NUMBERS: Final = 16  # values of a number in a report, up to which all are tried
_MOST_CODES: Final = 5_040  # the same for a report of a single number: the rankings of seven alternatives
_MOST_TRIED: Final = 20_000  # reports that are tried for each kind of public row
_MOST_SHOWN: Final = 12


@dataclasses.dataclass(frozen=True, eq=False)
class ExtremeReports:
    """The effect of extreme reports of some parties on an estimate of a session.

    Raises:
        ConfigurationError: the release has no estimate, or none of this name.
        PluginError: the protocol's code raises even if no party poisons.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("tea",), weights=(1, 2), public_weights=True, epsilon=1.0))
        >>> inputs = vote.encode({"weight": [1, 2, 1], "tea": [1, 0, 1]})
        >>> session = ExtremeReports(vote, inputs, SimulatedNoise(7, session="vote"), "tea")
        >>> [round(session.spread(np.array([party])), 2) for party in range(3)]
        [2.16, 4.33, 2.16]
    """

    protocol: PhasedProtocol[Any, Any]  # the session's protocol
    inputs: Inputs  # all parties' rows
    noise: SimulatedNoise  # the session's simulated noise
    aim: str = ""  # name of the estimate that is pushed; empty for the first
    sign: int = 1  # 1 to push it up, −1 to push it down

    def __post_init__(self) -> None:
        with blaming(self.protocol, "outcome"):
            names = list(self.estimates())
        allowed = "one whose outcome has estimates (psephos.protocol.estimators.Estimate)"
        require(names, "protocol", self.protocol.name, allowed)
        if self.aim not in {"", *names}:
            shown_names = ", ".join(names[:_MOST_SHOWN]) + (", ..." if len(names) > _MOST_SHOWN else "")
            raise ConfigurationError(field="aim", value=self.aim, allowed=f"one of {shown_names}")

    @functools.cached_property
    def name_of_aim(self) -> str:
        """The name of the estimate that is pushed."""
        return self.aim or next(iter(self.estimates()))

    @functools.cached_property
    def _drawn(self) -> list[IntArray]:
        """All parties' reports if none poisons."""
        return draw_all(self.protocol, self.inputs, noise=self.noise)

    def reports(self, places: IntArray) -> list[IntArray]:
        """Return all parties' reports if these parties send extreme ones."""
        kinds: dict[tuple[int, ...], list[int]] = {}
        for place in places.tolist():
            kinds.setdefault(tuple(self.inputs.public[place].tolist()), []).append(place)
        reports = [phase_reports.copy() for phase_reports in self._drawn]
        for public, parties in kinds.items():
            if public not in self._known:
                self._known[public] = self._best(public, np.array(parties, dtype=np.int64))
            for (phase, column), number in self._known[public].items():
                reports[phase][parties, column] = number
        return reports

    @functools.cached_property
    def _known(self) -> dict[tuple[int, ...], Chosen]:
        """The best report for each public row, searched once for all parties with it."""
        return {}

    def value_with(self, places: IntArray) -> float:
        """Return the estimate if these parties send extreme reports; nan if no outcome is computed."""
        try:
            return self.estimates(self.reports(places))[self.name_of_aim].value
        except NOT_COMPUTED:
            return math.nan

    def spread(self, places: IntArray) -> float:
        """Return the distance between the estimates that these parties reach by pushing up and by pushing down."""
        return abs(self.value_with(places) - dataclasses.replace(self, sign=-self.sign).value_with(places))

    def estimates(self, reports: Sequence[IntArray] | None = None) -> dict[str, Estimate]:
        """Return the estimates that are released from these reports; by default from the honest ones."""
        return self._released(self._tallies(self._drawn if reports is None else reports, self.inputs.public))

    def _tallies(self, reports: Sequence[IntArray], public: IntArray) -> list[Tally]:
        """Return the tallies of some parties' reports."""
        retained, phases = self.protocol.retained_reports(reports), self.protocol.phases
        return [
            phase.tally(reports[number], earlier=retained[:number], public=public)
            for number, phase in enumerate(phases)
        ]

    def _released(self, tallies: Sequence[Tally], aim: str = "") -> dict[str, Estimate]:
        """Return the estimates released from tallies; a system that computes its own may return only the aim's."""
        released_tallies = [
            released_tally(phase, tally, draw_for_release(self.noise, protocol=self.protocol.name, phase=phase))
            for phase, tally in zip(self.protocol.phases, tallies, strict=True)
        ]
        of_system: Callable[..., dict[str, Estimate]] | None = part_of(type(self.protocol), "estimates", Callable)
        if of_system is not None:
            return of_system(self.protocol, released_tallies, aim)
        return estimates_in(self.protocol.outcome(released_tallies))

    def _best(self, public: tuple[int, ...], places: IntArray) -> Chosen:
        """Return the best report that a search finds for parties with one public row; the first of equal ones."""
        phases = self.protocol.phases
        honest_reports = [reports[places] for reports in self._drawn]
        other_places = np.setdiff1d(np.arange(len(self.inputs)), places)
        other_tallies = (
            self._tallies(
                [number_values[other_places] for number_values in self._drawn], self.inputs.public[other_places]
            )
            if len(other_places)
            else []
        )
        rows = np.tile(np.array(public, dtype=np.int64), (len(places), 1))
        num_tried = itertools.count(1)

        def push(choice: Chosen) -> float:
            """Return how far the estimate moves; −∞ if a report is refused, or no outcome is computed."""
            reports = [number_values.copy() for number_values in honest_reports]
            for (phase, column), number in choice.items():
                reports[phase][:, column] = number
            try:
                for phase, number_values in zip(phases, reports, strict=True):
                    for report in number_values.tolist():
                        phase.check_report(report, public)
            except Exception:  # noqa: BLE001  plugin code may raise anything; the server drops the sender
                return -math.inf
            tallies = self._tallies(reports, rows)
            try:
                merged_tallies = (
                    [one.merge(number_values) for one, number_values in zip(other_tallies, tallies, strict=True)]
                    if other_tallies
                    else tallies
                )
                value = self.sign * self._released(merged_tallies, self.name_of_aim)[self.name_of_aim].value
            except NOT_COMPUTED:
                return -math.inf
            return -math.inf if math.isnan(value) else value

        numbers = self._numbers(public)
        moves: list[tuple[_Place, int | _Place]] = [
            (place, number) for place, values in numbers.items() for number in values
        ]
        moves += [
            (place, to)
            for place, to in itertools.combinations(numbers, 2)
            if place[0] == to[0] and phases[place[0]].model.trusts_server  # which may be shown rankings
        ]
        ends = ({place: values[end] for place, values in numbers.items()} for end in (0, -1))
        number_values = {(phase, column): int(honest_reports[phase][0, column]) for phase, column in numbers}
        choices: list[tuple[float, Chosen]] = []
        for start in ({}, *ends, dict.fromkeys(numbers, 0), number_values):
            best, reached_numbers, is_better = dict(start), push(start), True
            while is_better:
                is_better = False
                for place, to in moves:
                    if isinstance(to, int):
                        other = {**best, place: to}
                    elif place in best and to in best and best[place] != best[to]:
                        other = {**best, place: best[to], to: best[place]}
                    else:
                        continue
                    if next(num_tried) > _MOST_TRIED:
                        break
                    if (estimate := push(other)) > reached_numbers:
                        best, reached_numbers, is_better = other, estimate, True
            choices.append((reached_numbers, best))
        return max(choices, key=lambda each: each[0])[1]

    def _numbers(self, public: Sequence[int]) -> dict[_Place, Sequence[int]]:
        """Return the values to try for each number in the reports of parties with one public row."""
        numbers: dict[_Place, Sequence[int]] = {}
        for number, phase in enumerate(self.protocol.phases):
            values = phase.values_of(public)
            low, high = phase.mechanism_of(public).report_range
            if phase.model.is_masked:  # so that the sum of all parties' reports does not wrap around
                low, high = low // 2 // len(self.inputs), high // 2 // len(self.inputs)
            is_whole = high - low < (_MOST_CODES if phase.num_reported == 1 else _MOST_NUMBERS)
            for column in range(phase.num_reported):
                listed_values = (
                    values[column] if phase.num_reported == len(values) and not phase.model.is_masked else ()
                )
                candidate_values = (
                    range(low, high + 1) if is_whole else sorted({low, high, *listed_values[:_MOST_NUMBERS]})
                )
                numbers[number, column] = candidate_values
        return numbers
