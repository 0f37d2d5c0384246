"""Classes for frames give by name what the estimators give by code."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from psephos.protocol.arrays import IntArray
from psephos.protocol.estimators.truth_inference import Answers, KnownNoise, noise_aware_one_coin
from psephos.scenarios.truth_discovery.data.estimators import (
    CRH,
    CautiousTruthDiscovery,
    DawidSkene,
    DebiasedMajority,
    MajorityVote,
    NoiseAwareCRH,
    NoiseAwareDawidSkene,
    NoiseAwareOneCoin,
    OneCoinDawidSkene,
    TruthDiscovery,
)

FRAME = pd.DataFrame(
    [
        *((task, worker, "cat" if task % 2 else "dog") for task in range(6) for worker in ("ann", "bob", "cid")),
        *((task, "dan", "dog") for task in range(6)),
    ],
    columns=["task", "worker", "label"],
)
TRUTHS = {task: "cat" if task % 2 else "dog" for task in range(6)}
ALL: list[Any] = [
    MajorityVote(),
    TruthDiscovery(),
    OneCoinDawidSkene(),
    DawidSkene(),
    CRH(),
    NoiseAwareCRH(epsilon=2.0),
    NoiseAwareOneCoin(epsilon=2.0),
    NoiseAwareDawidSkene(flip_probability=0.1),
    CautiousTruthDiscovery(epsilon=2.0),
    DebiasedMajority(epsilon=1.0),
]
KNOWING = [NoiseAwareCRH, NoiseAwareOneCoin, NoiseAwareDawidSkene, CautiousTruthDiscovery, DebiasedMajority]


def codes_of(frame: pd.DataFrame) -> tuple[IntArray, IntArray, IntArray]:
    """The frame's columns as codes."""
    tasks, workers = pd.factorize(frame["task"])[0], pd.factorize(frame["worker"])[0]
    return tasks.astype(np.int64), workers.astype(np.int64), pd.factorize(frame["label"], sort=True)[0].astype(np.int64)


every_estimator = pytest.mark.parametrize("estimator", ALL, ids=lambda each: type(each).__name__)


@every_estimator
def test_frames_give_series_and_frames(estimator: Any) -> None:
    assert estimator.fit(FRAME) is estimator
    assert estimator.fit_predict(FRAME).to_dict() == TRUTHS
    assert estimator.labels_.index.name == "task"
    probabilities = estimator.fit_predict_proba(FRAME)
    assert list(probabilities.columns) == ["cat", "dog"]
    assert list(probabilities.index) == list(range(6))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert list(estimator.skills_.index) == ["ann", "bob", "cid", "dan"]
    assert estimator.confidences_[0] == estimator.inference_.confidences[0]


@every_estimator
def test_codes_give_the_same_numbers_as_arrays(estimator: Any) -> None:
    named = estimator.fit_predict_proba(FRAME).to_numpy()
    codes = codes_of(FRAME)
    answers = Answers(*codes, 6, 4, np.full(6, 2))
    for data in (codes, answers):
        np.testing.assert_array_equal(estimator.fit_predict_proba(data), named)
        assert estimator.fit_predict(data).tolist() == [1, 0] * 3


@pytest.mark.parametrize("estimator", [OneCoinDawidSkene(), DawidSkene(), NoiseAwareDawidSkene(epsilon=3.0)])
def test_errors_and_priors_have_crowd_kits_layout(estimator: Any) -> None:
    estimator.fit(FRAME)
    assert estimator.priors_.to_dict() == pytest.approx({"cat": 0.5, "dog": 0.5}, abs=1e-6)
    assert estimator.errors_.index.names == ["worker", "label"]
    sums = estimator.errors_.groupby(level="worker").sum()
    np.testing.assert_allclose(sums, 1, atol=1e-9)
    assert estimator.errors_.loc[("ann", "cat"), "cat"] > 0.7
    assert len(estimator.loss_history_) >= 2


def test_a_worker_who_always_says_the_same_has_a_matrix_that_says_so() -> None:
    estimator = DawidSkene().fit(FRAME)
    errors: Any = estimator.errors_
    assert errors.loc[("dan", "dog"), "cat"] == pytest.approx(1)
    assert errors.loc[("dan", "dog"), "dog"] == pytest.approx(1)


def test_codes_have_errors_and_priors_by_size() -> None:
    estimator = DawidSkene().fit((np.array([0, 1]), np.array([0, 0]), np.array([2, 0])))
    errors, priors = estimator.errors_, estimator.priors_
    assert not isinstance(errors, pd.DataFrame)
    assert not isinstance(priors, pd.Series)
    assert (errors[3].shape, priors[3].shape) == ((1, 3, 3), (3,))


def test_weights_are_named() -> None:
    weights: Any = TruthDiscovery(n_iter=3, clamp=0.1).fit(FRAME).weights_
    assert weights["ann"] == pytest.approx(np.log(9))
    assert weights["dan"] == pytest.approx(0)


