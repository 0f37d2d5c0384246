"""Tables as programs save them: what a file tells is taken, what is ambiguous is refused, and memory is bounded."""

import gzip
import io
import resource
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from bad_input import refuses
from psephos.protocol import ConfigurationError
from psephos.scenarios import Local, load_scenario, resolve
from psephos.scenarios.reading import files, workbooks
from psephos.scenarios.reading.text_forms import PLAIN, TextForm, form_of, header_of, open_table, read_rows
from psephos.scenarios.running import parties

Write = Callable[[str, str | bytes], Path]

TEXT = "partner;weight;Straße nach Łódź\nann;1;yes\nbjörn;2;no\n"


def vote(write: Write, content: str | bytes, more: str = "") -> Local:
    """Resolve a vote over these partners."""
    write("mine.csv", content)
    return resolve(load_scenario(str(write("b.toml", f'protocol = "dpwevote"\n{more}\npartners = "mine.csv"\n'))))


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (b"a,b\n1,2\n", PLAIN),
        ("\ufeffa,b\n".encode(), PLAIN),
        (b"a;b\n1;2\n", TextForm(delimiter=";")),
        (b"a\tb, c\n", TextForm(delimiter="\t")),
        (b"a|b\r\n", TextForm(delimiter="|")),
        (b'a,"b;c"\n', PLAIN),
        (b"a,b;c\n", PLAIN),
        (b"a\n1\n", PLAIN),
        (b"", PLAIN),
        ("a;b\nü;1\n".encode("cp1252"), TextForm("cp1252", ";")),
        ("a,b\n".encode("utf-16"), TextForm("utf-16")),
        ("a,b\n".encode("utf-16-be"), TextForm("utf-16-be")),
        ("a;b\nŁódź;ja\n".encode("utf-16-le"), TextForm("utf-16-le", ";")),
        (b"a,b\n\0\0,\0\n", None),
        (b"sep=;\r\na, b;c\r\n", TextForm(delimiter=";", declares=True)),
        (b"SEP=\t\na\tb\n", TextForm(delimiter="\t", declares=True)),
        (b"a,b\nx" + "ü".encode()[:1], TextForm("cp1252")),
    ],
)
def test_the_form_is_what_the_file_tells(write: Write, content: bytes, form: TextForm | None) -> None:
    path = write("a.csv", content)
    if form is None:
        with pytest.raises(ConfigurationError) as caught, open_table(path, form_of(path, ["a"])) as rows:
            list(rows)
        assert caught.value.allowed == "text without NUL bytes"
    else:
        assert form_of(path, ["a"]) == form


def test_what_the_header_should_have_tells_the_sign_between_entries(write: Write) -> None:
    path = write("a.csv", "partner;weight;Rail, road, and, more\nann;1;1\n")
    assert header_of(path)[0] == "partner;weight;Rail"
    assert form_of(path, ["partner"]) == TextForm(delimiter=";")
    with pytest.raises(ConfigurationError, match="not commas or semicolons; names that hold one stand in quotes"):
        form_of(write("b.csv", "task;worker,label\n"), ["task", "label"])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_vote_is_the_same_in_every_encoding_that_can_hold_it(write: Write, encoding: str) -> None:
    mark = {"utf-16-le": "\ufeff", "utf-16-be": "\ufeff"}.get(encoding, "")
    resolved = vote(write, (mark + TEXT).encode(encoding))
    assert list(resolved.names) == ["ann", "björn"]
    assert resolved.protocol.parameters.candidates == ("Straße nach Łódź",)
    assert resolved.inputs.private.tolist() == [[0, 1, 0], [1, 0, 1]]
    form = "UTF-16, with semicolons" if "16" in encoding else "with semicolons"
    assert f"mine.csv is read {'as ' if '16' in encoding else ''}{form} between entries." in resolved.note


def test_the_fallback_is_said(write: Write) -> None:
    resolved = vote(write, "partner,weight,Brücke\nbjörn,2,no\n".encode("cp1252"))
    assert list(resolved.names) == ["björn"]
    assert resolved.note == "mine.csv is read as Windows-1252, since it is not UTF-8."
    plain = vote(write, "partner,weight,Brücke\nbjörn,2,no\n")
    assert plain.inputs.private.tolist() == resolved.inputs.private.tolist()
    assert not plain.note


