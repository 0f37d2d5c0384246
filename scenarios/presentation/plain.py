"""Any outcome without a room of its own: a table of its fields."""

from collections.abc import Iterable

import msgspec
from rich.console import Console

from ...protocol.estimators import Estimate
from .presenter import Known, Presenter, Rows
from .terminal import Cell, estimate_text, show_table

__all__ = ["PLAIN", "columns_of"]


def columns_of(released: msgspec.Struct, fields: Iterable[str]) -> dict[str, object]:
    """Return fields by name, an estimate's standard error in a column of its own."""
    columns: dict[str, object] = {}
    for field in fields:
        value = getattr(released, field)
        if isinstance(value, Estimate):
            columns |= {field: value.value, f"{field}_standard_error": value.standard_error}
        elif value is not None:
            columns[field] = msgspec.to_builtins(value)
    return columns


def _show(console: Console, outcome: msgspec.Struct, known: Known) -> None:
    released = [(name, _plain(getattr(outcome, name))) for name in outcome.__struct_fields__]
    true = [
        (f"{name} (true)", f"{value:,.6g}" if isinstance(value, int | float) else str(value))
        for name, value in (known.truth or {}).items()
    ]
    show_table(console, ("Released", "Value"), rows=[*released, *true])


def _plain(value: object) -> Cell:
    if isinstance(value, Estimate):
        return estimate_text(value)
    return f"{value:,.6g}" if isinstance(value, float) else str(msgspec.to_builtins(value))


def _rows(outcome: msgspec.Struct, _known: Known) -> Rows:
    return [columns_of(outcome, outcome.__struct_fields__)]


PLAIN: Presenter[msgspec.Struct] = Presenter(show=_show, rows=_rows, draw=lambda _outcome, _known: None)
"""One row for the whole outcome, and no picture."""
