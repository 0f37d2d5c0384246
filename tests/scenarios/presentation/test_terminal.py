"""Consoles and cells: plain text where nobody watches, and numbers that say no more than they know."""

import io
from collections.abc import Callable

import pytest
from psephos.protocol.estimators import Estimate
from psephos.scenarios.presentation import make_console
from psephos.scenarios.presentation.terminal import (
    estimate_text,
    percent,
    show_facts,
    show_label,
    show_note,
    show_sheet,
    show_table,
)
from psephos.scenarios.tables import Cell, Table
from rich.console import Console
from rich.table import Table as Drawn
from rich.text import Text


def test_a_console_into_a_pipe_is_plain_and_wide(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    console = make_console()
    console.print("[bold red]word[/] :smile:", style="bold")
    assert capsys.readouterr().out == "[bold red]word[/] :smile:\n"
    assert console.width == 110
    make_console(stderr=True).print("to the other stream")
    assert capsys.readouterr().err == "to the other stream\n"


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(12.34, 5.67), "12.3 ± 5.7"),
        (Estimate(-12.34, 100.4), "-12 ± 100"),
        (Estimate(1234.5, 2.0), "1,234 ± 2"),
        (Estimate(70.25, 0.0), "70.25"),
    ],
)
def test_an_estimate_has_as_many_decimals_as_it_deserves_and_a_plus_if_asked(estimate: Estimate, text: str) -> None:
    assert estimate_text(estimate).plain == text
    assert estimate_text(Estimate(3.0, 1.0), signed=True).plain == "+3.0 ± 1.0"


@pytest.mark.parametrize(("probability", "text"), [(0.00009, "< 0.01 %"), (0.0001, "0.01 %"), (0.5, "50.00 %")])
def test_a_small_probability_has_a_bound(probability: float, text: str) -> None:
    assert percent(probability) == text


def test_a_console_takes_out_what_a_terminal_would_obey() -> None:
    console = make_console()
    console.file = file = io.StringIO()
    console.print("vote\x1b[2J \x9b1m\u202eturned", Text("styled\x1b]0;title\x07\nsecond line"))
    table = Drawn("\x1b[31mheader")
    table.add_row("cell\x1b[1m")
    console.print(table)
    shown = file.getvalue()
    assert "\x1b" not in shown
    assert shown.replace("\n", "").isprintable()
    assert "vote�[2J �1m�turned" in shown
    assert "second line" in shown


@pytest.mark.parametrize(
    ("columns", "width"), [("80", 80), ("120", 120), ("", 110), ("wide", 110), ("0", 110), ("5", 40), ("-80", 110)]
)
def test_a_pipe_is_as_wide_as_its_reader_asks(columns: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert make_console().width == width


def written(width: int = 110) -> tuple[Console, io.StringIO]:
    """Return a console of this width, and what it writes to."""
    console = make_console()
    console.file = file = io.StringIO()
    console.width = width
    return console, file


def test_a_note_that_goes_on_stays_below_its_beginning() -> None:
    console, file = written(20)
    show_note(console, "one two three four five six")
    assert file.getvalue() == "  one two three four\n  five six\n"


def test_a_paragraph_stands_behind_what_it_is_about_and_is_left_out_where_it_says_nothing() -> None:
    console, file = written()
    show_label(console, "Trust", "nobody\n  at all")
    show_label(console, "About", " \n")
    assert file.getvalue() == "\nTrust: nobody at all\n"


def test_no_line_ends_with_blanks() -> None:
    console, file = written(30)
    show_facts(console, {"Mechanism": "noise on the utilities of the groups", "By": "laplace"})
    rows = [("a", "two words that wrap", "1"), ("b", "", "")]
    show_table(console, Table(columns=("Name", "Said", "Number"), rows=rows, labels=2))
    console.print(Text("word   "), "more  ", Text("red  ", style="red"))
    console.print("one  \ntwo  \n\nthree")
    lines = file.getvalue().split("\n")
    assert [line for line in lines if line != line.rstrip()] == []
    assert "word    more   red" in file.getvalue()


def test_blanks_at_the_beginning_and_within_a_line_stay() -> None:
    console, file = written()
    console.print("  a", end="  ")
    console.print("b")
    assert file.getvalue() == "  a  b\n"


def test_a_narrow_table_goes_without_columns_and_names_them() -> None:
    console, file = written(40)
    row = ("rail corridors", "+52.8 ± 19.0", "215 ± 19", "0.26 %")
    table = Table(columns=("Candidate", "Margin", "Support", "Risk"), rows=[row])
    show_table(console, table, drop=("Support",), whole="all.csv")
    text = file.getvalue()
    assert "Support  " not in text
    assert "Risk" in text
    assert "for want of room in all.csv alone: Support" in " ".join(text.split())


@pytest.mark.parametrize("width", [20, 40, 60])
def test_a_table_without_room_has_a_block_for_each_row_and_nothing_is_cut(width: int) -> None:
    console, file = written(width)
    headers = tuple(f"Number {place}" for place in range(6))
    rows = [(name, *(f"{name}{place}234567" for place in range(5)), "") for name in ("a", "b")]
    show_table(console, Table(columns=("Name", *headers), rows=rows), whole="all.csv")
    blocks = [[name, *(f"  Number {place}  {name}{place}234567" for place in range(5))] for name in ("a", "b")]
    assert file.getvalue().splitlines() == [line for block in blocks for line in block]


@pytest.mark.parametrize("width", [40, 80, 110])
@pytest.mark.parametrize("show", [show_table, show_sheet])
def test_every_entry_of_a_table_is_shown_at_any_width(show: Callable[[Console, Table], None], width: int) -> None:
    console, file = written(width)
    rows = [[f"r{row}c{place}-word {'x' * 7 * place}" for place in range(6)] for row in range(9)]
    show(console, Table(columns=[f"Column {place}" for place in range(6)], rows=rows, labels=3))
    text = file.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert [cell for row in rows for cell in row if cell.split()[0] not in text] == []
    assert "…" not in text


def test_a_wide_table_names_no_column_as_left_out() -> None:
    console, file = written()
    show_table(console, Table(columns=("Name", "Number"), rows=[("a", "1")]), drop=("Absent", "Number"))
    assert "no room" not in file.getvalue()


def test_a_cell_has_the_color_of_its_tone_whatever_its_words_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    console = make_console()
    console.file = shown = io.StringIO()
    rows = [("a", Cell("fails", tone="good")), ("b", "passes")]
    show_table(console, Table(columns=("Name", "Said"), rows=rows, labels=2))
    assert "\x1b[1;32mfails" in shown.getvalue()
    assert "mpasses" not in shown.getvalue()


def test_a_console_on_a_terminal_keeps_colors_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    console = make_console()
    console.file = shown = io.StringIO()
    console.print(Text("bold\x1b[2J", style="bold"))
    assert shown.getvalue() == "\x1b[1mbold�[2J\x1b[0m\n"
