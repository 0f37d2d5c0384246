"""Group and ranking reported together: estimates without bias and variances, by enumerating every report."""

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from helpers import make_fair_vote
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.fair_voting import JointRankings, RandomizedRankings, Scoring, make_scores
from psephos.protocol.fair_voting.joint_reports import JointReport, make_joint_report, possible_joint_reports
from psephos.protocol.fair_voting.kinds import JOINT, LOCAL, MechanismName
from psephos.protocol.fair_voting.rankings import cells_of_members
from psephos.protocol.fair_voting.report_laws import UtilityReportSums
from psephos.protocol.fair_voting.reports import possible_reports
from psephos.protocol.fair_voting.utility_noise import UtilityNoise
from psephos.protocol.mechanisms import JointPair, JointScores
from psephos.protocol.tally import Tally

SCORES = ["borda", "plurality", (5.0, 3.0, 1.0, -1.0), (2.0, 1.25, 1.25, 0.0)]
SIZES = {2: (5, 3), 3: (2, 9, 4)}


def all_reports() -> Iterator[tuple[str, Scoring, JointReport]]:
    for size, scores, (epsilon, groups) in itertools.product((2, 3), SCORES, ((0.3, 3), (4.0, 2))):
        made: Any = scores if isinstance(scores, str) else scores[:size]
        scoring = Scoring(make_scores(made, size))
        for report in possible_joint_reports(scoring, epsilon, SIZES[groups]):
            yield f"{report.name}, {scores}, m = {size}, ε = {epsilon}, G = {groups}", scoring, report


ALL = list(all_reports())
every_report = pytest.mark.parametrize(
    ("scoring", "report"), [case[1:] for case in ALL], ids=[name for name, *_ in ALL]
)


def reports_of(report: JointReport) -> IntArray:
    """Return all reports that somebody may send."""
    mechanism = report.mechanism
    if not isinstance(mechanism, JointPair):
        return np.arange(mechanism.report_range[1] + 1, dtype=np.int64)[:, None]
    signs = [
        own
        for own in itertools.product((-1, 0, 1), repeat=report.num_groups)
        if sum(map(abs, own)) == mechanism.num_signs
    ]
    return np.array([[number, *own] for number in range(report.width) for own in signs], dtype=np.int64)


def estimates_of(report: JointReport, reports: IntArray) -> FloatArray:
    """Return what single reports add to every group's sums about the scores' mean, shape (n, G, m)."""
    return np.array(
        [
            [[float(value) for value in report.estimates(own, 1)] for own in report.totals_of(row[None]).tolist()]
            for row in reports
        ]
    )


def centered(scoring: Scoring) -> FloatArray:
    scores = (np.array(scoring.steps, dtype=np.float64) + scoring.center) * scoring.step
    return scores - scores.mean()


@pytest.mark.unmeasured
@every_report
def test_estimates_are_unbiased_and_have_the_stated_variances(scoring: Scoring, report: JointReport) -> None:
    """Over the whole law of a report: of the voter's own group and of others, of one alternative and of two."""
    size, own = scoring.num_alternatives, centered(scoring)
    if report.name == "joint_scores":
        return  # see below
    reports = reports_of(report)
    values = estimates_of(report, reports)
    for group, positions in itertools.product(range(report.num_groups), ([*range(size)], [*range(size)][::-1])):
        row = cells_of_members(np.array([group]), np.array([positions]))
        law = np.exp(report.mechanism.log_likelihoods(reports, row))[:, 0]
        means = np.tensordot(law, values, axes=1)
        truth = np.zeros_like(means)
        truth[group] = own[positions]
        assert means == pytest.approx(truth, abs=2 * size * scoring.step + 1e-9)
        flat = (values - means).reshape(len(values), -1)
        covariance = (flat.T * law) @ flat
        for other in range(report.num_groups):
            stated = report.own_variance if other == group else report.other_variance
            block = covariance[other * size : (other + 1) * size, other * size : (other + 1) * size]
            of_one = np.diag(block)
            assert of_one.mean() == pytest.approx(stated, rel=1e-5)
            if other != group:  # noises of two groups do not correlate
                across = covariance[group * size : (group + 1) * size, other * size : (other + 1) * size]
                assert np.abs(across).max() < 1e-9 * max(1.0, float(of_one.max()))
        sums = values.sum(axis=2)
        assert report.is_balanced == bool(np.allclose(sums, 0.0))
        written = report.law(group)
        assert written is not None
        # Of two alternatives everything that a bound uses: the law of any weighted sum, by what it does to e^sum.
        weights = np.random.default_rng(group).normal(size=(report.num_groups, 2)) / np.abs(values).max()
        for row, pair in zip(written.channel, itertools.permutations(range(size), 2), strict=True):
            one, other = (positions.index(place) for place in pair)
            expected = law @ np.exp(np.tensordot(values[:, :, [one, other]], weights, axes=2))
            assert row @ np.exp(np.tensordot(written.values, weights, axes=2)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("scoring", "report"),
    [case[1:] for case in ALL if case[2].name == "joint_scores"],
    ids=lambda part: type(part).__name__,
)
def test_noise_of_scores_is_all_that_their_estimates_add(scoring: Scoring, report: JointReport) -> None:
    """Without noise, the sums of all voters of all groups are the groups' own; each number's noise has one variance."""
    generator = np.random.default_rng(1)
    groups = np.repeat(np.arange(report.num_groups), report.group_sizes)
    rankings = np.array([generator.permutation(report.size) for _ in groups], dtype=np.int64)
    prepared = JointScores(1.0, scoring.steps, report.num_groups).prepare_rows(cells_of_members(groups, rankings))
    values = report.utilities(report.totals_of(prepared))
    scores = [(step + scoring.center) * Fraction(scoring.step) for step in scoring.steps]
    for group, (own, size) in enumerate(zip(values, report.group_sizes, strict=True)):
        columns: list[list[int]] = rankings[groups == group].T.tolist()
        assert own == [sum((scores[place] for place in column), Fraction(0)) / size for column in columns]
    assert report.own_variance == report.other_variance
    assert report.law(0) is None


