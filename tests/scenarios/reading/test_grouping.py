"""Rows that are brought together on disk: all of them, by place and then as they came, and nothing is left behind."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from psephos.protocol import ConfigurationError
from psephos.protocol.columns import CodedColumn
from psephos.scenarios.reading import grouping
from psephos.scenarios.reading.columns import RowBatch
from psephos.scenarios.reading.grouping import Names, RowPlaces, RowsByOwner


def batch(*entries: str, first: int = 2, source: str = "a.csv") -> RowBatch:
    return RowBatch({"who": CodedColumn.from_values(entries)}, source, range(first, first + len(entries)))


@pytest.mark.parametrize("num_bytes", [1, 100, 1 << 25], ids=["a place each", "some", "all at once"])
def test_rows_come_by_place_and_then_as_they_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, num_bytes: int
) -> None:
    monkeypatch.setattr(grouping, "_PART_BYTES", num_bytes)
    codes = np.random.default_rng(1).integers(0, 9, 200)
    codes[:9] = range(9)
    table = np.stack([codes, np.arange(200), np.arange(200) % 7], axis=1)
    place = np.array([4, 0, 8, 1, 7, 2, 6, 3, 5])
    with RowsByOwner(tmp_path, width=3) as rows, RowsByOwner(None, width=3) as held:
        for start in range(0, 200, 23):
            rows.add(table[start : start + 23])
            held.add(table[start : start + 23].copy())
        parts, (whole,) = list(rows.in_order(place)), held.in_order(place)
    assert not list(tmp_path.iterdir())
    assert np.concatenate(parts).tolist() == whole.tolist()
    table[:, 0] = place[codes]
    assert np.concatenate(parts).tolist() == table[np.argsort(table[:, 0], kind="stable")].tolist()
    assert all(before[-1, 0] < after[0, 0] for before, after in itertools.pairwise(parts))
    assert (len(parts) > 1) == (num_bytes < 1 << 25)


def test_names_are_in_the_order_of_their_first_rows_over_all_batches() -> None:
    names, places = Names("who"), RowPlaces()
    # A column of one batch may have entries that none of its rows has.
    sliced = RowBatch({"who": CodedColumn(["x", "eve", "ann"], np.array([2, 1]))}, "b.parquet", range(1, 3), "row")
    found = [names.codes_in(each, places.add(each)).tolist() for each in (batch("bob", " ann", "bob "), sliced)]
    assert (list(names), list(names.first_rows)) == (["bob", "ann", "eve"], [0, 1, 4])
    assert found == [[0, 1, 0], [1, 2]]
    assert [places.where(row) for row in range(5)] == [
        "a.csv line 2",
        "a.csv line 3",
        "a.csv line 4",
        "b.parquet row 1",
        "b.parquet row 2",
    ]


def test_temporary_files_need_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"temporary files (is|are) .*a folder with room for them"):
        RowsByOwner(tmp_path / "none", width=2)


def test_a_disk_that_is_full_is_said(tmp_path: Path) -> None:
    rows = RowsByOwner(tmp_path, width=2)
    with rows:
        (taken,) = tmp_path.iterdir()
        (taken / "all").symlink_to("/dev/full")
        with pytest.raises(ConfigurationError, match=r"a folder with room for them \(No space left on device\)"):
            rows.add(np.zeros((1 << 20, 2), dtype=np.int64))
