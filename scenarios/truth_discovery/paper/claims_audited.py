"""The claims of the truth discovery paper.

Source: Li et al. (2018), Section 6; readings T3 to T9.
"""

import functools
from collections.abc import Iterator
from fractions import Fraction
from typing import Final, Literal

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.mechanisms import compare_hypers, epsilon_of, flip_probability_of, hypers_of_mean
from ....protocol.truth_discovery.parameters import MechanismName
from ...audit.bounds import exact_epsilon
from ...experiments.findings import BoundedFinding
from ..audit.sessions import BINARY, NUM_ANSWERS, case_of_worker, survey_of
from .error_bounds import exact_error, log_odds, printed_bound, printed_factors
from .error_change import ProductOfUniforms
from .theory import likelihood, mean_accuracy_of_truth_and_complement, one_layer_loss

__all__ = ["findings_on_truth_discovery"]

_AUDIT: Final = "psephos audit truth-discovery"
_REPRODUCE: Final = "psephos reproduce truth-discovery"
_EPSILON: Final = 1.0
_LABELS: Final = 2
# Reading T8's case.
_WORKERS, _QUALITY = 11, 0.25
_HIGH, _IMPORTANT = 0.9, 10
_found: Final = functools.partial(BoundedFinding, paper="Truth discovery: Li et al. (2018)")


def findings_on_truth_discovery() -> Iterator[BoundedFinding]:
    """Yield the paper's claims in its order, with what was found."""
    yield _one_layer()
    yield _beyond_even()
    yield _whole_worker()
    yield from _two_layer()
    yield _larger_range()
    yield _posterior()
    yield _same_guarantee()
    yield _uniform_is_strongest()
    yield from _error_bound()
    yield _line()
    yield _change()
    yield _nothing_left()


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


def _one_layer() -> BoundedFinding:
    flip = flip_probability_of(_EPSILON, _LABELS)
    return _found(
        key="T10",
        claim="One layer with flip probability p and s labels is ln((1 - p)(s - 1)/p)-LDP for one answer (Theorem 6.2)",
        quantity="loss of one answer at ε = 1",
        claimed=epsilon_of(flip, _LABELS),
        found=one_layer_loss(flip, num_labels=_LABELS),
        command=_AUDIT,
        note="It loses exactly this.",
    )


def _beyond_even() -> BoundedFinding:
    flip = 0.9
    return _found(
        key="T11",
        claim="The formula ln((1 - p)(s - 1)/p) is the loss for every flip probability p (Theorem 6.2)",
        quantity="loss of one answer with s = 2 labels, p = 0.9",
        claimed=float(np.log((1 - flip) * (_LABELS - 1) / flip)),
        found=_channel_loss(flip),
        only="up to p = (s - 1)/s; beyond, the formula's absolute value is the loss",
        note="The formula is below 0 here, and no loss is. A mostly false report tells as much as a mostly true one.",
    )


def _whole_worker() -> BoundedFinding:
    return _found(
        key="T12",
        claim="The privacy of each user is guaranteed at ε (Sections 5.1 and 6.1.1)",
        quantity=f"loss of all {NUM_ANSWERS} answers of a worker, one layer, ε = 1",
        claimed=_EPSILON,
        found=_exact_loss("one_layer", "all answers"),
        command=_AUDIT,
        only="for a user with one answer",
        note="A user with m answers loses mε in all.",
    )


def _two_layer() -> Iterator[BoundedFinding]:
    claim = (
        "Two layers, with flip probabilities drawn from [a, b] and s labels, are ln((2 - a - b)(s - 1)/(a + b))-LDP "
        "(Theorem 6.3)"
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
            claim=claim,
            quantity=quantities[unit],
            claimed=_EPSILON,
            found=_exact_loss("two_layer", unit),
            command=_AUDIT,
            only="for a worker with a single answer",
            note=notes[unit],
        )
    yield _found(
        key="T3c",
        claim="At ε = 0 the answers have no influence on the reports (Section 7.2)",
        quantity=f"{whole}, two layers, flip probability uniform in [0, 1]",
        claimed=0.0,
        found=_exact_loss("two_layer", "all answers", epsilon=0.0),
        command=_REPRODUCE,
        only="for a worker with a single answer",
        note="The reports still tell how alike a worker's answers are: the loss of m answers is ln C(m, ⌊m/2⌋).",
    )


def _larger_range() -> BoundedFinding:
    """A range that ends beyond a + b = 1 has its mean nearer to 1 than the narrower one's to 1/2."""
    low, high = 0.5, 1.0
    return _found(
        key="T13",
        claim="If a stays the same, a larger b preserves more privacy (Section 6.1.2)",
        quantity="loss of one answer with s = 2 labels, a = 0.5, b = 1",
        claimed=_channel_loss(low),
        found=_channel_loss((low + high) / 2),
        only="up to a + b = 2(s - 1)/s",
        note="Beyond that, answers are mostly flipped, and a report tells the answer by its opposite.",
        compared="at b = 0.5",
    )


