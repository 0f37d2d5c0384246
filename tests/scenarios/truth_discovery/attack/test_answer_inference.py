"""What perturbed answers tell, against enumeration over all vectors and numbers worked by hand."""

import itertools
import math

import numpy as np
import pytest
from psephos.protocol import ConfigurationError
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.mechanisms import (
    Beta,
    Discrete,
    DiscreteLaplace,
    FreshTwoLayer,
    HyperDistribution,
    OneLayer,
    RowMechanism,
    TwoLayer,
    Uniform,
    block_offsets,
    loss_of_all_answers,
    loss_of_one_answer,
)
from psephos.scenarios.truth_discovery.attack import answer_inference
from psephos.scenarios.truth_discovery.attack.answer_inference import (
    FlipLaw,
    answer_log_likelihoods,
    flip_law,
    vectors,
)

ANYTHING = Uniform(0.0, 1.0)  # the paper's "ε = 0" for two labels
SIZES = (2, 3)
SETS = np.array([[0, 1, 1, 0]])
MECHANISMS: list[RowMechanism] = [
    OneLayer.from_epsilon(SIZES, 1.0),
    TwoLayer(SIZES, Uniform(0.0, 0.6)),
    TwoLayer(SIZES, Beta(2, 3, 0.1, 0.7)),
    TwoLayer(SIZES, Discrete((0.0, 0.3), (0.5, 0.5))),
    FreshTwoLayer(SIZES, Uniform(0.0, 0.6)),
]


