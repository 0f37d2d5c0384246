"""What a reproduction consists of: typed rows, from which files, pictures and sentences are made."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import msgspec

from ...experiments.measurements import Measurement
from ...experiments.reproductions import PaperReproduction
from . import PAPER

_PART_COMPARED: Final = 120


class CrowdRow(msgspec.Struct, frozen=True, kw_only=True):
    """One crowd, and what estimators find in its clean answers."""

    crowd: str  # its name
    title: str  # what was asked
    is_made_up: bool  # nobody real stands behind it
    tasks: int  # how many
    workers: int  # how many
    answers: int  # how many
    gold: int  # tasks with a known truth and an answer
    labels: int  # of each answer set
    most_answers: int  # of one worker
    median_answers: float  # of a worker
    largest_class: float  # the share of the most frequent truth: what always answering it scores
    majority: float  # accuracy of majority voting on the gold tasks
    truth_discovery: float  # the paper's
    auto: float  # our own choice's


class PublishedCell(msgspec.Struct, frozen=True, kw_only=True):
    """One cell of a published table, beside ours."""

    crowd: str  # the data set, or its stand-in
    method: str  # what the paper calls it
    estimator: str  # "majority" or "truth_discovery"
    mechanism: str  # "one_layer" or "two_layer"
    epsilon: float  # ε, as claimed for one answer
    flip_probability: float  # p^f, or the mean of what workers draw
    change: Measurement  # the error rate of perturbed answers less that of clean ones, the mean over trials
    error_rate: Measurement  # of perturbed answers
    lead: Measurement | None  # over the majority's accuracy on the same reports, trial by trial; None for itself
    # the change, with the standard error that 100 trials of our own spread have; None on own data
    published: Measurement | None
    difference: float | None  # our change less the published, in joint standard errors; likewise
    epsilon_answer: float  # what is proven for one answer of the worker with most answers, the others known
    epsilon_worker: float  # what is proven for all answers of that worker


class WeightRow(msgspec.Struct, frozen=True, kw_only=True):
    """One worker's weight before and after the perturbation, in one trial (Figure 2)."""

    crowd: str  # the data set
    worker: int  # its place
    name: str  # its own
    num_answers: int  # how many it gave
    epsilon: float  # ε, as claimed
    flip_probability: float  # what it drew
    clean: float  # its weight from the answers
    reported: float  # its weight from the reports
    error: float | None  # the share of its answers that are wrong, of tasks with a known truth; None where it has none
    # Im(u) = 1/G(p_u), by the bound (7) as printed (reading T8); None beside no error rate, or one of 0 or 1: infinite
    importance: float | None
    is_drawn: bool  # whether the picture shows it


class FallRow(msgspec.Struct, frozen=True, kw_only=True):
    """How far workers' weights fall as the flip probability does that they drew (Figure 2)."""

    crowd: str  # the data set
    epsilon: float  # ε, as claimed
    # of flip probabilities and falls, over workers, in each trial; 0 where all are the same
    correlation: Measurement


class ComparisonRow(msgspec.Struct, frozen=True, kw_only=True):
    """One estimator on one mechanism at one price."""

    crowd: str  # its name
    # what has the price: "claimed" (the paper's ε), "all answers" or "one answer" (proven, of the worker with most
    # answers)
    unit: str
    price: float  # in nats: ε for one answer; for all answers their loss over their number
    mechanism: str  # "one_layer" or "two_layer"
    flip_probability: float  # p^f, or the mean of what workers draw
    epsilon_answer: float  # what is proven for one answer of the worker with most answers, the others known
    epsilon_worker: float  # what is proven for all answers of that worker
    informativeness: float  # what one report tells (see `psephos.protocol.truth_discovery.informativeness`)
    estimator: str  # its name
    accuracy: Measurement  # on the gold tasks
    lead: Measurement | None  # over the paper's truth discovery on the same reports, trial by trial; None for itself


class ChoiceRow(msgspec.Struct, frozen=True, kw_only=True):
    """Who wins at one price, and what "auto" does."""

    crowd: str  # its name
    unit: str  # see `ComparisonRow`
    price: float  # see `ComparisonRow`
    # truth discovery's accuracy with two layers less that with one, of as many trials as a published cell; None where
    # two layers do not reach the price
    two_layer_gain: Measurement | None
    best_mechanism: str  # of the pair that is the most accurate
    best_estimator: str  # of the same
    best: Measurement  # its accuracy
    paper_mechanism: str  # the better one for truth discovery at a proven price; at a claimed one two layers
    paper: Measurement  # truth discovery's accuracy with it
    auto_mechanism: str  # what "auto" takes; at a claimed price the paper's
    auto: Measurement  # the accuracy of the estimator "auto" with it
    auto_lead: Measurement  # over the paper's, trial by trial


class Reproduction(PaperReproduction, frozen=True, kw_only=True):
    """All numbers of one reproduction, and what follows from them; `trials` are of each published cell."""

    kept: ClassVar = ("trials", "comparison_trials", "seed", "versions", "missing", "paper_findings", "own_findings")
    file_names: ClassVar = {"densities": "figure-1", "weights": "figure-2"}

    crowds: tuple[CrowdRow, ...]  # what each crowd is, and what estimators find in its clean answers
    # each published cell beside ours, with absolute errors and proven losses: peer grading, the stand-in
    table_2: tuple[PublishedCell, ...]
    table_3: tuple[PublishedCell, ...]  # the same of Duchenne smiles
    densities: tuple[Mapping[str, Any], ...]  # Figure 1: the density of Δ
    weights: tuple[WeightRow, ...]  # Figure 2: before and after the perturbation
    falls: tuple[FallRow, ...]  # the same in all trials
    # every estimator on both mechanisms, at equal claimed ε and at equal proven loss (T4)
    comparisons: tuple[ComparisonRow, ...]
    choices: tuple[ChoiceRow, ...]  # who wins at each price, and what "auto" does
    hypers: tuple[Mapping[str, Any], ...]  # hyper-distributions of one mean (reading T9)
    bounds: tuple[Mapping[str, Any], ...]  # the error bound (7), a right one, and the error (reading T8)

    @property
    def comparison_trials(self) -> int:
        """Of each cell of the comparisons."""
        return comparison_trials(self.trials)


def comparison_trials(trials: int) -> int:
    """Return how many the comparisons have: fewer, since they are paired, and have many more cells."""
    return max(trials // _PART_COMPARED, PAPER.least_trials)
