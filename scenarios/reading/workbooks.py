"""Workbooks of spreadsheets (.xlsx, .xls, .ods): a sheet as rows of text, by python-calamine, an extra."""

import importlib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from ...protocol.errors import ConfigurationError, refuse, require
from .cells import text_of
from .files import MAX_FILE_BYTES, check_size

__all__ = ["first_sheet_of", "rows_of"]

_SAVE: Final = "save it as CSV (UTF-8) in the program that wrote it"


def first_sheet_of(path: Path) -> tuple[str, int]:
    """Return the name of a workbook's first sheet, and how many it has.

    Raises:
        ConfigurationError: it cannot be read, is too large unpacked, or what reads it is not installed.
    """
    names: list[str] = _open(path).sheet_names
    require(names, path.name, str(path), "a workbook with a sheet")
    return names[0], len(names)


def rows_of(path: Path, sheet: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each row of a sheet, and its cells as text: numbers without needless zeros."""
    for number, row in enumerate(_open(path).get_sheet_by_name(sheet).to_python(skip_empty_area=False), start=1):
        yield number, list(map(text_of, row))


def _open(path: Path) -> Any:
    check_size(path, field=path.name)
    try:
        calamine: Any = importlib.import_module("python_calamine")  # an extra, which few files need
    except ImportError:
        allowed = f"a CSV file: this one is a workbook, which `pip install 'psephos[spreadsheets]'` reads; or {_SAVE}"
        raise ConfigurationError(field=path.name, value=str(path), allowed=allowed) from None
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as packed:
                num_bytes = sum(part.file_size for part in packed.infolist())
            allowed = f"a workbook of at most {MAX_FILE_BYTES:,} bytes, unpacked: all of it has to fit into memory"
            refuse(num_bytes > MAX_FILE_BYTES, path.name, f"{num_bytes:,} bytes", allowed)
        return calamine.CalamineWorkbook.from_path(path)
    except (calamine.CalamineError, zipfile.BadZipFile) as error:
        allowed = f"a workbook that can be read ({error}), or a CSV file: {_SAVE}"
        raise ConfigurationError(field=path.name, value=str(path), allowed=allowed) from None
