"""The identity: values without noise, for phases in which the server is trusted with them.

In the central model, clients send their values, and the server adds noise to its release. Such a phase has a mechanism
like any other, so that machines, ledgers and noise sources need no special case. The mechanism's event states that the
server saw the data. It protects against nobody; the loss of the release is charged separately.
"""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ..arguments import make_fields_exact
from ..arrays import FloatArray, IntArray
from ..errors import require
from ..privacy.events import NonPrivate
from .mechanism import Mechanism, check_batch

_TOO_LARGE = 2**62


@dataclasses.dataclass(frozen=True)
class Disclosure(Mechanism):
    """Report each value unchanged.

    A value takes one unused uniform, since rows of uniforms are never empty.

    Args:
        bound: values are in [−bound, bound]; 1 ≤ bound < 2**62.

    Privacy:
        None: the loss against anybody who sees the report is infinite.

    Examples:
        >>> Disclosure(3).randomize_row([2, -1], [0.0, 0.0])
        [2, -1]
    """

    is_drawn_ahead: ClassVar[bool] = True
    bound: int

    def __post_init__(self) -> None:
        make_fields_exact(self)
        require(1 <= self.bound < _TOO_LARGE, "bound", self.bound, "in [1, 2**62)")

    @property
    def value_range(self) -> tuple[int, int]:
        """[−bound, bound]."""
        return -self.bound, self.bound

    @property
    def report_range(self) -> tuple[int, int]:
        return self.value_range

    @property
    def event(self) -> NonPrivate:
        """The data left its owner as it is."""
        return NonPrivate()

    def event_of(self, num_values: int) -> NonPrivate:
        return self.event

    def randomize(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        check_batch(self, values, uniforms)
        return values.copy()

    def randomize_one(self, value: int, uniforms: Sequence[float]) -> int:
        if not -self.bound <= value <= self.bound:
            raise ValueError(f"value is {value}: use a value from {-self.bound} to {self.bound}")
        return value

    def log_probabilities(self, reports: IntArray, values: IntArray) -> FloatArray:
        """Return 0 for the value itself, −∞ for any other. See `Mechanism.log_probabilities`."""
        return np.where(values[:, None] == reports, 0.0, -np.inf).T
