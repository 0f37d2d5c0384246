"""`serve`: run a session's server; `tally`: recount its reports."""

import contextlib
import dataclasses
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .group import cli
from .options import (
    file_option,
    folder_option,
    json_option,
    load,
    make_folder,
    out_option,
    pictures_option,
    scenario_options,
    simulate_options,
    tell_folder,
    tell_transcript,
    transport_option,
    warn,
    witness_option,
)
from .reports import leave_page, report_option

if TYPE_CHECKING:
    from rich.console import Console

    from ...protocol.session_flow import SessionResult
    from ..deployment import Serving
    from ..deployment.status import Status
    from ..deployment.web import WebSite
    from ..running.config import Scenario
    from ..running.folder import RunFolder
    from ..running.resolution import ServerRun


@cli.command(short_help="Run the server for SCENARIO.")
@scenario_options
@click.option(
    "--listen",
    metavar="ADDRESS",
    help="Where to listen (default: as in the invitations). Port 0 lets the system choose.",
)
@transport_option
@folder_option(
    "--roster", "roster_file", help="The folder from `psephos roster`; over tcp also a CSV of names and public columns."
)
@folder_option(
    "--after",
    multiple=True,
    help="The --roster folder of an earlier session of the same game. Its parties repeat their earlier reports; the "
    "server refuses any other. Give each earlier session, or only the last if all took part in it.",
)
@witness_option
@click.option(
    "--status",
    metavar="HOST:PORT",
    help="Also answer monitors over HTTP: /healthz says in words where the session is, /metrics has counts for "
    "Prometheus. A port alone listens on this machine only; port 0 lets the system choose. Nothing private is shown, "
    "but anyone who reaches the address can read it.",
)
@click.option(
    "--web",
    metavar="HOST:PORT",
    help="Also let parties take part in a browser, by the links of `psephos roster --links`. A port alone listens on "
    "this machine only, for a proxy that adds HTTPS.",
)
@click.option("--web-origin", metavar="ORIGIN", help="Where people reach the pages (default: where the links lead).")
@file_option("--web-certificate", help="The certificate for HTTPS without a proxy, in PEM with its authorities'.")
@file_option("--web-key", help="The private key of --web-certificate, where that file has none.")
@click.option(
    "--web-hours",
    type=click.FloatRange(min=0, max=8784),
    default=0.0,
    metavar="HOURS",
    help="How long the pages stay after the vote with its result; Ctrl-C ends it (default: 0).",
)
@simulate_options
@out_option
@json_option("result.json")
@pictures_option("the outcome")
@report_option
def serve(
    scenario: str,
    settings: tuple[str, ...],
    data: str | None,
    listen: str | None,
    transport: str,
    roster_file: Path | None,
    after: tuple[Path, ...],
    witness: Path | None,
    status: str | None,
    web: str | None,
    web_origin: str | None,
    web_certificate: Path | None,
    web_key: Path | None,
    web_hours: float,
    seed: int | None,
    out: Path | None,
    *,
    simulate: bool,
    as_json: bool,
    pictures: bool,
    with_report: bool,
) -> None:
    """Run the server for SCENARIO. Each party runs `psephos join` as another process.

    The server reads the roster and the public columns, never a private one. Over TLS, parties authenticate by the
    roster's certificates. Over tcp the server knows them by name only, and listens on this machine only.

    The page of --status shows which phase is open, until when, and how many have reported. If participation is
    private, it shows neither who takes part nor how many.

    \b
    psephos serve eu-council --roster vote
    psephos serve eu-council --roster vote --status 9100
    psephos serve eu-council --roster vote --web 8000 --web-hours 24
    psephos serve eu-council --transport tcp --listen 127.0.0.1:7000 --simulate --seed 345
    """  # noqa: D301  the character makes click keep the lines
    from ...agents.noise import check_secure_noise
    from ...protocol.roles import Side
    from ...protocol.rules import JOIN
    from ..deployment import Serving, serve_in_folder
    from ..deployment.common import check_address, check_seed, find_transport, make_mode
    from ..deployment.earlier import read_kept
    from ..deployment.lines import print_lines
    from ..presentation import make_console
    from ..running.forecasts import forecast
    from ..running.limits import reserve_for_server

    check_seed(simulate=simulate, seed=seed)
    site_options = {"origin": web_origin, "certificate": web_certificate, "key": web_key, "hours": web_hours}
    side = _resolve_registered(load(scenario, settings, data), roster_file, web, is_quiet=as_json, **site_options)
    mode = make_mode(side.scenario.name, seed=seed, round_number=side.scenario.round)
    if seed is None:
        check_secure_noise(side.protocol, sides=[Side.SERVER])
    serving = Serving(side=side, address=listen or "", mode=mode, transport=transport)
    serving.check_authenticated(shlex.quote(scenario))
    serving = _opened(serving, roster_file, witness=witness, has_web=web is not None)
    if serving.keys is None or serving.keys.peers:
        check_address(serving.address, field="--listen", transport=find_transport(transport, keys=serving.keys))
    reserve_for_server(num_parties=side.num_connections)
    serving = dataclasses.replace(serving, kept=read_kept(side, after, kind=mode.kind))
    names = dict(zip(side.fingerprints or (), side.names, strict=False))
    for said in () if serving.keys is None else serving.keys.warn_of_expiry(names):
        click.echo(f"warning: {said}", err=True)
    console = make_console()
    sites = _open_site(side, roster_file, web, **site_options)
    with sites as site, contextlib.ExitStack() as stack:
        page = stack.enter_context(_open_status(status))
        serving = dataclasses.replace(serving, web=site)
        folder = make_folder(out, side.scenario.name)
        stack.enter_context(leave_page(folder, is_wanted=with_report))
        if not as_json:
            _show_session(console, side, kind=mode.kind.value, has_links=serving.web is not None)
        warn(forecast(side.protocol, side.inputs), err=as_json)
        listener = stack.enter_context(print_lines(None if as_json else console))

        def tell_address(address: str) -> None:
            hides = side.protocol.hides_participation
            events_note = "who comes is written nowhere" if hides else f"who comes and goes is in {folder.events}"
            click.echo(f"listening on {address} for {side.parties}; {events_note}", err=as_json)
            if serving.web is not None:
                seconds = f"{side.rules.phase_rules(JOIN).deadline_seconds:,g} s"
                click.echo(f"{serving.web}; {seconds} to join (phases.{JOIN}.deadline_seconds)", err=as_json)
            if page is not None:
                click.echo(str(page), err=as_json)

        result = serve_in_folder(
            serving,
            folder,
            on_resuming=lambda said: click.echo(said, err=as_json),
            pictures=pictures,
            listener=listener,
            on_listening=tell_address,
            beside=() if page is None else (page.serve,),
        )
        stack.close()
        _end(side, result, folder, console, site, as_json=as_json)


