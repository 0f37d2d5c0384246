"""Weight functions and estimators that somebody registers: found by name in scenarios, checked, and blamed."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributions import installed
from psephos.protocol.errors import ConfigurationError, PluginError
from psephos.protocol.estimators.truth_inference import Answers, Inference, infer_by_scores, majority_vote
from psephos.protocol.truth_discovery import Outcome, Parameters, TruthDiscovery
from psephos.scenarios import load_scenario, resolve, run_session, simulate
from psephos.scenarios.presentation import verdict_of
from psephos.scenarios.truth_discovery.testing import check_estimator

ENTRY_POINTS = """[psephos.estimators]
cubed = own_weights:cubed
raising = own_weights:raising

[psephos.weight_functions]
square = own_weights:square
falling = own_weights:falling
number = own_weights:NUMBER
nowhere = own_weights:nowhere
"""
SOURCE = """import numpy as np
from psephos.protocol.estimators.truth_inference import infer_by_scores

NUMBER = 3


def cubed(answers, noise, *, ties, **_):
    votes = np.zeros((answers.num_tasks, answers.num_classes))
    np.add.at(votes, (answers.tasks, answers.labels), 1.0)
    return infer_by_scores(answers, votes**3, ties=ties)


def raising(answers, noise, **_):
    raise ValueError("no idea")


def square(share):
    return share * share


def falling(share):
    return 1 - share
"""
SETTINGS = ("workers.tasks=20", "workers.workers=9", "workers.answers_per_task=4", "estimator=truth_discovery")


def test_a_registered_function_is_a_word_in_scenarios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gives the outcome that the same function gives in code, among agents and on arrays."""
    with installed(monkeypatch, tmp_path, "own_weights", ENTRY_POINTS, SOURCE):
        settings = (*SETTINGS, "weight_function=square")
        records = [
            run_session(resolve(load_scenario("crowd", (*settings, f"transport={path}"))), seed=5)
            for path in ("memory", "array")
        ]
        resolved = resolve(load_scenario("crowd", settings))
        assert isinstance(resolved.protocol, TruthDiscovery)
        own = TruthDiscovery(resolved.protocol.parameters, weight_function=lambda share: share * share)
        assert [record.outcome for record in records] == [own.outcome(records[0].tallies)] * 2
        assert [record.own_outcomes for record in records] == [records[0].own_outcomes] * 2


@pytest.mark.bad_input("a weight function that does not increase, is not known, or is no function")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("falling", "Make it increasing in the share of right answers"),
        ("number", "weight_function is 'number': register it as a Callable"),
        ("nowhere", "own_weights:nowhere cannot"),
        ("cube", "weight_function is 'cube': use one of falling, linear, log_odds, nowhere, number, square"),
    ],
)
def test_a_registered_name_that_is_no_weight_function_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: str
) -> None:
    with (
        installed(monkeypatch, tmp_path, "own_weights", ENTRY_POINTS, SOURCE),
        pytest.raises(ConfigurationError) as caught,
    ):
        resolve(load_scenario("crowd", (*SETTINGS, f"weight_function={name}")))
    assert words in str(caught.value)


CROWD = ("workers.tasks=20", "workers.workers=9", "workers.answers_per_task=4")


def cubed(answers: Answers, _: object, *, ties: Any, **__: int) -> Inference:
    """Elect like a majority, with other shares."""
    votes = np.zeros((answers.num_tasks, answers.num_classes))
    np.add.at(votes, (answers.tasks, answers.labels), 1.0)
    return infer_by_scores(answers, votes**3, ties=ties)


