"""Accountants: upper bounds on the privacy loss of events under one neighboring relation.

An accountant's relation is fixed when it is made. `check` walks through an event without charging it, and names what it
cannot bound. `compose` checks, then charges, so that an event is never charged in part. An unknown event is refused; an
event without privacy costs infinity.

Source: Dwork and Roth (2014), Section 3.5 for sequential composition; Koskela et al. (2020) and Google's
dp_accounting for composition by privacy loss distributions.
"""

import abc
import math
from typing import Protocol, TypeAlias, assert_never

from ..arguments import exact_arguments
from ..elementary import ln, quotient_up
from ..errors import ConfigurationError, UnsupportedEventError, require
from .events import (
    Composed,
    DiscreteLaplaceNoise,
    LocalRandomizer,
    NonPrivate,
    NoRelease,
    PrivacyEvent,
    PureMechanism,
    RandomizedResponse,
    SelfComposed,
    SharedDiscreteLaplace,
)
from .exact_sums import rounded_up, units_of
from .relations import NeighboringRelation
from .shared_noise import shared_laplace_loss

_Private: TypeAlias = (
    RandomizedResponse | LocalRandomizer | DiscreteLaplaceNoise | PureMechanism | SharedDiscreteLaplace
)
_Primitive: TypeAlias = NonPrivate | _Private

_SHOWS_ITS_OWNER = (RandomizedResponse, LocalRandomizer, SharedDiscreteLaplace)

_ROUNDED, _ROUNDED_OF_DELTA = 2.0**-45, 2.0**-10
"""The rounding errors assumed for composed probabilities: absolute, and relative to δ."""
_ROUNDED_OF_RHO = 2.0**-50
"""The greatest relative rounding error of the ε of a ρ, which takes five roundings."""
# Below the first loss, dp_accounting's grid of 1e-4 is too coarse; above the second, exponentials may overflow.
_LEAST_COMPOSED, _GREATEST_COMPOSED = 1e-4, 100.0


class Accountant(abc.ABC):
    """Adds up the loss of a sequence of events on the same data."""

    def __init__(self, relation: NeighboringRelation) -> None:
        self._relation = relation

    @property
    def relation(self) -> NeighboringRelation:
        """The neighboring relation of every bound that this accountant gives."""
        return self._relation

    def check(self, event: PrivacyEvent) -> None:
        """Raise UnsupportedEventError if `compose` would; charge nothing."""
        if self._relation is not NeighboringRelation.REPLACE_ONE and isinstance(event, _SHOWS_ITS_OWNER):
            raise self._refusal(event, "it shows that its owner took part, so it needs replace-one")
        match event:
            case Composed(events):
                for part in events:
                    self.check(part)
            case SelfComposed(part, count):
                if count < 0:
                    raise self._refusal(event, "an event cannot happen a negative number of times")
                self.check(part)
            case RandomizedResponse():
                if not event.epsilon >= 0 or event.num_choices < 1:
                    raise self._refusal(event, "use an epsilon of at least 0, and num_choices of at least 1")
            case LocalRandomizer() | PureMechanism():
                if not event.epsilon >= 0:
                    raise self._refusal(event, "use an epsilon of at least 0")
            case DiscreteLaplaceNoise():
                if not event.scale > 0 or event.sensitivity < 0:
                    raise self._refusal(event, "use a scale above 0, and a sensitivity of at least 0")
            case SharedDiscreteLaplace():
                if (
                    not 0 < event.scale < math.inf
                    or min(event.sensitivity, event.honest, event.planned - 1, event.width - 1) < 0
                ):
                    reason = "use a finite scale above 0; sensitivity and honest from 0, planned and width from 1"
                    raise self._refusal(event, reason)
            case NoRelease() | NonPrivate():
                pass
            case _:  # pyright: ignore[reportUnnecessaryComparison]  a third party's class is not in the union
                raise self._refusal(event, "it is not known")

    @exact_arguments
    def compose(self, event: PrivacyEvent, count: int = 1) -> None:
        """Charge `count` times `event`.

        Raises:
            UnsupportedEventError: the event cannot be bounded; then nothing is charged.
        """
        repeated = SelfComposed(event, count)
        self.check(repeated)
        self._charge(repeated, 1)

    def _charge(self, event: PrivacyEvent, count: int) -> None:
        match event:
            case Composed(events):
                for part in events:
                    self._charge(part, count)
            case SelfComposed(part, repeats):
                self._charge(part, count * repeats)
            case NoRelease():
                pass
            case _:
                if count:
                    self._charge_primitive(event, count)

    @abc.abstractmethod
    def _charge_primitive(self, event: _Primitive, count: int) -> None:
        """Charge a checked event `count` ≥ 1 times."""

    def _refusal(self, event: object, reason: str) -> UnsupportedEventError:
        name = f"{type(self).__name__}({self._relation.value})"
        return UnsupportedEventError(event=event, accountant=name, reason=reason)


