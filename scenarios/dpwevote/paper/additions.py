"""What we add to the paper: skewed votes, other mechanisms, prices; every number in a sentence comes from the rows."""

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from ...experiments.findings import Finding
from ...experiments.judging import (
    agree,
    all_above,
    average,
    difference,
    difference_of_shares,
    errors_of,
    judged,
    unless_contradicted,
)
from ...experiments.measurements import Measurement, mean_square, share_in
from ...experiments.sheets import where
from .published import RUNS
from .rows import Cell, Cost, Reproduction

_THREE_DIGITS = 5e-4
_TIGHT = 1e-6
_EPSILON = 2.0
_MANY = 500
_MARGIN = 0.02
_MOST_CASES = 0.5
# A partner's margin that differs from 0 by no more than a step of the curve.
_NEAR = 0.021
_HALF = 0.5 - 1e-9
_HEAVY = 3
_WORDS = {
    "all-heavy": "all weights are 3 and 60 % say yes",
    "few-heavy": "nine in ten weigh 1, one in ten 3, and 40 % say yes",
}

_Cases = Mapping[tuple[float, int], Mapping[str, Cost]]


def own_findings(reproduction: Reproduction) -> Iterator[Finding]:
    """Yield what the paper does not say, and whether it holds."""
    yield _normal_law(reproduction)
    yield _unspoken_prior(reproduction)
    yield _lead_on_skewed(reproduction)
    yield from _skewed(reproduction)
    yield _balance(reproduction)
    yield from _prototypes(reproduction)
    yield _certificate(reproduction)
    yield from _prices(reproduction)


def _lead_on_skewed(reproduction: Reproduction) -> Finding:
    leads = _leads(reproduction, reproduction.skewed, "printed", "laplace")
    errors = errors_of(len(leads), reproduction.trials)
    losses = [lead for lead, *_ in leads if lead.value < -errors * lead.standard_error]
    _, printed, laplace = min(leads, key=lambda each: each[0].value / each[0].standard_error)
    return Finding(
        claim="DPWeVote's lead over the Laplace baseline carries over to skewed votes.",
        source="reading W2; the paper does not test it",
        judgement=all_above((lead for lead, *_ in leads), trials=reproduction.trials),
        numbers=f"There the baseline is ahead by more than {errors:.1f} joint standard errors in {len(losses)} of "
        f"{len(leads)} cells, by most at n = {printed.num_partners}, ε = {printed.epsilon:g} "
        f"({_WORDS[printed.workload]}): {laplace.accuracy:%} % against {printed.accuracy:%} %.",
    )


def _leads(
    reproduction: Reproduction, cells: Sequence[Cell], one: str, other: str
) -> list[tuple[Measurement, Cell, Cell]]:
    """Return by how much one variant is more accurate than another, with the cells of both."""
    pairs = zip(where(cells, variant=one), where(cells, variant=other), strict=True)
    trials = reproduction.trials
    return [(difference_of_shares(ours.accuracy, theirs.accuracy, trials), ours, theirs) for ours, theirs in pairs]


def _normal_law(reproduction: Reproduction) -> Finding:
    cells = [cell for cell in reproduction.figure_4 if cell.num_partners >= 100]  # noqa: PLR2004  it is a limit
    trials = reproduction.trials
    apart = [
        Measurement(cell.accuracy.value - cell.normal_law, share_in(cell.normal_law, trials).standard_error)
        for cell in cells
    ]
    deviations = [each.value / each.standard_error for each in apart]
    return Finding(
        claim="With many partners, accuracy on uniform votes is ½ + arcsin(ρ)/π by the normal law, ρ being the "
        "correlation of a partner's true and estimated part.",
        source="reading W9, which answers Section 5.2.2",
        judgement=agree(deviations, average(apart), _MARGIN, trials=trials),
        numbers=f"Over {len(cells)} cells with 100 or 500 partners, of all variants, the greatest difference is "
        f"{max(abs(each.value) for each in apart):.3f}, the mean square in standard errors "
        f"{mean_square(deviations):.2f}.",
    )


