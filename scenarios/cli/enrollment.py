"""`enroll`, `roster` and `revoke`: keys and certificates for sessions whose parties are separate processes."""

import importlib.util
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..origins import DEFAULT_ORIGIN
from .group import cli
from .options import file_option, folder_option, load, make_folder, scenario_options, warn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..deployment.invitations import DrawnSession
    from ..running.resolution import ServerRun


@cli.command(short_help="Make PARTY's keys, and the file that it sends to the organizer.")
@click.argument("party")
@folder_option("--out", help="The folder to write (default: the party's name and a digest of it).")
@click.option(
    "--days", type=click.FloatRange(min=0, min_open=True), default=365.0, help="How long the keys are valid (365)."
)
@file_option("--parties", help="Make PARTY the host of all parties in this CSV: they share its keys.")
def enroll(party: str, out: Path | None, days: float, parties: Path | None) -> None:
    """Make PARTY's keys for TLS and signatures, and the enrollment that it sends to the organizer.

    Keep the private keys: nobody else needs them. enrollment.json is public: send it by a channel that you trust, and
    compare the fingerprint over another one. A host, with --parties, speaks for all of its parties.

    \b
    psephos enroll Germany
    psephos enroll Hospital --parties patients.csv
    psephos roster eu-council --enrolled enrollments --address votes.example.org:7000 --out vote
    """  # noqa: D301  the character makes click keep the lines
    from ..deployment.keys import ENROLLMENT_FILE, KEY_FILE, parties_in, stem_of
    from ..deployment.keys import enroll as make

    folder = Path(stem_of(party)) if out is None else out
    enrollment = make(party, folder, days=days, parties=() if parties is None else parties_in(parties))
    click.echo(f"{folder / KEY_FILE}: {party}'s key, good until {enrollment.until:%Y-%m-%d}; keep it to yourself")
    click.echo(f"{folder / ENROLLMENT_FILE}: hand it to whoever draws up the roster")
    click.echo(f"certificate {enrollment.fingerprint}")


@cli.command(short_help="Write the roster of a session, with each party's certificate.")
@scenario_options
@folder_option("--out", help="The folder to write (default: a new one in runs/).")
@folder_option("--enrolled", help="The folder of the parties' enrollments from `psephos enroll`.")
@click.option("--make-keys", is_flag=True, help="Make all keys here instead. You could then take part as anyone.")
@click.option(
    "--links",
    metavar="[ORIGIN]",
    is_flag=False,
    flag_value=DEFAULT_ORIGIN,
    help="Give each party that has not enrolled a link to a page at ORIGIN, such as https://vote.example.org, in which "
    "it votes by a browser (`serve --web`). By default the page is on this machine.",
)
@click.option("--qr", is_flag=True, help="Also write each link as a QR code, an SVG in qr/.")
@click.option("--replace", metavar="PARTY", help="Make a new link for PARTY, whose link somebody else has used.")
@click.option("--address", default="127.0.0.1:7000", metavar="HOST:PORT", help="The server's address (127.0.0.1:7000).")
@click.option(
    "--days", type=click.FloatRange(min=0, min_open=True), default=30.0, help="Days until the session expires (30)."
)
@click.option("--simulate", is_flag=True, help="Invite to a simulation, which protects nobody.")
def roster(
    scenario: str,
    settings: tuple[str, ...],
    data: str | None,
    out: Path | None,
    enrolled: Path | None,
    links: str | None,
    replace: str | None,
    address: str,
    days: float,
    *,
    make_keys: bool,
    qr: bool,
    simulate: bool,
) -> None:
    """Draw up the roster of SCENARIO: who takes part, with which certificate.

    The folder is the server's: it has roster.csv, the session's id, the parties' certificates, and the server's key.
    Send each party its file in invitations/, which has the session's terms and the server's certificate. With
    --make-keys it also has the party's private key, and is for that party only. With --links, links.csv has a link for
    each party that has not enrolled: send each its own, for example by a mail merge, and delete the file.

    \b
    psephos roster eu-council --enrolled enrollments --out vote
    psephos roster eu-council --links https://vote.example.org --out vote
    psephos roster eu-council --replace Germany --out vote
    psephos serve eu-council --roster vote
    psephos join vote/invitations/01-germany.json --input germany.csv
    """  # noqa: D301  the character makes click keep the lines
    from ...protocol.errors import refuse, require
    from ...protocol.roles import SessionKind
    from ...transports.tcp import TCPTransport
    from ..deployment import draw_session, read_enrollments, write_session
    from ..deployment.common import name_address_in_errors
    from ..deployment.links import check_origin, draw_links, form_of, write_links, write_qr_codes
    from ..deployment.server import roster_rows
    from ..running.forecasts import forecast
    from ..running.resolution import resolve_served

    if replace is not None:
        others = {"--links": links, "--enrolled": enrolled, "--make-keys": make_keys, "--qr": qr}
        _replace_link(resolve_served(load(scenario, settings, data), roster=out), replace, out, others=others)
        return
    if links is not None:
        allowed = "left out beside --links: parties without a certificate of their own get links"
        refuse(make_keys, "--make-keys", "given", allowed)
        refuse(simulate, "--simulate", "given", "left out beside --links: the page takes part in deployments alone")
        links = check_origin(links, field="--links")
    allowed = "Add --links, of which --qr makes codes, and pip install 'psephos[qr]'."
    refuse(qr and (links is None or importlib.util.find_spec("segno") is None), "--qr", "given", allowed)
    allowed = (
        "Add one of them. --enrolled FOLDER has the parties' own keys; --make-keys makes all keys here; --links gives "
        "each party a link."
    )
    is_clear = links is not None or (enrolled is None) is make_keys
    require(is_clear, "--enrolled, --make-keys or --links", enrolled, allowed)
    with name_address_in_errors(address, field="--address"):
        TCPTransport().stays_on_this_machine(address)
    side = resolve_served(load(scenario, settings, data))
    if links is not None:
        form_of(side.protocol)  # fails before anything is written if the page does not support this session
    forecast_text = forecast(side.protocol, side.inputs)
    drawn_session = draw_session(
        side.protocol,
        side.roster,
        session=side.scenario.name,
        kind=SessionKind.SIMULATION if simulate else SessionKind.DEPLOYMENT,
        address=address,
        days=days,
        enrolled=None if enrolled is None else read_enrollments(enrolled),
        forecast=forecast_text,
        has_links=links is not None,
    )
    folder = make_folder(out, side.scenario.name)
    folder.write_table("roster.csv", roster_rows(side, drawn_session.roster), is_exact=True)
    write_session(folder.path, drawn_session)
    if links is not None:
        title = side.scenario.title or side.scenario.name
        question = side.scenario.description
        drawn_links = draw_links(side.protocol, drawn_session, origin=links, title=title, question=question)
        write_links(folder.path, drawn_links)
        if qr:
            click.echo(f"{write_qr_codes(folder.path, drawn_links)}: each link as a QR code, for its voter alone")
    warn(forecast_text)
    _show_drawn(side, drawn_session, folder.path, has_links=links is not None, has_made_keys=make_keys)


