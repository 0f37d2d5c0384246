"""Error, ε and number of people: from two of them the third, for each variant and model of trust of a session.

A plan is `variants` seen from the other side: the same variants and the same errors, exact where there is a formula and
else by trials of made-up parties. An aim is a share (`variants.Unit`), which stays the same for more people.

The rules that hold here: ε is what a variant is proven to cost one party, of all that it says; a price that is named is
rounded up, and the error beside it is the one at that price; and what no price brings is an error, which says the best
that can be had.
"""

import functools
import math
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, Decimal
from typing import Final, Literal, TypeAlias

import msgspec

from ...protocol.errors import ConfigurationError
from ...protocol.privacy import TrustModel
from ..running.config import Scenario
from .variants import MOST_PEOPLE, Offered, Unit, VariantTable, price_for, table_of, variants_of

__all__ = ["TRIALS", "Option", "Plan", "Planned", "Sought", "make_plan", "make_table"]

TRIALS: Final = 50
"""Of a variant at a price, where errors are found by trials."""

Sought: TypeAlias = Literal["epsilon", "error", "people"]
"""What of the three follows from the others."""

_FACTOR: Final = 4.0
"""Between the prices at which a search begins."""
_PRICES: Final = (-4, 4)
"""Powers of that factor, from the session's price."""
_PRICES_OF_TRIALS: Final = (-2, 2)
_MOST_PRICES: Final = 7
"""So many more are tried on either side."""
_HALVES: Final = 8
"""Steps by the root of 2 on either side of a price, for a picture."""
_STEPS: Final = 9
"""Of a bisection between two of them, which ends within 3 in 1,000."""
_STEPS_OF_TRIALS: Final = 3
"""Within a fifth, and a tenth for rounding: a price by trials is no surer."""
_DIGITS: Final = 3
"""Of a price that is named; of one by trials, one less."""
_MOST_TRIED: Final = 1_000
"""Of more people than these, trials with more still are run where their number is asked for, and not as an option."""
_MOST_TIMES_PEOPLE: Final = 16
"""As many people as there are: so many times as many, or as few, are tried in trials."""


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """One variant in a plan.

    Args:
        name: the variant's.
        model: whom it trusts.
        offered: at the plan's ε, or at the least that brings the plan's error; None where it has none.
        people: for whom that is; None where no number of them is known to suffice.
        share: the error of what is offered to so many, as a share.
        standard_error: of the share, where it is found by trials.
        curve: what it offers at other prices to those who are there, the least price first.
    """

    name: str
    model: TrustModel
    offered: Offered | None
    people: int | None
    share: float = 0.0
    standard_error: float = 0.0
    curve: tuple[Offered, ...] = ()

    @property
    def is_met(self) -> bool:
        """Whether it brings what is wanted."""
        return self.offered is not None and self.people is not None


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """What to do where a plan is too dear, or brings too little.

    Args:
        do: an imperative.
        name: the variant's.
        epsilon: what it costs then.
        share: its error, as a share.
        people: for whom.
        standard_error: of the share, where it is found by trials.
    """

    do: str
    name: str
    epsilon: float
    share: float
    people: int
    standard_error: float = 0.0


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A plan.

    Args:
        sought: which of error, ε and people follows from the others.
        aim: the error that is wanted, as a share; None where it is sought.
        epsilon: what is to be paid; None where it is sought.
        people: how many there are, or are to be.
        unit: of the error.
        variants: all of the session's, in its order.
        options: what else could be done, as far as it is known.
    """

    sought: Sought
    aim: float | None
    epsilon: float | None
    people: int
    unit: Unit
    variants: tuple[Planned, ...]
    options: tuple[Option, ...]

    @property
    def best(self) -> tuple[Planned, ...]:
        """The best variant of each model of trust that brings what is wanted; first where nobody is trusted."""
        return tuple(_best_of(self.variants, self.sought))


def _best_of(variants: Sequence[Planned], sought: Sought) -> list[Planned]:
    """Return the best variant of each model of trust."""
    found: list[Planned] = []
    for model in (TrustModel.LOCAL, TrustModel.CENTRAL):
        own = [each for each in variants if each.model is model and each.is_met]
        if own:
            found.append(min(own, key=functools.partial(_rank, sought)))
    return found


def _rank(sought: Sought, planned: Planned) -> float:
    """Return what is least of the best variant."""
    assert planned.offered is not None  # noqa: S101  it is met
    assert planned.people is not None  # noqa: S101  likewise
    if sought == "people":
        return planned.people
    return planned.offered.epsilon if sought == "epsilon" else planned.share


def make_table(scenario: Scenario, *, people: int | None = None, trials: int = TRIALS) -> VariantTable:
    """Return the variants of a scenario in which nobody deviates and no message is lost.

    Args:
        scenario: which.
        people: how many there are to be; by default the scenario's.
        trials: of each variant at each price, where errors are found by trials.

    Raises:
        ConfigurationError: something of the scenario is not allowed, its protocol has no variants, or there cannot be
            so many people.
    """
    honest = msgspec.structs.replace(scenario, adversary=(), network={})
    table = table_of(variants_of(scenario.protocol, part="plan"), honest, trials=trials)
    return table if people is None else table.of_people(people)


def make_plan(
    table: VariantTable,
    *,
    error: float | None = None,
    epsilon: float | None = None,
    has_curves: bool = True,
    tell: Callable[[str], object] | None = None,
) -> Plan:
    """Plan a session.

    Args:
        table: its variants, for as many people as there are.
        error: the error that is wanted, as a share or, where the table's unit has a noun, as a number from 1 on.
        epsilon: what may be paid; without an error the session's price by default. With both, people are sought.
        has_curves: whether variants are asked for more prices, so that they make a picture.
        tell: called with a line as each search begins.

    Raises:
        ConfigurationError: an argument is out of range, or no variant brings what is wanted: it says the best that can
            be had.
    """
    if epsilon is not None and not 0 < epsilon < math.inf:
        raise ConfigurationError(field="--epsilon", value=epsilon, allowed="above 0, and finite")
    aim = None if error is None else table.unit.share_in(error)
    sought: Sought = "error" if aim is None else "people" if epsilon is not None else "epsilon"
    search = _Search(table, tell or _say_nothing, has_curves=has_curves)
    if aim is None:
        price = table.price if epsilon is None else epsilon
        variants = search.at(price)
        options = search.options_at(price, variants)
    elif epsilon is None:
        price = None
        variants = search.for_error(aim)
        options = search.options_for_error(aim, variants)
    else:
        price = epsilon
        variants = search.people_for(aim, epsilon)
        options = search.options_for_people(aim, epsilon, variants)
    if has_curves:
        variants = search.with_curves(variants, _best_of(variants, sought))
    return Plan(
        sought=sought,
        aim=aim,
        epsilon=price,
        people=table.people,
        unit=table.unit,
        variants=tuple(variants),
        options=tuple(options),
    )


def _say_nothing(_: str) -> None:
    """Say nothing."""


class _Search:
    """Looks for prices, errors and numbers of people."""

    def __init__(self, table: VariantTable, tell: Callable[[str], object], *, has_curves: bool) -> None:
        self._table = table
        self._has_curves = has_curves
        self._tell = tell
        self._is_by_trials = table.needs_values

    def _planned(self, name: str, offered: Offered | None, people: int | None) -> Planned:
        whole = self._table.unit.whole if people is None else self._table.of_people(people).unit.whole
        return Planned(
            name=name,
            model=self._table.model_of(name),
            offered=offered,
            people=people,
            share=0.0 if offered is None else offered.error.value / whole,
            standard_error=0.0 if offered is None else offered.error.standard_error / whole,
            curve=tuple(self._table.curve(name)),
        )

    # What is sought.

    def at(self, price: float) -> list[Planned]:
        """Return what variants offer at a price."""
        found: list[Planned] = []
        for name in self._table.names:
            self._tell(f"{name} at ε = {price:.4g}")
            offered = self._table.at(name, price)
            if self._has_curves:
                self._grid(self._table, name, price)
            found.append(self._planned(name, offered, self._table.people))
        if not any(each.is_met for each in found):
            prices = [
                offered.epsilon for each in found for offered in self._grid(self._table, each.name, self._table.price)
            ]
            allowed = f"from {min(prices):.3g} to {max(prices):.3g}" if prices else "one that a variant can have"
            raise ConfigurationError(field="--epsilon", value=price, allowed=f"{allowed}, in all: no variant has this")
        return found

    def for_error(self, aim: float) -> list[Planned]:
        """Return what variants cost for an error."""
        found: list[Planned] = []
        for name in self._table.names:
            self._tell(f"the ε of {name}")
            offered = self._price(self._table, name, aim)
            found.append(self._planned(name, offered, self._table.people))
        if not any(each.is_met for each in found):
            raise ConfigurationError(
                field="--error", value=f"{100 * aim:.4g} %", allowed=self._best_to_be_had(self._table, found)
            )
        return found

    def people_for(self, aim: float, price: float) -> list[Planned]:
        """Return how many people variants take for an error at a price; by trials, those that cost least alone."""
        at = self.at(price)
        wanted = {each.name for each in at if each.is_met}
        if self._is_by_trials:
            wanted = {each.name for each in _best_of(at, "error")}
        found: list[Planned] = []
        for each in at:
            people, offered = None, each.offered
            if each.name in wanted:
                self._tell(f"the number of people of {each.name}")
                people, offered = self._people(self._table, each.name, aim, price)
            found.append(self._planned(each.name, offered, people))
        if not any(each.is_met for each in found):
            best = self._best_to_be_had(self._table, at)
            raise ConfigurationError(
                field="--error",
                value=f"{100 * aim:.4g} %",
                allowed=f"{best}; and no number of people is known to bring it at ε = {price:g}",
            )
        return found

    def _best_to_be_had(self, table: VariantTable, found: Sequence[Planned]) -> str:
        """Return what is the least error of all prices, as an error says it."""
        offers = [(offered, each.name) for each in found for offered in each.curve]
        if not offers:
            return "an error of a variant: none can have any price here"
        least, name = min(offers, key=lambda each: each[0].error.value)
        share = self._share_of(table, least)
        role = table.resolved.protocol.client_role
        written = table.unit.short(share, standard_error=least.error.standard_error)
        whom = f"{table.people:,} {role}s"
        return f"at least {written}, the best that {whom} can have: by {name}, at ε = {least.epsilon:.3g}"

    def with_curves(self, found: Sequence[Planned], chosen: Sequence[Planned]) -> list[Planned]:
        """Return variants with what they offer at prices around those that are chosen."""
        prices = [each.offered.epsilon for each in chosen if each.offered is not None]
        for each in () if self._is_by_trials else found:
            for power in range(-_HALVES, _HALVES + 1):
                for price in (min(prices), max(prices)):
                    self._table.at(each.name, price * 2.0 ** (power / 2))
        return [msgspec.structs.replace(each, curve=tuple(self._table.curve(each.name))) for each in found]

    # The searches.

    def _share_of(self, table: VariantTable, offered: Offered) -> float:
        return offered.error.value / table.unit.whole

    def _grid(self, table: VariantTable, name: str, center: float) -> list[Offered]:
        """Return what a variant offers at prices around one."""
        low, high = _PRICES_OF_TRIALS if self._is_by_trials else _PRICES
        for power in range(low, high + 1):
            table.at(name, center * _FACTOR**power)
        return table.curve(name)

    def _price(self, table: VariantTable, name: str, aim: float) -> Offered | None:
        """Return the least price of a variant that brings an error, rounded up; None where none is known to."""
        aimed = aim * table.unit.whole

        def suffices(offered: Offered | None) -> bool:
            return offered is not None and offered.error.value <= aimed

        curve = self._grid(table, name, table.price)
        for _ in range(_MOST_PRICES):
            if not curve or not suffices(curve[0]):
                break
            if table.at(name, curve[0].epsilon / _FACTOR) is None:
                break
            curve = table.curve(name)
        for _ in range(_MOST_PRICES):
            if not curve or suffices(curve[-1]):
                break
            if table.at(name, curve[-1].epsilon * _FACTOR) is None:
                break
            curve = table.curve(name)
        if not curve:
            return None
        enough = next((offered for offered in curve if suffices(offered)), None)
        below = [offered.epsilon for offered in curve if enough is None or offered.epsilon < enough.epsilon]
        high = curve[-1].epsilon * _FACTOR if enough is None else enough.epsilon
        low = max(below, default=high / _FACTOR)
        steps = _STEPS_OF_TRIALS if self._is_by_trials else _STEPS
        found = price_for(table, name, aimed, between=(low, high), steps=steps).offered
        if found is None:
            return None
        digits = _DIGITS - self._is_by_trials
        price = _rounded_up(found.epsilon, digits)
        rounded = table.at(name, price)
        if rounded is None or not suffices(rounded):
            return found
        while not self._is_by_trials:  # the least of so many digits, wherever the search ended
            price = _next_below(price, digits)
            below = table.at(name, price)
            if below is None or not suffices(below):
                break
            rounded = below
        return rounded

    def _people(self, table: VariantTable, name: str, aim: float, price: float) -> tuple[int | None, Offered | None]:
        """Return the least number of people with whom a variant brings an error at a price, and what it offers them."""

        @functools.cache
        def offered_to(number: int) -> Offered | None:
            try:
                return table.of_people(number).offer(name, price)
            except ConfigurationError:
                if number == table.people or self._is_by_trials:
                    raise
                return None  # fewer than there are groups

        @functools.cache
        def suffices(number: int) -> bool:
            offered = offered_to(number)
            return offered is not None and offered.error.value <= aim * table.of_people(number).unit.whole

        most = _MOST_TIMES_PEOPLE * table.people if self._is_by_trials else MOST_PEOPLE
        least = max(table.people // _MOST_TIMES_PEOPLE, 1) if self._is_by_trials else 1
        low, high = least - 1, table.people
        while not suffices(high):
            if high >= most:
                return None, offered_to(table.people)
            low, high = high, min(2 * high, most)
        while high - low > (max(low // 10, 1) if self._is_by_trials else 1):
            middle = (low + high) // 2
            low, high = (low, middle) if suffices(middle) else (middle, high)
        return high, offered_to(high)

    # What else could be done.

    def options_for_error(self, aim: float, found: Sequence[Planned]) -> list[Option]:
        """Return how an error costs less."""
        first, *others = _best_of(found, "epsilon")
        assert first.offered is not None  # noqa: S101  it is met
        paid = first.offered.epsilon
        options: list[Option] = []
        for part in (2,) if self._is_by_trials else (2, 4):
            options += self._with_people("ask more people", first.name, aim, _rounded_up(paid / part, 2))
        options += [self._option(_trust(self._table), each.name, each.offered, self._table) for each in others]
        options += self._cheapest("accept twice the error", self._table, first, 2 * aim)
        for do, table in self._table.coarser().items():
            options += self._cheapest(do, table, first, aim)
        return [each for each in options if each.epsilon < paid]

    def options_at(self, price: float, found: Sequence[Planned]) -> list[Option]:
        """Return how an error becomes less than it is at a price."""
        first, *others = _best_of(found, "error")
        assert first.offered is not None  # noqa: S101  it is met
        share = first.share
        options: list[Option] = []
        if share:
            options += self._with_people("ask more people", first.name, share / 2, price)
            options += self._cheapest("pay more", self._table, first, share / 2)
        options += [self._option(_trust(self._table), each.name, each.offered, self._table) for each in others]
        for do, table in self._table.coarser().items():
            offers = [(name, table.at(name, price)) for name in self._like(table, first)]
            known = [(offered, name) for name, offered in offers if offered is not None]
            if known:
                offered, name = min(known, key=lambda each: each[0].error.value)
                options.append(self._option(do, name, offered, table))
        return [each for each in options if each.share < share]

    def options_for_people(self, aim: float, price: float, found: Sequence[Planned]) -> list[Option]:
        """Return how fewer people are enough for an error."""
        first, *others = _best_of(found, "people")
        options: list[Option] = []
        options += self._cheapest("pay more", self._table, first, aim)
        for each in others:
            if each.people is not None and each.offered is not None:
                own = self._table.of_people(each.people)
                options.append(self._option(_trust(self._table), each.name, each.offered, own))
        options += self._with_people("accept twice the error", first.name, 2 * aim, price)
        for do, table in () if self._is_by_trials else self._table.coarser().items():
            numbers = [(self._people(table, name, aim, price), name) for name in self._like(table, first)]
            known = [(people, name, offered) for (people, offered), name in numbers if people and offered is not None]
            if known:
                people, name, offered = min(known, key=lambda each: each[0])
                options.append(self._option(do, name, offered, table.of_people(people)))
        most = first.people or math.inf
        return [each for each in options if each.people < most]

    def _option(self, do: str, name: str, offered: Offered | None, table: VariantTable) -> Option:
        assert offered is not None  # noqa: S101  it is met
        share = self._share_of(table, offered)
        error = offered.error.standard_error / table.unit.whole
        return Option(do=do, name=name, epsilon=offered.epsilon, share=share, people=table.people, standard_error=error)

    def _with_people(self, do: str, name: str, aim: float, price: float) -> list[Option]:
        """Return an error at a price, for as many people as that takes; nothing where no number is known."""
        if self._is_by_trials and self._table.people > _MOST_TRIED:
            return []
        self._tell(f"the number of people of {name} at ε = {price:g}")
        try:
            people, offered = self._people(self._table, name, aim, price)
            if people is None or offered is None:
                return []
            return [self._option(do, name, offered, self._table.of_people(people))]
        except ConfigurationError:  # nobody knows who others would be
            return []

    def _cheapest(self, do: str, table: VariantTable, first: Planned, aim: float) -> list[Option]:
        """Return the least price of an error without more trust; nothing where no price is known."""
        names = [first.name] if self._is_by_trials else self._like(table, first)
        found = [(offered, name) for name in names if (offered := self._price(table, name, aim)) is not None]
        if not found:
            return []
        offered, name = min(found, key=lambda each: each[0].epsilon)
        return [self._option(do, name, offered, table)]

    def _like(self, table: VariantTable, first: Planned) -> list[str]:
        """Return the variants of a table that trust as few as another one."""
        return [name for name in table.names if table.model_of(name) is first.model]


def _trust(table: VariantTable) -> str:
    return f"trust the {table.resolved.protocol.server_role.replace('-', ' ')}"


def _rounded_up(number: float, digits: int) -> float:
    """Return the least number with so many digits that is not less."""
    return float(Decimal(repr(number)).quantize(_unit_of(number, digits), rounding=ROUND_CEILING))


def _next_below(number: float, digits: int) -> float:
    """Return the number with so many digits that comes before one."""
    return float(Decimal(repr(number)) - _unit_of(number * (1 - 1e-9), digits))


def _unit_of(number: float, digits: int) -> Decimal:
    return Decimal(1).scaleb(math.floor(math.log10(number)) - digits + 1)
