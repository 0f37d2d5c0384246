"""What the paper says, and whether it holds: each claim once, judged by a law here and now or by a reproduction's rows.

`psephos audit papers` shows the former, `psephos reproduce` those of the experiments: both have one declaration.

Source: Li et al. (2018), Sections 6 and 7; readings T1 to T9.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Literal

import msgspec
import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.mechanisms import OneLayer, compare_hypers, epsilon_of, flip_probability_of, hypers_of_mean
from ....protocol.truth_discovery.parameters import MechanismName
from ...audit.bounds import exact_epsilon
from ...experiments.findings import BoundedFinding, Finding, found_in, in_sentences, said_in
from ...experiments.judging import agree, all_above, average, between, difference, errors_of, judged
from ...experiments.measurements import Measurement, apart, deviation, mean_square
from ...experiments.sheets import where
from ...verdicts import Judgement
from ..audit.sessions import BINARY, NUM_ANSWERS, case_of_worker, survey_of
from ..workers import printed_factor
from .published import CLEAN_ACCURACIES, METHODS, RUNS, TABLE_1
from .rows import PublishedCell, Reproduction
from .theory import (
    ProductOfUniforms,
    domination_excess,
    exact_error,
    likelihood_at_zero,
    mean_accuracy_at_zero,
    printed_bound,
)

_MV_ONE, _TD_ONE, _MV_TWO, _TD_TWO = METHODS
_LARGE_FLIP = 0.4
_MARGIN = 0.01  # what is no difference between changes, on average over a table's rows
_AROUND = 0.1
_FEWEST_WORKERS = 4  # of fewer a correlation says nothing
_AUDIT: Final = "psephos audit truth-discovery"
_REPRODUCE: Final = "psephos reproduce truth-discovery"
_EPSILON: Final = 1.0
_LABELS: Final = 2
# Reading T8's case.
_WORKERS, _QUALITY = 11, 0.25
_HIGH, _IMPORTANT = 0.9, 10
_found: Final = found_in(__name__, paper="Truth discovery: Li et al. (2018)")
_said: Final = said_in(__name__)


def findings_on_paper(reproduction: Reproduction) -> Iterator[Finding]:
    """Yield what the paper says, in its order, and whether it holds."""
    yield from in_sentences(findings_on_truth_discovery(), "T10", "T3", "T3c", "T9", "T8", "T14", "T15")
    yield from _changes()
    yield _statistics(reproduction)
    yield from _clean_accuracy(reproduction)
    trials = reproduction.trials
    yield _stand_in(reproduction.table_2, trials)
    yield from (
        msgspec.structs.replace(finding, on_stand_in=True)
        for finding in _of_table(reproduction.table_2, "Table 2", trials)
    )
    if reproduction.table_3:
        for method in METHODS:
            yield _reproduces(where(reproduction.table_3, method=method), method, trials)
        yield from _of_table(reproduction.table_3, "Table 3", trials)
        yield _nothing_left(reproduction)
    else:
        yield _said("of-table-3", Judgement.NO_DATA, "It is judged by the answers on Duchenne smiles.")
    yield from _weights(reproduction)
    yield _equal_privacy(reproduction)


def findings_on_own_data(reproduction: Reproduction) -> Iterator[Finding]:
    """Yield what the paper says of its data sets, and whether it holds on somebody's own."""
    if reproduction.table_3:
        yield from _of_table(reproduction.table_3, "Table 3", reproduction.trials)
    if len(reproduction.weights) >= _FEWEST_WORKERS:
        yield from _weights(reproduction)


