"""Running a scenario: from what is written down to a folder with everything that came of it."""

import importlib.metadata
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
import trio

from ..agents.driver import EffectListener
from ..agents.events import Log
from ..agents.modes import Deployment, Mode, Simulation
from ..agents.noise import SecureNoise
from ..protocol.errors import ConfigurationError
from ..protocol.privacy import Budget
from ..protocol.randomness import SimulatedNoise
from .config import ARRAY, Resolved
from .folder import RunFolder, open_event_log
from .pictures import draw_outcome
from .plugins import make_transport
from .report import outcome_rows
from .session import SessionRecord, run_agents, run_arrays

__all__ = ["Finished", "result_of", "run_in_folder", "run_session"]

_SEED_BITS: Final = 128


class Finished(msgspec.Struct, kw_only=True):
    """A run that ended with its outcome.

    Args:
        record: what the session left.
        result: the content of `result.json`.
        truth: what the outcome estimates, where that may be shown.
        seconds: the session's own time.
    """

    record: SessionRecord
    result: Mapping[str, Any]
    truth: Mapping[str, float] | None
    seconds: float


def run_session(
    resolved: Resolved,
    *,
    seed: int,
    record_views: bool = False,
    log: Log | None = None,
    listener: EffectListener | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> SessionRecord:
    """Run a resolved scenario's session on the path that it names.

    Args:
        resolved: the scenario.
        seed: of simulated noise; not used where noise is secure.
        record_views: keep what each party sees.
        log: where events go.
        listener: told of the server's effects.
        on_progress: called a few times a second (agents only).

    Raises:
        QuorumError: a phase closed without its quorum.
        ConfigurationError: the path cannot do what the scenario asks.
    """
    scenario = resolved.scenario
    noise = SimulatedNoise(seed, session=scenario.name, round_number=scenario.round)
    budget = None if scenario.budget is None else Budget(epsilon=scenario.budget)
    if scenario.transport == ARRAY:
        if record_views:
            allowed = "left out on the array path, where nobody sees anything"
            raise ConfigurationError(field="--record", value="given", allowed=allowed)
        return run_arrays(
            resolved.protocol, inputs=resolved.inputs, noise=noise, session=scenario.name, log=log, listener=listener
        )
    mode: Mode = Simulation(scenario.name, noise, record_views)
    if scenario.noise == "secure":
        if record_views:
            raise ConfigurationError(field="--record", value="given", allowed="left out where noise is secure")
        mode = Deployment(scenario.name, SecureNoise())
    transport = make_transport(scenario.transport)

    async def main() -> SessionRecord:
        return await run_agents(
            resolved.protocol,
            names=resolved.names,
            inputs=resolved.inputs,
            mode=mode,
            transport=transport,
            rules=resolved.rules,
            default_rules=resolved.default_rules,
            budget=budget,
            log=log,
            listener=listener,
            on_progress=on_progress,
        )

    return trio.run(main)


def run_in_folder(
    resolved: Resolved,
    folder: RunFolder,
    *,
    record: bool = False,
    pictures: bool = True,
    listener: EffectListener | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> Finished:
    """Run a scenario and leave everything that came of it in a folder.

    Args:
        resolved: the scenario.
        folder: the run's folder.
        record: also write seed, private inputs and views (simulations only).
        pictures: also draw the outcome.
        listener: told of the server's effects.
        on_progress: called a few times a second (agents only).

    Raises:
        QuorumError, ConfigurationError: as `run_session`; the folder then holds scenario and events.
    """
    scenario = resolved.scenario
    seed = secrets.randbits(_SEED_BITS) if scenario.seed is None else scenario.seed
    written = _without_secrets(resolved)
    folder.write_json("scenario.json", written)
    started = time.perf_counter()
    with open_event_log(folder.events) as log:
        record_of_session = run_session(
            resolved, seed=seed, record_views=record, log=log, listener=listener, on_progress=on_progress
        )
    seconds = time.perf_counter() - started
    truth = resolved.protocol.truth(resolved.inputs) if resolved.are_parties_made_up or record else None
    result = result_of(resolved, record_of_session, truth=truth)
    folder.write_json("result.json", result)
    folder.write_ledger(record_of_session.entries)
    folder.write_table("estimates.csv", outcome_rows(record_of_session.outcome, truth))
    folder.write_json(
        "run.json",
        {
            "transport": scenario.transport,
            "noise": scenario.noise,
            "seconds": seconds,
            "psephos": importlib.metadata.version("psephos"),
            "numpy": importlib.metadata.version("numpy"),
            "parties_without_outcome": {name: str(error) for name, error in record_of_session.endings.items()},
        },
    )
    if record:
        recording = {
            "seed": str(seed),
            "parties": list(resolved.names),
            "private_rows": resolved.inputs.private.tolist(),
            "public_rows": resolved.inputs.public.tolist(),
        }
        folder.write_recording(recording, record_of_session.views)
    if pictures:
        draw_outcome(record_of_session.outcome, title=scenario.title or scenario.name, truth=truth, folder=folder.path)
    return Finished(record=record_of_session, result=result, truth=truth, seconds=seconds)


def result_of(resolved: Resolved, record: SessionRecord, *, truth: Mapping[str, float] | None) -> dict[str, Any]:
    """Return the content of `result.json`: nothing in it depends on the path that the session took."""
    protocol = resolved.protocol
    result: dict[str, Any] = {
        "session": resolved.scenario.name,
        "protocol": protocol.name,
        "kind": "deployment" if resolved.scenario.noise == "secure" else "simulation",
        "num_parties": len(resolved.names),
        "received": {phase.name: n for phase, n in zip(protocol.phases, record.num_received, strict=True)},
        "outcome": msgspec.to_builtins(record.outcome),
        "privacy": {
            "person": {
                "claimed": sum(loss.claimed for loss in protocol.losses),
                "proven": sum(loss.proven for loss in protocol.losses),
            },
            "relation": sorted({loss.relation.value for loss in protocol.losses}),
            "model": sorted({loss.model.value for loss in protocol.losses}),
        },
        "tallies": [tally.totals.tolist() for tally in record.tallies],
    }
    if truth is not None:
        result["truth"] = dict(truth)
    return result


def _without_secrets(resolved: Resolved) -> dict[str, Any]:
    """Return the scenario as plain data, without the seed and without anybody's values."""
    written: dict[str, Any] = msgspec.to_builtins(resolved.scenario)
    written["parameters"] = msgspec.to_builtins(resolved.protocol.parameters)
    written.pop("seed")
    if isinstance(written["parties"], list):
        written.pop("parties")
    return written
