"""What holds and what does not: every verdict, and every number in a sentence, is computed from the rows."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import correlation, linear_regression, median

from ..findings import Finding
from ..measurements import Measurement, deviation
from .published import RUNS, TABLE_3, runs_behind
from .rows import Cell, Cost, PowerPoint, PublishedCell, Reproduction

__all__ = ["findings_of"]

# Of some 100 cells one is so far off by chance in 160 reproductions.
_FAR = 4.0
# A mean square so many of its standard deviations above 1 is no chance.
_EXCESS = 4.0
_LINEAR = 0.99
_THREE_DIGITS = 5e-4
_TWO_ERRORS = 2.0
_TIGHT = 1e-6
_LEAST_RATIO, _SAME_TREND = 0.5, 0.99
_MANY = 500
# A partner's margin that differs from 0 by no more than a step of the curve.
_NEAR = 0.021
_NAMES = {"printed": "DPWeVote", "laplace": "the baseline"}


def findings_of(reproduction: Reproduction) -> tuple[Finding, ...]:
    """Return what holds and what does not, the paper's own claims first."""
    return tuple(_findings(reproduction))


def _findings(reproduction: Reproduction) -> Iterator[Finding]:
    for number, table, quantity in (
        (3, reproduction.table_3, "accuracies"),
        (4, reproduction.table_4, "MSE_q"),
    ):
        for variant, name in _NAMES.items():
            yield _reproduces([cell for cell in table if cell.variant == variant], number, f"{name}'s {quantity}")
    yield _runs(reproduction)
    yield _beats_baseline(reproduction)
    yield _beats_baseline_on_skewed(reproduction)
    yield _linear(reproduction)
    yield _number_of_partners(reproduction)
    yield _closed_form(reproduction)
    yield from _errors_by_partners(reproduction)
    yield _same_trend(reproduction)
    yield from _skewed(reproduction)
    yield _opinions_of_groups(reproduction)
    yield _unspoken_prior(reproduction)
    yield _balance(reproduction)
    yield from _prototypes(reproduction)
    yield _certificate(reproduction)
    yield from _prices(reproduction)


def _reproduces(cells: Sequence[PublishedCell], table: int, what: str) -> Finding:
    far = [cell for cell in cells if abs(cell.difference) > _FAR]
    mean_square = _mean_square(cell.difference for cell in cells)
    greatest = max(cells, key=lambda cell: abs(cell.difference))
    listed = "".join(f"; n = {cell.num_partners}, ε = {cell.epsilon:g}: {cell.difference:+.1f}" for cell in far)
    return Finding(
        claim=f"{what[0].upper()}{what[1:]} come out as published.",
        source=f"Table {table}, readings W1 and W3",
        holds=not far and mean_square <= _most_by_chance(len(cells)),
        numbers=(
            f"{len(far)} of {len(cells)} cells differ by more than {_FAR:g} joint standard errors{listed}; the "
            f"greatest difference is {greatest.difference:+.1f} (n = {greatest.num_partners}, "
            f"ε = {greatest.epsilon:g}), the mean square {mean_square:.2f} where chance gives 1."
        ),
    )


def _runs(reproduction: Reproduction) -> Finding:
    decisions = {variant: runs_behind(_shares(variant)) for variant in _NAMES}
    scatter = {
        variant: math.sqrt(
            _mean_square(c.published.value - c.expected for c in reproduction.table_3 if c.variant == variant)
        )
        for variant in _NAMES
    }
    of_runs = 0.5 / math.sqrt(RUNS)
    parts = [
        f"{_NAMES[variant]}'s accuracies are whole multiples of 1/{number:,} and scatter about the closed form by "
        f"{scatter[variant]:.4f}"
        for variant, number in decisions.items()
    ]
    errors = _mean_square(cell.published_difference for cell in reproduction.table_4)
    return Finding(
        claim=f"A published number is the average of {RUNS:,} runs.",
        source="Section 5.1.1",
        holds=all(number == RUNS for number in decisions.values()),
        numbers=(
            f"{'; '.join(parts)}; of {RUNS:,} runs they would scatter by {of_runs:.4f}. The MSE_q scatter about their "
            f"expectations {math.sqrt(errors):.2f} times as much as {RUNS:,} runs would. The differences above take "
            "the accuracies as of so many decisions, and the MSE_q as of the stated runs."
        ),
    )


