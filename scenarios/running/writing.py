"""Write a run's folder, for all kinds of runs: arrays, agents, a stream, a server, or one party."""

import collections
import contextlib
import dataclasses
import datetime as dt
import importlib.metadata
import os
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from ...agents.events import Log
from ...protocol.phases import Truth
from ...protocol.privacy import LedgerEntry
from ..presentation import draw_outcome, rows_of
from ..reading.frames import frames_in
from .config import Scenario, list_scenarios, load_scenario, with_paths
from .folder import SCHEMA, RunFolder, open_event_log
from .resolution import Local, Resolved, ServerRun
from .session_facts import about


@dataclasses.dataclass(frozen=True)
class Run:
    """A run in progress: its event log, charged losses, and further fields of `run.json`."""

    log: Log
    entries: list[LedgerEntry]
    ending: dict[str, Any]


def describe_failure(error: BaseException) -> dict[str, str]:
    """Return a failure for `run.json`; for several at once, the first."""
    if isinstance(error, BaseExceptionGroup):
        return describe_failure(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
    return {"error": type(error).__name__, "reason": str(error)}


@contextlib.contextmanager
def open_run(
    folder: RunFolder,
    setup: Resolved | None,
    run_facts: Mapping[str, Any],
    *,
    has_ledger: bool = True,
    is_live: bool = False,
    describe: Callable[[BaseException], Mapping[str, str]] = describe_failure,
) -> Generator[Run]:
    """Write a run's folder around a block; the ledger has all charges, and `run.json` a failure, in any case.

    `run.json` also counts events that could not be written, by reason; the run continues without them.

    Args:
        setup: the resolved scenario, written for reruns; None if this folder does not write it.
        run_facts: the first fields of `run.json`.
        has_ledger: whether to write a ledger here.
        is_live: whether to write each event at once, as in `folder.open_event_log`.
        describe: returns the text of a failure.
    """
    folder.begin()
    if setup is not None:
        folder.write_json("scenario.json", _to_run_again(setup, folder.path))
    started_at = time.perf_counter()
    start_date = dt.datetime.now().astimezone().isoformat(timespec="seconds")
    entries: list[LedgerEntry] = []
    ending: dict[str, Any] = {} if setup is None else {"about": about(setup.protocol)}
    failure: dict[str, Any] = {}
    failures: collections.Counter[str] = collections.Counter()
    try:
        with open_event_log(folder.events, is_live=is_live, failures=failures) as log:
            yield Run(log, entries, ending)
    except BaseException as error:
        failure["failure"] = describe(error)
        raise
    finally:
        if has_ledger:
            folder.write_ledger(entries)
        if failures:
            ending["events_lost"] = dict(failures)
        seconds = time.perf_counter() - started_at
        versions = {name: importlib.metadata.version(name) for name in ("psephos", "numpy")}
        folder.write_json(
            "run.json",
            {"schema": SCHEMA, **run_facts, "at": start_date, "seconds": seconds, **versions, **ending, **failure},
        )


def write_outcome(
    folder: RunFolder,
    outcome: msgspec.Struct,
    result: Mapping[str, Any],
    *,
    title: str,
    setting: str = "",
    truth: Truth | None = None,
    gold: Mapping[str, str] | None = None,
    pictures: bool = True,
) -> None:
    """Write an outcome: `result.json`, `estimates.csv`, and if requested a picture with title and setting.

    `truth` are the true values of the estimates if they may be shown; `gold` those of a gold standard.
    """
    folder.write_json("result.json", result)
    folder.write_table("estimates.csv", rows_of(outcome, truth=truth, gold=gold), is_exact=True)
    if pictures:
        draw_outcome(outcome, title=title, setting=setting, truth=truth, gold=gold, folder=folder.path)


def _to_run_again(setup: Resolved, folder: Path) -> dict[str, Any]:
    """Return the scenario as plain data, without seed and parties' values, with paths relative to `folder`.

    Parties listed in a shipped scenario are public, and stay. For a served scenario, the agreed parameters stay, and no
    parties.
    """
    scenario = setup.scenario
    if frames_in(scenario.parties):
        scenario = msgspec.structs.replace(scenario, parties=[])  # written as an empty list of parties
    # Resolve links, since ".." after a link leads out of the link's target.
    folder_here = folder.resolve()
    scenario = with_paths(scenario, lambda path: os.path.relpath(Path(path).resolve(), folder_here))
    scenario_fields: dict[str, Any] = msgspec.to_builtins(scenario)
    parameters: dict[str, Any] = msgspec.to_builtins(setup.protocol.parameters)
    parameter_names = setup.parameters_of_parties if isinstance(setup, Local) else frozenset[str]()
    scenario_fields["parameters"] = {name: value for name, value in parameters.items() if name not in parameter_names}
    scenario_fields.pop("seed")
    if not scenario.network:
        scenario_fields.pop("network")
    if isinstance(setup, ServerRun):
        return {name: value for name, value in scenario_fields.items() if name not in {"parties", "data"}}
    if isinstance(scenario.parties, list) and not _are_shipped(scenario):
        scenario_fields.pop("parties")
    return scenario_fields


def _are_shipped(scenario: Scenario) -> bool:
    """Return whether a scenario's parties equal those in the shipped scenario of its name."""
    return scenario.name in list_scenarios() and load_scenario(scenario.name).parties == scenario.parties
