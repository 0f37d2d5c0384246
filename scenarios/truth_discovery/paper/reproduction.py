"""`psephos reproduce truth-discovery`: Tables 2 and 3, Figures 1 to 4, and what the paper does not show.

`Reproduction` says what each table holds. Without a folder of data sets there is what can be made without one: the
stand-in, and what is computed.
"""

import dataclasses
import itertools
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from ....protocol.arrays import FloatArray
from ....protocol.errors import ConfigurationError
from ....protocol.estimators.truth_inference import truth_discovery
from ....protocol.mechanisms import compare_hypers, epsilon_of, flip_probability_of, hypers_of_mean
from ....protocol.randomness import SimulatedNoise
from ....protocol.truth_discovery import Noise, TruthDiscovery, informativeness
from ...experiments.measurements import Measurement, as_published, deviation, mean_of
from ...experiments.reproductions import Asked, Part
from ...reading.conversion import convert
from ..crowd_reports import Layout, draw_labels
from ..data.labels import read_labels
from ..data.parties import FIELD, CrowdFile
from ..workers import importance, shares_wrong
from .published import EPSILONS, GRIDS, METHODS, RUNS, TABLES
from .rows import ChoiceRow, ComparisonRow, FallRow, PublishedCell, WeightRow, comparison_trials
from .theory import ProductOfUniforms, chernoff_bound, exact_error, printed_bound
from .trials import ESTIMATOR_NAMES, MECHANISM_NAMES, Cells, clean_accuracy, noise_at, session_of, with_estimator
from .workloads import DUCHENNE, PEER_GRADING, crowd_row, load_layouts

_PAPER: Final = "truth_discovery"
_NUM_POINTS: Final = 200


def parts(asked: Asked) -> Iterator[Part]:
    """Run everything that the paper measured again, and more; comparisons have a part of the trials."""
    layouts, missing = load_layouts(asked.data)
    cells = Cells(layouts, seed=asked.seed)
    yield Part(rows={"crowds": (crowd_row(name, layout) for name, layout in layouts.items())}, missing=missing)
    of_paper: dict[str, Layout] = {}
    for number, crowd in ((2, PEER_GRADING), (3, DUCHENNE)):
        if crowd in layouts:
            of_paper[crowd] = layouts[crowd]
            yield Part(f"Table {number}: {len(EPSILONS) * len(METHODS)} cells")
            yield Part(rows={f"table_{number}": published_table(cells, crowd, trials=asked.trials)})
    yield Part("weights")
    for crowd, layout in of_paper.items():
        yield Part(rows=_weights(crowd, layout, asked))
    for crowd in layouts:
        yield Part(f"every estimator on both mechanisms: {crowd}")
        for unit, prices in GRIDS.prices.items():
            for price in prices:
                comparisons, choice = _compare(cells, crowd, unit=unit, price=price, trials=asked.trials)
                yield Part(rows={"comparisons": comparisons, "choices": [choice]})
    yield Part(rows={"densities": _densities(), "hypers": _hypers(), "bounds": _bounds()})


def parts_on_own_data(asked: Asked) -> Iterator[Part]:
    """Run Table 3 and Figures 2 and 4 on somebody's own crowd; without a known truth, its weights alone."""
    said: dict[str, Any] = dict(asked.own)
    if "labels" in said:
        said["labels"] = read_labels([said["labels"]])
    try:
        layout = Layout.of(convert(said, CrowdFile, FIELD).read({}))
    except ConfigurationError as error:
        option = error.field.removeprefix(f"{FIELD}.").partition(".")[0]
        if option not in asked.own:
            raise
        raise ConfigurationError(
            field=f"--{option.replace('_', '-')}", value=error.value, allowed=error.allowed
        ) from None
    name = Path(asked.own["answers"]).name
    if layout.is_gold.any():
        yield Part(rows={"crowds": [crowd_row(name, layout)]})
        yield Part("Table 3 and Figure 4")
        cells = Cells({name: layout}, seed=asked.seed)
        yield Part(rows={"table_3": published_table(cells, name, trials=asked.trials)})
    yield Part("weights", _weights(name, layout, asked))


