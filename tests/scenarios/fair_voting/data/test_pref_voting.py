"""Profiles to and from pref_voting: what is kept, what is lost, and what is refused.

Those that need the package itself are left out where it is not installed; the others meet a stand-in with its
attributes.
"""

import dataclasses
import sys
import types
from typing import Any

import numpy as np
import pytest
from psephos.protocol.fair_voting.rankings import Rankings
from psephos.scenarios.fair_voting.data.mallows import draw_mallows
from psephos.scenarios.fair_voting.data.pref_voting import from_pref_voting, groups_to_pref_voting, to_pref_voting
from psephos.scenarios.fair_voting.data.profile import Profile


@dataclasses.dataclass
class StandIn:
    """What is read of one of theirs."""

    orders: Any
    counts: Any
    cmap: dict[int, str]

    @property
    def rankings_counts(self) -> tuple[Any, Any]:
        return np.array(self.orders), np.array(self.counts)

    @property
    def candidates(self) -> list[int]:
        return list(self.cmap)


@dataclasses.dataclass
class Given:
    """What one of theirs is made of."""

    orders: list[list[int]]
    rcounts: list[int]
    cmap: dict[int, str]


ABC = {0: "a", 1: "b", 2: "c"}


@pytest.fixture
def theirs() -> Any:
    """The package's module of profiles, or the test is left out."""
    return pytest.importorskip("pref_voting.profiles", reason="pref_voting is not installed")


def rows_of(profile: Profile, group: str) -> list[list[int]]:
    """Return the positions of a group's voters, sorted."""
    return sorted(profile.rankings.positions[profile.members == profile.groups.index(group)].tolist())


def test_all_voters_become_one_profile_with_names(theirs: Any, profile: Profile) -> None:
    theirs_of_all = to_pref_voting(profile)
    assert isinstance(theirs_of_all, theirs.Profile)
    assert theirs_of_all.cmap == ABC
    assert theirs_of_all.num_voters == 5
    orders, counts = theirs_of_all.rankings_counts
    found = {tuple(order): count for order, count in zip(orders.tolist(), counts.tolist(), strict=True)}
    assert found == {(1, 2, 0): 2, (0, 1, 2): 2, (2, 0, 1): 1}
    assert theirs_of_all.borda_scores() == {0: 5, 1: 6, 2: 4}  # by hand: a 0+2+0+1+2, b 2+1+2+0+1, c 1+0+1+2+0
    assert theirs_of_all.margin(0, 1) == 3 - 2


def test_each_group_becomes_a_profile_and_comes_back(theirs: Any, profile: Profile) -> None:
    by_group = groups_to_pref_voting(profile)
    assert list(by_group) == ["north", "south"]
    assert [isinstance(each, theirs.Profile) for each in by_group.values()] == [True, True]
    assert [each.num_voters for each in by_group.values()] == [3, 2]
    back = from_pref_voting(by_group)
    assert (back.alternatives, back.groups) == (profile.alternatives, profile.groups)
    assert back.members.tolist() == [0, 0, 0, 1, 1]
    for group in profile.groups:
        assert rows_of(back, group) == rows_of(profile, group)


@pytest.mark.usefixtures("theirs")
def test_many_voters_come_back_with_their_rankings() -> None:
    """Fifty alternatives, so that numbers of two digits, and of bytes that look like letters, are met."""
    generator = np.random.default_rng(8)
    positions = draw_mallows(generator.random((300, 49)), center=range(50), dispersion=0.6)
    profile = Profile(
        alternatives=tuple(f"a{number}" for number in range(50)),
        rankings=Rankings(positions),
        groups=("x", "y"),
        members=generator.integers(0, 2, 300),
        voters=[f"v{number}" for number in range(300)],
    )
    back = from_pref_voting(groups_to_pref_voting(profile))
    for group in profile.groups:
        assert rows_of(back, group) == rows_of(profile, group)


@pytest.mark.usefixtures("theirs")
def test_ties_and_partial_rankings_come_and_go() -> None:
    theirs_with_ties: Any = pytest.importorskip("pref_voting.profiles_with_ties", reason="pref_voting is not installed")
    made = theirs_with_ties.ProfileWithTies([{0: 3, 1: 3, 2: 5}, {1: 1}], rcounts=[2, 1], cmap=ABC)
    read = from_pref_voting({"x": made})
    assert read.rankings.positions.tolist() == [[0, 0, 2], [0, 0, 2], [1, 0, 1]]
    back = to_pref_voting(read)
    assert isinstance(back, theirs_with_ties.ProfileWithTies)
    assert rows_of(from_pref_voting({"x": back}), "x") == [[0, 0, 2], [0, 0, 2], [1, 0, 1]]
    without_a = made.remove_candidates([0])  # which keeps the candidates' numbers, and so their names
    assert from_pref_voting({"x": without_a}).alternatives == ("b", "c")


def test_candidates_that_were_removed_leave_names_that_belong_to_nobody(theirs: Any) -> None:
    """There 0 becomes what was 1, and `cmap` calls it what 0 was called."""
    whole = theirs.Profile([[0, 1, 2], [2, 1, 0]], rcounts=[2, 1], cmap=ABC)
    without_a, old_numbers = whole.remove_candidates([0])
    with pytest.raises(ValueError, match=r"group 'x' has 2 alternatives, which of a, b, c is not known: give names"):
        from_pref_voting({"x": without_a})
    names = [ABC[old_numbers[candidate]] for candidate in without_a.candidates]
    once: Any = (name for name in names)  # which can be read once: no sequence, as the type asks for
    named = from_pref_voting({"x": without_a}, names=once)
    assert (named.alternatives, rows_of(named, "x")) == (("b", "c"), [[0, 1], [0, 1], [1, 0]])


