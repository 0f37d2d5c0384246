"""Error, ε and number of people: from two of them the third, for each variant and model of trust of a session.

A plan is `variants` seen from the other side: the same variants and the same errors, exact where there is a formula and
else by trials of made-up parties. An aim is a share (`variants.Unit`), which stays the same for more people.

Trials are dear where parties are many, so that a search by trials guesses what suffices from how errors fall (about as
1/ε, and with the root of the number of people), has few trials where these already tell the side of the aim, and ends
after a time that its caller sets. Of each model of trust the variant that seems to cost least is searched first. The
others follow, those that take least time first, and leave some of it for what else could be done. A variant for which
there is no time is said to be untried, with a price that is known to be too little.

The rules of `variant_searches` hold here, and what no price brings is an error, which says the best that can be had.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from ...protocol.errors import ConfigurationError, refuse
from ...protocol.privacy import TrustModel
from ..presentation.numbers import pluralize
from ..running.config import Scenario
from ..running.progress import OnStep
from ..verdicts import round_up
from .plain_variants import variants_of
from .searches import SearchClock
from .variant_searches import VariantSearch, share_of
from .variants import Unit, VariantOffer, VariantTable, table_of

TRIALS: Final = 50
"""Of a variant at a price, where errors are found by trials."""

Sought: TypeAlias = Literal["epsilon", "error", "people"]
"""What of the three follows from the others."""

_PRICES_OF_TRIALS: Final = (-2, -1, 1, 2)
"""Powers of 2 beside a price that is chosen, for a picture."""
_HALVES: Final = 8
"""Steps by the root of 2 on either side of a price, for a picture."""
_LOOKS: Final = 20.0
"""First looks at a variant, whose time a whole search takes by experience: the bar, and what is begun, count on it."""
_SURE: Final = 4.0
"""Standard errors by which an error is above an aim where a price is said to be too little."""
_DONE_BY_FIRST_LOOKS: Final = 0.1
"""Of the bar; likewise."""
_DONE_BEFORE_OPTIONS: Final = 0.8
_DONE_BEFORE_CURVES: Final = 0.9
_MORE_PEOPLE: Final = "ask more people"
_MASK: Final = "let sums be masked"
_PAY_MORE: Final = "pay more"
_MORE_ERROR: Final = "accept twice the error"
_MOST_TRIED: Final = 1_000
"""Of more people than these, trials with more still are run where their number is asked for, and not as an option."""


class PlannedVariant(msgspec.Struct, frozen=True, kw_only=True):
    """One variant in a plan, or what else could be done.

    Args:
        name: the variant's.
        model: whom it trusts.
        offered: at the plan's ε, or at the least that brings the plan's error; None where it has none.
        people: for whom that is; None where no number of them is known to suffice.
        is_tried: False where the time was over before it was found.
        too_little: then a price that is known not to bring the error that is wanted; 0 where none is.
        share: the error of what is offered to so many, as a share; where trials found it, its upper limit at 99 %.
        standard_error: of the error, where it is found by trials.
        curve: what it offers at other prices to those who are there, the least price first.
        do: what to do for it, as an imperative, where the plan is too dear, or brings too little.

    Examples:
        >>> PlannedVariant(name="joint", model=TrustModel.LOCAL, offered=None, people=None).is_met
        False
    """

    name: str
    model: TrustModel
    offered: VariantOffer | None
    people: int | None
    is_tried: bool = True
    too_little: float = 0.0
    share: float = 0.0
    standard_error: float = 0.0
    curve: tuple[VariantOffer, ...] = ()
    do: str = ""

    @property
    def is_met(self) -> bool:
        """Whether it brings what is wanted."""
        return self.offered is not None and self.people is not None

    @property
    def epsilon(self) -> float:
        """What it costs; infinite where nothing is offered."""
        return math.inf if self.offered is None else self.offered.epsilon

    def sought(self, quantity: Sought) -> float:
        """Return what the best variant has least of: the ε, the error or the people; infinite if it is not met."""
        number_of = {"epsilon": self.epsilon, "error": self.share, "people": self.people or math.inf}
        return number_of[quantity] if self.is_met else math.inf


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
        is_cut: whether the time was over before all was tried.
    """

    sought: Sought
    aim: float | None
    epsilon: float | None
    people: int
    unit: Unit
    variants: tuple[PlannedVariant, ...]
    options: tuple[PlannedVariant, ...]
    is_cut: bool = False

    @property
    def best(self) -> tuple[PlannedVariant, ...]:
        """The best variant of each model of trust that brings what is wanted; first where nobody is trusted."""
        return tuple(_best_of(self.variants, self.sought))


