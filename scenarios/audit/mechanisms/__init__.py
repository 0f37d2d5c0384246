"""Every mechanism, audited by itself: one case for each law, unit and ε."""

from collections.abc import Callable, Iterator
from typing import Final

from ...fair_voting.audit.choices import election_cases
from ...fair_voting.audit.rankings import ranking_cases
from ...moral_preferences.audit.objective import moral_cases
from ...truth_discovery.audit.answers import answer_cases
from ..case import Case
from .noise import noise_cases
from .responses import response_cases

__all__ = ["mechanism_cases"]

_CASES: Final[tuple[Callable[[], Iterator[Case]], ...]] = (
    response_cases,
    noise_cases,
    answer_cases,
    ranking_cases,
    election_cases,
    moral_cases,
)


def mechanism_cases() -> list[Case]:
    """Return every mechanism's cases."""
    return [case for make in _CASES for case in make()]