def published_table(cells: Cells, crowd: str, *, trials: int) -> tuple[PublishedCell, ...]:
    """Return Table 2 or 3; of own data without published numbers."""
    layout = cells.layouts[crowd]
    estimators = tuple(dict.fromkeys(estimator for estimator, _ in METHODS.values()))
    clean = {name: clean_accuracy(layout, with_estimator(layout.parameters, name)) for name in estimators}
    rows: list[PublishedCell] = []
    for epsilon, of_mechanism in itertools.product(EPSILONS, MECHANISM_NAMES):
        noise = noise_at(layout, of_mechanism, unit="claimed", price=epsilon)
        accuracies = cells.accuracies(crowd, noise, estimators, trials=trials)
        of_answer, of_worker = _losses(noise, layout)
        known = TABLES[crowd][epsilon] if crowd in TABLES else (None,) * len(METHODS)
        for (name, (estimator, mechanism)), value in zip(METHODS.items(), known, strict=True):
            if mechanism != of_mechanism:
                continue
            own = accuracies[estimator]
            found = mean_of(own)
            change = Measurement(clean[estimator] - found.value, found.standard_error)
            published = None if value is None else as_published(value, found, trials=trials, runs=RUNS)
            rows.append(
                PublishedCell(
                    crowd=crowd,
                    method=name,
                    estimator=estimator,
                    mechanism=mechanism,
                    epsilon=epsilon,
                    flip_probability=noise.flip_probabilities[0],
                    change=change,
                    error_rate=Measurement(1 - found.value, found.standard_error),
                    lead=None if estimator == "majority" else mean_of(own - accuracies["majority"]),
                    published=published,
                    difference=None if published is None else deviation(change, published),
                    epsilon_answer=of_answer,
                    epsilon_worker=of_worker,
                )
            )
    return tuple(rows)


def _losses(noise: Noise, layout: Layout) -> tuple[float, float]:
    """Return what is proven for one answer and for all answers of the worker with most answers."""
    of_set = np.bincount(layout.crowd.answer_set_of_task, minlength=len(noise.sizes))
    loss = noise.loss_of(tuple(np.minimum(of_set, layout.parameters.max_answers).tolist()))
    return loss.finest.proven, loss.proven


def _weights(crowd: str, layout: Layout, asked: Asked) -> dict[str, Iterable[Any]]:
    """Return the weights of a crowd's workers in one trial of two layers, and how they fall in all trials."""
    answers = layout.crowd.answers
    noise = noise_at(layout, "two_layer", unit="claimed", price=GRIDS.weight_epsilon)
    hyper = noise.hyper
    assert hyper is not None  # noqa: S101  of two layers
    source = SimulatedNoise(asked.seed, session=session_of(crowd, noise))
    slots = noise.mechanism.slots_of(layout.parameters.max_answers)
    counts = np.bincount(answers.workers, minlength=answers.num_workers)
    present = np.flatnonzero(counts)
    clean = truth_discovery(answers).weights

    def draw(trial: int) -> tuple[FloatArray, FloatArray]:
        """Return the workers' flip probabilities, and their weights from the reports."""
        start, stop = (each * answers.num_workers for each in (trial, trial + 1))
        uniforms = source.uniforms(protocol=TruthDiscovery.name, phase="answers", start=start, stop=stop, slots=slots)
        (labels,) = draw_labels(layout, noise, source, start=trial, stop=trial + 1)
        weights = truth_discovery(dataclasses.replace(answers, labels=labels)).weights
        return hyper.draw(uniforms[:, : hyper.slots]), weights

    trials = map(draw, range(asked.trials))
    each = [_correlation(flips[present], (clean - weights)[present]) for flips, weights in trials]
    flips, reported = draw(0)
    errors = shares_wrong(answers, layout.crowd.truth, layout.is_gold)
    drawn = set(np.argsort(-counts, kind="stable")[: GRIDS.num_weights].tolist())
    rows = (
        WeightRow(
            crowd=crowd,
            worker=worker,
            name=layout.crowd.workers[worker],
            num_answers=int(counts[worker]),
            epsilon=GRIDS.weight_epsilon,
            flip_probability=float(flips[worker]),
            clean=float(clean[worker]),
            reported=float(reported[worker]),
            error=errors[worker],
            importance=importance(errors[worker]),
            is_drawn=worker in drawn,
        )
        for worker in present.tolist()
    )
    return {"weights": rows, "falls": [FallRow(crowd=crowd, epsilon=GRIDS.weight_epsilon, correlation=mean_of(each))]}


def _correlation(one: FloatArray, other: FloatArray) -> float:
    if min(map(np.ptp, (one, other)), default=0.0) == 0:
        return 0.0
    return statistics.correlation(one.tolist(), other.tolist())


def _densities() -> Iterator[Mapping[str, Any]]:
    """Yield the points of Figure 1's curves."""
    by_high = [ProductOfUniforms(high, GRIDS.figure_1_numbers[0]) for high in GRIDS.figure_1_highs]
    by_number = [ProductOfUniforms(GRIDS.figure_1_highs[-1], number) for number in GRIDS.figure_1_numbers]
    for panel, laws in (("a", by_high), ("b", by_number)):
        changes = max(law.greatest for law in laws) * np.arange(1, _NUM_POINTS + 1) / _NUM_POINTS
        for law in laws:
            of_curve = {"panel": panel, "high": law.high, "num_workers": law.num_workers}
            for change, density in zip(changes.tolist(), law.density(changes.tolist()).tolist(), strict=True):
                yield {**of_curve, "change": change, "density": density}


