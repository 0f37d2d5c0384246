"""Show truth discovery's outcome: each task's label, its confidence, and whether it is right if the truth is known.

A task has three labels: the estimate, the same estimator's result on clean answers, and the truth. Comparing the first
two shows the effect of the perturbation; comparing with the truth also shows the quality of the crowd.
"""

import collections
import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.text import Text

from ...protocol.estimators import DEFAULT_LEVEL, Estimate
from ...protocol.estimators.truth_inference import SupportLimits
from ...protocol.truth_discovery import CREDITS, Outcome, OwnOutcome
from ..presentation.charts import EDGES, Axis, Chart, Panel
from ..presentation.drawing import ERRORS_SHOWN, GOOD, MOST_ROWS, MUTED, POOR, RULE, WHITE, WITHIN, fold
from ..presentation.numbers import join_words, pluralize
from ..presentation.plain import PLAIN
from ..presentation.presenter import Brief, Known, Presenter
from ..presentation.terminal import show_note, show_table
from ..tables import Cell, Entry, Rows, Table
from ..words import say_number

# Up to this number, a table has all tasks; otherwise those with the least confidence. The file has all.
_FEW_TASKS: Final = 15
_MOST_TASKS: Final = 10
_BRIEFLY: Final = 8  # most tasks in a brief table
_BIN: Final = 0.05
_OF_WEIGHTS: Final = "the label's share of the weighted reports, which is no probability"
_COUNTED: Final = "noisy counts"
_MASKED: Final = "masked sums"
_CONFIDENCES: Final = {
    _COUNTED: "the share of the answers that the label is expected to have, given the noisy counts; no probability",
    _MASKED: (
        "the share of the answers that the label is expected to have, given the noisy counts; no probability. Who "
        "skips a task is not seen, so that its support is of those who were asked"
    ),
    "majority": "the label's share of the reports, which is no probability",
    "truth_discovery": "from the label's share of the weighted reports",
    "crh": _OF_WEIGHTS,
    "noise_aware_crh": _OF_WEIGHTS,
    "cautious": (
        "from the label's posterior probability by noise_aware; the label is what cautious takes, by three models, and "
        "another may be likelier"
    ),
}
_POSTERIOR: Final = "from the label's posterior probability"
_IN_THE_LONG_RUN: Final = f"{100 * (1 - DEFAULT_LEVEL):g} %"
# Distinguished by shape too, for color-blind readers.
_MARKS: Final[dict[bool | None, dict[str, Any]]] = {
    True: {"color": GOOD, "marker": "o", "markersize": 7},
    False: {"color": POOR, "marker": "X", "markersize": 9, "mec": "white"},
    None: {"color": RULE, "marker": "o", "markersize": 7, "mfc": "white"},
}
_POSSIBLE: Final[dict[str, Any]] = {"color": WITHIN}
_ROW_INCHES: Final = 0.16
_BARS_INCHES: Final = 1.5
_VERDICTS: Final = {True: "right", False: "wrong", None: "truth not known"}


@dataclasses.dataclass(frozen=True)
class _TaskOutcome:
    """One task of an outcome, with known labels by name; None for unknown ones."""

    name: str
    found: str | None
    confidence: float | None
    model_confidence: float | None
    confidences: tuple[float, float] | None
    rank: int
    supports: Mapping[str, Estimate] | None
    limits: SupportLimits | None
    num_answers: int
    clean: str | None
    gold: str | None

    @property
    def is_right(self) -> bool | None:
        """Whether the estimated label is true; None without a label, or if the truth is unknown."""
        return None if self.found is None or self.gold is None else self.found == self.gold

    @property
    def sureness(self) -> float | None:
        """The rank of a task: the confidence, or without one the estimator's score."""
        return self.model_confidence if self.confidence is None else self.confidence

    @property
    def counted(self) -> SupportLimits | None:
        """The limits of the confidence, if there is a label with informative reports."""
        return None if self.supports is None else self.limits


