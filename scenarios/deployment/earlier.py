"""Memoized reports of earlier sessions of the same scope, from the server's journals.

Parties are matched by their certificates, and by name if their certificates are new.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from ...agents.journal_format import SESSION, decode_record, read_journal
from ...protocol.errors import ConfigurationError, quote, refuse, require
from ...protocol.memoized_reports import ReceivedReports
from ...protocol.phases import PhasedProtocol
from ...protocol.records import Accepted, ServerRecord
from ...protocol.roles import SessionKind
from ...protocol.roster import Roster
from ..reading.conversion import convert
from ..reading.files import check_regular
from ..running.plugin_errors import blaming
from ..running.resolution import ServerRun
from ..running.rosters import PARAMETERS_FILE, fingerprints_in, read_roster
from .server import JOURNAL_FILE

_AFTER: Final = "--after"
_decoder: msgspec.msgpack.Decoder[ServerRecord] = msgspec.msgpack.Decoder(ServerRecord)


def read_kept(side: ServerRun, folders: Sequence[Path], *, kind: SessionKind) -> ReceivedReports:
    """Return the reports of a session's parties in earlier sessions, in phases that memoize reports.

    Args:
        folders: the earlier sessions' folders, written by `psephos roster` and used by `psephos serve`.

    Raises:
        ConfigurationError: the session memoizes nothing, is a simulation, or an earlier one has another scope or law; a
            folder is not a session's, or its roster differs from its journal's; a party reported differently in two
            sessions.
        JournalError: a journal cannot be read.
    """
    if not folders:
        return {}
    phases = {phase.name: phase for phase in side.protocol.phases if phase.memo_scope is not None}
    allowed = "left out where the session keeps no reports, as one of a game does"
    require(phases, _AFTER, str(folders[0]), allowed)
    allowed = "left out with --simulate, which leaves no journals"
    refuse(kind is SessionKind.SIMULATION, _AFTER, str(folders[0]), allowed)
    roster = side.roster
    own_keys = zip(roster.fingerprints or (), roster.names, strict=False)
    by_certificate = {
        each: name for each, name in own_keys if roster.num_seats(each) == 1
    }  # parties of a host, by name
    reports_of_phase: dict[str, dict[str, tuple[int, ...]]] = {name: {} for name in phases}
    for folder in folders:
        earlier_protocol = _protocol_of(side, folder)
        for number, earlier_phase in enumerate(step.phase for step in earlier_protocol.steps):
            if (
                earlier_phase.memo_scope is None
                or (own_phase := phases.get(earlier_phase.name)) is None
                or own_phase.memo_scope is None
            ):
                continue
            own_phase.memo_scope.check(earlier_phase.memo_scope)
            for (name, certificate), payload in _reports(folder, earlier_protocol, number):
                party = by_certificate.get(certificate, name)
                report = earlier_phase.codec.decode(payload)
                if party in roster.names and reports_of_phase[earlier_phase.name].setdefault(party, report) != report:
                    allowed = f"sessions in which {party} reported the same in phase {earlier_phase.name!r}"
                    raise ConfigurationError(field=_AFTER, value=str(folder), allowed=allowed)
    return reports_of_phase


def _protocol_of(side: ServerRun, folder: Path) -> PhasedProtocol[Any, Any]:
    kind = type(side.protocol)
    path = folder / PARAMETERS_FILE
    check_regular(path, field=_AFTER)
    try:
        parameters = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, ValueError, RecursionError) as error:
        allowed = f"the --roster folder of an earlier session ({error})"
        raise ConfigurationError(field=_AFTER, value=str(folder), allowed=allowed) from None
    try:
        with blaming(kind):
            protocol = kind(convert(parameters, kind.parameters_type, "parameters"))
    except ConfigurationError as error:
        allowed = f"of an earlier session of protocol {side.protocol.name!r} ({error})"
        raise ConfigurationError(field=_AFTER, value=str(folder), allowed=allowed) from None
    scopes = ", ".join(str(phase.memo_scope) for phase in side.protocol.phases if phase.memo_scope is not None)
    allowed = f"the folder of an earlier session of {scopes}: that one kept nothing"
    require(any(phase.memo_scope is not None for phase in protocol.phases), _AFTER, str(folder), allowed)
    return protocol


def _reports(folder: Path, protocol: PhasedProtocol[Any, Any], step: int) -> Iterator[tuple[tuple[str, str], bytes]]:
    """Yield the reports in a step, with each party's name and certificate.

    Raises:
        ConfigurationError: the folder has no journal, or its roster differs from that of the journal's session, so that
            reports would be attributed to other parties.
        JournalError: the journal cannot be read.
    """
    path = folder / JOURNAL_FILE
    allowed = f"the folder of a session that was held: {quote(JOURNAL_FILE)} is not in it"
    require(path.exists(), _AFTER, str(folder), allowed)
    parties = read_roster(folder, type(protocol))
    names = list(parties.names)
    fingerprints_of_parties = fingerprints_in(parties)
    public = {column.name: parties.table[column.name] for column in protocol.columns() if column.name in parties.table}
    with parties.name_lines_in_errors():
        roster = Roster(
            names, protocol.encode_public(public, num_parties=len(names)), fingerprints=fingerprints_of_parties
        )
    journal = read_journal(path, kind=SESSION)
    allowed = f"a folder with the roster of the session that was held: its {quote(JOURNAL_FILE)} is of another one"
    require(journal.about.configuration.get("roster") == roster.digest, _AFTER, str(folder), allowed)
    fingerprints = [
        each if roster.num_seats(each) == 1 else "" for each in fingerprints_of_parties or [""] * len(names)
    ]
    for row in journal.rows:
        record = decode_record(row.body, _decoder, path)
        if isinstance(record, Accepted) and record.step == step:
            yield (names[record.place], fingerprints[record.place]), record.report
