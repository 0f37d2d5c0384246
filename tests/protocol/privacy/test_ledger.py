"""The ledger: totals by relation, model and unit; budgets that refuse before anything is charged; floating point."""

import math

import hypothesis
import pytest
from hypothesis import strategies as st
from psephos.protocol.errors import BudgetExceededError, ConfigurationError, PrivacyError, UnsupportedEventError
from psephos.protocol.privacy import (
    Budget,
    DiscreteLaplaceNoise,
    Ledger,
    LedgerEntry,
    NeighboringRelation,
    NonPrivate,
    PartLoss,
    PrivacyEvent,
    PrivacyLoss,
    RandomizedResponse,
    SelfComposed,
    TrustModel,
    compose_parallel,
)

REPLACE = NeighboringRelation.REPLACE_ONE
ADD_OR_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
LOCAL, CENTRAL = TrustModel.LOCAL, TrustModel.CENTRAL

# What typed decimals and sums of quotients may miss by; a person's loss may pass the budget by no more.
ROUNDING = 1e-9


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


def charge(ledger: Ledger, *losses: PrivacyLoss) -> None:
    for loss in losses:
        ledger.charge(loss, session="spring", phase="opinions")


def test_the_proven_loss_is_derived_from_the_event_and_not_from_the_claim() -> None:
    loss = PrivacyLoss(
        mechanism="discrete Laplace",
        event=DiscreteLaplaceNoise(4.0, 3),
        unit="w",
        relation=REPLACE,
        model=LOCAL,
        claimed=9,
    )
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


def test_room_that_a_session_holds_is_no_other_session_s() -> None:
    ledger = Ledger("ada", budget=Budget(epsilon=1.0))
    held = ledger.reserve([loss_of(0.5), loss_of(0.25)])
    assert (ledger.remaining, ledger.spent) == (0.25, 0.0)
    with pytest.raises(BudgetExceededError):
        ledger.reserve([loss_of(0.5)])
    receipt = held.charge(loss_of(0.5), session="spring", phase="opinions")
    assert (receipt.total, receipt.remaining) == (0.5, 0.5)
    assert ledger.remaining == 0.25
    held.release()
    held.release()
    assert ledger.remaining == 0.5


def test_what_a_session_has_left_after_a_charge_is_all_that_it_gives_back() -> None:
    """Room that another session holds stays, however often and in whatever order they end."""
    ledger = Ledger("ada", budget=Budget(epsilon=8.0))
    first, second = ledger.reserve([loss_of(0.5), loss_of(0.25), loss_of(2.0)]), ledger.reserve([loss_of(1.0)])
    assert (ledger.reserved, ledger.remaining) == (3.75, 4.25)
    first.charge(loss_of(0.5), session="spring", phase="opinions")
    assert (ledger.reserved, ledger.spent, ledger.remaining) == (3.25, 0.5, 4.25)
    first.charge(loss_of(0.25), session="spring", phase="opinions")
    assert (ledger.reserved, ledger.spent, ledger.remaining) == (3.0, 0.75, 4.25)
    for _ in range(2):
        first.release()
        assert (ledger.reserved, ledger.spent, ledger.remaining) == (1.0, 0.75, 6.25)
    second.release()
    assert (ledger.reserved, ledger.remaining) == (0.0, 7.25)


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


def test_of_unbounded_room_nothing_is_left_and_that_is_a_number() -> None:
    ledger = Ledger("ada")
    held = ledger.reserve([loss_of(0.5, event=NonPrivate()), loss_of(0.5)])
    assert ledger.reserved == math.inf
    held.charge(loss_of(0.5, event=NonPrivate()), session="spring", phase="opinions")
    assert ledger.reserved == 0.0
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


def test_a_person_with_two_ledgers_pays_on_both() -> None:
    ledgers = [Ledger(name) for name in ("ada", "bob", "bob")]
    for ledger in ledgers:
        charge(ledger, loss_of(0.5))
    assert compose_parallel(ledgers, relation=REPLACE, model=LOCAL) == 1.0


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


def test_one_line_may_stand_for_a_population() -> None:
    entry = LedgerEntry.of(loss_of(0.5), person="each of 7 partners", session="s", phase="p", num_persons=7)
    assert (entry.person, entry.num_persons, entry.proven) == ("each of 7 partners", 7, 0.5)


