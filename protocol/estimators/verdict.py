"""Verdicts of tests on decisions: "passes", "fails" or "too close to tell", at a stated level.

A protocol always makes a decision, whereas a verdict may be undecided. The level bounds the probability of a wrong
verdict on one decision ("passes" on what does not pass, or "fails" on what does). The probability is over the noise
alone, for the worst fixed inputs. For several decisions, the probability that any verdict is wrong is at most the sum
of their levels.
"""

import enum
from typing import Final

from ..arguments import exact_arguments
from ..errors import require

DEFAULT_LEVEL: Final = 0.05
"""The default level of one decision."""
UNDECIDED: Final = "undecided"
"""The name of an undecided verdict in reports. Protocol messages use the value of `Verdict.TOO_CLOSE` instead."""
_HALF: Final = 0.5


class Verdict(enum.Enum):
    """A test's verdict on a decision, at a stated level.

    Examples:
        >>> Verdict.TOO_CLOSE.value
        'too close to tell'
    """

    PASSES = "passes"
    FAILS = "fails"
    TOO_CLOSE = "too close to tell"


@exact_arguments
def check_level(level: float) -> None:
    """Raise ConfigurationError unless the level of a test is in (0, ½).

    Examples:
        >>> check_level(0.05)
    """
    require(0 < level < _HALF, "level", level, "a number in (0, 0.5)")
