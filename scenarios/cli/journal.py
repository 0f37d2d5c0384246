"""`journal`: back up and restore a person's journal; and show it for `ledger`."""

import collections
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from .group import cli
from .options import file_option, witness_option

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from rich.console import Console

    from ...agents.journal_format import About
    from ...agents.person_journal import SessionRecords
    from ...agents.rollback_guard import RollbackGuard
    from ...protocol.privacy import LedgerEntry

_MOST_NAMED: Final = 3
"""Most parties of a host that are named in a row of a table; others are counted."""
_CommandT = TypeVar("_CommandT", bound="Callable[..., Any]")


def _journal_option(command: _CommandT) -> _CommandT:
    option = file_option(
        "--journal",
        "path",
        envvar="PSEPHOS_JOURNAL",
        help="The journal (default: your user's own; PSEPHOS_JOURNAL).",
    )
    return option(witness_option(command))


@cli.group(short_help="Back up or restore your journal, or release a reserved budget.")
def journal() -> None:
    """Back up or restore your journal, or release the budget that a session has reserved.

    `psephos join` writes what you reserved, drew and sent in every session into your journal. It is your ledger, shown
    by `psephos ledger`, and it keeps any report from being drawn twice. Keep a single one, and copy it only with
    `backup`. A host's journal (`join --parties`) is host.sqlite in the same folder: name it with --journal.
    """


@journal.command(short_help="Write a backup to FILE.")
@click.argument("target", type=click.Path(path_type=Path), metavar="FILE")
@_journal_option
def backup(target: Path, path: Path | None, witness: Path | None) -> None:
    """Write a backup of the journal to FILE, also while it is in use.

    A backup lacks all losses after it was made, so back up after each session.
    """
    from ..deployment.journal_care import back_up

    place, rollback_guard = _find_journal(path, witness)
    num_records = back_up(place, target, witness=rollback_guard)
    click.echo(f"{target}: {num_records:,} records, as of now")


@journal.command(short_help="Replace a lost journal by the backup FILE.")
@click.argument("source", type=click.Path(path_type=Path), metavar="FILE")
@_journal_option
@click.option("--accept-unknown-losses", is_flag=True, help="Accept that losses after the backup are unknown.")
def restore(source: Path, path: Path | None, witness: Path | None, *, accept_unknown_losses: bool) -> None:
    """Replace a lost or damaged journal by the backup FILE.

    The budget then ignores all losses after the backup. You cannot join the sessions in the backup again: they may have
    drawn a report since, which would be drawn a second time.
    """
    from ..deployment.journal_care import restore as put_back

    place, rollback_guard = _find_journal(path, witness, like=source)
    aside = put_back(source, place, accepts_unknown_losses=accept_unknown_losses, witness=rollback_guard)
    click.echo(f"{place}: restored; losses after the backup are unknown")
    if aside is not None:
        click.echo(f"{aside}: what was there before")


@journal.command(short_help="Release the budget that SESSION has reserved.")
@click.argument("session")
@_journal_option
def leave(session: str, path: Path | None, witness: Path | None) -> None:
    """Release the budget that SESSION, a name or id, has reserved and that you will not use.

    A session that ends or expires releases its budget by itself. Privacy already spent stays spent. If you join the
    session again, it reserves anew and sends the same reports. In a host's journal, this releases the budget of all its
    parties.
    """
    from ..deployment.journal_care import leave as free_room

    place, rollback_guard = _find_journal(path, witness)
    free_room(place, session, now=time.time(), witness=rollback_guard)
    click.echo(f"{place}: session {session} holds no room any more")


def _find_journal(path: Path | None, witness: Path | None, *, like: Path | None = None) -> "tuple[Path, RollbackGuard]":
    from ..deployment.journals import default_journal, witness_of

    place = default_journal(like=like) if path is None else path
    return place, witness_of(witness, place)


