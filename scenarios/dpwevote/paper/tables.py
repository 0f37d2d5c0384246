"""The reproduction's tables as people read them."""

import math
from collections.abc import Iterator, Sequence
from typing import Final

from ...experiments.measurements import Measurement
from ...experiments.sheets import Words, pivoting, stacked, where
from ...tables import Table
from .published import PARTNERS_OF_FIGURE, PARTNERS_OF_TABLES
from .rows import Cost, Reproduction

NAMES: Final = {"laplace": "Laplace", "two_point": "two points", "signed_rr": "k-RR"}
"""What variants are called in tables and pictures; others by their own names."""
_WORKLOADS: Final = {
    "all-heavy": "all weights 3, 60 % yes: the vote should pass",
    "few-heavy": "nine in ten weigh 1, one in ten 3, 40 % yes: the vote should fail",
}
_EPSILONS_OF_SKEWED: Final = (1.0, 2.0, 3.0, 5.0)
_LARGE, _TINY = 1000, 1e-4
_OPTIMAL: Final = "optimal, uniform prior"


def sheets_of(reproduction: Reproduction) -> Iterator[Table]:
    """Yield all tables, in the order in which they are read."""
    for table, title, cells in (
        (reproduction.table_3, "Table 3, accuracy in percent", "{ours:%} | paper: {published.value:.2%}"),
        (reproduction.table_4, "Table 4, MSE_q", "{with_error} | paper: {number}"),
    ):
        for num_partners in PARTNERS_OF_TABLES:
            rows = where(table, num_partners=num_partners)
            # The paper's own comes first.
            rows = where(rows, variant="printed") + where(rows, variant="laplace")
            yield pivoting(
                "ε: {epsilon:g}",
                (rows, f"{{algorithm}}: {cells} | diff: {{difference:+.1f}}"),
                labels=0,
                caption=f"{title}: n = {num_partners}",
                note="DPWeVote: variant printed, Baseline: variant laplace, both ours ± the standard error; diff: ours "
                "less the paper's, in joint standard errors",
                words={
                    "with_error": lambda row: _with_error(row.ours),
                    "number": lambda row: _number(row.published.value),
                },
            )
    for workload, title in _WORKLOADS.items():
        cells = where(reproduction.skewed, workload=workload)
        few = min(PARTNERS_OF_FIGURE)
        off = max(abs(cell.accuracy.value - cell.normal_law) for cell in where(cells, num_partners=few))
        yield pivoting(
            "n: {num_partners} | ε: {epsilon:g}",
            (
                [cell for cell in cells if cell.epsilon in _EPSILONS_OF_SKEWED],
                "{variant}: {accuracy:%} | normal: {normal_law:.1%}",
            ),
            labels=0,
            caption=f"Skewed votes, {title}",
            note="accuracy in percent; normal: approximated by the normal law of the margin, with the term of its "
            f"skewness; at n = {few} the trials differ from it by up to {100 * off:.1f} percentage points",
            words={"variant": NAMES},
        )
    yield from _mechanisms(reproduction)
    for price in dict.fromkeys(cost.price for cost in reproduction.costs):
        yield _costs(where(reproduction.costs, price=price), price)


def _mechanisms(reproduction: Reproduction) -> Iterator[Table]:
    rows = reproduction.mechanisms
    optimal = where(rows, mechanism=_OPTIMAL)
    prototype = "variant: prototype of reading W8, "
    yield stacked(
        [
            pivoting("variant: {mechanism}", (rows, "ε = {epsilon:g}: {second_moment:.4g}")),
            pivoting(f"{prototype}optimal", (optimal, "ε = {epsilon:g}: {prototype_second_moment:.4g}")),
        ],
        caption="Second moment of a report at the same ε (reading W8: weight and opinion in one report)",
        note="E[t²] of one report, t standing for ±1, ±2 or ±3 alike; printed is biased, the others are not; the "
        "prototype is a first program, which shares nothing with Psephos",
    )
    yield stacked(
        [
            pivoting("variant: {mechanism}", (rows, "ε = {epsilon:g}: {accuracy:%}")),
            *(
                pivoting(prototype + name, (own, "ε = {epsilon:g}: {prototype_accuracy:.1%}"))
                for name, own in (("printed", where(rows, mechanism="printed")), ("optimal", optimal))
            ),
        ],
        caption="Accuracy in percent at the same ε",
        note="100 partners, uniform votes, ten times as many trials as elsewhere",
    )
    bounded = [row for row in rows if row.lower_bound is not None]
    yield stacked(
        [
            pivoting(f"variant: {{mechanism}}: {words}", (where(bounded, mechanism=name), f"ε = {{epsilon:g}}: {cell}"))
            for name in dict.fromkeys(row.mechanism for row in bounded)
            for words, cell in (("least possible", "{lower_bound:.6g}"), ("at most above it", "{gap:.0e}"))
        ],
        caption="The optimal mechanism's certificate: variance",
        note="least possible, proven: no unbiased mechanism has less in the worst case (or on average over the prior)",
    )


def _costs(costs: Sequence[Cost], price: float) -> Table:
    words: Words = {
        "variant": NAMES,
        "variance": lambda cost: f"{'* ' * cost.is_best}{_number(cost.worst_variance)}",
        "from": lambda cost: max(cost.partners_until_worse or 0.0, 1),
    }
    lines = [("ε a candidate", costs, "{price_per_candidate:.3g}")]
    for variant in dict.fromkeys(cost.variant for cost in costs):
        own = where(costs, variant=variant)
        details = _DETAILS.get(variant.partition(",")[0], {})
        lines += [("{variant}", own, "{variance}"), *((label, own, cell) for label, cell in details.items())]
    return stacked(
        [
            pivoting(f"candidates: {label}", (own, f"{{num_candidates}}: {cell}"), words=words)
            for label, own, cell in lines
        ],
        caption=f"One price for the whole session: ε = {price:g}",
        note="Greatest variance of what a partner adds to a margin; * the best unbiased variant. Weights again: all "
        "phases for each candidate, as the paper has it. Worse from n: with more partners the bias makes its worst "
        "error greater than that of the best unbiased variant. `joint` has the split that suits it best.",
    )


_DETAILS: Final = {
    "printed": {
        "– ε a report": "{epsilon_opinion:.2g}",
        "– bias": "{worst_bias:.2g}",
        "– worse from n": "{from:,.0f}",
    },
    "joint": {"– ε the weight": "{epsilon_weight:.2g}", "– ε an opinion": "{epsilon_opinion:.2g}"},
}
"""What a table of costs adds to a variant."""


def _with_error(measurement: Measurement) -> str:
    """Return value and error, with the decimals that the error's first digit has."""
    if measurement.standard_error <= 0:
        return f"{measurement.value:.4g} ± 0"
    return f"{measurement:.{max(-math.floor(math.log10(measurement.standard_error)), 0)}f}"


def _number(value: float) -> str:
    """Return a number with four digits, not as a power of ten unless it is very small."""
    if value >= _LARGE:
        return f"{value:,.0f}"
    if value < _TINY:
        return f"{value:.3g}"
    return f"{value:.{max(3 - math.floor(math.log10(value)), 0)}f}"
