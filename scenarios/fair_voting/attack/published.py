"""Recover the published tally of a fair vote, and its likelihood if groups are private.

A session's tallies are published (`result.json`). They can also be recovered from the released outcome, which is a
public function of the tally: the winner is in it; a noisy sum is the integer nearest to (estimate/step − center)·size,
which double precision determines up to about 2^50; and the possible randomized reports are those that give the released
estimates bit for bit. The lot that breaks ties also depends on the tally, and is not used.

If groups are private, the coalition's reports are subtracted. With a single honest voter, the rest is its report. With
several, it is a sum of independent reports that includes the target's. Its mean and covariance follow from the exact
law of a report, and the sum is approximated by a normal law.
"""

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, cast

import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.errors import refuse
from ....protocol.estimators import Estimate
from ....protocol.fair_voting import Details, DisclosedRankings, FairVoting, JointRankings, Outcome
from ....protocol.fair_voting.reports import RankingReport, mean_utilities
from ....protocol.fair_voting.utility_noise import error_of_levels
from ....protocol.mechanisms import JointPair, JointScores, RowMechanism
from ...attacks.coalition_view import CoalitionView

_LEAST_NORMAL: Final = 30  # least honest reports for a normal approximation of sums
_MOST_REPORTS: Final = 1 << 13  # most reports that are listed


def totals_of(view: CoalitionView) -> IntArray | None:
    """Return a session's published tally; None if nothing was received, or the release does not determine it.

    A release determines it in the central model: the winner, shape (1,), or the noisy sums, shape (G, w).
    """
    if view.totals:
        return view.totals[0]
    protocol, release = cast("FairVoting", view.protocol), cast("Outcome | None", view.release)
    phase = protocol.phase
    if release is None or not isinstance(phase, DisclosedRankings):
        return None
    if phase.choice is not None:
        return np.array([release.candidates.index(release.winner)], dtype=np.int64)
    if isinstance(release.details, Details) and release.details.differences:
        return np.array([release.details.differences], dtype=np.int64)
    scoring = phase.scoring
    columns = [
        [
            _whole(estimate, size, step=scoring.step, center=scoring.center)
            for estimate, size in zip(alternative.utilities, release.group_sizes, strict=True)
        ]
        for alternative in release.alternatives
    ]
    return np.array(columns, dtype=np.int64).T


def last_reports(
    protocol: FairVoting, report: RankingReport, view: CoalitionView, own_totals: IntArray, group: int
) -> IntArray:
    """Return the reports that the only honest voter of a group may have sent: int64, shape (n, num_reported), n ≥ 1.

    `own_totals` is the tally of the coalition's reports, shape (G, 1 + width), in the local model. With personalized ε,
    a group here is the voters of a group at one level.
    """
    levels, published = protocol.parameters.own_levels.epsilons, list[Estimate]()
    refuse(levels and not view.totals, "epsilons", list(levels), "left out, where the release alone is known")
    if view.totals:
        count, *totals_of_others = (view.totals[0][group] - own_totals[group]).tolist()
    else:
        release, totals_of_others = cast("Outcome", view.release), None
        count = release.num_reports[group] - int(own_totals[group, 0])
        published = [alternative.utilities[group] for alternative in release.alternatives]
    allowed = "all other voters of a group, where the release alone is known"
    refuse(count != 1, "coalition", f"all but {count} of a group", allowed)
    if report.name == "noisy_scores":
        if totals_of_others is None:
            number = count + int(own_totals[group, 0])
            scoring = protocol.parameters.make_scoring(is_centered=True)
            sums = [_whole(each, number, step=scoring.step, center=scoring.center) for each in published]
            totals_of_others = [total - mine for total, mine in zip(sums, own_totals[group, 1:].tolist(), strict=True)]
        return np.array([totals_of_others], dtype=np.int64)
    low, high = report.mechanism.report_range
    reports = np.arange(low, high + 1, dtype=np.int64)[:, None]
    totals_of_reports = (report.totals_of(each[None]) for each in reports)
    if totals_of_others is not None:
        fits = [totals.tolist() == totals_of_others for totals in totals_of_reports]
    else:
        fits = [_estimates(report, own_totals[group] + [1, *totals]) == published for totals in totals_of_reports]
    return reports[fits]


def _estimates(report: RankingReport, totals: IntArray) -> Sequence[Estimate]:
    error = error_of_levels([report], [int(totals[0])])
    return [Estimate(float(value), error) for value in mean_utilities([report], [totals.tolist()])]


