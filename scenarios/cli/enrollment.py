"""`enroll` and `roster`: keys and certificates, before a session whose parties are processes of their own."""

from pathlib import Path

import click

from .group import cli
from .options import file_option, folder_option, load, make_folder, scenario_options, warn


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
    """  # noqa: D301  click reads the character, by which it leaves the lines as they are
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
    address: str,
    days: float,
    *,
    make_keys: bool,
    simulate: bool,
) -> None:
    """Draw up the roster of SCENARIO: who takes part, with which certificate.

    The folder is the server's: it has roster.csv, the session's id, the parties' certificates, and the server's key.
    Send each party its file in invitations/, which has the session's terms and the server's certificate. With
    --make-keys it also has the party's private key, and is for that party only.

    \b
    psephos roster eu-council --enrolled enrollments --out vote
    psephos serve eu-council --roster vote
    psephos join vote/invitations/01-germany.json --input germany.csv
    """  # noqa: D301  click reads the character, by which it leaves the lines as they are
    from ...protocol.errors import require
    from ...protocol.roles import SessionKind
    from ...transports.tcp import TCPTransport
    from ..deployment import draw_session, read_enrollments, write_session
    from ..deployment.common import name_address_in_errors
    from ..deployment.server import roster_rows
    from ..running.forecasts import forecast
    from ..running.resolution import resolve_served

    allowed = "Add one of them. --enrolled FOLDER has the parties' own keys; --make-keys makes all keys here."
    require((enrolled is None) is make_keys, "--enrolled or --make-keys", enrolled, allowed)
    with name_address_in_errors(address, field="--address"):
        TCPTransport().stays_on_this_machine(address)
    side = resolve_served(load(scenario, settings, data))
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
    )
    folder = make_folder(out, side.scenario.name)
    folder.write_table("roster.csv", roster_rows(side, drawn_session.roster), is_exact=True)
    write_session(folder.path, drawn_session)
    warn(forecast_text)
    click.echo(
        f"{folder.path}: for the server of {len(drawn_session.roster):,} {side.protocol.client_role}s; its key is in it"
    )
    forecast_text = "a file for each of them"
    if make_keys:
        forecast_text += ", with its private key, for it alone. Whoever has made the keys could take anybody's seat"
    click.echo(f"{folder.path / 'invitations'}: {forecast_text}")


@cli.command(short_help="Revoke PARTY's certificate.")
@click.argument("party")
@folder_option("--roster", "folder", required=True, help="The session's folder.")
def revoke(party: str, folder: Path) -> None:
    """Revoke PARTY's certificate, for example because its key was lost.

    To apply it, stop `serve` and start the same command again. Reports that the party has sent stay counted. The
    session continues without it if the quorum allows; otherwise draw up a new roster.

    \b
    psephos revoke Germany --roster vote
    """  # noqa: D301  click reads the character, by which it leaves the lines as they are
    from ..deployment.invitations import revoke as put_down

    fingerprint, names = put_down(folder, party)
    others_part = f" and {len(names) - 1:,} more of its host" if len(names) > 1 else ""
    click.echo(f"{party}{others_part}: certificate {fingerprint} opens nothing, once the server has begun again")
