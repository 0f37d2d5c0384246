"""All cases that there are: of mechanisms, and of every system's whole sessions."""

from collections.abc import Callable

from ..system import load_each
from .case import Case
from .mechanisms import shared_cases

__all__ = ["mechanism_cases", "session_cases"]


def mechanism_cases() -> list[Case]:
    """Return the cases of every mechanism: of those that belong to no system alone, then system by system."""
    return [*shared_cases(), *_of_systems("mechanism_cases")]


def session_cases() -> list[Case]:
    """Return every protocol's every variant, with all that leaves one party, or a trusted server, as the output."""
    return _of_systems("session_cases")


def _of_systems(part: str) -> list[Case]:
    return [case for _, make in load_each(part, Callable) for case in make()]
