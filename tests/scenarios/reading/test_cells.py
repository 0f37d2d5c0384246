"""Cells that begin as formulas do are text in a spreadsheet, and come back as they were."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psephos.scenarios.reading.cells import inert_cell, number_of, plain_cell
from strategies import CHECKED


@pytest.mark.parametrize("begins", list("=+-@\t\r\n＝＋－＠"))
def test_what_begins_as_a_formula_does_is_quoted(begins: str) -> None:
    for text in (f"{begins}SUM(A1)", f"{begins}cmd|' /C calc'!A0", f"{begins}\n"):
        assert inert_cell(text) == f"'{text}"


@pytest.mark.parametrize(
    "cell",
    ["-1", "+1.5", "-1e-9", "-inf", "-", "+", "=", "", "ann", "a=b", "'quoted'", "− 3", -1, -0.5, None, True, "12,000"],
)
def test_numbers_and_other_text_stay_as_they_are(cell: object) -> None:
    assert inert_cell(cell) == cell


@CHECKED
@given(st.text(alphabet="'=+-@\t\r\nab1\uff1d", max_size=6))
def test_text_comes_back_as_it_was_unless_it_only_looked_inert(text: str) -> None:
    cell = inert_cell(text)
    assert isinstance(cell, str)
    assert plain_cell(cell) == text
    assert cell == text or cell.startswith("'")


@pytest.mark.parametrize(
    ("entry", "decimal", "number"),
    [
        ("1,5", ",", 1.5),
        ("1.5", ".", 1.5),
        ("1.234,5", ",", 1234.5),
        ("1,234,567.5", ".", 1234567.5),
        ("-1.000", ",", -1000),
        ("1,000", ".", 1000),
        ("1,000", ",", 1),
        ("12", ",", 12),
        ("1e3", ".", 1000),
    ],
)
def test_numbers_have_either_sign_before_their_decimals(entry: str, decimal: str, number: float) -> None:
    assert number_of(entry, decimal) == number


@pytest.mark.parametrize("entry", ["1,5", "1,23,456", "1234,567", ",567", "1,0000", "", "ann", "1_000", "1,2e3"])
def test_what_has_no_groups_of_three_is_no_number(entry: str) -> None:
    assert math.isnan(number_of(entry))
