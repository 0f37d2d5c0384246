"""Made-up societies: who is in them, what stays when something else changes, and descriptions that are refused."""

from typing import Any

import numpy as np
import pytest
from bad_input import refuses
from psephos.protocol import ConfigurationError
from psephos.protocol.arrays import IntArray
from psephos.protocol.randomness import philox_rows, stream_key
from psephos.scenarios.fair_voting.data.mallows import draw_mallows
from psephos.scenarios.fair_voting.data.plackett_luce import draw_plackett_luce
from psephos.scenarios.fair_voting.data.societies import (
    GENERATORS,
    GroupOfVoters,
    ImpartialGroup,
    MallowsGroup,
    PlackettLuceGroup,
    Society,
    make_profile,
    read_society,
)

NAMES = ("bus", "park", "pool", "school")


def table_of(generator: str, **changes: Any) -> dict[str, Any]:
    """Return a table of two groups, the second with these changes; None takes an option away."""
    own: dict[str, dict[str, Any]] = {
        "mallows": {"voters": 5, "dispersion": 0.4, "center": ["pool", "bus", "school", "park"]},
        "plackett_luce": {"voters": 5, "weights": [4, 3, 2, 1]},
        "impartial": {"voters": 5},
    }
    south = {name: value for name, value in {**own[generator], **changes}.items() if value is not None}
    return {"alternatives": list(NAMES), "seed": 7, "groups": {"north": own[generator], "south": south}}


def members_of(society: Society, group: str) -> IntArray:
    """Return the positions of a group's voters."""
    profile = make_profile(society)
    return profile.rankings.positions[profile.members == profile.groups.index(group)]


def uniforms_of(group: str, *, voters: int, slots: int, seed: int = 7) -> Any:
    """Return the rows that a group's voters are made of."""
    key = stream_key(
        seed=seed, session="", round_number=0, protocol="election-societies", phase=group, purpose="rankings"
    )
    return philox_rows(key, start=0, stop=voters, slots=slots)


def test_mallows_groups_have_centers_and_dispersions_of_their_own() -> None:
    profile = make_profile(read_society(table_of("mallows", dispersion=0.9, center=None, voters=3), "mallows"))
    assert profile.alternatives == NAMES
    assert profile.groups == ("north", "south")
    assert profile.members.tolist() == [0, 0, 0, 0, 0, 1, 1, 1]
    assert profile.members.dtype == np.int64
    assert list(profile.voters) == [f"voter-{number}" for number in range(1, 9)]
    assert len(profile) == 8
    assert profile.is_generated
    assert (list(profile.lines), profile.note) == ([], "")
    assert profile.source == "made-up voters (seed 7)"
    north = draw_mallows(uniforms_of("north", voters=5, slots=3), center=[2, 0, 3, 1], dispersion=0.4)
    south = draw_mallows(uniforms_of("south", voters=3, slots=3), center=[0, 1, 2, 3], dispersion=0.9)
    assert profile.rankings.positions.tolist() == [*north.tolist(), *south.tolist()]


def test_plackett_luce_and_impartial_groups_are_drawn_by_their_laws() -> None:
    loved = read_society(table_of("plackett_luce", weights=[1, 1, 1, 5]), "plackett_luce")
    expected = draw_plackett_luce(uniforms_of("south", voters=5, slots=4), weights=[1, 1, 1, 5])
    assert members_of(loved, "south").tolist() == expected.tolist()
    impartial = read_society(table_of("impartial", voters=6), "impartial")
    expected = draw_mallows(uniforms_of("south", voters=6, slots=3), center=range(4), dispersion=1.0)
    assert members_of(impartial, "south").tolist() == expected.tolist()


def test_groups_of_different_laws_make_one_society() -> None:
    groups: dict[str, GroupOfVoters] = {
        "north": MallowsGroup(voters=2, dispersion=0.0, center=("c", "a", "b")),
        "south": ImpartialGroup(voters=3),
        "west": PlackettLuceGroup(voters=1, weights=(1e-90, 1, 1e90)),
    }
    profile = make_profile(Society(alternatives=("a", "b", "c"), groups=groups))
    assert profile.members.tolist() == [0, 0, 1, 1, 1, 2]
    assert profile.rankings.positions[:2].tolist() == [[1, 2, 0]] * 2
    assert profile.rankings.positions[5].tolist() == [2, 1, 0]


