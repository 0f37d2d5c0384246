"""The ledger: totals by relation, model and unit; budgets that refuse before anything is charged; floating point."""

import contextlib
import decimal
import itertools
import math
from fractions import Fraction
from typing import Any

import hypothesis
import makers
import msgspec
import numpy as np
import pytest
from hypothesis import strategies as st
from psephos.protocol.arrays import FloatArray
from psephos.protocol.elementary import quotient_up
from psephos.protocol.errors import BudgetExceededError, ConfigurationError, PrivacyError, UnsupportedEventError
from psephos.protocol.privacy import (
    Budget,
    Composed,
    DiscreteLaplaceNoise,
    Ledger,
    LedgerEntry,
    NeighboringRelation,
    NonPrivate,
    NoRelease,
    PartLoss,
    PrivacyEvent,
    PrivacyLoss,
    PureMechanism,
    RandomizedResponse,
    Reservation,
    SelfComposed,
    TrustModel,
    compose_parallel,
)
from psephos.protocol.privacy.accountants import epsilon_of_rho

REPLACE = NeighboringRelation.REPLACE_ONE
ADD_OR_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
LOCAL, CENTRAL = TrustModel.LOCAL, TrustModel.CENTRAL


def loss_of(
    epsilon: float,
    *,
    unit: str = "opinion",
    relation: NeighboringRelation = REPLACE,
    model: TrustModel = LOCAL,
    event: PrivacyEvent | None = None,
) -> PrivacyLoss:
    """Return the loss of one binary randomized response, or of `event`."""
    return PrivacyLoss(
        mechanism="randomized response",
        event=RandomizedResponse(epsilon, 2) if event is None else event,
        unit=unit,
        relation=relation,
        model=model,
        claimed=epsilon,
    )


def added_or_removed(epsilon: float) -> PrivacyLoss:
    """Return the loss of discrete Laplace noise that hides whether somebody took part."""
    return loss_of(
        epsilon, relation=ADD_OR_REMOVE, model=CENTRAL, event=DiscreteLaplaceNoise(quotient_up(1, epsilon), 1)
    )


def charge(ledger: Ledger, *losses: PrivacyLoss) -> None:
    for loss in losses:
        ledger.charge(loss, session="spring", phase="opinions")


def test_the_proven_loss_is_derived_from_the_event_and_not_from_the_claim() -> None:
    loss = makers.loss_of(mechanism="discrete Laplace", event=DiscreteLaplaceNoise(4.0, 3), unit="w", claimed=9)
    assert (loss.claimed, loss.proven) == (9, 0.75)


@pytest.mark.parametrize(("event", "least"), [(RandomizedResponse(1.5, 2), 1.5), (NonPrivate(), math.inf)])
def test_a_stated_bound_may_be_greater_than_what_the_event_costs_and_not_less(
    event: PrivacyEvent, least: float
) -> None:
    def state(proven: float) -> float:
        given = {"mechanism": "own", "unit": "voter", "relation": REPLACE, "model": LOCAL, "claimed": 1.0}
        return PrivacyLoss(event=event, proven=proven, **given).proven  # pyright: ignore[reportArgumentType]  as named

    assert state(least) == least
    assert state(least + 1) == least + 1
    for too_little in (1.25, -5.0):
        with pytest.raises(PrivacyError, match="at least"):
            state(too_little)


def test_a_loss_that_cannot_be_proven_is_refused_when_it_is_stated() -> None:
    with pytest.raises(UnsupportedEventError):
        loss_of(0.5, relation=ADD_OR_REMOVE, model=CENTRAL)


@pytest.mark.parametrize("event", [RandomizedResponse(0.5, 2), DiscreteLaplaceNoise(4.0, 2)])
def test_a_report_shows_that_its_owner_took_part(event: PrivacyEvent) -> None:
    with pytest.raises(PrivacyError, match="took part"):
        loss_of(0.5, relation=ADD_OR_REMOVE, event=event)


def test_a_ledger_works_out_itself_what_a_loss_amounts_to() -> None:
    ledger: Any = Ledger("p0")
    with pytest.raises(TypeError, match="amount"):
        ledger.charge(loss_of(1.0), session="s", phase="w", amount=None)
    assert ledger.spent == 0


def test_what_a_session_charges_beyond_its_room_takes_none_of_anothers() -> None:
    ledger = Ledger("ada", budget=Budget(epsilon=4.0))
    first, second = ledger.reserve([loss_of(0.25)]), ledger.reserve([loss_of(1.0)])
    first.charge(loss_of(0.5), session="spring", phase="opinions")
    assert (ledger.reserved, ledger.spent) == (1.0, 0.5)
    first.charge(loss_of(0.5), session="spring", phase="opinions")
    first.release()
    assert (ledger.reserved, ledger.spent) == (1.0, 1.0)
    second.charge(loss_of(1.0), session="spring", phase="opinions")
    assert (ledger.reserved, ledger.spent, ledger.remaining) == (0.0, 2.0, 2.0)


