"""Majority voting and truth discovery: by hand, at the edges, and against plain loops."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inference_crowds import claims_of, crowd, crowds
from psephos.protocol.estimators.truth_inference import MISSING, Answers, majority_vote, truth_discovery


def plain_discovery(answers: Answers, *, rounds: int, clamp: float) -> list[int]:
    """Truth discovery as the paper words it, in loops, with weights as the integers that 2⁻³² counts."""
    rows, truths, sizes = claims_of(answers), [MISSING] * answers.num_tasks, answers.sizes.tolist()
    weights = {(w, s): 1 for w in range(answers.num_workers) for s in sizes}
    for done in range(rounds + 1):
        for task, size in enumerate(sizes):
            mine = [(w, label) for t, w, label in rows if t == task]
            scores = [sum(weights[w, size] for w, label in mine if label == x) for x in range(size)]
            truths[task] = scores.index(max(scores)) if mine else MISSING
        if done == rounds:
            break
        for worker in range(answers.num_workers):
            mine = [label == truths[t] for t, w, label in rows if w == worker]
            if mine:
                p = min(max(sum(mine) / len(mine), clamp), 1 - clamp)
                for size in sizes:
                    weights[worker, size] = round((math.log(p / (1 - p)) + math.log(size - 1)) * 2**32)
    return truths


THREE = crowd([(0, 0, 1), (0, 1, 1), (0, 2, 0), (1, 0, 0), (1, 1, 1), (3, 2, 1)], tasks=4, workers=4)


def test_a_majority_by_hand() -> None:
    result = majority_vote(THREE)
    assert result.truths.tolist() == [1, 0, MISSING, 1]
    np.testing.assert_array_equal(result.confidences, [2 / 3, 1 / 2, np.nan, 1])
    np.testing.assert_array_equal(result.probabilities, [[1 / 3, 2 / 3], [1 / 2, 1 / 2], [np.nan, np.nan], [0, 1]])
    np.testing.assert_array_equal(result.qualities, [1, 1 / 2, 1 / 2, np.nan])
    np.testing.assert_array_equal(result.weights, [1, 1, 1, np.nan])
    assert (result.num_iterations, result.has_converged) == (0, True)


@pytest.mark.parametrize(("ties", "truth"), [("first", 0), ("last", 1), ("missing", MISSING)])
def test_ties_follow_their_rule(ties: Any, truth: int) -> None:
    assert majority_vote(THREE, ties=ties).truths.tolist() == [1, truth, MISSING, 1]
    two = crowd([(0, 0, 0), (0, 1, 1)], tasks=1, workers=2)
    assert truth_discovery(two, ties=ties, max_iterations=1).truths.tolist()[0] in {truth, 0, 1}


def test_an_open_tie_of_three_labels_is_settled_by_a_fourth_that_has_more() -> None:
    rows = [(0, 0, 0), (0, 1, 1), (0, 2, 2), (0, 3, 3), (0, 4, 3)]
    assert majority_vote(crowd(rows, tasks=1, workers=5, sizes=4), ties="missing").truths.tolist() == [3]


def test_a_tie_of_weights_is_a_tie_whatever_the_order_of_the_answers() -> None:
    """Workers 0 to 2 are right as often as 3 to 5, so that the votes on either side of task 0 weigh the same."""
    history = [(task, worker, int(task == 1)) for task in (1, 2, 3) for worker in range(6)]
    history += [(4, worker, int(worker % 3 == 0)) for worker in range(6)]
    # The tie on task 0 begins as 0; task 5, where the others are right, makes up for it.
    history += [(5, worker, int(worker >= 3)) for worker in range(9)]
    tie = [(0, worker, int(worker >= 3)) for worker in range(6)]
    for order in (1, -1):
        answers = crowd((history + tie)[::order], tasks=6, workers=9)
        assert truth_discovery(answers, ties="missing", max_iterations=1).truths[0] == MISSING


def test_truth_discovery_by_hand() -> None:
    """The majority's truths are 1, 1, 0; worker 2 agrees on one of three, the others on all, clamped to .9."""
    rows = [(0, 0, 1), (1, 0, 1), (2, 0, 0), (0, 1, 1), (1, 1, 1), (2, 1, 0), (0, 2, 0), (1, 2, 0), (2, 2, 0)]
    result = truth_discovery(crowd(rows, tasks=3, workers=3), clamp=0.1)
    assert result.truths.tolist() == [1, 1, 0]
    np.testing.assert_allclose(result.weights, [math.log(9), math.log(9), -math.log(2)], atol=2**-32)
    np.testing.assert_allclose(result.qualities, [0.9, 0.9, 1 / 3])
    np.testing.assert_allclose(result.confidences, [162 / 163, 162 / 163, 81 / 83], atol=1e-8)
    assert (result.num_iterations, result.has_converged) == (1, True)


def test_dividing_by_all_tasks_turns_workers_with_few_answers_round() -> None:
    answers = crowd([(0, 0, 1), (0, 1, 1)], tasks=10, workers=2)
    result = truth_discovery(answers, normalization="all", max_iterations=1)
    np.testing.assert_allclose(result.qualities, [0.1, 0.1])
    assert result.truths[0] == 0
    assert truth_discovery(answers).truths[0] == 1


@given(crowds(), st.integers(1, 4))
def test_truth_discovery_equals_a_plain_loop(answers: Answers, rounds: int) -> None:
    """Also where it stops sooner, since the truths repeat."""
    result = truth_discovery(answers, max_iterations=rounds)
    assert result.has_converged or result.num_iterations == rounds
    assert result.truths.tolist() == plain_discovery(answers, rounds=rounds, clamp=0.05)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"ties": "coin"}, "ties"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"clamp": 0.0}, "clamp"),
        ({"clamp": 0.5}, "clamp"),
        ({"clamp": math.nan}, "clamp"),
        ({"normalization": "some"}, "normalization"),
    ],
)
def test_arguments_out_of_range_are_refused(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        truth_discovery(THREE, **arguments)


def test_a_majority_refuses_an_unknown_rule() -> None:
    unknown: Any = "coin"
    with pytest.raises(ValueError, match="first, last, missing"):
        majority_vote(THREE, ties=unknown)


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"workers": np.array([0])}, r"have shapes \[\(1,\), \(2,\)\]: give all of them one shape"),
        ({"sizes": np.array([2])}, r"sizes has shape \(1,\): give \(2,\)"),
        ({"sizes": np.array([2, 1])}, "an answer set has 1 labels: use at least 2"),
        ({"tasks": np.array([0, 2])}, r"tasks are 0 to 2: use codes from 0, below 2"),
        ({"workers": np.array([-1, 0])}, r"workers are -1 to 0: use codes"),
        ({"labels": np.array([2, 2])}, "a label is outside its task's answer set"),
        ({"labels": np.array([0, -1])}, "a label is outside its task's answer set"),
    ],
)
def test_answers_whose_columns_or_codes_do_not_fit_are_refused(given: dict[str, Any], refusal: str) -> None:
    fitting = crowd([(0, 0, 1), (1, 1, 2)], tasks=2, workers=2, sizes=[2, 3])
    with pytest.raises(ValueError, match=refusal):
        dataclasses.replace(fitting, **given)
