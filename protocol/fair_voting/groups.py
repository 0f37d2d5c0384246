"""What a group's name may be: a voter is in one group, and an entry that names two of them is no third one."""

import re
from collections.abc import Container

__all__ = ["names_two_groups"]


def names_two_groups(name: str, groups: Container[str]) -> bool:
    """Return whether a name is made of names of several groups, with a sign of separation between them.

    Args:
        name: what stands for a voter's group.
        groups: all names that stand for voters' groups.
    """
    parts = [part.strip() for part in re.split(r"[;,|/+&]", name)]
    return len(parts) > 1 and all(part in groups for part in parts)
