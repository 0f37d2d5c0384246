"""How many truths `auto` finds, beside the majority and the paper's truth discovery: every crowd, every price.

`.venv/bin/python benchmarks/cautious.py [FOLDER] [--trials N] [--markdown docs/truth-discovery-auto.md]`, the folder of
all data sets (default: the variable PSEPHOS_DATA). A cell is a crowd, a price and a mechanism; all estimators see the
same reports. Labels are renumbered at random in each trial, so that ties flatter nobody.

- `before` is what `auto` was: ten rounds of the paper's, two models at a uniform class prior, odds of 2.
- `entropy` is a rival that was proposed for `auto`: γ·ln 3 for the paper's label and (1 − γ)·ln 1.5 for the majority's
  are added to the logarithm of the models' mean, γ being 1 less the mean entropy of a task as a share of its most.
- A deficit is the accuracy of truth discovery less that of `auto`, trial by trial. Its lower bounds hold at 95 % in all
  cells at once: Student's t, the level over the number of cells. They are about the perturbation: a crowd is what it
  is, and on clean answers only the renumbering is drawn.
- `least_odds` is fitted by a stricter rule than these bounds, the least tenth with which no cell is more than a point
  behind on average over its trials, luck included; and again without each crowd.
"""

import argparse
import dataclasses
import inspect
import math
import os
import pathlib
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.estimators.truth_inference import (
    Answers,
    Inference,
    KnownNoise,
    cautious_truth_discovery,
    majority_vote,
    noise_aware_dawid_skene,
    noise_aware_one_coin,
    truth_discovery,
)
from psephos.protocol.estimators.truth_inference.cautious import keep_unless_likelier
from psephos.protocol.randomness import SimulatedNoise
from psephos.protocol.truth_discovery import make_noise
from psephos.protocol.truth_discovery.inference import known_noise
from psephos.scenarios.datasets import DATA_VARIABLE
from psephos.scenarios.tables import Table, listed, markdown_of
from psephos.scenarios.truth_discovery.crowd_reports import Layout, draw_labels, renumbering
from psephos.scenarios.truth_discovery.data.published import CROWDS, load_crowd
from psephos.scenarios.truth_discovery.data.synthetic import make_crowd, skewed_crowd
from scipy import special
from table import rewrite_between_marks

__all__: list[str] = []

_EPSILONS: Final = (0.5, 1.0, 2.0, 4.0, 6.0)
_LAYERS: Final = {"one_layer": "one", "two_layer": "two"}
_SHARES: Final = (0.5, 0.65, 0.8, 0.9, 0.95)
_SEED: Final = 20180819
_ROUNDS: Final = 50
"""At most, of all: the default of a session."""
_LEVEL: Final = 0.05
_MOST_BEHIND: Final = 0.01
_ODDS: Final = tuple(round(1 + step / 10, 1) for step in range(16))
_KEPT: Final[float] = inspect.signature(cautious_truth_discovery).parameters["least_odds"].default
"""One of them."""


@dataclasses.dataclass(frozen=True, eq=False)
class _Cell:
    """The accuracies of each trial.

    Args:
        crowd: its name.
        price: as it is shown.
        layers: as they are shown.
        accuracies: of each estimator, shape (trials,).
        at_odds: of `auto` with each of `_ODDS`, the same.
    """

    crowd: str
    price: str
    layers: str
    accuracies: Mapping[str, FloatArray]
    at_odds: Mapping[float, FloatArray]

    def mean(self, name: str) -> float:
        return float(self.accuracies[name].mean())

    def deficit(self, odds: float = _KEPT) -> float:
        """By how much `auto` is behind truth discovery on average; below 0 where it is ahead."""
        return float((self.accuracies["paper"] - self.at_odds[odds]).mean())

    def least_deficit(self, name: str, num_cells: int) -> float:
        """The lower bound."""
        behind = self.accuracies["paper"] - self.accuracies[name]
        quantile = float(special.stdtrit(len(behind) - 1, 1 - _LEVEL / num_cells))
        return float(behind.mean()) - quantile * float(behind.std(ddof=1)) / math.sqrt(len(behind))


