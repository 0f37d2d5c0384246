"""A small protocol in which public rows matter: they say who is asked what, and so what each pays and may send.

A voter is asked some of the tasks and answers each by yes or no through randomized response; then it names its favorite
of three. The server keeps the answers apart and tells each voter alone how often it sided with the majority.

A public row is the voter's place and, for each task, 1 where it is asked and 0 where not. A private row is an answer
for each task, `NONE` where there is none, and the favorite.
"""

import collections
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

import msgspec
import numpy as np
from psephos.protocol import Column, ConfigurationError, Inputs, Phase, PhasedProtocol, Tally
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse, RowMechanism
from psephos.protocol.phases import Entries
from psephos.protocol.privacy import (
    NeighboringRelation,
    PartLoss,
    PrivacyEvent,
    PrivacyLoss,
    RandomizedResponse,
    SelfComposed,
    TrustModel,
)

NONE: Final = -1
"""No answer, as value and as report."""
NUM_FAVORITES: Final = 3


class Parameters(msgspec.Struct, frozen=True, kw_only=True):
    """How many tasks there are, and ε of each answer and of the favorite."""

    num_tasks: int = 3
    epsilon: float = 1.0


class Outcome(msgspec.Struct, frozen=True):
    """Reports of yes and of anything, task by task; and of each favorite."""

    num_voters: int
    yes: tuple[int, ...]
    answered: tuple[int, ...]
    favorites: tuple[int, ...]


class Score(msgspec.Struct, frozen=True):
    """What one voter alone is told: how many of its reports side with the majority of their task's reports."""

    agreeing: int
    answered: int


