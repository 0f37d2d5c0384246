"""Numbers: as many decimals as they deserve, no sign before a zero, and nouns that agree."""

import math

import pytest
from psephos.scenarios.presentation.numbers import decimals_of, format_number, join_words, pluralize, rounded


@pytest.mark.parametrize(
    ("values", "errors", "decimals"),
    [
        ([5.0, 7.0], [0.034, 2.0], 3),  # two digits of the least error
        ([5.0], [120.0], 0),
        ([5.0, -12.0], [None, 0.0], 1),  # three of the greatest value where nothing has an error
        ([0.0], [None], 0),
        ([1.0], [1e-30], 9),
    ],
)
def test_decimals_are_those_that_the_least_error_deserves(
    values: list[float], errors: list[float | None], decimals: int
) -> None:
    assert decimals_of(values, errors) == decimals


def test_what_is_rounded_to_zero_has_no_sign() -> None:
    assert [rounded(value, 1) for value in (-0.04, 0.04, -1234.5)] == ["0.0", "0.0", "-1,234.5"]
    assert [rounded(value, 1, signed=True) for value in (-0.04, 0.04, 1234.5)] == ["0.0", "0.0", "+1,234.5"]


def test_one_is_no_plural() -> None:
    assert [pluralize(number, "task") for number in (0, 1, 1200)] == ["0 tasks", "1 task", "1,200 tasks"]


def test_names_are_listed_as_people_do() -> None:
    assert join_words(["one"]) == "one"
    assert join_words(["one", "two", "three"]) == "one, two and three"


def test_a_large_number_has_no_power_of_ten() -> None:
    assert [format_number(number) for number in (0.0012345, 1.0, 9592399949.2, -0.5, 0, -1e-12, math.inf)] == [
        "0.00123",
        "1",
        "9,592,399,949",
        "-0.5",
        "0",
        "0",
        "inf",
    ]
