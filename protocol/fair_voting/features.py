"""Overlapping protected features, such as gender and diet: a voter is in one group of each.

The groups of a session are then the *crossings* of the features, which do not overlap, such as vegan women and vegan
men. A feature merges crossings into wider groups. The mean utility of such a group is that of its crossings, weighted
by their sizes. So a voter's data affect only the numbers of one crossing, whatever is computed from these.

Several features need no more noise than their crossings (post-processing). A crossing without voters is no group.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from ..arguments import NAMES, is_name
from ..errors import require

MAX_FEATURES: Final = 16

Partition: TypeAlias = tuple[tuple[int, ...], ...]
"""For one feature, the indices of each group's crossings among the session's groups."""


class Feature(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A protected feature: it assigns each of the session's groups to one of its groups.

    Args:
        name: the feature's name, such as "gender".
        of: for each of the session's groups, in their order, the feature's group, such as "women".

    Examples:
        >>> gender = Feature(name="gender", of=("women", "women", "men"))
        >>> gender.groups
        ('women', 'men')
        >>> gender.sizes((1, 2, 3))
        (3, 3)
    """

    name: str
    of: tuple[str, ...]

    @property
    def groups(self) -> tuple[str, ...]:
        """The feature's groups, in the order of their first crossings."""
        return tuple(dict.fromkeys(self.of))

    @property
    def partition(self) -> Partition:
        """The places of the crossings of each of its groups."""
        return tuple(
            tuple(place for place, group_name in enumerate(self.of) if group_name == name) for name in self.groups
        )

    def sizes(self, group_sizes: Sequence[int]) -> tuple[int, ...]:
        """Return how many voters each of its groups has."""
        return tuple(sum(group_sizes[place] for place in places) for places in self.partition)


def check_features(features: Sequence[Feature], groups: Sequence[str]) -> None:
    """Raise ConfigurationError unless each feature puts all groups into two or more of its own."""
    require(1 <= len(features) <= MAX_FEATURES, "features", f"{len(features)} features", f"1 to {MAX_FEATURES}")
    for number, feature in enumerate(features):
        is_new = feature.name not in {earlier_feature.name for earlier_feature in features[:number]}
        require(is_name(feature.name) and is_new, "features", feature.name, f"distinct {NAMES}")
        field = f"feature {feature.name!r}"
        allowed = f"a group of it for each of the {len(groups)} groups of the session: {', '.join(groups[:12])}"
        require(len(feature.of) == len(groups), field, list(feature.of[:12]), allowed)
        for name in feature.of:
            require(is_name(name), field, name, NAMES)
        # A single group cannot be compared.
        require(len(feature.groups) > 1, field, list(feature.groups), "two groups of it or more")