@dataclasses.dataclass(frozen=True)
class SomeAnswers(RowMechanism):
    """Randomized response of those values that are answers; where there is none is public.

    Each value's uniform is moved by one that its row shares: the law is that of independent ones, and only whole rows
    can be randomized.
    """

    epsilon: float

    @property
    def report_range(self) -> tuple[int, int]:
        return NONE, 1

    @property
    def value_range(self) -> tuple[int, int]:
        return NONE, 1

    def slots_of(self, num_values: int) -> int:
        return 1 + num_values

    def event_of(self, num_values: int) -> PrivacyEvent:
        return SelfComposed(RandomizedResponse(self.epsilon, 2), num_values)

    def event_among(self, values: Sequence[Sequence[int]]) -> PrivacyEvent:
        """As many as may hold an answer."""
        return self.event_of(sum(len(column) > 1 for column in values))

    def event_of_one_among(self, values: Sequence[Sequence[int]]) -> PrivacyEvent:
        return self.event_of(1)

    def randomize_rows(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        moved = (uniforms[:, :1] + uniforms[:, 1:]) % 1.0
        reports = GeneralizedRandomizedResponse(self.epsilon, 2).randomize_rows(np.maximum(values, 0), moved)
        return np.where(values == NONE, NONE, reports)

    def randomize_row(self, values: Sequence[int], uniforms: Sequence[float]) -> list[int]:
        rows = self.randomize_rows(np.array([values], dtype=np.int64), np.array([uniforms]))
        return rows[0].tolist()


class Answers(Phase):
    """The tasks: each voter pays for those that it is asked."""

    def __init__(self, parameters: Parameters) -> None:
        self.epsilon = parameters.epsilon
        tasks = range(parameters.num_tasks)
        mechanism = SomeAnswers(parameters.epsilon)
        super().__init__("answers", columns=tasks, mechanism=mechanism, losses=self._losses(len(tasks)))

    def values_of(self, public: Sequence[int]) -> Sequence[Sequence[int]]:
        """Return yes and no where the row asks, and nothing elsewhere."""
        return [(0, 1) if is_asked else (NONE,) for is_asked in public[1:]]

    def kinds_of(self, public: IntArray) -> Sequence[IntArray]:
        """Group voters by the number of their answers."""
        numbers = public[:, 1:].sum(axis=1)
        return [np.flatnonzero(numbers == number) for number in np.unique(numbers)]

    def losses_of(self, public: Sequence[int]) -> tuple[PrivacyLoss, ...]:
        """Return the loss of as many answers as the row asks for."""
        return self._losses(sum(public[1:]))

    def loss_groups(self, public: IntArray) -> Sequence[tuple[str, int, tuple[PrivacyLoss, ...]]]:
        sizes = collections.Counter[int](public[:, 1:].sum(axis=1).tolist())
        return [(f"with {number} answers", sizes[number], self._losses(number)) for number in sorted(sizes)]

    def check_report(self, report: Sequence[int], public: Sequence[int]) -> None:
        """Refuse a report that answers other tasks than its sender is asked."""
        for task, (answer, is_asked) in enumerate(zip(report, public[1:], strict=True)):
            if (answer != NONE) != is_asked:
                raise ValueError(f"task {task} is {'asked and not answered' if is_asked else 'answered and not asked'}")

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        """Count yes and all answers, and keep (place, task, answer) apart."""
        del earlier
        voters, tasks = np.nonzero(reports != NONE)
        rows = np.stack([public[voters, 0], tasks, reports[voters, tasks]], axis=1)
        totals = np.stack([(reports == 1).sum(axis=0), (reports != NONE).sum(axis=0)])
        return Tally(len(reports), totals, rows[np.lexsort(rows.T[::-1])])

    def _losses(self, number: int) -> tuple[PrivacyLoss, ...]:
        if not number:
            return ()
        loss = PrivacyLoss(
            mechanism="randomized response of a row",
            event=SelfComposed(RandomizedResponse(self.epsilon, 2), number),
            unit="voter",
            relation=NeighboringRelation.REPLACE_ONE,
            model=TrustModel.LOCAL,
            claimed=self.epsilon * number,
            part=PartLoss(unit="answer", claimed=self.epsilon, proven=self.epsilon),
        )
        return (loss,)


class Favorites(Phase):
    """One of three, by k-RR: everybody pays alike."""

    def __init__(self, parameters: Parameters) -> None:
        column = parameters.num_tasks
        mechanism = GeneralizedRandomizedResponse(parameters.epsilon, NUM_FAVORITES)
        loss = PrivacyLoss(
            mechanism="k-RR",
            event=mechanism.event,
            unit="favorite",
            relation=NeighboringRelation.REPLACE_ONE,
            model=TrustModel.LOCAL,
            claimed=parameters.epsilon,
        )
        super().__init__("favorites", columns=range(column, column + 1), mechanism=mechanism, losses=[loss])

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        del earlier, public
        return Tally(len(reports), np.bincount(reports[:, 0], minlength=NUM_FAVORITES).astype(np.int64))


class Quiz(PhasedProtocol[Parameters, Outcome]):
    """Some tasks for each, and a favorite."""

    name: ClassVar[str] = "quiz"
    parameters_type: ClassVar[type[msgspec.Struct]] = Parameters
    outcome_type: ClassVar[type[msgspec.Struct]] = Outcome
    own_outcome_type: ClassVar[type[msgspec.Struct] | None] = Score

    def make_phases(self) -> Iterable[Phase]:
        """Return answers, then favorites."""
        return Answers(self.parameters), Favorites(self.parameters)

    def columns(self) -> tuple[Column, ...]:
        return (
            Column("tasks", private=False, description="the tasks that are asked, such as 0 2"),
            Column("answers", private=True, description="an answer to each of them, such as 1 0"),
            Column("favorite", private=True, description="0, 1 or 2"),
        )

    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        public = self.encode_public(table, num_parties=len(table["tasks"]))
        private = [
            self._private_row(answers, favorite, asked)
            for answers, favorite, asked in zip(table["answers"], table["favorite"], public.tolist(), strict=True)
        ]
        return Inputs(np.array(private, dtype=np.int64), public)

    def encode_public(self, table: Mapping[str, Entries], *, num_parties: int) -> IntArray:
        """Return each voter's place and what it is asked."""
        public = np.zeros((num_parties, 1 + self.parameters.num_tasks), dtype=np.int64)
        public[:, 0] = np.arange(num_parties)
        for place, tasks in enumerate(table["tasks"]):
            public[place, [1 + int(task) for task in tasks.split()]] = 1
        return public

    def encode_own(self, entries: Mapping[str, Any], public: Sequence[int]) -> tuple[int, ...]:
        """Return a voter's answers at the tasks that the server asks."""
        return tuple(self._private_row(entries["answers"], entries["favorite"], public))

    def check_row(self, row: Sequence[int], public: Sequence[int]) -> None:
        """Refuse a public row that asks other tasks than were answered."""
        if len(public) != 1 + self.parameters.num_tasks:
            raise ValueError(f"it has {len(public)} numbers, and not {1 + self.parameters.num_tasks}")
        if any((answer != NONE) != is_asked for answer, is_asked in zip(row, public[1:], strict=False)):
            raise ValueError("it does not ask what was answered")

    def outcome(self, tallies: Sequence[Tally]) -> Outcome:
        yes, answered = tallies[0].totals.tolist()
        return Outcome(tallies[-1].num_reports, tuple(yes), tuple(answered), tuple(tallies[1].totals.tolist()))

    def own_outcomes(self, tallies: Sequence[Tally]) -> Mapping[int, msgspec.Struct]:
        """Return a score for everybody who was asked anything."""
        yes, answered = tallies[0].totals
        majority: list[bool] = (2 * yes > answered).tolist()
        scores: dict[int, Score] = {}
        rows: list[list[int]] = tallies[0].rows.tolist()
        for place, task, answer in rows:
            known = scores.get(place, Score(0, 0))
            scores[place] = Score(known.agreeing + (answer == majority[task]), known.answered + 1)
        return scores

    def _private_row(self, answers: str, favorite: str, public: Sequence[int]) -> list[int]:
        asked = [task for task, is_asked in enumerate(public[1:]) if is_asked]
        given = [int(answer) for answer in answers.split()]
        if len(given) != len(asked):
            raise ConfigurationError(field="answers", value=answers, allowed=f"{len(asked)} of them")
        row = [NONE] * self.parameters.num_tasks
        for task, answer in zip(asked, given, strict=True):
            row[task] = answer
        return [*row, int(favorite)]


def make_quiz_inputs(quiz: Quiz, num_parties: int, *, seed: int = 0) -> Inputs:
    """Return rows of voters who are asked any number of tasks, none and all among them."""
    generator = np.random.default_rng(seed)
    num_tasks = quiz.parameters.num_tasks
    asked = generator.integers(2, size=(num_parties, num_tasks))
    asked[:2] = [[0] * num_tasks, [1] * num_tasks][:num_parties]
    answers = np.where(asked == 1, generator.integers(2, size=asked.shape), NONE)
    favorites = generator.integers(NUM_FAVORITES, size=(num_parties, 1))
    places = np.arange(num_parties).reshape(-1, 1)
    return Inputs(np.hstack([answers, favorites]), np.hstack([places, asked]))
