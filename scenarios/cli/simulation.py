"""`run`, `scenarios` and `ledger`: simulate sessions in one process, and show their results."""

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from .group import cli
from .options import (
    cluster_option,
    json_option,
    load,
    make_folder,
    out_option,
    pictures_option,
    print_json,
    resume_option,
    scenario_options,
    tell_folder,
    witness_option,
)
from .reports import command_of_context, leave_page, report_option

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager

    from rich.console import Console
    from rich.text import Text

    from ...protocol.privacy import LedgerEntry
    from ..adversaries import AttackReport
    from ..running.folder import RunFolder
    from ..running.resolution import Local
    from ..running.run import FinishedRun
    from ..running.series import Series
    from ..running.shards import ShardedTally


class _How(NamedTuple):
    """How a run is reported."""

    as_json: bool
    verbose: bool
    pictures: bool
    with_report: bool


@cli.command(short_help="Run a scenario: a shipped one, or your own file.")
@scenario_options
@click.option(
    "--transport",
    metavar="NAME",
    help="memory, tcp or tls (with agents), or array (without agents); results are equal.",
)
@click.option("--seed", type=click.IntRange(min=0), help="The seed of the simulated noise.")
@cluster_option
@out_option
@resume_option
@json_option("result.json")
@click.option("--record", is_flag=True, help="Also write the seed, inputs, truth and views (simulations only).")
@pictures_option("the outcome")
@report_option
@click.option(
    "--verbose", is_flag=True, help="Print all tables, every privacy loss, whom to trust, and the course of the run."
)
def run(
    scenario: str,
    transport: str | None,
    seed: int | None,
    settings: tuple[str, ...],
    data: str | None,
    cluster: str | None,
    out: Path | None,
    resume: Path | None,
    *,
    as_json: bool,
    record: bool,
    pictures: bool,
    with_report: bool,
    verbose: bool,
) -> None:
    """Run SCENARIO, a name from `psephos scenarios` or a TOML file.

    All parties run in this one process. You can also run the `scenario.json` in a run's folder again. It leaves out
    parties whose values were in your file: name the file with --set partners=FILE.

    \b
    psephos run eu-council --transport tcp
    psephos run consortium --set epsilon=2 --set variant=printed
    psephos run consortium --set partners=mine.csv --seed 7 --json

    A CSV of partners has the header partner,weight,<candidate>,... and a line for each partner. Its candidates
    replace the scenario's. A file with [[votes]] is a series: its votes run one after another, with one ledger for each
    person.
    """  # noqa: D301  the character makes click keep the lines
    from ..running.plugin_errors import blame_plugins
    from ..running.resolution import resolve
    from ..running.series import is_series

    display = _How(as_json, verbose, pictures, with_report)
    overrides = [f"transport={transport}"] * (transport is not None) + [f"seed={seed}"] * (seed is not None)
    if resume is not None and cluster is None:
        raise click.UsageError(
            "--resume goes with --cluster: other runs keep nothing to continue. Run it again without --resume"
        )
    if is_series(scenario, settings):
        if cluster is not None:
            raise click.UsageError("--cluster is for a single vote: leave it out of a series")
        _run_series(scenario, (*overrides, *settings), data, out, display, record=record)
        return
    setup = resolve(load(scenario, (*overrides, *settings), data), record=record)
    with blame_plugins(setup.list_plugins, is_private=setup.protocol.keeps_words, is_last=True):
        if cluster is None:
            _run(setup, make_folder(out, setup.scenario.name), display)
        else:
            _run_shared(setup, display, cluster=cluster, seed=seed, out=out, resume=resume)


def _run_shared(
    setup: "Local", display: _How, *, cluster: str, seed: int | None, out: Path | None, resume: Path | None
) -> None:
    """Run on a cluster, from the start or from where an earlier run was interrupted."""
    from ..running.cluster import open_cluster
    from ..running.journaling import seed_in
    from ..running.run import seed_of
    from ..running.shards import ShardedTally, check_sharded

    check_sharded(setup)
    folder = make_folder(out, setup.scenario.name, resume=resume)
    with open_cluster(cluster) as pool:
        if seed is None:
            seed = seed_of(setup) if resume is None else seed_in(resume)
        sharded = ShardedTally(setup, pool, folder.path, seed=seed, resumes=resume is not None)
        with contextlib.closing(sharded.journal):
            _run(setup, folder, display, sharded=sharded)
            sharded.journal.drop()