def _tasks(outcome: Outcome, known_truth: Known) -> list[_TaskOutcome]:
    truth, gold = known_truth.truth or {}, known_truth.gold or {}
    supports, limits, ranges = outcome.supports, outcome.limits_of_found(), outcome.confidence_ranges
    places = range(len(outcome.tasks))
    sureness = outcome.confidences if outcome.estimator in CREDITS else outcome.model_confidences
    ranks = {each: rank for rank, each in enumerate(sorted(places, key=lambda task: -(sureness[task] or 0)), 1)}
    return [
        _TaskOutcome(
            name=name,
            found=outcome.truths[place],
            confidence=outcome.confidences[place],
            model_confidence=outcome.model_confidences[place],
            confidences=ranges[place],
            rank=ranks[place],
            supports=supports[place],
            limits=limits[place],
            num_answers=outcome.num_answers[place],
            clean=truth.get(name),
            gold=gold.get(name),
        )
        for place, name in enumerate(outcome.tasks)
    ]


def _show(console: Console, outcome: Outcome, known_truth: Known) -> None:
    tasks = _tasks(outcome, known_truth)
    if not (known_truth.is_brief and outcome.has_converged):
        _show_source(console, outcome)
    _show_comparisons(console, tasks, is_brief=known_truth.is_brief)
    if known_truth.is_brief and len(tasks) > _BRIEFLY:
        return
    console.print()
    shown_tasks = tasks
    if len(tasks) > _FEW_TASKS:  # least confidence first; tasks without an answer last
        shown_tasks = sorted(tasks, key=lambda task: math.inf if task.sureness is None else task.sureness)[:_MOST_TASKS]
    if len(shown_tasks) < len(tasks):
        console.print(Text(f"The {len(shown_tasks)} that are least sure", style="bold"))
        console.print()
    drop = ("Clean answers", "Support", "True", "Confidence", "Share", "Rank")
    show_table(console, _table_of(shown_tasks, outcome, known_truth), drop=drop, whole=known_truth.table)
    if len(shown_tasks) < len(tasks):
        show_note(console, f"{known_truth.table} has all {len(tasks):,}, in their order")
    if known_truth.is_brief:
        return
    verb = "were asked" if outcome.planned else "answered"
    if any(task.counted is not None for task in shown_tasks):
        show_note(
            console,
            f"Support: how many workers gave the label before the perturbation, of those who {verb}: limits that "
            f"hold for {_IN_THE_LONG_RUN} of all tasks, although the same reports chose the label. "
            f"{known_truth.table} has "
            "the estimate of every label, without bias.",
        )
    show_note(console, _meaning(outcome))


def _meaning(outcome: Outcome) -> str:
    """Return an explanation of confidence."""
    counted_words = _MASKED if outcome.planned else _COUNTED
    confidence_kind = outcome.estimator if isinstance(outcome.noise_scale, msgspec.UnsetType) else counted_words
    subject, credit = _CONFIDENCES.get(confidence_kind, _POSTERIOR), CREDITS.get(outcome.estimator)
    if credit is None:
        return (
            f"Rank: by what {outcome.estimator} says of itself, the surest task being the first. No crowd was held "
            "against this estimator, so that no confidence is said."
        )
    if not credit.least or outcome.is_calibrated is False:
        return (
            f"Confidence: {subject}. It ranks the tasks, the surest being the first: with this estimator, its settings "
            "and this ε, published crowds do not tell what it is worth, so that no probability is said."
        )
    if _is_share(outcome):
        return f"Share: {subject}."
    return (
        f"Confidence: {subject}; of the accuracy beyond guessing, {100 * credit.least:.0f} to {100 * credit.most:.0f} "
        "% "
        "was kept on published crowds, from the worst to the best: it ranks the tasks, and of a new crowd nothing says "
        "where it is."
    )


