"""Protected features that overlap: a voter counts in one group of each, such as gender and diet.

A session's groups are then the *crossings* of the features, which do not overlap: women who eat vegan, men who do, and
so on. A feature puts crossings together into wider groups. The mean utility of such a group is that of its crossings,
weighted by their sizes. So a voter's data are in the numbers of one crossing alone, whatever is computed of these.

Several features take no more noise than their crossings do (post-processing). A crossing without voters is no group.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from ..errors import ConfigurationError, require

__all__ = ["MAX_FEATURES", "Feature", "Partition", "check_features"]

MAX_FEATURES: Final = 16

Partition: TypeAlias = tuple[tuple[int, ...], ...]
"""For each group of a feature the places of its crossings among the session's groups."""

_MAX_NAME_LENGTH: Final = 256


class Feature(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A protected feature: of which of its groups each of the session's groups is a part.

    Args:
        name: such as "gender".
        of: for each of the session's groups, in their order, the feature's group, such as "women".
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
        return tuple(tuple(place for place, own in enumerate(self.of) if own == name) for name in self.groups)

    def sizes(self, group_sizes: Sequence[int]) -> tuple[int, ...]:
        """Return how many voters each of its groups has.

        Args:
            group_sizes: of the session's groups.
        """
        return tuple(sum(group_sizes[place] for place in places) for places in self.partition)


def check_features(features: Sequence[Feature], groups: Sequence[str]) -> None:
    """Raise ConfigurationError unless each feature puts all groups into two or more of its own.

    Args:
        features: at least one.
        groups: the session's.
    """
    require(1 <= len(features) <= MAX_FEATURES, "features", f"{len(features)} features", f"1 to {MAX_FEATURES}")
    for number, feature in enumerate(features):
        if not _is_name(feature.name) or feature.name in {other.name for other in features[:number]}:
            allowed = f"distinct names of 1 to {_MAX_NAME_LENGTH} printable characters, without blanks around"
            raise ConfigurationError(field="features", value=feature.name, allowed=allowed)
        field = f"feature {feature.name!r}"
        if len(feature.of) != len(groups):
            allowed = f"a group of it for each of the {len(groups)} groups of the session: {', '.join(groups[:12])}"
            raise ConfigurationError(field=field, value=list(feature.of[:12]), allowed=allowed)
        if wrong := [name for name in feature.of if not _is_name(name)]:
            allowed = f"names of 1 to {_MAX_NAME_LENGTH} printable characters, without blanks around"
            raise ConfigurationError(field=field, value=wrong[0], allowed=allowed)
        if len(feature.groups) < 2:  # noqa: PLR2004  one group has nobody to be treated alike
            raise ConfigurationError(field=field, value=list(feature.groups), allowed="two groups of it or more")


def _is_name(name: str) -> bool:
    return 0 < len(name) <= _MAX_NAME_LENGTH and name.isprintable() and name == name.strip()
