"""A layout of answers for fast and exact sums over the answers to each task and over the answers of each worker.

Each round of an estimator computes two such sums, as products with a sparse 0-1 matrix and its transpose. Weights are
multiples of 2⁻³² and probabilities are multiples of 2⁻³⁰ (`elementwise`). Sums of weights below 2²⁰ and of
probabilities below 2²² are therefore exact in any order: ties are exact, and results do not depend on the order of the
answers.

Many crowds are processed together. Larger sums are computed for each crowd separately and in the same order as for that
crowd alone, so that results do not depend on the other crowds.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...arrays import FloatArray, IntArray
from .answers import AnswerBlock
from .elementwise import exp_in_place, log, snap_probabilities
from .inference import MISSING, Ties, choose_labels


class VoteTable:
    """Sums over the answers to each task and over the answers of each worker, for many crowds.

    Scores and probabilities have shape (labels, crowds, tasks), where labels is the size of the largest answer set;
    this order makes elementwise steps fastest. Values of workers have shape (crowds, workers, kinds). A *kind* of task
    is the size of its answer set; `sizes` lists the kinds in ascending order. All crowds have the same pairs of workers
    and tasks, so that arrays that depend on these pairs alone have no axis of crowds.
    """

    def __init__(self, answers: AnswerBlock) -> None:
        first, labels = answers.first, answers.labels
        self.answers = answers
        self.num_tasks, self.num_workers, self.num_labels = first.num_tasks, first.num_workers, first.num_classes
        self.num_crowds, self.num_answers = labels.shape
        self.sizes: IntArray = np.array([self.num_labels], dtype=np.int64)
        self.kinds_of_tasks: IntArray = np.zeros(self.num_tasks, dtype=np.int64)
        self._is_absent_label: NDArray[np.bool_] | None = None
        columns = first.workers
        if first.num_tasks and int(first.sizes.min()) != self.num_labels:
            self.sizes, self.kinds_of_tasks = np.unique(first.sizes, return_inverse=True)
            self._is_absent_label = np.arange(self.num_labels)[:, None] >= first.sizes
            columns = first.workers * len(self.sizes) + self.kinds_of_tasks[first.tasks]
        self.num_kinds = len(self.sizes)
        self._num_columns = self.num_workers * self.num_kinds
        self._shape = self.num_labels, self.num_crowds, self.num_tasks
        number, num_tasks = self.num_crowds, self.num_tasks
        order: IntArray = np.argsort(columns, kind="stable")
        crowds: IntArray = np.arange(number, dtype=np.int64)[:, None]
        places: IntArray = labels[:, order] * (number * num_tasks) + (crowds * num_tasks + first.tasks[order])
        num_places = self.num_labels * number * num_tasks
        # The rows of the sparse matrix of one crowd follow those of another, with the same lengths.
        ends: IntArray = np.cumsum(np.bincount(columns, minlength=self._num_columns)) + crowds * self.num_answers
        starts = np.concatenate([[0], ends.reshape(-1)])
        self._by_worker: Any = sparse.csr_array(
            (np.ones(places.size), _narrow(places.reshape(-1)), _narrow(starts)),
            shape=(number * self._num_columns, num_places),
        )
        self._by_task: Any = self._by_worker.T
        # The number of answers of each label, and of each worker to each kind of task, shape (workers, kinds).
        counts = np.bincount(places.reshape(-1), minlength=num_places).astype(np.float64)
        self.counts: FloatArray = counts.reshape(self._shape)
        of_columns = np.bincount(columns, minlength=self._num_columns).astype(np.float64)
        self.answers_of_workers: FloatArray = of_columns.reshape(self.num_workers, self.num_kinds)
        self.is_answered: NDArray[np.bool_] = np.bincount(first.tasks, minlength=self.num_tasks) > 0

    @property
    def is_silent(self) -> NDArray[np.bool_]:
        """Which workers have no answer."""
        return self.answers_of_workers.sum(axis=1) == 0

    @property
    def vote_shares(self) -> FloatArray:
        """Each label's share of a task's answers, shape (labels, crowds, tasks); 0 for a task without answers."""
        return self.counts / np.maximum(self.counts.sum(axis=0), 1.0)

    def vote(self, weights: FloatArray) -> FloatArray:
        """Return the sum of the weights of the workers who chose each label of each task.

        Args:
            weights: shape (crowds, workers, kinds).

        Returns:
            The sums, shape (labels, crowds, tasks); -inf for a label that a task does not have.
        """
        return self.fill_absent(_product(self._by_task, weights.reshape(-1)).reshape(self._shape), -np.inf)

    def agree(self, probabilities: FloatArray) -> FloatArray:
        """Sum the probabilities of the labels that each worker chose: shape (crowds, workers, kinds)."""
        sums = _product(self._by_worker, probabilities.reshape(-1))
        return sums.reshape(self.num_crowds, self.num_workers, self.num_kinds)

    def agree_with(self, truths: IntArray) -> FloatArray:
        """Count each worker's answers that are the truth, shape (crowds, workers, kinds); missing truths match none."""
        return self.agree((truths == np.arange(self.num_labels)[:, None, None]).astype(np.float64))

    def fill_absent(self, scores: FloatArray, value: float) -> FloatArray:
        """Set `scores` to `value` for labels that a task does not have, in place, and return them."""
        if self._is_absent_label is not None:
            np.copyto(scores, value, where=self._is_absent_label[:, None])
        return scores

    def shares_of(self, scores: FloatArray) -> FloatArray:
        """Return each label's fraction of a task's scores, with negative scores as 0; uniform if all are 0."""
        weights = self.fill_absent(np.maximum(scores, 0.0), 0.0)
        totals = weights.sum(axis=0)
        return np.where(totals > 0, weights / np.where(totals > 0, totals, 1.0), 1 / self.sizes[self.kinds_of_tasks])

    def normalize(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return probabilities ∝ e^score, rounded, and the sum of the logarithms of the normalizers for each crowd.

        The scores are overwritten.
        """
        best = scores[0].copy()
        for row in scores[1:]:
            np.maximum(best, row, out=best)
        scores -= best
        likelihoods = exp_in_place(scores)
        totals = likelihoods[0].copy()
        for row in likelihoods[1:]:
            totals += row
        likelihoods /= totals
        evidence = snap_probabilities(best + log(totals))
        if not self.is_answered.all():
            evidence = np.ascontiguousarray(evidence[:, self.is_answered])
        return snap_probabilities(likelihoods), evidence.sum(axis=1)

    def choose(self, scores: FloatArray, *, ties: Ties) -> IntArray:
        """Return the label with the largest score for each task, shape (crowds, tasks); -1 for a task without answers.

        Scores of labels that a task does not have are ignored.
        """
        if self._is_absent_label is not None:
            scores = self.fill_absent(scores.copy(), -np.inf)
        truths = choose_labels(scores, ties=ties)
        truths[:, ~self.is_answered] = MISSING
        return truths

    def task_probabilities(self, probabilities: FloatArray) -> FloatArray:
        """Return probabilities as in `InferenceBlock`, shape (crowds, tasks, labels); nan for tasks without answers."""
        rows = np.ascontiguousarray(probabilities.transpose(1, 2, 0))
        if self._is_absent_label is not None:
            rows[:, self._is_absent_label.T] = 0.0
        rows[:, ~self.is_answered] = np.nan
        return rows

    def hide_silent(self, values: FloatArray) -> FloatArray:
        """Return the values of workers, shape (crowds, workers), replaced by nan for workers without answers."""
        return np.where(self.is_silent, np.nan, values)


def sum_of_each(values: FloatArray) -> FloatArray:
    """Return the sum over all axes but the first, in the same order for any number of crowds."""
    return values.reshape(len(values), -1).sum(axis=1)


def incidence(rows: IntArray, columns: IntArray, shape: tuple[int, int]) -> Any:
    """Return the matrix with a one for each answer, as `scipy.sparse.csr_array`.

    The ones of a row are in the order of the answers, and duplicates are not merged.
    """
    # Each answer has a separate column here, so that nothing is merged and the conversion is a stable counting sort.
    itself = np.arange(len(rows), dtype=np.int32)
    flags = np.broadcast_to(np.int8(1), len(rows))
    order: Any = sparse.coo_array((flags, (_narrow(rows), itself)), shape=(shape[0], len(rows))).tocsr()
    return sparse.csr_array((np.ones(len(rows)), _narrow(columns)[order.indices], order.indptr), shape=shape)


def _narrow(codes: IntArray) -> NDArray[Any]:
    """Return codes as 32-bit integers if they fit, which halves the memory traffic."""
    return codes.astype(np.int32) if not codes.size or int(codes.max()) < 2**31 else codes


def _product(matrix: Any, vector: FloatArray) -> FloatArray:
    return np.asarray(matrix @ vector, dtype=np.float64)
