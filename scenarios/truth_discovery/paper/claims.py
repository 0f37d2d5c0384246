"""What the paper says, and whether it holds: every verdict, and every number in a sentence, comes from the rows."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from statistics import correlation

from ....protocol.mechanisms import loss_of_flip_probability
from ...experiments.findings import Finding, in_a_row
from ...experiments.measurements import FAR, TOLERANCE, deviation, mean_square, most_by_chance
from .error_bounds import line_quality
from .error_change import ProductOfUniforms, domination_excess, long_tail
from .published import CLEAN_ACCURACIES, METHODS, TABLE_1, Method
from .rows import PublishedCell, Reproduction
from .theory import claimed_epsilon_of_two_layers, likelihood, one_layer_loss

__all__ = ["findings_on_paper"]

_TABLES = {"table_2": "Table 2", "table_3": "Table 3"}
_MV_ONE, _TD_ONE, _MV_TWO, _TD_TWO = METHODS
_LARGE_FLIP = 0.4
_CLOSE = 0.05
_EVERYDAY_EPSILON = 1.0


def findings_on_paper(reproduction: Reproduction) -> Iterator[Finding]:
    """Yield what the paper says, in its order, and whether it holds."""
    yield from _theorems(reproduction)
    yield _uniform_is_strongest(reproduction)
    yield _bound(reproduction)
    yield _line()
    yield from _changes()
    yield _statistics(reproduction)
    yield from _clean_accuracy(reproduction)
    for name, words in _TABLES.items():
        cells: Sequence[PublishedCell] = getattr(reproduction, name)
        if not cells:
            continue
        if name == "table_3":
            for method in METHODS:
                yield _reproduces(_of_method(cells, method), method.name)
        else:
            yield _stand_in(cells)
        yield _two_beats_one(cells, words)
        yield _same_majority(cells, words)
        yield _weights_help(cells, words)
    if reproduction.table_3:
        yield _worse_start(reproduction.table_3)
        yield _nothing_left(reproduction)
    yield from _weights(reproduction)
    yield _equal_privacy(reproduction)


def _theorems(reproduction: Reproduction) -> Iterator[Finding]:
    sizes = (2, 3, 5)
    flip = 0.2
    gaps = [abs(one_layer_loss(flip, num_labels=s) - loss_of_flip_probability(flip, s)) for s in sizes]
    yield Finding(
        claim="The one-layer mechanism is ln((1 − p)(s − 1)/p)-locally private for one answer.",
        source="Theorem 6.2",
        holds=max(gaps) < 1e-9,  # noqa: PLR2004  rounding
        numbers=(
            f"The greatest log-ratio of its channel is that, for p = {flip:g} and {in_a_row(map(str, sizes))} labels, "
            f"up to {max(gaps):.1g}. All m answers of a worker cost m times as much, which the paper does not say."
        ),
    )
    at = next(row for row in reproduction.hypers if row.hyper == "uniform" and _is_everyday(row.epsilon))
    rows = [r for r in reproduction.hypers if r.hyper == "uniform" and r.epsilon == at.epsilon]
    high = Fraction(2 * at.mean)
    m = next(row.num_answers for row in rows if row.num_answers > 1)
    chances = [likelihood(k, m, low=0, high=high) for k in range(m + 1)]
    exact = math.log(max(chances) / min(chances))
    words = "; ".join(
        f"m = {row.num_answers}: R = {row.one_answer:.2f} for one answer and J = {row.all_answers:,.1f} for all"
        for row in rows
    )
    yield Finding(
        claim="The two-layer mechanism has the same ε, ln((2 − a − b)(s − 1)/(a + b)), whatever a worker answers.",
        source="Theorem 6.3, reading T3",
        holds=all(row.one_answer <= at.epsilon + 1e-9 for row in rows),
        numbers=(
            "It has for a worker with a single answer. All answers share one flip probability, so that with a = 0, "
            f"two labels and a claimed ε of {at.epsilon:.3g} the proven losses of m answers are {words} (in exact "
            f"fractions J = {exact:.3f} for m = {m}). Neither ε nor m·ε is the loss."
        ),
    )
    none = [math.log(likelihood(0, m, low=0, high=1) / likelihood(m // 2, m, low=0, high=1)) for m in (5, 20)]
    yield Finding(
        claim="At ε = 0 the answers of a worker have no influence on the reports.",
        source="Section 7.2, for the two-layer mechanism; readings T3 and T5",
        holds=claimed_epsilon_of_two_layers(0, 1) == max(none),
        numbers=(
            f"With a = 0 and b = 1 five answers have J = {none[0]:.2f} = ln C(5, 2), and twenty J = {none[1]:.2f}: "
            "the reports tell how alike the answers are, and not which is which."
        ),
    )


def _is_everyday(epsilon: float) -> bool:
    return abs(epsilon - _EVERYDAY_EPSILON) < 1e-6  # noqa: PLR2004  rounding


def _uniform_is_strongest(reproduction: Reproduction) -> Finding:
    stronger: list[str] = []
    cases = list(dict.fromkeys((row.epsilon, row.num_answers) for row in reproduction.hypers))
    for epsilon, number in cases:
        found = {r.hyper: r for r in reproduction.hypers if (r.epsilon, r.num_answers) == (epsilon, number)}
        uniform = found["uniform"]
        for name, row in found.items():
            if row.all_answers < uniform.all_answers * (1 - 1e-9) or row.one_answer < uniform.one_answer * (1 - 1e-9):
                stronger.append(name)
    single = [row for row in reproduction.hypers if row.num_answers == 1]
    alike = max(abs(row.one_answer - row.epsilon) for row in single)
    counts = {name: stronger.count(name) for name in dict.fromkeys(stronger)}
    return Finding(
        claim="The uniform distribution gives stronger privacy than any other hyper-distribution.",
        source="Section 6.1.2, reading T9",
        holds=not stronger,
        numbers=(
            f"For one answer all distributions of one mean are alike (within {alike:.1g}). In {len(cases)} cases of "
            "a mean and a number of answers these have a smaller J or R than the uniform one from 0 on: "
            f"{', '.join(f'{name} in {count}' for name, count in counts.items()) or 'none'}."
        ),
    )


def _bound(reproduction: Reproduction) -> Finding:
    below = [row for row in reproduction.bounds if row.printed < row.exact]
    at = next(row for row in reproduction.bounds if row.num_workers == 11 and row.quality == 0.25)  # noqa: PLR2004  the reading's
    return Finding(
        claim="The error rate of weighted voting is at most Π (p/e + (1 − p)·e)^(log-odds of p).",
        source="Equations (6) and (7), reading T8",
        holds=not below,
        numbers=(
            f"{at.num_workers} workers of p = {at.quality:g} err in {at.exact:.4f}; the bound is {at.printed:.1e}. "
            f"It is below the error in {len(below)} of {len(reproduction.bounds)} cases. Chernoff's bound, Π 2√(p(1 "
            f"− p)), is {at.chernoff:.3f} there."
        ),
    )


def _line() -> Finding:
    line = line_quality()
    return Finding(
        claim="G(p) and its approximation 2p are very close to each other.",
        source="Section 6.2.2",
        holds=max(abs(line.greatest_ratio - 1), abs(1 - line.least_ratio)) <= _CLOSE,
        numbers=(
            f"They differ by {line.greatest_gap:.3f} at most (p = {line.gap_at:.2f}), but near p = 0, of the "
            f"important users for whom it is meant, 2p is {line.greatest_ratio:.2f} times as much, and the product "
            "over n users that to the power n."
        ),
    )


def _changes() -> Iterator[Finding]:
    law = ProductOfUniforms(0.0, 0.9, 10)
    tail = long_tail(law)
    yield Finding(
        claim="Two layers have a better utility, as their change Δ is small with high probability.",
        source="Section 6.2.3, first claim on Figure 1",
        holds=tail.mean < tail.one_layer * (1 - 1e-9),
        numbers=(
            f"For b = {law.high:g} and n = {law.num_workers}, Δ is below one layer's change in "
            f"{100 * tail.chance_below_one_layer:.0f} % of all cases, but its mean is the same, {tail.mean:.2e} "
            f"against {tail.one_layer:.2e}: {100 * tail.share_of_mean_above:.0f} % of it comes from the others."
        ),
    )
    smaller = domination_excess(ProductOfUniforms(0.0, 0.7, 4), ProductOfUniforms(0.0, 0.9, 4))
    yield Finding(
        claim="A smaller b makes a small Δ more probable.",
        source="Section 6.2.3, second claim on Figure 1",
        holds=smaller == 0,
        numbers=(
            "For n = 4, b = 0.7 against 0.9, each P[Δ ≤ x] is at least as large. But one layer's change shrinks by "
            "the same factor: this is the price of privacy and no difference between the mechanisms."
        ),
    )
    printed = domination_excess(ProductOfUniforms(0.0, 0.9, 8), ProductOfUniforms(0.0, 0.9, 4))
    derived = domination_excess(ProductOfUniforms(0.0, 1.8, 8), ProductOfUniforms(0.0, 1.8, 4))
    yield Finding(
        claim="More important users make a small Δ more probable.",
        source="Section 6.2.3, third claim on Figure 1, reading T8",
        holds=printed == 0 and derived == 0,
        numbers=(
            "For b = 0.9, from 4 to 8 users, it holds for the printed Π p^f; for Π 2p^f, which (10) leads to, P[Δ ≤ "
            f"x] is smaller by up to {derived:.3f}."
        ),
    )


def _statistics(reproduction: Reproduction) -> Finding:
    found = {row.crowd: row for row in reproduction.crowds if row.crowd in TABLE_1}
    alike = [
        (row.tasks, row.workers, row.answers, row.gold) == known
        for name, known in TABLE_1.items()
        if (row := found.get(name)) is not None
    ]
    words = "; ".join(
        f"{name}: {row.tasks:,} tasks, {row.workers} workers, {row.answers:,} answers, {row.gold} with a truth"
        for name, row in found.items()
    )
    return Finding(
        claim="The data sets have the sizes of Table 1.",
        source="Table 1, reading T1; the stand-in is made so",
        holds=all(alike),
        numbers=f"{words}.",
    )


def _clean_accuracy(reproduction: Reproduction) -> Iterator[Finding]:
    for row in reproduction.crowds:
        if row.crowd not in CLEAN_ACCURACIES or row.is_made_up:
            continue
        known = CLEAN_ACCURACIES[row.crowd]
        yield Finding(
            claim=f"The accuracy without perturbation is {known:g}.",
            source="Section 7.2, reading T1",
            holds=all(round(share, 2) == known for share in (row.majority, row.truth_discovery)),
            numbers=(
                f"Majority voting has {100 * row.majority:.1f} %, ties counting as class 0; truth discovery has "
                f"{100 * row.truth_discovery:.1f} %, and starts from there. Always answering the more frequent class "
                f"has {100 * row.largest_class:.1f} %."
            ),
        )


def _of_method(cells: Sequence[PublishedCell], method: Method) -> list[PublishedCell]:
    """Return the cells of one method, in the order of ε."""
    return [cell for cell in cells if cell.method == method.name]


def _pairs(cells: Sequence[PublishedCell], one: Method, other: Method) -> list[tuple[PublishedCell, PublishedCell]]:
    """Return the cells of two methods, ε by ε."""
    return list(zip(_of_method(cells, one), _of_method(cells, other), strict=True))


def _distance(cells: Sequence[PublishedCell]) -> tuple[bool, int, float, float]:
    """Return whether cells may be as published, how many are far off, their mean square, and the mean distance."""
    num_far = sum(abs(cell.difference) > FAR for cell in cells)
    mean = mean_square(cell.difference for cell in cells)
    distance = math.fsum(abs(cell.change.value - cell.published.value) for cell in cells) / len(cells)
    return not num_far and mean <= most_by_chance(len(cells)), num_far, mean, distance


def _reproduces(cells: Sequence[PublishedCell], what: str) -> Finding:
    holds, num_far, mean, distance = _distance(cells)
    greatest = max(cells, key=lambda cell: abs(cell.difference))
    return Finding(
        claim=f"The changes of {what} come out as published.",
        source="Table 3, readings T1 and T2",
        holds=holds,
        numbers=(
            f"{num_far} of {len(cells)} cells differ by more than {FAR:g} joint standard errors; the greatest "
            f"difference is {greatest.difference:+.1f} (ε = {greatest.epsilon:g}), the mean square {mean:.2f} where "
            f"chance gives 1; the mean distance is {distance:.4f}."
        ),
    )


def _stand_in(cells: Sequence[PublishedCell]) -> Finding:
    holds, num_far, mean, distance = _distance(cells)
    return Finding(
        claim="A made-up crowd of the size of the peer grading data has the changes of Table 2.",
        source="Table 2; the data are not published",
        holds=holds,
        numbers=(
            f"{num_far} of {len(cells)} cells differ by more than {FAR:g} joint standard errors; the mean square is "
            f"{mean:.1f}, the mean distance {distance:.4f}. Other data would have other changes, so this tells "
            "nothing of the paper."
        ),
    )


def _two_beats_one(cells: Sequence[PublishedCell], table: str) -> Finding:
    pairs = _pairs(cells, _TD_TWO, _TD_ONE)
    leads = [deviation(one.change, two.change) for two, one in pairs]
    gains = [one.change.value - two.change.value for two, one in pairs]
    return Finding(
        claim="At every ε truth discovery has a smaller change with two layers than with one.",
        source=f"{table}, Section 7.2 (3), at equal claimed ε",
        holds=min(leads) > -TOLERANCE and math.fsum(gains) > 0 and sum(gain > 0 for gain in gains) > len(gains) / 2,
        numbers=(
            f"It has in {sum(gain > 0 for gain in gains)} of {len(pairs)} rows, by {100 * min(gains):.1f} to "
            f"{100 * max(gains):.1f} points ({min(leads):+.1f} to {max(leads):+.1f} joint standard errors). The "
            f"proven loss of one answer is {pairs[0][0].epsilon_answer:.2f} there at ε = {pairs[0][0].epsilon:g}, "
            f"and {pairs[0][1].epsilon_answer:.2f} with one layer."
        ),
    )


def _same_majority(cells: Sequence[PublishedCell], table: str) -> Finding:
    differences = [deviation(two.change, one.change) for two, one in _pairs(cells, _MV_TWO, _MV_ONE)]
    excess = mean_square(differences)
    return Finding(
        claim="Majority voting does as well with two layers as with one.",
        source=f"{table}, Section 7.2 (1)",
        holds=excess <= most_by_chance(len(differences)),
        numbers=f"The mean square of the differences in joint standard errors is {excess:.2f} where chance gives 1.",
    )


def _weights_help(cells: Sequence[PublishedCell], table: str) -> Finding:
    pairs = _pairs(cells, _TD_TWO, _MV_TWO)
    changes = sum(td.change.value < mv.change.value for td, mv in pairs)
    errors = sum(td.error_rate.value < mv.error_rate.value for td, mv in pairs)
    first_td, first_mv = pairs[0]
    return Finding(
        claim="With two layers truth discovery gives better performance than majority voting.",
        source=f"{table}, Section 7.2 (2), reading T1",
        holds=errors == len(pairs),
        numbers=(
            f"Its change is smaller in {changes} of {len(pairs)} rows, its error rate in {errors}; at ε = "
            f"{first_td.epsilon:g} they are wrong in {100 * first_td.error_rate.value:.1f} % and "
            f"{100 * first_mv.error_rate.value:.1f} %."
        ),
    )


def _worse_start(cells: Sequence[PublishedCell]) -> Finding:
    pairs = _pairs(cells, _TD_ONE, _MV_ONE)
    starts = [c.error_rate.value - c.change.value for c in pairs[0]]
    ahead = [pair for pair in pairs if deviation(pair[0].error_rate, pair[1].error_rate) < -TOLERANCE]
    smaller = sum(td.change.value < mv.change.value for td, mv in pairs)
    return Finding(
        claim="With one layer truth discovery's smaller changes mean fewer errors than majority voting's.",
        source="Table 3, as it is read; reading T1",
        holds=len(ahead) > len(pairs) / 2,
        numbers=(
            f"Its change is smaller in {smaller} of {len(pairs)} rows, but it starts from {100 * starts[0]:.1f} % "
            f"errors where the majority has {100 * starts[1]:.1f} %: it has fewer errors by {TOLERANCE:g} standard "
            f"errors in {len(ahead)}."
        ),
    )


def _nothing_left(reproduction: Reproduction) -> Finding:
    cells = reproduction.table_3
    last = [_of_method(cells, method)[-1] for method in METHODS]
    off = [(cell.error_rate.value - 0.5) / cell.error_rate.standard_error for cell in last]
    words = ", ".join(f"{100 * cell.error_rate.value:.1f} % ({cell.method})" for cell in last)
    constant = next(row.largest_class for row in reproduction.crowds if row.crowd == last[0].crowd)
    return Finding(
        claim="At ε = 0 nothing is left to find: the accuracy is one half.",
        source='Section 7.2, which says "around 0.5"; reading T5',
        holds=max(map(abs, off)) <= FAR,
        numbers=(
            f"The error rates are {words}; in standard errors {min(off):+.1f} to {max(off):+.1f} from one half. Ties "
            f"count as class 0, and {100 * constant:.1f} % of the known truths are of one class: no estimator beats "
            "one half on average over a truth and its complement."
        ),
    )


def _weights(reproduction: Reproduction) -> Iterator[Finding]:
    for crowd in dict.fromkeys(row.crowd for row in reproduction.weights):
        rows = [row for row in reproduction.weights if row.crowd == crowd]
        falls = [row.clean - row.reported for row in rows]
        alike = correlation([row.flip_probability for row in rows], falls)
        large = [fall for row, fall in zip(rows, falls, strict=True) if row.flip_probability >= _LARGE_FLIP]
        yield Finding(
            claim=f"On {crowd}, a worker's estimated weight falls the more, the larger the flip probability it drew.",
            source="Figure 2, Section 7.2 (2)",
            # Without a connection the correlation of n pairs has a standard deviation of 1/√n.
            holds=alike > TOLERANCE / math.sqrt(len(rows)),
            numbers=(
                f"The correlation over {len(rows)} workers is {alike:.2f}; {sum(fall > 0 for fall in large)} of "
                f"{len(large)} who drew {_LARGE_FLIP:g} or more lose weight. The worker with most answers gave "
                f"{max(row.num_answers for row in rows):,}. One trial, ε = {rows[0].epsilon:g} as claimed."
            ),
        )


def _equal_privacy(reproduction: Reproduction) -> Finding:
    proven = [choice.two_layer_gain for choice in reproduction.choices if choice.unit == "all answers"]
    gains = [gain for gain in proven if gain is not None]
    worse = [gain for gain in gains if gain.value < -TOLERANCE * gain.standard_error]
    better = [gain for gain in gains if gain.value > TOLERANCE * gain.standard_error]
    return Finding(
        claim="At the same privacy the two-layer mechanism delivers better utility.",
        source="abstract and Section 6.3, at equal proven loss of all answers; reading T4",
        holds=not worse and bool(better),
        numbers=(
            f"With truth discovery it is better in {len(better)} of {len(gains)} cases and worse in {len(worse)}, by "
            f"more than {TOLERANCE:g} standard errors."
        ),
    )
