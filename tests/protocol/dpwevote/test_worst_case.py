"""The bound over every truth on what public weights report: against all truths one by one, and all schemers."""

import itertools

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from psephos.protocol.dpwevote.worst_case import greatest_chance

electorates = st.lists(st.integers(1, 6), min_size=1, max_size=7).map(lambda each: tuple(sorted(each)))


def chance_of(weights: tuple[int, ...], truth: tuple[int, ...], needed: int, keep: float, flip: float) -> float:
    """Return the chance that the reported yes weighs as much, by its exact law."""
    law = np.ones(1)
    for weight, says_yes in zip(weights, truth, strict=True):
        yes = keep if says_yes else flip
        longer = np.zeros(len(law) + weight)
        longer[: len(law)] += law * (1 - yes)
        longer[weight:] += law * yes
        law = longer
    return float(law[max(needed, 0) :].sum())


def best_of_schemers(weights: tuple[int, ...], budget: int, needed: int, keep: float, flip: float) -> float:
    """Return the best chance of an adversary that sees each report, the heaviest partners first, by plain recursion."""
    if needed <= 0:
        return 1.0
    if not weights:
        return 0.0
    *others, weight = weights
    rest = tuple(others)

    def with_yes(left: int, yes: float) -> float:
        reported = best_of_schemers(rest, left, needed - weight, keep, flip)
        return yes * reported + (1 - yes) * best_of_schemers(rest, left, needed, keep, flip)

    honest = with_yes(budget, flip)
    return max(honest, with_yes(budget - weight, keep)) if weight <= budget else honest


@hypothesis.given(
    electorates,
    st.integers(0, 20),
    st.integers(-1, 25),
    st.sampled_from([(0.55, 0.45), (0.73, 0.27), (0.95, 0.05), (0.9, 0.5), (0.25, 0.0625), (0.375, 0.625)]),
)
def test_the_bound_is_the_best_adversarys_and_above_every_truth(
    weights: tuple[int, ...], budget: int, needed: int, chances: tuple[float, float]
) -> None:
    keep, flip = chances
    bound = greatest_chance(weights, budget, needed, keep=keep, flip=flip)
    assert bound is not None
    assert bound == pytest.approx(best_of_schemers(weights, budget, needed, keep, flip), abs=1e-12)
    for truth in itertools.product((0, 1), repeat=len(weights)):
        if sum(weight for weight, yes in zip(weights, truth, strict=True) if yes) <= budget:
            assert chance_of(weights, truth, needed, keep, flip) <= bound + 1e-12


def test_where_all_weigh_alike_the_bound_is_the_truth_at_the_boundary() -> None:
    """Sight is worth nothing there but where a budget is kept back: some thousandths at most."""
    weights, keep = (1,) * 30, 0.73
    bound = greatest_chance(weights, 14, 20, keep=keep, flip=1 - keep)
    assert bound is not None
    exact = chance_of(weights, (1,) * 14 + (0,) * 16, 20, keep, 1 - keep)
    assert exact <= bound < exact + 0.005


def test_what_takes_too_long_is_not_bounded() -> None:
    assert greatest_chance((1,) * 3_000, 1_500, 1_600, keep=0.7, flip=0.3) is None


def test_what_is_not_needed_is_always_reached() -> None:
    assert [greatest_chance((1, 2), 2, needed, keep=0.7, flip=0.3) for needed in (-3, 0, 4)] == [1.0, 1.0, 0.0]
