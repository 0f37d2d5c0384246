"""Running a scenario: from what was resolved to a folder with everything that came of it."""

import contextlib
import dataclasses
import functools
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
import trio

from ...agents.adversaries import Attempt, Deviation
from ...agents.modes import Deployment, Mode, Simulation, draw_session_id
from ...agents.noise import SecureNoise, SecureRelease
from ...protocol.errors import PsephosError
from ...protocol.messages import SessionDescriptor
from ...protocol.phases import Truth
from ...protocol.plugin_checks import checked_truth
from ...protocol.population import tally_batches
from ...protocol.privacy import Ledger, LedgerEntry
from ...protocol.randomness import SimulatedNoise, stream_key
from ...protocol.tally import Tally
from ...protocol.views import View
from ...transports.faults import Weather, seeded_weather
from ...transports.tap import TappedTransport, Traffic
from ..adversaries.reading import checked_deviations, checked_lesson, checked_strangers
from ..adversaries.role import AttackContext, AttackReport, SessionTrace
from ..plugins import ARRAY, make_transport
from ..presentation import written_lesson
from ..system import part_of
from .folder import RunFolder
from .plugin_errors import Plugin, blaming_plugins
from .resolution import Local, Streamed
from .results import expect_traffic, result_of, traffic_of
from .session import Adversity, SessionObservers, SessionRecord, Strangers, run_agents, run_arrays, run_streamed
from .statements import setting_of
from .streams import StreamedInputs
from .writing import describe_failure, open_run, write_outcome

if TYPE_CHECKING:
    from .shards import ShardedTally  # else every run would import what clusters need

Details = Callable[[Local], Mapping[str, Sequence[Mapping[str, Any]]]]
"""A system's part: parties that are nobody's secret → rows of tables, by the files' names."""
_SEED_BITS: Final = 128


@dataclasses.dataclass
class ObservedRun:
    """Record what adversaries see of a run, in the order in which it happens."""

    views: list[View] = dataclasses.field(default_factory=list[View])
    traffic: list[Traffic] = dataclasses.field(default_factory=list[Traffic])
    attempts: list[Attempt] = dataclasses.field(default_factory=list[Attempt])


class FinishedRun(msgspec.Struct, kw_only=True):
    """A run that ended with its outcome.

    Examples:
        >>> from psephos.scenarios import load_scenario, resolve
        >>> finished = run_in_memory(resolve(load_scenario("consortium", ["partners.count=5", "transport=array"])))
        >>> sorted(finished.truth)
        ['joint data space', 'quota', 'total weight']
    """

    record: SessionRecord  # what the session left
    result: Mapping[str, Any]  # the content of `result.json`
    truth: Truth | None  # what the outcome estimates, where that may be shown
    gold: Mapping[str, str] | None  # what is true by somebody who knows; None where nobody does
    seconds: float  # the session's own time
    num_parties: int  # how many there were
    note: str = ""  # what became of the rows of a stream, as a line for people
    attack_reports: Sequence[AttackReport] = ()  # what its adversaries learnt, or did
    # What they learnt it from, with the context; None where there are none.
    trace: tuple[AttackContext, SessionTrace] | None = None
    entries: Sequence[LedgerEntry] = ()  # every privacy loss, also of parties that were streamed


