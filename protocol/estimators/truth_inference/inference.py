"""Results of truth inference, for one crowd or for many, and the rule for ties."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import (
    Any,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    get_args,
    overload,
)

import numpy as np
from numpy.typing import NDArray

from ...arrays import FloatArray, IntArray
from .answers import AnswerBlock, Answers

P = ParamSpec("P")

MISSING = -1
"""The truth of a task without answers, or of a tie with the rule "missing"."""

Ties: TypeAlias = Literal["first", "last", "missing"]
"""The label that is chosen among those with the largest score: the smallest code, the largest code, or none."""


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Inference:
    """The inferred truths of all tasks and qualities of all workers.

    Args:
        truths: int64, shape (num_tasks,): label codes; -1 for a task without answers, and for a tie with the rule
            "missing".
        confidences: float64, shape (num_tasks,): the probability, or the share of votes, of the chosen label (of the
            most probable label if a tie is missing); nan for a task without answers.
        probabilities: float64, shape (num_tasks, largest answer set): the probability of each label; 0 beyond a task's
            answer set, and nan for a task without answers.
        qualities: float64, shape (num_workers,): the probability of a right report; nan for a worker without answers.
        weights: float64, shape (num_workers,): the weight of a worker's vote, in nats if it is a log-odds; nan for a
            worker without answers.
        num_iterations: the number of rounds; 0 for an estimator without rounds.
        has_converged: whether the last round changed nothing, or the likelihood by less than the tolerance.
        log_likelihoods: the log-likelihood after each round, in nats per answer; empty for an estimator without
            likelihood.
        class_priors: for each size s of answer sets, the prior probability of each label, shape (s,); empty for an
            estimator without class prior.

    Examples:
        >>> from psephos.protocol.estimators.truth_inference import majority_vote
        >>> answers = Answers(*np.array([[0, 0, 0], [0, 1, 2], [1, 1, 0]]), 1, 3, np.array([2]))
        >>> found = majority_vote(answers)
        >>> (found.truths.tolist(), found.confidences.round(2).tolist(), found.qualities.tolist())
        ([1], [0.67], [1.0, 1.0, 0.0])
    """

    truths: IntArray
    confidences: FloatArray
    probabilities: FloatArray
    qualities: FloatArray
    weights: FloatArray
    num_iterations: int
    has_converged: bool
    log_likelihoods: tuple[float, ...] = ()
    class_priors: Mapping[int, FloatArray] = dataclasses.field(default_factory=dict[int, FloatArray])


InferenceT = TypeVar("InferenceT", bound=Inference)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class InferenceBlock(Generic[InferenceT]):
    """The inferences of many crowds; each has the same bits as the inference of that crowd alone.

    The other arrays are those of `Inference`, with a first axis of crowds.

    Args:
        kind: the class of each inference.
        log_likelihoods: float64, shape (crowds, rounds); nan after a crowd's last round.
        extras: for each additional field of the class and each size of answer sets, an array with a row for each crowd.

    Examples:
        >>> from psephos.protocol.estimators.truth_inference import majority_vote
        >>> first = Answers(*np.array([[0, 0, 0], [0, 1, 2], [1, 1, 0]]), 1, 3, np.array([2]))
        >>> found = majority_vote(AnswerBlock(first, np.array([[1, 1, 0], [0, 0, 1]])))
        >>> (found.truths.tolist(), found.inference(1).truths.tolist())
        ([[1], [0]], [0])
    """

    kind: type[InferenceT]
    truths: IntArray
    confidences: FloatArray
    probabilities: FloatArray
    qualities: FloatArray
    weights: FloatArray
    num_iterations: IntArray
    has_converged: NDArray[np.bool_]
    log_likelihoods: FloatArray
    extras: Mapping[str, Mapping[int, FloatArray]] = dataclasses.field(
        default_factory=dict[str, Mapping[int, FloatArray]]
    )

    def __len__(self) -> int:
        return len(self.truths)

    def inference(self, number: int) -> InferenceT:
        """Return one crowd's inference."""
        num_iterations = int(self.num_iterations[number])
        return self.kind(
            truths=self.truths[number],
            confidences=self.confidences[number],
            probabilities=self.probabilities[number],
            qualities=self.qualities[number],
            weights=self.weights[number],
            num_iterations=num_iterations,
            has_converged=bool(self.has_converged[number]),
            log_likelihoods=tuple(self.log_likelihoods[number, :num_iterations].tolist()),
            **{name: {size: values[number] for size, values in tables.items()} for name, tables in self.extras.items()},
        )

    @classmethod
    def from_inferences(cls, inferences: Sequence[Inference]) -> "InferenceBlock[Inference]":
        """Combine the inferences of at least one crowd, without likelihoods and additional fields of subclasses."""
        arrays: Any = {
            name: np.stack([getattr(inference, name) for inference in inferences])
            for name in ("truths", "confidences", "probabilities", "qualities", "weights")
        }
        return InferenceBlock(
            kind=Inference,
            num_iterations=np.array([inference.num_iterations for inference in inferences], dtype=np.int64),
            has_converged=np.array([inference.has_converged for inference in inferences], dtype=np.bool_),
            log_likelihoods=np.empty((len(inferences), 0)),
            **arrays,
        )


