"""What the variants of a session offer at a price, and what each costs for a wanted error.

`psephos variants` compares them at the session's price; `psephos plan` asks from the other side (`plans`). A system
brings a `VariantTable` (its part `variants`). Every variant has the session's price: the proven loss of one party, of
all that it says, in replace-one neighbors unless the session has others. The error is in the system's own unit: exact
where there is a formula, else by trials of the same parties (`SimulatedVariants`), with its standard error. Variants
are tried with equal seeds and trial numbers, so that they share their luck.

A price for a wanted error is found by bisection, which takes for granted that more ε never makes the error larger. By
trials it is as sure as the error that is printed beside it.
"""

import abc
import copy
import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, Self

import msgspec
from msgspec import UNSET
from scipy.special import stdtrit

from ...protocol.errors import ConfigurationError, require
from ...protocol.masking import LEAST_FOR_CIRCLE
from ...protocol.phases import PhasedProtocol
from ...protocol.privacy import PrivacyLoss, TrustModel, total_of
from ..presentation.numbers import decimals_of, format_number
from ..running.config import Scenario
from ..running.progress import OnStep
from ..running.resolution import Local, Resolved, resolve, resolve_served
from ..tables import snapped
from .counting import CountedValues
from .measured import MeasuredCell, TrialCell
from .measurements import Measurement
from .summaries import MeasureSummary
from .trials import prepare, run_trials

OF_MASKS: Final = (
    "masked: the server learns a noisy sum alone, if as many take part and as few are with it as the session says; "
    "where more than 1,000 have to take part, if it is semi-honest, too"
)
SIZES: Final = ("threshold", "colluders")
"""The parameters that only masked sessions have."""
_LEAVING: Final = 10  # of so many one may leave, and one be with the server, unless the session says how many
REACH: Final = 1024.0
"""Prices are looked for up to so many times the session's, and down to such a part of it."""
_STEPS: Final = 12  # of a bisection over so wide a range: it ends within half a percent
MOST_PEOPLE: Final = 1_000_000_000
_STEPS_OF_PARAMETER: Final = 60
_FIRST_TRIALS: Final = 8  # of a variant at a price that may be far from an aim; where they do not tell, there are more
_TIMES_TRIALS: Final = 3
_CLEAR: Final = 4.0  # standard errors between an error and an aim, beyond which more trials would not change the side
_CONFIDENCE: Final = 0.99
"""Of an error's upper limit."""
_NEAR: Final = 1 + 1e-9  # rounding of a price


class VariantOffer(msgspec.Struct, frozen=True, kw_only=True):
    """What a variant offers at a price.

    Args:
        name: the variant's.
        epsilon: the proven loss of one party, of all that it says.
        error: in the table's unit; its standard error is 0 where it is exact.
        settings: the parameters that make a session this variant; None for such as are left out then.
        cells: what stands in the table's columns, by header.
        at_most: the upper confidence limit of an error that trials found; None of an exact one.

    Examples:
        >>> from psephos.scenarios.experiments.measurements import Measurement
        >>> VariantOffer(name="joint", epsilon=1.0, error=Measurement(0.05, 0.0)).quoted
        0.05
    """

    name: str
    epsilon: float
    error: Measurement
    at_most: float | None = None
    settings: Mapping[str, Any] = {}
    cells: Mapping[str, str] = {}

    @property
    def quoted(self) -> float:
        """The error that can be counted on: where trials found it, its upper confidence limit."""
        return self.error.value if self.at_most is None else self.at_most


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """What people think of an error in: a share of something whole, and maybe a number.

    Args:
        of: what the share is of, as words that follow it.
        whole: a share of 1 in the table's own numbers.
        noun: what is counted; empty where the error is a share and nothing else.
        sign: stands before an error that is on either side: one standard error.
        explained: what the reader has to know of it, as sentences.

    Examples:
        >>> votes = Unit(of="of all votes", whole=200, noun="votes")
        >>> votes.long(0.05), votes.share_in(10)
        ('± 5 % of all votes (10 votes)', 0.05)
    """

    of: str
    whole: float = 1.0
    noun: str = ""
    sign: str = "± "
    explained: str = ""

    def share_in(self, error: float) -> float:
        """Return an error that somebody names as a share: below 1 it is one, from 1 on it is a number.

        Raises:
            ConfigurationError: it is none of these.
        """
        if 0 < error < 1:
            return error
        if self.noun and 1 <= error < math.inf:
            return error / self.whole
        allowed = "above 0 and below 1: a share, as 0.05 or 5%"
        if self.noun:
            allowed = f"a share above 0 and below 1, as 0.05 or 5%, or from 1 on a number of {self.noun}"
        raise ConfigurationError(field="--error", value=error, allowed=allowed)

    def short(self, share: float, *, standard_error: float = 0.0) -> str:
        """Return an error for a table: in percent, with its own where trials found it, and the number behind it."""
        if standard_error:
            decimals = max(decimals_of([100 * share], [100 * standard_error]) - 1, 1)  # one digit of the error will do
            return f"{100 * share:.{decimals}f} ± {100 * standard_error:.{decimals}f} %"
        return f"{self.sign}{format_number(100 * share)} %{self._number(share)}"

    def long(self, share: float) -> str:
        """Return an error with all of its words."""
        return f"{self.sign}{format_number(100 * share)} % {self.of}{self._number(share)}"

    def _number(self, share: float) -> str:
        number = format_number(share * self.whole)
        return f" ({number} {self.noun.removesuffix('s') if number == '1' else self.noun})" if self.noun else ""


