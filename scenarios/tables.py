"""A table as a value, independent of its rendering: columns, cells with words and numbers, and a note.

A terminal (`presentation.terminal`), a page (`reports.page`), a notebook, Markdown and CSV render the same value. A
cell's tone, not its words, marks it as good or poor.
"""

import csv
import dataclasses
import functools
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias, TypeVar

from .reading.cells import inert_cell

if TYPE_CHECKING:
    from rich.text import Text

RowT = TypeVar("RowT")
Tone: TypeAlias = Literal["", "good", "poor", "warning", "quiet", "strong", "open"]
"""How good a cell is, or how much it stands out; each renderer has colors for tones."""
Rows: TypeAlias = list[dict[str, object]]
"""A table for programs: rows by column, with all digits of numbers."""


_LARGE = 999_999.5, 1e15  # the least number that six digits round to a million, and the greatest shown with all digits


def six_digits(value: float, *, signed: bool = False) -> str:
    """Format a number with at most six digits, but with all digits before the point.

    Examples:
        >>> six_digits(0.123456789), six_digits(512_345_678.0)
        ('0.123457', '512,345,678')
    """
    form = ",.0f" if _LARGE[0] <= abs(value) < _LARGE[1] else ",.6g"
    return f"{value:{'+' if signed else ''}{form}}"


_EXACT: Final = "epsilon_proven"


def snapped(value: Any) -> Any:
    """Return plain data with numbers rounded to twelve digits, since further digits may depend on the processor.

    Proven ε, under keys that begin so, are exact and not rounded.

    >>> snapped({"error": 0.1 + 0.2, "trials": 3})
    {'error': 0.3, 'trials': 3}
    """
    match value:
        case float():
            return float(f"{value:.12g}")
        case Mapping():
            return {key: each if str(key).startswith(_EXACT) else snapped(each) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  plain data
        case list() | tuple():
            return [snapped(each) for each in value]  # pyright: ignore[reportUnknownVariableType]  plain data
        case _:
            return value


@dataclasses.dataclass(frozen=True)
class Cell:
    """A table's cell.

    Args:
        words: the displayed text.
        number: the number for sorting, if any.
        tone: how good it is.
        leads_to: the anchor of a linked part of the page; empty for none.
        is_part: whether the words contain more than the number, such as its error, or a range.

    Examples:
        >>> Cell.of(0.5), Cell.of(True).words
        (Cell(words='0.5', number=0.5, tone='', leads_to='', is_part=False), 'yes')
    """

    words: str
    number: float | None = None
    tone: Tone = ""
    leads_to: str = ""
    is_part: bool = False

    @classmethod
    def of(cls, value: object) -> Self:
        """Return a cell for plain data: numbers with at most six digits, yes and no for booleans, a dash for None."""
        if value is None or value == "":
            return cls("–")
        if isinstance(value, bool):
            return cls("yes" if value else "no")
        if isinstance(value, int):
            return cls(f"{value:,}", value)
        return cls(six_digits(value), value) if isinstance(value, float) else cls(str(value))

    @property
    def written(self) -> str | float:
        """The cell's value in a file: the number, unless the words contain more."""
        return self.words if self.number is None or self.is_part else self.number

    @property
    def key(self) -> str | None:
        """The sort key for browsers: the number in JavaScript's notation, with "Infinity" instead of "inf"."""
        return None if self.number is None else str(self.number).replace("inf", "Infinity")


Entry: TypeAlias = "Cell | Text | str"
"""A cell, its words only, or styled words for tables that only a terminal shows."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Table:
    """A table with its caption and note.

    Args:
        columns: the headings.
        rows: lists of entries, one for each heading; only the first rows if `full` has all.
        labels: number of first columns with words, which are left-aligned.
        caption: the caption, one line.
        note: an explanation for the reader.
        name: its file's name, without suffix.
        full: all rows for programs, which the file has instead of the cells.

    Examples:
        >>> Table(columns=("Variant", "ε"), rows=[("joint", Cell.of(1.0))]).is_number
        [False, True]
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Entry]]
    labels: int = 1
    caption: str = ""
    note: str = ""
    name: str = ""
    full: Sequence[Mapping[str, object]] = ()

    @functools.cached_property
    def cells(self) -> list[list[Cell]]:
        """The rows as cells."""
        return [list(map(cell_of, row)) for row in self.rows]

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return max(len(self.rows), len(self.full))

    @property
    def is_number(self) -> Sequence[bool]:
        """Whether each column's cells are numbers."""
        return [
            any(cell.number is not None for cell in column)
            and all(cell.number is not None or not cell.words.strip("–") for cell in column)
            for column in zip(*self.cells, strict=True)
        ] or [False] * len(self.columns)


def cell_of(entry: Entry) -> Cell:
    """Return an entry as a cell; words only become a cell without number and tone.

    Examples:
        >>> cell_of("joint").words
        'joint'
    """
    return entry if isinstance(entry, Cell) else Cell(str(entry))


def listed(
    items: Iterable[RowT],
    columns: Sequence[tuple[str, Callable[[RowT], Entry]]],
    *,
    labels: int = 1,
    caption: str = "",
    note: str = "",
    name: str = "",
    full: Sequence[Mapping[str, object]] = (),
) -> Table:
    """Return a table with a row for each item; each column has a heading and a function from an item to its entry.

    Examples:
        >>> listed([1, 2], [("n", str), ("square", lambda n: str(n * n))]).rows
        [['1', '1'], ['2', '4']]
    """
    headers = [header for header, _ in columns]
    rows = [[entry(item) for _, entry in columns] for item in items]
    return Table(columns=headers, rows=rows, labels=labels, caption=caption, note=note, name=name, full=full)


def csv_of(lines: Iterable[Iterable[object]]) -> str:
    """Format lines, header first, as CSV without formulas in cells.

    Examples:
        >>> print(csv_of([("name", "ε"), ("ann", 1.5)]), end="")
        name,ε
        ann,1.5
    """
    text = io.StringIO(newline="")
    csv.writer(text).writerows(map(inert_cell, line) for line in lines)
    return text.getvalue()


def markdown_of(table: Table) -> str:
    """Format a table in Markdown: bold caption, right-aligned numbers, and the note below.

    Examples:
        >>> print(markdown_of(Table(columns=("Variant", "ε"), rows=[("joint", "1")], caption="At a price")))
        **At a price**
        <BLANKLINE>
        | Variant | ε |
        | :--- | ---: |
        | joint | 1 |
    """
    rules = [":---" if place < table.labels else "---:" for place in range(len(table.columns))]
    lines = [f"**{table.caption}**", "", _line(table.columns), _line(rules)]
    lines += [_line(cell.words.replace("|", "\\|") for cell in row) for row in table.cells]
    return "\n".join([*lines, "", table.note] if table.note else lines)


def _line(words: Iterable[str]) -> str:
    return f"| {' | '.join(words)} |"
