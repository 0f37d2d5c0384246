"""One client of a session whose server is elsewhere."""

import contextlib
import dataclasses
import errno
import functools
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
import trio

from ...agents.client import PATIENCE_SECONDS, Client, answer_seconds, inquire
from ...agents.events import Log
from ...agents.journals import Sitting
from ...agents.noise import check_secure_noise
from ...agents.person_journal import PersonJournal, Recalled
from ...agents.returning import take_part_durably
from ...protocol.checked import check_own_columns
from ...protocol.errors import ConfigurationError, HandshakeError, PluginError, RemoteProtocolError, one_of, quote
from ...protocol.kept import check_values, has_changed, seal_of
from ...protocol.messages import Terms
from ...protocol.phases import PhasedProtocol
from ...protocol.privacy import Budget, Ledger, LedgerEntry, NeighboringRelation, PrivacyLoss, total_of
from ...protocol.privacy.periods import check_period
from ...protocol.records import Drawn
from ...protocol.roles import SessionKind, Side
from ...transports.abc import Channel, Transport
from ..plugins import find_client_role
from ..reading.conversion import convert
from ..running.about import about
from ..running.blaming import Plugin, blaming, blaming_plugins, parts_of
from ..running.folder import RunFolder
from ..running.writing import describe_failure, open_run
from ..system import find_protocol
from .common import DEFAULT_TRANSPORT, Keys, charter_of, find_transport, make_mode, naming_address
from .invitations import Invitation, check_expiry

__all__ = [
    "DEFAULT_BUDGET",
    "Agreement",
    "Heard",
    "Joining",
    "check_choices",
    "check_trust",
    "encode_chosen",
    "encode_own",
    "join",
    "join_in_folder",
    "with_choices",
]

DEFAULT_BUDGET: Final = 10.0
"""What all sessions in a journal may cost (ε), where a client joins without an invitation or a limit of its own."""


