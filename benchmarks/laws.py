"""Which hyper-distribution and which weights find most truths, where all of them cost the same.

`.venv/bin/python benchmarks/laws.py [FOLDER] [--trials N] [--markdown docs/truth-discovery.md]`, the folder of all data
sets (default: the variable PSEPHOS_DATA). Of each crowd the worker with most answers has the same proven loss of all
its answers, J, by every law: the range of each is stretched until it costs no more. All estimators see the same
reports, and labels are renumbered at random in each trial, so that ties flatter nobody. The file gets the means over
all crowds; each crowd is printed as well.
"""

import argparse
import dataclasses
import math
import os
import pathlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np
from psephos.protocol.arrays import FloatArray
from psephos.protocol.estimators.truth_inference import (
    Answers,
    Inference,
    KnownNoise,
    cautious_truth_discovery,
    crh,
    dawid_skene,
    majority_vote,
    one_coin,
    truth_discovery,
)
from psephos.protocol.mechanisms import (
    Beta,
    HyperDistribution,
    Piecewise,
    TruncatedNormal,
    Uniform,
    loss_of_all_answers,
    loss_of_one_answer,
)
from psephos.protocol.randomness import SimulatedNoise
from psephos.protocol.truth_discovery import Noise, make_noise
from psephos.protocol.truth_discovery.inference import known_noise
from psephos.scenarios.datasets import DATA_VARIABLE
from psephos.scenarios.tables import Table, markdown_of
from psephos.scenarios.truth_discovery.crowd_reports import Layout, draw_labels, renumbering
from psephos.scenarios.truth_discovery.paper.runs import GRIDS, load_layouts
from table import rewrite_between_marks

__all__: list[str] = []

_PRICE: Final = 1.0
"""Of each answer of the worker who gives most: J is so many times their number."""
_SEED: Final = 20180819
_ROUNDS: Final = 10
_LAWS: Final[Mapping[str, Callable[[float], HyperDistribution]]] = {
    "U(0, b)": lambda b: Uniform(0.0, b),
    "Beta(½, ½) on [0, b]": lambda b: Beta(0.5, 0.5, 0.0, b),
    "Beta(2½, 2½) on [0, b]": lambda b: Beta(2.5, 2.5, 0.0, b),
    "N(0, b/2) on [0, b]": lambda b: TruncatedNormal(0.0, b / 2, 0.0, b),
    "[0, b/4] or [¾b, b]": lambda b: Piecewise((0.0, b / 4, 3 * b / 4, b), (0.5, 0.0, 0.5)),
}
_ESTIMATORS: Final[Mapping[str, Callable[[Answers, KnownNoise], Inference]]] = {
    "majority": lambda answers, _: majority_vote(answers),
    "log-odds": lambda answers, _: truth_discovery(answers, max_iterations=_ROUNDS),
    "linear": lambda answers, _: truth_discovery(answers, max_iterations=_ROUNDS, weight_function="linear"),
    "p²": lambda answers, _: truth_discovery(answers, max_iterations=_ROUNDS, weight_function=lambda share: share**2),
    "÷ all": lambda answers, _: truth_discovery(answers, max_iterations=_ROUNDS, normalization="all"),
    "CRH": lambda answers, _: crh(answers, max_iterations=_ROUNDS),
    "CRH, knowing": lambda answers, noise: crh(answers, noise, max_iterations=_ROUNDS),
    "one coin": lambda answers, _: one_coin(answers),
    "D.-S.": lambda answers, _: dawid_skene(answers),
    "auto": lambda answers, noise: cautious_truth_discovery(answers, noise, max_iterations=50),
}


@dataclasses.dataclass(frozen=True)
class _Cell:
    """What estimators find of the reports of one law.

    Args:
        crowd: its name.
        law: as it is shown.
        mean: the flip probability of one answer.
        one_answer: R of the worker with most answers.
        accuracies: of each trial by estimator, shape (trials,).
    """

    crowd: str
    law: str
    mean: float
    one_answer: float
    accuracies: Mapping[str, FloatArray]


def _stretched(make: Callable[[float], HyperDistribution], sizes: tuple[int, ...], price: float) -> HyperDistribution:
    """Return the law of the shortest range whose loss of all answers is no more than the price."""
    below, above = 0.0, 1.0
    for _ in range(30):
        middle = (below + above) / 2
        if loss_of_all_answers(sizes, make(middle)) <= price:
            above = middle
        else:
            below = middle
    return make(above)


