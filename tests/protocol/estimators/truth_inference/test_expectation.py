"""EM with one coin and with confusion matrices, blind and told of the noise."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from inference_crowds import crowd
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.estimators.truth_inference import (
    MISSING,
    Answers,
    Inference,
    KnownNoise,
    cautious_truth_discovery,
    dawid_skene,
    majority_vote,
    noise_aware_dawid_skene,
    noise_aware_one_coin,
    one_coin,
    truth_discovery,
)

SILENT = KnownNoise.from_flip_probabilities({2: 0.0, 3: 0.0, 4: 0.0})


def told(find: Callable[..., Inference]) -> Callable[..., Inference]:
    """Return an estimator that is told that nothing was perturbed."""

    def find_told(answers: Answers, **options: Any) -> Inference:
        return find(answers, SILENT, **options)

    return find_told


ESTIMATORS: dict[str, Callable[..., Inference]] = {
    "one_coin": one_coin,
    "dawid_skene": dawid_skene,
    "noise_aware_one_coin": told(noise_aware_one_coin),
    "noise_aware_dawid_skene": told(noise_aware_dawid_skene),
}
OF_ALL_KINDS: dict[str, Callable[..., Inference]] = {
    **ESTIMATORS,
    "majority_vote": majority_vote,
    "truth_discovery": truth_discovery,
    "cautious_truth_discovery": told(cautious_truth_discovery),
}
every_kind = pytest.mark.parametrize("name", list(OF_ALL_KINDS))
every_estimator = pytest.mark.parametrize("name", list(ESTIMATORS))


def synthetic(
    seed: int,
    *,
    tasks: int,
    qualities: FloatArray,
    sizes: IntArray,
    flips: FloatArray | float = 0.0,
    share: float = 1.0,
) -> tuple[Answers, IntArray]:
    """Workers who are right with their quality and wrong uniformly, answers perturbed with each worker's flip."""
    draws = np.random.Generator(np.random.Philox(seed))
    truths = draws.integers(0, sizes)
    task, worker = np.nonzero(draws.random((tasks, len(qualities))) < share)

    def lie(labels: IntArray, probabilities: FloatArray) -> IntArray:
        moved = (labels + draws.integers(1, sizes[task])) % sizes[task]
        return np.where(draws.random(len(labels)) < probabilities, moved, labels)

    labels = lie(truths[task], 1 - qualities[worker])
    labels = lie(labels, np.broadcast_to(flips, len(qualities))[worker])
    return Answers(task, worker, labels, tasks, len(qualities), sizes), truths


def accuracy(result: Inference, truths: IntArray) -> float:
    """The share of tasks whose truth was found."""
    return float((result.truths == truths).mean())


def plain_one_coin(
    answers: Answers, *, rounds: int, clamp: float
) -> tuple[list[list[float]], list[float], list[float]]:
    """One-coin EM in loops: posteriors, qualities, and the log-likelihood of each round, for one size."""
    size = int(answers.sizes[0])
    columns: tuple[list[int], ...] = (answers.tasks.tolist(), answers.workers.tolist(), answers.labels.tolist())
    rows: list[tuple[int, int, int]] = [(t, w, x) for t, w, x in zip(*columns, strict=True)]
    posteriors = [
        [sum(t == task and x == k for t, _, x in rows) for k in range(size)] for task in range(answers.num_tasks)
    ]
    shares = [[count / sum(row) for count in row] for row in posteriors]
    likelihoods: list[float] = []

    def qualities_of() -> list[float]:
        found: list[float] = []
        for worker in range(answers.num_workers):
            mine = [shares[t][x] for t, w, x in rows if w == worker]
            found.append(min(max(sum(mine) / len(mine), clamp), 1 - clamp))
        return found

    qualities = qualities_of()
    for _ in range(rounds):
        priors = [sum(row[k] for row in shares) / len(shares) for k in range(size)]
        total = 0.0
        for task in range(answers.num_tasks):
            joint = [
                priors[k]
                * math.prod(
                    qualities[w] if x == k else (1 - qualities[w]) / (size - 1) for t, w, x in rows if t == task
                )
                for k in range(size)
            ]
            total += math.log(sum(joint))
            shares[task] = [value / sum(joint) for value in joint]
        likelihoods.append(total / len(rows))
        qualities = qualities_of()
    return shares, qualities, likelihoods


