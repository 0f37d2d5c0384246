"""What a reproduction consists of: typed rows, from which files, pictures and sentences are made."""

from typing import ClassVar, Final

import msgspec

from ...experiments.measurements import Measurement
from ...experiments.reproductions import PaperReproduction
from . import PAPER

__all__ = [
    "BoundRow",
    "ChoiceRow",
    "ComparisonRow",
    "CrowdRow",
    "DensityPoint",
    "HyperRow",
    "PublishedCell",
    "Reproduction",
    "WeightRow",
    "comparison_trials",
]

_PART_COMPARED: Final = 4


class CrowdRow(msgspec.Struct, frozen=True, kw_only=True):
    """One crowd, and what estimators find in its clean answers.

    Args:
        crowd: its name.
        title: what was asked.
        is_made_up: nobody real stands behind it.
        tasks: how many.
        workers: how many.
        answers: how many.
        gold: tasks with a known truth and an answer.
        labels: of each answer set.
        most_answers: of one worker.
        median_answers: of a worker.
        largest_class: the share of the most frequent truth: what always answering it scores.
        majority: accuracy of majority voting on the gold tasks.
        truth_discovery: the paper's.
        auto: our own choice's.
    """

    crowd: str
    title: str
    is_made_up: bool
    tasks: int
    workers: int
    answers: int
    gold: int
    labels: int
    most_answers: int
    median_answers: float
    largest_class: float
    majority: float
    truth_discovery: float
    auto: float


class PublishedCell(msgspec.Struct, frozen=True, kw_only=True):
    """One cell of a published table, beside ours.

    Args:
        crowd: the data set, or its stand-in.
        method: what the paper calls it.
        estimator: "majority" or "truth_discovery".
        mechanism: "one_layer" or "two_layer".
        epsilon: ε, as claimed for one answer.
        flip_probability: p^f, or the mean of what workers draw.
        change: the error rate of perturbed answers less that of clean ones, the mean over trials.
        error_rate: of perturbed answers.
        published: the change, with the standard error that 100 trials of our own spread have.
        difference: our change less the published, in joint standard errors.
        epsilon_answer: what is proven for one answer of the worker with most answers, the others known.
        epsilon_worker: what is proven for all answers of that worker.
    """

    crowd: str
    method: str
    estimator: str
    mechanism: str
    epsilon: float
    flip_probability: float
    change: Measurement
    error_rate: Measurement
    published: Measurement
    difference: float
    epsilon_answer: float
    epsilon_worker: float


class WeightRow(msgspec.Struct, frozen=True, kw_only=True):
    """One worker's weight before and after the perturbation, in one trial (Figure 2).

    Args:
        crowd: the data set.
        worker: its place.
        num_answers: how many it gave.
        epsilon: ε, as claimed.
        flip_probability: what it drew.
        clean: its weight from the answers.
        reported: its weight from the reports.
        is_drawn: whether the picture shows it.
    """

    crowd: str
    worker: int
    num_answers: int
    epsilon: float
    flip_probability: float
    clean: float
    reported: float
    is_drawn: bool


class DensityPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One point of a curve of Figure 1.

    Args:
        panel: "a" or "b".
        high: b.
        num_workers: n.
        change: Δ.
        density: f(Δ).
    """

    panel: str
    high: float
    num_workers: int
    change: float
    density: float


class ComparisonRow(msgspec.Struct, frozen=True, kw_only=True):
    """One estimator on one mechanism at one price.

    Args:
        crowd: its name.
        unit: what has the price: "claimed" (the paper's ε), "all answers" or "one answer" (proven, of the worker with
            most answers).
        price: in nats: ε for one answer; for all answers their loss over their number.
        mechanism: "one_layer" or "two_layer".
        flip_probability: p^f, or the mean of what workers draw.
        epsilon_answer: what is proven for one answer of the worker with most answers, the others known.
        epsilon_worker: what is proven for all answers of that worker.
        informativeness: what one report tells (see `psephos.protocol.truth_discovery.informativeness`).
        estimator: its name.
        accuracy: on the gold tasks.
        lead: over the paper's truth discovery on the same reports, trial by trial; None for itself.
    """

    crowd: str
    unit: str
    price: float
    mechanism: str
    flip_probability: float
    epsilon_answer: float
    epsilon_worker: float
    informativeness: float
    estimator: str
    accuracy: Measurement
    lead: Measurement | None


class ChoiceRow(msgspec.Struct, frozen=True, kw_only=True):
    """Who wins at one price, and what "auto" does.

    Args:
        crowd: its name.
        unit: see `ComparisonRow`.
        price: see `ComparisonRow`.
        two_layer_gain: truth discovery's accuracy with two layers less that with one; None where two layers do not
            reach the price.
        best_mechanism: of the pair that is the most accurate.
        best_estimator: of the same.
        best: its accuracy.
        paper_mechanism: the better one for truth discovery at a proven price; at a claimed one two layers.
        paper: truth discovery's accuracy with it.
        auto_mechanism: what "auto" takes; at a claimed price the paper's.
        auto: the accuracy of the estimator "auto" with it.
        auto_lead: over the paper's, trial by trial.
    """

    crowd: str
    unit: str
    price: float
    two_layer_gain: Measurement | None
    best_mechanism: str
    best_estimator: str
    best: Measurement
    paper_mechanism: str
    paper: Measurement
    auto_mechanism: str
    auto: Measurement
    auto_lead: Measurement


class HyperRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a hyper-distribution costs, beside others of the same mean (reading T9).

    Args:
        hyper: its name.
        mean: of the flip probability; the claimed ε follows from it alone.
        epsilon: claimed for one answer.
        num_answers: m, of the worker; two labels.
        all_answers: J, proven.
        one_answer: R, proven.
    """

    hyper: str
    mean: float
    epsilon: float
    num_answers: int
    all_answers: float
    one_answer: float


class BoundRow(msgspec.Struct, frozen=True, kw_only=True):
    """The error bound (7), beside what is true (reading T8).

    Args:
        num_workers: n, all alike.
        quality: p, in the paper's folding: ½ is the worst.
        exact: the error of the vote.
        printed: what (7) says is no less.
        chernoff: a bound that holds.
    """

    num_workers: int
    quality: float
    exact: float
    printed: float
    chernoff: float


class Reproduction(PaperReproduction, frozen=True, kw_only=True):
    """All numbers of one reproduction, and what follows from them; `trials` are of each published cell.

    Args:
        crowds: what was looked at.
        table_2: peer grading, on the stand-in.
        table_3: Duchenne smiles.
        densities: Figure 1.
        weights: Figure 2.
        comparisons: every estimator on every mechanism, by price.
        choices: who wins.
        hypers: reading T9.
        bounds: reading T8.
    """

    kept: ClassVar = ("trials", "comparison_trials", "seed", "versions", "missing", "paper_findings", "own_findings")
    file_names: ClassVar = {"densities": "figure-1", "weights": "figure-2"}

    crowds: tuple[CrowdRow, ...]
    table_2: tuple[PublishedCell, ...]
    table_3: tuple[PublishedCell, ...]
    densities: tuple[DensityPoint, ...]
    weights: tuple[WeightRow, ...]
    comparisons: tuple[ComparisonRow, ...]
    choices: tuple[ChoiceRow, ...]
    hypers: tuple[HyperRow, ...]
    bounds: tuple[BoundRow, ...]

    @property
    def comparison_trials(self) -> int:
        """Of each cell of the comparisons."""
        return comparison_trials(self.trials)


def comparison_trials(trials: int) -> int:
    """Return how many the comparisons have: fewer, since they are paired, and have many more cells."""
    return max(trials // _PART_COMPARED, PAPER.least_trials)
