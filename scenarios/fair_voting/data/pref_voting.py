"""Profiles to and from pref_voting, whose voting methods and axioms then are at hand.

There alternatives are numbers 0, 1, …, a profile holds each ranking once with the number of its voters, and there are
no groups: a profile of ours becomes one of theirs for all voters, or one for each group. Who stands in which row is
lost on the way, and so are the voters' names.

pref_voting is not among our dependencies: it is imported, by name, when a profile of theirs is made.

Source: Holliday and Pacuit (2025), pref_voting.
"""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.fair_voting.rankings import Rankings, are_strict, positions_of_orders
from .profile import Profile

__all__ = ["from_pref_voting", "groups_to_pref_voting", "to_pref_voting"]

_MOST_ALTERNATIVES: Final = 255  # a ranking is told from another one by its bytes


def to_pref_voting(profile: Profile) -> Any:
    """Return all voters of a profile as a `pref_voting.profiles.Profile`, whose `cmap` has the alternatives' names.

    Args:
        profile: the profile, of at most 255 alternatives.

    Raises:
        ImportError: pref_voting is not installed.
        ValueError: there are more alternatives.
    """
    return _to_theirs(profile.rankings.positions, profile.alternatives)


def groups_to_pref_voting(profile: Profile) -> dict[str, Any]:
    """Return the same for each group's voters, by the groups' names in their order. See `to_pref_voting`."""
    return {
        name: _to_theirs(profile.rankings.positions[profile.members == place], profile.alternatives)
        for place, name in enumerate(profile.groups)
    }


def from_pref_voting(profiles: Mapping[str, Any], *, names: Sequence[str] = ()) -> Profile:
    """Return pref_voting's profiles of groups as one profile.

    Groups follow each other in their order, each as one block, in which the voters of one ranking stand together;
    voters are voter-1, voter-2, ….

    Args:
        profiles: a `pref_voting.profiles.Profile` for each group, by the group's name; at least one.
        names: of the alternatives 0, 1, …; by default those of the profiles' `cmap`, in which they then must agree.

    Raises:
        TypeError: one is another kind of profile.
        ValueError: there is none, one has no voter or a ranking that is none, they are not about the same alternatives,
            or a name is there twice.
    """
    if not profiles:
        raise ValueError("there must be at least one profile, got none")
    given = {group: _names_of(profile, group) for group, profile in profiles.items()}
    first = next(iter(given))
    alternatives = tuple(names) or given[first]
    for group, theirs in given.items():
        if len(theirs) != len(alternatives) or (not names and theirs != alternatives):
            whose = "the names given are" if names else f"those of group {first!r} are"
            raise ValueError(f"alternatives of group {group!r} are {list(theirs)}, {whose} {list(alternatives)}")
    if len(set(alternatives)) != len(alternatives):
        raise ValueError(f"alternatives must have different names, got {list(alternatives)}")
    blocks = [_positions_of(profile, group) for group, profile in profiles.items()]
    sizes = [len(block) for block in blocks]
    return Profile(
        alternatives=alternatives,
        rankings=Rankings(np.concatenate(blocks)),
        groups=tuple(profiles),
        members=np.repeat(np.arange(len(sizes), dtype=np.int64), sizes),
        voters=[f"voter-{number}" for number in range(1, sum(sizes) + 1)],
        source="pref_voting",
    )


def _to_theirs(positions: IntArray, alternatives: Sequence[str]) -> Any:
    if len(alternatives) > _MOST_ALTERNATIVES:
        raise ValueError(f"there may be at most {_MOST_ALTERNATIVES} alternatives, got {len(alternatives)}")
    try:
        theirs: Any = importlib.import_module("pref_voting.profiles")  # by name: it is optional, and has no types
    except ImportError as error:
        raise ImportError("profiles of pref_voting need the package pref_voting: pip install pref_voting") from error
    # As text of bytes, which sorts ten times faster than rows of a table; a byte of 0 would end it.
    texts = np.ascontiguousarray((positions + 1).astype(np.uint8)).view(f"S{len(alternatives)}").ravel()
    _, firsts, counts = np.unique(texts, return_index=True, return_counts=True)
    orders: list[list[int]] = positions_of_orders(positions[firsts]).tolist()  # an inverse goes in both directions
    numbers: list[int] = counts.tolist()
    return theirs.Profile(orders, rcounts=numbers, cmap=dict(enumerate(alternatives)))


def _names_of(profile: Any, group: str) -> tuple[str, ...]:
    """Return the alternatives' names; TypeError where it is no profile of theirs."""
    if not all(hasattr(profile, name) for name in ("rankings_counts", "candidates", "cmap")):
        raise _another_kind(profile, group)
    return tuple(str(profile.cmap[candidate]) for candidate in profile.candidates)


def _positions_of(profile: Any, group: str) -> IntArray:
    """Return each voter's row of positions; TypeError for rankings that are not strict, ValueError for what is none."""
    orders, counts = (np.asarray(each) for each in profile.rankings_counts)
    if int(np.sum(counts)) < 1:
        raise ValueError(f"group {group!r} must have at least one voter, got none")
    if orders.dtype.kind != "i":
        raise _another_kind(profile, group)
    orders = orders.astype(np.int64)
    are_fine = are_strict(orders)
    if not np.all(are_fine):
        row: list[int] = orders[np.argmin(are_fine)].tolist()
        raise ValueError(f"a ranking of group {group!r} must have each alternative once, got {row}")
    return np.repeat(positions_of_orders(orders), counts, axis=0)


def _another_kind(profile: Any, group: str) -> TypeError:
    expected = "a pref_voting.profiles.Profile (of one with ties, its `to_linear_profile()`)"
    return TypeError(f"group {group!r} must be {expected}, got {type(profile).__name__}")
