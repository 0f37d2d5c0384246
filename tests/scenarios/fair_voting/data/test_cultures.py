"""Laws of rankings: each sampler beside its exact law, by enumeration and by quadrature."""

import functools
import itertools
import math
import re
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from psephos.protocol.arrays import IntArray
from psephos.protocol.fair_voting.rankings import positions_of_orders
from psephos.protocol.randomness import philox_rows
from psephos.scenarios.fair_voting.data.mallows import (
    draw_mallows,
    kendall_tau_distances,
    mallows_probabilities,
)
from psephos.scenarios.fair_voting.data.plackett_luce import draw_plackett_luce, plackett_luce_probabilities

DISPERSIONS = [Fraction(0), Fraction(1, 4), Fraction(5, 8), Fraction(1)]


@functools.cache
def all_rankings(num_alternatives: int) -> IntArray:
    """Return the positions of all m! rankings, in the order of `itertools.permutations`."""
    return np.array(list(itertools.permutations(range(num_alternatives))), dtype=np.int64)


def row_numbers(positions: IntArray) -> IntArray:
    """Return at which row of `all_rankings` each ranking stands."""
    num_alternatives = positions.shape[1]
    powers: IntArray = num_alternatives ** np.arange(num_alternatives, dtype=np.int64)
    keys: IntArray = all_rankings(num_alternatives) @ powers  # ascending in no particular order
    order = np.argsort(keys)
    return order[np.searchsorted(keys[order], positions @ powers)].astype(np.int64)


def distance_by_pairs(positions: Sequence[int], center: Sequence[int]) -> int:
    """Count the pairs that a ranking orders otherwise than the center, as the definition says."""
    return sum(positions[better] > positions[worse] for better, worse in itertools.combinations(center, 2))


# Mallows.


@pytest.mark.parametrize("dispersion", DISPERSIONS)
@pytest.mark.parametrize("num_alternatives", [1, 2, 3, 4, 5])
def test_every_inversion_vector_makes_a_ranking_of_its_own_with_mallows_probability(
    num_alternatives: int, dispersion: Fraction
) -> None:
    """The uniforms in the middle of each interval are all that the sampler can tell apart, so this is its whole law."""
    center = list(np.random.default_rng(3).permutation(num_alternatives).tolist())
    vectors: list[tuple[int, ...]] = []
    uniforms: list[list[float]] = []
    probabilities: list[Fraction] = []
    for vector in itertools.product(*(range(number) for number in range(1, num_alternatives + 1))):
        probability, middles = Fraction(1), list[float]()
        for number, behind in enumerate(vector, start=1):
            total = sum(dispersion**k for k in range(number))
            width = dispersion**behind / total
            probability *= width
            middles.append(float(sum(dispersion**k for k in range(behind)) / total + width / 2))
        if probability:
            vectors.append(vector)
            uniforms.append(middles[1:])
            probabilities.append(probability)
    table = np.array(uniforms, dtype=np.float64).reshape(len(vectors), num_alternatives - 1)
    positions = draw_mallows(table, center=center, dispersion=float(dispersion))
    assert sum(probabilities) == 1
    assert positions.dtype == np.int64
    rows: list[list[int]] = positions.tolist()
    assert len(vectors) == (math.factorial(num_alternatives) if dispersion else 1)
    assert len(set(map(tuple, rows))) == len(vectors)
    assert [sorted(row) for row in rows] == [list(range(num_alternatives))] * len(vectors)
    distances = [distance_by_pairs(row, center) for row in rows]
    assert distances == [sum(vector) for vector in vectors]
    assert kendall_tau_distances(positions, center=center).tolist() == distances
    normalizer = sum(dispersion ** distance_by_pairs(row, center) for row in all_rankings(num_alternatives).tolist())
    assert probabilities == [dispersion**distance / normalizer for distance in distances]
    law = mallows_probabilities(positions, center=center, dispersion=float(dispersion))
    assert law.tolist() == pytest.approx([float(each) for each in probabilities], rel=1e-14)


@pytest.mark.parametrize("dispersion", DISPERSIONS[1:])
def test_an_interval_holds_its_beginning_and_not_its_end(dispersion: Fraction) -> None:
    """With five alternatives and the last one's uniform next to each bound: the law is exact up to one rounding."""
    for behind in range(1, 5):
        total = sum(dispersion**k for k in range(5))
        bound = float(sum(dispersion**k for k in range(behind)) / total)
        below, above = bound * (1 - 1e-15), bound * (1 + 1e-15)
        uniforms = np.array([[0.0, 0.0, 0.0, below], [0.0, 0.0, 0.0, above]])
        positions = draw_mallows(uniforms, center=range(5), dispersion=float(dispersion))
        assert positions[:, 4].tolist() == [4 - behind + 1, 4 - behind]


