"""Mechanisms on arrays: reports by their law, estimates that are right on average, and values that are refused."""

import pickle
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from psephos.protocol import ConfigurationError
from psephos.protocol.estimate import Estimates
from psephos.protocol.mechanisms import (
    DiscreteLaplace,
    GeneralizedRandomizedResponse,
    JointPair,
    JointPosition,
    JointRanking,
    JointScores,
    NoisyScores,
    RowMechanism,
    SampledPair,
    VectorLaplace,
    WholeRanking,
)

RESPONSE = GeneralizedRandomizedResponse(epsilon=2.0, num_choices=3)
VALUES = np.repeat([0, 1, 2], [6_000, 3_000, 1_000])


def check_near(estimates: Estimates, truths: Sequence[int]) -> None:
    """Check estimates against what they are of; false alarm: 6e-7 for each."""
    for estimate, truth in zip(estimates, truths, strict=True):
        assert abs(estimate.value - truth) < 5 * estimate.standard_error


def test_k_rr_on_an_array_is_two_lines() -> None:
    reports = RESPONSE.perturb(VALUES, seed=1)
    check_near(RESPONSE.estimate(reports), (6_000, 3_000, 1_000))


def test_estimates_are_an_array_to_numpy_and_a_tuple_as_before() -> None:
    counts = RESPONSE.estimate(RESPONSE.perturb(VALUES, seed=1))
    assert counts == tuple(counts)
    assert [count.value for count in counts] == counts.array.tolist() == np.asarray(counts).tolist()
    assert [count.standard_error for count in counts] == counts.standard_errors.tolist()
    assert np.sum(counts) == pytest.approx(10_000)
    assert np.array(counts, dtype=np.float32).dtype == np.float32
    assert (counts.array.shape, counts.array.dtype) == ((3,), np.float64)
    assert repr(counts) == "Estimates(<3 Estimate>, of='value')"
    again = pickle.loads(pickle.dumps(counts))  # noqa: S301  our own
    assert (again, again.of) == (counts, "value")
    with pytest.raises(ValueError, match="always a copy"):
        np.asarray(counts, copy=False)


def test_estimates_print_and_have_a_frame_by_value_or_by_column() -> None:
    counts = RESPONSE.estimate(RESPONSE.perturb(VALUES, seed=1))
    frame = counts.to_frame()
    assert list(frame) == ["value", "estimate", "estimate_standard_error"]
    assert frame["estimate"].tolist() == counts.array.tolist()
    assert frame["estimate_standard_error"].tolist() == counts.standard_errors.tolist()
    first, *lines, last = str(counts).splitlines()
    assert (first, len(lines), last) == ("3 estimates:", 3, "  (± is one standard error)")
    assert re.fullmatch(r"  value 0: 6,0\d\d ± \d\d", lines[0])
    laplace = DiscreteLaplace(scale=4.0, least=0, greatest=10)
    sums = laplace.estimate(laplace.perturb([[3, 4]], seed=5))
    assert list(sums.to_frame()) == ["column", "estimate", "estimate_standard_error"]
    many = WholeRanking(epsilon=3.0, num_alternatives=4).estimate(np.zeros(9, dtype=np.int64))
    assert "and 12 more, which to_frame() has; ±" in str(many)
    shown: Any = counts
    assert re.search(r"<td>0</td>\s*<td>6,0\d\d\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}\d\d</td>", shown._repr_html_())


def test_a_seed_draws_the_same_reports_and_rows_do_not_depend_on_later_ones() -> None:
    reports = RESPONSE.perturb(VALUES, seed=1)
    assert (RESPONSE.perturb(VALUES[:100].tolist(), seed=1) == reports[:100]).all()
    assert (RESPONSE.perturb(VALUES[:, None], seed=1)[:, 0] == reports).all()
    assert (RESPONSE.perturb(VALUES, seed=2) != reports).any()


def test_batches_join_to_the_same_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    reports = RESPONSE.perturb(VALUES[:100], seed=1)
    monkeypatch.setattr("psephos.protocol.on_arrays._BATCH_ROWS", 7)
    assert (RESPONSE.perturb(VALUES[:100], seed=1) == reports).all()


def test_laplace_noise_leaves_a_sum_with_its_error() -> None:
    laplace = DiscreteLaplace(scale=4.0, least=0, greatest=10)
    total = laplace.estimate(laplace.perturb(np.full(10_000, 3), seed=5))
    check_near(total, [30_000])
    assert total[0].standard_error == pytest.approx(100 * laplace.noise_variance**0.5)
    vectors = VectorLaplace(scale=2.0, sensitivity=2, bound=5)
    assert len(vectors.estimate(vectors.perturb([[1, -1], [0, 2]], seed=5))) == 2


