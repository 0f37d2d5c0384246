"""Many parties of one organization in one process, over one connection: each of them as `join` has it."""

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
from ..verdicts import as_written
from .agreement import Joining, protocol_of
from .client import JoinResult, describe, join
from .common import find_transport
from .invitations import Invitation, read_invitations
from .journals import HOST_FILE, default_journal, witness_of
from .own_entries import read_entries_of_many

__all__ = ["HostResult", "host", "host_in_folder", "hosted_by", "open_host_journal"]

_MOMENT_SECONDS: Final = 0.5
"""In which all parties end where it is their session that does."""


@dataclasses.dataclass
class HostResult:
    """The results of a host's parties.

    Args:
        heard: what each was told that heard the release.
        failures: why another one did not.
        paid: what they were charged.
    """

    heard: dict[str, JoinResult] = dataclasses.field(default_factory=dict[str, JoinResult])
    failures: dict[str, Exception] = dataclasses.field(default_factory=dict[str, Exception])
    paid: list[LedgerEntry] = dataclasses.field(default_factory=list[LedgerEntry])

    @property
    def fullest(self) -> JoinResult:
        """What one of those was told who heard most: whoever was late knows no transcript."""
        return max(self.heard.values(), key=lambda heard: heard.transcript or "")


def hosted_by(
    parties: Path, invitations: Path, choices: Sequence[str] = ()
) -> tuple[dict[str, Invitation], dict[str, Mapping[str, Any]]]:
    """Return the invitations of a host's parties, and the entries of each by column.

    Args:
        parties: their file, in the form in which a scenario has it.
        invitations: a folder with theirs, among others or not.
        choices: `NAME=FILE` each: a CSV file with what each party chooses in a column that the session leaves to it.

    Raises:
        ConfigurationError: a file cannot be read, a party has no invitation or no choice, two are not of one session
            and host, or the session is masked.
    """
    known = read_invitations(invitations)
    first = next(iter(known.values()))
    kind, protocol = find_protocol(first.protocol), protocol_of(first, trusts_server=True)  # trust is asked for later
    allowed = "left out in a masked session, where a host could take masks off: let each party join by itself"
    refuse(protocol.masked_phase is not None, "--parties", str(parties), allowed)
    entries = read_entries_of_many(parties, kind, field="--parties") or _read_lines(parties, kind, first.parameters)
    entries = _with_choices(entries, choices, protocol)
    found: dict[str, Invitation] = {}
    for name in entries:
        refuse(
            name not in known, f"{kind.client_role} of --parties", name, f"a party with an invitation in {invitations}"
        )
        found[name] = each = known[name]
        first = next(iter(found.values()))
        same = (each.session_id, each.roster, each.certificate) == (first.session_id, first.roster, first.certificate)
        allowed = f"a party of the session and the host of {first.party!r}: enroll all of them by --parties"
        refuse(not same, f"{kind.client_role} of --parties", name, allowed)
    return found, entries


def _with_choices(
    entries: Mapping[str, Mapping[str, Any]], choices: Sequence[str], protocol: PhasedProtocol[Any, Any]
) -> dict[str, Mapping[str, Any]]:
    role, left = protocol.client_role, [column.name for column in protocol.columns() if column.chosen]
    chosen: dict[str, dict[str, Any]] = {party: {} for party in entries}
    for choice in choices:
        column, _, file = choice.partition("=")
        refuse(column not in left, "--set", choice, f"NAME=FILE beside --parties, NAME one of {left or 'none here'}")
        for line, (name, entry) in read_rows(Path(file), role, column, field="--set"):
            own = chosen.setdefault(party := name.strip(), {})
            is_one = party in entries and column not in own
            refuse(not is_one, f"{role} ({file} line {line})", party, "a party of --parties, named once")
            own[column] = entry.strip()
    merged: dict[str, Mapping[str, Any]] = {party: {**own, **chosen[party]} for party, own in entries.items()}
    for party, own in merged.items():
        for column in left:
            allowed = f"--set {column}=FILE, a CSV file of {role},{column} with a line for each party"
            refuse(column not in own, f"{column} ({party})", "left out", allowed)
    return merged


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
    given: Path | None, *, is_simulation: bool, witness: Path | None = None
) -> Generator[HostJournal | None]:
    """Yield the journal of a host's parties; None for a simulation, whose losses are nobody's.

    Args:
        given: its file, or the folder of `HOST_FILE`; by default that of this system's user.

    Raises:
        ConfigurationError: as `witness_of`.
        JournalError: as `HostJournal.open`.
    """
    if is_simulation:
        yield None
        return
    path = given or default_journal().parent
    path = path / HOST_FILE if given is None or given.is_dir() else path
    told = witness_of(witness, path)
    with HostJournal.open(path, now=time.time(), clock=time.time, witness=told) as journal:
        yield journal


