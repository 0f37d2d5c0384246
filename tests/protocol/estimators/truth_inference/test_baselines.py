"""CATD, TruthFinder, 2-Estimates and 3-Estimates: by hand, against plain loops, at the edges."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inference_crowds import claims_of, crowd, crowds, table
from psephos.protocol.estimators.truth_inference import (
    MISSING,
    Answers,
    Inference,
    catd,
    minimax_entropy,
    one_coin,
    three_estimates,
    truth_finder,
    two_estimates,
)
from scipy.stats import chi2

ALL: dict[str, Callable[..., Inference]] = {
    "accu": functools.partial(one_coin, class_prior="uniform"),
    "catd": catd,
    "truth_finder": truth_finder,
    "two_estimates": two_estimates,
    "three_estimates": three_estimates,
    "minimax_entropy": minimax_entropy,
}
SHARES = [name for name in ALL if name not in {"accu", "minimax_entropy"}]


@given(crowds(), st.integers(1, 4))
def test_catd_equals_a_plain_loop(answers: Answers, rounds: int) -> None:
    found = catd(answers, max_iterations=rounds)
    claims, weights = claims_of(answers), dict.fromkeys(range(answers.num_workers), 1.0)
    truths: list[int] = []
    for done in range(found.num_iterations + 1):
        truths = voted(answers, weights)
        for worker in weights if done < found.num_iterations else ():
            wrong = [label != truths[task] for task, own, label in claims if own == worker]
            if wrong:
                weights[worker] = float(chi2.ppf(0.025, len(wrong))) / max(sum(wrong), len(wrong) / 20)
    assert found.truths.tolist() == truths
    for worker, weight in enumerate(found.weights.tolist()):
        assert math.isnan(weight) or weight == pytest.approx(weights[worker], abs=1e-8)


def voted(answers: Answers, weights: dict[int, float]) -> list[int]:
    truths: list[int] = []
    for task, size in enumerate(answers.sizes.tolist()):
        own = [(worker, label) for other, worker, label in claims_of(answers) if other == task]
        scores = [math.fsum(weights[worker] for worker, label in own if label == each) for each in range(size)]
        truths.append(next(x for x, s in enumerate(scores) if s > max(scores) - 1e-7) if own else MISSING)
    return truths


# Accu


def test_accu_is_the_one_coin_model_with_labels_alike_beforehand() -> None:
    """Its fixed point is the paper's: A is the mean of P(v), and P(v) ∝ Π n·A/(1 − A) over who gave v, n = s − 1."""
    generator = np.random.default_rng(4)
    claims = [(t, w, int(generator.random() < 0.25 + 0.05 * w) * (1 + t % 2)) for w in range(6) for t in range(30)]
    answers = crowd(claims, tasks=30, workers=6, sizes=3)
    found = ALL["accu"](answers, rounds=400)
    for task in range(30):
        logs = [0.0, 0.0, 0.0]
        for worker in range(6):
            label = next(own for t, w, own in claims if (t, w) == (task, worker))
            accuracy = found.qualities[worker]
            logs[label] += math.log(2 * accuracy / (1 - accuracy))
        odds = [math.exp(own - max(logs)) for own in logs]
        assert found.probabilities[task].tolist() == pytest.approx([own / sum(odds) for own in odds], abs=1e-4)
    means = [np.mean([found.probabilities[t, x] for t, own, x in claims if own == w]) for w in range(6)]
    assert found.qualities.tolist() == pytest.approx(means, abs=1e-4)


# TruthFinder


@given(crowds(), st.integers(1, 4))
def test_truth_finder_equals_a_plain_loop(answers: Answers, rounds: int) -> None:
    found, claims = truth_finder(answers, max_iterations=rounds), claims_of(answers)
    trust = dict.fromkeys((worker for _, worker, _ in claims), 0.9)
    facts = sorted({(task, label) for task, _, label in claims})
    confidences: dict[tuple[int, int], float] = {}
    for done in range(found.num_iterations):
        sigma = {fact: math.fsum(-math.log(1 - trust[w]) for t, w, x in claims if (t, x) == fact) for fact in facts}
        for task, label in facts:
            others = math.fsum(sigma[fact] for fact in facts if fact[0] == task and fact[1] != label)
            confidences[task, label] = 1 / (1 + math.exp(-0.3 * (sigma[task, label] - 0.25 * others)))
        if done < found.num_iterations - 1:
            for worker in trust:
                own = [confidences[t, x] for t, w, x in claims if w == worker]
                trust[worker] = math.fsum(own) / len(own)
    check_shares(found, confidences, answers)
    for worker, own in trust.items():
        assert found.qualities[worker] == pytest.approx(own, abs=1e-6)


def check_shares(found: Inference, scores: dict[tuple[int, int], float], answers: Answers) -> None:
    for task, size in enumerate(answers.sizes.tolist()):
        own = [scores.get((task, label), 0.0) for label in range(size)]
        if sum(own) > 0:
            assert found.probabilities[task, :size].tolist() == pytest.approx([x / sum(own) for x in own], abs=1e-6)
            assert own[found.truths[task]] == pytest.approx(max(own), abs=1e-6)


# 2-Estimates and 3-Estimates