def _crowds(folder: str) -> Iterator[tuple[str, Layout]]:
    for name in CROWDS:
        if folder and (pathlib.Path(folder) / name).is_dir():
            yield name, Layout.of(load_crowd(name, pathlib.Path(folder)))
    for classes in (2, 4):
        for share in _SHARES:
            yield f"made up, {classes} labels, {share:.0%}", Layout.of(make_crowd(skewed_crowd(classes, share)))


def _cells(crowd: str, layout: Layout, trials: int) -> Iterator[_Cell]:
    answers, generator = layout.crowd.answers, np.random.default_rng(_SEED)
    for epsilon in (None, *_EPSILONS):
        for mechanism in _LAYERS:
            if epsilon is None:
                noise, many = None, np.tile(answers.labels, (trials, 1))
            else:
                noise = make_noise(msgspec.structs.replace(layout.parameters, epsilon=epsilon, mechanism=mechanism))
                many = draw_labels(layout, noise, SimulatedNoise(_SEED, session=crowd), start=0, stop=trials)
            known = known_noise(noise, layout.parameters.sizes)
            found: dict[str, list[float]] = {}
            at_odds: dict[float, list[float]] = {}
            for labels in many:
                numbers = renumbering(answers.num_classes, answers.sizes, generator)
                reports = dataclasses.replace(answers, labels=numbers[answers.tasks, labels])
                truth = numbers[np.arange(answers.num_tasks), np.maximum(layout.crowd.truth, 0)]
                truths, probabilities = _find(reports, known)
                for name, each in truths.items():
                    found.setdefault(name, []).append(_share_right(each, truth, layout))
                for odds in _ODDS:
                    kept = keep_unless_likelier(truths["paper"], probabilities, least_odds=odds, ties="first")
                    at_odds.setdefault(odds, []).append(_share_right(kept, truth, layout))
            yield _Cell(
                crowd,
                "clean" if epsilon is None else f"{epsilon:g}",
                "–" if epsilon is None else _LAYERS[mechanism],
                {name: np.array(each) for name, each in found.items()},
                {odds: np.array(each) for odds, each in at_odds.items()},
            )
            if epsilon is None:
                break


def _find(reports: Answers, known: KnownNoise) -> tuple[dict[str, IntArray], FloatArray]:
    """Return the truths by estimator, and the mean of the three models of `auto`."""
    majority, paper = majority_vote(reports), truth_discovery(reports, max_iterations=_ROUNDS)
    auto = cautious_truth_discovery(reports, known, max_iterations=_ROUNDS)
    truths = {
        "majority": majority.truths,
        "paper": paper.truths,
        "before": _before(reports, known),
        "entropy": _by_entropy(auto, paper.truths, majority.truths, reports.sizes),
        "auto": auto.truths,
    }
    return truths, auto.probabilities


def _before(reports: Answers, known: KnownNoise) -> IntArray:
    coin = noise_aware_one_coin(reports, known, max_iterations=_ROUNDS)
    full = noise_aware_dawid_skene(reports, known, max_iterations=_ROUNDS)
    mean = (coin.probabilities + full.probabilities) / 2
    return keep_unless_likelier(truth_discovery(reports).truths, mean, least_odds=2.0, ties="first")


def _by_entropy(auto: Inference, paper: IntArray, majority: IntArray, sizes: IntArray) -> IntArray:
    tasks = np.flatnonzero(paper >= 0)
    mean = auto.probabilities[tasks]
    scores: FloatArray = np.log(np.maximum(mean, 2.0**-31))
    entropies: FloatArray = -(mean * scores).sum(axis=1) / np.log(sizes[tasks])
    certainty = 1 - float(entropies.mean())
    scores[np.arange(len(tasks)), paper[tasks]] += certainty * math.log(3)
    scores[np.arange(len(tasks)), majority[tasks]] += (1 - certainty) * math.log(1.5)
    truths = paper.copy()
    truths[tasks] = scores.argmax(axis=1)
    return truths


def _share_right(truths: IntArray, truth: IntArray, layout: Layout) -> float:
    is_right = truths[layout.is_gold] == truth[layout.is_gold]
    return float(is_right.mean())


def _fit(cells: Sequence[_Cell]) -> float:
    """Return the least odds with which no cell is more than a point behind, on average over its trials."""
    return next(odds for odds in _ODDS if all(cell.deficit(odds) <= _MOST_BEHIND for cell in cells))


