"""The probability that two preference vectors choose alike: the paper's accuracy, in closed form."""

import math
from collections.abc import Sequence


def agreement_of(preferences: Sequence[float], other_preferences: Sequence[float]) -> float | None:
    """Return the probability that both vectors prefer the same of two alternatives: 1 − angle/π.

    The alternatives' features differ by independent normal variables of the same law. None if a vector is zero.

    Examples:
        >>> round(agreement_of([1.0, 0.0], [0.0, 2.0]), 12), agreement_of([1.0, 0.0], [3.0, 0.0])
        (0.5, 1.0)
        >>> agreement_of([0.0, 0.0], [1.0, 0.0]) is None
        True
    """
    if not any(preferences) or not any(other_preferences):
        return None
    lengths = math.hypot(*preferences), math.hypot(*other_preferences)
    across, weights = (
        [value / length for value in vector]
        for vector, length in zip((preferences, other_preferences), lengths, strict=True)
    )
    # From half the angle, since a cosine near 1 is imprecise for small angles.
    half = math.hypot(*(a - b for a, b in zip(across, weights, strict=True))) / 2
    return 1 - 2 * math.asin(min(half, 1.0)) / math.pi