def _skewed(reproduction: Reproduction) -> Iterator[Finding]:
    for workload, what in _WORDS.items():
        printed, joint = (
            where(reproduction.skewed, workload=workload, variant=variant, epsilon=_EPSILON)
            for variant in ("printed", "joint")
        )
        listed = ", ".join(f"{cell.accuracy:%} % for n = {cell.num_partners}" for cell in printed)
        last, other = printed[-1], joint[-1]
        yield Finding(
            claim=f"At ε = {_EPSILON:g} more partners make the printed rule wrong more often, where {what}.",
            source="reading W2",
            judgement=all_above(
                [difference_of_shares(printed[0].accuracy, last.accuracy, reproduction.trials)],
                trials=reproduction.trials,
            ),
            numbers=f"It is right in {listed}; `joint` in {other.accuracy:%} % for n = "
            f"{other.num_partners}. By the normal law the last two are "
            f"{100 * last.normal_law:.1f} % and {100 * other.normal_law:.1f} %.",
        )


def _unspoken_prior(reproduction: Reproduction) -> Finding:
    leads = _leads(reproduction, reproduction.figure_4, "printed", "joint")
    drawn = all_above((lead for lead, *_ in leads), trials=reproduction.trials)
    # The readings' own cell.
    one, other = next((a, b) for _, a, b in leads if (a.num_partners, a.epsilon) == (100, 1.0))
    return Finding(
        claim="On the paper's own data the biased printed rule looks better than the consistent one.",
        source="reading W2",
        judgement=unless_contradicted(drawn, holds=all(a.normal_law > b.normal_law for _, a, b in leads)),
        numbers=f"At n = 100, ε = 1: {one.accuracy:%} % against {other.accuracy:%} % "
        f"(by the normal law {100 * one.normal_law:.1f} % and {100 * other.normal_law:.1f} %).",
    )


def _balance(reproduction: Reproduction) -> Finding:
    points = where(reproduction.power, workload="threes")
    # The least true margin at which a vote passes in half of all runs.
    crossing = {
        variant: min((p.true_margin for p in where(points, variant=variant) if p.normal_law >= _HALF), default=math.inf)
        for variant in ("printed", "joint")
    }
    listed = " and ".join(
        f"{margin:+.2f} or {100 * (0.5 + margin / _HEAVY):.0f} % yes (`{variant}`)"
        for variant, margin in crossing.items()
    )
    return Finding(
        claim=f"Where all weights are {_HEAVY}, the printed rule rejects clear majorities more often than not.",
        source="reading W2",
        judgement=judged(holds=crossing["printed"] > _NEAR),
        numbers=f"With {points[0].num_partners} partners at ε = {points[0].epsilon:g}, the least true margin a "
        f"partner at which a vote passes in half of all runs is {listed} by the normal law; it should be 0.",
    )


def _prototypes(reproduction: Reproduction) -> Iterator[Finding]:
    known = [row for row in reproduction.mechanisms if row.prototype_second_moment is not None]
    off = [abs(row.second_moment / (row.prototype_second_moment or math.nan) - 1) for row in known]
    yield Finding(
        claim="The optimal mechanism has the second moments that an independent prototype found, to three digits.",
        source="prototype of reading W8",
        judgement=judged(holds=max(off) <= _THREE_DIGITS),
        numbers=f"{', '.join(f'{row.second_moment:.4g}' for row in known)} at ε = "
        f"{', '.join(f'{row.epsilon:g}' for row in known)}; the greatest relative difference is {max(off):.1e}.",
    )
    compared = [row for row in reproduction.mechanisms if row.difference is not None]
    differences = [row.difference for row in compared if row.difference is not None]
    apart = [
        difference(row.accuracy, share_in(row.prototype_accuracy, RUNS))
        for row in compared
        if row.prototype_accuracy is not None
    ]
    listed = ", ".join(
        f"{row.accuracy.value:.3f} ({row.prototype_accuracy:.3f})" for row in compared if row.mechanism != "printed"
    )
    yield Finding(
        claim="Its accuracies, and the printed rule's, are the prototype's.",
        source=f"prototype of reading W8, of {RUNS:,} runs; on average to {100 * _MARGIN:g} points",
        judgement=agree(differences, average(apart), _MARGIN, trials=reproduction.trials),
        numbers=f"Optimal, at n = 100 and ε = 1, 2, 3 and 5, the prototype's in brackets: {listed}; the greatest "
        f"difference is {max(differences, key=abs):+.1f} joint standard errors.",
    )


