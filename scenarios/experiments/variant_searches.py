"""What a variant costs for an error, and how many people an error takes: the least of either, for one variant.

Exact where there is a formula, by bisection; else by trials, of which a search has as few as it can, and in the time
that its clock leaves.

The rules that hold here: ε is what a variant is proven to cost one party, of all that it says; a price that is named is
rounded up, and the error beside it is the one at that price.
"""

import contextlib
import functools
import math
from collections.abc import Callable
from typing import Any, Final, TypeVar

from ...protocol.errors import ConfigurationError
from ..verdicts import round_up
from .searches import OutOfTimeError, SearchClock, least_by_trials
from .variants import MOST_PEOPLE, VariantOffer, VariantTable
from .variants import price_for as least_price

_T = TypeVar("_T")

_FACTOR: Final = 4.0  # between the prices at which a search begins
_PRICES: Final = (-4, 4)  # powers of that factor, from the session's price
_MOST_PRICES: Final = 7  # so many more are tried on either side
_REACH: Final = _FACTOR ** (_PRICES[1] + _MOST_PRICES)
"""By trials, prices are looked for up to so many times the session's, and down to such a part of it."""
_STEPS: Final = 9  # of a bisection between two of them, which ends within 3 in 1,000
_NEXT: Final = 1.1  # what a few trials took for enough and all of them do not is tried once more with so much more
_DIGITS: Final = 3  # of a price that is named; of one by trials, one less
_MOST_TIMES_PEOPLE: Final = 16  # as many people as there are: so many times as many, or as few, are tried in trials


