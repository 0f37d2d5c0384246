"""What truth discovery states: supports for all answers, and what confidences are worth on published crowds.

Limits of a support hold whatever the answers are. A confidence is no such promise: nothing says how a new crowd errs.
So published crowds are perturbed again and again, what each estimator says is held against what is known to be true,
and what is said of a crowd is held against crowds of other *families*: of another source and another kind of task.
Made-up crowds, whose workers err independently, take no part.
"""

import dataclasses
import functools
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from calibration.engine import LADDER, Axes, Calibration, Case, Held, Statement, Wanted
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.estimators.truth_inference import (
    AnswerBlock,
    LevelCounts,
    SupportLimits,
    estimate_support_by_level,
    support_limits_by_level,
)
from psephos.protocol.mechanisms import Beta, Discrete, NoiseShare, TruncatedNormal
from psephos.protocol.mechanisms.polya import share_masses
from psephos.protocol.randomness import SimulatedNoise
from psephos.protocol.truth_discovery import CREDITS, Parameters, Perturbation, find_truths, make_noise
from psephos.protocol.truth_discovery.counts import counted_limits
from psephos.scenarios.datasets import DATA_VARIABLE
from psephos.scenarios.experiments.sheets import flat, list_rows_of
from psephos.scenarios.tables import Table
from psephos.scenarios.truth_discovery.crowd_reports import Layout, draw_labels, draw_renumbering
from psephos.scenarios.truth_discovery.data.published import CROWDS, load_crowd
from psephos.scenarios.truth_discovery.data.synthetic import SyntheticCrowd, make_crowd


def skewed_crowd(classes: int, share: float) -> SyntheticCrowd:
    """Return a crowd on which estimators are judged: 3,000 answers, one label with this share, the others alike."""
    return SyntheticCrowd(
        tasks=500,
        workers=50,
        answers_per_task=6,
        classes=classes,
        quality=(0.65, 0.12),
        class_shares=(share, *((1 - share) / (classes - 1) for _ in range(classes - 1))),
    )


FAMILIES: Final[Mapping[str, Sequence[str]]] = {
    "birds": ("bluebird", "ducks"),
    "smiles": ("duchenne",),
    "grades": ("peer_grading",),
    "entailment": ("rte",),
    "dogs": ("dog",),
    "relevance of pages": ("web_search", "relevance"),
    "same or not": ("d_product", "zencrowd_in"),
    "sentiment": ("d_sentiment", "sentiment_polarity", "sentiment_polarity_amt", "weather_sentiment_amt"),
    "adult content": ("adult",),
    "music": ("music_genre",),
}
"""Published crowds of one source, or one kind of task."""
_EPSILONS: Final = (0.5, 1.0, 2.0, 4.0, 6.0)
_MECHANISMS: Final = ("one_layer", "two_layer")
_TRIALS_A_SESSION: Final = 100  # a session of a crowd has thousands of labels: so many trials are one
_NUM_BINS: Final = 10
_AUTO: Final = "cautious"  # what `auto` takes
_RIVALS: Final = ("majority", "truth_discovery", "one_coin")
_CALIBRATED: Final = tuple(name for name, credit in CREDITS.items() if credit.average < 1)
_MADE_UP: Final = {
    f"made up, {classes} labels, {share:.0%} of one": skewed_crowd(classes, share)
    for classes in (2, 4)
    for share in (0.5, 0.8, 0.95)
}
_LEAST_EPSILON: Final = 0.01  # of a trusted server or masked sums, which have no ε of 0
_LEAVING: Final = 10  # of so many workers one may leave a masked survey, and one be with its server
_HYPERS: Final[Mapping[str, Any]] = {
    "beta": Beta(alpha=2.0, beta=5.0, low=0.0, high=0.5),
    "normal": TruncatedNormal(location=0.1, scale=0.1, low=0.0, high=0.4),
    "two points": Discrete(probabilities=(0.02, 0.4), shares=(0.7, 0.3)),
}
_TASKS: Final[Axes] = {
    "mechanism": ("one_layer", "two_layer", "fresh_two_layer", "central", "masked", *_HYPERS),
    "labels": (2, 3, 4, 5, 10, 30),
    "answers": LADDER,
    "epsilon": (0.0, 0.1, 0.3, 0.5, 1.0, 2.0, 4.0, 8.0),
    "level": (0.2, 0.05, 0.01, 0.001),
    "given": ("all one label", "all but one", "two alike", "all alike"),
}