def run_session(
    resolved: Local,
    *,
    seed: int,
    observers: SessionObservers | None = None,
    watched: ObservedRun | None = None,
    streamed: StreamedInputs | None = None,
    ledgers: Mapping[str, Ledger] | None = None,
    sharded: "ShardedTally | None" = None,
) -> SessionRecord:
    """Run a resolved scenario's session on the path that it names.

    Args:
        seed: of simulated noise; not used where noise is secure.
        observers: who observes it, and gets what it leaves; its views are those of `watched`, where that is given.
        watched: the caller's, which gets what adversaries see however the session ends.
        streamed: the caller's, which knows of a stream's parties how far they came.
        ledgers: of the parties by name, where they have had losses before (agents only).
        sharded: by whom a stream is tallied; by default here, batch by batch.

    Raises:
        QuorumError: a phase closed without its quorum.
        ConfigurationError: the system has too few descriptors.
        PluginError: as `run_agents` and `run_arrays`, and where an adversary's code raises something.
        OSError: the network does not work.

    Examples:
        >>> from psephos.scenarios import load_scenario, resolve
        >>> local = resolve(load_scenario("consortium", ["partners.count=5", "transport=array"]))
        >>> run_session(local, seed=7).num_received
        (5, 5)
    """
    scenario, observers = resolved.scenario, observers or SessionObservers()
    noise = SimulatedNoise(seed, session=scenario.name, round_number=scenario.round)
    if scenario.noise == "secure" and scenario.transport == ARRAY:
        noise = SecureRelease(session=scenario.name)
    if isinstance(resolved, Streamed):
        streamed = streamed or StreamedInputs(resolved.protocol, resolved.stream)
        try:
            with contextlib.closing(streamed.open()) as batches:

                def tally(on_batch: Callable[[int], None]) -> Sequence[Tally]:
                    if sharded is not None:
                        return sharded.tally(resolved, streamed, on_batch=on_batch)
                    return tally_batches(resolved.protocol, batches, noise=noise, on_batch=on_batch)

                num_left = resolved.stream.num_left
                return run_streamed(resolved.protocol, tally=tally, num_left=num_left, noise=noise, observers=observers)
        finally:
            observers.entries.extend(streamed.entries(scenario.name))
    if scenario.transport == ARRAY:
        return run_arrays(
            resolved.protocol, inputs=resolved.inputs, noise=noise, names=resolved.names, observers=observers
        )
    mode: Mode = Simulation(scenario.name, noise, resolved.record or watched is not None)
    if scenario.noise == "secure":
        mode = Deployment(scenario.name, SecureNoise(), SessionDescriptor(draw_session_id()))
    transport = make_transport(scenario.transport)
    if watched is not None and any(role.watches_traffic for role in resolved.adversaries):
        transport = TappedTransport(transport, watched.traffic.append)
    weather: Weather | None = None
    if (faults := scenario.faults) is not None:
        of_network = {"protocol": "", "phase": "", "purpose": "network"}
        key = stream_key(seed=seed, session=scenario.name, round_number=scenario.round, **of_network)
        weather = seeded_weather(faults, key)
    context = resolved.context(seed=seed)
    deviations: dict[str, Deviation] = {}
    plugins: list[Plugin] = []
    with blaming_plugins(resolved.plugins, is_private=resolved.protocol.keeps_words):
        for role in resolved.adversaries:
            own = checked_deviations(role, context)
            deviations.update(own)
            plugins.append(Plugin(f"role {role.name!r}", (type(role), *map(type, own.values()))))
        hellos = [hello for role in resolved.adversaries for hello in checked_strangers(role, context)]
    strangers = None if not hellos else Strangers(hellos) if watched is None else Strangers(hellos, watched.attempts)
    session = functools.partial(
        run_agents,
        resolved.protocol,
        names=resolved.names,
        inputs=resolved.inputs,
        mode=mode,
        transport=transport,
        rules=resolved.rules,
        ledgers=ledgers or {name: Ledger(name, budget=scenario.budget_of_parties) for name in resolved.names},
        observers=observers if watched is None else msgspec.structs.replace(observers, views=watched.views),
        adversity=Adversity(deviations=deviations, strangers=strangers, plugins=plugins, weather=weather),
    )
    return trio.run(session, restrict_keyboard_interrupt_to_checkpoints=True)


def run_in_memory(resolved: Local, *, watched: ObservedRun | None = None) -> FinishedRun:
    """Run a scenario and write nothing; of a failed run, what adversaries learnt is among the error's notes.

    `watched` is the caller's, and gets what parties and adversaries see; needed where there are adversaries.

    Raises:
        QuorumError, ConfigurationError, PluginError, OSError: as `run_session`.
        UnheardError: nobody heard the outcome.

    Examples:
        >>> from psephos.scenarios import load_scenario, resolve
        >>> local = resolve(load_scenario("consortium", ["partners.count=5", "transport=array", "seed=7"]))
        >>> finished = run_in_memory(local)
        >>> finished.num_parties, finished.result["protocol"], len(finished.entries)
        (5, 'dpwevote', 2)
    """
    seed, entries = seed_of(resolved), list[LedgerEntry]()
    streamed = StreamedInputs(resolved.protocol, resolved.stream) if isinstance(resolved, Streamed) else None
    started = time.perf_counter()
    try:
        record = run_session(
            resolved, seed=seed, observers=SessionObservers(entries=entries), watched=watched, streamed=streamed
        )
        if (unheard := record.unheard(resolved.protocol, len(resolved.names))) is not None:
            raise unheard
    except PsephosError as error:
        for attack_report in _lessons_of_failure(resolved, error, watched, entries, seed=seed):
            error.add_note(str(attack_report))
        raise
    finished = _finished(resolved, record, entries, streamed, seconds=time.perf_counter() - started)
    if not resolved.roles or watched is None:
        return finished
    trace = _happened(record, entries, watched)
    attack_reports = _lessons_of(resolved, trace, seed=seed)
    return msgspec.structs.replace(finished, attack_reports=attack_reports, trace=(resolved.context(seed=seed), trace))


