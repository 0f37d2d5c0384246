"""Truth inference for those who know crowd-kit: classes with `fit`, `fit_predict` and `fit_predict_proba` on frames.

A frame has the columns `task`, `worker` and `label`, and results are series and frames by name. `Answers`, or three
arrays of codes (tasks, workers, labels), give arrays in the same places. The estimators themselves, and what their
arguments mean, are in `protocol.estimators.truth_inference`.

Not imported by the package: pandas is slow to start, and only those who have a frame need it.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Generic, Self, TypeAlias, TypeVar, cast, overload

import numpy as np
import pandas as pd

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.elementary import exp
from ....protocol.estimators import truth_inference
from ....protocol.estimators.truth_inference import Answers, Confusions, DebiasedCounts, Inference, KnownNoise, Ties
from .assembly import Repeats
from .frames import FrameAnswers, encode_frame

__all__ = [
    "CautiousTruthDiscovery",
    "DawidSkene",
    "DebiasedMajority",
    "MajorityVote",
    "NoiseAwareDawidSkene",
    "NoiseAwareOneCoin",
    "OneCoinDawidSkene",
    "TruthDiscovery",
]

CodedAnswers: TypeAlias = "Answers | tuple[IntArray, IntArray, IntArray]"
NamedSeries: TypeAlias = "pd.Series[Any]"

_Result = TypeVar("_Result", bound=Inference)


class _Estimator(Generic[_Result]):
    """What all estimators share.

    Args:
        labels: all labels of the answer set, those that nobody chose too; by default those that occur. For arrays their
            number counts.
        repeats: what becomes of a worker's second, different answer to a task: "error", or "first" or "last" counts.
            For frames only: arrays are taken as they are.
        ties: which label is taken where several are best: the smallest ("first"), the largest ("last"), or none
            ("missing").

    Attributes:
        inference_: what the estimator returned, with codes.
        labels_: the truth of each task.
        probas_: the probability of each label, or its share of the votes, for each task.
        confidences_: that of the label which was chosen.
        skills_: the probability of a right report for each worker.
    """

    inference_: _Result
    labels_: "NamedSeries | IntArray"
    probas_: "pd.DataFrame | FloatArray"
    confidences_: "NamedSeries | FloatArray"
    skills_: "NamedSeries | FloatArray"

    def __init__(
        self, *, labels: Sequence[Hashable] | None = None, repeats: Repeats = "error", ties: Ties = "first"
    ) -> None:
        self.labels = labels
        self.repeats: Repeats = repeats
        self.ties: Ties = ties

    def fit(self, data: "pd.DataFrame | CodedAnswers") -> Self:
        """Infer the truths, and return this estimator.

        Args:
            data: a frame, `Answers`, or arrays (tasks, workers, labels) of codes from 0 on.

        Raises:
            ValueError: the data or an argument of the estimator is not allowed.
            TypeError: the data is of another type.
        """
        if isinstance(data, pd.DataFrame):
            frame = encode_frame(data, labels=self.labels, repeats=self.repeats)
            self._check(frame)
            self.inference_ = self._infer(frame.answers)
            self.labels_ = frame.name_truths(self.inference_.truths)
            self.probas_ = frame.name_probabilities(self.inference_.probabilities)
            self.confidences_ = pd.Series(self.inference_.confidences, index=frame.tasks, name="confidence")
            self.skills_ = frame.name_workers(self.inference_.qualities, name="skill")
            self._name(frame)
        else:
            answers = _as_answers(data, None if self.labels is None else len(self.labels))
            self.inference_ = self._infer(answers)
            self.labels_, self.probas_ = self.inference_.truths, self.inference_.probabilities
            self.confidences_, self.skills_ = self.inference_.confidences, self.inference_.qualities
            self._name(None)
        return self

    @overload
    def fit_predict(self, data: pd.DataFrame) -> NamedSeries: ...
    @overload
    def fit_predict(self, data: CodedAnswers) -> IntArray: ...
    def fit_predict(self, data: "pd.DataFrame | CodedAnswers") -> "NamedSeries | IntArray":
        """Return the truth of each task: a series by task, or codes. See `fit`."""
        return self.fit(data).labels_

    @overload
    def fit_predict_proba(self, data: pd.DataFrame) -> pd.DataFrame: ...
    @overload
    def fit_predict_proba(self, data: CodedAnswers) -> FloatArray: ...
    def fit_predict_proba(self, data: "pd.DataFrame | CodedAnswers") -> "pd.DataFrame | FloatArray":
        """Return the probability of each label for each task: a frame, tasks by labels, or an array. See `fit`."""
        return self.fit(data).probas_

    def _infer(self, answers: Answers) -> _Result:
        """Return what the estimator infers."""
        raise NotImplementedError

    def _check(self, frame: FrameAnswers) -> None:
        """Raise ValueError unless the frame says all that the estimator must know."""

    def _name(self, frame: FrameAnswers | None) -> None:
        """Set further attributes, by name where there is a frame."""


class MajorityVote(_Estimator[Inference]):
    """The label that most workers chose. Arguments and attributes as all have them.

    Args:
        labels: see `DawidSkene`.
        repeats: see `DawidSkene`.
        ties: see `DawidSkene`.
    """

    def _infer(self, answers: Answers) -> Inference:
        return truth_inference.majority_vote(answers, ties=self.ties)


class TruthDiscovery(_Estimator[Inference]):
    """The paper's truth discovery: votes weighted by how often a worker agrees with the truths so far.

    Args:
        n_iter: rounds at most.
        clamp: a worker's share of right answers is kept within [clamp, 1 − clamp].
        normalization: "answered", or "all" as the paper prints it.
        labels: see `DawidSkene`.
        repeats: see `DawidSkene`.
        ties: see `DawidSkene`.

    Attributes:
        weights_: of each worker.
    """

    weights_: "NamedSeries | FloatArray"

    def __init__(
        self,
        n_iter: int = 10,
        *,
        clamp: float = 0.05,
        normalization: truth_inference.Normalization = "answered",
        labels: Sequence[Hashable] | None = None,
        repeats: Repeats = "error",
        ties: Ties = "first",
    ) -> None:
        super().__init__(labels=labels, repeats=repeats, ties=ties)
        self.n_iter, self.clamp = n_iter, clamp
        self.normalization: truth_inference.Normalization = normalization

    def _infer(self, answers: Answers) -> Inference:
        return truth_inference.truth_discovery(
            answers, max_iterations=self.n_iter, clamp=self.clamp, normalization=self.normalization, ties=self.ties
        )

    def _name(self, frame: FrameAnswers | None) -> None:
        weights = self.inference_.weights
        self.weights_ = weights if frame is None else frame.name_workers(weights, name="weight")


class _Iterative(_Estimator[_Result]):
    """What estimators by expectation-maximization share.

    Args:
        n_iter: rounds at most.
        tol: it ends when the log-likelihood rises by less than this, in nats per answer.
        class_prior: "estimated" or "uniform".
        labels: see `DawidSkene`.
        repeats: see `DawidSkene`.
        ties: see `DawidSkene`.
    """

    loss_history_: list[float]
    priors_: "NamedSeries | Mapping[int, FloatArray]"

    def __init__(
        self,
        n_iter: int = 100,
        tol: float = 1e-5,
        *,
        class_prior: truth_inference.ClassPrior = "estimated",
        labels: Sequence[Hashable] | None = None,
        repeats: Repeats = "error",
        ties: Ties = "first",
    ) -> None:
        super().__init__(labels=labels, repeats=repeats, ties=ties)
        self.n_iter, self.tol = n_iter, tol
        self.class_prior: truth_inference.ClassPrior = class_prior

    def _name(self, frame: FrameAnswers | None) -> None:
        self.loss_history_ = list(self.inference_.log_likelihoods)
        priors = self.inference_.class_priors
        if frame is None:
            self.priors_ = priors
        else:
            self.priors_ = pd.Series(_only(priors)[: len(frame.labels)], index=frame.labels, name="prior")


class OneCoinDawidSkene(_Iterative[Inference]):
    """A worker is right with one probability, and wrong uniformly.

    Args:
        n_iter: see `DawidSkene`.
        tol: see `DawidSkene`.
        class_prior: see `DawidSkene`.
        labels: see `DawidSkene`.
        repeats: see `DawidSkene`.
        ties: see `DawidSkene`.

    Attributes:
        priors_: of the labels; for arrays, by size of answer set.
        errors_: as `DawidSkene` has it, for frames only.
        loss_history_: the log-likelihood after each round, in nats per answer.
    """

    errors_: pd.DataFrame

    def _infer(self, answers: Answers) -> Inference:
        return truth_inference.one_coin(
            answers, class_prior=self.class_prior, max_iterations=self.n_iter, tolerance=self.tol, ties=self.ties
        )

    def _name(self, frame: FrameAnswers | None) -> None:
        super()._name(frame)
        if frame is not None:
            self.errors_ = _error_frame(frame, _uniform_errors(self.inference_.qualities, frame.answers.num_classes))


class DawidSkene(_Iterative[Confusions]):
    """A worker has a probability for each answer and each truth.

    Args:
        n_iter: rounds at most.
        tol: it ends when the log-likelihood rises by less than this, in nats per answer.
        class_prior: "estimated" from the answers, or "uniform".
        labels: all labels of the answer set, those that nobody chose too; by default those that occur. For arrays their
            number counts.
        repeats: what becomes of a worker's second, different answer to a task: "error", or "first" or "last" counts.
            For frames only: arrays are taken as they are.
        ties: which label is taken where several are best: the smallest ("first"), the largest ("last"), or none
            ("missing").

    Attributes:
        priors_: of the labels; for arrays, by size of answer set.
        errors_: the probability that a worker (index, first level) answers a label (second level) if the truth is
            another (columns); for arrays, by size of answer set, shape (workers, truths, answers).
        loss_history_: the log-likelihood after each round, in nats per answer.
    """

    errors_: "pd.DataFrame | Mapping[int, FloatArray]"

    def _infer(self, answers: Answers) -> Confusions:
        return truth_inference.dawid_skene(
            answers, class_prior=self.class_prior, max_iterations=self.n_iter, tolerance=self.tol, ties=self.ties
        )

    def _name(self, frame: FrameAnswers | None) -> None:
        super()._name(frame)
        confusions = self.inference_.confusions
        self.errors_ = confusions if frame is None else _error_frame(frame, _only(confusions))


class _Perturbation:
    """What is known of a perturbation; exactly one of the three.

    Args:
        flip_probability: of Definition 5.1: p^f, or the mean of the hyper-distribution.
        epsilon: that of one answer, ln((1 − p)(s − 1)/p), instead.
        bounds: a and b where each worker draws its own flip probability from U(a, b) and uses it for all its answers.

    Raises:
        ValueError: none or several are given, or one is out of range.
    """

    def __init__(
        self, flip_probability: float | None, epsilon: float | None, bounds: tuple[float, float] | None
    ) -> None:
        given = [name for name, value in self._named(flip_probability, epsilon, bounds) if value is not None]
        if len(given) != 1:
            allowed = "exactly one of flip_probability, epsilon and bounds"
            raise ValueError(f"{allowed} says what the perturbation is, got {', '.join(given) or 'none'}")
        if flip_probability is not None and not 0 <= flip_probability <= 1:
            raise ValueError(f"flip_probability must be in [0, 1], got {flip_probability}")
        if epsilon is not None and not 0 <= epsilon < math.inf:
            raise ValueError(f"epsilon must be at least 0, got {epsilon}")
        if bounds is not None and not 0 <= bounds[0] <= bounds[1] <= 1:
            raise ValueError(f"bounds must be a <= b within [0, 1], got {bounds}")
        self.flip_probability, self.epsilon, self.bounds = flip_probability, epsilon, bounds

    @staticmethod
    def _named(*values: object) -> list[tuple[str, object]]:
        return list(zip(("flip_probability", "epsilon", "bounds"), values, strict=True))

    def of(self, answers: Answers) -> KnownNoise:
        """Return the perturbation of these answers, the same for all their answer sets if it is not an epsilon."""
        sizes: list[int] = np.unique(answers.sizes).tolist() or [2]
        if self.bounds is not None:
            return KnownNoise.uniform(dict.fromkeys(sizes, self.bounds))
        if self.flip_probability is not None:
            return KnownNoise.fixed(dict.fromkeys(sizes, self.flip_probability))
        others = [(size, (size - 1) * exp(-(self.epsilon or 0.0))) for size in sizes]
        return KnownNoise.fixed({size: other / (1 + other) for size, other in others})


def _check_labels(labels: Sequence[Hashable] | None, frame: FrameAnswers) -> None:
    """Raise ValueError where the answer set's size, on which the perturbation depends, may only be guessed."""
    if labels is None and len(frame.labels) < 2:  # noqa: PLR2004  one label is no question
        raise ValueError(f"labels= must name the answer set: only {frame.labels[0]!r} occurs")


