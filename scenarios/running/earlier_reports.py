"""Memoized reports of all parties in one process, over the sessions of a scope.

Each party gets only its own earlier report, and the server those that it received. If a party's values or the scope's
law have changed, the session does not start.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...protocol.arrays import IntArray
from ...protocol.memoized_reports import KeptReport, KeptReports, MemoizedReports, ReceivedReports, check_values
from ...protocol.phases import Inputs, Phase, PhasedProtocol
from ...protocol.privacy import Ledger
from ...protocol.sides import Party


class EarlierReports:
    """The memoized reports of one session: those from earlier sessions, and all after it (`all`).

    `kept` has reports by scope and phase, and receives those of this session; None to ignore memoized reports.

    Raises:
        ConfigurationError: a report has another law, or changed values.
        ValueError: reports are memoized and the parties have no names.
    """

    def __init__(
        self, protocol: PhasedProtocol[Any, Any], names: Sequence[str], inputs: Inputs, kept: KeptReports | None
    ) -> None:
        self._names = names
        self._inputs = inputs
        self.all: KeptReports = {} if kept is None else kept
        self._phases = [
            (phase, phase.memo_scope) for phase in protocol.phases if phase.memo_scope is not None and kept is not None
        ]
        self._kept: dict[str, MemoizedReports] = {}
        if self._phases and len(names) != len(inputs):
            raise ValueError(f"reports are kept by the parties' names, and {len(inputs)} parties have {len(names)}")
        for phase, scope in self._phases:
            earlier_reports = self.all.get((scope.name, phase.name))
            if earlier_reports is None:
                self._kept[phase.name] = MemoizedReports(scope=scope)
                continue
            scope.check(earlier_reports.scope)
            for name, values in self._values(phase):
                check_values(scope, is_changed=earlier_reports.values.get(name, values) != values, party=name)
            self._kept[phase.name] = earlier_reports

    @property
    def is_asked(self) -> bool:
        """Whether any phase memoizes reports."""
        return bool(self._phases)

    def parties(
        self, ledgers: Mapping[str, Ledger] | None = None, signers: Sequence[Callable[[bytes], bytes]] = ()
    ) -> list[Party]:
        """Return all parties with their memoized reports, in roster order, by default with new ledgers.

        `signers` sign with the roster's keys, in masked sessions.
        """
        private: list[list[int]] = self._inputs.private.tolist()
        public: list[list[int]] = self._inputs.public.tolist()
        reports_of_party: dict[str, dict[str, KeptReport]] = {}
        for phase, phase_reports in self._kept.items():
            for name, report in phase_reports.drawn.items():
                reports_of_party.setdefault(name, {})[phase] = KeptReport(scope=phase_reports.scope, report=report)
        return [
            Party(
                name,
                place,
                private[place],
                public=public[place],
                ledger=None if ledgers is None else ledgers[name],
                memoized_reports=reports_of_party.get(name) if reports_of_party else None,
                sign=signers[place] if signers else None,
            )
            for place, name in enumerate(self._names)
        ]

    def received(self) -> ReceivedReports:
        """Return the server's reports from earlier sessions, by phase and name."""
        return {phase: phase_reports.received for phase, phase_reports in self._kept.items() if phase_reports.received}

    def reports_by_place(self) -> dict[str, dict[int, tuple[int, ...]]]:
        """Return all parties' reports by phase and index."""
        return {
            phase: {
                place: phase_reports.drawn[name]
                for place, name in enumerate(self._names)
                if name in phase_reports.drawn
            }
            for phase, phase_reports in self._kept.items()
        }

    def public_of_new(self, phase: Phase) -> IntArray:
        """Return the public rows of parties that are charged for a phase: those without a memoized report."""
        if (phase_reports := self._kept.get(phase.name)) is None or not phase_reports.drawn:
            return self._inputs.public
        return self._inputs.public[np.array([name not in phase_reports.drawn for name in self._names], dtype=np.bool_)]

    def take_up(
        self, drawn_reports: Mapping[str, Mapping[str, tuple[int, ...]]], received_reports: ReceivedReports
    ) -> None:
        """Store the reports of a session of agents: drawn ones by name and phase, received ones by phase and name."""
        for phase, scope in self._phases:
            phase_reports = self._kept[phase.name]
            values = dict(self._values(phase))
            for name, reports in drawn_reports.items():
                if phase.name in reports:
                    phase_reports.drawn[name] = reports[phase.name]
                    phase_reports.values[name] = values[name]
            for name, report in received_reports.get(phase.name, {}).items():
                phase_reports.received.setdefault(name, report)
            self.all[scope.name, phase.name] = phase_reports

    def take_up_arrays(self, reports: Mapping[str, IntArray]) -> None:
        """Store the reports of a session of arrays: all parties' reports by phase, in roster order."""
        drawn_reports: dict[str, dict[str, tuple[int, ...]]] = {name: {} for name in self._names if reports}
        received_reports: dict[str, dict[str, tuple[int, ...]]] = {}
        for phase, table in reports.items() if self._phases else ():
            rows: list[list[int]] = table.tolist()
            received_reports[phase] = dict(zip(self._names, map(tuple, rows), strict=True))
            for name, report in received_reports[phase].items():
                drawn_reports[name][phase] = report
        self.take_up(drawn_reports, received_reports)

    def _values(self, phase: Phase) -> Iterator[tuple[str, tuple[int, ...]]]:
        rows: list[list[int]] = self._inputs.private[:, phase.columns].tolist()
        return zip(self._names, map(tuple, rows), strict=True)
