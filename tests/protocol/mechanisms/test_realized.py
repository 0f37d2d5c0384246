"""What a law realizes between two rows: equal to the proven ε where that is exact, and never above it."""

import dataclasses
import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.fair_voting.rankings import representative_rankings
from psephos.protocol.mechanisms import (
    NO_ANSWER,
    Beta,
    Disclosure,
    Discrete,
    DiscreteLaplace,
    FreshTwoLayer,
    GeneralizedRandomizedResponse,
    NoisyScores,
    OneLayer,
    PointMass,
    RowMechanism,
    SampledPair,
    SampledPosition,
    SphericalLaplace,
    TwoLayer,
    Uniform,
    VectorLaplace,
    WholeRanking,
    loss_of_all_answers,
)
from psephos.protocol.mechanisms.mechanism import PostProcessed
from psephos.protocol.mechanisms.realized import greatest_gap, realized_loss, reports_to_try, rows_to_try
from psephos.protocol.privacy import NeighboringRelation, PureAccountant
from strategies import CHECKED

SIZES = (2, 3)
HYPERS = [PointMass(0.3), Uniform(0.0, 0.6), Beta(2, 3, 0.0, 0.9), Discrete((0.1, 0.45), (0.5, 0.5))]


def everything(mechanism: RowMechanism, num_values: int) -> list[range]:
    low, high = mechanism.value_range
    return [range(low, high + 1)] * num_values


def proven(mechanism: RowMechanism, values: Sequence[Sequence[int]]) -> float:
    return PureAccountant.epsilon_of(mechanism.event_among(values), NeighboringRelation.REPLACE_ONE)


EXACT: list[tuple[RowMechanism, int]] = [
    *(
        (GeneralizedRandomizedResponse(epsilon, size), width)
        for epsilon, size in [(0.1, 2), (2.0, 5)]
        for width in (1, 4)
    ),
    (GeneralizedRandomizedResponse(1.0, 400), 2),
    (DiscreteLaplace(3.0, 0, 5), 1),
    (DiscreteLaplace(3.0, 0, 5), 3),
    (DiscreteLaplace(2.0**18, 0, 2**19), 2),
    (VectorLaplace(4.0, 6, 3), 1),
    (VectorLaplace(4.0, 12, 3), 2),
    (VectorLaplace(2.0**20, 2**21, 2**20), 1),
    (SampledPair(1.3, 3), 3),
    (SampledPosition(1.3, 3), 3),
    (WholeRanking(1.3, 3), 3),
    (WholeRanking(1.3, 8), 8),
    (OneLayer.from_epsilon(SIZES, 1.0), 3),
    (FreshTwoLayer(SIZES, Uniform(0.0, 0.6)), 2),
]


@pytest.mark.parametrize(("mechanism", "num_values"), EXACT, ids=repr)
def test_what_is_proven_exactly_is_realized(mechanism: RowMechanism, num_values: int) -> None:
    values = everything(mechanism, num_values)
    if isinstance(mechanism, OneLayer | FreshTwoLayer):  # which answer set is public
        values = [range(2, 5)] * num_values
    assert realized_loss(mechanism, values) == pytest.approx(proven(mechanism, values), rel=1e-9)


@pytest.mark.parametrize("hyper", HYPERS, ids=repr)
@pytest.mark.parametrize("answered", [(0,), (0, 0), (0, 1), (1, 1, 0), (0, 0, 0, 0)])
def test_answers_that_share_a_flip_probability_realize_their_joint_loss(
    hyper: Uniform, answered: tuple[int, ...]
) -> None:
    blocks = [(NO_ANSWER, 0, 1), (NO_ANSWER, 2, 3, 4)]
    mechanism = TwoLayer(SIZES, hyper)
    values = [blocks[number] for number in answered]
    joint = loss_of_all_answers([SIZES[number] for number in answered], hyper)
    assert proven(mechanism, values) == joint
    # All rows and all reports are few here.
    assert realized_loss(mechanism, values) == pytest.approx(joint, rel=1e-7)


@CHECKED
@given(
    st.sampled_from([*(mechanism for mechanism, _ in EXACT), SphericalLaplace(500.0, 900.0, 400, 3)]),
    st.integers(1, 40),
)
def test_nothing_is_realized_that_is_not_proven(mechanism: RowMechanism, num_values: int) -> None:
    width = {"SphericalLaplace": 3}.get(type(mechanism).__name__, num_values)
    width = getattr(mechanism, "num_alternatives", width)
    values = everything(mechanism, width)
    bound = PureAccountant.epsilon_of(mechanism.event_of(width), NeighboringRelation.REPLACE_ONE)
    assert 0 <= realized_loss(mechanism, values) <= bound * (1 + 1e-9)


