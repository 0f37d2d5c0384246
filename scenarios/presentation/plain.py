"""Show an outcome without a presenter: tables of its fields, and bars for its estimates."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from rich.console import Console
from rich.text import Text

from ...protocol.estimators import Estimate
from ..outcomes import Field, Lines, OutcomeLine, number_of, plain, tables_of, truth_of
from ..tables import Rows, Table
from . import drawing
from .charts import EDGES, Axis, Chart, Panel
from .numbers import capitalize, decimals_of, join_words, pluralize, rounded
from .presenter import Brief, Known, Presenter
from .terminal import show_note, show_table, title_of

_MOST_LINES: Final = 40  # longer tables are only in files
_MOST_SAID: Final = 4  # most values of an outcome in its verdict
_MOST_PANELS: Final = 6
_FEWEST_ROWS: Final = 6  # least rows of a panel
_COMPARABLE: Final = 20.0
"""Single fields share an axis if their magnitudes differ by at most this factor."""
_ROW_INCHES: Final = 0.25  # height of a row in addition to the lines of its name
_HEIGHT_OF_BARS: Final = 0.45


def columns_of(released_outcome: msgspec.Struct, fields: Iterable[str]) -> dict[str, object]:
    """Return fields by name; an estimate's standard error is a separate column."""
    columns: dict[str, object] = {}
    for field in fields:
        value = getattr(released_outcome, field)
        if value is not None:
            columns |= _columns(field, value)
    return columns


def _columns(column: str, field: Field) -> dict[str, object]:
    if isinstance(field, Estimate):
        return {column: field.value, f"{column}_standard_error": field.standard_error}
    return {column: msgspec.to_builtins(field)}


def _truth_in(table: Lines, line: OutcomeLine, column: str, known_truth: Known) -> tuple[str, Field] | None:
    """Return a cell's true value, and its key in the truth; None if there is none."""
    truth: Mapping[str, Field] = known_truth.truth or {}
    return next(((name, truth[name]) for name in truth_of(table, line, column) if name in truth), None)


def _truths(table: Lines, column: str, known_truth: Known) -> list[Field] | None:
    """Return a column's true values, None for unknown ones; None if all are unknown."""
    truths = [_truth_in(table, line, column, known_truth) for line in table.lines]
    return [None if each is None else each[1] for each in truths] if any(truths) else None


def _show(console: Console, outcome: msgspec.Struct, known_truth: Known) -> None:
    tables = tables_of(outcome)
    other_tables = [table for table in tables if table.name]
    for table in other_tables:
        if len(other_tables) > 1:
            console.print(Text(title_of(table.name), style="bold"))
        _show_table(console, table, known_truth)
        console.print()
    _show_fields(console, tables, known_truth)
    if any(table.measured for table in tables):
        show_note(console, "± is one standard error of the randomization.")


def _show_table(console: Console, table: Lines, known_truth: Known) -> None:
    """Print a table's lines, with numbers right-aligned and true values next to them."""
    texts: dict[str, Sequence[str]] = {
        title_of(key): [line.keys.get(key, "") for line in table.lines] for key in table.keys
    }
    numbers: dict[str, Sequence[str]] = {}
    true: list[str] = []
    for column in table.columns:
        cells = [line.cells.get(column) for line in table.lines]
        is_number = all(cell is None or number_of(cell) is not None for cell in cells)
        kind, title = numbers if is_number else texts, title_of(column)
        kind[title] = _format_estimates(cells)
        if (truths := _truths(table, column, known_truth)) is not None:
            title = f"True {column.replace('_', ' ')}"
            kind[title] = _format_estimates(truths)
            true.append(title)
    rows = list(zip(*texts.values(), *numbers.values(), strict=True))[:_MOST_LINES]
    drop = [*reversed(list(numbers)[1:]), *reversed(list(texts)[1:])]
    drop.sort(key=lambda title: title in true)
    show_table(
        console, Table(columns=[*texts, *numbers], rows=rows, labels=len(texts)), drop=drop, whole=known_truth.table
    )
    if len(table.lines) > len(rows):
        show_note(console, f"… and {pluralize(len(table.lines) - len(rows), 'more line')} in {known_truth.table}")


def _show_fields(console: Console, tables: Sequence[Lines], known_truth: Known) -> None:
    """Print the outcome's own fields, and true values that match nothing shown."""
    told_truths = {
        truth[0]
        for table in tables
        for line in table.lines
        for column in table.columns
        if (truth := _truth_in(table, line, column, known_truth)) is not None
    }
    rows: list[Sequence[str]] = []
    for table in tables:
        for column in () if table.name else table.columns:
            (line,) = table.lines
            true = _truth_in(table, line, column, known_truth)
            rows.append([column, *_format_estimates([line.cells[column]]), "" if true is None else _number(true[1])])
    rows += [
        [f"{name} (true)", _number(value), ""]
        for name, value in (known_truth.truth or {}).items()
        if name not in told_truths
    ]
    with_truth = any(row[-1] for row in rows)
    headers = ("Released", "Value", "True") if with_truth else ("Released", "Value")
    if rows:
        show_table(console, Table(columns=headers, rows=[row[: len(headers)] for row in rows], labels=len(headers)))


