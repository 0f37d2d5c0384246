"""Audits of fair voting: a voter's randomized ranking, and a trusted aggregator's release.

In the local model, every pair of rankings is tried, in all groups if these are private. Every pair is also tried for
Algorithm 1 and for pairwise counts, where other voters cancel. For choices of a winner, all profiles of two small
groups are tried with every change of one voter, by the exact law of the winner; for Algorithm 2 also a large profile
with a known large loss. If losses differ by group, each group is audited against its loss.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.fair_voting import Details, FairVoting, Outcome, Parameters, positions_of_orders
from ....protocol.fair_voting.kinds import JOINT, LOCAL
from ....protocol.mechanisms import code_of_rankings
from ....protocol.phases import Inputs
from ....protocol.privacy import NeighboringRelation
from ...audit.case import Case
from ...audit.machines import roster_of
from ...audit.masked_configurations import MASKED_RUNGS, MaskedStage, sizes_of
from ...audit.observables import Observable, exposure_of_release
from ...audit.size_grid import OWN, RUNGS, Configuration, Ends, Member, SizeSweep, other_level_ends
from ...audit.whole_sessions import AuditParty, two_party_cases
from .neighbors import RankingCounts, case_of_profiles, worst_neighbors

LARGE_SIZES: Final = (500, 1_001)
"""Group sizes as in Table 1, plus one voter: sizes n and 2n would have many ties, which lots break."""
LABEL: Final = 0.6  # the least ε of Table 1 that is feasible for these sizes

_ALTERNATIVES = ("a", "b", "c", "d")
_GROUPS = ("left", "right")
_SIZES = (2, 2)
_UNEQUAL_SIZES = (1, 2)  # the printed scale weighs groups of different sizes differently
_PAIRS: Final[Mapping[str, Any]] = {
    "alternatives": _ALTERNATIVES[:3],
    "groups": _GROUPS[:1],
    "group_sizes": _SIZES[:1],
    "mechanism": "pairwise",
    "objective": "copeland",
}
_ABSENT = "nobody"
_EPSILON_OF_RELEASES = 8.0  # for all sizes of a sweep; at a small ε, a winner reveals too little
_SHARE_OF_RELEASES, _SECURE_SHARE_OF_RELEASES = 0.02, 0.03
"""Fractions of the requested outputs: a session by machines takes most of a millisecond."""
_UNIT = "voter"
_PUBLIC = (0,)
_LEVELS: Final = (0.5, 1.0, 2.0)
"""The levels of personalized ε."""
_REPLACE, _REMOVE = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE


def fair_voting_cases(*, epsilon: float = 1.0) -> Iterator[Case]:
    """Yield the audits of local mechanisms, of Algorithm 1 and pairwise counts by both relations, and of winners."""
    for mechanism in LOCAL:
        yield _local(_vote(mechanism=mechanism, epsilon=epsilon))
    for mechanism in JOINT:
        yield _local(_vote(mechanism=mechanism, alternatives=_ALTERNATIVES[:3], epsilon=epsilon))
    yield from _cases_of_levels()
    party = _party(_vote(mechanism="whole_ranking", alternatives=_ALTERNATIVES[:3], epsilon=epsilon), _PUBLIC)
    other = party.rows[-1], (1,)  # in the other group
    yield from two_party_cases(party, other, name="whole_ranking", unit=_UNIT)
    for calibration, relation in itertools.product(("tight", "printed"), (_REPLACE, _REMOVE)):
        yield _algorithm_1(_vote(calibration=calibration, relation=relation, epsilon=epsilon))
    yield _algorithm_1(_vote(group_sizes=_UNEQUAL_SIZES, epsilon=epsilon), group=1)
    for relation in (_REPLACE, _REMOVE):
        yield _algorithm_1(_vote(**_PAIRS, relation=relation, epsilon=epsilon))
    small: dict[str, Any] = {"alternatives": _ALTERNATIVES[:3], "group_sizes": _SIZES, "epsilon": epsilon}
    for mechanism, relation in itertools.product(("exponential", "permute_and_flip"), (_REPLACE, _REMOVE)):
        yield _election(_vote(**small, mechanism=mechanism, relation=relation))
    sampling = small | {"mechanism": "sampling"}
    yield _election(_vote(**sampling, num_samples=2))
    unequal = {"group_sizes": _UNEQUAL_SIZES}
    yield _election(_vote(**sampling | unequal | {"scale": "printed"}, num_samples=2))
    yield _election(_vote(**sampling | unequal | {"scale": "printed"}, num_samples=2), group=1)
    for group in range(len(_GROUPS)):
        yield _election(_vote(**small | unequal, mechanism="exponential"), group=group)
    yield _election(_vote(**sampling, reading="subsample", num_samples=1))
    yield _election(_vote(**sampling | {"calibration": "proven", "num_samples": 1, "epsilon": 2 * epsilon}))
    floored = small | {"objective": "welfare_constrained", "welfare_share": 0.75}
    for mechanism in ("exponential", "permute_and_flip"):
        yield _election(_vote(**floored, mechanism=mechanism))
    yield _election(_vote(**floored, mechanism="sampling", num_samples=2))
    large = _vote(mechanism="sampling", scale="printed", group_sizes=LARGE_SIZES, epsilon=LABEL)
    yield case_of_profiles(large, lambda: disliked_alternative(large), suffix=", 500 and 1,001 voters", share=5e-4)


def _cases_of_levels() -> Iterator[Case]:
    """Yield audits of voters at each level of ε, which is public: neighbors have the same level."""
    few: dict[str, Any] = {"alternatives": _ALTERNATIVES[:3], "epsilons": _LEVELS}
    for mechanism, place in itertools.product(LOCAL, range(len(_LEVELS))):
        level_parameters = {"chosen_by": "voter"} if mechanism == "sampled_pair" else {}
        party = _party(_vote(mechanism=mechanism, **few, **level_parameters), (0, place))
        yield party.case(f"{mechanism}, own ε = {_LEVELS[place]:g}", _UNIT, num_sessions=2, is_tight=True)
    party = _party(_vote(mechanism="whole_ranking", **few), (0, 0))
    other = party.rows[-1], (1, len(_LEVELS) - 1)  # in the other group, with the greatest ε
    yield from two_party_cases(party, other, name=f"whole_ranking, own ε = {_LEVELS[0]:g}", unit=_UNIT)


def fair_voting_climbs() -> Iterator[SizeSweep]:
    """Yield sweeps over alternatives, voters, groups and consecutive votes, for every mechanism with a law."""
    sizes: dict[str, Sequence[int]] = {"alternatives": RUNGS[1:-1], "voters": RUNGS, "votes in a row": RUNGS}
    few, groups = {"alternatives": RUNGS[1:4]}, {"groups": RUNGS[1:]}
    rankings = [name for name in LOCAL if name != "whole_ranking"]
    own_levels = [f"{name}{OWN}{level:g}" for name, level in zip(rankings, _LEVELS, strict=True)]
    yield SizeSweep("rankings", sizes, [*rankings, *own_levels], _local_stage)
    yield SizeSweep("whole rankings", sizes | few, ["whole_ranking"], _local_stage)
    yield SizeSweep("private groups", sizes | groups, [name for name in JOINT if name != "joint_ranking"], _local_stage)
    few |= {"groups": RUNGS[1:4]}
    yield SizeSweep("private groups and whole rankings", sizes | few, ["joint_ranking"], _local_stage)
    sizes = {"alternatives": RUNGS[1:-1], "voters": RUNGS, "groups": RUNGS[1:-2]}
    released_mechanisms = ["laplace", "exponential", "permute_and_flip"]
    yield SizeSweep("releases", dict(sizes), released_mechanisms, _release_configuration, most=400)
    del sizes["groups"]
    yield SizeSweep("plain elections", sizes, [*released_mechanisms, "pairwise"], _release_configuration, most=100)
    sizes = {"alternatives": RUNGS[1:-1], "voters": MASKED_RUNGS, "groups": RUNGS[1:3]}
    yield SizeSweep("masked votes", sizes, ["borda", "plurality"], masked_configuration, most=400)


def masked_configuration(scores: str, sizes: Mapping[str, int]) -> MaskedStage:
    """Return masked votes of a voter of the first group; each other voter reverses the ranking before it."""
    groups = tuple(f"g{number}" for number in range(sizes["groups"]))
    names = [f"a{number}" for number in range(sizes["alternatives"])]
    number = sizes["voters"] + len(groups) - 1  # one voter in each of the other groups
    of_groups = {"groups": groups, "group_sizes": (sizes["voters"], *[1] * (len(groups) - 1))}
    vote = _vote(
        alternatives=tuple(names), mechanism="masked", scores=scores, epsilon=2.0, **of_groups, **sizes_of(number)
    )
    members = [groups[0]] * sizes["voters"] + list(groups[1:])

    def roster(own_ranking: list[str]) -> Inputs:
        other_rankings = [names[:: 1 - 2 * (place % 2)] for place in range(number - 1)]
        return vote.encode({"group": members, "ranking": [own_ranking, *other_rankings]})

    last = [*names[:-2], *names[-1:-3:-1]]
    kinds = {"ranking": Ends(roster(names), roster(names[::-1])), "two alternatives": Ends(roster(names), roster(last))}
    return MaskedStage(vote, kinds, num_parties=number)


def _local_stage(choice: str, sizes: Mapping[str, int]) -> Configuration:
    mechanism, _, level = choice.partition(OWN)
    parameters: dict[str, Any] = {"epsilons": _LEVELS} if level else {"epsilon": 2.0}
    groups = tuple(f"g{number}" for number in range(sizes.get("groups", 2)))
    names = tuple(f"a{number}" for number in range(sizes["alternatives"]))
    vote = _vote(alternatives=names, groups=groups, group_sizes=(2,) * len(groups), mechanism=mechanism, **parameters)
    order, swapped_order = list(names), [*names[:-2], *names[-1:-3:-1]]
    kinds_told = [(0, order), (0, order[::-1]), (0, swapped_order), (1, order), (len(groups) - 1, order[::-1])]
    table: dict[str, Any] = {
        "group": [groups[group] for group, _ in kinds_told],
        "ranking": [list(each) for _, each in kinds_told],
    }
    inputs = vote.encode(table | ({"epsilon": [level] * len(kinds_told)} if level else {}))
    public = tuple(inputs.public[0].tolist())
    first, reversed_order, last, other, farthest = (Member(tuple(row), public) for row in inputs.private.tolist())
    kinds = {"ranking": Ends(first, reversed_order), "two alternatives": Ends(first, last)}
    if vote.parameters.is_joint:
        kinds |= {"group": Ends(first, other), "group and ranking": Ends(first, farthest)}
    if level:
        kinds |= other_level_ends(first, len(_LEVELS))
    return Configuration(vote, kinds, num_parties=sizes["voters"], num_sessions=sizes["votes in a row"])


def _release_configuration(mechanism: str, sizes: Mapping[str, int]) -> Configuration:
    """Return elections of one voter among others who agree, are split in halves, or make the two best tie."""
    groups = tuple(f"g{number}" for number in range(sizes.get("groups", 1)))
    names = tuple(f"a{number}" for number in range(sizes["alternatives"]))
    number = 2 * sizes["voters"]
    vote = _vote(
        alternatives=names,
        groups=groups,
        group_sizes=(number, *[2] * (len(groups) - 1)),
        mechanism=mechanism,
        epsilon=_EPSILON_OF_RELEASES,
        objective="parity" if len(groups) > 1 else "copeland" if mechanism == "pairwise" else "welfare",
    )
    order = np.arange(len(names), dtype=np.int64)  # as positions
    reverse, exchanged_order = order[::-1], np.concatenate([order[1::-1], order[2:]])
    halves = [order, reverse] * (len(groups) - 1)  # the other groups have sums of 0
    publics = [(0,)] * number + [(own_rankings,) for own_rankings in range(1, len(groups)) for _ in range(2)]

    def rosters(own_rankings: Sequence[IntArray], other_rankings: Sequence[IntArray]) -> Ends:
        changed_rankings = [
            own_rankings[-1] if np.array_equal(own_rankings[0], reverse) else reverse,
            *own_rankings[1:],
        ]
        return Ends(*(roster_of(vote, [*each, *other_rankings], publics) for each in (own_rankings, changed_rankings)))

    kinds = {
        "greatest totals": rosters([order] * number, [order] * len(halves)),
        "totals of 0": rosters([order, reverse] * (number // 2), halves),
        "the two best tie": rosters([order, exchanged_order] * (number // 2), halves),
        "others against it": rosters([reverse] * (number - 1) + [order], [order] * len(halves)),
    }

    return Configuration(vote, kinds, num_parties=len(publics), is_central=True)


def exposure_by_algorithm_1(vote: FairVoting, *, num_sessions: int, group: int = 0) -> Observable:
    """Return the observable of Algorithm 1 (mechanism "laplace") or "pairwise", for each ranking of a group's voter.

    If voters are added or removed, the first candidate is the group without the voter, and the others are not neighbors
    of each other.
    """
    rows, _ = _rankings(vote)
    # One other voter of each group, whose sums cancel in every comparison.
    groups = [(group_index,) for group_index in range(len(vote.parameters.groups))]
    other_rows = [rows[0], rows[-1]][: len(groups)]
    rosters = [roster_of(vote, other_rows, groups)] if vote.parameters.relation is _REMOVE else []
    rosters += [roster_of(vote, [row, *other_rows], [(group,), *groups]) for row in rows]
    read_outcome = functools.partial(_read_sums, vote)
    return exposure_of_release(vote, vote.disclosed_phase, rosters, read_outcome, num_sessions=num_sessions)


def _read_sums(vote: FairVoting, outcome: Outcome) -> list[int]:
    """Return the groups' randomized sums from the released mean utilities, or the released differences."""
    if isinstance(outcome.details, Details) and outcome.details.differences:
        return list(outcome.details.differences)
    scoring = vote.disclosed_phase.scoring
    return [
        round((alternative.utilities[group].value / scoring.step - float(scoring.center)) * size)
        for group, size in enumerate(vote.parameters.group_sizes)
        for alternative in outcome.alternatives
    ]