class Agreement(msgspec.Struct, kw_only=True):
    """What a client takes part in, checked, before anything is drawn.

    Args:
        terms: session, protocol, kind, parameters and place.
        protocol: the same protocol, made.
        row: the client's private row.
        losses: what the whole session costs the client, phase by phase.
        recalled: the reports of earlier sessions that it repeats, by phase; they cost nothing.
    """

    terms: Invitation
    protocol: PhasedProtocol[Any, Any]
    row: tuple[int, ...]
    losses: tuple[PrivacyLoss, ...]
    recalled: Mapping[str, Recalled] = {}

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
        budget: the most that the session and all others in the journal may cost together (ε, replace-one neighbors); by
            default what an invitation says, or else `DEFAULT_BUDGET`.
        budget_period_seconds: the length of the window in which the budget holds, by the times that the journal keeps;
            by default it holds for all that is in the journal.
        budget_in_all: beside a budget by periods, the most that all sessions in the journal may cost together.
        trusts_server: whether the party lets the server see its values as they are, as sessions in the central model
            need.
        choices: entries of columns that the party chooses as it joins, by column; they come before those in `entries`.
        round_number: tells repeated votes of one session apart (simulations).
        patience_seconds: how long the server may say nothing once it has answered; infinite for as long as it takes.
        transport: over which the server listens, by its name.
        keys: for TLS.
        journal: the person's, over all sessions; without one, a party that restarts draws again.
    """

    address: str
    party: str
    entries: Mapping[str, Any] = dataclasses.field(repr=False)  # nobody else's to read, as the seed
    seed: int | None = dataclasses.field(repr=False)
    invitation: Invitation | None = None
    budget: float | None = None
    budget_period_seconds: float | None = None
    budget_in_all: float | None = None
    trusts_server: bool = False
    choices: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])
    round_number: int = 0
    patience_seconds: float = PATIENCE_SECONDS
    transport: str = DEFAULT_TRANSPORT
    keys: Keys | None = dataclasses.field(default=None, repr=False)
    journal: PersonJournal | None = dataclasses.field(default=None, repr=False)

    def open_ledger(self, session_id: str) -> Ledger:
        """Return the party's ledger, with what its journal holds.

        Who was not invited, and names no limit, has a default one.

        Args:
            session_id: of the session that reserves room on it.

        Raises:
            ConfigurationError: the budget is none, or is by periods of which no journal knows.
        """
        self._check_period()
        epsilon = DEFAULT_BUDGET if self.budget is None and self.invitation is None else self.budget
        budget = None if epsilon is None else Budget(epsilon=epsilon)
        if self.journal is None:
            return Ledger(self.party, budget=budget)
        seconds = self.budget_period_seconds
        return self.journal.ledger(self.party, budget, session_id=session_id, period_seconds=seconds)

    def check_room(self, ledger: Ledger, losses: Sequence[PrivacyLoss], *, session_id: str) -> None:
        """Raise unless a session's losses fit into the ledger, and into what all sessions may cost together.

        One process at a time has a journal, so that what fits as a session begins fits until it ends.

        Args:
            ledger: of `open_ledger`, or one that several sessions share.
            losses: those that are still to come.
            session_id: of the session, whose own room does not count.

        Raises:
            BudgetExceededError: they do not fit.
        """
        ledger.check(losses)
        if self.budget_in_all is not None and self.journal is not None:
            whole = Budget(epsilon=self.budget_in_all)
            self.journal.ledger(self.party, whole, session_id=session_id).check(losses)

    def _check_period(self) -> None:
        if self.budget_period_seconds is None:
            if self.budget_in_all is not None:
                allowed = "left out without --budget-period: --budget is then over all sessions"
                raise ConfigurationError(field="--budget-in-all", value=self.budget_in_all, allowed=allowed)
            return
        check_period(self.budget_period_seconds, field="--budget-period")
        if self.budget is None:
            raise ConfigurationError(field="--budget-period", value="given", allowed="left out without --budget")
        if self.journal is None:
            allowed = "left out without a journal, which alone knows when other sessions were"
            raise ConfigurationError(field="--budget-period", value="given", allowed=allowed)
        if self.budget_in_all is not None and not self.budget_in_all >= self.budget:
            allowed = f"at least the --budget of a period, {self.budget:g}"
            raise ConfigurationError(field="--budget-in-all", value=self.budget_in_all, allowed=allowed)

    def sit(self, terms: Invitation) -> Sitting | None:
        """Return the party's journal of the session that it agrees to; None where it keeps none.

        Raises:
            ConfigurationError: nothing tells the session from others.
            JournalError: the journal cannot go on with it.
        """
        if self.journal is None:
            return None
        if not terms.session_id:
            allowed = "one that no other session has: without it a journal cannot tell whether a report was drawn"
            raise ConfigurationError(field="the session's id", value="", allowed=allowed)
        return self.journal.sitting(terms.session_id)

    def agree_beforehand(self) -> Agreement | None:
        """Return what the invitation says, checked, and None without one: nobody need be called to refuse it.

        Raises:
            ConfigurationError: the budget is none, an entry is not allowed, the server would have to be trusted, or the
                invitation is another party's or of another kind.
        """
        if self.invitation is None:
            self.open_ledger("")
            return None
        self.open_ledger(self.invitation.session_id)
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
            ConfigurationError: as `agree_beforehand`, or what draws the party's noise is not installed.
            BudgetExceededError: it would cost too much.
        """
        _check_kind(terms.kind, SessionKind.DEPLOYMENT if self.seed is None else SessionKind.SIMULATION)
        kind = find_protocol(terms.protocol)
        with blaming(kind):
            protocol = kind(convert(terms.parameters, kind.parameters_type, "parameters"))
            check_own_columns(protocol)
            check_trust(protocol, trusts_server=self.trusts_server)
            check_choices(protocol, self.choices)
            entries = {**self.entries, **self.choices}
            terms = msgspec.structs.replace(terms, public=with_choices(protocol, entries, terms.public))
            protocol.check_public(terms.public)
            protocol.check_losses(terms.public)
            recalled = self._recall(protocol, terms)
            to_draw = (phase for phase in protocol.phases if phase.name not in recalled)
            if self.seed is None:
                check_secure_noise(protocol, sides=[Side.CLIENT])
            losses = tuple(loss for phase in to_draw for loss in phase.losses_of(terms.public))
            if ledger is not None:
                self.check_room(ledger, losses, session_id=terms.session_id)
            row = encode_own(protocol, entries, terms.public)
            for name, earlier in recalled.items():
                (phase,) = (phase for phase in protocol.phases if phase.name == name)
                scope, seal = earlier.report.scope, earlier.report.seal
                now = seal_of(self.secret, scope, name, row[phase.columns])
                check_values(scope, is_changed=has_changed(seal, now), party=self.party)
        return Agreement(terms=terms, protocol=protocol, row=row, losses=losses, recalled=recalled)

    @property
    def secret(self) -> bytes:
        """What a party that comes back knows its values by: of its private key, which no journal has (`kept.seal_of`).

        Raises:
            ConfigurationError: the key's file cannot be read.
        """
        return b"" if self.keys is None or self.journal is None else hashlib.sha256(self.keys.private_key).digest()

    def _recall(self, protocol: PhasedProtocol[Any, Any], terms: Invitation) -> dict[str, Recalled]:
        return {} if self.journal is None else self.journal.recall(protocol.phases, session_id=terms.session_id)


