"""Files of data sets: read as published, and refused with their line where they are not what they should be."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from psephos.protocol import ConfigurationError
from psephos.scenarios.reading import read_rows

Put = Callable[[str, str | bytes], Path]


@pytest.mark.parametrize("name", ["set/a.csv", "set/a.csv.gz"])
def test_the_columns_asked_for_are_read_with_their_lines(put: Put, name: str) -> None:
    path = put(name, '\ufeff x ,y,z\r\n1,"two\r\nlines",3\r\n\r\n4,5,6\r\n')
    assert list(read_rows(path, "z", "x")) == [(2, ("3", "1")), (5, ("6", "4"))]
    assert next(read_rows(path, "y", "x")) == (2, ("two\r\nlines", "1"))


@pytest.mark.parametrize(
    ("content", "field", "allowed"),
    [
        ("", "a.csv line 1", "a header with the column 'x'"),
        ("x,z\n1,2\n", "a.csv line 1", "a header with the column 'y'"),
        ("x,y\n1,2\n\n3\n", "a.csv line 4", "2 entries: x, y"),
        ("x,y\n1,2,3\n", "a.csv line 2", "2 entries: x, y"),
        ('x,y\n1,2\n"3,4\n5,6\n', "a.csv line 3", "well-formed CSV"),
    ],
)
def test_a_line_that_is_no_row_is_named(put: Put, content: str, field: str, allowed: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        list(read_rows(put("set/a.csv", content), "x", "y"))
    assert caught.value.field == field
    assert caught.value.allowed.startswith(allowed)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.csv", None, "No such file"),
        ("a.csv.gz", None, "No such file"),
        ("a.csv", b"x,y\n\xff,1\n", "codec can't decode"),
        ("a.csv.gz", b"x,y\n1,2\n", "Not a gzipped file"),
        ("a.csv.gz", gzip.compress(b"x,y\n1,2\n" * 99)[:-12], "ended before"),
        ("a.csv.gz", gzip.compress(b"x,y\n1,2\n")[:10] + b"\xff" * 20, "invalid"),
    ],
    ids=["not there", "not there, packed", "no UTF-8", "not packed", "cut off", "damaged"],
)
def test_a_file_that_cannot_be_read_is_named_with_its_folder(
    put: Put, name: str, content: bytes | None, reason: str
) -> None:
    path = put(f"set/{name}", content or b"")
    if content is None:
        path.unlink()
    with pytest.raises(ConfigurationError) as caught:
        list(read_rows(path, "x", "y"))
    assert (caught.value.field, caught.value.value) == ("data", str(path.parent.parent))
    assert f"a readable file set/{name}" in caught.value.allowed
    assert reason in caught.value.allowed
