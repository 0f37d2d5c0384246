"""The reproduction's tables as people read them."""

import math
from collections.abc import Iterator, Sequence

from ...experiments.measurements import Measurement
from ...experiments.sheets import Sheet
from .published import EPSILONS, PARTNERS_OF_FIGURE, PARTNERS_OF_TABLES
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
_LARGE, _TINY = 1000, 1e-4


def sheets_of(reproduction: Reproduction) -> Iterator[Sheet]:
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


def _published(cells: Sequence[PublishedCell], num_partners: int, title: str, *, are_shares: bool) -> Sheet:
    by_place = {(cell.variant, cell.epsilon): cell for cell in cells if cell.num_partners == num_partners}
    headers = ["ε"]
    for algorithm in _ALGORITHMS.values():
        headers += [algorithm, "paper", "diff"]
    rows: list[list[str]] = []
    for epsilon in EPSILONS:
        row = [f"{epsilon:g}"]
        for variant in _ALGORITHMS:
            cell = by_place[variant, epsilon]
            paper = cell.published.value
            row += [
                _percent(cell.ours) if are_shares else _with_error(cell.ours),
                f"{100 * paper:.2f}" if are_shares else _number(paper),
                f"{cell.difference:+.1f}",
            ]
        rows.append(row)
    return Sheet(
        title=title,
        headers=headers,
        rows=rows,
        note=(
            "DPWeVote: variant printed, Baseline: variant laplace, both ours ± the standard error; diff: ours less the "
            "paper's, in joint standard errors"
        ),
    )


def _skewed(cells: Sequence[Cell], title: str) -> Sheet:
    variants = list(dict.fromkeys(cell.variant for cell in cells))
    by_place = {(cell.variant, cell.num_partners, cell.epsilon): cell for cell in cells}
    rows: list[list[str]] = []
    for num_partners in PARTNERS_OF_FIGURE:
        for epsilon in (1.0, 2.0, 3.0, 5.0):
            row = [f"{num_partners}", f"{epsilon:g}"]
            for variant in variants:
                cell = by_place[variant, num_partners, epsilon]
                row += [_percent(cell.accuracy), f"{100 * cell.normal_law:.1f}"]
            rows.append(row)
    headers = ["n", "ε", *(header for variant in variants for header in (NAMES[variant], "normal"))]
    few = [cell for cell in cells if cell.num_partners == min(PARTNERS_OF_FIGURE)]
    off = max(abs(cell.accuracy.value - cell.normal_law) for cell in few)
    note = (
        "accuracy in percent; normal: approximated by the normal law of the margin, with the term of its skewness; at "
        f"n = {min(PARTNERS_OF_FIGURE)} the trials differ from it by up to {100 * off:.1f} percentage points"
    )
    return Sheet(title=f"Skewed votes, {title}", headers=headers, rows=rows, note=note)


def _mechanisms(reproduction: Reproduction) -> Iterator[Sheet]:
    rows = reproduction.mechanisms
    epsilons = list(dict.fromkeys(row.epsilon for row in rows))
    by_place = {(row.mechanism, row.epsilon): row for row in rows}
    names = list(dict.fromkeys(row.mechanism for row in rows))
    headers = ["", *(f"ε = {epsilon:g}" for epsilon in epsilons)]
    moments = [[name, *(f"{by_place[name, e].second_moment:.4g}" for e in epsilons)] for name in names]
    prototypes = [by_place["optimal, uniform prior", e].prototype_second_moment for e in epsilons]
    moments.append(["prototype of reading W8, optimal", *("" if m is None else f"{m:.4g}" for m in prototypes)])
    note = (
        "E[t²] of one report, t standing for ±1, ±2 or ±3 alike; printed is biased, the others are not; the prototype "
        "is a first program, which shares nothing with Psephos"
    )
    yield Sheet(
        title="Second moment of a report at the same ε (reading W8: weight and opinion in one report)",
        headers=headers,
        rows=moments,
        note=note,
        num_labels=1,
    )
    accuracies = [[name, *(_percent(by_place[name, e].accuracy) for e in epsilons)] for name in names]
    for name in ("printed", "optimal, uniform prior"):
        known = [by_place[name, e].prototype_accuracy for e in epsilons]
        label = f"prototype of reading W8, {name.partition(',')[0]}"
        accuracies.append([label, *("" if share is None else f"{100 * share:.1f}" for share in known)])
    note = "100 partners, uniform votes, ten times as many trials as elsewhere"
    yield Sheet(
        title="Accuracy in percent at the same ε",
        headers=headers,
        rows=accuracies,
        note=note,
        num_labels=1,
    )
    certified = [name for name in names if by_place[name, epsilons[0]].lower_bound is not None]
    bounds: list[list[str]] = []
    for name in certified:
        found = [by_place[name, e] for e in epsilons]
        bounds.append(
            [f"{name}: least possible", *("" if r.lower_bound is None else f"{r.lower_bound:.6g}" for r in found)]
        )
        bounds.append([f"{name}: at most above it", *("" if r.gap is None else f"{r.gap:.0e}" for r in found)])
    note = "least possible, proven: no unbiased mechanism has less in the worst case (or on average over the prior)"
    yield Sheet(
        title="The optimal mechanism's certificate: variance", headers=headers, rows=bounds, note=note, num_labels=1
    )


def _costs(costs: Sequence[Cost], price: float) -> Sheet:
    numbers = list(dict.fromkeys(cost.num_candidates for cost in costs))
    by_place = {(cost.variant, cost.num_candidates): cost for cost in costs}
    rows = [["ε a candidate", *(f"{price / number:.3g}" for number in numbers)]]
    for variant in dict.fromkeys(cost.variant for cost in costs):
        found = [by_place[variant, number] for number in numbers]
        rows.append([NAMES.get(variant, variant), *(f"{'* ' * c.is_best}{_number(c.worst_variance)}" for c in found)])
        if variant.startswith("printed"):
            rows.append(["– ε a report", *(f"{cost.epsilon_opinion:.2g}" for cost in found)])
            rows.append(["– bias", *(f"{cost.worst_bias:.2g}" for cost in found)])
            until = [cost.partners_until_worse or 0.0 for cost in found]
            rows.append(["– worse from n", *(f"{max(number, 1):,.0f}" for number in until)])
        if variant == "joint":
            rows.append(["– ε the weight", *(f"{cost.epsilon_weight:.2g}" for cost in found)])
            rows.append(["– ε an opinion", *(f"{cost.epsilon_opinion:.2g}" for cost in found)])
    headers = ["candidates", *map(str, numbers)]
    note = (
        "Greatest variance of what a partner adds to a margin; * the best unbiased variant. Weights again: all phases "
        "for each candidate, as the paper has it. Worse from n: with more partners the bias makes its worst error "
        "greater than that of the best unbiased variant. `joint` has the split that suits it best."
    )
    title = f"One price for the whole session: ε = {price:g}"
    return Sheet(title=title, headers=headers, rows=rows, note=note, num_labels=1)


def _percent(measurement: Measurement) -> str:
    return f"{100 * measurement.value:.1f} ± {100 * measurement.standard_error:.1f}"


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