class VariantSearch:
    """Looks for prices and numbers of people of single variants; `is_cut` where there was no time for something."""

    def __init__(self, clock: SearchClock) -> None:
        self.clock = clock
        self.is_cut = False
        self._tables: dict[tuple[VariantTable, int], VariantTable] = {}

    def of_people(self, table: VariantTable, number: int) -> VariantTable:
        """Return the variants for so many people, whose parties are made once."""
        key = table, number
        if key not in self._tables:
            self._tables[key] = table.of_people(number)
        return self._tables[key]

    def at(self, table: VariantTable, name: str, price: float, *, aim: float | None = None) -> VariantOffer | None:
        """Return what a variant offers at a price; OutOfTimeError if it takes trials, for which there is no time."""
        if table.needs_values:
            self.clock.check()
        return table.at(name, price, aim=aim, tell=self.clock.on_trial)

    def in_time(
        self, search: Callable[..., _T], *given: Any, seconds: float = 0.0, **more: Any
    ) -> tuple[_T | None, bool]:
        """Return what a search finds, and whether there was time for the seconds that it takes about."""
        with contextlib.suppress(OutOfTimeError):
            if not seconds or seconds <= self.clock.left:
                return search(*given, **more), True
        self.is_cut = True
        return None, False

    def grid(self, table: VariantTable, name: str, center: float) -> list[VariantOffer]:
        """Return what a variant offers at prices around one; by trials, at few of them, and by few trials."""
        low, high = (-2, 2) if table.needs_values else _PRICES
        for power in range(low, high + 1):
            self.in_time(self.at, table, name, center * _FACTOR**power, aim=math.inf)
        return table.curve(name)

    def price_for(self, table: VariantTable, name: str, aim: float) -> VariantOffer | None:
        """Return the least price of a variant that brings an error, rounded up; None where none is known to."""
        if table.needs_values:
            return self._price_by_trials(table, name, aim)
        aimed = aim * table.unit.whole

        def suffices(offered: VariantOffer | None) -> bool:
            return offered is not None and offered.error.value <= aimed

        curve = self.grid(table, name, table.price)
        for end, factor in ((0, 1 / _FACTOR), (-1, _FACTOR)):  # further down, then further up
            for _ in range(_MOST_PRICES):
                if not curve or suffices(curve[end]) != (factor < 1):
                    break
                if table.at(name, curve[end].epsilon * factor) is None:
                    break
                curve = table.curve(name)
        if not curve:
            return None
        enough = next((offered for offered in curve if suffices(offered)), None)
        below = [offered.epsilon for offered in curve if enough is None or offered.epsilon < enough.epsilon]
        high = curve[-1].epsilon * _FACTOR if enough is None else enough.epsilon
        found = least_price(table, name, aimed, between=(max(below, default=high / _FACTOR), high), steps=_STEPS)
        if found is None:
            return None
        price = round_up(found.epsilon, _DIGITS)
        rounded = table.at(name, price)
        if not suffices(rounded):
            return found
        while suffices(less := table.at(name, price := _next_below(price, _DIGITS))):
            rounded = less  # the least of so many digits, wherever the search ended
        return rounded

    def _price_by_trials(self, table: VariantTable, name: str, aim: float) -> VariantOffer | None:
        """Return about the least price of a variant that brings an error, rounded up; None where none is known to."""
        aimed = aim * table.unit.whole
        found = least_by_trials(
            lambda price: self.at(table, name, price, aim=aimed),
            lambda offered: offered.quoted / aimed,
            start=table.price,
            between=(table.price / _REACH, table.price * _REACH),
            power=1.0,
        )
        if found is None:
            return None
        rounded = (round_up(found.epsilon * factor, _DIGITS - 1) for factor in (1.0, _NEXT))
        for price in (*rounded, found.epsilon):
            offered = self.at(table, name, price)  # by all trials, as its error is said
            if offered is not None and offered.quoted <= aimed:
                return offered
        return None

    def people_for(
        self, table: VariantTable, name: str, aim: float, price: float
    ) -> tuple[int | None, VariantOffer | None]:
        """Return the least number of people with whom a variant brings an error at a price, and what it offers them."""
        if table.needs_values:
            return self._people_by_trials(table, name, aim, price)

        @functools.cache
        def offered_to(number: int) -> VariantOffer | None:
            try:
                return table.of_people(number).offer(name, price)
            except ConfigurationError:
                if number == table.people:
                    raise
                return None  # fewer than there are groups

        def suffices(number: int) -> bool:
            offered = offered_to(number)
            return offered is not None and offered.error.value <= aim * table.of_people(number).unit.whole

        low, high = 0, table.people
        while not suffices(high):
            if high >= MOST_PEOPLE:
                return None, offered_to(table.people)
            low, high = high, min(2 * high, MOST_PEOPLE)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if suffices(middle) else (middle, high)
        return high, offered_to(high)

    def _people_by_trials(
        self, table: VariantTable, name: str, aim: float, price: float
    ) -> tuple[int | None, VariantOffer | None]:
        """Return about the least number of people, and what a variant offers them."""

        def offer(number: float) -> tuple[int, VariantOffer] | None:
            people = max(round(number), 1)
            own = self.of_people(table, people)
            offered = self.at(own, name, price, aim=aim * own.unit.whole)
            return None if offered is None else (people, offered)

        def excess(found: tuple[int, VariantOffer]) -> float:
            people, offered = found
            return share_of(self.of_people(table, people), offered) / aim

        between = table.people / _MOST_TIMES_PEOPLE, table.people * _MOST_TIMES_PEOPLE
        found = least_by_trials(offer, excess, start=table.people, between=between, power=0.5)
        if found is not None:
            for people in (found[0], math.ceil(found[0] * _NEXT)):
                offered = self.at(self.of_people(table, people), name, price)  # by all trials, as its error is said
                if offered is not None and excess((people, offered)) <= 1:
                    return people, offered
        return None, self.at(table, name, price)


def share_of(table: VariantTable, offered: VariantOffer) -> float:
    """Return an error as a share of all that there is in a table: one that trials found at its upper limit."""
    return offered.quoted / table.unit.whole


def _next_below(number: float, digits: int) -> float:
    """Return the number with so many digits that comes before one."""
    return -round_up(-number * (1 - 1e-9), digits)