@pytest.mark.parametrize("size", [2, 3])
def test_one_coin_equals_a_plain_loop(size: int) -> None:
    answers, _ = synthetic(1, tasks=30, qualities=np.array([0.9, 0.8, 0.7, 0.4]), sizes=np.full(30, size))
    result = one_coin(answers, max_iterations=7, tolerance=0.0, clamp=1e-6)
    shares, qualities, likelihoods = plain_one_coin(answers, rounds=7, clamp=1e-6)
    np.testing.assert_allclose(result.probabilities, shares, atol=1e-7)
    np.testing.assert_allclose(result.qualities, qualities, atol=1e-7)
    np.testing.assert_allclose(result.log_likelihoods, likelihoods, atol=1e-7)


def test_dawid_skene_equals_a_plain_loop() -> None:
    """One round by hand in loops, from the shares of votes on."""
    answers, _ = synthetic(2, tasks=25, qualities=np.array([0.9, 0.7, 0.6]), sizes=np.full(25, 3))
    result = dawid_skene(answers, max_iterations=1, floor=1e-6)
    rows = list(zip(answers.tasks.tolist(), answers.workers.tolist(), answers.labels.tolist(), strict=True))
    shares = np.zeros((25, 3))
    for task, _, label in rows:
        shares[task, label] += 1 / 3

    def confusions_of(posteriors: FloatArray) -> FloatArray:
        counts = np.zeros((3, 3, 3))
        for task, worker, label in rows:
            counts[worker, :, label] += posteriors[task]
        counts = np.maximum(counts, 1e-6)
        return counts / counts.sum(axis=2, keepdims=True)

    confusions, expected = confusions_of(shares), np.tile(shares.mean(axis=0), (25, 1))
    for task, worker, label in rows:
        expected[task] *= confusions[worker, :, label]
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(result.probabilities, expected, atol=1e-7)
    np.testing.assert_allclose(result.confusions[3], confusions_of(expected), atol=1e-6)
    np.testing.assert_allclose(result.class_priors[3], expected.mean(axis=0), atol=1e-7)


@every_estimator
def test_the_likelihood_never_falls(name: str) -> None:
    """Up to what the grids of weights and probabilities round off."""
    answers, _ = synthetic(3, tasks=60, qualities=np.linspace(0.4, 0.9, 8), sizes=np.full(60, 3), share=0.6)
    result = ESTIMATORS[name](answers, tolerance=0.0, max_iterations=40)
    assert len(result.log_likelihoods) == result.num_iterations > 3
    assert (np.diff(result.log_likelihoods) > -1e-7).all()


@every_estimator
def test_a_number_of_rounds_that_is_given_is_the_number_of_rounds(name: str) -> None:
    """Fewer than by the likelihood, as many, and more, far beyond where it stands and may fall by a rounding."""
    answers, _ = synthetic(3, tasks=60, qualities=np.linspace(0.4, 0.9, 8), sizes=np.full(60, 3), share=0.6)
    by_itself = ESTIMATORS[name](answers)
    usual = by_itself.num_iterations
    assert by_itself.has_converged
    for rounds in (1, usual - 1, usual, usual + 1, 300):
        found = ESTIMATORS[name](answers, rounds=rounds, max_iterations=2, tolerance=1.0)
        assert found.num_iterations == len(found.log_likelihoods) == rounds
        common = min(rounds, usual)
        assert found.log_likelihoods[:common] == by_itself.log_likelihoods[:common]
        if rounds == usual:
            assert np.array_equal(found.probabilities, by_itself.probabilities)
            assert np.array_equal(found.weights, by_itself.weights)