def test_a_charge_shows_the_totals_after_it() -> None:
    ledger = Ledger("ada", budget=Budget(epsilon=2.0))
    receipts = [ledger.charge(loss_of(x), session="s", phase="p") for x in (0.5, 0.25, 1.0)]
    assert [(receipt.total, receipt.remaining) for receipt in receipts] == [(0.5, 1.5), (0.75, 1.25), (1.75, 0.25)]


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
    assert ledger.total(relation=REPLACE, model=CENTRAL) == 2.0
    assert ledger.total(relation=ADD_OR_REMOVE, model=CENTRAL) == 2.0
    assert ledger.total(relation=ADD_OR_REMOVE, model=LOCAL) == 0.0
    assert ledger.spent == 5.0


def test_without_a_budget_everything_is_recorded_and_nothing_refused() -> None:
    ledger = Ledger("ada")
    assert ledger.remaining == math.inf
    ledger.check([loss_of(0.5, event=NonPrivate())])
    charge(ledger, loss_of(0.5, event=NonPrivate()))
    assert ledger.spent == math.inf
    assert ledger.remaining == math.inf


def test_a_loss_beyond_the_budget_is_refused_and_nothing_is_charged() -> None:
    ledger = Ledger("ada", budget=Budget(epsilon=1.0))
    charge(ledger, loss_of(0.75))
    with pytest.raises(BudgetExceededError, match="nothing was drawn") as caught:
        charge(ledger, loss_of(0.5))
    assert (caught.value.requested, caught.value.remaining, caught.value.unit) == (0.5, 0.25, "opinion")
    assert (len(ledger.entries), ledger.spent, ledger.remaining) == (1, 0.75, 0.25)
    charge(ledger, loss_of(0.25))
    assert ledger.remaining == 0.0


def test_a_check_adds_up_all_losses_and_charges_none() -> None:
    ledger = Ledger("ada", budget=Budget(epsilon=1.0))
    ledger.check([loss_of(0.5, unit="weight"), loss_of(0.5)])
    with pytest.raises(BudgetExceededError) as caught:
        ledger.check([loss_of(0.5, unit="weight"), loss_of(0.5), loss_of(0.25)])
    assert (caught.value.requested, caught.value.remaining) == (1.25, 1.0)
    assert "weight" in caught.value.unit
    assert "opinion" in caught.value.unit
    assert (ledger.entries, ledger.spent) == ((), 0.0)


def test_a_loss_under_another_relation_than_the_budget_is_refused() -> None:
    ledger = Ledger("ada", budget=Budget(epsilon=9.0))
    other = loss_of(0.1, relation=ADD_OR_REMOVE, model=CENTRAL, event=DiscreteLaplaceNoise(10.0, 1))
    with pytest.raises(PrivacyError, match="add-remove-one neighbors, the budget for replace-one") as caught:
        ledger.check([loss_of(0.1), other])
    assert not isinstance(caught.value, BudgetExceededError)
    with pytest.raises(PrivacyError, match="add-remove-one"):
        charge(ledger, other)
    assert ledger.entries == ()


def test_a_budget_under_add_or_remove_takes_losses_of_its_own_relation() -> None:
    ledger = Ledger("ada", budget=Budget(epsilon=0.5, relation=ADD_OR_REMOVE))
    charge(ledger, loss_of(0.5, relation=ADD_OR_REMOVE, model=CENTRAL, event=DiscreteLaplaceNoise(2.0, 1)))
    assert ledger.remaining == 0.0


def test_a_budget_is_held_against_both_models_together() -> None:
    ledger = Ledger("ada", budget=Budget(epsilon=1.0))
    charge(ledger, loss_of(0.75), loss_of(0.25, model=CENTRAL))
    with pytest.raises(BudgetExceededError):
        charge(ledger, loss_of(0.25, model=CENTRAL))


def test_a_non_private_release_fits_into_no_finite_budget() -> None:
    with pytest.raises(BudgetExceededError):
        charge(Ledger("ada", budget=Budget(epsilon=1e300)), loss_of(1.0, event=NonPrivate()))


def test_an_infinite_budget_refuses_nothing() -> None:
    ledger = Ledger("ada", budget=Budget(epsilon=math.inf))
    charge(ledger, loss_of(1.0, event=NonPrivate()), loss_of(0.5))
    assert len(ledger.entries) == 2
    assert ledger.remaining == math.inf


@pytest.mark.parametrize("epsilon", [-1e-9, -1.0, math.nan])
def test_a_budget_that_is_negative_or_no_number_is_refused(epsilon: float) -> None:
    with pytest.raises(ConfigurationError, match="budget must be at least 0"):
        Budget(epsilon=epsilon)


