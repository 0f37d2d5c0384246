"""Check a session's terms against a party's wishes and budget, before it draws noise or sends anything."""

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
"""The ε that all sessions in a journal may cost, if a client joins without an invitation and a budget."""


_last: dict[tuple[type[PhasedProtocol[Any, Any]], str], PhasedProtocol[Any, Any]] = {}
"""A cache of the latest protocol."""


class CheckedInvitation(msgspec.Struct, kw_only=True):
    """The checked terms of a session, before the client draws noise.

    Args:
        terms: session, protocol, kind, parameters and the party's index.
        losses: the client's losses in the whole session, phase by phase.
        recalled: memoized reports of earlier sessions that it repeats, by phase; they cost nothing.
    """

    terms: Invitation
    protocol: PhasedProtocol[Any, Any]
    row: tuple[int, ...]
    losses: tuple[PrivacyLoss, ...]
    recalled: Mapping[str, Recalled] = {}

    def __repr__(self) -> str:
        return f"Agreement(terms={self.terms!r})"  # the row is private

    @property
    def cost(self) -> float:
        """The proven ε of the whole session, for replace-one neighbors, as budgets count it."""
        return total_of(self.losses, relation=NeighboringRelation.REPLACE_ONE).proven


@dataclasses.dataclass(frozen=True, kw_only=True)
class Joining:
    """The settings with which one party joins one session.

    Args:
        address: the server's address.
        entries: the party's entries, by column.
        seed: the simulation's seed; None for a deployment.
        invitation: the agreed terms. Without one, the party asks the server for its terms, and the server learns
            whether the entries are among the values that these allow.
        budget: the ε that all sessions in the journal, with this one, may cost (replace-one neighbors); by default the
            invitation's budget, or else `DEFAULT_BUDGET`.
        budget_period_seconds: length of the sliding window that the budget applies to, by the journal's times; by
            default it applies to all sessions in the journal.
        budget_in_all: in addition to a budget by periods, the ε that all sessions in the journal may cost.
        trusts_server: whether the party lets the server see its unprotected values, as the central model requires.
        choices: public entries that the party chooses when it joins, by column; they override those in `entries`.
        round_number: distinguishes repeated votes of one session (simulations).
        patience_seconds: how long the server may be silent after its first answer, or unreachable; may be infinite.
        transport: name of the server's transport.
        journal: the person's journal over all sessions; without one, a party that restarts draws again.

    Examples:
        >>> joining = Joining(address="127.0.0.1:7000", party="ann", entries={"roof": "yes"}, seed=7)
        >>> joining.secret, joining.agree_beforehand() is None
        (b'', True)
    """

    address: str
    party: str
    entries: Mapping[str, Any] = dataclasses.field(repr=False)  # private, as is the seed
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
        """Return the party's ledger, with the losses in its journal.

        Without an invitation and a budget, the default budget applies.

        Raises:
            ConfigurationError: the budget is invalid, or has a period but there is no journal.
        """
        self._check_period()
        epsilon = DEFAULT_BUDGET if self.budget is None and self.invitation is None else self.budget
        budget = None if epsilon is None else Budget(epsilon=epsilon)
        if self.journal is None:
            return Ledger(self.party, budget=budget)
        seconds = self.budget_period_seconds
        return self.journal.ledger(self.party, budget, session_id=session_id, period_seconds=seconds)

    def check_room(self, ledger: Ledger, losses: Sequence[PrivacyLoss], *, session_id: str) -> None:
        """Raise unless a session's losses fit into the ledger's budget, and into that for all sessions.

        Only one process at a time has a journal open, so losses that fit at the start of a session fit until its end.

        Args:
            ledger: the ledger from `open_ledger`, or one that several sessions share.
            losses: the losses that are not charged yet.
            session_id: the session's id; budget that it has already reserved does not count.

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
        """Return the party's journal session for these terms; None without a journal.

        Raises:
            ConfigurationError: the session has no id.
            JournalError: the journal cannot continue the session.
        """
        if self.journal is None:
            return None
        allowed = "one that no other session has: without it a journal cannot tell whether a report was drawn"
        refuse(not terms.session_id, "the session's id", "", allowed)
        return self.journal.sitting(terms.session_id)

    def agree_beforehand(self) -> CheckedInvitation | None:
        """Return the checked terms of the invitation, without contacting the server; None without an invitation.

        Raises:
            ConfigurationError: the budget is invalid, an entry is not allowed, the server would have to be trusted, or
                the invitation is for another party or kind of session.
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
        """Return the checked terms.

        Args:
            terms: the terms from an invitation, or from the server.
            ledger: the ledger that must have enough budget; checked after public values, and before private ones.

        Raises:
            ConfigurationError: as `agree_beforehand`; or the package that draws the party's noise is not installed.
            BudgetExceededError: the session would exceed a budget.
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
        """The secret, derived from the private key, by which a party detects changed values (`seal_of`).

        Raises:
            ConfigurationError: the key's file cannot be read.
        """
        return b"" if self.keys is None or self.journal is None else self.keys.secret


def protocol_of(terms: Invitation, *, trusts_server: bool) -> PhasedProtocol[Any, Any]:
    """Return the protocol of an invitation or of a server's terms, after checking that a trusted server is accepted.

    Raises:
        ConfigurationError: there is no such protocol, a parameter is not allowed, or the server must be trusted and is
            not.
    """
    kind = find_protocol(terms.protocol)
    with blaming(kind):
        protocol = _made(kind, terms.parameters)
        check_trust(protocol, trusts_server=trusts_server)
    return protocol


def _made(kind: type[PhasedProtocol[Any, Any]], parameters: Mapping[str, Any]) -> PhasedProtocol[Any, Any]:
    """Return the protocol with these parameters; cached, since all parties of a host share it."""
    key = (kind, repr(parameters))
    if (protocol := _last.get(key)) is None:
        protocol = kind(convert(parameters, kind.parameters_type, "parameters"))
        check_own_columns(protocol)
        _last.clear()
        _last[key] = protocol
    return protocol


def check_trust(protocol: PhasedProtocol[Any, Any], *, trusts_server: bool) -> None:
    """Raise ConfigurationError if a session's server must be trusted with values, and is not.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("roof",), weights=(1.0, 2.0), epsilon=1.0))
        >>> check_trust(vote, trusts_server=False)
    """
    allowed = "given: this session is in the central model, and its server sees your values as they are"
    refuse(protocol.trusts_server and not trusts_server, "--trust-server", "left out", allowed)
