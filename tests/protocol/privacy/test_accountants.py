"""Accountants against known values: pure sums, and composed distributions computed by hand."""

import functools
import math
import sys
from fractions import Fraction

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from psephos.protocol.elementary import quotient_up
from psephos.protocol.errors import ConfigurationError, UnsupportedEventError
from psephos.protocol.mechanisms import optimal
from psephos.protocol.mechanisms.polya import share_masses
from psephos.protocol.privacy import (
    ApproximateAccountant,
    Composed,
    DiscreteLaplaceNoise,
    Ledger,
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
    accountants,
)

REPLACE = NeighboringRelation.REPLACE_ONE
ADD_OR_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE


def composed_binary_delta(epsilon: float, times: int, at: float) -> float:
    """Return δ(ε') of binary randomized response `times` times: Σ_j C(t, j)·max(0, p^j q^(t−j) − e^ε' p^(t−j) q^j)."""
    keep = 1 / (1 + math.exp(-epsilon))
    terms = (
        math.comb(times, j)
        * max(0.0, keep**j * (1 - keep) ** (times - j) - math.exp(at) * keep ** (times - j) * (1 - keep) ** j)
        for j in range(times + 1)
    )
    return math.fsum(terms)


def exact_composed_epsilon(epsilon: float, times: int, delta: float) -> float:
    """Return the least ε' with δ(ε') ≤ `delta`, by bisection."""
    low, high = 0.0, epsilon * times
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if composed_binary_delta(epsilon, times, middle) <= delta else (middle, high)
    return high


@pytest.mark.parametrize(
    ("event", "epsilon"),
    [
        (NoRelease(), 0.0),
        (RandomizedResponse(0.75, 3), 0.75),
        (RandomizedResponse(0.75, 1), 0.0),
        (RandomizedResponse(0.0, 4), 0.0),
        (LocalRandomizer(0.75), 0.75),
        (LocalRandomizer(0.0), 0.0),
        (SelfComposed(LocalRandomizer(0.5), 6), 3.0),
        (PureMechanism(0.75), 0.75),
        (PureMechanism(0.0), 0.0),
        (SelfComposed(PureMechanism(0.5), 6), 3.0),
        (Composed((PureMechanism(0.5), LocalRandomizer(0.25))), 0.75),
        (DiscreteLaplaceNoise(scale=8.0, sensitivity=4), 0.5),
        (DiscreteLaplaceNoise(scale=8.0, sensitivity=0), 0.0),
        (Composed(()), 0.0),
        (Composed((RandomizedResponse(0.5, 2), DiscreteLaplaceNoise(4.0, 1))), 0.75),
        (SelfComposed(RandomizedResponse(0.5, 2), 6), 3.0),
        (SelfComposed(NonPrivate(), 0), 0.0),
        (SelfComposed(SelfComposed(NonPrivate(), 0), 7), 0.0),
        (SelfComposed(Composed((RandomizedResponse(0.5, 2), SelfComposed(RandomizedResponse(0.25, 2), 2))), 3), 3.0),
        (Composed((NoRelease(), NonPrivate())), math.inf),
    ],
)
def test_pure_losses_worked_by_hand(event: PrivacyEvent, epsilon: float) -> None:
    assert PureAccountant.epsilon_of(event, REPLACE) == epsilon


def test_an_event_by_itself_leaves_no_trace_in_another_accountant() -> None:
    accountant = PureAccountant(REPLACE)
    accountant.compose(RandomizedResponse(0.5, 2))
    assert PureAccountant.epsilon_of(RandomizedResponse(2.0, 2), REPLACE) == 2.0
    assert accountant.epsilon == 0.5


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, math.nan, 2.0])
def test_a_delta_out_of_range_is_refused(delta: float) -> None:
    with pytest.raises(ConfigurationError, match=r"delta is .*: use a value above 0 and below 1") as caught:
        ApproximateAccountant(REPLACE, delta=delta)
    assert caught.value.field == "delta"


