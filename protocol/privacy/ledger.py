"""Who paid what: the record of every privacy loss, and budgets that refuse before anything is drawn.

A loss has three numbers: *claimed* (what the paper states), *proven* (an upper bound that the code derives) and,
from audits, *audited*. The ledger charges the proven one. Losses of one person add over phases and sessions
(sequential composition); losses of different persons do not, since each touches that person's data alone
(parallel composition), so a population's loss is that of whoever paid most.
"""

import math
from collections.abc import Iterable, Sequence

import msgspec

from ..errors import BudgetExceededError, ConfigurationError, PrivacyError
from .accountants import ApproximateAccountant, PureAccountant
from .events import PrivacyEvent
from .relations import NeighboringRelation, TrustModel

__all__ = ["Budget", "Charge", "Ledger", "LedgerEntry", "PartLoss", "PrivacyLoss", "Reservation", "compose_parallel"]

# Budgets are decimal numbers that users type and losses are sums of quotients: 0.1 + 0.2 must fit into 0.3.
_ROUNDING = 1e-9


class PartLoss(msgspec.Struct, frozen=True, kw_only=True):
    """What a loss means for one part of its unit, all other parts being known: never more, and not added to it.

    Args:
        unit: the part: one answer of all that a worker gives.
        claimed: the loss that the paper states (ε, nats).
        proven: the upper bound that the protocol derives (ε, nats).
    """

    unit: str
    claimed: float
    proven: float


