"""Join a session as a host: many parties of one organization, in one process and over one connection."""

import collections
import contextlib
import dataclasses
import functools
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import trio

from ...agents.client import answer_seconds
from ...agents.driver import LINGER_SECONDS
from ...agents.events import Log
from ...agents.host_journal import HostJournal
from ...protocol.errors import ConfigurationError, JournalError, PsephosError, refuse
from ...protocol.phases import PhasedProtocol
from ...protocol.privacy import LedgerEntry
from ...transports.shared import SharedTransport
from ..reading.text_forms import read_rows
from ..running.folder import RunFolder
from ..running.limits import calm_collector
from ..running.parties import read_parties
from ..running.writing import open_run
from ..system import find_protocol
from ..verdicts import outcome_to_dict
from .agreement import Joining, protocol_of
from .client import JoinResult, describe, join
from .common import find_transport
from .invitations import Invitation, read_invitations
from .journals import HOST_FILE, default_journal, witness_of
from .own_entries import read_entries_of_many

__all__ = ["HostResult", "host", "host_in_folder", "open_host_journal", "read_hosted"]

_MOMENT_SECONDS: Final = 0.5
"""Seconds within which all parties end if the session ends."""


@dataclasses.dataclass
class HostResult:
    """The results of a host's parties.

    Args:
        heard: results of the parties that received the release, by party.
        failures: maps each other party to the reason.
        paid: ledger entries of all parties.
    """

    heard: dict[str, JoinResult] = dataclasses.field(default_factory=dict[str, JoinResult])
    failures: dict[str, Exception] = dataclasses.field(default_factory=dict[str, Exception])
    paid: list[LedgerEntry] = dataclasses.field(default_factory=list[LedgerEntry])

    @property
    def fullest(self) -> JoinResult:
        """The most complete result; a party that was late has no transcript."""
        return max(self.heard.values(), key=lambda result: result.transcript or "")


def read_hosted(
    parties: Path, invitations: Path, choices: Sequence[str] = ()
) -> tuple[dict[str, Invitation], dict[str, Mapping[str, Any]]]:
    """Return the invitations and the entries of a host's parties, by party.

    Args:
        parties: file of the parties' values, as in a scenario.
        invitations: folder that contains their invitations.
        choices: strings NAME=FILE: the CSV file has each party's choice for a public column that parties choose.

    Raises:
        ConfigurationError: a file cannot be read, a party has no invitation or no choice, two parties differ in session
            or host, or the session is masked.
    """
    invitations_by_party = read_invitations(invitations)
    first = next(iter(invitations_by_party.values()))
    kind, protocol = find_protocol(first.protocol), protocol_of(first, trusts_server=True)  # trust is checked later
    allowed = "left out in a masked session, where a host could take masks off: let each party join by itself"
    refuse(protocol.masked_phase is not None, "--parties", str(parties), allowed)
    entries = read_entries_of_many(parties, kind, field="--parties") or _read_lines(parties, kind, first.parameters)
    entries = _with_choices(entries, choices, protocol)
    found_invitations: dict[str, Invitation] = {}
    for name in entries:
        refuse(
            name not in invitations_by_party,
            f"{kind.client_role} of --parties",
            name,
            f"a party with an invitation in {invitations}",
        )
        found_invitations[name] = each = invitations_by_party[name]
        first = next(iter(found_invitations.values()))
        same = (each.session_id, each.roster, each.certificate) == (first.session_id, first.roster, first.certificate)
        allowed = f"a party of the session and the host of {first.party!r}: enroll all of them by --parties"
        refuse(not same, f"{kind.client_role} of --parties", name, allowed)
    return found_invitations, entries


