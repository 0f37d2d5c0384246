"""Running a survey that does not fit into memory: batches of voters through arrays, and the same folder at the end.

The result is that of the whole survey at once, bit for bit. Nobody's values are kept, so there is no truth beside the
estimates, and nothing to record. Where voters have an ε of their own, the ledger's one line says what each pays at
most: who has which is not kept.
"""

import contextlib
import importlib.metadata
import secrets
import time
from collections.abc import Callable, Generator
from typing import Any, Final

import msgspec

from ...protocol.errors import ConfigurationError
from ...protocol.moral_preferences import MoralPreferences
from ...protocol.phases import Inputs
from ...protocol.population import PopulationResult, run_batches
from ...protocol.privacy import LedgerEntry
from ...protocol.randomness import SimulatedNoise
from ...protocol.roles import SessionKind
from ...protocol.server_machine import SessionResult
from ..moral_preferences.data.options import MAX_VOTERS
from ..moral_preferences.data.privacy_groups import draw_epsilons
from ..moral_preferences.data.streams import SurveyStream, is_stream, open_stream
from ..moral_preferences.data.survey import Reading
from ..plugins import ARRAY
from ..presentation import draw_outcome, rows_of
from ..system import find_protocol
from .config import Scenario, move_paths
from .conversion import convert
from .folder import RunFolder, open_event_log
from .parties import sources_of
from .resolution import blaming, make_rules
from .results import published
from .run import describe_failure, seen_from

__all__ = ["FinishedStream", "StreamedSession", "is_streamed", "resolve_stream", "run_stream", "run_stream_in_folder"]

_SEED_BITS: Final = 128


class StreamedSession(msgspec.Struct, kw_only=True):
    """A scenario whose voters come in batches, with everything that it names looked up and checked.

    Args:
        scenario: as written, with what was set.
        protocol: the protocol with its parameters.
        stream: the voters.
        parameters_of_stream: the parameters that the scenario leaves to its voters, who say them again in a rerun.
    """

    scenario: Scenario
    protocol: MoralPreferences
    stream: SurveyStream
    parameters_of_stream: frozenset[str] = frozenset()


class FinishedStream(msgspec.Struct, kw_only=True):
    """A run that ended with its outcome.

    Args:
        outcome: what was released.
        num_voters: how many there were.
        reading: what became of the rows that were read.
        result: the content of `result.json`.
        seconds: the session's own time.
    """

    outcome: msgspec.Struct
    num_voters: int
    reading: Reading
    result: dict[str, Any]
    seconds: float


def is_streamed(scenario: Scenario) -> bool:
    """Return whether a scenario asks for its voters to be streamed."""
    return issubclass(find_protocol(scenario.protocol), MoralPreferences) and is_stream(scenario.parties)


def resolve_stream(scenario: Scenario) -> StreamedSession:
    """Look up and check what a streamed scenario names; no voter is read yet.

    Args:
        scenario: what is to be run.

    Raises:
        ConfigurationError: something is not allowed.
    """
    if scenario.transport != ARRAY:
        allowed = f"{ARRAY!r} where voters are streamed: no agents, and so no memory for each"
        raise ConfigurationError(field="transport", value=scenario.transport, allowed=allowed)
    assert isinstance(scenario.parties, dict)  # noqa: S101  `is_streamed` saw a table
    stream = open_stream(scenario.parties)
    of_stream: dict[str, Any] = {"max_records": stream.max_records, "features": list(stream.features)}
    if stream.epsilons:
        of_stream["epsilons"] = list(stream.epsilons)
    given = {**of_stream, **scenario.parameters}
    with blaming(MoralPreferences):
        protocol = MoralPreferences(convert(given, MoralPreferences.parameters_type, "parameters"))
        paid = sum(loss.proven for loss in protocol.losses)
    _check_stream(protocol, stream)
    make_rules(scenario, protocol, num_parties=MAX_VOTERS if stream.num_voters is None else stream.num_voters)
    if scenario.budget is not None and not scenario.budget >= paid:
        raise ConfigurationError(field="budget", value=scenario.budget, allowed=f"at least the session's {paid:g}")
    return StreamedSession(
        scenario=scenario,
        protocol=protocol,
        stream=stream,
        parameters_of_stream=frozenset(of_stream) - frozenset(scenario.parameters),
    )


def _check_stream(protocol: MoralPreferences, stream: SurveyStream) -> None:
    """Raise ConfigurationError unless the parameters are those of the voters who will come."""
    parameters = protocol.parameters
    if parameters.features != stream.features:
        allowed = "left out: it follows from the streamed voters"
        raise ConfigurationError(field="features", value=list(parameters.features[:30]), allowed=allowed)
    if parameters.max_records < stream.max_records:
        allowed = f"at least {stream.max_records}, the most records of a streamed voter"
        raise ConfigurationError(field="max_records", value=parameters.max_records, allowed=allowed)