class PrivacyLoss(msgspec.Struct, frozen=True, kw_only=True):
    """What one phase costs one person, as its protocol states it.

    Args:
        mechanism: the mechanism's name.
        event: what is applied to the person's data in this phase.
        unit: the unit of protection, a word of the protocol (weight, opinion, voter, record, answer).
        relation: which data sets are neighbors.
        model: whom the loss is bounded against.
        claimed: the loss that the paper states (ε, nats).
        proven: the upper bound that the accountant derives (ε, nats); filled in from `event`.
        part: the same for one part of the unit, where that is less.

    Raises:
        PrivacyError: `proven` was given and is below what `event` costs, `part` costs more than the whole, or the local
            model is stated with add-remove-one neighbors.
        UnsupportedEventError: `event` cannot be bounded under `relation`.
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
        if self.model is TrustModel.LOCAL and self.relation is NeighboringRelation.ADD_OR_REMOVE_ONE:
            raise PrivacyError("in the local model a report shows that its owner took part: state replace-one")
        bound = PureAccountant.epsilon_of(self.event, self.relation)
        if math.isnan(self.proven):
            msgspec.structs.force_setattr(self, "proven", bound)
        elif self.proven < bound:
            raise PrivacyError(f"proven must be at least what {self.event!r} costs, {bound:g}, got {self.proven:g}")
        if self.part is not None and not self.part.proven <= self.proven * (1 + _ROUNDING):
            raise PrivacyError(f"a part of {self.unit!r} loses {self.part.proven:g}, the whole only {self.proven:g}")

    @property
    def finest(self) -> PartLoss:
        """What is lost for the smallest unit that is stated: `part`, or the whole where there is none."""
        return self.part or PartLoss(unit=self.unit, claimed=self.claimed, proven=self.proven)


class LedgerEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a ledger.

    `person` is a name, or "each of n partners" where one line stands for `num_persons` people (the array path).
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
    def of(cls, loss: PrivacyLoss, *, person: str, session: str, phase: str, num_persons: int = 1) -> "LedgerEntry":
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
    def finest(self) -> PartLoss:
        """As `PrivacyLoss.finest`."""
        return self.part or PartLoss(unit=self.unit, claimed=self.claimed, proven=self.proven)


class Charge(msgspec.Struct, frozen=True):
    """An entry as it was charged, with the person's totals after it.

    `total` is the person's proven loss so far under the entry's relation and model; `remaining` is what of
    the budget is not spent (infinity without one).
    """

    entry: LedgerEntry
    total: float
    remaining: float


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """The most that one person may lose, over all sessions on one ledger.

    Args:
        epsilon: ≥ 0, in nats, pure.
        relation: a loss under another relation is refused; None counts each under its own, as it suits a ledger of one
            session.

    Raises:
        ConfigurationError: ε is negative or not a number.
    """

    epsilon: float
    relation: NeighboringRelation | None = NeighboringRelation.REPLACE_ONE

    def __post_init__(self) -> None:
        if not self.epsilon >= 0:
            raise ConfigurationError(field="budget", value=self.epsilon, allowed="at least 0")


class Reservation:
    """Room on a ledger for the losses of one session, which no other session can take.

    Made by `Ledger.reserve`. What is charged through it comes out of it; what is left is given back by `release`.
    """

    __slots__ = ("_ledger", "_left")

    def __init__(self, ledger: "Ledger", amount: float) -> None:
        self._ledger = ledger
        self._left = amount

    def charge(self, loss: PrivacyLoss, *, session: str, phase: str) -> Charge:
        """Charge one of the losses that room was reserved for. See `Ledger.charge`."""
        self._take(min(loss.proven, self._left))
        return self._ledger.charge(loss, session=session, phase=phase)

    def release(self) -> None:
        """Give back what was not charged."""
        self._take(self._left)

    def _take(self, amount: float) -> None:
        # Of what is unbounded nothing is left: infinity less infinity is no number.
        self._left = self._left - amount if amount < self._left else 0.0
        self._ledger.reserved = self._ledger.reserved - amount if amount < self._ledger.reserved else 0.0


class Ledger:
    """One person's losses, in the order in which they were charged.

    Args:
        person: whose data it is.
        budget: what the person allows; without one, everything is recorded and nothing refused.
    """

    __slots__ = ("_budget", "_charges", "_person", "_totals", "reserved")

    def __init__(self, person: str, *, budget: Budget | None = None) -> None:
        self._person = person
        self._budget = budget
        self.reserved = 0.0  # room that sessions under way hold; theirs to change
        self._charges: list[Charge] = []
        self._totals: dict[tuple[NeighboringRelation, TrustModel], float] = {}

    @property
    def person(self) -> str:
        """Whose data it is."""
        return self._person

    @property
    def entries(self) -> Sequence[LedgerEntry]:
        """All entries so far."""
        return tuple(charge.entry for charge in self._charges)

    @property
    def spent(self) -> float:
        """The proven loss so far over all relations and models, which is what a budget is held against."""
        return math.fsum(self._totals.values())

    @property
    def remaining(self) -> float:
        """What the budget still holds for sessions to come; infinity without one."""
        if self._budget is None or math.isinf(self._budget.epsilon):
            return math.inf
        return max(0.0, self._budget.epsilon - self.spent - self.reserved)

    def total(self, *, relation: NeighboringRelation, model: TrustModel, unit: str | None = None) -> float:
        """Return the proven loss so far under one relation and model, of one unit or of all."""
        if unit is None:
            return self._totals.get((relation, model), 0.0)
        entries = (charge.entry for charge in self._charges)
        return math.fsum(
            entry.proven
            for entry in entries
            if entry.relation is relation and entry.model is model and entry.unit == unit
        )

    def approximate_total(self, *, relation: NeighboringRelation, model: TrustModel, delta: float) -> float:
        """Return ε at this δ by tighter composition of the same losses; never more than `total`."""
        accountant = ApproximateAccountant(relation, delta=delta)
        for entry in self.entries:
            if entry.relation is relation and entry.model is model:
                accountant.compose(entry.event)
        return accountant.epsilon

    def check(self, losses: Iterable[PrivacyLoss]) -> None:
        """Raise if `charge` of all these losses, one after another, would; charge nothing.

        Raises:
            BudgetExceededError: they do not fit into what is left.
            PrivacyError: a loss is stated under another relation than the budget.
        """
        if self._budget is None:
            return
        requested = 0.0
        units: list[str] = []
        for loss in losses:
            of_budget = self._budget.relation
            if of_budget is not None and loss.relation is not of_budget:
                stated, budgeted = loss.relation.value, of_budget.value
                raise PrivacyError(f"the loss is stated for {stated} neighbors, the budget for {budgeted}")
            requested += loss.proven
            units += [loss.unit] if loss.unit not in units else []
        if self.spent + self.reserved + requested > self._budget.epsilon + _ROUNDING:
            raise BudgetExceededError(requested=requested, remaining=self.remaining, unit=", ".join(units))

    def reserve(self, losses: Iterable[PrivacyLoss]) -> Reservation:
        """Check, then keep room for all these losses, so that a session that begins can also end.

        Raises:
            BudgetExceededError, PrivacyError: as `check`; then nothing is reserved.
        """
        needed = list(losses)
        self.check(needed)
        amount = math.fsum(loss.proven for loss in needed)
        self.reserved += amount
        return Reservation(self, amount)

    def charge(self, loss: PrivacyLoss, *, session: str, phase: str) -> Charge:
        """Check, then record one loss.

        Returns:
            The entry with the totals after it.

        Raises:
            BudgetExceededError, PrivacyError: as `check`; then nothing is charged.
        """
        self.check((loss,))
        entry = LedgerEntry.of(loss, person=self._person, session=session, phase=phase)
        key = (loss.relation, loss.model)
        total = self._totals[key] = self._totals.get(key, 0.0) + loss.proven
        unspent = math.inf if self._budget is None else max(0.0, self._budget.epsilon - self.spent)
        charge = Charge(entry, total, unspent)
        self._charges.append(charge)
        return charge


def compose_parallel(ledgers: Iterable[Ledger], *, relation: NeighboringRelation, model: TrustModel) -> float:
    """Return the loss of a population whose members' data are disjoint: that of whoever paid most; 0 for nobody.

    Holds for replace-one neighbors, who differ in one person's data. Reports of different persons must have been
    drawn independently.

    Source:
        McSherry (2009), Theorem 4.
    """
    totals: dict[str, float] = {}
    for ledger in ledgers:  # a person may have several, and their losses add
        totals[ledger.person] = totals.get(ledger.person, 0.0) + ledger.total(relation=relation, model=model)
    return max(totals.values(), default=0.0)
