"""Many sessions at once are so many sessions: the same reports, the same truths, one at a time."""

import dataclasses

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.population import run_population
from psephos.protocol.randomness import SimulatedNoise
from psephos.protocol.truth_discovery import Perturbation, TruthDiscovery, make_noise
from psephos.scenarios.truth_discovery.crowd_reports import Layout, draw_labels, draw_renumbering
from psephos.scenarios.truth_discovery.data import Crowd
from psephos.scenarios.truth_discovery.data.parties import crowd_to_parties
from psephos.scenarios.truth_discovery.data.synthetic import SyntheticCrowd, make_crowd
from psephos.scenarios.truth_discovery.measures import TruthMeasures
from psephos.scenarios.truth_discovery.paper import runs as module
from psephos.scenarios.truth_discovery.paper.runs import (
    GRIDS,
    OF_PAPER,
    CrowdCells,
    clean_accuracy,
    noise_at,
    session_of,
    with_estimator,
)

SEED, CELL = 5, "a cell"
TRIALS = 5


def accuracies(layout: Layout, noise: Perturbation, *estimators: str, seed: int = SEED) -> list[list[float]]:
    """Return each estimator's accuracies, as cells of a crowd have them."""
    found = CrowdCells({CELL: layout}, seed=seed).accuracies(CELL, noise, estimators, trials=TRIALS)
    return [list(found[name].numbers) for name in estimators]


class ShiftedNoise(SimulatedNoise):
    """The noise of the parties behind the first few."""

    def __init__(self, noise: Perturbation, shift: int) -> None:
        super().__init__(SEED, session=session_of(CELL, noise))
        self.shift = shift

    def uniforms(self, *, protocol: str, phase: str, start: int, stop: int, slots: int) -> FloatArray:
        return super().uniforms(
            protocol=protocol, phase=phase, start=start + self.shift, stop=stop + self.shift, slots=slots
        )


def crowd_of(classes: int) -> Crowd:
    """A crowd whose workers give different numbers of answers."""
    spec = SyntheticCrowd(tasks=30, workers=12, answer_probability=0.4, classes=classes, quality=(0.75, 0.1), seed=2)
    return make_crowd(spec)


@pytest.fixture(params=[2, 3], ids=["two labels", "three labels"])
def layout(request: pytest.FixtureRequest) -> Layout:
    """A small crowd's layout."""
    return Layout.of(crowd_of(request.param))


@pytest.mark.parametrize("estimator", ["majority", "truth_discovery", "noise_aware"])
@pytest.mark.parametrize("mechanism", ["one_layer", "two_layer", "fresh_two_layer"])
def test_trials_are_sessions_of_the_protocol(layout: Layout, mechanism: str, estimator: str) -> None:
    """The protocol by arrays, a session a trial, finds the same truths, so the accuracies are equal bit for bit."""
    changes = {"mechanism": mechanism, "epsilon": 0.7}
    parameters = msgspec.structs.replace(with_estimator(layout.parameters, estimator), **changes)
    protocol = TruthDiscovery(parameters)
    crowd = layout.crowd
    inputs = protocol.encode(crowd_to_parties(crowd).table)
    expected: list[float] = []
    for trial in range(TRIALS):
        noise = ShiftedNoise(protocol.noise, trial * len(crowd.workers))
        outcome = run_population(protocol, inputs, noise=noise).outcome
        truths = outcome.truths
        pairs = zip(truths, crowd.truth.tolist(), layout.is_gold.tolist(), strict=True)
        right = [truth == crowd.answer_sets[0][true] for truth, true, is_gold in pairs if is_gold]
        expected.append(sum(right) / len(right))
        truth: list[int] = crowd.truth.tolist()
        known = {task: str(crowd.answer_sets[0][true]) for task, true in zip(crowd.tasks, truth, strict=True)}
        own = TruthMeasures(protocol, inputs, gold=known).of(outcome, ())  # as `psephos trials` has it
        assert own["error rate"] == pytest.approx(1 - expected[-1])
    assert accuracies(layout, protocol.noise, estimator) == [expected]
    assert len(set(expected)) > 1


def test_reports_are_those_of_the_sessions_rows(layout: Layout) -> None:
    parameters = msgspec.structs.replace(layout.parameters, mechanism="two_layer", epsilon=0.3)
    protocol = TruthDiscovery(parameters)
    inputs = protocol.encode(crowd_to_parties(layout.crowd).table)
    tally = run_population(protocol, inputs, noise=ShiftedNoise(protocol.noise, 0)).tallies[0]
    source = SimulatedNoise(SEED, session=session_of(CELL, protocol.noise))
    (labels,) = draw_labels(layout, protocol.noise, source, start=0, stop=1)
    answers = layout.crowd.answers
    expected = sorted(zip(answers.workers.tolist(), answers.tasks.tolist(), labels.tolist(), strict=True))
    assert [tuple(row) for row in tally.rows.tolist()] == expected
    assert 0 < np.count_nonzero(labels != answers.labels) < len(answers)