@cli.command(short_help="List the shipped scenarios and the data that some need.")
def scenarios() -> None:
    """List the scenarios that come with Psephos, and the data that some of them need."""
    from ..datasets import DATA_VARIABLE, data_set_of
    from ..presentation import make_console
    from ..running.config import list_scenarios, list_series, load_scenario
    from ..running.report import show_scenarios
    from ..running.series import load_series

    loaded_scenarios = [load_scenario(name) for name in list_scenarios()]
    needs = {
        each.name: str(each.parties.get("data", "")) for each in loaded_scenarios if isinstance(each.parties, dict)
    }
    data_sets = {name: data_set_of(name) for name in sorted({*needs.values()} - {""})}
    show_scenarios(
        make_console(),
        (
            (each.name, each.protocol, each.title, needs.get(each.name, ""))
            for each in (*loaded_scenarios, *map(load_series, list_series()))
        ),
        origins={name: data_set.origin for name, data_set in data_sets.items() if data_set is not None},
        variable=DATA_VARIABLE,
    )


@cli.command(short_help="Show the privacy that each person has spent.")
@click.argument("runs", type=click.Path(path_type=Path), nargs=-1, metavar="[RUN]...")
@click.option("--party", metavar="NAME", help="Show only the entries of this party.")
@click.option("--delta", type=float, help="Also show the total epsilon at this delta, by tighter composition.")
@witness_option
@click.option("--json", "as_json", is_flag=True, help="Print the entries as JSON lines.")
def ledger(
    runs: tuple[Path, ...], party: str | None, delta: float | None, witness: Path | None, *, as_json: bool
) -> None:
    """Show the privacy that each person has spent.

    RUN is a run's folder, a person's journal, or a host's journal (or the folder of its host.sqlite). A journal covers
    all sessions, also one that is still running or was killed. With several folders, losses of the same name add up.
    Without RUN it shows your journal (PSEPHOS_JOURNAL, or your user's own).
    """
    from ..presentation import make_console
    from ..running.folder import to_json
    from ..running.ledgers import entries_of, summarize_ledgers
    from ..running.report import show_ledger
    from .journal import show_journal

    if as_json and delta is not None:
        raise click.UsageError("--delta is for the table: leave it out with --json")
    console = make_console()
    journal_name = os.environ.get("PSEPHOS_JOURNAL")
    run = next(iter(runs), Path(journal_name) if journal_name else None)
    journal = None if len(runs) > 1 else _journal_in(run, party)
    if journal is not None:
        entries = all_entries = show_journal(None if as_json else console, journal, witness=witness, party=party)
        # All entries belong to one person, under every name, or to the given party.
        party, num_alike = None, dict[str, int]()
    else:
        folders = runs if len(runs) > 1 else (Path() if run is None else run,)
        summary = summarize_ledgers(folders, party=party)
        entries, num_alike, all_entries = summary.entries, summary.num_alike, entries_of(folders)
        _check_party(party, entries)
    if not entries:
        click.echo("the ledger is empty: nothing was reported")
    elif as_json:
        for entry in all_entries:
            if party in {None, entry.person}:
                click.echo(to_json(entry))
    else:
        show_ledger(console, entries, party=party, delta=delta, num_alike=num_alike)


def _journal_in(run: Path | None, party: str | None) -> Path | None:
    """Return the requested journal: a file, a party's or host's in a folder, or the user's default journal."""
    from ..deployment.journals import HOST_FILE, journal_file

    if run is None or run.is_file() or (run.suffix and not run.exists()):  # a missing path with a suffix is a file
        return journal_file(run, party="")
    candidates = (run / HOST_FILE,) if party is None else (journal_file(run, party=party), run / HOST_FILE)
    return next(filter(Path.is_file, candidates), None)


