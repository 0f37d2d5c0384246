"""Check a session's terms against what one party wants and may pay, before anything is drawn or sent."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from ...agents.client import PATIENCE_SECONDS
from ...agents.journals import JournalSession
from ...agents.noise import check_secure_noise
from ...agents.person_journal import PersonJournal, Recalled
from ...protocol.errors import ConfigurationError, refuse, require
from ...protocol.memoized_reports import check_values, has_changed, seal_of
from ...protocol.phases import PhasedProtocol
from ...protocol.plugin_checks import check_own_columns
from ...protocol.privacy import Budget, Ledger, NeighboringRelation, PrivacyLoss, total_of
from ...protocol.privacy.periods import check_period
from ...protocol.roles import SessionKind, Side
from ..reading.conversion import convert
from ..running.plugin_errors import blaming
from ..system import find_protocol
from .common import DEFAULT_TRANSPORT, TLSKeys
from .invitations import Invitation, check_expiry
from .own_rows import check_choices, encode_own, with_choices

DEFAULT_BUDGET: Final = 10.0
"""What all sessions in a journal may cost (ε), where a client joins without an invitation or a limit of its own."""


_last: dict[tuple[type[PhasedProtocol[Any, Any]], str], PhasedProtocol[Any, Any]] = {}
"""The protocol that was made last."""


class CheckedInvitation(msgspec.Struct, kw_only=True):
    """What a client takes part in, checked, before anything is drawn.

    Args:
        terms: session, protocol, kind, parameters and place.
        losses: what the whole session costs the client, phase by phase.
        recalled: the reports of earlier sessions that it repeats, by phase; they cost nothing.
    """

    terms: Invitation
    protocol: PhasedProtocol[Any, Any]
    row: tuple[int, ...]
    losses: tuple[PrivacyLoss, ...]
    recalled: Mapping[str, Recalled] = {}

    def __repr__(self) -> str:
        return f"Agreement(terms={self.terms!r})"  # the row is nobody else's to read

    @property
    def cost(self) -> float:
        """ε proven of the whole session, for replace-one neighbors as a budget has it."""
        return total_of(self.losses, relation=NeighboringRelation.REPLACE_ONE).proven


@dataclasses.dataclass(frozen=True, kw_only=True)
class Joining:
    """How one party means to take part in one session.

    Args:
        address: the server's.
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
        patience_seconds: how long the server may say nothing once it has answered, or be away; infinite for as long as
            it takes.
        transport: over which the server listens, by its name.
        journal: the person's, over all sessions; without one, a party that restarts draws again.

    Examples:
        >>> joining = Joining(address="127.0.0.1:7000", party="ann", entries={"roof": "yes"}, seed=7)
        >>> joining.secret, joining.agree_beforehand() is None
        (b'', True)
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
    keys: TLSKeys | None = dataclasses.field(default=None, repr=False)
    journal: PersonJournal | None = dataclasses.field(default=None, repr=False)

    def open_ledger(self, session_id: str) -> Ledger:
        """Return the party's ledger, with what its journal holds.

        Who was not invited, and names no limit, has a default one.

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
            allowed = "left out without --budget-period: --budget is then over all sessions"
            refuse(self.budget_in_all is not None, "--budget-in-all", self.budget_in_all, allowed)
            return
        check_period(self.budget_period_seconds, field="--budget-period")
        if self.budget is None:
            raise ConfigurationError(field="--budget-period", value="given", allowed="left out without --budget")
        allowed = "left out without a journal, which alone knows when other sessions were"
        refuse(self.journal is None, "--budget-period", "given", allowed)
        is_enough = self.budget_in_all is None or self.budget_in_all >= self.budget
        allowed = f"at least the --budget of a period, {self.budget:g}"
        require(is_enough, "--budget-in-all", self.budget_in_all, allowed)

    def sit(self, terms: Invitation) -> JournalSession | None:
        """Return the party's journal of the session that it agrees to; None where it keeps none.

        Raises:
            ConfigurationError: nothing tells the session from others.
            JournalError: the journal cannot go on with it.
        """
        if self.journal is None:
            return None
        allowed = "one that no other session has: without it a journal cannot tell whether a report was drawn"
        refuse(not terms.session_id, "the session's id", "", allowed)
        return self.journal.sitting(terms.session_id)

    def agree_beforehand(self) -> CheckedInvitation | None:
        """Return what the invitation says, checked, and None without one: nobody need be called to refuse it.

        Raises:
            ConfigurationError: the budget is none, an entry is not allowed, the server would have to be trusted, or the
                invitation is another party's or of another kind.
        """
        if self.invitation is None:
            self.open_ledger("")
            return None
        self.open_ledger(self.invitation.session_id)
        value, allowed = f"that of {self.invitation.party!r}", f"the invitation of {self.party!r}"
        require(self.invitation.party == self.party, "INVITATION", value, allowed)
        if self.journal is None or not self.journal.has_heard(self.invitation.session_id):
            check_expiry(self.invitation.descriptor, field="INVITATION")
        return self._agree_once

    @functools.cached_property
    def _agree_once(self) -> CheckedInvitation | None:
        return None if self.invitation is None else self.agree(self.invitation)

    def agree(self, terms: Invitation, *, ledger: Ledger | None = None) -> CheckedInvitation:
        """Return what is taken part in on these terms, checked.

        Args:
            terms: an invitation's, or the server's.
            ledger: where there must be room for it; asked after what is public, and before what is private.

        Raises:
            ConfigurationError: as `agree_beforehand`, or what draws the party's noise is not installed.
            BudgetExceededError: it would cost too much.
        """
        is_simulation = terms.kind == SessionKind.SIMULATION.value
        refuse(is_simulation and self.seed is None, "--simulate", "left out", "given: the session is a simulation")
        is_ours = is_simulation or (self.seed is None and terms.kind == SessionKind.DEPLOYMENT.value)
        require(is_ours, "--simulate", "given", "left out: the session is a deployment")
        protocol = protocol_of(terms, trusts_server=self.trusts_server)
        with blaming(type(protocol)):
            check_choices(protocol, self.choices)
            entries = {**self.entries, **self.choices}
            terms = msgspec.structs.replace(terms, public=with_choices(protocol, entries, terms.public))
            protocol.check_public(terms.public)
            protocol.check_losses(terms.public)
            journal = self.journal
            recalled_reports = {} if journal is None else journal.recall(protocol.phases, session_id=terms.session_id)
            to_draw = (phase for phase in protocol.phases if phase.name not in recalled_reports)
            if self.seed is None:
                check_secure_noise(protocol, sides=[Side.CLIENT])
            losses = tuple(loss for phase in to_draw for loss in phase.losses_of(terms.public))
            if ledger is not None:
                self.check_room(ledger, losses, session_id=terms.session_id)
            row = encode_own(protocol, entries, terms.public)
            for name, recalled_report in recalled_reports.items():
                (phase,) = (phase for phase in protocol.phases if phase.name == name)
                scope, seal = recalled_report.report.scope, recalled_report.report.seal
                seal_now = seal_of(self.secret, scope, name, row[phase.columns])
                check_values(scope, is_changed=has_changed(seal, seal_now), party=self.party)
        return CheckedInvitation(terms=terms, protocol=protocol, row=row, losses=losses, recalled=recalled_reports)

    @property
    def secret(self) -> bytes:
        """What a party that comes back knows its values by: of its private key (`memoized_reports.seal_of`).

        Raises:
            ConfigurationError: the key's file cannot be read.
        """
        return b"" if self.keys is None or self.journal is None else self.keys.secret


def protocol_of(terms: Invitation, *, trusts_server: bool) -> PhasedProtocol[Any, Any]:
    """Return the protocol of an invitation, or of a server's terms, where its server is trusted if it has to be.

    Raises:
        ConfigurationError: there is no such protocol, a parameter is not allowed, or the server is not trusted.
    """
    kind = find_protocol(terms.protocol)
    with blaming(kind):
        protocol = _made(kind, terms.parameters)
        check_trust(protocol, trusts_server=trusts_server)
    return protocol


def _made(kind: type[PhasedProtocol[Any, Any]], parameters: Mapping[str, Any]) -> PhasedProtocol[Any, Any]:
    """Return the protocol of parameters; all parties of a host have the same one."""
    key = (kind, repr(parameters))
    if (protocol := _last.get(key)) is None:
        protocol = kind(convert(parameters, kind.parameters_type, "parameters"))
        check_own_columns(protocol)
        _last.clear()
        _last[key] = protocol
    return protocol


def check_trust(protocol: PhasedProtocol[Any, Any], *, trusts_server: bool) -> None:
    """Raise ConfigurationError if a session's server has to be trusted with values, and is not.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("roof",), weights=(1.0, 2.0), epsilon=1.0))
        >>> check_trust(vote, trusts_server=False)
    """
    allowed = "given: this session is in the central model, and its server sees your values as they are"
    refuse(protocol.trusts_server and not trusts_server, "--trust-server", "left out", allowed)