def _compare(
    cells: Cells, crowd: str, *, unit: str, price: float, trials: int
) -> tuple[list[ComparisonRow], ChoiceRow]:
    """Return all estimators on both mechanisms at one price, and who wins; `trials` are of a published cell."""
    layout = cells.layouts[crowd]
    rows: list[ComparisonRow] = []
    found: dict[tuple[str, str], FloatArray] = {}
    noises: list[Noise] = []
    for mechanism in MECHANISM_NAMES:
        try:
            noise = noise_at(layout, mechanism, unit=unit, price=price)
        except ConfigurationError:  # two layers cannot have every price where answer sets differ in size
            continue
        noises.append(noise)
        accuracies = cells.accuracies(crowd, noise, tuple(ESTIMATOR_NAMES), trials=comparison_trials(trials))
        found |= {(mechanism, name): each for name, each in accuracies.items()}
        of_answer, of_worker = _losses(noise, layout)
        rows += [
            ComparisonRow(
                crowd=crowd,
                unit=unit,
                price=price,
                mechanism=mechanism,
                flip_probability=noise.flip_probabilities[0],
                epsilon_answer=of_answer,
                epsilon_worker=of_worker,
                informativeness=informativeness(noise, num_answers=layout.parameters.max_answers),
                estimator=name,
                accuracy=mean_of(each),
                lead=None if name == _PAPER else mean_of(each - accuracies[_PAPER]),
            )
            for name, each in accuracies.items()
        ]
    gain = None
    if len(noises) == len(MECHANISM_NAMES):  # which the paper's weights tell of many trials at once, so of all of them
        one, two = (cells.accuracies(crowd, noise, (_PAPER,), trials=trials)[_PAPER] for noise in noises)
        gain = mean_of(two - one)
    return rows, _choose(crowd, layout, found, gain, unit=unit, price=price)


def _choose(
    crowd: str,
    layout: Layout,
    found: Mapping[tuple[str, str], FloatArray],
    two_layer_gain: Measurement | None,
    *,
    unit: str,
    price: float,
) -> ChoiceRow:
    """Return who wins, and what "auto" does, from the accuracies of each mechanism and estimator."""
    best = max((pair for pair in found if pair[1] != "auto"), key=lambda pair: math.fsum(found[pair].tolist()))
    if unit == "claimed":
        # The claim makes the mechanisms alike, and the paper recommends two layers; "auto" trusts proven prices alone.
        paper_mechanism = auto_mechanism = "two_layer"
    else:
        reachable = [mechanism for mechanism in MECHANISM_NAMES if (mechanism, _PAPER) in found]
        paper_mechanism = max(reachable, key=lambda mechanism: math.fsum(found[mechanism, _PAPER].tolist()))
        auto_mechanism = noise_at(layout, "auto", unit=unit, price=price).name
    paper, auto = found[paper_mechanism, _PAPER], found[auto_mechanism, "auto"]
    return ChoiceRow(
        crowd=crowd,
        unit=unit,
        price=price,
        two_layer_gain=two_layer_gain,
        best_mechanism=best[0],
        best_estimator=best[1],
        best=mean_of(found[best]),
        paper_mechanism=paper_mechanism,
        paper=mean_of(paper),
        auto_mechanism=auto_mechanism,
        auto=mean_of(auto),
        auto_lead=mean_of(auto - paper),
    )


def _hypers() -> Iterator[Mapping[str, Any]]:
    """Yield what hyper-distributions of one mean cost a worker with m answers of two labels (reading T9)."""
    for epsilon, number in itertools.product(GRIDS.hyper_epsilons, GRIDS.hyper_answers):
        mean = flip_probability_of(epsilon, 2)
        for losses in compare_hypers(hypers_of_mean(mean), num_answers=number, num_labels=2):
            yield {
                "hyper": losses.name,
                "mean": mean,
                "epsilon": epsilon_of(mean, 2),  # claimed for one answer; it follows from the mean alone
                "num_answers": number,
                "all_answers": losses.all_answers,  # J, proven
                "one_answer": losses.one_answer,  # R, proven
            }


def _bounds() -> Iterator[Mapping[str, Any]]:
    """Yield the error bound (7) beside what is true (reading T8), of workers who are all alike."""
    for quality, number in itertools.product(GRIDS.bound_qualities, GRIDS.bound_workers):
        yield {
            "num_workers": number,
            "quality": quality,  # in the paper's folding: ½ is the worst
            "exact": exact_error(quality, number),
            "printed": printed_bound(quality, number),
            "chernoff": chernoff_bound(quality, number),
        }
