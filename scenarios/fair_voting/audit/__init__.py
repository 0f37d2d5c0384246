"""Fair voting: cases of its mechanisms and sessions."""

from collections.abc import Iterator

from ...audit.case import Case
from .choices import election_cases
from .rankings import ranking_cases

__all__ = ["mechanism_cases"]


def mechanism_cases() -> Iterator[Case]:
    """Yield the cases of randomized rankings, and of mechanisms that choose a winner."""
    yield from ranking_cases()
    yield from election_cases()
