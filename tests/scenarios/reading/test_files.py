"""Files that somebody else wrote: read as they are, or refused with the line that is not what it should be."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from bad_input import refuses
from psephos.protocol import ConfigurationError
from psephos.scenarios.reading.files import open_text, readable
from psephos.scenarios.reading.text_forms import read_rows

Put = Callable[[str, str | bytes], Path]


@pytest.mark.parametrize("name", ["set/a.csv", "set/a.csv.gz"])
def test_the_columns_asked_for_are_read_with_their_lines(put_set: Put, name: str) -> None:
    path = put_set(name, '\ufeff x ,y,z\r\n1,"two\r\nlines",3\r\n\r\n4,5,6\r\n')
    assert list(read_rows(path, "z", "x")) == [(2, ("3", "1")), (4, ("6", "4"))]  # as a spreadsheet counts
    assert next(read_rows(path, "y", "x")) == (2, ("two\r\nlines", "1"))


@pytest.mark.parametrize(
    ("content", "field", "allowed"),
    [
        ("", "a.csv line 1", "a header with the column 'x'"),
        ("x,z\n1,2\n", "a.csv line 1", "a header with the column 'y'"),
        ("x,y\n1,2\n\n3\n", "a.csv line 4", "This line has 1 entry, and the header 2: x, y. Is a separator missing"),
        ("x,y\n1,2,3\n", "a.csv line 2", "This line has 3 entries, and the header 2: x, y. Is a separator missing"),
        ('x,y\n1,2\n"3,4\n5,6\n', "a.csv line 3", "well-formed CSV"),
    ],
)
def test_a_line_that_is_no_row_is_named(put_set: Put, content: str, field: str, allowed: str) -> None:
    with refuses(field) as caught:
        list(read_rows(put_set("set/a.csv", content), "x", "y"))
    assert caught.value.allowed.startswith(allowed)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.csv", None, "No such file"),
        ("a.csv.gz", None, "No such file"),
        ("a.csv.gz", b"x,y\n1,2\n", "Not a gzipped file"),
        ("a.csv.gz", gzip.compress(b"x,y\n1,2\n" * 99, mtime=0)[:-12], "ended before"),
        ("a.csv.gz", gzip.compress(b"x,y\n1,2\n", mtime=0)[:10] + b"\xff" * 20, "invalid"),
    ],
    ids=["not there", "not there, packed", "not packed", "cut off", "damaged"],
)
def test_a_file_that_cannot_be_read_is_named_with_its_folder(
    put_set: Put, name: str, content: bytes | None, reason: str
) -> None:
    path = put_set(f"set/{name}", content or b"")
    if content is None:
        path.unlink()
    with refuses("data", str(path.parent.parent), f"a readable file set/{name}") as caught:
        list(read_rows(path, "x", "y"))
    assert reason in caught.value.allowed


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("own.csv", None, "No such file"),
        ("own.csv.gz", gzip.compress(b"x,y\n1,2\n", mtime=0)[:10] + b"\xff" * 20, "invalid"),
        ("own.csv.gz", b"x,y\n1,2\n", "Not a gzipped file"),
        ("own.csv.gz", gzip.compress(b"x,y\n1,2\n" * 99, mtime=0)[:-12], "ended before"),
    ],
    ids=["not there", "damaged", "not packed", "cut off"],
)
def test_a_file_that_a_setting_names_is_named_by_the_setting(
    put_set: Put, name: str, content: bytes | None, reason: str
) -> None:
    path = put_set(f"set/{name}", content or b"")
    if content is None:
        path.unlink()
    with refuses("voters.epsilons", str(path), reason) as caught:
        list(read_rows(path, "x", "y", field="voters.epsilons"))
    assert caught.value.allowed.startswith("a readable file (")


def test_a_line_is_named_whoever_named_the_file(put_set: Put) -> None:
    with refuses("a.csv line 2", "1 entries"):
        list(read_rows(put_set("set/a.csv", "x,y\n1\n"), "x", "y", field="voters.epsilons"))


@pytest.mark.parametrize("name", ["set/a.csv", "set/a.csv.gz"])
def test_text_is_opened_packed_or_not_with_its_line_endings(put_set: Put, name: str) -> None:
    with open_text(put_set(name, "\ufeffa\r\nb\n")) as file:
        assert file.read() == "a\r\nb\n"


def test_what_is_no_fault_of_a_file_is_not_called_one(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), readable(tmp_path, field="voters"):
        raise ZeroDivisionError
    with pytest.raises(ConfigurationError) as caught, readable(tmp_path / "a", field="data", value=tmp_path, what="b"):
        raise EOFError("too short")
    assert (caught.value.field, caught.value.value) == ("data", str(tmp_path))
    assert caught.value.allowed == "b (too short)"
