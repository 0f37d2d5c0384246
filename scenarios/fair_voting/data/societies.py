"""Made-up societies: groups of voters, each with a law of rankings of its own.

A society has a seed of its own, so that the noise's seed changes the noise and not the people. Each group's numbers are
a stream that its name tells apart, and a voter's are a row of it: whoever joins one group changes nobody in another,
and nobody who was there before.
"""

import collections
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.errors import ConfigurationError, did_you_mean, join_names, list_choices, refuse, require
from ....protocol.fair_voting.rankings import Rankings
from ....protocol.mechanisms import MAX_ALTERNATIVES
from ....protocol.randomness import philox_rows, stream_key
from ....protocol.roles import check_party_name
from ...reading.conversion import convert
from .mallows import draw_mallows
from .plackett_luce import LEAST_WEIGHT, MOST_WEIGHT, draw_plackett_luce
from .profile import Profile

_MAX_VOTERS: Final = 100_000_000
_FEWEST: Final = 2  # of alternatives, or there is nothing to decide
_FIELD: Final = "voters"
_STREAM: Final = "election-societies"
_BATCH_ROWS: Final = 1 << 14

_Place: TypeAlias = Callable[[str], str]  # what an option is called in errors


class GroupOfVoters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A group, and the law of its voters' rankings."""

    voters: int  # how many, at least 1

    def check(self, alternatives: Sequence[str], place: _Place) -> None:
        """Make sure that the law is one, and of rankings of these alternatives; a place calls an option in errors."""

    def slots(self, num_alternatives: int) -> int:
        """Return how many uniforms a voter's ranking needs: by default one for each alternative but the first."""
        return num_alternatives - 1

    def draw(self, uniforms: FloatArray, alternatives: Sequence[str]) -> IntArray:
        """Return one ranking for each row of uniforms, shape (n, slots): int64, shape (n, m), positions."""
        raise NotImplementedError

    def sample(self, alternatives: Sequence[str], *, seed: int) -> IntArray:
        """Return the rankings of the group's voters: of made-up people, a mechanism's values to try it on.

        Args:
            alternatives: their names, at least two.
            seed: ≥ 0; the same seed gives the same voters.

        Returns:
            int64, shape (voters, m): the position of each alternative in each ranking, from 0, the best.
        """
        names = tuple(alternatives)
        _check_alternatives(names)
        _check_group(self, names, str)
        refuse(seed < 0, "seed", "negative", "at least 0")
        return _draw_group(self, names, _key_of(seed, ""))


