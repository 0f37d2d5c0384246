"""What adversaries learnt, as a terminal and a file show it."""

import math
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.text import Text

from ..adversaries.role import AttackReport
from ..tables import Table, snapped
from .terminal import show_note, show_table, title_of

_MOST_ROWS: Final = 24  # a longer table is for a file


def show_lesson(console: Console, lesson: AttackReport) -> None:
    """Print whom an adversary corrupts, what it learnt, and its table."""
    console.print()
    console.print(Text.assemble(("Adversary: ", "bold"), (f"{lesson.role}, {lesson.who}", "bold magenta")))
    trust = Text.assemble(("Trust: ", "bold"), (lesson.trust, "dim"))
    for text in (trust, *map(Text, lesson.sentences)):
        show_note(console, text)
    if any("±" in sentence for sentence in lesson.sentences):
        show_note(console, "± is one standard error.")
    if len(lesson.rows) > _MOST_ROWS:
        show_note(console, f"The table has {len(lesson.rows):,} rows: see the run's folder, adversary-*.csv.")
    elif lesson.rows:
        console.print()
        headers = list(lesson.rows[0])
        texts = [key for key in headers if isinstance(lesson.rows[0][key], str)]
        ordered = [*texts, *(key for key in headers if key not in texts)]
        columns = [[_cell(row[key]) for row in lesson.rows] for key in ordered]
        rows = list(zip(*columns, strict=True))
        show_table(console, Table(columns=[title_of(key) for key in ordered], rows=rows, labels=len(texts)))


def written_lesson(lesson: AttackReport) -> dict[str, Any]:
    """Return a lesson as plain data; JSON has no infinity, so that such a number is null."""
    plain: dict[str, Any] = msgspec.to_builtins(lesson)
    if not lesson.refutes_ledger:
        del plain["refutes_ledger"]
    return _finite(snapped(plain))


def _cell(value: str | float) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    return "∞" if math.isinf(value) else f"{value:.4g}"


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType]  plain data
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]  # pyright: ignore[reportUnknownVariableType]  plain data
    return value