def run_in_folder(
    resolved: Local,
    folder: RunFolder,
    *,
    pictures: bool = True,
    observers: SessionObservers | None = None,
    on_failure: Callable[[Sequence[AttackReport]], None] | None = None,
    ledgers: Mapping[str, Ledger] | None = None,
    watched: ObservedRun | None = None,
    sharded: "ShardedTally | None" = None,
) -> FinishedRun:
    """Run a scenario and leave everything that came of it in a folder.

    Args:
        folder: the run's folder; temporary files of a stream are below it while that is read.
        pictures: also draw the outcome.
        observers: as for `run_session`; log and losses are the folder's. At last its `on_progress` is called with the
            name of an adversary that takes long, and how many of its steps are done and are not.
        on_failure: where the session fails, told what adversaries learnt, or did, before that is raised.
        ledgers: as for `run_session`.
        watched: the caller's, which gets what parties and adversaries see; by default there is one for adversaries.
        sharded: as for `run_session`.

    Raises:
        QuorumError, ConfigurationError, PluginError, OSError: as `run_session`; the folder then holds the scenario, the
            events, the ledger, in `run.json` the failure, and what adversaries learnt.
        UnheardError: nobody heard the outcome; the folder holds it all the same.
    """
    scenario, protocol, observers = resolved.scenario, resolved.protocol, observers or SessionObservers()
    seed = seed_of(resolved) if sharded is None else sharded.seed
    if watched is None and resolved.roles:
        watched = ObservedRun()
    is_streamed = isinstance(resolved, Streamed)
    streamed = StreamedInputs(protocol, resolved.stream, folder=folder.path) if is_streamed else None
    how = {"transport": scenario.transport, "noise": scenario.noise}
    if resolved.note and not resolved.is_real:
        how["parties"] = resolved.note
    started = time.perf_counter()
    with open_run(folder, resolved, how) as run:
        try:
            record = run_session(
                resolved,
                seed=seed,
                observers=msgspec.structs.replace(observers, log=run.log, entries=run.entries),
                watched=watched,
                streamed=streamed,
                ledgers=ledgers,
                sharded=sharded,
            )
        except PsephosError as error:
            if attack_reports := _lessons_of_failure(resolved, error, watched, run.entries, seed=seed):
                setting = setting_of(protocol, len(resolved.names))
                write_lessons(folder, attack_reports)
                if on_failure is not None:
                    on_failure(attack_reports)
            raise
        finally:
            if streamed is not None and streamed.note and not resolved.is_real:
                run.ending["parties"] = streamed.note
        if not protocol.hides_participation:  # who is without an outcome may not have taken part
            run.ending["parties_without_outcome"] = {name: str(error) for name, error in record.endings.items()}
            expected = expect_traffic(resolved) if scenario.transport == ARRAY else None
            if (traffic := traffic_of(resolved, record, expected)) is not None:
                run.ending["traffic"] = traffic
        if (unheard := record.unheard(protocol, len(resolved.names))) is not None:
            run.ending["failure"] = describe_failure(unheard)
    finished = _finished(resolved, record, run.entries, streamed, seconds=time.perf_counter() - started)
    known: Mapping[str, Any] = {"truth": finished.truth, "gold": finished.gold}
    title = scenario.title or scenario.name
    setting = setting_of(protocol, finished.num_parties)
    write_outcome(folder, record.outcome, finished.result, title=title, setting=setting, **known, pictures=pictures)
    _write_details(folder, resolved)
    if resolved.record:
        folder.write_recording(_recording(resolved, seed=seed), record.views)
    if resolved.roles and watched is not None:
        trace = _happened(record, run.entries, watched)
        attack_reports = _lessons_of(resolved, trace, seed=seed, on_progress=observers.on_progress)
        if resolved.adversaries:
            write_lessons(folder, attack_reports)
        finished = msgspec.structs.replace(
            finished, attack_reports=attack_reports, trace=(resolved.context(seed=seed), trace)
        )
    if unheard is not None:
        if on_failure is not None:
            on_failure(finished.attack_reports)
        raise unheard
    return finished


