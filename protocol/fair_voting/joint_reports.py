"""Joint reports of group and ranking: the tally of each mechanism, and its estimates of every group's utilities.

Every report is informative about every group, since its group is unknown. The estimates of a group's sum of utilities,
relative to the mean score, are unbiased, linear in the tally, and exact fractions. Divided by the group's public size,
they are its mean utilities. A voter without a report counts as indifferent.

The noise in a group's sum is that of all reports: `own_variance` from each voter of the group, and `other_variance`
from each voter of another group, which is the cost of private groups. Let p and q be the probabilities of the true and
of one other answer, v the mean square of the scores about their mean, and g the gap between consecutive scores.
Averaged over the alternatives:

    joint_pair:      own = g²·m(m − 1)²/8·u/d² − v,  other = g²·m(m − 1)²/8·w/d²
    joint_position:  own = m·v·(p − q + qm)/(p − q)² − v,  other = q·m²·v/(p − q)²
    joint_ranking:   own = v·(p − q + q·m!)/(p − q)² − v,  other = q·m!·v/(p − q)²
    joint_scores:    own = other = the noise's, at the scale of `noisy_scores`

In `joint_pair` a report has signs for s of G groups. The voter's group has the right sign with probability p =
s·e^ε/(s·e^ε + 2G − s), and the wrong one with probability r = (1 − p)·s/(2G − s). Let d = p − r and u = p + r. Another
group has a sign with probability w = (u·(s − 1) + (1 − u)·s)/(G − 1). s is chosen to minimize the error of the smallest
group. The noises of two groups are uncorrelated.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np

from ..arrays import FloatArray, IntArray, exact_column_sums
from ..elementary import square
from ..mechanisms import JointPair, JointPosition, JointRanking, JointScores, rankings_of_codes
from .kinds import JOINT, MechanismName
from .parameters import Parameters
from .report_laws import ReportLaw, law_of_pairs, law_of_positions, law_of_rankings
from .reports import ByPositions, ByScores, LocalReport, chances_of, is_possible
from .scoring import Scoring

_MOST_ANSWERS: Final = 1_000
"""The most signs of one report for which its law is computed."""


class JointReport(LocalReport):
    """One local mechanism for group and ranking together, its tally and its estimator.

    Args:
        group_sizes: the public number of voters of each group.

    Attributes:
        own_variance: the variance that a voter of the group adds to its sum, averaged over the alternatives, in squared
            units of the scores.
        other_variance: the variance that a voter of another group adds.
    """

    own_variance: float
    other_variance: float

    def __init__(self, scoring: Scoring, epsilon: float, group_sizes: Sequence[int]) -> None:
        super().__init__(scoring, epsilon)
        self.group_sizes = tuple(group_sizes)

    @property
    def num_groups(self) -> int:
        """How many groups there are: G."""
        return len(self.group_sizes)

    def check(self, report: Sequence[int]) -> None:
        """Raise ValueError for a report that nobody sends, though its numbers are in range."""

    def error_of(self, group: int, count: int) -> float:
        """Return the standard error of a group's mean utility, from this number of reports.

        If reports are missing, the number of the group's reports is unknown, and the greater error is returned.
        """
        size = self.group_sizes[group]
        most, least = min(size, count), max(count - sum(self.group_sizes) + size, 0)
        return (
            math.sqrt(
                max(inside * self.own_variance + (count - inside) * self.other_variance for inside in (least, most))
            )
            / size
        )

    def utilities(self, totals: IntArray) -> list[list[Fraction]]:
        """Return all groups' mean utilities, exact, in units of the scores, by the tally, shape (G, width)."""
        rows = zip(totals.tolist(), self.group_sizes, strict=True)
        return [[value + self.mean for value in self.estimates(row, size)] for row, size in rows]