def _whole(estimate: Estimate, number: int, *, step: float, center: int) -> int:
    """Return the sum, in steps from the center, whose mean over `number` voters is an estimate."""
    return round((Fraction(estimate.value) / Fraction(step) - center) * number)


def joint_log_likelihoods(
    view: CoalitionView, phase: JointRankings, rows: IntArray, belief: tuple[IntArray, FloatArray]
) -> FloatArray:
    """Return ln P[the honest voters' tally | one of them holds this row], up to a constant, shape (c,).

    The coalition does not include the aggregator. `belief` is its prior of other honest voters' rows.
    """
    own_tally = phase.tally(view.reports[0][list(view.coalition.members)], earlier=[], public=view.public[:0])
    release = cast("Outcome | None", view.release)
    if not view.totals or release is None:
        return np.zeros(len(rows))
    totals_of_others = view.totals[0] - own_tally.totals
    count = release.num_reports[0] - own_tally.num_reports
    if count == 0:
        return np.zeros(len(rows))  # honest parties did not report
    if isinstance(phase.mechanism, JointScores):
        return _log_likelihoods_of_scores(phase.mechanism, totals_of_others, count, rows, belief)
    reports = _list_reports(phase.mechanism)
    tallies = np.stack([phase.report.totals_of(report[None]).reshape(-1) for report in reports])
    if count == 1:
        return phase.mechanism.log_likelihoods(reports[(tallies == totals_of_others.reshape(-1)).all(axis=1)], rows)[0]
    log_likelihoods = tallies.astype(np.float64)
    laws = np.exp(phase.mechanism.log_likelihoods(reports, rows)).T
    of_others = belief[1] @ np.exp(phase.mechanism.log_likelihoods(reports, belief[0])).T
    spread = np.cov(log_likelihoods.T, aweights=of_others, bias=True)
    return _log_normals(totals_of_others, count, laws @ log_likelihoods, of_others @ log_likelihoods, spread)


def _log_likelihoods_of_scores(
    mechanism: JointScores, totals_of_others: IntArray, count: int, rows: IntArray, belief: tuple[IntArray, FloatArray]
) -> FloatArray:
    if count == 1:
        return mechanism.log_likelihoods(totals_of_others.reshape(1, -1), rows)[0]
    means, other_means = (mechanism.prepare_rows(each).astype(np.float64) for each in (rows, belief[0]))
    noise = mechanism.laplace.noise_variance * np.eye(means.shape[1])
    spread = np.cov(other_means.T, aweights=belief[1], bias=True) + noise
    return _log_normals(totals_of_others, count, means, belief[1] @ other_means, spread)


def _log_normals(
    totals_of_others: IntArray, count: int, means: FloatArray, average: FloatArray, spread: FloatArray
) -> FloatArray:
    """Return log-densities of the normal approximation to a sum of `count` reports, for each mean of one of them."""
    allowed = f"with the aggregator, all other voters, or all but {_LEAST_NORMAL} and more"
    refuse(count < _LEAST_NORMAL, "coalition", f"all but {count}", allowed)
    deviations = totals_of_others.reshape(-1) - (count - 1) * average - means
    return np.einsum("ci,ij,cj->c", deviations, np.linalg.pinv(spread, hermitian=True), deviations) / (-2 * count)


def _list_reports(mechanism: RowMechanism) -> IntArray:
    if not isinstance(mechanism, JointPair):
        high = mechanism.report_range[1]
        _check_number(high + 1)
        return np.arange(high + 1, dtype=np.int64)[:, None]
    groups, number = range(mechanism.num_groups), mechanism.num_signs
    choices = [
        (places, signs)
        for places in itertools.islice(itertools.combinations(groups, number), _MOST_REPORTS)
        for signs in itertools.islice(itertools.product((1, -1), repeat=number), _MOST_REPORTS)
    ]
    _check_number(mechanism.num_questions * len(choices))
    reports = np.zeros((len(choices), mechanism.num_groups), dtype=np.int64)
    for row, (places, signs) in enumerate(choices):
        reports[row, list(places)] = signs
    questions = np.arange(mechanism.num_questions, dtype=np.int64).repeat(len(choices))
    return np.concatenate([questions[:, None], np.tile(reports, (mechanism.num_questions, 1))], axis=1)


def _check_number(number: int) -> None:
    allowed = f"with the aggregator, where a report is one of more than {_MOST_REPORTS}"
    refuse(number > _MOST_REPORTS, "coalition", f"without, and {number} reports", allowed)