def _vote(**parameters: Any) -> FairVoting:
    defaults: dict[str, Any] = {"alternatives": _ALTERNATIVES, "groups": _GROUPS, "group_sizes": _SIZES}
    return FairVoting(Parameters(**defaults | parameters))


def _election(vote: FairVoting, *, group: int = 0) -> Case:
    """Return the audit of one election with two small groups, over all profiles."""
    return case_of_profiles(
        vote, lambda: worst_neighbors(vote, group=group), group=group, suffix=_suffix(vote, group), is_secure=True
    )


def _suffix(vote: FairVoting, group: int) -> str:
    """Return the suffix of an audit's name: a proven ε, another objective, or the group of different sizes."""
    parameters = vote.parameters
    words = [f"proven ε = {parameters.epsilon:g}"] if parameters.calibration == "proven" else []
    if parameters.objective == "welfare_constrained":
        words.append("above a floor")
    if len(set(parameters.group_sizes)) > 1:
        words.append(f"group of {parameters.group_sizes[group]}")
    return "".join(f", {each}" for each in words)


def disliked_alternative(vote: FairVoting) -> tuple[RankingCounts, RankingCounts]:
    """Return a profile in which all voters rank an alternative last, and a neighbor in which one ranks it first.

    In the first, no voter's utility of it is above 0, so on the printed scale parity elects it with certainty, except
    for ties; a single voter changes that. The two groups agree on the best of four alternatives, and differ in the
    middle ones.
    """
    number = math.factorial(len(vote.parameters.alternatives))
    orders = np.array([[1, 2, 3, 0], [1, 3, 2, 0], [0, 3, 2, 1]], dtype=np.int64)
    left_ranking, right, reversed_left = code_of_rankings(positions_of_orders(orders)).tolist()
    counts = np.zeros((4, number), dtype=np.int64)
    sizes = vote.parameters.group_sizes
    counts[0, left_ranking], counts[1, right] = sizes
    counts[2, left_ranking], counts[3, right] = sizes[0] - 1, sizes[1]
    counts[2, reversed_left] = 1
    rows = [tuple(row) for row in counts.tolist()]
    return RankingCounts(rows[0], rows[1]), RankingCounts(rows[2], rows[3])


