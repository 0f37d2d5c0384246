"""Workbooks of spreadsheets (.xlsx, .ods): a sheet as rows of text, by python-calamine, an extra.

The library gives empty text for a cell that failed and for one that was never computed, and makes room for all cells
between the first and the last one. So the sheets' XML is read first: it tells how far they reach, which are hidden,
which hold a table, and which cells hold nothing to be counted. An .xls tells none of
this, and is refused. A workbook that asks to be computed when it is opened is from a program that computes nothing: it
holds 0 or nothing for each formula.
"""

import contextlib
import functools
import importlib
import posixpath
import re
import zipfile
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import msgspec

from ...protocol.errors import ConfigurationError, list_choices, refuse, require
from .cells import text_of
from .files import MAX_FILE_BYTES, check_size

_SAVE: Final = "save it as CSV (UTF-8) in the program that wrote it"
_MOST_CELLS: Final = 1 << 24
"""Between the first and the last row and column of a sheet: the library holds a value for each."""
_GREATEST: Final = 1e15  # spreadsheets keep no more digits
_TWO: Final = 2
_WORKSHEET: Final = "/worksheet"
_CELL: Final = re.compile(r"([A-Z]{1,3})([1-9]\d{0,6})")
_NEVER: Final = (
    "a formula that was never computed",
    "an entry, or a formula with its result: open the file in a spreadsheet, and save it",
)
_LONG: Final = "text, where it is a name: spreadsheets keep 15 digits of a number; format the column as text"
_HIDDEN: Final = (
    "a row that is hidden",
    "shown, where it counts, or deleted: what a spreadsheet hides or filters out is in the file all the same",
)
_FAILED: Final = "an entry: mend it, or leave it empty, in the program that wrote it"


class FoundSheet(msgspec.Struct, frozen=True):
    """The sheet of a workbook that is read, how many there are, and the names of those before it that are passed by."""

    name: str
    number: int
    passed: tuple[str, ...] = ()


class _SheetSize(msgspec.Struct):
    """What a sheet's XML tells: how many rows and columns it has, and how many rows in which something stands.

    Args:
        is_wide: whether two entries stand in one row.
        fault: the first cell that holds nothing to be counted, what it holds, and what it is to hold.
    """

    name: str
    is_visible: bool = True
    height: int = 0
    width: int = 0
    num_filled: int = 0
    is_wide: bool = False
    fault: tuple[str, ...] | None = None

    def add_row(self, row: int, width: int, num_filled: int) -> None:
        """Take up a row, the last of those that are alike: how far it reaches, and how many entries it has."""
        if width:
            self.height, self.width = max(self.height, row), max(self.width, width)
            self.num_filled += num_filled > 0
            self.is_wide = self.is_wide or num_filled > 1


def find_sheet(path: Path, sheet: str = "") -> FoundSheet:
    """Return the worksheet of a workbook that is named, or else the first visible one with a table.

    A table has two rows at least, and two columns; where no sheet has one, the first visible one is read.

    Raises:
        ConfigurationError: it cannot be read, is too large, has no such sheet, or what reads it is not installed; or a
            cell of the sheet holds nothing to be counted.
    """
    _library(path)
    sheets = _sheets_of(path, _state_of(path))
    names = [each.name for each in sheets]
    require(names, path.name, str(path), "a workbook with a sheet")
    if sheet:
        require(sheet in names, "sheet", sheet, f"a sheet of {path.name}: {list_choices(names, sheet)}")
        sheet_found = sheets[names.index(sheet)]
    else:
        visible = [each for each in sheets if each.is_visible] or sheets
        sheet_found = next((each for each in visible if each.is_wide and each.num_filled >= _TWO), visible[0])
    if sheet_found.fault is not None:
        place_text, value, allowed = sheet_found.fault
        raise ConfigurationError(field=f"{path.name} {sheet_found.name}!{place_text}", value=value, allowed=allowed)
    passed = names[: names.index(sheet_found.name)] if not sheet else []
    return FoundSheet(sheet_found.name, len(names), tuple(passed))


