"""The ledger: a record of every privacy loss, and budgets that refuse a loss before anything is drawn.

A loss has three numbers: *claimed* (stated by the paper), *proven* (an upper bound that the code derives) and *audited*
(an empirical lower bound from an audit). The ledger charges the proven one.

Losses of one person add up over phases and sessions (sequential composition), after conversion to the relation of the
total (`composition`). Losses of different persons do not add up, since each concerns only that person's data (parallel
composition). So the loss of a population is that of the person with the greatest loss.

Source: Rogers et al. (2016) for filters; Whitehouse et al. (2023), Theorem 1, for the filter of a budget with a δ.
"""

import functools
import math
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from ..arguments import make_fields_exact
from ..errors import BudgetExceededError, PrivacyError, require
from ..shown import Shown, brief
from .accountants import ApproximateAccountant, ConcentratedAccountant, PureAccountant, epsilon_of_rho, rho_of_epsilon
from .composition import count_of, event_under, total_of
from .events import PrivacyEvent
from .exact_sums import rounded_down, rounded_up, units_of
from .relations import NeighboringRelation, TrustModel

# The relative rounding error by which the loss of a part may exceed that of the whole: both are sums of quotients.
_ROUNDING = 1e-9


class PartLoss(msgspec.Struct, frozen=True, kw_only=True):
    """The loss of one part of a unit if all other parts are known.

    It is at most the unit's loss, and contained in it.

    Args:
        unit: the word for a part, such as one of the answers of a worker.
        claimed: the loss that the paper states (ε, nats).
        proven: the upper bound (ε, nats). The phase fills it in from its mechanism, and refuses a smaller number.
    """

    unit: str
    claimed: float
    proven: float = math.nan

    def __post_init__(self) -> None:
        make_fields_exact(self)


class PrivacyLoss(msgspec.Struct, frozen=True, kw_only=True):
    """The loss of one person in one phase, as its protocol states it.

    Args:
        event: what is applied to the person's data in this phase.
        unit: the unit of protection, in the protocol's words (weight, opinion, voter, record, answer).
        relation: the neighboring relation.
        model: the trust model: which adversaries the loss bounds.
        claimed: the loss that the paper states (ε, nats).
        proven: the upper bound that the accountant derives (ε, nats); filled in from `event`.
        part: the loss of one part of the unit, if that is smaller.

    Raises:
        PrivacyError: `proven` is below the cost of `event`; `part` costs more than the whole; or a loss of the local
            model is stated under add-or-remove-one.
        UnsupportedEventError: `event` cannot be bounded under `relation`.

    Examples:
        >>> from psephos.protocol.privacy import RandomizedResponse
        >>> loss = local_loss("k-RR", RandomizedResponse(0.5, 2), unit="vote", claimed=0.5)
        >>> loss.proven, loss.relation.value, loss.model.value
        (0.5, 'replace-one', 'local')
    """

    mechanism: str
    event: PrivacyEvent
    unit: str
    relation: NeighboringRelation
    model: TrustModel
    claimed: float
    proven: float = math.nan
    part: PartLoss | None = None

    def __post_init__(self) -> None:
        make_fields_exact(self)
        if self.model.shows_participation and self.relation is NeighboringRelation.ADD_OR_REMOVE_ONE:
            problem = f"in the {self.model.value} model a report shows that its owner took part: state replace-one"
            raise PrivacyError(problem)
        bound = PureAccountant.epsilon_of(self.event, self.relation)
        if math.isnan(self.proven):
            msgspec.structs.force_setattr(self, "proven", bound)
        elif not self.proven >= bound:
            raise PrivacyError(f"proven is {self.proven!r}: use at least {bound!r}, what {self.event!r} costs")
        if self.part is not None and self.part.proven > self.proven * (1 + _ROUNDING):
            raise PrivacyError(f"a part of {self.unit!r} loses {self.part.proven:g}, the whole only {self.proven:g}")

    @property
    def finest_loss(self) -> PartLoss:
        """The loss of the smallest unit that is stated: of `part`, or of the whole if there is none."""
        return self.part or PartLoss(unit=self.unit, claimed=self.claimed, proven=self.proven)