def _show_drawn(
    side: "ServerRun", drawn_session: "DrawnSession", folder: Path, *, has_links: bool, has_made_keys: bool
) -> None:
    from ..deployment.links import LINKS_FILE

    click.echo(
        f"{folder}: for the server of {len(drawn_session.roster):,} {side.protocol.client_role}s; its key is in it"
    )
    if has_links:
        num_links = len(drawn_session.linked)
        click.echo(f"{folder / LINKS_FILE}: a link for each of {num_links:,} of them, for it alone; send them out")
    if drawn_session.signature_keys is not None:
        others = ", and then writes the invitations of the others" if drawn_session.invitations else ""
        click.echo(f"Each device makes a key when its link is opened; `psephos serve --web` waits for all{others}")
    elif drawn_session.invitations:
        note = "a file for each of the others" if has_links else "a file for each of them"
        if has_made_keys:
            note += ", with its private key, for it alone. Whoever has made the keys could take anybody's seat"
        click.echo(f"{folder / 'invitations'}: {note}")


def _replace_link(side: "ServerRun", party: str, folder: Path | None, *, others: "Mapping[str, object]") -> None:
    from ...protocol.errors import refuse
    from ..deployment.links import replace_link
    from ..deployment.server import JOURNAL_FILE
    from ..running.rosters import ROSTER_FILE, SIGNATURE_COLUMN

    for field, value in others.items():
        refuse(value, field, "given", "left out beside --replace, which changes a roster that is there")
    refuse(folder is None or not folder.is_dir(), "--out", str(folder or "left out"), "the folder of the roster")
    folder = Path(folder or ".")
    allowed = "The list of voters is closed with the keys of their devices. Draw up a new roster to vote again."
    head = (folder / ROSTER_FILE).read_text(encoding="utf-8").partition("\n")[0]  # whatever the scenario says
    refuse(SIGNATURE_COLUMN in head, "--replace", party, allowed)
    path = replace_link(folder, party, side.names, folder / JOURNAL_FILE)
    click.echo(f"{path}: a new link for {party}, for it alone; the old one opens nothing any more")


@cli.command(short_help="Revoke PARTY's certificate.")
@click.argument("party")
@folder_option("--roster", "folder", required=True, help="The session's folder.")
def revoke(party: str, folder: Path) -> None:
    """Revoke PARTY's certificate, for example because its key was lost.

    To apply it, stop `serve` and start the same command again. Reports that the party has sent stay counted. The
    session continues without it if the quorum allows; otherwise draw up a new roster.

    \b
    psephos revoke Germany --roster vote
    """  # noqa: D301  the character makes click keep the lines
    from ...protocol.errors import ConfigurationError
    from ..deployment.invitations import revoke as put_down
    from ..deployment.links import read_links

    try:
        fingerprint, names = put_down(folder, party)
    except ConfigurationError as error:
        if read_links(folder) is None or error.field != "INVITATION":
            raise
        replace = f"psephos roster SCENARIO --replace {shlex.quote(party)} --out {shlex.quote(str(folder))}"
        allowed = f"{error.allowed} Does it vote by a link? Then replace that: {replace}"
        raise ConfigurationError(field="PARTY", value=party, allowed=allowed) from None
    others_part = f" and {len(names) - 1:,} more of its host" if len(names) > 1 else ""
    click.echo(f"{party}{others_part}: certificate {fingerprint} opens nothing, once the server has begun again")