def _with_choices(
    entries: Mapping[str, Mapping[str, Any]], choices: Sequence[str], protocol: PhasedProtocol[Any, Any]
) -> dict[str, Mapping[str, Any]]:
    role, open_columns = protocol.client_role, [column.name for column in protocol.columns() if column.chosen]
    choices_of_party: dict[str, dict[str, Any]] = {party: {} for party in entries}
    for choice in choices:
        column, _, file = choice.partition("=")
        refuse(
            column not in open_columns,
            "--set",
            choice,
            f"NAME=FILE beside --parties, NAME one of {open_columns or 'none here'}",
        )
        for line, (name, entry) in read_rows(Path(file), role, column, field="--set"):
            own = choices_of_party.setdefault(party := name.strip(), {})
            is_one = party in entries and column not in own
            refuse(not is_one, f"{role} ({file} line {line})", party, "a party of --parties, named once")
            own[column] = entry.strip()
    entries_with_choices: dict[str, Mapping[str, Any]] = {
        party: {**own, **choices_of_party[party]} for party, own in entries.items()
    }
    for party, own in entries_with_choices.items():
        for column in open_columns:
            allowed = f"--set {column}=FILE, a CSV file of {role},{column} with a line for each party"
            refuse(column not in own, f"{column} ({party})", "left out", allowed)
    return entries_with_choices


def _read_lines(
    parties: Path, kind: type[PhasedProtocol[Any, Any]], parameters: Mapping[str, Any]
) -> dict[str, Mapping[str, Any]]:
    try:
        table = read_parties(str(parties), parameters=parameters, protocol=kind)
    except ConfigurationError as error:
        if error.field != f"{kind.client_role}s":
            raise
        raise ConfigurationError(field="--parties", value=error.value, allowed=error.allowed) from None
    for name in sorted(table.fixed):
        allowed = f"{parameters[name]}, as the session has them, in this order"
        refuse(table.parameters[name] != parameters[name], f"{name} of --parties", table.parameters[name], allowed)
    columns = list(table.table)
    rows = zip(*table.table.values(), strict=True) if columns else ((),) * len(table.names)
    return {name: dict(zip(columns, row, strict=True)) for name, row in zip(table.names, rows, strict=True)}


@contextlib.contextmanager
def open_host_journal(
    path_given: Path | None, *, is_simulation: bool, witness: Path | None = None
) -> Generator[HostJournal | None]:
    """Yield the journal of a host's parties; None for a simulation, which spends no real privacy.

    Args:
        path_given: the journal's file, or the folder of `HOST_FILE`; by default the user's.

    Raises:
        ConfigurationError: as `witness_of`.
        JournalError: as `HostJournal.open`.
    """
    if is_simulation:
        yield None
        return
    path = path_given or default_journal().parent
    path = path / HOST_FILE if path_given is None or path_given.is_dir() else path
    rollback_guard = witness_of(witness, path)
    with HostJournal.open(path, now=time.time(), clock=time.time, witness=rollback_guard) as journal:
        yield journal


