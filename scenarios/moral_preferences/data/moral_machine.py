"""Moral Machine responses in the original column format (`SharedResponses.csv`), for files that fit into memory.

Only the columns ResponseID, UserID, Intervention, Barrier, CrossingSignal, Saved and the twenty characters are read,
and NumberOfCharacters where it is there; others are ignored. `dilemmas` says how they become 23 features, `responses`
what becomes of every row, and `moral_machine_stream` reads what does not fit into memory.

Source: Awad et al. (2018), the published data set.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .csv_numbers import codes_of, read_numbers, row_at
from .responses import (
    ENTRY_COLUMNS,
    RESPONSE,
    TOTAL,
    VOTER,
    Limits,
    ResponseRows,
    check_header,
    entries_of_numbers,
    survey_of_rows,
)
from .survey import Survey

__all__ = ["read_moral_machine"]


def read_moral_machine(
    path: Path, *, min_records: int = 1, max_records: int | None = None, field: str = "file"
) -> Survey:
    """Return the survey of a file in the Moral Machine's original column format, which may be packed (`.gz`).

    Voters are users, sorted by UserID as text; their records are in the order of the file.

    Args:
        min_records: voters with fewer complete responses are dropped and counted.
        max_records: of each voter's complete responses the first ones count, the others are dropped and counted; None
            for all.
    """
    limits = Limits(min_records, max_records)

    def choose(header: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        check_header(header)
        return (RESPONSE, VOTER), (*ENTRY_COLUMNS, *([TOTAL] if TOTAL in header else []))

    table = read_numbers(path, choose, field=field, is_strict=False)
    width = len(ENTRY_COLUMNS)
    totals = table.numbers[:, width] if table.numbers.shape[1] > width else None
    codes, names = codes_of(table.names[VOTER])
    order = sorted(range(len(names)), key=names.__getitem__)
    rows = ResponseRows(
        [names[code] for code in order],
        np.argsort(order)[codes],
        codes_of(table.names[RESPONSE])[0],
        entries_of_numbers(table.numbers[:, :width], totals),
        np.arange(len(codes), dtype=np.int64),
        table.lines,
    )

    def row_of(place: int) -> tuple[str, dict[str, str]]:
        return table.where(place), dict(row_at(path, place, table.form)[1])

    return survey_of_rows(rows, limits, source=path.name, row_at=row_of)
