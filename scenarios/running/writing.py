"""What every run leaves in its folder, whoever runs it: arrays, agents, a stream, a server, or one party."""

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
    """A run that is under way: where its events go, what was charged, and what else `run.json` says in the end."""

    log: Log
    entries: list[LedgerEntry]
    ending: dict[str, Any]


def describe_failure(error: BaseException) -> dict[str, str]:
    """Return what `run.json` says of a failure; of several at once, the first."""
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
    """Let a run write its folder; whatever happens, what was charged is in the ledger, and why it failed in `run.json`.

    Events that could not be written are counted there, by reason; the run goes on without them.

    Args:
        setup: what is run, to be run again; None where somebody else knows.
        run_facts: the beginning of `run.json`.
        has_ledger: whether losses are kept here.
        is_live: write each event at once, as `folder.open_event_log`.
        describe: what is said of a failure.
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
    """Write what was released: `result.json`, `estimates.csv`, and a picture, with title and setting, if one is wanted.

    The truth is what the outcome estimates, where that may be shown; gold is what is true, where somebody knows.
    """
    folder.write_json("result.json", result)
    folder.write_table("estimates.csv", rows_of(outcome, truth=truth, gold=gold), is_exact=True)
    if pictures:
        draw_outcome(outcome, title=title, setting=setting, truth=truth, gold=gold, folder=folder.path)


def _to_run_again(setup: Resolved, folder: Path) -> dict[str, Any]:
    """Return the scenario as plain data: without the seed, without anybody's values, every path from `folder`.

    Parties that a shipped scenario lists are nobody's, since everybody has them, and stay. Of a served scenario, whose
    parties are elsewhere, all parameters that were agreed to stay, and no parties.
    """
    scenario = setup.scenario
    if frames_in(scenario.parties):
        scenario = msgspec.structs.replace(scenario, parties=[])  # as parties that it lists
    # Without links, since ".." leads out of where a link leads to.
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
    """Return whether a scenario's parties are, entry by entry, those that a shipped one of its name lists."""
    return scenario.name in list_scenarios() and load_scenario(scenario.name).parties == scenario.parties