def local_loss(mechanism: str, event: PrivacyEvent, *, unit: str, claimed: float) -> PrivacyLoss:
    """Return the loss of a report that the person randomizes: under replace-one, in the local model.

    Examples:
        >>> from psephos.protocol.privacy import RandomizedResponse
        >>> local_loss("k-RR", RandomizedResponse(0.5, 2), unit="vote", claimed=0.5).proven
        0.5
    """
    relation, model = NeighboringRelation.REPLACE_ONE, TrustModel.LOCAL
    return PrivacyLoss(mechanism=mechanism, event=event, unit=unit, relation=relation, model=model, claimed=claimed)


class LedgerEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a ledger.

    `person` is a name; or "each of n partners", if one line stands for `num_persons` persons (the array path).

    Examples:
        >>> from psephos.protocol.privacy import RandomizedResponse
        >>> loss = local_loss("k-RR", RandomizedResponse(0.5, 2), unit="vote", claimed=0.5)
        >>> entry = LedgerEntry.from_loss(loss, person="ada", session="spring", phase="opinions")
        >>> entry.person, entry.phase, entry.proven
        ('ada', 'opinions', 0.5)
    """

    person: str
    session: str
    phase: str
    mechanism: str
    relation: NeighboringRelation
    unit: str
    model: TrustModel
    claimed: float
    proven: float
    event: PrivacyEvent
    num_persons: int = 1
    part: PartLoss | None = None

    @classmethod
    def from_loss(
        cls, loss: PrivacyLoss, *, person: str, session: str, phase: str, num_persons: int = 1
    ) -> "LedgerEntry":
        """Return the line that records `loss`."""
        return cls(
            person=person,
            session=session,
            phase=phase,
            mechanism=loss.mechanism,
            relation=loss.relation,
            unit=loss.unit,
            model=loss.model,
            claimed=loss.claimed,
            proven=loss.proven,
            event=loss.event,
            num_persons=num_persons,
            part=loss.part,
        )

    @property
    def finest_loss(self) -> PartLoss:
        """The loss of the smallest unit that is stated: of a part where there is one, else of the whole unit."""
        return self.part or PartLoss(unit=self.unit, claimed=self.claimed, proven=self.proven)


class Charge(msgspec.Struct, frozen=True):
    """A charged entry, with the person's totals after it.

    `total` is the person's proven loss so far, over all trust models, under the ledger's `relation`. `remaining` is the
    unspent budget (infinity without a budget).
    """

    entry: LedgerEntry
    total: float
    remaining: float
    relation: NeighboringRelation


class Amount(msgspec.Struct, frozen=True, gc=False):
    """A sum of losses under one relation: ε as a pure sum, ρ of zCDP, and ε of one datum, in units of `exact_sums`."""

    epsilon: int = 0
    rho: int = 0
    datum: int = 0

    def plus(self, other: "Amount") -> "Amount":
        """Return both together."""
        return Amount(self.epsilon + other.epsilon, self.rho + other.rho, self.datum + other.datum)

    def subtract(self, other: "Amount") -> "Amount":
        """Return the difference of each number, at least 0."""
        return Amount(
            self.epsilon - other.epsilon if other.epsilon < self.epsilon else 0,
            self.rho - other.rho if other.rho < self.rho else 0,
            self.datum - other.datum if other.datum < self.datum else 0,
        )

    def minimum(self, other: "Amount") -> "Amount":
        """Return the lesser of each number and the other's."""
        return Amount(
            other.epsilon if other.epsilon < self.epsilon else self.epsilon,  # noqa: FURB136  a call for each loss
            other.rho if other.rho < self.rho else self.rho,  # noqa: FURB136  likewise
            other.datum if other.datum < self.datum else self.datum,  # noqa: FURB136  likewise
        )


