"""Findings on the paper's claims that exact laws decide; `claims.csv` says how trials decide the others.

`psephos audit papers` shows the former, `psephos reproduce` all of them.

Source: Li et al. (2018), Sections 6 and 7; readings T3 to T15.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from ....protocol.mechanisms import OneLayer, compare_hypers, epsilon_of, flip_probability_of, hypers_of_mean
from ....protocol.truth_discovery.parameters import MechanismName
from ...audit.bounds import exact_epsilon
from ...experiments.findings import BoundedFinding, make_finder
from ..audit.sessions import BINARY, NUM_ANSWERS, case_of_worker, survey_of
from ..workers import printed_factor
from .theory import ProductOfUniforms, exact_error, likelihood_at_zero, mean_accuracy_at_zero, printed_bound

_EPSILON: Final = 1.0
_LABELS: Final = 2
# Reading T8's case.
_WORKERS, _QUALITY = 11, 0.25
_found: Final = make_finder(__name__, paper="Truth discovery: Li et al. (2018)")


def findings_on_truth_discovery() -> Iterator[BoundedFinding]:
    """Yield the findings on the paper's claims, in its order."""
    flip = flip_probability_of(_EPSILON, _LABELS)
    channel = np.array(OneLayer.from_flip_probability((_LABELS,), flip).channel_matrix())
    yield _found("T10", exact_epsilon(channel[1:3, 1:]), epsilon_of(flip, _LABELS))
    often = 0.9
    yield _found("T11", _channel_loss(often), float(np.log((1 - often) * (_LABELS - 1) / often)))
    of_all = _exact_loss("one_layer")
    yield _found("T12", of_all)
    of_two = _exact_loss("two_layer")
    yield _found("T3", of_two)
    yield _found("T3b", _exact_loss("two_layer", is_one_answer=True))
    yield _found("T3c", _exact_loss("two_layer", epsilon=0.0))
    # The mean and the least flip probability of U(½, 1).
    yield _found("T13", _channel_loss(0.75), _channel_loss(0.5))
    yield _found("T3d", likelihood_at_zero(0, NUM_ANSWERS) / likelihood_at_zero(0, NUM_ANSWERS - 1))
    yield _found("T4", of_two, of_all)
    hypers = compare_hypers(hypers_of_mean(flip), num_answers=NUM_ANSWERS, num_labels=_LABELS)
    losses = {hyper.name: hyper.one_answer for hyper in hypers}
    least_loss = min(losses, key=lambda name: losses[name])
    yield _found("T9", losses["uniform"], losses[least_loss], name=least_loss)
    yield _found("T8", exact_error(_QUALITY, _WORKERS), printed_bound(_QUALITY, _WORKERS))
    yield _found("T8b", printed_factor(1 - _QUALITY), printed_factor(_QUALITY))
    important = 0.01
    yield _found("T14", printed_factor(important) / (2 * important))
    law = ProductOfUniforms(0.9, 10)
    yield _found("T15", law.distribution(law.mean))
    answers, truths = np.array([[0, 1], [0, 0], [1, 1]]), np.array([0, 1])
    yield _found("T5", mean_accuracy_at_zero(lambda reports: np.median(reports, axis=0), answers, truths))


def _exact_loss(mechanism: MechanismName, *, is_one_answer: bool = False, epsilon: float = _EPSILON) -> float:
    """Return the exact ε of a worker's answers jointly, or of one with the others known, by their joint law."""
    survey = survey_of(mechanism, epsilon, [BINARY] * NUM_ANSWERS)
    case = case_of_worker(survey, "one survey", num_sessions=1, is_one_answer=is_one_answer)
    (pair,) = case.pairs()
    assert pair.laws is not None  # noqa: S101  five binary answers
    return exact_epsilon(pair.laws)


def _channel_loss(flip: float) -> float:
    """Return the ε of one binary answer with flip probability p, by the channel of Definition 5.1."""
    return exact_epsilon(np.array([[1 - flip, flip], [flip, 1 - flip]]))