def rows_of(path: Path, sheet: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each row of a sheet, and its cells as text: numbers without needless zeros."""
    with _translate_errors(path):
        rows = _open(path).get_sheet_by_name(sheet).to_python(skip_empty_area=False)
    for number, row in enumerate(rows, start=1):
        yield number, list(map(text_of, row))


def _state_of(path: Path) -> tuple[int, int]:
    check_size(path, field=path.name)
    return path.stat().st_size, path.stat().st_mtime_ns


@functools.lru_cache(maxsize=4)
def _sheets_of(path: Path, state: tuple[int, int]) -> Sequence[_SheetSize]:
    """Return the worksheets of a workbook as it is in this state, in order."""
    del state
    with _translate_errors(path):
        allowed = f"This is no workbook of .xlsx or .ods. Open it, and {_SAVE}."
        require(zipfile.is_zipfile(path), path.name, str(path), allowed)
        with zipfile.ZipFile(path) as archive:
            num_bytes = sum(part.file_size for part in archive.infolist())
            allowed = f"a workbook of at most {MAX_FILE_BYTES:,} bytes, unpacked: all of it has to fit into memory"
            refuse(num_bytes > MAX_FILE_BYTES, path.name, f"{num_bytes:,} bytes", allowed)
            is_ods = "content.xml" in archive.namelist()
            sheets = list(_sizes_in_ods(archive) if is_ods else _sizes_in_xlsx(archive))
    number = sum(each.height * each.width for each in sheets)
    largest_sheet = max(sheets, key=lambda each: each.height * each.width, default=_SheetSize(""))
    allowed = (
        f"sheets of at most {_MOST_CELLS:,} cells; {largest_sheet.name!r} reaches to row {largest_sheet.height:,} and "
        "column "
        f"{_letters(largest_sheet.width)}: delete what stands far out, or {_SAVE}"
    )
    refuse(number > _MOST_CELLS, path.name, f"{number:,} cells", allowed)
    return sheets


@contextlib.contextmanager
def _translate_errors(path: Path) -> Generator[None]:
    """Turn whatever goes wrong in a damaged file into one ConfigurationError; a library's panic is no Exception."""
    try:
        yield
    except ConfigurationError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        problem = str(error).partition("\n")[0] or type(error).__name__
        allowed = f"This workbook cannot be read ({problem}). Open it, and {_SAVE}."
        raise ConfigurationError(field=path.name, value=str(path), allowed=allowed) from None


def _library(path: Path) -> Any:
    try:
        return importlib.import_module("python_calamine")  # an extra, which few files need
    except ImportError:
        allowed = f"This is a workbook, which needs `pip install 'psephos[spreadsheets]'`. Or {_SAVE}."
        raise ConfigurationError(field=path.name, value=str(path), allowed=allowed) from None


def _open(path: Path) -> Any:
    return _library(path).CalamineWorkbook.from_path(path)


def _sizes_in_xlsx(archive: zipfile.ZipFile) -> Iterator[_SheetSize]:
    relations = "xl/_rels/workbook.xml.rels"
    parts = {each.get("Id"): each for event, each in _elements(archive, relations) if event == "end"}
    parts_of_book = [each for event, each in _elements(archive, "xl/workbook.xml") if event == "end"]
    is_computed = not any(each.get("fullCalcOnLoad", "0") in {"1", "true"} for each in parts_of_book)
    for each in (each for each in parts_of_book if _tag(each) == "sheet"):
        part = parts[next(value for key, value in each.attrib.items() if key.endswith("}id"))]
        if part.get("Type", "").endswith(_WORKSHEET):
            sheet = _SheetSize(each.get("name", ""), each.get("state", "visible") == "visible")
            name = posixpath.normpath(posixpath.join("/xl", part.get("Target", "")))[1:]
            _look_at_xlsx(archive, name, sheet, is_computed=is_computed)
            yield sheet


def _look_at_xlsx(archive: zipfile.ZipFile, part: str, sheet: _SheetSize, *, is_computed: bool) -> None:
    row = column = width = num_filled = 0
    for event, each in _elements(archive, part):
        tag = _tag(each)
        if event == "start" and tag == "row":
            row, column, width, num_filled = int(each.get("r", row + 1)), 0, 0, 0
        elif event == "end" and tag == "c":
            column += 1
            if address := _CELL.fullmatch(each.get("r", "")):
                column, row = _column(address[1]), int(address[2])
            content = {_tag(child): child for child in each}
            value = (content["v"].text or "") if "v" in content else ""
            kind = each.get("t", "n")
            if "v" in content or "is" in content:
                width, num_filled = max(width, column), num_filled + bool(value or "is" in content)
            is_known = "f" not in content or (is_computed and "v" in content and (value or kind == "str"))
            if sheet.fault is None and (fault := _fault_of(kind, value) if is_known else _NEVER):
                sheet.fault = f"{_letters(column)}{row}", *fault
            each.clear()
        elif event == "end" and tag == "row":
            sheet.add_row(row, width, num_filled)
            if sheet.fault is None and num_filled and each.get("hidden") in {"1", "true"}:
                sheet.fault = f"A{row}", *_HIDDEN
            each.clear()


def _fault_of(kind: str, value: str) -> tuple[str, ...] | None:
    """Return what a cell of an .xlsx holds that is nothing to be counted, and what it is to hold."""
    if kind == "e":
        return value, _FAILED
    return (value, _LONG) if kind == "n" and value and abs(float(value)) >= _GREATEST else None


def _sizes_in_ods(archive: zipfile.ZipFile) -> Iterator[_SheetSize]:
    hidden_styles, style = set[str](), ""
    sheet = _SheetSize("")
    row = column = width = num_filled = 0
    for event, each in _elements(archive, "content.xml"):
        tag = _tag(each)
        if event == "start" and tag == "style":
            style = _attribute(each, "name")
        elif event == "start" and tag == "table-properties" and _attribute(each, "display") == "false":
            hidden_styles.add(style)
        elif event == "start" and tag == "table":
            sheet, row = _SheetSize(_attribute(each, "name"), _attribute(each, "style-name") not in hidden_styles), 0
        elif event == "start" and tag == "table-row":
            column = width = num_filled = 0
        elif event == "end" and tag in {"table-cell", "covered-table-cell"}:
            repeats = int(_attribute(each, "number-columns-repeated") or 1)
            kind = _attribute(each, "value-type")
            if kind or len(each):
                width, num_filled = column + repeats, num_filled + repeats
            fault: tuple[str, ...] | None = _NEVER if _attribute(each, "formula") and not kind else None
            if "error" in {value for key, value in each.attrib.items() if key.endswith("}value-type")}:
                fault = "".join(each.itertext()), _FAILED
            elif kind == "float" and abs(float(_attribute(each, "value"))) >= _GREATEST:
                fault = _attribute(each, "value"), _LONG
            if sheet.fault is None and fault is not None:
                sheet.fault = f"{_letters(column + 1)}{row + 1}", *fault
            column += repeats
            each.clear()
        elif event == "end" and tag == "table-row":
            if sheet.fault is None and num_filled and _attribute(each, "visibility") in {"collapse", "filter"}:
                sheet.fault = f"A{row + 1}", *_HIDDEN
            row += int(_attribute(each, "number-rows-repeated") or 1)
            sheet.add_row(row, width, num_filled)
            each.clear()
        elif event == "end" and tag == "table":
            yield sheet


def _elements(archive: zipfile.ZipFile, part: str) -> Iterator[tuple[str, ET.Element]]:
    with archive.open(part) as file:
        yield from ET.iterparse(file, events=("start", "end"))  # noqa: S314  its parser bounds how far entities grow


def _tag(element: ET.Element) -> str:
    """Return an element's name, whatever its name space."""
    return element.tag.rpartition("}")[2]


def _attribute(element: ET.Element, name: str) -> str:
    """Return an attribute of an element by its name in the first name space that has it."""
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def _letters(column: int) -> str:
    letters = ""
    while column:
        column, remainder = divmod(column - 1, 26)
        letters = chr(ord("A") + remainder) + letters
    return letters
