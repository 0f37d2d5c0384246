"""Group and ranking randomized together: laws over all groups and rankings, losses, and bits."""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from bad_input import refuses
from exact_laws import law_of_rows
from psephos.protocol.arrays import IntArray
from psephos.protocol.fair_voting.rankings import cells_of_members, members_of_cells
from psephos.protocol.mechanisms import (
    MAX_ALTERNATIVES,
    MAX_JOINT_GROUPS,
    MAX_RANKED,
    JointPair,
    JointPosition,
    JointRanking,
    JointScores,
    NoisyScores,
    RowMechanism,
    SampledPosition,
)
from psephos.protocol.privacy import NeighboringRelation, PureAccountant

EPSILONS = [0.01, 1.0, 3.0, 30.0]
SHAPES = [(2, 2, 1), (2, 2, 2), (3, 2, 1), (3, 2, 2), (2, 3, 2), (3, 3, 1), (3, 3, 3), (2, 4, 3)]
every_shape = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "m = {}, G = {}, s = {}".format(*shape))


def members(size: int, num_groups: int) -> IntArray:
    """Return every ranking within every group."""
    rankings = np.array(list(itertools.permutations(range(size))), dtype=np.int64)
    return np.concatenate([cells_of_members(np.full(len(rankings), group), rankings) for group in range(num_groups)])


def reports_of(mechanism: JointPair) -> IntArray:
    signs = itertools.product((-1, 0, 1), repeat=mechanism.num_groups)
    possible = [own for own in signs if sum(map(abs, own)) == mechanism.num_signs]
    rows = [[question, *own] for question in range(mechanism.num_questions) for own in possible]
    return np.array(rows, dtype=np.int64)


def make_all(size: int, num_groups: int) -> list[RowMechanism]:
    steps = tuple(range(3 * size - 3, -3 * size, -6))
    return [
        *(JointPair(1.1, size, num_groups, number) for number in range(1, num_groups + 1)),
        JointPosition(1.1, size, num_groups),
        JointRanking(1.1, size, num_groups),
        JointScores(1.1, steps, num_groups),
    ]


def proven(mechanism: RowMechanism, size: int) -> float:
    return PureAccountant.epsilon_of(mechanism.event_of(size), NeighboringRelation.REPLACE_ONE)


@every_shape
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_signs_have_a_law_that_sums_to_one_and_attains_the_loss(shape: tuple[int, int, int], epsilon: float) -> None:
    """Over all groups, rankings and reports: the largest log ratio is the proven ε, and no more."""
    mechanism = JointPair(epsilon, *shape)
    logs = mechanism.log_likelihoods(reports_of(mechanism), members(*shape[:2]))
    assert np.exp(logs).sum(axis=0) == pytest.approx(np.ones(logs.shape[1]), abs=1e-12)
    greatest = float((logs.max(axis=1) - logs.min(axis=1)).max())
    assert greatest == pytest.approx(epsilon, rel=1e-9 if epsilon < 30 else 1e-3)
    assert greatest <= proven(mechanism, shape[0]) + 1e-12
    assert proven(mechanism, shape[0]) == epsilon


@every_shape
def test_exact_draws_of_signs_have_exactly_the_law(shape: tuple[int, int, int]) -> None:
    """As fractions, the probability of agreeing being the fraction that its float is."""
    mechanism = JointPair(1.3, *shape)
    rows = members(*shape[:2])
    for row in (rows[0].tolist(), rows[-1].tolist()):
        law = law_of_rows(lambda below, row=row: mechanism.randomize_exactly(row, below))
        assert sum(law.values()) == 1
        reports = reports_of(mechanism)
        assert sorted(law) == sorted(tuple(report) for report in reports.tolist())
        stated = np.exp(mechanism.log_likelihoods(reports, np.array([row])))[:, 0]
        for report, chance in zip(reports.tolist(), stated.tolist(), strict=True):
            assert float(law[tuple(report)]) == pytest.approx(chance, rel=1e-13)


