"""Summaries: what voters' records become, and that neighbors are never farther apart than the noise is made for."""

import math
from typing import Any

import numpy as np
import pytest
from helpers import make_preferences
from psephos.protocol.arrays import IntArray
from psephos.protocol.mechanisms import SphericalLaplace, VectorLaplace
from psephos.protocol.moral_preferences import Paradigm, Parameters, Records, ReportSummary, make_summary
from psephos.protocol.moral_preferences.coefficients import coefficients_of_records
from psephos.protocol.moral_preferences.functional import NoisyObjective
from psephos.protocol.moral_preferences.sensitivity import grid_sensitivity, printed_sensitivity, tight_sensitivity
from psephos.protocol.moral_preferences.summaries import Coefficients, Direction, PreferenceVector

UNIT = 1 << 20


def summary_of(num_features: int = 2, **given: Any) -> ReportSummary:
    return make_summary(make_preferences(num_features, **given).parameters)


def records_of(*voters: list[list[float]]) -> Records:
    """Return voters' records from differences alone: the rejected alternative is 0."""
    pairs = [np.stack([np.array(voter), np.zeros_like(np.array(voter))], axis=1) for voter in voters]
    return Records.from_voters(pairs, num_features=pairs[0].shape[2])


def table(*rows: list[int]) -> IntArray:
    return np.array(rows, dtype=np.int64)


def many_records(num_voters: int, num_features: int, *, seed: int = 0, num_records: int = 6) -> Records:
    generator = np.random.default_rng(seed)
    shape = (num_voters * num_records, num_features)
    offsets = np.arange(0, num_voters * num_records + 1, num_records)
    return Records(offsets, generator.normal(size=shape), generator.normal(size=shape))


# What there is


@pytest.mark.parametrize(
    ("mechanism", "kind", "num_values"),
    [("laplace", PreferenceVector, 3), ("direction", Direction, 3), ("pooled", Coefficients, 9)],
)
@pytest.mark.parametrize("paradigm", [Paradigm.RLCP, Paradigm.RLDP])
def test_a_mechanism_has_its_summary(mechanism: str, kind: type, num_values: int, paradigm: Paradigm) -> None:
    summary = summary_of(3, mechanism=mechanism, paradigm=paradigm)
    assert type(summary) is kind
    assert summary.num_values == num_values
    assert summary.rows_of(many_records(4, 3)).shape == (4, num_values)


def test_a_functional_report_has_as_many_numbers_as_features() -> None:
    summary = summary_of(3, mechanism="functional", paradigm=Paradigm.RLDP)
    assert (type(summary), summary.num_values) == (Coefficients, 9)
    mechanism = summary.local_mechanism(1.0)
    assert isinstance(mechanism, NoisyObjective)
    assert mechanism.num_reports_of(9) == 3


# Rows, by hand


def test_voters_who_always_choose_the_first_feature_are_at_the_balls_end() -> None:
    summary = summary_of(bound=2.0)
    rows = summary.rows_of(records_of([[1.0, 0.0]], [[-1.0, 0.0], [-3.0, 0.0]], [[0.0, 0.0]]))
    assert rows[:, 0] * summary.step == pytest.approx([2, -2, 0], abs=1e-4)
    assert rows[:, 1] * summary.step == pytest.approx([0, 0, 0], abs=1e-4)


def test_coefficients_of_two_records_by_hand() -> None:
    """(1, 0) and (0, −1/2): √(2/π)·(1, −1/2), −(1/π)·(1, 0, 1/4), each record's rounded towards 0."""
    summary = summary_of(mechanism="pooled", paradigm=Paradigm.RLDP)
    (row,) = summary.rows_of(records_of([[1.0, 0.0], [0.0, -0.5]])).tolist()
    linear, square = math.sqrt(2 / math.pi) * UNIT, UNIT / math.pi
    assert row == [math.floor(linear), -math.floor(linear / 2), -math.floor(square), 0, -math.floor(square / 4)]


