"""One suite for every accountant: a class that an accountant's own class of tests inherits."""

import abc
import dataclasses
import math
from typing import Any, cast

import pytest
from psephos.protocol.errors import UnsupportedEventError
from psephos.protocol.privacy import (
    Accountant,
    ApproximateAccountant,
    Composed,
    ConcentratedAccountant,
    DiscreteLaplaceNoise,
    LocalRandomizer,
    NeighboringRelation,
    NonPrivate,
    NoRelease,
    PrivacyEvent,
    PureAccountant,
    PureMechanism,
    RandomizedResponse,
    SelfComposed,
    SharedDiscreteLaplace,
)

RELATIONS = list(NeighboringRelation)
REPLACE = NeighboringRelation.REPLACE_ONE
HALF = RandomizedResponse(0.5, 3)
LAPLACE = DiscreteLaplaceNoise(8.0, 2)
LOCAL = LocalRandomizer(0.4)
PURE = PureMechanism(0.3)
SHARED = SharedDiscreteLaplace(8.0, 2, 5, 4, 3)

SUPPORTED: list[PrivacyEvent] = [
    NoRelease(),
    HALF,
    LAPLACE,
    LOCAL,
    PURE,
    SHARED,
    Composed((HALF, LAPLACE, HALF)),
    Composed((LOCAL, SelfComposed(LOCAL, 2), HALF)),
    Composed((PURE, SelfComposed(PURE, 2), LAPLACE)),
    Composed((SHARED, SelfComposed(SHARED, 2), LAPLACE)),
    SelfComposed(HALF, 4),
    SelfComposed(Composed((LAPLACE, SelfComposed(HALF, 2))), 3),
]


@dataclasses.dataclass(frozen=True)
class Unheard:
    """An event of a third party that no accountant knows."""


UNSUPPORTED: list[PrivacyEvent] = [
    cast("PrivacyEvent", Unheard()),
    RandomizedResponse(-0.5, 2),
    RandomizedResponse(math.nan, 2),
    RandomizedResponse(0.5, 0),
    LocalRandomizer(-0.5),
    LocalRandomizer(math.nan),
    PureMechanism(-0.5),
    PureMechanism(math.nan),
    DiscreteLaplaceNoise(0.0, 1),
    DiscreteLaplaceNoise(-2.0, 1),
    DiscreteLaplaceNoise(math.nan, 1),
    DiscreteLaplaceNoise(2.0, -1),
    SharedDiscreteLaplace(0.0, 2, 5, 4, 3),
    SharedDiscreteLaplace(math.nan, 2, 5, 4, 3),
    SharedDiscreteLaplace(math.inf, 2, 5, 4, 3),
    SharedDiscreteLaplace(8.0, -2, 5, 4, 3),
    SharedDiscreteLaplace(8.0, 2, 0, 4, 3),
    SharedDiscreteLaplace(8.0, 2, 5, -1, 3),
    SharedDiscreteLaplace(8.0, 2, 5, 4, 0),
    SelfComposed(HALF, -1),
]