_OWN: Final = "an ε of one's own"
_OF_LEVELS: Final[Axes] = {**_TASKS, "mechanism": (_OWN,), "epsilon": (0.1, 0.3, 0.5, 1.0, 2.0, 4.0, 8.0)}


def _parameters_of(case: Case) -> Parameters | None:
    labels = tuple(f"l{place}" for place in range(case["labels"]))
    given: dict[str, Any] = {"mechanism": case["mechanism"], "epsilon": case["epsilon"]}
    if case["mechanism"] in _HYPERS:
        given = {"mechanism": "two_layer", "hyper": _HYPERS[case["mechanism"]]}
    if case["mechanism"] in {"central", "masked"}:
        given = {"mechanism": case["mechanism"], "epsilon": max(case["epsilon"], _LEAST_EPSILON)}
    if case["mechanism"] == _OWN:
        given = {"epsilons": tuple(times * case["epsilon"] for times in (0.1, 1, 3))}
    if case["mechanism"] == "masked":
        leaving = case["answers"] // _LEAVING
        given |= {"threshold": max(case["answers"] - leaving, 1), "colluders": leaving}
    try:
        return Parameters(tasks=("t",), answer_sets=(labels,), max_answers=1, **given)
    except ConfigurationError:
        return None


def _held_by(case: Case) -> list[IntArray]:
    """Return the places of who has each ε: all the one, or one in twenty the least, a fifth the next."""
    places = np.arange(int(case["answers"]), dtype=np.int64)
    if case["mechanism"] != _OWN:
        return [places]
    level = np.where(places % 20 == 0, 0, np.where(places % 5 == 1, 1, 2))
    return [np.flatnonzero(level == own) for own in range(3)]


def _parts(case: Case, parameters: Parameters, counts: Sequence[int]) -> list[LevelCounts]:
    """Return a label's reports at each level, of how many, by which flip probability."""
    return list(map(LevelCounts, counts, map(len, _held_by(case)), _flips_of(parameters)))


@functools.lru_cache(maxsize=1)
def _flips_of(parameters: Parameters) -> list[float]:
    return [make_noise(each).flip_probabilities[0] for each in parameters.level_parameters]


def _reported(
    case: Case, parameters: Parameters, tasks: int, generator: np.random.Generator
) -> tuple[IntArray, IntArray, Perturbation]:
    """Return how many answers each label truly has, how many reports of each level in each task, and the noise."""
    size, number = case["labels"], case["answers"]
    given: dict[str, list[int]] = {
        "all one label": [0] * number,
        "all but one": [min(place, 1) for place in range(number)],
        "two alike": [place % 2 for place in range(number)],
        "all alike": [place % size for place in range(number)],
    }
    answers = np.array(given[case["given"]], dtype=np.int64)
    noise = make_noise(parameters)
    true = np.bincount(answers, minlength=size)
    if isinstance(share := noise.on_counts, NoiseShare):  # of two labels, the sums of both and their difference
        side = share_masses(scale=share.scale, planned=share.planned, num_shares=number)
        law: FloatArray = np.cumsum(np.concatenate([side[:0:-1], side]))
        added: IntArray = np.searchsorted(law, generator.random((tasks, size)), side="right") - (len(side) - 1)
        both = np.array([[-1, 1], [1, 1]])
        return true, (2 * true + added @ both if size == 2 else true + added)[:, :, None], noise
    if (laplace := noise.on_counts) is not None:  # of two labels, one has the other's
        first = 1 if size == 2 else 0
        drawn = laplace.randomize_rows(np.tile(true[first:], (tasks, 1)), generator.random((tasks, size - first)))
        return true, (drawn if not first else np.hstack([number - drawn, drawn]))[:, :, None], noise
    tables: list[IntArray] = []
    for each, held in zip(parameters.level_parameters, _held_by(case), strict=True):
        mechanism = make_noise(each).mechanism
        rows = np.tile(answers[held], tasks)[:, None]
        labels = mechanism.randomize_rows(rows, generator.random((len(rows), mechanism.slots_of(1))))[:, 0]
        places = np.repeat(np.arange(tasks), len(held)) * size + labels
        tables.append(np.bincount(places, minlength=tasks * size).reshape(tasks, size))
    return true, np.stack(tables, axis=2), noise


