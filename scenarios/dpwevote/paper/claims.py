"""What the paper says, and whether it holds: every verdict, and every number in a sentence, comes from the rows."""

import math
from collections.abc import Iterator, Sequence
from statistics import correlation, linear_regression

from ...experiments.findings import Finding, in_a_row
from ...experiments.measurements import FAR, deviation, mean_square, most_by_chance
from .evidence import at, by_partners, errors_of, lead, pairs_of, select
from .published import RUNS, runs_behind, shares_of
from .rows import PublishedCell, Reproduction

__all__ = ["findings_on_paper"]

_LINEAR = 0.99
_SAME_TREND = 0.99
_LEAST_RATIO = 0.5
"""Less of what is expected is something else."""
_NAMES = {"printed": "DPWeVote", "laplace": "the baseline"}


def findings_on_paper(reproduction: Reproduction) -> Iterator[Finding]:
    """Yield what the paper says, in its order, and whether it holds."""
    for variant, name in _NAMES.items():
        cells = [cell for cell in reproduction.table_3 if cell.variant == variant]
        yield _reproduces(cells, 3, f"{name}'s accuracies", "chance gives 1")
    for variant, name in _NAMES.items():
        cells = [cell for cell in reproduction.table_4 if cell.variant == variant]
        yield _reproduces(cells, 4, f"{name}'s MSE_q", _chance_of_table_4(variant, reproduction.trials))
    yield _runs(reproduction)
    yield _beats_baseline(reproduction)
    yield _linear(reproduction)
    yield _number_of_partners(reproduction)
    yield from _errors_by_partners(reproduction)
    yield _same_trend(reproduction)
    yield _opinions_of_groups(reproduction)


def _reproduces(cells: Sequence[PublishedCell], table: int, what: str, by_chance: str) -> Finding:
    far = [cell for cell in cells if abs(cell.difference) > FAR]
    mean = mean_square(cell.difference for cell in cells)
    greatest = max(cells, key=lambda cell: abs(cell.difference))
    listed = "".join(f"; n = {cell.num_partners}, ε = {cell.epsilon:g}: {cell.difference:+.1f}" for cell in far)
    return Finding(
        claim=f"{what[0].upper()}{what[1:]} come out as published.",
        source=f"Table {table}, readings W1 and W3",
        holds=not far and mean <= most_by_chance(len(cells)),
        numbers=(
            f"{len(far)} of {len(cells)} cells differ by more than {FAR:g} joint standard errors{listed}; the "
            f"greatest difference is {greatest.difference:+.1f} (n = {greatest.num_partners}, "
            f"ε = {greatest.epsilon:g}), the mean square {mean:.2f} where {by_chance}."
        ),
    )


def _chance_of_table_4(variant: str, trials: int) -> str:
    """Return what chance gives: the published errors are taken as of the stated runs, and may be of more."""
    decisions = runs_behind(shares_of(variant))
    of_all = (1 / trials + 1 / decisions) / (1 / trials + 1 / RUNS)
    return (
        f"chance gives 1 if {RUNS:,} runs are behind each published number, as is assumed, and {of_all:.2f} if "
        f"{decisions:,} are"
    )


def _runs(reproduction: Reproduction) -> Finding:
    decisions = {variant: runs_behind(shares_of(variant)) for variant in _NAMES}
    of_runs = 0.5 / math.sqrt(RUNS)
    scatter: dict[str, float] = {}
    is_small: list[bool] = []
    for variant in _NAMES:
        differences = [c.published.value - c.expected for c in reproduction.table_3 if c.variant == variant]
        scatter[variant] = math.sqrt(mean_square(differences))
        is_small.append(scatter[variant] <= of_runs * math.sqrt(most_by_chance(len(differences))))
    errors = mean_square(cell.published_difference for cell in reproduction.table_4)
    is_small.append(errors <= most_by_chance(len(reproduction.table_4)))
    parts = [
        f"{_NAMES[variant]}'s accuracies are whole multiples of 1/{number:,}, as of {number // RUNS} times as many "
        f"decisions, and scatter about the normal law by {scatter[variant]:.4f}"
        for variant, number in decisions.items()
    ]
    return Finding(
        claim=f"The published numbers rest on at least {RUNS:,} runs.",
        source="Section 5.1.1",
        holds=all(is_small) and all(number >= RUNS for number in decisions.values()),
        numbers=(
            f"{'; '.join(parts)}; of {RUNS:,} decisions they would scatter by {of_runs:.4f}. The MSE_q scatter about "
            f"their expectations {math.sqrt(errors):.2f} times as much as {RUNS:,} runs would. The differences above "
            f"take the accuracies as of so many decisions, and the MSE_q as of {RUNS:,} runs."
        ),
    )


def _beats_baseline(reproduction: Reproduction) -> Finding:
    cells = reproduction.figure_4
    epsilons = sorted(cell.epsilon for cell in cells)
    leads = list(pairs_of(cells, "printed", "laplace"))
    expected = min(printed.normal_law - laplace.normal_law for printed, laplace in leads)
    losses = [pair for pair in leads if lead(*pair) < -FAR]
    return Finding(
        claim="DPWeVote is more accurate than the Laplace baseline at every ε, on the paper's own data.",
        source="Sections 5.2.3 and 5.3",
        holds=expected > 0 and not losses,
        numbers=(
            f"By the normal law its lead is {expected:.4f} at least over ε from {epsilons[0]:g} to "
            f"{epsilons[-1]:g}; it is ahead in {sum(lead(*pair) > 0 for pair in leads)} of {len(leads)} "
            "simulated cells."
        ),
    )


