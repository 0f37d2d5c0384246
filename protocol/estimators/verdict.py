"""A test's verdict on a decision: one of three answers, and the level at which they hold.

A decision is always made; a verdict may decline. The level is the greatest probability, whatever the truth is, of a
verdict "passes" on what does not pass, or "fails" on what does: over the noise alone, with fixed inputs, for one
decision. For several decisions, each at its own level, the probability that any verdict is wrong is at most the sum.
"""

import enum
from typing import Final

from ..arguments import exact_arguments
from ..errors import require

DEFAULT_LEVEL: Final = 0.05
"""The default level of one decision."""
UNDECIDED: Final = "undecided"
"""The words for a test that cannot tell. Messages keep the older words of `Verdict.TOO_CLOSE`."""
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
    """Raise ConfigurationError unless a test can have this level: above 0, below ½.

    Examples:
        >>> check_level(0.05)
    """
    require(0 < level < _HALF, "level", level, "a number in (0, 0.5)")
