"""The claimed privacy losses by hand, and complements that no estimator can tell apart."""

import functools
import itertools
from fractions import Fraction

import numpy as np
import pytest
from psephos.protocol.arrays import IntArray
from psephos.scenarios.truth_discovery.paper.theory import (
    accuracy,
    likelihood,
    mean_accuracy_of_truth_and_complement,
    report_law,
)

HALF = Fraction(1, 2)
INTERVALS = [(Fraction(0), Fraction(1)), (Fraction(1, 5), Fraction(4, 5)), (HALF, HALF)]


def test_the_law_of_one_report_knows_the_mean_alone() -> None:
    """Reading T9: for one answer, no hyper-distribution with mean ¼ is more private than another."""
    laws = [report_law((1,), low=low, high=HALF - low) for low in (Fraction(0), Fraction(1, 10), Fraction(1, 4))]
    assert laws == [{(0,): Fraction(1, 4), (1,): Fraction(3, 4)}] * 3


def test_the_losses_of_several_answers_are_not_the_claimed_one() -> None:
    """U(0, 1), two answers, by hand: L = (1/3, 1/6, 1/3), so that ln 2 is lost where 0 is claimed."""
    found = [likelihood(k, 2, low=0, high=1) for k in range(3)]
    assert found == [Fraction(1, 3), Fraction(1, 6), Fraction(1, 3)]


def test_the_likelihood_by_hand() -> None:
    """E[P(1 − P)²] over U(0, ½) = 2·[x²/2 − 2x³/3 + x⁴/4] at ½ = 2·(1/8 − 1/12 + 1/64) = 11/96."""
    assert likelihood(1, 3, low=0, high=HALF) == Fraction(11, 96)
    assert likelihood(1, 3, low=HALF / 2, high=HALF / 2) == Fraction(9, 64)
    assert likelihood(0, 0, low=0, high=1) == 1


@pytest.mark.parametrize(("low", "high"), [*INTERVALS, (Fraction(0), Fraction(3, 10)), (0.1, 0.4)])
def test_report_laws_sum_to_one(low: Fraction, high: Fraction) -> None:
    assert sum(report_law((0, 1, 1, 0), low=low, high=high).values()) == 1


@pytest.mark.parametrize(("low", "high"), INTERVALS)
@pytest.mark.parametrize("num_answers", [1, 2, 5])
def test_complements_have_the_same_law_where_a_plus_b_is_one(low: Fraction, high: Fraction, num_answers: int) -> None:
    """Reading T5, exactly, for all answers."""
    for answers in itertools.product((0, 1), repeat=num_answers):
        complement = tuple(1 - answer for answer in answers)
        assert report_law(answers, low=low, high=high) == report_law(complement, low=low, high=high)


def test_complements_have_different_laws_elsewhere() -> None:
    assert report_law((0, 1), low=0, high=0.75) != report_law((1, 0), low=0, high=0.75)


def test_other_answers_than_the_complement_have_another_law() -> None:
    """Two alike and two unlike answers: 0 is claimed at U(0, 1), and yet the reports tell."""
    assert report_law((0, 0), low=0, high=1) != report_law((0, 1), low=0, high=1)
    assert report_law((0, 0), low=HALF, high=HALF) == report_law((0, 1), low=HALF, high=HALF)


def majority(reports: IntArray) -> IntArray:
    return (2 * reports.sum(axis=0) > len(reports)).astype(np.int64)


def like_the_first_task(reports: IntArray) -> IntArray:
    """Estimate 0 for the first task, and for the others whether most workers answered them alike."""
    return majority(reports ^ reports[:, :1])


@pytest.mark.parametrize(("low", "high"), INTERVALS)
def test_no_estimator_beats_a_half_where_a_plus_b_is_one(low: Fraction, high: Fraction) -> None:
    """Majority, one that uses likeness, and 20 random tables over all 64 reports of 3 workers on 2 tasks."""
    generator = np.random.default_rng(5)
    tables = generator.integers(0, 2, (20, 64, 2))
    places = 2 ** np.arange(6).reshape(3, 2)

    def look_up(table: IntArray, reports: IntArray) -> IntArray:
        return np.array(table[int((reports * places).sum())], dtype=np.int64)

    estimators = [majority, like_the_first_task, *(functools.partial(look_up, table) for table in tables)]
    answers, truths = np.array([[0, 1], [0, 1], [0, 0]]), np.array([0, 1])
    for estimate in estimators:
        assert mean_accuracy_of_truth_and_complement(estimate, answers, truths, low=low, high=high) == HALF


def test_always_answering_zero_beats_a_half_on_truths_that_lean() -> None:
    """So a published accuracy above ½ at "ε = 0" may owe nothing to the reports (reading T5)."""

    def zeros(reports: IntArray) -> IntArray:
        return np.zeros_like(reports[0])

    answers, truths = np.zeros((1, 3), dtype=np.int64), np.array([0, 0, 1])
    assert accuracy(zeros, answers, truths, low=0, high=1) == Fraction(2, 3)
    assert mean_accuracy_of_truth_and_complement(zeros, answers, truths, low=0, high=1) == HALF


def test_majority_beats_a_half_elsewhere() -> None:
    """Three right workers with p^f = ¼: 27/64 + 27/64 = 54/64; the same for both truths."""
    answers, truths = np.array([[1], [1], [1]]), np.array([1])
    quarter = Fraction(1, 4)
    assert mean_accuracy_of_truth_and_complement(majority, answers, truths, low=quarter, high=quarter) == Fraction(
        54, 64
    )


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="low and high must be 0 <= low <= high <= 1"):
        likelihood(0, 1, low=0.5, high=0.25)
    with pytest.raises(ValueError, match="low and high must be"):
        likelihood(0, 1, low=0, high=1.25)
    with pytest.raises(ValueError, match=r"num_flipped must be in \[0, 2\], got 3"):
        likelihood(3, 2, low=0, high=1)
    with pytest.raises(ValueError, match="answers must be 0 or 1"):
        report_law((0, 2), low=0, high=1)
    with pytest.raises(ValueError, match=r"answers must be \(workers, tasks\)"):
        accuracy(majority, np.zeros((2, 3), dtype=np.int64), np.zeros(2, dtype=np.int64), low=0, high=1)