def _best_of(variants: Sequence[PlannedVariant], quantity: Sought) -> list[PlannedVariant]:
    """Return the best variant of each model of trust."""
    of_models = ([each for each in variants if each.model is model and each.is_met] for model in TrustModel)
    return [
        min(planned_variants, key=lambda each: each.sought(quantity))
        for planned_variants in of_models
        if planned_variants
    ]


def _best_option(planned_variants: Sequence[PlannedVariant], quantity: Sought) -> list[PlannedVariant]:
    met_variants = [each for each in planned_variants if each.is_met]
    return [min(met_variants, key=lambda each: each.sought(quantity))] if met_variants else []


def make_table(scenario: Scenario, *, people: int | None = None, trials: int = TRIALS) -> VariantTable:
    """Return the variants of a scenario in which nobody deviates and no message is lost.

    Args:
        people: how many there are to be; by default the scenario's.
        trials: of each variant at each price, where errors are found by trials.

    Raises:
        ConfigurationError: something of the scenario is not allowed, its protocol has no variants, or there cannot be
            so many people.
    """
    honest = msgspec.structs.replace(scenario, adversary=(), network={})
    table = table_of(variants_of(scenario.protocol, part="plan"), honest, trials=trials)
    return table if people is None else table.with_people(people)


def make_plan(
    table: VariantTable,
    *,
    error: float | None = None,
    epsilon: float | None = None,
    has_curves: bool = True,
    seconds: float = math.inf,
    tell: OnStep | None = None,
) -> Plan:
    """Plan a session.

    Args:
        table: its variants, for as many people as there are.
        error: the error that is wanted, as a share or, where the table's unit has a noun, as a number from 1 on.
        epsilon: what may be paid; without an error the session's price by default. With both, people are sought.
        has_curves: whether variants are asked for more prices, so that they make a picture.
        seconds: after so many no trial begins any more; what was found by then is the plan.
        tell: called as each search begins, and between trials, with the share of the work that is done.

    Raises:
        ConfigurationError: an argument is out of range; or no variant brings what is wanted: it says the best that can
            be had; or none was found in time.
    """
    refuse(epsilon is not None and not 0 < epsilon < math.inf, "--epsilon", epsilon, "above 0, and finite")
    aim = None if error is None else table.unit.share_in(error)
    quantity: Sought = "error" if aim is None else "people" if epsilon is not None else "epsilon"
    search = _PlanSearch(table, SearchClock(tell, seconds), quantity, aim, epsilon, has_curves=has_curves)
    variants = search.variants()
    options = search.options(variants)
    if has_curves:
        variants = search.with_curves(variants, _best_of(variants, quantity))
    return Plan(
        sought=quantity,
        aim=aim,
        epsilon=None if quantity == "epsilon" else search.price,
        people=table.people,
        unit=table.unit,
        variants=tuple(variants),
        options=tuple(options),
        is_cut=search.is_cut,
    )