class ImpartialGroup(GroupOfVoters, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Voters to whom every ranking is as likely as any other.

    Examples:
        >>> society = Society(alternatives=("a", "b", "c"), groups={"all": ImpartialGroup(voters=2)})
        >>> make_profile(society).rankings.positions.shape
        (2, 3)
    """

    def draw(self, uniforms: FloatArray, alternatives: Sequence[str]) -> IntArray:
        return draw_mallows(uniforms, center=range(len(alternatives)), dispersion=1.0)


class MallowsGroup(GroupOfVoters, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Voters around a ranking: one that orders d pairs otherwise is φ^d times as likely.

    Examples:
        >>> society = Society(alternatives=("a", "b"), groups={"north": MallowsGroup(voters=3, dispersion=0.0)})
        >>> make_profile(society).rankings.positions.tolist()
        [[0, 1], [0, 1], [0, 1]]
    """

    dispersion: float  # φ, from 0 (all agree with the center) to 1 (every ranking is equally likely)
    # All alternatives, the best first; by default in the order in which the society names them.
    center: tuple[str, ...] | None = None

    def check(self, alternatives: Sequence[str], place: _Place) -> None:
        require(0 <= self.dispersion <= 1, place("dispersion"), self.dispersion, "in [0, 1]")
        if self.center is not None and (faults := _faults_of(self.center, alternatives)):
            allowed = f"all {len(alternatives)} alternatives, each once ({faults})"
            raise ConfigurationError(field=place("center"), value=list(self.center), allowed=allowed)

    def draw(self, uniforms: FloatArray, alternatives: Sequence[str]) -> IntArray:
        numbers = {name: number for number, name in enumerate(alternatives)}
        center = [numbers[name] for name in (alternatives if self.center is None else self.center)]
        return draw_mallows(uniforms, center=center, dispersion=self.dispersion)


class PlackettLuceGroup(GroupOfVoters, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Voters who choose from the top, each time by the weights of what is left.

    Args:
        weights: one for each alternative, in the order in which the society names them, > 0; only their ratios count.

    Examples:
        >>> group = PlackettLuceGroup(voters=2, weights=(1e9, 1.0))
        >>> society = Society(alternatives=("a", "b"), groups={"all": group})
        >>> make_profile(society).rankings.positions.tolist()
        [[0, 1], [0, 1]]
    """

    weights: tuple[float, ...]

    def check(self, alternatives: Sequence[str], place: _Place) -> None:
        number, num_weights = len(alternatives), len(self.weights)
        allowed = f"{number} weights, one for each of {_join_names(alternatives)} ({num_weights} given)"
        require(num_weights == number, place("weights"), list(self.weights), allowed)
        for alternative, weight in zip(alternatives, self.weights, strict=True):
            sort = f"in [{LEAST_WEIGHT:g}, {MOST_WEIGHT:g}]" if 0 < weight < math.inf else "> 0 and finite"
            require(LEAST_WEIGHT <= weight <= MOST_WEIGHT, f"{place('weights')} of {alternative!r}", weight, sort)

    def slots(self, num_alternatives: int) -> int:
        return num_alternatives

    def draw(self, uniforms: FloatArray, alternatives: Sequence[str]) -> IntArray:
        return draw_plackett_luce(uniforms, weights=self.weights)


GENERATORS: Final[Mapping[str, type[GroupOfVoters]]] = {
    "mallows": MallowsGroup,
    "plackett_luce": PlackettLuceGroup,
    "impartial": ImpartialGroup,
}
"""What makes up a group's voters, by the name that a scenario gives (`generator`)."""


class Society(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Groups of independent voters who rank the same alternatives.

    Raises:
        ConfigurationError: a value is not allowed; it is named as in a scenario's table of voters.

    Examples:
        >>> society = Society(alternatives=("a", "b"), groups={"all": MallowsGroup(voters=3, dispersion=0.5)}, seed=1)
        >>> society.seed, list(society.groups)
        (1, ['all'])
    """

    alternatives: tuple[str, ...]  # 2 to 50 different names
    groups: Mapping[str, GroupOfVoters]  # at least one, by name; their laws may be of different kinds
    seed: int = 0  # of the voters, not of the noise

    def __post_init__(self) -> None:
        _check_alternatives(self.alternatives)
        allowed = f"at least one group, each a table of its own: [{_FIELD}.groups.NAME]"
        refuse(not self.groups, f"{_FIELD}.groups", list(self.groups), allowed)
        for name, group in self.groups.items():
            check_party_name(name, field=f"a name in {_FIELD}.groups")
            _check_group(group, self.alternatives, _place_in(name))
        field = f"the voters of all {_FIELD}.groups"
        refuse(self.num_voters > _MAX_VOTERS, field, self.num_voters, f"at most {_MAX_VOTERS}")
        refuse(self.seed < 0, f"{_FIELD}.seed", "negative", "at least 0")

    @property
    def num_voters(self) -> int:
        """How many voters all groups have."""
        return sum(group.voters for group in self.groups.values())


class _SocietyTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A society as a scenario's table has it, beside its generator; groups are read apart, so that errors name them."""

    alternatives: tuple[str, ...] | int
    groups: dict[str, Any]
    seed: int = 0


def read_society(options: Mapping[str, Any], generator: str) -> Society:
    """Return the society that a scenario's table describes: alternatives (names, or a number), groups, perhaps a seed.

    Its generator is one of `GENERATORS`.

    Examples:
        >>> options = {"alternatives": ["a", "b"], "groups": {"all": {"voters": 2, "dispersion": 0.3}}}
        >>> read_society(options, "mallows").groups["all"].voters
        2
    """
    refuse(generator not in GENERATORS, f"{_FIELD}.generator", generator, list_choices(GENERATORS, generator))
    table: _SocietyTable = convert(dict(options), _SocietyTable, _FIELD)
    names = table.alternatives if isinstance(table.alternatives, tuple) else _synthetic_names(table.alternatives)
    groups: dict[str, GroupOfVoters] = {
        name: convert(group, GENERATORS[generator], f"{_FIELD}.groups.{name}") for name, group in table.groups.items()
    }
    return Society(alternatives=names, groups=groups, seed=table.seed)


def make_profile(society: Society) -> Profile:
    """Return a society's voters; the same ones for the same description, on every machine.

    Groups follow each other in their order, each as one block; voters are voter-1, voter-2, ….

    Examples:
        >>> groups = {name: MallowsGroup(voters=voters, dispersion=0.0) for name, voters in (("n", 2), ("s", 1))}
        >>> profile = make_profile(Society(alternatives=("a", "b"), groups=groups))
        >>> profile.voters, profile.members.tolist()
        (['voter-1', 'voter-2', 'voter-3'], [0, 0, 1])
    """
    positions = np.empty((society.num_voters, len(society.alternatives)), dtype=np.int64)
    end = 0
    for name, group in society.groups.items():
        begin, end = end, end + group.voters
        positions[begin:end] = _draw_group(group, society.alternatives, _key_of(society.seed, name))
    sizes = [group.voters for group in society.groups.values()]
    return Profile(
        alternatives=society.alternatives,
        rankings=Rankings(positions),
        groups=tuple(society.groups),
        members=np.repeat(np.arange(len(sizes), dtype=np.int64), sizes),
        voters=[f"voter-{number}" for number in range(1, society.num_voters + 1)],
        source=f"made-up voters (seed {society.seed})",
        is_generated=True,
    )


def _key_of(seed: int, group: str) -> int:
    return stream_key(seed=seed, session="", round_number=0, protocol=_STREAM, phase=group, purpose="rankings")


def _draw_group(group: GroupOfVoters, alternatives: Sequence[str], key: int) -> IntArray:
    slots = group.slots(len(alternatives))
    positions = np.empty((group.voters, len(alternatives)), dtype=np.int64)
    for start in range(0, group.voters, _BATCH_ROWS):
        stop = min(start + _BATCH_ROWS, group.voters)
        positions[start:stop] = group.draw(philox_rows(key, start=start, stop=stop, slots=slots), alternatives)
    return positions


def _check_group(group: GroupOfVoters, alternatives: Sequence[str], place: _Place) -> None:
    """Raise ConfigurationError unless a group has voters, and its law is one of these alternatives."""
    allowed = f"in [1, {_MAX_VOTERS}]: no group is empty"
    require(0 < group.voters <= _MAX_VOTERS, place("voters"), group.voters, allowed)
    group.check(alternatives, place)


def _synthetic_names(number: int) -> tuple[str, ...]:
    _check_number(number, number)
    return tuple(f"a{place}" for place in range(1, number + 1))


def _check_alternatives(names: Sequence[str]) -> None:
    _check_number(len(names), list(names))
    for number, name in enumerate(names, start=1):
        check_party_name(name, field=f"{_FIELD}.alternatives[{number}]")
    repeated_names = [name for name, times in collections.Counter(names).items() if times > 1]
    refuse(
        repeated_names,
        f"{_FIELD}.alternatives",
        list(names),
        f"different names (repeated: {_join_names(repeated_names)})",
    )


def _check_number(number: int, value: object) -> None:
    allowed = f"{_FEWEST} to {MAX_ALTERNATIVES} names, or a number in [{_FEWEST}, {MAX_ALTERNATIVES}]"
    require(_FEWEST <= number <= MAX_ALTERNATIVES, f"{_FIELD}.alternatives", value, allowed)


def _faults_of(center: Sequence[str], alternatives: Sequence[str]) -> str:
    """Return what makes a center no ranking of the alternatives; empty where it is one."""
    known_names, counts = set(alternatives), collections.Counter(center)
    unknown = [name for name in counts if name not in known_names]
    hint = did_you_mean(unknown[0], alternatives) if unknown else ""
    faults = {
        "repeated": [name for name, times in counts.items() if times > 1],
        "left out": [name for name in alternatives if name not in counts],
        "no alternative": unknown,
    }
    return "; ".join(f"{fault}: {_join_names(names)}" for fault, names in faults.items() if names) + hint


def _join_names(names: Sequence[str]) -> str:
    """Return names for a sentence, the first of them."""
    return join_names([*map(repr, names)])


def _place_in(group: str) -> _Place:
    return lambda option: f"{_FIELD}.groups.{group}.{option}"