def test_what_is_reserved_beside_unbounded_room_is_left_of_it() -> None:
    ledger = Ledger("ada", budget=Budget(epsilon=math.inf))
    held = ledger.reserve([loss_of(0.5, event=NonPrivate()), loss_of(0.5)])
    assert ledger.reserved == math.inf
    held.charge(loss_of(0.5, event=NonPrivate()), session="spring", phase="opinions")
    assert ledger.reserved == 0.5
    held.release()
    assert ledger.reserved == 0.0


@hypothesis.given(
    st.lists(st.lists(st.integers(1, 8), max_size=4), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=20),
)
def test_the_room_of_a_ledger_is_what_its_sessions_have_left(
    rooms: list[list[int]], steps: list[tuple[int, bool]]
) -> None:
    """Sessions charge their losses in turn, or end; losses are of eighths, so that sums are exact."""
    ledger = Ledger("ada", budget=Budget(epsilon=16.0))
    held = [ledger.reserve([loss_of(eighths / 8) for eighths in room]) for room in rooms]
    left = [list(room) for room in rooms]
    for place, ends in steps:
        number = place % len(rooms)
        if ends:
            held[number].release()
            left[number].clear()
        elif left[number]:
            held[number].charge(loss_of(left[number].pop() / 8), session=str(number), phase="opinions")
        assert ledger.reserved == sum(map(sum, left)) / 8
        assert ledger.remaining == 16 - ledger.spent - ledger.reserved


def test_an_entry_says_who_when_what_and_how_much() -> None:
    ledger = Ledger("ada")
    receipt = ledger.charge(loss_of(0.5), session="spring", phase="opinions")
    entry = receipt.entry
    assert ledger.person == entry.person == "ada"
    assert (entry.session, entry.phase, entry.mechanism) == ("spring", "opinions", "randomized response")
    assert (entry.relation, entry.model, entry.unit) == (REPLACE, LOCAL, "opinion")
    assert (entry.claimed, entry.proven, entry.num_persons) == (0.5, 0.5, 1)
    assert entry.event == RandomizedResponse(0.5, 2)
    assert ledger.entries == (entry,)
    assert (receipt.total, receipt.remaining) == (0.5, math.inf)


def test_totals_are_kept_by_relation_model_and_unit() -> None:
    laplace = DiscreteLaplaceNoise(1.0, 2)
    ledger = Ledger("ada")
    charge(
        ledger,
        loss_of(0.5, unit="weight"),
        loss_of(0.25),
        loss_of(0.25),
        loss_of(2.0, model=CENTRAL),
        loss_of(2.0, relation=ADD_OR_REMOVE, model=CENTRAL, event=laplace),
    )
    assert ledger.total(relation=REPLACE, model=LOCAL) == 1.0
    assert ledger.total(relation=REPLACE, model=LOCAL, unit="opinion") == 0.5
    assert ledger.total(relation=REPLACE, model=LOCAL, unit="weight") == 0.5
    assert ledger.total(relation=REPLACE, model=LOCAL, unit="voter") == 0.0
    assert ledger.total(relation=REPLACE, model=CENTRAL) == 2.0 + 2 * 2.0
    assert ledger.total(relation=ADD_OR_REMOVE, model=CENTRAL, unit="voter") == 0.0
    assert ledger.spent == ledger.total() == 7.0
    for model in (LOCAL, CENTRAL, None):
        with pytest.raises(PrivacyError, match="a loss for replace-one neighbors bounds nothing for add-remove-one"):
            ledger.total(relation=ADD_OR_REMOVE, model=model)


def test_a_loss_beyond_the_budget_is_refused_and_nothing_is_charged() -> None:
    ledger = Ledger("ada", budget=Budget(epsilon=1.0))
    charge(ledger, loss_of(0.75))
    with pytest.raises(BudgetExceededError, match="nothing was drawn") as caught:
        charge(ledger, loss_of(0.5))
    assert (caught.value.requested, caught.value.remaining, caught.value.unit) == (0.5, 0.25, "opinion")
    assert (len(ledger.entries), ledger.spent, ledger.remaining) == (1, 0.75, 0.25)
    charge(ledger, loss_of(0.25))
    assert ledger.remaining == 0.0