def test_a_registered_estimator_is_a_word_in_scenarios_and_says_no_calibrated_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Truths are the majority's, on both paths; of its confidences none is said, and none by a verdict."""
    with installed(monkeypatch, tmp_path, "own_weights", ENTRY_POINTS, SOURCE):
        outcomes = [
            run_session(
                resolve(load_scenario("crowd", (*CROWD, f"estimator={name}", f"transport={path}"))), seed=5
            ).outcome
            for name in ("cubed", "majority")
            for path in ("memory", "array")
        ]
    mine, same, plain, _ = outcomes
    assert isinstance(mine, Outcome)
    assert isinstance(plain, Outcome)
    assert mine == same
    assert (mine.truths, mine.estimator, mine.is_calibrated) == (plain.truths, "cubed", False)
    assert set(mine.confidences) == set(mine.confidence_ranges) == {None}
    assert all(each is not None for each in mine.model_confidences)
    assert "right" not in verdict_of(mine)


@pytest.mark.bad_input("an estimator that is not known, or that fails")
def test_an_estimator_that_is_not_there_or_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with installed(monkeypatch, tmp_path, "own_weights", ENTRY_POINTS, SOURCE):
        with pytest.raises(ConfigurationError, match=r"estimator 'cubd' is unknown: did you mean 'cubed'"):
            resolve(load_scenario("crowd", (*CROWD, "estimator=cubd")))
        with pytest.raises(
            PluginError, match=r"estimator 'raising' failed in its call: ValueError: no idea \(.*line 14\)"
        ):
            run_session(resolve(load_scenario("crowd", (*CROWD, "estimator=raising", "transport=array"))), seed=5)


def test_a_survey_without_its_estimator_is_refused_before_it_begins() -> None:
    parameters = Parameters(tasks=("t",), answer_sets=(("no", "yes"),), max_answers=1, estimator="mine")
    workers = {f"worker-{number}": (["t"], ["yes"]) for number in range(3)}
    with pytest.raises(ConfigurationError, match=r"estimator is .mine.: use .* TruthDiscovery.parameters, estimator="):
        simulate(TruthDiscovery(parameters), workers, seed=1)
    assert simulate(TruthDiscovery(parameters, estimator=cubed), workers, seed=1).estimator == "mine"


def test_an_estimator_that_keeps_its_promises_passes() -> None:
    check_estimator(cubed)


def _changed(**changes: Callable[[Inference], Any]) -> Callable[..., Inference]:
    def estimator(answers: Answers, _: object, *, ties: Any, **__: int) -> Inference:
        found = majority_vote(answers, ties=ties)
        return dataclasses.replace(found, **{field: change(found) for field, change in changes.items()})

    return estimator


def _nothing(*_: object, **__: object) -> None:
    pass


def _unlike(answers: Answers, _: object, *, ties: Any, **__: int) -> Inference:
    scores = np.ones((answers.num_tasks, answers.num_classes))
    scores[answers.tasks, answers.labels] = 0.0  # what nobody answered
    return infer_by_scores(answers, scores, ties=ties)


def _changing(answers: Answers, _: object, *, ties: Any, **__: int) -> Inference:
    found = majority_vote(answers, ties=ties)
    answers.labels[:] = 0
    return found


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (
            _changed(truths=lambda found: found.truths[:-1]),
            "return for truths a label's code for each task with an answer",
        ),
        (_changed(truths=lambda found: found.truths + 9), "below its number of labels"),
        (_changed(truths=lambda found: found.truths + 0.25), "below its number of labels"),
        (_changed(confidences=lambda found: found.confidences * 2), "return for \\w+ .*in .0, 1."),
        (_changed(qualities=lambda found: found.qualities - 2), "return for \\w+ .*in .0, 1."),
        (_changed(weights=lambda found: found.weights * np.inf), "return for weights at most"),
        (_changed(weights=lambda found: found.weights * np.random.default_rng().random()), "asked twice, weights are"),
        (_unlike, "What all of nine workers answer is the truth"),
        (_changing, "it changed labels"),
        (_nothing, "returned a NoneType, no Inference"),
    ],
)
def test_an_estimator_that_breaks_a_promise_is_told_which(estimator: Any, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_estimator(estimator)