class _JointPairReport(JointReport):
    name: ClassVar[MechanismName] = "joint_pair"
    is_balanced = True

    def __init__(self, scoring: Scoring, epsilon: float, group_sizes: Sequence[int]) -> None:
        super().__init__(scoring, epsilon, group_sizes)
        share = min(group_sizes) / sum(group_sizes)
        numbers = range(1, self.num_groups + 1)
        self.mechanism = self._randomizer = min(
            (JointPair(epsilon, self.size, self.num_groups, number) for number in numbers),
            key=lambda mechanism: _squares(mechanism, share),
        )
        self.width = self._randomizer.num_questions
        gap = (self.centered[0] - self.centered[-1]) / (self.size - 1)
        right, wrong, of_other = _sign_chances(self._randomizer)
        self._factor = gap * self.width / 2 / (right - wrong)
        of_any = square(float(self._factor)) * 2 / self.size  # an alternative is in 2/m of all pairs
        self.own_variance, self.other_variance = of_any * float(right + wrong) - self.spread, of_any * float(of_other)

    def law(self, group: int) -> ReportLaw | None:
        groups, number = self.num_groups, self._randomizer.num_signs
        if math.comb(groups, number) * 2**number > _MOST_ANSWERS:
            return None
        answers = [
            [dict(zip(places, sign_row, strict=True)).get(place, 0) for place in range(groups)]
            for places in itertools.combinations(range(groups), number)
            for sign_row in itertools.product((1, -1), repeat=number)
        ]
        agree, signs = self._randomizer.agree_probability, np.array(answers, dtype=np.int64)

        def chances_of(sign: int) -> FloatArray:
            """Return the probability of each answer from a voter whose group has the sign."""
            tells = signs[:, group] == sign
            return np.where(tells, agree / np.count_nonzero(tells), (1 - agree) / np.count_nonzero(~tells))

        return law_of_pairs(self.size, float(self._factor), signs, chances_of(1), chances_of(-1))

    def check(self, report: Sequence[int]) -> None:
        if not self._randomizer.is_report(report):
            raise ValueError("it is no question with a sign for as many groups as are told of")

    def totals_of(self, reports: IntArray) -> IntArray:
        totals = np.zeros((self.num_groups, self.width), dtype=np.int64)
        for group in range(self.num_groups):
            for sign in (1, -1):
                questions = reports[reports[:, 1 + group] == sign, 0]
                totals[group] += sign * np.bincount(questions, minlength=self.width).astype(np.int64)
        return totals

    def estimates(self, totals: Sequence[int], count: int) -> Iterator[Fraction]:
        wins = [0] * self.size
        firsts, seconds = (side.tolist() for side in self._randomizer.pairs)
        for first, second, total in zip(firsts, seconds, totals, strict=True):
            wins[first] += total
            wins[second] -= total
        for won in wins:
            yield self._factor * won / count


class _JointPositionReport(ByPositions, JointReport):
    name: ClassVar[MechanismName] = "joint_position"

    def __init__(self, scoring: Scoring, epsilon: float, group_sizes: Sequence[int]) -> None:
        super().__init__(scoring, epsilon, group_sizes)
        self.mechanism = self._randomizer = JointPosition(epsilon, self.size, self.num_groups)
        self.width = self.size * self.size
        keep, lie = chances_of(self._randomizer.response)
        self._factor = self.size / (keep - lie)
        gap, of_any = float(keep - lie), float(lie * self.size) * self.spread
        of_one = square(float(self._factor)) / self.size
        self.own_variance, self.other_variance = of_one * (gap * self.spread + of_any) - self.spread, of_one * of_any

    def law(self, group: int) -> ReportLaw | None:
        response = self._randomizer.response
        return law_of_positions(self.centered, self._factor, response, group=group, groups=self.num_groups)

    def totals_of(self, reports: IntArray) -> IntArray:
        alternatives, cells = np.divmod(reports[:, 0], self.num_groups * self.size)
        groups, positions = np.divmod(cells, self.size)
        places = (groups * self.size + alternatives) * self.size + positions
        return _counts(places, self.num_groups, self.width)