def _beats_baseline(reproduction: Reproduction) -> Finding:
    cells = reproduction.figure_4
    leads = list(_pairs(cells, "printed", "laplace"))
    expected = min(printed.closed_form - laplace.closed_form for printed, laplace in leads)
    losses = [pair for pair in leads if _lead(*pair) < -_FAR]
    return Finding(
        claim="DPWeVote is more accurate than the Laplace baseline at every ε, on the paper's own data.",
        source="Sections 5.2.3 and 5.3",
        holds=expected > 0 and not losses,
        numbers=(
            f"By the closed form its lead is {expected:.4f} at least over ε from {_least(cells):g} to "
            f"{_most(cells):g}; it is ahead in {sum(_lead(*pair) > 0 for pair in leads)} of {len(leads)} simulated "
            "cells."
        ),
    )


def _beats_baseline_on_skewed(reproduction: Reproduction) -> Finding:
    leads = list(_pairs(reproduction.skewed, "printed", "laplace"))
    losses = [pair for pair in leads if _lead(*pair) < -_FAR]
    printed, laplace = min(leads, key=lambda pair: _lead(*pair))
    return Finding(
        claim="DPWeVote is more accurate than the Laplace baseline whatever the partners hold.",
        source='Section 5.3: "always"',
        holds=not losses,
        numbers=(
            f"On skewed votes the baseline is ahead by more than {_FAR:g} joint standard errors in {len(losses)} of "
            f"{len(leads)} cells, by most at n = {printed.num_partners}, ε = {printed.epsilon:g} "
            f"({printed.workload}): {_percent(laplace.accuracy)} against {_percent(printed.accuracy)}."
        ),
    )


def _linear(reproduction: Reproduction) -> Finding:
    cells = _select(reproduction.figure_4, "printed", 100)
    epsilons, accuracies = [cell.epsilon for cell in cells], [cell.closed_form for cell in cells]
    line = linear_regression(epsilons, accuracies)
    explained = correlation(epsilons, accuracies) ** 2
    off = max(abs(a - line.intercept - line.slope * e) for e, a in zip(epsilons, accuracies, strict=True))
    return Finding(
        claim="Accuracy grows linearly with ε.",
        source="Section 5.2.1",
        holds=explained >= _LINEAR,
        numbers=(
            f"A line explains {100 * explained:.1f} % of the closed form's variation from ε = {epsilons[0]:g} to "
            f"{epsilons[-1]:g}, and is off by {off:.3f} at most; its slope is {line.slope:.3f}."
        ),
    )


def _number_of_partners(reproduction: Reproduction) -> Finding:
    cells = [cell for cell in reproduction.figure_4 if cell.variant == "printed"]
    most = max(cell.num_partners for cell in cells)
    gains = [(few, many) for few, many in _by_partners(cells) if many.num_partners == most]
    differences = [deviation(many.accuracy, few.accuracy) for few, many in gains]
    mean = math.fsum(many.accuracy.value - few.accuracy.value for few, many in gains) / len(gains)
    excess = _mean_square(differences)
    return Finding(
        claim="On uniform votes the number of partners does not matter for the accuracy.",
        source='Section 5.2.2: "unclear"; reading W9',
        holds=excess <= _most_by_chance(len(differences)),
        numbers=(
            f"From {gains[0][0].num_partners} to {most} partners accuracy changes by {100 * mean:+.1f} percentage "
            f"points on average over ε; the mean square of the changes in joint standard errors is {excess:.2f}."
        ),
    )


def _closed_form(reproduction: Reproduction) -> Finding:
    cells = [cell for cell in reproduction.figure_4 if cell.num_partners >= 100]  # noqa: PLR2004  it is a limit
    differences = [
        (cell.accuracy.value - cell.closed_form)
        / math.sqrt(cell.closed_form * (1 - cell.closed_form) / reproduction.trials)
        for cell in cells
    ]
    excess = _mean_square(differences)
    greatest = max(abs(cell.accuracy.value - cell.closed_form) for cell in cells)
    return Finding(
        claim="Accuracy on uniform votes is ½ + arcsin(ρ)/π, ρ the correlation of a partner's true and estimated part.",
        source="reading W9, which answers Section 5.2.2",
        holds=excess <= _most_by_chance(len(differences)),
        numbers=(
            f"Over {len(cells)} cells with 100 or 500 partners, of all variants, the greatest difference is "
            f"{greatest:.3f}, the mean square in standard errors {excess:.2f}."
        ),
    )