def _noises(layout: Layout) -> Iterator[tuple[str, Noise, float]]:
    parameters = layout.parameters
    most = parameters.max_answers
    sizes = tuple(sorted((parameters.sizes[number] for number in parameters.set_of_task), reverse=True)[:most])
    one = msgspec.structs.replace(parameters, mechanism="one_layer", epsilon_worker=_PRICE * most)
    yield "one layer", make_noise(one), _PRICE
    for name, make in _LAWS.items():
        hyper = _stretched(make, sizes, _PRICE * most)
        two = msgspec.structs.replace(parameters, mechanism="two_layer", hyper=hyper)
        yield name, make_noise(two), loss_of_one_answer(sizes, hyper)


def _cells(crowd: str, layout: Layout, trials: int) -> Iterator[_Cell]:
    answers = layout.crowd.answers
    for law, noise, one_answer in _noises(layout):
        generator = np.random.default_rng(_SEED)
        known = known_noise(noise, layout.parameters.sizes)
        shares: dict[str, list[float]] = {name: [] for name in _ESTIMATORS}
        for labels in draw_labels(layout, noise, SimulatedNoise(_SEED, session=crowd), start=0, stop=trials):
            numbers = renumbering(answers.num_classes, answers.sizes, generator)
            reports = dataclasses.replace(answers, labels=numbers[answers.tasks, labels])
            truth = numbers[np.arange(answers.num_tasks), np.maximum(layout.crowd.truth, 0)][layout.is_gold]
            for name, infer in _ESTIMATORS.items():
                found = infer(reports, known).truths[layout.is_gold]
                shares[name].append(np.count_nonzero(found == truth) / len(truth))
        accuracies = {name: np.array(each) for name, each in shares.items()}
        yield _Cell(crowd, law, float(np.mean(noise.flip_probabilities)), one_answer, accuracies)


def _by_crowd(cells: Sequence[_Cell]) -> Table:
    rows = [
        (
            cell.crowd,
            cell.law,
            f"{cell.mean:.3f}",
            f"{cell.one_answer:.2f}",
            *(f"{100 * float(cell.accuracies[name].mean()):.1f}" for name in _ESTIMATORS),
        )
        for cell in cells
    ]
    headers = ("crowd", "law", "flips", "R", *_ESTIMATORS)
    return Table(columns=headers, rows=rows, caption="Crowd by crowd", note="Accuracy in percent.", labels=2)


def _means(cells: Sequence[_Cell], trials: int) -> Table:
    """Return the means over crowds, with the greatest standard error in the note."""
    rows: list[tuple[str, ...]] = []
    errors: list[float] = []
    for law in dict.fromkeys(cell.law for cell in cells):
        own = [cell for cell in cells if cell.law == law]
        means = [np.mean([cell.accuracies[name] for cell in own], axis=0) for name in _ESTIMATORS]
        errors += [100 * float(mean.std(ddof=1)) / math.sqrt(trials) for mean in means]
        flips = np.mean([cell.mean for cell in own])
        one_answer = np.mean([cell.one_answer for cell in own])
        rows.append((law, f"{flips:.3f}", f"{one_answer:.2f}", *(f"{100 * float(mean.mean()):.1f}" for mean in means)))
    crowds = len({cell.crowd for cell in cells})
    return Table(
        columns=("law", "flips", "R", *_ESTIMATORS),
        rows=rows,
        caption="Laws and weights at one proven loss",
        note=f"Accuracy in percent, the mean of {crowds} crowds and {trials} trials of each, with standard errors of "
        f"at most {max(errors):.1f}. All answers of the worker who gives most, m, cost J = {_PRICE:g}·m by any law. "
        "flips: how often an answer is flipped, on average; R: what one answer costs, the others known. ÷ all: the "
        "log-odds of right answers over the number of all tasks, as equation 3 prints it.",
    )


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default=os.environ.get(DATA_VARIABLE, ""), help="of all data sets")
    parser.add_argument("--trials", type=int, default=20, metavar="N", help="of each cell, at least 2")
    parser.add_argument(
        "--markdown", type=pathlib.Path, metavar="FILE", help="write the table into FILE too, between its marks"
    )
    options = parser.parse_args()
    cells: list[_Cell] = []
    for crowd, layout in load_layouts(options.folder, GRIDS["compared"])[0].items():
        start = time.perf_counter()
        cells += _cells(crowd, layout, options.trials)
        print(f"{crowd}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    text = markdown_of(_means(cells, options.trials))
    print(f"{text}\n\n{markdown_of(_by_crowd(cells))}")
    if options.markdown is not None:
        rewrite_between_marks(options.markdown, text)


if __name__ == "__main__":
    _main()
