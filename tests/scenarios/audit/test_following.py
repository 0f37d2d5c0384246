"""Outputs of a law follow it but for the risk, by exact sums; outputs of another one depart, at the edges too."""

import itertools
import math

import numpy as np
import pytest
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.scenarios.audit.following import departure, greatest_unnoticed
from scipy.special import gammaln, xlogy
from thoroughness import draws

RISK = 0.05


def geometric(size: int, ratio: float) -> FloatArray:
    """Return a law whose outcomes get rarer and rarer, at both ends."""
    law = ratio ** np.abs(np.arange(size) - size // 2, dtype=np.float64)
    return law / law.sum()


def counted(outputs: IntArray, law: FloatArray) -> IntArray:
    return np.append(np.bincount(outputs, minlength=len(law)), 0).astype(np.int64)


@pytest.mark.parametrize("law", [(0.5, 0.5), (0.97, 0.03), (0.6, 0.3, 0.1), (0.98, 0.015, 0.005)])
def test_outputs_of_a_law_depart_from_it_as_seldom_as_the_risk_says(law: tuple[float, ...]) -> None:
    """Summed exactly over all counts of forty outputs."""
    number = 40
    chances = np.array(law)
    wrong = 0.0
    for counts in itertools.product(range(number + 1), repeat=len(law)):
        if sum(counts) == number and departure(np.array([*counts, 0]), chances, number, RISK):
            ways = gammaln(number + 1) - np.sum(gammaln(np.array(counts) + 1))
            wrong += math.exp(float(ways + np.sum(xlogy(counts, chances))))
    assert wrong <= RISK


@pytest.mark.few(most=2)
@pytest.mark.parametrize(("size", "ratio"), [(2, 0.9), (700, 1.0), (5_000, 0.99), (200, 0.7)])
def test_samplers_of_long_laws_are_hardly_ever_refuted(size: int, ratio: float) -> None:
    """At a risk of .05 in each of so many runs; false alarm of the test: at most 1e-6 (Chernoff's bound)."""
    runs, number = draws(150, full=600), 20_000
    law = geometric(size, ratio)
    rng = np.random.default_rng(size)
    wrong = sum(bool(departure(np.append(rng.multinomial(number, law), 0), law, number, RISK)) for _ in range(runs))
    # P[Bin(n, p) >= np + t] <= e^(-2t²/n).
    assert wrong <= runs * RISK + math.sqrt(runs * math.log(1e6) / 2)


def test_a_tail_that_is_missing_is_seen_though_no_outcome_of_it_is_frequent() -> None:
    """Two hundred outputs would be expected beyond the end, each outcome's less than one."""
    law, number = geometric(40_000, 0.9995), 1_000_000
    rng = np.random.default_rng(1)
    outputs = rng.choice(len(law), size=number, p=law)
    assert not departure(counted(outputs, law), law, number, 1e-9)
    end = int(np.searchsorted(np.cumsum(law), 2e-4))
    assert number * law[:end].max() < 1
    clipped = counted(np.maximum(outputs, end), law)
    assert departure(clipped, law, number, 1e-9)
    # Spread over what is left, they show by what is missing alone.
    spread = np.where(outputs < end, rng.choice(np.arange(end, len(law)), size=number), outputs)
    assert "never drawn" in departure(counted(spread, law), law, number, 1e-9)


def test_a_value_that_is_too_frequent_is_seen_however_rare() -> None:
    law, number = geometric(40_000, 0.9995), 1_000_000
    counts = counted(np.random.default_rng(2).choice(len(law), size=number, p=law), law)
    counts[20_000 - 10_000] += 20
    assert departure(counts, law, number, 1e-9).startswith("a single outcome: 2")


def test_every_second_outcome_is_seen_within_bins() -> None:
    """Low bits that tell something lie within every bin."""
    law = np.full(20_000, 1 / 20_000)
    outputs = np.random.default_rng(3).integers(0, 20_000, size=1_000_000)
    favored = np.where(np.random.default_rng(4).random(len(outputs)) < 0.02, outputs & ~1, outputs)
    assert "every second" in departure(counted(favored, law), law, len(outputs), 1e-9)


def test_one_excluded_output_is_enough() -> None:
    law = np.array([0.5, 0.5, 0.0])
    assert not departure(np.array([500, 500, 0, 0]), law, 1_000, 1e-12)
    assert departure(np.array([500, 499, 1, 0]), law, 1_000, 1e-12) == "1 outputs that the law excludes"
    assert departure(np.array([500, 499, 0, 1]), law, 1_000, 1e-12) == "1 outputs that the law excludes"


def test_a_law_in_floats_may_sum_to_a_little_more_than_one() -> None:
    law = np.full(2, 0.5 + 1e-13)
    assert not departure(np.array([5, 4, 0]), law, 9, 1e-12)


def test_a_certain_outcome_is_followed_or_not() -> None:
    law = np.array([0.0, 1.0])
    assert not departure(np.array([0, 9, 0]), law, 9, 1e-12)
    assert departure(np.array([1, 8, 0]), law, 9, 1e-12)


def test_a_hole_is_seen_from_the_probability_that_is_stated_on() -> None:
    """Of a hundred equally likely outcomes, k in a row are worth k hundredths."""
    law, number, risk = np.full(100, 0.01), 400, 1e-4
    least = greatest_unnoticed(len(law), number, risk)
    for size in range(1, 10):
        counts = np.full(100, number // (100 - size))
        counts[-1] += number - counts[size:].sum()
        counts[:size] = 0
        told = departure(np.append(counts, 0), law, number, risk)
        assert ("never drawn" in told) == (size * 0.01 > least)
    assert 0.01 < least < 0.05
    assert greatest_unnoticed(len(law), 100 * number, risk) == pytest.approx(least / 100, rel=0.05)
