"""Several sessions with the same answers: against all vectors of answers, in every order, and where that ends."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from psephos.protocol import SimulatedNoise
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.mechanisms import Discrete, Uniform
from psephos.protocol.phases import Inputs
from psephos.protocol.truth_discovery import Parameters, TruthDiscovery
from psephos.scenarios.attacks import Coalition, CoalitionView, view_by_arrays
from psephos.scenarios.truth_discovery.attack import inference
from psephos.scenarios.truth_discovery.attack.answer_inference import flip_law
from psephos.scenarios.truth_discovery.attack.inference import Anchors, TruthDiscoveryAttack
from psephos.scenarios.truth_discovery.attack.joint_inference import (
    MOST_TERMS,
    Summation,
    joint_log_likelihoods,
    summation_of,
)

SERVER = Coalition((), has_server=True)
ANSWERS, _, ROW = TruthDiscoveryAttack.secrets
SUMMATIONS: list[Summation] = ["vectors", "nodes"]


def make(num_answers: int, *sizes: int, num_tasks: int | None = None, **settings: Any) -> TruthDiscovery:
    sizes = sizes or (2,)
    number = num_tasks or num_answers
    noise: dict[str, Any] = {} if {"hyper", "flip_probability"} & settings.keys() else {"epsilon": 1.0}
    parameters: dict[str, Any] = {
        "tasks": tuple(f"t{task}" for task in range(number)),
        "answer_sets": tuple(tuple(f"{size}{label}" for label in range(size)) for size in sizes),
        "answer_set_of_task": tuple(task % len(sizes) for task in range(number)),
        "max_answers": num_answers,
        "mechanism": "two_layer",
        **noise,
        **settings,
    }
    return TruthDiscovery(Parameters(**parameters))


def answers_of(protocol: TruthDiscovery, num_workers: int, *, seed: int = 7) -> Inputs:
    generator = np.random.default_rng(seed)
    most = protocol.parameters.max_answers
    number = len(protocol.parameters.tasks)
    tasks = np.argsort(generator.random((num_workers, number)), axis=1)[:, :most].astype(np.int64)
    codes = protocol.codes
    labels = (generator.random(tasks.shape) * codes.size_of_task[tasks]).astype(np.int64)
    public = np.hstack([np.zeros((num_workers, 1), dtype=np.int64), tasks])
    return Inputs(codes.offset_of_task[tasks] + labels, public)


def see(protocol: TruthDiscovery, inputs: Inputs, number: int, coalition: Coalition = SERVER) -> list[CoalitionView]:
    noises = [SimulatedNoise(4, session=f"s{session}") for session in range(number)]
    return [view_by_arrays(protocol, inputs, noise=noise, coalition=coalition) for noise in noises]


def brute_force(protocol: TruthDiscovery, sessions: list[CoalitionView], worker: int, priors: FloatArray) -> FloatArray:
    """Return each answer's posterior from the mechanism's own law of every vector, shape (answers, labels)."""
    tasks: IntArray = sessions[0].public[worker, 1:]
    codes = protocol.codes
    sizes: list[int] = codes.size_of_task[tasks].tolist()
    vectors = np.array(list(itertools.product(*map(range, sizes))), dtype=np.int64)
    rows = vectors + codes.offset_of_task[tasks]
    joint = np.zeros(len(vectors))
    for seen in sessions:
        (reports,) = seen.reports
        joint += protocol.phase.mechanism.log_likelihoods(reports[[worker]], rows)[0]
    chances = np.exp(joint)
    for place in range(len(tasks)):
        chances *= priors[tasks[place], vectors[:, place]]
    found = np.zeros((len(tasks), priors.shape[1]))
    for place in range(len(tasks)):
        np.add.at(found[place], vectors[:, place], chances)
    return found / found.sum(axis=1, keepdims=True)


CASES: list[tuple[TruthDiscovery, int]] = [
    (make(2), 2),
    (make(3), 4),
    (make(4, num_tasks=6, epsilon=3.0), 3),
    (make(3, 3, epsilon=2.0), 3),
    (make(4, 2, 3, num_tasks=5, flip_probability=0.3), 3),
    (make(3, hyper=Discrete((0.02, 0.45), (0.5, 0.5))), 6),
    (make(5, hyper=Uniform(0.0, 0.9)), 2),
]


@pytest.mark.few(most=4)
@pytest.mark.parametrize(("protocol", "number"), CASES, ids=[f"case {place}" for place in range(len(CASES))])
@pytest.mark.parametrize("summation", SUMMATIONS)
def test_posteriors_over_several_sessions_are_those_of_all_vectors(
    protocol: TruthDiscovery, number: int, summation: Summation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forced(**_: int) -> Summation:
        return summation

    monkeypatch.setattr(inference, "summation_of", forced)
    inputs = answers_of(protocol, 6)
    sessions = see(protocol, inputs, number)
    attack = TruthDiscoveryAttack(protocol, anchors=Anchors(agreement=None))
    for first in range(1, number + 1):
        found = attack.posteriors(sessions[:first], np.arange(6), secret=ANSWERS).probabilities
        by_worker = found.reshape(6, -1, found.shape[1])
        for worker in range(6):
            expected = brute_force(protocol, sessions[:first], worker, attack.task_priors(sessions[:1]))
            np.testing.assert_allclose(by_worker[worker], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("members", [(), (0, 1)])
@pytest.mark.parametrize("has_server", [True, False])
@pytest.mark.parametrize("secret", [ANSWERS, ROW])
def test_the_order_of_sessions_makes_no_difference(secret: str, members: tuple[int, ...], *, has_server: bool) -> None:
    """With all anchors: the released truths and the other workers' reports are those of all sessions."""
    if not members and not has_server:
        return
    protocol = make(4, num_tasks=5, epsilon=2.0)
    inputs = answers_of(protocol, 5)
    sessions = see(protocol, inputs, 3, Coalition(members, has_server=has_server))
    attack = TruthDiscoveryAttack(protocol)
    targets = np.arange(2, 5)
    found = [
        attack.posteriors([sessions[place] for place in order], targets, secret=secret).probabilities
        for order in itertools.permutations(range(3))
    ]
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-9, atol=1e-12)


