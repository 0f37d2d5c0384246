"""The estimates that poisoners push in moral preferences: each feature's coordinate."""

from collections.abc import Sequence

from ....protocol.estimators import Estimate
from ....protocol.moral_preferences import MoralPreferences
from ....protocol.tally import Tally


def estimates_of(protocol: MoralPreferences, tallies: Sequence[Tally], aim: str) -> dict[str, Estimate]:
    """Return the coordinates by feature; the standard error is 0 if it is unknown."""
    del aim
    outcome = protocol.outcome(tallies)
    errors = outcome.errors or [0.0] * len(outcome.features)
    return dict(zip(outcome.features, map(Estimate, outcome.preferences, errors), strict=True))