_NOTHING: Final = Amount()
_sum_of_two: Final = functools.lru_cache(maxsize=1 << 10)(Amount.plus)
"""A cache of sums: all parties of a process have the same losses, and share one number of about a thousand bits."""


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """The greatest loss of one person over all sessions on one ledger (a privacy filter).

    Args:
        epsilon: ≥ 0, in nats.
        relation: the relation of the bounded total. Replace-one, the default (None), counts every loss; add-or-remove-
            one refuses losses under replace-one.
        delta: in [0, 1). At 0 the sum of pure losses is at most ε. A positive δ admits more small losses: a loss is
            admitted if that sum, or ½Σε² + √(2 ln(1/δ) Σε²) over the ε of the losses' mechanisms, is at most ε.
        datum: the greatest loss of one datum (ε, nats), which is a person's statement about one question or record, in
            any number of sessions. Each loss counts with its smallest unit (`finest_loss`), as a pure sum.

    Raises:
        ConfigurationError: an ε is negative or not a number, or δ is out of range.

    Privacy:
        All that is ever admitted is (ε, δ)-differentially private for one person under the relation. This holds also if
        outcomes determine which sessions follow and when they stop (Whitehouse et al., 2023, Theorem 1; for a pure sum
        it needs no theorem). A datum is at most one part of each phase's unit, all other parts being known, so its loss
        is at most the sum of the parts' losses.

    Examples:
        >>> from psephos.protocol.privacy import RandomizedResponse
        >>> ledger = Ledger("ada", budget=Budget(epsilon=1.0))
        >>> ledger.check([local_loss("k-RR", RandomizedResponse(1.5, 2), unit="vote", claimed=1.5)])
        Traceback (most recent call last):
            ...
        psephos.protocol.errors.BudgetExceededError: the privacy budget holds epsilon = 1, ...
    """

    epsilon: float
    relation: NeighboringRelation | None = NeighboringRelation.REPLACE_ONE
    delta: float = 0.0
    datum: float = math.inf

    def __post_init__(self) -> None:
        make_fields_exact(self)
        require(self.epsilon >= 0, "budget", self.epsilon, "at least 0")
        require(self.datum >= 0, "budget_datum", self.datum, "at least 0")
        require(0 <= self.delta < 1, "delta", self.delta, "in [0, 1)")

    def epsilon_of(self, amount: Amount) -> float:
        """Return ε at the budget's δ of losses that are chosen as outcomes say."""
        epsilon = rounded_up(amount.epsilon)
        return min(epsilon, epsilon_of_rho(rounded_up(amount.rho), self.delta)) if self.delta else epsilon

    def admits(self, amount: Amount) -> bool:
        """Return whether losses that add up to this fit: exactly, as numbers, without any rounding in their favor."""
        if self.epsilon == math.inf or amount.epsilon <= units_of(self.epsilon):
            return True
        return bool(self.delta) and epsilon_of_rho(rounded_up(amount.rho), self.delta) <= self.epsilon

    def left_of(self, amount: Amount) -> float:
        """Return the greatest ε that one mechanism more may have, rounded down."""
        if math.isinf(self.epsilon):
            return math.inf
        remainder = rounded_down(max(0, units_of(self.epsilon) - amount.epsilon))
        if self.delta:
            rho = rounded_down(max(0, units_of(rho_of_epsilon(self.epsilon, self.delta)) - amount.rho))
            remainder = max(remainder, math.sqrt(2 * rho) * (1 - 2.0**-50))
        return remainder


