"""What poisoners push of a weighted vote: each candidate's margin over the quota, or its decision."""

from collections.abc import Sequence

from ....protocol.dpwevote import DPWeVote
from ....protocol.estimators import Estimate
from ....protocol.tally import Tally


def estimates_of(protocol: DPWeVote, tallies: Sequence[Tally], aim: str) -> dict[str, Estimate]:
    """Return the margins, in units of weight, by the candidates' names; 1 or 0 where decisions alone are told."""
    del aim
    return {
        each.name: Estimate(float(each.leans_yes), 0.0) if each.margin is None else each.margin
        for each in protocol.outcome(tallies).candidates
    }
