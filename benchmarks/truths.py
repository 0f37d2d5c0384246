"""Which estimators find how many truths of the published crowds, all on the same reports.

    PSEPHOS_DATA=FOLDER python benchmarks/truths.py --record           # laws and weights; their means in the manual
    PSEPHOS_DATA=FOLDER python benchmarks/truths.py --cells FILE.csv   # baselines beside `auto`; with --glad GLAD's
    PSEPHOS_DATA=FOLDER python benchmarks/truths.py --rounds           # how far the ends of EM are from crowd-kit's

Laws and weights cost the same: of each crowd the worker with most answers has the same proven loss of all its answers,
J, by every law: the range of each is stretched until it costs no more. Each crowd is printed as well.

Baselines see one layer and two, at a claimed ε from .5 to 6 an answer, one session of each cell, as in
`tests/calibrate.py truth-discovery`; the file has a row for each. GLAD is crowd-kit's, which `make bench` installs. It
takes far longer than all of ours together, so that it runs at ε = 2 and with one layer alone, and is ended where it has
not answered after two minutes.

Of the ends of EM, on all sets as answered and perturbed by one layer, it prints how many rounds each side has, which
share of the truths is the same, and which share is where ours has as many rounds (`rounds=`).

Labels are renumbered at random in each trial, so that ties flatter nobody.
"""

