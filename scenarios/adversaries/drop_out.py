"""The drop-out: parties that see what a phase published, and hang up if they do not like it."""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from ...agents.adversaries import Deviation, Leaver
from ...protocol.errors import QuorumError, list_choices, refuse
from ...protocol.privacy import NeighboringRelation, total_of
from .role import AttackContext, AttackReport, Role, Row, SessionTrace


class DropOutRole(Role, frozen=True, kw_only=True):
    """Parties that leave before they report in a phase.

    Examples:
        >>> DropOutRole(members=("ann",), phase="opinions").needs_agents
        True
    """

    phase: str = ""  # the phase in which they do not report; by default the last
    # Dotted path of a number in the request's published content ("quota.value"); empty to leave in any case.
    number: str = ""
    above: float | None = None  # leave if that number is above this
    below: float | None = None  # leave if it is below this

    name: ClassVar[str] = "drop-out"

    def check(self, context: AttackContext) -> None:
        self.check_parties_alone(context)
        names = [step.name for step in context.protocol.steps if not step.is_in_dispute]
        refuse(self.phase and self.phase not in names, "phase", self.phase, list_choices(names, self.phase))
        has_limit = self.above is not None or self.below is not None
        allowed = "given with above or below, and only then"
        refuse(bool(self.number) is not has_limit, "number", self.number or "nothing", allowed)

    def deviations(self, context: AttackContext) -> Mapping[str, Deviation]:
        return dict.fromkeys(self.members, Leaver(self._place(context), self._wants_to_leave))

    def learn(self, context: AttackContext, trace: SessionTrace) -> AttackReport:
        """Return whether the vote continued without them, and what the drop-outs' privacy losses were."""
        place = self._place(context)
        phase = context.protocol.steps[place].name
        departed = [name for name in self.members if name in trace.endings or trace.failure is not None]
        failure = trace.failure
        if isinstance(failure, QuorumError):
            outcome_sentence = (
                f"The quorum held: phase {failure.phase!r} had {failure.received} of {failure.required} reports, the "
                f"session ended, and {failure.num_missing} are named. One party can stop a vote that needs everybody, "
                "and everybody knows who did."
            )
        elif departed:
            outcome_sentence = (
                f"The vote went on without {len(departed)} of {len(context.names)}: their reports of earlier phases "
                "stand, "
                "and they count as missing from there on."
            )
            if context.protocol.hides_participation:
                outcome_sentence += " Who takes part is private, so that nothing that is published says that they left."
        else:
            outcome_sentence = "What was published did not make them leave."
        rows: list[Row] = [
            {
                "party": name,
                "left": "yes" if name in departed else "no",
                "phases paid": len({entry.phase for entry in trace.entries if entry.person == name}),
                "ε paid": total_of(
                    (entry for entry in trace.entries if entry.person == name),
                    relation=NeighboringRelation.REPLACE_ONE,
                ).proven,
            }
            for name in self.members
        ]
        return self.attack_report(
            who=f"{context.count_parties(len(self.members))} that may leave before phase {phase!r}",
            trust="Drop-outs see what everybody sees, and send nothing false.",
            sentences=(outcome_sentence,),
            rows=tuple(rows),
        )

    def _place(self, context: AttackContext) -> int:
        places = {step.name: place for place, step in enumerate(context.protocol.steps) if not step.is_in_dispute}
        return places[self.phase] if self.phase else max(places.values())

    def _wants_to_leave(self, outcome: object) -> bool:
        if not self.number:
            return True
        value: Any = outcome
        for part in self.number.split("."):
            if not isinstance(value, dict):
                return False
            value = cast("dict[str, Any]", value).get(part)
        if not isinstance(value, (int, float)):
            return False
        return (self.above is not None and value > self.above) or (self.below is not None and value < self.below)