def _errors_by_partners(reproduction: Reproduction) -> Iterator[Finding]:
    cells = [cell for cell in reproduction.figure_4 if cell.variant == "printed"]
    pairs = list(_by_partners(cells))
    falls = [m(few) > m(many) for few, many in pairs for m in _MEASURES]
    yield Finding(
        claim="More partners make all three mean squared errors smaller.",
        source="Section 5.2.2",
        holds=all(falls),
        numbers=f"They do in {sum(falls)} of {len(falls)} comparisons at the same ε.",
    )
    few, many = min(c.num_partners for c in cells), max(c.num_partners for c in cells)
    ratios = {
        epsilon: [m(_at(cells, few, epsilon)) / m(_at(cells, many, epsilon)) for m in _MEASURES]
        for epsilon in (1.0, _most(cells))
    }
    at_one, at_most = (
        " and ".join((", ".join(f"{r:.0f}" for r in found[:-1]), f"{found[-1]:.0f}")) for found in ratios.values()
    )
    shrinks = all(later < _LEAST_RATIO * former for former, later in zip(*ratios.values(), strict=True))
    yield Finding(
        claim="The differences between numbers of partners fade above ε = 1.",
        source="Section 5.2.2",
        holds=shrinks,
        numbers=(
            f"From {few} to {many} partners, MSE_w, MSE_q and MSE_φ fall by factors of {at_one} at ε = 1, and of "
            f"{at_most} at ε = {_most(cells):g}"
            f"{'' if shrinks else ': on a linear axis the differences fade because all errors do'}."
        ),
    )


def _same_trend(reproduction: Reproduction) -> Finding:
    cells = _select(reproduction.figure_4, "printed", 100)
    quotas, opinions = ([math.log(m(cell)) for cell in cells] for m in (_mse_q, _mse_phi))
    alike = correlation(quotas, opinions)
    ratios = [_mse_q(cell) / _mse_phi(cell) for cell in cells]
    return Finding(
        claim="MSE_q and MSE_φ vary alike with ε.",
        source="Section 5.2.2",
        holds=alike >= _SAME_TREND,
        numbers=(
            f"Their logarithms have a correlation of {alike:.4f} over ε at n = 100; MSE_q is {min(ratios):.2f} to "
            f"{max(ratios):.2f} times MSE_φ."
        ),
    )


def _skewed(reproduction: Reproduction) -> Iterator[Finding]:
    words = {"all-heavy": "all weights 3, 60 % yes", "few-heavy": "nine in ten weigh 1, one in ten 3, 40 % yes"}
    for workload, what in words.items():
        cells = [cell for cell in reproduction.skewed if cell.workload == workload]
        printed, joint = (
            [_at(_select(cells, variant), n, 2.0) for n in sorted({cell.num_partners for cell in cells})]
            for variant in ("printed", "joint")
        )
        listed = ", ".join(f"{_percent(cell.accuracy)} for n = {cell.num_partners}" for cell in printed)
        last, other = printed[-1], joint[-1]
        yield Finding(
            claim=f"More partners make the printed rule surer where {what}.",
            source="reading W2",
            holds=deviation(last.accuracy, printed[0].accuracy) > _FAR,
            numbers=(
                f"At ε = 2 it is right in {listed}; `joint` in {_percent(other.accuracy)} for n = "
                f"{other.num_partners}. By the normal law the last two are "
                f"{100 * last.closed_form:.1f} % and {100 * other.closed_form:.1f} %."
            ),
        )


