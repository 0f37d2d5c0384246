"""Line 4 of Algorithm 2: all sets of voters alike, whoever draws them."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from exact_laws import law_of_rows
from psephos.protocol.fair_voting.subsample import Subsample
from psephos.protocol.privacy import NoRelease
from scipy.special import chdtrc

SHAPES = [((1, 1), 1), ((3, 2), 1), ((3, 2), 2), ((4, 3), 3), ((2, 2, 3), 2)]
every_shape = pytest.mark.parametrize(("sizes", "number"), SHAPES)


def possible(sizes: tuple[int, ...], number: int) -> list[tuple[int, ...]]:
    """Return all orders in which so many of each group can be drawn, group by group."""
    of_groups = [itertools.permutations(range(size), number) for size in sizes]
    return [tuple(itertools.chain(*drawn)) for drawn in itertools.product(*of_groups)]


@every_shape
def test_all_orders_of_all_sets_are_drawn_alike_exactly(sizes: tuple[int, ...], number: int) -> None:
    mechanism = Subsample(sizes, number)
    law = law_of_rows(lambda below: mechanism.randomize_exactly([0], below))
    orders = possible(sizes, number)
    assert law == dict.fromkeys(orders, Fraction(1, len(orders)))


@every_shape
def test_a_grid_of_uniforms_names_all_orders_alike(sizes: tuple[int, ...], number: int) -> None:
    """With a point in the middle of each part of the unit interval that matters."""
    mechanism = Subsample(sizes, number)
    bounds = [size - place for size in sizes for place in range(number)]
    points = [[(part + 0.5) / bound for part in range(bound)] for bound in bounds]
    drawn = Counter(tuple(mechanism.randomize_row([0], uniforms)) for uniforms in itertools.product(*points))
    assert drawn == dict.fromkeys(possible(sizes, number), 1)


@every_shape
def test_one_row_is_drawn_as_many_are(sizes: tuple[int, ...], number: int) -> None:
    mechanism = Subsample(sizes, number)
    slots = mechanism.slots_of(1)
    assert slots == mechanism.num_reports_of(1) == number * len(sizes)
    uniforms = np.random.default_rng(2).random((50, slots))
    uniforms[0], uniforms[1] = 0.0, 1 - 2.0**-53
    together = mechanism.randomize_rows(np.zeros((50, 1), dtype=np.int64), uniforms)
    assert together.shape == (50, slots)
    drawn: list[list[float]] = uniforms.tolist()
    assert together.tolist() == [mechanism.randomize_row([0], own) for own in drawn]
    assert mechanism.event_of(1) == NoRelease()
    low, high = mechanism.report_range
    assert low == 0 <= int(together.min()) <= int(together.max()) <= high == max(sizes) - 1
    none = mechanism.randomize_rows(np.empty((0, 1), dtype=np.int64), np.empty((0, slots)))
    assert none.shape == (0, slots)


def test_whom_is_sampled_shows_nothing() -> None:
    mechanism = Subsample((3, 2), 1)
    assert mechanism.event_of(1) == NoRelease()
    assert mechanism.value_range == (0, 0)


def test_voters_of_a_large_group_are_drawn_alike() -> None:
    """By chi-square over 3,000 draws of 20 of 200. False alarm: 1e-6."""
    mechanism = Subsample((200, 20), 20)
    uniforms = np.random.default_rng(5).random((3000, 40))
    drawn = mechanism.randomize_rows(np.zeros((3000, 1), dtype=np.int64), uniforms)
    counts = np.bincount(drawn[:, :20].reshape(-1), minlength=200)
    # Drawn without replacement, counts vary by (200 − 20)/(200 − 1) of what independent ones do.
    statistic = float(((counts - 300) ** 2 / 300).sum()) * 199 / 180
    assert chdtrc(199, statistic) > 1e-6
    assert all(len(set(row[:20])) == 20 and sorted(row[20:]) == list(range(20)) for row in drawn.tolist())
    assert math.isclose(counts.sum(), 60_000)
