"""One ledger for each person over all votes of a series, and the persons who can take part in the next vote.

A vote's losses are checked against all budgets before any party is asked, and again by each party's ledger before it
draws. Persons without enough budget are not on the vote's roster. Losses depend only on public values, so absences
reveal nothing about private values.
"""

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Final

from ...protocol.errors import BudgetExceededError
from ...protocol.privacy import Budget, Ledger, LedgerEntry, PrivacyLoss
from ...protocol.privacy.periods import keep_recent
from .series import Allowance

_NO_CLOCK: Final = 0.0  # time of every vote in a series without a clock, whose budget has no period


class Accounts:
    """The ledgers of all persons in a series, each with the budget of the allowance."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._paid: dict[str, list[tuple[float, LedgerEntry]]] = {}

    @property
    def persons(self) -> Sequence[str]:
        """The persons with losses, in the order of their first loss."""
        return tuple(self._paid)

    @property
    def entries(self) -> Sequence[LedgerEntry]:
        """All losses, person by person."""
        return tuple(entry for person_entries in self._paid.values() for _, entry in person_entries)

    def entries_of(self, person: str) -> Sequence[LedgerEntry]:
        """Return a person's losses, in order."""
        return tuple(entry for _, entry in self._paid.get(person, ()))

    def ledger(self, person: str, moment: dt.datetime | None) -> Ledger:
        """Return a person's ledger at a vote, with the losses that count against the budget, or against its period."""
        person_entries = self._paid.get(person, [])
        seconds = self._allowance.period_seconds
        counted_entries = [entry for _, entry in person_entries]
        if seconds is not None:
            counted_entries = keep_recent(person_entries, now=_seconds(moment), seconds=seconds)
        return Ledger(person, budget=self._allowance.budget, entries=counted_entries)

    def refusal(
        self, person: str, losses: Iterable[PrivacyLoss], moment: dt.datetime | None
    ) -> BudgetExceededError | None:
        """Return why a person cannot take part in a vote with these losses; None if the budget suffices."""
        needed_losses = list(losses)
        try:
            self.ledger(person, moment).check(needed_losses)
            if self._allowance.in_all is not None:
                self._whole(person, self._allowance.in_all).check(needed_losses)
        except BudgetExceededError as error:
            return error
        return None

    def remaining(self, person: str, moment: dt.datetime | None) -> float:
        """Return a person's remaining budget at a time; infinite without a budget."""
        remaining_budget = self.ledger(person, moment).remaining
        return (
            remaining_budget
            if self._allowance.in_all is None
            else min(remaining_budget, self._whole(person, self._allowance.in_all).remaining)
        )

    def book(self, entries: Iterable[LedgerEntry], moment: dt.datetime | None) -> None:
        """Add losses that were charged at a time, each to its person."""
        for entry in entries:
            self._paid.setdefault(entry.person, []).append((_seconds(moment), entry))

    def _whole(self, person: str, budget: Budget) -> Ledger:
        return Ledger(person, budget=budget, entries=self.entries_of(person))


def _seconds(moment: dt.datetime | None) -> float:
    return _NO_CLOCK if moment is None else moment.timestamp()
