"""What poisoners push of a weighted vote: each candidate's margin over the quota."""

from collections.abc import Sequence

from ....protocol.dpwevote import DPWeVote
from ....protocol.estimators import Estimate
from ....protocol.tally import Tally


def estimates_of(protocol: DPWeVote, tallies: Sequence[Tally], aim: str) -> dict[str, Estimate]:
    """Return the margins, in units of weight, by the candidates' names."""
    del aim
    return {each.name: each.margin for each in protocol.outcome(tallies).candidates}
