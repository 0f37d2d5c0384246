"""Voters who are in a group of each of several features: their crossings are the groups of a vote.

A crossing that no voter is in is left out: it is no group. That rule needs groups that are public, since who looks at
which crossings there are learns of voters' groups. A voter whose group of one feature is not said has none.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from ....protocol.errors import ConfigurationError
from ....protocol.fair_voting import Feature
from .groups import Grouping

__all__ = ["SIGN", "crossed"]

SIGN: Final = " × "
"""Between the names of a crossing's groups."""
_MAX_SHOWN: Final = 12


def crossed(groupings: Mapping[str, Grouping], *, field: str) -> tuple[Grouping, tuple[Feature, ...]]:
    """Return the crossings of two features or more that have voters, and which groups of the features they are in.

    Crossings come in the order of their groups: those of the first feature's first group first. If two of them have one
    name, the setting that names the features is in error.
    """
    if len(groupings) < 2:  # noqa: PLR2004  one feature has no crossings
        raise ConfigurationError(field=field, value=list(groupings), allowed="two columns or more, each once")
    members = np.stack([grouping.members for grouping in groupings.values()], axis=1)
    is_in = (members >= 0).all(axis=1)
    present, places = np.unique(members[is_in], axis=0, return_inverse=True)
    own = np.full(len(members), -1, dtype=np.int64)
    own[is_in] = places.reshape(-1)
    rows: list[list[int]] = present.tolist()
    named: Sequence[tuple[str, ...]] = [
        tuple(grouping.groups[place] for grouping, place in zip(groupings.values(), row, strict=True)) for row in rows
    ]
    groups = tuple(SIGN.join(parts) for parts in named)
    if twice := [name for name in groups if groups.count(name) > 1]:
        raise ConfigurationError(field=field, value=twice[:_MAX_SHOWN], allowed="groups whose crossings have own names")
    features = tuple(
        Feature(name=name, of=tuple(parts[number] for parts in named)) for number, name in enumerate(groupings)
    )
    return Grouping(groups, own), features
