"""`roster`, `serve` and `join`: a session whose parties are processes of their own."""

from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Final

import click

from .group import cli
from .options import load, make_folder, out_option, print_json, scenario_options, simulate_options, tell_folder

if TYPE_CHECKING:
    from rich.console import Console

    from ..deployment import Agreement
    from ..running.resolution import Resolved

__all__ = ["join", "roster", "serve"]

transport_option = click.option(
    "--transport",
    default="tcp",
    metavar="NAME",
    help="How server and parties reach each other, the same on both sides (default: tcp).",
)
_WIDEST_PUBLIC: Final = 60
"""Characters of a public entry in a heading."""


@cli.command(short_help="Write the roster of SCENARIO, with a token for each party.")
@scenario_options
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="The folder to write (default: a new one below runs/).",
)
@click.option("--simulate", is_flag=True, help="Invite to a simulation, which protects nobody.")
def roster(scenario: str, settings: tuple[str, ...], data: str | None, out: Path | None, *, simulate: bool) -> None:
    """Write the roster of SCENARIO, and an invitation for each of its parties.

    roster.csv is for the server. It has the parties' names, their public columns and the digests of their tokens.
    invitations/ has a file for each party. It has the session's terms and the party's token, which is secret: give it
    to that party alone.

    \b
    psephos roster eu-council --out vote
    psephos serve eu-council --listen 127.0.0.1:7000 --roster vote/roster.csv
    psephos join 127.0.0.1:7000 --as Germany --input germany.csv --invitation vote/invitations
    """  # noqa: D301  click reads the character, by which it leaves the lines as they are
    from ...protocol.roles import SessionKind
    from ..deployment import draw_invitations, write_invitations
    from ..deployment.server import roster_rows
    from ..running.resolution import resolve

    side = resolve(load(scenario, settings, data), is_served=True)
    folder = make_folder(out, side.scenario.name)
    kind = SessionKind.SIMULATION if simulate else SessionKind.DEPLOYMENT
    drawn, invitations = draw_invitations(side.protocol, side.roster, session=side.scenario.name, kind=kind)
    folder.write_table("roster.csv", roster_rows(side, drawn))
    write_invitations(folder.path / "invitations", invitations)
    click.echo(f"{folder.path / 'roster.csv'}: for the server, {len(drawn):,} {side.protocol.client_role}s")
    click.echo(f"{folder.path / 'invitations'}: a file for each of them, with a token that is for it alone")


@cli.command(short_help="Be the server of SCENARIO; each party is another process.")
@scenario_options
@click.option(
    "--listen",
    required=True,
    metavar="ADDRESS",
    help="The address to listen on: over TCP HOST:PORT, and port 0 lets the system choose.",
)
@transport_option
@click.option(
    "--roster",
    "roster_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The roster.csv that `psephos roster` wrote.",
)
@simulate_options
@out_option
@click.option("--json", "as_json", is_flag=True, help="Print result.json and nothing else.")
@click.option("--pictures/--no-pictures", default=True, help="Draw the outcome (default: yes).")
def serve(
    scenario: str,
    settings: tuple[str, ...],
    data: str | None,
    listen: str,
    transport: str,
    roster_file: Path | None,
    seed: int | None,
    out: Path | None,
    *,
    simulate: bool,
    insecure: bool,
    as_json: bool,
    pictures: bool,
) -> None:
    """Be the server of SCENARIO. Each party is another process, `psephos join`.

    The server reads who may take part and what is public. It reads no private column. With the tokens of a roster,
    parties prove who they are. Without a roster the server knows them by name only, and listens on this machine alone.

    \b
    psephos serve eu-council --listen 127.0.0.1:7000
    psephos serve eu-council --listen 127.0.0.1:7000 --simulate --seed 345
    """  # noqa: D301  click reads the character, by which it leaves the lines as they are
    from ...protocol.errors import ConfigurationError
    from ..deployment import serve_in_folder
    from ..deployment.common import check_address, check_seed, find_transport, make_mode
    from ..deployment.server import check_tokens
    from ..presentation import make_console, show_outcome
    from ..running.limits import reserve_for_server
    from ..running.progress import watch
    from ..running.report import show_privacy
    from ..running.resolution import resolve

    check_seed(simulate=simulate, seed=seed)
    loaded = load(scenario, settings, data)
    check_address(listen, field="--listen", is_insecure=insecure, transport=find_transport(transport))
    side = resolve(loaded, is_served=True, roster=roster_file)
    if insecure and side.token_digests is None:
        allowed = "left out without a roster that has tokens: draw one up with `psephos roster`"
        raise ConfigurationError(field="--insecure", value="given", allowed=allowed)
    mode = make_mode(side.scenario.name, seed=seed, round_number=side.scenario.round)
    check_tokens(side, kind=mode.kind)
    reserve_for_server(num_parties=len(side.names))
    folder = make_folder(out, side.scenario.name)
    console = make_console()
    if not as_json:
        _show_session(console, side, kind=mode.kind.value)
    shown = None if as_json else console
    hides = side.protocol.hides_participation
    with watch(console=shown, errors=make_console(stderr=True), num_parties=len(side.names)) as watcher:
        left = serve_in_folder(
            side,
            folder,
            address=listen,
            transport=transport,
            mode=mode,
            pictures=pictures,
            listener=watcher.on_effect,
            on_listening=lambda address: click.echo(
                f"listening on {address} for {len(side.names):,} {side.protocol.client_role}s; "
                + ("who comes is written nowhere" if hides else f"who comes and goes is in {folder.events}"),
                err=as_json,
            ),
        )
    if as_json:
        click.echo((folder.path / "result.json").read_bytes(), nl=False)
        return
    console.print()
    show_outcome(console, left.outcome)
    console.print()
    show_privacy(console, side.protocol)
    _show_transcript(console, left.transcript)
    tell_folder(console, folder)


