"""Papers as data: what their grids take in place of their own values, and what they refuse."""

import itertools
from typing import Any, cast

import pytest
from psephos.protocol.errors import ConfigurationError
from psephos.scenarios.experiments.declared import grids_of, page_of
from psephos.scenarios.experiments.paper import Paper
from psephos.scenarios.experiments.reproductions import check_part
from psephos.scenarios.system import load_each

PAPERS = dict(load_each("reproduction", Paper))
NEVER = ["{}", "[]", "true", "[true]", "nan", "[nan]", "-1", "[-1]", "[-0.5]", "[{}]", "nothing", '["nothing"]']
NAMES = {"compared"}  # of crowds: who looks for them says which are not there
MAY_BE_EMPTY = {"estimators.one answer"}  # as it is


def keys_of(table: dict[str, Any], before: str = "") -> list[str]:
    """Return the keys of what is no table and holds none."""
    keys: list[str] = []
    for name, value in table.items():
        if isinstance(value, dict):
            keys += keys_of(cast("dict[str, Any]", value), f"{before}{name}.")
        elif not (isinstance(value, list) and any(isinstance(each, dict) for each in cast("list[Any]", value))):
            keys.append(f"{before}{name}")
    return keys


def page_beside(paper: Paper) -> Any:
    return page_of(paper.experiments.partition(":")[0])


@pytest.mark.parametrize("name", PAPERS)
def test_a_paper_s_own_grids_are_taken(name: str) -> None:
    wanted, grids = check_part(PAPERS[name])
    assert wanted == {*page_beside(PAPERS[name]).tables}
    assert grids == page_beside(PAPERS[name]).grids


@pytest.mark.parametrize("name", PAPERS)
def test_what_can_be_set_is_refused_where_it_has_no_meaning(name: str) -> None:
    """A value of another kind, none at all, no number, less than nothing, and a word that says nothing."""
    keys = keys_of(page_beside(PAPERS[name]).grids)
    assert keys
    for key, value in itertools.product(keys, NEVER):
        if (value == "[]" and key in MAY_BE_EMPTY | NAMES) or (value == '["nothing"]' and key in NAMES):
            continue
        with pytest.raises(ConfigurationError) as caught:
            check_part(PAPERS[name], settings=[f"{key}={value}"])
        assert caught.value.field == key
        assert caught.value.allowed


@pytest.mark.parametrize("key", ["figure", "figure_4", "figure_4.partners.0", "prototypes", ".", "partners"])
def test_a_key_that_there_is_not_is_told_from_those_that_there_are(key: str) -> None:
    with pytest.raises(
        ConfigurationError,
        match=r"use one of figure_4\.variants, figure_4\.partners, |did you mean '[a-z_0-9.]*partners'",
    ):
        check_part(PAPERS["dpwevote"], settings=[f"{key}=[1]"])


def test_the_last_of_several_settings_counts_and_others_stay() -> None:
    module = PAPERS["truth-discovery"].experiments.partition(":")[0]
    settings = ["num_weights=3", "num_weights=4"]
    assert grids_of(module, settings)["num_weights"] == 4
    assert grids_of(module)["num_weights"] == 12
    assert grids_of(module, settings)["compared"] == grids_of(module)["compared"]
