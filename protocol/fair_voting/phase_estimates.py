"""What the tallies of each mechanism estimate: the groups' mean utilities, and the noise in them."""

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias, cast

import numpy as np

from ..arrays import FloatArray, IntArray
from ..mechanisms import VectorLaplace
from ..tally import Tally, TallyBlock
from .objective import Utilities
from .phases import DisclosedRankings, JointRankings, MaskedRankings, RandomizedRankings
from .reports import utilities_by_level
from .scoring import Scoring
from .utility_noise import UtilityNoise

FairPhase: TypeAlias = DisclosedRankings | MaskedRankings | RandomizedRankings | JointRankings


def utilities_of(phase: FairPhase, tally: Tally, sizes: Sequence[int]) -> Utilities:
    """Return the mean utilities of groups of these sizes by a tally of sums or reports, exactly."""
    if isinstance(phase, JointRankings):
        return phase.report.utilities(tally.totals, tally.num_reports)[0]
    if isinstance(phase, RandomizedRankings):
        return [utilities_by_level(phase.reports, rows)[0] for rows in phase.by_group(tally.totals)]
    return mean_utilities(tally.totals.reshape(len(sizes), -1), phase.scoring, sizes)


def rounded_utilities(phase: FairPhase, tallies: TallyBlock, sizes: Sequence[int]) -> FloatArray | None:
    """Return `utilities_of` many tallies but for rounding, shape (sessions, G, m); None of reports' tallies."""
    if isinstance(phase, (JointRankings, RandomizedRankings)):
        return None
    sums = tallies.totals.reshape(len(tallies), len(sizes), -1)
    return (sums / np.array(sizes, dtype=np.float64)[:, None] + phase.scoring.center) * phase.scoring.step


def mean_utilities(sums: IntArray, scoring: Scoring, sizes: Sequence[int]) -> list[list[Fraction]]:
    """Return the groups' mean utilities in units of the scores, of sums in steps from the center, shape (G, m)."""
    step = Fraction(scoring.step)
    rows: list[list[int]] = sums.tolist()
    return [
        [(Fraction(total, size) + scoring.center) * step for total in row]
        for row, size in zip(rows, sizes, strict=True)
    ]


def numbers_of(phase: FairPhase, tally: Tally) -> tuple[tuple[int, ...], ...]:
    """Return how many reported: group by group those of each level, where that is told, or all."""
    if not isinstance(phase, RandomizedRankings):
        return ((tally.num_reports,),)
    return tuple(tuple(count for count, *_ in rows) for rows in phase.by_group(tally.totals))


def noise_of(phase: FairPhase, numbers: Sequence[Sequence[int]], sizes: Sequence[int]) -> UtilityNoise | None:
    """Return the noise of mean utilities where so many have reported; None where nothing is known of it."""
    number = numbers[0][0]
    if isinstance(phase, JointRankings):
        return UtilityNoise.of_joint_reports(phase.report, number) if number else None
    if isinstance(phase, RandomizedRankings):
        return UtilityNoise.of_reports(phase.reports, numbers) if all(map(sum, numbers)) else None
    if isinstance(phase, MaskedRankings):
        return UtilityNoise.of_shares(phase.share, number, phase.scoring.step, sizes)
    return UtilityNoise.of_sums(cast("VectorLaplace", phase.tally_mechanism), phase.scoring.step, sizes)