@cli.command(short_help="Take part in a session as one party.")
@click.argument("address")
@transport_option
@click.option("--as", "party", required=True, metavar="PARTY", help="The name of the party.")
@click.option(
    "--input",
    "input_file",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A CSV of the party's own values: a header and one line. A worker has task,label and a line for each answer; "
    "a voter of moral preferences has record,choice,FEATURES and two lines for each record.",
)
@click.option(
    "--invitation",
    "invitation_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The party's invitation, or the folder of invitations that `psephos roster` wrote.",
)
@click.option(
    "--budget",
    type=float,
    metavar="EPSILON",
    help="The largest epsilon that the session may cost, for replace-one neighbors (default: 10 without an "
    "invitation).",
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
def join(
    address: str,
    transport: str,
    party: str,
    input_file: Path,
    invitation_file: Path | None,
    budget: float | None,
    patience: float | None,
    seed: int | None,
    round_number: int,
    out: Path | None,
    *,
    simulate: bool,
    insecure: bool,
    trust_server: bool,
    as_json: bool,
) -> None:
    """Take part in the session at ADDRESS as one party, with that party's own values.

    With an invitation, the server's terms must be those of the invitation. Without one, `join` asks the server for its
    terms and shows them, and leaves if the session costs more than --budget. This comes before any noise is drawn.

    A server that chooses its own terms learns whether your values are among those that they allow. So take part
    without an invitation only if you trust the server that far. In the central model the server sees your values as
    they are; such a session needs --trust-server.

    \b
    psephos join 127.0.0.1:7000 --as Germany --input germany.csv --invitation vote/invitations
    psephos join 127.0.0.1:7000 --as Germany --input germany.csv --simulate --seed 345
    """  # noqa: D301  click reads the character, by which it leaves the lines as they are
    import re

    from ...agents.client import PATIENCE_SECONDS
    from ...protocol.errors import ConfigurationError
    from ...protocol.roles import check_party_name
    from ..deployment import Joining, find_invitation, join_in_folder
    from ..deployment.common import check_address, check_seed, find_transport
    from ..deployment.own_entries import read_own_entries
    from ..plugins import ROLES, names_in
    from ..presentation import make_console, show_outcome
    from ..running.report import show_privacy

    check_seed(simulate=simulate, seed=seed)
    check_party_name(party, field="--as")
    reached = find_transport(transport)
    check_address(address, field="the server's address", is_insecure=insecure, transport=reached)
    entries = read_own_entries(input_file, party=party, roles=names_in(ROLES))
    invitation = None if invitation_file is None else find_invitation(invitation_file, party=party)
    patience = PATIENCE_SECONDS if patience is None else patience
    if not patience > 0:
        allowed = "a positive number of seconds, or inf"
        raise ConfigurationError(field="--patience", value=patience, allowed=allowed)
    joining = Joining(
        address=address,
        party=party,
        entries=entries,
        seed=seed,
        invitation=invitation,
        budget=budget,
        trusts_server=trust_server,
        round_number=round_number,
        patience_seconds=patience,
        transport=transport,
    )
    joining.agree_beforehand()  # what needs no server to be refused leaves no folder
    slug = re.sub(r"[^a-z0-9]+", "-", party.lower()).strip("-") or "party"
    folder = make_folder(out, f"as-{slug}")
    console = make_console()
    agreed: list[Agreement] = []

    def tell(agreement: "Agreement") -> None:
        agreed.append(agreement)
        if not as_json:
            _show_agreement(console, agreement)

    heard = join_in_folder(joining, folder, on_agreed=tell)
    if as_json:
        print_json(heard.outcome)
        return
    show_outcome(console, heard.outcome, table="outcome.json")
    if heard.own is not None:
        console.print()
        show_outcome(console, heard.own)
    console.print()
    show_privacy(console, agreed[0].protocol, public=agreed[0].terms.public)
    if heard.late_phase is not None:
        late = f"Late: your report of phase {heard.late_phase!r} came after its deadline and was not counted"
        console.print(f"\n{late}", soft_wrap=True)
    _show_transcript(console, heard.transcript)
    tell_folder(console, folder)


def _show_session(console: "Console", side: "Resolved", *, kind: str) -> None:
    from ..running.report import show_heading
    from ..running.statements import trust_in

    scenario, protocol = side.scenario, side.protocol
    facts = [
        f"{len(side.names):,} {protocol.client_role}s",
        f"protocol {protocol.name}",
        kind,
        "with tokens" if side.token_digests is not None else "known by their names alone",
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

    from ...protocol.errors import printable
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
    ]
    trust = trust_in(agreement.protocol)
    show_heading(console, title=f"Session {printable(terms.session)}", facts=facts, description="", trust=trust)
