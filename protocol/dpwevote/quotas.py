"""Quotas as a share of all weight, read exactly as written, such as 2/3 or 0.55."""

import re
from fractions import Fraction
from typing import Final

from ..errors import ConfigurationError

SIMPLE: Final = 1_000  # the greatest denominator of a share that a float is taken to stand for
_WRITTEN: Final = re.compile(r"(\d+) ?/ ?(\d+)|(\d*\.?\d+) ?(%?)", re.ASCII)


def share_in(text: str, *, field: str) -> Fraction:
    """Parse a share as people write it: 2/3, 75% or 0.85.

    Raises:
        ConfigurationError: the text is no share, or its float stands for another share.

    Examples:
        >>> share_in("2/3", field="quota_fraction"), share_in("75 %", field="quota_fraction")
        (Fraction(2, 3), Fraction(3, 4))
    """
    allowed = "a share above 0 and up to 1, such as 2/3, 75% or 0.85"
    match = _WRITTEN.fullmatch(text.strip())
    share = Fraction(0)
    if match is not None and match[3]:
        share = Fraction(match[3]) / (100 if match[4] else 1)
    elif match is not None and int(match[2]):
        share = Fraction(int(match[1]), int(match[2]))
        allowed += f"; of a fraction both numbers are at most {SIMPLE:,}"
        share = share if share.denominator <= SIMPLE else Fraction(0)
    if not 0 < share <= 1:
        raise ConfigurationError(field=field, value=text, allowed=allowed)
    return share