def _changes() -> Iterator[Finding]:
    smaller = domination_excess(ProductOfUniforms(0.7, 4), ProductOfUniforms(0.9, 4))
    yield _said(
        "smaller-b",
        judged(holds=smaller == 0),
        "For n = 4, b = 0.7 against 0.9, each P[Δ ≤ x] is at least as large. But one layer's change shrinks by "
        "the same factor: this is the price of privacy and no difference between the mechanisms.",
    )
    printed = domination_excess(ProductOfUniforms(0.9, 8), ProductOfUniforms(0.9, 4))
    derived = domination_excess(ProductOfUniforms(1.8, 8), ProductOfUniforms(1.8, 4))
    yield _said(
        "more-users",
        judged(holds=printed == 0),
        "For b = 0.9, from 4 to 8 users, it holds for the printed Π p^f, of which Figure 1(b) is. But for Π "
        f"2p^f, which (10) leads to, P[Δ ≤ x] is smaller by up to {derived:.3f}.",
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
    return _said("sizes", judged(holds=all(alike)), f"{words}.")


def _clean_accuracy(reproduction: Reproduction) -> Iterator[Finding]:
    for row in reproduction.crowds:
        if row.crowd not in CLEAN_ACCURACIES or row.is_made_up:
            continue
        known = CLEAN_ACCURACIES[row.crowd]
        are_known = {round(share, 2) == known for share in (row.majority, row.truth_discovery)}
        yield _said(
            "clean",
            Judgement.IN_PART if len(are_known) > 1 else judged(holds=True in are_known),
            f"Majority voting has {100 * row.majority:.1f} %, ties counting as class 0; truth discovery has "
            f"{100 * row.truth_discovery:.1f} %, and starts from there. Always answering the more frequent class "
            f"has {100 * row.largest_class:.1f} %.",
            accuracy=known,
        )


def _pairs(cells: Sequence[PublishedCell], one: str, other: str) -> list[tuple[PublishedCell, PublishedCell]]:
    """Return the cells of two methods, ε by ε."""
    return list(zip(where(cells, method=one), where(cells, method=other), strict=True))


def _compared(cells: Sequence[PublishedCell], trials: int) -> tuple[Judgement, str]:
    """Return whether cells may be as published, and the numbers behind that."""
    deviations = [cell.difference or 0.0 for cell in cells]
    mean = average(difference(cell.change, cell.published) for cell in cells if cell.published is not None)
    num_far = sum(abs(each) > errors_of(len(cells), trials) for each in deviations)
    greatest, most = max(zip(cells, deviations, strict=True), key=lambda each: abs(each[1]))
    numbers = (
        f"{num_far} of {len(cells)} cells are farther off than chance has it; the greatest difference is "
        f"{most:+.1f} joint standard errors (ε = {greatest.epsilon:g}), the mean square "
        f"{mean_square(deviations):.2f} where chance gives 1; on average a change is off by {mean:+%} points."
    )
    judgement = agree(deviations, mean, _MARGIN, trials=trials)
    alone = average(cell.published for cell in cells if cell.published is not None).standard_error
    if judgement is Judgement.OPEN and errors_of(1, trials) * alone > _MARGIN:
        numbers += f" But the paper's {RUNS} runs alone leave {100 * errors_of(1, trials) * alone:.1f} points open."
    return judgement, numbers


def _reproduces(cells: Sequence[PublishedCell], what: str, trials: int) -> Finding:
    judgement, numbers = _compared(cells, trials)
    return _said("changes", judgement, numbers, what=what, margin=100 * _MARGIN)


def _stand_in(cells: Sequence[PublishedCell], trials: int) -> Finding:
    judgement, numbers = _compared(cells, trials)
    told = f"{numbers} Other data would have other changes."
    return _said("of-table-2", judgement, told, on_stand_in=True, margin=100 * _MARGIN)


def _in_errors(differences: Sequence[Measurement]) -> str:
    """Return the least and the greatest difference in its own standard errors."""
    deviations = [deviation(each, Measurement(0.0, 0.0)) for each in differences]
    return f"{min(deviations):+.1f} to {max(deviations):+.1f}"


def _of_table(cells: Sequence[PublishedCell], table: str, trials: int) -> Iterator[Finding]:
    pairs = _pairs(cells, _TD_TWO, _TD_ONE)
    gains = [difference(one.change, two.change) for two, one in pairs]
    points = [100 * gain.value for gain in gains]
    two, one = pairs[0]
    yield _said(
        "two-layers",
        all_above(gains, trials=trials),
        f"It has in {sum(gain > 0 for gain in points)} of {len(pairs)} rows, by {min(points):.1f} to "
        f"{max(points):.1f} points ({_in_errors(gains)} joint standard errors). The "
        f"proven loss of one answer is {two.epsilon_answer:.2f} there at ε = {two.epsilon:g}, and "
        f"{one.epsilon_answer:.2f} with one layer.",
        table=table,
    )
    votes = [(two.change, one.change) for two, one in _pairs(cells, _MV_TWO, _MV_ONE)]
    deviations = [deviation(*pair) for pair in votes]
    mean = average(difference(*pair) for pair in votes)
    yield _said(
        "votes",
        agree(deviations, mean, _MARGIN, trials=trials),
        f"The mean square of the differences in joint standard errors is {mean_square(deviations):.2f} where "
        f"chance gives 1; on average they are {mean:+%} points.",
        table=table,
        margin=100 * _MARGIN,
    )
    pairs = _pairs(cells, _TD_TWO, _MV_TWO)
    changes = sum(td.change.value < mv.change.value for td, mv in pairs)
    leads = [td.lead for td, _ in pairs if td.lead is not None]
    td, mv = pairs[0]
    yield _said(
        "over-votes",
        all_above(leads, trials=trials),
        f"Its change is smaller in {changes} of {len(pairs)} rows, its error rate in "
        f"{sum(lead.value > 0 for lead in leads)}, on the same reports by {_in_errors(leads)} standard errors; at ε = "
        f"{td.epsilon:g} they are wrong in {100 * td.error_rate.value:.1f} % and {100 * mv.error_rate.value:.1f} %.",
        table=table,
    )


def _nothing_left(reproduction: Reproduction) -> Finding:
    cells = reproduction.table_3
    last = [where(cells, method=method)[-1] for method in METHODS]
    words = ", ".join(f"{100 * cell.error_rate.value:.1f} % ({cell.method})" for cell in last)
    constant = next(row.largest_class for row in reproduction.crowds if row.crowd == last[0].crowd)
    rates = [cell.error_rate for cell in last]
    return _said(
        "half",
        between(rates, 0.5 - _AROUND, 0.5 + _AROUND, trials=reproduction.trials),
        f"The error rates are {words}. Ties count as class 0, and {100 * constant:.1f} % of the known truths "
        "are of one class: no estimator beats one half on average over a truth and its complement.",
        around=100 * _AROUND,
    )


def _weights(reproduction: Reproduction) -> Iterator[Finding]:
    made_up = {row.crowd for row in reproduction.crowds if row.is_made_up}
    for crowd in dict.fromkeys(row.crowd for row in reproduction.weights):
        rows = where(reproduction.weights, crowd=crowd)
        (fall,) = where(reproduction.falls, crowd=crowd)
        large = [row.clean > row.reported for row in rows if row.flip_probability >= _LARGE_FLIP]
        yield _said(
            "weights",
            all_above([fall.correlation], trials=reproduction.trials),
            f"The correlation over {len(rows)} workers is {fall.correlation:.3f} on average over "
            f"{reproduction.trials:,} trials, ε = {fall.epsilon:g} as claimed; in the first, which is drawn, "
            f"{sum(large)} of {len(large)} who drew {_LARGE_FLIP:g} or more lose weight. The worker with most answers "
            f"gave {max(row.num_answers for row in rows):,}.",
            on_stand_in=crowd in made_up,
            crowd=crowd,
        )


def _equal_privacy(reproduction: Reproduction) -> Finding:
    found = where(reproduction.choices, unit="all answers")
    gains = [choice.two_layer_gain for choice in found if choice.two_layer_gain is not None]
    errors = errors_of(len(gains), reproduction.trials)
    better, worse = apart(gains, errors)
    return _said(
        "utility",
        all_above(gains, trials=reproduction.trials),
        f"With truth discovery it is better in {better} of {len(gains)} cases and worse in {worse}, by "
        f"more than {errors:.1f} standard errors.",
    )


def findings_on_truth_discovery() -> Iterator[BoundedFinding]:
    """Yield the paper's claims in its order, with what was found."""
    flip = flip_probability_of(_EPSILON, _LABELS)
    channel = np.array(OneLayer.of_flip_probability((_LABELS,), flip).channel_matrix())
    yield _found(
        key="T10",
        quantity="loss of one answer at ε = 1",
        claimed=epsilon_of(flip, _LABELS),
        found=exact_epsilon(channel[1:3, 1:]),
        command=_AUDIT,
        note="It loses exactly this.",
    )
    flip = 0.9
    yield _found(
        key="T11",
        quantity="loss of one answer with s = 2 labels, p = 0.9",
        claimed=float(np.log((1 - flip) * (_LABELS - 1) / flip)),
        found=_channel_loss(flip),
        only="up to p = (s - 1)/s; beyond, the formula's absolute value is the loss",
        note="The formula is below 0 here, and no loss is. A mostly false report tells as much as a mostly true one.",
    )
    yield _found(
        key="T12",
        quantity=f"loss of all {NUM_ANSWERS} answers of a worker, one layer, ε = 1",
        claimed=_EPSILON,
        found=_exact_loss("one_layer", "all answers"),
        command=_AUDIT,
        only="for a user with one answer",
        note="A user with m answers loses mε in all.",
    )
    whole = f"loss of all {NUM_ANSWERS} answers of a worker"
    quantities = {
        "all answers": f"{whole}, a = 0, ε = 1",
        "one answer": f"loss of one of a worker's {NUM_ANSWERS} answers, the others being known, a = 0, ε = 1",
    }
    notes = {
        "all answers": "All answers of a worker share one flip probability, so together they tell more than one does.",
        "one answer": "Whoever knows the other answers learns the flip probability from them, and so more of this one.",
    }
    units: tuple[Literal["all answers", "one answer"], ...] = ("all answers", "one answer")
    for letter, unit in zip(("", "b"), units, strict=True):
        yield _found(
            key=f"T3{letter}",
            quantity=quantities[unit],
            claimed=_EPSILON,
            found=_exact_loss("two_layer", unit),
            command=_AUDIT,
            only="for a worker with a single answer",
            note=notes[unit],
        )
    yield _found(
        key="T3c",
        quantity=f"{whole}, two layers, flip probability uniform in [0, 1]",
        claimed=0.0,
        found=_exact_loss("two_layer", "all answers", epsilon=0.0),
        command=_REPRODUCE,
        only="for a worker with a single answer",
        note="The reports still tell how alike a worker's answers are: the loss of m answers is ln C(m, ⌊m/2⌋).",
    )
    low, high = 0.5, 1.0
    yield _found(
        key="T13",
        quantity="loss of one answer with s = 2 labels, a = 0.5, b = 1",
        claimed=_channel_loss(low),
        found=_channel_loss((low + high) / 2),
        only="up to a + b = 2(s - 1)/s",
        note="Beyond that, answers are mostly flipped, and a report tells the answer by its opposite.",
        compared="at b = 0.5",
    )
    kept, all_kept = (likelihood_at_zero(0, number) for number in (NUM_ANSWERS - 1, NUM_ANSWERS))
    yield _found(
        key="T3d",
        quantity=f"chance that a report is the true answer, if {NUM_ANSWERS - 1} others of the worker are known to be",
        claimed=0.5,
        found=float(all_kept / kept),
        only="for a worker with a single answer",
        note="The chance is m/(m + 1) for m answers: a worker with many true reports probably drew a small p.",
        compared="a coin",
    )
    yield _found(
        key="T4",
        quantity=f"loss of all {NUM_ANSWERS} answers of a worker at ε = 1",
        claimed=_exact_loss("one_layer", "all answers"),
        bound="=",
        found=_exact_loss("two_layer", "all answers"),
        command=_AUDIT,
        only="for a worker with a single answer",
        note="With two layers all answers together lose less than with one layer, and a single one of them loses more.",
        compared="one layer",
    )
    mean = flip_probability_of(_EPSILON, _LABELS)
    rows = compare_hypers(hypers_of_mean(mean), num_answers=NUM_ANSWERS, num_labels=_LABELS)
    least = min(rows, key=lambda row: row.one_answer)
    uniform = next(row for row in rows if row.name == "uniform")
    yield _found(
        key="T9",
        quantity=f"loss of one of a worker's {NUM_ANSWERS} answers at equal mean flip probability",
        claimed=least.one_answer,
        found=uniform.one_answer,
        command=_REPRODUCE,
        note="Another distribution protects better. For a worker with one answer the mean alone counts.",
        compared=f"a {least.name}",
    )
    yield _found(
        key="T8",
        quantity=f"error rate of {_WORKERS} workers who are wrong with probability {_QUALITY:g}",
        claimed=printed_bound(_QUALITY, _WORKERS),
        found=exact_error(_QUALITY, _WORKERS),
        command=_REPRODUCE,
        note="The error is larger than the bound, since the proof replaces E[e^(-xw)] by (E[e^(-x)])^w.",
        compared="the bound (7)",
    )
    yield _found(
        key="T8b",
        quantity=f"a user's factor in the bound (7) at p = {1 - _QUALITY:g}",
        claimed=printed_factor(_QUALITY),
        bound="=",
        found=printed_factor(1 - _QUALITY),
        only="for the votes themselves",
        note="The two users' votes have the same error, but the bound (7) gives them different factors.",
        compared=f"at p = {_QUALITY:g}",
    )
    quality = 0.01
    yield _found(
        key="T14",
        quantity=f"G(p)/2p for an important user, who is wrong with probability p = {quality:g}",
        claimed=1.0,
        bound="=",
        found=printed_factor(quality) / (2 * quality),
        command=_REPRODUCE,
        tolerance=0.1,
        note="They differ by a factor of about two, and the product over n users by its n-th power.",
    )
    law = ProductOfUniforms(_HIGH, _IMPORTANT)
    (smaller,) = law.distribution([law.mean]).tolist()
    yield _found(
        key="T15",
        quantity=f"chance that Δ is smaller with two layers than with one, b = {_HIGH:g}, {_IMPORTANT} important users",
        claimed=0.5,
        bound=">",
        found=smaller,
        command=_REPRODUCE,
        note="The mean of Δ is the same, which the paper does not deny.",
        compared="as often as not",
    )
    answers: IntArray = np.array([[0, 1], [0, 0], [1, 1]], dtype=np.int64)
    truths: IntArray = np.array([0, 1], dtype=np.int64)

    def majority(reports: IntArray) -> IntArray:
        return (2 * reports.sum(axis=0) > len(reports)).astype(np.int64)

    yield _found(
        key="T5",
        quantity="accuracy, averaged over a truth and its complement",
        claimed=0.5,
        bound="=",
        found=float(mean_accuracy_at_zero(majority, answers, truths)),
        command=_REPRODUCE,
        note="It is for every estimator. On a single truth, always answering one label has that label's share.",
    )


def _exact_loss(
    mechanism: MechanismName, unit: Literal["all answers", "one answer"], *, epsilon: float = _EPSILON
) -> float:
    """Return ε of a worker's answers together, or of one where the others are known, by their joint law."""
    survey = survey_of(mechanism, epsilon, [BINARY] * NUM_ANSWERS)
    case = case_of_worker(survey, "one survey", num_sessions=1, is_one_answer=unit == "one answer")
    (pair,) = case.pairs()
    assert pair.laws is not None  # noqa: S101  five binary answers
    return exact_epsilon(pair.laws)


def _channel_loss(flip: float) -> float:
    """Return ε of one binary answer that is flipped with probability p, by the channel of Definition 5.1."""
    return exact_epsilon(np.array([[1 - flip, flip], [flip, 1 - flip]]))
