"""The reproduction's tables as people read them."""

from collections.abc import Iterator, Sequence
from typing import Final

from ...experiments.sheets import in_percent, pivot
from ...tables import Table, listed
from .cells import MECHANISM_NAMES
from .rows import ChoiceRow, ComparisonRow, PublishedCell, Reproduction

__all__ = ["sheets_of"]

_UNIT_NAMES: Final = {
    "claimed": "the paper's ε of one answer, as claimed",
    "all answers": "all answers of the worker with most answers, proven (the loss a time their number)",
    "one answer": "one answer of that worker, the others known, proven",
}
_HEADERS: Final = {
    "truth_discovery": "TD",
    "majority": "MV",
    "one_coin": "1C",
    "dawid_skene": "DS",
    "noise_aware": "NA",
    "noise_aware_dawid_skene": "NADS",
    "auto": "auto",
}
"""Of estimators, in the order of their columns."""
_LAYERS: Final = {"one_layer": "one", "two_layer": "two"}
_TITLES: Final = {"table_2": "Table 2, peer grading (a made-up stand-in)", "table_3": "Table 3, Duchenne smiles"}


def sheets_of(reproduction: Reproduction) -> Iterator[Table]:
    """Yield all tables, in the order in which they are read."""
    yield _crowds(reproduction)
    for name, cells in (("table_2", reproduction.table_2), ("table_3", reproduction.table_3)):
        if not cells:
            continue
        for mechanism, words in MECHANISM_NAMES.items():
            of_mechanism = [cell for cell in cells if cell.mechanism == mechanism]
            yield _published(of_mechanism, f"{_TITLES[name]}: error rate change, {words}, in percentage points")
        yield _absolute(cells, f"{_TITLES[name]}: error rates in percent, and what is proven")
    for unit, words in _UNIT_NAMES.items():
        choices = [choice for choice in reproduction.choices if choice.unit == unit]
        yield _mechanisms(choices, reproduction.comparisons, f"One layer or two, at one price: {words}")
    for mechanism in MECHANISM_NAMES:
        yield _estimators(reproduction, mechanism)
    for unit, words in _UNIT_NAMES.items():
        choices = [choice for choice in reproduction.choices if choice.unit == unit]
        yield _choices(choices, f"Who wins at one price: {words}")
    yield from _hypers(reproduction)
    yield _bounds(reproduction)


def _crowds(reproduction: Reproduction) -> Table:
    return listed(
        reproduction.crowds,
        (
            ("crowd", lambda row: row.crowd),
            ("tasks", lambda row: f"{row.tasks:,}"),
            ("workers", lambda row: f"{row.workers}"),
            ("answers", lambda row: f"{row.answers:,}"),
            ("gold", lambda row: f"{row.gold:,}"),
            ("labels", lambda row: f"{row.labels}"),
            ("most", lambda row: f"{row.most_answers:,}"),
            ("const", lambda row: f"{100 * row.largest_class:.1f}"),
            ("MV", lambda row: f"{100 * row.majority:.1f}"),
            ("TD", lambda row: f"{100 * row.truth_discovery:.1f}"),
            ("auto", lambda row: f"{100 * row.auto:.1f}"),
        ),
        caption="The crowds, and the accuracy of what is found in their clean answers, in percent",
        note="gold: tasks with a known truth and an answer; most: answers of one worker; const: always the "
        "most frequent truth; MV: majority voting; TD: the paper's truth discovery; auto: our choice. "
        "peer-grading is a made-up stand-in of the size that Table 1 gives: the paper's own data are not "
        "published.",
    )


def _published(cells: Sequence[PublishedCell], title: str) -> Table:
    found = pivot(cells, lines=lambda cell: cell.epsilon, columns=lambda cell: (cell.estimator, cell.method[:2]))
    rows = found.rows(
        lambda epsilon: [f"{epsilon:g}"],
        lambda cell: in_percent(cell.change),
        lambda cell: f"{100 * cell.published.value:.2f}",
        lambda cell: f"{cell.difference:+.1f}",
    )
    headers = ["ε", *(header for _, method in found.columns for header in (method, "paper", "diff"))]
    note = (
        "ours ± the standard error; diff: ours less the paper's, in joint standard errors, the paper's means being "
        "taken as of 100 trials that spread as ours do"
    )
    return Table(caption=title, columns=headers, rows=rows, note=note, labels=0)


def _absolute(cells: Sequence[PublishedCell], title: str) -> Table:
    found = pivot(cells, lines=lambda cell: cell.epsilon, columns=lambda cell: cell.method)
    majority = [cell for cell in cells if cell.estimator == "majority"]
    proven = pivot(majority, lines=lambda cell: cell.epsilon, columns=lambda cell: cell.mechanism)
    rows = [
        [
            f"{epsilon:g}",
            *found.line(epsilon, lambda cell: in_percent(cell.error_rate)),
            *proven.line(
                epsilon, lambda cell: f"{cell.epsilon_answer:.3g}", lambda cell: f"{cell.epsilon_worker:,.4g}"
            ),
        ]
        for epsilon in found.lines
    ]
    headers = ["ε", *map(_short, found.columns), "R one", "J one", "R two", "J two"]
    note = (
        "the paper has the changes alone, each against the method's own clean error; R, J: what is proven for one "
        "answer and for all answers of the worker with most answers, with one layer and with two; the paper says ε "
        "for both"
    )
    return Table(caption=title, columns=headers, rows=rows, note=note, labels=0)


