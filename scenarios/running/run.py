"""Run a resolved scenario, and write its results into a folder."""

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
from ..adversaries.reading import check_attack_report, check_deviations, check_strangers
from ..adversaries.role import AttackContext, AttackReport, SessionTrace
from ..plugins import ARRAY, make_transport
from ..presentation import attack_report_to_dict
from ..system import part_of
from .folder import RunFolder
from .plugin_errors import Plugin, blame_plugins
from .resolution import Local, Streamed
from .results import expect_traffic, result_of, traffic_of
from .session import Adversity, SessionObservers, SessionRecord, Strangers, run_agents, run_arrays, run_streamed
from .statements import setting_of
from .streams import StreamedInputs
from .writing import describe_failure, open_run, write_outcome

if TYPE_CHECKING:
    from .shards import ShardedTally  # avoids importing the cluster's dependencies in every run

Details = Callable[[Local], Mapping[str, Sequence[Mapping[str, Any]]]]
"""A system's part: maps a run with public or synthetic parties to rows of tables, by file name."""
_SEED_BITS: Final = 128


@dataclasses.dataclass
class ObservedRun:
    """What adversaries observe of a run, recorded in order."""

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

    record: SessionRecord  # the session's results
    result: Mapping[str, Any]  # the content of `result.json`
    truth: Truth | None  # true values of the estimates, if they may be shown
    gold: Mapping[str, str] | None  # values of a gold standard; None if there is none
    seconds: float  # duration of the session
    num_parties: int  # number of parties
    note: str = ""  # a line on skipped or merged rows of a stream
    attack_reports: Sequence[AttackReport] = ()  # reports of its adversaries
    # Context and trace of the adversaries; None if there are none.
    trace: tuple[AttackContext, SessionTrace] | None = None
    entries: Sequence[LedgerEntry] = ()  # all privacy losses, also of streamed parties


def run_session(
    setup: Local,
    *,
    seed: int,
    observers: SessionObservers | None = None,
    observed_run: ObservedRun | None = None,
    streamed_inputs: StreamedInputs | None = None,
    ledgers: Mapping[str, Ledger] | None = None,
    sharded: "ShardedTally | None" = None,
) -> SessionRecord:
    """Run a resolved scenario's session on the path that it names.

    Args:
        seed: the seed of simulated noise; unused with secure noise.
        observers: observers, which also receive the results; its views are those of `observed_run`, if given.
        observed_run: receives what adversaries observe, also if the session fails.
        streamed_inputs: records the progress of a stream.
        ledgers: the parties' ledgers by name, if they have earlier losses (agents only).
        sharded: tallies a stream; by default it is tallied in this process, batch by batch.

    Raises:
        QuorumError: a phase closed without its quorum.
        ConfigurationError: the system has too few file descriptors.
        PluginError: as `run_agents` and `run_arrays`; also if an adversary's code raises an exception.
        OSError: the network fails.

    Examples:
        >>> from psephos.scenarios import load_scenario, resolve
        >>> local = resolve(load_scenario("consortium", ["partners.count=5", "transport=array"]))
        >>> run_session(local, seed=7).num_received
        (5, 5)
    """
    scenario, observers = setup.scenario, observers or SessionObservers()
    noise = SimulatedNoise(seed, session=scenario.name, round_number=scenario.round)
    if scenario.noise == "secure" and scenario.transport == ARRAY:
        noise = SecureRelease(session=scenario.name)
    if isinstance(setup, Streamed):
        streamed_inputs = streamed_inputs or StreamedInputs(setup.protocol, setup.stream)
        try:
            with contextlib.closing(streamed_inputs.open()) as batches:

                def tally(on_batch: Callable[[int], None]) -> Sequence[Tally]:
                    if sharded is not None:
                        return sharded.tally(setup, streamed_inputs, on_batch=on_batch)
                    return tally_batches(setup.protocol, batches, noise=noise, on_batch=on_batch)

                num_left = setup.stream.num_left
                return run_streamed(setup.protocol, tally=tally, num_left=num_left, noise=noise, observers=observers)
        finally:
            observers.entries.extend(streamed_inputs.entries(scenario.name))
    if scenario.transport == ARRAY:
        return run_arrays(setup.protocol, inputs=setup.inputs, noise=noise, names=setup.names, observers=observers)
    mode: Mode = Simulation(scenario.name, noise, setup.record or observed_run is not None)
    if scenario.noise == "secure":
        mode = Deployment(scenario.name, SecureNoise(), SessionDescriptor(draw_session_id()))
    transport = make_transport(scenario.transport)
    if observed_run is not None and any(role.watches_traffic for role in setup.adversaries):
        transport = TappedTransport(transport, observed_run.traffic.append)
    weather: Weather | None = None
    if (faults := scenario.faults) is not None:
        of_network = {"protocol": "", "phase": "", "purpose": "network"}
        key = stream_key(seed=seed, session=scenario.name, round_number=scenario.round, **of_network)
        weather = seeded_weather(faults, key)
    context = setup.context(seed=seed)
    deviations: dict[str, Deviation] = {}
    plugins: list[Plugin] = []
    with blame_plugins(setup.plugins, is_private=setup.protocol.keeps_words):
        for role in setup.adversaries:
            role_deviations = check_deviations(role, context)
            deviations.update(role_deviations)
            plugins.append(Plugin(f"role {role.name!r}", (type(role), *map(type, role_deviations.values()))))
        hellos = [hello for role in setup.adversaries for hello in check_strangers(role, context)]
    strangers = (
        None if not hellos else Strangers(hellos) if observed_run is None else Strangers(hellos, observed_run.attempts)
    )
    session = functools.partial(
        run_agents,
        setup.protocol,
        names=setup.names,
        inputs=setup.inputs,
        mode=mode,
        transport=transport,
        rules=setup.rules,
        ledgers=ledgers or {name: Ledger(name, budget=scenario.budget_of_parties) for name in setup.names},
        observers=observers if observed_run is None else msgspec.structs.replace(observers, views=observed_run.views),
        adversity=Adversity(deviations=deviations, strangers=strangers, plugins=plugins, weather=weather),
    )
    return trio.run(session, restrict_keyboard_interrupt_to_checkpoints=True)