def _check_party(party: str | None, entries: "Sequence[LedgerEntry]") -> None:
    from ...protocol.errors import ConfigurationError, did_you_mean

    if party is not None and all(entry.person != party for entry in entries):
        hint = did_you_mean(party, {entry.person for entry in entries})
        allowed = f"There is no entry of {party!r} in this ledger{hint}. Check the name."
        if any(entry.num_persons > 1 for entry in entries):
            allowed = "left out: this run, by arrays, kept one line of each loss for all parties"
        raise ConfigurationError(field="--party", value=party, allowed=allowed)


def _run(setup: "Local", folder: "RunFolder", display: _How, *, sharded: "ShardedTally | None" = None) -> None:
    from ..presentation import make_console, show_lesson, show_verdict
    from ..running.progress import watch
    from ..running.record import SessionObservers
    from ..running.run import run_in_folder

    console, errors = make_console(), make_console(stderr=True)
    title = setup.scenario.title or setup.scenario.name
    num_warned = _begin(console, errors, title, _facts_of(setup), [setup], display)

    def tell(attack_reports: "Sequence[AttackReport]") -> None:
        if not display.as_json:
            _show_trust(console, setup)
            for attack_report in attack_reports:
                show_lesson(console, attack_report)

    shown_console = console if display.verbose and not display.as_json else None
    with (
        leave_page(folder, is_wanted=display.with_report),
        watch(console=shown_console, errors=errors) as watcher,
    ):
        result = run_in_folder(
            setup,
            folder,
            pictures=display.pictures,
            observers=SessionObservers(listener=watcher.on_effect, on_progress=watcher.poll),
            on_failure=tell,
            sharded=sharded,
        )
    if display.as_json:
        print_json(result.result)
    elif display.verbose:
        _show_end(console, setup, result)
        tell(result.attack_reports)
        tell_folder(console, folder)
        if console.is_terminal:
            show_verdict(console, result.record.outcome)
    else:
        _show_briefly(console, setup, result, folder, num_above=num_warned)
    _check_refuted(result.attack_reports)


def _check_refuted(attack_reports: "Iterable[AttackReport]") -> None:
    """Raise RefutedLedgerError if an exact attack exceeded a bound that the ledger calls proven."""
    from ...protocol.errors import RefutedLedgerError

    for attack_report in attack_reports:
        if attack_report.refutes_ledger:
            raise RefutedLedgerError(attack_report.who)


def _run_series(
    source: str, settings: tuple[str, ...], data: str | None, out: Path | None, display: _How, *, record: bool
) -> None:
    from ..presentation import make_console, show_lesson
    from ..presentation.terminal import lines_of, show_note
    from ..running.plugin_errors import blame_plugins
    from ..running.progress import Watcher, watch
    from ..running.series import load_series
    from ..running.series_run import resolve_series, run_series
    from ..running.series_shown import draw_series, show_losses, show_series_verdict, show_votes

    series = load_series(source, settings, data=data)
    setups = resolve_series(series, record=record)
    console, errors = make_console(), make_console(stderr=True)
    facts = _facts_of_series(series, setups[0])
    num_warned = _begin(console, errors, series.title, facts, setups, display, is_series=True)

    def watch_vote(side: "Local") -> "AbstractContextManager[Watcher]":
        del side
        return watch(console=None, errors=errors)

    with blame_plugins(setups[0].list_plugins, is_private=setups[0].protocol.keeps_words, is_last=True):
        folder = make_folder(out, series.name)
        with leave_page(folder, is_wanted=display.with_report, command=command_of_context(has_secret_seed=True)):
            result = run_series(series, setups, folder, pictures=display.pictures, watch_vote=watch_vote)
            if display.pictures:
                draw_series(series, result, folder=folder.path)
        attack_reports = [
            attack_report
            for vote_result in result.held
            if vote_result.finished is not None
            for attack_report in vote_result.finished.attack_reports
        ]
        if display.as_json:
            print_json(result.result)
            _check_refuted(attack_reports)
            return

        def show_rest() -> None:
            show_losses(console, series, result, is_brief=not display.verbose)
            _show_trust_of_series(console, series, setups, is_brief=not display.verbose)
            for attack_report in result.attack_reports if display.verbose else ():
                show_lesson(console, attack_report)
            if any(side.adversaries for side in setups):
                show_note(console, "What adversaries learnt of single votes is in the votes' folders.")
            tell_folder(console, folder, is_brief=not display.verbose)

        verdict_lines = lines_of(console, lambda: show_series_verdict(console, series, result.held))
        lines = lines_of(console, lambda: show_votes(console, series, result.held))
        _print_with_verdict(console, verdict_lines, [*lines, *lines_of(console, show_rest)], num_above=1 + num_warned)
    _check_refuted(attack_reports)


