"""Infer a voter's ranking from two elections that differ in this voter.

If only the winner is published, its law is finite. Then success and information are those of a finite channel, and are
exact if the laws are (`FairVotingAttack`). Unknown inputs follow the coalition's prior: the target's ranking the given
prior, other voters' rankings the population's law.

In both elections all voters rank alike, except the target: it has `left` before the second election, or has `changed`
to a uniformly drawn different ranking. An observer of both winners learns about the other voters from each, and about
the target from the difference. A target that has left is protected by the first election's ε, since the second does not
depend on it; one that has changed, by the sum of both.

Source: Kifer and Machanavajjhala (2011), Section 2, for the differencing of releases; sequential composition.
"""

import dataclasses
import functools
import math

import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.errors import refuse, require
from ....protocol.fair_voting import FairVoting, Parameters
from ....protocol.mechanisms.logarithms import log_of, log_sums
from ....protocol.phases import Inputs
from ...attacks.coalition_view import Coalition, CoalitionView
from ...attacks.posteriors import Evaluation, Posteriors, evaluate_channel, infer
from .inference import Change, FairVotingAttack
from .published import totals_of


@dataclasses.dataclass(frozen=True)
class TwoElections:
    """Two elections in the central model that differ in one voter.

    Raises:
        ConfigurationError: the elections cannot be combined: alternatives or scores differ, only one publishes noisy
            sums, the aggregator is not trusted, or Algorithm 2 samples voters first.
    """

    # The attack on the first election, in which the target votes, with its prior of other voters.
    first: FairVotingAttack
    second: FairVoting  # the second election: with the same number of voters, or without the target
    change: Change  # the target's change

    def __post_init__(self) -> None:
        for protocol in (self.first.protocol, self.second):
            parameters = protocol.parameters
            allowed = "one in which the aggregator is trusted"
            require(parameters.model.trusts_server, "mechanism", parameters.mechanism, allowed)
            refuse(parameters.samples_voters_first, "reading", "subsample", "group, for two elections")
        allowed = "one with the same alternatives, groups and scores that publishes in the same way"
        are_alike = _publish_alike(self.first.protocol.parameters, self.second.parameters)
        require(are_alike, "second", "another vote", allowed)

    @functools.cached_property
    def _attack_on_second(self) -> FairVotingAttack:
        """The attack on the second election, with the same draws of other voters, if they are drawn."""
        return FairVotingAttack(self.second, seed=self.first.seed)

    def bound(self, group: int) -> float:
        """Return the proven ε of both elections, between any two rankings of a target in this group."""
        public = np.array([[group]], dtype=np.int64)
        no_coalition = Coalition((), has_server=False)
        attacks = [self.first] if self.change == "left" else [self.first, self._attack_on_second]
        return math.fsum(
            attack.loss("ranking", public, np.zeros(1, dtype=np.int64), no_coalition) for attack in attacks
        )

    def evaluate(self, inputs: Inputs, *, target: int, coalition: Coalition, secret: str) -> Evaluation:
        """Evaluate the best attack that sees both winners, exactly, by their joint law.

        `inputs` are those of the first election, of which only the members' rankings are used. The coalition does not
        include the aggregator, and may be empty.
        """
        refuse(self.second.parameters.kind.releases_sums, "mechanism", "laplace", "one that publishes the winner alone")
        candidates = self.first.candidates(secret)
        first_view = _empty_view(self.first, inputs, coalition)
        weights, first, second = self._log_laws(first_view, target, candidates.rows, None, None)
        # Shape (candidates, first winner, second winner), summed over the others' possible sums.
        joint = np.einsum("s,sci,scj->cij", weights, np.exp(first), np.exp(second))
        return evaluate_channel(joint.reshape(len(joint), -1), places=candidates.places)

    def posteriors(self, both_views: tuple[CoalitionView, CoalitionView], *, target: int, secret: str) -> Posteriors:
        """Return posteriors of the ranking in the first election, given both releases.

        The members' rankings and the target's index are those of the first election.
        """
        candidates = self.first.candidates(secret)
        totals = [totals_of(each) for each in both_views]
        refuse(any(each is None for each in totals), "seen", "no release", "both elections to their end")
        weights, first, second = self._log_laws(both_views[0], target, candidates.rows, *totals)
        logs = log_sums(log_of(weights)[:, None] + first[:, :, 0] + second[:, :, 0], axis=0)
        return infer(logs[None], places=candidates.places, labels=candidates.labels)

    def _log_laws(
        self, view: CoalitionView, target: int, rows: IntArray, of_first: IntArray | None, of_second: IntArray | None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return weights of the others' possible sums, and each election's log-laws, shape (s, c, outcomes)."""
        refuse(target in view.coalition.members, "target", target, "no member of the coalition")
        group = int(view.public[target, 0])
        others_by_group = self.first.others(view, group)
        weights, first = self.first.log_laws(others_by_group, group, rows, totals=of_first)
        _, second = self._attack_on_second.log_laws(others_by_group, group, rows, totals=of_second, change=self.change)
        return weights, first, second


def _publish_alike(own_parameters: Parameters, other_parameters: Parameters) -> bool:
    """Return whether two votes publish the same kind of result, with the same scores."""
    return (
        own_parameters.alternatives == other_parameters.alternatives
        and own_parameters.groups == other_parameters.groups
        and own_parameters.kind.releases_sums == other_parameters.kind.releases_sums
        and own_parameters.make_scoring(is_centered=own_parameters.is_centered)
        == other_parameters.make_scoring(is_centered=other_parameters.is_centered)
    )


def _empty_view(attack: FairVotingAttack, inputs: Inputs, coalition: Coalition) -> CoalitionView:
    """Return a coalition's view before an election: only its members' rankings."""
    return CoalitionView(
        protocol=attack.protocol,
        coalition=coalition,
        rows=inputs.private[list(coalition.members)],
        public=inputs.public,
        reports=(np.zeros((len(inputs), attack.protocol.phase.num_reported), dtype=np.int64),),
        told=(np.zeros(len(inputs), dtype=np.bool_),),
    )


def channel_of_winner(
    attack: FairVotingAttack, inputs: Inputs, coalition: Coalition, target: int, rows: IntArray
) -> FloatArray:
    """Return the law of the winner under a coalition's prior, shape (candidates, alternatives).

    The coalition does not include the aggregator, and knows its members' rankings. `rows` are the target's candidate
    rankings.
    """
    group = int(inputs.public[target, 0])
    others_by_group = attack.others(_empty_view(attack, inputs, coalition), group)
    weights, logs = attack.log_laws(others_by_group, group, rows, totals=None)
    return np.exp(log_sums(logs + log_of(weights)[:, None, None], axis=0))