def _posterior() -> BoundedFinding:
    """Return what is known of the last answer once the other reports were seen to be unchanged, at "ε = 0"."""
    kept, all_kept = (likelihood(0, number, low=0, high=1) for number in (NUM_ANSWERS - 1, NUM_ANSWERS))
    return _found(
        key="T3d",
        claim="At ε = 0 a report says nothing about the answer (Section 7.2)",
        quantity=f"chance that a report is the true answer, if {NUM_ANSWERS - 1} others of the worker are known to be",
        claimed=0.5,
        found=float(all_kept / kept),
        only="for a worker with a single answer",
        note="The chance is m/(m + 1) for m answers: a worker with many true reports probably drew a small p.",
        compared="a coin",
    )


def _same_guarantee() -> BoundedFinding:
    return _found(
        key="T4",
        claim="Two layers give the same guarantee as one layer with p = (a + b)/2 (Theorem 6.4)",
        quantity=f"loss of all {NUM_ANSWERS} answers of a worker at ε = 1",
        claimed=_exact_loss("one_layer", "all answers"),
        bound="=",
        found=_exact_loss("two_layer", "all answers"),
        command=_AUDIT,
        only="for a worker with a single answer",
        note="With two layers all answers together lose less than with one layer, and a single one of them loses more.",
        compared="one layer",
    )


def _uniform_is_strongest() -> BoundedFinding:
    mean = flip_probability_of(_EPSILON, _LABELS)
    rows = compare_hypers(hypers_of_mean(mean), num_answers=NUM_ANSWERS, num_labels=_LABELS)
    least = min(rows, key=lambda row: row.one_answer)
    uniform = next(row for row in rows if row.name == "uniform")
    return _found(
        key="T9",
        claim="Flip probabilities from a uniform distribution protect better than from any other (Section 6.1.2)",
        quantity=f"loss of one of a worker's {NUM_ANSWERS} answers at equal mean flip probability",
        claimed=least.one_answer,
        found=uniform.one_answer,
        command=_REPRODUCE,
        note="Another distribution protects better. For a worker with one answer the mean alone counts.",
        compared=f"a {least.name}",
    )


def _error_bound() -> Iterator[BoundedFinding]:
    qualities = np.full(_WORKERS, _QUALITY)
    weights = log_odds(qualities)
    yield _found(
        key="T8",
        claim="The error rate of the weighted vote is at most the bound (7)",
        quantity=f"error rate of {_WORKERS} workers who are wrong with probability {_QUALITY:g}",
        claimed=printed_bound(qualities),
        found=exact_error(qualities, weights),
        command=_REPRODUCE,
        note="The error is larger than the bound, since the proof replaces E[e^(-xw)] by (E[e^(-x)])^w.",
        compared="the bound (7)",
    )
    of_worker, of_mirrored = printed_factors(np.array([_QUALITY, 1 - _QUALITY])).tolist()
    yield _found(
        key="T8b",
        claim="Users who are wrong with probability p and with 1 - p are equivalent, so p ≤ 1/2 may be assumed (6.2.1)",
        quantity=f"a user's factor in the bound (7) at p = {1 - _QUALITY:g}",
        claimed=of_worker,
        bound="=",
        found=of_mirrored,
        only="for the votes themselves",
        note="The two users' votes have the same error, but the bound (7) gives them different factors.",
        compared=f"at p = {_QUALITY:g}",
    )


def _line() -> BoundedFinding:
    quality = 0.01
    return _found(
        key="T14",
        claim="The factor G(p) and its approximation 2p are very close to each other (Section 6.2.2)",
        quantity=f"G(p)/2p for an important user, who is wrong with probability p = {quality:g}",
        claimed=1.0,
        bound="=",
        found=float(printed_factors(np.array([quality]))[0]) / (2 * quality),
        command=_REPRODUCE,
        tolerance=0.1,
        note="They differ by a factor of about two, and the product over n users by its n-th power.",
    )


def _change() -> BoundedFinding:
    law = ProductOfUniforms(0.0, _HIGH, _IMPORTANT)
    return _found(
        key="T15",
        claim="Two layers change the error less than one does, as Δ is small with high probability (6.2.3 and 6.3)",
        quantity=f"mean Δ with two layers, divided by that with one, b = {_HIGH:g}, {_IMPORTANT} important users",
        claimed=1.0,
        bound="<",
        found=law.mean / law.one_layer,
        command=_REPRODUCE,
        note=f"Δ is smaller in {100 * law.chance_below_one_layer:.0f} % of all cases, but its mean is the same.",
    )


def _nothing_left() -> BoundedFinding:
    answers: IntArray = np.array([[0, 1], [0, 0], [1, 1]], dtype=np.int64)
    truths: IntArray = np.array([0, 1], dtype=np.int64)

    def majority(reports: IntArray) -> IntArray:
        return (2 * reports.sum(axis=0) > len(reports)).astype(np.int64)

    found: Fraction = mean_accuracy_of_truth_and_complement(majority, answers, truths, low=0, high=1)
    return _found(
        key="T5",
        claim="At ε = 0 the accuracy is around 0.5 (Section 7.2)",
        quantity="accuracy, averaged over a truth and its complement",
        claimed=0.5,
        bound="=",
        found=float(found),
        command=_REPRODUCE,
        note="It is for every estimator. On a single truth, always answering one label has that label's share.",
    )
