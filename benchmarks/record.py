"""What was measured last of every row, and when: a CSV file, a page of the manual and its picture."""

import csv
import datetime as dt
import math
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, Self

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from table import HEADERS, Row, number_in, rewrite_between_marks, to_markdown

__all__ = ["Record"]

_CORE: Final = ("startup", "memory", "tcp", "randomizers", "elections")
"""The topics whose rows stand on the page: what each user of a session, a draw or an election feels."""
_COLUMNS: Final[tuple[str, ...]] = ("topic", *HEADERS, "day", "commit")
_MET: Final = "#2a7f62"
_MISSED: Final = "#b5452c"


class Record:
    """The last measurement of every row.

    Args:
        docs: the manual's folder.
        lines: the file's lines, by what they measure.
    """

    def __init__(self, docs: pathlib.Path, lines: dict[str, dict[str, str]]) -> None:
        self._docs = docs
        self._lines = lines

    @classmethod
    def read(cls, docs: pathlib.Path) -> Self:
        """Return what the manual holds."""
        with (docs / "tables" / "performance.csv").open(encoding="utf-8", newline="") as file:
            return cls(docs, {line["what"]: line for line in csv.DictReader(file)})

    def add(self, measured: Mapping[str, Sequence[Row]], *, day: dt.date, commit: str) -> None:
        """Take what was measured now, and forget what its topics no longer measure.

        A row of which a rival is missing stays as it was.
        """
        before = self._lines
        self._lines = {what: line for what, line in before.items() if line["topic"] not in measured}
        for topic, rows in measured.items():
            for row in rows:
                cells = (topic, *row.cells, day.isoformat(), commit)
                line = dict(zip(_COLUMNS, cells, strict=True))
                is_skipped = line["met"].startswith("skipped")
                self._lines[row.what] = before.get(row.what, line) if is_skipped else line

    def write(self, topics: Sequence[str]) -> None:
        """Write the file, topic by topic, and from it the page and its picture."""
        lines = sorted(self._lines.values(), key=lambda line: topics.index(line["topic"]))
        with (self._docs / "tables" / "performance.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([_COLUMNS, *(line.values() for line in lines)])
        core = [line for line in lines if line["topic"] in _CORE]
        missed = [line for line in lines if line["met"] == "no" and line not in core]
        asked = [line for line in lines if line["met"] in {"yes", "no"}]
        met = sum(line["met"] == "yes" for line in asked)
        said = f"{met} of {len(asked)} targets are met, each when it was last measured."
        parts = [said, _table(core), "Missed targets of other rows:", _table(missed)]
        rewrite_between_marks(self._docs / "performance.md", "\n\n".join(parts if missed else parts[:2]))
        _draw([line for line in core if line["met"] in {"yes", "no"}], self._docs / "performance.png")


def _table(lines: Sequence[Mapping[str, str]]) -> str:
    return to_markdown([[line[column] for column in _COLUMNS[1:]] for line in lines], _COLUMNS[1:])


def _times_better(line: Mapping[str, str]) -> float:
    """Return by how much a row is better than its target: 1 is just met, more is better."""
    sign, target, *unit = line["target"].split()
    value = number_in(line["ours" if unit else "ratio"]) / number_in(target)
    return value if sign == "≥" else 1 / value


def _draw(lines: Sequence[Mapping[str, str]], path: pathlib.Path) -> None:
    """Draw each row as a bar from its target: to the right where it is better."""
    figure = Figure(figsize=(9, 0.8 + 0.26 * len(lines)), dpi=140, layout="constrained")
    axes: Any = figure.add_subplot()  # whose stubs are partly unknown
    shown = list(reversed(lines))
    better = [math.log2(_times_better(line)) for line in shown]
    axes.barh(range(len(shown)), better, height=0.6, color=[_MET if value >= 0 else _MISSED for value in better])
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(shown)), [line["what"] for line in shown], fontsize=8)
    ticks = range(math.floor(min(0, *better)), math.ceil(max(0, *better)) + 1)
    axes.set_xticks(list(ticks), [f"{2.0**tick:g} ×" for tick in ticks], fontsize=8)
    axes.set_xlabel("times better than the target (1 × is just met)", fontsize=8)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(length=0)
    canvas: Any = FigureCanvasAgg(figure)
    canvas.print_png(path, metadata={"Software": None})