class _JointRankingReport(ByPositions, JointReport):
    name: ClassVar[MechanismName] = "joint_ranking"
    is_balanced = True

    def __init__(self, scoring: Scoring, epsilon: float, group_sizes: Sequence[int]) -> None:
        super().__init__(scoring, epsilon, group_sizes)
        self.mechanism = self._randomizer = JointRanking(epsilon, self.size, self.num_groups)
        self.width = self.size * self.size
        self._number = math.factorial(self.size)
        keep, lie = chances_of(self._randomizer.response)
        self._factor = 1 / (keep - lie)
        of_one, of_any = square(float(self._factor)) * self.spread, float(lie * self._number)
        self.own_variance, self.other_variance = of_one * (float(keep - lie) + of_any) - self.spread, of_one * of_any

    def law(self, group: int) -> ReportLaw | None:
        response = self._randomizer.response
        return law_of_rankings(self.centered, self._factor, response, group=group, groups=self.num_groups)

    def totals_of(self, reports: IntArray) -> IntArray:
        groups, codes = np.divmod(reports[:, 0], self._number)
        positions = rankings_of_codes(codes, self.size)
        places = (groups[:, None] * self.size + np.arange(self.size)) * self.size + positions
        return _counts(places.reshape(-1), self.num_groups, self.width)


class _JointScoresReport(ByScores, JointReport):
    name: ClassVar[MechanismName] = "joint_scores"

    def __init__(self, scoring: Scoring, epsilon: float, group_sizes: Sequence[int]) -> None:
        super().__init__(scoring, epsilon, group_sizes)
        self.mechanism = self._randomizer = JointScores(epsilon, scoring.steps, self.num_groups)
        self.laplace = self._randomizer.laplace
        self.width = self.size
        self.own_variance = self.other_variance = self._randomizer.laplace.noise_variance * square(float(self.step))

    def totals_of(self, reports: IntArray) -> IntArray:
        return exact_column_sums(reports).reshape(self.num_groups, self.width)


_REPORTS: Final[tuple[type[JointReport], ...]] = (
    _JointPairReport,
    _JointPositionReport,
    _JointRankingReport,
    _JointScoresReport,
)


def possible_joint_reports(
    scoring: Scoring, epsilon: float, group_sizes: Sequence[int], *, with_ties: bool = False
) -> list[JointReport]:
    """Return a report by each joint mechanism that these utilities allow."""
    kinds = [kind for kind in _REPORTS if is_possible(kind.name, scoring, with_ties=with_ties)]
    return [kind(scoring, epsilon, group_sizes) for kind in kinds]


def make_joint_report(parameters: Parameters) -> JointReport:
    """Return the report of a session with private groups: for "joint" the one with the smallest group's least error."""
    scoring = parameters.make_scoring(is_centered=True)
    sizes = parameters.group_sizes
    if not parameters.kind.is_choice:
        return _REPORTS[JOINT.index(parameters.mechanism)](scoring, parameters.epsilon, sizes)
    smallest, voters = sizes.index(min(sizes)), sum(sizes)
    possible = possible_joint_reports(scoring, parameters.epsilon, sizes, with_ties=bool(parameters.ties))
    return min(possible, key=lambda report: report.error_of(smallest, voters))


def _sign_chances(mechanism: JointPair) -> tuple[Fraction, Fraction, Fraction]:
    """Return how likely a report has the right sign for the voter's group, the wrong one, and any for another group."""
    groups, signs = mechanism.num_groups, mechanism.num_signs
    right = Fraction(mechanism.agree_probability)
    wrong = (1 - right) * signs / (2 * groups - signs)
    of_own = right + wrong
    return right, wrong, (of_own * (signs - 1) + (1 - of_own) * signs) / (groups - 1)


def _squares(mechanism: JointPair, share: float) -> float:
    """Return in what proportion the squared error of a group is that has a share of the voters."""
    right, wrong, of_other = map(float, _sign_chances(mechanism))
    return (share * (right + wrong) + (1 - share) * of_other) / square(right - wrong)


def _counts(places: IntArray, num_groups: int, width: int) -> IntArray:
    return np.bincount(places, minlength=num_groups * width).astype(np.int64).reshape(num_groups, width)
