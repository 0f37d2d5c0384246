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
_found: Final = functools.partial(BoundedFinding, paper="Li et al. 2018")


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
        claim="One layer is ln((1 - p)(s - 1)/p)-LDP (Theorem 6.2), for one answer",
        quantity="ε of an answer",
        claimed=epsilon_of(flip, _LABELS),
        found=one_layer_loss(flip, num_labels=_LABELS),
        command=_AUDIT,
    )


def _beyond_even() -> BoundedFinding:
    flip = 0.9
    return _found(
        key="T11",
        claim="... for every p (Theorem 6.2), as p = 0.9 and s = 2, where the formula is below 0",
        quantity="ε of an answer",
        claimed=float(np.log((1 - flip) * (_LABELS - 1) / flip)),
        found=_channel_loss(flip),
        only="up to p = (s - 1)/s; beyond, its size counts",
    )


def _whole_worker() -> BoundedFinding:
    return _found(
        key="T12",
        claim="The privacy of individual users is guaranteed at ε (5.1; 6.1.1)",
        quantity=f"ε of all answers, one layer, m = {NUM_ANSWERS}",
        claimed=_EPSILON,
        found=_exact_loss("one_layer", "all answers"),
        command=_AUDIT,
        only="for one answer: m of them cost mε",
    )


def _two_layer() -> Iterator[BoundedFinding]:
    claim = "Two layers are ln((2 - a - b)(s - 1)/(a + b))-LDP (Theorem 6.3)"
    units: tuple[Literal["all answers", "one answer"], ...] = ("all answers", "one answer")
    for letter, unit in zip(("", "b"), units, strict=True):
        yield _found(
            key=f"T3{letter}",
            claim=claim,
            quantity=f"ε of {unit}, m = {NUM_ANSWERS}, a = 0",
            claimed=_EPSILON,
            found=_exact_loss("two_layer", unit),
            command=_AUDIT,
            only="for a worker with a single answer",
            note="All answers share one flip probability." if unit == "all answers" else "The others are known.",
        )
    yield _found(
        key="T3c",
        claim="... so that at ε = 0 answers have no influence on reports (7.2)",
        quantity=f"ε of all answers, m = {NUM_ANSWERS}, p from U(0, 1)",
        claimed=0.0,
        found=_exact_loss("two_layer", "all answers", epsilon=0.0),
        command=_REPRODUCE,
        only="for a worker with a single answer",
        note="ln C(m, ⌊m/2⌋): reports tell how alike the answers are.",
    )


def _larger_range() -> BoundedFinding:
    """A range that ends beyond a + b = 1 has its mean nearer to 1 than the narrower one's to 1/2."""
    low, high = 0.5, 1.0
    return _found(
        key="T13",
        claim="With a fixed, a larger b preserves more privacy (6.1.2): a = 0.5, b = 1 against b = 0.5",
        quantity="ε of an answer",
        claimed=_channel_loss(low),
        found=_channel_loss((low + high) / 2),
        only="up to a + b = 2(s - 1)/s",
    )


def _posterior() -> BoundedFinding:
    """Return what is known of the last answer once the other reports were seen to be unchanged, at "ε = 0"."""
    kept, all_kept = (likelihood(0, number, low=0, high=1) for number in (NUM_ANSWERS - 1, NUM_ANSWERS))
    return _found(
        key="T3d",
        claim="At ε = 0 a report says nothing of the answer (7.2)",
        quantity=f"chance that a report is the answer, {NUM_ANSWERS - 1} others seen unchanged",
        claimed=0.5,
        found=float(all_kept / kept),
        only="for a worker with a single answer",
        note="m/(m + 1): who was honest before drew a small p.",
    )


def _same_guarantee() -> BoundedFinding:
    return _found(
        key="T4",
        claim="Two layers have the same guarantee as one with p = (a + b)/2 (Theorem 6.4)",
        quantity=f"ε of all answers, m = {NUM_ANSWERS}; claimed: one layer's",
        claimed=_exact_loss("one_layer", "all answers"),
        bound="=",
        found=_exact_loss("two_layer", "all answers"),
        command=_AUDIT,
        only="for a worker with a single answer",
        note="All answers together lose less, and one of them more.",
    )