def test_signs_worked_by_hand() -> None:
    """At ε = ln 3 the right sign of one of two groups is told with 1/2, each of the three other reports with 1/6."""
    mechanism = JointPair(math.log(3), 2, 2, 1)
    reports = np.array([[0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=np.int64)
    law = np.exp(mechanism.log_likelihoods(reports, np.array([[3, 2]])))[:, 0]  # of the second group: b > a
    assert law == pytest.approx([1 / 6, 1 / 6, 1 / 6, 1 / 2], rel=1e-14)
    both = JointPair(math.log(3), 2, 2, 2)
    signs = np.array([[0, 1, 1], [0, 1, -1], [0, -1, 1], [0, -1, -1]], dtype=np.int64)
    law = np.exp(both.log_likelihoods(signs, np.array([[3, 2]])))[:, 0]
    assert law == pytest.approx([1 / 8, 3 / 8, 1 / 8, 3 / 8], rel=1e-14)


def test_reports_that_nobody_sends_have_no_probability() -> None:
    mechanism = JointPair(1.0, 3, 2, 1)
    reports = np.array([[0, 1, 1], [0, 0, 0], [-1, 1, 0], [2, 2, -1], [1, 0, 1]], dtype=np.int64)
    logs = mechanism.log_likelihoods(reports, members(3, 2))
    assert np.isneginf(logs[:4]).all()
    assert np.isfinite(logs[4]).all()
    told = [mechanism.is_report(report) for report in reports.tolist()]
    assert told == [False, False, False, False, True]
    assert not mechanism.is_report([0, 1])


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("num_groups", [2, 3])
@pytest.mark.parametrize("epsilon", [0.3, 5.0])
def test_positions_and_rankings_of_all_groups_are_one_randomized_response(
    size: int, num_groups: int, epsilon: float
) -> None:
    rows = members(size, num_groups)
    position, ranking = JointPosition(epsilon, size, num_groups), JointRanking(epsilon, size, num_groups)
    assert position.response.num_choices == num_groups * size
    for mechanism in (position, ranking):
        reports = np.arange(mechanism.report_range[1] + 1, dtype=np.int64)[:, None]
        logs = mechanism.log_likelihoods(reports, rows)
        assert np.exp(logs).sum(axis=0) == pytest.approx(np.ones(len(rows)), abs=1e-12)
        assert float((logs.max(axis=1) - logs.min(axis=1)).max()) == pytest.approx(epsilon, rel=1e-9)
        assert proven(mechanism, size) == epsilon
    codes = ranking.prepare_rows(rows)[:, 0]
    assert codes.tolist() == list(range(num_groups * math.factorial(size)))
    groups, positions = members_of_cells(rows)
    of_ranking = SampledPosition(epsilon, size)
    questions = np.arange(size, dtype=np.int64)
    for row, group, own in zip(rows, groups.tolist(), positions, strict=True):
        answers = of_ranking.answers(np.tile(own, (size, 1)), questions) + group * size
        assert position.answers(np.tile(row, (size, 1)), questions).tolist() == answers.tolist()


@pytest.mark.parametrize("steps", [(3, 1, -1, -3), (9, 2, 0, -1), (5, 0, 0, 0, 0), (4, -4)])
def test_private_groups_take_no_more_noise_than_public_ones_from_a_median(steps: tuple[int, ...]) -> None:
    """By brute force: two groups' scores are as far apart as a ranking and its reverse, and nothing is farther."""
    mechanism = JointScores(0.7, steps, 3)
    scores = mechanism.prepare_rows(members(len(steps), 3))
    farthest = max(int(np.abs(scores - own).sum(axis=1).max()) for own in scores)
    assert mechanism.laplace.sensitivity == farthest
    median = sorted(steps)[len(steps) // 2]
    centered = tuple(step - median for step in steps)
    assert JointScores(0.7, centered, 2).laplace.scale == NoisyScores(0.7, centered).laplace.scale


def test_scores_from_elsewhere_take_what_two_groups_are_apart() -> None:
    mechanism = JointScores(0.5, (5, 4, 3), 2)
    assert mechanism.laplace.sensitivity == 24
    assert mechanism.prepare_row([5, 3, 4]) == [0, 0, 0, 3, 5, 4]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_simulated_signs_follow_the_law(number: int) -> None:
    """Of 60,000 reports by fixed uniforms no count is five standard deviations off."""
    mechanism = JointPair(1.0, 2, 3, number)
    row = [3, 2]
    uniforms = np.random.default_rng(5).random((60_000, 4))
    told: list[list[int]] = mechanism.randomize_rows(np.tile(row, (60_000, 1)), uniforms).tolist()
    drawn = Counter(tuple(report) for report in told)
    reports = reports_of(mechanism)
    law = np.exp(mechanism.log_likelihoods(reports, np.array([row])))[:, 0]
    assert sum(drawn[tuple(report)] for report in reports.tolist()) == 60_000
    for report, chance in zip(reports.tolist(), law.tolist(), strict=True):
        spread = math.sqrt(60_000 * chance * (1 - chance))
        assert abs(drawn[tuple(report)] - 60_000 * chance) < 5 * spread


def test_another_group_s_sign_tells_nothing_of_the_ranking() -> None:
    """On average it is 0, whatever the voter's group and ranking: no estimate of one group moves with another's."""
    mechanism = JointPair(1.0, 3, 3, 2)
    reports = reports_of(mechanism)
    for row in members(3, 3):
        law = np.exp(mechanism.log_likelihoods(reports, row[None]))[:, 0]
        for group in range(3):
            mean = float(law @ reports[:, 1 + group])
            assert mean == pytest.approx(0.0, abs=1e-15) if group != row[0] // 3 else True


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: JointPair(1.0, 1, 2, 1), "num_alternatives"),
        (lambda: JointPair(1.0, MAX_ALTERNATIVES + 1, 2, 1), "num_alternatives"),
        (lambda: JointPair(1.0, 3, 1, 1), "num_groups"),
        (lambda: JointPair(1.0, 3, MAX_JOINT_GROUPS + 1, 1), "num_groups"),
        (lambda: JointPair(1.0, 3, 2, 0), "num_signs"),
        (lambda: JointPair(1.0, 3, 2, 3), "num_signs"),
        (lambda: JointPair(0.0, 3, 2, 1), "epsilon"),
        (lambda: JointPosition(31.0, 3, 2), "epsilon"),
        (lambda: JointPosition(1.0, 3, 1), "num_groups"),
        (lambda: JointRanking(1.0, MAX_RANKED + 1, 2), "num_alternatives"),
        (lambda: JointRanking(math.nan, 3, 2), "epsilon"),
        (lambda: JointScores(0.0, (1, -1), 2), "epsilon"),
        (lambda: JointScores(1.0, (1, -1), 1), "num_groups"),
        (lambda: JointScores(1.0, (1,), 2), "num_alternatives"),
        (lambda: JointScores(1.0, (0, 0), 2), "sensitivity"),
    ],
)
def test_parameters_that_are_not_allowed_are_refused(make: object, field: str) -> None:
    assert callable(make)
    with refuses(field):
        make()


