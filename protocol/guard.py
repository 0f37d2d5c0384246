"""The guard: a check that a phase states at least the privacy loss of the mechanism it draws with.

A phase states losses (`losses`, `losses_of`, `loss_groups`). It draws with a mechanism (`mechanism_of`,
`mechanism_groups`, or a trusted server's mechanism). The guard computes two lower limits for the stated losses:

- From the event: the mechanism gives the privacy event of one application to values that a public row allows
  (`values_of`). The phase gives the number of such parts in a person's row (`num_parts`).
- From the law, if the mechanism implements it: the loss realized between two rows of one person
  (`psephos.protocol.mechanisms.realized`), the smallest true ε if rows and reports are few enough to enumerate.

The guard also compares releases with all draws fixed, which must be the same for all rows of a person.

The guard runs three times: when a phase is made, for the person who pays most; before a client reserves budget, for its
public row; and before a server begins or arrays are charged, for all public rows, once for each kind of row.
"""

import abc
import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Final, NamedTuple, TypeAlias

import msgspec
import numpy as np

from .arrays import FloatArray, IntArray
from .errors import ConfigurationError
from .mechanisms import RowMechanism
from .mechanisms.realized import (
    CURE,
    MOST_SHOWN,
    differ_in_one,
    format_rows,
    greatest_gap,
    key_of,
    non_neighbors_error,
    realized_loss,
    reports_to_try,
    rows_to_try,
)
from .privacy import NeighboringRelation, PrivacyEvent, PrivacyLoss, PureAccountant, SelfComposed, TrustModel
from .tally import NOT_THERE, Tally, describe_earlier

Draw: TypeAlias = Callable[[RowMechanism, Sequence[int]], Sequence[int]]
"""A function that applies a mechanism to a row, with the randomness of the party that owns the row."""

Values: TypeAlias = Sequence[Sequence[int]]
"""The possible values of each column of a row."""

# By rounding, the parts of a loss may not add up to the whole, and a loss of 0 may come out slightly above 0.
_ROUNDING: Final = 1e-9
_NOTHING: Final = 1e-12
_MOST_KEPT: Final = 1 << 10
_OR: Final = "less, where the phase says that some rows are nobody's:"
_FIXED_DRAWS: Final = (0, 1)
"""The numbers that replace all draws when releases are compared; clipped to the mechanism's range of reports."""