@every_estimator
def test_many_workers_find_all_truths_and_their_qualities(name: str) -> None:
    """False alarms below 1e-6: 40 workers on 400 tasks; a quality is off by .12 at five standard deviations."""
    qualities = np.linspace(0.55, 0.95, 40)
    answers, truths = synthetic(4, tasks=400, qualities=qualities, sizes=np.full(400, 2))
    result = ESTIMATORS[name](answers)
    assert accuracy(result, truths) == 1
    assert np.abs(result.qualities - qualities).max() < 0.12
    assert result.has_converged


@every_kind
def test_one_worker_is_believed(name: str) -> None:
    result = OF_ALL_KINDS[name](crowd([(0, 0, 1), (1, 0, 0), (2, 0, 1)], tasks=3, workers=1))
    assert result.truths.tolist() == [1, 0, 1]


@every_estimator
@pytest.mark.parametrize("label", [0, 1])
def test_where_only_one_label_was_answered_it_is_the_truth(name: str, label: int) -> None:
    rows = [(task, worker, label) for task in range(3) for worker in range(3)]
    result = ESTIMATORS[name](crowd(rows, tasks=3, workers=3))
    assert result.truths.tolist() == [label] * 3
    assert (result.confidences > 0.9).all()


@every_estimator
@pytest.mark.parametrize(("ties", "truth"), [("first", 0), ("last", 1), ("missing", MISSING)])
def test_equal_workers_who_differ_leave_a_tie(name: str, ties: Any, truth: int) -> None:
    rows = [(0, 0, 0), (0, 1, 1)]
    result = ESTIMATORS[name](crowd(rows, tasks=1, workers=2), ties=ties)
    assert result.truths.tolist() == [truth]
    np.testing.assert_allclose(result.confidences, [0.5])


@every_kind
def test_the_silent_and_the_unanswered_are_missing(name: str) -> None:
    rows = [(0, 0, 1), (0, 2, 1), (2, 0, 0), (2, 2, 0)]
    result = OF_ALL_KINDS[name](crowd(rows, tasks=3, workers=3))
    assert result.truths.tolist() == [1, MISSING, 0]
    assert np.isnan(result.confidences).tolist() == [False, True, False]
    assert np.isnan(result.qualities).tolist() == [False, True, False]
    assert np.isnan(result.weights).tolist() == [False, True, False]


@every_kind
def test_without_answers_all_is_missing(name: str) -> None:
    result = OF_ALL_KINDS[name](crowd([], tasks=2, workers=2))
    assert result.truths.tolist() == [MISSING, MISSING]
    for unknown in (result.confidences, result.qualities, result.weights):
        assert np.isnan(unknown).all()
    assert OF_ALL_KINDS[name](crowd([], tasks=0, workers=0)).truths.shape == (0,)


@every_estimator
def test_answer_sets_of_mixed_sizes(name: str) -> None:
    """No truth is outside its task's answer set, and 30 workers find all 300; false alarms below 1e-6."""
    sizes = np.array([2, 3, 4] * 100)
    answers, truths = synthetic(5, tasks=300, qualities=np.linspace(0.6, 0.95, 30), sizes=sizes)
    result = ESTIMATORS[name](answers)
    assert accuracy(result, truths) == 1
    beyond = np.arange(4) >= sizes[:, None]
    assert (result.probabilities[beyond] == 0).all()
    np.testing.assert_allclose(result.probabilities.sum(axis=1), 1, atol=1e-8)
    assert {size: len(priors) for size, priors in result.class_priors.items()} == {2: 2, 3: 3, 4: 4}


