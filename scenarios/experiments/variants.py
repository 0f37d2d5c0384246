"""Compare the variants of a session: their errors at one ε, and the ε that each needs for an error.

`psephos variants` compares them at the session's ε; `psephos plan` inverts the comparison (`plans`). A system declares
a `VariantTable` (its part `variants`). All variants have the session's ε: the proven loss of one party in the whole
session, for replace-one neighbors unless the session has another relation. The error is in the system's unit: exact if
there is a formula, else from trials of the same parties with a standard error (`SimulatedVariants`). Variants are tried
with equal seeds and trial numbers, so they share their random numbers.

The ε for an error is found by bisection, which assumes that a larger ε never increases the error. By trials, it is as
uncertain as the error printed next to it.
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
    "masked: the server learns only a noisy sum if `threshold` parties stay and at most `colluders` collude with it; "
    "with a threshold above 1,000 it must also be semi-honest"
)
SIZES: Final = ("threshold", "colluders")
"""Parameters that only masked sessions have."""
_LEAVING: Final = 10  # by default, 1 / `_LEAVING` of the parties may drop out, and as many may collude with the server
REACH: Final = 1024.0
"""ε is searched within this factor of the session's, on either side."""
_STEPS: Final = 12  # steps of a bisection over this range, to within 0.5 %
MOST_PEOPLE: Final = 1_000_000_000
_STEPS_OF_PARAMETER: Final = 60
_FIRST_TRIALS: Final = 8  # first trials at an ε that may be far from an aim; if they do not decide, there are more
_TIMES_TRIALS: Final = 3
_CLEAR: Final = 4.0  # standard errors from the aim beyond which more trials would not change the side
_CONFIDENCE: Final = 0.99
"""Confidence of an error's upper limit."""
_NEAR: Final = 1 + 1e-9  # rounding of ε


