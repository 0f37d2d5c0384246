"""One client of a session whose server is elsewhere."""

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
    """What a client has of its session: the public outcome, and its private one.

    Args:
        outcome: as everybody was.
        own: what is for this client alone; None where the protocol has nothing of the kind.
        transcript: the digest of what everybody was told; None for who has not heard all of it.
        late_phase: the phase that closed without a report of the client's; None where all of them counted.
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
        joining: how. Who does not reach the server goes on trying, and whose connection is lost comes back: until the
            server has welcomed it, and with a journal also afterwards, to go on where it stood.
        on_agreed: told of what is taken part in, before anything is drawn.
        on_loss: told why the connection was lost, or cannot be made, before another try.
        on_end: told what was charged in this session, however it ends.
        ledger: where losses are charged; by default one of its own, with what the journal holds.
        transport: that of a host, which its parties share; by default one of the party's own.

    Returns:
        What was released, to everybody and to this party; from the journal, without a word to anybody, where it is
        there.

    Raises:
        ConfigurationError: as `Joining.agree_beforehand`.
        BudgetExceededError: it would cost too much; nothing was drawn.
        SessionAborted, QuorumError, RemoteProtocolError, JournalError: as `Client.take_part`.
        HandshakeError: the server is not the one of the invitation, or does not take the party's certificate.
        PluginError: the code of the protocol or of the client's role raised something.
        OSError: the server cannot be reached, as long as patience lasts.
    """
    agreement = joining.agree_beforehand()
    seconds = answer_seconds(joining.patience_seconds) if transport is None else math.inf  # in turn
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
        except OSError as error:  # it may not have begun, or be about to begin again
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
    """Take part in one session as one party, and leave outcome, events and ledger in a folder of the party's own.

    Arguments and errors are those of `join`; what was charged is in the ledger however the session ends.
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
    """Return what is written of a failure; an entry, which is private, is shown to the party alone."""
    if isinstance(error, BaseExceptionGroup):
        return describe(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
    described = describe_failure(error)
    if isinstance(error, PluginError):
        described["reason"] = f"{error.plugin} failed in {error.step}"
    elif isinstance(error, ConfigurationError):
        described["reason"] = f"{error.field} must be {error.allowed}"
    return described