class OneOrMany(Protocol[P, InferenceT]):
    """An estimator that accepts the answers of one crowd or of many."""

    @overload
    def __call__(self, answers: Answers, /, *args: P.args, **kwargs: P.kwargs) -> InferenceT: ...

    @overload
    def __call__(self, answers: AnswerBlock, /, *args: P.args, **kwargs: P.kwargs) -> InferenceBlock[InferenceT]: ...


def accept_one_or_many(
    find: Callable[Concatenate[AnswerBlock, P], InferenceBlock[InferenceT]],
) -> OneOrMany[P, InferenceT]:
    """Decorate an estimator of many crowds to accept one crowd too, for which it returns one inference."""

    @functools.wraps(find)
    def find_either(answers: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
        if isinstance(answers, AnswerBlock):
            return find(answers, *args, **kwargs)
        return find(AnswerBlock.from_answers(answers), *args, **kwargs).inference(0)

    return find_either


def apply_one_by_one(find: Callable[Concatenate[Answers, P], Inference]) -> OneOrMany[P, Inference]:
    """Decorate an estimator of one crowd to accept many crowds too, which it processes one after another."""

    @functools.wraps(find)
    def find_either(answers: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
        if not isinstance(answers, AnswerBlock):
            return find(answers, *args, **kwargs)
        return InferenceBlock.from_inferences(
            [find(answers.answers(number), *args, **kwargs) for number in range(len(answers))]
        )

    return find_either


def check_choice(name: str, value: str, choices: Any) -> None:
    """Raise ValueError unless an argument is one of the values of a `Literal`."""
    if value not in get_args(choices):
        raise ValueError(f"{name} is {value!r}: use one of {', '.join(get_args(choices))}")


def check_clamp(clamp: float) -> None:
    """Raise ValueError unless the clamp of shares is in (0, 1/2): at 1/2 all shares would be equal."""
    if not 0 < clamp < 0.5:  # noqa: PLR2004  a half
        raise ValueError(f"clamp is {clamp}: use a value above 0 and below 1/2")


def check_rounds(max_iterations: int, ties: str, *, tolerance: float = 0.0, rounds: int | None = None) -> None:
    """Raise ValueError unless `ties` names a rule, there is a round, and the tolerance is a number ≥ 0."""
    check_choice("ties", ties, Ties)
    if max_iterations < 1:
        raise ValueError(f"max_iterations is {max_iterations}: use at least 1")
    if rounds is not None and rounds < 1:
        raise ValueError(f"rounds is {rounds}: use at least 1")
    if not tolerance >= 0:
        raise ValueError(f"tolerance is {tolerance}: use at least 0")


def choose_labels(scores: FloatArray, *, ties: Ties) -> IntArray:
    """Return the label with the largest score for each task, shape (..., tasks); -1 for a tie with the rule "missing".

    Args:
        scores: shape (labels, ..., tasks); -inf for a label that a task does not have. Equal scores tie.
    """
    best = scores[0].copy()
    labels = np.zeros(best.shape, dtype=np.int64)
    for label in range(1, len(scores)):
        row = scores[label]
        if ties == "missing":
            labels[row == best] = MISSING
        labels[row >= best if ties == "last" else row > best] = label
        np.maximum(best, row, out=best)
    return labels