@pytest.mark.parametrize("counts", [[1.5, 1], [-1, 2], [2, float("nan")]])
def test_counts_that_count_nobody_are_refused(counts: list[float]) -> None:
    with pytest.raises(ValueError, match=r"whole numbers of voters|Invalid literal"):
        from_pref_voting({"x": StandIn([[0, 1], [1, 0]], counts, {0: "a", 1: "b"})})


def test_whole_counts_may_be_floats_and_each_attribute_is_asked_for_once() -> None:
    class Once:
        """What may be read one time alone, as of a generator."""

        def __init__(self) -> None:
            self.read: list[str] = []

        def __getattr__(self, name: str) -> Any:
            assert name not in self.read, name
            self.read.append(name)
            given = {"candidates": iter([0, 1]), "cmap": {0: "a", 1: "b"}}
            return given.get(name, (iter([[1, 0]]), iter([2.0])))

    assert from_pref_voting({"x": Once()}).rankings.positions.tolist() == [[1, 0], [1, 0]]


def test_rankings_are_repeated_by_their_counts() -> None:
    profile = from_pref_voting({"x": StandIn([[2, 0, 1], [0, 1, 2]], [2, 1], ABC), "y": StandIn([[1, 0, 2]], [1], ABC)})
    assert profile.alternatives == ("a", "b", "c")
    assert profile.rankings.positions.tolist() == [[1, 2, 0], [1, 2, 0], [0, 1, 2], [1, 0, 2]]
    assert profile.members.tolist() == [0, 0, 0, 1]
    assert profile.groups == ("x", "y")
    assert list(profile.voters) == ["voter-1", "voter-2", "voter-3", "voter-4"]
    assert not profile.is_generated


def test_names_given_take_the_place_of_their_own() -> None:
    profiles = {"x": StandIn([[1, 0]], [1], {0: "a", 1: "b"}), "y": StandIn([[0, 1]], [1], {0: "p", 1: "q"})}
    assert from_pref_voting(profiles, names=["yes", "no"]).alternatives == ("yes", "no")
    with pytest.raises(ValueError, match=r"of group 'y' are \['p', 'q'\], those of group 'x' are \['a', 'b'\]"):
        from_pref_voting(profiles)
    with pytest.raises(ValueError, match="the names given are"):
        from_pref_voting(profiles, names=["yes", "no", "perhaps"])


@pytest.mark.parametrize(
    ("profiles", "said"),
    [
        ({}, "give at least one"),
        ({"x": StandIn([], [], {})}, "'x' has 0 voters: give one or more"),
        ({"x": StandIn([[0, 1]], [0], {0: "a", 1: "b"})}, "'x' has 0 voters: give one or more"),
        ({"x": StandIn([[0, 0]], [1], {0: "a", 1: "b"})}, r"a ranking is \[0, 0\]: name each alternative once"),
        ({"x": StandIn([[0, 1]], [1], {0: "a", 1: "a"})}, "give each a name of its own"),
    ],
)
def test_what_is_no_profile_of_voters_is_refused(profiles: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        from_pref_voting(profiles)


@pytest.mark.parametrize("profile", [3, StandIn([3], [1], {0: "a"})])
def test_another_kind_of_profile_is_refused(profile: Any) -> None:
    with pytest.raises(TypeError, match=r"group 'x' (is|are) .*a pref_voting"):
        from_pref_voting({"x": profile})


def test_more_alternatives_than_bytes_tell_apart_are_refused() -> None:
    profile = Profile(
        alternatives=tuple(map(str, range(256))),
        rankings=Rankings(np.arange(256, dtype=np.int64)[None, :]),
        groups=("x",),
        members=np.zeros(1, dtype=np.int64),
        voters=("ann",),
    )
    with pytest.raises(ValueError, match="at most 255"):
        to_pref_voting(profile)


def test_distinct_rankings_are_handed_over_with_their_counts(profile: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module in place of theirs, whose profiles tell what they were given."""
    module = types.ModuleType("pref_voting.profiles")
    monkeypatch.setattr(module, "Profile", Given, raising=False)
    monkeypatch.setitem(sys.modules, "pref_voting", types.ModuleType("pref_voting"))
    monkeypatch.setitem(sys.modules, "pref_voting.profiles", module)
    given: Given = to_pref_voting(profile)
    found = {tuple(order): count for order, count in zip(given.orders, given.rcounts, strict=True)}
    assert found == {(1, 2, 0): 2, (0, 1, 2): 2, (2, 0, 1): 1}
    assert given.cmap == ABC
    south: Given = groups_to_pref_voting(profile)["south"]
    assert sorted(south.orders) == [[0, 1, 2], [2, 0, 1]]
    assert south.rcounts == [1, 1]


def test_without_the_package_an_error_says_what_to_install(profile: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pref_voting.profiles", None)
    with pytest.raises(ImportError, match="pip install pref_voting"):
        to_pref_voting(profile)