class Reservation:
    """A part of a budget that is reserved for the losses of one session.

    `Ledger.reserve` makes it. Charges are taken from it; `release` returns the remainder to the ledger.

    Examples:
        >>> from psephos.protocol.privacy import RandomizedResponse
        >>> loss = local_loss("k-RR", RandomizedResponse(0.5, 2), unit="vote", claimed=0.5)
        >>> ledger = Ledger("ada", budget=Budget(epsilon=2.0))
        >>> room = ledger.reserve([loss, loss])
        >>> charge = room.charge(loss, session="spring", phase="opinions")
        >>> ledger.spent, ledger.reserved
        (0.5, 0.5)
        >>> room.release()
        >>> ledger.remaining
        1.5
    """

    __slots__ = ("_ledger", "_remainder")

    def __init__(self, ledger: "Ledger", amount: Amount) -> None:
        self._ledger = ledger
        self._remainder = amount

    def charge(self, loss: PrivacyLoss, *, session: str, phase: str) -> Charge:
        """Charge one of the reserved losses. See `Ledger.charge`."""
        ledger = self._ledger
        amount = ledger.amount_of(loss)
        if self._remainder is not _NOTHING:
            taken = amount.minimum(self._remainder)
            self._remainder = self._remainder.subtract(taken)
            ledger.give_back(taken)
        charge = ledger._charge  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001  nobody else says an amount
        return charge(loss, amount, session=session, phase=phase)

    def release(self) -> None:
        """Give back what was not charged."""
        if self._remainder != _NOTHING:
            self._ledger.give_back(self._remainder)
            self._remainder = _NOTHING