@pytest.mark.parametrize(
    ("protocol", "content", "word"),
    [
        ("truth-discovery", "task;worker;label\nq;müller;yes\nq;ann;no\n", "workers"),
        (
            "moral-preferences",
            "voter;record;choice;lives\nmüller;1;1;3\nmüller;1;0;1\nann;1;1;2\nann;1;0;0\n",
            "voters",
        ),
        ("fair-voting", "voter;group;ranking\nmüller;town;a > b\nann;village;b > a\n", "voters"),
    ],
)
def test_every_systems_own_files_are_read_so(write: Write, protocol: str, content: str, word: str) -> None:
    found: list[tuple[object, object]] = []
    for encoded in (content.encode("cp1252"), content.replace(";", ",").encode()):
        write("mine.csv", encoded)
        scenario = write("b.toml", f'protocol = "{protocol}"\n{word} = "mine.csv"\n')
        resolved = resolve(load_scenario(str(scenario), ["synthetic=true"]))
        found.append((list(resolved.names), resolved.inputs.public.tolist()))
        notes = "mine.csv is read as Windows-1252, since it is not UTF-8, with semicolons between entries."
        assert (notes in resolved.note) == (b";" in encoded)
    assert found[0] == found[1]


@pytest.mark.bad_input("a file of another kind, or in two forms")
@pytest.mark.parametrize(
    ("content", "field", "allowed"),
    [
        (
            b"PK\x03\x04....",
            "mine.csv",
            "This is no workbook of .xlsx or .ods. Open it, and save it",
        ),
        (b"\xd0\xcf\x11\xe0....", "mine.csv", "This is no workbook of .xlsx or .ods"),
        (b"%PDF-1.7", "mine.csv", "a PDF"),
        (b"PAR1\x15\x04", "mine.csv", "Parquet"),
        (gzip.compress(b"partner,weight,m\n", mtime=0), "mine.csv", "its name does not end with .gz"),
        (b"partner,weight,m\nann\x00,1,1\n", "mine.csv line 2", "text without NUL bytes"),
        (b"partner,weight,m\nann,1,\x81\xff1\n", "mine.csv line 2", "UTF-8 text (byte 7 of the line is 0x81"),
        (b"", "mine.csv line 1", "a header with the column 'partner'"),
        (b"Partnr;weight;m\n", "mine.csv line 1", "did you mean 'Partnr'?"),
    ],
)
def test_what_is_no_such_table_is_named(write: Write, content: bytes, field: str, allowed: str) -> None:
    with refuses(field, allowed=allowed):
        vote(write, content)


