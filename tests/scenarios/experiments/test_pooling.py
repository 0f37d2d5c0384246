"""Cells of a calibration as one line: means by numbers, the greatest deviation, and what is not there."""

import math
from typing import Any

import pytest
from psephos.scenarios.experiments.calibration import Claims
from psephos.scenarios.experiments.pooling import CLAIM_COLUMNS, pool, written_share


class Cell(Claims, frozen=True, kw_only=True):
    """With one more share."""

    name: str
    decided: float


def cell(**given: Any) -> Cell:
    fields: dict[str, Any] = {
        "number": 10,
        "claimed": 0.2,
        "found": 0.3,
        "deviation": 1.0,
        "small_number": 0,
        "small_claimed": math.nan,
        "small_found": math.nan,
        "small_deviation": math.nan,
        "name": "first",
        "decided": 0.5,
    }
    return Cell(**{**fields, **given})


def test_means_are_by_numbers_and_the_greatest_deviation_is_shown() -> None:
    small = {"small_number": 4, "small_claimed": 0.01, "small_found": 0.25, "small_deviation": 5.0}
    one = pool(
        [cell(), cell(number=30, claimed=0.4, found=0.1, deviation=-3.0, decided=0.9, **small)], shares=["decided"]
    )
    assert (one.number, one.small_number, one.name) == (40, 4, "first")
    assert (one.claimed, one.found) == (pytest.approx(0.35), pytest.approx(0.15))
    assert one.decided == pytest.approx(0.8)
    assert one.deviation == -3.0
    assert (one.small_claimed, one.small_found, one.small_deviation) == (0.01, 0.25, 5.0)


def test_what_no_cell_has_is_nan_and_written_as_nothing() -> None:
    one = pool([cell(decided=math.nan), cell(decided=math.nan)], shares=["decided"])
    assert math.isnan(one.decided)
    assert math.isnan(one.small_claimed)
    assert [column(one) for _, column in CLAIM_COLUMNS] == ["0.200", "0.300", "0", "", ""]
    assert written_share(0.12345) == "0.123"