def _resolve_checked(scenario: "Scenario", roster: Path | None) -> "ServerRun":
    """Return what a server runs, if the roster is of this scenario."""
    from ..deployment.invitations import check_scenario
    from ..running.resolution import resolve_served

    if roster is not None:
        check_scenario(roster, scenario.name)
    return resolve_served(scenario, roster=roster)


def _opened(serving: "Serving", roster_file: Path | None, *, witness: Path | None, has_web: bool = False) -> "Serving":
    """Return the settings of the drawn-up session, or of a new one if there is no roster folder."""
    from ...agents.modes import draw_session_id
    from ...protocol.errors import refuse
    from ...protocol.messages import SessionDescriptor
    from ...protocol.roles import SessionKind
    from ..deployment.invitations import check_agreed_parameters, check_expiry, read_server_session
    from ..deployment.journals import witness_of
    from ..deployment.links import read_links
    from ..deployment.server import JOURNAL_FILE

    side, mode = serving.side, serving.mode
    is_deployment = mode.kind is SessionKind.DEPLOYMENT
    if side.fingerprints is None or roster_file is None:
        refuse(not serving.address, "--listen", "left out", "given where no invitations say an address")
        # Journals identify a session by its id.
        return (
            dataclasses.replace(serving, descriptor=SessionDescriptor(draw_session_id())) if is_deployment else serving
        )
    folder = roster_file if roster_file.is_dir() else roster_file.parent
    table = read_links(folder)
    allowed = "given, such as --web 8000: parties of this roster take part in a browser, by its links"
    refuse(table is not None and not has_web, "--web", "left out", allowed)
    links = () if table is None else table.fingerprints
    opening, keys = read_server_session(folder, fingerprints=side.fingerprints, linked_fingerprints=links)
    opening.check(session=side.scenario.name, kind=mode.kind, roster=side.roster)
    check_agreed_parameters(folder, side.protocol)
    check_expiry(opening.descriptor, field="--roster")
    serving = dataclasses.replace(
        serving, address=serving.address or opening.address, keys=keys, descriptor=opening.descriptor
    )
    if not is_deployment:
        return serving
    journal = folder / JOURNAL_FILE
    rollback_guard = witness_of(witness, journal, key=f"session {opening.session_id}")
    return dataclasses.replace(serving, journal=journal, witness=rollback_guard)