def _mechanisms(choices: Sequence[ChoiceRow], comparisons: Sequence[ComparisonRow], title: str) -> Table:
    found = pivot(
        (row for estimator in ("truth_discovery", "auto") for row in comparisons if row.estimator == estimator),
        lines=lambda row: (row.crowd, row.unit, row.price),
        columns=lambda row: (row.estimator, row.mechanism),
    )
    rows: list[list[str]] = []
    for choice in choices:
        place, gain = (choice.crowd, choice.unit, choice.price), choice.two_layer_gain
        accuracies = found.line(place, lambda row: in_percent(row.accuracy), missing="–")
        rows.append(
            [choice.crowd, f"{choice.price:g}", *accuracies, "–" if gain is None else in_percent(gain, signed=True)]
        )
    headers = ["crowd", "price", "TD one", "TD two", "auto one", "auto two", "gain"]
    note = (
        "accuracy in percent; flips: the probability that an answer is reported as another label, on average; gain: "
        "TD with two layers less TD with one; –: two layers cannot have this price"
    )
    return Table(caption=title, columns=headers, rows=rows, note=note)


def _estimators(reproduction: Reproduction, mechanism: str) -> Table:
    found = pivot(
        (
            row
            for name in _HEADERS
            for row in reproduction.comparisons
            if (row.unit, row.mechanism, row.estimator) == ("claimed", mechanism, name)
        ),
        lines=lambda row: (row.crowd, row.price),
        columns=lambda row: row.estimator,
    )
    rows = found.rows(lambda place: [place[0], f"{place[1]:g}"], _accuracy_or_lead)
    return Table(
        caption=f"What else finds truths, {MECHANISM_NAMES[mechanism]}, at equal claimed ε",
        columns=["crowd", "ε", *_HEADERS.values()],
        rows=rows,
        note=(
            "TD: accuracy in percent; others: points more or less, on the same reports. MV: majority voting, 1C: one "
            "coin, DS: Dawid-Skene, NA and NADS: the two that know the perturbation. comparisons.csv has each lead's "
            "error."
        ),
    )


def _accuracy_or_lead(row: ComparisonRow) -> str:
    if row.estimator == "truth_discovery":
        return in_percent(row.accuracy)
    if row.lead is None:
        return ""
    return in_percent(row.lead, signed=True) if row.estimator == "auto" else f"{100 * row.lead.value:+.1f}"


def _choices(choices: Sequence[ChoiceRow], title: str) -> Table:
    note = (
        "accuracy in percent; at equal claimed ε the mechanism is the paper's, two layers; at equal proven loss TD has "
        "the mechanism that is better for it, which a user would have to know; lead: auto less TD, trial by trial"
    )
    return listed(
        choices,
        (
            ("crowd", lambda choice: choice.crowd),
            ("price", lambda choice: f"{choice.price:g}"),
            ("best", lambda choice: f"{_HEADERS[choice.best_estimator]} on {_LAYERS[choice.best_mechanism]}"),
            ("accuracy", lambda choice: in_percent(choice.best)),
            ("TD on", lambda choice: _LAYERS[choice.paper_mechanism]),
            ("TD", lambda choice: f"{100 * choice.paper.value:.1f}"),
            ("auto on", lambda choice: _LAYERS[choice.auto_mechanism]),
            ("auto", lambda choice: f"{100 * choice.auto.value:.1f}"),
            ("lead", lambda choice: in_percent(choice.auto_lead, signed=True)),
        ),
        caption=title,
        note=note,
    )


def _hypers(reproduction: Reproduction) -> Iterator[Table]:
    for epsilon in dict.fromkeys(row.epsilon for row in reproduction.hypers):
        found = [row for row in reproduction.hypers if row.epsilon == epsilon]
        table = pivot(found, lines=lambda row: row.hyper, columns=lambda row: row.num_answers)
        rows = table.rows(
            lambda name: [name], lambda row: f"{row.all_answers:.3f}", lambda row: f"{row.one_answer:.3f}"
        )
        headers = ["hyper-distribution", *(f"{what} m = {number}" for number in table.columns for what in ("J", "R"))]
        yield Table(
            caption=f"Hyper-distributions of mean {found[0].mean:.3f}, claimed ε = {epsilon:.3g}, two labels",
            columns=headers,
            rows=rows,
            note="what is proven for a worker with m answers: J for all of them, R for one, the others known",
        )


def _bounds(reproduction: Reproduction) -> Table:
    return listed(
        reproduction.bounds,
        (
            ("workers", lambda row: f"{row.num_workers}"),
            ("p", lambda row: f"{row.quality:g}"),
            ("exact error", lambda row: f"{row.exact:.3g}"),
            ("bound (7)", lambda row: f"{row.printed:.3g}"),
            ("Chernoff's", lambda row: f"{row.chernoff:.3g}"),
        ),
        caption="The error bound (7), workers all alike (reading T8)",
        note="p in the paper's folding: ½ is the worst worker; a bound below the error is none",
        labels=0,
    )


def _short(method: str) -> str:
    return method.replace(" with ", " ").removesuffix("-layer")
