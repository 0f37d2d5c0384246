"""What was applied to a unit of data, completely enough that an accountant needs nothing else.

Events are frozen values and say nothing of cost. Their meanings never change; new classes are added.
Source for the separation of event and accountant: Google's dp_accounting.
"""

import dataclasses
from typing import TypeAlias

__all__ = [
    "Composed",
    "DiscreteLaplace",
    "NoRelease",
    "NonPrivate",
    "PrivacyEvent",
    "RandomizedResponse",
    "SelfComposed",
]


@dataclasses.dataclass(frozen=True)
class NoRelease:
    """Nothing that depends on the data left its owner."""


@dataclasses.dataclass(frozen=True)
class NonPrivate:
    """The data left its owner as it is."""


@dataclasses.dataclass(frozen=True)
class RandomizedResponse:
    """Generalized randomized response over `num_choices` values at `epsilon` (nats)."""

    epsilon: float
    num_choices: int


@dataclasses.dataclass(frozen=True)
class DiscreteLaplace:
    """Discrete Laplace noise of `scale` on integers that a neighbor changes by up to `sensitivity`, in grid steps."""

    scale: float
    sensitivity: int


@dataclasses.dataclass(frozen=True)
class Composed:
    """Several events on the same data, each with randomness of its own; later ones may depend on earlier outcomes."""

    events: tuple["PrivacyEvent", ...]


@dataclasses.dataclass(frozen=True)
class SelfComposed:
    """The same event `count` times."""

    event: "PrivacyEvent"
    count: int


PrivacyEvent: TypeAlias = NoRelease | NonPrivate | RandomizedResponse | DiscreteLaplace | Composed | SelfComposed