async def join(
    joining: Joining,
    *,
    log: Log | None = None,
    on_agreed: Callable[[Agreement], None] | None = None,
    on_loss: Callable[[Exception], None] | None = None,
    on_end: Callable[[Sequence[LedgerEntry]], None] | None = None,
    ledger: Ledger | None = None,
) -> Heard:
    """Take part in one session as one party.

    Args:
        joining: how. Whose connection is lost comes back: until the server has welcomed it, and with a journal also
            afterwards, to go on where it stood.
        log: where events go.
        on_agreed: told of what is taken part in, before anything is drawn.
        on_loss: told why the connection was lost, or cannot be made, before another try.
        on_end: told what was charged in this session, however it ends.
        ledger: where losses are charged; by default one of its own, with what the journal holds.

    Returns:
        What was released, to everybody and to this party.

    Raises:
        ConfigurationError: as `Joining.agree_beforehand`.
        BudgetExceededError: it would cost too much; nothing was drawn.
        SessionAborted, QuorumError, RemoteProtocolError, JournalError: as `Client.take_part`.
        HandshakeError: the server is not the one of the invitation, or does not take the party's certificate.
        PluginError: the code of the protocol or of the client's role raised something.
        OSError: the server cannot be reached.
    """
    agreement = joining.agree_beforehand()
    transport = find_transport(joining.transport, keys=joining.keys)
    network = Plugin(f"transport {joining.transport!r}", (type(transport),))
    connect = functools.partial(_connect, joining, transport, network)
    # Who has reported may find the server away, since it goes on after a restart; everybody else is told at once.
    has_reported = agreement is not None and _has_drawn(joining.sit(agreement.terms))
    channel = None if has_reported else await connect()
    with contextlib.ExitStack() as failing:
        if channel is not None:
            failing.callback(channel.close)
        if agreement is None:
            assert channel is not None  # noqa: S101  nothing is kept of what was not agreed to
            terms = await inquire(channel, party=joining.party, patience_seconds=joining.patience_seconds)
            invitation = _as_invitation(terms, joining.party)
            agreement = joining.agree(invitation, ledger=ledger or joining.open_ledger(invitation.session_id))
        ledger = ledger or joining.open_ledger(agreement.terms.session_id)
        sitting = joining.sit(agreement.terms)
        make_client = functools.partial(_make_client, joining, agreement, ledger=ledger, log=log, sitting=sitting)
        client = make_client()
        to_come = client.losses_to_come(agreement.terms.public)
        joining.check_room(ledger, to_come, session_id=agreement.terms.session_id)
        if on_agreed is not None:
            on_agreed(agreement)
        failing.pop_all()
    plugins = (parts_of(agreement.protocol), Plugin(f"client role {client.role!r}", (type(client),)), network)
    try:
        with blaming_plugins(plugins, is_last=True):
            client, outcome = await take_part_durably(
                make_client,
                connect,
                channel=channel,
                patience_seconds=joining.patience_seconds,
                has_journal=sitting is not None,
                on_loss=on_loss,
            )
    except HandshakeError as error:
        raise HandshakeError(f"{joining.address}: {error}", role="client") from None
    finally:
        if on_end is not None:
            on_end(ledger.entries if sitting is None else _drawn_entries(sitting))
    return Heard(outcome=outcome, own=client.own_outcome, transcript=client.transcript, late_phase=client.late_phase)


def _has_drawn(sitting: Sitting | None) -> bool:
    return sitting is not None and any(isinstance(record, Drawn) for record in sitting.records)


def _drawn_entries(sitting: Sitting) -> list[LedgerEntry]:
    return [entry for record in sitting.records if isinstance(record, Drawn) for entry in record.entries]


async def _connect(joining: Joining, transport: Transport, network: Plugin) -> Channel:
    with (
        blaming_plugins([network], is_last=True),
        naming_address(joining.address, field="the server's address"),
        trio.move_on_after(answer_seconds(joining.patience_seconds)),
    ):
        return await transport.connect(joining.address)
    raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT), joining.address)


