"""The adversary's posterior after each vote of a series, for a secret that stays the same.

Bayes' rule is applied vote by vote: the posterior after one vote is the prior of the next. This is exact if votes are
independent given the target's row, which holds for an adversary that reads the target's reports or knows all other
rows. Parties join and leave a series, so each target has its own votes. A memoized report that a vote repeats is no new
evidence and is left out.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np

from ...protocol.arrays import FloatArray
from ...protocol.privacy import NeighboringRelation, total_of
from ..attacks import Attack, Coalition, CoalitionView, infer, success_bound
from ..verdicts import round_up
from .role import AttackContext, AttackReport, Row, SeriesVote


@dataclasses.dataclass(frozen=True, kw_only=True)
class Belief:
    """The posteriors after a vote, for all targets that have voted so far."""

    number: int  # the vote's number
    names: tuple[str, ...]  # the targets
    labels: tuple[str, ...]  # the possible values of the secret
    probabilities: FloatArray  # shape (targets, labels)
    truths: tuple[int, ...]  # the indices of the true labels, shape (targets,), for scoring
    epsilon: float  # the largest proven loss of the secret over the votes so far, among the targets

    @property
    def success(self) -> float:
        """The fraction of targets whose likeliest label is the true one."""
        right = np.equal(np.argmax(self.probabilities, axis=1), np.array(self.truths))
        return float(np.count_nonzero(right)) / len(right)

    @property
    def max_belief(self) -> float:
        """The greatest posterior probability of any label of any target."""
        return float(self.probabilities.max())


def beliefs_over(
    attack_on: Callable[[AttackContext], tuple[Attack, str]], votes: Sequence[SeriesVote], *, target: str = ""
) -> list[Belief]:
    """Return the posteriors after each vote; nothing if the secret changes between votes.

    The secret stays the same if targets' rows do, or if it is a column whose entries stay while others change.

    Args:
        attack_on: returns a vote's attack, and the secret that it infers.
        target: the party whose secret is inferred; empty for every party that is not a member.
    """
    belief_of_party: dict[str, FloatArray] = {}
    evidence: dict[str, FloatArray] = {}
    truths: dict[str, int] = {}
    epsilons: dict[str, float] = {}
    beliefs: list[Belief] = []
    labels: tuple[str, ...] = ()
    is_row_kept = _keeps_rows(votes, target)
    for voted in votes:
        context = voted.context
        attack, secret = attack_on(context)
        if not is_row_kept and any(secret not in _columns_of(each) for each in votes):
            return []
        coalition = context.coalition(voted.members)
        candidates = attack.candidates(secret)
        if beliefs and candidates.labels != labels:
            return []
        labels = candidates.labels
        names = _targets_in(voted, target)
        places = np.array([context.names.index(name) for name in names], dtype=np.int64)
        true: list[int] = attack.truths(secret, context.inputs)[places].tolist()
        if any(truths.setdefault(name, place) != place for name, place in zip(names, true, strict=True)):
            return []
        if names:
            view = _view_without_repeated(voted, coalition)
            likelihoods = attack.log_likelihoods(view, places, candidates)
            uniform = np.full(len(labels), 1 / len(labels))
            if is_row_kept:
                for name, log_likelihood in zip(names, likelihoods, strict=True):
                    evidence[name] = evidence.get(name, 0.0) + log_likelihood
                log_likelihoods, prior_of_party = np.array([evidence[name] for name in names]), uniform
            else:
                log_likelihoods, prior_of_party = (
                    likelihoods,
                    np.array([belief_of_party.get(name, uniform) for name in names]),
                )
            posterior = infer(
                log_likelihoods, places=candidates.places, labels=labels, prior=prior_of_party
            ).probabilities
            belief_of_party |= dict(zip(names, posterior, strict=True))
            for name, place in zip(names, places.tolist(), strict=True):
                own_loss = _epsilon(voted, attack, secret, place, coalition)
                epsilons[name] = epsilons.get(name, 0.0) + own_loss
        if belief_of_party:
            beliefs.append(
                Belief(
                    number=voted.number,
                    names=tuple(belief_of_party),
                    labels=labels,
                    probabilities=np.array(list(belief_of_party.values())),
                    truths=tuple(truths[name] for name in belief_of_party),
                    epsilon=max(epsilons.values()),
                )
            )
    return beliefs


def lesson_over(
    role: str, secret: str, beliefs: Sequence[Belief], votes: Sequence[SeriesVote], *, observer: str, trust: str
) -> AttackReport | None:
    """Return a role's report over all votes of a series; None if it has no posterior."""
    if not beliefs:
        return None
    last = beliefs[-1]
    number = len(last.labels)
    prior = np.full(number, 1 / number)
    num_repeated = sum(len(names) for voted in votes for names in voted.repeated.values())
    repetition_sentence = (
        f" {num_repeated:,} reports were repeated from earlier votes, and told nothing new." if num_repeated else ""
    )
    bound, loss = round_up(success_bound(last.epsilon, prior), decimals=4), round_up(last.epsilon, 6)
    if len(last.names) == 1:
        sentence = (
            f"{_describe_belief(last, votes, secret=secret)} What its ledger lost of it, {loss:g}, allows {bound:.4f}."
        )
    else:
        sentence = (
            f"After {len(votes):,} votes it names the {secret} of {last.success:.0%} of {len(last.names):,} rightly, "
            f"by guessing of {1 / number:.0%}; how many of so few is chance as well. Its surest belief about one of "
            f"them is {last.max_belief:.4f}; what the ledgers lost of it, {loss:g}, allows {bound:.4f}."
        )
    return AttackReport(
        role=role,
        who=observer,
        trust=trust,
        sentences=(f"{sentence}{repetition_sentence}",),
        rows=tuple(
            _row_of_one(each, votes, prior)
            if len(last.names) == 1
            else {
                "after vote": each.number,
                "targets": len(each.names),
                "epsilon": each.epsilon,
                "named rightly": each.success,
                "surest belief": each.max_belief,
                "at most": success_bound(each.epsilon, prior),
            }
            for each in beliefs
        ),
    )


