"""One client of a session whose server is elsewhere."""

import dataclasses
import errno
import functools
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
import trio

from ...agents.client import PATIENCE_SECONDS, answer_seconds, inquire
from ...agents.events import Log
from ...protocol.checked import check_own_columns
from ...protocol.errors import ConfigurationError, HandshakeError, PluginError, RemoteProtocolError
from ...protocol.messages import Terms
from ...protocol.phases import PhasedProtocol
from ...protocol.privacy import Budget, Ledger, NeighboringRelation, PrivacyLoss, total_of
from ...protocol.roles import SessionKind
from ..plugins import find_client_role
from ..reading.conversion import convert
from ..running.blaming import Plugin, blaming, blaming_plugins, parts_of
from ..running.folder import RunFolder
from ..running.writing import describe_failure, open_run
from ..system import find_protocol
from .common import DEFAULT_TRANSPORT, Keys, charter_of, find_transport, make_mode, naming_address
from .invitations import Invitation, check_expiry

__all__ = ["DEFAULT_BUDGET", "Agreement", "Heard", "Joining", "check_trust", "encode_own", "join", "join_in_folder"]

DEFAULT_BUDGET: Final = 10.0
"""What a session may cost (ε) that a client joins without an invitation and without a limit of its own."""


class Agreement(msgspec.Struct, kw_only=True):
    """What a client takes part in, checked, before anything is drawn.

    Args:
        terms: session, protocol, kind, parameters and place.
        protocol: the same protocol, made.
        row: the client's private row.
        losses: what the whole session costs the client, phase by phase.
    """

    terms: Invitation
    protocol: PhasedProtocol[Any, Any]
    row: tuple[int, ...]
    losses: tuple[PrivacyLoss, ...]

    @property
    def cost(self) -> float:
        """ε proven of the whole session, for replace-one neighbors as a budget has it."""
        return total_of(self.losses, relation=NeighboringRelation.REPLACE_ONE).proven


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """What a client was told.

    Args:
        outcome: as everybody was.
        own: what is for this client alone; None where the protocol has nothing of the kind.
        transcript: the digest of what everybody was told; None for who has not heard all of it.
        late_phase: the phase for which the client's report came too late to count; None where all of them counted.
    """

    outcome: msgspec.Struct
    own: msgspec.Struct | None = None
    transcript: str | None = None
    late_phase: str | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Joining:
    """How one party means to take part in one session.

    Args:
        address: the server's.
        party: the party's name.
        entries: its own, by column.
        seed: of a simulation; None for a deployment.
        invitation: what it agreed to; without one, the server is asked for its terms, and so sees whether the entries
            are among the values that these allow.
        budget: the most that the session may cost (ε, replace-one neighbors); by default what an invitation says, or
            else `DEFAULT_BUDGET`.
        trusts_server: whether the party lets the server see its values as they are, as sessions in the central model
            need.
        round_number: tells repeated votes of one session apart (simulations).
        patience_seconds: how long the server may say nothing once it has answered; infinite for as long as it takes.
        transport: over which the server listens, by its name.
        keys: for TLS.
    """

    address: str
    party: str
    entries: Mapping[str, Any] = dataclasses.field(repr=False)  # nobody else's to read, as the seed
    seed: int | None = dataclasses.field(repr=False)
    invitation: Invitation | None = None
    budget: float | None = None
    trusts_server: bool = False
    round_number: int = 0
    patience_seconds: float = PATIENCE_SECONDS
    transport: str = DEFAULT_TRANSPORT
    keys: Keys | None = dataclasses.field(default=None, repr=False)

    def open_ledger(self) -> Ledger:
        """Return the party's ledger; who was not invited, and names no limit, has the default one.

        Raises:
            ConfigurationError: the budget is none.
        """
        epsilon = DEFAULT_BUDGET if self.budget is None and self.invitation is None else self.budget
        return Ledger(self.party, budget=None if epsilon is None else Budget(epsilon=epsilon))

    def agree_beforehand(self) -> Agreement | None:
        """Return what the invitation says, checked, and None without one: nobody need be called to refuse it.

        Raises:
            ConfigurationError: the budget is none, an entry is not allowed, the server would have to be trusted, or the
                invitation is another party's or of another kind.
        """
        self.open_ledger()
        if self.invitation is None:
            return None
        if self.invitation.party != self.party:
            value, allowed = f"that of {self.invitation.party!r}", f"the invitation of {self.party!r}"
            raise ConfigurationError(field="INVITATION", value=value, allowed=allowed)
        check_expiry(self.invitation.charter, field="INVITATION")
        return self.agree(self.invitation)

    def agree(self, terms: Invitation, *, ledger: Ledger | None = None) -> Agreement:
        """Return what is taken part in on these terms, checked.

        Args:
            terms: an invitation's, or the server's.
            ledger: where there must be room for it; asked after what is public, and before what is private.

        Raises:
            ConfigurationError: as `agree_beforehand`.
            BudgetExceededError: it would cost too much.
        """
        _check_kind(terms.kind, SessionKind.DEPLOYMENT if self.seed is None else SessionKind.SIMULATION)
        kind = find_protocol(terms.protocol)
        with blaming(kind):
            protocol = kind(convert(terms.parameters, kind.parameters_type, "parameters"))
            check_own_columns(protocol)
            check_trust(protocol, trusts_server=self.trusts_server)
            protocol.check_public(terms.public)
            protocol.check_losses(terms.public)
            losses = protocol.losses_of(terms.public)
            if ledger is not None:
                ledger.check(losses)
            row = encode_own(protocol, self.entries, terms.public)
        return Agreement(terms=terms, protocol=protocol, row=row, losses=losses)