class Ledger(Shown):
    """One person's losses, in the order in which they were charged.

    Args:
        person: the name of the person.
        budget: the person's budget; without one, everything is recorded and nothing refused.
        entries: the person's earlier losses, under any name. They count even if they exceed the budget.
        held_entries: losses that sessions outside this ledger may still charge; this ledger never releases them.

    Raises:
        PrivacyError: an earlier loss is negative or NaN, or cannot be converted to the budget's relation.

    Examples:
        >>> from psephos.protocol.privacy import RandomizedResponse
        >>> loss = local_loss("k-RR", RandomizedResponse(0.5, 2), unit="vote", claimed=0.5)
        >>> ledger = Ledger("ada", budget=Budget(epsilon=2.0))
        >>> charge = ledger.charge(loss, session="spring", phase="opinions")
        >>> ledger.spent, ledger.remaining
        (0.5, 1.5)
    """

    __slots__ = ("_budget", "_entries", "_person", "_relation", "_reserved", "_spent")

    def __init__(
        self,
        person: str,
        *,
        budget: Budget | None = None,
        entries: Iterable[LedgerEntry] = (),
        held_entries: Iterable[LedgerEntry] = (),
    ) -> None:
        self._person = person
        self._budget = budget
        self._relation = (budget and budget.relation) or NeighboringRelation.REPLACE_ONE
        self._entries: list[LedgerEntry] = []
        self._spent = _NOTHING
        for entry in entries:
            self._record(entry, self.amount_of(entry))
        self._reserved = self._sum_of(held_entries) if held_entries else _NOTHING

    def __repr__(self) -> str:
        losses = brief(self.entries) if self._entries else "none"
        fields = f"spent={self.spent!r}, remaining={self.remaining!r}, relation={self.relation.value!r}"
        return f"Ledger({self.person!r}, {fields}, entries={losses})"

    @property
    def person(self) -> str:
        """Whose data it is."""
        return self._person

    @property
    def relation(self) -> NeighboringRelation:
        """The neighboring relation of `spent`, `reserved` and `remaining`: the budget's, or replace-one."""
        return self._relation

    @property
    def entries(self) -> Sequence[LedgerEntry]:
        """All entries so far."""
        return tuple(self._entries)

    @property
    def spent(self) -> float:
        """The proven loss so far over all models, which is what a budget is held against: ε at the budget's δ."""
        return rounded_up(self._spent.epsilon) if self._budget is None else self._budget.epsilon_of(self._spent)

    @property
    def reserved(self) -> float:
        """Room that sessions under way hold, as a pure sum; without a budget that of other ledgers alone."""
        return rounded_up(self._reserved.epsilon)

    @property
    def remaining(self) -> float:
        """The budget's remainder for sessions to come, as the loss of one mechanism; infinite without a budget."""
        return math.inf if self._budget is None else self._budget.left_of(self._spent.plus(self._reserved))

    def total(
        self,
        *,
        relation: NeighboringRelation = NeighboringRelation.REPLACE_ONE,
        model: TrustModel | None = None,
        unit: str | None = None,
    ) -> float:
        """Return the proven loss so far under one relation, of all trust models or of one.

        The total of one model bounds nothing about the losses of the other models.

        Args:
            relation: the relation of the total.
            model: restricts the sum to losses of this model; by default all losses count.
            unit: restricts the sum to losses of this unit.

        Raises:
            PrivacyError: the relation is add-or-remove-one, and some loss is stated under replace-one.
        """
        return total_of(self._entries_of(model, unit), relation=relation).proven

    def approximate_total(
        self,
        *,
        relation: NeighboringRelation = NeighboringRelation.REPLACE_ONE,
        model: TrustModel | None = None,
        delta: float,
    ) -> float:
        """Return ε at this δ by tighter composition of the same losses; at most `total`.

        All losses are composed as one sequence, so that δ counts once, whatever their relations and models.

        Args:
            relation, model: as for `total`.
            delta: in (0, 1).

        Raises:
            ConfigurationError: δ is out of range.
            PrivacyError: as `total`.

        Privacy:
            This is an upper bound for sessions that are fixed in advance. It is none if outcomes determine whether and
            what is asked next; for that, use a `Budget` with a δ.
        """
        return approximate_epsilon(self._entries_of(model, None), relation=relation, delta=delta)

    def check(self, losses: Iterable[PrivacyLoss]) -> None:
        """Check that all these losses together could be charged; charge nothing.

        Raises:
            BudgetExceededError: they exceed the remaining budget.
            PrivacyError: a loss cannot be converted to the budget's relation.
        """
        if self._budget is not None:
            losses_needed = list(losses)
            self._check(self._budget, losses_needed, self._sum_of(losses_needed))

    def reserve(self, losses: Iterable[PrivacyLoss]) -> Reservation:
        """Check, then reserve budget for all these losses, so that a session that begins can also end.

        Raises:
            BudgetExceededError, PrivacyError: as `check`; then nothing is reserved.
        """
        losses_needed = list(losses)
        if self._budget is None:  # every valid loss fits
            for loss in losses_needed:
                self.amount_of(loss)
            return Reservation(self, _NOTHING)
        amount = self._sum_of(losses_needed)
        self._check(self._budget, losses_needed, amount)
        self._reserved = self._reserved.plus(amount)
        return Reservation(self, amount)

    def charge(self, loss: PrivacyLoss, *, session: str, phase: str) -> Charge:
        """Check, then record one loss.

        Returns:
            The entry with the totals after it.

        Raises:
            BudgetExceededError, PrivacyError: as `check`; then nothing is charged.
        """
        return self._charge(loss, self.amount_of(loss), session=session, phase=phase)

    def amount_of(self, loss: PrivacyLoss | LedgerEntry) -> Amount:
        """Return the amount of a loss on this ledger, for its reservations.

        Raises:
            PrivacyError: it is negative or NaN, or cannot be converted to the ledger's relation.
        """
        part = loss.part
        for number in (loss.proven, loss.claimed) if part is None else (loss.proven, part.proven, loss.claimed):
            if not number >= 0:  # NaN included, which no comparison with a budget would refuse
                raise PrivacyError(f"a loss of {loss.mechanism} is {number}: use a number of at least 0")
        times = 1 if loss.relation is self._relation else count_of(loss.relation, relation=self._relation)
        epsilon = times * units_of(loss.proven)
        if self._budget is None:
            return Amount(epsilon)
        datum = 0 if math.isinf(self._budget.datum) else times * units_of(loss.finest_loss.proven)
        if not self._budget.delta:
            return Amount(epsilon, 0, datum)
        event = event_under(loss.event, loss.relation, relation=self._relation)
        return Amount(epsilon, units_of(ConcentratedAccountant.rho_of(event, self._relation)), datum)

    def give_back(self, amount: Amount) -> None:
        """Take reserved room as free again, for this ledger's reservations."""
        self._reserved = self._reserved.subtract(amount)

    def _charge(self, loss: PrivacyLoss, amount: Amount, *, session: str, phase: str) -> Charge:
        if self._budget is not None:
            self._check(self._budget, (loss,), amount)
        return self._record(LedgerEntry.from_loss(loss, person=self._person, session=session, phase=phase), amount)

    def _record(self, entry: LedgerEntry, amount: Amount) -> Charge:
        spent = self._spent = _sum_of_two(self._spent, amount)
        self._entries += (entry,)
        if self._budget is None:
            return Charge(entry, rounded_up(spent.epsilon), math.inf, self._relation)
        return Charge(entry, self.spent, self._budget.left_of(spent), self._relation)

    def _check(self, budget: Budget, losses: Sequence[PrivacyLoss], amount: Amount) -> None:
        taken = self._spent.plus(self._reserved)
        if not math.isinf(budget.datum) and taken.datum + amount.datum > units_of(budget.datum):
            raise BudgetExceededError(
                requested=rounded_up(amount.datum),
                remaining=rounded_down(max(0, units_of(budget.datum) - taken.datum)),
                unit=", ".join(dict.fromkeys(loss.finest_loss.unit for loss in losses)),
                relation=self._relation.value,
                cap="datum",
                least=rounded_up(taken.datum + amount.datum),
            )
        if not budget.admits(taken.plus(amount)):
            raise BudgetExceededError(
                requested=rounded_up(amount.epsilon),
                remaining=self.remaining,
                unit=", ".join(dict.fromkeys(loss.unit for loss in losses)),
                relation=self._relation.value,
                least=budget.epsilon_of(taken.plus(amount)),
            )

    def _sum_of(self, losses: Iterable[PrivacyLoss | LedgerEntry]) -> Amount:
        amount = _NOTHING
        for loss in losses:
            amount = amount.plus(self.amount_of(loss))
        return amount

    def _entries_of(self, model: TrustModel | None, unit: str | None) -> list[LedgerEntry]:
        return [entry for entry in self.entries if model in {None, entry.model} and unit in {None, entry.unit}]


