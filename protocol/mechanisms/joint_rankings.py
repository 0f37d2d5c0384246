"""Local randomizers of a voter's group and ranking together: both are private, with one ε.

A row is a ranking within a group: it has the *cell* of each alternative, group·m + position. The group is that of the
first cell. A client checks that all cells are in one group, and that the positions are a ranking. ε is in nats per
voter, the number m of alternatives in [2, `MAX_ALTERNATIVES`], and the number G of groups in [2, `MAX_JOINT_GROUPS`].

Source: Warner (1965) and Wang, Wu and Hu (2016) for randomized response. `JointPair` with a sign for every group is the
one-bit report of Bassily and Smith (2015). With one sign it is randomized response among groups and answers. In between
it is Ye and Barg's (2018) subset selection, restricted to subsets that never contain both answers of a group.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

import numpy as np

from ..arguments import exact_arguments, make_fields_exact
from ..arrays import FloatArray, IntArray
from ..elementary import exp, ln, quotient_up
from ..errors import require
from ..privacy.events import LocalRandomizer, PrivacyEvent
from .discrete_laplace import VectorLaplace
from .exact import ExactMechanism, RandBelow
from .mechanism import Prepared, RowMechanism, check_candidates
from .randomized_response import GeneralizedRandomizedResponse, check_epsilon
from .rankings import (
    MAX_ALTERNATIVES,
    MAX_RANKED,
    Pairs,
    RankingMechanism,
    SampledPosition,
    check_number,
    code_of_rankings,
    scores_of_positions,
)

MAX_JOINT_GROUPS: Final = 100
"""The most groups. A report has a number for each group, and with more groups estimates would be useless."""


class CellMechanism(RankingMechanism):
    """A mechanism whose rows are rankings within groups."""

    __slots__ = ()

    entry_of_rankings: ClassVar[str] = "cells, each group·m + position"
    num_groups: int

    @property
    def value_range(self) -> tuple[int, int]:
        """Cells: [0, G·m − 1]."""
        return 0, self.num_groups * self.num_alternatives - 1


@dataclasses.dataclass(frozen=True)
class JointPair(Pairs, CellMechanism, ExactMechanism):
    """Report signs of some groups for a pair of alternatives that is drawn uniformly (the question).

    For a question, the possible reports are all choices of s = `num_signs` groups with a sign for each: +1 for the
    pair's first alternative, −1 for the second. A report agrees if the voter's group has the sign of the voter's
    preference. An agreeing report is e^ε times as likely as any other, and is sent with probability p = s·e^ε/(s·e^ε +
    2G − s). All agreeing reports are equally likely, and so are all others.

    A report has the question, then the sign of each group, or 0.

    Args:
        num_signs: s, with 1 ≤ s ≤ G.

    Attributes:
        agree_probability: p, rounded down, so that ε stays an upper bound.

    Privacy:
        ε-LDP, replace-one, unit: the voter's group and ranking together. Exact: for one question, a report has
        probability p/N₁ or (1 − p)/N₀, where N₁ and N₀ are the numbers of agreeing and other reports, with N₀/N₁ = (2G
        − s)/s for every group and ranking.

    Examples:
        >>> mechanism = JointPair(math.log(3), num_alternatives=2, num_groups=2, num_signs=1)
        >>> mechanism.randomize_row([3, 2], [0.5, 0.9, 0.1])  # of the second group, b > a
        [0, 0, -1]
    """

    epsilon: float
    num_alternatives: int
    num_groups: int
    num_signs: int
    agree_probability: float = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        make_fields_exact(self)
        check_epsilon(self.epsilon)
        _check_sizes(self.num_alternatives, MAX_ALTERNATIVES, self.num_groups)
        require(1 <= self.num_signs <= self.num_groups, "num_signs", self.num_signs, f"in [1, {self.num_groups}]")
        agree = 1 / (1 + self._odds_without * exp(-self.epsilon))
        # As in `GeneralizedRandomizedResponse`: the error of the quotient is a few units in the last place.
        for _ in range(4):
            agree = math.nextafter(agree, 0.0)
        object.__setattr__(self, "agree_probability", agree)

    @property
    def _odds_without(self) -> float:
        """How many reports do not tell a given sign of a group, for each that does: (2G − s)/s."""
        return (2 * self.num_groups - self.num_signs) / self.num_signs

    @property
    def report_range(self) -> tuple[int, int]:
        """A question, or a sign."""
        return -1, max(self.num_questions - 1, 1)

    def slots_of(self, num_values: int) -> int:
        """One uniform for the question, one for each group."""
        return 1 + self.num_groups

    def num_reports_of(self, num_values: int) -> int:
        return 1 + self.num_groups

    def event_of(self, num_values: int) -> PrivacyEvent:
        """The ε of the signs: the question does not depend on the row."""
        return LocalRandomizer(epsilon=self.epsilon)

    @exact_arguments
    def is_report(self, report: Sequence[int]) -> bool:
        """Return whether somebody may report this: a question, and so many signs."""
        question, *signs = report
        is_asked = 0 <= question < self.num_questions
        fits = len(signs) == self.num_groups and all(-1 <= sign <= 1 for sign in signs)
        return is_asked and fits and sum(map(abs, signs)) == self.num_signs

    def randomize_rows(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        """Draw a question, then the signs. See `RowMechanism.randomize_rows`."""
        self.check_rows(values)
        number = len(values)
        if uniforms.shape != (number, 1 + self.num_groups):
            allowed_shapes = f"{1 + self.num_groups} uniforms for each of {number} rows"
            raise ValueError(f"uniforms have shape {uniforms.shape}: give {allowed_shapes}")
        reports = np.zeros((number, 1 + self.num_groups), dtype=np.int64)
        reports[:, 0] = np.minimum((uniforms[:, 0] * self.num_questions).astype(np.int64), self.num_questions - 1)
        groups, answers = self._truths(values, reports[:, 0])
        rows = np.arange(number)
        own_uniforms = uniforms[rows, 1 + groups]
        own_sign = np.where(
            own_uniforms < self.agree_probability, answers, np.where(own_uniforms < self._sign_below, -answers, 0)
        )
        reports[rows, 1 + groups] = own_sign
        num_remaining = np.full(number, self.num_groups - 1)
        needed = self.num_signs - np.abs(own_sign)
        for group in range(self.num_groups):
            is_other = groups != group
            place = uniforms[:, 1 + group] * num_remaining
            is_chosen = is_other & (place < needed)
            sign = np.where(place * 2 < needed, 1, -1)
            reports[:, 1 + group] = np.where(is_chosen, sign, reports[:, 1 + group])
            needed -= is_chosen
            num_remaining -= is_other
        return reports

    def randomize_row(self, values: Sequence[int], uniforms: Sequence[float]) -> list[int]:
        question = min(int(uniforms[0] * self.num_questions), self.num_questions - 1)
        group, answer = self._truth(values, question)
        own_uniform = uniforms[1 + group]
        sign = answer if own_uniform < self.agree_probability else -answer if own_uniform < self._sign_below else 0

        def draw(group: int, num_needed: int, num_remaining: int) -> int:
            place = uniforms[1 + group] * num_remaining
            return 0 if place >= num_needed else 1 if place * 2 < num_needed else -1

        return [question, *self._signs(group, sign, draw)]

    def randomize_exactly(self, values: Sequence[int], randbelow: RandBelow) -> list[int]:
        """Draw exactly for the given p. See `ExactMechanism`."""
        question = int(randbelow(self.num_questions))
        group, answer = self._truth(values, question)
        agree, of = self.agree_probability.as_integer_ratio()
        sign = answer
        if randbelow(of) >= agree:
            sign = -answer if randbelow(2 * self.num_groups - self.num_signs) < self.num_signs else 0
        return [
            question,
            *self._signs(
                group, sign, lambda _, num_needed, num_remaining: _draw_sign(num_needed, num_remaining, randbelow)
            ),
        ]

    def _truth(self, values: Sequence[int], question: int) -> tuple[int, int]:
        """Return `_truths` of one row."""
        self.check_rows(np.array([values], dtype=np.int64))
        first, second = (values[int(side[question])] % self.num_alternatives for side in self.pairs)
        return values[0] // self.num_alternatives, 1 if first <= second else -1

    def _signs(self, group: int, sign: int, draw: Callable[[int, int, int], int]) -> list[int]:
        """Return all groups' signs: the own one, and what is drawn of each other, with how many are needed and left."""
        signs, num_needed, num_remaining = list[int](), self.num_signs - abs(sign), self.num_groups - 1
        for place in range(self.num_groups):
            signs.append(sign if place == group else draw(place, num_needed, num_remaining))
            if place != group:
                num_needed, num_remaining = num_needed - abs(signs[-1]), num_remaining - 1
        return signs

    def log_likelihoods(self, reports: IntArray, values: IntArray) -> FloatArray:
        check_candidates(self, reports, values)
        self.check_rows(values)
        groups, signs, size = self.num_groups, self.num_signs, self.num_questions
        possible = (reports[:, 0] >= 0) & (reports[:, 0] < size)  # with two alternatives, signs exceed this range
        possible &= np.abs(reports[:, 1:]).max(axis=1, initial=0) <= 1
        possible &= np.abs(reports[:, 1:]).sum(axis=1) == signs
        questions = np.clip(reports[:, 0], 0, size - 1)
        with_own = math.comb(groups - 1, signs - 1) << (signs - 1)
        without = (math.comb(groups, signs) << signs) - with_own
        agrees = ln(self.agree_probability) - ln(with_own)
        differs = ln(1 - self.agree_probability) - ln(without)
        number = len(values)
        logs = np.empty((len(reports), number))
        for place in range(number):
            own_truths, answers = self._truths(np.repeat(values[place : place + 1], len(reports), axis=0), questions)
            agree = reports[np.arange(len(reports)), 1 + own_truths] == answers
            logs[:, place] = np.where(agree, agrees, differs)
        return np.where(possible[:, None], logs - ln(size), -np.inf)

    @property
    def _sign_below(self) -> float:
        """Below which uniform the voter's group has a sign at all; one of 2G − s is its opposite where it has."""
        if self.num_signs == self.num_groups:
            return math.inf
        return self.agree_probability + (1 - self.agree_probability) / self._odds_without

    def _truths(self, values: IntArray, questions: IntArray) -> tuple[IntArray, IntArray]:
        """Return each row's group, and its answer: 1 where the pair's first alternative is preferred, −1 else."""
        first, second = (side[questions] for side in self.pairs)
        rows = np.arange(len(values))
        positions = values % self.num_alternatives
        is_first = positions[rows, first] <= positions[rows, second]
        return values[:, 0] // self.num_alternatives, np.where(is_first, 1, -1)


