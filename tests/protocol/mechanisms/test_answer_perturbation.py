"""Answer perturbation: the formulas of Theorems 6.2 to 6.4, hand-worked draws, and what is refused.

The laws of rows, and what they lose, are the conformance battery's.
"""

import decimal
import math
from fractions import Fraction

import hypothesis
import numpy as np
import pytest
from bad_input import refuses
from exact_laws import exact_log
from hypothesis import strategies as st
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.mechanisms import (
    MAX_EPSILON,
    MIN_FLIP_PROBABILITY,
    NO_ANSWER,
    Beta,
    Discrete,
    FreshTwoLayer,
    HyperDistribution,
    OneLayer,
    PointMass,
    RowMechanism,
    TwoLayer,
    Uniform,
    block_offsets,
    epsilon_of,
    flip_probability_of,
    loss_of_all_answers,
)
from psephos.protocol.privacy import (
    LocalRandomizer,
    NeighboringRelation,
    NonPrivate,
    NoRelease,
    PureAccountant,
    RandomizedResponse,
    SelfComposed,
)

GREATEST_UNIFORM = 1 - 2.0**-53
SIZES = (2, 4, 3)  # codes 0 1 | 2 3 4 5 | 6 7 8

HYPERS: list[HyperDistribution] = [
    PointMass(0.3),
    Uniform(0.0, 0.8),
    Uniform(0.4, 1.0),
    Beta(2, 3),
    Discrete((0.0, 0.9), (0.6, 0.4)),
]
MECHANISMS: list[RowMechanism] = [
    OneLayer.from_epsilon(SIZES, 1.0),
    OneLayer(SIZES, (0.1, 0.75, 0.0)),
    *(kind(SIZES, hyper) for kind in (TwoLayer, FreshTwoLayer) for hyper in HYPERS),
]

mechanisms = pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
hypers = pytest.mark.parametrize("hyper", HYPERS, ids=repr)
epsilons = st.floats(0.0, MAX_EPSILON)
numbers_of_labels = st.integers(2, 40)


def block_of(code: int) -> int:
    return sum(code >= offset for offset in block_offsets(SIZES)[1:-1])


@mechanisms
@pytest.mark.parametrize("uniform", [0.0, 2.0**-53, 0.25, 0.5, GREATEST_UNIFORM])
def test_a_report_stays_in_its_block_and_no_answer_stays_none(mechanism: RowMechanism, uniform: float) -> None:
    row = [*range(sum(SIZES)), NO_ANSWER]
    reports = mechanism.randomize_row(row, [uniform] * mechanism.slots_of(len(row)))
    assert reports[-1] == NO_ANSWER
    assert [block_of(report) for report in reports[:-1]] == [block_of(value) for value in row[:-1]]
    arrays = np.array([row], dtype=np.int64), np.full((1, mechanism.slots_of(len(row))), uniform)
    assert mechanism.randomize_rows(*arrays).tolist() == [reports]


def test_hand_worked_reports() -> None:
    """At p = 3/4 of four labels: [0, 1/4), [1/4, 1/2), [1/2, 3/4) are the three lies in order, the rest keeps."""
    mechanism = OneLayer((2, 4), (0.5, 0.75))
    reports = [mechanism.randomize_one(3, (u,)) for u in (0.0, 0.24, 0.25, 0.49, 0.5, 0.74, 0.75, 0.99)]
    assert reports == [2, 2, 4, 4, 5, 5, 3, 3]
    assert [mechanism.randomize_one(0, (u,)) for u in (0.49, 0.5)] == [1, 0]


def test_one_draw_serves_the_whole_row() -> None:
    """The first uniform makes p = 1/2 or 0 for all; with p = 0 nothing is flipped, whatever comes."""
    mechanism = TwoLayer((2,), Discrete((0.0, 0.5), (0.5, 0.5)))
    assert mechanism.slots_of(3) == 4
    assert mechanism.randomize_row([0, 1, 1], [0.25, 0.0, 0.0, 0.0]) == [0, 1, 1]
    assert mechanism.randomize_row([0, 1, 1], [0.75, 0.0, 0.25, 0.5]) == [1, 0, 1]
    fresh = FreshTwoLayer((2,), Discrete((0.0, 0.5), (0.5, 0.5)))
    assert fresh.slots_of(3) == 6
    assert fresh.randomize_row([0, 1, 1], [0.25, 0.0, 0.75, 0.25, 0.75, 0.5]) == [0, 0, 1]


def test_hand_worked_flip_probabilities() -> None:
    """e^ε = 3: 1/4 of two labels; e^ε = 2: 1/2 of three; ε = 0: any label alike."""
    assert flip_probability_of(math.log(3), 2) == pytest.approx(1 / 4, rel=1e-14)
    assert flip_probability_of(math.log(2), 3) == pytest.approx(1 / 2, rel=1e-14)
    assert flip_probability_of(0.0, 2) == 1 / 2
    assert flip_probability_of(0.0, 3) == 2 / 3
    assert epsilon_of(0.25, 2) == pytest.approx(math.log(3), rel=1e-15)
    assert epsilon_of(0.5, 3) == pytest.approx(math.log(2), rel=1e-15)
    assert epsilon_of(0.0, 2) == math.inf


@pytest.mark.parametrize("num_labels", range(2, 60))
def test_a_loss_of_zero_is_exactly_zero(num_labels: int) -> None:
    assert epsilon_of(flip_probability_of(0.0, num_labels), num_labels) == 0


