"""What the outcomes of a series of elections tell of one voter, who is away from some or ranks otherwise.

All outcomes together: given the target's ranking and what the unknown voters add up to, elections are independent, and
the unknown voters are the same in all of them. So what is believed is averaged over these sums once, and not anew in
each election: that is what takes one outcome off from another.
"""

import dataclasses
from collections.abc import Sequence
from typing import cast

import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.fair_voting import FairVoting
from ....protocol.mechanisms.logarithms import log_of, log_sums
from ...adversaries.over_votes import Belief
from ...adversaries.role import Scene, Voted
from ...attacks import Seen, infer
from .inference import Change, FairVotingAttack
from .published import totals_of
from .two_elections import publish_alike


def beliefs_of_elections(votes: Sequence[Voted], *, target: str, secret: str) -> list[Belief]:
    """Return what a coalition of voters believes of a target after each election of a series, in the central model.

    Inferred is its ranking in the first election that it takes part in.

    Returns:
        Nothing where the target never voted, or where elections cannot be compared: alternatives, groups or scores are
        others, one publishes sums and the other a winner, Algorithm 2 samples voters first, or who is unknown to the
        coalition is not the same everywhere with the same ranking.
    """
    heard = [(voted, seen) for voted in votes if (seen := _heard(voted)) is not None]
    first = next((voted for voted, _ in heard if target in voted.scene.names), None)
    if first is None:
        return []
    place = first.scene.names.index(target)
    group = int(first.scene.inputs.public[place, 0])
    if not _are_comparable([voted for voted, _ in heard], target, group):
        return []
    ranking: IntArray = first.scene.inputs.private[place]
    attack = FairVotingAttack(protocol_of(first.scene), seed=first.scene.seed)
    candidates, truth = attack.candidates(secret), int(attack.truths(secret, first.scene.inputs)[place])
    joint, epsilon = np.zeros(()), 0.0
    beliefs: list[Belief] = []
    for voted, seen in heard:
        weights, logs = _laws_of(voted, seen, target, group, ranking, candidates.rows)
        joint = joint + logs if beliefs else log_of(weights)[:, None] + logs
        epsilon += voted.paid.get(target, 0.0)
        found = infer(log_sums(joint, axis=0)[None], places=candidates.places, labels=candidates.labels)
        beliefs.append(
            Belief(
                number=voted.number,
                names=(target,),
                labels=candidates.labels,
                probabilities=found.probabilities,
                truths=(truth,),
                epsilon=epsilon,
            )
        )
    return beliefs


def _heard(voted: Voted) -> Seen | None:
    """Return what the coalition saw of an election; None where nobody of it was there, or nothing was published."""
    if not voted.members:
        return None
    seen = voted.happened.seen(voted.scene, voted.scene.coalition(voted.members))
    return None if totals_of(seen) is None else seen


def _are_comparable(votes: Sequence[Voted], target: str, group: int) -> bool:
    """Return whether elections differ, for all that the coalition does not know, in the target alone."""
    first = votes[0]
    return all(_is_like(voted, first) for voted in votes) and all(
        _unknown_in(voted, target, group) == _unknown_in(first, target, group) for voted in votes
    )


def _is_like(voted: Voted, other: Voted) -> bool:
    one, two = protocol_of(voted.scene).parameters, protocol_of(other.scene).parameters
    return one.model.trusts_server and not one.samples_voters_first and publish_alike(one, two)


def _unknown_in(voted: Voted, target: str, group: int) -> dict[str, tuple[list[int], list[int]]]:
    """Return who is unknown to the coalition beside the target, with group and ranking: of sums, in its group alone."""
    scene = voted.scene
    is_sums = protocol_of(voted.scene).parameters.kind.releases_sums
    rows = zip(scene.names, scene.inputs.public.tolist(), scene.inputs.private.tolist(), strict=True)
    return {
        name: (public, private)
        for name, public, private in rows
        if name != target and name not in voted.members and (public[0] == group or not is_sums)
    }


def _laws_of(
    voted: Voted, seen: Seen, target: str, group: int, ranking: IntArray, rows: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return the weights of what the others may add up to, shape (s,), and ln P[published | sum, candidate], (s, c).

    `ranking` is the target's in the first election that it took part in, and `rows` what that may have been.
    """
    attack = FairVotingAttack(protocol_of(voted.scene), seed=voted.scene.seed)
    names, totals = voted.scene.names, totals_of(seen)
    change: Change | None = "left"
    if target in names:
        is_same = np.array_equal(voted.scene.inputs.private[names.index(target)], ranking)
        change = None if is_same else "changed"
    else:
        public = np.concatenate([seen.public, np.array([[group]], dtype=np.int64)])  # of whom the others are the rest
        seen = dataclasses.replace(seen, public=public)
    weights, logs = attack.log_laws(attack.others(seen, group), group, rows, totals=totals, change=change)
    return weights, logs[:, :, 0]


def protocol_of(scene: Scene) -> FairVoting:
    """Return the vote of a scene in which the role has a part."""
    return cast("FairVoting", scene.protocol)  # its `protocols` says so