def _format_estimates(cells: Sequence[Field]) -> list[str]:
    """Return the cells of one column; estimates have as many decimals as the least error supports."""
    drawn_cells = [cell for cell in cells if isinstance(cell, Estimate) and _is_drawn(cell)]
    decimals = (
        decimals_of((each.value for each in drawn_cells), (each.standard_error for each in drawn_cells))
        if drawn_cells
        else 0
    )
    return [_estimate(cell, decimals) if isinstance(cell, Estimate) else _number(cell) for cell in cells]


def _estimate(estimate: Estimate, decimals: int) -> str:
    if not estimate.standard_error or not _is_drawn(estimate):
        return _number(estimate.value)
    return f"{rounded(estimate.value, decimals)} ± {estimate.standard_error:,.{decimals}f}"


def _number(field: Field) -> str:
    """Return a cell's number, or its content otherwise."""
    return plain(float(field) if isinstance(field, int) and not isinstance(field, bool) else field)


def _is_drawn(estimate: Estimate) -> bool:
    """Return whether a number and its error are finite, and can be drawn."""
    return math.isfinite(estimate.value) and math.isfinite(estimate.standard_error)


def _rows(outcome: msgspec.Struct, known_truth: Known) -> Rows:
    tables = tables_of(outcome)
    other_tables = [table for table in tables if table.name]
    (own_row,) = next((_rows_of(table, known_truth) for table in tables if not table.name), [dict[str, object]()])
    if not other_tables:
        return [own_row]
    rows: Rows = []
    for table in other_tables:
        table_column: dict[str, object] = {"table": table.name} if len(other_tables) > 1 else {}
        rows += [{**table_column, **row} for row in _rows_of(table, known_truth)]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    outcome_columns = {f"outcome_{name}" if name in columns else name: value for name, value in own_row.items()}
    return [{**{column: row.get(column, "") for column in columns}, **outcome_columns} for row in rows]


def _rows_of(table: Lines, known_truth: Known) -> Rows:
    """Return a table's lines as rows of a file, with true values in further columns."""
    truths = {column: _truths(table, column, known_truth) for column in table.columns}
    rows: Rows = []
    for place, line in enumerate(table.lines):
        row: dict[str, object] = {key: line.keys.get(key, "") for key in table.keys}
        for column in table.columns:
            field = line.cells.get(column)
            if field is not None or table.name:
                row |= _columns(column, "" if field is None else field)
        for column, of_column in truths.items():
            if of_column is not None:
                true = of_column[place]
                row[f"true_{column}"] = "" if true is None else true
        rows.append(row)
    return rows


def plain_briefs(outcome: msgspec.Struct) -> Sequence[Brief]:
    """Return all results in short: the outcome's own fields, such as a winner, then the estimates of each table.

    If nothing else was released, the cells of tables without estimates are used.
    """
    tables = tables_of(outcome)
    own_briefs = [brief for table in tables if not table.name for brief in _briefs_of_cells(table)]
    estimates = [brief for table in tables for brief in _briefs_of_estimates(table)]
    return [*own_briefs, *estimates] or [brief for table in tables[:1] for brief in _briefs_of_cells(table)]


def _briefs_of_cells(table: Lines) -> list[Brief]:
    return [
        Brief(" ".join([*line.names, column.replace("_", " ")]), Text(plain(cell)))
        for line in table.lines
        for column, cell in line.cells.items()
        if plain(cell) != line.name and not isinstance(cell, Estimate)
    ]


def _briefs_of_estimates(table: Lines) -> list[Brief]:
    briefs: list[Brief] = []
    for column in table.measured:
        words = column.replace("_", " ")
        of_column = "" if column == table.measured[0] else f" ({words})"
        names = [f"{line.name}{of_column}" if line.name else words for line in table.lines]
        cells = [line.cells.get(column) for line in table.lines]
        named_texts = zip(names, _format_estimates(cells), cells, strict=True)
        briefs += [Brief(name, Text(text), cell) for name, text, cell in named_texts if isinstance(cell, Estimate)]
    return briefs


def plain_verdict(briefs: Sequence[Brief]) -> str:
    """Return a sentence with an outcome's first results, and the meaning of ± if it occurs."""
    if not briefs:
        return "Nothing was released but that the session ended."
    clauses = [f"{brief.name} is {brief.said.plain}" for brief in briefs[:_MOST_SAID]]
    if len(briefs) > _MOST_SAID:
        clauses.append(f"there {'is' if len(briefs) == _MOST_SAID + 1 else 'are'} {len(briefs) - _MOST_SAID:,} more")
    sentence = f"{capitalize(join_words(clauses))}."
    return f"{sentence} Each ± is one standard error." if "±" in sentence else sentence