import csv
import dataclasses
import itertools
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from harness import DOCS, RivalError, open_rival, options, rewrite_between_marks
from psephos.protocol import SimulatedNoise
from psephos.protocol.arrays import IntArray
from psephos.protocol.estimators.truth_inference import (
    Answers,
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
from psephos.protocol.truth_discovery import Perturbation, find_truths, make_noise
from psephos.protocol.truth_discovery.inference import known_noise
from psephos.scenarios.datasets import DATA_VARIABLE
from psephos.scenarios.tables import Table, markdown_of
from psephos.scenarios.truth_discovery.crowd_reports import Layout, draw_labels, draw_renumbering
from psephos.scenarios.truth_discovery.data.estimators import DawidSkene, OneCoinDawidSkene
from psephos.scenarios.truth_discovery.data.published import CROWDS, load_crowd
from psephos.scenarios.truth_discovery.paper.runs import GRIDS, load_layouts, noise_at
from rival import save_codes

_SEED = 20180819
_ROUNDS = 10
_LAWS: Mapping[str, Callable[[float], HyperDistribution]] = {
    "U(0, b)": lambda b: Uniform(0.0, b),
    "Beta(½, ½) on [0, b]": lambda b: Beta(0.5, 0.5, 0.0, b),
    "Beta(2½, 2½) on [0, b]": lambda b: Beta(2.5, 2.5, 0.0, b),
    "N(0, b/2) on [0, b]": lambda b: TruncatedNormal(0.0, b / 2, 0.0, b),
    "[0, b/4] or [¾b, b]": lambda b: Piecewise((0.0, b / 4, 3 * b / 4, b), (0.5, 0.0, 0.5)),
}
_ESTIMATORS: Mapping[str, Callable[[Answers, Any], Any]] = {
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
_BASELINES = ("auto", "majority", "truth_discovery", "crh", "accu", "minimax_entropy")
_MOST_SECONDS = 120


def _share(found: Any, truth: Any) -> float:
    return float(np.equal(found, truth).mean())


def _reports(
    name: str, layout: Layout, noise: Perturbation, seed: Any, trials: int, *, session: int
) -> Iterator[tuple[Answers, IntArray]]:
    """Yield each trial's reports, and the truths of the tasks that have one."""
    answers, generator = layout.crowd.answers, np.random.default_rng(seed)
    for labels in draw_labels(layout, noise, SimulatedNoise(session, session=name), start=0, stop=trials):
        numbers = draw_renumbering(answers.num_classes, answers.sizes, generator)
        truth = numbers[np.arange(answers.num_tasks), np.maximum(layout.crowd.truth, 0)][layout.is_gold]
        yield dataclasses.replace(answers, labels=numbers[answers.tasks, labels]), truth


def _noises(layout: Layout) -> Iterator[tuple[str, Perturbation, float]]:
    """Yield laws by their names, with what one answer of the worker who gives most costs: all cost as many."""
    parameters = layout.parameters
    most = parameters.max_answers
    sizes = tuple(sorted((parameters.sizes[number] for number in parameters.set_of_task), reverse=True)[:most])
    yield "one layer", make_noise(msgspec.structs.replace(parameters, mechanism="one_layer", epsilon_worker=most)), 1.0
    for name, make in _LAWS.items():
        below, above = 0.0, 1.0
        for _ in range(30):
            middle = (below + above) / 2
            below, above = (below, middle) if loss_of_all_answers(sizes, make(middle)) <= most else (middle, above)
        two = msgspec.structs.replace(parameters, mechanism="two_layer", hyper=make(above))
        yield name, make_noise(two), loss_of_one_answer(sizes, make(above))


def _laws(folder: str, trials: int) -> Iterator[str]:
    """Yield the table of means over all crowds, and that of each crowd."""
    cells: dict[str, dict[str, Any]] = {}
    for crowd, layout in load_layouts(folder, GRIDS["compared"])[0].items():
        for law, noise, one_answer in _noises(layout):
            known = known_noise(noise, layout.parameters.sizes)
            shares = [
                [_share(infer(reports, known).truths[layout.is_gold], truth) for infer in _ESTIMATORS.values()]
                for reports, truth in _reports(crowd, layout, noise, _SEED, trials, session=_SEED)
            ]
            flips = float(np.mean(noise.flip_probabilities))
            cells.setdefault(law, {})[crowd] = flips, one_answer, 100 * np.array(shares)
    columns = ("law", "flips", "R", *_ESTIMATORS)
    rows: list[Sequence[str]] = []
    errors: list[float] = []
    for law, of_law in cells.items():
        flips, ones, accuracies = (np.mean(own, axis=0) for own in zip(*of_law.values(), strict=True))
        errors += (accuracies.std(axis=0, ddof=1) / np.sqrt(trials)).tolist()
        rows.append((law, *_shown(flips, ones, accuracies)))
    note = (
        f"Accuracy in percent, the mean of {len(cells['one layer'])} crowds and {trials} trials of each, with standard "
        f"errors of at most {max(errors):.1f}. All answers of the worker who gives most, m, cost J = 1·m by any law. "
        "flips: how often an answer is flipped, on average; R: what one answer costs, the others known. ÷ all: the "
        "log-odds of right answers over the number of all tasks, as equation 3 prints it."
    )
    yield markdown_of(Table(columns=columns, rows=rows, caption="Laws and weights at one proven loss", note=note))
    rows = [(crowd, law, *_shown(*cell)) for law, of_law in cells.items() for crowd, cell in of_law.items()]
    note = "Accuracy in percent."
    yield markdown_of(Table(columns=("crowd", *columns), rows=rows, caption="Crowd by crowd", note=note, labels=2))


def _shown(flips: float, one_answer: float, accuracies: Any) -> Iterator[str]:
    yield f"{flips:.3f}"
    yield f"{one_answer:.2f}"
    yield from (f"{mean:.1f}" for mean in accuracies.mean(axis=0))


def _cells(folder: Path, *, glad: bool) -> Iterator[dict[str, Any]]:
    """Yield the accuracies of each crowd, mechanism and ε."""
    mechanisms, epsilons = ("one_layer", "two_layer"), (0.5, 1.0, 2.0, 4.0, 6.0)
    for name in (name for name in CROWDS if (folder / name).is_dir()):
        layout = Layout.of(load_crowd(name, folder))
        for mechanism, epsilon in itertools.product(mechanisms, epsilons):
            parameters = msgspec.structs.replace(layout.parameters, epsilon=epsilon, mechanism=mechanism)
            noise = make_noise(parameters)
            ((reports, truth),) = _reports(name, layout, noise, [1, round(10 * epsilon)], 1, session=1)
            cell: dict[str, Any] = {"crowd": name, "mechanism": mechanism, "epsilon": epsilon, "number": len(truth)}
            for estimator in _BASELINES:
                own = msgspec.structs.replace(parameters, estimator=estimator)
                _, found = find_truths(reports, parameters=own, noise=noise)
                cell[estimator] = round(_share(found.truths[layout.is_gold], truth), 4)
            cell["glad"] = ""
            if glad and (mechanism, epsilon) == ("one_layer", 2.0):
                cell["glad"] = _glad(reports, layout, truth)
            print(cell)
            yield cell


def _crowd_kit(codes: Sequence[IntArray], name: str) -> Any:
    with tempfile.TemporaryDirectory() as place, open_rival("crowd_kit", most_seconds=_MOST_SECONDS) as rival:
        save_codes(Path(place), *codes)
        return rival.ask([place, "codes", name])


def _glad(reports: Answers, layout: Layout, truth: IntArray) -> object:
    try:
        answer = _crowd_kit((reports.tasks, reports.workers, reports.labels), "GLAD")
    except RivalError as error:
        return str(error)
    truths = np.full(reports.num_tasks, -1)
    truths[np.unique(reports.tasks)] = answer["labels"]
    return round(_share(truths[layout.is_gold], truth), 4)


def _rounds(folder: str) -> None:
    """Print by how much the ends of EM differ."""
    print("| crowd | estimator | rounds, crowd-kit | rounds, ours | same truths | same truths, rounds= |")
    print("| :--- | :--- | ---: | ---: | ---: | ---: |")
    cells: list[Any] = []
    cases = itertools.product(load_layouts(folder, GRIDS["compared"])[0].items(), (None, 2.0, 1.0, 0.5))
    for (crowd, layout), epsilon in cases:
        answers, title = layout.crowd.answers, f"{crowd}, as answered"
        labels = answers.labels
        if epsilon is not None:
            noise = noise_at(layout, "one_layer", unit="one answer", price=epsilon)
            (labels,) = draw_labels(layout, noise, SimulatedNoise(1, session=crowd), start=0, stop=1)
            title = f"{crowd}, ε = {epsilon:g}"
        codes = (answers.tasks, answers.workers, labels)
        for kind in (DawidSkene, OneCoinDawidSkene):
            theirs = _crowd_kit(codes, kind.__name__)
            fits = [kind().fit(codes), kind(rounds=theirs["rounds"]).fit(codes)]
            shares = [_share(fit.labels_[np.unique(codes[0])], theirs["labels"]) for fit in fits]
            own = len(fits[0].loss_history_)
            cells.append((*shares, abs(own - theirs["rounds"])))
            print(f"| {title} | {kind.__name__} | {theirs['rounds']} | {own} | {shares[0]:.4f} | {shares[1]:.4f} |")
    alone, as_many, rounds = zip(*cells, strict=True)
    print(f"\nThe least share is {min(alone):.4f}, by {max(rounds)} rounds at most; with rounds= {min(as_many):.4f}.")


def _main() -> None:
    asked = options(__doc__, trials=20, record=False, cells="", glad=False, rounds=False)
    folder = os.environ[DATA_VARIABLE]
    if asked.rounds:
        _rounds(folder)
        return
    if not asked.cells:
        text, by_crowd = _laws(folder, asked.trials)
        print(f"{text}\n\n{by_crowd}")
        if asked.record:
            rewrite_between_marks(DOCS / "truth-discovery-estimators.md", text)
        return
    cells = list(_cells(Path(folder), glad=asked.glad))
    for estimator in _BASELINES:
        print(f"{estimator:16} {100 * np.mean([cell[estimator] for cell in cells]):.1f}")  # each crowd has as many
    with Path(asked.cells).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(cells[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(cells)


if __name__ == "__main__":
    _main()
