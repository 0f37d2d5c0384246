"""What is published of a fair vote, as the integers that its tally holds.

A session's tallies are published (`result.json`). Who has the released outcome alone gets them back, since the outcome
is a function of the tally that everybody can compute: the winner is one; a noisy sum is the integer next to
(estimate/step − center)·size, which double precision tells apart below 2^50 or so; and of randomized reports those are
possible that give the released estimates bit for bit. The lot of a tie depends on the tally as well; it is not used.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import cast

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.errors import refuse
from ....protocol.estimators import Estimate
from ....protocol.fair_voting import DisclosedRankings, FairVoting, Outcome, RandomizedRankings
from ...attacks.seen import Seen

__all__ = ["last_reports", "totals_of"]


def totals_of(seen: Seen) -> IntArray | None:
    """Return the published tally of a session; None where nothing was heard, or the release does not tell it.

    A release tells it in the central model: the winner, shape (1,), or the noisy sums, shape (G, m).
    """
    if seen.totals:
        return seen.totals[0]
    protocol, release = cast("FairVoting", seen.protocol), cast("Outcome | None", seen.release)
    phase = protocol.phase
    if release is None or not isinstance(phase, DisclosedRankings):
        return None
    if phase.choice is not None:
        return np.array([release.candidates.index(release.winner)], dtype=np.int64)
    scoring = phase.scoring
    columns = [
        [
            _whole(estimate, size, step=scoring.step, center=scoring.center)
            for estimate, size in zip(alternative.utilities, release.group_sizes, strict=True)
        ]
        for alternative in release.alternatives
    ]
    return np.array(columns, dtype=np.int64).T


def last_reports(protocol: FairVoting, phase: RandomizedRankings, seen: Seen, own: IntArray, group: int) -> IntArray:
    """Return the reports that the only honest voter of a group may have sent: int64, shape (n, num_reported), n ≥ 1.

    `own` is the tally of the coalition's reports, shape (G, 1 + width), in the local model.
    """
    release = cast("Outcome", seen.release)
    if seen.totals:
        count, *rest = (seen.totals[0][group] - own[group]).tolist()
    else:
        count, rest = release.num_reports[group] - int(own[group, 0]), None
    allowed = "all other voters of a group, where the release alone is known"
    refuse(count != 1, "coalition", f"all but {count} of a group", allowed)
    published = [alternative.utilities[group] for alternative in release.alternatives]
    if phase.report.name == "noisy_scores":
        if rest is None:
            number = release.num_reports[group]
            scoring = protocol.parameters.make_scoring(is_centered=True)
            sums = [_whole(each, number, step=scoring.step, center=scoring.center) for each in published]
            rest = [total - mine for total, mine in zip(sums, own[group, 1:].tolist(), strict=True)]
        return np.array([rest], dtype=np.int64)
    low, high = phase.mechanism.report_range
    reports = np.arange(low, high + 1, dtype=np.int64)[:, None]
    told = (phase.report.totals_of(report[None]) for report in reports)
    if rest is not None:
        fits = [totals.tolist() == rest for totals in told]
    else:
        fits = [_estimates(phase, own[group] + [1, *totals]) == published for totals in told]
    return reports[fits]


def _estimates(phase: RandomizedRankings, totals: IntArray) -> Sequence[Estimate]:
    count, *rest = totals.tolist()
    return phase.report.utilities(rest, count)[1]


def _whole(estimate: Estimate, number: int, *, step: float, center: int) -> int:
    """Return the sum, in steps from the center, of which an estimate is the mean over so many."""
    return round((Fraction(estimate.value) / Fraction(step) - center) * number)