def test_a_weight_function_is_handed_on() -> None:
    linear: Any = TruthDiscovery(weight_function="linear").fit(FRAME).weights_
    assert linear.to_dict() == pytest.approx({"ann": 0.9, "bob": 0.9, "cid": 0.9, "dan": 0.0}, abs=1e-9)
    square: Any = TruthDiscovery(weight_function=lambda share: share**2).fit(FRAME).weights_
    assert square.to_dict() == pytest.approx({"ann": 0.9025, "bob": 0.9025, "cid": 0.9025, "dan": 0.25}, abs=1e-9)


def test_counts_and_their_standard_errors_are_named() -> None:
    estimator = DebiasedMajority(flip_probability=0.25).fit(FRAME)
    counts: Any = estimator.counts_
    assert counts.loc[1].to_dict() == pytest.approx({"cat": 4.0, "dog": 0.0})
    errors: Any = estimator.standard_errors_
    assert errors.loc[1, "cat"] == pytest.approx((4 * 0.25 * 0.75) ** 0.5 / 0.5)


def test_an_epsilon_is_its_flip_probability() -> None:
    epsilon = float(np.log(3))
    first = NoiseAwareOneCoin(epsilon=epsilon).fit_predict_proba(FRAME)
    second = NoiseAwareOneCoin(flip_probability=0.25).fit_predict_proba(FRAME)
    np.testing.assert_allclose(first, second, atol=1e-8)


def test_bounds_are_those_of_a_worker_s_own_draw() -> None:
    found = NoiseAwareOneCoin(bounds=(0.0, 0.6)).fit_predict_proba(FRAME)
    codes = codes_of(FRAME)
    expected = noise_aware_one_coin(Answers(*codes, 6, 4, np.full(6, 2)), KnownNoise.uniform({2: (0.0, 0.6)}))
    np.testing.assert_array_equal(found, expected.probabilities)


@every_estimator
def test_a_frame_of_one_label(estimator: Any) -> None:
    only = FRAME[FRAME.label == "dog"]
    if isinstance(estimator, tuple(KNOWING)):
        with pytest.raises(ValueError, match=r"only the label 'dog' occurs: name all possible ones by labels="):
            estimator.fit(only)
    else:
        assert set(estimator.fit_predict(only)) == {"dog"}
        assert list(estimator.probas_.columns) == ["dog"]


def test_labels_that_nobody_chose_have_a_column() -> None:
    estimator = MajorityVote(labels=["cat", "dog", "eel"])
    assert list(estimator.fit_predict_proba(FRAME).columns) == ["cat", "dog", "eel"]
    assert estimator.fit_predict_proba((np.array([0]), np.array([0]), np.array([1]))).shape == (1, 3)


def test_open_ties_have_no_label() -> None:
    tie = pd.DataFrame({"task": [1, 1, 2], "worker": [1, 2, 1], "label": ["x", "y", "y"]})
    assert MajorityVote(ties="missing").fit_predict(tie).isna().to_dict() == {1: True, 2: False}


def test_repeated_answers_follow_the_policy() -> None:
    twice = pd.DataFrame({"task": [1, 1], "worker": [1, 1], "label": ["x", "y"]})
    assert MajorityVote(repeats="last").fit_predict(twice).to_dict() == {1: "y"}
    with pytest.raises(ValueError, match="two labels"):
        MajorityVote().fit(twice)


@pytest.mark.parametrize("estimator", KNOWING)
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, "none given"),
        ({"epsilon": 1.0, "flip_probability": 0.1}, "flip_probability, epsilon given"),
        ({"flip_probability": 1.5}, "flip_probability"),
        ({"flip_probability": -0.1}, "flip_probability"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"bounds": (0.5, 0.2)}, "bounds"),
        ({"bounds": (0.5, 1.2)}, "bounds"),
    ],
)
def test_noise_that_is_not_said_once_is_refused(estimator: Any, arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        estimator(**arguments)


@pytest.mark.parametrize("data", [[1, 2], (np.array([0]), np.array([0]))])
def test_data_of_another_type_is_refused(data: Any) -> None:
    with pytest.raises(TypeError, match="DataFrame"):
        MajorityVote().fit(data)


def test_codes_must_be_integers_and_some() -> None:
    with pytest.raises(TypeError, match=r"labels are float64: give integer codes"):
        MajorityVote().fit((np.array([0]), np.array([0]), np.array([0.5])))
    empty = np.array([], dtype=np.int64)
    with pytest.raises(ValueError, match="tasks is empty"):
        MajorityVote().fit((empty, empty, empty))


def test_the_papers_data_set_has_its_published_error(real_sets: Path) -> None:
    """Reading T1: majority .76 with ties to 0, truth discovery .717, on the first answers of the Duchenne data."""
    folder = real_sets / "duchenne"
    names = ["task", "worker", "label"]
    frame = pd.read_csv(folder / "mturklabels.txt", sep=" ", names=names, dtype={"task": str})
    gold = pd.read_csv(folder / "groundtruth.txt", sep="\t", names=["task", "label"], dtype={"task": str})
    truths = gold.set_index("task")["label"]
    for estimator, found in ((MajorityVote(repeats="first"), 121), (TruthDiscovery(repeats="first"), 114)):
        labels = estimator.fit_predict(frame)
        assert len(estimator.inference_.truths) == 2134
        assert int((labels.reindex(truths.index) == truths).sum()) == found