@pytest.mark.parametrize("number", [math.nan, -math.inf, -1e-300, -1.0])
@pytest.mark.parametrize("field", ["proven", "claimed", "part"])
@pytest.mark.parametrize("budget", [None, Budget(epsilon=1.0), Budget(epsilon=math.inf, delta=1e-6, datum=1.0)])
def test_a_loss_that_is_no_number_of_at_least_0_is_on_no_ledger(
    budget: Budget | None, field: str, number: float
) -> None:
    """A ledger does not rely on a loss having been checked as it was made: an entry is read from a file."""
    loss = loss_of(0.5)
    part = PartLoss(unit="answer", claimed=0.25, proven=number)
    msgspec.structs.force_setattr(loss, field, part if field == "part" else number)
    entry = LedgerEntry.from_loss(loss, person="ada", session="spring", phase="opinions")
    ledger = Ledger("ada", budget=budget)
    for act in (
        lambda: ledger.charge(loss, session="spring", phase="opinions"),
        lambda: ledger.reserve([loss]),
        lambda: Ledger("ada", budget=budget, entries=[entry]),
        lambda: Ledger("ada", budget=budget, held_entries=[entry]),
    ):
        with pytest.raises(PrivacyError, match="use a number of at least 0"):
            act()
    assert (ledger.entries, ledger.spent, ledger.reserved) == ((), 0.0, 0.0)


def test_a_loss_with_a_field_replaced_is_checked_again() -> None:
    """As msgspec does from 0.21 on; before, what was replaced had no proven loss."""
    loss = msgspec.structs.replace(loss_of(0.5), event=RandomizedResponse(2.0, 2), proven=math.nan)
    assert loss.proven == 2.0
    with pytest.raises(PrivacyError, match=r"proven is .*: use at least"):
        msgspec.structs.replace(loss, proven=0.5)


def test_a_check_adds_up_all_losses_and_charges_none() -> None:
    ledger = Ledger("ada", budget=Budget(epsilon=1.0))
    ledger.check([loss_of(0.5, unit="weight"), loss_of(0.5)])
    with pytest.raises(BudgetExceededError) as caught:
        ledger.check([loss_of(0.5, unit="weight"), loss_of(0.5), loss_of(0.25)])
    assert (caught.value.requested, caught.value.remaining) == (1.25, 1.0)
    assert "weight" in caught.value.unit
    assert "opinion" in caught.value.unit
    assert (ledger.entries, ledger.spent) == ((), 0.0)


def test_a_replace_one_loss_is_refused_by_an_add_remove_one_budget() -> None:
    ledger = Ledger("ada", budget=Budget(epsilon=9.0, relation=ADD_OR_REMOVE))
    with pytest.raises(PrivacyError, match="a loss for replace-one neighbors bounds nothing for add-remove") as caught:
        ledger.check([added_or_removed(0.5), loss_of(0.1)])
    assert not isinstance(caught.value, BudgetExceededError)
    for refused in (ledger.reserve, ledger.check):
        with pytest.raises(PrivacyError, match="add-remove-one"):
            refused([loss_of(0.1)])
    with pytest.raises(PrivacyError, match="add-remove-one"):
        charge(ledger, loss_of(0.1))
    assert (ledger.entries, ledger.reserved, ledger.spent) == ((), 0.0, 0.0)


@pytest.mark.parametrize("relation", [REPLACE, None])
def test_an_add_remove_one_loss_counts_twice_in_a_replace_one_budget(relation: NeighboringRelation | None) -> None:
    ledger = Ledger("ada", budget=Budget(epsilon=2.5, relation=relation))
    held = ledger.reserve([loss_of(0.5), added_or_removed(0.5)])
    assert (ledger.reserved, ledger.remaining) == (1.5, 1.0)
    with pytest.raises(
        BudgetExceededError, match=r"holds epsilon = 1, requested 1\.5 \(unit: opinion, replace-one neighb"
    ):
        charge(ledger, added_or_removed(0.75))
    receipt = held.charge(added_or_removed(0.5), session="spring", phase="opinions")
    assert (receipt.total, receipt.remaining, receipt.entry.proven) == (1.0, 1.5, 0.5)
    held.release()
    charge(ledger, added_or_removed(0.75))
    assert (ledger.spent, ledger.remaining, ledger.relation) == (2.5, 0.0, REPLACE)


@pytest.mark.parametrize("epsilon", [-1e-9, -1.0, math.nan])
def test_a_budget_that_is_negative_or_no_number_is_refused(epsilon: float) -> None:
    with pytest.raises(ConfigurationError, match=r"budget is .*: use at least 0"):
        Budget(epsilon=epsilon)


def planned(losses: list[float]) -> float:
    """Return the least float that is no less than what losses add up to."""
    exact = sum(map(Fraction, losses), start=Fraction(0))
    nearest = float(exact)
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)


