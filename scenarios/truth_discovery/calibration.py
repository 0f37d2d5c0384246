"""How well truth discovery's claims hold: confidences on published crowds, and supports of the labels that were found.

A confidence is right on average over published crowds, or it is not right at all: nothing says how a new crowd errs. So
the published ones are perturbed again and again, what each estimator says is held against what is known to be true, and
the credit that an estimator deserves is fitted anew, with each crowd left out in turn. Made-up crowds, whose workers
err independently, take no part in the fit. Supports are held against the answers before the perturbation.
"""

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from ...protocol.arrays import FloatArray
from ...protocol.estimators.truth_inference import KnownNoise, debiased_majority, support_limits
from ...protocol.randomness import SimulatedNoise
from ...protocol.truth_discovery import CREDITS, find_truths, make_noise
from ..datasets import DATA_VARIABLE
from ..experiments.calibration import Calibration, Drawn
from ..experiments.sheets import flat
from ..tables import Table, listed
from .crowd_reports import Layout, draw_labels, renumbering
from .data.published import CROWDS, load_crowd
from .data.synthetic import make_crowd, skewed_crowd

__all__ = [
    "CALIBRATION",
    "Confidences",
    "CreditRow",
    "CrowdRow",
    "SupportRow",
    "credit_row",
    "fit_credit",
    "sessions_of",
]

_EPSILONS: Final = (0.5, 1.0, 2.0, 4.0)
_MECHANISMS: Final = ("one_layer", "two_layer")
_TRIALS_A_SESSION: Final = 100
"""A session of a crowd has thousands of labels: so many trials are one."""
_SUPPORTED_AT: Final = 1.0
_NUM_BINS: Final = 10
_LEVEL: Final = 0.05
_AUTO: Final = "cautious"
"""What `auto` takes."""
_CALIBRATED: Final = tuple(name for name in CREDITS if not name.endswith("crh"))
"""Shares of weights claim no probability."""
_MADE_UP: Final = {
    f"made up, {classes} labels, {share:.0%} of one": skewed_crowd(classes, share)
    for classes in (2, 4)
    for share in (0.5, 0.8, 0.95)
}


@dataclasses.dataclass(frozen=True, eq=False)
class Confidences:
    """What an estimator says of the tasks of one crowd whose truth is known, of all sessions together.

    Args:
        model: its own confidences.
        chance: 1/s of each.
        is_right: whether the label is right, 1 or 0.
    """

    model: FloatArray
    chance: FloatArray
    is_right: FloatArray

    def at(self, credit: float) -> FloatArray:
        """Return the confidences of which so much is kept beyond chance."""
        return self.chance + credit * (self.model - self.chance)


class CreditRow(msgspec.Struct, frozen=True, kw_only=True):
    """What an estimator's confidences are worth; crowds have one weight each.

    Args:
        estimator: which.
        mechanism: by which answers were perturbed.
        credit: that outcomes use.
        fitted: to these sessions.
        least_left_out: the least of the fits without one crowd.
        most_left_out: the greatest of them.
        model: the mean of the estimator's own confidences.
        claimed: the mean of those in outcomes.
        found: the share that is right.
        error_of_model: the error of calibration: the mean difference, over tenths of confidence, of mean and share.
        error: the same, of the confidences in outcomes.
        error_left_out: the same, each crowd with the credit that the others fit.
    """

    estimator: str
    mechanism: str
    credit: float
    fitted: float
    least_left_out: float
    most_left_out: float
    model: float
    claimed: float
    found: float
    error_of_model: float
    error: float
    error_left_out: float


class CrowdRow(msgspec.Struct, frozen=True, kw_only=True):
    """What `auto` says of one crowd.

    Args:
        crowd: which.
        mechanism: by which answers were perturbed.
        number: labels with a known truth, in all sessions.
        model: the mean of the estimator's own confidences.
        claimed: the mean of those in outcomes.
        found: the share that is right.
        paper: the share that the paper's truth discovery has right.
        majority: the share that a majority has right.
    """

    crowd: str
    mechanism: str
    number: int
    model: float
    claimed: float
    found: float
    paper: float
    majority: float