def _certificate(reproduction: Reproduction) -> Finding:
    gaps = [row.gap for row in reproduction.mechanisms if row.gap is not None]
    return Finding(
        claim="No unbiased mechanism at the same ε has a smaller variance than the optimal one.",
        source="reading W8, by the dual program",
        judgement=judged(holds=max(gaps) <= _TIGHT),
        numbers=f"In {len(gaps)} cases its variance exceeds a lower bound, proven in integers over all subsets of the "
        f"signed weights, by {max(gaps):.0e} of it at most.",
    )


def _prices(reproduction: Reproduction) -> Iterator[Finding]:
    cases: dict[tuple[float, int], dict[str, Cost]] = {}
    for cost in reproduction.costs:
        cases.setdefault((cost.price, cost.num_candidates), {})[cost.variant] = cost
    best = [case for case, offers in cases.items() if offers["optimal"].is_best]
    beaten = [
        case for case, offers in cases.items() if offers["optimal"].worst_variance > offers["joint"].worst_variance
    ]
    gains = [offers["joint"].worst_variance / offers["optimal"].worst_variance for offers in cases.values()]
    yield Finding(
        claim="One report of the signed weight for each candidate gives more precise margins than weights once and "
        "opinions apart.",
        source="reading W8, k candidates at one price in all",
        judgement=judged(holds=not beaten),
        numbers=f"`optimal` has the least worst-case variance in {len(best)} of {len(cases)} cases of 1 to "
        f"{max(number for _, number in cases)} candidates; `joint`, with the split that suits it best, has "
        f"{min(gains):.1f} times its variance at least. Support, total weight and the numbers of each weight are "
        "not told.",
    )
    yield _simple_ones(cases)
    yield _worth_its_bias(cases)


def _simple_ones(cases: _Cases) -> Finding:
    best: dict[str, list[tuple[float, int]]] = {"two_point": [], "signed_rr": [], "joint": []}
    for case, offers in cases.items():
        best[min(best, key=lambda variant: offers[variant].worst_variance)].append(case)
    ranges = [
        f"`{variant}` at ε of {min(p / k for p, k in found):.2g} to {max(p / k for p, k in found):.2g} a candidate"
        for variant, found in best.items()
        if found and variant != "joint"
    ]
    exceptions = ", ".join(f"{number} candidates for ε = {price:g}" for price, number in best["joint"]) or "in no case"
    return Finding(
        claim="Even a simple report of the signed weight gives more precise margins than `joint` in most cases.",
        source="reading W8",
        judgement=judged(holds=len(best["joint"]) < _MOST_CASES * len(cases)),
        numbers=f"It does in {len(cases) - len(best['joint'])} of {len(cases)}. Best are {', '.join(ranges)}; `joint`: "
        f"{exceptions}.",
    )


def _worth_its_bias(cases: _Cases) -> Finding:
    smaller = [case for case, o in cases.items() if o["printed"].worst_variance < o["optimal"].worst_variance]
    until = {case: offers["printed"].partners_until_worse or 0.0 for case, offers in cases.items()}
    price, number = max(until, key=lambda case: until[case])
    prices, numbers = ({case[part] for case in cases} for part in (0, 1))
    return Finding(
        claim=f"With {_MANY} partners `optimal` has a smaller worst error than the printed rule, at a price of "
        f"ε = {min(prices):g} or more in all and for up to {max(numbers)} candidates.",
        source=f"readings W2 and W8; measured at prices of {', '.join(f'{p:g}' for p in sorted(prices))}",
        judgement=judged(holds=max(until.values()) <= _MANY),
        numbers=f"The printed rule has the smaller variance in {len(smaller)} of {len(cases)} cases, but its bias "
        f"grows with n: in the most favorable one (ε = {price:g} for {number} candidates) it is more precise up to "
        f"{max(until.values()):,.0f} partners, in the median one up to {median(until.values()):,.0f}. At lower "
        "prices, or for more candidates, it may be so up to more partners.",
    )
