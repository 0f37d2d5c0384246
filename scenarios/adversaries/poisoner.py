"""The poisoner: parties that choose their reports so that an estimate moves.

Members are parties of the roster that deviate only in their reports. The session runs with them, and is computed again
without them. With the same seed all other parties report the same, so the members alone cause the difference.
"""

from collections.abc import Mapping
from typing import ClassVar, Final

from ...agents.adversaries import Deviation
from .pushing import PushingRole
from .role import AttackContext, AttackReport, SessionTrace

_TRUST: Final = (
    "Corrupt are the members alone, who know the public parameters and agree on their reports. The server and "
    "everybody else follow the protocol. Nobody learns more than otherwise; what suffers is the outcome."
)


class PoisonerRole(PushingRole, frozen=True, kw_only=True):
    """Parties that choose their reports.

    Examples:
        >>> PoisonerRole(members=("voter-1",), aim="tea", direction="down").name
        'poisoner'
    """

    name: ClassVar[str] = "poisoner"

    def check(self, context: AttackContext) -> None:
        self.check_parties_alone(context)
        self.extremes(context)

    def deviations(self, context: AttackContext) -> Mapping[str, Deviation]:
        """Return each member's deviation: its extreme reports."""
        return self.pushing(context)

    def learn(self, context: AttackContext, trace: SessionTrace) -> AttackReport:
        """Return how far the outcome moved, and how far it could have moved."""
        rows, sentences = self.shifts(context, trace)
        role = context.protocol.client_role
        detection_sentence = (
            "The server checks each report's length, its range and its sender's public row, and drops who fails; the "
            "roster bounds how many report. Nothing detects a single false report that is well formed: an honest "
            f"{role} could have drawn it."
        )
        if context.protocol.masked_phase is not None:
            detection_sentence = (
                "Nobody sees a row, so that nothing checks its numbers: one poisoner moves a sum by any residue modulo "
                "2^64, unnoticed, and a release says of its certainty what holds where nobody does. Range proofs, or "
                "two servers that do not collude (Prio3), are the known cure."
            )
        return self.attack_report(
            context.count_parties(len(self.members)), _TRUST, (*sentences, detection_sentence), rows
        )
