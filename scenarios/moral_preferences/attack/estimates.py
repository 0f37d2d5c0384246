"""What poisoners push of moral preferences: each feature's coordinate."""

from collections.abc import Sequence

from ....protocol.estimators import Estimate
from ....protocol.moral_preferences import MoralPreferences
from ....protocol.tally import Tally


def estimates_of(protocol: MoralPreferences, tallies: Sequence[Tally], aim: str) -> dict[str, Estimate]:
    """Return how much each feature counts, by its name; the error is 0 where none is known."""
    del aim
    outcome = protocol.outcome(tallies)
    errors = outcome.errors or [0.0] * len(outcome.features)
    return dict(zip(outcome.features, map(Estimate, outcome.preferences, errors), strict=True))
