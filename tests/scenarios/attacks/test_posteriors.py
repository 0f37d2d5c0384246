"""Posteriors, success and information against brute force, closed forms, and the bounds that privacy implies."""

import itertools
import math

import numpy as np
import pytest
from psephos.protocol import ConfigurationError
from psephos.protocol.arrays import FloatArray
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse
from psephos.scenarios.attacks import (
    Evaluation,
    check_prior,
    evaluate,
    evaluate_channel,
    infer,
    information_bound,
    pool,
    success_bound,
)

LABELS = ("no", "maybe", "yes")
PLACES = np.array([0, 1, 1, 2, 2, 2])
PRIOR = np.array([0.5, 0.2, 0.3])


def private_channel(
    generator: np.random.Generator, *, epsilon: float, num_candidates: int, num_outputs: int
) -> FloatArray:
    """Return a channel of which two rows differ by a factor of e^epsilon at most, mostly by that."""
    while True:
        factors = np.exp(epsilon * np.round(generator.random((num_candidates, num_outputs))))
        base = generator.random(num_outputs)
        channel = factors * base
        channel /= channel.sum(axis=1, keepdims=True)
        logs = np.log(channel)
        spread = float((logs.max(axis=0) - logs.min(axis=0)).max())
        if spread <= epsilon:
            return channel


def random_channel(*, seed: int = 0) -> FloatArray:
    channel = np.random.default_rng(seed).random((len(PLACES), 4))
    return channel / channel.sum(axis=1, keepdims=True)


def test_a_posterior_is_bayes_rule_over_candidates() -> None:
    channel = random_channel()
    found = infer(np.log(channel).T, places=PLACES, labels=LABELS, prior=PRIOR)
    for output, row in enumerate(found.probabilities):
        joint = [0.0, 0.0, 0.0]
        for candidate, place in enumerate(PLACES.tolist()):
            joint[place] += PRIOR[place] / PLACES.tolist().count(place) * channel[candidate, output]
        assert row == pytest.approx([part / sum(joint) for part in joint])
    assert found.guesses.tolist() == found.probabilities.argmax(axis=1).tolist()


def test_a_term_that_a_target_has_for_every_candidate_changes_nothing() -> None:
    logs = np.log(random_channel()).T
    plain = infer(logs, places=PLACES, labels=LABELS)
    shifted = infer(logs - np.array([[1e4], [-1e4], [0.0], [700.0]]), places=PLACES, labels=LABELS)
    np.testing.assert_allclose(shifted.probabilities, plain.probabilities, atol=1e-9)
    np.testing.assert_allclose(shifted.log_odds_ratios, plain.log_odds_ratios, atol=1e-9)


def test_each_target_may_have_a_prior_of_its_own() -> None:
    logs = np.log(random_channel()).T[:2]
    priors = np.array([[1.0, 0.0, 0.0], PRIOR])
    found = infer(logs, places=PLACES, labels=LABELS, prior=priors)
    assert found.probabilities[0].tolist() == [1.0, 0.0, 0.0]
    alone = infer(logs[1:], places=PLACES, labels=LABELS, prior=PRIOR)
    assert found.probabilities[1] == pytest.approx(alone.probabilities[0])


def test_odds_are_of_labels_and_do_not_depend_on_the_prior() -> None:
    logs = np.log(np.array([[0.2, 0.6, 0.2, 0.1]]))
    found = infer(logs, places=np.array([0, 0, 1, 1]), labels=("a", "b"))
    assert found.log_odds_ratios[0] == pytest.approx(math.log(0.4 / 0.15))
    other = infer(logs, places=np.array([0, 0, 1, 1]), labels=("a", "b"), prior=np.array([0.9, 0.1]))
    assert other.log_odds_ratios[0] == found.log_odds_ratios[0]


def test_evidence_that_rules_a_label_out_moves_odds_without_limit() -> None:
    found = infer(np.array([[0.0, -np.inf]]), places=np.array([0, 1]), labels=("a", "b"))
    assert found.probabilities.tolist() == [[1.0, 0.0]]
    assert found.log_odds_ratios.tolist() == [math.inf]


def test_odds_of_many_sessions_are_finite_where_floats_end() -> None:
    logs = np.array([[-5.0, -5.0, -1005.0], [0.0, -900.0, -np.inf], [-1.0, -1.0, -1.0]])
    found = infer(logs, places=np.array([0, 0, 1]), labels=("a", "b"))
    assert found.log_odds_ratios.tolist() == [pytest.approx(1000.0), math.inf, pytest.approx(0.0)]


