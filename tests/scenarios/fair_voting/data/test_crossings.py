"""Columns of several features: crossings that have voters are the groups, from every kind of file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from psephos.protocol import ConfigurationError
from psephos.scenarios import load_scenario, resolve
from psephos.scenarios.fair_voting.data.groups import Grouping, cross_groupings

TABLE = "voter,gender,diet,ranking\nann,women,vegan,a > b\nbob,men,any,b > a\ncleo,women,any,a > b\ndan,men,any,b > a\n"
PABULIB = (
    "META\nkey;value\nnum_projects;2\nnum_votes;3\nvote_type;ordinal\n"
    "PROJECTS\nproject_id;cost;name\n1;10;pool\n2;20;rink\n"
    "VOTES\nvoter_id;sex;age;vote\n1;F;20;1,2\n2;M;50;2,1\n3;F;60;2,1\n"
)
PREFLIB = (
    "# DATA TYPE: soc\n# NUMBER ALTERNATIVES: 2\n# NUMBER VOTERS: 3\n# NUMBER UNIQUE ORDERS: 2\n"
    "# ALTERNATIVE NAME 1: pool\n# ALTERNATIVE NAME 2: rink\n2: 1,2\n1: 2,1\n"
)
COMPANION = "voter,gender,diet\n1,women,vegan\n2,men,any\n3,women,any\n"


@pytest.fixture
def resolved(tmp_path: Path) -> Callable[..., Any]:
    """Resolves a vote of a file's voters."""

    def of_file(name: str, text: str, *options: str, parameters: str = "", more: dict[str, str] | None = None) -> Any:
        for file, content in {name: text, **(more or {})}.items():
            (tmp_path / file).write_text(content, encoding="utf-8")
        head = f'protocol = "fair-voting"\n[parameters]\n{parameters}\n[voters]\nfile = "{name}"\n'
        (tmp_path / "vote.toml").write_text(head + "\n".join(options) + "\n", encoding="utf-8")
        return resolve(load_scenario(str(tmp_path / "vote.toml")))

    return of_file


def told(found: Any) -> dict[str, tuple[str, ...]]:
    return {feature.name: feature.of for feature in found.protocol.parameters.features}


def test_crossings_come_in_the_order_of_their_groups_and_empty_ones_are_left_out() -> None:
    one = Grouping(("women", "men"), np.array([0, 1, 0, -1, 1]))
    other = Grouping(("any", "vegan"), np.array([1, 0, 0, 0, 0]))
    grouping, features = cross_groupings({"gender": one, "diet": other}, field="f")
    assert grouping.groups == ("women × any", "women × vegan", "men × any")  # no man is vegan
    assert grouping.members.tolist() == [1, 2, 0, -1, 2]
    assert [(feature.name, feature.of) for feature in features] == [
        ("gender", ("women", "women", "men")),
        ("diet", ("any", "vegan", "any")),
    ]


def test_one_feature_has_no_crossings_and_names_are_told_apart() -> None:
    grouping = Grouping(("a", "b"), np.array([0, 1]))
    with pytest.raises(ConfigurationError, match="two columns or more"):
        cross_groupings({"gender": grouping}, field="f")
    first = Grouping(("x", "x × y"), np.array([0, 1]))
    second = Grouping(("y × z", "z"), np.array([0, 1]))
    with pytest.raises(ConfigurationError, match="own names"):
        cross_groupings({"one": first, "two": second}, field="f")


def test_a_csv_has_several_columns_of_groups(resolved: Callable[..., Any]) -> None:
    found = resolved("mine.csv", TABLE, 'group_columns = ["gender", "diet"]')
    parameters = found.protocol.parameters
    assert parameters.groups == ("women × vegan", "women × any", "men × any")
    assert parameters.group_sizes == (1, 1, 2)
    assert told(found) == {"gender": ("women", "women", "men"), "diet": ("vegan", "any", "any")}
    assert found.inputs.public[:, 0].tolist() == [0, 2, 1, 2]
    assert parameters.alternatives == ("a", "b")


def test_features_of_a_scenario_go_with_its_own_voters(tmp_path: Path) -> None:
    """Other voters bring their own, as they bring their groups."""
    (tmp_path / "mine.csv").write_text(TABLE, encoding="utf-8")
    settings = [f"voters.file={tmp_path / 'mine.csv'}", 'voters.group_columns=["diet", "gender"]']
    found = resolve(load_scenario("two-features", settings))
    assert [feature.name for feature in found.protocol.parameters.features] == ["diet", "gender"]
    assert "features" not in resolve(load_scenario("two-societies")).scenario.parameters


def test_columns_of_a_pabulib_file_are_crossed(resolved: Callable[..., Any]) -> None:
    found = resolved("mine.pb", PABULIB, 'group_columns = ["sex", "age"]', "age_cuts = [40]")
    assert found.protocol.parameters.groups == ("F × under 40", "F × 40 and over", "M × 40 and over")
    assert told(found)["age"] == ("under 40", "40 and over", "40 and over")


def test_columns_of_a_companion_file_are_crossed(resolved: Callable[..., Any]) -> None:
    options = ('groups_file = "groups.csv"', 'group_columns = ["gender", "diet"]')
    found = resolved("mine.soc", PREFLIB, *options, more={"groups.csv": COMPANION})
    assert found.protocol.parameters.groups == ("women × vegan", "women × any", "men × any")
    assert found.inputs.public[:, 0].tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    ("file", "text", "options", "words"),
    [
        ("mine.csv", TABLE, ('group_columns = ["gender", "age"]',), "columns of mine.csv, each once"),
        ("mine.csv", TABLE, ('group_columns = ["gender", "gender"]',), "each once"),
        ("mine.csv", TABLE, ('group_columns = ["gender"]',), "two columns or more"),
        (
            "mine.csv",
            TABLE,
            ('group_columns = ["gender", "diet"]', 'ties = "listed"'),
            "leave out voters.ties beside group_columns",
        ),
        ("mine.csv", TABLE.replace("bob,men", "bob,"), ('group_columns = ["gender", "diet"]',), "bob"),
        ("mine.pb", PABULIB, ('group_columns = ["sex", "sex"]',), "each once"),
        ("mine.pb", PABULIB, ('group_columns = ["sex"]',), "two columns or more"),
        ("mine.pb", PABULIB, ('group_columns = ["sex", "age"]', 'groups = ["a", "b"]'), "group_columns name them"),
        (
            "mine.pb",
            PABULIB,
            ('group_columns = ["sex", "age"]', 'group_column = "sex"'),
            "give one of voters.group_column and",
        ),
        ("mine.soc", PREFLIB, ('group_columns = ["gender", "diet"]',), "PrefLib's files hold no groups"),
    ],
)
def test_columns_that_do_not_fit_are_refused(
    resolved: Callable[..., Any], file: str, text: str, options: tuple[str, ...], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        resolved(file, text, *options)


def test_crossings_are_not_found_from_voters_whose_groups_are_private(resolved: Callable[..., Any]) -> None:
    """Which crossings have voters would tell."""
    with pytest.raises(ConfigurationError, match="would tell of private groups"):
        resolved("mine.csv", TABLE, 'group_columns = ["gender", "diet"]', parameters='mechanism = "joint"')


def test_a_crossing_without_voters_that_is_named_is_refused(resolved: Callable[..., Any]) -> None:
    named = 'groups = ["women × vegan", "women × any", "men × vegan", "men × any"]'
    with pytest.raises(ConfigurationError, match="it follows from"):
        resolved("mine.csv", TABLE, 'group_columns = ["gender", "diet"]', parameters=named)