class Guarded(abc.ABC):
    """The part of a phase that checks its stated losses against its draws.

    Attributes:
        mechanism: the local randomizer of all persons whose public row names no other.
        losses: upper bounds on the losses of any one person.
        num_parts: the greatest number of parts, such as records, in one person's row; an event covers one of them.
    """

    name: str
    model: ClassVar[TrustModel]
    """The trust model of the losses. It determines what the server sees."""
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
        """Return the phase's losses for one person."""

    @abc.abstractmethod
    def loss_groups(self, public: IntArray) -> Sequence[tuple[str, int, tuple[PrivacyLoss, ...]]]:
        """Return the phase's losses for many persons, by group."""

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

    def randomize_tally(self, tally: Tally, draw: Draw) -> Tally:
        """Return the tally with the server's noise, if the server draws any.

        The server runs this once, as the phase closes. Both tallies hold int64 totals only. Each total of the returned
        one is either drawn, or the same for all rows of a person.
        """
        return tally

    def fixed_release(self, tally: Tally, number: int) -> "FixedRelease":
        """Return the server's draws for a tally, and its release if each number drawn is this one, or the nearest."""
        draws: list[tuple[RowMechanism, tuple[int, ...]]] = []

        def draw(mechanism: RowMechanism, values: Sequence[int]) -> Sequence[int]:
            draws.append((mechanism, tuple(values)))
            low, high = mechanism.report_range
            return [min(max(number, low), high)] * mechanism.num_reports_of(len(values))

        return FixedRelease(draws, self.randomize_tally(tally, draw))

    def retained_reports(self, reports: IntArray) -> IntArray:
        """Return the columns of reports, int64, shape (n, numbers), that later phases get: none if disclosed."""
        return reports[:, :0] if self.model.trusts_server else reports

    @property
    def event(self) -> PrivacyEvent:
        """The privacy event of one answer, for the costliest of all rows that the mechanism accepts.

        A phase overrides this if its persons hold only rows that cost less, or if it has other mechanisms that cost
        more. It is compared with `losses` when the phase is made; later checks do not use it.
        """
        return self.compose_parts(self.mechanism.event_of(self.num_values))

    def values_of(self, public: Sequence[int]) -> Values:
        """Return the values that the person may hold in each column: the mechanism's range, unless overridden.

        A phase overrides this if a public row says more: which columns are empty, or which answers are possible. A
        client whose private row holds another value refuses the public row.
        """
        low, high = self.mechanism_of(public).value_range
        return (range(low, high + 1),) * self.num_values

    def protected_values_of(self, public: Sequence[int]) -> Values:
        """Return the values in each column between which the loss is bounded: `values_of`, unless overridden.

        A phase whose reports reveal a value, such as a skipped question, excludes it here and says so in its manual.
        """
        return self.values_of(public)

    def rows_of(self, public: Sequence[int]) -> IntArray | None:
        """Return the private rows of one person whose laws are compared: int64, shape (rows, values).

        None, the default, stands for all rows of `protected_values_of`. A phase overrides this if a person cannot hold
        every combination of these values. In the local model any two returned rows are neighbors, since a person may
        hold either. If `num_parts` is 1, the mechanism must treat them as neighbors too.
        """
        del public

    def kinds_of(self, public: IntArray) -> Sequence[IntArray | slice]:
        """Group public rows that mean the same to the phase, up to the order of columns; return each group's indices.

        The default groups by mechanism. A phase that overrides `values_of` must override this, too.
        """
        return [places for _, places in self.mechanism_groups(public)]

    def _stated_losses(self, public: IntArray) -> Iterator[tuple[list[int], IntArray, list[tuple[PrivacyLoss, ...]]]]:
        """Yield for each kind of public row the first of its rows, all of them, and their stated losses."""
        for places in self.kinds_of(public):
            if len(rows_alike := public[places]):
                row: list[int] = rows_alike[0].tolist()
                groups = self.loss_groups(rows_alike)
                yield row, rows_alike, [self.losses_of(row), self.losses, *(losses for _, _, losses in groups)]

    def check_losses(self, public: Sequence[int]) -> None:
        """Refuse, before a client reserves budget, a phase that states a smaller loss than it draws for a public row.

        Raises:
            ConfigurationError: `losses_of` this row, or `losses`, which must cover every person, state too little.
        """
        stated = (self.losses_of(public), self.losses)
        self._refuse_less(stated, public, [self.mechanism_of(public)])

    def check_rows(self, rows: IntArray, public: Sequence[int], *, earlier: Sequence["Guarded"] = ()) -> None:
        """Check private rows against the rows of `rows_of`, for which the stated loss was checked.

        A client runs this for its private row before it reserves budget, `check_protocol` for the rows of all parties.

        Args:
            rows: private rows of persons with this public row: int64, shape (n, values).

        Raises:
            ConfigurationError: a row differs from another of one person by more than the stated loss; it is not shown.
        """
        try:
            self._compare_rows(rows, public, earlier)
        except ConfigurationError:
            value = "farther from other rows of one person than its loss covers"
            allowed = "A private row exceeds the stated loss. Include such rows in rows_of, or raise num_parts."
            raise ConfigurationError(field=f"a row of phase {self.name!r}", value=value, allowed=allowed) from None

    def _compare_rows(self, rows: IntArray, public: Sequence[int], earlier: Sequence["Guarded"]) -> None:
        if (compared := self.rows_of(public)) is not None:
            compared = np.concatenate([rows, compared])
            self._refuse_less([self.losses_of(public)], public, [self.mechanism_of(public)], compared)

    def check_loss_groups(self, public: IntArray, *, earlier: Sequence["Guarded"] = ()) -> None:
        """Run `check_losses` for the public rows of many persons, before they are charged."""
        for row, rows_alike, stated in self._stated_losses(public):
            groups = self.mechanism_groups(rows_alike)
            self._refuse_less(stated, row, [mechanism for mechanism, places in groups if len(rows_alike[places])])

    def check_largest(self) -> None:
        """Refuse, when a phase is made, `losses` that are less than the loss of `event`, or than the law shows.

        Raises:
            ConfigurationError: `losses` state too little.
            UnsupportedEventError: `event` cannot be bounded under a loss's relation.
        """
        low, high = self.mechanism.value_range
        values = (range(low, high + 1),) * self.num_values
        for relation in self._relations_of(self.losses):
            least = PureAccountant.epsilon_of(self.event, relation)
            of_mechanism = PureAccountant.epsilon_of(self.mechanism.event_of(self.num_values), relation)
            is_anybody = relation is NeighboringRelation.REPLACE_ONE and not self._narrows_rows
            realized = _Realized(0.0, None)
            if math.isfinite(of_mechanism):
                realized = self._realize(self.mechanism, values, None, are_all_neighbors=is_anybody)
                least = max(least, realized.loss if is_anybody or _is_less(of_mechanism, realized.loss) else 0.0)
            self.refuse_below(least, relation, [self.losses])
            if realized.strangers is not None:
                raise realized.strangers

    @property
    def _narrows_rows(self) -> bool:
        """Whether a public row decides what a person may hold, or by what it is randomized."""
        names = ("values_of", "protected_values_of", "rows_of", "event")
        return any(getattr(type(self), name) is not getattr(Guarded, name) for name in names)

    def refuse_below(
        self,
        least: float,
        relation: NeighboringRelation,
        stated: Iterable[Sequence[PrivacyLoss]],
        public: Sequence[int] = (),
    ) -> None:
        """Raise ConfigurationError unless each list of losses states at least `least` under the relation.

        A list without a loss of this relation is skipped. The message shows `public`, the public row, if it is given.
        """
        for losses in stated:
            for loss in losses:
                if loss.model is not self.model:
                    allowed = f"{self.model.value!r} in phase {self.name!r}, whose server sees {self.model.server_view}"
                    raise ConfigurationError(field="losses", value=loss.model.value, allowed=allowed)
            if relation not in self._relations_of(losses):
                continue
            events = [loss.event for loss in losses if loss.relation is relation]
            # The `proven` loss of each is never below its event's ε.
            total = math.fsum(PureAccountant.epsilon_of(event, relation) for event in events)
            if _is_less(total, least):
                row_text = ", ".join(map(str, public[:MOST_SHOWN])) + (", ..." if len(public) > MOST_SHOWN else "")
                of_row = f" for the public row ({row_text})" if len(public) else ""
                allowed = f"at least what phase {self.name!r} draws{of_row}: {least:g} ({_OR} {CURE})"
                raise ConfigurationError(field="losses", value=total, allowed=allowed)

    def compose_parts(self, event: PrivacyEvent) -> PrivacyEvent:
        """Return the event of a person each of whose parts suffers this event."""
        return event if self.num_parts == 1 else SelfComposed(event, self.num_parts)

    def _refuse_less(
        self,
        stated: Sequence[Sequence[PrivacyLoss]],
        public: Sequence[int],
        mechanisms: Sequence[RowMechanism],
        rows: IntArray | None = None,
    ) -> None:
        """Raise ConfigurationError unless each list of losses covers the cost of each mechanism for this public row.

        Laws are compared between `rows`, which messages never show; by default between the rows of `rows_of`.
        """
        values = self.protected_values_of(public)
        is_shown = rows is None
        rows = self.rows_of(public) if rows is None else rows
        for mechanism in mechanisms:
            key = key_of(mechanism, values, rows), tuple([tuple(map(id, losses)) for losses in stated])
            if key in self._passed_checks:
                continue
            for relation in {relation for losses in stated for relation in self._relations_of(losses)}:
                least = PureAccountant.epsilon_of(self.compose_parts(mechanism.event_among(values)), relation)
                is_whole = rows is not None
                of_part = functools.partial(self._loss_of_part, mechanism, values, relation, is_whole=is_whole)
                self._refuse_part(stated, relation, of_part)
                is_one = relation is NeighboringRelation.REPLACE_ONE
                realized = self._realize(mechanism, values, rows, is_shown=is_shown) if is_one else _Realized(0.0, None)
                self.refuse_below(max(least, realized.loss), relation, stated, public)
                if realized.strangers is not None:
                    raise realized.strangers
            if len(self._passed_checks) >= _MOST_KEPT:
                self._passed_checks.clear()
            self._passed_checks[key] = mechanism, stated

    @functools.cached_property
    def _passed_checks(self) -> dict[object, object]:
        """The checks that have passed, by what they depend on; values keep the identities in the keys alive."""
        return {}

    def with_parts(
        self, losses: Iterable[PrivacyLoss], mechanism: RowMechanism | None = None
    ) -> tuple[PrivacyLoss, ...]:
        """Return losses in which each missing loss of a part is filled in with the greatest loss of any one part.

        Args:
            losses: a loss whose `part.proven` is NaN gets it filled in.
            mechanism: the randomizer that determines it; by default the phase's mechanism, or that of its release.
        """
        return tuple(
            msgspec.structs.replace(
                loss,
                part=msgspec.structs.replace(loss.part, proven=min(self._largest_part(loss, mechanism), loss.proven)),
            )
            if loss.part is not None and math.isnan(loss.part.proven)
            else loss
            for loss in losses
        )

    def _largest_part(self, loss: PrivacyLoss, mechanism: RowMechanism | None) -> float:
        """Return the greatest loss of one part, over all rows that the mechanism takes."""
        mechanism = mechanism or self.mechanism
        low, high = mechanism.value_range
        is_whole = type(self).rows_of is not Guarded.rows_of
        return self._loss_of_part(mechanism, [range(low, high + 1)] * self.num_values, loss.relation, is_whole=is_whole)

    def _loss_of_part(
        self, mechanism: RowMechanism, values: Values, relation: NeighboringRelation, *, is_whole: bool = False
    ) -> float:
        """Return the loss of one part if all other parts are known.

        With several parts, the event gives it. Otherwise a part is one value, or the whole row if `is_whole`.
        """
        if is_whole or self.num_parts > 1:
            return PureAccountant.epsilon_of(mechanism.event_among(values), relation)
        ends = [column[:1] for column in values]
        columns = [column if isinstance(column, range) else tuple(column) for column in values]
        places = (
            {column: at for at, column in enumerate(columns)}.values() if mechanism.ignores_order else range(len(ends))
        )
        parts = ([*ends[:at], columns[at], *ends[at + 1 :]] for at in places)
        bound = PureAccountant.epsilon_of(mechanism.event_of_one_among(values), relation)
        return max([bound, *(self._realize(mechanism, part, None).loss for part in parts)])

    def _refuse_part(
        self, stated: Iterable[Sequence[PrivacyLoss]], relation: NeighboringRelation, least: Callable[[], float]
    ) -> None:
        """Raise ConfigurationError where a part is stated to lose less than this."""
        for loss in (loss for losses in stated for loss in losses if loss.relation is relation):
            # A part cannot lose more than the whole loss that it belongs to.
            if loss.part is not None and _is_less(loss.part.proven, realized_loss := min(least(), loss.proven)):
                allowed = f"at least what phase {self.name!r} draws of one: {realized_loss:g}"
                raise ConfigurationError(field=f"loss of {loss.part.unit}", value=loss.part.proven, allowed=allowed)

    def _relations_of(self, losses: Sequence[PrivacyLoss]) -> set[NeighboringRelation]:
        """Return the relations of stated losses; of the phase's losses if there are none."""
        stated = {loss.relation for loss in losses} or {loss.relation for loss in self.losses}
        return stated or {NeighboringRelation.REPLACE_ONE}

    def _realize(
        self,
        mechanism: RowMechanism,
        values: Values,
        rows: IntArray | None,
        *,
        are_all_neighbors: bool = True,
        is_shown: bool = True,
    ) -> "_Realized":
        """Return the loss that the mechanism's law realizes, and any fault of its neighbors; computed once."""
        key = *key_of(mechanism, values, rows), are_all_neighbors
        if (realized := self._known_laws.get(key)) is None:
            if len(self._known_laws) >= _MOST_KEPT:
                self._known_laws.clear()
            columns = key[1]
            loss = realized_loss(mechanism, columns, rows=rows, are_all_neighbors=are_all_neighbors)
            strangers = None
            if are_all_neighbors and self.num_parts == 1:
                tried = rows_to_try(columns) if rows is None else rows
                strangers = non_neighbors_error(self.name, mechanism, tried, is_shown=is_shown)
            # Storing the mechanism keeps its `id`, which is in the key, from being reused.
            realized = self._known_laws[key] = mechanism, _Realized(loss, strangers)
        return realized[1]

    @functools.cached_property
    def _known_laws(self) -> dict[tuple[int, Values, bytes | None, bool], tuple[RowMechanism, "_Realized"]]:
        return {}