def _points(share: float) -> str:
    return f"{100 * share:+.1f}"


def _by_crowd(cells: Sequence[_Cell]) -> Table:
    rows: list[tuple[str, ...]] = []
    for crowd in dict.fromkeys(cell.crowd for cell in cells):
        own, others = [c for c in cells if c.crowd == crowd], [c for c in cells if c.crowd != crowd]
        odds = _fit(others)
        rows.append(
            (
                crowd,
                *(f"{100 * _mean(own, name):.1f}" for name in own[0].accuracies),
                _points(max(cell.deficit() for cell in own)),
                _points(max(cell.least_deficit("auto", len(cells)) for cell in own)),
                _points(max(cell.mean("majority") - cell.mean("auto") for cell in own)),
                f"{odds:g}",
                _points(max(cell.deficit(odds) for cell in own)),
            )
        )
    rows.append(("**mean**", *(f"{100 * _mean(cells, name):.2f}" for name in cells[0].accuracies), *[""] * 5))
    names = ("majority", "TD", "before", "entropy", "auto")
    return Table(
        columns=("crowd", *names, "behind TD", "at least", "behind majority", "odds", "left out"),
        rows=rows,
        caption="Crowd by crowd",
        note="Mean accuracy over all cells of the crowd, in percent; TD: truth discovery by itself. behind: by how "
        "many points auto is behind in the cell where it is worst; at least: the greatest of the lower bounds. odds: "
        "fitted without the crowd, and how far behind TD auto is with those at worst.",
    )


def _mean(cells: Sequence[_Cell], name: str) -> float:
    return float(np.mean([cell.mean(name) for cell in cells]))


def _by_cell(cells: Sequence[_Cell]) -> Table:
    return listed(
        cells,
        [
            ("crowd", lambda cell: cell.crowd),
            ("ε", lambda cell: cell.price),
            ("layers", lambda cell: cell.layers),
            *(
                (header, lambda cell, name=name: f"{100 * cell.mean(name):.1f}")
                for name, header in zip(
                    cells[0].accuracies, ("majority", "TD", "before", "entropy", "auto"), strict=True
                )
            ),
            ("behind TD", lambda cell: _points(cell.deficit())),
            ("at least", lambda cell: _points(cell.least_deficit("auto", len(cells)))),
        ],
        caption="Cell by cell",
        note="at least: the lower bound of what auto is behind truth discovery, all cells together at 95 %.",
        labels=3,
    )


def _summary(cells: Sequence[_Cell], trials: int) -> str:
    lines = [f"{len(cells)} cells of {trials} trials; fitted odds {_fit(cells):g}, in use {_KEPT:g}.", ""]
    for name, title in (("majority", "majority"), ("before", "before"), ("entropy", "entropy"), ("auto", "auto")):
        bounds = sum(cell.least_deficit(name, len(cells)) > _MOST_BEHIND for cell in cells)
        means = sum(cell.mean("paper") - cell.mean(name) > _MOST_BEHIND for cell in cells)
        lead = 100 * (_mean(cells, name) - _mean(cells, "paper"))
        lines.append(
            f"- {title}: {lead:+.2f} points on truth discovery on average; more than a point behind it in {means} "
            f"cells, and in {bounds} by the lower bound."
        )
    ahead = sum(cell.mean("majority") - cell.mean("auto") > _MOST_BEHIND for cell in cells)
    lines.append(f"- The majority is more than a point ahead of auto in {ahead} cells.")
    return "\n".join(lines)


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default=os.environ.get(DATA_VARIABLE, ""), help="of all data sets")
    parser.add_argument("--trials", type=int, default=40, metavar="N", help="of each cell, at least 2")
    parser.add_argument(
        "--markdown", type=pathlib.Path, metavar="FILE", help="write the tables into FILE too, between its marks"
    )
    options = parser.parse_args()
    cells: list[_Cell] = []
    for crowd, layout in _crowds(options.folder):
        start = time.perf_counter()
        cells += _cells(crowd, layout, options.trials)
        print(f"{crowd}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    text = "\n\n".join([_summary(cells, options.trials), markdown_of(_by_crowd(cells)), markdown_of(_by_cell(cells))])
    print(text)
    if options.markdown is not None:
        rewrite_between_marks(options.markdown, text)


if __name__ == "__main__":
    _main()
