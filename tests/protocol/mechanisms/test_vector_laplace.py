"""Laplace noise for vectors: the noise of `DiscreteLaplace`, bit for bit, and a loss that is stated for whole rows."""

import itertools
import math

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.mechanisms import CLAMP_IN_SCALES, DiscreteLaplace, VectorLaplace
from psephos.protocol.privacy import NeighboringRelation, PureAccountant, PureMechanism

scales = st.floats(min_value=0.05, max_value=1e6)
uniforms_in_range = st.floats(min_value=0, max_value=1, exclude_max=True)


def test_the_loss_is_the_l1_distance_of_neighbors_in_scales_worked_by_hand() -> None:
    """Six steps at four steps a scale."""
    mechanism = VectorLaplace(scale=4.0, sensitivity=6, bound=10)
    assert mechanism.event == PureMechanism(1.5)
    assert PureAccountant.epsilon_of(mechanism.event, NeighboringRelation.ADD_OR_REMOVE_ONE) == 1.5


@pytest.mark.parametrize("num_values", [0, 1, 2, 30])
def test_the_loss_of_a_row_does_not_grow_with_its_width(num_values: int) -> None:
    mechanism = VectorLaplace(4.0, 6, 10)
    assert mechanism.event_of(num_values) == mechanism.event
    assert mechanism.slots_of(num_values) == mechanism.num_reports_of(num_values) == num_values


@pytest.mark.parametrize(("scale", "sensitivity"), [(1.3, 1), (1.3, 3), (0.4, 2), (20.0, 4)])
def test_the_proven_loss_is_the_largest_log_ratio_over_all_neighboring_rows(scale: float, sensitivity: int) -> None:
    """By brute force over rows of two values from -2 to 2, and over all reports near them."""
    mechanism = VectorLaplace(scale, sensitivity, 2)
    rows = list(itertools.product(range(-2, 3), repeat=2))
    reports = list(itertools.product(range(-5, 6), repeat=2))
    law = {
        row: [
            math.prod(mechanism.noise_probability(r - v) for r, v in zip(report, row, strict=True))
            for report in reports
        ]
        for row in rows
    }
    losses = [
        max(math.log(p / q) for p, q in zip(law[row], law[other], strict=True))
        for row, other in itertools.permutations(rows, 2)
        if abs(row[0] - other[0]) + abs(row[1] - other[1]) <= sensitivity
    ]
    assert max(losses) == pytest.approx(mechanism.event.epsilon, rel=1e-11)


@hypothesis.given(st.data())
def test_the_noise_has_the_bits_of_discrete_laplace_noise_of_the_same_scale(data: st.DataObject) -> None:
    scale, bound, width = data.draw(scales), data.draw(st.integers(1, 1000)), data.draw(st.integers(1, 4))
    mechanism, coordinate = VectorLaplace(scale, 3, bound), DiscreteLaplace(scale, -bound, bound)
    num_rows = data.draw(st.integers(0, 5))
    count = num_rows * width
    values = data.draw(st.lists(st.integers(-bound, bound), min_size=count, max_size=count))
    drawn = data.draw(st.lists(uniforms_in_range, min_size=count, max_size=count))
    of_values = np.array(values, dtype=np.int64).reshape(num_rows, width)
    of_uniforms = np.array(drawn, dtype=np.float64).reshape(num_rows, width)
    reports = mechanism.randomize_rows(of_values, of_uniforms)
    assert reports.dtype == np.int64
    assert reports.tolist() == coordinate.randomize_rows(of_values, of_uniforms).tolist()
    assert reports.tolist() == [
        mechanism.randomize_row(row, row_uniforms)
        for row, row_uniforms in zip(of_values.tolist(), of_uniforms.tolist(), strict=True)
    ]


def test_a_tiny_scale_adds_nothing_and_costs_much() -> None:
    mechanism = VectorLaplace(1e-3, 2, 3)
    assert mechanism.noise_variance == 0
    assert mechanism.randomize_row([3, -3, 0, 1], [0.0, 1 - 2.0**-53, 0.5, 0.25]) == [3, -3, 0, 1]
    assert mechanism.event.epsilon == 2000


def test_a_huge_scale_costs_next_to_nothing() -> None:
    assert VectorLaplace(2.0**39, 1, 1).event == PureMechanism(2.0**-39)


def test_reports_are_clamped_sixty_scales_beyond_the_values() -> None:
    mechanism = VectorLaplace(2.5, 3, 7)
    assert CLAMP_IN_SCALES == 60
    assert mechanism.value_range == (-7, 7)
    assert mechanism.report_range == (-157, 157)


@pytest.mark.parametrize("sensitivity", [0, -1, 2**62])
def test_a_sensitivity_out_of_range_is_refused(sensitivity: int) -> None:
    with pytest.raises(ConfigurationError, match="sensitivity must be in") as caught:
        VectorLaplace(1.0, sensitivity, 1)
    assert caught.value.field == "sensitivity"


@pytest.mark.parametrize("bound", [0, -3])
def test_a_bound_below_one_is_refused(bound: int) -> None:
    with pytest.raises(ConfigurationError, match="bound must be at least 1") as caught:
        VectorLaplace(1.0, 1, bound)
    assert caught.value.field == "bound"


def test_a_bound_that_wraps_around_with_noise_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="with noise"):
        VectorLaplace(1.0, 1, 2**62 - 60)
    assert VectorLaplace(1.0, 1, 2**62 - 61).report_range[1] == 2**62 - 1
