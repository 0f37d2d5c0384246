"""A party's own file: the forms in which it is read, and the faults that are named."""

from collections.abc import Callable
from pathlib import Path

import pytest
from bad_input import refuses
from psephos.scenarios.deployment.own_entries import read_own_entries

Write = Callable[[str, str | bytes], Path]


@pytest.mark.parametrize(
    "content",
    [
        "weight,merger\n3,0\n",
        "partner,weight,merger\nann,3,0\n",
        " merger , weight , partner \r\n 0 , 3 , ann \r\n\r\n",
        "\ufeffweight,merger\n3,0",
        '"weight","merger"\n"3","0"\n',
    ],
    ids=["without its name", "with its name", "spaces", "as spreadsheets save it", "quotes"],
)
def test_own_entries_are_read_in_every_usual_form(write: Write, content: str) -> None:
    entries = read_own_entries(write("mine.csv", content), party="ann", roles=["partner", "voter"])
    assert entries == {"weight": "3", "merger": "0"}


@pytest.mark.parametrize(
    ("content", "field", "value", "allowed"),
    [
        ("", "mine.csv line 1", [], "distinct, non-empty names"),
        ("weight,,merger\n3,0,1\n", "mine.csv line 1", ["weight", "column 2", "merger"], "distinct, non-empty names"),
        ("weight,weight\n3,0\n", "mine.csv line 1", ["weight", "weight"], "distinct, non-empty names"),
        ("weight,merger\n", "--input", "mine.csv", "Keep one, that of 'ann'"),
        ("weight,merger\n3,0\n3,0\n", "--input", "mine.csv", "There are 2 lines below the header of"),
        (
            "weight,merger\n\n3\n",
            "mine.csv line 3",
            "1 entries",
            "and the header 2: weight, merger. Is a separator missing",
        ),
        (
            "weight,merger\n3,0,1\n",
            "mine.csv line 2",
            "3 entries",
            "This line has 3 entries, and the header 2: weight, merger",
        ),
        ("partner,weight\nbob,3\n", "partner (mine.csv line 2)", "bob", "'ann'"),
        ("voter,weight\nbob,3\n", "voter (mine.csv line 2)", "bob", "'ann'"),
        (b"weight\n\x81\n", "mine.csv line 2", "b'\\x81\\n'", "UTF-8 text"),
        ('weight\n"3\n', "mine.csv line 2", "mine.csv", "well-formed CSV"),
    ],
)
def test_a_fault_in_its_file_is_named(
    write: Write, content: str | bytes, field: str, value: str | list[str], allowed: str
) -> None:
    path = write("mine.csv", content)
    with refuses(field, allowed=allowed) as caught:
        read_own_entries(path, party="ann", roles=["partner", "voter"])
    assert str(caught.value.value).removeprefix(f"{path.parent}/") == str(value)