def _write_details(folder: RunFolder, resolved: Local) -> None:
    """Write what a system tells of parties that are nobody's secret."""
    details: Details | None = part_of(type(resolved.protocol), "details", Callable)
    if details is not None and resolved.may_show_truth:
        for name, rows in details(resolved).items():
            folder.write_table(name, rows)


def seed_of(resolved: Local) -> int:
    """Return the scenario's seed, or else one that nobody is told.

    Examples:
        >>> from psephos.scenarios import load_scenario, resolve
        >>> seed_of(resolve(load_scenario("consortium", ["seed=7"])))
        7
    """
    seed = resolved.scenario.seed
    return secrets.randbits(_SEED_BITS) if seed is None else seed


def _finished(
    resolved: Local,
    record: SessionRecord,
    entries: Sequence[LedgerEntry],
    streamed: StreamedInputs | None,
    *,
    seconds: float,
) -> FinishedRun:
    """Return what a run came to, before adversaries conclude."""
    truth = checked_truth(resolved.protocol, resolved.inputs) if resolved.may_show_truth else None
    num_parties = len(resolved.names) if streamed is None else streamed.num_parties
    return FinishedRun(
        record=record,
        result=result_of(resolved, record, num_parties=num_parties, truth=truth),
        truth=truth,
        gold=resolved.gold or None,
        seconds=seconds,
        num_parties=num_parties,
        note="" if streamed is None else streamed.note,
        entries=entries,
    )


def _happened(record: SessionRecord, entries: Sequence[LedgerEntry], watched: ObservedRun) -> SessionTrace:
    """Return what a session that came to its end left for adversaries."""
    return SessionTrace(
        views=watched.views,
        traffic=watched.traffic,
        tallies=record.tallies,
        outcome=record.outcome,
        entries=entries,
        endings=record.endings,
        attempts=watched.attempts,
    )


def _lessons_of(
    resolved: Local, trace: SessionTrace, *, seed: int, on_progress: Callable[[str, int, int], None] | None = None
) -> Sequence[AttackReport]:
    """Let adversaries conclude."""
    context = resolved.context(seed=seed)
    attack_reports: list[AttackReport] = []
    with blaming_plugins(resolved.plugins, is_private=resolved.protocol.keeps_words):
        for role in resolved.adversaries:
            if on_progress is not None:

                def on_step(done: int, total: int, name: str = role.name) -> None:
                    on_progress(name, done, total - done)

                trace = dataclasses.replace(trace, on_step=on_step)
            attack_reports.append(checked_lesson(role, context, trace))
    return attack_reports


def _lessons_of_failure(
    resolved: Local, error: PsephosError, watched: ObservedRun | None, entries: Sequence[LedgerEntry], *, seed: int
) -> Sequence[AttackReport]:
    """Let adversaries conclude from a session that failed; from one that did not begin, nothing."""
    if not resolved.adversaries or watched is None or not watched.views:
        return ()
    trace = SessionTrace(
        views=watched.views, traffic=watched.traffic, entries=entries, failure=error, attempts=watched.attempts
    )
    return _lessons_of(resolved, trace, seed=seed)


def write_lessons(folder: RunFolder, attack_reports: Sequence[AttackReport]) -> None:
    """Write what adversaries learnt, or did: `adversaries.json`, and of each a table."""
    folder.write_json("adversaries.json", [written_lesson(attack_report) for attack_report in attack_reports])
    for number, attack_report in enumerate(attack_reports, start=1):
        if attack_report.rows:
            folder.write_table(f"adversary-{number}.csv", attack_report.rows)


def _recording(resolved: Local, *, seed: int) -> dict[str, Any]:
    """Return what only the private folder may hold."""
    # What each number of a private row is for: the phase that reports it, and which of its values it is.
    columns = ["not reported"] * resolved.inputs.private.shape[1]
    for phase in resolved.protocol.phases:
        for number, place in enumerate(range(len(columns))[phase.columns], start=1):
            columns[place] = phase.name if phase.num_values == 1 else f"{phase.name} {number}"
    return {
        "seed": str(seed),
        "parties": list(resolved.names),
        "private_rows": resolved.inputs.private.tolist(),
        "columns": columns,
        "public_rows": resolved.inputs.public.tolist(),
        "truth": checked_truth(resolved.protocol, resolved.inputs),
    }
