"""What two elections that differ in one voter tell of its ranking.

Where the winner alone is published its law is finite, and success and information are those of a channel: exact, as far
as the laws are (`FairVotingAttack`). What the coalition does not know is drawn from what it believes: the target's
ranking from the prior, other voters' from the population.

In two elections the same voters rank alike, but for one: it has `left` before the second, or has `changed` its ranking
to any other one, all alike. Who sees both winners, and no ranking at all, learns of the other voters from the one, and
of the target from the difference. A target that has left is protected by the first election's ε, since the second does
not depend on it; one that has changed by the sum of both.

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
        ConfigurationError: they do not fit each other: alternatives or scores are other ones, one publishes noisy sums
            and the other does not, no aggregator is trusted, or Algorithm 2 samples voters first.
    """

    # The attack on the first one, in which the target votes, with what it believes of other voters.
    first: FairVotingAttack
    second: FairVoting  # the second vote: with as many voters, or without the target
    change: Change  # what becomes of the target

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
        """The attack on the second: over the same draws of other voters, where they are drawn."""
        return FairVotingAttack(self.second, seed=self.first.seed)

    def bound(self, group: int) -> float:
        """Return the ε that both elections prove together, between any two rankings of a target in this group."""
        public = np.array([[group]], dtype=np.int64)
        no_coalition = Coalition((), has_server=False)
        attacks = [self.first] if self.change == "left" else [self.first, self._attack_on_second]
        return math.fsum(
            attack.loss("ranking", public, np.zeros(1, dtype=np.int64), no_coalition) for attack in attacks
        )

    def evaluate(self, inputs: Inputs, *, target: int, coalition: Coalition, secret: str) -> Evaluation:
        """Return how well the best attack does that sees both winners: of their joint law, which is finite.

        Of the first election's inputs the members' rankings are taken; the coalition is without the aggregator, and may
        have no member.
        """
        refuse(self.second.parameters.kind.releases_sums, "mechanism", "laplace", "one that publishes the winner alone")
        candidates = self.first.candidates(secret)
        first_view = _empty_view(self.first, inputs, coalition)
        weights, first, second = self._log_laws(first_view, target, candidates.rows, None, None)
        # (candidates, first winner, second winner): added up over what the others may be.
        joint = np.einsum("s,sci,scj->cij", weights, np.exp(first), np.exp(second))
        return evaluate_channel(joint.reshape(len(joint), -1), places=candidates.places)

    def posteriors(self, both_views: tuple[CoalitionView, CoalitionView], *, target: int, secret: str) -> Posteriors:
        """Return what is believed of the ranking in the first election once both releases are seen.

        The members' rankings and the target's place are of the first.
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
        """Return the weights of what the others may be, and each election's logarithms: shape (s, c, outcomes)."""
        refuse(target in view.coalition.members, "target", target, "no member of the coalition")
        group = int(view.public[target, 0])
        others_by_group = self.first.others(view, group)
        weights, first = self.first.log_laws(others_by_group, group, rows, totals=of_first)
        _, second = self._attack_on_second.log_laws(others_by_group, group, rows, totals=of_second, change=self.change)
        return weights, first, second


def _publish_alike(own_parameters: Parameters, other_parameters: Parameters) -> bool:
    """Return whether two votes publish the same, of rankings that count the same."""
    return (
        own_parameters.alternatives == other_parameters.alternatives
        and own_parameters.groups == other_parameters.groups
        and own_parameters.kind.releases_sums == other_parameters.kind.releases_sums
        and own_parameters.make_scoring(is_centered=own_parameters.is_centered)
        == other_parameters.make_scoring(is_centered=other_parameters.is_centered)
    )


def _empty_view(attack: FairVotingAttack, inputs: Inputs, coalition: Coalition) -> CoalitionView:
    """Return what a coalition knows before an election: its members' rankings."""
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
    """Return the law of the winner that a coalition hears, shape (candidates, alternatives), as it believes.

    The coalition is without the aggregator, and knows its members' rankings; `rows` are what the target may have.
    """
    group = int(inputs.public[target, 0])
    others_by_group = attack.others(_empty_view(attack, inputs, coalition), group)
    weights, logs = attack.log_laws(others_by_group, group, rows, totals=None)
    return np.exp(log_sums(logs + log_of(weights)[:, None, None], axis=0))