class NoiseAwareOneCoin(_Iterative[Inference]):
    """The one-coin model of answers that went through a known perturbation.

    Args:
        n_iter: see `DawidSkene`.
        tol: see `DawidSkene`.
        flip_probability: of one layer, or the mean of two with a fresh draw for each answer; exactly one of this and
            the next two.
        epsilon: of one answer.
        bounds: a and b where each worker drew its own flip probability from U(a, b) for all its answers.
        competence_prior: see `noise_aware_one_coin`.
        least_competence: see `noise_aware_one_coin`.
        class_prior: see `DawidSkene`.
        labels: see `DawidSkene`; state them where a label may not occur: the perturbation depends on their number.
        repeats: see `DawidSkene`.
        ties: see `DawidSkene`.

    Attributes:
        skills_: the probability of a right answer, before the perturbation.
        priors_: see `DawidSkene`.
        loss_history_: the bound of the log-likelihood after each round, in nats per answer.

    Raises:
        ValueError: the perturbation is not given, or twice.
    """

    def __init__(
        self,
        n_iter: int = 100,
        tol: float = 1e-6,
        *,
        flip_probability: float | None = None,
        epsilon: float | None = None,
        bounds: tuple[float, float] | None = None,
        competence_prior: tuple[float, float] = (2.0, 1.0),
        least_competence: float = 0.0,
        class_prior: truth_inference.ClassPrior = "uniform",
        labels: Sequence[Hashable] | None = None,
        repeats: Repeats = "error",
        ties: Ties = "first",
    ) -> None:
        super().__init__(n_iter, tol, class_prior=class_prior, labels=labels, repeats=repeats, ties=ties)
        self.noise = _Perturbation(flip_probability, epsilon, bounds)
        self.competence_prior, self.least_competence = competence_prior, least_competence

    def _check(self, frame: FrameAnswers) -> None:
        _check_labels(self.labels, frame)

    def _infer(self, answers: Answers) -> Inference:
        return truth_inference.noise_aware_one_coin(
            answers,
            self.noise.of(answers),
            competence_prior=self.competence_prior,
            least_competence=self.least_competence,
            class_prior=self.class_prior,
            max_iterations=self.n_iter,
            tolerance=self.tol,
            ties=self.ties,
        )


