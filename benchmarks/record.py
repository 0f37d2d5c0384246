"""What was measured last of every row, and when: a CSV file, a page of the manual and its picture."""

import csv
import datetime as dt
import math
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness import DOCS, HEADERS, Row, number_in, rewrite_between_marks, to_markdown
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

_CORE = ("startup", "memory", "tcp")
"""The topics whose rows stand on the page: what each user of a session feels."""
_COLUMNS: tuple[str, ...] = ("topic", *HEADERS, "day", "commit")
_Line = Mapping[str, str]


def recorded(docs: Path = DOCS) -> dict[str, _Line]:
    """Return the lines of the manual's file, by what they measure."""
    with (docs / "tables" / "performance.csv").open(encoding="utf-8", newline="") as file:
        return {line["what"]: line for line in csv.DictReader(file)}


def keep(measured: Mapping[str, Sequence[Row]], topics: Sequence[str], docs: Path = DOCS) -> None:
    """Keep what was measured now, with its day and commit, and forget what its topics no longer measure.

    A row of which a rival is missing stays as it was. Of the file, topic by topic, page and picture are made.
    """
    # A + behind the commit says that files were changed since.
    describe = ("git", "-C", str(DOCS), "describe", "--always", "--abbrev=8", "--dirty=+")
    commit = subprocess.run(describe, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603  our own command
    end = (dt.datetime.now(tz=dt.UTC).date().isoformat(), commit)
    before = recorded(docs)
    known = [line for line in before.values() if line["topic"] not in measured]
    for topic, rows in measured.items():
        for row in rows:
            line = dict(zip(_COLUMNS, (topic, *row, *end), strict=True))
            known.append(before.get(row.what, line) if row.met.startswith("skipped") else line)
    known.sort(key=lambda line: topics.index(line["topic"]))
    with (docs / "tables" / "performance.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([_COLUMNS, *(line.values() for line in known)])
    core = [line for line in known if line["topic"] in _CORE]
    missed = [line for line in known if line["met"] == "no" and line not in core]
    asked = [line["met"] for line in known if line["met"] in {"yes", "no"}]
    parts = [f"{asked.count('yes')} of {len(asked)} targets are met, each when it was last measured.", _table(core)]
    parts += ["Missed targets of other rows:", _table(missed)] if missed else []
    rewrite_between_marks(docs / "performance.md", "\n\n".join(parts))
    shown = [line for line in reversed(core) if line["met"] in {"yes", "no"}]
    picture(docs / "performance.png", (9, 0.8 + 0.26 * len(shown)), lambda figure: _draw(figure, shown))


def _table(lines: Sequence[_Line]) -> str:
    return to_markdown([[line[column] for column in _COLUMNS[1:]] for line in lines], _COLUMNS[1:])


def picture(path: Path, size: tuple[float, float], draw: Callable[[Any], None]) -> None:
    """Save a picture that is drawn on a figure of this size, in inches."""
    figure = Figure(figsize=size, dpi=140, layout="constrained")
    draw(figure)
    canvas: Any = FigureCanvasAgg(figure)  # whose stubs are partly unknown
    canvas.print_png(path, metadata={"Software": None})


def _better(line: _Line) -> float:
    """Return by how much a row is better than its target, in powers of two: 0 is just met, more is better."""
    sign, target, *unit = line["target"].split()
    times = math.log2(number_in(line["ours" if unit else "ratio"]) / number_in(target))
    return times if sign == "≥" else -times


def _draw(figure: Any, lines: Sequence[_Line]) -> None:
    """Draw each row as a bar from its target: to the right where it is better."""
    axes = figure.add_subplot()
    better = list(map(_better, lines))
    colors = ["#2a7f62" if value >= 0 else "#b5452c" for value in better]
    axes.barh(range(len(lines)), better, height=0.6, color=colors)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(lines)), [line["what"] for line in lines], fontsize=8)
    ticks = range(math.floor(min(0, *better)), math.ceil(max(0, *better)) + 1)
    axes.set_xticks(list(ticks), [f"{2.0**tick:g} ×" for tick in ticks], fontsize=8)
    axes.set_xlabel("times better than the target (1 × is just met)", fontsize=8)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(length=0)
