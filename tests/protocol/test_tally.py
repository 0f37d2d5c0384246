"""Tallies: sums that merge exactly, and rows that are kept apart."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from psephos.protocol import Tally
from psephos.protocol.tally import Merged


def tally(num_reports: int, *totals: int) -> Tally:
    return Tally(num_reports, np.array(totals, dtype=np.int64))


def test_merging_adds_reports_and_totals_and_keeps_their_shape() -> None:
    assert tally(2, 5, 7).merge(tally(3, -1, 10)) == tally(5, 4, 17)
    square = Tally(1, np.ones((2, 3, 2), dtype=np.int64))
    assert square.merge(square) == Tally(2, 2 * square.totals)


def test_tallies_of_different_shapes_do_not_merge() -> None:
    with pytest.raises(ValueError, match=r"shapes \(\(2,\), \(0, 0\)\) and \(\(1, 2\), \(0, 0\)\)"):
        tally(1, 1, 2).merge(Tally(1, np.ones((1, 2), dtype=np.int64)))
    with pytest.raises(ValueError, match=r"\(1, 2\)\) and \(\(1,\), \(1, 3\)\) do not merge"):
        kept([1, 2]).merge(kept([1, 2, 3], columns=3))
    with pytest.raises(ValueError, match="do not merge"):
        kept([1, 2]).merge(tally(1, 1))


def test_a_total_above_64_bits_is_refused() -> None:
    with pytest.raises(OverflowError):
        tally(1, 2**63 - 1).merge(tally(1, 1))


@pytest.mark.parametrize("total", [0, 2**62 - 1, 2**62, 2**63 - 1, -(2**63)])
def test_an_empty_tally_is_neutral_up_to_the_largest_total(total: int) -> None:
    assert tally(1, total).merge(tally(0, 0)) == tally(1, total)


def test_a_total_that_fits_is_not_refused() -> None:
    assert tally(1, 2**62 + 5).merge(tally(1, -7)) == tally(2, 2**62 - 2)


def test_equality_is_by_value_and_hashes_agree() -> None:
    others = [tally(2, 2), tally(1, 3), tally(1, 2, 2), kept([1, 2]), kept([1, 3]), kept([1, 2], [1, 3])]
    assert len({tally(1, 2), tally(1, 2), kept([1, 2]), *others}) == 1 + len(others)
    assert tally(1, 2) != "a tally"
    assert kept([1, 2]) != tally(1, 1)


@pytest.mark.parametrize(
    ("totals", "rows", "words"),
    [
        ([1.5], None, "float64"),
        ([1], [[1.5]], "a tally's rows are float64: convert them to int64"),
        ([1], np.array([[1]], dtype=np.int32), "a tally's rows are int32: convert them to int64"),
    ],
)
def test_anything_but_64_bit_integers_is_refused(totals: Any, rows: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        Tally(1, np.array(totals), *([] if rows is None else [np.asarray(rows)]))


# Rows


def kept(*rows: Sequence[int], columns: int = 2) -> Tally:
    """Return the tally of one client that keeps these rows."""
    return Tally(1, np.array([1], dtype=np.int64), np.array(rows, dtype=np.int64).reshape(-1, columns))


def test_a_tally_keeps_no_rows_unless_it_says_so() -> None:
    assert tally(1, 2).rows.shape == (0, 0)
    assert tally(1, 2).rows.dtype == np.int64
    assert tally(1, 2).merge(tally(1, 3)).rows.shape == (0, 0)


@pytest.mark.parametrize(
    ("first", "second", "union"),
    [
        ([[0, 1]], [[2, 0]], [[0, 1], [2, 0]]),
        ([[2, 0]], [[0, 1]], [[0, 1], [2, 0]]),
        ([[0, 0], [2, 0]], [[1, 5], [3, -1]], [[0, 0], [1, 5], [2, 0], [3, -1]]),
        ([[1, 0], [1, 9]], [[1, -3], [1, 4]], [[1, -3], [1, 0], [1, 4], [1, 9]]),
        ([[-(2**63), 0]], [[2**63 - 1, 0]], [[-(2**63), 0], [2**63 - 1, 0]]),
        ([], [[1, 1]], [[1, 1]]),
        ([[1, 1]], [], [[1, 1]]),
        ([], [], []),
    ],
)
def test_rows_merge_by_union_in_ascending_order(
    first: list[list[int]], second: list[list[int]], union: list[list[int]]
) -> None:
    merged = kept(*first).merge(kept(*second))
    assert merged.rows.tolist() == union
    assert merged.rows.dtype == np.int64
    assert merged.rows.shape == (len(union), 2)
    assert (merged.num_reports, merged.totals.tolist()) == (2, [2])


@pytest.mark.parametrize("order", [1, -1, 5])
@pytest.mark.parametrize("number", [1, 2, 3, 7, 8, 21])
def test_rows_of_many_tallies_are_copied_once(number: int, order: int, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [Tally(1, np.array([place]), np.array([[place, -place], [place, 0]])) for place in range(number)]
    parts.sort(key=lambda part: order * int(part.totals[0]) % 7)
    expected = functools.reduce(Tally.merge, parts)
    joined: list[int] = []
    concatenate = np.concatenate

    def counted(arrays: Any, *args: Any, **more: Any) -> Any:
        joined.append(sum(map(len, arrays)))
        return concatenate(arrays, *args, **more)

    merged = Merged()
    monkeypatch.setattr(np, "concatenate", counted)
    for part in parts:
        merged.add(part)
    assert merged.total() == expected
    assert joined == ([2 * number] if number > 1 else [])


def test_no_tallies_have_no_merged_one() -> None:
    with pytest.raises(ValueError, match="no tally"):
        Merged().total()


@pytest.mark.parametrize("shape", [(3, 2), (2, 3)])
def test_tallies_of_other_shapes_do_not_come_together(shape: tuple[int, int]) -> None:
    merged = Merged()
    merged.add(kept([1, 2]))
    with pytest.raises(ValueError, match="do not merge"):
        merged.add(Tally(1, np.zeros(shape[0] - 1, dtype=np.int64), np.zeros((1, shape[1]), dtype=np.int64)))


def test_merging_changes_no_rows() -> None:
    first, second = kept([2, 0]), kept([0, 1])
    merged = first.merge(second)
    assert (first, second) == (kept([2, 0]), kept([0, 1]))
    assert merged == second.merge(first)
