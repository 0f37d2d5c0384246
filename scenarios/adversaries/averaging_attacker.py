"""The averaging attacker: a server that asks again and again, to average the noise away.

Within a session, a client answers a repeated request with the same bytes. It draws no new noise and charges nothing, so
averaging its answers gains nothing. The same holds across sessions for a memoized report, such as a weight in a game.
Any other report is drawn and charged anew in each session: k sessions change the odds by a factor of e^{kε} at most,
until the party's budget refuses. Within one session the same happens if the protocol collects a value anew for each
question; its system then declares `AskedAnew`.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from ...agents.adversaries import SERVER, Asker, Deviation
from ...protocol.arrays import IntArray
from ...protocol.errors import BudgetExceededError, refuse
from ...protocol.messages import Report, Request
from ...protocol.phases import PhasedProtocol
from ...protocol.privacy import Budget, Ledger, NeighboringRelation, PrivacyLoss, total_of
from ...protocol.roles import Side
from ...protocol.views import Happening, View
from ..attacks import Evaluation, find_attack, success_bound
from ..system import part_of
from ..verdicts import at_most, round_up
from .role import AttackContext, AttackReport, InferringRole, Row, SessionTrace, check_between
from .trials import try_coalition

_MOST_TIMES: Final = 100
_MOST_VOTES: Final = 50


@dataclasses.dataclass(frozen=True)
class AskedAnew:
    """A value that a protocol collects either once in a session, or anew for each question.

    Args:
        unit: the value's name, both as a secret and as a unit of protection.
        ways: maps each way of collecting, in words, to the protocol that does so; empty if there is only one way.
        say: returns sentences on what each way costs.
    """

    unit: str
    ways: Callable[[PhasedProtocol[Any, Any]], Sequence[tuple[str, PhasedProtocol[Any, Any]]]]
    say: Callable[[PhasedProtocol[Any, Any]], Iterator[str]]


class AveragingAttackerRole(InferringRole, frozen=True, kw_only=True):
    """A server that repeats its requests, and its votes.

    Args:
        members: the server, which is also the default.
        times: how often the server repeats each request in one session.
        votes: number of sessions in which it asks the same parties the same question.
        target: the party whose secret it infers; empty for every party.
        budget: the ε that each party allows over all sessions, at the scenario's δ; by default the scenario's budget,
            or no limit if it has none.

    Examples:
        >>> AveragingAttackerRole(times=3, votes=10).members
        ('server',)
    """

    members: tuple[str, ...] = (SERVER,)
    times: int = 5
    votes: int = 8
    target: str = ""
    budget: float | None = None

    name: ClassVar[str] = "averaging-attacker"

    def check(self, context: AttackContext) -> None:
        """Refuse members besides the server, numbers out of range, an unknown target, secret or budget."""
        refuse(self.members != (SERVER,), "members", list(self.members), "['server']: clients ask nothing")
        check_between("times", self.times, 1, _MOST_TIMES)
        check_between("votes", self.votes, 1, _MOST_VOTES)
        refuse(self.budget is not None and not self.budget > 0, "budget", self.budget, "above 0")
        self._targets(context)
        attack, secret = self.attack(context)
        attack.candidates(secret)

    def deviations(self, context: AttackContext) -> Mapping[str, Deviation]:
        """Return the server's: each request several times."""
        del context
        return {SERVER: Asker(self.times)}

    def learn(self, context: AttackContext, trace: SessionTrace) -> AttackReport:
        """Return what repetition taught, in one session and over several."""
        targets = self._targets(context)
        attack, secret = self.attack(context)
        public, coalition = context.inputs.public, context.coalition((SERVER,))
        evaluations = [
            _try(context, targets, secret, votes, attack.loss_of_votes(secret, public, targets, coalition, votes=votes))
            for votes in range(1, self.votes + 1)
        ]
        allowed = self._votes_answered(context)
        answers = count_answers(trace.views)
        caveat = attack.session_caveat(secret, votes=self.votes)
        # If sessions cost some targets less, their budgets last longer than that of the target who pays most.
        are_alike = len({price for price, *_ in self._prices(context)}) == 1
        rows = self._rows(evaluations, allowed if are_alike else 0)
        anew = part_of(type(context.protocol), "asking", AskedAnew)
        rows += [] if anew is None else self._rows_of_ways(context, anew)
        return self.attack_report(
            who="the " + context.protocol.server_role.replace("-", " "),
            trust=_TRUST,
            sentences=(
                *_say_repeated(context, trace, answers, times=self.times),
                *self._say_votes(evaluations, allowed, context, secret, are_alike=are_alike),
                *([caveat] if caveat else []),
                *(() if anew is None else anew.say(context.protocol)),
            ),
            rows=rows,
        )

    def _targets(self, context: AttackContext) -> IntArray:
        if self.target:
            return np.array([context.place_of(self.target, field="target")], dtype=np.int64)
        return np.arange(len(context.names), dtype=np.int64)

    def _votes_answered(self, context: AttackContext) -> int:
        """Return how many votes the targets with the largest loss answer: their ledgers refuse first."""
        budget = context.budget_of(self.budget)
        _, dearest, public_row = max(self._prices(context), key=lambda each: each[0])
        repeated_losses = [
            loss
            for phase in context.protocol.phases
            if phase.memo_scope is None
            for loss in phase.losses_of(public_row)
        ]
        return votes_answered(dearest, budget=budget, votes=self.votes, repeated_losses=repeated_losses)

    def _prices(self, context: AttackContext) -> list[tuple[float, Sequence[PrivacyLoss], list[int]]]:
        """Return each target's loss in one session, with its list of losses and its public row."""
        public: list[list[int]] = context.inputs.public[self._targets(context)].tolist()
        losses = [(context.protocol.losses_of(public_row), public_row) for public_row in public]
        return [
            (total_of(public_row, relation=NeighboringRelation.REPLACE_ONE).proven, public_row, row)
            for public_row, row in losses
        ]

    def _rows(self, attempts: Sequence["_Tried"], allowed: int) -> list[Row]:
        """Return a table row for each way to ask."""
        way_of_repeating = f"each request {1 + self.times} times in one session"
        rows: list[Row] = [_row(way_of_repeating, attempts[0])]
        for votes in sorted({1, min(2, self.votes), max(1, self.votes // 2), self.votes}):
            way = f"{f'{votes} sessions' if votes > 1 else f'{votes} session'} with fresh noise"
            rows.append(_row(way, attempts[votes - 1]))
        if allowed < self.votes and allowed:
            way = f"{self.votes} sessions, of which a budget allows {allowed}"
            rows.append(_row(way, attempts[allowed - 1]))
        return rows

    def _say_votes(
        self, attempts: Sequence["_Tried"], allowed: int, context: AttackContext, secret: str, *, are_alike: bool
    ) -> Iterator[str]:
        first, last = attempts[0], attempts[-1]
        bound = round_up(last.bound, decimals=3)
        memoized_phases = [
            f"phase {phase.name!r} ({phase.memo_scope})"
            for phase in context.protocol.phases
            if phase.memo_scope is not None
        ]
        but = (
            f", but for the reports of {' and '.join(memoized_phases)}, which are repeated as they are,"
            if memoized_phases
            else ""
        )
        yield (
            f"Over {self.votes:,} sessions with fresh noise{but} it names the {secret} rightly in "
            f"{last.found.success:.3f}, after one in {first.found.success:.3f}, by guessing in "
            f"{first.found.baseline:.3f}. One session's proven loss of it is {at_most(first.epsilon)}, that of all "
            f"{at_most(last.epsilon)}: whoever sees them is right in {bound:.3f} at most."
        )
        if allowed >= self.votes:
            yield "No budget refuses any of these sessions; each is on the ledger."
        elif not are_alike:
            yield (
                f"A ledger with a budget of whoever pays most answers {allowed:,} of them and refuses from session "
                f"{allowed + 1:,} on, before anything is drawn. Those of others may answer more."
            )
        elif allowed:
            yield (
                f"A ledger with a budget answers {allowed:,} of them and refuses from session {allowed + 1:,} on, "
                f"before anything is drawn: success stays at {attempts[allowed - 1].found.success:.3f}, however often "
                "it "
                "asks."
            )
        else:
            yield "A ledger with this budget refuses the first session already."

    def _rows_of_ways(self, context: AttackContext, anew: AskedAnew) -> list[Row]:
        """Return a table row for each way in which the protocol can collect a value that several questions need."""
        rows: list[Row] = []
        for way, protocol in anew.ways(context.protocol):
            other = dataclasses.replace(context, protocol=protocol)
            repeated_losses = [loss for loss in protocol.losses if loss.unit == anew.unit]
            epsilon = total_of(repeated_losses, relation=NeighboringRelation.REPLACE_ONE).proven
            rows.append(_row(way, _try(other, self._targets(context), anew.unit, 1, epsilon)))
        return rows


_TRUST: Final = (
    "Corrupt is the server alone, which sees every report; no client helps it. Clients follow the protocol, and keep "
    "one ledger over all sessions where a budget is said to hold."
)


@dataclasses.dataclass(frozen=True)
class AnswerCount:
    """Counts of the requests that clients received, the reports that they sent, and how many of these differ.

    Examples:
        >>> AnswerCount(requests=10, reports=10, distinct=2).distinct
        2
    """

    requests: int
    reports: int
    distinct: int


def count_answers(views: Sequence[View]) -> AnswerCount:
    """Count requests and reports in the clients' views of a session; the server's view is ignored.

    Examples:
        >>> count_answers([])
        AnswerCount(requests=0, reports=0, distinct=0)
    """
    requests = reports = 0
    payloads: set[tuple[str, int, bytes]] = set()
    for view in views:
        if view.side is not Side.CLIENT:
            continue
        for observation in view.observations:
            match observation.happening, observation.message:
                case Happening.RECEIVED, Request():
                    requests += 1
                case Happening.SENT, Report(step, payload):
                    reports += 1
                    payloads.add((view.party, step, bytes(payload)))
                case _:
                    pass
    return AnswerCount(requests, reports, len(payloads))


def votes_answered(
    losses: Sequence[PrivacyLoss],
    *,
    budget: Budget | None,
    votes: int,
    repeated_losses: Sequence[PrivacyLoss] | None = None,
) -> int:
    """Return how many votes a party answers before its ledger refuses, if it keeps one ledger over all sessions.

    Args:
        losses: the losses of one session.
        budget: the limit over all sessions; None for no limit.
        votes: number of votes that are asked for.
        repeated_losses: the losses of each later session; by default those of the first.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("tea",), weights=(1, 2), public_weights=True, epsilon=1.0))
        >>> votes_answered(vote.losses, budget=Budget(epsilon=3.5), votes=10)
        3
    """
    ledger = Ledger("a party", budget=budget)
    for vote in range(votes):
        charges = losses if repeated_losses is None or not vote else repeated_losses
        try:
            room = ledger.reserve(charges)
        except BudgetExceededError:
            return vote
        for loss in charges:
            room.charge(loss, session=f"vote {vote + 1}", phase="")
        room.release()
    return votes


class _Tried(NamedTuple):
    """An attack's success after some sessions, their proven loss, and the bound on any attack's success."""

    found: Evaluation
    epsilon: float
    bound: float


def _try(context: AttackContext, targets: IntArray, secret: str, votes: int, epsilon: float) -> _Tried:
    attack = find_attack(context.protocol).against(context.inputs)
    evaluation = try_coalition(context, context.coalition((SERVER,)), attack, targets, secret=secret, votes=votes)
    return _Tried(evaluation, epsilon, success_bound(epsilon, [1 / len(attack.candidates(secret).labels)]))


def _row(way: str, attempt: _Tried) -> Row:
    return {
        "asked": way,
        "epsilon": attempt.epsilon,
        "success": attempt.found.success,
        "proven bound": attempt.bound,
        "bits": attempt.found.information,
    }


def _say_repeated(context: AttackContext, trace: SessionTrace, answers: AnswerCount, *, times: int) -> Iterator[str]:
    role = context.protocol.client_role
    if trace.failure is not None:
        yield f"The session came to no end: {trace.failure}"
    if not answers.requests:
        yield f"No {role}'s view was recorded."
        return
    charged = len(trace.entries)
    yield (
        f"In this session it sent each request {1 + times:,} times. {answers.reports:,} answers to "
        f"{answers.requests:,} requests left the {role}s, of which {answers.distinct:,} were new: one for each "
        f"{role} and phase, the same bytes every time. The ledgers have {charged:,} charges, as without repetition."
    )
    yield "So its posterior is that of one answer: an average of equal numbers says what one of them says."
