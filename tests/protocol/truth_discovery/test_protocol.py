"""Truth discovery as a protocol: what it counts, what it releases to all and to each, and the truth beside it."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from bad_input import refuses
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol import Inputs, SessionMode, SimulatedNoise, Tally, run_population
from psephos.protocol.estimators.truth_inference import (
    Answers,
    Inference,
    KnownNoise,
    cautious_truth_discovery,
    dawid_skene,
    debiased_majority,
    majority_vote,
    minimax_entropy,
    noise_aware_dawid_skene,
    noise_aware_one_coin,
    one_coin,
    truth_discovery,
)
from psephos.protocol.mechanisms import Discrete, OneLayer
from psephos.protocol.roster import Roster
from psephos.protocol.server_machine import ServerMachine
from psephos.protocol.truth_discovery import (
    Outcome,
    OwnOutcome,
    Parameters,
    TruthDiscovery,
    find_truths,
    known_noise,
)
from strategies import CHECKED, crowds, seeds, told, truth_discoveries

DIRECT: dict[str, tuple[Callable[..., Inference], bool, dict[str, Any]]] = {
    "majority": (majority_vote, False, {}),
    "truth_discovery": (truth_discovery, False, {"clamp": 0.02}),
    "one_coin": (one_coin, False, {}),
    "dawid_skene": (dawid_skene, False, {}),
    "accu": (one_coin, False, {"class_prior": "uniform"}),
    "minimax_entropy": (minimax_entropy, False, {}),
    "noise_aware": (noise_aware_one_coin, True, {}),
    "noise_aware_dawid_skene": (noise_aware_dawid_skene, True, {}),
    "cautious": (cautious_truth_discovery, True, {"clamp": 0.02}),
}
"""Of each estimator its function, whether it is told the noise, and its own options."""
ESTIMATORS = list(DIRECT)
MECHANISMS = ["one_layer", "two_layer", "fresh_two_layer"]
TWO = ("no", "yes")
THREE = ("red", "green", "blue")
GRID = 2.0**20


def make(num_tasks: int = 3, **given: Any) -> TruthDiscovery:
    complete: dict[str, Any] = {
        "tasks": tuple(f"t{task}" for task in range(num_tasks)),
        "answer_sets": (TWO,),
        "max_answers": num_tasks,
        **given,
    }
    return TruthDiscovery(Parameters(**complete))


def inputs_of(protocol: TruthDiscovery, answers: Sequence[Sequence[str]]) -> Inputs:
    """Return rows of workers who are all asked everything."""
    return protocol.encode({"tasks": [list(protocol.parameters.tasks)] * len(answers), "answers": answers})


def clean_tally(protocol: TruthDiscovery, answers: Sequence[Sequence[str]]) -> Tally:
    """Return the tally of reports that happen to be the answers."""
    inputs = inputs_of(protocol, answers)
    return protocol.phase.tally(inputs.private, earlier=(), public=inputs.public)


def run(protocol: TruthDiscovery, inputs: Inputs, *, seed: int = 5) -> Any:
    return run_population(protocol, inputs, noise=SimulatedNoise(seed, session="s"))


def on_grid(number: float) -> float:
    return round(number * GRID) / GRID


def test_there_is_one_phase_over_all_answers() -> None:
    protocol = make(4, max_answers=3, epsilon=1.0)
    phase = protocol.phase
    assert (phase.name, phase.columns, phase.num_values) == ("answers", slice(0, 3), 3)
    assert phase.mechanism == OneLayer.from_epsilon((2,), 1.0)
    assert protocol.name == "truth-discovery"
    assert (protocol.client_role, protocol.server_role) == ("worker", "aggregator")
    assert [(column.name, column.private) for column in protocol.columns()] == [("tasks", False), ("answers", True)]
    assert phase.outcome(()) is None


# Counting


def test_labels_are_counted_by_task_and_kept_by_worker() -> None:
    protocol = make(3, answer_sets=(TWO, THREE), answer_set_of_task=(0, 1, 1), max_answers=2)
    inputs = protocol.encode(
        {"tasks": ["t1;t0", "t2;t1", "t0;t2", ""], "answers": ["blue;yes", "red;blue", "yes;", ""]}
    )
    tally = protocol.phase.tally(inputs.private, earlier=(), public=inputs.public)
    assert tally.num_reports == 4
    assert tally.totals.tolist() == [[0, 2, 0], [0, 0, 2], [1, 0, 0]]
    assert tally.rows.tolist() == [[0, 0, 1], [0, 1, 2], [1, 1, 2], [1, 2, 0], [2, 0, 1]]
    answers = protocol.answers_in(tally)
    assert (answers.num_tasks, answers.num_workers, answers.sizes.tolist()) == (3, 3, [2, 3, 3])
    assert answers.workers.tolist() == [0, 0, 1, 1, 2]
    assert answers.tasks.tolist() == [0, 1, 1, 2, 0]
    assert answers.labels.tolist() == [1, 2, 2, 0, 1]


# What is released


VOTES = [["yes", "no", ""], ["yes", "yes", ""], ["no", "no", ""], ["yes", "no", ""]]


def test_a_majority_by_hand() -> None:
    """Reports: three of four yes, three of four no, none. ε = ln 3: p = 1/4, so that a count is (reports − 1)/(1/2).

    A kept answer's variance is 3/16, another's too: the standard error is √(4·3/16)/(1/2) = √3.
    """
    protocol = make(estimator="majority", epsilon=math.log(3), max_answers=2)
    tally = clean_tally(make(), VOTES)
    outcome = protocol.outcome([tally])
    assert outcome.tasks == ("t0", "t1", "t2")
    assert outcome.truths == ("yes", "no", None)
    assert outcome.confidences == (0.75, 0.75, None)
    assert outcome.num_answers == (4, 4, 0)
    assert outcome.num_workers == 4
    assert (outcome.estimator, outcome.num_iterations, outcome.has_converged) == ("majority", 0, True)
    assert (outcome.epsilon_answer, outcome.epsilon_worker) == (math.log(3), 2 * math.log(3))
    assert outcome.model_confidences == outcome.confidences  # a share of votes claims no probability
    assert outcome.reports == ((1, 3), (3, 1), (0, 0))
    assert outcome.flip_probabilities == (pytest.approx(0.25),)
    assert outcome.supports[2] is None
    for supports, (found, other) in zip(outcome.supports[:2], [("yes", "no"), ("no", "yes")], strict=True):
        assert told(supports)[found].value == pytest.approx(4.0)
        assert told(supports)[other].value == pytest.approx(0.0, abs=1e-12)
        assert [each.standard_error for each in told(supports).values()] == [pytest.approx(math.sqrt(3))] * 2


def test_own_outcomes_by_hand() -> None:
    """Right by the majority: p0 in both, p1 in one, p2 in one; p3 has no answer and is told nothing."""
    protocol = make(estimator="majority")
    own = protocol.own_outcomes([clean_tally(protocol, [["yes", "no"], ["yes", "yes"], ["no", "no"], ["", ""]])])
    assert own == {
        0: OwnOutcome(weight=1.0, quality=1.0, num_answers=2),
        1: OwnOutcome(weight=1.0, quality=0.5, num_answers=2),
        2: OwnOutcome(weight=1.0, quality=0.5, num_answers=2),
    }


def test_the_papers_weights_by_hand() -> None:
    """p0 is right in all three tasks, p1 in two, p2 in one: log-odds of 0.95 (the clamp), 2/3 and 1/3."""
    protocol = make(estimator="truth_discovery")
    own = protocol.own_outcomes(
        [clean_tally(protocol, [["yes", "yes", "yes"], ["yes", "yes", "no"], ["yes", "no", "no"]])]
    )
    # The majority is yes, yes, no: so it is p1 who is always right.
    assert [own[place].weight for place in range(3)] == [
        pytest.approx(weight, abs=1 / GRID) for weight in (math.log(2), math.log(19), math.log(2))
    ]
    assert [own[place].quality for place in range(3)] == [pytest.approx(q, abs=1 / GRID) for q in (2 / 3, 0.95, 2 / 3)]


@pytest.mark.parametrize("ties", ["first", "last"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_tie_is_broken_as_the_parameters_say(estimator: Any, ties: Any) -> None:
    """One yes and one no, from workers of whom nothing else is known."""
    protocol = make(1, estimator=estimator, ties=ties)
    outcome = protocol.outcome([clean_tally(protocol, [["yes"], ["no"]])])
    assert outcome.truths == ("no" if ties == "first" else "yes",)
    # Rounds of votes start from the majority, and then believe who was with it.
    assert outcome.confidences == (0.5,) or estimator == "truth_discovery"


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_an_unanswered_task_has_no_truth_and_does_not_change_the_others(mechanism: Any, estimator: Any) -> None:
    given: dict[str, Any] = {"mechanism": mechanism, "estimator": estimator, "max_answers": 2}
    whole = make(3, **given)
    fewer = make(2, **given)
    outcome = whole.outcome([clean_tally(make(3), VOTES)])
    others = fewer.outcome([clean_tally(make(2), [row[:2] for row in VOTES])])
    assert (outcome.truths[2], outcome.confidences[2], outcome.model_confidences[2]) == (None, None, None)
    assert (outcome.supports[2], outcome.limits_of_found()[2], outcome.num_answers[2]) == (None, None, 0)
    assert outcome.truths[:2] == others.truths
    assert outcome.confidences[:2] == others.confidences
    assert outcome.supports[:2] == others.supports


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_session_without_any_answer_ends_without_truths(estimator: Any) -> None:
    protocol = make(2, answer_sets=(TWO, THREE), answer_set_of_task=(0, 1), estimator=estimator, epsilon=2.0)
    result = run(protocol, inputs_of(protocol, [["", ""], [""]]))
    assert result.outcome.truths == result.outcome.confidences == result.outcome.supports == (None, None)
    assert (result.outcome.num_answers, result.outcome.num_workers) == ((0, 0), 2)
    assert result.own_outcomes == {}
    assert protocol.truth(inputs_of(protocol, [["", ""]])) == {}


@pytest.mark.parametrize("answers", [["red", "green", "blue", "red"], ["green"] * 4])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_equal_workers_are_right_and_have_equal_weights(estimator: Any, answers: list[str]) -> None:
    """Also where one label is that of all: nobody is right about any other."""
    protocol = make(4, answer_sets=(THREE,), estimator=estimator)
    tally = clean_tally(protocol, [answers] * 5)
    assert protocol.outcome([tally]).truths == tuple(answers)
    own = protocol.own_outcomes([tally])
    assert len(own) == 5
    assert len(set(own.values())) == 1
    assert math.isfinite(own[0].weight)
    assert 0 <= own[0].quality <= 1


@pytest.mark.parametrize("given", [{"epsilon": 0.0}, {"flip_probability": 0.5}])
def test_where_reports_say_nothing_nobody_is_counted(given: dict[str, Any]) -> None:
    protocol = make(2, estimator="majority", **given)
    outcome = protocol.outcome([clean_tally(protocol, [["yes", "no"]])])
    assert outcome.truths == ("yes", "no")
    assert outcome.supports == (None, None)
    assert outcome.limits_of_found() == ((0, 1), (0, 1))  # whatever is possible


@CHECKED
@given(st.data())
def test_what_is_released_is_what_the_estimator_finds_on_a_grid(data: st.DataObject) -> None:
    protocol = data.draw(truth_discoveries().filter(lambda own: not own.trusts_server))
    inputs = data.draw(crowds(protocol, data.draw(st.integers(1, 8))))
    result = run(protocol, inputs, seed=data.draw(seeds()))
    outcome: Outcome = result.outcome
    (tally,) = result.tallies
    answers = protocol.answers_in(tally)
    name, inference = find_truths(answers, parameters=protocol.parameters, noise=protocol.noise)
    assert outcome.estimator == name
    assert (outcome.num_iterations, outcome.has_converged) == (inference.num_iterations, inference.has_converged)
    assert outcome.num_workers == len(inputs)
    # Of flip probabilities that workers draw, the mean is exact, and what estimators are told is near it.
    means = dict(zip(protocol.noise.sizes, protocol.noise.flip_probabilities, strict=True))
    counts = debiased_majority(answers, KnownNoise.from_flip_probabilities(means))
    for task, label in enumerate(inference.truths.tolist()):
        labels = protocol.parameters.answer_sets[protocol.parameters.set_of_task[task]]
        assert outcome.num_answers[task] == int((answers.tasks == task).sum())
        if label < 0:
            assert outcome.num_answers[task] == 0
            assert (outcome.truths[task], outcome.confidences[task], outcome.supports[task]) == (None, None, None)
        else:
            assert outcome.truths[task] == labels[label]
            assert outcome.model_confidences[task] == on_grid(inference.confidences[task])
            assert told(outcome.confidences[task]) <= told(outcome.model_confidences[task]) or name == "majority"
            for place, (named, support) in enumerate(told(outcome.supports[task]).items()):
                assert named == labels[place]
                assert support.value == pytest.approx(counts.counts[task, place], abs=1e-9)
                assert support.standard_error == pytest.approx(counts.standard_errors[task, place], abs=1e-9)
    own: Mapping[int, OwnOutcome] = result.own_outcomes
    assert set(own) == set(answers.workers.tolist())
    for worker, of_worker in own.items():
        assert of_worker.num_answers == int((answers.workers == worker).sum())
        assert of_worker.weight == on_grid(inference.weights[worker])
        assert of_worker.quality == on_grid(inference.qualities[worker])
    assert protocol.own_outcomes([tally]) == own


@CHECKED
@given(st.data())
def test_an_outcome_says_what_the_most_cost(data: st.DataObject) -> None:
    protocol = data.draw(truth_discoveries())
    inputs = data.draw(crowds(protocol, 2))
    outcome: Outcome = run(protocol, inputs).outcome
    (loss,) = protocol.losses
    assert loss.part is not None
    assert (outcome.epsilon_worker, outcome.epsilon_answer) == (loss.proven, loss.part.proven)


def test_an_outcome_does_not_depend_on_what_was_found_before() -> None:
    """Both parts of a release ask for the same inference, which is kept; another tally must not be told the last."""
    protocol = make(estimator="truth_discovery")
    first = clean_tally(protocol, [["yes", "yes", "no"]] * 3)
    second = clean_tally(protocol, [["no", "no", "yes"]] * 2)
    alone = [(make(estimator="truth_discovery").outcome([tally]), tally) for tally in (first, second)]
    for outcome, tally in [*alone, *reversed(alone)]:
        assert protocol.outcome([tally]) == outcome
        assert len(protocol.own_outcomes([tally])) == outcome.num_workers


@pytest.mark.parametrize(("most", "converged"), [(1, False), (50, True)])
def test_an_estimator_that_is_stopped_says_so(most: int, *, converged: bool) -> None:
    protocol = make(4, estimator="one_coin", max_iterations=most)
    answers = [
        ["yes", "no", "no", "yes"],
        ["yes", "yes", "no", "no"],
        ["no", "no", "no", "yes"],
        ["yes", "no", "yes", "no"],
    ]
    outcome = protocol.outcome([clean_tally(protocol, answers)])
    assert outcome.has_converged is converged
    assert (outcome.num_iterations == most) is not converged


# Which estimator


def direct(name: str, answers: Answers, protocol: TruthDiscovery, *, clean: bool) -> Inference:
    """Return what the estimator of this name finds, called by itself."""
    known = known_noise(None if clean else protocol.noise, protocol.codes.sizes)
    find, knows_noise, options = DIRECT[name]
    rounds = {} if name == "majority" else {"max_iterations": 7}
    return find(answers, *([known] if knows_noise else []), ties="last", **rounds, **options)


def crowd(protocol: TruthDiscovery, *, seed: int) -> Inputs:
    """Return twelve workers who are right four times of five."""
    generator = np.random.default_rng(seed)
    sets = [protocol.parameters.answer_sets[number] for number in protocol.parameters.set_of_task]
    answers = [
        [labels[0 if generator.random() < 0.8 else int(generator.integers(len(labels)))] for labels in sets]
        for _ in range(12)
    ]
    return inputs_of(protocol, answers)


@pytest.mark.parametrize("clean", [False, True])
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_each_name_is_its_estimator_with_the_parameters(name: Any, mechanism: Any, *, clean: bool) -> None:
    protocol = make(
        6,
        answer_sets=(TWO, THREE),
        answer_set_of_task=(0, 1) * 3,
        mechanism=mechanism,
        estimator=name,
        flip_probability=0.2,
        ties="last",
        max_iterations=7,
        quality_clamp=0.02,
    )
    (tally,) = run(protocol, crowd(protocol, seed=3)).tallies
    answers = protocol.answers_in(tally)
    noise = None if clean else protocol.noise
    found_name, found = find_truths(answers, parameters=protocol.parameters, noise=noise)
    expected = direct(name, answers, protocol, clean=clean)
    assert found_name == name
    for field in ("truths", "confidences", "qualities", "weights"):
        np.testing.assert_array_equal(getattr(found, field), getattr(expected, field))
    assert (found.num_iterations, found.has_converged) == (expected.num_iterations, expected.has_converged)


def test_auto_knows_the_perturbation() -> None:
    protocol, named = (make(estimator=estimator) for estimator in ("auto", "cautious"))
    tally = clean_tally(protocol, VOTES)
    assert protocol.outcome([tally]) == named.outcome([tally])
    assert protocol.outcome([tally]).estimator == "cautious"


# The truth


@pytest.mark.parametrize("name", [*ESTIMATORS, "auto"])
def test_the_truth_is_what_the_same_estimator_finds_in_clean_answers(name: Any) -> None:
    protocol = make(5, answer_sets=(TWO, THREE), answer_set_of_task=(0, 1, 0, 1, 0), estimator=name, epsilon=1.0)
    inputs = crowd(protocol, seed=8)
    inputs.private[:, 4] = -1  # nobody answers the last task
    tally = protocol.phase.tally(inputs.private, earlier=(), public=inputs.public)
    _, clean = find_truths(protocol.answers_in(tally), parameters=protocol.parameters, noise=None)
    sets = [protocol.parameters.answer_sets[number] for number in protocol.parameters.set_of_task]
    labels: list[int] = clean.truths.tolist()
    expected = {f"t{task}": sets[task][label] for task, label in enumerate(labels) if label >= 0}
    assert protocol.truth(inputs) == expected
    assert set(expected) == {"t0", "t1", "t2", "t3"}


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_almost_no_noise_gives_the_truth(mechanism: Any, estimator: Any) -> None:
    """An answer is flipped with probability 1e-9: 72 answers stay as they are but with probability 1e-7."""
    protocol = make(
        6,
        answer_sets=(TWO, THREE),
        answer_set_of_task=(0, 1) * 3,
        mechanism=mechanism,
        estimator=estimator,
        flip_probability=1e-9,
    )
    inputs = crowd(protocol, seed=11)
    outcome: Outcome = run(protocol, inputs).outcome
    assert dict(zip(outcome.tasks, outcome.truths, strict=True)) == protocol.truth(inputs)


def test_the_truth_knows_that_clean_answers_are_not_perturbed() -> None:
    """At ε = 0.3 the two differ for these answers: an estimator that expects flips trusts agreement less."""
    protocol = make(5, estimator="noise_aware", epsilon=0.3)
    answers = [
        ["yes", "yes", "yes", "no", "yes"],
        ["yes", "yes", "", "no", "no"],
        ["", "no", "no", "yes", "no"],
        ["", "yes", "yes", "", "no"],
        ["no", "yes", "", "no", "yes"],
        ["no", "", "yes", "yes", "yes"],
    ]
    as_if_perturbed = protocol.outcome([clean_tally(protocol, answers)]).truths
    assert tuple(protocol.truth(inputs_of(protocol, answers)).values()) != as_if_perturbed


def test_supports_are_unbiased_by_the_mean_of_any_hyper_distribution() -> None:
    """20,000 workers who all say the same: the estimate is within 5 standard errors; false alarm below 1e-6."""
    protocol = make(
        1, mechanism="two_layer", hyper=Discrete((0.1, 0.4), (0.5, 0.5)), max_answers=1, estimator="majority"
    )
    (result,) = (run(protocol, inputs_of(protocol, [["no"]] * 20_000)),)
    (supports,) = result.outcome.supports
    assert abs(told(supports)["no"].value - 20_000) < 5 * told(supports)["no"].standard_error
    assert abs(told(supports)["yes"].value) < 5 * told(supports)["yes"].standard_error
    (limits,) = result.outcome.limits_of_found()
    assert told(limits).high == 20_000
    with refuses(said="level is 0.5: use a value above 0 and below 0.5"):
        result.outcome.limits_of_found(0.5)


def test_a_release_that_would_not_fit_is_refused_before_anybody_comes() -> None:
    protocol = TruthDiscovery(
        Parameters(
            tasks=tuple(f"task {number}" for number in range(30_000)), answer_sets=(("no", "yes"),), max_answers=1
        )
    )
    roster = Roster(("ann",), np.array([[0, 0]]))
    with pytest.raises(ValueError, match="Release"):
        ServerMachine(protocol, roster, SessionMode("s", SimulatedNoise(1, session="s")))


@pytest.mark.parametrize("labels", [("no", "yes"), ("nein", "überhaupt nicht 🙂")])
def test_no_outcome_is_larger_than_the_largest(labels: tuple[str, str]) -> None:
    protocol = TruthDiscovery(Parameters(tasks=("t0", "t1", "t2"), answer_sets=(labels,), max_answers=3))
    largest = msgspec.msgpack.encode(protocol.largest_outcome(12))
    for seed in range(3):
        outcome = run(protocol, crowd(protocol, seed=seed)).outcome
        assert len(msgspec.msgpack.encode(outcome)) <= len(largest)