def _is_share(outcome: Outcome) -> bool:
    """Return whether the score is a share of votes, not a probability."""
    return outcome.estimator in CREDITS and CREDITS[outcome.estimator].average == 1


def _heading(outcome: Outcome) -> str:
    """Return the heading of the column of confidences."""
    return "Rank" if outcome.estimator not in CREDITS else "Share" if _is_share(outcome) else "Confidence"


def _table_of(tasks: Sequence[_TaskOutcome], outcome: Outcome, known_truth: Known) -> Table:
    """Return a table with a row for each task."""
    with_clean = known_truth.truth is not None and not known_truth.is_brief
    with_gold = any(task.gold is not None for task in tasks)
    texts = ["Task", "Truth found", *["Clean answers"] * with_clean, *["True", "Right?"] * with_gold]
    rows: list[Sequence[Entry]] = []
    for task in tasks:
        cells: list[Entry] = [task.name, Cell(task.found or "none", tone="strong" if task.found else "quiet")]
        if with_clean:
            cells.append(Cell(task.clean or "", tone="" if task.clean == task.found else "warning"))
        if with_gold:
            cells.append(task.gold or "")
            right = Cell(_VERDICTS[task.is_right], tone="good" if task.is_right else "poor")
            cells.append(Cell("") if task.is_right is None else right)
        cells.append(_confidences(task))
        if not known_truth.is_brief:
            cells.append(_support(task))
        rows.append(cells)
    numbers = [_heading(outcome), *["Support"] * (not known_truth.is_brief)]
    return Table(columns=[*texts, *numbers], rows=rows, labels=len(texts))


def _confidence(confidence: float | None) -> str:
    """Format a probability in percent, never as if it were certain."""
    if confidence is None:
        return ""
    almost = 0.9995
    return "> 99.9 %" if almost <= confidence < 1 else f"{100 * confidence:.1f} %"


def _confidences(task: _TaskOutcome) -> str:
    """Format a label's confidence; a rank if it is not a probability."""
    if task.confidences is None:
        return "" if task.model_confidence is None else f"rank {task.rank:,}"
    return _range(task.confidences)


def _range(ends: tuple[float, float]) -> str:
    """Format a range of probabilities in percent; one number if both ends are equal."""
    low, high = map(_confidence, ends)
    return high if low == high else f"{low.removesuffix(' %')} to {high}"


def _support(task: _TaskOutcome) -> str:
    if task.counted is None:
        return f"of {task.num_answers:,}" if task.num_answers else ""
    low, high = task.counted
    return f"{f'{low:,} to ' if low < high else ''}{high:,} of {task.num_answers:,}"


def _show_source(console: Console, outcome: Outcome) -> None:
    """Print the numbers of reports, the estimator and the mechanism."""
    number, steps = sum(outcome.num_answers), pluralize(outcome.num_iterations, "iteration")
    workers = pluralize(outcome.num_workers, "worker")
    answers = f"{pluralize(number, 'question')} to" if outcome.planned else f"{pluralize(number, 'answer')} of"
    convergence_note = f", which converged after {steps}" if outcome.num_iterations and outcome.has_converged else ""
    show_note(console, f"From {answers} {workers}, by {outcome.estimator}{convergence_note}.", style="")
    if not isinstance(outcome.levels, msgspec.UnsetType):
        levels = ", ".join(f"{level.epsilon:g} ({level.num_workers:,})" for level in outcome.levels)
        show_note(console, f"Workers by their own ε: {levels}.", style="")
    if outcome.num_iterations and not outcome.has_converged:
        show_note(console, f"{outcome.estimator} had not converged after {steps}: other truths may fit", style="yellow")


