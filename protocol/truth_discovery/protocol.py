"""Truth discovery as a protocol of one phase, in which workers report answers; closing it finds the truths.

The server distributes tasks in its Welcome: a worker's public row names them. If only counts are known (`central`,
`masked`), workers get no weight.

A private row has one answer for each task of the public row, in that order: a code of answer set and label, or
`NO_ANSWER`; in `masked` also the terms of the sums. It is public which tasks a worker is asked, and which of them it
skips; so is its level of ε, if there are levels, at the end of its public row. The labels are private. In `masked` it
is hidden who skips a task.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, get_args

import msgspec
import numpy as np

from ..arrays import FloatArray, IntArray, distinct_rows
from ..errors import ConfigurationError, refuse, require
from ..estimators.truth_inference import (
    WEIGHT_FUNCTIONS,
    AnswerBlock,
    Answers,
    Inference,
    OwnNoise,
    check_weight_function,
)
from ..integers import bytes_of
from ..phases import Column, Entries, InputBlock, Inputs, OnePhaseProtocol, missing_column
from ..privacy import TrustModel
from ..tally import Decisions, Tally, TallyBlock
from .codes import NO_TASK, Codes, encode_answers, encode_tasks, list_tasks
from .confidence import average_confidences
from .counts import majority_of_counts, most_counted
from .estimators import EstimatorFunction, EstimatorName
from .inference import find_truths, known_noise
from .noise import Perturbation, make_noise
from .outcome import LevelReports, Outcome, OwnOutcome
from .parameters import Parameters
from .phases import AnswersPhase, CountedAnswers, MaskedAnswers

# Confidences and weights are results of floating-point iterations, and are rounded to a public grid for release.
_GRID: Final = 2.0**20
# The most answers in trials that run together; with more, arrays would exceed the processor's cache.
_MOST_ANSWERS: Final = 1 << 16
_LONGEST_NAME: Final[EstimatorName] = "noise_aware_dawid_skene"


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class TruthDecisions(Decisions):
    """The results of many sessions.

    Args:
        truths: the codes of the found labels, int64, shape (sessions, tasks); -1 for a task without one.

    Examples:
        >>> TruthDecisions(truths=np.array([[1, -1]]), kinds=lambda: np.array([[40]])).truths.tolist()
        [[1, -1]]
    """

    truths: IntArray


class TruthDiscovery(OnePhaseProtocol[Parameters, Outcome, AnswersPhase]):
    """Truth discovery: infer true labels from crowd answers under differential privacy.

    Args:
        parameters: the parameters of the session.
        weight_function: g of equation (3), if the parameters name a registered function. Only the party that finds the
            truths needs it.
        estimator: the estimator, if the parameters name a registered one. Only the same party needs it.

    Raises:
        ConfigurationError: see `use_function`; or a weight function does not increase over the possible shares of
            workers, or returns no number.

    Privacy:
        Replace-one; unit: all m answers of a worker, or one of them.

        - Local mechanisms, against a coalition of all others: one-layer and fresh two-layer are mε-LDP, and ε-LDP for
          one answer; two-layer is J-LDP, and R-LDP for one answer if the others are known
          (`psephos.protocol.mechanisms.joint_law`). Neither is the paper's ε. It is public which tasks a worker is
          asked, and which of them it skips. So is its level of ε, and no ε bounds what the choice of a level reveals.
        - "central": the release is ε-DP for one answer and mε-DP for m, against an observer of the release; the server
          sees all answers.
        - "masked": the same against a coalition of the server and `colluders` workers (`phases.MaskedPhase`), and also
          for skipping a task.

    Source:
        Li et al. (2018), Algorithms 1 and 2; readings T1 to T9.

    Examples:
        >>> from psephos.protocol import SimulatedNoise, run_population
        >>> parameters = Parameters(tasks=("bridge", "flag"), answer_sets=(("no", "yes"),), max_answers=2, epsilon=4.0)
        >>> survey = TruthDiscovery(parameters)
        >>> inputs = survey.encode({"tasks": ["bridge; flag"] * 9, "answers": ["yes; no"] * 8 + ["no; "]})
        >>> outcome = run_population(survey, inputs, noise=SimulatedNoise(1, session="survey")).outcome
        >>> (outcome.truths, outcome.num_answers, outcome.epsilon_worker)
        (('yes', 'no'), (9, 8), 8.0)
    """

    name: ClassVar[str] = "truth-discovery"
    client_role: ClassVar[str] = "worker"
    server_role: ClassVar[str] = "aggregator"
    parameters_type: ClassVar[type[msgspec.Struct]] = Parameters
    outcome_type: ClassVar[type[msgspec.Struct]] = Outcome
    own_outcome_type: ClassVar[type[msgspec.Struct] | None] = OwnOutcome
    computes_twice: ClassVar[bool] = False
    named_functions: ClassVar[Mapping[str, Collection[str]]] = {
        "weight_function": WEIGHT_FUNCTIONS,
        "estimator": get_args(EstimatorName),
    }
    settings_by_trust: ClassVar[Sequence[tuple[TrustModel, Mapping[str, Any]]]] = (
        (TrustModel.LOCAL, {}),
        (TrustModel.DISTRIBUTED, {"mechanism": "masked"}),
        (TrustModel.CENTRAL, {"mechanism": "central"}),
    )

    def __init__(
        self,
        parameters: Parameters,
        *,
        weight_function: Callable[[float], float] | None = None,
        estimator: EstimatorFunction | None = None,
    ) -> None:
        super().__init__(parameters)
        for field, function in (("weight_function", weight_function), ("estimator", estimator)):
            if function is not None:
                self.use_function(field, function)
        self._last_inference: tuple[Tally, tuple[str, Inference]] | None = None  # the last result, with its tally

    def check_function(self, field: str, function: Callable[..., Any]) -> None:
        if field == "weight_function":
            parameters = self.parameters
            check_weight_function(function, num_answers=parameters.max_answers, clamp=parameters.quality_clamp)

    @classmethod
    def complete(cls, fields: Mapping[str, Any], table: Mapping[str, Entries]) -> dict[str, Any]:
        """Fill in the tasks and the most that a worker is asked, from the public column."""
        parameters = dict(fields)
        if {"tasks", "max_answers"} <= parameters.keys():
            return parameters
        if "tasks" not in table:
            raise missing_column("tasks")
        names, most = list_tasks(table["tasks"])
        require(most, "tasks", "none", "at least one task for one worker")
        return {"tasks": names, "max_answers": most, **parameters}

    @functools.cached_property
    def codes(self) -> Codes:
        """The codes of tasks and labels."""
        parameters = self.parameters
        return Codes(parameters.tasks, parameters.answer_sets, np.array(parameters.set_of_task, dtype=np.int64))

    @functools.cached_property
    def noises(self) -> tuple[Perturbation, ...]:
        """How answers are perturbed at each level of ε: one, where all workers have the same."""
        return tuple(map(make_noise, self.parameters.level_parameters))

    @property
    def noise(self) -> Perturbation:
        """How answers are perturbed, at the greatest ε."""
        return self.noises[-1]

    def make_phase(self) -> AnswersPhase:
        if self.noise.on_counts is None:
            return AnswersPhase(self.parameters, self.codes, self.noises)
        kind = MaskedAnswers if self.parameters.is_masked else CountedAnswers
        return kind(self.parameters, self.codes, self.noise)

    def columns(self) -> tuple[Column, ...]:
        return (
            Column("tasks", private=False, description="the worker's tasks: names, separated by semicolons"),
            *self.parameters.own_levels.columns,
            Column("answers", private=True, description="a label for each of these, or nothing where it is skipped"),
        )

    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        """Turn tasks and answers into rows. See `PhasedProtocol.encode`.

        Entries are lists of names, or texts with names separated by semicolons; or codes, as int64 arrays of shape (n,
        max_answers), padded with `NO_TASK` and `NO_ANSWER`.
        """
        self.check_columns(table)
        is_table = len(table["tasks"]) == len(table["answers"])
        require(is_table, "table", "columns of different length", "columns of one length")
        public = self.encode_public(table, num_parties=len(table["tasks"]))
        tasks = public[:, self.parameters.asked_columns]
        return Inputs(self.rows_for(encode_answers(table["answers"], tasks, self.codes), tasks), public)

    def rows_for(self, answers: IntArray, tasks: IntArray) -> IntArray:
        """Return private rows: answers, and what of them is added up under masks."""
        phase = self.phase
        return np.hstack([answers, phase.rows_for(answers, tasks)]) if isinstance(phase, MaskedAnswers) else answers

    def encode_public(self, table: Mapping[str, Entries], *, num_parties: int) -> IntArray:
        if "tasks" not in table:
            raise missing_column("tasks")
        tasks = encode_tasks(table["tasks"], self.codes, width=self.parameters.max_answers)
        refuse(len(tasks) != num_parties, "tasks", f"{len(tasks)} entries", f"{num_parties} entries")
        places = np.arange(num_parties, dtype=np.int64)[:, None]
        return np.hstack([places, tasks, self.parameters.own_levels.encode(table, num_parties=num_parties)])

    def encode_chosen(self, entries: Mapping[str, Any]) -> tuple[int, ...]:
        return self.parameters.own_levels.encode_chosen(entries)

    def place_rows(self, public: IntArray, *, start: int) -> IntArray:
        return np.concatenate([public[:, :1] + start, public[:, 1:]], axis=1)

    def write_public(self, public: IntArray) -> dict[str, list[str]]:
        tasks = [self.codes.write_tasks(row) for row in public[:, self.parameters.asked_columns].tolist()]
        return {"tasks": tasks, **self.parameters.own_levels.write(public)}

    def encode_own(self, entries: Mapping[str, Any], public: Sequence[int]) -> tuple[int, ...]:
        """Return a worker's private row. See `PhasedProtocol.encode_own`.

        Args:
            entries: `answers`: a table of labels by task, or a text of the form "task=label; task=label"; or, together
                with `tasks`, only labels, as for `encode`. Tasks that the worker is not asked are ignored, and tasks
                that it does not name are skipped.
            public: the worker's public row.

        Raises:
            ConfigurationError: a task is unknown, a label is not in its answer set, or `tasks` or `epsilon` differs
                from the public row.
        """
        self.check_public(public)
        self.parameters.own_levels.check_own(entries, public)
        tasks_asked = public[self.parameters.asked_columns]
        tasks = np.array([tasks_asked], dtype=np.int64)
        if "tasks" in entries:
            encoded = encode_tasks([entries["tasks"]], self.codes, width=self.parameters.max_answers)
            if set(encoded[0].tolist()) != set(tasks_asked):
                allowed = f"the tasks that the server has: {self.codes.write_tasks(tasks_asked)}"
                raise ConfigurationError(field="tasks", value=entries["tasks"], allowed=allowed)
        if "answers" not in entries:
            raise missing_column("answers")
        encoded = self.codes.encode_row(entries["answers"], tasks_asked, order=entries.get("tasks"))
        return tuple(self.rows_for(np.array([encoded], dtype=np.int64), tasks)[0].tolist())

    def check_public(self, public: Sequence[int]) -> None:
        columns, levels = self.parameters.asked_columns, self.parameters.own_levels.epsilons
        tasks = [task for task in public[columns] if task != NO_TASK]
        are_tasks = not tasks or 0 <= min(tasks) <= max(tasks) < len(self.parameters.tasks)
        num_tasks, width, level_places = len(self.parameters.tasks), self.parameters.max_answers, public[columns.stop :]
        is_row = len(public) == columns.stop + bool(levels) and public[0] >= 0 and len(set(tasks)) == len(tasks)
        if not is_row or not are_tasks or (level_places and not 0 <= level_places[0] < len(levels)):
            allowed = f"a place and {width} distinct tasks of {num_tasks}, filled up with {NO_TASK} if there are fewer"
            allowed += f", and the place of an ε in [0, {len(levels) - 1}]" if levels else ""
            raise ConfigurationError(field="the server's public row", value=list(public[:12]), allowed=allowed)

    def check_row(self, row: Sequence[int], public: Sequence[int]) -> None:
        answers = row[: self.parameters.max_answers] if self.parameters.is_masked else row
        self.codes.check_row(answers, public[: self.parameters.asked_columns.stop])
        if self.parameters.is_masked:
            self.check_inputs(Inputs(np.array([row], dtype=np.int64), np.array([public], dtype=np.int64)))

    def check_inputs(self, inputs: Inputs) -> None:
        super().check_inputs(inputs)
        answers = inputs.private[:, : self.parameters.max_answers]
        if self.parameters.is_masked and not np.array_equal(
            self.rows_for(answers, inputs.public[:, 1:]), inputs.private
        ):
            raise ValueError("a row adds up what its answers do not say")

    def check_roster(self, public: IntArray) -> None:
        for field in self.named_functions:
            self.function_of(field)
        if self.parameters.is_masked:
            super().check_roster(public)
        self.check_numbers(*distinct_rows(self.numbers_to_check(public)))

    def numbers_to_check(self, public: IntArray) -> IntArray:
        return np.any(public[:, self.parameters.asked_columns] != NO_TASK, axis=1)[:, None].astype(np.int64)

    def check_numbers(self, rows: IntArray, numbers: IntArray) -> None:
        require(np.any(rows), "tasks", "none", "at least one task for one worker")
        self.parameters.check_confusions("workers", int(numbers.sum()), kinds=len(set(self.parameters.sizes)))
        if self.masked_phase is not None:
            self.masked_phase.check_parties(int(numbers.sum()))

    def outcome(self, tallies: Sequence[Tally]) -> Outcome:
        (tally,) = tallies
        name, inference = self._find_truths(tally)
        counts, num_answers = self.counts_of(tally)
        (loss,) = self.losses
        return Outcome(
            tasks=self.parameters.tasks,
            truths=tuple(self._names_of(inference)),
            confidences=_rounded_or_none(average_confidences(name, inference.confidences, self.codes.size_of_task)),
            model_confidences=_rounded_or_none(inference.confidences),
            answer_sets=self.parameters.answer_sets,
            answer_set_of_task=self.parameters.answer_set_of_task,
            flip_probabilities=self._flips_of(self.noise),
            reports=self._reports_by_task(counts),
            num_answers=tuple(num_answers.tolist()),
            num_workers=tally.num_reports,
            levels=self._level_reports(tally.totals, self._level_of_worker(tally)),
            estimator=name,
            num_iterations=inference.num_iterations,
            has_converged=inference.has_converged,
            epsilon_answer=loss.finest_loss.proven,
            epsilon_worker=loss.proven,
            **self._noise_fields,
        )

    def decisions(self, tallies: Sequence[TallyBlock]) -> TruthDecisions:
        """Return the results of many sessions. See `PhasedProtocol.decisions`.

        Raises:
            NotImplementedError: the estimator is a registered one, or workers skip different tasks in the sessions.
        """
        (block,) = tallies
        truths, num_iterations = self._infer_block(block, noise=self.noise)

        def kinds() -> IntArray:
            counts, _ = self.counts_of(block)
            labels = np.arange(counts.shape[-1], dtype=np.int64) < self.codes.size_of_task[:, None]
            tables = [*np.moveaxis(block.totals, 1, 0), counts] if self.parameters.own_levels.epsilons else [counts]
            num_bytes = bytes_of(num_iterations) + sum(bytes_of(table[:, labels]).sum(axis=1) for table in tables)
            num_bytes += self._bytes_of_labels[self.codes.set_of_task, truths].sum(axis=1)
            return num_bytes[:, None]

        return TruthDecisions(truths=truths, kinds=kinds)

    @functools.cached_property
    def _bytes_of_labels(self) -> IntArray:
        """How many bytes each answer set's labels take in a message, shape (sets, labels + 1); at its end, none."""
        num_bytes = np.ones((len(self.codes.sizes), max(self.codes.sizes) + 1), dtype=np.int64)
        for place, labels in enumerate(self.parameters.answer_sets):
            num_bytes[place, : len(labels)] = [len(msgspec.msgpack.encode(label)) for label in labels]
        return num_bytes

    def largest_outcome(self, num_parties: int) -> Outcome:
        parameters = self.parameters
        longest = [max(labels, key=lambda label: len(label.encode())) for labels in parameters.answer_sets]
        numbers: tuple[float, ...] = (0.1,) * len(parameters.tasks)
        count = num_parties if self.noise.on_counts is None else self.noise.on_counts.report_range[0]
        sets: list[int] = self.codes.set_of_task.tolist()
        return Outcome(
            tasks=parameters.tasks,
            truths=tuple(longest[number] for number in sets),
            confidences=numbers,
            model_confidences=numbers,
            answer_sets=parameters.answer_sets,
            answer_set_of_task=parameters.answer_set_of_task,
            flip_probabilities=(0.1,) * len(parameters.answer_sets),
            reports=self._reports_by_task(table := np.full((len(sets), max(parameters.sizes)), count)),
            num_answers=(num_parties,) * len(parameters.tasks),
            num_workers=num_parties,
            levels=self._level_reports(
                np.broadcast_to(table, (len(self.noises), *table.shape)), np.arange(len(self.noises))
            ),
            estimator=max(_LONGEST_NAME, parameters.estimator, key=lambda name: len(name.encode())),
            num_iterations=1 << 40,
            has_converged=False,
            epsilon_answer=0.1,
            epsilon_worker=0.1,
            **self._noise_fields,
        )

    def own_outcomes(self, tallies: Sequence[Tally]) -> dict[int, OwnOutcome]:
        """Return the weight and quality of each worker with an answer, unless answers are counted and dropped."""
        (tally,) = tallies
        if not len(tally.rows):
            return {}
        _, inference = self._find_truths(tally)
        counts = np.bincount(tally.rows[:, 0])
        weights, qualities = _round_numbers(inference.weights), _round_numbers(inference.qualities)
        return {
            worker: OwnOutcome(weight=weights[worker], quality=qualities[worker], num_answers=int(counts[worker]))
            for worker in np.flatnonzero(counts).tolist()
        }

    def truth(self, inputs: Inputs) -> dict[str, str]:
        """Return the labels that the same estimator finds in the clean answers, for each task with answers."""
        tally = self.phase.tally(inputs.private[:, self.phase.columns], earlier=(), public=inputs.public)
        _, inference = self._infer(tally, noise=None)
        labels = zip(self.parameters.tasks, self._names_of(inference), strict=True)
        return {task: label for task, label in labels if label is not None}

    def truths(self, inputs: InputBlock) -> IntArray:
        """Return `truth` of many sessions: int64, shape (sessions, tasks), labels' codes; -1 where there is none."""
        answers = inputs.private[:, :, self.phase.columns]
        return self._infer_block(self.phase.tally_block(answers, earlier=(), public=inputs.public), noise=None)[0]

    def counts_of(self, tally: Tally | TallyBlock) -> tuple[IntArray, IntArray]:
        """Return the number of reports of each label of each task, shape (tasks, labels), and of answers to each task.

        For a block, both have the sessions as first axis.
        """
        if isinstance(self.phase, CountedAnswers | MaskedAnswers):
            return self.phase.counts_of(tally.totals)
        counts = tally.totals.sum(axis=-3) if self.phase.is_personal else tally.totals  # summed over levels
        return counts, counts.sum(axis=-1)

    @property
    def _noise_fields(self) -> dict[str, Any]:
        """The outcome's fields about noise on counts, and about settings that were not tried on published crowds."""
        if (added := self.noise.count_noise(1)) is None:
            return {} if self.parameters.are_tried(self._flips_of(self.noise)) else {"is_calibrated": False}
        return {"noise_scale": added.scale, **({} if added.planned is None else {"planned": added.planned})}

    def answers_in(self, tally: Tally) -> Answers:
        """Return the reported answers of a tally, for estimators; none where the server has counted them."""
        workers, tasks, labels = tally.rows.T[:3] if len(tally.rows) else np.empty((3, 0), dtype=np.int64)
        return Answers(
            tasks=tasks,
            workers=workers,
            labels=labels,
            num_tasks=len(self.parameters.tasks),
            num_workers=int(workers.max(initial=-1)) + 1,
            sizes=self.codes.size_of_task,
        )

    def _names_of(self, inference: Inference) -> Iterator[str | None]:
        sets = self.parameters.answer_sets
        for number, label in zip(self.codes.set_of_task.tolist(), inference.truths.tolist(), strict=True):
            yield None if label < 0 else sets[number][label]

    def _flips_of(self, noise: Perturbation) -> tuple[float, ...]:
        """Return the flip probability of each answer set; its mean, if it is drawn."""
        of_sizes = dict(zip(noise.sizes, noise.flip_probabilities, strict=True))
        return tuple(of_sizes[size] for size in self.parameters.sizes)

    def _reports_by_task(self, counts: IntArray) -> tuple[tuple[int, ...], ...]:
        """Return how often each label of each task is reported, of counts of shape (tasks, most labels)."""
        return tuple(
            tuple(label_counts[:size])
            for label_counts, size in zip(counts.tolist(), self.codes.size_of_task.tolist(), strict=True)
        )

    def _level_of_worker(self, tally: Tally) -> IntArray:
        """Return the place of each worker's ε, -1 where it has no answer; nobody's where all have one ε."""
        if not self.parameters.own_levels.epsilons or not len(tally.rows):
            return np.empty(0, dtype=np.int64)
        levels = np.full(int(tally.rows[:, 0].max()) + 1, -1, dtype=np.int64)
        levels[tally.rows[:, 0]] = tally.rows[:, 3]
        return levels

    def _level_reports(
        self, counts: IntArray, level_of_worker: IntArray
    ) -> tuple[LevelReports, ...] | msgspec.UnsetType:
        """Return the reports of each level, from counts of shape (levels, tasks, most labels)."""
        if not (levels := self.parameters.own_levels.epsilons):
            return msgspec.UNSET
        numbers = [int(np.count_nonzero(level_of_worker == level)) for level in range(len(levels))]
        rows = zip(levels, numbers, self.noises, counts, strict=True)
        return tuple(
            LevelReports(epsilon, number, self._flips_of(noise), self._reports_by_task(label_counts))
            for epsilon, number, noise, label_counts in rows
            if number
        )

    def _find_truths(self, tally: Tally) -> tuple[str, Inference]:
        """Return the estimator's name and what it finds; both parts of a release ask for the same."""
        if self._last_inference is None or self._last_inference[0] is not tally:
            self._last_inference = tally, self._infer(tally, noise=self.noise)
        return self._last_inference[1]

    def _infer(self, tally: Tally, *, noise: Perturbation | None) -> tuple[str, Inference]:
        if self.noise.on_counts is not None:
            (counts, numbers), sizes = self.counts_of(tally), self.codes.size_of_task
            if noise is None:  # exact masked sums also reveal who skips a task
                numbers = counts.sum(axis=1)
            added = None if noise is None else noise.count_noise(tally.num_reports)
            return "majority", majority_of_counts(counts, numbers, sizes, added, ties=self.parameters.ties)
        return find_truths(
            self.answers_in(tally),
            parameters=self.parameters,
            noise=self._noise_for_estimators(noise, tally),
            weight_function=self.function_of("weight_function"),
            estimator=self.function_of("estimator"),
        )

    def _noise_for_estimators(self, noise: Perturbation | None, tally: Tally) -> Perturbation | OwnNoise | None:
        """Return the noise as estimators take it: the noise of each worker if workers have their own ε."""
        if noise is None or not self.parameters.own_levels.epsilons:
            return noise
        level_noises = tuple(known_noise(perturbation, self.parameters.sizes) for perturbation in self.noises)
        return OwnNoise(level_noises, np.maximum(self._level_of_worker(tally), 0))

    def _infer_block(self, block: TallyBlock, *, noise: Perturbation | None) -> tuple[IntArray, IntArray]:
        """Return the truths of many sessions, shape (sessions, tasks), and each one's number of rounds."""
        number, ties = len(block), self.parameters.ties
        if self.noise.on_counts is not None:
            counts, numbers = self.counts_of(block)
            numbers = counts.sum(axis=2) if noise is None else numbers
            return most_counted(counts, numbers, self.codes.size_of_task, ties=ties), np.zeros(number, dtype=np.int64)
        if self.function_of("estimator") is not None or np.any(block.rows[:, :, :2] != block.rows[:1, :, :2]):
            raise NotImplementedError("sessions are given to this estimator one by one")
        first = block.tally(0)
        answers, known_noise_of_answers = self.answers_in(first), self._noise_for_estimators(noise, first)
        num_at_once = max(_MOST_ANSWERS // max(len(answers), 1), 1)
        inferences = [
            find_truths(
                AnswerBlock(answers, np.ascontiguousarray(block.rows[start : start + num_at_once, :, 2])),
                parameters=self.parameters,
                noise=known_noise_of_answers,
                weight_function=self.function_of("weight_function"),
            )[1]
            for start in range(0, number, num_at_once)
        ]
        rounds = np.concatenate([inference.num_iterations for inference in inferences])
        return np.concatenate([inference.truths for inference in inferences]), rounds


def _rounded_or_none(numbers: FloatArray) -> tuple[float | None, ...]:
    """Return numbers on the public grid, None in place of nan."""
    return tuple(None if math.isnan(number) else number for number in _round_numbers(numbers))


def _round_numbers(numbers: FloatArray) -> list[float]:
    """Return numbers on the public grid."""
    rounded: list[float] = (np.round(numbers * _GRID) / _GRID).tolist()
    return rounded
