"""CRH: by hand, against plain loops, at the edges, and with the noise known."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inference_crowds import claims_of, crowd, crowds, table
from psephos.protocol.estimators.truth_inference import MISSING, Answers, KnownNoise, crh, majority_vote


def plain_crh(answers: Answers, *, rounds: int, clamp: float, greatest: bool) -> tuple[list[int], list[float]]:
    """CRH as SIGMOD 2014 words it, in loops."""
    rows = claims_of(answers)
    sizes, truths = answers.sizes.tolist(), [MISSING] * answers.num_tasks
    weights = [1.0] * answers.num_workers
    for done in range(rounds + 1):
        for task, size in enumerate(sizes):
            mine = [(w, label) for t, w, label in rows if t == task]
            scores = [math.fsum(weights[w] for w, label in mine if label == x) for x in range(size)]
            best = max(scores)
            truths[task] = next(x for x, s in enumerate(scores) if s > best - 1e-9) if mine else MISSING
        if done == rounds:
            break
        losses: dict[int, float] = {}
        for worker in range(answers.num_workers):
            wrong = [label != truths[t] for t, w, label in rows if w == worker]
            if wrong:
                losses[worker] = max(sum(wrong) / len(wrong), clamp)
        whole = max(losses.values(), default=1.0) if greatest else sum(losses.values())
        weights = [-math.log(losses[w] / whole) if w in losses else 0.0 for w in range(answers.num_workers)]
        if not any(abs(weight) > 1e-9 for weight in weights):
            weights = [1.0] * answers.num_workers
    return truths, weights


def test_crh_by_hand() -> None:
    """The majority is 0, 0, 0, 0. Losses are the clamp 1/20, 1/4, 1/4 and 3/4: in all 1.3."""
    answers = table([(0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 1, 0), (1, 1, 1, 0)])
    found = crh(answers)
    assert found.truths.tolist() == [0, 0, 0, 0]
    assert found.qualities.tolist() == pytest.approx([0.95, 0.75, 0.75, 0.25], abs=1e-8)
    assert found.weights.tolist() == pytest.approx(
        [math.log(1.3 / loss) for loss in (0.05, 0.25, 0.25, 0.75)], abs=1e-8
    )
    total = sum(found.weights.tolist())
    assert found.confidences[0] == pytest.approx(1 - found.weights[3] / total)
    assert (found.has_converged, found.num_iterations) == (True, 1)
    worst = crh(answers, scale="greatest")
    assert worst.weights.tolist() == pytest.approx(
        [math.log(0.75 / loss) for loss in (0.05, 0.25, 0.25, 0.75)], abs=1e-8
    )


@given(crowds(), st.sampled_from(["sum", "greatest"]), st.integers(1, 3))
def test_crh_equals_a_plain_loop(answers: Answers, scale: Any, rounds: int) -> None:
    found = crh(answers, scale=scale, max_iterations=rounds)
    truths, weights = plain_crh(answers, rounds=found.num_iterations, clamp=0.05, greatest=scale == "greatest")
    assert found.truths.tolist() == truths
    active = ~np.isnan(found.weights)
    assert found.weights[active].tolist() == pytest.approx(np.array(weights)[active].tolist(), abs=1e-7)


def test_one_worker_is_believed() -> None:
    assert crh(table([(0, 1, 1)])).truths.tolist() == [0, 1, 1]
    assert crh(table([(0, 1, 1)] * 3), scale="greatest").truths.tolist() == [0, 1, 1]


def test_nobody_and_nothing() -> None:
    found = crh(crowd([], tasks=2, workers=3))
    assert found.truths.tolist() == [MISSING] * 2
    assert np.all(np.isnan(found.weights))


def test_the_known_noise_is_taken_out_of_losses() -> None:
    """With p = 1/4 of two labels r = 3a/4 + (1 − a)/4: of a right, r − 1/4 is half. Shares .75 and .5 are 1 and .5."""
    rows = [(0,) * 8, (0, 0, 0, 0, 0, 0, 1, 1), (0, 0, 0, 0, 1, 1, 1, 1), (0,) * 8]
    found = crh(table(rows), KnownNoise.from_flip_probabilities({2: 0.25}))
    assert found.qualities.tolist() == pytest.approx([0.95, 0.95, 0.5, 0.95], abs=1e-8)
    assert crh(table(rows)).qualities.tolist() == pytest.approx([0.95, 0.75, 0.5, 0.95], abs=1e-8)


def test_no_noise_is_no_knowledge() -> None:
    answers = table([(0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 1, 0), (1, 1, 1, 0)])
    knowing = crh(answers, KnownNoise.from_flip_probabilities({2: 0.0}))
    assert knowing.weights.tolist() == crh(answers).weights.tolist()


def test_where_reports_say_nothing_it_is_a_majority() -> None:
    answers = table([(0, 1, 1, 0), (0, 1, 0, 1), (1, 1, 1, 0)])
    found = crh(answers, KnownNoise.from_flip_probabilities({2: 0.5}))
    assert found.truths.tolist() == majority_vote(answers).truths.tolist()
    assert len(set(found.weights.tolist())) == 1


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"clamp": 0.0}, "clamp"),
        ({"clamp": 0.5}, "clamp"),
        ({"scale": "mean"}, "scale"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"ties": "random"}, "ties"),
    ],
)
def test_arguments_out_of_range_are_refused(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        crh(table([(0, 1)]), **arguments)


def test_a_size_without_a_flip_probability_is_refused() -> None:
    with pytest.raises(ValueError, match="no flip probability"):
        crh(table([(0, 1)]), KnownNoise.from_flip_probabilities({3: 0.1}))
