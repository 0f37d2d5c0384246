"""Grids: which cells there are, in which order, and what is refused."""

import pytest
from bad_input import refuses
from psephos.scenarios.experiments.grids import load_cells, read_axes


def test_cells_are_all_combinations_and_the_last_key_changes_first() -> None:
    cells = load_cells("consortium", ["partners.count=9"], grid=["epsilon=0.5,1", "variant=joint,laplace"], seed=4)
    assert [settings for settings, _ in cells] == [
        (("epsilon", "0.5"), ("variant", "joint")),
        (("epsilon", "0.5"), ("variant", "laplace")),
        (("epsilon", "1"), ("variant", "joint")),
        (("epsilon", "1"), ("variant", "laplace")),
    ]
    assert [scenario.parameters["epsilon"] for _, scenario in cells] == [0.5, 0.5, 1, 1]
    assert {scenario.seed for _, scenario in cells} == {4}


def test_without_a_grid_there_is_one_cell() -> None:
    ((settings, scenario),) = load_cells("consortium", [], grid=[], data="here")
    assert (settings, scenario.seed, scenario.data) == ((), 2018, "here")


def test_commas_in_brackets_and_quotes_part_no_values() -> None:
    assert read_axes(["weights=[1, 2],[1, 2, 3]", "title='a, b',c/d"]) == [
        [(("weights", "[1, 2]"),), (("weights", "[1, 2, 3]"),)],
        [(("title", "'a, b'"),), (("title", "c/d"),)],
    ]


def test_values_of_several_keys_go_together() -> None:
    grid = ["partners.count, title=10/'a/b', 20/c", "epsilon=1,2"]
    cells = load_cells("consortium", [], grid=grid)
    assert [settings for settings, _ in cells] == [
        (("partners.count", number), ("title", title), ("epsilon", epsilon))
        for number, title in (("10", "'a/b'"), ("20", "c"))
        for epsilon in ("1", "2")
    ]
    assert [scenario.title for _, scenario in cells] == ["a/b", "a/b", "c", "c"]


@pytest.mark.bad_input("trials that are too few, or of what cannot be tried; a grid of no key")
@pytest.mark.parametrize(
    ("grid", "value", "allowed"),
    [
        (["epsilon"], "'epsilon'", "Write a key and its values"),
        (["=1"], "'=1'", "Write a key and its values"),
        (["epsilon=1,,2"], "'epsilon=1,,2'", "Write a key and its values"),
        (["epsilon=1", "epsilon=2"], "'epsilon'", "once"),
        (["epsilon=1,1"], "'epsilon=1,1'", "distinct"),
        (["epsilon=1,2", "round=" + ",".join(map(str, range(501)))], "'1,002 cells'", "at most 1,000"),
        (["seed=1,2"], "'seed=1,2'", "one seed (--seed)"),
        ([""], "''", "Write a key and its values"),
        (["epsilon="], "'epsilon='", "Write a key and its values"),
        ([f"{key}=" + ",".join(map(str, range(1000))) for key in "abc"], "'1,000,000,000 cells'", "at most 1,000"),
        (["epsilom=1,2"], "'epsilom'", "epsilon"),
        (["epsilon,round=1/2,3"], "'epsilon,round=1/2,3'", "with 2 values in each place"),
        (["epsilon,round=1/2/3"], "'epsilon,round=1/2/3'", "with 2 values in each place"),
        (["epsilon,round=1/"], "'epsilon,round=1/'", "epsilon,variant=1/joint,2/laplace"),
        (["epsilon,=1/2"], "'epsilon,=1/2'", "epsilon,variant=1/joint,2/laplace"),
        (["epsilon,round=1/2,1/2"], "'epsilon,round=1/2,1/2'", "distinct"),
        (["epsilon,round=1/2", "round=3"], "'round'", "once"),
        (["round,round=1/2"], "'round'", "once"),
        (["round,seed=1/2"], "'round,seed=1/2'", "one seed (--seed)"),
        (["round,epsilom=1/2,3/4"], "'epsilom'", "epsilon"),
    ],
)
def test_what_is_no_grid_is_refused(grid: list[str], value: str, allowed: str) -> None:
    with refuses("--grid", allowed=allowed) as raised:
        load_cells("consortium", [], grid=grid)
    assert repr(raised.value.value) == value