class CautiousTruthDiscovery(_Estimator[Inference]):
    """The paper's truths, unless two estimators that know the perturbation find another label likely enough.

    Args:
        n_iter: of each of the two.
        tol: of each of the two.
        flip_probability: see `NoiseAwareOneCoin`.
        epsilon: see `NoiseAwareOneCoin`.
        bounds: see `NoiseAwareOneCoin`.
        least_odds: see `cautious_truth_discovery`.
        clamp: see `TruthDiscovery`.
        labels: see `NoiseAwareOneCoin`.
        repeats: see `DawidSkene`.
        ties: see `DawidSkene`.

    Attributes:
        skills_: the probability of a right answer, before the perturbation.

    Raises:
        ValueError: the perturbation is not given, or twice.
    """

    def __init__(
        self,
        n_iter: int = 100,
        tol: float = 1e-6,
        *,
        flip_probability: float | None = None,
        epsilon: float | None = None,
        bounds: tuple[float, float] | None = None,
        least_odds: float = 2.0,
        clamp: float = 0.05,
        labels: Sequence[Hashable] | None = None,
        repeats: Repeats = "error",
        ties: Ties = "first",
    ) -> None:
        super().__init__(labels=labels, repeats=repeats, ties=ties)
        self.n_iter, self.tol = n_iter, tol
        self.noise = _Perturbation(flip_probability, epsilon, bounds)
        self.least_odds, self.clamp = least_odds, clamp

    def _check(self, frame: FrameAnswers) -> None:
        _check_labels(self.labels, frame)

    def _infer(self, answers: Answers) -> Inference:
        return truth_inference.cautious_truth_discovery(
            answers,
            self.noise.of(answers),
            least_odds=self.least_odds,
            clamp=self.clamp,
            max_iterations=self.n_iter,
            tolerance=self.tol,
            ties=self.ties,
        )


