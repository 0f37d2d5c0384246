"""Run one session from inputs to outcome, by agents over a transport or by arrays, with the same bits."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
import trio

from ...agents.modes import Simulation
from ...protocol.errors import ConfigurationError, refuse, require
from ...protocol.phases import Inputs, PhasedProtocol
from ...protocol.plugin_checks import check_declared, check_own_columns, checked_inputs
from ...protocol.randomness import SimulatedNoise
from ..plugins import ARRAY, check_transport, make_transport
from .by_agents import Adversity, AgentClasses, run_agents
from .by_arrays import run_arrays, run_streamed
from .in_process import Strangers
from .parties import check_names
from .plugin_errors import blaming
from .record import SessionObservers, SessionRecord

OutcomeT = TypeVar("OutcomeT", bound=msgspec.Struct)

__all__ = [
    "Adversity",
    "AgentClasses",
    "SessionObservers",
    "SessionRecord",
    "Strangers",
    "run_agents",
    "run_arrays",
    "run_streamed",
    "simulate",
    "simulate_async",
]


def simulate(
    protocol: PhasedProtocol[Any, OutcomeT],
    parties: Mapping[str, Sequence[Any]],
    *,
    seed: int,
    transport: str = "array",
    session: str = "simulation",
    round_number: int = 0,
) -> OutcomeT:
    """Run one simulated session, and return its outcome.

    The outcome equals, bit for bit, that of `psephos run` for a scenario with the same protocol, parameters, parties,
    seed and round, if `session` is the scenario's name: "tea" for a file `tea.toml`.

    Args:
        protocol: the protocol with its parameters.
        parties: maps names to entries, in the order of `protocol.columns()`.
        seed: ≥ 0; the same seed gives the same bits on every transport.
        transport: "array", or "memory" or "tcp" for agents. Inside trio, use `simulate_async` for agents.
        session: the session's name, which is the scenario's name there; different names draw independent noise.
        round_number: distinguishes repeated votes of one session; different rounds draw independent noise.

    Raises:
        ConfigurationError: there are no parties, or a name, an entry, the seed or the transport is not allowed.
        PluginError: the code of the protocol or of the transport raised an exception, or the protocol breaks its
            contract.
        UnheardError: no party received the outcome.

    Privacy:
        None: the noise can be removed with a simulation's seed.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("roof",), weights=(1.0, 2.0), epsilon=1.0))
        >>> outcome = simulate(vote, {"ann": (1, 1), "bob": (2, 0)}, seed=7)
        >>> outcome.num_partners, outcome == simulate(vote, {"ann": (1, 1), "bob": (2, 0)}, seed=7, transport="memory")
        (2, True)
    """
    names, inputs, noise = _prepare_session(protocol, parties, transport, (seed, session, round_number))
    if transport == ARRAY:
        return run_arrays(protocol, inputs=inputs, noise=noise).outcome  # pyright: ignore[reportReturnType]  the protocol's own
    refuse(_is_in_trio(), "transport", transport, f"{ARRAY!r} inside trio, or awaited there: await simulate_async(...)")
    agents = functools.partial(_simulate_agents, protocol, names, inputs, Simulation(session, noise), transport)
    return trio.run(agents, restrict_keyboard_interrupt_to_checkpoints=True)


async def simulate_async(
    protocol: PhasedProtocol[Any, OutcomeT],
    parties: Mapping[str, Sequence[Any]],
    *,
    seed: int,
    transport: str = "memory",
    session: str = "simulation",
    round_number: int = 0,
) -> OutcomeT:
    """Run `simulate` inside trio, next to other tasks.

    A cancellation ends all agents, and nothing is released. Arrays compute without yielding to other tasks. Arguments,
    errors and privacy are those of `simulate`; by default, agents use memory. It does not run under asyncio; use `await
    asyncio.to_thread(simulate, ...)` there.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("roof",), weights=(1.0, 2.0), epsilon=1.0))
        >>> async def main():
        ...     return await simulate_async(vote, {"ann": (1, 1), "bob": (2, 0)}, seed=7)
        >>> trio.run(main) == simulate(vote, {"ann": (1, 1), "bob": (2, 0)}, seed=7)
        True
    """
    allowed = "trio's; under another one, as asyncio's, await asyncio.to_thread(simulate, protocol, parties, seed=...)"
    require(_is_in_trio(), "the event loop of simulate_async", "another one", allowed)
    names, inputs, noise = _prepare_session(protocol, parties, transport, (seed, session, round_number))
    if transport == ARRAY:
        await trio.lowlevel.checkpoint()
        return run_arrays(protocol, inputs=inputs, noise=noise).outcome  # pyright: ignore[reportReturnType]  the protocol's own
    return await _simulate_agents(protocol, names, inputs, Simulation(session, noise), transport)


def _is_in_trio() -> bool:
    try:
        trio.lowlevel.current_trio_token()
    except RuntimeError:
        return False
    return True


def _prepare_session(
    protocol: PhasedProtocol[Any, Any],
    parties: Mapping[str, Sequence[Any]],
    transport: str,
    of_noise: tuple[int, str, int],
) -> tuple[Sequence[str], Inputs, SimulatedNoise]:
    """Return the parties' names and rows, and the noise of a seed, a session and a round."""
    check_transport(transport)
    names = check_names(tuple(parties), protocol.client_role)
    columns = protocol.columns()
    for name, entries in parties.items():
        if len(entries) != len(columns):
            allowed = f"{len(columns)} entries: {', '.join(column.name for column in columns)}"
            raise ConfigurationError(field=name, value=f"{len(entries)} entries", allowed=allowed)
    table = {column.name: [entries[place] for entries in parties.values()] for place, column in enumerate(columns)}
    with blaming(type(protocol)):
        check_declared(type(protocol))
        check_own_columns(protocol)
        inputs = checked_inputs(protocol, protocol.encode(table), num_parties=len(names))
        protocol.check_roster(inputs.public)
        protocol.check_inputs(inputs)
    seed, session, round_number = of_noise
    return names, inputs, SimulatedNoise(seed, session=session, round_number=round_number)


async def _simulate_agents(
    protocol: PhasedProtocol[Any, OutcomeT], names: Sequence[str], inputs: Inputs, mode: Simulation, transport: str
) -> OutcomeT:
    record = await run_agents(protocol, names=names, inputs=inputs, mode=mode, transport=make_transport(transport))
    if (unheard_error := record.unheard(protocol, len(names))) is not None:
        raise unheard_error
    return record.outcome  # pyright: ignore[reportReturnType]  the protocol's own