def _open_status(address: str | None) -> "contextlib.AbstractContextManager[Status | None]":
    """Return the function that opens the page of `--status`; its libraries are imported here only."""
    if address is None:
        return contextlib.nullcontext()
    from ..deployment.status import open_status

    return open_status(address)


def _open_site(
    side: "ServerRun",
    roster_file: Path | None,
    address: str | None,
    *,
    origin: str | None,
    certificate: Path | None,
    key: Path | None,
    hours: float,
) -> "contextlib.AbstractContextManager[WebSite | None]":
    """Return the pages of `--web`; their libraries are imported here only."""
    from ...protocol.errors import refuse

    if address is None:
        for field, value in (("origin", origin), ("certificate", certificate), ("key", key), ("hours", hours or None)):
            refuse(value is not None, f"--web-{field}", str(value), "left out, or given together with --web HOST:PORT")
        return contextlib.nullcontext()
    from ..deployment.web import open_site

    folder = roster_file or Path()
    refuse(roster_file is None or not folder.is_dir(), "--roster", str(roster_file), "the folder of psephos roster")
    return open_site(folder, side.roster, address, origin=origin, certificate=certificate, key=key, hours=hours)


def _end(
    side: "ServerRun",
    result: "SessionResult",
    folder: "RunFolder",
    console: "Console",
    site: "WebSite | None",
    *,
    as_json: bool,
) -> None:
    """Show the result, then keep it on the pages for `--web-hours` or until Ctrl-C."""
    import trio

    from ..presentation import verdict_of

    if not as_json:
        console.print()
    _show_result(side, result, folder, console, as_json=as_json)
    if site is not None and site.hours > 0:
        click.echo(f"the result is at {site.origin}/ for {site.hours:g} hours; Ctrl-C ends that", err=as_json)
        with contextlib.suppress(KeyboardInterrupt):
            trio.run(site.show_result, verdict_of(result.outcome), folder.path)


def _resolve_registered(
    scenario: "Scenario", roster_file: Path | None, web: str | None, *, is_quiet: bool, **options: Any
) -> "ServerRun":
    """Return the session that is served, once the browsers of a masked one have made the keys for its roster."""
    from ...protocol.errors import refuse
    from ..deployment.registration import read_registration, register_browsers

    side = _resolve_checked(scenario, roster_file)
    folder = roster_file or Path()
    registration = read_registration(folder) if roster_file is not None and folder.is_dir() else None
    if registration is None:
        return side
    allowed = "given, such as --web 8000: parties of this roster take part in a browser, by its links"
    refuse(web is None, "--web", "left out", allowed)
    with _open_site(side, roster_file, web, **options) as site:
        assert site is not None  # noqa: S101  --web is given
        register_browsers(folder, side, registration, site, tell=lambda said: click.echo(said, err=is_quiet))
    return _resolve_checked(scenario, roster_file)