def _is_less(stated: float, realized: float) -> bool:
    """Return whether a loss is less than another one by more than rounding."""
    return not stated >= realized * (1 - _ROUNDING) - _NOTHING


class GuardedRelease(Guarded):
    """The guard of a central phase, whose server draws the noise as the phase closes; its losses bound the release."""

    @property
    @abc.abstractmethod
    def tally_mechanism(self) -> RowMechanism:
        """The mechanism that randomizes the tally's totals, as one row."""

    @property
    def event(self) -> PrivacyEvent:
        """The privacy event of the release, for one person's data."""
        return self.compose_parts(self.tally_mechanism.event_of(self.num_values))

    def release_event_of(self, public: Sequence[int]) -> PrivacyEvent:
        """Return the privacy event of the release for one person's data, or for one of `num_parts` parts.

        A phase overrides this and `kinds_of` if persons with some public rows change the tally less than others.
        """
        return self.tally_mechanism.event_of(self.num_values)

    def part_event_of(self, public: Sequence[int]) -> PrivacyEvent:
        """Return the privacy event of the release for one part of a person's data if all other parts are known.

        By default it is `release_event_of`. If `num_parts` is 1, it is checked between rows that differ in one value.
        """
        return self.release_event_of(public)

    def _largest_part(self, loss: PrivacyLoss, mechanism: RowMechanism | None) -> float:
        return PureAccountant.epsilon_of((mechanism or self.tally_mechanism).event_of(self.num_values), loss.relation)

    def check_losses(self, public: Sequence[int]) -> None:
        self._refuse_release(public, (self.losses_of(public), self.losses), _Releases({}, None))

    def _compare_rows(self, rows: IntArray, public: Sequence[int], earlier: Sequence[Guarded]) -> None:
        compared = self.rows_of(public)
        for together in [np.concatenate([rows, compared])] if compared is not None else self._row_pairs(rows, public):
            releases = self._compare_releases(public, earlier, together, is_shown=False)
            self._refuse_release(public, [self.losses_of(public)], releases)
            if releases.strangers is not None:
                raise releases.strangers

    def _row_pairs(self, rows: IntArray, public: Sequence[int]) -> Iterator[IntArray]:
        """Yield each row with one of the same person that is the same where that is shown as it is."""
        values = self.protected_values_of(public)
        for row in rows.tolist():
            other_row = [column[0] if value in column else value for value, column in zip(row, values, strict=True)]
            yield np.array([row, other_row], dtype=np.int64)

    def check_loss_groups(self, public: IntArray, *, earlier: Sequence[Guarded] = ()) -> None:
        """Check the losses against the event and the law of the release.

        Laws are compared between tallies of one report of a person; under add-or-remove-one also with the empty tally.
        """
        for row, _, stated in self._stated_losses(public):
            releases = self._realized_in_release(self.typical_row(row), earlier)
            self._refuse_release(row, stated, releases)
            if releases.strangers is not None:
                raise releases.strangers

    def typical_row(self, public: Sequence[int]) -> Sequence[int]:
        """Return a representative public row with the same law of releases, so that each law is computed once."""
        return public

    def log_laws(self, tallies: Sequence[Tally]) -> FloatArray:
        """Return ln P[release | tally], shape (releases, tallies), for all releases, or for a sample of many.

        The tallies are of data sets that differ in one person's report. Draws with equal inputs for all cancel out.

        Raises:
            NotImplementedError: a mechanism does not implement its law, or computing it takes too long.
        """
        laws: list[FloatArray] = []
        for draws in zip(*(self.fixed_release(tally, 0).drawn for tally in tallies), strict=True):
            rows = np.array([values for _, values in draws], dtype=np.int64)
            if np.any(rows != rows[0]):
                laws.append(draws[0][0].log_likelihoods(reports_to_try(draws[0][0], rows), rows))
        number = min((len(law) for law in laws), default=1)
        return sum((law[:number] for law in laws), np.zeros((number, len(tallies))))

    def _refuse_release(
        self,
        public: Sequence[int],
        stated: Sequence[Sequence[PrivacyLoss]],
        releases: "_Releases",
    ) -> None:
        event = self.compose_parts(self.release_event_of(public))
        for relation in {relation for losses in stated for relation in self._relations_of(losses)}:
            least = max(PureAccountant.epsilon_of(event, relation), releases.realized.get(relation, 0.0))
            self.refuse_below(least, relation, stated, public)
            of_part = PureAccountant.epsilon_of(self.part_event_of(public), relation)
            self._refuse_part(stated, relation, functools.partial(max, of_part, releases.of_part.get(relation, 0.0)))

    def _realized_in_release(self, public: Sequence[int], earlier: Sequence[Guarded]) -> "_Releases":
        """Return the losses that releases realize for one person, computed once for each public row."""
        key = tuple(public)
        if (releases := self._known_releases.get(key)) is None:
            if len(self._known_releases) >= _MOST_KEPT:
                self._known_releases.clear()
            rows = self.rows_of(public)
            rows = rows_to_try(self.protected_values_of(public)) if rows is None else rows
            releases = self._known_releases[key] = self._compare_releases(public, earlier, rows)
        return releases

    def _compare_releases(
        self, public: Sequence[int], earlier: Sequence[Guarded], rows: IntArray, *, is_shown: bool = True
    ) -> "_Releases":
        """Return the losses between these rows' releases; ConfigurationError if one shows what is not drawn."""
        rows = rows[[self._is_possible(row, public) for row in rows.tolist()]]
        if not len(rows):
            return _Releases({}, None)
        counted = [slice(None)] * len(rows)
        relations = self._relations_of(self.losses_of(public))
        is_hidden = NeighboringRelation.ADD_OR_REMOVE_ONE in relations
        if is_hidden:
            rows, counted = np.concatenate([rows, rows[:1]]), [*counted, slice(0)]  # the last tally is empty
        public_rows = np.array([public], dtype=np.int64)
        earlier_reports = [phase.retained_reports(np.array([phase.least_report], dtype=np.int64)) for phase in earlier]
        try:
            tallies = [
                self.tally(
                    row[None, :][part], earlier=[rows[part] for rows in earlier_reports], public=public_rows[part]
                )
                for row, part in zip(rows, counted, strict=True)
            ]
        except NOT_THERE as error:  # the text of this error may quote a row, so it is not passed on
            allowed = f"made of what there is: {describe_earlier([phase.name for phase in earlier], earlier_reports)}"
            error_fields = {"field": f"tally of phase {self.name!r}", "value": type(error).__name__}
            raise ConfigurationError(**error_fields, allowed=allowed) from None
        is_there = np.array([part.stop is None for part in counted])
        pairs = {
            NeighboringRelation.REPLACE_ONE: is_there & is_there[:, None],
            NeighboringRelation.ADD_OR_REMOVE_ONE: is_there ^ is_there[:, None],
        }
        for number in _FIXED_DRAWS:
            fixed = [self.fixed_release(tally, number).observable(is_hidden=is_hidden) for tally in tallies]
            self._refuse_clear(fixed, rows, is_shown=is_shown)
        neighbors = np.any([pairs[relation] for relation in relations], axis=0)
        strangers = None
        for draws in zip(*(self.fixed_release(tally, 0).drawn for tally in tallies), strict=True):
            if self.num_parts == 1 and strangers is None:
                draw_values = np.array([values for _, values in draws], dtype=np.int64)
                strangers = non_neighbors_error(self.name, draws[0][0], draw_values, among=neighbors, is_shown=is_shown)
        try:
            log_laws = self.log_laws(tallies)
        except NotImplementedError:
            return _Releases({}, strangers)
        realized = {relation: greatest_gap(log_laws, neighbors).loss for relation, neighbors in pairs.items()}
        if self.num_parts > 1 or all(loss.part is None for loss in self.losses_of(public)):
            return _Releases(realized, strangers)
        of_part = greatest_gap(log_laws, pairs[NeighboringRelation.REPLACE_ONE] & differ_in_one(rows)).loss
        return _Releases(realized, strangers, {NeighboringRelation.REPLACE_ONE: of_part})

    def _refuse_clear(self, fixed: Sequence[object], rows: IntArray, *, is_shown: bool) -> None:
        """Raise ConfigurationError unless releases of these rows, all draws being fixed, are the same."""
        for place, release in enumerate(fixed):
            if release != fixed[0]:
                value = f"more than is drawn, of the rows {format_rows(rows[[0, place]], is_shown=is_shown)}"
                allowed = "noisy, or the same for all rows of a person: numbers without noise are of public rows"
                raise ConfigurationError(field=f"release of phase {self.name!r}", value=value, allowed=allowed)

    def _is_possible(self, report: Sequence[int], public: Sequence[int]) -> bool:
        try:
            self.check_report(report, public)
        except ValueError:
            return False
        return True

    @functools.cached_property
    def _known_releases(self) -> dict[tuple[int, ...], "_Releases"]:
        return {}


class _Realized(NamedTuple):
    """The greatest loss between one person's rows, and the error if some rows are no neighbors of the mechanism's."""

    loss: float
    strangers: ConfigurationError | None


class FixedRelease(NamedTuple):
    """A server's draws for a tally, and its release with all of them fixed."""

    drawn: Sequence[tuple[RowMechanism, tuple[int, ...]]]
    released: Tally

    def observable(self, *, is_hidden: bool) -> object:
        """Return all that an observer sees and that is not drawn: the release, and the mechanisms of its draws."""
        kinds = [(mechanism, len(values)) for mechanism, values in self.drawn]
        return kinds, self.released.hide_count() if is_hidden else self.released


class _Releases(NamedTuple):
    """The losses that one person's releases realize, by relation, and any fault of the mechanism's neighbors."""

    realized: Mapping[NeighboringRelation, float]
    strangers: ConfigurationError | None
    of_part: Mapping[NeighboringRelation, float] = MappingProxyType({})  # between rows that differ in one value
