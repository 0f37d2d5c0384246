"""`join`: take part in a session as one party."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .asking import ask_invitation, ask_keys, ask_own, use_or_ask
from .group import cli
from .options import (
    file_option,
    folder_option,
    json_option,
    make_folder,
    out_option,
    print_json,
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

    from ..deployment import CheckedInvitation, Invitation, TLSKeys
    from ..deployment.client import JoinResult


def _read_period(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Return an option's period in seconds."""
    from ..reading.times import read_period

    del context
    return None if value is None else read_period(value, field=parameter.opts[0])


@cli.command(short_help="Take part in a session as one party.")
@click.argument("invitation_or_address", metavar="INVITATION", required=False)
@transport_option
@click.option("--as", "party", metavar="PARTY", help="Your name on the roster, if the invitation does not have it.")
@file_option(
    "--input",
    "input_file",
    help="A CSV of your values: a header and one line. A worker has task,label and a line for each answer; "
    "a voter of moral preferences has record,choice,FEATURES and two lines for each record. Without it, a terminal "
    "asks for the values one by one.",
)
@folder_option("--key", help="The folder of your keys from `psephos enroll` (default: the one of your name).")
@click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="Your public choice where the session offers one, such as your epsilon among its levels. May be repeated; "
    "without it, a terminal asks. With --parties, VALUE is a CSV file with each party's choice.",
)
@file_option(
    "--parties",
    help="Take part as a host, for all parties in this CSV of names and values, over one connection. INVITATION is "
    "the folder of their invitations, and --key the host's.",
)
@click.option("--address", metavar="HOST:PORT", help="The server's address (default: as in the invitation).")
@file_option(
    "--invitation", "invitation_file", help="Over tcp: the agreed terms. INVITATION is then the server's address."
)
@click.option(
    "--budget",
    type=float,
    metavar="EPSILON",
    help="The most that this session and all others in the journal may cost together, for replace-one neighbors "
    "(default: 10 without an invitation).",
)
@click.option(
    "--budget-period",
    "budget_period_seconds",
    metavar="LENGTH",
    callback=_read_period,
    help="Apply --budget to any period of this length, such as '7 days', by the journal's times.",
)
@click.option(
    "--budget-in-all",
    type=float,
    metavar="EPSILON",
    help="With --budget-period: the most that all sessions in the journal may cost together.",
)
@file_option(
    "--journal",
    envvar="PSEPHOS_JOURNAL",
    help="Your journal over all sessions, or a folder with one for each name (default: your user's own; "
    "PSEPHOS_JOURNAL).",
)
@witness_option
@click.option(
    "--trust-server",
    "trusts_server",
    is_flag=True,
    help="Allow the central model, in which the server sees your values.",
)
@simulate_options
@click.option(
    "--patience",
    "patience_seconds",
    type=float,
    default=3600.0,  # `agents.client.PATIENCE_SECONDS`
    metavar="SECONDS",
    help="How long to wait for a server that is silent or cannot be reached (default: 3600; inf for no limit).",
)
@click.option(
    "--round", "round_number", type=click.IntRange(min=0), default=0, help="The round of a repeated simulation."
)
@out_option
@json_option("the outcome as JSON")
@report_option
def join(
    invitation_or_address: str | None,
    party: str | None,
    input_file: Path | None,
    key: Path | None,
    settings: tuple[str, ...],
    parties: Path | None,
    address: str | None,
    invitation_file: Path | None,
    journal: Path | None,
    witness: Path | None,
    out: Path | None,
    *,
    simulate: bool,
    as_json: bool,
    with_report: bool,
    **options: Any,  # fields of `Joining`
) -> None:
    """Take part in the session of INVITATION as one party, with your own values.

    Before it draws noise or sends anything, `join` checks the server's certificate and terms against the invitation.

    Over tcp, INVITATION is the server's address on this machine. Without --invitation, `join` then asks the server for
    its terms, shows them, and leaves if the session costs more than --budget. Such a server learns whether your values
    are among those that its terms allow. In the central model the server sees your values; add --trust-server to allow
    it.

    \b
    psephos join vote/invitations/01-germany.json --input germany.csv
    psephos join vote/invitations --parties patients.csv --key hospital
    psephos join 127.0.0.1:7000 --transport tcp --as Germany --input germany.csv --simulate --seed 345
    """  # noqa: D301  the character makes click keep the lines
    from ...protocol.errors import ConfigurationError, require
    from ...protocol.roles import check_party_name
    from ..deployment import Joining, join_in_folder
    from ..deployment.common import check_address, check_seed, find_transport
    from ..deployment.journals import check_free, open_journal
    from ..deployment.keys import slug_of
    from ..presentation import make_console
    from ..verdicts import outcome_to_dict
    from .hosting import host, show_agreement, tell_of_loss, tell_of_new_journal

    check_seed(simulate=simulate, seed=options["seed"])
    require(
        options["patience_seconds"] > 0,
        "--patience",
        options["patience_seconds"],
        "a positive number of seconds, or inf",
    )
    transport, trusts_server = options["transport"], options["trusts_server"]
    if parties is not None:
        host(
            parties,
            Path(invitation_or_address or ""),
            key or Path(),
            address,
            choices=settings,
            of_one={"--as": party, "--input": input_file, "--invitation": invitation_file},
            options=options,
            kept=(journal, witness),
            out=out,
            as_json=as_json,
            report=with_report,
        )
        return
    if party is not None:
        check_party_name(party, field="--as")
    party, server_address, invitation, keys = _ask_who_joins(
        invitation_or_address, transport=transport, party=party, address=address, key=key, file=invitation_file
    )
    check_address(server_address, field="the server's address", transport=find_transport(transport, keys=keys))
    for warning in () if keys is None else keys.warn_of_expiry(dict.fromkeys(keys.fingerprints, "the server")):
        click.echo(f"warning: {warning}", err=True)
    forecast_text = "" if invitation is None else invitation.forecast
    is_asked = input_file is None and sys.stdin.isatty()
    warn(forecast_text * is_asked, err=as_json)
    check_free(journal, party=party, is_simulation=simulate, witness=witness)  # before any question
    entries, choices = ask_own(input_file, settings, party=party, invitation=invitation, trusts_server=trusts_server)
    with open_journal(journal, party=party, is_simulation=simulate, witness=witness) as kept:
        joining = Joining(
            address=server_address,
            party=party,
            entries=entries,
            invitation=invitation,
            choices=choices,
            keys=keys,
            journal=kept,
            **options,
        )
        try:
            joining.agree_beforehand()  # what can be refused without the server creates no folder
        except ConfigurationError as error:
            if input_file is None or error.field not in {"column", *entries}:
                raise
            field = f"{input_file.name}: {error.field}"
            raise ConfigurationError(field=field, value=error.value, allowed=error.allowed) from None
        warn(forecast_text * (not is_asked), err=as_json)
        folder = make_folder(out, f"as-{slug_of(party)}")
        console = make_console()
        agreements: list[CheckedInvitation] = []

        def tell(agreement: "CheckedInvitation") -> None:
            agreements.append(agreement)
            if not as_json:
                show_agreement(console, agreement)
                tell_of_new_journal(console, kept)

        with leave_page(folder, is_wanted=with_report):
            result = join_in_folder(joining, folder, on_agreed=tell, on_loss=tell_of_loss)
    if as_json:
        print_json(outcome_to_dict(result.outcome))
        return
    _show_heard(console, result, agreements[0])
    tell_folder(console, folder)