def run_in_memory(setup: Local, *, observed_run: ObservedRun | None = None) -> FinishedRun:
    """Run a scenario without writing anything; after a failure, adversaries' reports are in the error's notes.

    `observed_run` receives what parties and adversaries observe; it is required if there are adversaries.

    Raises:
        QuorumError, ConfigurationError, PluginError, OSError: as `run_session`.
        UnheardError: no party received the outcome.

    Examples:
        >>> from psephos.scenarios import load_scenario, resolve
        >>> local = resolve(load_scenario("consortium", ["partners.count=5", "transport=array", "seed=7"]))
        >>> finished = run_in_memory(local)
        >>> finished.num_parties, finished.result["protocol"], len(finished.entries)
        (5, 'dpwevote', 2)
    """
    seed, entries = seed_of(setup), list[LedgerEntry]()
    streamed_inputs = StreamedInputs(setup.protocol, setup.stream) if isinstance(setup, Streamed) else None
    started_at = time.perf_counter()
    try:
        record = run_session(
            setup,
            seed=seed,
            observers=SessionObservers(entries=entries),
            observed_run=observed_run,
            streamed_inputs=streamed_inputs,
        )
        if (unheard_error := record.unheard(setup.protocol, len(setup.names))) is not None:
            raise unheard_error
    except PsephosError as error:
        for attack_report in _lessons_of_failure(setup, error, observed_run, entries, seed=seed):
            error.add_note(str(attack_report))
        raise
    finished_run = _finished(setup, record, entries, streamed_inputs, seconds=time.perf_counter() - started_at)
    if not setup.roles or observed_run is None:
        return finished_run
    trace = _make_trace(record, entries, observed_run)
    attack_reports = _lessons_of(setup, trace, seed=seed)
    return msgspec.structs.replace(finished_run, attack_reports=attack_reports, trace=(setup.context(seed=seed), trace))