@pytest.mark.parametrize("generator", GENERATORS)
def test_nobody_changes_where_somebody_else_joins_or_groups_change_places(generator: str) -> None:
    """More voters than a batch has, so that rows beyond the first one are met too."""
    few = read_society(table_of(generator, voters=20), generator)
    many_table = table_of(generator, voters=16_390)
    many = read_society({**many_table, "groups": dict(reversed(many_table["groups"].items()))}, generator)
    assert make_profile(many).groups == ("south", "north")
    assert members_of(many, "north").tolist() == members_of(few, "north").tolist()
    assert members_of(many, "south")[:20].tolist() == members_of(few, "south").tolist()
    assert members_of(many, "south").shape == (16_390, 4)


@pytest.mark.parametrize("generator", GENERATORS)
def test_seed_and_name_of_a_group_make_others(generator: str) -> None:
    table = table_of(generator, voters=50)
    society = read_society(table, generator)
    assert make_profile(society).rankings.positions.tolist() == make_profile(society).rankings.positions.tolist()
    other_seed = read_society({**table, "seed": 8}, generator)
    assert members_of(other_seed, "south").tolist() != members_of(society, "south").tolist()
    table["groups"]["east"] = table["groups"].pop("south")
    assert members_of(read_society(table, generator), "east").tolist() != members_of(society, "south").tolist()


def test_a_number_of_alternatives_has_names_synthetic() -> None:
    table = {"alternatives": 3, "groups": {"x": {"voters": 1}, "y": {"voters": 1}}}
    assert read_society(table, "impartial").alternatives == ("a1", "a2", "a3")
    most = read_society({**table, "alternatives": 50}, "impartial")
    assert most.alternatives[-1] == "a50"
    assert make_profile(most).rankings.num_alternatives == 50


@pytest.mark.parametrize(
    ("generator", "changes", "field", "said"),
    [
        ("mallows", {"voters": 0}, "voters.groups.south.voters", "no group is empty"),
        ("impartial", {"voters": -1}, "voters.groups.south.voters", "no group is empty"),
        ("impartial", {"voters": 100_000_001}, "voters.groups.south.voters", "100000000"),
        ("impartial", {"voters": 100_000_000}, "the voters of all voters.groups", "at most 100000000"),
        ("impartial", {"voters": 2.5}, "voters.groups.south.voters", "an integer"),
        ("impartial", {"voters": None}, "voters.groups.south", "required key 'voters'"),
        ("impartial", {"dispersion": 0.5}, "voters.groups.south", "unknown key 'dispersion'"),
        ("mallows", {"dispersion": -0.01}, "voters.groups.south.dispersion", "in [0, 1]"),
        ("mallows", {"dispersion": 1.01}, "voters.groups.south.dispersion", "in [0, 1]"),
        ("mallows", {"dispersion": float("nan")}, "voters.groups.south.dispersion", "in [0, 1]"),
        ("mallows", {"dispersion": "low"}, "voters.groups.south.dispersion", "a number"),
        ("mallows", {"dispersion": None}, "voters.groups.south", "required key 'dispersion'"),
        ("mallows", {"center": []}, "voters.groups.south.center", "left out: 'bus', 'park', 'pool', 'school'"),
        ("mallows", {"center": ["bus", "park", "pool"]}, "voters.groups.south.center", "(left out: 'school')"),
        (
            "mallows",
            {"center": ["bus", "park", "pool", "school", "park"]},
            "voters.groups.south.center",
            "(repeated: 'park')",
        ),
        (
            "mallows",
            {"center": ["bus", "park", "pool", "school", "zoo"]},
            "voters.groups.south.center",
            "(no alternative: 'zoo')",
        ),
        (
            "mallows",
            {"center": ["bus", "bus", "parc", "pool"]},
            "voters.groups.south.center",
            "(repeated: 'bus'; left out: 'park', 'school'; no alternative: 'parc' (did you mean 'park'?))",
        ),
        ("plackett_luce", {"weights": [1, 2, 3]}, "voters.groups.south.weights", "4 weights"),
        ("plackett_luce", {"weights": [1, 2, 3, 4, 5]}, "voters.groups.south.weights", "(5 given)"),
        ("plackett_luce", {"weights": []}, "voters.groups.south.weights", "(0 given)"),
        ("plackett_luce", {"weights": [1, 0, 3, 4]}, "voters.groups.south.weights of 'park'", "> 0 and finite"),
        ("plackett_luce", {"weights": [1, 2, -3, 4]}, "voters.groups.south.weights of 'pool'", "> 0 and finite"),
        ("plackett_luce", {"weights": [1, 2, 3, float("inf")]}, "voters.groups.south.weights of 'school'", "finite"),
        ("plackett_luce", {"weights": [float("nan"), 2, 3, 4]}, "voters.groups.south.weights of 'bus'", "finite"),
        ("plackett_luce", {"weights": [1e-101, 2, 3, 4]}, "voters.groups.south.weights of 'bus'", "[1e-100, 1e+100]"),
        ("plackett_luce", {"weights": None}, "voters.groups.south", "required key 'weights'"),
    ],
)
def test_a_group_that_is_not_allowed_is_named_with_its_option(
    generator: str, changes: dict[str, Any], field: str, said: str
) -> None:
    with refuses(field, said=said):
        read_society(table_of(generator, **changes), generator)


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"alternatives": 1}, "voters.alternatives", "2 to 50"),
        ({"alternatives": 0}, "voters.alternatives", "2 to 50"),
        ({"alternatives": 51}, "voters.alternatives", "2 to 50"),
        ({"alternatives": ["bus"]}, "voters.alternatives", "2 to 50"),
        ({"alternatives": [f"a{number}" for number in range(51)]}, "voters.alternatives", "2 to 50"),
        ({"alternatives": ["bus", "park", "bus"]}, "voters.alternatives", "repeated: 'bus'"),
        ({"alternatives": ["bus", ""]}, "voters.alternatives[2]", "printable"),
        ({"alternatives": "bus"}, "voters.alternatives", "an integer or a list"),
        ({"groups": {}}, "voters.groups", "at least one group"),
        ({"groups": {"north": {"voters": 3}, "": {"voters": 3}}}, "a name in voters.groups", "printable"),
        ({"groups": {"north": {"voters": 3}, "south": 5}}, "voters.groups.south", "a table"),
        ({"groups": [1, 2]}, "voters.groups", "a table"),
        ({"seed": -1}, "voters.seed", "at least 0"),
        ({"sead": 1}, "voters", "unknown key 'sead'"),
    ],
)
def test_a_society_that_is_not_allowed_is_refused(changes: dict[str, Any], field: str, said: str) -> None:
    with refuses(field, said=said):
        read_society({**table_of("impartial"), **changes}, "impartial")


