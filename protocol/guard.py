"""The guard: it refuses a phase that states a smaller loss than its mechanism has, for every public row.

The losses that a phase states (`losses`, `losses_of`, `loss_groups`) are compared with the mechanism that it draws by
(`mechanism_of`, `mechanism_groups`, or a trusted server's mechanism), in two ways. They must be at least as large as
either finds:

- the event: a mechanism says what one application costs a row of the values that a public row allows (`values_of`),
  and a phase says of how many such parts a person's row is made (`num_parts`);
- the law: where it is written down, what reports realize between two rows of one person
  (`psephos.protocol.mechanisms.realized`), so a mechanism's own event is not simply believed. If rows and reports are
  few, that is the smallest true ε.

So a phase states facts about rows, which a client checks, and its mechanisms set the prices. The check is made for the
person who pays most when a phase is made; for its public row before a client reserves; and for all rows, once for each
kind, before a server begins with a roster or an array is charged.
"""

import abc
import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np

from .arrays import FloatArray, IntArray
from .errors import ConfigurationError
from .mechanisms import RowMechanism
from .mechanisms.realized import greatest_gap, realized_loss, reports_to_try, rows_to_try
from .privacy import NeighboringRelation, PrivacyEvent, PrivacyLoss, PureAccountant, SelfComposed, TrustModel
from .tally import Tally

__all__ = ["Guarded", "GuardedRelease", "Values"]

Values: TypeAlias = Sequence[Sequence[int]]
"""For each column of a row all that it may hold."""

# Sums of a loss's parts and the whole differ by rounding; and so does what is nothing, as the loss of p = 2/3.
_ROUNDING: Final = 1e-9
_NOTHING: Final = 1e-12
_MOST_KEPT: Final = 1 << 10
_MOST_SHOWN: Final = 12