def _show_session(console: "Console", side: "ServerRun", *, kind: str, has_links: bool) -> None:
    from ..running.report import show_heading
    from ..running.statements import trust_in

    scenario, protocol = side.scenario, side.protocol
    facts = [
        side.parties,
        f"protocol {protocol.name}",
        kind,
        _knowledge_of(side, has_links=has_links),
        *_waiting_of(side),
    ]
    title = scenario.title or scenario.name
    trust = f"{trust_in(protocol)} {scenario.trust_note}"
    show_heading(console, title=title, facts=facts, description=side.note, trust=trust)


def _knowledge_of(side: "ServerRun", *, has_links: bool) -> str:
    """Return how the server authenticates parties."""
    if has_links:
        return "known by their links, or by their certificates"
    return "known by their certificates" if side.fingerprints is not None else "known by their names alone"


def _waiting_of(side: "ServerRun") -> list[str]:
    """Return the duration of phases that must not end early because participation is private."""
    from ...protocol.rules import names_of

    names = [name for name, is_hidden in names_of(side.protocol).items() if is_hidden]
    return [f"{name} closes after {side.rules.phase_rules(name).deadline_seconds:g} s" for name in names]


def _show_result(
    side: "ServerRun", result: "SessionResult", folder: "RunFolder", console: "Console", *, as_json: bool
) -> None:
    from ..presentation import show_outcome, show_verdict
    from ..running.report import show_privacy

    if as_json:
        click.echo((folder.path / "result.json").read_bytes(), nl=False)
        return
    show_verdict(console, result.outcome)
    show_outcome(console, result.outcome)
    show_privacy(console, side.protocol)
    tell_transcript(console, result.transcript)
    tell_folder(console, folder)


@cli.command(short_help="Recount the reports of a session of SCENARIO.")
@scenario_options
@click.option(
    "--reports",
    metavar="FILES",
    help="Files of reports, a folder or a pattern (CSV, Parquet or Arrow), with place, phase, payload "
    "(default: the journal in the --roster folder).",
)
@folder_option(
    "--roster",
    help="The folder from `psephos roster`, or a CSV of names and public columns (default: the scenario's parties).",
)
@file_option("--export", help="Also write the reports to this file.")
@out_option
@json_option("result.json")
@pictures_option("the outcome")
def tally(
    scenario: str,
    settings: tuple[str, ...],
    data: str | None,
    reports: str | None,
    roster: Path | None,
    export: Path | None,
    out: Path | None,
    *,
    as_json: bool,
    pictures: bool,
) -> None:
    """Recount the reports of a session of SCENARIO, or count reports that others collected.

    A file has a row for each report, in the order of the roster and of phases. A session in the central model cannot be
    recounted: the server draws its noise only once.

    \b
    psephos tally eu-council --roster vote --export reports.csv
    psephos tally eu-council --roster vote --reports 'fronts/*.parquet'
    """  # noqa: D301  the character makes click keep the lines
    from ...protocol.errors import refuse
    from ..deployment.recount import read_journaled, read_reports, recount_in_folder, write_reports
    from ..deployment.server import JOURNAL_FILE
    from ..presentation import make_console

    if reports is None and (roster is None or not roster.is_dir()):
        raise click.UsageError(
            "Add --roster with the session's folder, which has its journal, or --reports with files of reports"
        )
    side = _resolve_checked(load(scenario, settings, data), roster)
    for field, files in (("--reports", reports), ("--export", export)):
        allowed = "left out where parties choose as they join: files do not say what, and the journal does"
        refuse(files is not None and side.protocol.num_chosen, field, str(files), allowed)
    batches = read_reports(reports) if reports is not None else read_journaled(side, Path(roster or ".") / JOURNAL_FILE)
    if export is not None:
        write_reports(export, held_batches := list(batches))
        batches = iter(held_batches)
    folder, console = make_folder(out, side.scenario.name), make_console()
    result = recount_in_folder(side, folder, batches, pictures=pictures)
    _show_result(side, result, folder, console, as_json=as_json)
