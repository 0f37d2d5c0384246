"""Profiles to and from pref_voting, whose voting methods and axioms then are at hand.

There alternatives are numbers 0, 1, …, a profile holds each ranking once with the number of its voters, and there are
no groups: a profile of ours becomes one of theirs for all voters, or one for each group, a `ProfileWithTies` where
somebody has a tie. Who stands in which row is lost on the way, and so are the voters' names.

pref_voting is not among our dependencies: it is imported, by name, when a profile of theirs is made.

Source: Holliday and Pacuit (2025), pref_voting.
"""

import importlib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.fair_voting.rankings import Rankings, are_strict, positions_of_classes, positions_of_orders
from .ballots import MAX_VOTERS
from .profile import Profile

_MOST_ALTERNATIVES: Final = 255  # a ranking is told from another one by its bytes


def to_pref_voting(profile: Profile) -> Any:
    """Return all voters of a profile as one of pref_voting's, whose `cmap` has the alternatives' names.

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
    voters are voter-1, voter-2, …. In a `ProfileWithTies` those that a voter does not rank stand last together.

    Args:
        profiles: a `Profile` or `ProfileWithTies` for each group, by the group's name; at least one.
        names: of the candidates, in their order; by default those of the profiles' `cmap`, in which they then must
            agree.

    Raises:
        TypeError: one is another kind of profile.
        ValueError: there is none, one has no voter, a ranking that is none or a count that is none, they are not about
            the same alternatives, a name is there twice, or more names than alternatives.
    """
    read_profiles = {group: _read(profile, group, has_names=bool(names)) for group, profile in dict(profiles).items()}
    if not read_profiles:
        raise ValueError("there is no profile: give at least one")
    first = next(iter(read_profiles))
    alternatives = tuple(map(str, names)) or read_profiles[first][0]
    for group, (alternatives_of_group, _) in read_profiles.items():
        if len(alternatives_of_group) != len(alternatives) or (not names and alternatives_of_group != alternatives):
            names_text = "the names given are" if names else f"those of group {first!r} are"
            raise ValueError(
                f"alternatives of group {group!r} are {list(alternatives_of_group)}, {names_text} {list(alternatives)}"
            )
    if len(set(alternatives)) != len(alternatives):
        raise ValueError(f"alternatives are {list(alternatives)}: give each a name of its own")
    blocks = [positions for _, positions in read_profiles.values()]
    sizes = [len(block) for block in blocks]
    return Profile(
        alternatives=alternatives,
        rankings=Rankings(np.concatenate(blocks)),
        groups=tuple(read_profiles),
        members=np.repeat(np.arange(len(sizes), dtype=np.int64), sizes),
        voters=[f"voter-{number}" for number in range(1, sum(sizes) + 1)],
        source="pref_voting",
    )


def _to_theirs(positions: IntArray, alternatives: Sequence[str]) -> Any:
    if len(alternatives) > _MOST_ALTERNATIVES:
        raise ValueError(f"there are {len(alternatives)} alternatives: use at most {_MOST_ALTERNATIVES}")
    # As text of bytes, which sorts ten times faster than rows of a table; a byte of 0 would end it.
    texts = np.ascontiguousarray((positions + 1).astype(np.uint8)).view(f"S{len(alternatives)}").ravel()
    _, firsts, counts = np.unique(texts, return_index=True, return_counts=True)
    rows, numbers, names = positions[firsts], counts.tolist(), dict(enumerate(alternatives))
    is_strict = are_strict(rows).all()
    try:  # by name: it is optional, and has no types
        if is_strict:
            profiles_module: Any = importlib.import_module("pref_voting.profiles")
        else:
            profiles_module = importlib.import_module("pref_voting.profiles_with_ties")
    except ImportError as error:
        raise ImportError("profiles of pref_voting need the package pref_voting: pip install pref_voting") from error
    if is_strict:  # an inverse goes in both directions
        return profiles_module.Profile(positions_of_orders(rows).tolist(), rcounts=numbers, cmap=names)
    rank_lists: list[list[int]] = rows.tolist()
    return profiles_module.ProfileWithTies([dict(enumerate(row)) for row in rank_lists], rcounts=numbers, cmap=names)


def _read(profile: Any, group: str, *, has_names: bool) -> tuple[tuple[str, ...], IntArray]:
    """Return the alternatives' names, and each voter's row of positions; each attribute of theirs is asked for once."""
    try:
        candidates, cmap, (rankings, numbers) = list(profile.candidates), profile.cmap, profile.rankings_counts
        rows, counts = list(rankings), [Fraction(str(number)) for number in numbers]
        names = tuple(str(cmap[candidate]) for candidate in candidates)
        ranks = [_ranks_of(row, candidates) for row in rows]
    except (AttributeError, TypeError) as error:
        kind = type(profile).__name__
        raise TypeError(f"group {group!r} is a {kind}: give a pref_voting Profile or ProfileWithTies") from error
    # A Profile without some candidates has new numbers, and the names of the old ones.
    if not has_names and candidates == list(range(len(candidates))) and len(cmap) > len(candidates):
        names_given = ", ".join(map(str, cmap.values()))
        raise ValueError(
            f"group {group!r} has {len(candidates)} alternatives, which of {names_given} is not known: give names"
        )
    for number in counts:
        if number.denominator > 1 or number < 0:
            raise ValueError(f"a count of group {group!r} is {float(number):g}: use whole numbers of voters")
    if not 0 < sum(counts) <= MAX_VOTERS:
        raise ValueError(f"group {group!r} has {sum(counts)} voters: give one or more, {MAX_VOTERS:,} at most")
    positions = positions_of_classes(np.array(ranks, dtype=np.int64).reshape(len(rows), -1))
    return names, np.repeat(positions, [int(number) for number in counts], axis=0)


def _ranks_of(row: Any, candidates: Sequence[Any]) -> list[int]:
    """Return each candidate's rank, from 0 the best, of an order of all or of a `Ranking`, which may have ties."""
    rank_map: Any = getattr(row, "rmap", None)
    if rank_map is None:
        order = list(row)
        if sorted(order) != sorted(candidates):
            raise ValueError(f"a ranking is [{', '.join(map(str, order))}]: name each alternative once")
        return [order.index(candidate) for candidate in candidates]
    levels = sorted({rank_map[candidate] for candidate in rank_map})
    return [levels.index(rank_map[each]) if each in rank_map else len(levels) for each in candidates]
