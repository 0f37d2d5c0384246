"""Where a header is and which rows count: asked where it is unclear, and the same in every form of a table."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pandas as pd
import pytest
from bad_input import refuses
from psephos.protocol import ConfigurationError
from psephos.scenarios import Local, load_scenario, resolve
from psephos.scenarios.reading.batches import TableFiles
from psephos.scenarios.reading.columns import join_batches
from psephos.scenarios.reading.frames import FrameText, path_of
from psephos.scenarios.reading.headers import HeadedRows, TableOptions, UnclearTableError
from psephos.scenarios.reading.text_forms import form_of, header_of, note_of, open_table
from psephos.scenarios.running.drafts import SavedTable
from psephos.scenarios.running.parties import read_parties_file

Write = Callable[[str, str | bytes], Path]
EXPORTS = Path(__file__).parents[2] / "exports"
FORMS = sorted(path.name for path in EXPORTS.iterdir() if path.suffix in {".csv", ".tsv"})
ELSEWHERE: Mapping[str, TableOptions] = {
    "framadate_dates.csv": TableOptions(header_lines=2),
    "loomio.csv": TableOptions(header=9),
    "qualtrics.csv": TableOptions(header_lines=3),
    "surveymonkey.csv": TableOptions(header_lines=2),
}
"""Exports whose header is not their first line."""


def opened(path: Path, options: TableOptions | None = None) -> tuple[list[str], list[tuple[int, list[str]]], str]:
    with open_table(path, form_of(path, options=options or TableOptions())) as table:
        return table.header, list(table), table.note()


def independent(path: Path, options: TableOptions) -> list[tuple[int, list[str]]]:
    """Return the rows below a header, by the standard library and the file's own sign alone."""
    text = path.read_bytes().decode("utf-8-sig")
    sign = "\t" if path.suffix == ".tsv" else ";" if text.partition("\n")[0].count(";") > 2 else ","
    rows = list(enumerate(csv.reader(io.StringIO(text, newline=""), delimiter=sign), start=1))
    first = max(options.header, 1) + options.header_lines
    return [(number, row) for number, row in rows if number >= first and any(cell.strip() for cell in row)]


@pytest.mark.parametrize("name", FORMS)
def test_an_export_has_the_header_and_the_rows_that_another_reader_finds(name: str) -> None:
    path = EXPORTS / name
    options = ELSEWHERE.get(name, TableOptions())
    if name in ELSEWHERE:
        with pytest.raises(UnclearTableError) as caught:
            opened(path)
        assert (caught.value.option.replace("-", "_"), caught.value.choice) in {
            ("header", options.header),
            ("header_lines", options.header_lines),
        }
        assert f"{name}: the header seems to" in str(caught.value)
    header, found, _ = opened(path, options)
    expected = independent(path, options)
    assert [line for line, _ in found] == [line for line, _ in expected]
    assert all(
        row == own[: len(header)] and not any(own[len(header) :])
        for (_, row), (_, own) in zip(found, expected, strict=True)
    )
    assert len(set(header)) == len(header)


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("surveymonkey.csv", ["Shall we mend the roof?", "What matters? [Price]", "Rank them [pool]"]),
        ("qualtrics.csv", ["ResponseId", "Q1", "Q3 [pool]", "Q3 [rink]", "Q3 [library]"]),
        ("framadate_dates.csv", ["column 1", "Friday 2 January [9:00]", "Friday 2 January [14:00]"]),
        ("framadate.csv", ["column 1", "roof", "pool"]),
        ("loomio.csv", ["voter_name", "agree", "abstain", "disagree"]),
    ],
)
def test_names_are_put_together_from_a_headers_lines(name: str, header: list[str]) -> None:
    found, _, note = opened(EXPORTS / name, ELSEWHERE.get(name))
    assert set(header) <= set(found)
    lines = {"surveymonkey.csv": "lines 1 to 2", "qualtrics.csv": "lines 1 to 3", "loomio.csv": "is line 9"}
    assert lines.get(name, "Column 1 of ") in note