def _hold_limits(case: Case, sessions: int, generator: np.random.Generator) -> Held | None:
    """Hold the limits of all labels of a task at once, and so those of whichever label is found."""
    parameters = _parameters_of(case)
    if parameters is None:
        return None
    true, counts, noise = _reported(case, parameters, sessions, generator)
    added, given = noise.count_noise(case["answers"]), {"num_labels": len(true), "level": case["level"]}

    def limits_of(counts: Sequence[int]) -> SupportLimits:
        if added is not None:
            return counted_limits(counts[0], case["answers"], added, **given)
        return support_limits_by_level(_parts(case, parameters, counts), **given)

    told, places = np.unique(counts.reshape(-1, counts.shape[2]), axis=0, return_inverse=True)
    limits = [limits_of(each) for each in told.tolist()]
    lows, highs = (np.array(ends)[places].reshape(counts.shape[:2]) for ends in zip(*limits, strict=True))
    wrong = np.any((true < lows) | (true > highs), axis=1)
    return Held(np.full(sessions, case["level"]), wrong.astype(np.float64))


def _hold_errors(case: Case, sessions: int, generator: np.random.Generator) -> Held | None:
    parameters = _parameters_of(case)
    if parameters is None:
        return None
    true, counts, noise = _reported(case, parameters, sessions, generator)
    if (added := noise.count_noise(case["answers"])) is not None:
        off: FloatArray = counts[:, 0, 0] / added.parts_of(len(true)) - true[0]
        return Held(np.full(sessions, added.error_of(len(true)) ** 2), off * off)
    told, places = np.unique(counts[:, 0], axis=0, return_inverse=True)
    found = [estimate_support_by_level(_parts(case, parameters, own), num_labels=len(true)) for own in told.tolist()]
    known = [each for each in found if each is not None]
    if len(known) < len(found):
        return None
    values = np.array([each.value for each in known])[places.reshape(-1)]
    errors = np.array([each.standard_error for each in known])[places.reshape(-1)]
    return Held(np.square(errors), np.square(values - true[0]))


def _statements() -> Sequence[Statement]:
    return [
        Statement(
            name="limits of supports",
            about=(
                "the limits of any label miss how many workers gave it with no more probability than the level, so "
                "that those of the label that is found do, too; also of flip probabilities by a law of one's own, and "
                "of noisy counts."
            ),
            axes=_TASKS,
            hold=_hold_limits,
            times=10,
        ),
        Statement(
            name="standard error of a support",
            about="of a label that is named beforehand the mean squared error is no more than is stated.",
            axes={axis: values for axis, values in _TASKS.items() if axis != "level"},
            hold=_hold_errors,
            kind="error",
            times=10,
        ),
        Statement(
            name="limits of supports, own ε",
            about="the same where one worker in twenty has a tenth of ε, a fifth of them ε, and others three times ε.",
            axes=_OF_LEVELS,
            hold=_hold_limits,
            times=10,
        ),
        Statement(
            name="standard error of a support, own ε",
            about="the same of these workers.",
            axes={axis: values for axis, values in _OF_LEVELS.items() if axis != "level"},
            hold=_hold_errors,
            kind="error",
            times=10,
        ),
    ]


@dataclasses.dataclass(frozen=True, eq=False)
class Confidences:
    """What an estimator says of the tasks of one crowd whose truth is known, of all sessions together."""

    model: FloatArray  # its own confidences
    chance: FloatArray  # 1/s of each
    is_right: FloatArray  # whether the label is right, 1 or 0

    def at(self, credit: float) -> FloatArray:
        """Return the confidences of which so much is kept beyond chance."""
        return self.chance + credit * (self.model - self.chance)

    def error_at(self, credit: float) -> float:
        """Return the error of calibration: the mean difference, over tenths of confidence, of mean and share."""
        stated = self.at(credit)
        bins = np.clip((stated * _NUM_BINS).astype(np.int64), 0, _NUM_BINS - 1)
        return float(np.abs(np.bincount(bins, stated - self.is_right)).sum()) / len(stated)


def credit_of(crowds: Sequence[Confidences]) -> float:
    """Return what of confidences beyond chance to keep: least squares of right or wrong, crowds of one weight each."""
    products, squares = 0.0, 0.0
    for each in crowds:
        beyond = each.model - each.chance
        products += float((beyond * (each.is_right - each.chance)).mean())
        squares += float(np.square(beyond).mean())
    return products / squares