def _show_heard(console: "Console", result: "JoinResult", agreement: "CheckedInvitation") -> None:
    """Print a party's outcome and privacy loss."""
    from ..presentation import show_outcome, show_verdict
    from ..running.report import show_privacy

    show_verdict(console, result.outcome)
    show_outcome(console, result.outcome, table="outcome.json")
    if result.own is not None:
        console.print()
        show_verdict(console, result.own)
        show_outcome(console, result.own)
    show_privacy(console, agreement.protocol, public=agreement.terms.public, kept_phases=agreement.recalled)
    if result.late_phase is not None:
        late = f"Late: phase {result.late_phase!r} closed without a report of yours"
        console.print(f"\n{late}", soft_wrap=True)
    tell_transcript(console, result.transcript)


def _ask_who_joins(
    invitation_or_address: str | None,
    *,
    transport: str,
    party: str | None,
    address: str | None,
    key: Path | None,
    file: Path | None,
) -> "tuple[str, str, Invitation | None, TLSKeys | None]":
    """Return party, address, invitation and keys: from options, from the invitation, or from answers."""
    from ...protocol.roles import check_party_name
    from ..deployment import find_invitation

    invitation, keys = None, None
    if transport == "tls":
        invitation, keys = _open_invitation(invitation_or_address, party=party, key=key)
        server_address = address or invitation.address
    else:
        server_address = use_or_ask(
            invitation_or_address, field="INVITATION", question="The server's address (HOST:PORT)", use=str
        )
        invitation = None if file is None else find_invitation(file, party=party)
    if party is None and invitation is not None:
        party = invitation.party
    party = use_or_ask(
        party, field="--as", question="Your name on the roster", use=lambda name: check_party_name(name, field="--as")
    )
    return party, server_address, invitation, keys


def _open_invitation(source: str | None, *, party: str | None, key: Path | None) -> "tuple[Invitation, TLSKeys]":
    """Return an invitation and the party's key."""
    from ..deployment.keys import stem_of

    path, invitation = ask_invitation(source, party=party)
    folder = path if path.is_dir() else path.parent
    name = stem_of(invitation.party)
    candidates = [Path(name), folder / name, Path()] if key is None else [key]
    return invitation, ask_keys(invitation, candidates)
