"""Personalized privacy: a phase of the local model in which each person chooses a level of ε."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ..arrays import IntArray
from ..mechanisms import RowMechanism
from ..privacy import PrivacyEvent, PrivacyLoss
from .phase import MechanismGroups, Phase


class PersonalizedPhase(Phase):
    """A phase whose persons have one of several levels of ε. The last number of a public row is the level's index.

    Args:
        name, columns, num_parts: see `Phase`.
        mechanisms: the local randomizer of each level, the smallest ε first.
        losses: the losses of one person at each level.
        epsilons: the levels, in nats; empty if all persons have the same ε, which public rows then do not contain.

    Attributes:
        is_personal: whether public rows contain a level.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("bridge",), variant="two_point", epsilons=(0.5, 2.0)))
        >>> phase = vote.phases[0]
        >>> phase.is_personal
        True
        >>> [phase.mechanism_of([place]).epsilon for place in (0, 1)]
        [0.5, 2.0]
    """

    person: ClassVar[str]
    """The protocol's word for a person that reports, for messages."""

    def __init__(
        self,
        name: str,
        *,
        columns: range,
        mechanisms: Sequence[RowMechanism],
        losses: Sequence[tuple[PrivacyLoss, ...]],
        epsilons: Sequence[float],
        num_parts: int = 1,
    ) -> None:
        self.mechanisms = tuple(mechanisms)
        self.is_personal = bool(epsilons)
        self._names = [f"with ε = {repr(epsilon).removesuffix('.0')}" for epsilon in epsilons]
        widest = max(self.mechanisms, key=lambda mechanism: mechanism.report_range[1])  # the first of equal ones
        super().__init__(name, columns=columns, mechanism=widest, losses=losses[-1], num_parts=num_parts)
        self._losses_of_level = tuple(map(self.with_parts, losses, self.mechanisms))

    @property
    def event(self) -> PrivacyEvent:
        """The privacy event of a person of the greatest ε. See `Guarded.event`."""
        return self.compose_parts(self.mechanisms[-1].event_of(self.num_values))

    def mechanism_of(self, public: Sequence[int]) -> RowMechanism:
        return self.mechanisms[self.level_of(public)]

    def mechanism_groups(self, public: IntArray) -> MechanismGroups:
        return [(self.mechanisms[level], places) for level, places in self.level_places(public)]

    def losses_of(self, public: Sequence[int]) -> tuple[PrivacyLoss, ...]:
        return self._losses_of_level[self.level_of(public)]

    def loss_groups(self, public: IntArray) -> Sequence[tuple[str, int, tuple[PrivacyLoss, ...]]]:
        groups = self.level_places(public)
        if len(groups) == 1:
            return [("", len(public), self._losses_of_level[groups[0][0]])]
        return [(self._names[level], len(public[places]), self._losses_of_level[level]) for level, places in groups]

    def check_report(self, report: Sequence[int], public: Sequence[int]) -> None:
        """Refuse a report that the mechanism of the person's level cannot return. See `Phase.check_report`."""
        low, high = self.mechanism_of(public).report_range
        if not low <= min(report) <= max(report) <= high:
            raise ValueError(f"its numbers are not in [{low}, {high}], the range at the {self.person}'s ε")

    def level_of(self, public: Sequence[int]) -> int:
        """Return the place of a person's level."""
        return public[-1] if self.is_personal else 0

    def levels_of(self, public: IntArray) -> IntArray:
        """Return the places of many persons' levels: int64, shape (n,)."""
        return public[:, -1] if self.is_personal else np.zeros(len(public), dtype=np.int64)

    def level_places(self, public: IntArray) -> list[tuple[int, IntArray | slice]]:
        """Return the places of the persons of each level that some have."""
        return places_by(public[:, -1]) if self.is_personal else [(0, slice(None))]


def places_by(codes: IntArray) -> list[tuple[int, IntArray | slice]]:
    """Return each code that occurs, with its indices.

    Examples:
        >>> [(code, places) for code, places in places_by(np.array([2, 2]))]
        [(2, slice(None, None, None))]
    """
    code_values: list[int] = np.unique(codes).tolist()
    if len(code_values) == 1:
        return [(code_values[0], slice(None))]
    return [(code, np.flatnonzero(codes == code)) for code in code_values]