def test_rankings_on_an_array() -> None:
    rankings = np.tile([2, 0, 1], (4_000, 1))
    whole = WholeRanking(epsilon=3.0, num_alternatives=3)
    reports = whole.perturb(rankings, seed=7)
    assert reports.shape == (4_000, 1)
    check_near(whole.estimate(reports), (0, 0, 0, 0, 4_000, 0))
    scores = NoisyScores(epsilon=3.0, steps=(2, 1, 0))
    check_near(scores.estimate(scores.perturb(rankings, seed=7)), (0, 8_000, 4_000))


@pytest.mark.parametrize(
    "mechanism",
    [JointPair(1.0, 3, 2, 1), JointPosition(1.0, 3, 2), JointRanking(1.0, 3, 2), JointScores(1.0, (1, 0, -1), 2)],
)
def test_groups_and_rankings_together_on_an_array(mechanism: RowMechanism) -> None:
    reports = mechanism.perturb([[0, 1, 2], [3, 5, 4]], seed=1)
    assert reports.shape == (2, mechanism.num_reports_of(3))
    for row in ([0, 0, 5], [0, 4, 2], [0, 1, 1]):
        with pytest.raises(ConfigurationError, match=r"values\[1\] (is|are) .*rankings: .* all of one group"):
            mechanism.perturb([[0, 1, 2], row], seed=1)
    with pytest.raises(ConfigurationError, match="rows of 3 cells"):
        mechanism.perturb([[0, 1, 2, 3, 4, 5]], seed=1)


def test_nobody_has_empty_estimates() -> None:
    assert RESPONSE.estimate(RESPONSE.perturb(np.empty(0, dtype=np.int64), seed=1)).array.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("mechanism", "values", "said"),
    [
        (RESPONSE, [0, 3], r"values\[1\] is 3: use a value from 0 to 2"),
        (RESPONSE, [[0, 1], [-1, 2]], r"values\[1, 0\] is -1: use a value from 0 to 2"),
        (RESPONSE, [0.5, 1.0], r"values is an array of float64: use an array of integers"),
        (RESPONSE, [True, False], r"values is an array of bool: use an array of integers"),
        (RESPONSE, ["yes"], r"use an array of integers"),
        (RESPONSE, [[[0]]], r"values is shape \(1, 1, 1\)\. Make it of shape \(n,\) or \(n, w\)"),
        (RESPONSE, 1, r"values is shape \(\)\. Make it of shape \(n,\) or \(n, w\)"),
        (WholeRanking(1.0, 3), [0, 1, 2], r"use rows, of shape \(n, w\)"),
        (
            WholeRanking(1.0, 3),
            [[0, 1, 2], [0, 0, 2]],
            r"use rankings: rows with each position of 0 to 2",
        ),
        (SampledPair(1.0, 3), [[0, 1]], r"values is rows of 2: use rows of 3 positions"),
    ],
)
def test_values_that_nobody_can_hold_are_named(mechanism: RowMechanism, values: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        mechanism.perturb(values, seed=1)


@pytest.mark.parametrize("seed", [-1, 1.5, "7", True, None])
def test_a_seed_is_an_integer_and_is_not_shown(seed: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"seed is .*: use an integer") as caught:
        RESPONSE.perturb([0], seed=seed)
    assert repr(seed) not in str(caught.value).partition("got")[2]


def test_noise_is_never_drawn_without_a_seed() -> None:
    with pytest.raises(TypeError, match="seed"):
        RESPONSE.perturb([0])  # pyright: ignore[reportCallIssue]  as somebody may write


def test_reports_that_nobody_sends_are_named() -> None:
    with pytest.raises(ConfigurationError, match=r"reports\[1\] is 7: use a value from 0 to 2"):
        RESPONSE.estimate([0, 7])
    with pytest.raises(ConfigurationError, match=r"reports (is|are) .*one report for each person"):
        RESPONSE.estimate([[0, 1]])
    with pytest.raises(ConfigurationError, match=r"reports (is|are) .*of shape \(n,\) or \(n, w\)"):
        RESPONSE.estimate(3)
    with pytest.raises(ConfigurationError, match=r"mechanism is 'SampledPair': use one of k-RR"):
        SampledPair(1.0, 3).estimate([0, 1])