def _facts_of_series(series: "Series", first: "Local") -> list[str]:
    """Return a series' facts: its number of votes, and how they are run."""
    transport, number = first.scenario.transport, len(series.votes)
    return [
        f"{number:,} vote{'' if number == 1 else 's'}",
        f"protocol {first.protocol.name}",
        {"array": "arrays, no agents"}.get(transport, f"agents over {transport}"),
        f"{first.scenario.noise} noise",
    ]


def _show_trust_of_series(console: "Console", series: "Series", votes: "Sequence[Local]", *, is_brief: bool) -> None:
    """Print the trust statement and the subject of a series."""
    from ..presentation.terminal import show_label
    from ..running.series_run import facts_of_votes, say_allowance
    from ..running.statements import model_of, trust_of

    sentence = trust_of(facts_of_votes(votes))
    if is_brief:
        show_label(console, "Trust", sentence[0], is_apart=False)
        return
    limit = say_allowance(series) or "what votes cost adds up, without a limit"
    limit_sentence = f"Over the series: {limit}."
    differ = len({model_of(vote.protocol) for vote in votes}) > 1
    scope = "In one vote, and in others less:" if differ else "In each vote:"
    show_label(console, "Trust", " ".join([scope, *sentence, votes[0].scenario.trust_note, limit_sentence]))
    show_label(console, "About", series.description)


def _begin(
    console: "Console",
    errors: "Console",
    title: str,
    facts: "Sequence[str]",
    sides: "Sequence[Local]",
    display: _How,
    *,
    is_series: bool = False,
) -> int:
    """Print what is run, and warnings on its accuracy; return how many lines the warnings took."""
    from rich.text import Text

    from ..presentation.terminal import lines_of
    from ..running.report import show_heading

    if display.verbose and not display.as_json:
        show_heading(console, title=title, facts=facts, description="", trust="")
    elif not display.as_json:
        console.print(Text(title, style="bold"))
    is_brief = not (is_series or display.verbose or display.as_json)
    warned = lines_of(console, lambda: _warn(console, sides, is_brief=is_brief))
    for line in warned:
        (errors if display.as_json else console).print(line)
    return len(warned)


def _warn(console: "Console", sides: "Sequence[Local]", *, is_brief: bool) -> None:
    """Print warnings on the sessions' accuracy; for a series in short, once for equal votes."""
    from ..presentation.numbers import join_words
    from ..presentation.terminal import show_note
    from ..running.forecasts import forecast

    warned_sides = dict[tuple[str, int, bytes], str]()
    names = dict[str, list[str]]()
    for side in sides:
        equality_key = repr(side.protocol.parameters), len(side.inputs), side.inputs.public.tobytes()
        if equality_key not in warned_sides:
            warned_sides[equality_key] = forecast(side.protocol, side.inputs, is_brief=is_brief)
        names.setdefault(warned_sides[equality_key], []).append(side.scenario.title or side.scenario.name)
    names.pop("", None)
    for sentence, names_of_sentence in names.items():
        line = (
            sentence
            if len(sides) == 1
            else f"{join_words(names_of_sentence)}: {sentence.partition(': closer')[0].rstrip('.')}."
        )
        show_note(console, line, style="yellow")