def _make_client(
    joining: Joining, agreement: Agreement, *, ledger: Ledger, log: Log | None, sitting: Sitting | None
) -> Client:
    mode = make_mode(agreement.terms.session, seed=joining.seed, round_number=joining.round_number)
    kept: dict[str, Any] = {}
    if any(phase.kept is not None for phase in agreement.protocol.phases):
        reports = {name: recalled.report for name, recalled in agreement.recalled.items()}
        kept = {"kept": reports, "secret": joining.secret}
    return find_client_role(agreement.protocol.client_role)(
        agreement.protocol,
        party=joining.party,
        place=agreement.terms.place,
        row=agreement.row,
        public=agreement.terms.public,
        mode=mode,
        ledger=ledger,
        charter=charter_of(mode, agreement.terms.charter),
        patience_seconds=joining.patience_seconds,
        sitting=sitting,
        **kept,
        log=log,
    )


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
            raise ConfigurationError(field=f"column {name!r}", value="unknown", allowed=one_of(known, name))
    try:
        return protocol.encode_own(entries, public)
    except ConfigurationError as error:
        raise _without_row(error) from None


def check_choices(protocol: PhasedProtocol[Any, Any], choices: Iterable[str]) -> None:
    """Raise ConfigurationError unless these are columns that a party chooses.

    Args:
        protocol: what is taken part in.
        choices: names of columns.
    """
    known = [column.name for column in protocol.columns() if column.chosen]
    for name in choices:
        if name not in known:
            allowed = one_of(known, name) if known else "left out: the session leaves nothing to choose"
            raise ConfigurationError(field="--set", value=name, allowed=allowed)


def encode_chosen(protocol: PhasedProtocol[Any, Any], entries: Mapping[str, Any]) -> tuple[int, ...]:
    """Return what a party chooses, of its entries by column; an error's field is the column alone.

    Raises:
        ConfigurationError: as `PhasedProtocol.encode_chosen`.
    """
    try:
        return protocol.encode_chosen(entries)
    except ConfigurationError as error:
        raise _without_row(error) from None


def with_choices(
    protocol: PhasedProtocol[Any, Any], entries: Mapping[str, Any], public: Sequence[int]
) -> tuple[int, ...]:
    """Return a party's public row with what it chooses; an error's field is the column alone.

    Args:
        protocol: what is taken part in.
        entries: the party's own, by column.
        public: its public row as the roster has it.

    Raises:
        ConfigurationError: as `PhasedProtocol.encode_chosen`, or the row has no room for it.
    """
    chosen = encode_chosen(protocol, entries)
    told = len(public) - protocol.num_chosen
    if told < 0 or len(chosen) != protocol.num_chosen:
        allowed = f"at least the {protocol.num_chosen} numbers that the party chooses"
        raise ConfigurationError(field="the server's public row", value=list(public[:12]), allowed=allowed)
    return (*public[:told], *chosen)


def _without_row(error: ConfigurationError) -> ConfigurationError:
    field = re.sub(r" in row 1(?=$|:)", "", error.field)
    return ConfigurationError(field=field, value=error.value, allowed=error.allowed)


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
    joining: Joining,
    folder: RunFolder,
    *,
    on_agreed: Callable[[Agreement], None] | None = None,
    on_loss: Callable[[Exception], None] | None = None,
) -> Heard:
    """Take part in one session as one party, and leave outcome, events and ledger in a folder of the party's own.

    Arguments and errors are those of `join`; what was charged is in the ledger however the session ends.
    """
    how = {"party": joining.party, "server": joining.address}

    def on_agreed_here(agreement: Agreement) -> None:
        for phase, each in agreement.recalled.items():
            source = f"session {quote(each.session)} of {each.report.scope}, nothing paid"
            run.ending.setdefault("kept", {})[phase] = source
        run.ending["about"] = about(agreement.protocol)
        if on_agreed is not None:
            on_agreed(agreement)

    with open_run(folder, None, how, is_live=True, describe=_describe) as run:
        session = functools.partial(
            join, joining, log=run.log, on_agreed=on_agreed_here, on_loss=on_loss, on_end=run.entries.extend
        )
        heard = trio.run(session, restrict_keyboard_interrupt_to_checkpoints=True)
        run.ending["transcript"] = heard.transcript
        if heard.late_phase is not None:
            run.ending["late_phase"] = heard.late_phase
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
