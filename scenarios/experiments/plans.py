"""Plan a session: from two of error, ε and number of people find the third, for each variant and trust model.

A plan inverts the comparison in `variants`, with the same variants and errors: exact if there is a formula, else from
trials of synthetic parties. The aimed error is a fraction (`variants.Unit`), which does not change with the number of
people.

Trials of many parties are slow. So a search by trials extrapolates from how errors decrease (about as 1/ε, and with the
square root of the number of people), runs few trials if these already show on which side of the aim the error is, and
ends after the caller's time limit. In each trust model, the variant that seems to need the least ε is searched first.
The others follow in the order of their running time, and leave time for further options. A variant that was not reached
is reported as untried, with an ε that is known to be too small.

The rules of `variant_searches` apply. If no ε reaches the aim, an error states the least error that can be reached.
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
"""Number of trials of a variant at one ε, if its error is found by trials."""

Sought: TypeAlias = Literal["epsilon", "error", "people"]
"""The quantity that is computed from the other two."""

_PRICES_OF_TRIALS: Final = (-2, -1, 1, 2)
"""Powers of 2 by which a chosen ε is multiplied, for a picture by trials."""
_HALVES: Final = 8
"""Steps by a factor √2 on either side of an ε, for a picture."""
_LOOKS: Final = 20.0
"""Time of a whole search in units of a first look, by experience; for the progress bar and the schedule."""
_SURE: Final = 4.0
"""Standard errors by which an error must exceed the aim for an ε to be called too small."""
_DONE_BY_FIRST_LOOKS: Final = 0.1
"""Fraction of the progress bar for first looks, by experience."""
_DONE_BEFORE_OPTIONS: Final = 0.8
_DONE_BEFORE_CURVES: Final = 0.9
_MORE_PEOPLE: Final = "ask more people"
_MASK: Final = "let sums be masked"
_PAY_MORE: Final = "pay more"
_MORE_ERROR: Final = "accept twice the error"
_MOST_TRIED: Final = 1_000
"""Above this number of people, trials with more people are run only if their number is sought, not as an option."""


class PlannedVariant(msgspec.Struct, frozen=True, kw_only=True):
    """One variant in a plan, or an option to change the session.

    Args:
        name: the variant's name.
        model: its trust model.
        offered: the offer at the plan's ε, or at the least ε that reaches the plan's error; None if there is none.
        people: number of people of the offer; None if no number is known to suffice.
        is_tried: False if the time ended before the offer was found.
        too_little: in that case an ε that is known not to reach the aim; 0 if there is none.
        share: the offer's error as a fraction; if trials found it, its upper 99 % confidence limit.
        standard_error: standard error of the error, if trials found it.
        curve: its offers at other values of ε for the scenario's people, by increasing ε.
        do: for an option, what to change, as an imperative.

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
        """Whether it reaches the aim."""
        return self.offered is not None and self.people is not None

    @property
    def epsilon(self) -> float:
        """Its proven ε; infinite without an offer."""
        return math.inf if self.offered is None else self.offered.epsilon

    def sought(self, quantity: Sought) -> float:
        """Return the quantity that the best variant minimizes: ε, error or people; infinite if it is not met."""
        number_of = {"epsilon": self.epsilon, "error": self.share, "people": self.people or math.inf}
        return number_of[quantity] if self.is_met else math.inf


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A plan of a session: variants that reach an aim, and further options.

    Args:
        sought: the quantity that follows from the other two.
        aim: the aimed error, as a fraction; None if it is sought.
        epsilon: the given ε; None if it is sought.
        people: number of people.
        unit: the unit of the error.
        variants: all variants of the session, in order.
        options: known options to change the session.
        is_cut: whether the time ended before everything was tried.
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
        """The best variant of each trust model that reaches the aim; the local model first."""
        return tuple(_best_of(self.variants, self.sought))


