"""What a measurement prints: one row beside its raw limit or a rival, as text and as Markdown."""

import dataclasses
import pathlib
import re
from collections.abc import Sequence
from typing import Final

__all__ = [
    "HEADERS",
    "NOTHING",
    "Row",
    "at_least",
    "at_most",
    "number_in",
    "rewrite_between_marks",
    "skipped",
    "to_markdown",
    "to_text",
]

NOTHING: Final = "–"
_NUMBER: Final = re.compile(r"[\d,]*\.?\d+")
BEGIN: Final = "<!-- begin table -->"
END: Final = "<!-- end table -->"

HEADERS: Final = ("what", "ours", "raw limit or rival", "ratio", "target", "met")


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the table.

    Args:
        what: what is measured.
        ours: the number with its unit.
        raw: what the same work takes without Psephos, or by a rival, in the same unit.
        ratio: ours divided by raw.
        goal: what the project wants, `NOTHING` where a quick run is too small to tell; and whether it is met: "yes",
            "no", or why there is no answer.
    """

    what: str
    ours: str
    raw: str = NOTHING
    ratio: str = NOTHING
    goal: tuple[str, str] = (NOTHING, NOTHING)

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells, in the headers' order."""
        return (self.what, self.ours, self.raw, self.ratio, *self.goal)


def at_least(value: float, least: float | None, *, unit: str = "") -> tuple[str, str]:
    """Return target and answer of a measurement that should be great; no answer without a target."""
    if least is None:
        return NOTHING, NOTHING
    return f"≥ {least:g}{unit}", "yes" if value >= least else "no"


def at_most(value: float, most: float | None, *, unit: str = "") -> tuple[str, str]:
    """Return target and answer of a measurement that should be small, likewise."""
    if most is None:
        return NOTHING, NOTHING
    return f"≤ {most:g}{unit}", "yes" if value <= most else "no"


def skipped(what: str, reason: str) -> Row:
    """Return the row of something that was not measured."""
    return Row(what, NOTHING, goal=(NOTHING, f"skipped: {reason}"))


def number_in(text: str) -> float:
    """Return the first number of a cell."""
    found = _NUMBER.search(text)
    if found is None:
        raise ValueError(f"{text!r} has no number")
    return float(found[0].replace(",", ""))


def to_text(rows: Sequence[Row]) -> str:
    """Return the table in aligned columns: words to the left, numbers to the right."""
    lines = [HEADERS, *(row.cells for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADERS))]
    return "\n".join("  ".join(_align(line, widths)).rstrip() for line in lines)


def to_markdown(lines: Sequence[Sequence[str]], headers: Sequence[str] = HEADERS) -> str:
    """Return lines of cells as a table in Markdown; what is measured stands to the left, its numbers to the right."""
    marks = ["---" if header in {"what", "met", "day", "commit"} else "---:" for header in headers]
    return "\n".join(f"| {' | '.join(line)} |" for line in (headers, marks, *lines))


def rewrite_between_marks(path: pathlib.Path, table: str) -> None:
    """Put the table between the two marks of a file; a file that does not exist gets nothing else.

    Raises:
        ValueError: the file has no marks.
    """
    if path.exists():
        head, begin, rest = path.read_text().partition(BEGIN)
        _, end, tail = rest.partition(END)
        if not begin or not end:
            raise ValueError(f"{path} must hold {BEGIN} and, below it, {END}")
    else:
        head, tail = "", "\n"
    path.write_text(f"{head}{BEGIN}\n{table}\n{END}{tail}")


def _align(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    last = len(cells) - 1
    return [
        cell.ljust(width) if column in {0, last} else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