def seen_and_believed(labels: IntArray, shares: FloatArray, sizes: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return what seen labels weigh (none: −1), and beliefs by which each is the answer with the given probability."""
    every = np.arange(int(sizes.max()))
    weights = (labels[:, :, None] == every).astype(np.float64)
    others = (1 - shares) / (sizes - 1)
    beliefs = np.where(weights > 0, shares[:, :, None], others[:, :, None]) * (every < sizes[:, :, None])
    return weights, beliefs


def own_and_other(labels: IntArray, shares: FloatArray, law: FlipLaw) -> tuple[FloatArray, FloatArray]:
    """Return `answer_log_likelihoods` of two labels, where the answer is what was reported, and where it is not."""
    weights, beliefs = seen_and_believed(labels, shares, np.full(labels.shape, 2))
    logs = answer_log_likelihoods(weights, np.zeros_like(labels), beliefs, law)
    own = np.maximum(labels, 0)[:, :, None]
    return np.take_along_axis(logs, own, axis=2)[:, :, 0], np.take_along_axis(logs, 1 - own, axis=2)[:, :, 0]


def enumerated(mechanism: RowMechanism, labels: IntArray, shares: FloatArray, place: int, label: int) -> float:
    """Return P[the reported labels | the answer at a place], summed over all that the other answers may be."""
    offsets = block_offsets(SIZES)
    of_place: list[int] = SETS[0].tolist()
    reported: list[int] = labels[0].tolist()
    starts = np.array([offsets[number] for number in of_place], dtype=np.int64)
    total = 0.0
    for row in itertools.product(*(range(SIZES[number]) for number in of_place)):
        if row[place] != label:
            continue
        prior = math.prod(
            share if answer == said else (1 - share) / (SIZES[number] - 1)
            for at, (answer, said, share, number) in enumerate(zip(row, reported, shares[0], of_place, strict=True))
            if at != place
        )
        logs = mechanism.log_likelihoods(starts + labels, starts + np.array([row], dtype=np.int64))
        total += prior * math.exp(float(logs[0, 0]))
    return total


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_an_answer_is_inferred_as_if_all_vectors_were_summed_over(mechanism: RowMechanism) -> None:
    labels, shares = np.array([[1, 2, 0, 0]]), np.array([[0.7, 0.2, 1.0, 0.5]])
    weights, beliefs = seen_and_believed(labels, shares, np.array(SIZES)[SETS])
    logs = answer_log_likelihoods(weights, SETS, beliefs, flip_law(mechanism, degree=4))
    of_place: list[int] = SETS[0].tolist()
    for place, number in enumerate(of_place):
        for label in range(SIZES[number]):
            assert math.exp(logs[0, place, label]) == pytest.approx(enumerated(mechanism, labels, shares, place, label))


def test_answers_that_were_not_reported_tell_nothing_and_batches_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    generator = np.random.default_rng(1)
    labels = generator.integers(-1, 2, (50, 6))
    weights, beliefs = seen_and_believed(labels, generator.random((50, 6)), np.full(labels.shape, 2))
    sets, mechanism = np.zeros_like(labels), TwoLayer((2,), Uniform(0.0, 0.6))
    law = flip_law(mechanism, degree=6)
    whole = answer_log_likelihoods(weights, sets, beliefs, law)
    assert not np.any(whole[labels == -1])
    monkeypatch.setattr(answer_inference, "_MOST_ENTRIES", 100)
    np.testing.assert_array_equal(answer_log_likelihoods(weights, sets, beliefs, law), whole)


def test_a_report_that_is_half_known_is_the_mixture_of_what_it_may_be() -> None:
    mechanism = TwoLayer((2,), Uniform(0.0, 0.6))
    sets, beliefs = np.zeros((1, 2), dtype=np.int64), np.array([[[0.3, 0.7], [0.6, 0.4]]])
    law = flip_law(mechanism, degree=2)
    pure = [
        np.exp(answer_log_likelihoods(np.array([[seen, [0.0, 1.0]]]), sets, beliefs, law))
        for seen in ([1.0, 0.0], [0.0, 1.0])
    ]
    mixed = np.exp(answer_log_likelihoods(np.array([[[3.0, 2.0], [0.0, 1.0]]]), sets, beliefs, law))
    np.testing.assert_allclose(mixed, 3 * pure[0] + 2 * pure[1], rtol=1e-12)


def exact_losses(mechanism: RowMechanism, rows: IntArray) -> tuple[float, float]:
    """Return the greatest log-odds by which a report moves whole rows, and rows that differ in one answer."""
    logs = mechanism.log_likelihoods(rows, rows)
    gaps = np.max(logs[:, :, None] - logs[:, None, :], axis=0)
    changed = np.count_nonzero(rows[:, None] != rows[None], axis=2)
    return float(gaps.max()), float(gaps[changed == 1].max())


@pytest.mark.parametrize(
    ("sizes", "hyper"),
    [
        ((2, 2, 2, 2, 2), ANYTHING),
        ((2, 2, 2, 2, 2), Uniform(0.0, 2 / (1 + math.e))),
        ((3, 3, 3), Uniform(1 / 3, 1.0)),
        ((2, 3, 3), Beta(2, 2, 0.1, 0.5)),
        ((2, 2, 2), Discrete((0.1, 0.4), (0.3, 0.7))),
    ],
    ids=repr,
)
def test_odds_reach_the_proven_losses_and_never_pass_them(sizes: tuple[int, ...], hyper: HyperDistribution) -> None:
    mechanism, rows = TwoLayer(tuple(sorted(set(sizes))), hyper), vectors(sizes)
    losses = exact_losses(mechanism, rows)
    for found, proven in zip(
        losses, (loss_of_all_answers(sizes, hyper), loss_of_one_answer(sizes, hyper)), strict=True
    ):
        assert found <= proven
        assert found == pytest.approx(proven, rel=1e-8)


def test_the_paper_s_example_has_the_losses_of_reading_t3() -> None:
    losses = exact_losses(TwoLayer((2,), Uniform(0.0, 2 / (1 + math.e))), vectors([2] * 5))
    assert losses == (pytest.approx(3.711, abs=1e-3), pytest.approx(1.681, abs=1e-3))


def test_where_nothing_is_known_of_the_answers_a_vector_tells_of_one_no_more_than_its_own_report() -> None:
    """Reading T5: which loses the paper's ε."""
    hyper = Uniform(0.0, 2 / (1 + math.e))
    labels = vectors([2] * 6)
    even = np.full(labels.shape, 0.5)
    own, other = own_and_other(labels, even, flip_law(TwoLayer((2,), hyper), degree=6))
    np.testing.assert_allclose(own - other, 1.0, rtol=1e-9)


def test_a_flip_rules_out_that_nothing_is_flipped() -> None:
    mechanism = TwoLayer((2,), Discrete((0.0, 0.25), (0.5, 0.5)))
    labels, known = np.array([[1, 0, 0]]), np.array([[0.0, 1.0, 1.0]])  # all answers are 0
    own, other = own_and_other(labels, known, flip_law(mechanism, degree=3))
    # Of the first answer it says nothing that the others do not: p = 0 or 1/4, as (1, 27/64) to 1.
    assert np.exp(own[0]) == pytest.approx([0.5 * (1 + 27 / 64), 9 / 128, 9 / 128])
    assert np.exp(other[0]) == pytest.approx([9 / 128, 3 / 128, 3 / 128])


def test_what_cannot_be_inferred_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="answers are inferred one by one"):
        vectors([2] * 13)
    with pytest.raises(ConfigurationError, match="one that perturbs answers"):
        flip_law(DiscreteLaplace(1.0, 0, 1), degree=1)