def test_an_estimator_sees_the_same_reports_alone_and_beside_others(layout: Layout) -> None:
    noise = make_noise(msgspec.structs.replace(layout.parameters, epsilon=1.0))
    names = (*OF_PAPER, *GRIDS["estimators"]["claimed"][2:], "auto")
    together = accuracies(layout, noise, *names)
    assert together == [accuracies(layout, noise, name)[0] for name in names]
    assert accuracies(layout, noise, *names[::-1]) == together[::-1]


def test_how_many_trials_stand_side_by_side_changes_nothing(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    noise = make_noise(msgspec.structs.replace(layout.parameters, mechanism="two_layer", epsilon=0.2))
    found: list[list[list[float]]] = []
    for number in (1, 2, TRIALS):
        monkeypatch.setattr(module, "TRIALS_AT_A_TIME", number)
        found.append(accuracies(layout, noise, "majority", "truth_discovery"))
    assert found[0] == found[1] == found[2]


def test_tasks_without_a_truth_or_without_answers_do_not_count() -> None:
    """Two tasks have a truth, one of them no answer; the other one is right, so the accuracy is 1."""
    crowd = crowd_of(2)
    answers = crowd.answers
    silent = 4
    kept = answers.tasks != silent
    truth = crowd.truth.copy()
    truth[:] = -1
    truth[[3, silent]] = [int(np.bincount(answers.labels[answers.tasks == 3]).argmax()), 1]
    fewer = with_answers(crowd, kept, truth)
    layout = Layout.of(fewer)
    assert layout.is_gold.tolist() == [place == 3 for place in range(30)]
    assert clean_accuracy(layout, "majority") == 1.0


def with_answers(crowd: Crowd, kept: NDArray[np.bool_], truth: IntArray) -> Crowd:
    """Return the crowd with some of its answers, and other truths."""
    answers = crowd.answers
    fewer = dataclasses.replace(
        answers, tasks=answers.tasks[kept], workers=answers.workers[kept], labels=answers.labels[kept]
    )
    return dataclasses.replace(crowd, answers=fewer, truth=truth)


def test_prices_are_what_they_say(layout: Layout) -> None:
    """One layer at ε an answer costs m·ε for all of them; two layers have a loss of one answer far below ln m too."""
    one = noise_at(layout, "one_layer", unit="claimed", price=0.8)
    same = noise_at(layout, "one_layer", unit="all answers", price=0.8)
    assert one.flip_probabilities == pytest.approx(same.flip_probabilities)
    most = layout.parameters.max_answers
    two = noise_at(layout, "two_layer", unit="all answers", price=2.0)
    assert two.loss_of((most,)).proven == pytest.approx(2.0 * most, rel=1e-9)
    assert two.loss_of((most,)).proven <= 2.0 * most
    less = noise_at(layout, "two_layer", unit="one answer", price=0.5).loss_of((most,))
    assert less.part is not None
    assert less.part.proven == pytest.approx(0.5, rel=1e-6)


def test_cells_are_measured_once_and_by_their_law(layout: Layout) -> None:
    cells = CrowdCells({"crowd": layout}, seed=1)
    noise = noise_at(layout, "one_layer", unit="claimed", price=1.0)
    first = cells.accuracies("crowd", noise, ("majority", "truth_discovery"), trials=3)
    again = cells.accuracies("crowd", noise, ("truth_discovery", "one_coin"), trials=3)
    assert again["truth_discovery"] is first["truth_discovery"]
    other = noise_at(layout, "one_layer", unit="claimed", price=0.1)
    assert cells.accuracies("crowd", other, ("majority",), trials=3)["majority"] is not first["majority"]


def test_labels_are_renumbered_alike_in_all_tasks_of_a_size() -> None:
    sizes, generator = np.array([2, 4, 2, 4]), np.random.default_rng(3)
    seen: set[tuple[int, ...]] = set()
    for _ in range(200):
        numbers = draw_renumbering(4, sizes, generator)
        assert numbers[0].tolist() == numbers[2].tolist()
        assert numbers[1].tolist() == numbers[3].tolist()
        assert sorted(numbers[0, :2].tolist()) == [0, 1]
        assert sorted(numbers[1].tolist()) == [0, 1, 2, 3]
        seen |= {tuple(numbers[0, :2].tolist()), tuple(numbers[1].tolist())}
    assert len(seen) == 2 + 24
