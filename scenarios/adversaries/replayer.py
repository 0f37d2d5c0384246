"""The replayer: parties that send their reports again, or send different ones afterwards."""

from collections.abc import Mapping
from typing import ClassVar

from ...agents.adversaries import Deviation, Replayer
from .role import AttackContext, AttackReport, Role, Row, SessionTrace, check_between


class ReplayerRole(Role, frozen=True, kw_only=True):
    """Parties that want their reports to count more than once.

    Examples:
        >>> ReplayerRole(members=("ann",)).times
        3
    """

    times: int = 3  # how often each report is sent again, byte for byte
    altered: bool = False  # whether a different report follows, whose numbers are the least that the phase allows

    name: ClassVar[str] = "replayer"

    def check(self, context: AttackContext) -> None:
        self.check_parties_alone(context)
        check_between("times", self.times, 0, _MOST_TIMES)

    def deviations(self, context: AttackContext) -> Mapping[str, Deviation]:
        altered: dict[int, list[int]] = {}
        if self.altered:
            phases = enumerate(context.protocol.phases)
            altered = {number: [phase.mechanism.report_range[0]] * phase.num_reported for number, phase in phases}
        return {name: Replayer(self.times, altered) for name in self.members}

    def learn(self, context: AttackContext, trace: SessionTrace) -> AttackReport:
        """Return how often their reports were counted, and how their part in the session ended."""
        report_counts = [
            "private" if phase.hides_participation else tally.num_reports
            for phase, tally in zip(context.protocol.phases, trace.tallies, strict=False)
        ]
        num_sent = len(self.members) * (1 + self.times + self.altered)
        dropped_names = [name for name in self.members if name in trace.endings]
        rows: list[Row] = [
            {"phase": phase.name, "sent by the replayers": num_sent, "parties counted": number}
            for phase, number in zip(context.protocol.phases, report_counts, strict=False)
        ]
        num_counted = max((number for number in report_counts if isinstance(number, int)), default=0)
        sentences = [f"Of {len(context.names)} parties {num_counted} were counted, nobody twice."]
        if context.protocol.hides_participation:
            sentences = ["How many parties were counted is private; nobody was counted twice."]
        if dropped_names:
            sentences.append(
                f"{len(dropped_names)} sent a report that differs from the first, which stands; its sender was dropped."
            )
        else:
            sentences.append("A report that comes again, the same byte for byte, is what a retransmission looks like.")
        if trace.failure is not None:
            sentences.append(f"The session came to no end: {trace.failure}.")
        return self.attack_report(
            who=f"{context.count_parties(len(self.members))} that send reports again",
            trust="Replayers are parties of the roster, and have no other party's key.",
            sentences=sentences,
            rows=tuple(rows),
        )


_MOST_TIMES = 100  # an outbox's capacity; more messages would be cut off as a flood