class _PlanSearch(VariantSearch):
    """Looks for prices, errors and numbers of people, over all variants, and for what else could be done."""

    def __init__(
        self,
        table: VariantTable,
        clock: SearchClock,
        quantity: Sought,
        aim: float | None,
        epsilon: float | None,
        *,
        has_curves: bool,
    ) -> None:
        super().__init__(clock)
        self._table = table
        self._has_curves = has_curves
        self._sought: Sought = quantity
        self._aim = aim or 0.0
        self.price = table.price if epsilon is None else epsilon

    def _make_planned(
        self,
        name: str,
        offer: VariantOffer | None,
        people: int | None,
        *,
        table: VariantTable | None = None,
        is_tried: bool = True,
        do: str = "",
    ) -> PlannedVariant:
        table_of_people = table or (self._table if people is None else self.with_people(self._table, people))
        return PlannedVariant(
            name=name,
            model=table_of_people.model_of(name),
            offered=offer,
            people=people,
            is_tried=is_tried,
            share=0.0 if offer is None else share_of(table_of_people, offer),
            standard_error=0.0 if offer is None else offer.error.standard_error / table_of_people.unit.whole,
            curve=() if do else tuple(self._table.curve(name)),
            do=do,
        )

    # What is sought.

    def variants(self) -> list[PlannedVariant]:
        """Return what is sought of each variant.

        Raises:
            ConfigurationError: no variant brings what is wanted, or none was found in time.
        """
        if self._sought == "epsilon":
            return self._search_error()
        variants_at_price = self._search_price(to=_DONE_BEFORE_OPTIONS / (1 if self._sought == "error" else 2))
        return variants_at_price if self._sought == "error" else self._people_of(variants_at_price)

    def _search_price(self, *, to: float) -> list[PlannedVariant]:
        """Return what each variant offers at the price; `to` is the share of all work that is then done."""
        price, variants_found = self.price, list[PlannedVariant]()
        self.clock.expect(dict.fromkeys(self._table.names, 1.0), to=to)
        for name in self._table.names:
            self.clock.begin(name, f"{name} at ε = {price:.4g}")
            offer, is_tried = self.search_in_time(self.at, self._table, name, price)
            if self._has_curves and not self._table.needs_values:
                self.grid(self._table, name, price)
            variants_found.append(self._make_planned(name, offer, self._table.people, is_tried=is_tried))
        if not any(each.is_met for each in variants_found):
            self._check_time(variants_found)
            offers = [self.grid(self._table, each.name, self._table.price) for each in variants_found]
            prices = [offer.epsilon for offer in itertools.chain(*offers)]
            example = f", such as any from about {min(prices):.2g} to {max(prices):.2g}" if prices else ""
            allowed = f"an ε in all that a variant can have{example}"
            raise ConfigurationError(field="--epsilon", value=price, allowed=allowed)
        return variants_found

    def _check_time(self, variants_found: Sequence[PlannedVariant]) -> None:
        """Raise ConfigurationError where nothing was found since the time was over."""
        allowed = "more: no variant's errors were found by then. Fewer --trials are quicker as well"
        refuse(variants_found and not all(each.is_tried for each in variants_found), "--minutes", "over", allowed)

    def _search_error(self) -> list[PlannedVariant]:
        """Return what variants cost for the error; by trials, first those that seem to cost least."""
        names, costs = list(self._table.names), dict.fromkeys(self._table.names, 1.0)
        first_names = frozenset(names)
        if self._table.needs_values:
            names, costs, first_names = self._look_at()
        self.clock.expect(costs, to=_DONE_BEFORE_OPTIONS)
        planned_by_name: dict[str, PlannedVariant] = {}
        for name in names:
            self.clock.allow(1.0 if name in first_names else _DONE_BEFORE_OPTIONS)
            self.clock.begin(name, f"the ε of {name}")
            seconds = 0.0 if name in first_names else costs[name]
            offer, is_tried = self.search_in_time(self.price_for, self._table, name, self._aim, seconds=seconds)
            planned_variant = self._make_planned(name, offer, self._table.people, is_tried=is_tried)
            too_little = 0.0 if is_tried else self._too_little(name)
            planned_by_name[name] = msgspec.structs.replace(planned_variant, too_little=too_little)
        variants_in_order = [planned_by_name[name] for name in self._table.names]
        if not any(each.is_met for each in variants_in_order):
            self._check_time(variants_in_order)
            raise self._refuse_plan(self._best_to_be_had(variants_in_order))
        return variants_in_order

    def _refuse_plan(self, allowed: str) -> ConfigurationError:
        return ConfigurationError(field="--error", value=f"{100 * self._aim:.4g} %", allowed=allowed)

    def _too_little(self, name: str) -> float:
        """Return the greatest price at which a variant is known to err by more; 0 where there is none."""
        target_error = self._aim * self._table.unit.whole
        curve_points = ((each.epsilon, each.error) for each in self._table.curve(name))
        known_epsilons = [
            epsilon for epsilon, error in curve_points if error.value - target_error > _SURE * error.standard_error > 0
        ]
        return max(known_epsilons, default=0.0)

    def _look_at(self) -> tuple[list[str], dict[str, float], frozenset[str]]:
        """Return the variants, how many seconds each takes, and which lead, all by a first look at each.

        Of each model of trust that one leads, and comes first, which seems to cost least; then those that take least
        time come first.
        """
        guesses, costs = dict.fromkeys(self._table.names, math.inf), dict.fromkeys(self._table.names, 1.0)
        target_error = self._aim * self._table.unit.whole
        self.clock.expect(costs, to=_DONE_BY_FIRST_LOOKS)
        for name in self._table.names:
            began = self.clock.begin(name, f"a first look at {name}")
            offer, _ = self.search_in_time(self.at, self._table, name, self._table.price, aim=target_error)
            costs[name] = _LOOKS * max(self.clock.seconds_since(began), 1e-3)
            if offer is not None:
                guesses[name] = offer.epsilon * offer.error.value / target_error
        of_models = ([name for name in self._table.names if self._table.model_of(name) is each] for each in TrustModel)
        first_names = {min(names_of_model, key=guesses.__getitem__) for names_of_model in of_models if names_of_model}
        return (
            sorted(self._table.names, key=lambda name: (name not in first_names, costs[name])),
            costs,
            frozenset(first_names),
        )

    def _people_of(self, variants_at_price: Sequence[PlannedVariant]) -> list[PlannedVariant]:
        """Return how many people variants take for the error at the price; by trials, those that cost least alone."""
        tried_variants = (
            _best_of(variants_at_price, "error")
            if self._table.needs_values
            else [each for each in variants_at_price if each.is_met]
        )
        tried_names = {each.name for each in tried_variants}
        variants_found: list[PlannedVariant] = []
        self.clock.expect(dict.fromkeys(tried_names, 1.0), to=_DONE_BEFORE_OPTIONS)
        for each in variants_at_price:
            people, offer, is_tried = None, each.offered, each.is_tried
            if each.name in tried_names:
                self.clock.begin(each.name, f"the number of people of {each.name}")
                result, is_tried = self.search_in_time(self.people_for, self._table, each.name, self._aim, self.price)
                people, offer = result or (None, offer)
            variants_found.append(self._make_planned(each.name, offer, people, is_tried=is_tried))
        if not any(each.is_met for each in variants_found):
            self._check_time([each for each in variants_found if each.name in tried_names])
            no_number = f"and no number of people is known to bring it at ε = {self.price:g}"
            raise self._refuse_plan(f"{self._best_to_be_had(variants_at_price)}; {no_number}")
        return variants_found

    def _best_to_be_had(self, variants_found: Sequence[PlannedVariant]) -> str:
        """Return what is the least error of all prices, as an error says it."""
        table, offers = self._table, [(offer, each.name) for each in variants_found for offer in each.curve]
        if not offers:
            return "an error of a variant: none can have any price here"
        least_offer, name = min(offers, key=lambda each: each[0].quoted)
        least_text = table.unit.short(round_up(share_of(table, least_offer), 3))
        people_text = pluralize(table.people, table.resolved.protocol.client_role)
        return (
            f"at least {least_text}, the best that {people_text} can have: by {name}, at ε = {least_offer.epsilon:.3g}"
        )

    def with_curves(
        self, variants_found: Sequence[PlannedVariant], chosen_variants: Sequence[PlannedVariant]
    ) -> list[PlannedVariant]:
        """Return variants with what they offer at prices around those that are chosen."""
        prices = [each.epsilon for each in chosen_variants]
        if self._table.needs_values:
            self.search_in_time(self._try_around, [each for each in variants_found if each.is_tried], {*prices})
        for each in () if self._table.needs_values else variants_found:
            for power in range(-_HALVES, _HALVES + 1):
                for price in (min(prices), max(prices)):
                    self._table.at(each.name, price * 2.0 ** (power / 2))
        return [msgspec.structs.replace(each, curve=tuple(self._table.curve(each.name))) for each in variants_found]

    def _try_around(self, tried_variants: Sequence[PlannedVariant], prices: Iterable[float]) -> None:
        """Have a few trials of each variant beside the prices that are chosen."""
        self.clock.allow(1.0)
        self.clock.expect({each.name: 1.0 for each in tried_variants}, to=1.0)
        for each in tried_variants:
            self.clock.begin(each.name, f"the curve of {each.name}")
            for power in _PRICES_OF_TRIALS:
                for price in prices:
                    self.at(self._table, each.name, price * 2.0**power, aim=math.inf)

    # What else could be done.

    def options(self, variants_found: Sequence[PlannedVariant]) -> list[PlannedVariant]:
        """Return how an error costs less, becomes less, or takes fewer people."""
        quantity, aim, price = self._sought, self._aim, self.price
        first, *other_variants = _best_of(variants_found, quantity)
        done_then = _DONE_BEFORE_CURVES if self._has_curves else 1.0
        self.clock.allow(done_then)
        self.clock.expect({_MORE_PEOPLE: 1.0, _PAY_MORE: 1.0, _MORE_ERROR: 1.0}, to=done_then)  # two of them
        options: list[PlannedVariant] = []
        if quantity == "epsilon":
            for part in (2,) if self._table.needs_values else (2, 4):
                options += self._with_people(_MORE_PEOPLE, first.name, aim, round_up(first.epsilon / part, 2))
        elif quantity == "people":
            options += self._cheapest(_PAY_MORE, self._table, first, aim)
        elif first.share:
            options += self._with_people(_MORE_PEOPLE, first.name, first.share / 2, price)
            options += self._cheapest(_PAY_MORE, self._table, first, first.share / 2)
        trust = f"trust the {self._table.resolved.protocol.server_role.replace('-', ' ')}"
        for each in other_variants:
            options.append(msgspec.structs.replace(each, do=trust if each.model.trusts_server else _MASK, curve=()))
        if quantity == "epsilon":
            options += self._cheapest(_MORE_ERROR, self._table, first, 2 * aim)
        elif quantity == "people":
            options += self._with_people(_MORE_ERROR, first.name, 2 * aim, price)
        for do, table in self._table.simplify().items():
            options += self._search_simpler(do, table, first)
        return [each for each in options if each.sought(quantity) < first.sought(quantity)]

    def _search_simpler(self, do: str, table: VariantTable, first: PlannedVariant) -> list[PlannedVariant]:
        """Return what is sought of a session that asks for less, without more trust; nothing where none is known."""
        if self._sought == "epsilon":
            return self._cheapest(do, table, first, self._aim)
        variants_found: list[PlannedVariant] = []
        for name in self._like(table, first):
            if self._sought == "error":
                offer, _ = self.search_in_time(self.at, table, name, self.price)
                variants_found.append(self._make_planned(name, offer, table.people, table=table, do=do))
            elif not table.needs_values:
                people, offer = self.people_for(table, name, self._aim, self.price)
                table_of_people = table if people is None else table.with_people(people)
                variants_found.append(self._make_planned(name, offer, people, table=table_of_people, do=do))
        return _best_option(variants_found, self._sought)

    def _with_people(self, do: str, name: str, aim: float, price: float) -> list[PlannedVariant]:
        """Return an error at a price, for as many people as that takes; nothing where no number is known."""
        if self._table.needs_values and self._table.people > _MOST_TRIED:
            return []
        self.clock.begin(do, f"the number of people of {name} at ε = {price:g}")
        try:
            result, _ = self.search_in_time(self.people_for, self._table, name, aim, price)
        except ConfigurationError:  # nobody knows who others would be
            return []
        people, offer = result or (None, None)
        return [self._make_planned(name, offer, people, do=do)] if people is not None and offer is not None else []

    def _cheapest(self, do: str, table: VariantTable, first: PlannedVariant, aim: float) -> list[PlannedVariant]:
        """Return the least price of an error without more trust; nothing where no price is known."""
        self.clock.begin(do, f"what it costs to {do}")
        variants_found: list[PlannedVariant] = []
        for name in [first.name] if table.needs_values else self._like(table, first):
            offer, _ = self.search_in_time(self.price_for, table, name, aim)
            variants_found.append(self._make_planned(name, offer, table.people, table=table, do=do))
        return _best_option(variants_found, "epsilon")

    def _like(self, table: VariantTable, first: PlannedVariant) -> list[str]:
        """Return the variants of a table that trust as few as another one."""
        return [name for name in table.names if table.model_of(name) is first.model]