@pytest.mark.parametrize(
    ("logs", "prior"), [([[-np.inf, -np.inf]], None), ([[0.0, -np.inf]], [0.0, 1.0])], ids=["none", "none allowed"]
)
def test_evidence_that_nothing_explains_is_refused(logs: list[list[float]], prior: list[float] | None) -> None:
    given = None if prior is None else np.array(prior)
    with pytest.raises(ValueError, match="impossible under every candidate"):
        infer(np.array(logs), places=np.array([0, 1]), labels=("a", "b"), prior=given)


def test_a_channels_success_is_that_of_the_best_of_all_rules() -> None:
    channel = random_channel(seed=1)[:, :3]
    channel /= channel.sum(axis=1, keepdims=True)
    found = evaluate_channel(channel, places=PLACES, prior=PRIOR)
    numbers = np.bincount(PLACES)
    best = max(
        sum(
            PRIOR[place] / numbers[place] * channel[candidate, output]
            for candidate, place in enumerate(PLACES.tolist())
            for output in range(3)
            if rule[output] == place
        )
        for rule in itertools.product(range(3), repeat=3)
    )
    assert found.success == pytest.approx(best)
    assert (found.success_error, found.baseline, found.num_targets) == (0.0, 0.5, 0)


def test_a_channels_information_is_the_entropy_that_it_takes_off() -> None:
    channel = random_channel(seed=2)
    found = evaluate_channel(channel, places=PLACES, prior=PRIOR)
    joint = np.array([PRIOR[place] * channel[place == PLACES].mean(axis=0) for place in range(3)])

    def entropy(probabilities: FloatArray) -> float:
        return -sum(p * math.log2(p) for p in probabilities.reshape(-1).tolist() if p)

    assert found.information == pytest.approx(entropy(PRIOR) + entropy(joint.sum(axis=0)) - entropy(joint))


def test_outputs_that_never_come_tell_nothing() -> None:
    channel = np.array([[0.25, 0.75, 0.0], [0.75, 0.25, 0.0]])
    found = evaluate_channel(channel, places=np.array([0, 1]), prior=np.array([0.5, 0.5]))
    assert found == evaluate_channel(channel[:, :2], places=np.array([0, 1]), prior=np.array([0.5, 0.5]))
    assert found.greatest_log_odds_ratio == pytest.approx(math.log(3))
    channel[0] = [0.25, 0.5, 0.25]
    assert (
        evaluate_channel(channel, places=np.array([0, 1]), prior=np.array([0.5, 0.5])).greatest_log_odds_ratio
        == math.inf
    )


@pytest.mark.parametrize("num_choices", [2, 3, 7])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_randomized_response_is_guessed_as_often_as_it_tells_the_truth(num_choices: int, epsilon: float) -> None:
    mechanism = GeneralizedRandomizedResponse(epsilon, num_choices)
    prior = np.full(num_choices, 1 / num_choices)
    found = evaluate_channel(np.array(mechanism.channel_matrix()), places=np.arange(num_choices), prior=prior)
    assert found.success == pytest.approx(mechanism.keep_probability)
    assert found.success == pytest.approx(success_bound(epsilon, prior))
    assert found.greatest_log_odds_ratio == pytest.approx(epsilon)
    p, q = mechanism.keep_probability, mechanism.flip_probability
    capacity = math.log2(num_choices) + p * math.log2(p) + (num_choices - 1) * q * math.log2(q)
    assert found.information == pytest.approx(capacity)


def test_no_private_channel_exceeds_what_its_epsilon_implies() -> None:
    generator = np.random.default_rng(3)
    num_tight = 0
    for _ in range(200):
        epsilon = float(generator.choice([0.1, 0.5, 1.0, 3.0]))
        size, outputs = int(generator.integers(2, 6)), int(generator.integers(2, 6))
        channel = private_channel(generator, epsilon=epsilon, num_candidates=size, num_outputs=outputs)
        prior = generator.dirichlet(np.ones(size))
        found = evaluate_channel(channel, places=np.arange(size), prior=prior)
        assert found.greatest_log_odds_ratio <= epsilon * (1 + 1e-12)
        assert found.success <= success_bound(epsilon, prior) * (1 + 1e-12)
        assert found.information <= information_bound(epsilon, prior) * (1 + 1e-12)
        assert found.success >= found.baseline * (1 - 1e-12)
        num_tight += found.greatest_log_odds_ratio > 0.8 * epsilon
    assert num_tight > 20  # the channels are not all far more private than the bound supposes


