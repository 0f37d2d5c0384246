"""Outcomes of any type as tables: structs in collections, in mappings, and in each other."""

import enum
import math

import msgspec
import pytest
from psephos.protocol.estimators import Estimate
from psephos.scenarios.outcomes import Lines, estimates_in, plain, tables_of, truth_of

ONE = Estimate(1.0, 0.5)
TWO = Estimate(2.0, 0.5)


class Share(msgspec.Struct, frozen=True):
    """One option's share, and how many chose it."""

    name: str
    share: Estimate
    number: int = 3


class Cell(msgspec.Struct, frozen=True):
    """An estimate for whom two fields describe."""

    age: int
    district: str
    mean: Estimate


class Both(msgspec.Struct, frozen=True):
    """Two estimates of one thing."""

    name: str
    yes: Estimate
    no: Estimate


class Pair(msgspec.Struct, frozen=True):
    """Two collections."""

    one: tuple[object, ...]
    other: tuple[object, ...]


class Question(msgspec.Struct, frozen=True):
    """A question with its options."""

    question: str
    options: tuple[Share, ...]


class Survey(msgspec.Struct, frozen=True):
    """What holds one field of any kind."""

    of: object
    num_voters: int = 7


class Groups(msgspec.Struct, frozen=True):
    """Structs that stand beside each other."""

    first: Share
    second: Share
    alone: Question | Cell


def table_of(held: object) -> Lines:
    """Return the table of what a survey holds."""
    own, table = tables_of(Survey(held))
    assert [dict(line.cells) for line in own.lines] == [{"num_voters": 7}]
    return table


def lines_of(table: Lines) -> list[tuple[str, dict[str, str], dict[str, object]]]:
    """Return a table's lines as plain data."""
    return [(line.name, dict(line.keys), dict(line.cells)) for line in table.lines]


@pytest.mark.parametrize("collection", [tuple, list])
def test_a_collection_of_structs_is_a_table_whose_lines_their_first_text_names(collection: type) -> None:
    table = table_of(collection([Share("tea", ONE), Share("coffee", TWO, 4)]))
    assert (table.name, table.keys, table.columns, table.measured) == ("of", [], ["name", "share", "number"], ["share"])
    assert lines_of(table) == [
        ("tea", {}, {"name": "tea", "share": ONE, "number": 3}),
        ("coffee", {}, {"name": "coffee", "share": TWO, "number": 4}),
    ]


def test_a_text_that_does_not_tell_lines_apart_is_not_their_name() -> None:
    cells = (Cell(20, "north", ONE), Cell(30, "north", TWO))
    assert [line.name for line in table_of(cells).lines] == ["20, north", "30, north"]
    alike = (cells[0], cells[0])
    assert [(line.name, dict(line.keys)) for line in table_of(alike).lines] == [("1", {"of": "1"}), ("2", {"of": "2"})]


def test_a_set_of_structs_comes_in_one_order_whatever_its_hashes_are() -> None:
    shares = [Share(name, ONE) for name in "dbeac"]
    assert [line.name for line in table_of(frozenset(shares)).lines] == list("abcde")


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        ({"tea": ONE}, [("tea", {"of": "tea"}, {"value": ONE})]),
        ({"tea": 3}, [("tea", {"of": "tea"}, {"value": 3})]),
        ([ONE, TWO], [("1", {"of": "1"}, {"value": ONE}), ("2", {"of": "2"}, {"value": TWO})]),
        ({"tea": Share("x", ONE)}, [("tea", {"of": "tea"}, {"name": "x", "share": ONE, "number": 3})]),
        ({"north": {"tea": ONE}}, [("north, tea", {"of": "north", "of_2": "tea"}, {"value": ONE})]),
        ({1: [2, 3]}, [("1", {"of": "1"}, {"value": [2, 3]})]),
    ],
    ids=["estimates by name", "numbers by name", "estimates", "structs by name", "names in names", "lists by name"],
)
def test_what_is_no_struct_is_named_by_its_key_or_its_number(
    held: object, expected: list[tuple[str, dict[str, str], dict[str, object]]]
) -> None:
    assert lines_of(table_of(held)) == expected


