"""What a local randomizer is: integers and uniforms in, integers out.

Mechanisms never draw. Uniforms come in as an argument, so the same function serves one simulated agent, an
array over a million voters and a replay; a deployment does not call it at all, but samples the same law with
exact samplers (`psephos.agents.noise`). Values and reports are integers: indices of a public set, or multiples
of a public power-of-two grid; so tallies add exactly and low bits leak nothing.
"""

import abc
from collections.abc import Sequence

from ..arrays import FloatArray, IntArray
from ..privacy.events import PrivacyEvent

__all__ = ["FiniteMechanism", "Mechanism", "check_batch"]


class Mechanism(abc.ABC):
    """A local randomizer of integers.

    Subclasses are frozen dataclasses: two equal mechanisms have the same law.
    """

    __slots__ = ()

    slots: int = 1
    """Uniforms that one value takes."""

    @property
    @abc.abstractmethod
    def report_range(self) -> tuple[int, int]:
        """The least and the greatest report, both included."""

    @property
    @abc.abstractmethod
    def value_range(self) -> tuple[int, int]:
        """The least and the greatest private value, both included."""

    @property
    @abc.abstractmethod
    def event(self) -> PrivacyEvent:
        """What one application to one value costs, for an accountant."""

    @abc.abstractmethod
    def randomize(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        """Randomize each value on its own.

        Args:
            values: int64, shape (n,), in `value_range`.
            uniforms: float64 in [0, 1), shape (n, slots).

        Returns:
            Reports: int64, shape (n,), in `report_range`.

        Raises:
            ValueError: a value or a shape is out of range.
        """

    @abc.abstractmethod
    def randomize_one(self, value: int, uniforms: Sequence[float]) -> int:
        """Return `randomize` of one value, bit for bit, without the cost of arrays.

        Args:
            value: in `value_range`.
            uniforms: `slots` floats in [0, 1).

        Raises:
            ValueError: the value is out of range.
        """


class FiniteMechanism(Mechanism):
    """A mechanism on finitely many values and reports, whose law is a matrix."""

    __slots__ = ()

    @abc.abstractmethod
    def channel_matrix(self) -> tuple[tuple[float, ...], ...]:
        """Return P[report | value] as rows, one for each value in order, one column for each report in order."""


def check_batch(mechanism: Mechanism, values: IntArray, uniforms: FloatArray) -> None:
    """Raise ValueError unless `values` and `uniforms` fit `mechanism` and each other."""
    if values.ndim != 1 or uniforms.shape != (values.shape[0], mechanism.slots):
        expected = f"values of shape (n,) and uniforms of shape (n, {mechanism.slots})"
        raise ValueError(f"expected {expected}, got {values.shape} and {uniforms.shape}")
    low, high = mechanism.value_range
    if values.size and not (low <= int(values.min()) and int(values.max()) <= high):
        raise ValueError(f"values must be in [{low}, {high}], got {int(values.min())} to {int(values.max())}")