def run_in_folder(
    setup: Local,
    folder: RunFolder,
    *,
    pictures: bool = True,
    observers: SessionObservers | None = None,
    on_failure: Callable[[Sequence[AttackReport]], None] | None = None,
    ledgers: Mapping[str, Ledger] | None = None,
    observed_run: ObservedRun | None = None,
    sharded: "ShardedTally | None" = None,
) -> FinishedRun:
    """Run a scenario, and write all results into a folder.

    Args:
        folder: the run's folder; temporary files of a stream are below it.
        pictures: whether to draw the outcome.
        observers: as in `run_session`; log and losses are written to the folder. At the end, `on_progress` is called
            with the name of a slow adversary, and its numbers of completed and remaining steps.
        on_failure: called with adversaries' reports before a session's failure is raised.
        ledgers: as for `run_session`.
        observed_run: receives what parties and adversaries observe; by default created if there are adversaries.
        sharded: as for `run_session`.

    Raises:
        QuorumError, ConfigurationError, PluginError, OSError: as `run_session`; the folder then has the scenario, the
            events, the ledger, the failure in `run.json`, and adversaries' reports.
        UnheardError: no party received the outcome; the folder has it nevertheless.
    """
    scenario, protocol, observers = setup.scenario, setup.protocol, observers or SessionObservers()
    seed = seed_of(setup) if sharded is None else sharded.seed
    if observed_run is None and setup.roles:
        observed_run = ObservedRun()
    is_streamed = isinstance(setup, Streamed)
    streamed_inputs = StreamedInputs(protocol, setup.stream, folder=folder.path) if is_streamed else None
    run_facts = {"transport": scenario.transport, "noise": scenario.noise}
    if setup.note and not setup.is_real:
        run_facts["parties"] = setup.note
    started_at = time.perf_counter()
    with open_run(folder, setup, run_facts) as run:
        try:
            record = run_session(
                setup,
                seed=seed,
                observers=msgspec.structs.replace(observers, log=run.log, entries=run.entries),
                observed_run=observed_run,
                streamed_inputs=streamed_inputs,
                ledgers=ledgers,
                sharded=sharded,
            )
        except PsephosError as error:
            if attack_reports := _lessons_of_failure(setup, error, observed_run, run.entries, seed=seed):
                setting = setting_of(protocol, len(setup.names))
                write_lessons(folder, attack_reports)
                if on_failure is not None:
                    on_failure(attack_reports)
            raise
        finally:
            if streamed_inputs is not None and streamed_inputs.note and not setup.is_real:
                run.ending["parties"] = streamed_inputs.note
        if not protocol.hides_participation:  # otherwise the list would reveal who took part
            run.ending["parties_without_outcome"] = {name: str(error) for name, error in record.endings.items()}
            expected = expect_traffic(setup) if scenario.transport == ARRAY else None
            if (traffic := traffic_of(setup, record, expected)) is not None:
                run.ending["traffic"] = traffic
        if (unheard_error := record.unheard(protocol, len(setup.names))) is not None:
            run.ending["failure"] = describe_failure(unheard_error)
    finished_run = _finished(setup, record, run.entries, streamed_inputs, seconds=time.perf_counter() - started_at)
    known_values: Mapping[str, Any] = {"truth": finished_run.truth, "gold": finished_run.gold}
    title = scenario.title or scenario.name
    setting = setting_of(protocol, finished_run.num_parties)
    write_outcome(
        folder, record.outcome, finished_run.result, title=title, setting=setting, **known_values, pictures=pictures
    )
    _write_details(folder, setup)
    if setup.record:
        folder.write_recording(_private_record(setup, seed=seed), record.views)
    if setup.roles and observed_run is not None:
        trace = _make_trace(record, run.entries, observed_run)
        attack_reports = _lessons_of(setup, trace, seed=seed, on_progress=observers.on_progress)
        if setup.adversaries:
            write_lessons(folder, attack_reports)
        finished_run = msgspec.structs.replace(
            finished_run, attack_reports=attack_reports, trace=(setup.context(seed=seed), trace)
        )
    if unheard_error is not None:
        if on_failure is not None:
            on_failure(finished_run.attack_reports)
        raise unheard_error
    return finished_run


def _write_details(folder: RunFolder, setup: Local) -> None:
    """Write a system's tables of public or synthetic parties."""
    details: Details | None = part_of(type(setup.protocol), "details", Callable)
    if details is not None and setup.may_show_truth:
        for name, rows in details(setup).items():
            folder.write_table(name, rows)