@pytest.mark.parametrize("losses", [[0.1, 0.2], [0.1] * 3, [0.1] * 10, [0.7 / 3] * 3, [0.1] * 100, [1e-300, 1.0]])
def test_losses_fit_into_what_they_add_up_to_and_into_nothing_less(losses: list[float]) -> None:
    """Ten losses of 0.1, a float that is a little more, are a little more than 1: the error says by how much."""
    total = planned(losses)
    ledger = Ledger("ada", budget=Budget(epsilon=total))
    ledger.check(map(loss_of, losses))
    charge(ledger, *map(loss_of, losses))
    assert (ledger.spent, Ledger("ada", entries=ledger.entries).spent, ledger.total()) == (total,) * 3
    with pytest.raises(BudgetExceededError):
        charge(ledger, loss_of(total))
    less = Ledger("ada", budget=Budget(epsilon=math.nextafter(total, 0)))
    with pytest.raises(BudgetExceededError) as caught:
        less.check(map(loss_of, losses))
    assert caught.value.least == total
    assert f"a budget of {total!r} would hold it" in str(caught.value) or f"{total:g}" != f"{caught.value.remaining:g}"


@hypothesis.given(
    st.lists(st.floats(min_value=0, max_value=3), max_size=30),
    st.floats(min_value=0, max_value=10),
    st.integers(0, 3),
)
def test_what_is_admitted_is_what_fits_as_exact_numbers(losses: list[float], budget: float, kind: int) -> None:
    """Charged by itself or out of reserved room, under a person's budget or a datum's."""
    limits = Budget(epsilon=budget) if kind % 2 else Budget(epsilon=math.inf, datum=budget)
    ledger, admitted = Ledger("ada", budget=limits), Fraction(0)
    for epsilon in losses:
        fits = admitted + Fraction(epsilon) <= Fraction(budget)
        room: Reservation | None = None
        with contextlib.suppress(BudgetExceededError):
            room = ledger.reserve([loss_of(epsilon)])
        assert fits is (room is not None)
        if room is None:
            continue
        if kind > 1:
            room.release()
        (room if kind < 2 else ledger).charge(loss_of(epsilon), session="spring", phase="opinions")
        admitted += Fraction(epsilon)
    assert admitted <= Fraction(budget)
    assert ledger.spent == planned([each.proven for each in ledger.entries]) >= admitted
    assert ledger.reserved == 0
    if kind % 2:
        assert 0 <= Fraction(budget) - admitted - Fraction(ledger.remaining) < Fraction(math.ulp(budget))


@pytest.mark.parametrize("tiny", [5e-324, 1e-300, 1e-9])
def test_a_budget_of_nothing_holds_nothing(tiny: float) -> None:
    for budget in (Budget(epsilon=0.0), Budget(epsilon=0.0, delta=1e-6), Budget(epsilon=1.0, datum=0.0)):
        with pytest.raises(BudgetExceededError):
            Ledger("ada", budget=budget).check([loss_of(tiny)])
        Ledger("ada", budget=budget).check([loss_of(0.0), loss_of(1.0, event=NoRelease())])


@hypothesis.given(
    st.lists(st.tuples(st.floats(min_value=1e-3, max_value=3), st.integers(1, 9)), max_size=9),
    st.floats(min_value=0, max_value=10),
    st.sampled_from([1e-12, 1e-6, 0.1]),
)
def test_a_filter_admits_no_more_than_its_formula_with_many_digits(
    losses: list[tuple[float, int]], budget: float, delta: float
) -> None:
    ledger = Ledger("ada", budget=Budget(epsilon=budget, delta=delta))
    for epsilon, count in losses:
        with contextlib.suppress(BudgetExceededError):
            charge(ledger, loss_of(epsilon, event=SelfComposed(PureMechanism(epsilon), count)))
        events = [each.event for each in ledger.entries]
        parts = [
            (Fraction(each.event.epsilon), each.count)
            for each in events
            if isinstance(each, SelfComposed) and isinstance(each.event, PureMechanism)
        ]
        pure = sum((count * part for part, count in parts), start=Fraction(0))
        rho = sum((count * part**2 / 2 for part, count in parts), start=Fraction(0))
        with decimal.localcontext(prec=200):
            total, square = (decimal.Decimal(each.numerator) / each.denominator for each in (pure, rho))
            whole = min(total, square + 2 * (square * -decimal.Decimal(delta).ln()).sqrt())
            assert whole <= decimal.Decimal(budget)
            assert decimal.Decimal(ledger.spent) >= whole
        ledger.check([loss_of(ledger.remaining)])


