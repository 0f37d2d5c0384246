"""A table's columns against a protocol's."""

import pytest
from bad_input import refuses
from psephos.protocol import Column
from psephos.protocol.columns import check_columns, unknown_column

COLUMNS = [Column("tea", private=True, description="0 or 1"), Column("town", private=False, description="a name")]


@pytest.mark.parametrize("names", [["tea", "town"], ["town", "tea"], ("tea", "town"), {"tea": 1, "town": 2}])
def test_the_protocols_columns_in_any_order_are_right(names: list[str]) -> None:
    check_columns(COLUMNS, names)
    check_columns(COLUMNS, iter(names))


@pytest.mark.parametrize(
    ("names", "field", "value"),
    [
        ([], "tea", "no such column"),
        (["tea"], "town", "no such column"),
        (["tea", "twon"], "town", "no such column"),
        (["tea", "town", "gin"], "gin", "an unknown column"),
    ],
)
def test_a_missing_and_an_unknown_column_are_refused_by_name(names: list[str], field: str, value: str) -> None:
    with refuses(field, value):
        check_columns(COLUMNS, names)


def test_of_many_columns_an_error_names_the_first() -> None:
    error = unknown_column("gin", [f"c{number}" for number in range(13)], field="gin (mine.csv line 1)")
    assert error.field == "gin (mine.csv line 1)"
    assert error.allowed.endswith("c10, c11, ...")
    assert "c12" not in error.allowed
