"""The interface of an attack on a protocol: candidates for a secret, and the likelihood of the view under each.

A coalition with the server sees every report, whose law is that of its mechanism; this part is the same for every
protocol and is implemented here. A coalition without the server sees its own reports and what was published; each
protocol's module implements what these reveal.
"""

import abc
import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.errors import ConfigurationError, list_choices, refuse
from ...protocol.phases import Inputs, PhasedProtocol
from ...protocol.privacy import NeighboringRelation, total_of
from .coalition_view import Coalition, CoalitionView
from .posteriors import Evaluation, Posteriors, evaluate, evaluate_expected, infer

NO_CANDIDATE: Final = -1
"""In place of a label's index: the row is none of the candidates."""


@dataclasses.dataclass(frozen=True, eq=False)
class Candidates:
    """The private rows that a target may have, and the secret's label of each.

    Args:
        rows: int64, shape (c, private columns).
        places: int64, shape (c,): the index of each row's label; rows of one label are equally likely a priori.
        labels: the possible values of the secret.

    Examples:
        >>> rows = np.array([[0], [1]])
        >>> Candidates(rows, np.array([0, 1]), ("no", "yes")).drawn(None, np.array([0.2, 0.9])).tolist()
        [0, 1]
    """

    rows: IntArray
    places: IntArray
    labels: tuple[str, ...]

    def drawn(self, prior: FloatArray | None, uniforms: FloatArray) -> IntArray:
        """Return indices of candidates whose labels are drawn from a prior, by default the uniform one."""
        number = len(self.labels)
        probabilities = np.full(number, 1 / number) if prior is None else prior
        shares = (probabilities / np.bincount(self.places, minlength=number))[self.places]
        return np.minimum(np.searchsorted(np.cumsum(shares), uniforms, side="right"), len(shares) - 1)


