"""The parts of `auto` that know the perturbation: rounds of votes, and confusion matrices at a fixed class prior."""

import math
from typing import Any

import numpy as np
import pytest
from inference_crowds import laid_out
from psephos.protocol.arrays import IntArray
from psephos.protocol.estimators.truth_inference import (
    AnswerBlock,
    Answers,
    KnownNoise,
    majority_vote,
    noise_aware_dawid_skene,
    noise_aware_one_coin,
)
from psephos.protocol.estimators.truth_inference.expectation import Fitting, FixedPrior, mean_posteriors
from psephos.protocol.estimators.truth_inference.noise_aware import (
    _expectation,  # pyright: ignore[reportPrivateUsage]  for its bits at every width
    fit_confusions,
    noise_aware_votes,
)

OPTIONS: dict[str, Any] = {"max_iterations": 100, "ties": "first"}
MIXED = {2: (0.1, 0.3), 3: (0.15, 0.4)}


def at_prior(class_prior: FixedPrior) -> Fitting:
    return Fitting(tolerance=1e-6, class_prior=class_prior, **OPTIONS)


def crowd(seed: int, *, sizes: IntArray, workers: int = 9, share: float = 0.6, right: float = 0.7) -> Answers:
    """Workers who are right with one probability; some tasks may have no answer."""
    draws = np.random.Generator(np.random.Philox(seed))
    task, worker = np.nonzero(draws.random((len(sizes), workers)) < share)
    lies = draws.integers(0, sizes[task])
    labels = np.where(draws.random(len(task)) < right, 0, lies)
    return Answers(task, worker, labels, len(sizes), workers, sizes)


def plain_weight(hits: dict[int, int], totals: dict[int, int], *, size: int, most: float) -> float:
    """E[ln(r(s − 1)/(1 − r))] of one worker, over a grid of competences and flip probabilities."""
    value, mass = 0.0, 0.0
    for place in range(40):
        competence = most * (place + 0.5) / 40
        for which in range(2):
            rates: dict[int, float] = {}
            for s in MIXED:
                right, flip = competence + (1 - competence) / s, MIXED[s][which]
                rates[s] = right * (1 - flip) + (1 - right) * flip / (s - 1)
            likelihood = math.prod(
                rates[s] ** hits[s] * ((1 - rates[s]) / (s - 1)) ** (totals[s] - hits[s]) for s in MIXED
            )
            rate = rates[size]
            value += likelihood * math.log(rate * (size - 1) / (1 - rate))
            mass += likelihood
    return value / mass


def test_rounds_of_votes_equal_a_plain_loop() -> None:
    """Two sizes of answer sets, and a flip probability that each worker draws."""
    sizes = np.array([2, 3] * 6)
    for seed in range(4):
        answers = crowd(seed, sizes=sizes)
        size_of: list[int] = sizes.tolist()
        rows: list[tuple[int, int, int]] = list(
            zip(answers.tasks.tolist(), answers.workers.tolist(), answers.labels.tolist(), strict=True)
        )
        found = noise_aware_votes(laid_out(answers), KnownNoise(MIXED), most_competence=0.9, **OPTIONS).inference(0)
        truths: list[int] = majority_vote(answers).truths.tolist()
        weights: dict[tuple[int, int], float] = {}
        for _ in range(found.num_iterations):
            for worker in range(answers.num_workers):
                mine = [(t, label) for t, w, label in rows if w == worker]
                totals = {s: sum(size_of[t] == s for t, _ in mine) for s in MIXED}
                hits = {s: sum(size_of[t] == s and truths[t] == label for t, label in mine) for s in MIXED}
                for s in MIXED:
                    weights[worker, s] = plain_weight(hits, totals, size=s, most=0.9)
            for task, size in enumerate(size_of):
                scores = [sum(weights[w, size] for t, w, x in rows if (t, x) == (task, k)) for k in range(size)]
                if any(t == task for t, _, _ in rows):
                    truths[task] = scores.index(max(scores))
        assert found.truths.tolist() == truths
        assert found.weights == pytest.approx([weights[w, 2] for w in range(answers.num_workers)], abs=1e-8)