@pytest.mark.parametrize(
    "content",
    [
        "General assembly 2026\n\nname;roof\nAnn;yes\nBob;no\n",
        "General assembly 2026;\n;\nname;roof\nAnn;yes\nBob;no\n",
        "General assembly;2026\nof all members\nname;roof;note\nAnn;yes;\nBob;no;\n",
    ],
)
def test_a_header_below_a_title_is_asked_about(write: Write, content: str) -> None:
    path = write("A2.csv", content)
    with pytest.raises(UnclearTableError, match=r"^A2\.csv: the header seems to be in line 3\. Add --header 3"):
        opened(path)
    header, found, note = opened(path, TableOptions(header=3))
    assert header[:2] == ["name", "roof"]
    assert [row[:2] for _, row in found] == [["Ann", "yes"], ["Bob", "no"]]
    assert "The header of A2.csv is line 3." in note


@pytest.mark.bad_input("an empty file, wrong columns, text that is none")
@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("a,b,c\n1,2,3\n1,2\n1,2,3\n", 3),
        ("a,b,c\n1,2,3\n1,2,3,4\n1,2,3,4\n", 3),
        ("a,b,c\n1,2,\n1,2\n1,2,\n1,2,\n", 3),
    ],
)
def test_a_row_of_another_width_is_no_title_and_refused_by_its_line(write: Write, content: str, line: int) -> None:
    with pytest.raises(ConfigurationError, match=rf"^a\.csv line {line}: This line has \d entr\w+, and the header 3"):
        opened(write("a.csv", content))


ROWS = [
    ("name", "Status", "roof"),
    ("Ann", "ok", "yes"),
    ("Bob", "draft", "no"),
    ("Cid", "ok", ""),
    ("Dee", "ok", "no"),
]


def in_every_form(folder: Path) -> dict[str, Path]:
    """Return the same rows as text, in UTF-16, as columns of Parquet and Arrow, and as a frame."""
    frame = pd.DataFrame(ROWS[1:], columns=list(ROWS[0]))
    text = frame.to_csv(index=False)
    (folder / "a.csv").write_text(text, encoding="utf-8")
    (folder / "b.csv").write_text(text.replace(",", ";"), encoding="utf-16")
    frame.to_parquet(folder / "a.parquet", index=False)
    frame.to_feather(folder / "a.arrow")
    return {
        **{name: folder / name for name in ("a.csv", "b.csv", "a.parquet", "a.arrow")},
        "frame": path_of(FrameText.of("mine", frame)),
    }


def test_every_reader_of_every_form_leaves_out_the_rows_that_are_said(tmp_path: Path) -> None:
    options = TableOptions(only={"Status": ("ok",)}, leave_out_empty=("roof",))
    for name, path in in_every_form(tmp_path).items():
        rows = join_batches(TableFiles(path, field="own", options=options).batches(["name", "roof"]))
        assert (list(rows.table["name"]), rows.where(2)) == (["Ann", "Dee"], f"{path.name} line 5"), name
        table = read_parties_file(path, "name", options=options)
        assert (table.names, list(table.table["roof"]), list(table.lines)) == (["Ann", "Dee"], ["yes", "no"], [2, 5])
        assert "1 of 4 rows of" in table.note
        assert "Status is not 'ok'." in note_of(path, options)
        assert "roof is empty." in table.note
        assert SavedTable.of(path, data_path=str(path), options=options).column("name") == ["Ann", "Dee"]
        if name != "frame":
            files = TableFiles(str(path), field="own", columns={}, options=options)
            (batch,) = files.batches(["name"])
            assert list(batch.table["name"]) == ["Ann", "Dee"]
            assert batch.where(2) == f"{name} line 5"