def test_rankings_realize_the_distance_of_the_reversed_one() -> None:
    """Rows that are no rankings may be farther apart, and are not neighbors."""
    mechanism = NoisyScores(0.7, (3, 1, 0, -4))
    assert realized_loss(mechanism, everything(mechanism, 4), rows=representative_rankings(4)) == pytest.approx(
        0.7, rel=1e-9
    )
    assert realized_loss(mechanism, everything(mechanism, 4)) <= 0.7


def test_a_law_that_shows_the_value_realizes_everything() -> None:
    assert realized_loss(Disclosure(2), [range(-2, 3)]) == math.inf


def test_columns_with_one_value_realize_nothing() -> None:
    response = GeneralizedRandomizedResponse(1.0, 3)
    assert realized_loss(response, [(1,), (0,)]) == 0.0
    assert realized_loss(response, [(1,), (0, 2)]) == pytest.approx(1.0, rel=1e-9)
    assert proven(response, [(1,), (0, 2)]) == 1.0


@dataclasses.dataclass(frozen=True)
class Halved(PostProcessed):
    """Half of a report, of which no law is written down."""

    @property
    def noise(self) -> RowMechanism:
        """Four choices."""
        return GeneralizedRandomizedResponse(1.0, 4)

    @property
    def report_range(self) -> tuple[int, int]:
        """Half of four choices."""
        return 0, 1

    def finish_rows(self, noisy: IntArray) -> IntArray:
        """Halve."""
        return noisy // 2


def test_of_a_law_that_is_not_written_down_nothing_is_known() -> None:
    assert realized_loss(Halved(), everything(Halved(), 2)) == 0.0
    assert realized_loss(TwoLayer((2,), Uniform(0.0, 0.6)), [(0, 1)] * 100) == 0.0


def test_a_gap_is_between_neighbors_and_ignores_what_neither_reports() -> None:
    laws = np.log(np.array([[0.5, 0.25, 1e-300], [0.5, 0.75, 1e-300]]))
    laws = np.vstack([laws, [-np.inf, -np.inf, 0.0]])
    everybody = np.ones((3, 3), dtype=np.bool_)
    first_two = np.zeros((3, 3), dtype=np.bool_)
    first_two[:2, :2] = True
    assert greatest_gap(laws, first_two).loss == pytest.approx(math.log(2))
    assert greatest_gap(laws, first_two)[1:] == (0, 1)
    assert greatest_gap(laws, everybody).loss == math.inf
    assert greatest_gap(laws, np.zeros_like(everybody)).loss == 0.0


def test_what_rounding_may_have_added_is_taken_off() -> None:
    laws: FloatArray = np.array([[2.0**40, 2.0**40 - 2.0**-9]])
    assert greatest_gap(laws, np.ones((2, 2), dtype=np.bool_)).loss == 0.0


def test_few_rows_and_reports_are_all_tried() -> None:
    rows = rows_to_try([range(-1, 2), (4, 7)])
    assert rows.tolist() == [list(row) for row in itertools.product(range(-1, 2), (4, 7))]
    reports = reports_to_try(GeneralizedRandomizedResponse(1.0, 4), np.array([[0, 3]], dtype=np.int64))
    assert reports.tolist() == [list(report) for report in itertools.product(range(4), repeat=2)]


@pytest.mark.parametrize("width", [3, 30, 300])
def test_of_many_rows_and_reports_the_ends_and_the_rows_are_tried(width: int) -> None:
    values = [range(-(2**20), 2**20 + 1)] * width
    rows = rows_to_try(values).tolist()
    low, high = -(2**20), 2**20
    for row in ([low] * width, [high] * width, [0] * width, [high, *[0] * (width - 1)], [low, *[0] * (width - 1)]):
        assert row in rows
    assert len(rows) < 150
    mechanism = VectorLaplace(2.0**20, 2**21, 2**20)
    reports = reports_to_try(mechanism, np.array(rows, dtype=np.int64)).tolist()
    assert all(row in reports for row in rows)
    assert [mechanism.report_range[1]] * width in reports
    assert len(reports) < 600


def test_a_column_without_zero_is_tried_at_its_end_that_is_nearest() -> None:
    rows = rows_to_try([range(5, 100), tuple(range(-90, -3)), range(3)]).tolist()
    assert [5, -4, 0] in rows
    assert [99, -4, 0] in rows
