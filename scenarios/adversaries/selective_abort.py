"""Selective abort: a server, or a network attacker, drops all parties but one target and some colluding members.

A quorum protects against it. If there is none because participation is private, or if the server ignores its own
quorum, only the target's noise (or the release's) protects it, and its ledger counts on nothing else. The role measures
how much protection the crowd added, on which no proof relies.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from ...agents.adversaries import SERVER, Deviation, Dropper
from ...protocol.errors import QuorumError
from ..attacks.isolation import Isolation, evaluate_isolation
from ..attacks.posteriors import success_bound
from ..verdicts import at_most, round_up
from .role import AttackContext, AttackReport, InferringRole, Row, SessionTrace, check_at_least


class SelectiveAbortRole(InferringRole, frozen=True, kw_only=True):
    """A server that serves one party and the coalition's members, and drops everybody else.

    Members are colluding parties, if any. The server deviates in any case; name "server" as a member if it pools its
    view.

    Examples:
        >>> SelectiveAbortRole(target="ann").hangs_up
        True
    """

    target: str  # the party that is isolated
    # whether the others are disconnected before they report; otherwise their reports are discarded
    hangs_up: bool = True
    trials: int = 200  # synthetic sessions over which success is averaged

    name: ClassVar[str] = "selective-abort"
    refused_if_masked: ClassVar[str] = "fewer than its threshold open nothing; 'unmasker' invents drop-outs"

    def check(self, context: AttackContext) -> None:
        context.place_of_target(self.target, context.coalition(self.members))
        check_at_least("trials", self.trials, 1)
        self._isolation(context, trials=1)  # fails early if the attack cannot be computed

    def deviations(self, context: AttackContext) -> Mapping[str, Deviation]:
        """Return the server's deviation: it keeps the target and the members."""
        del context
        kept_names = {self.target, *(name for name in self.members if name != SERVER)}
        return {SERVER: Dropper(kept_names, hangs_up=self.hangs_up)}

    def learn(self, context: AttackContext, trace: SessionTrace) -> AttackReport:
        """Return how well the target's secret is inferred in the crowd, and alone."""
        coalition = context.coalition(self.members)
        _, secret = self.attack(context)
        isolation = self._isolation(context, trials=self.trials)
        max_success = success_bound(isolation.epsilon, [isolation.before.baseline])
        evaluation_of_way = {
            "in the crowd": isolation.before,
            "isolated": isolation.after,
            "the server itself": isolation.server,
        }
        rows: list[Row] = [
            {"the target": way, "success": each.success, "advantage": each.advantage, "bits": each.information}
            for way, each in evaluation_of_way.items()
        ]
        return self.attack_report(
            who=f"a server that drops all but {self.target}" + _accomplices(len(coalition.members)),
            trust="The server deviates in whom it counts, and in nothing else. What it publishes, everybody reads.",
            sentences=(
                _what_happened(context, trace),
                *_what_was_learnt(isolation, secret=secret, max_success=max_success),
            ),
            rows=rows,
        )

    def _isolation(self, context: AttackContext, *, trials: int) -> Isolation:
        attack, secret = self.attack(context)
        return evaluate_isolation(
            attack,
            context.inputs,
            target=context.place_of(self.target, field="target"),
            coalition=context.coalition(self.members),
            secret=secret,
            num_sessions=trials,
            seed=context.seed,
        )


def _accomplices(number: int) -> str:
    one, plural = f" and {number:,} accomplice", f" and {number:,} accomplices"
    return plural if number > 1 else one * number


def _what_happened(context: AttackContext, trace: SessionTrace) -> str:
    if isinstance(trace.failure, QuorumError):
        failure = trace.failure
        return (
            f"The quorum held: phase {failure.phase!r} had {failure.received} of {failure.required} reports, and the "
            f"session ended with the names of {failure.num_missing} missing. Nothing was published."
        )
    if trace.tallies:
        num_counted = min(tally.num_reports for tally in trace.tallies)
        cut_off = len(trace.endings)
        in_vain = len(context.names) - num_counted - cut_off
        sentences = [f"{cut_off:,} were cut off, and know it"] * (cut_off > 0)
        sentences += [f"{in_vain:,} reported in vain, and do not know it"] * (in_vain > 0)
        if context.protocol.hides_participation:
            return (
                "Who takes part is private, so that there is no quorum: whoever was left was counted, and what is "
                f"published would be the same whoever that is, but for noise. {cut_off:,} were cut off, and know it."
            )
        return (
            f"Without a quorum that forbids it the session ended with {num_counted} of {len(context.names)} parties "
            f"counted; {', '.join(sentences) or 'nobody was dropped'}."
        )
    return "The session came to no end, and nothing was published."


def _what_was_learnt(isolation: Isolation, *, secret: str, max_success: float) -> Iterator[str]:
    gain = isolation.after.success - isolation.before.success
    yield (
        f"Who reads what is published names the {secret} rightly in {isolation.before.success:.3f} where all are "
        f"counted, and would in {isolation.after.success:.3f} where the target is alone ({gain:+.3f})."
    )
    yield f"Guessing without evidence is right in {isolation.before.baseline:.3f}."
    yield (
        f"That is what a server has that reads the target's reports ({isolation.server.success:.3f}), in any crowd: "
        f"the ledger charges for that, and its ε = {at_most(isolation.epsilon)} allows "
        f"{round_up(max_success, decimals=3):.3f}."
    )
