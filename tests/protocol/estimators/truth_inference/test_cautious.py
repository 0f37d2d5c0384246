"""The paper's truths, but where two models that know the perturbation agree on another one."""

from typing import Any

import numpy as np
import pytest
from psephos.protocol.estimators.truth_inference import (
    Answers,
    KnownNoise,
    cautious_truth_discovery,
    noise_aware_dawid_skene,
    noise_aware_one_coin,
    truth_discovery,
)


def perturbed(seed: int, *, tasks: int = 120, workers: int = 25, size: int = 2, flip: float = 0.35) -> Answers:
    """Workers of quality 0.5 to 0.9, each answering half of the tasks, whose answers were perturbed."""
    draws = np.random.Generator(np.random.Philox(seed))
    truths = draws.integers(0, size, tasks)
    task, worker = np.nonzero(draws.random((tasks, workers)) < 0.5)
    wrong = draws.random(len(task)) > np.linspace(0.5, 0.9, workers)[worker]
    labels = np.where(wrong, (truths[task] + draws.integers(1, size, len(task))) % size, truths[task])
    flipped = draws.random(len(task)) < flip
    labels = np.where(flipped, (labels + draws.integers(1, size, len(task))) % size, labels)
    return Answers(task, worker, labels, tasks, workers, np.full(tasks, size))


@pytest.mark.parametrize("size", [2, 3])
def test_a_label_is_given_up_exactly_where_another_is_likelier_by_the_odds(size: int) -> None:
    noise = KnownNoise.fixed({size: 0.35})
    num_given_up = num_kept = 0
    for seed in range(6):
        answers = perturbed(seed, size=size)
        paper, coin = truth_discovery(answers), noise_aware_one_coin(answers, noise)
        full = noise_aware_dawid_skene(answers, noise)
        found = cautious_truth_discovery(answers, noise, least_odds=2.0)
        mean = (coin.probabilities + full.probabilities) / 2
        for task in range(answers.num_tasks):
            theirs, likeliest = int(paper.truths[task]), int(mean[task].argmax())
            gives_up = mean[task, likeliest] > 2.0 * mean[task, theirs]
            assert found.truths[task] == (likeliest if gives_up else theirs)
            num_given_up += gives_up
            num_kept += not gives_up and likeliest != theirs
        assert found.probabilities == pytest.approx(mean, abs=1e-9)
        chosen = found.probabilities[np.arange(answers.num_tasks), found.truths]
        assert np.array_equal(found.confidences, chosen)
        assert np.array_equal(found.weights, coin.weights)
        assert np.array_equal(found.qualities, coin.qualities)
        assert found.has_converged == (coin.has_converged and full.has_converged)
    assert num_given_up
    assert num_kept


def test_odds_without_end_keep_the_papers_truths() -> None:
    answers, noise = perturbed(1), KnownNoise.fixed({2: 0.35})
    assert np.array_equal(
        cautious_truth_discovery(answers, noise, least_odds=1e300).truths, truth_discovery(answers).truths
    )


def test_where_reports_say_nothing_the_papers_truths_stay() -> None:
    answers = perturbed(2, flip=0.5)
    found = cautious_truth_discovery(answers, KnownNoise.fixed({2: 0.5}))
    assert np.array_equal(found.truths, truth_discovery(answers).truths)


def test_what_the_paper_is_asked_is_passed_on() -> None:
    answers, noise = perturbed(3), KnownNoise.fixed({2: 0.35})
    one = cautious_truth_discovery(answers, noise, clamp=0.4, max_rounds=1, least_odds=1e300)
    assert np.array_equal(one.truths, truth_discovery(answers, clamp=0.4, max_iterations=1).truths)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"least_odds": 0.9}, "least_odds"),
        ({"least_odds": np.inf}, "least_odds"),
        ({"least_odds": np.nan}, "least_odds"),
        ({"clamp": 0.5}, "clamp"),
        ({"max_rounds": 0}, "max_iterations"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"tolerance": -1.0}, "tolerance"),
        ({"ties": "random"}, "ties"),
    ],
)
def test_arguments_out_of_range_are_refused(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        cautious_truth_discovery(perturbed(4, tasks=5), KnownNoise.fixed({2: 0.2}), **arguments)
