"""What estimators for frames share: answers of frames or of arrays in, and truths out by the same names.

An estimator is a dataclass of its arguments; what it found are attributes that end with an underscore, as crowd-kit's
users know them.
"""

import dataclasses
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar, Final, Generic, Self, TypeAlias, TypeVar, cast, overload

import numpy as np
import pandas as pd

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.estimators.truth_inference import Answers, ClassPrior, Inference, KnownNoise, Ties
from .assembly import Repeats
from .frames import FrameAnswers, encode_frame

CodedAnswers: TypeAlias = "Answers | tuple[IntArray, IntArray, IntArray]"
"""Answers, or their codes from 0 on: of tasks, of workers and of labels."""
NamedSeries: TypeAlias = "pd.Series[Any]"
_ARGUMENTS: Final = {"n_iter": "max_iterations", "tol": "tolerance"}
"""What functions call arguments of estimators, where they call them otherwise."""
_OF_ANSWERS: Final = ("labels", "repeats", "flip_probability", "epsilon", "bounds")
"""Arguments that say what the answers are, and how they were perturbed."""

ResultT = TypeVar("ResultT", bound=Inference)


@dataclasses.dataclass(kw_only=True, eq=False)
class FittingEstimator(Generic[ResultT]):
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

    Examples:
        >>> from psephos.scenarios.truth_discovery.data.estimators import MajorityVote
        >>> majority = MajorityVote(ties="missing")
        >>> majority.fit_predict(([0, 0, 1], [0, 1, 0], [1, 0, 1])).tolist()  # tasks, workers, labels
        [-1, 1]
    """

    labels: Sequence[Hashable] | None = None
    repeats: Repeats = "error"
    ties: Ties = "first"

    _function: ClassVar[Callable[..., Any]]  # of `truth_inference`

    inference_: ResultT = dataclasses.field(init=False, repr=False)
    labels_: "NamedSeries | IntArray" = dataclasses.field(init=False, repr=False)
    probas_: "pd.DataFrame | FloatArray" = dataclasses.field(init=False, repr=False)
    confidences_: "NamedSeries | FloatArray" = dataclasses.field(init=False, repr=False)
    skills_: "NamedSeries | FloatArray" = dataclasses.field(init=False, repr=False)

    def fit(self, data: "pd.DataFrame | CodedAnswers") -> Self:
        """Infer the truths, and return this estimator.

        Args:
            data: a frame, `Answers`, or arrays (tasks, workers, labels) of codes from 0 on.

        Raises:
            ValueError: the data or an argument of the estimator is not allowed.
            TypeError: the data is of another type.

        Examples:
            >>> from psephos.scenarios.truth_discovery.data.estimators import MajorityVote
            >>> tasks, workers, labels = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 0, 0]
            >>> MajorityVote().fit((tasks, workers, labels)).confidences_.round(2).tolist()
            [0.67, 1.0]
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
            answers = _convert_answers(data, None if self.labels is None else len(self.labels))
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
        """Return the truth of each task: a series by task, or codes. See `fit`.

        Examples:
            >>> from psephos.scenarios.truth_discovery.data.estimators import MajorityVote
            >>> tasks, workers, labels = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 0, 0]
            >>> MajorityVote().fit_predict((tasks, workers, labels)).tolist()
            [1, 0]
        """
        return self.fit(data).labels_

    @overload
    def fit_predict_proba(self, data: pd.DataFrame) -> pd.DataFrame: ...
    @overload
    def fit_predict_proba(self, data: CodedAnswers) -> FloatArray: ...
    def fit_predict_proba(self, data: "pd.DataFrame | CodedAnswers") -> "pd.DataFrame | FloatArray":
        """Return the probability of each label for each task: a frame, tasks by labels, or an array. See `fit`.

        Examples:
            >>> from psephos.scenarios.truth_discovery.data.estimators import MajorityVote
            >>> tasks, workers, labels = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 0, 0]
            >>> MajorityVote().fit_predict_proba((tasks, workers, labels)).round(2).tolist()
            [[0.33, 0.67], [1.0, 0.0]]
        """
        return self.fit(data).probas_

    def _infer(self, answers: Answers, *noise: KnownNoise) -> ResultT:
        """Return what the estimator's function infers, whose arguments are the estimator's."""
        cls, fields = type(self), dataclasses.fields(self)
        arguments = {field.name: getattr(self, field.name) for field in fields if field.init}
        named_arguments = {
            _ARGUMENTS.get(name, name): value for name, value in arguments.items() if name not in _OF_ANSWERS
        }
        return cls._function(answers, *noise, **named_arguments)

    def _check(self, frame: FrameAnswers) -> None:
        """Raise ValueError unless the frame says all that the estimator must know."""

    def _name(self, frame: FrameAnswers | None) -> None:
        """Set further attributes, by name where there is a frame."""


