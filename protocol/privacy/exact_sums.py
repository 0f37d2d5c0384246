"""Sums of losses without rounding: in units of 2⁻¹⁰⁷⁴, of which every float is an integer multiple.

So a budget is exact to the last bit. A sum that is shown as a float is rounded up.
"""

import functools
import math
from typing import Final

from ..errors import PrivacyError

INFINITE: Final = 1 << 4096
"""A number of units that stands for infinity; no sum of finite floats reaches it."""
_BITS: Final = 1074
_MOST_KEPT: Final = 1 << 10  # cached results, since all parties of a process have the same losses


@functools.lru_cache(maxsize=_MOST_KEPT)
def units_of(loss: float) -> int:
    """Return a loss in units; PrivacyError if it is negative or NaN.

    Examples:
        >>> rounded_up(10 * units_of(0.1)), rounded_up(units_of(0.5) + units_of(0.25))
        (1.0000000000000002, 0.75)
    """
    if not loss >= 0:
        raise PrivacyError(f"a loss is {loss}: use a number of at least 0")
    if loss == math.inf:
        return INFINITE
    numerator, denominator = loss.as_integer_ratio()
    return numerator << (_BITS + 1 - denominator.bit_length())


@functools.lru_cache(maxsize=_MOST_KEPT)
def rounded_up(units: int) -> float:
    """Return the least float that is at least this many units; infinity if there is none.

    Examples:
        >>> rounded_up(units_of(0.5)), rounded_up(10 * units_of(0.1))
        (0.5, 1.0000000000000002)
    """
    try:
        nearest = units / (1 << _BITS)
    except OverflowError:
        return math.inf
    return nearest if units_of(nearest) >= units else math.nextafter(nearest, math.inf)


def rounded_down(units: int) -> float:
    """Return the greatest float that is at most this many units.

    Examples:
        >>> rounded_down(10 * units_of(0.1))
        1.0
    """
    above = rounded_up(units)
    return above if units_of(above) <= units else math.nextafter(above, 0)