def test_no_dispersion_is_the_center_whatever_the_uniforms() -> None:
    largest = 1 - 2.0**-53
    uniforms = np.array([[0.0, 0.0, 0.0], [largest, largest, largest], [0.5, largest, 0.0]])
    positions = draw_mallows(uniforms, center=[2, 0, 3, 1], dispersion=0.0)
    assert positions.tolist() == [[1, 3, 0, 2]] * 3
    assert draw_mallows(uniforms[1:2], center=[2, 0, 3, 1], dispersion=1.0).tolist() == [[2, 0, 3, 1]]  # reversed


def test_mean_distance_of_many_alternatives_is_that_of_the_law() -> None:
    """50 alternatives, φ = .9, 5,000 rankings: within 5 standard errors of Σ E[k_i] (false alarm 6e-7)."""
    weights = [[0.9**k for k in range(number)] for number in range(1, 51)]
    means = [sum(k * w for k, w in enumerate(row)) / sum(row) for row in weights]
    squares = [sum(k * k * w for k, w in enumerate(row)) / sum(row) for row in weights]
    variance = sum(square - mean**2 for square, mean in zip(squares, means, strict=True))
    center = np.random.default_rng(5).permutation(50).tolist()
    uniforms = philox_rows(72, start=0, stop=5_000, slots=49)
    distances = kendall_tau_distances(draw_mallows(uniforms, center=center, dispersion=0.9), center=center)
    assert abs(float(distances.mean()) - sum(means)) < 5 * math.sqrt(variance / 5_000)


# Plackett and Luce.


@pytest.mark.parametrize("weights", [[1.0], [1, 3], [5, 3, 2], [1, 1, 1, 1], [9, 0.5, 3, 1, 1]])
def test_plackett_luce_law_is_that_of_choosing_from_the_top(weights: list[float]) -> None:
    rankings = all_rankings(len(weights))
    expected: list[Fraction] = []
    orders: list[list[int]] = positions_of_orders(rankings).tolist()
    for order in orders:
        probability, left = Fraction(1), [Fraction(weights[alternative]) for alternative in order]
        for place, weight in enumerate(left):
            probability *= weight / sum(left[place:])
        expected.append(probability)
    assert sum(expected) == 1
    law = plackett_luce_probabilities(rankings, weights=weights)
    assert law.tolist() == pytest.approx([float(each) for each in expected], rel=1e-14)


@pytest.mark.parametrize(("weights", "steps"), [([1.0, 3.0], 1000), ([5.0, 3.0, 2.0], 100)])
def test_the_race_has_the_law_by_quadrature(weights: list[float], steps: int) -> None:
    """Uniforms on a grid of midpoints; what a ranking's share is off is at most the cells that its border crosses.

    Two alternatives come together on a monotone curve of uniforms, which crosses at most 2 cells a step: a share of
    2/steps for each pair.
    """
    middles = (np.arange(steps) + 0.5) / steps
    grid = np.stack(np.meshgrid(*[middles] * len(weights), indexing="ij"), axis=-1).reshape(-1, len(weights))
    counts = np.bincount(row_numbers(draw_plackett_luce(grid, weights=weights)), minlength=math.factorial(len(weights)))
    law = plackett_luce_probabilities(all_rankings(len(weights)), weights=weights)
    pairs = len(weights) * (len(weights) - 1) // 2
    assert float(np.abs(counts / len(grid) - law).max()) < 2 * pairs / steps


def test_only_ratios_of_weights_count_and_the_order_is_that_of_the_times() -> None:
    uniforms = philox_rows(76, start=0, stop=3_000, slots=9)
    weights = np.arange(1.0, 10.0)
    positions = draw_plackett_luce(uniforms, weights=weights.tolist())
    times = -np.log1p(-uniforms) / weights
    assert positions.tolist() == positions_of_orders(np.argsort(times, axis=1, kind="stable")).tolist()
    assert draw_plackett_luce(uniforms, weights=(1024 * weights).tolist()).tolist() == positions.tolist()


def test_those_who_arrive_together_stand_in_the_order_of_their_numbers() -> None:
    uniforms = np.array([[0.0, 0.0, 0.0], [0.5, 0.25, 0.5], [0.75, 0.75, 0.0]])
    positions = draw_plackett_luce(uniforms, weights=[1, 1, 1])
    assert positions.tolist() == [[0, 1, 2], [1, 0, 2], [1, 2, 0]]


