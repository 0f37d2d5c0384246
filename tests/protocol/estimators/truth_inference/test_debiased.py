"""Debiased counts: exact expectations over all perturbations, and what is known of noise."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from psephos.protocol.estimators.truth_inference import MISSING, Answers, KnownNoise, debiased_majority


def one_task(labels: list[int], *, size: int) -> Answers:
    count = len(labels)
    return Answers(
        np.zeros(count, dtype=np.int64), np.arange(count), np.array(labels, dtype=np.int64), 1, count, np.array([size])
    )


@pytest.mark.parametrize(
    ("truly", "size", "flip"), [([0, 0, 1, 1, 1], 2, 0.3), ([2, 1, 2, 0], 3, 0.45), ([0, 1], 2, 0.8)]
)
def test_counts_and_variances_over_all_perturbations(truly: list[int], size: int, flip: float) -> None:
    """The estimate's expectation is the clean count, and its variance the formula's."""
    noise, lie = KnownNoise.from_flip_probabilities({size: flip}), flip / (size - 1)
    mean, square = np.zeros(size), np.zeros(size)
    for reports in itertools.product(range(size), repeat=len(truly)):
        chance = math.prod(1 - flip if r == x else lie for r, x in zip(reports, truly, strict=True))
        counts = debiased_majority(one_task(list(reports), size=size), noise).counts[0]
        mean += chance * counts
        square += chance * counts**2
    clean = [truly.count(label) for label in range(size)]
    np.testing.assert_allclose(mean, clean)
    kept = 1 - flip - lie
    expected = [(n * flip * (1 - flip) + (len(truly) - n) * lie * (1 - lie)) / kept**2 for n in clean]
    np.testing.assert_allclose(square - mean**2, expected)


def test_two_labels_have_an_exact_standard_error() -> None:
    """√(n·p(1 − p))/(1 − 2p), whatever was answered; (reports − n·p)/(1 − 2p) by hand."""
    result = debiased_majority(one_task([0, 0, 0, 1], size=2), KnownNoise.from_flip_probabilities({2: 0.25}))
    np.testing.assert_allclose(result.counts, [[4.0, 0.0]])
    np.testing.assert_allclose(result.standard_errors, [[math.sqrt(0.75) / 0.5] * 2])
    np.testing.assert_allclose(result.probabilities, [[1.0, 0.0]])
    # The margin is 4, its standard error twice a count's.
    np.testing.assert_allclose(result.confidences, 1 - 0.5 * math.erfc(4 / (2 * math.sqrt(3) * math.sqrt(2))))


@pytest.mark.parametrize(("ties", "truth"), [("first", 0), ("last", 2), ("missing", MISSING)])
def test_ties_follow_their_rule(ties: Any, truth: int) -> None:
    result = debiased_majority(
        one_task([0, 1, 2, 2, 0], size=3), KnownNoise.from_flip_probabilities({3: 0.2}), ties=ties
    )
    assert result.truths.tolist() == [truth]
    np.testing.assert_allclose(result.confidences, [0.5])


def test_without_noise_it_is_the_majority_and_certain() -> None:
    result = debiased_majority(one_task([1, 1, 0], size=2), KnownNoise.from_flip_probabilities({2: 0.0}))
    assert result.truths.tolist() == [1]
    np.testing.assert_array_equal(result.counts, [[1, 2]])
    np.testing.assert_array_equal(result.standard_errors, [[0, 0]])
    assert result.confidences.tolist() == [1]
    tie = debiased_majority(one_task([1, 0], size=2), KnownNoise.from_flip_probabilities({2: 0.0}))
    assert tie.confidences.tolist() == [0.5]


def test_beyond_a_half_a_report_speaks_against_its_label() -> None:
    assert debiased_majority(
        one_task([1, 1, 0], size=2), KnownNoise.from_flip_probabilities({2: 0.9})
    ).truths.tolist() == [0]


def test_mixed_sizes_missing_tasks_and_silent_workers() -> None:
    answers = Answers(np.array([0, 2]), np.array([0, 0]), np.array([1, 2]), 3, 2, np.array([2, 2, 3]))
    result = debiased_majority(answers, KnownNoise.from_flip_probabilities({2: 0.2, 3: 0.3}))
    assert result.truths.tolist() == [1, MISSING, 2]
    assert np.isnan(result.counts).tolist() == [[False, False, True], [False, False, True], [False] * 3]
    assert np.isnan(result.standard_errors[0, 2])
    assert np.isnan(result.confidences).tolist() == [False, True, False]
    assert np.isnan(result.weights).tolist() == [False, True]
    assert np.isnan(result.qualities).all()


def test_no_answers_leave_all_missing() -> None:
    result = debiased_majority(one_task([], size=2), KnownNoise.from_flip_probabilities({2: 0.2}))
    assert result.truths.tolist() == [MISSING]


def test_what_leaves_nothing_to_estimate_is_refused() -> None:
    for size in (2, 3):
        with pytest.raises(ValueError, match=r"\(s - 1\)/s"):
            debiased_majority(one_task([0], size=size), KnownNoise.from_flip_probabilities({size: (size - 1) / size}))


def test_an_unknown_rule_for_ties_is_refused() -> None:
    unknown: Any = "coin"
    with pytest.raises(ValueError, match="ties"):
        debiased_majority(one_task([0], size=2), KnownNoise.from_flip_probabilities({2: 0.2}), ties=unknown)


def test_uniform_noise_has_its_mean_and_ascends() -> None:
    noise = KnownNoise.uniform({2: (0.0, 0.6), 3: (0.1, 0.5)}, num_values=5)
    assert noise.num_values == 5
    assert noise.flips[2] == pytest.approx((0.06, 0.18, 0.3, 0.42, 0.54))
    np.testing.assert_allclose(noise.means_of(np.array([2, 3, 2])), [0.3, 0.3, 0.3])
    assert KnownNoise.from_flip_probabilities({4: 0.25}).values_of(np.array([4])).tolist() == [[0.25]]


@pytest.mark.parametrize(
    ("flips", "named"),
    [
        ({}, r"the sizes \[\]: give one or more"),
        ({1: (0.2,)}, "at least 2"),
        ({2: (0.2,), 3: (0.2, 0.3)}, "as many"),
        ({2: ()}, "as many"),
        ({2: (0.3, 0.2)}, r"size 2 are \(0.3, 0.2\): use values from 0 to 1 that never fall"),
        ({2: (-0.1,)}, r"size 2 are \(-0.1,\): use values from 0 to 1 that never fall"),
        ({2: (1.1,)}, r"size 2 are \(1.1,\): use values from 0 to 1 that never fall"),
        ({2: (math.nan,)}, r"size 2 are \(nan,\): use values from 0 to 1 that never fall"),
    ],
)
def test_noise_out_of_range_is_refused(flips: Any, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        KnownNoise(flips)
