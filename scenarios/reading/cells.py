"""Cells of CSV files that people open in spreadsheets, which take for a formula what begins as one does.

A name of a party, or an alternative of a vote, is somebody else's text: written down as it is, `=HYPERLINK(...)` would
be obeyed on the machine of whoever opens the file.
"""

import re
from typing import Final

__all__ = ["inert_cell", "plain_cell"]

_BEGINNING: Final = r"[=+\-@\t\r\n＝＋－＠]."
_FORMULA: Final = re.compile(f"'*{_BEGINNING}", re.DOTALL)
"""A formula's beginning, and text that has been made inert before."""
_INERT: Final = re.compile(f"'+{_BEGINNING}", re.DOTALL)


def inert_cell(value: object) -> object:
    """Return a cell as spreadsheets shall take it: before text that begins as a formula does stands an apostrophe.

    Numbers stay what they are, negative ones too, also where they are text.
    """
    if not isinstance(value, str) or not _FORMULA.match(value):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def plain_cell(text: str) -> str:
    """Return what `inert_cell` was given."""
    return text[1:] if _INERT.match(text) else text
