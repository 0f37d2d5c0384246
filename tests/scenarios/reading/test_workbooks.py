"""Workbooks: which sheet is read, and which cells are refused, told from the XML before a library loads anything."""

import io
import random
import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from bad_input import refuses
from psephos.protocol import ConfigurationError
from psephos.scenarios.reading import workbooks
from psephos.scenarios.reading.headers import TableOptions
from psephos.scenarios.reading.text_forms import form_of, open_table

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELATIONS = '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
_ODS = "urn:oasis:names:tc:opendocument:xmlns"
VOTES = (("name", "roof"), ("Ann", "yes"), ("Bob", "no"))


def text(cell: str) -> str:
    return f'<c t="inlineStr"><is><t>{escape(cell)}</t></is></c>'


def xlsx(*sheets: tuple[str, str, Sequence[str]]) -> bytes:
    """Return a workbook of sheets: a name, hidden, visible or chart, and rows of cells in XML."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        own = f'<Relationship Id="r" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
        packed.writestr("_rels/.rels", _RELATIONS + own)
        names, relations = "", _RELATIONS
        for number, (name, state, rows) in enumerate(sheets, start=1):
            kind = "chart" if state == "chart" else "work"
            shown = "hidden" if state == "hidden" else "visible"
            names += f'<sheet name="{name}" sheetId="{number}" state="{shown}" r:id="r{number}"/>'
            part = f"{kind}sheets/sheet{number}.xml"
            relations += f'<Relationship Id="r{number}" Type="{_OFFICE}/{kind}sheet" Target="{part}"/>'
            content = "".join(f"<row>{row}</row>" for row in rows)
            packed.writestr(
                f"xl/{part}",
                f'<?xml version="1.0"?><{kind}sheet xmlns="{_MAIN}"><sheetData>{content}</sheetData></{kind}sheet>',
            )
        packed.writestr("xl/_rels/workbook.xml.rels", f"{relations}</Relationships>")
        workbook = f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{names}</sheets></workbook>'
        packed.writestr("xl/workbook.xml", f'<?xml version="1.0"?>{workbook}')
    return file.getvalue()


def ods(*sheets: tuple[str, str, Sequence[str]]) -> bytes:
    """Return the same as another program saves it."""
    file = io.BytesIO()
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    spaces = " ".join(f'xmlns:{name}="{_ODS}:{name}:1.0"' for name in ("office", "table", "text", "style"))
    tables = "".join(
        f'<table:table table:name="{name}" table:style-name="{state}">'
        + "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
        + "</table:table>"
        for name, state, rows in sheets
    )
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("mimetype", kind)
        packed.writestr(
            "META-INF/manifest.xml",
            f'<m:manifest xmlns:m="{_ODS}:manifest:1.0"><m:file-entry m:full-path="/" m:media-type="{kind}"/>'
            "</m:manifest>",
        )
        packed.writestr(
            "content.xml",
            f'<office:document-content {spaces} xmlns:calcext="urn:calcext"><office:automatic-styles>'
            '<style:style style:name="hidden"><style:table-properties table:display="false"/></style:style>'
            f"</office:automatic-styles><office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body>"
            "</office:document-content>",
        )
    return file.getvalue()


def cell(kind: str, content: str) -> str:
    if kind == "xlsx":
        return text(content)
    return f'<table:table-cell office:value-type="string"><text:p>{escape(content)}</text:p></table:table-cell>'


def rows(kind: str, table: Sequence[Sequence[str]]) -> list[str]:
    return ["".join(cell(kind, each) for each in row) for row in table]


def saved(folder: Path, kind: str, *sheets: tuple[str, str, Sequence[str]]) -> Path:
    path = folder / f"mine.{kind}"
    path.write_bytes((xlsx if kind == "xlsx" else ods)(*sheets))
    return path


def read(path: Path, options: TableOptions | None = None) -> tuple[list[str], list[list[str]], str]:
    with open_table(path, form_of(path, options=options or TableOptions())) as table:
        return table.header, [row for _, row in table], table.note()


@pytest.mark.parametrize("kind", ["xlsx", "ods"])
def test_the_first_visible_sheet_with_a_table_is_read_and_said(tmp_path: Path, kind: str) -> None:
    other = rows(kind, [("name", "roof"), ("Cid", "no")])
    chart = [("Chart", "chart", list[str]())] if kind == "xlsx" else []
    path = saved(
        tmp_path,
        kind,
        *chart,
        ("Old", "hidden", other),
        ("Notes", "visible", rows(kind, [("read me",), ("first",)])),
        ("Votes", "visible", rows(kind, VOTES)),
        ("Later", "visible", other),
    )
    header, found, note = read(path)
    assert (header, found) == (["name", "roof"], [["Ann", "yes"], ["Bob", "no"]])
    passed = "passed by, as hidden or without a table: 'Old', 'Notes'"
    assert note == f"Of mine.{kind} the sheet 'Votes' is read, of 4; {passed}."
    assert read(path, TableOptions(sheet="Later"))[1] == [["Cid", "no"]]
    assert read(path, TableOptions(sheet="Old"))[1] == [["Cid", "no"]]
    with pytest.raises(ConfigurationError, match=r"one of Old, Notes, Votes, Later \(did you mean 'Votes'\?\)"):
        read(path, TableOptions(sheet="Vote"))


STRING = ' office:value-type="string"'
FORMULA = "<c{t}><f>IF(TRUE,1,0)</f>{v}</c>"
FAULTS = {
    "failed": ("xlsx", '<c t="e"><v>#DIV/0!</v></c>', "#DIV/0!"),
    "never computed": ("xlsx", FORMULA.format(t="", v=""), "a formula that was never computed"),
    "computed to nothing by a program": ("xlsx", FORMULA.format(t="", v="<v/>"), "a formula that was never computed"),
    "a long number": ("xlsx", "<c><v>12345678901234567</v></c>", "12345678901234567"),
    "a long number as a power": ("xlsx", "<c><v>1.2345678901235e+16</v></c>", "1.2345678901235e+16"),
    "failed, in the other form": (
        "ods",
        f'<table:table-cell calcext:value-type="error"{STRING}><text:p>Err:502</text:p></table:table-cell>',
        "Err:502",
    ),
    "never computed, in the other form": (
        "ods",
        '<table:table-cell table:formula="of:=1+1"/>',
        "a formula that was never computed",
    ),
}


@pytest.mark.bad_input("a file of another kind, or in two forms")
@pytest.mark.parametrize(("kind", "odd", "value"), FAULTS.values(), ids=FAULTS)
def test_a_cell_that_holds_nothing_to_be_counted_is_refused_by_its_address(
    tmp_path: Path, kind: str, odd: str, value: str
) -> None:
    content = [*rows(kind, VOTES), cell(kind, "Cid") + odd]
    path = saved(tmp_path, kind, ("Votes", "visible", content), ("Other", "visible", rows(kind, VOTES)))
    with refuses(f"mine.{kind} Votes!B4", value):
        read(path)
    assert read(path, TableOptions(sheet="Other"))[1] == [["Ann", "yes"], ["Bob", "no"]]


@pytest.mark.bad_input("a file of another kind, or in two forms")
def test_a_formula_in_a_workbook_that_asks_to_be_computed_has_no_result(tmp_path: Path) -> None:
    """XlsxWriter writes 0 for each formula, and that all are to be computed when somebody opens the file."""
    content = [*rows("xlsx", VOTES), text("Cid") + FORMULA.format(t="", v="<v>0</v>")]
    path = saved(tmp_path, "xlsx", ("Votes", "visible", content))
    assert read(path)[1][2:] == [["Cid", "0"]]
    asking = io.BytesIO()
    with zipfile.ZipFile(path) as known, zipfile.ZipFile(asking, "w") as packed:
        for name in known.namelist():
            part = known.read(name).replace(b"</sheets>", b'</sheets><calcPr calcId="124519" fullCalcOnLoad="1"/>')
            packed.writestr(name, part)
    path.write_bytes(asking.getvalue())
    with pytest.raises(ConfigurationError, match=r"mine.xlsx Votes!B4 is 'a formula that was never computed': use "):
        read(path)


@pytest.mark.bad_input("a file of another kind, or in two forms")
def test_an_old_workbook_that_does_not_tell_which_formulas_failed_is_refused(tmp_path: Path) -> None:
    (path := tmp_path / "mine.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504))
    with pytest.raises(ConfigurationError, match=r"mine.xls: This is no workbook of .xlsx or .ods"):
        read(path)


def test_a_formula_with_its_result_is_an_entry_and_so_is_one_that_says_nothing(tmp_path: Path) -> None:
    results = [FORMULA.format(t=' t="str"', v="<v>yes</v>"), FORMULA.format(t=' t="str"', v="<v></v>")]
    content = [*rows("xlsx", VOTES), *(text("Cid") + each for each in results)]
    assert read(saved(tmp_path, "xlsx", ("Votes", "visible", content)))[1][2:] == [["Cid", "yes"], ["Cid", ""]]


@pytest.mark.bad_input("a large file")
@pytest.mark.parametrize(
    ("kind", "far"),
    [
        ("xlsx", '<c r="J40" t="inlineStr"><is><t>x</t></is></c>'),
        ("xlsx", '<c r="J40" t="str"><v></v></c>'),
        (
            "ods",
            f'<table:table-cell table:number-columns-repeated="200"{STRING}><text:p>x</text:p></table:table-cell>',
        ),
    ],
)
def test_a_sheet_that_reaches_too_far_is_refused_before_it_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, far: str
) -> None:
    path = saved(tmp_path, kind, ("Votes", "visible", [*rows(kind, VOTES), far]))
    monkeypatch.setattr(workbooks, "_MOST_CELLS", 399)
    monkeypatch.setattr(workbooks, "_open", None)
    with pytest.raises(ConfigurationError, match="sheets of at most 399 cells; 'Votes' reaches to row"):
        read(path)


@pytest.mark.bad_input("a file of another kind, or in two forms")
@pytest.mark.parametrize("kind", ["xlsx", "ods"])
def test_a_damaged_workbook_is_read_or_refused_in_one_line(tmp_path: Path, kind: str) -> None:
    path = saved(tmp_path, kind, ("Old", "hidden", rows(kind, VOTES)), ("Votes", "visible", rows(kind, VOTES)))
    whole = path.read_bytes()
    drawn = random.Random(53)
    refused = list[str]()
    for number in range(60):
        content = bytearray(whole)
        if number % 2:
            del content[drawn.randrange(len(content)) :]
        for _ in range(drawn.choice([1, 4, 16]) if content else 0):
            content[drawn.randrange(len(content))] = drawn.randrange(256)
        path = tmp_path / f"{number}.{kind}"
        path.write_bytes(bytes(content))
        try:
            read(path)
        except ConfigurationError as error:
            refused.append(str(error))
    assert len(refused) > 30
    assert not any("\n" in sentence for sentence in refused)


@pytest.mark.parametrize("kind", ["xlsx", "ods"])
def test_a_row_that_is_hidden_or_filtered_out_is_refused_as_long_as_it_may_be_counted(
    tmp_path: Path, kind: str
) -> None:
    path = saved(tmp_path, kind, ("Votes", "visible", rows(kind, VOTES)))
    part, row, hidden = {
        "xlsx": ("xl/worksheets/sheet1.xml", "<row>", '<row hidden="1">'),
        "ods": ("content.xml", "<table:table-row>", '<table:table-row table:visibility="filter">'),
    }[kind]
    with zipfile.ZipFile(path) as packed:
        parts = {name: packed.read(name).decode() for name in packed.namelist()}
    head, last = parts[part].rsplit(row, 1)
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in {**parts, part: f"{head}{hidden}{last}"}.items():
            packed.writestr(name, content)
    with pytest.raises(
        ConfigurationError, match=rf"mine.{kind} Votes!A3 (is|are) .*shown, where it counts, or deleted"
    ):
        read(path)
