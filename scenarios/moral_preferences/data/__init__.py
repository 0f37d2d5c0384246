"""Surveys of pairwise choices: readers, generators, and how they become the voters of a session."""

from .files import read_own_records
from .parties import OwnEpsilons, as_voters, load_voters
from .privacy_groups import PrivacyGroups, draw_epsilons, read_epsilons
from .survey import Reading, Survey

__all__ = [
    "OwnEpsilons",
    "PrivacyGroups",
    "Reading",
    "Survey",
    "as_voters",
    "draw_epsilons",
    "load_voters",
    "read_epsilons",
    "read_own_records",
]