def test_tighter_composition_is_never_above_the_total() -> None:
    ledger = Ledger("ada")
    charge(ledger, *[loss_of(0.25)] * 40, loss_of(3.0, model=CENTRAL))
    total = ledger.total(relation=REPLACE, model=LOCAL)
    assert 0 < ledger.approximate_total(relation=REPLACE, model=LOCAL, delta=1e-6) < total
    assert ledger.approximate_total(relation=REPLACE, model=CENTRAL, delta=1e-12) <= 3.0
    assert ledger.approximate_total(delta=1e-6) < total + 3.0
    with pytest.raises(PrivacyError, match="bounds nothing for add-remove-one"):
        ledger.approximate_total(relation=ADD_OR_REMOVE, model=LOCAL, delta=1e-6)


def test_delta_is_spent_once_over_all_relations_and_models() -> None:
    """Two binary randomized responses at ε = 1: e^ε = ((e/(1+e))² − δ)·(1+e)², exactly; 1.793 at δ = .1.

    Each by itself with all of δ would give 1.706, whose true δ is .128.
    """
    exact = math.log((math.e / (1 + math.e)) ** 2 - 0.1) + 2 * math.log(1 + math.e)
    ledger = Ledger("ada")
    charge(ledger, loss_of(1.0), loss_of(1.0, model=CENTRAL))
    found = ledger.approximate_total(delta=0.1)
    assert exact == pytest.approx(1.793, abs=5e-4)
    assert exact - 1e-12 <= found <= exact + 3e-4  # dp_accounting rounds losses up to multiples of 1e-4
    alone = sum(ledger.approximate_total(model=model, delta=0.1) for model in (LOCAL, CENTRAL))
    assert alone == pytest.approx(1.706, abs=1e-3)


def test_tighter_composition_counts_an_added_person_twice_too() -> None:
    """Of the group of two, as one mechanism with twice the sensitivity: at δ = 0 its loss is twice as great."""
    ledger, doubled = Ledger("ada"), Ledger("bob")
    laplace = DiscreteLaplaceNoise(1.0, 1)
    charge(ledger, *[loss_of(0.5), loss_of(1.0, relation=ADD_OR_REMOVE, model=CENTRAL, event=laplace)] * 5)
    charge(doubled, *[loss_of(0.5), loss_of(2.0, model=CENTRAL, event=DiscreteLaplaceNoise(1.0, 2))] * 5)
    assert ledger.approximate_total(delta=1e-3) == doubled.approximate_total(delta=1e-3) < ledger.total() == 12.5
    mixed = Composed((PureMechanism(0.5), SelfComposed(DiscreteLaplaceNoise(4.0, 1), 3), NoRelease()))
    charge(ledger, loss_of(1.25, relation=ADD_OR_REMOVE, model=CENTRAL, event=mixed))
    group = Composed((PureMechanism(1.0), SelfComposed(DiscreteLaplaceNoise(4.0, 2), 3)))
    charge(doubled, loss_of(2.5, model=CENTRAL, event=group))
    assert ledger.approximate_total(delta=1e-3) == doubled.approximate_total(delta=1e-3) < ledger.total() == 15.0