def test_one_session_after_another_would_be_far_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the earlier sessions left of each answer by itself forgets how answers hang together."""
    protocol = make(3, hyper=Discrete((0.01, 0.5), (0.5, 0.5)))
    inputs = answers_of(protocol, 200)
    sessions = see(protocol, inputs, 4)
    attack = TruthDiscoveryAttack(protocol, anchors=Anchors(agreement=None))
    exact = attack.posteriors(sessions, np.arange(200), secret=ANSWERS).probabilities
    # Exact posteriors are calibrated: over 600 answers the mean belief in the truth is the mean of squares, within four
    # standard errors (a false alarm in 6e-5 of all seeds; this one is fixed).
    truths = attack.truths(ANSWERS, inputs)
    gaps = exact[np.arange(600), truths] - (exact**2).sum(axis=1)
    assert abs(gaps.mean()) < 4 * gaps.std() / math.sqrt(600)

    def none(**_: int) -> None:
        return None

    monkeypatch.setattr(inference, "summation_of", none)
    forth, back = (
        attack.posteriors(order, np.arange(200), secret=ANSWERS).probabilities for order in (sessions, sessions[::-1])
    )
    assert np.abs(forth - exact).max() > 0.5
    assert np.abs(forth - back).max() > 0.5
    assert "depend on the order" in attack.session_caveat(ANSWERS, votes=4)


def test_both_sums_agree_where_only_some_of_the_reports_were_seen() -> None:
    generator = np.random.default_rng(3)
    protocol = make(4, 3, epsilon=1.5)
    law = flip_law(protocol.phase.mechanism, degree=4)
    weights = [generator.random((5, 4, 3)) for _ in range(3)]
    weights[1][:, 2] = 0.0  # nothing was seen of this answer in the second session
    for own in weights:
        own[0, 3] = 0.0
    sets = np.zeros((5, 4), dtype=np.int64)
    priors = generator.dirichlet(np.ones(3), size=(5, 4))
    one, other = (joint_log_likelihoods(weights, sets, priors, law, summation=summation) for summation in SUMMATIONS)
    np.testing.assert_allclose(one, other, rtol=1e-9)
    np.testing.assert_allclose(np.ptp(one[0, 3]), 0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("num_answers", "num_labels", "num_sessions", "expected"),
    [
        (12, 2, 1000, "vectors"),
        (6, 4, 1000, "vectors"),
        (13, 2, 3, "nodes"),
        (20, 2, 3, "nodes"),
        (60, 2, 2, "nodes"),
        (20, 2, 5, None),
        (277, 2, 2, None),
        (2_000, 2, 3, None),
    ],
)
def test_the_limits_are_those_that_the_manual_states(
    num_answers: int, num_labels: int, num_sessions: int, expected: Summation | None
) -> None:
    protocol = make(num_answers, num_labels)
    nodes = len(flip_law(protocol.phase.mechanism, degree=num_answers).log_shares)
    found = summation_of(num_answers=num_answers, num_labels=num_labels, num_nodes=nodes, num_sessions=num_sessions)
    assert found == expected
    caveat = TruthDiscoveryAttack(protocol).session_caveat(ANSWERS, votes=num_sessions)
    assert ("approximations" in caveat) == (expected is None)
    assert TruthDiscoveryAttack(protocol).session_caveat(ROW, votes=num_sessions) == ""
    if expected == "nodes":
        assert nodes**num_sessions * num_answers * num_labels <= MOST_TERMS


@pytest.mark.parametrize("settings", [{"mechanism": "one_layer"}, {"mechanism": "fresh_two_layer"}], ids=repr)
def test_answers_that_share_nothing_are_exact_for_any_number(settings: dict[str, Any]) -> None:
    protocol = make(40, **settings)
    attack = TruthDiscoveryAttack(protocol, anchors=Anchors(agreement=None))
    assert attack.session_caveat(ANSWERS, votes=50) == ""
    sessions = see(protocol, answers_of(protocol, 4), 3)
    forth, back = (
        attack.posteriors(order, np.arange(4), secret=ANSWERS).probabilities for order in (sessions, sessions[::-1])
    )
    np.testing.assert_allclose(forth, back, rtol=1e-9)
