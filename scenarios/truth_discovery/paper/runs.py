"""`psephos reproduce truth-discovery`: rows of Tables 1 to 3, Figures 1 to 4, and of further experiments.

`page.toml` defines what is run, the tables, and their presentation; `own.toml` the same for the user's crowd. Without a
folder of data sets, only the synthetic stand-in and computed results are available.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import correlation
from typing import Any, Final

import msgspec
import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.errors import ConfigurationError
from ....protocol.estimators.truth_inference import AnswerBlock, truth_discovery
from ....protocol.randomness import SimulatedNoise
from ....protocol.truth_discovery import (
    Parameters,
    Perturbation,
    TruthDiscovery,
    find_truths,
    informativeness,
    make_noise,
)
from ...experiments.comparing import Row
from ...experiments.declared import experiments_of, grids_of
from ...experiments.judging import difference
from ...experiments.measurements import Sample, deviation, mean_of, run_in_blocks, sample_of, to_published
from ...experiments.paper_files import rows_beside
from ...experiments.reproductions import Asked, PaperPart, find_missing, rename_fields
from ...reading.conversion import convert
from ..crowd_reports import Layout, draw_labels
from ..data.labels import read_labels
from ..data.parties import FIELD, CrowdFile
from ..data.published import load_crowd
from ..data.synthetic import PEER_GRADING_STAND_IN, make_peer_grading
from ..workers import importance, shares_wrong
from .claims import findings_on_truth_discovery
from .theory import ProductOfUniforms

DUCHENNE: Final = "duchenne"
PEER_GRADING: Final = "peer-grading"
"""The stand-in's name."""
OF_PAPER: Final = ("majority", "truth_discovery")
TRIALS_AT_A_TIME: Final = 16
_FIELDS: Final = {"claimed": "epsilon", "all answers": "epsilon_worker", "one answer": "epsilon_answer"}
_RUNS: Final = 100
"""Trials of each cell, by Section 7.1.4: the mean of 100 independent trials."""
_PUBLISHED: Final = rows_beside(__name__, "published.csv")
GRIDS: Final = grids_of(__name__)


def load_layouts(folder: str, names: Sequence[str]) -> tuple[dict[str, Layout], dict[str, str]]:
    """Return the stand-in and the folder's published crowds by name, and the reasons why others are missing.

    `folder` is empty if not given. ConfigurationError: a data set has an unexpected content.
    """
    missing = find_missing(folder, {name: name for name in names})
    layouts = {name: Layout.of(load_crowd(name, Path(folder))) for name in names if name not in missing}
    return {PEER_GRADING: Layout.of(make_peer_grading(PEER_GRADING_STAND_IN)), **layouts}, missing


def crowd_row(name: str, layout: Layout) -> Row:
    """Return a row on a crowd: its sizes, and the estimators' accuracy on clean answers."""
    answers = layout.crowd.answers
    counts = np.bincount(answers.workers, minlength=answers.num_workers)
    truths = layout.crowd.truth[layout.is_gold]
    return {
        "crowd": name,
        "is_synthetic": name == PEER_GRADING,
        "tasks": answers.num_tasks,
        "workers": answers.num_workers,
        "answers": len(answers),
        "gold": len(truths),
        "labels": answers.num_classes,
        "most_answers": int(counts.max()),
        "largest_class": float(np.bincount(truths).max() / len(truths)),
        **{estimator: clean_accuracy(layout, estimator) for estimator in (*OF_PAPER, "auto")},
    }


def table_1(crowds: Mapping[str, Row]) -> Iterator[Row]:
    """Yield Table 1's numbers and those of Psephos, and the accuracy in Section 7.2, whose subject is unspecified."""
    for line in rows_beside(__name__, "crowds.csv"):
        crowd = line.pop("crowd")
        for column, published_value in line.items() if crowd in crowds else ():
            for name in OF_PAPER if column == "accuracy" else (column,):
                own_value, value = crowds[crowd][name], float(published_value)
                yield {
                    "crowd": crowd,
                    "what": name,
                    "ours": own_value,
                    "printed": value,
                    "distance": abs(own_value - value),
                }


def with_estimator(parameters: Parameters, estimator: str) -> Parameters:
    """Return the parameters with an estimator by name.

    The paper's estimator gets ten rounds (reading T2); the paper says "until convergence".
    """
    rounds = 10 if estimator == "truth_discovery" else parameters.max_iterations
    return msgspec.structs.replace(parameters, estimator=estimator, max_iterations=rounds)