@every_kind
def test_the_order_of_answers_changes_no_bit(name: str) -> None:
    answers, _ = synthetic(6, tasks=80, qualities=np.linspace(0.4, 0.9, 7), sizes=np.array([2, 3] * 40), share=0.7)
    order = np.random.Generator(np.random.Philox(7)).permutation(len(answers))
    shuffled = Answers(answers.tasks[order], answers.workers[order], answers.labels[order], 80, 7, answers.sizes)
    first, second = OF_ALL_KINDS[name](answers), OF_ALL_KINDS[name](shuffled)
    for field in ("truths", "confidences", "probabilities", "qualities", "weights"):
        np.testing.assert_array_equal(getattr(first, field), getattr(second, field))


def test_a_worker_who_always_lies_is_turned_round_unless_nobody_may() -> None:
    qualities = np.array([0.9, 0.9, 0.9, 0.9, 0.05])
    answers, _ = synthetic(8, tasks=300, qualities=qualities, sizes=np.full(300, 2))
    assert one_coin(answers).weights[4] < -2
    assert noise_aware_one_coin(answers, SILENT).weights[4] > 0
    assert noise_aware_one_coin(answers, SILENT, least_competence=-0.99).weights[4] < -2


def test_known_noise_gives_back_the_quality_of_the_answers() -> None:
    """Reports are right with .95·.6 + .05·.4 = .59, and .87 of the majorities; false alarms below 1e-6."""
    answers, truths = synthetic(9, tasks=2000, qualities=np.full(40, 0.95), sizes=np.full(2000, 2), flips=0.4)
    noise = KnownNoise.from_flip_probabilities({2: 0.4})
    coin, matrices = noise_aware_one_coin(answers, noise), noise_aware_dawid_skene(answers, noise, prior_answers=1.0)
    assert min(accuracy(coin, truths), accuracy(matrices, truths)) > 0.8
    assert np.nanmean(coin.qualities) == pytest.approx(0.95, abs=0.05)
    # Its prior still weighs: an answer under this noise is worth a twenty-fifth of one without.
    assert np.nanmean(matrices.qualities) == pytest.approx(0.9, abs=0.07)
    assert np.nanmean(one_coin(answers).qualities) == pytest.approx(0.59, abs=0.03)


def test_no_weight_exceeds_what_the_perturbation_allows() -> None:
    rows = [(task, worker, task % 2) for task in range(50) for worker in range(5)]
    result = noise_aware_one_coin(crowd(rows, tasks=50, workers=5), KnownNoise.from_flip_probabilities({2: 0.3}))
    assert (result.weights < math.log(0.7 / 0.3)).all()
    assert (result.weights > 0.9 * math.log(0.7 / 0.3)).all()


def test_knowing_the_noise_finds_more_truths_than_weights_from_chance() -> None:
    """Few, noisy answers of many workers, mean of 8 crowds; the gap is about .05, its standard error below .01."""
    gains: list[float] = []
    for seed in range(8):
        qualities = np.random.Generator(np.random.Philox(seed)).uniform(0.6, 0.95, 60)
        answers, truths = synthetic(seed, tasks=200, qualities=qualities, sizes=np.full(200, 2), flips=0.3, share=0.12)
        known = noise_aware_one_coin(answers, KnownNoise.from_flip_probabilities({2: 0.3}))
        gains.append(accuracy(known, truths) - accuracy(truth_discovery(answers), truths))
    assert float(np.mean(gains)) > 0


def test_knowing_that_each_worker_draws_its_own_flip_helps() -> None:
    """Flips uniform in [0, .8], mean of 4 crowds: the mean alone leaves about .1 behind."""
    gains: list[float] = []
    for seed in range(4):
        flips = np.random.Generator(np.random.Philox(seed + 50)).uniform(0, 0.8, 60)
        answers, truths = synthetic(
            seed, tasks=400, qualities=np.full(60, 0.9), sizes=np.full(400, 2), flips=flips, share=0.2
        )
        drawn = noise_aware_one_coin(answers, KnownNoise.uniform({2: (0.0, 0.8)}))
        mean = noise_aware_one_coin(answers, KnownNoise.from_flip_probabilities({2: 0.4}))
        gains.append(accuracy(drawn, truths) - accuracy(mean, truths))
    assert float(np.mean(gains)) > 0


