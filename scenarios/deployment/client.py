"""One client of a session whose server is elsewhere."""

import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
import trio

from ...agents.client import inquire
from ...agents.events import Log
from ...protocol.errors import ConfigurationError, RemoteProtocolError
from ...protocol.messages import Terms
from ...protocol.phases import PhasedProtocol
from ...protocol.privacy import Budget, Ledger, PrivacyLoss
from ...protocol.roles import SessionKind
from ...transports.tcp import TCPTransport
from ..plugins import find_client_role
from ..reading.conversion import convert
from ..running.blaming import blaming
from ..running.folder import RunFolder
from ..running.writing import describe_failure, open_run
from ..system import find_protocol
from .common import make_mode, naming_address
from .invitations import Invitation

__all__ = ["DEFAULT_BUDGET", "Agreement", "Heard", "check_beforehand", "join", "join_in_folder"]

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
        """ε proven of the whole session."""
        return math.fsum(loss.proven for loss in self.losses)


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """What a client was told.

    Args:
        outcome: as everybody was.
        own: what is for this client alone; None where the protocol has nothing of the kind.
        transcript: the digest of what everybody was told; None for who has not heard all of it.
    """

    outcome: msgspec.Struct
    own: msgspec.Struct | None = None
    transcript: str | None = None


def check_beforehand(
    invitation: Invitation | None,
    entries: Mapping[str, Any],
    *,
    party: str,
    is_simulation: bool,
    budget: float | None = None,
    trusts_server: bool = False,
) -> None:
    """Refuse what needs no server to be refused.

    Args:
        invitation: what was agreed to, if there is one.
        entries: the party's own, by column, as text.
        party: the party's name.
        is_simulation: which kind of session the party means to join.
        budget: the most that it may cost.
        trusts_server: whether the party lets the server see its values as they are.

    Raises:
        ConfigurationError: the budget is none, an entry is not allowed, the server would have to be trusted, or the
            invitation is another party's or of another kind.
    """
    _budget(budget)
    if invitation is not None:
        kind = SessionKind.SIMULATION if is_simulation else SessionKind.DEPLOYMENT
        _check_invitation(invitation, party=party, kind=kind)
        _agree(invitation, entries, trusts_server=trusts_server)


async def join(
    address: str,
    *,
    party: str,
    entries: Mapping[str, Any],
    seed: int | None,
    invitation: Invitation | None = None,
    budget: float | None = None,
    trusts_server: bool = False,
    round_number: int = 0,
    log: Log | None = None,
    on_agreed: Callable[[Agreement], None] | None = None,
    ledger: Ledger | None = None,
) -> Heard:
    """Take part in one session as one party.

    Args:
        address: the server's.
        party: the party's name.
        entries: its own, by column.
        seed: of a simulation; None for a deployment.
        invitation: what it agreed to; without one, the server is asked for its terms, and so sees whether the entries
            are among the values that these allow.
        budget: the most that the session may cost; by default what an invitation says, or else `DEFAULT_BUDGET`.
        trusts_server: whether the party lets the server see its values as they are, as sessions in the central model
            need.
        round_number: tells repeated votes of one session apart (simulations).
        log: where events go.
        on_agreed: told of what is taken part in, before anything is drawn.
        ledger: where losses are charged; by default one of its own.

    Returns:
        What was released, to everybody and to this party.

    Raises:
        ConfigurationError: an entry is not allowed, the server would have to be trusted, or the invitation is another
            party's or of another kind.
        BudgetExceededError: it would cost too much; nothing was drawn.
        SessionAborted, QuorumError, RemoteProtocolError: as `Client.take_part`.
        OSError: the server cannot be reached.
    """
    kind = SessionKind.DEPLOYMENT if seed is None else SessionKind.SIMULATION
    ledger = ledger or _open_ledger(party, budget=budget, is_invited=invitation is not None)
    agreement = None
    if invitation is not None:  # what is wrong with it is said before anybody is called
        _check_invitation(invitation, party=party, kind=kind)
        agreement = _agree(invitation, entries, trusts_server=trusts_server)
    with naming_address(address):
        channel = await TCPTransport().connect(address)
    try:
        if agreement is None:
            terms = _as_invitation(await inquire(channel, party=party), party)
            _check_kind(terms.kind, kind)
            agreement = _agree(terms, entries, trusts_server=trusts_server, ledger=ledger)
        client = find_client_role(agreement.protocol.client_role)(
            agreement.protocol,
            party=party,
            place=agreement.terms.place,
            row=agreement.row,
            public=agreement.terms.public,
            mode=make_mode(agreement.terms.session, seed=seed, round_number=round_number),
            ledger=ledger,
            token=agreement.terms.token,
            log=log,
        )
        ledger.check(agreement.losses)
        if on_agreed is not None:
            on_agreed(agreement)
    except BaseException:
        channel.close()
        raise
    outcome = await client.take_part(channel)
    return Heard(outcome=outcome, own=client.own_outcome, transcript=client.transcript)