def seed_of(setup: Local) -> int:
    """Return the scenario's seed, or else a new secret one.

    Examples:
        >>> from psephos.scenarios import load_scenario, resolve
        >>> seed_of(resolve(load_scenario("consortium", ["seed=7"])))
        7
    """
    seed = setup.scenario.seed
    return secrets.randbits(_SEED_BITS) if seed is None else seed


def _finished(
    setup: Local,
    record: SessionRecord,
    entries: Sequence[LedgerEntry],
    streamed_inputs: StreamedInputs | None,
    *,
    seconds: float,
) -> FinishedRun:
    """Return a finished run without adversaries' reports."""
    truth = checked_truth(setup.protocol, setup.inputs) if setup.may_show_truth else None
    num_parties = len(setup.names) if streamed_inputs is None else streamed_inputs.num_parties
    return FinishedRun(
        record=record,
        result=result_of(setup, record, num_parties=num_parties, truth=truth),
        truth=truth,
        gold=setup.gold or None,
        seconds=seconds,
        num_parties=num_parties,
        note="" if streamed_inputs is None else streamed_inputs.note,
        entries=entries,
    )


def _make_trace(record: SessionRecord, entries: Sequence[LedgerEntry], observed_run: ObservedRun) -> SessionTrace:
    """Return the trace of a completed session for adversaries."""
    return SessionTrace(
        views=observed_run.views,
        traffic=observed_run.traffic,
        tallies=record.tallies,
        outcome=record.outcome,
        entries=entries,
        endings=record.endings,
        attempts=observed_run.attempts,
    )


def _lessons_of(
    setup: Local, trace: SessionTrace, *, seed: int, on_progress: Callable[[str, int, int], None] | None = None
) -> Sequence[AttackReport]:
    """Return the adversaries' reports."""
    context = setup.context(seed=seed)
    attack_reports: list[AttackReport] = []
    with blame_plugins(setup.plugins, is_private=setup.protocol.keeps_words):
        for role in setup.adversaries:
            if on_progress is not None:

                def on_step(done: int, total: int, name: str = role.name) -> None:
                    on_progress(name, done, total - done)

                trace = dataclasses.replace(trace, on_step=on_step)
            attack_reports.append(check_attack_report(role, context, trace))
    return attack_reports


def _lessons_of_failure(
    setup: Local, error: PsephosError, observed_run: ObservedRun | None, entries: Sequence[LedgerEntry], *, seed: int
) -> Sequence[AttackReport]:
    """Return the adversaries' reports on a failed session; none if it did not begin."""
    if not setup.adversaries or observed_run is None or not observed_run.views:
        return ()
    trace = SessionTrace(
        views=observed_run.views,
        traffic=observed_run.traffic,
        entries=entries,
        failure=error,
        attempts=observed_run.attempts,
    )
    return _lessons_of(setup, trace, seed=seed)


def write_lessons(folder: RunFolder, attack_reports: Sequence[AttackReport]) -> None:
    """Write adversaries' reports: `adversaries.json`, and a table for each."""
    folder.write_json("adversaries.json", [attack_report_to_dict(attack_report) for attack_report in attack_reports])
    for number, attack_report in enumerate(attack_reports, start=1):
        if attack_report.rows:
            folder.write_table(f"adversary-{number}.csv", attack_report.rows)


def _private_record(setup: Local, *, seed: int) -> dict[str, Any]:
    """Return the content of the private folder."""
    # The meaning of each number in a private row: the phase that reports it, and its index there.
    columns = ["not reported"] * setup.inputs.private.shape[1]
    for phase in setup.protocol.phases:
        for number, place in enumerate(range(len(columns))[phase.columns], start=1):
            columns[place] = phase.name if phase.num_values == 1 else f"{phase.name} {number}"
    return {
        "seed": str(seed),
        "parties": list(setup.names),
        "private_rows": setup.inputs.private.tolist(),
        "columns": columns,
        "public_rows": setup.inputs.public.tolist(),
        "truth": checked_truth(setup.protocol, setup.inputs),
    }