def _facts_of(setup: "Local", *, verbose: bool = True) -> list[str]:
    """Return a run's facts: parties, protocol and transport."""
    scenario, protocol, way = setup.scenario, setup.protocol, setup.scenario.transport
    return [
        setup.parties,
        f"protocol {protocol.name}",
        *([f"variant {name}"] if (name := getattr(protocol.parameters, "variant", "")) else []),
        *([{"array": "arrays, no agents"}.get(way, f"agents over {way}")] * verbose),
        f"{scenario.noise} noise",
    ]


def _show_briefly(
    console: "Console", setup: "Local", result: "FinishedRun", folder: "RunFolder", *, num_above: int
) -> None:
    """Print a run's main results within a number of lines."""
    from rich.text import Text

    from ..presentation import show_outcome, show_verdict
    from ..presentation.terminal import lines_of, show_label, show_note
    from ..running.report import show_privacy
    from ..running.session_facts import about
    from ..running.statements import trust_of

    protocol, outcome = setup.protocol, result.record.outcome

    def show_rest() -> None:
        for note in filter(None, (setup.note, result.note)):
            show_note(console, note)
        if not protocol.hides_participation and (missing := len(result.record.endings)):
            show_note(console, f"{missing:,} of {result.num_parties:,} did not hear the outcome", style="yellow")
        show_privacy(console, protocol, is_brief=True)
        show_label(console, "Trust", trust_of(about(protocol))[0], is_apart=False)
        for attack_report in result.attack_reports:
            sentence = " ".join(attack_report.sentences[:1])
            show_label(console, f"Adversary {attack_report.role}", sentence, is_apart=False)
        tell_folder(console, folder, is_brief=True)

    facts = Text(" · ".join(_facts_of(setup, verbose=False)), style="cyan")
    title = Text(setup.scenario.title or setup.scenario.name)
    num_above += len(lines_of(console, lambda: console.print(title, facts, "", sep="\n")))
    truth, gold = result.truth, result.gold
    lines = lines_of(console, lambda: show_outcome(console, outcome, truth=truth, gold=gold, is_brief=True))
    lines_below, lines_said = (
        lines_of(console, show_rest),
        lines_of(console, lambda: show_verdict(console, outcome))[:-1],
    )
    _print_with_verdict(
        console, lines_said, [facts, *([Text(), *lines] if lines else []), *lines_below], num_above=num_above - 2
    )


def _print_with_verdict(
    console: "Console", verdict_lines: "Sequence[Text]", lines: "Sequence[Text]", *, num_above: int
) -> None:
    """Print a verdict above the lines, or below them if it would scroll out of the terminal."""
    is_seen = not console.is_terminal or num_above + len(verdict_lines) + len(lines) < console.height
    for line in (*verdict_lines, *lines) if is_seen else (*lines, "", *verdict_lines):
        console.print(line, soft_wrap=True)


def _show_trust(console: "Console", setup: "Local") -> None:
    """Print the trust statement and the subject of a scenario."""
    from ..presentation.terminal import show_label
    from ..running.statements import trust_in

    scenario = setup.scenario
    show_label(console, "Trust", f"{trust_in(setup.protocol)} {scenario.trust_note}")
    show_label(console, "About", f"{scenario.description} {setup.note}")


def _show_end(console: "Console", setup: "Local", result: "FinishedRun") -> None:
    from ..presentation import show_outcome, show_verdict
    from ..presentation.terminal import show_note
    from ..running.report import show_privacy, show_release

    protocol, record = setup.protocol, result.record
    num_heard = None if protocol.hides_participation else result.num_parties - len(record.endings)
    show_release(console, num_heard=num_heard, role=protocol.client_role)
    if not console.is_terminal:
        show_verdict(console, record.outcome)
    show_outcome(console, record.outcome, truth=result.truth, gold=result.gold)
    if result.note:
        show_note(console, result.note)
    if record.endings and num_heard is not None:
        name, error = next(iter(record.endings.items()))
        show_note(console, f"{len(record.endings):,} did not hear the outcome; {name}: {error}", style="yellow")
    show_privacy(console, protocol)
