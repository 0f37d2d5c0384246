"""The reference run, arrays and agents give the same bits, own outcomes included."""

from typing import Any

import numpy as np
import pytest
import trio
from psephos.agents import Simulation
from psephos.protocol import Inputs, PopulationResult, SimulatedNoise, run_population
from psephos.protocol.mechanisms import OneLayer
from psephos.protocol.truth_discovery import Outcome, Parameters, TruthDiscovery
from psephos.protocol.truth_discovery.reference import reference_run
from psephos.scenarios.running.session import SessionRecord, run_agents
from psephos.transports import MemoryTransport, TCPTransport, Transport

ESTIMATORS = ["majority", "truth_discovery", "one_coin", "dawid_skene", "noise_aware", "noise_aware_dawid_skene"]
MECHANISMS = ["one_layer", "two_layer", "fresh_two_layer", "auto"]
SETS = (("no", "yes"), ("red", "green", "blue"))


def noise_of(seed: int) -> SimulatedNoise:
    return SimulatedNoise(seed, session="s")


def run_session(protocol: TruthDiscovery, inputs: Inputs, *, seed: int, transport: Transport) -> SessionRecord:
    names = [f"worker {place}" for place in range(len(inputs))]
    mode = Simulation("s", noise_of(seed))

    async def run() -> SessionRecord:
        return await run_agents(protocol, names=names, inputs=inputs, mode=mode, transport=transport)

    return trio.run(run)


def check_agents(
    protocol: TruthDiscovery, inputs: Inputs, *, seed: int, transport: Transport, expected: PopulationResult[Outcome]
) -> None:
    record = run_session(protocol, inputs, seed=seed, transport=transport)
    assert record.endings == {}
    assert record.outcome == expected.outcome
    assert record.tallies == expected.tallies
    assert record.own_outcomes == expected.own_outcomes


def crowd(mechanism: Any, estimator: Any) -> tuple[TruthDiscovery, Inputs]:
    """Return fifteen workers, six tasks with two kinds of answer sets, and answers some of which are skipped."""
    parameters = Parameters(
        tasks=tuple(f"t{task}" for task in range(6)),
        answer_sets=SETS,
        answer_set_of_task=(0, 1, 1, 0, 0, 1),
        max_answers=4,
        mechanism=mechanism,
        estimator=estimator,
        epsilon=1.5,
    )
    protocol = TruthDiscovery(parameters)
    generator = np.random.default_rng(2018)
    tasks: list[list[str]] = []
    answers: list[list[str]] = []
    for _ in range(15):
        asked: list[int] = generator.choice(6, size=int(generator.integers(1, 5)), replace=False).tolist()
        labels = [("", *SETS[parameters.set_of_task[task]]) for task in asked]
        tasks.append([f"t{task}" for task in asked])
        answers.append([of_task[int(generator.integers(len(of_task)))] for of_task in labels])
    return protocol, protocol.encode({"tasks": tasks, "answers": answers})


@pytest.mark.few
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_mechanism_with_every_estimator_gives_the_same_bits_on_every_path(mechanism: str, estimator: str) -> None:
    protocol, inputs = crowd(mechanism, estimator)
    reference = reference_run(protocol, inputs, noise=noise_of(9))
    assert run_population(protocol, inputs, noise=noise_of(9), batch_rows=4) == reference
    check_agents(protocol, inputs, seed=9, transport=MemoryTransport(), expected=reference)


def test_a_session_over_sockets_gives_the_same_bits() -> None:
    protocol, inputs = crowd("two_layer", "noise_aware")
    reference = reference_run(protocol, inputs, noise=noise_of(9))
    check_agents(protocol, inputs, seed=9, transport=TCPTransport(), expected=reference)


def test_another_seed_gives_another_tally() -> None:
    """Sixteen answers or more at ε = 1.5 are perturbed alike with probability below 1e-3; these seeds differ."""
    protocol, inputs = crowd("one_layer", "majority")
    first, second = (reference_run(protocol, inputs, noise=noise_of(seed)).tallies for seed in (1, 2))
    assert first != second


def test_a_workers_reports_do_not_depend_on_the_others() -> None:
    protocol, inputs = crowd("two_layer", "majority")
    (whole,) = reference_run(protocol, inputs, noise=noise_of(4)).tallies
    some = Inputs(inputs.private[:6], inputs.public[:6])
    (part,) = reference_run(protocol, some, noise=noise_of(4)).tallies
    assert part.rows.tolist() == [row for row in whole.rows.tolist() if row[0] < 6]


def test_a_perturbation_by_hand() -> None:
    """Definition 5.1 with p = 1/4 and three labels: below p the label changes, in [0, 1/8) to the first other one."""
    protocol = TruthDiscovery(
        Parameters(
            tasks=("t0", "t1"), answer_sets=(SETS[1],), max_answers=2, flip_probability=0.25, estimator="majority"
        )
    )
    assert protocol.phase.mechanism == OneLayer((3,), (0.25,))
    inputs = protocol.encode({"tasks": ["t0;t1"] * 40, "answers": ["green;blue"] * 40})
    noise = noise_of(7)
    drawn = noise.uniforms(protocol="truth-discovery", phase="answers", start=0, stop=40, slots=2)
    uniforms: list[list[float]] = drawn.tolist()
    expected = [
        [worker, task, keep if uniform >= 0.25 else others[uniform >= 0.125]]
        for worker, of_worker in enumerate(uniforms)
        for task, (uniform, keep, others) in enumerate(zip(of_worker, (1, 2), ((0, 2), (0, 1)), strict=True))
    ]
    (tally,) = reference_run(protocol, inputs, noise=noise).tallies
    assert tally.rows.tolist() == expected
