"""Consoles, tables and cells for terminal output; plain text if the output is not a terminal."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import rich.table
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.text import Text

from ...protocol.errors import printable
from ...protocol.estimators import Estimate
from ..tables import Cell, Entry, Table, Tone, six_digits
from ..words import replace_unencodable
from .numbers import join_words

STYLES: Final[Mapping[Tone, str]] = {
    "": "",
    "good": "bold green",
    "poor": "bold red",
    "warning": "yellow",
    "quiet": "dim",
    "strong": "bold",
    "open": "cyan",
}
"""Styles of tones in a terminal."""
_WIDTH_WHEN_PIPED = 110
_LEAST_WIDTH_WHEN_PIPED = 40
_PADDING = 2
_SPACE_BETWEEN_COLUMNS = _PADDING + 1  # plus the box's blank border
_LEAST_WIDTH = 8
_LARGE = 100
_WIDTH = re.compile(r"[1-9][0-9]{0,3}")
_BLANKS = re.compile(r" +\n")


def make_console(*, stderr: bool = False) -> Console:
    """Return a console that does not interpret markup in text.

    If its stream is not a terminal, the width is that of the variable COLUMNS, or else fixed. Names of parties,
    candidates, tasks, files and phases come from other people, and are shown literally.
    """
    console = _Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        columns_asked = os.environ.get("COLUMNS", "")
        console.width = (
            max(int(columns_asked), _LEAST_WIDTH_WHEN_PIPED) if _WIDTH.fullmatch(columns_asked) else _WIDTH_WHEN_PIPED
        )
    return console


class _Console(Console):
    """A console that removes control sequences, and whose reader may close the stream.

    All output passes `render`, which removes what a terminal would interpret in a name or title, and trailing blanks.
    If the reader closes the stream, as `head` does, the command continues without output.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        blanks: list[Segment] = []  # written only if text follows in the line
        for segment in self._make_printable(renderable, options):
            text = segment.text
            if segment.control:
                yield from (*blanks, segment)
                blanks.clear()
                continue
            stripped = text.rstrip(" ")
            if not stripped:
                blanks.append(segment)
                continue
            if not text.startswith("\n"):
                yield from blanks
            blanks = [Segment(text[len(stripped) :], segment.style)] if len(stripped) < len(text) else []
            yield Segment(_BLANKS.sub("\n", stripped), segment.style)
        yield from blanks  # the next output may continue the line

    def _make_printable(self, renderable: RenderableType, options: ConsoleOptions | None) -> Iterator[Segment]:
        printable_text = _shown(self, renderable) if isinstance(renderable, Text) else renderable
        for segment in super().render(printable_text, options):
            text = segment.text
            if segment.control or text.isprintable():
                yield segment
            else:
                yield Segment("\n".join(map(printable, text.split("\n"))), segment.style)

    def on_broken_pipe(self) -> None:
        self.quiet = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.file.fileno())  # also discards the buffer's rest
        os.close(nowhere)


def _shown(console: Console, text: Text) -> Text:
    """Return a text with only characters that the console can show, in the same colors."""
    encoding = console.encoding
    if replace_unencodable(encoding, text.plain) == text.plain:
        return text
    parts = ((replace_unencodable(encoding, part.text), part.style or "") for part in text.render(console))
    return Text.assemble(*parts, justify=text.justify, overflow=text.overflow, no_wrap=text.no_wrap, end=text.end)


def lines_of(console: Console, show: Callable[[], object]) -> list[Text]:
    """Return the lines that a function prints, without printing them."""
    with console.capture() as captured:
        show()
    return [Text.from_ansi(line) for line in captured.get().splitlines()]


def show_facts(console: Console, facts: Mapping[str, Entry], *, indent: int = 0, spaced: bool = True) -> None:
    """Print a line for each labeled fact, followed by an empty line if `spaced`."""
    grid = rich.table.Table.grid(padding=(0, 0, 0, _PADDING))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in facts.items():
        grid.add_row(_shown(console, Text(label, style="bold")), _shown(console, style_entry(text)))
    console.print(Padding(grid, (0, 0, 0, indent)))
    if spaced:
        console.print()


def show_note(console: Console, text: str | Text, *, style: str = "dim") -> None:
    """Print a note below a table, with wrapped lines indented."""
    note = Text(text, style=style) if isinstance(text, str) else text
    console.print(Padding(_shown(console, note), (0, 0, 0, _PADDING), expand=False))


def show_label(console: Console, label: str, text: str, *, style: str = "dim", is_apart: bool = True) -> None:
    """Print a labeled paragraph, after an empty line if separate; nothing for an empty text."""
    if text.strip():
        if is_apart:
            console.print()
        console.print(Text.assemble((f"{label}: " if label else "", "bold"), (" ".join(text.split()), style)))


