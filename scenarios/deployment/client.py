"""Join a session as a client whose server is another process."""

import contextlib
import errno
import functools
import math
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
import trio

from ...agents.client import Client, answer_seconds, inquire
from ...agents.events import Log
from ...agents.journals import JournalSession
from ...agents.returning import RetryPolicy, take_part_durably
from ...protocol.errors import ConfigurationError, HandshakeError, PluginError, RemoteProtocolError, quote
from ...protocol.messages import Terms
from ...protocol.privacy import Ledger, LedgerEntry
from ...protocol.records import Drawn
from ...protocol.sides import Party
from ...transports.abc import Channel, Transport
from ..plugins import find_client_role
from ..running.folder import RunFolder
from ..running.plugin_errors import Plugin, blame_plugins, parts_of
from ..running.session_facts import about
from ..running.writing import describe_failure, open_run
from ..verdicts import outcome_to_dict
from .agreement import CheckedInvitation, Joining
from .common import find_transport, make_mode, name_address_in_errors, utc, with_descriptor
from .invitations import Invitation
from .keys import signer_beside

__all__ = ["JoinResult", "describe", "join", "join_in_folder"]


class JoinResult(msgspec.Struct, frozen=True, kw_only=True):
    """A client's result of a session: the public outcome, and its private one.

    Args:
        outcome: the outcome that is released to everybody.
        own: the outcome for this client only; None if the protocol has none.
        transcript: the digest of the public transcript; None for a client that missed a part of it.
        late_phase: the phase that closed without the client's report; None if all reports counted.
    """

    outcome: msgspec.Struct
    own: msgspec.Struct | None = None
    transcript: str | None = None
    late_phase: str | None = None


async def join(
    joining: Joining,
    *,
    log: Log | None = None,
    on_agreed: Callable[[CheckedInvitation], None] | None = None,
    on_loss: Callable[[Exception], None] | None = None,
    on_end: Callable[[Sequence[LedgerEntry]], None] | None = None,
    ledger: Ledger | None = None,
    transport: Transport | None = None,
) -> JoinResult:
    """Take part in one session as one party.

    Args:
        joining: the party's settings. A client that cannot reach the server, or loses the connection, tries again until
            the server has welcomed it. With a journal, it also reconnects later, and continues where it stopped.
        on_agreed: called with the checked terms, before anything is drawn.
        on_loss: called with the reason before a lost or refused connection is tried again.
        on_end: called with this session's ledger entries, however it ends.
        ledger: the ledger that is charged; by default a new one with the losses in the journal.
        transport: a host's transport, which its parties share; by default a new one.

    Returns:
        The outcomes for everybody and for this party; from the journal, without contacting the server, if it has them.

    Raises:
        ConfigurationError: as `Joining.agree_beforehand`.
        BudgetExceededError: the session would exceed a budget; nothing was drawn. SessionAborted, QuorumError,
        RemoteProtocolError, JournalError: as `Client.take_part`.
        HandshakeError: the server does not have the invitation's certificate, or refuses the party's.
        PluginError: the protocol's or the role's code raised an exception.
        OSError: the server could not be reached within `patience_seconds`.
    """
    agreement = joining.agree_beforehand()
    seconds = answer_seconds(joining.patience_seconds) if transport is None else math.inf  # a host's parties take turns
    transport = transport or find_transport(joining.transport, keys=joining.keys)
    network = Plugin(f"transport {joining.transport!r}", (type(transport),))
    connect = functools.partial(_connect, joining, transport, network, seconds)
    channel: Channel | None = None
    with contextlib.ExitStack() as failing:
        if agreement is None:
            channel = await _reach(connect, RetryPolicy(joining.patience_seconds, on_loss=on_loss))
            failing.callback(channel.close)
            terms = await inquire(channel, party=joining.party, patience_seconds=joining.patience_seconds)
            invitation = _make_invitation(terms, joining.party)
            agreement = joining.agree(invitation, ledger=ledger or joining.open_ledger(invitation.session_id))
        ledger = ledger or joining.open_ledger(agreement.terms.session_id)
        sitting = joining.sit(agreement.terms)
        make_client = functools.partial(_make_client, joining, agreement, ledger=ledger, log=log, sitting=sitting)
        client = make_client()
        if (outcome_heard := client.recorded_outcome) is not None:
            if on_agreed is not None:
                on_agreed(agreement)
            if on_end is not None and sitting is not None:
                on_end(_entries_of_drawn(sitting))
            return _told(client, outcome_heard)
        to_come = client.losses_to_come(agreement.terms.public)
        joining.check_room(ledger, to_come, session_id=agreement.terms.session_id)
        if on_agreed is not None:
            on_agreed(agreement)
        failing.pop_all()
    plugins = (parts_of(agreement.protocol), Plugin(f"client role {client.role!r}", (type(client),)), network)
    try:
        with blame_plugins(plugins, is_last=True):
            client, outcome = await take_part_durably(
                make_client,
                connect,
                channel=channel,
                patience_seconds=joining.patience_seconds,
                has_journal=sitting is not None,
                on_loss=on_loss,
            )
    except HandshakeError as error:
        is_of_time = "expired" in str(error) or "not valid yet" in str(error)
        clock = f"; this machine's clock says {utc(time.time())}" if is_of_time else ""
        raise HandshakeError(f"{joining.address}: {error}{clock}", role="client") from None
    finally:
        if on_end is not None:
            on_end(ledger.entries if sitting is None else _entries_of_drawn(sitting))
    return _told(client, outcome)