def _describe_belief(belief: Belief, votes: Sequence[SeriesVote], *, secret: str) -> str:
    """Return the posterior of the single target, with the truth if it may be shown."""
    (name,), (truth,) = belief.names, belief.truths
    likeliest = belief.labels[int(np.argmax(belief.probabilities[0]))]
    sentence = (
        f"After {len(votes):,} votes the likeliest {secret} of {name} is {likeliest!r}, with probability "
        f"{belief.max_belief:.4f}, and before with {1 / len(belief.labels):.4f}"
    )
    may_show_truth = all(voted.context.may_show_truth for voted in votes)
    return f"{sentence}; the true one is {belief.labels[truth]!r}." if may_show_truth else f"{sentence}."


def _row_of_one(belief: Belief, votes: Sequence[SeriesVote], prior: FloatArray) -> Row:
    (name,) = belief.names
    is_there = any(voted.number == belief.number and name in voted.context.names for voted in votes)
    return {
        "after vote": belief.number,
        "target": "voted" if is_there else "away",
        "epsilon": belief.epsilon,
        "surest belief": belief.max_belief,
        "at most": success_bound(belief.epsilon, prior),
    }


def _columns_of(voted: SeriesVote) -> list[str]:
    return [column.name for column in voted.context.protocol.columns() if column.private]


def _targets_in(voted: SeriesVote, target: str) -> list[str]:
    """Return the targets of a vote."""
    return [name for name in voted.context.names if name not in voted.members and target in {"", name}]


def _keeps_rows(votes: Sequence[SeriesVote], target: str) -> bool:
    """Return whether every target has the same row in all of its votes."""
    row_of_party: dict[str, tuple[int, ...]] = {}
    for voted in votes:
        rows: list[list[int]] = voted.context.inputs.private.tolist()
        if _columns_of(voted) != _columns_of(votes[0]):
            return False
        targets = {*_targets_in(voted, target)}
        if any(
            name in targets and row_of_party.setdefault(name, tuple(row)) != tuple(row)
            for name, row in zip(voted.context.names, rows, strict=True)
        ):
            return False
    return True


def _view_without_repeated(voted: SeriesVote, coalition: Coalition) -> CoalitionView:
    """Return a vote's view without reports that repeat an earlier vote's."""
    view = voted.trace.seen(voted.context, coalition)
    visible = [
        is_seen & np.array([name not in voted.repeated.get(phase.name, ()) for name in voted.context.names])
        for phase, is_seen in zip(view.protocol.phases, view.told, strict=True)
    ]
    return dataclasses.replace(view, told=tuple(visible))


def _epsilon(voted: SeriesVote, attack: Attack, secret: str, place: int, coalition: Coalition) -> float:
    """Return the proven ε of a secret in a vote: of the new reports of its unit, or else of all new reports."""
    context = voted.context
    name, public = context.names[place], context.inputs.public[place].tolist()
    whole = attack.loss(secret, context.inputs.public, np.array([place]), coalition)
    if math.isinf(whole):
        return whole
    replace_one = NeighboringRelation.REPLACE_ONE
    of_unit = [(phase.name, loss) for phase in context.protocol.phases for loss in phase.losses_of(public)]
    of_unit = [(phase, loss) for phase, loss in of_unit if loss.unit == secret]
    if of_unit and whole <= total_of([loss for _, loss in of_unit], relation=replace_one).proven:
        new_losses = [loss for phase, loss in of_unit if name not in voted.repeated.get(phase, ())]
        return total_of(new_losses, relation=replace_one).proven
    return min(whole, voted.paid.get(name, whole))