class VariantOffer(msgspec.Struct, frozen=True, kw_only=True):
    """A variant's offer at an ε: its error and settings.

    Args:
        name: the variant's name.
        epsilon: the proven loss of one party in the whole session.
        error: the error, in the table's unit; its standard error is 0 if it is exact.
        settings: the parameters that turn a session into this variant; None for parameters to remove.
        cells: the texts of the table's columns, by heading.
        at_most: upper confidence limit of an error from trials; None for an exact one.

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
        """The reported error: if it is from trials, its upper confidence limit."""
        return self.error.value if self.at_most is None else self.at_most


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """The unit in which errors are shown: a fraction of a whole, and possibly a number.

    Args:
        of: the whole, as words after the fraction.
        whole: the whole in the table's unit.
        noun: what numbers count; empty if the error is only a fraction.
        sign: the sign before a two-sided error, which is one standard error.
        explained: an explanation for the reader, in sentences.

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
        """Convert a user's error into a fraction: below 1 it is a fraction, from 1 on it is a number.

        Raises:
            ConfigurationError: it is neither.
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
        """Format an error for a table: in percent, with its standard error if it is from trials, and its number."""
        if standard_error:
            # one digit of the standard error suffices
            decimals = max(decimals_of([100 * share], [100 * standard_error]) - 1, 1)
            return f"{100 * share:.{decimals}f} ± {100 * standard_error:.{decimals}f} %"
        return f"{self.sign}{format_number(100 * share)} %{self._number(share)}"

    def long(self, share: float) -> str:
        """Format an error with all words."""
        return f"{self.sign}{format_number(100 * share)} % {self.of}{self._number(share)}"

    def _number(self, share: float) -> str:
        number = format_number(share * self.whole)
        return f" ({number} {self.noun.removesuffix('s') if number == '1' else self.noun})" if self.noun else ""


class VariantTable(abc.ABC):
    """The variants of one session.

    Args:
        setup: the session; if `needs_values`, with its parties' values.
        trials: number of trials of each variant, if errors are found by trials.

    Attributes:
        parameters: the session's parameters.
        people: number of parties for which errors are computed.
        price: the session's ε.
    """

    needs_values: ClassVar[bool] = False
    """Whether errors are found by trials with the parties' values."""
    mark: ClassVar[str] = ""
    """The text after the best variant's name."""
    dropped: ClassVar[Sequence[str]] = ()
    """Headings of columns that a narrow terminal omits, in order."""
    error: str
    """The heading of the error's column."""

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
        """The variants' names, in order."""

    @property
    @abc.abstractmethod
    def unit(self) -> Unit:
        """The unit in which errors are shown."""

    @property
    def counted(self) -> CountedValues | None:
        """The values whose holders are counted, if another mechanism might count them better."""
        return None

    @abc.abstractmethod
    def offer(self, name: str, price: float) -> VariantOffer | None:
        """Return a variant's offer at ε > 0; None if it cannot have this ε."""

    def at(
        self, name: str, price: float, *, aim: float | None = None, tell: OnStep | None = None
    ) -> VariantOffer | None:
        """Return `offer`, cached, possibly without texts of columns.

        Args:
            aim: an error; trials stop when they show on which side of it the variant's error is. None for all trials.
            tell: called before each trial, if there are trials; an exception ends them.
        """
        del aim, tell
        if (name, price) not in self._known:
            self._known[name, price] = self.offer(name, price)
        return self._known[name, price]

    def curve(self, name: str) -> list[VariantOffer]:
        """Return all cached offers of a variant, by increasing ε."""
        own_offers = [
            offer for (offer_name, _), offer in self._known.items() if offer_name == name and offer is not None
        ]
        return sorted({offer.epsilon: offer for offer in own_offers}.values(), key=lambda offer: offer.epsilon)

    def offers(self, tell: Callable[[str], object] = lambda _: None) -> list[VariantOffer]:
        """Return the variants' offers at the session's ε, without variants that cannot have it.

        `tell` is called with a line when each variant begins.
        """
        offers: list[VariantOffer] = []
        for name in self.names:
            tell(f"{name} at ε = {self.price:.4g}")
            if (offer := self.offer(name, self.price)) is not None:
                offers.append(offer)
        return offers

    def missing(self, offers: Sequence[VariantOffer]) -> list[str]:
        """Return the names of variants without an offer."""
        return sorted({*self.names} - {offer.name for offer in offers})

    def sizes_of(self, *, is_masked: bool) -> dict[str, Any]:
        """Return T and c for the number of people, in the session's or default proportion; None without masking."""
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
        """Return the session's parameters with changes; T and c are removed if they are None."""
        settings_or_unset = {
            name: UNSET if name in SIZES and value is None else value for name, value in settings.items()
        }
        return msgspec.structs.replace(self.parameters, **settings_or_unset)

    def model_of(self, name: str) -> TrustModel:
        """Return a variant's trust model."""
        del name
        return TrustModel.LOCAL

    def trusted(self, model: TrustModel, *, people: int | None = None) -> str:
        """Return the party that a variant trusts with this number of people; see `TrustModel.trusted_party`."""
        of_all = self.changed(people=people or self.people)
        is_sparse = model.is_masked and of_all.sizes_of(is_masked=True)[SIZES[0]] >= LEAST_FOR_CIRCLE
        return model.trusted_party(self.resolved.protocol.server_role, is_sparse=is_sparse)

    def with_people(self, number: int) -> Self:
        """Return the table of the same session with another number of parties, at least 1.

        Raises:
            ConfigurationError: the number is not possible, or further parties are unknown.
        """
        require(1 <= number <= MOST_PEOPLE, "--people", number, f"in [1, {MOST_PEOPLE}]")
        return self.changed(people=number)

    def changed(self, **attributes: Any) -> Self:
        """Return a copy of this table with other attributes and an empty cache."""
        other = copy.copy(self)
        vars(other).update(attributes, _known={})
        return other

    def simplify(self) -> Mapping[str, Self]:
        """Return the tables of simpler sessions, by the change, as an imperative."""
        return {}

    def setup_with(self, settings: Mapping[str, Any]) -> Resolved:
        """Return the session with changed parameters; those that are None are removed.

        Raises:
            ConfigurationError: the parameters are not allowed.
        """
        return resolve_served(_with(self.resolved.scenario, settings))

    def losses_of(self, offer: VariantOffer) -> Sequence[PrivacyLoss]:
        """Return a variant's losses of one party, phase by phase."""
        settings = dict(offer.settings)
        if isinstance(settings.get(SIZES[0]), int):  # T and c for the actual number of people
            settings |= self.changed(people=len(self.resolved.names)).sizes_of(is_masked=True)
        return self.setup_with(settings).protocol.losses

    def best(self, offers: Sequence[VariantOffer]) -> VariantOffer:
        """Return the best offer."""
        return min(offers, key=lambda offer: offer.error.value)

    def notes(self, offers: Sequence[VariantOffer]) -> Sequence[str]:
        """Return explanations for the table's reader."""
        del offers
        return ()