def test_a_delta_without_its_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    accountant = ApproximateAccountant(REPLACE, delta=1e-6)
    accountant.compose(RandomizedResponse(1.0, 3))
    with pytest.raises(ConfigurationError, match=r"psephos\[composition\]") as caught:
        _ = accountant.epsilon
    assert caught.value.field == "delta"


@pytest.mark.parametrize(("epsilon", "num_choices"), [(1.0, 2), (1.0, 3), (0.3, 5), (5.0, 3)])
@pytest.mark.parametrize("delta", [1e-6, 1e-2])
def test_one_randomized_response_costs_what_its_law_says(epsilon: float, num_choices: int, delta: float) -> None:
    """One report: δ(ε') = max(0, p − e^ε'·q), so ε(δ) = ln((p − δ)/q)."""
    total = math.exp(epsilon) + num_choices - 1
    exact = math.log((math.exp(epsilon) / total - delta) * total)
    accountant = ApproximateAccountant(REPLACE, delta=delta)
    accountant.compose(RandomizedResponse(epsilon, num_choices))
    assert exact - 1e-9 <= accountant.epsilon <= exact + 2e-4


@pytest.mark.parametrize(("epsilon", "times", "delta"), [(0.1, 40, 1e-6), (0.5, 20, 1e-6), (1.0, 30, 1e-5)])
def test_repeated_randomized_response_costs_what_binomials_say(epsilon: float, times: int, delta: float) -> None:
    """dp_accounting rounds losses upwards to multiples of 1e-4, so the bound is at most times·1e-4 too high."""
    accountant = ApproximateAccountant(REPLACE, delta=delta)
    accountant.compose(RandomizedResponse(epsilon, 2), times)
    exact = exact_composed_epsilon(epsilon, times, delta)
    assert exact - 1e-9 <= accountant.epsilon <= exact + times * 1e-4 + 1e-3
    assert accountant.epsilon < times * epsilon


@pytest.mark.parametrize(
    ("epsilon", "num_choices", "times", "delta"),
    [
        *[(0.01, 2, 1, 1e-12), (1.0, 3, 1, 1e-12), (5.0, 10, 5, 1e-12), (20.0, 2, 2, 1e-12), (99.0, 2, 5, 1e-12)],
        *[(99.0, 1000, 5, 1e-6), (5.0, 1000, 40, 0.1), (1.0, 2, 5, 1e-14), (1.0, 2, 1, 1e-300)],
    ],
)
def test_the_delta_of_what_is_stated_is_not_above_the_one_that_was_asked(
    epsilon: float, num_choices: int, times: int, delta: float
) -> None:
    """By the exact law of so many reports; floats were off by up to 2 % of a δ of 1e-12."""
    accountant = ApproximateAccountant(REPLACE, delta=delta)
    accountant.compose(RandomizedResponse(epsilon, num_choices), times)
    lie = 1 / (math.exp(epsilon) + num_choices - 1)
    law = np.array([lie, 1 - lie * (1 + math.exp(epsilon)) if num_choices > 2 else 0.0, math.exp(epsilon) * lie])
    sums = functools.reduce(np.convolve, [law] * times)
    beyond = accountant.epsilon - np.arange(-times, times + 1) * epsilon
    assert accountant.epsilon <= times * epsilon
    assert -sums[beyond < 0] @ np.expm1(beyond[beyond < 0]) <= delta


def test_one_laplace_draw_costs_what_its_law_says() -> None:
    """δ(ε') = Σ_x max(0, P[x] − e^ε'·P[x − s]), summed over all noise that matters."""
    scale, sensitivity, delta = 4.0, 3, 1e-3
    accountant = ApproximateAccountant(REPLACE, delta=delta)
    accountant.compose(DiscreteLaplaceNoise(scale, sensitivity))
    law = {x: math.tanh(0.5 / scale) * math.exp(-abs(x) / scale) for x in range(-400, 401)}

    def delta_at(at: float) -> float:
        return math.fsum(max(0.0, law[x] - math.exp(at) * law[x - sensitivity]) for x in range(-390, 391))

    assert delta_at(accountant.epsilon) <= delta * (1 + 1e-9)
    assert delta_at(accountant.epsilon - 1e-3) > delta