def _show_comparisons(console: Console, tasks: Sequence[_TaskOutcome], *, is_brief: bool) -> None:
    """Print how many labels are right, and equal to those from clean answers; nothing if unknown."""
    known_tasks = [task for task in tasks if task.is_right is not None]
    compared_tasks = [task for task in tasks if task.found is not None and task.clean is not None and not is_brief]
    if known_tasks:
        right = [task.is_right is True for task in known_tasks]
        one = "{number:,} of {tasks} with a known truth is right"
        plural_form = "{number:,} of {tasks} with a known truth are right"
        line = say_number(one, plural_form, sum(right), tasks=pluralize(len(known_tasks), "task"))
        line += "" if is_brief else f" ({_share(right)})"
        if all(task.clean is not None for task in known_tasks):
            clean_right = sum(task.clean == task.gold for task in known_tasks)
            share = "" if is_brief else f" ({clean_right / len(known_tasks):.2f})"
            line += f"; from the clean answers {clean_right:,}" + share
        show_note(console, f"{line}.", style="bold")
    if compared_tasks:
        same = [task.found == task.clean for task in compared_tasks]
        one = "{number:,} of {tasks} has the label that the same estimator finds in the clean answers ({share})."
        plural_form = (
            "{number:,} of {tasks} have the label that the same estimator finds in the clean answers ({share})."
        )
        tasks_compared = pluralize(len(compared_tasks), "task")
        show_note(console, say_number(one, plural_form, sum(same), tasks=tasks_compared, share=_share(same)), style="")
    if (known_tasks or compared_tasks) and not is_brief:
        show_note(console, "± is one standard error of the share, for tasks drawn at random.")


def _share(successes: Sequence[bool]) -> str:
    """Format a fraction with its binomial standard error, which is omitted for 0 or 1."""
    share = sum(successes) / len(successes)
    error = math.sqrt(share * (1 - share) / len(successes))
    return f"{share:.2f} ± {error:.2f}" if error else f"{share:.2f}"


def _rows(outcome: Outcome, known_truth: Known) -> Rows:
    rows: Rows = []
    labels = tuple(dict.fromkeys(label for answers in outcome.answer_sets for label in answers))
    for task in _tasks(outcome, known_truth):
        supports = task.supports or {}
        row: dict[str, object] = {
            "task": task.name,
            "truth": task.found,
            "confidence": task.confidence,
            "model_confidence": task.model_confidence,
            **dict(zip(("least_confidence", "most_confidence"), task.confidences or (None, None), strict=True)),
            **dict(zip(("least_support", "most_support"), task.counted or (None, None), strict=True)),
            "num_answers": task.num_answers,
        }
        for label in labels:
            of_label = supports.get(label)
            row[f"support of {label}"] = None if of_label is None else of_label.value
            row[f"standard error of {label}"] = None if of_label is None else of_label.standard_error
        if known_truth.truth is not None:
            row["clean_truth"] = task.clean
        if known_truth.gold is not None:
            row["gold"] = task.gold
        rows.append(row)
    return rows


def _draw(outcome: Outcome, known_truth: Known) -> Chart:
    tasks = _tasks(outcome, known_truth)
    if len(tasks) > MOST_ROWS:
        return _draw_all([task for task in tasks if task.found is not None], outcome)
    drawn_tasks = [task for task in tasks if task.counted is not None]
    kinds = [kind for kind in _MARKS if any(task.is_right is kind for task in drawn_tasks)]
    marks: dict[str, dict[str, Any]] = {
        f"{'share' if kinds == [None] else _VERDICTS[kind]}: limits at {_IN_THE_LONG_RUN}": {
            **_MARKS[kind],
            "linewidth": 2,
        }
        for kind in kinds
    }
    if drawn_tasks:
        marks["shares that are possible"] = {**_POSSIBLE, "marker": "s", "markersize": 11, "linestyle": "none"}
    # A row for each task: the fraction of its workers that gave the label.
    note = f"Beside each row: the label, and its confidence. {_meaning(outcome)}"
    return Chart(panels=[_rows_of_tasks(tasks)], marks=marks, note=note)