class SupportRow(msgspec.Struct, frozen=True, kw_only=True):
    """Supports of one crowd, held against the answers before the perturbation.

    Args:
        crowd: which.
        mechanism: by which answers were perturbed.
        answers: of a task, on average.
        lifted: by how much the estimate is above the truth, on average over the labels that were found.
        bias: the same of the label that most workers gave, which is not chosen by the reports.
        missed: the share of the found labels whose true support is outside its limits.
    """

    crowd: str
    mechanism: str
    answers: float
    lifted: float
    bias: float
    missed: float


def fit_credit(crowds: Sequence[Confidences]) -> float:
    """Return what of confidences beyond chance to keep: least squares of right or wrong, crowds of one weight each."""
    products, squares = 0.0, 0.0
    for each in crowds:
        beyond = each.model - each.chance
        products += float((beyond * (each.is_right - each.chance)).mean())
        squares += float(np.square(beyond).mean())
    return products / squares


def _error_of(confidences: Sequence[FloatArray], crowds: Sequence[Confidences]) -> float:
    """Return the error of calibration of confidences, crowd by crowd, each crowd of one weight."""
    gaps = np.zeros(_NUM_BINS)
    for each, crowd in zip(confidences, crowds, strict=True):
        bins = np.clip((each * _NUM_BINS).astype(np.int64), 0, _NUM_BINS - 1)
        gaps += np.bincount(bins, each - crowd.is_right, minlength=_NUM_BINS) / len(each)
    return float(np.abs(gaps).sum()) / len(crowds)


def _layouts() -> dict[str, Layout]:
    """Return the published crowds that are there."""
    folder = os.environ.get(DATA_VARIABLE, "")
    there = [name for name in CROWDS if folder and (Path(folder) / name).is_dir()]
    return {name: Layout.of(load_crowd(name, Path(folder))) for name in there}