def sessions_of(
    layout: Layout, name: str, mechanism: str, epsilon: float, estimators: Sequence[str], wanted: Wanted
) -> dict[str, Confidences]:
    """Return what estimators say of a crowd's reports at a price, all of the same reports: a session a hundred trials.

    The noise depends on the crowd's name.
    """
    gold, answers = layout.is_gold, layout.crowd.answers
    sessions = max(1, wanted.trials // _TRIALS_A_SESSION)
    generator = np.random.default_rng([wanted.seed, round(10 * epsilon)])
    parameters = msgspec.structs.replace(layout.parameters, epsilon=epsilon, mechanism=mechanism)
    noise = make_noise(parameters)
    drawn = draw_labels(layout, noise, SimulatedNoise(wanted.seed, session=name), start=0, stop=sessions)
    # Ties go to the first label: by its number, a frequent one would flatter who has many ties.
    numbers = [draw_renumbering(answers.num_classes, answers.sizes, generator) for _ in drawn]
    reports = [own[answers.tasks, labels] for own, labels in zip(numbers, drawn, strict=True)]
    truths = [own[np.arange(answers.num_tasks), np.maximum(layout.crowd.truth, 0)][gold] for own in numbers]
    chance: FloatArray = np.tile(1 / answers.sizes[gold], sessions)
    found: dict[str, Confidences] = {}
    for estimator in estimators:
        of_estimator = msgspec.structs.replace(parameters, estimator=estimator)
        _, inferences = find_truths(AnswerBlock(answers, np.stack(reports)), parameters=of_estimator, noise=noise)
        are_right = (inferences.truths[:, gold] == np.stack(truths)).astype(np.float64)
        found[estimator] = Confidences(inferences.confidences[:, gold].reshape(-1), chance, are_right.reshape(-1))
    return found


class CrowdRow(msgspec.Struct, frozen=True, kw_only=True):
    """What an estimator says of one crowd."""

    crowd: str
    family: str  # its own; all others say what confidences are worth here
    estimator: str
    number: int  # labels with a known truth, in all sessions
    model: float  # the mean of the estimator's own confidences
    credit: float  # what of these beyond chance deserves to be kept on this crowd
    least: float  # the least credit of a crowd of the other families
    most: float  # the greatest
    low: float  # with `high`, the mean confidences at these
    high: float  # see there
    found: float  # the share that is right
    is_covered: bool  # whether that is in between
    error: float  # of calibration, at the mean credit of the other families


def crowd_rows(estimator: str, crowds: Mapping[str, Confidences]) -> Iterator[CrowdRow]:
    """Yield what an estimator says of each crowd, by what the crowds of other families are like."""
    family_of = {name: family for family, names in FAMILIES.items() for name in names}
    for name, own in crowds.items():
        family = family_of.get(name, "made up")
        others = [each for other, each in crowds.items() if family_of.get(other, other) != family]
        if not others:
            continue
        deserved = [credit_of([each]) for each in others]
        low, high = (float(own.at(end(deserved)).mean()) for end in (min, max))
        found = float(own.is_right.mean())
        yield CrowdRow(
            crowd=name,
            family=family,
            estimator=estimator,
            number=len(own.model),
            model=float(own.model.mean()),
            credit=credit_of([own]),
            least=min(deserved),
            most=max(deserved),
            low=low,
            high=high,
            found=found,
            is_covered=low <= found <= high,
            error=own.error_at(credit_of(others)),
        )


def _layouts() -> dict[str, Layout]:
    """Return the published crowds that are there."""
    folder = os.environ.get(DATA_VARIABLE, "")
    there = [name for name in CROWDS if folder and (Path(folder) / name).is_dir()]
    return {name: Layout.of(load_crowd(name, Path(folder))) for name in there}


def _tables(wanted: Wanted) -> Iterator[Table]:
    published = _layouts()
    crowds = published | {name: Layout.of(make_crowd(spec)) for name, spec in _MADE_UP.items()}
    held: dict[str, dict[str, list[Confidences]]] = {estimator: {} for estimator in (*_RIVALS, *_CALIBRATED)}
    accuracies: list[dict[str, Any]] = []
    for (name, layout), mechanism, epsilon in itertools.product(crowds.items(), _MECHANISMS, _EPSILONS):
        estimators = held if name in published else (*_RIVALS, _AUTO)
        of_cell = sessions_of(layout, name, mechanism, epsilon, tuple(estimators), wanted)
        accuracies.append(_accuracies(name, mechanism, epsilon, of_cell))
        for estimator, each in of_cell.items() if name in published else ():
            held[estimator].setdefault(name, []).append(each)
    pooled = {estimator: {name: _joined(each) for name, each in held[estimator].items()} for estimator in _CALIBRATED}
    rows = [row for estimator, of_crowds in pooled.items() for row in crowd_rows(estimator, of_crowds)]
    if rows:
        yield _table_of_confidences(rows)
    yield _table_of_accuracies(accuracies)


def _joined(cells: Sequence[Confidences]) -> Confidences:
    fields = ([getattr(each, field) for each in cells] for field in ("model", "chance", "is_right"))
    return Confidences(*map(np.concatenate, fields))


def _accuracies(name: str, mechanism: str, epsilon: float, cell: Mapping[str, Confidences]) -> dict[str, Any]:
    """Return how many truths `auto` finds in one cell, beside its rivals."""
    right = {estimator: float(each.is_right.mean()) for estimator, each in cell.items()}
    rivals = {rival: right[rival] for rival in _RIVALS}
    return {
        "crowd": name,
        "mechanism": mechanism,
        "epsilon": epsilon,  # the price
        "number": len(cell[_AUTO].model),  # labels with a known truth, in all sessions
        "auto": right[_AUTO],  # the share that is right
        **rivals,
        "behind": 100 * (max(rivals.values()) - right[_AUTO]),  # in points, the best of these
    }


def _table_of_confidences(rows: Sequence[CrowdRow]) -> Table:
    own = [row for row in rows if row.estimator == _AUTO]
    return list_rows_of(
        own,
        "crowd: {crowd} | family: {family} | model: {model:.3f} | credit: {credit:.2f}"
        " | said of others: {least:.2f}–{most:.2f} | range: {low:.3f}–{high:.3f} | right: {found:.3f}"
        " | covered: {is_covered} | error: {error:.3f}",
        words={"is_covered": {True: "yes", False: "no"}},
        caption="Confidences of `auto`, each crowd by crowds of other families",
        note=f"ε = {', '.join(f'{e:g}' for e in _EPSILONS)}, one layer and two. credit: what of an estimator's "
        "confidence beyond chance was worth keeping on the crowd; said of others: from the least to the greatest "
        "credit of crowds of other families; range: the mean confidences at these; error: "
        "of calibration at the other families' mean credit. The range covers what is right on "
        f"{sum(row.is_covered for row in own)} of {len(own)} crowds; of all estimators, which are in the file, in "
        f"{sum(row.is_covered for row in rows)} of {len(rows)} rows.",
        labels=2,
        name="confidences",
        full=flat(rows),
    )


def _table_of_accuracies(rows: Sequence[dict[str, Any]]) -> Table:
    worst = sorted(rows, key=lambda row: -row["behind"])
    num_behind = sum(row["behind"] > _HALF_A_POINT for row in rows)
    return list_rows_of(
        worst[:_MOST_SHOWN],
        "crowd: {crowd} | mechanism: {mechanism} | ε: {epsilon:g} | auto: {auto:.1%} | majority: {majority:.1%}"
        " | truth discovery: {truth_discovery:.1%} | one-coin: {one_coin:.1%} | behind: {behind:+.1f}",
        caption="`auto` where it is farthest behind",
        note=f"Accuracy in percent, and by how many points `auto` is behind the best of the three: more than half a "
        f"point in {num_behind} of {len(rows)} cells, which are all in the file.",
        labels=2,
        name="auto",
        full=worst,
    )


_MOST_SHOWN: Final = 12
_HALF_A_POINT: Final = 0.5

CALIBRATION: Final = Calibration(
    title="Truth discovery",
    about=(
        "Limits of supports need no prior. A confidence is what its estimator says, drawn towards chance by a "
        "*credit*: crowds deserve different ones, whatever the noise is, and nothing in the answers tells which. So a "
        "range is said, from the worst published crowd to the best, and the tables hold it against each crowd by those "
        f"of other families. Published crowds are read from the folder that {DATA_VARIABLE} names, where it has them; "
        f"each {_TRIALS_A_SESSION} trials are one session of each."
    ),
    statements=_statements,
    tables=_tables,
)