def _rows_of_tasks(tasks: Sequence[_TaskOutcome]) -> Panel:
    meaning = "workers who gave the label that was found: share of the task's answers, before the perturbation"
    panel = Panel(
        x=Axis(meaning, is_share=True),
        y=Axis(names=[fold(task.name) for task in tasks]),
        height=_ROW_INCHES,
    )
    panel.area((0, 1), EDGES, level=0.0, **_POSSIBLE)
    for row, task in enumerate(tasks):
        mark = _MARKS[task.is_right]
        if task.counted is not None:
            low, high = (number / task.num_answers for number in task.counted)
            panel.whisker(((low + high) / 2, row), (high - low) / 2 / ERRORS_SHOWN, cap=8, linewidth=2, **mark)
            panel.mark((low + high) / 2, row, **mark)
        words = "no answer" if task.found is None else fold(f"{task.found}, {_confidences(task)}")
        if task.is_right is False:
            words += f"\ntrue: {fold(task.gold or '')}"
        panel.beside[row] = words, mark["color"]
    return panel


def _draw_all(tasks: Sequence[_TaskOutcome], outcome: Outcome) -> Chart:
    """Return histograms of confidences; tasks with a known truth, if only some, have a separate panel."""
    heading = _heading(outcome)
    label = "what the estimator says of itself" if heading == "Rank" else heading.lower()
    split: dict[bool | None, Sequence[_TaskOutcome]] = {
        kind: [task for task in tasks if task.is_right is kind] for kind in (True, False)
    }
    num_known = sum(map(len, split.values()))
    panels: list[Panel] = []
    # Whole bins, with 1 as the last edge.
    num_bins = math.ceil((1 - min((_certainty(task) for task in tasks), default=0.5)) / _BIN) or 1
    if num_known != len(tasks) or not num_known:
        panels.append(_bars({None: tasks}, num_bins, title=f"{pluralize(len(tasks), 'task')} with an answer"))
    if num_known:
        panels.append(_bars(split, num_bins, title=f"{pluralize(num_known, 'task')} with an answer and a known truth"))
    panels[-1].x.label = label
    square = {"marker": "s", "markersize": 10, "linestyle": "none"}
    marks = {
        f"{_VERDICTS[kind]} ({len(tasks_of_kind):,})": {**_MARKS[kind], **square}
        for kind, tasks_of_kind in split.items()
        if num_known
    }
    return Chart(panels=panels, marks=marks, note=_meaning(outcome))


def _bars(tasks: Mapping[bool | None, Sequence[_TaskOutcome]], num_bins: int, *, title: str) -> Panel:
    """Return one stacked histogram of several kinds of tasks."""
    edges = [1 - _BIN * place for place in range(num_bins, -1, -1)]
    panel = Panel(
        title=title,
        x=Axis(is_share=True, ends=(edges[0], 1.0)),
        y=Axis("tasks", least_step=1, base=0.0, seen=[0.0]),
        height=_BARS_INCHES,
    )
    floor = [0] * num_bins
    for kind, of_kind in tasks.items():
        color = MUTED if kind is None else _MARKS[kind]["color"]
        # A value at an edge is in the upper bin, and 1 in the last one.
        bins = (max(num_bins - 1 - math.floor((1 - _certainty(task)) / _BIN), 0) for task in of_kind)
        for place, count in sorted(collections.Counter(bins).items()):
            reach = floor[place], floor[place] + count
            panel.area(edges[place : place + 2], reach, color=color, edge=WHITE, hatch=kind is False)
            floor[place] += count
    return panel


def _certainty(task: _TaskOutcome) -> float:
    return 0.0 if task.sureness is None else task.sureness


def _show_own(console: Console, own_outcome: OwnOutcome, _known: Known) -> None:
    rows = [
        ("weight", f"{own_outcome.weight:+,.2f}"),
        ("quality", _confidence(own_outcome.quality)),
        ("answers that counted", f"{own_outcome.num_answers:,}"),
    ]
    show_table(console, Table(columns=("Told to you alone", "Value"), rows=rows))
    show_note(console, "Weight: how much each of your reports counted; one below 0 spoke against its label.")
    show_note(
        console,
        "Quality: the estimated probability that you are right: in an answer, by estimators that know the "
        "perturbation, in a report, by the others.",
    )


