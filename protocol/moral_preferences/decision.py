"""Decisions: what the society that a session released would choose between two alternatives.

By the model that preferences are fitted with (Thurstone and Mosteller), the society's utility of x exceeds that of z
with probability Φ(β·(x − z)). How sure the release makes the choice itself is another matter: its noise may have turned
the sign.

Source: Wang et al. (2019), Section 3 for the model.
"""

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from ..elementary import erfc
from ..errors import ConfigurationError
from .outcome import Outcome
from .records import GREATEST_FEATURE

__all__ = ["Decision", "decide"]


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What is chosen.

    Args:
        choice: "first" or "second"; None where the preferences speak for neither.
        margin: β·(first − second).
        probability: that the society prefers the first, Φ(margin); None where only the direction of β is known.
        certainty: the probability that the release without noise would choose the same, its noise taken as normal and
            independent between features; None where the errors are not known, or hang together.
    """

    choice: str | None
    margin: float
    probability: float | None
    certainty: float | None


def decide(outcome: Outcome, first: Mapping[str, float], second: Mapping[str, float]) -> Decision:
    """Return the society's choice between two alternatives.

    Args:
        outcome: of a session.
        first: an alternative: its features by name; those that are not named are 0.
        second: the other.

    Raises:
        ConfigurationError: a feature is unknown, or a value is not in [−GREATEST_FEATURE, GREATEST_FEATURE].

    Privacy:
        Post-processing of a release; it costs nothing.
    """
    for field, alternative in (("first", first), ("second", second)):
        for name, value in alternative.items():
            if name not in outcome.features:
                allowed = f"described by {', '.join(outcome.features)}"
                raise ConfigurationError(field=f"the {field} alternative", value=name, allowed=allowed)
            given: Any = value  # by a caller whom no type checker reads, maybe something else
            is_number = isinstance(given, (int, float)) and not isinstance(given, bool)
            if not is_number or not abs(value) <= GREATEST_FEATURE:  # not so for nan
                allowed = f"in [-{GREATEST_FEATURE:g}, {GREATEST_FEATURE:g}]"
                raise ConfigurationError(field=f"{name} of the {field} alternative", value=value, allowed=allowed)
    differences = [first.get(name, 0.0) - second.get(name, 0.0) for name in outcome.features]
    margin = math.fsum(value * change for value, change in zip(outcome.preferences, differences, strict=True))
    error = None
    if outcome.errors is not None and not outcome.is_whitened:
        squares = (error * error * change * change for error, change in zip(outcome.errors, differences, strict=True))
        error = math.sqrt(math.fsum(squares))
    return Decision(
        choice=None if margin == 0 else "first" if margin > 0 else "second",
        margin=margin,
        probability=None if outcome.is_direction else 0.5 * erfc(-margin / math.sqrt(2)),
        certainty=None if error is None or margin == 0 else _certainty(margin, error),
    )


def _certainty(margin: float, error: float) -> float:
    return 1.0 if error == 0 else 0.5 * erfc(-abs(margin) / (error * math.sqrt(2)))
