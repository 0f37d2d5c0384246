"""How likely the winner is the best: against integrals by hand, against draws, and where it must be even or certain."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from psephos.protocol.arrays import FloatArray
from psephos.protocol.elementary import normal_tail
from psephos.protocol.fair_voting.objective import Objective
from psephos.protocol.fair_voting.posteriors import (
    chance_by_differences,
    chance_by_utilities,
    num_draws,
)
from psephos.protocol.fair_voting.report_laws import LaplaceSums
from psephos.protocol.fair_voting.utility_noise import UtilityNoise, draw_within
from thoroughness import draws

PARITY = Objective("parity")
WIDE = 1e3
"""A range so wide that the prior is flat."""


def noise_of(*errors: float, draws: int | None = None, is_balanced: bool = False) -> UtilityNoise:
    """Return noise with these errors: normal, or of so many draws of Laplace noise."""
    sums = (
        None
        if draws is None
        else LaplaceSums(tuple(range(len(errors))), errors, (draws,) * len(errors), (1e9,) * len(errors))
    )
    return UtilityNoise(errors, sums, is_balanced)


def legendre(differences: FloatArray, winner: int, error: float) -> float:
    """Return the printed integral: 40 nodes within 6 errors, normal noise, a flat prior."""
    center = abs(float(differences[winner]))
    start, stop = max(0.0, center - 6 * error), center + 6 * error
    rule: Any = np.polynomial.legendre.leggauss(40)
    nodes: list[float] = rule[0].tolist()
    weights: list[float] = rule[1].tolist()

    def at_least(size: float, t: float) -> float:
        return normal_tail((t - size) / error) + normal_tail((t + size) / error)

    sizes: list[float] = differences.tolist()
    total = 0.0
    for node, weight in zip(nodes, weights, strict=True):
        t = (start + stop) / 2 + node * (stop - start) / 2
        value = math.exp(-(((t - center) / error) ** 2) / 2) + math.exp(-(((t + center) / error) ** 2) / 2)
        value /= error * math.sqrt(2 * math.pi)
        for place, other in enumerate(sizes):
            value *= 1.0 if place == winner else at_least(abs(other), t)
        total += weight * value * (stop - start) / 2
    return total


@pytest.mark.parametrize("seed", range(draws(2, full=5)))
def test_in_normal_noise_and_a_wide_range_it_is_the_printed_integral(seed: int) -> None:
    generator = np.random.default_rng(seed)
    differences = generator.normal(size=4)
    noise = noise_of(0.3, 0.4)
    for winner in range(4):
        chance = chance_by_differences(differences, winner, noise, greatest=WIDE)
        assert chance == pytest.approx(legendre(differences, winner, 0.5), abs=2e-5)


@pytest.mark.parametrize("errors", [(0.5, 0.5), (0.5, 0.05), (0.7, 0.2)])
@pytest.mark.parametrize("draws", [None, 1])
@pytest.mark.parametrize("greatest", [1.0, 3.0, 50.0])
def test_chances_of_all_alternatives_add_up_to_one(
    errors: tuple[float, float], draws: int | None, greatest: float
) -> None:
    differences = np.array([0.1, -0.4, 2.0, 9.0])  # of these one may be out of what is possible
    noise = noise_of(*errors, draws=draws)
    total = sum(chance_by_differences(differences, winner, noise, greatest=greatest) for winner in range(4))
    assert total == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("errors", [(0.5, 0.5), (0.5, 0.1)])
def test_single_draws_have_their_own_law_and_the_possible_range(errors: tuple[float, float]) -> None:
    """Against 4e5 draws of the differences by their law, kept where they are possible; false alarm: 1e-5."""
    generator = np.random.default_rng(7)
    differences = np.array([0.2, 0.7, -1.1])
    drawn = np.tile(differences, (400_000, 1))
    for error in errors:
        drawn += generator.laplace(scale=error / math.sqrt(2), size=drawn.shape)
    kept: FloatArray = np.abs(drawn[(np.abs(drawn) <= 1.2).all(axis=1)])
    places = kept.argmin(axis=1)
    found = np.count_nonzero(places == 0) / len(places)
    chance = chance_by_differences(differences, 0, noise_of(*errors, draws=1), greatest=1.2)
    assert chance == pytest.approx(found, abs=4.5 * math.sqrt(0.25 / len(kept)))
    assert chance != pytest.approx(chance_by_differences(differences, 0, noise_of(*errors), greatest=1.2), abs=0.005)


def test_equal_estimates_are_equally_likely_and_little_noise_leaves_no_doubt() -> None:
    same = np.full(5, 0.3)
    for number in (None, 1):
        assert chance_by_differences(same, 2, noise_of(0.1, 0.1, draws=number), greatest=3.0) == pytest.approx(
            0.2, abs=1e-5
        )
        sure = np.array([0.0, 2.0, -2.0])
        assert chance_by_differences(sure, 0, noise_of(1e-3, 1e-3, draws=number), greatest=3.0) == 1.0
        assert chance_by_differences(sure, 1, noise_of(1e-3, 1e-3, draws=number), greatest=3.0) == 0.0


def chance(utilities: FloatArray, winner: int, noise: UtilityNoise, **given: Any) -> float:
    fields: dict[str, Any] = {
        "objective": PARITY,
        "sizes": np.array([1.0] * len(utilities)),
        "least": -WIDE,
        "greatest": WIDE,
        "key": 5,
        **given,
    }
    return chance_by_utilities(utilities, winner, noise, **fields)


@pytest.mark.parametrize("draws", [None, 1])
def test_both_ways_agree_where_both_can_be_asked(draws: int | None) -> None:
    """4,096 draws: an error of .008, and 4.5 of them; false alarm: 7e-6."""
    utilities = np.array([[1.0, 1.4, 0.2], [1.1, 0.9, 1.0]])
    noise = noise_of(0.3, 0.2, draws=draws)
    exact = chance_by_differences(utilities[0] - utilities[1], 0, noise, greatest=WIDE)
    assert chance(utilities, 0, noise) == pytest.approx(exact, abs=4.5 * 0.5 / math.sqrt(4096))


FLOORED = Objective("welfare_constrained", welfare_share=Fraction(3, 4))


@pytest.mark.parametrize(
    "objective", [PARITY, Objective("penalized"), Objective("constrained", Fraction(1, 2)), FLOORED]
)
def test_draws_of_all_alternatives_add_up_to_one(objective: Objective) -> None:
    utilities = np.random.default_rng(1).uniform(0, 3, (3, 4))
    noise = noise_of(0.3, 0.3, 0.5)
    shares = [
        chance(utilities, winner, noise, objective=objective, sizes=np.array([3.0, 2.0, 1.0]), least=0.0, greatest=3.0)
        for winner in range(4)
    ]
    assert sum(shares) == pytest.approx(1)


def test_two_balanced_alternatives_always_tie_in_parity() -> None:
    """Their mean utilities add up to the same, so that the groups differ as much about one as about the other."""
    utilities = np.array([[0.7, 0.3], [0.2, 0.8]])
    noise = noise_of(0.3, 0.4, is_balanced=True)
    assert chance(utilities, 0, noise, least=0.0, greatest=1.0) == 1.0
    assert chance(utilities, 1, noise, least=0.0, greatest=1.0) == 1.0


def test_there_are_fewer_draws_where_each_takes_more_numbers() -> None:
    assert num_draws(2, 3) == 4096
    assert num_draws(100, 3) == 1000
    assert num_draws(1000, 50) == 64


@pytest.mark.parametrize("is_heavy", [False, True])
@pytest.mark.parametrize("center", [-900.0, -40.0, -3.0, 0.2, 1.0, 7.0, 60.0, 1e5])
def test_draws_within_an_interval_follow_the_law_there(center: float, *, is_heavy: bool) -> None:
    """At even steps of the uniforms: inside, in one order, and with the law's mean."""
    uniforms = (np.arange(10_000) + 0.5) / 10_000
    drawn = draw_within(uniforms, np.array(center), np.array(1.0), least=0.0, greatest=1.0, is_heavy=is_heavy)
    assert 0.0 <= drawn.min() <= drawn.max() <= 1.0
    steps = np.diff(drawn)
    assert (steps >= 0).all() or (steps <= 0).all()

    def density(x: FloatArray) -> FloatArray:
        logs = -math.sqrt(2) * np.abs(x - center) if is_heavy else -((x - center) ** 2) / 2
        ends = (
            -math.sqrt(2) * min(abs(center), abs(1 - center)) if is_heavy else -(min(center**2, (1 - center) ** 2)) / 2
        )
        return np.exp(logs - ends)

    points = (np.arange(100_000) + 0.5) / 100_000
    masses = density(points)
    expected = float((masses * points).sum() / masses.sum())
    assert float(drawn.mean()) == pytest.approx(expected, abs=2e-3)
