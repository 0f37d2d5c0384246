"""Extreme reports: which reports of some parties move an estimate of any protocol most, by its own tally and outcome.

Of a protocol whose system says nothing of poisoning no contribution of a report is known, so that reports are tried:
from what a poisoner has drawn, from the least and from the greatest report of the range, number by number, each number
that there is where these are few and else the two ends; what pushes further is kept, until nothing does. Reports that
the server refuses, or of which the protocol computes no outcome, are not sent. So what is found is a shift that can be
reached, and no bound: another report may move the estimate more where it is not monotone in each number.
"""

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
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
from .coalition_view import draw_all

Chosen: TypeAlias = Mapping[tuple[int, int], int]
"""By phase and column of a report the number that is put there; the others stay as they were drawn."""

NOT_COMPUTED: Final = (ArithmeticError, LookupError, TypeError, ValueError)
"""What a protocol's own outcome raises for reports that it did not foresee."""
_MOST_NUMBERS: Final = 16  # of a report's number of which all are tried
_MOST_TRIED: Final = 20_000  # reports, for each kind of public row


@dataclasses.dataclass(frozen=True, eq=False)
class ExtremeReports:
    """What parties of a session do to an estimate by extreme reports.

    Raises:
        ConfigurationError: nothing that is released is an estimate, or none has this name.
        PluginError: the protocol's own code raises where nobody poisons.
    """

    protocol: PhasedProtocol[Any, Any]  # what is run
    inputs: Inputs  # everybody's rows
    noise: SimulatedNoise  # the simulation's
    aim: str = ""  # the estimate that is pushed, by its name; empty for the first
    sign: int = 1  # 1 to push it up, −1 to push it down

    def __post_init__(self) -> None:
        with blaming(self.protocol, "outcome"):
            names = list(self.estimates())
        allowed = "one whose outcome has estimates (psephos.protocol.estimators.Estimate), or whose system pushes it"
        require(names, "protocol", self.protocol.name, allowed)
        if self.aim not in {"", *names}:
            shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")  # noqa: PLR2004  as many as are shown
            raise ConfigurationError(field="aim", value=self.aim, allowed=f"one of {shown}")

    @functools.cached_property
    def aimed(self) -> str:
        """The name of the estimate that is pushed."""
        return self.aim or next(iter(self.estimates()))

    @functools.cached_property
    def _drawn(self) -> list[IntArray]:
        """What everybody reports where nobody poisons."""
        return draw_all(self.protocol, self.inputs, noise=self.noise)

    def reports(self, places: IntArray) -> list[IntArray]:
        """Return everybody's reports where these parties send the extreme ones."""
        reports = [own.copy() for own in self._drawn]
        for kind, own in self._kinds(places):
            for (phase, column), number in self._chosen_by(kind, own).items():
                reports[phase][own, column] = number
        return reports

    def value_with(self, places: IntArray) -> float:
        """Return the estimate where these parties send the extreme reports; nan where no outcome is computed."""
        try:
            return self.estimates(self.reports(places))[self.aimed].value
        except NOT_COMPUTED:
            return math.nan

    def spread(self, places: IntArray) -> float:
        """Return how far the estimate is between pushed one way and the other by these parties, whatever they drew."""
        return abs(self.value_with(places) - dataclasses.replace(self, sign=-self.sign).value_with(places))

    def estimates(self, reports: Sequence[IntArray] | None = None) -> dict[str, Estimate]:
        """Return what is released to which these reports come; honest ones unless given."""
        reports = self._drawn if reports is None else reports
        return self._released(self._tallies(reports, self.inputs.public))

    def _kinds(self, places: IntArray) -> list[tuple[tuple[int, ...], IntArray]]:
        """Return these parties by their public rows."""
        kinds: dict[tuple[int, ...], list[int]] = {}
        for place in places.tolist():
            kinds.setdefault(tuple(self.inputs.public[place].tolist()), []).append(place)
        return [(kind, np.array(own, dtype=np.int64)) for kind, own in kinds.items()]

    def _chosen_by(self, public: tuple[int, ...], places: IntArray) -> Chosen:
        """Return what parties with this public row report, found once: the first time for all of these."""
        if (known := self._known.get(public)) is None:
            known = self._known[public] = _Search(self, public, places).best()
        return known

    @functools.cached_property
    def _known(self) -> dict[tuple[int, ...], Chosen]:
        return {}

    def _tallies(self, reports: Sequence[IntArray], public: IntArray) -> list[Tally]:
        """Return the tallies of some parties' reports, as they come."""
        told, phases = self.protocol.retained_reports(reports), self.protocol.phases
        return [phase.tally(reports[at], earlier=told[:at], public=public) for at, phase in enumerate(phases)]

    def _released(self, tallies: Sequence[Tally]) -> dict[str, Estimate]:
        released = [
            released_tally(phase, tally, draw_for_release(self.noise, protocol=self.protocol.name, phase=phase))
            for phase, tally in zip(self.protocol.phases, tallies, strict=True)
        ]
        return estimates_in(self.protocol.outcome(released))

    def drawn_by(self, places: IntArray) -> tuple[list[IntArray], list[Tally]]:
        """Return what some parties have drawn, and the tallies of everybody else's reports, if there are others."""
        others = np.setdiff1d(np.arange(len(self.inputs)), places)
        if not len(others):
            return self._drawn, []
        rest = self._tallies([reports[others] for reports in self._drawn], self.inputs.public[others])
        return [reports[places] for reports in self._drawn], rest

    def pushed_by(self, reports: Sequence[IntArray], public: IntArray, rest: Sequence[Tally]) -> float:
        """Return how far what some parties report pushes the estimate, with the sign of the direction.

        `rest` are the tallies of everybody else's reports, if there are others. It is −∞ where no outcome is computed.
        """
        tallies = self._tallies(reports, public)
        if rest:
            tallies = [one.merge(own) for one, own in zip(rest, tallies, strict=True)]
        try:
            value = self.sign * self._released(tallies)[self.aimed].value
        except NOT_COMPUTED:
            return -math.inf
        return -math.inf if math.isnan(value) else value