def show_journal(
    console: "Console | None", path: Path, *, witness: Path | None = None, party: str | None = None
) -> "list[LedgerEntry]":
    """Return all losses in a journal, in order, as entries of its person, or of each party of a host.

    Args:
        console: prints the sessions with their state, cost and reserved budget; None prints nothing.
        party: the only party to return from a host's journal; a person's journal belongs to one person under all names.

    Raises:
        JournalError: it cannot be read, or is neither a person's nor a host's journal.
        ConfigurationError: a host's journal has no such party.
    """
    import msgspec

    from ...agents.host_journal import HOST, OF_PARTIES
    from ...agents.person_journal import read_sessions
    from ...protocol.errors import refuse
    from ..deployment.journals import witness_of

    journal_facts, by_id = read_sessions(path, kind=OF_PARTIES, witness=witness_of(witness, path))
    sessions, is_hosts = [each for each in by_id.values() if each.first is not None], journal_facts.kind == HOST
    if is_hosts and party is not None:
        sessions = [each for each in sessions if each.first is not None and each.first.party == party]
        refuse(not sessions, "--party", party, f"a party with a session in the host's journal {path}")
    if console is not None:
        _show_sessions(console, sessions, now=time.time(), is_hosts=is_hosts)
        _show_history(console, journal_facts)
        console.print()
    entries = [entry for each in sessions for entry in each.entries]
    if is_hosts:
        return entries
    names = ", ".join(dict.fromkeys(each.first.party for each in sessions if each.first is not None))
    return [msgspec.structs.replace(entry, person=names) for entry in entries]


def _show_sessions(console: "Console", sessions: "Collection[SessionRecords]", *, now: float, is_hosts: bool) -> None:
    """Print the sessions of a journal; a host's parties with equal sessions share a row."""
    from rich.text import Text

    from ...agents.host_journal import id_of
    from ...protocol.privacy import NeighboringRelation, total_of
    from ..presentation.terminal import show_table
    from ..tables import Table
    from ..verdicts import at_most

    names_of_state: dict[tuple[str, ...], list[str]] = {}
    room = collections.defaultdict[str, float](float)
    kept_before: dict[str, None] = {}
    for each in sessions:
        if each.first is None:
            continue
        paid_epsilon, held_epsilon = (
            total_of(entries, relation=NeighboringRelation.REPLACE_ONE).proven
            for entries in (each.entries, each.held_entries(now))
        )
        name, party = each.first.session, each.first.party
        room[party if is_hosts else ""] += held_epsilon
        kept_counts = f"{each.num_acknowledged} of {each.num_drawn}"
        row = (
            id_of(each.session_id),
            name,
            _state_of(each, now),
            kept_counts,
            f"{paid_epsilon:g}",
            f"{held_epsilon:g}",
        )
        names_of_state.setdefault(row, []).append(party)
        for report in each.reports_kept:
            if report.kept is not None and not report.entries:
                where_kept = f"kept from an earlier session of {report.kept.scope}, nothing paid"
                kept_before[f"  {name}: {report.kept.phase} {where_kept}"] = None
    rows = [
        (name, ", ".join(parties) if len(parties) <= _MOST_NAMED else f"{len(parties):,} parties", *numbers)
        for (_, name, *numbers), parties in names_of_state.items()
    ]
    columns = ("Session", "As", "State", "Reports at server", "ε lost", "ε reserved")
    show_table(console, Table(columns=columns, rows=rows, labels=3), drop=("As",))
    for line in kept_before:
        console.print(Text(line), soft_wrap=True)
    owner_note = " of each party at most" if is_hosts and len(room) > 1 else ""
    reserved = f"  reserved by sessions under way: ε = {at_most(max(room.values(), default=0.0))}{owner_note}"
    console.print(Text(reserved, style="bold"))


def _show_history(console: "Console", journal_facts: "About") -> None:
    """Print which losses may be missing from a journal that is a backup, or was restored from one."""
    from ..deployment.common import utc
    from ..presentation.terminal import show_note

    if journal_facts.unsure_rows or journal_facts.unsure_since:  # an empty backup has no rows
        age = f"of {utc(journal_facts.unsure_since)}" if journal_facts.unsure_since else "of a time that nobody knows"
        show_note(console, f"restored from a backup {age}: what was lost after that is not here", style="yellow")
    if journal_facts.backup_of:
        show_note(
            console, f"a backup of {utc(journal_facts.backup_of)}: what was lost after that is not here", style="yellow"
        )


def _state_of(session: "SessionRecords", now: float) -> str:
    if session.end_record is not None:
        return "released" if not session.end_record.reason else "left"
    return "expired" if session.has_expired(now) else "under way"
