"""Find the least ε, or the least number of people, with which a variant reaches an error.

Searches are by bisection if there is an exact formula; otherwise they use few trials, within the clock's time.

ε is the variant's proven loss of one party in the whole session. A reported ε is rounded up, and the error next to it
is the error at the rounded ε.
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

_FACTOR: Final = 4.0  # ratio of the first values of ε in a search
_PRICES: Final = (-4, 4)  # powers of that factor, relative to the session's ε
_MOST_PRICES: Final = 7  # further values on either side
_REACH: Final = _FACTOR ** (_PRICES[1] + _MOST_PRICES)
"""By trials, ε is searched within this factor of the session's, on either side."""
_STEPS: Final = 9  # steps of a bisection between two values, to within 0.3 %
_NEXT: Final = 1.1  # if all trials contradict a few, the search tries once more with this factor
_DIGITS: Final = 3  # digits of a reported ε; by trials, one less
_MOST_TIMES_PEOPLE: Final = 16  # greatest factor of the number of people, up or down, by trials


class VariantSearch:
    """Searches ε and numbers of people of single variants; `is_cut` says whether time ran out."""

    def __init__(self, clock: SearchClock) -> None:
        self.clock = clock
        self.is_cut = False
        self._tables: dict[tuple[VariantTable, int], VariantTable] = {}

    def with_people(self, table: VariantTable, number: int) -> VariantTable:
        """Return the table of variants for a number of people; cached."""
        key = table, number
        if key not in self._tables:
            self._tables[key] = table.with_people(number)
        return self._tables[key]

    def at(self, table: VariantTable, name: str, price: float, *, aim: float | None = None) -> VariantOffer | None:
        """Return a variant's offer at an ε; OutOfTimeError if it needs trials and there is no time."""
        if table.needs_values:
            self.clock.check()
        return table.at(name, price, aim=aim, tell=self.clock.on_trial)

    def search_in_time(
        self, search: Callable[..., _T], *arguments: Any, seconds: float = 0.0, **settings: Any
    ) -> tuple[_T | None, bool]:
        """Run a search if there is time for it; return its result, and whether it ran to the end."""
        with contextlib.suppress(OutOfTimeError):
            if not seconds or seconds <= self.clock.left:
                return search(*arguments, **settings), True
        self.is_cut = True
        return None, False

    def grid(self, table: VariantTable, name: str, center: float) -> list[VariantOffer]:
        """Return a variant's offers at values of ε around a given one; by trials, at few values with few trials."""
        low, high = (-2, 2) if table.needs_values else _PRICES
        for power in range(low, high + 1):
            self.search_in_time(self.at, table, name, center * _FACTOR**power, aim=math.inf)
        return table.curve(name)

    def price_for(self, table: VariantTable, name: str, aim: float) -> VariantOffer | None:
        """Return the offer at the least ε, rounded up, at which a variant reaches an error; None if none is known."""
        if table.needs_values:
            return self._price_by_trials(table, name, aim)
        target_error = aim * table.unit.whole

        def suffices(offer: VariantOffer | None) -> bool:
            return offer is not None and offer.error.value <= target_error

        curve = self.grid(table, name, table.price)
        for end, factor in ((0, 1 / _FACTOR), (-1, _FACTOR)):  # extend downwards, then upwards
            for _ in range(_MOST_PRICES):
                if not curve or suffices(curve[end]) != (factor < 1):
                    break
                if table.at(name, curve[end].epsilon * factor) is None:
                    break
                curve = table.curve(name)
        if not curve:
            return None
        sufficient = next((offer for offer in curve if suffices(offer)), None)
        smaller_epsilons = [
            offer.epsilon for offer in curve if sufficient is None or offer.epsilon < sufficient.epsilon
        ]
        high = curve[-1].epsilon * _FACTOR if sufficient is None else sufficient.epsilon
        price_found = least_price(
            table, name, target_error, limits=(max(smaller_epsilons, default=high / _FACTOR), high), steps=_STEPS
        )
        if price_found is None:
            return None
        price = round_up(price_found.epsilon, _DIGITS)
        rounded_offer = table.at(name, price)
        if not suffices(rounded_offer):
            return price_found
        while suffices(smaller_offer := table.at(name, price := _next_below(price, _DIGITS))):
            rounded_offer = smaller_offer  # the least number with these digits, independent of where the search ended
        return rounded_offer

    def _price_by_trials(self, table: VariantTable, name: str, aim: float) -> VariantOffer | None:
        """Return the same by trials, at approximately the least ε."""
        target_error = aim * table.unit.whole
        offer_found = least_by_trials(
            lambda price: self.at(table, name, price, aim=target_error),
            lambda offer: offer.quoted / target_error,
            start=table.price,
            limits=(table.price / _REACH, table.price * _REACH),
            power=1.0,
        )
        if offer_found is None:
            return None
        rounded_prices = (round_up(offer_found.epsilon * factor, _DIGITS - 1) for factor in (1.0, _NEXT))
        for price in (*rounded_prices, offer_found.epsilon):
            offer = self.at(table, name, price)  # with all trials, as the error is reported
            if offer is not None and offer.quoted <= target_error:
                return offer
        return None

    def people_for(
        self, table: VariantTable, name: str, aim: float, price: float
    ) -> tuple[int | None, VariantOffer | None]:
        """Return the least number of people with which a variant reaches an error at an ε, and its offer."""
        if table.needs_values:
            return self._people_by_trials(table, name, aim, price)

        @functools.cache
        def make_offer(number: int) -> VariantOffer | None:
            try:
                return table.with_people(number).offer(name, price)
            except ConfigurationError:
                if number == table.people:
                    raise
                return None  # fewer people than groups

        def suffices(number: int) -> bool:
            offer_made = make_offer(number)
            return offer_made is not None and offer_made.error.value <= aim * table.with_people(number).unit.whole

        low, high = 0, table.people
        while not suffices(high):
            if high >= MOST_PEOPLE:
                return None, make_offer(table.people)
            low, high = high, min(2 * high, MOST_PEOPLE)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if suffices(middle) else (middle, high)
        return high, make_offer(high)

    def _people_by_trials(
        self, table: VariantTable, name: str, aim: float, price: float
    ) -> tuple[int | None, VariantOffer | None]:
        """Return approximately the least number of people, and the variant's offer."""

        def offer(number: float) -> tuple[int, VariantOffer] | None:
            people = max(round(number), 1)
            table_of_people = self.with_people(table, people)
            offer_at_price = self.at(table_of_people, name, price, aim=aim * table_of_people.unit.whole)
            return None if offer_at_price is None else (people, offer_at_price)

        def excess(people_and_offer: tuple[int, VariantOffer]) -> float:
            people, offer_at_price = people_and_offer
            return share_of(self.with_people(table, people), offer_at_price) / aim

        limits = table.people / _MOST_TIMES_PEOPLE, table.people * _MOST_TIMES_PEOPLE
        people_and_offer = least_by_trials(offer, excess, start=table.people, limits=limits, power=0.5)
        if people_and_offer is not None:
            for people in (people_and_offer[0], math.ceil(people_and_offer[0] * _NEXT)):
                offer_at_price = self.at(
                    self.with_people(table, people), name, price
                )  # with all trials, as the error is reported
                if offer_at_price is not None and excess((people, offer_at_price)) <= 1:
                    return people, offer_at_price
        return None, self.at(table, name, price)


def share_of(table: VariantTable, offer: VariantOffer) -> float:
    """Return an offer's error as a fraction; its upper confidence limit if trials found it."""
    return offer.quoted / table.unit.whole


def _next_below(number: float, digits: int) -> float:
    """Return the next smaller number with these digits."""
    return -round_up(-number * (1 - 1e-9), digits)