def run_stream(
    session: StreamedSession,
    folder: RunFolder,
    *,
    seed: int,
    on_batch: Callable[[int], None] | None = None,
    readings: list[Reading] | None = None,
) -> PopulationResult[Any]:
    """Run a streamed session.

    Args:
        session: the session.
        folder: below it temporary files are kept while the survey is grouped by voter.
        seed: of the simulated noise.
        on_batch: called with the number of voters so far.
        readings: the caller's list, which gets what became of each batch's rows.

    Raises:
        ConfigurationError: a file cannot be read or is not what it should be.
    """
    noise = SimulatedNoise(seed, session=session.scenario.name, round_number=session.scenario.round)
    # Closed whatever happens, and temporary files with them.
    with contextlib.closing(_inputs_of(session, folder, [] if readings is None else readings)) as batches:
        return run_batches(session.protocol, batches, noise=noise, on_batch=on_batch)


def _inputs_of(session: StreamedSession, folder: RunFolder, readings: list[Reading]) -> Generator[Inputs]:
    start = 0
    with contextlib.closing(session.stream.open(folder.path)) as surveys:
        for survey in surveys:
            table: dict[str, Any] = {"records": survey.records}
            if session.stream.groups is not None:
                table["epsilon"] = draw_epsilons(session.stream.groups, num_voters=len(survey.voters), start=start)
            with blaming(MoralPreferences):
                inputs = session.protocol.encode(table)
            yield inputs
            start += len(survey.voters)
            readings.append(survey.reading)


def run_stream_in_folder(
    session: StreamedSession,
    folder: RunFolder,
    *,
    pictures: bool = True,
    on_batch: Callable[[int], None] | None = None,
) -> FinishedStream:
    """Run a streamed session and leave everything that came of it in a folder.

    Args:
        session: the session.
        folder: the run's folder.
        pictures: also draw the outcome.
        on_batch: called with the number of voters so far.

    Raises:
        ConfigurationError: as `run_stream`; the folder then holds the scenario, the events, the ledger, and in
            `run.json` the failure.
    """
    scenario, protocol = session.scenario, session.protocol
    seed = secrets.randbits(_SEED_BITS) if scenario.seed is None else scenario.seed
    folder.write_json("scenario.json", _to_run_again(session, folder))
    started = time.perf_counter()
    ending: dict[str, Any] = {}
    readings: list[Reading] = []
    result: PopulationResult[Any] | None = None
    try:
        with open_event_log(folder.events) as log:
            (phase,) = protocol.phases
            where = {"session": scenario.name, "party": "arrays", "phase": phase.name}
            log.info("phase_opened", **where)
            result = run_stream(session, folder, seed=seed, on_batch=on_batch, readings=readings)
            log.info("phase_closed", **where, received=result.tallies[0].num_reports, missing=0)
    except BaseException as error:
        ending["failure"] = describe_failure(error)
        raise
    finally:
        seconds = time.perf_counter() - started
        folder.write_ledger(_entries(session, sum(reading.num_voters for reading in readings)))
        how = {"transport": ARRAY, "noise": scenario.noise, "seconds": seconds}
        rows = {"parties": sum(readings[1:], readings[0]).description} if readings else {}
        versions = {name: importlib.metadata.version(name) for name in ("psephos", "numpy")}
        folder.write_json("run.json", {**how, **rows, **versions, **ending})
    num_voters = result.tallies[0].num_reports
    left = SessionResult(result.outcome, result.tallies, (num_voters,))
    content = published(protocol, left, session=scenario.name, kind=SessionKind.SIMULATION, num_parties=num_voters)
    folder.write_json("result.json", content)
    folder.write_table("estimates.csv", rows_of(result.outcome, truth=None))
    if pictures:
        draw_outcome(result.outcome, title=scenario.title or scenario.name, truth=None, folder=folder.path)
    return FinishedStream(
        outcome=result.outcome,
        num_voters=num_voters,
        reading=sum(readings[1:], readings[0]),
        result=content,
        seconds=seconds,
    )


def _entries(session: StreamedSession, num_voters: int) -> list[LedgerEntry]:
    """Return one line for all voters whose reports were drawn: none pays more."""
    if not num_voters:
        return []
    (phase,) = session.protocol.phases
    return [
        LedgerEntry.of(
            loss,
            person=f"each of {num_voters} voters{' at most' if session.stream.groups else ''}",
            session=session.scenario.name,
            phase=phase.name,
            num_persons=num_voters,
        )
        for loss in phase.losses
    ]


def _to_run_again(session: StreamedSession, folder: RunFolder) -> dict[str, Any]:
    """Return the scenario as plain data: without the seed, every path from the folder."""
    written: dict[str, Any] = msgspec.to_builtins(session.scenario)
    parameters: dict[str, Any] = msgspec.to_builtins(session.protocol.parameters)
    written["parameters"] = {
        name: value for name, value in parameters.items() if name not in session.parameters_of_stream
    }
    written.pop("seed")
    written["parties"] = move_paths(
        written["parties"], lambda path: seen_from(folder.path, path), sources_of(MoralPreferences)
    )
    return written