def _brief(outcome: Outcome) -> list[Brief]:
    """Return each task's label."""
    pairs = zip(outcome.tasks, outcome.truths, strict=True)
    return [Brief(task, Text("nobody answered" if label is None else label)) for task, label in pairs]


# Most tasks or labels that a sentence names.
_MOST_SAID: Final = 4


def _conclude(outcome: Outcome) -> str:
    """Return sentences on the labels, and on how many are expected to be right if confidences are probabilities."""
    label_of_task = {
        task: label for task, label in zip(outcome.tasks, outcome.truths, strict=True) if label is not None
    }
    sentence = _describe_truths(label_of_task, len(outcome.tasks))
    told_ranges = [ends for ends in outcome.confidence_ranges if ends is not None]
    if not told_ranges or _is_share(outcome):  # a share of votes is not a probability
        return sentence
    condition = "if this crowd is no worse than the worst of sixteen published ones, and no better than the best"
    if len(told_ranges) == 1:
        right = "That is right with a probability of {chance}, {condition}."
        return f"{sentence} {right.format(chance=_range(told_ranges[0]), condition=condition)}"
    min_right, max_right = (round(math.fsum(ends)) for ends in zip(*told_ranges, strict=True))
    right = "About {least:,} to {most:,} of these {number:,} are right, {condition}."
    return f"{sentence} {right.format(number=len(told_ranges), least=min_right, most=max_right, condition=condition)}"


def _describe_truths(label_of_task: Mapping[str, str], num_tasks: int) -> str:
    """Return the labels of a few tasks; for many, the count of each label."""
    if not label_of_task:
        return "No answer was found: nobody answered."
    if num_tasks <= _MOST_SAID:
        truths_text = join_words([f"{task} is {label}" for task, label in label_of_task.items()])
        return f"{truths_text}." if len(label_of_task) == num_tasks else f"{truths_text}; nobody answered the rest."
    answered = f"A label is named for all {num_tasks:,} tasks"
    if len(label_of_task) < num_tasks:
        answered = f"A label is named for {len(label_of_task):,} of {num_tasks:,} tasks"
    labels = collections.Counter(label_of_task.values()).most_common()
    if len(labels) > _MOST_SAID:
        other_labels = labels[_MOST_SAID:]
        labels[_MOST_SAID:] = [(pluralize(len(other_labels), "other label"), sum(number for _, number in other_labels))]
    shares = [f"{label} for {number:,} ({100 * number / len(label_of_task):.0f} %)" for label, number in labels]
    return f"{answered}: {join_words(shares)}."


TRUTHS: Presenter[Outcome] = Presenter(
    show=_show,
    rows=_rows,
    draw=_draw,
    brief=_brief,
    verdict=_conclude,
    sheet=lambda outcome, known: dataclasses.replace(
        _table_of(_tasks(outcome, known), outcome, known), note=_meaning(outcome)
    ),
)
"""Presents an outcome with a row for each task."""


def _conclude_own(own_outcome: OwnOutcome) -> str:
    """Return a sentence on how many of a worker's answers counted, and its weight."""
    one, plural_form = "{number:,} answer of yours counted", "{number:,} answers of yours counted"
    count_text = say_number(one, plural_form, own_outcome.num_answers)
    return f"{count_text}, with a weight of {own_outcome.weight:+,.2f} each."


OWN_TRUTHS: Presenter[OwnOutcome] = Presenter(show=_show_own, rows=PLAIN.rows, draw=PLAIN.draw, verdict=_conclude_own)
"""Presents a worker's private outcome."""

PRESENTERS: Final[Mapping[type, Presenter[Any]]] = {Outcome: TRUTHS, OwnOutcome: OWN_TRUTHS}
"""Presenters by outcome type."""
