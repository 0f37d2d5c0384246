"""Records side by side: how they are cut into voters, and what is refused."""

import math
from typing import Any, cast

import numpy as np
import pytest
from psephos.protocol.moral_preferences import Records
from psephos.protocol.moral_preferences.records import GREATEST_FEATURE


def pair(chosen: list[float], rejected: list[float]) -> list[list[float]]:
    return [chosen, rejected]


FIRST = np.array([pair([1.0, 2.0], [0.0, 5.0]), pair([3.0, 0.0], [1.0, 1.0])])
SECOND = np.array([pair([0.5, 0.5], [0.25, 1.0])])
NOBODY = np.empty((0, 2, 2))


def offsets(*numbers: int) -> np.typing.NDArray[np.int64]:
    return np.array(numbers, dtype=np.int64)


def test_records_of_voters_stand_one_voter_after_another() -> None:
    records = Records.from_voters([FIRST, NOBODY, SECOND], num_features=2)
    assert len(records) == 3
    assert records.num_features == 2
    assert records.offsets.tolist() == [0, 2, 2, 3]
    assert records.num_records.tolist() == [2, 0, 1]
    assert records.chosen.tolist() == [[1.0, 2.0], [3.0, 0.0], [0.5, 0.5]]
    assert records.rejected.tolist() == [[0.0, 5.0], [1.0, 1.0], [0.25, 1.0]]
    assert records.differences.tolist() == [[1.0, -3.0], [2.0, -1.0], [0.25, -0.5]]


def test_a_range_of_voters_has_their_records_and_offsets_from_0() -> None:
    records = Records.from_voters([FIRST, NOBODY, SECOND], num_features=2)
    some = records.slice_rows(1, 3)
    assert some.offsets.tolist() == [0, 0, 1]
    assert some.differences.tolist() == [[0.25, -0.5]]
    assert len(records.slice_rows(0, 0)) == 0
    assert records.slice_rows(0, 3).differences.tolist() == records.differences.tolist()


@pytest.mark.parametrize("shape", [(2, 2), (3, 2, 3), (3, 1, 2), (2,), (1, 2, 2, 1)])
def test_a_voter_of_another_shape_is_named_by_its_place(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="voter 1 has records of shape"):
        Records.from_voters([FIRST, np.zeros(shape)], num_features=2)


@pytest.mark.parametrize("ends", [(), (0,), (0, 1), (1, 2), (0, 3), (0, 2, 1, 2), ((0, 2),)])
def test_offsets_that_do_not_go_upwards_to_the_number_of_records_are_refused(ends: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="never fall, from 0 to 2"):
        Records(offsets(*ends), FIRST[:, 0], FIRST[:, 1])


@pytest.mark.parametrize("shapes", [((2, 2), (2, 3)), ((2, 2), (1, 2)), ((2,), (2,))])
def test_tables_of_different_shapes_are_refused(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    with pytest.raises(ValueError, match="give two of one shape"):
        Records(offsets(0, 2), np.zeros(shapes[0]), np.zeros(shapes[1]))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 2 * GREATEST_FEATURE, -1e308])
@pytest.mark.parametrize("side", [0, 1])
def test_features_that_are_no_finite_numbers_or_too_large_to_compute_with_are_refused(bad: float, side: int) -> None:
    pairs = FIRST.copy()
    pairs[1, side, 0] = bad
    with pytest.raises(ValueError, match=r"features are out of range: use numbers"):
        Records(offsets(0, 2), pairs[:, 0], pairs[:, 1])


def test_the_largest_features_have_a_finite_difference() -> None:
    records = Records.from_voters([GREATEST_FEATURE * np.array([pair([1.0], [-1.0])])], num_features=1)
    assert records.differences.tolist() == [[2 * GREATEST_FEATURE]]


def test_a_voters_records_are_found_by_its_place() -> None:
    records = Records.from_voters([FIRST, NOBODY, SECOND], num_features=2)
    assert records[0].tolist() == FIRST.tolist()
    assert records[1].shape == (0, 2, 2)
    assert records[-1].tolist() == SECOND.tolist()
    assert [each.tolist() for each in records[1:]] == [[], SECOND.tolist()]
    assert [len(each) for each in records] == [2, 0, 1]
    for place in (3, -4):
        with pytest.raises(IndexError):
            _ = records[place]


def test_arrays_of_another_type_are_refused() -> None:
    whole = np.array([[1, 2]], dtype=np.int64)
    with pytest.raises(TypeError, match="give int64, float64, float64"):
        Records(np.array([0, 1], dtype=np.int64), cast("Any", whole), cast("Any", whole))
    with pytest.raises(TypeError, match="offsets and features are float64, float64, float64: give int64, float64"):
        Records(cast("Any", np.array([0.0, 1.0])), np.zeros((1, 2)), np.zeros((1, 2)))
