"""The coalition: semi-honest parties that follow the protocol, pool their views, and infer.

Members may be any parties of the roster, with or without the server, up to everybody except the target (the papers'
maximal collusion). Members follow the protocol, so nobody can detect them. The target's proven privacy loss bounds what
they learn.
"""

import math
from collections.abc import Sequence
from typing import ClassVar, Final

import msgspec
import numpy as np

from ...agents.adversaries import SERVER
from ...protocol.arrays import FloatArray, IntArray
from ...protocol.errors import ConfigurationError, require
from ..attacks import (
    NO_CANDIDATE,
    Attack,
    Coalition,
    Evaluation,
    Posteriors,
    check_prior,
    information_bound,
    success_bound,
    view_by_arrays,
)
from ..verdicts import at_most, round_up
from .over_votes import beliefs_over, lesson_over
from .role import (
    AttackContext,
    AttackReport,
    InferringRole,
    Row,
    SeriesVote,
    SessionTrace,
    check_at_least,
)
from .trials import try_coalition

_MOST_TOLD: Final = 12  # targets whose posteriors are listed one by one
_ROUNDING: Final = 1e-9  # of logarithms, so that rounding does not break a bound that holds with equality
_NONE_OF_THESE: Final = "none of these"


class CoalitionRole(InferringRole, frozen=True, kw_only=True):
    """Semi-honest parties that pool their views.

    Examples:
        >>> CoalitionRole(members=("server", "ann"), target="bob").votes
        1
    """

    target: str = ""  # the party whose secret is inferred; empty for every party that is not a member
    # The probability of each label of the secret, by label or in the labels' order; uniform by default.
    prior: dict[str, float] | tuple[float, ...] = ()
    votes: int = 1  # number of votes of the same parties on the same inputs, each with fresh noise

    name: ClassVar[str] = "coalition"

    def check(self, context: AttackContext) -> None:
        coalition = context.coalition(self.members)
        require(self.members, "members", "nobody", "at least one party")
        check_at_least("votes", self.votes, 1)
        targets = self._targets(context, coalition)
        num_honest = len(context.names) - len(coalition.members)
        attack, secret = self.attack(context)
        if self.votes > 1 and num_honest > 1 and not (coalition.has_server or attack.joins_sessions):
            allowed = "1, unless the coalition has the server or all parties but one: the others' inputs stay the same"
            raise ConfigurationError(field="votes", value=self.votes, allowed=allowed)
        self._prior(attack, secret)
        # A trial on simulated noise, whose result is discarded, fails early if the posterior cannot be computed.
        view = view_by_arrays(context.protocol, context.inputs, noise=context.noise(), coalition=coalition)
        has_memoized_phase = any(phase.memo_scope is not None for phase in context.protocol.phases)
        attack.posteriors([view, view] if has_memoized_phase and self.votes > 1 else [view], targets[:1], secret=secret)

    def learn(self, context: AttackContext, trace: SessionTrace) -> AttackReport:
        """Return the posteriors of the targets, and how good such posteriors are."""
        coalition = context.coalition(self.members)
        targets = self._targets(context, coalition)
        attack, secret = self.attack(context)
        prior = self._prior(attack, secret)
        sessions = [trace.seen(context, coalition)]
        earlier_reports: dict[str, IntArray] = {}
        view_by_arrays(
            context.protocol,
            context.inputs,
            noise=context.noise(),
            coalition=coalition,
            earlier_reports=earlier_reports,
        )
        for phase, reports, is_seen in zip(context.protocol.phases, sessions[0].reports, sessions[0].told, strict=True):
            if phase.memo_scope is not None:  # the memoized reports of the session that took place
                earlier_reports[phase.name] = np.where(is_seen[:, None], reports, earlier_reports[phase.name])
        sessions += [
            view_by_arrays(
                context.protocol,
                context.inputs,
                noise=context.noise(rerun=rerun),
                coalition=coalition,
                earlier_reports=earlier_reports,
            )
            for rerun in range(1, self.votes)
        ]
        posteriors = attack.posteriors(sessions, targets, secret=secret, prior=prior)
        owners = attack.owners(secret, context.inputs.public, targets)
        evaluation = try_coalition(context, coalition, attack, targets, secret=secret, prior=prior, votes=self.votes)
        is_average = attack.draws_from_prior(secret, prior=prior)
        caveat = attack.session_caveat(secret, votes=self.votes)
        epsilon = attack.loss_of_votes(secret, context.inputs.public, targets, coalition, votes=self.votes)
        greatest = max(evaluation.greatest_log_odds_ratio, float(posteriors.log_odds_ratios.max()))
        is_exact = attack.is_exact(secret, coalition, votes=self.votes)
        is_refuted = is_exact and greatest > epsilon + _ROUNDING
        bound = _describe_bound(greatest, epsilon, is_exact=is_exact)
        is_seen = self.attack_report(
            who=_who(self.members, context),
            trust=_trust(context, coalition),
            sentences=(
                *_sentences(
                    evaluation,
                    posteriors,
                    bound,
                    epsilon=epsilon,
                    secret=secret,
                    votes=self.votes,
                    is_average=is_average,
                ),
                *([caveat] if caveat else []),
            ),
            rows=_rows(context, attack, posteriors, owners, secret=secret),
        )
        return msgspec.structs.replace(is_seen, refutes_ledger=is_refuted)

    def learn_over(self, votes: Sequence[SeriesVote]) -> AttackReport | None:
        """Return the posteriors after each vote of a series, if the server is a member."""
        if SERVER not in self.members:
            return None
        first = votes[0]
        who_learns = f"{_who(first.members, first.context)}, over the series"
        trust = _trust(first.context, first.context.coalition(first.members))
        beliefs = beliefs_over(self.attack, votes, target=self.target)
        _, secret = self.attack(first.context)
        return lesson_over(self.name, secret, beliefs, votes, observer=who_learns, trust=trust)

    def _targets(self, context: AttackContext, coalition: Coalition) -> IntArray:
        if self.target:
            return np.array([context.place_of_target(self.target, coalition, knows="its own secret")], dtype=np.int64)
        honest_places = np.setdiff1d(np.arange(len(context.names)), coalition.members)
        allowed = "fewer: no party is left about whom anything could be learnt"
        require(len(honest_places), "members", f"all {len(context.names)}", allowed)
        return honest_places.astype(np.int64)

    def _prior(self, attack: Attack, secret: str) -> FloatArray | None:
        if not self.prior:
            return None
        labels = attack.candidates(secret).labels
        if isinstance(self.prior, dict):
            for label in self.prior:
                if label not in labels:
                    raise ConfigurationError(field="prior", value=label, allowed=f"one of {', '.join(labels[:20])}")
            prior_weights: Sequence[float] = [self.prior.get(label, 0.0) for label in labels]
        else:
            prior_weights = self.prior
        return check_prior(prior_weights, num_labels=len(labels))


