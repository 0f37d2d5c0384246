"""The reproduction's tables as people read them."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from ...experiments.measurements import Measurement
from ...experiments.sheets import in_percent, pivot
from ...tables import Table
from .published import PARTNERS_OF_FIGURE, PARTNERS_OF_TABLES
from .rows import Cell, Cost, PublishedCell, Reproduction

__all__ = ["NAMES", "sheets_of"]

NAMES = {
    "printed": "printed",
    "joint": "joint",
    "laplace": "Laplace",
    "two_point": "two points",
    "signed_rr": "k-RR",
    "optimal": "optimal",
}
"""What variants are called in tables and pictures."""

_ALGORITHMS = {"printed": "DPWeVote", "laplace": "Baseline"}
_WORKLOADS = {
    "all-heavy": "all weights 3, 60 % yes: the vote should pass",
    "few-heavy": "nine in ten weigh 1, one in ten 3, 40 % yes: the vote should fail",
}
_EPSILONS_OF_SKEWED = (1.0, 2.0, 3.0, 5.0)
_LARGE, _TINY = 1000, 1e-4


def sheets_of(reproduction: Reproduction) -> Iterator[Table]:
    """Yield all tables, in the order in which they are read."""
    for num_partners in PARTNERS_OF_TABLES:
        title = f"Table 3, accuracy in percent: n = {num_partners}"
        yield _published(reproduction.table_3, num_partners, title, are_shares=True)
    for num_partners in PARTNERS_OF_TABLES:
        title = f"Table 4, MSE_q: n = {num_partners}"
        yield _published(reproduction.table_4, num_partners, title, are_shares=False)
    for workload, title in _WORKLOADS.items():
        yield _skewed([cell for cell in reproduction.skewed if cell.workload == workload], title)
    yield from _mechanisms(reproduction)
    for price in dict.fromkeys(cost.price for cost in reproduction.costs):
        yield _costs([cost for cost in reproduction.costs if cost.price == price], price)


def _published(cells: Sequence[PublishedCell], num_partners: int, title: str, *, are_shares: bool) -> Table:
    found = pivot(
        (cell for name in _ALGORITHMS for cell in cells if (cell.num_partners, cell.variant) == (num_partners, name)),
        lines=lambda cell: cell.epsilon,
        columns=lambda cell: _ALGORITHMS[cell.variant],
    )
    rows = found.rows(
        lambda epsilon: [f"{epsilon:g}"],
        lambda cell: in_percent(cell.ours) if are_shares else _with_error(cell.ours),
        lambda cell: f"{100 * cell.published.value:.2f}" if are_shares else _number(cell.published.value),
        lambda cell: f"{cell.difference:+.1f}",
    )
    return Table(
        caption=title,
        columns=["ε", *(header for algorithm in found.columns for header in (algorithm, "paper", "diff"))],
        rows=rows,
        note=(
            "DPWeVote: variant printed, Baseline: variant laplace, both ours ± the standard error; diff: ours less the "
            "paper's, in joint standard errors"
        ),
        labels=0,
    )


def _skewed(cells: Sequence[Cell], title: str) -> Table:
    found = pivot(
        (cell for cell in cells if cell.epsilon in _EPSILONS_OF_SKEWED),
        lines=lambda cell: (cell.num_partners, cell.epsilon),
        columns=lambda cell: cell.variant,
    )
    rows = found.rows(
        lambda place: [f"{place[0]}", f"{place[1]:g}"],
        lambda cell: in_percent(cell.accuracy),
        lambda cell: f"{100 * cell.normal_law:.1f}",
    )
    headers = ["n", "ε", *(header for variant in found.columns for header in (NAMES[variant], "normal"))]
    few = [cell for cell in cells if cell.num_partners == min(PARTNERS_OF_FIGURE)]
    off = max(abs(cell.accuracy.value - cell.normal_law) for cell in few)
    note = (
        "accuracy in percent; normal: approximated by the normal law of the margin, with the term of its skewness; at "
        f"n = {min(PARTNERS_OF_FIGURE)} the trials differ from it by up to {100 * off:.1f} percentage points"
    )
    return Table(caption=f"Skewed votes, {title}", columns=headers, rows=rows, note=note, labels=0)


def _mechanisms(reproduction: Reproduction) -> Iterator[Table]:
    found = pivot(reproduction.mechanisms, lines=lambda row: row.mechanism, columns=lambda row: row.epsilon)
    headers = ["variant", *(f"ε = {epsilon:g}" for epsilon in found.columns)]
    moments = found.rows(lambda name: [name], lambda row: f"{row.second_moment:.4g}")
    prototypes = found.line("optimal, uniform prior", lambda row: _or_empty(row.prototype_second_moment, ".4g"))
    moments.append(["prototype of reading W8, optimal", *prototypes])
    note = (
        "E[t²] of one report, t standing for ±1, ±2 or ±3 alike; printed is biased, the others are not; the prototype "
        "is a first program, which shares nothing with Psephos"
    )
    yield Table(
        caption="Second moment of a report at the same ε (reading W8: weight and opinion in one report)",
        columns=headers,
        rows=moments,
        note=note,
    )
    accuracies = found.rows(lambda name: [name], lambda row: in_percent(row.accuracy))
    for name in ("printed", "optimal, uniform prior"):
        label = f"prototype of reading W8, {name.partition(',')[0]}"
        accuracies.append([label, *found.line(name, lambda row: _or_empty(row.prototype_accuracy, ".1f", times=100))])
    note = "100 partners, uniform votes, ten times as many trials as elsewhere"
    yield Table(
        caption="Accuracy in percent at the same ε",
        columns=headers,
        rows=accuracies,
        note=note,
    )
    bounds: list[list[str]] = []
    for name in dict.fromkeys(row.mechanism for row in reproduction.mechanisms if row.lower_bound is not None):
        least = found.line(name, lambda row: _or_empty(row.lower_bound, ".6g"))
        above = found.line(name, lambda row: _or_empty(row.gap, ".0e"))
        bounds += [[f"{name}: least possible", *least], [f"{name}: at most above it", *above]]
    note = "least possible, proven: no unbiased mechanism has less in the worst case (or on average over the prior)"
    yield Table(caption="The optimal mechanism's certificate: variance", columns=headers, rows=bounds, note=note)


def _costs(costs: Sequence[Cost], price: float) -> Table:
    found = pivot(costs, lines=lambda cost: cost.variant, columns=lambda cost: cost.num_candidates)
    rows = [["ε a candidate", *(f"{price / number:.3g}" for number in found.columns)]]
    for variant in found.lines:
        variances = found.line(variant, lambda cost: f"{'* ' * cost.is_best}{_number(cost.worst_variance)}")
        rows.append([NAMES.get(variant, variant), *variances])
        for label, cell in _DETAILS.get(variant.partition(",")[0], {}).items():
            rows.append([label, *found.line(variant, cell)])
    headers = ["candidates", *map(str, found.columns)]
    note = (
        "Greatest variance of what a partner adds to a margin; * the best unbiased variant. Weights again: all phases "
        "for each candidate, as the paper has it. Worse from n: with more partners the bias makes its worst error "
        "greater than that of the best unbiased variant. `joint` has the split that suits it best."
    )
    title = f"One price for the whole session: ε = {price:g}"
    return Table(caption=title, columns=headers, rows=rows, note=note)


def _worse_from(cost: Cost) -> str:
    return f"{max(cost.partners_until_worse or 0.0, 1):,.0f}"


_DETAILS: Final[dict[str, dict[str, Callable[[Cost], str]]]] = {
    "printed": {
        "– ε a report": lambda cost: f"{cost.epsilon_opinion:.2g}",
        "– bias": lambda cost: f"{cost.worst_bias:.2g}",
        "– worse from n": _worse_from,
    },
    "joint": {
        "– ε the weight": lambda cost: f"{cost.epsilon_weight:.2g}",
        "– ε an opinion": lambda cost: f"{cost.epsilon_opinion:.2g}",
    },
}
"""What a table of costs adds to a variant."""


def _or_empty(value: float | None, form: str, *, times: float = 1.0) -> str:
    return "" if value is None else format(times * value, form)


def _with_error(measurement: Measurement) -> str:
    """Return value and error, with the decimals that the error's first digit has."""
    if measurement.standard_error <= 0:
        return f"{measurement.value:.4g} ± 0"
    decimals = max(-math.floor(math.log10(measurement.standard_error)), 0)
    return f"{measurement.value:.{decimals}f} ± {measurement.standard_error:.{decimals}f}"


def _number(value: float) -> str:
    """Return a number with four digits, not as a power of ten unless it is very small."""
    if value >= _LARGE:
        return f"{value:,.0f}"
    if value < _TINY:
        return f"{value:.3g}"
    return f"{value:.{max(3 - math.floor(math.log10(value)), 0)}f}"