def test_items_are_clipped_one_by_one_or_their_difference_is() -> None:
    """(3, 4) against (0, 0): both give (.3, .4) or (.6, .8); (1, 0) against (−4, 0) gives a difference of 1 in both."""
    voters = [np.array([[[3.0, 4.0], [0.0, 0.0]]]), np.array([[[1.0, 0.0], [-4.0, 0.0]]])]
    records = Records.from_voters(voters, num_features=2)
    given: dict[str, Any] = {"mechanism": "pooled", "paradigm": Paradigm.RLCP}
    for clipping, differences in (("items", [[0.3, 0.4], [1.0, 0.0]]), ("difference", [[0.6, 0.8], [1.0, 0.0]])):
        rows = summary_of(clipping=clipping, **given).rows_of(records)
        assert rows == pytest.approx(coefficients_of_records(np.array(differences)) * UNIT, abs=1.5)


def test_directions_are_added_and_of_a_protected_voter_the_sum_is_one() -> None:
    """(3, 0), (0, −5), (0, 0) and (0, −1): (1, −2), or (1, −2)/√5."""
    records = records_of([[3.0, 0.0], [0.0, -5.0], [0.0, 0.0], [0.0, -1.0]])
    of_records = summary_of(mechanism="direction", paradigm=Paradigm.RLDP)
    assert of_records.rows_of(records).tolist() == [[UNIT, -2 * UNIT]]
    of_voters = summary_of(mechanism="direction", paradigm=Paradigm.VLDP)
    root = math.sqrt(5)
    assert of_voters.rows_of(records).tolist() == [[math.floor(UNIT / root), -math.floor(2 * UNIT / root)]]


def test_directions_are_those_of_whitened_records() -> None:
    """L = [[2, 0], [1, 2]] takes (1, 0) to (2, 1) and (0, 1) to (0, 2)."""
    covariance = ((4.0, 2.0), (2.0, 5.0))
    summary = summary_of(mechanism="direction", paradigm=Paradigm.RLDP, covariance=covariance)
    rows = summary.rows_of(records_of([[20.0, 10.0]], [[0.0, 2.0]]))
    assert rows.tolist() == [[UNIT, 0], [0, UNIT]]


@pytest.mark.parametrize("paradigm", [Paradigm.VLDP, Paradigm.RLCP])
def test_records_that_cancel_out_have_no_direction(paradigm: Paradigm) -> None:
    summary = summary_of(mechanism="direction", paradigm=paradigm)
    assert summary.rows_of(records_of([[1.0, 2.0], [-1.0, -2.0]])).tolist() == [[0, 0]]


# What is possible


@pytest.mark.parametrize("bound", [0.3, 1.0, 2.0, math.nextafter(2.0, 0.0), math.nextafter(2.0, 3.0), 1e-3, 1e6 / 3])
@pytest.mark.parametrize("epsilon", [1e-4, 1.0, 100.0])
def test_every_fitted_vector_is_in_the_ball_of_integers(bound: float, epsilon: float) -> None:
    summary = summary_of(4, bound=bound, epsilon=epsilon)
    rows = summary.rows_of(many_records(50, 4, num_records=2))
    lengths = np.abs(rows).sum(axis=1)
    assert int(lengths.max()) <= summary.bound
    assert summary.bound * summary.step <= bound
    if bound <= 2:  # few records are separable: the ball's end, as near as the fit's tolerance comes
        assert int(lengths.max()) >= summary.bound * 0.99
    assert summary.are_possible(rows)


def test_a_vector_just_outside_the_ball_is_refused() -> None:
    summary = summary_of(3, bound=2.0)
    greatest = summary.bound
    assert greatest * summary.step == 2.0
    for row in ([greatest, 0, 0], [0, -greatest, 0], [greatest - 2, 1, -1], [0, 0, 0]):
        assert summary.are_possible(table(row))
    for row in ([greatest + 1, 0, 0], [greatest, 0, -1], [greatest - 2, 2, -1]):
        assert not summary.are_possible(table(row))
        assert not summary.are_possible(table([0, 0, 0], row, [0, 0, 0]))


