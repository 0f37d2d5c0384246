"""A party's answers in one session: one report for each step, and never a second one.

A report is drawn once, after its loss is charged. A memoized report repeats that of an earlier session, and is neither
drawn nor charged (`memoized_reports`). A repeated request gets the same bytes again, since a second draw would allow an
averaging attack.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from .masked_sessions import PartyMasking
from .memoized_reports import check_kept_names, check_values, has_changed, seal_of
from .messages import Report, Request
from .phases import Phase, PhasedProtocol
from .privacy import Charge, PrivacyLoss, Reservation
from .randomness import NoiseSource
from .records import Remembered
from .sides import Party


class PartyAnswers:
    """One party's answers.

    Args:
        masking: the party's part of a masked phase, if there is one.

    Attributes:
        exchanges: the answered requests, by step; None for a step of a dispute that was skipped.

    Raises:
        ConfigurationError: the noise cannot sample a mechanism, or a memoized report is of another scope, law or value.
        ValueError: a value is out of its mechanism's range.
    """

    __slots__ = ("_masking", "_noise", "_party", "_protocol", "exchanges")

    def __init__(
        self,
        protocol: PhasedProtocol[Any, Any],
        party: Party,
        noise: NoiseSource,
        masking: PartyMasking | None = None,
    ) -> None:
        self._masking = masking
        self._protocol = protocol
        self._party = party
        self._noise = noise
        self.exchanges: list[tuple[Request, Report] | None] = []
        for phase in protocol.phases:
            noise.check(phase.mechanism)
            low, high = phase.mechanism.value_range
            values, number = party.row[phase.columns], phase.num_values
            is_allowed = len(values) == number
            for value in values:
                is_allowed = is_allowed and low <= value <= high
            if not is_allowed:
                # The values are private, so the message shows only the allowed range.
                raise ValueError(f"{party.name}: phase {phase.name!r} takes {number} values in [{low}, {high}]")
        if party.memoized_reports:
            self._check_kept()

    @property
    def is_complete(self) -> bool:
        """Whether every step has its answer, but those that may be left out."""
        return all(step.is_in_dispute for step in self._protocol.steps[len(self.exchanges) :])

    def skips_to(self, number: int) -> bool:
        """Return whether a step may follow what is answered though others are before it, by its number."""
        steps, first = self._protocol.steps, len(self.exchanges)
        return first < number < len(steps) and all(step.is_in_dispute for step in steps[first:number])

    @property
    def memoized_reports(self) -> Mapping[str, tuple[int, ...]]:
        """The reports that were given in phases which keep theirs, by phase."""
        return {
            step.phase.name: step.phase.codec.decode(exchange[1].payload)
            for step, exchange in zip(self._protocol.steps, self.exchanges, strict=False)
            if exchange is not None and step.phase.memo_scope is not None
        }

    def repeats(self, number: int) -> bool:
        """Return whether there is a report from an earlier session, by the number of its step."""
        steps = self._protocol.steps
        return number < len(steps) and steps[number].phase.name in self._party.memoized_reports

    def losses_to_come(self, public: Sequence[int]) -> list[tuple[Phase, PrivacyLoss]]:
        """Return the losses of the phases that are still to be drawn, each with its phase."""
        return [
            (step.phase, loss)
            for step in self._protocol.steps[len(self.exchanges) :]
            if step.is_charged and step.phase.name not in self._party.memoized_reports
            for loss in step.phase.losses_of(public)
        ]

    def answer(
        self, request: Request, public: Sequence[int], reservation: Reservation, *, session: str
    ) -> tuple[Report, list[Charge]]:
        """Charge and draw the next step's report, or repeat that of an earlier session; return it with the charges.

        Raises:
            RemoteProtocolError: in a masked phase, an honest server could not have sent this request.
        """
        step = self._protocol.steps[request.step]
        phase = step.phase
        charges: list[Charge] = []

        def draw() -> Sequence[int]:
            nonlocal charges
            for loss in phase.losses_of(public):
                charges += (reservation.charge(loss, session=session, phase=phase.name),)
            return self._noise.randomize(
                phase.mechanism_of(public),
                self._party.row[phase.columns],
                protocol=self._protocol.name,
                phase=phase.name,
                place=self._party.place,
            )

        if self._masking is not None:
            payload = step.codec.encode(self._masking.answer(step, request, draw))
        else:
            earlier_report = self._party.memoized_reports.get(phase.name) if self._party.memoized_reports else None
            payload = _encode_report(phase, draw() if earlier_report is None else earlier_report.report)
        report = Report(request.step, payload)
        self.exchanges += [*[None] * (request.step - len(self.exchanges)), (request, report)]
        return report, charges

    def memo(self, number: int) -> Remembered | None:
        """Return the memo that goes with the report of a step, by its number; None if its phase is not memoized."""
        phase = self._protocol.steps[number].phase
        if phase.memo_scope is None:
            return None
        return Remembered(phase=phase.name, scope=phase.memo_scope, seal=self._seal_of(phase))

    def _check_kept(self) -> None:
        check_kept_names(self._party.memoized_reports, self._protocol.kept_scopes)
        for phase in self._protocol.phases:
            if (earlier_report := self._party.memoized_reports.get(phase.name)) is None or phase.memo_scope is None:
                continue
            phase.memo_scope.check(earlier_report.scope)
            check_values(
                phase.memo_scope,
                is_changed=has_changed(earlier_report.seal, self._seal_of(phase)),
                party=self._party.name,
            )
            phase.codec.decode(_encode_report(phase, earlier_report.report))

    def _seal_of(self, phase: Phase) -> str:
        values = self._party.row[phase.columns]
        return "" if phase.memo_scope is None else seal_of(self._party.secret, phase.memo_scope, phase.name, values)


def _encode_report(phase: Phase, report: Sequence[int]) -> msgspec.Raw:
    """Return a report as it travels; the TypeError for what is none says nothing of its numbers, the party's own."""
    try:
        if len(report) == phase.num_reported:
            return phase.codec.encode(report)
    except (TypeError, ValueError, OverflowError, AttributeError):
        pass
    low, high = phase.mechanism.report_range
    problem = f"a report of phase {phase.name!r} is {phase.num_reported} integers in [{low}, {high}]"
    raise TypeError(f"{problem}, and {type(phase.mechanism).__name__} drew something else")
