"""The guard of masked sums: it refuses losses that are less than what the shares of noise, added up, cost."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import ClassVar

import msgspec
import numpy as np

from .arrays import IntArray
from .errors import require
from .guard import Guarded, differ_in_one
from .mechanisms import PolyaShare, RowMechanism
from .mechanisms.realized import non_neighbors_error, rows_to_try
from .privacy import NoRelease, PrivacyEvent, PrivacyLoss, PureAccountant, SelfComposed, TrustModel


class GuardedShare(Guarded):
    """What states the losses of shares: a masked phase, whose server sees one sum of all rows and nothing else.

    Attributes:
        share: what each person adds noise by; `planned` is of it.
        honest: how many shares are certain to be in the sum that neither the server nor a colluder knows.
    """

    model: ClassVar[TrustModel] = TrustModel.DISTRIBUTED
    share: PolyaShare
    honest: int

    @property
    def event(self) -> PrivacyEvent:
        """What whoever sees the sum sees of one person's data: with fewer honest shares than planned, more."""
        return self.event_within(self.share.sensitivity)

    def event_within(self, sensitivity: int) -> PrivacyEvent:
        """Return the same of a person whose rows are no farther apart than this, in l1 distance."""
        event = self.share.event_of_sum(self.num_values, honest=self.honest)
        return self.of_all_parts(msgspec.structs.replace(event, sensitivity=sensitivity))

    def sensitivity_of(self, public: Sequence[int]) -> int:
        """Return how far apart rows of this person are at most, 0 if it has one: as anybody's, unless overridden."""
        return self.share.sensitivity

    def part_event_of(self, public: Sequence[int]) -> PrivacyEvent:
        """Return what whoever sees the sum sees of one part of a person's row, all others being known.

        As much as of the row, or of one of its `num_parts`, unless overridden.
        """
        return _of_one_part(self.event_within(self.sensitivity_of(public)))

    def check_largest(self) -> None:
        of_part = self.event.event if isinstance(self.event, SelfComposed) else NoRelease()  # a row's is not known
        self._refuse_shares(self.event, of_part, [self.losses])

    def check_losses(self, public: Sequence[int]) -> None:
        drawn = self.mechanism_of(public)
        require(drawn == self.share, f"mechanism of phase {self.name!r}", drawn, f"{self.share}, whose loss is stated")
        sensitivity = self.sensitivity_of(public)
        stated = [self.losses_of(public), self.losses]
        self._refuse_shares(self.event_within(sensitivity), self.part_event_of(public), stated, public)
        if self.num_parts == 1 and any(loss.part is not None for losses in stated for loss in losses):
            rows = self._rows_compared(public)
            moved = [
                int(np.abs(rows - row)[own].sum(axis=1).max(initial=0))
                for row, own in zip(rows, differ_in_one(rows), strict=True)
            ]
            self._refuse_shares(NoRelease(), self.event_within(max(1, *moved)), stated, public)
        self._compare_rows(np.empty((0, self.num_values), dtype=np.int64), public, ())

    def _compare_rows(self, rows: IntArray, public: Sequence[int], earlier: Sequence[Guarded]) -> None:
        together = np.concatenate([rows, self._rows_compared(public)])
        own = dataclasses.replace(self.share, sensitivity=max(self.sensitivity_of(public) * self.num_parts, 1))
        if strangers := non_neighbors_error(self.name, own, together, is_shown=not len(rows)):
            raise strangers

    def _rows_compared(self, public: Sequence[int]) -> IntArray:
        rows = self.rows_of(public)
        return rows_to_try(self.protected_values_of(public)) if rows is None else rows

    def check_loss_groups(self, public: IntArray, *, earlier: Sequence[Guarded] = ()) -> None:
        for row, _, stated in self._stated_to(public):
            self.check_losses(row)
            self._refuse_shares(self.event_within(self.sensitivity_of(row)), self.part_event_of(row), stated, row)

    def _refuse_shares(
        self,
        event: PrivacyEvent,
        of_part: PrivacyEvent,
        stated: Sequence[Sequence[PrivacyLoss]],
        public: Sequence[int] = (),
    ) -> None:
        for relation in {relation for losses in stated for relation in self._relations_of(losses)}:
            self.refuse_below(PureAccountant.epsilon_of(event, relation), relation, stated, public)
            self._refuse_part(stated, relation, functools.partial(PureAccountant.epsilon_of, of_part, relation))

    def _largest_part(self, loss: PrivacyLoss, mechanism: RowMechanism | None) -> float:
        return PureAccountant.epsilon_of(_of_one_part(self.event), loss.relation)


def _of_one_part(event: PrivacyEvent) -> PrivacyEvent:
    return event.event if isinstance(event, SelfComposed) else event
