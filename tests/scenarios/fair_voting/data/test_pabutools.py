"""Profiles to and from Pabutools: what is kept, and what is refused. All of it needs the package itself."""

import dataclasses
import sys
from typing import Any

import numpy as np
import pytest
from psephos.protocol.fair_voting.rankings import Rankings
from psephos.scenarios.fair_voting.data.pabutools import from_pabutools, to_pabutools
from psephos.scenarios.fair_voting.data.profile import Profile

COSTS = {"a": 10, "b": 20, "c": 5}


@pytest.fixture
def theirs() -> Any:
    """The package's elections, or the test is left out."""
    return pytest.importorskip("pabutools.election", reason="pabutools is not installed")


def test_a_profile_becomes_theirs_with_costs_names_and_groups(theirs: Any, profile: Profile) -> None:
    instance, ballots = to_pabutools(profile, costs=COSTS, budget=25)
    assert isinstance(ballots, theirs.OrdinalProfile)
    assert (instance.budget_limit, {project.name: project.cost for project in instance}) == (25, COSTS)
    assert [[project.name for project in ballot] for ballot in ballots][:2] == [["b", "c", "a"], ["a", "b", "c"]]
    assert [(ballot.name, ballot.meta["group"]) for ballot in ballots][2:4] == [("cat", "north"), ("dan", "south")]


@pytest.mark.usefixtures("theirs")
def test_it_comes_back_as_it_was(profile: Profile) -> None:
    back = from_pabutools(*to_pabutools(profile, costs=COSTS, budget=25))
    assert (back.alternatives, back.groups, list(back.voters)) == (
        ("a", "b", "c"),
        profile.groups,
        list(profile.voters),
    )
    assert back.members.tolist() == profile.members.tolist()
    assert back.rankings.positions.tolist() == profile.rankings.positions.tolist()


@pytest.mark.usefixtures("theirs")
def test_alternatives_may_come_in_another_order(profile: Profile) -> None:
    theirs_of_all = to_pabutools(profile, costs=COSTS, budget=25)
    back = from_pabutools(*theirs_of_all, alternatives=["c", "b", "a"])
    assert back.rankings.positions.tolist() == profile.rankings.positions[:, ::-1].tolist()
    with pytest.raises(ValueError, match=r"alternatives are .*: name the projects a, b, c, each once"):
        from_pabutools(*theirs_of_all, alternatives=["c", "b"])


def test_their_rules_run_on_it(theirs: Any, profile: Profile) -> None:
    del theirs
    rules: Any = pytest.importorskip("pabutools.rules", reason="pabutools is not installed")
    election: Any = pytest.importorskip("pabutools.election", reason="pabutools is not installed")
    instance, ballots = to_pabutools(profile, costs=COSTS, budget=25)
    chosen = rules.greedy_utilitarian_welfare(instance, ballots, sat_class=election.Additive_Borda_Sat)
    assert sum(project.cost for project in chosen) <= 25


def test_what_is_no_ranking_or_has_no_group_is_named(theirs: Any) -> None:
    projects = [theirs.Project(name, 1) for name in "ab"]
    instance = theirs.Instance(projects, budget_limit=2)
    short = theirs.OrdinalBallot(projects[:1], name="ann", meta={"group": "x"})
    alone = theirs.OrdinalBallot(projects, name="bob")
    approving = theirs.ApprovalBallot(projects, name="eve", meta={"group": "x"})
    for ballots, error, said in (
        ([short], ValueError, r"the ballot of ann ranks \['a'\]: rank each of 2 projects once"),
        ([alone], ValueError, r"the ballot of bob has no group: write it under 'group'"),
        ([approving], TypeError, r"the ballot of eve is a ApprovalBallot: give an OrdinalBallot"),
        ([], ValueError, r"at least one ballot"),
        (3, TypeError, r"expected an Instance and an OrdinalProfile"),
    ):
        with pytest.raises(error, match=said):
            from_pabutools(instance, ballots)


def test_two_voters_of_one_name_are_refused_and_costs_are_exact(theirs: Any, profile: Profile) -> None:
    projects = [theirs.Project(name, 1) for name in "ab"]
    instance = theirs.Instance(projects, budget_limit=2)
    ballots = [theirs.OrdinalBallot(projects, name="ann", meta={"group": "x"}) for _ in range(2)]
    with pytest.raises(ValueError, match=r"ballots 1 and 2 are both of ann"):
        from_pabutools(instance, ballots)
    unnamed = [theirs.OrdinalBallot(projects, name=name, meta={"group": "x"}) for name in ("voter-2", "")]
    with pytest.raises(ValueError, match=r"ballots 1 and 2 are both of voter-2"):
        from_pabutools(instance, unnamed)
    bought, _ = to_pabutools(profile, costs={"a": 0.1, "b": 0.2, "c": 1}, budget=0.3)
    cost = sum(project.cost for project in bought if project.name in "ab")
    assert cost == bought.budget_limit  # 0.1 + 0.2 is 0.3, as it is not in floats


def test_a_tie_has_no_place_in_theirs(theirs: Any, profile: Profile) -> None:
    del theirs
    rankings = Rankings(np.zeros_like(profile.rankings.positions))
    with pytest.raises(ValueError, match="strict order"):
        to_pabutools(dataclasses.replace(profile, rankings=rankings), costs=COSTS, budget=25)


def test_every_alternative_has_a_cost_and_nothing_else_has_one(profile: Profile) -> None:
    with pytest.raises(ValueError, match="'c' has no cost"):
        to_pabutools(profile, costs={"a": 1, "b": 1}, budget=2)
    with pytest.raises(ValueError, match="'d' is no alternative"):
        to_pabutools(profile, costs={**COSTS, "d": 1}, budget=2)


def test_without_the_package_an_error_names_it(profile: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pabutools.election", None)
    with pytest.raises(ImportError, match="pip install pabutools"):
        to_pabutools(profile, costs=COSTS, budget=25)