def _open_ledger(party: str, *, budget: float | None, is_invited: bool) -> Ledger:
    """Return a party's ledger; who was not invited, and names no limit, has the default one."""
    return Ledger(party, budget=_budget(DEFAULT_BUDGET if budget is None and not is_invited else budget))


def _budget(epsilon: float | None) -> Budget | None:
    return None if epsilon is None else Budget(epsilon=epsilon, relation=None)


def _agree(
    terms: Invitation, entries: Mapping[str, Any], *, trusts_server: bool, ledger: Ledger | None = None
) -> Agreement:
    kind = find_protocol(terms.protocol)
    with blaming(kind):
        protocol = kind(convert(terms.parameters, kind.parameters_type, "parameters"))
        if protocol.trusts_server and not trusts_server:
            allowed = "given: this session is in the central model, and its server sees your values as they are"
            raise ConfigurationError(field="--trust-server", value="left out", allowed=allowed)
        protocol.check_public(terms.public)
        losses = protocol.losses_of(terms.public)
        if ledger is not None:
            ledger.check(losses)  # what is public is checked before what is private
        row = _encode_own(protocol, entries, terms.public)
    return Agreement(terms=terms, protocol=protocol, row=row, losses=losses)


def _encode_own(
    protocol: PhasedProtocol[Any, Any], entries: Mapping[str, Any], public: Sequence[int]
) -> tuple[int, ...]:
    known = [column.name for column in protocol.columns()]
    for name in entries:
        if name not in known:
            raise ConfigurationError(field=f"column {name!r}", value="unknown", allowed=f"one of {', '.join(known)}")
    try:
        return protocol.encode_own(entries, public)
    except ConfigurationError as error:
        field = re.sub(r" in row 1(?=$|:)", "", error.field)
        raise ConfigurationError(field=field, value=error.value, allowed=error.allowed) from None


def _check_invitation(invitation: Invitation, *, party: str, kind: SessionKind) -> None:
    if invitation.party != party:
        allowed = f"the invitation of {party!r}"
        raise ConfigurationError(field="--invitation", value=f"that of {invitation.party!r}", allowed=allowed)
    _check_kind(invitation.kind, kind)


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
    )


def join_in_folder(
    address: str,
    folder: RunFolder,
    *,
    party: str,
    entries: Mapping[str, Any],
    seed: int | None,
    invitation: Invitation | None = None,
    budget: float | None = None,
    trusts_server: bool = False,
    round_number: int = 0,
    on_agreed: Callable[[Agreement], None] | None = None,
) -> Heard:
    """Take part in one session as one party, and leave outcome, events and ledger in a folder of the party's own.

    Arguments and errors are those of `join`; what was charged is in the ledger however the session ends.
    """
    ledger = _open_ledger(party, budget=budget, is_invited=invitation is not None)
    with open_run(folder, None, {"party": party, "server": address}, is_live=True, describe=_describe) as run:
        try:
            session = functools.partial(
                join,
                address,
                party=party,
                entries=entries,
                seed=seed,
                invitation=invitation,
                trusts_server=trusts_server,
                round_number=round_number,
                log=run.log,
                on_agreed=on_agreed,
                ledger=ledger,
            )
            heard = trio.run(session, restrict_keyboard_interrupt_to_checkpoints=True)
            run.ending["transcript"] = heard.transcript
        finally:
            run.entries += ledger.entries
    folder.write_json("outcome.json", heard.outcome)
    if heard.own is not None:
        folder.write_json("own_outcome.json", heard.own)
    return heard


def _describe(error: BaseException) -> dict[str, str]:
    """Return what is written of a failure; an entry, which is private, is shown to the party alone."""
    described = describe_failure(error)
    if isinstance(error, ConfigurationError):
        described["reason"] = f"{error.field} must be {error.allowed}"
    return described