def _told(client: Client, outcome: msgspec.Struct) -> JoinResult:
    return JoinResult(
        outcome=outcome, own=client.own_outcome, transcript=client.transcript, late_phase=client.late_phase
    )


async def _reach(connect: Callable[[], Awaitable[Channel]], patience: RetryPolicy) -> Channel:
    while True:
        try:
            return await connect()
        except OSError as error:  # the server may not have started yet, or be restarting
            await patience.wait(error)


def _entries_of_drawn(sitting: JournalSession) -> list[LedgerEntry]:
    return [entry for record in sitting.records if isinstance(record, Drawn) for entry in record.entries]


async def _connect(joining: Joining, transport: Transport, network: Plugin, seconds: float) -> Channel:
    with (
        blame_plugins([network], is_last=True),
        name_address_in_errors(joining.address, field="the server's address"),
        trio.move_on_after(seconds),
    ):
        return await transport.connect(joining.address)
    raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT), joining.address)


def _make_client(
    joining: Joining, agreement: CheckedInvitation, *, ledger: Ledger, log: Log | None, sitting: JournalSession | None
) -> Client:
    sign = None
    if agreement.protocol.masked_phase is not None and joining.keys is not None:
        identity = joining.keys.identity
        if isinstance(identity, Path):
            sign = signer_beside(identity)
    mode = make_mode(agreement.terms.session, seed=joining.seed, round_number=joining.round_number)
    party = Party(
        joining.party,
        agreement.terms.place,
        agreement.row,
        public=agreement.terms.public,
        ledger=ledger,
        memoized_reports={name: recalled_report.report for name, recalled_report in agreement.recalled.items()},
        secret=joining.secret,
        sign=sign,
    )
    return find_client_role(agreement.protocol.client_role)(
        agreement.protocol,
        party,
        with_descriptor(mode, agreement.terms.descriptor),
        patience_seconds=joining.patience_seconds,
        sitting=sitting,
        log=log,
    )


def _make_invitation(terms: Terms, party: str) -> Invitation:
    try:
        parameters = msgspec.msgpack.decode(terms.parameters, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RemoteProtocolError(f"the server's terms cannot be read: {error}", role="client") from None
    return Invitation(
        session=terms.session,
        protocol=terms.protocol,
        kind=terms.kind,
        parameters=parameters,
        party=party,
        place=terms.place,
        public=terms.public,
        session_id=terms.descriptor.id,
        roster=terms.descriptor.roster,
        expires=terms.descriptor.expires,
    )


def join_in_folder(
    joining: Joining,
    folder: RunFolder,
    *,
    on_agreed: Callable[[CheckedInvitation], None] | None = None,
    on_loss: Callable[[Exception], None] | None = None,
) -> JoinResult:
    """Take part in one session as one party, and write outcome, events and ledger into a folder.

    Arguments and errors are those of `join`. The ledger has what was charged, however the session ends.
    """
    event_fields = {"party": joining.party, "server": joining.address}

    def on_agreed_here(agreement: CheckedInvitation) -> None:
        for phase, each in agreement.recalled.items():
            source = f"session {quote(each.session)} of {each.report.scope}, nothing paid"
            run.ending.setdefault("kept", {})[phase] = source
        run.ending["about"] = about(agreement.protocol)
        if on_agreed is not None:
            on_agreed(agreement)

    with open_run(folder, None, event_fields, is_live=True, describe=describe) as run:
        session = functools.partial(
            join, joining, log=run.log, on_agreed=on_agreed_here, on_loss=on_loss, on_end=run.entries.extend
        )
        result = trio.run(session, restrict_keyboard_interrupt_to_checkpoints=True)
        run.ending["transcript"] = result.transcript
        if result.late_phase is not None:
            run.ending["late_phase"] = result.late_phase
    folder.write_json("outcome.json", outcome_to_dict(result.outcome))
    if result.own is not None:
        folder.write_json("own_outcome.json", result.own)
    return result


def describe(error: BaseException) -> dict[str, str]:
    """Return a failure's text for files, without private entries, which are shown only to the party."""
    if isinstance(error, BaseExceptionGroup):
        return describe(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
    described = describe_failure(error)
    if isinstance(error, PluginError):
        described["reason"] = f"{error.plugin} failed in {error.step}"
    elif isinstance(error, ConfigurationError):
        described["reason"] = str(ConfigurationError(field=error.field, value="…", allowed=error.allowed))
    return described
