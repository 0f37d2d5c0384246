"""Truth discovery that others are compared with: CATD, TruthFinder, 2-Estimates and 3-Estimates, for categories.

A *fact* is a label that somebody gave a task. None of these knows the perturbation, and none claims a probability:
`probabilities` are each label's share of its task's scores.

Accu without the detection of copies (Dong, Berti-Equille and Srivastava, Integrating Conflicting Data: The Role of
Source Dependence, PVLDB 2009) is the one-coin model with labels that are alike beforehand: a worker's accuracy is the
mean probability of its values, and its vote weighs log(n·A/(1 − A)) with n = s − 1 false values (Section 4). So it is
`one_coin` with the class prior "uniform", from shares of votes on instead of one accuracy for all.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaincinv

from ...arguments import exact_arguments
from ...arrays import FloatArray, IntArray
from .answers import AnswerBlock
from .elementwise import log, snap_probabilities, snap_weights
from .inference import Inference, InferenceBlock, Ties, check_rounds, of_one_or_many
from .rounds import Rounds
from .vote_table import VoteTable
from .votes import vote_in_turns

_LEAST: Final = 2.0**-30
"""The step of the grid of probabilities: no trust is nearer to 0 or 1."""
_SLACK: Final = 2.0**-20
"""What is so near below a half rounds up: halves are frequent, and their last digits are those of the grids."""


@of_one_or_many
@exact_arguments
def catd(
    answers: AnswerBlock, *, alpha: float = 0.05, clamp: float = 0.05, max_iterations: int = 10, ties: Ties = "first"
) -> InferenceBlock[Inference]:
    """Return the label with the largest sum of weights, where who has answered little weighs little.

    A worker's weight is one over the upper limit of a confidence interval of its variance: w = χ²(α/2, n)/Σd², with n
    answers and d = 1 for each that is not the truth, else 0. The quantile is the lower one, which for n = 1 is a
    thousandth of n, and for many answers nearly n. It starts from the majority's truths.

    Args:
        alpha: one less the confidence, in (0, 1).
        clamp: Σd² is at least this times n, so that no worker's weight is infinite; in (0, 1/2).

    Source:
        Li, Li, Gao, Su, Zhao, Demirbas, Fan and Han, A Confidence-Aware Approach for Truth Discovery on Long-Tail Data,
        PVLDB 2015, Section 2: weights and Algorithm 1, with the 0-1 loss for categories. The clamp is ours.
    """
    check_rounds(max_iterations, ties)
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be in (0, 1), got {alpha}")
    if not 0 < clamp < 0.5:  # noqa: PLR2004  half is a guess between two labels
        raise ValueError(f"clamp must be in (0, 1/2), got {clamp}")
    table = VoteTable(answers)
    numbers = np.maximum(table.answers_of_workers.sum(axis=1), 1.0)
    quantiles = 2.0 * np.asarray(gammaincinv(numbers / 2.0, alpha / 2.0), dtype=np.float64)

    def weigh_workers(agreements: FloatArray) -> tuple[FloatArray, FloatArray]:
        wrong = np.maximum(numbers - agreements.sum(axis=2), clamp * numbers)
        return np.repeat(snap_weights(quantiles / wrong)[..., None], table.num_kinds, axis=2), 1.0 - wrong / numbers

    return vote_in_turns(
        table, weigh_workers, max_iterations=max_iterations, ties=ties, rate=lambda scores, _: table.shares_of(scores)
    )


@of_one_or_many
@exact_arguments
def truth_finder(
    answers: AnswerBlock,
    *,
    start: float = 0.9,
    dampening: float = 0.3,
    influence: float = 0.5,
    implication: float = -0.5,
    max_iterations: int = 10,
    ties: Ties = "first",
) -> InferenceBlock[Inference]:
    """Return the fact of the greatest confidence, for each task, where a worker's trust is that of its facts.

    In turns: a worker's trustworthiness t is the mean confidence of its facts; a fact has the score σ = Σ −ln(1 − t)
    of who gave it, σ* = σ + ρ·imp·(the σ of the task's other facts), and the confidence 1/(1 + e^(−γσ*)).

    Args:
        start: t of all workers at first, in (0, 1).
        dampening: γ, above 0.
        influence: ρ, in [0, 1].
        implication: imp of one label for another one of its task: by default its similarity, 0, less a base of 1/2.

    Source:
        Yin, Han and Yu, Truth Discovery with Multiple Conflicting Information Providers on the Web, KDD 2007, Section
        4, with implication between labels as one number.
    """
    check_rounds(max_iterations, ties)
    if not (0 < start < 1 and 0 < dampening < np.inf and 0 <= influence <= 1 and -1 <= implication <= 1):
        given = f"{start}, {dampening}, {influence} and {implication}"
        raise ValueError(
            f"start, dampening, influence, implication must be in (0, 1), (0, ∞), [0, 1], [-1, 1]: {given}"
        )
    table = VoteTable(answers)
    is_fact = table.counts > 0
    numbers = np.maximum(table.answers_of_workers.sum(axis=1), 1.0)
    trust = np.full((table.num_crowds, table.num_workers), start)

    def rate() -> FloatArray:
        scores = _votes(table, -log(1.0 - trust))
        others = scores.sum(axis=0) - scores
        evidence = dampening * (scores + influence * implication * others)
        confidences = np.asarray(expit(evidence), dtype=np.float64)
        return np.where(is_fact, np.clip(snap_probabilities(confidences), _LEAST, 1 - _LEAST), 0.0)

    def trusting(confidences: FloatArray) -> None:
        nonlocal trust
        trust = np.clip(snap_probabilities(table.agree(confidences).sum(axis=2) / numbers), _LEAST, 1 - _LEAST)

    return _in_turns(table, rate, trusting, lambda: trust, max_iterations=max_iterations, ties=ties)


@of_one_or_many
@exact_arguments
def two_estimates(
    answers: AnswerBlock, *, start: float = 0.1, rescaled: float = 0.5, max_iterations: int = 10, ties: Ties = "first"
) -> InferenceBlock[Inference]:
    """Return the fact that is true most probably, for each task, by two estimates: of facts and of workers' errors.

    Who gives a label denies all other facts of the task. In turns: a fact is as true, π, as the mean, over all who
    affirm or deny it, of 1 − ε and of ε; a worker's error ε is the mean of 1 − π over its facts and of π over those
    that it denies. After each step numbers become λ·(x − min)/(max − min) + (1 − λ)·round(x). Truths may never repeat.

    Args:
        start: ε of all workers at first, in (0, 1).
        rescaled: λ, in [0, 1].

    Source:
        Galland, Abiteboul, Marian and Senellart, Corroborating Information from Disagreeing Views, WSDM 2010, Section
        3, 2-Estimates. λ and the start are ours.
    """
    return _estimates(answers, start, rescaled, None, max_iterations=max_iterations, ties=ties)


@of_one_or_many
@exact_arguments
def three_estimates(
    answers: AnswerBlock,
    *,
    start: float = 0.1,
    rescaled: float = 0.5,
    clamp: float = 0.05,
    max_iterations: int = 10,
    ties: Ties = "first",
) -> InferenceBlock[Inference]:
    """Return what `two_estimates` does, with a third estimate: how hard a fact is, δ, by which errors are multiplied.

    A worker errs on a fact with ε·δ. So π has ε·δ in the place of ε, ε is the mean of (1 − π)/δ and π/δ, and δ the mean
    of (1 − π)/ε and π/ε, over the same pairs.

    Args:
        start: ε of all workers at first, and δ of all facts is 1; in (0, 1).
        rescaled: λ, in [0, 1].
        clamp: nothing is divided by less; in (0, 1/2).

    Source:
        Galland et al. (2010), Section 3, 3-Estimates. λ, the start and the clamp are ours.
    """
    if not 0 < clamp < 0.5:  # noqa: PLR2004  half is a guess between two labels
        raise ValueError(f"clamp must be in (0, 1/2), got {clamp}")
    return _estimates(answers, start, rescaled, clamp, max_iterations=max_iterations, ties=ties)


def _estimates(
    answers: AnswerBlock, start: float, rescaled: float, clamp: float | None, *, max_iterations: int, ties: Ties
) -> InferenceBlock[Inference]:
    """Run 2-Estimates, or 3-Estimates where there is a clamp."""
    check_rounds(max_iterations, ties)
    if not (0 < start < 1 and 0 <= rescaled <= 1):
        raise ValueError(f"start and rescaled must be in (0, 1) and [0, 1], got {start} and {rescaled}")
    table = VoteTable(answers)
    is_fact = table.counts > 0
    is_active = np.broadcast_to(~table.is_silent, (table.num_crowds, table.num_workers))
    voters = np.maximum(table.counts.sum(axis=0), 1.0)
    facts = np.broadcast_to(is_fact.sum(axis=0), is_fact.shape).astype(np.float64)
    pairs = np.maximum(table.agree(facts).sum(axis=2), 1.0)
    errors, hardness = np.full(is_active.shape, start), np.ones(is_fact.shape)

    def normalized(values: FloatArray, are_there: NDArray[np.bool_], *axes: int) -> FloatArray:
        least = values.min(axis=axes, keepdims=True, where=are_there, initial=np.inf)
        most = values.max(axis=axes, keepdims=True, where=are_there, initial=-np.inf)
        differ = most > least
        least, range_ = np.where(differ, least, 0.0), np.where(differ, most - least, 1.0)
        wide = np.where(differ, (values - least) / range_, values)
        whole = np.floor(values + 0.5 + _SLACK)
        return np.where(are_there, snap_probabilities(np.clip(rescaled * wide + (1 - rescaled) * whole, 0, 1)), 0.0)

    def denied(values: FloatArray) -> FloatArray:  # for each fact, the sum of the task's other facts' or voters'
        return values.sum(axis=0) - values

    def rate() -> FloatArray:
        nonlocal hardness
        own = _votes(table, errors)
        truths = normalized((table.counts + hardness * (denied(own) - own)) / voters, is_fact, 0, 2)
        if clamp is not None:
            ease = _votes(table, 1.0 / np.maximum(errors, clamp))
            hardness = normalized(((1.0 - truths) * ease + truths * denied(ease)) / voters, is_fact, 0, 2)
        return truths

    def trusting(truths: FloatArray) -> None:
        nonlocal errors
        divisors = 1.0 if clamp is None else np.maximum(hardness, clamp)
        wrong, right = (snap_weights(np.where(is_fact, own / divisors, 0.0)) for own in (1.0 - truths, truths))
        errors = normalized(table.agree(wrong + denied(right)).sum(axis=2) / pairs, is_active, 1)

    return _in_turns(table, rate, trusting, lambda: 1.0 - errors, max_iterations=max_iterations, ties=ties)


@dataclasses.dataclass(frozen=True, eq=False)
class _Turn:
    """What rounds have come to: a row for each crowd."""

    scores: FloatArray  # (crowds, labels, tasks)
    qualities: FloatArray
    num_iterations: IntArray
    has_converged: NDArray[np.bool_]


def _in_turns(
    table: VoteTable,
    rate: Callable[[], FloatArray],
    trusting: Callable[[FloatArray], None],
    qualities: Callable[[], FloatArray],
    *,
    max_iterations: int,
    ties: Ties,
) -> InferenceBlock[Inference]:
    """Return the facts with the largest scores after rounds of scores and trust, until the truths repeat.

    Args:
        rate: the scores of facts by the workers' trust, 0 for what is no fact; shape (labels, crowds, tasks).
        trusting: has the workers trusted by the scores.
        qualities: of the workers, by which the last scores were made.
    """
    inner: Ties = "first" if ties == "missing" else ties
    rounds, truths = Rounds[_Turn](table.num_crowds), table.choose(table.counts, ties=inner)
    while True:
        scores, used = rate(), qualities()
        previous, truths = truths, table.choose(scores, ties=inner)
        rounds.number += 1
        has_converged = (previous == truths).all(axis=1) & (rounds.number > 1)
        number = np.full(table.num_crowds, rounds.number)
        turn = functools.partial(_Turn, scores.swapaxes(0, 1), used, num_iterations=number, has_converged=has_converged)
        rounds.stop(has_converged | (rounds.number == max_iterations), turn)
        if not rounds.go_on:
            break
        trusting(scores)
    last = rounds.ended()
    scores = np.ascontiguousarray(last.scores.swapaxes(0, 1))
    truths = table.choose(scores, ties=ties)
    rows = table.by_task(table.shares_of(scores))
    chosen = np.take_along_axis(rows, np.maximum(truths, 0)[..., None], axis=2)[..., 0]
    used = table.hide_silent(last.qualities)
    return InferenceBlock(
        kind=Inference,
        truths=truths,
        confidences=np.where(truths < 0, rows.max(axis=2), chosen),
        probabilities=rows,
        qualities=used,
        weights=used,
        num_iterations=last.num_iterations,
        has_converged=last.has_converged,
        log_likelihoods=np.empty((len(truths), 0)),
    )


def _votes(table: VoteTable, weights: FloatArray) -> FloatArray:
    """Return the sum of the workers' weights who gave each label, shape (labels, crowds, tasks)."""
    of_kinds = np.repeat(snap_weights(weights)[..., None], table.num_kinds, axis=2)
    return table.fill_absent(table.vote(of_kinds), 0.0)