class Guarded(abc.ABC):
    """What states losses and draws: a phase, of which this is the part that holds the two together.

    Attributes:
        name: what users call it.
        num_values: how many values it randomizes.
        mechanism: the local randomizer of whoever has none of its own.
        losses: what it costs one person at most.
        num_parts: how many parts a person's row is made of at most, such as records, where the mechanism's event
            covers the change of one part: all of them are the person's.
    """

    name: str
    num_values: int
    mechanism: RowMechanism
    losses: tuple[PrivacyLoss, ...]
    num_parts: int = 1

    @abc.abstractmethod
    def mechanism_of(self, public: Sequence[int]) -> RowMechanism:
        """Return the local randomizer of one person."""

    @abc.abstractmethod
    def mechanism_groups(self, public: IntArray) -> Sequence[tuple[RowMechanism, IntArray | slice]]:
        """Return the local randomizers of many."""

    @abc.abstractmethod
    def losses_of(self, public: Sequence[int]) -> tuple[PrivacyLoss, ...]:
        """Return what the phase costs one person."""

    @abc.abstractmethod
    def loss_groups(self, public: IntArray) -> Sequence[tuple[str, int, tuple[PrivacyLoss, ...]]]:
        """Return what the phase costs many."""

    @abc.abstractmethod
    def check_report(self, report: Sequence[int], public: Sequence[int]) -> None:
        """Refuse a report that does not fit its sender's public row."""

    @abc.abstractmethod
    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        """Tally reports."""

    @property
    def least_report(self) -> list[int]:
        """The report whose numbers are all the least."""
        return [self.mechanism.report_range[0]] * self.mechanism.num_reports_of(self.num_values)

    @property
    def event(self) -> PrivacyEvent:
        """What answering does at most to one person's data: to any row that the mechanism takes.

        A phase whose persons pay less than for any row, or that has mechanisms which cost more, overrides this by an
        event of its mechanisms'. It is held against `losses` when the phase is made, and replaces no later check.
        """
        return self.of_all_parts(self.mechanism.event_of(self.num_values))

    def values_of(self, public: Sequence[int]) -> Values:
        """Return for each value of the phase all that the person may hold: what its mechanism takes, unless overridden.

        A phase overrides this where a public row says more: which places are empty, or from which set an answer is. A
        client whose own row holds another value refuses the public row.

        Args:
            public: the person's public row.
        """
        low, high = self.mechanism_of(public).value_range
        return (range(low, high + 1),) * self.num_values

    def rows_of(self, public: Sequence[int]) -> IntArray | None:
        """Return private rows of one person, whose laws are compared; None for those of `values_of` that are neighbors.

        A phase overrides this where not each row of these values is one that a person may hold, or where more than a
        mechanism's neighbors are.

        Args:
            public: the person's public row.
        """
        del public

    def kinds_of(self, public: IntArray) -> Sequence[IntArray | slice]:
        """Return the places of those whose public rows mean the same for the phase, but for the order of columns.

        By mechanism, unless overridden. A phase that overrides `values_of` overrides this.

        Args:
            public: public rows, shape (n, public columns).
        """
        return [places for _, places in self.mechanism_groups(public)]

    def check_losses(self, public: Sequence[int]) -> None:
        """Run by a client before it reserves: refuse a phase that states less than it draws for this public row.

        Args:
            public: the person's public row.

        Raises:
            ConfigurationError: it does, or `losses`, which are to cover everybody, are less.
        """
        stated = (self.losses_of(public), self.losses)
        self._refuse_less(stated, public, [self.mechanism_of(public)])

    def check_loss_groups(self, public: IntArray, *, earlier: Sequence["Guarded"] = ()) -> None:
        """Run before many are charged: refuse a phase that states less than it draws for any of their public rows.

        Args:
            public: their public rows, shape (n, public columns).
            earlier: the phases before this one.

        Raises:
            ConfigurationError: as `check_losses`.
        """
        del earlier
        for places in self.kinds_of(public):
            alike = public[places]
            if not len(alike):
                continue
            row: list[int] = alike[0].tolist()
            stated = [self.losses_of(row), self.losses, *(losses for _, _, losses in self.loss_groups(alike))]
            groups = self.mechanism_groups(alike)
            self._refuse_less(stated, row, [mechanism for mechanism, own in groups if len(alike[own])])

    def check_largest(self) -> None:
        """Run when a phase is made: refuse it if `losses` are less than `event`, or than a law says that belies it.

        Raises:
            ConfigurationError: they are.
            UnsupportedEventError: `event` cannot be bounded under a loss's relation.
        """
        for relation in self._relations_of(self.losses):
            least = PureAccountant.epsilon_of(self.event, relation)
            of_mechanism = PureAccountant.epsilon_of(self.mechanism.event_of(self.num_values), relation)
            if math.isfinite(of_mechanism):
                low, high = self.mechanism.value_range
                realized = self._realized(self.mechanism, (range(low, high + 1),) * self.num_values, None)
                least = max(least, realized if _is_less(of_mechanism, realized) else 0.0)
            self.refuse_below(least, relation, [self.losses])

    def refuse_below(
        self,
        least: float,
        relation: NeighboringRelation,
        stated: Iterable[Sequence[PrivacyLoss]],
        public: Sequence[int] = (),
    ) -> None:
        """Raise ConfigurationError unless each list of losses states so much.

        Args:
            least: ε that is drawn, in nats.
            relation: for which neighbors.
            stated: lists of losses; one without this relation is another's to check.
            public: whose public row it is about.
        """
        for losses in stated:
            if relation not in self._relations_of(losses):
                continue
            sums: dict[TrustModel, float] = {}
            for loss in losses:
                if loss.relation is relation:
                    cost = PureAccountant.epsilon_of(loss.event, relation)  # which `proven` is never below
                    sums[loss.model] = sums.get(loss.model, 0.0) + cost
            if _is_less(total := min(sums.values(), default=0.0), least):
                shown = ", ".join(map(str, public[:_MOST_SHOWN])) + (", ..." if len(public) > _MOST_SHOWN else "")
                of_row = f" for the public row ({shown})" if len(public) else ""
                allowed = f"at least what phase {self.name!r} draws{of_row}: {least:g}"
                raise ConfigurationError(field="losses", value=total, allowed=allowed)

    def of_all_parts(self, event: PrivacyEvent) -> PrivacyEvent:
        """Return what is done to a person of whose parts each suffers this event."""
        return event if self.num_parts == 1 else SelfComposed(event, self.num_parts)

    def _refuse_less(
        self, stated: Sequence[Sequence[PrivacyLoss]], public: Sequence[int], mechanisms: Sequence[RowMechanism]
    ) -> None:
        """Raise ConfigurationError unless each list of losses states what each mechanism costs this public row."""
        values = self.values_of(public)
        for relation in {relation for losses in stated for relation in self._relations_of(losses)}:
            for mechanism in mechanisms:
                event = self.of_all_parts(mechanism.event_among(values))
                least = PureAccountant.epsilon_of(event, relation)
                if relation is NeighboringRelation.REPLACE_ONE:
                    least = max(least, self._realized(mechanism, values, self.rows_of(public)))
                self.refuse_below(least, relation, stated, public)

    def _relations_of(self, losses: Sequence[PrivacyLoss]) -> set[NeighboringRelation]:
        """Return for which relations losses are stated; where there are none, for which the phase's are."""
        stated = {loss.relation for loss in losses} or {loss.relation for loss in self.losses}
        return stated or {NeighboringRelation.REPLACE_ONE}

    def _realized(self, mechanism: RowMechanism, values: Values, rows: IntArray | None) -> float:
        """Return what the mechanism's law realizes, worked out once."""
        columns = tuple(column if isinstance(column, range) else tuple(column) for column in values)
        if mechanism.ignores_order and rows is None:
            columns = tuple(sorted(columns, key=lambda column: (len(column), column[0], column[-1])))
        key = id(mechanism), columns, None if rows is None else rows.tobytes()
        if (known := self._known_laws.get(key)) is None:
            if len(self._known_laws) >= _MOST_KEPT:
                self._known_laws.clear()
            # The mechanism is kept too, so that no other can have its identity.
            known = self._known_laws[key] = mechanism, realized_loss(mechanism, columns, rows=rows)
        return known[1]

    @functools.cached_property
    def _known_laws(self) -> dict[tuple[int, Values, bytes | None], tuple[RowMechanism, float]]:
        return {}