def test_a_coefficient_just_beyond_what_records_allow_is_refused() -> None:
    summary = summary_of(1, mechanism="pooled", paradigm=Paradigm.RLCP, max_records=3)
    assert summary.are_possible(table([3 * UNIT, -3 * UNIT]))
    assert not summary.are_possible(table([3 * UNIT + 1, 0]))
    assert not summary.are_possible(table([0, -3 * UNIT - 1]))


@pytest.mark.parametrize("mechanism", ["laplace", "direction", "pooled"])
def test_rows_of_nobody_are_possible(mechanism: str) -> None:
    summary = summary_of(2, mechanism=mechanism, paradigm=Paradigm.RLCP)
    assert summary.are_possible(np.empty((0, summary.num_values), dtype=np.int64))


@pytest.mark.parametrize("num_features", [1, 2, 7, 23])
def test_every_unit_direction_is_in_the_ball_of_integers(num_features: int) -> None:
    summary = make_summary(Parameters(features=tuple(f"f{k}" for k in range(num_features)), mechanism="direction"))
    rows = summary.rows_of(many_records(300, num_features))
    lengths = (rows.astype(object) ** 2).sum(axis=1)
    assert max(lengths) <= UNIT**2
    assert min(length for length in lengths if length) >= (UNIT - num_features) ** 2  # 0 where records cancel out
    assert summary.are_possible(rows)