def test_a_budget_of_nothing_refuses_every_loss() -> None:
    ledger = Ledger("ada", budget=Budget(epsilon=0.0))
    ledger.check([])
    with pytest.raises(BudgetExceededError):
        ledger.check([loss_of(1e-3)])


@pytest.mark.parametrize(
    ("budget", "losses"),
    [(0.3, [0.1, 0.2]), (0.3, [0.1] * 3), (1.0, [0.1] * 10), (0.7, [0.7 / 3] * 3), (10.0, [0.1] * 100)],
)
def test_decimal_losses_fit_into_their_decimal_sum(budget: float, losses: list[float]) -> None:
    Ledger("ada", budget=Budget(epsilon=budget)).check(map(loss_of, losses))
    ledger = Ledger("ada", budget=Budget(epsilon=budget))
    charge(ledger, *map(loss_of, losses))
    assert ledger.remaining == pytest.approx(0, abs=1e-12)
    with pytest.raises(BudgetExceededError):
        charge(ledger, loss_of(1e-6))


@hypothesis.given(st.lists(st.floats(min_value=1e-3, max_value=3), max_size=30), st.floats(min_value=0, max_value=10))
def test_whatever_is_asked_the_spent_loss_never_passes_the_budget(losses: list[float], budget: float) -> None:
    ledger = Ledger("ada", budget=Budget(epsilon=budget))
    accepted: list[float] = []
    for epsilon in losses:
        try:
            charge(ledger, loss_of(epsilon))
        except BudgetExceededError:
            assert math.fsum([*accepted, epsilon]) > budget
        else:
            accepted.append(epsilon)
    assert math.fsum(accepted) <= budget + ROUNDING * (1 + 1e-6)
    assert ledger.spent == pytest.approx(math.fsum(accepted))
    assert ledger.remaining == pytest.approx(max(0.0, budget - math.fsum(accepted)), abs=1e-12)


@pytest.mark.parametrize("budget", [0.0, 0.5])
def test_many_tiny_losses_cannot_pass_the_budget_either(budget: float) -> None:
    """The allowance for rounding is made once, not once for every charge."""
    ledger = Ledger("ada", budget=Budget(epsilon=budget))
    if budget:
        charge(ledger, loss_of(budget))
    for _ in range(50):
        try:
            charge(ledger, loss_of(ROUNDING))
        except BudgetExceededError:
            break
    assert ledger.spent <= budget + 2 * ROUNDING


def test_tighter_composition_is_never_above_the_total() -> None:
    ledger = Ledger("ada")
    charge(ledger, *[loss_of(0.25)] * 40, loss_of(3.0, model=CENTRAL))
    total = ledger.total(relation=REPLACE, model=LOCAL)
    assert 0 < ledger.approximate_total(relation=REPLACE, model=LOCAL, delta=1e-6) < total
    assert ledger.approximate_total(relation=REPLACE, model=CENTRAL, delta=1e-12) <= 3.0
    assert ledger.approximate_total(relation=ADD_OR_REMOVE, model=LOCAL, delta=1e-6) == 0.0


def test_a_population_loses_what_its_greatest_loser_loses() -> None:
    ledgers = [Ledger(name) for name in ("ada", "ben", "cyd")]
    charge(ledgers[0], loss_of(0.5), loss_of(9.0, model=CENTRAL))
    charge(ledgers[1], loss_of(0.75), loss_of(0.75))
    assert compose_parallel(ledgers, relation=REPLACE, model=LOCAL) == 1.5
    assert compose_parallel(ledgers, relation=REPLACE, model=CENTRAL) == 9.0
    assert compose_parallel([], relation=REPLACE, model=LOCAL) == 0.0


def test_an_entry_speaks_of_one_person_unless_it_says_otherwise() -> None:
    assert LedgerEntry.of(loss_of(0.5), person="ada", session="spring", phase="opinions").num_persons == 1


# A part of a unit


def loss_with_part(part: PartLoss | None, *, number: int = 3) -> PrivacyLoss:
    """Return the loss of so many answers at ε = 0.1, with what one of them loses."""
    return PrivacyLoss(
        mechanism="randomized response",
        event=SelfComposed(RandomizedResponse(0.1, 2), number),
        unit="voter",
        relation=REPLACE,
        model=LOCAL,
        claimed=0.1 * number,
        part=part,
    )


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


def test_a_line_without_a_part_says_so() -> None:
    entry = LedgerEntry.of(loss_of(0.5), person="ann", session="s", phase="p")
    assert entry.part is None
    assert LedgerEntry.of(loss_with_part(part_of(0.2)), person="ann", session="s", phase="p").part == part_of(0.2)
