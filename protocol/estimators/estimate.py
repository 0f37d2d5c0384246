"""A number with its standard error, and what the two say of a decision."""

import math

import msgspec

from ..arguments import make_fields_exact
from ..elementary import erfc

__all__ = ["Estimate", "probability_of_other_sign"]


class Estimate(msgspec.Struct, frozen=True):
    """An estimated number.

    Args:
        value: the estimate.
        standard_error: the standard deviation of `value` over the randomizers' draws, the inputs held fixed; itself
            estimated where it depends on the inputs; 0 where nothing was randomized.
    """

    value: float
    standard_error: float

    def __post_init__(self) -> None:
        make_fields_exact(self)


def probability_of_other_sign(margin: Estimate, *, positive: bool) -> float:
    """Return the probability that a margin estimated by `margin` has not the sign that was decided.

    The estimate is taken as normal with its standard error about the true margin, and no margin as likelier than
    another beforehand: Φ(−margin/se) for a positive decision. It is near the truth from a few dozen parties on.

    Args:
        margin: an unbiased estimate.
        positive: the decision; where it contradicts the estimate, the probability exceeds 1/2.
    """
    towards = margin.value if positive else -margin.value
    if margin.standard_error == 0:
        return 0.0 if towards >= 0 else 1.0
    return 0.5 * erfc(towards / (margin.standard_error * math.sqrt(2)))
