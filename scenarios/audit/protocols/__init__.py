"""Whole sessions audited: several phases, candidates and repeated votes, against what the ledger adds up."""

from collections.abc import Callable, Iterator
from typing import Final

from ...dpwevote.audit.sessions import dpwevote_cases
from ...fair_voting.audit.sessions import fair_voting_cases
from ...moral_preferences.audit.sessions import moral_preferences_cases
from ...truth_discovery.audit.sessions import truth_discovery_cases
from ..case import Case

__all__ = ["protocol_cases"]

_CASES: Final[tuple[Callable[[], Iterator[Case]], ...]] = (
    dpwevote_cases,
    truth_discovery_cases,
    moral_preferences_cases,
    fair_voting_cases,
)


def protocol_cases() -> list[Case]:
    """Return every protocol's every variant, with all that leaves one party, or a trusted server, as the output."""
    return [case for make in _CASES for case in make()]