def test_of_one_voter_in_a_group_the_error_is_worked_by_hand() -> None:
    """Two alternatives, groups of 1 and 3, ε = ln 3: one sign with p = 1/2 and r = 1/6. So d = 1/3.

    A sign is g·1/2/d = 3/2 of the sum; u = 2/3, w = 1/3. Its square is 9/4·u = 3/2 from the group's own voter, less
    1/4, and 9/4·w = 3/4 from each other one. Two signs would have 1/(1/4) = 4 in place of (1/4·2/3 + 3/4·1/3)·9 = 15/4.
    """
    scoring = Scoring(make_scores("borda", 2))
    (report,) = (own for own in possible_joint_reports(scoring, math.log(3), (1, 3)) if own.name == "joint_pair")
    mechanism = report.mechanism
    assert isinstance(mechanism, JointPair)
    assert mechanism.num_signs == 1
    assert report.own_variance == pytest.approx(3 / 2 - 1 / 4)
    assert report.other_variance == pytest.approx(3 / 4)
    assert report.error_of(0, 4) == pytest.approx(math.sqrt(5 / 4 + 3 * 3 / 4))
    assert report.error_of(1, 4) == pytest.approx(math.sqrt(3 * 5 / 4 + 3 / 4) / 3)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("sizes", [(500, 1000), (300, 300, 300, 300), (100,) * 10])
def test_the_number_of_signs_is_the_one_with_the_least_error(epsilon: float, sizes: tuple[int, ...]) -> None:
    """And `joint` takes the report with the least error in the smallest group: never better than public groups."""
    scoring = Scoring(make_scores("borda", 4))
    vote = make_fair_vote(*sizes, num_alternatives=4, mechanism="joint", epsilon=epsilon)
    chosen = make_joint_report(vote.parameters)
    smallest = sizes.index(min(sizes))
    for report in possible_joint_reports(scoring, epsilon, sizes):
        assert chosen.error_of(smallest, sum(sizes)) <= report.error_of(smallest, sum(sizes))
    least = min(report.mean_variance for report in possible_reports(scoring, epsilon))
    public = math.sqrt(least / sizes[smallest])
    assert chosen.error_of(smallest, sum(sizes)) > public


def test_a_quiet_report_has_a_sign_for_every_group_and_a_loud_one_for_its_own() -> None:
    for epsilon, number in ((0.1, 4), (6.0, 1)):
        vote = make_fair_vote(50, 50, 50, 50, num_alternatives=9, mechanism="joint_pair", epsilon=epsilon)
        mechanism = make_joint_report(vote.parameters).mechanism
        assert isinstance(mechanism, JointPair)
        assert mechanism.num_signs == number


@pytest.mark.parametrize("epsilon", [0.5, 6.0, 20.0])
def test_who_has_not_reported_is_of_an_unknown_group(epsilon: float) -> None:
    """The error is the larger one of those that are possible, and tests are by all who may be there."""
    sizes = (2, 4, 3)
    for report in possible_joint_reports(Scoring(make_scores("borda", 3)), epsilon, sizes):
        laws = [law for group in range(len(sizes)) if (law := report.law(group)) is not None]
        for count in range(1, sum(sizes) + 1):
            splits = [own for own in itertools.product(*(range(size + 1) for size in sizes)) if sum(own) == count]
            for group, size in enumerate(sizes):
                inside = {own[group] for own in splits}
                errors = [
                    math.sqrt(own * report.own_variance + (count - own) * report.other_variance) / size
                    for own in inside
                ]
                assert report.error_of(group, count) == pytest.approx(max(errors))
            sums = UtilityNoise.from_joint_reports(report, count).sums
            if not isinstance(sums, UtilityReportSums):
                continue
            chances = [{tuple(row) for row in law.channel.tolist()} for law in sums.laws]
            own = [{tuple(row) for row in law.channel.tolist()} for law in laws]
            assert len(own) == len(sizes)
            assert all(np.array_equal(law.values, laws[0].values) for law in sums.laws)
            if count == sum(sizes):
                assert (chances, sums.numbers) == (own, sizes)
            else:
                assert (chances, sums.numbers) == ([set(itertools.chain(*own))], (count,))


@pytest.mark.parametrize("mechanism", [*LOCAL, *JOINT])
def test_without_reports_everybody_is_indifferent(mechanism: MechanismName) -> None:
    phase = make_fair_vote(4, 4, mechanism=mechanism).phase
    assert isinstance(phase, RandomizedRankings | JointRankings)
    tally = Tally(0, np.zeros((2, phase.report.width + (mechanism in LOCAL)), dtype=np.int64))
    counts = phase.counts_of(tally)
    assert phase.utilities_of(tally) == [[1, 1, 1]] * 2
    assert phase.errors_of(counts) == [2.0, 2.0]
    assert phase.noise_of(counts) is None
