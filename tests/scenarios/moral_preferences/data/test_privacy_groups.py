"""Voters' own ε: what a group's voters draw, whom a file names, and what is refused."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bad_input import refuses
from psephos.protocol import ConfigurationError
from psephos.scenarios.moral_preferences.data.privacy_groups import PrivacyGroups, draw_epsilons, read_epsilons

Put = Callable[[str], Path]

FILE = "voter,epsilon\nann,0.5\nbob,2\ncid,1e-1\n"


def test_the_default_groups_are_the_papers() -> None:
    groups = PrivacyGroups()
    assert (groups.conservative, groups.moderate, groups.liberal) == (0.54, 0.36, 0.10)
    assert (groups.epsilon_conservative, groups.epsilon_moderate, groups.epsilon_liberal) == (0.01, 0.2, 1.0)


@pytest.mark.parametrize(
    ("fractions", "least", "most"),
    [((1, 0, 0), 0.01, 0.2), ((0, 1, 0), 0.2, 1.0), ((0, 0, 1), 1.0, 1.0)],
    ids=["conservative", "moderate", "liberal"],
)
def test_each_groups_voters_draw_hundredths_within_its_limits(
    fractions: tuple[float, float, float], least: float, most: float
) -> None:
    conservative, moderate, liberal = fractions
    groups = PrivacyGroups(conservative=conservative, moderate=moderate, liberal=liberal)
    drawn = draw_epsilons(groups, num_voters=20_000)
    assert (min(drawn), max(drawn)) == (least, most)  # both are met: the least hundredth has 1/38 of a chance at worst
    assert all(epsilon == round(100 * epsilon) / 100 for epsilon in drawn)
    width = round(100 * (most - least)) + 1
    assert len(set(drawn)) == width  # no hundredth is left out


def test_fractions_and_means_are_the_groups() -> None:
    """The seed is fixed; for another one, each of the four numbers is off by five standard errors once in 1.7 million.

    Above .2 are the moderate and the liberal voters but for a moderate one's .2, which has a chance of .5/80.
    """
    size = 40_000
    drawn = np.array(draw_epsilons(PrivacyGroups(), num_voters=size))
    for is_of_group, share in (
        (drawn < 0.2, 0.54 * (1 - 0.5 / 19)),
        ((drawn > 0.2) & (drawn < 1), 0.36 * (1 - 1 / 80)),
        (drawn == 1, 0.10 + 0.36 * 0.5 / 80),
    ):
        assert is_of_group.mean() == pytest.approx(share, abs=5 * math.sqrt(share * (1 - share) / size))
    # The mean of uniform draws is the middle, and rounding to the nearest does not shift it.
    mean = 0.54 * 0.105 + 0.36 * 0.6 + 0.10
    assert drawn.mean() == pytest.approx(mean, abs=5 * drawn.std() / math.sqrt(size))


def test_a_voters_epsilon_depends_on_its_place_and_the_groups_seed_alone() -> None:
    groups = PrivacyGroups()
    whole = draw_epsilons(groups, num_voters=1_000)
    assert draw_epsilons(groups, num_voters=300, start=417) == whole[417:717]
    assert draw_epsilons(groups, num_voters=1_000) == whole
    assert draw_epsilons(PrivacyGroups(seed=1), num_voters=1_000) != whole
    assert draw_epsilons(groups, num_voters=0) == []


def test_the_first_epsilons_of_the_default_groups_stay_the_same() -> None:
    """Runs are repeated on other machines: what was drawn once must not change."""
    assert draw_epsilons(PrivacyGroups(), num_voters=8) == [0.17, 0.17, 0.03, 0.61, 0.03, 0.96, 0.92, 0.08]


def test_one_epsilon_for_all_is_a_group_without_width() -> None:
    groups = PrivacyGroups(epsilon_conservative=0.3, epsilon_moderate=0.3, epsilon_liberal=0.3)
    assert set(draw_epsilons(groups, num_voters=500)) == {0.3}


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"liberal": 0.2}, "conservative, moderate, liberal"),
        ({"conservative": 0, "moderate": 0, "liberal": 0}, "conservative, moderate, liberal"),
        ({"conservative": -0.1, "moderate": 1.0}, "conservative, moderate, liberal"),
        ({"conservative": math.nan}, "conservative, moderate, liberal"),
        ({"conservative": math.inf, "moderate": -math.inf}, "conservative, moderate, liberal"),
        ({"epsilon_conservative": 0}, "epsilon_conservative, epsilon_moderate, epsilon_liberal"),
        ({"epsilon_conservative": -1}, "epsilon_conservative, epsilon_moderate, epsilon_liberal"),
        ({"epsilon_conservative": 0.005}, "epsilon_conservative, epsilon_moderate, epsilon_liberal"),
        ({"epsilon_conservative": 0.5}, "epsilon_conservative, epsilon_moderate, epsilon_liberal"),
        ({"epsilon_moderate": 2}, "epsilon_conservative, epsilon_moderate, epsilon_liberal"),
        ({"epsilon_moderate": math.nan}, "epsilon_conservative, epsilon_moderate, epsilon_liberal"),
        ({"epsilon_liberal": 101}, "epsilon_conservative, epsilon_moderate, epsilon_liberal"),
        ({"epsilon_liberal": math.inf}, "epsilon_conservative, epsilon_moderate, epsilon_liberal"),
        ({"seed": -1}, "seed"),
    ],
)
def test_groups_that_cannot_be_are_refused(options: dict[str, Any], field: str) -> None:
    with refuses(field):
        PrivacyGroups(**options)


def test_fractions_may_miss_one_by_rounding() -> None:
    PrivacyGroups(conservative=0.1, moderate=0.2, liberal=0.7)
    PrivacyGroups(conservative=1 / 3, moderate=1 / 3, liberal=1 / 3)
    with pytest.raises(ConfigurationError):
        PrivacyGroups(conservative=0.33, moderate=0.33, liberal=0.33)


# Files.


def test_a_file_is_read_in_the_order_of_the_voters_asked_for(put: Put) -> None:
    path = put(FILE)
    assert read_epsilons(path, voters=["cid", "ann"], field="voters.epsilons") == [0.1, 0.5]
    columns_turned = put("note,epsilon,voter\nx,2,bob\n\ny,100,ann\n")
    assert read_epsilons(columns_turned, voters=["ann", "bob"], field="voters.epsilons") == [100, 2]


SHORT_ROW = (
    "This line has 1 entry, and the header 2: voter, epsilon. Is a separator missing, or one too many? Put text that "
    "has one in it into quotes."
)


@pytest.mark.parametrize(
    ("old", "new", "field", "value", "allowed"),
    [
        ("bob,2", "bob,0", "epsilon (survey.csv line 3)", "0", "a number in (0, 100]"),
        ("bob,2", "bob,-1", "epsilon (survey.csv line 3)", "-1", "a number in (0, 100]"),
        ("bob,2", "bob,nan", "epsilon (survey.csv line 3)", "nan", "a number in (0, 100]"),
        ("bob,2", "bob,inf", "epsilon (survey.csv line 3)", "inf", "a number in (0, 100]"),
        ("bob,2", "bob,100.5", "epsilon (survey.csv line 3)", "100.5", "a number in (0, 100]"),
        ("bob,2", "bob,much", "epsilon (survey.csv line 3)", "much", "a number in (0, 100]"),
        ("bob,2", "bob,", "epsilon (survey.csv line 3)", "", "a number in (0, 100]"),
        ("bob,2", "bob", "survey.csv line 3", "1 entries", SHORT_ROW),
        ("cid,", "bob,", "voter (survey.csv line 4)", "bob", "named once"),
        ("bob,2\n", "", "survey.csv", "bob", "There is no line of 'bob'. Add one."),
        ("epsilon", "eps", "survey.csv line 1", ["voter", "eps"], "a header with the column 'epsilon'"),
        ("voter,", "name,", "survey.csv line 1", ["name", "epsilon"], "a header with the column 'voter'"),
        (FILE, "", "survey.csv line 1", [], "a header with the column 'voter'"),
    ],
)
def test_a_fault_in_a_file_is_named_with_its_line(
    put: Put, old: str, new: str, field: str, value: object, allowed: str
) -> None:
    assert old in FILE
    with pytest.raises(ConfigurationError) as caught:
        read_epsilons(put(FILE.replace(old, new)), voters=["ann", "bob", "cid"], field="voters.epsilons")
    assert (caught.value.field, caught.value.value, caught.value.allowed) == (field, value, allowed)


def test_a_file_that_is_not_there_is_named_by_its_setting(tmp_path: Path) -> None:
    with refuses("voters.epsilons", str(tmp_path / "none.csv")):
        read_epsilons(tmp_path / "none.csv", voters=["ann"], field="voters.epsilons")