class Attack(abc.ABC):
    """The strongest attack implemented here on parties of one protocol.

    In all methods `secret` is one of `secrets`, and `inputs` and `public` are the rows of all parties. `targets` is an
    int64 array of roster indices, none of a member. A `prior` gives the probabilities of the secret's labels, by
    default uniform.

    Args:
        protocol: the protocol with its public parameters.

    Examples:
        >>> from psephos.scenarios.attacks import find_attack
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> find_attack(DPWeVote(Parameters(candidates=("tea",), weights=(1, 2)))).secrets
        ('weight and opinions', 'weight', 'opinions')
    """

    secrets: ClassVar[tuple[str, ...]]
    """The secrets that it can infer."""
    infers_from_reports_alone: ClassVar[bool] = True
    """Whether a coalition with the server needs only the target's reports from the session."""

    def __init__(self, protocol: PhasedProtocol[Any, Any]) -> None:
        self.protocol = protocol

    @property
    def joins_sessions(self) -> bool:
        """Whether, without the server, it uses that other parties' unknown inputs are the same in all sessions."""
        return False

    @property
    def default_secret(self) -> str:
        """The secret that is inferred by default: the first of `secrets`, unless this session does not have it."""
        return self.secrets[0]

    def against(self, inputs: Inputs) -> "Attack":
        """Return this attack with the adversary's background knowledge for an evaluation, such as a line-up.

        By default there is none.
        """
        del inputs
        return self

    def check_secret(self, secret: str) -> None:
        """Raise ConfigurationError unless it can infer this."""
        refuse(secret not in self.secrets, "secret", secret, list_choices(self.secrets, secret))

    @abc.abstractmethod
    def candidates(self, secret: str) -> Candidates:
        """Return candidates for a target's private row; ConfigurationError if there are too many, or no such secret."""

    def rows_of(self, candidates: Candidates, public: Sequence[int], private: IntArray) -> IntArray:
        """Return the whole rows that go with the candidates in a masked session; by default the candidates' rows."""
        del public, private
        return candidates.rows

    def truths(self, secret: str, inputs: Inputs) -> IntArray:
        """Return the indices of the parties' true labels, for scoring.

        Shape (n,); if each party has several secrets (`owners`), there is one entry for each secret, party by party.
        `NO_CANDIDATE` stands for a row that is none of the candidates: no guess about it is right.
        """
        candidates = self.candidates(secret)
        places = {tuple(row): place for row, place in zip(candidates.rows.tolist(), candidates.places, strict=True)}
        return np.array([places.get(tuple(row), NO_CANDIDATE) for row in inputs.private.tolist()], dtype=np.int64)

    def log_likelihoods(self, view: CoalitionView, targets: IntArray, candidates: Candidates) -> FloatArray:
        """Return ln P[view | candidate], shape (targets, c), up to a constant for each target.

        Raises:
            ConfigurationError: there is no likelihood of this coalition's evidence.
        """
        if view.coalition.has_server:
            return report_log_likelihoods(view, targets, candidates.rows)
        return self.release_log_likelihoods(view, targets, candidates)

    @abc.abstractmethod
    def release_log_likelihoods(self, view: CoalitionView, targets: IntArray, candidates: Candidates) -> FloatArray:
        """Return `log_likelihoods` for a coalition without the server, from published values and members' reports."""

    def owners(self, secret: str, public: IntArray, targets: IntArray) -> IntArray:
        """Return the target that each row of posteriors belongs to; by default one row for each target."""
        del secret, public
        return targets

    def evaluate(self, posteriors: Posteriors, inputs: Inputs, targets: IntArray, *, secret: str) -> Evaluation:
        """Score the guesses from these targets' posteriors against the truth."""
        return evaluate(posteriors, self.truths(secret, inputs)[targets])

    def evaluate_redrawn(self, posteriors: Posteriors, inputs: Inputs, targets: IntArray, *, secret: str) -> Evaluation:
        """Evaluate posteriors of targets from `redraw`, if all unknown inputs were drawn from the attack's prior."""
        del inputs, targets, secret
        return evaluate_expected(posteriors)

    def draws_from_prior(self, secret: str, *, prior: FloatArray | None) -> bool:
        """Return whether `redraw` draws secrets from the attack's prior; otherwise no bound holds for averages."""
        del secret, prior
        return True

    def redraw(
        self, secret: str, inputs: Inputs, targets: IntArray, *, prior: FloatArray | None, uniforms: FloatArray
    ) -> Inputs:
        """Return inputs in which the targets' secrets are drawn from the prior by uniforms."""
        candidates = self.candidates(secret)
        private = inputs.private.copy()
        candidate_indices = candidates.drawn(prior, uniforms)
        # no phase reads further columns
        private[targets, : candidates.rows.shape[1]] = candidates.rows[candidate_indices]
        return Inputs(private, inputs.public)

    def loss(self, secret: str, public: IntArray, targets: IntArray, coalition: Coalition) -> float:
        """Return the proven ε between any two labels of a secret, the largest among the targets.

        It is the whole loss of a session, unless the protocol proves less for a secret that is only a part of the row.
        It is ∞ against a coalition that sees unprotected values.
        """
        del secret
        if coalition.has_server and self.protocol.trusts_server:
            return math.inf
        rows = np.unique(public[targets], axis=0).tolist()
        # Replace-one neighbors.
        replace_one = NeighboringRelation.REPLACE_ONE
        return max(total_of(self.protocol.losses_of(row), relation=replace_one).proven for row in rows)

    def loss_of_votes(
        self, secret: str, public: IntArray, targets: IntArray, coalition: Coalition, *, votes: int
    ) -> float:
        """Return `loss` over some sessions, in which memoized reports cost nothing again."""
        first = self.loss(secret, public, targets, coalition)
        repeated_loss = self.loss_repeated(secret)
        return votes * first if not repeated_loss else first + (votes - 1) * max(0.0, first - repeated_loss)

    def loss_repeated(self, secret: str) -> float:
        """Return the part of `loss` that memoized reports cause, which later sessions repeat; may be overridden."""
        del secret
        memoized_losses = [
            loss for phase in self.protocol.phases if phase.memo_scope is not None for loss in phase.losses
        ]
        return total_of(memoized_losses, relation=NeighboringRelation.REPLACE_ONE).proven if memoized_losses else 0.0

    def session_log_likelihoods(
        self, sessions: Sequence[CoalitionView], targets: IntArray, candidates: Candidates
    ) -> FloatArray:
        """Return the sum of `log_likelihoods` over sessions with the same inputs and fresh noise.

        The sum is exact if sessions are independent given the target's row: the coalition sees the reports, or knows
        all other inputs. A memoized report counts once. A protocol may override this if unknown inputs stay the same in
        all sessions.
        """
        total = np.zeros((len(targets), len(candidates.rows)))
        for view in _drop_repetitions(sessions):
            total += self.log_likelihoods(view, targets, candidates)
        return total

    def session_caveat(self, secret: str, *, votes: int) -> str:
        """Return a sentence if posteriors over `votes` sessions are approximate; empty if they are exact."""
        del secret, votes
        return ""

    def is_exact(self, secret: str, coalition: Coalition, *, votes: int) -> bool:
        """Return whether posteriors are exact by Bayes' rule; then no evidence can exceed a true bound."""
        is_approximate = bool(self.session_caveat(secret, votes=votes))
        return coalition.has_server and self.infers_from_reports_alone and not is_approximate

    def posteriors(
        self, sessions: Sequence[CoalitionView], targets: IntArray, *, secret: str, prior: FloatArray | None = None
    ) -> Posteriors:
        """Return the coalition's posteriors after some sessions with the same inputs and fresh noise.

        Raises:
            ConfigurationError: a target is a member; also as `candidates` and `log_likelihoods`.
        """
        self.check_secret(secret)
        check_targets(sessions, targets)
        candidates = self.candidates(secret)
        total = self.session_log_likelihoods(sessions, targets, candidates)
        return infer(total, places=candidates.places, labels=candidates.labels, prior=prior)