class PureAccountant(Accountant):
    """Pure ε-differential privacy: losses add.

    Privacy:
        The sum of the events' ε bounds the loss of any adaptive sequence, for the accountant's relation.

    Examples:
        >>> accountant = PureAccountant(NeighboringRelation.REPLACE_ONE)
        >>> accountant.compose(RandomizedResponse(0.5, 2), count=3)
        >>> accountant.epsilon
        1.5
    """

    def __init__(self, relation: NeighboringRelation) -> None:
        super().__init__(relation)
        self._units = 0

    @property
    def epsilon(self) -> float:
        """The bound so far, in nats, rounded up; infinity after a non-private event."""
        return rounded_up(self._units)

    @classmethod
    def epsilon_of(cls, event: PrivacyEvent, relation: NeighboringRelation) -> float:
        """Return the bound for one event by itself.

        Examples:
            >>> noise = DiscreteLaplaceNoise(scale=4.0, sensitivity=2)
            >>> PureAccountant.epsilon_of(noise, NeighboringRelation.REPLACE_ONE)
            0.5
        """
        accountant = cls(relation)
        accountant.compose(event)
        return accountant.epsilon

    def _charge_primitive(self, event: _Primitive, count: int) -> None:
        loss = _own_epsilon(event)
        if math.isnan(loss):  # no comparison with a budget would refuse it
            raise self._refusal(event, "its loss is no number")
        self._units += count * units_of(loss)


def _own_epsilon(event: _Primitive) -> float:
    match event:
        case NonPrivate():
            return math.inf
        case RandomizedResponse():
            return event.epsilon if event.num_choices > 1 else 0.0
        case LocalRandomizer() | PureMechanism():
            return event.epsilon
        case DiscreteLaplaceNoise():
            return quotient_up(event.sensitivity, event.scale)
        case SharedDiscreteLaplace(scale, sensitivity, planned, honest, width):
            return shared_laplace_loss(
                scale=scale, sensitivity=sensitivity, planned=planned, honest=honest, width=width
            )
        case _:
            assert_never(event)


class ConcentratedAccountant(Accountant):
    """Zero-concentrated differential privacy (zCDP): a pure loss ε counts as ρ = ε²/2, and ρ adds up.

    Privacy:
        For the accountant's relation, the sum bounds the loss of any adaptive sequence of events that is fixed in
        advance. If the choice of events, or when to stop, depends on outcomes, only a ρ fixed in advance, below which
        the sum is held, is a bound (`Budget`).

    Source:
        Bun and Steinke (2016), Proposition 3.3 and Lemma 2.3.

    Examples:
        >>> accountant = ConcentratedAccountant(NeighboringRelation.REPLACE_ONE)
        >>> accountant.compose(RandomizedResponse(0.5, 2), count=8)
        >>> round(accountant.rho, 6)
        1.0
    """

    def __init__(self, relation: NeighboringRelation) -> None:
        super().__init__(relation)
        self._units = 0

    @property
    def rho(self) -> float:
        """The bound so far, rounded up; infinity after a non-private event."""
        return rounded_up(self._units)

    @classmethod
    def rho_of(cls, event: PrivacyEvent, relation: NeighboringRelation) -> float:
        """Return the bound for one event by itself.

        Examples:
            >>> round(ConcentratedAccountant.rho_of(PureMechanism(1.0), NeighboringRelation.REPLACE_ONE), 6)
            0.5
        """
        accountant = cls(relation)
        accountant.compose(event)
        return accountant.rho

    def _charge_primitive(self, event: _Primitive, count: int) -> None:
        loss = _own_epsilon(event)
        # Rounding up keeps a square that underflows from becoming 0.
        self._units += count * units_of(math.nextafter(loss * loss / 2, math.inf) if loss else 0.0)


def epsilon_of_rho(rho: float, delta: float) -> float:
    """Return ε at δ of ρ-zCDP, rounded up (Bun and Steinke, 2016, Proposition 1.3).

    Examples:
        >>> round(epsilon_of_rho(0.5, 1e-6), 3)
        5.757
    """
    return (rho + 2 * math.sqrt(rho * -ln(delta))) * (1 + _ROUNDED_OF_RHO)


def rho_of_epsilon(epsilon: float, delta: float) -> float:
    """Return a ρ whose ε at δ is at most `epsilon`, and close to it: the inverse of `epsilon_of_rho`.

    Examples:
        >>> round(rho_of_epsilon(epsilon_of_rho(0.5, 1e-6), 1e-6), 6)
        0.5
    """
    if math.isinf(epsilon):
        return math.inf
    log_inverse = -ln(delta)
    root = epsilon / (math.sqrt(log_inverse + epsilon) + math.sqrt(log_inverse))
    return root * root * (1 - 4 * _ROUNDED_OF_RHO)