class AccountantSuite(abc.ABC):
    """What holds for every accountant. A subclass named `Test…` says how one is made and read."""

    slack: float = 1e-9
    """How far two equal losses may be apart when they are reached on different ways."""

    @abc.abstractmethod
    def make(self, relation: NeighboringRelation) -> Accountant:
        """Return a fresh accountant."""

    @abc.abstractmethod
    def epsilon_of(self, accountant: Any) -> float:
        """Return its bound."""

    def cost(self, *events: PrivacyEvent) -> float:
        accountant = self.make(REPLACE)
        for event in events:
            accountant.compose(event)
        return self.epsilon_of(accountant)

    @pytest.mark.parametrize("relation", RELATIONS)
    def test_the_relation_is_fixed_and_nothing_is_spent_at_first(self, relation: NeighboringRelation) -> None:
        accountant = self.make(relation)
        assert accountant.relation is relation
        assert self.epsilon_of(accountant) == 0.0
        with pytest.raises(AttributeError):
            setattr(accountant, "relation", relation)  # noqa: B010  the attribute has no setter, as types know

    @pytest.mark.parametrize("event", SUPPORTED)
    def test_a_check_charges_nothing(self, event: PrivacyEvent) -> None:
        accountant = self.make(REPLACE)
        accountant.check(event)
        assert self.epsilon_of(accountant) == 0.0

    @pytest.mark.parametrize("relation", RELATIONS)
    @pytest.mark.parametrize("event", [LAPLACE, PURE])
    def test_a_mechanism_that_hides_who_took_part_costs_the_same_under_either_relation(
        self, event: PrivacyEvent, relation: NeighboringRelation
    ) -> None:
        accountant = self.make(relation)
        accountant.compose(event, 2)
        assert self.epsilon_of(accountant) == self.cost(event, event) > 0

    @pytest.mark.parametrize("event", UNSUPPORTED)
    def test_what_cannot_be_bounded_is_refused_and_nothing_is_charged(self, event: PrivacyEvent) -> None:
        accountant = self.make(REPLACE)
        accountant.compose(HALF)
        before = self.epsilon_of(accountant)
        for attempt in (event, Composed((HALF, event)), SelfComposed(Composed((HALF, event)), 2)):
            with pytest.raises(UnsupportedEventError) as caught:
                accountant.check(attempt)
            assert caught.value.event is event
            assert type(accountant).__name__ in caught.value.accountant
            with pytest.raises(UnsupportedEventError):
                accountant.compose(attempt)
        assert self.epsilon_of(accountant) == before

    def test_a_negative_count_is_refused(self) -> None:
        accountant = self.make(REPLACE)
        with pytest.raises(UnsupportedEventError, match="negative number of times"):
            accountant.compose(HALF, -1)
        assert self.epsilon_of(accountant) == 0.0

    @pytest.mark.parametrize("event", [HALF, LOCAL])
    def test_a_report_by_itself_needs_neighbors_who_replace_a_value(self, event: PrivacyEvent) -> None:
        accountant = self.make(NeighboringRelation.ADD_OR_REMOVE_ONE)
        with pytest.raises(UnsupportedEventError, match="needs replace-one") as caught:
            accountant.compose(Composed((LAPLACE, event)))
        assert caught.value.event == event
        assert caught.value.accountant.startswith(f"{type(accountant).__name__}(add-remove-one")
        assert self.epsilon_of(accountant) == 0.0

    def test_what_is_not_private_costs_infinity_and_stays_so(self) -> None:
        accountant = self.make(REPLACE)
        accountant.compose(Composed((HALF, NonPrivate())))
        assert self.epsilon_of(accountant) == math.inf
        accountant.compose(HALF)
        assert self.epsilon_of(accountant) == math.inf

    @pytest.mark.parametrize(
        "event",
        [
            NoRelease(),
            Composed(()),
            RandomizedResponse(0.5, 1),
            RandomizedResponse(0.0, 2),
            DiscreteLaplaceNoise(2.0, 0),
        ],
    )
    def test_what_shows_nothing_costs_nothing(self, event: PrivacyEvent) -> None:
        assert self.cost(event, SelfComposed(event, 5)) == 0.0

    @pytest.mark.parametrize("event", [*SUPPORTED, NonPrivate()])
    def test_what_happened_no_time_costs_nothing(self, event: PrivacyEvent) -> None:
        accountant = self.make(REPLACE)
        accountant.compose(event, 0)
        accountant.compose(SelfComposed(SelfComposed(event, 0), 3))
        assert self.epsilon_of(accountant) == 0.0

    @pytest.mark.few
    @pytest.mark.parametrize("event", SUPPORTED)
    @pytest.mark.parametrize("count", [1, 2, 7])
    def test_repeating_is_self_composition_is_a_count(self, event: PrivacyEvent, count: int) -> None:
        counted = self.make(REPLACE)
        counted.compose(event, count)
        repeated = self.cost(*[event] * count)
        assert self.cost(SelfComposed(event, count)) == pytest.approx(repeated, abs=self.slack)
        assert self.epsilon_of(counted) == pytest.approx(repeated, abs=self.slack)

    def test_composing_one_by_one_is_composing_together_in_any_order(self) -> None:
        together = self.cost(Composed((HALF, LAPLACE, HALF)))
        assert self.cost(HALF, LAPLACE, HALF) == pytest.approx(together, abs=self.slack)
        assert self.cost(LAPLACE, HALF, HALF) == pytest.approx(together, abs=self.slack)

    def test_more_never_costs_less(self) -> None:
        accountant = self.make(REPLACE)
        before = 0.0
        for event in (HALF, LAPLACE, NoRelease(), HALF, LAPLACE):
            accountant.compose(event)
            after = self.epsilon_of(accountant)
            assert after >= before - self.slack
            before = after

    @pytest.mark.parametrize("event", SUPPORTED)
    def test_the_bound_is_never_above_the_pure_sum(self, event: PrivacyEvent) -> None:
        assert self.cost(event, event) <= PureAccountant.epsilon_of(SelfComposed(event, 2), REPLACE) + 1e-12


class TestPureAccountant(AccountantSuite):
    """Pure losses add; they are sums of the events' own."""

    def make(self, relation: NeighboringRelation) -> PureAccountant:
        return PureAccountant(relation)

    def epsilon_of(self, accountant: Any) -> float:
        return cast("PureAccountant", accountant).epsilon

    @pytest.mark.parametrize("event", SUPPORTED)
    def test_composition_adds(self, event: PrivacyEvent) -> None:
        assert self.cost(event, LAPLACE) == pytest.approx(self.cost(event) + self.cost(LAPLACE))


class TestApproximateAccountant(AccountantSuite):
    """Composed distributions never cost less than the law does, nor more than the pure sum."""

    slack = 1e-3  # dp_accounting rounds losses to multiples of 1e-4, each time that it composes

    def make(self, relation: NeighboringRelation) -> ApproximateAccountant:
        return ApproximateAccountant(relation, delta=1e-5)

    def epsilon_of(self, accountant: Any) -> float:
        return cast("ApproximateAccountant", accountant).epsilon


class TestConcentratedAccountant(AccountantSuite):
    """ρ adds too, and is half the square of a pure loss."""

    def make(self, relation: NeighboringRelation) -> ConcentratedAccountant:
        return ConcentratedAccountant(relation)

    def epsilon_of(self, accountant: Any) -> float:
        return cast("ConcentratedAccountant", accountant).rho

    @pytest.mark.parametrize(("event", "loss"), [(HALF, 0.5), (LAPLACE, 0.25), (LOCAL, 0.4), (PURE, 0.3)])
    def test_a_pure_loss_has_half_its_square(self, event: PrivacyEvent, loss: float) -> None:
        assert self.cost(event) == pytest.approx(loss**2 / 2)
        assert self.cost(SelfComposed(event, 4)) == pytest.approx(2 * loss**2)