@pytest.mark.bad_input("an empty file, wrong columns, text that is none")
@pytest.mark.parametrize(
    ("options", "field", "allowed"),
    [
        (
            TableOptions(only={"status": ("ok",)}),
            "only",
            "a column of a.csv: name, Status, roof (did you mean",
        ),
        (TableOptions(only={"Status": ("okay",)}), "only.Status", "a word that stands there: 'draft', 'ok'"),
        (TableOptions(leave_out_empty=("x",)), "leave_out_empty", "a column of a.csv"),
        (TableOptions(header=9), "header", "a line of a.csv that is not empty"),
        (TableOptions(header=-1), "header", "a line, from 1"),
        (TableOptions(header_lines=0), "header_lines", "from 1 to"),
        (TableOptions(sheet="Votes"), "sheet", "left out: a.csv is no workbook"),
    ],
)
def test_what_a_table_has_not_is_refused(write: Write, options: TableOptions, field: str, allowed: str) -> None:
    path = write("a.csv", "\n".join(map(",".join, ROWS)))
    with refuses(field) as caught:
        opened(path, options)
    assert caught.value.allowed.startswith(allowed)


def test_a_table_of_which_no_row_is_left_is_refused() -> None:
    rows: list[tuple[int, list[str]]] = [(1, ["a"]), (2, ["x"]), (3, [""])]
    table = HeadedRows(iter(rows), TableOptions(leave_out_empty=("a",)), Path("a.csv"))
    assert [row for _, row in table] == [["x"]]
    table = HeadedRows(iter([rows[0], (2, ["b"])]), TableOptions(only={"a": ("",)}), Path("a.csv"))
    with pytest.raises(ConfigurationError, match="a word that stands there"):
        list(table)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_vote_of_columns_is_that_of_the_same_rows_as_text(write: Write, tmp_path: Path, kind: str) -> None:
    in_every_form(tmp_path)
    lines = 'columns = { partner = "name" }\nabstentions = "absent"\nonly = { Status = ["ok"] }'
    settings = f'protocol = "dpwevote"\n[parameters]\ncandidates = ["roof"]\n[partners]\nfile = "a.{kind}"\n{lines}\n'
    resolved = resolve(load_scenario(str(write("b.toml", settings))))
    assert isinstance(resolved, Local)
    assert (list(resolved.names), resolved.inputs.private.tolist()) == (["Ann", "Dee"], [[1], [0]])
    assert "1 of 4 rows of" in resolved.note


@pytest.mark.bad_input("a file of another kind, or in two forms")
@pytest.mark.parametrize(
    "name", sorted(path.name for path in EXPORTS.iterdir() if path.suffix[:5] in {".json", ".blt"})
)
def test_what_is_no_table_gets_one_line(name: str) -> None:
    kind = "BLT" if name.endswith("blt") else "JSON"
    with pytest.raises(ConfigurationError, match=rf"^{name} is no table.*{kind}"):
        form_of(EXPORTS / name)
    assert header_of(EXPORTS / name) == []


def test_a_header_of_no_lines_is_empty(write: Write) -> None:
    table: Sequence[object] = opened(write("a.csv", "\n\n"))
    assert table == ([], [], "")


VOTES = "".join(f"p{n},{'yes' if n % 2 else 'no'},{'no' if n % 3 else 'yes'},{20 + n}\n" for n in range(8))


@pytest.mark.parametrize(
    ("above", "number"),
    [
        ("question,Q1,Q2,n\nname,roof,pool,age\n", 2),
        ("Board,May,2026,minutes\nname,roof,pool,age\n", 2),
        ("part,one,two,three\nquestion,Q1,Q2,n\nname,roof,pool,age\n", 3),
        ("name,roof,pool,age\n", 1),
        ("name,roof,pool,age\np9,abstain,abstain,90\n", 1),
    ],
)
def test_names_in_several_lines_as_wide_as_the_table_are_asked_about(tmp_path: Path, above: str, number: int) -> None:
    """A title may be as wide: what is above is neither taken for the header nor for a row."""
    path = tmp_path / "own.csv"
    path.write_text(above + VOTES)
    if number == 1:
        assert opened(path)[0] == ["name", "roof", "pool", "age"]
        return
    with pytest.raises(UnclearTableError) as caught:
        opened(path)
    assert (caught.value.option, caught.value.choice, caught.value.is_sure) == ("header-lines", number, False)
    assert opened(path, TableOptions(header=number))[0] == ["name", "roof", "pool", "age"]
    assert len(opened(path, TableOptions(header_lines=number))[1]) == len(VOTES.splitlines())
    assert opened(path, TableOptions(header=1))[0] == above.partition("\n")[0].split(",")
