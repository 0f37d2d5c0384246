"""The estimates that poisoners push in a weighted vote: each candidate's margin over the quota, or its decision."""

from collections.abc import Sequence

from ....protocol.dpwevote import DPWeVote
from ....protocol.estimators import Estimate
from ....protocol.tally import Tally


def estimates_of(protocol: DPWeVote, tallies: Sequence[Tally], aim: str) -> dict[str, Estimate]:
    """Return margins by candidate, in units of weight; 1 or 0 if only decisions are released."""
    del aim
    return {
        each.name: Estimate(float(each.leans_yes), 0.0) if each.margin is None else each.margin
        for each in protocol.outcome(tallies).candidates
    }
