"""Privacy events: descriptions of what was applied to a unit of data, from which an accountant computes the loss.

Events are immutable values, with a tag when they are written to a ledger. The meaning of a class never changes; new
classes are added instead. The separation of event and accountant follows Google's dp_accounting.
"""

from typing import TypeAlias

import msgspec

from ..arguments import make_fields_exact


class NoRelease(msgspec.Struct, frozen=True, tag=True):
    """Nothing that depends on the data was sent.

    Examples:
        >>> SelfComposed(NoRelease(), 3)
        SelfComposed(event=NoRelease(), count=3)
    """


class NonPrivate(msgspec.Struct, frozen=True, tag=True):
    """The data was sent without noise.

    Examples:
        >>> from psephos.protocol.privacy import NeighboringRelation, PureAccountant
        >>> PureAccountant.epsilon_of(NonPrivate(), NeighboringRelation.REPLACE_ONE)
        inf
    """


class RandomizedResponse(msgspec.Struct, frozen=True, tag=True):
    """Generalized randomized response over `num_choices` values at `epsilon` (nats).

    Examples:
        >>> RandomizedResponse(epsilon=1, num_choices=3)
        RandomizedResponse(epsilon=1.0, num_choices=3)
    """

    epsilon: float
    num_choices: int

    def __post_init__(self) -> None:
        make_fields_exact(self)


class LocalRandomizer(msgspec.Struct, frozen=True, tag=True):
    """Any local randomizer whose reports' probabilities differ by at most a factor of e^`epsilon` (nats).

    Examples:
        >>> LocalRandomizer(0.5)
        LocalRandomizer(epsilon=0.5)
    """

    epsilon: float

    def __post_init__(self) -> None:
        make_fields_exact(self)


class DiscreteLaplaceNoise(msgspec.Struct, frozen=True, tag="DiscreteLaplace"):
    """Discrete Laplace noise of `scale` on integers that a neighbor changes by up to `sensitivity`, in grid steps.

    Examples:
        >>> from psephos.protocol.privacy import NeighboringRelation, PureAccountant
        >>> noise = DiscreteLaplaceNoise(scale=8.0, sensitivity=4)
        >>> PureAccountant.epsilon_of(noise, NeighboringRelation.ADD_OR_REMOVE_ONE)
        0.5
    """

    scale: float
    sensitivity: int

    def __post_init__(self) -> None:
        make_fields_exact(self)


class PureMechanism(msgspec.Struct, frozen=True, tag=True):
    """Any `epsilon`-differentially private mechanism of a client or a server (nats).

    The probabilities of its outputs differ by at most a factor of e^`epsilon` between neighbors. The event's author
    must have proven this for the neighboring relation of the ledger to which it is charged.

    Examples:
        >>> PureMechanism(0.75)
        PureMechanism(epsilon=0.75)
    """

    epsilon: float

    def __post_init__(self) -> None:
        make_fields_exact(self)


class SharedDiscreteLaplace(msgspec.Struct, frozen=True, tag=True):
    """The sum of one integer vector and one noise share from each party, of which an observer sees only the sum.

    Args:
        scale: the scale of the discrete Laplace noise that `planned` shares add up to, in grid steps.
        sensitivity: the greatest ℓ₁ distance between the vectors of neighbors, in grid steps.
        planned: the number of shares for which each share is drawn.
        honest: the least number of shares in the sum that the observer does not know.
        width: the number of coordinates of the vector.

    Examples:
        >>> from psephos.protocol.privacy import NeighboringRelation, PureAccountant
        >>> shares = SharedDiscreteLaplace(scale=4.0, sensitivity=2, planned=3, honest=3, width=1)
        >>> PureAccountant.epsilon_of(shares, NeighboringRelation.REPLACE_ONE)
        0.5
    """

    scale: float
    sensitivity: int
    planned: int
    honest: int
    width: int

    def __post_init__(self) -> None:
        make_fields_exact(self)


class Composed(msgspec.Struct, frozen=True, tag=True):
    """Several events on the same data with independent randomness; later ones may depend on earlier outcomes.

    Examples:
        >>> from psephos.protocol.privacy import NeighboringRelation, PureAccountant
        >>> both = Composed((RandomizedResponse(0.5, 2), PureMechanism(0.25)))
        >>> PureAccountant.epsilon_of(both, NeighboringRelation.REPLACE_ONE)
        0.75
    """

    events: tuple["PrivacyEvent", ...]


class SelfComposed(msgspec.Struct, frozen=True, tag=True):
    """An event that happens `count` times.

    Examples:
        >>> from psephos.protocol.privacy import NeighboringRelation, PureAccountant
        >>> PureAccountant.epsilon_of(SelfComposed(RandomizedResponse(0.5, 2), 6), NeighboringRelation.REPLACE_ONE)
        3.0
    """

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