@pytest.mark.parametrize(("paradigm", "most"), [(Paradigm.VLCP, 1), (Paradigm.RLCP, 5), (Paradigm.RLCP, 1 << 20)])
def test_a_direction_longer_than_records_allow_by_less_than_a_step_is_refused(paradigm: Paradigm, most: int) -> None:
    """To the last integer: noise that is made for a distance of 2 protects nobody who is farther away."""
    summary = summary_of(2, mechanism="direction", paradigm=paradigm, max_records=most)
    greatest = summary.bound
    assert greatest == most * UNIT
    for row in ([greatest, 0], [0, -greatest], [3 * (greatest // 5), 4 * (greatest // 5)], [0, 0]):
        assert summary.are_possible(table(row))
    for row in ([greatest, 1], [-1, greatest], [greatest + 1, 0]):
        assert not summary.are_possible(table(row))
        assert not summary.are_possible(table([0, 0], row))


# Neighbors


@pytest.mark.parametrize("num_features", [1, 2, 5])
def test_two_preference_vectors_are_never_farther_apart_than_the_noise_is_made_for(num_features: int) -> None:
    summary = summary_of(num_features)
    mechanism = summary.local_mechanism(1.0)
    assert isinstance(mechanism, VectorLaplace)
    rows = summary.rows_of(many_records(60, num_features, num_records=2))
    distances = np.abs(rows[:, None] - rows[None, :]).sum(axis=2)
    assert int(distances.max()) <= mechanism.sensitivity == 2 * summary.bound
    opposite = summary.rows_of(records_of([[1.0] + [0.0] * (num_features - 1)], [[-1.0] + [0.0] * (num_features - 1)]))
    # Opposite voters attain 2B, but for the fit's tolerance.
    assert int(np.abs(opposite[0] - opposite[1]).sum()) >= mechanism.sensitivity * (1 - 1e-4)


@pytest.mark.parametrize("mechanism", ["pooled", "direction"])
@pytest.mark.parametrize("clipping", ["items", "difference"])
def test_replacing_a_record_moves_a_summary_no_farther_than_the_noise_is_made_for(
    mechanism: str, clipping: str
) -> None:
    summary = summary_of(3, mechanism=mechanism, paradigm=Paradigm.RLDP, clipping=clipping)
    noise = summary.local_mechanism(1.0)
    assert isinstance(noise, (VectorLaplace, SphericalLaplace))
    generator = np.random.default_rng(1)
    before = many_records(200, 3, num_records=4)
    chosen, rejected = before.chosen.copy(), before.rejected.copy()
    chosen[::4] = generator.normal(size=chosen[::4].shape) * 10
    rejected[::4] = -chosen[::4]
    after = Records(before.offsets, chosen, rejected)
    changes = summary.rows_of(after) - summary.rows_of(before)
    norms = np.linalg.norm(changes, ord=1 if mechanism == "pooled" else 2, axis=1)
    assert 0.3 * noise.sensitivity < float(norms.max()) <= noise.sensitivity


@pytest.mark.parametrize("num_features", [1, 2, 5, 7])
@pytest.mark.parametrize("paradigm", [Paradigm.VLMP, Paradigm.RLMP])
def test_no_rows_of_masked_directions_are_farther_apart_than_is_charged(num_features: int, paradigm: Paradigm) -> None:
    """Of one record: opposite ones, in all features alike, are as far apart in l1 distance as any."""
    summary = summary_of(
        num_features, mechanism="direction", paradigm=paradigm, threshold=3, colluders=0, max_records=1
    )
    alike = [1.0] * num_features
    rows = np.concatenate([summary.rows_of(records_of([alike], [[-own for own in alike]])), summary.sample_rows()])
    apart = int(np.abs(rows[:, None] - rows).sum(axis=2).max())
    assert summary.l1_sensitivity - 4 * num_features < apart <= summary.l1_sensitivity


def test_a_protected_voters_directions_are_two_units_apart_at_most() -> None:
    summary = summary_of(3, mechanism="direction", paradigm=Paradigm.VLDP)
    mechanism = summary.local_mechanism(0.5)
    assert isinstance(mechanism, SphericalLaplace)
    assert (mechanism.sensitivity, mechanism.scale) == (2 * UNIT, 4 * UNIT)
    rows = summary.rows_of(records_of([[1.0, 2.0, 3.0]] * 5, [[-1.0, -2.0, -3.0]]))
    assert 2 * UNIT - 10 < np.linalg.norm(rows[0] - rows[1]) <= 2 * UNIT


# Mechanisms


@pytest.mark.parametrize("epsilon", [1e-4, 0.3, 100.0])
def test_noise_on_preferences_has_a_scale_of_twice_the_bound_over_epsilon(epsilon: float) -> None:
    summary = summary_of(bound=1.5, epsilon=epsilon)
    for mechanism in (summary.local_mechanism(epsilon), summary.central_mechanism(epsilon)):
        assert isinstance(mechanism, VectorLaplace)
        assert mechanism.scale * summary.step == pytest.approx(3.0 / epsilon, rel=1e-5)
        assert mechanism.event.epsilon == pytest.approx(epsilon, rel=1e-15)
        variance = summary.noise_variance(mechanism)
        assert variance == pytest.approx(2 * (3.0 / epsilon) ** 2, rel=1e-4)


def test_grids_are_fine_beside_the_noise_and_beside_the_bound() -> None:
    for epsilon in (1e-4, 1.0, 100.0):
        summary = summary_of(bound=2.0, epsilon=epsilon)
        assert summary.step <= 2.0 / UNIT
        assert summary.step <= (4.0 / epsilon) / 128
        assert math.frexp(summary.step)[0] == 0.5


@pytest.mark.parametrize("num_features", [1, 2, 10])
@pytest.mark.parametrize("sensitivity", ["tight", "printed"])
def test_noise_on_coefficients_has_the_scale_asked_for_and_loses_what_is_proven(
    num_features: int, sensitivity: Any
) -> None:
    given: dict[str, Any] = {"mechanism": "pooled", "paradigm": Paradigm.RLDP, "sensitivity": sensitivity}
    summary = summary_of(num_features, **given)
    bounds = {"tight": tight_sensitivity(num_features), "printed": printed_sensitivity(num_features)}
    for mechanism in (summary.local_mechanism(0.5), summary.central_mechanism(0.5)):
        assert isinstance(mechanism, VectorLaplace)
        assert mechanism.scale * summary.step == pytest.approx(bounds[sensitivity] / 0.5, rel=1e-4)
        assert mechanism.sensitivity == grid_sensitivity(num_features, step=summary.step)
        share = bounds["tight"] / bounds[sensitivity]
        assert mechanism.event.epsilon == pytest.approx(0.5 * share, rel=1e-4)
        assert mechanism.event.epsilon <= 0.5


def test_noise_of_a_place_in_the_ball_has_no_variance_that_is_known() -> None:
    summary = summary_of(2, mechanism="functional", paradigm=Paradigm.RLDP)
    assert summary.noise_variance(summary.local_mechanism(1.0)) is None


# The society's preferences


def test_a_mean_of_vectors_is_the_societys() -> None:
    summary = summary_of(2)
    assert summary.preferences_of(np.array([[0.5, -1.0]]), 0.1).tolist() == [[0.5, -1.0]]
    errors = summary.errors_of(np.array([0.5, -1.0]), 0.1)
    assert errors is not None
    assert errors.tolist() == [0.1, 0.1]
    assert summary.errors_of(np.array([0.5, -1.0]), None) is None


def test_a_direction_has_length_1_and_errors_in_proportion() -> None:
    summary = summary_of(2, mechanism="direction")
    mean = np.array([0.3, -0.4])
    assert summary.preferences_of(mean[None], 0.05)[0] == pytest.approx([0.6, -0.8], rel=1e-15)
    assert summary.errors_of(mean, 0.05) == pytest.approx([0.1, 0.1], rel=1e-15)
    assert summary.errors_of(mean, None) is None


def test_a_mean_of_nothing_has_no_direction() -> None:
    summary = summary_of(2, mechanism="direction")
    assert summary.preferences_of(np.zeros((1, 2)), 0.05).tolist() == [[0.0, 0.0]]
    assert summary.errors_of(np.zeros(2), 0.05) is None


def test_a_direction_of_whitened_records_is_told_in_the_records_coordinates() -> None:
    """L⁻ᵀ(1, 2) = (0, 1) for L = [[2, 0], [1, 2]]; errors grow by √5/4 and 1/2."""
    summary = summary_of(2, mechanism="direction", covariance=((4.0, 2.0), (2.0, 5.0)))
    mean = np.array([1.0, 2.0])
    assert summary.preferences_of(mean[None], 0.1).tolist() == [[0.0, 1.0]]
    assert summary.errors_of(mean, 0.1) == pytest.approx([0.1 * math.sqrt(5) / 4, 0.05], rel=1e-15)


def test_a_pooled_mean_is_maximized_once() -> None:
    """One feature: √(2/π)·V/n and V²/(πn) of every record V = 1/2 give √(π/2)/V = 2.507."""
    summary = summary_of(1, mechanism="pooled", paradigm=Paradigm.RLCP, bound=5.0)
    rows = summary.rows_of(records_of([[0.5]] * 4, [[0.5]] * 2))
    mean = rows.sum(axis=0) * summary.step / 2
    assert summary.preferences_of(mean[None], 0.0)[0] == pytest.approx([2 * math.sqrt(math.pi / 2)], abs=1e-4)
    assert summary.errors_of(mean, 0.1) is None


def test_a_trimmed_mean_is_regularized_by_the_means_own_noise() -> None:
    """An error of 1 is a Laplace scale of 1/√2, a ridge of 4: β − β²/2 becomes β − 9β²/2, greatest at 1/9."""
    summary = summary_of(1, mechanism="pooled", paradigm=Paradigm.RLCP, remedy="trim")
    assert summary.preferences_of(np.array([[1.0, -0.5]]), 1.0)[0] == pytest.approx([1 / 9], abs=1e-5)


@pytest.mark.parametrize("mechanism", ["laplace", "direction", "pooled"])
def test_summaries_do_not_depend_on_who_else_is_there(mechanism: str) -> None:
    summary = summary_of(3, mechanism=mechanism, paradigm=Paradigm.RLCP)
    records = many_records(20, 3)
    whole = summary.rows_of(records)
    for start, stop in [(0, 7), (7, 8), (8, 20), (3, 3)]:
        assert np.array_equal(summary.rows_of(records.slice_rows(start, stop)), whole[start:stop])
