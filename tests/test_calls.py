"""What a message and a value cost, in calls, and a party in bytes: numbers that no load moves, so that more is noticed.

Counted are the calls of functions that Python's own profiler sees, those written in C included. A limit leaves 5 % of
room above what was counted when it was set. Whoever needs more says why here; whoever needs less lowers it.
"""

import cProfile
import gc
import inspect
import tracemalloc
from collections.abc import Callable
from typing import Any

import coverage
import numpy as np
import pytest
import trio
from psephos.agents.modes import Simulation
from psephos.protocol import SimulatedNoise
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.mechanisms import DiscreteLaplace, GeneralizedRandomizedResponse, RowMechanism
from psephos.protocol.phases import Inputs, PhasedProtocol
from psephos.protocol.sides import Party
from psephos.protocol.truth_discovery import Parameters as Crowd
from psephos.protocol.truth_discovery import TruthDiscovery
from psephos.scenarios.running.session import run_agents
from psephos.transports import MemoryTransport

SESSION = "calls"
ROOM = 1.05
NUM_PARTIES = 1000
VOTE = DPWeVote(Parameters(candidates=("proposal",)))
CALLS_A_MESSAGE = 66.4
"""A bare exchange of the same messages through trio's memory channels, with two tasks a party, takes 51. Here a party
has one task, and the server one for all of them."""
CALLS_A_MESSAGE_OF_A_CROWD = 121.7
"""Of workers whose public rows are all others, and a protocol that has had no session: each row is checked once."""
BYTES_A_PARTY = 6360
"""As Python's allocator counts; of these some 2,000 are a waiting task's of trio."""
CALLS_A_TABULATED_VALUE = 4.1
"""Of k-RR: the caller's, the look for the block that was drawn ahead, and in it for the value's report."""
CALLS_A_DRAWN_VALUE = 16.1
"""Of a mechanism with too many values to have all reports drawn ahead: the draw itself besides, and its law's terms."""


def calls_of(function: Callable[[], object]) -> int:
    profile = cProfile.Profile()
    profile.enable()
    try:
        function()
    finally:
        profile.disable()
    return sum(entry.callcount for entry in profile.getstats())


def run_session(protocol: PhasedProtocol[Any, Any], inputs: Inputs) -> None:
    """Hold a session in memory."""
    names = [f"party-{place}" for place in range(len(inputs))]
    mode = Simulation(SESSION, SimulatedNoise(1, session=SESSION))

    async def main() -> None:
        record = await run_agents(protocol, names=names, inputs=inputs, mode=mode, transport=MemoryTransport())
        assert set(record.num_received) == {len(inputs)}

    trio.run(main)


def crowd(num_workers: int) -> tuple[TruthDiscovery, Inputs]:
    """Return a crowd of ten answers to each task, whose workers have twenty each, in orders of their own."""
    names = tuple(f"task {number}" for number in range(2 * num_workers))
    protocol = TruthDiscovery(Crowd(tasks=names, answer_sets=(("no", "yes"),), max_answers=20))
    tasks = (np.arange(num_workers)[:, None] + np.arange(20) * (num_workers // 10)) % len(names)
    return protocol, protocol.encode({"tasks": tasks, "answers": tasks % 2})


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return what holds a vote's session in memory; what is computed once for a protocol is not a message's."""
    # Hypothesis lets trio sort its tasks at each turn, which no user's session does.
    monkeypatch.setattr("trio._core._run._ALLOW_DETERMINISTIC_SCHEDULING", False)
    # Nor does one note what parties hold, as `quoting` does in all tests.
    monkeypatch.setattr(Party, "__init__", inspect.unwrap(Party.__init__))
    generator = np.random.default_rng(1)
    table = {"weight": generator.integers(1, 4, NUM_PARTIES), "proposal": generator.integers(0, 2, NUM_PARTIES)}
    inputs = VOTE.encode(table)
    run_session(VOTE, inputs)
    return lambda: run_session(VOTE, inputs)


def test_a_session_in_memory_takes_few_calls_a_message(session: Callable[[], None]) -> None:
    num_messages = NUM_PARTIES * (3 + 2 * len(VOTE.phases))
    assert calls_of(session) <= ROOM * CALLS_A_MESSAGE * num_messages


def test_a_crowds_session_in_memory_takes_few_calls_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trio._core._run._ALLOW_DETERMINISTIC_SCHEDULING", False)
    monkeypatch.setattr(Party, "__init__", inspect.unwrap(Party.__init__))
    run_session(*crowd(50))  # what is imported for a protocol is not a message's
    protocol, inputs = crowd(500)
    num_messages = len(inputs) * (3 + 2 * len(protocol.phases))
    assert calls_of(lambda: run_session(protocol, inputs)) <= ROOM * CALLS_A_MESSAGE_OF_A_CROWD * num_messages


@pytest.mark.skipif(coverage.Coverage.current() is not None, reason="what measures coverage takes memory too")
def test_a_party_of_a_session_in_memory_takes_little_memory(session: Callable[[], None]) -> None:
    gc.collect()
    tracemalloc.start()
    try:
        session()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most <= ROOM * BYTES_A_PARTY * NUM_PARTIES


def calls_a_value(mechanism: RowMechanism) -> float:
    """Return how many calls it takes to randomize one value after another, each of another party."""
    values = np.random.default_rng(1).integers(0, 3, 20_000).tolist()
    noise = SimulatedNoise(1, session=SESSION)
    noise.randomize(mechanism, values[:1], protocol="p", phase="imports", place=0)  # what a law needs is imported once

    def run() -> None:
        for place, value in enumerate(values):
            noise.randomize(mechanism, [value], protocol="p", phase="values", place=place)

    return calls_of(run) / len(values)


def test_a_value_of_randomized_response_takes_few_calls() -> None:
    assert calls_a_value(GeneralizedRandomizedResponse(1.0, 3)) <= ROOM * CALLS_A_TABULATED_VALUE


def test_a_value_of_a_mechanism_with_many_takes_few_calls() -> None:
    assert calls_a_value(DiscreteLaplace(1.0, -100, 100)) <= ROOM * CALLS_A_DRAWN_VALUE
