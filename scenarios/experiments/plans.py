"""Error, ε and number of people: from two of them the third, for each variant and model of trust of a session.

A plan is `variants` seen from the other side: the same variants and the same errors, exact where there is a formula and
else by trials of made-up parties. An aim is a share (`variants.Unit`), which stays the same for more people.

Trials are dear where parties are many, so that a search by trials guesses what suffices from how errors fall (about as
1/ε, and with the root of the number of people), has few trials where these already tell the side of the aim, and ends
after a time that its caller sets. Of each model of trust the variant that seems to cost least is searched first. The
others follow, those that take least time first, and leave some of it for what else could be done. A variant for which
there is no time is said to be untried, with a price that is known to be too little.

The rules that hold here: ε is what a variant is proven to cost one party, of all that it says; a price that is named is
rounded up, and the error beside it is the one at that price; and what no price brings is an error, which says the best
that can be had.
"""

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from ...protocol.errors import ConfigurationError
from ...protocol.privacy import TrustModel
from ..running.config import Scenario
from ..running.progress import OnStep
from .searches import SearchClock
from .variant_searches import VariantSearch, rounded_up, share_of
from .variants import Offered, Unit, VariantTable, table_of, variants_of

__all__ = ["TRIALS", "Option", "Plan", "Planned", "Sought", "make_plan", "make_table"]

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
_MORE_ERROR: Final = "accept twice the error"
_MOST_TRIED: Final = 1_000
"""Of more people than these, trials with more still are run where their number is asked for, and not as an option."""


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """One variant in a plan.

    Args:
        name: the variant's.
        model: whom it trusts.
        offered: at the plan's ε, or at the least that brings the plan's error; None where it has none.
        people: for whom that is; None where no number of them is known to suffice.
        is_tried: False where the time was over before it was found.
        too_little: then a price that is known not to bring the error that is wanted; 0 where none is.
        share: the error of what is offered to so many, as a share.
        standard_error: of the share, where it is found by trials.
        curve: what it offers at other prices to those who are there, the least price first.
    """

    name: str
    model: TrustModel
    offered: Offered | None
    people: int | None
    is_tried: bool = True
    too_little: float = 0.0
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
        is_cut: whether the time was over before all was tried.
    """

    sought: Sought
    aim: float | None
    epsilon: float | None
    people: int
    unit: Unit
    variants: tuple[Planned, ...]
    options: tuple[Option, ...]
    is_cut: bool = False

    @property
    def best(self) -> tuple[Planned, ...]:
        """The best variant of each model of trust that brings what is wanted; first where nobody is trusted."""
        return tuple(_best_of(self.variants, self.sought))


def _best_of(variants: Sequence[Planned], sought: Sought) -> list[Planned]:
    """Return the best variant of each model of trust."""
    found: list[Planned] = []
    for model in TrustModel:
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
    if epsilon is not None and not 0 < epsilon < math.inf:
        raise ConfigurationError(field="--epsilon", value=epsilon, allowed="above 0, and finite")
    aim = None if error is None else table.unit.share_in(error)
    sought: Sought = "error" if aim is None else "people" if epsilon is not None else "epsilon"
    search = _Search(table, SearchClock(tell, seconds), has_curves=has_curves)
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
        is_cut=search.is_cut,
    )


class _Search:
    """Looks for prices, errors and numbers of people, over all variants, and for what else could be done."""

    def __init__(self, table: VariantTable, clock: SearchClock, *, has_curves: bool) -> None:
        self._table = table
        self._has_curves = has_curves
        self._clock = clock
        self._search = VariantSearch(table, clock)

    def _planned(self, name: str, offered: Offered | None, people: int | None, *, is_tried: bool = True) -> Planned:
        whole = self._table.unit.whole if people is None else self._table.of_people(people).unit.whole
        return Planned(
            name=name,
            model=self._table.model_of(name),
            offered=offered,
            people=people,
            is_tried=is_tried,
            share=0.0 if offered is None else offered.error.value / whole,
            standard_error=0.0 if offered is None else offered.error.standard_error / whole,
            curve=tuple(self._table.curve(name)),
        )

    @property
    def is_cut(self) -> bool:
        """Whether there was no time for something."""
        return self._search.is_cut

    # What is sought.

    def at(self, price: float, *, to: float = _DONE_BEFORE_OPTIONS) -> list[Planned]:
        """Return what variants offer at a price; the work so far is then done to a share."""
        found: list[Planned] = []
        self._clock.expect(dict.fromkeys(self._table.names, 1.0), to=to)
        for name in self._table.names:
            self._clock.begin(name, f"{name} at ε = {price:.4g}")
            offered, is_tried = self._search.in_time(functools.partial(self._search.at, self._table, name, price), None)
            if self._has_curves and not self._search.is_by_trials:
                self._search.grid(self._table, name, price)
            found.append(self._planned(name, offered, self._table.people, is_tried=is_tried))
        if not any(each.is_met for each in found):
            self._check_time(found)
            offers = [self._search.prices_of(each.name, self._table.price) for each in found]
            prices = [offered.epsilon for offered in itertools.chain(*offers)]
            such = f", such as any from about {min(prices):.2g} to {max(prices):.2g}" if prices else ""
            raise ConfigurationError(
                field="--epsilon", value=price, allowed=f"an ε in all that a variant can have{such}"
            )
        return found

    def _check_time(self, found: Sequence[Planned]) -> None:
        """Raise ConfigurationError where nothing was found since the time was over."""
        if found and not all(each.is_tried for each in found):
            allowed = "more: no variant's errors were found by then. Fewer --trials are quicker as well"
            raise ConfigurationError(field="--minutes", value="over", allowed=allowed)

    def for_error(self, aim: float) -> list[Planned]:
        """Return what variants cost for an error; by trials, first those that seem to cost least."""
        names, costs = list(self._table.names), dict.fromkeys(self._table.names, 1.0)
        leading = frozenset[str]()
        if self._search.is_by_trials:
            names, costs, leading = self._looked_at(aim)
        self._clock.expect(costs, to=_DONE_BEFORE_OPTIONS)
        found: dict[str, Planned] = {}
        for name in names:
            self._clock.allow(1.0 if name in leading else _DONE_BEFORE_OPTIONS)
            self._clock.begin(name, f"the ε of {name}")
            search = functools.partial(self._search.price_for, self._table, name, aim)
            if self._search.is_by_trials and name not in leading:
                search = functools.partial(self._search.if_it_ends, search, costs[name])
            offered, is_tried = self._search.in_time(search, None)
            planned = self._planned(name, offered, self._table.people, is_tried=is_tried)
            too_little = 0.0 if is_tried else self._too_little(name, aim)
            found[name] = msgspec.structs.replace(planned, too_little=too_little)
        ordered = [found[name] for name in self._table.names]
        if not any(each.is_met for each in ordered):
            self._check_time(ordered)
            raise ConfigurationError(
                field="--error", value=f"{100 * aim:.4g} %", allowed=self._best_to_be_had(self._table, ordered)
            )
        return ordered

    def _too_little(self, name: str, aim: float) -> float:
        """Return the greatest price at which a variant is known to err by more; 0 where there is none."""
        aimed = aim * self._table.unit.whole
        tried = ((each.epsilon, each.error) for each in self._table.curve(name))
        known = [epsilon for epsilon, error in tried if error.value - aimed > _SURE * error.standard_error > 0]
        return max(known, default=0.0)

    def _looked_at(self, aim: float) -> tuple[list[str], dict[str, float], frozenset[str]]:
        """Return the variants, how many seconds each takes, and which lead, all by a first look at each.

        Of each model of trust that one leads, and comes first, which seems to cost least; then those that take least
        time come first.
        """
        guesses, costs = dict.fromkeys(self._table.names, math.inf), dict.fromkeys(self._table.names, 1.0)
        aimed = aim * self._table.unit.whole
        self._clock.expect(costs, to=_DONE_BY_FIRST_LOOKS)
        for name in self._table.names:
            began = self._clock.begin(name, f"a first look at {name}")
            look = functools.partial(self._search.at, self._table, name, self._table.price, aim=aimed)
            offered, _ = self._search.in_time(look, None)
            costs[name] = _LOOKS * max(self._clock.since(began), 1e-3)
            if offered is not None:
                guesses[name] = offered.epsilon * offered.error.value / aimed
        leading: set[str] = set()
        for model in TrustModel:
            alike = [name for name in self._table.names if self._table.model_of(name) is model]
            leading |= {min(alike, key=guesses.__getitem__)} if alike else set()
        return sorted(self._table.names, key=lambda name: (name not in leading, costs[name])), costs, frozenset(leading)

    def people_for(self, aim: float, price: float) -> list[Planned]:
        """Return how many people variants take for an error at a price; by trials, those that cost least alone."""
        at = self.at(price, to=_DONE_BEFORE_OPTIONS / 2)
        wanted = {each.name for each in at if each.is_met}
        if self._search.is_by_trials:
            wanted = {each.name for each in _best_of(at, "error")}
        found: list[Planned] = []
        self._clock.expect(dict.fromkeys(wanted, 1.0), to=_DONE_BEFORE_OPTIONS)
        for each in at:
            people, offered, is_tried = None, each.offered, each.is_tried
            if each.name in wanted:
                self._clock.begin(each.name, f"the number of people of {each.name}")
                search = functools.partial(self._search.people_for, self._table, each.name, aim, price)
                (people, offered), is_tried = self._search.in_time(search, (None, offered))
            found.append(self._planned(each.name, offered, people, is_tried=is_tried))
        if not any(each.is_met for each in found):
            self._check_time([each for each in found if each.name in wanted])
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
        share = share_of(table, least)
        role = table.resolved.protocol.client_role
        written = table.unit.short(share, standard_error=least.error.standard_error)
        whom = f"{table.people:,} {role}s"
        return f"at least {written}, the best that {whom} can have: by {name}, at ε = {least.epsilon:.3g}"

    def with_curves(self, found: Sequence[Planned], chosen: Sequence[Planned]) -> list[Planned]:
        """Return variants with what they offer at prices around those that are chosen."""
        prices = [each.offered.epsilon for each in chosen if each.offered is not None]
        if self._search.is_by_trials:
            self._search.in_time(functools.partial(self._try_around, found, chosen), None)
        for each in () if self._search.is_by_trials else found:
            for power in range(-_HALVES, _HALVES + 1):
                for price in (min(prices), max(prices)):
                    self._table.at(each.name, price * 2.0 ** (power / 2))
        return [msgspec.structs.replace(each, curve=tuple(self._table.curve(each.name))) for each in found]

    def _try_around(self, found: Sequence[Planned], chosen: Sequence[Planned]) -> None:
        """Have a few trials of each variant beside the prices that are chosen."""
        self._clock.allow(1.0)
        tried = [each for each in found if each.is_tried]
        self._clock.expect({each.name: 1.0 for each in tried}, to=1.0)
        for each in tried:
            self._clock.begin(each.name, f"the curve of {each.name}")
            for power in _PRICES_OF_TRIALS:
                for price in {best.offered.epsilon for best in chosen if best.offered is not None}:
                    self._search.at(self._table, each.name, price * 2.0**power, aim=math.inf)

    # What else could be done.

    def _expect_options(self) -> None:
        """Have the bar count on what else could be done: two searches."""
        done_then = _DONE_BEFORE_CURVES if self._has_curves else 1.0
        self._clock.allow(done_then)
        self._clock.expect({_MORE_PEOPLE: 1.0, "pay more": 1.0, _MORE_ERROR: 1.0}, to=done_then)

    def options_for_error(self, aim: float, found: Sequence[Planned]) -> list[Option]:
        """Return how an error costs less."""
        first, *others = _best_of(found, "epsilon")
        self._expect_options()
        assert first.offered is not None  # noqa: S101  it is met
        paid = first.offered.epsilon
        options: list[Option] = []
        for part in (2,) if self._search.is_by_trials else (2, 4):
            options += self._with_people(_MORE_PEOPLE, first.name, aim, rounded_up(paid / part, 2))
        options += [self._option(_trust(self._table), each.name, each.offered, self._table) for each in others]
        options += self._cheapest(_MORE_ERROR, self._table, first, 2 * aim)
        for do, table in self._table.coarser().items():
            options += self._cheapest(do, table, first, aim)
        return [each for each in options if each.epsilon < paid]

    def options_at(self, price: float, found: Sequence[Planned]) -> list[Option]:
        """Return how an error becomes less than it is at a price."""
        first, *others = _best_of(found, "error")
        self._expect_options()
        assert first.offered is not None  # noqa: S101  it is met
        share = first.share
        options: list[Option] = []
        if share:
            options += self._with_people(_MORE_PEOPLE, first.name, share / 2, price)
            options += self._cheapest("pay more", self._table, first, share / 2)
        options += [self._option(_trust(self._table), each.name, each.offered, self._table) for each in others]
        for do, table in self._table.coarser().items():
            offers = [
                (name, self._search.in_time(functools.partial(self._search.at, table, name, price), None)[0])
                for name in self._like(table, first)
            ]
            known = [(offered, name) for name, offered in offers if offered is not None]
            if known:
                offered, name = min(known, key=lambda each: each[0].error.value)
                options.append(self._option(do, name, offered, table))
        return [each for each in options if each.share < share]

    def options_for_people(self, aim: float, price: float, found: Sequence[Planned]) -> list[Option]:
        """Return how fewer people are enough for an error."""
        first, *others = _best_of(found, "people")
        self._expect_options()
        options: list[Option] = []
        options += self._cheapest("pay more", self._table, first, aim)
        for each in others:
            if each.people is not None and each.offered is not None:
                own = self._table.of_people(each.people)
                options.append(self._option(_trust(self._table), each.name, each.offered, own))
        options += self._with_people(_MORE_ERROR, first.name, 2 * aim, price)
        for do, table in () if self._search.is_by_trials else self._table.coarser().items():
            numbers = [(self._search.people_for(table, name, aim, price), name) for name in self._like(table, first)]
            known = [(people, name, offered) for (people, offered), name in numbers if people and offered is not None]
            if known:
                people, name, offered = min(known, key=lambda each: each[0])
                options.append(self._option(do, name, offered, table.of_people(people)))
        most = first.people or math.inf
        return [each for each in options if each.people < most]

    def _option(self, do: str, name: str, offered: Offered | None, table: VariantTable) -> Option:
        assert offered is not None  # noqa: S101  it is met
        share = share_of(table, offered)
        error = offered.error.standard_error / table.unit.whole
        return Option(do=do, name=name, epsilon=offered.epsilon, share=share, people=table.people, standard_error=error)

    def _with_people(self, do: str, name: str, aim: float, price: float) -> list[Option]:
        """Return an error at a price, for as many people as that takes; nothing where no number is known."""
        if self._search.is_by_trials and self._table.people > _MOST_TRIED:
            return []
        self._clock.begin(do, f"the number of people of {name} at ε = {price:g}")
        try:
            search = functools.partial(self._search.people_for, self._table, name, aim, price)
            (people, offered), _ = self._search.in_time(search, (None, None))
            if people is None or offered is None:
                return []
            return [self._option(do, name, offered, self._table.of_people(people))]
        except ConfigurationError:  # nobody knows who others would be
            return []

    def _cheapest(self, do: str, table: VariantTable, first: Planned, aim: float) -> list[Option]:
        """Return the least price of an error without more trust; nothing where no price is known."""
        names = [first.name] if self._search.is_by_trials else self._like(table, first)
        self._clock.begin(do, f"what it costs to {do}")
        found: list[tuple[Offered, str]] = []
        for name in names:
            offered, _ = self._search.in_time(functools.partial(self._search.price_for, table, name, aim), None)
            if offered is not None:
                found.append((offered, name))
        if not found:
            return []
        offered, name = min(found, key=lambda each: each[0].epsilon)
        return [self._option(do, name, offered, table)]

    def _like(self, table: VariantTable, first: Planned) -> list[str]:
        """Return the variants of a table that trust as few as another one."""
        return [name for name in table.names if table.model_of(name) is first.model]


def _trust(table: VariantTable) -> str:
    return f"trust the {table.resolved.protocol.server_role.replace('-', ' ')}"