async def host(
    parties: Sequence[Joining],
    *,
    journal: HostJournal | None,
    log: Log | None = None,
    on_loss: Callable[[Exception], None] | None = None,
    on_failure: Callable[[HostResult], None] | None = None,
    hosted: HostResult | None = None,
) -> HostResult:
    """Let parties take part in one session over one connection.

    Args:
        parties: how each does; address, transport and keys are those of all of them, and so is the journal's file.
        journal: theirs.
        on_loss: told why the connection was lost, or cannot be made, before another try.
        on_failure: told of the first of them that are out of it while others go on.
        hosted: takes what becomes of each, as it does.

    Returns:
        What became of each of them; what keeps one out is no other one's business.

    Raises:
        JournalError: what has to be kept cannot be; nothing left that was not.
        ConfigurationError: as `find_transport`, or another process takes part with the key.
    """
    hosted = HostResult() if hosted is None else hosted
    inner = find_transport(parties[0].transport, keys=parties[0].keys)
    failure: BaseException | None = None

    async def take_part(joining: Joining, shared: SharedTransport, *, is_first: bool) -> None:
        party = joining.party
        try:
            told = on_loss if is_first else None
            heard = await join(joining, log=log, on_loss=told, on_end=hosted.paid.extend, transport=shared)
            hosted.heard[party] = heard
        except (PsephosError, OSError) as error:
            hosted.failures[party] = error
            if on_failure is not None and len(hosted.failures) == 1:
                await trio.sleep(_MOMENT_SECONDS)
                if len(hosted.heard) + len(hosted.failures) < len(parties):
                    on_failure(hosted)

    try:
        async with trio.open_nursery() as nursery:
            shared = SharedTransport(
                inner,
                nursery,
                before_writing=None if journal is None else journal.commit,
                answer_seconds=answer_seconds(parties[0].patience_seconds),
            )
            async with trio.open_nursery() as taking_part:
                for joining in parties:
                    is_first = joining is parties[0]
                    taking_part.start_soon(functools.partial(take_part, joining, shared, is_first=is_first))
            with trio.move_on_after(LINGER_SECONDS):
                await shared.aclose()
            if journal is not None:
                await journal.commit()
            nursery.cancel_scope.cancel()
    except* (JournalError, ConfigurationError) as group:
        failure = group.exceptions[0]
    if failure is not None:
        raise failure
    return hosted


def host_in_folder(
    parties: Sequence[Joining],
    folder: RunFolder,
    *,
    journal: HostJournal | None,
    on_loss: Callable[[Exception], None] | None = None,
    on_failure: Callable[[HostResult], None] | None = None,
) -> HostResult:
    """Let parties take part over one connection, and leave outcome, events and ledger of all of them in a folder.

    However it ends, `parties.csv` there says of each how many of its reports the server has accepted (with a journal),
    which phase closed without it, and why it did not hear the release.

    Raises:
        PsephosError, OSError: as `host`; or nobody heard the release, and that is why most did not.
    """
    hosted, ended = HostResult(), "it was stopped before it heard the outcome"
    how = {"party": f"{len(parties):,} parties of a host", "server": parties[0].address}
    with open_run(folder, None, how, describe=describe) as run, calm_collector(len(parties)):
        told = {"on_loss": on_loss, "on_failure": on_failure}
        session = functools.partial(host, parties, journal=journal, log=run.log, hosted=hosted, **told)
        try:
            trio.run(session, restrict_keyboard_interrupt_to_checkpoints=True)
        except PsephosError as error:
            ended = describe(error)["reason"]
            raise
        finally:
            run.entries.extend(hosted.paid)
            folder.write_table("parties.csv", [_row_of(joining, hosted, ended) for joining in parties], is_exact=True)
        if not hosted.heard:
            usual = collections.Counter(map(str, hosted.failures.values())).most_common(1)[0][0]
            raise next(error for error in hosted.failures.values() if str(error) == usual)
        first = hosted.fullest
        run.ending["transcript"] = first.transcript
        run.ending["heard"] = len(hosted.heard)
    folder.write_json("outcome.json", as_written(first.outcome))
    if own := {party: heard.own for party, heard in hosted.heard.items() if heard.own is not None}:
        folder.write_json("own_outcomes.json", own)
    return hosted


def _row_of(joining: Joining, hosted: HostResult, ended: str) -> dict[str, object]:
    party, invitation = joining.party, joining.invitation
    accepted: int | str = ""
    if joining.journal is not None and invitation is not None:
        accepted = joining.journal.num_acknowledged(invitation.session_id)
    heard = hosted.heard.get(party)
    late = "" if heard is None or heard.late_phase is None else heard.late_phase
    failed = describe(hosted.failures[party])["reason"] if party in hosted.failures else ended
    failure = "" if heard is not None else failed
    return {"party": party, "accepted": accepted, "late_phase": late, "failure": failure}
