"""Minimax conditional entropy: against a slow optimizer of its dual, and where symmetry or few answers tell it."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from inference_crowds import Claims, claims_of, crowd, crowds, table
from psephos.protocol.estimators.truth_inference import Answers, majority_vote, minimax_entropy
from scipy.optimize import minimize

CROWDS = [
    table([(0, 0, 1, 1), (0, 1, 1, 1), (1, 1, 0, 0)]),
    crowd([(0, 0, 2), (0, 1, 2), (0, 2, 1), (1, 0, 0), (1, 1, 1)], tasks=2, workers=3, sizes=3),
    crowd([(0, 0, 1), (1, 0, 1), (0, 1, 1), (1, 1, 2), (2, 2, 0), (1, 2, 1)], tasks=4, workers=5, sizes=[2, 3, 2, 3]),
    crowd([(0, 0, 1)], tasks=1, workers=1),
]


def slow(answers: Answers, penalty: float) -> tuple[list[Any], float]:
    """Return the truths' probabilities, and the penalized likelihood an answer, by plain loops and scipy's optimizer.

    The dual for the shares of votes has one maximum. From there on the truths' probabilities are the best ones too.
    """
    claims, sizes = claims_of(answers), answers.sizes.tolist()
    ratio = len({task for task, _, _ in claims}) / len({worker for _, worker, _ in claims})
    names = sorted({("task", t, sizes[t]) for t, _, _ in claims} | {("worker", w, sizes[t]) for t, w, _ in claims})
    starts = np.cumsum([0, *(size**2 for _, _, size in names)])
    places = {name: (start, size) for name, start, (_, _, size) in zip(names, starts, names, strict=False)}
    weights = [penalty * size**2 * (ratio if kind == "task" else 1) for kind, _, size in names for _ in range(size**2)]

    def scores_of(values: Any) -> list[Any]:
        scores = [np.zeros(size) for size in sizes]
        for task, worker, label in claims:
            logits = np.zeros((sizes[task], sizes[task]))
            for name in (("task", task, sizes[task]), ("worker", worker, sizes[task])):
                start, size = places[name]
                logits += values[start : start + size**2].reshape(size, size)
            scores[task] += logits[:, label] - np.log(np.exp(logits).sum(axis=1))
        return scores

    shares = [np.bincount([x for t, _, x in claims if t == task], minlength=s) for task, s in enumerate(sizes)]
    held = [own / max(own.sum(), 1) for own in shares]

    def of_shares(values: Any) -> float:
        gain = sum(float(q @ own) for q, own in zip(held, scores_of(values), strict=True))
        return float(weights @ values**2) / 2 - gain

    def of_all(values: Any) -> float:
        told = (own for votes, own in zip(shares, scores_of(values), strict=True) if votes.any())
        return float(weights @ values**2) / 2 - sum(math.log(np.exp(own).sum()) for own in told)

    first = minimize(of_shares, np.zeros(starts[-1]), tol=1e-8).x
    last = minimize(of_all, first, tol=1e-8)
    return [np.exp(own) / np.exp(own).sum() for own in scores_of(last.x)], -last.fun / len(claims)


@pytest.mark.parametrize("penalty", [0.25, 1.0])
@pytest.mark.parametrize("answers", CROWDS)
def test_it_ends_at_the_maximum_of_the_dual(answers: Answers, penalty: float) -> None:
    found = minimax_entropy(answers, penalty=penalty, tolerance=0, max_iterations=2000)
    probabilities, value = slow(answers, penalty)
    assert found.log_likelihoods[-1] == pytest.approx(value, abs=1e-5)
    for task, own in enumerate(probabilities):
        if task in answers.tasks:
            assert found.probabilities[task, : len(own)].tolist() == pytest.approx(own.tolist(), abs=2e-3)


@given(crowds())
def test_no_round_lowers_the_penalized_likelihood_and_all_ends(answers: Answers) -> None:
    found = minimax_entropy(answers, tolerance=0, max_iterations=30)
    assert 1 <= found.num_iterations <= 30
    assert np.diff(found.log_likelihoods).min(initial=0.0) >= -1e-8
    told = found.probabilities[~np.isnan(found.probabilities[:, 0])]
    assert told.sum(axis=1).tolist() == pytest.approx([1.0] * len(told), abs=1e-8)


@given(crowds())
def test_labels_under_other_names_have_the_same_probabilities(answers: Answers) -> None:
    sizes = answers.sizes.tolist()
    claims = [(task, worker, sizes[task] - 1 - label) for task, worker, label in claims_of(answers)]
    other = crowd(claims, tasks=len(sizes), workers=answers.num_workers, sizes=sizes)
    first, second = (minimax_entropy(own, tolerance=0, max_iterations=10) for own in (answers, other))
    for task, size in enumerate(sizes):
        mirrored = second.probabilities[task, :size][::-1]
        np.testing.assert_allclose(first.probabilities[task, :size], mirrored, atol=1e-7)


@pytest.mark.parametrize("penalty", [1e-3, 0.1, 0.25, 1.0, 1e6])
def test_workers_who_always_agree_are_believed_however_few_they_are(penalty: float) -> None:
    """All labels explain few answers as well as one does, so that probabilities are alike and votes decide."""
    for workers in (1, 2, 3, 5):
        for rows in ((1,), (0,), (1,) * 5, (0, 1, 1), (0, 1) * 10):
            found = minimax_entropy(table([rows] * workers), penalty=penalty)
            assert found.truths.tolist() == list(rows)
            assert np.ptp(found.qualities) == 0
            assert math.isfinite(found.log_likelihoods[-1])


def test_workers_who_mistake_one_label_in_the_same_way_do_not_outvote_those_who_see_it() -> None:
    """Three of five call the labels 0 and 1 both 0. The majority never says 1; who sees it is believed."""
    generator, number = np.random.default_rng(3), 90
    truth = generator.integers(3, size=number)
    claims: Claims = []
    for task, own in enumerate(truth.tolist()):
        for worker in range(5):
            seen = 0 if own == 1 and worker < 3 and generator.random() < 0.8 else own
            claims.append((task, worker, seen if generator.random() < 0.95 else int(generator.integers(3))))
    answers = crowd(claims, tasks=number, workers=5, sizes=3)
    assert np.mean(majority_vote(answers).truths == truth) < 0.9
    assert np.mean(minimax_entropy(answers).truths == truth) > 0.95