@pytest.mark.parametrize("honest", [1, 2, 3, 5])
@pytest.mark.parametrize("delta", [1e-6, 1e-2])
def test_a_sum_of_shares_costs_no_less_than_its_law_says(honest: int, delta: float) -> None:
    """Of five planned shares: fewer honest ones are near 0 more often, so that more is lost."""
    scale, moved = 3.0, 2
    accountant = ApproximateAccountant(REPLACE, delta=delta)
    accountant.compose(SharedDiscreteLaplace(scale, moved, 5, honest, 1))
    side = share_masses(scale=scale, planned=5, num_shares=honest)
    law = np.concatenate([side[:0:-1], side])
    excess = np.pad(law, (0, moved)) - math.exp(accountant.epsilon) * np.pad(law, (moved, 0))
    assert excess[excess > 0].sum() <= delta


def test_mixed_events_compose_below_the_sum() -> None:
    approximate, pure = ApproximateAccountant(REPLACE, delta=1e-6), PureAccountant(REPLACE)
    for event in (RandomizedResponse(0.2, 3), DiscreteLaplaceNoise(20.0, 4), RandomizedResponse(0.2, 2)):
        for accountant in (approximate, pure):
            accountant.compose(event, 40)
    assert 0 < approximate.epsilon < pure.epsilon


@pytest.mark.parametrize(
    "event", [RandomizedResponse(1e-17, 2), RandomizedResponse(30.0, 2), RandomizedResponse(1000.0, 2)]
)
def test_every_event_that_is_accepted_has_a_bound(event: RandomizedResponse) -> None:
    """What `compose` has charged must never keep `epsilon` from being read."""
    accountant = ApproximateAccountant(REPLACE, delta=1e-6)
    accountant.compose(event)
    assert 0 <= accountant.epsilon <= event.epsilon


def test_losses_too_large_to_compose_are_added_to_those_that_compose() -> None:
    """Two at 150 add up as they are, on whichever side of the hundred at 0.1, which compose to less than ten."""
    large, small = RandomizedResponse(150.0, 2), RandomizedResponse(0.1, 3)
    alone = ApproximateAccountant(REPLACE, delta=1e-6)
    alone.compose(small, 100)
    assert alone.epsilon < 5
    for first, second in (((large, 2), (small, 100)), ((small, 100), (large, 2))):
        accountant = ApproximateAccountant(REPLACE, delta=1e-6)
        accountant.compose(*first)
        accountant.compose(*second)
        assert accountant.epsilon == pytest.approx(300 + alone.epsilon, rel=1e-12)


@pytest.mark.parametrize(
    "event", [LocalRandomizer(-0.1), LocalRandomizer(math.nan), PureMechanism(-0.1), PureMechanism(math.nan)]
)
def test_a_mechanism_without_a_loss_is_refused(event: LocalRandomizer | PureMechanism) -> None:
    with pytest.raises(UnsupportedEventError, match=r"use an epsilon of at least 0"):
        PureAccountant.epsilon_of(event, REPLACE)


