"""`join --parties`: join a session as all parties of a host."""

import collections
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Final

import click

from .options import make_folder, print_json, tell_folder, tell_transcript, warn
from .reports import leave_page

if TYPE_CHECKING:
    from rich.console import Console

    from ...agents.person_journal import PersonJournal
    from ..deployment import CheckedInvitation
    from ..deployment.hosting import HostResult

_WIDEST_PUBLIC: Final = 60
"""Most characters of a public entry in a heading."""


def host(
    parties: Path,
    invitations: Path,
    key: Path,
    address: str | None,
    *,
    choices: Sequence[str],
    of_one: Mapping[str, object],
    options: Mapping[str, Any],
    kept: tuple[Path | None, Path | None],
    out: Path | None,
    as_json: bool,
    report: bool,
) -> None:
    """Take part as all parties of a host.

    Args:
        choices: as in `read_hosted`.
        of_one: options that were given, but apply to a single party only.
        options: other fields that their `Joining` have in common.
        kept: the given paths of the journal and its rollback guard.
    """
    from ...protocol.errors import ConfigurationError, quote, refuse
    from ..deployment import Joining
    from ..deployment.common import check_address, find_transport
    from ..deployment.hosting import host_in_folder, open_host_journal, read_hosted
    from ..presentation import make_console, show_outcome, show_verdict
    from ..running.report import show_privacy
    from ..verdicts import outcome_to_dict

    allowed = "'tls' beside --parties: the roster's certificates say whose host it is"
    refuse(options["transport"] != "tls", "--transport", options["transport"], allowed)
    for field, value in of_one.items():
        refuse(bool(value), field, str(value), "left out beside --parties, whose file has names and values")
    invited, entries = read_hosted(parties, invitations, choices)
    first = next(iter(invited.values()))
    warn(first.forecast, err=as_json)
    keys = first.find_keys([key])
    transport = find_transport(options["transport"], keys=keys)
    check_address(address or first.address, field="the server's address", transport=transport)
    for warning in keys.warn_of_expiry(dict.fromkeys(keys.fingerprints, "the server")):
        click.echo(f"warning: {warning}", err=True)
    with open_host_journal(kept[0], is_simulation=options["seed"] is not None, witness=kept[1]) as journal:
        joining = [
            Joining(
                address=address or each.address,
                party=party,
                entries=entries[party],
                invitation=each,
                keys=keys,
                journal=None if journal is None else journal.person_journal(party),
                **options,
            )
            for party, each in invited.items()
        ]
        agreements: list[CheckedInvitation] = []
        for each in joining:
            try:
                agreements += filter(None, [each.agree_beforehand()])
            except ConfigurationError as error:
                field = f"{error.field} ({each.party})"
                raise ConfigurationError(field=field, value=error.value, allowed=error.allowed) from None
        dearest = max(agreements, key=lambda each: each.cost)
        folder, console = make_folder(out, f"as-{len(joining)}-parties"), make_console()
        if not as_json:
            show_agreement(console, dearest, num_parties=len(joining))
            tell_of_new_journal(console, joining[0].journal)
        with leave_page(folder, is_wanted=report):
            host_result = host_in_folder(
                joining, folder, journal=journal, on_loss=tell_of_loss, on_failure=_tell_of_failures
            )
    result = host_result.fullest
    if as_json:
        print_json(outcome_to_dict(result.outcome))
    else:
        show_verdict(console, result.outcome)
        show_outcome(console, result.outcome, table="outcome.json")
        show_privacy(console, dearest.protocol, public=dearest.terms.public, kept_phases=dearest.recalled)
        late = collections.Counter(
            each.late_phase for each in host_result.heard.values() if each.late_phase is not None
        )
        for phase, number in late.items():
            warning = f"Late: phase {phase!r} closed without {number:,} of {len(joining):,} parties, see parties.csv"
            console.print(f"\n{warning}", soft_wrap=True)
        tell_transcript(console, result.transcript)
        tell_folder(console, folder)
    if host_result.failures:
        party, error = next(iter(host_result.failures.items()))
        number = f"{len(host_result.failures):,} of {len(joining):,} parties did not hear the outcome"
        raise SystemExit(f"psephos: {number}, such as {quote(party)}: {error}")


def tell_of_loss(error: Exception) -> None:
    """Print why the connection is tried again."""
    click.echo(f"trying again: {error}", err=True)


def _tell_of_failures(host_result: "HostResult") -> None:
    party, error = next(iter(host_result.failures.items()))
    click.echo(f"going on without {len(host_result.failures):,} of the parties, such as {party!r}: {error}", err=True)


def tell_of_new_journal(console: "Console", kept: "PersonJournal | None") -> None:
    """Print where a new journal was created."""
    if kept is not None and kept.is_new:
        console.print(f"\nJournal: {kept.path}, begun now; it knows of no earlier loss.", soft_wrap=True)


def show_agreement(console: "Console", agreement: "CheckedInvitation", *, num_parties: int = 1) -> None:
    """Print what a party, or each of several, agrees to."""
    import numpy as np

    from ...protocol.errors import printable, quote
    from ...protocol.privacy import NeighboringRelation
    from ..running.report import show_heading
    from ..running.statements import trust_in
    from ..verdicts import at_most

    terms = agreement.terms
    public = agreement.protocol.write_public(np.array([terms.public], dtype=np.int64))
    relations = {loss.relation for loss in agreement.losses}
    relation_note = " for replace-one neighbors" if NeighboringRelation.ADD_OR_REMOVE_ONE in relations else ""
    shown_entries = {column: shorten(entries[0], _WIDEST_PUBLIC, placeholder="…") for column, entries in public.items()}
    party, counted_entries = terms.party, agreement.protocol.write_counted(agreement.row, terms.public)
    if num_parties > 1:
        party, shown_entries, counted_entries = (
            f"{num_parties:,} {agreement.protocol.client_role}s",
            dict[str, str](),
            dict[str, str](),
        )
    facts = [
        f"as {party}",
        # Public entries in the server's words, shortened, since a worker may have hundreds of tasks.
        *(f"{column} {entry}" for column, entry in shown_entries.items()),
        *(f"{column} counts as {entry}" for column, entry in counted_entries.items()),
        f"protocol {terms.protocol}",
        terms.kind,
        f"costs epsilon = {at_most(agreement.cost)} in all{relation_note}",
        *(
            f"{phase}: kept from session {quote(each.session)} of {each.report.scope}, nothing paid"
            for phase, each in agreement.recalled.items()
        ),
    ]
    title, trust = f"Session {printable(terms.session)}", trust_in(agreement.protocol)
    show_heading(console, title=title, facts=facts, description="", trust=trust)
