"""The array path: a whole session over a population, without agents.

Equal, bit for bit, to a session of agents in which every party reports: the same rows of the same streams go
through the same mechanisms, and tallies merge exactly in any order.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np

from .arrays import IntArray
from .phases import Inputs, Phase, PhasedProtocol
from .randomness import SimulatedNoise
from .tally import Tally

__all__ = ["PopulationResult", "draw_reports", "run_population", "tally_batch"]

OutcomeT = TypeVar("OutcomeT", bound=msgspec.Struct)

# Rows at a time: large enough for numpy, small enough that the temporaries stay in the processor's cache.
BATCH_ROWS = 1 << 15


class PopulationResult(msgspec.Struct, Generic[OutcomeT], frozen=True):
    """What a session over arrays leaves: the outcome, the tallies, and what single parties are told, by place."""

    outcome: OutcomeT
    tallies: tuple[Tally, ...]
    own_outcomes: Mapping[int, msgspec.Struct]


def draw_reports(phase: Phase, rows: IntArray, *, noise: SimulatedNoise, protocol: str, start: int) -> IntArray:
    """Return the reports of the parties whose private rows these are.

    Args:
        phase: the phase.
        rows: int64, shape (n, private columns).
        noise: the simulation's.
        protocol: the protocol's name.
        start: the first party's place in the roster; the others follow it.

    Returns:
        int64, shape (n, phase.num_values).
    """
    slots = phase.mechanism.slots_of(phase.num_values)
    uniforms = noise.uniforms(protocol=protocol, phase=phase.name, start=start, stop=start + len(rows), slots=slots)
    return phase.mechanism.randomize_rows(rows[:, phase.columns], uniforms)


def run_population(
    protocol: PhasedProtocol[Any, OutcomeT],
    inputs: Inputs,
    *,
    noise: SimulatedNoise,
    on_phase: Callable[[Phase, Tally, msgspec.Struct | None], None] | None = None,
    batch_rows: int = BATCH_ROWS,
) -> PopulationResult[OutcomeT]:
    """Run all phases over all parties.

    Args:
        protocol: what is run.
        inputs: every party's row; at least one.
        noise: the simulation's.
        on_phase: called as each phase closes, with its tally and its outcome.
        batch_rows: rows at a time; the result does not depend on it.

    Raises:
        ValueError: there is no party, `batch_rows` is below 1, or a value is out of its mechanism's range.

    Privacy:
        None: a simulation's seed takes its noise off again.
    """
    if batch_rows < 1:
        raise ValueError(f"batch_rows must be at least 1, got {batch_rows}")
    if not len(inputs):
        raise ValueError("a session needs at least one party")
    protocol.check_inputs(inputs)
    reports: list[IntArray] = []
    tallies: list[Tally] = []
    for phase in protocol.phases:
        drawn = np.empty((len(inputs), phase.num_values), dtype=np.int64)
        tally: Tally | None = None
        for start in range(0, len(inputs), batch_rows):
            batch = slice(start, min(start + batch_rows, len(inputs)))
            drawn[batch] = draw_reports(phase, inputs.private[batch], noise=noise, protocol=protocol.name, start=start)
            part = tally_batch(phase, drawn, reports, inputs.public, batch)
            tally = part if tally is None else tally.merge(part)
        assert tally is not None  # noqa: S101  there is at least one row
        reports.append(drawn)
        tallies.append(tally)
        if on_phase is not None:
            on_phase(phase, tally, phase.outcome(tallies))
    return PopulationResult(protocol.outcome(tallies), tuple(tallies), protocol.own_outcomes(tallies))


def tally_batch(
    phase: Phase, drawn: IntArray, earlier: Sequence[IntArray], public: IntArray, rows: slice | IntArray
) -> Tally:
    """Return the tally of some of the clients: those at these rows of every array."""
    return phase.tally(drawn[rows], earlier=[reports[rows] for reports in earlier], public=public[rows])
