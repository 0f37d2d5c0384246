"""Channels given by tables of integers: the law is the table, whoever draws and on whatever path, and ε is exact."""

import decimal
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.mechanisms import FiniteChannel
from psephos.protocol.mechanisms.finite_channel import TOTAL_MASS, TOTAL_MASS_BITS, least_ratio_of
from psephos.protocol.privacy import LocalRandomizer
from strategies import CHECKED

HALF = TOTAL_MASS // 2
# Report 1 never comes, and the last one of all is as rare as can be for value 0.
SPARSE = FiniteChannel(
    30.0, ((HALF, 0, HALF - 1, 1), (HALF - 2**40, 0, HALF + 2**40 - 99, 99), (1000, 0, TOTAL_MASS - 3000, 2000))
)


def tight(epsilon: float) -> tuple[int, int]:
    """Return a mass and the least that may stand beside it in its column at this ε."""
    ratio = least_ratio_of(epsilon)
    return HALF, -(-HALF * ratio.numerator // ratio.denominator)


@st.composite
def channels(draw: st.DrawFn) -> FiniteChannel:
    """Return channels of ε = 30, some of whose reports never come."""
    width = draw(st.integers(1, 6))
    masses = st.lists(st.integers(2**20, 2**40), min_size=width, max_size=width)
    never = draw(st.lists(st.booleans(), min_size=width, max_size=width))
    rows: list[tuple[int, ...]] = []
    for _ in range(draw(st.integers(2, 5))):
        row = [0 if empty else mass for mass, empty in zip(draw(masses), never, strict=True)]
        rest = TOTAL_MASS - sum(row)
        common = never.index(False) if False in never else 0
        row[common] += rest
        rows.append(tuple(row))
    return FiniteChannel(30.0, tuple(rows))


def test_ranges_count_rows_and_columns() -> None:
    assert SPARSE.value_range == (0, 2)
    assert SPARSE.report_range == (0, 3)
    assert SPARSE.slots == 1
    assert SPARSE.event == LocalRandomizer(epsilon=30.0)


@CHECKED
@given(channels())
def test_each_report_has_as_many_places_as_its_mass(channel: FiniteChannel) -> None:
    """The first and the last place of each part, so that no place is left out or counted twice."""
    for value, row in enumerate(channel.masses):
        start = 0
        for report, mass in enumerate(row):
            if mass:
                assert channel.report_at(value, start) == report
                assert channel.report_at(value, start + mass - 1) == report
            start += mass
        assert start == TOTAL_MASS


@CHECKED
@given(channels(), st.data())
def test_arrays_and_one_value_draw_the_same_at_all_bounds(channel: FiniteChannel, data: st.DataObject) -> None:
    """Every place beside a bound, in every row, and some in between: all three ways agree."""
    values: list[int] = []
    places: list[int] = []
    for value, row in enumerate(channel.masses):
        ends = np.cumsum(row, dtype=np.int64).tolist()
        drawn = data.draw(st.lists(st.integers(0, TOTAL_MASS - 1), max_size=5))
        near = {0, TOTAL_MASS - 1, *drawn, *(end + step for end in ends for step in (-1, 0, 1))}
        chosen = sorted(place for place in near if 0 <= place < TOTAL_MASS)
        values += [value] * len(chosen)
        places += chosen
    uniforms = np.array(places, dtype=np.float64) / TOTAL_MASS
    together = channel.randomize(np.array(values), uniforms[:, None])
    assert together.dtype == np.int64
    alone = [channel.randomize_one(value, (u,)) for value, u in zip(values, uniforms.tolist(), strict=True)]
    at = [channel.report_at(value, place) for value, place in zip(values, places, strict=True)]
    assert together.tolist() == alone == at
    assert not {r for r in alone if not any(row[r] for row in channel.masses)}


def test_the_largest_table_is_drawn_right_in_its_last_row() -> None:
    """512 rows: the number of the last one and a place in it fill 62 bits."""
    rows = tuple((HALF - value, HALF + value) for value in range(512))
    channel = FiniteChannel(1.0, rows)
    places = np.array([0, HALF - 512, HALF - 511, TOTAL_MASS - 1], dtype=np.float64) / TOTAL_MASS
    assert channel.randomize(np.full(4, 511), places[:, None]).tolist() == [0, 0, 1, 1]
    assert channel.randomize(np.full(4, 510), places[:, None]).tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("epsilon", [1e-9, 0.01, 0.5, math.log(2), 1.0, 3.0, 10.0, 30.0])
def test_the_privacy_check_is_exact_to_one_unit_of_mass(epsilon: float) -> None:
    """At the edge the column's ratio is e^(−ε) in forty digits and more; a unit less on its lower side is refused."""
    greatest, least = tight(epsilon)
    accepted = FiniteChannel(epsilon, ((greatest, TOTAL_MASS - greatest), (least, TOTAL_MASS - least)))
    with decimal.localcontext(prec=60):
        assert Decimal(least) >= Decimal(greatest) * (-Decimal(epsilon)).exp()
        # The limit is no looser than rounding makes it: two units, and a trace of the ratio.
        assert Decimal(least) <= Decimal(greatest) * (-Decimal(epsilon)).exp() + 2 + 2 ** (TOTAL_MASS_BITS - 49)
    assert accepted.epsilon == epsilon
    for column, (a, b) in enumerate([(greatest, least - 1), (TOTAL_MASS - greatest, TOTAL_MASS - least + 1)]):
        masses = (
            ((a, TOTAL_MASS - a), (b, TOTAL_MASS - b)) if column == 0 else ((TOTAL_MASS - a, a), (TOTAL_MASS - b, b))
        )
        with pytest.raises(ConfigurationError, match="within a factor of e\\^epsilon") as caught:
            FiniteChannel(epsilon, masses)
        assert caught.value.field == "masses"
        assert caught.value.value == (least - 1, greatest)


@pytest.mark.parametrize("column", [0, 1, 2])
def test_every_column_is_checked_and_named(column: int) -> None:
    """A report that one value never makes and another does tells them apart beyond every ε."""
    one, other = [TOTAL_MASS // 3] * 3, [TOTAL_MASS // 3] * 3
    for row in (one, other):
        row[0] += TOTAL_MASS - sum(row)
    other[(column + 1) % 3] += other[column]
    other[column] = 0
    with pytest.raises(ConfigurationError, match=f"in column {column}"):
        FiniteChannel(30.0, (tuple(one), tuple(other)))


ROW = (HALF, HALF)
BAD_TABLES: list[Any] = [
    (),
    (ROW,),
    ((), ()),
    (ROW, (TOTAL_MASS,)),
    (ROW, (*ROW, 0)),
    (ROW, (HALF, HALF - 1)),
    (ROW, (HALF, HALF + 1)),
    (ROW, (TOTAL_MASS + 1, -1)),
    (ROW,) * 513,
    (ROW, (HALF, float(HALF))),  # another law than the one compared, once it is drawn from
]


@pytest.mark.parametrize("masses", BAD_TABLES, ids=range(len(BAD_TABLES)))
def test_what_is_no_law_is_refused(masses: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(ConfigurationError, match="2 to 512 rows of one length") as caught:
        FiniteChannel(1.0, masses)
    assert (caught.value.field, caught.value.value) == ("masses", f"{len(masses)} rows")


@pytest.mark.parametrize("value", [-1, 3, 10**6])
def test_a_value_out_of_range_is_refused_on_every_path(value: int) -> None:
    for call in (
        lambda: SPARSE.report_at(value, 0),
        lambda: SPARSE.randomize_one(value, (0.5,)),
        lambda: SPARSE.randomize(np.array([0, value]), np.zeros((2, 1))),
    ):
        with pytest.raises(ValueError, match=r"use (a value|values) from 0 to 2"):
            call()