def sessions_of(
    layout: Layout, name: str, mechanism: str, estimators: Sequence[str], asked: Drawn
) -> dict[str, Confidences]:
    """Return what estimators say of a crowd's reports at all prices, all of the same reports.

    Args:
        layout: the crowd.
        name: its own, on which its noise depends.
        mechanism: the perturbation.
        estimators: by name.
        asked: how many trials: a session for each hundred, at each price.
    """
    gold, answers = layout.is_gold, layout.crowd.answers
    found: dict[str, list[FloatArray]] = {estimator: [] for estimator in estimators}
    right: dict[str, list[FloatArray]] = {estimator: [] for estimator in estimators}
    sessions = max(1, asked.trials // _TRIALS_A_SESSION)
    generator = np.random.default_rng(asked.seed)
    for epsilon in _EPSILONS:
        parameters = msgspec.structs.replace(layout.parameters, epsilon=epsilon, mechanism=mechanism)
        noise = make_noise(parameters)
        for labels in draw_labels(layout, noise, SimulatedNoise(asked.seed, session=name), start=0, stop=sessions):
            # Ties go to the first label: by its number, a frequent one would flatter who has many ties.
            numbers = renumbering(answers.num_classes, answers.sizes, generator)
            reports = dataclasses.replace(answers, labels=numbers[answers.tasks, labels])
            truth = numbers[np.arange(answers.num_tasks), np.maximum(layout.crowd.truth, 0)]
            for estimator in estimators:
                _, inference = find_truths(
                    reports, parameters=msgspec.structs.replace(parameters, estimator=estimator), noise=noise
                )
                found[estimator].append(inference.confidences[gold])
                is_right = inference.truths[gold] == truth[gold]
                right[estimator].append(is_right.astype(np.float64))
    chance: FloatArray = np.tile(1 / answers.sizes[gold], len(_EPSILONS) * sessions)
    return {
        estimator: Confidences(np.concatenate(found[estimator]), chance, np.concatenate(right[estimator]))
        for estimator in estimators
    }


def credit_row(estimator: str, mechanism: str, crowds: Sequence[Confidences]) -> CreditRow:
    """Return what an estimator's confidences are worth on some crowds.

    Args:
        estimator: which one's, by name.
        mechanism: the perturbation.
        crowds: its confidences on each, at least two.
    """
    credit = CREDITS[estimator]
    left_out = [fit_credit([*crowds[:place], *crowds[place + 1 :]]) for place in range(len(crowds))]
    model, claimed, found = (
        float(np.mean([numbers.mean() for numbers in of_crowds]))
        for of_crowds in zip(*((each.model, each.at(credit), each.is_right) for each in crowds), strict=True)
    )
    return CreditRow(
        estimator=estimator,
        mechanism=mechanism,
        credit=credit,
        fitted=fit_credit(crowds),
        least_left_out=min(left_out),
        most_left_out=max(left_out),
        model=model,
        claimed=claimed,
        found=found,
        error_of_model=_error_of([each.model for each in crowds], crowds),
        error=_error_of([each.at(credit) for each in crowds], crowds),
        error_left_out=_error_of([each.at(own) for each, own in zip(crowds, left_out, strict=True)], crowds),
    )


def _support_row(name: str, layout: Layout, mechanism: str, asked: Drawn) -> SupportRow:
    """Return how far supports are from the answers."""
    answers = layout.crowd.answers
    width = answers.num_classes
    clean = np.bincount(answers.tasks * width + answers.labels, minlength=answers.num_tasks * width)
    clean = clean.reshape(-1, width)
    totals = clean.sum(axis=1)
    parameters = msgspec.structs.replace(layout.parameters, epsilon=_SUPPORTED_AT, mechanism=mechanism)
    noise = make_noise(parameters)
    flips = dict(zip(noise.sizes, noise.flip_probabilities, strict=True))
    lifted: list[FloatArray] = []
    biases: list[float] = []
    missed: list[bool] = []
    sessions = max(1, asked.trials // _TRIALS_A_SESSION)
    for labels in draw_labels(layout, noise, SimulatedNoise(asked.seed, session=name), start=0, stop=sessions):
        reports = dataclasses.replace(answers, labels=labels)
        _, inference = find_truths(reports, parameters=parameters, noise=noise)
        above = debiased_majority(reports, KnownNoise.fixed(flips)).counts - clean
        tasks = np.flatnonzero(inference.truths >= 0)
        biases.append(float(above[tasks, clean[tasks].argmax(axis=1)].mean()))
        found = inference.truths[tasks]
        lifted.append(above[tasks, found])
        counts = np.bincount(answers.tasks * width + labels, minlength=clean.size).reshape(-1, width)
        for task, label in zip(tasks.tolist(), found.tolist(), strict=True):
            size = int(answers.sizes[task])
            low, high = support_limits(
                int(counts[task, label]),
                int(totals[task]),
                flip_probability=flips[size],
                num_labels=size,
                level=_LEVEL,
            )
            missed.append(not low <= clean[task, label] <= high)
    return SupportRow(
        crowd=name,
        mechanism=mechanism,
        answers=float(totals[totals > 0].mean()),
        lifted=float(np.concatenate(lifted).mean()),
        bias=float(np.mean(biases)),
        missed=float(np.mean(missed)),
    )


def _tables(asked: Drawn) -> Iterator[Table]:
    published = _layouts()
    made_up = {name: Layout.of(make_crowd(spec)) for name, spec in _MADE_UP.items()}
    held: dict[tuple[str, str], Mapping[str, Confidences]] = {}
    for name, layout in {**published, **made_up}.items():
        asked.tell(f"truth-discovery: {name}")
        estimators = _CALIBRATED if name in published else ("majority", "truth_discovery", _AUTO)
        for mechanism in _MECHANISMS:
            of_crowd = sessions_of(layout, name, mechanism, estimators, asked)
            held[name, mechanism] = of_crowd
    if len(published) > 1:
        yield _credits(list(published), held)
    yield _crowds([*published, *made_up], held)
    asked.tell("truth-discovery: supports")
    yield _supports(
        [
            _support_row(name, layout, mechanism, asked)
            for mechanism in _MECHANISMS
            for name, layout in {**published, **made_up}.items()
        ]
    )


def _credits(published: Sequence[str], held: Mapping[tuple[str, str], Mapping[str, Confidences]]) -> Table:
    rows = [
        credit_row(estimator, mechanism, [held[name, mechanism][estimator] for name in published])
        for estimator in _CALIBRATED
        for mechanism in _MECHANISMS
    ]
    return listed(
        rows,
        [
            ("estimator", lambda row: row.estimator),
            ("mechanism", lambda row: row.mechanism),
            ("credit", lambda row: f"{row.credit:.2f}"),
            ("fitted", lambda row: f"{row.fitted:.2f}"),
            ("one left out", lambda row: f"{row.least_left_out:.2f}–{row.most_left_out:.2f}"),
            ("model", lambda row: f"{row.model:.3f}"),
            ("claimed", lambda row: f"{row.claimed:.3f}"),
            ("right", lambda row: f"{row.found:.3f}"),
            ("error, model", lambda row: f"{row.error_of_model:.3f}"),
            ("error", lambda row: f"{row.error:.3f}"),
            ("error, left out", lambda row: f"{row.error_left_out:.3f}"),
        ],
        caption="Confidences over published crowds",
        note=f"{len(published)} crowds of one weight each, ε = {', '.join(f'{e:g}' for e in _EPSILONS)}. credit: what "
        "is kept of an estimator's confidence beyond chance; fitted: to these sessions, and without one crowd, the "
        "least and the greatest; model: its own confidence, claimed: the outcome's; error: of calibration, over tenths "
        "of confidence; left out: each crowd with the credit that the others fit.",
        labels=2,
        name="confidences",
        full=flat(rows),
    )


def _crowds(names: Sequence[str], held: Mapping[tuple[str, str], Mapping[str, Confidences]]) -> Table:
    rows: list[CrowdRow] = []
    for name in names:
        for mechanism in _MECHANISMS:
            of_crowd = held[name, mechanism]
            each = of_crowd[_AUTO]
            rows.append(
                CrowdRow(
                    crowd=name,
                    mechanism=mechanism,
                    number=len(each.model),
                    model=float(each.model.mean()),
                    claimed=float(each.at(CREDITS[_AUTO]).mean()),
                    found=float(each.is_right.mean()),
                    paper=float(of_crowd["truth_discovery"].is_right.mean()),
                    majority=float(of_crowd["majority"].is_right.mean()),
                )
            )
    return listed(
        rows,
        [
            ("crowd", lambda row: row.crowd),
            ("mechanism", lambda row: row.mechanism),
            ("labels", lambda row: f"{row.number:,}"),
            ("model", lambda row: f"{row.model:.3f}"),
            ("claimed", lambda row: f"{row.claimed:.3f}"),
            ("right", lambda row: f"{row.found:.3f}"),
            ("the paper's", lambda row: f"{row.paper:.3f}"),
            ("majority", lambda row: f"{row.majority:.3f}"),
        ],
        caption="Confidences of `auto`, crowd by crowd",
        note="A crowd may be far from the average: the workers of `ducks` err together, and no confidence sees it. "
        "Made-up crowds took no part in the fit; workers err independently there, and the model is nearer to truth. "
        "The paper's, majority: what these have right in the same reports. Labels are renumbered at random, so that "
        "ties favor none. The majority is the better one in some rows, by far on `ducks`; no rule was found that sees "
        "it beforehand.",
        labels=2,
        name="crowds",
        full=flat(rows),
    )


def _supports(rows: Sequence[SupportRow]) -> Table:
    return listed(
        rows,
        [
            ("crowd", lambda row: row.crowd),
            ("mechanism", lambda row: row.mechanism),
            ("answers a task", lambda row: f"{row.answers:.1f}"),
            ("found label", lambda row: f"{row.lifted:+.2f}"),
            ("label of most", lambda row: f"{row.bias:+.2f}"),
            ("limits missed", lambda row: f"{row.missed:.3f}"),
        ],
        caption=f"Supports at ε = {_SUPPORTED_AT:g}",
        note="found label: by how much the estimate of the label that was found is above the workers who gave it, on "
        "average: what choosing it by the same reports does; label of most: the same of the label that most gave, "
        "which no report chooses, and whose estimate has no bias; "
        f"limits missed: the share of the found labels outside their limits, at most {_LEVEL:g} by design.",
        labels=2,
        name="supports",
        full=flat(rows),
    )


CALIBRATION: Final = Calibration(
    title="Truth discovery",
    about=(
        "A task's `confidence` is what its estimator says, drawn towards chance by the estimator's *credit*, which was "
        "fitted to the published crowds: it is right on average over them, and `model_confidences` beside it are the "
        "estimator's own. A support is estimated without bias for every label; of the label that was found, which was "
        "chosen by the same reports, limits are stated that hold at 95 %. Published crowds are read from the folder "
        f"that {DATA_VARIABLE} names, where it has them; each {_TRIALS_A_SESSION} trials are one session of each."
    ),
    tables=_tables,
    steps=len(CROWDS) + len(_MADE_UP) + 1,
)
"""Truth discovery's part of `psephos calibrate`."""