def test_bounds_hold_at_both_ends() -> None:
    prior = [0.7, 0.3]
    assert success_bound(0.0, prior) == pytest.approx(0.7)
    assert success_bound(math.inf, prior) == 1.0
    assert success_bound(0.0, [0.0, 1.0]) == 1.0
    assert information_bound(0.0, prior) == 0.0
    assert information_bound(math.inf, prior) == pytest.approx(-0.7 * math.log2(0.7) - 0.3 * math.log2(0.3))


def test_tried_on_targets_an_attack_is_as_good_as_its_channel() -> None:
    """The share of right guesses is within 5 standard errors of the probability: false alarms below 1e-6."""
    channel = random_channel(seed=4)
    exact = evaluate_channel(channel, places=PLACES, prior=PRIOR)
    generator = np.random.default_rng(5)
    number = 20_000
    shares = (PRIOR / np.bincount(PLACES))[PLACES]
    candidates = generator.choice(len(PLACES), size=number, p=shares / shares.sum())
    outputs = (generator.random((number, 1)) > np.cumsum(channel, axis=1)[candidates]).sum(axis=1)
    found = evaluate(
        infer(np.log(channel).T[np.minimum(outputs, 3)], places=PLACES, labels=LABELS, prior=PRIOR), PLACES[candidates]
    )
    assert abs(found.success - exact.success) < 5 * found.success_error
    assert found.information == pytest.approx(exact.information, abs=0.01)
    assert found.greatest_log_odds_ratio == pytest.approx(exact.greatest_log_odds_ratio)
    assert (found.baseline, found.num_targets) == (0.5, number)


@pytest.mark.parametrize(
    ("success", "baseline", "advantage"), [(0.5, 0.5, 0.0), (1.0, 0.5, 1.0), (0.75, 0.5, 0.5), (1.0, 1.0, 0.0)]
)
def test_advantage_is_the_part_of_what_guessing_leaves_open(success: float, baseline: float, advantage: float) -> None:
    assert Evaluation(success, 0.0, baseline, 0.0, 0.0).advantage == advantage


@pytest.mark.bad_input("priors that do not sum to one")
@pytest.mark.parametrize(
    ("prior", "value"),
    [
        ([0.5, 0.5], "2 numbers"),
        ([0.5, 0.6, -0.1], "-0.1"),
        ([0.5, 0.5, 0.5], "1.5"),
        ([math.nan, 0.5, 0.5], "nan"),
        ([math.inf, 0.5, 0.5], "inf"),
    ],
    ids=str,
)
def test_a_prior_that_is_none_is_refused(prior: list[float], value: str) -> None:
    with pytest.raises(ConfigurationError, match=value) as caught:
        check_prior(prior, num_labels=3)
    assert caught.value.field == "prior"


def test_a_prior_typed_by_hand_is_made_to_sum_to_one() -> None:
    assert check_prior([0.1, 0.2, 0.7], num_labels=3).tolist() == pytest.approx([0.1, 0.2, 0.7])
    assert check_prior([0.1] * 10, num_labels=10).sum() == pytest.approx(1.0, abs=1e-15)


def test_the_error_of_a_mean_over_tries_is_that_of_tries_whose_targets_agree() -> None:
    def tried(success: float, error: float, number: int) -> Evaluation:
        return Evaluation(success, error, 0.5, 0.0, 1.0, num_targets=number)

    alike = pool([tried(0.9, 0.0, 25), tried(0.5, 0.0, 25)] * 8)  # all targets of a try have one posterior
    assert (alike.success, alike.num_targets) == (pytest.approx(0.7), 400)
    assert alike.success_error == pytest.approx(0.2 / math.sqrt(16))
    single = pool([tried(1.0, 0.0, 1), tried(0.0, 0.0, 1)] * 8)
    assert single.success_error == pytest.approx(0.5 / math.sqrt(16))
    independent = pool([tried(0.7, 0.01, 100)] * 4)
    assert independent.success_error == pytest.approx(0.01 / math.sqrt(4))
