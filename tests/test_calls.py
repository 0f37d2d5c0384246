"""What a message and a value cost, in calls: a number that no load moves, so that a slower core is noticed.

Counted are the calls of functions that Python's own profiler sees, those written in C included. A limit leaves 5 % of
room above what was counted when it was set. Whoever needs more says why here; whoever needs less lowers it.
"""

import cProfile
import inspect
from collections.abc import Callable

import numpy as np
import pytest
import trio
from psephos.agents.modes import Simulation
from psephos.protocol import SimulatedNoise
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.mechanisms import DiscreteLaplace, GeneralizedRandomizedResponse, RowMechanism
from psephos.protocol.sides import Party
from psephos.scenarios.running.session import run_agents
from psephos.transports import MemoryTransport

SESSION = "calls"
ROOM = 1.05
CALLS_A_MESSAGE = 74.7
"""A bare exchange of the same messages through trio's memory channels, with two tasks a party, takes 51. Here it has
one task, and the server one for all of them (`mail`)."""
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


def test_a_session_in_memory_takes_few_calls_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    # Hypothesis lets trio sort its tasks at each turn, which no user's session does.
    monkeypatch.setattr("trio._core._run._ALLOW_DETERMINISTIC_SCHEDULING", False)
    # Nor does one note what parties hold, as `quoting` does in all tests.
    monkeypatch.setattr(Party, "__init__", inspect.unwrap(Party.__init__))
    generator = np.random.default_rng(1)
    vote = DPWeVote(Parameters(candidates=("proposal",)))
    names = [f"partner-{place}" for place in range(1000)]
    inputs = vote.encode({"weight": generator.integers(1, 4, 1000), "proposal": generator.integers(0, 2, 1000)})

    def run() -> None:
        mode = Simulation(SESSION, SimulatedNoise(1, session=SESSION))

        async def main() -> None:
            record = await run_agents(vote, names=names, inputs=inputs, mode=mode, transport=MemoryTransport())
            assert record.num_received == (1000, 1000)

        trio.run(main)

    run()  # what is computed once for a protocol is not a message's
    num_messages = len(names) * (3 + 2 * len(vote.phases))
    assert calls_of(run) <= ROOM * CALLS_A_MESSAGE * num_messages


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
