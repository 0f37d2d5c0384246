"""What laws say of the paper's claims, here and now; what trials say of the others, `claims.csv` has by rows.

`psephos audit papers` shows these, `psephos reproduce` all of them.

Source: Li et al. (2018), Sections 6 and 7; readings T3 to T15.
"""

from collections.abc import Iterator
from typing import Final, Literal

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.mechanisms import OneLayer, compare_hypers, epsilon_of, flip_probability_of, hypers_of_mean
from ....protocol.truth_discovery.parameters import MechanismName
from ...audit.bounds import exact_epsilon
from ...experiments.findings import BoundedFinding, found_in
from ..audit.sessions import BINARY, NUM_ANSWERS, case_of_worker, survey_of
from ..workers import printed_factor
from .theory import ProductOfUniforms, exact_error, likelihood_at_zero, mean_accuracy_at_zero, printed_bound

_AUDIT: Final = "psephos audit truth-discovery"
_REPRODUCE: Final = "psephos reproduce truth-discovery"
_EPSILON: Final = 1.0
_LABELS: Final = 2
# Reading T8's case.
_WORKERS, _QUALITY = 11, 0.25
_HIGH, _IMPORTANT = 0.9, 10
_found: Final = found_in(__name__, paper="Truth discovery: Li et al. (2018)")


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
    cases: tuple[tuple[str, Literal["all answers", "one answer"], str, str], ...] = (
        (
            "T3",
            "all answers",
            f"{whole}, a = 0, ε = 1",
            "All answers of a worker share one flip probability, so together they tell more than one does.",
        ),
        (
            "T3b",
            "one answer",
            f"loss of one of a worker's {NUM_ANSWERS} answers, the others being known, a = 0, ε = 1",
            "Whoever knows the other answers learns the flip probability from them, and so more of this one.",
        ),
    )
    for key, unit, quantity, note in cases:
        yield _found(
            key=key,
            quantity=quantity,
            claimed=_EPSILON,
            found=_exact_loss("two_layer", unit),
            command=_AUDIT,
            only="for a worker with a single answer",
            note=note,
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
    smaller = law.distribution(law.mean)
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