class VariantTable(abc.ABC):
    """The variants of one session.

    Args:
        resolved: the session; with `needs_values`, with its parties' values.
        trials: of each variant, where the error is found by trials.

    Attributes:
        parameters: the session's.
        people: for how many parties errors are told.
        price: the session's.
    """

    needs_values: ClassVar[bool] = False
    """Whether errors are found by trials with the parties' values."""
    mark: ClassVar[str] = ""
    """What is written behind the name of the best variant."""
    dropped: ClassVar[Sequence[str]] = ()
    """The headers that a narrow terminal goes without, the first of them first."""
    error: str
    """What the error is of, in a few words that stand above its column."""

    def __init__(self, setup: Resolved, *, trials: int) -> None:
        self.resolved = setup
        self.parameters: Any = setup.protocol.parameters
        self.trials = trials
        self.people = len(setup.names)
        self._known: dict[tuple[str, float], VariantOffer | None] = {}
        self.price = price_of(setup.protocol)
        allowed = "one whose loss is bounded: no other variant has the same price"
        require(math.isfinite(self.price), "the session", setup.protocol.name, allowed)

    @property
    @abc.abstractmethod
    def names(self) -> Sequence[str]:
        """The variants, in their order."""

    @property
    @abc.abstractmethod
    def unit(self) -> Unit:
        """What people think of this error in."""

    @property
    def counted(self) -> CountedValues | None:
        """Of which values the holders are counted, if another mechanism for that might tell more."""
        return None

    @abc.abstractmethod
    def offer(self, name: str, price: float) -> VariantOffer | None:
        """Return what the variant of this name offers at a price, ε > 0; None where it cannot have that price."""

    def at(
        self, name: str, price: float, *, aim: float | None = None, tell: OnStep | None = None
    ) -> VariantOffer | None:
        """Return `offer`, which is asked once, maybe without what stands in columns.

        Args:
            aim: an error: it is enough to know on which side of it the variant's own is. None for all trials.
            tell: told of each trial, where there are trials; what it raises ends them.
        """
        del aim, tell
        if (name, price) not in self._known:
            self._known[name, price] = self.offer(name, price)
        return self._known[name, price]

    def curve(self, name: str) -> list[VariantOffer]:
        """Return all that was asked of a variant, the least price first."""
        own_offers = [
            offer for (offer_name, _), offer in self._known.items() if offer_name == name and offer is not None
        ]
        return sorted({offer.epsilon: offer for offer in own_offers}.values(), key=lambda offer: offer.epsilon)

    def offers(self, tell: Callable[[str], object] = lambda _: None) -> list[VariantOffer]:
        """Return what the variants offer at the session's price; those that cannot have it are missing.

        As each variant begins, `tell` is called with a line.
        """
        offers: list[VariantOffer] = []
        for name in self.names:
            tell(f"{name} at ε = {self.price:.4g}")
            if (offer := self.offer(name, self.price)) is not None:
                offers.append(offer)
        return offers

    def missing(self, offers: Sequence[VariantOffer]) -> list[str]:
        """Return the names of the variants that offer nothing."""
        return sorted({*self.names} - {offer.name for offer in offers})

    def sizes_of(self, *, is_masked: bool) -> dict[str, Any]:
        """Return T and c for so many people: in the session's proportion, or as usual; None where nothing is masked."""
        own_sizes: dict[str, int] = {
            field: size for field in SIZES if isinstance(size := getattr(self.parameters, field, None), int)
        }
        if not is_masked:
            return dict.fromkeys(own_sizes)
        number = len(self.resolved.names)
        threshold, colluders = own_sizes.values() if own_sizes else (number - number // _LEAVING, number // _LEAVING)
        num_missing = number - threshold
        sizes = (self.people - self.people * num_missing // number, self.people * colluders // number)
        return dict(zip(SIZES, sizes, strict=True))

    def parameters_with(self, settings: Mapping[str, Any]) -> Any:
        """Return the session's parameters with some set anew; T and c are left out where they are None."""
        settings_or_unset = {
            name: UNSET if name in SIZES and value is None else value for name, value in settings.items()
        }
        return msgspec.structs.replace(self.parameters, **settings_or_unset)

    def model_of(self, name: str) -> TrustModel:
        """Return whom a variant trusts."""
        del name
        return TrustModel.LOCAL

    def trusted(self, model: TrustModel, *, people: int | None = None) -> str:
        """Return whom a variant of so many people trusts, by default the table's; see `TrustModel.trusted_party`."""
        of_all = self.changed(people=people or self.people)
        is_sparse = model.is_masked and of_all.sizes_of(is_masked=True)[SIZES[0]] >= LEAST_FOR_CIRCLE
        return model.trusted_party(self.resolved.protocol.server_role, is_sparse=is_sparse)

    def with_people(self, number: int) -> Self:
        """Return the variants of the same session with another number of parties, at least 1.

        Raises:
            ConfigurationError: there cannot be so many, or nobody knows who the others would be.
        """
        require(1 <= number <= MOST_PEOPLE, "--people", number, f"in [1, {MOST_PEOPLE}]")
        return self.changed(people=number)

    def changed(self, **attributes: Any) -> Self:
        """Return this table with other attributes, and nothing asked of it yet."""
        other = copy.copy(self)
        vars(other).update(attributes, _known={})
        return other

    def simplify(self) -> Mapping[str, Self]:
        """Return the variants of sessions that ask for less, by what to do, as an imperative."""
        return {}

    def setup_with(self, settings: Mapping[str, Any]) -> Resolved:
        """Return the session with some parameters set anew, or left out where they are None.

        Raises:
            ConfigurationError: it is not allowed.
        """
        return resolve_served(_with(self.resolved.scenario, settings))

    def losses_of(self, offer: VariantOffer) -> Sequence[PrivacyLoss]:
        """Return what a variant costs one party, phase by phase."""
        settings = dict(offer.settings)
        if isinstance(settings.get(SIZES[0]), int):  # of as many people as there are
            settings |= self.changed(people=len(self.resolved.names)).sizes_of(is_masked=True)
        return self.setup_with(settings).protocol.losses

    def best(self, offers: Sequence[VariantOffer]) -> VariantOffer:
        """Return the best of them."""
        return min(offers, key=lambda offer: offer.error.value)

    def notes(self, offers: Sequence[VariantOffer]) -> Sequence[str]:
        """Return what the reader of the table needs to know."""
        del offers
        return ()


class SimulatedVariants(VariantTable):
    """Variants whose errors are found by trials."""

    needs_values: ClassVar[bool] = True
    mark: ClassVar[str] = " <- fewest"
    is_lack: ClassVar[bool] = False
    """Whether the error is what the measure lacks of 1."""
    of_price: ClassVar[frozenset[str]] = frozenset()
    """The parameters that follow from the price, where hardly any row depends on them: then a variant's parties are
    made anew where `have_equal_rows` says so, and not at each price."""
    measure: str
    """The measure of the system that the error is made of."""

    resolved: Local

    def __init__(self, setup: Local, *, trials: int) -> None:
        super().__init__(setup, trials=trials)
        self._encoded: dict[str, Local] = {}
        self._tried: dict[tuple[str, float], MeasuredCell] = {}

    @abc.abstractmethod
    def settings(self, name: str, price: float) -> Mapping[str, Any] | None:
        """Return the parameters of a variant at a price, None for such as are left out.

        None, or a ConfigurationError, where it cannot have that price.
        """

    def with_epsilon(
        self, settings: Mapping[str, Any], price: float, *, low: float, high: float
    ) -> Mapping[str, Any] | None:
        """Return parameters with the greatest ε, from `low` to `high`, at which a session costs no more than a price.

        The others are given, as the protocol's parameters have them. None where no ε does.
        """

        def proven(parameter: float) -> float:
            try:
                return self.proven({**settings, "epsilon": parameter})
            except ConfigurationError:
                if parameter == high:
                    raise
                return 0.0  # so it is too small for this variant

        epsilon = epsilon_at(price, proven, low=low, high=high)
        return None if epsilon is None else {**settings, "epsilon": epsilon}

    def proven(self, settings: Mapping[str, Any]) -> float:
        """Return what a session costs with other parameters."""
        return price_of(self.resolved.protocol.with_parameters(self.parameters_with(settings)))

    def cells(self, offer: VariantOffer, protocol: PhasedProtocol[Any, Any]) -> dict[str, str]:
        """Return what else stands in the table's columns, before ε and the error, by header."""
        del offer, protocol
        return {}

    def parties_of(self, parties: Mapping[str, Any], number: int) -> Mapping[str, Any] | None:
        """Return the table that makes up so many parties of a scenario's kind; None where that one makes up none."""
        del parties, number
        return None

    def with_people(self, number: int) -> Self:
        """Return the variants of the same session with more made-up parties, or fewer."""
        if number == self.people:
            return self
        super().with_people(number)  # which checks it
        scenario, role = self.resolved.scenario, self.resolved.protocol.client_role
        table = self.parties_of(scenario.parties, number) if isinstance(scenario.parties, Mapping) else None
        if table is None:
            allowed = (
                f"{self.people}: errors are found by trials of these {role}s, and nobody knows who others would be"
            )
            raise ConfigurationError(field="--people", value=number, allowed=allowed)
        scenario = msgspec.structs.replace(scenario, parties=table)
        if isinstance(getattr(self.parameters, SIZES[0], None), int):  # T and c of as many people
            scenario = _with(scenario, self.changed(people=number).sizes_of(is_masked=True))
        return type(self)(prepare(scenario)[1], trials=self.trials)

    def offer(self, name: str, price: float) -> VariantOffer | None:
        """Return what a variant offers at a price, by trials."""
        variant_setup = self._setup_at_price(name, price)
        offer_found = None if variant_setup is None else self._find(name, price, variant_setup, aim=None, tell=None)
        if variant_setup is None or offer_found is None:
            return None
        cells = {
            **self.cells(offer_found, variant_setup[1].protocol),
            "ε in all": f"{offer_found.epsilon:.4g}",
            **offer_found.cells,
        }
        return msgspec.structs.replace(offer_found, cells=cells)

    def at(
        self, name: str, price: float, *, aim: float | None = None, tell: OnStep | None = None
    ) -> VariantOffer | None:
        """Return what a variant offers at a price, with the error's column, by trials that tell its side of an aim.

        The trials are the first ones of `offer`, so that more of them never contradict what was found before.
        """
        key = name, price
        if key in self._known and (self._known[key] is None or self._is_enough(key, aim)):
            return self._known[key]
        if (variant_setup := self._setup_at_price(name, price)) is not None:
            return self._find(name, price, variant_setup, aim=aim, tell=tell)
        self._known[key] = None
        return None

    def _find(
        self,
        name: str,
        price: float,
        settings_and_setup: tuple[Mapping[str, Any], Local],
        *,
        aim: float | None,
        tell: OnStep | None,
    ) -> VariantOffer | None:
        """Run the trials that are missing; an end in between leaves what was known."""
        key, (settings, setup) = (name, price), settings_and_setup
        while not self._is_enough(key, aim):
            earlier_cell = self._tried.get(key)
            done = 0 if earlier_cell is None else len(earlier_cell.trials)
            stop = self.trials if aim is None else min(_FIRST_TRIALS if not done else _TIMES_TRIALS * done, self.trials)
            cell = TrialCell(settings=(), scenario=setup.scenario)
            (more_trials,) = run_trials([cell], trials=stop - done, first=done, setups={(): setup}, on_progress=tell)
            measured_cell = (
                more_trials
                if earlier_cell is None
                else dataclasses.replace(more_trials, trials=(*earlier_cell.trials, *more_trials.trials))
            )
            self._tried[key] = measured_cell
            if (summary := measured_cell.summaries.get(self.measure)) is None:
                self._known[key] = None
                continue
            error = self.error_of(summary)
            cells = {self.error: self._format_error(error, summary)}
            epsilon = price_of(setup.protocol)
            at_most = self._limit_of(error, summary, len(measured_cell.trials))
            self._known[key] = VariantOffer(
                name=name, epsilon=epsilon, error=error, at_most=at_most, settings=settings, cells=cells
            )
        return self._known[key]

    def error_of(self, summary: MeasureSummary) -> Measurement:
        """Return the error that a measure says."""
        return Measurement(1 - summary.mean if self.is_lack else summary.mean, summary.standard_error)

    def _limit_of(self, error: Measurement, summary: MeasureSummary, trials: int) -> float:
        """Return an error's upper limit, by Student's t; where all trials agree, by the share's own interval."""
        if not error.standard_error:
            return 1 - summary.low if self.is_lack else summary.high
        return error.value + float(stdtrit(trials - 1, _CONFIDENCE)) * error.standard_error

    def measure_of(self, error: float) -> float:
        """Return the measure of an error: what `error_of` makes of one, turned around."""
        return 1 - error if self.is_lack else error

    def changed(self, **attributes: Any) -> Self:
        """Return this table with other attributes, and nothing tried yet."""
        return super().changed(**attributes, _tried={}, _encoded={})

    def _is_enough(self, key: tuple[str, float], aim: float | None) -> bool:
        """Return whether there are trials enough to know an error, or on which side of an aim it is."""
        measured_cell = self._tried.get(key)
        if measured_cell is None:
            return False
        if len(measured_cell.trials) >= self.trials:
            return True
        summary = measured_cell.summaries.get(self.measure)
        if aim is None or summary is None:
            return False
        target_error = self.measure_of(aim)
        is_far = abs(summary.mean - target_error) > _CLEAR * summary.standard_error
        return is_far and not summary.low <= target_error <= summary.high

    def have_equal_rows(self, protocol: PhasedProtocol[Any, Any], other: PhasedProtocol[Any, Any]) -> bool:
        """Return whether parties' rows are the same in two sessions that differ in `of_price` alone."""
        del protocol, other
        return True

    def setup_with(self, settings: Mapping[str, Any]) -> Local:
        """Return the session with some parameters set anew, with its parties' values."""
        return resolve(_with(self.resolved.scenario, settings))

    def _setup_at_price(self, name: str, price: float) -> tuple[Mapping[str, Any], Local] | None:
        """Return the session of a variant at a price with its settings; None where it cannot have that price."""
        try:
            settings = self.settings(name, price)
            return None if settings is None else (settings, self._make_setup(name, settings))
        except ConfigurationError:  # this mechanism cannot have this price, or not with these parties
            return None

    def _make_setup(self, name: str, settings: Mapping[str, Any]) -> Local:
        """Return the session of a variant, whose parties are those of another price of it where there was one."""
        if (encoded_inputs := self._encoded.get(name)) is not None:
            price_settings = {key: settings[key] for key in self.of_price}
            protocol = encoded_inputs.protocol.with_parameters(
                msgspec.structs.replace(encoded_inputs.protocol.parameters, **price_settings)
            )
            if self.have_equal_rows(protocol, encoded_inputs.protocol):
                protocol.check_inputs(encoded_inputs.inputs)
                return msgspec.structs.replace(
                    encoded_inputs, scenario=_with(encoded_inputs.scenario, settings), protocol=protocol
                )
        setup = self.setup_with(settings)
        if self.of_price:
            self._encoded[name] = setup
        return setup

    def _format_error(self, error: Measurement, summary: MeasureSummary) -> str:
        """Return a share that is an error, in percent; where all trials agree, how far it may be from that."""
        if error.standard_error:
            return self.unit.short(error.value, standard_error=error.standard_error)
        low, high = (1 - summary.high, 1 - summary.low) if self.is_lack else (summary.low, summary.high)
        return f"{100 * error.value:.1f} ({100 * low:.1f} to {100 * high:.1f}) %"


def price_of(protocol: PhasedProtocol[Any, Any]) -> float:
    """Return the proven loss of one party, of all that it says in a session.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> price_of(DPWeVote(Parameters(candidates=("tea",), weights=(1, 2), public_weights=True, epsilon=1.5)))
        1.5
    """
    return total_of(protocol.losses).proven


def price_for(
    table: VariantTable, name: str, error: float, *, limits: tuple[float, float] | None = None, steps: int = _STEPS
) -> VariantOffer | None:
    """Return what a variant offers at about the least price for an error; None where no price is known to suffice.

    Args:
        error: the most that is wanted, > 0.
        limits: prices of which the first is known to be too little, and the other to suffice or to be too dear.
        steps: of the bisection.
    """
    low, high = map(math.log, limits or (table.price / REACH, table.price * REACH))
    best: VariantOffer | None = None
    if limits is not None and (dear := table.at(name, limits[1])) is not None and dear.error.value <= error:
        best = dear
    for _ in range(steps):
        middle = (low + high) / 2
        offer_at_middle = table.at(name, snapped(math.exp(middle)))
        if offer_at_middle is not None and offer_at_middle.error.value <= error:
            best, high = offer_at_middle, middle
        elif offer_at_middle is not None or (best is None and middle <= math.log(table.price)):
            low = middle  # too little
        else:  # too dear for this variant
            high = middle
    return best


def epsilon_at(price: float, proven: Callable[[float], float], *, low: float, high: float) -> float | None:
    """Return the greatest parameter, from `low` to `high`, at which a session costs no more than a price, or None.

    By `proven`, which never falls, a parameter's proven loss.

    Examples:
        >>> epsilon_at(2.0, lambda epsilon: 3 * epsilon, low=0.01, high=10.0).__round__(4)
        0.6667
    """
    if proven(high) <= price * _NEAR:
        return high
    if proven(low) > price * _NEAR:
        return None
    if low <= price <= high and proven(price) <= price * _NEAR and proven(price * 1.001) > price * _NEAR:
        return price  # as it is in most cases, to the last digit
    for _ in range(_STEPS_OF_PARAMETER):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if proven(middle) <= price * _NEAR else (low, middle)
    return low


def _with(scenario: Scenario, settings: Mapping[str, Any]) -> Scenario:
    """Return a scenario with some parameters set anew, or left out where they are None: they say who is trusted."""
    kept_parameters = {name: value for name, value in scenario.parameters.items() if name not in settings}
    new_parameters = {name: value for name, value in settings.items() if value is not None}
    trust_words, parameters = scenario.trust_note, {**kept_parameters, **new_parameters}
    return msgspec.structs.replace(
        scenario, trust=trust_words, parameters=parameters, budget=None, budget_delta=0.0, budget_datum=None
    )


def table_of(kind: type[VariantTable], scenario: Scenario, *, trials: int) -> VariantTable:
    """Return the variants of a scenario, of which each gets so many trials.

    Raises:
        ConfigurationError: something of the scenario is not allowed, or its variants cannot be compared.
    """
    return kind(prepare(scenario)[1] if kind.needs_values else resolve_served(scenario), trials=trials)