class NoiseAwareDawidSkene(_Iterative[Confusions]):
    """Confusion matrices of answers that went through a known perturbation.

    Args:
        n_iter: see `DawidSkene`.
        tol: see `DawidSkene`.
        flip_probability: see `NoiseAwareOneCoin`.
        epsilon: see `NoiseAwareOneCoin`.
        bounds: see `NoiseAwareOneCoin`; their mean is used.
        prior_answers: see `noise_aware_dawid_skene`.
        prior_quality: see `noise_aware_dawid_skene`.
        class_prior: see `DawidSkene`.
        labels: see `NoiseAwareOneCoin`.
        repeats: see `DawidSkene`.
        ties: see `DawidSkene`.

    Attributes:
        skills_: the expected share of right answers, before the perturbation.
        errors_: as `DawidSkene` has it, before the perturbation.
        priors_: see `DawidSkene`.
        loss_history_: the log-posterior after each round, in nats per answer.

    Raises:
        ValueError: the perturbation is not given, or twice.
    """

    errors_: "pd.DataFrame | Mapping[int, FloatArray]"

    def __init__(
        self,
        n_iter: int = 100,
        tol: float = 1e-6,
        *,
        flip_probability: float | None = None,
        epsilon: float | None = None,
        bounds: tuple[float, float] | None = None,
        prior_answers: float = 10.0,
        prior_quality: float = 0.7,
        class_prior: truth_inference.ClassPrior = "uniform",
        labels: Sequence[Hashable] | None = None,
        repeats: Repeats = "error",
        ties: Ties = "first",
    ) -> None:
        super().__init__(n_iter, tol, class_prior=class_prior, labels=labels, repeats=repeats, ties=ties)
        self.noise = _Perturbation(flip_probability, epsilon, bounds)
        self.prior_answers, self.prior_quality = prior_answers, prior_quality

    def _check(self, frame: FrameAnswers) -> None:
        _check_labels(self.labels, frame)

    def _infer(self, answers: Answers) -> Confusions:
        return truth_inference.noise_aware_dawid_skene(
            answers,
            self.noise.of(answers),
            prior_answers=self.prior_answers,
            prior_quality=self.prior_quality,
            class_prior=self.class_prior,
            max_iterations=self.n_iter,
            tolerance=self.tol,
            ties=self.ties,
        )

    def _name(self, frame: FrameAnswers | None) -> None:
        super()._name(frame)
        confusions = self.inference_.confusions
        self.errors_ = confusions if frame is None else _error_frame(frame, _only(confusions))


