"""`enroll` and `roster`: keys and certificates, before a session whose parties are processes of their own."""

from pathlib import Path

import click

from .group import cli
from .options import file_option, folder_option, load, make_folder, scenario_options, warn


@cli.command(short_help="Make PARTY's keys, which stay with it.")
@click.argument("party")
@folder_option("--out", help="Where to (default: a folder of the party's name and a digest of it).")
@click.option(
    "--days", type=click.FloatRange(min=0, min_open=True), default=365.0, help="How long they are good (365)."
)
@file_option(
    "--parties", help="PARTY is the host of the parties in this CSV of a scenario: its keys are those of all of them."
)
def enroll(party: str, out: Path | None, days: float, parties: Path | None) -> None:
    """Make PARTY's keys, for TLS and for signatures, and what it hands to whoever draws up the roster.

    The private keys stay in the folder, and nobody else needs them. enrollment.json is public: hand it over by a way
    that you trust, and compare the fingerprint by another one. A host, with --parties, speaks for all of its parties.

    \b
    psephos enroll Germany
    psephos enroll Hospital --parties patients.csv
    psephos roster eu-council --enrolled enrollments --address votes.example.org:7000 --out vote
    """  # noqa: D301  click reads the character, by which it leaves the lines as they are
    from ..deployment.keys import ENROLLMENT_FILE, KEY_FILE, parties_in, stem_of
    from ..deployment.keys import enroll as make

    folder = Path(stem_of(party)) if out is None else out
    made = make(party, folder, days=days, parties=() if parties is None else parties_in(parties))
    click.echo(f"{folder / KEY_FILE}: {party}'s key, good until {made.until:%Y-%m-%d}; keep it to yourself")
    click.echo(f"{folder / ENROLLMENT_FILE}: hand it to whoever draws up the roster")
    click.echo(f"certificate {made.fingerprint}")


@cli.command(short_help="Write the roster of a session, with each party's certificate.")
@scenario_options
@folder_option("--out", help="The folder to write (default: a new one below runs/).")
@folder_option("--enrolled", help="The parties' enrollments, as `psephos enroll` makes them.")
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
    from ...protocol.errors import require
    from ...protocol.roles import SessionKind
    from ...transports.tcp import TCPTransport
    from ..deployment import draw_session, read_enrollments, write_session
    from ..deployment.common import naming_address
    from ..deployment.server import roster_rows
    from ..running.forecasts import forecast
    from ..running.resolution import resolve_served

    value = "both given" if make_keys else "both left out"
    allowed = "one of them: the parties' own keys, or keys that are made here for all of them"
    require((enrolled is None) is make_keys, "--enrolled and --make-keys", value, allowed)
    with naming_address(address, field="--address"):
        TCPTransport().stays_on_this_machine(address)
    side = resolve_served(load(scenario, settings, data))
    told = forecast(side.protocol, side.inputs)
    drawn = draw_session(
        side.protocol,
        side.roster,
        session=side.scenario.name,
        kind=SessionKind.SIMULATION if simulate else SessionKind.DEPLOYMENT,
        address=address,
        days=days,
        enrolled=None if enrolled is None else read_enrollments(enrolled),
        forecast=told,
    )
    folder = make_folder(out, side.scenario.name)
    folder.write_table("roster.csv", roster_rows(side, drawn.roster), is_exact=True)
    write_session(folder.path, drawn)
    warn(told)
    click.echo(f"{folder.path}: for the server of {len(drawn.roster):,} {side.protocol.client_role}s; its key is in it")
    told = "a file for each of them"
    if make_keys:
        told += ", with its private key, for it alone. Whoever has made the keys could take anybody's seat"
    click.echo(f"{folder.path / 'invitations'}: {told}")


@cli.command(short_help="Let PARTY's certificate open nothing any more.")
@click.argument("party")
@folder_option("--roster", "folder", required=True, help="The session's.")
def revoke(party: str, folder: Path) -> None:
    """Let PARTY's certificate open nothing any more in the session of FOLDER, as when its key is somebody else's.

    It counts from the next start of the server on: stop `serve`, and start it again with the same words. What the party
    has reported stands. The session goes on without it where its quorum allows that; else draw it up anew.

    \b
    psephos revoke Germany --roster vote
    """  # noqa: D301  click reads the character, by which it leaves the lines as they are
    from ..deployment.invitations import revoke as put_down

    fingerprint, names = put_down(folder, party)
    others = f" and {len(names) - 1:,} more of its host" if len(names) > 1 else ""
    click.echo(f"{party}{others}: certificate {fingerprint} opens nothing, once the server has begun again")