def show_table(console: Console, table: Table, *, drop: Sequence[str] = (), whole: str = "") -> None:
    """Print all rows of a table, without breaking numbers, nor words if avoidable.

    If the console is too narrow, the columns in `drop` are omitted in order, and a line names them and the file `whole`
    that has them. If the others still do not fit, each row becomes a block with a line for each column.
    """
    headers = [replace_unencodable(console.encoding, header) for header in table.columns]
    columns = {
        header: [_shown(console, style_entry(row[place])) for row in table.rows] for place, header in enumerate(headers)
    }
    texts = headers[: table.labels]
    left_out: list[str] = []
    for dropped_header in dict.fromkeys(replace_unencodable(console.encoding, header) for header in drop):
        if _spare_width(console, columns, texts) >= 0:
            break
        if columns.pop(dropped_header, None) is not None:
            left_out.append(dropped_header)
    spare = _spare_width(console, columns, texts)
    if spare < 0:
        _show_blocks(console, columns)
    else:
        terminal_table = _drawn(padding=_PADDING)
        for header, cells in columns.items():
            if header in texts:
                min_width = _least_width(header, cells, may_wrap=True)
                full = _least_width(header, cells, may_wrap=False)
                width = max(min(full, min_width + spare), min(full, _LEAST_WIDTH))
                spare -= width - min_width
                terminal_table.add_column(header, overflow="fold", width=width)
            else:
                terminal_table.add_column(header, justify="right", no_wrap=True)
        for row in zip(*columns.values(), strict=True):
            terminal_table.add_row(*row)
        console.print(terminal_table)
    if left_out:
        header_names = join_words([" ".join(header.split()) for header in left_out])
        show_note(console, f"for want of room in {whole or 'a wider terminal'} alone: {header_names}")


def _show_blocks(console: Console, columns: Mapping[str, Sequence[Text]]) -> None:
    """Print each row as a block: its first cell, and below it a line for each other nonempty cell."""
    names = [Text(" ".join(header.split()), style="bold") for header in columns]
    for first, *other_entries in zip(*columns.values(), strict=True):
        console.print(first if first.plain else names[0], style="bold")
        for name, entry in zip(names[1:], other_entries, strict=True):
            if entry.plain:
                console.print(Padding(Text.assemble(name, "  ", entry), (0, 0, 0, _PADDING), expand=False))


def show_sheet(console: Console, table: Table) -> None:
    """Print a wide table with its caption above and its note below."""
    console.print()
    console.print(Text(table.caption, style="bold"))
    columns = {
        header: [_shown(console, style_entry(row[place])) for row in table.rows]
        for place, header in enumerate(table.columns)
    }
    terminal_table = _drawn(padding=1)
    for place, header in enumerate(table.columns):
        terminal_table.add_column(
            _shown(console, Text(header)), justify="left" if place < table.labels else "right", no_wrap=True
        )
    for row in table.rows:
        terminal_table.add_row(*(_shown(console, style_entry(entry)) for entry in row))
    if _spare_width(console, columns, ()) >= 0:
        console.print(terminal_table)
    else:
        _show_blocks(console, columns)
    if table.note:
        console.print(Text(table.note, style="dim"))


def _drawn(*, padding: int) -> rich.table.Table:
    return rich.table.Table(
        box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False, padding=(0, padding, 0, 0)
    )


def estimate_text(estimate: Estimate, *, signed: bool = False) -> Text:
    """Format an estimate with its standard error, if it has one, for tables.

    Examples:
        >>> estimate_text(Estimate(12.34, 5.67)).plain, estimate_text(Estimate(3.0, 1.0), signed=True).plain
        ('12.3 ± 5.7', '+3.0 ± 1.0')
    """
    # As many decimals as the larger of value and error supports.
    decimals = 0 if max(abs(estimate.value), estimate.standard_error) >= _LARGE else 1
    if not estimate.standard_error:
        return Text(six_digits(estimate.value))
    value = f"{estimate.value:{'+' if signed else ''},.{decimals}f}"
    return Text(f"{value} ± {estimate.standard_error:,.{decimals}f}")


def title_of(key: str) -> str:
    """Return a table's heading for a key: with spaces, a capital first letter, and Greek letters.

    Examples:
        >>> title_of("true_margin")
        'True margin'
    """
    words = key.replace("_", " ")
    return words[:1].upper() + words[1:] if len(words) > 1 and words[0].isascii() else words


def percent(probability: float | None) -> str:
    """Format a probability in percent, the same everywhere.

    Examples:
        >>> percent(0.25), percent(0.00001), percent(None)
        ('25.00 %', '< 0.01 %', '–')
    """
    if probability is None:
        return "–"
    min_shown = 0.0001
    return "< 0.01 %" if probability < min_shown else f"{100 * probability:.2f} %"


def _spare_width(console: Console, columns: Mapping[str, Sequence[Text]], texts: Sequence[str]) -> int:
    """Return the spare width of a line with these columns at their narrowest; negative if they do not fit."""
    min_widths = (_least_width(header, cells, may_wrap=header in texts) for header, cells in columns.items())
    return console.width - sum(min_widths) - _SPACE_BETWEEN_COLUMNS * len(columns)


def _least_width(header: str, cells: Iterable[Text], *, may_wrap: bool) -> int:
    """Return the width of the longest word in a column that wraps, or of the longest cell otherwise."""
    texts = (header, *(cell.plain for cell in cells))
    return max(cell_len(part) for text in texts for part in (text.split() or [""] if may_wrap else [text]))


def style_entry(entry: Entry) -> Text:
    """Return a table's cell in the style of its tone.

    Examples:
        >>> style_entry(Cell("passes", tone="good")).plain
        'passes'
    """
    if isinstance(entry, Cell):
        return Text(entry.words, style=STYLES[entry.tone])
    return Text(entry) if isinstance(entry, str) else entry