@pytest.mark.parametrize("left_out", ["alternatives", "groups"])
def test_what_a_society_cannot_do_without_is_named(left_out: str) -> None:
    table = table_of("impartial")
    del table[left_out]
    with pytest.raises(ConfigurationError, match=f"needs the key '{left_out}'"):
        read_society(table, "impartial")


def test_an_unknown_generator_is_refused_with_the_nearest_known_one() -> None:
    with refuses("voters.generator", said="did you mean 'mallows'?"):
        read_society(table_of("mallows"), "mallow")


def test_a_long_list_of_faults_is_cut() -> None:
    names = [f"a{number}" for number in range(1, 25)]
    groups = {"x": {"voters": 1, "dispersion": 1}, "y": {"voters": 1, "dispersion": 1, "center": names[:4]}}
    first = ", ".join(map(repr, names[4:16]))
    with pytest.raises(ConfigurationError, match=f"left out: {first} and 8 more"):
        read_society({"alternatives": names, "groups": groups}, "mallows")


def test_mallows_rankings_are_two_lines() -> None:
    group = MallowsGroup(voters=2_000, dispersion=0.3, center=("c", "a", "b"))
    rankings = group.sample(["a", "b", "c"], seed=4)
    assert rankings.shape == (2_000, 3)
    assert rankings.mean(axis=0).argsort().tolist() == [2, 0, 1]  # c is the best, then a
    assert (group.sample(["a", "b", "c"], seed=4) == rankings).all()
    assert (group.sample(["a", "b", "c"], seed=5) != rankings).any()


@pytest.mark.parametrize(
    ("group", "alternatives", "seed", "field"),
    [
        (MallowsGroup(voters=0, dispersion=0.3), ["a", "b"], 1, "voters"),
        (MallowsGroup(voters=9, dispersion=1.3), ["a", "b"], 1, "dispersion"),
        (MallowsGroup(voters=9, dispersion=0.3), ["a"], 1, "voters.alternatives"),
        (MallowsGroup(voters=9, dispersion=0.3), ["a", "b"], -1, "seed"),
    ],
)
def test_a_sample_that_cannot_be_is_named(group: MallowsGroup, alternatives: list[str], seed: int, field: str) -> None:
    with refuses(field):
        group.sample(alternatives, seed=seed)