def noise_at(layout: Layout, mechanism: str, *, unit: str, price: float) -> Perturbation:
    """Return a mechanism's perturbation, or that of "auto", with a given ε in nats.

    Args:
        layout: a crowd's layout.
        mechanism: the mechanism's name.
        unit: the meaning of `price`: "claimed" (the paper's ε), "all answers" (their proven loss divided by their
            number) or "one answer" (its proven loss), both for the worker with the most answers.
        price: ε of one answer, in nats.

    Raises:
        ConfigurationError: the mechanism does not support this ε.

    Examples:
        >>> from psephos.scenarios.truth_discovery.data import SyntheticCrowd, make_crowd
        >>> layout = Layout.of(make_crowd(SyntheticCrowd(tasks=4, workers=3, answers_per_task=3)))
        >>> noise = noise_at(layout, "one_layer", unit="claimed", price=1.0)
        >>> noise.loss_of((1,)).proven
        1.0
    """
    total = price * layout.parameters.max_answers if unit == "all answers" else price
    return make_noise(msgspec.structs.replace(layout.parameters, mechanism=mechanism, **{_FIELDS[unit]: total}))


def session_of(crowd: str, noise: Perturbation) -> str:
    """Return the name of a cell's session: its crowd and its noise, so that all estimators get the same reports."""
    return f"{crowd}/{noise.name}/{noise.flip_probabilities!r}/{noise.hyper!r}"


class CrowdCells:
    """Runs and caches cells of some crowds, since tables and comparisons share some."""

    def __init__(self, layouts: Mapping[str, Layout], *, seed: int) -> None:
        self.layouts = layouts
        self._seed = seed
        self._known: dict[tuple[str, str], Sample] = {}

    def accuracies(
        self, crowd: str, noise: Perturbation, estimators: Iterable[str] = OF_PAPER, *, trials: int
    ) -> dict[str, Sample]:
        """Return each estimator's accuracy in each trial on tasks with a known truth."""
        layout, cell = self.layouts[crowd], session_of(crowd, noise)
        source = SimulatedNoise(self._seed, session=cell)
        new = [name for name in estimators if (cell, name) not in self._known]

        def run(start: int, stop: int) -> dict[str, FloatArray]:
            labels = draw_labels(layout, noise, source, start=start, stop=stop)
            block, shares = AnswerBlock(layout.crowd.answers, labels), dict[str, FloatArray]()
            for name in new:
                if name not in shares:
                    parameters = with_estimator(layout.parameters, name)
                    truths_chosen, inferences = find_truths(block, parameters=parameters, noise=noise)
                    shares[name] = shares[truths_chosen] = _share_right(layout, inferences.truths)
            return {name: shares[name] for name in new}

        shares: Mapping[str, Any] = run_in_blocks(run, trials=trials, at_a_time=TRIALS_AT_A_TIME) if new else {}
        self._known |= {(cell, name): sample_of(each, is_share=True) for name, each in shares.items()}
        return {name: self._known[cell, name] for name in estimators}


def clean_accuracy(layout: Layout, estimator: str) -> float:
    """Return an estimator's accuracy on clean answers.

    Examples:
        >>> from psephos.scenarios.truth_discovery.data import SyntheticCrowd, make_crowd
        >>> layout = Layout.of(make_crowd(SyntheticCrowd(tasks=20, workers=9, answers_per_task=5)))
        >>> clean_accuracy(layout, "majority")
        0.9
    """
    parameters = with_estimator(layout.parameters, estimator)
    _, inference = find_truths(layout.crowd.answers, parameters=parameters, noise=None)
    return float(_share_right(layout, inference.truths))


def _share_right(layout: Layout, truths: IntArray) -> FloatArray:
    """Return the fraction of right truths, shape (...), from truths of shape (..., tasks)."""
    return (truths[..., layout.is_gold] == layout.crowd.truth[layout.is_gold]).mean(axis=-1)


def parts(request: Asked) -> Iterator[PaperPart]:
    """Run the paper's experiments again, and further ones."""
    grids = request.grids
    layouts, missing = load_layouts(request.data, grids["compared"])
    cells = CrowdCells(layouts, seed=request.seed)
    crowds = {name: crowd_row(name, layout) for name, layout in layouts.items()}
    yield PaperPart("crowds", {"crowds": crowds.values(), "table_1": table_1(crowds)}, missing)
    published = [crowd for crowd in (PEER_GRADING, DUCHENNE) if crowd in layouts]
    for number, crowd in enumerate(published, start=2):
        yield _table(number, cells, crowd, request)
    for crowd in published:
        yield _weights(crowd, layouts[crowd], request)
    for crowd in layouts:
        rows = _compare(cells, crowd, grids, request.trials)
        yield PaperPart(f"every estimator on both mechanisms: {crowd}", {"comparisons": rows})
    yield PaperPart("Figure 1", {"figure_1": _figure_1(*grids["figure_1"].values())})