def _uniform_is_strongest() -> BoundedFinding:
    mean = flip_probability_of(_EPSILON, _LABELS)
    rows = compare_hypers(hypers_of_mean(mean), num_answers=NUM_ANSWERS, num_labels=_LABELS)
    least = min(rows, key=lambda row: row.one_answer)
    uniform = next(row for row in rows if row.name == "uniform")
    return _found(
        key="T9",
        claim="The uniform distribution protects better than any other (6.1.2)",
        quantity=f"ε of one answer, m = {NUM_ANSWERS}; claimed: a {least.name}'s",
        claimed=least.one_answer,
        found=uniform.one_answer,
        command=_REPRODUCE,
        note="A single answer's loss depends on the mean alone.",
    )


def _error_bound() -> Iterator[BoundedFinding]:
    qualities = np.full(_WORKERS, _QUALITY)
    weights = log_odds(qualities)
    yield _found(
        key="T8",
        claim="The error rate is at most (7)",
        quantity=f"error of {_WORKERS} workers of p = {_QUALITY:g}; claimed: (7)",
        claimed=printed_bound(qualities),
        found=exact_error(qualities, weights),
        command=_REPRODUCE,
        note="E[e^(-xw)] is not (E[e^(-x)])^w.",
    )
    of_worker, of_mirrored = printed_factors(np.array([_QUALITY, 1 - _QUALITY])).tolist()
    yield _found(
        key="T8b",
        claim="Users of p and 1 - p are equivalent, so that p ≤ 1/2 without loss of generality (6.2.1)",
        quantity=f"factor of (7) at p = {1 - _QUALITY:g}; claimed: at p = {_QUALITY:g}",
        claimed=of_worker,
        bound="=",
        found=of_mirrored,
        only="for votes, whose error is the same; (7) treats them differently",
    )


def _line() -> BoundedFinding:
    quality = 0.01
    return _found(
        key="T14",
        claim="G(p) and 2p are very close to each other (6.2.2)",
        quantity=f"G(p)/2p for an important user, p = {quality:g}",
        claimed=1.0,
        bound="=",
        found=float(printed_factors(np.array([quality]))[0]) / (2 * quality),
        command=_REPRODUCE,
        tolerance=0.1,
        note="The product over n users is off by that to the power n.",
    )


def _change() -> BoundedFinding:
    law = ProductOfUniforms(0.0, _HIGH, _IMPORTANT)
    return _found(
        key="T15",
        claim="Two layers change the error less, as Δ is small with high probability (6.2.3; 6.3)",
        quantity=f"mean Δ as a part of one layer's, b = {_HIGH:g}, n = {_IMPORTANT}",
        claimed=1.0,
        bound="<",
        found=law.mean / law.one_layer,
        command=_REPRODUCE,
        note=f"Δ is smaller in {100 * law.chance_below_one_layer:.0f} % of cases, and its mean the same.",
    )


def _nothing_left() -> BoundedFinding:
    answers: IntArray = np.array([[0, 1], [0, 0], [1, 1]], dtype=np.int64)
    truths: IntArray = np.array([0, 1], dtype=np.int64)

    def majority(reports: IntArray) -> IntArray:
        return (2 * reports.sum(axis=0) > len(reports)).astype(np.int64)

    found: Fraction = mean_accuracy_of_truth_and_complement(majority, answers, truths, low=0, high=1)
    return _found(
        key="T5",
        claim="At ε = 0 the accuracy is around 0.5 (7.2)",
        quantity="mean accuracy over a truth and its complement",
        claimed=0.5,
        bound="=",
        found=float(found),
        command=_REPRODUCE,
        note="For every estimator; always answering one label has that label's share.",
    )