def _draw_sign(num_needed: int, num_remaining: int, randbelow: RandBelow) -> int:
    return 2 * int(randbelow(2)) - 1 if randbelow(num_remaining) < num_needed else 0


@dataclasses.dataclass(frozen=True)
class JointPosition(CellMechanism, SampledPosition):
    """Report the cell of a uniformly drawn alternative, by randomized response among all G·m cells.

    Privacy:
        ε-LDP, replace-one, unit: the voter's group and ranking together. Exact: see `report_probabilities`.

    Examples:
        >>> JointPosition(1.0, num_alternatives=3, num_groups=2).response.num_choices
        6
    """

    num_groups: int

    def __post_init__(self) -> None:
        make_fields_exact(self)
        _check_sizes(self.num_alternatives, MAX_ALTERNATIVES, self.num_groups)
        response = GeneralizedRandomizedResponse(self.epsilon, self.num_groups * self.num_alternatives)
        object.__setattr__(self, "response", response)


@dataclasses.dataclass(frozen=True)
class JointRanking(CellMechanism, Prepared):
    """Report group and ranking with p = e^ε/(e^ε + G·m! − 1), otherwise another pair of these, chosen uniformly.

    A report is group·m! + the ranking's code (`code_of_rankings`).

    Args:
        num_alternatives: 2 ≤ m ≤ `MAX_RANKED`.

    Privacy:
        ε-LDP, replace-one, unit: the voter's group and ranking together. Exact: see
        `GeneralizedRandomizedResponse.channel_matrix`.

    Examples:
        >>> JointRanking(1.0, num_alternatives=3, num_groups=2).response.num_choices  # 2 groups of 3! rankings
        12
    """

    epsilon: float
    num_alternatives: int
    num_groups: int
    response: GeneralizedRandomizedResponse = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        make_fields_exact(self)
        _check_sizes(self.num_alternatives, MAX_RANKED, self.num_groups)
        number = self.num_groups * math.factorial(self.num_alternatives)
        object.__setattr__(self, "response", GeneralizedRandomizedResponse(self.epsilon, number))

    @property
    def noise(self) -> RowMechanism:
        """Randomized response on the code of group and ranking."""
        return self.response

    def num_prepared_of(self, num_values: int) -> int:
        return 1

    def prepare_rows(self, values: IntArray) -> IntArray:
        size = self.num_alternatives
        self.check_rows(values)
        return (values[:, 0] // size * math.factorial(size) + code_of_rankings(values % size))[:, None]


@dataclasses.dataclass(frozen=True)
class JointScores(CellMechanism, Prepared):
    """Add Laplace noise to scores for each group and alternative: the voter's in its group, 0 in all others.

    Args:
        steps: each position's score relative to their center, in steps of a public grid, the best first, decreasing.

    Attributes:
        laplace: the noise.

    Privacy:
        ε-LDP, replace-one, unit: the voter's group and ranking together. The ℓ₁ distance between the scores of two
        rankings in one group is at most Σ|s₍ᵢ₎ − s₍ₘ₊₁₋ᵢ₎|, and in two groups 2·Σ|s|. If scores are relative to a
        median, the two bounds are equal.

    Examples:
        >>> JointScores(0.5, steps=(2, 0, -2), num_groups=2).prepare_row([5, 3, 4])
        [0, 0, 0, -2, 2, 0]
    """

    epsilon: float
    steps: tuple[int, ...]
    num_groups: int
    laplace: VectorLaplace = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        make_fields_exact(self)
        require(0 < self.epsilon < math.inf, "epsilon", self.epsilon, "positive and finite")
        _check_sizes(len(self.steps), MAX_ALTERNATIVES, self.num_groups)
        within = sum(
            abs(step - reversed_step) for step, reversed_step in zip(self.steps, reversed(self.steps), strict=True)
        )
        distance = max(within, 2 * sum(map(abs, self.steps)))
        bound = max(map(abs, self.steps))
        laplace = VectorLaplace(scale=quotient_up(distance, self.epsilon), sensitivity=distance, bound=bound)
        object.__setattr__(self, "laplace", laplace)

    @property
    def noise(self) -> RowMechanism:
        """Laplace noise for each score."""
        return self.laplace

    @property
    def num_alternatives(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]  it is read alone
        """One for each of the steps: m."""
        return len(self.steps)

    def num_prepared_of(self, num_values: int) -> int:
        return self.num_groups * num_values

    def prepare_rows(self, values: IntArray) -> IntArray:
        size = len(self.steps)
        self.check_rows(values)
        scores = np.zeros((len(values), self.num_groups * size), dtype=np.int64)
        columns = values[:, :1] // size * size + np.arange(size)
        np.put_along_axis(scores, columns, scores_of_positions(values % size, self.steps), axis=1)
        return scores


def _check_sizes(num_alternatives: int, most: int, num_groups: int) -> None:
    """Raise ConfigurationError unless the numbers of alternatives and of groups are allowed."""
    check_number(num_alternatives, most)
    is_allowed = 2 <= num_groups <= MAX_JOINT_GROUPS  # noqa: PLR2004  one group has nothing to hide
    require(is_allowed, "num_groups", num_groups, f"in [2, {MAX_JOINT_GROUPS}]")