def test_structs_in_structs_of_a_collection_name_what_they_are_a_part_of() -> None:
    held = [Question("drink?", (Share("tea", ONE), Share("coffee", TWO))), Question("eat?", (Share("tea", TWO),))]
    _, questions, options = tables_of(Survey(held))
    assert (questions.name, [dict(line.cells) for line in questions.lines]) == (
        "of",
        [{"question": "drink?"}, {"question": "eat?"}],
    )
    assert (options.name, options.keys) == ("of options", ["of"])
    assert [line.name for line in options.lines] == ["drink?, tea", "drink?, coffee", "eat?, tea"]


def test_structs_of_one_type_beside_each_other_are_lines_and_another_is_flattened() -> None:
    own, shares = tables_of(Groups(Share("tea", ONE), Share("coffee", TWO), Cell(20, "north", ONE)))
    assert dict(own.lines[0].cells) == {"alone_age": 20, "alone_district": "north", "alone_mean": ONE}
    assert (shares.name, shares.keys, [line.name for line in shares.lines]) == ("share", ["share"], ["first", "second"])


def test_a_collection_of_plain_values_stays_in_one_cell_and_an_empty_one_too() -> None:
    (own,) = tables_of(Survey((1, 2)))
    assert dict(own.lines[0].cells) == {"of": (1, 2), "num_voters": 7}
    (own,) = tables_of(Survey(()))
    assert dict(own.lines[0].cells) == {"of": (), "num_voters": 7}


def test_a_truth_goes_by_field_by_line_or_by_both() -> None:
    own, table = tables_of(Survey((Share("tea", ONE),)))
    (line,) = table.lines
    assert truth_of(own, own.lines[0], "num_voters") == ["num_voters"]
    assert truth_of(table, line, "share") == ["tea (share)", "tea"]
    assert truth_of(table, line, "number") == ["tea (number)"]
    counted = table_of({"tea": 3})
    assert truth_of(counted, counted.lines[0], "value") == ["tea (value)", "tea"]


@pytest.mark.parametrize(
    ("held", "names"),
    [
        (ONE, ["of"]),
        ((Share("tea", ONE), Share("coffee", TWO)), ["tea", "coffee"]),
        ((Both("tea", ONE, TWO),), ["tea", "tea (no)"]),
        (Cell(20, "north", ONE), ["of_mean"]),
        ([ONE, TWO], ["1", "2"]),
        ({"x": ONE, "y": (TWO,)}, ["x", "y, 1"]),
        (Pair((Share("tea", ONE),), (Share("tea", TWO),)), ["one tea", "other tea"]),
        (Pair((ONE, TWO), (TWO,)), ["one 1", "one 2", "other 1"]),
        ((1, "two", None), []),
    ],
    ids=["field", "lines", "two of a line", "struct", "numbers", "keys", "two tables", "two tables of numbers", "none"],
)
def test_estimates_have_short_names_that_differ(held: object, names: list[str]) -> None:
    found = estimates_in(held if isinstance(held, Pair) else Survey(held))
    assert list(found) == names


def test_estimates_that_nothing_tells_apart_are_numbered() -> None:
    assert list(estimates_in(Survey({1: ONE, "1": TWO}))) == ["1 (1)", "1 (2)"]


class Kind(enum.Enum):
    """What may stand in a cell."""

    SURE = "for sure"


@pytest.mark.parametrize(
    ("field", "written"),
    [
        (None, ""),
        (True, "yes"),
        (False, "no"),
        (1234, "1,234"),
        (1234.5, "1,234.5"),
        (math.inf, "inf"),
        (math.nan, "nan"),
        ("[bold]", "[bold]"),
        (Kind.SURE, "for sure"),
        ((1, "a", (2, 3)), "1, a, 2, 3"),
        ({"b", "a"}, "a, b"),
    ],
)
def test_a_cell_is_written_for_people(field: object, written: str) -> None:
    assert plain(field) == written
