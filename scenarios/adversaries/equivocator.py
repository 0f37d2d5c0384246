"""The equivocator: a server that tells some parties another outcome than the rest."""

import operator
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, cast

from ...agents.adversaries import SERVER, Deviation, Equivocator
from ...protocol.errors import refuse, require
from ...protocol.messages import Release, Request, Welcome
from ...protocol.roles import Side
from ...protocol.transcript import Transcript, show_digest
from ...protocol.views import Happening, View
from .role import AttackContext, AttackReport, Role, Row, SessionTrace


class EquivocatorRole(Role, frozen=True, kw_only=True):
    """A server that releases the opposite of every yes and no, and another winner, to some parties.

    Examples:
        >>> EquivocatorRole(misled=("ann",)).name
        'equivocator'
    """

    misled: tuple[str, ...]  # the parties that receive the altered outcome

    name: ClassVar[str] = "equivocator"

    def check(self, context: AttackContext) -> None:
        self.check_server_alone()
        require(self.misled, "misled", "nobody", "at least one party")
        context.coalition(self.misled, field="misled")
        allowed = "some parties, not all: a server that tells everybody the same does not equivocate"
        refuse(len(set(self.misled)) >= len(context.names), "misled", "everybody", allowed)

    def deviations(self, context: AttackContext) -> Mapping[str, Deviation]:
        del context
        return {SERVER: Equivocator(self.misled, release=_alter_outcome)}

    def learn(self, context: AttackContext, trace: SessionTrace) -> AttackReport:
        """Return which outcome each party received, and whether comparing transcripts detects it."""
        digests = {view.party: _digest(context, view) for view in trace.views if view.side is Side.CLIENT}
        digest_of_party = {name: digest for name, digest in digests.items() if digest is not None}
        distinct = list(dict.fromkeys(digest_of_party.values()))
        rows: list[Row] = [
            {
                "transcript": show_digest(digest),
                "parties": sum(party_digest == digest for party_digest in digest_of_party.values()),
                "among them misled": sum(
                    party_digest == digest for name, party_digest in digest_of_party.items() if name in self.misled
                ),
            }
            for digest in distinct
        ]
        conclusion = (
            "whoever compares two that differ has caught the server." if len(distinct) > 1 else "nobody was misled."
        )
        return self.attack_report(
            who=f"a server that tells {len(self.misled)} of {len(context.names)} parties another outcome",
            trust="The server deviates in what it tells; each party sees a session that is right by itself.",
            sentences=(
                (
                    f"{len(digest_of_party)} parties heard a release; their transcripts have {len(distinct)} digests: "
                    f"{conclusion}"
                ),
                "No report depends on what a server tells, so that nobody paid more or drew otherwise.",
                "`psephos join` and `psephos serve` print the digest: compare it anywhere but through the server.",
            ),
            rows=tuple(rows),
        )


def _digest(context: AttackContext, view: View) -> str | None:
    """Return the digest of a party's transcript, from its view."""
    transcript = Transcript(
        session=view.session,
        protocol=context.protocol.name,
        kind=view.kind.value,
        num_steps=context.protocol.num_public_steps,
    )
    for observation in view.observations:
        message = observation.message
        if observation.happening is Happening.RECEIVED and isinstance(message, (Welcome, Request, Release)):
            transcript.add(message)
    return transcript.digest


def _alter_outcome(outcome: object) -> object:
    """Return an outcome with every yes turned into a no, and another winner, where it has one."""
    negated = _replace_leaves(outcome, bool, operator.not_)
    if not isinstance(negated, dict):
        return negated
    outcome_fields = cast("dict[str, Any]", negated)
    names = outcome_fields.get("candidates")
    if isinstance(outcome_fields.get("winner"), str) and isinstance(names, list):
        other_names = [name for name in cast("list[str]", names) if name != outcome_fields["winner"]]
        outcome_fields["winner"] = other_names[0] if other_names else outcome_fields["winner"]
    elif outcome_fields == outcome:  # no yes, no or winner to change: negate every number instead
        return _replace_leaves(outcome, float, operator.neg)
    return outcome_fields


def _replace_leaves(value: object, kind: type, change: Callable[[Any], object]) -> object:
    """Return plain data with every leaf of one type replaced."""
    match value:
        case dict():
            return {key: _replace_leaves(each, kind, change) for key, each in cast("dict[str, object]", value).items()}
        case list():
            return [_replace_leaves(each, kind, change) for each in cast("list[object]", value)]
        case _:
            return change(value) if isinstance(value, kind) else value
