"""The paper's truths, but where three models that know the perturbation find another one likelier on average."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
from inference_crowds import laid_out
from psephos.protocol.arrays import FloatArray
from psephos.protocol.estimators.truth_inference import (
    AnswerBlock,
    Answers,
    KnownNoise,
    cautious_truth_discovery,
    noise_aware_one_coin,
    truth_discovery,
)
from psephos.protocol.estimators.truth_inference.cautious import CREDIT, frequent_labels, keep_unless_likelier
from psephos.protocol.estimators.truth_inference.expectation import Fitting
from psephos.protocol.estimators.truth_inference.noise_aware import fit_confusions, noise_aware_votes


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
    noise = KnownNoise.from_flip_probabilities({size: 0.35})
    num_given_up = num_kept = 0
    for seed in range(6):
        answers = perturbed(seed, size=size)
        paper, coin = truth_discovery(answers, max_iterations=100), noise_aware_one_coin(answers, noise)
        table, fitting = laid_out(answers), Fitting(max_iterations=100, tolerance=1e-6, ties="first")
        votes = noise_aware_votes(table, noise, most_competence=0.9, max_iterations=100, ties="first").inference(0)
        fitting = dataclasses.replace(fitting, class_prior={size: coin.probabilities.mean(axis=0)[None]})
        full = fit_confusions(table, noise, fitting).inference(0)
        found = cautious_truth_discovery(answers, noise, least_odds=2.0)
        mean = (coin.probabilities + votes.probabilities + full.probabilities) / 3
        for task in range(answers.num_tasks):
            theirs, likeliest = int(paper.truths[task]), int(mean[task].argmax())
            gives_up = mean[task, likeliest] > 2.0 * mean[task, theirs]
            assert found.truths[task] == (likeliest if gives_up else theirs)
            num_given_up += gives_up
            num_kept += not gives_up and likeliest != theirs
        assert found.probabilities == pytest.approx(mean, abs=1e-9)
        chosen = coin.probabilities[np.arange(answers.num_tasks), found.truths]
        assert np.array_equal(found.confidences, chosen)
        assert np.array_equal(found.weights, coin.weights)
        assert np.array_equal(found.qualities, coin.qualities)
        assert found.num_iterations == max(coin.num_iterations, votes.num_iterations, full.num_iterations)
        assert found.has_converged == (coin.has_converged and votes.has_converged and full.has_converged)
    assert num_given_up
    assert num_kept


def test_odds_without_end_keep_the_papers_truths() -> None:
    answers, noise = perturbed(1), KnownNoise.from_flip_probabilities({2: 0.35})
    assert np.array_equal(
        cautious_truth_discovery(answers, noise, least_odds=1e300).truths,
        truth_discovery(answers, max_iterations=100).truths,
    )


def test_where_reports_say_nothing_the_papers_truths_stay() -> None:
    answers = perturbed(2, flip=0.5)
    found = cautious_truth_discovery(answers, KnownNoise.from_flip_probabilities({2: 0.5}))
    assert np.array_equal(found.truths, truth_discovery(answers, max_iterations=100).truths)


def skewed(share: float, flip: float, *, seed: int = 5) -> Answers:
    """Answers of perfect workers to 300 tasks, three each, of which a share has the label 1, perturbed."""
    draws = np.random.Generator(np.random.Philox(seed))
    labels = np.repeat((np.arange(300) < share * 300).astype(np.int64), 3)
    labels = np.where(draws.random(900) < flip, 1 - labels, labels)
    return Answers(np.repeat(np.arange(300), 3), np.tile(np.arange(3), 300), labels, 300, 3, np.full(300, 2))


def frequent_priors(answers: Answers, noise: KnownNoise) -> list[FloatArray]:
    """Return the class priors of the sizes of which one label is frequent."""
    block = AnswerBlock.from_answers(answers)
    priors, takes = frequent_labels(block, noise, noise_aware_one_coin(block, noise))
    return [own[0] for own, is_frequent in zip(priors.values(), takes[0], strict=True) if is_frequent]


def test_a_frequent_label_counts_where_its_share_is_told_to_be_worth_more_than_what_was_found() -> None:
    """Of 90 %, perturbed at .4, the counts say .9 ± .08, and of what was found less is right."""
    noise = KnownNoise.from_flip_probabilities({2: 0.4})
    answers = skewed(0.9, 0.4)
    coin = noise_aware_one_coin(answers, noise)
    reported = (int((answers.labels == 1).sum()) + 2) / 904
    share = (reported - 2 * np.sqrt(reported * (1 - reported) / 904) - 0.4) / 0.2
    worth = 0.5 + CREDIT * (coin.confidences.mean() - 0.5)
    assert share > worth
    (prior,) = frequent_priors(answers, noise)
    assert prior.tolist() == pytest.approx([1 - share, share])
    found = cautious_truth_discovery(answers, noise)
    truth = (np.arange(300) < 270).astype(np.int64)
    before = keep_unless_likelier(truth_discovery(answers).truths, coin.probabilities, least_odds=1.4, ties="first")
    assert (found.truths == truth).mean() > (before == truth).mean() + 0.1
    assert np.array_equal(found.confidences, found.probabilities.max(axis=1))


def test_a_label_that_is_not_told_to_be_frequent_does_not_count() -> None:
    noise, clean = KnownNoise.from_flip_probabilities({2: 0.4}), KnownNoise.from_flip_probabilities({2: 0.05})
    half, told = skewed(0.5, 0.4), skewed(0.7, 0.05)
    assert not frequent_priors(half, noise)
    assert not frequent_priors(told, clean)  # what was found is worth more
    few = Answers(np.arange(3), np.arange(3), np.ones(3, dtype=np.int64), 3, 3, np.full(3, 2))
    assert not frequent_priors(few, noise)  # though all three agree
    assert not frequent_priors(skewed(0.9, 0.5), KnownNoise.from_flip_probabilities({2: 0.5}))


@pytest.mark.parametrize("rounds", [1, 50])
def test_the_papers_truths_are_those_of_as_many_rounds_by_itself(rounds: int) -> None:
    """Of a crowd that takes more than the ten rounds that the paper's function has by default."""
    noise = KnownNoise.from_flip_probabilities({2: 0.35})
    answers = next(
        each
        for each in (perturbed(seed) for seed in itertools.count())
        if truth_discovery(each, clamp=0.4, max_iterations=50).num_iterations > 10
    )
    found = cautious_truth_discovery(answers, noise, clamp=0.4, max_iterations=rounds, least_odds=1e300)
    assert np.array_equal(found.truths, truth_discovery(answers, clamp=0.4, max_iterations=rounds).truths)


def test_truths_stay_at_equal_odds_and_the_likeliest_of_several_is_taken_by_the_rule() -> None:
    probabilities = np.array([[0.25, 0.5, 0.25], [0.2, 0.4, 0.4], [0.2, 0.4, 0.4], [np.nan] * 3])
    truths = np.array([0, 0, 1, -1])
    kept = keep_unless_likelier(truths, probabilities, least_odds=2.0, ties="first")
    assert kept.tolist() == [0, 0, 1, -1]
    for ties, chosen in (("first", 1), ("last", 2)):
        rule: Any = ties
        kept = keep_unless_likelier(truths, probabilities, least_odds=1.5, ties=rule)
        assert kept.tolist() == [1, chosen, 1, -1]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"least_odds": 0.9}, "least_odds"),
        ({"least_odds": np.inf}, "least_odds"),
        ({"least_odds": np.nan}, "least_odds"),
        ({"clamp": 0.5}, "clamp"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"tolerance": -1.0}, "tolerance"),
        ({"ties": "random"}, "ties"),
    ],
)
def test_arguments_out_of_range_are_refused(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        cautious_truth_discovery(perturbed(4, tasks=5), KnownNoise.from_flip_probabilities({2: 0.2}), **arguments)
