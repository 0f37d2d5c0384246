"""Which bounds hold: against the exact error, by hand, by enumeration and for random workers."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol.arrays import FloatArray
from psephos.scenarios.truth_discovery.paper import error_bounds
from psephos.scenarios.truth_discovery.paper.error_bounds import (
    chernoff_bound,
    exact_error,
    fold,
    log_odds,
    printed_bound,
    printed_factors,
)
from strategies import CHECKED

ELEVEN = np.full(11, 0.25)

QUALITIES = st.lists(st.floats(0.01, 0.99), min_size=1, max_size=9).map(np.array)
WEIGHTED = st.lists(st.tuples(st.floats(0.01, 0.99), st.floats(-3, 3)), min_size=1, max_size=9).filter(
    lambda pairs: any(abs(weight) > 1e-3 for _, weight in pairs)
)


def enumerated_error(qualities: FloatArray, weights: FloatArray, tie_error: float) -> float:
    total = 0.0
    for signs in itertools.product((1, -1), repeat=len(qualities)):
        chance = math.prod(p if sign > 0 else 1 - p for p, sign in zip(qualities.tolist(), signs, strict=True))
        margin = math.fsum(weight * sign for weight, sign in zip(weights.tolist(), signs, strict=True))
        total += chance * (1.0 if margin < -1e-9 else tie_error if margin <= 1e-9 else 0.0)
    return total


def test_the_printed_bound_is_below_the_error() -> None:
    """Reading T8: 11 workers at p = ¼ (¾ once folded back): the error is .0343, the printed bound 1.1e-4."""
    error = exact_error(ELEVEN, log_odds(ELEVEN))
    assert error == pytest.approx(0.0343, abs=5e-5)
    assert error == pytest.approx(sum(math.comb(11, k) * 0.75**k * 0.25 ** (11 - k) for k in range(6)), rel=1e-12)
    assert printed_bound(ELEVEN) == pytest.approx(1.1e-4, abs=5e-6)
    assert printed_bound(ELEVEN) < error < chernoff_bound(ELEVEN)
    assert chernoff_bound(ELEVEN) == pytest.approx(0.75**5.5, rel=1e-12)


@CHECKED
@given(QUALITIES)
def test_chernoffs_bound_holds_for_log_odds_weights(qualities: FloatArray) -> None:
    """Even with all ties counted as errors."""
    assert exact_error(qualities, log_odds(qualities), tie_error=1.0) <= chernoff_bound(qualities) * (1 + 1e-12)


@CHECKED
@given(st.lists(st.floats(0.5, math.e / (1 + math.e)), min_size=1, max_size=9))
def test_the_printed_bound_holds_for_weights_from_zero_to_one(qualities: list[float]) -> None:
    """Jensen's inequality then points the right way: not for folded qualities, whose weights are negative."""
    error = exact_error(qualities, log_odds(qualities), tie_error=1.0)
    assert error <= printed_bound(qualities) * (1 + 1e-9)


@CHECKED
@given(st.lists(st.floats(0.001, 0.5), min_size=1, max_size=9))
def test_the_printed_factors_are_below_the_right_ones_for_folded_qualities(qualities: list[float]) -> None:
    """Not above 1, which is what (6) gives with the right expectation at the weights of (7)."""
    assert printed_factors(qualities).max() <= 1 + 1e-12


def test_the_printed_factor_differs_between_workers_whom_the_paper_calls_equivalent() -> None:
    """G(¼) = .436 and G(¾) = .951, though the signed vote of both is the same; above .6 or so it even exceeds 1."""
    assert printed_factors([0.25, 0.75]).tolist() == pytest.approx([0.4356, 0.9512], abs=1e-4)
    assert printed_factors(0.6) > 1
    assert chernoff_bound([0.25]) == chernoff_bound([0.75])
    assert exact_error([0.25], log_odds([0.25])) == pytest.approx(exact_error([0.75], log_odds([0.75])))