class SimulatedVariants(VariantTable):
    """Variants whose errors are found by trials."""

    needs_values: ClassVar[bool] = True
    mark: ClassVar[str] = " <- fewest"
    is_lack: ClassVar[bool] = False
    """Whether the error is 1 minus the measure."""
    of_price: ClassVar[frozenset[str]] = frozenset()
    """Parameters that follow from ε and on which rows rarely depend: a variant's parties are made again only if
    `have_equal_rows` is false, not at each ε."""
    measure: str
    """Name of the system's measure that gives the error."""

    resolved: Local

    def __init__(self, setup: Local, *, trials: int) -> None:
        super().__init__(setup, trials=trials)
        self._encoded: dict[str, Local] = {}
        self._tried: dict[tuple[str, float], MeasuredCell] = {}

    @abc.abstractmethod
    def settings(self, name: str, price: float) -> Mapping[str, Any] | None:
        """Return a variant's parameters at an ε, with None for parameters to remove.

        Return None, or raise ConfigurationError, if it cannot have this ε.
        """

    def with_epsilon(
        self, settings: Mapping[str, Any], price: float, *, low: float, high: float
    ) -> Mapping[str, Any] | None:
        """Return parameters with the greatest `epsilon` from `low` to `high` whose proven loss is at most `price`.

        `settings` are the other parameters. Return None if there is no such `epsilon`.
        """

        def proven(parameter: float) -> float:
            try:
                return self.proven({**settings, "epsilon": parameter})
            except ConfigurationError:
                if parameter == high:
                    raise
                return 0.0  # refused as too small for this variant

        epsilon = epsilon_at(price, proven, low=low, high=high)
        return None if epsilon is None else {**settings, "epsilon": epsilon}

    def proven(self, settings: Mapping[str, Any]) -> float:
        """Return a session's proven ε with changed parameters."""
        return price_of(self.resolved.protocol.with_parameters(self.parameters_with(settings)))

    def cells(self, offer: VariantOffer, protocol: PhasedProtocol[Any, Any]) -> dict[str, str]:
        """Return texts of further columns, before ε and the error, by heading."""
        del offer, protocol
        return {}

    def parties_of(self, parties: Mapping[str, Any], number: int) -> Mapping[str, Any] | None:
        """Return the scenario's table of a generator for a number of parties; None if it has no generator."""
        del parties, number
        return None

    def with_people(self, number: int) -> Self:
        """Return the table of the same session with another number of synthetic parties."""
        if number == self.people:
            return self
        super().with_people(number)  # checks the number
        scenario, role = self.resolved.scenario, self.resolved.protocol.client_role
        table = self.parties_of(scenario.parties, number) if isinstance(scenario.parties, Mapping) else None
        if table is None:
            allowed = (
                f"{self.people}: errors are found by trials of these {role}s, and nobody knows who others would be"
            )
            raise ConfigurationError(field="--people", value=number, allowed=allowed)
        scenario = msgspec.structs.replace(scenario, parties=table)
        if isinstance(getattr(self.parameters, SIZES[0], None), int):  # T and c for this number of people
            scenario = _with(scenario, self.changed(people=number).sizes_of(is_masked=True))
        return type(self)(prepare(scenario)[1], trials=self.trials)

    def offer(self, name: str, price: float) -> VariantOffer | None:
        """Return a variant's offer at an ε, by trials."""
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
        """Return a variant's offer at an ε with the error's column only, by enough trials to decide its side of an aim.

        They are the first trials of `offer`, so that further trials extend them.
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
        """Run the missing trials; if they are interrupted, earlier results stay."""
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
        """Return the error from a measure's mean."""
        return Measurement(1 - summary.mean if self.is_lack else summary.mean, summary.standard_error)

    def _limit_of(self, error: Measurement, summary: MeasureSummary, trials: int) -> float:
        """Return an error's upper limit, by Student's t; if all trials are equal, by the summary's interval."""
        if not error.standard_error:
            return 1 - summary.low if self.is_lack else summary.high
        return error.value + float(stdtrit(trials - 1, _CONFIDENCE)) * error.standard_error

    def measure_of(self, error: float) -> float:
        """Return the measure of an error; the inverse of `error_of`."""
        return 1 - error if self.is_lack else error

    def changed(self, **attributes: Any) -> Self:
        """Return a copy of this table with other attributes and no trials."""
        return super().changed(**attributes, _tried={}, _encoded={})

    def _is_enough(self, key: tuple[str, float], aim: float | None) -> bool:
        """Return whether there are enough trials for an error, or for its side of an aim."""
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
        """Return whether parties have the same rows in two sessions that differ only in `of_price`."""
        del protocol, other
        return True

    def setup_with(self, settings: Mapping[str, Any]) -> Local:
        """Return the session with changed parameters, with its parties' values."""
        return resolve(_with(self.resolved.scenario, settings))

    def _setup_at_price(self, name: str, price: float) -> tuple[Mapping[str, Any], Local] | None:
        """Return a variant's session at an ε with its settings; None if it cannot have this ε."""
        try:
            settings = self.settings(name, price)
            return None if settings is None else (settings, self._make_setup(name, settings))
        except ConfigurationError:  # the mechanism cannot have this ε, or not with these parties
            return None

    def _make_setup(self, name: str, settings: Mapping[str, Any]) -> Local:
        """Return a variant's session; parties are reused from its session at another ε, if any."""
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
        """Format an error in percent; if all trials are equal, with its possible deviation."""
        if error.standard_error:
            return self.unit.short(error.value, standard_error=error.standard_error)
        low, high = (1 - summary.high, 1 - summary.low) if self.is_lack else (summary.low, summary.high)
        return f"{100 * error.value:.1f} ({100 * low:.1f} to {100 * high:.1f}) %"