def _opinions_of_groups(reproduction: Reproduction) -> Finding:
    cells = [cell for cell in reproduction.skewed if cell.workload == "all-heavy"]
    few, many = min(c.num_partners for c in cells), max(c.num_partners for c in cells)
    factors = {
        variant: _mse_phi(_at(_select(cells, variant), few, 2.0)) / _mse_phi(_at(_select(cells, variant), many, 2.0))
        for variant in ("printed", "joint")
    }
    vanishes = factors["printed"] > _LEAST_RATIO * many / few
    return Finding(
        claim="Opinions counted by reported group tell the opinions of the groups, given enough partners.",
        source="equations (5) to (7), readings W1 and W2",
        holds=vanishes,
        numbers=(
            f"With all weights 3 at ε = 2, {many // few} times as many partners divide MSE_φ by "
            f"{factors['printed']:.1f}{'' if vanishes else ', since what is left is a bias'}; where both matrices are "
            f"inverted (`joint`), by {factors['joint']:.0f}."
        ),
    )


def _unspoken_prior(reproduction: Reproduction) -> Finding:
    leads = list(_pairs(reproduction.figure_4, "printed", "joint"))
    at_one = next((a, b) for a, b in leads if a.num_partners == 100 and a.epsilon == 1.0)  # noqa: PLR2004
    losses = [pair for pair in leads if _lead(*pair) < -_FAR]
    return Finding(
        claim="On the paper's own data the biased printed rule looks better than the consistent one.",
        source="reading W2",
        holds=all(a.closed_form > b.closed_form for a, b in leads) and not losses,
        numbers=(
            f"At n = 100, ε = 1: {_percent(at_one[0].accuracy)} against {_percent(at_one[1].accuracy)} "
            f"(closed forms {100 * at_one[0].closed_form:.1f} % and {100 * at_one[1].closed_form:.1f} %)."
        ),
    )


def _balance(reproduction: Reproduction) -> Finding:
    points = [point for point in reproduction.power if point.workload == "threes"]
    crossing = {variant: _crossing([p for p in points if p.variant == variant]) for variant in ("printed", "joint")}
    listed = " and ".join(f"{margin:+.2f} (`{variant}`)" for variant, margin in crossing.items())
    return Finding(
        claim="A vote that should pass is more likely to pass than not by the printed rule.",
        source="reading W2",
        holds=crossing["printed"] <= _NEAR,
        numbers=(
            f"With {points[0].num_partners} partners of weight 3 at ε = {points[0].epsilon:g}, the least true margin a "
            f"partner at which a vote passes in half of all runs is {listed}; it should be 0."
        ),
    )


def _crossing(points: Sequence[PowerPoint]) -> float:
    """Return the least true margin at which a vote passes in half of all runs."""
    half = 0.5 - 1e-9
    return min((point.true_margin for point in points if point.closed_form >= half), default=math.inf)


def _prototypes(reproduction: Reproduction) -> Iterator[Finding]:
    known = [row for row in reproduction.mechanisms if row.prototype_second_moment is not None]
    off = [abs(row.second_moment / (row.prototype_second_moment or math.nan) - 1) for row in known]
    yield Finding(
        claim="The optimal mechanism has the second moments that the prototype found, to three digits.",
        source="reading W8",
        holds=max(off) <= _THREE_DIGITS,
        numbers=f"{', '.join(f'{row.second_moment:.4g}' for row in known)} at ε = "
        f"{', '.join(f'{row.epsilon:g}' for row in known)}; the greatest relative difference is {max(off):.1e}.",
    )
    compared = [row for row in reproduction.mechanisms if row.difference is not None]
    differences = [row.difference for row in compared if row.difference is not None]
    listed = ", ".join(
        f"{row.accuracy.value:.3f} ({row.prototype_accuracy:.3f})" for row in compared if row.mechanism != "printed"
    )
    yield Finding(
        claim="Its accuracies, and the printed rule's, are the prototype's within two standard errors.",
        source="reading W8",
        holds=max(map(abs, differences)) <= _TWO_ERRORS,
        numbers=(
            f"Optimal, at n = 100 and ε = 1, 2, 3 and 5, the prototype's in brackets: {listed}; the greatest "
            f"difference is {max(differences, key=abs):+.1f} joint standard errors."
        ),
    )


