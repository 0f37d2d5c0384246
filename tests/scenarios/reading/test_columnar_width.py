"""A table of very many columns is looked at in steps that grow with their number, and no faster."""

from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from psephos.scenarios.reading import batches
from psephos.scenarios.reading.batches import TableFiles

NUM_COLUMNS = 2_000


class Name(str):
    """A column's name that counts how often one is compared with another."""

    __slots__ = ()
    num_compared = 0

    def __eq__(self, other: object) -> bool:
        Name.num_compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_columns_are_compared_as_often_as_there_are_some(tmp_path: Path) -> None:
    arrow: Any = pytest.importorskip("pyarrow", reason="an extra")
    path = tmp_path / "wide.parquet"
    names = [Name(f"c{place}") for place in range(NUM_COLUMNS)]
    table = arrow.table({str(name): [1] for name in names})
    pytest.importorskip("pyarrow.parquet", reason="an extra").write_table(table, path)
    fields = [mock.Mock(type=arrow.int64()) for _ in names]
    for field, name in zip(fields, names, strict=True):
        field.name = name
    files_of = batches._Parquet  # pyright: ignore[reportPrivateUsage]  no file has columns whose names count
    with mock.patch.object(files_of, "_look_at", return_value=(fields, [1])):
        files = TableFiles(str(path), field="partners", columns={})
        list(files.batches(names))
    assert Name.num_compared < 50 * NUM_COLUMNS
