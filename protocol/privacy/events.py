"""What was applied to a unit of data, completely enough that an accountant needs nothing else.

Events are frozen values, tagged where they are written, and say nothing of cost. Their meanings
never change; new classes are added. Source for the separation of event and accountant: Google's dp_accounting.
"""

from typing import TypeAlias

import msgspec

from ..arguments import make_fields_exact


class NoRelease(msgspec.Struct, frozen=True, tag=True):
    """Nothing that depends on the data left its owner."""


class NonPrivate(msgspec.Struct, frozen=True, tag=True):
    """The data left its owner as it is."""


class RandomizedResponse(msgspec.Struct, frozen=True, tag=True):
    """Generalized randomized response over `num_choices` values at `epsilon` (nats)."""

    epsilon: float
    num_choices: int

    def __post_init__(self) -> None:
        make_fields_exact(self)


class LocalRandomizer(msgspec.Struct, frozen=True, tag=True):
    """Any local randomizer whose reports' probabilities differ by a factor of e^`epsilon` at most (nats)."""

    epsilon: float

    def __post_init__(self) -> None:
        make_fields_exact(self)


class DiscreteLaplaceNoise(msgspec.Struct, frozen=True, tag="DiscreteLaplace"):
    """Discrete Laplace noise of `scale` on integers that a neighbor changes by up to `sensitivity`, in grid steps."""

    scale: float
    sensitivity: int

    def __post_init__(self) -> None:
        make_fields_exact(self)


class PureMechanism(msgspec.Struct, frozen=True, tag=True):
    """Any mechanism, of a client or of a server, that is `epsilon`-differentially private (nats).

    The probabilities of its outputs differ by a factor of e^`epsilon` at most between neighbors, whichever relation
    makes them neighbors. The author of the event has proven it for the relation of the ledger that it is charged to.
    """

    epsilon: float

    def __post_init__(self) -> None:
        make_fields_exact(self)


class SharedDiscreteLaplace(msgspec.Struct, frozen=True, tag=True):
    """A sum of integer vectors of which nothing else is seen, with noise shares that its owners have drawn.

    Args:
        scale: of the discrete Laplace noise that `planned` shares add up to, in grid steps.
        sensitivity: by which a neighbor changes the vector, in l1 distance, at most.
        planned: for how many shares each is drawn.
        honest: how many are in the sum, at least, that whoever sees it does not know.
        width: coordinates of the vector.
    """

    scale: float
    sensitivity: int
    planned: int
    honest: int
    width: int

    def __post_init__(self) -> None:
        make_fields_exact(self)


class Composed(msgspec.Struct, frozen=True, tag=True):
    """Several events on the same data, each with randomness of its own; later ones may depend on earlier outcomes."""

    events: tuple["PrivacyEvent", ...]


class SelfComposed(msgspec.Struct, frozen=True, tag=True):
    """The same event `count` times."""

    event: "PrivacyEvent"
    count: int

    def __post_init__(self) -> None:
        make_fields_exact(self)


PrivacyEvent: TypeAlias = (
    NoRelease
    | NonPrivate
    | RandomizedResponse
    | LocalRandomizer
    | DiscreteLaplaceNoise
    | PureMechanism
    | SharedDiscreteLaplace
    | Composed
    | SelfComposed
)