class _Search:
    """Tries reports of parties with one public row, everybody else being honest."""

    def __init__(self, session: ExtremeReports, public: tuple[int, ...], places: IntArray) -> None:
        self._session = session
        self._public = public
        self._drawn, self._rest = session.drawn_by(places)
        self._tried = 0

    def best(self) -> Chosen:
        """Return the best that is reached from any of the three beginnings; of equals the first."""
        numbers = self._numbers()
        found = [
            self._climb(start, numbers)
            for start in ({}, *({at: own[end] for at, own in numbers.items()} for end in (0, -1)))
        ]
        return max(found, key=lambda each: each[0])[1]

    def _numbers(self) -> dict[tuple[int, int], Sequence[int]]:
        """Return what is tried at each place of the reports."""
        numbers: dict[tuple[int, int], Sequence[int]] = {}
        for number, phase in enumerate(self._session.protocol.phases):
            low, high = phase.mechanism_of(self._public).report_range
            if phase.model.is_masked:  # of all parties' reports a sum does not wrap around
                low, high = low // 2 // len(self._session.inputs), high // 2 // len(self._session.inputs)
            tried = range(low, high + 1) if high - low < _MOST_NUMBERS else (low, high)
            numbers |= {(number, column): tried for column in range(phase.num_reported)}
        return numbers

    def _climb(self, start: Chosen, numbers: Mapping[tuple[int, int], Sequence[int]]) -> tuple[float, Chosen]:
        """Change one number after another for the better, until none is."""
        best, pushed, is_better = dict(start), self._push(start), True
        while is_better:
            is_better = False
            for at, number in ((at, number) for at, tried in numbers.items() for number in tried):
                if self._tried >= _MOST_TRIED:
                    return pushed, best
                other = {**best, at: number}
                if (reached := self._push(other)) > pushed:
                    best, pushed, is_better = other, reached, True
        return pushed, best

    def _push(self, chosen: Chosen) -> float:
        """Return how far the estimate is pushed; −∞ where the server refuses a report."""
        self._tried += 1
        reports = [own.copy() for own in self._drawn]
        for (phase, column), number in chosen.items():
            reports[phase][:, column] = number
        try:
            for phase, own in zip(self._session.protocol.phases, reports, strict=True):
                for report in own.tolist():
                    phase.check_report(report, self._public)
        except Exception:  # noqa: BLE001  whatever somebody's code raises, the server drops the sender
            return -math.inf
        public = np.tile(np.array(self._public, dtype=np.int64), (len(self._drawn[0]), 1))
        return self._session.pushed_by(reports, public, self._rest)
