"""A number with its standard error."""

import msgspec

from .arguments import make_fields_exact

__all__ = ["Estimate"]


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