@pytest.mark.few(most=2)
@pytest.mark.parametrize(
    ("epsilon", "times", "delta"), [(1.0, 1, 1e-6), (0.5, 20, 1e-6), (1.0, 30, 1e-5), (3.0, 4, 1e-3)]
)
@pytest.mark.parametrize("kind", [LocalRandomizer, PureMechanism])
def test_any_mechanism_of_an_epsilon_costs_what_the_worst_does(
    kind: type[LocalRandomizer | PureMechanism], epsilon: float, times: int, delta: float
) -> None:
    """Binary randomized response dominates (Kairouz, Oh and Viswanath, 2015): its exact δ bounds theirs, no more."""
    accountant, binary = (ApproximateAccountant(REPLACE, delta=delta) for _ in range(2))
    accountant.compose(kind(epsilon), times)
    binary.compose(RandomizedResponse(epsilon, 2), times)
    exact = exact_composed_epsilon(epsilon, times, delta)
    assert exact - 1e-9 <= accountant.epsilon <= exact + times * 1e-4 + 1e-3
    assert accountant.epsilon == pytest.approx(binary.epsilon, abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_no_randomizer_of_that_epsilon_costs_more(epsilon: float) -> None:
    """k-RR of more choices, and the optimal unbiased report by its own hockey-stick divergence of one release."""
    delta = 1e-2
    local = ApproximateAccountant(REPLACE, delta=delta)
    local.compose(LocalRandomizer(epsilon))
    for num_choices in (3, 10):
        other = ApproximateAccountant(REPLACE, delta=delta)
        other.compose(RandomizedResponse(epsilon, num_choices))
        assert other.epsilon <= local.epsilon + 1e-9
    law = optimal(tuple(map(Fraction, (-3, -2, -1, 1, 2, 3))), epsilon=epsilon).mechanism.channel_matrix()
    for one in law:
        for another in law:
            excess = (max(0.0, p - math.exp(local.epsilon) * q) for p, q in zip(one, another, strict=True))
            assert math.fsum(excess) <= delta


@pytest.mark.parametrize(("scale", "width"), [(1e-3, 1), (1e-3, 5), (2.0**-20, 3)])
def test_a_loss_too_large_for_a_number_is_without_bound(scale: float, width: int) -> None:
    """And none is no number, which no budget would refuse."""
    event = SharedDiscreteLaplace(scale, 1, 2, 1, width)
    assert PureAccountant.epsilon_of(event, REPLACE) == math.inf


def test_a_loss_that_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_number(event: PrivacyEvent) -> float:
        del event
        return math.nan

    monkeypatch.setattr(accountants, "_own_epsilon", no_number)
    with pytest.raises(UnsupportedEventError, match="its loss is no number"):
        PureAccountant.epsilon_of(PureMechanism(1.0), REPLACE)


@pytest.mark.parametrize(
    ("made", "field"),
    [
        (PureAccountant(REPLACE), "relation"),
        (ApproximateAccountant(REPLACE, delta=1e-6), "delta"),
        (Ledger("ada"), "relation"),
        (Ledger("ada"), "person"),
    ],
)
def test_under_what_a_bound_holds_cannot_be_set_after_charges(made: object, field: str) -> None:
    with pytest.raises(AttributeError, match="no setter"):
        setattr(made, field, getattr(made, field))


@hypothesis.given(st.integers(0, 2**70), st.floats(min_value=1e-3, max_value=1e12), st.integers(1, 1000))
def test_a_sum_of_laplace_noise_is_charged_no_less_than_it_loses(moved: int, scale: float, count: int) -> None:
    """Of which the quotient of floats is rounded to nearest: of 12,678 losses 5,621 were charged less than they are."""
    exact = Fraction(moved) / Fraction(scale)
    for event in (DiscreteLaplaceNoise(scale, moved), SharedDiscreteLaplace(scale, moved, 5, 5, 3)):
        one = PureAccountant.epsilon_of(event, REPLACE)
        assert exact <= Fraction(one)
        assert not one or Fraction(math.nextafter(one, 0)) < exact
        several = PureAccountant.epsilon_of(SelfComposed(event, count), REPLACE)
        assert count * Fraction(one) <= Fraction(several)
        assert not several or Fraction(math.nextafter(several, 0)) < count * Fraction(one)


@hypothesis.given(st.integers(1, 2**62), st.floats(min_value=1e-6, max_value=1e3))
def test_noise_that_is_made_for_a_loss_costs_no_more(moved: int, epsilon: float) -> None:
    """So that who allows just the loss that a session states may take part."""
    loss = PureAccountant.epsilon_of(DiscreteLaplaceNoise(quotient_up(moved, epsilon), moved), REPLACE)
    assert epsilon * (1 - 2.0**-50) <= loss <= epsilon