class _LossDistribution(Protocol):
    """The methods of dp_accounting's untyped privacy loss distribution that are used here."""

    def self_compose(self, num_times: int) -> "_LossDistribution": ...

    def compose(self, other: "_LossDistribution") -> "_LossDistribution": ...

    def get_epsilon_for_delta(self, delta: float) -> float: ...


class ApproximateAccountant(Accountant):
    """(ε, δ)-differential privacy by composing privacy loss distributions, never worse than the pure sum.

    Args:
        delta: 0 < δ < 1, the δ at which `epsilon` is stated.

    Privacy:
        `epsilon` is an upper bound at `delta` for events that are fixed in advance: dp_accounting rounds losses up (its
        pessimistic estimate), and δ is reduced by the rounding error of floats. It is not a privacy odometer, so it is
        no bound if the decision to continue depends on outcomes. For that, use a `Budget` with a δ.

    Examples:
        >>> accountant = ApproximateAccountant(NeighboringRelation.REPLACE_ONE, delta=1e-6)
        >>> accountant.compose(NoRelease())
        >>> accountant.epsilon
        0.0
    """

    @exact_arguments
    def __init__(self, relation: NeighboringRelation, *, delta: float) -> None:
        super().__init__(relation)
        require(0 < delta < 1, "delta", delta, "in (0, 1)")
        self._delta = delta
        self._pure = PureAccountant(relation)
        self._counts: dict[_Private, int] = {}

    @property
    def delta(self) -> float:
        """The δ at which `epsilon` is stated."""
        return self._delta

    @property
    def epsilon(self) -> float:
        """The bound so far at `delta`: the smaller one of the composed distribution's and the pure sum."""
        if math.isinf(self._pure.epsilon):
            return math.inf
        composed: _LossDistribution | None = None
        pure_units = 0  # units of pure loss that are added: (ε, δ) and pure ε' compose to (ε + ε', δ)
        for event, count in self._counts.items():
            loss = _own_epsilon(event)
            if not _LEAST_COMPOSED <= loss <= _GREATEST_COMPOSED:
                pure_units += count * units_of(loss)
                continue
            part = _loss_distribution(event).self_compose(count)
            composed = part if composed is None else composed.compose(part)
        if composed is None:
            return self._pure.epsilon
        reduced_delta = (self._delta - _ROUNDED) * (1 - _ROUNDED_OF_DELTA)
        epsilon = float(composed.get_epsilon_for_delta(reduced_delta)) if reduced_delta > 0 else math.inf
        return min(self._pure.epsilon, rounded_up(pure_units + units_of(epsilon)))

    def _charge_primitive(self, event: _Primitive, count: int) -> None:
        self._pure.compose(event, count)
        if not isinstance(event, NonPrivate):
            self._counts[event] = self._counts.get(event, 0) + count


def _loss_distribution(event: _Private) -> _LossDistribution:
    """Return dp_accounting's privacy loss distribution of one event; ConfigurationError if it is not installed.

    Its `PLDAccountant` (0.6.0) ignores `count` for randomized response, so the distributions are used directly.
    """
    try:
        from dp_accounting.pld import privacy_loss_distribution as pld  # noqa: PLC0415  a second that most sessions save
    except ModuleNotFoundError:
        allowed = "left out without dp-accounting: pip install 'psephos[composition]'"
        raise ConfigurationError(field="delta", value="given", allowed=allowed) from None

    # The three suppressions below have one reason: dp_accounting has no types, so `_LossDistribution` declares them.
    match event:
        case RandomizedResponse():
            # dp_accounting's parameter is the probability that the report is drawn uniformly: k times the probability
            # of each other value.
            flip = 1 / (math.exp(event.epsilon) + event.num_choices - 1)
            return pld.from_randomized_response(event.num_choices * flip, event.num_choices)  # pyright: ignore[reportReturnType]  untyped
        case LocalRandomizer() | PureMechanism() | SharedDiscreteLaplace():
            # Binary randomized response dominates every mechanism of the same ε (Kairouz, Oh and Viswanath, 2015).
            return pld.from_randomized_response(2 / (math.exp(_own_epsilon(event)) + 1), 2)  # pyright: ignore[reportReturnType]  untyped
        case DiscreteLaplaceNoise():
            return pld.from_discrete_laplace_mechanism(1 / event.scale, sensitivity=event.sensitivity)  # pyright: ignore[reportReturnType]  untyped
        case _:
            assert_never(event)
