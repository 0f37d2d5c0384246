"""A profile: the rankings of voters who belong to groups, from whatever source."""

import dataclasses
from collections.abc import Sequence

from ....protocol.arrays import IntArray
from ....protocol.fair_voting.features import Feature
from ....protocol.fair_voting.rankings import Rankings

__all__ = ["Profile"]


@dataclasses.dataclass(frozen=True, eq=False)
class Profile:
    """Voters, what they prefer, and which group each belongs to.

    Args:
        alternatives: their names, in the order of the rankings' columns.
        rankings: strict and complete ones, a voter each.
        groups: the groups' names; each has a voter.
        members: int64, shape (n,): the place of each voter's group among the groups.
        voters: their names.
        lines: where each stands in its file; empty where there is none.
        source: that file's name, for errors.
        is_generated: whether the rankings are made up.
        features: those of which the groups are the crossings; empty where they are groups of one kind.
        note: what became of the lines of the file (ties broken, voters left out), as a line for people.
    """

    alternatives: tuple[str, ...]
    rankings: Rankings
    groups: tuple[str, ...]
    members: IntArray
    voters: Sequence[str]
    lines: Sequence[int] = ()
    source: str = ""
    is_generated: bool = False
    note: str = ""
    features: tuple[Feature, ...] = ()

    def __len__(self) -> int:
        return len(self.rankings)