def _drop_repetitions(sessions: Sequence[CoalitionView]) -> Iterator[CoalitionView]:
    """Yield the views without memoized reports that an earlier session has shown.

    ConfigurationError if sessions memoize reports but the coalition sees only their tallies: that has no likelihood
    here.
    """
    shown_before: dict[tuple[str, str], NDArray[np.bool_]] = {}
    for number, view in enumerate(sessions):
        phases = view.protocol.phases
        if not any(phase.memo_scope is not None for phase in phases):
            yield view
            continue
        allowed = "1 without the server where later sessions repeat reports: of their tallies that is not computed"
        refuse(number and not view.coalition.has_server and view.totals, "votes", len(sessions), allowed)
        visible = list(view.told)
        for place, phase in enumerate(phases):
            if phase.memo_scope is not None:
                was_shown = shown_before.get((phase.memo_scope.name, phase.name), np.zeros_like(visible[place]))
                shown_before[phase.memo_scope.name, phase.name] = was_shown | visible[place]
                visible[place] = visible[place] & ~was_shown
        yield dataclasses.replace(view, told=tuple(visible))


def check_targets(sessions: Sequence[CoalitionView], targets: IntArray) -> None:
    """Raise ConfigurationError if a target is a member of the coalition, which knows its own secret."""
    for view in sessions:
        if member_targets := sorted(set(targets.tolist()) & set(view.coalition.members)):
            raise ConfigurationError(field="target", value=member_targets[0], allowed="no member of the coalition")


def report_log_likelihoods(view: CoalitionView, targets: IntArray, rows: IntArray) -> FloatArray:
    """Return ln P[a target's reports | its row], shape (targets, c), for rows: int64, shape (c, private columns).

    A phase in which a target's report was not seen contributes 0. Each party's public row determines its mechanism.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("tea",), weights=(1, 2), epsilon=2.0))
        >>> inputs = vote.encode({"weight": [1, 2, 1], "tea": [1, 0, 1]})
        >>> from psephos.protocol import SimulatedNoise
        >>> from psephos.scenarios.attacks import view_by_server
        >>> view = view_by_server(vote, inputs, noise=SimulatedNoise(7, session="vote"))
        >>> report_log_likelihoods(view, np.array([0]), np.array([[0, 0], [1, 1]])).shape
        (1, 2)
    """
    total = np.zeros((len(targets), len(rows)))
    for phase, reports, is_seen in zip(view.protocol.phases, view.reports, view.told, strict=True):
        values = rows[:, phase.columns]
        for mechanism, of_group in phase.mechanism_groups(view.public[targets]):
            group_targets = np.arange(len(targets))[of_group]
            seen_targets = group_targets[is_seen[targets[group_targets]]]
            if len(seen_targets):
                total[seen_targets] += mechanism.log_likelihoods(reports[targets[seen_targets]], values)
    return total