def _who(members: Sequence[str], context: AttackContext) -> str:
    number = len([name for name in members if name != SERVER])
    clients = context.count_parties(number) if number else ""
    server = "the " + context.protocol.server_role.replace("-", " ") if SERVER in members else ""
    return f"{server} and {clients}" if server and clients else server or clients


def _trust(context: AttackContext, coalition: Coalition) -> str:
    num_honest = len(context.names) - len(coalition.members)
    sees = "every report" if coalition.has_server else "its own reports and what is published"
    if coalition.has_server and context.protocol.trusts_server:
        sees = "every value as it is, since this protocol trusts its server"
    if (masked := context.protocol.masked_phase) is not None:
        sees = "one noisy sum, takes its own rows and shares of noise off, knows at worst all values but the target's"
        if masked.is_sparse and coalition.has_server:
            sees = f"(but for 2⁻⁴⁰ a session, where nobody colludes or leaves for a place on the circle) {sees}"
    return (
        f"The coalition is semi-honest: it follows the protocol, sees {sees}, and pools it. "
        f"{num_honest:,} of {len(context.names):,} {context.protocol.client_role}s are honest."
    )


def _describe_bound(greatest: float, epsilon: float, *, is_exact: bool) -> str:
    """Compare the observed log-odds ratio with the proven ε, which no exact posterior exceeds."""
    odds_sentence = f"moved the odds of two answers by e^{greatest:.3f}"
    if math.isinf(epsilon):
        return "No privacy loss is proven against this coalition, so nothing bounds what it learns."
    if greatest <= epsilon + _ROUNDING:
        return f"Its evidence {odds_sentence} at most; the proven bound is e^{at_most(epsilon)}."
    if is_exact:
        return f"This ledger is refuted: exact evidence {odds_sentence}, and e^{epsilon:g} is said to be proven."
    return (
        f"It approximates, and believes that its evidence {odds_sentence} at most: too bold, for e^{epsilon:g} is "
        "proven."
    )


def _sentences(
    evaluation: Evaluation,
    posteriors: Posteriors,
    bound: str,
    *,
    epsilon: float,
    secret: str,
    votes: int,
    is_average: bool,
) -> list[str]:
    """Return sentences on the result; a bound on the average is stated only if secrets were drawn from the prior."""
    opening = "" if votes == 1 else f"After {votes:,} votes it guesses"
    error = f" ± {100 * evaluation.success_error:.1f}" if evaluation.success_error else ""
    synthetic = "synthetic targets" if is_average else "secrets of these parties, with noise drawn anew"
    way_found = f"of {evaluation.num_targets:,} {synthetic}" if evaluation.num_targets else "exact"
    # The information is mutual information only if secrets were drawn from the prior.
    and_bits = f", and {evaluation.information:.3f} bits" if is_average else ""
    sentences = [
        (
            f"{opening or 'It guesses'} the {secret} right {100 * evaluation.success:.1f}{error} % of the time "
            f"({way_found}); blind "
            f"guessing: {100 * evaluation.baseline:.1f} %."
        ),
        f"That is an advantage of {evaluation.advantage:.3f} (1: it always knows){and_bits}.",
        bound,
    ]
    if math.isinf(epsilon) or not is_average:
        return sentences
    prior = posteriors.prior if posteriors.prior.ndim == 1 else posteriors.prior.mean(axis=0)
    right = round_up(100 * success_bound(epsilon, prior), decimals=1)
    bits = round_up(information_bound(epsilon, prior), decimals=3)
    return [*sentences, f"No attack can do better than {right:.1f} %, or {bits:.3f} bits (proven)."]


def _rows(
    context: AttackContext, attack: Attack, posteriors: Posteriors, owners: IntArray, *, secret: str
) -> list[Row]:
    """Return a table row for each target's posterior, for the first targets if there are many."""
    truths = attack.truths(secret, context.inputs)
    rows: list[Row] = []
    places: list[int] = owners[:_MOST_TOLD].tolist()
    for number, place in enumerate(places):
        guess = int(posteriors.guesses[number])
        row: dict[str, str | int | float] = {
            "target": context.names[place],
            "guess": posteriors.labels[guess],
            "probability": float(posteriors.probabilities[number, guess]),
        }
        # The table has no column that could distinguish several secrets of one target.
        if context.may_show_truth and len(truths) == len(context.names):
            true = int(truths[place])
            row["truth"] = _NONE_OF_THESE if true == NO_CANDIDATE else posteriors.labels[true]
        rows.append(row)
    return rows