def approximate_epsilon(
    entries: Iterable[LedgerEntry], *, relation: NeighboringRelation | None = None, delta: float
) -> float:
    """Return ε at this δ of one person's losses, by tighter composition. See `Ledger.approximate_total`.

    Args:
        entries: the losses of one person.
        relation: the relation of the result; by default that of all losses, or replace-one if they differ.
        delta: in (0, 1).

    Raises:
        ConfigurationError, PrivacyError: as `Ledger.approximate_total`.
    """
    paid = list(entries)
    total = total_of(paid, relation=relation)
    accountant = ApproximateAccountant(total.relation, delta=delta)
    for entry in paid:
        accountant.compose(event_under(entry.event, entry.relation, relation=total.relation))
    return min(total.proven, accountant.epsilon)


def compose_parallel(
    ledgers: Iterable[Ledger],
    *,
    relation: NeighboringRelation = NeighboringRelation.REPLACE_ONE,
    model: TrustModel | None = None,
) -> float:
    """Return the loss of a population whose members' data are disjoint: the greatest of its members, 0 without any.

    Args:
        ledgers: the ledgers of all members; the losses of a person with several ledgers add up.
        relation: the relation of the totals. Under replace-one, one person's data differ between neighbors; under
            add-or-remove-one, one person is absent from one of them.
        model: as for `Ledger.total`.

    Raises:
        PrivacyError: as `Ledger.total`.

    Privacy:
        Reports of different persons must have been drawn independently.

    Source:
        McSherry (2009), Theorem 4.

    Examples:
        >>> from psephos.protocol.privacy import RandomizedResponse
        >>> ledgers = [Ledger("ada"), Ledger("bob")]
        >>> for ledger, epsilon in zip(ledgers, (0.5, 1.0)):
        ...     loss = local_loss("k-RR", RandomizedResponse(epsilon, 2), unit="vote", claimed=epsilon)
        ...     charge = ledger.charge(loss, session="spring", phase="opinions")
        >>> compose_parallel(ledgers)
        1.0
    """
    totals: dict[str, float] = {}
    for ledger in ledgers:
        totals[ledger.person] = totals.get(ledger.person, 0.0) + ledger.total(relation=relation, model=model)
    return max(totals.values(), default=0.0)