@pytest.mark.parametrize("workers", [0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 128, 655, 1024, 1025, 3000])
@pytest.mark.parametrize("nodes", [1, 2, 7, 8, 9, 40, 129, 600])
def test_expectations_have_the_bits_of_a_sum_term_by_term(nodes: int, workers: int) -> None:
    draws = np.random.default_rng(nodes * workers)
    posterior = np.exp(draws.normal(0, 9, (nodes, workers)))
    values = -np.exp(draws.normal(0, 9, nodes))
    plain = [sum(p * v for p, v in zip(column, values.tolist(), strict=True)) for column in posterior.T.tolist()]
    assert _expectation(posterior, values).tolist() == plain


def test_votes_are_alike_where_reports_say_little_and_nothing_where_they_say_nothing() -> None:
    answers = crowd(1, sizes=np.full(30, 2))
    found = noise_aware_votes(
        laid_out(answers), KnownNoise.from_flip_probabilities({2: 0.5}), most_competence=0.9, **OPTIONS
    ).inference(0)
    assert np.nanmax(np.abs(found.weights)) < 1e-9
    weak = noise_aware_votes(
        laid_out(answers), KnownNoise.from_flip_probabilities({2: 0.49}), most_competence=0.9, **OPTIONS
    ).inference(0)
    assert np.ptp(weak.weights) < 0.05 * weak.weights.mean()


def test_a_uniform_prior_that_is_fixed_is_the_uniform_prior() -> None:
    sizes = np.array([2, 3] * 10)
    answers, noise = crowd(2, sizes=sizes), KnownNoise.from_flip_probabilities({2: 0.2, 3: 0.2})
    uniform = {size: np.full((1, size), 1 / size) for size in (2, 3)}
    fixed = fit_confusions(laid_out(answers), noise, at_prior(uniform)).inference(0)
    plain = noise_aware_dawid_skene(answers, noise)
    assert np.array_equal(fixed.truths, plain.truths)
    assert fixed.probabilities == pytest.approx(plain.probabilities, abs=1e-8)
    assert fixed.num_iterations == plain.num_iterations


def test_a_fixed_prior_decides_where_the_reports_do_not_and_stays() -> None:
    """Two workers contradict each other on a task, and agree on nine others."""
    rows = [(task, worker, 1) for task in range(1, 10) for worker in range(2)] + [(0, 0, 0), (0, 1, 1)]
    task, worker, label = np.array(rows).T
    answers = Answers(task, worker, label, 10, 2, np.full(10, 2))
    noise = KnownNoise.from_flip_probabilities({2: 0.3})
    for prior in ([0.9, 0.1], [0.2, 0.8]):
        found = fit_confusions(laid_out(answers), noise, at_prior({2: np.array([prior])})).inference(0)
        assert found.truths[0] == int(np.argmax(prior))
        assert found.class_priors[2] == pytest.approx(prior, abs=1e-9)


def test_a_prior_without_a_label_leaves_it_nearly_impossible() -> None:
    answers = crowd(5, sizes=np.full(20, 2))
    prior = {2: np.array([[0.0, 1.0]])}
    found = fit_confusions(laid_out(answers), KnownNoise.from_flip_probabilities({2: 0.2}), at_prior(prior)).inference(
        0
    )
    assert np.nanmax(found.probabilities[:, 0]) < 1e-3


def test_mean_posteriors_are_of_the_answered_tasks_of_each_size() -> None:
    sizes = np.array([2, 3, 2, 3, 2, 2, 4])
    answers = Answers(np.array([0, 1, 2, 3]), np.zeros(4, int), np.array([1, 2, 1, 0]), 7, 1, sizes)
    block = noise_aware_one_coin(
        AnswerBlock.from_answers(answers), KnownNoise.from_flip_probabilities({2: 0.2, 3: 0.2, 4: 0.2})
    )
    priors, found = {size: own[0] for size, own in mean_posteriors(answers, block).items()}, block.inference(0)
    assert sorted(priors) == [2, 3, 4]
    assert priors[2] == pytest.approx(found.probabilities[[0, 2], :2].mean(axis=0), abs=1e-12)
    assert priors[3] == pytest.approx(found.probabilities[[1, 3], :3].mean(axis=0), abs=1e-12)
    assert priors[4].tolist() == [0.25] * 4