def _certificate(reproduction: Reproduction) -> Finding:
    gaps = [row.gap for row in reproduction.mechanisms if row.gap is not None]
    return Finding(
        claim="No unbiased mechanism at the same ε has a smaller variance than the optimal one.",
        source="reading W8, by the dual program",
        holds=max(gaps) <= _TIGHT,
        numbers=f"In {len(gaps)} cases it exceeds the proven lower bound by {max(gaps):.0e} of it at most.",
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
        claim="One report of the signed weight for each candidate is better than weights once and opinions apart.",
        source="reading W8, k candidates at one price in all",
        holds=not beaten,
        numbers=(
            f"`optimal` has the least worst-case variance in {len(best)} of {len(cases)} cases of 1 to "
            f"{max(number for _, number in cases)} candidates; `joint`, with the split that suits it best, has "
            f"{min(gains):.1f} times its variance at least."
        ),
    )
    yield _simple_ones(cases)
    yield _worth_its_bias(cases)


def _simple_ones(cases: Mapping[tuple[float, int], Mapping[str, Cost]]) -> Finding:
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
        claim="Even without the optimal mechanism, signed weights in one report are better than `joint`.",
        source="reading W8",
        holds=not best["joint"],
        numbers=f"Best of the simple ones are {', '.join(ranges)}; `joint`: {exceptions}.",
    )


def _worth_its_bias(cases: Mapping[tuple[float, int], Mapping[str, Cost]]) -> Finding:
    smaller = [case for case, o in cases.items() if o["printed"].worst_variance < o["optimal"].worst_variance]
    until = [offers["printed"].partners_until_worse or 0.0 for offers in cases.values()]
    return Finding(
        claim=f"With {_MANY} partners `optimal` has a smaller worst error than the printed rule at any price.",
        source="readings W2 and W8",
        holds=max(until) <= _MANY,
        numbers=(
            f"The printed rule has the smaller variance in {len(smaller)} of {len(cases)} cases, but its bias grows "
            f"with n: in the most favorable one it is more precise up to {max(until):,.0f} partners, in the median one "
            f"up to {median(until):,.0f}."
        ),
    )


def _mse_w(cell: Cell) -> float:
    return _value(cell.mse_w)


def _mse_q(cell: Cell) -> float:
    return _value(cell.mse_q)


def _mse_phi(cell: Cell) -> float:
    return _value(cell.mse_phi)


_MEASURES: Sequence[Callable[[Cell], float]] = (_mse_w, _mse_q, _mse_phi)


def _value(measurement: Measurement | None) -> float:
    return math.nan if measurement is None else measurement.value


def _select(cells: Iterable[Cell], variant: str, num_partners: int | None = None) -> list[Cell]:
    return [cell for cell in cells if cell.variant == variant and num_partners in {None, cell.num_partners}]


def _at(cells: Iterable[Cell], num_partners: int, epsilon: float) -> Cell:
    return next(cell for cell in cells if cell.num_partners == num_partners and cell.epsilon == epsilon)


def _pairs(cells: Iterable[Cell], one: str, other: str) -> Iterator[tuple[Cell, Cell]]:
    """Yield the cells of two variants that are otherwise alike."""
    by_place = {(cell.variant, cell.workload, cell.num_partners, cell.epsilon): cell for cell in cells}
    for (variant, workload, num_partners, epsilon), cell in by_place.items():
        if variant == one:
            yield cell, by_place[other, workload, num_partners, epsilon]


def _by_partners(cells: Sequence[Cell]) -> Iterator[tuple[Cell, Cell]]:
    """Yield pairs of cells of one ε, the one with fewer partners first."""
    for few in cells:
        for many in cells:
            if few.epsilon == many.epsilon and few.num_partners < many.num_partners:
                yield few, many


def _lead(one: Cell, other: Cell) -> float:
    return deviation(one.accuracy, other.accuracy)


def _least(cells: Iterable[Cell]) -> float:
    return min(cell.epsilon for cell in cells)


def _most(cells: Iterable[Cell]) -> float:
    return max(cell.epsilon for cell in cells)


def _shares(variant: str) -> list[float]:
    return [share for (of, _), shares in TABLE_3.items() if of == variant for share in shares]


def _mean_square(numbers: Iterable[float]) -> float:
    squares = [number * number for number in numbers]
    return math.fsum(squares) / len(squares)


def _most_by_chance(number: int) -> float:
    """Return what the mean square of so many standard normal numbers hardly exceeds (1 in 10,000)."""
    return 1 + _EXCESS * math.sqrt(2 / number)


def _percent(measurement: Measurement) -> str:
    return f"{100 * measurement.value:.1f} ± {100 * measurement.standard_error:.1f} %"
