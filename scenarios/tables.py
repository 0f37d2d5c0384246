"""A table as one value, whatever shows it: columns, cells, whose numbers stand apart from their words, and a note.

A terminal (`presentation.terminal`), a page (`reports.page`), a notebook, Markdown and CSV render the same value. How
good a cell is, its tone says, and never its words.
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
"""How good something is, or how much it stands out; each renderer has its colors."""
Rows: TypeAlias = list[dict[str, object]]
"""A table for programs: numbers with all digits, by the names of their columns."""


_LARGE = 999_999.5, 1e15  # what six digits round to a million, and where numbers have no digits for all votes


def six_digits(value: float, *, signed: bool = False) -> str:
    """Return a number with six digits at most, or with all before its point: half a billion of votes is no 5e+08.

    Examples:
        >>> six_digits(0.123456789), six_digits(512_345_678.0)
        ('0.123457', '512,345,678')
    """
    form = ",.0f" if _LARGE[0] <= abs(value) < _LARGE[1] else ",.6g"
    return f"{value:{'+' if signed else ''}{form}}"


_EXACT: Final = "epsilon_proven"


def snapped(value: Any) -> Any:
    """Return plain data whose numbers have twelve digits: what stands behind those may be another processor's.

    What is proven of a session's ε, by names that begin so, is exact and stays: it is not rounded down.

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
        words: as people read it.
        number: what it is sorted by, where that is a number.
        tone: how good it is.
        leads_to: the anchor of a part of the page; empty for none.
        is_part: whether the words say more than the number: it stands beside its error, or for a range.

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
        """Return plain data: numbers with six digits at most, true and false as words, nothing as a dash."""
        if value is None or value == "":
            return cls("–")
        if isinstance(value, bool):
            return cls("yes" if value else "no")
        if isinstance(value, int):
            return cls(f"{value:,}", value)
        return cls(six_digits(value), value) if isinstance(value, float) else cls(str(value))

    @property
    def written(self) -> str | float:
        """What a file has of it: the number, unless the words say more."""
        return self.words if self.number is None or self.is_part else self.number

    @property
    def key(self) -> str | None:
        """What a browser sorts it by: the number as JavaScript writes it, which reads "Infinity" and not "inf"."""
        return None if self.number is None else str(self.number).replace("inf", "Infinity")


Entry: TypeAlias = "Cell | Text | str"
"""A cell, its words alone, or, of what only a terminal shows, words in several styles."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Table:
    """A table.

    Args:
        columns: the headers.
        rows: an entry for each header; the first of them are enough where `full` has them all.
        labels: so many of the first columns hold words, and begin at their left.
        caption: what it has; one line.
        note: what its reader needs to know.
        name: of its file, without the end.
        full: the same for programs: what a file has instead of the cells.

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
        """How many there are."""
        return max(len(self.rows), len(self.full))

    @property
    def is_number(self) -> Sequence[bool]:
        """Of each column whether its cells are numbers."""
        return [
            any(cell.number is not None for cell in column)
            and all(cell.number is not None or not cell.words.strip("–") for cell in column)
            for column in zip(*self.cells, strict=True)
        ] or [False] * len(self.columns)


def cell_of(entry: Entry) -> Cell:
    """Return an entry as a cell: words alone have no number and no tone.

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
    """Return a table with a line for each item, and in each column, behind its header, what makes an item's entry.

    Examples:
        >>> listed([1, 2], [("n", str), ("square", lambda n: str(n * n))]).rows
        [['1', '1'], ['2', '4']]
    """
    headers = [header for header, _ in columns]
    rows = [[entry(item) for _, entry in columns] for item in items]
    return Table(columns=headers, rows=rows, labels=labels, caption=caption, note=note, name=name, full=full)


def csv_of(lines: Iterable[Iterable[object]]) -> str:
    """Return lines, the header first, as CSV, in which no cell is a formula.

    Examples:
        >>> print(csv_of([("name", "ε"), ("ann", 1.5)]), end="")
        name,ε
        ann,1.5
    """
    text = io.StringIO(newline="")
    csv.writer(text).writerows(map(inert_cell, line) for line in lines)
    return text.getvalue()


def markdown_of(table: Table) -> str:
    """Return a table in Markdown: its caption in bold, numbers to the right, the note below.

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