@pytest.mark.parametrize("row", [[0, 1], [0, 1, 6], [0, -1, 2]])
def test_rows_that_are_no_cells_are_refused(row: Sequence[int]) -> None:
    for mechanism in make_all(3, 2):
        with pytest.raises(ValueError, match=r"cells|positions|values"):
            mechanism.randomize_row(row, [0.5] * mechanism.slots_of(len(row)))


def test_the_chance_of_the_right_sign_is_rounded_down() -> None:
    for epsilon in EPSILONS:
        for number in (1, 2, 3):
            keep = Fraction(JointPair(epsilon, 2, 3, number).agree_probability)
            odds = keep / (1 - keep) * Fraction(6 - number, number)
            assert math.log(odds) <= epsilon


@pytest.mark.parametrize(("size", "num_groups"), [(2, 2), (3, 2), (4, 3), (3, 5)])
def test_one_row_is_randomized_as_many_are_bit_for_bit(size: int, num_groups: int) -> None:
    generator = np.random.default_rng(size)
    rows = members(size, num_groups)[generator.integers(num_groups * math.factorial(size), size=200)]
    for mechanism in make_all(size, num_groups):
        uniforms = generator.random((200, mechanism.slots_of(size)))
        uniforms[0], uniforms[1] = 0.0, 1 - 2.0**-53
        together = mechanism.randomize_rows(rows, uniforms)
        assert together.shape == (200, mechanism.num_reports_of(size))
        alone = [mechanism.randomize_row(row, own) for row, own in zip(rows.tolist(), uniforms.tolist(), strict=True)]
        assert together.tolist() == alone
        assert all(type(number) is int for report in alone for number in report)
        low, high = mechanism.report_range
        assert low <= int(together.min()) <= int(together.max()) <= high
        if isinstance(mechanism, JointPair):
            assert all(mechanism.is_report(report) for report in alone)
