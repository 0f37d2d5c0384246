"""Format rows of a file for readers: numbers with errors, and as many digits as errors support."""

import math
from collections.abc import Collection
from typing import Final

from ..tables import Cell, Rows, Table
from ..verdicts import at_most, cell_of_decision
from .numbers import decimals_of, format_number, rounded
from .presenter import FLAGS, VERDICT, error_of
from .terminal import percent, title_of

_PROVEN: Final = "proven"  # in columns of proven losses, which are rounded up
MOST_ROWS: Final = 300  # most rows of a table on a page; longer tables are only in files


def table_of_rows(
    rows: Rows, *, caption: str = "", name: str = "", left_out: Collection[str] = (), is_mixed: bool = False
) -> Table:
    """Return at least one row of a file as a table, with a number and its standard error in one cell.

    With `is_mixed`, numbers' magnitudes differ by row, and so do digits.

    Examples:
        >>> table = table_of_rows([{"candidate": "roof", "support": 17.27, "support_standard_error": 5.4}])
        >>> table.columns, [cell.words for cell in table.cells[0]]
        (['Candidate', 'Support'], ['roof', '17.3 ± 5.4'])
    """
    keys = list(rows[0])
    errors = {error_of(key) for key in keys}
    first_key = keys[0] if error_of(keys[0]) not in keys else ""
    shown_keys = [key for key in keys if key not in errors and key not in left_out]
    if is_mixed:
        lines = [[column_of(key, [row], is_name=key == first_key)[0] for key in shown_keys] for row in rows[:MOST_ROWS]]
    else:
        columns = [column_of(key, rows[:MOST_ROWS], is_name=key == first_key) for key in shown_keys]
        lines = list(map(list, zip(*columns, strict=True)))
    return Table(caption=caption, name=name, columns=[title_of(key) for key in shown_keys], rows=lines, full=rows)


def column_of(key: str, rows: Rows, *, is_name: bool = False) -> list[Cell]:
    """Return a column's cells, with as many digits as its errors support.

    Examples:
        >>> [cell.words for cell in column_of("epsilon_proven", [{"epsilon_proven": 1.5}, {"epsilon_proven": "inf"}])]
        ['1.5', '∞']
    """
    values, errors = [row.get(key) for row in rows], [row.get(error_of(key)) for row in rows]
    if is_name:
        return [Cell(str(value)) for value in values]
    if key in FLAGS and {*values} <= {0, 1}:
        return [Cell(Cell.of(bool(value)).words) for value in values]
    if key.endswith("probability"):
        return [Cell(percent(value), value) if isinstance(value, float) else Cell.of(value) for value in values]
    numbers = [float(value) for value in values if isinstance(value, (int, float))]
    known_errors = [float(error) for error in errors if isinstance(error, (int, float)) and error]
    decimals = decimals_of(numbers, known_errors) if known_errors else 0
    cells: list[Cell] = []
    for value, error in zip(values, errors, strict=True):
        if value == "inf":  # infinite losses in files
            cells.append(Cell("∞", math.inf))
        elif isinstance(value, float) and _PROVEN in key and not error:
            cells.append(Cell(at_most(value), value))
        elif not isinstance(value, float):
            cells.append(cell_of_decision(value) if key == VERDICT else Cell.of(value))
        elif isinstance(error, (int, float)) and error:
            words = f"{rounded(value, decimals)} ± {rounded(error, decimals)}"
            cells.append(Cell(words, value, is_part=True))
        else:
            cells.append(Cell(rounded(value, decimals) if decimals else format_number(value, 4), value))
    return cells