@dataclasses.dataclass(eq=False)
class IterativeEstimator(FittingEstimator[ResultT]):
    """What estimators by expectation-maximization share.

    Args:
        n_iter: rounds at most.
        tol: it ends when the log-likelihood rises by less than this, in nats per answer.
        rounds: exactly so many instead of `n_iter` and `tol`.
        class_prior: "estimated" from the answers, or "uniform".

    Attributes:
        priors_: of the labels; for arrays, by size of answer set.
        loss_history_: the log-likelihood after each round, in nats per answer.

    Examples:
        >>> from psephos.scenarios.truth_discovery.data.estimators import OneCoinDawidSkene
        >>> one_coin = OneCoinDawidSkene(rounds=3).fit(([0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 0, 0]))
        >>> [round(loss, 3) for loss in one_coin.loss_history_]
        [-0.597, -0.516, -0.467]
    """

    n_iter: int = 100
    tol: float = 1e-5
    class_prior: ClassPrior = dataclasses.field(default="estimated", kw_only=True)
    rounds: int | None = dataclasses.field(default=None, kw_only=True)

    loss_history_: list[float] = dataclasses.field(init=False, repr=False)
    priors_: "NamedSeries | Mapping[int, FloatArray]" = dataclasses.field(init=False, repr=False)

    def _name(self, frame: FrameAnswers | None) -> None:
        self.loss_history_ = list(self.inference_.log_likelihoods)
        priors = self.inference_.class_priors
        if frame is None:
            self.priors_ = priors
        else:
            self.priors_ = pd.Series(only_value(priors)[: len(frame.labels)], index=frame.labels, name="prior")


def _convert_answers(data: Any, num_labels: int | None) -> Answers:
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
        raise TypeError(f"this is a {kind}: give a pandas.DataFrame, Answers, or a tuple (tasks, workers, labels)")
    arrays: list[Any] = [np.asarray(part) for part in parts]
    for name, codes in zip(("tasks", "workers", "labels"), arrays, strict=True):
        if not codes.size:
            raise ValueError(f"{name} is empty")
        if codes.dtype.kind not in "iu":
            raise TypeError(f"{name} are {codes.dtype}: give integer codes")
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


def only_value(by_size: Mapping[int, FloatArray]) -> FloatArray:
    """Return what a frame's one answer set has.

    Examples:
        >>> only_value({2: np.array([0.25, 0.75])}).tolist()
        [0.25, 0.75]
    """
    (value,) = by_size.values()
    return value


def error_frame(frame: FrameAnswers, confusions: FloatArray) -> pd.DataFrame:
    """Return confusion matrices as crowd-kit has them: rows by worker and answer, a column for each truth."""
    count = len(frame.labels)
    rows = confusions.transpose(0, 2, 1)[:, :count, :count].reshape(-1, count)
    index: Any = pd.MultiIndex.from_product([frame.workers, frame.labels], names=["worker", "label"])
    return pd.DataFrame(rows, index=index, columns=frame.labels)