def _local(vote: FairVoting) -> Case:
    """Return the audit of a local mechanism, over two votes."""
    party = _party(vote, () if vote.parameters.is_joint else _PUBLIC)
    return party.case(vote.parameters.mechanism, _UNIT, num_sessions=2, is_tight=True)


def _algorithm_1(vote: FairVoting, *, group: int = 0) -> Case:
    """Return the audit of Algorithm 1, or of pairwise counts, over two votes."""
    parameters = vote.parameters
    is_removed = parameters.relation is _REMOVE
    party = _party(vote, (group,))
    party = dataclasses.replace(party, names=[_ABSENT, *party.names]) if is_removed else party
    return party.case(
        f"{parameters.mechanism}, {parameters.calibration} scale, {parameters.relation.value}{_suffix(vote, group)}",
        _UNIT,
        num_sessions=2,
        observable=lambda: exposure_by_algorithm_1(vote, num_sessions=2, group=group),
        are_neighbors=lambda first, second: first != second and (not is_removed or 0 in {first, second}),
        is_tight=True,
        share=_SHARE_OF_RELEASES,
        secure_share=_SECURE_SHARE_OF_RELEASES,
    )


def _party(vote: FairVoting, public: Sequence[int]) -> AuditParty:
    """Return a voter with all rankings; if groups are private, in all groups."""
    rows, names = _rankings(vote)
    return AuditParty(vote, rows, public, names)


def _rankings(vote: FairVoting) -> tuple[IntArray, list[str]]:
    """Return all rankings as positions and as text; if groups are private, in all groups."""
    names = vote.parameters.alternatives
    orders = [
        (group, order)
        for group in (_GROUPS if vote.parameters.is_joint else _GROUPS[:1])
        for order in itertools.permutations(names)
    ]
    table: dict[str, Any] = {
        "group": [group_name for group_name, _ in orders],
        "ranking": [list(order) for _, order in orders],
    }
    table |= {column.name: [_LEVELS[0]] * len(orders) for column in vote.parameters.own_levels.columns}
    inputs = vote.encode(table)
    texts = [">".join(order) for _, order in orders]
    if vote.parameters.is_joint:
        texts = [f"{group} {text}" for (group, _), text in zip(orders, texts, strict=True)]
    return inputs.private, texts