def test_a_long_line_is_refused_before_it_is_read(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LINE", 100)
    path = write("a.csv", f"x,y\n1,{'2' * 96}\n1,{'2' * 97}\n")
    with pytest.raises(ConfigurationError) as caught:
        list(read_rows(path, "x", "y", field="own"))
    assert (caught.value.field, caught.value.allowed) == ("a.csv line 3", "a line of less than 100 characters")


def test_a_packed_table_is_read_as_it_is(write: Write) -> None:
    path = write("a.csv.gz", gzip.compress('a;b\n1;"ü\n"\n\n'.encode("cp1252")))
    with open_table(path, form_of(path)) as rows:
        assert (rows.header, list(rows)) == (["a", "b"], [(2, ["1", "ü\n"])])


def test_rows_are_those_of_the_spreadsheet_that_wrote_them(write: Write) -> None:
    path = write("a.csv", 'sep=;\n"Name\nof all";roof;;\nann;yes;;\n;;;\n\nbob;;;\ncid;no;;x\n')
    with open_table(path, form_of(path)) as rows:
        found = iter(rows)
        assert (rows.line, rows.header) == (1, ["Name\nof all", "roof"])
        assert [next(found), next(found)] == [(2, ["ann", "yes"]), (5, ["bob", ""])]
        with pytest.raises(ConfigurationError, match=r"a\.csv line 6: This line has 4 entries, and the header 2: "):
            next(found)  # an entry would be lost


SHEETS = (
    '<?xml version="1.0"?><workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>'
    '<sheet name="Vorstand" sheetId="1" r:id="rId1"/><sheet name="Notes" sheetId="2" r:id="rId1"/></sheets></workbook>'
)
RELATIONS = (
    '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/{}" '
    'Target="{}"/></Relationships>'
)
SHEET = (
    '<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}'
    "</sheetData></worksheet>"
)
CONTENT = (
    '<?xml version="1.0"?><office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet>'
    '<table:table table:name="Vorstand">{}</table:table></office:spreadsheet></office:body></office:document-content>'
)
MANIFEST = (
    '<?xml version="1.0"?><m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
    '<m:file-entry m:full-path="/" m:media-type="{}"/></m:manifest>'
)
CELLS = (("partner", "weight", "Dach"), ("Jörg", 1.0, True), ("ann", 2.5, "no"))


def workbook(kind: str) -> bytes:
    """Return a workbook of `CELLS` with a blank row before the last, as a spreadsheet saves it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        if kind == "ods":
            kind_of_all = "application/vnd.oasis.opendocument.spreadsheet"
            packed.writestr("mimetype", kind_of_all)
            packed.writestr("META-INF/manifest.xml", MANIFEST.format(kind_of_all))
            written = "".join(f"<table:table-row>{''.join(map(ods_cell, row))}</table:table-row>" for row in CELLS)
            before, _, last = written.rpartition("<table:table-row>")
            blank = '<table:table-row><table:table-cell table:number-columns-repeated="3"/></table:table-row>'
            packed.writestr("content.xml", CONTENT.format(f"{before}{blank}<table:table-row>{last}"))
        else:
            for name, of in (("_rels/.rels", "xl/workbook.xml"), ("xl/_rels/workbook.xml.rels", "worksheets/s.xml")):
                packed.writestr(name, RELATIONS.format("worksheet" if "work" in name else "officeDocument", of))
            packed.writestr("xl/workbook.xml", SHEETS)
            rows = (
                f'<row r="{n}">{"".join(map(xlsx_cell, row))}</row>' for n, row in zip((1, 2, 4), CELLS, strict=True)
            )
            packed.writestr("xl/worksheets/s.xml", SHEET.format("".join(rows)))
    return file.getvalue()


def ods_cell(cell: str | float) -> str:
    if isinstance(cell, str):
        return f'<table:table-cell office:value-type="string"><text:p>{cell}</text:p></table:table-cell>'
    kind, key = ("boolean", "boolean-value") if isinstance(cell, bool) else ("float", "value")
    return f'<table:table-cell office:value-type="{kind}" office:{key}="{str(cell).lower()}"/>'


def xlsx_cell(cell: str | float) -> str:
    if isinstance(cell, str):
        return f'<c t="inlineStr"><is><t>{cell}</t></is></c>'
    return f'<c t="b"><v>{int(cell)}</v></c>' if isinstance(cell, bool) else f"<c><v>{cell}</v></c>"


@pytest.mark.parametrize("kind", ["xlsx", "ods"])
def test_a_workbook_is_read_as_the_table_of_its_first_sheet(write: Write, kind: str) -> None:
    path = write(f"mine.{kind}", workbook(kind))
    form = form_of(path)
    with open_table(path, form) as rows:
        assert rows.header == ["partner", "weight", "Dach"]
        assert list(rows) == [(2, ["Jörg", "1", "true"]), (4, ["ann", "2.5", "no"])]
    more = "weights = [1, 2.5]\npublic_weights = true"
    settings = f'protocol = "dpwevote"\npartners = "{path.name}"\n[parameters]\n{more}\n'
    resolved = resolve(load_scenario(str(write("b.toml", settings))))
    assert isinstance(resolved, Local)
    assert resolved.note == f"Of {path.name} the sheet 'Vorstand' is read{', of 2' if kind == 'xlsx' else ''}."
    truth = resolved.protocol.truth(resolved.inputs)
    assert truth is not None
    assert truth["Dach"] == 1.0


@pytest.mark.bad_input("a file of another kind, or in two forms")
def test_a_workbook_without_what_reads_it_names_the_extra(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(ConfigurationError, match="pip install 'psephos\\[spreadsheets\\]'"):
        form_of(write("mine.xlsx", workbook("xlsx")))


@pytest.mark.bad_input("a large file")
def test_a_workbook_is_refused_that_is_too_large_unpacked(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbooks, "MAX_FILE_BYTES", 100)
    with pytest.raises(ConfigurationError, match="a workbook of at most 100 bytes, unpacked"):
        form_of(write("mine.xlsx", workbook("xlsx")))


@pytest.mark.bad_input("a large file")
def test_a_packed_file_is_refused_once_it_is_too_large_unpacked(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parties, "MAX_FILE_BYTES", 1000)
    write("mine.csv.gz", gzip.compress(b"partner,weight,m\n" + b"ann,1,1\n" * 200))
    with refuses("mine.csv.gz line 124", "more", "a file of at most 1,000 characters"):
        resolve(load_scenario(str(write("b.toml", 'protocol = "dpwevote"\npartners = "mine.csv.gz"\n'))))


_TOO_LARGE = "a line of less than 16,777,216 characters", "a file of at most 268,435,456 bytes"
_LIMIT = 1 << 30
"""Bytes of memory that a process may have below; half of it are libraries."""


@pytest.mark.bad_input("a large file")
@pytest.mark.full("four processes of a second each")
@pytest.mark.parametrize(
    ("protocol", "word", "header"),
    [
        ("dpwevote", "partners", "partner,weight,m"),
        ("fair-voting", "voters", "voter,group,ranking"),
        ("truth-discovery", "workers", "task,worker,label"),
        ("moral-preferences", "voters", "voter,record,choice,x"),
    ],
)
def test_a_gigabyte_is_refused_in_bounded_memory(tmp_path: Path, protocol: str, word: str, header: str) -> None:
    with (tmp_path / "big.csv").open("wb") as file:
        file.write(f"{header}\n".encode())
        file.truncate(1 << 30)
    (tmp_path / "b.toml").write_text(f'protocol = "{protocol}"\n{word} = "big.csv"\n', encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-m", "psephos.scenarios.cli", "run", "b.toml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (_LIMIT, _LIMIT)),
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("psephos: ")
    assert "big.csv" in ended.stderr
    assert any(words in ended.stderr for words in _TOO_LARGE)
