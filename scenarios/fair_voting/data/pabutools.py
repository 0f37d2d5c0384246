"""Profiles to and from Pabutools, whose rules of participatory budgeting then are at hand.

There a profile is a list of ballots, each with a voter's name and a table of what else is known of the voter, and
projects have costs, which fair votes know nothing of. Names and groups of voters are kept.

Pabutools is not among our dependencies: it is imported, by name, when a profile of theirs is made.

Source: Boehmer, Faliszewski, Janeczko, Peters, Pierczyński, Schierreich, Skowron and Szufa (2024), Pabutools.
"""

import importlib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from ....protocol.fair_voting.rankings import Rankings, are_strict, positions_of_orders
from .profile import Profile

_GROUP: Final = "group"  # the key of a ballot's table under which its voter's group stands


def to_pabutools(profile: Profile, *, costs: Mapping[str, float], budget: float) -> tuple[Any, Any]:
    """Return a profile as an `Instance` and an `OrdinalProfile` of `pabutools.election`.

    Args:
        profile: the profile; of each voter the ballot has the name, and the group under the key "group".
        costs: of each alternative.
        budget: the most that chosen projects may cost together.

    Raises:
        ImportError: Pabutools is not installed.
        ValueError: an alternative has no cost, what has one is no alternative, or a voter has a tie.
    """
    if odd := sorted({*costs} ^ {*profile.alternatives}):
        wrong = "is no alternative" if odd[0] in costs else "has no cost"
        raise ValueError(
            f"costs do not fit: {odd[0]!r} {wrong}. Give one for each of {', '.join(profile.alternatives)}"
        )
    try:
        election_module: Any = importlib.import_module(
            "pabutools.election"
        )  # by name: it is optional, and has no types
    except ImportError as error:
        raise ImportError("profiles of Pabutools need the package pabutools: pip install pabutools") from error
    if not are_strict(profile.rankings.positions).all():
        raise ValueError("an OrdinalBallot has no ties: have each voter rank all alternatives in a strict order")
    projects = [election_module.Project(name, Fraction(str(costs[name]))) for name in profile.alternatives]
    instance = election_module.Instance(projects, budget_limit=Fraction(str(budget)))
    orders: list[list[int]] = positions_of_orders(profile.rankings.positions).tolist()  # an inverse goes both ways
    members: list[int] = profile.members.tolist()
    ballots = [
        election_module.OrdinalBallot(
            [projects[place] for place in order], name=voter, meta={_GROUP: profile.groups[member]}
        )
        for order, voter, member in zip(orders, profile.voters, members, strict=True)
    ]
    return instance, election_module.OrdinalProfile(ballots, instance=instance)


def from_pabutools(instance: Any, profile: Any, *, group: str = _GROUP, alternatives: Sequence[str] = ()) -> Profile:
    """Return a profile of Pabutools with its voters' groups.

    Args:
        instance: a `pabutools.election.Instance`.
        profile: its `OrdinalProfile`, whose ballots each rank all projects.
        group: what a voter's group is called in the ballot's table.
        alternatives: the projects' names in the order that is wanted; by default in that of the alphabet.

    Raises:
        TypeError: it is another kind of profile.
        ValueError: there is no ballot; one has no such group, or does not rank each project once; two voters have one
            name; or `alternatives` are not the projects' names.
    """
    ballots: Any = profile
    if not hasattr(instance, "budget_limit") or not isinstance(profile, Sequence):
        kinds = f"{type(instance).__name__} and {type(profile).__name__}"
        raise TypeError(f"these are {kinds}: give an Instance and an OrdinalProfile of pabutools.election")
    names = sorted(str(project.name) for project in instance)
    alternative_names = tuple(map(str, alternatives)) or tuple(names)
    if sorted(alternative_names) != names:
        raise ValueError(f"alternatives are {list(alternative_names)}: name the projects {', '.join(names)}, each once")
    number_of = {name: number for number, name in enumerate(alternative_names)}
    orders: list[list[int]] = []
    groups: dict[str, int] = {}
    members: list[int] = []
    voters: dict[str, int] = {}
    for number, ballot in enumerate(ballots, start=1):
        voter = str(ballot.name or f"voter-{number}")
        if voter in voters:
            raise ValueError(
                f"ballots {voters[voter]} and {number} are both of {voter}: each voter has a name of its own"
            )
        ranked_names = [str(getattr(project, "name", "")) for project in _in_order(ballot, voter)]
        if sorted(ranked_names) != names:
            raise ValueError(f"the ballot of {voter} ranks {ranked_names}: rank each of {len(names)} projects once")
        ballot_meta: Mapping[str, Any] = ballot.meta or {}
        if (group_entry := ballot_meta.get(group)) is None:
            raise ValueError(f"the ballot of {voter} has no group: write it under {group!r} in its meta")
        orders.append([number_of[name] for name in ranked_names])
        members.append(groups.setdefault(str(group_entry), len(groups)))
        voters[voter] = number
    if not orders:
        raise ValueError("there is no ballot: give at least one")
    return Profile(
        alternatives=alternative_names,
        rankings=Rankings(positions_of_orders(np.array(orders, dtype=np.int64))),
        groups=tuple(groups),
        members=np.array(members, dtype=np.int64),
        voters=list(voters),
        source="pabutools",
    )


def _in_order(ballot: Any, voter: str) -> Sequence[Any]:
    """Return a ballot's projects, the best first; TypeError for one that has no order."""
    if not hasattr(ballot, "at_index"):
        raise TypeError(f"the ballot of {voter} is a {type(ballot).__name__}: give an OrdinalBallot")
    return list(ballot)