def test_factors_at_the_ends() -> None:
    assert printed_factors([0.0, 0.5, 1.0]).tolist() == [0.0, 1.0, 0.0]
    assert log_odds([0.0, 0.5, 1.0]).tolist() == [-math.inf, 0.0, math.inf]
    assert fold([0.0, 0.25, 0.5, 0.75, 1.0]).tolist() == [0.0, 0.25, 0.5, 0.25, 0.0]
    assert chernoff_bound([0.0, 0.3]) == 0
    assert chernoff_bound([0.5, 0.5]) == 1


def test_the_exact_error_by_hand() -> None:
    """Two workers at .9 tie with .18; one who outweighs the other decides alone; three equal ones: .028."""
    assert exact_error([0.9, 0.9], [1, 1]) == pytest.approx(0.01 + 0.09)
    assert exact_error([0.9, 0.9], [1, 1], tie_error=0) == pytest.approx(0.01)
    assert exact_error([0.9, 0.9], [1, 1], tie_error=1) == pytest.approx(0.19)
    assert exact_error([0.8, 0.6], [2, 1]) == pytest.approx(0.2)
    assert exact_error([0.9, 0.9, 0.9], [5, 5, 5]) == pytest.approx(0.028)
    assert exact_error([0.9, 0.3], [0, 0]) == 0.5
    assert exact_error([0.0, 1.0], [-1, 3]) == 0
    assert exact_error([0.9], [-1]) == pytest.approx(0.9)


def test_sums_that_rounding_would_part_are_ties() -> None:
    """As ln 8 = 3·ln 2: one worker against three. In floats .1 + .2 is not .3 either."""
    weights = np.array([math.log(8), math.log(2), math.log(2), math.log(2)])
    chances = exact_error(np.full(4, 0.9), weights, tie_error=1) - exact_error(np.full(4, 0.9), weights, tie_error=0)
    assert chances == pytest.approx(0.9 * 0.1**3 + 0.1 * 0.9**3)
    assert exact_error([1.0, 1.0, 0.0], [0.1, 0.2, 0.3]) == 0.5


@CHECKED
@given(WEIGHTED, st.sampled_from([0.0, 0.5, 1.0]))
def test_the_exact_error_is_that_of_an_enumeration(pairs: list[tuple[float, float]], tie_error: float) -> None:
    """Weights on a grid of eighths, so that ties are frequent and exact."""
    qualities, given_weights = np.array(pairs).T
    weights = np.rint(given_weights * 8) / 8
    expected = enumerated_error(qualities, weights, tie_error)
    assert exact_error(qualities, weights, tie_error=tie_error) == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_equal_weights_allow_many_workers() -> None:
    """1000 at .52: the binomial law, by its normal approximation with the correction of ½ (here within 1e-4)."""
    error = exact_error(np.full(1001, 0.52), np.ones(1001))
    z = (500.5 - 1001 * 0.52) / math.sqrt(1001 * 0.52 * 0.48)
    assert error == pytest.approx(0.5 * math.erfc(-z / math.sqrt(2)), abs=1e-4)


def test_twenty_workers_of_all_different_weights_are_enumerated() -> None:
    qualities = np.linspace(0.05, 0.45, 20)
    error = exact_error(qualities, log_odds(qualities))
    assert printed_bound(qualities) < error < chernoff_bound(qualities)


def test_too_many_sums_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(error_bounds, "_MAX_SUMS", 7)
    assert exact_error([0.9] * 6, [1] * 6) > 0
    with pytest.raises(ValueError, match="3 workers' weights have more than 7 different sums"):
        exact_error([0.9] * 3, [1, 2, 4])


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match=r"qualities must be in \[0, 1\], got -0.5 to 0.2"):
        printed_bound([0.2, -0.5])
    with pytest.raises(ValueError, match="qualities must be in"):
        log_odds([math.nan])
    with pytest.raises(ValueError, match="one for each worker"):
        exact_error([], [])
    with pytest.raises(ValueError, match="one for each worker"):
        exact_error([0.2], [1, 2])
    with pytest.raises(ValueError, match="weights must be finite"):
        exact_error([1.0], log_odds([1.0]))
    with pytest.raises(ValueError, match=r"tie_error must be in \[0, 1\], got 2"):
        exact_error([0.5], [1], tie_error=2)