def _best_of(variants: Sequence[PlannedVariant], quantity: Sought) -> list[PlannedVariant]:
    """Return the best variant of each trust model."""
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
    """Return the table of variants of a scenario, without adversaries and network faults.

    Args:
        people: number of people; by default the scenario's.
        trials: number of trials of each variant at each ε, if errors are found by trials.

    Raises:
        ConfigurationError: a value of the scenario is not allowed, its protocol has no variants, or the number of
            people is not possible.
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
        table: the session's variants, for its number of people.
        error: the aimed error, as a fraction, or as a number ≥ 1 if the table's unit has a noun.
        epsilon: the given ε; by default the session's if no error is given. With error and ε, people are sought.
        has_curves: whether to compute offers at more values of ε, for a picture.
        seconds: time after which no trial starts; the plan has what was found by then.
        tell: called when a search starts, and between trials, with a text and the fraction of work done.

    Raises:
        ConfigurationError: an argument is out of range; no variant reaches the aim (the message has the least reachable
            error); or none was found in time.
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
    """Searches ε, errors and numbers of people over all variants, and options."""

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

    # The sought quantity.

    def variants(self) -> list[PlannedVariant]:
        """Return each variant with the sought quantity.

        Raises:
            ConfigurationError: no variant reaches the aim, or none was found in time.
        """
        if self._sought == "epsilon":
            return self._search_error()
        variants_at_price = self._search_price(to=_DONE_BEFORE_OPTIONS / (1 if self._sought == "error" else 2))
        return variants_at_price if self._sought == "error" else self._people_of(variants_at_price)

    def _search_price(self, *, to: float) -> list[PlannedVariant]:
        """Return each variant's offer at the given ε; `to` is the fraction of all work that is done afterwards."""
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
        """Raise ConfigurationError if the time ended before anything was found."""
        allowed = "more: no variant's errors were found by then. Fewer --trials are quicker as well"
        refuse(variants_found and not all(each.is_tried for each in variants_found), "--minutes", "over", allowed)

    def _search_error(self) -> list[PlannedVariant]:
        """Return the ε that each variant needs for the error; by trials, the most promising variants first."""
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
        """Return the greatest ε at which a variant's error is known to exceed the aim; 0 if there is none."""
        target_error = self._aim * self._table.unit.whole
        curve_points = ((each.epsilon, each.error) for each in self._table.curve(name))
        known_epsilons = [
            epsilon for epsilon, error in curve_points if error.value - target_error > _SURE * error.standard_error > 0
        ]
        return max(known_epsilons, default=0.0)

    def _look_at(self) -> tuple[list[str], dict[str, float], frozenset[str]]:
        """Return the variants in order, their estimated seconds, and the leading ones, by a first look at each.

        The leading variant of each trust model, which seems to need the least ε, comes first. The others follow by
        increasing time.
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
        """Return variants with the people needed for the error at the ε; by trials, only the best variants."""
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
        """Return the least reachable error over all ε, in the words of an error message."""
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
        """Return variants with offers at values of ε around the chosen ones."""
        prices = [each.epsilon for each in chosen_variants]
        if self._table.needs_values:
            self.search_in_time(self._try_around, [each for each in variants_found if each.is_tried], {*prices})
        for each in () if self._table.needs_values else variants_found:
            for power in range(-_HALVES, _HALVES + 1):
                for price in (min(prices), max(prices)):
                    self._table.at(each.name, price * 2.0 ** (power / 2))
        return [msgspec.structs.replace(each, curve=tuple(self._table.curve(each.name))) for each in variants_found]

    def _try_around(self, tried_variants: Sequence[PlannedVariant], prices: Iterable[float]) -> None:
        """Run a few trials of each variant near the chosen values of ε."""
        self.clock.allow(1.0)
        self.clock.expect({each.name: 1.0 for each in tried_variants}, to=1.0)
        for each in tried_variants:
            self.clock.begin(each.name, f"the curve of {each.name}")
            for power in _PRICES_OF_TRIALS:
                for price in prices:
                    self.at(self._table, each.name, price * 2.0**power, aim=math.inf)

    # Further options.

    def options(self, variants_found: Sequence[PlannedVariant]) -> list[PlannedVariant]:
        """Return options by which an error needs less ε, becomes smaller, or needs fewer people."""
        quantity, aim, price = self._sought, self._aim, self.price
        first, *other_variants = _best_of(variants_found, quantity)
        done_then = _DONE_BEFORE_CURVES if self._has_curves else 1.0
        self.clock.allow(done_then)
        self.clock.expect({_MORE_PEOPLE: 1.0, _PAY_MORE: 1.0, _MORE_ERROR: 1.0}, to=done_then)  # two of the three apply
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
        """Return options from simpler sessions in the same trust model; none if none is known."""
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
        """Return the option of more people for an error at an ε; none if no number is known to suffice."""
        if self._table.needs_values and self._table.people > _MOST_TRIED:
            return []
        self.clock.begin(do, f"the number of people of {name} at ε = {price:g}")
        try:
            result, _ = self.search_in_time(self.people_for, self._table, name, aim, price)
        except ConfigurationError:  # no further parties can be generated
            return []
        people, offer = result or (None, None)
        return [self._make_planned(name, offer, people, do=do)] if people is not None and offer is not None else []

    def _cheapest(self, do: str, table: VariantTable, first: PlannedVariant, aim: float) -> list[PlannedVariant]:
        """Return the option of the least ε for an error in the same trust model; none if no ε is known to suffice."""
        self.clock.begin(do, f"what it costs to {do}")
        variants_found: list[PlannedVariant] = []
        for name in [first.name] if table.needs_values else self._like(table, first):
            offer, _ = self.search_in_time(self.price_for, table, name, aim)
            variants_found.append(self._make_planned(name, offer, table.people, table=table, do=do))
        return _best_option(variants_found, "epsilon")

    def _like(self, table: VariantTable, first: PlannedVariant) -> list[str]:
        """Return the table's variants in another variant's trust model."""
        return [name for name in table.names if table.model_of(name) is first.model]
