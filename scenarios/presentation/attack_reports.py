"""Show adversaries' reports in a terminal and in a file."""

import math
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.text import Text

from ..adversaries.role import AttackReport
from ..tables import Table, snapped
from .terminal import show_note, show_table, title_of

_MOST_ROWS: Final = 24  # longer tables are only in files


def show_lesson(console: Console, attack_report: AttackReport) -> None:
    """Print an adversary's trust statement, results and table."""
    console.print()
    console.print(
        Text.assemble(("Adversary: ", "bold"), (f"{attack_report.role}, {attack_report.who}", "bold magenta"))
    )
    trust = Text.assemble(("Trust: ", "bold"), (attack_report.trust, "dim"))
    for text in (trust, *map(Text, attack_report.sentences)):
        show_note(console, text)
    if any("±" in sentence for sentence in attack_report.sentences):
        show_note(console, "± is one standard error.")
    if len(attack_report.rows) > _MOST_ROWS:
        show_note(console, f"The table has {len(attack_report.rows):,} rows: see the run's folder, adversary-*.csv.")
    elif attack_report.rows:
        console.print()
        headers = list(attack_report.rows[0])
        texts = [key for key in headers if isinstance(attack_report.rows[0][key], str)]
        sorted_keys = [*texts, *(key for key in headers if key not in texts)]
        columns = [[_cell(row[key]) for row in attack_report.rows] for key in sorted_keys]
        rows = list(zip(*columns, strict=True))
        show_table(console, Table(columns=[title_of(key) for key in sorted_keys], rows=rows, labels=len(texts)))


def attack_report_to_dict(attack_report: AttackReport) -> dict[str, Any]:
    """Return a report as plain data; infinite numbers become null, since JSON has no infinity."""
    plain: dict[str, Any] = msgspec.to_builtins(attack_report)
    if not attack_report.refutes_ledger:
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
