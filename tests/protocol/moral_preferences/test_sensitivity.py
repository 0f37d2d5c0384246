"""The bounds of section 4.4 and reading M6: their values, their order, and that no pair of records passes them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.moral_preferences.coefficients import clip_differences, coefficients_of_records, sum_coefficients
from psephos.protocol.moral_preferences.sensitivity import (
    COEFFICIENT_BOUNDS,
    grid_sensitivity,
    num_coefficients,
    printed_sensitivity,
    tight_sensitivity,
)

SIZES = [1, 2, 3, 5, 10, 23, 100]


def test_the_number_of_coefficients_by_hand() -> None:
    """One feature: β and β². Three: three, three squares and three products."""
    assert [num_coefficients(d) for d in (1, 2, 3, 10, 23)] == [2, 5, 9, 65, 299]


@pytest.mark.parametrize(("num_features", "printed", "tight"), [(10, 11.41, 8.36), (23, 22.30, 16.08)])
def test_the_values_of_reading_m6(num_features: int, printed: float, tight: float) -> None:
    assert printed_sensitivity(num_features) == pytest.approx(printed, abs=5e-3)
    assert tight_sensitivity(num_features) == pytest.approx(tight, abs=5e-3)


def test_the_printed_bound_by_hand() -> None:
    """Two features: 2(2/√π + 2/π) = 3.52999789..., whichever way the paper writes it, and never below it."""
    by_hand = 4 / math.sqrt(math.pi) + 4 / math.pi
    assert printed_sensitivity(2) == pytest.approx(by_hand, rel=1e-9)
    assert printed_sensitivity(2) > by_hand


@pytest.mark.parametrize("num_features", SIZES)
def test_the_tight_bound_is_the_maximum_over_a_fine_grid_of_angles(num_features: int) -> None:
    """The grid misses the maximum by at most (a + 4b)·(step/2)²/2, and the margin is far above rounding."""
    a, b = 2 * math.sqrt(2 * num_features / math.pi), math.sqrt(2) * num_features / math.pi
    angles = np.linspace(0, math.pi / 2, 100_001)
    greatest = float(np.max(a * np.sin(angles) + b * np.sin(2 * angles)))
    assert greatest < tight_sensitivity(num_features) < greatest * (1 + 2e-9)


@pytest.mark.parametrize("num_features", SIZES)
def test_the_tight_bound_lies_below_the_printed_one(num_features: int) -> None:
    assert tight_sensitivity(num_features) < 0.81 * printed_sensitivity(num_features)


@pytest.mark.parametrize("num_features", [1, 2, 3, 10])
def test_no_random_pair_of_records_passes_either_bound(num_features: int) -> None:
    generator = np.random.default_rng(num_features)
    records = coefficients_of_records(clip_differences(generator.standard_normal((4000, num_features))))
    changes = np.abs(records[::2] - records[1::2]).sum(axis=1)
    assert np.all(changes < tight_sensitivity(num_features))
    assert np.all(2 * np.abs(records).sum(axis=1) < printed_sensitivity(num_features))


def test_the_printed_bound_is_twice_the_greatest_norm() -> None:
    """It is attained by V = (1, ..., 1)/√d, whose ℓ₁ norm is √d and whose products add up to d."""
    (record,) = coefficients_of_records(np.full((1, 9), 1 / 3))
    assert 2 * np.abs(record).sum() == pytest.approx(printed_sensitivity(9), rel=1e-9)


@pytest.mark.parametrize("bound", COEFFICIENT_BOUNDS)
@pytest.mark.parametrize("step", [2.0**-2, 2.0**-6, 2.0**-20])
def test_no_random_pair_passes_the_bound_on_the_grid(bound: str, step: float) -> None:
    generator = np.random.default_rng(5)
    pairs = clip_differences(generator.standard_normal((4000, 3)))
    steps = sum_coefficients(pairs, np.arange(4001), step=step)
    assert np.abs(steps[::2] - steps[1::2]).sum(axis=1).max() <= grid_sensitivity(3, step=step, bound=bound)


def test_the_bound_on_the_grid_by_hand() -> None:
    """Five coefficients: ⌊4·3.53⌋ = 14 as printed; ⌈4·2.74⌉ + 5 − 1 = 15 is more, ⌈64·2.74⌉ + 4 = 180 less."""
    assert grid_sensitivity(2, step=0.25, bound="printed") == 14
    assert grid_sensitivity(2, step=0.25) == 14
    assert grid_sensitivity(2, step=2.0**-6, bound="printed") == 225
    assert grid_sensitivity(2, step=2.0**-6) == 180


@pytest.mark.parametrize("num_features", [2, 10, 23])
def test_a_fine_grid_costs_nearly_nothing(num_features: int) -> None:
    steps = Fraction(grid_sensitivity(num_features, step=2.0**-30), 2**30)
    assert 1 <= steps / Fraction(tight_sensitivity(num_features)) < 1 + Fraction(1, 10**6)


@pytest.mark.parametrize("num_features", [0, -1, 2**16 + 1])
def test_a_number_of_features_out_of_range_is_refused(num_features: int) -> None:
    for function in (num_coefficients, printed_sensitivity, tight_sensitivity):
        with pytest.raises(ConfigurationError, match=r"num_features is .*: use a value from"):
            function(num_features)
    with pytest.raises(ConfigurationError, match=r"num_features is .*: use a value from"):
        grid_sensitivity(num_features, step=0.5)


@pytest.mark.parametrize("step", [0.0, -0.5, 0.3, 2.0, math.inf, math.nan])
def test_a_step_that_is_no_power_of_two_up_to_1_is_refused(step: float) -> None:
    with pytest.raises(ConfigurationError, match=r"step (is|are) .*a power of two"):
        grid_sensitivity(2, step=step)


def test_an_unknown_bound_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="bound is 'loose': use one of printed, tight"):
        grid_sensitivity(2, step=0.5, bound="loose")
