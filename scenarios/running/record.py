"""The record that a session leaves, and its observers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from ...agents.driver import Observers
from ...protocol.errors import PsephosError, UnheardError
from ...protocol.memoized_reports import KeptReports
from ...protocol.phases import PhasedProtocol
from ...protocol.privacy import LedgerEntry
from ...protocol.tally import Tally
from ...protocol.traffic import PhaseTraffic
from ...protocol.views import View


class SessionObservers(Observers, frozen=True, kw_only=True):
    """Observers of a running session of agents or arrays, and collectors of its results.

    Args:
        log: the logger of events; None for none.
        listener: called with every effect of the server's machine; for arrays, with the corresponding ones when phases
            close.
        meter: counts the messages of agents; use a separate one for each session.
        on_progress: called with the open phase, the number of reports, and the number outstanding, which is a float if
            estimated and -1 if unknown; a few times a second for agents, after each batch for streams.
        entries: receives every loss, also if the session fails.
        views: receives every view, if the mode records them.
        kept: memoized reports of earlier sessions in its scopes; receives those of this one. None to ignore them.

    Examples:
        >>> from psephos.scenarios import load_scenario, resolve, run_session
        >>> observers = SessionObservers()
        >>> local = resolve(load_scenario("consortium", ["partners.count=5", "transport=array"]))
        >>> record = run_session(local, seed=7, observers=observers)
        >>> [entry.phase for entry in observers.entries]
        ['weights', 'opinions']
    """

    on_progress: Callable[[str, int, float], None] | None = None
    entries: list[LedgerEntry] = msgspec.field(default_factory=list[LedgerEntry])
    views: list[View] = msgspec.field(default_factory=list[View])
    kept: KeptReports | None = None


class SessionRecord(msgspec.Struct, kw_only=True):
    """The results of a session.

    Examples:
        >>> from psephos.scenarios import load_scenario, resolve, run_session
        >>> record = run_session(resolve(load_scenario("consortium", ["partners.count=5", "transport=array"])), seed=7)
        >>> record.num_received, record.endings, len(record.tallies)
        ((5, 5), {}, 2)
    """

    outcome: msgspec.Struct  # the released outcome
    tallies: tuple[Tally, ...]  # the tallies of all phases
    num_received: tuple[int | None, ...]  # number of reports of each phase; None if private
    entries: Sequence[LedgerEntry]  # the ledger: of each party in roster order, or one entry for all parties (arrays)
    # Private outcomes of single parties, by index.
    own_outcomes: Mapping[int, msgspec.Struct] = {}
    endings: Mapping[str, PsephosError] = {}  # for each party without the outcome, the reason
    views: Sequence[View] = ()  # the parties' views, the server's first; only if requested
    traffic: Sequence[PhaseTraffic] = ()  # traffic of each phase; only for agents
    # Memoized reports of this and earlier sessions, for later ones in the same scopes. Private: never written.
    kept: KeptReports = {}

    def unheard(self, protocol: PhasedProtocol[Any, Any], num_parties: int) -> UnheardError | None:
        """Return the error for a release that no party received; None if one did, or if this is private."""
        if protocol.hides_participation or not num_parties or len(self.endings) < num_parties:
            return None
        first = str(next(iter(self.endings.values())))
        return UnheardError(role=protocol.client_role, num_parties=num_parties, first=first)