def test_many_workers_are_fitted_in_parts_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    answers, _ = synthetic(10, tasks=50, qualities=np.linspace(0.5, 0.9, 9), sizes=np.full(50, 2))
    whole = noise_aware_one_coin(answers, SILENT)
    monkeypatch.setattr("psephos.protocol.estimators.truth_inference.noise_aware._MAX_CELLS", 80)
    np.testing.assert_array_equal(noise_aware_one_coin(answers, SILENT).probabilities, whole.probabilities)


def test_a_uniform_class_prior_is_uniform_and_smoothing_pulls_to_a_half() -> None:
    rows = [(task, worker, 0) for task in range(4) for worker in range(2)]
    answers = crowd(rows, tasks=4, workers=2)
    assert one_coin(answers, class_prior="uniform").class_priors[2].tolist() == pytest.approx([0.5, 0.5])
    assert one_coin(answers).class_priors[2][0] == pytest.approx(1)
    smoothed = one_coin(answers, smoothing=4.0)
    assert (smoothed.qualities < 0.7).all()
    assert (dawid_skene(answers, smoothing=4.0).confusions[2][:, 0, 0] < 0.7).all()


@pytest.mark.parametrize(
    ("name", "arguments", "named"),
    [
        *(
            (name, {field: value}, field)
            for name in ESTIMATORS
            for field, value in (
                ("ties", "coin"),
                ("max_iterations", 0),
                ("tolerance", math.nan),
                ("rounds", 0),
                ("rounds", -3),
                ("class_prior", "mine"),
            )
        ),
        ("one_coin", {"clamp": 0.0}, "clamp"),
        ("one_coin", {"clamp": 0.5}, "clamp"),
        ("one_coin", {"smoothing": -1.0}, "smoothing"),
        ("dawid_skene", {"smoothing": math.inf}, "smoothing"),
        ("dawid_skene", {"floor": 0.0}, "floor"),
        ("dawid_skene", {"floor": 1.5}, "floor"),
        ("noise_aware_one_coin", {"competence_prior": (0.5, 1.0)}, "competence_prior"),
        ("noise_aware_one_coin", {"competence_prior": (1.0, math.inf)}, "competence_prior"),
        ("noise_aware_one_coin", {"least_competence": 1.0}, "least_competence"),
        ("noise_aware_one_coin", {"least_competence": -1.0}, "least_competence"),
        ("noise_aware_dawid_skene", {"prior_answers": 0.0}, "prior_answers"),
        ("noise_aware_dawid_skene", {"prior_quality": 0.5}, "prior_quality"),
        ("noise_aware_dawid_skene", {"prior_quality": 1.0}, "prior_quality"),
    ],
)
def test_arguments_out_of_range_are_refused(name: str, arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        ESTIMATORS[name](crowd([(0, 0, 1)], tasks=1, workers=1), **arguments)


def test_a_size_without_a_flip_probability_is_named() -> None:
    answers = crowd([(0, 0, 1)], tasks=1, workers=1, sizes=5)
    for estimator in (noise_aware_one_coin, noise_aware_dawid_skene):
        with pytest.raises(ValueError, match=r"\[5\]"):
            estimator(answers, SILENT)


def test_accu_is_the_one_coin_model_with_labels_alike_beforehand() -> None:
    """Its fixed point is the paper's: A is the mean of P(v), and P(v) ∝ Π n·A/(1 − A) over who gave v, n = s − 1."""
    generator = np.random.default_rng(4)
    claims = [(t, w, int(generator.random() < 0.25 + 0.05 * w) * (1 + t % 2)) for w in range(6) for t in range(30)]
    answers = crowd(claims, tasks=30, workers=6, sizes=3)
    found = one_coin(answers, class_prior="uniform", rounds=400)
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