@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-10])
@pytest.mark.parametrize("numbers", [(40, 8, 2), (0, 3, 30), (200, 1, 1)])
def test_totals_and_budgets_at_a_delta_hold_by_the_exact_law_of_mixed_losses(
    numbers: tuple[int, int, int], delta: float
) -> None:
    """Of so many binary randomized responses at .1, .5 and 1: P[L > ε] less e^ε times the other's, by convolution.

    No total is below what the law has, nor is a budget that admits all of them.
    """
    losses = [loss for loss, number in zip((0.1, 0.5, 1.0), numbers, strict=True) for _ in range(number)]
    law = np.ones(1)
    for loss in losses:
        keep = 1 / (1 + math.exp(-loss))
        one = np.zeros(round(20 * loss) + 1)
        one[0], one[-1] = 1 - keep, keep
        law = np.convolve(law, one)
    sums = (np.arange(len(law)) - len(law) // 2) / 10

    def exact(epsilon: float) -> float:
        above = sums > epsilon
        return float(-law[above] @ np.expm1(epsilon - sums[above]))

    rho = sum(loss**2 for loss in losses) / 2
    budget = Budget(epsilon=epsilon_of_rho(rho, delta) + 1e-9, delta=delta)
    ledger = Ledger("ada", budget=budget)
    charge(ledger, *map(loss_of, losses))
    total = ledger.approximate_total(delta=delta)
    assert exact(total) <= delta < exact(total - 0.05)
    assert exact(min(budget.epsilon, sum(losses))) <= delta


# Budgets with a δ


def test_what_remains_of_a_budget_with_a_delta_fits_and_no_more() -> None:
    ledger = Ledger("ada", budget=Budget(epsilon=1.0, delta=1e-6))
    charge(ledger, *[loss_of(0.01)] * 300)
    held = ledger.reserve([loss_of(0.01)] * 20)
    left = ledger.remaining
    ledger.check([loss_of(left)])
    with pytest.raises(BudgetExceededError) as caught:
        ledger.check([loss_of(left + 1e-6)])
    assert caught.value.remaining == left > 0
    held.release()
    assert ledger.remaining > left


def test_the_filter_counts_mechanisms_and_not_phases() -> None:
    """A report of 300 answers at .01 is 300 mechanisms: it fits where one of ε = 3 does not."""
    ledger = Ledger("ada", budget=Budget(epsilon=1.0, delta=1e-6))
    with pytest.raises(BudgetExceededError):
        ledger.check([loss_of(3.0)])
    charge(ledger, loss_of(3.0, event=SelfComposed(RandomizedResponse(0.01, 2), 300)))
    assert ledger.spent == pytest.approx(0.015 + math.sqrt(2 * math.log(1e6) * 0.03))


def test_the_filter_counts_an_added_person_twice() -> None:
    ledger = Ledger("ada", budget=Budget(epsilon=1.0, delta=1e-6))
    with pytest.raises(BudgetExceededError):
        charge(ledger, *[added_or_removed(0.005)] * 1000)
    assert len(ledger.entries) == 349


@pytest.mark.parametrize(
    "num_sessions", [200, *(pytest.param(number, marks=pytest.mark.full("as of 200")) for number in (500, 2000))]
)
def test_a_filter_holds_where_whoever_asks_stops_as_it_likes(num_sessions: int) -> None:
    """Binary randomized response at ε = .1, again and again; exact, by the best rule for stopping.

    The loss walks up and down by .1. What is shown at a stop is compared with (ε, δ): the least δ that is true of a
    rule is the mean of (1 − e^(ε − loss))⁺ where it stops, and the best rule is found backwards.
    """
    epsilon, delta = 0.1, 1e-3

    def true_delta(bounds: FloatArray) -> float:
        """Return δ of the best rule, where the bound after n sessions is `bounds[n]`."""
        up = math.exp(epsilon) / (1 + math.exp(epsilon))
        number = len(bounds) - 1
        value = np.zeros(number + 2)
        for count in range(number, -1, -1):
            losses = epsilon * (2 * np.arange(count + 1) - count)
            stops = np.maximum(0.0, -np.expm1(bounds[count] - losses))
            value = stops if count == number else np.maximum(stops, up * value[1:] + (1 - up) * value[:-1])
        return float(value[0])

    budget = Budget(epsilon=epsilon_of_rho(num_sessions * epsilon**2 / 2, delta) * (1 + 1e-12), delta=delta)
    ledger = Ledger("ada", budget=budget)
    with pytest.raises(BudgetExceededError):
        charge(ledger, *[loss_of(epsilon)] * (num_sessions + 1))
    assert len(ledger.entries) == num_sessions
    assert true_delta(np.full(num_sessions + 1, budget.epsilon)) <= delta


@pytest.mark.parametrize("delta", [-1e-9, 1.0, 2.0, math.nan])
def test_a_delta_that_is_none_is_refused(delta: float) -> None:
    with pytest.raises(ConfigurationError, match=r"delta is .*: use a value of at least 0 and below 1"):
        Budget(epsilon=1.0, delta=delta)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_what_is_not_private_passes_every_finite_budget(delta: float) -> None:
    ledger = Ledger("ada", budget=Budget(epsilon=1e300, delta=delta))
    with pytest.raises(BudgetExceededError):
        ledger.reserve([loss_of(1.0, event=NonPrivate())])
    boundless = Ledger("ada", budget=Budget(epsilon=math.inf, delta=delta))
    held = boundless.reserve([loss_of(1.0, event=NonPrivate())])
    held.charge(loss_of(1.0, event=NonPrivate()), session="spring", phase="opinions")
    held.release()
    assert (boundless.spent, boundless.reserved, boundless.remaining) == (math.inf, 0.0, math.inf)


def test_a_population_loses_what_its_greatest_loser_loses() -> None:
    """A person with two ledgers pays on both; what is stated for replacements is in no other total."""
    ledgers = [Ledger(name) for name in ("ada", "ben", "ben", "cyd")]
    charge(ledgers[0], loss_of(0.5), loss_of(9.0, model=CENTRAL))
    charge(ledgers[1], loss_of(0.75))
    charge(ledgers[2], loss_of(0.75))
    charge(ledgers[3], added_or_removed(1.0))
    assert [compose_parallel(ledgers, model=model) for model in (LOCAL, CENTRAL, None)] == [1.5, 9.0, 9.5]
    assert compose_parallel(ledgers[3:], relation=ADD_OR_REMOVE) == 1.0
    assert compose_parallel([]) == 0.0
    with pytest.raises(PrivacyError, match="bounds nothing for add-remove-one"):
        compose_parallel(ledgers, relation=ADD_OR_REMOVE)


# A part of a unit


def loss_with_part(part: PartLoss | None, *, number: int = 3) -> PrivacyLoss:
    event = SelfComposed(RandomizedResponse(0.1, 2), number)
    return makers.loss_of(mechanism="randomized response", event=event, claimed=0.1 * number, part=part)


def part_of(proven: float) -> PartLoss:
    return PartLoss(unit="answer", claimed=0.1, proven=proven)


def test_a_part_may_lose_less_than_its_whole_or_as_much_up_to_rounding() -> None:
    """0.1 + 0.1 + 0.1 is a little more than 0.3 in floating point."""
    assert loss_with_part(None).part is None
    for proven in (0.0, 0.1, 0.3, 0.1 + 0.1 + 0.1):
        assert loss_with_part(part_of(proven)).part == part_of(proven)


@pytest.mark.parametrize("proven", [0.3 + 1e-8, 0.31, 5.0, math.inf])
def test_a_part_that_loses_more_than_its_whole_is_refused(proven: float) -> None:
    with pytest.raises(PrivacyError, match=r"a part of 'voter' loses .*, the whole only 0\.3"):
        loss_with_part(part_of(proven))


def test_a_part_is_recorded_and_not_added() -> None:
    ledger = Ledger("ann", budget=Budget(epsilon=0.65))
    loss = loss_with_part(part_of(0.1))
    reservation = ledger.reserve([loss, loss])
    assert ledger.reserved == pytest.approx(0.6)
    reservation.charge(loss, session="spring", phase="answers")
    assert [entry.part for entry in ledger.entries] == [part_of(0.1)]
    assert ledger.spent == pytest.approx(0.3)
    assert ledger.total(relation=REPLACE, model=LOCAL, unit="answer") == 0
    reservation.release()
    assert ledger.remaining == pytest.approx(0.35)


@pytest.mark.parametrize("part", [None, part_of(0.2)])
def test_the_finest_loss_is_that_of_the_part_or_of_the_whole(part: PartLoss | None) -> None:
    loss = loss_with_part(part)
    whole = PartLoss(unit=loss.unit, claimed=loss.claimed, proven=loss.proven)
    assert loss.finest_loss == (part or whole)
    entry = LedgerEntry.from_loss(loss, person="ada", session="spring", phase="answers")
    assert (entry.part, entry.finest_loss) == (part, loss.finest_loss)


def kept_entry(loss: PrivacyLoss) -> LedgerEntry:
    """Return the line of an earlier session, in which the person had another name."""
    return LedgerEntry.from_loss(loss, person="G.", session="winter", phase="opinions")


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("relation", [REPLACE, ADD_OR_REMOVE])
def test_a_ledger_goes_on_from_its_entries_and_held_room(delta: float, relation: NeighboringRelation) -> None:
    """It stands where a ledger stands that has lived through all of it."""
    losses = [added_or_removed(epsilon) for epsilon in (0.1, 0.2, 0.3)]
    budget = Budget(epsilon=2.0, delta=delta, relation=relation)
    lived = Ledger("Germany", budget=budget)
    charge(lived, losses[0], losses[1])
    lived.reserve([losses[2]])
    resumed = Ledger("Germany", budget=budget, entries=lived.entries, held_entries=[kept_entry(losses[2])])
    assert resumed.entries == lived.entries
    for both in (lived, resumed):
        charge(both, losses[1])
    assert resumed.entries == lived.entries
    assert (resumed.spent, resumed.reserved, resumed.remaining) == (lived.spent, lived.reserved, lived.remaining)
    assert resumed.total() == lived.total()


def test_what_happened_is_on_the_ledger_whatever_the_budget_says_now() -> None:
    ledger = Ledger("Germany", budget=Budget(epsilon=1.0), entries=[kept_entry(loss_of(2.5))])
    assert (ledger.spent, ledger.remaining) == (2.5, 0.0)
    assert ledger.entries == (kept_entry(loss_of(2.5)),)
    with pytest.raises(BudgetExceededError):
        charge(ledger, loss_of(0.1))
    held = Ledger("Germany", budget=Budget(epsilon=1.0), held_entries=[kept_entry(loss_of(1.5))])
    assert (held.spent, held.reserved, held.remaining) == (0.0, 1.5, 0.0)


def test_held_room_is_never_given_back() -> None:
    ledger = Ledger("Germany", budget=Budget(epsilon=3.0), held_entries=[kept_entry(loss_of(1.0))])
    reservation = ledger.reserve([loss_of(2.0)])
    with pytest.raises(BudgetExceededError):
        ledger.reserve([loss_of(0.5)])
    reservation.charge(loss_of(2.0), session="spring", phase="opinions")
    reservation.release()
    reservation.release()
    assert (ledger.spent, ledger.reserved, ledger.remaining) == (2.0, 1.0, 0.0)


def test_an_earlier_loss_that_counts_in_no_total_of_the_relation_is_refused() -> None:
    budget = Budget(epsilon=3.0, relation=ADD_OR_REMOVE)
    with pytest.raises(PrivacyError):
        Ledger("Germany", budget=budget, entries=[kept_entry(loss_of(1.0))])
    with pytest.raises(PrivacyError):
        Ledger("Germany", budget=budget, held_entries=[kept_entry(loss_of(1.0))])


def test_a_cap_of_a_datum_adds_what_each_session_tells_of_the_smallest_unit() -> None:
    """Three answers at 0.1 each: the budget holds ten sessions, and what is said of one question two."""
    ledger = Ledger("ann", budget=Budget(epsilon=3.0, datum=0.25))
    loss = loss_with_part(part_of(0.1))
    reservation = ledger.reserve([loss, loss])
    with pytest.raises(BudgetExceededError, match=r"of one datum holds epsilon = 0\.05, requested 0\.1 \(unit: answer"):
        ledger.check([loss])
    reservation.charge(loss, session="first", phase="answers")
    reservation.release()
    ledger.charge(loss, session="second", phase="answers")
    with pytest.raises(BudgetExceededError) as caught:
        ledger.charge(loss, session="third", phase="answers")
    assert caught.value.cap == "datum"
    assert [entry.session for entry in ledger.entries] == ["first", "second"]
    with pytest.raises(BudgetExceededError):  # earlier losses count, and a whole unit where no part is stated
        Ledger("ann", budget=Budget(epsilon=3.0, datum=0.25), entries=ledger.entries).check([loss_of(0.1)])
    Ledger("ann", budget=Budget(epsilon=3.0), entries=ledger.entries).check([loss] * 5)
    with pytest.raises(ConfigurationError, match=r"budget_datum is .*: use at least 0"):
        Budget(epsilon=1.0, datum=-1.0)


def test_each_cap_counts_a_loss_as_often_as_the_total_does() -> None:
    """So many losses fit as the cap holds of them, to the last bit, and not one more: charged, reserved or earlier."""
    parts = (None, PartLoss(unit="answer", claimed=0.125, proven=0.125))
    for cap, (relation, times), part in itertools.product(
        ("epsilon", "datum"), ((REPLACE, 1), (ADD_OR_REMOVE, 2)), parts
    ):
        loss = makers.loss_of(0.5, mechanism="discrete Laplace noise", relation=relation, model=CENTRAL, part=part)
        counted = times * (loss.finest_loss.proven if cap == "datum" else loss.proven)
        for number in (1, 2, 5):
            for most, fits in ((number * counted, True), (math.nextafter(number * counted, 0), False)):
                budget = Budget(epsilon=math.inf, datum=most) if cap == "datum" else Budget(epsilon=most)
                admitting = contextlib.nullcontext() if fits else pytest.raises(BudgetExceededError)
                with admitting:
                    charge(Ledger("ada", budget=budget), *[loss] * number)
                with admitting:
                    Ledger("ada", budget=budget).reserve([loss] * number)
                with admitting:
                    Ledger("ada", budget=budget, entries=[kept_entry(loss)] * (number - 1)).check([loss])
                with admitting:
                    Ledger("ada", budget=budget, held_entries=[kept_entry(loss)] * (number - 1)).check([loss])


def test_what_one_session_gives_back_leaves_the_room_of_others_at_a_delta() -> None:
    """Losses whose pure sum is far above ε fit at δ: what is reserved for them is held by ρ, session by session."""

    def many(number: int) -> PrivacyLoss:
        event = SelfComposed(RandomizedResponse(epsilon=0.01, num_choices=2), number)
        return loss_of(number * 0.01, event=event)

    ledger = Ledger("p", budget=Budget(epsilon=3.0, delta=1e-6))
    first, second = ledger.reserve([many(1_000)]), ledger.reserve([many(1_800)])
    first.release()
    with pytest.raises(BudgetExceededError):
        ledger.reserve([many(1_600)])
    second.charge(many(1_800), session="second", phase="answers")
    with pytest.raises(BudgetExceededError):
        ledger.reserve([many(1_600)])
    assert ledger.reserve([many(1_000)]) is not None
