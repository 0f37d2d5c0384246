"""Decisions by a threshold: the law by enumeration, the loss at every distance, and what no rule can do better."""

import itertools
import math
import random

import numpy as np
import pytest
from bad_input import refuses
from psephos.protocol.mechanisms import DiscreteLaplace, ThresholdDecision

SIZES = [(scale, moved) for scale in (0.1, 0.4, 1.0, 3.0, 50.0) for moved in (1, 2, 5)]
EDGES = [(0, -1), (3, -1), (2, -4), (0, -2)]
MARGINS = np.arange(-40, 41)

every_size = pytest.mark.parametrize(("scale", "moved"), SIZES)


def make(scale: float, moved: int, passing: int = 0, failing: int = -1) -> ThresholdDecision:
    return ThresholdDecision(scale, moved, bound=40, passing=passing, failing=failing)


@every_size
@pytest.mark.parametrize(("passing", "failing"), EDGES)
def test_the_law_is_that_of_blocks_with_noise_added_up(scale: float, moved: int, passing: int, failing: int) -> None:
    mechanism = make(scale, moved, passing, failing)
    noise = DiscreteLaplace(scale, 0, 1)
    reach = math.ceil(60 * scale) + 60
    steps = range(-reach, reach + 1)
    law = [noise.noise_probability(step) for step in steps]
    found = np.exp(mechanism.log_probabilities(np.arange(4), MARGINS))
    for place, margin in enumerate(MARGINS.tolist()):
        expected = [0.0] * 4
        for step, chance in zip(steps, law, strict=True):
            block = math.floor(margin / moved) + step
            report = (0 if block <= failing else 1) if block < 0 else (3 if block >= passing else 2)
            expected[report] += chance
        assert found[:, place] == pytest.approx(expected, abs=1e-9)
        wrong = expected[0] + expected[1] if margin >= 0 else expected[2] + expected[3]
        assert mechanism.chance_of_error(margin) == pytest.approx(wrong, rel=1e-6, abs=1e-15)


@every_size
@pytest.mark.parametrize(("passing", "failing"), EDGES)
def test_who_moves_a_number_by_no_more_than_the_sensitivity_loses_what_is_stated_and_no_more(
    scale: float, moved: int, passing: int, failing: int
) -> None:
    mechanism = make(scale, moved, passing, failing)
    logs = mechanism.log_probabilities(np.arange(4), MARGINS)
    possible = ~np.isneginf(logs).all(axis=1)
    assert not np.isneginf(logs[possible]).any()  # what is possible for one is possible for all
    gaps = np.abs(logs[possible][:, :, None] - logs[possible][:, None, :]).max(axis=0)
    rows = MARGINS[:, None]
    assert np.array_equal(mechanism.are_neighbors(rows, rows), np.abs(rows - MARGINS) <= moved)
    assert gaps[mechanism.are_neighbors(rows, rows)].max() == pytest.approx(1 / scale, rel=1e-9)
    assert mechanism.event.epsilon == mechanism.event_of(3).epsilon == pytest.approx(1 / scale)
    wide = ThresholdDecision(scale, moved, bound=40, width=4)
    assert wide.event.epsilon == pytest.approx(4 / scale)
    assert wide.event_of_one_among([range(3)] * 4).epsilon == pytest.approx(1 / scale)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("moved", [1, 2, 7])
def test_no_rule_is_wrong_less_often_over_two_neighbors_around_the_threshold(epsilon: float, moved: int) -> None:
    """Its chances meet the bounds of the module with equality, and a sum's noisy sign does not."""
    mechanism = make(1 / epsilon, moved)
    least = 2 / (1 + math.exp(epsilon))
    for margin in range(moved):
        pair = [mechanism.chance_of_error(each) for each in (margin, margin - moved)]
        assert sum(pair) == pytest.approx(least, rel=1e-12)
        assert max(pair) == pytest.approx(least / 2, rel=1e-12)
        fine = DiscreteLaplace(moved / epsilon, 0, 1)
        tails = [math.fsum(fine.noise_probability(step) for step in range(own, 4_000)) for own in (margin + 1, 0)]
        other = math.fsum(fine.noise_probability(step) for step in range(moved - margin, 4_000))
        assert tails[0] + other >= least * (1 - 1e-9)
    for margin in range(-4 * moved, 3 * moved):
        further = margin + moved if margin >= 0 else margin - moved
        assert mechanism.chance_of_error(further) == pytest.approx(
            math.exp(-epsilon) * mechanism.chance_of_error(margin), rel=1e-12
        )


@pytest.mark.parametrize(("passing", "failing"), EDGES)
@pytest.mark.parametrize("margin", [-11, -1, 0, 4])
def test_both_samplers_follow_the_law(margin: int, passing: int, failing: int) -> None:
    """Chi-squared with 3 degrees of freedom below 24: a false alarm of 2.5e-5 for each of 32 checks."""
    mechanism, number = make(1.3, 3, passing, failing), 4_000
    law = np.exp(mechanism.log_probabilities(np.arange(4), np.array([margin])))[:, 0]
    uniforms = np.random.default_rng(7).random((number, 1))
    values = np.full(number, margin, dtype=np.int64)
    below = random.Random(7).randrange
    drawn = mechanism.randomize(values, uniforms)
    assert drawn[:50].tolist() == [mechanism.randomize_one(margin, row) for row in uniforms[:50].tolist()]
    exact = [mechanism.randomize_exactly([margin], below)[0] for _ in range(number)]
    for reports in (drawn, np.array(exact)):
        counts = np.bincount(reports, minlength=4)
        expected = number * law
        assert not counts[expected == 0].any()
        some = expected > 0
        assert float((np.square(counts - expected)[some] / expected[some]).sum()) < 24


def test_reports_come_in_order_and_rows_column_by_column() -> None:
    mechanism = make(0.5, 3, 2, -3)
    assert (mechanism.report_range, mechanism.value_range) == ((0, 3), (-40, 40))
    reports = [mechanism.randomize_one(margin, (0.5,)) for margin in MARGINS.tolist()]
    assert reports == sorted(reports)
    assert {*reports} == {0, 1, 2, 3}
    rows = np.array(list(itertools.product([-9, 0, 2], repeat=2)))
    logs = mechanism.log_likelihoods(np.array([[0, 3]]), rows)
    alone = mechanism.log_probabilities(np.array([0, 3]), np.array([-9, 0, 2]))
    assert logs[0] == pytest.approx([alone[0, one] + alone[1, other] for one in range(3) for other in range(3)])


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"scale": 0.0}, "scale"),
        ({"sensitivity": 0}, "sensitivity"),
        ({"sensitivity": 81}, "sensitivity"),
        ({"bound": 0}, "bound"),
        ({"bound": 2**61}, "bound"),
        ({"passing": -1}, "passing"),
        ({"failing": 0}, "failing"),
        ({"width": 0}, "width"),
    ],
)
def test_what_is_no_threshold_is_refused(given: dict[str, float], field: str) -> None:
    with refuses(field):
        ThresholdDecision(**{"scale": 1.0, "sensitivity": 2, "bound": 40, **given})  # type: ignore[arg-type]  as given


def test_a_number_out_of_range_is_not_drawn_for() -> None:
    with pytest.raises(ValueError, match=r"use values from"):
        make(1.0, 2).randomize_exactly([41], random.Random(1).randrange)