class DebiasedMajority(_Estimator[DebiasedCounts]):
    """How many workers gave each answer before a known perturbation, and the label with the most.

    Args:
        flip_probability: see `NoiseAwareOneCoin`.
        epsilon: see `NoiseAwareOneCoin`.
        bounds: see `NoiseAwareOneCoin`; their mean is used.
        labels: see `NoiseAwareOneCoin`.
        repeats: see `DawidSkene`.
        ties: see `DawidSkene`.

    Attributes:
        counts_: unbiased estimates for each task and label.
        standard_errors_: of those, over the perturbation's draws.
        skills_: nan: nothing is inferred of workers.

    Raises:
        ValueError: the perturbation is not given, or twice.
    """

    counts_: "pd.DataFrame | FloatArray"
    standard_errors_: "pd.DataFrame | FloatArray"

    def __init__(
        self,
        *,
        flip_probability: float | None = None,
        epsilon: float | None = None,
        bounds: tuple[float, float] | None = None,
        labels: Sequence[Hashable] | None = None,
        repeats: Repeats = "error",
        ties: Ties = "first",
    ) -> None:
        super().__init__(labels=labels, repeats=repeats, ties=ties)
        self.noise = _Perturbation(flip_probability, epsilon, bounds)

    def _check(self, frame: FrameAnswers) -> None:
        _check_labels(self.labels, frame)

    def _infer(self, answers: Answers) -> DebiasedCounts:
        return truth_inference.debiased_majority(answers, self.noise.of(answers), ties=self.ties)

    def _name(self, frame: FrameAnswers | None) -> None:
        counts, errors = self.inference_.counts, self.inference_.standard_errors
        self.counts_ = counts if frame is None else frame.name_probabilities(counts)
        self.standard_errors_ = errors if frame is None else frame.name_probabilities(errors)


