"""A profile: the rankings of voters who belong to groups, from whatever source."""

import dataclasses
from collections.abc import Sequence

from ....protocol.arrays import IntArray
from ....protocol.fair_voting.features import Feature
from ....protocol.fair_voting.rankings import Rankings


@dataclasses.dataclass(frozen=True, eq=False)
class Profile:
    """Voters, what they prefer, and which group each belongs to.

    Examples:
        >>> import numpy as np
        >>> rankings = Rankings(np.array([[0, 1], [1, 0]]))
        >>> profile = Profile(("tea", "coffee"), rankings, ("all",), np.array([0, 0]), ["ann", "bob"])
        >>> len(profile), profile.is_generated
        (2, False)
    """

    alternatives: tuple[str, ...]  # their names, in the order of the rankings' columns
    rankings: Rankings  # complete ones, in which some may be tied, a voter each
    groups: tuple[str, ...]  # the groups' names; each has a voter
    members: IntArray  # int64, shape (n,): the place of each voter's group among the groups
    voters: Sequence[str]  # their names
    lines: Sequence[int] = ()  # where each stands in its file; empty where there is none
    source: str = ""  # that file's name, for errors
    may_tie: bool = False  # whether a voter may have a tie, by the form of the source
    is_generated: bool = False  # whether the rankings are made up
    note: str = ""  # what became of the lines of the file (ties broken, voters left out), as a line for people
    # Those of which the groups are the crossings; empty where they are groups of one kind.
    features: tuple[Feature, ...] = ()

    def __len__(self) -> int:
        return len(self.rankings)
