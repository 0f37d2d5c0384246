"""The phase of truth discovery in each trust model: workers perturb their answers, disclose them, or mask them."""

import functools
import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from ..arrays import IntArray, counts_of_rows
from ..elementary import quotient_up
from ..errors import require
from ..guard import Values
from ..mechanisms import NO_ANSWER, NoiseShare, VectorLaplace
from ..mechanisms.polya import MOST_TIMES
from ..phases import CentralPhase, Draw, DrawBlock, MaskedPhase, PersonalizedPhase, Phase, sizes_of
from ..privacy import PrivacyEvent, PrivacyLoss, PureMechanism
from ..tally import Tally, TallyBlock
from .codes import NO_TASK, Codes
from .noise import MASKED_DISTANCE, Perturbation, distance_of
from .parameters import Parameters

PHASE: Final = "answers"


class AnswersPhase(PersonalizedPhase):
    """The phase in which workers report their perturbed answers.

    The tally counts the reports of each label of each task, shape (tasks, labels), and has a row with worker, task and
    label for each report. With levels of ε, counts are by level, and each row ends with the level.

    Args:
        noises: the perturbation of answers at each level of ε.
        columns: the columns of a private row that are reported; by default the answers.

    Examples:
        >>> from psephos.protocol.truth_discovery import TruthDiscovery
        >>> parameters = Parameters(tasks=("bridge",), answer_sets=(("no", "yes"),), max_answers=1, epsilon=2.0)
        >>> survey = TruthDiscovery(parameters)
        >>> public = np.array([[0, 0], [1, 0], [2, 0]])  # each worker's place, and its task
        >>> survey.phase.tally(np.array([[1], [0], [1]]), earlier=(), public=public).totals.tolist()
        [[1, 2]]
        >>> survey.phase.losses[0].proven
        2.0
    """

    person = "worker"

    def __init__(
        self, parameters: Parameters, codes: Codes, noises: Sequence[Perturbation], *, columns: range | None = None
    ) -> None:
        self._codes, self._asked = codes, parameters.asked_columns
        self._losses_of_counts = [functools.lru_cache(maxsize=1 << 12)(noise.loss_of) for noise in noises]
        num_tasks: list[int] = np.bincount(codes.set_of_task, minlength=len(codes.sizes)).tolist()
        self._event = noises[-1].event_of_longest(parameters.max_answers, num_tasks)
        super().__init__(
            PHASE,
            columns=columns or range(parameters.max_answers),
            mechanisms=[noise.mechanism for noise in noises],
            losses=[(noise.loss_of_longest(parameters.max_answers, num_tasks),) for noise in noises],
            epsilons=parameters.own_levels.epsilons,
        )

    @property
    def event(self) -> PrivacyEvent:
        """The event of all answers of a worker with the most answers, at the greatest ε. See `Phase.event`."""
        return self._event

    def values_of(self, public: Sequence[int]) -> Values:
        return [self._codes.values_of_task[task] for task in public[self._asked]]

    def protected_values_of(self, public: Sequence[int]) -> Values:
        """Return the labels of each column's task; skipping is public. See `Phase.protected_values_of`."""
        return [values if len(values) == 1 else values[1:] for values in self.values_of(public)]

    def kinds_of(self, public: IntArray) -> Sequence[IntArray]:
        _, firsts = np.unique(codes := self._codes_of_kinds(self._kinds_of(public)), return_index=True)
        order = np.argsort(codes, kind="stable")
        return np.split(order, np.searchsorted(codes[order], codes[firsts[1:]]))

    def losses_of(self, public: Sequence[int]) -> tuple[PrivacyLoss, ...]:
        counts = [0] * (len(self._codes.sizes) + 1)
        for number in map(self._codes.numbers_of_sets.__getitem__, public[self._asked]):
            counts[number] += 1
        return self._losses_of_kind(self.level_of(public), *counts[:-1])

    def loss_groups(self, public: IntArray) -> Sequence[tuple[str, int, tuple[PrivacyLoss, ...]]]:
        every = self._kinds_of(public)
        _, firsts, numbers = np.unique(self._codes_of_kinds(every), return_index=True, return_counts=True)
        kinds = every[firsts]
        groups: list[tuple[str, int, tuple[PrivacyLoss, ...]]] = []
        for (level, *counts), number in zip(kinds.tolist(), numbers.tolist(), strict=True):
            prefix = f"{self._names[level]}, " if self.is_personal else "with "
            name = "" if len(kinds) == 1 else f"{prefix}{self._describe(counts)}"
            groups.append((name, number, self._losses_of_kind(level, *counts)))
        return groups

    def check_report(self, report: Sequence[int], public: Sequence[int]) -> None:
        self._codes.check_row(report, public[: self._asked.stop])

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        return self.tally_block(reports[None], earlier=[rows[None] for rows in earlier], public=public).tally(0)

    def tally_block(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> TallyBlock:
        is_answer = reports != NO_ANSWER
        if not np.array_equal(is_answer, np.broadcast_to(is_answer[:1], is_answer.shape)):
            tallies = (
                AnswersPhase.tally_block(self, rows[None], earlier=(), public=public).tally(0) for rows in reports
            )
            return TallyBlock.from_tallies(list(tallies))
        number, (rows, places) = len(reports), np.nonzero(is_answer[0])
        order = np.lexsort((public[rows, 1 + places], public[rows, 0]))
        rows, places = rows[order], places[order]
        workers, tasks, levels = public[rows, 0], public[rows, 1 + places], self.levels_of(public)[rows]
        answers = np.take(reports.reshape(number, -1), rows * reports.shape[2] + places, axis=1)
        labels = answers - self._codes.offset_of_task[tasks]
        shape = len(self.mechanisms), len(self._codes.tasks), max(self._codes.sizes)
        cells = np.ravel_multi_index((levels, tasks, np.zeros_like(tasks)), shape) + labels
        counts = counts_of_rows(cells, math.prod(shape)).reshape(number, *(shape if self.is_personal else shape[1:]))
        columns = np.empty((4 if self.is_personal else 3, number, len(tasks)), dtype=np.int64)
        for column, values in zip(columns, (workers, tasks, labels, levels), strict=False):
            column[:] = values
        of_sessions = np.moveaxis(columns, 0, 2)
        if np.any(
            (workers[1:] == workers[:-1]) & (tasks[1:] == tasks[:-1])
        ):  # not the case within a session, since labels have an order
            of_sessions = np.stack([values[np.lexsort(values.T[::-1])] for values in of_sessions])
        return TallyBlock(reports.shape[1], counts, of_sessions)

    def _kinds_of(self, public: IntArray) -> IntArray:
        """Return each worker's level, and how many tasks it is asked from each answer set, shape (n, 1 + sets)."""
        return np.hstack([self.levels_of(public)[:, None], self._counts_of(public)])

    def _counts_of(self, public: IntArray) -> IntArray:
        """Return how many tasks each worker is asked from each answer set, shape (n, sets)."""
        tasks = public[:, self._asked]
        sets = np.where(tasks == NO_TASK, -1, self._codes.set_of_task[tasks])
        return np.stack([(sets == number).sum(axis=1) for number in range(len(self._codes.sizes))], axis=1)

    def _codes_of_kinds(self, kinds: IntArray) -> IntArray:
        """Return one number for each row of a level and counts, in their lexicographic order."""
        base, places = self.num_values + 1, range(kinds.shape[1])
        if len(self.mechanisms) * base ** places[-1] < 1 << 63:
            return kinds @ np.array([base**place for place in reversed(places)], dtype=np.int64)
        return np.unique(kinds, axis=0, return_inverse=True)[1].reshape(-1)

    def _losses_of_kind(self, level: int, *counts: int) -> tuple[PrivacyLoss, ...]:
        return (self._losses_of_counts[level](counts),) if any(counts) else ()

    def _describe(self, counts: Sequence[int]) -> str:
        if len(counts) == 1:
            return f"{counts[0]} answer{'s' if counts[0] != 1 else ''}"
        named = [f"{count} from set {number}" for number, count in enumerate(counts, start=1) if count]
        return f"answers: {', '.join(named)}" if named else "no answer"


class CountedAnswers(CentralPhase, AnswersPhase):
    """The phase in which workers send the server their answers; it counts them and draws noise (the central model).

    The tally has the released counts, task by task: all of them, or only the second of two labels. Then come the
    numbers of answers by task, which are public. `noise` is the noise that the server adds to each count.

    Examples:
        >>> from psephos.protocol.truth_discovery import TruthDiscovery
        >>> parameters = Parameters(tasks=("bridge",), answer_sets=(("no", "yes"),), max_answers=1, mechanism="central")
        >>> phase = TruthDiscovery(parameters).phase
        >>> public = np.array([[0, 0], [1, 0], [2, 0]])
        >>> phase.tally(np.array([[1], [0], [1]]), earlier=(), public=public).totals.tolist()
        [2, 3]
    """

    def __init__(self, parameters: Parameters, codes: Codes, noise: Perturbation) -> None:
        assert isinstance(noise.on_counts, VectorLaplace)  # noqa: S101  of this mechanism
        self._tally_mechanism = self.noise = noise.on_counts
        self._distances = [distance_of(size) for size in codes.size_of_task.tolist()]
        labels, sizes = np.arange(max(codes.sizes), dtype=np.int64), codes.size_of_task[:, None]
        self.is_told = (2 - np.array(self._distances)[:, None] <= labels) & (labels < sizes)
        self._num_told = int(self.is_told.sum())
        AnswersPhase.__init__(self, parameters, codes, [noise])

    def typical_row(self, public: Sequence[int]) -> Sequence[int]:
        """Return the row of a worker with the first tasks of each answer set. See `GuardedRelease.typical_row`."""
        (counts,) = self._counts_of(np.array([public], dtype=np.int64)).tolist()
        tasks_of_sets = [np.flatnonzero(self._codes.set_of_task == place)[:count] for place, count in enumerate(counts)]
        return [0, *np.concatenate(tasks_of_sets).tolist(), *[NO_TASK] * (self.num_values - sum(counts))]

    def release_event_of(self, public: Sequence[int]) -> PrivacyEvent:
        return self._event_within(sum(self._distances_of(public)))

    def part_event_of(self, public: Sequence[int]) -> PrivacyEvent:
        return self._event_within(max(self._distances_of(public), default=0))

    def _distances_of(self, public: Sequence[int]) -> list[int]:
        return [self._distances[task] for task in public[1:] if task != NO_TASK]

    def _event_within(self, moved: int) -> PrivacyEvent:
        return PureMechanism(epsilon=quotient_up(moved, self.noise.scale))

    def tally_block(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> TallyBlock:
        counts = AnswersPhase.tally_block(self, reports, earlier=earlier, public=public).totals
        return TallyBlock(reports.shape[1], np.concatenate([counts[:, self.is_told], counts.sum(axis=2)], axis=1))

    def randomize_tally(self, tally: Tally, draw: Draw) -> Tally:
        counts, numbers = np.split(tally.totals, [self._num_told])
        noisy = super().randomize_tally(Tally(tally.num_reports, counts), draw).totals
        return Tally(tally.num_reports, np.concatenate([noisy, numbers]))

    def randomize_tallies(self, tallies: TallyBlock, draw: DrawBlock) -> TallyBlock:
        counts, numbers = np.split(tallies.totals, [self._num_told], axis=1)
        noisy = super().randomize_tallies(TallyBlock(tallies.num_reports, counts), draw).totals
        return TallyBlock(tallies.num_reports, np.concatenate([noisy, numbers], axis=1))

    def counts_of(self, totals: IntArray) -> tuple[IntArray, IntArray]:
        """Return the count of each label of each task, shape (..., tasks, labels), and the numbers of answers."""
        counts, numbers = np.zeros((*totals.shape[:-1], *self.is_told.shape), np.int64), totals[..., self._num_told :]
        counts[..., self.is_told] = totals[..., : self._num_told]
        untold = ~self.is_told[:, 0]
        counts[..., untold, 0] = numbers[..., untold] - counts[..., untold, 1]
        counts[numbers == 0] = 0
        return counts, numbers


class MaskedAnswers(MaskedPhase, AnswersPhase):
    """The phase in which workers add up their answers under masks, without a trusted party (the distributed model).

    A private row has a worker's answers, then its terms of the sums of all tasks in order. A task of two labels has the
    answers of the second minus those of the first, then all answers; any other task has the answers of each label. For
    a task that the worker is not asked, or skips, the terms are 0. The tally has the sums, then the number of workers
    that were asked each task, which is public.

    Privacy:
        Another answer, or none, changes the sums of its task by at most `MASKED_DISTANCE`. So skipping a task is hidden
        at no extra cost. The number of workers that are asked is public; the number that answered has noise.

    Examples:
        >>> from psephos.protocol.truth_discovery import TruthDiscovery
        >>> parameters = Parameters(
        ...     tasks=("bridge",),
        ...     answer_sets=(("no", "yes"),),
        ...     max_answers=1,
        ...     mechanism="masked",
        ...     threshold=3,
        ...     colluders=0,
        ... )
        >>> phase = TruthDiscovery(parameters).phase
        >>> phase.rows_for(np.array([[1], [0], [-1]]), np.zeros((3, 1), dtype=np.int64)).tolist()
        [[1, 1], [-1, 1], [0, 0]]
    """

    def __init__(self, parameters: Parameters, codes: Codes, noise: Perturbation) -> None:
        assert isinstance(noise.on_counts, NoiseShare)  # noqa: S101  of this mechanism
        self.share, self.honest = noise.on_counts, noise.on_counts.planned
        self.threshold, self.colluders = sizes_of(parameters)
        self._are_two = codes.size_of_task == 2  # noqa: PLR2004  two labels
        self._task_of = np.repeat(np.arange(len(codes.tasks)), codes.size_of_task)
        self._starts = np.cumsum(codes.size_of_task) - codes.size_of_task
        self._may_hold: list[Sequence[int]] = [(0, 1)] * len(self._task_of)
        for start in self._starts[self._are_two].tolist():
            self._may_hold[start] = (-1, 0, 1)
        columns = range(parameters.max_answers, parameters.max_answers + len(self._task_of))
        AnswersPhase.__init__(self, parameters, codes, [noise], columns=columns)

    check_report = Phase.check_report  # reports stay masked

    def check_parties(self, number: int) -> None:
        super().check_parties(number)
        allowed = (
            f"such that {MOST_TIMES} * (threshold - colluders) >= 2 * workers = {2 * number}, the noise of a count"
        )
        require(2 * number <= MOST_TIMES * self.share.planned, "colluders", self.colluders, allowed)

    def sensitivity_of(self, public: Sequence[int]) -> int:
        return MASKED_DISTANCE * sum(task != NO_TASK for task in public[1:])

    def part_event_of(self, public: Sequence[int]) -> PrivacyEvent:
        return self.event_within(min(self.sensitivity_of(public), MASKED_DISTANCE))

    def values_of(self, public: Sequence[int]) -> Values:
        are_asked = np.isin(self._task_of, [task for task in public[1:] if task != NO_TASK]).tolist()
        return [values if is_asked else (0,) for values, is_asked in zip(self._may_hold, are_asked, strict=True)]

    def rows_of(self, public: Sequence[int]) -> IntArray:
        """Return rows of the first labels, of the last ones, and of none: none are farther apart."""
        tasks = np.array([public[1:]] * 3, dtype=np.int64)
        places = np.array([[0], [-1], [0]]) % self._codes.size_of_task[tasks]
        answers = np.where(tasks == NO_TASK, NO_ANSWER, self._codes.offset_of_task[tasks] + places)
        answers[2] = NO_ANSWER
        return self.rows_for(answers, tasks)

    def rows_for(self, answers: IntArray, tasks: IntArray) -> IntArray:
        """Return workers' rows, shape (n, numbers), from answers and their tasks, shape (n, any)."""
        rows = np.zeros((len(answers), len(self._task_of)), dtype=np.int64)
        workers, places = np.nonzero(answers != NO_ANSWER)
        own_tasks = tasks[workers, places]
        labels, starts, are_two = (
            answers[workers, places] - self._codes.offset_of_task[own_tasks],
            self._starts[own_tasks],
            self._are_two[own_tasks],
        )
        rows[workers, np.where(are_two, starts, starts + labels)] = np.where(are_two, 2 * labels - 1, 1)
        rows[workers[are_two], starts[are_two] + 1] = 1
        return rows

    def tally_of_sum(self, total: IntArray, public: IntArray) -> Tally:
        tasks = public[:, 1:]
        num_asked = np.bincount(tasks[tasks != NO_TASK], minlength=len(self._codes.tasks)).astype(np.int64)
        return Tally(len(public), np.concatenate([total, num_asked]))

    def counts_of(self, totals: IntArray) -> tuple[IntArray, IntArray]:
        """Return noisy counts of each label of each task, shape (..., tasks, labels), and the numbers of workers asked.

        For two labels, it returns twice the counts: the total minus, and plus, the difference.
        """
        sizes, num_asked = self._codes.size_of_task, totals[..., self.num_values :]
        counts = np.zeros((*num_asked.shape, max(self._codes.sizes)), dtype=np.int64)
        counts[..., np.arange(counts.shape[-1]) < sizes[:, None]] = totals[..., : self.num_values]
        leads, numbers = counts[..., self._are_two, 0], counts[..., self._are_two, 1]
        counts[..., self._are_two, 0], counts[..., self._are_two, 1] = numbers - leads, numbers + leads
        counts[num_asked == 0] = 0
        return counts, num_asked