async def join(
    joining: Joining,
    *,
    log: Log | None = None,
    on_agreed: Callable[[Agreement], None] | None = None,
    ledger: Ledger | None = None,
) -> Heard:
    """Take part in one session as one party.

    Args:
        joining: how.
        log: where events go.
        on_agreed: told of what is taken part in, before anything is drawn.
        ledger: where losses are charged; by default one of its own.

    Returns:
        What was released, to everybody and to this party.

    Raises:
        ConfigurationError: as `Joining.agree_beforehand`.
        BudgetExceededError: it would cost too much; nothing was drawn.
        SessionAborted, QuorumError, RemoteProtocolError: as `Client.take_part`.
        HandshakeError: the server is not the one of the invitation, or does not take the party's certificate.
        PluginError: the code of the protocol or of the client's role raised something.
        OSError: the server cannot be reached.
    """
    ledger = ledger or joining.open_ledger()
    agreement = joining.agree_beforehand()
    transport = find_transport(joining.transport, keys=joining.keys)
    network = Plugin(f"transport {joining.transport!r}", (type(transport),))
    channel = None
    with (
        blaming_plugins([network], is_last=True),
        naming_address(joining.address, field="the server's address"),
        trio.move_on_after(answer_seconds(joining.patience_seconds)),
    ):
        channel = await transport.connect(joining.address)
    if channel is None:
        raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT), joining.address)
    try:
        if agreement is None:
            terms = await inquire(channel, party=joining.party, patience_seconds=joining.patience_seconds)
            agreement = joining.agree(_as_invitation(terms, joining.party), ledger=ledger)
        mode = make_mode(agreement.terms.session, seed=joining.seed, round_number=joining.round_number)
        client = find_client_role(agreement.protocol.client_role)(
            agreement.protocol,
            party=joining.party,
            place=agreement.terms.place,
            row=agreement.row,
            public=agreement.terms.public,
            mode=mode,
            ledger=ledger,
            charter=charter_of(mode, agreement.terms.charter),
            patience_seconds=joining.patience_seconds,
            log=log,
        )
        ledger.check(agreement.losses)
        if on_agreed is not None:
            on_agreed(agreement)
    except BaseException:
        channel.close()
        raise
    plugins = (parts_of(agreement.protocol), Plugin(f"client role {client.role!r}", (type(client),)), network)
    try:
        with blaming_plugins(plugins, is_last=True):
            outcome = await client.take_part(channel)
    except HandshakeError as error:
        raise HandshakeError(f"{joining.address}: {error}", role="client") from None
    return Heard(outcome=outcome, own=client.own_outcome, transcript=client.transcript, late_phase=client.late_phase)


def check_trust(protocol: PhasedProtocol[Any, Any], *, trusts_server: bool) -> None:
    """Raise ConfigurationError if a session's server has to be trusted with values, and is not.

    Args:
        protocol: what is taken part in.
        trusts_server: whether the party lets the server see its values as they are.
    """
    if protocol.trusts_server and not trusts_server:
        allowed = "given: this session is in the central model, and its server sees your values as they are"
        raise ConfigurationError(field="--trust-server", value="left out", allowed=allowed)


def encode_own(
    protocol: PhasedProtocol[Any, Any], entries: Mapping[str, Any], public: Sequence[int]
) -> tuple[int, ...]:
    """Return a party's private row, of its entries by column; an error's field is the column alone.

    Raises:
        ConfigurationError: as `PhasedProtocol.encode_own`, or there is no such column.
    """
    known = [column.name for column in protocol.columns()]
    for name in entries:
        if name not in known:
            raise ConfigurationError(field=f"column {name!r}", value="unknown", allowed=f"one of {', '.join(known)}")
    try:
        return protocol.encode_own(entries, public)
    except ConfigurationError as error:
        field = re.sub(r" in row 1(?=$|:)", "", error.field)
        raise ConfigurationError(field=field, value=error.value, allowed=error.allowed) from None


def _check_kind(given: str, ours: SessionKind) -> None:
    if given == ours.value:
        return
    if given == SessionKind.SIMULATION.value:
        raise ConfigurationError(field="--simulate", value="left out", allowed="given: the session is a simulation")
    raise ConfigurationError(field="--simulate", value="given", allowed="left out: the session is a deployment")


def _as_invitation(terms: Terms, party: str) -> Invitation:
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
        session_id=terms.charter.id,
        roster=terms.charter.roster,
        expires=terms.charter.expires,
    )


def join_in_folder(
    joining: Joining, folder: RunFolder, *, on_agreed: Callable[[Agreement], None] | None = None
) -> Heard:
    """Take part in one session as one party, and leave outcome, events and ledger in a folder of the party's own.

    Arguments and errors are those of `join`; what was charged is in the ledger however the session ends.
    """
    ledger = joining.open_ledger()
    how = {"party": joining.party, "server": joining.address}
    with open_run(folder, None, how, is_live=True, describe=_describe) as run:
        try:
            session = functools.partial(join, joining, log=run.log, on_agreed=on_agreed, ledger=ledger)
            heard = trio.run(session, restrict_keyboard_interrupt_to_checkpoints=True)
            run.ending["transcript"] = heard.transcript
            if heard.late_phase is not None:
                run.ending["late_phase"] = heard.late_phase
        finally:
            run.entries.extend(ledger.entries)
    folder.write_json("outcome.json", heard.outcome)
    if heard.own is not None:
        folder.write_json("own_outcome.json", heard.own)
    return heard


def _describe(error: BaseException) -> dict[str, str]:
    """Return what is written of a failure; an entry, which is private, is shown to the party alone."""
    described = describe_failure(error)
    if isinstance(error, PluginError):
        described["reason"] = f"{error.plugin} failed in {error.step}"
    elif isinstance(error, ConfigurationError):
        described["reason"] = f"{error.field} must be {error.allowed}"
    return described