class _Bar(NamedTuple):
    """One estimate, with its true value if known."""

    name: str
    estimate: Estimate
    true: float | None


class _Kind(NamedTuple):
    """Estimates that share an axis."""

    label: str
    bars: Sequence[_Bar]


def _draw(outcome: msgspec.Struct, known_truth: Known) -> Chart | None:
    panels = [panel for table in tables_of(outcome) for panel in _panels_of(table, known_truth)]
    if not panels:
        return None
    shown_panels = panels[:_MOST_PANELS]
    max_rows = max(drawing.MOST_ROWS // len(shown_panels), _FEWEST_ROWS)
    bars = [bar for panel in shown_panels for bar in panel.bars[:max_rows]]
    has_errors = any(bar.estimate.standard_error for bar in bars)
    blue = drawing.COLORS["blue"]
    mark: dict[str, Any] = {"marker": "s", "markersize": 9, "mfc": blue, "mec": blue}
    mark |= {"color": drawing.INK, "linewidth": 1.5} if has_errors else {"linestyle": "none"}
    marks: dict[str, Mapping[str, Any]] = {drawing.ESTIMATE if has_errors else "estimate": mark}
    if any(bar.true is not None for bar in bars):
        marks["truth"] = drawing.TRUTH
    title = "" if shown_panels == panels else f" (the first {len(shown_panels)} of {len(panels)} kinds of estimates)"
    return Chart(panels=[_draw_panel(panel, max_rows) for panel in shown_panels], marks=marks, title=title)


def _panels_of(table: Lines, known_truth: Known) -> Iterator[_Kind]:
    """Yield a table's panels: one for each column; for the outcome's own fields, one for comparable numbers."""
    for column in table.measured if table.name else ():
        bars = [bar for line in table.lines if (bar := _bar(table, line, column, line.name, known_truth)) is not None]
        if bars:
            label = table.name if column == "value" else f"{table.name}: {column}"
            yield _Kind(label.replace("_", " "), bars)
    if table.name:
        return
    (line,) = table.lines
    groups: list[list[_Bar]] = []
    for column in table.measured:
        bar = _bar(table, line, column, column.replace("_", " "), known_truth)
        if bar is None:
            continue
        for group in groups:
            reaches = [_reach(each) for each in (*group, bar)]
            if max(reaches) <= _COMPARABLE * min(reaches):
                group.append(bar)
                break
        else:
            groups.append([bar])
    yield from (_Kind("", group) for group in groups)


def _bar(table: Lines, line: OutcomeLine, column: str, name: str, known_truth: Known) -> _Bar | None:
    estimate = line.cells.get(column)
    if not isinstance(estimate, Estimate) or not _is_drawn(estimate):
        return None
    truth = _truth_in(table, line, column, known_truth)
    return _Bar(name, estimate, None if truth is None else number_of(truth[1]))


def _reach(bar: _Bar) -> float:
    """Return a bar's greatest distance from 0."""
    return abs(bar.estimate.value) + drawing.ERRORS_SHOWN * bar.estimate.standard_error


def _draw_panel(panel: _Kind, max_rows: int) -> Panel:
    """Return a panel of bars."""
    shown_bars = panel.bars[:max_rows]
    cut = "" if len(shown_bars) == len(panel.bars) else f" (the first {len(shown_bars)} of {len(panel.bars):,})"
    names = [drawing.fold(bar.name, most_lines=3) for bar in shown_bars]
    drawn_panel = Panel(x=Axis(panel.label + cut), y=Axis(names=names), height=_ROW_INCHES)
    estimates = [bar.estimate for bar in shown_bars]
    decimals = decimals_of((each.value for each in estimates), (each.standard_error for each in estimates))
    for row, bar in enumerate(shown_bars):
        drawn_panel.bar(row, bar.estimate.value, height=_HEIGHT_OF_BARS, color=drawing.COLORS["blue"])
        drawn_panel.whisker((bar.estimate.value, row), bar.estimate.standard_error, cap=8, linewidth=1.5)
        if bar.true is not None and math.isfinite(bar.true):
            drawn_panel.mark(bar.true, row, **drawing.TRUTH)
        drawn_panel.beside[row] = _estimate(bar.estimate, decimals), drawing.INK
    drawn_panel.line((0, 0), EDGES, color=drawing.INK, linewidth=0.8)
    return drawn_panel


PLAIN: Presenter[msgspec.Struct] = Presenter(show=_show, rows=_rows, draw=_draw)
"""Presents any outcome by tables of its fields, and a bar for each estimate."""