@hypothesis.given(epsilons, numbers_of_labels)
def test_the_stated_loss_is_an_upper_bound_and_tight(epsilon: float, num_labels: int) -> None:
    """In exact arithmetic, for the flip probability as its float holds it."""
    flip = flip_probability_of(epsilon, num_labels)
    exact = exact_log((1 - Fraction(flip)) * (num_labels - 1) / Fraction(flip))
    even = flip == (num_labels - 1) / num_labels  # the nearest float to it may be on either side
    assert exact <= decimal.Decimal(epsilon) or even
    assert float(exact) == pytest.approx(epsilon, rel=1e-14, abs=1e-14)
    assert epsilon_of(flip, num_labels) <= epsilon


def test_events_of_one_layer() -> None:
    """One block: k-RR itself; several: the worst ε over the fewest labels covers all."""
    one = OneLayer.from_flip_probability((3,), 0.5)
    assert one.event == RandomizedResponse(epsilon=one.epsilon, num_choices=3)
    assert one.epsilon == pytest.approx(math.log(2), rel=1e-15)
    assert one.event_of(7) == SelfComposed(one.event, 7)
    several = OneLayer((3, 2), (0.5, 0.25))
    assert several.event == RandomizedResponse(epsilon=epsilon_of(0.25, 2), num_choices=2)
    even = OneLayer.from_epsilon((2, 5), 0.0)
    assert even.flip_probabilities == (1 / 2, 4 / 5)
    assert PureAccountant.epsilon_of(even.event_of(9), NeighboringRelation.REPLACE_ONE) == 0
    assert OneLayer((2, 3), (0.0, 0.5)).event == NonPrivate()


def test_events_of_two_layers() -> None:
    hyper = Uniform(0.0, 0.5)
    two = TwoLayer((2, 3), hyper)
    assert two.event_of(0) == NoRelease()
    assert two.event_of(5) == LocalRandomizer(epsilon=loss_of_all_answers((3,) * 5, hyper))
    assert TwoLayer((2,), Uniform(0.0, 0.0)).event_of(1) == NonPrivate()
    fresh = FreshTwoLayer((2,), hyper)
    assert fresh.event == RandomizedResponse(epsilon=epsilon_of(0.25, 2), num_choices=2)
    assert FreshTwoLayer((2, 3), hyper).event == LocalRandomizer(epsilon=epsilon_of(0.25, 3))
    assert FreshTwoLayer((2,), PointMass(0.75)).event == LocalRandomizer(epsilon=epsilon_of(0.25, 2))
    assert FreshTwoLayer((2,), PointMass(0.0)).event == NonPrivate()


def test_a_wrong_shape_is_refused() -> None:
    two = TwoLayer(SIZES, Uniform(0.0, 0.5))
    for values, uniforms in (((2, 3), (2, 3)), ((2, 3), (1, 4)), ((3,), (3, 4))):
        with pytest.raises(ValueError, match="shape"):
            two.randomize_rows(np.zeros(values, dtype=np.int64), np.zeros(uniforms))
    with pytest.raises(ValueError, match="shape"):
        OneLayer.from_epsilon(SIZES, 1.0).randomize(np.zeros(2, dtype=np.int64), np.zeros((3, 1)))


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: OneLayer((), ()), "sizes"),
        (lambda: OneLayer((2, 1), (0.1, 0.1)), "sizes"),
        (lambda: OneLayer((2, 3), (0.1,)), "flip_probabilities"),
        (lambda: OneLayer((2, 3), (0.6, 0.6)), "flip_probabilities"),
        (lambda: OneLayer((2,), (-0.1,)), "flip_probabilities"),
        (lambda: OneLayer((2,), (math.nan,)), "flip_probabilities"),
        (lambda: OneLayer((2,), (MIN_FLIP_PROBABILITY / 2,)), "flip_probabilities"),
        (lambda: OneLayer.from_flip_probability((2, 3), 0.6), "flip_probabilities"),
        (lambda: OneLayer.from_epsilon((), 1.0), "sizes"),
        (lambda: OneLayer.from_epsilon((2,), -0.1), "epsilon"),
        (lambda: OneLayer.from_epsilon((2,), 30.1), "epsilon"),
        (lambda: OneLayer.from_epsilon((2,), math.nan), "epsilon"),
        (lambda: TwoLayer((), PointMass(0.2)), "sizes"),
        (lambda: TwoLayer((1,), PointMass(0.2)), "sizes"),
        (lambda: FreshTwoLayer((), PointMass(0.2)), "sizes"),
        (lambda: flip_probability_of(1.0, 1), "num_labels"),
        (lambda: epsilon_of(0.2, 1), "num_labels"),
        (lambda: epsilon_of(0.7, 3), "flip_probability"),
        (lambda: epsilon_of(-0.1, 3), "flip_probability"),
    ],
)
def test_what_is_out_of_range_is_refused_by_field(make: object, field: str) -> None:
    assert callable(make)
    with refuses(field):
        make()


def test_a_flip_probability_beyond_the_even_one_is_told_its_limit() -> None:
    with pytest.raises(ConfigurationError, match=r"flip_probability is 0\.7: use a value from 0 to 2/3 for 3 labels"):
        epsilon_of(0.7, 3)
