"""Audits of the mechanisms that systems share: one case for each law, unit and ε."""

from collections.abc import Iterator

from ..case import Case
from .noise import noise_cases
from .responses import response_cases
from .shares import share_cases

__all__ = ["shared_cases"]


def shared_cases() -> Iterator[Case]:
    """Yield the cases of randomized response, Laplace noise and noise shares."""
    yield from response_cases()
    yield from noise_cases()
    yield from share_cases()