@pytest.mark.parametrize("name", SHARES[2:])
@given(answers=crowds(), rounds=st.integers(1, 4))
def test_estimates_equal_a_plain_loop(name: str, answers: Answers, rounds: int) -> None:
    estimate, is_three = ALL[name], name == "three_estimates"
    found, claims = estimate(answers, max_iterations=rounds), claims_of(answers)
    errors = dict.fromkeys((worker for _, worker, _ in claims), 0.1)
    facts = sorted({(task, label) for task, _, label in claims})
    hard = dict.fromkeys(facts, 1.0)
    # (worker, fact, whether it affirms it): a worker denies what else others say of its tasks.
    said = [(w, (t, own), own == x) for t, w, x in claims for t2, own in facts if t2 == t]
    truths: dict[tuple[int, int], float] = {}

    def mean(values: list[float]) -> float:
        return math.fsum(values) / len(values)

    for done in range(found.num_iterations):
        chances = {
            f: [1 - errors[w] * hard[f] if y else errors[w] * hard[f] for w, g, y in said if g == f] for f in facts
        }
        truths = normalized({fact: mean(own) for fact, own in chances.items()})
        if is_three:
            hard = normalized(
                {
                    f: mean([(1 - truths[f] if y else truths[f]) / max(errors[w], 0.05) for w, g, y in said if g == f])
                    for f in facts
                }
            )
        if done < found.num_iterations - 1:
            divisor = {f: max(hard[f], 0.05) if is_three else 1.0 for f in facts}
            errors = normalized(
                {
                    v: mean([(1 - truths[f] if y else truths[f]) / divisor[f] for w, f, y in said if w == v])
                    for v in errors
                }
            )
    check_shares(found, truths, answers)
    for worker, own in errors.items():
        assert found.qualities[worker] == pytest.approx(1 - own, abs=1e-6)


def normalized(values: dict[Any, float]) -> dict[Any, float]:
    if not values:
        return values
    least, most = min(values.values()), max(values.values())
    wide = {key: (own - least) / (most - least) if most - least > 1e-9 else own for key, own in values.items()}
    return {key: min(max((wide[key] + math.floor(own + 0.5 + 1e-6)) / 2, 0), 1) for key, own in values.items()}


# All of them


@pytest.mark.parametrize("name", list(ALL))
def test_a_good_crowd_is_believed_and_its_worst_worker_trusted_least(name: str) -> None:
    generator = np.random.default_rng(7)
    truth = generator.integers(3, size=60)
    rights = (0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.34)
    claims = [
        (t, w, int(truth[t] if generator.random() < right else (truth[t] + 1 + generator.integers(2)) % 3))
        for w, right in enumerate(rights)
        for t in range(60)
    ]
    found = ALL[name](crowd(claims, tasks=60, workers=7, sizes=3))
    assert np.mean(found.truths == truth) > 0.9
    assert np.argmin(found.qualities) == 6


@pytest.mark.parametrize("name", list(ALL))
@given(crowds(), st.randoms(use_true_random=False))
def test_the_order_of_the_answers_changes_no_bit(name: str, answers: Answers, random: Any) -> None:
    claims = claims_of(answers)
    random.shuffle(claims)
    sizes: list[int] = answers.sizes.tolist()
    again = crowd(claims, tasks=answers.num_tasks, workers=answers.num_workers, sizes=sizes)
    first, second = ALL[name](answers), ALL[name](again)
    for field in ("truths", "probabilities", "qualities"):
        np.testing.assert_array_equal(getattr(first, field), getattr(second, field))


@pytest.mark.parametrize("name", list(ALL))
def test_nobody_and_nothing(name: str) -> None:
    found = ALL[name](crowd([], tasks=2, workers=3))
    assert found.truths.tolist() == [MISSING] * 2
    assert np.all(np.isnan(found.qualities))
    assert np.all(np.isnan(found.confidences))


@pytest.mark.parametrize("name", SHARES[1:])
def test_a_tie_is_broken_as_asked(name: str) -> None:
    answers = table([(0,), (1,)])
    assert [ALL[name](answers, ties=ties).truths.tolist() for ties in ("first", "last", "missing")] == [[0], [1], [-1]]


REFUSED = [
    *((name, {"ties": "coin"}, "ties") for name in ALL),
    *((name, {"max_iterations": 0}, "max_iterations") for name in ALL),
    *(("catd", {"alpha": alpha}, "alpha") for alpha in (0.0, 1.0, math.nan)),
    *((name, {"clamp": clamp}, "clamp") for name in ("catd", "three_estimates") for clamp in (0.0, 0.5, math.nan)),
    *((name, {"start": start}, "start") for name in SHARES[1:] for start in (0.0, 1.0)),
    *(("minimax_entropy", {"penalty": penalty}, "penalty") for penalty in (0.0, 1e7, math.nan)),
    ("minimax_entropy", {"tolerance": -1.0}, "tolerance"),
    ("truth_finder", {"dampening": 0.0}, "dampening"),
    ("truth_finder", {"influence": 1.5}, "influence"),
    ("truth_finder", {"implication": -2.0}, "implication"),
    *((name, {"rescaled": rescaled}, "rescaled") for name in SHARES[2:] for rescaled in (-0.1, 1.1)),
]


@pytest.mark.parametrize(("name", "given_", "said"), REFUSED)
def test_a_bad_argument_is_refused(name: str, given_: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ALL[name](table([(0,), (1,)]), **given_)