def _is_less(stated: float, drawn: float) -> bool:
    """Return whether a loss is less than another one by more than rounding."""
    return stated < drawn * (1 - _ROUNDING) - _NOTHING


class GuardedRelease(Guarded):
    """What states the losses of a release: a central phase, whose server draws as it closes."""

    @property
    @abc.abstractmethod
    def tally_mechanism(self) -> RowMechanism:
        """What randomizes the tally's totals, as one row."""

    @property
    def event(self) -> PrivacyEvent:
        """What whoever sees the release sees of one person's data."""
        return self.of_all_parts(self.tally_mechanism.event_of(self.num_values))

    def release_event_of(self, public: Sequence[int]) -> PrivacyEvent:
        """Return what whoever sees the release sees of one person's data, or of a part: as much as of anybody's.

        A phase overrides this whose tally mechanism says what some persons, who move the tally by less, pay. It then
        overrides `kinds_of`.

        Args:
            public: the person's public row.
        """
        del public
        return self.tally_mechanism.event_of(self.num_values)

    def check_losses(self, public: Sequence[int]) -> None:
        """Hold the losses against the release's event. See `Guarded.check_losses`."""
        self._refuse_release(public, (self.losses_of(public), self.losses), {})

    def check_loss_groups(self, public: IntArray, *, earlier: Sequence[Guarded] = ()) -> None:
        """Hold the losses against the release's event, and against its law. See `Guarded.check_loss_groups`.

        The law is that of the tallies of a single person's reports, each against each other, and against nobody's.
        """
        for places in self.kinds_of(public):
            alike = public[places]
            if not len(alike):
                continue
            row: list[int] = alike[0].tolist()
            stated = [self.losses_of(row), self.losses, *(losses for _, _, losses in self.loss_groups(alike))]
            self._refuse_release(row, stated, self._realized_in_release(row, earlier))

    def log_laws(self, tallies: Sequence[Tally]) -> FloatArray:
        """Return ln P[release | tally] of the releases, or of some where they are many.

        A phase that overrides `randomize_tally` overrides this.

        Args:
            tallies: of reports that differ in one person's.

        Returns:
            float64, shape (releases, tallies).

        Raises:
            NotImplementedError: the law is not written down, or takes too long.
        """
        rows = np.stack([tally.totals.reshape(-1) for tally in tallies])
        return self.tally_mechanism.log_likelihoods(reports_to_try(self.tally_mechanism, rows), rows)

    def _refuse_release(
        self,
        public: Sequence[int],
        stated: Sequence[Sequence[PrivacyLoss]],
        realized: Mapping[NeighboringRelation, float],
    ) -> None:
        event = self.of_all_parts(self.release_event_of(public))
        for relation in {relation for losses in stated for relation in self._relations_of(losses)}:
            least = max(PureAccountant.epsilon_of(event, relation), realized.get(relation, 0.0))
            self.refuse_below(least, relation, stated, public)

    def _realized_in_release(
        self, public: Sequence[int], earlier: Sequence[Guarded]
    ) -> Mapping[NeighboringRelation, float]:
        """Return what releases realize of a single person, worked out once for each public row."""
        key = tuple(public)
        if (known := self._known_releases.get(key)) is None:
            if len(self._known_releases) >= _MOST_KEPT:
                self._known_releases.clear()
            known = self._known_releases[key] = self._compare_releases(public, earlier)
        return known

    def _compare_releases(
        self, public: Sequence[int], earlier: Sequence[Guarded]
    ) -> Mapping[NeighboringRelation, float]:
        rows = self.rows_of(public)
        rows = rows_to_try(self.values_of(public)) if rows is None else rows
        rows = rows[[self._is_possible(row, public) for row in rows.tolist()]]
        if not len(rows):
            return {}
        counted = [slice(None)] * len(rows)
        if any(loss.relation is NeighboringRelation.ADD_OR_REMOVE_ONE for loss in self.losses_of(public)):
            rows, counted = np.concatenate([rows, rows[:1]]), [*counted, slice(0)]  # at last nobody's report
        own = np.array([public], dtype=np.int64)
        before = [np.array([phase.least_report], dtype=np.int64) for phase in earlier]
        tallies = [
            self.tally(row[None, :][some], earlier=[reports[some] for reports in before], public=own[some])
            for row, some in zip(rows, counted, strict=True)
        ]
        try:
            log_laws = self.log_laws(tallies)
        except NotImplementedError:
            return {}
        is_there = np.array([some.stop is None for some in counted])
        return {
            NeighboringRelation.REPLACE_ONE: greatest_gap(log_laws, is_there & is_there[:, None]).loss,
            NeighboringRelation.ADD_OR_REMOVE_ONE: greatest_gap(log_laws, is_there ^ is_there[:, None]).loss,
        }

    def _is_possible(self, report: Sequence[int], public: Sequence[int]) -> bool:
        try:
            self.check_report(report, public)
        except ValueError:
            return False
        return True

    @functools.cached_property
    def _known_releases(self) -> dict[tuple[int, ...], Mapping[NeighboringRelation, float]]:
        return {}