def parts_on_own_data(request: Asked) -> Iterator[PaperPart]:
    """Run Table 3 and Figures 2 and 4 on the user's crowd; without known truths, only its weights."""
    fields: dict[str, Any] = dict(request.own)
    if "labels" in fields:
        fields["labels"] = read_labels([fields["labels"]])
    with rename_fields(**{name: f"--{name.replace('_', '-')}" for name in fields}):
        layout = Layout.of(convert(fields, CrowdFile, FIELD).read({}))
    name = Path(request.own["answers"]).name
    if layout.is_gold.any():
        yield PaperPart(rows={"crowds": [crowd_row(name, layout)]})
        yield _table(3, CrowdCells({name: layout}, seed=request.seed), name, request)
    yield _weights(name, layout, request)


def _table(number: int, cells: CrowdCells, crowd: str, request: Asked) -> PaperPart:
    rows = published_table(cells, crowd, trials=request.trials)
    return PaperPart(f"Table {number}", {f"table_{number}": rows}, number=len(_PUBLISHED) // 2)


def published_table(cells: CrowdCells, crowd: str, *, trials: int) -> Iterator[Row]:
    """Yield rows of Table 2 or 3: the paper's numbers and those of Psephos; only the latter for the user's data."""
    layout, is_published = cells.layouts[crowd], crowd in {PEER_GRADING, DUCHENNE}
    clean = {name: clean_accuracy(layout, name) for name in OF_PAPER}
    for line in _PUBLISHED:
        if line["crowd"] != (crowd if is_published else DUCHENNE):
            continue
        estimator, epsilon = line["estimator"], float(line["epsilon"])
        noise = noise_at(layout, line["mechanism"], unit="claimed", price=epsilon)
        accuracy = cells.accuracies(crowd, noise, trials=trials)[estimator]
        change = sample_of(np.subtract(clean[estimator], accuracy.numbers), is_share=True)
        published = to_published(float(line["change"]), change, trials=trials, runs=_RUNS) if is_published else None
        yield {
            **{name: line[name] for name in ("method", "estimator", "mechanism")},
            "crowd": crowd,
            "epsilon": epsilon,
            "accuracy": accuracy,
            "change": change,
            "is_published": is_published,
            "published": published,
            "difference": published and deviation(change, published),
            **_losses(noise, layout),
        }


def _losses(noise: Perturbation, layout: Layout) -> Mapping[str, float]:
    """Return the proven losses of one answer, and of all answers of the worker with the most answers."""
    of_set = np.bincount(layout.crowd.answer_set_of_task, minlength=len(noise.sizes))
    loss = noise.loss_of(tuple(np.minimum(of_set, layout.parameters.max_answers).tolist()))
    return {"epsilon_answer": loss.finest_loss.proven, "epsilon_worker": loss.proven}


def _weights(crowd: str, layout: Layout, request: Asked) -> PaperPart:
    """Return workers' weights in one trial of two layers, and how their decrease correlates with flip probabilities."""
    answers, grids = layout.crowd.answers, request.grids or GRIDS
    noise = noise_at(layout, "two_layer", unit="claimed", price=grids["weight_epsilon"])
    hyper = noise.hyper
    assert hyper is not None  # noqa: S101  of two layers
    source = SimulatedNoise(request.seed, session=session_of(crowd, noise))
    slots = noise.mechanism.slots_of(layout.parameters.max_answers)
    counts = np.bincount(answers.workers, minlength=answers.num_workers)
    present = np.flatnonzero(counts)
    clean = truth_discovery(answers).weights

    def draw(start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """Return the workers' flip probabilities, and their weights from the reports, trial by trial."""
        places = {"start": start * answers.num_workers, "stop": stop * answers.num_workers}
        uniforms = source.uniforms(protocol=TruthDiscovery.name, phase="answers", slots=slots, **places)
        labels = draw_labels(layout, noise, source, start=start, stop=stop)
        weights = truth_discovery(AnswerBlock(answers, labels)).weights
        return hyper.draw(uniforms[:, : hyper.slots]).reshape(weights.shape), weights

    def figure_2() -> Iterator[Row]:
        (flips,), (reported,) = draw(0, 1)
        errors = shares_wrong(answers, layout.crowd.truth, layout.is_gold)
        drawn_workers = np.argsort(-counts, kind="stable")[: grids["num_weights"]].tolist()
        for worker in present.tolist():
            yield {
                "crowd": crowd,
                "name": layout.crowd.workers[worker],
                "num_answers": int(counts[worker]),
                "flip_probability": float(flips[worker]),
                "clean": float(clean[worker]),
                "reported": float(reported[worker]),
                "error": errors[worker],
                "importance": importance(errors[worker]),
                "is_drawn": worker in drawn_workers,
            }

    def run(start: int, stop: int) -> Mapping[str, FloatArray]:
        pairs = [
            (flips[present].tolist(), (clean - reported)[present].tolist())
            for flips, reported in zip(*draw(start, stop), strict=True)
        ]
        # If one of the two is constant over workers, there is no correlation.
        correlations = [correlation(*pair) if all(min(each) < max(each) for each in pair) else 0.0 for pair in pairs]
        return {"found": np.array(correlations)}

    def falls() -> Iterator[Row]:
        if len(present) > 3:  # noqa: PLR2004  of fewer a correlation says nothing
            correlations = mean_of(run_in_blocks(run, trials=request.trials, at_a_time=TRIALS_AT_A_TIME)["found"])
            yield {"crowd": crowd, "is_synthetic": crowd == PEER_GRADING, "correlation": correlations}

    return PaperPart(f"weights: {crowd}", {"figure_2": figure_2(), "falls": falls()})


def _figure_1(highs: Sequence[float], numbers: Sequence[int]) -> Iterator[Row]:
    """Yield the points of Figure 1's curves."""
    for panel, laws in (
        ("a", [ProductOfUniforms(high, numbers[0]) for high in highs]),
        ("b", [ProductOfUniforms(highs[-1], number) for number in numbers]),
    ):
        changes = max(law.greatest for law in laws) * np.arange(1, 201) / 200
        for law in laws:
            for change in changes.tolist():
                yield {
                    "panel": panel,
                    "high": law.high,
                    "num_workers": law.num_workers,
                    "mean": law.mean,
                    "change": change,
                    "density": law.density(change),
                    "chance": law.distribution(change),
                }


def _compare(cells: CrowdCells, crowd: str, grids: Mapping[str, Any], trials: int) -> Iterator[Row]:
    """Yield all estimators on both mechanisms at each ε; two layers do not support all values."""
    layout = cells.layouts[crowd]
    # Trial-by-trial comparisons on many crowds need fewer trials; estimators other than the paper's are slowest.
    num_compared, num_others = (
        min(max(trials // part, min_trials), trials) for part, min_trials in ((5, 100), (120, 10))
    )
    for unit, price in ((unit, price) for unit, prices in grids["prices"].items() for price in prices):
        noises = {"one_layer": noise_at(layout, "one_layer", unit=unit, price=price)}
        with contextlib.suppress(ConfigurationError):  # answer sets of different sizes are not supported
            noises["two_layer"] = noise_at(layout, "two_layer", unit=unit, price=price)
        # By the claim, mechanisms have equal ε, and the paper recommends two layers; "auto" uses only proven losses.
        mechanism_taken = "two_layer"
        if unit != "claimed":
            max_answers = layout.parameters.max_answers
            mechanism_taken = max(noises, key=lambda name: informativeness(noises[name], num_answers=max_answers))
        one: Mapping[str, Sample] = {}
        for mechanism, noise in noises.items():
            accuracies = cells.accuracies(crowd, noise, ["truth_discovery"], trials=num_compared)
            accuracies |= cells.accuracies(crowd, noise, grids["estimators"][unit], trials=num_others)
            for estimator, accuracy in accuracies.items():
                yield {
                    "crowd": crowd,
                    "is_synthetic": crowd == PEER_GRADING,
                    "unit": unit,
                    "price": price,
                    "mechanism": mechanism,
                    "is_taken": mechanism == mechanism_taken,
                    **_losses(noise, layout),
                    "estimator": estimator,
                    "accuracy": accuracy,
                    "lead": difference(accuracy, accuracies["truth_discovery"]),
                    "gain": difference(accuracy, one[estimator]) if one else None,
                }
            one = accuracies


EXPERIMENTS: Final = experiments_of(
    __name__, parts=parts, laws=findings_on_truth_discovery, steps=len(GRIDS["compared"]) + 8
)
ON_OWN_DATA: Final = experiments_of(
    __name__, parts=parts_on_own_data, laws=findings_on_truth_discovery, data="own.toml"
)
