"""Consoles and cells: plain text where nobody watches, and numbers that say no more than they know."""

import io

import pytest
from psephos.protocol.estimators import Estimate
from psephos.scenarios.presentation import make_console
from psephos.scenarios.presentation.terminal import estimate_text, percent, show_paragraph
from rich.table import Table
from rich.text import Text


def test_a_console_into_a_pipe_is_plain_and_wide(capsys: pytest.CaptureFixture[str]) -> None:
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
def test_an_estimate_has_as_many_decimals_as_it_deserves(estimate: Estimate, text: str) -> None:
    assert estimate_text(estimate).plain == text


def test_a_signed_estimate_has_its_plus() -> None:
    assert estimate_text(Estimate(3.0, 1.0), signed=True).plain == "+3.0 ± 1.0"


@pytest.mark.parametrize(("probability", "text"), [(0.00009, "< 0.01 %"), (0.0001, "0.01 %"), (0.5, "50.00 %")])
def test_a_small_probability_has_a_bound(probability: float, text: str) -> None:
    assert percent(probability) == text


def test_a_console_takes_out_what_a_terminal_would_obey() -> None:
    console = make_console()
    console.file = io.StringIO()
    console.print("vote\x1b[2J \x9b1m\u202eturned", Text("styled\x1b]0;title\x07\nsecond line"))
    table = Table("\x1b[31mheader")
    table.add_row("cell\x1b[1m")
    console.print(table)
    shown = console.file.getvalue()
    assert "\x1b" not in shown
    assert shown.replace("\n", "").isprintable()
    assert "vote�[2J �1m�turned" in shown
    assert "second line" in shown


def test_a_paragraph_takes_as_many_lines_as_the_console_needs() -> None:
    console = make_console()
    console.file, console.width = io.StringIO(), 20
    show_paragraph(console, "one two three four five six")
    assert console.file.getvalue() == "  one two three four\n  five six\n"


def test_a_console_on_a_terminal_keeps_colors_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    console = make_console()
    console.file = io.StringIO()
    console.print(Text("bold\x1b[2J", style="bold"))
    assert console.file.getvalue() == "\x1b[1mbold�[2J\x1b[0m\n"
