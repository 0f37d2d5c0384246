"""The printed error rate change and its expansion, by hand and for random workers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psephos.scenarios.truth_discovery.paper.error_bounds import printed_bound
from psephos.scenarios.truth_discovery.paper.error_expansion import (
    error_change,
    expansion_terms,
    importances,
    important_workers,
    line_quality,
    linear_factors,
    printed_expansion_terms,
)
from strategies import CHECKED

ELEVEN = np.full(11, 0.25)

FLIPPED = st.lists(st.tuples(st.floats(0, 0.5), st.floats(0, 1)), min_size=1, max_size=7)


def test_the_line_is_close_in_difference_but_not_in_ratio() -> None:
    """The manual's numbers; by hand, G(p) ~ p near 0, of which 2p is the double."""
    found = line_quality()
    assert found.greatest_gap == pytest.approx(0.0765, abs=1e-4)
    assert found.gap_at == pytest.approx(0.171, abs=1e-3)
    assert found.least_ratio == pytest.approx(0.9955, abs=1e-4)
    assert 1.999 < found.greatest_ratio < 2
    assert line_quality(num_points=1).greatest_gap == pytest.approx(0, abs=1e-15)


def test_the_line_is_no_bound_either() -> None:
    """11 at ¼: 2^−11 against .0343; Chernoff's root is above the line for all folded qualities."""
    assert math.prod(linear_factors(ELEVEN).tolist()) == 2.0**-11
    folded = np.linspace(0, 0.5, 101)
    assert np.all(2 * np.sqrt(folded * (1 - folded)) >= linear_factors(folded) - 1e-15)


def test_the_change_by_hand() -> None:
    """With p = .1 and .2, p^f = ¼: p̂ = .3 and .35; 4·.105 − 4·.02 = .34."""
    assert error_change([0.1, 0.2], 0.25) == pytest.approx(0.34)
    assert error_change([0.1, 0.2], 0.0) == 0
    assert error_change([0.5, 0.5], 0.3) == pytest.approx(0)


def test_the_printed_expansion_lacks_two_to_the_n() -> None:
    """By hand: .25·.8·.25·.6 = .03 and .1·.15 + .2·.2 = .055; four times their sum is .34."""
    assert printed_expansion_terms([0.1, 0.2], 0.25).tolist() == pytest.approx([0.03, 0.055])
    assert expansion_terms([0.1, 0.2], 0.25).tolist() == pytest.approx([0.12, 0.22])
    assert printed_expansion_terms(np.zeros(3), 0.4).tolist() == pytest.approx([0.4**3, 0, 0])
    assert error_change(np.zeros(3), 0.4) == pytest.approx(0.8**3)


@CHECKED
@given(FLIPPED)
def test_the_change_is_the_sum_of_the_right_terms(pairs: list[tuple[float, float]]) -> None:
    qualities, flips = np.array(pairs).T
    expected = error_change(qualities, flips)
    assert float(expansion_terms(qualities, flips).sum()) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert 2 ** len(pairs) * float(printed_expansion_terms(qualities, flips).sum()) == pytest.approx(
        expected, rel=1e-9, abs=1e-12
    )


def test_importance_by_hand() -> None:
    """Im = 1/G: 1 at ½, 2.296 at ¼, infinite at 0; and the ratio of the printed bounds without and with the worker."""
    found = importances([0.5, 0.25, 0.0])
    assert found.tolist() == pytest.approx([1, 1 / 0.435598, math.inf], rel=1e-5)
    qualities = np.array([0.1, 0.3, 0.4])
    without = [printed_bound(np.delete(qualities, place)) / printed_bound(qualities) for place in range(3)]
    assert importances(qualities).tolist() == pytest.approx(without)


def test_important_workers_by_hand() -> None:
    """Im at .1, .25, .4: 7.378, 2.296, 1.263; against the greatest: 1, .311, .171."""
    qualities = [0.4, 0.1, 0.25, 0.1]
    assert important_workers(qualities, threshold=1.0).tolist() == [1, 3]
    assert important_workers(qualities, threshold=0.32).tolist() == [1, 3]
    assert important_workers(qualities, threshold=0.31).tolist() == [1, 2, 3]
    assert important_workers(qualities, threshold=0.17).tolist() == [0, 1, 2, 3]
    assert important_workers([0.2, 0.0], threshold=1e-9).tolist() == [1]


@CHECKED
@given(st.lists(st.floats(0, 0.5), min_size=1, max_size=9), st.floats(0.001, 1), st.floats(0.001, 1))
def test_a_smaller_threshold_finds_more_workers(qualities: list[float], first: float, second: float) -> None:
    few, many = (
        set(important_workers(qualities, threshold=c).tolist()) for c in (max(first, second), min(first, second))
    )
    assert few <= many
    assert int(np.argmin(qualities)) in few


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match=r"qualities must be in \[0, 1\], got -0.5 to 0.2"):
        linear_factors([0.2, -0.5])
    with pytest.raises(ValueError, match=r"flip_probabilities must be in \[0, 1\]"):
        error_change([0.2], 1.5)
    with pytest.raises(ValueError, match=r"flip_probabilities must be in \[0, 1\]"):
        printed_expansion_terms([0.2], -1)
    with pytest.raises(ValueError, match=r"folded into \[0, 0.5\], got 0.75"):
        importances([0.2, 0.75])
    with pytest.raises(ValueError, match=r"folded into \[0, 0.5\], got 0.75"):
        important_workers([0.2, 0.75], threshold=1)
    with pytest.raises(ValueError, match=r"threshold must be in \(0, 1\], got 0"):
        important_workers([0.2], threshold=0)
    with pytest.raises(ValueError, match="num_points must be > 0"):
        line_quality(num_points=0)
