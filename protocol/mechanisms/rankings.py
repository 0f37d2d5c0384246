"""Local randomizers of rankings: a comparison, a position, or the whole ranking, by randomized response.

A row is a ranking: the position of each alternative, from 0, the best, to m − 1. ε is in nats per ranking, and the
number m of alternatives in [2, `MAX_ALTERNATIVES`].

Source: Warner (1965) and Wang, Wu and Hu (2016) for randomized response; Nguyên et al. (2016), Section III, for
sampling one of many questions and answering it with the whole budget; Yan, Li and Liu (2020) for pairs; Dwork,
McSherry, Nissim and Smith (2006) for scores.
"""

import abc
import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import ClassVar, Final

import numpy as np

from ..arguments import exact_arguments, make_fields_exact
from ..arrays import FloatArray, IntArray
from ..elementary import ln, quotient_up
from ..errors import require
from ..estimate import Estimate
from ..privacy.events import LocalRandomizer, PrivacyEvent
from .discrete_laplace import VectorLaplace
from .exact import ExactMechanism, RandBelow
from .mechanism import Prepared, RowMechanism, check_candidates
from .randomized_response import GeneralizedRandomizedResponse

MAX_ALTERNATIVES: Final = 50
MAX_RANKED: Final = 8
"""The most alternatives for whole rankings. With more, a report would hardly ever be true at any useful ε."""


class RankingMechanism(RowMechanism):
    """A mechanism whose rows are rankings."""

    __slots__ = ()

    entry_of_rankings: ClassVar[str] = "positions"
    epsilon: float
    num_alternatives: int

    @property
    def value_range(self) -> tuple[int, int]:
        """Positions: [0, m − 1]."""
        return 0, self.num_alternatives - 1

    def check_rows(self, values: IntArray) -> None:
        """Raise ValueError unless these are rows of m numbers in `value_range`; that no two agree is the caller's."""
        entry_name, most = self.entry_of_rankings.partition(",")[0], self.value_range[1]
        if values.ndim != 2 or values.shape[1] != self.num_alternatives:  # noqa: PLR2004  a table
            raise ValueError(f"rows have shape {values.shape}: give each {self.num_alternatives} {entry_name}")
        if values.size and (int(values.min()) < 0 or int(values.max()) > most):
            raise ValueError(f"{entry_name} are out of range: use values from 0 to {most}")