def test_an_alternative_without_weight_to_speak_of_is_last() -> None:
    uniforms = philox_rows(77, start=0, stop=1_000, slots=3)
    positions = draw_plackett_luce(uniforms, weights=[1e-100, 1, 1e100])
    assert positions.tolist() == [[2, 1, 0]] * 1_000


# All of them.


@pytest.mark.parametrize("num_alternatives", [2, 9, 50, 127])
def test_rows_are_rankings_and_do_not_depend_on_each_other(num_alternatives: int) -> None:
    """More rows than a batch has: a voter's ranking is the same alone, among others and in any batch."""
    uniforms = philox_rows(78, start=0, stop=4_100, slots=num_alternatives)
    center = np.random.default_rng(6).permutation(num_alternatives).tolist()
    weights = (1 + np.arange(num_alternatives) % 7).tolist()
    for positions, alone in (
        (
            draw_mallows(uniforms[:, 1:], center=center, dispersion=0.7),
            draw_mallows(uniforms[2047:2050, 1:], center=center, dispersion=0.7),
        ),
        (draw_plackett_luce(uniforms, weights=weights), draw_plackett_luce(uniforms[2047:2050], weights=weights)),
    ):
        assert positions.shape == (4_100, num_alternatives)
        assert np.array_equal(np.sort(positions, axis=1), np.tile(np.arange(num_alternatives), (4_100, 1)))
        assert np.array_equal(positions[2047:2050], alone)


def test_no_voters_have_no_rankings() -> None:
    assert draw_mallows(np.empty((0, 3)), center=range(4), dispersion=0.5).shape == (0, 4)
    assert draw_mallows(np.empty((0, 0)), center=[0], dispersion=1.0).shape == (0, 1)
    assert draw_plackett_luce(np.empty((0, 4)), weights=[1, 2, 3, 4]).shape == (0, 4)


@pytest.mark.parametrize("dispersion", [-0.1, 1.1, math.nan])
def test_dispersion_is_checked(dispersion: float) -> None:
    words = f"^dispersion is {dispersion}: use a value from 0 to 1$"
    with pytest.raises(ValueError, match=words):
        draw_mallows(np.zeros((1, 1)), center=[0, 1], dispersion=dispersion)
    with pytest.raises(ValueError, match=words):
        mallows_probabilities(all_rankings(2), center=[0, 1], dispersion=dispersion)


@pytest.mark.parametrize("center", [[], [0, 0, 1], [0, 1, 3], [-1, 0, 1], [1, 2, 3]])
def test_center_is_checked(center: list[int]) -> None:
    words = f"^center is {re.escape(str(center))}: write each alternative's number, from 0, once$"
    with pytest.raises(ValueError, match=words):
        draw_mallows(np.zeros((1, 2)), center=center, dispersion=0.5)
    with pytest.raises(ValueError, match=words):
        kendall_tau_distances(all_rankings(3), center=center)


@pytest.mark.parametrize("weights", [[], [1, 0], [1, -1], [1, math.nan], [1, math.inf], [1, 1e-101], [1, 1e101]])
def test_weights_are_checked(weights: list[float]) -> None:
    words = rf"^weights are {re.escape(str(weights))}: use values from 1e-100 to 1e\+100$"
    with pytest.raises(ValueError, match=words):
        draw_plackett_luce(np.zeros((1, 2)), weights=weights)
    with pytest.raises(ValueError, match=words):
        plackett_luce_probabilities(all_rankings(2), weights=weights)


@pytest.mark.parametrize("shape", [(2,), (2, 1), (2, 4), (2, 3, 1)])
def test_shapes_are_checked(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="shape"):
        draw_mallows(np.zeros(shape), center=range(3), dispersion=0.5)
    with pytest.raises(ValueError, match="shape"):
        draw_plackett_luce(np.zeros(shape), weights=[1, 2, 3])
    with pytest.raises(ValueError, match="shape"):
        kendall_tau_distances(np.zeros(shape, dtype=np.int64), center=range(3))
    with pytest.raises(ValueError, match="shape"):
        plackett_luce_probabilities(np.zeros(shape, dtype=np.int64), weights=[1, 2, 3])


def test_number_of_alternatives_is_checked() -> None:
    with pytest.raises(ValueError, match="at most 127"):
        draw_mallows(np.zeros((1, 127)), center=range(128), dispersion=0.5)
    with pytest.raises(ValueError, match="at most 127"):
        draw_plackett_luce(np.zeros((1, 128)), weights=[1.0] * 128)
