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
    """Who is told of a session as it goes on, by agents or arrays, and what gets all that it leaves however it ends.

    Args:
        log: where events go; None for nowhere.
        listener: told of every effect of the server's machine; of arrays, as each phase closes, of those it would have.
        meter: counts the messages of agents; each session has one of its own.
        on_progress: called with the open phase, how many have reported and how many have not, as a float where that is
            estimated, and -1 where nobody knows: of agents a few times a second, of streams after each batch.
        entries: gets every loss; what is paid stays paid.
        views: gets every view, where the mode records them.
        kept: what earlier sessions of its scopes left; gets what this one leaves. None where nobody asks for that.

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
    """What a session leaves.

    Examples:
        >>> from psephos.scenarios import load_scenario, resolve, run_session
        >>> record = run_session(resolve(load_scenario("consortium", ["partners.count=5", "transport=array"])), seed=7)
        >>> record.num_received, record.endings, len(record.tallies)
        ((5, 5), {}, 2)
    """

    outcome: msgspec.Struct  # what was released
    tallies: tuple[Tally, ...]  # each phase's
    num_received: tuple[int | None, ...]  # each phase's number of reports; None where that is private
    entries: Sequence[LedgerEntry]  # the ledger: of each party in roster order, or one line for all of them (arrays)
    # What single parties were told, by their places; for each of them alone.
    own_outcomes: Mapping[int, msgspec.Struct] = {}
    endings: Mapping[str, PsephosError] = {}  # for each party that did not end with the outcome, why
    views: Sequence[View] = ()  # what each party saw, the server's first; only where asked for
    traffic: Sequence[PhaseTraffic] = ()  # how much was said in each phase; of agents alone
    # What this session and earlier ones leave to later ones of the same scopes. Private: never written.
    kept: KeptReports = {}

    def unheard(self, protocol: PhasedProtocol[Any, Any], num_parties: int) -> UnheardError | None:
        """Return the error for a release that nobody heard; None where somebody did, or where that is private."""
        if protocol.hides_participation or not num_parties or len(self.endings) < num_parties:
            return None
        first = str(next(iter(self.endings.values())))
        return UnheardError(role=protocol.client_role, num_parties=num_parties, first=first)