async def host(
    parties: Sequence[Joining],
    *,
    journal: HostJournal | None,
    log: Log | None = None,
    on_loss: Callable[[Exception], None] | None = None,
    on_failure: Callable[[HostResult], None] | None = None,
    result: HostResult | None = None,
) -> HostResult:
    """Take part in one session as several parties, over one connection.

    Args:
        parties: each party's settings; they share address, transport, keys and the journal's file.
        journal: the host's journal; None for a simulation.
        on_loss: called with the reason before a lost or refused connection is tried again.
        on_failure: called when the first parties fail while others continue.
        result: collects each party's result as it ends.

    Returns:
        The parties' results; a failed party does not affect the others.

    Raises:
        JournalError: the journal cannot be written; nothing was sent that it does not have.
        ConfigurationError: as `find_transport`; or another process uses the same key.
    """
    result = HostResult() if result is None else result
    inner = find_transport(parties[0].transport, keys=parties[0].keys)
    failure: BaseException | None = None

    async def take_part(joining: Joining, shared_transport: SharedTransport, *, is_first: bool) -> None:
        party = joining.party
        try:
            tell_loss = on_loss if is_first else None
            join_result = await join(
                joining, log=log, on_loss=tell_loss, on_end=result.paid.extend, transport=shared_transport
            )
            result.heard[party] = join_result
        except (PsephosError, OSError) as error:
            result.failures[party] = error
            if on_failure is not None and len(result.failures) == 1:
                await trio.sleep(_MOMENT_SECONDS)
                if len(result.heard) + len(result.failures) < len(parties):
                    on_failure(result)

    try:
        async with trio.open_nursery() as nursery:
            shared_transport = SharedTransport(
                inner,
                nursery,
                before_writing=None if journal is None else journal.commit,
                answer_seconds=answer_seconds(parties[0].patience_seconds),
            )
            async with trio.open_nursery() as taking_part:
                for joining in parties:
                    is_first = joining is parties[0]
                    taking_part.start_soon(functools.partial(take_part, joining, shared_transport, is_first=is_first))
            with trio.move_on_after(LINGER_SECONDS):
                await shared_transport.aclose()
            if journal is not None:
                await journal.commit()
            nursery.cancel_scope.cancel()
    except* (JournalError, ConfigurationError) as group:
        failure = group.exceptions[0]
    if failure is not None:
        raise failure
    return result


def host_in_folder(
    parties: Sequence[Joining],
    folder: RunFolder,
    *,
    journal: HostJournal | None,
    on_loss: Callable[[Exception], None] | None = None,
    on_failure: Callable[[HostResult], None] | None = None,
) -> HostResult:
    """Take part as several parties, and write outcome, events and all parties' ledger into a folder.

    However the session ends, `parties.csv` has for each party the number of accepted reports (with a journal), the
    phase that closed without its report, and why it did not receive the release.

    Raises:
        PsephosError, OSError: as `host`; or no party received the release: then the most frequent reason is raised.
    """
    result, ending = HostResult(), "it was stopped before it heard the outcome"
    event_fields = {"party": f"{len(parties):,} parties of a host", "server": parties[0].address}
    with open_run(folder, None, event_fields, describe=describe) as run, calm_collector(len(parties)):
        callbacks = {"on_loss": on_loss, "on_failure": on_failure}
        session = functools.partial(host, parties, journal=journal, log=run.log, result=result, **callbacks)
        try:
            trio.run(session, restrict_keyboard_interrupt_to_checkpoints=True)
        except PsephosError as error:
            ending = describe(error)["reason"]
            raise
        finally:
            run.entries.extend(result.paid)
            folder.write_table("parties.csv", [_row_of(joining, result, ending) for joining in parties], is_exact=True)
        if not result.heard:
            usual_failure = collections.Counter(map(str, result.failures.values())).most_common(1)[0][0]
            raise next(error for error in result.failures.values() if str(error) == usual_failure)
        first = result.fullest
        run.ending["transcript"] = first.transcript
        run.ending["heard"] = len(result.heard)
    folder.write_json("outcome.json", outcome_to_dict(first.outcome))
    if own_outcomes := {
        party: join_result.own for party, join_result in result.heard.items() if join_result.own is not None
    }:
        folder.write_json("own_outcomes.json", own_outcomes)
    return result


def _row_of(joining: Joining, host_result: HostResult, ending: str) -> dict[str, object]:
    party, invitation = joining.party, joining.invitation
    num_accepted: int | str = ""
    if joining.journal is not None and invitation is not None:
        num_accepted = joining.journal.num_acknowledged(invitation.session_id)
    join_result = host_result.heard.get(party)
    late = "" if join_result is None or join_result.late_phase is None else join_result.late_phase
    failure_text = describe(host_result.failures[party])["reason"] if party in host_result.failures else ending
    failure = "" if join_result is not None else failure_text
    return {"party": party, "accepted": num_accepted, "late_phase": late, "failure": failure}