def price_of(protocol: PhasedProtocol[Any, Any]) -> float:
    """Return the proven loss of one party in a whole session.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> price_of(DPWeVote(Parameters(candidates=("tea",), weights=(1, 2), public_weights=True, epsilon=1.5)))
        1.5
    """
    return total_of(protocol.losses).proven


def price_for(
    table: VariantTable, name: str, error: float, *, limits: tuple[float, float] | None = None, steps: int = _STEPS
) -> VariantOffer | None:
    """Return a variant's offer at approximately the least ε for an error; None if no ε is known to suffice.

    Args:
        error: the aimed error, > 0, in the table's unit.
        limits: a value of ε that is known to be too small, and one that suffices or is too large for the variant.
        steps: number of bisection steps.
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
            low = middle  # too small
        else:  # too large for this variant
            high = middle
    return best


def epsilon_at(price: float, proven: Callable[[float], float], *, low: float, high: float) -> float | None:
    """Return the greatest parameter from `low` to `high` whose proven loss is at most `price`, or None.

    `proven` maps a parameter to its proven loss, and must be nondecreasing.

    Examples:
        >>> epsilon_at(2.0, lambda epsilon: 3 * epsilon, low=0.01, high=10.0).__round__(4)
        0.6667
    """
    if proven(high) <= price * _NEAR:
        return high
    if proven(low) > price * _NEAR:
        return None
    if low <= price <= high and proven(price) <= price * _NEAR and proven(price * 1.001) > price * _NEAR:
        return price  # exact in most cases
    for _ in range(_STEPS_OF_PARAMETER):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if proven(middle) <= price * _NEAR else (low, middle)
    return low


def _with(scenario: Scenario, settings: Mapping[str, Any]) -> Scenario:
    """Return a scenario with changed parameters, of which those that are None are removed."""
    kept_parameters = {name: value for name, value in scenario.parameters.items() if name not in settings}
    new_parameters = {name: value for name, value in settings.items() if value is not None}
    trust_words, parameters = scenario.trust_note, {**kept_parameters, **new_parameters}
    return msgspec.structs.replace(
        scenario, trust=trust_words, parameters=parameters, budget=None, budget_delta=0.0, budget_datum=None
    )


def table_of(kind: type[VariantTable], scenario: Scenario, *, trials: int) -> VariantTable:
    """Return the table of a scenario's variants.

    Raises:
        ConfigurationError: a value of the scenario is not allowed, or its variants cannot be compared.
    """
    return kind(prepare(scenario)[1] if kind.needs_values else resolve_served(scenario), trials=trials)