def _linear(reproduction: Reproduction) -> Finding:
    cells = select(reproduction.figure_4, "printed", 100)
    epsilons, accuracies = [cell.epsilon for cell in cells], [cell.normal_law for cell in cells]
    line = linear_regression(epsilons, accuracies)
    explained = correlation(epsilons, accuracies) ** 2
    off = max(abs(a - line.intercept - line.slope * e) for e, a in zip(epsilons, accuracies, strict=True))
    return Finding(
        claim="Accuracy grows linearly with ε.",
        source="Section 5.2.1",
        holds=explained >= _LINEAR,
        numbers=(
            f"A line explains {100 * explained:.1f} % of the normal law's variation from ε = {epsilons[0]:g} to "
            f"{epsilons[-1]:g}, and is off by {off:.3f} at most; its slope is {line.slope:.3f}."
        ),
    )


def _number_of_partners(reproduction: Reproduction) -> Finding:
    cells = [cell for cell in reproduction.figure_4 if cell.variant == "printed"]
    most = max(cell.num_partners for cell in cells)
    gains = [(few, many) for few, many in by_partners(cells) if many.num_partners == most]
    differences = [deviation(many.accuracy, few.accuracy) for few, many in gains]
    mean = math.fsum(many.accuracy.value - few.accuracy.value for few, many in gains) / len(gains)
    excess = mean_square(differences)
    return Finding(
        claim="On uniform votes the number of partners does not matter for the accuracy.",
        source='Section 5.2.2: "unclear"; reading W9',
        holds=excess <= most_by_chance(len(differences)),
        numbers=(
            f"From {gains[0][0].num_partners} to {most} partners accuracy changes by {100 * mean:+.1f} percentage "
            f"points on average over ε; the mean square of the changes in joint standard errors is {excess:.2f}."
        ),
    )


def _errors_by_partners(reproduction: Reproduction) -> Iterator[Finding]:
    cells = [cell for cell in reproduction.figure_4 if cell.variant == "printed"]
    pairs = list(by_partners(cells))
    falls = [a > b for few, many in pairs for a, b in zip(errors_of(few), errors_of(many), strict=True)]
    yield Finding(
        claim="More partners make all three mean squared errors smaller.",
        source="Section 5.2.2",
        holds=all(falls),
        numbers=f"They do in {sum(falls)} of {len(falls)} comparisons at the same ε.",
    )
    few, many = min(c.num_partners for c in cells), max(c.num_partners for c in cells)
    errors = {
        epsilon: list(zip(*(errors_of(at(cells, number, epsilon)) for number in (few, many)), strict=True))
        for epsilon in sorted({cell.epsilon for cell in cells})
    }
    gaps = {epsilon: [of_few - of_many for of_few, of_many in found] for epsilon, found in errors.items()}
    most = max(errors)
    ratios = {epsilon: [of_few / of_many for of_few, of_many in errors[epsilon]] for epsilon in (1.0, most)}
    by_number = many / few
    stay = all(_LEAST_RATIO < ratio / by_number < 1 / _LEAST_RATIO for own in ratios.values() for ratio in own)
    yield Finding(
        claim="The differences between numbers of partners become less obvious above ε = 1.",
        source="Section 5.2.2, of a figure with linear axes",
        holds=all(
            gap < at_one
            for epsilon, found in gaps.items()
            if epsilon > 1
            for gap, at_one in zip(found, gaps[1.0], strict=True)
        ),
        numbers=(
            f"Between {few} and {many} partners, MSE_w, MSE_q and MSE_φ differ by {_listed(gaps[1.0], '.2g')} at "
            f"ε = 1, and by {_listed(gaps[most], '.2g')} at ε = {most:g}. Their ratios "
            f"{'stay near' if stay else 'do not stay near'} {by_number:g}: {_listed(ratios[1.0], '.0f')} at ε = 1, "
            f"{_listed(ratios[most], '.0f')} at ε = {most:g}."
        ),
    )


def _listed(numbers: Sequence[float], form: str) -> str:
    return in_a_row(f"{number:{form}}" for number in numbers)


def _same_trend(reproduction: Reproduction) -> Finding:
    cells = select(reproduction.figure_4, "printed", 100)
    _, quotas, opinions = zip(*map(errors_of, cells), strict=True)
    alike = correlation(list(map(math.log, quotas)), list(map(math.log, opinions)))
    ratios = [quota / opinion for quota, opinion in zip(quotas, opinions, strict=True)]
    return Finding(
        claim="MSE_q and MSE_φ vary alike with ε.",
        source="Section 5.2.2",
        holds=alike >= _SAME_TREND,
        numbers=(
            f"Their logarithms have a correlation of {alike:.4f} over ε at n = 100; MSE_q is {min(ratios):.2f} to "
            f"{max(ratios):.2f} times MSE_φ."
        ),
    )


def _opinions_of_groups(reproduction: Reproduction) -> Finding:
    cells = [cell for cell in reproduction.skewed if cell.workload == "all-heavy"]
    few, many = min(c.num_partners for c in cells), max(c.num_partners for c in cells)
    factors = {
        variant: errors_of(at(select(cells, variant), few, 2.0))[-1]
        / errors_of(at(select(cells, variant), many, 2.0))[-1]
        for variant in ("printed", "joint")
    }
    vanishes = factors["printed"] > _LEAST_RATIO * many / few
    return Finding(
        claim="The estimated numbers of yes votes in each weight group are unbiased.",
        source='Section 4.1: "the unbiased number"; readings W1 and W2',
        holds=vanishes,
        numbers=(
            f"With all weights 3 at ε = 2, {many // few} times as many partners divide MSE_φ by "
            f"{factors['printed']:.1f}{'' if vanishes else ', since what is left is a bias'}; where both matrices are "
            f"inverted (`joint`), by {factors['joint']:.0f}."
        ),
    )
