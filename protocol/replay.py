"""Replay: a machine is made again from its records, on either side.

The records are applied in the order in which the machine wrote them (`records`). Nothing is sent, drawn or charged.
Reports stay as the client drew or the server accepted them. A record that does not fit the session is an error.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from .admission import Admission
from .errors import JournalError, QuorumError, RemoteProtocolError
from .messages import Report, Request, decode
from .phase_reports import PhaseReports
from .phases import PhasedProtocol
from .records import (
    Accepted,
    Acknowledged,
    Chosen,
    ClientRecord,
    Drawn,
    PhaseClosed,
    PhaseOpened,
    Reserved,
    ServerRecord,
    SessionEnded,
    SessionFailed,
)
from .states import Move, State


class ClientPast(msgspec.Struct, frozen=True):
    """The results of a party's earlier conversations in a session.

    Args:
        answered: the requests, by step, each with its report; None for a step of a dispute that was skipped.
        acknowledged: the receipts of the steps whose report the server has acknowledged.
        has_reserved: whether budget for the session is reserved on the ledger.
        sealed: the sealed root of its secrets in a masked phase.
        release_record: the record of the release, if it was received.
    """

    answered: tuple[tuple[Request, Report] | None, ...] = ()
    acknowledged: Mapping[int, bytes] = {}
    has_reserved: bool = False
    release_record: SessionEnded | None = None
    sealed: bytes = b""


def replay_client(
    records: Sequence[ClientRecord],
    protocol: PhasedProtocol[Any, Any],
    *,
    party: str,
    session: str,
    chosen: Sequence[int],
) -> ClientPast:
    """Return the results of a client's earlier conversations, from its records; a client runs this.

    Raises:
        JournalError: the records are of another party, session or protocol. Or the party made another choice or agreed
            to other parameters before, so that earlier reports have another law. Or the session is masked, and its
            server or another party was found at fault.
    """
    exchanges: list[tuple[Request, Report] | None] = []
    acknowledged: dict[int, bytes] = {}
    has_reserved = False
    release_record: SessionEnded | None = None
    sealed = b""
    for record in records:
        match record:
            case Reserved():
                if (record.party, record.session, record.protocol) != (party, session, protocol.name):
                    theirs = f"{record.party!r} in session {record.session!r} of {record.protocol!r}"
                    raise JournalError(f"has this session's id for {theirs}")
                if record.chosen != tuple(chosen):
                    raise JournalError("says that the party has chosen otherwise in this session; it is held to that")
                if record.terms != protocol.terms:
                    raise JournalError("says that the party agreed to other parameters; it is held to them")
                has_reserved = True
            case Drawn():
                request, report = decode(record.request), decode(record.report)
                if not isinstance(request, Request) or not isinstance(report, Report):
                    raise JournalError("holds something else where a request and its report were kept")
                left_out = protocol.steps[len(exchanges) : record.step]
                exchanges += [None for step in left_out if step.is_in_dispute]
                if not request.step == report.step == record.step == len(exchanges):
                    raise JournalError(f"has a report of phase {record.step} where {len(exchanges)} is next")
                exchanges.append((request, report))
                sealed = sealed or record.sealed
            case Acknowledged(step):
                acknowledged[step] = record.receipt
            case SessionEnded(reason=reason, is_final=True):
                raise JournalError(f"refuses this session for good: {reason}")
            case SessionEnded():
                has_reserved = False  # a party that left may return, and repeat its answers
                release_record = record if record.release else release_record
    if len(exchanges) > len(protocol.steps):
        raise JournalError(f"has reports of {len(exchanges)} phases, and {protocol.name!r} fewer")
    return ClientPast(tuple(exchanges), acknowledged, has_reserved, release_record, sealed)


def replay_server(
    records: Sequence[ServerRecord], phase_reports: PhaseReports, admission: Admission
) -> msgspec.Struct | QuorumError | None:
    """Restore a server's session as of the end of its records, with all connections lost; run after its start.

    Returns:
        The outcome of the last closed step; or the error with which the session ended.

    Raises:
        JournalError: the records are of another session.
    """
    outcome: msgspec.Struct | None = None
    try:
        for record in records:
            match record:
                case Chosen(place=place, chosen=chosen):
                    admission.choose(place, chosen)
                case PhaseOpened():
                    _reopen(record, phase_reports)
                case Accepted():
                    _recount(record, phase_reports)
                case PhaseClosed():
                    drawn_tally = None if record.tally is None else record.tally.restore()
                    outcome = phase_reports.settle(record.places, drawn_tally)
                case SessionFailed():
                    return QuorumError(**msgspec.structs.asdict(record))
    except (LookupError, ValueError, TypeError, OverflowError, RemoteProtocolError) as error:
        raise JournalError(f"has a record that has no place in this session: {error}") from error
    return outcome


def _reopen(record: PhaseOpened, phase_reports: PhaseReports) -> None:
    if record.step != phase_reports.next_step:
        raise ValueError(f"phase {record.step} opens after phase {phase_reports.step}")
    phase_reports.note_named()
    clients = [phase_reports.clients.client_at(place) for place in record.places]
    for client in phase_reports.clients:
        client.is_lost = True  # also a party without a request, which may have joined later, in the first step
    for client in clients:
        if client.state is State.NEW:
            client.move(Move.HELLO)
            client.move(Move.WELCOME)
    for client in phase_reports.next_clients:  # in a dispute only some are asked, and the others stay
        if client.place not in record.places:  # it left after its report, and gets no later requests
            phase_reports.clients.leave(client)
    phase_reports.open_step(clients)


def _recount(record: Accepted, phase_reports: PhaseReports) -> None:
    client = phase_reports.clients.client_at(record.place)
    if not phase_reports.step and client.state is State.NEW:  # it joined in the first step
        phase_reports.clients.welcome(client)
    if record.step != phase_reports.step or client.state is not State.ASKED:
        raise ValueError(f"{client.party} reports in phase {record.step}, in state {client.state.value!r}")
    phase_reports.read(client, msgspec.Raw(record.report))
    phase_reports.count(client, record.report)
