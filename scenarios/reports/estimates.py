"""What a run estimated, as a table for people: each number with its error, and as many digits as that deserves."""

from collections.abc import Mapping
from typing import Final

from ..presentation import rows_of
from ..presentation.presenter import error_of
from ..presentation.rows import column_of, table_of_rows
from ..presentation.terminal import title_of
from ..running.reader import RunLeft
from ..tables import Cell, Rows, Table

__all__ = ["estimates_in"]

_ERROR: Final = "_standard_error"


def estimates_in(left: RunLeft, *, is_whole: bool = False) -> tuple[Table | None, str]:
    """Return what was estimated as a table, and what all its rows share and the table therefore leaves out.

    The table is None where nothing was estimated. If it is whole, it leaves nothing out but what no row has.
    """
    rows = _estimates(left)
    if not rows:
        return None, ""
    left_out: Mapping[str, Cell] = {} if is_whole else _same_in_all(rows)
    unknown = [key for key in rows[0] if all(row.get(key) is None for row in rows)]
    table = table_of_rows(rows, caption="What was estimated", name="estimates", left_out=[*left_out, *unknown])
    return table, ", ".join(f"{title_of(key).lower()} {cell.words}" for key, cell in left_out.items())


def _same_in_all(rows: Rows) -> Mapping[str, Cell]:
    """Return the exact numbers that all rows share, by their columns: a sentence says them once."""
    if len(rows) < 2:  # noqa: PLR2004  a single row has nothing to share
        return {}
    columns = {key: [row.get(key) for row in rows] for key in list(rows[0])[1:]}
    return {
        key: column_of(key, rows)[0]
        for key, values in columns.items()
        if isinstance(values[0], (int, float))
        and not isinstance(values[0], bool)
        and len(set(map(str, values))) == 1
        and not any(row.get(error_of(key)) for row in rows)
        and _ERROR not in key
    }


def _estimates(left: RunLeft) -> Rows:
    if left.estimates is not None:
        return left.estimates
    if left.outcome is None:
        return []
    return rows_of(left.outcome, truth=None if left.result is None else left.result.truth)