def _as_answers(data: Any, num_labels: int | None) -> Answers:
    """Return `Answers`, or three arrays of codes as such.

    Raises:
        ValueError: shapes differ, there is no answer, or a code is out of range.
        TypeError: the data is something else, or not integers.
    """
    if isinstance(data, Answers):
        return data
    kind = type(data).__name__
    parts = cast("tuple[Any, ...]", data) if isinstance(data, tuple) else ()
    if len(parts) != 3:  # noqa: PLR2004  tasks, workers, labels
        raise TypeError(f"expected a pandas.DataFrame, Answers, or a tuple (tasks, workers, labels), got {kind}")
    arrays: list[Any] = [np.asarray(part) for part in parts]
    for name, codes in zip(("tasks", "workers", "labels"), arrays, strict=True):
        if not codes.size:
            raise ValueError(f"{name} is empty")
        if codes.dtype.kind not in "iu":
            raise TypeError(f"{name} must be integer codes, got {codes.dtype}")
    tasks, workers, labels = (codes.astype(np.int64) for codes in arrays)
    num_tasks = int(tasks.max()) + 1
    size = max(2, int(labels.max()) + 1) if num_labels is None else num_labels
    return Answers(
        tasks=tasks,
        workers=workers,
        labels=labels,
        num_tasks=num_tasks,
        num_workers=int(workers.max()) + 1,
        sizes=np.full(num_tasks, size, dtype=np.int64),
    )


def _only(by_size: Mapping[int, FloatArray]) -> FloatArray:
    """Return what a frame's one answer set has."""
    (value,) = by_size.values()
    return value


def _uniform_errors(qualities: FloatArray, size: int) -> FloatArray:
    """Return one-coin confusion matrices, shape (workers, truths, answers)."""
    wrong = ((1 - qualities) / (size - 1))[:, None, None]
    return wrong + (qualities[:, None, None] - wrong) * np.eye(size)


def _error_frame(frame: FrameAnswers, confusions: FloatArray) -> pd.DataFrame:
    """Return confusion matrices as crowd-kit has them: rows by worker and answer, a column for each truth."""
    count = len(frame.labels)
    rows = confusions.transpose(0, 2, 1)[:, :count, :count].reshape(-1, count)
    index: Any = pd.MultiIndex.from_product([frame.workers, frame.labels], names=["worker", "label"])
    return pd.DataFrame(rows, index=index, columns=frame.labels)