class SampledQuestion(RankingMechanism, ExactMechanism):
    """Draw one question of several, without a look at the ranking, and answer that alone by randomized response."""

    __slots__ = ()

    response: GeneralizedRandomizedResponse

    @property
    @abc.abstractmethod
    def num_questions(self) -> int:
        """How many questions there are."""

    @abc.abstractmethod
    def answers(self, positions: IntArray, questions: IntArray) -> IntArray:
        """Return the true answers of rankings, shape (n, m), to a question each: int64, shape (n,)."""

    @property
    def report_range(self) -> tuple[int, int]:
        """A question and an answer: question·answers + answer."""
        return 0, self.num_questions * self.response.num_choices - 1

    def slots_of(self, num_values: int) -> int:
        """One uniform for the question, one for the response."""
        return 2

    def num_reports_of(self, num_values: int) -> int:
        return 1

    def event_of(self, num_values: int) -> PrivacyEvent:
        """The response's ε: the question does not depend on the ranking."""
        return LocalRandomizer(epsilon=self.epsilon)

    @exact_arguments
    def report_probabilities(self, positions: Sequence[int]) -> tuple[float, ...]:
        """Return the exact law of a ranking's report: P[report], for all reports in order."""
        ranking = np.array([positions], dtype=np.int64)
        channel = self.response.channel_matrix()  # of the answer to a question
        law: list[float] = []
        for question in range(self.num_questions):
            answer = int(self.answers(ranking, np.array([question], dtype=np.int64))[0])
            law += [probability / self.num_questions for probability in channel[answer]]
        return tuple(law)

    def randomize_rows(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        """Draw a question, then randomize its answer. See `RowMechanism.randomize_rows`."""
        self.check_rows(values)
        if uniforms.shape != (len(values), 2):
            raise ValueError(f"uniforms have shape {uniforms.shape}: give two for each of {len(values)} rows")
        questions = np.minimum((uniforms[:, 0] * self.num_questions).astype(np.int64), self.num_questions - 1)
        answers = self.response.randomize(self.answers(values, questions), uniforms[:, 1:])
        return (questions * self.response.num_choices + answers)[:, None]

    def randomize_row(self, values: Sequence[int], uniforms: Sequence[float]) -> list[int]:
        of_question, of_answer = uniforms
        question = min(int(of_question * self.num_questions), self.num_questions - 1)
        answer = self.response.randomize_one(self._answer(values, question), (of_answer,))
        return [question * self.response.num_choices + answer]

    def _answer(self, values: Sequence[int], question: int) -> int:
        ranking = np.array([values], dtype=np.int64)
        self.check_rows(ranking)
        return int(self.answers(ranking, np.array([question], dtype=np.int64))[0])

    def randomize_exactly(self, values: Sequence[int], randbelow: RandBelow) -> list[int]:
        """Draw exactly for the given keep probability. See `ExactMechanism`."""
        question = int(randbelow(self.num_questions))
        answer = self._answer(values, question)
        keep, of = self.response.keep_probability.as_integer_ratio()
        if randbelow(of) >= keep:
            lie = randbelow(self.response.num_choices - 1)
            answer = lie + (lie >= answer)
        return [question * self.response.num_choices + answer]

    def log_likelihoods(self, reports: IntArray, values: IntArray) -> FloatArray:
        """Return the logarithms of `report_probabilities`. See `RowMechanism.log_likelihoods`."""
        check_candidates(self, reports, values)
        self.check_rows(values)
        number = self.num_questions
        question_numbers = np.tile(np.arange(number, dtype=np.int64), len(values))
        truths = self.answers(np.repeat(values, number, axis=0), question_numbers).reshape(len(values), number)
        questions, answers = np.divmod(reports[:, 0], self.response.num_choices)
        keep, lie = ln(self.response.keep_probability), ln(self.response.flip_probability)
        return np.where(truths[:, questions] == answers, keep, lie).T - ln(number)


class Pairs:
    """Questions are the pairs (a, b) of alternatives with a < b, in lexicographic order."""

    num_alternatives: int

    @property
    def num_questions(self) -> int:
        """m(m − 1)/2."""
        return self.num_alternatives * (self.num_alternatives - 1) // 2

    @functools.cached_property
    def pairs(self) -> tuple[IntArray, IntArray]:
        """The first and the second alternative of each question."""
        first, second = np.triu_indices(self.num_alternatives, 1)
        return first.astype(np.int64), second.astype(np.int64)


@dataclasses.dataclass(frozen=True)
class SampledPair(Pairs, SampledQuestion):
    """Report which alternative of a uniformly drawn pair is preferred, by randomized response.

    Answer 0 stands for the pair's first alternative, 1 for the second.

    Privacy:
        ε-LDP, replace-one, unit: the ranking. Exact: attained by two rankings that differ in a pair (see
        `report_probabilities`).

    Examples:
        >>> law = SampledPair(math.log(3), 3).report_probabilities((2, 0, 1))
        >>> [round(chance, 4) for chance in law]
        [0.0833, 0.25, 0.0833, 0.25, 0.25, 0.0833]
    """

    epsilon: float
    num_alternatives: int
    response: GeneralizedRandomizedResponse = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        make_fields_exact(self)
        check_number(self.num_alternatives, MAX_ALTERNATIVES)
        object.__setattr__(self, "response", GeneralizedRandomizedResponse(self.epsilon, 2))

    def answers(self, positions: IntArray, questions: IntArray) -> IntArray:
        first, second = (side[questions] for side in self.pairs)
        rows = np.arange(len(positions))
        return (positions[rows, first] > positions[rows, second]).astype(np.int64)


@dataclasses.dataclass(frozen=True)
class SampledPosition(SampledQuestion):
    """Report the position of a uniformly drawn alternative, by randomized response among m positions.

    Privacy:
        ε-LDP, replace-one, unit: the ranking. Exact: see `report_probabilities`.

    Examples:
        >>> SampledPosition(1.0, 3).randomize_row((2, 0, 1), (0.5, 0.0))  # the second alternative: at position 0
        [3]
    """

    epsilon: float
    num_alternatives: int
    response: GeneralizedRandomizedResponse = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        make_fields_exact(self)
        check_number(self.num_alternatives, MAX_ALTERNATIVES)
        object.__setattr__(self, "response", GeneralizedRandomizedResponse(self.epsilon, self.num_alternatives))

    @property
    def num_questions(self) -> int:
        """One for each alternative."""
        return self.num_alternatives

    def answers(self, positions: IntArray, questions: IntArray) -> IntArray:
        return positions[np.arange(len(positions)), questions]


@dataclasses.dataclass(frozen=True)
class WholeRanking(RankingMechanism, Prepared):
    """Report the whole ranking with p = e^ε/(e^ε + m! − 1), otherwise another one, chosen uniformly.

    A report is the code of a ranking (`code_of_rankings`).

    Args:
        num_alternatives: 2 ≤ m ≤ `MAX_RANKED`.

    Privacy:
        ε-LDP, replace-one, unit: the ranking. Exact: see `GeneralizedRandomizedResponse.channel_matrix`.

    Examples:
        >>> WholeRanking(30.0, 3).randomize_row((2, 0, 1), (0.3,)), code_of_rankings([[2, 0, 1]]).tolist()
        ([4], [4])
    """

    epsilon: float
    num_alternatives: int
    response: GeneralizedRandomizedResponse = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        make_fields_exact(self)
        check_number(self.num_alternatives, MAX_RANKED)
        number = math.factorial(self.num_alternatives)
        object.__setattr__(self, "response", GeneralizedRandomizedResponse(self.epsilon, number))

    @property
    def noise(self) -> RowMechanism:
        """Randomized response on the ranking's code."""
        return self.response

    def num_prepared_of(self, num_values: int) -> int:
        return 1

    def prepare_rows(self, values: IntArray) -> IntArray:
        self.check_rows(values)
        return code_of_rankings(values)[:, None]

    def estimate_rows(self, reports: IntArray) -> tuple[Estimate, ...]:
        return self.noise.estimate_rows(reports)


@dataclasses.dataclass(frozen=True)
class NoisyScores(RankingMechanism, Prepared):
    """Add Laplace noise to the score of each alternative.

    Args:
        steps: each position's score in steps of a public grid, the best first, decreasing.

    Attributes:
        laplace: the noise.

    Privacy:
        ε-LDP, replace-one, unit: the ranking. The ℓ₁ distance between the scores of two rankings is at most Σ|s₍ᵢ₎ −
        s₍ₘ₊₁₋ᵢ₎|, attained by a ranking and its reverse. Tied alternatives share the mean of their scores. This is in
        the convex hull of the scores of strict rankings, so the bound also holds with ties.

    Examples:
        >>> mechanism = NoisyScores(0.5, steps=(2, 1, 0))
        >>> mechanism.prepare_row((2, 0, 1)), mechanism.laplace.scale
        ([0, 2, 1], 8.0)
    """

    epsilon: float
    steps: tuple[int, ...]
    laplace: VectorLaplace = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        make_fields_exact(self)
        require(0 < self.epsilon < math.inf, "epsilon", self.epsilon, "positive and finite")
        distance = sum(
            abs(step - reversed_step) for step, reversed_step in zip(self.steps, reversed(self.steps), strict=True)
        )
        bound = max(map(abs, self.steps), default=0)
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
        return num_values

    def prepare_rows(self, values: IntArray) -> IntArray:
        self.check_rows(values)
        return scores_of_positions(values, self.steps)

    def estimate_rows(self, reports: IntArray) -> tuple[Estimate, ...]:
        return self.noise.estimate_rows(reports)


def check_number(num_alternatives: int, most: int) -> None:
    """Raise ConfigurationError unless so many alternatives can be ranked."""
    is_allowed = 2 <= num_alternatives <= most  # noqa: PLR2004  one alternative is no question
    require(is_allowed, "num_alternatives", num_alternatives, f"in [2, {most}]")


@exact_arguments
def scores_of_positions(positions: IntArray, steps: Sequence[int]) -> IntArray:
    """Return each alternative's score, int64, shape (n, m); tied ones share the mean of their scores.

    A mean that is no integer is rounded towards 0; check for ties beforehand to avoid this.

    Args:
        positions: for each alternative, the number of alternatives ahead of it, int64, shape (n, m). In a row that is
            no ranking, each alternative gets the score of its position.
        steps: each position's score in grid steps, the best first.

    Examples:
        >>> import numpy as np
        >>> scores_of_positions(np.array([[0, 1, 2], [0, 0, 2]]), (4, 2, 0)).tolist()
        [[4, 2, 0], [3, 3, 0]]
    """
    of_position = np.array(steps, dtype=np.int64)
    scores, in_order = of_position[positions], np.sort(positions, axis=1)
    is_shared = in_order[:, 1:] == in_order[:, :-1]
    is_ranking = (is_shared | (in_order[:, 1:] == np.arange(1, len(steps)))).all(axis=1) & (in_order[:, 0] == 0)
    tied = np.flatnonzero(is_shared.any(axis=1) & is_ranking)
    if tied.size:
        rows = positions[tied]
        cells = np.arange(len(rows))[:, None] * len(steps) + rows
        numbers = np.bincount(cells.reshape(-1), minlength=rows.size)[cells]
        sums = np.concatenate([[0], np.cumsum(of_position)])
        shared = sums[rows + numbers] - sums[rows]
        scores[tied] = np.sign(shared) * (np.abs(shared) // numbers)
    return scores


@exact_arguments
def code_of_rankings(positions: IntArray) -> IntArray:
    """Number rankings from 0 to m! − 1, in the lexicographic order of their positions (Lehmer code): shape (n,).

    Positions have shape (n, m); each row is a permutation. ValueError for more than 20 alternatives.

    Examples:
        >>> code_of_rankings([[0, 1, 2], [0, 2, 1], [2, 1, 0]]).tolist()
        [0, 1, 5]
    """
    size = positions.shape[1]
    if size > 20:  # noqa: PLR2004  21! is beyond 64 bits
        raise ValueError(f"there are {size} alternatives: rankings of up to 20 have a code in 64 bits")
    columns = [np.ascontiguousarray(positions[:, place]) for place in range(size)]
    codes = np.zeros(len(positions), dtype=np.int64)
    for place in range(size):
        smaller = np.zeros(len(positions), dtype=np.int64)
        for later in range(place + 1, size):
            smaller += columns[later] < columns[place]
        codes = codes * (size - place) + smaller
    return codes


@exact_arguments
def rankings_of_codes(codes: IntArray, num_alternatives: int) -> IntArray:
    """Return the rankings with these codes in [0, m!), shape (n, m), m ≤ 20: the inverse of `code_of_rankings`.

    Examples:
        >>> rankings_of_codes([0, 5], 3).tolist()
        [[0, 1, 2], [2, 1, 0]]
    """
    size = num_alternatives
    digits = np.empty((len(codes), size), dtype=np.int64)
    remainders = codes
    for place in range(size - 1, -1, -1):
        remainders, digits[:, place] = np.divmod(remainders, size - place)
    # From the last digit on: each digit is a position, and moves later positions that are not below it up by one.
    for place in range(size - 2, -1, -1):
        digits[:, place + 1 :] += digits[:, place + 1 :] >= digits[:, place : place + 1]
    return digits
