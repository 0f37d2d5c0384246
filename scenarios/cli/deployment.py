"""`enroll`, `roster`, `serve` and `join`: a session whose parties are processes of their own."""

import contextlib
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from .asking import ask_invitation, ask_keys, ask_own, given_or_asked
from .group import cli
from .options import load, make_folder, out_option, print_json, scenario_options, simulate_options, tell_folder
from .reports import report_option, reporting

if TYPE_CHECKING:
    from rich.console import Console

    from ...agents.modes import Mode
    from ...protocol.messages import Charter
    from ..deployment import Agreement, Invitation, Keys
    from ..deployment.status import Status
    from ..running.resolution import Resolved

__all__ = ["enroll", "join", "roster", "serve"]

transport_option = click.option(
    "--transport",
    default="tls",
    metavar="NAME",
    help="How server and parties reach each other, the same on both sides (default: tls). Over tcp nothing is "
    "encrypted and nobody proves who it is: on one machine alone.",
)
_WIDEST_PUBLIC: Final = 60
"""Characters of a public entry in a heading."""


def _read_period(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Return the seconds of a length of time that an option gives."""
    from ..reading.times import read_period

    del context
    return None if value is None else read_period(value, field=parameter.opts[0])


@cli.command(short_help="Make PARTY's keys, which stay with it.")
@click.argument("party")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FOLDER", help="Where to (default: a folder of the party's name)."
)
@click.option(
    "--days", type=click.FloatRange(min=0, min_open=True), default=365.0, help="How long they are good (365)."
)
def enroll(party: str, out: Path | None, days: float) -> None:
    """Make PARTY's keys, for TLS and for signatures, and what it hands to whoever draws up the roster.

    The private keys stay in the folder, and nobody else needs them. enrollment.json is public: hand it over by a way
    that you trust, and compare the fingerprint by another one.

    \b
    psephos enroll Germany
    psephos roster eu-council --enrolled enrollments --address votes.example.org:7000 --out vote
    """  # noqa: D301  click reads the character, by which it leaves the lines as they are
    from ..deployment.keys import ENROLLMENT_FILE, KEY_FILE, slug_of
    from ..deployment.keys import enroll as make

    folder = Path(slug_of(party)) if out is None else out
    made = make(party, folder, days=days)
    click.echo(f"{folder / KEY_FILE}: {party}'s key, good until {made.until:%Y-%m-%d}; keep it to yourself")
    click.echo(f"{folder / ENROLLMENT_FILE}: hand it to whoever draws up the roster")
    click.echo(f"certificate {made.fingerprint}")


@cli.command(short_help="Write the roster of a session, with each party's certificate.")
@scenario_options
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="The folder to write (default: a new one below runs/).",
)
@click.option(
    "--enrolled",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="The parties' enrollments, as `psephos enroll` makes them.",
)
@click.option("--make-keys", is_flag=True, help="Make all keys here instead; whoever does could take anybody's seat.")
@click.option(
    "--address", default="127.0.0.1:7000", metavar="HOST:PORT", help="Where the server will be (127.0.0.1:7000)."
)
@click.option(
    "--days", type=click.FloatRange(min=0, min_open=True), default=30.0, help="After how many the session expires (30)."
)
@click.option("--simulate", is_flag=True, help="Invite to a simulation, which protects nobody.")
def roster(
    scenario: str,
    settings: tuple[str, ...],
    data: str | None,
    out: Path | None,
    enrolled: Path | None,
    address: str,
    days: float,
    *,
    make_keys: bool,
    simulate: bool,
) -> None:
    """Draw up the roster of SCENARIO: who takes part, and by which certificate.

    The folder is then the server's: roster.csv, the session's id, the parties' certificates, and the server's own key.
    invitations/ in it has a file for each party: what it agrees to, and the server's certificate. Where all keys are
    made here, it has the party's private key too, and is for that party alone.

    \b
    psephos roster eu-council --enrolled enrollments --out vote
    psephos serve eu-council --roster vote
    psephos join vote/invitations/01-germany.json --input germany.csv
    """  # noqa: D301  click reads the character, by which it leaves the lines as they are
    from ...protocol.errors import ConfigurationError
    from ...protocol.roles import SessionKind
    from ...transports.tcp import TCPTransport
    from ..deployment import draw_session, read_enrollments, write_session
    from ..deployment.common import naming_address
    from ..deployment.server import roster_rows
    from ..running.resolution import resolve

    if (enrolled is None) is not make_keys:
        value = "both given" if make_keys else "both left out"
        allowed = "one of them: the parties' own keys, or keys that are made here for all of them"
        raise ConfigurationError(field="--enrolled and --make-keys", value=value, allowed=allowed)
    with naming_address(address, field="--address"):
        TCPTransport().stays_on_this_machine(address)
    side = resolve(load(scenario, settings, data), is_served=True)
    drawn = draw_session(
        side.protocol,
        side.roster,
        session=side.scenario.name,
        kind=SessionKind.SIMULATION if simulate else SessionKind.DEPLOYMENT,
        address=address,
        days=days,
        enrolled=None if enrolled is None else read_enrollments(enrolled),
    )
    folder = make_folder(out, side.scenario.name)
    folder.write_table("roster.csv", roster_rows(side, drawn.roster))
    write_session(folder.path, drawn)
    click.echo(f"{folder.path}: for the server of {len(drawn.roster):,} {side.protocol.client_role}s; its key is in it")
    told = "a file for each of them"
    if make_keys:
        told += ", with its private key, for it alone. Whoever has made the keys could take anybody's seat"
    click.echo(f"{folder.path / 'invitations'}: {told}")


@cli.command(short_help="Be the server of SCENARIO; each party is another process.")
@scenario_options
@click.option(
    "--listen",
    metavar="ADDRESS",
    help="Where, if not as the invitations say; port 0 lets the system choose.",
)
@transport_option
@click.option(
    "--roster",
    "roster_file",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="As `psephos roster` wrote it; over tcp also a CSV of names and public columns.",
)
@click.option(
    "--after",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    multiple=True,
    help="The --roster folder of an earlier session of the same game: its parties repeat what it has from them, and "
    "whoever reports something else is refused. For each earlier session, or for the last where all took part.",
)
@click.option(
    "--status",
    metavar="HOST:PORT",
    help="Also answer monitors over HTTP: /healthz says in words where the session stands, /metrics has counts for "
    "Prometheus. A port alone is one of this machine's loopback interface; port 0 lets the system choose. Nothing "
    "private is in them, but whoever reaches the address reads them.",
)
@simulate_options
@out_option
@click.option("--json", "as_json", is_flag=True, help="Print result.json and nothing else.")
@click.option("--pictures/--no-pictures", default=True, help="Draw the outcome (default: yes).")
@report_option
def serve(
    scenario: str,
    settings: tuple[str, ...],
    data: str | None,
    listen: str | None,
    transport: str,
    roster_file: Path | None,
    after: tuple[Path, ...],
    status: str | None,
    seed: int | None,
    out: Path | None,
    *,
    simulate: bool,
    as_json: bool,
    pictures: bool,
    with_report: bool,
) -> None:
    """Be the server of SCENARIO. Each party is another process, `psephos join`.

    The server reads who may take part and what is public. It reads no private column. Over TLS, parties prove who they
    are by the roster's certificates. Over tcp the server knows them by name only, and listens on this machine alone.

    A terminal shows the open phase, the time left, who has joined or reported, and who is awaited. Where participation
    is private, neither the terminal nor --status says anything of who comes, or of how many.

    \b
    psephos serve eu-council --roster vote
    psephos serve eu-council --roster vote --status 9100
    psephos serve eu-council --transport tcp --listen 127.0.0.1:7000 --simulate --seed 345
    """  # noqa: D301  click reads the character, by which it leaves the lines as they are
    from ...agents.noise import check_secure_noise
    from ...protocol.roles import Side
    from ..deployment import serve_in_folder
    from ..deployment.common import check_address, check_seed, find_transport, make_mode
    from ..deployment.earlier import read_kept
    from ..deployment.live import watch_server
    from ..deployment.server import check_authenticated
    from ..presentation import make_console, show_outcome, show_verdict
    from ..running.limits import reserve_for_server
    from ..running.report import show_privacy
    from ..running.resolution import resolve

    check_seed(simulate=simulate, seed=seed)
    side = resolve(load(scenario, settings, data), is_served=True, roster=roster_file)
    mode = make_mode(side.scenario.name, seed=seed, round_number=side.scenario.round)
    if seed is None:
        check_secure_noise(side.protocol, sides=[Side.SERVER])
    check_authenticated(side, kind=mode.kind, transport=transport)
    opened = _open_session(side, mode, listen=listen, roster_file=roster_file)
    check_address(opened.address, field="--listen", transport=find_transport(transport, keys=opened.keys))
    reserve_for_server(num_parties=len(side.names))
    kept = read_kept(side, after, kind=mode.kind)
    console = make_console()
    with contextlib.ExitStack() as stack:
        page = stack.enter_context(_open_status(status))
        folder = make_folder(out, side.scenario.name)
        stack.enter_context(reporting(folder, wanted=with_report))
        if not as_json:
            _show_session(console, side, kind=mode.kind.value)
        watching = stack.enter_context(
            watch_server(
                console=None if as_json else console,
                errors=make_console(stderr=True),
                num_parties=len(side.names),
                role=side.protocol.client_role,
            )
        )

        def tell_address(address: str) -> None:
            hides = side.protocol.hides_participation
            where = "who comes is written nowhere" if hides else f"who comes and goes is in {folder.events}"
            whom = f"{len(side.names):,} {side.protocol.client_role}s"
            click.echo(f"listening on {address} for {whom}; {where}", err=as_json)
            if page is not None:
                click.echo(str(page), err=as_json)

        left = serve_in_folder(
            side,
            folder,
            address=opened.address,
            transport=transport,
            keys=opened.keys,
            charter=opened.charter,
            mode=mode,
            journal=opened.journal,
            kept=kept,
            on_resuming=lambda told: click.echo(f"going on with this session: {told}", err=as_json),
            pictures=pictures,
            listener=watching.listener,
            on_listening=tell_address,
            beside=watching.beside if page is None else (*watching.beside, page.serve),
        )
    if as_json:
        click.echo((folder.path / "result.json").read_bytes(), nl=False)
        return
    console.print()
    show_verdict(console, left.outcome)
    show_outcome(console, left.outcome)
    show_privacy(console, side.protocol)
    _show_transcript(console, left.transcript)
    tell_folder(console, folder)


@cli.command(short_help="Take part in a session as one party.")
@click.argument("invitation_or_address", metavar="INVITATION", required=False)
@transport_option
@click.option("--as", "party", metavar="PARTY", help="The name of the party, where the invitation does not say it.")
@click.option(
    "--input",
    "input_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A CSV of the party's own values: a header and one line. A worker has task,label and a line for each answer; "
    "a voter of moral preferences has record,choice,FEATURES and two lines for each record. Left out in a terminal, "
    "the values are asked for one by one.",
)
@click.option(
    "--key",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="The party's keys, as `psephos enroll` made them (default: the folder of its name).",
)
@click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="What the session leaves you to choose, such as your epsilon among its levels: everybody will see it. "
    "May be repeated; left out in a terminal, it is asked for.",
)
@click.option("--address", metavar="HOST:PORT", help="Where the server is, if not as the invitation says.")
@click.option(
    "--invitation",
    "invitation_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Over tcp, where INVITATION is the server's address: what was agreed to.",
)
@click.option(
    "--budget",
    type=float,
    metavar="EPSILON",
    help="The largest epsilon that the session and all others in the journal may cost together, for replace-one "
    "neighbors (default: 10 without an invitation).",
)
@click.option(
    "--budget-period",
    metavar="LENGTH",
    callback=_read_period,
    help="Let --budget hold in any window of this length, such as '7 days', by the times in the journal.",
)
@click.option(
    "--budget-in-all",
    type=float,
    metavar="EPSILON",
    help="Beside --budget-period, the largest epsilon that all sessions in the journal may cost together.",
)
@click.option(
    "--journal",
    type=click.Path(path_type=Path),
    metavar="FILE",
    envvar="PSEPHOS_JOURNAL",
    help="The person's journal over all sessions, or a folder with one for each name (default: one of this system's "
    "user; PSEPHOS_JOURNAL).",
)
@click.option(
    "--trust-server",
    is_flag=True,
    help="Allow a session in which the server sees your values as they are (central model).",
)
@simulate_options
@click.option(
    "--patience",
    type=float,
    metavar="SECONDS",
    help="How long to wait for a silent server (default: 3600; inf for no limit).",
)
@click.option(
    "--round", "round_number", type=click.IntRange(min=0), default=0, help="The round, if a simulation is repeated."
)
@out_option
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON and nothing else.")
@report_option
def join(
    invitation_or_address: str | None,
    transport: str,
    party: str | None,
    input_file: Path | None,
    key: Path | None,
    settings: tuple[str, ...],
    address: str | None,
    invitation_file: Path | None,
    budget: float | None,
    budget_period: float | None,
    budget_in_all: float | None,
    journal: Path | None,
    patience: float | None,
    seed: int | None,
    round_number: int,
    out: Path | None,
    *,
    simulate: bool,
    trust_server: bool,
    as_json: bool,
    with_report: bool,
) -> None:
    """Take part in the session of INVITATION as one party, with that party's own values.

    The server must be the one whose certificate the invitation has, and its terms those of the invitation. This comes
    before any noise is drawn, and before any value leaves.

    Over another transport than tls, INVITATION is the server's address, on this machine. Without --invitation, `join`
    then asks the server for its terms and shows them, and leaves if the session costs more than --budget. A server that
    chooses its own terms learns whether your values are among those that they allow. In the central model the server
    sees your values as they are; such a session needs --trust-server.

    \b
    psephos join vote/invitations/01-germany.json --input germany.csv
    psephos join 127.0.0.1:7000 --transport tcp --as Germany --input germany.csv --simulate --seed 345
    """  # noqa: D301  click reads the character, by which it leaves the lines as they are
    from ...protocol.roles import check_party_name
    from ..deployment import Joining, join_in_folder
    from ..deployment.common import check_address, check_seed, find_transport
    from ..deployment.journals import open_journal
    from ..deployment.keys import slug_of
    from ..presentation import make_console, show_outcome, show_verdict
    from ..running.report import show_privacy

    check_seed(simulate=simulate, seed=seed)
    if party is not None:
        check_party_name(party, field="--as")
    asked = _asked_by(
        invitation_or_address, transport=transport, party=party, address=address, key=key, file=invitation_file
    )
    party, server_address, invitation, keys = asked
    check_address(server_address, field="the server's address", transport=find_transport(transport, keys=keys))
    entries, choices = ask_own(input_file, settings, party=party, invitation=invitation, trusts_server=trust_server)
    with open_journal(journal, party=party, is_simulation=simulate) as kept:
        joining = Joining(
            address=server_address,
            party=party,
            entries=entries,
            seed=seed,
            invitation=invitation,
            budget=budget,
            budget_period_seconds=budget_period,
            budget_in_all=budget_in_all,
            trusts_server=trust_server,
            choices=choices,
            round_number=round_number,
            patience_seconds=_patience_in(patience),
            transport=transport,
            keys=keys,
            journal=kept,
        )
        joining.agree_beforehand()  # what needs no server to be refused leaves no folder
        folder = make_folder(out, f"as-{slug_of(party)}")
        console = make_console()
        agreed: list[Agreement] = []

        def tell(agreement: "Agreement") -> None:
            agreed.append(agreement)
            if not as_json:
                _show_agreement(console, agreement)
                if kept is not None and kept.is_new:
                    console.print(f"\nJournal: {kept.path}, begun now; it knows of no earlier loss.", soft_wrap=True)

        with reporting(folder, wanted=with_report):
            heard = join_in_folder(joining, folder, on_agreed=tell, on_loss=_tell_of_loss)
    if as_json:
        print_json(heard.outcome)
        return
    show_verdict(console, heard.outcome)
    show_outcome(console, heard.outcome, table="outcome.json")
    if heard.own is not None:
        console.print()
        show_verdict(console, heard.own)
        show_outcome(console, heard.own)
    show_privacy(console, agreed[0].protocol, public=agreed[0].terms.public, kept=agreed[0].recalled)
    if heard.late_phase is not None:
        late = f"Late: your report of phase {heard.late_phase!r} came after its deadline and was not counted"
        console.print(f"\n{late}", soft_wrap=True)
    _show_transcript(console, heard.transcript)
    tell_folder(console, folder)


class _Opened(NamedTuple):
    """What a server needs of the session that it holds."""

    address: str
    keys: "Keys | None"
    charter: "Charter"
    journal: Path | None


def _open_session(side: "Resolved", mode: "Mode", *, listen: str | None, roster_file: Path | None) -> _Opened:
    """Return the session that was drawn up, or a new one where nothing was.

    Raises:
        ConfigurationError: it is another scenario's, or over, or nobody says an address.
    """
    from ...agents.modes import draw_session_id
    from ...protocol.errors import ConfigurationError
    from ...protocol.messages import NO_CHARTER, Charter
    from ...protocol.roles import SessionKind
    from ..deployment.invitations import check_expiry, read_opening
    from ..deployment.server import JOURNAL_FILE

    is_deployment = mode.kind is SessionKind.DEPLOYMENT
    if side.fingerprints is None or roster_file is None:
        if not listen:
            allowed = "given where no invitations say an address"
            raise ConfigurationError(field="--listen", value="left out", allowed=allowed)
        # Parties that keep journals know a session by its id.
        return _Opened(listen, None, Charter(draw_session_id()) if is_deployment else NO_CHARTER, None)
    folder = roster_file if roster_file.is_dir() else roster_file.parent
    opening, keys = read_opening(folder, fingerprints=side.fingerprints)
    opening.check(session=side.scenario.name, kind=mode.kind, roster=side.roster)
    check_expiry(opening.charter, field="--roster")
    return _Opened(listen or opening.address, keys, opening.charter, folder / JOURNAL_FILE if is_deployment else None)


def _tell_of_loss(error: Exception) -> None:
    click.echo(f"trying again: {error}", err=True)


def _patience_in(seconds: float | None) -> float:
    """Return how long a party waits for a silent server, as it was given or by default.

    Raises:
        ConfigurationError: it is no such time.
    """
    from ...agents.client import PATIENCE_SECONDS
    from ...protocol.errors import ConfigurationError

    if seconds is None:
        return PATIENCE_SECONDS
    if not seconds > 0:  # nor is what is no number
        raise ConfigurationError(field="--patience", value=seconds, allowed="a positive number of seconds, or inf")
    return seconds


class _Asked(NamedTuple):
    """Who takes part, at which address, by which invitation, and with which keys."""

    party: str
    address: str
    invitation: "Invitation | None"
    keys: "Keys | None"


def _asked_by(
    invitation_or_address: str | None,
    *,
    transport: str,
    party: str | None,
    address: str | None,
    key: Path | None,
    file: Path | None,
) -> _Asked:
    """Return who takes part where, as given, as the invitation says, or as answered to questions."""
    from ...protocol.roles import check_party_name

    invitation, keys = None, None
    if transport == "tls":
        invitation, keys = _open_invitation(invitation_or_address, party=party, key=key)
        server_address = address or invitation.address
    else:
        server_address = given_or_asked(
            invitation_or_address, field="INVITATION", question="The server's address (HOST:PORT)", use=str
        )
        invitation = _invitation_for(party, file)
    if party is None and invitation is not None:
        party = invitation.party
    party = given_or_asked(
        party, field="--as", question="Your name on the roster", use=lambda name: check_party_name(name, field="--as")
    )
    return _Asked(party, server_address, invitation, keys)


def _open_invitation(source: str | None, *, party: str | None, key: Path | None) -> "tuple[Invitation, Keys]":
    """Return an invitation, with the party's key."""
    from ..deployment.keys import slug_of

    path, invitation = ask_invitation(source, party=party)
    slug = slug_of(invitation.party)
    beside = path if path.is_dir() else path.parent
    candidates = [Path(slug), beside / slug, Path()] if key is None else [key]
    return invitation, ask_keys(invitation, candidates)


def _invitation_for(party: str | None, path: Path | None) -> "Invitation | None":
    """Return the invitation that is given where certificates play no part."""
    from ..deployment import find_invitation

    return None if path is None else find_invitation(path, party=party)


def _open_status(address: str | None) -> "contextlib.AbstractContextManager[Status | None]":
    """Return what opens the page of `--status`, whose libraries nobody else waits for."""
    if address is None:
        return contextlib.nullcontext()
    from ..deployment.status import open_status

    return open_status(address)


def _show_session(console: "Console", side: "Resolved", *, kind: str) -> None:
    from ..running.report import show_heading
    from ..running.statements import trust_in

    scenario, protocol = side.scenario, side.protocol
    facts = [
        f"{len(side.names):,} {protocol.client_role}s",
        f"protocol {protocol.name}",
        kind,
        "known by their certificates" if side.fingerprints is not None else "known by their names alone",
        *_waiting_of(side),
    ]
    title = scenario.title or scenario.name
    trust = f"{trust_in(protocol)} {scenario.trust}"
    show_heading(console, title=title, facts=facts, description="", trust=trust)


def _waiting_of(side: "Resolved") -> list[str]:
    """Return how long phases last whose end does not depend on who comes, since that is private."""
    from ...protocol.rules import JOIN, hidden_phases

    hidden = hidden_phases(side.protocol)
    names = [name for name in (JOIN, *(phase.name for phase in side.protocol.phases)) if name in hidden]
    return [f"{name} closes after {side.rules.get(name, side.default_rules).deadline_seconds:g} s" for name in names]


def _show_transcript(console: "Console", digest: str | None) -> None:
    from ...protocol.transcript import show_digest

    if digest is not None:  # a client that came too late for a phase has not heard all of it
        console.print(f"\nPublic transcript {show_digest(digest)}: compare it with the others'", soft_wrap=True)


def _show_agreement(console: "Console", agreement: "Agreement") -> None:
    import numpy as np

    from ...protocol.errors import printable, quote
    from ...protocol.privacy import NeighboringRelation
    from ..running.report import show_heading
    from ..running.statements import trust_in

    terms = agreement.terms
    public = agreement.protocol.write_public(np.array([terms.public], dtype=np.int64))
    relations = {loss.relation for loss in agreement.losses}
    replaced = " for replace-one neighbors" if NeighboringRelation.ADD_OR_REMOVE_ONE in relations else ""
    facts = [
        f"as {terms.party}",
        # Public entries as the server has them; a worker's tasks may be hundreds.
        *(f"{column} {shorten(entries[0], _WIDEST_PUBLIC, placeholder='…')}" for column, entries in public.items()),
        f"protocol {terms.protocol}",
        terms.kind,
        f"costs epsilon = {agreement.cost:g} in all{replaced}",
        *(
            f"{phase}: kept from session {quote(each.session)} of {each.report.scope}, nothing paid"
            for phase, each in agreement.recalled.items()
        ),
    ]
    trust = trust_in(agreement.protocol)
    show_heading(console, title=f"Session {printable(terms.session)}", facts=facts, description="", trust=trust)
